"""Helpers that scripts import from the original's ``autoreject.utils``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tessera import _core
from tessera.autoreject._arguments import check_verbose
from tessera.autoreject._epochs import check_epochs, check_sensors
from tessera.autoreject._mapping import MEG, dots_of, kinds_of, weights_of
from tessera.autoreject._sensors import (
    Ints,
    Sensors,
    group_by_type,
    has_no_positions,
    resolve_picks,
    sensors_of,
)
from tessera.autoreject.viz import set_matplotlib_defaults

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from tessera.autoreject._types import InstT, Picks, Verbose

__all__ = ["clean_by_interp", "interpolate_bads", "set_matplotlib_defaults"]

# Of epochs.get_data(), which copies unless told; scripts for the original 0.4 import it.
_GDKW = {"copy": False}
_COLUMNS = 75
_LONGEST = 500


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


def _check_ch_locs(chs: Any) -> bool:
    """Return whether the channels of an info have positions that can be used."""
    loc = np.array([ch["loc"][:3] for ch in chs], np.float64)
    return not has_no_positions(loc)


def _get_epochs_type() -> Any:
    """Return the class that all epochs of MNE's are made of."""
    import mne

    return mne.BaseEpochs


def _get_channel_type(epochs: Any, picks: Any) -> Literal["eeg", "meg"]:
    """Return whether picks are EEG or MEG; both, or others, are an error."""
    sensors = sensors_of(epochs.info)
    types = list(dict.fromkeys(sensors.types[k] for k in picks))
    others = [kind for kind in types if kind not in ("eeg", *MEG)]
    if others:
        raise _core.ArgumentError(
            f"Invalid channel types present in epochs. Expected ONLY `meg` or ONLY `eeg`. Got "
            f"{', '.join(others)}"
        )
    if not types or ("eeg" in types and len(types) > 1):
        raise _core.ArgumentError("picks: expected eeg channels, or meg channels, but not both")
    return "eeg" if types[0] == "eeg" else "meg"


def _pprint(params: Mapping[str, object], offset: int = 0, printer: Any = repr) -> str:
    """Return ``name=value`` of parameters, sorted, in lines of less than 75 columns."""
    lines = [""]
    for name, value in sorted(params.items()):
        shown = f"{name}={str(value) if type(value) is float else printer(value)}"
        if len(shown) > _LONGEST:
            shown = f"{shown[:300]}...{shown[-100:]}"
        start = offset if len(lines) == 1 else 0
        if lines[-1] and start + len(lines[-1]) + len(shown) >= _COLUMNS:
            lines[-1] += ","
            lines.append(" " * (1 + offset // 2) + shown)
        else:
            lines[-1] += f", {shown}" if lines[-1] else shown
    return "\n".join(lines)


def _pbar(iterable: Any, desc: str, verbose: Any = True, **kwargs: Any) -> Any:
    """Return the iterable, with MNE's progress bar around it if verbose."""
    check_verbose(verbose)
    if not verbose:
        return iterable
    from mne.utils import ProgressBar

    return ProgressBar(iterable, mesg=desc, **kwargs)


def _compute_dots(info: Any, mode: str = "fast", *, templates: object = None) -> tuple[Any, Any]:
    """Return the dot products of MEG channels with themselves and across, which are the same.

    Templates of coils are accepted; the library has its own.
    """
    sensors = sensors_of(info)
    dots = dots_of(sensors, np.arange(len(sensors.names)), accurate=_is_accurate(mode))
    return dots, dots


def _pick_dots(dots: Any, pick_from: Any, pick_to: Any) -> Any:
    """Return the part of dot products that maps some channels to others; None stays None."""
    if dots is None:
        return None
    own, across = dots
    source = np.asarray(pick_from)
    return [own[np.ix_(source, source)], across[np.ix_(np.asarray(pick_to), source)]]


def _fast_map_meg_channels(
    info: Any, pick_from: Any, pick_to: Any, dots: object = None, mode: str = "fast"
) -> Any:
    """Return the matrix that predicts MEG channels from others.

    Dots are accepted; the library computes its own.
    """
    accurate = _is_accurate(mode) and dots is None
    return weights_of(sensors_of(info), list(pick_from), list(pick_to), accurate=accurate)


def _is_accurate(mode: str) -> bool:
    if mode not in ("accurate", "fast"):
        raise _core.ArgumentError(f"mode: expected 'accurate' or 'fast', got {mode!r}")
    return mode == "accurate"


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
    return _clean_by_interp(inst, picks, verbose=verbose)


def _clean_by_interp(
    inst: InstT, picks: Picks = None, dots: object = None, verbose: Verbose = True
) -> InstT:
    """Do what :func:`clean_by_interp` does; dots are accepted, the library computes its own."""
    sensors = sensors_of(inst.info)
    chosen = np.unique(resolve_picks(sensors, picks))
    out: InstT = inst.copy()
    data = _data_of(inst)
    cleaned = _data_of(out)
    for kind in kinds_of(sensors, chosen):
        weights = np.zeros((len(kind), len(kind)))
        for row, channel in enumerate(kind):
            is_other = kind != channel
            # Of an electrode alone nothing is predicted: 0, as by the original.
            if is_other.any() or sensors.types[channel] != "eeg":
                weights[row, is_other] = weights_of(sensors, kind[is_other], [channel])[0]
        rows = data[..., kind, :]
        if np.isfinite(rows).all():
            cleaned[..., kind, :] = weights @ rows
            continue
        for row, channel in enumerate(kind):  # 0 times NaN would be NaN
            is_other = kind != channel
            cleaned[..., channel, :] = weights[row, is_other] @ rows[..., is_other, :]
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
    accurate = _is_accurate(mode) and dots is None
    sensors = sensors_of(inst.info)
    for kind in kinds_of(sensors, np.unique(resolve_picks(sensors, picks))):
        _predict_bads(inst, sensors, kind, accurate=accurate)
    if reset_bads:
        inst.info["bads"] = []
    return inst


def _predict_bads(inst: Any, sensors: Sensors, channels: Any, *, accurate: bool = False) -> None:
    """Predict those of some channels that are marked bad from the others, in place."""
    bads = set(sensors.bads)
    bad = [k for k in channels if sensors.names[k] in bads]
    good = [k for k in channels if sensors.names[k] not in bads]
    if bad:
        data = _data_of(inst)
        weights = weights_of(sensors, good, bad, accurate=accurate)
        data[..., bad, :] = weights @ data[..., good, :]


def _interpolate_bads_eeg(inst: Any, picks: Any = None) -> None:
    """Predict bad EEG channels from the other picks, in place; None: all EEG channels."""
    sensors = sensors_of(inst.info)
    if picks is None:
        picks = [k for k, kind in enumerate(sensors.types) if kind == "eeg"]
    _predict_bads(inst, sensors, resolve_picks(sensors, picks))


def _interpolate_bads_meg_fast(
    inst: Any, picks: Any, mode: str = "accurate", dots: object = None
) -> None:
    """Predict bad MEG channels from the other picks, in place."""
    sensors = sensors_of(inst.info)
    accurate = _is_accurate(mode) and dots is None
    _predict_bads(inst, sensors, resolve_picks(sensors, picks), accurate=accurate)


def _data_of(inst: Any) -> Any:
    """Return the samples of MNE's epochs or evoked where they lie."""
    return inst.data if hasattr(inst, "comment") and hasattr(inst, "nave") else inst._data
