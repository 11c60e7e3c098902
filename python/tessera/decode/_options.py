"""Values of options, checked against the library's tables before anything is computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tessera._tables import tables
from tessera.decode.exceptions import ShapeValidationError, TypeValidationError, ValidationError


def number(value: Any, name: str, low: float, *, above: bool = False, high: float = np.inf) -> None:
    """Refuse what is no finite number of at least low, or above it where low itself is not."""
    if isinstance(value, str | bytes) or np.ndim(value) != 0:
        raise TypeValidationError(f"{name}: expected one number, got {value!r:.60}")
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise TypeValidationError(
            f"{name}: expected a number, got {type(value).__name__}"
        ) from None
    too_low = found <= low if above else found < low
    if not np.isfinite(found) or too_low or found > high:
        least = f"{name} {'>' if above else '>='} {low:g}"
        most = "" if high == np.inf else f" and at most {high:g}"
        raise ValidationError(f"{name}: {found} is not allowed; expected {least}{most}")


def numbers(
    value: Any, name: str, low: float, *, above: bool = False, n: int | None = None
) -> None:
    """Refuse what is neither one such number nor a list of them, n where that is given."""
    if np.ndim(value) == 0:
        number(value, name, low, above=above)
        return
    if np.ndim(value) != 1 or (n is not None and len(value) != n):
        wanted = "one per state" if n is None else f"{n}"
        raise ShapeValidationError(
            f"{name}: expected a number or a list of {wanted}, got shape {np.shape(value)}"
        )
    for i, each in enumerate(value):
        number(each, f"{name}[{i}]", low, above=above)


def flag(value: Any, name: str) -> None:
    """Refuse what is neither true nor false."""
    if not isinstance(value, bool | np.bool_ | int) or value not in (0, 1):
        raise TypeValidationError(f"{name}: expected True or False, got {value!r:.60}")


def _choice(value: Any, row: Mapping[str, Any], name: str) -> None:
    words = (row["choices"] or "").split("|")
    given = str(value)
    if given in [word.rstrip(":") for word in words]:
        return
    head, colon, tail = given.partition(":")
    if colon and f"{head}:" in words:
        try:
            float(tail)
        except ValueError:
            raise ValidationError(f"{name}: {given!r}: {tail!r} is no number") from None
        return
    offered = ", ".join(f"{word}NUMBER" if word.endswith(":") else word for word in words)
    raise ValidationError(f"{name}: {given!r} does not exist; choose one of {offered}")


def option(value: Any, table: str, name: str, shown: str | None = None) -> None:
    """Refuse a value outside of what a table of the library allows.

    Parameters
    ----------
    value : object
        What was given.
    table, name : str
        Where its limits stand.
    shown : str, optional
        What the user calls it.
    """
    (row,) = (each for each in tables()[table] if each["name"] == name)
    called = shown or name
    kind = row["type"]
    if kind == "choice":
        _choice(value, row, called)
    elif kind == "flag":
        flag(value, called)
    else:
        if kind == "int" and not isinstance(value, int | np.integer):
            raise TypeValidationError(f"{called}: expected a whole number, got {value!r:.60}")
        number(value, called, row["minimum"], high=row["maximum"])
