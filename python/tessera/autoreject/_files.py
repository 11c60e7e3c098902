"""What of an AutoReject goes into pickles and files: the original's layout, and a JSON model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera import _core
from tessera._lib import Session
from tessera._npz import replacing
from tessera.autoreject._arguments import splits_of
from tessera.autoreject._fit import Settings, TypeFit, make_model, type_fits
from tessera.autoreject._local import _AutoReject
from tessera.autoreject._sensors import Sensors

if TYPE_CHECKING:
    from tessera.autoreject._learn import FitMixin
    from tessera.autoreject.autoreject import AutoReject

_PathLike = str | os.PathLike[str]

# The original's keys, in its order.
_INIT = (
    "consensus",
    "n_interpolate",
    "picks",
    "verbose",
    "n_jobs",
    "cv",
    "random_state",
    "thresh_method",
)
_FITTED = ("threshes_", "n_interpolate_", "consensus_", "dots", "picks_", "loss_")
# What only this package has.
_OWN = (
    "search",
    "rho_mode",
    "n_splits",
    "device",
    "precision",
    "meg_dots",
    "origin",
    "memory_limit",
    "profile",
    "checkpoint",
)
_OWN_FITTED = ("thresh_errors_", "curves_", "seed_", "seconds_", "profile_", "_shape", "_sensors")


def _local_state(local: _AutoReject) -> dict[str, Any]:
    return {
        "consensus": local.consensus,
        "n_interpolate": local.n_interpolate,
        "picks": [int(k) for k in local.picks_],
        "verbose": local.verbose,
        "threshes_": local.threshes_,
        "n_interpolate_": local.n_interpolate_,
        "consensus_": local.consensus_,
        "dots": None,
    }


def _set_local_state(state: dict[str, Any]) -> _AutoReject:
    kind = next(iter(state["consensus_"]))
    return _AutoReject._fitted(
        kind,
        np.asarray(state["picks"], np.int64),
        dict(state["threshes_"]),
        state["consensus_"][kind],
        state["n_interpolate_"][kind],
        state["verbose"],
    )


def state_of(ar: AutoReject) -> dict[str, Any]:
    """Return the original's state, with what is ours under ``tessera``."""
    state: dict[str, Any] = {name: getattr(ar, name) for name in _INIT}
    own = {name: getattr(ar, name) for name in (*_OWN, "thresh_func")}
    if hasattr(ar, "n_interpolate_"):
        state |= {name: getattr(ar, name) for name in _FITTED}
        state["local_reject_"] = {
            kind: _local_state(local) for kind, local in ar.local_reject_.items()
        }
        own |= {name: getattr(ar, name) for name in _OWN_FITTED if hasattr(ar, name)}
    state["tessera"] = own
    return state


def set_state(ar: AutoReject, state: dict[str, Any]) -> None:
    """Restore a state of ours or of the original's."""
    from tessera.autoreject._arguments import cv_of

    given = {name: state[name] for name in _INIT if name in state}
    own = dict(state.get("tessera") or {})
    given |= {name: own.pop(name) for name in (*_OWN, "thresh_func") if name in own}
    if isinstance(given.get("verbose"), np.bool_ | int):
        given["verbose"] = bool(given["verbose"])  # HDF5 has no booleans of its own
    ar.__init__(**given)  # type: ignore[misc]
    if "n_interpolate_" not in state:
        return
    for name in _FITTED:
        setattr(ar, name, state.get(name))
    ar.threshes_ = {name: float(v) for name, v in state["threshes_"].items()}
    ar.consensus_ = {kind: float(v) for kind, v in state["consensus_"].items()}
    ar.n_interpolate_ = {kind: int(v) for kind, v in state["n_interpolate_"].items()}
    ar.local_reject_ = {
        kind: _set_local_state(local) for kind, local in state["local_reject_"].items()
    }
    ar.cv_ = cv_of(ar.cv, default=10)
    ar.thresh_errors_ = {}
    ar.curves_ = {}
    for name, value in own.items():
        setattr(ar, name, value)


def all_of(ar: FitMixin, fits: list[TypeFit], names: list[str]) -> list[TypeFit]:
    """Add to matched fits what only reports and files need: errors, curves, losses."""
    for fit in fits:
        channels = [names[k] for k in fit.channels]
        if all(name in ar.thresh_errors_ for name in channels):
            fit.standard_errors = np.array([ar.thresh_errors_[name] for name in channels])
        if all(name in ar.curves_ for name in channels):
            fit.curves = [ar.curves_[name] for name in channels]
            fit.objectives = np.array(
                [
                    j[np.searchsorted(c, ar.threshes_[name], side="right") - 1]
                    for name, (c, j) in zip(channels, fit.curves, strict=True)
                ]
            )
        fit.loss = ar.loss_[fit.kind]
    return fits


def model_parts(ar: FitMixin) -> dict[str, Any]:
    """Return the options of a fit for a model of the library's."""
    n_epoch, hz, n_time = getattr(ar, "_shape", (0, 0.0, 0))
    losses = [loss for loss in ar.loss_.values() if loss is not None]
    return {
        "search": {"exact": 0, "compat": 1, "grid": 2}[ar.search],
        "seed": int(getattr(ar, "seed_", 0)),
        "n_split": int(getattr(ar, "n_splits_", 0)) or splits_of(ar.n_splits, ar.cv),
        "n_fold": losses[0].shape[2] if losses else 0,
        "n_epoch": int(n_epoch),
        "n_time": int(n_time),
        "sampling_hz": float(hz),
        "augment": 1,
        "picks": np.asarray(ar.picks_, np.int64),
        "consensus": np.ascontiguousarray(ar.consensus, np.float64),
        "n_interpolate": np.ascontiguousarray(ar.n_interpolate, np.int64),
        "seconds": [float(s) for s in getattr(ar, "seconds_", [0.0] * 4)],
    }


