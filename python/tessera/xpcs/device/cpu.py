"""The processor: what it is, threads of the libraries of a program, and a quick measurement."""

from __future__ import annotations

import os
import platform
import time
from typing import Any

import numpy as np

from tessera._core import ArgumentError
from tessera._session import set_num_threads
from tessera._system import sys_info
from tessera.xpcs._device import _cpu_info, _threads_for

__all__ = [
    "benchmark_cpu_performance",
    "configure_cpu_hpc",
    "configure_cpu_threading",
    "detect_cpu_info",
    "get_optimal_batch_size",
]

_POINT_BYTES = 0.1 * 1024**2  # of the original's estimate
_FEWEST = 1000
_TRIM = {"aggressive": "65536", "standard": "131072"}


def detect_cpu_info() -> dict[str, Any]:
    """Say what processor this is.

    Returns
    -------
    dict
        ``physical_cores``, ``logical_cores``, ``architecture``, ``processor``, ``cpu_brand``,
        ``numa_nodes``, ``supports_avx``, ``supports_avx512``, ``optimization_flags`` and more.
    """
    found = _cpu_info(sys_info())
    flags = [name for name in ("avx512", "avx2", "sve", "neon") if found[f"supports_{name}"]]
    return {**found, "processor": platform.processor(), "optimization_flags": flags[:1]}


def configure_cpu_hpc(
    num_threads: int | None = None,
    enable_hyperthreading: bool = False,
    numa_policy: str = "auto",
    memory_optimization: str = "standard",
    enable_onednn: bool = False,
) -> dict[str, Any]:
    """Set the threads of calls, and variables that other libraries read.

    Parameters
    ----------
    num_threads : int, optional
        Default: cores, less 2 from 16 and less 4 from 32 on.
    enable_hyperthreading : bool, default False
        Count the second threads of cores too.
    numa_policy : {'auto', 'local', 'interleave'}
        Kept in ``NUMA_POLICY`` for scripts; memory lies where threads first touch it.
    memory_optimization : {'standard', 'aggressive'}
        When the C library gives memory back.
    enable_onednn : bool, default False
        Accepted for scripts of the original: it concerns JAX.

    Returns
    -------
    dict
        ``cpu_info``, ``threads_configured`` and what was set.
    """
    info = detect_cpu_info()
    if num_threads is None:
        num_threads = info["allowed_cores"] if enable_hyperthreading else _threads_for(info)
    if num_threads < 1:
        raise ArgumentError(f"num_threads: expected 1 or more, got {num_threads}")
    words = dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(num_threads)
    )
    os.environ.update(words)
    if memory_optimization in _TRIM:
        os.environ["MALLOC_TRIM_THRESHOLD_"] = _TRIM[memory_optimization]
    if numa_policy != "auto" and info["numa_nodes"] > 1:
        os.environ["NUMA_POLICY"] = numa_policy
    set_num_threads(num_threads)
    return {
        **words,
        "cpu_info": info,
        "threads_configured": num_threads,
        "hyperthreading_enabled": enable_hyperthreading,
        "numa_policy": numa_policy,
        "memory_optimization": memory_optimization,
        "onednn_enabled": enable_onednn,
    }


def configure_cpu_threading(num_threads: int | None = None) -> dict[str, Any]:
    """Set the threads of calls; see :func:`configure_cpu_hpc`.

    Parameters
    ----------
    num_threads : int, optional
        As there.

    Returns
    -------
    dict
        As there.
    """
    return configure_cpu_hpc(num_threads)


def get_optimal_batch_size(
    data_size: int, available_memory_gb: float | None = None, target_memory_usage: float = 0.7
) -> int:
    """Return how many points the original would take at once; fits here choose themselves.

    Parameters
    ----------
    data_size : int
        Number of points.
    available_memory_gb : float, optional
        Default: what is free.
    target_memory_usage : float, default 0.7
        Share of it.

    Returns
    -------
    int
        1000 or more.
    """
    if available_memory_gb is None:
        available_memory_gb = detect_cpu_info()["memory_available_gb"]
    fitting = int(available_memory_gb * 1024**3 * target_memory_usage / _POINT_BYTES)
    return max(min(fitting, data_size), _FEWEST)


def benchmark_cpu_performance(test_size: int = 10000, num_iterations: int = 5) -> dict[str, Any]:
    """Time a Fourier transform of NumPy.

    Parameters
    ----------
    test_size : int, default 10000
        Side of the matrix.
    num_iterations : int, default 5
        How often.

    Returns
    -------
    dict
        ``numpy_performance`` (seconds of each), ``numpy_mean_time``, ``numpy_std_time`` and
        ``cpu_info``. :func:`tessera.xpcs.benchmark_device_performance` times what fits do.
    """
    seconds = []
    values = np.random.default_rng(0).standard_normal((test_size, test_size))
    for _ in range(num_iterations):
        begin = time.perf_counter()
        np.sum(np.abs(np.fft.fft2(values)) ** 2)
        seconds.append(time.perf_counter() - begin)
    return {
        "numpy_performance": seconds,
        "cpu_info": detect_cpu_info(),
        "numpy_mean_time": float(np.mean(seconds)),
        "numpy_std_time": float(np.std(seconds)),
    }
