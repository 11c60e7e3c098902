"""EEGLAB's files in every form that EEGLAB and MATLAB save them, and those that are spoiled."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
from eeglab_files import N_TIME, N_TRIAL, NAMES, RATE, Mat5, Mat73, recording, samples
from tessera.autoreject import read_epochs

pytest.importorskip("h5py")
COMMAND = os.environ.get("TESSERA_COMMAND", "")


def _volts(data: np.ndarray) -> np.ndarray:
    return np.transpose(data, (2, 0, 1)).astype(float) * 1e-6


def _check(epochs: Any, data: np.ndarray) -> None:
    assert epochs.ch_names == list(NAMES)
    assert epochs.sfreq == RATE
    np.testing.assert_array_equal(epochs.get_data(), _volts(data))


FORMS = {
    "little": lambda path, eeg: Mat5("<").write(path, EEG=eeg),
    "big": lambda path, eeg: Mat5(">").write(path, EEG=eeg),
    "big, as variables": lambda path, eeg: Mat5(">").write(path, **eeg),
    "7.3": lambda path, eeg: Mat73(path).write(EEG=eeg),
    "7.3, as variables": lambda path, eeg: Mat73(path).write(**eeg),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_epochs_of_every_form(tmp_path: Path, form: str, dtype: str) -> None:
    data = samples(3)
    path = FORMS[form](tmp_path / "x.set", recording(data.astype(dtype)))
    epochs = read_epochs(path)
    _check(epochs, data)
    assert epochs.tmin == -0.0625
    np.testing.assert_array_equal(epochs.events[:, 0], 8 + N_TIME * np.arange(N_TRIAL))
    assert list(epochs.events[:, 2]) == [1 if e % 3 == 0 else 2 for e in range(N_TRIAL)]
    places = epochs._sensors.loc[:, :3]
    np.testing.assert_allclose(np.linalg.norm(places, axis=1), 0.085, rtol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_continuous_of_every_form(tmp_path: Path, form: str) -> None:
    data = samples(4, 40).reshape(len(NAMES), -1, order="F")
    eeg = recording(data, n_trial=1) | {"pnts": float(data.shape[1]), "xmin": 0.0}
    path = FORMS[form](tmp_path / "x.set", eeg)
    epochs = read_epochs(path, window=N_TIME / RATE, baseline="none")
    want = data.reshape(len(NAMES), -1, N_TIME).transpose(1, 0, 2).astype(float) * 1e-6
    np.testing.assert_array_equal(epochs.get_data(), want)


@pytest.mark.parametrize("form", FORMS)
def test_blanks_belong_to_names_of_events(tmp_path: Path, form: str) -> None:
    data = samples(4, 40).reshape(len(NAMES), -1, order="F")
    eeg = recording(data, n_trial=1) | {"pnts": float(data.shape[1]), "xmin": 0.0}
    words = ["go", " stop", "go ", "stop"]
    eeg["event"] = [{"type": w, "latency": 100.0 * k + 101} for k, w in enumerate(words)]
    path = FORMS[form](tmp_path / "x.set", eeg)
    epochs = read_epochs(path, tmin=0, tmax=0.1, baseline="none")
    assert epochs.events[:, 2].tolist() == [2, 1, 3, 4]  # in order of the names, as in MNE


@pytest.mark.parametrize("form", ["little", "big", "7.3"])
@pytest.mark.parametrize("ending", ["fdt", "dat"])
def test_samples_beside_the_set(tmp_path: Path, form: str, ending: str) -> None:
    data = samples(5)
    flat = data.reshape(len(NAMES), -1, order="F")
    (tmp_path / f"x.{ending}").write_bytes(flat.tobytes("F" if ending == "fdt" else "C"))
    path = FORMS[form](tmp_path / "x.set", recording(f"x.{ending}"))
    _check(read_epochs(path), data)
    (tmp_path / f"x.{ending}").write_bytes(flat.tobytes()[:-4])
    with pytest.raises(tessera.Error, match="do not fit"):
        read_epochs(path)


@pytest.mark.parametrize("variable", ["EEG", "ALLEEG"])
@pytest.mark.parametrize("write", [Mat5("<").write, Mat5(">").write, None])
def test_several_sets_in_one_file(tmp_path: Path, variable: str, write: Any) -> None:
    sets = [recording(samples(k), name=f"sub-{k}") for k in range(3)]
    path = tmp_path / "all.set"
    if write:
        write(path, **{variable: sets})
    else:
        Mat73(path).write(**{variable: sets})
    _check(read_epochs(path, dataset="2"), samples(1))
    _check(read_epochs(path, dataset="sub-2"), samples(2))
    for wanted in (None, "4", "sub-7", "0"):
        with pytest.raises(tessera.Error, match=r"3 data sets \(1 'sub-0', 2 'sub-1'"):
            read_epochs(path, dataset=wanted)


@pytest.mark.parametrize("form", [Mat5("<"), Mat5(">"), None])
def test_sets_of_a_study(tmp_path: Path, form: Any) -> None:
    for k in range(2):
        (tmp_path / f"s{k}").mkdir()
        Mat5("<").write(tmp_path / f"s{k}" / f"sub-{k}.set", EEG=recording(samples(k)))
    listed = [{"filepath": f"s{k}", "filename": f"sub-{k}.set", "subject": "a"} for k in range(2)]
    listed.append({"filepath": "/nowhere", "filename": "gone.set", "subject": "b"})
    study = {"name": "all", "datasetinfo": listed}
    path = tmp_path / "all.study"
    if form:
        form.write(path, STUDY=study)
    else:
        Mat73(path).write(STUDY=study)
    _check(read_epochs(path, dataset="2"), samples(1))
    _check(read_epochs(path, dataset="sub-0.set"), samples(0))
    with pytest.raises(tessera.Error, match=r"3 data sets \(1 'sub-0.set'"):
        read_epochs(path)
    with pytest.raises(tessera.Error, match="which the study names"):
        read_epochs(path, dataset="3")


def test_they_are_the_files_that_others_read(tmp_path: Path) -> None:
    """Both byte orders against SciPy, so that writer and reader do not err together."""
    io = pytest.importorskip("scipy.io")
    data = samples(6)
    for order in "<>":
        path = Mat5(order).write(tmp_path / "x.set", EEG=recording(data))
        eeg = io.loadmat(path, struct_as_record=False, squeeze_me=True)["EEG"]
        np.testing.assert_array_equal(eeg.data, data)
        assert [c.labels for c in eeg.chanlocs] == list(NAMES)
        assert [e.latency for e in eeg.event] == [e * N_TIME + 9 for e in range(N_TRIAL)]


@pytest.mark.parametrize("form", ["big", "7.3"])
def test_spoiled_files(tmp_path: Path, form: str) -> None:
    """Cut or changed anywhere: read, or refused with a sentence that names the file."""
    path = FORMS[form](tmp_path / "x.set", recording(samples(7)))
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    said = []
    for k in range(24):
        spoiled = bytearray(whole)
        if k < 12:
            spoiled = spoiled[: int(rng.integers(0, len(whole)))]
        else:
            at = int(rng.integers(512 if form == "7.3" else 128, len(whole)))
            spoiled[at : at + 8] = rng.bytes(8)
        path.write_bytes(spoiled)
        try:
            read_epochs(path).get_data()
        except tessera.Error as error:
            said.append(str(error))
    assert len(said) >= 10
    assert all("x.set" in sentence for sentence in said)
    wrong = recording(samples(7)) | {"pnts": 19.0}
    with pytest.raises(tessera.Error, match="nbchan x pnts x trials"):
        read_epochs(FORMS[form](path, wrong))
    with pytest.raises(tessera.Error, match=r"EEG|nbchan"):
        read_epochs(FORMS[form](path, {"nothing": 3.0}))


def _cleaned(tmp_path: Path, name: str, *options: str) -> tuple[Path, Path]:
    """Give a set and what the command writes of it when no epoch is bad enough to be touched."""
    if not COMMAND:
        pytest.skip("TESSERA_COMMAND is not set")
    eeg = recording(samples(9))
    for k, event in enumerate(eeg["event"]):
        event["latency"] = 100.0 * k + 9
    path = Mat5("<").write(tmp_path / "x.set", EEG=eeg)
    out = tmp_path / name
    search = ["--consensus", "1", "--n-interpolate", "1", "--n-fold", "3", "--n-split", "3"]
    whole: list[Any] = [COMMAND, "autoreject", "fit-transform", path, "-o", out, *search, *options]
    subprocess.run(whole, check=True, capture_output=True)
    return path, out


@pytest.mark.parametrize("options", [(), ("--double-precision",)])
def test_sets_are_written(tmp_path: Path, options: tuple[str, ...]) -> None:
    path, out = _cleaned(tmp_path, "clean.set", *options)
    _, fif = _cleaned(tmp_path, "clean-epo.fif", "--double-precision")
    written, want = read_epochs(out), read_epochs(fif)
    limit = 1e-15 if options else 6e-8  # a rounding of doubles, or of singles
    np.testing.assert_allclose(written.get_data(), want.get_data(), rtol=limit, atol=1e-20)
    assert written.ch_names == list(NAMES)
    assert written.tmin == -0.0625
    np.testing.assert_array_equal(written.events[:, 2], want.events[:, 2])
    np.testing.assert_array_equal(written.events[:, 0], 8 + N_TIME * np.arange(len(written)))
    before = read_epochs(path)._sensors.loc[:, :3]
    np.testing.assert_allclose(written._sensors.loc[:, :3], before, rtol=1e-12)


def test_written_sets_are_read_by_mne_and_scipy(tmp_path: Path) -> None:
    mne = pytest.importorskip("mne")
    io = pytest.importorskip("scipy.io")
    _, out = _cleaned(tmp_path, "clean.set")
    with mne.utils.use_log_level("ERROR"):
        epochs = mne.read_epochs_eeglab(out, montage_units="mm")
    ours = read_epochs(out)
    np.testing.assert_array_equal(epochs.get_data(copy=False), ours.get_data())
    assert epochs.ch_names == list(NAMES)
    assert set(epochs.get_channel_types()) == {"eeg"}
    assert set(epochs.event_id) == {"left", "right"}
    assert epochs.tmin == -0.0625
    got = np.array([c["loc"][:3] for c in epochs.info["chs"]])
    np.testing.assert_allclose(got, ours._sensors.loc[:, :3], rtol=0, atol=1e-6)
    eeg = io.loadmat(out, struct_as_record=False, squeeze_me=True)["EEG"]
    assert (eeg.nbchan, eeg.trials, eeg.pnts) == (len(NAMES), len(ours), N_TIME)
    assert [e.epoch for e in eeg.event] == list(range(1, len(ours) + 1))
    assert all(e.latency % 100 == 9 for e in eeg.urevent)
    assert "autoreject" in eeg.etc.tessera_provenance


def test_a_set_is_not_overwritten(tmp_path: Path) -> None:
    _, out = _cleaned(tmp_path, "clean.set")
    before = out.read_bytes()
    again = subprocess.run(
        [COMMAND, "autoreject", "fit-transform", tmp_path / "x.set", "-o", out],
        check=False,
        capture_output=True,
        text=True,
    )
    assert again.returncode != 0
    assert "exists" in again.stderr
    assert out.read_bytes() == before
