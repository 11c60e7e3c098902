"""What ``torch.utils.flop_counter.FlopCounterMode`` counts for the operators.

A multiplication with its addition counts two, as torch counts matrix products. Of a product of
multivectors every term of the table does, and every matrix product of weights that mix features;
gates and norms count nothing, as torch's own functions of single items do. A pass backward costs
what the pass forward costs for each gradient that is wanted.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack
from torch.utils.flop_counter import flop_registry, register_flop_formula

from tessera.clifford._spec import algebra_of, read_spec
from tessera.clifford._torch_call import is_connected, is_layer

_LINEAR_WEIGHT, _WEIGHT = 3, 2


@cache
def _sizes(spec: str) -> tuple[int, int]:
    """Return the terms of the table that take part, and the pairs of a path and a component."""
    metric, _, mask = read_spec(spec)
    pairs = set()
    n_term = 0
    for component, _, _, _, path in algebra_of(metric)["terms"]:
        if mask is None or mask >> path & 1:
            n_term += 1
            pairs.add((path, component))
    return n_term, len(pairs)


def _forward(kind: str, spec: str, inputs: tuple[Any, ...]) -> dict[str, int]:
    """Return operations of the linear map, of the terms and of the matrix products."""
    n_component, n_row, n_in = inputs[0]
    found = {"linear": 0, "terms": 0, "matrices": 0}
    if kind == "linear" or is_layer(kind):
        n_out = inputs[_LINEAR_WEIGHT][2]
        found["linear"] = 2 * n_component * n_row * n_in * n_out
    if kind in ("sgp", "fcgp") or is_layer(kind):
        n_term, n_pair = _sizes(spec)
        found["terms"] = 2 * n_term * n_row * n_in
        if is_connected(kind):
            found["matrices"] = 2 * n_pair * n_row * n_in * inputs[_WEIGHT][2]
    return found


def _backward(kind: str, spec: str, inputs: tuple[Any, ...], wanted: int) -> int:
    parts = _forward(kind, spec, inputs)
    x, y, weight, linear_weight = (wanted >> i & 1 for i in range(4))
    by_right = (x | linear_weight) if is_layer(kind) else y
    products = x + by_right + weight
    matrices = (x | by_right) + weight
    linear = x + linear_weight
    return linear * parts["linear"] + products * parts["terms"] + matrices * parts["matrices"]


def _active() -> list[dict[Any, Any]]:
    """Return the tables of modes that count already: torch copies its own when one begins."""
    counters = (getattr(mode, "counter", mode) for mode in _get_current_dispatch_mode_stack())
    return [c.flop_registry for c in counters if hasattr(c, "flop_registry")]


def register(kind: str) -> None:
    """Tell torch of the operators of a kind."""

    def forward(*args: Any, out_shape: Any = None, **_: Any) -> int:
        return sum(_forward(kind, args[5], args[:5]).values())

    def backward(*args: Any, out_shape: Any = None, **_: Any) -> int:
        return _backward(kind, args[9], args[1:6], args[10])

    def jvp(*args: Any, out_shape: Any = None, **_: Any) -> int:
        wanted = sum(1 << i for i, t in enumerate(args[5:10]) if t is not None)
        return _backward(kind, args[10], args[:5], wanted)

    def double(*args: Any, out_shape: Any = None, **_: Any) -> int:
        # Products of every pair of what has a cotangent and what is wanted.
        given = sum(1 << i for i, t in enumerate(args[6:11]) if t is not None)
        n_wanted = bin(args[12]).count("1")
        return n_wanted * _backward(kind, args[11], args[1:6], given)

    active = _active()
    ops = torch.ops.tessera
    name = f"clifford_{kind}"
    for suffix, formula in (
        ("", forward),
        ("_backward", backward),
        ("_jvp", jvp),
        ("_double_backward", double),
    ):
        packet = getattr(ops, name + suffix)
        register_flop_formula(packet)(formula)
        for registry in active:
            registry[packet] = flop_registry[packet]
