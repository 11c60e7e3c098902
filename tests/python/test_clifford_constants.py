"""What modules compute when they are made, and keep beside their parameters."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

import tessera.clifford as tc  # noqa: E402
from tessera.clifford import gatr, lgatr  # noqa: E402
from tessera.clifford.equivariant import _node  # noqa: E402

_ATTENTION, _MLP = {"num_heads": 1}, {"mlp_ratio": 1}


def _lgatr(**options: Any) -> Any:
    return lgatr.LGATr(1, 1, 1, 2, 1, 1, 2, _ATTENTION, _MLP, **options)


def _graph(x: Any) -> Any:
    return tc.Graph([0, 1, 2], [1, 0, 1], x.shape[1])


_MAKERS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "lgatr": (_lgatr, lambda net: net(torch.ones(3, 1, 16), torch.ones(3, 1))[0]),
    "lgatr, more": (
        lambda: _lgatr(reinsert_mv_channels=[0], dropout_prob=0.5),
        lambda net: net.eval()(torch.ones(3, 1, 16), torch.ones(3, 1))[0],
    ),
    "gatr": (
        lambda: gatr.GATr(1, 1, 2, 1, 1, 2, _ATTENTION, _MLP, 1),
        lambda net: net(torch.ones(3, 1, 16), torch.ones(3, 1))[0],
    ),
    "feed-forward": (
        lambda: lgatr.GeoMLP({"mv_channels": 1, "mlp_ratio": 1}),
        lambda net: net(torch.ones(3, 1, 16))[0],
    ),
    "cgenn": (lambda: tc.SteerableLayer(2, "+++"), lambda net: net(torch.ones(8, 3, 2))),
    "graph": (
        lambda: tc.GraphLayer(2, "+-"),
        lambda net: net(torch.ones(4, 3, 2), _graph(torch.ones(4, 3))),
    ),
}


@pytest.fixture(params=list(_MAKERS))
def maker(request: Any) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    return _MAKERS[request.param]


@pytest.mark.parametrize("assigns", [False, True])
def test_modules_made_without_data_take_a_state(maker: Any, assigns: bool) -> None:
    make, run = maker
    known = make()
    with torch.device("meta"):
        made = make()
        assert run(made).is_meta
    if not assigns:
        made.to_empty(device="cpu")
        for buffer in made.buffers():
            assert not buffer.is_meta
    made.load_state_dict(known.state_dict(), assign=assigns)
    assert torch.equal(run(made), run(known))
    away = copy.deepcopy(known).to("meta").to_empty(device="cpu")
    away.load_state_dict(known.state_dict())
    assert torch.equal(run(away), run(known))


def test_a_first_run_without_gradients_is_none_less(maker: Any) -> None:
    make, run = maker
    torch.manual_seed(1)
    module = make()
    with torch.inference_mode():
        want = run(module)
    z = run(module)
    z.square().sum().backward()
    assert torch.equal(z, want)


def test_copies_share_their_tables() -> None:
    block = lgatr.LGATrBlock(1, 1, _ATTENTION, _MLP)
    x = (torch.ones(2, 1, 16), torch.ones(2, 1))
    want = block(*x)[0]
    file = io.BytesIO()
    torch.save(block, file)
    file.seek(0)
    kept = len(_node._geometries)
    for other in (copy.deepcopy(block), torch.load(file, weights_only=False)):
        assert other.geometry is block.geometry
        assert torch.equal(other(*x)[0], want)
    assert len(_node._geometries) == kept
