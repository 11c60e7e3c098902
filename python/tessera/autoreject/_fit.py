"""Calls of a fit: options into the library, what it found out of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from tessera import _core
from tessera._lib import Session, warn
from tessera._session import _Defaults
from tessera.autoreject import _device
from tessera.autoreject._arguments import bars, check_folds, fold_masks, threads_of
from tessera.autoreject._epochs import Recording
from tessera.autoreject._sensors import Ints, Sensors

_Result = TypeVar("_Result")
_PathLike = str | os.PathLike[str]

_METHODS = {"bayesian_optimization": None, "random_search": "random", "exact": "exact"}
_SEARCHES = ("compat", "grid", "exact")
_RHO_MODES = ("cumulative", "independent")
_DOTS = {"direct": "direct", "lut": "table"}
_PRECISIONS = ("float64", "float32")
REPAIRED = ("eeg", "mag", "grad")
# How a type is treated is told, as other steps are; the original says nothing, and pipelines that
# turn warnings into errors would stop at data without a fault.
_TELLS = ("Channels of type", "n_split was chosen:")


@dataclass
class Settings:
    """How to compute; nothing here but search, rho_mode, n_splits and precision changes results."""

    n_jobs: int | None = 1
    verbose: Any = True
    search: str = "compat"
    rho_mode: str = "cumulative"
    n_splits: int = 10
    device: str = "auto"
    precision: str = "float64"
    meg_dots: str = "direct"
    origin: Any = None
    memory_limit: int | str | None = None
    profile: bool = False
    checkpoint: _PathLike | None = None
    # What a run left: the table of spans.
    spans: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Refuse words that do not exist."""
        for name, allowed in (
            ("search", _SEARCHES),
            ("rho_mode", _RHO_MODES),
            ("meg_dots", tuple(_DOTS)),
            ("precision", _PRECISIONS),
        ):
            value = getattr(self, name)
            if value not in allowed:
                raise _core.ArgumentError(
                    f"{name}: {value!r} does not exist; choose one of {', '.join(allowed)}"
                )

    @property
    def dots(self) -> str:
        """Return the library's word for meg_dots."""
        return _DOTS[self.meg_dots]

    def run(
        self,
        function: Callable[[_core.Context], _Result],
        n_bytes: int = 0,
        there: str | None = None,
    ) -> _Result:
        """Call function with a context; under 'auto' a device that fails is replaced by the CPU.

        there: where the samples are, None for host memory.
        """
        if there is not None and self.device in ("auto", "cuda"):
            return self._run_on(there, function)
        device = _device.resolve_device(self.device, n_bytes)
        try:
            return self._run_on(device, function)
        except (_core.DeviceError, _core.MemoryLimitError) as error:
            if device != "auto":
                raise
            _device.fall_back(device, error)
            return self._run_on("cpu", function)

    def _run_on(self, device: str, function: Callable[[_core.Context], _Result]) -> _Result:
        # The original's default is no wish for one thread beside a GPU, which would wait for it
        # most of the time.
        is_default = device != "cpu" and self.n_jobs in (None, 1)
        threads = None if is_default else threads_of(self.n_jobs)
        if not self.profile:
            with Session(threads=threads, memory_limit=self.memory_limit, device=device) as context:
                return function(context)
        with _core.Context(
            threads=threads,
            memory_limit=self.memory_limit,
            device=device,
            profile=True,
            device_memory_limit=_Defaults.device_memory_limit,
        ) as context:
            result = function(context)
            self.spans.append(context.profile())
            return result


def search_of(method: str, search: str) -> str:
    """Return the library's search for a thresh_method and a search."""
    if method not in _METHODS:
        raise _core.ArgumentError(
            f"`method` param not recognized: {method!r}; choose one of {', '.join(_METHODS)}"
        )
    return _METHODS[method] or search


def origin_of(sensors: Sensors, origin: Any) -> Any:
    """Return the centre of the spline positions, None for the head frame's."""
    if origin is None:
        return None
    if isinstance(origin, str):
        if origin != "auto":
            raise _core.ArgumentError(f"origin: expected None, 'auto' or x, y, z, got {origin!r}")
        return np.asarray(_core.autoreject_fit_sphere(sensors.for_core())[0])
    centre = np.asarray(origin, np.float64)
    if centre.shape != (3,) or not np.isfinite(centre).all():
        raise _core.ArgumentError(f"origin: expected three finite coordinates, got {origin!r}")
    return centre


