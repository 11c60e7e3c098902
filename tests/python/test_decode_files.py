"""Files of models and environments: the same bits after loading, and nothing in a file is run."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
import tessera.decode as td
from decode_data import Spikes, make_plane, make_spikes
from helpers import run_python
from tessera.decode import _model_file
from tessera.decode._plain import Writer

pytestmark = pytest.mark.filterwarnings("ignore:.*absolute floor")

COMMAND = os.environ.get("TESSERA_COMMAND", "")
NODES = [(0, 0), (40, 0), (40, 24), (0, 24)]
EDGES = [(0, 1), (1, 2), (2, 3), (3, 0)]
LINE = make_spikes()
PLANE = make_plane()
CLUSTERLESS = [
    name for name in td.__all__ if "Clusterless" in name and name != "ClusterlessDetector"
]
SORTED = [name for name in td.__all__ if "Sorted" in name and name != "SortedSpikesDetector"]


def _fitted(model: Any, data: Spikes, **options: Any) -> Any:
    features = () if model._sorted else (data.features,)
    if len(model.environments) > 1:
        half = np.arange(len(data.time)) < len(data.time) // 2
        options["environment_labels"] = np.where(half, "env1", "env2")
    return model.fit(data.time, data.position, data.spike_times, *features, **options)


def _decoded(model: Any, data: Spikes, n: int = 40) -> dict[str, Any]:
    features = () if model._sorted else (data.features,)
    results = model.predict(
        data.spike_times,
        *features,
        data.time[:n],
        position=data.position,
        position_time=data.time,
        return_outputs="all",
    )
    return {name: np.asarray(results[name]) for name in results}


def _loaded(model: Any, folder: Path) -> Any:
    model.save_model(folder / "model.npz")
    assert [path.name for path in folder.iterdir()] == ["model.npz"]
    return type(model).load_model(folder / "model.npz")


def _same(left: Any, right: Any) -> None:
    """Compare all that plain data can tell, down to types and bits."""
    if isinstance(left, np.ndarray):
        assert isinstance(right, np.ndarray)
        assert (left.dtype, left.shape) == (right.dtype, right.shape)
        assert left.tobytes() == right.tobytes()
        return
    assert type(left) is type(right)
    if isinstance(left, dict):
        assert list(left) == list(right)
        left, right = list(left.values()), list(right.values())
    if isinstance(left, list | tuple):
        for one, other in zip(left, right, strict=True):
            _same(one, other)
    elif hasattr(left, "_state"):
        _same(left._state(), right._state())
    elif hasattr(left, "__dict__") and type(left).__module__.startswith("tessera"):
        _same(left.__dict__, right.__dict__)
    elif type(left).__module__.startswith("networkx"):
        assert list(left.nodes(data=True)) == list(right.nodes(data=True))
        assert list(left.edges(data=True)) == list(right.edges(data=True))
    else:
        assert left == right or np.isnan(left)


def _check_round_trip(model: Any, data: Spikes, folder: Path) -> Any:
    again = _loaded(model, folder)
    _same(model, again)
    one, other = _decoded(model, data), _decoded(again, data)
    assert one.keys() == other.keys()
    for name in one:
        assert one[name].tobytes() == other[name].tobytes(), name
    return again


@pytest.mark.parametrize("name", [*CLUSTERLESS, *SORTED])
def test_every_class(name: str, tmp_path: Path) -> None:
    model = getattr(td, name)()
    _check_round_trip(_fitted(model, LINE), LINE, tmp_path)


def _track(graph: Any) -> Any:
    return td.Environment(track_graph=graph, edge_order=EDGES, edge_spacing=[5.0, 5.0, 9.0])


def _walks(**options: Any) -> Any:
    return [
        [td.RandomWalk(**options), td.Uniform()],
        [td.Identity(), td.RandomWalkDirection1(movement_var=np.float64(3.5))],
    ]


VARIANTS: dict[str, Callable[[], tuple[Any, Spikes]]] = {
    "gmm": lambda: (
        td.ClusterlessDecoder(
            clusterless_algorithm="clusterless_gmm",
            clusterless_algorithm_params={"gmm_components_joint": 4, "gmm_random_state": 3},
        ),
        LINE,
    ),
    "glm": lambda: (td.SortedSpikesDecoder(sorted_spikes_algorithm="sorted_spikes_glm"), LINE),
    "bandwidths": lambda: (
        td.ClusterlessDecoder(
            clusterless_algorithm_params={
                "waveform_std": np.array([20.0, 21.0, 22.0, 23.0]),
                "position_std": np.float64(5.0),
                "block_size": 100,
            },
            mode="exact",
            floor="relative:16",
            threads=1,
            memory_limit="1G",
        ),
        LINE,
    ),
    "float32": lambda: (
        td.ClusterlessDecoder(),
        Spikes(LINE.time, LINE.position, LINE.spike_times, [f.astype("f4") for f in LINE.features]),
    ),
    "plane": lambda: (
        td.ClusterlessDecoder(
            environments=td.Environment("box", place_bin_size=(4.0, 3.0), fill_holes=True),
            observation_models=td.ObservationModel("box"),
            continuous_transition_types=[[td.RandomWalk("box")]],
        ),
        PLANE,
    ),
    "range": lambda: (
        td.ClusterlessDecoder(
            environments=td.Environment(
                position_range=[(0, 110)], is_track_interior=np.arange(55) < 50
            )
        ),
        LINE,
    ),
    "networkx": lambda: (
        td.ClusterlessDecoder(environments=_track(td.make_track_graph(NODES, EDGES))),
        PLANE,
    ),
    "own graph": lambda: (
        td.ClusterlessDecoder(environments=_track(td.TrackGraph(NODES, EDGES))),
        PLANE,
    ),
    "pair": lambda: (td.ClusterlessDecoder(environments=_track((NODES, EDGES))), PLANE),
    "local": lambda: (td.NonLocalClusterlessDetector(local_position_std=4.0), LINE),
    "penalty": lambda: (
        td.ContFragClusterlessClassifier(
            non_local_position_penalty=2.0,
            non_local_penalty_std=5.0,
            frozen_discrete_transition_rows=range(1),
            continuous_transition_types=_walks(movement_var=9.0, movement_mean=1.0),
        ),
        LINE,
    ),
    "covariance": lambda: (
        td.ContFragClusterlessClassifier(
            environments=td.Environment(place_bin_size=6.0),
            continuous_transition_types=_walks(movement_var=np.array([[9.0, 1.0], [1.0, 4.0]])),
        ),
        PLANE,
    ),
    "counted": lambda: (
        td.ClusterlessDecoder(continuous_transition_types=[[td.EmpiricalMovement(speedup=2)]]),
        LINE,
    ),
    "own states": lambda: (
        td.SortedSpikesDetector(
            discrete_initial_conditions=[0.5, 0.5],
            discrete_transition_type=td.DiscreteStationaryDiagonal([0.9, 0.8]),
            continuous_transition_types=_walks(),
            state_names=["one", "ö"],
        ),
        LINE,
    ),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_part(variant: str, tmp_path: Path) -> None:
    model, data = VARIANTS[variant]()
    _check_round_trip(_fitted(model, data), data, tmp_path)


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_the_command_reads_of_it(variant: str, tmp_path: Path) -> None:
    """The part of a file that is the command's makes the same model."""
    model, data = VARIANTS[variant]()
    path = tmp_path / "model.npz"
    _fitted(model, data).save_model(path)
    with np.load(path) as file:
        members = {name: file[name] for name in file.files if name != "python"}
    if "setting_names" not in members:
        assert variant in ("penalty", "covariance", "counted", "own states")
        return
    np.savez(path, **members)
    one, other = _decoded(model, data), _decoded(type(model).load_model(path), data)
    for name in one:
        assert one[name].tobytes() == other[name].tobytes(), name


