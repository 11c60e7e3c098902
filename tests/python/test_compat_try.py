"""``tessera try``: both sides, with a package of a few lines in the original's place."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers import python_env
from tessera.compat import _folder, _uses, install
from tessera.compat._main import main, run
from tessera.compat._originals import ORIGINALS

_ORIGINAL_OF = {
    "autoreject": "autoreject",
    "clifford": "flash_clifford",
    "decode": "non_local_detector",
    "xpcs": "homodyne",
}
_SCRIPTS = Path(__file__).parents[1] / "compat/scripts"

# An "autoreject" whose logs are ours but for a number: enough to have something to compare.
_FAKE = """
import numpy as np
__version__ = "0.0.fake"
SHIFT = 0.0
class RejectLog:
    def __init__(self, bad_epochs, labels, ch_names):
        self.bad_epochs, self.ch_names = np.asarray(bad_epochs), list(ch_names)
        self.labels = np.asarray(labels, float) + SHIFT
    def save(self, fname):
        np.savez(fname, labels=self.labels)
def only_there():
    return 1
"""

_SCRIPT = """
import json, sys, time
from pathlib import Path
import numpy as np
from autoreject import RejectLog

begin = time.time()
noise = np.random.default_rng().normal(size=4)
data = np.loadtxt("input.txt")
log = RejectLog(bad_epochs=[False, True], labels=[[0.0, 1.0], [2.0, 1.0]], ch_names=["A", "B"])
values = log.labels * 2
arguments = sys.argv[1:]
np.save("out.npy", values)
Path("data").mkdir(exist_ok=True)
Path("data/more.json").write_text(json.dumps({"a": [1, 2], "b": float(values.sum())}))
print("sum", values.sum())
elapsed = time.time() - begin
"""


class Trial:
    """A folder with a script, an original that may be another, and a way to try."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.work = folder / "work"
        self.fake = folder / "fake"
        self.scratch = folder / "tmp"
        for made in (self.work, self.fake / "autoreject", self.scratch):
            made.mkdir(parents=True)
        (self.work / "input.txt").write_text("1 2 3\n")
        self.write_fake()
        self.python = folder / "original-python"
        # The interpreter that has the original is this one, with one more folder.
        self.python.write_text(
            f'#!/bin/sh\nPYTHONPATH="{self.fake}" exec "{sys.executable}" "$@"\n'
        )
        self.python.chmod(0o755)

    def write_fake(self, text: str = _FAKE) -> None:
        (self.fake / "autoreject/__init__.py").write_text(text)

    def environment(self) -> dict[str, str]:
        return python_env() | {"TMPDIR": str(self.scratch)}

    def words(self, *options: str, script: str = _SCRIPT) -> list[str]:
        (self.work / "script.py").write_text(script)
        before = [sys.executable, "-m", "tessera.compat"]
        return [*before, "--original-python", str(self.python), *options]

    def run(
        self,
        *options: str,
        script: str = _SCRIPT,
        name: str = "script.py",
        arguments: tuple[str, ...] = (),
    ) -> tuple[int, str]:
        """Return the exit code and what was printed."""
        self._capsys.readouterr()
        code = run([*self.words(*options, script=script)[3:], name, *arguments])
        assert list(self.scratch.iterdir()) == [], "something was left behind"
        return code, self._capsys.readouterr().out

    def json(
        self, *options: str, script: str = _SCRIPT, code: int = 0, name: str = "script.py"
    ) -> dict[str, Any]:
        got, printed = self.run("--json", *options, script=script, name=name)
        assert got == code, printed
        found: dict[str, Any] = json.loads(printed)
        assert found["exit_code"] == code
        return found


@pytest.fixture
def trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Trial:
    made = Trial(tmp_path, capsys)
    monkeypatch.chdir(made.work)
    monkeypatch.setattr(tempfile, "tempdir", str(made.scratch))
    return made


def verdicts(found: dict[str, Any]) -> dict[str, str]:
    return {row["name"]: row["verdict"] for row in found["results"]}


