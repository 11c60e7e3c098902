"""Events, their scores and shuffles, against a literal program of the rules."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tessera.decode as td
from tessera.decode.exceptions import NonLocalDetectorError

pytest.importorskip("pandas")
pytest.importorskip("xarray")
pytest.importorskip("networkx")

from decode_events_numpy import Draws, q_values

SEED = 2026


def test_worked_example_of_the_random_numbers() -> None:
    """Seed 2026, event 3, shuffle 7."""
    time, marks = Draws(SEED, 3, 7, 3), Draws(SEED, 3, 7, 4)
    words = [f"{time.word(i):08x}" for i in range(6)]
    assert words == ["40d63d88", "37bfc334", "b03d18f4", "5e347ddd", "e63a1e7a", "c43906d3"]
    assert time.permutation(6) == [3, 0, 2, 1, 5, 4]
    assert [Draws(SEED, 3, 7, 1).below(i, 60) for i in range(6)] == [30, 17, 59, 35, 11, 51]
    assert [Draws(SEED, 3, 7, 2).below(i, 60) for i in range(3)] == [37, 36, 23]
    assert marks.permutation(3) + [3 + q for q in marks.permutation(3, 3)] == [2, 1, 0, 4, 3, 5]


@pytest.fixture(scope="module")
def recording() -> dict[str, Any]:
    """Runs on a short line to train on, then rest with bursts of spikes."""
    rng = np.random.default_rng(3)
    time = np.arange(0, 60, 0.01)
    x = np.where(time < 40, 20 + 20 * np.sin(time), 20.0)[:, None]
    times, marks = [], []
    for e in range(4):
        field = 8.0 * e + 6
        run = time[(rng.random(len(time)) < 0.4 * np.exp(-(((x[:, 0] - field) / 6) ** 2)))]
        rest = np.concatenate([t + np.sort(rng.random(6)) * 0.16 for t in np.arange(42, 58, 2.0)])
        when = np.sort(np.concatenate([run[run < 40], rest]))
        times.append(when)
        marks.append(rng.normal(60 + 20 * e, 15, (len(when), 2)))
    return {"time": time, "x": x, "spikes": times, "marks": marks}


@pytest.fixture(scope="module")
def model(recording: dict[str, Any]) -> Any:
    """Two states, in double precision."""
    found = td.ContFragClusterlessClassifier(
        environments=td.Environment(place_bin_size=4.0),
        clusterless_algorithm_params={"position_std": 4.0, "waveform_std": 20.0, "mode": "exact"},
        sampling_frequency=100,
    )
    training = recording["time"] < 40
    found.fit(
        recording["time"],
        recording["x"],
        recording["spikes"],
        recording["marks"],
        is_training=training,
    )
    return found


EVENTS = np.array([[t, t + 0.16] for t in np.arange(42, 58, 2.0)])


def _test(model: Any, recording: dict[str, Any], events: Any = EVENTS, **options: Any) -> Any:
    settings = {"shuffles": 3, "shuffle_seed": SEED, "keep_statistics": True, **options}
    return td.events.shuffle_test(
        model,
        events,
        recording["spikes"],
        recording["marks"],
        position_time=recording["time"],
        position=recording["x"],
        **settings,
    )


def test_states_decode_in_bins_of_their_own(model: Any, recording: dict[str, Any]) -> None:
    _, posterior = td.events.score(
        model,
        EVENTS[:1],
        recording["spikes"],
        recording["marks"],
        decoder="states",
        min_electrodes=0,
        position_time=recording["time"],
        position=recording["x"],
    )
    assert posterior.shape[0] == 16
    np.testing.assert_allclose(posterior.sum("place"), 1, atol=1e-12)


@pytest.mark.parametrize("decoder", ["memoryless", "states"])
def test_subsets_give_the_same_numbers(model: Any, recording: dict[str, Any], decoder: str) -> None:
    whole, _ = _test(model, recording, decoder=decoder)
    part, _ = _test(model, recording, whole.iloc[2:5], decoder=decoder)
    np.testing.assert_array_equal(whole.attrs["statistics"][:, 2:5], part.attrs["statistics"])


def test_bad_intervals_stay_in_the_table(model: Any, recording: dict[str, Any]) -> None:
    events = np.array(
        [
            [44.0, 44.16],
            [42.0, 42.16],
            [42.1, 42.2],
            [59.95, 60.2],
            [50, 49],
            [np.nan, 1],
            [55, 55.1],
        ]
    )
    frame, _ = _test(model, recording, events)
    assert list(frame["event"]) == list(range(7))
    assert frame["reason"][0] == 0
    assert frame["reason"][1] == 0
    assert frame["reason"][2] & 256
    assert frame["reason"][3] & 64
    assert frame["reason"][4] == 128
    assert frame["reason"][5] == 128
    assert frame["reason"][6] & 4
    assert frame["line_fit"][4:].isna().all()
    assert "empty" in frame["reasons"][4]


def test_wrong_arguments_are_named(model: Any, recording: dict[str, Any]) -> None:
    with pytest.raises(NonLocalDetectorError, match="units"):
        _test(model, recording, kinds=["units"])
    with pytest.raises(NonLocalDetectorError, match="none of column"):
        _test(model, recording, kinds=["fields"])
    with pytest.raises(NonLocalDetectorError, match="event_bin"):
        _test(model, recording, decoder="states", event_bin=0.05)
    with pytest.raises(TypeError, match="unknown option 'bands'"):
        td.events.find(recording["spikes"], bands=3)
    with pytest.raises(NonLocalDetectorError, match="together"):
        td.events.find(recording["spikes"], position=recording["x"])


def test_spikes_by_name_and_of_one_electrode(model: Any, recording: dict[str, Any]) -> None:
    """As fit() takes them: a mapping's values, and never an array as a list of electrodes."""
    spikes = recording["spikes"]
    named = dict(enumerate(spikes))
    assert td.events.find(named).equals(td.events.find(spikes))
    of_model = {**recording, "spikes": named, "marks": dict(enumerate(recording["marks"]))}
    assert _test(model, of_model)[0].equals(_test(model, recording)[0])
    with pytest.raises(NonLocalDetectorError, match=r"write \[spike_times\]"):
        td.events.find(spikes[0])


