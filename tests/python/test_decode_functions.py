"""Likelihoods as functions: closed forms, brute force, and the library against NumPy."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from decode_data import Spikes, make_spikes
from tessera import decode as td
from tessera.decode import likelihoods
from tessera.decode._data import Floats
from tessera.decode.exceptions import ValidationError
from tessera.decode.likelihoods import (
    clusterless_gmm,
    clusterless_kde,
    clusterless_kde_log,
    common,
    gmm,
    sorted_spikes_glm,
    sorted_spikes_kde,
)

LOG_EPS = np.log(1e-15)


@pytest.fixture(scope="module")
def spikes() -> Spikes:
    return make_spikes()


@pytest.fixture(scope="module")
def place(spikes: Spikes) -> td.Environment:
    return td.Environment(place_bin_size=4.0).fit_place_grid(spikes.position)


def normal(x: Any, mean: Any, std: Any) -> Floats:
    u = (np.asarray(x) - np.asarray(mean)) / np.asarray(std)
    return np.asarray(np.exp(-0.5 * u**2) / (np.asarray(std) * np.sqrt(2 * np.pi)))


def test_kernel_densities() -> None:
    rng = np.random.default_rng(1)
    points, samples, weights = rng.normal(size=(7, 2)), rng.normal(size=(20, 2)), rng.random(20)
    std = np.array([0.5, 2.0])
    table = normal(points[None], samples[:, None], std).prod(axis=2)
    want = weights @ table / weights.sum()
    assert np.allclose(common.kde(points, samples, std, weights), want, rtol=1e-13)
    assert np.allclose(common.kde(points, samples, std), table.mean(axis=0), rtol=1e-13)
    assert np.allclose(common.log_kde(points, samples, std, weights), np.log(want), rtol=1e-12)
    for block in (0, 3, 100):
        assert np.allclose(common.block_kde(points, samples, std, block, weights), want)
        logs = common.block_log_kde(points, samples, std, block, weights)
        assert np.allclose(logs, np.log(want))
    model = common.KDEModel(std, block_size=4).fit(samples, weights)
    assert np.allclose(model.predict(points), want)
    assert np.allclose(model.predict_log(points), np.log(want))
    far = common.log_kde([[100.0]], [[0.0]], 1.0)
    assert far[0] == pytest.approx(-5000 - 0.5 * np.log(2 * np.pi))
    assert np.array_equal(common.kde(points, samples[:0], std), np.zeros(7))
    assert np.array_equal(common.kde(points, samples, std, np.zeros(20)), np.zeros(7))
    assert np.allclose(common.safe_divide([1.0, 2.0], [0.0, 4.0]), [1e-15, 0.5])
    assert np.allclose(common.safe_log([0.0, 1.0]), [LOG_EPS, 0.0])
    assert np.array_equal(common.as_std_array(np.float32(2), 3), [2.0, 2.0, 2.0])


def test_joint_intensity() -> None:
    rng = np.random.default_rng(2)
    marks, learned = rng.normal(size=(6, 3)), rng.normal(size=(15, 3))
    marks[0] = 90.0  # so far away that products are 0
    std, rate = np.array([1.0, 0.5, 2.0]), 0.3
    occupancy = rng.uniform(0.1, 1, 5)
    occupancy[2] = 0.0
    centers, places = rng.normal(size=(5, 1)), rng.normal(size=(15, 1))
    log_places = clusterless_kde_log.log_kde_distance(centers, places, [1.0])
    logs = log_places[:, None] + np.log(rate / 15)
    logs = (
        logs
        + (
            -0.5 * (((marks - learned[:, None]) / std) ** 2).sum(axis=2)
            - np.log(std * np.sqrt(2 * np.pi)).sum()
        )[..., None]
    )
    with np.errstate(divide="ignore"):
        want = np.logaddexp.reduce(logs, axis=0) - np.log(occupancy)
    want[:, 2] = -np.inf
    args = (marks, learned, std, occupancy, rate)
    found = clusterless_kde_log.estimate_log_joint_mark_intensity(*args, log_places)
    assert np.isneginf(found[:, 2]).all()
    keep = [0, 1, 3, 4]
    assert np.allclose(found[:, keep], want[:, keep], rtol=1e-12)
    assert want[0, 0] < -4000
    linear = clusterless_kde.estimate_log_joint_mark_intensity(*args, np.exp(log_places))
    assert np.allclose(linear[:, keep], want[:, keep], rtol=1e-12)
    plain = clusterless_kde_log.estimate_log_joint_mark_intensity(*args, log_places, use_gemm=False)
    assert np.allclose(plain[1:, keep], want[1:, keep], rtol=1e-10)
    for block in (
        clusterless_kde.block_estimate_log_joint_mark_intensity(*args, np.exp(log_places), 4),
        clusterless_kde_log.block_estimate_log_joint_mark_intensity(*args, log_places, 4),
    ):
        assert np.allclose(block, np.maximum(want, LOG_EPS))
    streamed = clusterless_kde_log.estimate_log_joint_mark_intensity(
        *args, None, True, None, 5, True, places, centers, [1.0]
    )
    assert np.allclose(streamed[:, keep], found[:, keep])
    with pytest.raises(ValidationError, match="enc_tile_size < n_encoding_spikes"):
        clusterless_kde_log.estimate_log_joint_mark_intensity(
            *args, None, True, None, 15, True, places, centers, [1.0]
        )


def test_sums_whose_products_underflow() -> None:
    # Each spike has the best mark or the best place, and of the other next to nothing.
    found = clusterless_kde_log.estimate_log_joint_mark_intensity(
        [[0.0]], [[0.0], [60.0]], [1.0], [1.0], 1.0, np.array([[-2000.0], [0.0]])
    )
    kernel = -0.5 * np.log(2 * np.pi) - np.log(2)
    assert found[0, 0] == pytest.approx(np.logaddexp(-2000, -1800) + kernel, rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("module", [clusterless_kde, clusterless_kde_log])
def test_entries_say_what_the_library_says(
    spikes: Spikes, place: td.Environment, module: Any, weighted: bool
) -> None:
    weights = np.linspace(0.1, 1, len(spikes.time)) if weighted else None
    fitted = module.fit_clusterless_kde_encoding_model(
        *spikes.fit_args(), place, weights=weights, position_std=6.0, mode="exact"
    )
    assert isinstance(fitted, dict)
    rows, where = spikes.time[100:160], (spikes.time, spikes.position)
    given = (spikes.spike_times, spikes.features)
    # A copy of an entry that is as large as this is no longer the library's: NumPy computes.
    ours = {**fitted, "encoding_positions": [np.array(e) for e in fitted["encoding_positions"]]}
    if weighted and module is clusterless_kde:
        ours["encoding_weights"] = [model.weights_ for model in fitted["gpi_models"]]
    elif weighted:
        return
    for local in (False, True):
        want = module.predict_clusterless_kde_log_likelihood(
            rows, *where, *given, is_local=local, **fitted
        )
        got = module.predict_clusterless_kde_log_likelihood(
            rows, *where, *given, is_local=local, **ours
        )
        assert np.allclose(got, want, atol=1e-9)
        same = module.predict_clusterless_kde_log_likelihood(
            rows, *where, *given, is_local=local, encoding_model=fitted
        )
        assert np.array_equal(same, want)
    changed = {**fitted, "mean_rates": 2 * fitted["mean_rates"]}
    twice = module.predict_clusterless_kde_log_likelihood(rows, *where, *given, **changed)
    assert not np.allclose(twice, want)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again["occupancy"], fitted["occupancy"])
    with pytest.raises(TypeError, match="missing 'occupancy'"):
        module.predict_clusterless_kde_log_likelihood(rows, *where, *given)
    with pytest.raises(ValidationError, match="population lengths do not match"):
        module.predict_clusterless_kde_log_likelihood(
            rows, *where, given[0][:1], given[1][:1], **ours
        )


def test_sorted_entries(spikes: Spikes, place: td.Environment) -> None:
    weights = np.linspace(0.1, 1, len(spikes.time))
    train = (spikes.time, spikes.position, spikes.spike_times)
    fitted = sorted_spikes_kde.fit_sorted_spikes_kde_encoding_model(*train, place, weights)
    rows, where = spikes.time[100:160], (spikes.time, spikes.position)
    ours = {**fitted, "place_fields": np.array(fitted["place_fields"]) + 0.0}
    ours["occupancy_model"] = pickle.loads(pickle.dumps(ours["occupancy_model"]))
    ours["occupancy_model"].fitted = None
    for local in (False, True):
        want, got = (
            sorted_spikes_kde.predict_sorted_spikes_kde_log_likelihood(
                rows, *where, spikes.spike_times, is_local=local, **each
            )
            for each in (fitted, ours)
        )
        assert np.allclose(got, want, atol=1e-4)
    rate = fitted["mean_rates"][0] * fitted["marginal_models"][0].predict(place.place_bin_centers_)
    rate /= fitted["occupancy_model"].predict(place.place_bin_centers_)
    inside = fitted["is_track_interior"]
    assert np.allclose(fitted["place_fields"][0][inside], rate[inside], rtol=1e-9)


def test_regression(spikes: Spikes, place: td.Environment) -> None:
    rng = np.random.default_rng(4)
    design = np.column_stack([np.ones(80), rng.normal(size=(80, 2))])
    counts, weights = rng.poisson(2.0, 80), rng.random(80)
    found = sorted_spikes_glm.fit_poisson_regression(design, counts, weights, 1e-2)
    slope = design.T @ (weights * (np.exp(design @ found) - counts)) / 80
    slope[1:] += 2e-2 * found[1:]
    assert np.abs(slope).max() < 1e-9
    silent = sorted_spikes_glm.fit_poisson_regression(design, np.zeros(80), weights)
    assert np.exp(design @ silent).max() < 1e-6
    train = (spikes.time, spikes.position, spikes.spike_times)
    fitted = sorted_spikes_glm.fit_sorted_spikes_glm_encoding_model(
        *train, place, place_bin_edges=np.linspace(0, 100, 26)[:, None], emission_knot_spacing=15.0
    )
    basis = sorted_spikes_glm.make_spline_predict_matrix(
        fitted["emission_design_info"], place.place_bin_centers_
    )
    inside = fitted["is_track_interior"]
    fields = np.exp(fitted["coefficients"] @ basis.T)
    assert np.allclose(fitted["place_fields"][:, inside], fields[:, inside])
    rows = spikes.time[100:160]
    where = (spikes.time, spikes.position, spikes.spike_times)
    whole = sorted_spikes_glm.predict_sorted_spikes_glm_log_likelihood(rows, *where, **fitted)
    counts = np.stack([common.get_spikecount_per_time_bin(s, rows) for s in spikes.spike_times])
    want = counts.T @ np.log(fields[:, inside]) - fields[:, inside].sum(axis=0)
    assert np.allclose(whole, want)
    here = sorted_spikes_glm.make_spline_predict_matrix(
        fitted["emission_design_info"], spikes.position[100:160]
    )
    rates = np.exp(fitted["coefficients"] @ here.T)
    local = sorted_spikes_glm.predict_sorted_spikes_glm_log_likelihood(
        rows, *where, is_local=True, **fitted
    )
    assert np.allclose(local[:, 0], (counts * np.log(rates) - rates).sum(axis=0))
    lost = sorted_spikes_glm.make_spline_predict_matrix(fitted["emission_design_info"], [[np.nan]])
    assert np.isnan(lost).all()


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_mixtures_are_those_of_scikit_learn(kind: str) -> None:
    mixture = pytest.importorskip("sklearn.mixture")
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.normal(c, 0.7, (80, 2)) for c in ((0, 0), (4, 4), (0, 5))])
    ours = gmm.GaussianMixtureModel(3, kind, tol=1e-9, max_iter=500, random_state=0).fit(x)
    theirs = mixture.GaussianMixture(3, covariance_type=kind, tol=1e-9, max_iter=500)
    theirs.set_params(random_state=0).fit(x)
    assert ours.means_ is not None
    order = [np.argsort(m[:, 0] + 10 * m[:, 1]) for m in (ours.means_, theirs.means_)]
    assert np.allclose(ours.means_[order[0]], theirs.means_[order[1]], atol=1e-4)
    assert np.allclose(ours.score_samples(x), theirs.score_samples(x), atol=1e-4)
    proba = ours.predict_proba(x)
    assert np.allclose(proba.sum(axis=1), 1)
    assert np.array_equal(ours.predict(x), proba.argmax(axis=1))


def test_mixtures_with_weights_and_errors() -> None:
    rng = np.random.default_rng(6)
    x, weights = rng.normal(size=(50, 2)), rng.random(50)
    model = gmm.GaussianMixtureModel(1, reg_covar=0.0).fit(x, sample_weight=weights)
    assert model.means_ is not None
    assert model.covariances_ is not None
    mean = weights @ x / weights.sum()
    assert np.allclose(model.means_[0], mean)
    want = (x - mean).T @ ((x - mean) * weights[:, None]) / weights.sum()
    assert np.allclose(model.covariances_[0], want)
    repeated = np.repeat(x, 2, axis=0)
    twice = gmm.GaussianMixtureModel(2, random_state=1, n_init=3, tol=1e-8, max_iter=500)
    assert twice.fit(repeated).lower_bound_ is not None
    with pytest.raises(RuntimeError, match="reg_covar"):
        gmm.GaussianMixtureModel(1, reg_covar=0.0).fit(np.ones((9, 2)))
    with pytest.raises(RuntimeError, match="not fitted"):
        gmm.GaussianMixtureModel(2).score_samples(x)
    for bad in ({"n_components": 0}, {"tol": -1.0}, {"covariance_type": "round"}, {"n_init": 0}):
        with pytest.raises(ValidationError):
            gmm.GaussianMixtureModel(**{"n_components": 2, **bad})  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match="sums to 0"):
        gmm.GaussianMixtureModel(2).fit(x, sample_weight=np.zeros(50))


def test_clusterless_mixtures_of_one_component(spikes: Spikes, place: td.Environment) -> None:
    one: dict[str, Any] = {f"gmm_components_{name}": 1 for name in ("occupancy", "gpi", "joint")}
    train = spikes.fit_args()
    fitted = clusterless_gmm.fit_clusterless_gmm_encoding_model(*train, place, **one)

    def density(points: Floats, samples: Floats) -> Floats:
        d = points - samples.mean(axis=0)
        cov = np.cov(samples.T, bias=True).reshape(d.shape[1], -1) + 1e-6 * np.eye(d.shape[1])
        quad = np.einsum("ni,ij,nj->n", d, np.linalg.inv(cov), d)
        return np.asarray(np.exp(-0.5 * quad) / np.sqrt(np.linalg.det(2 * np.pi * cov)))

    time, position = spikes.time, spikes.position.reshape(len(spikes.time), -1)
    centers = place.place_bin_centers_[place.is_track_interior_.ravel()]
    rows = time[100:140]
    want = np.zeros((len(rows), len(centers)))
    local = np.zeros(len(rows))
    for times, marks in zip(spikes.spike_times, spikes.features, strict=True):
        kept = (times >= time[0]) & (times <= time[-1])
        there = np.interp(times[kept], time, position[:, 0])[:, None]
        rate = kept.sum() / len(time)
        both = np.concatenate((there, marks[kept]), axis=1)
        ratio = density(centers, there) / density(centers, position)
        want -= rate * ratio
        here = position[100:140]
        local -= rate * density(here, there) / density(here, position)
        inside = (times >= rows[0]) & (times <= rows[-1])
        for when, mark in zip(times[inside], marks[inside], strict=True):
            row = np.digitize(when, rows[1:-1])
            joint = density(np.column_stack((centers, np.tile(mark, (len(centers), 1)))), both)
            joint = np.maximum(joint, common.EPS)
            want[row] += np.log(rate * joint / density(centers, position))
            spot = np.interp([when], time, position[:, 0])[:, None]
            joint = np.maximum(density(np.column_stack((spot, mark[None])), both), common.EPS)
            local[row] += np.log(rate * joint / density(spot, position))[0]
    given = (rows, time, position, spikes.spike_times, spikes.features)
    found = clusterless_gmm.predict_clusterless_gmm_log_likelihood(*given, **fitted)
    assert np.allclose(found, want, rtol=1e-6, atol=1e-6)
    found = clusterless_gmm.predict_clusterless_gmm_log_likelihood(
        *given, is_local=True, encoding_model=fitted
    )
    assert np.allclose(found[:, 0], local, rtol=1e-6, atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*decode.floor")
def test_models_entries_call_the_library(spikes: Spikes) -> None:
    algorithms: dict[str, Any] = dict(likelihoods._CLUSTERLESS_ALGORITHMS)
    for algorithm, (_, predict) in algorithms.items():
        model = td.ClusterlessDecoder(clusterless_algorithm=algorithm).fit(*spikes.fit_args())
        ((_, encoding),) = model.encoding_model_.items()
        rows = spikes.time[:40]
        found = predict(rows, None, None, spikes.spike_times, spikes.features, **encoding)
        want = model.compute_log_likelihood(rows, None, None, spikes.spike_times, spikes.features)
        assert np.allclose(found, want, atol=1e-4), algorithm


def test_features_that_are_not_finite(place: td.Environment, spikes: Spikes) -> None:
    time, position, times, features = spikes.fit_args()
    bad = [features[0].copy(), *features[1:]]
    bad[0][3, 0] = np.nan
    with pytest.raises(ValidationError, match=r"spike_waveform_features\[0\]"):
        clusterless_kde.fit_clusterless_kde_encoding_model(time, position, times, bad, place)
    late = [np.append(times[0], time[-1] + 5.0), *times[1:]]
    marks = [np.vstack([features[0], np.full(features[0].shape[1], np.nan)]), *features[1:]]
    fitted = clusterless_kde.fit_clusterless_kde_encoding_model(time, position, late, marks, place)
    assert np.isfinite(fitted["encoding_spike_waveform_features"][0]).all()
    with pytest.raises(ValueError, match="has no bins yet"):
        clusterless_kde.fit_clusterless_kde_encoding_model(
            time, position, times, features, td.Environment()
        )


def test_mixtures_bound_what_one_mark_weighs(spikes: Spikes, place: td.Environment) -> None:
    one: dict[str, Any] = {f"gmm_components_{name}": 1 for name in ("occupancy", "gpi", "joint")}
    train = spikes.fit_args()
    fitted = clusterless_gmm.fit_clusterless_gmm_encoding_model(*train, place, **one)
    n = len(spikes.spike_times)
    when = [spikes.time[100:101]] + [np.zeros(0)] * (n - 1)
    far = [np.full((len(t), spikes.features[0].shape[1]), 1e6) for t in when]
    found = clusterless_gmm.predict_clusterless_gmm_log_likelihood(
        spikes.time[100:103], spikes.time, spikes.position, when, far, **fitted
    )
    event = found[0] + fitted["summed_ground_process_intensity"]
    want = LOG_EPS + np.log(fitted["mean_rates"][0]) - fitted["log_occupancy"]
    assert np.allclose(event, want, rtol=1e-12)


def test_mixtures_without_weight(spikes: Spikes, place: td.Environment) -> None:
    train = spikes.fit_args()
    few: dict[str, Any] = {f"gmm_components_{name}": 2 for name in ("occupancy", "gpi", "joint")}
    with pytest.warns(UserWarning, match="weights sum to 0"):
        fitted = clusterless_gmm.fit_clusterless_gmm_encoding_model(
            *train, place, weights=np.zeros(len(spikes.time)), **few
        )
    assert np.array_equal(fitted["mean_rates"], np.zeros(len(spikes.spike_times)))
    plain = clusterless_gmm.fit_clusterless_gmm_encoding_model(*train, place, **few)
    assert np.allclose(fitted["log_occupancy"], plain["log_occupancy"], rtol=1e-9)


def test_mixtures_stay_finite_where_the_animal_never_was() -> None:
    # The animal stays at the ends of a long line; one Gaussian through all spikes spans it.
    time = np.arange(400) * 0.02
    position = np.where(np.arange(400) < 200, 5.0, 95.0) + 1.5 * np.sin(np.arange(400))
    place = td.Environment(place_bin_size=10.0, position_range=((0.0, 100.0),))
    place.fit_place_grid(position[:, None], infer_track_interior=False)
    spikes, marks = [time[::40]], [np.arange(10.0)[:, None]]
    one: dict[str, Any] = {f"gmm_components_{name}": 1 for name in ("gpi", "joint")}
    fitted = clusterless_gmm.fit_clusterless_gmm_encoding_model(
        time, position, spikes, marks, place, gmm_components_occupancy=2, **one
    )
    ground = fitted["summed_ground_process_intensity"]
    never = fitted["log_occupancy"] < np.log(np.finfo(np.float32).tiny)
    assert 0 < never.sum() < len(never)
    assert np.array_equal(ground[never], np.full(never.sum(), common.EPS))
    assert ground.max() > 1e6  # the ratio of two tails, beside the places it was at
    assert np.isfinite(ground.astype(np.float32)).all()
    for is_local in (False, True):
        found = clusterless_gmm.predict_clusterless_gmm_log_likelihood(
            time, time, position, spikes, marks, is_local=is_local, **fitted
        )
        assert np.isfinite(found.astype(np.float32)).all()
