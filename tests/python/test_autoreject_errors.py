"""Standard errors of thresholds against the spread of thresholds over fresh epochs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autoreject_data import sphere
from tessera.autoreject._epochs import Recording
from tessera.autoreject._fit import FitRequest, Settings, run_fit
from tessera.autoreject._sensors import sensors_from_arrays

N_EPOCH, N_TIME, N_DRAW = 80, 48, 160


def draws(kind: str) -> Any:
    """Make (n_epoch, n_draw, n_time): each channel holds fresh epochs of the same law."""
    rng = np.random.RandomState(11)
    time = np.arange(N_TIME) / N_TIME
    noise = rng.randn(N_EPOCH, N_DRAW, N_TIME + 30)
    for t in range(1, N_TIME + 30):
        noise[..., t] += 0.9 * noise[..., t - 1]
    x = 4e-6 * noise[..., 30:] + 5e-6 * np.sin(6 * np.pi * time)
    size = np.zeros((N_EPOCH, N_DRAW))
    if kind == "varied":
        x *= np.exp(0.3 * rng.randn(N_EPOCH, N_DRAW, 1))
    elif kind == "graded":
        size = 5e-5 * rng.gamma(2, 0.5, size.shape) * (rng.rand(*size.shape) < 0.3)
    elif kind == "gross":
        size = (1.5e-4 + 1e-4 * rng.rand(*size.shape)) * (rng.rand(*size.shape) < 0.15)
    return x + size[..., np.newaxis] * np.sin(np.pi * time)


def stated(x: Any, search: str, n_splits: int) -> tuple[Any, Any]:
    """Return thresholds and their standard errors, a seed for every few draws."""
    thresholds, errors = [], []
    for seed, part in enumerate(np.array_split(np.arange(N_DRAW), 8)):
        sensors = sensors_from_arrays(len(part), sphere(len(part)), "eeg", None, ())
        request = FitRequest(np.arange(len(part)), seed, augment=False, thresholds_only=True)
        settings = Settings(verbose=False, search=search, n_splits=n_splits)
        fits, _ = run_fit(Recording(sensors, x[:, part].copy()), request, settings)
        thresholds.append(fits[0].thresholds)
        errors.append(fits[0].standard_errors)
    return np.concatenate(thresholds), np.concatenate(errors)


@pytest.mark.parametrize("kind", ["flat", "varied", "graded", "gross"])
@pytest.mark.parametrize(("search", "n_splits"), [("compat", 10), ("exact", 10), ("exact", 60)])
def test_errors_are_those_over_fresh_epochs(kind: str, search: str, n_splits: int) -> None:
    """Within 30 %: the ratios go from 0.82 to 1.16."""
    thresholds, errors = stated(draws(kind), search, n_splits)
    ratio = np.sqrt(np.mean(errors**2)) / thresholds.std(ddof=1)
    assert 0.75 < ratio < 1.3


def test_one_split_says_nothing() -> None:
    _, errors = stated(draws("flat"), "exact", 1)
    assert np.isnan(errors).all()
