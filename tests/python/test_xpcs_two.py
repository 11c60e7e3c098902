"""Two components: model, simulation, fits and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
import tessera.xpcs as tx

TRUTH = dict(
    zip(
        [entry["name"] for entry in tx.parameters("two_component")],
        (700, -0.6, 60, 1300, 0.7, -90, 330, 0.9, 40, 0.6, -0.4, 0, 0.2, -2.5),
        strict=True,
    )
)


@pytest.fixture(scope="module")
def data() -> tx.Data:
    return tx.simulate(
        TRUTH, mode="two_component", phi=[-25, 8, 40], n_frame=41, q=0.0237, sigma=0.003, dt=0.1
    )


@pytest.fixture(scope="module")
def start() -> dict[str, float]:
    return {name: value * 1.05 for name, value in TRUTH.items()}


def test_number_and_names_of_parameters_say_the_mode() -> None:
    values = list(TRUTH.values())
    want = tx.model(values, 8, phi=[10.0], q=0.0237, dt=0.1, mode="two_component")
    assert np.array_equal(tx.model(values, 8, phi=[10.0], q=0.0237, dt=0.1), want)
    assert np.array_equal(tx.model(TRUTH, 8, phi=[10.0], q=0.0237, dt=0.1), want)
    assert np.allclose(want[0], want[0].T)
    assert np.all(np.diag(want[0]) == 1)


def test_grids_have_velocity_and_fraction() -> None:
    found = tx.grids(TRUTH, 6, dt=0.1)
    t = found["t"]
    assert np.allclose(found["velocity"], 330 * t**0.9 + 40)
    assert np.allclose(found["fraction"], 0.6 * np.exp(-0.4 * t) + 0.2, atol=1e-3)
    assert "diffusion" not in found


def test_sums_are_those_of_the_derivatives_where_points_are_missing() -> None:
    holes = tx.simulate(
        TRUTH,
        mode="two_component",
        phi=[-25, 8],
        n_frame=31,
        q=0.0237,
        sigma=0.003,
        dt=0.1,
        nan_fraction=0.2,
    )
    first, second = np.triu_indices(holes.n_frame, 1)
    m, slopes = tx.model_pairs(TRUTH, holes.n_frame, [-25, 8], 0.0237, first, second, dt=0.1)
    sums = tx.accumulate(holes, TRUTH, mode="two_component", sigma=0.003)
    weight = 1 / 0.003**2
    hessian = np.zeros((14, 14))
    for a in range(2):
        y = holes.matrix(a)[first, second]
        there = np.isfinite(y)
        assert 0 < there.sum() < there.size
        f, j, y = m[a][there], slopes[a][there], y[there]
        x = np.column_stack([f, np.ones_like(f)])
        (contrast, _), *_ = np.linalg.lstsq(x, y, rcond=None)
        assert np.isclose(sums["contrast"][a], contrast, rtol=1e-9)
        left = j - x @ np.linalg.lstsq(x, j, rcond=None)[0]
        hessian += weight * contrast**2 * left.T @ left
        assert np.allclose(sums["p"][a], weight * j.sum(0), rtol=1e-9, atol=1e-9)
        assert np.allclose(sums["q"][a], weight * f @ j, rtol=1e-9, atol=1e-9)
        assert np.allclose(sums["r"][a], weight * y @ j, rtol=1e-9, atol=1e-9)
    scale = np.sqrt(np.outer(np.diag(hessian), np.diag(hessian)))
    assert np.allclose(sums["hessian"] / scale, hessian / scale, atol=1e-9)


@pytest.mark.parametrize("is_robust", [True, False])
def test_other_weights_find_the_truth(
    data: tx.Data, start: dict[str, float], is_robust: bool
) -> None:
    result = tx.fit(
        data,
        mode="two_component",
        start=start,
        n_start=1,
        uncertainty="covariance",
        sigma=0.003,
        loss="huber" if is_robust else "linear",
        sigma_mode="constant" if is_robust else "per_lag",
    )
    assert result.success
    for name in ("v0", "v_beta", "f0", "phi0_het"):
        sd = result.physical_uncertainties[name]
        assert 0 < abs(result.physical[name] - TRUTH[name]) <= 5 * sd, name


def test_a_fit_finds_the_truth(data: tx.Data, start: dict[str, float], tmp_path: Path) -> None:
    result = tx.fit(
        data, mode="two_component", sigma=0.003, start=start, n_start=1, uncertainty="covariance"
    )
    assert result.success
    for name, value in TRUTH.items():
        sd = result.physical_uncertainties[name]
        assert abs(result.physical[name] - value) <= 5 * sd, name
    assert result.status[result.names.index("f2")] == "fixed"
    assert result.f_product is not None
    value, sd = result.f_product
    assert abs(value - 0.6) < 5 * sd
    page = tmp_path / "page.html"
    result.report(page)
    text = page.read_text()
    assert "fs(t)" in text
    assert "v(t)" in text


def test_f2_is_free_where_it_is_named(data: tx.Data, start: dict[str, float]) -> None:
    names = [name for name in TRUTH if name.startswith("f")]
    result = tx.fit(
        data,
        mode="two_component",
        sigma=0.003,
        start=start,
        n_start=1,
        active=names,
        uncertainty="covariance",
    )
    status = dict(zip(result.names, result.status, strict=True))
    assert status["f0"] == status["f2"] == "unidentified"
    assert any("f0 exp(-f1 f2)" in line for line in result.warnings)


def test_exchanged_components_are_found_and_named() -> None:
    # A fraction that does not change: 1 - fs is one, too, and the model the same.
    truth = {**TRUTH, "f0": 0.3, "f1": 0.0, "f3": 0.1}
    data = tx.simulate(
        truth, mode="two_component", phi=[-25, 8, 40], n_frame=31, q=0.0237, sigma=0.003, dt=0.1
    )
    result = tx.fit(
        data,
        mode="two_component",
        sigma=0.003,
        fixed={"f1": 0.0, "f3": 0.1},
        uncertainty="covariance",
    )
    assert any("can be exchanged" in line for line in result.warnings)
    best, other = (basin["theta"] for basin in result.basins[:2])
    assert np.isclose(best[9] + other[9], 0.8, atol=0.05)
    assert result.basins[1]["excess"] < 0.1


def test_what_is_not_there_is_refused(data: tx.Data) -> None:
    with pytest.raises(tessera.Error, match="mixed is not there for mode two_component"):
        tx.fit(data, mode="two_component", precision="mixed")


@pytest.fixture(scope="module")
def fitted(data: tx.Data, start: dict[str, float]) -> tx.Result:
    return tx.fit(
        data, mode="two_component", sigma=0.003, start=start, n_start=1, uncertainty="covariance"
    )


def test_draws_cover_the_truth_and_have_the_errors_of_the_fit(
    fitted: tx.Result, tmp_path: Path
) -> None:
    draws = tx.sample(fitted, method="laplace", n_chain=2, n_draw=400)
    assert draws.facts["pareto_k"] < 0.7
    for name, value in TRUTH.items():
        if name == "f2":
            assert np.all(draws[name] == fitted.physical["f2"])
            continue
        low, high = np.quantile(draws[name], [0.0005, 0.9995])
        assert low < value < high, name
        assert 0.7 < draws[name].std() / fitted.physical_uncertainties[name] < 1.4, name
    assert draws.f_product is not None
    assert fitted.f_product is not None
    assert abs(draws.f_product[0] - fitted.f_product[0]) < fitted.f_product[1]
    assert 0.8 < draws.f_product[1] / fitted.f_product[1] < 1.25


def test_paths_have_the_moments_of_importance_sampling(fitted: tx.Result) -> None:
    exact = tx.sample(fitted, method="laplace", n_chain=2, n_draw=1000)
    paths = tx.sample(fitted, n_chain=2, n_warmup=150, n_draw=100)
    for name in ("D0_ref", "alpha_sample", "v0", "f0", "phi0_het"):
        size = paths.table[name]["ess_bulk"]
        sd = exact[name].std()
        assert abs(paths[name].mean() - exact[name].mean()) < 5 * sd / np.sqrt(size), name
        assert abs(paths[name].std() / sd - 1) < 5 / np.sqrt(size), name


def test_draws_are_of_the_hill_of_the_fit_where_components_can_be_exchanged() -> None:
    truth = {**TRUTH, "f0": 0.3, "f1": 0.0, "f3": 0.1}
    data = tx.simulate(
        truth, mode="two_component", phi=[-25, 8, 40], n_frame=25, q=0.0237, sigma=0.003, dt=0.1
    )
    fixed = {"f1": 0.0, "f3": 0.1}
    fitted = tx.fit(data, mode="two_component", sigma=0.003, fixed=fixed, uncertainty="covariance")
    draws = tx.sample(fitted, method="laplace", n_chain=2, n_draw=200)
    assert "can be exchanged" in draws.facts["warnings"]
    assert abs(draws["f0"] - fitted.physical["f0"]).max() < 0.2


SCALINGS = ("individual", "averaged", "constant", "constant_averaged", "fourier", "auto")
LOSSES = ("linear", "soft_l1", "huber", "cauchy", "arctan")
WEIGHTS = ("constant", "estimate", "dataset")
TOGETHER = [
    (scaling, loss, WEIGHTS[(i + k) % len(WEIGHTS)])
    for i, scaling in enumerate(SCALINGS)
    for k, loss in enumerate(LOSSES)
]


def rho(loss: str, z: Any) -> Any:
    """Scipy's."""
    if loss == "huber":
        return np.where(z <= 1, z, 2 * np.sqrt(z) - 1)
    found = {"linear": z, "soft_l1": 2 * (np.sqrt(1 + z) - 1), "cauchy": np.log1p(z)}
    return found[loss] if loss in found else np.arctan(z)


