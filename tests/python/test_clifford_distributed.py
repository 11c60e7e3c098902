"""clifford in two processes (gloo): data-parallel training, and tensors shared by rows."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as processes  # noqa: E402

import tessera.clifford as tc  # noqa: E402
from tessera.clifford import native  # noqa: E402

pytestmark = pytest.mark.skipif(
    not (dist.is_available() and dist.is_gloo_available()), reason="torch has no gloo"
)
N_RANK = 2
METRIC = "+++"


def network() -> Any:
    torch.manual_seed(3)
    return torch.nn.Sequential(
        tc.MVLinear(4, 6, METRIC), tc.Layer(6, METRIC), tc.Layer(6, METRIC, use_fc=True)
    ).double()


def batch() -> Any:
    return torch.randn(8, 10, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(5))


def train(net: Any, x: Any, steps: int) -> None:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()


def data_parallel(rank: int) -> list[Any]:
    """Train with half of the rows in each process; gradients are averaged by torch."""
    net = torch.nn.parallel.DistributedDataParallel(network())
    train(net, batch().chunk(N_RANK, dim=1)[rank], 3)
    return [p.detach() for p in net.module.parameters()]


def shared_rows(rank: int) -> list[Any]:
    """Compute every operation, and its gradients, of one tensor whose rows are shared."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

    mesh = init_device_mesh("cpu", (N_RANK,))
    found = []
    for x, y, rest, f in operations():
        tensors = [distribute_tensor(t.detach(), mesh, [Shard(1)]) for t in (x, y)]
        tensors += [distribute_tensor(t.detach(), mesh, [Replicate()]) for t in rest]
        for t in tensors:
            t.requires_grad_()
        z = f(*tensors)
        assert isinstance(z, DTensor)
        assert z.placements == (Shard(1),)
        assert z.to_local().shape[1] == x.shape[1] // N_RANK
        z.backward(distribute_tensor(torch.ones(z.shape, dtype=z.dtype), mesh, [Shard(1)]))
        found += [z.full_tensor(), *(t.grad.full_tensor() for t in tensors if t.grad is not None)]
    return [t.detach() for t in found]


def operations() -> list[tuple[Any, Any, tuple[Any, ...], Any]]:
    generator = torch.Generator().manual_seed(7)

    def random(*shape: int) -> Any:
        return torch.randn(shape, dtype=torch.float64, generator=generator).requires_grad_()

    x, y = random(8, 6, 4), random(8, 6, 4)
    return [
        (x, y, (random(4, 20),), lambda x, y, w: tc.sgp(x, y, w, METRIC)),
        (x, y, (random(20, 4, 3),), lambda x, y, w: tc.fcgp(x, y, w, METRIC)),
        (x, y, (random(4, 4, 3), random(3)), lambda x, y, w, b: tc.linear(x, w, b, METRIC)),
        (x, y, (), lambda x, y: tc.mv_gelu(x, METRIC) + tc.rms_norm(y, METRIC)),
    ]


def alone() -> list[Any]:
    found = []
    for x, y, rest, f in operations():
        z = f(x, y, *rest)
        z.backward(torch.ones_like(z))
        found.append(z.detach())
        for t in (x, y, *rest):
            if t.grad is not None:
                found.append(t.grad)
                t.grad = None
    return found


def run(rank: int, port: int, folder: str) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=N_RANK)
    try:
        found = {"parallel": data_parallel(rank), "shared": shared_rows(rank)}
        native.build()
        assert native.is_active()
        found["compiled"] = data_parallel(rank)
        torch.save(found, Path(folder) / f"{rank}.pt")
    finally:
        dist.destroy_process_group()


def test_two_processes_are_one(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes.spawn(run, (port, str(tmp_path)), nprocs=N_RANK)
    found = [torch.load(tmp_path / f"{rank}.pt") for rank in range(N_RANK)]
    net = network()
    train(net, batch(), 3)
    expected = [p.detach() for p in net.parameters()]
    for one in found:
        for way in ("parallel", "compiled"):
            for got, want in zip(one[way], expected, strict=True):
                torch.testing.assert_close(got, want, rtol=1e-10, atol=1e-12)
        for got, want in zip(one["shared"], alone(), strict=True):
            torch.testing.assert_close(got, want, rtol=1e-12, atol=1e-12)
