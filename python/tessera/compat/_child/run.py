"""Runs the script of a job and writes what came out of it, for the parent to compare."""

from __future__ import annotations

import gc
import importlib.util
import itertools
import json
import linecache
import os
import random
import resource
import sys
import time
import traceback
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import notebook
from .guard import protect_links
from .script import (
    KEEP,
    clock_names,
    has_relative_import,
    keeper,
    package_of,
    prepared,
    read_source,
)

# Run by Python when it starts; the user's own file of that name, if there is one, comes first.
_SITE = """\
import importlib, sys
sys.path[:] = [folder for folder in sys.path if folder != {own!r}]
this = sys.modules.pop("sitecustomize")
try:
    importlib.import_module("sitecustomize")
except ImportError:
    sys.modules["sitecustomize"] = this
sys.path.append({tessera!r})
import tessera.compat
tessera.compat.install(*{originals!r})
"""


def peak_bytes() -> int:
    """Return the largest resident memory of this process so far."""
    try:
        # That of getrusage counts what the parent had when it made this process.
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _seed(seed: int) -> None:
    """Give generators that the script leaves unseeded the same start on both sides."""
    import numpy as np

    random.seed(seed)
    np.random.seed(seed)
    first = seed
    seeded = np.random.default_rng
    # One row of seeds for each file: what libraries draw does not move the script's.
    counters: dict[str, Iterator[int]] = {}

    def default_rng(seed: Any = None) -> np.random.Generator:
        if seed is None:
            file = sys._getframe(1).f_code.co_filename
            seed = next(counters.setdefault(file, itertools.count(first)))
        return seeded(seed)

    default_rng.__doc__ = seeded.__doc__
    np.random.default_rng = default_rng


def _redirect(job: dict[str, Any]) -> Any:
    """Let the originals' names find Tessera; returns our module of aliases."""
    sys.path.append(job["tessera"])
    from tessera.compat import _alias

    _alias.install(*job["originals"])
    _redirect_children(job)
    return _alias


def _redirect_children(job: dict[str, Any]) -> None:
    """Let interpreters that the script starts, such as joblib's, find Tessera as well."""
    folder = Path(job["folder"]) / "python"
    folder.mkdir()
    text = _SITE.format(own=str(folder), tessera=job["tessera"], originals=job["originals"])
    (folder / "sitecustomize.py").write_text(text, encoding="utf-8")
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), *([before] if before else [])])


def _missing_originals(job: dict[str, Any]) -> list[str]:
    missing = []
    for name, roots in job["wanted"].items():
        if not any(_is_there(root, job["marks"].get(root)) for root in roots):
            missing.append(name)
    return missing


def _is_there(root: str, marks: list[str] | None) -> bool:
    """Whether a package can be imported; one of an everyday name has a file of these, too."""
    try:
        spec = importlib.util.find_spec(root)
    except (ImportError, ValueError):
        return False
    if spec is None or marks is None:
        return spec is not None
    folders = spec.submodule_search_locations or []
    return any((Path(folder) / mark).is_file() for folder in folders for mark in marks)


def _versions(job: dict[str, Any]) -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in job["wanted"]:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            loaded = sys.modules.get(name)
            found[name] = str(getattr(loaded, "__version__", ""))
    return found


def _error_text(error: BaseException) -> str:
    """Return the traceback without the lines of this folder and the one above."""
    own = str(Path(__file__).parents[1])
    told = traceback.TracebackException.from_exception(error)
    each: traceback.TracebackException | None = told
    while each is not None:
        kept = [line for line in each.stack if not line.filename.startswith(own)]
        each.stack = traceback.StackSummary.from_list(kept)
        each = each.__cause__ or each.__context__
    return "".join(told.format())


def _execute(job: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    """Run the script; return how it ended. kept gets its names."""
    script = Path(job["script"])
    module = types.ModuleType("__main__")
    module.__dict__.update(__builtins__=__builtins__)
    functions: dict[str, dict[str, Any]] = {}
    module.__dict__[KEEP] = keeper(functions)
    source = read_source(script)
    if script.suffix != ".ipynb":
        module.__dict__["__file__"] = str(script)
    else:  # as in Jupyter there is no file, which processes that are started would run
        module.__dict__.update(notebook.names())
        # Lines of a traceback are those of the cells, not of the file.
        lines = source.splitlines(keepends=True)
        linecache.cache[str(script)] = (len(source), None, lines, str(script))
    sys.modules["__main__"] = module
    sys.argv = [job["shown"], *job["arguments"]]
    sys.path[0] = str(script.parent)
    if has_relative_import(source):  # as python -m package.script would run it
        module.__package__, top = package_of(script)
        sys.path[0] = str(top)
    facts: dict[str, Any] = {"exit_code": 0}
    begin = time.perf_counter()
    cpu = time.process_time()
    try:
        exec(prepared(source, str(script)), module.__dict__)
    except SystemExit as stop:
        code = stop.code
        facts["exit_code"] = code if isinstance(code, int) else int(code is not None)
        if code is not None and not isinstance(code, int):
            print(code, file=sys.stderr)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        facts |= {
            "exit_code": 1,
            "error": _error_text(error),
            "error_class": type(error).__name__,
            "error_message": str(error),
        }
        if isinstance(error, ModuleNotFoundError) and error.name:
            facts["absent_module"] = error.name
    facts["seconds"] = time.perf_counter() - begin
    facts["cpu_seconds"] = time.process_time() - cpu
    facts["peak_bytes"] = peak_bytes()
    for function, names in functions.items():
        kept |= {f"{function}().{name}": value for name, value in names.items()}
    kept |= {name: value for name, value in module.__dict__.items() if not name.startswith("_")}
    return facts


def _collect(job: dict[str, Any], kept: dict[str, Any], facts: dict[str, Any]) -> None:
    from .collect import Collector

    clocks = clock_names(read_source(Path(job["script"])))
    collector = Collector(Path(job["folder"]), tuple(job["owners"]), job["root"])
    for name, value in kept.items():
        if not name.rpartition(".")[2].startswith("_"):
            collector.add(name, value, is_clock=name.rpartition(".")[2] in clocks)
    facts["values"] = collector.rows
    facts["left_out"] = collector.left_out


def main() -> None:
    """Do the job of the file that the command line names."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    answer = Path(job["folder"]) / "answer.json"
    sys.path[0] = str(Path(job["script"]).parent)
    facts: dict[str, Any] = {"python": sys.executable}
    if job["side"] == "original":
        facts["missing"] = _missing_originals(job)
        if facts["missing"]:
            answer.write_text(json.dumps(facts), encoding="utf-8")
            return
    aliases = _redirect(job) if job["side"] == "ours" else None
    _seed(job["seed"])
    protect_links(job["root"])
    kept: dict[str, Any] = {}
    facts |= _execute(job, kept)
    sys.stdout.flush()
    sys.stderr.flush()
    if aliases is not None:
        from tessera.compat import _uses

        facts["used"] = list(aliases.used)
        facts["lacked"] = _uses.lacking(read_source(Path(job["script"])), list(aliases.lacked))
    else:
        facts["versions"] = _versions(job)
    gc.collect()
    _collect(job, kept, facts)
    answer.write_text(json.dumps(facts), encoding="utf-8")
