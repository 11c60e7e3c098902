"""Environments and movement as Python objects."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
import tessera.decode as td
from tessera.decode import Environment, RandomWalk, TrackGraph, Uniform, make_track_graph
from tessera.decode.continuous_state_transitions import (
    EmpiricalMovement,
    Identity,
    estimate_movement_var,
)

NODES = [(0, 0), (10, 0), (10, 10)]
EDGES = [(0, 1), (1, 2)]


def track(**options: object) -> Environment:
    graph = make_track_graph(NODES, EDGES)
    return Environment(place_bin_size=3.0, track_graph=graph, **options)  # type: ignore[arg-type]


def test_line() -> None:
    env = Environment(place_bin_size=2.0).fit_place_grid(np.linspace(0, 9, 50))
    assert np.allclose(env.place_bin_centers_[:, 0], [0.9, 2.7, 4.5, 6.3, 8.1])
    assert env.place_bin_edges_.shape == (6, 1)
    assert env.centers_shape_ == (5,)
    assert env.is_track_boundary_ is None
    assert env.distance_between_nodes_[0, 4] == pytest.approx(7.2)


def test_box_is_padded_and_in_c_order() -> None:
    rng = np.random.default_rng(0)
    points = np.concatenate((rng.uniform([0, 0], [10, 6], (3000, 2)), [[0, 0], [10, 6]]))
    env = Environment(place_bin_size=2.0).fit_place_grid(points)
    assert env.centers_shape_ == (7, 5)
    assert env.is_track_interior_.shape == (7, 5)
    assert env.is_track_interior_[1:-1, 1:-1].all()
    assert env.is_track_interior_.sum() == 15
    assert env.is_track_boundary_ is not None
    assert env.is_track_boundary_.sum() == 16
    assert np.allclose(env.place_bin_centers_[8], [1, 5])
    assert env.place_bin_edges_.shape == (48, 2)
    assert env.get_bin_ind([[1.0, 5.0]]).tolist() == [8]


def test_track_positions() -> None:
    points = [(2, 1), (9, 9), (10.5, 3), (12, -1)]
    env = track(edge_order=EDGES, edge_spacing=5).fit_place_grid()
    assert np.allclose(env.linearize(points)[:, 0], [2, 24, 18, 10])
    assert np.array_equal(env.linearize([2.0, 24.0])[:, 0], [2, 24]), "the line's already"
    assert np.array_equal(env.is_track_interior_, [1, 1, 1, 1, 0, 1, 1, 1, 1])
    flipped = track(edge_order=[(1, 0), (1, 2)], edge_spacing=[5.0]).fit_place_grid()
    assert np.allclose(flipped.linearize(points)[:, 0], [8, 24, 18, 0])


def test_bins_of_a_track_in_the_plane() -> None:
    env = track(edge_order=[(1, 0), (1, 2)], edge_spacing=5).fit_place_grid()
    points = env.place_bin_center_2D_position_
    inside = env.is_track_interior_
    assert np.allclose(points[0], [8.75, 0])
    assert np.isnan(points[~inside]).all()
    # There and back: the point of a bin lies on the bin.
    assert np.allclose(env.linearize(points[inside]), env.place_bin_centers_[inside])
    assert env.place_bin_center_ind_to_edge_id_.tolist() == [0, 0, 0, 0, -1, 1, 1, 1, 1]


def test_graphs_of_networkx_are_understood() -> None:
    nx = pytest.importorskip("networkx")
    graph = nx.Graph()
    for name, pos in zip("abc", NODES, strict=True):
        graph.add_node(name, pos=pos)
    graph.add_edge("a", "b", distance=10.0, edge_id=0)
    graph.add_edge("b", "c", distance=10.0, edge_id=1)
    env = Environment(track_graph=graph, edge_order=[("a", "b"), ("b", "c")], edge_spacing=5)
    env.fit_place_grid()
    assert np.allclose(env.linearize([(2, 1), (9, 9)])[:, 0], [2, 24])


def test_a_plain_pair_is_a_graph() -> None:
    env = Environment(track_graph=(NODES, EDGES), edge_order=EDGES).fit_place_grid()
    assert np.allclose(env.linearize([(2, 1)]), 2)
    assert "3 nodes" in repr(TrackGraph(NODES, EDGES))


def test_mask_of_the_user() -> None:
    mask = np.array([True, True, False, True, True])
    env = Environment(place_bin_size=2.0, is_track_interior=mask)
    env.fit_place_grid(np.linspace(0, 9, 50))
    assert np.array_equal(env.is_track_interior_, mask)
    with pytest.raises(ValueError, match="is_track_interior"):
        Environment(place_bin_size=1.0, is_track_interior=mask).fit_place_grid(
            np.linspace(0, 9, 50)
        )


def test_range_without_positions() -> None:
    env = Environment(position_range=[(0, 10)], infer_track_interior=False).fit_place_grid(
        infer_track_interior=False
    )
    assert env.centers_shape_ == (5,)
    assert env.is_track_interior_.all()


@pytest.mark.parametrize(
    ("options", "position", "words"),
    [
        ({}, np.zeros(5), "zero extent in dimension 0"),
        ({"place_bin_size": -1.0}, np.arange(5.0), "place_bin_size"),
        ({"place_bin_size": [1.0, 2.0]}, np.arange(5.0), "place_bin_size"),
        ({"track_graph": 3}, None, "track_graph"),
        ({"track_graph": (NODES, EDGES), "edge_order": [(0, 9)]}, None, "node 9 is not in"),
        (
            {"track_graph": (NODES, EDGES), "edge_order": EDGES, "edge_spacing": [1.0, 2.0]},
            None,
            "spacing",
        ),
        (
            {"track_graph": (NODES, EDGES), "edge_order": EDGES},
            np.zeros((5, 3)),
            "x, y|raw|2",
        ),
    ],
)
def test_bad_environments(options: dict[str, object], position: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Environment(**options).fit_place_grid(position)  # type: ignore[arg-type]


def test_without_bins() -> None:
    with pytest.raises(RuntimeError, match="no bins yet"):
        Environment().linearize([1.0])


def test_pickle_and_files(tmp_path: Path) -> None:
    env = track(edge_order=EDGES, edge_spacing=5).fit_place_grid()
    again = pickle.loads(pickle.dumps(env))
    assert np.array_equal(again.edges_[0], env.edges_[0])
    assert np.array_equal(again.linearize([(2, 1)]), env.linearize([(2, 1)]))
    env.save_environment(tmp_path / "env.pkl")
    assert Environment.load_environment(tmp_path / "env.pkl") == env


def test_environments_are_found_by_name() -> None:
    one, two = Environment("one"), Environment("two")
    assert [one, two].index("two") == 1  # type: ignore[arg-type]
    assert one != two
    assert hash(one) == hash(Environment("one"))


def test_random_walk_rows() -> None:
    env = Environment(place_bin_size=2.0).fit_place_grid(np.linspace(0, 10, 50))
    matrix = RandomWalk().make_state_transition([env])
    wanted = [0.491462445361, 0.352148230073, 0.129548094089, 0.024468474367, 0.00237275611]
    assert np.allclose(matrix[0], wanted, atol=1e-11)
    assert RandomWalk().movement_var == 6.0


def test_movements_are_stochastic() -> None:
    points = np.random.default_rng(1).uniform([0, 0], [12, 8], (4000, 2))
    env = Environment(place_bin_size=2.0).fit_place_grid(points)
    inside = env.is_track_interior_.ravel()
    for movement in (
        RandomWalk(),
        RandomWalk(use_manifold_distance=True, direction="inward"),
        RandomWalk(movement_var=np.array([[6.0, 1.0], [1.0, 3.0]])),
        Uniform(),
        Identity(),
    ):
        matrix = movement.make_state_transition([env])
        assert np.allclose(matrix.sum(axis=1), inside)
        assert not matrix[:, ~inside].any()


def test_covariance_agrees_with_variance() -> None:
    points = np.random.default_rng(1).uniform([0, 0], [12, 8], (4000, 2))
    env = Environment(place_bin_size=2.0).fit_place_grid(points)
    plain = RandomWalk(movement_var=5.0, movement_mean=1.0).make_state_transition([env])
    full = RandomWalk(movement_var=5.0 * np.eye(2), movement_mean=1.0)
    assert np.allclose(full.make_state_transition([env]), plain)


def test_empirical_movement() -> None:
    position = np.tile([0.5, 1.5, 2.5, 1.5], 20)
    env = Environment(place_bin_size=1.0, position_range=[(0, 3)]).fit_place_grid(position)
    matrix = EmpiricalMovement().make_state_transition([env], position)
    assert np.allclose(matrix, [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.0, 1.0, 0.0]], atol=0.03)
    with pytest.raises(ValueError, match="is_training"):
        EmpiricalMovement().make_state_transition([env], position, is_training=[True])


def test_movement_var_of_steps() -> None:
    assert estimate_movement_var([0.0, 1.0, 0.0, 1.0, 0.0]) == pytest.approx(4 / 3)


def test_unknown_names() -> None:
    env = Environment("here").fit_place_grid(np.arange(9.0))
    with pytest.raises(ValueError, match="'there' is unknown; known are 'here'"):
        RandomWalk("there").make_state_transition([env])
    with pytest.raises(tessera.ArgumentError, match="direction"):
        RandomWalk("here", direction="up").make_state_transition([env])


def test_directions() -> None:
    env = Environment(place_bin_size=1.0).fit_place_grid(np.linspace(0, 21, 400))
    out = np.linspace(10.5, 20, 200)
    direction = env.get_direction(np.concatenate((out, out[::-1])), sampling_frequency=100.0)
    assert set(direction[50:150]) == {"outward"}
    assert set(direction[250:350]) == {"inward"}


def test_variables_of_an_environment_make_it_again() -> None:
    for env in (Environment(place_bin_size=3.0), track(edge_order=EDGES, edge_spacing=2.0)):
        before = dict(vars(env))
        assert env.track_graphDD is None  # asked of, as pipelines do that store models
        assert env.distance_between_nodes_ is None
        assert vars(env) == before
        again = Environment(**vars(env))
        places = [each.fit_place_grid(np.linspace(0, 10, 50)) for each in (env, again)]
        assert np.array_equal(places[0].place_bin_centers_, places[1].place_bin_centers_)
    box = Environment(place_bin_size=3.0).fit_place_grid(np.random.default_rng(0).random((99, 2)))
    assert box.track_graphDD is box.track_graphDD  # made once


def test_environments_and_movements_of_other_packages() -> None:
    @dataclass
    class Environment:  # as replay_trajectory_classification has them
        environment_name: str = ""
        place_bin_size: float = 2.0
        track_graph: Any = None
        edge_order: Any = None
        infer_track_interior: bool = True
        edges_: Any = None

    walk = make_dataclass(
        "RandomWalk",
        [("environment_name", str), ("movement_var", float), ("use_diffusion", bool)],
    )
    jump = make_dataclass("Uniform", [("environment_name", str)])
    other, own = Environment("here", 4.0), td.Environment("here", 4.0)
    moves: Any = [[walk("here", 9.0, False), jump("here")], [jump("here"), jump("here")]]
    ours = [[RandomWalk("here", 9.0), Uniform("here")], [Uniform("here"), Uniform("here")]]
    time = np.arange(300) / 50
    position = 15 * (1 - np.cos(time))
    found = []
    pairs: list[tuple[Any, Any]] = [(other, moves), (own, ours)]
    for place, types in pairs:
        model = td.ContFragSortedSpikesClassifier(
            environments=place,
            continuous_transition_types=types,
            observation_models=td.ObservationModel("here"),
        ).fit(time, position, [time[::7], time[3::11]])
        found.append(model.continuous_state_transitions_)
    assert np.array_equal(found[0], found[1])
    moves[0][0].use_diffusion = True
    with pytest.raises(td.exceptions.ValidationError, match="use_diffusion=True has no"):
        td.ContFragSortedSpikesClassifier(environments=own, continuous_transition_types=moves)
    with pytest.raises(td.exceptions.ValidationError, match="expected an Environment"):
        td.ContFragSortedSpikesClassifier(environments=jump("here"))
