"""Rates of any shape: truths by plain NumPy, verdicts, threads, files, what is refused."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

import tessera
from tessera import xpcs

DT: Final = 0.1
Q: Final = 0.0054
MODE: Final = "static_anisotropic"

Floats: TypeAlias = npt.NDArray[np.float64]


def matrices(rate: Floats, n_angle: int = 2, seed: int = 0, sigma: float = 0.01) -> Floats:
    """Correlations of a sample whose D(t) is anything."""
    integral = np.concatenate([[0], np.cumsum((rate[1:] + rate[:-1]) / 2)])
    model = np.exp(-(Q**2) * DT * np.abs(integral[:, None] - integral[None, :]))
    noise = np.random.default_rng(seed).normal(0, sigma, (n_angle, *model.shape))
    upper = np.triu(noise)
    lower = np.triu(noise, 1).transpose(0, 2, 1)
    return np.asarray(1 + 0.3 * model + upper + lower, np.float64)


def ageing(n: int = 80) -> tuple[Floats, Floats]:
    t = np.asarray(DT * np.arange(1, n + 1), np.float64)
    return t, np.asarray(500 + 9000 * np.exp(-6 * t / t[-1]), np.float64)


def data_of(rate: Floats, **more: Any) -> xpcs.Data:
    c2 = matrices(rate, **more)
    return xpcs.Data.from_arrays(c2, [0.0, 45.0], Q, dt=DT, without_t0=True)


def test_ageing_is_found_and_is_no_power_law(tmp_path: Path) -> None:
    t, truth = ageing()
    rates = xpcs.fit_rates(data_of(truth), mode=MODE, threads=1)
    np.testing.assert_allclose(rates.t, t, rtol=1e-12)
    inside = (rates.transport.low <= truth) & (truth <= rates.transport.high)
    assert inside.mean() > 0.8
    assert rates.success
    assert rates.log_bayes_factor > 20
    assert "no power law" in rates.verdict
    assert rates.shear is None
    assert abs(rates.noise / 0.01 - 1) < 0.03

    folder = rates.save(tmp_path / "rates")
    told = json.loads((folder / "rates.json").read_text())
    assert told["evidence"]["verdict"] == rates.verdict
    np.testing.assert_allclose(told["transport"]["value"], rates.transport.value, rtol=1e-12)
    with np.load(folder / "rates.npz") as arrays:
        np.testing.assert_array_equal(arrays["D"], rates.transport.value)
        np.testing.assert_array_equal(arrays["D_high"], rates.transport.high)
        assert len(arrays["knots"]) == 20
    page = (folder / "report.html").read_text()
    assert "no power law" in page
    assert "free form" in page
    with pytest.raises(tessera.OutputExistsError, match=r"rates\.json"):
        rates.save(folder)

    again = xpcs.fit_rates(data_of(truth), mode=MODE, threads=3)
    np.testing.assert_array_equal(again.transport.value, rates.transport.value)
    np.testing.assert_array_equal(again.transport.sd, rates.transport.sd)
    assert again.log_bayes_factor == rates.log_bayes_factor


def test_a_power_law_is_told() -> None:
    truth = {"D0": 9000.0, "alpha": -0.6, "D_offset": 800.0}
    data = xpcs.simulate(truth, n_angle=3, n_frame=90, dt=DT, sigma=0.01, seed=3)
    rates = xpcs.fit_rates(data, mode=MODE)
    assert rates.log_bayes_factor < 0
    evidence = xpcs.compare_models(data, [MODE], method="laplace", n_draw=200)[0]
    assert abs(rates.log_evidence_offset - evidence["log_evidence"]) < 0.2
    right = truth["D0"] * rates.t ** truth["alpha"] + truth["D_offset"]
    assert np.mean((rates.transport.low <= right) & (right <= rates.transport.high)) > 0.8


def test_smoothness_and_shape_can_be_said() -> None:
    _, truth = ageing(60)
    data = data_of(truth)
    stiff = xpcs.fit_rates(data, mode=MODE, spacing="linear", smoothness=1e6)
    free = xpcs.fit_rates(data, mode=MODE, spacing="linear", smoothness=10)
    assert stiff.transport.smoothness == pytest.approx(1e6)
    assert stiff.transport.n_effective < free.transport.n_effective
    assert np.isnan(stiff.log_evidence_log)
    falling = xpcs.fit_rates(data, mode=MODE, shape="monotone", knots=12)
    assert np.all(np.diff(falling.transport.value) <= 0)


def test_few_frames_have_as_many_knots_and_no_false_alarm() -> None:
    truth = {"D0": 1e4, "alpha": -0.5, "D_offset": 100.0}
    for seed in (1, 2, 6, 9):  # of the first three the noise is estimated too low by 1.4 to 1.5
        data = xpcs.simulate(truth, n_angle=1, n_frame=14, dt=DT, sigma=0.01, seed=seed)
        rates = xpcs.fit_rates(data, mode="static_isotropic")
        assert len(rates.knots) == len(rates.t) == 13
        assert not any("residuals" in note for note in rates.notes)


def test_a_curve_that_does_not_fit_is_told() -> None:
    t = DT * np.arange(1, 41)
    wave = data_of(np.asarray(3000 + 2500 * np.sin(6 * np.pi * t / t[-1])), sigma=0.001)
    advice = {
        12: "take more knots, or the shape smooth, or look",
        40: ": take the shape smooth, or",
    }
    for knots, words in advice.items():
        with pytest.warns(UserWarning, match="residuals"):
            rates = xpcs.fit_rates(wave, mode=MODE, shape="monotone", knots=knots, spacing="linear")
        assert any(words in note for note in rates.notes), rates.notes


def test_the_direction_of_flow_can_stay() -> None:
    data = xpcs.simulate(mode="laminar_flow", n_angle=4, n_frame=50, dt=DT, gap=2e6, sigma=0.01)
    rates = xpcs.fit_rates(data, mode="laminar_flow", knots=8, spacing="log", fixed={"phi0": 2.0})
    assert rates.phi0 == 2.0
    assert np.isnan(rates.phi0_sd)
    assert rates.shear is not None
    assert rates.shear.value.mean() > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"knots": 3}, "knots"),
        ({"knots": 60}, "knots: 60; expected 4 to 40"),
        ({"shape": "round"}, "shape: 'round'; expected 'smooth', 'monotone'"),
        ({"spacing": "even"}, "spacing"),
        ({"smoothness": -1.0}, "smoothness"),
        ({"fixed": {"alpha": -1.0}}, "alpha is fixed"),
        ({"loss": "huber"}, "linear"),
        ({"noise": "frames"}, "independent"),
        ({"mode": "two_component"}, "its rates are power laws"),
    ],
)
def test_refusals(options: dict[str, Any], message: str) -> None:
    _, truth = ageing(40)
    with pytest.raises(tessera.Error, match=message):
        xpcs.fit_rates(data_of(truth), **({"mode": MODE} | options))


def test_ctrl_c() -> None:
    _, truth = ageing(300)

    def stop(_: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        xpcs.fit_rates(data_of(truth), mode=MODE, progress=stop)
