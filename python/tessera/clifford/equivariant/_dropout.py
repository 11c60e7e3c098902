"""Dropout of whole grades, which every group commutes with."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from tessera import _core
from tessera.clifford._constants import Constants

__all__ = ["GradeDropout"]

_GRADES = (0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4)


class GradeDropout(Constants):
    """Set grades of channels, and scalars, to zero at random while training.

    Parameters
    ----------
    p : float
        Probability of each.
    """

    def __init__(self, p: float = 0.0) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise _core.ArgumentError(f"p: expected a number from 0 to 1, got {p!r}")
        self.p = p
        self.keep("grade_index", _GRADES)

    def forward(
        self, multivectors: Tensor, scalars: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Drop.

        Parameters
        ----------
        multivectors : torch.Tensor, shape (..., 16)
            Multivectors.
        scalars : torch.Tensor, optional
            Scalars.

        Returns
        -------
        multivectors, scalars
            Like the inputs.
        """
        if not self.training or self.p == 0:
            return multivectors, scalars
        kept = multivectors.new_ones(*multivectors.shape[:-1], max(_GRADES) + 1)
        grades = self.constant("grade_index", multivectors)
        factors = functional.dropout(kept, self.p)[..., grades]
        return multivectors * factors, (
            None if scalars is None else functional.dropout(scalars, self.p)
        )
