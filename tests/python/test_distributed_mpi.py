"""Ranks of mpi4py's communicators: the bits of one process, and errors that say what is missing."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers import python_env, run_python

PROGRAM = Path(__file__).with_name("mpi_program.py")
MODULE = "tessera-comm-mpi.so"
MPIRUN = shutil.which("mpirun", path="/usr/bin:/bin:/usr/local/bin")
# Open MPI counts cores and refuses root unless told otherwise. Leaks are of MPI's own.
MPI = {
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "ASAN_OPTIONS": "detect_leaks=0",
}


def plugins() -> Path | None:
    """Return where the module lies: beside the command of the build, or in the package."""
    command = Path(os.environ.get("TESSERA_COMMAND", "build/release/bin/tessera")).resolve()
    package = importlib.util.find_spec("tessera")
    assert package is not None
    assert package.origin is not None
    for folder in (command.parent.parent / "plugins", Path(package.origin).parent / "plugins"):
        if (folder / MODULE).exists():
            return folder
    return None


def need_ranks() -> None:
    if importlib.util.find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not installed")
    if MPIRUN is None:
        pytest.skip("mpirun is not installed")
    if plugins() is None:
        pytest.skip("built without MPI")
    for name in ("pandas", "xarray", "networkx"):
        pytest.importorskip(name)


def results(folder: Path, n_rank: int, how: str) -> list[dict[str, Any]]:
    """Return what every rank found."""
    folder.mkdir()
    line = [sys.executable, str(PROGRAM), str(folder), how]
    if how != "alone":
        assert MPIRUN is not None
        line[1:1] = ["-m", "mpi4py"]  # a rank that fails ends the job
        line[:0] = [MPIRUN, "-n", str(n_rank)]
    env = python_env() | MPI | {"TESSERA_PLUGIN_PATH": str(plugins())}
    done = subprocess.run(line, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(n_rank)]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    need_ranks()
    return results(tmp_path_factory.mktemp("alone") / "out", 1, "alone")[0]


@pytest.mark.parametrize(("n_rank", "how"), [(3, "world"), (3, "halves")])
def test_all_ranks_get_the_bits_of_one(
    alone: dict[str, Any], tmp_path: Path, n_rank: int, how: str
) -> None:
    """Three ranks, and communicators of two and of one."""
    for found in results(tmp_path / "out", n_rank, how):
        assert found == alone


def test_an_error_is_everybodys_and_the_next_call_works(tmp_path: Path) -> None:
    need_ranks()
    found = results(tmp_path / "out", 3, "broken")
    differs = "rank 0: belongs to other settings: n_start=2 there, n_start=1 here; start all"
    assert all(differs in each["said"] for each in found)
    other = "rank 1 is not at the work of rank 0: the spikes differ from those of this run"
    assert all(other in each["rows"] for each in found)
    own = "rank 1 of 3: theta is not mine"
    assert [each["own"] for each in found] == [own, "nothing", own]
    step = "rank 0 is at 200 time bins from bin 0, this one at 100 from 0; give all the same arg"
    assert all(step in each["chunks"] for each in found)
    assert len({each["fit"] for each in found}) == 1


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("import sys; sys.modules['mpi4py'] = None\nd.use()", "pip install mpi4py"),
        ("d.use(7)", "comm: expected a communicator of mpi4py, got 7"),
        ("from mpi4py import MPI\nd.use(MPI.COMM_NULL)", "leave out this call there"),
        ("import os; os.environ['TESSERA_MPI_PLUGIN'] = '/none.so'\nd.use()", "/none.so"),
        ("tessera.Context(comm='mpi:0')", "the communicator is of another MPI library"),
        ("tessera.Context(comm='gloo')", "is none of none, auto, mpi and mpi:HANDLE"),
    ],
)
def test_errors_say_what_is_missing(monkeypatch: pytest.MonkeyPatch, lines: str, says: str) -> None:
    if "None" not in lines and "gloo" not in lines:
        need_ranks()
    for name, value in (MPI | {"TESSERA_PLUGIN_PATH": str(plugins())}).items():
        monkeypatch.setenv(name, value)
    said = run_python(f"import tessera, tessera.distributed as d\n{lines}")
    assert said.returncode == 1, said.stdout + said.stderr
    assert says in said.stderr.splitlines()[-1]
