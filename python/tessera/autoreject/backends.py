"""The names of the plan for a GPU version of autoreject.

``cpu`` is always there; ``cuda`` where there is a GPU. Arrays on a GPU are those of torch, CuPy or
JAX (DLPack): :func:`to_device` copies NumPy's to one of torch or CuPy. Peak-to-peak, fits and
repairs run on Tessera's kernels; median, correlation and matmul outside a fit are those of NumPy or
of the library whose array it is, which computes where the array is. Asking for a GPU that is not
there is an error; one that TESSERA_BACKEND or AUTOREJECT_BACKEND names is a warning that says why,
and the CPU is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera import _core
from tessera.autoreject import _device, _gpu_arrays
from tessera.autoreject._device import cuda_index, detect_hardware, get_backend_names
from tessera.autoreject._ptp import ptp

__all__ = [
    "Backend",
    "DeviceArray",
    "GPUPipeline",
    "clear_backend_cache",
    "detect_hardware",
    "get_backend",
    "get_backend_names",
    "is_device_array",
    "is_on_device",
    "to_device",
    "to_host",
]

_backends: dict[str | None, Backend] = {}

class DeviceArray:
    """An array where a backend keeps it.

    Parameters
    ----------
    data : array
        NumPy's, or on a GPU that of torch, CuPy or JAX.
    backend : Backend
        That made it.
    """

    __slots__ = ("backend", "data")

    def __init__(self, data: Any, backend: Backend) -> None:
        self.data = data
        self.backend = backend

    @property
    def device(self) -> str:
        """Return where it is: 'cpu', 'cuda:0', ..."""
        index = cuda_index(self.data)
        return "cpu" if index is None else f"cuda:{index}"

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
        """Return the values as a NumPy array.

        Returns
        -------
        ndarray
            Not copied where it is in the host's memory.
        """
        return _gpu_arrays.to_numpy(self.data)

    to_host = numpy

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> DeviceArray:
        return DeviceArray(self.data[key], self.backend)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.numpy(), dtype)

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype}, device={self.device!r})"


def is_device_array(value: Any) -> bool:
    """Return whether value is a :class:`DeviceArray`.

    Parameters
    ----------
    value : object
        Anything.

    Returns
    -------
    bool
        True if it is.
    """
    return isinstance(value, DeviceArray)


class Backend:
    """Operations on arrays; each takes a DeviceArray or NumPy's and returns NumPy's unless told.

    On a GPU the operations run there, and return arrays of the library of their arguments if told.

    Parameters
    ----------
    name : {'cpu', 'cuda', 'cuda:1', ...}
        One that does not exist is an error.
    """

    def __init__(self, name: str) -> None:
        is_gpu = isinstance(name, str) and _device.is_gpu(name)
        if is_gpu and not detect_hardware()["cuda"]:
            raise _core.DeviceError(f"backend {name!r}: {_device.no_gpu()}")
        if name != "cpu" and not is_gpu:
            raise _core.ArgumentError(
                f"name: {name!r} does not exist; there are {', '.join(get_backend_names())}"
            )
        self.name = "cuda" if is_gpu else "cpu"
        self.device = name if not is_gpu or ":" in name else "cuda:0"

    def __repr__(self) -> str:
        return f"<Backend {self.name}>"

    def to_device(self, data: Any) -> DeviceArray:
        """Wrap an array.

        Parameters
        ----------
        data : DeviceArray or array
            One that is wrapped already is returned.

        Returns
        -------
        DeviceArray
            The same values.
        """
        if isinstance(data, DeviceArray) and data.backend.device == self.device:
            return data
        return DeviceArray(self._there(data), self)

    def _there(self, data: Any) -> Any:
        """Return the array of data where this backend works: itself, or a copy."""
        values = data.data if is_device_array(data) else data
        if self.name == "cpu":
            return _gpu_arrays.to_numpy(values)
        index = int(self.device.split(":")[1])
        if cuda_index(values) == index:
            return values
        return _gpu_arrays.to_gpu(_gpu_arrays.to_numpy(values), index)

    def to_numpy(self, data: Any) -> Any:
        """Return NumPy's array of data.

        Parameters
        ----------
        data : DeviceArray or array
            Values.

        Returns
        -------
        ndarray
            The values, not copied if they need not be.
        """
        return _gpu_arrays.to_numpy(data.data if is_device_array(data) else data)

    to_host = to_numpy

    def is_on_device(self, data: Any) -> bool:
        """Return whether data belongs to this backend.

        Parameters
        ----------
        data : object
            Anything.

        Returns
        -------
        bool
            True for a DeviceArray of this backend, and for an array of torch, CuPy or JAX on its
            GPU.
        """
        values = data.data if is_device_array(data) else data
        index = cuda_index(values)
        if index is not None:
            return self.device == f"cuda:{index}"
        return is_device_array(data) and self.name == "cpu"

    def _give(self, result: Any, keep_on_device: bool) -> Any:
        if keep_on_device:
            return DeviceArray(np.asarray(result) if self.name == "cpu" else result, self)
        return result if self.name == "cpu" else _gpu_arrays.to_numpy(result)

    def ptp(self, data: Any, axis: int = -1, *, keep_on_device: bool = False) -> Any:
        """Return the largest minus the smallest value along an axis.

        Parameters
        ----------
        data : DeviceArray or array
            Values.
        axis : int, default -1
            Which.
        keep_on_device : bool, default False
            Return a DeviceArray.

        Returns
        -------
        ndarray or DeviceArray
            Without the axis.
        """
        if not isinstance(axis, (int, np.integer)):
            raise _core.ArgumentError(f"axis: expected a whole number, got {axis!r}")
        rows = _gpu_arrays.rows_of(self._there(data), axis)
        shape = tuple(rows.shape[:-1])
        if rows.shape[-1] == 0:
            raise _core.ShapeError(f"data: axis {axis} has no values to find the range of")
        flat = rows.reshape(-1, 1, rows.shape[-1])
        if _gpu_arrays.library_of(rows) == "jax":  # nobody else may write to its arrays
            found = flat.max(-1) - flat.min(-1)
        else:
            found = ptp(flat, device=self.device)
        return self._give(found.reshape(shape), keep_on_device)

    def median(self, data: Any, axis: int | None = None, *, keep_on_device: bool = False) -> Any:
        """Return the median along an axis.

        Parameters
        ----------
        data : DeviceArray or array
            Values.
        axis : int or None
            None: of all values.
        keep_on_device : bool, default False
            Return a DeviceArray.

        Returns
        -------
        ndarray or DeviceArray
            Without the axis.
        """
        values = self._there(data)
        find = np.median if self.name == "cpu" else _gpu_arrays.median
        return self._give(find(values, axis=axis), keep_on_device)

    def correlation(self, x: Any, y: Any, *, keep_on_device: bool = False) -> Any:
        """Return the uncentred correlation along the last axis, as RANSAC takes it.

        Parameters
        ----------
        x, y : DeviceArray or array of one shape
            Values.
        keep_on_device : bool, default False
            Return a DeviceArray.

        Returns
        -------
        ndarray or DeviceArray
            Without the last axis; NaN where one of them is zero.
        """
        # Squares of short integers and half precision would run over.
        a, b = (_gpu_arrays.rows_of(self._there(values), -1) for values in (x, y))
        with np.errstate(invalid="ignore", divide="ignore"):
            found = (a * b).sum(-1) / ((a**2).sum(-1) ** 0.5 * (b**2).sum(-1) ** 0.5)
        return self._give(found, keep_on_device)

    def matmul(self, a: Any, b: Any, *, keep_on_device: bool = False) -> Any:
        """Return the matrix product.

        Parameters
        ----------
        a, b : DeviceArray or array
            As ``numpy.matmul`` takes them.
        keep_on_device : bool, default False
            Return a DeviceArray.

        Returns
        -------
        ndarray or DeviceArray
            The product.
        """
        return self._give(self._there(a) @ self._there(b), keep_on_device)


def get_backend(prefer: str | None = None) -> Backend:
    """Return the backend.

    Parameters
    ----------
    prefer : {'cpu', 'cuda', 'cuda:1', ..., 'auto'} or None
        'auto' and None: the GPU where there is one, or what the environment names. A name that does
        not exist gives a warning and the CPU; that of a GPU that is not there is an error.

    Returns
    -------
    Backend
    """
    if prefer is not None and not isinstance(prefer, str):
        raise _core.ArgumentError(f"prefer: expected 'cpu', 'cuda', 'auto' or None, got {prefer!r}")
    if prefer not in _backends:
        name = prefer.lower() if prefer is not None else _device.from_environment()
        if prefer is not None and _device.is_gpu(name) and not detect_hardware()["cuda"]:
            raise _core.DeviceError(f"backend {prefer!r}: {_device.no_gpu()}")
        _backends[prefer] = Backend(_device.usable_backend(name))
    return _backends[prefer]


def clear_backend_cache() -> None:
    """Forget what was detected and warned of."""
    _device.forget()
    _backends.clear()


def to_device(data: Any, backend: Backend | str | None = None) -> DeviceArray:
    """Wrap an array where a backend keeps it.

    Parameters
    ----------
    data : DeviceArray or array
        One that is wrapped already is returned.
    backend : Backend, str or None
        Which, or its name; None: that of :func:`get_backend`.

    Returns
    -------
    DeviceArray
        The same values.

    Examples
    --------
    >>> from tessera.autoreject.backends import is_on_device, to_device, to_host
    >>> x = to_device([[1.0, 4.0, 2.0]], "cpu")
    >>> is_on_device(x), float(x.backend.ptp(x)[0]), to_host(x).shape
    (True, 3.0, (1, 3))
    """
    owner = backend if isinstance(backend, Backend) else get_backend(backend)
    return owner.to_device(data)


def to_host(data: Any) -> Any:
    """Return NumPy's array of data.

    Parameters
    ----------
    data : DeviceArray or array
        Values.

    Returns
    -------
    ndarray
        The values, not copied if they need not be.
    """
    return _gpu_arrays.to_numpy(data.data if is_device_array(data) else data)


def is_on_device(data: Any) -> bool:
    """Return whether data is kept by a backend.

    Parameters
    ----------
    data : object
        Anything.

    Returns
    -------
    bool
        True for a :class:`DeviceArray`, and for an array on a GPU.
    """
    return is_device_array(data) or cuda_index(data) is not None


class GPUPipeline:
    """Load epochs once, fit them, and repair them, all where a backend keeps them.

    On a GPU samples go up once, in :meth:`load`, and what comes down is the result of
    :meth:`transform`, unless that is kept there too.

    Parameters
    ----------
    device : str
        'cuda', 'cpu', or 'auto': a GPU where there is one, else the CPU with a warning that says
        why. A GPU by name that is not there is an error.
    **params
        Of :class:`tessera.autoreject.AutoReject`.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera.autoreject.backends import GPUPipeline
    >>> x = 1e-5 * np.random.default_rng(1).standard_normal((20, 6, 40))
    >>> positions = 0.09 * np.eye(6, 3) + 0.01 * np.arange(18).reshape(6, 3) / 18
    >>> steps = GPUPipeline("cpu", n_interpolate=[1], cv=4, random_state=1, verbose=False)
    >>> clean = steps.load(x, positions).fit().transform(keep_on_device=True)
    >>> clean.shape[1:], clean.device
    ((6, 40), 'cpu')
    """

    def __init__(self, device: str = "auto", **params: Any) -> None:
        self.backend = get_backend(device)
        if device == "auto" and self.backend.name == "cpu":
            _device.usable_backend("cuda")  # warns
        self.params = params
        self.data: DeviceArray | None = None
        self.autoreject_: Any = None
        self._sensors: dict[str, Any] = {}

    def load(self, X: Any, positions: Any, ch_types: Any = "eeg", **sensors: Any) -> GPUPipeline:  # noqa: N803
        """Take epochs.

        Parameters
        ----------
        X : DeviceArray or array, shape (n_epochs, n_channels, n_times)
            In V, T or T/m.
        positions, ch_types, **sensors
            As :meth:`tessera.autoreject.AutoReject.fit_array` takes them.

        Returns
        -------
        GPUPipeline
            This one.
        """
        self.data = self.backend.to_device(X)
        self._sensors = {"positions": positions, "ch_types": ch_types, **sensors}
        self.autoreject_ = None
        return self

    def fit(self) -> GPUPipeline:
        """Fit what was loaded; ``autoreject_`` is the fit.

        Returns
        -------
        GPUPipeline
            This one.
        """
        from tessera.autoreject.autoreject import AutoReject

        if self.data is None:
            raise _core.ArgumentError("GPUPipeline: nothing to fit; call load(X, positions) first")
        fit = AutoReject(device=self.backend.device, **self.params)
        self.autoreject_ = fit.fit_array(self.data.data, **self._sensors)
        return self

    def transform(self, X: Any = None, *, keep_on_device: bool = False) -> Any:  # noqa: N803
        """Drop and repair what was loaded, or other epochs of the same channels.

        Parameters
        ----------
        X : DeviceArray, array or None
            None: what was loaded.
        keep_on_device : bool, default False
            Return a DeviceArray.

        Returns
        -------
        ndarray or DeviceArray
            The epochs that are kept, repaired.
        """
        if self.autoreject_ is None:
            raise _core.ArgumentError("GPUPipeline: there is no fit yet; call fit() first")
        samples = self.backend.to_device(self.data if X is None else X)
        clean = self.autoreject_.transform_array(samples.data)
        return self.backend.to_device(clean) if keep_on_device else _gpu_arrays.to_numpy(clean)
