"""Models: layout of results, parameters, what fit leaves behind."""

from __future__ import annotations

import doctest
import logging
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
import tessera.decode as td
from decode_data import Spikes, make_plane, make_spikes
from helpers import run_python
from tessera import _core
from tessera.decode.likelihoods import clusterless_kde
from tessera.decode.results import Results, _coordinates

CLUSTERLESS = {
    "ClusterlessDecoder": ["Continuous"],
    "ContFragClusterlessClassifier": ["Continuous", "Fragmented"],
    "NoSpikeContFragClusterlessClassifier": ["No-Spike", "Continuous", "Fragmented"],
    "NonLocalClusterlessDetector": [
        "Local",
        "No-Spike",
        "Non-Local Continuous",
        "Non-Local Fragmented",
    ],
}
N_BINS = 50


@pytest.fixture(scope="module")
def spikes() -> Spikes:
    return make_spikes()


@pytest.fixture(scope="module")
def decoded(spikes: Spikes) -> tuple[Any, Any]:
    model = td.ContFragClusterlessClassifier().fit(*spikes.fit_args())
    return model, model.predict(spikes.spike_times, spikes.features, spikes.time[:200])


def n_state_bins(names: list[str]) -> int:
    return sum(1 if name in ("Local", "No-Spike") else N_BINS for name in names)


@pytest.mark.parametrize("name", CLUSTERLESS)
def test_clusterless_models(name: str, spikes: Spikes) -> None:
    states = CLUSTERLESS[name]
    model = getattr(td, name)()
    assert list(model.state_names) == states
    assert model.fit(*spikes.fit_args()) is model
    results = model.predict(
        spikes.spike_times,
        spikes.features,
        spikes.time[:150],
        position=spikes.position,
        position_time=spikes.time,
    )
    posterior = np.asarray(results["acausal_posterior"])
    assert posterior.shape == (150, n_state_bins(states))
    assert posterior.dtype == np.float32
    assert np.allclose(posterior.sum(axis=1), 1, atol=1e-5)
    probability = np.asarray(results["acausal_state_probabilities"]).reshape(150, -1)
    for i in range(len(states)):
        mine = posterior[:, model.state_ind_ == i].sum(axis=1)
        assert np.allclose(mine, probability[:, i], atol=1e-5)


@pytest.mark.parametrize(
    "name",
    [
        "SortedSpikesDecoder",
        "ContFragSortedSpikesClassifier",
        "NoSpikeContFragSortedSpikesClassifier",
        "NonLocalSortedSpikesDetector",
    ],
)
@pytest.mark.parametrize("algorithm", ["sorted_spikes_kde", "sorted_spikes_glm"])
def test_sorted_models(name: str, algorithm: str, spikes: Spikes) -> None:
    model = getattr(td, name)(sorted_spikes_algorithm=algorithm)
    model.fit(spikes.time, spikes.position, spikes.spike_times)
    results = model.predict(
        spikes.spike_times, spikes.time[:100], position=spikes.position, position_time=spikes.time
    )
    posterior = np.asarray(results["acausal_posterior"])
    assert np.allclose(posterior.sum(axis=1), 1, atol=1e-5)
    encoding = model.encoding_model_["", 0]
    assert encoding["place_fields"].shape == (3, N_BINS)


