"""The package as a whole: import, documentation, types, stable ABI."""

from __future__ import annotations

import ast
import contextlib
import doctest
import inspect
import io
import json
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tessera
import tessera.autoreject
import tessera.autoreject._compat
import tessera.autoreject._ptp
from helpers import PACKAGE_DIR, run_python
from tessera import _core

ROOT = Path(__file__).parents[2]

PUBLIC: dict[str, list[Callable[..., Any]]] = {
    "autoreject.ptp": [tessera.autoreject.ptp, tessera.autoreject.ptp_file],
    "autoreject.simulate": [tessera.autoreject.simulate],
    "autoreject.epochs": [tessera.autoreject.read_epochs],
}

# Options of the drop-in for autoreject go by the original's names and have its defaults.
DROP_IN: dict[str, tuple[Callable[..., Any], dict[str, str | None]]] = {
    "autoreject.fit": (
        tessera.autoreject.AutoReject,
        {
            "search": "search",
            "rho_mode": "rho_mode",
            "augment": None,  # of compute_thresholds
            "meg_dots": "meg_dots",
            "compat_types": None,  # always on
            "n_split": "n_splits",
            "n_fold": "cv",
            "seed": "random_state",
        },
    ),
    "autoreject.interpolation": (
        tessera.autoreject.utils.interpolate_bads,
        {"meg_dots": None, "meg_accurate": "mode", "fitted_origin": None},
    ),
    "autoreject.study": (
        tessera.autoreject.study,
        {"with_reports": "with_reports", "at_a_time": "at_a_time", "outlier_z": "outlier_z"},
    ),
    "autoreject.global": (
        tessera.autoreject.get_rejection_threshold,
        {"search": "search", "n_fold": "cv", "decim": "decim"},
    ),
    "autoreject.ransac": (
        tessera.autoreject.Ransac,
        {
            "meg_dots": "meg_dots",
            "n_resample": "n_resample",
            "min_channels": "min_channels",
            "min_corr": "min_corr",
            "unbroken_time": "unbroken_time",
            "seed": "random_state",
        },
    ),
    "autoreject.report": (
        tessera.autoreject.AutoReject.report,
        {"report_epochs": "report_epochs", "report_size": "report_size"},
    ),
    "autoreject.transform": (
        tessera.autoreject.AutoReject.transform_file,
        {
            "keep_bad": "drop",
            "drop_partial": "drop_partial",
            "double_precision": "double_precision",
        },
    ),
}


def test_version_is_the_headers() -> None:
    header = ROOT / "include" / "tessera" / "base.h"
    if not header.exists():
        pytest.skip("no source tree beside the tests")
    found = re.search(r'#define TESS_VERSION "(.*)"', header.read_text())
    assert found is not None
    assert tessera.__version__ == found[1]


# Files whose job is to run a script that somebody names.
RUNNERS = {"compat/_child/run.py", "compat/_child/script.py"}
# Modules whose reading of data can run code.
RUNNING = {"cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve"}