def test_groups_weights_and_covariates(tmp_path: Path) -> None:
    speed = np.abs(np.gradient(LINE.position))
    model = td.ContFragClusterlessClassifier(
        observation_models=[td.ObservationModel("", 0), td.ObservationModel("", "fast")],
        discrete_transition_type=td.DiscreteNonStationaryDiagonal(
            [0.9, 0.9], formula="1 + bs(speed, knots=[0.2, 0.6])"
        ),
    )
    groups = np.where(speed > 0.3, "fast", "0").astype(object)
    groups[groups == "0"] = 0
    _fitted(
        model,
        LINE,
        encoding_group_labels=groups,
        weights=np.linspace(0.5, 1, len(speed)),
        discrete_transition_covariate_data={"speed": speed},
    )
    again = _loaded(model, tmp_path)
    _same(model, again)
    one, other = (
        each.predict(
            LINE.spike_times,
            LINE.features,
            LINE.time[:30],
            discrete_transition_covariate_data={"speed": speed[:30]},
        )
        for each in (model, again)
    )
    assert np.array_equal(one["acausal_posterior"], other["acausal_posterior"])


def test_what_estimation_and_the_user_changed(tmp_path: Path) -> None:
    model: Any = td.ContFragClusterlessClassifier()
    model.estimate_parameters(
        *LINE.fit_args(), LINE.time[:300], max_iter=2, store_log_likelihood=True
    )
    model.note = "of Tuesday"
    model.continuous_state_transitions_ = model.continuous_state_transitions_.copy()
    again = _check_round_trip(model, LINE, tmp_path)
    assert again.note == "of Tuesday"
    assert again.log_likelihood_.shape == model.log_likelihood_.shape
    # A file is as good as the model it was: it can be saved and estimated again.
    _check_round_trip(again, LINE, tmp_path)


