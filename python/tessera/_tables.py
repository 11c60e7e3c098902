"""Keyword defaults and docstrings out of the parameter tables of the library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

from tessera import _core

_Function = TypeVar("_Function", bound=Callable[..., Any])

# Stands where a default is in the table, which is the only place it is written.
FROM_TABLE: Any = None

_TYPES = {"int": "int", "real": "float", "flag": "bool", "bytes": "int or str"}


@cache
def tables() -> dict[str, list[_core.Param]]:
    """Return every parameter table of the library, by name."""
    return _core.param_tables()


def _type_text(param: _core.Param) -> str:
    if param["choices"] is None:
        return _TYPES[param["type"]]
    # A name that ends in a colon takes a number: "bounded:1e-6".
    names = (repr(name + "X" * name.endswith(":")) for name in param["choices"].split("|"))
    return "{" + ", ".join(names) + "}"


def _range_text(param: _core.Param) -> str:
    if param["type"] not in ("int", "real"):
        return ""
    low, high = param["minimum"], param["maximum"]
    # The upper end is often just the largest number that fits.
    if high >= 1e15:
        return f" At least {low:g}."
    return f" From {low:g} to {high:g}."


def _entry(param: _core.Param) -> str:
    help_text = param["help"][:1].upper() + param["help"][1:]
    unit = f" Unit: {param['unit']}." if param["unit"] else ""
    return (
        f"{param['name']} : {_type_text(param)}, default {param['default']!r}\n"
        f"    {help_text}.{_range_text(param)}{unit}"
    )


def _insert(doc: str, table: list[_core.Param]) -> str:
    before, _, after = doc.partition("{options}")
    # Python 3.13 strips the indentation that earlier versions keep.
    indent = before[before.rindex("\n") :]
    text = "\n".join(_entry(param) for param in table)
    return before + text.replace("\n", indent) + after


def from_table(name: str) -> Callable[[_Function], _Function]:
    """Give a function the defaults of a table and put the table's text into its docstring.

    The docstring has a line ``{options}`` where the parameters belong.
    """

    def decorate(function: _Function) -> _Function:
        table = tables()[name]
        defaults = {param["name"]: param["default"] for param in table}
        own = function.__kwdefaults__ or {}
        missing = defaults.keys() - own.keys()
        if missing:
            raise TypeError(f"{function.__name__}() lacks {sorted(missing)} of table {name}")
        own.update(defaults)
        if function.__doc__:  # absent under python -OO
            function.__doc__ = _insert(function.__doc__, table)
        return function

    return decorate


def _hint(name: str, known: list[str]) -> str:
    import difflib

    found = difflib.get_close_matches(name, known, 1)
    return f"did you mean {found[0]!r}?" if found else f"there are {', '.join(known)}"


def split_options(function: str, options: Mapping[str, Any], *names: str) -> list[dict[str, Any]]:
    """Return the options by table; one that is in none of them is an error."""
    parts: list[dict[str, Any]] = []
    known: list[str] = []
    for name in names:
        own = [param["name"] for param in tables()[name]]
        parts.append({key: options[key] for key in own if key in options})
        known += own
    for key in options:
        if key not in known:
            raise _core.ArgumentError(f"{function}() has no option {key!r}; {_hint(key, known)}")
    return parts


def takes_options(*names: str) -> Callable[[_Function], _Function]:
    """Put the tables whose options a function takes as ``**options`` into docstring and signature.

    Unlike with :func:`from_table` an option that is not given stays absent, so that another source
    (a configuration file) can decide it. The docstring has a line ``{options}``.
    """

    def decorate(function: _Function) -> _Function:
        import inspect

        params = [param for name in names for param in tables()[name]]
        signature = inspect.signature(function)
        kept = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        taken = {p.name for p in kept}
        kept += [
            inspect.Parameter(
                param["name"], inspect.Parameter.KEYWORD_ONLY, default=param["default"]
            )
            for param in params
            if param["name"] not in taken
        ]
        vars(function)["__signature__"] = signature.replace(parameters=kept)
        if function.__doc__:
            shown = [param for param in params if param["name"] not in taken]
            function.__doc__ = _insert(function.__doc__, shown)
        return function

    return decorate
