"""A small formula language for covariates: ``1 + speed + bs(speed, knots=[1, 4, 16])``.

Terms are joined by ``+``: ``1`` (the intercept, there anyway), ``0`` or ``-1`` (no intercept), a
covariate, or a B-spline ``bs(covariate, knots=..., df=..., degree=3, include_intercept=False,
lower_bound=..., upper_bound=...)``. Anything else is handed to patsy where it is installed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tessera.decode import _data
from tessera.decode._data import Floats
from tessera.decode._foreign import is_foreign, to_numpy
from tessera.decode.exceptions import ValidationError

_SPLINE = ("knots", "df", "degree", "include_intercept", "lower_bound", "upper_bound")


class _ForeignError(Exception):
    """The formula needs patsy."""


def _basis(x: Floats, knots: Floats, degree: int) -> Floats:
    """Evaluate every B-spline of a knot vector by the recursion of Cox and de Boor."""
    n_basis = len(knots) - degree - 1
    low, high = knots[degree], knots[n_basis]
    x = np.clip(x, low, high)
    last = int(np.searchsorted(knots, high, side="left")) - 1
    span = np.minimum(np.searchsorted(knots, x, side="right") - 1, last)
    values = np.zeros((len(x), len(knots) - 1))
    values[np.arange(len(x)), span] = 1.0
    for k in range(1, degree + 1):
        n = len(knots) - 1 - k
        left, right = knots[:n], knots[k + 1 : k + 1 + n]
        rise, fall = knots[k : k + n] - left, right - knots[1 : 1 + n]
        up = np.divide(x[:, None] - left, rise, out=np.zeros((len(x), n)), where=rise > 0)
        down = np.divide(right - x[:, None], fall, out=np.zeros((len(x), n)), where=fall > 0)
        values = up * values[:, :n] + down * values[:, 1 : n + 1]
    return values


class _Spline:
    """A B-spline whose knots are fixed by the data it was first made for."""

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self.name = name
        self.options = options
        self.knots: Floats | None = None
        self.degree = int(options.get("degree", 3))

    def _fix(self, x: Floats) -> Floats:
        options = self.options
        if options.get("knots") is not None:
            inner = np.sort(_data.vector(options["knots"], "knots"))
        elif options.get("df") is not None:
            n_inner = int(options["df"]) - self.degree - bool(options.get("include_intercept"))
            if n_inner < 0:
                raise ValidationError(f"formula: df={options['df']} is too small for bs()")
            inner = np.quantile(x, np.linspace(0, 1, n_inner + 2)[1:-1])
        else:
            raise ValidationError("formula: bs() needs knots= or df=")
        # Knots beyond the data are kept: the range grows to hold them.
        bounds = [x.min(), x.max(), *inner]
        low = float(options.get("lower_bound", min(bounds)))
        high = float(options.get("upper_bound", max(bounds)))
        order = self.degree + 1
        return np.concatenate((np.full(order, low), inner, np.full(order, high)))

    def __call__(self, data: Mapping[str, Floats]) -> Floats:
        x = data[self.name]
        if self.knots is None:
            self.knots = self._fix(x)
        columns = _basis(x, self.knots, self.degree)
        return columns if self.options.get("include_intercept") else columns[:, 1:]


class _Plain:
    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, data: Mapping[str, Floats]) -> Floats:
        return data[self.name][:, np.newaxis]


def _terms(node: ast.expr) -> list[tuple[int, ast.expr]]:
    """Split sums into terms with their signs."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        sign = 1 if isinstance(node.op, ast.Add) else -1
        return [*_terms(node.left), *((sign * s, term) for s, term in _terms(node.right))]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return [(-s, term) for s, term in _terms(node.operand)]
    return [(1, node)]


def _spline(call: ast.Call) -> _Spline:
    names = ("x", *_SPLINE)
    if not (call.args and isinstance(call.args[0], ast.Name)):
        raise _ForeignError
    try:
        options = {names[i]: ast.literal_eval(value) for i, value in enumerate(call.args) if i}
        options |= {str(key.arg): ast.literal_eval(key.value) for key in call.keywords}
    except (IndexError, ValueError):
        raise _ForeignError from None
    if not options.keys() <= set(_SPLINE):
        raise _ForeignError
    return _Spline(call.args[0].id, options)


def _parse(formula: str) -> tuple[bool, list[Callable[[Mapping[str, Floats]], Floats]]]:
    """Return whether there is an intercept, and the other terms."""
    try:
        tree = ast.parse(formula.rsplit("~", maxsplit=1)[-1].strip(), mode="eval").body
    except SyntaxError:
        raise _ForeignError from None
    intercept = True
    columns: list[Callable[[Mapping[str, Floats]], Floats]] = []
    for sign, term in _terms(tree):
        if isinstance(term, ast.Constant) and term.value in (0, 1):
            intercept = sign * (1 if term.value else -1) > 0
        elif sign > 0 and isinstance(term, ast.Name):
            columns.append(_Plain(term.id))
        elif (
            sign > 0
            and isinstance(term, ast.Call)
            and isinstance(term.func, ast.Name)
            and term.func.id == "bs"
        ):
            columns.append(_spline(term))
        else:
            raise _ForeignError
    return intercept, columns