def test_the_same_results(trial: Trial) -> None:
    before = sorted(trial.work.rglob("*"))
    # Arguments of the script, though they look like ours.
    code, printed = trial.run(arguments=("--json", "-x", "7"))
    assert code == 0, printed
    assert printed.startswith("script.py: autoreject\n")
    assert "autoreject 0.0.fake" in printed
    assert printed.endswith("the same results, within the tolerance\n")
    assert "peak memory" in printed
    left = [path for path in sorted(trial.work.rglob("*")) if path.name != "script.py"]
    assert left == before, "the script's files are not to stay"


def test_every_kind_of_result_is_compared(trial: Trial) -> None:
    found = trial.json()
    assert found["verdict"] == "the same results, within the tolerance"
    told = verdicts(found)
    equal = ("values", "log.labels", "log.ch_names", "data", "out.npy", "data/more.json", "noise")
    assert {name: told[name] for name in equal} == dict.fromkeys(equal, "equal")
    assert told["elapsed"] == told["begin"] == "clock"
    assert found["ours"]["written"] == ["data/more.json", "out.npy"]
    assert found["ours"]["seconds"] > 0
    assert found["ours"]["peak_bytes"] > 1e7
    assert found["original"]["versions"] == {"autoreject": "0.0.fake"}
    assert found["printed"] == {"lines": 1, "differ": 0, "first": None}


def test_differences_are_told_with_their_size(trial: Trial) -> None:
    trial.write_fake(_FAKE.replace("SHIFT = 0.0", "SHIFT = 0.01"))
    found = trial.json(code=1)
    rows = {row["name"]: row for row in found["results"]}
    assert rows["values"]["verdict"] == "differs"
    assert rows["values"]["absolute"] == pytest.approx(0.02)
    assert rows["values"]["relative"] == pytest.approx(0.02 / 4.02)
    assert rows["values"]["note"] == "4 of 4 beyond the tolerance"
    assert rows["out.npy"]["verdict"] == "differs"
    assert rows["data/more.json['b']"]["verdict"] == "differs"
    assert rows["data/more.json['a']"]["verdict"] == "equal"
    assert found["verdict"] == "not the same results"
    assert found["printed"]["differ"] == 1
    assert verdicts(trial.json("--tolerance", "0.01"))["values"] == "close"


def test_shapes_and_names_of_one_side(trial: Trial) -> None:
    script = """
import autoreject
is_ours = "tessera" in autoreject.RejectLog.__module__
x = [1, 2, 3] if is_ours else [1, 2]
if is_ours:
    here = 1
else:
    there = {"a": 1}
"""
    found = trial.json(script=script, code=1)
    assert verdicts(found) == {
        "is_ours": "differs",
        "x": "shape",
        "here": "only ours",
        "there['a']": "only the original",
    }


def test_main_functions_and_exit_codes(trial: Trial) -> None:
    script = """
import sys
import autoreject

def helper(x):
    inside = x + 1
    return inside

def main():
    total = helper(2.5)
    if "tessera" in repr(autoreject):
        total += {shift}
    return {code}

if __name__ == "__main__":
    sys.exit(main())
"""
    found = trial.json(script=script.format(shift=0, code=3))
    assert verdicts(found) == {"main().total": "equal"}
    assert found["ours"]["exit_code"] == found["original"]["exit_code"] == 3
    assert verdicts(trial.json(script=script.format(shift=1, code=0), code=1)) == {
        "main().total": "differs"
    }


def test_what_we_lack_is_listed(trial: Trial) -> None:
    script = "from autoreject import RejectLog, only_there\nx = only_there()\n"
    found = trial.json(script=script, code=1)
    assert found["lacking"] == ["autoreject.only_there"]
    assert found["ours"]["error_class"] == "LackingNameError"
    assert "docs/migrate/autoreject.md" in found["ours"]["error"]
    assert 'work/script.py", line 1' in found["ours"]["error"]
    assert str(trial.scratch) not in found["ours"]["error"]
    _, printed = trial.run(script=script)
    assert "calls that Tessera lacks:\n  autoreject.only_there\n" in printed
    assert printed.endswith("the script fails with ours: LackingNameError\n")


def test_what_the_script_needs_itself_is_named(trial: Trial) -> None:
    found = trial.json(script="import autoreject\nimport no_such_package\n", code=65)
    assert found["lacking"] == []
    assert found["notes"][0].startswith("the script imports no_such_package, which is not")


