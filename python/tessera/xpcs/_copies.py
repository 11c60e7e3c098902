"""Copies of data and results: within a process, and through pickle to another."""

from __future__ import annotations

import copy
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tessera import _core
from tessera._lib import Session

if TYPE_CHECKING:
    from tessera.xpcs._data import Data


# Attributes that lead to the library's memory.
_OF_LIBRARY = ("_handle", "_info")


class Shared:
    """What holds a handle whose content nobody changes: copies in a process share it."""

    def __copy__(self) -> Self:
        new = type(self).__new__(type(self))
        vars(new).update(vars(self))
        return new

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        new = type(self).__new__(type(self))
        memo[id(self)] = new
        for name, value in vars(self).items():
            vars(new)[name] = value if name in _OF_LIBRARY else copy.deepcopy(value, memo)
        return new


def _points(data: Data) -> dict[str, Any]:
    """Return the points themselves, as a .txc2 file has them, and where they were from."""
    with tempfile.TemporaryDirectory(prefix="tessera.") as folder:
        path = Path(folder) / "data.txc2"
        with Session() as context:
            _core.xpcs_save(context, data._handle, path, False, None)
        # An array, which pickle's protocol 5 and joblib pass on without copying it again.
        content = np.fromfile(path, np.uint8)
    return {"points": content, "path": data.path, "layout": data.layout}


def packed(data: Data) -> dict[str, Any]:
    """Return what another process needs to have the same data.

    Points in memory, or in a scratch file, travel along. A .txc2 file is opened there again, since
    it may be larger than memory, and a simulation that is made on demand is made on demand.
    """
    if data.residency == "generated":
        return {"simulation": data._recipe}
    if data.residency == "file" and data.layout == "txc2":
        return {
            "file": os.path.abspath(data.path),
            "dt": data.dt,
            "gap": data.gap,
            "mean": np.array(data.mean),
            "n_finite": np.array(data.n_finite),
        }
    return _points(data)


def _from_points(content: dict[str, Any]) -> _core.Handle:
    with tempfile.TemporaryDirectory(prefix="tessera.") as folder:
        path = Path(folder) / "data.txc2"
        np.asarray(content["points"]).tofile(path)
        with Session() as context:
            return _core.xpcs_restore(context, path, content["path"], content["layout"])


def _from_file(content: dict[str, Any]) -> _core.Handle:
    path = content["file"]
    with Session() as context:
        handle = _core.xpcs_open(
            context, path, options={}, dt=content["dt"] or None, gap=content["gap"] or None
        )
    info = _core.xpcs_data_info(handle)
    for name in ("mean", "n_finite"):
        if not np.array_equal(np.asarray(info[name]), content[name]):
            raise _core.FormatError(
                f"{path}: holds other data than when they were pickled; load it again"
            )
    return handle


def unpacked(content: dict[str, Any]) -> _core.Handle:
    """Return the data of :func:`packed`."""
    if "simulation" in content:
        with Session() as context:
            return _core.xpcs_simulate(context, **content["simulation"], in_memory=False)
    return _from_file(content) if "file" in content else _from_points(content)
