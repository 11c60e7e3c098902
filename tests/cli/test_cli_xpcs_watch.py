"""tessera xpcs watch: files that appear, grow, break, move and vanish, and runs that end."""

import csv
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

MODE = ["--mode", "static_anisotropic", "--sigma-mode", "estimate"]
FAST = ["--poll", "0.05", "--settle", "0.1", "--no-surfaces"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Three small files of correlations."""
    from cli_command import Command

    folder = tmp_path_factory.mktemp("correlations")
    for seed in (1, 2, 3):
        result = Command(folder)("xpcs", "simulate", "-o", f"{seed}.hdf", "--mode",
                                 "static_anisotropic", "--n-angle", "2", "--n-frame", "40",
                                 "--seed", str(seed), "-q")
        assert result.returncode == 0, result.stderr
    return [folder / f"{seed}.hdf" for seed in (1, 2, 3)]


@pytest.fixture
def start(tessera, tmp_path):
    """Starts watches of tmp_path/in, and ends them."""
    (tmp_path / "in").mkdir()
    running = []

    def begin(*words):
        with open(tmp_path / "stderr", "a", encoding="utf-8") as errors:
            running.append(tessera.popen("xpcs", "watch", "in", "-o", "live", *MODE, *FAST, *words,
                                         stdout=subprocess.DEVNULL, stderr=errors))
        wait_for((tmp_path / "live/watch.csv").exists)
        return running[-1]

    yield begin
    for process in running:
        if process.poll() is None:
            process.kill()
        process.wait()


def wait_for(check, seconds=20):
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def rows(folder):
    with open(folder / "live/watch.csv", encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def of(folder, **wanted):
    return [r for r in rows(folder) if all(r[k] == v for k, v in wanted.items())]


def stop(process, number=signal.SIGTERM):
    process.send_signal(number)
    return process.wait(timeout=20)


def test_every_file_is_fitted_once_and_restarts_know(tessera, tmp_path, files):
    inbox = tmp_path / "in"
    inbox.mkdir()
    for k, file in enumerate(files):
        shutil.copy(file, inbox / f"run {k}, \"odd\".hdf")
    (inbox / "notes.txt").write_text("no data")
    (inbox / ".hidden.hdf").write_text("no data")
    line = ["xpcs", "watch", "in", "-o", "live", "--once", *MODE, *FAST]
    result = tessera(*line)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("good, D0") == 3
    table = rows(tmp_path)
    assert sorted(r["file"] for r in table) == [f"run {k}, \"odd\".hdf" for k in range(3)]
    for row in table:
        assert row["status"] == "fitted"
        assert row["converged"] == "yes"
        assert abs(float(row["D0"]) - 16917.74) < 5 * float(row["D0_sd"])
        fit = tmp_path / "live" / f"{row['file']}.fit"
        assert (fit / "nlsq/parameters.json").exists()
        assert (fit / "report.html").exists()
    page = (tmp_path / "live/watch.html").read_text(encoding="utf-8")
    assert "3 fitted" in page
    assert "run%200%2C%20%22odd%22.hdf.fit/report.html" in page
    assert 'http-equiv="refresh"' not in page  # nothing more comes
    assert tessera(*line).stdout == ""
    assert rows(tmp_path) == table
    shutil.copy(files[1], inbox / 'run 0, "odd".hdf')  # in place: the inode stays
    assert tessera(*line).stdout.count("good, D0") == 1
    assert len(rows(tmp_path)) == 4


def test_files_that_appear_grow_break_move_and_vanish(start, tmp_path, files):
    inbox = tmp_path / "in"
    process = start("--patience", "1")
    shutil.copy(files[0], inbox / "a.hdf")
    whole = files[1].read_bytes()
    (inbox / "part.hdf").write_bytes(whole[:3000])
    (inbox / "empty.hdf").touch()
    (inbox / "bad.hdf").write_bytes(b"this is no HDF5 file at all" * 100)
    (inbox / ".copying").write_bytes(files[2].read_bytes())
    os.rename(inbox / ".copying", inbox / "moved.hdf")
    wait_for(lambda: {r["file"] for r in of(tmp_path, status="fitted")} >= {"a.hdf", "moved.hdf"})
    os.rename(inbox / "a.hdf", inbox / "b.hdf")
    (inbox / "moved.hdf").unlink()
    with open(inbox / "part.hdf", "ab") as file:
        file.write(whole[3000:])
    wait_for(lambda: of(tmp_path, file="b.hdf", status="renamed"))
    wait_for(lambda: of(tmp_path, file="part.hdf", status="fitted"))
    wait_for(lambda: of(tmp_path, file="bad.hdf", status="failed"))
    (inbox / "bad.hdf").write_bytes(whole)  # mended
    (inbox / "new").write_bytes(files[2].read_bytes())
    os.rename(inbox / "new", inbox / "b.hdf")  # replaced
    wait_for(lambda: of(tmp_path, file="bad.hdf", status="fitted"))
    wait_for(lambda: of(tmp_path, file="b.hdf", status="fitted"))
    assert not of(tmp_path, file="empty.hdf")
    assert stop(process) == 143
    names = [(r["file"], r["status"]) for r in rows(tmp_path)]
    assert len(names) == len(set(names)), "nothing is fitted twice"
    told = (tmp_path / "stderr").read_text(encoding="utf-8")
    assert told.count("part.hdf") == 1, "that a file is not complete is said once"
    assert "truncated" in of(tmp_path, file="bad.hdf", status="failed")[0]["message"] or \
        "not an HDF5" in of(tmp_path, file="bad.hdf", status="failed")[0]["message"]


def test_a_killed_watch_goes_on_and_a_torn_line_is_mended(start, tmp_path, files):
    inbox = tmp_path / "in"
    process = start()
    shutil.copy(files[0], inbox / "a.hdf")
    wait_for(lambda: of(tmp_path, file="a.hdf"))
    assert stop(process, signal.SIGKILL) == -9
    with open(tmp_path / "live/watch.csv", "a", encoding="utf-8") as file:
        file.write("b.hdf,123,17000")
    shutil.copy(files[1], inbox / "b.hdf")
    process = start()
    wait_for(lambda: of(tmp_path, file="b.hdf", status="fitted"))
    assert [r["file"] for r in rows(tmp_path)] == ["a.hdf", "b.hdf"]
    page = (tmp_path / "live/watch.html")
    wait_for(lambda: 'http-equiv="refresh"' in page.read_text(encoding="utf-8"))
    assert stop(process, signal.SIGINT) == 130
    assert 'http-equiv="refresh"' not in page.read_text(encoding="utf-8")


def test_two_watches_do_not_share_a_table(start, tessera, tmp_path):
    process = start()
    wait_for((tmp_path / "live/watch.html").exists)
    result = tessera("xpcs", "watch", "in", "-o", "live", "--once", *MODE)
    assert result.returncode == 73
    assert "another watch" in result.stderr
    assert stop(process) == 143


def test_a_folder_that_is_gone_for_a_while(start, tmp_path, files):
    process = start()
    wait_for((tmp_path / "live/watch.html").exists)
    os.rename(tmp_path / "in", tmp_path / "away")
    wait_for(lambda: "waiting for it" in (tmp_path / "stderr").read_text(encoding="utf-8"))
    (tmp_path / "in").mkdir()
    shutil.copy(files[0], tmp_path / "in/a.hdf")
    wait_for(lambda: of(tmp_path, file="a.hdf", status="fitted"))
    assert stop(process) == 143


def test_the_page_says_why_a_file_failed_in_a_cell_that_wraps(tessera, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/bad.hdf").write_bytes(b"this is no HDF5 file at all" * 100)
    assert tessera("xpcs", "watch", "in", "-o", "live", "--once", *MODE, *FAST).returncode == 65
    page = (tmp_path / "live/watch.html").read_text(encoding="utf-8")
    assert "<td>in/bad.hdf: " in page


def test_nothing_is_written_where_there_is_no_folder_to_watch(tessera, tmp_path):
    (tmp_path / "file").touch()
    for name in ("gone", "file"):
        assert tessera("xpcs", "watch", name, "-o", "live", "--once", *MODE).returncode == 66
    assert not (tmp_path / "live").exists()


def test_alarms_are_said_and_marked_and_nothing_runs(tessera, tmp_path, files):
    (tmp_path / "in").mkdir()
    shutil.copy(files[0], tmp_path / "in/a.hdf")
    line = ["xpcs", "watch", "in", "--once", *MODE, *FAST]
    result = tessera(*line, "-o", "live", "--alarm", "D0>100,alpha_sd<=1,alpha>2,quality=good")
    assert result.returncode == 0
    wanted = r"D0 = [\d.e+]+ > 100; alpha_sd = [\d.e-]+ <= 1; quality is good"
    assert re.search(f"alarm: a.hdf: {wanted}", result.stderr)
    assert re.fullmatch(wanted, rows(tmp_path)[0]["alarms"])
    assert "1 with alarms" in (tmp_path / "live/watch.html").read_text(encoding="utf-8")
    for bad, why in (("D0", "no bound"), ("D0>>3", "no bound"), ("x>3", "nothing a fit has"),
                     ("D0>$(touch gone)", "no number"), ("quality>3", "good, marginal or poor")):
        result = tessera(*line, "-o", "other", "--alarm", bad)
        assert result.returncode == 2, bad
        assert why in result.stderr
    assert not (tmp_path / "gone").exists()


def test_what_cannot_be_fitted_gets_a_row_and_ends_nothing(tessera, tmp_path, files):
    inbox = tmp_path / "in"
    inbox.mkdir()
    (inbox / "0.hdf").write_bytes(files[0].read_bytes()[:5000])
    (inbox / "empty.hdf").touch()
    shutil.copy(files[1], inbox / "a.hdf")
    result = tessera("xpcs", "watch", "in", "-o", "live", "--once", *MODE, *FAST)
    assert result.returncode == 65
    assert "empty.hdf is empty: left out" in result.stderr
    assert of(tmp_path, file="a.hdf", status="fitted")
    assert "truncated" in of(tmp_path, file="0.hdf", status="failed")[0]["message"]
    result = tessera("rerun", "live/a.hdf.fit")
    assert result.returncode == 65
    assert "made by a watch" in result.stderr


@pytest.mark.parametrize(("words", "code", "told"), [
    (["nowhere"], 66, "No such file"),
    (["in/a.hdf"], 66, "no folder"),
    (["in", "--poll", "0"], 2, "--poll: '0'"),
    (["in", "--settle", "x"], 2, "--settle: 'x'"),
    (["in", "--pattern", "*.h5", "-o", "in/a.hdf"], 73, "in/a.hdf"),
])
def test_lines_that_cannot_be(tessera, tmp_path, files, words, code, told):
    (tmp_path / "in").mkdir()
    shutil.copy(files[0], tmp_path / "in/a.hdf")
    result = tessera("xpcs", "watch", *words, "--once", *MODE)
    assert result.returncode == code, result.stderr
    assert told in result.stderr


def test_a_table_of_another_mode_is_refused(tessera, tmp_path, files):
    (tmp_path / "in").mkdir()
    shutil.copy(files[0], tmp_path / "in/a.hdf")
    line = ["xpcs", "watch", "in", "-o", "live", "--once", *FAST]
    assert tessera(*line, *MODE).returncode == 0
    result = tessera(*line, "--mode", "laminar_flow", "--gap", "2e6")
    assert result.returncode == 73
    assert "no table of this mode" in result.stderr
    assert tessera(*line, *MODE, "--overwrite").stdout.count("good") == 1
