"""Operations on arrays of NumPy, or of any library with DLPack: values and derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tessera import _core
from tessera._lib import Session
from tessera.clifford import _arrays
from tessera.clifford._spec import (
    SLOTS,
    MetricLike,
    Operation,
    make_spec,
    metric_text,
    operation,
)

if TYPE_CHECKING:
    from typing import Unpack

    from tessera.clifford._keywords import Kind, OpKeywords
    from tessera.clifford._types import ArrayLike, ArrayT, Weight

__all__ = ["Op"]


class Op:
    """One operation, ready for any number of calls.

    Parameters
    ----------
    kind : {'gate', 'norm', 'sgp', 'fcgp', 'linear', 'layer', 'fc_layer'}
        What is computed.
    metric : str, sequence of int or Algebra
        The algebra: '+++', '0+++', 'Cl(3,0,1)', 'pga', (1, 1, 1) ...
    path_mask : int, optional
        Bit p: path p takes part. Default: all.
    **options
        Options of table ``clifford.op``: activation, normalize, norm_metric, eps, bias_mode,
        precision.

    Notes
    -----
    Arrays are (component, row, feature), with any strides, of float32, float64, float16 or
    bfloat16 (of ``ml_dtypes``). Tensors of torch belong into the functions of
    :mod:`tessera.clifford`, which differentiate.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera.clifford import Op
    >>> op = Op("sgp", "+++", activation="none", normalize=False)
    >>> x, y = np.ones((8, 2, 3)), np.ones((8, 2, 3))
    >>> z = op.forward(x, y)
    >>> gx, gy, *_ = op.backward(np.ones_like(z), x, y)
    >>> gx.shape
    (8, 2, 3)
    """

    def __init__(
        self,
        kind: Kind,
        metric: MetricLike,
        path_mask: int | None = None,
        **options: Unpack[OpKeywords],
    ) -> None:
        spec = make_spec(metric_text(metric), path_mask=path_mask, **options)
        self._operation = operation(kind, spec)

    @property
    def spec(self) -> str:
        """The operation as text."""
        return self._operation.spec

    def _repr_html_(self) -> str:
        from tessera.clifford._html import of_operation

        return of_operation(self._operation.kind, self.spec)

    def __repr__(self) -> str:
        return f"<tessera.clifford.Op {self._operation.kind} of {self.spec}>"

    def __getstate__(self) -> tuple[str, str]:
        return self._operation.kind, self.spec

    def __setstate__(self, state: tuple[str, str]) -> None:
        self._operation = operation(*state)

    def forward(
        self,
        x: ArrayT,
        y: ArrayLike | None = None,
        weight: Weight | None = None,
        linear_weight: Weight | None = None,
        bias: Weight | None = None,
        *,
        context: _core.Context | None = None,
    ) -> ArrayT:
        """Compute z.

        Parameters
        ----------
        x, y, weight, linear_weight, bias : array
            What the kind takes, None for the rest.
        context : tessera.Context, optional
            Threads and device. Default: where x is.

        Returns
        -------
        array
            Of x's type.
        """
        return forward(self._operation, (x, y, weight, linear_weight, bias), context)

    def backward(
        self,
        gz: ArrayLike,
        x: ArrayT,
        y: ArrayLike | None = None,
        weight: Weight | None = None,
        linear_weight: Weight | None = None,
        bias: Weight | None = None,
        *,
        context: _core.Context | None = None,
    ) -> tuple[ArrayT | Any, ...]:
        """Compute the gradients of x, y, weight, linear_weight and bias from gz, that of z.

        Parameters
        ----------
        gz : array
            Gradient of z.
        x, y, weight, linear_weight, bias : array
            As in :meth:`forward`.
        context : tessera.Context, optional
            Threads and device. Default: where x is.

        Returns
        -------
        tuple of five arrays
            None for inputs that are None.
        """
        inputs = _as_arrays((x, y, weight, linear_weight, bias))
        gz = _arrays.as_array(gz, "gz")
        gradients = [None if a is None else _arrays.empty_like(a) for a in inputs]
        with _session(context, inputs[0]) as ctx:
            self._operation.native().backward(
                ctx, None, *map(_arrays.native, [*inputs, gz, None, None, *gradients])
            )
        return tuple(gradients)

    def double_backward(
        self,
        cotangents: tuple[ArrayLike | None, ...],
        gz: ArrayLike,
        x: ArrayT,
        y: ArrayLike | None = None,
        weight: Weight | None = None,
        linear_weight: Weight | None = None,
        bias: Weight | None = None,
        *,
        context: _core.Context | None = None,
    ) -> tuple[ArrayT | Any, ...]:
        """Compute second derivatives.

        Parameters
        ----------
        cotangents : tuple of five arrays
            Of what :meth:`backward` returns; None counts as zero.
        gz, x, y, weight, linear_weight, bias : array
            As in :meth:`backward`.
        context : tessera.Context, optional
            Threads and device. Default: where x is.

        Returns
        -------
        tuple of six arrays
            Gradients of the sum of <cotangent, gradient> by gz and by the five inputs.
        """
        if len(cotangents) != len(SLOTS):
            raise _core.ArgumentError(
                f"cotangents: expected {len(SLOTS)}, of {', '.join(SLOTS)}, got {len(cotangents)}"
            )
        inputs = _as_arrays((x, y, weight, linear_weight, bias))
        gz = _arrays.as_array(gz, "gz")
        results = [None if a is None else _arrays.empty_like(a) for a in (gz, *inputs)]
        with _session(context, inputs[0]) as ctx:
            self._operation.native().double_backward(
                ctx, None, *map(_arrays.native, [*inputs, gz, *cotangents, *results])
            )
        return tuple(results)


def _as_arrays(arrays: tuple[Any, ...]) -> list[Any]:
    if _arrays.is_torch(arrays[0]):
        raise _core.DTypeError(
            "x: is a tensor of torch; the functions of tessera.clifford take and differentiate it"
        )
    for name, a in zip(SLOTS, arrays, strict=True):
        if _arrays.is_torch(a):  # whose gradient would be lost
            raise _core.DTypeError(
                f"{name}: is a tensor of torch, but x is {type(arrays[0]).__name__}; give tensors "
                "or arrays, torch.as_tensor() makes a tensor of an array"
            )
    return [_arrays.as_array(a, name) for a, name in zip(arrays, SLOTS, strict=True)]


def _out_shape(kind: str, inputs: list[Any]) -> tuple[int, ...]:
    x, _, weight, linear_weight, _ = inputs
    mixing = linear_weight if kind == "linear" else weight
    shape = tuple(x.shape)
    if kind in ("fcgp", "linear", "fc_layer") and mixing is not None and len(mixing.shape):
        return (*shape[:-1], mixing.shape[-1])
    return shape


def forward(o: Operation, arrays: tuple[Any, ...], context: _core.Context | None = None) -> Any:
    """Compute z of five inputs, None where the kind has none."""
    inputs = _as_arrays(arrays)
    x = inputs[0]
    shape = _out_shape(o.kind, inputs)
    z = _arrays.empty_like(x) if shape == tuple(x.shape) else _arrays.empty(x, shape)
    with _session(context, x) as ctx:
        o.native().forward(ctx, None, *map(_arrays.native, [*inputs, z]), None, None)
    return z


def _session(context: _core.Context | None, x: Any) -> Session:
    return Session(context) if context is not None else Session(device=_arrays.device_of(x))


def check_finite(z: Any, name: str) -> None:
    """Raise FloatingPointError at the first component, row and feature that is not finite."""
    host = np.asarray(z.get() if hasattr(z, "get") else z)  # cupy's go to the host by get()
    bad = np.argwhere(~np.isfinite(host.astype(np.float64, copy=False)))
    if len(bad):
        where = tuple(int(i) for i in bad[0])
        raise FloatingPointError(f"{name}: the result is {host[where]} at {where}")
