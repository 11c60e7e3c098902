"""Bandwidths by held-out likelihood: the score itself, the search, and what is refused."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
from tessera import decode as td


def recording(n: int = 2000, dims: int = 1, seed: int = 0) -> dict[str, Any]:
    """Return a run back and forth with place cells, two features a spike."""
    rng = np.random.default_rng(seed)
    time = 1000 + np.arange(n) * 0.01
    position = 50 - 50 * np.cos(np.arange(n)[:, None] * 0.01 * np.array([1.0, 0.77])[:dims])
    times, marks = [], []
    for _ in range(3):
        centre, amplitude = rng.uniform(0, 100, (4, dims)), rng.uniform(60, 200, (4, 2))
        rate = np.exp(-((position[:, None] - centre) ** 2).sum(axis=2) / 200) * 0.2
        sample, unit = np.nonzero(rng.random(rate.shape) < rate)
        times.append(time[sample] + rng.uniform(0, 0.01, len(sample)))
        marks.append(amplitude[unit] + rng.normal(0, 12, (len(sample), 2)))
        order = np.argsort(times[-1])
        times[-1], marks[-1] = times[-1][order], marks[-1][order]
    return {
        "position_time": time,
        "position": position,
        "spike_times": times,
        "spike_waveform_features": marks,
    }


def normal(x: Any, std: float) -> Any:
    return np.exp(-0.5 * (x / std) ** 2) / (std * np.sqrt(2 * np.pi))


def line_at(s: Any, time: Any, x: Any) -> Any:
    """Return positions on the line through the samples, going on beyond their ends."""
    i = np.clip(np.searchsorted(time, s, side="right") - 1, 0, len(time) - 2)
    return x[i] + (s - time[i]) / (time[i + 1] - time[i]) * (x[i + 1] - x[i])


def density(at: Any, samples: Any, std: float) -> Any:
    return normal(at[:, None] - samples, std).mean(axis=1)


def brute_score(data: dict[str, Any], folds: int, sx: float, sm: float | None) -> float:
    """Score one pair of bandwidths straight from the equations; sm None: sorted spikes."""
    time, x = data["position_time"], data["position"][:, 0]
    edges = [len(time) * k // folds for k in range(folds + 1)]
    total, n_spike = 0.0, 0
    for first, end in itertools.pairwise(edges):
        learn = np.ones(len(time), bool)
        learn[first:end] = False
        rows = np.arange(first + 1, end - 2)
        for e, s in enumerate(data["spike_times"]):
            places = line_at(s, time, x)
            learnt = line_at(s, time[learn], x[learn])  # across the fold that is left out
            sample = np.searchsorted(time, s, side="right") - 1
            nearest = np.clip(np.round((s - time[0]) / 0.01), 0, len(time) - 1).astype(int)
            known = learn[nearest]
            held = np.isin(sample, rows)
            rate = known.sum() / learn.sum()
            ground = density(x[rows], learnt[known], sx) / density(x[rows], x[learn], sx)
            total -= (rate * ground).sum()
            at = places[held] if sm is not None else x[sample[held]]
            kernel = normal(at[:, None] - learnt[known], sx)
            if sm is not None:
                m = data["spike_waveform_features"][e]
                kernel *= normal(m[held][:, None] - m[known], sm).prod(axis=2)
            value = rate * kernel.mean(axis=1) / density(at, x[learn], sx)
            total += np.log(np.maximum(value, 1e-15)).sum()
            n_spike += held.sum()
    return float(total / n_spike)


@pytest.mark.parametrize("sorted_spikes", [False, True])
def test_score_is_the_held_out_likelihood(sorted_spikes: bool) -> None:
    data = recording(800)
    if sorted_spikes:
        data["spike_waveform_features"] = None
    options: dict[str, Any] = {"folds": 4, "points": 3, "span": 2, "refine": 0, "rounds": 1}
    found = td.tune(**data, **options, mode="exact", membership="nearest", max_spikes=0)
    assert found.has_waveform is not sorted_spikes
    for c in found.candidates:
        sm = None if sorted_spikes else c["waveform_std"]
        assert c["score"] == pytest.approx(brute_score(data, 4, c["position_std"], sm), abs=1e-9)
    best = max(found.candidates, key=lambda c: c["score"])
    assert (found.position_std, found.score) == (best["position_std"], best["score"])
    assert best["below_best"] == 0
    assert found.n_spike == found.n_held


def test_search_finds_the_top() -> None:
    data = recording(2000)
    found = td.tune(**data, folds=3, rounds=2)
    assert not found.position_at_end
    assert not found.waveform_at_end
    assert 5 < found.waveform_std < 16  # features scatter by 12
    assert found.score > found.start_score + 0.1
    assert set(found.algorithm_params()) == {"position_std", "waveform_std"}
    again = td.tune(**data, folds=3, rounds=2, threads=1)
    assert again.candidates == found.candidates  # the same bits
    values, scores, errors = found.curve("position_std")
    assert np.all(np.diff(values) > 0)
    assert len(values) == len(scores) == len(errors) >= 5


def test_planes_gaps_and_untracked_samples() -> None:
    data = recording(1500, dims=2)
    data["position"][50:80] = np.nan
    data["is_training"] = np.arange(1500) % 500 < 450
    data["position_time"] = data["position_time"] + np.where(np.arange(1500) < 750, 0, 60.0)
    with pytest.warns(UserWarning, match="NaN"):
        found = td.tune(**data, folds=3, points=3, refine=1, rounds=1, max_spikes=30)
    assert np.isfinite([c["score"] for c in found.candidates]).all()
    assert found.n_spike < 0.8 * found.n_held


def test_page_and_file(tmp_path: Path) -> None:
    made = td.simulate_recording("day-1d", time_bins=3000, electrodes=2, encoding_spikes=2000,
                                 decoding_spikes=500)  # fmt: skip
    path = made.save(tmp_path / "rec.npz")
    short: dict[str, Any] = {"points": 3, "refine": 0, "rounds": 1}
    found = td.tune(path, report=tmp_path / "page.html", **short)
    assert td.tune(made, **short).candidates == found.candidates
    page = (tmp_path / "page.html").read_text()
    assert f"--position-std {found.position_std:.4g}" in page
    assert "nats per held-out spike" in page


def test_refusals() -> None:
    data = recording(400)
    with pytest.raises(ValueError, match="either a recording"):
        td.tune(position_time=data["position_time"])
    with pytest.raises(tessera.Error, match="folds: 200 blocks of 400 training samples"):
        td.tune(**data, folds=200)
    with pytest.raises(tessera.Error, match="clusterless_gmm has no bandwidths"):
        td.tune(**data, algorithm="clusterless_gmm")
    late = data | {"spike_times": [times + 1e6 for times in data["spike_times"]]}
    with pytest.raises(tessera.Error, match="clocks"):
        td.tune(**late)
    with pytest.raises(ValueError, match="2 electrodes"):
        td.tune(**(data | {"spike_waveform_features": data["spike_waveform_features"][:2]}))
    with pytest.raises((TypeError, ValueError), match="foldz"):
        td.tune(**data, foldz=3)  # type: ignore[call-arg]


def test_spikes_by_name_and_of_one_electrode() -> None:
    """As fit() takes them: a mapping's values, and never an array as a list of electrodes."""
    data = recording(400)
    short: dict[str, Any] = {"folds": 2, "points": 3, "refine": 0, "rounds": 1}
    names = ("spike_times", "spike_waveform_features")
    named = {name: dict(enumerate(data[name])) for name in names}
    assert td.tune(**(data | named), **short).candidates == td.tune(**data, **short).candidates
    one = {name: data[name] for name in ("position_time", "position")}
    with pytest.raises(ValueError, match=r"write \[spike_times\]"):
        td.tune(**one, spike_times=data["spike_times"][0], **short)
