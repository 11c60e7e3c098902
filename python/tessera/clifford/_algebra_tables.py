"""What a Clifford algebra is: its metric, its components, the terms and paths of its product."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera import _core
from tessera.clifford._spec import MetricLike, algebra_of, metric_text

__all__ = ["Tables"]


class Tables:
    """The tables of a metric, which never change; attributes are described by ``Algebra``."""

    def __init__(self, metric: MetricLike, axis: int = 0) -> None:
        found = algebra_of(metric_text(metric))
        if axis not in (0, -1):
            raise _core.ArgumentError(f"axis: expected 0 or -1, got {axis}")
        self.axis = axis
        self.signs: str = found["text"]
        self.metric = tuple(found["metric"])
        self.n_component = found["n_component"]
        self.n_grade = found["n_grade"]
        self.n_path = found["n_path"]
        self.crc32 = found["crc32"]
        self.grade_of = tuple(found["grade"])
        self.paths = list(found["paths"])
        self._found = found
        self._is_made = True

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse: an algebra is a key of tables, and what it multiplies never changes."""
        if "_is_made" in self.__dict__:
            raise AttributeError(
                f"Algebra.{name} cannot be changed to {value!r}; create another Algebra"
            )
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        axis = "" if self.axis == 0 else f", axis={self.axis}"
        return f"Algebra({self.signs!r}{axis})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tables) and (self.signs, self.axis) == (other.signs, other.axis)

    def __hash__(self) -> int:
        return hash((self.signs, self.axis))

    @cached_property
    def table(self) -> npt.NDArray[np.int64]:
        """Terms of the product: rows k, i, j, sign, path."""
        return np.array(self._found["terms"], np.int64).reshape(-1, 5)

    @cached_property
    def blades(self) -> list[str]:
        """Names of the components."""
        first = 0 if 0 in self.metric or self.signs == "+---" else 1
        names = []
        for mask in self._found["mask"]:
            digits = [str(first + i) for i in range(len(self.metric)) if mask >> i & 1]
            names.append("e" + "".join(digits) if digits else "1")
        return names

    def product_paths(self, name: str) -> int:
        """Return the paths of a product, for ``path_mask``.

        Parameters
        ----------
        name : {'outer', 'inner', 'left_contraction', 'right_contraction', 'scalar', 'commutator'}
            Which product.

        Returns
        -------
        int
            Bit p: path p takes part.

        Examples
        --------
        >>> import numpy as np
        >>> from tessera.clifford import Algebra
        >>> algebra = Algebra("+++")
        >>> one, e1, e2, e3 = np.eye(8)[:4]
        >>> bin(algebra.product_paths("scalar")).count("1")
        4
        """
        products = self._found["products"]
        if name not in products:
            raise _core.ArgumentError(
                f"product: {name!r} does not exist; there are {', '.join(products)}"
            )
        return int(products[name])

    def grade_paths(self, left: Iterable[int], right: Iterable[int]) -> int:
        """Return the paths from some grades, for ``path_mask``.

        Parameters
        ----------
        left, right : iterable of int
            Grades of x and of y.

        Returns
        -------
        int
            Bit p: path p takes part.
        """
        masks = self._grade_bits(left), self._grade_bits(right)
        return _core.clifford_grade_paths(self.signs, *masks)

    def _grade_bits(self, grades: Iterable[int]) -> int:
        mask = 0
        for g in grades:
            if not 0 <= g < self.n_grade:
                raise _core.ArgumentError(
                    f"grade: {g} does not exist in {self!r}; there are 0 to {self.n_grade - 1}"
                )
            mask |= 1 << g
        return mask
