"""What must hold for any data: symmetries of decode, bits that must not move, and edge cases."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decode_numpy as reference
import tessera
import tessera.decode as td
from decode_support import encode, log_likelihood, observation, predict
from tessera.decode.environment import Environment, make_track_graph
from tessera.decode.models import (
    ClusterlessDecoder,
    ContFragClusterlessClassifier,
    NonLocalClusterlessDetector,
)
from tessera.decode.online import OnlineDecoder

# Outliers on the floor are part of the data.
pytestmark = pytest.mark.filterwarnings("ignore:.*lie on the absolute floor:UserWarning")

FEW = settings(max_examples=15)
SEEDS = st.integers(0, 2**31)
MODES = pytest.mark.parametrize("mode", ["exact", "fast"])
STEP = 1 / 512  # exact in binary, also beside 1.7e9


class Data:
    """A small recording whose times are exact in binary."""

    def __init__(self, seed: int, n_electrode: int = 3, n_feature: int = 3, n_dim: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.position_time = np.arange(3000) * STEP
        phase = self.position_time * rng.uniform(1.5, 2.5)
        line = 40 * (1 - np.cos(phase))
        self.position = np.stack([line, 15 + 15 * np.sin(1.7 * phase)][:n_dim], axis=1)
        self.time = np.arange(1500, 1700) * STEP
        self.times, self.marks = [], []
        for _ in range(n_electrode):
            n = int(rng.integers(150, 300))
            times = np.sort(np.round(rng.uniform(0, 3000 * STEP, n) * 2**16) / 2**16)
            place = np.interp(times, self.position_time, line)
            means = rng.uniform(40, 160, (4, n_feature))
            who = (place // 20).astype(int).clip(0, 3)
            self.times.append(times)
            self.marks.append(means[who] + 20 * rng.standard_normal((n, n_feature)))

    def environment(self) -> Environment:
        return Environment(place_bin_size=3.0).fit_place_grid(self.position)

    def encoding(self, mode: str, **more: Any) -> Any:
        options = {"position_std": 6.0, "waveform_std": 24.0, "mode": mode, "floor": "none"}
        return encode(
            self.environment(),
            self.position_time,
            self.position,
            self.times,
            self.marks,
            **{**options, **more},
        )

    def ll(self, mode: str = "exact", dtype: str = "float64", **more: Any) -> Any:
        asked = observation(self.time, self.times, self.marks)
        return log_likelihood(self.encoding(mode, **more), asked, dtype)[0]

    def fitted(self, cls: type, **options: Any) -> Any:
        options = {"environments": Environment(place_bin_size=3.0), **options}
        return cls(**options).fit(self.position_time, self.position, self.times, self.marks)

    def predict(self, model: Any, want: list[str], **more: Any) -> dict[str, Any]:
        place = {"position": self.position, "position_time": self.position_time}
        return predict(model, self.times, self.marks, self.time, want, **{**place, **more})


POSTERIORS = ["acausal_posterior", "causal_posterior", "predictive_posterior"]
STATES = [
    "acausal_state_probabilities",
    "causal_state_probabilities",
    "predictive_state_probabilities",
]
CLASSES = [ClusterlessDecoder, ContFragClusterlessClassifier, NonLocalClusterlessDetector]


# ---- Posteriors


@MODES
@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("n_dim", [1, 2])
def test_rows_are_distributions(cls: type, n_dim: int, mode: str) -> None:
    data = Data(1, n_dim=n_dim)
    model = data.fitted(cls, mode=mode)
    dtype = "float64" if mode == "exact" else "float32"
    found = data.predict(model, [*POSTERIORS, *STATES], dtype=dtype)
    within = 1e-9 if mode == "exact" else 1e-5
    state = model.state_ind_[model.is_track_interior_state_bins_]
    for name, sums in zip(POSTERIORS, STATES, strict=True):
        assert np.all(found[name] >= 0)
        total = found[name].sum(axis=1, dtype=float)
        np.testing.assert_allclose(total, 1, rtol=0, atol=within)
        for k in range(model.n_discrete_states_):
            part = found[name][:, state == k].sum(axis=1, dtype=float)
            np.testing.assert_allclose(part, found[sums][:, k], rtol=0, atol=1e-6)
    assert np.array_equal(found["acausal_posterior"][-1], found["causal_posterior"][-1])


def test_bins_off_the_track_are_not_a_number() -> None:
    data = Data(2, n_dim=2)
    model = data.fitted(ContFragClusterlessClassifier)
    results = model.predict(data.times, data.marks, data.time)
    hidden = np.isnan(np.asarray(results["acausal_posterior"]))
    assert np.array_equal(hidden, np.tile(~model.is_track_interior_state_bins_, (len(hidden), 1)))


@MODES
@pytest.mark.parametrize("cls", CLASSES)
def test_chunks_budget_and_threads_leave_bits_alone(cls: type, mode: str) -> None:
    data = Data(3)
    model = data.fitted(cls, mode=mode, threads=1)
    want = [*POSTERIORS, *STATES, "log_likelihood"]
    first = data.predict(model, want)
    others = [data.predict(model, want, n_chunks=n) for n in (2, 3, 13, 200)]
    others.append(data.predict(model, want, memory_budget="64M"))
    others.append(data.predict(data.fitted(cls, mode=mode, threads=2), want))
    for other in others:
        for name in want:
            assert np.array_equal(first[name], other[name]), name
        assert first["log_evidence"] == other["log_evidence"]


def test_threads_that_share_a_row_leave_bits_alone() -> None:
    """With bins this fine a step of the random walk is large enough to be shared."""
    data = Data(5)
    data.time = data.time[:6]
    fine = Environment(place_bin_size=80 / 1600)
    one, two = (
        data.predict(
            data.fitted(ContFragClusterlessClassifier, threads=n, environments=fine), POSTERIORS
        )
        for n in (1, 2)
    )
    for name in POSTERIORS:
        assert np.array_equal(one[name], two[name]), name


@MODES
def test_likelihood_of_rows_in_pieces(mode: str) -> None:
    data = Data(4)
    model = data.encoding(mode)
    asked = observation(data.time, data.times, data.marks)
    whole, _ = log_likelihood(model, asked)
    for cuts in ([0, 1, 2, 200], [0, 67, 68, 133, 200], [0, 199, 200]):
        parts = [
            log_likelihood(model, asked, first=a, n_row=b - a)[0]
            for a, b in itertools.pairwise(cuts)
        ]
        assert np.array_equal(np.concatenate(parts), whole)


@FEW
@given(SEEDS)
def test_missing_rows_are_predictions(seed: int) -> None:
    data = Data(seed)
    missing = np.random.default_rng(seed).random(len(data.time)) < 0.2
    model = data.fitted(ContFragClusterlessClassifier)
    found = data.predict(model, [*POSTERIORS, "log_likelihood"], is_missing=missing)
    assert np.all(found["log_likelihood"][missing] == 0)
    np.testing.assert_allclose(
        found["causal_posterior"][missing],
        found["predictive_posterior"][missing],
        rtol=1e-6,
        atol=1e-12,
    )


def test_nothing_observed_is_the_markov_chain() -> None:
    data = Data(5)
    model = data.fitted(ContFragClusterlessClassifier, mode="exact")
    missing = np.ones(len(data.time), bool)
    found = data.predict(model, ["causal_posterior"], is_missing=missing)["causal_posterior"]
    inside = model.is_track_interior_state_bins_
    grid = np.ix_(inside, inside)
    matrix = (
        model.continuous_state_transitions_
        * model.discrete_state_transitions_[np.ix_(model.state_ind_, model.state_ind_)]
    )[grid]
    row = model.initial_conditions_[inside]
    for t in range(50):
        np.testing.assert_allclose(found[t], row, rtol=0, atol=1e-12)
        row = row @ matrix


@pytest.mark.filterwarnings("ignore:no spike of electrode:UserWarning")
def test_evidence_is_the_sum_over_all_paths() -> None:
    data = Data(6)
    model = data.fitted(
        ClusterlessDecoder, environments=Environment(place_bin_size=30.0), mode="exact"
    )
    time = data.time[:5]
    found = predict(model, data.times, data.marks, time, ["log_likelihood", "causal_posterior"])
    ll, n = found["log_likelihood"], found["log_likelihood"].shape[1]
    assert n == 3
    paths = np.array(list(itertools.product(range(n), repeat=5)))
    with np.errstate(divide="ignore"):
        matrix = np.log(model.continuous_state_transitions_)
        score = np.log(model.initial_conditions_)[paths[:, 0]] + ll[0, paths[:, 0]]
        for t in range(1, 5):
            score = score + matrix[paths[:, t - 1], paths[:, t]] + ll[t, paths[:, t]]
    total = np.logaddexp.reduce(score)
    assert abs(found["log_evidence"] - total) < 1e-9


@FEW
@given(SEEDS)
def test_filter_smoother_and_path_against_dense_matrices(seed: int) -> None:
    data = Data(seed)
    model = data.fitted(NonLocalClusterlessDetector, mode="exact")
    want = [*POSTERIORS, "log_likelihood", "most_likely_bin"]
    found = data.predict(model, want)
    inside = model.is_track_interior_state_bins_
    matrix = (
        model.continuous_state_transitions_
        * model.discrete_state_transitions_[np.ix_(model.state_ind_, model.state_ind_)]
    )[np.ix_(inside, inside)]
    n = found["log_likelihood"].shape[1]
    ll = found["log_likelihood"][:, np.r_[0, 1, 2:n, 2:n]]  # the spatial states share columns
    initial = model.initial_conditions_[inside]
    filtered, predicted, evidence = reference.filter_rows(initial, matrix, ll)
    np.testing.assert_allclose(found["causal_posterior"], filtered, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found["predictive_posterior"], predicted, rtol=0, atol=1e-10)
    np.testing.assert_allclose(
        found["acausal_posterior"],
        reference.smooth_rows(matrix, filtered, predicted),
        rtol=0,
        atol=1e-10,
    )
    assert abs(found["log_evidence"] - evidence) < 1e-8
    assert np.array_equal(found["most_likely_bin"], reference.best_path(initial, matrix, ll))


@FEW
@given(SEEDS)
def test_em_never_lowers_the_evidence(seed: int) -> None:
    data = Data(seed)
    model = ContFragClusterlessClassifier(
        environments=Environment(place_bin_size=3.0),
        discrete_transition_concentration=1.0,
        discrete_transition_stickiness=np.zeros(2),
    )
    results = model.estimate_parameters(
        data.position_time,
        data.position,
        data.times,
        data.marks,
        data.time,
        max_iter=6,
        tolerance=0.0,
    )
    assert np.all(np.diff(results.attrs["marginal_log_likelihoods"]) > -1e-3)
    np.testing.assert_allclose(model.discrete_state_transitions_.sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("cls", CLASSES)
def test_online_replay_is_the_offline_filter(cls: type) -> None:
    data = Data(7)
    # online a Local state has the bins of the track: its own position is not known in time
    more = {"local_position_std": 4.0} if cls is NonLocalClusterlessDetector else {}
    model = data.fitted(cls, **more)
    width = 4 * STEP
    edges = data.time[0] + np.arange(40) * width
    # the left edge of a bin is in it and its right edge is not, as in rows of an offline grid
    with pytest.warns(UserWarning, match="wide"):
        want = predict(
            model,
            data.times,
            data.marks,
            edges,
            ["causal_posterior"],
            position=data.position,
            position_time=data.position_time,
            dtype="float64",
        )["causal_posterior"]
    online = OnlineDecoder(model, start=float(edges[0]), bin_width=width, n_history=64)
    spikes = sorted((t, e, i) for e, times in enumerate(data.times) for i, t in enumerate(times))
    for k, (left, right) in enumerate(itertools.pairwise(edges)):
        for t, x in zip(data.position_time, data.position, strict=True):
            if left - STEP * (k == 0) <= t < right:
                online.push_position(float(t), x)
        for t, e, i in spikes:
            if left <= t < right:
                online.push_spike(float(t), e, data.marks[e][i])
        assert online.advance(float(right)) == 1
        np.testing.assert_allclose(
            np.asarray(online.get(k)["posterior"]), want[k], rtol=0, atol=2e-5
        )


# ---- Likelihoods


@MODES
@FEW
@given(seed=SEEDS)
def test_order_of_electrodes(mode: str, seed: int) -> None:
    data = Data(seed, n_electrode=4)
    before = data.ll(mode)
    order = np.random.default_rng(seed).permutation(4)
    data.times = [data.times[k] for k in order]
    data.marks = [data.marks[k] for k in order]
    np.testing.assert_allclose(data.ll(mode), before, rtol=0, atol=1e-5)


@MODES
@FEW
@given(seed=SEEDS)
def test_order_of_encoding_spikes_with_one_time(mode: str, seed: int) -> None:
    """Spikes of one time may come in any order, in encoding and decoding."""
    data = Data(seed)
    rng = np.random.default_rng(seed)
    data.times = [np.repeat(t[::3], 3)[: len(t)] for t in data.times]
    before = data.ll(mode)
    for e, times in enumerate(data.times):
        order = np.lexsort((rng.random(len(times)), times))
        data.marks[e] = data.marks[e][order]
    np.testing.assert_allclose(data.ll(mode), before, rtol=0, atol=1e-5)


@MODES
def test_rows_without_spikes_are_minus_the_ground_intensity(mode: str) -> None:
    data = Data(8)
    model = data.encoding(mode)
    found, _ = log_likelihood(model, observation(data.time, data.times, data.marks))
    rows = np.zeros(len(data.time), np.int64)
    for times in data.times:
        rows += np.bincount(reference.time_bins(data.time, times)[1], minlength=len(rows))
    silent = found[rows == 0]
    assert len(silent) > 10
    ground = np.asarray(model["summed_ground_process_intensity"])
    assert np.array_equal(silent, np.tile(-ground, (len(silent), 1)).astype(found.dtype))


@MODES
@pytest.mark.filterwarnings("ignore:1 of 4 electrodes")
def test_electrode_without_spikes(mode: str) -> None:
    data = Data(9)
    before = data.ll(mode)
    data.times.append(np.zeros(0))
    data.marks.append(np.zeros((0, 3)))
    np.testing.assert_allclose(data.ll(mode), before, rtol=1e-15, atol=2e-15)


@MODES
@FEW
@given(seed=SEEDS)
def test_start_of_the_clock(mode: str, seed: int) -> None:
    """Unix seconds and seconds since the start give the same bits."""
    data = Data(seed)
    before = data.ll(mode)
    shift = 1.7e9
    data.position_time = data.position_time + shift
    data.time = data.time + shift
    data.times = [times + shift for times in data.times]
    assert np.array_equal(data.ll(mode), before)


@MODES
@FEW
@given(seed=SEEDS, log_scale=st.integers(-3, 6))
def test_unit_of_marks(mode: str, seed: int, log_scale: int) -> None:
    """Marks and their bandwidth times a: each spike's value goes down by D ln a."""
    data = Data(seed)
    before = data.ll(mode)
    scale = 2.0**log_scale
    data.marks = [marks * scale for marks in data.marks]
    after = data.ll(mode, waveform_std=24.0 * scale)
    count = np.zeros(len(data.time))
    for times in data.times:
        count += np.bincount(reference.time_bins(data.time, times)[1], minlength=len(count))
    want = before - count[:, None] * 3 * np.log(scale)
    # below 40 nats from its best bin a row is as good as impossible
    seen = before > before.max(axis=1, keepdims=True) - 40
    np.testing.assert_allclose(after[seen], want[seen], rtol=0, atol=2e-5)


