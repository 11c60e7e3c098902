"""Autoreject stopped while it writes its results ends with the same ones: nothing is in vain."""

import signal

import numpy as np
import pytest
from fault_support import (
    FULL,
    INJECTOR,
    assert_asked_for_checkpoints,
    assert_one_message,
    checkpoints,
    digest,
    killed_after_a_checkpoint,
    leftovers,
    remove,
    sanitizer,
)

# How many calls of a sweep the default run takes; the full sweep takes all.
SAMPLES = 12
WORK = ["--checkpoint", "work", "--checkpoint-every", 0]
INPUT = ["x.npy", "--montage", "x.csv", "--sampling-hz", 250, "--threads", 1]
SIZES = ["--epochs", 20, "--channels", 8, "--samples", 60]
RESULTS = ["out.json", "log.npz", "out.fif", "out.fif.gz", "out.npy", "out.npy.json", "out.npz"]
PAGE = "page.html"
TIMED = [PAGE, "out.csv"]
EXTRAS = ["--log", "log.npz", "--report", PAGE]
# Words of a line, and the first of its outputs.
WAYS = {
    "fit": (["fit", *INPUT, "-o", "out.json", *EXTRAS], "out.json"),
    "thresholds": (["thresholds", *INPUT, "-o", "out.json"], "out.json"),
    "fif": (["fit-transform", *INPUT, "-o", "out.fif", "--save-model", "out.json"], "out.json"),
    "gz": (["fit-transform", *INPUT, "-o", "out.fif.gz", *EXTRAS], "log.npz"),
    "npy": (["fit-transform", *INPUT, "-o", "out.npy", *EXTRAS], "log.npz"),
    "npz": (["fit-transform", *INPUT, "-o", "out.npz"], "out.npz"),
    "transform": (["transform", *INPUT, "--model", "m.json", "-o", "out.fif", *EXTRAS], "log.npz"),
    "ptp": (["ptp", "x.npy", "-o", "out.npz", "--report", PAGE, "--threads", 1], "out.npz"),
    "simulate": (["simulate", "-o", "out.npz", "--positions", "out.csv", *SIZES], "out.npz"),
}


@pytest.fixture
def small(tessera):
    """Epochs that are fitted in a few milliseconds, and a model of them."""
    if not INJECTOR.exists() or sanitizer() == "thread":
        pytest.skip("needs the fault injector, which does not work behind ThreadSanitizer")
    words = ["-o", "x.npy", "--positions", "x.csv", "--dtype", "f64", "-q"]
    assert tessera("autoreject", "simulate", *words, *SIZES).returncode == 0
    assert tessera("autoreject", "fit", *INPUT, "-o", "m.json", "-q").returncode == 0
    return tessera


def line(way, *words):
    return ["autoreject", *WAYS[way][0], *WORK, "-q", *words]


def contents(folder, way):
    """Every result to the byte, but for those that say when they were made."""
    found = {name: digest(folder / name) for name in RESULTS if (folder / name).exists()}
    if way in ("ptp", "simulate"):
        with np.load(folder / "out.npz") as file:
            found["out.npz"] = file["data"].tobytes()
    if (folder / PAGE).exists():
        found[PAGE] = (folder / PAGE).read_text().endswith("</body></html>\n")
    if (folder / "out.csv").exists():
        found["out.csv"] = (folder / "out.csv").read_text().splitlines()[1:]
    return found


def start_over(folder):
    remove(folder / "work", *(folder / name for name in [*RESULTS, *TIMED]))


