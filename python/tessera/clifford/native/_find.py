"""Whether there is a compiled node: looked for once, where something asks for it."""

from __future__ import annotations

import logging
import os
from typing import Any

from tessera.clifford.native import _compile
from tessera.clifford.native._load import load

__all__ = ["State", "adopt", "find"]

_log = logging.getLogger("tessera")


class State:
    """What was found: the compiled module, or that there is none."""

    module: Any = None
    is_settled = False  # nothing more is tried
    is_absent = False  # no file was found, and none was to be compiled


def adopt(path: str) -> None:
    """Use a compiled node from here on."""
    State.module = load(path)


def find(may_compile: bool) -> Any:
    """Return the compiled module, or None; operations ask at every call."""
    if State.is_settled or (State.is_absent and not may_compile):
        return State.module
    wanted = os.environ.get("TESSERA_NATIVE", "auto")
    if wanted == "0":
        State.is_settled = True
        return None
    try:
        path = _compile.target()
        if not path.exists():
            if not may_compile and wanted != "1":
                State.is_absent = True
                return None
            State.is_settled = True  # whatever comes of it
            if _compile.has_failed(path):
                return None
            _compile.compile_to(path)
        State.is_settled = True
        adopt(str(path))
    except (OSError, RuntimeError, ImportError) as error:
        _log.warning("clifford: no native node for torch, calls go through Python: %s", error)
    return State.module
