"""What a case is: one computation of known size, ours and the peer's."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    name: str
    sizes: dict[str, Any]
    peer_name: str | None  # distribution name on PyPI: its version goes into the row; None: no peer
    tolerance: float  # on error()
    make: Callable[[], Any]  # the data, the same for both
    ours: Callable[[Any, int], Any]  # (data, threads)
    peer: Callable[[Any], Any]
    error: Callable[[Any, Any], float]  # (ours, theirs)
    bytes_read: float = 0  # the least that must come from memory: one roofline
    flop: float = 0  # the least that must be computed in float32: the other
    more: Callable[[Any, int, float | None], dict[str, Any]] | None = None  # further columns:
    # (data, threads, our median) -> what else there is to say, printed on a line of its own
    all_threads_only: bool = False  # where a row per thread count would take too long
    times: Callable[[Any, int], tuple[float, float | None]] | None = None  # (ours, peer) seconds,
    # where a case measures by itself: first calls in fresh processes, latencies
    what: str = ""  # in words, where the name does not say it
    peer_label: str | None = None  # what a row calls the peer, where peer_name is not what it is
    is_long: bool = False  # runs where it is named, or with --long
