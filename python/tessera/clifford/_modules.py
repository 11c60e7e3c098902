"""Modules of torch for any algebra."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Self

import torch
from torch import Tensor

from tessera import _core
from tessera.clifford._bias import BiasedModule, check_bias
from tessera.clifford._modules_base import (
    CliffordModule,
    parameter_of,
    positive,
    same_names,
    shape_of_cgenn,
)
from tessera.clifford._spec import MetricLike

if TYPE_CHECKING:
    from typing import Unpack

    from tessera.clifford._module_keywords import (
        FcgpModuleKeywords,
        LinearModuleKeywords,
        SgpModuleKeywords,
    )
    from tessera.clifford._types import Activation, BiasMode, Device, DType, NormMetric, Precision

__all__ = ["FCGP", "MVGELU", "SGP", "MVLinear", "MVRMSNorm"]


class MVGELU(CliffordModule):
    """Multiply every component by a function of the scalar component.

    Parameters
    ----------
    metric : str, sequence of int or Algebra
        The algebra.
    activation : {'gelu', 'gelu_tanh', 'relu', 'sigmoid', 'tanh', 'silu'}, default 'gelu'
        The function.
    axis : {0, -1}
        Which axis has the components.
    check_finite : bool
        Raise FloatingPointError where the result is not finite.

    Examples
    --------
    >>> import torch
    >>> import tessera.clifford as tc
    >>> tc.MVGELU("+++")(torch.zeros(8, 5, 3)).abs().max()
    tensor(0.)
    """

    _options = same_names("activation")

    def __init__(
        self,
        metric: MetricLike,
        activation: Activation | None = None,
        *,
        axis: int = 0,
        check_finite: bool = False,
    ) -> None:
        super().__init__("gate", metric, axis, check_finite, activation=activation)

    def forward(self, x: Tensor) -> Tensor:
        """Multiply every component by a function of the scalar.

        Parameters
        ----------
        x : torch.Tensor, shape (component, row, feature)
            Multivectors; components last with axis=-1.

        Returns
        -------
        torch.Tensor
            Like x.
        """
        return self._run(x)


class MVRMSNorm(CliffordModule):
    """Divide every grade of a row by its root mean square over the features.

    Parameters
    ----------
    metric : str, sequence of int or Algebra
        The algebra.
    eps : float, default 1e-6
        Added under the root.
    norm_metric : {'auto', 'euclid', 'abs', 'clamp', 'abs_clamp'}, default 'auto'
        Whose squares; see :func:`tessera.clifford.rms_norm`.
    axis, check_finite
        As in :class:`MVGELU`.

    Examples
    --------
    >>> import torch
    >>> import tessera.clifford as tc
    >>> tc.MVRMSNorm("+++")(torch.ones(8, 5, 3)).shape
    torch.Size([8, 5, 3])
    """

    _options = same_names("eps", "norm_metric")

    def __init__(
        self,
        metric: MetricLike,
        eps: float | None = None,
        norm_metric: NormMetric | None = None,
        *,
        axis: int = 0,
        check_finite: bool = False,
    ) -> None:
        super().__init__("norm", metric, axis, check_finite, eps=eps, norm_metric=norm_metric)

    def forward(self, x: Tensor) -> Tensor:
        """Divide every grade of a row by its root mean square.

        Parameters
        ----------
        x : torch.Tensor, shape (component, row, feature)
            Multivectors; components last with axis=-1.

        Returns
        -------
        torch.Tensor
            Like x.
        """
        return self._run(x)


class MVLinear(BiasedModule):
    """Map features linearly, with one matrix per grade.

    Parameters
    ----------
    in_features, out_features : int
        Sizes.
    metric : str, sequence of int or Algebra
        The algebra.
    bias : bool
        Learn a bias, zero at the start.
    bias_mode : {'scalar', 'all'}, default 'scalar'
        'all' adds it to every component, which is not equivariant; the state says so by
        ``bias_kind``.
    precision : {'highest', 'high'}, optional
        Default: what ``torch.get_float32_matmul_precision()`` says at each call.
    axis, check_finite
        As in :class:`MVGELU`.
    device, dtype
        Of the parameters.

    Examples
    --------
    >>> import torch
    >>> import tessera.clifford as tc
    >>> tc.MVLinear(3, 7, "+++")(torch.zeros(8, 5, 3)).shape
    torch.Size([8, 5, 7])
    """

    _options = same_names("bias_mode", "precision")
    _bias_option = "bias_mode"
    _bias_tensor = "bias"
    _unmarked = "scalar"  # as CGENN has it

    def __init__(
        self,
        in_features: int,
        out_features: int,
        metric: MetricLike,
        bias: bool = True,
        *,
        bias_mode: BiasMode | None = None,
        precision: Precision | None = None,
        axis: int = 0,
        check_finite: bool = False,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        bias_mode = "scalar" if bias_mode is None else bias_mode
        check_bias("bias_mode", bias_mode)
        super().__init__(
            "linear", metric, axis, check_finite, bias_mode=bias_mode, precision=precision
        )
        factory = {"device": device, "dtype": dtype}
        self._fix("in_features", positive("in_features", in_features))
        self._fix("out_features", positive("out_features", out_features))
        self.weight = parameter_of(
            (self.n_grade, in_features, out_features), 1 / math.sqrt(in_features), factory
        )
        self.bias = parameter_of((out_features,), 0, factory) if bias else None
        self._mark_bias()

    @classmethod
    def from_cgenn(
        cls,
        weight: Tensor,
        bias: Tensor | None,
        metric: MetricLike,
        **options: Unpack[LinearModuleKeywords],
    ) -> Self:
        """Take the weights of CGENN's MVLinear.

        Parameters
        ----------
        weight : torch.Tensor, shape (feature out, feature in, grade)
            Its weight.
        bias : torch.Tensor, shape (1, feature out, 1), or None
            Its bias.
        metric : str, sequence of int or Algebra
            The algebra.
        **options
            Of the class.

        Returns
        -------
        MVLinear
            With a copy of the weights.
        """
        out_features, in_features, _ = shape_of_cgenn(weight, "feature out, feature in, grade")
        module = cls(in_features, out_features, metric, bias is not None, **options)
        _copy(module.weight, weight.permute(2, 1, 0))
        if bias is not None and module.bias is not None:
            _copy(module.bias, bias.reshape(-1), "bias")
        return module

    def forward(self, x: Tensor) -> Tensor:
        """Map features linearly.

        Parameters
        ----------
        x : torch.Tensor, shape (component, row, feature)
            Multivectors; components last with axis=-1.

        Returns
        -------
        torch.Tensor
            Of shape (component, row, out_features).
        """
        return self._run(x, None, None, self.weight, self.bias)


class SGP(CliffordModule):
    """Geometric product with a weight per feature and grade path, gated and normalised.

    Parameters
    ----------
    n_features : int
        Features, which do not mix.
    metric : str, sequence of int or Algebra
        The algebra.
    normalize : bool, default True
        Divide by the root mean square of each grade.
    activation : str, default 'gelu'
        Gate of both inputs; 'none' for a bare product.
    norm_metric, eps, path_mask
        As in :func:`tessera.clifford.sgp`.
    axis, check_finite
        As in :class:`MVGELU`.
    device, dtype
        Of the parameters.

    Examples
    --------
    >>> import torch
    >>> import tessera.clifford as tc
    >>> x = torch.ones(8, 5, 3)
    >>> tc.SGP(3, "+++")(x, x).shape
    torch.Size([8, 5, 3])
    """

    _options = same_names("normalize", "activation", "norm_metric", "eps", "path_mask")

    def __init__(
        self,
        n_features: int,
        metric: MetricLike,
        normalize: bool | None = None,
        *,
        activation: Activation | None = None,
        norm_metric: NormMetric | None = None,
        eps: float | None = None,
        path_mask: int | None = None,
        axis: int = 0,
        check_finite: bool = False,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        super().__init__(
            "sgp",
            metric,
            axis,
            check_finite,
            normalize=normalize,
            activation=activation,
            norm_metric=norm_metric,
            eps=eps,
            path_mask=path_mask,
        )
        factory = {"device": device, "dtype": dtype}
        self._fix("n_features", positive("n_features", n_features))
        self.weight = parameter_of((n_features, self.n_path), 1 / math.sqrt(self.n_grade), factory)

    @classmethod
    def from_cgenn(
        cls, weight: Tensor, metric: MetricLike, **options: Unpack[SgpModuleKeywords]
    ) -> Self:
        """Take the weight of CGENN's SteerableGeometricProductLayer.

        Parameters
        ----------
        weight : torch.Tensor, shape (feature, path)
            Its weight.
        metric : str, sequence of int or Algebra
            The algebra.
        **options
            Of the class.

        Returns
        -------
        SGP
            With a copy of the weights.
        """
        module = cls(shape_of_cgenn(weight, "feature, path")[0], metric, **options)
        _copy(module.weight, weight)
        return module

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Multiply.

        Parameters
        ----------
        x, y : torch.Tensor, shape (component, row, feature)
            Multivectors; components last with axis=-1.

        Returns
        -------
        torch.Tensor
            Like x.
        """
        return self._run(x, y, self.weight)


