"""Checks of values by the names of the original; each raises or returns nothing."""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode import _data
from tessera.decode.exceptions import (
    DataError,
    ShapeValidationError,
    TypeValidationError,
    ValidationError,
)

if TYPE_CHECKING:
    from tessera.decode._types import ArrayLike

_ROUNDING = 1e-6  # how far a sum of probabilities may be from 1


def ensure_probability_distribution(
    arr: ArrayLike, name: str, tolerance: float = _ROUNDING
) -> None:
    """Refuse probabilities that do not sum to 1."""
    total = float(np.sum(_data.array_of(arr, name)))
    if not np.isclose(total, 1.0, atol=tolerance):
        raise ValidationError(
            f"{name} is no probability distribution",
            expected="sum = 1.0",
            got=f"sum = {total:.6f}",
            hint=f"divide by the sum: {name} / {name}.sum()",
        )


def ensure_positive_scalar(
    value: float, name: str, minimum: float = 0.0, strict: bool = True
) -> None:
    """Refuse what is not above a minimum; ``strict=False`` lets the minimum itself pass."""
    sign = ">" if strict else ">="
    if not (value > minimum if strict else value >= minimum):
        raise ValidationError(
            f"{name} is too small", expected=f"{name} {sign} {minimum}", got=f"{name} = {value}"
        )


def ensure_array_1d(arr: ArrayLike, name: str) -> None:
    """Refuse an array that has not exactly one axis."""
    shape = np.shape(_data.array_of(arr, name))
    if len(shape) != 1:
        raise ShapeValidationError(
            f"{name} is not 1-dimensional",
            expected="shape (n,)",
            got=f"shape {shape}",
            hint=f"{name}.ravel() makes one axis of all",
        )


def ensure_all_finite(arr: ArrayLike, name: str) -> None:
    """Refuse NaN and infinity."""
    values = _data.array_of(arr, name)
    if not np.all(np.isfinite(values)):
        raise DataError(
            f"{name} has non-finite values",
            data_name=name,
            hint=f"{int(np.isnan(values).sum())} are NaN, {int(np.isinf(values).sum())} are Inf",
        )


def ensure_all_non_negative(arr: ArrayLike, name: str) -> None:
    """Refuse values below 0."""
    values = _data.array_of(arr, name)
    if np.any(values < 0):
        raise ValidationError(
            f"{name} must be non-negative",
            expected="all values >= 0",
            got=f"{int(np.sum(values < 0))} below 0, the least is {float(np.min(values)):.6f}",
        )


def ensure_in_range(arr: ArrayLike, name: str, low: float, high: float) -> None:
    """Refuse values outside of a range; its ends belong to it."""
    values = _data.array_of(arr, name)
    if np.any(values < low) or np.any(values > high):
        raise ValidationError(
            f"{name} leaves the range [{low}, {high}]",
            expected=f"all values in [{low}, {high}]",
            got=f"values in [{float(np.min(values)):.6f}, {float(np.max(values)):.6f}]",
        )


def ensure_square_matrix(matrix: ArrayLike, name: str) -> None:
    """Refuse what has not two axes of one length."""
    shape = np.shape(_data.array_of(matrix, name))
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ShapeValidationError(
            f"{name} is no square matrix", expected="shape (n, n)", got=f"shape {shape}"
        )


def ensure_stochastic_matrix(matrix: ArrayLike, name: str, tolerance: float = _ROUNDING) -> None:
    """Refuse a matrix whose rows do not sum to 1."""
    sums = np.sum(_data.array_of(matrix, name), axis=1)
    wrong = np.flatnonzero(~np.isclose(sums, 1.0, atol=tolerance))
    if wrong.size:
        raise ValidationError(
            f"{name} is not row-stochastic: rows must sum to 1",
            expected="all row sums = 1.0",
            got=f"rows {wrong.tolist()} sum to {sums[wrong].tolist()}",
            hint=f"divide by the sums: {name} / {name}.sum(axis=1, keepdims=True)",
        )


