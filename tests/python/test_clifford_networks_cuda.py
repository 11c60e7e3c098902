"""Networks of L-GATr and GATr on a CUDA device: every test here needs one."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import tessera

torch: Any = pytest.importorskip("torch")

from clifford_networks import case_of, error  # noqa: E402
from tessera.clifford import gatr, lgatr  # noqa: E402


def _reason() -> str:
    if not torch.cuda.is_available():
        return "torch finds no CUDA device"
    if not any(device["backend"] == "cuda" for device in tessera.devices()):
        return "no usable CUDA device: " + str(tessera.sys_info().get("cuda"))
    return ""


_skip = _reason()
pytestmark = pytest.mark.skipif(bool(_skip), reason=_skip or "there is one")


@pytest.mark.parametrize(("dtype", "allowed"), [("float64", 1e-10), ("float32", 1e-5)])
def test_network_of_lgatr(dtype: str, allowed: float) -> None:
    case = {k: v.cuda() for k, v in case_of("lgatr_block", "net").items()}
    t = getattr(torch, dtype)
    net = lgatr.LGATr(1, 2, 1, 4, 3, 2, 6, {"num_heads": 2}, {"mlp_ratio": 2}).to("cuda", t)
    net.load_state_dict({k.removeprefix("sd."): v for k, v in case.items() if k[:3] == "sd."})
    x, s = case["x_mv"].to(t).requires_grad_(), case["x_s"].to(t).requires_grad_()
    y, y_s = net(x, s)
    torch.autograd.backward((y, y_s), (case["gy_mv"].to(t), case["gy_s"].to(t)))
    assert error(y.cpu(), case["y_mv"].cpu()) <= allowed
    assert error(y_s.cpu(), case["y_s"].cpu()) <= allowed
    assert error(x.grad.cpu(), case["d_x_mv"].cpu()) <= allowed
    for name, parameter in net.named_parameters():
        assert error(parameter.grad.cpu(), case["dsd." + name].cpu()) <= allowed, name


# Widths of which rows are multiples of 16 bytes, and of which they are not.
@pytest.mark.parametrize(("c", "s"), [(4, 8), (3, 5), (2, 0)])
@pytest.mark.parametrize("kind", ["lgatr", "gatr"])
def test_blocks_are_those_of_the_cpu(kind: str, c: int, s: int) -> None:
    torch.manual_seed(1)
    options = ({"num_heads": 2}, {"mlp_ratio": 2})
    block: Any = (
        lgatr.LGATrBlock(c, s, *options) if kind == "lgatr" else gatr.GATrBlock(c, s, *options)
    )
    there = copy.deepcopy(block).cuda()
    x, scalars = torch.randn(3, 50, c, 16), torch.randn(3, 50, s) if s else None
    want, _ = block(x, scalars)
    got, _ = there(x.cuda(), None if scalars is None else scalars.cuda())
    assert error(got.cpu(), want.detach().double()) <= 1e-5
    g = torch.randn_like(want)
    want.backward(g)
    got.backward(g.cuda())
    for (name, a), b in zip(there.named_parameters(), block.parameters(), strict=True):
        if b.grad is not None and float(b.grad.norm()):
            assert error(a.grad.cpu(), b.grad.double()) <= 1e-4, name


# torch warms up on one stream, keeps what it got there, and records on another: it says so once
# in a process, of its own layers as well.
@pytest.mark.filterwarnings("ignore:The AccumulateGrad node's stream")
def test_a_block_in_a_graph_gives_the_same() -> None:
    torch.manual_seed(1)
    block = lgatr.LGATrBlock(4, 8, {"num_heads": 2}, {"mlp_ratio": 2}).cuda()
    x = torch.randn(3, 20, 4, 16, device="cuda", requires_grad=True)
    s = torch.randn(3, 20, 8, device="cuda", requires_grad=True)
    want = [t.clone() for t in torch.autograd.grad(block(x, s)[0].sum(), (x, s))]
    recorded = torch.cuda.make_graphed_callables(copy.deepcopy(block), (x, s))
    got = torch.autograd.grad(recorded(x, s)[0].sum(), (x, s))
    for a, b in zip(got, want, strict=True):
        torch.testing.assert_close(a, b)


def _is_said_of_streams(work: Callable[[], object]) -> bool:
    """Say whether leaves have nodes of another stream than the one that work is given."""
    torch.cuda.synchronize()
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            with torch.cuda.stream(torch.cuda.Stream()):
                work()
    finally:
        torch.set_warn_always(before)
    torch.cuda.synchronize()
    return any("AccumulateGrad node's stream" in str(w.message) for w in said)


@pytest.mark.skipif(
    not hasattr(torch.autograd.graph, "set_warn_on_accumulate_grad_stream_mismatch"),
    reason="this torch does not tell",
)
def test_a_block_keeps_no_graph_alive() -> None:
    torch.manual_seed(2)
    block = lgatr.LGATrBlock(4, 8, {"num_heads": 2}, {"mlp_ratio": 2}).cuda()
    x = torch.randn(3, 20, 4, 16, device="cuda", requires_grad=True)
    s = torch.randn(3, 20, 8, device="cuda", requires_grad=True)

    def step() -> None:
        z, z_s = block(x, s)
        (z.sum() + z_s.sum()).backward()

    kept = block(x, s)
    assert _is_said_of_streams(step)  # while somebody keeps it
    del kept
    step()
    assert not _is_said_of_streams(step)
