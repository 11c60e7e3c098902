"""Functions of multivector arrays: NumPy's (or DLPack's) and torch's, told apart by their type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tessera import _core
from tessera.clifford import _arrays
from tessera.clifford._spec import MetricLike, make_spec, operation

if TYPE_CHECKING:
    from tessera.clifford._types import (
        Activation,
        ArrayLike,
        ArrayT,
        BiasMode,
        NormMetric,
        Precision,
        Weight,
    )

__all__ = ["fcgp", "layer", "linear", "mv_gelu", "rms_norm", "sgp"]


def _front(x: Any, axis: int) -> Any:
    """View x as (component, row, feature): axis 0 or -1 has the components."""
    if x is None or (axis == 0 and x.ndim == 3):
        return x
    if axis not in (0, -1):
        raise _core.ArgumentError(f"axis: expected 0 or -1 (components first or last), got {axis}")
    _arrays.refuse_sparse(x, "x")
    if x.ndim == 0:
        raise _core.ShapeError("x: expected (component, row, feature), got a single number")
    if axis == -1:
        x = _moved(x, -1, 0)
    if x.ndim == 3:
        return x
    if x.shape[-1] == 0:
        raise _core.ShapeError(f"x: {tuple(x.shape)}: expected at least one feature")
    return x.reshape(x.shape[0], 1, 1) if x.ndim == 1 else x.reshape(x.shape[0], -1, x.shape[-1])


def _moved(x: Any, source: int, to: int) -> Any:
    if hasattr(x, "movedim"):  # torch, whose vmap has no rule for its moveaxis
        return x.movedim(source, to)
    if hasattr(x, "moveaxis"):
        return x.moveaxis(source, to)
    import numpy as np

    return np.moveaxis(x, source, to)


def _back(z: Any, shape: tuple[int, ...], axis: int) -> Any:
    """Undo _front for a result; shape is that of x before."""
    if axis == 0:
        return z if len(shape) == 3 else z.reshape(z.shape[0], *_inner(shape[1:], z))
    if len(shape) != 3:
        z = z.reshape(z.shape[0], *_inner(shape[:-1], z))
    return _moved(z, 0, -1)


def _inner(shape: tuple[int, ...], z: Any) -> tuple[int, ...]:
    return (*shape[:-1], z.shape[-1]) if shape else ()


def run(
    kind: str,
    spec: str,
    x: Any,
    y: Any = None,
    weight: Any = None,
    linear_weight: Any = None,
    bias: Any = None,
    *,
    axis: int = 0,
    check_finite: bool = False,
) -> Any:
    """Run an operation on arrays or tensors of any rank."""
    if not _arrays.is_torch(x):
        x, y = _arrays.as_array(x, "x"), _arrays.as_array(y, "y")
        if x is None:
            raise TypeError(f"{kind}: x: expected an array or a tensor, got None")
    elif x.is_nested:
        raise _core.DTypeError(
            f"clifford.{kind}: x: is a nested tensor; join the rows of its parts, which every "
            "operation takes one by one"
        )
    shape = tuple(x.shape)
    front = _front(x, axis), _front(y, axis)
    if _arrays.is_torch(x):
        from tessera.clifford import _torch

        z = _torch.apply(kind, spec, *front, weight, linear_weight, bias)
    else:
        from tessera.clifford import _op

        z = _op.forward(operation(kind, spec), (*front, weight, linear_weight, bias))
    if check_finite:
        _check_finite(z, kind)
    return _back(z, shape, axis)


def _check_finite(z: Any, kind: str) -> None:
    if not _arrays.is_torch(z):
        from tessera.clifford._op import check_finite

        check_finite(z, kind)
        return
    if not bool(z.isfinite().all()):
        where = tuple(int(i) for i in (~z.isfinite()).nonzero()[0])
        raise FloatingPointError(f"{kind}: the result is {z[where].item()} at {where}")


def mv_gelu(
    x: ArrayT,
    metric: MetricLike,
    *,
    activation: Activation | None = None,
    axis: int = 0,
    check_finite: bool = False,
) -> ArrayT:
    """Multiply every component by a function of the scalar component.

    Parameters
    ----------
    x : array or tensor, shape (component, row, feature)
        float32, float64, float16 or bfloat16, with any strides.
    metric : str, sequence of int or Algebra
        The algebra: '+++', '0+++', 'pga', (1, 1, 1) ...
    activation : {'gelu', 'gelu_tanh', 'relu', 'sigmoid', 'tanh', 'silu', 'none'}, default 'gelu'
        'gelu' multiplies by the exact normal distribution function of the scalar.
    axis : {0, -1}
        -1: the components are the last axis. Any number of axes may take the place of the rows.
    check_finite : bool
        Raise FloatingPointError where the result is not finite.

    Returns
    -------
    array or tensor
        Like x.

    Examples
    --------
    >>> import numpy as np
    >>> import tessera.clifford as tc
    >>> x = np.random.default_rng(1).standard_normal((8, 5, 3))
    >>> tc.mv_gelu(x, "+++").shape
    (8, 5, 3)
    """
    spec = make_spec(metric, activation=activation)
    return run("gate", spec, x, axis=axis, check_finite=check_finite)


def rms_norm(
    x: ArrayT,
    metric: MetricLike,
    *,
    norm_metric: NormMetric | None = None,
    eps: float | None = None,
    axis: int = 0,
    check_finite: bool = False,
) -> ArrayT:
    """Divide every grade of a row by its root mean square over the features.

    Parameters
    ----------
    x, metric, axis, check_finite
        As in :func:`mv_gelu`.
    norm_metric : {'auto', 'euclid', 'abs', 'clamp', 'abs_clamp'}, default 'auto'
        Whose squares: all positive, the size of the metric's per grade, or the metric's over all
        grades. 'auto' is 'euclid' where every symbol squares to +1, else 'abs'.
    eps : float, default 1e-6
        Added under the root.

    Returns
    -------
    array or tensor
        Like x.

    Examples
    --------
    >>> import numpy as np
    >>> import tessera.clifford as tc
    >>> x = np.random.default_rng(1).standard_normal((8, 5, 3))
    >>> y = tc.rms_norm(x, "+++")
    >>> np.allclose((y[1:4] ** 2).sum(axis=0).mean(axis=-1), 1, atol=1e-4)
    True
    """
    spec = make_spec(metric, norm_metric=norm_metric, eps=eps)
    return run("norm", spec, x, axis=axis, check_finite=check_finite)


def sgp(
    x: ArrayT,
    y: ArrayT | ArrayLike,
    weight: Weight | None,
    metric: MetricLike,
    *,
    activation: Activation | None = None,
    normalize: bool | None = None,
    norm_metric: NormMetric | None = None,
    eps: float | None = None,
    path_mask: int | None = None,
    axis: int = 0,
    check_finite: bool = False,
) -> ArrayT:
    """Geometric product with a weight per feature and grade path, gated and normalised.

    Parameters
    ----------
    x, y : array or tensor, shape (component, row, feature)
        Both are gated by their own scalar components.
    weight : array or tensor, shape (feature, path), or None
        None: ones. float32 also beside 16-bit activations.
    metric, axis, check_finite
        As in :func:`mv_gelu`.
    activation : str, default 'gelu'
        As in :func:`mv_gelu`; 'none' for a bare product.
    normalize : bool, default True
        Divide by the root mean square as :func:`rms_norm` does.
    norm_metric, eps
        As in :func:`rms_norm`.
    path_mask : int, optional
        Bit p: path p takes part.

    Returns
    -------
    array or tensor
        Like x.

    Examples
    --------
    >>> import numpy as np
    >>> import tessera.clifford as tc
    >>> x = np.random.default_rng(1).standard_normal((8, 5, 3))
    >>> tc.sgp(x, x, np.ones((3, tc.Algebra("+++").n_path)), "+++").shape
    (8, 5, 3)
    """
    spec = make_spec(
        metric,
        activation=activation,
        normalize=normalize,
        norm_metric=norm_metric,
        eps=eps,
        path_mask=path_mask,
    )
    return run("sgp", spec, x, y, weight, axis=axis, check_finite=check_finite)


def fcgp(
    x: ArrayT,
    y: ArrayT | ArrayLike,
    weight: Weight,
    metric: MetricLike,
    *,
    activation: Activation | None = None,
    normalize: bool | None = None,
    norm_metric: NormMetric | None = None,
    eps: float | None = None,
    precision: Precision | None = None,
    path_mask: int | None = None,
    axis: int = 0,
    check_finite: bool = False,
) -> ArrayT:
    """Geometric product with weights that mix features, gated and normalised.

    Parameters
    ----------
    x, y, metric, activation, normalize, norm_metric, eps, path_mask, axis, check_finite
        As in :func:`sgp`.
    weight : array or tensor, shape (path, feature in, feature out)
        float32 also beside 16-bit activations.
    precision : {'highest', 'high'}, optional
        'high': matrix products of float32 with inputs of 10 mantissa bits (TF32) where a device
        gains by it. Default: what ``torch.get_float32_matmul_precision()`` says, 'highest' for
        arrays.

    Returns
    -------
    array or tensor, shape (component, row, feature out)
        Of x's type.

    Examples
    --------
    >>> import numpy as np
    >>> import tessera.clifford as tc
    >>> x = np.random.default_rng(1).standard_normal((8, 5, 3))
    >>> tc.fcgp(x, x, np.ones((20, 3, 7)), "+++").shape
    (8, 5, 7)
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
    return run("fcgp", spec, x, y, weight, axis=axis, check_finite=check_finite)


