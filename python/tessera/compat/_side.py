"""Starts an interpreter for one side of a comparison, and takes its answer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tessera
from tessera.compat._folder import Folder, make_folder
from tessera.compat._originals import ORIGINALS

# The files of `_child` under a name of their own: the interpreter may have no Tessera.
_START = """
import importlib.util, os, sys
folder = sys.argv.pop(1)
spec = importlib.util.spec_from_file_location(
    "_tessera_child", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
package = importlib.util.module_from_spec(spec)
sys.modules["_tessera_child"] = package
spec.loader.exec_module(package)
importlib.import_module("_tessera_child.run").main()
"""


@dataclass
class Job:
    """What is asked of a side."""

    script: Path
    arguments: list[str]
    python: str
    seed: int
    time_limit: float | None


@dataclass
class Answer:
    """What a side did."""

    label: str
    facts: dict[str, Any]
    folder: Folder
    values_folder: Path
    printed: str = ""
    complaints: str = ""
    is_late: bool = False
    written: list[str] = field(default_factory=list)

    @property
    def ran(self) -> bool:
        """Whether the script was run, to whatever end."""
        return "seconds" in self.facts

    @property
    def failed(self) -> bool:
        """Whether it ended by an exception, a signal or a time limit."""
        return self.is_late or "error" in self.facts or not self.ran

    def shown(self, text: str) -> str:
        """Return text with the user's paths in place of the copy's."""
        return text.replace(str(self.folder.work), str(Path.cwd()))


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a side with everything that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(2)
            break
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def _script_inside(script: Path, folder: Folder) -> Path:
    """Return the script in the copy, so that what it writes beside itself lands there too."""
    script = script.resolve()
    here = Path.cwd().resolve()
    if script.is_relative_to(here):
        inside = folder.work / script.relative_to(here)
        if inside.is_file():
            return inside
    return script


def _environment(work: Path) -> dict[str, str]:
    environment = dict(os.environ)
    environment.update(MPLBACKEND="Agg", PYTHONHASHSEED="0", PWD=str(work))
    environment.setdefault("TESSERA_PROGRESS", "none")
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    return environment


def run_side(label: str, job: Job, wanted: list[str], place: Path) -> Answer:
    """Run the script on one side: 'ours', or anything else for the original."""
    place.mkdir()
    values = place / "values"
    values.mkdir()
    folder = make_folder(place / "folder", Path.cwd())
    package = Path(tessera.__file__).parent
    task = {
        "side": "ours" if label == "ours" else "original",
        "script": str(_script_inside(job.script, folder)),
        "shown": str(job.script),
        "arguments": job.arguments,
        "seed": job.seed,
        "folder": str(values),
        "root": str(folder.work),
        "tessera": str(package.parent),
        "originals": list(ORIGINALS),
        "wanted": {name: list(ORIGINALS[name].roots) for name in wanted},
        "marks": {root: list(m) for o in ORIGINALS.values() for root, m in o.marks.items()},
        "owners": ["tessera", *(root for o in ORIGINALS.values() for root in o.roots)],
    }
    task_file = place / "job.json"
    task_file.write_text(json.dumps(task), encoding="utf-8")
    words = [job.python, "-c", _START, str(package / "compat" / "_child"), str(task_file)]
    answer = Answer(label, {}, folder, values)
    with (place / "stdout").open("wb") as out, (place / "stderr").open("wb") as err:
        process = subprocess.Popen(
            words,
            cwd=folder.work,
            env=_environment(folder.work),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        try:
            process.wait(job.time_limit)
        except subprocess.TimeoutExpired:
            answer.is_late = True
        finally:
            _stop(process)
    answer.printed = (place / "stdout").read_text(encoding="utf-8", errors="replace")
    answer.complaints = (place / "stderr").read_text(encoding="utf-8", errors="replace")
    file = values / "answer.json"
    if file.is_file():
        answer.facts = json.loads(file.read_text(encoding="utf-8"))
    answer.facts.setdefault("status", process.returncode)
    answer.written = folder.written()
    return answer


def default_python() -> str:
    """Return the interpreter that runs this."""
    return sys.executable
