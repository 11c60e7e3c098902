"""Printed scripts on a real SLURM: stopped before the limit, requeued, cancelled, as arrays."""

import subprocess
import time

import pytest
from cli_command import BINARY

DRAW = ["xpcs", "mcmc", "run.txc2", "--gap", "2e6", "--mode", "static_isotropic", "--n-chains",
        "2", "--n-warmup", "500"]
OPTIONS = ["--cpus-per-task", "1", "--mem", "1G"]


@pytest.fixture(autouse=True)
def run_file(slurm, tessera):
    made = tessera("xpcs", "simulate", "-o", "run.txc2", "--n-angle", "2", "--n-frame", "50", "-q")
    assert made.returncode == 0, made.stderr


def need_ranks():
    if not (BINARY.parent.parent / "plugins" / "tessera-comm-mpi.so").exists():
        pytest.skip("built without MPI")


def results(folder):
    """Bytes of the arrays of a result, by name; its documents tell times and the command line."""
    found = {p.name: p.read_bytes() for p in folder.glob("cmc/*") if p.suffix in (".npz", ".nc")}
    assert "samples.npz" in found
    return found


def submit(slurm, tessera, *words):
    made = tessera("slurm", *OPTIONS, *words, "--checkpoint-every", "0.5")
    assert made.returncode == 0, made.stderr
    (tessera.directory / "job.sh").write_text(made.stdout)
    return slurm("sbatch", "--parsable", "job.sh", cwd=tessera.directory)


def wait_for_work(slurm, tessera, job):
    """Until draws are kept, so that there is something to go on from."""
    limit = time.monotonic() + 120
    while not list(tessera.directory.glob("tessera-work/*/run/draws/*.ckpt")):
        assert time.monotonic() < limit and slurm.state(job) & {"PENDING", "RUNNING"}
        time.sleep(0.05)


def log_of(tessera, job):
    path = tessera.directory / f"xpcs-mcmc-{job}.log"
    return path.read_text() if path.exists() else ""


def check_same(tessera, *words):
    """What the job left is what a run leaves that nobody stopped."""
    whole = subprocess.run([tessera.binary, *words, "-o", "whole", "--threads", "2", "-q"],
                           cwd=tessera.directory, capture_output=True, text=True, check=False)
    assert whole.returncode == 0, whole.stderr
    assert results(tessera.directory / "got") == results(tessera.directory / "whole")


@pytest.mark.parametrize("how", ["told", "requeued"])
def test_a_stopped_job_goes_on_to_the_same_bytes(slurm, tessera, how):
    words = [*DRAW, "--n-samples", "10000"]
    job = submit(slurm, tessera, *words, "-o", "got")
    wait_for_work(slurm, tessera, job)
    if how == "told":  # what SLURM sends to the script ahead of the limit
        slurm("scancel", "--signal=USR1", "--batch", job)
    else:  # what an administrator does, or preemption
        slurm("scontrol", "requeue", job)
    assert slurm.wait(job) == {"COMPLETED"}, log_of(tessera, job)
    assert int(slurm.facts(job)[0]["Restarts"]) == 1
    log = log_of(tessera, job)
    assert ("stopped in time; going on" in log) == (how == "told")
    assert "stopped on request" in log and "resumed from" in log
    check_same(tessera, *words)


@pytest.mark.parametrize("how", ["told", "preempted"])
def test_ranks_that_are_stopped_go_on_to_the_bytes_of_one_process(slurm, tessera, how):
    """Two ranks under srun; preempted, one goes on: the job was given less."""
    need_ranks()
    made = tessera("xpcs", "simulate", "-o", "run.txc2", "--n-angle", "2", "--n-frame", "240",
                   "--overwrite", "-q")
    assert made.returncode == 0, made.stderr
    words = [*DRAW, "--n-samples", "150"]
    job = submit(slurm, tessera, "--ntasks", "2", *words, "-o", "got")
    wait_for_work(slurm, tessera, job)
    if how == "told":
        slurm("scancel", "--signal=USR1", "--batch", job)
    else:
        slurm("scontrol", "requeuehold", job)
        limit = time.monotonic() + 60
        while slurm.state(job) != {"PENDING"}:
            assert time.monotonic() < limit, slurm.facts(job)
            time.sleep(0.2)
        slurm("scontrol", "update", f"JobId={job}", "NumTasks=1")
        slurm("scontrol", "release", job)
    assert slurm.wait(job) == {"COMPLETED"}, log_of(tessera, job)
    log = log_of(tessera, job)
    # SLURM may take the job back before it has cleared away the step that was stopped.
    assert int(slurm.facts(job)[0]["Restarts"]) == 1 + log.count("srun has started nothing")
    assert int(slurm.facts(job)[0]["NumTasks"]) == (2 if how == "told" else 1)
    assert ("stopped in time; going on" in log) == (how == "told")
    assert "stopped on request" in log and "resumed from" in log
    check_same(tessera, *words)


