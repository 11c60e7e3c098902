"""Studies: names of events, baselines, links, tables and options that cannot be."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
import tessera.autoreject as ta
from study_trees import places, tree

COMMAND = os.environ.get("TESSERA_COMMAND", "")
CUT: dict[str, Any] = {"tmin": -0.05, "tmax": 0.3}
GRID: dict[str, Any] = {"n_interpolate": [1, 3], "consensus": [0.3, 0.6, 0.9], "cv": 4}
LATIN = ["ÄÖ", "a:b", 'q "x"', "z"]


def _events(root: Path, subject: str) -> Path:
    return root / f"sub-{subject}" / "eeg" / f"sub-{subject}_task-odd_events.tsv"


def _rename_events(path: Path, names: list[str]) -> None:
    """Give the rows these names, in turn."""
    head, *rows = path.read_text(encoding="utf-8").splitlines()
    at = head.split("\t").index("trial_type")
    for k, row in enumerate(rows):
        cells = row.split("\t")
        cells[at] = names[k % len(names)]
        rows[k] = "\t".join(cells)
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")


def _record(out: Path, subject: str = "01") -> dict[str, Any]:
    stem = f"sub-{subject}_task-odd_desc-autoreject_epo.json"
    found: dict[str, Any] = json.loads((out / f"sub-{subject}" / "eeg" / stem).read_text("utf-8"))
    return found


def _study(root: Path, out: Path, **options: Any) -> ta.Study:
    return ta.study(root, out, **{**CUT, **GRID, "with_reports": False, **options})


def test_names_that_fif_cannot_hold_are_replaced(tmp_path: Path) -> None:
    mne = pytest.importorskip("mne")
    root = tree(tmp_path / "bids", n_subject=1)
    _rename_events(_events(root, "01"), ["停止", "go;1", "go_1", *LATIN])
    with pytest.warns(UserWarning, match="is stored as"):
        result = _study(root, tmp_path / "out")
    assert [r.state for r in result] == ["done"]
    file = tmp_path / "out" / "sub-01" / "eeg" / "sub-01_task-odd_desc-autoreject_epo.fif"
    names = set(mne.read_epochs(file, verbose="ERROR").event_id)
    assert names == {"U+505CU+6B62", "go_1_2", "go_1", *LATIN}
    notes = _record(tmp_path / "out")["notes"]
    assert notes.count("stored as") == 1
    assert ("event '停止' is stored as 'U+505CU+6B62', 'go;1' as 'go_1_2': names in FIF" in notes or
            "event 'go;1' is stored as 'go_1_2', '停止' as 'U+505CU+6B62': names in FIF" in notes)
    log = file.with_name(file.name.replace("epo.fif", "log.tsv")).read_text(encoding="utf-8")
    assert "\t停止\t" in log  # tables hold every name


def test_many_names_that_are_replaced_are_told_of_once(tmp_path: Path) -> None:
    root = tree(tmp_path / "bids", n_subject=1)
    _rename_events(_events(root, "01"), [f"a;{k:02}" for k in range(12)])
    with pytest.warns(UserWarning, match="is stored as") as said:
        _study(root, tmp_path / "out")
    assert sum("stored as" in str(one.message) for one in said) == 1
    notes = _record(tmp_path / "out")["notes"]
    assert ("event 'a;00' is stored as 'a_00', 'a;01' as 'a_01', 'a;02' as 'a_02' and 9 more so: "
            "names in FIF files have") in notes


def test_names_of_any_length_are_stored(tmp_path: Path) -> None:
    mne = pytest.importorskip("mne")
    root = tree(tmp_path / "bids", n_subject=1)
    _rename_events(_events(root, "01"), ["停" * 100, "z" * 600])
    with pytest.warns(UserWarning, match="is stored as"):
        _study(root, tmp_path / "out", with_reports=True)
    file = tmp_path / "out" / "sub-01" / "eeg" / "sub-01_task-odd_desc-autoreject_epo.fif"
    assert set(mne.read_epochs(file, verbose="ERROR").event_id) == {"U+505C" * 100, "z" * 600}
    page = file.with_name(file.name.replace("epo.fif", "report.html")).read_text("utf-8")
    assert "停\N{REPLACEMENT CHARACTER}" in page  # cut within a character


@pytest.mark.skipif(not COMMAND, reason="needs the command")
def test_commands_warn_of_names_and_mne_reads_them(tmp_path: Path) -> None:
    mne = pytest.importorskip("mne")
    root = tree(tmp_path / "bids", n_subject=1)
    _rename_events(_events(root, "01"), ["停止", "z"])
    file = str(next((root / "sub-01" / "eeg").glob("*.vhdr")))
    cut = ["--tmin=-0.05", "--tmax=0.3"]
    lines = [["autoreject", "fit-transform", file, *cut, "--n-fold=4", "-o", "a-epo.fif",
              "--save-model", "model.json"],
             ["autoreject", "transform", file, *cut, "-m", "model.json", "-o", "b-epo.fif.gz"]]
    for line in lines:
        found = subprocess.run(
            [COMMAND, *line], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert found.returncode == 0, found.stderr
        assert "warning: event '停止' is stored as 'U+505CU+6B62'" in found.stderr
    for name in ("a-epo.fif", "b-epo.fif.gz"):
        assert set(mne.read_epochs(tmp_path / name, verbose="ERROR").event_id) == {
            "U+505CU+6B62", "z"}


def test_a_baseline_lies_in_the_epochs(tmp_path: Path) -> None:
    root = tree(tmp_path / "bids", n_subject=1)
    file = next((root / "sub-01" / "eeg").glob("*.vhdr"))
    for baseline in ((-0.5, 0), (None, 0.4), (-1, -0.5)):
        with pytest.raises(tessera.ArgumentError, match=r"--baseline.*from -0\.05 to 0\.3 s"):
            ta.read_epochs(file, **CUT, baseline=baseline)
    with pytest.raises(tessera.ArgumentError, match="--baseline"):
        ta.read_epochs(file, window=0.3, baseline=(-0.2, 0))
    for inside in ((-0.05, 0), (None, 0), (-0.055, 0), (0, None)):  # half a sample is MNE's, too
        assert ta.read_epochs(file, **CUT, baseline=inside).get_data().shape[0] == 24
    # Nobody asked for this one: epochs that end before their event have only themselves.
    assert len(ta.read_epochs(file, tmin=-0.04, tmax=-0.01)) == 24


@pytest.mark.parametrize("hz", [250.25, 256.0, 1024.0])
def test_a_baseline_holds_the_samples_that_mne_takes(tmp_path: Path, hz: float) -> None:
    mne = pytest.importorskip("mne")
    x = 1e-5 * np.random.default_rng(0).standard_normal((2, int(10 * hz)))
    raw = mne.io.RawArray(x, mne.create_info(["Fz", "Cz"], hz, "eeg"), verbose="ERROR")
    raw.set_annotations(mne.Annotations([2.0, 5.0, 8.0], 0, "go"))
    file = tmp_path / "a_raw.fif"
    raw.save(file, fmt="double", verbose="ERROR")
    raw = mne.io.read_raw_fif(file, verbose="ERROR")
    events, names = mne.events_from_annotations(raw, verbose="ERROR")
    cut: dict[str, Any] = {"tmin": -0.2, "tmax": 0.5}
    for baseline in ((-0.2, 0), (-0.1, 0), (-0.15, 0.15), (-0.1, -0.05), (0.4, 0.498), (None, 0)):
        want = mne.Epochs(raw, events, names, **cut, baseline=baseline, preload=True,
                          verbose="ERROR")
        got = ta.read_epochs(file, **cut, baseline=baseline)
        assert np.allclose(got.get_data(), want.get_data(), rtol=0, atol=1e-15), baseline


def test_the_links_of_sources_are_defined(tmp_path: Path) -> None:
    root = tree(tmp_path / "bids", n_subject=1)
    places = {"out": "../bids", "bids/derivatives/tessera": "../..", "a/b": "../../bids"}
    for place, raw in places.items():
        out = tmp_path / place
        _study(root, out)
        links = json.loads((out / "dataset_description.json").read_text())["DatasetLinks"]
        assert links == {"raw": raw}
        source = re.fullmatch(r"bids:raw:(.+)", _record(out)["Sources"][0])
        assert source
        assert (out / links["raw"] / source[1]).is_file()


def test_what_is_done_at_a_time_leaves_no_trace(tmp_path: Path) -> None:
    root = tree(tmp_path / "bids", n_subject=2)
    sums = []
    for n in (1, 2):
        out = tmp_path / f"out{n}"
        _study(root, out, with_reports=True, at_a_time=n, threads=n, memory_limit=f"{n + 1}G")
        sums.append({str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
                     for path in out.rglob("*") if path.is_file()})
    assert sums[0] == sums[1]
    page = (tmp_path / "out1" / "group_desc-autoreject_report.html").read_text("utf-8")
    assert "outlier_z" in page


@pytest.mark.skipif(not COMMAND, reason="needs the command")
@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--consensus 2", "--consensus: 2"),
        ("--tmin 0.5 --tmax 0.1", "--tmax"),
        ("--types foo=Fp2", "--types: 'foo=Fp2'"),
        ("--window 2 --overlap 2", "--overlap"),
        ("--datatype foo", "--datatype: 'foo'"),
        ("--datatype eeg,foo", "--datatype: 'foo'"),
        ("--subjects=", "--subjects: ''"),
        ("--run=,", "--run: ','"),
        ("--window 2 --baseline=-0.2,0", "--baseline"),
        ("--tmin=-0.1 --baseline=-0.5,0", "--baseline"),
        ("--baseline=-0.5,0", "--baseline"),
        ("--window 0.3 --event go", "--window and --event exclude each other"),
    ],
)
def test_impossible_options_stop_before_anything_is_written(
    tmp_path: Path, words: str, named: str
) -> None:
    tree(tmp_path / "bids", n_subject=1)
    line = [COMMAND, "autoreject", "study", "bids", "-o", "out", *words.split()]
    found = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 2, found.stderr
    assert named in found.stderr
    assert not (tmp_path / "out").exists()


def test_a_baseline_that_some_recording_could_have_is_tried(tmp_path: Path) -> None:
    mne = pytest.importorskip("mne")
    info = mne.create_info(8, 50.0, "eeg")
    info.set_montage(mne.channels.make_dig_montage(
        dict(zip(info.ch_names, places()[:8], strict=True)), coord_frame="head"))
    x = 1e-5 * np.random.default_rng(0).standard_normal((24, 8, 100))
    folder = tmp_path / "bids" / "sub-01" / "eeg"
    folder.mkdir(parents=True)
    epochs = mne.EpochsArray(x, info, tmin=-1, verbose="ERROR")
    epochs.save(folder / "sub-01_task-odd_eeg.fif", verbose="ERROR")
    # These hold epochs already: tmin, which is for recordings beside them, says nothing of them.
    result = _study(tmp_path / "bids", tmp_path / "out", tmin=-0.1, baseline=(-0.5, 0))
    assert [r.state for r in result] == ["done"]
    # Of a sample of slow recordings nothing is known before they are read.
    tree(tmp_path / "slow", n_subject=1)
    with pytest.raises(tessera.ArgumentError, match="--baseline"):
        _study(tmp_path / "slow", tmp_path / "out2", baseline=(-0.3, 0))
    slow = _study(tmp_path / "slow", tmp_path / "out2", baseline=(-0.1, 0))
    assert [r.state for r in slow] == ["failed"]


def test_rows_of_events_that_are_not_known(tmp_path: Path) -> None:
    root = tree(tmp_path / "bids", n_subject=1)
    path = _events(root, "01")
    _rename_events(path, ["go", "n/a"])
    rows = path.read_text().splitlines()
    for k in (3, 6):
        rows[k] = "n/a" + rows[k][rows[k].index("\t"):]
    path.write_text("\n".join(rows) + "\n")
    result = _study(root, tmp_path / "out")
    assert any("2 events left out: the onset is n/a" in note for note in result.notes)
    log = next((tmp_path / "out" / "sub-01" / "eeg").glob("*_log.tsv")).read_text("utf-8")
    head, *rows = log.splitlines()
    at = head.split("\t").index("trial_type")
    assert [row.split("\t")[at] for row in rows].count("n/a") == 11  # two onsets of 24 are none
    mne = pytest.importorskip("mne")
    file = next((tmp_path / "out" / "sub-01" / "eeg").glob("*_epo.fif"))
    assert set(mne.read_epochs(file, verbose="ERROR").event_id) == {"go", "n/a"}


@pytest.mark.parametrize(
    ("system", "factor", "said"),
    [
        ('{"EEGCoordinateUnits": "m"}', 1, ""),
        ('{"EEGCoordinateUnits": "mm"}', 1000, ""),
        ('{"EEGCoordinateUnits": "furlong"}', 1, "is 'furlong'; .* in m"),
        ('{"EEGCoordinateUnits": "n/a"}', 1000, "is 'n/a'; .* in mm "),
        ("{broken", 100, "is no valid JSON; .* in cm "),
        ('{"EEGCoordinateUnits": "m"}', 1000, "is 'm'; .* lie 90 .* in mm "),
        ('{"EEGCoordinateUnits": "mm"}', 1, "is 'mm'; .* lie 0.09 .* in m"),
        ('{"EEGCoordinateUnits": "cm"}', 1, "is 'cm'; .* lie 0.09 .* in m"),
        ('\ufeff{"EEGCoordinateUnits": "m"}', 1, ""),
    ],
)
def test_units_of_electrodes_that_cannot_be(
    tmp_path: Path, system: str, factor: float, said: str
) -> None:
    root = tree(tmp_path / "bids", n_subject=1)
    folder = root / "sub-01" / "eeg"
    table = next(root.rglob("*_electrodes.tsv"))
    head, *rows = table.read_text().splitlines()
    cells = [row.split("\t") for row in rows]
    rows = ["\t".join([c[0], *(repr(factor * float(v)) for v in c[1:])]) for c in cells]
    table.write_text("\n".join([head, *rows]) + "\n")
    next(root.rglob("*_coordsystem.json")).write_text(system, encoding="utf-8")
    notes = ta.read_epochs(next(folder.glob("*.vhdr")), **CUT).notes
    found = [note for note in notes if "coordsystem.json" in note]
    assert len(found) == bool(said)
    assert all(re.search(said + r".*\[autoreject\.scale\]$", note) for note in found)
    as_montage = ta.read_epochs(next(folder.glob("*.vhdr")), montage=str(table), **CUT).notes
    assert any(note in as_montage for note in found) == bool(said)
    with pytest.warns(UserWarning, match=said) if said else nullcontext():
        result = _study(root, tmp_path / "out")
    assert sum("coordsystem.json" in note for note in result.notes) == bool(said)
    record = _record(tmp_path / "out")
    assert ("coordsystem.json" in record["notes"]) == bool(said)
    want = {c[0]: [float(v) for v in c[1:]] for c in cells}
    for channel in record["channels"]:
        assert channel["position"] == pytest.approx(want[channel["name"]], rel=1e-6)


def test_a_row_out_of_place_leaves_the_unit_of_the_others(tmp_path: Path) -> None:
    root = tree(tmp_path / "bids", n_subject=1)
    table = next(root.rglob("*_electrodes.tsv"))
    table.write_text(table.read_text() + "REF\t999\t999\t999\n")
    notes = ta.read_epochs(next(root.rglob("*.vhdr")), **CUT).notes
    assert not any("coordsystem.json" in note for note in notes)


def test_a_linked_subject_is_told_once(tmp_path: Path) -> None:
    root = tree(tmp_path / ("bids" * 60), n_subject=2)  # the note says both of its paths
    (root / "sub-00").symlink_to("sub-01")  # found before the one it leads to
    shutil.copytree(root / "sub-02", root / "sub-copy")
    result = _study(root, tmp_path / "out")
    assert [r.folder for r in result] == ["sub-01/eeg", "sub-02/eeg", "sub-copy/eeg"]
    assert any(re.search(r"sub-00/.*passed over: .*sub-01/.* by a link", note)
               for note in result.notes)
    rows = result.table.read_text().splitlines()[1:]
    assert [row.split("\t")[0] for row in rows] == ["sub-01", "sub-02", "sub-copy"]
