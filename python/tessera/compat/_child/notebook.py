"""The code cells of a notebook as one script: what only IPython understands is left out.

Lines stay where they are, so that a traceback points at the right one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

NOT_RUN = "__tessera_not_run__"

# Cells whose first line says how to run the Python below it; others hold another language.
_ROUND_PYTHON = ("%%capture", "%%prun", "%%time", "%%timeit")
_ASSIGNED = re.compile(r"^(\s*[\w.,\s\[\]'\"]+=\s*)([%!].*)$")
_HELP = re.compile(r"^\s*(\?{1,2}[\w.]+|[\w.]+\?{1,2})\s*$")


def read_notebook(path: Path) -> str:
    """Return the text of the code cells."""
    lines: list[str] = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            source = cell["source"]
            lines += _cell_lines(source if isinstance(source, str) else "".join(source))
    return "\n".join(lines) + "\n"


def _cell_lines(source: str) -> Iterator[str]:
    first = source.lstrip().partition("\n")[0]
    if first.startswith("%%") and first.split()[0] not in _ROUND_PYTHON:
        return
    yield from map(_plain_line, source.splitlines())


def _plain_line(line: str) -> str:
    bare = line.lstrip()
    indent = line[: len(line) - len(bare)]
    if bare.startswith(("%", "!")) or _HELP.match(line):
        return f"{indent}pass  # {bare}"  # a block that holds nothing else stays a block
    assigned = _ASSIGNED.match(line)
    if assigned:
        return f"{assigned[1]}{NOT_RUN}({assigned[2]!r})"
    return line


def not_run(command: str) -> NoReturn:
    """Refuse what a cell wants from IPython or the shell: there is no answer to give it."""
    raise RuntimeError(f"commands of IPython and of the shell are not run: {command}")


class Shell:
    """What ``get_ipython()`` gives: settings of a notebook are taken and do nothing."""

    def run_line_magic(self, *words: Any) -> None:
        """Leave a command of IPython out."""

    def run_cell_magic(self, *words: Any) -> None:
        """Leave a cell of another language out."""

    def system(self, command: str) -> NoReturn:
        """Refuse a command of the shell."""
        not_run(command)


def names() -> dict[str, Any]:
    """Return what a notebook finds without importing it."""
    return {"display": print, "get_ipython": Shell, NOT_RUN: not_run}