def numbers(calls, samples=SAMPLES):
    """Which calls of a sweep are taken."""
    return sorted({*range(1, calls + 1, 1 if FULL else max(1, calls // samples)), calls})


def count(tessera, kind, way, **fault):
    """Calls of a kind, and the right results."""
    start_over(tessera.directory)
    result, calls, _ = tessera.faulty({"kind": kind, "at": 0, **fault}, *line(way))
    assert result.returncode == 0, result.stderr
    right = contents(tessera.directory, way)
    assert right
    assert calls > 0
    return calls, right


def assert_finished(tessera, way, right, label):
    folder = tessera.directory
    assert contents(folder, way) == right, label
    assert leftovers(folder) == [], label
    assert not (folder / "work").exists(), label


@pytest.mark.parametrize("way", WAYS)
def test_kill_before_every_call(small, way):
    """The last calls, which write results and end the checkpoint, are all taken."""
    folder = small.directory
    calls, right = count(small, "any", way)
    tail = range(max(1, calls - 50), calls + 1)
    named = 0
    for k in sorted({*numbers(calls), *tail}):
        start_over(folder)
        result, _, kills = small.faulty({"kind": "any", "at": k, "mode": "kill"}, *line(way))
        assert result.returncode == -signal.SIGKILL or kills == 0, result.stderr
        named += (folder / WAYS[way][1]).exists()
        result = small(*line(way, "--resume"))
        assert result.returncode == 0, f"killed before call {k} of {calls}: {result.stderr}"
        assert_finished(small, way, right, f"killed before call {k} of {calls}")
    assert named > 10


@pytest.mark.parametrize("way", WAYS)
def test_a_full_disk_loses_nothing(small, way):
    folder = small.directory
    calls, right = count(small, "write", way)
    refused = 0
    for k in sorted({*numbers(calls), *range(max(1, calls - 12), calls + 1)}):
        start_over(folder)
        fault = {"kind": "write", "at": k, "error": "ENOSPC", "mode": "from"}
        result, _, _ = small.faulty(fault, *line(way))
        label = f"full at write {k} of {calls}: {result.stderr}"
        assert result.returncode in (0, 73, 74), label
        refused += result.returncode == 74
        if result.returncode != 0:
            assert leftovers(folder) == [], label
            result = small(*line(way, "--resume"))
            assert result.returncode == 0, label + result.stderr
        assert_finished(small, way, right, label)
    assert refused > 0


@pytest.mark.parametrize("way", ["fit", "fif", "npy"])
def test_a_finished_fit_is_not_made_again(small, way):
    """Killed at the first file of its results: the model is there at once."""
    folder = small.directory
    calls, right = count(small, "rename", way)
    for k in range(1, calls + 1):
        start_over(folder)
        small.faulty({"kind": "rename", "at": k, "mode": "kill"}, *line(way))
        if (folder / "log.npz").exists() or (folder / "out.json").exists():
            break
    assert checkpoints(folder / "work")
    loud = [word for word in line(way, "--resume") if word != "-q"]
    result = small(*loud)
    assert result.returncode == 0, result.stderr
    assert "resumed from 100 % (work/autoreject.fit.000001.ckpt)" in result.stderr
    assert_finished(small, way, right, "resumed")
    # Once more, its checkpoints gone: made again, and found to be the same.
    result = small(*line(way, "--resume"))
    assert result.returncode == 0, result.stderr
    assert_finished(small, way, right, "again")


def test_results_of_others_stay(small):
    folder = small.directory
    words = line("npy", "--save-model", "out.json")
    assert small(*words).returncode == 0
    right = contents(folder, "npy")
    result = small(*words)
    assert result.returncode == 73
    # Of another fit.
    result = small(*words, "--seed", 5, "--n-split", 4, "--resume")
    assert result.returncode == 73, result.stderr
    assert_one_message(result, "another fit")
    assert contents(folder, "npy") == right
    remove(folder / "work")
    for name in ("out.json", "log.npz", "out.npy", PAGE):
        kept = (folder / name).read_bytes()
        (folder / name).write_text("something of somebody else\n")
        result = small(*words, "--resume")
        assert result.returncode == 73, result.stderr
        assert name in result.stderr
        assert (folder / name).read_text() == "something of somebody else\n"
        (folder / name).write_bytes(kept)
        remove(folder / "work")
    assert small(*words, "--resume").returncode == 0
    assert contents(folder, "npy") == right


def test_an_input_that_changed_is_not_taken_for_the_old_one(small):
    """The result of before has the name of the output, but was made from other epochs."""
    words = line("npy")
    assert small(*words).returncode == 0
    content = bytearray((small.directory / "x.npy").read_bytes())
    content[-1] ^= 1
    (small.directory / "x.npy").write_bytes(content)
    result = small(*words, "--resume")
    assert result.returncode == 73, result.stderr
    assert "--overwrite" in result.stderr


@pytest.fixture
def large(tessera):
    """Epochs whose transform takes a second or so, and a model of them."""
    words = ["-o", "x.npy", "--positions", "x.csv", "--dtype", "f64", "-q"]
    sizes = ["--epochs", 300, "--channels", 32, "--samples", 1000]
    assert tessera("autoreject", "simulate", *words, *sizes).returncode == 0
    fit = ["--n-split", 2, "--n-fold", 2, "-q", "-o", "m.json"]
    result = tessera("autoreject", "fit", *INPUT, *fit)
    assert result.returncode == 0, result.stderr
    return tessera


@pytest.mark.parametrize("output", ["out.fif", "out.npy", "out.npz"])
def test_a_transform_goes_on_at_its_block(large, output):
    folder = large.directory
    words = ["autoreject", "transform", *INPUT, "--model", "m.json", "-o", output, "-q"]
    assert large(*words).returncode == 0
    right = digest(folder / output)
    remove(folder / output, folder / f"{output}.json")
    killed_after_a_checkpoint(large, *words, *WORK)
    assert not (folder / output).exists()
    loud = [word for word in words if word != "-q"]
    result = large(*loud, *WORK, "--resume")
    assert result.returncode == 0, result.stderr
    assert "resumed from " in result.stderr
    assert digest(folder / output) == right
    assert not (folder / "work").exists()


def test_sigusr1_asks_for_a_checkpoint(large):
    fit = ["autoreject", "fit", *INPUT, "-o", "out.json", "-q", "--overwrite"]
    transform = ["autoreject", "transform", *INPUT, "--model", "m.json", "-q", "--overwrite"]
    for words in (fit, [*transform, "-o", "out.npy"]):
        assert large(*words).returncode == 0  # what is replaced
        assert_asked_for_checkpoints(large, *words)


@pytest.mark.parametrize("verb", ["fit", "thresholds", "ransac", "global", "transform", "ptp"])
def test_sigusr1_never_ends_a_run_without_checkpoints(large, verb):
    words = ["autoreject", verb, *(INPUT if verb != "ptp" else ["x.npy"])]
    if verb == "transform":
        words += ["--model", "m.json"]
    if verb in ("transform", "ptp"):
        words += ["-o", "out.npy"]
    fault = {"kind": "any", "signal": signal.SIGUSR1, "at": 1, "after": "x.npy"}
    result, _, n_sent = large.faulty(fault, *words)
    assert result.returncode == 0, result.stderr
    assert n_sent == 1