def linear(
    x: ArrayT,
    weight: Weight,
    bias: Weight | None,
    metric: MetricLike,
    *,
    bias_mode: BiasMode | None = None,
    precision: Precision | None = None,
    axis: int = 0,
    check_finite: bool = False,
) -> ArrayT:
    """Map features linearly, with one matrix per grade.

    Parameters
    ----------
    x, metric, axis, check_finite
        As in :func:`mv_gelu`.
    weight : array or tensor, shape (grade, feature in, feature out)
        float32 also beside 16-bit activations.
    bias : array or tensor, shape (feature out,), or None
        Added to the scalar component.
    bias_mode : {'scalar', 'all'}, default 'scalar'
        'all' adds the bias to every component, which is not equivariant.
    precision
        As in :func:`fcgp`.

    Returns
    -------
    array or tensor, shape (component, row, feature out)
        Of x's type.

    Examples
    --------
    >>> import numpy as np
    >>> import tessera.clifford as tc
    >>> x = np.random.default_rng(1).standard_normal((8, 5, 3))
    >>> tc.linear(x, np.ones((4, 3, 7)), np.zeros(7), "+++").shape
    (8, 5, 7)
    """
    spec = make_spec(metric, bias_mode=bias_mode, precision=precision)
    return run("linear", spec, x, None, None, weight, bias, axis=axis, check_finite=check_finite)


def layer(
    x: ArrayT,
    weight: Weight,
    linear_weight: Weight,
    bias: Weight | None,
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
    check_finite: bool = False,
) -> ArrayT:
    """Multiply x with its linear map: :func:`sgp` (or :func:`fcgp`) of x and :func:`linear` of x.

    Parameters
    ----------
    x, metric, activation, normalize, norm_metric, eps, path_mask, axis, check_finite
        As in :func:`sgp`.
    weight : array or tensor
        (feature, path), or (path, feature in, feature out) with use_fc.
    linear_weight, bias, bias_mode, precision
        As in :func:`linear`.
    use_fc : bool
        Fully connected product.

    Returns
    -------
    array or tensor
        Of x's type.

    Examples
    --------
    >>> import numpy as np
    >>> import tessera.clifford as tc
    >>> x = np.random.default_rng(1).standard_normal((8, 5, 3))
    >>> tc.layer(x, np.ones((3, 20)), np.ones((4, 3, 3)), None, "+++").shape
    (8, 5, 3)
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
    return run(
        kind, spec, x, None, weight, linear_weight, bias, axis=axis, check_finite=check_finite
    )
