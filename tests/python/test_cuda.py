"""Arrays that live on a CUDA device, lent through DLPack by a producer made of ctypes."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import tessera
from helpers import Floats, assert_same_bits, numpy_ptp
from tessera.autoreject import ptp

DLPACK_CUDA = 2
FLOAT_CODE = 2


class Tensor(ctypes.Structure):
    """The published layout of a DLPack tensor without a version, owner and deleter included."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("owner", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


class Driver:
    """The few calls of the CUDA driver that a producer of arrays needs."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        self.context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)
        self.call("cuCtxSetCurrent", self.context)

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self.library, name)(*arguments)
        assert status == 0, f"{name} failed with {status}"


class CudaArray:
    """Device memory with just enough of an array library around it."""

    def __init__(self, driver: Driver, host: Floats) -> None:
        self.driver = driver
        self.shape = host.shape
        self.dtype = host.dtype
        self.nbytes = host.nbytes
        self.data = ctypes.c_uint64()
        driver.call("cuMemAlloc_v2", ctypes.byref(self.data), ctypes.c_size_t(host.nbytes))
        driver.call("cuMemcpyHtoD_v2", self.data, pointer(host), ctypes.c_size_t(host.nbytes))
        self.sizes = (ctypes.c_int64 * host.ndim)(*host.shape)
        self.tensor = Tensor(
            data=self.data.value,
            device_type=DLPACK_CUDA,
            rank=host.ndim,
            code=FLOAT_CODE,
            bits=host.itemsize * 8,
            lanes=1,
            shape=self.sizes,
        )

    def new_empty(self, shape: tuple[int, ...]) -> CudaArray:
        return CudaArray(self.driver, np.zeros(shape, self.dtype))

    def to_host(self) -> Floats:
        host = np.empty(self.shape, self.dtype)
        self.driver.call("cuMemcpyDtoH_v2", pointer(host), self.data, ctypes.c_size_t(host.nbytes))
        return host

    def __dlpack_device__(self) -> tuple[int, int]:
        return DLPACK_CUDA, 0

    def __dlpack__(self, stream: int | None = None) -> Any:
        assert stream is not None
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


def pointer(host: Floats) -> ctypes.c_void_p:
    return ctypes.c_void_p(host.ctypes.data)


pytestmark = pytest.mark.skipif(
    not any(device["backend"] == "cuda" for device in tessera.devices()),
    reason="no usable CUDA device",
)


@pytest.fixture(scope="module")
def driver() -> Driver:
    try:
        return Driver()
    except OSError:  # the device is emulated
        pytest.skip("no NVIDIA driver, which these arrays are made with")


def test_host_arrays_on_the_device(epochs: Floats, many_epochs: Floats) -> None:
    assert_same_bits(ptp(epochs, device="cuda"), numpy_ptp(epochs))
    assert_same_bits(ptp(many_epochs, device="cuda:0"), numpy_ptp(many_epochs))


def test_device_arrays_stay_on_the_device(driver: Driver, epochs: Floats) -> None:
    x = CudaArray(driver, epochs)
    view = tessera.Array(x)
    assert (view.device, view.ptr) == ("cuda:0", x.data.value)
    assert view.__dlpack_device__() == (DLPACK_CUDA, 0)
    assert view.__cuda_array_interface__["data"][0] == x.data.value
    with pytest.raises(BufferError, match="DLPack"):
        memoryview(view)
    got: Any = ptp(x)
    assert isinstance(got, CudaArray)
    assert_same_bits(got.to_host(), numpy_ptp(epochs))


def test_device_out(driver: Driver, epochs: Floats) -> None:
    x = CudaArray(driver, epochs)
    out = x.new_empty(epochs.shape[:2])
    assert ptp(x, out=out) is out
    assert_same_bits(out.to_host(), numpy_ptp(epochs))
    with pytest.raises(tessera.ArgumentError, match="out"):
        ptp(x, out=np.zeros(epochs.shape[:2], epochs.dtype))
    with pytest.raises(tessera.ArgumentError, match="x"):
        ptp(x, out=out, device="cpu")


def test_torch_tensors(driver: Driver) -> None:
    torch: Any = pytest.importorskip("torch")
    x = torch.randn(50, 8, 300, device="cuda")
    for view in (x, x[::2, 1::3], x.double()):
        got: Any = ptp(view)
        assert got.device == x.device
        assert torch.equal(got, view.amax(2) - view.amin(2))


def test_work_still_queued_is_waited_for(driver: Driver) -> None:
    torch: Any = pytest.importorskip("torch")
    with torch.cuda.stream(torch.cuda.Stream()):
        for scale in range(1, 20):
            x = torch.randn(2000, 64, 500, device="cuda") * scale
            x = x * 2 + 1
            got: Any = ptp(x)
            assert torch.equal(got, x.amax(2) - x.amin(2))


def test_cupy_arrays(driver: Driver) -> None:
    cupy: Any = pytest.importorskip("cupy")
    x = cupy.random.randn(20, 8, 100)
    got: Any = ptp(x)
    assert isinstance(got, cupy.ndarray)
    assert bool((got == x.max(axis=2) - x.min(axis=2)).all())
    assert cupy.asarray(tessera.Array(x)).data.ptr == x.data.ptr
