"""``import autoreject`` that finds this package, for pipelines which import the original."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType

_ORIGINAL = "autoreject"
_OWN = "tessera.autoreject"


class _Loader(importlib.abc.Loader):
    """Hands out the module of ours that an original's name stands for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return importlib.import_module(self._name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module has been imported under its own name."""
        module.__spec__ = importlib.util.find_spec(module.__name__)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _ORIGINAL and not fullname.startswith(_ORIGINAL + "."):
            return None
        name = _OWN + fullname[len(_ORIGINAL) :]
        if importlib.util.find_spec(name) is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, _Loader(name))


_finder = _Finder()


def _forget() -> dict[str, ModuleType]:
    """Take the original's name out of the loaded modules and return what it stood for."""
    names = [n for n in sys.modules if n == _ORIGINAL or n.startswith(_ORIGINAL + ".")]
    return {name: sys.modules.pop(name) for name in names}


def install() -> None:
    """Let ``import autoreject`` find this package from now on."""
    if _finder not in sys.meta_path:
        _forget()
        sys.meta_path.insert(0, _finder)


@contextmanager
def compat() -> Iterator[None]:
    """Let ``import autoreject`` find this package inside a ``with`` block.

    Code that is imported inside the block keeps what it imported. To do it for a whole program that
    is not yours, run ``python -m tessera.autoreject SCRIPT``, or import tessera.autoreject with
    TESSERA_AUTOREJECT_ALIAS=1 in the environment.

    Returns
    -------
    context manager
        For ``with``.

    Examples
    --------
    >>> from tessera.autoreject import compat
    >>> with compat():
    ...     from autoreject import AutoReject
    >>> AutoReject.__module__
    'tessera.autoreject.autoreject'
    """
    if _finder in sys.meta_path:
        yield
        return
    before = _forget()
    sys.meta_path.insert(0, _finder)
    try:
        yield
    finally:
        sys.meta_path.remove(_finder)
        _forget()
        sys.modules.update(before)
