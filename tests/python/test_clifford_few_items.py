"""Attention among few items, head by head in the compiled node, against torch's fused attention."""

from __future__ import annotations

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from tessera.clifford import lgatr, native  # noqa: E402
from tessera.clifford.equivariant import _few_items  # noqa: E402
from tessera.clifford.native import _compile  # noqa: E402

pytestmark = pytest.mark.skipif(_compile.compiler() is None, reason="no compiler of C++")


@pytest.fixture(autouse=True)
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take it on the CPU, too, whatever the size."""
    native.build()
    monkeypatch.setattr(_few_items, "_is_worth_it", lambda z: True)


def _rows(*shape: int, dtype: Any = torch.float64) -> Any:
    torch.manual_seed(11)
    return torch.randn(*shape, dtype=dtype).requires_grad_()


def _both(z: Any) -> tuple[Any, Any]:
    found = _few_items.attend_to_few(z, {})
    assert found is not None
    q, k, v = (t.transpose(-3, -2) for t in z.unbind(-3))
    return found, functional.scaled_dot_product_attention(q, k, v).transpose(-3, -2)


# Sets of items, items, heads, features of a head.
SHAPES = [(5, 7, 3, 10), (1, 1, 1, 1), (2, 9, 1, 16), (64, 3, 8, 40), (3, 130, 2, 24)]


@pytest.mark.parametrize("shape", SHAPES)
def test_values_and_gradients(shape: tuple[int, int, int, int]) -> None:
    n_set, n_item, n_head, width = shape
    z = _rows(n_set, n_item, 3, n_head, width)
    found, wanted = _both(z)
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)
    g = torch.randn_like(wanted)
    (mine,), (theirs,) = (torch.autograd.grad(t, z, g) for t in (found, wanted))
    torch.testing.assert_close(mine, theirs, rtol=1e-11, atol=1e-11)


def test_the_node_makes_the_gradients() -> None:
    found = _few_items.attend_to_few(_rows(2, 4, 3, 2, 5), {})
    assert found is not None
    assert "TesseraAttention" in found.grad_fn.name()


def test_leading_axes_are_sets() -> None:
    z = _rows(2, 3, 5, 3, 2, 6)
    found, wanted = _both(z)
    assert found.shape == (2, 3, 5, 2, 6)
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(0, 4), (4, 0)])
def test_nothing_to_attend_to(shape: tuple[int, int]) -> None:
    z = _rows(*shape, 3, 2, 6)
    found = _few_items.attend_to_few(z, {})
    assert found is not None
    assert found.shape == (*shape, 2, 6)
    assert torch.autograd.grad(found.sum(), z)[0].shape == z.shape


def test_second_derivatives() -> None:
    z = _rows(2, 4, 3, 2, 5)
    assert torch.autograd.gradcheck(lambda t: _few_items.attend_to_few(t, {}), z)
    assert torch.autograd.gradgradcheck(lambda t: _few_items.attend_to_few(t, {}), z)


def test_sets_go_in_parts() -> None:
    """64 MiB of logits at a time: of 1,448 items and two heads in f64 two sets of three."""
    z = _rows(3, 1448, 3, 2, 2)
    found, wanted = _both(z)
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)
    g = torch.randn_like(wanted)
    (mine,), (theirs,) = (torch.autograd.grad(t, z, g) for t in (found, wanted))
    torch.testing.assert_close(mine, theirs, rtol=1e-10, atol=1e-10)


def test_what_is_asked_for_goes_to_torch() -> None:
    z = _rows(2, 4, 3, 2, 5)
    mask = torch.ones(4, 4, dtype=torch.bool).tril()
    for options in ({"attn_mask": mask}, {"is_causal": True}, {"dropout_p": 0.5}, {"scale": 2.0}):
        assert _few_items.attend_to_few(z, options) is None
    assert _few_items.attend_to_few(z, {"attn_mask": None, "is_causal": False}) is not None
    with torch.autocast("cpu", torch.bfloat16):
        assert _few_items.attend_to_few(z.float(), {}) is None
    seen: list[Any] = []

    def look(t: Any) -> Any:
        seen.append(_few_items.attend_to_few(t, {}))
        return t

    torch.func.vmap(look)(z[None])
    assert seen == [None]


@pytest.mark.parametrize("options", [{}, {"head_scale": True}, {"multi_query": True}])
def test_blocks_are_the_same(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(2)
    block = lgatr.LGATrBlock(8, 4, {"num_heads": 2, **options}, {}).double()
    mv, s = torch.randn(3, 6, 8, 16).double(), torch.randn(3, 6, 4).double()
    found = []
    for is_on in (True, False):
        monkeypatch.setattr(_few_items, "_is_worth_it", lambda z, is_on=is_on: is_on)
        inputs = [t.clone().requires_grad_() for t in (mv, s)]
        out = block(*inputs)
        wanted = [*inputs, *block.parameters()]
        found.append([*out, *torch.autograd.grad(sum(t.square().sum() for t in out), wanted)])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_compilers_see_torch_alone() -> None:
    torch.manual_seed(2)
    block = lgatr.LGATrBlock(4, 2, {"num_heads": 2}, {})
    inputs = torch.randn(2, 5, 4, 16), torch.randn(2, 5, 2)
    compiled = torch.compile(block, backend="aot_eager")
    for a, b in zip(compiled(*inputs), block(*inputs), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no NVIDIA GPU")
def test_blocks_of_a_gpu_take_it_where_tf32_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    torch.manual_seed(5)
    block = lgatr.LGATrBlock(32, 32, {}, {}).cuda()
    inputs = torch.randn(64, 128, 32, 16, device="cuda"), torch.randn(64, 128, 32, device="cuda")
    before = torch.get_float32_matmul_precision()
    found = {}
    try:
        for precision in ("highest", "high"):
            torch.set_float32_matmul_precision(precision)
            leaves = [t.clone().requires_grad_() for t in inputs]
            z = block(*leaves)
            gradients = torch.autograd.grad(sum(t.sum() for t in z), leaves)
            found[precision] = [t.detach() for t in (*z, *gradients)]
    finally:
        torch.set_float32_matmul_precision(before)
    for a, b in zip(found["high"], found["highest"], strict=True):
        assert float((a - b).norm() / b.norm()) < 2e-3
