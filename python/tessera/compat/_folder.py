"""A working folder of its own for each side.

It looks like the one that the script was started in: folders are made again, small files are
copied, large ones linked, and ``../data`` leads to the real one. What a side writes stays apart
from the other side's, and away from the user's files.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_COPIED_BYTES = 16 << 20
_MOST_COPIED = 512 << 20
_MOST_ENTRIES = 20_000
_MOST_SIBLINGS = 2_000
_LEVELS_UP = 3
_LEFT_OUT = {"__pycache__", "node_modules", "venv"}

Stamp = tuple[int, int]


def _stamp(path: Path) -> Stamp:
    facts = path.stat()
    return facts.st_size, facts.st_mtime_ns


@dataclass
class Folder:
    """The copy: its place, and what was in it before the script ran."""

    root: Path
    work: Path
    before: dict[str, Stamp] = field(default_factory=dict)
    linked: dict[str, tuple[Path, Stamp]] = field(default_factory=dict)
    n_entry: int = 0
    n_copied_bytes: int = 0

    def written(self) -> list[str]:
        """Return the files that are new or changed."""
        found = []
        for folder, folders, files in os.walk(self.work):
            folders[:] = [name for name in folders if name not in _LEFT_OUT]
            for name in files:
                path = Path(folder) / name
                relative = str(path.relative_to(self.work))
                if path.is_symlink() or not path.is_file():
                    continue
                if self.before.get(relative) != _stamp(path):
                    found.append(relative)
        return sorted(found)

    def overwritten(self) -> list[str]:
        """Return the user's files that a script changed through a link."""
        return sorted(
            name
            for name, (path, stamp) in self.linked.items()
            if not path.is_file() or _stamp(path) != stamp
        )


def _mirror(folder: Folder, source: Path, target: Path) -> None:
    for entry in sorted(os.scandir(source), key=lambda e: (e.is_dir(), e.name)):
        here = target / entry.name
        there = Path(entry.path)
        if folder.root.is_relative_to(there):
            continue  # the copies themselves, where TMPDIR is inside
        folder.n_entry += 1
        is_hidden = entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
        if entry.name in _LEFT_OUT or is_hidden:
            here.symlink_to(there)
        elif entry.is_dir(follow_symlinks=False) and folder.n_entry < _MOST_ENTRIES:
            here.mkdir()
            if os.access(there, os.R_OK | os.X_OK):
                with suppress(FileNotFoundError):  # others work here, too: gone by now
                    _mirror(folder, there, here)
        elif entry.is_file() and folder.n_entry < _MOST_ENTRIES:
            with suppress(FileNotFoundError):
                _bring_file(folder, there, here)
        else:
            here.symlink_to(there)


def _bring_file(folder: Folder, there: Path, here: Path) -> None:
    name = str(here.relative_to(folder.work))
    stamp = _stamp(there)
    fits = folder.n_copied_bytes + stamp[0] <= _MOST_COPIED
    if stamp[0] > _COPIED_BYTES or not fits or not os.access(there, os.R_OK):
        here.symlink_to(there)
        folder.linked[name] = (there, stamp)
        return
    shutil.copy2(there, here)
    folder.n_copied_bytes += stamp[0]
    folder.before[name] = _stamp(here)


def _link_siblings(source: Path, target: Path) -> None:
    """Let ``../x`` find the real x."""
    try:
        names = sorted(os.listdir(source.parent))
    except OSError:
        return
    for name in names[:_MOST_SIBLINGS]:
        if name != source.name:
            (target.parent / name).symlink_to(source.parent / name)


def make_folder(root: Path, source: Path) -> Folder:
    """Return a copy of the folder `source` below `root`, which does not exist yet."""
    source = source.resolve()
    levels = min(_LEVELS_UP, len(source.parts) - 1)
    inner = Path(*source.parts[len(source.parts) - levels :]) if levels else Path("work")
    work = root / inner
    work.mkdir(parents=True)
    real, copy = source, work
    for _ in range(levels):
        _link_siblings(real, copy)
        real, copy = real.parent, copy.parent
    folder = Folder(root, work)
    _mirror(folder, source, work)
    return folder
