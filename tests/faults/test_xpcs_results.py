"""A fit stopped while it writes its results ends with the same ones: nothing is in vain."""

import json
import re
import signal

import pytest
from fault_support import FULL, INJECTOR, checkpoints, digest, leftovers, remove, sanitizer
from test_xpcs_resume import stop_in_the_middle, tiles  # noqa: F401

# How many calls of a sweep the default run takes; the full sweep takes all.
SAMPLES = 12
# What differs between two runs of the same fit.
TIMES = {"timestamp", "execution_time", "run", "written"}
WORK = ["--checkpoint", "work", "--checkpoint-every", 0]
WAYS = {
    "folder": ["--save-surfaces", "--save-plots", "--output-format", "json"],
    "report": ["--no-surfaces", "--report", "page.html"],
    "draws": ["--method", "both", "--n-chains", 2, "--n-warmup", 9, "--n-samples", 9,
              "--max-tree-depth", 3, "--max-attempts", 1],
}


@pytest.fixture
def small(tessera):
    """A fit of a few milliseconds, and what it finds."""
    if not INJECTOR.exists() or sanitizer() == "thread":
        pytest.skip("needs the fault injector, which does not work behind ThreadSanitizer")
    words = ["-o", "x.txc2", "--n-angle", 3, "--n-frame", 24, "--sigma", 0.02, "-q"]
    assert tessera("xpcs", "simulate", *words).returncode == 0
    return tessera


def line(*words, out="out"):
    own = ["xpcs", "fit", "x.txc2", "--gap", 2e6, "--threads", 1, "-o", out, "-q"]
    return [*own, *words]


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(v) for key, v in value.items() if key not in TIMES}
    return [without_times(v) for v in value] if isinstance(value, list) else value


def content(path):
    """All of a file but times."""
    if path.suffix == ".json":
        return without_times(json.loads(path.read_text()))
    if path.suffix == ".h5":
        import h5py

        found = {}
        with h5py.File(path) as file:
            file.visititems(
                lambda name, node: (
                    found.update({name: node[()].tobytes()})
                    if isinstance(node, h5py.Dataset) and name != "record"
                    else None
                )
            )
        return found
    if path.suffix == ".html":
        return path.read_text().endswith("</body></html>\n")
    return digest(path)


def contents(folder, *names):
    """Every file of a result folder, and further ones."""
    paths = [p for p in (folder / "out").rglob("*") if p.is_file()]
    paths += [folder / name for name in names if (folder / name).exists()]
    return {str(path.relative_to(folder)): content(path) for path in sorted(paths)}


def start_over(folder):
    remove(folder / "out", folder / "work", folder / "page.html")