@dataclass
class TypeFit:
    """What was found for the channels of one type."""

    kind: str
    channels: Ints
    thresholds: Any
    standard_errors: Any = None
    objectives: Any = None
    curves: list[tuple[Any, Any]] = field(default_factory=list)  # candidates, objective
    consensus: float | None = None
    n_interpolate: int | None = None
    loss: Any = None


def _copied(value: Any) -> Any:
    return None if value is None else np.array(value)


def type_fits(info: dict[str, Any]) -> list[TypeFit]:
    """Copy what a model holds out of the library's memory."""
    fits = []
    for entry in info["types"]:
        counts = _copied(entry["n_candidate"])
        curves = []
        if counts is not None and entry["candidates"] is not None:
            places, objectives = (
                np.array(entry[name]) for name in ("candidates", "candidate_objectives")
            )
            ends = np.cumsum(counts).tolist()
            curves = [
                (places[begin:end], objectives[begin:end])
                for begin, end in zip([0, *ends[:-1]], ends, strict=True)
            ]
        is_whole = entry["consensus_index"] >= 0 or entry["loss"] is not None
        fits.append(
            TypeFit(
                entry["type"],
                np.array(entry["channels"]),
                np.array(entry["thresholds"]),
                _copied(entry["standard_errors"]),
                _copied(entry["objectives"]),
                curves,
                entry["consensus"] if is_whole else None,
                int(entry["n_interpolate"]) if is_whole else None,
                _copied(entry["loss"]),
            )
        )
    return fits


def is_contiguous(cv: Any) -> bool:
    """Return whether a cv object makes plain contiguous folds, which the library makes itself."""
    return type(cv).__name__ == "KFold" and not getattr(cv, "shuffle", False)


@dataclass
class FitRequest:
    """One call of the library's fit, or of its thresholds alone."""

    picks: Any
    seed: int
    method: str = "bayesian_optimization"
    augment: bool = True
    consensus: Any = None
    n_interpolate: Any = None
    cv: Any = None
    thresholds_only: bool = False
    default_repairs: bool = False


def run_fit(
    recording: Recording, request: FitRequest, settings: Settings
) -> tuple[list[TypeFit], dict[str, Any]]:
    """Fit, and return what was found with the library's notes and times."""
    options: dict[str, Any] = {
        "search": search_of(request.method, settings.search),
        "rho_mode": settings.rho_mode,
        "augment": bool(request.augment),
        "meg_dots": settings.dots,
        "compat_types": True,
        "n_split": settings.n_splits,
        "seed": request.seed,
    }
    folds = None
    if request.cv is not None:
        if is_contiguous(request.cv):
            check_folds(int(request.cv.n_splits), recording.n_epoch)
            options["n_fold"] = int(request.cv.n_splits)
        else:
            folds = fold_masks(request.cv, recording.n_epoch)
            options["n_fold"] = len(folds)
    origin = origin_of(recording.sensors, settings.origin)

    def call(context: _core.Context) -> dict[str, Any]:
        epochs = recording.open(context, settings.precision)
        model = _core.autoreject_fit(
            context,
            epochs,
            options,
            picks=np.asarray(request.picks, np.int64),
            consensus=None if request.thresholds_only else _reals(request.consensus),
            n_interpolate=None if request.thresholds_only else _ints(request.n_interpolate),
            folds=folds,
            origin=origin,
            checkpoint=settings.checkpoint,
            thresholds_only=request.thresholds_only,
            progress=bars(settings.verbose),
        )
        info: dict[str, Any] = _core.autoreject_model_info(model)
        info["fits"] = type_fits(info)
        return info

    try:
        info = settings.run(call, recording.n_bytes, recording.device)
    except BaseException as error:
        if settings.checkpoint is not None and isinstance(
            error, KeyboardInterrupt | _core.Cancelled
        ):
            error.add_note(
                f"To continue: fit the same epochs again with checkpoint={settings.checkpoint!r}"
            )
        raise
    for note in dict.fromkeys(info["notes"].splitlines()):
        # Nobody asked for the default, which is made for all types together.
        is_default = request.default_repairs and note.startswith("n_interpolate:")
        if settings.verbose is False or is_default:
            continue
        if note.startswith(_TELLS):
            print(note)
        else:
            warn(note)
    return info["fits"], info


