"""The layer of flash-clifford: its parameters, its initialisation, its checkpoints."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, Literal

import torch
from torch import Tensor

from tessera import _core
from tessera._lib import warn
from tessera.clifford._modules import CliffordModule, _parameter, _positive
from tessera.clifford._spec import MetricLike, algebra_of

__all__ = ["Layer"]

_METRICS = {2: "++", 3: "+++"}


class Layer(CliffordModule):
    """Multiply x with its linear map, both gated, and normalise; drop-in for flash-clifford's.

    Parameters
    ----------
    n_features : int
        Features.
    dims : {2, 3} or metric
        Cl(2,0), Cl(3,0), or any other algebra as text, squares or Algebra.
    normalize : bool, default True
        Divide by the root mean square of each grade.
    use_fc : bool
        Weights of the product mix features: (path, feature, feature).
    bias : {'scalar', 'all'}
        Components that get the bias of the linear map. 'scalar' keeps the layer equivariant; 'all'
        is how flash-clifford reads its checkpoints.
    init : {'flash', 'cgenn'}
        Spread of the initial weights: as flash-clifford, or as CGENN.
    activation, norm_metric, eps
        As in :func:`tessera.clifford.sgp`.
    precision : {'highest', 'high'}, optional
        Default: what ``torch.get_float32_matmul_precision()`` says at each call.
    axis : {0, -1}
        Which axis has the components: (component, row, feature) or (..., feature, component).
    check_finite : bool
        Raise FloatingPointError where the result is not finite.
    device, dtype
        Of the parameters.

    Notes
    -----
    ``state_dict`` has the keys of flash-clifford's layer, ``gp_weight``, ``linear_weight``,
    ``linear_bias`` and ``weight_expansion``, and loads strictly both ways. A checkpoint whose bias
    is not zero and was trained with another choice of ``bias`` gives a warning, once.
    """

    weight_expansion: Tensor

    def __init__(
        self,
        n_features: int,
        dims: int | MetricLike,
        normalize: bool = True,
        use_fc: bool = False,
        *,
        bias: Literal["scalar", "all"] = "scalar",
        init: Literal["flash", "cgenn"] = "flash",
        activation: str | None = None,
        norm_metric: str | None = None,
        eps: float | None = None,
        precision: str | None = None,
        axis: int = 0,
        check_finite: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if init not in ("flash", "cgenn"):
            raise _core.ArgumentError(f"init: expected 'flash' or 'cgenn', got {init!r}")
        if bias not in ("scalar", "all"):
            raise _core.ArgumentError(f"bias: expected 'scalar' or 'all', got {bias!r}")
        super().__init__(
            "fc_layer" if use_fc else "layer",
            _metric_of(dims),
            axis,
            check_finite,
            normalize=normalize,
            activation=activation,
            norm_metric=norm_metric,
            eps=eps,
            bias_mode=bias,
            precision=precision,
        )
        self.n_features = _positive("n_features", n_features)
        self.dims = self.n_grade - 1
        self.normalize = normalize
        self.use_fc = use_fc
        self.bias = bias
        factory = {"device": device, "dtype": dtype}
        n, p, g = n_features, self.n_path, self.n_grade
        shape = (p, n, n) if use_fc else (n, p)
        product_fan = n * g if use_fc and init == "cgenn" else g
        linear_fan = n if use_fc or init == "cgenn" else n * g
        self.gp_weight = _parameter(shape, 1 / math.sqrt(product_fan), factory)
        self.linear_weight = _parameter((g, n, n), 1 / math.sqrt(linear_fan), factory)
        self.linear_bias = _parameter((1, 1, n), 0, factory)
        grades = torch.tensor(algebra_of(self.metric)["grade"], device=device)
        self.register_buffer("weight_expansion", grades)
        self.register_state_dict_post_hook(_note_bias)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        *args: Any,
    ) -> None:
        saved = state_dict.get(prefix + "linear_bias")
        # flash-clifford's own checkpoints do not say; it has the bias on all components.
        written = local_metadata.get("bias", "all")
        if isinstance(saved, Tensor) and written != self.bias and bool(saved.count_nonzero()):
            _warn_bias(written, self.bias)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer to x."""
        return self._run(x, None, self.gp_weight, self.linear_weight, self.linear_bias)


def _metric_of(dims: int | MetricLike) -> MetricLike:
    if isinstance(dims, Integral):
        if dims not in _METRICS:
            raise _core.ArgumentError(
                f"dims: expected 2 or 3, or a metric such as '0+++', got {dims}"
            )
        return _METRICS[int(dims)]
    return dims


def _note_bias(module: Any, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
    local_metadata["bias"] = module.bias


_warned = False


def _warn_bias(written: str, read: str) -> None:
    global _warned  # noqa: PLW0603
    if _warned:
        return
    _warned = True
    warn(
        f"Layer: the checkpoint has a linear_bias that is not zero and was trained with "
        f"bias={written!r}, but this layer has bias={read!r} and will give other results; "
        f"create it with bias={written!r} to reproduce them"
    )
