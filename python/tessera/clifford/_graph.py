"""Graphs whose nodes have multivectors: edges sorted once, and sums over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tessera import _core
from tessera._lib import Session
from tessera.clifford import _arrays
from tessera.clifford._functional import run
from tessera.clifford._spec import MetricLike, make_spec

if TYPE_CHECKING:
    from tessera.clifford._types import ArrayLike, ArrayT, Weight

__all__ = ["Graph", "graph_product", "graph_sum"]


def _indices(values: Any, name: str) -> Any:
    """Return whole numbers as a contiguous array of int64 of this object's own."""
    if _arrays.is_torch(values):
        values = values.detach().cpu().numpy()
    found = np.asarray(values)
    if found.ndim != 1:
        raise _core.ShapeError(f"{name}: expected one axis, got {found.ndim}")
    if found.size and found.dtype.kind not in "iu":
        raise _core.DTypeError(
            f"{name}: is {found.dtype}; expected integers, astype(int) makes them"
        )
    return np.array(found, np.int64)


def _count(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise _core.ArgumentError(f"{name}: expected a number of nodes, got {value!r}")
    return int(value)


def _check_range(values: Any, n: int, name: str) -> None:
    bad = np.flatnonzero((values < 0) | (values >= n))
    if len(bad):
        raise _core.ArgumentError(
            f"{name}: {values[bad[0]]} at {bad[0]} is out of range; there are {n} nodes, counted "
            "from 0: correct it, or give the number of nodes"
        )


class Graph:
    """Edges from senders to receivers, sorted by receiver once and kept.

    Edges of one receiver stay in the order in which they were given, which is the order of sums.
    Nodes without edges, repeated edges, edges from a node to itself and graphs without edges are
    all taken.

    Parameters
    ----------
    senders, receivers : array of int, shape (edge,)
        Numbers of nodes, counted from 0 (COO).
    n_nodes : int
        How many receivers there are.
    n_senders : int, optional
        How many senders there are, where these are other nodes. Default: n_nodes.

    Examples
    --------
    >>> from tessera.clifford import Graph
    >>> graph = Graph([0, 1, 2], [1, 0, 1], 3)
    >>> graph.degrees.tolist()
    [1, 2, 0]
    """

    def __init__(
        self, senders: Any, receivers: Any, n_nodes: int, n_senders: int | None = None
    ) -> None:
        self.n_receiver = _count(n_nodes, "n_nodes")
        self.n_sender = self.n_receiver if n_senders is None else _count(n_senders, "n_senders")
        self.senders = _indices(senders, "senders")
        self.receivers = _indices(receivers, "receivers")
        if len(self.senders) != len(self.receivers):
            raise _core.ShapeError(
                f"receivers: {len(self.receivers)} beside {len(self.senders)} senders; expected "
                "one of each for every edge"
            )
        _check_range(self.senders, self.n_sender, "senders")
        _check_range(self.receivers, self.n_receiver, "receivers")
        self._edges = np.argsort(self.receivers, kind="stable")
        self._sorted_senders = self.senders[self._edges]
        self.degrees = np.bincount(self.receivers, minlength=self.n_receiver)
        self._offsets = np.concatenate(([0], np.cumsum(self.degrees))).astype(np.int64)
        self._reversed: Graph | None = None

    @classmethod
    def from_csr(cls, offsets: Any, senders: Any, n_senders: int | None = None) -> Graph:
        """Take edges that are sorted by receiver.

        Parameters
        ----------
        offsets : array of int, shape (receiver + 1,)
            Edges of receiver r are those from offsets[r] to before offsets[r + 1].
        senders : array of int, shape (edge,)
            Numbers of nodes.
        n_senders : int, optional
            As in the class.

        Returns
        -------
        Graph
            Its edges are numbered in their order.
        """
        starts, numbers = _indices(offsets, "offsets"), _indices(senders, "senders")
        steps = np.diff(starts)
        if not len(starts) or starts[0] != 0 or starts[-1] != len(numbers) or (steps < 0).any():
            raise _core.ArgumentError(
                "offsets: expected one number more than receivers, rising from 0 to the number of "
                f"senders, which is {len(numbers)}"
            )
        return cls(numbers, np.repeat(np.arange(len(steps)), steps), len(steps), n_senders)

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

    def __repr__(self) -> str:
        return (
            f"<tessera.clifford.Graph of {self.n_edge} edges, {self.n_sender} senders, "
            f"{self.n_receiver} receivers>"
        )

    def _sum(self, context: _core.Context, x: Any, scale: Any, z: Any) -> None:
        _core.clifford_graph_sum(
            context, self._offsets, self._sorted_senders, self._edges, x, scale, z, self.n_sender
        )

    def _dot(self, context: _core.Context, x: Any, y: Any, d: Any) -> None:
        _core.clifford_graph_dot(
            context, self._offsets, self._sorted_senders, self._edges, x, y, d, self.n_sender
        )


def _per_edge(scale: Any) -> Any:
    """View numbers of edges as (edge, feature)."""
    return scale[:, None] if scale is not None and scale.ndim == 1 else scale


def graph_sum(x: ArrayT, graph: Graph, scale: ArrayLike | None = None) -> ArrayT:
    """Sum the multivectors of senders over the edges of every receiver, in the order of edges.

    Parameters
    ----------
    x : array or tensor, shape (component, sender, feature)
        float32, float64, float16 or bfloat16, in host memory; 16-bit types are added in float32.
    graph : Graph
        The edges.
    scale : array or tensor, shape (edge, feature) or (edge,), optional
        Numbers that multiply what goes along an edge, in the order in which edges were given.

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
    if not isinstance(graph, Graph):
        raise _core.ArgumentError(
            f"graph: expected a Graph, got {type(graph).__name__}; Graph(senders, receivers, "
            "n_nodes) makes one"
        )
    if _arrays.is_torch(x):
        from tessera.clifford import _torch_graph

        tensor: Any = _torch_graph.graph_sum(x, graph, _per_edge(scale))
        return tensor
    array = _arrays.as_array(x, "x")
    if array.ndim != 3:
        raise _core.ShapeError(f"x: expected (component, sender, feature), got {array.ndim} axes")
    z: Any = _arrays.empty(array, (array.shape[0], graph.n_receiver, array.shape[2]))
    numbers = _per_edge(_arrays.as_array(scale, "scale"))
    with Session(device="cpu") as context:
        graph._sum(context, *map(_arrays.native, (array, numbers, z)))
    return z


def graph_product(
    x: ArrayT,
    y: ArrayLike,
    weight: Weight | None,
    graph: Graph,
    metric: MetricLike,
    *,
    scale: ArrayLike | None = None,
    path_mask: int | None = None,
) -> ArrayT:
    """Sum weighted products of sender and receiver over the edges of every receiver.

    z[r] = sum over edges e from s to r of scale[e] product(x[s], y[r]; weight). The product is
    linear in its left factor, so the senders are added first, in the order of edges, and every
    receiver takes one product: nothing has a row per edge.

    Parameters
    ----------
    x, graph, scale
        As in :func:`graph_sum`.
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
    if not _arrays.is_torch(x):
        array: ArrayT = run("sgp", spec, graph_sum(x, graph, scale), y, weight)
        return array
    tensor: Any = x
    if tensor.dtype.itemsize > 2:
        exact: ArrayT = run("sgp", spec, graph_sum(tensor, graph, scale), y, weight)
        return exact
    right: Any = y
    given: tuple[Any, Any] = (weight, scale)
    by, numbers = (None if t is None else t.float() for t in given)
    wide = run("sgp", spec, graph_sum(tensor.float(), graph, numbers), right.float(), by)
    rounded: ArrayT = wide.to(tensor.dtype)  # once, at the end
    return rounded
