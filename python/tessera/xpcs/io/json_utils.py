"""Values as JSON can say them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

__all__ = ["json_safe", "json_serializer"]


def _number(value: float) -> float | str | None:
    """Return a number, or what stands for one that JSON does not know."""
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def json_safe(value: object) -> object:
    """Return a value made of dicts, lists, numbers and text.

    Parameters
    ----------
    value : object
        Also with arrays in it. NaN becomes None, infinities text.

    Returns
    -------
    object
        What ``json.dump`` takes; objects of other kinds as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera.xpcs.io import json_safe
    >>> json_safe({"a": np.array([1.0, np.nan]), "b": np.int64(2)})
    {'a': [1.0, None], 'b': 2}
    """
    if isinstance(value, Mapping):
        return {key: json_safe(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [json_safe(entry) for entry in value]
    if isinstance(value, float):
        return _number(float(value))
    tolist = getattr(value, "tolist", None)  # arrays and numbers of NumPy, JAX, torch
    return value if tolist is None else json_safe(tolist())


def json_serializer(obj: object) -> object:
    """Return what ``json.dump`` writes for an object it does not know: its ``default``.

    Parameters
    ----------
    obj : object
        The object.

    Returns
    -------
    object
        As :func:`json_safe` gives it, else text.
    """
    if isinstance(obj, float | np.generic) or hasattr(obj, "tolist"):
        return json_safe(obj)
    return str(obj)