def _runs_data(node: ast.AST) -> bool:
    """Whether a line may take data for code, or lets NumPy or others do so."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        return any(name.split(".")[0] in RUNNING for name in names)
    if not isinstance(node, ast.Call):
        return False
    name = ast.unparse(node.func)
    safe = {word.arg for word in node.keywords if ast.unparse(word) in ("weights_only=True",)}
    return (
        name in ("__import__", "compile", "eval", "exec")
        or name.endswith("read_pickle")
        or (name in ("yaml.load", "yaml.unsafe_load", "yaml.full_load", "torch.load") and not safe)
        or any(
            word.arg == "allow_pickle" and ast.unparse(word.value) != "False"
            for word in node.keywords
        )
    )


def test_data_are_never_code() -> None:
    for line in (
        "import pickle",
        "from joblib import load",
        "np.load(name, allow_pickle=True)",
        "x = eval(text)",
        "yaml.load(file)",
        "torch.load(file)",
    ):
        assert any(map(_runs_data, ast.walk(ast.parse(line)))), line
    for file in PACKAGE_DIR.rglob("*.py"):
        if str(file.relative_to(PACKAGE_DIR)) in RUNNERS:
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            assert not _runs_data(node), f"{file}: {ast.unparse(node)}"


def test_import_is_quick() -> None:
    code = (
        "import time; start = time.perf_counter(); import tessera;"
        "print(time.perf_counter() - start)"
    )
    times = [float(run_python(code).stdout) for _ in range(5)]
    assert statistics.median(times) < 0.150


def test_import_leaves_numpy_alone() -> None:
    code = "import sys, tessera, tessera.autoreject; print('numpy' in sys.modules)"
    assert run_python(code).stdout == "False\n"


def test_works_in_dev_mode_with_warnings_as_errors() -> None:
    code = (
        "import numpy as np, tessera, tessera.autoreject as a, io;"
        "a.ptp(np.zeros((3, 2, 5)), threads=2); a.simulate(epochs=2, channels=2, samples=9);"
        "tessera.show_versions(io.StringIO()); tessera.devices();"
        "print(np.from_dlpack(tessera.Array(np.zeros(3))).shape)"
    )
    done = run_python(code, "-X", "dev", "-W", "error")
    assert (done.returncode, done.stdout, done.stderr) == (0, "(3,)\n", "")


def test_works_without_docstrings() -> None:
    code = "import numpy as np, tessera.autoreject as a; print(a.ptp(np.ones((1, 1, 2))))"
    assert run_python(code, "-OO").stdout == "[[0.]]\n"


@pytest.mark.parametrize("table", PUBLIC)
def test_defaults_and_docs_come_from_the_table(table: str) -> None:
    for function in PUBLIC[table]:
        parameters = inspect.signature(function).parameters
        doc = inspect.getdoc(function)
        assert doc is not None
        assert "{options}" not in doc
        for param in _core.param_tables()[table]:
            assert parameters[param["name"]].default == param["default"]
            assert f"\n{param['name']} : " in doc
            assert param["help"][1:] in doc
        for name in parameters:
            assert re.search(rf"^{name} : ", doc, re.MULTILINE), f"{name} is not documented"


def test_every_table_reaches_python() -> None:
    tables = {name for name in _core.param_tables() if name.startswith("autoreject.")}
    assert tables == PUBLIC.keys() | DROP_IN.keys()


@pytest.mark.parametrize("table", DROP_IN)
def test_options_of_the_drop_in_are_parameters(table: str) -> None:
    function, names = DROP_IN[table]
    assert [param["name"] for param in _core.param_tables()[table]] == list(names)
    parameters = inspect.signature(function).parameters
    assert {name for name in names.values() if name is not None} <= parameters.keys()


def test_examples_in_docstrings() -> None:
    for module in (tessera.autoreject, tessera.autoreject._ptp, tessera.autoreject._compat):
        failed, tried = doctest.testmod(module)
        assert tried
        assert failed == 0


def test_dir_lists_what_exists() -> None:
    for name in dir(tessera):
        assert getattr(tessera, name) is not None
    for function in (tessera.sys_info, tessera.show_versions, tessera.devices, tessera.info):
        assert function.__doc__


def test_sys_info() -> None:
    info = tessera.sys_info()
    json.dumps(info)
    assert info["python"]["packages"]["numpy"]
    assert str(PACKAGE_DIR) not in json.dumps(info)
    assert tessera.sys_info(paths=True)["python"]["extension"] == _core.__file__
    text = io.StringIO()
    tessera.show_versions(text)
    assert tessera.__version__ in text.getvalue()


def test_devices() -> None:
    found = tessera.devices()
    assert found[0]["id"] == "cpu"
    assert found[0]["memory_bytes"] > 0
    assert "ceilings" not in found[0]


def test_stable_abi() -> None:
    path = Path(_core.__file__)
    assert path.name == "_core.abi3.so"
    beside_python = str(Path(sys.executable).parent)
    audit = shutil.which("abi3audit", path=beside_python) or shutil.which("abi3audit")
    if audit is None:
        pytest.skip("abi3audit is not installed")
    done = subprocess.run(
        [audit, "--strict", "--assume-minimum-abi3", "3.11", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_only_the_init_function_is_exported() -> None:
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("nm is not installed")
    done = subprocess.run(
        [nm, "-D", "--defined-only", _core.__file__], capture_output=True, text=True, check=True
    )
    names = [line.split()[-1] for line in done.stdout.splitlines()]
    assert names == ["PyInit__core"]


def test_package_is_typed() -> None:
    assert (PACKAGE_DIR / "py.typed").exists()
    assert (PACKAGE_DIR / "_core.pyi").exists()


def test_stub_lists_what_exists() -> None:
    stub = (PACKAGE_DIR / "_core.pyi").read_text()
    declared = set(re.findall(r"^(?:def|class) (\w+)", stub, re.MULTILINE))
    existing = {name for name in vars(_core) if not name.startswith("__")}
    # What only type checkers know: protocols and the shapes of dicts.
    checkers_only = {
        "Ceilings",
        "CliffordAlgebra",
        "ContextInfo",
        "Dataset",
        "Device",
        "FileInfo",
        "Param",
        "RunInfo",
        "SupportsDLPack",
    }
    assert declared - checkers_only == existing


def test_two_interpreter_states() -> None:
    # A second copy of the module has types and exceptions of its own.
    code = (
        "import sys, importlib, numpy as np\n"
        "import tessera._core as a\n"
        "del sys.modules['tessera._core']\n"
        "b = importlib.import_module('tessera._core')\n"
        "assert a.Error is not b.Error and a.Context is not b.Context\n"
        "for core in (a, b):\n"
        "    try:\n"
        "        core.autoreject_ptp(core.Context(), np.zeros(3))\n"
        "    except core.ShapeError:\n"
        "        print('ok')\n"
    )
    assert run_python(code).stdout == "ok\nok\n"


def test_threadpoolctl() -> None:
    threadpoolctl: Any = pytest.importorskip("threadpoolctl")
    with contextlib.ExitStack() as stack:
        stack.callback(tessera.set_num_threads, None)
        from tessera import threadpool

        threadpool.register()
        assert any(entry["internal_api"] == "tessera" for entry in threadpoolctl.threadpool_info())
        with threadpoolctl.threadpool_limits(2, user_api="tessera"):
            assert tessera.get_num_threads() == 2
