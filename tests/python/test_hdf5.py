"""HDF5 in a process of its own: damaged files, h5py beside us, forks, descriptors."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import numpy as np
import pytest

import tessera
from helpers import run_python
from tessera.autoreject import ptp_file

h5py = pytest.importorskip("h5py", reason="h5py writes the HDF5 files")

HOSTILE = sorted((Path(__file__).parents[1] / "io/hostile").glob("*.h5"))

pytestmark = pytest.mark.skipif(
    not (Path(tessera.__file__).parent / "plugins/tessera-hdf5").exists(),
    reason="built without HDF5",
)

OPEN_ALL = """
import sys
import tessera
from tessera.autoreject import ptp_file, read_epochs
from tessera.decode import read_recording
from tessera.xpcs import inspect, load

for path in sys.argv[1:]:
    for opener in (tessera.info, ptp_file, read_epochs, read_recording, inspect, load):
        try:
            opener(path)
        except tessera.FormatError as error:
            assert error.exit_code == 65
            assert "is damaged" in str(error), error
        else:
            raise SystemExit(f"{opener.__name__} read {path}")
"""

BOTH = """
import sys
import numpy as np
path, before = sys.argv[1:]
if before == "h5py":
    import h5py
import tessera
from tessera.autoreject import ptp_file
first = ptp_file(path)
maps = open("/proc/self/maps").read()
assert before == "h5py" or "libhdf5" not in maps, "our process has loaded libhdf5"
import h5py
with h5py.File(path) as file:
    epochs = file["checked"][...]
assert np.array_equal(np.ptp(epochs, axis=2), first)
assert np.array_equal(ptp_file(path), first)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Epochs with checksums, which only HDF5 itself reads."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        epochs = np.random.default_rng(1).standard_normal((40, 3, 50))
        file.create_dataset("checked", data=epochs, chunks=(4, 3, 50), fletcher32=True)
    return path


def test_files_that_crash_libhdf5(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(HOSTILE) == 7
    monkeypatch.setenv("MALLOC_PERTURB_", "65")
    result = run_python(OPEN_ALL, arguments=[str(file) for file in HOSTILE])
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("before", ["tessera", "h5py"])
def test_beside_h5py(path: Path, before: str) -> None:
    result = run_python(BOTH, arguments=[str(path), before])
    assert result.returncode == 0, result.stderr


def _ptp(path: Path) -> bytes:
    return np.asarray(ptp_file(path)).tobytes()


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_in_workers(path: Path, method: str) -> None:
    """The parent has a helper when it forks, and goes on using it."""
    wanted = _ptp(path)
    with multiprocessing.get_context(method).Pool(3) as pool:
        pending = pool.map_async(_ptp, [path] * 12)
        assert all(_ptp(path) == wanted for _ in range(12))
        assert pending.get(timeout=60) == [wanted] * 12


def test_nothing_is_left_open(path: Path) -> None:
    _ptp(path)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(200):
        _ptp(path)
        tessera.info(path)
    assert len(os.listdir("/proc/self/fd")) == before
