"""``import homodyne`` that finds ours: modules under the originals' names.

An alias is a module of its own that hands out what is in ours, so that a name which is not here can
be reported by the name that the script has for it. What is set on an alias is set on ours.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType, TracebackType
from typing import Any

from tessera.compat._originals import ORIGINALS, Original, is_the_originals, original_named

# Names of the originals that were asked for and are not here, in the order of the questions.
lacked: dict[str, None] = {}
# Originals that were imported under their own names.
used: dict[str, None] = {}

_OURS = "_tessera_module"
_ORIGINAL = "_tessera_original"
_PATCHED = "_tessera_patched"


class LackingNameError(ModuleNotFoundError):
    """A name of an original that Tessera does not have."""

    __module__ = "tessera.compat"


def _sentence(fullname: str, ours: str, original: Original) -> str:
    from tessera import __version__

    parent, _, name = ours.rpartition(".")
    # What a script writes; "tessera.compat.homodyne.x" is called "homodyne.x".
    shown = fullname.removeprefix("tessera.compat.")
    near: list[str] = []
    if parent in sys.modules:
        near = difflib.get_close_matches(name, dir(sys.modules[parent]), n=1, cutoff=0.75)
    hint = f" Did you mean {near[0]}?" if near else ""
    return (
        f"{shown} is not in Tessera {__version__}, where it would be {ours}.{hint} The table of "
        f"names in the manual says what there is instead: '{original.page}', {original.manual}."
    )


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


class AliasModule(ModuleType):
    """One of our modules under the name that an original has for it."""

    def __init__(self, name: str, ours: ModuleType, original: Original) -> None:
        super().__init__(name, ours.__doc__)
        self.__dict__[_OURS] = ours
        self.__dict__[_ORIGINAL] = original
        self.__dict__[_PATCHED] = {}
        self.__dict__["__path__"] = []  # ours would be searched, and its files loaded twice

    def __getattr__(self, name: str) -> Any:
        ours: ModuleType = self.__dict__[_OURS]
        try:
            value = getattr(ours, name)
        except AttributeError:
            if _is_dunder(name):
                raise
            return self._submodule(name)
        if isinstance(value, ModuleType) and value.__name__ == f"{ours.__name__}.{name}":
            return importlib.import_module(f"{self.__name__}.{name}")
        return value

    def _submodule(self, name: str) -> Any:
        fullname = f"{self.__name__}.{name}"
        try:
            return importlib.import_module(fullname)
        except LackingNameError as error:
            for module in self._neighbours():
                if name in getattr(module, "__all__", ()):
                    lacked.pop(fullname, None)
                    return getattr(module, name)
            raise AttributeError(str(error), name=name, obj=self) from None

    def _neighbours(self) -> Iterator[ModuleType]:
        """Yield the whole package and ``common`` beside: what the originals' modules import.

        A script finds ``Environment`` in every module of the original that imports it.
        """
        ours: ModuleType = self.__dict__[_OURS]
        original: Original = self.__dict__[_ORIGINAL]
        roots = [root for root in original.roots.values() if ours.__name__.startswith(f"{root}.")]
        for name in (*roots, f"{ours.__name__.rpartition('.')[0]}.common"):
            if name != ours.__name__ and _exists(name):
                yield importlib.import_module(name)

    def __setattr__(self, name: str, value: Any) -> None:
        # The import system binds submodules and dunders; everything else is a patch of ours.
        if _is_dunder(name) or isinstance(value, AliasModule):
            self.__dict__[name] = value
            return
        ours: ModuleType = self.__dict__[_OURS]
        if name in ours.__dict__:
            self.__dict__[_PATCHED].setdefault(name, ours.__dict__[name])
        setattr(ours, name, value)

    def __delattr__(self, name: str) -> None:
        # Who patched what was not in this module's own dictionary takes the patch away again.
        patched: dict[str, Any] = self.__dict__[_PATCHED]
        if name in self.__dict__:
            del self.__dict__[name]
        elif name in patched:
            setattr(self.__dict__[_OURS], name, patched.pop(name))
        else:
            delattr(self.__dict__[_OURS], name)

    def __dir__(self) -> list[str]:
        return dir(self.__dict__[_OURS])

    def __repr__(self) -> str:
        return f"<module {self.__name__!r}, which is {self.__dict__[_OURS].__name__}>"


class _Loader(importlib.abc.Loader):
    """Makes the alias of one module of ours."""

    def __init__(self, ours: str, original: Original) -> None:
        self._ours = ours
        self._original = original

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return AliasModule(spec.name, importlib.import_module(self._ours), self._original)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: ours has been imported under its own name."""


