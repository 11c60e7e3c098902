"""Which device computes, and operations on arrays that stay there.

The backends are ``cpu``, always there, and ``cuda``, where Tessera's CUDA module and a GPU are.
TESSERA_BACKEND (cpu, cuda, auto) chooses; AUTOREJECT_BACKEND is understood as well.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from tessera import _core
from tessera._lib import Session, warn

__all__ = [
    "Backend",
    "DeviceArray",
    "GPUPipeline",
    "clear_backend_cache",
    "detect_hardware",
    "get_backend",
    "get_backend_names",
    "is_device_array",
]

# Below this a transfer costs more than the GPU saves.
_WORTHWHILE_BYTES = 64 << 20
_FOREIGN = {"numpy": "cpu", "numba": "cpu", "torch": "cuda", "jax": "cuda"}
_NAMES = ("cpu", "cuda", "auto")

_hardware: dict[str, Any] | None = None
_backends: dict[str | None, Backend] = {}
_noticed: set[str] = set()


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
    """Return the names of the backends that can be used here; 'cpu' is always among them."""
    return ["cuda", "cpu"] if detect_hardware()["cuda"] else ["cpu"]


def _notice(key: str, message: str) -> None:
    """Warn once."""
    if key not in _noticed:
        _noticed.add(key)
        warn(message)


def _from_environment() -> str | None:
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


def _usable(name: str | None, n_bytes: int | None) -> str:
    """Return 'cpu' or 'cuda' for a name; what cannot be had becomes 'cpu', with a warning."""
    names = get_backend_names()
    if name is None or name == "auto":
        worthwhile = n_bytes is None or n_bytes >= _WORTHWHILE_BYTES
        return "cuda" if "cuda" in names and worthwhile else "cpu"
    ours = _FOREIGN.get(name, name)
    if ours not in _NAMES:
        _notice(name, f"backend {name!r} does not exist; 'cpu' is used ({', '.join(_NAMES)} exist)")
        return "cpu"
    if ours not in names:
        _notice(name, f"backend {name!r} is not available here; 'cpu' is used")
        return "cpu"
    return ours


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
    name = _from_environment()
    if name is None and os.environ.get("TESSERA_DEVICE"):
        return os.environ["TESSERA_DEVICE"]
    return "cpu" if _usable(name, n_bytes) == "cpu" else "auto"


def fall_back(device: str, error: Exception) -> None:
    """Say once why the CPU does what a device was chosen for."""
    _notice(f"{device}: {error}", f"{device} cannot do this, the CPU does it instead: {error}")


class DeviceArray:
    """An array where a backend keeps it.

    Parameters
    ----------
    data : array
        NumPy's, or the library's on a GPU.
    backend : Backend
        That made it.
    """

    __slots__ = ("backend", "data")

    def __init__(self, data: Any, backend: Backend) -> None:
        self.data = data
        self.backend = backend

    @property
    def device(self) -> str:
        """Return 'cpu' or 'cuda'."""
        return self.backend.device

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape."""
        return tuple(self.data.shape)

    @property
    def dtype(self) -> Any:
        """Return the element type."""
        return self.data.dtype

    @property
    def ndim(self) -> int:
        """Return the number of axes."""
        return len(self.shape)

    def numpy(self) -> Any:
        """Return the values as a NumPy array."""
        return self.backend.to_numpy(self)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> DeviceArray:
        return DeviceArray(np.asarray(self.data)[key], self.backend)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.numpy(), dtype)

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype}, device={self.device!r})"


def is_device_array(value: Any) -> bool:
    """Return whether value is a :class:`DeviceArray`."""
    return isinstance(value, DeviceArray)


