"""What the hardware is and how fast: :mod:`tessera.xpcs.device` under the name of the original."""

from tessera.xpcs._device import (
    benchmark_device_performance,
    configure_optimal_device,
    get_device_status,
)

__all__ = ["benchmark_device_performance", "configure_optimal_device", "get_device_status"]