class FCGP(CliffordModule):
    """Geometric product with weights that mix features, gated and normalised.

    Parameters
    ----------
    in_features, out_features : int
        Sizes.
    metric, normalize, activation, norm_metric, eps, path_mask, axis, check_finite, device, dtype
        As in :class:`SGP`.
    precision
        As in :class:`MVLinear`.

    Examples
    --------
    >>> import torch
    >>> import tessera.clifford as tc
    >>> x = torch.ones(8, 5, 3)
    >>> tc.FCGP(3, 7, "+++")(x, x).shape
    torch.Size([8, 5, 7])
    """

    _options = same_names("normalize", "activation", "norm_metric", "eps", "precision", "path_mask")

    def __init__(
        self,
        in_features: int,
        out_features: int,
        metric: MetricLike,
        normalize: bool | None = None,
        *,
        activation: Activation | None = None,
        norm_metric: NormMetric | None = None,
        eps: float | None = None,
        precision: Precision | None = None,
        path_mask: int | None = None,
        axis: int = 0,
        check_finite: bool = False,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        super().__init__(
            "fcgp",
            metric,
            axis,
            check_finite,
            normalize=normalize,
            activation=activation,
            norm_metric=norm_metric,
            eps=eps,
            precision=precision,
            path_mask=path_mask,
        )
        factory = {"device": device, "dtype": dtype}
        self._fix("in_features", positive("in_features", in_features))
        self._fix("out_features", positive("out_features", out_features))
        self.weight = parameter_of(
            (self.n_path, in_features, out_features),
            1 / math.sqrt(in_features * self.n_grade),
            factory,
        )

    @classmethod
    def from_cgenn(
        cls, weight: Tensor, metric: MetricLike, **options: Unpack[FcgpModuleKeywords]
    ) -> Self:
        """Take the weight of CGENN's fully connected product layer.

        Parameters
        ----------
        weight : torch.Tensor, shape (feature out, feature in, path)
            Its weight.
        metric : str, sequence of int or Algebra
            The algebra.
        **options
            Of the class.

        Returns
        -------
        FCGP
            With a copy of the weights.
        """
        out_features, in_features, _ = shape_of_cgenn(weight, "feature out, feature in, path")
        module = cls(in_features, out_features, metric, **options)
        _copy(module.weight, weight.permute(2, 1, 0))
        return module

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Multiply.

        Parameters
        ----------
        x, y : torch.Tensor, shape (component, row, feature)
            Multivectors; components last with axis=-1.

        Returns
        -------
        torch.Tensor
            Of shape (component, row, out_features).
        """
        return self._run(x, y, self.weight)


def _copy(parameter: torch.nn.Parameter, value: Tensor, name: str = "weight") -> None:
    if parameter.shape != value.shape:
        raise _core.ShapeError(
            f"{name}: expected shape {tuple(parameter.shape)} in this module's order, got "
            f"{tuple(value.shape)}"
        )
    with torch.no_grad():
        parameter.copy_(value)
