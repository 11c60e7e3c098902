"""Linear maps of single multivectors that commute with a group: what equivariant layers mix."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from tessera.clifford._algebra import Algebra

__all__ = ["LORENTZ", "LORENTZ_FULL", "PIN", "Geometry"]

N_COMPONENT = 16


@dataclass(frozen=True, eq=False)  # a key of tables, by identity: every call looks one up
class Geometry:
    """An algebra of 16 components, its equivariant maps and its norm.

    Attributes
    ----------
    name : str
        Its name in this module.
    signs : str
        The metric.
    n_map : int
        Linear maps of a multivector that commute with the group.
    scalars : tuple of int
        Components that auxiliary scalars mix with: those that the group leaves alone.
    norm_metric : str
        Of :func:`tessera.clifford.rms_norm`.
    eps : float
        Least mean square of the norm.
    """

    name: str
    signs: str
    n_map: int
    scalars: tuple[int, ...]
    norm_metric: str
    eps: float

    def __reduce__(self) -> str:
        """Have copies and pickles of modules share it."""
        return self.name

    @property
    def algebra(self) -> Algebra:
        """The algebra, components last."""
        return _ALGEBRAS[self.signs]

    @property
    def basis(self) -> npt.NDArray[np.float64]:
        """The maps, of shape (map, output component, input component), read only."""
        return _basis(self.signs, self.n_map)

    @property
    def spread(self) -> tuple[float, ...]:
        """How wide the weights of each map are drawn, relative to one over the root of inputs."""
        if self.signs == "0+++":
            return tuple(math.sqrt(f) for f in (1, 4, 6, 2, 0.5, 0.5, 1.5, 1.5, 0.5))
        return (1.0,) * self.n_map

    @property
    def eta(self) -> tuple[int, ...]:
        """Signs of the squares of components in the inner product."""
        return tuple(self.algebra._found["eta"])


# Not a cached function, whose wrapper compilers warn of.
_ALGEBRAS = {signs: Algebra(signs, axis=-1) for signs in ("0+++", "+---")}


@cache
def _basis(signs: str, n_map: int) -> npt.NDArray[np.float64]:
    algebra = _ALGEBRAS[signs]
    grades = np.array(algebra.grade_of)
    maps = [np.diag((grades == g).astype(float)) for g in range(algebra.n_grade)]
    if signs == "0+++":
        maps += _times(algebra, 1, left=True, grades=range(algebra.n_grade - 1))
        # Every map has Frobenius norm 1, as GATr's weights expect.
        maps = [m / np.linalg.norm(m) for m in maps]
    elif n_map > len(maps):
        maps += _times(algebra, algebra.n_component - 1, left=False, grades=range(algebra.n_grade))
    found = np.stack(maps)
    assert len(found) == n_map
    found.setflags(write=False)
    return found


def _times(
    algebra: Algebra, blade: int, *, left: bool, grades: range
) -> list[npt.NDArray[np.float64]]:
    """Return the products of a blade with each grade, as matrices."""
    maps = [np.zeros((algebra.n_component,) * 2) for _ in grades]
    for k, i, j, sign, _ in algebra.table:
        factor, other = (i, j) if left else (j, i)
        if factor == blade and algebra.grade_of[other] in grades:
            maps[algebra.grade_of[other]][k, other] = sign
    return maps


_EPS32 = float(np.float32(0.01))  # L-GATr keeps its 0.01 in float32

PIN = Geometry("PIN", "0+++", 9, (0,), "clamp", 0.01)
LORENTZ = Geometry("LORENTZ", "+---", 10, (0, 15), "abs_clamp", _EPS32)
LORENTZ_FULL = Geometry("LORENTZ_FULL", "+---", 5, (0,), "abs_clamp", _EPS32)
