"""What the original gets wrong and decode must not: each test says the wrong figure.

The original is non_local_detector at the version the golden files were made with.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import decode_numpy as reference
from decode_support import EXACT, FAST, encode, log_joint, log_likelihood, observation, predict
from tessera.decode.environment import Environment
from tessera.decode.models import ClusterlessDecoder, NonLocalClusterlessDetector

# Outliers on the floor and electrodes that are silent for a second are part of the data.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*lie on the absolute floor:UserWarning"),
    pytest.mark.filterwarnings("ignore:no spike of electrode:UserWarning"),
]

LENGTH = 175.0
N_SAMPLE = 30_000
STEP = 1 / 512  # exact in binary


class Recording:
    """Eight electrodes with twelve units each on a linear track, as users with probes have them.

    Marks have a standard deviation of 15 uV within a unit.
    """

    def __init__(self, n_feature: int, seed: int = 3) -> None:
        rng = np.random.default_rng(seed)
        self.time = np.arange(N_SAMPLE) * STEP
        self.position = (LENGTH / 2 * (1 - np.cos(2 * np.pi * self.time / 20)))[:, None]
        self.is_training = np.arange(N_SAMPLE) < 0.8 * N_SAMPLE
        self.times: list[Any] = []
        self.marks: list[Any] = []
        for _ in range(8):
            means = rng.normal(100, 40, (12, n_feature))
            times, marks = [], []
            for mean, centre in zip(means, rng.uniform(0, LENGTH, 12), strict=True):
                rate = 12 * np.exp(-0.5 * ((self.position[:, 0] - centre) / 8) ** 2)
                fired = np.flatnonzero(rng.random(N_SAMPLE) < rate * STEP)
                times.append(self.time[fired] + rng.uniform(0, STEP, fired.size))
                marks.append(mean + 15 * rng.standard_normal((fired.size, n_feature)))
            order = np.argsort(np.concatenate(times))
            self.times.append(np.concatenate(times)[order])
            self.marks.append(np.concatenate(marks)[order])

    def decoder(self, **settings: Any) -> ClusterlessDecoder:
        model = ClusterlessDecoder(**settings)
        model.fit(self.time, self.position, self.times, self.marks, is_training=self.is_training)
        return model

    @property
    def held_out(self) -> Any:
        """The edges that are decoded."""
        return self.time[~self.is_training]

    def error(self, model: ClusterlessDecoder) -> float:
        """Median distance of the best bin from the animal, in cm."""
        posterior = np.asarray(
            model.predict(self.times, self.marks, self.held_out)["acausal_posterior"]
        )
        best = model.environments[0].place_bin_centers_[np.nanargmax(posterior, axis=1), 0]
        return float(np.median(np.abs(best - self.position[~self.is_training, 0])))


@pytest.mark.parametrize("n_feature", [8, 10])
def test_many_features_decode_by_default(n_feature: int) -> None:
    """1: a floor of 1e-15 per uV^D flattens every spike; the original's error is 76.7 cm at 8
    features and 81.5 cm at 10, which is chance on 175 cm."""
    recording = Recording(n_feature)
    with pytest.warns(UserWarning, match="floor='relative'"):
        model = recording.decoder()
    assert recording.error(model) < 5.0
    with pytest.warns(UserWarning, match="floor"):
        lost = recording.error(recording.decoder(floor="absolute"))
    assert lost > 20.0, "the original's rule should be as bad as it is known to be"


@pytest.mark.parametrize("n_chunks", [2, 3, 7, 50])
def test_chunks_change_nothing(n_chunks: int) -> None:
    """2: the original loses and misplaces the spikes around every chunk border, up to 34.5 nats."""
    recording = Recording(4)
    model = recording.decoder()
    given = recording.times, recording.marks, recording.held_out[:400]
    whole = model.predict(*given, return_outputs="all")
    parts = model.predict(*given, return_outputs="all", n_chunks=n_chunks)
    for name in whole:
        assert np.array_equal(np.asarray(whole[name]), np.asarray(parts[name]), equal_nan=True)
    assert whole.attrs["marginal_log_likelihoods"] == parts.attrs["marginal_log_likelihoods"]


@pytest.mark.parametrize("tolerance", [EXACT, FAST], ids=["exact", "fast"])
def test_artefact_is_independent_of_its_neighbours(tolerance: Any) -> None:
    """3: where a product underflows the original writes the floor before rate and occupancy: -33.85
    instead of -34.54 at a bin with occupancy 0.02, and only if its block holds certain spikes."""
    recording = Recording(4)
    environment = Environment().fit_place_grid(recording.position)
    model = encode(
        environment,
        recording.time,
        recording.position,
        recording.times,
        recording.marks,
        position_std=6.0,
        waveform_std=24.0,
        mode=tolerance.mode,
    )
    artefact = np.full((1, 4), 5000.0)
    alone = log_joint(model, 0, artefact, tolerance.dtype)
    crowd = np.concatenate([recording.marks[0][:300], artefact, recording.marks[0][300:600]])
    among = log_joint(model, 0, crowd, tolerance.dtype)[300:301]
    assert np.array_equal(alone, among)
    np.testing.assert_allclose(alone, reference.LOG_EPS, rtol=0, atol=tolerance.floor)


def test_bins_narrower_than_samples_are_named_and_corrected() -> None:
    """5: the original subtracts the expected count of one position sample from every decoding bin,
    however wide: 5 times too little at 10 ms with samples every 2 ms, without a word."""
    recording = Recording(4)
    edges = recording.held_out[::5]
    empty = [np.zeros(0)] * 8, [np.zeros((0, 4))] * 8
    plain = recording.decoder()
    with pytest.warns(UserWarning, match="factor of 5"):
        one = predict(plain, *empty, edges, ["log_likelihood"])["log_likelihood"]
    right = recording.decoder(bin_scale="auto")
    five = predict(right, *empty, edges, ["log_likelihood"])["log_likelihood"]
    np.testing.assert_allclose(five, 5 * one, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:[78] of 8 electrodes")
def test_spike_beside_a_gap_counts_once_if_asked() -> None:
    """7: the original widens runs of training samples by a whole step, so a spike at a lone missing
    sample is in both neighbours and counts twice."""
    recording = Recording(4)
    recording.is_training[1000] = False
    spike = [recording.time[1000:1001]] + [np.zeros(0)] * 7
    marks = [np.full((1, 4), 100.0)] + [np.zeros((0, 4))] * 7
    counts = {}
    for membership in ("original", "nearest"):
        model = ClusterlessDecoder(membership=membership)
        model.fit(
            recording.time, recording.position, spike, marks, is_training=recording.is_training
        )
        (encoding,) = model.encoding_model_.values()
        counts[membership] = len(encoding["encoding_positions"][0])
    assert counts["original"] == 2
    assert counts["nearest"] <= 1


def test_user_mask_works() -> None:
    """9: with is_track_interior the original raises AttributeError in fit."""
    rng = np.random.default_rng(1)
    position = rng.uniform(0, (20, 12), (4000, 2))
    free = Environment(place_bin_size=2.0).fit_place_grid(position)
    mask = np.asarray(free.is_track_interior_).copy()
    mask[3:5, 3:5] = False
    environment = Environment(place_bin_size=2.0, is_track_interior=mask).fit_place_grid(position)
    assert np.array_equal(environment.is_track_interior_, mask)
    times, marks = [np.sort(rng.uniform(0, 8, 300))], [rng.normal(100, 30, (300, 4))]
    model = ClusterlessDecoder(environments=Environment(place_bin_size=2.0, is_track_interior=mask))
    model.fit(np.arange(4000) * STEP, position, times, marks)
    posterior = np.asarray(model.predict(times, marks, np.arange(50) * STEP)["acausal_posterior"])
    assert np.array_equal(np.isnan(posterior[0]), ~mask.ravel())
    np.testing.assert_allclose(np.nansum(posterior, axis=1), 1.0, atol=1e-5)


def test_dilation_up_to_the_padding_works() -> None:
    """9: the original clears the last slices alone and then fails on the first with KeyError."""
    rng = np.random.default_rng(1)
    position = rng.uniform(0, (20, 12), (4000, 2))
    environment = Environment(place_bin_size=2.0, dilate=True).fit_place_grid(position)
    interior = np.asarray(environment.is_track_interior_)
    for edge in (interior[0], interior[-1], interior[:, 0], interior[:, -1]):
        assert not edge.any()
    assert np.isfinite(
        environment.distance_between_nodes_[np.ix_(interior.ravel(), interior.ravel())]
    ).all()


def test_not_a_number_is_refused_or_dropped() -> None:
    """12: one NaN feature makes every later row of the original's posterior NaN."""
    recording = Recording(4)
    model = recording.decoder()
    at = int(np.searchsorted(recording.times[2], recording.held_out[0])) + 3
    bad = [marks.copy() for marks in recording.marks]
    bad[2][at, 1] = np.nan
    with pytest.raises(ValueError, match=rf"electrode 2, spike {at}.*feature 1 is NaN"):
        model.predict(recording.times, bad, recording.held_out)
    dropping = recording.decoder(nan_policy="drop")
    with pytest.warns(UserWarning, match="discarded 1 decoding spikes"):
        results = dropping.predict(recording.times, bad, recording.held_out)
    posterior = np.asarray(results["acausal_posterior"])
    assert np.isfinite(posterior).all()
    fewer = [np.delete(x, at, axis=0) if e == 2 else x for e, x in enumerate(recording.times)]
    rest = [np.delete(x, at, axis=0) if e == 2 else x for e, x in enumerate(recording.marks)]
    want = np.asarray(dropping.predict(fewer, rest, recording.held_out)["acausal_posterior"])
    assert np.array_equal(posterior, want)


