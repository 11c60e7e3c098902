"""Helpers that scripts import from the original's ``autoreject.utils``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tessera import _core
from tessera._lib import Session
from tessera.autoreject._epochs import check_epochs, check_sensors
from tessera.autoreject._sensors import Ints, Sensors, group_by_type, resolve_picks, sensors_of
from tessera.autoreject.viz import set_matplotlib_defaults

if TYPE_CHECKING:
    from typing import Literal

    from tessera.autoreject._types import InstT, Picks, Verbose

__all__ = ["clean_by_interp", "interpolate_bads", "set_matplotlib_defaults"]

_MEG = ("mag", "grad")


def _handle_picks(info: Any, picks: Any) -> Ints:
    """Return the indices of picks, as MNE reads them; None: every data channel not bad."""
    return resolve_picks(sensors_of(info), picks)


def _get_picks_by_type(info: Any, picks: Any) -> list[tuple[str, list[int]]]:
    """Return (type, indices) for the types in the picks."""
    return group_by_type(sensors_of(info), picks)


def _check_data(
    epochs: Any,
    picks: Any,
    ch_constraint: str = "data_channels",
    check_loc: bool = True,
    verbose: Any = True,
) -> None:
    """Refuse epochs or picks that autoreject cannot work on."""
    info = epochs.info
    check_epochs(epochs)
    check_sensors(
        sensors_of(info),
        np.asarray(picks, np.int64),
        constraint=ch_constraint,
        check_loc=check_loc,
        verbose=verbose,
    )


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


def _kinds(sensors: Sensors, picks: Ints) -> list[Ints]:
    """Return the picks that are predicted from each other: EEG, and mag with grad."""
    eeg = np.array([k for k in picks if sensors.types[k] == "eeg"], np.int64)
    meg = np.array([k for k in picks if sensors.types[k] in _MEG], np.int64)
    return [kind for kind in (eeg, meg) if len(kind)]


def clean_by_interp(inst: InstT, picks: Picks = None, verbose: Verbose = True) -> InstT:
    """Replace every channel by its prediction from the others: EEG from EEG, MEG from mag and grad.

    Parameters
    ----------
    inst : mne.Epochs or mne.Evoked
        Left as it is.
    picks : str, list, slice or None
        Channels; None: every data channel that is not bad.
    verbose : bool
        Accepted for the original's scripts; nothing is shown.

    Returns
    -------
    mne.Epochs or mne.Evoked
        A copy.
    """
    sensors = sensors_of(inst.info)
    chosen = np.unique(resolve_picks(sensors, picks))
    out: InstT = inst.copy()
    data = _data_of(inst)
    cleaned = _data_of(out)
    for kind in _kinds(sensors, chosen):
        for channel in kind:
            others = kind[kind != channel]
            if len(others) == 0 and sensors.types[channel] == "eeg":
                cleaned[..., channel, :] = 0  # the original's prediction from nothing
                continue
            weights = weights_of(sensors, others, [channel])
            cleaned[..., channel, :] = (weights @ data[..., others, :])[..., 0, :]
    return out


def interpolate_bads(
    inst: InstT,
    picks: Picks,
    dots: object = None,
    reset_bads: bool = True,
    mode: Literal["accurate", "fast"] = "accurate",
) -> InstT:
    """Predict the channels in ``info["bads"]`` from the other picks, in place.

    Parameters
    ----------
    inst : mne.Epochs or mne.Evoked
        With preloaded data.
    picks : list of int
        Channels that take part, as sources and as targets.
    dots : optional
        Anything but None stands for the mode the fit uses; the library computes its own.
    reset_bads : bool, default True
        Empty ``info["bads"]`` afterwards.
    mode : {'accurate', 'fast'}
        Of the MEG field mapping.

    Returns
    -------
    inst
        The same object.
    """
    if mode not in ("accurate", "fast"):
        raise ValueError(f"mode: expected 'accurate' or 'fast', got {mode!r}")
    sensors = sensors_of(inst.info)
    chosen = np.unique(resolve_picks(sensors, picks))
    bads = set(sensors.bads)
    data = _data_of(inst)
    for kind in _kinds(sensors, chosen):
        bad = np.array([k for k in kind if sensors.names[k] in bads], np.int64)
        good = np.array([k for k in kind if sensors.names[k] not in bads], np.int64)
        if len(bad):
            accurate = mode == "accurate" and dots is None
            weights = weights_of(sensors, good, bad, accurate=accurate)
            data[..., bad, :] = weights @ data[..., good, :]
    if reset_bads:
        inst.info["bads"] = []
    return inst


def _data_of(inst: Any) -> Any:
    """Return the samples of MNE's epochs or evoked where they lie."""
    return inst.data if hasattr(inst, "comment") and hasattr(inst, "nave") else inst._data
