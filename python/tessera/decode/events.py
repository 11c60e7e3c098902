"""Candidate replay events, how replay-like each is, and how often chance does as well.

The rules, scores and shuffles are those of ``docs/systems/decode-events.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera import _core
from tessera._lib import defaults
from tessera._progress import ProgressLike, callback
from tessera.decode import _data
from tessera.decode._session import Session
from tessera.decode.exceptions import ShapeValidationError, ValidationError

if TYPE_CHECKING:
    from typing import Unpack

    import pandas as pd
    import xarray as xr

    from tessera.decode._keywords import EventKeywords
    from tessera.decode._types import ArrayLike, Covariates, PathLike
    from tessera.decode.models._detector import DetectorBase

__all__ = ["REASONS", "SCORES", "find", "score", "shuffle_test"]

SCORES = (
    "weighted_correlation",
    "line_fit",
    "distance",
    "net_distance",
    "max_jump",
    "coverage",
    "sharpness",
    "speed",
)
REASONS = {
    1: "short",
    2: "long",
    4: "few spikes",
    8: "few electrodes",
    16: "moving",
    32: "few bins",
    64: "outside",
    128: "empty",
    256: "overlaps",
}
_FIND, _SCORE, _SHUFFLE = range(3)


def _need(name: str) -> Any:
    """Import what tables and arrays with names are made of."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(f"tables of events need {name}: pip install {name}") from None


def _inputs(
    spike_times: Sequence[ArrayLike],
    features: Sequence[ArrayLike] | None,
    position_time: ArrayLike | None,
    position: ArrayLike | None,
) -> dict[str, Any]:
    """Put spikes and position together as the library takes them."""
    data: dict[str, Any] = {"spike_times": _data.spike_times(spike_times)}
    if features is not None:
        data["marks"] = _data.features(features)
        if len(data["marks"]) != len(data["spike_times"]):
            raise ShapeValidationError(
                f"spike_waveform_features has {len(data['marks'])} electrodes, "
                f"spike_times has {len(data['spike_times'])}"
            )
    if (position is None) != (position_time is None):
        raise ValidationError("give position and position_time together, or neither")
    if position is not None:
        data["position_time"] = _data.vector(position_time, "position_time")
        data["position"] = _data.position(position)
    return data


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    known = defaults("decode.events")
    for name in options:
        if name not in known:
            raise TypeError(f"unknown option {name!r}; there are {', '.join(sorted(known))}")
    return dict(options)


def _intervals(events: Any) -> dict[str, Any]:
    """Take start and end, and what an earlier call found, out of a table or a pair."""
    if hasattr(events, "columns"):
        for name in ("start", "end"):
            if name not in events.columns:
                raise ValidationError(f"events: no column {name!r} among {list(events.columns)}")
        table = {name: _data.vector(events[name], name) for name in ("start", "end")}
        for name in ("event", "reason"):
            if name in events.columns:
                table[name] = _data.vector(events[name], name)
        return table
    array = _data.reals(events, "events")
    if array.ndim != 2 or array.shape[1] != 2:
        raise ShapeValidationError(
            f"events: expected a table with columns start and end, or shape (n, 2), got "
            f"{array.shape}"
        )
    return {"start": np.ascontiguousarray(array[:, 0]), "end": np.ascontiguousarray(array[:, 1])}


