"""Studies of every format a tree may hold, against what mne-bids reads from it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera.autoreject as ta
from study_trees import (
    NAMES,
    events_table,
    places,
    samples,
    write_bdf,
    write_brainvision,
    write_edf,
    write_eeglab,
    write_tables,
)

CUT: dict[str, Any] = {"tmin": 0.0, "tmax": 0.3}
GRID: dict[str, Any] = {"n_interpolate": [1, 3], "consensus": [0.3, 0.6, 0.9], "cv": 4}
N_EVENT = 24


def _mixed(n_time: int, step: int) -> Any:
    """Return magnetometers, gradiometers, electrodes, an EOG and triggers."""
    import mne

    rng = np.random.default_rng(7)
    meg = [f"MEG{k:03d}{kind}" for kind in (1, 2) for k in range(12)]
    kinds = ["mag"] * 12 + ["grad"] * 12 + ["eeg"] * 14 + ["eog", "stim"]
    info = mne.create_info([*meg, *NAMES, "EOG001", "STI101"], 100.0, kinds)
    for i in range(24):
        k = i % 12
        z = 1 - 1.1 * (k + 0.5) / 12
        out = np.array([*(np.sqrt(1 - z * z) * np.array([np.cos(2.4 * k), np.sin(2.4 * k)])), z])
        ex = np.cross(out, [0.3, 0.5, 0.1])
        ex /= np.linalg.norm(ex)
        info["chs"][i]["loc"][:] = [*(0.12 * out + [0, 0, 0.04]), *ex, *np.cross(out, ex), *out]
        info["chs"][i]["coil_type"] = 3024 if i < 12 else 3012
    info["line_freq"] = 50
    size = np.repeat([2e-13, 5e-12, 1e-5, 1e-4], [12, 12, 14, 1])[:, None]
    fields = rng.standard_normal((39, 4)) @ rng.standard_normal((4, n_time))
    x = size * (fields + 0.3 * rng.standard_normal((39, n_time)))
    for e in range(N_EVENT):
        x[:38][rng.random(38) < 0.05, step * e + 10 : step * e + 30] *= 20
    stim = np.zeros((1, n_time))
    stim[0, 5::step] = 1
    raw = mne.io.RawArray(np.vstack([x, stim]), info, verbose="ERROR")
    montage = mne.channels.make_dig_montage(
        dict(zip(NAMES, places(), strict=True)),
        nasion=[0, 0.09, 0], lpa=[-0.09, 0, 0], rpa=[0.09, 0, 0], coord_frame="head",
    )
    return raw.set_montage(montage)


def _events_every(step: int) -> str:
    rows = [f"{(step * e + 5) / 100:.2f}\t0\t{('go', 'stop')[e % 2]}\n" for e in range(N_EVENT)]
    return "onset\tduration\ttrial_type\n" + "".join(rows)


def _write_all(root: Path) -> None:
    """Write one recording of each kind; tables where mne-bids asks for them."""
    eeg = root / "sub-01" / "eeg"
    write_bdf(eeg / "sub-01_task-bdf_eeg.bdf", samples(1))
    write_edf(eeg / "sub-01_task-edf_eeg.edf", samples(4))
    write_brainvision(eeg / "sub-01_task-vhdr_eeg.vhdr", samples(5))
    write_eeglab(eeg / "sub-01_task-fdt_eeg.set", samples(2), has_fdt=True)
    write_eeglab(eeg / "sub-01_task-set_eeg.set", samples(3), has_fdt=False)
    for task in ("bdf", "edf", "fdt", "set", "vhdr"):
        write_tables(eeg, f"sub-01_task-{task}", "sub-01", "F3" if task == "fdt" else "")
    meg = root / "sub-01" / "meg"
    meg.mkdir()
    _mixed(1000, 40).save(meg / "sub-01_task-mixed_meg.fif", verbose="ERROR")
    (meg / "sub-01_task-mixed_events.tsv").write_text(_events_every(40))
    _mixed(16000, 660).save(meg / "sub-01_task-parts_meg.fif", split_naming="bids",
                            split_size="2MB", verbose="ERROR")
    (meg / "sub-01_task-parts_events.tsv").write_text(_events_every(660))


@pytest.mark.filterwarnings("ignore")
def test_every_format_is_read_as_mne_bids_reads_it(tmp_path: Path) -> None:
    mne = pytest.importorskip("mne")
    mne_bids = pytest.importorskip("mne_bids")
    root = tmp_path / "bids"
    _write_all(root)
    assert (root / "sub-01/meg/sub-01_task-parts_split-02_meg.fif").exists()
    result = ta.study(root, tmp_path / "out", **CUT, **GRID, event=["go", "stop"],
                      baseline="none", with_reports=False)
    assert [r.task for r in result] == ["bdf", "edf", "fdt", "set", "vhdr", "mixed", "parts"]
    assert [r.state for r in result] == ["done"] * 7, [r.message for r in result]
    for recording in result:
        source = mne_bids.BIDSPath(subject="01", task=recording.task, root=root,
                                   datatype=recording.datatype)
        raw = mne_bids.read_raw_bids(source, verbose="ERROR")
        events, codes = mne.events_from_annotations(raw, verbose="ERROR")
        chosen = {name: codes[name] for name in ("go", "stop")}
        epochs = mne.Epochs(raw, events, chosen, **CUT, baseline=None, preload=True,
                            verbose="ERROR")
        assert recording.n_epochs == len(epochs) == N_EVENT
        ar = ta.AutoReject(n_interpolate=GRID["n_interpolate"], consensus=GRID["consensus"],
                           cv=GRID["cv"], random_state=0, search="exact", rho_mode="independent",
                           verbose=False)
        clean, log = ar.fit_transform(epochs, return_log=True)
        model = recording.model()
        assert list(model.threshes_) == list(ar.threshes_)
        np.testing.assert_allclose(list(model.threshes_.values()), list(ar.threshes_.values()),
                                   rtol=1e-9)
        np.testing.assert_array_equal(recording.reject_log().labels, log.labels)
        assert recording.n_kept == len(clean)
    # Thousands of fT beside the heads of the group, whole: exponents do not fit there.
    numbers = re.findall(r"<text x=[^>]*>([0-9.e+]+)</text>", result.report.read_text())
    assert any(float(number) >= 1000 for number in numbers)
    assert not any("e" in number for number in numbers)


@pytest.mark.parametrize(
    ("in_file", "in_table", "factor"),
    [("", "µV", 1), ("", "uV", 1), ("", "mV", 1e3), ("", "V", 1e6), ("", "n/a", 1e6),
     ("uV", "V", 1)],  # what the file says goes first
)
def test_the_table_gives_units_a_file_has_not(
    tmp_path: Path, in_file: str, in_table: str, factor: float
) -> None:
    folder = tmp_path / "sub-01" / "eeg"
    x = samples(3)
    write_edf(folder / "sub-01_task-odd_eeg.edf", x, unit=in_file)
    write_tables(folder, "sub-01_task-odd", "sub-01")
    table = folder / "sub-01_task-odd_channels.tsv"
    text = table.read_text(encoding="utf-8").replace("µV", in_table)
    table.write_text(text, encoding="utf-8")
    epochs = ta.read_epochs(folder / "sub-01_task-odd_eeg.edf", **CUT)
    got = epochs.get_data()
    np.testing.assert_allclose(got[0], factor * x[:, 5:36], rtol=1e-9, atol=factor * 1e-12)


def test_runs_are_numbers(tmp_path: Path) -> None:
    root = tmp_path / "bids"
    for run in ("1", "02", "10"):
        folder = root / "sub-01" / "eeg"
        write_edf(folder / f"sub-01_task-odd_run-{run}_eeg.edf", samples(3))
    (root / "task-odd_events.tsv").write_text(events_table())
    plan = ta.study(root, tmp_path / "out", **CUT, run=["01", "2"], dry_run=True)
    assert [r.run for r in plan] == ["02", "1"]
    with pytest.raises(FileNotFoundError, match="run-100"):
        ta.study(root, tmp_path / "out", **CUT, run="100", dry_run=True)