@pytest.fixture(scope="module")
def weighed(data: tx.Data) -> tuple[tx.Data, Any]:
    """The same with an error of every point."""
    n = data.n_frame + 1  # the first frame is not taken
    c2 = np.pad(np.asarray(data.c2, np.float64), ((0, 0), (1, 0), (1, 0)), constant_values=1.0)
    i, j = np.indices((n, n))
    sigma = 0.002 + 0.002 * ((i + j) % 3) * np.ones((len(data.phi), 1, 1))
    found = tx.Data.from_arrays(c2, phi=data.phi, q=data.q, sigma=sigma, dt=0.1)
    return found, sigma[:, 1:, 1:]


@pytest.mark.parametrize(("scaling", "loss", "weight"), TOGETHER)
def test_fits_end_where_the_cost_by_definition_is_least(
    weighed: tuple[tx.Data, Any], start: dict[str, float], scaling: str, loss: str, weight: str
) -> None:
    """Gradients of every scaling, loss and weight are right: the cost is level there."""
    data, errors = weighed
    first, second = np.triu_indices(data.n_frame, 1)
    options: dict[str, Any] = {"scaling": scaling, "loss": loss, "sigma_mode": weight}
    options |= {"fourier_order": 1, "ftol": 1e-14, "xtol": 1e-12, "gtol": 1e-12}
    options |= {"fixed": ["alpha_ref", "alpha_sample"]}
    if weight == "constant":
        options["sigma"] = 0.003
    if scaling.startswith("constant"):
        options |= {"contrast": 0.3, "offset": 1.0}
    found = tx.fit(
        data, mode="two_component", start=start, n_start=1, uncertainty="covariance", **options
    )
    assert found.success
    y = [data.matrix(a)[first, second] for a in range(len(data.phi))]

    def cost(theta: Any) -> float:
        m, _ = tx.model_pairs(theta, data.n_frame, data.phi, data.q, first, second, dt=0.1)
        total = 0.0
        for a in range(len(data.phi)):
            sd = errors[a][first, second] if weight == "dataset" else found.sigma[a]
            left = found.offset[a] + found.contrast[a] * m[a] - y[a]
            total += float(rho(loss, (left / sd) ** 2).sum())
        return total

    least = cost(found.theta)
    for k in np.flatnonzero(found.theta_uncertainties > 0):
        step = np.zeros(14)
        step[k] = 0.1 * found.theta_uncertainties[k]
        up, down = cost(found.theta + step), cost(found.theta - step)
        assert min(up, down) > least, k
        assert abs(up - down) < 0.1 * (up + down - 2 * least), k


