"""Reference multivectors that tell a network which symmetries of spacetime its data break."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from tessera import _core

__all__ = ["get_num_spurions", "get_spurions"]

# (t, x, y, z) along the beam.
_BEAMS = {
    "lightlike": (1.0, 0.0, 0.0, 1.0),
    "spacelike": (0.0, 0.0, 0.0, 1.0),
    "timelike": (math.sqrt(2), 0.0, 0.0, 1.0),
}
_VECTOR, _XY_PLANE = 1, 8  # components


def _rows(beam_spurion: str | None, add_time_spurion: bool, beam_mirror: bool) -> list[list[float]]:
    def row(first: int, *numbers: float) -> list[float]:
        return [*[0.0] * first, *numbers, *[0.0] * (16 - first - len(numbers))]

    found = []
    if beam_spurion in _BEAMS:
        t, x, y, z = _BEAMS[beam_spurion]
        found.append(row(_VECTOR, t, x, y, z))
        if beam_mirror:
            found.append(row(_VECTOR, t, x, y, -z))
    elif beam_spurion == "xyplane":
        found.append(row(_XY_PLANE, 1.0))
    elif beam_spurion is not None:
        raise _core.ArgumentError(
            f"beam_spurion: expected {', '.join(_BEAMS)}, xyplane or None, got {beam_spurion!r}"
        )
    if add_time_spurion:
        found.append(row(_VECTOR, 1.0))
    return found


def get_num_spurions(
    beam_spurion: str | None = "xyplane", add_time_spurion: bool = True, beam_mirror: bool = True
) -> int:
    """Return how many multivectors :func:`get_spurions` gives.

    Parameters
    ----------
    beam_spurion, add_time_spurion, beam_mirror
        As of :func:`get_spurions`.

    Returns
    -------
    int
        Multivectors.
    """
    return len(_rows(beam_spurion, add_time_spurion, beam_mirror))


def get_spurions(
    beam_spurion: str | None = "xyplane",
    add_time_spurion: bool = True,
    beam_mirror: bool = True,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Return reference multivectors: more channels of the input that break symmetries.

    Parameters
    ----------
    beam_spurion : {'xyplane', 'lightlike', 'spacelike', 'timelike'} or None
        The plane across the beam, a vector along it, or neither.
    add_time_spurion : bool
        Add the direction of time.
    beam_mirror : bool
        With a vector along the beam, add the one that goes back.
    device : torch.device or str
        Where they are to be.
    dtype : torch.dtype
        Their type.

    Returns
    -------
    torch.Tensor, shape (spurion, 16)
        Multivectors.

    Examples
    --------
    >>> from tessera.clifford.lgatr import get_spurions
    >>> get_spurions("lightlike", add_time_spurion=False)[:, 1:5].tolist()
    [[1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, -1.0]]
    """
    rows = _rows(beam_spurion, add_time_spurion, beam_mirror)
    return torch.tensor(rows, device=device, dtype=dtype).view(len(rows), 16)
