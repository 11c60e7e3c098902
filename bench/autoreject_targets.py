"""What autoreject is held to on an H200, measured: one line each.

    python bench/autoreject_targets.py [WORD ...]  (those whose name has a word; exit 1: one misses)

Needs torch with CUDA for the arrays that are on the device, and TESSERA_COMMAND for the recording
in a file, which is read from the page cache. Times are the clock's, medians of warm calls with all
threads of the host.
TESSERA_BENCH_SHARE=0.01 takes a hundredth of the epochs, and without a GPU the same calls run on
the CPU: both to see that they run.
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from cases import _autoreject_components as components
from cases import _autoreject_data as simulate
from cases._targets import check, device, torch_with_gpu

SHARE = float(os.environ.get("TESSERA_BENCH_SHARE", "1"))
SEED = 42
N_CALL = 5


def part(n_epoch):
    return max(20, round(n_epoch * SHARE))


def seconds(call):
    """Of a warm call."""
    call()
    found = []
    for _ in range(N_CALL):
        begin = time.perf_counter()
        call()
        found.append(time.perf_counter() - begin)
    return statistics.median(found)


def fit(x, position, types):
    from tessera.autoreject import AutoReject

    # Beside a GPU a fit has all cores of the host unless n_jobs says otherwise.
    return lambda: AutoReject(random_state=SEED, verbose=False,
                              device=device()).fit_array(x, position, types)


def there(x):
    """Where the fit computes."""
    torch = torch_with_gpu()
    return torch.from_numpy(x).cuda() if torch else x


def eeg_ms(place):
    x, position = simulate.epochs(part(300), 128, 1000, SEED)
    return seconds(fit(place(x), position, ["eeg"] * 128)) * 1e3


def meg_seconds():
    """102 magnetometers and 204 gradiometers around a head, two directions at each place."""
    x, _ = simulate.epochs(part(500), 306, 1000, SEED)
    out = simulate.electrodes(102) / 0.09
    side = np.cross(out, [0.3, 0.5, 0.8])
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    around = np.cross(out, side)
    coils = np.concatenate([0.11 * out + [0, 0, 0.04], side, around, out], axis=1)
    turned = np.concatenate([coils[:, :3], around, -side, out], axis=1)
    x[:, :102] *= 1e-7
    x[:, 102:] *= 4e-6
    return seconds(fit(x, np.concatenate([coils, coils, turned]), ["mag"] * 102 + ["grad"] * 204))


def long_file(folder):
    """6000 epochs of 128 channels and 1000 samples, and where their electrodes are."""
    file, places = Path(folder) / "long.npy", Path(folder) / "long.csv"
    components.run_command("simulate", "-o", str(file), "--positions", str(places), "--epochs",
                           str(part(6000)), "--channels", "128", "--samples", "1000",
                           "--device", "cpu")
    return file, places


def long_seconds():
    with tempfile.TemporaryDirectory(prefix="tessera-bench-") as folder:
        x = np.load(long_file(folder)[0])
    return seconds(fit(x, simulate.electrodes(128), ["eeg"] * 128))


def long_file_seconds():
    with tempfile.TemporaryDirectory(prefix="tessera-bench-") as folder:
        file, places = long_file(folder)
        words = ["fit", str(file), "--montage", str(places), "--memory-limit", "4G", "--device",
                 device()]
        components.run_command(*words)
        return statistics.median(components.run_command(*words) for _ in range(N_CALL))


# What it is, how it is measured, what is asked for, and whether more is better.
TARGETS = [
    ("fit of 300 x 128 x 1000 on the device, ms", lambda: eeg_ms(there), 20.0, False),
    ("fit of 300 x 128 x 1000 from NumPy, ms", lambda: eeg_ms(lambda x: x), 60.0, False),
    ("fit of 500 x 306 x 1000, MEG, s", meg_seconds, 0.5, False),
    ("fit of 6000 x 128 x 1000 from NumPy, s", long_seconds, 0.8, False),
    ("fit of 6000 x 128 x 1000 from a file, s", long_file_seconds, 1.5, False),
]


if __name__ == "__main__":
    sys.exit(check(TARGETS, sys.argv[1:]))