def test_the_time_limit_is_told_ahead(slurm, tessera):
    """SLURM's own signal: of two minutes the last 100 s are left for keeping the work."""
    words = [*DRAW, "--n-samples", "300000", "--surrogate", "off"]  # a minute at least
    job = submit(slurm, tessera, "--time", "2", "--stop-before", "100", *words, "-o", "got")
    limit = time.monotonic() + 300
    while "resumed from" not in log_of(tessera, job):
        assert time.monotonic() < limit, log_of(tessera, job)
        slurm.hurry(job)
        time.sleep(0.5)
    assert int(slurm.facts(job)[0]["Restarts"]) >= 1
    assert "stopped in time; going on" in log_of(tessera, job)
    slurm("scancel", job)
    slurm.wait(job)


def test_a_cancelled_job_stays_cancelled(slurm, tessera):
    job = submit(slurm, tessera, *DRAW, "--n-samples", "200000", "-o", "got")
    wait_for_work(slurm, tessera, job)
    slurm("scancel", job)
    assert slurm.wait(job) == {"CANCELLED"}
    time.sleep(1)
    assert slurm.facts(job)[0].get("Restarts", "0") == "0"
    assert "going on" not in log_of(tessera, job)
    # The work is kept: the same script goes on where it was stopped.
    again = slurm("sbatch", "--parsable", "job.sh", cwd=tessera.directory)
    limit = time.monotonic() + 120
    while "resumed from" not in log_of(tessera, again):
        assert time.monotonic() < limit, log_of(tessera, again)
        time.sleep(0.1)
    slurm("scancel", again)
    slurm.wait(again)


def test_an_array_job(slurm, tessera):
    for name in ("a b", "c'd", "$e"):
        tessera("autoreject", "simulate", "-o", f"{name}.npy", "--epochs", "40", "-q")
    job = submit(slurm, tessera, "--each", "a b,c'd,$e", "autoreject", "ptp", "{}.npy", "-o",
                 "{}.ptp.npy")
    assert slurm.wait(job) == {"COMPLETED"}
    assert len(slurm.facts(job)) == 3
    for name in ("a b", "c'd", "$e"):
        assert tessera("autoreject", "ptp", f"{name}.npy", "-o", "one.npy", "--overwrite",
                       "-q").returncode == 0
        one, task = (tessera.directory / n for n in ("one.npy", f"{name}.ptp.npy"))
        assert one.read_bytes() == task.read_bytes()


def test_shards_and_the_job_that_joins_them(slurm, tessera):
    words = [*DRAW, "--n-samples", "300", "--min-ess", "0", "--max-rhat", "9"]
    made = tessera("slurm", *OPTIONS, "--shards", "2", *words, "-o", "joined")
    (tessera.directory / "job.sh").write_text(made.stdout)
    said = slurm("bash", "job.sh", cwd=tessera.directory)
    join = said.split()[-1]
    assert slurm.wait(join) == {"COMPLETED"}, said
    for k in ("1/2", "2/2"):
        assert tessera(*words, "-o", "parts", "--shard", k).returncode == 0
    assert tessera(*words, "-o", "own", "--combine", "parts").returncode == 0
    joined, own = (results(tessera.directory / n) for n in ("joined", "own"))
    assert joined["samples.npz"] == own["samples.npz"]