@MODES
@FEW
@given(seed=SEEDS)
def test_origin_of_marks(mode: str, seed: int) -> None:
    data = Data(seed)
    data.marks = [np.round(marks * 64) / 64 for marks in data.marks]
    before = data.ll(mode)
    data.marks = [marks + np.array([1000.0, -500.0, 64.0]) for marks in data.marks]
    seen = before > before.max(axis=1, keepdims=True) - 40
    np.testing.assert_allclose(data.ll(mode)[seen], before[seen], rtol=0, atol=1e-5)


@MODES
def test_everything_twice(mode: str) -> None:
    """A second lap that repeats the first changes nothing, rates included."""
    data = Data(10)
    data.times = [t[(t > STEP) & (t < 2998 * STEP)] for t in data.times]
    data.marks = [m[: len(t)] for m, t in zip(data.marks, data.times, strict=True)]
    asked = observation(data.time, data.times, data.marks)
    once = data.encoding(mode)
    lap = 3000 * STEP
    twice = encode(
        data.environment(),
        np.concatenate([data.position_time, data.position_time + lap]),
        np.concatenate([data.position, data.position]),
        [np.concatenate([t, t + lap]) for t in data.times],
        [np.concatenate([m, m]) for m in data.marks],
        position_std=6.0,
        waveform_std=24.0,
        mode=mode,
        floor="none",
    )
    np.testing.assert_allclose(twice["mean_rates"], once["mean_rates"], rtol=1e-15)
    first, second = (log_likelihood(model, asked)[0] for model in (once, twice))
    seen = first > first.max(axis=1, keepdims=True) - 40
    np.testing.assert_allclose(second[seen], first[seen], rtol=0, atol=1e-5)


