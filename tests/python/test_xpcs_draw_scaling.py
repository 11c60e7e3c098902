"""What is sampled of contrast and offset, and what a configuration says of sampling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessera import ArgumentError, ConfigError, xpcs

STATIC: dict[str, Any] = {"mode": "static_anisotropic"}
FEW: dict[str, Any] = {"n_warmup": 60, "n_draw": 40, "n_chain": 2, "surrogate": "off"}


@pytest.fixture(scope="module")
def data() -> xpcs.Data:
    return xpcs.simulate(
        n_angle=3, n_frame=14, dt=0.1, sigma=0.02, seed=3, contrast=[0.2, 0.3, 0.4], **STATIC
    )


@pytest.fixture(scope="module")
def fitted(data: xpcs.Data) -> xpcs.Result:
    return xpcs.fit(data, sigma_mode="estimate", **STATIC)


def log_prior(drawn: xpcs.Posterior, theta: np.ndarray, noise: float) -> float:
    wide = np.array([[1e4, 1e5], [0, 2], [0, 1e4]])
    z = (theta - wide[:, 0]) / wide[:, 1]
    return float(-0.5 * (z**2).sum() - 0.5 * (noise / (1.5 * drawn.facts["noise_scale"])) ** 2)


def log_likelihood(
    data: xpcs.Data, theta: np.ndarray, noise: float, held: np.ndarray | None
) -> float:
    """One pair for all angles, by the full covariance of the points; or known pairs."""
    c2 = xpcs.model(
        theta, data.n_frame, data.phi, data.q, contrast=1, offset=0, dt=data.dt, **STATIC
    )
    upper = np.triu_indices(data.n_frame, 1)
    y = np.concatenate([data.matrix(a)[upper] for a in range(data.n_angle)])
    f = np.concatenate([c2[a][upper] for a in range(data.n_angle)])
    if held is None:
        mean = 1 + 0.5 * f
        covariance = noise**2 * np.eye(len(y)) + 0.25**2 * (1 + np.outer(f, f))
    else:
        contrast, offset = np.repeat(held, len(upper[0]), axis=1)
        mean, covariance = offset + contrast * f, noise**2 * np.eye(len(y))
    left = y - mean
    return float(
        -0.5 * np.linalg.slogdet(covariance)[1] - 0.5 * left @ np.linalg.solve(covariance, left)
    )


@pytest.mark.parametrize("scaling", ["averaged", "constant", "constant_averaged"])
def test_density_is_that_of_dense_matrices(
    data: xpcs.Data, fitted: xpcs.Result, scaling: Any
) -> None:
    drawn = xpcs.sample(fitted, scaling=scaling, **FEW)
    held = None
    if scaling != "averaged":
        held = np.array([drawn.contrast[0, 0], drawn.offset[0, 0]])
        by_angle = xpcs.fit(data, sigma_mode="estimate", scaling=scaling, **STATIC)
        np.testing.assert_allclose(held, [by_angle.contrast, by_angle.offset], rtol=1e-12)
        assert drawn.contrast.std(axis=(0, 1)).max() == 0
    else:
        assert np.ptp(drawn.contrast, axis=2).max() == 0
        assert drawn.contrast.std() > 0
    exact, got = [], []
    for chain, i in ((0, 0), (0, 20), (1, 39), (1, 5)):
        theta, noise = drawn.theta[chain, i], drawn.noise[chain, i]
        exact.append(
            log_likelihood(data, theta, noise, held) + log_prior(drawn, theta, float(noise))
        )
        got.append(drawn.log_density[chain, i])
    # But for constants: the priors' norms.
    np.testing.assert_allclose(np.diff(got), np.diff(exact), rtol=1e-7, atol=1e-6)


def test_draws_follow_the_fit(data: xpcs.Data, fitted: xpcs.Result) -> None:
    averaged = xpcs.fit(data, sigma_mode="estimate", scaling="averaged", **STATIC)
    assert xpcs.sample(averaged, **FEW).facts["scaling"] == "averaged"
    assert xpcs.sample(averaged, scaling="individual", **FEW).facts["scaling"] == "individual"
    assert xpcs.sample(fitted, scaling="auto", **FEW).facts["scaling"] == "averaged"
    # One pair for all angles is what the mode means.
    isotropic = xpcs.fit(data, sigma_mode="estimate", mode="static_isotropic")
    assert xpcs.sample(isotropic, **FEW).facts["scaling"] == "averaged"
    series = xpcs.fit(data, sigma_mode="estimate", scaling="fourier", fourier_order=1, **STATIC)
    with pytest.raises(ConfigError, match="individual, averaged or constant"):
        xpcs.sample(series, **FEW)


@pytest.mark.parametrize("scaling", ["averaged", "constant"])
def test_consensus_of_every_scaling(fitted: xpcs.Result, scaling: Any) -> None:
    options: dict[str, Any] = {"n_warmup": 150, "n_draw": 300, "n_chain": 2, "scaling": scaling}
    loose: dict[str, Any] = {"min_ess": 20.0, "max_rhat": 1.5}
    whole = xpcs.sample(fitted, **options)
    parts = xpcs.sample(fitted, method="consensus", n_shard=2, **loose, **options)
    assert (parts.facts["method"], parts.facts["n_shard"]) == ("consensus", 2)
    assert abs(parts["D0"].mean() - whole["D0"].mean()) < whole["D0"].std()
    assert np.isfinite(parts.contrast).all()
    by_points = xpcs.sample(fitted, method="consensus", shard_points=120, **loose, **options)
    assert by_points.facts["n_shard"] == -(-fitted.n_used // 120)
    mistakes: list[dict[str, Any]] = [
        {"n_shard": 3},
        {"n_shard": 3, "shard": 1, "method": "consensus"},
    ]
    for words in mistakes:
        with pytest.raises(ConfigError, match="shard"):
            xpcs.sample(fitted, **options, **words)


def test_a_configuration_is_heard(data: xpcs.Data, tmp_path: Path) -> None:
    mcmc = {"num_warmup": 61, "num_samples": 33, "num_chains": 3, "target_accept_prob": 0.9}
    config: dict[str, Any] = {
        "analysis_mode": "static_anisotropic",
        "parameter_space": {
            "bounds": [
                {"name": "alpha", "min": -3, "max": 3, "prior_mu": -1.0, "prior_sigma": 0.001}
            ]
        },
        "model": {"sigma": {"mode": "estimate"}},
        "optimization": {
            "mcmc": {**mcmc, "surrogate": "off", "seed": 5},
            "cmc": {"per_angle_mode": "constant"},
        },
    }
    found = xpcs.sample(data, config)
    assert found.theta.shape == (3, 33, 3)
    assert found.facts["n_warmup"] == 61
    assert found.facts["target_accept"] == 0.9
    assert found.facts["scaling"] == "constant"
    assert abs(found["alpha"].mean() + 1) < 0.01
    # What is said in the call wins.
    other = xpcs.sample(
        data, config, n_draw=20, scaling="individual", prior={"alpha": (-1.2, 0.001)}
    )
    assert other.theta.shape == (3, 20, 3)
    assert other.facts["scaling"] == "individual"
    assert abs(other["alpha"].mean() + 1.2) < 0.01
    config["optimization"]["cmc"] = {
        "sharding": {"num_shards": 2, "strategy": "stratified"},
        "validation": {"min_per_shard_ess": 1, "max_per_shard_rhat": 9},
    }
    cut = xpcs.sample(data, config)
    assert (cut.facts["method"], cut.facts["n_shard"]) == ("consensus", 2)
    config["optimization"]["cmc"]["enable"] = False
    assert xpcs.sample(data, config).facts["method"] == "nuts"


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({"per_angle_mode": "fourier"}, "per_angle_mode.*individual"),
        ({"combination": {"method": "simple_average"}}, "combination.method.*consensus_mc"),
        ({"validation": {"max_parameter_cv": 2.0}}, "max_parameter_cv.*max_shard_distance"),
        ({"validation": {"max_per_shard_rhat": 0.5}}, "max_per_shard_rhat"),
    ],
)
def test_what_cannot_be_had_is_refused(section: dict[str, Any], words: str) -> None:
    config = {"analysis_mode": "static_anisotropic", "optimization": {"cmc": section}}
    with pytest.raises(ConfigError, match=words):
        xpcs.Settings(config)


def test_the_originals_call_is_refused_with_a_remedy() -> None:
    from tessera.xpcs.optimization.cmc import _native
    from tessera.xpcs.optimization.cmc.config import CMCConfig

    assert _native._shards(CMCConfig()) == {}
    assert _native._shards(CMCConfig(num_shards=4, enable=False)) == {}
    assert _native._shards(CMCConfig(max_points_per_shard=5000))["shard_points"] == 5000
    found = _native._shards(CMCConfig(num_shards=4, min_ess=50.0, prior_tempering=False))
    assert (found["n_shard"], found["min_ess"], found["temper"]) == (4, 50.0, 1.0)
    mistakes: list[dict[str, Any]] = [
        {"combination_method": "simple_average"},
        {"max_parameter_cv": 0.5},
    ]
    for wrong in mistakes:
        with pytest.raises(ArgumentError, match=r"consensus_mc|heterogeneity_abort"):
            _native._shards(CMCConfig(num_shards=4, **wrong))
