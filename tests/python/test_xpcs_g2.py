"""One-time correlations of two-time data."""

import numpy as np
import pytest

from tessera import xpcs


def test_g2_is_the_mean_along_the_diagonals() -> None:
    rng = np.random.default_rng(5)
    c2 = 1 + rng.normal(0, 0.1, (3, 30, 30))
    c2 = (c2 + c2.transpose(0, 2, 1)) / 2
    data = xpcs.Data.from_arrays(c2, [-10.0, 0.0, 10.0], 0.01, dt=0.5, keep_t0=True)
    found = xpcs.g2(data)
    assert found.g2.shape == found.error.shape == found.n_pair.shape == (3, 1, 29)
    assert np.allclose(found.tau, 0.5 * np.arange(1, 30))
    assert np.allclose(found.age, [0, 14.5])
    for angle in range(3):
        for lag in range(1, 29):
            values = np.diagonal(c2[angle], lag)
            assert found.n_pair[angle, 0, lag - 1] == 30 - lag
            assert found.g2[angle, 0, lag - 1] == pytest.approx(values.mean(), rel=1e-12)
            error = values.std(ddof=1) / np.sqrt(30 - lag)
            assert found.error[angle, 0, lag - 1] == pytest.approx(error, rel=1e-10)
    assert np.isnan(found.error[:, 0, 28]).all()  # one pair


def test_windows_share_all_pairs_and_bad_ones_are_refused() -> None:
    data = xpcs.simulate(mode="static_isotropic", n_angle=2, n_frame=40, dt=0.1, sigma=0.01)
    whole, parts = xpcs.g2(data), xpcs.g2(data, windows=4)
    assert parts.g2.shape == (2, 4, 38)
    assert np.array_equal(parts.n_pair.sum(axis=1), whole.n_pair[:, 0])
    sums = np.where(parts.n_pair > 0, parts.g2 * parts.n_pair, 0).sum(axis=1)
    assert np.allclose(sums / whole.n_pair[:, 0], whole.g2[:, 0], rtol=1e-12)
    with pytest.raises(ValueError, match="n_window"):
        xpcs.g2(data, windows=39)
    with pytest.raises(ValueError, match="per_level"):
        xpcs.g2(data, multi_tau=1)
