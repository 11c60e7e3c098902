"""clifford inside programs of JAX: values and derivatives are those of torch's functions."""

from __future__ import annotations

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
    with pytest.raises(tessera.ShapeError, match="8 components expected"):
        tj.sgp(x[:4], x[:4], None, "+++")
    with pytest.raises(Exception, match="weight: expected"):
        jax.block_until_ready(tj.sgp(x, x, np.ones((3, 7)), "+++"))
    with pytest.raises(tessera.ArgumentError, match="axis"):
        tj.sgp(x, x, None, "+++", axis=1)
    with pytest.raises(tessera.Error):
        tj.sgp(x, x, None, "+++", activation="loud")
