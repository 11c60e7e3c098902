"""Whole studies: BIDS trees in, derivatives out; against mne-bids where it is there."""

from __future__ import annotations

import hashlib
import inspect
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
import tessera.autoreject as ta
from study_trees import (
    NAMES,
    events_table,
    places,
    samples,
    tree,
    write_brainvision,
    write_edf,
    write_tables,
)

COMMAND = os.environ.get("TESSERA_COMMAND", "")
CUT: dict[str, Any] = {"tmin": -0.05, "tmax": 0.3}
GRID: dict[str, Any] = {"n_interpolate": [1, 3], "consensus": [0.3, 0.6, 0.9], "cv": 4}


def _digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def bids(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tree(tmp_path_factory.mktemp("study") / "bids")


@pytest.fixture(scope="module")
def done(bids: Path) -> ta.Study:
    return ta.study(bids, bids.parent / "out", **CUT, **GRID)


def test_a_study_is_its_recordings_one_by_one(bids: Path, done: ta.Study) -> None:
    assert [r.state for r in done] == ["done"] * 3
    for recording in done:
        epochs = ta.read_epochs(recording.path, **CUT)
        ar = ta.AutoReject(
            n_interpolate=GRID["n_interpolate"],
            consensus=GRID["consensus"],
            cv=GRID["cv"],
            random_state=0,
            search="exact",
            rho_mode="independent",
            verbose=False,
        ).fit(epochs)
        model = recording.model()
        assert model.threshes_ == ar.threshes_
        assert model.consensus_ == ar.consensus_
        assert model.n_interpolate_ == ar.n_interpolate_
        log = ar.get_reject_log(epochs)
        np.testing.assert_array_equal(recording.reject_log().labels, log.labels)
        np.testing.assert_array_equal(recording.reject_log().bad_epochs, log.bad_epochs)
        assert recording.n_kept == int((~log.bad_epochs).sum())


def test_the_tables_are_honoured(done: ta.Study) -> None:
    first, second = done["01"], done["02"]
    assert first.n_channels == len(NAMES)
    assert second.n_channels == len(NAMES) - 1
    assert "F3" not in second.model().threshes_
    rows = done.table.read_text().splitlines()
    assert len(rows) == 4
    sensors = (done.output / "group_desc-autoreject_sensors.tsv").read_text().splitlines()
    assert len(sensors) == 1 + len(NAMES)
    assert next(row for row in sensors if row.startswith("F3\t")).split("\t")[2] == "2"
    described = json.loads((done.output / "dataset_description.json").read_text())
    assert described["DatasetType"] == "derivative"
    assert described["GeneratedBy"][0]["Name"] == "tessera autoreject study"


def test_group_medians(done: ta.Study) -> None:
    models = [recording.model().threshes_ for recording in done]
    rows = (done.output / "group_desc-autoreject_sensors.tsv").read_text().splitlines()
    heads = rows[0].split("\t")
    for row in rows[1:]:
        cells = dict(zip(heads, row.split("\t"), strict=True))
        own = [model[cells["name"]] for model in models if cells["name"] in model]
        assert float(cells["threshold_median"]) == pytest.approx(np.median(own), rel=1e-12)
        assert float(cells["threshold_high"]) == pytest.approx(max(own), rel=1e-12)


def test_outliers_are_named_by_the_rule(tmp_path: Path) -> None:
    root = tree(tmp_path / "bids", n_subject=7)
    loud = samples(3, scale=4.0)
    write_brainvision(root / "sub-04" / "eeg" / "sub-04_task-odd_eeg.vhdr", loud)
    result = ta.study(root, tmp_path / "out", **CUT, **GRID, with_reports=False)
    levels = np.array([np.median(list(r.model().threshes_.values())) for r in result])
    logs = np.log(levels)
    mad = np.median(np.abs(logs - np.median(logs)))
    z = (logs - np.median(logs)) / (1.4826 * mad)
    named = [line for line in result.outliers if "thresholds" in line and "sensor" not in line]
    far = np.abs(logs - np.median(logs)) >= np.log(1.25)
    want = {f"sub-{k + 1:02d}" for k in np.flatnonzero((np.abs(z) > 3.5) & far)}
    assert "sub-04" in want
    assert {line.partition(":")[0] for line in named} == want
    assert not list((tmp_path / "out").rglob("sub-*report.html"))


def test_the_page_of_the_group_can_be_read(tmp_path: Path) -> None:
    root = tree(tmp_path / "bids", n_subject=1)
    write_brainvision(root / "sub-01/eeg/sub-01_task-odd_eeg.vhdr", samples(1, scale=20.0))
    for k in range(2, 14):
        subject = f"sub-{k:034d}"
        folder = root / subject / "eeg"
        shutil.copytree(root / "sub-01" / "eeg", folder)
        for path in sorted(folder.iterdir()):
            text = path.read_bytes()
            if path.suffix in (".vhdr", ".vmrk"):
                text = text.replace(b"sub-01", subject.encode())
            path.unlink()
            (folder / path.name.replace("sub-01", subject)).write_bytes(text)
    result = ta.study(root, tmp_path / "out", **CUT, **GRID, with_reports=False)
    assert not result.failed
    page = result.report.read_text(encoding="utf-8")
    # Thousands of a unit, as magnetometers have them in fT, are no powers of ten.
    assert re.search(r"\b\d{4} µV", page)
    assert not re.search(r"\de\+0\d( µV|</text>)", page)
    # Names under a map that is seen without scripts are whole and do not lie on top of each other.
    names = re.findall(r'<text x="(\d+)" y="(\d+)" text-anchor="middle">(sub-[^<]*)<', page)
    assert len(names) > 1
    for (x, y, name), (next_x, next_y, _) in itertools.pairwise(names):
        assert next_y != y or int(next_x) < int(x) or int(next_x) - int(x) >= 6 * len(name)
    assert all(3 * len(name) <= int(x) <= 900 - 3 * len(name) for x, _, name in names)


def test_failures_do_not_stop_the_rest_and_resume_keeps(bids: Path, tmp_path: Path) -> None:
    root = tmp_path / "bids"
    shutil.copytree(bids, root)
    broken = root / "sub-02" / "eeg" / "sub-02_task-odd_events.tsv"
    broken.write_text("onset\tduration\n")
    result = ta.study(root, tmp_path / "out", **CUT, **GRID)
    assert [r.state for r in result] == ["done", "failed", "done"]
    assert "without events (its events.tsv has no rows)" in result["02"].message
    cells = re.findall(r"<tr[^>]*>(.*?)</tr>", result.report.read_text(encoding="utf-8"), re.S)
    failed = [re.sub(r"<[^>]+>", " ", row).split() for row in cells if ">failed<" in row]
    assert failed == [["sub-02", "failed", "-", "-", "-", "-", "-", "-"]]  # not 0 epochs
    assert result.failed == [result["02"]]
    assert not (tmp_path / "out" / "sub-02").exists()
    with pytest.raises(FileExistsError, match="resume"):
        ta.study(root, tmp_path / "out", **CUT, **GRID)
    broken.write_text(events_table())
    again = ta.study(root, tmp_path / "out", **CUT, **GRID, resume=True)
    assert [r.state for r in again] == ["done already", "done", "done already"]
    with pytest.raises(tessera.CheckpointError, match="other settings"):
        ta.study(root, tmp_path / "out", **CUT, consensus=[0.5], resume=True)
    # What was done again after its files had changed, and what was not, are as of one run.
    whole = ta.study(root, tmp_path / "whole", **CUT, **GRID)
    assert len(whole.failed) == 0
    assert _digests(tmp_path / "out") == _digests(tmp_path / "whole")


def test_empty_files_are_called_empty(bids: Path, tmp_path: Path) -> None:
    root = tmp_path / "bids"
    shutil.copytree(bids, root)
    (root / "sub-02" / "eeg" / "sub-02_task-odd_events.tsv").write_bytes(b"")
    recording = next(p for p in (root / "sub-03" / "eeg").iterdir() if p.stem.endswith("_eeg"))
    for file in recording.parent.glob(f"{recording.stem}.*"):
        file.write_bytes(b"")
    result = ta.study(root, tmp_path / "out", **CUT, **GRID, with_reports=False)
    assert [r.state for r in result] == ["done", "failed", "failed"]
    assert "is empty; expected a table with a column 'onset'" in result["02"].message
    assert "is empty: copy the file again" in result["03"].message


def test_samples_that_were_not_fetched_are_called_so(bids: Path, tmp_path: Path) -> None:
    root = tmp_path / "bids"
    shutil.copytree(bids, root)
    for subject in ("01", "02", "03"):
        samples_of = root / f"sub-{subject}" / "eeg" / f"sub-{subject}_task-odd_eeg.eeg"
        samples_of.unlink()
        if subject == "02":
            samples_of.symlink_to("../../.git/annex/objects/none")
    found = ta.study(root, tmp_path / "out", **CUT, dry_run=True)
    assert re.search(r"eeg\.eeg: is a link to .*none, which is not there", found["02"].message)
    assert re.search(r"vhdr: \S+eeg\.eeg, which the header names, is not", found["01"].message)


def test_other_folders_are_left_alone(bids: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="other things"):
        ta.study(bids, tmp_path, **CUT)
    with pytest.raises(tessera.ArgumentError, match="the tree itself"):
        ta.study(bids, bids, **CUT)
    with pytest.raises(FileNotFoundError, match="sub-77"):
        ta.study(bids, tmp_path / "out", subjects="77")
    with pytest.raises(FileNotFoundError, match="no folder"):
        ta.study(tmp_path / "nowhere", tmp_path / "out")


def test_dry_run_lists_and_writes_nothing(bids: Path, tmp_path: Path) -> None:
    plan = ta.study(bids, tmp_path / "out", **CUT, dry_run=True, subjects=["01", "sub-03"])
    assert [r.subject for r in plan] == ["01", "03"]
    assert [r.state for r in plan] == ["to do"] * 2
    assert plan[0].n_epochs == 24
    assert plan[0].memory_bytes > 0
    assert not (tmp_path / "out").exists()
    small = ta.study(bids, tmp_path / "out", **CUT, dry_run=True, threads=3, memory_limit="512M")
    assert small.at_a_time == 3


def test_labels_are_texts_or_numbers(bids: Path, tmp_path: Path) -> None:
    def names(**labels: Any) -> list[str]:
        return [r.subject for r in ta.study(bids, tmp_path / "out", dry_run=True, **labels)]

    assert names(subjects=["01", "sub-03"]) == ["01", "03"]
    assert names(subjects="01, 03") == ["01", "03"]  # as people write lists
    assert names(event=[1], subjects="02") == ["02"]
    with pytest.raises(tessera.NotFoundError, match="run-7"):
        names(run=7)
    for wrong in ([], [None], 1.5, [["01"]], ["01,02"]):
        with pytest.raises(tessera.ArgumentError, match="subjects"):
            names(subjects=wrong)


def test_splits_until_the_choice_stays(bids: Path, tmp_path: Path) -> None:
    cut = {**CUT, **GRID, "subjects": "01"}
    found = ta.study(bids, tmp_path / "a", **{**cut, "n_splits": "auto"})
    assert repr(found) == f"<Study of 1 recordings | 1 done | {tmp_path / 'a'}>"
    asked = ta.study(bids, tmp_path / "b", **{**cut, "n_splits": 0})
    assert found["01"].model().threshes_ == asked["01"].model().threshes_
    del cut["cv"]
    assert ta.study(bids, tmp_path / "c", **cut, cv="auto")["01"].state == "done"
    for name in ("cv", "n_splits"):
        wrong: dict[str, Any] = {name: "many"}
        with pytest.raises(tessera.ArgumentError, match=name):
            ta.study(bids, tmp_path / "d", **wrong)


@pytest.mark.skipif(not COMMAND, reason="needs the command")
def test_a_recording_of_which_drop_partial_leaves_nothing(tmp_path: Path) -> None:
    root = tree(tmp_path / "bids", n_subject=1)
    x = samples(1, bad=0.0)
    for e in range(24):  # one channel of every epoch, each time another
        x[e % 14, e * 40 + 10 : e * 40 + 30] += 3e-4
    write_brainvision(root / "sub-01" / "eeg" / "sub-01_task-odd_eeg.vhdr", x)
    line = ["autoreject", "study", str(root), "-o", str(tmp_path / "out"), "--tmin=-0.05"]
    line += ["--tmax=0.3", "--n-interpolate=0", "--consensus=1", "--n-fold=4", "--drop-partial"]
    found = subprocess.run([COMMAND, *line], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout
    assert "0 kept" in found.stdout
    folder = tmp_path / "out" / "sub-01" / "eeg"
    assert not (folder / "sub-01_task-odd_desc-autoreject_epo.fif").exists()
    page = (folder / "sub-01_task-odd_desc-autoreject_report.html").read_text(encoding="utf-8")
    assert "Every epoch is bad or keeps bad channels" in page


def test_inheritance_sessions_and_runs(tmp_path: Path) -> None:
    root = tmp_path / "bids"
    for session in ("a", "b"):
        folder = root / "sub-1" / f"ses-{session}" / "eeg"
        for run in (1, 2):
            stem = f"sub-1_ses-{session}_task-odd_run-{run}"
            write_edf(folder / f"{stem}_eeg.edf", samples(ord(session[0]) + run))
        (folder / "notes.txt").write_text("")
    write_tables(root, "task-odd", "sub-1")  # the events and channels of all recordings
    for path in root.glob("sub-1_space*"):  # the electrodes of a session
        path.rename(root / "sub-1" / "ses-a" / "eeg" / path.name)
    result = ta.study(root, tmp_path / "out", **CUT, **GRID, event="go", run="2")
    assert [(r.session, r.run) for r in result] == [("a", "2"), ("b", "2")]
    assert result[0].state == "done"
    assert result[0].n_epochs == 12
    assert result[1].state == "failed"  # no positions for the other one
    assert "positions" in result[1].message


@pytest.mark.skipif(not COMMAND, reason="TESSERA_COMMAND names no command")
def test_a_killed_study_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    tree(tmp_path / "bids", n_subject=6)
    words = [COMMAND, "autoreject", "study", "bids", "--tmin=-0.05", "--tmax=0.3", "--quiet"]
    whole = [*words, "-o", "whole", "--threads", "1"]
    subprocess.run(whole, cwd=tmp_path, check=True, capture_output=True)
    begin = time.monotonic()
    subprocess.run([*words, "-o", "timed"], cwd=tmp_path, check=True, capture_output=True)
    took = time.monotonic() - begin
    for number, share in enumerate((0.4, 0.6)):
        process = subprocess.Popen(
            [*words, "-o", "out", *(["--resume"] if number else [])], cwd=tmp_path
        )
        time.sleep(took * share)
        process.kill()
        process.wait()
    last = subprocess.run(
        [*words, "-o", "out", "--resume", "--json"], cwd=tmp_path, check=True, capture_output=True
    )
    assert json.loads(last.stdout)["n_failed"] == 0
    assert _digests(tmp_path / "out") == _digests(tmp_path / "whole")
    assert _digests(tmp_path / "timed") == _digests(tmp_path / "whole")


@pytest.mark.parametrize("left", [".tessera", "dataset_description.json.tmp.17.a1b2c3d4"])
def test_a_study_killed_as_it_began_goes_on(tmp_path: Path, left: str) -> None:
    root = tree(tmp_path / "bids", n_subject=1)
    (tmp_path / "out").mkdir()
    if left.startswith("."):
        (tmp_path / "out" / left).mkdir()
    else:
        (tmp_path / "out" / left).write_text('{"Na')
    assert ta.study(root, tmp_path / "out", **CUT, **GRID, resume=True)[0].state == "done"


@pytest.mark.skipif(not COMMAND, reason="TESSERA_COMMAND names no command")
def test_the_command_says_how_to_go_on_and_what_failed(tmp_path: Path) -> None:
    root = tree(tmp_path / "bids", n_subject=6)
    words = [COMMAND, "autoreject", "study", "bids", "-o", "out", "--tmin=-0.05", "--tmax=0.3"]
    process = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "out" / "dataset_description.json").exists():
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    _, text = process.communicate(timeout=60)
    if process.returncode != 0:  # it was not done before the signal came
        assert process.returncode == 130
        assert "--resume" in text
        assert not (tmp_path / "out" / ".tessera").exists()
    (root / "sub-05" / "eeg" / "sub-05_task-odd_eeg.eeg").unlink()
    second = subprocess.run(
        [*words, "--resume" if (tmp_path / "out").exists() else "--quiet"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )
    assert second.returncode == 1
    assert "1 of 6 recordings failed" in second.stderr
    assert "sub-05_task-odd" in second.stdout


def _meg(folder: Path) -> Any:
    """Return a raw object of 16 magnetometers on a cap, with triggers."""
    import mne

    rng = np.random.default_rng(5)
    n = 25 * 40
    names = [f"MEG{k:03d}1" for k in range(16)]
    info = mne.create_info([*names, "STI101"], 100.0, ["mag"] * 16 + ["stim"])
    for k in range(16):
        z = 1 - 1.1 * (k + 0.5) / 16
        out = np.array([*(np.sqrt(1 - z * z) * np.array([np.cos(2.4 * k), np.sin(2.4 * k)])), z])
        ex = np.cross(out, [0.3, 0.5, 0.1])
        ex /= np.linalg.norm(ex)
        info["chs"][k]["loc"][:] = [*(0.12 * out + [0, 0, 0.04]), *ex, *np.cross(out, ex), *out]
        info["chs"][k]["coil_type"] = 3024
    info["line_freq"] = 50
    mix = rng.standard_normal((16, 4))
    x = 2e-13 * (mix @ rng.standard_normal((4, n))) + 3e-14 * rng.standard_normal((16, n))
    for e in range(24):
        x[rng.random(16) < 0.05, 40 * e + 10 : 40 * e + 30] += 4e-12
    stim = np.zeros((1, n))
    stim[0, 5::40] = 1
    raw = mne.io.RawArray(np.vstack([x, stim]), info, verbose="ERROR")
    raw.save(folder / "meg_raw.fif", verbose="ERROR")
    return mne.io.read_raw_fif(folder / "meg_raw.fif", verbose="ERROR")


def _write_with_mne_bids(root: Path, scratch: Path) -> None:
    import mne
    import mne_bids

    montage = mne.channels.make_dig_montage(
        dict(zip(NAMES, places(), strict=True)),
        nasion=[0, 0.09, 0], lpa=[-0.09, 0, 0], rpa=[0.09, 0, 0], coord_frame="head",
    )
    events = np.array([[40 * e + 5, 0, 1 + e % 2] for e in range(24)])
    makers = {"01": (write_brainvision, mne.io.read_raw_brainvision, "vhdr"),
              "02": (write_edf, mne.io.read_raw_edf, "edf")}
    for subject, (write, read, ending) in makers.items():
        write(scratch / f"{subject}.{ending}", samples(int(subject)))
        raw = read(scratch / f"{subject}.{ending}", verbose="ERROR")
        raw.set_annotations(None)
        raw.set_channel_types(dict.fromkeys(NAMES, "eeg"))
        raw.set_montage(montage)
        raw.info["line_freq"] = 50
        raw.info["bads"] = ["C4"] if subject == "02" else []
        path = mne_bids.BIDSPath(subject=subject, session="1", task="odd", run=1, root=root,
                                 datatype="eeg")
        mne_bids.write_raw_bids(raw, path, events=events, event_id={"go": 1, "stop": 2},
                                verbose="ERROR")
    path = mne_bids.BIDSPath(subject="03", session="1", task="odd", run=1, root=root,
                             datatype="meg")
    mne_bids.write_raw_bids(_meg(scratch), path, events=events[:, :], verbose="ERROR",
                            event_id={"go": 1, "stop": 2})


@pytest.mark.filterwarnings("ignore")
def test_trees_of_mne_bids(tmp_path: Path) -> None:
    mne = pytest.importorskip("mne")
    mne_bids = pytest.importorskip("mne_bids")
    root = tmp_path / "bids"
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    _write_with_mne_bids(root, scratch)
    out = root / "derivatives" / "tessera"
    result = ta.study(root, out, **CUT, **GRID, event=["go", "stop"], baseline="none")
    assert [r.state for r in result] == ["done"] * 3, [r.message for r in result]
    for recording in result:
        source = mne_bids.BIDSPath(subject=recording.subject, session="1", task="odd", run="01"
                                   if "run-01" in recording.name else "1", root=root,
                                   datatype=recording.datatype)
        raw = mne_bids.read_raw_bids(source, verbose="ERROR")
        events, codes = mne.events_from_annotations(raw, verbose="ERROR")
        epochs = mne.Epochs(raw, events, codes, **CUT, baseline=None, preload=True, proj=False,
                            verbose="ERROR")
        ar = ta.AutoReject(n_interpolate=GRID["n_interpolate"], consensus=GRID["consensus"],
                           cv=GRID["cv"], random_state=0, search="exact", rho_mode="independent",
                           verbose=False)
        clean, log = ar.fit_transform(epochs, return_log=True)
        model = recording.model()
        assert list(model.threshes_) == list(ar.threshes_)
        np.testing.assert_allclose(list(model.threshes_.values()), list(ar.threshes_.values()),
                                   rtol=1e-9)
        assert (model.consensus_, model.n_interpolate_) == (ar.consensus_, ar.n_interpolate_)
        np.testing.assert_array_equal(recording.reject_log().labels, log.labels)
        derived = mne_bids.BIDSPath(
            subject=recording.subject, session="1", task="odd", run=source.run, suffix="epo",
            extension=".fif", description="autoreject", root=out, datatype=recording.datatype,
            check=False,
        )
        read = mne.read_epochs(derived.fpath, verbose="ERROR")
        assert len(read) == recording.n_kept == len(clean)
        assert read.info["bads"] == epochs.info["bads"]
        picks = list(ar.threshes_)
        want = clean.get_data(picks=picks)
        np.testing.assert_allclose(read.get_data(picks=picks), want, atol=1e-6 * abs(want).max())
    assert set(mne_bids.get_entity_vals(out, "subject")) == {"01", "02", "03"}


# What the command calls otherwise, and what belongs to a process, not to a call.
_OTHER_NAMES = {"n_split": "n_splits", "n_fold": "cv"}
_OF_THE_PROCESS = {
    "config", "device_memory_limit", "help", "isa", "json", "keep_checkpoints", "log_file",
    "log_json", "no_progress", "no_warn", "profile", "quiet", "scratch", "time_limit", "trace",
    "verbose", "werror",
}  # fmt: skip


def test_python_has_every_option_of_the_command() -> None:
    if not COMMAND:
        pytest.skip("there is no command")
    text = subprocess.run(
        [COMMAND, "autoreject", "study", "--help"], capture_output=True, text=True, check=True
    ).stdout
    options = {o.replace("-", "_") for o in re.findall(r"^ +(?:-\w, )?--([a-z-]+)", text, re.M)}
    assert len(options) > 50
    known = set(inspect.signature(ta.study).parameters)
    assert {_OTHER_NAMES.get(o, o) for o in options - _OF_THE_PROCESS} <= known
    assert {*_OF_THE_PROCESS, *_OTHER_NAMES} <= options  # the lists do not outlive what they name
    # And what a fit of one recording can be told, by the same name.
    alone = {
        "thresh_func", "thresh_method", "n_jobs", "random_state", "verbose", "precision", "origin",
        "profile",
    }  # fmt: skip
    assert set(inspect.signature(ta.AutoReject).parameters) - alone <= known


@pytest.mark.parametrize(
    ("options", "file", "differs"),
    [
        ({"augment": False}, "model.json", True),
        ({"sampling_hz": 5.0}, "model.json", False),  # the file says its own
        ({"proj": False, "compat_types": True, "meg_dots": "table"}, "log.tsv", False),
        ({"double_precision": True}, "epo.fif", True),
        ({"drop_partial": True}, "model.json", False),
        ({"report_epochs": 1, "report_size": "1M"}, "report.html", True),
    ],
)
def test_options_reach_the_recordings(
    bids: Path, done: ta.Study, tmp_path: Path, options: dict[str, Any], file: str, differs: bool
) -> None:
    result = ta.study(bids, tmp_path / "out", subjects="01", **CUT, **GRID, **options)
    assert result[0].state == "done", result[0].message
    sizes = [r["01"].file(file).stat().st_size for r in (result, done)]
    same = [r["01"].file(file).read_bytes() for r in (result, done)]
    if file.endswith("json"):
        thresholds = [list(r["01"].model().threshes_.values()) for r in (result, done)]
        assert (thresholds[0] != thresholds[1]) == differs
    else:
        assert (same[0] != same[1]) == differs
    if file == "epo.fif":
        assert sizes[0] > 1.5 * sizes[1]


def test_the_group_is_all_that_is_finished(bids: Path, done: ta.Study) -> None:
    out = bids.parent / "one by one"  # beside the other: its link to the tree is the same
    for subjects in ("02", "01", "03"):
        part = ta.study(bids, out, **CUT, **GRID, subjects=subjects, resume=subjects != "02")
        assert [(r.subject, r.state) for r in part] == [(subjects, "done")]
        rows = part.table.read_text(encoding="utf-8").splitlines()
        assert len(rows) == 1 + {"02": 1, "01": 2, "03": 3}[subjects]
    # One after another is as all at once.
    assert _digests(out) == _digests(done.output)
    # What is of other settings is not told beside these, and that is said.
    other = ta.study(bids, out, **CUT, **(GRID | {"cv": 3}), subjects="02", overwrite=True)
    assert len(other.table.read_text(encoding="utf-8").splitlines()) == 2
    assert sum("left out of the group" in note for note in other.notes) == 2


def test_rows_of_no_channel_are_warned_of(bids: Path, tmp_path: Path) -> None:
    root = tmp_path / "bids"
    shutil.copytree(bids, root)
    tables = list(root.rglob("*_channels.tsv"))
    for table in tables:
        head, *rows = table.read_text(encoding="utf-8").splitlines()
        fields = dict.fromkeys(head.split("\t"), "n/a") | {"name": "Fp77", "type": "EEG"}
        table.write_text("\n".join([head, *rows, "\t".join(fields.values())]) + "\n", "utf-8")
    assert tables
    with pytest.warns(UserWarning, match="recording has not: Fp77"):
        result = ta.study(root, tmp_path / "out", subjects="01", **CUT, **GRID)
    assert result[0].state == "done"
    assert "Fp77" in result[0].message


def test_channels_without_a_row_are_warned_of(bids: Path, tmp_path: Path) -> None:
    root = tmp_path / "bids"
    shutil.copytree(bids, root)
    (table,) = (root / "sub-01").rglob("*_channels.tsv")
    rows = table.read_text(encoding="utf-8").splitlines(keepends=True)
    text = "".join(r for r in rows if not r.startswith(("Oz\t", "Fz\t")))
    text = text.replace("\nCz\t", "\nCZ\t").replace("\nFp1\tEEG", "\nFp1\tEGG")
    table.write_text(text, "utf-8")
    with (
        pytest.warns(UserWarning, match="recording has not: CZ"),
        pytest.warns(UserWarning, match="types that are not known.*: Fp1"),
        pytest.warns(UserWarning, match="as the file has them: Fz, Cz, Oz"),
    ):
        ta.study(root, tmp_path / "out", subjects="01", **CUT, dry_run=True)


def test_what_is_lost_and_not_used_is_told(bids: Path, tmp_path: Path) -> None:
    plan = ta.study(bids, tmp_path / "out", tmin=-0.2, tmax=0.1, dry_run=True)
    (note,) = plan.notes  # of three recordings that say the same
    assert note.startswith("sub-01_task-odd and 2 others: 1 of 24 events give no epoch: they reach")
    plan = ta.study(bids, tmp_path / "out", subjects="02", window=0.5, tmin=0.1, dry_run=True)
    assert any("tmin and tmax are not used" in note for note in plan.notes)