def test_a_script_that_fails_by_itself(trial: Trial) -> None:
    found = trial.json(script="import autoreject\nx = 1\nraise OSError('mine')\n", code=65)
    assert found["verdict"] == "the script fails with both: OSError"


def test_an_original_that_fails(trial: Trial) -> None:
    trial.write_fake("raise RuntimeError('no GPU')\n")
    found = trial.json(script="import autoreject\nx = 1\n", code=2)
    assert "the original fails" in found["verdict"]


def test_without_the_original(trial: Trial) -> None:
    (trial.fake / "autoreject/__init__.py").unlink()
    (trial.fake / "autoreject").rmdir()
    script = "import homodyne\nx = 1\n"
    found = trial.json(script=script)
    assert found["absent"] == ["homodyne"]
    assert found["original"] is None
    assert f"not installed in {trial.python}" in found["notes"][0]
    found = trial.json("--only", "ours", script=script)
    assert found["absent"] == []
    assert trial.run("--only", "original", script=script)[0] == 69


def test_a_folder_of_ones_own_is_no_original(trial: Trial) -> None:
    script = "from ops import fused_gelu_sgp_norm_3d\nname = fused_gelu_sgp_norm_3d.__name__\n"
    (trial.fake / "ops").mkdir()
    (trial.fake / "ops/__init__.py").write_text("mine = 1\n")
    assert trial.json(script=script)["absent"] == ["flash_clifford"]
    (trial.fake / "ops/p3m0.py").touch()
    (trial.fake / "ops/__init__.py").write_text("def fused_gelu_sgp_norm_3d(): pass\n")
    assert verdicts(trial.json(script=script)) == {"name": "equal"}


def test_an_original_that_varies(trial: Trial) -> None:
    # Every other time it is on the other side of the truth.
    flip = (
        "from pathlib import Path\nflag = Path(__file__).with_name('flag')\n"
        "SHIFT = -0.01 if flag.exists() else 0.01\nflag.touch()\n"
    )
    trial.write_fake(_FAKE.replace("SHIFT = 0.0", flip))
    assert trial.run()[0] == 1
    (trial.fake / "autoreject/flag").unlink()
    found = trial.json("--twice")
    row = next(row for row in found["results"] if row["name"] == "values")
    assert row["verdict"] == "differs"
    assert row["own"] == pytest.approx(2 * row["relative"], rel=0.02)


def test_inputs_are_found_and_never_overwritten(trial: Trial, tmp_path: Path) -> None:
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside/x.txt").write_text("5\n")
    big = trial.work / "big.bin"
    with big.open("wb") as file:
        file.truncate(20 << 20)  # more than is copied
    (trial.work / "sub").mkdir()
    (trial.work / "sub/old.txt").write_text("old")
    script = """
from pathlib import Path
import autoreject
beside = float(Path("../beside/x.txt").read_text())
size = Path("big.bin").stat().st_size
own = (Path(__file__).parent / "input.txt").read_text()
for name in ("input.txt", "sub/old.txt", "big.bin"):
    with open(name, "a") as file:
        file.write("new")
(Path(__file__).parent / "there.txt").write_text("new")
"""
    found = trial.json(script=script)
    assert verdicts(found)["beside"] == "equal"
    assert found["ours"]["written"] == ["big.bin", "input.txt", "sub/old.txt", "there.txt"]
    assert found["notes"] == []
    assert big.stat().st_size == 20 << 20
    assert (trial.work / "input.txt").read_text() == "1 2 3\n"
    assert (trial.work / "sub/old.txt").read_text() == "old"
    assert not (trial.work / "there.txt").exists()


def test_files_that_go_while_the_folder_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.txt", "gone.txt", "z.txt"):
        (tmp_path / "work" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "work" / name).write_text(name)
    copy = shutil.copy2

    def copy_late(source: Path, target: Path) -> Any:
        if source.name == "gone.txt":
            source.unlink()
        return copy(source, target)

    monkeypatch.setattr(shutil, "copy2", copy_late)
    found = _folder.make_folder(tmp_path / "copy", tmp_path / "work")
    assert sorted(each.name for each in found.work.iterdir()) == ["a.txt", "z.txt"]


