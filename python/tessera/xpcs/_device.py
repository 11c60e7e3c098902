"""What the hardware is, how best to use it, and how fast it is at the work that matters.

The functions have the names of ``homodyne.device``; what they say is measured or read from the
machine.
"""

from __future__ import annotations

import math
import statistics
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera import _core
from tessera._core import ArgumentError, DeviceError
from tessera._session import Lease, set_default_device, set_num_threads
from tessera._system import sys_info
from tessera.xpcs._arguments import parameters
from tessera.xpcs._fit import accumulate
from tessera.xpcs._simulate import simulate

if TYPE_CHECKING:
    from tessera.xpcs._keywords import Mode

__all__ = ["benchmark_device_performance", "configure_optimal_device", "get_device_status"]

_GIB = 1024.0**3
# Arithmetic of a point, an exponential counted as 20 and a sine with its cosine as 34 operations.
_FLOP: dict[Mode, dict[str, int]] = {
    "laminar_flow": {"cost": 52, "gradient": 97, "hessian": 115},
    "static_isotropic": {"cost": 2, "gradient": 8, "hessian": 8},
}
_LEVELS = ("cost", "gradient", "hessian")
_ANGLES = 4


def _cpu_info(info: dict[str, Any]) -> dict[str, Any]:
    system, chosen = info["system"], info["chosen"]
    usable = {entry["name"] for entry in info["isa"] if entry["usable"]}
    return {
        "physical_cores": system["cores_physical"],
        "logical_cores": system["cores_present"],
        "allowed_cores": system["cores_allowed"],
        "architecture": system["architecture"],
        "cpu_brand": system["cpu"],
        "numa_nodes": system["numa_nodes"],
        "supports_avx": "avx2" in usable,
        "supports_avx2": "avx2" in usable,
        "supports_avx512": "avx512" in usable,
        "supports_neon": "neon" in usable,
        "supports_sve": "sve" in usable,
        "instruction_set": chosen["isa"],
        "threads": chosen["threads"],
        "threads_origin": chosen["threads_origin"],
        "memory_gb": system["memory_bytes"] / _GIB,
        "memory_available_gb": system["memory_available_bytes"] / _GIB,
        "memory_limit_gb": chosen["memory_limit_bytes"] / _GIB,
    }


def _gpu_info(context: _core.Context, info: dict[str, Any]) -> dict[str, Any]:
    found = [device for device in _core.devices(context) if device["backend"] == "cuda"]
    return {
        "cuda_available": bool(found),
        "reason": "" if found else info["cuda"],
        "devices": [
            {
                "id": device["id"],
                "name": device["name"],
                "detail": device["detail"],
                "memory_total_gb": device["memory_bytes"] / _GIB,
                "memory_available_gb": device["memory_free_bytes"] / _GIB,
            }
            for device in found
        ],
    }


def _recommendations(cpu: dict[str, Any], gpu: dict[str, Any]) -> list[str]:
    said = []
    best = _threads_for(cpu)
    if cpu["threads"] > cpu["physical_cores"]:
        said.append(
            f"{cpu['threads']} threads run on {cpu['physical_cores']} physical cores: "
            f"set_num_threads({best}) leaves the second threads of cores alone"
        )
    if cpu["allowed_cores"] < cpu["logical_cores"]:
        said.append(
            f"this process may use {cpu['allowed_cores']} of {cpu['logical_cores']} cores "
            f"({cpu['threads_origin']}); ask the scheduler for more if that is not meant"
        )
    if cpu["numa_nodes"] > 1:
        said.append(
            f"{cpu['numa_nodes']} NUMA nodes: one process per node (numactl --cpunodebind) keeps "
            "memory near its cores"
        )
    if not (cpu["supports_avx512"] or cpu["supports_avx2"] or cpu["supports_neon"]):
        said.append("no vector instruction set is usable: results are right but slow")
    if not gpu["cuda_available"]:
        said.append(f"no GPU is used: {gpu['reason']}")
    return said


def _estimate(cpu: dict[str, Any], gpu: dict[str, Any]) -> str:
    if gpu["cuda_available"]:
        return "excellent"
    cores = min(cpu["physical_cores"], cpu["allowed_cores"])
    for least, word in ((16, "good"), (4, "moderate")):
        if cores >= least:
            return word
    return "basic"


def get_device_status() -> dict[str, Any]:
    """Say what this machine has.

    Returns
    -------
    dict
        ``timestamp``, ``cpu_info``, ``gpu_info``, ``recommendations`` (list of str) and
        ``performance_estimate`` ('excellent' with a GPU, else by the number of cores 'good',
        'moderate' or 'basic'; :func:`benchmark_device_performance` measures).
    """
    info = sys_info()
    with Lease() as context:
        gpu = _gpu_info(context, info)
    cpu = _cpu_info(info)
    return {
        "timestamp": datetime.now(UTC).isoformat(),
        "cpu_info": cpu,
        "gpu_info": gpu,
        "recommendations": _recommendations(cpu, gpu),
        "performance_estimate": _estimate(cpu, gpu),
    }


def _threads_for(cpu: dict[str, Any]) -> int:
    """Return physical cores, less what the system needs on large machines."""
    cores = int(cpu["physical_cores"])
    spare = 4 if cores >= 32 else 2 if cores >= 16 else 0
    return max(1, min(cores - spare, int(cpu["allowed_cores"])))


def _xpcs_runs_on(device: str) -> str:
    """Return why fits cannot run on a device; empty if they can."""
    try:
        data = simulate(mode="static_isotropic", n_angle=1, n_frame=16, dt=0.1)
        accumulate(data, (1e4, -1.0, 0.0), level=2, mode="static_isotropic", device=device)
    except DeviceError as error:
        return str(error)
    return ""