class Backend:
    """Operations on arrays; each takes a DeviceArray or NumPy's and returns NumPy's unless told.

    Peak-to-peak runs on Tessera's kernels; the other operations have no stage of their own outside
    a fit and are NumPy's.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.device = name

    def __repr__(self) -> str:
        return f"<Backend {self.name}>"

    def to_device(self, data: Any) -> DeviceArray:
        """Wrap an array; one that is wrapped already is returned."""
        return data if is_device_array(data) else DeviceArray(np.asarray(data), self)

    def to_numpy(self, data: Any) -> Any:
        """Return NumPy's array of data."""
        return np.asarray(data.data if is_device_array(data) else data)

    def is_on_device(self, data: Any) -> bool:
        """Return whether data belongs to this backend."""
        return is_device_array(data) and data.backend.name == self.name

    def _give(self, result: Any, keep_on_device: bool) -> Any:
        return DeviceArray(np.asarray(result), self) if keep_on_device else result

    def ptp(self, data: Any, axis: int = -1, *, keep_on_device: bool = False) -> Any:
        """Return the largest minus the smallest value along an axis."""
        from tessera.autoreject._ptp import ptp

        values = self.to_numpy(data)
        if values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float64)
        rows = np.moveaxis(values, axis, -1)
        shape = rows.shape[:-1]
        flat = np.ascontiguousarray(rows).reshape(-1, 1, rows.shape[-1])
        return self._give(ptp(flat, device=self.device).reshape(shape), keep_on_device)

    def median(self, data: Any, axis: int | None = None, *, keep_on_device: bool = False) -> Any:
        """Return the median along an axis, of all values for None."""
        return self._give(np.median(self.to_numpy(data), axis=axis), keep_on_device)

    def correlation(self, x: Any, y: Any, *, keep_on_device: bool = False) -> Any:
        """Return the uncentred correlation along the last axis, as RANSAC takes it."""
        a, b = self.to_numpy(x), self.to_numpy(y)
        with np.errstate(invalid="ignore", divide="ignore"):
            found = (a * b).sum(axis=-1) / (
                np.sqrt((a**2).sum(axis=-1)) * np.sqrt((b**2).sum(axis=-1))
            )
        return self._give(found, keep_on_device)

    def matmul(self, a: Any, b: Any, *, keep_on_device: bool = False) -> Any:
        """Return the matrix product."""
        return self._give(np.matmul(self.to_numpy(a), self.to_numpy(b)), keep_on_device)


def get_backend(prefer: str | None = None) -> Backend:
    """Return a backend: the preferred one, else the environment's, else the best there is.

    Parameters
    ----------
    prefer : {'cpu', 'cuda', 'auto'} or None
        A name that does not exist or is not available gives a warning and the CPU.

    Returns
    -------
    Backend
    """
    if prefer not in _backends:
        name = prefer.lower() if prefer is not None else _from_environment()
        _backends[prefer] = Backend(_usable(name, None))
    return _backends[prefer]


def clear_backend_cache() -> None:
    """Forget what was detected and warned of."""
    global _hardware  # noqa: PLW0603
    _hardware = None
    _backends.clear()
    _noticed.clear()


class GPUPipeline:
    """Thresholds, votes, search and repair of one array with one upload and one download.

    Under 'auto' the CPU takes over, with one warning, when the GPU cannot.

    Parameters
    ----------
    device : str
        As :class:`AutoReject` takes it.
    **params
        Of :class:`AutoReject`.
    """

    def __init__(self, device: str = "auto", **params: Any) -> None:
        from tessera.autoreject.autoreject import AutoReject

        self.device = device
        self.autoreject = AutoReject(device=device, **params)

    def fits(self, n_bytes: int) -> bool:
        """Return whether epochs of this size, and what is computed of them, fit the GPU."""
        hardware = detect_hardware()
        return bool(hardware["cuda"]) and 2.5 * n_bytes <= hardware["cuda_memory"]

    def run(self, epochs: Any) -> tuple[Any, Any]:
        """Fit and clean.

        Parameters
        ----------
        epochs : mne.Epochs
            Not changed.

        Returns
        -------
        epochs : mne.Epochs
            A copy.
        log : RejectLog
            The log.
        """
        cleaned, log = self.autoreject.fit_transform(epochs, return_log=True)
        return cleaned, log
