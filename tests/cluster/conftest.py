"""A SLURM of one node, as whoever runs the tests, in a folder that goes away with it.

Needs Debian's slurm-wlm and munge (`./dev slurm` installs them); without them the tests are
skipped. Nothing of the machine's own SLURM is touched: ports, key, state and logs are the test's.
"""

import getpass
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from cli_command import BINARY, Command

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol")

CONFIG = """\
ClusterName=tessera
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control}
SlurmdPort={daemon}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,batch_sched_delay=0
KillWait=30
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=4000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Slurm:
    """Runs jobs in a folder, and says what became of them."""

    def __init__(self, config):
        self.environment = {**os.environ, "SLURM_CONF": str(config)}

    def __call__(self, *words, cwd=None):
        result = subprocess.run(words, env=self.environment, cwd=cwd, capture_output=True,
                                text=True, timeout=60, check=False)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout.strip()

    def facts(self, job):
        """What SLURM knows of a job, or of each task of an array."""
        text = self("scontrol", "--oneliner", "show", "job", str(job))
        return [dict(w.split("=", 1) for w in line.split() if "=" in w)
                for line in text.splitlines()]

    def state(self, job):
        return {task["JobState"] for task in self.facts(job)}

    def wait(self, job, seconds=300):
        """Until it ends. SLURM lets a requeued job wait two minutes, which tests do not need."""
        limit = time.monotonic() + seconds
        while not self.state(job) <= {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"}:
            assert time.monotonic() < limit, self.facts(job)
            self.hurry(job)
            time.sleep(0.2)
        return self.state(job)

    def hurry(self, job):
        for task in self.facts(job):
            if (task["JobState"], task["Reason"]) == ("PENDING", "BeginTime"):
                # slurmd counts in seconds: a credential of the one in which it revoked those of
                # the job's last start counts as revoked, and the job fails.
                time.sleep(1)
                subprocess.run(["scontrol", "update", f"JobId={task['JobId']}", "StartTime=now"],
                               env=self.environment, check=False)


def start(folder, environment):
    """The three daemons; their processes, the last one first."""
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    lines = [["munged", "--foreground", "--force", f"--key-file={key}",
              f"--socket={folder}/munge.sock", f"--pid-file={folder}/munged.pid",
              f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed"],
             ["slurmctld", "-D", "-f", f"{folder}/slurm.conf"],
             ["slurmd", "-D", "-f", f"{folder}/slurm.conf", "-N", socket.gethostname()]]
    started = []
    for line in lines:
        with (folder / f"{line[0]}.out").open("w") as out:
            started.insert(0, subprocess.Popen(line, env=environment, stdout=out, stderr=out))
        time.sleep(0.5)
    return started


@pytest.fixture(scope="session")
def slurm():
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (./dev slurm installs them)")
    folder = Path(tempfile.mkdtemp(prefix="tessera-slurm-"))
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "slurm.conf").write_text(CONFIG.format(
        host=socket.gethostname(), folder=folder, user=getpass.getuser(), control=free_port(),
        daemon=free_port()))
    cluster = Slurm(folder / "slurm.conf")
    daemons = start(folder, cluster.environment)
    try:
        limit = time.monotonic() + 30
        while "idle" not in subprocess.run(["sinfo", "-h", "-o", "%T"], env=cluster.environment,
                                           capture_output=True, text=True, check=False).stdout:
            logs = "\n".join(p.read_text() for p in folder.glob("*.log"))
            assert time.monotonic() < limit, logs[-4000:]
            time.sleep(0.2)
        yield cluster
    finally:
        for daemon in daemons:
            daemon.terminate()
            daemon.wait(timeout=30)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def tessera(tmp_path):
    if not BINARY.exists():
        pytest.fail(f"{BINARY} is missing: build it, or set TESSERA_COMMAND")
    return Command(tmp_path)
