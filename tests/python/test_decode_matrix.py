"""Every model on every kind of environment, method by method, against plain NumPy.

Likelihood columns, movement and initial conditions are the model's own public ones; what becomes of
them (filter, smoother, path, estimate, layout among all bins, files) is worked out again here by
the formulas. Tables: decode_matrix.py.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera.decode as td
from decode_matrix import ENVIRONMENTS, MODELS, N_SAMPLE, N_TIME, Kind, Place, Session, session
from decode_numpy import filter_rows, smooth_rows
from helpers import Floats

TOLERANCE = 1e-9
ALPHA_LOW = 1e-10  # smallest value of the prior of a transition
PREDICTED_LOW = 1e-8  # a less likely state tells nothing about transitions
pytestmark = pytest.mark.filterwarnings("ignore:.* lie on the absolute floor")
COPIED = ("decoder", "no-spike", "non-local-bins", "gmm", "own", "covariates",
          "sorted-non-local", "sorted-environments", "sorted-glm")  # fmt: skip
COMBINATIONS = [
    pytest.param(ENVIRONMENTS[place], MODELS[model], id=f"{place}-{model}")
    for place in ENVIRONMENTS
    for model in MODELS
]


def fitted(place: Place, kind: Kind, **settings: Any) -> tuple[Any, Session]:
    data = session(place, kind)
    model = kind.build(place)
    model.fit(
        data.position_time,
        data.position,
        *data.spikes,
        **data.labels,
        **data.covariates(N_TIME),
        **settings,
    )
    return model, data


def predict(model: Any, data: Session, **settings: Any) -> Any:
    return model.predict(
        *data.spikes, data.time, **data.where, **data.covariates(N_TIME), **settings
    )


def rows(results: Any, name: str) -> Floats:
    """A variable with both of its axes, which results of one state lack."""
    return np.asarray(results[name]).reshape(N_TIME, -1)


def parts(model: Any, data: Session, is_missing: Any = None) -> tuple[Floats, Floats, Floats]:
    """Initial conditions, movement and likelihood over the interior bins."""
    inner = model.is_track_interior_state_bins_
    ll = model.compute_log_likelihood(
        data.time, data.position_time, data.position, *data.spikes, is_missing
    )
    moves = model.continuous_state_transitions_[np.ix_(inner, inner)]
    return model.initial_conditions_[inner], moves, ll


def by_state(model: Any, inner_rows: Floats) -> Floats:
    states = model.state_ind_[model.is_track_interior_state_bins_]
    return np.stack(
        [inner_rows[:, states == s].sum(axis=1) for s in range(len(model.state_names))], axis=1
    )


def step(
    model: Any, initial: Floats, moves: Floats, ll: Floats, discrete: Floats
) -> dict[str, Any]:
    """Filter and smoother with one matrix of discrete transitions."""
    states = model.state_ind_[model.is_track_interior_state_bins_]
    matrix = moves * discrete[np.ix_(states, states)]
    filtered, predicted, evidence = filter_rows(initial, matrix, ll)
    return {
        "causal": filtered,
        "predictive": predicted,
        "acausal": smooth_rows(matrix, filtered, predicted),
        "evidence": evidence,
        "matrix": matrix,
    }


def next_transition(model: Any, found: dict[str, Any], discrete: Floats) -> Floats:
    causal, acausal, predictive = (
        by_state(model, found[name]) for name in ("causal", "acausal", "predictive")
    )
    ratio = np.divide(
        acausal[1:],
        predictive[1:],
        out=np.zeros_like(acausal[1:]),
        where=predictive[1:] > PREDICTED_LOW,
    )
    counts = discrete * (causal[:-1].T @ ratio)
    n = len(discrete)
    prior = model.discrete_transition_concentration + np.diag(
        np.broadcast_to(model.discrete_transition_stickiness, (n,))
    )
    raw = counts + np.maximum(prior, ALPHA_LOW) - 1
    new: Floats = raw / raw.sum(axis=1, keepdims=True)
    frozen = list(model.frozen_discrete_transition_rows or ())
    new[frozen] = discrete[frozen]
    return new


def is_stationary(kind: Kind) -> bool:
    return kind is not MODELS["covariates"]


def masks() -> tuple[Any, Any]:
    """Rows without information, and samples that are not learned from."""
    is_missing = np.arange(N_TIME) % 7 == 3
    is_missing[40:50] = True
    is_training = np.arange(N_SAMPLE) % 50 < 44
    return is_missing, is_training


@pytest.mark.parametrize(("place", "kind"), COMBINATIONS)
def test_predict(place: Place, kind: Kind) -> None:
    model, data = fitted(place, kind)
    results = predict(model, data, return_outputs="all")
    inner = model.is_track_interior_state_bins_
    posterior = rows(results, "acausal_posterior")
    assert posterior.dtype == np.float64
    assert posterior.shape == (N_TIME, len(inner))
    assert np.array_equal(np.isnan(posterior), np.broadcast_to(~inner, posterior.shape))
    probability = rows(results, "acausal_state_probabilities")
    assert np.allclose(probability, by_state(model, posterior[:, inner]), atol=1e-12)
    assert np.allclose(probability.sum(axis=1), 1, atol=1e-9)

    ll = rows(results, "log_likelihood")[:, inner]
    initial, moves, public_ll = parts(model, data)
    assert np.array_equal(ll, public_ll)
    if is_stationary(kind):
        want = step(model, initial, moves, ll, model.discrete_state_transitions_)
        for name in ("acausal", "causal", "predictive"):
            found = rows(results, f"{name}_posterior")[:, inner]
            np.testing.assert_allclose(found, want[name], rtol=0, atol=TOLERANCE)
        evidence = results.attrs["marginal_log_likelihoods"]
        assert float(evidence) == pytest.approx(want["evidence"], abs=1e-7)

    is_missing, _ = masks()
    masked = rows(predict(model, data, is_missing=is_missing, n_chunks=3), "acausal_posterior")
    assert np.allclose(np.nansum(masked, axis=1), 1, atol=1e-9)
    whole = rows(predict(model, data, is_missing=is_missing), "acausal_posterior")
    assert np.array_equal(masked, whole, equal_nan=True)


@pytest.mark.parametrize(("place", "kind"), COMBINATIONS)
def test_estimate(place: Place, kind: Kind) -> None:
    data = session(place, kind)
    is_missing, is_training = masks()
    model = kind.build(place)
    start = np.array(model.discrete_initial_conditions)
    given = {
        "is_missing": is_missing,
        "is_training": is_training,
        "max_iter": 2,
        "tolerance": 0.0,
        **data.labels,
        **data.covariates(N_TIME),
    }
    call = (data.position_time, data.position, *data.spikes, data.time)
    results = model.estimate_parameters(*call, estimate_encoding_model=False, **given)
    inner = model.is_track_interior_state_bins_
    posterior = rows(results, "acausal_posterior")
    assert np.array_equal(np.isnan(posterior), np.broadcast_to(~inner, posterior.shape))
    assert model.discrete_initial_conditions.sum() == pytest.approx(1)
    assert np.nansum(model.initial_conditions_) == pytest.approx(1)
    np.testing.assert_allclose(model.discrete_state_transitions_.sum(axis=-1), 1, atol=1e-9)
    after = predict(model, data, is_missing=is_missing)  # the model is the estimated one
    evidence = [*results.attrs["marginal_log_likelihoods"]]
    assert len(evidence) == 2
    if not is_stationary(kind):
        return

    again = kind.build(place)
    again.fit(data.position_time, data.position, *data.spikes, is_training=is_training,
              **data.labels)  # fmt: skip
    assert np.array_equal(again.discrete_initial_conditions, start)
    initial, moves, ll = parts(again, data, is_missing)
    assert not np.any(ll[is_missing])
    discrete = again.discrete_state_transitions_
    want: dict[str, Any] = {}
    for n in range(2):
        want = step(model, initial, moves, ll, discrete)
        assert evidence[n] == pytest.approx(want["evidence"], abs=1e-7)
        discrete = next_transition(model, want, discrete)
        initial = want["acausal"][0]
    np.testing.assert_allclose(posterior[:, inner], want["acausal"], rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(model.discrete_state_transitions_, discrete, atol=TOLERANCE)
    np.testing.assert_allclose(model.initial_conditions_[inner], initial, atol=TOLERANCE)
    assert not np.any(model.initial_conditions_[~inner])
    want = step(model, initial, moves, ll, discrete)
    np.testing.assert_allclose(
        rows(after, "acausal_posterior")[:, inner], want["acausal"], rtol=0, atol=TOLERANCE
    )
    if "Local" in model.state_names and kind.is_sorted:
        weighed = kind.build(place).estimate_parameters(*call, **given)
        found = rows(weighed, "acausal_posterior")
        assert np.array_equal(np.isnan(found), np.broadcast_to(~inner, found.shape))


@pytest.mark.parametrize("name", COPIED)
@pytest.mark.parametrize("place", ["line-gap", "islands", "mask", "track-gaps"])
def test_paths_and_copies(place: str, name: str, tmp_path: Path) -> None:
    kind = MODELS[name]
    model, data = fitted(ENVIRONMENTS[place], kind)
    results = predict(model, data)
    posterior = rows(results, "acausal_posterior")

    table = model.most_likely_sequence(data.position_time, data.position, *data.spikes, data.time)
    assert len(table) == N_TIME
    assert set(table["state"]) <= set(model.state_names)
    if is_stationary(kind):
        check_path(model, data, table)

    model.save_model(tmp_path / "model.npz")
    copies = [
        model.load_model(tmp_path / "model.npz"),
        pickle.loads(pickle.dumps(model)),
        model.copy(),
    ]
    for other in copies:
        assert np.array_equal(
            rows(predict(other, data), "acausal_posterior"), posterior, equal_nan=True
        )
    params = model.get_params()
    assert type(model)(**params).get_params().keys() == params.keys()

    if hasattr(model, "get_posterior"):
        total = np.asarray(model.get_posterior(results)).reshape(N_TIME, -1)
        assert np.allclose(total.sum(axis=1), 1, atol=1e-9)
    if hasattr(model, "get_conditional_non_local_posterior"):
        places = np.asarray(model.get_conditional_non_local_posterior(results))
        total = np.nansum(places.reshape(N_TIME, -1), axis=1)
        moving = rows(results, "acausal_state_probabilities")[:, -2:].sum(axis=1) > 0
        assert np.allclose(total, moving, atol=1e-9)  # 0 / 0 where no state moves


@pytest.mark.parametrize("name", ["non-local", "sorted-environments"])
@pytest.mark.parametrize("place", ENVIRONMENTS)
def test_result_files(place: str, name: str, tmp_path: Path) -> None:
    model, data = fitted(ENVIRONMENTS[place], MODELS[name])
    results = predict(model, data)
    posterior = rows(results, "acausal_posterior")
    folder = tmp_path / "result"
    model.predict_file(folder, *data.spikes, data.time, **data.where)
    stored = np.load(folder / "acausal_posterior.npy")
    assert stored.dtype == np.float64
    assert np.array_equal(stored, posterior[:, model.is_track_interior_state_bins_])
    model.save_results(results, tmp_path / "results.nc")
    loaded = rows(model.load_results(tmp_path / "results.nc"), "acausal_posterior")
    assert np.array_equal(loaded, posterior, equal_nan=True)


def check_path(model: Any, data: Session, table: Any) -> None:
    """No path is more likely than that of the table."""
    initial, moves, ll = parts(model, data)
    inner = np.flatnonzero(model.is_track_interior_state_bins_)
    states = model.state_ind_[inner]
    matrix = moves * model.discrete_state_transitions_[np.ix_(states, states)]
    with np.errstate(divide="ignore"):
        steps, score = np.log(matrix), np.log(initial) + ll[0]
    names = [name for name in table.columns if name.endswith("position")]
    centers = model._bin_centers()[inner]
    places = table[names].to_numpy()
    path = []
    for state, place in zip(table["state"], places, strict=True):
        mine = np.asarray(model.state_names)[states] == state
        if not np.isnan(place).any():
            mine &= np.all(centers == place, axis=1)
        (at,) = np.flatnonzero(mine)
        path.append(at)
    taken = score[path[0]]
    for t in range(1, N_TIME):
        score = np.max(score[:, np.newaxis] + steps, axis=0) + ll[t]
        taken += steps[path[t - 1], path[t]] + ll[t, path[t]]
    assert taken == pytest.approx(score.max(), abs=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_em_takes_its_own_estimates(seed: int) -> None:
    # The one state of these models has the probability 1, now and then 1 and a rounding.
    draws = np.random.default_rng(seed)
    t = np.arange(1500) * 0.02
    ring = np.c_[30 + 22 * np.cos(0.7 * t), 30 + 22 * np.sin(0.7 * t)]
    spikes = [np.sort(t[draws.random(1500) < 0.15]) for _ in range(5)]
    model = td.SortedSpikesDecoder()
    model.estimate_parameters(
        position_time=t, position=ring, spike_times=spikes, time=t, max_iter=3
    )
    assert model.discrete_initial_conditions == pytest.approx([1.0], abs=1e-6)
