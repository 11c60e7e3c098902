"""Which library an array is of: formulas run in it, so that JAX can trace them."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any, TypeAlias

import numpy as np

# An array of NumPy, or of JAX where the caller has it; nobody can say which.
Array: TypeAlias = Any

HAS_JAX = importlib.util.find_spec("jax") is not None


def is_jax(value: object) -> bool:
    """Return whether something is an array or a tracer of JAX."""
    return type(value).__module__.partition(".")[0] in ("jax", "jaxlib")


def namespace(*values: object) -> Any:
    """Return ``jax.numpy`` if any of the values is JAX's, else NumPy."""
    if any(is_jax(value) for value in values):
        return importlib.import_module("jax.numpy")
    return np


def is_traced(*values: object) -> bool:
    """Return whether any value is known only to a tracer of JAX."""
    return any(is_jax(value) and "Tracer" in type(value).__name__ for value in values)


def array_module() -> Any:
    """Return ``jax.numpy`` where JAX is installed, else NumPy; what the original calls ``jnp``."""
    return importlib.import_module("jax.numpy") if HAS_JAX else np


class LateArrayModule:
    """``jnp`` of the original's modules, imported when it is first used."""

    def __getattr__(self, name: str) -> Any:
        return getattr(array_module(), name)
