"""What is known of the sensors, from MNE's info and from plain arrays, and which are picked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera._core import ArgumentError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Types that can be solved, and what MNE counts as data beside them.
SOLVABLE = ("mag", "grad", "eeg", "hbo", "hbr", "ecog", "seeg")
_DATA = (*SOLVABLE, "fnirs_cw_amplitude", "fnirs_fd_ac_amplitude", "fnirs_fd_phase", "fnirs_od")
# Coils of the most common MEG system, for arrays that do not say.
_COILS = {"mag": 3024, "grad": 3012}
_GENERIC_DATA = (*_DATA, "csd", "dbs", "dipole", "gof")


@dataclass
class Sensors:
    """Names, types and places of all channels of some epochs."""

    names: list[str]
    types: list[str]
    bads: list[str]
    loc: Floats  # (n_chan, 12) metres
    coil_types: npt.NDArray[np.int32]
    device_to_head: Floats | None = None
    point_kinds: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    points: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    # (name, is active, channel names, vectors)
    projectors: list[tuple[str, bool, list[str], Floats]] = field(default_factory=list)

    def for_core(self) -> dict[str, Any]:
        """Return what the extension takes."""
        bads = set(self.bads)
        return {
            "names": list(self.names),
            "types": list(self.types),
            "coil_types": self.coil_types,
            "bads": np.array([name in bads for name in self.names], np.uint8),
            "loc": self.loc,
            "device_to_head": self.device_to_head,
            "point_kinds": self.point_kinds,
            "points": self.points,
            "projectors": self.projectors,
        }

    @property
    def positions(self) -> Floats:
        """Return the positions, (n_chan, 3)."""
        return self.loc[:, :3]


def _points_of(info: Any) -> tuple[npt.NDArray[np.int32], Floats]:
    dig = info["dig"] or []
    kinds = np.array([int(point["kind"]) for point in dig], np.int32)
    places = np.array([point["r"] for point in dig], np.float64).reshape(len(dig), 3)
    return kinds, places


def sensors_of(info: Any) -> Sensors:
    """Read MNE's info."""
    import mne

    transform = info["dev_head_t"]
    kinds, points = _points_of(info)
    return Sensors(
        names=list(info["ch_names"]),
        types=[mne.channel_type(info, k) for k in range(len(info["ch_names"]))],
        bads=list(info["bads"]),
        loc=np.array([ch["loc"][:12] for ch in info["chs"]], np.float64).reshape(-1, 12),
        coil_types=np.array([int(ch["coil_type"]) for ch in info["chs"]], np.int32),
        device_to_head=(
            None if transform is None else np.ascontiguousarray(transform["trans"], np.float64)
        ),
        point_kinds=kinds,
        points=points,
        projectors=[
            (
                str(proj["desc"]),
                bool(proj["active"]),
                list(proj["data"]["col_names"]),
                np.ascontiguousarray(proj["data"]["data"], np.float64),
            )
            for proj in info["projs"]
        ],
    )


def sensors_from_arrays(
    n_chan: int,
    positions: Any,
    ch_types: str | Sequence[str],
    ch_names: Sequence[str] | None,
    bads: Iterable[str],
    coil_types: Any = None,
    device_to_head: Any = None,
) -> Sensors:
    """Put sensors together from plain arrays; positions may be (n_chan, 3) or (n_chan, 12)."""
    types = [ch_types] * n_chan if isinstance(ch_types, str) else list(ch_types)
    names = [f"CH{k + 1:03d}" for k in range(n_chan)] if ch_names is None else list(ch_names)
    for what, found in (("ch_types", types), ("ch_names", names)):
        if len(found) != n_chan:
            raise ArgumentError(f"{what} has {len(found)} entries, X has {n_chan} channels")
    unknown = sorted(set(bads) - set(names))
    if unknown:
        raise ArgumentError(f"bads: {', '.join(unknown)} not in ch_names")
    loc = np.full((n_chan, 12), np.nan)
    if positions is not None:
        given = np.asarray(positions, np.float64)
        if given.shape not in ((n_chan, 3), (n_chan, 12)):
            raise ArgumentError(
                f"positions: expected shape ({n_chan}, 3), or ({n_chan}, 12) with the axes of MEG "
                f"coils, got {given.shape}"
            )
        loc[:, : given.shape[1]] = given
    if coil_types is None:
        coil_types = [_COILS.get(kind, 0) for kind in types]
    coils = np.ascontiguousarray(coil_types, np.int32)
    if coils.shape != (n_chan,):
        raise ArgumentError(f"coil_types has shape {coils.shape}, X has {n_chan} channels")
    transform = None
    if device_to_head is not None:
        transform = np.ascontiguousarray(device_to_head, np.float64)
    return Sensors(names, types, list(bads), loc, coils, transform)


