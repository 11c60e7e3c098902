"""Track graphs: networkx's, or any object with ``nodes`` and ``edges`` like theirs."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tessera.decode._data import Floats
from tessera.decode._optional import needed
from tessera.decode.exceptions import ValidationError

if TYPE_CHECKING:
    from tessera.decode._types import Graph

Ints = npt.NDArray[np.int64]

_NETWORKX = ("Graph", "DiGraph")  # classes of networkx that files hold


class TrackArrays(NamedTuple):
    """A track the way the library takes it."""

    node_position: Floats
    edges: Ints
    edge_length: Floats | None
    edge_order: Ints | None
    edge_spacing: Floats | None


class _Table(dict[Any, dict[str, Any]]):
    """Nodes or edges with their attributes; calling it is networkx's way to ask for both."""

    def __call__(self, data: bool = False) -> Iterator[Any]:
        for key, attributes in self.items():
            if not data:
                yield key
            elif isinstance(key, tuple):
                yield (*key, attributes)
            else:
                yield key, attributes


class TrackGraph:
    """Nodes in the plane and edges between them.

    Parameters
    ----------
    node_positions : sequence of (x, y)
        Node i is at node_positions[i].
    edges : sequence of (int, int)
        Pairs of nodes.

    Examples
    --------
    >>> from tessera.decode import TrackGraph
    >>> TrackGraph([(0, 0), (0, 50), (40, 50)], [(0, 1), (1, 2)])
    TrackGraph of 3 nodes and 2 edges
    """

    def __init__(
        self, node_positions: Sequence[Sequence[float]], edges: Sequence[tuple[int, int]]
    ) -> None:
        points = [tuple(float(x) for x in point) for point in node_positions]
        self.nodes = _Table({i: {"pos": point} for i, point in enumerate(points)})
        self.edges = _Table()
        ordered = sorted(range(len(edges)), key=lambda k: min(edges[k]))
        for number, k in enumerate(ordered):
            a, b = edges[k]
            length = float(np.hypot(*np.subtract(points[a], points[b])))
            self.edges[min(a, b), max(a, b)] = {"distance": length, "edge_id": number}

    def __repr__(self) -> str:
        return f"TrackGraph of {len(self.nodes)} nodes and {len(self.edges)} edges"

    def _state(self) -> dict[str, Any]:
        return {"nodes": dict(self.nodes), "edges": dict(self.edges)}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> TrackGraph:
        graph = cls.__new__(cls)
        graph.nodes, graph.edges = _Table(state["nodes"]), _Table(state["edges"])
        _read_graph(graph)
        return graph


def make_track_graph(
    node_positions: Sequence[Sequence[float]], edges: Sequence[tuple[int, int]]
) -> Graph:
    """Make a track graph out of nodes and edges.

    Parameters
    ----------
    node_positions : sequence of (x, y)
        Node i is at node_positions[i], in cm.
    edges : sequence of (int, int)
        Pairs of nodes that corridors join.

    Returns
    -------
    networkx.Graph or TrackGraph
        The former where networkx is installed; :class:`Environment` takes both.

    Examples
    --------
    >>> import tessera.decode as td
    >>> graph = td.make_track_graph([(0, 0), (0, 50), (40, 50)], [(0, 1), (1, 2)])
    >>> corner = td.Environment(place_bin_size=2.0, track_graph=graph, edge_order=[(0, 1), (1, 2)])
    >>> corner.fit_place_grid().linearize([(0, 25), (20, 50)]).ravel()
    array([25., 70.])
    """
    try:
        import networkx as nx
    except ImportError:
        return TrackGraph(node_positions, edges)
    graph = nx.Graph()
    for i, point in enumerate(node_positions):
        graph.add_node(i, pos=tuple(point))
    for a, b in edges:
        difference = np.subtract(node_positions[a], node_positions[b])
        graph.add_edge(a, b, distance=float(np.linalg.norm(difference)))
    for number, edge in enumerate(graph.edges):
        graph.edges[edge]["edge_id"] = number
    return graph


def _rows(pairs: Any, index: dict[Hashable, int], name: str) -> Ints:
    try:
        rows = [(index[a], index[b]) for a, b in pairs]
    except KeyError as error:
        raise ValidationError(f"{name}: node {error.args[0]!r} is not in the track graph") from None
    except (TypeError, ValueError):
        raise ValidationError(f"{name}: expected pairs of nodes, got {pairs!r}") from None
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