def test_before_fitting(tmp_path: Path) -> None:
    model = td.NonLocalSortedSpikesDetector(sampling_frequency=250.0)
    _same(model, _loaded(model, tmp_path))
    provenance = tessera.info(tmp_path / "model.npz")["provenance"]
    assert provenance["stage"] == "decode.model"
    assert provenance["tessera"] == tessera.__version__


def test_leftovers_of_killed_processes_are_swept(tmp_path: Path) -> None:
    """The library removes what Python's writers left, by the name they have in common."""
    path = tmp_path / "epochs.npy"
    code = "import os, sys\nfrom tessera._npz import replacing\n"
    code += "with replacing(sys.argv[1]) as name:\n    open(name, 'w').close()\n    os._exit(9)\n"
    assert run_python(code, arguments=[str(path)]).returncode == 9
    assert len(list(tmp_path.iterdir())) == 1
    tessera.autoreject.simulate(epochs=2, channels=2, samples=9, output=path)
    assert [each.name for each in tmp_path.iterdir() if ".tmp." in each.name] == []


def test_environments(tmp_path: Path) -> None:
    path = tmp_path / "environment.pkl"
    for environment in (
        _track((NODES, EDGES)).fit_place_grid(),
        td.Environment("box", place_bin_size=[3.0, 4.0]).fit_place_grid(PLANE.position),
        td.Environment("none yet", position_range=[(0.0, 90.0)]),
    ):
        environment.save_environment(path)
        again = td.Environment.load_environment(path)
        _same(environment, again)
        if "edges_" in vars(environment):
            assert np.array_equal(
                again.get_bin_ind(PLANE.position), environment.get_bin_ind(PLANE.position)
            )
    with pytest.raises(TypeError, match="holds a Environment, not a model"):
        td.ClusterlessDecoder.load_model(path)
    td.ClusterlessDecoder().save_model(path)
    with pytest.raises(TypeError, match="not an Environment"):
        td.Environment.load_environment(path)


# --- the command


def _run(*words: Any) -> None:
    subprocess.run([COMMAND, *map(str, words)], check=True, capture_output=True, timeout=60)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not COMMAND:
        pytest.skip("TESSERA_COMMAND is not set")
    path = tmp_path_factory.mktemp("recording") / "recording.npz"
    _run("decode", "simulate", "small", "-o", path)
    return path


