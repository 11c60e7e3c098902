"""Which device computes: what there is, what the user and the environment ask for."""

from __future__ import annotations

import os
from typing import Any

from tessera import _core
from tessera._lib import Session, warn

# Below this a transfer costs more than the GPU saves.
_WORTHWHILE_BYTES = 64 << 20
_FOREIGN = {"numpy": "cpu", "numba": "cpu", "torch": "cuda", "jax": "cuda"}
_NAMES = ("cpu", "cuda", "auto")

_CUDA_DEVICES = (2, 13)  # DLPack: device memory, managed memory

_hardware: dict[str, Any] | None = None
_noticed: set[str] = set()


def cuda_index(x: object) -> int | None:
    """Return the index of the CUDA device x lives on, None for host memory."""
    ask = getattr(x, "__dlpack_device__", None)
    if ask is None:
        return None
    kind, index = ask()
    return int(index) if kind in _CUDA_DEVICES else None


def _simd_of(context: Any) -> str:
    return str(context.info["isa"])


def detect_hardware() -> dict[str, Any]:
    """Say what there is to compute with. Never raises; the answer is kept.

    Returns
    -------
    dict
        ``cpu`` (True), ``cuda``, ``cuda_device`` (name or None), ``cuda_memory`` (bytes),
        ``cuda_fp64``, ``simd`` (the best instruction set), ``threads``.
    """
    global _hardware  # noqa: PLW0603
    if _hardware is None:
        found: dict[str, Any] = {
            "cpu": True,
            "cuda": False,
            "cuda_device": None,
            "cuda_memory": 0,
            "cuda_fp64": False,
            "simd": "unknown",
            "threads": os.cpu_count() or 1,
        }
        try:
            with Session() as context:
                found["simd"] = _simd_of(context)
                found["threads"] = context.info["threads"]
                for device in _core.devices(context):
                    if device["backend"] == "cuda" and not found["cuda"]:
                        found["cuda"] = found["cuda_fp64"] = True
                        found["cuda_device"] = device["name"]
                        found["cuda_memory"] = device["memory_bytes"]
        except Exception as error:
            found["error"] = str(error)
        _hardware = found
    return dict(_hardware)


def get_backend_names() -> list[str]:
    """Return the names of the backends there are.

    Returns
    -------
    list of str
        'cpu', and 'cuda' where there is a GPU that can be used.
    """
    return ["cpu", "cuda"] if detect_hardware()["cuda"] else ["cpu"]


def _notice(key: str, message: str) -> None:
    """Warn once."""
    if key not in _noticed:
        _noticed.add(key)
        warn(message)


def from_environment() -> str | None:
    """Return the backend that the environment names."""
    name = os.environ.get("TESSERA_BACKEND")
    if name:
        return name.lower()
    name = os.environ.get("AUTOREJECT_BACKEND")
    if not name:
        return None
    name = name.lower()
    if name in _FOREIGN:
        ours = _FOREIGN[name]
        _notice(
            f"AUTOREJECT_BACKEND={name}",
            f"AUTOREJECT_BACKEND={name}: Tessera has no {name}; its backend '{ours}' is used where "
            f"there is one",
        )
        return ours
    return name


def is_gpu(name: str | None) -> bool:
    """Return whether a name of a backend asks for a GPU."""
    return name is not None and _FOREIGN.get(name, name).startswith("cuda")


def no_gpu() -> str:
    """Say why there is no GPU."""
    try:
        with Session(device="cuda"):
            return "there is one now; call clear_backend_cache()"
    except Exception as error:
        return str(error)


def usable_backend(name: str | None) -> str:
    """Return the backend of a name: 'cpu' or 'cuda'; with a warning if it cannot be had."""
    ours = None if name is None else _FOREIGN.get(name, name)
    if ours is not None and ours not in _NAMES and not is_gpu(ours):
        _notice(ours, f"backend {name!r} does not exist; 'cpu' is used")
        return "cpu"
    if ours == "cpu":
        return "cpu"
    if detect_hardware()["cuda"]:
        return ours if is_gpu(ours) and ours is not None else "cuda"
    if is_gpu(ours):
        _notice(f"{name}", f"backend {name!r}: {no_gpu()}; 'cpu' is used")
    return "cpu"


def _is_worthwhile(name: str | None, n_bytes: int) -> bool:
    """Return whether to ask the library for a GPU, which takes it if it has every stage."""
    if name not in (None, "auto") and not is_gpu(name):
        usable_backend(name)
        return False
    return bool(detect_hardware()["cuda"]) and (is_gpu(name) or n_bytes >= _WORTHWHILE_BYTES)


def resolve_device(device: str, n_bytes: int = 0) -> str:
    """Return the device of a ``device=`` argument: names stay, 'auto' is decided.

    Where a GPU is worthwhile it stays 'auto', which tells the library that nobody insists.
    """
    if not isinstance(device, str):
        raise _core.ArgumentError(
            f"device: expected text such as 'auto' or 'cuda:1', got {device!r}"
        )
    if device != "auto":
        return device
    name = from_environment()
    if name is None and os.environ.get("TESSERA_DEVICE"):
        return os.environ["TESSERA_DEVICE"]
    return "auto" if _is_worthwhile(name, n_bytes) else "cpu"


def fall_back(device: str, error: Exception) -> None:
    """Say once why the CPU does what a device was chosen for."""
    _notice(f"{device}: {error}", f"{device} cannot do this, the CPU does it instead: {error}")


def forget() -> None:
    """Forget what was detected and warned of."""
    global _hardware  # noqa: PLW0603
    _hardware = None
    _noticed.clear()
