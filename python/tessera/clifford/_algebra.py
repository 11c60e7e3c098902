"""A Clifford algebra: its tables, its products, its maps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tessera import _core
from tessera._lib import Session
from tessera.clifford import _arrays, _functional, _versors
from tessera.clifford._spec import MetricLike, algebra_of, make_spec, metric_text

if TYPE_CHECKING:
    from typing import Unpack

    from tessera.clifford._keywords import MixingProductKeywords, ProductKeywords
    from tessera.clifford._types import ArrayLike, ArrayT, Weight

__all__ = ["Algebra"]

_REVERSE, _INVOLUTION, _CONJUGATE, _RIGHT_COMPLEMENT, _LEFT_COMPLEMENT, _GRADES = range(1, 7)


class Algebra:
    """The algebra of a metric, and its operations on arrays of multivectors.

    Parameters
    ----------
    metric : str or sequence of int
        Signs of the squares of the symbols in basis order ('+++', '0+++', '+---'), counts of
        plus, minus and null symbols ('3,0,1', 'Cl(3,0,1)'), a name ('pga', 'sta', 'cga'), or the
        squares themselves, such as (1, 1, 1). Up to five symbols.
    axis : {0, -1}
        Which axis of arrays has the components: the first, (component, row, feature), or the
        last, (..., feature, component).

    Attributes
    ----------
    signs : str
        The metric as signs.
    metric : tuple of int
        The squares of the symbols.
    n_component, n_grade, n_path : int
        2^n components, n + 1 grades, and how many triples of grades the product has.
    grade_of : tuple of int
        Grade of each component; components are ordered by grade, then by index tuple.
    blades : list of str
        Names of the components: '1', 'e1', 'e12' ... (from 'e0' on where there is a null symbol
        or time comes first).
    paths : list of tuple
        (left, output, right) grades of each path; its number is that of its weight.
    table : ndarray of int, shape (n_term, 5)
        Rows k, i, j, sign, path: sign x_i y_j belongs to output component k.

    Examples
    --------
    >>> import numpy as np, tessera
    >>> algebra = tessera.clifford.Algebra("+++")
    >>> e1, e2 = np.eye(8)[1], np.eye(8)[2]
    >>> algebra.blades[int(np.argmax(algebra.geometric_product(e1, e2)))]
    'e12'
    """

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

    def _repr_html_(self) -> str:
        from tessera.clifford._html import of_algebra

        return of_algebra(self)

    def __repr__(self) -> str:
        axis = "" if self.axis == 0 else f", axis={self.axis}"
        return f"Algebra({self.signs!r}{axis})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Algebra) and (self.signs, self.axis) == (other.signs, other.axis)

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

    # --- Products

    def _product(self, name: str, x: Any, y: Any) -> Any:
        mask = None if name == "geometric" else self._found["products"][name]
        spec = make_spec(self.signs, activation="none", normalize=False, path_mask=mask)
        return _functional.run("sgp", spec, x, y, axis=self.axis)

    def geometric_product(self, x: ArrayT, y: ArrayT) -> ArrayT:
        """Multiply.

        Parameters
        ----------
        x, y : array or tensor, shape (component, row, feature)
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
        >>> algebra.blades[int(np.flatnonzero(algebra.geometric_product(e1, e2))[0])]
        'e12'
        """
        return self._product("geometric", x, y)

    def outer(self, x: ArrayT, y: ArrayT) -> ArrayT:
        """Take the outer product: grades add.

        Parameters
        ----------
        x, y : array or tensor, shape (component, row, feature)
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
        >>> bool(algebra.outer(e1, e1).any())
        False
        """
        return self._product("outer", x, y)

    wedge = outer

    def inner(self, x: ArrayT, y: ArrayT) -> ArrayT:
        """Take the inner product: output grade is the difference of the grades.

        Parameters
        ----------
        x, y : array or tensor, shape (component, row, feature)
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
        >>> float(algebra.inner(e1, e1)[0])
        1.0
        """
        return self._product("inner", x, y)

    def left_contraction(self, x: ArrayT, y: ArrayT) -> ArrayT:
        """Contract x with y: output grade is that of y less that of x.

        Parameters
        ----------
        x, y : array or tensor, shape (component, row, feature)
            Multivectors; any number of axes may take the place of the rows.

        Returns
        -------
        array or tensor
            Like x.
        """
        return self._product("left_contraction", x, y)

    def right_contraction(self, x: ArrayT, y: ArrayT) -> ArrayT:
        """Contract x by y: output grade is that of x less that of y.

        Parameters
        ----------
        x, y : array or tensor, shape (component, row, feature)
            Multivectors; any number of axes may take the place of the rows.

        Returns
        -------
        array or tensor
            Like x.
        """
        return self._product("right_contraction", x, y)

    def scalar_product(self, x: ArrayT, y: ArrayT) -> ArrayT:
        """Keep the scalar part of the product.

        Parameters
        ----------
        x, y : array or tensor, shape (component, row, feature)
            Multivectors; any number of axes may take the place of the rows.

        Returns
        -------
        array or tensor
            Like x.
        """
        return self._product("scalar", x, y)

    def commutator(self, x: ArrayT, y: ArrayT) -> ArrayT:
        """Take half of xy - yx.

        Parameters
        ----------
        x, y : array or tensor, shape (component, row, feature)
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
        >>> float(algebra.commutator(e1, e2)[4])
        1.0
        """
        return self._product("commutator", x, y)

    def join(self, x: ArrayT, y: ArrayT) -> ArrayT:
        """Join as GATr does: right complement of the outer product of right complements.

        Parameters
        ----------
        x, y : array or tensor, shape (component, row, feature)
            Multivectors; any number of axes may take the place of the rows.

        Returns
        -------
        array or tensor
            Like x.
        """
        wedge = self.outer(self.right_complement(x), self.right_complement(y))
        return self.right_complement(wedge)

    def regressive(self, x: ArrayT, y: ArrayT) -> ArrayT:
        """Take the left complement of the outer product of right complements.

        Parameters
        ----------
        x, y : array or tensor, shape (component, row, feature)
            Multivectors; any number of axes may take the place of the rows.

        Returns
        -------
        array or tensor
            Like x.
        """
        wedge = self.outer(self.right_complement(x), self.right_complement(y))
        return self.left_complement(wedge)

    def inverse(self, x: ArrayT) -> ArrayT:
        """Return y with x y = y x = 1.

        Parameters
        ----------
        x : array or tensor, shape (component, row, feature)
            Multivectors; any number of axes may take the place of the rows.

        Returns
        -------
        array or tensor
            Like x. Multivectors without inverse, such as null vectors, are an error.

        Examples
        --------
        >>> import numpy as np
        >>> from tessera.clifford import Algebra
        >>> algebra = Algebra("+++")
        >>> one, e1, e2, e3 = np.eye(8)[:4]
        >>> bool(np.allclose(algebra.inverse(2 * e1), e1 / 2))
        True
        """
        return _versors.inverse(self, x)

    def sandwich(self, versor: ArrayT, x: ArrayT) -> ArrayT:
        """Move x by a versor, a product of vectors: u x u^-1, with odd grades of x flipped if odd.

        Parameters
        ----------
        versor : array or tensor, shape (component, ...)
            Reflections (vectors), rotations, boosts, translations: even or odd multivectors. Shapes
            broadcast.
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
        >>> bool(np.allclose(algebra.sandwich(e1, e1 + e2), e2 - e1))
        True
        """
        return _versors.sandwich(self, versor, x)

    # --- Maps of single multivectors

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

    def _grade_bits(self, grades: Iterable[int]) -> int:
        mask = 0
        for g in grades:
            if not 0 <= g < self.n_grade:
                raise _core.ArgumentError(
                    f"grade: {g} does not exist in {self!r}; there are 0 to {self.n_grade - 1}"
                )
            mask |= 1 << g
        return mask

    # --- Forms

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

    def norm(self, x: ArrayT) -> ArrayT:
        """Take the root of the size of the quadratic form over all grades, per row and feature.

        Parameters
        ----------
        x : array or tensor, shape (component, row, feature)
            Multivectors of any size: what is far from 1 is scaled before it is squared.

        Returns
        -------
        array or tensor, shape (row, feature)
            Of x's type.

        Notes
        -----
        The gradient at norm zero, where there is none, is zero: of zero itself, of ideal elements
        (multiples of a null symbol), and of null vectors of other metrics.

        Examples
        --------
        >>> import numpy as np
        >>> from tessera.clifford import Algebra
        >>> x = np.zeros((8, 1, 1), np.float32)
        >>> x[1], x[2] = 3e25, 4e25
        >>> Algebra("+++").norm(x)
        array([[4.9999997e+25]], dtype=float32)
        """
        from tessera.clifford._norm import norm

        found: ArrayT = norm(self, x)
        return found

    # --- Weighted products

    def sgp(
        self,
        x: ArrayT,
        y: ArrayT | ArrayLike,
        weight: Weight | None,
        **options: Unpack[ProductKeywords],
    ) -> ArrayT:
        """Multiply with a weight per feature and path: :func:`tessera.clifford.sgp` in here.

        Parameters
        ----------
        x, y : array or tensor, shape (component, row, feature)
            Multivectors.
        weight : array or tensor, shape (feature, path), or None
            None: ones.
        **options
            activation, normalize, norm_metric, eps, path_mask and check_finite.

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
        >>> x = np.ones((8, 2, 3))
        >>> algebra.sgp(x, x, None, activation="none", normalize=False).shape
        (8, 2, 3)
        """
        return _functional.sgp(x, y, weight, self.signs, axis=self.axis, **options)

    def fcgp(
        self,
        x: ArrayT,
        y: ArrayT | ArrayLike,
        weight: Weight,
        **options: Unpack[MixingProductKeywords],
    ) -> ArrayT:
        """Multiply with weights that mix features: :func:`tessera.clifford.fcgp` in here.

        Parameters
        ----------
        x, y : array or tensor, shape (component, row, feature)
            Multivectors.
        weight : array or tensor, shape (path, feature in, feature out)
            Of the product.
        **options
            Those of :meth:`sgp`, and precision.

        Returns
        -------
        array or tensor, shape (component, row, feature out)
            Of x's type.
        """
        return _functional.fcgp(x, y, weight, self.signs, axis=self.axis, **options)

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
