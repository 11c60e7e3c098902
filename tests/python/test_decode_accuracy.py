"""decode against its formulas in NumPy: a worked example, any number of features, large sizes."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import decode_numpy as reference
from decode_support import (
    EXACT,
    FAST,
    Tolerance,
    encode,
    log_joint,
    log_likelihood,
    no_spike,
    observation,
    predict,
)
from tessera.decode.environment import Environment
from tessera.decode.models import ClusterlessDecoder

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

MODES = pytest.mark.parametrize("tolerance", [EXACT, FAST], ids=["exact", "fast"])

# ---- A worked example, small enough for a pocket calculator

POSITION_TIME = np.arange(10.0)
ENCODING = (
    [np.array([0.5, 2.25, 7.5]), np.array([4.0, 8.75, 9.5])],
    [np.array([[10.0, 20], [12, 18], [40, 5]]), np.array([[5.0, 5], [30, 30], [1, 1]])],
)
DECODING = (
    [np.array([0.5, 1.0, 4.0]), np.array([3.5, 4.5])],
    [np.array([[11.0, 19], [40, 6], [10, 20]]), np.array([[6.0, 6], [1, 1]])],
)
EDGES = np.arange(5.0)
GROUND = [0.5401031795, 0.416690932668, 0.48998742444]
LL = -np.array(
    [
        [7.83958729334, 8.873295154926, 11.610805642244],
        [12.166292234855, 9.57275717516, 8.380052199836],
        GROUND,
        [16.526569938822, 16.980425593222, 21.10210779345],  # 3.5, and 4.0 on the last edge
        GROUND,  # the last row never has spikes
    ]
)
LOCAL = -np.array([7.723267403777, 12.418717579797, 0.52938771955, 16.742178393469, 0.439917578875])
NO_SPIKE = -np.array([23.02585093014, 23.02585093014, 2e-10, 46.05170186008, 2e-10])
FILTERED = np.array(
    [
        [0.725315865061, 0.257984466137, 0.016699668802],
        [0.055714780741, 0.501165804545, 0.443119414714],
        [0.160695579049, 0.433930189727, 0.405374231224],
        [0.465768336881, 0.526165730482, 0.008065932637],
        [0.408536314702, 0.44467433911, 0.146789346188],
    ]
)
SMOOTHED = np.array(
    [
        [0.514829054093, 0.438794668286, 0.046376277621],
        [0.082283997327, 0.580462806795, 0.337253195878],
        [0.282152393498, 0.51634454488, 0.201503061622],
        [0.456986187883, 0.534856407399, 0.008157404718],
        [0.408536314702, 0.44467433911, 0.146789346188],
    ]
)


@MODES
def test_worked_example(tolerance: Tolerance) -> None:
    within = 1e-11 if tolerance.mode == "exact" else 1e-5
    position = POSITION_TIME[:, None]
    model = encode(
        Environment(place_bin_size=3.0).fit_place_grid(position),
        POSITION_TIME,
        position,
        *ENCODING,
        position_std=2.0,
        waveform_std=10.0,
        mode=tolerance.mode,
    )
    occupancy = [0.08438761801, 0.098847160501, 0.08438761801]
    np.testing.assert_allclose(model["occupancy"], occupancy, rtol=0, atol=within)
    np.testing.assert_allclose(model["mean_rates"], [0.3, 0.2], rtol=1e-15)
    np.testing.assert_allclose(
        model["summed_ground_process_intensity"], GROUND, rtol=0, atol=within
    )
    given = observation(EDGES, *DECODING, position=position, position_time=POSITION_TIME)
    got, _ = log_likelihood(model, given, tolerance.dtype)
    np.testing.assert_allclose(got, LL, rtol=0, atol=within)
    got, _ = log_likelihood(model, given, tolerance.dtype, local=True)
    np.testing.assert_allclose(got, LOCAL, rtol=0, atol=within)
    np.testing.assert_allclose(no_spike(given, 1e-10), NO_SPIKE, rtol=0, atol=1e-10)


@MODES
def test_worked_example_posteriors(tolerance: Tolerance) -> None:
    within = 1e-11 if tolerance.mode == "exact" else 1e-5
    model = ClusterlessDecoder(
        environments=Environment(place_bin_size=3.0),
        clusterless_algorithm_params={"position_std": 2.0, "waveform_std": 10.0},
        mode=tolerance.mode,
        floor="absolute",
    )
    model.fit(POSITION_TIME, POSITION_TIME[:, None], *ENCODING)
    want = ["acausal_posterior", "causal_posterior", "most_likely_bin"]
    found = predict(model, *DECODING, EDGES, want, dtype=tolerance.dtype)
    np.testing.assert_allclose(found["causal_posterior"], FILTERED, rtol=0, atol=within)
    np.testing.assert_allclose(found["acausal_posterior"], SMOOTHED, rtol=0, atol=within)
    assert np.array_equal(found["most_likely_bin"], [0, 1, 1, 1, 1])
    assert abs(found["log_evidence"] - -36.71695740207881) <= max(within, 1e-10)


# ---- Any number of features


def units(rng: np.random.Generator, n_feature: int, n_spike: int) -> Any:
    """Marks of six units, positions that go with them."""
    means = rng.uniform(40, 200, (6, n_feature))
    who = rng.integers(0, 6, n_spike)
    marks = means[who] * (1 + 0.08 * rng.standard_normal((n_spike, 1)))
    marks += 10 * rng.standard_normal(marks.shape)
    return marks, who * 15.0


@MODES
@pytest.mark.parametrize("floor", ["absolute", "none"])
@pytest.mark.parametrize("n_feature", [1, 2, 3, 4, 6, 8, 10, 16, 32])
def test_features(n_feature: int, floor: str, tolerance: Tolerance) -> None:
    rng = np.random.default_rng(100 + n_feature)
    position_time = np.arange(2000) / 64
    position = (45 * (1 - np.cos(position_time)))[:, None]
    n_spike = 700
    marks, _ = units(rng, n_feature, n_spike)
    times = np.sort(rng.uniform(0, position_time[-1], n_spike))
    environment = Environment(place_bin_size=3.0).fit_place_grid(position)
    model = encode(
        environment,
        position_time,
        position,
        [times],
        [marks],
        position_std=6.0,
        waveform_std=24.0,
        mode=tolerance.mode,
        floor=floor,
    )
    plain = reference.Encoding(
        position_time, position, [times], [marks], environment.place_bin_centers_, 6.0, 24.0
    )
    decoded = marks[::7] + rng.normal(0, 5, marks[::7].shape)
    got = log_joint(model, 0, decoded, tolerance.dtype).astype(float)
    want = plain.log_joint(0, decoded, floor)
    if floor == "absolute":
        tolerance.check_joint(got, want)
    else:  # the range of the arithmetic is the only floor: look where a double can tell
        seen = want > want.max(axis=1, keepdims=True) - 40
        # float32 results are rounded to 24 bits of their own size
        allowed = tolerance.joint + (2.0**-23 * np.abs(want) if tolerance is FAST else 0.0)
        assert np.all(np.abs(got - want)[seen] <= np.broadcast_to(allowed, want.shape)[seen])


@MODES
@pytest.mark.parametrize("offset", [1000.0, -30_000.0])
def test_offset_of_all_marks(offset: float, tolerance: Tolerance) -> None:
    """Distances are differences: a constant added to all marks must not cost digits."""
    rng = np.random.default_rng(5)
    position_time = np.arange(2000) / 64
    position = (45 * (1 - np.cos(position_time)))[:, None]
    marks = np.round(units(rng, 4, 500)[0] * 64) / 64  # exact with the offset
    times = np.sort(rng.uniform(0, position_time[-1], 500))
    environment = Environment(place_bin_size=3.0).fit_place_grid(position)
    found = [
        log_joint(
            encode(
                environment,
                position_time,
                position,
                [times],
                [marks + shift],
                position_std=6.0,
                waveform_std=24.0,
                mode=tolerance.mode,
            ),
            0,
            marks[:50] + shift,
            tolerance.dtype,
        )
        for shift in (0.0, offset)
    ]
    within = 1e-6 if tolerance is EXACT else 4e-6
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=within)


# ---- The sizes with which the original profiles itself

PROFILING = {
    # samples, times, electrodes, encoding spikes, decoding spikes, bins
    "tiny": (100, 50, 4, 20, 10, 100),
    "small": (500, 100, 8, 50, 30, 200),
    "medium": (2000, 500, 16, 200, 100, 500),
    "large": (5000, 1000, 32, 500, 300, 1000),
    "realistic": (10000, 2000, 64, 1000, 400, 2000),
}


def profiling(name: str) -> Any:
    n_sample, n_time, n_electrode, n_encoding, n_decoding, n_bin = PROFILING[name]
    rng = np.random.default_rng(42)
    lists = []
    for mean, duration in ((n_encoding, 100.0), (n_decoding, 20.0)):
        times, marks = [], []
        for _ in range(n_electrode):
            n = rng.poisson(mean)
            times.append(np.sort(rng.uniform(0, duration, n)))
            marks.append(rng.standard_normal((n, 2)))
        lists += [times, marks]
    return np.linspace(0, 100, n_sample), lists, np.linspace(0, 20, n_time), n_bin


class Profile:
    """Data of a size and what NumPy makes of it, worked out once."""

    def __init__(self, name: str) -> None:
        position_time, (times, marks, dec_times, dec_marks), self.edges, n_bin = profiling(name)
        position = position_time[:, None]
        self.environment = Environment(place_bin_size=100 / n_bin).fit_place_grid(
            np.linspace(0, 100, n_bin)[:, None], infer_track_interior=False
        )
        every = {"large": 40, "realistic": 400}.get(name, 1)
        self.encoding = position_time, position, times, marks
        self.decoding = [t[::every] for t in dec_times], [m[::every] for m in dec_marks]
        self.plain = reference.Encoding(
            *self.encoding, self.environment.place_bin_centers_, 12.5**0.5, 24.0
        )
        self.ll = self.plain.log_likelihood(self.edges, *self.decoding)


profile = functools.cache(Profile)


@MODES
@pytest.mark.parametrize("name", PROFILING)
def test_profiling_sizes(name: str, tolerance: Tolerance) -> None:
    """All electrodes of the encoding; of the larger sizes only some spikes are decoded, because
    NumPy would take minutes."""
    data = profile(name)
    model = encode(
        data.environment,
        *data.encoding,
        position_std=12.5**0.5,
        waveform_std=24.0,
        mode=tolerance.mode,
    )
    for got, want in (
        (model["occupancy"], data.plain.occupancy),
        (model["mean_rates"], data.plain.rates),
        (model["summed_ground_process_intensity"], data.plain.summed_ground),
    ):
        np.testing.assert_allclose(got, want, rtol=tolerance.field)
    got, _ = log_likelihood(model, observation(data.edges, *data.decoding), tolerance.dtype)
    tolerance.check_ll(got, data.ll)