def has_no_positions(loc: Floats) -> bool:
    """Return whether positions are of no use, by the original's rule."""
    return bool(
        (loc == 0).all() or not np.isfinite(loc).all() or np.allclose(loc, 0.0, rtol=0, atol=1e-8)
    )


def default_picks(sensors: Sensors) -> Ints:
    """Return every data channel that is not marked bad."""
    bads = set(sensors.bads)
    return np.array(
        [
            k
            for k, (name, kind) in enumerate(zip(sensors.names, sensors.types, strict=True))
            if kind in _DATA and name not in bads
        ],
        np.int64,
    )


def _of_types(sensors: Sensors, wanted: Sequence[str]) -> Ints:
    """Return the channels of some types, without those marked bad."""
    bads = set(sensors.bads)
    allowed: set[str] = set()
    for text in wanted:
        if text == "meg":
            allowed |= {"mag", "grad"}
        elif text == "fnirs":
            allowed |= {kind for kind in _DATA if kind.startswith(("fnirs", "hb"))}
        elif text == "data":
            allowed |= set(_GENERIC_DATA)
        elif text == "all":
            allowed |= set(sensors.types)
        else:
            allowed.add(text)
    found = [
        k
        for k, (name, kind) in enumerate(zip(sensors.names, sensors.types, strict=True))
        if kind in allowed and name not in bads
    ]
    return np.array(found, np.int64)


def _by_text(sensors: Sensors, texts: list[str]) -> Ints:
    names = {name: k for k, name in enumerate(sensors.names)}
    known = [text for text in texts if text in names]
    if len(known) == len(texts):
        return np.array([names[text] for text in texts], np.int64)
    missing = [text for text in texts if text not in names]
    if known:
        raise ValueError(
            f"Channel(s) {missing} could not be picked, because they are not present in the info "
            f"instance."
        )
    generic = {"all", "data", "meg", "fnirs"}
    unknown = [text for text in texts if text not in generic and text not in sensors.types]
    if unknown:
        raise ValueError(
            f"picks ({texts}) could not be interpreted as channel names (no channel {missing}), "
            f"channel types (no type {unknown} present), or a generic type (just 'all' or 'data')"
        )
    return _of_types(sensors, texts)


def resolve_picks(sensors: Sensors, picks: Any) -> Ints:
    """Return channel indices in the order given, as MNE reads ``picks``.

    Names and indices keep channels marked bad, types drop them.
    """
    n = len(sensors.names)
    if picks is None:
        found = default_picks(sensors)
    elif isinstance(picks, slice):
        found = np.arange(n, dtype=np.int64)[picks]
    elif isinstance(picks, str):
        found = _by_text(sensors, [picks])
    else:
        given = np.atleast_1d(np.asarray(picks))
        if given.size == 0:
            found = np.zeros(0, np.int64)
        elif given.dtype.kind in "US" or all(isinstance(entry, str) for entry in given):
            found = _by_text(sensors, [str(entry) for entry in given])
        elif given.dtype.kind in "iu":
            if (given >= n).any() or (given < -n).any():
                raise IndexError(f"All picks must be < n_channels ({n}), got {given.tolist()}")
            found = np.where(given < 0, given + n, given).astype(np.int64)
        else:
            raise TypeError(
                f"picks must be a list of int (indices) or list of str (names). The provided data "
                f"type {given.dtype} is invalid."
            )
    if len(found) == 0:
        raise ValueError(f"No appropriate channels found for the given picks ({picks!r})")
    return found


def group_by_type(sensors: Sensors, picks: Iterable[int]) -> list[tuple[str, list[int]]]:
    """Return the picks of each type, types in order of first appearance."""
    groups: dict[str, list[int]] = {}
    for pick in picks:
        groups.setdefault(sensors.types[pick], []).append(pick)
    return list(groups.items())
