"""clifford on NumPy arrays: tables, golden data, maps, layouts, types."""

from __future__ import annotations

import copy
import doctest
import inspect
import pickle
import re
from typing import Any

import numpy as np
import pytest

import tessera
import tessera.clifford as tc
from clifford_support import METRICS, OPS, TOLERANCE, Floats, assert_near, golden, layer_tolerance
from helpers import assert_same_bits, run_python

DTYPES = ("float64", "float32", "float16")
TABLES = ("cl20", "cl30", "cl301", "cl13", "cl41")
OTHERS = ("cl301", "cl13", "cl41")


def metric_of(name: str) -> str:
    return METRICS[name.split("_")[1] if name.startswith("ops") else name]


def cast(data: dict[str, Floats], names: str, dtype: str) -> list[Any]:
    """Return inputs, which are exact in every type."""
    return [data[name].astype(dtype) for name in names.split()]


@pytest.mark.parametrize("name", TABLES)
def test_tables(name: str) -> None:
    data = golden("tables")
    algebra = tc.Algebra(tuple(int(m) for m in data[f"{name}_metric"]))
    assert algebra.signs == METRICS[name]
    assert algebra.crc32 == int(data[f"{name}_crc32"])
    assert np.array_equal(algebra.table, data[f"{name}_terms"])
    assert np.array_equal(algebra.paths, data[f"{name}_paths"])
    assert np.array_equal(algebra.grade_of, data[f"{name}_grade"])
    assert algebra.n_path == len(data[f"{name}_paths"])


def test_ways_to_say_a_metric() -> None:
    for metric in ("0+++", "3,0,1", "Cl(3,0,1)", "p3m0n1", "pga", (0, 1, 1, 1), [0, 1, 1, 1]):
        algebra = tc.Algebra(metric)
        assert algebra.signs == "0+++"
        assert algebra == tc.Algebra(algebra)
    assert tc.Algebra("pga").blades[-2:] == ["e123", "e0123"]
    assert tc.Algebra("+++").blades == ["1", "e1", "e2", "e3", "e12", "e13", "e23", "e123"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPS)