def _exists(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError as error:
        # A parent that is no package; what one of ours needs and is absent is said.
        if error.name is not None and not error.name.startswith("tessera"):
            raise
        return False


class _Finder(importlib.abc.MetaPathFinder):
    """Finds aliases of some originals, below a prefix."""

    def __init__(self, originals: Sequence[Original], prefix: str = "") -> None:
        self.originals = originals
        self._prefix = prefix

    @property
    def is_bare(self) -> bool:
        """Whether the originals' own names are redirected."""
        return not self._prefix

    def _resolve(self, fullname: str) -> tuple[Original, str, str] | None:
        """Return whose name this is, its root, and what it is called here."""
        if not fullname.startswith(self._prefix):
            return None
        root, dot, rest = fullname[len(self._prefix) :].partition(".")
        for original in self.originals:
            if root in original.roots:
                return original, root, original.roots[root] + dot + rest
        return None

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the alias, None for names of others; raise where we lack the original's name."""
        found = self._resolve(fullname)
        if found is None:
            return None
        original, root, ours = found
        if self.is_bare and not is_the_originals(original, root):
            return None
        used.setdefault(original.name)
        if not _exists(ours):
            lacked.setdefault(fullname)
            # Without a name: with its own, "from package import it" would say something else.
            raise LackingNameError(_sentence(fullname, ours, original))
        # All of them are packages: then the import system asks here for names that are missing.
        return importlib.machinery.ModuleSpec(fullname, _Loader(ours, original), is_package=True)


def _forget(originals: Sequence[Original]) -> dict[str, ModuleType]:
    """Take the originals out of the loaded modules and return what was there."""
    roots = {
        root
        for original in originals
        for root in original.roots
        if is_the_originals(original, root)
    }
    names = [name for name in sys.modules if name.partition(".")[0] in roots]
    return {name: sys.modules.pop(name) for name in names}


class Installed:
    """What :func:`install` returns: ``with`` takes the names back at its end."""

    def __init__(self, originals: Sequence[Original]) -> None:
        self._finder = _Finder(originals)
        self._before = _forget(originals) if originals else {}
        if originals:
            sys.meta_path.insert(0, self._finder)

    def __enter__(self) -> Installed:
        """Return itself: the names were redirected when it was made."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let the names mean again what they meant."""
        self.remove()

    def remove(self) -> None:
        """Let the names mean again what they meant; a second call does nothing."""
        if self._finder not in sys.meta_path:
            return
        sys.meta_path.remove(self._finder)
        _forget(self._finder.originals)
        sys.modules.update(self._before)


def install(*names: str) -> Installed:
    """Let ``import homodyne`` and the like find Tessera.

    It holds from the call on, for the whole process, or inside a ``with`` block. Code that was
    imported meanwhile keeps what it imported.

    Parameters
    ----------
    *names : str
        Of ``non_local_detector``, ``homodyne``, ``autoreject`` and ``flash_clifford``; none: all.
        The last one redirects ``ops``, ``modules`` and ``tests`` too, unless these are folders of
        your own.

    Returns
    -------
    Installed
        For ``with``, or to call its ``remove()``.

    Examples
    --------
    >>> import tessera.compat
    >>> with tessera.compat.install("homodyne"):
    ...     from homodyne.config import ConfigManager
    >>> ConfigManager.__module__.startswith("tessera.xpcs")
    True
    """
    originals = [original_named(name) for name in names] or list(ORIGINALS.values())
    active = [o for f in sys.meta_path if isinstance(f, _Finder) for o in f.originals if f.is_bare]
    return Installed([original for original in originals if original not in active])


def install_aliases() -> None:
    """Let ``import tessera.compat.homodyne`` work."""
    if not any(isinstance(finder, _Finder) and not finder.is_bare for finder in sys.meta_path):
        # Before the search of folders, which would take those of the stubs for packages.
        sys.meta_path.insert(0, _Finder(list(ORIGINALS.values()), "tessera.compat."))
