"""Gradients that can be differentiated again, of parts whose pass backward is their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

__all__ = ["differentiable"]


def differentiable(
    compute: Callable[..., Tensor], inputs: tuple[Any, ...], wanted: Any, grad: Tensor
) -> list[Any]:
    """Differentiate the same by plain operations.

    Parameters
    ----------
    compute : callable
        What the part computes, of operations that have second derivatives.
    inputs : tuple of torch.Tensor
        Of the part.
    wanted : sequence of bool
        Which gradients are.
    grad : torch.Tensor
        By the result.

    Returns
    -------
    list of torch.Tensor or None
        Gradients by the inputs, None where none is wanted.
    """
    with torch.enable_grad():
        z = compute(*inputs)
        places = [i for i, is_wanted in enumerate(wanted) if is_wanted]
        found = torch.autograd.grad(z, [inputs[i] for i in places], grad, create_graph=True)
    gradients: list[Any] = [None] * len(inputs)
    for i, g in zip(places, found, strict=True):
        gradients[i] = g
    return gradients
