"""Stopped, killed, damaged, contested: a checkpointed run goes on to the same bytes or refuses."""

import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
from fault_support import (
    FULL,
    INJECTOR,
    checkpoints,
    digest,
    leftovers,
    messages,
    remove,
    sanitizer,
)
from injector import wait_until_stopped

TILED = ["--checkpoint", "work", "--checkpoint-every", "0", "--tile-epochs", "2"]
LINE = ["big.npy", "-o", "out.npy", *TILED]
N_KILL = 1000 if FULL else 200
N_FLIP = 10000 if FULL else 300


@pytest.fixture(scope="session")
def many_epochs():
    return np.random.default_rng(1).standard_normal((200, 32, 1250), dtype=np.float32)


@pytest.fixture
def big(tessera, many_epochs):
    """32 MB in 100 tiles: some tenths of a second of work, most of it checkpoints."""
    path = tessera.directory / "big.npy"
    np.save(path, many_epochs)
    assert tessera.ptp("big.npy", "-o", "right.npy").returncode == 0
    return path


@pytest.fixture
def right(big):
    return digest(big.parent / "right.npy")


def stop(tessera, words, number=signal.SIGINT):
    """Sends a signal before the third checkpoint gets its name; exit code and messages."""
    fault = {"kind": "rename", "signal": number, "at": 3, "after": "lock"}
    result, _, n_sent = tessera.faulty(fault, "autoreject", "ptp", *words)
    assert n_sent == 1, result.stderr
    return result.returncode, result.stderr.splitlines()


