"""Events by states and the online decoder with transitions that depend on covariates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera.decode as td
from decode_data import Spikes, make_spikes
from decode_numpy import filter_rows, smooth_rows

pytest.importorskip("pandas")
pytest.importorskip("xarray")

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

STEP = 0.02
FIRST = 1000  # position sample at which decoding begins
N_BIN = 150
FORMULA = "1 + bs(speed, knots=[5.0, 15.0])"


@pytest.fixture(scope="module")
def spikes() -> Spikes:
    return make_spikes()


def speed_at(spikes: Spikes, time: Any) -> Any:
    return np.interp(time, spikes.time, np.abs(np.gradient(spikes.position, spikes.time)))


@pytest.fixture(scope="module")
def model(spikes: Spikes) -> Any:
    """States that EM has taught how speed matters."""
    kind = td.DiscreteNonStationaryDiagonal(np.array([0.95, 0.9]), formula=FORMULA)
    model = td.ContFragClusterlessClassifier(
        environments=td.Environment(place_bin_size=4.0),
        discrete_transition_type=kind,
        clusterless_algorithm_params={"position_std": 6.0, "waveform_std": 24.0, "mode": "exact"},
        sampling_frequency=1 / STEP,
    )
    time = spikes.time[:400]
    speed = {"speed": speed_at(spikes, time)}
    model.fit(*spikes.fit_args(), discrete_transition_covariate_data=speed)
    model.estimate_parameters(
        *spikes.fit_args(), time=time, discrete_transition_covariate_data=speed, max_iter=2
    )
    return model


def matrices(model: Any, speed: Any) -> Any:
    """Every bin's transitions between all bins of both states."""
    eta = np.einsum("tc,cij->tij", model._design.build({"speed": speed}),
                    model.discrete_transition_coefficients_)
    odds = np.exp(np.concatenate([eta, np.zeros((*eta.shape[:2], 1))], axis=2))
    discrete = odds / odds.sum(axis=2, keepdims=True)
    n = model.continuous_state_transitions_.shape[0] // 2
    return np.kron(discrete, np.ones((n, n))) * model.continuous_state_transitions_


def test_online_is_predict_on_the_same_rows(model: Any, spikes: Spikes) -> None:
    edges = spikes.time[FIRST] + np.arange(N_BIN + 1) * STEP
    speed = speed_at(spikes, edges)
    want = model.predict(
        spikes.spike_times,
        spikes.features,
        time=edges,
        discrete_transition_covariate_data={"speed": speed},
        return_outputs=["filter"],
    )
    online = td.OnlineDecoder(model, edges[0], bin_width=STEP, n_history=N_BIN)
    together = td.OnlineDecoder(model, edges[0], bin_width=STEP, n_history=N_BIN)
    for decoder in (online, together):
        for e, times in enumerate(spikes.spike_times):
            mine = (times >= edges[0]) & (times < edges[-1])
            decoder.push_spikes(times[mine], e, spikes.features[e][mine])
    for k in range(N_BIN):
        row = {"speed": speed[k]}
        assert online.advance(edges[0] + (k + 1) * STEP + 1e-9, row) == 1
    assert together.advance(edges[-1] + 1e-9, {"speed": speed[:N_BIN]}) == N_BIN
    found = [online.get(k) for k in range(N_BIN)]
    rows = np.array([each["posterior"] for each in found])
    assert np.array_equal(rows, [together.get(k)["posterior"] for k in range(N_BIN)])
    np.testing.assert_allclose(rows, np.asarray(want.causal_posterior)[:N_BIN], rtol=0, atol=3e-5)
    ll = np.tile([np.asarray(each["log_likelihood"], dtype=float) for each in found], (1, 2))
    by_hand, *_ = filter_rows(model.initial_conditions_, matrices(model, speed[:N_BIN]), ll)
    np.testing.assert_allclose(rows, by_hand, rtol=0, atol=1e-12)


