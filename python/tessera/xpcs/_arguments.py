"""Arguments that several entry points share: parameter vectors, angles, numbers of frames."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from tessera import _core
from tessera._lib import defaults

if TYPE_CHECKING:
    from tessera.xpcs._dicts import Parameter

Floats: TypeAlias = npt.NDArray[np.float64]
PathLike: TypeAlias = str | os.PathLike[str]
# Values in the order of the mode's parameters, or by name.
ParamsLike: TypeAlias = Mapping[str, float] | npt.ArrayLike


@cache
def _tables() -> dict[str, list[dict[str, Any]]]:
    return _core.xpcs_parameters()


def parameters(mode: str = "laminar_flow") -> list[Parameter]:
    """Return the physical parameters of a mode in the order of every vector.

    Parameters
    ----------
    mode : {'static_isotropic', 'static_anisotropic', 'laminar_flow', 'two_component'}
        What the model has.

    Returns
    -------
    list of dict
        ``name``, ``aliases``, ``unit``, ``lower``, ``upper``, ``start``, ``prior_mean`` and
        ``prior_sd`` of each.

    Examples
    --------
    >>> import tessera.xpcs as tx
    >>> [entry["name"] for entry in tx.parameters("static_isotropic")]
    ['D0', 'alpha', 'D_offset']
    """
    modes = [name for name in _tables() if name not in ("contrast", "offset")]
    if mode not in modes:
        raise _core.ArgumentError(
            f"mode: {mode!r} does not exist; choose one of {', '.join(modes)}"
        )
    return [cast("Parameter", dict(entry)) for entry in _tables()[mode]]


def names_of(mode: str) -> list[str]:
    """Return the names of a mode's parameters."""
    return [entry["name"] for entry in parameters(mode)]


def canonical(name: str, mode: str, argument: str) -> int:
    """Return the place of a parameter, whatever it is called."""
    for place, entry in enumerate(parameters(mode)):
        if name == entry["name"] or name in entry["aliases"].split("|"):
            return place
    near = difflib.get_close_matches(str(name), names_of(mode), 1)
    hint = f" did you mean {near[0]!r}?" if near else ""
    raise _core.ArgumentError(
        f"{argument}: {mode} has no parameter {name!r};{hint} it has {', '.join(names_of(mode))}"
    )


def number(value: Any, argument: str) -> float:
    """Return a number; what is none is named with its argument."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise _core.ArgumentError(f"{argument}: expected a number, got {value!r}") from None


def pair(value: Any, argument: str) -> tuple[Any, Any]:
    """Return two things, such as bounds."""
    try:
        low, high = value
    except (TypeError, ValueError):
        raise _core.ArgumentError(f"{argument}: expected (lower, upper), got {value!r}") from None
    return low, high


def angle_of(angle: Any, n_angle: int) -> int:
    """Return the index of an angle that is there."""
    if isinstance(angle, bool) or not isinstance(angle, int | np.integer):
        raise _core.ArgumentError(f"angle: expected a whole number, got {angle!r}")
    if not 0 <= angle < n_angle:
        raise _core.ArgumentError(f"angle: {angle}, there are 0 to {n_angle - 1}")
    return int(angle)


def vector_of(values: Any, mode: str, argument: str, missing: float) -> Floats:
    """Return one value per parameter from values in order or by name."""
    n = len(names_of(mode))
    if isinstance(values, Mapping):
        vector = np.full(n, missing)
        for name, value in values.items():
            vector[canonical(name, mode, argument)] = number(value, f"{argument}[{name!r}]")
        return vector
    vector = np.ascontiguousarray(values, np.float64)
    if vector.shape != (n,):
        raise _core.ShapeError(
            f"{argument}: {mode} has {n} parameters ({', '.join(names_of(mode))}), got values of "
            f"shape {vector.shape}"
        )
    return vector


def theta_of(params: ParamsLike, mode: str) -> Floats:
    """Return the values of all parameters; a name that is missing is an error."""
    theta = vector_of(params, mode, "params", np.nan)
    if isinstance(params, Mapping) and np.isnan(theta).any():
        absent = [name for name, gone in zip(names_of(mode), np.isnan(theta), strict=True) if gone]
        raise _core.ArgumentError(f"params: {', '.join(absent)} of {mode} is missing")
    return theta


def per_angle(value: Any, n_angle: int, argument: str) -> Floats:
    """Return one value per angle from one for all or one for each."""
    values = np.asarray(value, np.float64)
    if values.ndim == 0:
        return np.full(n_angle, float(values))
    if values.shape != (n_angle,):
        raise _core.ShapeError(
            f"{argument}: expected one value or one for each of {n_angle} angles, got shape "
            f"{values.shape}"
        )
    return np.ascontiguousarray(values)


def indices(values: Iterable[int] | None) -> Any:
    """Return whole numbers as the library takes them."""
    if values is None:
        return None
    given = np.asarray(list(values))
    if given.size > 0 and given.dtype.kind not in "iu":
        raise _core.ArgumentError(f"bad_frames: expected whole numbers, got {given.tolist()}")
    return np.ascontiguousarray(given, np.int64)


def mode_of(params: ParamsLike) -> str:
    """Return the mode values must be of, by their number or names; the default if in doubt."""
    two = names_of("two_component")
    if isinstance(params, Mapping):
        if any(name in two for name in params):
            return "two_component"
    elif np.size(np.asarray(params)) in (3, len(two)):
        return "static_anisotropic" if np.size(np.asarray(params)) == 3 else "two_component"
    if isinstance(params, Mapping) and not any(
        canonical(name, "laminar_flow", "params") >= 3 for name in params
    ):
        return "static_anisotropic"
    return str(defaults("xpcs.model")["mode"])
