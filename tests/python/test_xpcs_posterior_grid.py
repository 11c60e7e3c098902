"""Posteriors of three angles against sums over grids, contrast and offset integrated out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tessera import xpcs
from xpcs_numpy import Problem, pairs, squared_correlation

PHI = (-20.0, 35.0, 80.0)
N_FRAME = 20
Q, DT, GAP, NOISE = 0.02, 0.1, 2e5, 0.02
CONTRAST, OFFSET = (0.3, 0.05), (1.0, 0.05)
ERRORS = 4  # of Monte Carlo, which the draws may be off: 40 comparisons fail once in 400 seeds

# Of each mode the truth, and priors of what is free.
CASES: dict[str, tuple[tuple[float, ...], dict[str, tuple[float, float]]]] = {
    "static_anisotropic": (
        (3000, -0.3, 100),
        {"D0": (2800, 300), "alpha": (-0.2, 0.1), "D_offset": (100, 100)},
    ),
    "laminar_flow": (
        (3000, -0.3, 100, 4e-3, -0.1, 1e-4, 3),
        {"gamma_dot_t0": (4.2e-3, 5e-4), "beta": (0, 0.2), "phi0": (2, 4)},
    ),
}


def log_density(sums: np.ndarray, n: int, noise: np.ndarray) -> np.ndarray:
    """One angle: sums 1, M, MM, y, My, yy of points [n_point]; noise [n_noise]."""
    s2 = noise**-2
    f, ff, y, fy, yy = (v[:, None] for v in sums)
    one, two = OFFSET[1] ** -2, CONTRAST[1] ** -2
    a, b, c = one + n * s2, f * s2, two + ff * s2
    right = one * OFFSET[0] + y * s2, two * CONTRAST[0] + fy * s2
    determinant = a * c - b * b
    best = (c * right[0] ** 2 - 2 * b * right[0] * right[1] + a * right[1] ** 2) / determinant
    found: np.ndarray = -n * np.log(noise) - 0.5 * np.log(determinant) - 0.5 * (yy * s2 - best)
    return found


def grid_weights(
    data: xpcs.Data, points: np.ndarray, log_noise: np.ndarray, case: str
) -> np.ndarray:
    """Shares of the posterior [n_point][n_noise], by a density per theta and log noise."""
    truth, prior = CASES[case]
    names = [p["name"] for p in xpcs.parameters(case)]
    problem = Problem(data.n_frame, DT, np.array(PHI), np.full(len(PHI), Q), GAP)
    i, j = pairs(data.n_frame)
    theta = np.tile(np.array(truth, float), (len(points), 1))
    theta[:, [names.index(name) for name in prior]] = points
    model = np.stack([squared_correlation(problem, t, i, j) for t in theta])
    noise = np.exp(log_noise)
    total = log_noise - 0.5 * (noise / (1.5 * NOISE)) ** 2
    for k, (mean, sd) in enumerate(prior.values()):
        total = total - 0.5 * ((points[:, k, None] - mean) / sd) ** 2
    for angle in range(len(PHI)):
        y, m = data.matrix(angle)[i, j], model[:, angle]
        ones = np.ones(len(points))
        sums = np.stack([m.sum(1), (m * m).sum(1), y.sum() * ones, m @ y, y @ y * ones])
        total = total + log_density(sums, len(y), noise)
    weight: np.ndarray = np.exp(total - total.max())
    weight /= weight.sum()
    return weight


@pytest.mark.parametrize("case", CASES)
def test_moments_and_quantiles_are_those_of_a_grid(case: Any) -> None:
    truth, prior = CASES[case]
    data = xpcs.simulate(
        truth,
        mode=case,
        phi=PHI,
        n_frame=N_FRAME + 1,
        q=Q,
        dt=DT,
        gap=GAP,
        sigma=NOISE,
        contrast=0.3,
        dtype="f64",
        seed=5,
    )
    names = [p["name"] for p in xpcs.parameters(case)]
    fixed = {name: value for name, value in zip(names, truth, strict=True) if name not in prior}
    options: dict[str, Any] = {"fixed": fixed} if fixed else {}
    drawn = xpcs.sample(
        data,
        mode=case,
        gap=GAP,
        fit={"n_start": 1, "start": dict(zip(names, truth, strict=True)), **options},
        prior={**prior, "contrast": CONTRAST, "offset": OFFSET},
        noise_scale=NOISE,
        n_draw=1500,
        surrogate="off",
    )
    flat = np.column_stack([*(drawn[name].ravel() for name in prior), np.log(drawn.noise.ravel())])
    mean = flat.mean(0)
    # Six tenths of a standard deviation apart, turned so that no parameter has few values.
    ends = np.linspace(-4.8, 4.8, 17)
    z = np.stack(np.meshgrid(ends, ends, ends, indexing="ij"), axis=-1).reshape(-1, 3)
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    root = np.linalg.cholesky(np.cov(flat[:, :3], rowvar=False)) @ turn
    points = mean[:3] + z @ root.T
    log_noise = mean[3] + flat[:, 3].std() * ends
    weight = grid_weights(data, points, log_noise, case)
    values = [*((points[:, k], weight.sum(1)) for k in range(3)), (log_noise, weight.sum(0))]
    for k, name in enumerate([*prior, "noise"]):
        x, share = values[k]
        exact = share @ x
        sd = np.sqrt(share @ (x - exact) ** 2)
        sizes = drawn.table[name]
        error = 1 / np.sqrt(min(sizes["ess_bulk"], flat.shape[0]))
        assert abs(flat[:, k].mean() - exact) < ERRORS * error * sd, name
        assert abs(flat[:, k].std() / sd - 1) < ERRORS * error, name  # by tails up to kurtosis 5
        if name == "noise":
            continue  # seventeen values make no quantiles
        for level in (0.05, 0.25, 0.5, 0.75, 0.95):
            below = share[x < np.quantile(flat[:, k], level)].sum()
            allowed = ERRORS * np.sqrt(level * (1 - level) / sizes["ess_tail"])
            assert abs(below - level) < allowed + 0.005, (name, level)  # steps of the grid
