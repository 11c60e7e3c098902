"""What notebooks show of data and of fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera._html import Card, Table, size_text
from tessera.xpcs._arguments import parameters

if TYPE_CHECKING:
    from tessera.xpcs._data import Data
    from tessera.xpcs._result import Result


def of_data(data: Data) -> str:
    """Return the card of correlations."""
    facts = {
        "angles": ", ".join(f"{phi:g}°" for phi in data.phi[:12].tolist())
        + ", ..." * (data.n_angle > 12),
        "q": f"{data.q.min():.4g} to {data.q.max():.4g} 1/Å",
        "frames": f"{data.n_frame:,}, {data.dt:g} s apart",
        "gap": f"{data.gap:g} Å" if data.gap else "not known",
        "points of a fit": f"{data.n_used:,}",
        "size": f"{size_text(data.nbytes)} of {data.dtype}, in {data.residency}",
        "standard deviations": "one per point" if data.has_sigma else "none",
        "from": data.path or data.layout,
    }
    return Card("Two-time correlations", facts, warnings=data.notes).html()


def of_result(result: Result) -> str:
    """Return the card of a fit."""
    facts = {
        "mode": result.mode,
        "fitted": f"{result.n_used:,} points of {len(result.phi)} angles, {result.n_free} free",
        "reduced χ²": f"{result.reduced_chi2:.6g}",
        "went": f"{result.convergence_status} after {result.iterations} iterations, "
        f"{result.seconds['total']:.3g} s on {result.device}",
        "noise": f"{result.sigma_mode}" + " (default)" * result.sigma_is_default,
        "scaling": f"{result.scaling}: contrast {result.contrast.mean():.4g}, "
        f"offset {result.offset.mean():.4g} on average",
        "data": result.data_path or "in memory",
    }
    units = {entry["name"]: entry["unit"] for entry in parameters(result.mode)}
    n = 2 * len(result.contrast)
    rows = []
    for k, (name, (lower, upper)) in enumerate(result.intervals.items()):
        is_fixed = result.status[n + k] == "fixed"
        rows.append(
            (
                name,
                float(result.theta[k]),
                "" if is_fixed else float(result.theta_uncertainties[k]),
                "" if is_fixed else f"{lower:.5g} to {upper:.5g}",
                units[name],
                result.status[n + k],
            )
        )
    header = ("parameter", "value", "sd", "95 % interval", "unit", "state")
    tables = [Table(header, rows)]
    if len(result.basins) > 1:
        found = (
            (float(basin["excess"]), *map(float, basin["theta"])) for basin in result.basins[1:]
        )
        caption = "Other minima: χ² above the best in reduced χ², and where"
        tables.append(Table(("excess", *result.physical_names), found, caption))
    verdict = {"good": "good", "marginal": "fair", "poor": "poor"}.get(result.quality_flag, "")
    return Card(
        "Fit of two-time correlations",
        facts,
        result.quality_flag,
        verdict if result.success else "poor",
        tables,
        result.warnings,
    ).html()
