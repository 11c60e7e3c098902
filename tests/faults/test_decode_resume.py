"""A streamed prediction killed at any instant goes on to the same bytes."""

import random
import shutil

import numpy as np
import pytest
from fault_support import (
    BINARY,
    FULL,
    Killer,
    digest,
    killed_after_a_checkpoint,
    leftovers,
    sanitizer,
)

PLUGINS = BINARY.parents[1] / "plugins"
HAS_HDF5 = (PLUGINS / "tessera-hdf5").exists()
N_KILL = 200 if FULL else 10
ROWS = 400 if sanitizer() else 6000


@pytest.fixture
def model(tessera):
    """A recording of some seconds and a model; the folder they are in."""
    tessera.environment["TESSERA_PLUGIN_PATH"] = str(PLUGINS)
    counts = ["--electrodes", 8, "--encoding-spikes", 16000, "--decoding-spikes", 2 * ROWS]
    words = ["day-1d", "-o", "rec.npz", "--time-bins", ROWS, *counts, "-q"]
    result = tessera("decode", "simulate", *words)
    assert result.returncode == 0, result.stderr
    time = np.load(tessera.directory / "rec.npz")["time"]
    cuts = [round(share * len(time)) for share in (0, 0.3, 0.4, 0.45, 0.45, 1)]
    spans = [(time[i], time[k - 1]) for i, k in zip(cuts[::2], cuts[1::2], strict=True)]
    text = "".join(f"{start!r},{end!r}\n" for start, end in np.array(spans).tolist())
    (tessera.directory / "spans.csv").write_text(text)
    result = tessera("decode", "fit", "rec.npz", "-o", "model.npz", "-q")
    assert result.returncode == 0, result.stderr
    return tessera


def line(out, chunks, *words):
    return [
        *("decode", "predict", "rec.npz", "--model-file", "model.npz"),
        *("-o", out, "--chunks", chunks, "-q", *words),
    ]


CHECKPOINT = ["--checkpoint", "work", "--checkpoint-every", 0, "--resume"]


def digest_of(path):
    """Of a file, or of every array of a folder."""
    if path.is_dir():
        return {item.name: digest(item) for item in sorted(path.iterdir())}
    return digest(path)


def remove(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def right_result(tessera, out):
    """Digest of an undisturbed run in one chunk."""
    right = "right" + out.removeprefix("out")
    result = tessera(*line(right, 1))
    assert result.returncode == 0, result.stderr
    return digest_of(tessera.directory / right)


@pytest.mark.parametrize("out", ["out.h5", "out"])
@pytest.mark.parametrize("want", ["", "filter,log-likelihood,path"])
def test_killed_at_random_instants(model, out, want):
    if out.endswith(".h5") and not HAS_HDF5:
        pytest.skip("built without HDF5")
    folder = model.directory
    right = right_result(model, out)
    wanted = ["--want", want, "--intervals", "spans.csv"] if want else []
    if want:
        assert model(*line("all" + out, 1, *wanted)).returncode == 0
        right = digest_of(folder / ("all" + out))
    rng = random.Random(7)
    killer = Killer(model, rng, *line("counted" + out, 40, *wanted, *CHECKPOINT))

    def words():
        return line(out, rng.choice([7, 40, 100]), *wanted, *CHECKPOINT)

    def nothing_half_written():
        assert not (folder / out).exists() or digest_of(folder / out) == right

    for _ in range(N_KILL):
        result = killer.finish(words, nothing_half_written)
        assert result.returncode == 0, result.stderr
        assert digest_of(folder / out) == right
        assert not (folder / "work").exists()
        assert leftovers(folder) == []
        # A result that is complete is recognised, not made again.
        assert model(*line(out, 3, *wanted, *CHECKPOINT)).returncode == 0
        assert digest_of(folder / out) == right
        remove(folder / out)
    assert killer.n_killed >= N_KILL // 2


def test_other_chunks_threads_and_limits_give_the_same_bytes(model):
    right = right_result(model, "out")
    manners = [(3, []), (ROWS, []), (0, ["--threads", 1]), (0, ["--threads", 3])]
    if not sanitizer():
        manners.append((0, ["--memory-limit", "96M"]))
    for chunks, words in manners:
        result = model(*line("out", chunks, *words, "--overwrite"))
        assert result.returncode == 0, result.stderr
        assert digest_of(model.directory / "out") == right, (chunks, words)


def test_resume_of_another_run_is_refused(model):
    # The first rename is that of the folder of results.
    killed_after_a_checkpoint(model, *line("out", 100, *CHECKPOINT), at=3)
    result = model(*line("out", 100, "--dtype", "f64", *CHECKPOINT))
    assert result.returncode == 65
    assert "settings were 'want=0;dtype=f32', are 'want=0;dtype=f64'" in result.stderr
    result = model(*line("out", 100, "--checkpoint", "work"))
    assert result.returncode == 73
    assert "holds the checkpoint of an unfinished run" in result.stderr
    assert model(*line("out", 9, *CHECKPOINT)).returncode == 0
