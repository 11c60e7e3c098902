# %% [markdown]
# # Train a small network
#
# From the masses, positions and velocities of five particles: what is their angular momentum? A
# network of Clifford layers needs a hundred examples, because what it learns in one direction holds
# in all of them; a plain perceptron of the same size is shown beside it.

# %%
import matplotlib.pyplot as plt
import torch

from tessera import clifford

torch.manual_seed(1)


def particles(n):
    mass = torch.rand(n, 5, 1) + 0.5
    place, velocity = torch.randn(2, n, 5, 3)
    return mass, place, velocity, (mass * torch.linalg.cross(place, velocity)).sum(1)


class CliffordNetwork(torch.nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.lift = clifford.MVLinear(15, width, "+++")
        self.layers = torch.nn.ModuleList(
            clifford.Layer(width, 3, normalize=False) for _ in range(2)
        )
        self.read = clifford.MVLinear(width, 1, "+++", bias=False)

    def forward(self, mass, place, velocity):
        x = torch.zeros(8, len(mass), 15)  # (component, row, feature)
        x[0, :, :5] = mass[..., 0]
        x[1:4, :, 5:10] = place.permute(2, 0, 1)
        x[1:4, :, 10:] = velocity.permute(2, 0, 1)
        x = self.lift(x)
        for layer in self.layers:
            x = x + layer(x)
        e12, e13, e23 = self.read(x)[4:7, :, 0]  # the plane that is turned in
        return torch.stack((e23, -e13, e12), dim=1)


class Perceptron(torch.nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(35, width), torch.nn.GELU(),
            torch.nn.Linear(width, width), torch.nn.GELU(),
            torch.nn.Linear(width, 3),
        )

    def forward(self, *parts):
        return self.net(torch.cat([part.flatten(1) for part in parts], dim=1))


# %%
train, test = particles(100), particles(1000)
curves = {}
for network in (CliffordNetwork(), Perceptron()):
    name = type(network).__name__
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-2)
    curves[name] = []
    for step in range(200):
        loss = (network(*train[:3]) - train[3]).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % 10 == 0:
            with torch.no_grad():
                error = (network(*test[:3]) - test[3]).square().mean() / test[3].square().mean()
            curves[name].append(float(error))
    count = sum(p.numel() for p in network.parameters())
    print(f"{name}: {count} parameters, error of unseen examples {curves[name][-1]:.2f}")

# %%
plt.figure(figsize=(7, 3.5), layout="constrained")
for name, curve in curves.items():
    plt.semilogy(range(0, 200, 10), curve, label=name)
plt.xlabel("step")
plt.ylabel("error relative to guessing zero")
plt.legend()
plt.show()
