# %% [markdown]
# # Forces between bodies, by messages on a graph
#
# Charged bodies push and pull each other. A layer that passes messages along the edges of a graph
# learns their accelerations from a few hundred systems: what goes along an edge is the sender, and
# its product with the receiver, times numbers that a perceptron makes of invariants. Turned and
# mirrored systems come for nothing. The plain formula of Coulomb's law is what it is held against.

# %%
import time

import matplotlib.pyplot as plt
import torch

from tessera import clifford

torch.manual_seed(1)
BODIES, FEATURES = 5, 16


def systems(n):
    """Charges, places and, by the plain formula, accelerations of n systems."""
    charge = torch.randint(0, 2, (n, BODIES, 1)) * 2.0 - 1
    place = torch.randn(n, BODIES, 3)
    place = place - place.mean(1, keepdim=True)
    apart = place[:, :, None] - place[:, None]
    square = apart.square().sum(-1, keepdim=True) + 0.5  # softened, so that nothing is infinite
    force = charge[:, :, None] * charge[:, None] * apart / square**1.5
    return charge, place, force.sum(2)


# %% [markdown]
# All pairs of a system are edges, both ways. Systems of a batch are parts of one graph without
# edges between them; its edges are sorted once.


# %%
def pairs(n):
    first, second = (~torch.eye(BODIES, dtype=torch.bool)).nonzero().T
    start = BODIES * torch.arange(n)[:, None]
    return clifford.Graph((start + first).flatten(), (start + second).flatten(), n * BODIES)


class Forces(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lift = clifford.MVLinear(2, FEATURES, "+++")
        self.layer = clifford.GraphLayer(FEATURES, "+++", n_edge_features=2, hidden=32)
        self.read = clifford.MVLinear(FEATURES, 1, "+++", bias=False)

    def forward(self, charge, place, graph):
        charge, place = charge.reshape(-1), place.reshape(-1, 3)
        x = torch.zeros(8, len(place), 2)  # (component, node, feature)
        x[0, :, 0] = charge
        x[1:4, :, 1] = place.T
        s, r = graph.senders, graph.receivers
        square = (place[s] - place[r]).square().sum(1)
        known = torch.stack((1 / (1 + square), charge[s] * charge[r]), 1)
        x = self.layer(self.lift(x), graph, known)
        return self.read(x)[1:4, :, 0].T


# %%
train, test = systems(400), systems(400)
graph, part = pairs(400), pairs(64)
network = Forces()
steps = 450
optimiser = torch.optim.Adam(network.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 1e-2, steps)
curve = []
began = time.perf_counter()
for step in range(steps):
    rows = torch.randperm(400)[:64]
    charge, place, wanted = (t[rows] for t in train)
    loss = (network(charge, place, part) - wanted.reshape(-1, 3)).square().mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    schedule.step()
    if step % 20 == 19:
        with torch.no_grad():
            wanted = test[2].reshape(-1, 3)
            miss = (network(test[0], test[1], graph) - wanted).norm() / wanted.norm()
        curve.append(float(miss))
print(f"{time.perf_counter() - began:.0f} s, error of unseen systems {curve[-1]:.3f} of their size")
LIMIT = 0.1
if curve[-1] > LIMIT:
    raise SystemExit(f"expected an error of at most {LIMIT}")

# %% [markdown]
# Turned systems have turned forces, to rounding.

# %%
turn = torch.linalg.qr(torch.randn(3, 3))[0]
with torch.no_grad():
    there = network(test[0], test[1] @ turn, graph)
    here = network(test[0], test[1], graph) @ turn
print(f"turned before or after: {float((there - here).norm() / here.norm()):.0e} apart")

# %%
plt.figure(figsize=(7, 3.5), layout="constrained")
plt.semilogy(range(20, steps + 1, 20), curve)
plt.xlabel("step")
plt.ylabel("error relative to the forces")
plt.show()