def _check_command(recording: Path, model_file: Path, model: Any) -> None:
    """The command and Python decode a recording to the same bits."""
    result = model_file.with_name("result.h5")
    _run(
        *("decode", "predict", recording, "--model-file", model_file),
        *("-o", result, "--overwrite"),
    )
    data = td.read_recording(recording)
    features = () if model._sorted else (data.spike_waveform_features,)
    ours = model_file.with_name("ours.h5")
    model.predict_file(
        ours,
        data.spike_times,
        *features,
        data.time,
        position=data.decoding_position,
        position_time=data.decoding_position_time,
        overwrite=True,
    )
    h5py = pytest.importorskip("h5py")
    with h5py.File(result) as one, h5py.File(ours) as other:
        assert one["acausal_posterior"][()].tobytes() == other["acausal_posterior"][()].tobytes()


@pytest.mark.parametrize("suffix", [".npz", ".h5"])
@pytest.mark.parametrize(
    "options",
    [
        ("--model", "decoder"),
        ("--model", "cont-frag", "--movement-variance", "4", "--mode", "exact"),
        ("--model", "no-spike-cont-frag", "--place-bin-size", "3"),
        ("--model", "non-local", "--local-position-std", "5"),
        ("--model", "non-local", "--algorithm", "clusterless_gmm"),
        ("--model", "cont-frag", "--algorithm", "sorted_spikes_kde"),
        ("--model", "decoder", "--algorithm", "sorted_spikes_glm"),
        ("--model", "decoder", "--mode", "bounded:1e-4", "--floor", "relative:12"),
    ],
)
def test_files_of_the_command(
    options: tuple[str, ...], suffix: str, recording: Path, tmp_path: Path
) -> None:
    path = tmp_path / f"command{suffix}"
    _run("decode", "fit", recording, "-o", path, *options)
    model = td.ClusterlessDecoder.load_model(path)
    _check_command(recording, path, model)
    # Saved by Python it is still the command's, and still the same.
    model.save_model(tmp_path / "again.npz")
    _check_command(recording, tmp_path / "again.npz", model)


@pytest.mark.parametrize("name", [*CLUSTERLESS, *SORTED])
def test_files_for_the_command(name: str, recording: Path, tmp_path: Path) -> None:
    if name.startswith("Multi"):
        pytest.skip("the command has no models of several environments")
    data = td.read_recording(recording)
    model = getattr(td, name)(environments=td.Environment(place_bin_size=1.5))
    features = () if model._sorted else (data.encoding_spike_waveform_features,)
    model.fit(data.position_time, data.position, data.encoding_spike_times, *features)
    model.save_model(tmp_path / "python.npz")
    _check_command(recording, tmp_path / "python.npz", model)


def test_the_command_refuses_what_it_has_not(recording: Path, tmp_path: Path) -> None:
    model, data = VARIANTS["counted"]()
    _fitted(model, data).save_model(tmp_path / "model.npz")
    with pytest.raises(subprocess.CalledProcessError) as caught:
        _run(
            *("decode", "predict", recording, "--model-file", tmp_path / "model.npz"),
            *("-o", tmp_path / "result.h5"),
        )
    assert caught.value.returncode == 65
    assert b"a model of Python that the command has no equal for" in caught.value.stderr


# --- results


def _track_model() -> tuple[Any, tuple[Any, ...]]:
    """A model of a track with gaps, of which files keep the interior bins only."""
    graph = td.make_track_graph(NODES, EDGES)
    environment = td.Environment(
        place_bin_size=3.0, track_graph=graph, edge_order=EDGES, edge_spacing=7.0
    )
    model = _fitted(td.NonLocalClusterlessDetector(environments=environment), PLANE)
    given = (PLANE.spike_times, PLANE.features, PLANE.time[:60])
    return model, given


