"""Sizes of data in the original's words, and points in chunks.

Fits here take data of any size as they are; these names are for scripts that loop over chunks of
their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tessera import get_num_threads
from tessera._core import ArgumentError
from tessera.xpcs.data.types import DatasetInfo, ProcessingStrategy

__all__ = [
    "DatasetInfo",
    "DatasetOptimizer",
    "ProcessingStrategy",
    "create_dataset_optimizer",
    "optimize_for_method",
]

Floats = npt.NDArray[Any]
Chunk = tuple[Floats, Floats | None, Floats, Floats, Floats]
Arrays = tuple[
    npt.ArrayLike, npt.ArrayLike | None, npt.ArrayLike, npt.ArrayLike, npt.ArrayLike
]

_MIB = 1 << 20
_COPIES = 4  # of the data that intermediate results take, as the original counts
_MARGIN = 0.8  # of the limit
_MOST_WORKERS = 8


class _Size(NamedTuple):
    category: str
    below: float  # points
    chunks: tuple[int, int]  # at most so many points, or the data in so many parts
    batches: tuple[int, int]
    efficiency: float


_SIZES = (
    _Size("small", 1_000_000, (1_000_000, 1), (1000, 10), 1.0),
    _Size("medium", 10_000_000, (500_000, 4), (500, 100), 0.8),
    _Size("large", float("inf"), (100_000, 20), (100, 1000), 0.6),
)
# Points a second of the original, which estimates are made with.
_RATES = {"nlsq": 100_000, "cmc": 5_000}
_OTHER_RATE = 1_000


class DatasetOptimizer:
    """Tells how the original would cut data.

    Parameters
    ----------
    memory_limit_mb : float, default 4096
        Memory to stay below.
    enable_compression : bool, default True
        Whether a strategy for large data may compress.
    max_workers : int, optional
        Threads; by default those of this program, 8 at most.
    """

    def __init__(
        self,
        memory_limit_mb: float = 4096.0,
        enable_compression: bool = True,
        max_workers: int | None = None,
    ) -> None:
        if not memory_limit_mb > 0:
            raise ArgumentError(f"memory_limit_mb: expected more than 0, got {memory_limit_mb!r}")
        self.memory_limit_mb = memory_limit_mb
        self.enable_compression = enable_compression
        self.max_workers = max_workers or min(get_num_threads(), _MOST_WORKERS)

    def analyze_dataset(
        self, data: npt.ArrayLike, sigma: npt.ArrayLike | None = None
    ) -> DatasetInfo:
        """Tell how large data are.

        Parameters
        ----------
        data : array
            Correlations.
        sigma : array, optional
            Their standard deviations.

        Returns
        -------
        DatasetInfo
            Points, memory and sizes of chunks.
        """
        own = np.asarray(data)
        more = 0 if sigma is None else np.asarray(sigma).nbytes
        memory = _COPIES * (own.nbytes + more) / _MIB
        size = next(size for size in _SIZES if own.size < size.below)
        chunk, batch = (min(most, own.size // parts) for most, parts in (size.chunks, size.batches))
        if memory > self.memory_limit_mb:
            share = self.memory_limit_mb / memory
            chunk, batch = int(chunk * share * _MARGIN), int(batch * share * _MARGIN)
        return DatasetInfo(own.size, size.category, memory, chunk, batch, size.category != "small")

    def get_processing_strategy(
        self, dataset_info: DatasetInfo, method: str = "nlsq"
    ) -> ProcessingStrategy:
        """Tell how data would be worked on.

        Parameters
        ----------
        dataset_info : DatasetInfo
            Of :meth:`analyze_dataset`.
        method : {'nlsq', 'cmc'}
            Fit or sampling.

        Returns
        -------
        ProcessingStrategy
            ``jax_config`` is empty.
        """
        chunk, batch = dataset_info.recommended_chunk_size, dataset_info.recommended_batch_size
        if method.lower() == "nlsq":
            batch = min(2 * batch, chunk)
        elif method.lower() == "cmc":
            chunk, batch = max(chunk // 2, 1000), max(batch // 2, 50)
        workers = {"small": 1, "medium": min(self.max_workers, 4)}
        return ProcessingStrategy(
            chunk_size=chunk,
            batch_size=batch,
            memory_limit_mb=self.memory_limit_mb,
            use_caching=dataset_info.use_progressive_loading,
            use_compression=self.enable_compression and dataset_info.category == "large",
            parallel_workers=workers.get(dataset_info.category, self.max_workers),
            jax_config={},
        )

    def create_chunked_iterator(
        self,
        data: npt.ArrayLike,
        sigma: npt.ArrayLike | None,
        t1: npt.ArrayLike,
        t2: npt.ArrayLike,
        phi: npt.ArrayLike,
        chunk_size: int,
    ) -> Iterator[Chunk]:
        """Cut arrays along their first axis.

        Parameters
        ----------
        data, sigma : array
            Cut alike; sigma may be None.
        t1, t2 : array
            Of the whole grid: every chunk has them in full.
        phi : array
            Cut as well if it has more than one angle.
        chunk_size : int
            Items of a chunk.

        Yields
        ------
        tuple
            data, sigma, t1, t2 and phi of a chunk.
        """
        if chunk_size < 1:
            raise ArgumentError(f"chunk_size: expected 1 or more, got {chunk_size!r}")
        points, angles, times = np.asarray(data), np.asarray(phi), (np.asarray(t1), np.asarray(t2))
        noise = None if sigma is None else np.asarray(sigma)
        for begin in range(0, len(points), chunk_size):
            part = slice(begin, begin + chunk_size)
            yield (
                points[part],
                None if noise is None else noise[part],
                *times,
                angles[part] if len(angles) > 1 else angles,
            )

    def _prepared(self, arrays: Arrays, method: str, cut: tuple[str, ...]) -> dict[str, Any]:
        info = self.analyze_dataset(arrays[0], arrays[1])
        strategy = self.get_processing_strategy(info, method)
        is_cut = info.category in cut
        return {
            "dataset_info": info,
            "strategy": strategy,
            "chunked_iterator": self.create_chunked_iterator(*arrays, strategy.chunk_size)
            if is_cut
            else None,
            "preprocessing_time": 0.0,
        }

    def optimize_for_nlsq(
        self,
        data: npt.ArrayLike,
        sigma: npt.ArrayLike | None,
        t1: npt.ArrayLike,
        t2: npt.ArrayLike,
        phi: npt.ArrayLike,
        **kwargs: object,
    ) -> dict[str, Any]:
        """Tell how a fit of the original would cut data.

        Parameters
        ----------
        data, sigma, t1, t2, phi : array
            As in :meth:`create_chunked_iterator`.
        **kwargs
            Not read, as there.

        Returns
        -------
        dict
            ``dataset_info``, ``strategy``, and ``chunked_iterator`` for large data.
        """
        return self._prepared((data, sigma, t1, t2, phi), "nlsq", ("large",))

    def optimize_for_cmc(
        self,
        data: npt.ArrayLike,
        sigma: npt.ArrayLike | None,
        t1: npt.ArrayLike,
        t2: npt.ArrayLike,
        phi: npt.ArrayLike,
        **kwargs: object,
    ) -> dict[str, Any]:
        """Tell how sampling of the original would cut data.

        Parameters
        ----------
        data, sigma, t1, t2, phi, **kwargs
            As in :meth:`optimize_for_nlsq`.

        Returns
        -------
        dict
            As there; medium data are cut, too.
        """
        return self._prepared((data, sigma, t1, t2, phi), "cmc", ("medium", "large"))

    def estimate_processing_time(
        self, dataset_info: DatasetInfo, method: str = "nlsq"
    ) -> dict[str, float]:
        """Estimate how long the original takes; :func:`tessera.xpcs.plan` tells of ours.

        Parameters
        ----------
        dataset_info : DatasetInfo
            Of :meth:`analyze_dataset`.
        method : {'nlsq', 'cmc'}
            Fit or sampling.

        Returns
        -------
        dict
            ``estimated_seconds``, ``estimated_minutes``, ``effective_rate``, ``efficiency``.
        """
        efficiency = {size.category: size.efficiency for size in _SIZES}[dataset_info.category]
        rate = efficiency * _RATES.get(method.lower(), _OTHER_RATE)
        seconds = dataset_info.size / rate
        return {
            "estimated_seconds": seconds,
            "estimated_minutes": seconds / 60,
            "effective_rate": rate,
            "efficiency": efficiency,
        }


def create_dataset_optimizer(**kwargs: float | bool | None) -> DatasetOptimizer:
    """Make a :class:`DatasetOptimizer`; words that it does not know are left out.

    Parameters
    ----------
    **kwargs
        Of :class:`DatasetOptimizer`.

    Returns
    -------
    DatasetOptimizer
        With them.
    """
    known = ("memory_limit_mb", "enable_compression", "max_workers")
    own: dict[str, Any] = {name: kwargs[name] for name in known if name in kwargs}
    return DatasetOptimizer(**own)


def optimize_for_method(
    data: npt.ArrayLike,
    sigma: npt.ArrayLike | None,
    t1: npt.ArrayLike,
    t2: npt.ArrayLike,
    phi: npt.ArrayLike,
    method: str = "nlsq",
    **kwargs: float | bool | None,
) -> dict[str, Any]:
    """Tell how the original would cut data for a method.

    Parameters
    ----------
    data, sigma, t1, t2, phi : array
        As in :meth:`DatasetOptimizer.create_chunked_iterator`.
    method : {'nlsq', 'cmc'}
        Fit or sampling.
    **kwargs
        Of :class:`DatasetOptimizer`.

    Returns
    -------
    dict
        As :meth:`DatasetOptimizer.optimize_for_nlsq`.
    """
    optimizer = create_dataset_optimizer(**kwargs)
    if method.lower() == "nlsq":
        return optimizer.optimize_for_nlsq(data, sigma, t1, t2, phi)
    if method.lower() == "cmc":
        return optimizer.optimize_for_cmc(data, sigma, t1, t2, phi)
    raise ArgumentError(f"Unknown method: {method}. Use 'nlsq' or 'cmc'.")
