"""Results in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tessera._core import FormatError
from tessera._npz import read_npz, replacing, write_npz
from tessera.decode.results import Results

_DIMS, _COORD, _ATTR = "dims:", "coord:", "attr:"


def save_results(results: Any, filename: str | Path) -> None:
    """Write netCDF for an xarray.Dataset, .npz for :class:`Results`."""
    if not isinstance(results, Results):
        names = [name for name in ("state_bins",) if name in results.indexes]
        with replacing(filename) as name:
            results.reset_index(names).to_netcdf(name)
        return
    arrays: dict[str, Any] = dict(results.data_vars)
    arrays |= {_DIMS + name: np.asarray(dims) for name, dims in results.dims.items()}
    arrays |= {_COORD + name: value for name, value in results.coords.items()}
    arrays |= {_ATTR + name: value for name, value in results.attrs.items()}
    write_npz(filename, arrays, "decode.predict")


def _load_npz(filename: str | Path) -> Results:
    variables: dict[str, Any] = {}
    coords: dict[str, Any] = {}
    attrs: dict[str, Any] = {}
    arrays = read_npz(filename)
    for name, array in arrays.items():
        if name.startswith(_COORD):
            coords[name.removeprefix(_COORD)] = array
        elif name.startswith(_ATTR):
            attrs[name.removeprefix(_ATTR)] = array
        elif not name.startswith(_DIMS):
            if _DIMS + name not in arrays:
                raise FormatError(f"{filename}: no results, the axes of {name!r} have no names")
            variables[name] = (tuple(arrays[_DIMS + name].tolist()), array)
    return Results(variables, coords, attrs)


def load_results(filename: str | Path) -> Any:
    """Read what :func:`save_results` wrote."""
    with open(filename, "rb") as file:
        is_zip = file.read(2) == b"PK"
    if is_zip:
        return _load_npz(filename)
    try:
        import xarray as xr
    except ImportError:
        raise FormatError(f"{filename} is no .npz file; netCDF needs xarray") from None
    results = xr.open_dataset(filename)
    if "state_bins" not in results.dims:
        return results
    names = [name for name in results.coords if results[name].dims == ("state_bins",)]
    return results.set_index(state_bins=[name for name in names if name != "state_bins"])
