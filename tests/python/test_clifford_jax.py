"""clifford inside programs of JAX: values and derivatives are those of torch's functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tessera

jax: Any = pytest.importorskip("jax", reason="JAX is not installed (pip install jax)")
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp  # noqa: E402

import tessera.clifford as tc  # noqa: E402
from tessera.clifford import jax as tj  # noqa: E402

METRICS = ["++", "+++", "0+++", "+---", "+-"]
SLOTS = {
    "gate": ("x",),
    "norm": ("x",),
    "sgp": ("x", "y", "weight"),
    "product": ("x", "y"),
    "fcgp": ("x", "y", "weight"),
    "linear": ("x", "linear_weight", "bias"),
    "layer": ("x", "weight", "linear_weight", "bias"),
    "fc_layer": ("x", "weight", "linear_weight", "bias"),
}
SUPPORTED = ("float64", "float32", "bfloat16", "float16")
# Every type that JAX has a name for, but those.
OTHERS = sorted(
    {jnp.dtype(t).name for t in vars(jnp).values() if isinstance(t, type(jnp.int8))}
    - set(SUPPORTED)
)


def cases(metric: str, dtype: Any = np.float64) -> dict[str, tuple[tuple[Any, ...], Any]]:
    """Return arrays, and a function of a package (torch's or JAX's) on them."""
    rng = np.random.default_rng(11)
    algebra = tc.Algebra(metric)
    n, p, g = len(algebra.blades), algebra.n_path, algebra.n_grade

    def random(*shape: int) -> Any:
        return rng.standard_normal(shape).astype(dtype)

    x, y = random(n, 5, 4), random(n, 5, 4)
    return {
        "gate": ((x,), lambda c, x: c.mv_gelu(x, metric, activation="silu")),
        "norm": ((x,), lambda c, x: c.rms_norm(x, metric, norm_metric="euclid", eps=1e-3)),
        "sgp": ((x, y, random(4, p)), lambda c, x, y, w: c.sgp(x, y, w, metric)),
        "product": (
            (x, y),
            lambda c, x, y: c.sgp(x, y, None, metric, normalize=False, path_mask=3),
        ),
        "fcgp": ((x, y, random(p, 4, 3)), lambda c, x, y, w: c.fcgp(x, y, w, metric)),
        "linear": (
            (x, random(g, 4, 3), random(3)),
            lambda c, x, w, b: c.linear(x, w, b, metric, bias_mode="all"),
        ),
        "layer": (
            (x, random(4, p), random(g, 4, 4), random(4)),
            lambda c, x, w, v, b: c.layer(x, w, v, b, metric),
        ),
        "fc_layer": (
            (x, random(p, 4, 3), random(g, 4, 4), random(4)),
            lambda c, x, w, v, b: c.layer(x, w, v, b, metric, use_fc=True),
        ),
    }


def near(got: Any, want: Any, tolerance: float) -> None:
    want = np.asarray(want)
    assert np.asarray(got).shape == want.shape
    scale = max(float(np.abs(want).max()), 1.0)
    assert float(np.abs(np.asarray(got, np.float64) - want).max()) <= tolerance * scale


@pytest.mark.parametrize("metric", METRICS)
def test_values_and_derivatives(metric: str) -> None:
    torch: Any = pytest.importorskip("torch")
    for arrays, f in cases(metric).values():
        tensors = [torch.from_numpy(a).requires_grad_() for a in arrays]

        def loss(*arrays: Any, f: Any = f) -> Any:
            return (jnp.sin(f(tj, *arrays))).sum()

        z = f(tc, *tensors)
        near(jax.jit(lambda *a, f=f: f(tj, *a))(*arrays), z.detach(), 1e-12)
        places = tuple(range(len(arrays)))
        first = torch.autograd.grad(z.sin().sum(), tensors, create_graph=True)
        for got, want in zip(jax.jit(jax.grad(loss, places))(*arrays), first, strict=True):
            near(got, want.detach(), 1e-11)

        def slope(*arrays: Any, loss: Any = loss, places: Any = places) -> Any:
            return sum(jnp.square(g).sum() for g in jax.grad(loss, places)(*arrays))

        second = torch.autograd.grad(sum(g.square().sum() for g in first), tensors)
        for got, want in zip(jax.jit(jax.grad(slope, places))(*arrays), second, strict=True):
            near(got, want, 1e-10)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float32", 1e-5), ("bfloat16", 4e-2), ("float16", 4e-3)]
)
def test_types(dtype: str, tolerance: float) -> None:
    for arrays, f in cases("+++").values():
        narrow = [jnp.asarray(a, dtype) for a in arrays]
        z = f(tj, *narrow)
        assert z.dtype == dtype
        near(z, f(tj, *(jnp.asarray(a, jnp.float64) for a in narrow)), tolerance)


def test_axes_batches_and_loops() -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, 3, 4, 8))
    got = tj.sgp(x, x, None, "+++", axis=-1)
    front = np.moveaxis(x, -1, 0).reshape(8, 6, 4)
    want = np.moveaxis(np.asarray(tc.sgp(front, front, None, "+++")).reshape(8, 2, 3, 4), 0, -1)
    near(got, want, 1e-12)
    # A row does not depend on the rows beside it, so that vmap over them is the whole.
    by_rows = jax.vmap(lambda r: tj.sgp(r, r, None, "+++"), in_axes=1, out_axes=1)
    whole = np.asarray(tc.sgp(front, front, None, "+++"))[:, :, None]
    near(by_rows(front[:, :, None]), whole, 1e-12)

    def step(c: Any, _: Any) -> tuple[Any, int]:
        return tj.rms_norm(tj.sgp(c, c, None, "+++"), "+++"), 0

    plain = front
    for _ in range(3):
        plain = np.asarray(tc.rms_norm(tc.sgp(plain, plain, None, "+++"), "+++"))
    near(jax.lax.scan(step, front, None, 3)[0], plain, 1e-11)


def test_bad_calls_say_why() -> None:
    x = np.ones((8, 2, 3))
    with pytest.raises(tessera.ShapeError, match="expected 8 components"):
        tj.sgp(x[:4], x[:4], None, "+++")
    with pytest.raises(tessera.ShapeError, match="weight: expected"):
        tj.sgp(x, x, np.ones((3, 7)), "+++")
    with pytest.raises(tessera.ShapeError, match=r"^x: expected"):
        tj.mv_gelu(x[:, 0, 0], "+++")
    with pytest.raises(tessera.ShapeError, match=r"^y: expected"):
        tj.sgp(x, x[:, 0, 0], None, "+++")
    with pytest.raises(tessera.ArgumentError, match="axis"):
        tj.sgp(x, x, None, "+++", axis=1)
    with pytest.raises(tessera.Error):
        tj.sgp(x, x, None, "+++", activation="loud")  # type: ignore[arg-type]


def short(dtype: str) -> str:
    """Return a type as the library writes it, where it knows it."""
    known = np.dtype(dtype)
    return f"{known.kind}{8 * known.itemsize}" if known.kind in "iuc" else dtype


@pytest.mark.parametrize("case", SLOTS)
def test_other_types_are_refused_while_tracing(case: str) -> None:
    """Programs would take their memory for that of another type."""
    arrays, f = cases("+++", np.float32)[case]
    given = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays]
    for dtype in OTHERS:
        for at, name in enumerate(SLOTS[case]):
            wrong = list(given)
            wrong[at] = jax.ShapeDtypeStruct(given[at].shape, dtype)
            with pytest.raises(tessera.DTypeError, match=f"{name}: is {short(dtype)}[ ;,]"):
                jax.eval_shape(lambda *a: f(tj, *a), *wrong)
        all_wrong = [jax.ShapeDtypeStruct(a.shape, dtype) for a in given]
        with pytest.raises(tessera.DTypeError, match="f64, f32, bf16 and f16"):
            jax.eval_shape(lambda *a: f(tj, *a), *all_wrong)


@pytest.mark.parametrize("case", SLOTS)
def test_types_beside_x_are_those_of_numpy(case: str) -> None:
    arrays, f = cases("+++")[case]
    for x_type in SUPPORTED:
        for dtype in SUPPORTED:
            for at in range(1, len(arrays)):
                # All matrices have one type: those after this one follow it.
                types = [x_type] * at + [dtype] * (len(arrays) - at)
                if SLOTS[case][at] == "y":
                    types = [x_type, dtype] + [x_type] * (len(arrays) - 2)
                given = [np.asarray(jnp.asarray(a, t)) for a, t in zip(arrays, types, strict=True)]
                assert outcome(f, tj, given) == outcome(f, tc, given)


def outcome(f: Callable[..., Any], package: Any, arrays: Any) -> Any:
    """Return the type and shape of what comes out, or the error."""
    try:
        z = f(package, *arrays)
    except (tessera.Error, TypeError) as error:
        return type(error), str(error)
    return z.dtype.name, z.shape


def test_arrays_of_no_numbers() -> None:
    keys = jax.random.split(jax.random.key(1), (8, 2, 3))
    for x in (keys, np.zeros((8, 2, 3), jax.dtypes.float0)):
        with pytest.raises(tessera.DTypeError, match=r"x: is .*f64, f32, bf16 and f16"):
            tj.mv_gelu(x, "+++")


def is_compiled(dtype: str) -> bool:
    """Say whether the compiler calls functions of others with a type, too."""
    function = jax.ffi.ffi_call("none", jax.ShapeDtypeStruct((2,), dtype))
    try:
        jax.block_until_ready(jnp.zeros(2, dtype))
        jax.jit(function).lower()
    except Exception:  # XLA's own, of no type to be relied on
        return False
    return True


# Arguments and results of the passes of sgp.
PASSES = [
    (1, ("x", "y", "weight"), ("z",)),
    (
        2,
        ("x", "y", "weight", "gz"),
        ("gradient of x", "gradient of y", "gradient of weight"),
    ),
    (
        3,
        ("x", "y", "weight", "gz", "cotangent of x", "cotangent of y", "cotangent of weight"),
        ("dgz", "gradient of x", "gradient of y", "gradient of weight"),
    ),
]


@pytest.mark.parametrize(("number", "arguments", "results"), PASSES)
def test_the_foreign_function_refuses_other_types(
    number: int, arguments: tuple[str, ...], results: tuple[str, ...]
) -> None:
    """A caller of its own may give any type; without this test's refusal the process ends."""
    tj.mv_gelu(jnp.ones((8, 2, 3)), "+++")  # registers
    names = (*arguments, *results)

    def call(types: list[str], **attributes: Any) -> Any:
        shapes = [(3, 20) if name.endswith("weight") else (8, 2, 3) for name in names]
        n = len(arguments)
        given = [jnp.ones(s, t) for s, t in zip(shapes[:n], types[:n], strict=True)]
        wanted = [jax.ShapeDtypeStruct(s, t) for s, t in zip(shapes[n:], types[n:], strict=True)]
        said = {"pass": np.int64(number), "present": np.int64(7), "kind": "sgp", "spec": "+++"}
        function = jax.ffi.ffi_call("tessera_clifford", wanted)
        return jax.block_until_ready(function(*given, **{**said, **attributes}))

    assert len(call(["float32"] * len(names))) == len(results)
    others = [dtype for dtype in OTHERS if is_compiled(dtype)]
    assert len(others) > 15
    for at, name in enumerate(names):
        # Each type as x and z; elsewhere some of them, which ones goes round.
        for dtype in others if name in ("x", "z") else others[at :: len(names)]:
            types = ["float32"] * len(names)
            types[at] = dtype
            with pytest.raises(Exception, match=f"clifford: {name}: is of XLA's element type"):
                call(types)
    for wrong in (
        {"pass": np.int64(0)},
        {"pass": np.int32(number)},
        {"present": np.int64(3)},
        {"present": np.int64(-1)},
        {"kind": "loud"},
        {"spec": "+++|loud=1"},
        {"spec": "+x+"},
    ):
        jax.clear_caches()  # to which numbers of other types are equal
        with pytest.raises(Exception, match=r"clifford|signature"):
            call(["float32"] * len(names), **wrong)


