"""decode against the original's own outputs in double precision, file by file, in both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from decode_support import (
    EXACT,
    FAST,
    Golden,
    Tolerance,
    log_joint,
    log_likelihood,
    no_spike,
    observation,
    predict,
)
from tessera import _core
from tessera.decode import continuous_state_transitions as movement
from tessera.decode.environment import Environment
from tessera.decode.models import (
    ClusterlessDecoder,
    ContFragClusterlessClassifier,
    NonLocalClusterlessDetector,
)

# The files contain outliers and wide bins on purpose, of which the library warns.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

FILES = [
    "01_linear_1d",
    "02_local_nospike",
    "03_open_field_2d",
    "04_track_graph",
    "05_edge_cases",
    "06_cont_frag",
    "07_non_local",
    "08_em_viterbi_movement",
]


@pytest.fixture(scope="module")
def files() -> dict[str, Golden]:
    return {name[:2]: Golden(f"{name}.npz") for name in FILES}


@pytest.fixture(params=[EXACT, FAST], ids=["exact", "fast"])
def tolerance(request: pytest.FixtureRequest) -> Tolerance:
    assert isinstance(request.param, Tolerance)
    return request.param


def check_encoding(g: Golden, tolerance: Tolerance) -> None:
    model = g.encoding(tolerance.mode)
    tolerance.check_field(model["occupancy"], g["occupancy"])
    tolerance.check_field(model["mean_rates"], g["mean_rates"])
    tolerance.check_field(model["summed_ground_process_intensity"], g["summed_ground_intensity"])
    fields = np.asarray(model.info["place_fields"])
    extent = np.ptp(np.concatenate(g.every("encoding_positions")))
    for e, (places, want) in enumerate(
        zip(g.every("encoding_positions"), g.every("place_density"), strict=True)
    ):
        tolerance.check_field(fields[e], want)
        got = np.asarray(model["encoding_positions"][e]).reshape(places.shape)
        np.testing.assert_allclose(got, places, rtol=0, atol=1e-12 * extent)


def check_likelihood(g: Golden, tolerance: Tolerance) -> None:
    model = g.encoding(tolerance.mode)
    given = observation(g["time"], *g.decoding())
    got, _ = log_likelihood(model, given, tolerance.dtype)
    tolerance.check_ll(got, g["ll_reference"])


def check_joint(g: Golden, tolerance: Tolerance, inside: str) -> None:
    model = g.encoding(tolerance.mode)
    for e, marks in enumerate(g.decoding()[1]):
        want = g[f"e{e}_log_joint"]
        tolerance.check_joint(
            log_joint(model, e, marks[g[f"e{e}_{inside}"]], tolerance.dtype), want
        )


def check_local(g: Golden, tolerance: Tolerance) -> None:
    position_time, position = g.decoding_position()
    given = observation(g["time"], *g.decoding(), position=position, position_time=position_time)
    got, _ = log_likelihood(g.encoding(tolerance.mode), given, tolerance.dtype, local=True)
    tolerance.check_ll(got, g["local_ll_reference"])


def check_time_bins(g: Golden, inside: str, row: str) -> None:
    for e, times in enumerate(g.decoding()[0]):
        got = np.asarray(_core.decode_time_bin(g["time"], times))
        assert np.array_equal(got >= 0, g[f"e{e}_{inside}"])
        assert np.array_equal(got[got >= 0], g[f"e{e}_{row}"])


def check_line(g: Golden) -> None:
    environment = g.environment()
    extent = np.ptp(g["bin_edges"])
    np.testing.assert_allclose(environment.edges_[0], g["bin_edges"], rtol=0, atol=1e-12 * extent)
    np.testing.assert_allclose(
        environment.place_bin_centers_, g["bin_centers"], rtol=0, atol=1e-12 * extent
    )
    assert np.array_equal(environment.is_track_interior_.ravel(), g["is_interior"])


# ---- 01 to 05: environments and likelihoods


@pytest.mark.parametrize("number", ["01", "02", "04", "05", "06", "07"])
def test_bins_of_lines_and_tracks(files: dict[str, Golden], number: str) -> None:
    check_line(files[number])


@pytest.mark.parametrize("number", ["01", "02", "03", "04", "05"])
def test_encoding(files: dict[str, Golden], number: str, tolerance: Tolerance) -> None:
    check_encoding(files[number], tolerance)


@pytest.mark.parametrize("number", ["01", "02", "03", "04", "05"])
def test_likelihood(files: dict[str, Golden], number: str, tolerance: Tolerance) -> None:
    check_likelihood(files[number], tolerance)


@pytest.mark.parametrize("number", ["02", "03", "04", "05"])
def test_local_likelihood(files: dict[str, Golden], number: str, tolerance: Tolerance) -> None:
    check_local(files[number], tolerance)


def test_log_joint(files: dict[str, Golden], tolerance: Tolerance) -> None:
    check_joint(files["01"], tolerance, "in_window")
    check_joint(files["05"], tolerance, "dec_in_window")


def test_time_bins(files: dict[str, Golden]) -> None:
    check_time_bins(files["01"], "in_window", "time_bin")
    check_time_bins(files["02"], "dec_in_window", "dec_time_bin")
    check_time_bins(files["05"], "dec_in_window", "dec_time_bin")


def test_no_spike(files: dict[str, Golden]) -> None:
    g = files["02"]
    for key, rate in (("no_spike_ll", "no_spike_rate"), ("no_spike_ll_b", "no_spike_rate_b")):
        got = no_spike(observation(g["time"], *g.decoding()), float(g[rate]))
        EXACT.check_ll(got, g[key])
    g = files["05"]
    EXACT.check_ll(no_spike(observation(g["time"], *g.decoding()), 1e-10), g["no_spike_ll"])


def test_position_at_time(files: dict[str, Golden]) -> None:
    g = files["02"]
    series = g["dec_position_time"], g["dec_position"]
    got = np.asarray(_core.decode_position_at(*series, g["time"]))
    np.testing.assert_allclose(got, g["position_at_time"], rtol=0, atol=1e-12 * 400)
    for e, times in enumerate(g.decoding()[0]):
        inside = times[g[f"e{e}_dec_in_window"]]
        got = np.asarray(_core.decode_position_at(*series, inside))
        np.testing.assert_allclose(got, g[f"e{e}_dec_position"], rtol=0, atol=1e-12 * 400)


def test_plane(files: dict[str, Golden]) -> None:
    g = files["03"]
    environment = g.environment()
    for axis, key in enumerate(("edges_x", "edges_y")):
        np.testing.assert_allclose(environment.edges_[axis], g[key], rtol=0, atol=1e-12 * 50)
    np.testing.assert_allclose(
        environment.place_bin_centers_, g["bin_centers"], rtol=0, atol=1e-12 * 50
    )
    assert np.array_equal(environment.centers_shape_, g["grid_shape"])
    assert np.array_equal(environment.is_track_interior_, g["is_interior"])
    assert np.array_equal(np.asarray(environment.is_track_boundary_), g["is_boundary"])
    assert np.array_equal(environment.get_bin_ind(g["lookup_points"]), g["lookup_bin"])
    inner = np.flatnonzero(g["is_interior"].ravel())
    np.testing.assert_allclose(
        environment.distance_between_nodes_[np.ix_(inner, inner)],
        g["interior_distance"],
        rtol=0,
        atol=1e-12 * 100,
    )


@pytest.mark.parametrize(
    ("key", "settings"),
    [
        ("is_interior_threshold8", {"bin_count_threshold": 8}),
        ("is_interior_fill", {"fill_holes": True}),
        ("is_interior_threshold8_fill", {"bin_count_threshold": 8, "fill_holes": True}),
        ("is_interior_threshold8_dilate", {"bin_count_threshold": 8, "dilate": True}),
    ],
)
def test_plane_interior(files: dict[str, Golden], key: str, settings: dict[str, Any]) -> None:
    g = files["03"]
    want = g[key].copy()
    if "dilate" in key:  # the original leaves the first slices set, and then fails on them
        want[0], want[:, 0] = False, False
    assert np.array_equal(g.environment(**settings).is_track_interior_, want)


def test_track(files: dict[str, Golden]) -> None:
    g = files["04"]
    environment = g.environment()
    linear, segment, projected = environment.project(g["position"])
    np.testing.assert_allclose(linear, g["linear_position"], rtol=0, atol=1e-12 * 250)
    np.testing.assert_allclose(projected, g["projected_position"], rtol=0, atol=1e-12 * 250)
    assert np.array_equal(segment, g["track_segment_id"])
    linear, segment, _ = environment.project(g["test_points"])
    np.testing.assert_allclose(linear, g["test_linear_position"], rtol=0, atol=1e-12 * 250)
    assert np.array_equal(segment, g["test_segment_id"])
    assert np.array_equal(environment.get_bin_ind(g["lookup_points"]), g["lookup_bin"])
    inner = np.flatnonzero(g["is_interior"])
    grid = np.ix_(inner, inner)
    np.testing.assert_allclose(
        environment.distance_between_bins_[grid], g["interior_distance"], rtol=0, atol=1e-10
    )
    matrix = movement.RandomWalk(movement_var=6.0).make_state_transition((environment,))
    np.testing.assert_allclose(matrix[grid], g["random_walk_var6"], rtol=0, atol=1e-12)


def test_track_without_order(files: dict[str, Golden]) -> None:
    g = files["04"]
    environment = g.environment(
        edge_order=[tuple(int(n) for n in e) for e in g["edge_list"]], edge_spacing=0.0
    )
    linear, _, _ = environment.project(g["test_points"])
    np.testing.assert_allclose(linear, g["test_linear_position_plain"], rtol=0, atol=1e-12 * 250)


def test_short_grids(files: dict[str, Golden], tolerance: Tolerance) -> None:
    g = files["05"]
    model = g.encoding(tolerance.mode)
    for key, rows in (("ll_T1", [7]), ("ll_T2", [7, 12]), ("ll_T3", [0, 7, 30])):
        given = observation(g["time"][rows], *g.decoding())
        got, _ = log_likelihood(model, given, tolerance.dtype)
        tolerance.check_ll(got, g[key])


def test_without_empty_electrodes(files: dict[str, Golden], tolerance: Tolerance) -> None:
    g = files["05"]
    chosen = [0, 1, 3, 4, 5]
    times, marks = g.decoding()
    given = observation(g["time"], [times[e] for e in chosen], [marks[e] for e in chosen])
    got, _ = log_likelihood(g.encoding(tolerance.mode, chosen), given, tolerance.dtype)
    tolerance.check_ll(got, g["ll_nonempty_reference"])


def test_training_with_gaps(files: dict[str, Golden], tolerance: Tolerance) -> None:
    g = files["05"]
    times, marks = g.every("times"), g.every("marks")
    times[0], marks[0] = g["gap_e0_times"], g["gap_e0_marks"]
    fitted = g.environment()
    model = ClusterlessDecoder(
        environments=Environment(
            place_bin_size=3.0,
            track_graph=fitted.track_graph,
            edge_order=fitted.edge_order,
            edge_spacing=fitted.edge_spacing,
        ),
        clusterless_algorithm_params={"position_std": 4.0, "waveform_std": 24.0},
        mode=tolerance.mode,
        floor="absolute",
    )
    model.fit(g["position_time"], g["position"], times, marks, is_training=g["gap_is_training"])
    (encoding,) = model.encoding_model_.values()
    tolerance.check_field(encoding["mean_rates"], g["gap_mean_rates"])
    tolerance.check_field(encoding["occupancy"], g["gap_occupancy"])
    tolerance.check_field(
        encoding["summed_ground_process_intensity"], g["gap_summed_ground_intensity"]
    )
    np.testing.assert_allclose(
        np.asarray(encoding["encoding_positions"][0]).ravel(),
        g["gap_e0_encoding_positions"].ravel(),
        rtol=0,
        atol=1e-12 * 400,
    )
    assert np.array_equal(
        encoding["encoding_spike_waveform_features"][0], g["gap_e0_encoding_marks"]
    )


# ---- 06 and 07: the classes


def fitted(g: Golden, cls: type, tolerance: Tolerance, **settings: Any) -> Any:
    """A ready-made model with all its defaults, fitted on a file."""
    model = cls(mode=tolerance.mode, floor="absolute", **settings)
    return model.fit(
        g["position_time"],
        g["position"],
        g.every("times"),
        g.every("marks"),
        is_training=g["is_training"],
    )


POSTERIORS = [
    "acausal_posterior",
    "acausal_state_probabilities",
    "causal_posterior",
    "causal_state_probabilities",
    "predictive_posterior",
    "predictive_state_probabilities",
]


def decoded(
    g: Golden, model: Any, tolerance: Tolerance, want: list[str], **more: Any
) -> dict[str, Any]:
    return predict(
        model,
        *g.decoding(),
        g["time"],
        want,
        position=g["position"],
        position_time=g["position_time"],
        dtype=tolerance.dtype,
        **more,
    )


def test_continuous_fragmented(files: dict[str, Golden], tolerance: Tolerance) -> None:
    g = files["06"]
    model = fitted(g, ContFragClusterlessClassifier, tolerance)
    want = [*POSTERIORS, "log_likelihood", "most_likely_bin"]
    found = decoded(g, model, tolerance, want)
    for name in POSTERIORS:
        tolerance.check_posterior(found[name], g[name])
    tolerance.check_ll(found["log_likelihood"], g["ll"])
    assert abs(found["log_evidence"] - g["log_evidence"]) <= tolerance.evidence
    assert np.array_equal(found["most_likely_bin"], g["viterbi"])
    assert np.array_equal(model.state_ind_, g["state_index"])
    np.testing.assert_allclose(model.initial_conditions_, g["initial_conditions"], rtol=1e-15)
    matrix = (
        model.continuous_state_transitions_
        * model.discrete_state_transitions_[np.ix_(model.state_ind_, model.state_ind_)]
    )
    np.testing.assert_allclose(matrix, g["transition_matrix"], rtol=0, atol=1e-12)
    (encoding,) = model.encoding_model_.values()
    tolerance.check_field(encoding["occupancy"], g["occupancy"])
    tolerance.check_field(encoding["mean_rates"], g["mean_rates"])
    tolerance.check_field(encoding["summed_ground_process_intensity"], g["summed_ground_intensity"])


def test_decoder(files: dict[str, Golden], tolerance: Tolerance) -> None:
    g = files["06"]
    model = fitted(g, ClusterlessDecoder, tolerance)
    want = ["acausal_posterior", "causal_posterior", "most_likely_bin"]
    found = decoded(g, model, tolerance, want)
    tolerance.check_posterior(found["acausal_posterior"], g["decoder_acausal_posterior"])
    tolerance.check_posterior(found["causal_posterior"], g["decoder_causal_posterior"])
    assert abs(found["log_evidence"] - g["decoder_log_evidence"]) <= tolerance.evidence
    assert np.array_equal(found["most_likely_bin"], g["decoder_viterbi"])


def test_non_local(files: dict[str, Golden], tolerance: Tolerance) -> None:
    g = files["07"]
    model = fitted(g, NonLocalClusterlessDetector, tolerance)
    np.testing.assert_allclose(model.discrete_state_transitions_, g["discrete_transition"])
    want = [*POSTERIORS, "log_likelihood", "most_likely_bin"]
    found = decoded(g, model, tolerance, want)
    for name in POSTERIORS:
        tolerance.check_posterior(found[name], g[name])
    tolerance.check_ll(found["log_likelihood"], g["log_likelihood"])
    assert abs(found["log_evidence"] - g["log_evidence"]) <= tolerance.evidence
    assert np.array_equal(found["most_likely_bin"], g["viterbi"])
    matrix = (
        model.continuous_state_transitions_
        * model.discrete_state_transitions_[np.ix_(model.state_ind_, model.state_ind_)]
    )
    np.testing.assert_allclose(matrix, g["transition_matrix"], rtol=0, atol=1e-12)
    bins = model.environments[0].get_bin_ind(g["position_at_time"])
    assert np.array_equal(bins, g["animal_bin"])


def check_variant(g: Golden, found: dict[str, Any], prefix: str, tolerance: Tolerance) -> None:
    for name in ("acausal_state_probabilities", "causal_state_probabilities"):
        tolerance.check_posterior(found[name], g[f"{prefix}_{name}"])
    assert abs(found["log_evidence"] - g[f"{prefix}_log_evidence"]) <= tolerance.evidence


STATES = ["acausal_state_probabilities", "causal_state_probabilities", "log_likelihood"]


def test_missing_rows(files: dict[str, Golden], tolerance: Tolerance) -> None:
    g = files["07"]
    model = fitted(g, NonLocalClusterlessDetector, tolerance)
    found = decoded(g, model, tolerance, STATES, is_missing=g["is_missing"])
    check_variant(g, found, "missing", tolerance)
    assert np.all(found["log_likelihood"][g["is_missing"]] == 0)


def test_penalty(files: dict[str, Golden], tolerance: Tolerance) -> None:
    g = files["07"]
    model = fitted(
        g,
        NonLocalClusterlessDetector,
        tolerance,
        non_local_position_penalty=float(g["penalty_magnitude"]),
        non_local_penalty_std=float(g["penalty_std"]),
    )
    found = decoded(g, model, tolerance, STATES)
    check_variant(g, found, "penalty", tolerance)
    tolerance.check_ll(found["log_likelihood"][:, -42:], g["log_likelihood"][:, 2:] + g["penalty"])


@pytest.mark.parametrize("std", [0, 4])
def test_local_with_bins(files: dict[str, Golden], tolerance: Tolerance, std: int) -> None:
    g = files["07"]
    model = fitted(g, NonLocalClusterlessDetector, tolerance, local_position_std=float(std))
    found = decoded(g, model, tolerance, STATES)
    check_variant(g, found, f"local_std{std}", tolerance)
    got = found["log_likelihood"][:, :42]
    want = g["log_likelihood"][:, 2:] + g[f"local_std{std}_kernel"]
    finite = np.isfinite(want)
    assert np.array_equal(np.isfinite(got), finite)
    tolerance.check_ll(got[finite], want[finite])


# ---- 08: expectation maximisation and movement

EM: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "em_contfrag": ("06", ContFragClusterlessClassifier, {}),
    "em_nonlocal": ("07", NonLocalClusterlessDetector, {}),
    "em_nonlocal_flat": (
        "07",
        NonLocalClusterlessDetector,
        {
            "discrete_transition_stickiness": np.zeros(4),
            "frozen_discrete_transition_rows": None,
        },
    ),
    "em_nonlocal_weight": (
        "07",
        NonLocalClusterlessDetector,
        {"discrete_transition_prior_weight": np.array([0, 0, 0.5, 0.25])},
    ),
}


@pytest.mark.parametrize("prefix", EM)
def test_em(files: dict[str, Golden], tolerance: Tolerance, prefix: str) -> None:
    number, cls, settings = EM[prefix]
    g, want = files[number], files["08"]
    for n in (1, 2, 3):
        model = cls(mode=tolerance.mode, floor="absolute", **settings)
        results = model.estimate_parameters(
            g["position_time"],
            g["position"],
            g.every("times"),
            g.every("marks"),
            g["time"],
            is_training=g["is_training"],
            max_iter=n,
            tolerance=0.0,
            return_outputs=["filter", "predictive"],
        )
        np.testing.assert_allclose(
            model.discrete_state_transitions_,
            want[f"{prefix}_transition_{n}"],
            rtol=0,
            atol=tolerance.em,
        )
        np.testing.assert_allclose(
            model.discrete_initial_conditions,
            want[f"{prefix}_discrete_initial_{n}"],
            rtol=0,
            atol=tolerance.em,
        )
        key = f"{prefix}_initial_{n}"
        if key in want:
            np.testing.assert_allclose(
                model.initial_conditions_, want[key], rtol=0, atol=tolerance.em
            )
    np.testing.assert_allclose(
        results.attrs["marginal_log_likelihoods"],
        want[f"{prefix}_log_evidence"],
        rtol=0,
        atol=tolerance.evidence,
    )
    for name in ("acausal", "causal", "predictive"):
        key = f"{name}_state_probabilities"
        np.testing.assert_allclose(
            np.asarray(results[key]), want[f"{prefix}_{key}"], rtol=0, atol=tolerance.em
        )
    if f"{prefix}_viterbi" in want:
        found = decoded(g, model, tolerance, ["most_likely_bin"])
        assert np.array_equal(found["most_likely_bin"], want[f"{prefix}_viterbi"])


MOVEMENTS = {
    "random_walk": movement.RandomWalk(movement_var=6.0),
    "random_walk_var25_mean1": movement.RandomWalk(movement_var=25.0, movement_mean=1.0),
    "manifold": movement.RandomWalk(movement_var=12.0, use_manifold_distance=True),
    "manifold_inward": movement.RandomWalk(
        movement_var=12.0, use_manifold_distance=True, direction="inward"
    ),
    "manifold_outward": movement.RandomWalk(
        movement_var=12.0, use_manifold_distance=True, direction="outward"
    ),
    "uniform": movement.Uniform(),
    "identity": movement.Identity(),
    "direction1": movement.RandomWalkDirection1(movement_var=6.0),
    "direction2": movement.RandomWalkDirection2(movement_var=9.0),
    "empirical": movement.EmpiricalMovement(speedup=1),
    "empirical_speedup3": movement.EmpiricalMovement(speedup=3),
    "empirical_reversed": movement.EmpiricalMovement(is_time_reversed=True, speedup=1),
}


def environment_of(g: Golden, place: str) -> Environment:
    if place == "line":
        environment = Environment(place_bin_size=float(g["line_bin_size"]))
    else:
        environment = Environment(
            place_bin_size=tuple(g["plane_bin_size"]),
            position_range=[tuple(row) for row in g["plane_position_range"]],
        )
    return environment.fit_place_grid(g[f"{place}_position"])


@pytest.mark.parametrize(
    ("place", "name"),
    [
        (place, name)
        for place in ("line", "plane")
        for name in MOVEMENTS
        if place == "plane" or not name.endswith("ward")
    ],
)
def test_movement(files: dict[str, Golden], place: str, name: str) -> None:
    g = files["08"]
    environment = environment_of(g, place)
    position = g[f"{place}_position"]
    if name.startswith("empirical"):
        got = MOVEMENTS[name].make_state_transition((environment,), position)
    else:
        got = MOVEMENTS[name].make_state_transition((environment,))
    np.testing.assert_allclose(got, g[f"{place}_{name}"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("place", ["line", "plane"])
def test_distances(files: dict[str, Golden], place: str) -> None:
    g = files["08"]
    got = environment_of(g, place).distance_between_nodes_
    want = g[f"{place}_distance"]
    interior = g[f"{place}_is_interior"].ravel()
    grid = np.ix_(interior, interior)
    assert np.array_equal(np.isinf(got[grid]), np.isinf(want[grid]))
    finite = np.isfinite(want[grid])
    np.testing.assert_allclose(got[grid][finite], want[grid][finite], rtol=0, atol=1e-12 * 30)
