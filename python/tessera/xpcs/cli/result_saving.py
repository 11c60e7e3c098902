"""Files of fits and of sampling runs, by the original's names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tessera.xpcs._arguments import PathLike
from tessera.xpcs._result import Result
from tessera.xpcs.io.json_utils import json_serializer
from tessera.xpcs.io.mcmc_writers import (
    create_mcmc_analysis_dict,
    create_mcmc_diagnostics_dict,
    create_mcmc_parameters_dict,
)
from tessera.xpcs.optimization.cmc.io import save_samples_npz

__all__ = ["save_mcmc_results", "save_nlsq_results"]


def save_nlsq_results(
    result: Result, data: Mapping[str, Any], config: Any, output_dir: PathLike
) -> None:
    """Write the files of a fit into ``nlsq`` of a folder, replacing those that are there.

    Parameters
    ----------
    result : Result
        The fit, which knows its data and model.
    data, config
        Accepted for scripts of the original.
    output_dir : path
        Where to.
    """
    del data, config
    if not isinstance(result, Result):
        raise TypeError(
            f"result: expected a result of tessera.xpcs.fit(), got {type(result).__name__}"
        )
    result.save(output_dir, overwrite=True)


def save_mcmc_results(
    result: Any, data: Mapping[str, Any], config: Any, output_dir: PathLike
) -> None:
    """Write the files of a sampling run into ``cmc`` of a folder.

    Parameters
    ----------
    result : CMCResult
        Draws.
    data : dict
        Of the loader.
    config
        Accepted for scripts of the original.
    output_dir : path
        Gets ``cmc/parameters.json``, ``analysis_results_cmc.json``, ``diagnostics.json`` and
        ``samples.npz``.
    """
    del config
    folder = Path(output_dir) / "cmc"
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "parameters.json": create_mcmc_parameters_dict(result),
        "analysis_results_cmc.json": create_mcmc_analysis_dict(result, data, "cmc"),
        "diagnostics.json": create_mcmc_diagnostics_dict(result),
    }
    for name, content in files.items():
        text = json.dumps(content, indent=2, default=json_serializer)
        (folder / name).write_text(text, encoding="utf-8")
    save_samples_npz(result, folder / "samples.npz")