def test_silence_has_no_events() -> None:
    frame = td.events.find([np.array([1.0, 2.0]), np.empty(0)])
    assert set(frame["reason"] & 4) <= {4}
    none = td.events.find([np.empty(0)], position_time=np.arange(100) / 10, position=np.zeros(100))
    assert len(none) == 0
    assert "does not vary" in none.attrs["problem"]


def _chance(k: int, n: int, p: float) -> float:
    """P(X >= k) of a binomial."""
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))


def test_p_q_and_shares_are_the_formulas(model: Any, recording: dict[str, Any]) -> None:
    """From the scores of every shuffle; events that tie, and some that are dropped."""
    events = np.concatenate([EVENTS, EVENTS[:3], [[50.0, 49.0], [43.0, 43.1]]])
    frame, _ = _test(model, recording, events, shuffles=19)
    assert (frame["reason"] & 0xFF != 0).sum() == 2
    for kind in frame.attrs["kinds"]:
        for score in td.events.SCORES:
            name = f"{kind}_{score}"
            if f"p_{name}" not in frame.columns:
                assert score in ("sharpness", "coverage", "speed")
                continue
            at = frame.attrs["kinds"].index(kind), td.events.SCORES.index(score)
            sign = -1 if score in ("distance", "max_jump") else 1
            own, others = frame[score].to_numpy(), frame.attrs["statistics"][at[0], :, :, at[1]]
            if score == "weighted_correlation":
                own, others = np.abs(own), np.abs(others)
            own, others = sign * own[:, None], sign * others
            reached = (others >= own - 1e-9 * np.maximum(1, np.abs(own))).sum(axis=1)
            p = np.where(np.isnan(own[:, 0]), np.nan, (1 + reached) / 20)
            np.testing.assert_array_equal(frame[f"p_{name}"], p)
            np.testing.assert_allclose(frame[f"q_{name}"], q_values(p), rtol=1e-14)
            share = frame.attrs["shares"].loc[(kind, score)]
            n, k = int((~np.isnan(p)).sum()), int((p < 0.05).sum())
            assert (share["n_event"], share["n_significant"]) == (n, k)
            assert _chance(k + 1, n, share["high"]) == pytest.approx(0.975)
            if k > 0:
                assert _chance(k, n, share["low"]) == pytest.approx(0.025)


def test_q_of_ties_and_extremes(model: Any, recording: dict[str, Any]) -> None:
    """One event: q is p. Many with one shuffle: p are 1/2 and 1, which tie."""
    one, _ = _test(model, recording, EVENTS[:1], shuffles=19)
    for name in [c for c in one.columns if c.startswith("p_")]:
        assert one["q" + name[1:]].equals(one[name].rename("q" + name[1:]))
    few, _ = _test(model, recording, shuffles=1)
    for name in [c for c in few.columns if c.startswith("p_")]:
        assert set(few[name].dropna()) <= {0.5, 1.0}
        np.testing.assert_allclose(few["q" + name[1:]], q_values(few[name].to_numpy()), rtol=1e-14)
    assert (few["more_shuffles_needed"] == 1).all()


def test_no_shuffles_give_no_p(model: Any, recording: dict[str, Any]) -> None:
    frame, _ = _test(model, recording, shuffles=0)
    assert not any(c.startswith(("p_", "q_", "more_")) for c in frame.columns)
    assert frame.attrs["kinds"] == []
    assert len(frame.attrs["shares"]) == 0