@pytest.mark.parametrize("shape", ["track", "plane"])
def test_results_in_files_are_those_of_predict(shape: str, tmp_path: Path) -> None:
    xr = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    if shape == "track":
        model, given = _track_model()
    else:
        model = _fitted(td.ContFragClusterlessClassifier(), PLANE)
        given = (PLANE.spike_times, PLANE.features, PLANE.time[:60])
    where = {"position": PLANE.position, "position_time": PLANE.time}
    wanted = model.predict(*given, **where)
    model.predict_file(tmp_path / "result.h5", *given, **where)
    found = model.load_results(tmp_path / "result.h5")
    for name in ("acausal_posterior", "acausal_state_probabilities"):
        xr.testing.assert_allclose(found[name], wanted[name])
    for name in found.indexes["state_bins"].names:
        np.testing.assert_array_equal(found[name].values, wanted[name].values)
    assert list(found.states.values) == list(wanted.states.values)
    best = td.analysis.maximum_a_posteriori_estimate(
        found["acausal_posterior"].unstack("state_bins").sum("state")
    )
    assert len(best) == 60
    with pytest.raises(tessera.FormatError, match="is a folder"):
        model.load_results(tmp_path)


def test_results_of_intervals_keep_their_table(tmp_path: Path) -> None:
    pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    model = _fitted(td.ContFragClusterlessClassifier(), PLANE)
    given = (PLANE.spike_times, PLANE.features, PLANE.time[:60])
    spans = PLANE.time[[[0, 20], [30, 45]]] - 1e-6
    model.predict_file(tmp_path / "result.h5", *given, intervals=spans)
    found = model.load_results(tmp_path / "result.h5")
    np.testing.assert_array_equal(found["interval_start"], spans[:, 0])
    np.testing.assert_array_equal(found["interval_end"], spans[:, 1])
    np.testing.assert_array_equal(found["interval_rows"], [20, 15])
    np.testing.assert_array_equal(found["interval"], np.repeat([0, 1], [20, 15]))
    whole = found.attrs["marginal_log_likelihoods"]
    assert float(found["interval_log_evidence"].sum()) == pytest.approx(whole)


