"""The online decoder: every likelihood, learning, snapshots and triggers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from decode_data import Spikes, make_plane, make_spikes
from helpers import Floats
from tessera.decode import (
    ContFragClusterlessClassifier,
    ContFragSortedSpikesClassifier,
    Environment,
    NonLocalClusterlessDetector,
    NonLocalSortedSpikesDetector,
    OnlineDecoder,
)
from tessera.decode.online import TriggerEvent

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

WIDTH = 0.02
N_BIN = 150
FIRST = 1000  # position sample at which decoding begins


@pytest.fixture(scope="module")
def spikes() -> Spikes:
    return make_spikes()


def fitted(cls: type, spikes: Spikes, algorithm: str, **more: Any) -> Any:
    is_sorted = "Sorted" in cls.__name__
    params = {
        "clusterless_kde": {"position_std": 6.0, "waveform_std": 24.0},
        "clusterless_gmm": {
            "gmm_components_occupancy": 4,
            "gmm_components_gpi": 4,
            "gmm_components_joint": 8,
        },
        "sorted_spikes_kde": {"position_std": 6.0},
        "sorted_spikes_glm": {},
    }[algorithm]
    kind = "sorted_spikes" if is_sorted else "clusterless"
    more |= {f"{kind}_algorithm": algorithm, f"{kind}_algorithm_params": params}
    model = cls(environments=Environment(place_bin_size=4.0), **more)
    return model.fit(*spikes.fit_args()[: 3 if is_sorted else 4])


def push_all(online: OnlineDecoder, spikes: Spikes, is_sorted: bool) -> None:
    """Positions around the decoded part, and its spikes."""
    begin, end = spikes.time[FIRST], spikes.time[FIRST] + N_BIN * WIDTH
    for i in range(FIRST - 2, FIRST + N_BIN + 3):
        online.push_position(spikes.time[i], spikes.position[i])
    for e, times in enumerate(spikes.spike_times):
        mine = (times >= begin) & (times < end)
        online.push_spikes(times[mine], e, None if is_sorted else spikes.features[e][mine])


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize(
    "algorithm", ["clusterless_kde", "clusterless_gmm", "sorted_spikes_kde", "sorted_spikes_glm"]
)
def test_every_likelihood_is_the_offline_one(spikes: Spikes, algorithm: str, local: bool) -> None:
    is_sorted = algorithm.startswith("sorted")
    cls = {
        (False, False): ContFragClusterlessClassifier,
        (False, True): NonLocalClusterlessDetector,
        (True, False): ContFragSortedSpikesClassifier,
        (True, True): NonLocalSortedSpikesDetector,
    }[is_sorted, local]
    model = fitted(cls, spikes, algorithm)
    edges = spikes.time[FIRST] + np.arange(N_BIN + 1) * WIDTH
    given = (spikes.spike_times,) if is_sorted else (spikes.spike_times, spikes.features)
    want = model.predict(
        *given,
        time=edges,
        position=spikes.position,
        position_time=spikes.time,
        return_outputs=["log_likelihood", "filter"],
    )
    online = OnlineDecoder(model, edges[0], bin_width=WIDTH, n_history=N_BIN)
    push_all(online, spikes, is_sorted)
    assert online.advance(edges[-1] + 1e-9) == N_BIN
    inside = ~np.isnan(np.asarray(want.causal_posterior)[0])
    for k in range(N_BIN):
        found = online.get(k)
        np.testing.assert_allclose(
            found["posterior"], np.asarray(want.causal_posterior)[k][inside], rtol=0, atol=3e-5
        )
    assert online.stats()["n_spike"] > 50


# ---- Learning


def likelihood(online: OnlineDecoder, spikes: Spikes, is_sorted: bool) -> Floats:
    """Log likelihood rows of the decoded part."""
    online.reset(spikes.time[FIRST])
    push_all(online, spikes, is_sorted)
    online.advance(spikes.time[FIRST] + N_BIN * WIDTH + 1e-9)
    return np.array([online.get(k)["log_likelihood"] for k in range(N_BIN)])


def learn_all(online: OnlineDecoder, spikes: Spikes, is_sorted: bool, first: int = 0) -> None:
    """Positions from a sample on and spikes between them, in the order of time."""
    events = [(t, 0, -1, i) for i, t in enumerate(spikes.time) if i >= first]
    for e, times in enumerate(spikes.spike_times):
        events += [(t, 1, e, i) for i, t in enumerate(times) if t > spikes.time[first]]
    for t, _, e, i in sorted(events):
        if e < 0:
            online.learn_position(t, spikes.position[i])
        else:
            online.learn_spike(t, e, () if is_sorted else spikes.features[e][i])


KINDS = pytest.mark.parametrize(
    ("cls", "algorithm"),
    [
        (ContFragClusterlessClassifier, "clusterless_kde"),
        (ContFragSortedSpikesClassifier, "sorted_spikes_kde"),
    ],
)


@KINDS
@pytest.mark.parametrize("from_nothing", [True, False])
def test_a_learned_model_is_the_fitted_one(
    spikes: Spikes, cls: type, algorithm: str, from_nothing: bool
) -> None:
    is_sorted = "Sorted" in cls.__name__
    model = fitted(cls, spikes, algorithm)
    options: dict[str, Any] = {"bin_width": WIDTH, "n_history": N_BIN}
    want_online = OnlineDecoder(model, **options)
    learning = OnlineDecoder(
        model, learn="grow", learn_from_nothing=from_nothing, learn_refresh=1e6, **options
    )
    if from_nothing:
        assert learning.learned()["n_kept"] == [0, 0, 0]
        learn_all(learning, spikes, is_sorted)
        learning.refresh()
    encoding = model.encoding_model_["", 0]
    found = learning.learned()
    rate = encoding["mean_rates"]
    np.testing.assert_allclose(found["mean_rates"], np.asarray(rate), rtol=1e-12)
    np.testing.assert_allclose(found["occupancy"], encoding["occupancy"], rtol=2e-7)
    ground = (
        np.asarray(encoding["place_fields"]).sum(axis=0)
        if is_sorted
        else encoding["summed_ground_process_intensity"]
    )
    np.testing.assert_allclose(found["summed_ground_intensity"], ground, rtol=2e-7)
    want = likelihood(want_online, spikes, is_sorted)
    got = likelihood(learning, spikes, is_sorted)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-4)


def part(spikes: Spikes, begin: float, end: float) -> Spikes:
    """Samples and spikes of a stretch of time."""
    is_in = (spikes.time >= begin) & (spikes.time < end)
    mine = [(t >= begin) & (t < end) for t in spikes.spike_times]
    return Spikes(
        spikes.time[is_in],
        spikes.position[is_in],
        [t[k] for t, k in zip(spikes.spike_times, mine, strict=True)],
        [f[k] for f, k in zip(spikes.features, mine, strict=True)],
    )


@pytest.mark.parametrize(
    ("algorithm", "params"),
    [
        ("clusterless_kde", {"waveform_std": 20.0, "mode": "fast"}),
        ("clusterless_kde", {"waveform_std": 20.0, "mode": "exact"}),
        ("sorted_spikes_kde", {}),
    ],
)
@pytest.mark.parametrize("policy", ["grow", "window", "reservoir"])
@pytest.mark.parametrize("first_part", [0.0, 0.6])
def test_learning_in_the_plane_is_a_fit(
    algorithm: str, params: dict[str, Any], policy: Any, first_part: float
) -> None:
    """Whatever a decoder was fitted with and then learned, within its room, a fit makes the same
    of all of it."""
    data = make_plane()
    rng = np.random.default_rng(2)
    # place cells: a spike's marks and times say where the animal is
    at = [np.array([np.interp(t, data.time, x) for x in data.position.T]).T
          for t in data.spike_times]  # fmt: skip
    data.features = [60 + 3 * p @ rng.normal(0, 1, (2, 3)) + rng.normal(0, 8, (len(p), 3))
                     for p in at]  # fmt: skip
    is_sorted = algorithm.startswith("sorted")
    cls = ContFragSortedSpikesClassifier if is_sorted else ContFragClusterlessClassifier
    kind = "sorted_spikes" if is_sorted else "clusterless"

    def fit(some: Spikes) -> Any:
        environment = Environment(place_bin_size=4.0, position_range=[(0.0, 40.0), (0.0, 24.0)])
        more: Any = {f"{kind}_algorithm": algorithm, f"{kind}_algorithm_params": {
            "position_std": 4.0, **params}}  # fmt: skip
        model = cls(environments=environment, infer_track_interior=False, **more)
        return model.fit(*some.fit_args()[: 3 if is_sorted else 4])

    split = 40 * first_part
    # a sample before the split places the spikes up to it; those between are nobody's
    rest = part(data, split, 41)
    known = part(data, 0, rest.time[0] - 0.02 + 1e-9) if first_part else data
    online = OnlineDecoder(
        fit(known), rest.time[0], bin_width=WIDTH, n_history=100, learn=policy, learn_capacity=320,
        learn_samples=2500, learn_from_nothing=not first_part, learn_refresh=1e6,
    )  # fmt: skip
    # two refreshes: each of the decoder's two models has to learn what the other did
    middle = rest.time[len(rest.time) // 2]
    learn_all(online, part(rest, 0, middle), is_sorted)
    online.refresh()
    learn_all(online, part(rest, middle, 41), is_sorted)
    online.refresh()
    whole = data if not first_part else Spikes(
        np.concatenate((known.time, rest.time)),
        np.concatenate((known.position, rest.position)),
        [np.concatenate(k) for k in zip(known.spike_times, rest.spike_times, strict=True)],
        [np.concatenate(k) for k in zip(known.features, rest.features, strict=True)],
    )  # fmt: skip
    want = OnlineDecoder(fit(whole), rest.time[0], bin_width=WIDTH, n_history=100)
    for k in (online, want):
        for e, times in enumerate(rest.spike_times):
            mine = times < rest.time[0] + 100 * WIDTH
            k.push_spikes(times[mine], e, None if is_sorted else rest.features[e][mine])
        assert k.advance(rest.time[0] + 100 * WIDTH + 1e-9) == 100
    assert online.learned()["n_kept"] == [len(t) for t in whole.spike_times]
    got, expected = (
        np.array([k.get(i)["log_likelihood"] for i in range(100)]) for k in (online, want)
    )
    assert np.ptp(expected) > 2
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=2e-4)


EPS = 1e-15


def philox_uniform(seed: int, item: int, purpose: int, index: int) -> float:
    """Philox4x32-10 with 53 bits, number index of a stream."""
    key = [seed & 0xFFFFFFFF, seed >> 32]
    c = [index & 0xFFFFFFFF, index >> 32, item, purpose]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ key[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ key[1], a & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return ((c[0] << 32 | c[1]) >> 11) * 2.0**-53


class Literal:
    """What a learning decoder keeps and what follows from it, word by word."""

    def __init__(self, policy: str, capacity: int, samples: int, seed: int) -> None:
        self.policy, self.capacity, self.samples, self.seed = policy, capacity, samples, seed
        self.kept_samples: list[Any] = []
        self.n_seen = 0
        self.kept: list[list[Any]] = [[], [], []]  # (place, mark, samples seen)
        self.n_counted = [0, 0, 0]
        self.first, self.end = [0, 0, 0], [-1, -1, -1]

    def choose(self, capacity: int, n: int, item: int, purpose: int) -> int:
        if n < capacity:
            return n
        if self.policy == "window":
            return n % capacity
        if self.policy == "reservoir":
            slot = int(philox_uniform(self.seed, item, purpose, n) * (n + 1))
            return slot if slot < capacity else -1
        return -1

    def sample(self, place: float) -> None:
        n = self.n_seen
        self.n_seen += 1
        if self.policy == "grow":
            self.kept_samples.append(place)
            return
        slot = self.choose(self.samples, n, 0, 0x1EA22)
        if slot == len(self.kept_samples):
            self.kept_samples.append(place)
        elif slot >= 0:
            self.kept_samples[slot] = place

    def spike(self, e: int, place: float, mark: Any) -> None:
        slot = self.choose(self.capacity, self.n_counted[e], e, 0x1EA21)
        if slot < 0 and self.policy == "grow":
            self.end[e] = self.n_seen if self.end[e] < 0 else self.end[e]
            return
        self.n_counted[e] += 1
        if slot == len(self.kept[e]):
            self.kept[e].append((place, mark, self.n_seen))
        elif slot >= 0:
            if self.policy == "window":
                self.first[e] = self.kept[e][slot][2]
            self.kept[e][slot] = (place, mark, self.n_seen)

    def rates(self) -> Floats:
        out = []
        for e in range(3):
            end = self.n_seen if self.end[e] < 0 else self.end[e]
            n = len(self.kept[e]) if self.policy == "window" else self.n_counted[e]
            out.append(n / max(end - self.first[e], 1))
        return np.array(out)

    def density(self, places: Any, centers: Floats, std: float) -> Floats:
        u = (centers[:, None] - np.asarray(places)[None]) / std
        norm = len(places) * std * np.sqrt(2 * np.pi)
        return np.asarray(np.exp(-0.5 * u**2).sum(1) / norm)

    def model(self, centers: Floats, std: float) -> tuple[Floats, Floats]:
        pi = self.density(self.kept_samples, centers, std)
        ground = np.zeros(len(centers))
        for rate, kept in zip(self.rates(), self.kept, strict=True):
            ground += np.maximum(rate * self.density([k[0] for k in kept], centers, std) / pi, EPS)
        return pi, ground

    def spike_values(
        self, e: int, mark: Floats, centers: Floats, std: float, mark_std: float
    ) -> Floats:
        pi, _ = self.model(centers, std)
        place = np.array([k[0] for k in self.kept[e]])
        marks = np.array([k[1] for k in self.kept[e]])
        norm_m = (mark_std * np.sqrt(2 * np.pi)) ** marks.shape[1]
        weight = np.exp(-0.5 * (((marks - mark) / mark_std) ** 2).sum(1)) / norm_m
        kernel = np.exp(-0.5 * ((centers[:, None] - place) / std) ** 2) / (std * np.sqrt(2 * np.pi))
        density = (kernel @ weight) / len(place)
        return np.asarray(np.log(np.maximum(self.rates()[e] * density / pi, EPS)))


@KINDS
@pytest.mark.parametrize("policy", ["grow", "window", "reservoir"])
def test_policies_are_what_they_say(spikes: Spikes, cls: type, algorithm: str, policy: Any) -> None:
    is_sorted = "Sorted" in cls.__name__
    model = fitted(cls, spikes, algorithm)
    capacity, samples, seed = 150, 900, 5
    online = OnlineDecoder(
        model,
        bin_width=WIDTH,
        n_history=N_BIN,
        learn=policy,
        learn_from_nothing=True,
        learn_capacity=capacity,
        learn_samples=samples,
        learn_seed=seed,
        learn_refresh=1e6,
        max_pending=120,
    )
    learn_all(online, spikes, is_sorted)
    online.freeze()
    literal = Literal(policy, capacity, samples, seed)
    order = sorted(
        [(t, 1, e, i) for e, times in enumerate(spikes.spike_times) for i, t in enumerate(times)]
    )
    at = 0
    for k, t in enumerate(spikes.time):
        literal.sample(spikes.position[k])
        ready: list[list[Any]] = [[], [], []]
        while at < len(order) and order[at][0] <= t:
            ready[order[at][2]].append(order[at])
            at += 1
        for e in range(3):
            for when, _, _, i in ready[e]:
                place = np.interp(when, spikes.time, spikes.position)
                mark = None if is_sorted else np.float32(spikes.features[e][i]).astype(float)
                literal.spike(e, place, mark)
    centers = np.asarray(model.environments[0].place_bin_centers_)[:, 0]
    pi, ground = literal.model(centers, 6.0)
    found = online.learned()
    assert found["n_kept"] == [len(k) for k in literal.kept] == [capacity] * 3
    assert found["n_sample"] == len(literal.kept_samples)
    assert (found["n_full"] > 0) == (policy == "grow")
    np.testing.assert_allclose(found["mean_rates"], literal.rates(), rtol=1e-14)
    np.testing.assert_allclose(found["occupancy"], pi, rtol=1e-9)
    np.testing.assert_allclose(found["summed_ground_intensity"], ground, rtol=1e-9)
    got = likelihood(online, spikes, is_sorted)
    rows = np.zeros((N_BIN, len(centers))) - ground
    begin = spikes.time[FIRST]
    for e, times in enumerate(spikes.spike_times):
        for i, t in enumerate(times):
            k = int(np.floor((t - begin) / WIDTH))
            if 0 <= k < N_BIN:
                if is_sorted:
                    field = literal.rates()[e] * literal.density(
                        [s[0] for s in literal.kept[e]], centers, 6.0
                    )
                    rows[k] += np.log(np.maximum(field / pi, EPS))
                else:
                    mark = np.float32(spikes.features[e][i]).astype(float)
                    rows[k] += literal.spike_values(e, mark, centers, 6.0, 24.0)
    np.testing.assert_allclose(got[:, : len(centers)], rows, rtol=1e-5, atol=5e-4)


def test_slow_animals_teach_nothing(spikes: Spikes) -> None:
    model = fitted(ContFragClusterlessClassifier, spikes, "clusterless_kde")
    online = OnlineDecoder(
        model, learn="grow", learn_from_nothing=True, learn_min_speed=15.0, bin_width=WIDTH
    )
    learn_all(online, spikes, is_sorted=False)
    online.refresh()
    fast = np.abs(np.diff(spikes.position)) >= 15 * np.diff(spikes.time)
    found = online.learned()
    assert found["n_sample"] == np.count_nonzero(fast)
    assert found["n_slow_sample"] == len(fast) + 1 - np.count_nonzero(fast)
    learned = [
        np.count_nonzero(fast[np.searchsorted(spikes.time, t[t <= spikes.time[-1]]) - 1])
        for t in spikes.spike_times
    ]
    assert found["n_kept"] == learned


def test_hostile_lessons_leave_the_decoder_as_it_was(spikes: Spikes) -> None:
    model = fitted(ContFragClusterlessClassifier, spikes, "clusterless_kde")
    online = OnlineDecoder(
        model, learn="window", learn_capacity=100, bin_width=WIDTH, n_history=N_BIN
    )
    plain = OnlineDecoder(
        model, learn="window", learn_capacity=100, bin_width=WIDTH, n_history=N_BIN
    )
    for k in (online, plain):
        k.learn_position(100.0, 50.0)
        k.learn_spike(100.5, 1, [90.0, 80.0, 70.0, 60.0])
    bad = np.array([1.0, np.nan, 2.0, 3.0])
    good = np.array([100.0, 90.0, 80.0, 70.0])
    lessons: list[tuple[Callable[[], None], str]] = [
        (lambda: online.learn_spike(101.0, 0, bad), "feature 1 is nan"),
        (lambda: online.learn_spike(np.inf, 0, good), "time of a spike is inf"),
        (lambda: online.learn_spike(101.0, 9, good), "electrode: 9 is unknown"),
        (lambda: online.learn_spike(101.0, 0, good[:2]), "4 features, got 2"),
        (lambda: online.learn_spike(100.2, 1, good), "in the order of time"),
        (lambda: online.learn_position(99.0, 50.0), "does not come after"),
        (lambda: online.learn_position(np.nan, 50.0), "does not come after"),
        (lambda: online.learn_position(101.0, np.nan), "coordinate 0 is nan"),
        (lambda: online.learn_position(101.0, 500.0), "off the track"),
        (lambda: online.learn_position(101.0, [1.0, 2.0]), "1 coordinates, got 2"),
    ]
    for call, words in lessons:
        with pytest.raises(ValueError, match=words):
            call()
    for k in (online, plain):
        k.learn_position(101.0, 51.0)
        k.refresh()
    assert online.learned()["n_kept"] == [100, 100, 100]
    np.testing.assert_array_equal(
        likelihood(online, spikes, False), likelihood(plain, spikes, False)
    )
    with pytest.raises(ValueError, match="does not learn"):
        OnlineDecoder(model).learn_position(1.0, 2.0)


def test_what_cannot_learn_says_so(spikes: Spikes) -> None:
    gmm = fitted(ContFragClusterlessClassifier, spikes, "clusterless_gmm")
    with pytest.raises(ValueError, match="clusterless_gmm cannot learn"):
        OnlineDecoder(gmm, learn="grow")
    local = fitted(NonLocalClusterlessDetector, spikes, "clusterless_kde")
    with pytest.raises(ValueError, match="set local_position_std"):
        OnlineDecoder(local, learn="grow")
    kde = fitted(ContFragClusterlessClassifier, spikes, "clusterless_kde")
    with pytest.raises(ValueError, match="learn_capacity: 10, but electrode 0"):
        OnlineDecoder(kde, learn="grow", learn_capacity=10)


def test_freeze_counts_and_keeps(spikes: Spikes) -> None:
    model = fitted(ContFragClusterlessClassifier, spikes, "clusterless_kde")
    online = OnlineDecoder(model, learn="grow")
    before = online.learned()
    online.freeze()
    online.learn_position(200.0, 50.0)
    online.learn_spike(200.0, 0, spikes.features[0][0])
    after = online.learned()
    assert after["is_frozen"]
    assert after["n_ignored"] == 2
    np.testing.assert_array_equal(after["occupancy"], before["occupancy"])
    online.unfreeze()
    online.learn_position(201.0, 50.0)
    online.learn_spike(201.0, 0, spikes.features[0][0])
    online.refresh()
    assert online.learned()["n_kept"][0] == before["n_kept"][0] + 1


# ---- Snapshots


def play(online: OnlineDecoder, spikes: Spikes, first: int, end: int) -> list[dict[str, Any]]:
    """Decode and learn bins first..end-1, and return them."""
    found = []
    for k in range(first, end):
        left = spikes.time[FIRST] + k * WIDTH
        right = spikes.time[FIRST] + (k + 1) * WIDTH
        online.learn_position(spikes.time[FIRST + k], spikes.position[FIRST + k])
        online.push_position(spikes.time[FIRST + k], spikes.position[FIRST + k])
        for e, times in enumerate(spikes.spike_times):
            for i in np.flatnonzero((times >= left) & (times < right)):
                online.learn_spike(times[i], e, spikes.features[e][i])
                online.push_spike(times[i], e, spikes.features[e][i])
        # half a bin more, which waits across a snapshot
        online.push_spike(right + WIDTH / 2, 0, spikes.features[0][k])
        assert online.advance(right + 1e-9) == 1
        found.append(dict(online.get(k)))
    return found


@pytest.mark.parametrize("policy", ["grow", "window", "reservoir"])
def test_a_restored_decoder_goes_on(spikes: Spikes, tmp_path: Path, policy: Any) -> None:
    model = fitted(NonLocalClusterlessDetector, spikes, "clusterless_kde", local_position_std=4.0)

    def fresh() -> tuple[OnlineDecoder, list[int]]:
        online = OnlineDecoder(
            model, spikes.time[FIRST], bin_width=WIDTH, learn=policy, learn_refresh=0.1,
            learn_capacity=2000 if policy == "grow" else 700, learn_samples=2000,
        )  # fmt: skip
        fired: list[int] = []
        online.set_trigger(2, lambda e: fired.append(e.bin), state="Local", threshold=0.3,
                           n_average=7, lockout=0.15)  # fmt: skip
        return online, fired

    whole, whole_fired = fresh()
    play(whole, spikes, 0, 53)
    whole.snapshot(tmp_path / "state")
    before = len(whole_fired)
    want = play(whole, spikes, 53, 120)
    again, fired = fresh()
    again.restore(tmp_path / "state")
    with pytest.raises(ValueError, match="bin 52: no bin is finished yet"):
        again.get(52)
    for a, b in zip(play(again, spikes, 53, 120), want, strict=True):
        for name in ("posterior", "log_likelihood", "state_probabilities", "log_norm", "n_spike"):
            np.testing.assert_array_equal(a[name], b[name])
    assert fired == whole_fired[before:]
    learned, relearned = cast("Any", whole.learned()), cast("Any", again.learned())
    for name in ("occupancy", "summed_ground_intensity", "n_kept", "n_spike", "n_refresh"):
        np.testing.assert_array_equal(learned[name], relearned[name])
    assert {**whole.stats(), "latency": 0, "latency_max_s": 0, "n_deadline_miss": 0} == {
        **again.stats(),
        "latency": 0,
        "latency_max_s": 0,
        "n_deadline_miss": 0,
    }


def test_bad_snapshots_are_refused(spikes: Spikes, tmp_path: Path) -> None:
    model = fitted(ContFragClusterlessClassifier, spikes, "clusterless_kde")
    online = OnlineDecoder(model, bin_width=WIDTH, learn="window", learn_capacity=300)
    path = tmp_path / "state"
    online.snapshot(path)
    with pytest.raises(FileExistsError):
        online.snapshot(path)
    online.snapshot(path, overwrite=True)
    good = path.read_bytes()
    before = online.learned()["occupancy"]
    for damaged, words in [
        (good[:20], "too short"),
        (good[:-8], "checksum does not match"),
        (good[:5000] + b"\x5a" + good[5001:], "checksum does not match"),
        (b"x" * 100, "is no snapshot"),
        (b"", "too short"),
    ]:
        path.write_bytes(damaged)
        with pytest.raises((ValueError, OSError), match=words):
            online.restore(path)
    path.write_bytes(good)
    other = OnlineDecoder(model, bin_width=WIDTH, learn="window", learn_capacity=301)
    with pytest.raises((ValueError, OSError), match="another model"):
        other.restore(path)
    with pytest.raises(FileNotFoundError):
        online.restore(tmp_path / "absent")
    np.testing.assert_array_equal(online.learned()["occupancy"], before)
    online.restore(path)


# ---- Triggers


def test_triggers_fire_when_they_should(spikes: Spikes) -> None:
    model = fitted(ContFragClusterlessClassifier, spikes, "clusterless_kde")
    online = OnlineDecoder(model, spikes.time[FIRST], bin_width=WIDTH, n_history=N_BIN)
    state: list[TriggerEvent] = []
    place: list[TriggerEvent] = []
    where = np.arange(8, 14)
    online.set_trigger(0, state.append, state="Continuous", threshold=0.6, n_average=3)
    online.set_trigger(7, place.append, places=where, threshold=0.5, lockout=0.1, min_electrodes=1)
    push_all(online, spikes, is_sorted=False)
    online.advance(spikes.time[FIRST] + N_BIN * WIDTH + 0.003)
    bins = [online.get(k) for k in range(N_BIN)]
    mass = np.array([b["state_probabilities"][0] for b in bins])
    mean = np.convolve(mass, np.full(3, 1 / 3), "valid")
    assert [e.bin for e in state] == [k + 2 for k in range(len(mean)) if mean[k] > 0.6]
    n_place = len(bins[0]["posterior"]) // 2
    want, quiet, n_locked = [], -np.inf, 0
    for k, b in enumerate(bins):
        two = b["posterior"].reshape(2, n_place)[:, where].sum()
        if two > 0.5 and b["n_electrode_active"] >= 1:
            if b["start_s"] < quiet:
                n_locked += 1
            else:
                want.append(k)
                quiet = b["start_s"] + 0.1
    assert [e.bin for e in place] == want
    assert len(want) > 3
    stats = online.trigger_stats(7)
    assert (stats["n_fired"], stats["n_locked"], sum(stats["latency"])) == (
        len(want), n_locked, len(want)
    )  # fmt: skip
    assert all(0 < e.latency < 1 and e.trigger == 7 for e in place)
    assert stats["latency_max_s"] == max(e.latency for e in place)
    np.testing.assert_allclose(
        [e.lag for e in place], 0.003 + (N_BIN - 1 - np.array(want)) * WIDTH, atol=1e-9
    )


def test_bad_triggers_are_refused(spikes: Spikes) -> None:
    model = fitted(ContFragClusterlessClassifier, spikes, "clusterless_kde")
    online = OnlineDecoder(model, spikes.time[FIRST], bin_width=WIDTH)
    for keywords, words in [
        ({"state": "Nowhere"}, "'Nowhere' is none of"),
        ({}, "either a state or state bins"),
        ({"places": [1000]}, "bins are 0 to"),
        ({"state": "Continuous", "threshold": 1.5}, "threshold 1.5"),
        ({"state": "Continuous", "n_average": 0}, "n_average is 1 to 1024"),
        ({"state": "Continuous", "lockout": -1.0}, "lockout"),
    ]:
        with pytest.raises(ValueError, match=words):
            online.set_trigger(0, print, **cast("Any", keywords))
    with pytest.raises(ValueError, match="numbers 0 to 7, not 8"):
        online.set_trigger(8, print, state="Continuous")

    def fail(event: TriggerEvent) -> None:
        message = f"at bin {event.bin}"
        raise RuntimeError(message)

    online.set_trigger(1, fail, state="Continuous", threshold=0.0)
    with pytest.raises(RuntimeError, match="at bin 0"):
        online.advance(spikes.time[FIRST] + 3 * WIDTH)
    online.set_trigger(1, None)
    assert online.advance(spikes.time[FIRST] + 5 * WIDTH + 1e-9) >= 2
