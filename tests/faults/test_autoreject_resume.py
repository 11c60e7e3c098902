"""A fit killed at any instant goes on to the same model."""

import random

import pytest
from fault_support import FULL, Killer, killed_after_a_checkpoint, leftovers, sanitizer

N_KILL = 60 if FULL else 6
EPOCHS = 60 if sanitizer() else 120


@pytest.fixture
def epochs(tessera):
    """Simulated epochs of 16 MB or so and their electrodes, and the command."""
    if tessera("autoreject", "fit", "--help").returncode != 0:
        pytest.skip("the command has no fit")
    words = ["-o", "x.npy", "--positions", "x.csv", "--dtype", "f64", "-q"]
    sizes = ["--epochs", EPOCHS, "--channels", 32, "--samples", 500]
    result = tessera("autoreject", "simulate", *words, *sizes)
    assert result.returncode == 0, result.stderr
    return tessera


def line(out, *words):
    return [
        *("autoreject", "fit", "x.npy", "--montage", "x.csv", "--sampling-hz", 250),
        *("-o", out, "-q", *words),
    ]


CHECKPOINT = ["--checkpoint", "work", "--checkpoint-every", 0, "--resume"]


def model_of(path):
    return path.read_bytes()


def test_killed_at_random_instants(epochs):
    folder = epochs.directory
    result = epochs(*line("right.json"))
    assert result.returncode == 0, result.stderr
    right = model_of(folder / "right.json")
    rng = random.Random(7)
    killer = Killer(epochs, rng, *line("counted.json", *CHECKPOINT, "--threads", 1))

    def words():
        # Killed after its model got its name, the fit is begun again.
        limit = rng.choice([[], ["--memory-limit", "40M"]])
        own = [*CHECKPOINT, "--overwrite", "--threads", rng.choice([1, 2, 3]), *limit]
        return line("out.json", *own)

    def nothing_half_written():
        assert not (folder / "out.json").exists() or model_of(folder / "out.json") == right

    for _ in range(N_KILL):
        result = killer.finish(words, nothing_half_written)
        assert result.returncode == 0, result.stderr
        assert model_of(folder / "out.json") == right
        assert not (folder / "work").exists()
        assert leftovers(folder) == []
        (folder / "out.json").unlink()
    assert killer.n_killed >= N_KILL // 2


def test_resume_of_another_fit_is_refused(epochs):
    killed_after_a_checkpoint(epochs, *line("out.json", *CHECKPOINT))
    result = epochs(*line("out.json", "--seed", 3, *CHECKPOINT))
    assert result.returncode == 65
    assert "settings were 'fit;search=exact" in result.stderr
    result = epochs(*line("out.json", "--checkpoint", "work"))
    assert result.returncode == 73
    assert "holds the checkpoint of an unfinished run" in result.stderr
    assert epochs(*line("out.json", *CHECKPOINT)).returncode == 0
