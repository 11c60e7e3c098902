"""Several ranks of one job: the bytes of one process, one voice, and no rank that waits."""

import io
import json
import os
import shutil
import signal
import subprocess
import time
import zipfile
from pathlib import Path

import pytest
from cli_command import BINARY

MPIRUN = shutil.which("mpirun", path="/usr/bin:/bin:/usr/local/bin")
MODULE = BINARY.parent.parent / "plugins" / "tessera-comm-mpi.so"
pytestmark = [
    pytest.mark.skipif(MPIRUN is None, reason="mpirun is not installed"),
    pytest.mark.skipif(not MODULE.exists(), reason="built without MPI"),
]

# Open MPI counts cores and refuses root unless told otherwise. Leaks are of MPI's own.
ENVIRONMENT = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "ASAN_OPTIONS": "detect_leaks=0"}
# What of a result tells when, how fast and by which words it was made.
FACTS = {"execution_time", "command_line", "command", "read_s", "model_s", "solve_s", "total_s",
         "points_per_s", "peak_bytes", "timestamp", "strategy", "seconds", "plan", "resumed",
         "resumed_from", "threads", "written", "checkpoint_s", "checkpoints"}
FIT = ["xpcs", "fit", "s.txc2", "--mode", "static_anisotropic", "--sigma", "0.004"]


def command(n_rank, *words):
    return [MPIRUN, "-n", str(n_rank), str(BINARY), *map(str, words)]


def environment(tessera, **more):
    return tessera.environment | ENVIRONMENT | more


def mpirun(tessera, n_rank, *words, **more):
    return subprocess.run(command(n_rank, *words), cwd=tessera.directory, text=True, check=False,
                          env=environment(tessera, **more), capture_output=True, timeout=300,
                          stdin=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def data(tessera_at, tmp_path_factory):
    """A file large enough that ranks divide its passes, and what one process makes of it."""
    folder = tmp_path_factory.mktemp("mpi")
    tessera = tessera_at(folder)
    words = ["--mode", "static_anisotropic", "--n-angle", "2", "--n-frame", "240"]
    for line in (["xpcs", "simulate", "-o", "s.txc2", *words, "--sigma", "0.004"],
                 [*FIT, "-o", "one"]):
        result = tessera(*line)
        assert result.returncode == 0, result.stderr
    return tessera


def without_facts(value):
    if isinstance(value, dict):
        return {key: without_facts(item) for key, item in value.items() if key not in FACTS}
    return [without_facts(item) for item in value] if isinstance(value, list) else value


def contents(folder):
    """Every file of a folder of results by name: members of archives, documents without facts."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".json":
            found[name] = without_facts(json.loads(path.read_text()))
        elif path.suffix == ".npz":
            with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
                found[name] = {n: archive.read(n) for n in archive.namelist()}
        elif path.is_file():
            found[name] = "there"  # pages and HDF5 have the time inside
    return found


@pytest.mark.parametrize(("n_rank", "threads", "strategy"), [
    (1, 1, "standard"), (2, 2, "large"), (3, 1, "streaming"), (5, 1, "chunked")])
def test_ranks_give_the_bytes_of_one(data, n_rank, threads, strategy):
    out = f"r{n_rank}"
    result = mpirun(data, n_rank, *FIT, "-o", out, "--threads", threads, "--strategy", strategy)
    assert result.returncode == 0, result.stderr
    one = contents(data.directory / "one")
    assert len(one) > 4
    assert contents(data.directory / out) == one
    assert result.stderr.count("results written to") == 1
    assert result.stdout.count("converged") == 1


def test_draws_profiles_and_replicates(data):
    """Chains, a bootstrap, and points that share passes."""
    few = ["--method", "both", "--n-samples", "20", "--n-warmup", "20", "--n-chains", "2"]
    ways = [[*few], ["--uncertainty", "block_bootstrap", "--n-bootstrap", "6"],
            ["--uncertainty", "profile", "--n-start", "3"]]
    for number, words in enumerate(ways):
        one = data(*FIT, *words, "-o", f"one{number}")
        assert one.returncode == 0, one.stderr
        result = mpirun(data, 3, *FIT, *words, "-o", f"three{number}", "--threads", "1")
        assert result.returncode == 0, result.stderr
        want = contents(data.directory / f"one{number}")
        assert contents(data.directory / f"three{number}") == want


def start(tessera, n_rank, *words, rank=0, **fault):
    """A job in which one rank has a fault."""
    own = [f"{key}={value}" for key, value in tessera.faulty(**fault).items()]
    line = [MPIRUN]
    for k in range(n_rank):
        line += [":"] if k else []
        line += ["-n", "1", *(["env", *own] if k == rank else []), str(BINARY), *map(str, words)]
    return subprocess.Popen(line, cwd=tessera.directory, text=True, env=environment(tessera),
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            start_new_session=True)


def hold(tessera, n_rank, *words, **fault):
    """A job whose first rank, which keeps the work of all, has stopped itself; its ranks."""
    job = start(tessera, n_rank, *words, signal=signal.SIGSTOP, **fault)
    end = time.monotonic() + 300
    while time.monotonic() < end:
        assert job.poll() is None, job.stderr.read()
        found = ranks_of(job)
        if len(found) == n_rank and "\nState:\tT" in read(Path(f"/proc/{found[0]}/status")):
            return job, found
        time.sleep(0.01)
    pytest.fail("the first rank did not stop")


def read(path):
    try:
        return path.read_text()
    except OSError:  # it has ended
        return ""


def ranks_of(job):
    """Process ids by rank."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/status"):
        if f"\nPPid:\t{job.pid}\n" in read(path):
            words = read(path.parent / "environ").split("\0")
            own = [word for word in words if word.startswith("OMPI_COMM_WORLD_RANK=")]
            found |= {int(word.split("=")[1]): int(path.parent.name) for word in own}
    return found


