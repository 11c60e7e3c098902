"""What torch's tools make of clifford's operators: counted operations, and no ONNX."""

from __future__ import annotations

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

import tessera  # noqa: E402
import tessera.clifford as tc  # noqa: E402


def counted(f: Any, *tensors: Any) -> tuple[int, int]:
    """Return what torch counts of a pass forward, and of one with gradients of all tensors."""
    inputs = [t.requires_grad_() for t in tensors]
    with FlopCounterMode(display=False) as forward, torch.no_grad():
        f(*inputs)
    with FlopCounterMode(display=False) as both:
        f(*inputs).sum().backward()
    return forward.get_total_flops(), both.get_total_flops()


@pytest.mark.parametrize("metric", ["++", "+++", "0+++", "+---", "+-"])
def test_flops_are_those_of_the_formulas(metric: str) -> None:
    algebra = tc.Algebra(metric)
    n_component, n_path, n_grade = len(algebra.blades), algebra.n_path, algebra.n_grade
    n_term = len(algebra.table)
    n_pair = len({(row[0], row[4]) for row in algebra.table.tolist()})
    n_row, n_in, n_out = 5, 3, 4
    x, y = torch.randn(n_component, n_row, n_in), torch.randn(n_component, n_row, n_in)
    terms = 2 * n_term * n_row * n_in
    found = counted(lambda x, y, w: tc.sgp(x, y, w, metric), x, y, torch.randn(n_in, n_path))
    assert found == (terms, 4 * terms)
    # One matrix product of torch for each component: what it counts itself.
    weight = torch.randn(n_grade, n_in, n_out)
    linear = counted(lambda x, w: tc.linear(x, w, None, metric), x, weight)
    plain = counted(torch.matmul, x, torch.randn(n_component, n_in, n_out))
    assert linear == plain
    mixing = 2 * n_pair * n_row * n_in * n_out
    found = counted(
        lambda x, y, w: tc.fcgp(x, y, w, metric), x, y, torch.randn(n_path, n_in, n_out)
    )
    assert found == (mixing + terms, 3 * mixing + 4 * terms)
    assert counted(lambda x: tc.mv_gelu(x, metric), x)[0] == 0


def test_paths_left_out_are_not_counted() -> None:
    x, y = torch.randn(8, 5, 3), torch.randn(8, 5, 3)
    with FlopCounterMode(display=False) as some:
        tc.sgp(x, y, None, "+++", path_mask=1)
    assert some.get_total_flops() == 2 * 5 * 3  # scalar times scalar


@pytest.mark.filterwarnings("ignore")
def test_onnx_by_export_names_the_refusal(tmp_path: Any) -> None:
    pytest.importorskip("onnxscript")
    with pytest.raises(Exception, match="ONNX has no operator") as found:
        torch.onnx.export(
            tc.Layer(3, "+++"), (torch.randn(8, 2, 3),), tmp_path / "layer.onnx", dynamo=True
        )
    assert isinstance(found.value.__cause__, tessera.ArgumentError)


@pytest.mark.filterwarnings("ignore")
def test_onnx_is_refused_in_words(tmp_path: Any) -> None:
    layer = tc.Layer(3, "+++")
    with pytest.raises(tessera.ArgumentError, match=r"ONNX has no operator.*torch\.export"):
        torch.onnx.export(layer, (torch.randn(8, 2, 3),), tmp_path / "layer.onnx", dynamo=False)
    assert not (tmp_path / "layer.onnx").exists()
