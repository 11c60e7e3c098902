"""What notebooks show of algebras, operations and modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tessera._html import Card, Table

if TYPE_CHECKING:
    from tessera.clifford._algebra import Algebra


def of_algebra(algebra: Algebra) -> str:
    """Return the card of an algebra."""
    plus, minus, null = (algebra.metric.count(square) for square in (1, -1, 0))
    facts = {
        "signature": f"Cl({plus},{minus},{null}), symbols square to {algebra.signs}",
        "components": f"{algebra.n_component} on axis {algebra.axis}",
        "paths of grades": f"{algebra.n_path}, {len(algebra.table)} terms",
    }
    rows = []
    for grade in range(algebra.n_grade):
        names = [
            blade for blade, of in zip(algebra.blades, algebra.grade_of, strict=True) if of == grade
        ]
        rows.append((grade, len(names), " ".join(names)))
    table = Table(("grade", "components", "blades"), rows)
    return Card(f"Clifford algebra {algebra.signs}", facts, tables=[table]).html()


def of_operation(kind: str, spec: str) -> str:
    """Return the card of an operation."""
    metric, *options = spec.split("|")
    facts = {"kind": kind, "algebra": metric, "options": ", ".join(options) or "defaults"}
    return Card("Clifford operation", facts).html()


def of_module(module: Any) -> str:
    """Return the card of a module of torch."""
    parameters = list(module.named_parameters())
    facts = {
        "settings": module.extra_repr(),
        "parameters": f"{sum(p.numel() for _, p in parameters):,}",
        "mode": "training" if module.training else "evaluation",
    }
    rows = [
        (name, " by ".join(map(str, p.shape)), str(p.dtype).removeprefix("torch."), str(p.device))
        for name, p in parameters
    ]
    tables = [Table(("parameter", "shape", "type", "device"), rows)] if rows else []
    return Card(type(module).__name__, facts, tables=tables).html()
