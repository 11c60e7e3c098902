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

from tessera.clifford.native import _compile
from tessera.clifford.native._find import State, adopt

__all__ = ["build", "is_active"]


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
    if State.module is None:
        adopt(str(path))
        State.is_settled = True
    return str(path)


def is_active() -> bool:
    """Say whether operations on tensors use the node.

    Returns
    -------
    bool
        False before the first one that compiles or finds it.
    """
    return State.module is not None
