"""Sampling by the original's names, against values that homodyne 2.23.3 gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessera import xpcs
from tessera.xpcs.config.parameter_space import ParameterSpace
from tessera.xpcs.io import mcmc_writers
from tessera.xpcs.optimization import CMCConfig, CMCResult, fit_mcmc_jax, get_optimization_info
from tessera.xpcs.optimization.cmc import (
    _distributions,
    data_prep,
    diagnostics,
    io,
    model,
    plotting,
    priors,
    reparameterization,
    results,
    sampler,
    scaling,
)
from tessera.xpcs.optimization.cmc.backends import MultiprocessingBackend, PBSBackend
from tessera.xpcs.optimization.cmc.backends.base import combine_shard_samples
from tessera.xpcs.optimization.cmc.backends.multiprocessing import (
    SharedDataManager,
    _load_shared_dict,
    _load_shared_shard_data,
)
from tessera.xpcs.viz import mcmc_diagnostics, mcmc_plots


@pytest.fixture(scope="module")
def prepared() -> data_prep.PreparedData:
    t = 0.1 * np.arange(1, 13)
    first, second = np.meshgrid(t, t, indexing="ij")
    decay = 1 + 0.3 * np.exp(-2 * np.abs(first - second))
    ripple = 0.01 * np.cos(9 * first * second)
    data = np.concatenate([(decay + k * ripple).ravel() for k in (1, 2, 3)])
    t1, t2 = np.tile(first.ravel(), 3), np.tile(second.ravel(), 3)
    return data_prep.prepare_mcmc_data(data, t1, t2, np.repeat([-10.0, 3.0, 40.0], 144))


def test_points_lose_their_diagonal(prepared: data_prep.PreparedData) -> None:
    assert (prepared.n_total, prepared.n_phi) == (3 * 12 * 11, 3)
    assert prepared.noise_scale == pytest.approx(0.08358453016781688, rel=1e-14)
    line = np.ones(5)
    with pytest.raises(ValueError, match="diagonal"):
        data_prep.prepare_mcmc_data(line, line, line, line)
    with pytest.raises(ValueError, match="t2 length 4"):
        data_prep.prepare_mcmc_data(line, line, line[:4], line)
    with pytest.raises(ValueError, match="1 NaN"):
        data_prep.prepare_mcmc_data([1, np.nan], line[:2], line[:2], line[:2])


@pytest.mark.parametrize(
    ("kind", "sizes", "sums"),
    [
        ("random", [79, 79, 79, 79, 80], [90.37008618584449, 90.36926741713556, 90.86135525826]),
        ("stratified", [66] * 6, [75.47055560592595, 75.48502489042669, 75.57606685658992]),
        (
            "angle_balanced",
            [78, 78, 78, 81, 81],
            [90.37708436518716, 89.00065129093173, 88.31118013261127],
        ),
    ],
)
def test_shards_are_the_originals(
    prepared: data_prep.PreparedData, kind: str, sizes: list[int], sums: list[float]
) -> None:
    shards = getattr(data_prep, f"shard_data_{kind}")(prepared, num_shards=5)
    assert [shard.n_total for shard in shards] == sizes
    np.testing.assert_allclose([s.data.sum() for s in shards][:3], sums, rtol=1e-13)
    assert sum(sizes) == prepared.n_total


def _shard(i: int) -> sampler.MCMCSamples:
    k = np.arange(40).reshape(2, 20)
    return sampler.MCMCSamples(
        {"D0": 1000 + 100 * i + np.sin(k * (i + 1)) * (5 + i)}, ["D0"], 2, 20
    )


@pytest.mark.parametrize(
    ("method", "mean", "width"),
    [
        ("robust_consensus_mc", 1146.2769359886101, 1.7342790645007218),
        ("consensus_mc", 1157.8827708740887, 1.711068512735104),
    ],
)
def test_shards_are_put_together_as_there(method: str, mean: float, width: float) -> None:
    combined = combine_shard_samples([_shard(i) for i in (0, 1, 2, 3, 4, 40)], method)
    assert combined.num_shards == 6
    assert combined.samples["D0"].mean() == pytest.approx(mean, rel=1e-12)
    assert combined.samples["D0"].std() == pytest.approx(width, rel=1e-12)


FIT = {"D0": 2e4, "alpha": -0.6, "D_offset": -300.0, "gamma_dot_t0": 2e-3, "beta": 0.2}
ERRORS = {"D0": 2e2, "alpha": 0.06, "D_offset": 30.0, "gamma_dot_t0": 2e-4, "beta": 0.02}


def test_coordinates() -> None:
    values, widths = reparameterization.transform_nlsq_to_reparam_space(FIT, ERRORS, 3.0)
    assert values == pytest.approx(
        {
            "log_D_ref": 9.244320179335261,
            "D_offset_ratio": -0.02899773067397644,
            "log_gamma_ref": -5.99488564068857,
        }
    )
    assert widths == pytest.approx(
        {
            "log_D_ref": 0.0666709551373407,
            "D_offset_ratio": 0.003485162475691756,
            "log_gamma_ref": 0.10238544615483704,
        }
    )
    config = reparameterization.ReparamConfig(t_ref=3.0)
    there = reparameterization.transform_to_sampling_space(FIT, config)
    back = reparameterization.transform_to_physics_space(there, config)
    assert back == pytest.approx(FIT)
    with pytest.raises(ValueError, match="t_ref"):
        reparameterization.compute_t_ref(0.1, -1.0)


def test_scalings_keep_bounds() -> None:
    space = ParameterSpace.from_defaults("laminar_flow")
    found = scaling.compute_scaling_factors(space, 1, "laminar_flow")
    assert found["D0"].to_original(0.7) == pytest.approx(66851.9584395998, rel=1e-12)
    assert found["phi0"].to_original(0.7) == pytest.approx(3.3637554433633223, rel=1e-12)
    for own in found.values():
        inside = 0.3 * own.low + 0.7 * own.high
        z = own.to_normalized(inside)
        assert z == pytest.approx(0.8472978603872037, rel=1e-9)
        assert own.to_original(z) == pytest.approx(inside)
        assert own.low <= own.to_original(-50.0) <= own.to_original(50.0) <= own.high


def test_priors_about_a_fit_are_neither_narrow_nor_wide() -> None:
    assert priors.informed_width(1.0, (0.0, 100.0), 2.0) == 2.0
    assert priors.informed_width(1e-9, (0.0, 100.0), 2.0) == 1.0
    assert priors.informed_width(1e9, (0.0, 100.0), 2.0) == 50.0
    assert priors.informed_width(None, (0.0, 100.0), 2.0) == 10.0


def test_densities_integrate_to_one() -> None:
    at = np.linspace(-1, 3, 200_001)
    made = [
        _distributions.TruncatedNormal(0.5, 0.7, -1, 3),
        _distributions.Uniform(low=-1, high=3),
        _distributions.HalfNormal(scale=0.4),
        _distributions.LogNormal(-1.0, 0.3),
        _distributions.BetaScaled(low=-1, high=3, alpha=2, beta=3),
    ]
    for own in made:
        assert np.trapezoid(np.exp(own.log_prob(at)), at) == pytest.approx(1, abs=1e-4)


def test_starts_come_from_what_is_given_or_the_data(prepared: data_prep.PreparedData) -> None:
    space = ParameterSpace.from_defaults("static")
    given = {"D0": 5e8, "contrast": 0.2}
    found = priors.build_init_values_dict(3, "static", given, space, per_angle_mode="auto")
    assert list(found) == ["contrast", "offset", "D0", "alpha", "D_offset"]
    assert (found["contrast"], found["offset"]) == (0.2, 1.0)
    assert found["D0"] == pytest.approx(1e5 - 0.01 * (1e5 - 100))
    values, widths = priors.extract_nlsq_values_for_cmc({"params": {"D0": 3}, "std_errors": {}})
    assert (values, widths) == ({"D0": 3.0}, {})
    with pytest.raises(ValueError, match="position 0"):
        priors.validate_init_values_order({"a": 1, "b": 2}, ["b", "a"])


def test_two_modes_are_found() -> None:
    rng = np.random.default_rng(2)
    both = np.concatenate([rng.normal(1, 0.1, 900), rng.normal(3, 0.2, 1100)])
    found = diagnostics.detect_bimodal(both)
    assert found.is_bimodal
    np.testing.assert_allclose(sorted(found.means), [1, 3], atol=0.03)
    np.testing.assert_allclose(sorted(found.weights), [0.45, 0.55], atol=0.01)
    assert not diagnostics.detect_bimodal(rng.normal(5, 1, 2000)).is_bimodal


@pytest.fixture(scope="module")
def points() -> dict[str, Any]:
    data = xpcs.simulate(
        mode="static_anisotropic", n_angle=2, n_frame=30, dt=0.1, sigma=0.01, seed=5
    )
    t = 0.1 * np.arange(1, data.n_frame + 1)
    first, second = np.meshgrid(t, t, indexing="ij")
    return {
        "data": np.concatenate([data.matrix(a).ravel() for a in (0, 1)]),
        "t1": np.tile(first.ravel(), 2),
        "t2": np.tile(second.ravel(), 2),
        "phi": np.repeat(data.phi, data.n_frame**2),
        "q": float(data.q[0]),
        "L": 2e6,
        "analysis_mode": "static_isotropic",
        "of": data,
    }


CONFIG: dict[str, Any] = {
    "per_angle_mode": "individual",
    "per_shard_mcmc": {
        "num_warmup": 150,
        "num_samples": 300,
        "num_chains": 2,
        "adaptive_sampling": False,
    },
}


@pytest.fixture(scope="module")
def sampled(points: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> CMCResult:
    own = {name: value for name, value in points.items() if name != "of"}
    folder = tmp_path_factory.mktemp("cmc")
    return fit_mcmc_jax(**own, cmc_config=CONFIG, progress_bar=False, output_dir=folder)


def test_the_call_of_the_original_samples(points: dict[str, Any], sampled: CMCResult) -> None:
    names = ["contrast_0", "contrast_1", "offset_0", "offset_1", "D0", "alpha", "D_offset"]
    assert sampled.param_names == [*names, "sigma"]
    assert sampled.samples["D0"].shape == (2, 300)
    assert sampled.divergences == 0
    assert sampled.validate_parameters(2) == [] or sampled.ess_bulk["D0"] < 400
    # The same posterior as of the native call with the same priors.
    data = points["of"]
    fitted = xpcs.fit(data, mode="static_anisotropic")
    space = ParameterSpace.from_defaults("static")
    own = scaling.compute_scaling_factors(space, 2, "static")
    prior = {name: (own[name].center, own[name].scale) for name in fitted.physical_names}
    found = xpcs.sample(fitted, prior=prior, n_chain=2, n_warmup=150, n_draw=300)
    for name in fitted.physical_names:
        width = found[name].std()
        assert abs(sampled.samples[name].mean() - found[name].mean()) < 0.3 * width
        assert sampled.samples[name].std() == pytest.approx(width, rel=0.25)
    assert sampled.mean_params["D0"] == pytest.approx(sampled.parameters[4])
    assert sampled.mean_contrast == pytest.approx(sampled.parameters[:2].mean())


def test_a_mode_that_does_not_exist_is_refused(points: dict[str, Any]) -> None:
    own = {**points, "analysis_mode": "heterodyne"}
    del own["of"]
    with pytest.raises(ValueError, match="analysis_mode: 'heterodyne' is neither"):
        fit_mcmc_jax(**own, cmc_config=CONFIG, progress_bar=False)


def test_shards_are_combined_where_their_number_is_said(
    points: dict[str, Any], sampled: CMCResult
) -> None:
    own = {name: value for name, value in points.items() if name != "of"}
    config = {**CONFIG, "sharding": {"num_shards": 2}}
    found = fit_mcmc_jax(**own, cmc_config=config, progress_bar=False)
    assert found.num_shards == 2
    width = sampled.uncertainties[4]
    assert abs(found.parameters[4] - sampled.parameters[4]) < width
    assert found.uncertainties[4] == pytest.approx(width, rel=0.4)


def test_scaling_may_be_told_together_or_held(points: dict[str, Any]) -> None:
    own = {name: value for name, value in points.items() if name != "of"}
    for mode, names in (
        ("auto", ["contrast", "offset"]),
        ("constant_averaged", []),
        ("constant", []),
    ):
        config = {**CONFIG, "per_angle_mode": mode, "constant_scaling_threshold": 2}
        found = fit_mcmc_jax(**own, cmc_config=config, progress_bar=False)
        assert found.param_names == [*names, "D0", "alpha", "D_offset", "sigma"]
        assert np.isfinite(found.parameters).all()
    with pytest.raises(ValueError, match="integrate contrast and offset out"):
        sampler.run_nuts_sampling(
            model.xpcs_model_constant,
            {**own, "phi_unique": np.unique(own["phi"]), "phi_indices": np.zeros(1, int)},
            CMCConfig(),
            None,
            ParameterSpace.from_defaults("static"),
            2,
            "static",
            per_angle_mode="fourier",
        )


def test_files_of_a_run(sampled: CMCResult, tmp_path: Path) -> None:
    files = io.save_all_results(sampled, tmp_path)
    assert sorted(files) == ["diagnostics", "parameters", "samples"]
    back = io.load_samples_npz(files["samples"])
    assert (back["n_phi"], back["n_chains"], back["n_samples"]) == (2, 2, 300)
    np.testing.assert_array_equal(back["posterior_samples"], sampled.get_samples_array())
    numbers = json.loads(files["parameters"].read_text())
    assert numbers["D0"]["mean"] == pytest.approx(sampled.parameters[4])
    facts = json.loads(files["diagnostics"].read_text())
    assert facts["sampling_config"] == {"n_chains": 2, "n_warmup": 150, "n_samples": 300}
    with pytest.raises(FileNotFoundError):
        io.load_samples_npz(tmp_path / "none.npz")


def test_correlations_of_the_mean(points: dict[str, Any], sampled: CMCResult) -> None:
    own = {name: points[name] for name in ("t1", "t2", "phi", "q", "L")}
    fitted, spread = results.compute_fitted_c2(sampled, **own, dt=0.1, analysis_mode="static")
    off = points["t1"] != points["t2"]
    assert np.std((points["data"] - fitted)[off]) == pytest.approx(0.01, rel=0.1)
    assert 0 < np.median(spread) < 0.005


def test_figures_of_a_run(sampled: CMCResult, tmp_path: Path) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    files = plotting.generate_diagnostic_plots(sampled, tmp_path, dpi=40)
    names = ["autocorr", "energy", "ess", "forest", "pair", "rank"]
    assert sorted(file.name for file in files) == [f"{name}_plot.png" for name in names]
    report = mcmc_plots.generate_mcmc_diagnostic_report(sampled, tmp_path, dpi=40)
    assert sorted(report) == [
        "cmc_dashboard",
        "convergence",
        "pair",
        "posterior",
        "summary_csv",
        "trace",
    ]
    assert all(file.stat().st_size > 500 for file in [*files, *report.values()])
    head, *rows = report["summary_csv"].read_text().splitlines()
    assert head.split(",")[1:3] == ["mean", "sd"]
    assert float(rows[4].split(",")[1]) == pytest.approx(sampled.parameters[4])
    for draw in (mcmc_plots.plot_kl_divergence_matrix, mcmc_plots.plot_posterior_comparison):
        with pytest.raises(ValueError, match="at once"):
            draw(sampled)
    assert not plt.get_fignums()


def test_numbers_of_a_run_as_dicts(points: dict[str, Any], sampled: CMCResult) -> None:
    numbers = mcmc_writers.create_mcmc_parameters_dict(sampled)
    assert numbers["method"] == "cmc"
    assert numbers["parameters"]["D0"]["mean"] == pytest.approx(sampled.parameters[4])
    assert numbers["parameters"]["contrast"]["mean"] == pytest.approx(sampled.mean_contrast)
    assert numbers["sampling_summary"]["total_samples"] == 600
    facts = mcmc_writers.create_mcmc_diagnostics_dict(sampled)
    rows = facts["convergence"]["per_parameter_diagnostics"]
    assert [row["name"] for row in rows] == sampled.param_names
    assert facts["sampling_efficiency"]["divergences"] == 0
    data = {"c2_exp": np.ones((2, 5, 5)), "phi_angles_list": [0, 1], "wavevector_q_list": [0.01]}
    found = mcmc_writers.create_mcmc_analysis_dict(sampled, data, "cmc")
    assert found["dataset_info"] == {
        "n_angles": 2,
        "n_time_points": 25,
        "total_data_points": 50,
        "q_value": 0.01,
    }
    json.dumps([numbers, facts, found])


def test_energy_that_moves_freely() -> None:
    energy = np.array([[0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]])
    np.testing.assert_allclose(mcmc_diagnostics.compute_bfmi(energy, per_chain=True), [4, 4 / 3])
    assert mcmc_diagnostics.compute_bfmi(energy) == pytest.approx((4 / 6) / 0.25)
    assert np.isnan(mcmc_diagnostics.compute_bfmi(np.ones(5)))


def test_backends(prepared: data_prep.PreparedData) -> None:
    assert MultiprocessingBackend(3).get_name() == "multiprocessing(3 workers)"
    with pytest.raises(NotImplementedError, match="multiprocessing"):
        PBSBackend().run(model.xpcs_model_scaled, {}, CMCConfig(), [prepared])
    with pytest.raises(ValueError, match="walltime"):
        PBSBackend(walltime="4h")
    shards = [vars(s) for s in data_prep.shard_data_random(prepared, 3)]
    with SharedDataManager() as manager:
        refs = manager.create_shared_shard_arrays(shards)
        ref = manager.create_shared_dict("options", {"n": [1, 2.5]})
        assert _load_shared_dict(ref) == {"n": [1, 2.5]}
        back = [_load_shared_shard_data(ref) for ref in refs]
    for shard, other in zip(shards, back, strict=True):
        np.testing.assert_array_equal(shard["data"], other["data"])
        assert shard["noise_scale"] == other["noise_scale"]


def test_what_there_is() -> None:
    assert get_optimization_info()["status"]["mcmc_available"]
    stats = results.ParameterStats(["a", "b"], [1.0, 2.0])
    assert (stats["a"], stats[1], len(stats), stats.tolist()) == (1.0, 2.0, 2, [1.0, 2.0])
    np.testing.assert_array_equal(np.asarray(stats), [1.0, 2.0])
    plan = sampler.SamplingPlan.from_config(CMCConfig(), 2000, 7)
    assert plan.was_adapted
    assert plan.total_samples == 4 * plan.n_samples
    assert model.get_model_param_count(4, "laminar_flow") == 8 + 7 + 1
    assert model.validate_model_output(np.ones(3), np.ones(1))
    assert not model.validate_model_output(np.array([1.0, np.nan]), np.ones(1))