def _readable(data: Any) -> Any:
    """Return columns that are arrays of other libraries as NumPy's."""
    if not isinstance(data, dict):
        return data
    return {
        name: to_numpy(value, name) if is_foreign(value) else value for name, value in data.items()
    }


def _covariates(data: Any, names: list[str]) -> dict[str, Floats]:
    found = {}
    for name in names:
        try:
            value = data[name]
        except (KeyError, TypeError, IndexError):
            raise ValidationError(
                f"discrete_transition_covariate_data: the formula needs {name!r}"
            ) from None
        found[name] = _data.vector(value, name)
        bad = np.flatnonzero(~np.isfinite(found[name]))
        if bad.size:
            raise ValidationError(
                f"discrete_transition_covariate_data: {name}[{bad[0]}] is {found[name][bad[0]]}; "
                f"{bad.size} values are not finite"
            )
    return found


class DesignMatrix(np.ndarray[Any, Any]):
    """Columns of a formula that know it, as patsy's do: ``design_info`` is a :class:`Design`."""

    design_info: Any

    def __array_finalize__(self, other: Any) -> None:
        self.design_info = getattr(other, "design_info", None)


class Design:
    """A formula bound to the covariates it was first evaluated on.

    Parameters
    ----------
    formula : str
        See the module.
    data : mapping of str to array, or pandas.DataFrame
        Covariates by name.
    """

    def __init__(self, formula: str, data: Any) -> None:
        data = _readable(data)
        if data is None:
            raise ValidationError(
                f"discrete_transition_covariate_data is missing: formula {formula!r} needs it"
            )
        self.formula = formula
        self._patsy: Any = None
        try:
            self._intercept, self._columns = _parse(formula)
        except _ForeignError:
            self._columns = []
            self._patsy = _patsy_design(formula, data)
            self.matrix: Floats = np.asarray(self._patsy, dtype=np.float64)
            self._patsy = self._patsy.design_info
        else:
            self.matrix = self._ours(data)

    def _ours(self, data: Any) -> Floats:
        names = [column.name for column in self._columns]  # type: ignore[attr-defined]
        found = _covariates(data, names)
        n = len(next(iter(found.values()))) if found else len(data)
        parts = [column(found) for column in self._columns]
        if self._intercept:
            parts.insert(0, np.ones((n, 1)))
        lengths = {len(part) for part in parts}
        if len(lengths) != 1:
            raise ValidationError("discrete_transition_covariate_data: covariates differ in length")
        return np.ascontiguousarray(np.concatenate(parts, axis=1))

    def columns(self) -> DesignMatrix:
        """Return the formula's columns at its first covariates."""
        found = self.matrix.view(DesignMatrix)
        found.design_info = self
        return found

    def build(self, data: Any) -> Floats:
        """Evaluate the formula on other covariates, with the knots of the first ones."""
        if self._patsy is not None:
            from patsy import build_design_matrices

            data = _readable(data)
            return np.ascontiguousarray(build_design_matrices([self._patsy], data)[0])
        return self._ours(data)

    def _state(self) -> dict[str, Any]:
        """Return what a file holds: the formula and the knots its first covariates fixed."""
        if self._patsy is not None:
            raise ValidationError(
                f"formula {self.formula!r} was evaluated by patsy, whose state a model file cannot "
                "hold; sums of covariates and bs() are built in"
            )
        knots = [getattr(column, "knots", None) for column in self._columns]
        return {"formula": self.formula, "matrix": self.matrix, "knots": knots}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Design:
        design = cls.__new__(cls)
        design.formula, design._patsy = state["formula"], None
        design.matrix = _data.reals(state["matrix"], "matrix")
        try:
            design._intercept, design._columns = _parse(design.formula)
        except _ForeignError:
            raise ValidationError(f"formula {design.formula!r} is not built in") from None
        for column, knots in zip(design._columns, state["knots"], strict=True):
            if isinstance(column, _Spline) and knots is not None:
                column.knots = _data.vector(knots, "knots")
        return design


def _patsy_design(formula: str, data: Any) -> Any:
    try:
        from patsy import dmatrix
    except ImportError:
        raise ValidationError(
            f"formula {formula!r}: only sums of covariates and bs() are built in; install patsy "
            "for others"
        ) from None
    return dmatrix(formula, data)
