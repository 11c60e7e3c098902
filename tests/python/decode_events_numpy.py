"""The rules of events as a literal program: random words, scores of one event, q-values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np

SLACK = 1e-7


def _philox(counter: list[int], key: list[int]) -> list[int]:
    """One block of Philox4x32-10."""
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


@dataclass(frozen=True)
class Draws:
    """The random words of one shuffle of one event by one kind."""

    seed: int
    event: int
    shuffle: int
    kind: int

    def word(self, i: int) -> int:
        """Draw i."""
        key = [self.seed & 0xFFFFFFFF, self.seed >> 32]
        return _philox([i // 4, self.shuffle, self.event, self.kind], key)[i % 4]

    def below(self, i: int, m: int) -> int:
        """Draw i as a whole number below m."""
        return self.word(i) * m >> 32

    def permutation(self, n: int, first: int = 0) -> list[int]:
        """Place i receives what was at q[i]."""
        q = list(range(n))
        for i in range(n - 1, 0, -1):
            j = self.below(first + i, i + 1)
            q[i], q[j] = q[j], q[i]
        return q


@dataclass
class Route:
    """A way along which lines are laid: its places, their u, its length and half a bin."""

    bins: Any
    u: Any
    length: float
    h: float


@dataclass
class Track:
    """Routes, none on a plane, and the distances of all places."""

    routes: list[Route]
    distance: Any


def line(centres: Any) -> Track:
    """A line of equal bins."""
    x = np.ravel(centres)
    h = 0.5 * (x[1] - x[0])
    whole = Route(np.arange(len(x)), x - x[0] + h, 2 * h * len(x), h)
    return Track([whole], np.abs(x[:, None] - x[None, :]))


def arms(edge_of_bin: Any, lengths: Any) -> Track:
    """Arms that meet at node 0, arm e leading to node e + 1; bins in order from there."""
    u = np.zeros(len(edge_of_bin))
    width = np.zeros(len(edge_of_bin))
    for e, length in enumerate(lengths):
        own = np.flatnonzero(edge_of_bin == e)
        width[own] = length / len(own)
        u[own] = (np.arange(len(own)) + 0.5) * length / len(own)
    same = edge_of_bin[:, None] == edge_of_bin[None, :]
    distance = np.where(same, np.abs(u[:, None] - u[None, :]), u[:, None] + u[None, :])
    routes = []
    for a in range(len(lengths)):
        for b in range(a + 1, len(lengths)):
            inward, outward = (
                np.flatnonzero(edge_of_bin == a)[::-1],
                np.flatnonzero(edge_of_bin == b),
            )
            bins = np.concatenate([inward, outward])
            along = np.concatenate([lengths[a] - u[inward], lengths[a] + u[outward]])
            routes.append(Route(bins, along, lengths[a] + lengths[b], 0.5 * width[bins].mean()))
    return Track(routes, distance)


def plane(centres: Any, size: Any) -> Track:
    """Bins that touch are neighbours, corners too."""
    graph: Any = nx.Graph()
    graph.add_nodes_from(range(len(centres)))
    for i, a in enumerate(centres):
        near = np.flatnonzero((np.abs(centres - a) <= 1.01 * size).all(axis=1))
        graph.add_weighted_edges_from(
            (i, j, np.linalg.norm(a - centres[j])) for j in near if j != i
        )
    distance = np.full((len(centres), len(centres)), np.inf)
    for i, row in nx.all_pairs_dijkstra_path_length(graph):
        for j, d in row.items():
            distance[i, j] = d
    return Track([], distance)


def correlation(p: Any, k: Any, u: Any, width: float) -> float:
    """Of time and place, weighted by probability."""
    t = np.asarray(k, dtype=float) * width
    w = p / p.sum()
    mt, mu = (w.sum(axis=1) * t).sum(), (w.sum(axis=0) * u).sum()
    covariance = (w * np.outer(t - mt, u - mu)).sum()
    variance = (w * (t - mt)[:, None] ** 2).sum() * (w * (u - mu)[None, :] ** 2).sum()
    return float(covariance / np.sqrt(variance)) if variance > 0 else np.nan


def line_fit(
    p: Any, k: Any, n_time: int, route: Route, width: float, band: float, fastest: float
) -> tuple[float, int, int]:
    """Return the largest mean mass along a line, its slope and offset."""
    u, h = route.u, route.h
    near = np.abs(u[:, None] - u[None, :]) <= band + SLACK
    median = np.median(p @ near, axis=1)
    most = int(np.floor(fastest * (n_time - 1) * width / h + 1e-9))
    last = int(np.floor(2 * route.length / h + 1e-9))
    lines = []
    for slope in range(-most, most + 1):
        i = np.arange(-(slope // 2), (last - slope) // 2 + 1)
        total = np.zeros(len(i))
        for row, t, outside in zip(p, k, median, strict=True):
            y = h * (i + slope * t / (n_time - 1))
            mass = (row * (np.abs(u[None, :] - y[:, None]) <= band + SLACK)).sum(axis=1)
            total += np.where((y >= -SLACK) & (y <= route.length + SLACK), mass, outside)
        lines += [(v / len(p), slope, int(j)) for v, j in zip(total, i, strict=True)]
    best = max(v for v, _, _ in lines)
    reported = min((abs(d), d, i) for v, d, i in lines if v >= best - 1e-9)
    return float(best), reported[1], reported[2]


def scores(
    p: Any,
    k: Any,
    n_time: int,
    track: Track,
    *,
    width: float,
    band: float = 15.0,
    fastest: float = 1000.0,
) -> dict[str, float]:
    """Every score of one event: p [n][P] of the counted bins k."""
    out: dict[str, float] = {}
    if track.routes:
        masses = [p[:, r.bins].sum() for r in track.routes]
        heaviest = next(i for i, m in enumerate(masses) if m >= max(masses) * (1 - 1e-9))
        chosen = track.routes[heaviest]
        out["weighted_correlation"] = correlation(p[:, chosen.bins], k, chosen.u, width)
        fits = [line_fit(p[:, r.bins], k, n_time, r, width, band, fastest) for r in track.routes]
        best = max(fit[0] for fit in fits)
        at = next(i for i, fit in enumerate(fits) if fit[0] >= best - 1e-9)
        _, slope, offset = fits[at]
        h = track.routes[at].h
        out |= {"line_fit": best, "line_route": at, "line_intercept": h * offset}
        out["line_velocity"] = slope * h / ((n_time - 1) * width)
    places = [int(np.flatnonzero(row >= (1 - 1e-9) * row.max())[0]) for row in p]
    steps = track.distance[places[:-1], places[1:]]
    among = track.distance[np.ix_(places, places)]
    finite = track.distance[np.isfinite(track.distance)]
    out["distance"] = float(steps.sum())
    out["max_jump"] = float(steps.max())
    out["net_distance"] = float(track.distance[places[0], places[-1]])
    out["coverage"] = float(among.max() / finite.max())
    out["speed"] = float(steps.sum() / ((k[-1] - k[0]) * width))
    out["sharpness"] = float(p.max(axis=1).mean())
    return out


def q_values(p: Any) -> Any:
    """Benjamini and Hochberg's step-up procedure, as statsmodels has it; NaN do not count."""
    q = np.full(len(p), np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(np.asarray(p)[known], kind="stable")]
    raw = np.asarray(p)[order] * len(order) / np.arange(1, len(order) + 1)
    q[order] = np.minimum(np.minimum.accumulate(raw[::-1])[::-1], 1)
    return q
