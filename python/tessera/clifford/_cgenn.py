"""Gates, norms and the layer of CGENN; shapes of parameters are those of its states."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn

from tessera import _core
from tessera.clifford._algebra import Algebra
from tessera.clifford._constants import Constants
from tessera.clifford._modules import SGP, MVLinear
from tessera.clifford._modules_base import positive
from tessera.clifford._spec import MetricLike

__all__ = ["MVLayerNorm", "MVNormGate", "MVSiLU", "SteerableLayer"]

_TINY = 1e-16
_EPS = 1e-6


def _size(square: Tensor) -> Tensor:
    """Return the root of the size of a square, smooth where it is zero."""
    return (square.square() + _TINY).sqrt().sqrt()


class _PerGrade(Constants):
    """What modules with numbers per feature and grade share."""

    def __init__(self, n_features: int, metric: MetricLike, axis: int) -> None:
        super().__init__()
        self.n_features = positive("n_features", n_features)
        self.algebra = Algebra(metric.signs if isinstance(metric, Algebra) else metric, axis)
        self.keep("grade_index", self.algebra.grade_of)

    def extra_repr(self) -> str:
        """Return the sizes.

        Returns
        -------
        str
            Features and metric.
        """
        return f"{self.n_features}, {self.algebra.signs!r}"

    def _squares(self, x: Tensor) -> Tensor:
        """Return the metric's square of every grade, (grade, ..., feature)."""
        found = self.algebra.quadratic(x)
        return found if self.algebra.axis == 0 else found.movedim(-1, 0)

    def _of_grades(self, numbers: Tensor) -> Tensor:
        """Return (grade, ..., feature) for every component, as x has them."""
        spread = numbers.index_select(0, self.constant("grade_index", numbers))
        return spread if self.algebra.axis == 0 else spread.movedim(0, -1)

    def _scalars(self, x: Tensor) -> Tensor:
        return x.select(self.algebra.axis, 0)

    def _leading(self, parameter: Tensor, x: Tensor) -> Tensor:
        """View (feature, grade) so that it broadcasts with (grade, ..., feature)."""
        return parameter.T.reshape(self.algebra.n_grade, *[1] * (x.dim() - 2), self.n_features)


class MVSiLU(_PerGrade):
    """Multiply every grade by the sigmoid of an affine map of its own invariant.

    Parameters
    ----------
    n_features : int
        Features.
    metric : str, sequence of int or Algebra
        The algebra.
    invariant : {'mag2', 'norm'}
        Invariant of grades above 0: the metric's square, or the root of its size. That of grade 0
        is the scalar.
    axis : {0, -1}
        Which axis has the components: (component, row, feature) or (..., feature, component).

    Examples
    --------
    >>> import torch
    >>> import tessera.clifford as tc
    >>> tc.MVSiLU(3, "+++")(torch.ones(8, 5, 3)).shape
    torch.Size([8, 5, 3])
    """

    def __init__(
        self,
        n_features: int,
        metric: MetricLike,
        invariant: Literal["mag2", "norm"] = "mag2",
        axis: int = 0,
    ) -> None:
        super().__init__(n_features, metric, axis)
        if invariant not in ("mag2", "norm"):
            raise _core.ArgumentError(f"invariant: expected 'mag2' or 'norm', got {invariant!r}")
        self.invariant = invariant
        self.a = nn.Parameter(torch.ones(1, n_features, self.algebra.n_grade))
        self.b = nn.Parameter(torch.zeros(1, n_features, self.algebra.n_grade))

    def forward(self, x: Tensor) -> Tensor:
        """Gate.

        Parameters
        ----------
        x : torch.Tensor, shape (component, row, feature)
            Multivectors; components last with axis=-1.

        Returns
        -------
        torch.Tensor
            Like x.
        """
        squares = self._squares(x)[1:]
        above = squares if self.invariant == "mag2" else _size(squares)
        invariants = torch.cat([self._scalars(x).unsqueeze(0), above])
        a, b = (self._leading(p[0].to(x.dtype), x) for p in (self.a, self.b))
        return x * self._of_grades(torch.sigmoid(a * invariants + b))