def ensure_ndarray(value: Any, name: str) -> None:
    """Refuse what is no array of NumPy's."""
    if not isinstance(value, np.ndarray):
        raise TypeValidationError(
            f"{name} is no numpy array",
            expected="numpy.ndarray",
            got=type(value).__name__,
            hint=f"numpy.asarray({name}) makes one",
        )


def ensure_monotonic_increasing(arr: ArrayLike, name: str, strict: bool = False) -> None:
    """Refuse values that go down; with ``strict=True`` those that stay, too."""
    values = _data.array_of(arr, name)
    steps = np.diff(values)
    wrong = np.flatnonzero(~(steps > 0 if strict else steps >= 0))
    if wrong.size:
        i = int(wrong[0])
        word = "strictly increasing" if strict else "increasing"
        raise DataError(
            f"{name} is not {word}",
            data_name=name,
            hint=f"after index {i}, {values[i]:.6f} is followed by {values[i + 1]:.6f}; times "
            "that are twice there or out of order do that",
        )


def ensure_matching_lengths(arr1: Sized, arr2: Sized, name1: str, name2: str) -> None:
    """Refuse two that have not the same length."""
    if len(arr1) != len(arr2):
        raise ShapeValidationError(
            f"Length mismatch: {name1} has {len(arr1)} entries, {name2} has {len(arr2)}",
            expected=f"{len(arr1)} entries in {name2}",
            got=f"{len(arr2)}",
        )


def ensure_networkx_graph(value: Any, name: str) -> None:
    """Refuse what is no graph of networkx."""
    try:
        import networkx as nx
    except ImportError as error:
        raise ValidationError(
            f"{name}: NetworkX is required", hint="pip install networkx"
        ) from error
    if not isinstance(value, nx.Graph):
        raise TypeValidationError(
            f"{name} must be a NetworkX Graph",
            expected="networkx.Graph",
            got=type(value).__name__,
        )


def ensure_graph_has_nodes(graph: Any, name: str, min_nodes: int = 2) -> None:
    """Refuse a graph with fewer nodes."""
    n = graph.number_of_nodes()
    if n < min_nodes:
        raise ValidationError(
            f"{name} has too few nodes",
            expected=f"at least {min_nodes} node(s)",
            got=f"{n} node(s)",
        )


def ensure_graph_has_edges(graph: Any, name: str, min_edges: int = 1) -> None:
    """Refuse a graph with fewer edges."""
    n = graph.number_of_edges()
    if n < min_edges:
        raise ValidationError(
            f"{name} has too few edges",
            expected=f"at least {min_edges} edge(s)",
            got=f"{n} edge(s)",
        )


def _ensure_attribute(
    things: Any, what: str, name: str, attribute: str, sample_value_type: type | None
) -> None:
    for thing, values in things:
        if attribute not in values:
            raise ValidationError(
                f"{name} {what} missing required attribute '{attribute}'",
                expected=f"every {what[:-1]} with '{attribute}'",
                got=f"{what[:-1]} {thing} without it",
            )
        if sample_value_type is not None and not isinstance(values[attribute], sample_value_type):
            raise TypeValidationError(
                f"{name} {what} have a wrong type of '{attribute}'",
                expected=sample_value_type.__name__,
                got=f"{type(values[attribute]).__name__} at {what[:-1]} {thing}",
            )


def ensure_graph_nodes_have_attribute(
    graph: Any, name: str, attribute: str, sample_value_type: type | None = None
) -> None:
    """Refuse a graph with a node that lacks an attribute, or has it of another type."""
    _ensure_attribute(graph.nodes(data=True), "nodes", name, attribute, sample_value_type)


def ensure_graph_edges_have_attribute(
    graph: Any, name: str, attribute: str, sample_value_type: type | None = None
) -> None:
    """Refuse a graph with an edge that lacks an attribute, or has it of another type."""
    edges = (((a, b), values) for a, b, values in graph.edges(data=True))
    _ensure_attribute(edges, "edges", name, attribute, sample_value_type)
