"""A fit killed at any instant goes on to the same result."""

import json
import random
import signal
import time

import numpy as np
import pytest
from fault_support import FULL, Killer, leftovers, sanitizer

N_KILL = 100 if FULL else 8
FRAMES = 120 if sanitizer() else 400
TIMES = ("timestamp", "execution_time", "timing")


@pytest.fixture
def tiles(tessera):
    """A .txc2 file of simulated correlations, and the command."""
    words = ["-o", "x.txc2", "--n-angle", 9, "--n-frame", FRAMES, "--sigma", 0.02, "-q"]
    result = tessera("xpcs", "simulate", *words)
    assert result.returncode == 0, result.stderr
    return tessera


def line(out, *words):
    return ["xpcs", "fit", "x.txc2", "--gap", 2e6, "-o", out, "-q", "--no-surfaces", *words]


PROFILE = ["--uncertainty", "profile"]  # the longest fit: it stops in every phase
CHECKPOINT = ["--checkpoint", "work", "--checkpoint-every", 0, "--resume"]
WAYS = [
    [],
    ["--strategy", "streaming", "--chunk-tiles", 16],
    ["--strategy", "chunked", "--chunk-tiles", 48],
    ["--strategy", "standard"],
]


def numbers_of(folder):
    """Every number of a fit that does not measure time."""
    found = json.loads((folder / "nlsq" / "parameters.json").read_text())
    for name in TIMES:
        found.pop(name, None)
    return found


def test_killed_at_random_instants(tiles):
    folder = tiles.directory
    begin = time.monotonic()
    result = tiles(*line("right", *PROFILE), timeout=300)
    assert result.returncode == 0, result.stderr
    whole_s = time.monotonic() - begin
    right = numbers_of(folder / "right")
    rng = random.Random(11)
    killer = Killer(rng, whole_s)
    for number in range(N_KILL):
        out = f"out{number}"

        def start(out=out):
            # Killed after its results were written, the fit is begun again in the same folder.
            words = [*CHECKPOINT, *PROFILE, "--overwrite", "--threads", rng.choice([1, 2, 3, 7])]
            return tiles.popen(*line(out, *words, *rng.choice(WAYS)))

        code, stderr = killer.finish(start)
        assert code == 0, stderr
        assert numbers_of(folder / out) == right
        assert not (folder / "work").exists()
        assert leftovers(folder) == []
    assert killer.n_killed >= N_KILL // 2


def stop_in_the_middle(tiles, number, out="out"):
    """A fit that a signal ends after its first checkpoint; the process."""
    for _ in range(50):
        process = tiles.popen(*line(out, *CHECKPOINT))
        while not list((tiles.directory / "work").glob("*.ckpt")) and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(number)
        process.stderr_text = process.communicate()[1]
        if list((tiles.directory / "work").glob("*.ckpt")):
            return process
        tiles("xpcs", "fit", "--help")  # it was faster than the signal
        for path in sorted((tiles.directory / out).rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
    pytest.fail("the fit was always faster than the signal")


def test_sigterm_keeps_the_work_and_says_how_to_go_on(tiles):
    process = stop_in_the_middle(tiles, signal.SIGTERM)
    assert process.returncode == 143
    result = tiles(*line("out", *CHECKPOINT))
    assert result.returncode == 0, result.stderr
    assert tiles(*line("right")).returncode == 0
    assert numbers_of(tiles.directory / "out") == numbers_of(tiles.directory / "right")


def test_checkpoint_of_another_fit_is_refused(tiles):
    stop_in_the_middle(tiles, signal.SIGKILL)
    result = tiles(*line("out", "--loss", "huber", *CHECKPOINT))
    assert result.returncode == 65
    assert "loss=linear there, loss=huber here" in result.stderr
    result = tiles(*line("out", "--checkpoint", "work"))
    assert result.returncode == 73
    assert "holds the checkpoint of an unfinished fit" in result.stderr
    assert tiles(*line("out", *CHECKPOINT)).returncode == 0


def test_damaged_checkpoints_are_passed_over(tiles):
    stop_in_the_middle(tiles, signal.SIGKILL)
    rng = np.random.default_rng(3)
    newest = sorted((tiles.directory / "work").glob("*.ckpt"))[-1]
    content = bytearray(newest.read_bytes())
    for at in rng.integers(0, len(content), 20):
        content[at] ^= 0x55
    newest.write_bytes(content)
    result = tiles(*line("out", *CHECKPOINT))
    assert result.returncode == 0, result.stderr
    assert tiles(*line("right")).returncode == 0
    assert numbers_of(tiles.directory / "out") == numbers_of(tiles.directory / "right")


def test_sigusr1_writes_a_checkpoint_and_goes_on(tiles):
    for _ in range(20):
        words = ["--checkpoint", "work", "--resume", "--checkpoint-every", 1000]
        words += ["--uncertainty", "block_bootstrap", "--n-bootstrap", 300]  # long enough
        process = tiles.popen(*line("out", *words, "--overwrite"))
        time.sleep(0.1)
        found = False
        while process.poll() is None:
            if not found:
                process.send_signal(signal.SIGUSR1)
            found = found or bool(list((tiles.directory / "work").glob("*.ckpt")))
            time.sleep(0.002)
        _, stderr = process.communicate()
        assert process.returncode == 0, stderr
        if found:
            return
    pytest.fail("no checkpoint was seen after SIGUSR1")
