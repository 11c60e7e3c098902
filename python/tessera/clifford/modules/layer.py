"""The layer of flash-clifford, under the name it has there and with its answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

from tessera.clifford import _functional, _layer
from tessera.clifford._spec import MetricLike

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Unpack

    from tessera.clifford._module_keywords import LayerKeywords

__all__ = ["Layer"]


class Layer(_layer.Layer):
    """:class:`tessera.clifford.Layer` with the bias on every component, as flash-clifford has it.

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
    bias : {'all', 'scalar'}
        Components that get the bias of the linear map. A bias that is not zero makes 'all' break
        equivariance; it is what the original computes.
    **options
        As in :class:`tessera.clifford.Layer`.
    """

    def __init__(
        self,
        n_features: int,
        dims: SupportsIndex | MetricLike,
        normalize: bool = True,
        use_fc: bool = False,
        *,
        bias: Literal["scalar", "all"] = "all",
        **options: Unpack[LayerKeywords],
    ) -> None:
        super().__init__(n_features, dims, normalize, use_fc, bias=bias, **options)

    @property
    def fused_op(self) -> Callable[..., Any]:
        """Return the operation between x, its linear map, the weight and ``normalize``."""
        operation = _functional.fcgp if self.use_fc else _functional.sgp
        options: dict[str, Any] = {
            "activation": self.activation,
            "norm_metric": self.norm_metric,
            "eps": self.eps,
        }
        if self.use_fc:
            options["precision"] = self.precision

        def fused(x: Any, y: Any, weight: Any, normalize: bool = True) -> Any:
            return operation(x, y, weight, self.metric, normalize=normalize, **options)

        return fused
