"""Bad input of clifford: what is raised, and that the sentence helps."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tessera
import tessera.clifford as tc

torch: Any = pytest.importorskip("torch")


def arrays(*shape: int, dtype: str = "float32") -> Any:
    return np.ones(shape, dtype)


def tensors(*shape: int, dtype: str = "float32") -> Any:
    return torch.ones(shape, dtype=getattr(torch, dtype))


MAKERS = pytest.mark.parametrize("make", [arrays, tensors], ids=["numpy", "torch"])
Make = Callable[..., Any]


def raises(kind: type[Exception], *words: str) -> Any:
    """Expect an error whose sentence has all the words."""
    pattern = "".join(f"(?=.*{re.escape(word)})" for word in words)
    return pytest.raises(kind, match=f"(?s){pattern}")


@MAKERS
def test_shapes_of_x_and_y(make: Make) -> None:
    w = make(5, 20)
    with raises(ValueError, "x", "y", "(8,3,5)", "(8,3,4)"):
        tc.sgp(make(8, 3, 5), make(8, 3, 4), w, "+++")
    with raises(ValueError, "x", "y"):
        tc.sgp(make(8, 3, 5), make(8, 2, 5), w, "+++")
    with raises(ValueError, "y"):
        tc.sgp(make(8, 3, 5), None, w, "+++")


@MAKERS
def test_first_axis(make: Make) -> None:
    with raises(ValueError, "8", "4", "+++"):
        tc.mv_gelu(make(4, 3, 5), "+++")
    # Components last: say so.
    with raises(ValueError, "last"):
        tc.sgp(make(3, 5, 8), make(3, 5, 8), make(5, 20), "+++")


@MAKERS
def test_shapes_of_weights(make: Make) -> None:
    x = make(8, 3, 5)
    with raises(ValueError, "weight", "(5,20)", "transposed"):
        tc.sgp(x, x, make(20, 5), "+++")
    with raises(ValueError, "weight", "(5,20)", "(5,10)"):
        tc.sgp(x, x, make(5, 10), "+++")
    with raises(ValueError, "weight", "20"):
        tc.fcgp(x, x, make(5, 5, 20), "+++")
    with raises(ValueError, "weight"):
        tc.fcgp(x, x, make(5, 20), "+++")
    with raises(ValueError, "weight"):
        tc.fcgp(x, x, make(20, 4, 5), "+++")
    with raises(ValueError, "weight"):
        tc.linear(x, make(5, 5), None, "+++")
    with raises(ValueError, "weight"):
        tc.linear(x, make(3, 5, 5), None, "+++")
    with raises(ValueError, "bias"):
        tc.linear(x, make(4, 5, 6), make(5), "+++")
    with raises(ValueError, "linear_weight"):
        tc.layer(x, make(5, 20), None, None, "+++")  # type: ignore[arg-type]


@MAKERS
def test_types(make: Make) -> None:
    x, w = make(8, 3, 5), make(5, 20)
    with raises(TypeError, "x", "y"):
        tc.sgp(x, make(8, 3, 5, dtype="float64"), w, "+++")
    with raises(TypeError, "weight"):
        tc.sgp(x, x, make(5, 20, dtype="float64"), "+++")
    with raises(TypeError, "weight"):
        tc.sgp(x, x, make(5, 20, dtype="float16"), "+++")
    half = make(8, 3, 5, dtype="float16")
    assert tc.sgp(half, half, w, "+++").dtype == half.dtype
    for name in ("int32", "int64", "complex64", "bool"):
        with raises(TypeError, "f32", "f64", "bf16", "f16"):
            tc.mv_gelu(make(8, 3, 5, dtype=name), "+++")


def test_types_of_torch_alone() -> None:
    with raises(TypeError, "x"):
        tc.mv_gelu(torch.ones(8, 3, 5).to(torch.float8_e4m3fn), "+++")
    b, h = torch.ones(8, 3, 5, dtype=torch.bfloat16), torch.ones(8, 3, 5, dtype=torch.float16)
    with raises(TypeError, "x", "y"):
        tc.sgp(b, h, torch.ones(5, 20), "+++")


def test_mixed_libraries() -> None:
    with raises(ValueError, "weight"):
        tc.sgp(torch.ones(8, 3, 5), torch.ones(8, 3, 5), torch.ones(5, 10), "+++")
    x, w = torch.ones(8, 3, 5), torch.ones(5, 20)
    with raises(TypeError, "weight", "tensor", "ndarray"):
        tc.sgp(x, x, w.numpy(), "+++")
    with raises(TypeError, "y", "tensor", "ndarray"):
        tc.sgp(x, x.numpy(), w, "+++")
    with raises(TypeError, "weight", "tensor", "list"):
        tc.sgp(x, x, w.tolist(), "+++")
    with pytest.raises((TypeError, ValueError)):
        tc.mv_gelu(["a", "b"], "+++")  # type: ignore[type-var]
    with pytest.raises((TypeError, ValueError)):
        tc.mv_gelu(None, "+++")  # type: ignore[type-var]


def test_arrays_beside_tensors() -> None:
    """A gradient by the weight would be lost."""
    x = np.ones((8, 3, 5), np.float32)
    for weight in (torch.ones(5, 20), torch.nn.Parameter(torch.ones(5, 20))):
        with raises(TypeError, "weight", "tensor", "ndarray"):
            tc.sgp(x, x, weight, "+++")
    with raises(TypeError, "y", "tensor", "ndarray"):
        tc.sgp(x, torch.from_numpy(x), None, "+++")


def test_sparse_tensors() -> None:
    x = torch.ones(8, 3, 5)
    sparse, algebra = x.to_sparse(), tc.Algebra("+++")
    calls: list[Callable[[], Any]] = [
        lambda: tc.mv_gelu(sparse, "+++"),
        lambda: tc.mv_gelu(sparse, "+++", axis=-1),
        lambda: tc.sgp(x, sparse, None, "+++"),
        lambda: tc.sgp(x, x, torch.ones(5, 20).to_sparse(), "+++"),
        lambda: tc.Layer(5, 3)(sparse),
        lambda: algebra.reverse(sparse),
        lambda: algebra.norm(sparse),
        lambda: algebra.grade(sparse, 1),
    ]
    for f in calls:
        with raises(TypeError, "sparse_", "to_dense"):
            f()
    with raises(TypeError, "x", "nested"):
        tc.Layer(5, 3)(torch.nested.nested_tensor([x, x], layout=torch.jagged))


def test_weights_without_data() -> None:
    x = torch.ones(8, 3, 5)
    with raises(ValueError, "weight", "meta", "cpu"):
        tc.Layer(5, 3, device="meta")(x)
    with raises(ValueError, "y", "meta", "cpu"):
        tc.sgp(x, x.to("meta"), None, "+++")


@MAKERS
def test_metrics(make: Make) -> None:
    for wrong in ("", "++++++", "+x+", "Cl(6,0)", (1, 2), (), (1, 1, 1, 1, 1, 1), 3, None):
        with pytest.raises(ValueError, match=r"metric|signature"):
            tc.mv_gelu(make(8, 3, 5), wrong)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=r"metric|signature"):
            tc.Algebra(wrong)  # type: ignore[arg-type]


@MAKERS
def test_no_rows_and_no_features(make: Make) -> None:
    empty = make(8, 0, 5)
    assert tuple(tc.sgp(empty, empty, make(5, 20), "+++").shape) == (8, 0, 5)
    with raises(ValueError, "feature"):
        tc.rms_norm(make(8, 3, 0), "+++")
    with raises(ValueError, "feature"):
        tc.rms_norm(make(8, 3, 2, 0), "+++")
    with raises(ValueError, "feature"):
        tc.sgp(make(8, 3, 0), make(8, 3, 0), make(0, 20), "+++")


def test_no_rows_have_gradients() -> None:
    x = torch.ones(8, 0, 5, requires_grad=True)
    w = torch.ones(5, 20, requires_grad=True)
    tc.sgp(x, x, w, "+++").sum().backward()
    assert x.grad.shape == x.shape
    assert not w.grad.any()


@MAKERS
def test_options(make: Make) -> None:
    x = make(8, 3, 5)
    wrong: Any
    with raises(ValueError, "activation", "tanh"):
        tc.mv_gelu(x, "+++", activation="tanhh")  # type: ignore[arg-type]
    with raises(ValueError, "norm_metric"):
        tc.rms_norm(x, "+++", norm_metric="l1")  # type: ignore[arg-type]
    for wrong in (-1.0, float("nan"), "small", [1e-6]):
        with raises(ValueError, "eps"):
            tc.rms_norm(x, "+++", eps=wrong)
    for wrong in ("yes", "False", 2):
        with raises(ValueError, "normalize"):
            tc.sgp(x, x, None, "+++", normalize=wrong)
    for wrong in (-1, 1 << 64, 7.0, [True] * 20, 1 << 20, 1 << 30, (1 << 64) - 2):
        with raises(ValueError, "path_mask"):
            tc.sgp(x, x, None, "+++", path_mask=wrong)
    with raises(ValueError, "precision"):
        tc.linear(x, make(4, 5, 5), None, "+++", precision="low")  # type: ignore[arg-type]
    with raises(ValueError, "bias_mode"):
        tc.linear(x, make(4, 5, 5), None, "+++", bias_mode="vector")  # type: ignore[arg-type]
    with raises(ValueError, "axis"):
        tc.mv_gelu(x, "+++", axis=1)
    with raises(ValueError, "axis"):
        tc.Algebra("+++", axis=2)
    with raises(ValueError, "grade"):
        tc.Algebra("+++").grade(x, 4)
    with raises(ValueError, "kind"):
        tc.Op("softmax", "+++")  # type: ignore[arg-type]
    with raises(ValueError, "product"):
        tc.Algebra("+++").product_paths("cross")


@MAKERS
def test_options_of_other_types(make: Make) -> None:
    x = make(8, 3, 5)
    yes: Any
    no: Any
    for yes in (1, np.bool_(True)):
        found = tc.sgp(x, x, None, "+++", normalize=yes)
        assert (found == tc.sgp(x, x, None, "+++", normalize=True)).all()
    for no in (0, np.bool_(False)):
        found = tc.sgp(x, x, None, "+++", normalize=no)
        assert (found == tc.sgp(x, x, None, "+++", normalize=False)).all()
    mask: Any = np.uint64(77)
    found = tc.sgp(x, x, None, "+++", eps=np.float64(0.5), path_mask=mask)
    assert (found == tc.sgp(x, x, None, "+++", eps=0.5, path_mask=77)).all()


@MAKERS
def test_not_a_number_stays_in_its_row(make: Make) -> None:
    x, w = make(8, 4, 5), make(5, 20)
    x[3, 2, 1] = float("nan")
    z = np.asarray(tc.sgp(x, make(8, 4, 5), w, "+++"))
    assert np.isnan(z[:, 2]).any()
    assert np.isfinite(z[:, [0, 1, 3]]).all()
    plain = np.asarray(tc.sgp(x, make(8, 4, 5), w, "+++", normalize=False))
    assert np.isnan(plain[:, 2, 1]).any()
    assert np.isfinite(plain[:, 2, [0, 2, 3, 4]]).all()


@MAKERS
def test_a_grade_of_zeros_is_finite(make: Make) -> None:
    x = make(8, 2, 5)
    x[1:4] = 0
    z = np.asarray(tc.rms_norm(x, "+++"))
    assert not z[1:4].any()
    assert np.isfinite(z).all()


@MAKERS
def test_maps_want_all_components(make: Make) -> None:
    for axis, shapes in ((0, ((1, 2, 3), (4, 2, 3))), (-1, ((2, 3, 1), (2, 3, 4)))):
        algebra = tc.Algebra("+++", axis=axis)
        for shape in shapes:
            for function in (algebra.reverse, algebra.dual, algebra.quadratic, algebra.norm):
                with raises(ValueError, "8 components"):
                    function(make(*shape))
    for wrong in (-1, 4):
        with raises(ValueError, "grade", "0 to 3"):
            tc.Algebra("+++").grade_paths([0, wrong], [0])


def test_operations_of_arrays() -> None:
    op = tc.Op("gate", "+++")
    x = np.ones((8, 3, 5), np.float32)
    with raises(TypeError, "x", "torch", "functions"):
        op.forward(torch.ones(8, 3, 5))
    with raises(ValueError, "cotangents", "5", "1"):
        op.double_backward((x,), x, x)
    with raises(ValueError, "gz"):
        op.backward(None, x)  # type: ignore[arg-type]
    masked = np.ma.masked_array(x, mask=x > 0)
    assert type(op.forward(masked)) is np.ndarray


def test_overlapping_results() -> None:
    x = np.ones((8, 3, 5), np.float32)
    op = tessera._core.clifford_op("gate", "+++")
    context = tessera.Context(threads=1)
    overlapping = np.lib.stride_tricks.as_strided(x, (8, 3, 5), (0, 20, 4))
    with raises(ValueError, "z", "overlap"):
        op.forward(context, None, x.copy(), None, None, None, None, overlapping, None, None)
    read_only = np.ones((8, 3, 5), np.float32)
    read_only.flags.writeable = False
    with raises(ValueError, "z", "read-only"):
        op.forward(context, None, x, None, None, None, None, read_only, None, None)


def test_core_calls_check_their_arguments() -> None:
    core: Any = tessera._core
    x = np.ones((8, 3, 5), np.float32)
    op = core.clifford_op("gate", "+++")
    context = tessera.Context(threads=1)
    for wrong in ((context,), (context, None, x)):
        with raises(TypeError, "arguments"):
            op.forward(*wrong)
        with raises(TypeError, "arguments"):
            op.backward(*wrong)
        with raises(TypeError, "arguments"):
            op.double_backward(*wrong)
        with raises(TypeError, "arguments"):
            op.workspace(*wrong)
    with raises(TypeError, "Context"):
        op.forward(None, None, x, None, None, None, None, x, None, None)
    for missing in ((None, x), (x, None)):
        with pytest.raises(ValueError, match=r"x|z"):
            op.forward(context, None, missing[0], *[None] * 4, missing[1], None, None)
    with pytest.raises(ValueError, match="gz"):
        op.backward(context, None, x, *[None] * 7, x.copy(), *[None] * 4)
    assert op.workspace(context, 1, x, None, None, None, None) >= 0
    with raises(ValueError, "pass"):
        op.workspace(context, 7, x, None, None, None, None)
    with pytest.raises(TypeError):
        type(op)()
    with raises(TypeError, "uint16"):
        core.clifford_bfloat16(x)
    with pytest.raises(OverflowError):
        core.clifford_op("gate", "+++", None, -1)
    with raises(ValueError, "shape"):
        core.pooled_tensor((-1,), "float32", 0)
    with raises(ValueError, "shape"):
        core.pooled_tensor((1 << 62, 1 << 62), "float32", 0)
    with raises(ValueError, "shape"):
        core.pooled_tensor((1,) * 7, "float32", 0)
    with raises(TypeError, "dtype"):
        core.pooled_tensor((1,), "int8", 0)
    assert core.pooled_tensor((3, 2), "float64", 0) is not None


def test_workspace_of_the_caller() -> None:
    x = torch.randn(8, 9, 16)
    w = torch.randn(20, 16, 16)
    op = tessera._core.clifford_op("fcgp", "+++")
    context = tessera.Context(threads=1)
    want, got = torch.empty_like(x), torch.empty_like(x)
    taken = []

    def take(n_byte: int) -> Any:
        taken.append(torch.empty(n_byte + 256, dtype=torch.uint8))
        return taken[-1][-taken[-1].data_ptr() % 256 :][:n_byte]

    op.forward(context, None, x, x, w, None, None, want, None, None)
    op.forward(context, take, x, x, w, None, None, got, None, None)
    assert torch.equal(got, want)
    needed = op.workspace(context, 1, x, x, w, None, None)
    assert bool(taken) == (needed > 0)

    def fail(n_byte: int) -> Any:
        raise MemoryError(f"{n_byte} bytes")

    if needed:
        with raises(MemoryError, str(needed)):
            op.forward(context, fail, x, x, w, None, None, got, None, None)
