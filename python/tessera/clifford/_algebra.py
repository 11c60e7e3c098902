"""A Clifford algebra: its products, beside its tables and its maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tessera.clifford import _functional, _versors
from tessera.clifford._algebra_maps import Maps
from tessera.clifford._spec import make_spec

if TYPE_CHECKING:
    from typing import Unpack

    from tessera.clifford._keywords import MixingProductKeywords, ProductKeywords
    from tessera.clifford._types import ArrayLike, ArrayT, Weight

__all__ = ["Algebra"]


class Algebra(Maps):
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

    def _repr_html_(self) -> str:
        from tessera.clifford._html import of_algebra

        return of_algebra(self)

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