def _call(
    detector: _core.Handle | None,
    data: dict[str, Any],
    table: dict[str, Any] | None,
    options: Mapping[str, Any],
    steps: int,
    *,
    kinds: Sequence[str] | None = None,
    model_bin: float = 0.0,
    keep: bool = False,
    progress: ProgressLike = None,
    report: PathLike | None = None,
    overwrite: bool = False,
    design: Any = None,
    session: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    with Session(**(session or {}), ranks=True) as context:
        return _core.decode_events(
            context,
            data,
            _options(options),
            model_bin,
            keep,
            steps,
            detector=detector,
            table=table,
            kinds=list(kinds or ()),
            progress=callback(progress),
            report=report,
            overwrite=overwrite,
            design=design,
        )


def _frame(found: dict[str, Any]) -> pd.DataFrame:
    pd = _need("pandas")
    frame = pd.DataFrame({name: np.asarray(value) for name, value in found["columns"].items()})
    frame["reasons"] = [
        "; ".join(name for bit, name in REASONS.items() if int(reason) & bit)
        for reason in frame["reason"]
    ]
    for name in ("source", "problem", "rate_mean", "rate_sd"):
        frame.attrs[name] = found[name]
    return frame


def _posterior(model: DetectorBase, found: dict[str, Any]) -> xr.DataArray:
    xarray = _need("xarray")
    environment = model.environments[0]
    centres = np.asarray(environment.place_bin_centers_)
    inside = np.asarray(environment.is_track_interior_).ravel()
    places = centres[inside]
    coords: dict[str, Any] = {
        "event": (
            "time_bin",
            np.asarray(found["columns"]["event"])[np.asarray(found["row_event"])],
        ),
        "time": ("time_bin", np.asarray(found["row_time"])),
        "is_counted": ("time_bin", np.asarray(found["row_is_counted"]) != 0),
    }
    names = ("position",) if places.shape[1] == 1 else ("x_position", "y_position", "z_position")
    for k in range(places.shape[1]):
        coords[names[k]] = ("place", places[:, k])
    if "state_rows" in found:
        states = np.asarray(found["state_rows"])
        for k, state in enumerate(model.state_names):
            coords[f"state_probability_{state}"] = ("time_bin", states[:, k])
    posterior: xr.DataArray = xarray.DataArray(
        np.asarray(found["posterior"]),
        dims=("time_bin", "place"),
        coords=coords,
        name="posterior",
        attrs={"event_bin": found["event_bin"]},
    )
    return posterior


def find(
    spike_times: Sequence[ArrayLike],
    *,
    position_time: ArrayLike | None = None,
    position: ArrayLike | None = None,
    events: pd.DataFrame | ArrayLike | None = None,
    time: ArrayLike | None = None,
    probability: ArrayLike | None = None,
    progress: ProgressLike = None,
    device: str | None = None,
    **options: Unpack[EventKeywords],
) -> pd.DataFrame:
    """Find candidate events, or test events that were found elsewhere.

    Parameters
    ----------
    spike_times : sequence of array
        Spikes of each electrode or unit, s.
    position_time, position : array, optional
        Where the animal is, s and cm; without, every time bin counts as still.
    events : DataFrame or array of shape (n, 2), optional
        Start and end of events found elsewhere, s; they keep their order.
    time, probability : array, optional
        Time bins of a decoded result and the probability of the states that make an event.
    progress : bool or callable, optional
        As everywhere.
    device : str, optional
        'cpu', 'cuda', 'cuda:1' or 'auto'; default: TESSERA_DEVICE, else the CPU.
    **options
        Table ``decode.events``.

    Returns
    -------
    DataFrame
        One row per event, dropped ones included: ``reason`` is 0 where nothing speaks against it.
    """
    table: dict[str, Any] | None = None
    if events is not None:
        table = _intervals(events)
    if (time is None) != (probability is None):
        raise ValidationError("give time and probability together, or neither")
    if probability is not None:
        if table is not None:
            raise ValidationError("events and probability both say where events are; give one")
        table = {
            "time": _data.vector(time, "time"),
            "probability": _data.vector(probability, "probability"),
        }
    data = _inputs(spike_times, None, position_time, position)
    session = {"device": device}
    return _frame(_call(None, data, table, options, _FIND, progress=progress, session=session))


def _run(
    model: DetectorBase,
    events: Any,
    spike_times: Sequence[ArrayLike],
    features: Sequence[ArrayLike] | None,
    position_time: ArrayLike | None,
    position: ArrayLike | None,
    options: Mapping[str, Any],
    steps: int,
    device: str | None,
    time: ArrayLike | None,
    covariates: Covariates | None,
    **more: Any,
) -> dict[str, Any]:
    data = _inputs(spike_times, features, position_time, position)
    if covariates is not None and time is None:
        raise ValidationError(
            "discrete_transition_covariate_data needs time: when each of its values begins to hold"
        )
    if time is not None:
        data["time"] = _data.vector(time, "time")
        more["design"] = model._design_for(covariates, len(data["time"]))
    return _call(
        model._detector(device),
        data,
        _intervals(events),
        options,
        steps,
        model_bin=1.0 / float(model.sampling_frequency),
        session=model._session(device),
        **more,
    )


def score(
    model: DetectorBase,
    events: pd.DataFrame | ArrayLike,
    spike_times: Sequence[ArrayLike],
    spike_waveform_features: Sequence[ArrayLike] | None = None,
    *,
    position_time: ArrayLike | None = None,
    position: ArrayLike | None = None,
    time: ArrayLike | None = None,
    discrete_transition_covariate_data: Covariates | None = None,
    report: PathLike | None = None,
    overwrite: bool = False,
    progress: ProgressLike = None,
    device: str | None = None,
    **options: Unpack[EventKeywords],
) -> tuple[pd.DataFrame, xr.DataArray]:
    """Decode every event as a sequence of its own and score how replay-like it is.

    Parameters
    ----------
    model : detector
        Fitted.
    events : DataFrame or array of shape (n, 2)
        Of :func:`find`, any subset of it, or start and end times.
    spike_times, spike_waveform_features : sequence of array
        Spikes to decode, s and uV; features of clusterless models only.
    position_time, position : array, optional
        For models with a Local state, and for the speed of events that :func:`find` has not seen.
    time : array, optional
        When the values of the covariates begin to hold, s, as the ``time`` of ``predict()``.
    discrete_transition_covariate_data : mapping of str to array, optional
        Covariates of the transitions, one value per time; a time bin of an event has the value
        that holds at its middle. Needed for ``decoder="states"`` where the transitions depend on
        some; without it, those the model was fitted with, if they are as many as ``time``.
    report : path, optional
        Write an HTML report here; ``report_events`` of them are drawn, the most significant first.
    overwrite : bool
        Replace a report that is there.
    progress : bool or callable, optional
        As everywhere.
    device : str, optional
        'cpu', 'cuda', 'cuda:1' or 'auto'; default: the model's.
    **options
        Table ``decode.events``.

    Returns
    -------
    tuple of DataFrame and DataArray
        The table with scores, and the posterior of every time bin over places.
    """
    found = _run(
        model,
        events,
        spike_times,
        spike_waveform_features,
        position_time,
        position,
        options,
        _SCORE,
        device,
        time,
        discrete_transition_covariate_data,
        report=report,
        overwrite=overwrite,
        progress=progress,
    )
    return _frame(found), _posterior(model, found)


def shuffle_test(
    model: DetectorBase,
    events: pd.DataFrame | ArrayLike,
    spike_times: Sequence[ArrayLike],
    spike_waveform_features: Sequence[ArrayLike] | None = None,
    *,
    position_time: ArrayLike | None = None,
    position: ArrayLike | None = None,
    time: ArrayLike | None = None,
    discrete_transition_covariate_data: Covariates | None = None,
    kinds: Sequence[str] | None = None,
    keep_statistics: bool = False,
    report: PathLike | None = None,
    overwrite: bool = False,
    progress: ProgressLike = None,
    device: str | None = None,
    **options: Unpack[EventKeywords],
) -> tuple[pd.DataFrame, xr.DataArray]:
    """Score events, and ask how often shuffled ones do as well.

    Parameters
    ----------
    model, events, spike_times, spike_waveform_features, position_time, position, time
        As of :func:`score`.
    discrete_transition_covariate_data : mapping of str to array, optional
        As of :func:`score`; shuffles leave covariates at their times.
    kinds : sequence of str, optional
        Of 'column', 'field', 'time', 'marks', 'spikes' and 'units'; default the first three, and
        'marks' or, of sorted spikes, 'units'.
    keep_statistics : bool
        Keep the scores of every shuffle in ``frame.attrs["statistics"]``, (kind, event, shuffle,
        score).
    report, overwrite, progress, device
        As of :func:`score`.
    **options
        Table ``decode.events``; ``shuffles`` is how many of each kind.

    Returns
    -------
    tuple of DataFrame and DataArray
        As of :func:`score`, with columns ``p_<kind>_<score>`` and ``q_<kind>_<score>``;
        ``frame.attrs["shares"]`` is a table of the shares of events with p < 0.05.
    """
    found = _run(
        model,
        events,
        spike_times,
        spike_waveform_features,
        position_time,
        position,
        options,
        _SHUFFLE,
        device,
        time,
        discrete_transition_covariate_data,
        kinds=kinds,
        keep=keep_statistics,
        report=report,
        overwrite=overwrite,
        progress=progress,
    )
    frame = _frame(found)
    pd = _need("pandas")
    shares = pd.DataFrame(
        np.asarray(found["shares"]) if found["kinds"] else np.empty((0, 5)),
        columns=["n_event", "n_significant", "share", "low", "high"],
        index=pd.MultiIndex.from_product([found["kinds"], SCORES], names=["kind", "score"]),
    )
    frame.attrs["shares"] = shares[shares["n_event"] > 0]
    frame.attrs["kinds"] = found["kinds"]
    if keep_statistics and found["kinds"]:
        frame.attrs["statistics"] = np.asarray(found["statistics"]).reshape(
            len(found["kinds"]), len(frame), found["n_shuffle"], len(SCORES)
        )
    return frame, _posterior(model, found)
