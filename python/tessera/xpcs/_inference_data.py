"""Draws as ArviZ has them: InferenceData, and its netCDF files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera import __version__
from tessera._npz import replacing
from tessera.xpcs._arguments import PathLike

if TYPE_CHECKING:
    from tessera.xpcs._posterior import Posterior

# ArviZ's names for what a sampler says of its draws.
_STATS = {
    "lp": "log_density",
    "energy": "energy",
    "acceptance_rate": "accept",
    "n_steps": "n_step",
    "tree_depth": "depth",
    "diverging": "diverged",
}


def groups(posterior: Posterior) -> dict[str, dict[str, Any]]:
    """Return the arrays of every group by ArviZ's names."""
    drawn: dict[str, Any] = {name: posterior[name] for name in posterior.physical_names}
    drawn |= {name: getattr(posterior, name) for name in ("contrast", "offset", "noise")}
    stats: dict[str, Any] = {name: getattr(posterior, own) for name, own in _STATS.items()}
    steps = np.repeat(posterior.step[:, None], posterior.n_draw, axis=1)
    return {"posterior": drawn, "sample_stats": {**stats, "step_size": steps}}


def to_arviz(posterior: Posterior) -> Any:
    """Return InferenceData."""
    try:
        import arviz
    except ImportError:
        raise ImportError(
            "to_arviz() needs arviz (pip install arviz); to_netcdf() writes a file that it opens "
            "elsewhere"
        ) from None
    parts = groups(posterior)
    coords = {"angle": posterior.phi}
    dims = {"contrast": ["angle"], "offset": ["angle"]}
    if int(arviz.__version__.split(".")[0]) < 1:
        return arviz.from_dict(
            posterior=parts["posterior"],
            sample_stats=parts["sample_stats"],
            coords=coords,
            dims=dims,
        )
    # From 1.0 on: one dict of groups, and a DataTree.
    return arviz.from_dict(parts, coords=coords, dims=dims)


def to_netcdf(posterior: Posterior, path: PathLike) -> Path:
    """Write the groups into a netCDF-4 file."""
    try:
        import h5netcdf  # noqa: F401
        import xarray
    except ImportError:
        raise ImportError(
            "to_netcdf() needs xarray and h5netcdf (pip install xarray h5netcdf); save() needs "
            "nothing"
        ) from None
    coords = {
        "chain": np.arange(posterior.n_chain),
        "draw": np.arange(posterior.n_draw),
        "angle": posterior.phi,
    }
    with replacing(path) as temporary:
        for place, (group, arrays) in enumerate(groups(posterior).items()):
            content = {
                name: (("chain", "draw", "angle")[: np.ndim(values)], np.asarray(values))
                for name, values in arrays.items()
            }
            used = coords if any(len(dims) == 3 for dims, _ in content.values()) else None
            own = used or {name: coords[name] for name in ("chain", "draw")}
            made = {"inference_library": "tessera", "inference_library_version": __version__}
            xarray.Dataset(content, own, made).to_netcdf(
                temporary, mode="a" if place else "w", group=group, engine="h5netcdf"
            )
    return Path(path)
