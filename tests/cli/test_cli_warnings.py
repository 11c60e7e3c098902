"""Warnings by id, --werror, --no-warn, --log-json, and the exit code 75."""

import fcntl
import json
import re
import signal
import time

import numpy as np
import pytest


@pytest.fixture
def truncated(epochs):
    """Words of a run that warns once: input.truncated."""
    epochs.write_bytes(epochs.read_bytes()[:-100])
    return ["autoreject", "ptp", "epochs.npy", "--allow-truncated"]


def test_every_id_is_listed_once_with_a_remedy(tessera):
    text = tessera("help", "--all", "--markdown").stdout
    rows = re.findall(r"^\| `([a-z]+\.[a-z0-9-]+)` \| (.+) \| (.+) \|$", text, re.MULTILINE)
    ids = [row[0] for row in rows]
    assert len(ids) == len(set(ids)) >= 35
    assert {"input.truncated", "decode.floor", "xpcs.bound", "run.threads"} <= set(ids)
    listed = tessera("help", "warnings").stdout
    assert all(f"  {name} " in listed for name in ids)


def test_a_warning_ends_in_its_id(tessera, truncated):
    result = tessera(*truncated)
    assert result.returncode == 0
    line = [line for line in result.stderr.splitlines() if "warning: " in line]
    assert len(line) == 1
    assert line[0].endswith(" [input.truncated]")


@pytest.mark.parametrize("option", ["--werror", "--werror=input.truncated", "--werror=input,xpcs"])
def test_werror_ends_with_1_and_writes_all_the_same(tessera, truncated, tmp_path, option):
    result = tessera(*truncated, "-o", "p.npy", option)
    assert result.returncode == 1
    assert "1 warning counts as failure by --werror: input.truncated" in result.stderr
    assert np.load(tmp_path / "p.npy").shape == (19, 4)
    quiet = tessera(*truncated, "-o", "q.npy", option, "-q")
    assert quiet.returncode == 1
    assert "warning: " not in quiet.stderr


def test_werror_of_others_and_no_warn(tessera, truncated):
    assert tessera(*truncated, "--werror=decode,xpcs.bound").returncode == 0
    hidden = tessera(*truncated, "--werror", "--no-warn", "input.truncated")
    assert (hidden.returncode, "truncated" in hidden.stderr) == (0, False)


def test_unknown_ids_are_refused(tessera):
    for option in ("--werror=decode.floors", "--no-warn=nothing,xpcs", "--no-warn=,"):
        result = tessera("autoreject", "ptp", "x.npy", option)
        assert result.returncode == 2
        assert "tessera help warnings" in result.stderr
        assert option.split("=")[0] in result.stderr


def read_log(text):
    lines = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        assert line["schema"] == "tessera.log/1"
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
        assert set(line) >= {"level", "id", "text"}
    return lines


def test_log_of_json_lines(tessera, truncated, tmp_path):
    for _ in range(2):  # it grows
        result = tessera(*truncated, "--log-json", "log.jsonl", "-q")
        assert (result.returncode, result.stderr) == (0, "")
    lines = read_log((tmp_path / "log.jsonl").read_text())
    levels = [line["level"] for line in lines]
    assert levels.count("begin") == levels.count("end") == 2
    assert (levels[0], levels[-1]) == ("begin", "end")
    assert {"note", "progress", "warning"} <= set(levels)
    assert lines[-1]["code"] == 0
    assert "--log-json" in lines[0]["text"]
    warning = lines[levels.index("warning")]
    assert warning["id"] == "input.truncated"
    assert "truncated" in warning["text"] and "[" not in warning["text"]
    progress = [line for line in lines if line["level"] == "progress"][-1]
    assert progress["stage"] == "autoreject.ptp"
    assert progress["done"] == progress["total"] == 19