def configure_optimal_device(
    prefer_gpu: bool | int = True,
    gpu_memory_fraction: float = 0.9,
    cpu_threads: int | None = None,
    force_cpu: bool = False,
) -> dict[str, Any]:
    """Set threads and device of calls that do not say so themselves.

    Parameters
    ----------
    prefer_gpu : bool, default True
        Use a GPU if there is one that can do the work. A number is ``cpu_threads``, which the
        original's later versions have in this place.
    gpu_memory_fraction : float, default 0.9
        Accepted for scripts of the original; memory is taken as it is needed.
    cpu_threads : int, optional
        Default: physical cores, less 2 from 16 and less 4 from 32 on.
    force_cpu : bool, default False
        Whatever there is.

    Returns
    -------
    dict
        ``device_type`` ('cpu' or 'gpu'), ``configuration_successful``, ``performance_ready``,
        ``recommendations``, ``warnings``, ``device_info``.
    """
    if isinstance(prefer_gpu, int) and not isinstance(prefer_gpu, bool) and cpu_threads is None:
        prefer_gpu, cpu_threads = True, prefer_gpu
    if not isinstance(prefer_gpu, bool):
        raise ArgumentError(f"prefer_gpu: expected True or False, got {prefer_gpu!r}")
    if not 0 < gpu_memory_fraction <= 1:
        raise ArgumentError(
            f"gpu_memory_fraction: expected a number above 0 up to 1, got {gpu_memory_fraction}"
        )
    status = get_device_status()
    cpu, gpu = status["cpu_info"], status["gpu_info"]
    said: list[str] = []
    device_type = "cpu"
    if prefer_gpu and not force_cpu:
        if not gpu["cuda_available"]:
            said.append(f"no GPU is used: {gpu['reason']}")
        else:
            why_not = _xpcs_runs_on("cuda")
            device_type = "cpu" if why_not else "gpu"
            if why_not:
                said.append(f"the GPU is there but not used: {why_not}")
    threads = _threads_for(cpu) if cpu_threads is None else cpu_threads
    if threads > cpu["allowed_cores"]:
        said.append(
            f"cpu_threads: {threads} threads share the {cpu['allowed_cores']} cores of this process"
        )
    set_num_threads(threads)
    set_default_device("cuda" if device_type == "gpu" else None)
    return {
        "device_type": device_type,
        "configuration_successful": True,
        "performance_ready": device_type == "gpu" or cpu["instruction_set"] != "ref",
        "recommendations": status["recommendations"],
        "warnings": said,
        "device_info": {
            "threads": threads,
            "instruction_set": cpu["instruction_set"],
            "cpu": cpu,
            "gpu": gpu["devices"],
        },
    }


def _timed(run: Any, seconds: float) -> float:
    """Return the median time of a call; the first is not counted."""
    run()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 101):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def benchmark_device_performance(
    device_type: str | int | None = None, test_size: int = 5000
) -> dict[str, Any]:
    """Time the passes of a fit: cost, cost with gradient, and both with the Hessian.

    Parameters
    ----------
    device_type : {'cpu', 'gpu'}, optional
        Default: the one calls use. A number is ``test_size``, which the original's later versions
        have in this place.
    test_size : int, default 5000
        As many pairs of frames as a matrix of this size has, in 4 matrices.

    Returns
    -------
    dict
        ``device_type``, ``threads``, ``instruction_set``, ``n_points``, ``seconds`` in all, and
        for ``laminar_flow`` and ``static_isotropic`` the ``seconds``, ``points_per_s``,
        ``gb_per_s`` and ``gflop_per_s`` of each pass, on simulated float32 data.
    """
    if isinstance(device_type, int):
        test_size, device_type = device_type, None
    devices = {None: None, "cpu": "cpu", "gpu": "cuda", "cuda": "cuda"}
    if device_type not in devices:
        raise ArgumentError(
            f"device_type: expected 'cpu' or 'gpu', got {device_type!r}; a size is test_size=..."
        )
    if test_size < 16:
        raise ArgumentError(f"test_size: expected 16 or more, got {test_size}")
    begin = time.perf_counter()
    n_frame = max(8, round(test_size / math.sqrt(_ANGLES)))
    device = devices[device_type]
    with Lease(device=device) as context:
        facts = context.info
    found: dict[str, Any] = {
        "device_type": "gpu" if facts["device"].startswith("cuda") else "cpu",
        "device": facts["device"],
        "threads": facts["threads"],
        "instruction_set": facts["isa"],
        "test_size": test_size,
    }
    for mode, flop in _FLOP.items():
        data = simulate(mode=mode, n_angle=_ANGLES, n_frame=n_frame, dt=0.1, gap=2e6, dtype="f32")
        theta = np.array([p["start"] for p in parameters(mode)])
        found["n_points"] = data.n_used
        found[mode] = {}
        for level, name in enumerate(_LEVELS):
            seconds = _timed(
                lambda mode=mode, data=data, theta=theta, level=level: accumulate(
                    data, theta, level=level, mode=mode, device=device
                ),
                0.2,
            )
            found[mode][name] = {
                "seconds": seconds,
                "points_per_s": data.n_used / seconds,
                "gb_per_s": data.n_used * 4 / seconds / 1e9,
                "gflop_per_s": data.n_used * flop[name] / seconds / 1e9,
            }
    found["seconds"] = time.perf_counter() - begin
    return found
