"""Bounded least squares of any function of Python, and a search by an evolution strategy.

Fits of correlations run in the compiled library; these are for a user's own model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats

Residuals = Callable[[Floats], Floats]
_EPS = float(np.finfo(float).eps)


@dataclass
class Minimum:
    """Where a search ended."""

    x: Floats
    cost: float  # half the sum of squares
    jacobian: Floats
    residuals: Floats
    n_step: int
    n_call: int
    converged: bool
    message: str

    def covariance(self, absolute: bool) -> Floats:
        """Return the covariance; without absolute errors it is scaled by the residuals."""
        n_point, n_param = self.jacobian.shape
        found: Floats = np.asarray(np.linalg.pinv(self.jacobian.T @ self.jacobian), np.float64)
        spread = 2.0 * self.cost / max(n_point - n_param, 1)
        return found if absolute else found * spread


def _jacobian(function: Residuals, x: Floats, base: Floats, low: Floats, high: Floats) -> Floats:
    columns = []
    for place, value in enumerate(x):
        step = _EPS**0.5 * max(abs(value), 1e-3 * min(high[place] - low[place], 1.0), 1e-8)
        if value + step > high[place]:
            step = -step
        moved = x.copy()
        moved[place] += step
        columns.append((function(moved) - base) / step)
    return np.stack(columns, axis=1)


def minimise(
    function: Residuals,
    start: npt.ArrayLike,
    low: Floats,
    high: Floats,
    *,
    tolerance: float = 1e-10,
    most_steps: int = 200,
) -> Minimum:
    """Find a minimum by Levenberg and Marquardt's steps, projected onto the bounds."""
    x = np.clip(np.asarray(start, float), low, high)
    residuals = np.asarray(function(x), float)
    cost = 0.5 * float(residuals @ residuals)
    jacobian = _jacobian(function, x, residuals, low, high)
    damping, calls, message = 1e-3, 1 + len(x), "steps ran out"
    for step_count in range(1, most_steps + 1):
        gradient = jacobian.T @ residuals
        held = ((x <= low) & (gradient > 0)) | ((x >= high) & (gradient < 0))
        free = ~held
        scale = np.maximum(np.linalg.norm(jacobian, axis=0), 1e-30)
        if (
            not free.any()
            or np.max(np.abs(gradient[free] / scale[free])) <= tolerance * max(cost, 1e-300) ** 0.5
        ):
            return Minimum(x, cost, jacobian, residuals, step_count, calls, True, "gradient is 0")
        scaled = jacobian[:, free] / scale[free]
        normal, right = scaled.T @ scaled, -(gradient[free] / scale[free])
        for _ in range(30):
            move = np.linalg.solve(normal + damping * np.eye(len(right)), right) / scale[free]
            trial = x.copy()
            trial[free] += move
            trial = np.clip(trial, low, high)
            found = np.asarray(function(trial), float)
            calls += 1
            trial_cost = 0.5 * float(found @ found)
            if np.isfinite(trial_cost) and trial_cost < cost:
                break
            damping = max(damping, 1e-12) * 4.0
        else:
            return Minimum(
                x, cost, jacobian, residuals, step_count, calls, True, "no step is lower"
            )
        small = cost - trial_cost <= tolerance * cost
        near = np.linalg.norm(trial - x) <= tolerance * np.linalg.norm(x)
        x, cost, residuals, damping = trial, trial_cost, found, damping / 5.0
        jacobian = _jacobian(function, x, residuals, low, high)
        calls += len(x)
        if small or near:
            return Minimum(x, cost, jacobian, residuals, step_count, calls, True, "steps are 0")
    return Minimum(x, cost, jacobian, residuals, most_steps, calls, False, message)


@dataclass
class Search:
    """Where an evolution strategy ended."""

    x: Floats
    value: float
    generations: int
    evaluations: int
    restarts: int
    reason: str