def _plain(value: Any, name: str) -> Any:
    """Return a state entry as h5io can write it."""
    if isinstance(value, dict):
        return {key: _plain(entry, f"{name}[{key!r}]") for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry, name) for entry in value]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if value is None or isinstance(value, bool | int | float | str | np.ndarray):
        return value
    if name == "cv" and hasattr(value, "n_splits") and type(value).__name__ == "KFold":
        return int(value.n_splits)
    raise ValueError(
        f"{name}: {value!r} cannot be saved to HDF5; set it to something plain, or use pickle"
    )


def _h5io() -> Any:
    try:
        import h5io
    except ImportError as error:
        raise ImportError(
            "files in the original's layout need h5io (pip install h5io); a file name that ends in "
            ".json needs nothing"
        ) from error
    return h5io


def save(ar: AutoReject, fname: _PathLike) -> None:
    """Write by the ending of the name."""
    if os.fspath(fname).endswith((".json", ".tsv")):
        _save_json(ar, fname)
        return
    state = state_of(ar)
    own = state["tessera"]
    own.pop("thresh_func")
    own.pop("_sensors", None)
    own["curves_"] = {
        name: [np.asarray(c), np.asarray(j)] for name, (c, j) in own.get("curves_", {}).items()
    }
    plain = {name: _plain(value, name) for name, value in state.items()}
    if plain["consensus"] is None:  # the original expects its default to be written out
        plain["consensus"] = np.linspace(0, 1, 11)
        plain["tessera"]["is_default_consensus"] = True
    h5io = _h5io()
    with replacing(fname) as name:
        h5io.write_hdf5(name, plain, title="autoreject", overwrite=True)


def _save_json(ar: AutoReject, fname: _PathLike) -> None:
    ar._check_fitted()
    names = list(ar.threshes_)
    picks = np.asarray(ar.picks_)
    all_names = [f"({k})" for k in range(int(picks.max()) + 1)]
    for local in ar.local_reject_.values():
        for k, name in zip(local.picks_, local.threshes_, strict=True):
            all_names[int(k)] = name
    sensors = Sensors(all_names, [], [], np.zeros((0, 12)), np.zeros(0, np.int32))
    fits = [
        TypeFit(
            kind,
            np.asarray(local.picks_),
            np.array([ar.threshes_[name] for name in local.threshes_]),
            consensus=ar.consensus_[kind],
            n_interpolate=ar.n_interpolate_[kind],
        )
        for kind, local in ar.local_reject_.items()
    ]
    assert names
    with Session() as context:
        settings = ar._settings()
        if isinstance(settings.origin, str):
            settings.origin = None  # fitted anew to the points of every recording
        model = make_model(context, sensors, all_of(ar, fits, all_names), settings, model_parts(ar))
        _core.autoreject_model_save(context, model, fname, overwrite=True)


def _is_json(fname: _PathLike) -> bool:
    with open(fname, "rb") as file:
        return file.read(64).lstrip()[:1] == b"{"


def load(ar: AutoReject, fname: _PathLike) -> None:
    """Read either kind of file."""
    if _is_json(fname):
        _load_json(ar, fname)
        return
    state = _h5io().read_hdf5(fname, title="autoreject")
    own = state.get("tessera") or {}
    for name, curve in own.get("curves_", {}).items():
        own["curves_"][name] = (np.asarray(curve[0]), np.asarray(curve[1]))
    if own.pop("is_default_consensus", False):
        state["consensus"] = None
    if state.get("dots") is not None:
        state["dots"] = tuple(state["dots"])
    if "_shape" in own:
        own["_shape"] = tuple(own["_shape"])
    set_state(ar, state)


def _load_json(ar: AutoReject, fname: _PathLike) -> None:
    with Session() as context:
        model = _core.autoreject_model_load(context, fname)
        info = _core.autoreject_model_info(model)
    fits = type_fits(info)
    if not fits or fits[0].consensus is None:
        raise ValueError(f"{os.fspath(fname)}: it holds thresholds only, no fit")
    ar.__init__(  # type: ignore[misc]
        n_interpolate=np.array(info["n_interpolate"]),
        consensus=np.array(info["consensus"]),
        cv=int(info["n_fold"]) or 10,
        picks=np.array(info["picks"]).tolist(),
        thresh_method="random_search" if info["search"] == 3 else "bayesian_optimization",
        random_state=int(info["seed"]),
        search=("exact", "compat", "grid", "compat")[info["search"]],
        rho_mode=("independent", "cumulative")[info["rho_mode"]],
        meg_dots=("direct", "lut")[info["meg_dots"]],
        n_splits=int(info["n_split"]) or 10,
        origin=None if info["origin"] is None else tuple(np.array(info["origin"]).tolist()),
    )
    from tessera.autoreject._arguments import cv_of

    ar.picks_ = np.array(info["picks"])
    ar.cv_ = cv_of(ar.cv, default=10)
    ar.seed_ = int(info["seed"])
    ar.seconds_ = list(info["seconds"])
    ar._shape = (info["n_epoch"], info["sampling_hz"], info["n_time"])
    sensors = Sensors(list(info["channel_names"]), [], [], np.zeros((0, 12)), np.zeros(0, np.int32))
    ar._keep(fits, sensors)


__all__ = ["Settings", "all_of", "load", "model_parts", "save", "set_state", "state_of"]