def test_golden_products(name: str, dtype: str) -> None:
    data, metric = golden(name), metric_of(name)
    tolerance = TOLERANCE[dtype]
    x, y, gz = cast(data, "x y gz", dtype)
    for kind, weight_name, of in (("sgp", "sgp_w", "sgp"), ("fcgp", "fcgp_w", "matmul")):
        (weight,) = cast(data, weight_name, dtype)
        for normalize, word in ((False, "plain"), (True, "norm")):
            op = tc.Op(kind, metric, normalize=normalize)  # type: ignore[arg-type]
            z = op.forward(x, y, weight)
            assert z.dtype == x.dtype
            assert_near(z, data[f"{kind}_{word}_z"], tolerance[of])
            gx, gy, gw, none, nothing = op.backward(gz, x, y, weight)
            assert (none, nothing) == (None, None)
            assert_near(gx, data[f"{kind}_{word}_gx"], tolerance[of])
            assert_near(gy, data[f"{kind}_{word}_gy"], tolerance[of])
            assert_near(gw, data[f"{kind}_{word}_gw"], max(tolerance["gw"], tolerance[of]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPS)
def test_golden_layers(name: str, dtype: str) -> None:
    data, metric = golden(name), metric_of(name)
    x, gz, linear_weight, bias = cast(data, "x gz lin_W lin_b", dtype)
    for kind, weight_name in (("layer", "sgp_w"), ("fclayer", "fcgp_w")):
        (weight,) = cast(data, weight_name, dtype)
        for mode in ("all", "scalar"):
            prefix = f"{kind}_{mode}_"
            if prefix + "z" not in data:
                continue
            op = tc.Op("fc_layer" if kind == "fclayer" else kind, metric, bias_mode=mode)  # type: ignore[arg-type]
            z = op.forward(x, None, weight, linear_weight, bias)
            gx, none, gw, gl, gb = op.backward(gz, x, None, weight, linear_weight, bias)
            assert none is None
            for got, what in ((z, "z"), (gx, "gx"), (gw, "gw"), (gl, "gW"), (gb, "gb")):
                assert_near(got, data[prefix + what], layer_tolerance(dtype, prefix, what))
            if kind == "layer":
                y = tc.linear(x, linear_weight, bias, metric, bias_mode=mode)
                assert_near(y, data[prefix + "y"], layer_tolerance(dtype, prefix, "y"))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", OPS)
def test_golden_gate_and_second_derivatives(name: str, dtype: str) -> None:
    data, metric = golden(name), metric_of(name)
    tolerance = TOLERANCE[dtype]
    x, y, gz, w, a, b, c = cast(data, "x y gz sgp_w dbl_a dbl_b dbl_c", dtype)
    assert_near(tc.mv_gelu(x, metric), data["gelu_x"], tolerance["sgp"])
    assert_near(tc.Op("gate", metric).backward(gz, x)[0], data["gelu_bwd"], tolerance["sgp"])
    algebra = tc.Algebra(metric)
    assert_near(algebra.geometric_product(x, y), data["product"], tolerance["sgp"])
    bare = algebra.sgp(x, y, w, activation="none", normalize=False)
    assert_near(bare, data["sgp_nogate"], tolerance["sgp"])
    for normalize, word in ((False, "plain"), (True, "norm")):
        op = tc.Op("sgp", metric, normalize=normalize)
        found = op.double_backward((a, b, c, None, None), gz, x, y, w)
        for got, what in zip(found, ("dgz", "dx", "dy", "dw"), strict=False):
            assert_near(got, data[f"dbl_{word}_{what}"], tolerance["double"])


@pytest.mark.parametrize("name", OTHERS)
def test_golden_algebras(name: str) -> None:
    data = {k.removeprefix(name + "_"): v for k, v in golden("algebras").items() if name in k}
    algebra = tc.Algebra(METRICS[name])
    x, y = data["x"], data["y"]
    for got, what in (
        (algebra.geometric_product(x, y), "product"),
        (algebra.outer(x, y), "outer"),
        (algebra.wedge(x, y), "outer"),
        (algebra.left_contraction(x, y), "left_contraction"),
        (algebra.right_contraction(x, y), "right_contraction"),
        (algebra.inner(x, y), "inner"),
        (algebra.scalar_product(x, y), "scalar"),
        (algebra.commutator(x, y), "commutator"),
        (algebra.right_complement(x), "rc"),
        (algebra.reverse(x), "reverse"),
        (algebra.quadratic(x), "quadratic"),
    ):
        assert np.abs(got - data[what]).max() <= 1e-14 * np.abs(data[what]).max()
    if "join" in data:
        assert np.abs(algebra.join(x, y) - data["join"]).max() <= 1e-13
    for normalize, word in ((False, "plain"), (True, "norm")):
        op = tc.Op("sgp", algebra, normalize=normalize, norm_metric="euclid")
        assert_near(op.forward(x, y, data["w"]), data[f"sgp_{word}_z"], 1e-13)
        found = op.backward(data["gz"], x, y, data["w"])
        for got, what in zip(found, ("gx", "gy", "gw"), strict=False):
            assert_near(got, data[f"sgp_{word}_{what}"], 1e-13)


def test_golden_norms() -> None:
    data = golden("edges")
    for case in ("zero_grades", "one_feature", "tiny", "huge", "zero_gradient"):
        op = tc.Op("norm", "+++")
        z = op.forward(data[f"{case}_o"])
        h = op.backward(data[f"{case}_gz"], data[f"{case}_o"])[0]
        for got, want in ((z, data[f"{case}_z"]), (h, data[f"{case}_h"])):
            assert np.abs(got - want).max() <= 1e-14 * np.abs(want).max()


def test_maps_of_single_multivectors() -> None:
    rng = np.random.default_rng(3)
    for metric in ("++", "0+++", "+---", "++++-"):
        algebra = tc.Algebra(metric)
        x = rng.standard_normal((algebra.n_component, 4, 3))
        assert_same_bits(algebra.reverse(algebra.reverse(x)), x)
        assert_same_bits(algebra.conjugate(x), algebra.reverse(algebra.involution(x)))
        assert_same_bits(algebra.left_complement(algebra.dual(x)), x)
        parts = [algebra.grade(x, g) for g in range(algebra.n_grade)]
        assert_same_bits(np.sum(parts, axis=0), x)
        assert_same_bits(algebra.grade(x, 0, 1), parts[0] + parts[1])
        norm = np.sqrt(np.abs(algebra.scalar_product(algebra.reverse(x), x)[0]))
        np.testing.assert_allclose(algebra.norm(x), norm, rtol=1e-10)


def test_regressive_and_join() -> None:
    algebra = tc.Algebra("0+++")
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((2, 16, 3, 2))
    meet = algebra.regressive(x, y)
    rc = algebra.right_complement
    np.testing.assert_allclose(rc(meet), algebra.outer(rc(x), rc(y)), atol=1e-14)
    np.testing.assert_allclose(algebra.join(x, y), rc(rc(meet)), atol=1e-14)


def test_components_last_and_other_ranks() -> None:
    rng = np.random.default_rng(5)
    last, first = tc.Algebra("+++", axis=-1), tc.Algebra("+++")
    x, y = rng.standard_normal((2, 8, 5, 7)).astype(np.float32)
    w = rng.standard_normal((7, 20)).astype(np.float32)
    want = first.sgp(x, y, w)
    xl, yl = np.moveaxis(x, 0, -1), np.moveaxis(y, 0, -1)
    for a, b in ((xl, yl), (np.ascontiguousarray(xl), np.ascontiguousarray(yl))):
        assert_same_bits(last.sgp(a, b, w), np.moveaxis(want, 0, -1))
    many = last.sgp(xl.reshape(5, 1, 1, 7, 8), yl.reshape(5, 1, 1, 7, 8), w)
    assert_same_bits(many.reshape(5, 7, 8), np.moveaxis(want, 0, -1))
    assert_same_bits(first.sgp(x[:, 2], y[:, 2], w), want[:, 2])
    single = first.geometric_product(x[:, 0, 0], y[:, 0, 0])
    assert_same_bits(single, first.geometric_product(x, y)[:, 0, 0])
    assert last.quadratic(xl).shape == (5, 7, 4)
    assert last.norm(xl).shape == (5, 7)
    assert last.grade(xl, 1).shape == xl.shape


def test_strides() -> None:
    rng = np.random.default_rng(6)
    big = rng.standard_normal((8, 10, 14)).astype(np.float32)
    w = rng.standard_normal((7, 20)).astype(np.float32)
    for view in (big[:, ::2, ::2], big[:, ::-2, ::-2], big[:, 3:4, ::2].repeat(3, 1)):
        want = tc.sgp(np.ascontiguousarray(view), np.ascontiguousarray(view), w, "+++")
        assert_same_bits(np.ascontiguousarray(tc.sgp(view, view, w, "+++")), want)
    spread = np.broadcast_to(big[:, :1, :7], (8, 4, 7))
    assert_same_bits(
        tc.sgp(spread, spread, w, "+++"), tc.sgp(spread.copy(), spread.copy(), w, "+++")
    )


def test_masks() -> None:
    algebra = tc.Algebra("+++")
    rng = np.random.default_rng(7)
    x, y = rng.standard_normal((2, 8, 3, 5))
    w = rng.standard_normal((5, 20))
    mask = algebra.grade_paths([0, 1], [0, 1])
    sparse = algebra.sgp(x, y, w, activation="none", normalize=False, path_mask=mask)
    low = algebra.grade(x, 0, 1), algebra.grade(y, 0, 1)
    np.testing.assert_allclose(
        sparse, algebra.sgp(*low, w, activation="none", normalize=False), atol=1e-13
    )
    op = tc.Op("sgp", algebra, path_mask=mask)
    gw = op.backward(np.ones_like(x), x, y, w)[2]
    assert all((mask >> p & 1) or not gw[:, p].any() for p in range(20))
    assert algebra.product_paths("outer") & ~algebra.product_paths("geometric") == 0


def test_rows_do_not_depend_on_each_other() -> None:
    rng = np.random.default_rng(8)
    x, y, gz = rng.standard_normal((3, 8, 37, 28)).astype(np.float32)
    w = rng.standard_normal((28, 20)).astype(np.float32)
    op = tc.Op("sgp", "+++")
    z = op.forward(x, y, w)
    gx, gy, gw, _, _ = op.backward(gz, x, y, w)
    for rows in (slice(0, 1), slice(3, 20), slice(20, 37)):
        part: Any = [np.ascontiguousarray(a[:, rows]) for a in (x, y, gz)]
        assert_same_bits(op.forward(part[0], part[1], w), z[:, rows])
        got = op.backward(part[2], part[0], part[1], w)
        assert_same_bits(got[0], gx[:, rows])
        assert_same_bits(got[1], gy[:, rows])
    for threads in (1, 2, 5):
        with tessera.Context(threads=threads) as context:
            assert_same_bits(op.forward(x, y, w, context=context), z)
            assert_same_bits(op.backward(gz, x, y, w, context=context)[2], gw)


def test_operations_can_be_sent_elsewhere() -> None:
    x = np.linspace(-1, 1, 8 * 3 * 4).reshape(8, 3, 4)
    op = tc.Op("sgp", "+++", path_mask=77, eps=1e-3)
    for twin in (copy.deepcopy(op), pickle.loads(pickle.dumps(op))):
        assert repr(twin) == repr(op)
        assert_same_bits(twin.forward(x, x), op.forward(x, x))
    assert pickle.loads(pickle.dumps(tc.Algebra("pga", axis=-1))) == tc.Algebra("pga", axis=-1)


def test_empty_rows() -> None:
    x = np.empty((8, 0, 5), np.float32)
    w = np.ones((5, 20), np.float32)
    assert tc.sgp(x, x, w, "+++").shape == (8, 0, 5)
    gw = tc.Op("sgp", "+++").backward(x, x, x, w)[2]
    assert_same_bits(gw, np.zeros_like(w))


def test_bfloat16() -> None:
    ml_dtypes: Any = pytest.importorskip("ml_dtypes")
    data = golden("ops_3d_b3_n28")
    x, y = (data[name].astype(ml_dtypes.bfloat16) for name in ("x", "y"))
    w = data["sgp_w"].astype(np.float32)
    z = tc.sgp(x, y, w, "+++")
    assert z.dtype == ml_dtypes.bfloat16
    assert_near(z.astype(np.float64), data["sgp_norm_z"], 6e-3)


def test_finite_check() -> None:
    x = np.ones((8, 3, 4), np.float32)
    x[1, 2, 3] = np.nan
    assert not np.isfinite(tc.mv_gelu(x, "+++")).all()
    with pytest.raises(FloatingPointError, match=r"\(1, 2, 3\)"):
        tc.mv_gelu(x, "+++", check_finite=True)


def test_drop_in_functions_take_arrays() -> None:
    data = golden("ops_2d_b5_n7")
    x, y = data["x"], data["y"]
    assert_near(tc.fused_gelu_sgp_norm_2d(x, y, data["sgp_w"]), data["sgp_norm_z"], 1e-13)
    assert_near(
        tc.fused_gelu_fcgp_norm_2d(x, y, data["fcgp_w"], False), data["fcgp_plain_z"], 1e-13
    )
    data = golden("algebras")
    assert_near(tc.gp_pga(data["cl301_x"], data["cl301_y"]), data["cl301_product"], 1e-14)


def test_self_check() -> None:
    found = tc.check("+++", rows=5, features=8, threads=1)
    assert found
    assert all(entry["passed"] for entry in found)


def test_examples_in_docstrings() -> None:
    for module in (tc, tc._algebra, tc._algebra_maps, tc._algebra_tables):
        failed, tried = doctest.testmod(module)
        assert tried
        assert failed == 0


def test_options_are_those_of_the_table() -> None:
    functions = (tc.mv_gelu, tc.rms_norm, tc.sgp, tc.fcgp, tc.linear, tc.layer)
    for param in tessera._core.param_tables()["clifford.op"]:
        found = [f for f in functions if param["name"] in inspect.signature(f).parameters]
        docs = " ".join(str(inspect.getdoc(f)) for f in found)
        assert f"{param['name']} : " in docs
        default = "1e-6" if param["name"] == "eps" else repr(param["default"])
        assert f"default {default}" in docs or f"{default} for arrays" in re.sub(r"\s+", " ", docs)


def test_torch_is_not_imported() -> None:
    code = (
        "import sys, numpy as np, tessera, tessera.clifford as c;"
        "c.sgp(np.ones((8, 2, 3)), np.ones((8, 2, 3)), None, '+++'); c.Algebra('pga');"
        "print('torch' in sys.modules)"
    )
    done = run_python(code)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_modules_without_torch_say_so() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import tessera.clifford as c\n"
        "try:\n    c.Layer\nexcept ModuleNotFoundError as error:\n    print(error)\n"
    )
    assert "pip install torch" in run_python(code).stdout


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("signs", ["+++", "0+++", "+---"])
def test_norms_of_the_largest_and_smallest_numbers(signs: str, axis: int) -> None:
    algebra = tc.Algebra(signs, axis=axis)
    x = np.random.default_rng(1).standard_normal((algebra.n_component, 5, 3))
    eta = np.array(algebra._found["eta"], np.longdouble)[:, None, None]
    for dtype, factors, error in (
        (np.float32, (1.0, 1e25, 1e-25, 3e37, 1e-37), 1e-5),
        (np.float64, (1.0, 1e160, 1e-160, 1e307, 1e-300), 1e-13),
        (np.float16, (1.0, 1e3, 1e-2), 1e-2),
    ):
        for factor in factors:
            given = (factor * x).astype(dtype)
            wide = given.astype(np.longdouble)
            want = np.sqrt(abs((wide * wide * eta).sum(axis=0)))
            got = algebra.norm(given if axis == 0 else np.moveaxis(given, 0, -1))
            assert got.dtype == dtype
            # Terms of other signs cancel: what is left is as exact as they were.
            scale = np.sqrt((wide * wide).sum(axis=0))
            assert np.max(abs(got.astype(np.longdouble) - want) / scale) < error, (dtype, factor)
    # Symbols that square to nothing do not count, however large.
    if signs == "0+++" and axis == 0:
        ideal = np.zeros((16, 1, 1), np.float32)
        ideal[1], ideal[2] = 1e30, 1e-25
        assert float(algebra.norm(ideal)[0, 0]) == np.float32(1e-25)


def test_norms_keep_the_bits_of_ordinary_numbers() -> None:
    algebra = tc.Algebra("+++")
    for dtype in (np.float32, np.float64):
        x = np.random.default_rng(2).standard_normal((8, 7, 5)).astype(dtype)
        assert_same_bits(algebra.norm(x), abs(algebra.quadratic(x).sum(0)) ** 0.5)
