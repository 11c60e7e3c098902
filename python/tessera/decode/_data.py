"""What users hand in, as arrays the library reads in place.

Lists, pandas tables, strided views, any number type and arrays of other libraries are welcome;
float64 arrays of the CPU in C order are used as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tessera.decode._foreign import is_foreign, to_numpy
from tessera.decode.exceptions import ShapeValidationError, TypeValidationError, ValidationError

Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]

_NO_REALS = ("c", "m", "M")  # what NumPy makes real by dropping a part or the unit


def _known(value: Any) -> Any:
    """Return numbers with NaN for those that are masked; the rest as it is."""
    if np.ma.is_masked(value) and value.dtype.kind in "biuf":
        return np.ma.filled(value.astype(np.float64), np.nan)
    return value


def array_of(value: Any, name: str) -> Array:
    """Return value as an array of whatever type it has."""
    return to_numpy(value, name) if is_foreign(value) else np.asarray(_known(value))


def reals(value: Any, name: str) -> Floats:
    """Return value as float64 in C order."""
    if is_foreign(value):
        value = to_numpy(value, name)
    given: Any = getattr(value, "dtype", None)
    if getattr(given, "kind", "") in _NO_REALS:
        hint = "; times are in seconds" if given.kind != "c" else ""
        raise TypeValidationError(f"{name}: expected numbers, got {given}{hint}")
    try:
        return np.ascontiguousarray(_known(value), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeValidationError(
            f"{name}: expected numbers, got {type(value).__name__}"
        ) from error


def vector(value: Any, name: str) -> Floats:
    """Return value as one axis; axes of length 1 are dropped."""
    array = reals(value, name)
    if array.ndim != 1:
        array = np.ascontiguousarray(np.atleast_1d(array.squeeze()))
    if array.ndim != 1:
        raise ShapeValidationError(f"{name}: expected one axis, got shape {array.shape}")
    return array


def position(value: Any, name: str = "position") -> Floats:
    """Return positions as (n_sample, n_dim)."""
    array = reals(value, name)
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2:
        raise ShapeValidationError(
            f"{name}: expected shape (n_sample,) or (n_sample, n_dim), got {array.shape}"
        )
    return array


def mask(value: Any, name: str) -> Mask | None:
    """Return a boolean vector, None for None."""
    if value is None:
        return None
    array = array_of(value, name)
    if array.dtype.kind not in "biuf":
        raise TypeValidationError(f"{name}: expected booleans, got {array.dtype}")
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise ValidationError(f"{name}: NaN, or what is masked, is neither true nor false")
    array = np.ascontiguousarray(np.atleast_1d(array.squeeze()).astype(bool))
    if array.ndim != 1:
        raise ShapeValidationError(f"{name}: expected one axis, got shape {array.shape}")
    return array


def _listed(value: Any, name: str) -> list[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    if is_foreign(value):
        value = to_numpy(value, name)
    if isinstance(value, np.ndarray) and value.dtype != object and value.ndim == 1:
        raise ShapeValidationError(
            f"{name}: expected a list with one array per electrode, got one array; "
            f"write [{name}] if there is one electrode"
        )
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise TypeValidationError(f"{name}: expected a list of arrays, got {type(value).__name__}")
    return list(value)


def spike_times(value: Any, name: str = "spike_times") -> list[Floats]:
    """Return one vector per electrode."""
    return [vector(times, f"{name}[{e}]") for e, times in enumerate(_listed(value, name))]


def features(value: Any, name: str = "spike_waveform_features") -> list[Array]:
    """Return (n_spike, n_feature) per electrode, all float32 or all float64."""
    arrays = [array_of(item, f"{name}[{e}]") for e, item in enumerate(_listed(value, name))]
    dtype = np.float32 if arrays and all(a.dtype == np.float32 for a in arrays) else np.float64
    found: list[Array] = []
    for e, given in enumerate(arrays):
        if given.dtype.kind not in "biuf":
            raise TypeValidationError(f"{name}[{e}]: expected numbers, got {given.dtype}")
        array = given.reshape(-1, 1) if given.ndim == 1 else given
        if array.ndim != 2:
            raise ShapeValidationError(
                f"electrode {e}: expected features of shape (n_spike, n_feature), got {array.shape}"
            )
        found.append(np.ascontiguousarray(array, dtype=dtype))
    return found


def labels(value: Any, n: int, name: str, against: str = "position_time") -> Array | None:
    """Return a vector of labels with as many entries as there are samples."""
    if value is None:
        return None
    array = np.atleast_1d(array_of(value, name).squeeze())
    if len(array) != n:
        raise ShapeValidationError(f"{name} has {len(array)} values, {against} has {n}")
    return array


def same_length(value: Sequence[Any] | Array | None, n: int, name: str, against: str) -> None:
    """Refuse an array that should have n entries and has not."""
    if value is not None and len(value) != n:
        raise ShapeValidationError(f"{name} has {len(value)} values, {against} has {n}")


def choice(value: str, allowed: Iterable[str], name: str) -> str:
    """Refuse a name that does not exist, and say which do."""
    names = list(allowed)
    if value not in names:
        raise ValidationError(f"{name}: {value!r} does not exist; choose one of {', '.join(names)}")
    return value


def same_kind(value: Any, like: Any, name: str) -> None:
    """Refuse a value that is not of the type and shape of another."""
    if isinstance(like, list | tuple):
        if type(value) is not type(like) or len(value) != len(like):
            raise ShapeValidationError(f"{name}: expected {len(like)} entries, got {value!r:.60}")
        for item, other in zip(value, like, strict=True):
            same_kind(item, other, name)
    elif isinstance(like, np.ndarray):
        array = np.asarray(value)
        if array.shape != like.shape or not np.can_cast(array.dtype, like.dtype, "same_kind"):
            raise ShapeValidationError(
                f"{name}: expected {like.dtype} of shape {like.shape}, got {array.dtype} of "
                f"{array.shape}"
            )
    elif type(value) is not type(like):
        raise TypeValidationError(
            f"{name}: expected {type(like).__name__}, got {type(value).__name__}"
        )
