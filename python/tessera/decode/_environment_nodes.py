"""Graphs and tables of an environment's nodes, made when they are asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera import _core
from tessera.decode._data import Floats, Mask
from tessera.decode._session import Session
from tessera.decode._track import as_networkx
from tessera.decode._track_nodes import (
    TrackGrid,
    get_track_grid,
    make_nD_track_graph_from_environment,
)

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from tessera.decode._types import TrackLike


class _kept_when_known(cached_property[Any]):  # noqa: N801  # is used as a decorator
    """A cached property that leaves no trace of None: scripts make environments of ``vars()``."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        value = super().__get__(instance, owner)
        if value is None and self.attrname is not None:
            instance.__dict__.pop(self.attrname, None)
        return value


class NodeViews:
    """What :class:`tessera.decode.Environment` shows of its bins as nodes."""

    if TYPE_CHECKING:
        place_bin_size: Any
        track_graph: TrackLike | None
        edge_order: Any
        edge_spacing: Any
        is_track_interior_: Mask

        @property
        def _is_fitted(self) -> bool: ...

        @cached_property
        def _handle(self) -> _core.Handle: ...

    @cached_property
    def distance_between_bins_(self) -> Floats:
        """Shortest ways between bins, (n_bins, n_bins) in cm, inf where there is none."""
        with Session() as context:
            inner = np.asarray(_core.decode_distances(context, self._handle))
        bins = np.flatnonzero(self.is_track_interior_.ravel())
        n_bins = self.is_track_interior_.size
        full: Floats = np.full((n_bins, n_bins), np.inf)
        full[np.ix_(bins, bins)] = inner
        np.fill_diagonal(full, 0.0)
        return full

    @_kept_when_known
    def distance_between_nodes_(self) -> Any:
        """Shortest ways between nodes, in cm; None before the bins are made.

        Without a track graph the nodes are the bins: an array, (n_bins, n_bins). With one, a dict
        of dicts over the nodes of ``track_graph_with_bin_centers_edges_``.
        """
        if not self._is_fitted:
            return None
        if self.track_graph is None:
            return self.distance_between_bins_
        return self._nodes.distance_between_nodes

    @_kept_when_known
    def track_graphDD(self) -> nx.Graph:  # noqa: N802
        """Bins as a graph of networkx; None with a track graph."""
        if not self._is_fitted or self.track_graph is not None:
            return None
        return make_nD_track_graph_from_environment(self)  # type: ignore[arg-type]

    @cached_property
    def _nodes(self) -> TrackGrid:
        size = np.atleast_1d(np.asarray(self.place_bin_size, dtype=np.float64))[0]
        graph = as_networkx(self.track_graph)
        return get_track_grid(graph, self.edge_order, self.edge_spacing, float(size))

    def _of_nodes(self, name: str) -> Any:
        if not self._is_fitted or self.track_graph is None:
            return None
        return getattr(self._nodes, name)

    @property
    def track_graph_with_bin_centers_edges_(self) -> nx.Graph:
        """The track graph with edges and centres of bins as nodes; None without a track graph."""
        return self._of_nodes("track_graph_with_bin_centers_edges")

    @property
    def original_nodes_df_(self) -> pd.DataFrame:
        """Table of the nodes of the track graph; None without one."""
        return self._of_nodes("original_nodes_df")

    @property
    def place_bin_edges_nodes_df_(self) -> pd.DataFrame:
        """Table of the nodes at edges of bins; None without a track graph."""
        return self._of_nodes("place_bin_edges_nodes_df")

    @property
    def place_bin_centers_nodes_df_(self) -> pd.DataFrame:
        """Table of the bins of a track graph, with node_id -1 in gaps; None without one."""
        return self._of_nodes("place_bin_centers_nodes_df")

    @property
    def nodes_df_(self) -> pd.DataFrame:
        """Table of all nodes of a track graph with bins; None without one."""
        return self._of_nodes("nodes_df")
