"""Fits of files, by the original's names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tessera.xpcs._arguments import PathLike
from tessera.xpcs.utils.logging import get_logger

__all__ = ["load_nlsq_result_from_file"]

logger = get_logger(__name__)


def load_nlsq_result_from_file(nlsq_result_path: PathLike) -> dict[str, Any] | None:
    """Read parameters.json of a fit, for sampling to begin from.

    Parameters
    ----------
    nlsq_result_path : path
        The file, its folder, or the folder above ``nlsq``.

    Returns
    -------
    dict or None
        ``params``, ``uncertainties``, ``chi_squared`` and more; None, with a line in the log,
        where there is no such file.
    """
    path = Path(nlsq_result_path)
    if path.is_dir():
        places = (path / "nlsq" / "parameters.json", path / "parameters.json")
        path = places[0] if places[0].exists() else places[1]
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        values, errors = {}, {}
        for name, entry in content.get("parameters", {}).items():
            if isinstance(entry, dict) and "value" in entry:
                values[name] = float(entry["value"])
                if entry.get("uncertainty") is not None:
                    errors[name] = float(entry["uncertainty"])
            elif isinstance(entry, int | float):
                values[name] = float(entry)
    except (OSError, ValueError) as error:
        logger.warning("%s: no parameters of a fit: %s", path, error)
        return None
    if not values:
        logger.warning("%s: no parameters of a fit", path)
        return None
    facts = ("chi_squared", "reduced_chi_squared", "convergence_status", "analysis_mode")
    return {
        "params": values,
        "uncertainties": errors or None,
        **{name: content.get(name) for name in facts},
        "source_file": str(path),
    }
