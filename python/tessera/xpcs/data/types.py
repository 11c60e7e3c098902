"""How large data are, and how they would be worked on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class DatasetInfo:
    """How large data are.

    Parameters
    ----------
    size : int
        Points.
    category : {'small', 'medium', 'large'}
        In a word.
    memory_usage_mb : float
        What they take.
    recommended_chunk_size, recommended_batch_size : int
        Points at a time.
    use_progressive_loading : bool
        Whether they should be read in parts.
    compression_ratio : float, optional
        Of the file.
    """

    size: int
    category: str
    memory_usage_mb: float
    recommended_chunk_size: int
    recommended_batch_size: int
    use_progressive_loading: bool
    compression_ratio: float | None = None


@dataclass
class ProcessingStrategy:
    """How data would be worked on.

    Parameters
    ----------
    chunk_size, batch_size : int
        Points at a time.
    memory_limit_mb : float
        Memory to stay below.
    use_caching, use_compression : bool
        Whether to keep and to compress what was read.
    parallel_workers : int
        Threads.
    jax_config : dict
        Of the original's array library; nothing here reads it.
    """

    chunk_size: int
    batch_size: int
    memory_limit_mb: float
    use_caching: bool
    use_compression: bool
    parallel_workers: int
    jax_config: dict[str, Any]


__all__ = ["DatasetInfo", "ProcessingStrategy"]
