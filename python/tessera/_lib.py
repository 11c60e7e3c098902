"""Calls into the library: contexts, defaults and warnings."""

from __future__ import annotations

import functools
import sys
import warnings
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

from tessera import _core
from tessera._session import Lease
from tessera._tables import tables

# Lines of the package, and of what it calls itself through: cached properties.
_OURS = (str(Path(__file__).parent), functools.__file__)


def default(table: str, name: str) -> Any:
    """Return the default of an option; tables of the library are the only place they stand."""
    return defaults(table)[name]


@cache
def defaults(table: str) -> dict[str, Any]:
    """Return the defaults of all options of a table."""
    return {param["name"]: param["default"] for param in tables()[table]}


def _user_level() -> int:
    """Return the stack level, seen from the caller, of the line that called the package."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
        level += 1
    return level


def warn(message: str) -> None:
    """Warn at the line of the user's that called the package."""
    warnings.warn(message, UserWarning, stacklevel=_user_level())


class Session(Lease):
    """A lease whose warnings become Python's."""

    __slots__ = ()

    def __enter__(self) -> _core.Context:
        """Take a context."""
        context = super().__enter__()
        if self._log is not None:
            self._log.warnings = []
        return context

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the context back, then warn."""
        lines: list[str] = []
        if self._log is not None:
            lines = self._log.warnings or []
            self._log.warnings = None
        super().__exit__(kind, error, trace)
        if kind is None:
            for line in dict.fromkeys(lines):
                warn(line)
