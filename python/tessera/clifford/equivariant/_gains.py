"""Gains of norms as factors of the rows of packed matrices, which then act on rows without gain."""

from __future__ import annotations

import numpy as np

from tessera.clifford.equivariant._dense import Labels
from tessera.clifford.equivariant._maps import N_COMPONENT, Geometry

__all__ = ["gain_labels"]


def gain_labels(
    geometry: Geometry, c: int, s: int, hidden_c: int, first: int, one: int
) -> tuple[Labels, Labels]:
    """Return where the gains of a norm go.

    Parameters
    ----------
    geometry : Geometry
        The algebra.
    c, s : int
        Channels and scalars of the norm.
    hidden_c : int
        Channels beside which the scalars stand in a product.
    first, one : int
        Numbers of the first gain and of the constant 1.

    Returns
    -------
    inputs, products : array of int, shape (row, 1)
        For the rows of a matrix of inputs, and of one of products; the last one is of the bias.
    """
    n_grade = geometry.algebra.n_grade
    of_mv = 1 + first + np.arange(c)[:, None] * n_grade + np.array(geometry.algebra.grade_of)
    of_s = 1 + first + n_grade * c + np.arange(s)
    inputs = np.concatenate([of_mv.ravel(), of_s, [1 + one]])
    products = np.concatenate([np.full(N_COMPONENT * hidden_c, 1 + one), of_s, [1 + one]])
    return inputs[:, None], products[:, None]
