"""Projectors of FIF files, applied as MNE applies them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessera.autoreject import read_epochs

mne = pytest.importorskip("mne")

COMMAND = os.environ.get("TESSERA_COMMAND", "")
N_CHAN, N_EPOCH, N_TIME = 12, 5, 40


def _projectors(names: list[str], rng: np.random.Generator, active: bool) -> list[Any]:
    """Two of unlike channels, and one that nearly repeats the first: MNE drops such directions."""
    first = rng.normal(size=(2, len(names)))
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    again = first[:1] + 1e-4 * rng.normal(size=(1, len(names)))
    made = []
    for k, vectors in enumerate((first, again / np.linalg.norm(again))):
        used = names if k == 0 else names[:-2]
        data = {
            "nrow": len(vectors),
            "ncol": len(used),
            "row_names": None,
            "col_names": used,
            "data": vectors[:, : len(used)],
        }
        made.append(mne.Projection(data=data, active=active, desc=f"PCA-v{k}", kind=1))
    return made


def _file(tmp_path: Path, *, active: bool = False, bads: tuple[str, ...] = ()) -> Path:
    rng = np.random.default_rng(7)
    info = mne.create_info([f"EEG{c:02d}" for c in range(N_CHAN)], 100.0, "eeg")
    info.set_montage(
        mne.channels.make_dig_montage(
            dict(zip(info.ch_names, 0.09 * _sphere(rng), strict=True)), coord_frame="head"
        )
    )
    info["bads"] = list(bads)
    data = rng.normal(0, 2e-5, (N_EPOCH, N_CHAN, N_TIME))
    epochs = mne.EpochsArray(data, info, tmin=-0.1, proj=False, verbose=False)
    epochs.add_proj(_projectors(info.ch_names, rng, active=False), verbose=False)
    if active:
        epochs.apply_proj(verbose=False)
    path = tmp_path / "x-epo.fif"
    epochs.save(path, fmt="double", overwrite=True, verbose=False)
    return path


def _sphere(rng: np.random.Generator) -> Any:
    places = rng.normal(size=(N_CHAN, 3))
    return places / np.linalg.norm(places, axis=1, keepdims=True)


@pytest.mark.filterwarnings("ignore:Projection vector")
@pytest.mark.parametrize("bads", [(), ("EEG03", "EEG11")])
@pytest.mark.parametrize("active", [False, True])
def test_projectors_are_applied_as_mne_does(
    tmp_path: Path, active: bool, bads: tuple[str, ...]
) -> None:
    path = _file(tmp_path, active=active, bads=bads)
    with mne.utils.use_log_level("ERROR"):
        want = mne.read_epochs(path, proj=True).get_data(copy=False)
        raw = mne.read_epochs(path, proj=False).get_data(copy=False)
    size = np.abs(want).max()
    epochs = read_epochs(path)
    np.testing.assert_allclose(epochs.get_data(), want, rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(read_epochs(path, proj=False).get_data(), raw, rtol=1e-15, atol=0)
    assert any("applied" in note for note in epochs.notes) is not active
    if not active:
        assert np.abs(want - raw).max() > 0.01 * size
    # Some channels only, in another order; the rest still has its part.
    some = read_epochs(path).get_data(picks=[7, 2])
    np.testing.assert_array_equal(some, epochs.get_data()[:, [7, 2]])


@pytest.mark.filterwarnings("ignore:Projection vector")
def test_what_is_written_says_that_they_are_applied(tmp_path: Path) -> None:
    if not COMMAND:
        pytest.skip("TESSERA_COMMAND is not set")
    path = _file(tmp_path)
    options = ["--n-fold", "2", "--consensus", "1", "--n-interpolate", "1", "--double-precision"]
    for choice, active in (("--proj=yes", True), ("--proj=no", False)):
        out = tmp_path / f"{active}-epo.fif"
        words: list[Any] = ["autoreject", "fit-transform", path, "-o", out, choice, *options]
        subprocess.run([COMMAND, *words], check=True, capture_output=True)
        with mne.utils.use_log_level("ERROR"):
            written = mne.read_epochs(out, proj=False)
        assert [p["active"] for p in written.info["projs"]] == [active, active]


@pytest.mark.filterwarnings("ignore:Projection vector")
def test_projectors_of_a_continuous_recording(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    info = mne.create_info([f"EEG{c:02d}" for c in range(N_CHAN)], 100.0, "eeg")
    raw = mne.io.RawArray(rng.normal(0, 2e-5, (N_CHAN, 600)), info, verbose=False)
    raw.add_proj(_projectors(info.ch_names, rng, active=False), verbose=False)
    path = tmp_path / "x_raw.fif"
    raw.save(path, fmt="double", verbose=False)
    with mne.utils.use_log_level("ERROR"):
        again = mne.io.read_raw_fif(path)
        cut = mne.make_fixed_length_epochs(again, 0.5, preload=True, proj=True)
    got = read_epochs(path, window=0.5, baseline="none").get_data()
    want = cut.get_data(copy=False)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-12 * np.abs(want).max())