def _spacing(edge_spacing: Any) -> Floats | None:
    if edge_spacing is None:
        return None
    return np.atleast_1d(np.asarray(edge_spacing, dtype=np.float64))


def _read_graph(graph: Any) -> tuple[Floats, list[Any], list[Any], dict[Hashable, int]]:
    """Return node positions, edges, lengths and the number of every node."""
    if isinstance(graph, tuple | list) and len(graph) == 2:
        graph = TrackGraph(*graph)
    try:
        nodes = list(graph.nodes(data=True))
        edges = list(graph.edges(data=True))
    except (AttributeError, TypeError):
        raise ValidationError(
            "track_graph: expected a networkx graph, a TrackGraph or (node positions, edges), "
            f"got {type(graph).__name__}"
        ) from None
    missing = [name for name, data in nodes if "pos" not in data]
    if missing:
        raise ValidationError(f"track_graph: node {missing[0]!r} has no attribute 'pos'")
    points = np.array([data["pos"] for _, data in nodes], dtype=np.float64).reshape(len(nodes), -1)
    index = {name: i for i, (name, _) in enumerate(nodes)}
    lengths = [data.get("distance") for _, _, data in edges]
    for number, (a, b, data) in enumerate(edges):
        if data.get("edge_id", number) != number:
            raise ValidationError(
                f"track_graph: edge ({a!r}, {b!r}) has edge_id {data['edge_id']}, but is number "
                f"{number} of the graph; number the edges in the order of graph.edges"
            )
    return points, [(a, b) for a, b, _ in edges], lengths, index


def track_arrays(graph: Any, edge_order: Any, edge_spacing: Any) -> TrackArrays:
    """Read a graph by its ``nodes(data=True)`` and ``edges(data=True)``."""
    points, pairs, lengths, index = _read_graph(graph)
    known = all(length is not None for length in lengths)
    return TrackArrays(
        np.ascontiguousarray(points),
        _rows(pairs, index, "track_graph"),
        np.array(lengths, dtype=np.float64) if known else None,
        None if edge_order is None else _rows(edge_order, index, "edge_order"),
        _spacing(edge_spacing),
    )


def as_networkx(graph: Any) -> Any:
    """Return a graph as one of networkx, which it may be already."""
    nx = needed("networkx", "the graph of a track with its bins")
    if isinstance(graph, nx.Graph):
        return graph
    plain = TrackGraph(*graph) if isinstance(graph, tuple | list) else graph
    made = nx.Graph()
    made.add_nodes_from((node, dict(data)) for node, data in plain.nodes(data=True))
    made.add_edges_from((a, b, dict(data)) for a, b, data in plain.edges(data=True))
    return made


def own_order(graph: Any) -> list[tuple[Hashable, Hashable]]:
    """Return the edges of a graph in its own order: by lower node, then as given."""
    _, pairs, _, index = _read_graph(graph)
    return sorted(pairs, key=lambda pair: min(index[pair[0]], index[pair[1]]))


def graph_state(graph: Any) -> Any:
    """Return a graph of networkx as plain data; anything else as it is."""
    name = type(graph).__name__
    if not type(graph).__module__.startswith("networkx.") or name not in _NETWORKX:
        return graph
    return {
        "networkx": name,
        "nodes": {node: dict(data) for node, data in graph.nodes(data=True)},
        "edges": {(a, b): dict(data) for a, b, data in graph.edges(data=True)},
    }


def graph_from_state(state: Any) -> Any:
    """Make a graph again; without networkx a :class:`TrackGraph`, which serves as well."""
    if not isinstance(state, dict):
        return state
    plain = TrackGraph._from_state(state)
    if state["networkx"] not in _NETWORKX:
        raise ValueError(f"track_graph: {state['networkx']!r} is no graph of networkx")
    try:
        import networkx as nx
    except ImportError:
        return plain
    graph = getattr(nx, state["networkx"])()
    graph.add_nodes_from(plain.nodes.items())
    graph.add_edges_from((a, b, data) for (a, b), data in plain.edges.items())
    return graph
