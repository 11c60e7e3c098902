"""decode against files made by the version of the original on PyPI: see tools/decode_reference.py.

`./dev reference decode` makes such data anew, with any seed, and compares at once.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import tessera.decode as td
from decode_support import GOLDEN

ROOT = Path(__file__).parents[2]
FILES = sorted(GOLDEN.glob("original_*.npz"))


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """The program that made the files; its cases take either library."""
    spec = importlib.util.spec_from_file_location(
        "decode_reference", ROOT / "tools" / "decode_reference.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["decode_reference"] = module
    spec.loader.exec_module(module)
    return module


def test_there_are_files() -> None:
    assert len(FILES) >= 4


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_original(tool: ModuleType, path: Path) -> None:
    name = path.stem.removeprefix("original_").replace("_", "-")
    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    assert arrays["versions"][0].startswith("non_local_detector ")
    ours = tool.Library("tessera.decode", mode="exact", floor="absolute")
    found = tool.run(ours, name, tool.unpacked(arrays))
    wanted = {key[4:]: value for key, value in arrays.items() if key.startswith("out/")}
    assert wanted
    for key, want in wanted.items():
        assert tool.difference(found[key], want) <= tool.TOLERANCES[key.split("/")[0]], key


@pytest.mark.parametrize(
    "name",
    [
        "ConfigurationError",
        "ConvergenceError",
        "DataError",
        "FittingError",
        "NonLocalDetectorError",
        "ValidationError",
    ],
)
def test_exceptions_are_names_of_the_package(name: str) -> None:
    # "from non_local_detector import ValidationError", since the version after 0.6.9.
    assert name in td.__all__
    assert getattr(td, name) is getattr(td.exceptions, name)
