"""Sampling from Python: draws, what they are compared with, files, figures, mistakes."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessera import ArgumentError, FormatError, xpcs
from tessera.xpcs import _chains

STATIC: dict[str, Any] = {"mode": "static_anisotropic"}
SHORT: dict[str, Any] = {"n_warmup": 150, "n_draw": 250}


@pytest.fixture(scope="module")
def data() -> xpcs.Data:
    return xpcs.simulate(n_angle=3, n_frame=40, dt=0.1, sigma=0.01, seed=3, **STATIC)


@pytest.fixture(scope="module")
def fitted(data: xpcs.Data) -> xpcs.Result:
    return xpcs.fit(data, sigma_mode="estimate", **STATIC)


@pytest.fixture(scope="module")
def drawn(fitted: xpcs.Result) -> xpcs.Posterior:
    return xpcs.sample(fitted, **SHORT)


def log_posterior(data: xpcs.Data, theta: np.ndarray, noise: float) -> float:
    """Density by dense matrices, contrast and offset integrated out, wide priors, no bounds."""
    total = -0.5 * (noise / (1.5 * np.sqrt(np.mean(xpcs.estimate_sigma(data) ** 2)))) ** 2
    wide = np.array([[1e4, 1e5], [0, 2], [0, 1e4]])
    total -= 0.5 * (((theta - wide[:, 0]) / wide[:, 1]) ** 2).sum()
    c2 = xpcs.model(
        theta, data.n_frame, data.phi, data.q, contrast=1, offset=0, dt=data.dt, **STATIC
    )
    upper = np.triu_indices(data.n_frame, 1)
    for angle in range(data.n_angle):
        y = data.matrix(angle)[upper]
        design = np.column_stack([np.ones(len(y)), c2[angle][upper]])
        precision = np.eye(2) / 0.25**2 + design.T @ design / noise**2
        right = np.array([1, 0.5]) / 0.25**2 + design.T @ y / noise**2
        best = np.linalg.solve(precision, right)
        total += -len(y) * np.log(noise) - 0.5 * np.linalg.slogdet(precision)[1]
        total -= 0.5 * (y @ y / noise**2 - right @ best)
    return float(total)


def test_summaries_agree_with_importance_weights(
    data: xpcs.Data, fitted: xpcs.Result, drawn: xpcs.Posterior
) -> None:
    rng = np.random.default_rng(0)
    flat = np.column_stack([drawn.theta.reshape(-1, 3), drawn.noise.ravel()])
    mean, root = flat.mean(0), np.linalg.cholesky(1.3 * np.cov(flat, rowvar=False))
    z = rng.standard_normal((400, 4))
    points = mean + z @ root.T
    weight = np.array([log_posterior(data, p[:3], p[3]) for p in points]) + 0.5 * (z**2).sum(1)
    weight = np.exp(weight - weight.max())
    weight /= weight.sum()
    assert 1 / (weight**2).sum() > 100
    exact = weight @ points
    sd = np.sqrt(weight @ (points - exact) ** 2)
    assert np.abs((mean - exact) / sd).max() < 0.25
    assert np.abs(flat.std(0) / sd - 1).max() < 0.25


def test_wide_priors_are_what_the_library_uses(fitted: xpcs.Result, drawn: xpcs.Posterior) -> None:
    named = dict(
        zip(drawn.physical_names, zip(drawn.prior_mean, drawn.prior_sd, strict=True), strict=True)
    )
    again = xpcs.sample(fitted, prior={**named, "contrast": (0.5, 0.25)}, **SHORT)
    assert np.array_equal(again.theta, drawn.theta)
    narrow = xpcs.sample(fitted, prior={"alpha": (-1.0, 0.001)}, **SHORT)
    assert abs(narrow["alpha"].mean() + 1.0) < abs(drawn["alpha"].mean() + 1.0) / 5


def test_draws_do_not_depend_on_threads_or_the_way_in(
    data: xpcs.Data, fitted: xpcs.Result, drawn: xpcs.Posterior
) -> None:
    options = {"sigma_mode": "estimate"}
    again = xpcs.sample(
        data, fit=options, n_chains=4, n_warmup=150, n_draws=250, threads=1, **STATIC
    )
    assert np.array_equal(again.theta, drawn.theta)
    assert np.array_equal(again.contrast, drawn.contrast)
    assert not np.array_equal(xpcs.sample(fitted, seed=7, **SHORT).theta, drawn.theta)
    assert drawn.theta.shape == (4, 250, 3)
    assert drawn.contrast.shape == (4, 250, 3)


def test_chains_mix_and_say_so(drawn: xpcs.Posterior) -> None:
    found = drawn.diagnostics
    assert found["max_r_hat"] < 1.03
    assert found["min_ess_bulk"] > 400
    assert found["n_divergent"] == 0
    assert all(value > 0.99 for value in found["contraction"].values())
    assert "alpha" in drawn.summary()
    assert drawn.table["D0"]["sd"] == pytest.approx(np.std(drawn["D0"], ddof=1))


def test_fixed_parameters_stay(data: xpcs.Data) -> None:
    held = xpcs.sample(data, fit={"fixed": {"D_offset": 0.0}}, n_warmup=100, n_draw=50, **STATIC)
    assert (held["D_offset"] == 0).all()
    assert held.free_names == ["D0", "alpha", "noise"]
    assert "fixed" in held.summary()


def test_files_and_pickles_hold_everything(drawn: xpcs.Posterior, tmp_path: Path) -> None:
    again = xpcs.Posterior.load(drawn.save(tmp_path / "posterior.npz"))
    other = pickle.loads(pickle.dumps(drawn))
    for copy in (again, other):
        assert copy.facts == drawn.facts
        assert np.array_equal(copy.theta, drawn.theta)
        assert np.array_equal(copy.diverged, drawn.diverged)
    np.savez(tmp_path / "odd.npz", theta=drawn.theta)
    with pytest.raises(FormatError, match="lacks noise"):
        xpcs.Posterior.load(tmp_path / "odd.npz")


def test_netcdf_has_the_groups_of_arviz(drawn: xpcs.Posterior, tmp_path: Path) -> None:
    pytest.importorskip("h5netcdf")
    xarray = pytest.importorskip("xarray")
    path = drawn.to_netcdf(tmp_path / "draws.nc")
    with xarray.open_dataset(path, group="posterior", engine="h5netcdf") as group:
        assert group["D0"].dims == ("chain", "draw")
        assert np.array_equal(group["contrast"].to_numpy(), drawn.contrast)
    with xarray.open_dataset(path, group="sample_stats", engine="h5netcdf") as group:
        assert not group["diverging"].to_numpy().any()
        assert np.array_equal(group["energy"].to_numpy(), drawn.energy)


@pytest.mark.filterwarnings("ignore:Passing a dict or None")  # ArviZ's, of a newer matplotlib
def test_arviz_opens_summarises_and_draws(
    data: xpcs.Data, drawn: xpcs.Posterior, tmp_path: Path
) -> None:
    pytest.importorskip("h5netcdf")
    matplotlib = pytest.importorskip("matplotlib")
    arviz = pytest.importorskip("arviz")
    matplotlib.use("Agg")
    opened = arviz.from_netcdf(drawn.to_netcdf(tmp_path / "draws.nc", data))
    table = arviz.summary(opened, var_names=["D0", "noise"], round_to="none")
    for name in ("D0", "noise"):
        for column in ("r_hat", "ess_bulk", "ess_tail"):
            assert drawn.table[name][column] == pytest.approx(table.loc[name, column], rel=1e-10)
    assert np.array_equal(opened.observed_data["c2"][1], data.matrix(1), equal_nan=True)
    before = opened.prior["alpha"].to_numpy()
    # Between -2 and 2 the wide prior 0 +- 2 has a standard deviation of 1.0791.
    assert before.shape == (1, 1000)
    assert before.std() == pytest.approx(1.0791, abs=4 * 1.0791 / np.sqrt(2000))
    assert abs(before.mean()) < 4 * 1.0791 / np.sqrt(1000)
    names = ["D0", "alpha"]
    arviz.plot_trace(opened, var_names=names)
    arviz.plot_dist_comparison(opened, var_names=["alpha"])
    arviz.plot_energy(opened)
    arviz.plot_rank(opened, var_names=names)
    matplotlib.pyplot.close("all")
    with pytest.raises(ArgumentError, match="give the data of the draws"):
        drawn.to_netcdf(tmp_path / "other.nc", xpcs.simulate(n_angle=2, n_frame=20, **STATIC))


@pytest.mark.parametrize(
    "kind",
    [
        "trace",
        "rank",
        "pair",
        "forest",
        "energy",
        "autocorrelation",
        "ess",
        "prior",
        "diffusion",
    ],
)
def test_figures(drawn: xpcs.Posterior, kind: str) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    figure = drawn.plot(kind)
    assert all(ax.has_data() or not ax.axison for ax in figure.axes)
    plt.close(figure)


def test_mistakes_name_the_argument(fitted: xpcs.Result, drawn: xpcs.Posterior) -> None:
    mistakes: list[tuple[dict[str, Any], str]] = [
        ({"n_chainz": 2}, "did you mean 'n_chain'"),
        ({"n_draw": 0}, "n_draw"),
        ({"target_accept": 1.5}, "target_accept"),
        ({"priors": "flat"}, "wide"),
        ({"n_chain": 2, "n_chains": 2}, "give one"),
        ({"prior": {"alpha": (0, -1)}}, r"prior\['alpha'\]"),
        ({"prior": {"gamma": (0, 1)}}, "no parameter 'gamma'"),
        ({"fit": 3}, "fit:"),
        ({"mode": "laminar_flow"}, "fit again"),
    ]
    for options, words in mistakes:
        with pytest.raises(ArgumentError, match=words):
            xpcs.sample(fitted, **options)
    with pytest.raises(ArgumentError, match="no shear rate"):
        drawn.plot("shear")
    with pytest.raises(ArgumentError, match="kind"):
        drawn.plot("violin")
    with pytest.raises(KeyError, match="there are"):
        drawn["gamma"]


def test_laplace_and_surrogate_agree_with_paths(fitted: xpcs.Result, drawn: xpcs.Posterior) -> None:
    laplace = xpcs.sample(fitted, method="laplace", n_draw=500)
    assert laplace.facts["pareto_k"] < 0.7
    assert laplace.facts["method"] == "laplace"
    plain = xpcs.sample(fitted, surrogate="off", **SHORT)
    assert not plain.facts["has_surrogate"]
    for other in (laplace, plain):
        for name in drawn.physical_names:
            assert abs(other[name].mean() - drawn[name].mean()) < 0.25 * drawn[name].std()


def test_a_run_that_was_stopped_goes_on(
    fitted: xpcs.Result, drawn: xpcs.Posterior, tmp_path: Path
) -> None:
    seen = 0

    def stop(progress: Any) -> None:
        nonlocal seen
        seen += 1
        if seen > 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        xpcs.sample(fitted, checkpoint=tmp_path, checkpoint_every=0, progress=stop, **SHORT)
    assert list(tmp_path.iterdir())
    again = xpcs.sample(fitted, checkpoint=tmp_path, **SHORT)
    assert again.facts["resumed"]
    assert np.array_equal(again.theta, drawn.theta)
    with pytest.raises(ArgumentError, match="checkpoint"):
        xpcs.sample(fitted, resume=True)


def test_shards_combine_to_the_whole(
    fitted: xpcs.Result, drawn: xpcs.Posterior, tmp_path: Path
) -> None:
    shards = [xpcs.sample(fitted, shard=k, n_shard=2, **SHORT) for k in (1, 2)]
    assert shards[0]["D0"].std() > 1.2 * drawn["D0"].std()
    other = [
        xpcs.Posterior.load(shards[0].save(tmp_path / "shard.npz")),
        pickle.loads(pickle.dumps(shards[1])),
    ]
    whole = xpcs.combine(other)
    assert whole.facts["method"] == "consensus"
    assert np.array_equal(whole.theta, xpcs.combine(shards).theta)
    for name in drawn.physical_names:
        assert abs(whole[name].mean() - drawn[name].mean()) < 0.5 * drawn[name].std()
        assert whole[name].std() == pytest.approx(drawn[name].std(), rel=0.3)
    with pytest.raises(ArgumentError, match="posteriors"):
        xpcs.combine([drawn])


def test_a_robust_loss_is_refused(data: xpcs.Data) -> None:
    with pytest.raises(ArgumentError, match="loss linear"):
        xpcs.sample(data, fit={"loss": "huber"}, **STATIC)


def chain(m: int, n: int, rho: float) -> np.ndarray:
    """Autoregressive chains of a fixed seed."""
    noise = np.random.default_rng(5).standard_normal((m, n))
    values = np.zeros((m, n))
    for i in range(1, n):
        values[:, i] = rho * values[:, i - 1] + noise[:, i]
    return values


# By ArviZ 0.23.4: rhat, ess bulk, ess tail, bfmi of the first chain.
ARVIZ: dict[tuple[int, int, float], tuple[float, float, float, float]] = {
    (4, 1500, 0.5): (1.000150406747508, 1850.6176585775302, 3247.1938703444366, 0.933956954744628),
    (4, 333, 0.95): (1.077070022055955, 35.62237795350711, 122.20381451459187, 0.09391089733802221),
    (2, 64, -0.6): (1.0286690297286292, 269.72287611492715, 141.35158867225707, 3.2290837654752935),
    (3, 101, 0.0): (1.0086620526613086, 306.63169837143096, 268.3438979656047, 1.97582106963507),
}


@pytest.mark.parametrize("shape", list(ARVIZ))
def test_numbers_of_chains_are_those_of_arviz(shape: tuple[int, int, float]) -> None:
    values = chain(*shape)
    found = (
        _chains.r_hat(values),
        _chains.ess_bulk(values),
        _chains.ess_tail(values),
        _chains.bfmi(values)[0],
    )
    assert found == pytest.approx(ARVIZ[shape], rel=1e-10)
