"""The operations of tessera.clifford as plain torch formulas, differentiated by autograd.

Written from the definition, one component at a time and without fusion: what a user would write by
hand and give to torch.compile. Tests compare values and gradients with it, and the benchmark
compiles it as the peer.

Activations are (component, row, feature).
"""

from __future__ import annotations

import math
from functools import cache, reduce
from itertools import combinations
from operator import add
from typing import Any

import torch


class Table:
    """Components, paths and terms of an algebra, from the squares of its symbols."""

    def __init__(self, metric: tuple[int, ...]) -> None:
        n = len(metric)
        masks = [sum(1 << i for i in s) for g in range(n + 1) for s in combinations(range(n), g)]
        index = {mask: i for i, mask in enumerate(masks)}
        self.metric = metric
        self.n_component = len(masks)
        self.n_grade = n + 1
        self.grade = [mask.bit_count() for mask in masks]
        terms = []
        for i, a in enumerate(masks):
            for j, b in enumerate(masks):
                sign = self._sign(a, b)
                if sign:
                    terms.append((index[a ^ b], i, j, sign))
        self.paths = sorted({(self.grade[i], self.grade[k], self.grade[j]) for k, i, j, _ in terms})
        self.n_path = len(self.paths)
        rank = {path: p for p, path in enumerate(self.paths)}
        # rows[k] maps a path to the terms (i, j, sign) that it adds to output component k.
        self.rows: list[dict[int, list[tuple[int, int, int]]]] = [{} for _ in masks]
        for k, i, j, sign in sorted(terms):
            p = rank[self.grade[i], self.grade[k], self.grade[j]]
            self.rows[k].setdefault(p, []).append((i, j, sign))
        self.eta = [
            self._sign(mask, mask) * (-1) ** (g * (g - 1) // 2)
            for mask, g in zip(masks, self.grade, strict=True)
        ]
        self.members = [
            [k for k in range(self.n_component) if self.grade[k] == g] for g in range(self.n_grade)
        ]

    def _sign(self, a: int, b: int) -> int:
        """Sign of the product of two blades, 0 if it vanishes."""
        sign = (-1) ** sum((a >> s & b).bit_count() for s in range(1, len(self.metric)))
        for i, square in enumerate(self.metric):
            if a & b & 1 << i:
                sign *= square
        return sign


@cache
def table(metric: tuple[int, ...]) -> Table:
    """Return the table of an algebra, made once."""
    return Table(metric)


CL20 = (1, 1)
CL30 = (1, 1, 1)
CL301 = (0, 1, 1, 1)
CL13 = (1, -1, -1, -1)
CL41 = (1, 1, 1, 1, -1)


def gate(s: torch.Tensor, activation: str) -> torch.Tensor:
    """Return the factor that multiplies every component, from the scalar component."""
    if activation == "gelu":
        return 0.5 * (1 + torch.erf(s * math.sqrt(0.5)))
    if activation == "gelu_tanh":
        return torch.nn.functional.gelu(s, approximate="tanh")
    if activation == "relu":
        return torch.relu(s)
    plain = {"tanh": torch.tanh, "silu": torch.nn.functional.silu, "sigmoid": torch.sigmoid}
    if activation in plain:
        return plain[activation](s)
    return torch.ones_like(s)


def mv_gelu(x: torch.Tensor, activation: str = "gelu") -> torch.Tensor:
    """Multiply every component by the gate of the scalar component."""
    return x if activation == "none" else x * gate(x[:1], activation)


def pair(x: Any, y: Any, terms: list[tuple[int, int, int]]) -> torch.Tensor:
    """Sum the terms of one path and one output component."""
    total = None
    for i, j, sign in terms:
        product = x[i] * y[j]
        if total is None:
            total = product if sign > 0 else -product
        else:
            total = total + product if sign > 0 else total - product
    assert total is not None
    return total


def product(x: torch.Tensor, y: torch.Tensor, metric: tuple[int, ...]) -> torch.Tensor:
    """Multiply without weights."""
    rows = []
    for row in table(metric).rows:
        terms = [term for p in sorted(row) for term in row[p]]
        rows.append(pair(x, y, terms) if terms else torch.zeros_like(x[0]))
    return torch.stack(rows)


def sgp(
    x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor, metric: tuple[int, ...]
) -> torch.Tensor:
    """Weighted product: weight (N, P) is a factor per feature and path."""
    rows = []
    for row in table(metric).rows:
        total = torch.zeros_like(x[0])
        for p, terms in sorted(row.items()):
            total = total + weight[:, p] * pair(x, y, terms)
        rows.append(total)
    return torch.stack(rows)


def fcgp(
    x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor, metric: tuple[int, ...]
) -> torch.Tensor:
    """Fully connected product: weight (P, N_in, N_out) mixes features, one matrix per path.

    One matrix product per output grade, over the concatenated paths: the fastest plain way.
    """
    t = table(metric)
    out: list[torch.Tensor] = []
    for members in t.members:
        paths = sorted({p for k in members for p in t.rows[k]})
        q = torch.stack(
            [
                torch.cat(
                    [
                        pair(x, y, t.rows[k][p]) if p in t.rows[k] else torch.zeros_like(x[0])
                        for p in paths
                    ],
                    dim=-1,
                )
                for k in members
            ]
        )
        w = torch.cat([weight[p] for p in paths])
        out.append(q @ w)
    return torch.cat(out)


def rms_norm(
    o: torch.Tensor,
    metric: tuple[int, ...],
    eps: float = 1e-6,
    norm_metric: str = "euclid",
) -> torch.Tensor:
    """Divide every grade of a row by its root mean square over features."""
    t = table(metric)
    if norm_metric == "clamp":
        squares = sum(eta * o[k] * o[k] for k, eta in enumerate(t.eta) if eta)
        assert isinstance(squares, torch.Tensor)
        return o / torch.sqrt(torch.clamp(squares.mean(-1, keepdim=True), min=eps))
    out = []
    for members in t.members:
        part = o[members[0] : members[-1] + 1]
        if norm_metric == "euclid":
            square = part.square().sum(0)
        else:
            eta = torch.tensor([t.eta[k] for k in members], dtype=o.dtype, device=o.device)
            square = (eta[:, None, None] * part.square()).sum(0).abs()
        out.append(part / torch.sqrt(square.mean(-1, keepdim=True) + eps))
    return torch.cat(out)


def linear(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    metric: tuple[int, ...],
    bias_mode: str = "scalar",
) -> torch.Tensor:
    """Map features grade by grade: weight (G, N_in, N_out)."""
    out = torch.bmm(x, weight[table(metric).grade])
    if bias is None:
        return out
    if bias_mode == "all":
        return out + bias
    return torch.cat([out[:1] + bias, out[1:]])


def gelu_sgp_norm(
    x: torch.Tensor,
    y: torch.Tensor,
    weight: torch.Tensor,
    metric: tuple[int, ...],
    normalize: bool = True,
    activation: str = "gelu",
    eps: float = 1e-6,
    norm_metric: str = "euclid",
) -> torch.Tensor:
    """Gate both inputs, multiply with weights, normalise."""
    o = sgp(mv_gelu(x, activation), mv_gelu(y, activation), weight, metric)
    return rms_norm(o, metric, eps, norm_metric) if normalize else o


def gelu_sgp_norm_apart(
    x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor, metric: tuple[int, ...]
) -> torch.Tensor:
    """Do the same with components kept apart until the end.

    torch.compile makes faster forward passes of this and faster backward passes of the other.
    """
    t = table(metric)
    xs = [x[k] * gate(x[0], "gelu") for k in range(t.n_component)]
    ys = [y[k] * gate(y[0], "gelu") for k in range(t.n_component)]
    rows = []
    for row in t.rows:
        parts = [weight[:, p] * pair(xs, ys, terms) for p, terms in sorted(row.items())]
        rows.append(reduce(add, parts))
    out = []
    for members in t.members:
        square = reduce(add, [rows[k] * rows[k] for k in members])
        scale = torch.rsqrt(square.mean(-1, keepdim=True) + 1e-6)
        out += [rows[k] * scale for k in members]
    return torch.stack(out)


def gelu_fcgp_norm(
    x: torch.Tensor,
    y: torch.Tensor,
    weight: torch.Tensor,
    metric: tuple[int, ...],
    normalize: bool = True,
    activation: str = "gelu",
    eps: float = 1e-6,
    norm_metric: str = "euclid",
) -> torch.Tensor:
    """Gate both inputs, multiply fully connected, normalise."""
    o = fcgp(mv_gelu(x, activation), mv_gelu(y, activation), weight, metric)
    return rms_norm(o, metric, eps, norm_metric) if normalize else o


def layer(
    x: torch.Tensor,
    weight: torch.Tensor,
    linear_weight: torch.Tensor,
    bias: torch.Tensor | None,
    metric: tuple[int, ...],
    normalize: bool = True,
    bias_mode: str = "scalar",
    use_fc: bool = False,
) -> torch.Tensor:
    """Multiply x with its linear map: the layer of flash-clifford."""
    y = linear(x, linear_weight, bias, metric, bias_mode)
    op = gelu_fcgp_norm if use_fc else gelu_sgp_norm
    return op(x, y, weight, metric, normalize)


def bfloat16_gradients(
    fcgp: Any, metric: str, n_in: int, n_out: int, device: str, seed: int
) -> list[tuple[Any, Any]]:
    """Return the gradients of a fully connected product of bfloat16, and those of float64."""
    torch.manual_seed(seed)
    squares = tuple({"+": 1, "-": -1, "0": 0}[sign] for sign in metric)
    t = table(squares)
    shapes = [(t.n_component, 5, n_in)] * 2 + [(t.n_path, n_in, n_out)]
    problem = [torch.randn(s, device=device).bfloat16().requires_grad_() for s in shapes]
    exact = [p.detach().double().requires_grad_() for p in problem]
    x, y, w = exact
    norm = "abs" if "-" in metric else "euclid"
    want = gelu_fcgp_norm(x, y, w, squares, norm_metric=norm)
    gz = torch.randn_like(want).bfloat16()
    x, y, w = problem
    found = torch.autograd.grad(fcgp(x, y, w, metric), problem, gz)
    return list(zip(found, torch.autograd.grad(want, exact, gz.double()), strict=True))


def gradient_errors(
    library: Any, kind: str, metric: str, norm: str, n: int, device: str, seed: int
) -> tuple[float, float]:
    """Return the relative errors of z and of the worst gradient in float32 against float64."""
    torch.manual_seed(1000 * seed + n)
    t = table(tuple({"+": 1, "-": -1, "0": 0}[sign] for sign in metric))
    n_row = 64 if n < 128 else 16
    root = math.sqrt(n)
    x, y, gz = torch.randn(3, t.n_component, n_row, n)
    w, fc = torch.randn(n, t.n_path), torch.randn(t.n_path, n, n) / root
    linear, bias = torch.randn(t.n_grade, n, n) / root, torch.randn(n)
    problem: dict[str, tuple[torch.Tensor, ...]] = {
        "norm": (x,),
        "sgp": (x, y, w),
        "fcgp": (x, y, fc),
        "layer": (x, w, linear, bias),
        "fc_layer": (x, fc, linear, bias),
    }
    function = {"norm": "rms_norm", "fc_layer": "layer"}.get(kind, kind)
    options = {"norm_metric": norm} | ({"use_fc": True} if kind == "fc_layer" else {})
    found = []
    for dtype in (torch.float32, torch.float64):
        inputs = [v.to(device, dtype).requires_grad_() for v in problem[kind]]
        z = getattr(library, function)(*inputs, metric, **options)
        found.append([z.detach(), *torch.autograd.grad(z, inputs, gz.to(device, dtype))])
    errors = [float((a - b).norm() / b.norm()) for a, b in zip(*found, strict=True)]
    return errors[0], max(errors[1:])
