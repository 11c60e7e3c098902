"""Gaps of the tracking: --position-max-gap does what samples of NaN in them do."""

import numpy as np
import pytest
from decode_recordings import track

h5py = pytest.importorskip("h5py")

GAPS = ((150, 190), (300, 304), (520, 580))  # samples that are missing; 10 ms each


def with_gaps(data, *, marked_from=None):
    """Without the samples of GAPS; gaps of so many samples have one of NaN in their middle."""
    n = data["position_time"].size
    keep = np.ones(n, bool)
    keep[np.concatenate([np.arange(a, b) for a, b in GAPS])] = False
    time, position = data["position_time"][keep], data["position"][keep]
    training = data["is_training"][keep]
    for a, b in GAPS if marked_from else ():
        if b - a < marked_from:
            continue
        middle = 0.5 * (data["position_time"][a - 1] + data["position_time"][b])
        at = np.searchsorted(time, middle)
        time, position = np.insert(time, at, middle), np.insert(position, at, np.nan)
        training = np.insert(training, at, False)
    return {**data, "position_time": time, "position": position, "is_training": training}


def run(tessera, folder, name, *words):
    line = ["decode", "run", name, "-o", "out.h5", "--overwrite", "--dtype", "f64", *words]
    result = tessera(*line)
    assert result.returncode == 0, result.stderr
    with h5py.File(folder / "out.h5") as file:
        return {name: file[name][()] for name in file}, result.stderr


@pytest.mark.parametrize("model", ["cont-frag", "non-local"])
def test_gaps_are_as_if_marked(tessera, tmp_path, model):
    data = track()
    np.savez(tmp_path / "plain.npz", **with_gaps(data))
    np.savez(tmp_path / "marked.npz", **with_gaps(data, marked_from=10))
    want, _ = run(tessera, tmp_path, "marked.npz", "--model", model)
    found, said = run(tessera, tmp_path, "plain.npz", "--model", model, "--position-max-gap", "0.1")
    assert "2 gaps of more than 0.1 s" in said
    for name in ("acausal_posterior", "acausal_state_probabilities", "true_position"):
        assert np.array_equal(found[name], want[name], equal_nan=True), name
    other, said = run(tessera, tmp_path, "plain.npz", "--model", model, "--position-max-gap", "9")
    assert "gaps of more" not in said
    assert not np.array_equal(found["acausal_posterior"], other["acausal_posterior"], True)
    inside = (found["time"] > data["position_time"][519]) & (
        found["time"] < data["position_time"][580]
    )
    assert np.isnan(found["true_position"][inside]).all()
    assert not np.isnan(other["true_position"][inside]).any()


def test_the_truth_of_a_file_stays(tessera, tmp_path):
    data = track()
    n = data["time"].size
    truth = data["position"][-n:]
    np.savez(tmp_path / "rec.npz", **with_gaps(data), true_position=truth)
    found, _ = run(tessera, tmp_path, "rec.npz", "--position-max-gap", "0.1")
    assert np.array_equal(found["true_position"].ravel(), truth)


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "1s", ""])
def test_times_that_are_none(tessera, tmp_path, value):
    np.savez(tmp_path / "rec.npz", **track())
    result = tessera("decode", "fit", "rec.npz", "-o", "m.npz", "--position-max-gap", value)
    assert result.returncode == 2
    assert "--position-max-gap" in result.stderr
