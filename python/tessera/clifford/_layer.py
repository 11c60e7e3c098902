"""The layer of flash-clifford: its parameters, its initialisation, its checkpoints."""

from __future__ import annotations

import math
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Literal, SupportsIndex, cast

import torch
from torch import Tensor

from tessera import _core
from tessera.clifford._bias import BiasedModule, check_bias
from tessera.clifford._modules_base import parameter_of, positive, same_names
from tessera.clifford._spec import MetricLike, algebra_of

if TYPE_CHECKING:
    from tessera.clifford._types import Activation, Device, DType, NormMetric, Precision

__all__ = ["Layer"]

_METRICS = {2: "++", 3: "+++"}


class Layer(BiasedModule):
    """Multiply x with its linear map, both gated, and normalise: flash-clifford's layer.

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
        is flash-clifford's, and the default of :class:`tessera.clifford.modules.layer.Layer`.
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
    ``linear_bias`` and ``weight_expansion``; its checkpoints load strictly. With bias='all' it has
    no other, and flash-clifford loads it, too. With bias='scalar', which flash-clifford cannot
    compute, ``bias_kind`` says so. A checkpoint whose bias is not zero and was trained with another
    choice of ``bias`` gives a warning, once per load.

    ``normalize``, ``bias``, ``activation``, ``norm_metric``, ``eps``, ``precision``, ``axis`` and
    ``check_finite`` are attributes that may be changed at any time.

    Examples
    --------
    >>> import torch
    >>> import tessera.clifford as tc
    >>> layer = tc.Layer(16, 3)
    >>> x = torch.randn(8, 5, 16, requires_grad=True)
    >>> layer(x).sum().backward()
    >>> x.grad.shape
    torch.Size([8, 5, 16])
    >>> sorted(layer.state_dict())
    ['bias_kind', 'gp_weight', 'linear_bias', 'linear_weight', 'weight_expansion']
    """

    _options: ClassVar[dict[str, str]] = {
        **same_names("normalize", "activation", "norm_metric", "eps", "precision"),
        "bias": "bias_mode",
    }
    _bias_option = "bias"
    _bias_tensor = "linear_bias"
    _unmarked = "all"  # as flash-clifford has it

    weight_expansion: Tensor

    def __init__(
        self,
        n_features: int,
        dims: SupportsIndex | MetricLike,
        normalize: bool = True,
        use_fc: bool = False,
        *,
        bias: Literal["scalar", "all"] = "scalar",
        init: Literal["flash", "cgenn"] = "flash",
        activation: Activation | None = None,
        norm_metric: NormMetric | None = None,
        eps: float | None = None,
        precision: Precision | None = None,
        axis: int = 0,
        check_finite: bool = False,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        if init not in ("flash", "cgenn"):
            raise _core.ArgumentError(f"init: expected 'flash' or 'cgenn', got {init!r}")
        check_bias("bias", bias)
        super().__init__(
            "fc_layer" if use_fc else "layer",
            _metric_of(dims),
            axis,
            check_finite,
            normalize=normalize,
            activation=activation,
            norm_metric=norm_metric,
            eps=eps,
            bias=bias,
            precision=precision,
        )
        self._fix("n_features", positive("n_features", n_features))
        self._fix("dims", self.n_grade - 1)
        self._fix("use_fc", bool(use_fc))
        factory = {"device": device, "dtype": dtype}
        n, p, g = n_features, self.n_path, self.n_grade
        shape = (p, n, n) if use_fc else (n, p)
        product_fan = n * g if use_fc and init == "cgenn" else g
        linear_fan = n if use_fc or init == "cgenn" else n * g
        self.gp_weight = parameter_of(shape, 1 / math.sqrt(product_fan), factory)
        self.linear_weight = parameter_of((g, n, n), 1 / math.sqrt(linear_fan), factory)
        self.linear_bias = parameter_of((1, 1, n), 0, factory)
        grades = torch.tensor(algebra_of(self.metric)["grade"], device=device)
        self.register_buffer("weight_expansion", grades)
        self._mark_bias()

    def _sizes(self) -> list[str]:
        return [*super()._sizes(), *(["use_fc=True"] if self.use_fc else [])]

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *args: Any
    ) -> None:
        """Refuse the grades of another algebra, which this module would not heed."""
        saved = state_dict.get(prefix + "weight_expansion")
        grades = algebra_of(self.metric)["grade"]
        if (
            isinstance(saved, Tensor)
            and not saved.is_meta
            and saved.shape == (len(grades),)
            and saved.tolist() != list(grades)
        ):
            args[-1].append(
                f"{prefix}weight_expansion: {saved.tolist()} are not the grades of "
                f"{self.metric!r}, {list(grades)}"
            )
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)

    def forward(self, x: Tensor) -> Tensor:
        """Multiply x with its linear map, gated and normalised.

        Parameters
        ----------
        x : torch.Tensor, shape (component, row, feature)
            Multivectors; components last with axis=-1.

        Returns
        -------
        torch.Tensor
            Like x.
        """
        return self._run(x, None, self.gp_weight, self.linear_weight, self.linear_bias)


def _metric_of(dims: SupportsIndex | MetricLike) -> MetricLike:
    if isinstance(dims, Integral):
        if dims not in _METRICS:
            raise _core.ArgumentError(
                f"dims: expected 2 or 3, or a metric such as '0+++', got {dims}"
            )
        return _METRICS[int(dims)]
    return cast("MetricLike", dims)
