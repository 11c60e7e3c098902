"""Operations without Python between torch and the library: a node of autograd in C++.

The node (``node.cpp``, beside this file) has to fit the torch that is installed, so it is compiled
on the machine where it runs, once, into a folder of the user: about half a minute, at the first
operation on a tensor of a GPU, or when :func:`build` is called. Where there is no compiler, where
compiling fails, and with ``TESSERA_NATIVE=0``, operations go through Python, with the same results.

Tensors of a CPU use a node that is there already; ``TESSERA_NATIVE=1`` has it compiled for them as
well. The folder is ``$TESSERA_NATIVE_CACHE``, else ``$XDG_CACHE_HOME/tessera``, else
``~/.cache/tessera``.
"""

from __future__ import annotations

import logging
import os
from typing import Any

from tessera.clifford.native import _compile

__all__ = ["build", "is_active"]

_log = logging.getLogger("tessera")


class _State:
    """What was found: the compiled module, or that there is none."""

    module: Any = None
    is_settled = False  # nothing more is tried
    is_absent = False  # no file was found, and none was to be compiled


def _adopt(path: str) -> None:
    from tessera.clifford import _torch_native

    _State.module = _torch_native.load(path)


def find(may_compile: bool) -> Any:
    """Return the compiled module, or None; operations ask at every call."""
    if _State.is_settled or (_State.is_absent and not may_compile):
        return _State.module
    wanted = os.environ.get("TESSERA_NATIVE", "auto")
    if wanted == "0":
        _State.is_settled = True
        return None
    try:
        path = _compile.target()
        if not path.exists():
            if not may_compile and wanted != "1":
                _State.is_absent = True
                return None
            _State.is_settled = True  # whatever comes of it
            _compile.compile_to(path)
        _State.is_settled = True
        _adopt(str(path))
    except (OSError, RuntimeError, ImportError) as error:
        _log.warning("clifford: no native node for torch, calls go through Python: %s", error)
    return _State.module


def build() -> str:
    """Compile the node now, or find it compiled, and use it from here on.

    Returns
    -------
    str
        The file.

    Raises
    ------
    RuntimeError
        Where it cannot be compiled; says what the compiler said.
    """
    path = _compile.target()
    if not path.exists():
        _compile.compile_to(path)
    if _State.module is None:
        _adopt(str(path))
        _State.is_settled = True
    return str(path)


def is_active() -> bool:
    """Say whether operations on tensors use the node.

    Returns
    -------
    bool
        False before the first one that compiles or finds it.
    """
    return _State.module is not None
