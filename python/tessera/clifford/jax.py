"""The operations on arrays of JAX: compiled into its programs, with derivatives.

Needs JAX (``pip install tessera[jax]``), which nothing else of Tessera imports. Functions are those
of :mod:`tessera.clifford` by name and arguments; arrays are (component, row, feature), or have
their components last with ``axis=-1``. They run where JAX runs them, on CPUs and NVIDIA GPUs, as
calls of XLA to this package's library (``jax.ffi``): inside ``jit``, ``grad`` (first and second
derivatives), ``vmap`` (one call after the other), ``scan``.

Examples
--------
>>> import jax, jax.numpy as jnp  # doctest: +SKIP
>>> from tessera.clifford import jax as clifford  # doctest: +SKIP
>>> x = jnp.ones((8, 2, 3))  # doctest: +SKIP
>>> jax.grad(lambda x: clifford.sgp(x, x, None, "+++").sum())(x).shape  # doctest: +SKIP
(8, 2, 3)
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from tessera import _core
from tessera._lib import Session
from tessera.clifford import _arrays
from tessera.clifford._spec import SLOTS, Operation, make_spec, mask_of, operation

if TYPE_CHECKING:
    from tessera.clifford._spec import MetricLike
    from tessera.clifford._types import Activation, BiasMode, NormMetric, Precision

__all__ = ["fcgp", "layer", "linear", "mv_gelu", "rms_norm", "sgp"]

_TARGET = "tessera_clifford"
_FORWARD, _BACKWARD, _DOUBLE_BACKWARD = 1, 2, 3
_ANY_SIZE = 1_000_003  # and on: stands for sizes that a program leaves open


@cache
def _register() -> None:
    for platform, handler in _core.clifford_ffi().items():
        jax.ffi.register_ffi_target(_TARGET, handler, platform=platform)


def _like(array: Any) -> Any:
    return jax.ShapeDtypeStruct(array.shape, array.dtype)


def _call(kind: str, spec: str, number: int, arrays: Any, more: Any, results: Any) -> Any:
    """Call the library; arrays: of the five slots, None where there is none."""
    _register()
    call = jax.ffi.ffi_call(_TARGET, results, vmap_method="sequential")
    present = np.int64(mask_of(a is not None for a in arrays))
    given = [a for a in (*arrays, *more) if a is not None]
    return call(*given, kind=kind, spec=spec, present=present, **{"pass": np.int64(number)})


def _slots(arrays: Any, found: Any) -> tuple[Any, ...]:
    """Put what was found for the arrays that are there into the five slots."""
    rest = iter(found)
    return tuple(None if a is None else next(rest) for a in arrays)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _forward(kind: str, spec: str, arrays: Any) -> Any:
    x, mixing = arrays[0], arrays[3] if kind == "linear" else arrays[2]
    n_out = mixing.shape[-1] if kind in ("fcgp", "linear", "fc_layer") else x.shape[-1]
    z = jax.ShapeDtypeStruct((*x.shape[:2], n_out), x.dtype)
    return _call(kind, spec, _FORWARD, arrays, (), z)


def _keep(kind: str, spec: str, arrays: Any) -> tuple[Any, Any]:
    return _forward(kind, spec, arrays), arrays


def _pull(kind: str, spec: str, arrays: Any, gz: Any) -> tuple[Any]:
    return (_backward(kind, spec, arrays, gz),)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _backward(kind: str, spec: str, arrays: Any, gz: Any) -> Any:
    results = tuple(_like(a) for a in arrays if a is not None)
    return _slots(arrays, _call(kind, spec, _BACKWARD, arrays, (gz,), results))


def _keep_both(kind: str, spec: str, arrays: Any, gz: Any) -> tuple[Any, Any]:
    return _backward(kind, spec, arrays, gz), (arrays, gz)


def _pull_both(kind: str, spec: str, kept: Any, cotangents: Any) -> tuple[Any, Any]:
    arrays, gz = kept
    results = (_like(gz), *(_like(a) for a in arrays if a is not None))
    dgz, *found = _call(kind, spec, _DOUBLE_BACKWARD, arrays, (gz, *cotangents), results)
    return _slots(arrays, found), dgz


_forward.defvjp(_keep, _pull)
_backward.defvjp(_keep_both, _pull_both)


def _rows(name: str, x: Any, axis: int) -> Any:
    """View x as (component, row, feature)."""
    if axis not in (0, -1):
        raise _core.ArgumentError(f"axis: expected 0 or -1 (components first or last), got {axis}")
    if x is None:
        return x
    if x.ndim < 2:
        raise _core.ShapeError(f"{name}: expected (component, row, feature), got {x.ndim} axes")
    x = jnp.moveaxis(x, axis, 0)
    if x.ndim == 3:
        return x
    if x.shape[-1] == 0:
        raise _core.ShapeError(f"{name}: {x.shape}: expected at least one feature")
    return x.reshape(x.shape[0], -1, x.shape[-1])


def _stand_in(kind: str, name: str, a: Any, open_sizes: dict[Any, int]) -> Any:
    """Return one number seen as an array of a's shape and type."""
    is_numpy = isinstance(a.dtype, np.dtype) and a.dtype.isbuiltin == 1
    if not is_numpy and a.dtype != jnp.bfloat16:  # NumPy lends arrays of its own types only
        raise _core.DTypeError(
            f"clifford.{kind}: {name}: is {a.dtype}; supported are f64, f32, bf16 and f16: "
            "convert it"
        )
    sizes = [
        n if isinstance(n, int) else open_sizes.setdefault(n, _ANY_SIZE + len(open_sizes))
        for n in a.shape
    ]
    return _arrays.native(np.broadcast_to(np.empty((), a.dtype), sizes))


