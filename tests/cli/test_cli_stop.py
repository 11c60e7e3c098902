"""Ctrl-C, SIGTERM, resume and checkpoints."""

import json
import signal
import subprocess
import time

import pytest

# Half a gigabyte in Fortran order takes about a second, however fast the processor is.
LARGE = 2048
SLOW = ["autoreject", "ptp", "big.npy"]
KEPT = [*SLOW, "-o", "peak to peak.npy", "--checkpoint", "work", "--checkpoint-every", "0"]


def stop_while_running(tessera, number, *words):
    """Starts, waits for the first progress line, sends the signal."""
    process = tessera.popen(
        *words, "--progress=json", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    lines = []
    for line in process.stderr:
        lines.append(line)
        if line.startswith("{") and json.loads(line)["done"] > 0:
            break
    sent = time.monotonic()
    process.send_signal(number)
    stdout, rest = process.communicate(timeout=20)
    messages = [line for line in lines + rest.splitlines(True) if not line.startswith("{")]
    return process.returncode, stdout, messages, time.monotonic() - sent


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stop_without_checkpoint(tessera, tmp_path, big, number, code):
    big(LARGE, fortran_order=True)
    words = [*SLOW, "-o", "p.npy", "--tile-epochs=16"]
    returncode, stdout, messages, seconds = stop_while_running(tessera, number, *words)
    assert returncode == code
    assert stdout == ""
    assert messages[-1] == (
        "tessera: nothing was kept; with --checkpoint DIR a run can be continued\n"
    )
    assert messages[-2].startswith("tessera: stopped on request after ")
    assert messages[-2].endswith(f" of {LARGE}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["big.npy"]
    assert seconds < 2


def test_stop_and_resume_gives_the_same_bytes(tessera, tmp_path, big):
    big(LARGE, fortran_order=True)
    returncode, _, messages, _ = stop_while_running(tessera, signal.SIGINT, *KEPT)
    assert returncode == 130
    prefix = "tessera: to continue, run: "
    assert messages[-1] == (
        f"{prefix}{tessera.binary} autoreject ptp big.npy "
        "-o 'peak to peak.npy' --checkpoint work --checkpoint-every 0 --progress=json --resume\n"
    )
    assert not (tmp_path / "peak to peak.npy").exists()

    again = subprocess.run(
        messages[-1].removeprefix(prefix),
        shell=True,
        cwd=tmp_path,
        env=tessera.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 0, again.stderr
    assert "tessera: continued from item " in again.stderr
    assert tessera("autoreject", "ptp", "big.npy", "-q", "-o", "whole.npy").returncode == 0
    resumed = (tmp_path / "peak to peak.npy").read_bytes()
    assert resumed == (tmp_path / "whole.npy").read_bytes()


def test_checkpoint_is_described_and_guarded(tessera, tmp_path, big):
    big(LARGE, fortran_order=True)
    assert stop_while_running(tessera, signal.SIGINT, *KEPT)[0] == 130

    other = tessera(*KEPT, "--resume", "--nonfinite", "error")
    assert other.returncode == 65
    assert "nonfinite=error" in other.stderr

    def head(path):
        return path.read_bytes()[:8]

    newest = sorted(p for p in (tmp_path / "work").iterdir() if head(p) == b"TESSCKPT")[-1]
    name = str(newest.relative_to(tmp_path))
    described = tessera("info", name)
    assert described.returncode == 0, described.stderr
    assert described.stdout.startswith(f"{name}: checkpoint\n")
    assert json.loads(tessera("info", name, "--json").stdout)

    damaged = bytearray(newest.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    newest.write_bytes(damaged)
    assert tessera("info", name).returncode == 65


def test_second_signal_stops_at_once(tessera, big):
    big(LARGE, fortran_order=True)
    words = [*SLOW, f"--tile-epochs={LARGE}"]  # one tile: the first signal alone has to wait
    process = tessera.popen(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=5)
    assert process.returncode == 143


def test_a_repeated_term_is_one_order(tessera, tmp_path, big):
    """A batch system tells all processes of a job, and srun or the script tells them again."""
    big(LARGE, fortran_order=True)
    words = [*KEPT, f"--tile-epochs={LARGE // 2}", "--progress=json"]
    process = tessera.popen(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stderr.readline()
    time.sleep(0.2)
    for _ in range(3):
        process.send_signal(signal.SIGTERM)
        time.sleep(0.02)
    _, messages = process.communicate(timeout=20)
    assert process.returncode == 143
    assert "to continue, run" in messages