def test_log_on_stderr_replaces_text(tessera, tmp_path):
    name = 'no\udcff\n"such".npy'
    result = tessera("autoreject", "ptp", name, "--log-json", "-", "--json")
    lines = read_log(result.stderr)
    assert [line["level"] for line in lines] == ["begin", "error", "end"]
    assert 'such\\".npy' in result.stderr
    assert lines[-1]["code"] == result.returncode == 66
    assert not (tmp_path / "-").exists()


def test_log_of_the_environment_and_where_it_must_not_go(tessera, epochs, tmp_path):
    words = ["autoreject", "ptp", "epochs.npy"]
    assert tessera(*words, environment={"TESSERA_LOG_JSON": "e.jsonl"}).returncode == 0
    assert read_log((tmp_path / "e.jsonl").read_text())
    assert tessera(*words, "--log-json", "epochs.npy").returncode == 2
    assert tessera(*words, "--log-json", "none/x.jsonl").returncode == 73


def test_folder_in_use_exits_75(tessera, epochs, tmp_path):
    words = ["autoreject", "ptp", "epochs.npy", "-o", "p.npy", "--checkpoint", "work"]
    assert tessera(*words).returncode == 0
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    with open(work / "lock", "a", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = tessera(*words, "--overwrite")
    assert result.returncode == 75, result.stderr
    assert "another run is using this folder" in result.stderr


def test_time_limit_keeps_the_work_and_exits_75(tessera, big, tmp_path):
    path = big(120)
    words = ["autoreject", "ptp", path.name, "-o", "p.npy", "--tile-epochs=8", "--threads=1"]
    alone = tessera(*words, "--time-limit", "1")
    assert (alone.returncode, "--checkpoint DIR" in alone.stderr) == (2, True)
    words += ["--checkpoint", "work", "--checkpoint-every", "0"]
    # It stops itself in the middle until its time is up.
    run = tessera.held(*words, "--time-limit", "3", kind="read", at=50, after=path.name)
    time.sleep(3.1)
    run.send_signal(signal.SIGCONT)
    _, told = run.communicate(timeout=300)
    assert run.returncode == 75, told
    assert "the time limit was reached" in told
    assert "--resume" in told
    assert not (tmp_path / "p.npy").exists()
    assert tessera(*words, "--resume").returncode == 0
    assert np.load(tmp_path / "p.npy").shape == (120, 64)


@pytest.mark.parametrize("words", [
    ("clifford", "check", "++"),
    ("decode", "simulate", "tiny", "-o", "r.npz"),
])
def test_quiet_says_nothing_but_errors(tessera, words):
    result = tessera(*words, "-q")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_quiet_decode_and_warnings_of_a_fit_once(tessera, tmp_path):
    tessera("decode", "simulate", "tiny", "-o", "r.npz")
    result = tessera("decode", "run", "r.npz", "-o", "out", "--mode", "fast", "-q")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    size = ("--mode", "static_anisotropic", "--n-angle", "3", "--n-frame", "40")
    assert tessera("xpcs", "simulate", "-o", "run.hdf", *size).returncode == 0
    fit = ("xpcs", "fit", "run.hdf", "-o", "fitted", "--mode", "static_anisotropic", "--overwrite")
    for more, levels in (((), {"warning"}), (("--no-warn", "xpcs"), set())):
        result = tessera(*fit, *more, "--log-json", "log.jsonl", "-v")
        assert result.returncode == 0, result.stderr
        lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
        said = [line for line in lines if "sigma is a default" in line["text"]]
        assert {line["level"] for line in said} == levels
        assert len(said) == len(levels)
        (tmp_path / "log.jsonl").unlink()


def test_an_empty_configuration_is_called_so(tessera, tmp_path):
    (tmp_path / "e.yaml").write_text("# nothing\n")
    assert tessera("config", "validate", "e.yaml").stdout == (
        "e.yaml: empty: it sets nothing, every setting keeps its default\n")
    assert json.loads(tessera("config", "validate", "e.yaml", "--json").stdout)["empty"]
    (tmp_path / "e.yaml").write_text("run:\n  threads: 1\n")
    assert tessera("config", "validate", "e.yaml").stdout == "e.yaml: valid\n"