def _reals(values: Any) -> Any:
    return None if values is None else np.ascontiguousarray(values, np.float64)


def _ints(values: Any) -> Any:
    return None if values is None else np.ascontiguousarray(values, np.int64)


def _place(grid: Any, value: float | None) -> int:
    """Return where the choice is among the values tried; -1 without a choice."""
    if value is None:
        return -1
    return 0 if grid is None else int(np.argmin(np.abs(np.asarray(grid) - value)))


def make_model(
    context: _core.Context,
    sensors: Sensors,
    fits: list[TypeFit],
    settings: Settings,
    more: dict[str, Any] | None = None,
) -> Any:
    """Return a model of the library's from what was fitted, by whomever."""
    given = more or {}
    parts: dict[str, Any] = {
        "channel_names": list(sensors.names),
        "meg_dots": int(settings.meg_dots == "lut"),
        "rho_mode": int(settings.rho_mode == "cumulative"),
        "compat_types": 1,
        "origin": origin_of(sensors, settings.origin),
        "types": [
            {
                "type": fit.kind,
                "channels": np.ascontiguousarray(fit.channels, np.int64),
                "thresholds": _reals(fit.thresholds),
                "standard_errors": _reals(fit.standard_errors),
                "objectives": _reals(fit.objectives),
                "n_candidate": (_ints([len(c) for c, _ in fit.curves]) if fit.curves else None),
                "candidates": (
                    _reals(np.concatenate([c for c, _ in fit.curves])) if fit.curves else None
                ),
                "candidate_objectives": (
                    _reals(np.concatenate([j for _, j in fit.curves])) if fit.curves else None
                ),
                "consensus": 1.0 if fit.consensus is None else float(fit.consensus),
                "n_interpolate": 0 if fit.n_interpolate is None else int(fit.n_interpolate),
                "consensus_index": _place(given.get("consensus"), fit.consensus),
                "n_interpolate_index": _place(given.get("n_interpolate"), fit.n_interpolate),
                "loss": _reals(fit.loss),
            }
            for fit in fits
        ],
    }
    parts.update(given)
    return _core.autoreject_model(context, parts)


def run_log(
    recording: Recording, fits: list[TypeFit], settings: Settings
) -> tuple[Any, Any, list[str]]:
    """Return labels (NaN: not considered), bad epochs and notes for fitted types."""

    def call(context: _core.Context) -> tuple[Any, Any, list[str]]:
        epochs = recording.open(context, settings.precision)
        model = make_model(context, recording.sensors, fits, settings)
        log = _core.autoreject_log(context, model, epochs)
        info = _core.autoreject_log_info(log)
        labels = np.array(info["labels"], np.float64)
        labels[labels < 0] = np.nan
        return labels, np.array(info["bad_epochs"], bool), info["notes"].splitlines()

    return settings.run(call, recording.n_bytes)


def repair(sensors: Sensors, data: Any, picks: Any, bad: Any, settings: Settings) -> None:
    """Predict the marked channels of every epoch from the other picks, in place."""
    repaired = np.array([kind in REPAIRED for kind in sensors.types])
    mask = np.ascontiguousarray(bad & repaired, np.uint8)
    sources = np.array([k for k in picks if repaired[k]], np.int64)
    if not mask.any() or len(sources) == 0:
        return
    origin = origin_of(sensors, settings.origin)

    def call(context: _core.Context) -> None:
        _core.autoreject_interpolate(
            context,
            sensors.for_core(),
            sources,
            mask,
            data,
            {"meg_dots": settings.dots},
            origin=origin,
            progress=bars(settings.verbose),
        )

    there = _device.cuda_index(data)
    settings.run(call, data.nbytes, None if there is None else f"cuda:{there}")
