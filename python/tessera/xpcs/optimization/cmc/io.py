"""Files of a sampling run, by the original's names."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import PathLike
from tessera.xpcs.optimization.cmc.diagnostics import create_diagnostics_dict

if TYPE_CHECKING:
    from tessera.xpcs.optimization.cmc.results import CMCResult

__all__ = [
    "SAMPLES_SCHEMA_VERSION",
    "load_samples_npz",
    "samples_to_arviz",
    "save_all_results",
    "save_diagnostics_json",
    "save_fitted_data_npz",
    "save_parameters_json",
    "save_samples_npz",
]

SAMPLES_SCHEMA_VERSION = (1, 0)


def save_samples_npz(result: CMCResult, output_path: PathLike) -> None:
    """Write draws and how they mixed.

    Parameters
    ----------
    result : CMCResult
        The draws.
    output_path : path
        The file.
    """
    names = result.param_names
    n_phi = sum(name.startswith("contrast_") for name in names) or int("contrast" in names)

    def column(values: Mapping[str, float]) -> npt.NDArray[Any]:
        return np.array([values.get(name, np.nan) for name in names])

    np.savez_compressed(
        output_path,
        schema_version=np.array(SAMPLES_SCHEMA_VERSION),
        posterior_samples=result.get_samples_array(),
        param_names=np.array(names),
        r_hat=column(result.r_hat),
        ess_bulk=column(result.ess_bulk),
        ess_tail=column(result.ess_tail),
        divergences=np.array([result.divergences]),
        analysis_mode=np.array([result.analysis_mode]),
        n_phi=np.array([n_phi]),
        n_chains=np.array([result.n_chains]),
        n_samples=np.array([result.n_samples]),
    )


def load_samples_npz(input_path: PathLike) -> dict[str, Any]:
    """Read what :func:`save_samples_npz` wrote.

    Parameters
    ----------
    input_path : path
        The file.

    Returns
    -------
    dict
        Draws, names and numbers.
    """
    path = Path(input_path).resolve()
    if not path.exists():
        raise FileNotFoundError(f"Samples file not found: {path}")
    if path.suffix != ".npz":
        raise ValueError(f"Expected .npz file, got: {path.suffix}")
    if not path.is_file():
        raise ValueError(f"Path is not a regular file: {path}")
    with np.load(path, allow_pickle=False) as file:
        found: dict[str, Any] = {name: file[name] for name in file.files}
    found["schema_version"] = tuple(found["schema_version"])
    found["param_names"] = found["param_names"].tolist()
    found["analysis_mode"] = str(found["analysis_mode"][0])
    for name in ("divergences", "n_phi", "n_chains", "n_samples"):
        found[name] = int(found[name][0])
    return found


def samples_to_arviz(samples_data: Mapping[str, Any]) -> Any:
    """Return draws of a file as ArviZ has them; needs arviz.

    Parameters
    ----------
    samples_data : dict
        Of :func:`load_samples_npz`.

    Returns
    -------
    arviz.InferenceData
        Group ``posterior``.
    """
    from tessera.xpcs.optimization.cmc.results import create_inference_data, samples_dict_from_array
    from tessera.xpcs.optimization.cmc.sampler import MCMCSamples

    draws, names = samples_data["posterior_samples"], list(samples_data["param_names"])
    by_name = samples_dict_from_array(draws, names)
    return create_inference_data(MCMCSamples(by_name, names, draws.shape[0], draws.shape[1]))


def save_fitted_data_npz(
    result: CMCResult,
    c2_exp: npt.NDArray[Any],
    c2_fitted: npt.NDArray[Any],
    c2_fitted_std: npt.NDArray[Any],
    t1: npt.NDArray[Any],
    t2: npt.NDArray[Any],
    phi_angles: npt.NDArray[Any],
    q: float,
    output_path: PathLike,
) -> None:
    """Write measured and fitted correlations, and the 5 and 95 % lines.

    Parameters
    ----------
    result : CMCResult
        Accepted for scripts of the original.
    c2_exp, c2_fitted, c2_fitted_std : ndarray
        Correlations and their standard deviations.
    t1, t2, phi_angles : ndarray
        Times and angles.
    q : float
        Wave vector.
    output_path : path
        The file.
    """
    del result
    reach = 1.645 * c2_fitted_std
    np.savez_compressed(
        output_path,
        c2_exp=c2_exp,
        c2_fitted=c2_fitted,
        residuals=c2_exp - c2_fitted,
        q=np.array([q]),
        phi_angles=phi_angles,
        t1=t1,
        t2=t2,
        c2_fitted_std=c2_fitted_std,
        c2_fitted_5pct=c2_fitted - reach,
        c2_fitted_95pct=c2_fitted + reach,
    )


def _plain(value: Any) -> Any:
    """Return what JSON can hold: NaN is null, infinity its word."""
    if isinstance(value, Mapping):
        return {key: _plain(own) for key, own in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(own) for own in value]
    if isinstance(value, np.integer | np.floating):
        value = float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _write(content: Any, path: PathLike) -> None:
    Path(path).write_text(json.dumps(_plain(content), indent=2), encoding="utf-8")


def save_parameters_json(result: CMCResult, output_path: PathLike) -> None:
    """Write the numbers of every parameter.

    Parameters
    ----------
    result : CMCResult
        The draws.
    output_path : path
        The file.
    """
    _write(result.get_posterior_stats(), output_path)


def save_diagnostics_json(
    result: CMCResult, output_path: PathLike, warnings: Sequence[str] | None = None
) -> None:
    """Write how well the chains mixed.

    Parameters
    ----------
    result : CMCResult
        The draws.
    output_path : path
        The file.
    warnings : list of str, optional
        Sentences to go with it.
    """
    found = create_diagnostics_dict(
        r_hat=result.r_hat,
        ess_bulk=result.ess_bulk,
        ess_tail=result.ess_tail,
        divergences=result.divergences,
        convergence_status=result.convergence_status,
        warnings=warnings or [],
        n_chains=result.n_chains,
        n_warmup=result.n_warmup,
        n_samples=result.n_samples,
        warmup_time=result.warmup_time,
        sampling_time=max(0.0, result.execution_time - result.warmup_time),
        num_shards=result.num_shards,
    )
    _write(found, output_path)


def save_all_results(
    result: CMCResult,
    output_dir: PathLike,
    c2_exp: npt.NDArray[Any] | None = None,
    c2_fitted: npt.NDArray[Any] | None = None,
    c2_fitted_std: npt.NDArray[Any] | None = None,
    t1: npt.NDArray[Any] | None = None,
    t2: npt.NDArray[Any] | None = None,
    phi_angles: npt.NDArray[Any] | None = None,
    q: float | None = None,
) -> dict[str, Path]:
    """Write all files of a run.

    Parameters
    ----------
    result : CMCResult
        The draws.
    output_dir : path
        Where to.
    c2_exp, c2_fitted, c2_fitted_std, t1, t2, phi_angles, q : optional
        As of :func:`save_fitted_data_npz`, which is called where all are given.

    Returns
    -------
    dict of Path
        ``samples``, ``parameters``, ``diagnostics`` and ``fitted_data``.
    """
    folder = Path(output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "samples": folder / "samples.npz",
        "parameters": folder / "parameters.json",
        "diagnostics": folder / "diagnostics.json",
    }
    save_samples_npz(result, files["samples"])
    save_parameters_json(result, files["parameters"])
    save_diagnostics_json(result, files["diagnostics"])
    surfaces = {
        "c2_exp": c2_exp,
        "c2_fitted": c2_fitted,
        "c2_fitted_std": c2_fitted_std,
        "t1": t1,
        "t2": t2,
        "phi_angles": phi_angles,
        "q": q,
    }
    if all(part is not None for part in surfaces.values()):
        files["fitted_data"] = folder / "fitted_data.npz"
        given: dict[str, Any] = surfaces
        save_fitted_data_npz(result, **given, output_path=files["fitted_data"])
    return files
