"""What the machine is, how it is set up, how fast it is."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from typing import Any

import pytest

import tessera
from tessera import _session, xpcs


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    threads, device = _session._Defaults.threads, _session._Defaults.device
    yield
    tessera.set_num_threads(threads)  # by the call: others keep what it told them
    _session.set_default_device(device)


def test_status_tells_the_truth() -> None:
    status = tessera.get_device_status()
    assert set(status) == {
        "timestamp", "cpu_info", "gpu_info", "recommendations", "performance_estimate",
    }  # fmt: skip
    cpu = status["cpu_info"]
    assert cpu["logical_cores"] == os.cpu_count()
    assert 1 <= cpu["physical_cores"] <= (os.cpu_count() or 1)
    assert cpu["allowed_cores"] <= len(os.sched_getaffinity(0))
    assert cpu["architecture"] == platform.machine()
    assert cpu["numa_nodes"] >= 1
    assert cpu["cpu_brand"]
    if platform.machine() == "x86_64":
        with open("/proc/cpuinfo") as file:
            assert cpu["supports_avx2"] == (" avx2 " in file.read())
    gpu = status["gpu_info"]
    assert gpu["cuda_available"] == bool(gpu["devices"])
    assert gpu["cuda_available"] or gpu["reason"]
    assert status["performance_estimate"] in ("excellent", "good", "moderate", "basic")


def test_the_same_functions_everywhere() -> None:
    from tessera.xpcs import device

    assert xpcs.get_device_status is device.get_device_status is tessera.get_device_status
    assert tessera.device.configure_optimal_device is tessera.configure_optimal_device


def test_configure() -> None:
    found = tessera.configure_optimal_device(force_cpu=True)
    assert found["device_type"] == "cpu"
    assert found["configuration_successful"]
    assert found["performance_ready"]
    assert found["warnings"] == []
    threads = found["device_info"]["threads"]
    assert tessera.get_num_threads() == threads
    assert threads <= tessera.get_device_status()["cpu_info"]["physical_cores"]
    one = tessera.configure_optimal_device(cpu_threads=1)
    assert tessera.get_num_threads() == one["device_info"]["threads"] == 1
    many = tessera.configure_optimal_device(force_cpu=True, cpu_threads=1024)
    assert "1024" in many["warnings"][0]


@pytest.mark.parametrize(
    ("cores", "allowed", "want"),
    [(1, 1, 1), (8, 8, 8), (15, 15, 15), (16, 16, 14), (31, 31, 29), (32, 32, 28), (64, 8, 8)],
)
def test_default_threads(cores: int, allowed: int, want: int) -> None:
    from tessera.xpcs._device import _threads_for

    assert _threads_for({"physical_cores": cores, "allowed_cores": allowed}) == want


def test_benchmark_times_the_passes() -> None:
    found = tessera.benchmark_device_performance("cpu", test_size=400)
    assert found["device_type"] == "cpu"
    assert found["n_points"] == 4 * 199 * 198 // 2
    for mode in ("laminar_flow", "static_isotropic"):
        for level in ("cost", "gradient", "hessian"):
            entry = found[mode][level]
            assert entry["seconds"] > 0
            assert entry["points_per_s"] == pytest.approx(found["n_points"] / entry["seconds"])
            assert entry["gflop_per_s"] > 0


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tessera.benchmark_device_performance("tpu"), "tpu"),
        (lambda: tessera.benchmark_device_performance(test_size=3), "test_size"),
        (lambda: tessera.configure_optimal_device(gpu_memory_fraction=2), "gpu_memory_fraction"),
        (lambda: tessera.configure_optimal_device(cpu_threads=0), "threads"),
        (lambda: tessera.configure_optimal_device(cpu_threads=10000), "threads: 10000"),
        (lambda: tessera.set_num_threads(-1), "threads: -1"),
    ],
)
def test_mistakes_are_named(call: Any, text: str) -> None:
    with pytest.raises(tessera.ArgumentError, match=text):
        call()


def test_a_gpu_that_is_not_there_is_an_error() -> None:
    if tessera.get_device_status()["gpu_info"]["cuda_available"]:
        pytest.skip("there is a GPU")
    with pytest.raises(tessera.DeviceError):
        tessera.benchmark_device_performance("gpu", 100)
