"""What the original keeps under this name."""

from tessera.device import (
    benchmark_device_performance,
    configure_optimal_device,
    get_device_status,
)

__all__ = ["benchmark_device_performance", "configure_optimal_device", "get_device_status"]