def _check(o: Operation, arrays: list[Any]) -> None:
    """Let the library check what it can without data: presence, types and shapes.

    Programs run later, and what fails in them is JAX's error.
    """
    open_sizes: dict[Any, int] = {}
    seen = [
        None if a is None else _stand_in(o.kind, name, a, open_sizes)
        for name, a in zip(SLOTS, arrays, strict=True)
    ]
    with Session(device="cpu") as context:
        o.native().workspace(context, _FORWARD, *seen)


def _run(kind: str, spec: str, axis: int, x: Any, *rest: Any) -> Any:
    if "|precision=" not in spec and kind in ("fcgp", "linear", "layer", "fc_layer"):
        spec += "|precision=highest"
    o = operation(kind, spec)  # complains about metric and options
    if x is None:
        raise TypeError(f"{kind}: x: expected an array, got None")
    arrays: list[Any] = [None if a is None else jnp.asarray(a) for a in (x, *rest)]
    arrays += [None] * (len(SLOTS) - len(arrays))
    shape = arrays[0].shape
    arrays[:2] = _rows("x", arrays[0], axis), _rows("y", arrays[1], axis)
    _check(o, arrays)
    if arrays[4] is not None:
        arrays[4] = arrays[4].reshape(-1)
    z = _forward(kind, spec, tuple(arrays))
    inner = shape[1:-1] if axis == 0 else shape[:-2]
    return jnp.moveaxis(z.reshape(z.shape[0], *inner, z.shape[-1]), 0, axis)


def mv_gelu(
    x: Any, metric: MetricLike, *, activation: Activation | None = None, axis: int = 0
) -> Any:
    """Multiply every component by a function of the scalar: :func:`tessera.clifford.mv_gelu`.

    Parameters
    ----------
    x : array
        float32, float64, float16 or bfloat16.
    metric : str, sequence of int or Algebra
        The algebra.
    activation : str, optional
        As in :func:`tessera.clifford.mv_gelu`, like all options here.
    axis : {0, -1}
        Where the components are.

    Returns
    -------
    array
        Of x's shape and type.
    """
    return _run("gate", make_spec(metric, activation=activation), axis, x)


def rms_norm(
    x: Any,
    metric: MetricLike,
    *,
    norm_metric: NormMetric | None = None,
    eps: float | None = None,
    axis: int = 0,
) -> Any:
    """Divide every grade by its size in a row: :func:`tessera.clifford.rms_norm`.

    Parameters
    ----------
    x, metric, axis
        As in :func:`mv_gelu`.
    norm_metric, eps
        As in :func:`tessera.clifford.rms_norm`.

    Returns
    -------
    array
        Of x's shape and type.
    """
    return _run("norm", make_spec(metric, norm_metric=norm_metric, eps=eps), axis, x)