def test_a_snapshot_knows_the_coefficients(model: Any, tmp_path: Path) -> None:
    online = td.OnlineDecoder(model, bin_width=STEP)
    online.advance(1.0, {"speed": 3.0})
    online.snapshot(tmp_path / "state")
    again = td.OnlineDecoder(model, bin_width=STEP)
    again.restore(tmp_path / "state")
    for decoder in (online, again):
        decoder.advance(1.5, {"speed": 20.0})
    n = online.stats()["n_bin"]
    assert np.array_equal(online.get(n - 1)["posterior"], again.get(n - 1)["posterior"])
    with pytest.raises(ValueError, match="depend on covariates"):
        online.advance(2.0)
    with pytest.raises(ValueError, match="needs 'speed'"):
        online.advance(2.0, {"pace": 3.0})
    with pytest.raises(ValueError, match=r"speed\[0\] is nan"):
        online.advance(2.0, {"speed": np.nan})
    with pytest.raises(ValueError, match="2 rows and 25 bins are due"):
        online.advance(2.0, {"speed": [1.0, 2.0]})
    assert online.stats()["n_bin"] == n


def test_covariates_without_use_are_named(spikes: Spikes) -> None:
    plain = td.ContFragClusterlessClassifier(environments=td.Environment(place_bin_size=4.0))
    plain.fit(*spikes.fit_args())
    with pytest.raises(ValueError, match="do not depend on covariates"):
        td.OnlineDecoder(plain).advance(1.0, {"speed": 3.0})


def test_events_have_the_transitions_of_their_time(model: Any, spikes: Spikes) -> None:
    """Against NumPy over the likelihoods of bins decoded alone, as they are and shuffled in time.

    Events begin off the recording's time bins, which hold until the next begins.
    """
    time = spikes.time[0] + np.arange(2000) * STEP
    speed = speed_at(spikes, time)
    events = spikes.time[FIRST] + np.array([[0.007, 0.407], [1.0, 1.3], [2.011, 2.711]])
    options = {"min_electrodes": 0, "min_spikes": 0, "event_bin": STEP, "max_speed": 1e6}
    data = {"spike_times": spikes.spike_times, "spike_waveform_features": spikes.features}
    given = {"time": time, "discrete_transition_covariate_data": {"speed": speed}}
    frame, found = td.events.shuffle_test(
        model, events, **data, **given, decoder="states", kinds=["time"], shuffles=3, **options
    )
    assert frame["p_time_distance"].notna().all()
    _, alone = td.events.score(model, events, **data, decoder="memoryless", **options)
    for event, (start, _) in enumerate(events):
        own = found["event"].to_numpy() == event
        ll = np.log(np.maximum(alone.to_numpy()[alone["event"].to_numpy() == event], 1e-300))
        middle = start + (np.arange(own.sum()) + 0.5) * STEP
        matrix = matrices(model, speed[np.searchsorted(time, middle, side="right") - 1])
        filtered, predicted, _ = filter_rows(model.initial_conditions_, matrix, np.tile(ll, (1, 2)))
        both = smooth_rows(matrix, filtered, predicted)
        n = ll.shape[1]
        want = both[:, :n] + both[:, n:]
        np.testing.assert_allclose(found.to_numpy()[own], want, rtol=0, atol=1e-10)
        np.testing.assert_allclose(
            found["state_probability_Continuous"].to_numpy()[own], both[:, :n].sum(1), atol=1e-10
        )
    with pytest.raises(ValueError, match="depend on covariates"):
        td.events.score(model, events, **data, decoder="states", **options)
    with pytest.raises(ValueError, match="needs time"):
        td.events.score(
            model, events, **data, decoder="states",
            discrete_transition_covariate_data={"speed": speed}, **options,
        )  # fmt: skip
    with pytest.raises(ValueError, match="has 2000 values, time has 10"):
        td.events.score(
            model, events, **data, decoder="states", time=time[:10],
            discrete_transition_covariate_data={"speed": speed}, **options,
        )  # fmt: skip