def bad_calls() -> list[Any]:
    """Return calls of a package (NumPy's or JAX's) on arrays of ones."""
    calls: list[Any] = []
    shapes = ((), (4,), (4, 3), (20, 3), (3, 7), (20, 2, 3), (4, 2, 3), (20, 3, 0), (1, 4, 3, 3))
    for shape in (None, *shapes):

        def one(ones: Callable[..., Any], shape: Any = shape) -> Any:
            return None if shape is None else ones(*shape)

        calls += [
            lambda c, o, one=one: c.fcgp(o(8, 2, 3), o(8, 2, 3), one(o), "+++"),
            lambda c, o, one=one: c.linear(o(8, 2, 3), one(o), None, "+++"),
            lambda c, o, one=one: c.layer(o(8, 2, 3), o(3, 20), one(o), None, "+++"),
            lambda c, o, one=one: c.layer(o(8, 2, 3), one(o), o(4, 3, 3), None, "+++", use_fc=True),
        ]
        if shape is not None:
            calls += [
                lambda c, o, one=one: c.sgp(o(8, 2, 3), o(8, 2, 3), one(o), "+++"),
                lambda c, o, one=one: c.linear(o(8, 2, 3), o(4, 3, 3), one(o), "+++"),
                lambda c, o, one=one: c.layer(o(8, 2, 3), one(o), o(4, 3, 3), None, "+++"),
            ]
    for bad in ((8, 2, 0), (8, 0, 0), (8, 2, 2, 0), (4, 2, 3), (2, 3, 8)):
        calls += [
            lambda c, o, s=bad: c.mv_gelu(o(*s), "+++"),
            lambda c, o, s=bad: c.rms_norm(o(*s), "+++"),
            lambda c, o, s=bad: c.sgp(o(*s), o(*s), None, "+++"),
            lambda c, o, s=bad: c.fcgp(o(*s), o(*s), o(20, 3, 3), "+++"),
            lambda c, o, s=bad: c.linear(o(*s), o(4, 3, 3), None, "+++"),
            lambda c, o, s=bad: c.layer(o(*s), o(3, 20), o(4, 3, 3), None, "+++"),
        ]
    for other in (None, (8, 2, 4), (8, 3, 3)):
        calls += [
            lambda c, o, s=other: c.sgp(o(8, 2, 3), s and o(*s), None, "+++"),
            lambda c, o, s=other: c.fcgp(o(8, 2, 3), s and o(*s), o(20, 3, 3), "+++"),
        ]
    return calls


