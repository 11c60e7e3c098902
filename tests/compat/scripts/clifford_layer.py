"""A layer of flash-clifford: forward, a loss, gradients."""

import torch
from modules.layer import Layer

torch.manual_seed(0)
layer = Layer(n_features=16, dims=3)
x = torch.randn(8, 32, 16, requires_grad=True)
y = layer(x)
loss = y.square().mean()
loss.backward()
gradient = x.grad
n_parameters = sum(p.numel() for p in layer.parameters())
print(tuple(y.shape), n_parameters)
