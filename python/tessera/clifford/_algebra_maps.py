"""Maps of single multivectors in a Clifford algebra: signs, complements, grades, their squares."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tessera import _core
from tessera._lib import Session
from tessera.clifford import _arrays, _functional
from tessera.clifford._algebra_tables import Tables

if TYPE_CHECKING:
    from tessera.clifford._types import ArrayT

__all__ = ["Maps"]

_REVERSE, _INVOLUTION, _CONJUGATE, _RIGHT_COMPLEMENT, _LEFT_COMPLEMENT, _GRADES = range(1, 7)


class Maps(Tables):
    """What an algebra does to one array of multivectors."""

    def _signed(self, x: Any, which: int, signs: Iterable[int], flip: bool = False) -> Any:
        """Multiply component i by signs[i], then turn the order of components round."""
        if not _arrays.is_torch(x):
            return self._map(x, which, 0)
        self._check_components(x)
        from tessera.clifford import _torch_signs

        z = _torch_signs.multiply(x, tuple(signs), self.axis)
        return z.flip(self.axis) if flip else z

    def _check_components(self, x: Any) -> None:
        """Raise where torch would stretch one component to all, or answer in its own words."""
        _arrays.refuse_sparse(x, "x")
        if x.ndim == 0 or x.shape[self.axis] != self.n_component:
            raise _core.ShapeError(
                f"x: expected {self.n_component} components on axis {self.axis} in {self!r}, got "
                f"shape {tuple(x.shape)}"
            )

    def _map(self, x: Any, which: int, grades: int) -> Any:
        def run(front: Any, z: Any, context: _core.Context) -> None:
            _core.clifford_map(context, self.signs, which, grades, front, z)

        return self._on_arrays(x, run, self.n_component)

    def _on_arrays(self, x: Any, run: Callable[[Any, Any, _core.Context], None], n_out: int) -> Any:
        x = _arrays.as_array(x, "x")
        shape = tuple(x.shape)
        front = _functional._front(x, self.axis)
        z = (
            _arrays.empty_like(front)
            if n_out == front.shape[0]
            else _arrays.empty(front, (n_out, *front.shape[1:]))
        )
        with Session() as context:
            run(_arrays.native(front), _arrays.native(z), context)
        return _functional._back(z, shape, self.axis)

    def reverse(self, x: ArrayT) -> ArrayT:
        """Reverse the order of symbols: grade g gets the sign (-1)^(g(g-1)/2).

        Parameters
        ----------
        x : array or tensor, shape (component, row, feature)
            Multivectors; any number of axes may take the place of the rows.

        Returns
        -------
        array or tensor
            Like x.

        Examples
        --------
        >>> import numpy as np
        >>> from tessera.clifford import Algebra
        >>> algebra = Algebra("+++")
        >>> one, e1, e2, e3 = np.eye(8)[:4]
        >>> algebra.reverse(np.ones(8))
        array([ 1.,  1.,  1.,  1., -1., -1., -1., -1.])
        """
        return self._signed(x, _REVERSE, self._found["reverse"])

    def involution(self, x: ArrayT) -> ArrayT:
        """Flip the signs of odd grades.

        Parameters
        ----------
        x : array or tensor, shape (component, row, feature)
            Multivectors; any number of axes may take the place of the rows.

        Returns
        -------
        array or tensor
            Like x.
        """
        return self._signed(x, _INVOLUTION, self._found["involution"])

    def conjugate(self, x: ArrayT) -> ArrayT:
        """Reverse and flip the signs of odd grades.

        Parameters
        ----------
        x : array or tensor, shape (component, row, feature)
            Multivectors; any number of axes may take the place of the rows.

        Returns
        -------
        array or tensor
            Like x.
        """
        return self._signed(x, _CONJUGATE, self._found["conjugate"])

    def right_complement(self, x: ArrayT) -> ArrayT:
        """Map every blade to the one of the other symbols: blade times it is the pseudoscalar.

        Parameters
        ----------
        x : array or tensor, shape (component, row, feature)
            Multivectors; any number of axes may take the place of the rows.

        Returns
        -------
        array or tensor
            Like x.

        Examples
        --------
        >>> import numpy as np
        >>> from tessera.clifford import Algebra
        >>> algebra = Algebra("+++")
        >>> one, e1, e2, e3 = np.eye(8)[:4]
        >>> algebra.blades[int(np.flatnonzero(algebra.right_complement(e1))[0])]
        'e23'
        """
        # In the order of components a blade and the one of the other symbols face each other.
        return self._signed(x, _RIGHT_COMPLEMENT, self._found["complement_sign"], flip=True)

    dual = right_complement

    def left_complement(self, x: ArrayT) -> ArrayT:
        """Undo :meth:`right_complement`.

        Parameters
        ----------
        x : array or tensor, shape (component, row, feature)
            Multivectors; any number of axes may take the place of the rows.

        Returns
        -------
        array or tensor
            Like x.
        """
        signs = self._found["complement_sign"][::-1]
        return self._signed(x, _LEFT_COMPLEMENT, signs, flip=True)

    def grade(self, x: ArrayT, *grades: int) -> ArrayT:
        """Keep the given grades, zero elsewhere.

        Parameters
        ----------
        x : array or tensor, shape (component, row, feature)
            Multivectors.
        *grades : int
            From 0 to n_grade - 1.

        Returns
        -------
        array or tensor
            Like x.

        Examples
        --------
        >>> import numpy as np
        >>> from tessera.clifford import Algebra
        >>> algebra = Algebra("+++")
        >>> one, e1, e2, e3 = np.eye(8)[:4]
        >>> algebra.grade(np.ones(8), 0, 3)
        array([1., 0., 0., 0., 0., 0., 0., 1.])
        """
        mask = self._grade_bits(grades)
        if not _arrays.is_torch(x):
            return self._map(x, _GRADES, mask)
        self._check_components(x)
        from tessera.clifford import _torch_signs

        return _torch_signs.keep(x, tuple(mask >> g & 1 for g in self.grade_of), self.axis)

    def quadratic(self, x: ArrayT) -> ArrayT:
        """Compute the quadratic form of every grade.

        Parameters
        ----------
        x : array or tensor, shape (component, row, feature)
            Multivectors.

        Returns
        -------
        array or tensor, shape (grade, row, feature)
            Grades are on the axis of the components. Squares have to fit x's type; :meth:`norm`
            needs no
            such room.

        Examples
        --------
        >>> import numpy as np
        >>> from tessera.clifford import Algebra
        >>> algebra = Algebra("+++")
        >>> one, e1, e2, e3 = np.eye(8)[:4]
        >>> algebra.quadratic(2 * e1)
        array([0., 4., 0., 0.])
        """
        if not _arrays.is_torch(x):

            def run(front: Any, z: Any, context: _core.Context) -> None:
                _core.clifford_quadratic(context, self.signs, front, z)

            return self._on_arrays(x, run, self.n_grade)
        self._check_components(x)
        from tessera.clifford import _torch_signs

        # Components that do not count are zeroed first: a square may be too large for its type.
        x = _torch_signs.keep(x, tuple(abs(eta) for eta in self._found["eta"]), self.axis)
        tensor: Any = x
        squares = _torch_signs.multiply(tensor * tensor, tuple(self._found["eta"]), self.axis)
        sizes = [self.grade_of.count(g) for g in range(self.n_grade)]
        parts = [part.sum(self.axis, keepdim=True) for part in squares.split(sizes, self.axis)]
        import torch

        return torch.cat(parts, self.axis)