def fail_midway(tessera, words):
    """Leaves the checkpoints of a run whose disk failed after half of its writes."""
    if not INJECTOR.exists() or sanitizer() == "thread":
        pytest.skip("needs the fault injector, which does not work behind ThreadSanitizer")
    folder = tessera.directory
    _, calls, _ = tessera.with_fault({"kind": "write", "at": 0}, *words)
    remove(folder / "out.npy", folder / "out.npy.json")
    fault = {"kind": "write", "at": calls // 2, "error": "EIO", "mode": "from"}
    result, _, _ = tessera.with_fault(fault, *words)
    assert result.returncode == 74, result.stderr
    shutil.copytree(folder / "work", folder / "kept")
    return checkpoints(folder / "work")


@pytest.fixture
def stopped(tessera, right):
    """A folder with the checkpoints of a run that failed on the way; a copy to put it back."""
    assert len(fail_midway(tessera, LINE)) == 2
    return tessera.directory / "work"


def put_back(work):
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(work.parent / "kept", work)
    remove(work.parent / "out.npy", work.parent / "out.npy.json")


def assert_finished(tessera, right):
    folder = tessera.directory
    assert digest(folder / "out.npy") == right
    assert json.loads((folder / "out.npy.json").read_text())
    assert leftovers(folder) == []
    assert not (folder / "work").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_checkpoint_and_print_the_resume_line(tessera, right, number, code):
    returncode, lines = stop(tessera, LINE, number)
    assert returncode == code, lines
    assert not (tessera.directory / "out.npy").exists()
    assert leftovers(tessera.directory) == []
    prefix = "tessera: to continue, run: "
    assert lines[-1].startswith(prefix)
    assert lines[-1].endswith(" --resume")
    done = int(re.search(r"after (\d+) of 200", lines[-2])[1])
    again = subprocess.run(
        lines[-1].removeprefix(prefix),
        shell=True,
        cwd=tessera.directory,
        env=tessera.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 0, again.stderr
    assert f"tessera: continued from item {done}" in again.stderr
    assert_finished(tessera, right)


@pytest.mark.parametrize(
    "other",
    [
        ["--threads", "1"],
        ["--threads", "8", "--tile-epochs", "1"],
        ["--threads", "3", "--tile-epochs", "7"],
        ["--tile-epochs", "0"],
        ["--memory-limit", "32M"],
        ["--checkpoint-every", "60", "--keep-checkpoints", "5"],
    ],
    ids=" ".join,
)
def test_resume_in_another_manner(tessera, stopped, right, other):
    if sanitizer() and "--memory-limit" in other:
        pytest.skip("a sanitizer's own memory exceeds the limit")
    result = tessera.ptp(*LINE, *other, "--resume")
    assert result.returncode == 0, result.stderr
    assert_finished(tessera, right)


def kill_at(tessera, seconds, *words):
    process = tessera.popen(
        "autoreject", "ptp", *words, "-q", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        _, stderr = process.communicate(timeout=seconds)
        return process.returncode, stderr
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return -signal.SIGKILL, ""


def test_kill_at_any_instant(tessera, right):
    """Killed at random instants until it gets through; twice over, then compared."""
    rng = random.Random(7)
    begin = time.monotonic()
    result = tessera.ptp(*LINE)
    whole = time.monotonic() - begin
    assert result.returncode == 0, result.stderr
    remove(tessera.directory / "out.npy", tessera.directory / "out.npy.json")
    kills = finished = 0
    while kills < N_KILL:
        # Now and then near the end of a run, where the result gets its name.
        seconds = rng.uniform(0, 0.6 * whole) if rng.random() < 0.8 else rng.uniform(0.5, 1) * whole
        code, stderr = kill_at(tessera, seconds, *LINE, "--resume")
        kills += code == -signal.SIGKILL
        out = tessera.directory / "out.npy"
        if out.exists():
            # Whoever sees the name sees the whole result, however the run ended.
            assert digest(out) == right
            # Also when it was killed after naming the result: to resume is to succeed.
            assert code in (0, -signal.SIGKILL), stderr
            if code == 0:
                finished += 1
                assert_finished(tessera, right)
                remove(out, tessera.directory / "out.npy.json")
        else:
            assert code == -signal.SIGKILL, stderr
    result = tessera.ptp(*LINE, "--resume")
    assert result.returncode == 0, result.stderr
    assert_finished(tessera, right)
    print(f"{kills} kills, {finished} finished runs")


def test_kill_before_every_call(tessera, folder):
    """SIGKILL at every boundary between two system calls of a run with five tiles."""
    if not INJECTOR.exists() or sanitizer() == "thread":
        pytest.skip("needs the fault injector, which does not work behind ThreadSanitizer")
    np.save(folder / "in.npy", np.random.default_rng(3).standard_normal((5, 2, 20)))
    assert tessera.ptp("in.npy", "-o", "right.npy").returncode == 0
    right = digest(folder / "right.npy")
    line = ["in.npy", "-o", "out.npy", "--checkpoint", "work", "--checkpoint-every", "0"]
    line += ["--tile-epochs", "1"]
    _, calls, _ = tessera.with_fault({"kind": "any", "at": 0}, *line)
    named = 0
    for k in range(1, calls + 20):
        remove(folder / "out.npy", folder / "out.npy.json", folder / "work")
        result, _, kills = tessera.with_fault({"kind": "any", "at": k, "mode": "kill"}, *line)
        assert result.returncode == (-signal.SIGKILL if kills else 0), result.stderr
        if (folder / "out.npy").exists():
            assert digest(folder / "out.npy") == right, k
            named += kills
        result = tessera.ptp(*line, "--resume")
        assert result.returncode == 0, f"killed before call {k}: {result.stderr}"
        assert_finished(tessera, right)
    assert kills == 0, "the last run was still killed"
    print(f"killed before each of {calls} calls, {named} times with the result already named")


def test_resume_refuses_the_result_of_another_job(tessera, right):
    """An output that exists is taken for ours only if its provenance says so."""
    assert tessera.ptp(*LINE).returncode == 0
    result = tessera.ptp(*LINE, "--resume")
    assert result.returncode == 0, result.stderr
    result = tessera.ptp(*LINE, "--resume", "--nonfinite", "error")
    assert result.returncode == 73, result.stderr
    remove(tessera.directory / "out.npy.json")
    assert tessera.ptp(*LINE, "--resume").returncode == 73
    assert digest(tessera.directory / "out.npy") == right


def items_done(tessera, checkpoint):
    info = tessera("info", checkpoint.relative_to(tessera.directory), "--json")
    assert info.returncode == 0, info.stderr
    done = float(re.search(r'"done": *([0-9.e-]+)', info.stdout)[1])
    return round(done * len(np.load(tessera.directory / "work/spool.npy")))


def test_at_most_one_tile_is_lost(tessera, right):
    """After SIGKILL the newest checkpoint lacks at most the tile that was being written."""
    if not INJECTOR.exists() or sanitizer() == "thread":
        pytest.skip("needs the fault injector, which does not work behind ThreadSanitizer")
    folder = tessera.directory
    _, calls, _ = tessera.with_fault({"kind": "any", "at": 0}, *LINE)
    for k in (calls // 3, calls // 2, calls * 2 // 3):
        remove(folder / "out.npy", folder / "out.npy.json", folder / "work")
        tessera.with_fault({"kind": "any", "at": k, "mode": "kill"}, *LINE)
        done = items_done(tessera, checkpoints(folder / "work")[-1])
        written = int(np.load(folder / "work/spool.npy").any(axis=1).sum())
        assert 0 < done <= written <= done + 2
        result = tessera("autoreject", "ptp", *LINE, "--resume", "--json")
        assert result.returncode == 0, result.stderr
        assert json.loads(result.stdout)["run"]["first_item"] == done
        assert_finished(tessera, right)


def test_damaged_newest_falls_back_to_the_older(tessera, stopped, right):
    older, newest = checkpoints(stopped)
    for damage in ("empty", "cut", "flipped", "gone"):
        put_back(stopped)
        content = bytearray(newest.read_bytes())
        content[len(content) // 2] ^= 0x10
        if damage == "gone":
            newest.unlink()
        else:
            newest.write_bytes({"empty": b"", "cut": content[:-1], "flipped": content}[damage])
        result = tessera("autoreject", "ptp", *LINE, "--resume")
        assert result.returncode == 0, result.stderr
        if damage != "gone":
            assert "trying an older checkpoint" in result.stderr
            assert newest.name in result.stderr
        assert_finished(tessera, right)
    put_back(stopped)
    older.write_bytes(b"")
    newest.write_bytes(b"")
    result = tessera.ptp(*LINE, "--resume")
    assert result.returncode == 65
    assert "no checkpoint in it is whole" in result.stderr


def refused(tessera, *words, code=65):
    result = tessera.ptp(*words)
    assert result.returncode == code, f"exit {result.returncode}: {result.stderr}"
    assert len(messages(result)) == 1
    assert not (tessera.directory / "out.npy").exists()
    assert leftovers(tessera.directory) == []
    return result.stderr


def test_other_runs_are_refused(tessera, stopped, right, big):
    x = np.load(big)
    np.save(tessera.directory / "other.npy", x[::-1])
    np.save(tessera.directory / "small.npy", x[:150])
    np.save(tessera.directory / "f64.npy", x.astype(np.float64))
    other = ["-o", "out.npy", *TILED, "--resume"]
    assert "the input has changed" in refused(tessera, "other.npy", *other)
    assert "the input had another shape or type" in refused(tessera, "small.npy", *other)
    assert "the input had another shape or type" in refused(tessera, "f64.npy", *other)
    message = refused(tessera, *LINE, "--resume", "--nonfinite", "error")
    assert "nonfinite=propagate" in message
    assert "nonfinite=error" in message
    message = refused(tessera, *LINE, code=73)  # without --resume
    assert "--resume" in message
    result = tessera(
        "autoreject", "simulate", "-o", "sim.npy", "--checkpoint", "work", "--resume", "-q"
    )
    assert result.returncode == 65
    assert "another computation" in result.stderr or "autoreject.ptp" in result.stderr
    assert not (tessera.directory / "sim.npy").exists()
    # None of this has hurt the checkpoint.
    result = tessera.ptp(*LINE, "--resume")
    assert result.returncode == 0, result.stderr
    assert_finished(tessera, right)


def test_changed_input_is_refused(tessera, stopped, right, big):
    content = big.read_bytes()
    stat = big.stat()
    changed = bytearray(content)
    changed[-1] ^= 0x40
    big.write_bytes(changed)
    os.utime(big, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # same size, same time
    assert "the input has changed" in refused(tessera, *LINE, "--resume")
    big.write_bytes(content)
    os.utime(big, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1_000_000_000))
    assert "the input has changed" in refused(tessera, *LINE, "--resume")
    os.utime(big, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    result = tessera.ptp(*LINE, "--resume")
    assert result.returncode == 0, result.stderr
    assert_finished(tessera, right)


def test_damaged_spool_is_refused(tessera, stopped, right):
    spool = stopped / "spool.npy"
    content = bytearray(spool.read_bytes())
    content[130] ^= 1  # within the first finished tile
    spool.write_bytes(content)
    assert "damaged" in refused(tessera, *LINE, "--resume")
    spool.write_bytes(content[:-1])
    assert "bytes" in refused(tessera, *LINE, "--resume")
    spool.unlink()
    assert "spool.npy" in refused(tessera, *LINE, "--resume")


@pytest.fixture
def small(tessera):
    """A small run whose folder holds one checkpoint; damage to it cannot be passed over."""
    x = np.random.default_rng(2).standard_normal((8, 2, 30)).astype(np.float32)
    np.save(tessera.directory / "small.npy", x)
    assert tessera.ptp("small.npy", "-o", "right.npy").returncode == 0
    line = ["small.npy", "-o", "out.npy", "--checkpoint", "work", "--checkpoint-every", "0"]
    line += ["--tile-epochs", "1", "--keep-checkpoints", "1"]
    (path,) = fail_midway(tessera, line)
    return line, path


def damaged(tessera, small, content, what):
    """Never a crash, never a wrong result: True if the damage was noticed."""
    line, path = small
    put_back(path.parent)
    path.write_bytes(content)
    result = tessera.ptp(*line, "--resume")
    if result.returncode == 0:
        right = digest(tessera.directory / "right.npy")
        assert digest(tessera.directory / "out.npy") == right, what
        return False
    assert result.returncode == 65, f"{what}: exit {result.returncode}: {result.stderr}"
    assert not (tessera.directory / "out.npy").exists(), what
    return True


def test_checkpoint_cut_at_every_length(tessera, small):
    content = small[1].read_bytes()
    step = 1 if FULL else max(1, len(content) // 250)
    lengths = {*range(0, len(content), step), *range(70), *range(len(content) - 70, len(content))}
    for n in sorted(lengths):
        assert damaged(tessera, small, content[:n], f"cut to {n} bytes")
    assert damaged(tessera, small, content + b"\0", "one byte more")


def test_checkpoint_bit_flips(tessera, small):
    content = small[1].read_bytes()
    rng = random.Random(11)
    noticed = 0
    for _ in range(N_FLIP):
        flipped = bytearray(content)
        bit = rng.randrange(8 * len(content))
        flipped[bit // 8] ^= 1 << bit % 8
        noticed += damaged(tessera, small, flipped, f"bit {bit} flipped")
    # What is not noticed may only be padding.
    assert noticed >= 0.97 * N_FLIP, f"{noticed} of {N_FLIP} noticed"
    for _ in range(N_FLIP // 10):
        block = bytearray(content)
        at = rng.randrange(len(block))
        block[at : at + 512] = rng.randbytes(len(block[at : at + 512]))
        assert damaged(tessera, small, block, f"block at {at} replaced")


def test_two_processes_on_one_folder(tessera, right):
    held = tessera.fault(kind="rename", signal=signal.SIGSTOP, at=3, after="lock")
    first = tessera.popen("autoreject", "ptp", *LINE, environment=held)
    wait_until_stopped(first)
    try:
        words = ["big.npy", "-o", "second.npy", *TILED]
        for resume in ([], ["--resume"]):
            second = tessera.ptp(*words, *resume)
            assert second.returncode == 75, second.stderr
            assert f"pid {first.pid}" in second.stderr
            assert len(messages(second)) == 1
            assert not (tessera.directory / "second.npy").exists()
    finally:
        first.send_signal(signal.SIGCONT)
    _, stderr = first.communicate(timeout=300)
    assert first.returncode == 0, stderr
    assert_finished(tessera, right)


def test_disk_full(tessera, folder):
    """The spool hits the limit of file sizes mid-run: exit 74, and the rest can be done later."""
    tessera.simulate("wide.npy", 400, 64, 20)  # 100 KiB of output
    assert tessera.ptp("wide.npy", "-o", "right.npy").returncode == 0
    whole = (folder / "right.npy").stat().st_size
    line = ["wide.npy", "-o", "out.npy", *TILED]
    code, lines = stop(tessera, line)
    assert code == 130, lines

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (whole // 2, whole // 2))

    kept = [path.name for path in checkpoints(folder / "work")]
    result = tessera.ptp(*line, "--resume", preexec_fn=limit)
    assert result.returncode == 74, result.stderr
    assert messages(result)[-1].startswith("tessera: ")
    assert "File too large" in result.stderr
    assert not (folder / "out.npy").exists()
    assert leftovers(folder) == []
    assert checkpoints(folder / "work")[-1].name >= kept[-1]
    result = tessera.ptp(*line, "--resume")
    assert result.returncode == 0, result.stderr
    assert_finished(tessera, digest(folder / "right.npy"))


def is_mounted(path, size):
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_disk_really_full(tessera, folder):
    """A file system of its own that fills up: exit 74, then space is freed and the run ends."""
    disk = folder / "disk"
    if os.geteuid() != 0 or not is_mounted(disk, "256k"):
        pytest.skip("cannot mount a small file system here; test_disk_full covers the size limit")
    try:
        tessera.simulate("wide.npy", 1000, 64, 20)  # 250 KiB of output
        assert tessera.ptp("wide.npy", "-o", "right.npy").returncode == 0
        line = ["wide.npy", "-o", "out.npy", "--checkpoint", "disk/work"]
        line += ["--checkpoint-every", "0", "--tile-epochs", "10"]
        (disk / "ballast").write_bytes(bytes(100 << 10))
        result = tessera.ptp(*line)
        assert result.returncode == 74, result.stderr
        assert "free some space" in result.stderr
        assert not (folder / "out.npy").exists()
        assert leftovers(folder) == []
        (disk / "ballast").unlink()
        subprocess.run(["mount", "-o", "remount,size=2m", str(disk)], check=True)
        result = tessera.ptp(*line, "--resume")
        assert result.returncode == 0, result.stderr
        assert digest(folder / "out.npy") == digest(folder / "right.npy")
        assert leftovers(folder) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)
