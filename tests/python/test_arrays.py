"""tessera.Array: zero copies in and out by the buffer protocol and DLPack."""

from __future__ import annotations

import array
import ctypes
import gc
import hashlib
import io
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
from helpers import Floats, assert_same_bits, numpy_ptp
from tessera import _core
from tessera.autoreject import ptp

CPU = (1, 0)

# Before 2.1 NumPy neither keeps nor gives read-only memory by DLPack.
needs_dlpack_1 = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="NumPy older than DLPack 1.0"
)


class Lender:
    """A DLPack producer without the buffer protocol, as torch tensors are."""

    def __init__(self, data: Floats, *, old: bool = False) -> None:
        self.data = data
        self.old = old

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU

    def __dlpack__(self, **options: Any) -> Any:
        if self.old and options:
            raise TypeError("unexpected keyword")
        return self.data.__dlpack__(**options)


def address(x: Floats) -> int:
    return int(x.__array_interface__["data"][0])


@pytest.mark.parametrize("old", [False, True], ids=["versioned", "plain"])
def test_dlpack_in(epochs: Floats, old: bool) -> None:
    view = tessera.Array(Lender(epochs, old=old))
    assert view.ptr == address(epochs)
    assert view.shape == epochs.shape
    assert view.strides == epochs.strides
    assert_same_bits(ptp(Lender(epochs, old=old)), numpy_ptp(epochs))
    assert_same_bits(ptp(Lender(epochs[::-2, 1:], old=old)), numpy_ptp(epochs[::-2, 1:]))


def test_dlpack_out_argument(epochs: Floats) -> None:
    room = np.zeros(epochs.shape[:2], epochs.dtype)
    lender = Lender(room)
    assert ptp(epochs, out=lender) is lender
    assert_same_bits(room, numpy_ptp(epochs))


@needs_dlpack_1
def test_dlpack_keeps_read_only(epochs: Floats) -> None:
    epochs.flags.writeable = False
    view = tessera.Array(Lender(epochs))
    assert view.readonly
    with pytest.raises(BufferError, match="max_version"):
        view.__dlpack__()
    assert not np.from_dlpack(view).flags.writeable


@needs_dlpack_1
def test_dlpack_out_is_the_same_memory() -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    view = tessera.Array(x)
    assert view.__dlpack_device__() == CPU
    back = np.from_dlpack(view)
    assert address(back) == address(x)
    back[0, 0, 0] = 99
    assert x[0, 0, 0] == 99
    assert address(np.from_dlpack(tessera.Array(x[::-1, 1:]))) == address(x[::-1, 1:])


@needs_dlpack_1
def test_dlpack_copy() -> None:
    x = np.arange(24, dtype=np.float64).reshape(2, 3, 4)[:, ::-1]
    copied = np.from_dlpack(tessera.Array(x), copy=True)
    assert address(copied) != address(x)
    assert np.array_equal(copied, x)


