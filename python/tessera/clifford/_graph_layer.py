"""A layer that passes messages along the edges of a graph."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tessera import _core
from tessera.clifford import _torch_graph
from tessera.clifford._algebra import Algebra
from tessera.clifford._cgenn import MVNormGate, MVSiLU
from tessera.clifford._constants import Constants
from tessera.clifford._functional import run
from tessera.clifford._graph import Graph, as_graph, graph_sum
from tessera.clifford._modules import MVLinear
from tessera.clifford._modules_base import positive
from tessera.clifford._spec import MetricLike, make_spec

__all__ = ["GraphLayer"]


class GraphLayer(Constants):
    """Equivariant message passing in the manner of CGENN, x + update(x, messages).

    Along an edge go the sender's linear map and its weighted product with the receiver's, both
    times a number per feature that a perceptron makes of invariants: the bilinear forms of sender
    and receiver, and what the caller knows of the edge. Receivers take the sum.

    Parameters
    ----------
    n_features : int
        Features of nodes.
    metric : str, sequence of int or Algebra
        The algebra.
    n_edge_features : int
        Invariants of edges that the caller gives, such as squared distances.
    hidden : int, optional
        Width of the perceptron. Default: n_features.

    Examples
    --------
    >>> import torch
    >>> import tessera.clifford as tc
    >>> graph = tc.Graph([0, 1, 2], [1, 0, 1], 3)
    >>> tc.GraphLayer(4, "+++")(torch.ones(8, 3, 4), graph).shape
    torch.Size([8, 3, 4])
    """

    def __init__(
        self,
        n_features: int,
        metric: MetricLike,
        n_edge_features: int = 0,
        hidden: int | None = None,
    ) -> None:
        super().__init__()
        n = self.n_features = positive("n_features", n_features)
        self.n_edge_features = n_edge_features
        self.algebra = Algebra(metric.signs if isinstance(metric, Algebra) else metric)
        self.keep("eta", self.algebra._found["eta"])
        self._spec = make_spec(metric, activation="none", normalize=False)
        width = n if hidden is None else positive("hidden", hidden)
        self.left = MVLinear(n, n, metric)
        self.right = MVLinear(n, n, metric)
        self.normalization = MVNormGate(n, metric)
        self.weight = nn.Parameter(torch.randn(n, self.algebra.n_path) * (n + 1) ** -0.5)
        self.scale = nn.Sequential(
            nn.Linear(n + n_edge_features, width),
            nn.SiLU(),
            nn.Linear(width, width),
            nn.SiLU(),
            nn.Linear(width, n),
        )
        self.update = nn.Sequential(
            MVLinear(3 * n, n, metric), MVSiLU(n, metric), MVLinear(n, n, metric)
        )

    def extra_repr(self) -> str:
        """Return the sizes.

        Returns
        -------
        str
            What ``repr`` prints between the brackets.
        """
        return f"{self.n_features}, {self.algebra.signs!r}, n_edge_features={self.n_edge_features}"

    def forward(
        self, x: Tensor, graph: Graph | Tensor, edge_features: Tensor | None = None
    ) -> Tensor:
        """Pass messages once.

        Parameters
        ----------
        x : torch.Tensor, shape (component, node, feature)
            Multivectors of nodes.
        graph : Graph, or torch.Tensor of int, shape (2, edge)
            Edges between these nodes; an edge_index is sorted in every call.
        edge_features : torch.Tensor, shape (edge, n_edge_features), optional
            Invariants of edges, in the order in which edges were given.

        Returns
        -------
        torch.Tensor
            Like x.
        """
        n_given = 0 if edge_features is None else edge_features.shape[-1]
        if n_given != self.n_edge_features:
            raise _core.ShapeError(
                f"edge_features: {n_given} per edge, expected {self.n_edge_features}; "
                "n_edge_features of the layer says how many"
            )
        left, right = self.left(x), self.normalization(self.right(x))
        edges = as_graph(graph, x.shape[1], x.shape[1])
        eta = self.constant("eta", left).view(-1, 1, 1)
        known = _torch_graph.graph_dot(left * eta.to(left.dtype), right, edges)
        if edge_features is not None:
            known = torch.cat((known, edge_features.to(known.dtype)), -1)
        scale = self.scale(known)
        first = graph_sum(left, edges, scale)
        second = run("sgp", self._spec, first, right, self.weight)
        change: Tensor = self.update(torch.cat((x, first, second), -1))
        return x + change
