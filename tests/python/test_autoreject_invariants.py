"""What must not change the answer, and what must change it in a known way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autoreject_data import dirty, mne_epochs, sphere
from tessera.autoreject import AutoReject, compute_thresholds, fit_array

FIT: dict[str, Any] = {
    "n_interpolate": [1, 3],
    "consensus": [0.3, 0.6, 1.0],
    "cv": 4,
    "random_state": 5,
    "verbose": False,
    "search": "exact",
}
NAMES = [f"E{k}" for k in range(12)]


def _fit(x: Any, positions: Any = None, names: Any = None, **change: Any) -> AutoReject:
    places = sphere(12) if positions is None else positions
    return fit_array(x, places, ch_names=names or NAMES, **FIT | change)


@pytest.mark.parametrize("power", [-7, 3])
def test_scaling_by_a_power_of_two_scales_everything(power: int) -> None:
    x = dirty()
    scale = 2.0**power
    a, b = _fit(x), _fit(scale * x)
    assert {name: scale * v for name, v in a.threshes_.items()} == b.threshes_
    np.testing.assert_array_equal(scale * a.loss_["eeg"], b.loss_["eeg"])
    assert (a.consensus_, a.n_interpolate_) == (b.consensus_, b.n_interpolate_)


def test_channels_may_come_in_any_order() -> None:
    x = dirty()
    order = np.random.default_rng(1).permutation(12)
    a = _fit(x)
    b = _fit(x[:, order], sphere(12)[order], [NAMES[k] for k in order])
    for name in NAMES:
        assert b.threshes_[name] == pytest.approx(a.threshes_[name], rel=1e-9)
    np.testing.assert_allclose(a.loss_["eeg"], b.loss_["eeg"], rtol=1e-9)
    _, log_a = a.transform_array(x, return_log=True)
    _, log_b = b.transform_array(x[:, order], return_log=True)
    np.testing.assert_array_equal(log_a.labels[:, order], log_b.labels)
    np.testing.assert_array_equal(log_a.bad_epochs, log_b.bad_epochs)


def test_a_constant_changes_no_vote() -> None:
    x = dirty()
    ar = _fit(x)
    shifted = x.copy()
    shifted[:, 3] += 2.0**-12  # exact: samples are some 2**-17
    _, log = ar.transform_array(x, return_log=True)
    _, other = ar.transform_array(shifted, return_log=True)
    np.testing.assert_array_equal(log.labels > 0, other.labels > 0)


@pytest.mark.parametrize("search", ["compat", "grid", "exact"])
def test_threads_change_no_bit(search: str) -> None:
    x = dirty(60, 12, 90)
    a = _fit(x, search=search, n_jobs=1)
    for n_jobs in (2, 3):
        b = _fit(x, search=search, n_jobs=n_jobs)
        assert a.threshes_ == b.threshes_
        np.testing.assert_array_equal(a.loss_["eeg"], b.loss_["eeg"])
        np.testing.assert_array_equal(a.transform_array(x), b.transform_array(x))


def test_exact_search_is_never_worse() -> None:
    x = dirty(50, 12, 60, seed=11)
    exact = _fit(x)
    for name in NAMES:
        candidates, objective = exact.curves_[name]
        at = dict(zip(candidates.tolist(), objective.tolist(), strict=True))
        assert at[exact.threshes_[name]] == objective.min()
        for search in ("compat", "grid"):
            other = _fit(x, search=search)
            assert at[other.threshes_[name]] >= objective.min()


def test_identical_epochs_have_one_candidate() -> None:
    pytest.importorskip("mne")
    x = np.repeat(dirty()[:1], 20, axis=0)
    epochs = mne_epochs(x, None)  # and without augmentation no positions are needed
    for search in ("compat", "grid", "exact"):
        found = compute_thresholds(
            epochs, random_state=1, augment=False, verbose=False, search=search
        )
        np.testing.assert_array_equal(list(found.values()), np.ptp(x[0], axis=1))


def test_repairs_are_weighted_means() -> None:
    """Weights sum to one: what all channels share is predicted as it is."""
    x = np.broadcast_to(np.sin(np.arange(40) / 5), (30, 12, 40)) * 1e-5
    ar = _fit(dirty())
    log = ar.transform_array(dirty(), return_log=True)[1]
    log.bad_epochs[:] = False
    log.labels[:] = 0
    log.labels[4, [2, 7]] = 2
    cleaned = ar.transform_array(x, reject_log=log)
    np.testing.assert_allclose(cleaned, x, rtol=0, atol=1e-16)