def test_priors_that_move_the_fit_do_not_lead_to_another_hill() -> None:
    """The fit is at a bound of D_offset_ref, far from the priors, from which the truth is drawn."""
    middles = np.array((700, -0.6, 60, 1300, 0.7, 50, 330, 0.9, 40, 0.5, -0.4, 0.2, -2.5))
    widths = np.array((70, 0.06, 30, 130, 0.07, 30, 30, 0.05, 10, 0.05, 0.05, 0.03, 1))
    names = [name for name in TRUTH if name != "f2"]
    random = np.random.default_rng([2, 13])
    truth = dict(zip(names, middles + widths * random.standard_normal(13), strict=True))
    noise = 0.015 * abs(random.standard_normal())
    contrast, offset = random.standard_normal((2, 3)) * [[0.03], [0.02]] + [[0.3], [1.0]]
    data = tx.simulate(
        {**truth, "f2": 0.0}, mode="two_component", phi=(-25.0, 8.0, 40.0), n_frame=25, q=0.02,
        dt=0.1, seed=2, contrast=contrast, offset=offset, dtype="f64", sigma=noise,
    )  # fmt: skip
    start = dict(zip(names, middles, strict=True))
    prior = dict(zip(names, zip(middles, widths, strict=True), strict=True))
    draws = tx.sample(
        data, mode="two_component", fit={"n_start": 1, "start": start}, method="laplace",
        prior={**prior, "contrast": (0.3, 0.03), "offset": (1.0, 0.02)}, noise_scale=0.01,
        n_chain=2, n_draw=200,
    )  # fmt: skip
    assert draws.fit_theta[2] == -1e4
    for name in names:
        assert abs(draws[name].mean() - truth[name]) < 4 * draws[name].std(), name