def test_errors_are_those_of_numpy() -> None:
    for call in bad_calls():
        with pytest.raises(tessera.Error) as want:
            call(tc, lambda *shape: np.ones(shape))
        with pytest.raises(type(want.value)) as got:
            call(tj, lambda *shape: jnp.ones(shape))
        assert str(got.value) == str(want.value)
    with pytest.raises(TypeError, match="x: expected an array"):
        tj.mv_gelu(None, "+++")


@pytest.mark.parametrize("name", tj.__all__)
def test_options_are_those_of_numpy(name: str) -> None:
    ours, theirs = (inspect.signature(getattr(package, name)).parameters for package in (tj, tc))
    assert list(ours) == [p for p in theirs if p != "check_finite"]
    assert all(ours[p].default == theirs[p].default for p in ours)
    with pytest.raises(TypeError, match=rf"^{name}\(\) .*'loud'"):
        getattr(tj, name)(loud=1)


def test_sizes_that_a_program_leaves_open() -> None:
    n = jax.export.symbolic_shape("n")[0]
    check = jax.export.DisabledSafetyCheck.custom_call("tessera_clifford")

    def export(f: Callable[..., Any], dtype: str = "float64") -> Any:
        x = jax.ShapeDtypeStruct((8, n, 3), dtype)
        return jax.export.export(jax.jit(f), disabled_checks=[check])(x)

    x = np.random.default_rng(2).standard_normal((8, 5, 3))
    program = export(lambda x: tj.sgp(x, x, None, "+++"))
    near(program.call(x), tc.sgp(x, x, None, "+++"), 1e-12)
    with pytest.raises(tessera.DTypeError, match="x: is i32"):
        export(lambda x: tj.mv_gelu(x, "+++"), "int32")
    with pytest.raises(tessera.ShapeError, match="must have equal shapes"):
        export(lambda x: tj.sgp(x, x[:, 1:], None, "+++"))