def test_killed_and_stopped_work_goes_on_with_another_number(data):
    """Three ranks, one of which is killed; two, one of which is told to stop; then one process."""
    long = [*FIT, "--uncertainty", "block_bootstrap", "--n-bootstrap", "40"]
    kept = [*long, "--checkpoint", "work", "--resume", "-o", "kept"]
    often = [*kept, "--threads", "1", "--checkpoint-every", "0"]
    third = {"kind": "rename", "at": 3, "after": "lock"}
    job, ranks = hold(data, 3, *often, **third)
    with job:
        os.kill(ranks[2], signal.SIGKILL)
        os.kill(ranks[0], signal.SIGCONT)
        _, errors = job.communicate(timeout=300)
        assert job.returncode == 137, errors
    assert not (data.directory / "kept" / "nlsq").exists()
    job, ranks = hold(data, 2, *often, **third)
    with job:
        os.kill(ranks[1], signal.SIGTERM)
        os.kill(ranks[0], signal.SIGCONT)
        _, errors = job.communicate(timeout=300)
        assert job.returncode in (130, 143), errors
        assert errors.count("resumed from") == 1
        assert errors.count("to continue, run") == 1
    last = data(*kept)
    assert last.returncode == 0, last.stderr
    assert "resumed from" in last.stderr
    assert data(*long, "-o", "whole").returncode == 0
    assert contents(data.directory / "kept") == contents(data.directory / "whole")


def test_shards_are_dealt_to_ranks(data):
    """Three ranks draw from four parts, one is killed; two go on. Each keeps what it has drawn."""
    draws = ["xpcs", "mcmc", *FIT[2:], "--sampler", "consensus", "--cmc-num-shards", "4",
             "--n-samples", "20", "--n-warmup", "20", "--n-chains", "2", "--min-ess", "1",
             "--max-rhat", "100"]
    one = data(*draws, "-o", "parts1")
    assert one.returncode == 0, one.stderr
    kept = [*draws, "--checkpoint", "shards", "--resume", "-o", "parts3", "--threads", "1"]
    with start(data, 3, *kept, "--checkpoint-every", "0", rank=1, kind="rename", mode="kill",
               at=3, after="lock") as job:
        _, errors = job.communicate(timeout=300)
        assert job.returncode == 137, errors
    assert list(data.directory.glob("shards/*_0000*/*.ckpt"))
    result = mpirun(data, 2, *kept)
    assert result.returncode == 0, result.stderr
    assert contents(data.directory / "parts3") == contents(data.directory / "parts1")
    assert not (data.directory / "shards").exists()


def test_one_rank_that_fails_is_named(data):
    """The last rank finds another file under the name."""
    script = data.directory / "own.sh"
    script.write_text('#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" = 1 ] && cd elsewhere\n'
                      'exec "$@"\n')
    script.chmod(0o755)
    (data.directory / "elsewhere").mkdir()
    line = [MPIRUN, "-n", "2", str(script), str(BINARY), *FIT, "-o", "fails"]
    result = subprocess.run(line, cwd=data.directory, env=environment(data), text=True, check=False,
                            capture_output=True, timeout=300)
    assert result.returncode == 66, result.stderr
    assert "rank 1" in result.stderr
    assert "s.txc2" in result.stderr


def test_errors_of_all_are_said_once(data):
    result = mpirun(data, 3, "xpcs", "fit", "none.txc2", "-o", "x")
    assert result.returncode == 66
    assert result.stderr.count("none.txc2") == 1
    result = mpirun(data, 3, *FIT, "--no-such-option")
    assert result.returncode == 2
    assert result.stderr.count("--no-such-option") == 1


def test_what_cannot_work_together_says_so(data):
    """Commands of one process, and several processes without the module."""
    result = mpirun(data, 2, "autoreject", "simulate", "-o", "epochs.npy")
    assert result.returncode == 69
    assert "TESSERA_COMM=none" in result.stderr
    result = mpirun(data, 2, *FIT, "-o", "without", TESSERA_MPI_PLUGIN="none")
    assert result.returncode == 69
    assert "OMPI_COMM_WORLD_SIZE says that 2 processes" in result.stderr
    assert not (data.directory / "without").exists()


def test_sysinfo_knows_of_ranks(data):
    result = mpirun(data, 2, "sysinfo", "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)["ranks"]
    assert found["n_rank"] == 2
    assert "MPI" in found["connected_by"]
    alone = json.loads(data("sysinfo", "--json").stdout)["ranks"]
    assert alone["n_rank"] == 1
    assert alone["mpi"] == "available"

