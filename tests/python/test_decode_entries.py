"""Entries of ``encoding_model_``: the original's names, and what they say of the model."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import tessera.decode as td
from decode_data import make_plane, make_spikes
from decode_matrix import ENVIRONMENTS, MODELS, Kind, Place, session
from helpers import Floats
from tessera import _core
from tessera.decode import likelihoods
from tessera.decode.likelihoods import _spline, sorted_spikes_glm
from tessera.decode.likelihoods.clusterless_gmm import predict_clusterless_gmm_log_likelihood
from tessera.decode.likelihoods.gmm import GaussianMixtureModel

pytestmark = pytest.mark.filterwarnings("ignore:.* lie on the absolute floor")

# The keywords of the original's predict_..._log_likelihood that its fit_... fills.
NAMES = {
    "clusterless_kde": {
        "occupancy", "occupancy_model", "gpi_models", "encoding_spike_waveform_features",
        "encoding_positions", "environment", "mean_rates", "summed_ground_process_intensity",
        "position_std", "waveform_std", "block_size", "disable_progress_bar",
    },
    "clusterless_gmm": {
        "environment", "occupancy_model", "interior_place_bin_centers", "log_occupancy",
        "gpi_models", "joint_models", "mean_rates", "summed_ground_process_intensity",
        "disable_progress_bar",
    },
    "sorted_spikes_kde": {
        "environment", "marginal_models", "occupancy_model", "occupancy", "mean_rates",
        "place_fields", "no_spike_part_log_likelihood", "is_track_interior",
        "disable_progress_bar",
    },
    "sorted_spikes_glm": {
        "environment", "coefficients", "emission_design_info", "place_fields",
        "no_spike_part_log_likelihood", "is_track_interior", "disable_progress_bar",
    },
}  # fmt: skip
FEW = {"gmm_components_occupancy": 5, "gmm_components_gpi": 3, "gmm_components_joint": 4}
COMBINATIONS = [
    pytest.param(ENVIRONMENTS[place], MODELS[model], id=f"{place}-{model}")
    for place in ENVIRONMENTS
    for model in MODELS
]


def same(a: Any, b: Any) -> bool:
    """Whether two entries say the same, bit by bit."""
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, GaussianMixtureModel):
        return all(
            np.array_equal(getattr(a, name), getattr(b, name))
            for name in ("weights_", "means_", "covariances_", "precisions_chol_")
        )
    if isinstance(a, np.ndarray | float | int):
        return bool(np.array_equal(a, b))
    return type(a) is type(b)


@pytest.mark.parametrize(("place", "kind"), COMBINATIONS)
def test_every_model_has_the_originals_names(place: Place, kind: Kind) -> None:
    data, model = session(place, kind), kind.build(place)
    model.fit(data.position_time, data.position, *data.spikes, **data.labels,
              **data.covariates(len(data.time)))  # fmt: skip
    copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)]
    for key, entries in model.encoding_model_.items():
        assert NAMES[entries.info["algorithm"]] <= set(entries)
        assert len(entries) == len(set(entries))
        for other in copies:
            theirs = other.encoding_model_[key]
            assert list(theirs) == list(entries)
            assert [name for name in entries if not same(entries[name], theirs[name])] == []
        with pytest.raises(KeyError):
            entries["no such entry"]


def mixture_log(model: GaussianMixtureModel, x: Floats) -> Floats:
    """Log density from weights, means and covariances alone."""
    weights, means, covariances = (
        np.asarray(each) for each in (model.weights_, model.means_, model.covariances_)
    )
    logs = []
    for weight, mean, covariance in zip(weights, means, covariances, strict=True):
        d = x - mean
        square = (d * np.linalg.solve(covariance, d.T).T).sum(axis=1)
        norm = np.linalg.slogdet(2 * np.pi * covariance)[1]
        logs.append(np.log(weight) - (square + norm) / 2)
    found: Floats = np.logaddexp.reduce(logs, axis=0)
    return found


@pytest.mark.parametrize("make", [lambda: make_spikes(2, duration=24.0), make_plane])
def test_mixtures_are_those_of_the_model(make: Any) -> None:
    spikes = make()
    silent = [*spikes.spike_times, np.zeros(0)]
    marks = [*spikes.features, np.zeros((0, spikes.features[0].shape[1]))]
    params = {**FEW, "gmm_tolerance": 1e-10, "gmm_iterations": 1000}
    model = td.ClusterlessDecoder(
        clusterless_algorithm="clusterless_gmm", clusterless_algorithm_params=params
    )
    with pytest.warns(UserWarning, match="no encoding spikes"):
        model.fit(spikes.time, spikes.position, silent, marks)
    (entries,) = model.encoding_model_.values()
    occupancy, centers = entries["occupancy_model"], entries["interior_place_bin_centers"]
    assert np.allclose(occupancy.score_samples(centers), entries["log_occupancy"], atol=1e-10)
    assert (occupancy.tol, occupancy.max_iter) == (1e-10, 1000)
    assert entries["gpi_models"][-1] is None
    assert entries["joint_models"][-1] is None
    ground = np.full(len(centers), 1e-15)
    found = (entries["gpi_models"], entries["joint_models"])
    for rate, gpi, joint in zip(entries["mean_rates"][:-1], found[0], found[1], strict=False):
        for each in (occupancy, gpi, joint):
            assert abs(each.weights_.sum() - 1) < 1e-12
            x = each.means_ + 1.0
            assert np.allclose(each.score_samples(x), mixture_log(each, x), atol=1e-9)
            assert np.allclose(each.predict_proba(x).sum(axis=1), 1)
        ground += rate * np.exp(mixture_log(gpi, centers) - mixture_log(occupancy, centers))
    assert np.allclose(entries["summed_ground_process_intensity"], ground, rtol=1e-9)
    # A step of EM by scikit-learn from there stays there: the samples are places, then marks.
    sklearn = pytest.importorskip("sklearn.mixture")
    joint = entries["joint_models"][0]
    where = np.asarray(_core.decode_encoding_info(entries.handle)["encoding_positions"][0])
    both = np.concatenate((where, spikes.features[0][: len(where)]), axis=1)
    step = sklearn.GaussianMixture(
        joint.n_components, reg_covar=joint.reg_covar, max_iter=1, weights_init=joint.weights_,
        means_init=joint.means_, precisions_init=np.linalg.inv(joint.covariances_),
    )  # fmt: skip
    with pytest.warns(match="did not converge"):
        step.fit(both)
    assert np.allclose(step.means_, joint.means_, rtol=1e-4)
    assert np.allclose(step.covariances_, joint.covariances_, rtol=1e-3, atol=1e-3)
    assert abs(step.lower_bound_ - joint.lower_bound_) < 1e-6


def test_a_likelihood_from_entries_is_that_of_the_model() -> None:
    spikes = make_spikes(n_feature=2)
    given = (spikes.time[:200], *spikes.fit_args())
    model = td.ClusterlessDecoder(
        clusterless_algorithm="clusterless_gmm", clusterless_algorithm_params=FEW
    )
    model.fit(*spikes.fit_args())
    (entries,) = model.encoding_model_.values()
    for is_local in (False, True):
        whole = predict_clusterless_gmm_log_likelihood(
            *given, encoding_model=entries, is_local=is_local
        )
        same_call = predict_clusterless_gmm_log_likelihood(*given, **entries, is_local=is_local)
        assert np.array_equal(same_call, whole)
        # Somebody's own mixture, equal to the model's: the formula, entry by entry. The floors of
        # both rules lie 34 nats down, and are not the same.
        own = {**entries, "occupancy_model": copy.copy(entries["occupancy_model"])}
        del own["occupancy_model"].fitted
        alone = predict_clusterless_gmm_log_likelihood(*given, **own, is_local=is_local)
        near = whole > -20
        assert near.mean() > 0.5
        assert np.allclose(alone[near], whole[near], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("make", [make_spikes, make_plane])
def test_coefficients_are_at_the_optimum(make: Any) -> None:
    spikes = make()
    times = [*spikes.spike_times, np.zeros(0)]
    params = {"emission_knot_spacing": 9.0, "l2_penalty": 1e-3}
    model = td.SortedSpikesDecoder(
        sorted_spikes_algorithm="sorted_spikes_glm", sorted_spikes_algorithm_params=params
    )
    with pytest.warns(UserWarning, match="no encoding spikes"):
        model.fit(spikes.time, spikes.position, times)
    (entries,) = model.encoding_model_.values()
    found, info = entries["coefficients"], entries["emission_design_info"]
    inside = entries["is_track_interior"]
    basis = sorted_spikes_glm.make_spline_predict_matrix(
        info, np.asarray(model.environments[0].place_bin_centers_)[inside]
    )
    fields = np.maximum(np.exp(found @ basis.T), 1e-15)
    assert np.allclose(entries["place_fields"][:, inside], fields, rtol=1e-9)
    assert found[-1, 0] == -np.inf  # never fires
    design = sorted_spikes_glm.make_spline_predict_matrix(info, spikes.position)
    assert np.abs(design[:, 1:].mean(axis=0)).max() < 1e-12  # centred over the samples
    for unit in range(len(times) - 1):
        here = np.asarray(_core.decode_encoding_info(entries.handle)["encoding_positions"][unit])
        counted = sorted_spikes_glm.make_spline_predict_matrix(info, here).sum(axis=0)
        slope = (design.T @ np.exp(design @ found[unit]) - counted) / len(design)
        slope[1:] += 2e-3 * found[unit, 1:]
        assert np.abs(slope).max() < 1e-8


@pytest.mark.parametrize("make", [make_spikes, make_plane])
def test_splines_are_patsys(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("patsy")
    spikes = make()
    model = td.SortedSpikesDecoder(sorted_spikes_algorithm="sorted_spikes_glm")
    model.fit(spikes.time, spikes.position, spikes.spike_times)
    (entries,) = model.encoding_model_.values()
    points = 3 * np.asarray(model.environments[0].place_bin_centers_) - 20  # outside, too
    theirs = sorted_spikes_glm.make_spline_predict_matrix(entries["emission_design_info"], points)
    monkeypatch.setitem(__import__("sys").modules, "patsy", None)
    (again,) = copy.deepcopy(model).encoding_model_.values()
    ours = again["emission_design_info"]
    assert isinstance(ours, _spline.SplineDesign)
    assert len(ours.column_names) == theirs.shape[1]
    assert np.allclose(sorted_spikes_glm.make_spline_predict_matrix(ours, points), theirs)
    assert np.array_equal(again["coefficients"], entries["coefficients"])


def test_places_of_arguments_before_there_were_weights() -> None:
    spikes = make_spikes()
    place = td.Environment(place_bin_size=4.0)
    place.fit_place_grid(spikes.position[:, np.newaxis])
    train = (spikes.time, spikes.position, spikes.spike_times)
    edges = (place.place_bin_edges_, place.edges_, place.is_track_interior_,
             place.is_track_boundary_)  # fmt: skip
    glm = likelihoods.fit_sorted_spikes_glm_encoding_model
    short: Any = glm(*train, place, *edges, 20.0, 1e-2)  # knots and penalty
    long: Any = glm(*train, place, *edges, emission_knot_spacing=20.0, l2_penalty=1e-2)
    assert np.array_equal(short["coefficients"], long["coefficients"])
    kde: Any = likelihoods.fit_sorted_spikes_kde_encoding_model
    short, long = kde(*train, place, 50, 8.0), kde(*train, place, None, 50, 8.0)
    assert np.array_equal(short["place_fields"], long["place_fields"])
    clusterless: Any = likelihoods.fit_clusterless_kde_encoding_model
    given = (*train, spikes.features, place, 50)
    short, long = clusterless(*given, 8.0, 30.0), clusterless(*given, None, 8.0, 30.0)
    assert short["waveform_std"] == long["waveform_std"] == 30.0
    assert np.array_equal(short["occupancy"], long["occupancy"])


def test_fitted_entries_can_be_copied() -> None:
    spikes = make_spikes()
    place = td.Environment(place_bin_size=4.0)
    place.fit_place_grid(spikes.position[:, np.newaxis])
    train = (spikes.time, spikes.position, spikes.spike_times)
    rows = spikes.time[:100]
    for fit, predict in (
        (likelihoods.fit_sorted_spikes_glm_encoding_model,
         likelihoods.predict_sorted_spikes_glm_log_likelihood),
        (likelihoods.fit_sorted_spikes_kde_encoding_model,
         likelihoods.predict_sorted_spikes_kde_log_likelihood),
    ):  # fmt: skip
        model: Any = fit(*train, place)
        want = predict(rows, *train, **model)
        for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            assert set(other) == set(model)
            assert np.array_equal(predict(rows, *train, **other), want)
        model["place_fields"] = 2 * model["place_fields"]  # somebody's own
        other = pickle.loads(pickle.dumps(model))
        assert np.array_equal(other["place_fields"], model["place_fields"])
        counts = sum(np.histogram(each, rows)[0].sum() for each in spikes.spike_times)
        for found in (predict(rows, *train, **other), predict(rows, *train, encoding_model=other)):
            assert np.allclose((found - want).sum(axis=0), np.log(2) * counts, atol=1e-2)
        with pytest.raises(ValueError, match="read-only"):
            model["is_track_interior"][0] = False
