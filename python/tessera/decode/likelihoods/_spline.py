"""The splines of place that the library's Poisson regression is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tessera.decode import _data
from tessera.decode._data import Floats


@dataclass(eq=False)
class SplineDesign:
    """A basis of splines over places; stands for patsy's DesignInfo where patsy is missing.

    Parameters
    ----------
    knots : list of ndarray
        Of every coordinate, increasing.
    mean : ndarray, shape (n_basis,)
        Over the samples, of what multiplies the value at every knot.
    """

    knots: list[Floats]
    mean: Floats

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, as patsy has them."""
        return ["Intercept", *(f"spline[{i}]" for i in range(len(self.mean) - 1))]

    def matrix(self, position: Any) -> Floats:
        """Return the constant and the centred splines at places, (n_points, n_basis)."""
        points = _data.position(position)
        values = np.ones((len(points), 1))
        for column, knots in zip(points.T, self.knots, strict=True):
            each = _cardinal(column, knots)
            values = (values[:, :, np.newaxis] * each[:, np.newaxis]).reshape(len(points), -1)
        found: Floats = np.hstack((np.ones((len(points), 1)), values @ _frame(self.mean)))
        return found


def _frame(mean: Floats) -> Floats:
    """Return orthonormal columns orthogonal to the mean: those of a reflection but its first."""
    u = mean.copy()
    u[0] += np.copysign(np.linalg.norm(mean), mean[0])
    return (np.eye(len(u)) - 2 / (u @ u) * np.outer(u, u))[:, 1:]


def _cardinal(x: Floats, knots: Floats) -> Floats:
    """Return natural cubic splines that are 1 at one knot and 0 at the others; lines outside."""
    n, h = len(knots), np.diff(knots)
    bend = np.zeros((n, n))  # second derivatives from values
    if n > 2:
        system = np.diag((h[:-1] + h[1:]) / 3) + np.diag(h[1:-1] / 6, 1) + np.diag(h[1:-1] / 6, -1)
        second = np.zeros((n - 2, n))
        row = np.arange(n - 2)
        second[row, row], second[row, row + 2] = 1 / h[:-1], 1 / h[1:]
        second[row, row + 1] = -1 / h[:-1] - 1 / h[1:]
        bend[1:-1] = np.linalg.solve(system, second)
    j = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, n - 2)
    width, left, right = h[j], x - knots[j], knots[j + 1] - x
    lower = (np.maximum(right, 0) ** 3 / width - width * right) / 6
    upper = (np.maximum(left, 0) ** 3 / width - width * left) / 6
    found: Floats = lower[:, np.newaxis] * bend[j] + upper[:, np.newaxis] * bend[j + 1]
    index = np.arange(len(x))
    found[index, j] += right / width
    found[index, j + 1] += left / width
    return found


def design_info(knots: list[Floats], mean: Floats) -> Any:
    """Return patsy's DesignInfo of the basis, as the original has it; without patsy, ours."""
    try:
        from patsy import dmatrix
    except ImportError:
        return SplineDesign(knots, mean)
    # The mean over the samples is known: no need to evaluate them again.
    # patsy finds these two by name: in the data now, in this frame when it is asked again.
    inner_knots, center = [each[1:-1] for each in knots], mean[np.newaxis]
    data: dict[str, Any] = {f"x{i}": each[[0, -1]] for i, each in enumerate(knots)}
    data |= {"inner_knots": inner_knots, "center": center}
    terms = ", ".join(f"cr(x{i}, knots=inner_knots[{i}])" for i in range(len(knots)))
    return dmatrix(f"1 + te({terms}, constraints=center)", data).design_info  # codespell:ignore te
