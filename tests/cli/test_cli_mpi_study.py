"""Studies over ranks: the files of one process, whatever the number of ranks, also when resumed."""

import hashlib
import re
import shutil
import sys
from pathlib import Path

import pytest
from test_cli_mpi import mpirun, pytestmark  # noqa: F401

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))
from study_trees import tree

STUDY = ["autoreject", "study", "bids", "--tmin", "-0.05", "--tmax", "0.3", "--n-interpolate",
         "1,3", "--consensus", "0.3,0.6", "--n-fold", "4"]


def digests(folder):
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def study(tessera_at, tmp_path_factory):
    """Five subjects, one of which cannot be read and one with tables that are odd."""
    tessera = tessera_at(tmp_path_factory.mktemp("study"))
    root = tree(tessera.directory / "bids", n_subject=5)
    (root / "sub-04" / "eeg" / "sub-04_task-odd_eeg.vhdr").write_text("nothing")
    folder = root / "sub-02" / "eeg"
    table = folder / "sub-02_task-odd_channels.tsv"
    table.write_text(table.read_text() + "Nobody\tEEG\tuV\tgood\n")
    table = folder / "sub-02_space-CapTrak_electrodes.tsv"
    table.write_text(re.sub(r"Oz\t.*", "Oz\t0\t0\t0", table.read_text()))
    tessera.one = tessera(*STUDY, "-o", "one", "--threads", "1")
    assert tessera.one.returncode == 1, tessera.one.stderr
    return tessera


def told(result):
    """What a command says of its results, but for how much memory was planned."""
    lines = [line for line in result.stdout.splitlines() if not line.startswith("group report")]
    return [[word for word in line.split() if word[0] not in "0123456789"] for line in lines]


def warnings(result):
    """Each once: another rank's are not repeated as often as they came."""
    return {line for line in result.stderr.splitlines() if " [autoreject." in line}


@pytest.mark.parametrize(("n_rank", "threads"), [(2, 2), (3, 1), (5, 1)])
def test_ranks_give_the_files_of_one(study, n_rank, threads):
    out = f"r{n_rank}"
    result = mpirun(study, n_rank, *STUDY, "-o", out, "--threads", threads)
    assert result.returncode == 1, result.stderr
    assert digests(study.directory / out) == digests(study.directory / "one")
    assert told(result) == told(study.one)
    assert result.stderr.count("1 of 5 recordings failed") == 1
    assert f"on each of {n_rank} ranks" in result.stderr
    assert warnings(result) == warnings(study.one)
    assert {line.split()[-1] for line in warnings(result)} == {
        "[autoreject.position]", "[autoreject.table]"}


def test_another_number_of_ranks_goes_on(study):
    """Two of five are missing; another has a page less."""
    partly = study.directory / "partly"
    shutil.copytree(study.directory / "one", partly)
    shutil.rmtree(partly / "sub-01")
    shutil.rmtree(partly / "sub-05")
    (partly / "sub-03" / "eeg" / "sub-03_task-odd_desc-autoreject_report.html").unlink()
    result = mpirun(study, 2, *STUDY, "-o", "partly", "--resume", "--threads", "1")
    assert result.returncode == 1, result.stderr
    assert "3 done, 1 done already, 1 failed" in result.stdout
    assert digests(partly) == digests(study.directory / "one")


def test_who_is_in_the_way_is_said_once(study):
    result = mpirun(study, 2, *STUDY, "-o", "one")
    assert result.returncode == 73, result.stderr
    assert result.stderr.count("holds a study") == 1
