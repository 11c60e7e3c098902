"""Electrodes with ids: a model finds its own, whatever their order in another recording."""

import numpy as np
import pytest
from decode_recordings import track

h5py = pytest.importorskip("h5py")

IDS = np.array([41, 7, 300, 12])


def parts_of(data):
    """Spikes of every electrode: times, marks."""
    ends = data["spike_offsets"]
    return [
        (data["spike_times"][a:b], data["marks"][a:b])
        for a, b in zip(ends[:-1], ends[1:], strict=True)
    ]


def with_electrodes(data, parts, ids, layout="flat"):
    """The recording with these electrodes; layout: flat, or a pair of arrays each."""
    out = {k: v for k, v in data.items() if k not in ("spike_times", "spike_offsets", "marks")}
    if ids is not None:
        out["electrode_id"] = np.asarray(ids)
    if layout == "ragged":
        for e, (times, marks) in enumerate(parts):
            out[f"e{e}_times"], out[f"e{e}_marks"] = times, marks
        return out
    out["spike_times"] = np.concatenate([times for times, _ in parts])
    out["spike_offsets"] = np.cumsum([0, *(times.size for times, _ in parts)])
    if layout != "sorted":
        out["marks"] = np.concatenate([marks for _, marks in parts])
    return out


@pytest.fixture
def day(tessera, tmp_path):
    """A recording, a model of it and what that decodes."""
    data = track(n_electrode=4)
    np.savez(tmp_path / "rec.npz", **with_electrodes(data, parts_of(data), IDS))
    assert tessera("decode", "fit", "rec.npz", "-o", "model.npz").returncode == 0
    return data, decode(tessera, tmp_path, "rec.npz")[0]


def decode(tessera, folder, name, *words):
    result = tessera(
        *("decode", "predict", name, "--model-file", "model.npz", "-o", "out.h5"),
        *("--overwrite", "--dtype", "f64", *words),
    )
    assert result.returncode == 0, result.stderr
    with h5py.File(folder / "out.h5") as file:
        return file["acausal_posterior"][:], result.stderr


@pytest.mark.parametrize("layout", ["flat", "ragged"])
def test_another_order_gives_the_same_bits(tessera, tmp_path, day, layout):
    data, want = day
    order = [2, 0, 3, 1]
    parts = [parts_of(data)[k] for k in order]
    np.savez(tmp_path / "other.npz", **with_electrodes(data, parts, IDS[order], layout))
    found, said = decode(tessera, tmp_path, "other.npz")
    assert np.array_equal(found, want, equal_nan=True)
    assert "decode.electrodes" not in said
    # Without ids only the order tells them apart.
    np.savez(tmp_path / "bare.npz", **with_electrodes(data, parts, None, layout))
    found, _ = decode(tessera, tmp_path, "bare.npz")
    assert not np.array_equal(found, want, equal_nan=True)


def test_electrodes_that_the_model_does_not_know(tessera, tmp_path, day):
    data, want = day
    parts = [parts_of(data)[0], *parts_of(data)]
    np.savez(tmp_path / "more.npz", **with_electrodes(data, parts, [5, *IDS]))
    found, said = decode(tessera, tmp_path, "more.npz")
    assert np.array_equal(found, want, equal_nan=True)
    assert "1 of 5 electrodes are not the model's" in said


def test_electrodes_that_are_missing(tessera, tmp_path, day):
    data, _ = day
    np.savez(tmp_path / "less.npz", **with_electrodes(data, parts_of(data)[:3], [41, 8, 300]))
    result = tessera(
        "decode", "predict", "less.npz", "--model-file", "model.npz", "-o", "out.h5", "--overwrite"
    )
    assert result.returncode == 65
    assert "lacks electrodes that the model was fitted to: 7, 12 (2 of 4)" in result.stderr


def test_ids_that_are_not_ids(tessera, tmp_path, day):
    data, _ = day
    for ids, told in [([1, 2, 1, 3], "two electrodes have the id 1"), ([1, 2], "one per electro")]:
        np.savez(tmp_path / "bad.npz", **with_electrodes(data, parts_of(data), ids))
        result = tessera("decode", "fit", "bad.npz", "-o", "no.npz")
        assert result.returncode == 65
        assert "electrode_id" in result.stderr
        assert told in result.stderr


@pytest.mark.parametrize("command", ["em", "events", "online"])
def test_every_command_with_a_model(tessera, tmp_path, day, command):
    """Files of both orders give the same table, model or page."""
    data, _ = day
    order = [3, 1, 0, 2]
    parts = [parts_of(data)[k] for k in order]
    np.savez(tmp_path / "other.npz", **with_electrodes(data, parts, IDS[order]))
    found = []
    for name in ("rec.npz", "other.npz"):
        words = {
            "em": ["-o", f"{name}.em.npz", "--max-iterations", "2"],
            "events": ["-o", f"{name}.csv", "--shuffles", "3", "--threshold-z", "0.5"],
            "online": ["--json"],
        }[command]
        result = tessera("decode", command, name, "--model-file", "model.npz", *words)
        assert result.returncode == 0, result.stderr
        if command == "em":
            with np.load(tmp_path / f"{name}.em.npz") as model:
                found.append({k: model[k] for k in ("discrete_transition", "electrode_id")})
        elif command == "events":
            lines = (tmp_path / f"{name}.csv").read_text().splitlines()
            found.append({"rows": np.array([line for line in lines if line[0] != "#"])})
    for key in found[0] if found else ():
        assert np.array_equal(found[0][key], found[1][key]), key


def test_sorted_units_and_reports(tessera, tmp_path):
    data = track(n_electrode=4)
    order = [1, 3, 2, 0]
    np.savez(tmp_path / "rec.npz", **with_electrodes(data, parts_of(data), IDS, "sorted"))
    parts = [parts_of(data)[k] for k in order]
    np.savez(tmp_path / "other.npz", **with_electrodes(data, parts, IDS[order], "sorted"))
    units = ["--algorithm", "sorted_spikes_kde"]
    fit = tessera("decode", "fit", "rec.npz", "-o", "model.npz", *units)
    assert fit.returncode == 0, fit.stderr
    want, _ = decode(tessera, tmp_path, "rec.npz")
    found, _ = decode(tessera, tmp_path, "other.npz", "--report", "page.html")
    assert np.array_equal(found, want, equal_nan=True)
    line = ["decode", "report", "out.h5", "--recording", "other.npz", "-o", "again.html"]
    result = tessera(*line)
    assert result.returncode == 0, result.stderr
