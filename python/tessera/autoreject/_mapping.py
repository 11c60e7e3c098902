"""Which channels predict which others, as the original's helpers take and give it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera import _core
from tessera._lib import Session
from tessera.autoreject._sensors import Ints, Sensors

MEG = ("mag", "grad")


def weights_of(
    sensors: Sensors, source: Any, target: Any, *, accurate: bool = False, **options: Any
) -> Any:
    """Return the matrix that predicts channels ``target`` from channels ``source``."""
    with Session() as context:
        return np.asarray(
            _core.autoreject_weights(
                context,
                sensors.for_core(),
                np.asarray(source, np.int64),
                np.asarray(target, np.int64),
                {"meg_accurate": accurate, **options},
            )
        )


def dots_of(sensors: Sensors, channels: Any, *, accurate: bool = False) -> Any:
    """Return the dot products of the lead fields of MEG channels."""
    with Session() as context:
        return np.array(
            _core.autoreject_meg_dots(
                context,
                sensors.for_core(),
                np.asarray(channels, np.int64),
                {"meg_accurate": accurate},
            )
        )


def kinds_of(sensors: Sensors, picks: Any) -> list[Ints]:
    """Return the picks that are predicted from each other: EEG, and mag with grad."""
    eeg = np.array([k for k in picks if sensors.types[k] == "eeg"], np.int64)
    meg = np.array([k for k in picks if sensors.types[k] in MEG], np.int64)
    return [kind for kind in (eeg, meg) if len(kind)]


def predict_marked(sensors: Sensors, data: Any, picks: Any, marked: Any, *, accurate: bool) -> None:
    """Predict the marked channels of every epoch from its other picks, in place.

    Epochs with the same marks share a matrix.
    """
    for kind in kinds_of(sensors, picks):
        patterns, which = np.unique(marked[:, kind], axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            if not pattern.any():
                continue
            rows = np.flatnonzero(which.ravel() == number)
            bad, good = kind[pattern], kind[~pattern]
            weights = weights_of(sensors, good, bad, accurate=accurate)
            data[np.ix_(rows, bad)] = weights @ data[np.ix_(rows, good)]