def sgp(
    x: Any,
    y: Any,
    weight: Any | None,
    metric: MetricLike,
    *,
    activation: Activation | None = None,
    normalize: bool | None = None,
    norm_metric: NormMetric | None = None,
    eps: float | None = None,
    path_mask: int | None = None,
    axis: int = 0,
) -> Any:
    """Multiply with a weight per feature and path: :func:`tessera.clifford.sgp`.

    Parameters
    ----------
    x, y, metric, axis
        As in :func:`mv_gelu`.
    weight : array, shape (feature, path), or None
        None: all ones.
    activation, normalize, norm_metric, eps, path_mask
        As in :func:`tessera.clifford.sgp`.

    Returns
    -------
    array
        Of x's shape and type.
    """
    spec = make_spec(
        metric,
        activation=activation,
        normalize=normalize,
        norm_metric=norm_metric,
        eps=eps,
        path_mask=path_mask,
    )
    return _run("sgp", spec, axis, x, y, weight)


def fcgp(
    x: Any,
    y: Any,
    weight: Any,
    metric: MetricLike,
    *,
    activation: Activation | None = None,
    normalize: bool | None = None,
    norm_metric: NormMetric | None = None,
    eps: float | None = None,
    precision: Precision | None = None,
    path_mask: int | None = None,
    axis: int = 0,
) -> Any:
    """Multiply with weights that mix features: :func:`tessera.clifford.fcgp`.

    Parameters
    ----------
    x, y, metric, axis
        As in :func:`mv_gelu`.
    weight : array, shape (path, feature in, feature out)
        The weights.
    activation, normalize, norm_metric, eps, precision, path_mask
        As in :func:`tessera.clifford.fcgp`; precision is 'highest' where none is given.

    Returns
    -------
    array
        Of x's type.
    """
    spec = make_spec(
        metric,
        activation=activation,
        normalize=normalize,
        norm_metric=norm_metric,
        eps=eps,
        precision=precision,
        path_mask=path_mask,
    )
    return _run("fcgp", spec, axis, x, y, weight)


def linear(
    x: Any,
    weight: Any,
    bias: Any | None,
    metric: MetricLike,
    *,
    bias_mode: BiasMode | None = None,
    precision: Precision | None = None,
    axis: int = 0,
) -> Any:
    """Map features linearly, with one matrix per grade: :func:`tessera.clifford.linear`.

    Parameters
    ----------
    x, metric, axis
        As in :func:`mv_gelu`.
    weight : array, shape (grade, feature in, feature out)
        The matrices.
    bias : array, shape (feature out,), or None
        Added to the scalar, or with ``bias_mode="all"`` to every component.
    bias_mode, precision
        As in :func:`tessera.clifford.linear`; precision as in :func:`fcgp`.

    Returns
    -------
    array
        Of x's type.
    """
    spec = make_spec(metric, bias_mode=bias_mode, precision=precision)
    return _run("linear", spec, axis, x, None, None, weight, bias)


def layer(
    x: Any,
    weight: Any,
    linear_weight: Any,
    bias: Any | None,
    metric: MetricLike,
    *,
    use_fc: bool = False,
    activation: Activation | None = None,
    normalize: bool | None = None,
    norm_metric: NormMetric | None = None,
    eps: float | None = None,
    bias_mode: BiasMode | None = None,
    precision: Precision | None = None,
    path_mask: int | None = None,
    axis: int = 0,
) -> Any:
    """Multiply x with its linear map: :func:`tessera.clifford.layer`.

    Parameters
    ----------
    x, metric, axis
        As in :func:`mv_gelu`.
    weight : array
        (feature, path), or (path, feature in, feature out) with use_fc.
    linear_weight, bias
        As in :func:`linear`.
    use_fc : bool
        Fully connected product.
    activation, normalize, norm_metric, eps, bias_mode, precision, path_mask
        As in :func:`fcgp` and :func:`linear`.

    Returns
    -------
    array
        Of x's type.
    """
    spec = make_spec(
        metric,
        activation=activation,
        normalize=normalize,
        norm_metric=norm_metric,
        eps=eps,
        bias_mode=bias_mode,
        precision=precision,
        path_mask=path_mask,
    )
    kind = "fc_layer" if use_fc else "layer"
    return _run(kind, spec, axis, x, None, weight, linear_weight, bias)
