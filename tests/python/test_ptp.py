"""Values, shapes and strides of tessera.autoreject.ptp against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tessera
from helpers import Floats, assert_same_bits, numpy_ptp
from tessera.autoreject import ptp

shapes = st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 70))


@given(hnp.arrays(np.float32, shapes, elements=st.floats(width=32)))
def test_f32_equals_numpy(x: Floats) -> None:
    assert_same_bits(ptp(x), numpy_ptp(x))


@given(hnp.arrays(np.float64, shapes, elements=st.floats()))
def test_f64_equals_numpy(x: Floats) -> None:
    assert_same_bits(ptp(x), numpy_ptp(x))


@given(st.data())
def test_any_epoch_and_channel_strides(data: st.DataObject) -> None:
    base = np.arange(12 * 10 * 9, dtype=np.float32).reshape(12, 10, 9) % 37
    axis = st.slices(12), st.slices(10)
    view = base[data.draw(axis[0]), data.draw(axis[1])]
    assert_same_bits(ptp(view), numpy_ptp(view))


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.swapaxes(0, 1),
        lambda x: x[::-1],
        lambda x: x[:, ::-2],
        lambda x: np.broadcast_to(x[:1], (4, *x.shape[1:])),
        lambda x: np.broadcast_to(x[:, :1], (x.shape[0], 6, x.shape[2])),
        lambda x: x[:, :, 3:40],
        lambda x: x[:, :, :1],
        lambda x: x[:, :, 50:51],
        lambda x: np.asfortranarray(x)[:, :, :1],
    ],
    ids=[
        "swapped",
        "reversed-epochs",
        "negative-channels",
        "broadcast-epochs",
        "broadcast-channels",
        "time-window",
        "one-sample",
        "one-sample-strided",
        "fortran-one-sample",
    ],
)
def test_views(epochs: Floats, change: Any) -> None:
    x = change(epochs)
    assert_same_bits(ptp(x), numpy_ptp(x))


@pytest.mark.parametrize("shape", [(0, 4, 9), (3, 0, 9), (0, 0, 1)])
def test_nothing_in_nothing_out(shape: tuple[int, int, int]) -> None:
    assert ptp(np.zeros(shape)).shape == shape[:2]


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("tile_epochs", [0, 1, 3, 1000])
def test_threads_and_tiles_change_nothing(threads: int, tile_epochs: int) -> None:
    x = np.random.default_rng(2).standard_normal((61, 13, 77)).astype(np.float32)
    got = ptp(x, threads=threads, tile_epochs=tile_epochs)
    assert got.tobytes() == numpy_ptp(x).tobytes()


def test_nan_and_infinity(epochs: Floats) -> None:
    epochs[0, 0, 5] = np.nan
    epochs[1, 1, 0] = np.inf
    epochs[2, 2, -1] = -np.inf
    epochs[3, 3, :2] = [np.inf, -np.inf]
    epochs[4, 4] = np.inf
    got = ptp(epochs)
    assert np.isnan(got[0, 0])
    assert got[1, 1] == got[2, 2] == got[3, 3] == np.inf
    assert np.isnan(got[4, 4])
    assert_same_bits(got, numpy_ptp(epochs))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nonfinite_error_names_the_place(epochs: Floats, bad: float) -> None:
    epochs[3, 2, 7] = bad
    epochs[5, 1, 0] = bad
    with pytest.raises(tessera.NumericError, match=r"\b3\b.*\b2\b"):
        ptp(epochs, nonfinite="error")
    assert ptp(epochs[:3], nonfinite="error").shape == (3, 5)


@pytest.mark.parametrize("shape", [(), (3,), (3, 4), (3, 4, 5, 6)])
def test_wrong_rank(shape: tuple[int, ...]) -> None:
    with pytest.raises(tessera.ShapeError, match=rf"x.*{len(shape)}"):
        ptp(np.zeros(shape))


def test_no_samples() -> None:
    with pytest.raises(tessera.ShapeError):
        ptp(np.zeros((2, 3, 0)))


def test_last_axis_must_be_contiguous(epochs: Floats) -> None:
    for x in (epochs[:, :, ::2], epochs[:, :, ::-1], epochs.T):
        with pytest.raises(tessera.ShapeError, match=r"x.*contiguous"):
            ptp(x)


@pytest.mark.parametrize("dtype", ["i1", "i4", "u2", "i8", "f2", "c8", "c16", "?"])
def test_unsupported_types(dtype: str) -> None:
    with pytest.raises(TypeError, match="x") as caught:
        ptp(np.zeros((2, 2, 2), dtype))
    assert isinstance(caught.value, tessera.DTypeError)


@pytest.mark.parametrize("dtype", ["M8[s]", "O", "S4", "V6", "g", [("a", "f4")]])
def test_types_without_a_number(dtype: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        ptp(np.zeros((2, 2, 2), dtype))


def test_foreign_byte_order_says_what_to_do(epochs: Floats) -> None:
    foreign = epochs.astype(epochs.dtype.newbyteorder())
    with pytest.raises(tessera.DTypeError, match=r"byte order.*x\.astype"):
        ptp(foreign)


def test_out(epochs: Floats) -> None:
    out = np.full(epochs.shape[:2], -1, epochs.dtype)
    assert ptp(epochs, out=out) is out
    assert_same_bits(out, numpy_ptp(epochs))


def test_bad_out(epochs: Floats) -> None:
    n_epoch, n_chan, _ = epochs.shape
    dtype = epochs.dtype
    other = np.float64 if dtype == np.float32 else np.float32
    frozen = np.zeros((n_epoch, n_chan), dtype)
    frozen.flags.writeable = False
    with pytest.raises(tessera.ShapeError, match="out"):
        ptp(epochs, out=np.zeros((n_epoch, n_chan + 1), dtype))
    with pytest.raises(tessera.ShapeError, match="out"):
        ptp(epochs, out=np.zeros((n_chan, n_epoch), dtype).T)
    with pytest.raises(tessera.DTypeError, match="out"):
        ptp(epochs, out=np.zeros((n_epoch, n_chan), other))
    with pytest.raises(tessera.ArgumentError, match=r"out.*read-only"):
        ptp(epochs, out=frozen)
    with pytest.raises(tessera.ArgumentError, match=r"out.*overlap"):
        ptp(epochs, out=epochs.reshape(-1)[: n_epoch * n_chan].reshape(n_epoch, n_chan))


def test_read_only_input_and_other_buffers(epochs: Floats) -> None:
    want = numpy_ptp(epochs)
    epochs.flags.writeable = False
    assert_same_bits(ptp(epochs), want)
    assert_same_bits(ptp(epochs.data), want)
    assert_same_bits(ptp(tessera.Array(epochs)), want)


def test_misaligned_memory_is_refused() -> None:
    raw = np.zeros(4 * 8 + 1, np.uint8)[1:]
    x = raw.view(np.float32).reshape(2, 2, 2)
    with pytest.raises(tessera.ArgumentError, match="aligned"):
        ptp(x)


def test_odd_strides_are_refused() -> None:
    records = np.zeros((3, 2), [("x", "f4", 4), ("pad", "u1")])
    with pytest.raises(tessera.ShapeError, match="stride"):
        ptp(records["x"])
