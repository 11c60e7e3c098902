"""Results in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tessera._core import FormatError
from tessera.decode.results import Results

_DIMS, _COORD, _ATTR = "dims:", "coord:", "attr:"


def save_results(results: Any, filename: str | Path) -> None:
    """Write netCDF for an xarray.Dataset, .npz for :class:`Results`."""
    if not isinstance(results, Results):
        names = [name for name in ("state_bins",) if name in results.indexes]
        results.reset_index(names).to_netcdf(filename)
        return
    arrays: dict[str, Any] = dict(results.data_vars)
    arrays |= {_DIMS + name: np.asarray(dims) for name, dims in results.dims.items()}
    arrays |= {_COORD + name: value for name, value in results.coords.items()}
    arrays |= {_ATTR + name: value for name, value in results.attrs.items()}
    with open(filename, "wb") as file:
        np.savez(file, **arrays)


def _load_npz(filename: str | Path) -> Results:
    variables: dict[str, Any] = {}
    coords: dict[str, Any] = {}
    attrs: dict[str, Any] = {}
    with np.load(filename) as file:
        for name in file.files:
            if name.startswith(_COORD):
                coords[name.removeprefix(_COORD)] = file[name]
            elif name.startswith(_ATTR):
                attrs[name.removeprefix(_ATTR)] = file[name]
            elif not name.startswith(_DIMS):
                variables[name] = (tuple(file[_DIMS + name].tolist()), file[name])
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
