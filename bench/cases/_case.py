"""What a case is: one computation of known size, ours and the peer's."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    name: str
    sizes: dict[str, Any]
    peer_name: str  # distribution name on PyPI: its version goes into the row
    bytes_read: int  # the least that must come from memory: what the roofline counts
    tolerance: float  # on error()
    make: Callable[[], Any]  # the data, the same for both
    ours: Callable[[Any, int], Any]  # (data, threads)
    peer: Callable[[Any], Any]
    error: Callable[[Any, Any], float]  # (ours, theirs)