def test_a_notebook(trial: Trial) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# words"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import autoreject\n", "x = 4"]},
        {"cell_type": "code", "source": "%%bash\nexit 3"},
        {"cell_type": "code", "source": "y = x + 1\ndisplay(y)"},
    ]
    (trial.work / "book.ipynb").write_text(json.dumps({"cells": cells}))
    assert verdicts(trial.json(name="book.ipynb")) == {"x": "equal", "y": "equal"}
    timed = "%%time\nz = 6\nz?\nget_ipython().run_line_magic('matplotlib', 'inline')"
    cells.append({"cell_type": "code", "source": timed})
    (trial.work / "book.ipynb").write_text(json.dumps({"cells": cells}))
    assert verdicts(trial.json(name="book.ipynb"))["z"] == "equal"
    cells.append({"cell_type": "code", "source": "names = !ls"})
    (trial.work / "book.ipynb").write_text(json.dumps({"cells": cells}))
    code, page = trial.run(name="book.ipynb")
    assert code == 65
    assert "of the shell are not run: !ls" in page


def test_a_module_of_a_package(trial: Trial) -> None:
    inner = trial.work / "outer/inner"
    inner.mkdir(parents=True)
    for folder in (inner, inner.parent):
        (folder / "__init__.py").touch()
    (inner / "near.py").write_text("import autoreject\nVALUE = 3\n")
    (inner / "run.py").write_text("from .near import VALUE\nfrom autoreject import RejectLog\n")
    assert verdicts(trial.json(name="outer/inner/run.py")) == {"VALUE": "equal"}


def test_windows_are_not_opened(trial: Trial) -> None:
    pytest.importorskip("matplotlib")
    script = """
import matplotlib as mpl
mpl.use("TkAgg")
import matplotlib.pyplot as plt
import autoreject
plt.switch_backend("TkAgg")
line, = plt.plot([1.0, 2.0])
plt.show(block=True)
found = line.get_ydata()
del line
"""
    assert verdicts(trial.json(script=script)) == {"found": "equal"}


def test_processes_that_a_script_starts(trial: Trial) -> None:
    script = """
import multiprocessing
import autoreject

def who(number):
    import autoreject
    return number + ("tessera" in repr(autoreject.RejectLog))

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.map(who, [0, 10])
"""
    found = trial.json("--only", "ours", script=script + "    assert found == [1, 11]\n")
    assert found["verdict"] == "runs with ours"
    # Of a notebook there is no file that the processes could run, and they say nothing of ours.
    source = """
import os, subprocess, sys, tempfile
import multiprocessing
import autoreject
with multiprocessing.get_context("spawn").Pool(1) as pool:
    found = pool.map(abs, [-1, 2])
started = subprocess.run([sys.executable, "-c", "print(6)"], capture_output=True, text=True)
assert found == [1, 2] and "__file__" not in globals()
assert (started.stdout, started.stderr) == ("6\\n", ""), started.stderr
"""
    cells = [{"cell_type": "code", "source": source}]
    (trial.work / "book.ipynb").write_text(json.dumps({"cells": cells}))
    assert trial.json("--only", "ours", name="book.ipynb")["verdict"] == "runs with ours"


def test_html(trial: Trial) -> None:
    script = "import autoreject\nx = '<b>'\nraise ValueError(x)\n"
    code, printed = trial.run("--html", script=script)
    assert code == 65
    assert printed.startswith("<!doctype html>")
    assert "ValueError: &lt;b&gt;" in printed
    assert "<b>" not in printed


