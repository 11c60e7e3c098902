"""autoreject's first step: peak-to-peak per epoch and channel, which the original does in NumPy."""

import functools
import math

import numpy as np

import tessera
from cases._case import Case

SIZES = [(100, 32, 250), (300, 64, 500), (300, 128, 1000)]


def make(shape, dtype):
    return np.random.default_rng(1).standard_normal(shape).astype(dtype) * 1e-5


def ours(x, threads):
    return tessera.autoreject.ptp(x, threads=threads)


def peer(x):
    return np.ptp(x, axis=-1)


def largest_difference(ours, theirs):
    return float(np.max(np.abs(ours - theirs)))


def cases():
    return [
        Case(
            name=f"ptp-{n_epoch}x{n_chan}x{n_time}-{name}",
            sizes={"n_epoch": n_epoch, "n_chan": n_chan, "n_time": n_time, "dtype": name},
            peer_name="numpy",
            bytes_read=math.prod(shape) * np.dtype(name).itemsize,
            tolerance=0.0,  # minimum, maximum and one subtraction: nothing to round differently
            make=functools.partial(make, shape, name),
            ours=ours,
            peer=peer,
            error=largest_difference,
        )
        for shape in SIZES
        for n_epoch, n_chan, n_time in [shape]
        for name in ("float64", "float32")
    ]