def test_dlpack_capsules_are_freed_used_or_not() -> None:
    x = np.zeros((2, 3), np.float32)
    alive = weakref.ref(x)
    view = tessera.Array(x)
    unused = view.__dlpack__(), view.__dlpack__(max_version=(1, 0)), view.__dlpack__(copy=True)
    used = np.from_dlpack(view)
    del x, view, unused
    gc.collect()
    assert alive() is not None
    del used
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"stream": 1}, BufferError),
        ({"dl_device": (2, 0)}, BufferError),
        ({"max_version": 1}, TypeError),
        ({"nonsense": 1}, TypeError),
    ],
)
def test_dlpack_refuses(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        tessera.Array(np.zeros(3)).__dlpack__(**options)


def test_dlpack_of_other_devices() -> None:
    class Elsewhere(Lender):
        def __dlpack__(self, **options: Any) -> Any:
            capsule = super().__dlpack__()
            get = ctypes.pythonapi.PyCapsule_GetPointer
            get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
            device_type = ctypes.c_int32.from_address(get(capsule, b"dltensor") + 8)
            device_type.value = 8  # Metal
            return capsule

    with pytest.raises(tessera.ArgumentError, match="device type 8"):
        tessera.Array(Elsewhere(np.zeros((1, 1, 1))))


def test_dlpack_nonsense() -> None:
    class Liar(Lender):
        def __dlpack__(self, **options: Any) -> Any:
            return "capsule"

    with pytest.raises(TypeError, match="capsule"):
        tessera.Array(Liar(np.zeros(1)))


@pytest.mark.parametrize("dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_integers_round_trip(dtype: str) -> None:
    check_round_trip(np.arange(6).reshape(2, 3).astype(dtype))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
def test_floats_round_trip(dtype: str) -> None:
    check_round_trip(np.arange(6).reshape(2, 3).astype(dtype))


def check_round_trip(x: Any) -> None:
    view = tessera.Array(x)
    assert view.dtype == x.dtype.name
    assert (view.ndim, view.nbytes, len(view), view.device) == (2, x.nbytes, 2, "cpu")
    for back in (np.asarray(view), np.from_dlpack(view), np.asarray(memoryview(view))):
        assert back.dtype == x.dtype
        assert address(back) == address(x)
        assert np.array_equal(back, x)
    assert view.__array_interface__["typestr"] == x.dtype.str
    assert not hasattr(view, "__cuda_array_interface__")


def test_array_module_and_bytes() -> None:
    assert tessera.Array(array.array("d", [1, 2])).dtype == "float64"
    assert tessera.Array(b"abc").dtype == "uint8"
    assert tessera.Array(array.array("l", [1])).dtype == "int64"


def test_buffer_requests() -> None:
    contiguous = tessera.Array(np.zeros((2, 3)))
    assert bytes(contiguous) == bytes(48)
    strided = tessera.Array(np.zeros((4, 3))[::2])
    assert memoryview(strided).strides == (48, 8)
    with pytest.raises((BufferError, TypeError), match="contiguous"):
        ctypes.c_char.from_buffer(strided)
    with pytest.raises((BufferError, TypeError)):
        io.BytesIO(b"new").readinto(tessera.Array(b"old"))
    with pytest.raises(BufferError, match="contiguous"):
        hash_of(strided)


def hash_of(view: tessera.Array) -> bytes:
    return hashlib.sha256(view).digest()  # asks for a plain run of bytes


def test_repr_and_length() -> None:
    assert repr(tessera.Array(np.zeros((2, 3)))) == (
        "tessera.Array(shape=(2, 3), dtype='float64', device='cpu')"
    )
    with pytest.raises(TypeError):
        len(tessera.Array(np.array(1.0)))


def test_result_is_a_view_of_aligned_memory(epochs: Floats) -> None:
    got = ptp(epochs)
    assert not got.flags.owndata
    assert got.flags.writeable
    assert address(got) % 64 == 0


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def test_large_input_is_not_copied() -> None:
    x = np.zeros((256, 64, 1024), np.float32)  # 64 MiB
    x += 1
    ptp(x[:1])
    before = resident_bytes()
    peak_before = peak_bytes()
    ptp(x)
    assert resident_bytes() - before < x.nbytes // 8
    assert peak_bytes() - max(before, peak_before) < x.nbytes // 8


def peak_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def test_inputs_are_let_go(epochs: Floats) -> None:
    before = sys.getrefcount(epochs)
    for _ in range(100):
        ptp(epochs)
        ptp(Lender(epochs))
        with pytest.raises(tessera.ShapeError):
            ptp(epochs[:, :, ::2])
    assert sys.getrefcount(epochs) == before


@pytest.mark.skipif(
    "libasan" in Path("/proc/self/maps").read_text(),
    reason="AddressSanitizer keeps freed memory for a while",
)
def test_repeated_calls_do_not_leak() -> None:
    x = np.zeros((64, 64, 4), np.float32)  # 16 KiB of result a time
    context = tessera.Context(threads=2)

    def work(times: int) -> None:
        for _ in range(times):
            _core.autoreject_ptp(context, x, None, {"nonfinite": "error"}, None)
            np.from_dlpack(tessera.Array(x))
            with pytest.raises(tessera.ArgumentError):
                ptp(x, tile_epochs=-1)

    work(200)
    before = resident_bytes()
    work(2000)
    assert resident_bytes() - before < 4 << 20
