"""Ctrl-C, SIGTERM, resume and checkpoints."""

import json
import re
import signal
import subprocess

import pytest

# Every epoch is a read of its own: a signal comes at the fiftieth, in the seventh tile.
N_EPOCH = 128
PTP = ["autoreject", "ptp", "big.npy"]
KEPT = [*PTP, "-o", "peak to peak.npy", "--tile-epochs", "8", "--checkpoint", "work",
        "--checkpoint-every", "0"]
MIDDLE = {"kind": "read", "at": 50, "after": "big.npy"}


def stop_while_running(tessera, number, *words):
    """Exit code, output and messages of a run that gets a signal in its middle."""
    fault = tessera.faulty(signal=number, **MIDDLE)
    result = tessera(*words, "--progress=json", environment=fault)
    assert tessera.counts()[1] == 1, "the signal did not come"
    lines = result.stderr.splitlines(True)
    return result.returncode, result.stdout, [line for line in lines if not line.startswith("{")]


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stop_without_checkpoint(tessera, tmp_path, big, number, code):
    big(N_EPOCH)
    words = [*PTP, "-o", "p.npy", "--tile-epochs=8"]
    returncode, stdout, messages = stop_while_running(tessera, number, *words)
    assert returncode == code
    assert stdout == ""
    assert messages[-1] == (
        "tessera: nothing was kept; with --checkpoint DIR a run can be continued\n"
    )
    stopped = re.fullmatch(rf"tessera: stopped on request after (\d+) of {N_EPOCH}\n", messages[-2])
    assert int(stopped[1]) <= 50 + 8, "it goes on with the tile that it reads, and no further"
    assert [path.name for path in tmp_path.iterdir()] == ["big.npy"]


def test_stop_and_resume_gives_the_same_bytes(tessera, tmp_path, big):
    big(N_EPOCH)
    returncode, _, messages = stop_while_running(tessera, signal.SIGINT, *KEPT)
    assert returncode == 130
    prefix = "tessera: to continue, run: "
    assert messages[-1] == (
        f"{prefix}{tessera.binary} autoreject ptp big.npy "
        "-o 'peak to peak.npy' --tile-epochs 8 --checkpoint work --checkpoint-every 0 "
        "--progress=json --resume\n"
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
    big(N_EPOCH)
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
    big(N_EPOCH)
    words = [*PTP, f"--tile-epochs={N_EPOCH}"]  # one tile: the first signal alone has to wait
    fault = tessera.faulty(mode="signals", signal=(signal.SIGINT, signal.SIGTERM), **MIDDLE)
    result = tessera(*words, environment=fault)
    assert tessera.counts()[1] >= 2, "threads that read beside it may get one as well"
    assert result.returncode == 143
    assert "stopped on request" not in result.stderr


def test_a_repeated_term_is_one_order(tessera, big):
    """A batch system tells all processes of a job, and srun or the script tells them again."""
    big(N_EPOCH)
    fault = tessera.faulty(mode="signals", signal=signal.SIGTERM, **MIDDLE)
    result = tessera(*KEPT, environment=fault)
    assert tessera.counts()[1] > 2
    assert result.returncode == 143
    assert "to continue, run" in result.stderr
