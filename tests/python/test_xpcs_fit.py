"""Fits of xpcs: golden answers, NumPy's sums, options, errors, threads, stopping."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
import xpcs_numpy as reference
from tessera import xpcs
from test_xpcs_data import golden_data

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "xpcs"
MODES = {"laminar": "laminar_flow", "static": "static_anisotropic"}


def golden(name: str) -> Any:
    return np.load(GOLDEN / f"fit_{name}.npz")


@pytest.fixture(scope="module")
def laminar() -> tuple[Any, xpcs.Data]:
    g = golden("laminar")
    return g, golden_data(g)


@pytest.fixture(scope="module")
def static() -> tuple[Any, xpcs.Data]:
    g = golden("static")
    return g, golden_data(g)


def fit_golden(g: Any, data: xpcs.Data, mode: str, **options: Any) -> xpcs.Result:
    own: dict[str, Any] = {"mode": mode, "sigma": float(g["sigma"]), "absolute_sigma": True}
    return xpcs.fit(data, **(own | options))


@pytest.mark.parametrize("point", ["start", "truth", "optimum"])
@pytest.mark.parametrize("name", ["laminar", "static"])
def test_sums_are_golden(name: str, point: str) -> None:
    g, a = golden(name), np.load(GOLDEN / "accumulators.npz")

    def want(key: str) -> Any:
        return a[f"{name}_{point}_{key}"]

    got = xpcs.accumulate(golden_data(g), want("theta"), mode=MODES[name], sigma=float(g["sigma"]))  # type: ignore[arg-type]
    for key, other in (
        ("s1", "S1"), ("sf", "Sf"), ("sff", "Sff"), ("sy", "Sy"), ("syy", "Syy"), ("sfy", "Sfy"),
        ("contrast", "contrast"), ("offset", "offset"),
    ):  # fmt: skip
        assert np.allclose(got[key], want(other), rtol=1e-12, atol=0), key  # type: ignore[literal-required]
    for key, other in (("p", "Pk"), ("q", "Qk"), ("r", "Rk")):
        scale = np.abs(want(other)).max(0)
        assert np.max(np.abs(got[key] - want(other)) / scale) <= 1e-12, key  # type: ignore[literal-required]
    cost, hessian = float(want("cost")), want("hessian")
    scale = np.sqrt(np.diag(hessian))
    assert abs(got["cost"] / cost - 1) <= 1e-12
    assert np.max(np.abs(got["hessian"] - hessian) / np.outer(scale, scale)) <= 1e-11
    limit = 1e-6 * scale if point == "optimum" else 1e-9 * scale * np.sqrt(cost)
    assert np.all(np.abs(got["gradient"] - want("gradient")) <= limit)


def test_levels_of_sums(static: tuple[Any, xpcs.Data]) -> None:
    g, data = static
    options: dict[str, Any] = {"mode": "static_anisotropic", "sigma": 0.004}
    theta = g["start_theta"]
    keys = [set(xpcs.accumulate(data, theta, level=n, **options)) for n in range(4)]
    assert keys[0] == {"cost"}
    assert keys[1] == {"cost", "gradient"}
    assert keys[2] == {"cost", "gradient", "hessian", "contrast", "offset"}
    assert keys[2] < keys[3]
    costs = {xpcs.accumulate(data, theta, level=n, **options)["cost"] for n in range(4)}
    assert len(costs) == 1


def test_sums_are_numpys() -> None:
    rng = np.random.default_rng(8)
    phi = rng.uniform(-90, 90, 3)
    problem = reference.Problem(40, 0.1, phi, np.full(3, 0.0054))
    theta = np.array([30000.0, -0.9, 900.0, 2e-3, -0.3, 1e-4, -1.0])
    c2 = reference.surface(problem, theta, np.full(3, 0.3), np.full(3, 1.0))
    i, j = reference.pairs(40)
    y = c2[:, i, j] + rng.normal(0, 0.02, (3, len(i)))
    y[1, 5] = np.nan
    c2[:, i, j] = y
    c2[:, j, i] = y
    data = xpcs.Data.from_arrays(c2, phi, 0.0054, dt=0.1, gap=2e6, without_t0=True)
    at = theta * 1.1
    want = reference.reduced(problem, at, y, 0.02)
    got = xpcs.accumulate(data, at, mode="laminar_flow", sigma=0.02)
    scale = np.sqrt(np.diag(want.hessian))
    assert got["cost"] == pytest.approx(want.cost, rel=1e-12)
    assert np.allclose(got["contrast"], want.contrast, rtol=1e-11)
    assert np.max(np.abs(got["gradient"] - want.gradient) / scale) <= 1e-9 * np.sqrt(want.cost)
    assert np.max(np.abs(got["hessian"] - want.hessian) / np.outer(scale, scale)) <= 1e-11


CASES = [
    *(
        ("laminar", x)
        for x in (
            "individual", "averaged", "constant", "constant_averaged", "fourier",
            "individual_upstream_v1", "individual_physical",
        )
    ),
    *(("static", x) for x in ("individual", "averaged", "constant", "constant_averaged")),
]  # fmt: skip


@pytest.mark.parametrize(("tolerance", "limit"), [(1e-8, 1e-4), (1e-12, 1e-5)])
@pytest.mark.parametrize(("name", "which"), CASES)
def test_golden_fits(name: str, which: str, tolerance: float, limit: float) -> None:
    g = golden(name)
    scaling, _, kernel = which.partition("_upstream_v1" if "v1" in which else "_physical")
    kernel = "upstream_v1" if "v1" in which else "physical" if "physical" in which else "upstream"
    found = fit_golden(
        g,
        golden_data(g),
        MODES[name],
        scaling=scaling,
        kernel=kernel,
        ftol=tolerance,
        xtol=tolerance,
        gtol=tolerance,
    )
    theta, n = g[f"theta_{which}"], len(g[f"theta_{which}"])
    covariance = g[f"cov_{which}"]
    sd = np.sqrt(np.diag(covariance))[-n:]
    assert found.success
    assert np.max(np.abs(found.theta - theta) / sd) <= limit
    assert found.chi2 == pytest.approx(float(g[f"chi2_{which}"]), rel=1e-9)
    assert found.dof == int(g[f"dof_{which}"])
    error = np.abs(found.covariance[-n:, -n:] - covariance[-n:, -n:]) / np.outer(sd, sd)
    assert np.max(error) <= (1e-6 if tolerance < 1e-8 else 1e-4)
    assert np.allclose(found.theta_uncertainties, sd, rtol=1e-4)
    assert np.allclose(found.contrast, g[f"contrast_{which}"], rtol=0, atol=1e-5)
    assert np.allclose(found.offset, g[f"offset_{which}"], rtol=0, atol=1e-5)


@pytest.mark.parametrize("loss", ["soft_l1", "huber", "cauchy", "arctan"])
def test_robust_golden_fits(loss: str, laminar: tuple[Any, xpcs.Data]) -> None:
    g, data = laminar
    # arctan has several minima; the stored one is reached from the linear minimum.
    start = g["theta_individual"] if loss == "arctan" else None
    found = fit_golden(g, data, "laminar_flow", loss=loss, start=start, ftol=1e-12, xtol=1e-12)
    n = 7
    sd = np.sqrt(np.diag(g["cov_individual"]))[-n:]
    assert np.max(np.abs(found.theta - g[f"x_individual_{loss}"][-n:]) / sd) <= 1e-4
    assert found.cost == pytest.approx(float(g[f"cost_individual_{loss}"]), rel=1e-9)


def test_covariance_of_the_scaling_is_golden(laminar: tuple[Any, xpcs.Data]) -> None:
    g, data = laminar
    found = fit_golden(g, data, "laminar_flow", ftol=1e-12, xtol=1e-12, gtol=1e-12)
    want = g["cov_individual"]
    sd = np.sqrt(np.diag(want))
    assert found.covariance.shape == want.shape == (19, 19)
    assert np.max(np.abs(found.covariance - want) / np.outer(sd, sd)) <= 1e-6
    assert np.allclose(np.diag(found.correlation), 1)
    assert np.allclose(found.parameters, g["x_individual"], rtol=0, atol=1e-5 * sd)
    assert np.allclose(found.uncertainties, sd, rtol=1e-6)


def test_full_counting_changes_errors_alone(static: tuple[Any, xpcs.Data]) -> None:
    g, data = static
    half, full = (fit_golden(g, data, "static_anisotropic", counting=c) for c in ("half", "full"))
    assert np.array_equal(half.theta, full.theta)
    assert np.allclose(full.uncertainties * np.sqrt(2), half.uncertainties, rtol=1e-12)
    assert full.chi2 == pytest.approx(2 * half.chi2)


def test_kernels_differ_by_pi(laminar: tuple[Any, xpcs.Data]) -> None:
    g, data = laminar
    new, old = (
        fit_golden(g, data, "laminar_flow", kernel=k, ftol=1e-12, xtol=1e-12, gtol=1e-12)
        for k in ("upstream", "upstream_v1")
    )
    assert new.chi2 == pytest.approx(old.chi2, rel=1e-10)
    assert new["gamma_dot_t0"] / old["gamma_dot_t0"] == pytest.approx(np.pi, rel=1e-5)


def test_result_has_both_names(static: tuple[Any, xpcs.Data]) -> None:
    g, data = static
    found = fit_golden(g, data, "static_anisotropic")
    assert found.names[:2] == ["contrast_0", "contrast_1"]
    assert found.names[-3:] == ["D0", "alpha", "D_offset"]
    assert len(found.parameters) == len(found.uncertainties) == len(found.status) == 9
    assert found["D0"] == found.physical["D0"] == found.theta[0]
    assert found.chi_squared == found.chi2
    assert found.reduced_chi_squared == found.reduced_chi2 == pytest.approx(found.chi2 / found.dof)
    assert found.convergence_status == "converged"
    assert set(found.status) == {"free"}
    assert found.quality_flag == "good"
    assert found.iterations > 0
    assert found.passes >= found.nfev > 0
    assert found.execution_time >= 0
    assert found.device_info["device"] == "cpu"
    assert found.strategy == "STANDARD"
    assert not found.sigma_is_default
    assert found.recovery_actions == []
    assert len(found.trace["cost"]) > 0
    assert "D0" in found.summary()
    assert "converged" in repr(found)
    assert found.version == tessera.__version__
    with pytest.raises(KeyError, match="gamma"):
        found["gamma"]
    with pytest.raises(ValueError, match="read-only"):
        found.theta[0] = 1.0
    values = found.to_dict()
    assert isinstance(values, dict)
    assert np.max(np.abs(found.residuals(0))) < 10 * 0.004
    assert np.allclose(found.model(1), found.model()[1])


def test_fixed_active_and_bounds(laminar: tuple[Any, xpcs.Data]) -> None:
    g, data = laminar
    fixed = fit_golden(g, data, "laminar_flow", fixed={"beta": 0.0, "phi_0": 2.0})
    assert (fixed["beta"], fixed["phi0"]) == (0.0, 2.0)
    assert (fixed.physical_uncertainties["beta"], fixed.status[-3]) == (0.0, "fixed")
    active = fit_golden(g, data, "laminar_flow", active=["D0", "alpha"], start=g["truth_theta"])
    assert active.status[-7:] == ["free"] * 2 + ["fixed"] * 5
    assert np.array_equal(active.theta[2:], g["truth_theta"][2:])
    bound = fit_golden(g, data, "laminar_flow", bounds={"phi0": (-1.0, 1.0), "contrast": (0, 0.9)})
    assert bound["phi0"] == pytest.approx(1.0, abs=1e-6)
    assert bound.status[-1].startswith("at_upper")
    assert bound.warnings
    low, high = (np.array([p[k] for p in xpcs.parameters()]) for k in ("lower", "upper"))
    assert np.array_equal(fit_golden(g, data, "laminar_flow", bounds=(low, high)).lower, low)


def test_nothing_but_options_changes_the_answer(laminar: tuple[Any, xpcs.Data]) -> None:
    g, data = laminar
    first = fit_golden(g, data, "laminar_flow", threads=1)
    for options in (
        {"threads": 3},
        {"strategy": "chunked", "chunk_tiles": 1},
        {"strategy": "streaming"},
        {"strategy": "large"},
    ):
        other = fit_golden(g, data, "laminar_flow", **options)
        assert np.array_equal(first.parameters, other.parameters), options
        assert np.array_equal(first.covariance, other.covariance), options
        assert first.chi2 == other.chi2


def test_residency_changes_no_bit(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "n_angle": 3,
        "n_frame": 90,
        "seed": 3,
        "gap": 2e6,
        "dt": 0.1,
        "dtype": "f32",
    }
    memory = xpcs.simulate(**options)
    made = xpcs.simulate(in_memory=False, **options)
    stored = xpcs.load(memory.save(tmp_path / "x.txc2"))
    fits = [xpcs.fit(data, sigma=0.01) for data in (memory, made, stored)]
    for other in fits[1:]:
        assert np.array_equal(fits[0].parameters, other.parameters)
        assert np.array_equal(fits[0].covariance, other.covariance)


def test_config_as_options_and_sections(static: tuple[Any, xpcs.Data]) -> None:
    g, data = static
    keywords = fit_golden(g, data, "static_anisotropic")
    options: dict[str, Any] = {"mode": "static_anisotropic", "sigma": 0.004, "absolute_sigma": True}
    assert np.array_equal(xpcs.fit(data, options).parameters, keywords.parameters)
    sections = {
        "analysis_mode": "static_anisotropic",
        "analyzer_parameters": {"dt": 0.1, "start_frame": 1, "end_frame": -1},
        "model": {"sigma": {"mode": "constant", "value": 0.004}},
    }
    found = xpcs.fit(data, sections, absolute_sigma=True)
    assert np.array_equal(found.parameters, keywords.parameters)


def test_multistart_reports_basins(static: tuple[Any, xpcs.Data]) -> None:
    g, data = static
    found = fit_golden(g, data, "static_anisotropic", n_start=6)
    assert np.max(np.abs(found.theta / g["theta_individual"] - 1)) < 1e-3
    assert len(found.basins) >= 1
    assert sum(basin["n_start"] for basin in found.basins) >= 1


def test_bootstrap(static: tuple[Any, xpcs.Data]) -> None:
    g, data = static
    found = fit_golden(g, data, "static_anisotropic", uncertainty="block_bootstrap", n_bootstrap=20)
    assert found.bootstrap is not None
    assert found.bootstrap_uncertainties is not None
    assert found.bootstrap.shape == (20, 3)
    assert "bootstrap    95 % interval" in found.summary()
    assert "over 20 refits" in found.summary()
    assert np.allclose(found.bootstrap.std(0, ddof=1), found.bootstrap_uncertainties, rtol=0.2)


def test_a_fit_that_stops_early_is_a_result(laminar: tuple[Any, xpcs.Data]) -> None:
    g, data = laminar
    with pytest.warns(UserWarning, match="max_iter"):
        found = fit_golden(g, data, "laminar_flow", max_nfev=2, n_start=1)
    assert found.convergence_status == "max_iter"
    assert not found.success


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"mode": "steady"}, ValueError, "steady"),
        ({"los": "huber"}, ValueError, "did you mean 'loss'"),
        ({"loss": "hubert"}, ValueError, "hubert"),
        ({"sigma": 0.0}, ValueError, "sigma"),
        ({"start": {"D0": np.inf}}, ValueError, "D0"),
        ({"start": [1.0]}, ValueError, "start"),
        ({"bounds": {"D0": (5.0, 1.0)}}, ValueError, "D0"),
        ({"fixed": ["gamma"]}, ValueError, "gamma"),
        ({"contrast": [0.1, 0.2]}, ValueError, "contrast"),
        ({"threads": 1, "context": "x"}, ValueError, "context"),
        ({"sigma_mode": "dataset"}, ValueError, "sigma"),
        ({"ftol": "small"}, TypeError, "ftol"),
    ],
)
def test_mistakes_are_named(
    options: dict[str, Any], error: type[Exception], text: str, laminar: tuple[Any, xpcs.Data]
) -> None:
    _, data = laminar
    with pytest.raises(error, match=text):
        xpcs.fit(data, **options)


def test_laminar_flow_needs_the_gap() -> None:
    c2 = xpcs.model((1e4, -0.5, 10.0), 30, [0.0], 0.0054, dt=0.1, contrast=0.3, offset=1.0)
    data = xpcs.Data.from_arrays(c2, [0.0], 0.0054, dt=0.1)
    with pytest.raises(ValueError, match="gap"):
        xpcs.fit(data, mode="laminar_flow")


def test_what_is_no_data_is_refused() -> None:
    with pytest.raises(TypeError, match="c2_exp"):
        xpcs.fit(3)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        xpcs.fit("nowhere.hdf")


ENDLESS: dict[str, Any] = {"n_start": 20000, "screen_keep": 1.0}  # hours


def large() -> xpcs.Data:
    return xpcs.simulate(n_angle=8, n_frame=900, gap=2e6, dt=0.1, sigma=0.01)


def test_progress_and_cancel() -> None:
    seen: list[tessera.Progress] = []

    def stop(progress: tessera.Progress) -> None:
        seen.append(progress)
        if len(seen) == 3:
            raise RuntimeError("enough")

    begin = time.perf_counter()
    with pytest.raises(RuntimeError, match="enough"):
        xpcs.fit(large(), progress=stop, **ENDLESS)
    assert len(seen) == 3
    assert seen[0].stage.startswith("xpcs")
    assert time.perf_counter() - begin < 20


def test_cancel_from_another_thread() -> None:
    data = large()
    with tessera.Context(threads=1) as context:
        timer = threading.Timer(0.5, context.cancel)
        timer.start()
        begin = time.perf_counter()
        with pytest.raises(tessera.Cancelled):
            xpcs.fit(data, context=context, **ENDLESS)
        assert time.perf_counter() - begin < 5
        timer.join()


def test_small_data_are_watched_when_there_are_many_passes() -> None:
    data = xpcs.simulate(mode="static_isotropic", n_angle=1, n_frame=40, dt=0.1)

    def stop(progress: tessera.Progress) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        xpcs.fit(data, mode="static_isotropic", progress=stop, **ENDLESS)


def test_cancel_while_points_are_made() -> None:
    data = xpcs.simulate(in_memory=False, n_angle=8, n_frame=1200, gap=2e6, dt=0.1)
    with tessera.Context(threads=1) as context:
        timer = threading.Timer(0.2, context.cancel)
        timer.start()
        begin = time.perf_counter()
        with pytest.raises(tessera.Cancelled):
            xpcs.fit(data, context=context, **ENDLESS)
        assert time.perf_counter() - begin < 3
        timer.join()


def test_the_gil_is_free_while_fitting() -> None:
    data = large()
    counts: list[int] = []

    def count() -> None:
        end = time.perf_counter() + 0.5
        n = 0
        while time.perf_counter() < end:
            n += 1
        counts.append(n)

    with tessera.Context(threads=1) as context:
        worker = threading.Thread(target=count)
        worker.start()
        timer = threading.Timer(1.0, context.cancel)
        timer.start()
        with pytest.raises(tessera.Cancelled):
            xpcs.fit(data, context=context, **ENDLESS)
        worker.join()
        timer.join()
    assert counts[0] > 1000


def test_fits_in_threads_are_independent(static: tuple[Any, xpcs.Data]) -> None:
    g, data = static
    want = fit_golden(g, data, "static_anisotropic").parameters
    found: list[Any] = [None] * 4

    def work(k: int) -> None:
        found[k] = fit_golden(g, data, "static_anisotropic", threads=1).parameters

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(np.array_equal(values, want) for values in found)


def test_resume_gives_the_same_bits(tmp_path: Path) -> None:
    data = xpcs.simulate(n_angle=6, n_frame=300, gap=2e6, dt=0.1, sigma=0.01)
    whole = xpcs.fit(data, sigma=0.01)

    def stop(progress: tessera.Progress) -> None:
        if any(tmp_path.rglob("*")) and progress.elapsed_s > 0.1:
            raise KeyboardInterrupt

    folder = tmp_path / "work"
    try:
        xpcs.fit(data, sigma=0.01, checkpoint=folder, checkpoint_every=0, progress=stop, threads=1)
    except KeyboardInterrupt as error:
        assert "checkpoint" in error.__notes__[0]  # noqa: PT017
    again = xpcs.fit(data, sigma=0.01, checkpoint=folder, checkpoint_every=0)
    assert np.array_equal(again.parameters, whole.parameters)
    assert np.array_equal(again.covariance, whole.covariance)


def test_plan(laminar: tuple[Any, xpcs.Data]) -> None:
    _, data = laminar
    found = xpcs.plan(data)
    assert found["strategy"] == "STANDARD"
    assert 0 < found["memory_bytes"] <= found["limit_bytes"]
    assert found["original_bytes"] > 0
    assert found["reason"]


@pytest.mark.parametrize(
    ("seed", "n_angle", "n_frame", "scaling", "dtype"),
    [(2041, 3, 60, "constant_averaged", "f64"), (1037, 1, 40, "constant", "f32")],
)
def test_the_end_does_not_hang_on_rounding(
    seed: int, n_angle: int, n_frame: int, scaling: Any, dtype: Any
) -> None:
    # Flow at fixed contrasts: directions without curvature, where Cholesky's luck decided.
    theta = (1e4, -0.3, 100.0, 2e-3, -0.2, -4e-4, 2.0)
    data = xpcs.simulate(
        theta,
        mode="laminar_flow",
        n_angle=n_angle,
        n_frame=n_frame,
        sigma=0.05,
        seed=seed,
        contrast_scatter=0.1,
        dtype=dtype,
    )
    ends = [
        xpcs.fit(data, mode="laminar_flow", scaling=scaling, sigma=0.05 * (1 + turn))
        for turn in (0, 1e-13, -2e-13)
    ]
    sd = np.asarray(ends[0].theta_uncertainties)
    told = np.isfinite(sd) & (sd > 0)
    for end in ends[1:]:
        assert np.max(np.abs(end.theta - ends[0].theta)[told] / sd[told]) < 1e-4
        assert end.chi2 == pytest.approx(ends[0].chi2, rel=1e-9)
