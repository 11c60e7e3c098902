"""Several ranks of one job: the bytes of one process, one voice, and no rank that waits for ever."""

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
from cli_command import BINARY, ROOT

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
         "resumed_from", "threads"}
FIT = ["xpcs", "fit", "s.txc2", "--mode", "static_anisotropic", "--sigma", "0.004"]


def command(n_rank, *words):
    return [MPIRUN, "-n", str(n_rank), str(BINARY), *map(str, words)]


def environment(tessera, **more):
    return tessera.environment | ENVIRONMENT | more


def mpirun(tessera, n_rank, *words, **more):
    return subprocess.run(command(n_rank, *words), cwd=tessera.directory, text=True, check=False,
                          env=environment(tessera, **more), capture_output=True, timeout=60,
                          stdin=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def data(tessera_at, tmp_path_factory):
    """A file of eight leaves, and what one process makes of it."""
    folder = tmp_path_factory.mktemp("mpi")
    tessera = tessera_at(folder)
    words = ["--mode", "static_anisotropic", "--n-angle", "2", "--n-frame", "120"]
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
    few = ["--method", "both", "--n-samples", "40", "--n-warmup", "40", "--n-chains", "2"]
    ways = [[*few], ["--uncertainty", "bootstrap", "--n-bootstrap", "6"],
            ["--uncertainty", "profile", "--n-start", "3"]]
    for number, words in enumerate(ways):
        one = data(*FIT, *words, "-o", f"one{number}")
        assert one.returncode == 0, one.stderr
        result = mpirun(data, 3, *FIT, *words, "-o", f"three{number}", "--threads", "1")
        assert result.returncode == 0, result.stderr
        want = contents(data.directory / f"one{number}")
        assert contents(data.directory / f"three{number}") == want


def test_stopped_work_goes_on_with_another_number(data):
    """On three ranks until the time is up, then on two, then on one."""
    words = [*FIT, "--uncertainty", "bootstrap", "--n-bootstrap", "60", "--checkpoint", "work",
             "--resume", "--checkpoint-every", "0", "-o", "stopped"]
    whole = data(*FIT, "--uncertainty", "bootstrap", "--n-bootstrap", "60", "-o", "whole")
    assert whole.returncode == 0, whole.stderr
    codes = []
    for n_rank in (3, 2):
        job = mpirun(data, n_rank, *words, "--time-limit", "0.3", "--threads", "1")
        assert job.returncode in (0, 75), job.stderr
        codes.append(job.returncode)
    assert 75 in codes
    last = data(*words)
    assert last.returncode == 0 or 0 in codes, last.stderr
    assert contents(data.directory / "stopped") == contents(data.directory / "whole")


def test_a_rank_that_dies_ends_the_job(data):
    words = [*FIT, "--uncertainty", "bootstrap", "--n-bootstrap", "5000", "-o", "dies"]
    with subprocess.Popen(command(3, *words), cwd=data.directory, env=environment(data),
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          start_new_session=True) as job:
        time.sleep(2)
        ranks = [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/status")
                 if f"\nPPid:\t{job.pid}\n" in read(path)]
        assert len(ranks) == 3
        os.kill(ranks[-1], signal.SIGKILL)
        begin = time.monotonic()
        _, errors = job.communicate(timeout=30)
        assert time.monotonic() - begin < 10
        assert job.returncode != 0
        assert b"Killed" in errors or b"signal 9" in errors
    assert not (data.directory / "dies" / "nlsq").exists()


def read(path):
    try:
        return path.read_text()
    except OSError:  # it has ended
        return ""


def test_one_rank_that_fails_is_named(data):
    """The last rank finds another file under the name."""
    script = data.directory / "own.sh"
    script.write_text('#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" = 1 ] && cd elsewhere\n'
                      'exec "$@"\n')
    script.chmod(0o755)
    (data.directory / "elsewhere").mkdir()
    line = [MPIRUN, "-n", "2", str(script), str(BINARY), *FIT, "-o", "fails"]
    begin = time.monotonic()
    result = subprocess.run(line, cwd=data.directory, env=environment(data), text=True, check=False,
                            capture_output=True, timeout=60)
    assert time.monotonic() - begin < 20
    assert result.returncode == 66, result.stderr
    assert "rank 1" in result.stderr
    assert "s.txc2" in result.stderr


def test_errors_of_all_are_said_once(data):
    result = mpirun(data, 3, "xpcs", "fit", "none.txc2", "-o", "x")
    assert result.returncode == 66
    assert result.stderr.count("none.txc2") == 1


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


def test_documents_name_the_module():
    assert "tessera-comm-mpi" in (ROOT / "docs" / "cluster.md").read_text()
