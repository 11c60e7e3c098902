"""What the hardware is, how best to use it, and how fast it is at the work that matters.

The functions have the names of ``homodyne.device``; what they say is measured or read from the
machine.
"""

from tessera.xpcs._device import (
    benchmark_device_performance,
    configure_optimal_device,
    get_device_status,
)
from tessera.xpcs.device.cpu import (
    benchmark_cpu_performance,
    configure_cpu_hpc,
    detect_cpu_info,
    get_optimal_batch_size,
)
from tessera.xpcs.utils.logging import get_logger as get_logger

HAS_CPU_MODULE = True

__all__ = [
    "HAS_CPU_MODULE",
    "benchmark_cpu_performance",
    "benchmark_device_performance",
    "configure_cpu_hpc",
    "configure_optimal_device",
    "detect_cpu_info",
    "get_device_status",
    "get_optimal_batch_size",
]