class MVNormGate(_PerGrade):
    """Divide every grade by its size, or not: ``x_g / (s (|x_g| - 1) + 1)``, s learned in (0, 1).

    Parameters
    ----------
    n_features, metric, axis
        As in :class:`MVSiLU`.
    init : float
        Initial value of what s is the sigmoid of.

    Examples
    --------
    >>> import torch
    >>> import tessera.clifford as tc
    >>> tc.MVNormGate(3, "+++")(torch.ones(8, 5, 3)).shape
    torch.Size([8, 5, 3])
    """

    def __init__(
        self, n_features: int, metric: MetricLike, init: float = 0.0, axis: int = 0
    ) -> None:
        super().__init__(n_features, metric, axis)
        self.a = nn.Parameter(torch.full((n_features, self.algebra.n_grade), float(init)))

    def forward(self, x: Tensor) -> Tensor:
        """Divide.

        Parameters
        ----------
        x : torch.Tensor, shape (component, row, feature)
            Multivectors; components last with axis=-1.

        Returns
        -------
        torch.Tensor
            Like x.
        """
        share = torch.sigmoid(self._leading(self.a.to(x.dtype), x))
        return x / self._of_grades(share * (_size(self._squares(x)) - 1) + 1 + _EPS)


class MVLayerNorm(_PerGrade):
    """Divide by the mean size over the features, times a gain per feature.

    Parameters
    ----------
    n_features, metric, axis
        As in :class:`MVSiLU`.

    Examples
    --------
    >>> import torch
    >>> import tessera.clifford as tc
    >>> tc.MVLayerNorm(3, "+++")(torch.ones(8, 5, 3)).shape
    torch.Size([8, 5, 3])
    """

    def __init__(self, n_features: int, metric: MetricLike, axis: int = 0) -> None:
        super().__init__(n_features, metric, axis)
        self.a = nn.Parameter(torch.ones(1, n_features))

    def forward(self, x: Tensor) -> Tensor:
        """Normalise.

        Parameters
        ----------
        x : torch.Tensor, shape (component, row, feature)
            Multivectors; components last with axis=-1.

        Returns
        -------
        torch.Tensor
            Like x.
        """
        size = _size(self._squares(x).sum(0)).mean(-1, keepdim=True) + _EPS
        return x * (self.a[0].to(x.dtype) / size).unsqueeze(self.algebra.axis)


class SteerableLayer(nn.Module):
    """(linear(x) + product of x with a normed linear map of x) / sqrt 2: CGENN's layer.

    Parameters
    ----------
    n_features, metric, axis
        As in :class:`MVSiLU`.
    include_first_order : bool
        Whether linear(x) is added.
    init : float
        As in :class:`MVNormGate`.

    Examples
    --------
    >>> import torch
    >>> import tessera.clifford as tc
    >>> tc.SteerableLayer(3, "+++")(torch.ones(8, 5, 3)).shape
    torch.Size([8, 5, 3])
    """

    def __init__(
        self,
        n_features: int,
        metric: MetricLike,
        include_first_order: bool = True,
        init: float = 0.0,
        axis: int = 0,
    ) -> None:
        super().__init__()
        self.include_first_order = include_first_order
        self.linear_left = (
            MVLinear(n_features, n_features, metric, axis=axis) if include_first_order else None
        )
        self.linear_right = MVLinear(n_features, n_features, metric, bias=False, axis=axis)
        self.normalization = MVNormGate(n_features, metric, init, axis)
        self.product = SGP(n_features, metric, normalize=False, activation="none", axis=axis)

    def forward(self, x: Tensor) -> Tensor:
        """Multiply x with a map of itself.

        Parameters
        ----------
        x : torch.Tensor, shape (component, row, feature)
            Multivectors; components last with axis=-1.

        Returns
        -------
        torch.Tensor
            Like x.
        """
        z: Tensor = self.product(x, self.normalization(self.linear_right(x)))
        return z if self.linear_left is None else (self.linear_left(x) + z) / math.sqrt(2)
