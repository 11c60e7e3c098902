"""Draws as ArviZ has them: InferenceData, and its netCDF files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera import __version__
from tessera._core import ArgumentError
from tessera._npz import replacing
from tessera.xpcs._arguments import Floats, PathLike
from tessera.xpcs._priors import draws_between

if TYPE_CHECKING:
    from tessera.xpcs._data import Data
    from tessera.xpcs._posterior import Posterior

_N_PRIOR = 1000

# ArviZ's names for what a sampler says of its draws.
_STATS = {
    "lp": "log_density",
    "energy": "energy",
    "acceptance_rate": "accept",
    "n_steps": "n_step",
    "tree_depth": "depth",
    "diverging": "diverged",
}


def _prior(posterior: Posterior) -> dict[str, Any]:
    """Return draws of what was believed before the data, a chain; fixed parameters as they are."""
    rng = np.random.default_rng(int(posterior.facts["seed"]))
    shape = (1, _N_PRIOR)
    found: dict[str, Any] = {}
    for k, name in enumerate(posterior.physical_names):
        if name in posterior.free_names:
            found[name] = draws_between(
                float(posterior.prior_mean[k]),
                float(posterior.prior_sd[k]),
                float(posterior.lower[k]),
                float(posterior.upper[k]),
                rng.random(shape),
            )
        else:
            found[name] = np.full(shape, posterior[name][0, 0])
    scale = 1.5 * float(posterior.facts["noise_scale"])
    return {**found, "noise": draws_between(0.0, scale, 0.0, np.inf, rng.random(shape))}


def _observed(posterior: Posterior, data: Data) -> Floats:
    if (data.n_angle, data.n_frame) != (len(posterior.phi), int(posterior.facts["n_frame"])):
        raise ArgumentError(
            f"data: {data.n_angle} angles of {data.n_frame} frames, but the draws are of "
            f"{len(posterior.phi)} of {posterior.facts['n_frame']}; give the data of the draws"
        )
    return np.stack([np.asarray(data.matrix(angle)) for angle in range(data.n_angle)])


def groups(posterior: Posterior, data: Data | None = None) -> dict[str, dict[str, Any]]:
    """Return the arrays of every group by ArviZ's names."""
    drawn: dict[str, Any] = {name: posterior[name] for name in posterior.physical_names}
    drawn |= {name: getattr(posterior, name) for name in ("contrast", "offset", "noise")}
    stats: dict[str, Any] = {name: getattr(posterior, own) for name, own in _STATS.items()}
    steps = np.repeat(posterior.step[:, None], posterior.n_draw, axis=1)
    found = {
        "posterior": drawn,
        "sample_stats": {**stats, "step_size": steps},
        "prior": _prior(posterior),
    }
    return found if data is None else {**found, "observed_data": {"c2": _observed(posterior, data)}}


def to_arviz(posterior: Posterior, data: Data | None = None) -> Any:
    """Return InferenceData."""
    try:
        import arviz
    except ImportError:
        raise ImportError(
            "to_arviz() needs arviz (pip install arviz); to_netcdf() writes a file that it opens "
            "elsewhere"
        ) from None
    parts: dict[str, Any] = dict(groups(posterior, data))
    coords = {"angle": posterior.phi}
    dims = {"contrast": ["angle"], "offset": ["angle"], "c2": ["angle", "t1", "t2"]}
    if int(arviz.__version__.split(".")[0]) < 1:
        return arviz.from_dict(**parts, coords=coords, dims=dims)
    # From 1.0 on: one dict of groups, and a DataTree.
    return arviz.from_dict(parts, coords=coords, dims=dims)


def to_netcdf(posterior: Posterior, path: PathLike, data: Data | None = None) -> Path:
    """Write the groups into a netCDF-4 file."""
    try:
        import h5netcdf  # noqa: F401
        import xarray
    except ImportError:
        raise ImportError(
            "to_netcdf() needs xarray and h5netcdf (pip install xarray h5netcdf); save() needs "
            "nothing"
        ) from None
    made = {"inference_library": "tessera", "inference_library_version": __version__}
    with replacing(path) as temporary:
        for place, (group, arrays) in enumerate(groups(posterior, data).items()):
            axes = ("angle", "t1", "t2") if group == "observed_data" else ("chain", "draw", "angle")
            content = {
                name: (axes[: np.ndim(values)], np.asarray(values))
                for name, values in arrays.items()
            }
            sizes = {
                axis: size
                for dims, values in content.values()
                for axis, size in zip(dims, values.shape, strict=True)
            }
            coords = {
                axis: posterior.phi if axis == "angle" else np.arange(size)
                for axis, size in sizes.items()
            }
            xarray.Dataset(content, coords, made).to_netcdf(
                temporary, mode="a" if place else "w", group=group, engine="h5netcdf"
            )
    return Path(path)
