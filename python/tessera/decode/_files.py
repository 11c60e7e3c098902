"""Results in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tessera._core import FormatError
from tessera._npz import read_npz, replacing, write_npz
from tessera.decode._data import Floats
from tessera.decode.results import Results, make_results, position_names

_DIMS, _COORD, _ATTR = "dims:", "coord:", "attr:"


def _is_text(array: Any) -> bool:
    return array.dtype.kind in "UO"


def save_results(results: Any, filename: str | Path) -> None:
    """Write netCDF for an xarray.Dataset, .npz for :class:`Results`."""
    if not isinstance(results, Results):
        names = [name for name in ("state_bins",) if name in results.indexes]
        plain = results.reset_index(names)
        # Text of a fixed length, which the command reads, too.
        texts = {name: {"dtype": "S1"} for name in plain.variables if _is_text(plain[name])}
        with replacing(filename) as name:
            plain.to_netcdf(name, encoding=texts)
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


def _bins_of_states(found: Any) -> tuple[Any, Floats]:
    """Return state and place of all bins, those off the track included, which files leave out."""
    state_ind, index = (np.asarray(found[name], np.int64) for name in ("state_ind", "all_index"))
    axes = [name for name in position_names(3) if name in found] or ["position"]
    centers = np.stack([np.asarray(found[name], np.float64) for name in axes], axis=1)
    states, places = [], []
    for state in range(found.sizes["states"]):
        inside = centers[state_ind == state]
        everywhere = inside
        for k in range(found.sizes["states"]):
            if np.isnan(inside).any() or f"env{k}_bins" not in found.sizes:
                break
            bins = np.stack([np.asarray(found[f"env{k}_{name}"]) for name in axes], axis=1)
            if np.array_equal(bins[np.asarray(found[f"env{k}_is_interior"], bool)], inside):
                everywhere = bins
                break
        states.append(np.full(len(everywhere), state))
        places.append(everywhere)
    if index[-1] >= sum(map(len, places)):
        raise FormatError("no result of decode: its bins are not those of its environments")
    return np.concatenate(states), np.concatenate(places)


def _texts(array: Any) -> list[str]:
    """Return names as str, whatever the engine that read them makes of fixed text."""
    return [name.decode() if isinstance(name, bytes) else str(name) for name in np.asarray(array)]


def _from_stream(found: Any) -> Any:
    """Give a file of the command or of predict_file() the shape of what predict() returns."""
    state_ind, centers = _bins_of_states(found)
    index = np.asarray(found["all_index"])
    variables: dict[str, Any] = {}
    for name, array in found.data_vars.items():
        if array.dims == ("time", "state_bins") and len(state_ind) > len(index):
            full = np.full((array.sizes["time"], len(state_ind)), np.nan, array.dtype)
            full[:, index] = array
            variables[name] = (array.dims, full)
        elif array.dims[:1] == ("time",):
            variables[name] = (array.dims, np.asarray(array))
    results = make_results(
        variables,
        time=np.asarray(found["time"]),
        states=_texts(found["states"]),
        state_ind=state_ind,
        centers=centers,
        environments=_texts(found["environments"]),
        encoding_groups=list(np.maximum(found["encoding_groups"], 0)),  # -1: a state without any
        marginal_log_likelihoods=float(found["log_evidence"]),
    )
    results.attrs |= {key: found.attrs[key] for key in found.attrs if key.startswith("tessera")}
    table = {
        name: (array.dims, np.asarray(array))
        for name, array in found.variables.items()
        if array.dims == ("intervals",)
    }
    return results.assign(table) if table else results


def load_results(filename: str | Path) -> Any:
    """Read what :func:`save_results`, predict_file() or the command wrote."""
    if Path(filename).is_dir():
        raise FormatError(f"{filename} is a folder; numpy.load() opens the arrays in it")
    with open(filename, "rb") as file:
        is_zip = file.read(2) == b"PK"
    if is_zip:
        return _load_npz(filename)
    try:
        import xarray as xr
    except ImportError:
        raise FormatError(f"{filename} is no .npz file; netCDF needs xarray") from None
    results = xr.open_dataset(filename)
    if "all_index" in results:
        with results:
            return _from_stream(results)
    texts = {name: results[name] for name in results.variables if _is_text(results[name])}
    results = results.assign_coords({name: array.astype(str) for name, array in texts.items()})
    if "state_bins" not in results.dims:
        return results
    names = [name for name in results.coords if results[name].dims == ("state_bins",)]
    return results.set_index(state_bins=[name for name in names if name != "state_bins"])
