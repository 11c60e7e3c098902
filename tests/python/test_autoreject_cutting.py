"""Epochs cut from continuous files: the samples, events and reasons that MNE has."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera.autoreject as ta

mne = pytest.importorskip("mne")
COMMAND = os.environ.get("TESSERA_COMMAND", "")


def _raw(hz: float, seconds: float = 12) -> Any:
    info = mne.create_info(["Fz", "Cz", "Pz"], hz, "eeg")
    x = np.random.default_rng(3).standard_normal((3, int(seconds * hz))) * 1e-5
    return mne.io.RawArray(x, info, first_samp=17, verbose="ERROR").set_meas_date(1e9)


def _annotate(raw: Any, onsets: Any, durations: Any, words: list[str]) -> None:
    raw.set_annotations(mne.Annotations(np.asarray(onsets) + raw.first_time, durations, words,
                                        orig_time=raw.info["meas_date"]))


def _same(path: Path, tmin: float = -0.1, tmax: float = 0.2) -> ta.EpochsFile:
    raw = mne.io.read_raw(path, verbose="ERROR")
    events, codes = mne.events_from_annotations(raw, verbose="ERROR")
    want = mne.Epochs(raw, events, codes, tmin, tmax, baseline=None, preload=True,
                      event_repeated="drop", verbose="ERROR")
    got = ta.read_epochs(path, tmin=tmin, tmax=tmax, baseline="none")
    np.testing.assert_array_equal(got.events, want.events)
    np.testing.assert_allclose(got.get_data(), want.get_data(), rtol=1e-12)
    assert got.drop_log == [why[0] if why else "" for why in want.drop_log]
    return got


@pytest.mark.parametrize("hz", [250.0, 500.0, 1024.0])
def test_annotations_between_samples_go_where_mne_puts_them(tmp_path: Path, hz: float) -> None:
    raw = _raw(hz)
    onsets = (np.arange(300, 10000, 331) // 2 * 2 + 1) / 1000  # as of a recording at 1000 Hz
    _annotate(raw, onsets, 0, ["go"] * len(onsets))
    path = tmp_path / "x_raw.fif"
    raw.save(path, verbose="ERROR")
    _same(path)


@pytest.mark.parametrize("hz", [100.0, 250.0, 1000.0])
def test_halves_without_a_date_go_where_mne_puts_them(tmp_path: Path, hz: float) -> None:
    raw = _raw(hz).set_meas_date(None)  # an odd first sample
    raw.set_annotations(mne.Annotations((np.arange(100, 1000, 7) + 0.5) / hz, 0, ["go"] * 129))
    path = tmp_path / "x_raw.fif"
    raw.save(path, verbose="ERROR")
    _same(path)


@pytest.mark.parametrize("hz", [128.0, 256.0, 300.0, 1024.0])
def test_marks_that_touch_epochs_are_those_of_mne(tmp_path: Path, hz: float) -> None:
    raw = _raw(hz)
    samples = np.arange(50, int(9 * hz), 31)
    words = ["BAD_move" if k % 3 == 0 else "go" for k in range(len(samples))]
    lengths = np.where(np.arange(len(samples)) % 3 == 0, 20, 0)
    _annotate(raw, samples / hz, lengths / hz, words)
    path = tmp_path / "x_raw.fif"
    raw.save(path, verbose="ERROR")
    _same(path, tmin=-11 / hz, tmax=30 / hz)


@pytest.mark.parametrize("has_date", [False, True])
def test_gaps_give_no_epochs_as_by_mne(tmp_path: Path, has_date: bool) -> None:
    raw = _raw(256.0)
    if not has_date:
        raw.set_meas_date(None)
    start = raw.first_time if has_date else 0
    words = ["BAD_ACQ_SKIP"] * 2 + ["go"] * 30
    onsets = start + np.r_[2, 5, np.arange(30) / 3 + 0.4]
    marks = mne.Annotations(onsets, [1, 2] + [0] * 30, words, orig_time=raw.info["meas_date"])
    raw.set_annotations(marks)
    path = tmp_path / "x_raw.fif"
    raw.save(path, buffer_size_sec=1, verbose="ERROR")  # gaps of whole buffers
    # As a device writes it, without annotations of them.
    path.write_bytes(path.read_bytes().replace(b"BAD_ACQ_SKIP", b"ANY_ACQ_SKIP"))
    got = _same(path)
    assert got.drop_log.count("BAD_ACQ_SKIP") > 8


def test_annotations_outside_are_left_out_as_by_mne(tmp_path: Path) -> None:
    header = tmp_path / "x.vhdr"
    x = np.random.default_rng(0).integers(-999, 999, (1000, 2)).astype("<i2")
    x.tofile(tmp_path / "x.eeg")
    header.write_text(
        "Brain Vision Data Exchange Header File Version 1.0\n[Common Infos]\nDataFile=x.eeg\n"
        "MarkerFile=x.vmrk\nDataFormat=BINARY\nDataOrientation=MULTIPLEXED\nNumberOfChannels=2\n"
        "SamplingInterval=10000\n[Binary Infos]\nBinaryFormat=INT_16\n"
        "[Channel Infos]\nCh1=Fz,,0.1,uV\nCh2=Cz,,0.1,uV\n"
    )
    marks = ["a,,-90,50", "b,,-20,60", "c,,300,1", "d,,600,1", "a,,1100,1", "c,,990,1"]
    (tmp_path / "x.vmrk").write_text(
        "Brain Vision Data Exchange Marker File, Version 1.0\n[Marker Infos]\n"
        + "".join(f"Mk{k + 1}={mark},0\n" for k, mark in enumerate(marks))
    )
    got = _same(header, tmin=0)
    assert got.events[0].tolist() == [0, 0, 10001]


def test_every_event_at_the_sample_of_another_is_a_duplicate(tmp_path: Path) -> None:
    raw = _raw(100.0)
    onsets = np.repeat(np.arange(1, 10), 3)
    words = ["BAD_move", "go", "stop"] * 4 + ["on", "go", "stop"] * 5
    _annotate(raw, onsets, [0.05, 0, 0] * 9, words)
    path = tmp_path / "x_raw.fif"
    raw.save(path, verbose="ERROR")
    _same(path)


@pytest.mark.parametrize("words", [["Stimulus/S 12", "Response/R  3", "Stimulus/S  1"],
                                   ["Stimulus/S 12", "BAD_move", "Stimulus/S  1"]])
def test_markers_in_fif_files_have_the_codes_of_mne(tmp_path: Path, words: list[str]) -> None:
    raw = _raw(100.0)
    _annotate(raw, np.arange(1, 10), 0.05, words * 3)
    path = tmp_path / "x_raw.fif"
    raw.save(path, verbose="ERROR")
    _same(path)


@pytest.mark.filterwarnings("ignore:Fiducial point")
@pytest.mark.skipif(not COMMAND, reason="needs the command")
def test_names_beyond_ascii_are_read_from_sets_by_mne(tmp_path: Path) -> None:
    names = ["Fz", "Cz", "C3", "Pz", "Oz"]
    x = np.random.default_rng(0).standard_normal((12, 5, 30)) * 1e-5
    events = np.c_[np.arange(12) * 100, np.zeros(12, int), np.arange(12) % 2 + 1]
    epochs = mne.EpochsArray(x, mne.create_info(names, 100.0, "eeg"), events, verbose="ERROR",
                             event_id={"ä": 1, "ö": 2})
    places = np.eye(5, 3) * 0.09 + 0.01
    epochs.set_montage(mne.channels.make_dig_montage(dict(zip(names, places, strict=True))))
    epochs.save(tmp_path / "x-epo.fif", verbose="ERROR")
    line = [COMMAND, "autoreject", "fit-transform", "x-epo.fif", "--n-fold=3", "-o", "y.set"]
    subprocess.run(line, cwd=tmp_path, capture_output=True, check=True)
    written = mne.read_epochs_eeglab(tmp_path / "y.set", verbose="ERROR")
    assert set(written.event_id) == {"ä", "ö"}