def test_missing_position_need_not_share_the_grid() -> None:
    """13: with NaN in a 30 Hz position the original compares masks of different lengths and raises;
    here its run becomes the rows it covers."""
    recording = Recording(4)
    model = NonLocalClusterlessDetector()
    model.fit(
        recording.time,
        recording.position,
        recording.times,
        recording.marks,
        is_training=recording.is_training,
    )
    camera_time = np.arange(47.9, 50.0, 1 / 30)
    camera = np.interp(camera_time, recording.time, recording.position[:, 0])
    camera[(camera_time > 48.5) & (camera_time < 48.7)] = np.nan
    edges = np.arange(48.0, 49.5, STEP)
    with pytest.warns(UserWarning, match="position is NaN at 120 of 768 decoded times"):
        found = predict(
            model,
            recording.times,
            recording.marks,
            edges,
            ["log_likelihood", "acausal_posterior"],
            position=camera,
            position_time=camera_time,
        )
    inside = (edges > 48.54) & (edges < 48.66)
    outside = (edges < 48.46) | (edges > 48.74)
    assert np.all(found["log_likelihood"][inside] == 0)
    assert np.all(np.any(found["log_likelihood"][outside] != 0, axis=1))
    assert np.isfinite(found["acausal_posterior"]).all()


def test_bandwidths_must_match_the_coordinates() -> None:
    """17: with one bandwidth and two coordinates the original leaves y out of every density."""
    rng = np.random.default_rng(1)
    position = rng.uniform(0, (20, 12), (4000, 2))
    environment = Environment(place_bin_size=2.0).fit_place_grid(position)
    given = (
        np.arange(4000) * STEP,
        position,
        [np.sort(rng.uniform(0, 8, 300))],
        [rng.normal(100, 30, (300, 4))],
    )
    with pytest.raises(ValueError, match=r"position_std.*1"):
        encode(environment, *given, position_std=np.array([6.0]), waveform_std=24.0)