def numbers(calls):
    """Which calls of a sweep are taken."""
    step = 1 if FULL else max(1, calls // SAMPLES)
    return [*range(1, calls + 1, step), calls]


def count(tessera, kind, words):
    """Calls from the first result on, and the right results."""
    start_over(tessera.directory)
    fault = {"kind": kind, "at": 0, "after": "out/nlsq"}
    result, calls, _ = tessera.faulty(fault, *words)
    assert result.returncode == 0, result.stderr
    right = contents(tessera.directory, "page.html")
    assert len(right) >= 5
    return calls, right


def assert_finished(tessera, right, label):
    folder = tessera.directory
    assert contents(folder, "page.html") == right, label
    assert leftovers(folder) == [], label
    assert not (folder / "work").exists(), label


@pytest.mark.parametrize("way", WAYS)
def test_kill_before_every_call_of_result_writing(small, way):
    words = line(*WORK, *WAYS[way])
    calls, right = count(small, "any", words)
    folder = small.directory
    named = 0
    for k in numbers(calls):
        start_over(folder)
        fault = {"kind": "any", "at": k, "mode": "kill", "after": "out/nlsq"}
        result, _, _ = small.faulty(fault, *words)
        assert result.returncode != 0, f"call {k} of {calls} was never made"
        named += (folder / "out/nlsq/parameters.json").exists()
        result = small(*words, "--resume")
        assert result.returncode == 0, f"killed before call {k} of {calls}: {result.stderr}"
        assert_finished(small, right, f"killed before call {k} of {calls}")
    assert named > len(numbers(calls)) // 2


@pytest.mark.parametrize("way", WAYS)
def test_a_full_disk_loses_nothing(small, way):
    words = line(*WORK, *WAYS[way])
    calls, right = count(small, "write", words)
    folder = small.directory
    for k in numbers(calls):
        start_over(folder)
        fault = {"kind": "write", "at": k, "error": "ENOSPC", "mode": "from", "after": "out/nlsq"}
        result, _, _ = small.faulty(fault, *words)
        if result.returncode != 0:  # the last is that of the lock, when all is done
            assert result.returncode in (73, 74), f"write {k} of {calls}: {result.stderr}"
            assert checkpoints(folder / "work"), k
            assert leftovers(folder) == [], k
            result = small(*words, "--resume")
        assert result.returncode == 0, f"full at write {k} of {calls}: {result.stderr}"
        assert_finished(small, right, f"full at write {k} of {calls}")


def test_a_disk_that_is_full_for_checkpoints(small):
    """One that is not written is no reason to stop; what was kept before stays."""
    words = line(*WORK, "--no-surfaces")
    _, right = count(small, "write", words)
    folder = small.directory
    start_over(folder)
    _, calls, _ = small.faulty({"kind": "write", "at": 0}, *words)
    for i, k in enumerate(numbers(calls)):
        start_over(folder)
        mode = ("once", "from")[i % 2]
        fault = {"kind": "write", "at": k, "error": "ENOSPC", "mode": mode}
        result, _, _ = small.faulty(fault, *words)
        label = f"{mode}, write {k} of {calls}: {result.stderr}"
        assert result.returncode in (0, 73, 74), label
        if result.returncode != 0:
            assert small(*words, "--resume").returncode == 0, label
        assert_finished(small, right, label)


def test_a_finished_fit_is_not_made_again(small):
    words = line(*WORK, "--no-surfaces")
    _, right = count(small, "any", words)
    folder = small.directory
    start_over(folder)
    small.faulty({"kind": "any", "at": 1, "mode": "kill", "after": "out/nlsq"}, *words)
    assert not (folder / "out/nlsq/parameters.json").exists()
    loud = [word for word in words if word != "-q"]
    result = small(*loud, "--resume")
    assert result.returncode == 0, result.stderr
    assert "resumed from 100 %" in result.stderr
    assert_finished(small, right, "resumed")
    # Once more, its checkpoints gone: made again, and found to be the same.
    result = small(*words, "--resume")
    assert result.returncode == 0, result.stderr
    assert_finished(small, right, "again")


def test_results_of_another_fit_stay(small):
    folder = small.directory
    words = line(*WORK, "--no-surfaces", "--report", "page.html")
    assert small(*words).returncode == 0
    right = contents(folder, "page.html")
    result = small(*words)
    assert result.returncode == 73
    for other in (["--loss", "huber"], ["--initial-d0", 1000], ["--sigma", 0.5]):
        result = small(*words, *other, "--resume")
        assert result.returncode == 73, result.stderr
        assert "another fit" in result.stderr
    (folder / "page.html").write_text("a page of somebody else")
    result = small(*words, "--resume")
    assert result.returncode == 73
    assert "page.html" in result.stderr
    assert (folder / "page.html").read_text() == "a page of somebody else"
    remove(folder / "page.html")
    assert small(*words, "--resume").returncode == 0
    assert contents(folder, "page.html") == right


def test_a_resumed_fit_says_from_where(tiles):  # noqa: F811
    stop_in_the_middle(tiles, signal.SIGKILL)
    words = ["xpcs", "fit", "x.txc2", "--gap", 2e6, "-o", "out", "--no-surfaces", "--resume", *WORK]
    result = tiles(*words)
    assert result.returncode == 0, result.stderr
    assert 0 <= int(re.search(r"resumed from (\d+) %", result.stderr)[1]) < 100