def test_intervals_need_their_columns(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    model = _fitted(td.SortedSpikesDecoder(), PLANE)
    table = pandas.DataFrame({"start": [0.0], "stop": [1.0]})
    with pytest.raises(td.ValidationError, match=r"intervals: no column 'end' among \['start', "):
        model.predict_file(tmp_path / "result", PLANE.spike_times, PLANE.time[:60], intervals=table)


def test_intervals_may_have_no_spike(tmp_path: Path) -> None:
    model = _fitted(td.SortedSpikesDecoder(), PLANE)
    silent = PLANE.time[[[0, 8], [20, 25], [40, 50]]] - 1e-6
    heard = [t[t >= PLANE.time[30]] for t in PLANE.spike_times]
    model.predict_file(tmp_path / "result", heard, PLANE.time[:60], intervals=silent)
    rows = np.load(tmp_path / "result" / "acausal_posterior.npy")
    assert rows.shape[0] == 23
    np.testing.assert_allclose(rows.sum(axis=1), 1, atol=1e-6)


@pytest.mark.skipif(not COMMAND, reason="needs the command")
def test_the_command_reports_results_of_python(tmp_path: Path) -> None:
    pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    model, given = _track_model()
    where = {"position": PLANE.position, "position_time": PLANE.time}
    model.save_results(model.predict(*given, **where), tmp_path / "result.nc")
    _run("decode", "report", tmp_path / "result.nc", "-o", tmp_path / "result.html")
    page = (tmp_path / "result.html").read_text()
    assert "Non-Local Fragmented" in page
    assert "is not a number" not in page


# --- what is not to be trusted


class _Trap:
    def __reduce__(self) -> Any:
        return Path.touch, (Path(os.environ["TRAP"]),)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_are_not_opened(
    protocol: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAP", str(tmp_path / "sprung"))
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(_Trap(), protocol=protocol))
    # What protocols 0 and 1 write cannot be told from text; it is refused as no file of ours.
    words = "is a pickle" if protocol > 1 else r"model\.pkl"
    for load in (td.ClusterlessDecoder.load_model, td.Environment.load_environment):
        with pytest.raises(tessera.FormatError, match=words):
            load(path)
    assert not (tmp_path / "sprung").exists()


def test_an_old_file_can_be_brought_over(tmp_path: Path) -> None:
    model = _fitted(td.ClusterlessDecoder(), LINE)
    old = tmp_path / "model.pkl"
    old.write_bytes(pickle.dumps(model, protocol=pickle.HIGHEST_PROTOCOL))
    with pytest.raises(
        ValueError, match=r"model\.pkl: is a pickle, which can run code.*save_model"
    ):
        td.ClusterlessDecoder.load_model(old)
    pickle.loads(old.read_bytes()).save_model(old)
    _same(td.ClusterlessDecoder.load_model(old), model)


def test_what_a_file_cannot_hold(tmp_path: Path) -> None:
    class Mine(td.ClusterlessDecoder):
        pass

    class Walk(td.RandomWalk):
        pass

    path = tmp_path / "model.npz"
    with pytest.raises(ValueError, match="Mine is a Mine, which a model file cannot hold"):
        Mine().save_model(path)
    model = td.ClusterlessDecoder(continuous_transition_types=[[Walk()]])
    with pytest.raises(ValueError, match=r"transition_types.*\[0\]\[0\] is a Walk"):
        model.save_model(path)
    with pytest.raises(ValueError, match=r"model\.h5: model files of Python are \.npz"):
        td.ClusterlessDecoder().save_model(tmp_path / "model.h5")
    assert not list(tmp_path.iterdir())


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.npz"
    td.ClusterlessDecoder().save_model(path)
    before = path.read_bytes()

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="No space left"):
        td.ClusterlessDecoder(threads=2).save_model(path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["model.npz"]


def _write(path: Path, text: str, arrays: dict[str, Any]) -> None:
    """Write a file whose digests are right, whatever its tree says."""
    tree = text.encode()
    content = np.frombuffer(_model_file._digest(tree) + tree, dtype=np.uint8)
    np.savez(path, **{**arrays, "python": content})


def _parts(model: Any) -> tuple[Any, dict[str, Any]]:
    writer = Writer()
    return json.loads(writer.text(model)), dict(writer.arrays)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda tree: tree["objects"].append(["OnlineDecoder", {}]), "no class 'OnlineDecoder'"),
        (lambda tree: tree["objects"].append(["os.system", {"a": 1}]), "no class 'os.system'"),
        (lambda tree: tree.update(root={"object": 99}), "IndexError"),
        (lambda tree: tree.update(root={"eval": "1"}), "_make_eval"),
        (lambda tree: tree["arrays"].clear(), "KeyError"),
        (lambda tree: tree["objects"][-1][1]["fitted"]["dict"].append(["fit", 1]), "'fit'"),
        (lambda tree: tree["objects"][-1][1]["fitted"]["dict"].pop(0), "damaged"),
        (lambda tree: tree["objects"][-1][1].pop("parameters"), "parameters"),
    ],
)
def test_odd_trees(change: Callable[[Any], object], words: str, tmp_path: Path) -> None:
    tree, arrays = _parts(_fitted(td.ClusterlessDecoder(), LINE))
    change(tree)
    _write(tmp_path / "model.npz", json.dumps(tree), arrays)
    with pytest.raises(ValueError, match=rf"model\.npz: .*{words}"):
        td.ClusterlessDecoder.load_model(tmp_path / "model.npz")


@pytest.mark.parametrize("name", ["ContFragClusterlessClassifier", "NonLocalSortedSpikesDetector"])
def test_damaged_files(name: str, tmp_path: Path) -> None:
    """No byte of a file can be changed unnoticed, and none of them brings the process down."""
    path = tmp_path / "model.npz"
    model = _fitted(getattr(td, name)(), make_spikes(1, 2, duration=4.0))
    model.save_model(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(7)
    for k in range(150):
        damaged = bytearray(whole)
        if k % 5 == 0:
            del damaged[rng.integers(len(whole)) :]
        for place in rng.integers(len(damaged), size=k % 4) if damaged else ():
            damaged[place] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            again = type(model).load_model(path)
        except (tessera.Error, ValueError):
            continue
        _same(again, model)
