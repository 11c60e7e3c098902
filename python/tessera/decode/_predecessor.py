"""Environments and movements of other packages, taken by their names and fields.

The original takes whatever behaves like its own, in scripts that of its predecessor,
replay_trajectory_classification, which has classes of the same names.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from tessera.decode import continuous_state_transitions as moves
from tessera.decode.environment import Environment
from tessera.decode.exceptions import ValidationError

_OURS: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        Environment,
        moves.EmpiricalMovement,
        moves.Identity,
        moves.RandomWalk,
        moves.RandomWalkDirection1,
        moves.RandomWalkDirection2,
        moves.Uniform,
    )
}


def own(value: Any) -> Any:
    """Return ours of an object of another package with the name of one of our classes."""
    kind = type(value)
    cls = _OURS.get(kind.__name__)
    if cls is None or isinstance(value, cls) or not is_dataclass(value):
        return value
    known = {field.name for field in fields(cls) if field.init}
    given = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    for name in given.keys() - known:
        # What we have no name for may only say no.
        if np.any(given[name]):
            raise ValidationError(
                f"{kind.__module__}.{kind.__name__}: {name}={given[name]!r} has no counterpart; "
                f"use tessera.decode.{cls.__name__}"
            )
    return cls(**{name: given[name] for name in given.keys() & known if given[name] is not None})


def own_all(value: Any) -> Any:
    """Return lists and tuples, and such of them, with ours in place of others."""
    if isinstance(value, list | tuple):
        found = [own_all(each) for each in value]
        same = all(a is b for a, b in zip(found, value, strict=True))
        return value if same else type(value)(found)
    return own(value)
