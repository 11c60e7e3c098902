"""Everything a user can name: what tests of types and of documentation walk over."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

SYSTEMS = ("autoreject", "clifford", "decode", "xpcs")


class Public(NamedTuple):
    """A public function, class, method or property."""

    name: str  # where it is defined: "xpcs._fit.fit", "xpcs._data.Data.save"
    kind: str  # function, class, method, property
    value: Any


def _modules(name: str) -> Iterator[ModuleType]:
    module = importlib.import_module(name)
    yield module
    for found in pkgutil.iter_modules(getattr(module, "__path__", ())):
        # Tessera does without JAX; its module there imports it.
        if found.name == "jax" and importlib.util.find_spec("jax") is None:
            continue
        if not found.name.startswith("_"):
            yield from _modules(f"{name}.{found.name}")


def _members(cls: type) -> Iterator[tuple[str, str, Any]]:
    """Yield what a class of ours has, and its bases of ours: name, kind, what is documented."""
    for base in cls.__mro__:
        if not base.__module__.startswith("tessera."):
            continue
        for name, value in vars(base).items():
            if name.startswith("_"):
                continue
            where = f"{base.__module__}.{base.__qualname__}.{name}"
            if isinstance(value, property):
                yield where, "property", value.fget
            elif isinstance(value, functools.cached_property):
                yield where, "property", value.func
            elif isinstance(value, classmethod | staticmethod):
                yield where, "method", value.__func__
            elif inspect.isfunction(value):
                yield where, "method", value


@functools.cache
def public_names() -> tuple[Public, ...]:
    """Return every public thing once, under the name of its definition."""
    found: dict[int, Public] = {}

    def add(name: str, kind: str, value: Any) -> None:
        found.setdefault(id(value), Public(name.removeprefix("tessera."), kind, value))

    systems = [module for system in SYSTEMS for module in _modules(f"tessera.{system}")]
    for module in [*systems, *map(importlib.import_module, ("tessera", "tessera.threadpool"))]:
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if name.startswith("__") or not callable(value):
                continue
            if inspect.isclass(value):
                add(f"{value.__module__}.{value.__qualname__}", "class", value)
                for member in _members(value):
                    add(*member)
            else:
                add(f"{value.__module__}.{value.__name__}", "function", value)
    return tuple(found.values())
