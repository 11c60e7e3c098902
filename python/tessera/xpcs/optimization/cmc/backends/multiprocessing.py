"""Sampling on this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing import shared_memory
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from tessera.xpcs.optimization.cmc.backends._common import CMCBackend, run_shards

if TYPE_CHECKING:
    from tessera.xpcs.config.parameter_space import ParameterSpace
    from tessera.xpcs.optimization.cmc.config import CMCConfig
    from tessera.xpcs.optimization.cmc.data_prep import PreparedData
    from tessera.xpcs.optimization.cmc.sampler import MCMCSamples

__all__ = ["MultiprocessingBackend", "SharedDataManager"]

_SHARD_ARRAY_KEYS = ("data", "t1", "t2", "phi_unique", "phi_indices")


class SharedDataManager:
    """Arrays and bytes that other processes read without a copy on the way."""

    def __init__(self) -> None:
        self._blocks: list[shared_memory.SharedMemory] = []
        self._refs: dict[str, dict[str, Any]] = {}

    def _block(self, n_byte: int) -> shared_memory.SharedMemory:
        block = shared_memory.SharedMemory(create=True, size=max(1, n_byte))
        self._blocks.append(block)
        return block

    def create_shared_bytes(self, name: str, data: bytes) -> dict[str, Any]:
        """Share bytes.

        Parameters
        ----------
        name : str
            What they are called here.
        data : bytes
            The bytes.

        Returns
        -------
        dict
            What another process needs to read them.
        """
        block = self._block(len(data))
        memoryview(block.buf)[: len(data)] = data  # type: ignore[arg-type]
        self._refs[name] = {"shm_name": block.name, "size": len(data), "type": "bytes"}
        return self._refs[name]

    def create_shared_array(self, name: str, array: npt.NDArray[Any]) -> dict[str, Any]:
        """Share an array.

        Parameters
        ----------
        name : str
            What it is called here.
        array : ndarray
            The array.

        Returns
        -------
        dict
            What another process needs to read it.
        """
        block = self._block(array.nbytes)
        np.ndarray(array.shape, array.dtype, block.buf)[...] = array
        self._refs[name] = {
            "shm_name": block.name,
            "shape": array.shape,
            "dtype": str(array.dtype),
            "type": "array",
        }
        return self._refs[name]

    def create_shared_dict(self, name: str, d: Mapping[str, Any]) -> dict[str, Any]:
        """Share a dict, as JSON: what another process reads is never run.

        Parameters
        ----------
        name : str
            What it is called here.
        d : dict
            Of numbers, words, lists and dicts.

        Returns
        -------
        dict
            What another process needs to read it.
        """
        return self.create_shared_bytes(name, json.dumps(dict(d)).encode())

    def create_shared_shard_arrays(
        self, shard_data_list: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        """Share the arrays of all shards, one block for each kind.

        Parameters
        ----------
        shard_data_list : list of dict
            ``data``, ``t1``, ``t2``, ``phi_unique``, ``phi_indices`` and ``noise_scale``.

        Returns
        -------
        list of dict
            What another process needs to read a shard.
        """
        refs: list[dict[str, Any]] = [{"noise_scale": s["noise_scale"]} for s in shard_data_list]
        for key in _SHARD_ARRAY_KEYS:
            parts = [np.ravel(np.asarray(shard[key])) for shard in shard_data_list]
            whole = self.create_shared_array(f"shards.{key}", np.concatenate(parts))
            begin = 0
            for ref, part in zip(refs, parts, strict=True):
                ref[key] = {
                    "shm_name": whole["shm_name"],
                    "dtype": whole["dtype"],
                    "offset": begin,
                    "size": len(part),
                }
                begin += len(part)
        return refs

    def cleanup(self) -> None:
        """Give the memory back."""
        for block in self._blocks:
            with suppress(OSError):
                block.close()
                block.unlink()
        self._blocks.clear()
        self._refs.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.cleanup()


def _load_shared_bytes(ref: Mapping[str, Any]) -> bytes:
    block = shared_memory.SharedMemory(name=ref["shm_name"])
    try:
        return bytes(memoryview(block.buf)[: ref["size"]])  # type: ignore[arg-type]
    finally:
        block.close()


def _load_shared_dict(ref: Mapping[str, Any]) -> Any:
    return json.loads(_load_shared_bytes(ref))


def _piece(ref: Mapping[str, Any], shape: tuple[int, ...], begin: int) -> npt.NDArray[Any]:
    block = shared_memory.SharedMemory(name=ref["shm_name"])
    try:
        dtype = np.dtype(ref["dtype"])
        return np.ndarray(shape, dtype, block.buf, begin * dtype.itemsize).copy()
    finally:
        block.close()


def _load_shared_array(ref: Mapping[str, Any]) -> npt.NDArray[Any]:
    return _piece(ref, ref["shape"], 0)


def _load_shared_shard_data(shard_ref: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"noise_scale": shard_ref["noise_scale"]}
    for key in _SHARD_ARRAY_KEYS:
        ref = shard_ref[key]
        found[key] = _piece(ref, (ref["size"],), ref["offset"])
    return found


class MultiprocessingBackend(CMCBackend):
    """The points of all shards at once, by all threads of the library.

    Parameters
    ----------
    n_workers : int, optional
        Accepted for scripts of the original, which starts as many processes.
    spawn_method : str, default 'spawn'
        Accepted for scripts of the original.
    """

    def __init__(self, n_workers: int | None = None, spawn_method: str = "spawn") -> None:
        self.n_workers = n_workers or max(1, (os.cpu_count() or 2) // 2 - 1)
        self.spawn_method = spawn_method

    def get_name(self) -> str:
        """Return what it is called.

        Returns
        -------
        str
            The name, with the number of workers.
        """
        return f"multiprocessing({self.n_workers} workers)"

    def run(
        self,
        model: Callable[..., Any],
        model_kwargs: Mapping[str, Any],
        config: CMCConfig,
        shards: Sequence[PreparedData] | None = None,
        initial_values: Mapping[str, float] | None = None,
        parameter_space: ParameterSpace | None = None,
        analysis_mode: str = "static",
        progress_bar: bool = True,
    ) -> MCMCSamples:
        """Sample the points of all shards at once.

        Parameters
        ----------
        model, model_kwargs, config, shards
            As of :class:`CMCBackend`.
        initial_values, parameter_space, analysis_mode, progress_bar
            As of ``run_nuts_sampling``.

        Returns
        -------
        MCMCSamples
            Draws.
        """
        return run_shards(
            model,
            model_kwargs,
            config,
            shards,
            initial_values,
            parameter_space,
            analysis_mode,
            progress_bar,
        )
