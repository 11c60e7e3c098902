"""A fit killed at any instant goes on to the same model."""

import random
import signal
import time

import pytest
from fault_support import FULL, Killer, leftovers, sanitizer

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
    begin = time.monotonic()
    result = epochs(*line("right.json"), timeout=300)
    assert result.returncode == 0, result.stderr
    whole_s = time.monotonic() - begin
    right = model_of(folder / "right.json")
    rng = random.Random(7)
    killer = Killer(rng, whole_s)

    def start():
        # Killed after its model got its name, the fit is begun again.
        limit = rng.choice([[], ["--memory-limit", "40M"]])
        words = [*CHECKPOINT, "--overwrite", "--threads", rng.choice([1, 2, 3]), *limit]
        return epochs.popen(*line("out.json", *words))

    def nothing_half_written():
        assert not (folder / "out.json").exists() or model_of(folder / "out.json") == right

    for _ in range(N_KILL):
        code, stderr = killer.finish(start, nothing_half_written)
        assert code == 0, stderr
        assert model_of(folder / "out.json") == right
        assert not (folder / "work").exists()
        assert leftovers(folder) == []
        (folder / "out.json").unlink()
    assert killer.n_killed >= N_KILL // 2


def test_resume_of_another_fit_is_refused(epochs):
    folder = epochs.directory
    for _ in range(50):
        process = epochs.popen(*line("out.json", *CHECKPOINT))
        while not list((folder / "work").glob("*.ckpt")) and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if list((folder / "work").glob("*.ckpt")):
            break
        (folder / "out.json").unlink(missing_ok=True)  # it was faster than the signal
    result = epochs(*line("out.json", "--seed", 3, *CHECKPOINT))
    assert result.returncode == 65
    assert "settings were 'fit;search=exact" in result.stderr
    result = epochs(*line("out.json", "--checkpoint", "work"))
    assert result.returncode == 73
    assert "holds the checkpoint of an unfinished run" in result.stderr
    assert epochs(*line("out.json", *CHECKPOINT)).returncode == 0
