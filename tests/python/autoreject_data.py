"""Golden data and simulated epochs for the tests of autoreject."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

GOLDEN = Path(__file__).parents[1] / "golden" / "autoreject"

Arrays = dict[str, npt.NDArray[Any]]


def golden(name: str) -> Arrays:
    with np.load(next(GOLDEN.glob(f"{name}*.npz"))) as file:
        return {key: file[key] for key in file.files}


def texts(array: Any) -> list[str]:
    return [entry.decode() for entry in np.asarray(array).tolist()]


def sphere(n: int) -> npt.NDArray[np.float64]:
    """Spread n points over the upper part of a head."""
    k = np.arange(n)
    z = 1 - 1.2 * (k + 0.5) / n
    r = np.sqrt(1 - z**2)
    a = 2.399963229728653 * k
    return 0.09 * np.stack([r * np.cos(a), r * np.sin(a), z], axis=1)


def g1() -> npt.NDArray[np.float64]:
    """Make the golden case that needs no file: 40 epochs, 16 channels, 50 samples."""
    s = 12345
    x = np.empty((40, 16, 50))
    t = np.arange(50)
    for e in range(40):
        for c in range(16):
            u = np.empty(50)
            for i in range(50):
                s = (1103515245 * s + 12345) % 2**31
                u[i] = s / 2**31
            x[e, c] = 10e-6 * np.sin(2 * np.pi * t / 25 + 0.3 * c) + 20e-6 * (u - 0.5)
            if (7 * e + 3 * c) % 23 == 0:
                x[e, c] += 80e-6 * np.sin(2 * np.pi * t / 10)
        if e in (5, 12, 22):
            x[e] *= 3
    return x


def mne_epochs(
    x: Any,
    positions: Any,
    types: Any = "eeg",
    names: list[str] | None = None,
    sfreq: float = 100.0,
    bads: tuple[str, ...] = (),
) -> Any:
    """Make MNE's epochs with positions set directly."""
    import mne

    if names is None:
        names = [f"E{k + 1:02d}" for k in range(x.shape[1])]
    info = mne.create_info(names, sfreq, types)
    if positions is not None:
        for channel, place in zip(info["chs"], positions, strict=True):
            channel["loc"][: len(place)] = place
    info["bads"] = list(bads)
    return mne.EpochsArray(np.array(x), info, verbose="ERROR")


def dirty(n_epoch: int = 30, n_chan: int = 12, n_time: int = 40, seed: int = 3) -> Any:
    """Noise with a few bad channels and two bad epochs."""
    rng = np.random.default_rng(seed)
    x = 1e-5 * rng.standard_normal((n_epoch, n_chan, n_time))
    x += 5e-6 * rng.standard_normal((n_epoch, 1, n_time))
    x[4, 2] *= 12
    x[9, 5] *= 9
    x[7] *= 8
    x[13] *= 6
    return x
