"""Fitted encoding models as dicts with the original's entries, and back to the library's model."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from numbers import Real
from typing import Any, ParamSpec, TypeVar

import numpy as np

from tessera import _core
from tessera.decode import _data
from tessera.decode._data import Array, Floats
from tessera.decode._encoding import KEEPERS, EncodingModel, encoding_options
from tessera.decode._session import Session
from tessera.decode.exceptions import ValidationError

_ROUNDING = 1e-6  # entries that went through float32 are still those of the model
_ASIDE = ("block_size", "disable_progress_bar", "enc_tile_size", "pos_tile_size", "use_streaming")

P = ParamSpec("P")
R = TypeVar("R")


def takes_places_without_weights(function: Callable[P, R]) -> Callable[P, R]:
    """Let arguments stand where they stood before there were weights, which are no number."""
    place = list(inspect.signature(function).parameters).index("weights")

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if len(args) > place and isinstance(args[place], Real):
            args = (*args[:place], None, *args[place:])  # type: ignore[assignment]
        return function(*args, **kwargs)

    call.places_without = "weights"  # type: ignore[attr-defined]  # for the manual's table
    return call


class FittedEncoding(dict[str, Any]):
    """The entries of a fitted encoding model; ``model`` is the library's."""

    def __init__(self, model: EncodingModel, **aside: Any) -> None:
        super().__init__(model)
        self.model = model
        self.update({name: value for name, value in aside.items() if name in _ASIDE})

    def __reduce__(self) -> Any:
        # The model makes its entries again; some, patsy's, could not be written.
        changed = [
            (name, value)
            for name, value in self.items()
            if name not in self.model or value is not self.model[name]
        ]
        return FittedEncoding, (self.model,), None, None, iter(changed)


def fit(
    algorithm: str,
    position_time: Any,
    position: Any,
    spike_times: Any,
    features: Any,
    environment: Any,
    weights: Any,
    params: dict[str, Any],
    device: str | None,
) -> EncodingModel:
    """Fit an encoding model in an environment that has bins."""
    if getattr(environment, "place_bin_centers_", None) is None:
        raise ValidationError(
            f"environment {environment.environment_name!r} has no bins yet",
            hint="call environment.fit_place_grid(position) first",
        )
    when, times = _data.vector(position_time, "position_time"), _data.spike_times(spike_times)
    marks = None if features is None else _data.features(features)
    if marks is not None and "nan_policy" not in params:
        times, marks = _within(times, marks, when)
    training = {
        "position_time": when,
        "position": _data.position(position),
        "spike_times": times,
        "marks": marks,
        "is_training": None,
        "weights": None if weights is None else _data.vector(weights, "weights"),
    }
    model = EncodingModel(environment, training, encoding_options(algorithm, params))
    return model.fit(device=device)


def _within(
    times: list[Floats], marks: list[Floats], when: Floats
) -> tuple[list[Floats], list[Floats]]:
    """Leave out spikes before and after the positions; refuse features that are not finite."""
    if len(times) != len(marks) or not len(when):
        return times, marks
    found: list[tuple[Floats, Floats]] = []
    for electrode, (spikes, values) in enumerate(zip(times, marks, strict=True)):
        if len(spikes) != len(values):
            return times, marks
        kept = (spikes >= when[0]) & (spikes <= when[-1])
        if not np.isfinite(values[kept]).all():
            raise ValidationError(
                f"spike_waveform_features[{electrode}] has values that are not finite",
                hint="leave such spikes out, or pass nan_policy='drop'",
            )
        found.append((spikes[kept], np.ascontiguousarray(values[kept])))
    return [spikes for spikes, _ in found], [values for _, values in found]


def predict(
    model: EncodingModel,
    time: Any,
    position_time: Any,
    position: Any,
    spike_times: Any,
    features: Any,
    is_local: bool,
    device: str | None,
) -> Array:
    """Return (n_time, n_interior), or (n_time, 1) at the animal's own position."""
    observation = {
        "time": _data.vector(time, "time"),
        "spike_times": _data.spike_times(spike_times),
        "marks": None if features is None else _data.features(features),
        "position_time": None
        if position is None or position_time is None
        else _data.vector(position_time, "position_time"),
        "position": None if position is None else _data.position(position),
    }
    function = _core.decode_local_log_likelihood if is_local else _core.decode_log_likelihood
    dtype = "float64" if model.is_exact else "float32"
    handle = model.fit(device=device).handle
    with Session(device=device) as context:
        values, _ = function(context, handle, observation, dtype=dtype)
    found = np.asarray(values)
    return found[:, np.newaxis] if is_local else found


def _same(given: Any, own: Any) -> bool:
    if given is own:
        return True
    try:
        a, b = np.asarray(given, dtype=np.float64), np.asarray(own, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return (
        a.size < 2**12
        and np.size(a) == np.size(b)
        and np.allclose(a.ravel(), b.ravel(), rtol=_ROUNDING, atol=0)
    )


def model_of(encoding_model: Any, entries: dict[str, Any]) -> EncodingModel | None:
    """Return the library's model that these entries are of; None where somebody changed them.

    Entries are completed by those of ``encoding_model``.
    """
    if isinstance(encoding_model, EncodingModel):
        return encoding_model
    if encoding_model is not None:
        entries.update({name: encoding_model[name] for name in entries if name in encoding_model})
    found = [getattr(entries.get(name), "fitted", None) for name in KEEPERS]
    model = next((each for each in found if isinstance(each, EncodingModel)), None)
    if model is None:
        return None
    for name, value in entries.items():
        if name not in (*_ASIDE, *KEEPERS) and not _same(value, model.get(name)):
            return None
    return model


def complete(entries: Mapping[str, Any], function: str) -> None:
    """Refuse a call that gives neither a model nor all of its entries."""
    missing = [name for name, value in entries.items() if value is None]
    if missing:
        names = ", ".join(repr(name) for name in missing)
        raise TypeError(f"{function}() needs encoding_model, or its entries: missing {names}")


def same_number(n: int, **lists: Any) -> None:
    """Refuse populations of different size."""
    for name, value in lists.items():
        if len(value) != n:
            raise ValidationError(
                "population lengths do not match",
                expected=f"{n} electrodes or units, as were fitted",
                got=f"{len(value)} in {name}",
            )
