"""Results: an ``xarray.Dataset`` where xarray is installed, else a small container like it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tessera.decode._data import Array, Floats

__all__ = ["Results", "make_results", "state_of_bins"]


class Results(Mapping[str, Any]):
    """Arrays with named axes: the variables and coordinates of the original's data set.

    ``results["acausal_posterior"]`` and ``results.acausal_posterior`` are NumPy arrays; ``dims``
    names their axes, ``coords`` holds the coordinates, ``attrs`` the rest.
    """

    def __init__(
        self,
        data_vars: dict[str, tuple[tuple[str, ...], Array]],
        coords: dict[str, Any],
        attrs: dict[str, Any],
    ) -> None:
        self.data_vars = {name: array for name, (_, array) in data_vars.items()}
        self.dims = {name: dims for name, (dims, _) in data_vars.items()}
        self.coords = coords
        self.attrs = attrs

    def __getitem__(self, name: str) -> Any:
        if name in self.data_vars:
            return self.data_vars[name]
        return self.coords[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("data_vars", "coords"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"these results have no {name!r}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.data_vars)

    def __len__(self) -> int:
        return len(self.data_vars)

    def __repr__(self) -> str:
        lines = [
            f"  {name} {self.dims[name]} {array.shape} {array.dtype}"
            for name, array in self.data_vars.items()
        ]
        return "\n".join(["tessera.decode.Results", *lines])


def _squeezed(
    data_vars: dict[str, tuple[tuple[str, ...], Array]],
) -> dict[str, tuple[tuple[str, ...], Array]]:
    """Drop axes of length 1, as the original does."""
    found = {}
    for name, (dims, array) in data_vars.items():
        kept = tuple(dim for dim, n in zip(dims, array.shape, strict=True) if n != 1)
        found[name] = (kept, array.squeeze())
    return found


def position_names(n_dim: int) -> list[str]:
    """Return what the coordinates of a bin are called."""
    return ["position"] if n_dim == 1 else [f"{axis}_position" for axis in "xyzw"[:n_dim]]


def state_of_bins(states: Array, state_ind: Array, centers: Floats) -> Array:
    """Return the state and the position of every bin as a structured array."""
    names = position_names(centers.shape[1])
    table = np.empty(
        len(state_ind), dtype=[("state", states.dtype), *((name, np.float64) for name in names)]
    )
    table["state"] = states[state_ind]
    for k, name in enumerate(names):
        table[name] = centers[:, k]
    return table


def make_results(
    data_vars: dict[str, tuple[tuple[str, ...], Array]],
    *,
    time: Floats,
    states: list[str],
    state_ind: Array,
    centers: Floats,
    environments: list[Any],
    encoding_groups: list[Any],
    marginal_log_likelihoods: Any,
) -> Any:
    """Put arrays together; axes of length 1 are dropped.

    Parameters
    ----------
    data_vars : dict
        Axis names and array of every variable.
    time, states, state_ind, centers, environments, encoding_groups
        The coordinates; centers is (n_bins, n_dim) with NaN for states of one bin.
    marginal_log_likelihoods : float or list of float
        The log evidence.

    Returns
    -------
    xarray.Dataset or Results
        The latter where xarray is not installed.
    """
    names = np.asarray(states)
    table = state_of_bins(names, state_ind, centers)
    attrs = {"marginal_log_likelihoods": np.asarray(marginal_log_likelihoods)}
    coords: dict[str, Any]
    try:
        import pandas as pd
        import xarray as xr
    except ImportError:
        coords = {
            "time": time,
            "state_bins": table,
            "state": table["state"],
            **{name: table[name] for name in position_names(centers.shape[1])},
            "state_ind": state_ind,
            "states": names,
            "environments": np.asarray(environments),
            "encoding_groups": np.asarray(encoding_groups),
        }
        return Results(_squeezed(data_vars), coords, attrs)
    axes = position_names(centers.shape[1])
    index = pd.MultiIndex.from_arrays(
        [names[state_ind], *(table[name] for name in axes)], names=("state", *axes)
    )
    bins = xr.Coordinates.from_pandas_multiindex(index, "state_bins")
    coords = {
        "time": time,
        **{str(k): v for k, v in bins.items()},
        "state_ind": state_ind,
        "states": names,
        "environments": ("states", environments),
        "encoding_groups": ("states", encoding_groups),
    }
    return xr.Dataset(data_vars, coords=coords, attrs=attrs).squeeze()
