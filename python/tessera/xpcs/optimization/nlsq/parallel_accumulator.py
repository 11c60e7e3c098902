"""Sums of normal equations over pieces of data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tessera.xpcs._arguments import Floats

Piece = tuple[Floats, Floats, float]
_ENOUGH = 10


def should_use_parallel_accumulation(n_chunks: int) -> bool:
    """Return whether the original would add up in several processes."""
    return n_chunks >= _ENOUGH


def should_use_parallel_compute(n_chunks: int) -> bool:
    """Return whether the original would compute in several processes."""
    return n_chunks >= _ENOUGH


def accumulate_chunks_sequential(chunks: Sequence[Piece]) -> tuple[Floats, Floats, float, int]:
    """Return the sums of matrices, of right sides and of chi squared, and how many there were."""
    if not chunks:
        raise ValueError("Cannot accumulate empty chunks list")
    matrix = np.sum([chunk[0] for chunk in chunks], axis=0)
    right = np.sum([chunk[1] for chunk in chunks], axis=0)
    return matrix, right, float(sum(chunk[2] for chunk in chunks)), len(chunks)


def accumulate_chunks_parallel(
    chunks: Sequence[Piece], n_workers: int = 4
) -> tuple[Floats, Floats, float, int]:
    """Return the same; adding up small matrices is not worth a process."""
    return accumulate_chunks_sequential(chunks)