def test_layout_without_xarray(decoded: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = decoded
    monkeypatch.setitem(__import__("sys").modules, "xarray", None)
    data = make_spikes()
    results = model.predict(data.spike_times, data.features, data.time[:60])
    assert isinstance(results, Results)
    assert set(results) == {"acausal_posterior", "acausal_state_probabilities"}
    assert results.dims["acausal_posterior"] == ("time", "state_bins")
    assert results.state_bins.dtype.names == ("state", "position")
    assert results.position[0] == pytest.approx(1.0)
    assert results["states"].tolist() == ["Continuous", "Fragmented"]
    assert results.attrs["marginal_log_likelihoods"].shape == ()
    assert "acausal_posterior" in repr(results)
    with pytest.raises(AttributeError, match="no 'nonsense'"):
        _ = results.nonsense


def test_layout_with_xarray(decoded: tuple[Any, Any]) -> None:
    """The expectation was written down from non_local_detector 0.6.9."""
    xr = pytest.importorskip("xarray")
    _, results = decoded
    assert isinstance(results, xr.Dataset)
    assert dict(results.sizes) == {
        "time": 200,
        "state_bins": 2 * N_BINS,
        "states": 2,
        "state_ind": 2 * N_BINS,
    }
    assert set(results.coords) == {
        "time",
        "state_bins",
        "state",
        "position",
        "states",
        "environments",
        "encoding_groups",
        "state_ind",
    }
    assert results.acausal_posterior.dims == ("time", "state_bins")
    assert results.acausal_posterior.dtype == np.float32
    assert results.acausal_state_probabilities.dims == ("time", "states")
    assert results.environments.dims == ("states",)
    assert results.state_bins.to_index().names == ["state", "position"]
    assert results.attrs["marginal_log_likelihoods"].shape == ()
    unstacked = results.acausal_posterior.unstack("state_bins")
    assert unstacked.sizes == {"time": 200, "state": 2, "position": N_BINS}
    assert results.acausal_posterior.sel(state="Fragmented").shape == (200, N_BINS)
    total = td.ContFragClusterlessClassifier.get_posterior(results)
    assert np.allclose(total.sel(state="Continuous"), results.acausal_state_probabilities[:, 0])


FIRST_RESULTS = """
import sys
sys.path[:0] = {paths!r}
from decode_data import make_spikes
import tessera.decode as td
data = make_spikes()
model = td.{name}().fit(*data.fit_args())
before = set(sys.modules)
model.predict(data.spike_times, data.features, data.time[:60])["acausal_posterior"]
assert "xarray" in before
assert "dask.array" not in sys.modules
"""


@pytest.mark.parametrize("name", ["ClusterlessDecoder", "ContFragClusterlessClassifier"])
def test_the_first_prediction_imports_nothing_large(name: str, tmp_path: Path) -> None:
    """xarray takes seconds, and asks whether its arrays are dask's, which takes another one."""
    pytest.importorskip("xarray")
    (tmp_path / "dask").mkdir()
    (tmp_path / "dask" / "__init__.py").write_text("__version__ = '2099.1'\n")
    (tmp_path / "dask" / "array.py").write_text("class Array:\n    pass\n")
    script = FIRST_RESULTS.format(paths=[str(tmp_path), str(Path(__file__).parent)], name=name)
    done = run_python(script)
    assert done.returncode == 0, done.stderr


def test_coordinates_are_those_of_their_model(spikes: Spikes) -> None:
    pytest.importorskip("xarray")
    for size in (4.0, 5.0, 4.0):
        env = td.Environment(place_bin_size=size)
        model = td.ContFragClusterlessClassifier(environments=env).fit(*spikes.fit_args())
        for n in (30, 40):
            results = model.predict(spikes.spike_times, spikes.features, spikes.time[:n])
            assert np.array_equal(results.time, spikes.time[:n])
            assert np.array_equal(results.position, np.tile(env.place_bin_centers_[:, 0], 2))
            assert np.array_equal(results.state_ind, model.state_ind_)
    renamed = model.copy()
    renamed.state_names = ["a", "b"]
    results = renamed.predict(spikes.spike_times, spikes.features, spikes.time[:n])
    assert results.states.values.tolist() == ["a", "b"]


def test_a_fitted_model_is_ready(spikes: Spikes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first prediction makes nothing that later ones find there."""
    model = td.ContFragClusterlessClassifier(environments=td.Environment(place_bin_size=3.1))
    model.fit(*spikes.fit_args())
    made = _coordinates.cache_info().misses

    def fail(*args: object, **keywords: object) -> None:
        raise AssertionError("made in a prediction")

    monkeypatch.setattr(_core, "decode_detector", fail)
    model.predict(spikes.spike_times, spikes.features, spikes.time[:30])
    assert _coordinates.cache_info().misses == made


def test_single_state_loses_the_axis_of_states(spikes: Spikes) -> None:
    model = td.ClusterlessDecoder().fit(*spikes.fit_args())
    results = model.predict(spikes.spike_times, spikes.features, spikes.time[:30])
    assert np.asarray(results["acausal_state_probabilities"]).shape == (30,)
    if isinstance(results, Results):
        return
    assert "states" not in results.sizes
    assert results.states.item() == "Continuous"
    assert (results.environments.shape, results.environments.dtype) == ((), np.dtype("<U1"))
    assert results.identical(results.squeeze())
    assert results.acausal_posterior.sel(state="Continuous").shape[0] == 30


def test_plane_has_nan_outside_the_track() -> None:
    data = make_plane()
    env = td.Environment(place_bin_size=4.0)
    model = td.ContFragClusterlessClassifier(environments=env).fit(*data.fit_args())
    results = model.predict(data.spike_times, data.features, data.time[:40])
    posterior = np.asarray(results["acausal_posterior"])
    interior = model.is_track_interior_state_bins_
    assert not interior.all()
    assert posterior.shape == (40, 2 * env.is_track_interior_.size)
    assert np.isnan(posterior[:, ~interior]).all()
    assert np.allclose(posterior[:, interior].sum(axis=1), 1, atol=1e-5)
    names = [str(name) for name in results["state_bins"].dtype.names or ()] or list(
        results.state_bins.to_index().names
    )
    assert names == ["state", "x_position", "y_position"]
    inner = np.random.default_rng(0).normal(size=(37, interior.sum()))
    for dtype in (np.float32, np.float64):
        rows = inner.astype(dtype)
        full = np.full((37, len(interior)), np.nan, dtype)
        full[:, interior] = rows
        assert np.array_equal(model._scatter(rows), full, equal_nan=True)


def test_all_outputs(spikes: Spikes) -> None:
    model = td.NonLocalClusterlessDetector().fit(*spikes.fit_args())
    args = (spikes.spike_times, spikes.features, spikes.time[:80], spikes.position, spikes.time)
    results = model.predict(*args, return_outputs="all")
    for name in (
        "causal_posterior",
        "causal_state_probabilities",
        "predictive_posterior",
        "predictive_state_probabilities",
        "log_likelihood",
    ):
        assert len(np.asarray(results[name])) == 80
    last = np.asarray(results["causal_posterior"])[-1]
    assert np.allclose(last, np.asarray(results["acausal_posterior"])[-1], atol=1e-6)
    likelihood = model.compute_log_likelihood(
        spikes.time[:80], spikes.time, spikes.position, spikes.spike_times, spikes.features
    )
    assert np.array_equal(likelihood, np.asarray(results["log_likelihood"]))
    # Both non-local states see the same likelihood.
    state = model.state_ind_
    assert np.array_equal(likelihood[:, state == 2], likelihood[:, state == 3])


def test_chunks_change_nothing(decoded: tuple[Any, Any], spikes: Spikes) -> None:
    model, results = decoded
    for n_chunks in (2, 7, "auto"):
        again = model.predict(
            spikes.spike_times, spikes.features, spikes.time[:200], n_chunks=n_chunks
        )
        assert np.array_equal(again["acausal_posterior"], results["acausal_posterior"])


def test_decoding_finds_the_animal(spikes: Spikes) -> None:
    model = td.ClusterlessDecoder().fit(*spikes.fit_args())
    results = model.predict(spikes.spike_times, spikes.features, spikes.time)
    best = np.asarray(results["acausal_posterior"]).argmax(axis=1)
    error = np.abs(model.environments[0].place_bin_centers_[best, 0] - spikes.position)
    assert np.median(error) < 5


def test_missing_rows_are_predictions(decoded: tuple[Any, Any], spikes: Spikes) -> None:
    model, _ = decoded
    missing = np.zeros(100, dtype=bool)
    missing[40:60] = True
    results = model.predict(
        spikes.spike_times,
        spikes.features,
        spikes.time[:100],
        is_missing=missing,
        return_outputs=["filter", "predictive_posterior", "log_likelihood"],
    )
    assert not np.asarray(results["log_likelihood"])[40:60].any()
    assert np.allclose(
        np.asarray(results["causal_posterior"])[40:60],
        np.asarray(results["predictive_posterior"])[40:60],
        atol=1e-6,
    )


def test_estimate_parameters(spikes: Spikes) -> None:
    model = td.ContFragClusterlessClassifier()
    before = model.discrete_transition_type.matrix()
    results = model.estimate_parameters(*spikes.fit_args(), time=spikes.time[:500], max_iter=4)
    evidence = results.attrs["marginal_log_likelihoods"]
    assert evidence.ndim == 1
    assert 1 <= len(evidence) <= 4
    assert np.all(np.diff(evidence) > -1e-3)
    assert model.discrete_state_transitions_.shape == (2, 2)
    assert not np.allclose(model.discrete_state_transitions_, before)
    assert np.allclose(model.discrete_state_transitions_.sum(axis=1), 1)
    assert model.initial_conditions_.sum() == pytest.approx(1)
    assert model.discrete_initial_conditions.sum() == pytest.approx(1)
    kept = td.ContFragClusterlessClassifier()
    kept.estimate_parameters(
        *spikes.fit_args(),
        time=spikes.time[:500],
        max_iter=2,
        estimate_initial_conditions=False,
        estimate_discrete_transition=False,
    )
    assert np.array_equal(kept.discrete_state_transitions_, before)
    assert np.allclose(kept.initial_conditions_, 0.5 / N_BINS)


def test_a_stopped_estimate_goes_on(spikes: Spikes, tmp_path: Path) -> None:
    def estimate(**options: Any) -> tuple[Any, Any]:
        model = td.ContFragClusterlessClassifier()
        args = spikes.fit_args()
        found = model.estimate_parameters(
            *args, time=spikes.time[:500], max_iter=4, tolerance=0, **options
        )
        return model, found

    right, want = estimate()
    folder = tmp_path / "work"
    seen: list[int] = []

    class Stop(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            if str(record.msg).startswith("iteration"):
                seen.append(int(record.getMessage().split()[1].rstrip(",")))
                if seen == [0, 1]:
                    raise KeyboardInterrupt
            return True

    logger = logging.getLogger("tessera")
    stop = Stop()
    logger.addFilter(stop)
    logger.setLevel(logging.INFO)
    try:
        with pytest.raises(KeyboardInterrupt):
            estimate(checkpoint=folder)
        assert list(folder.glob("*.ckpt"))
        model, found = estimate(checkpoint=folder, resume=True)
    finally:
        logger.removeFilter(stop)
        logger.setLevel(logging.NOTSET)
    assert seen == [0, 1, 2, 3]
    assert not folder.exists()
    for name in ("discrete_state_transitions_", "initial_conditions_"):
        assert np.array_equal(getattr(model, name), getattr(right, name))
    assert np.array_equal(found["acausal_posterior"], want["acausal_posterior"], equal_nan=True)
    got = found.attrs["marginal_log_likelihoods"]
    assert np.array_equal(got, want.attrs["marginal_log_likelihoods"])


def test_frozen_rows(spikes: Spikes) -> None:
    model = td.NonLocalClusterlessDetector()
    assert tuple(model.frozen_discrete_transition_rows) == (1,)
    before = model.discrete_transition_type.matrix()
    model.estimate_parameters(*spikes.fit_args(), time=spikes.time[:300], max_iter=2)
    assert np.allclose(model.discrete_state_transitions_[1], before[1])
    assert not np.allclose(model.discrete_state_transitions_[0], before[0])


def test_place_fields_are_estimated_with_a_local_state(spikes: Spikes) -> None:
    args = (spikes.time, spikes.position, spikes.spike_times)
    fitted = td.NonLocalSortedSpikesDetector().fit(*args)
    fields = fitted.encoding_model_["", 0]["place_fields"]
    model = td.NonLocalSortedSpikesDetector()
    results = model.estimate_parameters(*args, time=spikes.time, max_iter=3)
    assert len(results.attrs["marginal_log_likelihoods"]) <= 3
    assert not np.array_equal(model.encoding_model_["", 0]["place_fields"], fields)
    model.estimate_parameters(*args, time=spikes.time, max_iter=2, estimate_encoding_model=False)
    assert np.array_equal(model.encoding_model_["", 0]["place_fields"], fields)
    # Too little that is local to learn from: nothing is changed.
    model.estimate_parameters(*args, time=spikes.time, max_iter=1, min_encoding_local_mass=1e9)
    assert np.array_equal(model.encoding_model_["", 0]["place_fields"], fields)
    with pytest.raises(ValueError, match="encoding_update_damping"):
        model.estimate_parameters(*args, time=spikes.time, encoding_update_damping=0.5)
    with pytest.raises(ValueError, match="estimate_encoding_model=False"):
        model.estimate_parameters(*args, time=spikes.time, checkpoint="work")


def test_covariates(spikes: Spikes) -> None:
    time = spikes.time[:400]
    speed = np.abs(np.gradient(spikes.position, spikes.time))[:400]
    kind = td.DiscreteNonStationaryDiagonal(
        np.array([0.95, 0.9]), formula="1 + bs(speed, knots=[5.0, 15.0])"
    )
    model = td.ContFragClusterlessClassifier(discrete_transition_type=kind)
    model.fit(*spikes.fit_args(), discrete_transition_covariate_data={"speed": speed})
    assert model.discrete_state_transitions_.shape == (400, 2, 2)
    assert model.discrete_transition_coefficients_ is not None
    assert model.discrete_transition_coefficients_.shape == (6, 2, 1)
    plain = td.ContFragClusterlessClassifier(
        discrete_transition_type=td.DiscreteStationaryDiagonal(np.array([0.95, 0.9]))
    ).fit(*spikes.fit_args())
    args = (spikes.spike_times, spikes.features, time)
    varying = model.predict(*args, discrete_transition_covariate_data={"speed": speed})
    # Nothing is estimated yet: the transitions are those of the matrix.
    assert np.allclose(
        varying["acausal_posterior"], plain.predict(*args)["acausal_posterior"], atol=1e-6
    )
    results = model.estimate_parameters(
        *spikes.fit_args(),
        time=time,
        discrete_transition_covariate_data={"speed": speed},
        max_iter=3,
    )
    assert np.isfinite(results.attrs["marginal_log_likelihoods"]).all()
    assert model.discrete_state_transitions_.std(axis=0).max() > 0
    with pytest.raises(ValueError, match="has 400 values, time has 30"):
        model.predict(spikes.spike_times, spikes.features, spikes.time[:30])


def test_most_likely_sequence(spikes: Spikes) -> None:
    model = td.NonLocalClusterlessDetector().fit(*spikes.fit_args())
    table = model.most_likely_sequence(
        spikes.time, spikes.position, spikes.spike_times, spikes.features, spikes.time[:50]
    )
    states = np.asarray(table["state"])
    position = np.asarray(table["position"], dtype=float)
    assert len(states) == 50
    assert set(states) <= set(model.state_names)
    assert np.array_equal(np.isnan(position), np.isin(states, ["Local", "No-Spike"]))


def test_two_environments() -> None:
    data = make_spikes()
    half = len(data.time) // 2
    labels = np.where(np.arange(len(data.time)) < half, "env1", "env2")
    model = td.MultiEnvironmentClusterlessClassifier()
    with pytest.raises(ValueError, match=r"no training samples are left for \('env2', 0\)"):
        model.fit(*data.fit_args())
    model.fit(*data.fit_args(), environment_labels=labels)
    assert set(model.encoding_model_) == {("env1", 0), ("env2", 0)}
    results = model.predict(data.spike_times, data.features, data.time[:50])
    assert np.asarray(results["acausal_state_probabilities"]).shape == (50, 2)
    assert model.continuous_state_transitions_.shape == (2 * N_BINS, 2 * N_BINS)
    with pytest.raises(ValueError, match="no sample is labelled 'env2'"):
        model.fit(*data.fit_args(), environment_labels=np.full(len(data.time), "env1"))


def test_encoding_groups() -> None:
    data = make_spikes()
    groups = (np.arange(len(data.time)) // 300) % 2
    model = td.ContFragClusterlessClassifier(
        observation_models=[td.ObservationModel("", 0), td.ObservationModel("", 1)]
    ).fit(*data.fit_args(), encoding_group_labels=groups)
    assert set(model.encoding_model_) == {("", 0), ("", 1)}
    likelihood = model.compute_log_likelihood(
        data.time[:100], None, None, data.spike_times, data.features
    )
    assert not np.allclose(likelihood[:, :N_BINS], likelihood[:, N_BINS:])


def test_local_state_of_many_bins(spikes: Spikes) -> None:
    model = td.NonLocalClusterlessDetector(local_position_std=5.0).fit(*spikes.fit_args())
    assert model.bin_sizes_.tolist() == [N_BINS, 1, N_BINS, N_BINS]
    results = model.predict(
        spikes.spike_times, spikes.features, spikes.time[:50], spikes.position, spikes.time
    )
    assert np.asarray(results["acausal_posterior"]).shape == (50, 3 * N_BINS + 1)
    with pytest.raises(ValueError, match="local_position_std"):
        td.NonLocalClusterlessDetector(local_position_std=-1.0)


def test_parameters_by_name() -> None:
    model = td.ClusterlessDecoder(sampling_frequency=250.0, mode="exact")
    params = model.get_params()
    assert params["sampling_frequency"] == 250.0
    assert params["clusterless_algorithm_params"] == {"waveform_std": 24.0, "position_std": 6.0}
    again = td.ClusterlessDecoder(**params)
    assert again.get_params().keys() == params.keys()
    assert model.set_params(mode="fast").get_params()["mode"] == "fast"
    with pytest.raises(ValueError, match="'nonsense' is no parameter"):
        model.set_params(nonsense=1)
    assert np.allclose(model.calculate_time_bins([1.0, 1.01]), [1.0, 1.004, 1.008])
    assert "not fitted" in repr(model)


def test_attributes_can_be_replaced(spikes: Spikes) -> None:
    model = td.ContFragClusterlessClassifier().fit(*spikes.fit_args())
    args = (spikes.spike_times, spikes.features, spikes.time[:80])
    first = np.asarray(model.predict(*args)["acausal_posterior"])
    model.continuous_state_transitions_ = model.continuous_state_transitions_.copy()
    assert np.allclose(model.predict(*args)["acausal_posterior"], first, atol=1e-6)
    model.discrete_state_transitions_ = np.array([[0.5, 0.5], [0.5, 0.5]])
    assert not np.allclose(model.predict(*args)["acausal_posterior"], first, atol=1e-3)
    with pytest.raises(ValueError, match="continuous_state_transitions_"):
        model.continuous_state_transitions_ = np.eye(3)


def test_pickle_and_files(decoded: tuple[Any, Any], spikes: Spikes, tmp_path: Path) -> None:
    model, results = decoded
    again = pickle.loads(pickle.dumps(model))
    model.save_model(tmp_path / "model.pkl")
    loaded = td.ContFragClusterlessClassifier.load_model(tmp_path / "model.pkl")
    for other in (again, loaded, model.copy()):
        new = other.predict(spikes.spike_times, spikes.features, spikes.time[:200])
        assert np.array_equal(new["acausal_posterior"], results["acausal_posterior"])


def test_results_in_npz(tmp_path: Path) -> None:
    variables: dict[str, Any] = {"acausal_posterior": (("time", "state_bins"), np.ones((2, 3)))}
    results = Results(variables, {"time": np.arange(2.0)}, {"marginal_log_likelihoods": 1.5})
    td.ClusterlessDecoder.save_results(results, tmp_path / "results.npz")
    again = td.ClusterlessDecoder.load_results(tmp_path / "results.npz")
    assert np.array_equal(again.acausal_posterior, np.ones((2, 3)))
    assert again.dims == results.dims
    assert again.attrs["marginal_log_likelihoods"] == 1.5


def test_results_in_netcdf(decoded: tuple[Any, Any], tmp_path: Path) -> None:
    pytest.importorskip("xarray")
    pytest.importorskip("scipy")
    _, results = decoded
    td.ClusterlessDecoder.save_results(results, tmp_path / "results.nc")
    again = td.ClusterlessDecoder.load_results(tmp_path / "results.nc")
    assert np.array_equal(again.acausal_posterior, results.acausal_posterior)
    assert again.state_bins.to_index().names == ["state", "position"]


def test_example_in_the_documentation() -> None:
    failed, tried = doctest.testmod(td)
    assert tried
    assert failed == 0


def test_import_is_lazy() -> None:
    code = "import sys, tessera.decode; print('numpy' in sys.modules)"
    assert run_python(code).stdout == "False\n"


def test_handles_outlive_a_closed_context() -> None:
    context = tessera.Context(threads=1)
    handle = _core.decode_environment(context, np.linspace(0, 9, 50)[:, np.newaxis])
    centers = np.asarray(_core.decode_environment_info(handle)["bin_centers"])
    context.close()
    with pytest.raises(RuntimeError, match="closed"):
        _core.decode_distances(context, handle)
    del context
    del handle
    # The view keeps the environment, which keeps the memory of its context.
    assert np.allclose(centers[:, 0], [0.9, 2.7, 4.5, 6.3, 8.1])


def test_handles_are_checked() -> None:
    context = tessera.Context(threads=1)
    handle = _core.decode_environment(context, np.linspace(0, 9, 50)[:, np.newaxis])
    assert "environment" in repr(handle)
    with pytest.raises(TypeError, match="handle of a decode encoding"):
        _core.decode_encoding_info(handle)
    with pytest.raises(TypeError):
        type(handle)()


def test_threads_and_exact_mode(spikes: Spikes) -> None:
    found = []
    for threads in (1, 3):
        model = td.ClusterlessDecoder(threads=threads, mode="exact").fit(*spikes.fit_args())
        results = model.predict(spikes.spike_times, spikes.features, spikes.time[:100])
        found.append(np.asarray(results["acausal_posterior"]))
    assert np.array_equal(found[0], found[1])
    assert found[0].dtype == np.float64
    time, where = spikes.time[:50], (spikes.time, spikes.position)
    ll = model.compute_log_likelihood(time, *where, spikes.spike_times, spikes.features)
    given = (*spikes.fit_args(), time)
    estimated = model.estimate_parameters(*given, max_iter=1, return_outputs="all")
    assert {ll.dtype, *(estimated[name].dtype for name in estimated)} == {np.dtype(np.float64)}
    environment = td.Environment().fit_place_grid(spikes.position)
    fit = clusterless_kde.fit_clusterless_kde_encoding_model(
        *spikes.fit_args(), environment, mode="exact"
    )
    ll = clusterless_kde.predict_clusterless_kde_log_likelihood(
        time, *where, spikes.spike_times, spikes.features, **fit
    )
    assert ll.dtype == np.float64


def test_a_knot_at_the_end_of_the_range_does_no_harm() -> None:
    """The grid's knots meet the first and last place but for rounding; fields were infinite."""
    time = np.arange(0, 6, 0.01)
    way = 50 - 50 * np.cos(2 * time)
    position = np.c_[np.clip(way, 0, 60), np.where(way > 60, way - 60, 0)]
    spikes = [np.sort(np.random.default_rng(0).uniform(0, 6, 150))]
    model = td.SortedSpikesDecoder(
        environments=td.Environment(place_bin_size=8.0),
        sorted_spikes_algorithm="sorted_spikes_glm",
        sorted_spikes_algorithm_params={},
    ).fit(time, position, spikes)
    (encoding,) = model.encoding_model_.values()
    field = encoding["place_fields"][0]
    inside = model.environments[0].is_track_interior_.ravel()
    assert field[inside].min() > 0.15  # spikes fall anywhere, at 0.25 a sample
    assert field[inside].max() < 0.4
    result = model.predict(spikes, time[:40])
    np.testing.assert_allclose(np.nansum(result["acausal_posterior"], axis=1), 1, atol=1e-5)
