"""Results: an ``xarray.Dataset`` where xarray is installed, else a small container like it."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode._data import Array, Floats

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import ArrayLike

__all__ = ["Results", "make_results", "state_of_bins"]


class Results(Mapping[str, Any]):
    """Arrays with named axes: the variables and coordinates of the original's data set.

    What models return where xarray is not installed; with it they return an ``xarray.Dataset``.
    ``results["acausal_posterior"]`` and ``results.acausal_posterior`` are NumPy arrays.

    Parameters
    ----------
    data_vars : dict
        Axis names and array of every variable.
    coords : dict
        Coordinates by name.
    attrs : dict
        The rest, such as marginal_log_likelihoods.

    Attributes
    ----------
    data_vars : dict of ndarray
        The variables.
    dims : dict of tuple of str
        Names of their axes.
    coords, attrs : dict
        As given.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera.decode import Results
    >>> results = Results({"p": (("time",), np.ones(3))}, {"time": np.arange(3.0)}, {})
    >>> results.p.shape, results.dims["p"]
    ((3,), ('time',))
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

    def __getitem__(self, name: Hashable) -> Any:
        if name in self.data_vars:
            return self.data_vars[str(name)]
        return self.coords[str(name)]

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

    def _repr_html_(self) -> str:
        from tessera.decode._html import of_results

        return of_results(self)

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
    """Return the state and the position of every bin.

    Parameters
    ----------
    states : ndarray of str
        Names of the states.
    state_ind : ndarray of int, shape (n_bins,)
        State of every bin.
    centers : ndarray, shape (n_bins, n_dim)
        Positions, NaN for states of one bin.

    Returns
    -------
    structured ndarray, shape (n_bins,)
        Fields state and position, or x_position, y_position ...
    """
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
    marginal_log_likelihoods: float | ArrayLike,
) -> xr.Dataset | Results:
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
    attrs = {"marginal_log_likelihoods": np.asarray(marginal_log_likelihoods)}
    try:
        import pandas as pd
        import xarray as xr
        from xarray.indexes import PandasIndex
    except ImportError:
        table = state_of_bins(names, state_ind, centers)
        coords: dict[str, Any] = {
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
    fixed, indexes = _coordinates(
        tuple(states), state_ind.tobytes(), centers.tobytes(), centers.shape[1]
    )
    clock = PandasIndex(pd.Index(time), "time")
    variables = {
        **fixed,
        **clock.create_variables({"time": _variable(("time",), time)}),
        "environments": _variable(("states",), np.asarray(environments)),
        "encoding_groups": _variable(("states",), np.asarray(encoding_groups)),
    }
    data = {name: _variable(*variable) for name, variable in data_vars.items()}
    indexes = {**indexes, "time": clock}
    if len(states) == 1:
        # Most models of one state: squeeze() would import dask where it is installed, a second.
        data, variables = ({k: _without_states(v) for k, v in d.items()} for d in (data, variables))
        del indexes["states"]
    found = xr.Dataset(data, coords=xr.Coordinates(variables, indexes=indexes), attrs=attrs)
    return found.squeeze() if 1 in found.sizes.values() else found


def prepare_results(states: list[str], state_ind: Array, centers: Floats) -> None:
    """Make what all results of a model share, so that its first ones take no longer."""
    with contextlib.suppress(ImportError):
        import xarray  # noqa: F401 (else there is nothing to share)

        _coordinates(tuple(states), state_ind.tobytes(), centers.tobytes(), centers.shape[1])


def _variable(dims: tuple[str, ...], array: Array) -> Any:
    # What is an array already is not looked at again, which would import dask where it is
    # installed: a quarter of a second.
    import xarray as xr

    return xr.Variable(dims, array, fastpath=True)


def _without_states(variable: Any) -> Any:
    """Return the variable at its only state."""
    sizes = {dim: n for dim, n in variable.sizes.items() if dim != "states"}
    return _variable(tuple(sizes), variable.values.reshape(tuple(sizes.values())))


@functools.lru_cache(maxsize=8)
def _coordinates(
    states: tuple[str, ...], state_ind: bytes, centers: bytes, n_dim: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Variables and indexes of the bins and the states, which results of one model share."""
    import pandas as pd
    import xarray as xr
    from xarray.indexes import PandasIndex

    names = np.asarray(states)
    of_bins = np.frombuffer(state_ind, dtype=np.int64)
    places = np.frombuffer(centers, dtype=np.float64).reshape(-1, n_dim)
    axes = position_names(n_dim)
    index = pd.MultiIndex.from_arrays([names[of_bins], *places.T], names=("state", *axes))
    bins = xr.Coordinates.from_pandas_multiindex(index, "state_bins")
    variables = {str(name): array.variable.to_base_variable() for name, array in bins.items()}
    variables["state_bins"] = bins["state_bins"].variable
    indexes: dict[str, Any] = {str(name): found for name, found in bins.xindexes.items()}
    variables["time"] = indexes["time"] = None  # its place among the others; the caller's to fill
    for name, array in (("state_ind", of_bins), ("states", names)):
        indexes[name] = PandasIndex(pd.Index(array), name, coord_dtype=array.dtype)
        variables.update(indexes[name].create_variables({name: _variable((name,), array)}))
    return variables, indexes
