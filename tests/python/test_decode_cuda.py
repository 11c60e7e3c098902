"""decode's likelihood on an NVIDIA GPU: what the CPU says, for any shape, at every repeat."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
from tessera import _session, decode
from tessera.decode import likelihoods

HAS_GPU = any(device["backend"] == "cuda" for device in tessera.devices())
pytestmark = [
    pytest.mark.skipif(not HAS_GPU, reason="no NVIDIA GPU"),
    pytest.mark.filterwarnings("ignore"),
]

Data = tuple[Any, Any, Any, Any, Any, Any]
SetDevice = Callable[[str], None]

# Stated for likelihoods of single spikes; a row adds several.
FAST = 2e-5
EXACT = 1e-12


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> SetDevice:
    """Return a function that says where the calls after it run."""
    return lambda name: monkeypatch.setattr(_session._Defaults, "device", name)


def recording(
    seed: int,
    n_dim: int,
    n_feature: int,
    n_electrode: int = 3,
    n_encoding: int = 700,
    n_decoding: int = 400,
    extent: float = 90.0,
) -> Data:
    rng = np.random.default_rng(seed)
    n_sample = 4000
    time = np.arange(n_sample) / 100
    position = rng.uniform(0, extent, (n_sample, n_dim))
    spikes, features, later, later_features = [], [], [], []
    for k in range(n_electrode):
        n = n_encoding * (k + 1) // n_electrode
        centre = rng.uniform(60, 160, (4, n_feature))
        spikes.append(np.sort(rng.uniform(time[0], time[-1], n)))
        features.append(centre[rng.integers(4, size=n)] + rng.normal(0, 15, (n, n_feature)))
        later.append(np.sort(rng.uniform(50, 52, n_decoding)))
        marks = centre[rng.integers(4, size=n_decoding)]
        later_features.append(marks + rng.normal(0, 20, (n_decoding, n_feature)))
    later_features[0][:2] += 5000  # artefacts, beyond what f32 can do
    return time, position, spikes, features, later, later_features


def environment(position: Any, bin_size: float) -> decode.Environment:
    env = decode.Environment(place_bin_size=bin_size)
    env.fit_place_grid(position)
    return env


def both(
    device: SetDevice, data: Data, bin_size: float, local: bool = False, **params: Any
) -> tuple[Any, Any, Any]:
    time, position, spikes, features, later, later_features = data
    env = environment(position, bin_size)
    rows = np.arange(50, 52, 0.01)
    device("cuda")
    model = likelihoods.fit_clusterless_kde_encoding_model(
        time, position, spikes, features, env, **params
    )

    def predict(where: str) -> Any:
        device(where)
        return likelihoods.predict_clusterless_kde_log_likelihood(
            rows, time + 49, position, later, later_features, encoding_model=model, is_local=local
        )

    return predict("cpu"), predict("cuda"), predict("cuda")


def largest_difference(cpu: Any, cuda: Any) -> float:
    assert np.isfinite(cuda).all()
    return float(np.max(np.abs(cpu - cuda) / (1 + np.abs(cpu))))


@pytest.mark.parametrize("n_feature", [1, 2, 4, 5, 8, 10])
@pytest.mark.parametrize("n_dim", [1, 2])
@pytest.mark.parametrize("floor", ["absolute", "relative", "none"])
def test_fast(device: SetDevice, n_dim: int, n_feature: int, floor: str) -> None:
    data = recording(n_feature + 10 * n_dim, n_dim, n_feature)
    cpu, cuda, again = both(
        device, data, 3.0, position_std=5.0, waveform_std=20.0, floor=floor, mode="fast"
    )
    assert largest_difference(cpu, cuda) < FAST
    assert np.array_equal(cuda, again)


@pytest.mark.parametrize("n_feature", [1, 4, 7])
@pytest.mark.parametrize("n_dim", [1, 2])
@pytest.mark.parametrize("floor", ["absolute", "relative", "none"])
def test_exact(device: SetDevice, n_dim: int, n_feature: int, floor: str) -> None:
    data = recording(n_feature + 20 * n_dim, n_dim, n_feature)
    cpu, cuda, again = both(
        device, data, 4.0, position_std=4.0, waveform_std=20.0, floor=floor, mode="exact"
    )
    assert largest_difference(cpu, cuda) < EXACT
    assert np.array_equal(cuda, again)


@pytest.mark.parametrize("bin_size", [0.5, 2.0, 10.0])
@pytest.mark.parametrize("position_std", [1.0, 3.5, 12.0])
def test_bins_and_bandwidths(device: SetDevice, bin_size: float, position_std: float) -> None:
    data = recording(7, 1, 4)
    cpu, cuda, again = both(device, data, bin_size, position_std=position_std, waveform_std=24.0)
    assert largest_difference(cpu, cuda) < FAST
    assert np.array_equal(cuda, again)


@pytest.mark.parametrize("mode", ["fast", "exact"])
@pytest.mark.parametrize("n_dim", [1, 2])
def test_local(device: SetDevice, mode: str, n_dim: int) -> None:
    data = recording(31, n_dim, 4)
    cpu, cuda, again = both(
        device, data, 4.0, local=True, position_std=5.0, waveform_std=20.0, mode=mode
    )
    assert largest_difference(cpu, cuda) < (FAST if mode == "fast" else EXACT)
    assert np.array_equal(cuda, again)


@pytest.mark.parametrize(
    "name", ["ClusterlessDecoder", "ContFragClusterlessClassifier", "NonLocalClusterlessDetector"]
)
@pytest.mark.parametrize("n_dim", [1, 2])
def test_whole_models(device: SetDevice, name: str, n_dim: int) -> None:
    time, position, spikes, features, later, later_features = recording(40, n_dim, 4)
    results = []
    for where in ("cpu", "cuda"):
        device(where)
        model = getattr(decode, name)()
        model.fit(time, position, spikes, features)
        results.append(
            model.predict(later, later_features, np.arange(50, 52, 0.01), position, time + 49)
        )
    cpu, cuda = (r.acausal_posterior.to_numpy() for r in results)
    assert np.nanmax(np.abs(cpu - cuda)) < 5e-5


def test_chunks_change_no_bit(device: SetDevice) -> None:
    time, position, spikes, features, later, later_features = recording(50, 1, 4)
    device("cuda")
    model = decode.ContFragClusterlessClassifier().fit(time, position, spikes, features)
    rows = np.arange(50, 52, 0.01)
    one, many = (
        model.predict(later, later_features, rows, n_chunks=n).acausal_posterior.to_numpy()
        for n in (1, 9)
    )
    assert np.array_equal(one, many, equal_nan=True)


def long_recording(n_time: int) -> tuple[Any, Any, Any, Any]:
    """Rows enough to be filtered and smoothed on a GPU, with an animal that can be followed."""
    rng = np.random.default_rng(80)
    time = np.arange(n_time) / 500
    position = 100 * np.abs(2 * ((time / 7) % 1) - 1)[:, np.newaxis]
    spikes, features = [], []
    for centre in rng.uniform(0, 100, 6):
        near = np.exp(-0.5 * (position[:, 0] - centre) ** 2 / 225)
        fires = np.flatnonzero(rng.random(n_time) < 0.002 + 0.02 * near)
        spikes.append(time[fires] + rng.uniform(0, 0.002, len(fires)))
        features.append(100 + 60 * near[fires, None] + rng.normal(0, 15, (len(fires), 4)))
    return time, position, spikes, features


@pytest.mark.parametrize("name", ["ContFragClusterlessClassifier", "NonLocalClusterlessDetector"])
def test_rows_in_runs(name: str, tmp_path: Path) -> None:
    time, position, spikes, features = long_recording(12000)
    model = getattr(decode, name)(environments=decode.Environment(place_bin_size=0.5))
    model.fit(time, position, spikes, features, device="cuda")
    assert len(time) * len(model.state_ind_) > 2 << 20
    starts = np.arange(0.1, 23, 0.5)
    found: dict[tuple[str, int], Any] = {}
    for device, n in (("cpu", 1), ("cuda", 2), ("cuda", 5), ("cuda", 17)):
        results = model.predict(spikes, features, time, position, time, return_outputs="all",
                                n_chunks=n, device=device)  # fmt: skip
        folder = tmp_path / f"{device}-{n}"
        model.predict_file(folder, spikes, features, time, position, time, n_chunks=n,
                           intervals=np.stack((starts, starts + 0.4), axis=1), device=device,
                           most_likely_path=True)  # fmt: skip
        found[device, n] = {
            **{key: np.asarray(results[key]) for key in results},
            "intervals": np.load(folder / "acausal_posterior.npy"),
            "path": np.load(folder / "most_likely_bin.npy"),
        }
    first = found["cuda", 2]
    for key, cpu in found["cpu", 1].items():
        bound = FAST * 12 * (1 + np.abs(cpu)) if key == "log_likelihood" else 5e-5
        if key != "path":
            np.testing.assert_array_less(np.nan_to_num(np.abs(first[key] - cpu)), bound)
        for n in (5, 17):
            assert np.array_equal(found["cuda", n][key], first[key], equal_nan=True), key


def test_electrode_without_spikes(device: SetDevice) -> None:
    data = recording(60, 1, 4)
    data[2][1] = data[2][1][:0]
    data[3][1] = data[3][1][:0]
    for floor in ("absolute", "relative"):
        cpu, cuda, _ = both(device, data, 2.0, position_std=6.0, waveform_std=24.0, floor=floor)
        assert largest_difference(cpu, cuda) < FAST


def test_limits_of_memory_change_no_bit(device: SetDevice) -> None:
    time, position, spikes, features, later, later_features = recording(70, 2, 4)
    rows = np.arange(50, 52, 0.01)
    device("cuda")

    def predict(limit: str | None) -> Any:
        tessera.set_device_memory_limit(limit)
        model = decode.ContFragClusterlessClassifier().fit(time, position, spikes, features)
        return model.predict(later, later_features, rows).acausal_posterior.to_numpy()

    def advised(limit: str) -> str:
        with pytest.raises(tessera.MemoryLimitError, match="needs --device-memory-limit") as caught:
            predict(limit)
        return str(caught.value).split("--device-memory-limit ")[1].split()[0]

    try:
        # With 1K the fit could send nothing ahead; with what that asks for it does, and says so.
        least = advised(advised("1K"))
        want = predict(None)
        for limit in (least, "64M", "1G"):
            assert np.array_equal(predict(limit), want, equal_nan=True)
    finally:
        tessera.set_device_memory_limit(None)
