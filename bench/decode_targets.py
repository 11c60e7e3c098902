"""What decode is held to on an H200, measured: one line each.

    python bench/decode_targets.py [WORD ...]      (those whose name has a word; exit 1: one misses)

Needs torch with CUDA, whose profiler adds up the kernels of a warm call. Recordings from file to
file want TESSERA_COMMAND; TESSERA_BENCH_SHARE=0.01 takes a hundredth of each, to see that they run.
Without a GPU the same calls run on the CPU, by the clock: to see that they run, too.
"""

import functools
import os
import statistics
import sys
import time
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from cases import _decode_data as simulate
from cases import _decode_streamed as streamed
from cases import decode
from cases._targets import check, device, torch_with_gpu

SHARE = streamed.SHARE
N_CALL = 5


def part(count):
    """Of a recording that is taken as a share."""
    return max(100, round(count * SHARE))


def wall(call):
    begin = time.perf_counter()
    call()
    return (time.perf_counter() - begin) * 1e3


def kernels(call):
    """Milliseconds that the kernels of a warm call take, the median of several."""
    for _ in range(2):
        call()
    torch = torch_with_gpu()  # which times kernels
    if not torch:
        return statistics.median(wall(call) for _ in range(N_CALL))
    profiler = torch.profiler
    found = []
    for _ in range(N_CALL):
        with profiler.profile(activities=[profiler.ProfilerActivity.CUDA]) as seen:
            call()
        found.append(sum(event.self_device_time_total for event in seen.key_averages()
                         if not event.key.startswith("Mem")) * 1e-3)
    return statistics.median(found)


WIDTHS = {"position_std": 6.0, "waveform_std": 24.0}


def model_of(kind, data, widths):
    return decode.model_of("tessera.decode", kind, data, device=device(),
                           clusterless_algorithm_params=widths)


def likelihood(data):
    model = model_of("ClusterlessDecoder", data, WIDTHS)
    return kernels(lambda: model.compute_log_likelihood(
        data.time, data.time, data.decoding_position, data.decoding_times, data.decoding_marks))


def plane():
    """22 electrodes, 20,000 x 20,000 spikes each, over a field of 59 x 59 places."""
    rng = np.random.default_rng(1)
    walk = np.cumsum(rng.normal(0, 1.2, (100_000, 2)), axis=0)
    position = np.abs((walk + 117) % 468 - 234) % 117
    return simulate.recording(1, position, 22, part(20_000), part(20_000), part(30_000), 4, 2.0)


@functools.cache
def day():
    """64 electrodes, 18,304 x 7,800 spikes each, over a line of 200 places."""
    return simulate.line(200, part(18_304), part(7800), part(30_000), n_electrode=64)


def predictions(data, widths):
    """A call that predicts, of a model that is fitted anew."""
    model = model_of("ContFragClusterlessClassifier", data, widths)
    return lambda: model.predict(data.decoding_times, data.decoding_marks,
                                 data.time)["acausal_posterior"]


def step(few, many):
    """Microseconds of filter and smoother, 724 places of a W-maze in two states: many rows less
    few. From 4096 rows on a GPU takes them."""
    short, long = (decode.best_seconds(predictions(simulate.w_maze(400, 100, n), WIDTHS))
                   for n in (few, many))
    return (long - short) / (many - few) * 1e6


def first_to_steady(data, widths):
    """What a model's first prediction takes, as many times a later one."""
    predict = predictions(data, widths)
    first = wall(predict)
    return first / statistics.median(wall(predict) for _ in range(N_CALL))


def first_of(size):
    return first_to_steady(simulate.profiling(size),
                           {"position_std": 12.5**0.5, "waveform_std": 24.0})


def run_seconds(name):
    """From file to file, by the command; the second of two runs."""
    os.environ.setdefault("TESSERA_DEVICE", device())  # of the command
    size, *counts, _ = streamed.RECORDINGS[name]
    recording = streamed.Streamed(streamed.options_of(size, *counts))
    threads = os.cpu_count()
    recording.run(threads)
    return recording.run(threads)


# What it is, how it is measured, what is asked for, and whether more is better.
TARGETS = [
    ("kernels of 22 x 20k x 20k in the plane, ms", lambda: likelihood(plane()), 40.0, False),
    ("kernels of 64 x 18k x 7.8k on a line, ms", lambda: likelihood(day()), 10.0, False),
    ("filter and smoother of 1448 states, us a step", lambda: step(1000, 3000), 10.0, False),
    ("the same of a long recording", lambda: step(10_000, 50_000), 10.0, False),
    ("first prediction over later ones, tiny", lambda: first_of("tiny"), 1.1, False),
    ("first prediction over later ones, medium", lambda: first_of("medium"), 1.1, False),
    ("first prediction over later ones, realistic", lambda: first_of("realistic"), 1.1, False),
    ("first prediction over later ones, day-1d", lambda: first_to_steady(day(), WIDTHS), 1.1,
     False),
    ("decode run day-1d, s", lambda: run_seconds("day-1d"), 1.2, False),
    ("decode run chronic, s", lambda: run_seconds("chronic"), 8.0, False),
]


if __name__ == "__main__":
    warnings.simplefilter("ignore", UserWarning)  # of floors and bins of data that are made up
    sys.exit(check(TARGETS, sys.argv[1:]))