def test_time_limit(trial: Trial) -> None:
    script = "import autoreject, time\ntime.sleep(60)\n"
    found = trial.json("--time-limit", "1.5", script=script, code=75)
    assert found["verdict"] == "time limit reached"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopping_leaves_nothing(trial: Trial, number: signal.Signals) -> None:
    script = "import autoreject, time\nopen('started', 'w').close()\ntime.sleep(60)\n"
    process = subprocess.Popen(
        [*trial.words(script=script), "script.py"],
        cwd=trial.work, env=trial.environment(), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 30
    while not list(trial.scratch.rglob("started")) and time.monotonic() < deadline:
        time.sleep(0.05)
    children = subprocess.run(
        ["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False
    ).stdout.split()
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 128 + number, said
    assert "Traceback" not in said
    assert list(trial.scratch.iterdir()) == []
    assert not [child for child in children if os.path.exists(f"/proc/{child}")]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["nowhere.py"], 66, "nowhere.py: there is no such script"),
        (["--tolerance", "much", "script.py"], 2, "'much' is no number from 0 on"),
        (["--original-python", "/no/python", "script.py"], 69, "there is no such program"),
        (["broken.py"], 65, "broken.py: invalid syntax"),
        (["plain.py"], 2, "plain.py imports none of the originals"),
    ],
)
def test_mistakes(
    trial: Trial,
    words: list[str],
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (trial.work / "broken.py").write_text("x = = 1\n")
    (trial.work / "plain.py").write_text("x = 1\n")
    (trial.work / "script.py").write_text("import autoreject\n")
    monkeypatch.setattr(sys, "argv", ["tessera try", *words])
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code
    told = capsys.readouterr().err
    assert told.startswith("tessera: ")
    assert said in told
    assert len(told.splitlines()) == 1


_NEEDS = {
    "autoreject": ["mne", "sklearn"],
    "clifford": ["torch"],
    "decode": ["xarray"],
    "xpcs": [],
}


@pytest.mark.parametrize("system", _NEEDS)
def test_scripts_of_the_originals_run(system: str, trial: Trial) -> None:
    for package in _NEEDS[system]:
        pytest.importorskip(package)
    scripts = sorted(_SCRIPTS.glob(f"{system}_*.py"))
    assert len(scripts) == 3
    with install():
        for script in scripts:
            assert _uses.lacking(script.read_text(encoding="utf-8"), []) == [], script.name
    # All in one interpreter: starting one and importing torch or MNE takes longer than they do.
    lines = [f"runpy.run_path({str(script)!r}, run_name='__main__')" for script in scripts]
    root = next(iter(ORIGINALS[_ORIGINAL_OF[system]].roots))
    together = "\n".join(["import runpy", f"import {root}", *lines, ""])
    found = trial.json("--only", "ours", script=together)
    assert found["verdict"] == "runs with ours"


def test_values_of_other_packages(tmp_path: Path) -> None:
    from tessera.compat._child.collect import Collector

    collector = Collector(tmp_path, ("tessera",), "/nowhere")
    collector.add("ids", {1: np.arange(3), "t": (1.0, 2)})
    collector.add("table", np.zeros(2, dtype=[("a", "f8"), ("b", "i4")]))
    collector.add("texts", np.array(["x", "yy"]))
    collector.add("when", np.array(["2020-01-01"], dtype="M8[D]"))
    collector.add("mixed", np.array([None, 3.0], dtype=object))
    loop: list[Any] = [1.0, "a"]
    loop.append(loop)
    collector.add("loop", loop)
    collector.add("skipped", [np.random.default_rng(1), len])
    collector.add("fit", {"execution_time": 3.0, "D0": 2.0})
    names = {row["name"]: row["kind"] for row in collector.rows}
    assert names == {
        "ids[1]": "array", "ids['t']": "array", "table['a']": "array", "table['b']": "array",
        "texts": "texts", "when": "texts", "mixed[0]": "text", "mixed[1]": "array",
        "len(loop)": "text", "loop[0]": "array", "loop[1]": "text", "len(skipped)": "text",
        "fit['execution_time']": "clock", "fit['D0']": "array",
    }  # fmt: skip
    pandas = pytest.importorskip("pandas")
    xarray = pytest.importorskip("xarray")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    collector = Collector(tmp_path, ("tessera",), "/nowhere")
    collector.add("frame", frame)
    collector.add("data", xarray.Dataset({"p": ("t", [1.0, 2.0])}, {"t": [0, 1]}, {"n": 3}))
    names = {row["name"]: row["kind"] for row in collector.rows}
    assert names["frame['a']"] == names["data.p"] == names["data.attrs['n']"] == "array"
    assert names["data.t"] == names["frame.index"] == "array"
