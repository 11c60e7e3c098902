"""What models take, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tessera
import tessera.decode as td
from decode_data import Spikes, make_spikes


@pytest.fixture(scope="module")
def spikes() -> Spikes:
    return make_spikes()


@pytest.fixture(scope="module")
def model(spikes: Spikes) -> Any:
    return td.ClusterlessDecoder().fit(*spikes.fit_args())


def posterior(model: Any, *args: Any, **kwargs: Any) -> Any:
    return np.asarray(model.predict(*args, **kwargs)["acausal_posterior"])


@pytest.fixture(scope="module")
def wanted(model: Any, spikes: Spikes) -> Any:
    return posterior(model, spikes.spike_times, spikes.features, spikes.time[:100])


def strided(array: Any) -> Any:
    wide = np.full((*array.shape[:-1], 2 * array.shape[-1]), -1e9)
    wide[..., ::2] = array
    return wide[..., ::2]


def test_strided_and_fortran_arrays(spikes: Spikes, wanted: Any) -> None:
    model = td.ClusterlessDecoder().fit(
        strided(spikes.time),
        strided(spikes.position),
        [strided(times) for times in spikes.spike_times],
        [np.asfortranarray(marks) for marks in spikes.features],
    )
    found = posterior(
        model,
        [strided(times) for times in spikes.spike_times],
        [strided(marks) for marks in spikes.features],
        strided(spikes.time[:100]),
    )
    assert np.array_equal(found, wanted)


def test_lists_and_tuples(spikes: Spikes, wanted: Any) -> None:
    model = td.ClusterlessDecoder().fit(
        spikes.time.tolist(),
        spikes.position[:, np.newaxis].tolist(),
        tuple(times.tolist() for times in spikes.spike_times),
        [marks.tolist() for marks in spikes.features],
        is_training=[True] * len(spikes.time),
    )
    found = posterior(model, spikes.spike_times, spikes.features, spikes.time[:100].tolist())
    assert np.array_equal(found, wanted)


def test_pandas(spikes: Spikes, wanted: Any) -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"position": spikes.position}, index=spikes.time)
    model = td.ClusterlessDecoder().fit(
        table.index,
        table,
        [pd.Series(times) for times in spikes.spike_times],
        [pd.DataFrame(marks) for marks in spikes.features],
        is_training=pd.Series(np.ones(len(table), dtype=bool)),
    )
    found = posterior(model, spikes.spike_times, spikes.features, table.index[:100])
    assert np.array_equal(found, wanted)


def test_float32_and_integer_features(spikes: Spikes, wanted: Any) -> None:
    narrow = [marks.astype(np.float32) for marks in spikes.features]
    model = td.ClusterlessDecoder().fit(spikes.time, spikes.position, spikes.spike_times, narrow)
    found = posterior(model, spikes.spike_times, narrow, spikes.time[:100])
    assert np.allclose(found, wanted, atol=1e-4)
    whole = [marks.round().astype(int) for marks in spikes.features]
    model.fit(spikes.time, spikes.position, spikes.spike_times, whole)
    assert posterior(model, spikes.spike_times, whole, spikes.time[:9]).shape[0] == 9


def test_electrodes_with_different_features(spikes: Spikes) -> None:
    features = [spikes.features[0], spikes.features[1][:, :2], spikes.features[2][:, 0]]
    model = td.ClusterlessDecoder().fit(spikes.time, spikes.position, spikes.spike_times, features)
    found = posterior(model, spikes.spike_times, features, spikes.time[:50])
    assert np.allclose(found.sum(axis=1), 1, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*position samples are NaN")
def test_what_is_masked_is_not_known(model: Any, spikes: Spikes, wanted: Any) -> None:
    """As netCDF files are read: NaN where samples are missing, and some number under it."""
    time, position, times, marks = spikes.fit_args()
    lost = (time > 7) & (time < 9)
    seen = np.where(lost, 9.97e36, position)
    unknown = np.where(lost, np.nan, position)
    found = [
        posterior(td.ClusterlessDecoder().fit(time, given, times, marks), times, marks, time[:100])
        for given in (np.ma.masked_where(lost, seen), unknown)
    ]
    assert np.array_equal(*found)
    whole = [np.ma.masked_array(each) for each in marks]
    assert np.array_equal(posterior(model, times, whole, time[:100]), wanted)
    whole[0] = np.ma.masked_greater(marks[0], marks[0][3].max() - 1e-9)
    with pytest.raises(ValueError, match=r"electrode 0, spike \d+.*is NaN"):
        model.predict(times, whole, time[:100])
    for mask in (np.ma.masked_array(lost, lost), np.where(lost, np.nan, 1.0)):
        with pytest.raises(ValueError, match="is_training: NaN, or what is masked"):
            td.ClusterlessDecoder().fit(time, position, times, marks, is_training=mask)


def test_a_silent_electrode_needs_no_features(model: Any, spikes: Spikes) -> None:
    """Its empty array has no second axis to count them by."""
    few = [spikes.spike_times[0], [], spikes.spike_times[2]]
    marks = [spikes.features[0], spikes.features[1][:0], spikes.features[2]]
    wanted = posterior(model, few, marks, spikes.time[:100])
    marks[1] = np.array([])
    assert np.array_equal(posterior(model, few, marks, spikes.time[:100]), wanted)


def test_training_samples_and_nan(spikes: Spikes) -> None:
    position = spikes.position.copy()
    position[100:200] = np.nan
    training = ~np.isnan(position)
    with_nan = td.ClusterlessDecoder()
    with pytest.warns(UserWarning, match="100 of 3000 position samples are NaN"):
        with_nan.fit(
            spikes.time, position, spikes.spike_times, spikes.features, is_training=training
        )
    assert with_nan.encoding_model_["", 0].info["n_training_sample"] == training.sum()


def test_warnings_point_at_the_callers_line(spikes: Spikes) -> None:
    metres = spikes.position / 100
    with pytest.warns(UserWarning, match="are these metres") as said:
        td.ClusterlessDecoder().fit(spikes.time, metres, spikes.spike_times, spikes.features)
    assert [warning.filename for warning in said] == [__file__]


def test_origin_of_time_does_not_matter(spikes: Spikes, wanted: Any) -> None:
    # A power of two, so that the shift itself does not round the step of the samples away.
    shift = 2.0**20
    model = td.ClusterlessDecoder().fit(
        spikes.time + shift,
        spikes.position,
        [times + shift for times in spikes.spike_times],
        spikes.features,
    )
    found = posterior(
        model,
        [times + shift for times in spikes.spike_times],
        spikes.features,
        spikes.time[:100] + shift,
    )
    assert np.allclose(found, wanted, atol=1e-4)


def test_many_features_warn_and_name_the_switch() -> None:
    data = make_spikes(n_feature=6, duration=24)
    model = td.ClusterlessDecoder()
    with pytest.warns(UserWarning, match="floor='absolute'") as caught:
        model.fit(*data.fit_args())
    assert len(caught) == 1
    assert caught[0].filename == __file__
    td.ClusterlessDecoder(floor="relative").fit(*data.fit_args())
    assert model.encoding_model_["", 0].info["floor"] == "relative"


def bad(spikes: Spikes, what: str) -> tuple[Any, ...]:
    time, position, times, marks = spikes.fit_args()
    times, marks = list(times), list(marks)
    if what == "electrodes":
        marks.pop()
    elif what == "rows":
        marks[1] = marks[1][:-1]
    elif what == "nan":
        marks[2] = marks[2].copy()
        marks[2][88, 2] = np.nan
    elif what == "spike time":
        times[0] = times[0].copy()
        times[0][5] = np.inf
    elif what == "order of time":
        time = time.copy()
        time[7] = time[6] - 1
    elif what == "position time":
        time = time[:-1]
    elif what == "one array":
        times = times[0]
    elif what == "text":
        marks[0] = np.full(marks[0].shape, "a")
    return time, position, times, marks


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("electrodes", "spike_waveform_features has 2 electrodes, spike_times has 3"),
        ("rows", r"electrode 1: \d+ spike times but \d+ feature rows"),
        ("nan", r"electrode 2, spike 88 .*feature 2 is .*nan_policy"),
        ("spike time", "electrode 0"),
        ("order of time", "7"),
        ("position time", "position_time has 2999 values, position has 3000"),
        ("one array", "one array per electrode"),
    ],
)
def test_bad_training_data(spikes: Spikes, what: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        td.ClusterlessDecoder().fit(*bad(spikes, what))


@pytest.mark.parametrize("kind", ["M8[ns]", "m8[s]", "complex128"])
def test_times_that_are_no_seconds(model: Any, spikes: Spikes, kind: str) -> None:
    time = np.arange(5).astype(kind)
    with pytest.raises(TypeError, match=r"time: expected numbers, got (datetime|timedelta|comp)"):
        model.predict(spikes.spike_times, spikes.features, time)


def test_features_of_text(spikes: Spikes) -> None:
    with pytest.raises(tessera.DTypeError, match="expected numbers"):
        td.ClusterlessDecoder().fit(*bad(spikes, "text"))


def test_bad_spikes_can_be_dropped(spikes: Spikes) -> None:
    arguments = bad(spikes, "nan")
    model = td.ClusterlessDecoder(nan_policy="drop")
    with pytest.warns(UserWarning, match="discarded 1 training spikes"):
        model.fit(*arguments)


def test_bad_parameters() -> None:
    with pytest.raises(ValueError, match="clusterless_algorithm: 'nonsense' does not exist"):
        td.ClusterlessDecoder(clusterless_algorithm="nonsense")
    with pytest.raises(ValueError, match=r"sum = 0\.9"):
        td.ContFragClusterlessClassifier(discrete_initial_conditions=[0.5, 0.4])
    with pytest.raises(ValueError, match="state_names has 1 entries"):
        td.ContFragClusterlessClassifier(state_names=["one"])
    with pytest.raises(ValueError, match="'there' is unknown; known are ''"):
        td.ClusterlessDecoder(observation_models=[td.ObservationModel("there")])
    with pytest.raises(TypeError, match="needs argument 'discrete_initial_conditions'"):
        td.ClusterlessDetector()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"clusterless_algorithm_params": {"position_std": -1.0}}, "position_std"),
        ({"clusterless_algorithm_params": {"waveform_std": 0.0}}, "waveform_std"),
        ({"clusterless_algorithm_params": {"waveform_std": [1.0, 2.0]}}, "waveform_std has 2"),
        ({"clusterless_algorithm_params": {"nonsense": 1}}, "'nonsense' does not exist"),
        ({"mode": "nonsense"}, "mode"),
        ({"floor": "nonsense"}, "floor"),
        (
            {"discrete_transition_type": td.DiscreteStationaryCustom([[0.5]])},
            r"rows \[0\] sum to \[0\.5\]",
        ),
        (
            {"discrete_transition_type": td.DiscreteStationaryDiagonal([0.9, 0.9])},
            "size must match",
        ),
    ],
)
def test_parameters_refused_by_fit(spikes: Spikes, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        td.ClusterlessDecoder(**options).fit(*spikes.fit_args())


def test_not_fitted(spikes: Spikes) -> None:
    with pytest.raises(RuntimeError, match=r"not fitted yet: call fit\(\)"):
        td.ClusterlessDecoder().predict(spikes.spike_times, spikes.features, spikes.time)


def test_no_training_samples(spikes: Spikes) -> None:
    training = np.zeros(len(spikes.time), dtype=bool)
    with pytest.raises(ValueError, match=r"3000 samples.*0 after is_training"):
        td.ClusterlessDecoder().fit(*spikes.fit_args(), is_training=training)
    with pytest.raises(ValueError, match="is_training has 5 values, position_time has 3000"):
        td.ClusterlessDecoder().fit(*spikes.fit_args(), is_training=training[:5])


def test_bad_observations(model: Any, spikes: Spikes) -> None:
    times, marks, time = spikes.spike_times, spikes.features, spikes.time[:50]
    for n_chunks in (0, 51, -1, "many"):
        with pytest.raises(ValueError, match="n_chunks"):
            model.predict(times, marks, time, n_chunks=n_chunks)
    with pytest.raises(ValueError, match="Invalid return_outputs: 'nonsense'"):
        model.predict(times, marks, time, return_outputs="nonsense")
    with pytest.raises(ValueError, match="is_missing has 3 values, time has 50"):
        model.predict(times, marks, time, is_missing=[True] * 3)
    with pytest.raises(ValueError, match="position_time is required"):
        model.predict(times, marks, time, position=spikes.position)
    with pytest.raises(ValueError, match=r"electrode 1.*4 features.*3"):
        model.predict(times, [marks[0], marks[1][:, :3], marks[2]], time)
    with pytest.raises(ValueError, match="clock"):
        model.predict(times, marks, time + 1e6)
    with pytest.raises(ValueError, match="time"):
        model.predict(times, marks, time[::-1])


def test_local_models_need_the_position(spikes: Spikes) -> None:
    model = td.NonLocalClusterlessDetector().fit(*spikes.fit_args())
    with pytest.raises(ValueError, match="local observation models \\(state 'Local'\\)"):
        model.predict(spikes.spike_times, spikes.features, spikes.time[:50])
