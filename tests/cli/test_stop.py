"""Ctrl-C, SIGTERM, resume and checkpoints."""

import json
import signal
import subprocess
import time

import pytest

LARGE = ["--epochs", "4000", "--channels", "64", "--samples", "500"]  # 512 MB: some seconds of work


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
def test_stop_without_checkpoint(tessera, tmp_path, number, code):
    words = ["autoreject", "simulate", "-o", "big.npy", *LARGE]
    returncode, stdout, messages, seconds = stop_while_running(tessera, number, *words)
    assert returncode == code
    assert stdout == ""
    assert messages[-1] == (
        "tessera: nothing was kept; with --checkpoint DIR a run can be continued\n"
    )
    assert messages[-2].startswith("tessera: stopped on request after ")
    assert messages[-2].endswith(" of 4000\n")
    assert list(tmp_path.iterdir()) == []
    assert seconds < 2


def test_stop_and_resume_gives_the_same_bytes(tessera, tmp_path):
    words = ["autoreject", "simulate", "-o", "big file.npy", "--checkpoint", "work"]
    words += ["--epochs", "1500", "--channels", "64", "--samples", "500", "--checkpoint-every", "0"]
    returncode, _, messages, _ = stop_while_running(tessera, signal.SIGINT, *words)
    assert returncode == 130
    prefix = "tessera: to continue, run: "
    assert messages[-1].startswith(prefix)
    line = messages[-1].removeprefix(prefix)
    assert line.endswith("--checkpoint-every 0 --progress=json --resume\n")
    assert "'big file.npy'" in line
    assert not (tmp_path / "big file.npy").exists()

    environment = tessera.environment
    again = subprocess.run(
        line, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert again.returncode == 0, again.stderr
    assert "tessera: continued from item " in again.stderr
    assert tessera("autoreject", "simulate", "-o", "whole.npy", "-q", *words[6:12]).returncode == 0
    resumed = (tmp_path / "big file.npy").read_bytes()
    assert resumed == (tmp_path / "whole.npy").read_bytes()


def test_resume_refuses_the_checkpoint_of_another_run(tessera, tmp_path):
    words = ["autoreject", "simulate", "-o", "a.npy", "--checkpoint", "work", *LARGE]
    returncode, _, _, _ = stop_while_running(
        tessera, signal.SIGINT, *words, "--checkpoint-every", "0"
    )
    assert returncode == 130
    result = tessera(*words, "--resume", "--seed", "12345")
    assert result.returncode == 65
    assert "seed=12345" in result.stderr


def test_checkpoint_is_described(tessera, tmp_path):
    words = ["autoreject", "simulate", "-o", "a.npy", "--checkpoint", "work", *LARGE]
    stop_while_running(tessera, signal.SIGINT, *words, "--checkpoint-every", "0")
    checkpoints = sorted(p for p in (tmp_path / "work").iterdir() if p.suffix == ".tckpt")
    assert checkpoints
    newest = str(checkpoints[-1].relative_to(tmp_path))
    text = tessera("info", newest)
    assert text.returncode == 0, text.stderr
    assert text.stdout.startswith(f"{newest}: checkpoint\n")
    assert json.loads(tessera("info", newest, "--json").stdout)
    damaged = bytearray(checkpoints[-1].read_bytes())
    damaged[len(damaged) // 2] ^= 1
    checkpoints[-1].write_bytes(damaged)
    assert tessera("info", newest).returncode == 65


def test_second_signal_stops_at_once(tessera):
    process = tessera.popen(
        "autoreject",
        "simulate",
        "-o",
        "a.npy",
        *LARGE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=5)
    assert process.returncode in (130, 143)
