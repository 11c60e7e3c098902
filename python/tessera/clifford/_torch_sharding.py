"""How operators act on tensors that several processes share (``torch.distributed.tensor.DTensor``).

Rows do not depend on each other: processes that have some rows each (``Shard(1)`` of component,
row, feature) compute theirs, with weights that all have (``Replicate()``); gradients of weights are
sums over the processes (``Partial()``). Gates do not mix features either (``Shard(2)``). Whatever
else is asked for, DTensor moves the tensors into one of these ways first.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor.experimental import register_sharding

from tessera.clifford._spec import KINDS
from tessera.clifford._torch_call import LINEAR_OUT, STATISTICS

_N_ACTIVATION = 2  # x and y among the five inputs

Rule = tuple[list[Any], list[Any]]


def _inputs(tensors: tuple[Any, ...], activation: Any) -> list[Any]:
    """Return placements of the five inputs, of their cotangents or tangents."""
    return [
        None if t is None else activation if i < _N_ACTIVATION else Replicate()
        for i, t in enumerate(tensors)
    ]


def _gradients(wanted: int, activation: Any, weight: Any) -> list[Any]:
    """Return placements of five gradients; an empty tensor stands for one that is not wanted."""
    return [
        Replicate() if not wanted >> i & 1 else activation if i < _N_ACTIVATION else weight
        for i in range(5)
    ]


def _kept(t: Any, placement: Any) -> Any:
    return Replicate() if len(t.shape) == 1 and t.shape[0] == 0 else placement


def _ways(kind: str) -> list[tuple[Any, Any]]:
    """Return placements of activations, and of gradients of weights beside them."""
    ways: list[tuple[Any, Any]] = [(Shard(1), Partial()), (Replicate(), Replicate())]
    return ways if kind != "gate" else [(Shard(2), Replicate()), *ways]


def _register(kind: str) -> None:
    ops = torch.ops.tessera
    name = f"clifford_{kind}"

    @register_sharding(getattr(ops, name).default)  # type: ignore[untyped-decorator]
    def forward(*args: Any) -> list[Rule]:
        keep = args[6]
        return [
            (
                [
                    way,
                    way if keep & STATISTICS else Replicate(),
                    way if keep & LINEAR_OUT else Replicate(),
                ],
                [*_inputs(args[:5], way), None, None],
            )
            for way, _ in _ways(kind)
        ]

    @register_sharding(getattr(ops, f"{name}_backward").default)  # type: ignore[untyped-decorator]
    def backward(*args: Any) -> list[Rule]:
        return [
            (
                _gradients(args[10], way, sums),
                [way, *_inputs(args[1:6], way), *(_kept(t, way) for t in args[6:9]), None, None],
            )
            for way, sums in _ways(kind)
        ]

    @register_sharding(getattr(ops, f"{name}_jvp").default)  # type: ignore[untyped-decorator]
    def jvp(*args: Any) -> list[Rule]:
        return [
            ([way], [*_inputs(args[:5], way), *_inputs(args[5:10], way), None])
            for way, _ in _ways(kind)
        ]

    @register_sharding(  # type: ignore[untyped-decorator]
        getattr(ops, f"{name}_double_backward").default
    )
    def double(*args: Any) -> list[Rule]:
        wanted = args[12]
        return [
            (
                [way if wanted & 1 else Replicate(), *_gradients(wanted >> 1, way, sums)],
                [way, *_inputs(args[1:6], way), *_inputs(args[6:11], way), None, None],
            )
            for way, sums in _ways(kind)
        ]


_registered: set[str] = set()


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def register() -> None:
    """Tell torch of all operators, once; compilers call it while they trace."""
    for kind in KINDS:
        if kind not in _registered:
            _registered.add(kind)
            _register(kind)
