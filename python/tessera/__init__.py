"""Tessera: four scientific workloads on one native engine.

``tessera.autoreject`` rejects and repairs EEG/MEG epochs, ``tessera.clifford`` has layers of neural
networks over Clifford algebras, ``tessera.decode`` decodes neural activity without sorting spikes,
and ``tessera.xpcs`` fits two-time X-ray correlations.
``tessera.show_versions()`` prints what a bug report needs.
"""

from __future__ import annotations

from tessera._core import (
    ArgumentError,
    Array,
    Cancelled,
    CheckpointError,
    ConfigError,
    Context,
    DeviceError,
    DTypeError,
    Error,
    FileError,
    FormatError,
    InternalError,
    MemoryLimitError,
    NotFoundError,
    NumericError,
    OutputExistsError,
    Progress,
    ShapeError,
    TruncatedError,
    version,
)
from tessera._session import (
    get_num_threads,
    set_device_memory_limit,
    set_log_level,
    set_num_threads,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tessera import autoreject as autoreject
    from tessera import clifford as clifford
    from tessera import compat as compat
    from tessera import decode as decode
    from tessera import device as device
    from tessera import distributed as distributed
    from tessera import xpcs as xpcs
    from tessera._c_library import get_include as get_include
    from tessera._c_library import get_pkgconfig_dir as get_pkgconfig_dir
    from tessera._system import devices as devices
    from tessera._system import info as info
    from tessera._system import show_versions as show_versions
    from tessera._system import sys_info as sys_info
    from tessera.device import benchmark_device_performance as benchmark_device_performance
    from tessera.device import configure_optimal_device as configure_optimal_device
    from tessera.device import get_device_status as get_device_status

__version__ = version()

_SYSTEMS = ("autoreject", "clifford", "decode", "xpcs")
_MODULES = (*_SYSTEMS, "compat", "device", "distributed")
_SYSTEM_FUNCTIONS = ("devices", "info", "show_versions", "sys_info")
_C_LIBRARY_FUNCTIONS = ("get_include", "get_pkgconfig_dir")
_DEVICE_FUNCTIONS = (
    "benchmark_device_performance",
    "configure_optimal_device",
    "get_device_status",
)

__all__ = [
    "ArgumentError",
    "Array",
    "Cancelled",
    "CheckpointError",
    "ConfigError",
    "Context",
    "DTypeError",
    "DeviceError",
    "Error",
    "FileError",
    "FormatError",
    "InternalError",
    "MemoryLimitError",
    "NotFoundError",
    "NumericError",
    "OutputExistsError",
    "Progress",
    "ShapeError",
    "TruncatedError",
    "__version__",
    "autoreject",
    "benchmark_device_performance",
    "clifford",
    "compat",
    "configure_optimal_device",
    "decode",
    "device",
    "devices",
    "distributed",
    "get_device_status",
    "get_include",
    "get_num_threads",
    "get_pkgconfig_dir",
    "info",
    "set_device_memory_limit",
    "set_log_level",
    "set_num_threads",
    "show_versions",
    "sys_info",
    "xpcs",
]


def __getattr__(name: str) -> Any:
    # Import on first use keeps `import tessera` short.
    if name in _MODULES:
        import importlib

        return importlib.import_module(f"tessera.{name}")
    if name in _SYSTEM_FUNCTIONS:
        from tessera import _system

        return getattr(_system, name)
    if name in _C_LIBRARY_FUNCTIONS:
        from tessera import _c_library

        return getattr(_c_library, name)
    if name in _DEVICE_FUNCTIONS:
        from tessera import device

        return getattr(device, name)
    raise AttributeError(f"module 'tessera' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
