"""Scores and shuffles of events against a literal program, on a line, a track and a plane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tessera.decode as td

pytest.importorskip("pandas")
pytest.importorskip("xarray")
pytest.importorskip("networkx")

from decode_events_data import EVENTS, recording
from decode_events_numpy import Draws, Track, arms, line, plane, scores
from decode_numpy import filter_rows, smooth_rows

SEED, BIN, FASTEST = 2026, 0.02, 400.0
COLUMN, TIME, MARKS, SPIKES, UNITS = 1, 3, 4, 5, 6
SHAPES = ["line", "track", "plane"]


def _track(shape: str, model: Any) -> Track:
    environment = model.environments[0]
    inside = np.asarray(environment.is_track_interior_).ravel()
    centres = np.asarray(environment.place_bin_centers_)[inside]
    if shape == "line":
        return line(centres)
    if shape == "track":
        edges = np.asarray(environment.place_bin_center_ind_to_edge_id_)[inside]
        return arms(edges, [40.0, 40.0, 40.0])
    return plane(centres, np.diff(np.unique(centres[:, 0])).min())


@pytest.fixture(scope="module", params=SHAPES)
def fitted(request: pytest.FixtureRequest) -> tuple[Any, dict[str, Any], Track]:
    """Return a model, what is decoded, and the places."""
    model, data = recording(request.param, mode="exact")
    return model, data, _track(request.param, model)


def _compare(row: Any, want: dict[str, float], tolerance: float) -> None:
    for name, value in want.items():
        assert row[name] == pytest.approx(value, abs=tolerance, nan_ok=True), name


def test_scores_of_random_posteriors(fitted: tuple[Any, dict[str, Any], Track]) -> None:
    """50 events of random times and lengths, with silent bins; every score to 1e-12."""
    model, data, track = fitted
    rng = np.random.default_rng(11)
    start = rng.choice(EVENTS[:, 0], 50) + rng.uniform(-0.05, 0.08, 50)
    events = np.stack([start, start + rng.uniform(0.11, 0.3, 50)], axis=1)
    options = {
        "max_speed": 1e6,
        "min_spikes": 0,
        "min_electrodes": 0,
        "min_bins": 2,
        "max_velocity": FASTEST,
    }
    frame, posterior = td.events.score(model, events, **data, **options)
    rows, counted = posterior.to_numpy(), posterior["is_counted"].to_numpy()
    event = posterior["event"].to_numpy()
    for i, row in frame.iterrows():
        own = event == i
        k = np.flatnonzero(counted[own])
        assert row["counted_bins"] == len(k)
        p = rows[own]
        np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
        _compare(row, scores(p[k], k, len(p), track, width=BIN, fastest=FASTEST), 1e-12)


def _moved(posterior: Any, event: int) -> tuple[Any, Any, int]:
    own = posterior["event"].to_numpy() == event
    return (
        posterior.to_numpy()[own],
        np.flatnonzero(posterior["is_counted"].to_numpy()[own]),
        own.sum(),
    )


def _statistics(frame: Any, kind: str, event: int, shuffle: int) -> dict[str, float]:
    values = frame.attrs["statistics"][frame.attrs["kinds"].index(kind), event, shuffle]
    return dict(zip(td.events.SCORES, values, strict=True))


def _compare_shuffle(got: dict[str, float], want: dict[str, float]) -> None:
    _compare(got, {name: want.get(name, np.nan) for name in td.events.SCORES}, 1e-10)


def test_bins_shuffled_one_by_one(fitted: tuple[Any, dict[str, Any], Track]) -> None:
    model, data, track = fitted
    kinds = ["time", "column"] if track.routes else ["time"]
    frame, posterior = td.events.shuffle_test(
        model,
        EVENTS[:4],
        **data,
        kinds=kinds,
        shuffles=3,
        shuffle_seed=SEED,
        keep_statistics=True,
        max_velocity=FASTEST,
    )
    for event in range(4):
        p, k, n_time = _moved(posterior, event)
        for shuffle in range(3):
            q = Draws(SEED, event, shuffle, TIME).permutation(len(k))
            want = scores(p[k][q], k, n_time, track, width=BIN, fastest=FASTEST)
            _compare_shuffle(_statistics(frame, "time", event, shuffle), want)
            if "column" in kinds:
                draws = Draws(SEED, event, shuffle, COLUMN)
                turned = np.array([np.roll(r, draws.below(t, len(r))) for t, r in enumerate(p)])
                want = scores(turned[k], k, n_time, track, width=BIN, fastest=FASTEST)
                _compare_shuffle(_statistics(frame, "column", event, shuffle), want)


def _spikes_of(data: dict[str, Any], event: Any, width: float) -> list[Any]:
    """Spikes of the decoded bins by electrode: their indices."""
    n_bin = int(np.floor((event[1] - event[0]) / width + 1e-6))
    found = []
    for times in data["spike_times"]:
        found.append(
            np.flatnonzero((times >= event[0]) & (np.floor((times - event[0]) / width) < n_bin))
        )
    return found


def _permuted(data: dict[str, Any], draws: Draws, event: Any, width: float) -> dict[str, Any]:
    """Spikes with the marks, or the electrodes and marks, of other spikes of the event."""
    own = _spikes_of(data, event, width)
    times, marks = data["spike_times"], data["spike_waveform_features"]
    if draws.kind == MARKS:
        changed = [m.copy() for m in marks]
        first = 0
        for e, index in enumerate(own):
            q = draws.permutation(len(index), first)
            changed[e][index] = marks[e][index[q]]
            first += len(index)
        return data | {"spike_waveform_features": changed}
    when = np.concatenate([t[index] for t, index in zip(times, own, strict=True)])
    which = np.concatenate([np.full(len(index), e) for e, index in enumerate(own)])
    what = np.concatenate([m[index] for m, index in zip(marks, own, strict=True)])
    q = draws.permutation(len(when))
    new_times, new_marks = [], []
    for e in range(len(times)):
        here = which[q] == e
        order = np.argsort(when[here], kind="stable")
        new_times.append(when[here][order])
        new_marks.append(what[q][here][order])
    return data | {"spike_times": new_times, "spike_waveform_features": new_marks}


@pytest.mark.parametrize(("kind", "number"), [("marks", MARKS), ("spikes", SPIKES)])
@pytest.mark.parametrize("decoder", ["memoryless", "states"])
def test_spikes_shuffled_one_by_one(
    fitted: tuple[Any, dict[str, Any], Track], kind: str, number: int, decoder: str
) -> None:
    """A shuffle is an event of its own when its spikes are handed over permuted."""
    model, data, _ = fitted
    options = {"decoder": decoder, "min_electrodes": 0}
    frame, _ = td.events.shuffle_test(
        model,
        EVENTS[:3],
        **data,
        kinds=[kind],
        shuffles=3,
        shuffle_seed=SEED,
        keep_statistics=True,
        **options,
    )
    width = BIN if decoder == "memoryless" else 0.01
    for event in range(3):
        for shuffle in range(3):
            draws = Draws(SEED, event, shuffle, number)
            moved = _permuted(data, draws, EVENTS[event], width)
            other, _ = td.events.score(model, EVENTS[event : event + 1], **moved, **options)
            _compare_shuffle(_statistics(frame, kind, event, shuffle), dict(other.iloc[0]))


def _by_states(model: Any, ll: Any) -> Any:
    """Posterior over places of rows of log likelihoods: two states over the same places."""
    matrix = np.kron(model.discrete_state_transitions_, np.ones((ll.shape[1],) * 2))
    matrix = matrix * model.continuous_state_transitions_
    filtered, predicted, _ = filter_rows(model.initial_conditions_, matrix, np.tile(ll, (1, 2)))
    both = smooth_rows(matrix, filtered, predicted)
    found = both[:, : ll.shape[1]] + both[:, ll.shape[1] :]
    return found / found.sum(axis=1, keepdims=True)


def test_states_decode_every_shuffle_again() -> None:
    """On a line, where the bins of the environment are all places."""
    model, data = recording("line", mode="exact")
    track = _track("line", model)
    options = {"min_electrodes": 0, "event_bin": 0.01, "max_velocity": FASTEST}
    frame, smoothed = td.events.shuffle_test(
        model,
        EVENTS[:2],
        **data,
        decoder="states",
        kinds=["time", "column"],
        shuffles=3,
        shuffle_seed=SEED,
        keep_statistics=True,
        **options,
    )
    _, alone = td.events.score(model, EVENTS[:2], **data, decoder="memoryless", **options)
    for event in range(2):
        p, _, n_time = _moved(alone, event)
        ll = np.log(np.maximum(p, 1e-300))
        k = np.arange(n_time)
        np.testing.assert_allclose(_moved(smoothed, event)[0], _by_states(model, ll), atol=1e-10)
        for shuffle in range(3):
            q = Draws(SEED, event, shuffle, TIME).permutation(n_time)
            want = scores(_by_states(model, ll[q]), k, n_time, track, width=0.01, fastest=FASTEST)
            _compare_shuffle(_statistics(frame, "time", event, shuffle), want)
            draws = Draws(SEED, event, shuffle, COLUMN)
            turned = np.array([np.roll(r, draws.below(t, len(r))) for t, r in enumerate(ll)])
            want = scores(_by_states(model, turned), k, n_time, track, width=0.01, fastest=FASTEST)
            _compare_shuffle(_statistics(frame, "column", event, shuffle), want)


def test_units_shuffled_one_by_one() -> None:
    """Sorted: unit e with the encoding of unit q[e] is unit q[e] with the spikes of unit e."""
    _, data = recording("line")
    time, x, spikes = data["position_time"], data["position"], data["spike_times"]
    model = td.ContFragSortedSpikesClassifier(
        environments=td.Environment(place_bin_size=4.0), sampling_frequency=100
    )
    model.fit(time, x, spikes, is_training=time < 40)
    for decoder in ("memoryless", "states"):
        frame, _ = td.events.shuffle_test(
            model,
            EVENTS[:3],
            spikes,
            kinds=["units", "field"],
            shuffles=3,
            shuffle_seed=SEED,
            keep_statistics=True,
            decoder=decoder,
        )
        for event in range(3):
            for shuffle in range(3):
                q = Draws(SEED, event, shuffle, UNITS).permutation(len(spikes))
                moved: list[Any] = [None] * len(spikes)
                for e, to in enumerate(q):
                    moved[to] = spikes[e]
                other, _ = td.events.score(model, EVENTS[event : event + 1], moved, decoder=decoder)
                _compare_shuffle(_statistics(frame, "units", event, shuffle), dict(other.iloc[0]))