# ---- Edge cases


@pytest.mark.filterwarnings("ignore:1 of 3 electrodes")
def test_electrode_without_encoding_spikes() -> None:
    data = Data(11)
    encoded = data.times[1]
    data.times[1], data.marks[1] = np.zeros(0), np.zeros((0, 3))
    spike = [np.zeros(0), data.time[3:4] + STEP / 2, np.zeros(0)]
    mark = [np.zeros((0, 3)), np.full((1, 3), 100.0), np.zeros((0, 3))]
    assert len(encoded) > 0
    asked = observation(data.time, spike, mark)
    absolute = data.encoding("exact", floor="absolute")
    found, report = log_likelihood(absolute, asked)
    assert report["n_flat_spike"] == 1
    ground = np.asarray(absolute["summed_ground_process_intensity"])
    np.testing.assert_allclose(found[3] + ground, reference.LOG_EPS, rtol=0, atol=1e-12)
    with pytest.warns(UserWarning, match="electrode 1"):
        found, report = log_likelihood(data.encoding("exact", floor="relative"), asked)
    np.testing.assert_allclose(found[3], -ground, rtol=1e-12)
    assert report["n_excluded"] == 1


@MODES
@pytest.mark.parametrize("floor", ["absolute", "relative", "none"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_electrode_with_one_encoding_spike(mode: str, floor: str) -> None:
    data = Data(12)
    single = encode(
        data.environment(),
        data.position_time,
        data.position,
        [data.times[0][:1]],
        [data.marks[0][:1]],
        position_std=6.0,
        waveform_std=24.0,
        mode=mode,
        floor=floor,
    )
    asked = observation(data.time, data.times[:1], data.marks[:1])
    found, _ = log_likelihood(single, asked)
    assert np.isfinite(found).all()


@MODES
@pytest.mark.parametrize("std", [0.1, 1e4])
@pytest.mark.parametrize("floor", ["absolute", "relative", "none"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_extreme_bandwidths(mode: str, std: float, floor: str) -> None:
    data = Data(13)
    data.marks[0][:] = 77.0
    assert np.isfinite(data.ll(mode, "float32", waveform_std=std, floor=floor)).all()


@MODES
@pytest.mark.parametrize("n_time", [1, 2, 3])
def test_short_times(mode: str, n_time: int) -> None:
    data = Data(14)
    model = data.fitted(ClusterlessDecoder, mode=mode)
    with_spike = [np.array([data.time[0]]), np.zeros(0), np.zeros(0)]
    marks = [np.full((1, 3), 90.0), np.zeros((0, 3)), np.zeros((0, 3))]
    found = predict(model, with_spike, marks, data.time[:n_time], [*POSTERIORS, "log_likelihood"])
    assert found["acausal_posterior"].shape[0] == n_time
    assert np.isfinite(found["acausal_posterior"]).all()
    (encoding,) = model.encoding_model_.values()
    ground = -np.asarray(encoding["summed_ground_process_intensity"])
    assert np.all(found["log_likelihood"][0] < ground), "the spike on the first edge is in row 0"
    for row in found["log_likelihood"][1:]:
        np.testing.assert_allclose(row, ground, rtol=1e-6)


def test_one_bin() -> None:
    data = Data(15)
    model = data.fitted(ContFragClusterlessClassifier, environments=Environment(place_bin_size=1e3))
    found = data.predict(model, POSTERIORS)
    assert found["acausal_posterior"].shape == (len(data.time), 2)
    np.testing.assert_allclose(found["acausal_posterior"].sum(axis=1), 1, atol=1e-6)


@pytest.mark.filterwarnings("ignore:positions span")
def test_plane_with_one_interior_bin() -> None:
    rng = np.random.default_rng(1)
    position = rng.uniform(0, 1, (500, 2))
    model = ClusterlessDecoder(environments=Environment(place_bin_size=5.0))
    times, marks = [np.sort(rng.uniform(0, 0.9, 50))], [rng.normal(100, 20, (50, 4))]
    model.fit(np.arange(500) * STEP, position, times, marks)
    assert model.environments[0].is_track_interior_.sum() == 1
    found = np.asarray(model.predict(times, marks, np.arange(100) * STEP)["acausal_posterior"])
    np.testing.assert_allclose(np.nansum(found, axis=-1), 1, atol=1e-6)


def test_unvisited_arm() -> None:
    """Bins of an arm nobody walked have no occupancy: finite, and next to no probability."""
    rng = np.random.default_rng(2)
    graph = make_track_graph([(0, 0), (60, 0), (60, 400)], [(0, 1), (1, 2)])
    place = 30 * (1 - np.cos(np.arange(3000) * STEP * 4))
    position = np.stack([place, rng.normal(0, 0.5, 3000)], axis=1)
    model = ClusterlessDecoder(
        environments=Environment(
            place_bin_size=3.0, track_graph=graph, edge_order=[(0, 1), (1, 2)], edge_spacing=50.0
        )
    )
    times = [np.sort(rng.uniform(0, 3000 * STEP, 400))]
    marks = [
        60
        + place[(times[0] / STEP).astype(int).clip(0, 2999)][:, None]
        + rng.normal(0, 10, (400, 4))
    ]
    model.fit(np.arange(3000) * STEP, position, times, marks)
    found = predict(
        model,
        times,
        marks,
        np.arange(1000, 1400) * STEP,
        ["log_likelihood", "acausal_posterior", "causal_posterior"],
    )
    assert np.isfinite(found["log_likelihood"]).all()
    assert np.isfinite(found["acausal_posterior"]).all()
    (environment,) = model.environments
    inner = environment.place_bin_centers_[environment.is_track_interior_.ravel()]
    far = inner[:, 0] > 110 + 150
    assert far.any()
    fired = reference.time_bins(np.arange(1000, 1400) * STEP, times[0])[1]
    assert found["causal_posterior"][np.unique(fired)[5:]][:, far].sum(axis=1).max() < 0.05


def test_no_electrodes() -> None:
    data = Data(16)
    data.times, data.marks = [], []
    with pytest.warns(UserWarning, match="electrode"):
        found = data.ll()
    assert np.all(found == 0)


def test_spikes_outside_are_counted() -> None:
    data = Data(17)
    _, report = log_likelihood(
        data.encoding("fast"), observation(data.time, data.times, data.marks)
    )
    every = np.concatenate(data.times)
    assert report["n_before"] == np.sum(every < data.time[0])
    assert report["n_after"] == np.sum(every > data.time[-1])
    assert report["n_spike"] == len(every) - report["n_before"] - report["n_after"]


def test_zero_extent() -> None:
    with pytest.raises(ValueError, match=r"zero extent in dimension 0.*position_range"):
        Environment().fit_place_grid(np.ones((100, 1)))


def test_duplicate_position_times() -> None:
    data = Data(18)
    data.position_time = data.position_time.copy()
    data.position_time[1200] = data.position_time[1199]
    with pytest.raises(ValueError, match="1200"):
        data.encoding("exact")


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_bins_where_nobody_was_raise_no_floor(device: str) -> None:
    """Of a direction that saw one end of a long line alone, and spikes below what f32 can do."""
    if device == "cuda" and not any(d["backend"] == "cuda" for d in tessera.devices()):
        pytest.skip("no NVIDIA GPU")
    rng = np.random.default_rng(3)
    n = 600
    clock = np.arange(n) / 50
    is_out = np.arange(n) < n // 2
    position = np.where(is_out, np.linspace(0, 400, n), 6 * rng.random(n))[:, np.newaxis]
    times = [np.sort(rng.uniform(0, clock[-1], 150))]
    marks = [rng.normal(0, 15, (150, 6)) + [0, 300, 0, 0, 0, 0] * (times[0] < 3)[:, np.newaxis]]
    found = []
    for mode in ("fast", "exact"):
        environment = td.Environment(place_bin_size=3.0)
        there = td.Uniform("")
        model = td.ClusterlessDetector(
            discrete_initial_conditions=np.array([0.5, 0.5]),
            discrete_transition_type=td.DiscreteStationaryDiagonal([0.9, 0.9]),
            discrete_transition_stickiness=np.zeros(2),
            continuous_transition_types=[[there, there], [there, there]],
            observation_models=[
                td.ObservationModel(encoding_group="out"),
                td.ObservationModel(encoding_group="back"),
            ],
            environments=environment,
            state_names=["Out", "Back"],
            clusterless_algorithm_params={"position_std": 1.5, "waveform_std": 5.0},
            floor="relative",
            mode=mode,
        )
        groups = np.where(is_out, "out", "back")
        model.fit(clock, position, times, marks, encoding_group_labels=groups, device=device)
        results = model.predict(
            times, marks, clock, return_outputs="log_likelihood", device=device
        )
        found.append(np.asarray(results["log_likelihood"]))
        (back,) = (v for k, v in model.encoding_model_.items() if k[1] == "back")
        assert np.min(np.asarray(back["occupancy"])) == 0
    fast, exact = found
    assert np.nanmin(exact) < -1000
    np.testing.assert_allclose(fast, exact, rtol=1e-4, atol=1e-3)