def test_order_of_spikes_does_not_matter() -> None:
    """18: the original sums unsorted spikes into wrong rows on a GPU, and never checks."""
    recording = Recording(4)
    model = recording.decoder()
    begin, end = recording.held_out[[0, 300]]
    inside = [(t >= begin) & (t <= end) for t in recording.times]
    times = [t[k] for t, k in zip(recording.times, inside, strict=True)]
    marks = [m[k] for m, k in zip(recording.marks, inside, strict=True)]
    rng = np.random.default_rng(2)
    orders = [rng.permutation(len(t)) for t in times]
    shuffled = (
        [t[k] for t, k in zip(times, orders, strict=True)],
        [m[k] for m, k in zip(marks, orders, strict=True)],
    )
    want = model.predict(times, marks, recording.held_out[:301])
    with pytest.warns(UserWarning, match="sorted"):
        got = model.predict(*shuffled, recording.held_out[:301])
    assert np.array_equal(
        np.asarray(got["acausal_posterior"]), np.asarray(want["acausal_posterior"])
    )


def test_local_floor_is_that_of_the_bins() -> None:
    """4: the original's two modules differ by up to 8e4 nats for an outlier at the animal."""
    recording = Recording(4)
    environment = Environment().fit_place_grid(recording.position)
    model = encode(
        environment,
        recording.time,
        recording.position,
        recording.times,
        recording.marks,
        position_std=6.0,
        waveform_std=24.0,
        mode="exact",
    )
    times = [np.array([recording.time[100] + 0.001])] + [np.zeros(0)] * 7
    marks = [np.full((1, 4), 5000.0)] + [np.zeros((0, 4))] * 7
    given = observation(
        recording.time[99:103],
        times,
        marks,
        position=recording.position,
        position_time=recording.time,
    )
    nothing = observation(
        recording.time[99:103],
        [np.zeros(0)] * 8,
        [np.zeros((0, 4))] * 8,
        position=recording.position,
        position_time=recording.time,
    )
    spike, _ = log_likelihood(model, given, local=True)
    silent, _ = log_likelihood(model, nothing, local=True)
    np.testing.assert_allclose((spike - silent)[1], reference.LOG_EPS, rtol=0, atol=1e-9)