class _Population:
    """Hansen's covariance matrix adaptation in the unit box, with his default constants."""

    def __init__(self, n: int, size: int) -> None:
        weights = np.log((size + 1) / 2) - np.log(np.arange(1, size // 2 + 1))
        self.weights = weights / weights.sum()
        self.n, self.size = n, size
        self.mass = 1.0 / np.sum(self.weights**2)
        self.c_sigma = (self.mass + 2) / (n + self.mass + 5)
        self.d_sigma = 1 + 2 * max(0.0, ((self.mass - 1) / (n + 1)) ** 0.5 - 1) + self.c_sigma
        self.c_path = (4 + self.mass / n) / (n + 4 + 2 * self.mass / n)
        self.c_one = 2 / ((n + 1.3) ** 2 + self.mass)
        self.c_mu = min(
            1 - self.c_one, 2 * (self.mass - 2 + 1 / self.mass) / ((n + 2) ** 2 + self.mass)
        )
        self.expected = n**0.5 * (1 - 1 / (4 * n) + 1 / (21 * n**2))
        self.matrix = np.eye(n)
        self.path, self.path_sigma = np.zeros(n), np.zeros(n)

    def draw(self, rng: np.random.Generator, mean: Floats, sigma: float) -> tuple[Floats, Floats]:
        values, axes = np.linalg.eigh(self.matrix)
        self.root = axes * np.sqrt(np.maximum(values, 1e-20))
        self.inverse = axes / np.sqrt(np.maximum(values, 1e-20)) @ axes.T
        steps = rng.standard_normal((self.size, self.n)) @ self.root.T
        return steps, mean + sigma * steps

    def learn(self, steps: Floats, generation: int) -> tuple[Floats, float]:
        """Take the best steps, the best first; return the mean step and the growth of sigma."""
        chosen = steps[: len(self.weights)]
        mean = self.weights @ chosen
        self.path_sigma = (1 - self.c_sigma) * self.path_sigma + (
            self.c_sigma * (2 - self.c_sigma) * self.mass
        ) ** 0.5 * self.inverse @ mean
        length = float(np.linalg.norm(self.path_sigma))
        steady = (
            length / (1 - (1 - self.c_sigma) ** (2 * generation)) ** 0.5
            < (1.4 + 2 / (self.n + 1)) * self.expected
        )
        self.path = (1 - self.c_path) * self.path + steady * (
            self.c_path * (2 - self.c_path) * self.mass
        ) ** 0.5 * mean
        self.matrix = (
            (1 - self.c_one - self.c_mu) * self.matrix
            + self.c_one * np.outer(self.path, self.path)
            + self.c_mu * (chosen.T * self.weights) @ chosen
        )
        return mean, float(np.exp(self.c_sigma / self.d_sigma * (length / self.expected - 1)))


def default_population(n: int) -> int:
    """Return how many points a generation has by default."""
    return int(4 + 3 * np.log(max(n, 1)))


def evolve(
    function: Callable[[Floats], float],
    start: npt.ArrayLike,
    low: Floats,
    high: Floats,
    *,
    sigma: float = 0.5,
    population: int | None = None,
    generations: int = 100,
    restarts: int = 0,
    tolerance: float = 1e-8,
    seed: int = 42,
) -> Search:
    """Search a box for the least value of a function; every restart doubles the population."""
    rng = np.random.default_rng(seed)
    width = np.where(high > low, high - low, 1.0)
    size = population or default_population(len(low))
    best = np.clip(np.asarray(start, float), low, high)
    least = float(function(best))
    made = calls = 0
    reason = "max_generations"
    for restart in range(restarts + 1):
        centre = (best - low) / width if restart == 0 else rng.random(len(low))
        people, spread = _Population(len(low), size * 2**restart), sigma
        past: list[float] = []
        for generation in range(1, generations + 1):
            steps, points = people.draw(rng, centre, spread)
            inside = np.clip(points, 0.0, 1.0)
            values = np.array([float(function(low + width * point)) for point in inside])
            made, calls = made + 1, calls + len(values)
            far = np.sum((points - inside) ** 2, axis=1)  # points outside count as worse
            finite = np.where(np.isfinite(values), values, np.inf)
            order = np.argsort(finite * (1 + far) + far)
            if finite[order[0]] < least:
                least, best = float(finite[order[0]]), low + width * inside[order[0]]
            move, growth = people.learn(steps[order], generation)
            centre = centre + spread * move
            spread = min(spread * growth, 1.0)
            past = [*past[-9:], float(finite[order[0]])]
            if len(past) == 10 and max(past) - min(past) <= tolerance * max(abs(least), 1e-300):
                reason = "tol_fun"
                break
            if spread < 1e-12:
                reason = "tol_x"
                break
        if reason in ("tol_fun", "tol_x") and restart == restarts:
            break
    return Search(best, least, made, calls, restarts, reason)


def as_residuals(
    model: Callable[..., Any], xdata: Any, ydata: npt.ArrayLike, sigma: Any
) -> Residuals:
    """Return the residuals of a model ``f(xdata, *params)``."""
    data = np.asarray(ydata, float).reshape(-1)
    weight = 1.0 if sigma is None else 1.0 / np.asarray(sigma, float)

    def residuals(params: Floats) -> Floats:
        found: Floats = (np.asarray(model(xdata, *params), float).reshape(-1) - data) * weight
        return found

    return residuals
