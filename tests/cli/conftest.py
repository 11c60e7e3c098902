"""Runs the command and compares what it says, word for word, with stored text.

The binary is $TESSERA_COMMAND, or build/release/bin/tessera. Expected texts lie in expected/, one
file per case; `pytest tests/cli --update-expected` rewrites them, to be read before they are
committed.
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from cli_command import BINARY, Command
from decode_recordings import track

EXPECTED = Path(__file__).parent / "expected"

# What the clock decides, and how it is written in the expected texts.
VARYING = [
    (re.compile(r"in \d+\.\d+ s, \d+\.\d+ GB/s"), "in T s, R GB/s"),
    (re.compile(r"; \d+(\.\d+)? [KMG]iB of 512 MiB"), "; M of 512 MiB"),
    (re.compile(r"in \d+\.\d+ s, \d+ bins/s"), "in T s, R bins/s"),
]


def pytest_addoption(parser):
    parser.addoption("--update-expected", action="store_true", help="rewrite tests/cli/expected")


@pytest.fixture
def tessera(tmp_path):
    if not BINARY.exists():
        pytest.fail(f"{BINARY} is missing: build it, or set TESSERA_COMMAND")
    return Command(tmp_path)


@pytest.fixture(scope="session")
def tessera_at():
    """tessera_at(folder): the command in any folder, for inputs that several tests share."""
    if not BINARY.exists():
        pytest.fail(f"{BINARY} is missing: build it, or set TESSERA_COMMAND")
    return Command


@pytest.fixture
def same_as_stored(request, tessera):
    """same_as_stored(name, words...): exit code, stdout and stderr are those of the file."""

    def check(name, *words, **keywords):
        result = tessera(*words, **keywords)
        text = f"exit {result.returncode}\n--- stdout\n{result.stdout}--- stderr\n{result.stderr}"
        for pattern, replacement in VARYING:
            text = pattern.sub(replacement, text)
        path = EXPECTED / f"{name}.txt"
        if request.config.getoption("--update-expected", default=False):
            path.write_text(text)
        assert text == path.read_text(), f"{path} differs"
        return result

    return check


@pytest.fixture
def epochs(tmp_path):
    """Twenty epochs, four channels: one flat, one row with a NaN, the rest known by heart."""
    x = np.zeros((20, 4, 50), dtype=np.float32)
    x[:, 1, 10] = np.arange(20) + 1  # peak-to-peak 1 to 20
    x[:, 2, 20] = 0.5
    x[:, 2, 30] = -0.5  # always 1
    x[:, 3, 40] = 2
    x[7, 3, 5] = np.nan
    path = tmp_path / "epochs.npy"
    np.save(path, x)
    return path


@pytest.fixture
def big(tmp_path):
    """big(n): a file of n epochs of 256 KB, mostly holes, each with one sample of its own."""

    def make(n_epoch):
        path = tmp_path / "big.npy"
        x = np.lib.format.open_memmap(path, "w+", np.float32, (n_epoch, 64, 1000))
        for epoch in range(n_epoch):
            x[epoch, epoch % 64, epoch % 1000] = epoch + 1
        del x
        return path

    return make


@pytest.fixture
def yaml(tessera):
    """Skips where the library was built without libyaml."""
    if not json.loads(tessera("sysinfo", "--json").stdout)["build"]["libraries"]["libyaml"]:
        pytest.skip("built without libyaml")


@pytest.fixture
def h5py():
    return pytest.importorskip("h5py")


@pytest.fixture
def recording(tmp_path):
    np.savez(tmp_path / "rec.npz", **track())
    return tmp_path / "rec.npz"
