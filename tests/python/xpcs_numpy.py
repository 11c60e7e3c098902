"""The model of two-time correlations and its sums in plain NumPy, written from the equations alone.

Everything works on complex parameters, so that derivatives can be taken by complex steps. Tests,
``tools/xpcs_reference.py`` and the benchmark compare with this.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[Any]

# Factor of x = q L cos(phi0 - phi) strain inside sinc, and the power of sinc in c2.
KERNELS = {
    "upstream": (0.5 / np.pi, 4),
    "upstream_v1": (0.5, 4),
    "physical": (0.5, 2),
}
FLOOR = 1e-10
N_STATIC = 3
N_LAMINAR = 7


@dataclass(frozen=True)
class Problem:
    """What is known before a fit."""

    n_frame: int
    dt: float
    phi: Floats
    q: Floats
    gap: float = 2e6
    kernel: str = "upstream"
    keep_t0: bool = False
    eps: float = 0.0

    @property
    def t(self) -> Floats:
        if not self.keep_t0:
            return (np.arange(self.n_frame) + 1) * self.dt
        t = np.arange(self.n_frame) * self.dt
        t[0] = max(self.dt / 2, 1e-8)
        return t

    def with_(self, **changes: Any) -> Problem:
        return replace(self, **changes)


def rate(parameters: Floats, t: Floats) -> Floats:
    amplitude, exponent, offset = parameters
    found = amplitude * np.exp(exponent * np.log(t)) + offset
    return np.where(np.real(found) > FLOOR, found, FLOOR)


def cumulative(values: Floats) -> Floats:
    steps = 0.5 * (values[1:] + values[:-1])
    return np.concatenate([[0], np.cumsum(steps)])


def sinc(z: Floats) -> Floats:
    small = np.abs(z) < 1e-4
    safe = np.where(small, 1.0, z)
    return np.where(small, 1 - z**2 / 6 + z**4 / 120, np.sin(safe) / safe)


def pairs(n: int, least_lag: int = 1) -> tuple[Floats, Floats]:
    """Frames of the pairs i < j, row by row."""
    i, j = np.triu_indices(n, least_lag)
    return i, j


def difference(sums: Floats, i: Floats, j: Floats, eps: float) -> Floats:
    d = sums[j] - sums[i]
    return np.sqrt(d * d + eps) if eps else d


def squared_correlation(problem: Problem, theta: Any, i: Floats, j: Floats) -> Floats:
    """M = c1², shape (n_angle, n_pair)."""
    theta = np.asarray(theta)
    t = problem.t
    diffusion = difference(cumulative(rate(theta[:3], t)), i, j, problem.eps)
    q = problem.q[:, None]
    m = np.exp(-(q**2) * problem.dt * diffusion)
    if len(theta) == N_STATIC:
        return np.asarray(m)
    kappa, power = KERNELS[problem.kernel]
    strain = difference(cumulative(rate(theta[3:6], t)), i, j, problem.eps)
    # Degrees are reduced before the cosine, so that 90 gives exactly 0.
    away = theta[6] - problem.phi
    cosine = np.where(
        np.abs(np.remainder(np.real(away), 180)) == 90,
        -np.sin(np.deg2rad(90)) * (away - np.real(away)) * np.pi / 180 * _sign(away),
        np.cos(away * np.pi / 180),
    )
    x = q * problem.gap * cosine[:, None] * problem.dt * strain
    return np.asarray(m * sinc(kappa * x) ** power)


def _sign(away: Floats) -> Floats:
    return np.where(np.remainder(np.real(away), 360) == 90, 1.0, -1.0)


def surface(problem: Problem, theta: Any, contrast: Floats, offset: Floats) -> Floats:
    """c2 (n_angle, n, n), contrast + offset on the diagonal."""
    n = problem.n_frame
    i, j = pairs(n)
    values = offset[:, None] + contrast[:, None] * squared_correlation(problem, theta, i, j)
    c2 = np.empty((len(problem.phi), n, n))
    c2[:, i, j] = values
    c2[:, j, i] = values
    k = np.arange(n)
    c2[:, k, k] = (contrast + offset)[:, None]
    return c2


def complex_step(problem: Problem, theta: Any, i: Floats, j: Floats) -> Floats:
    """dM/dtheta (n_angle, n_pair, n_param), exact to rounding."""
    theta = np.asarray(theta, float)
    columns = []
    for k in range(len(theta)):
        step = 1e-30 * max(1.0, abs(theta[k]))
        moved = theta.astype(complex)
        moved[k] += 1j * step
        columns.append(np.imag(squared_correlation(problem, moved, i, j)) / step)
    return np.stack(columns, axis=-1)


@dataclass
class Sums:
    """What a pass gives with contrast and offset eliminated for every angle."""

    cost: float
    gradient: Floats
    hessian: Floats
    contrast: Floats
    offset: Floats


def reduced(problem: Problem, theta: Any, y: Floats, sigma: Any) -> Sums:
    """Cost, gradient and Kaufman's Hessian; y (n_angle, n_pair), NaN left out."""
    i, j = pairs(problem.n_frame)
    m = squared_correlation(problem, np.asarray(theta, float), i, j)
    jacobian = complex_step(problem, theta, i, j)
    n_param = jacobian.shape[-1]
    weight = np.where(np.isfinite(y), 1.0 / np.broadcast_to(sigma, y.shape) ** 2, 0.0)
    y = np.where(np.isfinite(y), y, 0.0)
    found = Sums(
        0.0, np.zeros(n_param), np.zeros((n_param, n_param)), np.zeros(len(y)), np.zeros(len(y))
    )
    for a in range(len(y)):
        w = np.sqrt(weight[a])
        basis = np.stack([m[a] * w, w], axis=1)
        (c, o), *_ = np.linalg.lstsq(basis, y[a] * w, rcond=None)
        residual = c * m[a] * w + o * w - y[a] * w
        columns = c * jacobian[a] * w[:, None]
        orthogonal, _ = np.linalg.qr(basis)
        projected = columns - orthogonal @ (orthogonal.T @ columns)
        found.cost += 0.5 * float(residual @ residual)
        found.gradient += columns.T @ residual
        found.hessian += projected.T @ projected
        found.contrast[a], found.offset[a] = c, o
    return found
