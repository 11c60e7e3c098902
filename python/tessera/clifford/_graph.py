"""Graphs whose nodes have multivectors: edges sorted once, and sums over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera import _core
from tessera._lib import Session
from tessera.clifford import _arrays
from tessera.clifford._functional import run
from tessera.clifford._spec import MetricLike, make_spec

if TYPE_CHECKING:
    from tessera.clifford._types import ArrayLike, ArrayT, Device, Edges, Indices, Weight

__all__ = ["Graph", "graph_product", "graph_sum"]


def _check_integers(found: Any, name: str, is_integer: bool) -> None:
    if found.ndim != 1:
        raise _core.ShapeError(f"{name}: expected one axis, got {found.ndim}")
    if len(found) and not is_integer:
        raise _core.DTypeError(
            f"{name}: is {found.dtype}; expected integers, astype(int) or long() makes them"
        )


def _indices(values: Any, name: str) -> Any:
    """Return whole numbers as a contiguous array of int64 of this object's own."""
    found = np.asarray(values)
    _check_integers(found, name, found.dtype.kind in "iu")
    return np.array(found, np.int64)


def _count(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise _core.ArgumentError(f"{name}: expected a number of nodes, got {value!r}")
    return int(value)


def _check_range(values: Any, n: int, name: str) -> None:
    """Complain about the first number that is no node's; of tensors the device says yes or no."""
    is_bad = (values < 0) | (values >= n)
    if not bool(is_bad.any()):
        return
    at = int(is_bad.nonzero()[0][0])
    raise _core.ArgumentError(
        f"{name}: {int(values[at])} at {at} is out of range; there are {n} nodes, counted from 0: "
        "correct it, or give the number of nodes"
    )


def _sorted(receivers: Any, n: int) -> tuple[Any, Any, Any]:
    """Return numbers of edges by receiver, their offsets and how many each receiver has."""
    edges = np.argsort(receivers, kind="stable")
    degrees = np.bincount(receivers, minlength=n).astype(np.int64)
    return edges, np.concatenate((np.zeros(1, np.int64), np.cumsum(degrees))), degrees


class Graph:
    """Edges from senders to receivers, sorted by receiver once and kept.

    Edges of one receiver stay in the order in which they were given, which is the order of sums.
    Nodes without edges, repeated edges, edges from a node to itself and graphs without edges are
    all taken. Indices are checked here and nowhere later: of tensors on a GPU this waits for the
    device once, and no sum over the edges does.

    Parameters
    ----------
    senders, receivers : array or tensor of int, shape (edge,)
        Numbers of nodes, counted from 0 (COO). Tensors are sorted on the device they are on.
    n_nodes : int
        How many receivers there are.
    n_senders : int, optional
        How many senders there are, where these are other nodes. Default: n_nodes.

    Attributes
    ----------
    senders, receivers : array or tensor of int64, shape (edge,)
        As given: NumPy arrays, or tensors where tensors were given.
    degrees : array or tensor of int64, shape (receiver,)
        How many edges every receiver has.
    n_sender, n_receiver : int
        How many nodes there are.
    node_offsets : tuple of int or None
        Of a graph from :meth:`batch`: nodes of graph i are those from node_offsets[i] to before
        node_offsets[i + 1].

    Examples
    --------
    >>> from tessera.clifford import Graph
    >>> graph = Graph([0, 1, 2], [1, 0, 1], 3)
    >>> graph.degrees.tolist()
    [1, 2, 0]
    """

    def __init__(
        self, senders: Indices, receivers: Indices, n_nodes: int, n_senders: int | None = None
    ) -> None:
        self.n_receiver = _count(n_nodes, "n_nodes")
        self.n_sender = self.n_receiver if n_senders is None else _count(n_senders, "n_senders")
        sort: Any = _sorted
        if _arrays.is_torch(senders) or _arrays.is_torch(receivers):
            from tessera.clifford import _torch_graph

            self.senders, self.receivers = _torch_graph.indices(senders, receivers)
            sort = _torch_graph.sort
        else:
            self.senders = _indices(senders, "senders")
            self.receivers = _indices(receivers, "receivers")
        if len(self.senders) != len(self.receivers):
            raise _core.ShapeError(
                f"receivers: {len(self.receivers)} beside {len(self.senders)} senders; expected "
                "one of each for every edge"
            )
        _check_range(self.senders, self.n_sender, "senders")
        _check_range(self.receivers, self.n_receiver, "receivers")
        edges, offsets, self.degrees = sort(self.receivers, self.n_receiver)
        back, back_offsets, _ = sort(self.senders, self.n_sender)
        # What passes take: offsets, senders and numbers of edges, and those of reversed edges.
        self._lists = offsets, self.senders[edges], edges
        self._back_lists = back_offsets, self.receivers[back], back
        self.node_offsets: tuple[int, ...] | None = None
        self._reversed: Graph | None = None
        # Lists of both directions as tensors, by device.
        self._tensors: dict[str, tuple[Any, ...]] = {}
        if sort is not _sorted:
            self.to(self.senders.device)

    @classmethod
    def from_csr(cls, offsets: Indices, senders: Indices, n_senders: int | None = None) -> Graph:
        """Take edges that are sorted by receiver.

        Parameters
        ----------
        offsets : array of int, shape (receiver + 1,)
            Edges of receiver r are those from offsets[r] to before offsets[r + 1].
        senders : array or tensor of int, shape (edge,)
            Numbers of nodes.
        n_senders : int, optional
            As in the class.

        Returns
        -------
        Graph
            Its edges are numbered in their order.
        """
        given: Any = offsets
        if _arrays.is_torch(given):
            given = given.detach().cpu().numpy()
        starts = _indices(given, "offsets")
        numbers: Any = senders
        n_edge = len(numbers)
        steps = np.diff(starts)
        if not len(starts) or starts[0] != 0 or starts[-1] != n_edge or (steps < 0).any():
            raise _core.ArgumentError(
                "offsets: expected one number more than receivers, rising from 0 to the number of "
                f"senders, which is {n_edge}"
            )
        return cls(senders, np.repeat(np.arange(len(steps)), steps), len(steps), n_senders)

    @classmethod
    def from_edge_index(
        cls,
        edge_index: ArrayLike | Sequence[Sequence[int]],
        n_nodes: int,
        n_senders: int | None = None,
    ) -> Graph:
        """Take edges as torch_geometric keeps them.

        Parameters
        ----------
        edge_index : array or tensor of int, shape (2, edge)
            Senders (its sources), then receivers (its targets).
        n_nodes, n_senders : int
            As in the class.

        Returns
        -------
        Graph
            The graph.
        """
        given: Any = edge_index
        found = given if _arrays.is_torch(given) else np.asarray(given)
        if found.ndim != 2 or found.shape[0] != 2:
            raise _core.ShapeError(
                f"edge_index: {tuple(found.shape)}, expected (2, edge): senders, then receivers"
            )
        return cls(found[0], found[1], n_nodes, n_senders)

    @classmethod
    def batch(cls, graphs: Sequence[Graph]) -> Graph:
        """Put graphs side by side as one, without edges between them.

        Parameters
        ----------
        graphs : sequence of Graph
            Each between its own nodes. Nodes and edges of the result are theirs, one graph after
            the other.

        Returns
        -------
        Graph
            Its ``node_offsets`` say whose nodes are where, and :attr:`members` sums them by graph.
        """
        for graph in graphs:
            if not isinstance(graph, Graph) or graph.n_sender != graph.n_receiver:
                raise _core.ArgumentError(
                    "graphs: expected graphs between nodes of their own, with as many senders as "
                    f"receivers, got {graph!r}"
                )
        offsets = [0, *np.cumsum([g.n_receiver for g in graphs]).tolist()]
        starts = list(zip(graphs, offsets[:-1], strict=True))
        if graphs and all(_arrays.is_torch(g.senders) for g in graphs):
            from tessera.clifford import _torch_graph

            join: Any = _torch_graph.join
        else:
            join = _joined
        found = cls(
            join([g.senders + at for g, at in starts]),
            join([g.receivers + at for g, at in starts]),
            offsets[-1],
        )
        found.node_offsets = tuple(offsets)
        return found

    @property
    def members(self) -> Graph:
        """The graph from the nodes of a batch to its graphs, in the order of nodes."""
        if self.node_offsets is None:
            raise _core.ArgumentError("members: this graph is no batch; Graph.batch() makes one")
        nodes: Any = np.arange(self.n_receiver)
        if _arrays.is_torch(self.senders):
            import torch

            nodes = torch.arange(self.n_receiver, device=self.senders.device)
        return Graph.from_csr(self.node_offsets, nodes, self.n_receiver)

    @property
    def n_edge(self) -> int:
        """How many edges there are."""
        return len(self.senders)

    @property
    def reversed(self) -> Graph:
        """The graph with senders and receivers exchanged; edges keep their numbers."""
        if self._reversed is None:
            self._reversed = Graph(self.receivers, self.senders, self.n_sender, self.n_receiver)
            self._reversed._reversed = self
        return self._reversed

    def to(self, device: Device) -> Graph:
        """Have the lists of edges ready on a device of torch, so that the first call need not.

        Parameters
        ----------
        device : torch.device, str or int
            Where tensors will be. Every graph makes lists ready by itself where it meets tensors;
            only ``torch.compile(fullgraph=True)`` wants them before.

        Returns
        -------
        Graph
            This graph.
        """
        from tessera.clifford import _torch_graph

        _torch_graph.make_lists(self, device)
        return self

    def __repr__(self) -> str:
        return (
            f"<tessera.clifford.Graph of {self.n_edge} edges, {self.n_sender} senders, "
            f"{self.n_receiver} receivers>"
        )


def _joined(parts: list[Any]) -> Any:
    host = [p.cpu().numpy() if _arrays.is_torch(p) else p for p in parts]
    return np.concatenate([np.zeros(0, np.int64), *host])


def as_graph(graph: Any, n_nodes: Any, n_senders: Any) -> Graph:
    """Return a graph, or make one of an edge_index between this many nodes."""
    if isinstance(graph, Graph):
        return graph
    if getattr(graph, "ndim", 0) == 2 and graph.shape[0] == 2:
        return Graph.from_edge_index(graph, int(n_nodes), int(n_senders))
    raise _core.ArgumentError(
        f"graph: expected a Graph or an edge_index (2, edge), got {type(graph).__name__}; "
        "Graph(senders, receivers, n_nodes) makes one"
    )


def _per_edge(scale: Any, x: Any) -> Any:
    """View numbers of edges as (edge, feature): a tensor beside a tensor, else an array."""
    if scale is None:
        return None
    if _arrays.is_torch(x) != _arrays.is_torch(scale):  # whose gradient would be lost
        theirs, ours = (
            "a tensor of torch" if _arrays.is_torch(t) else type(t).__name__ for t in (scale, x)
        )
        raise _core.DTypeError(
            f"clifford.graph: scale: is {theirs}, but x is {ours}; expected a tensor as x is, or "
            "an array beside an array; torch.as_tensor() makes a tensor of an array"
        )
    found = scale if _arrays.is_torch(scale) else _arrays.as_array(scale, "scale")
    if found.ndim not in (1, 2):
        raise _core.ShapeError(
            f"clifford.graph: scale: expected (edge, feature) or (edge,), got {found.ndim} axes"
        )
    _arrays.refuse_sparse(found, "clifford.graph: scale")
    return found[:, None] if found.ndim == 1 else found


def graph_sum(x: ArrayT, graph: Edges, scale: ArrayLike | None = None) -> ArrayT:
    """Sum the multivectors of senders over the edges of every receiver, in the order of edges.

    Parameters
    ----------
    x : array or tensor, shape (component, sender, feature)
        float32, float64, float16 or bfloat16; 16-bit types are added in float32. NumPy arrays are
        summed on the CPU, tensors where they are.
    graph : Graph, or array or tensor of int, shape (2, edge)
        The edges. An edge_index is one between the nodes of x, and is sorted in every call.
    scale : array or tensor, shape (edge, feature) or (edge,), optional
        Numbers that multiply what goes along an edge, in the order in which edges were given. Of
        x's type, or float32 beside 16 bits.

    Returns
    -------
    array or tensor, shape (component, receiver, feature)
        Of x's type; zero for receivers without edges. Tensors are differentiated any number of
        times, by x and by scale.

    Examples
    --------
    >>> import numpy as np
    >>> import tessera.clifford as tc
    >>> x = np.arange(3.0).reshape(1, 3, 1)
    >>> tc.graph_sum(x, tc.Graph([0, 1, 2], [1, 0, 1], 3)).ravel().tolist()
    [1.0, 2.0, 0.0]
    """
    given: Any = x if _arrays.is_torch(x) else _arrays.as_array(x, "x")
    if given.ndim != 3:
        raise _core.ShapeError(f"x: expected (component, sender, feature), got {given.ndim} axes")
    edges = as_graph(graph, given.shape[1], given.shape[1])
    numbers = _per_edge(scale, given)
    if _arrays.is_torch(x):
        from tessera.clifford import _torch_graph

        tensor: Any = _torch_graph.graph_sum(given, edges, numbers)
        return tensor
    if _arrays.device_of(given) != "cpu":
        raise _core.ArgumentError(
            f"x: is on {_arrays.device_of(given)}; on GPUs tensors of torch are taken, "
            "torch.from_dlpack(x) makes one"
        )
    z: Any = _arrays.empty(given, (given.shape[0], edges.n_receiver, given.shape[2]))
    lists = (t.cpu().numpy() if _arrays.is_torch(t) else t for t in edges._lists)
    arguments: tuple[Any, ...] = (*lists, *map(_arrays.native, (given, numbers, z)), edges.n_sender)
    with Session(device="cpu") as context:
        _core.clifford_graph_sum(context, *arguments)
    return z


def graph_product(
    x: ArrayT,
    y: ArrayLike,
    weight: Weight | None,
    graph: Edges,
    metric: MetricLike,
    *,
    scale: ArrayLike | None = None,
    path_mask: int | None = None,
) -> ArrayT:
    """Sum weighted products of sender and receiver over the edges of every receiver.

    z[r] = sum over edges e from s to r of scale[e] product(x[s], y[r]; weight). The product is
    linear in its left factor, so the senders are added first, in the order of edges, and every
    receiver takes one product: nothing has a row per edge. The sum of 16-bit types is rounded
    before the product, as is the product.

    Parameters
    ----------
    x, graph, scale
        As in :func:`graph_sum`; an edge_index is one from the nodes of x to those of y.
    y : array or tensor, shape (component, receiver, feature)
        Of x's type.
    weight : array or tensor, shape (feature, path), or None
        Weights of the paths, as in :func:`sgp`; None: ones.
    metric : str, sequence of int or Algebra
        The algebra.
    path_mask : int, optional
        Paths that take part, bit p for path p. Default: all.

    Returns
    -------
    array or tensor, shape (component, receiver, feature)
        Of x's type. Tensors are differentiated twice, by x, y, weight and scale.

    Examples
    --------
    >>> import numpy as np
    >>> import tessera.clifford as tc
    >>> x = np.ones((8, 3, 2))
    >>> tc.graph_product(x, x, None, tc.Graph([0, 1], [1, 1], 3), "+++").shape
    (8, 3, 2)
    """
    spec = make_spec(metric, activation="none", normalize=False, path_mask=path_mask)
    left: Any = x if _arrays.is_torch(x) else _arrays.as_array(x, "x")
    right: Any = y if _arrays.is_torch(y) else _arrays.as_array(y, "y")
    for name, t in (("x", left), ("y", right)):
        if getattr(t, "ndim", 0) != 3:
            raise _core.ShapeError(f"{name}: expected (component, node, feature)")
    edges = as_graph(graph, right.shape[1], left.shape[1])
    found: ArrayT = run("sgp", spec, graph_sum(left, edges, scale), right, weight)
    return found
