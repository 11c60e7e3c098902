"""Gains of norms as factors of the rows of packed matrices, which then act on rows without gain."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from tessera.clifford.equivariant._dense import Labels, Places
from tessera.clifford.equivariant._maps import N_COMPONENT, Geometry
from tessera.clifford.equivariant._norm import EquivariantNorm

__all__ = ["Gains"]


class Gains(nn.Module):
    """Where the gains of a norm go.

    Parameters
    ----------
    geometry : Geometry
        The algebra.
    c, s : int
        Channels and scalars of the norm.
    hidden_c : int
        Channels beside which the scalars stand in a product.
    """

    one: Tensor

    def __init__(self, geometry: Geometry, c: int, s: int, hidden_c: int) -> None:
        super().__init__()
        n_grade = geometry.algebra.n_grade
        grades = np.array(geometry.algebra.grade_of)
        one = 1 + n_grade * c + s
        of_mv = 1 + np.arange(c)[:, None] * n_grade + grades
        of_s = 1 + n_grade * c + np.arange(s)
        inputs = np.concatenate([of_mv.ravel(), of_s, [one]])
        products = np.concatenate([np.full(N_COMPONENT * hidden_c, one), of_s, [one]])
        labels: Labels = np.concatenate([inputs, products])
        self.n_input = len(inputs)
        # The constant is no weight: its places need not be gathered.
        self.places = Places(labels, one, n_constant=1)
        self.register_buffer("one", torch.ones(1), persistent=False)

    def forward(self, norm: EquivariantNorm) -> tuple[Tensor, Tensor]:
        """Return factors of the rows of a matrix of inputs, and of one of products."""
        assert norm.weight_mv is not None
        found = self.places([norm.weight_mv, norm.weight_s, self.one.to(norm.weight_mv.dtype)])
        return found[: self.n_input, None], found[self.n_input :, None]
