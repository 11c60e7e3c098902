"""Tessera: four scientific workloads on one native engine.

This version has ``tessera.autoreject`` (EEG/MEG epochs: peak-to-peak amplitudes, simulation) and
``tessera.decode`` (clusterless neural decoding).
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
from tessera._session import get_num_threads, set_log_level, set_num_threads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tessera import autoreject as autoreject
    from tessera import decode as decode
    from tessera._system import devices as devices
    from tessera._system import info as info
    from tessera._system import show_versions as show_versions
    from tessera._system import sys_info as sys_info

__version__ = version()

_SYSTEMS = ("autoreject", "decode")
_LATER = ("clifford", "xpcs")
_SYSTEM_FUNCTIONS = ("devices", "info", "show_versions", "sys_info")

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
    "decode",
    "devices",
    "get_num_threads",
    "info",
    "set_log_level",
    "set_num_threads",
    "show_versions",
    "sys_info",
]


def __getattr__(name: str) -> Any:
    # Import on first use keeps `import tessera` short.
    if name in _SYSTEMS:
        import importlib

        return importlib.import_module(f"tessera.{name}")
    if name in _SYSTEM_FUNCTIONS:
        from tessera import _system

        return getattr(_system, name)
    if name in _LATER:
        raise AttributeError(
            f"tessera.{name} is not in version {__version__}, which has {', '.join(_SYSTEMS)}"
        )
    raise AttributeError(f"module 'tessera' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
