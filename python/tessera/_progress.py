"""What ``progress=`` takes, and a plain bar."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeAlias

from tessera._core import Progress

ProgressLike: TypeAlias = bool | Callable[[Progress], object] | None


class _Bar:
    """One line on stderr, rewritten in place."""

    width = 30

    def __call__(self, progress: Progress) -> None:
        share = progress.done / progress.total if progress.total else 1.0
        filled = int(share * self.width)
        rate = progress.done_bytes / max(progress.elapsed_s, 1e-9) / 1e9
        left = "" if progress.remaining_s is None else f", {progress.remaining_s:.0f} s left"
        end = "\n" if progress.done >= progress.total else ""
        sys.stderr.write(
            f"\r{progress.stage} [{'#' * filled:<{self.width}}] {progress.done}/{progress.total} "
            f"{progress.unit}, {rate:.1f} GB/s{left}  {end}"
        )
        sys.stderr.flush()


def callback(progress: ProgressLike) -> Callable[[Progress], object] | None:
    """Turn what the user gave into a function or None."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return _Bar()
    return progress
