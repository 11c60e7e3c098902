"""Folders and commands for the fault tests.

The binary is $TESSERA_BIN, or build/release/bin/tessera. TESS_FAULT_FULL=1 runs every sweep in
full; by default the long ones are sampled.
"""

import shutil
import tempfile
from pathlib import Path

import pytest
from fault_support import BINARY, Command


@pytest.fixture
def folder(tmp_path):
    """A folder in memory where there is one: thousands of runs sync every file they write."""
    memory = Path("/dev/shm")
    if not memory.is_dir() or shutil.disk_usage(memory).free < 2 << 30:
        yield tmp_path
        return
    path = Path(tempfile.mkdtemp(prefix="tessera-faults-", dir=memory))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def tessera(folder):
    if not BINARY.exists():
        pytest.fail(f"{BINARY} is missing: build it, or set TESSERA_BIN")
    return Command(folder)
