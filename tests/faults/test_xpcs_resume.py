"""A fit killed at any instant goes on to the same result."""

import json
import random
import signal

import numpy as np
import pytest
from fault_support import (
    FULL,
    Killer,
    assert_asked_for_checkpoints,
    killed_after_a_checkpoint,
    leftovers,
    sanitizer,
)

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
    result = tiles(*line("right", *PROFILE))
    assert result.returncode == 0, result.stderr
    right = numbers_of(folder / "right")
    rng = random.Random(11)
    killer = Killer(tiles, rng, *line("counted", *CHECKPOINT, *PROFILE))
    for number in range(N_KILL):
        out = f"out{number}"

        def words(out=out):
            # Killed after its results were written, the fit is begun again in the same folder.
            own = [*CHECKPOINT, *PROFILE, "--overwrite", "--threads", rng.choice([1, 2, 3, 7])]
            return line(out, *own, *rng.choice(WAYS))

        result = killer.finish(words)
        assert result.returncode == 0, result.stderr
        assert numbers_of(folder / out) == right
        assert not (folder / "work").exists()
        assert leftovers(folder) == []
    assert killer.n_killed >= N_KILL // 2


def stop_in_the_middle(tiles, number, out="out"):
    """A fit that a signal ends after its first checkpoint."""
    return killed_after_a_checkpoint(tiles, *line(out, *CHECKPOINT), number=number)


def test_sigterm_keeps_the_work_and_says_how_to_go_on(tiles):
    stopped = stop_in_the_middle(tiles, signal.SIGTERM)
    assert stopped.returncode == 143, stopped.stderr
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
    assert tiles(*line("out")).returncode == 0  # what is replaced
    assert_asked_for_checkpoints(tiles, *line("out", "--overwrite"))
