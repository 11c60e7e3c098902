"""Steps between reading and fitting: diagonal, normalisation, noise, checks.

Off unless ``preprocessing.enabled``. Normalisation changes what contrast and offset mean, and noise
reduction makes neighbours depend on each other, which error bars do not know of.
"""

from __future__ import annotations

import copy
import hashlib
import json
import logging
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from tessera.xpcs.data._noise import reduced
from tessera.xpcs.data._normalise import normalised
from tessera.xpcs.data.validation import KEYS

logger = logging.getLogger("tessera")


class PreprocessingError(Exception):
    """A step could not be done."""


class PreprocessingConfigurationError(Exception):
    """The section ``preprocessing`` says what cannot be."""


class PreprocessingStage(Enum):
    """Steps, in their order."""

    LOAD_RAW = "load_raw"
    APPLY_FILTERING = "apply_filtering"
    CORRECT_DIAGONAL = "correct_diagonal"
    NORMALIZE_DATA = "normalize_data"
    REDUCE_NOISE = "reduce_noise"
    STANDARDIZE_FORMAT = "standardize_format"
    VALIDATE_OUTPUT = "validate_output"


class NormalizationMethod(Enum):
    """What matrices are divided by."""

    BASELINE = "baseline"
    STATISTICAL = "statistical"
    PHYSICS_BASED = "physics_based"
    MINMAX = "minmax"
    ROBUST = "robust"


class NoiseReductionMethod(Enum):
    """Filters of matrices."""

    NONE = "none"
    MEDIAN = "median"
    GAUSSIAN = "gaussian"
    WIENER = "wiener"
    SAVGOL = "savgol"


@dataclass
class TransformationRecord:
    """What one step did.

    Parameters
    ----------
    stage : PreprocessingStage
        The step.
    method : str
        How.
    parameters : dict
        What the configuration says of it.
    timestamp, duration : float
        When and how long, in seconds.
    input_shape, output_shape : tuple
        Shapes of the matrices.
    memory_usage : float, optional
        GB.
    warnings : list of str
        What went wrong.
    """

    stage: PreprocessingStage
    method: str
    parameters: dict[str, Any]
    timestamp: float
    duration: float
    input_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    memory_usage: float | None = None
    warnings: list[str] = field(default_factory=list)


@dataclass
class PreprocessingProvenance:
    """What all steps did.

    Parameters
    ----------
    pipeline_id, config_hash : str
        Which steps.
    transformations : list of TransformationRecord
        The steps.
    total_duration : float
        Seconds.
    peak_memory_usage : float
        GB.
    warnings, errors : list of str
        What went wrong.
    """

    pipeline_id: str
    config_hash: str
    transformations: list[TransformationRecord] = field(default_factory=list)
    total_duration: float = 0.0
    peak_memory_usage: float = 0.0
    warnings: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it for JSON.

        Returns
        -------
        dict
            Plain values.
        """
        found = asdict(self)
        for record in found["transformations"]:
            record["stage"] = record["stage"].value
        return found


@dataclass
class PreprocessingResult:
    """Data after all steps.

    Parameters
    ----------
    data : dict
        The data.
    provenance : PreprocessingProvenance
        What was done.
    success : bool
        Whether any step could be done.
    stage_results : dict
        Whether each could.
    """

    data: dict[str, Any]
    provenance: PreprocessingProvenance
    success: bool = True
    stage_results: dict[PreprocessingStage, bool] = field(default_factory=dict)


_METHODS = {
    PreprocessingStage.CORRECT_DIAGONAL: "statistical",
    PreprocessingStage.NORMALIZE_DATA: "baseline",
    PreprocessingStage.REDUCE_NOISE: "none",
    PreprocessingStage.STANDARDIZE_FORMAT: "format_standardization",
    PreprocessingStage.VALIDATE_OUTPUT: "integrity_validation",
}


class PreprocessingPipeline:
    """The steps of a configuration.

    Parameters
    ----------
    config : dict
        ``preprocessing.stages`` has a section for each step: ``enabled``, ``method`` and more.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = config
        said = config.get("preprocessing", {})
        if not isinstance(said, Mapping):
            raise PreprocessingConfigurationError(
                "preprocessing configuration must be a dictionary"
            )
        self.preprocessing_config = said
        self.stages: Mapping[str, Any] = said.get("stages") or {}
        self._validate()
        self.enabled_stages = [
            stage
            for stage in PreprocessingStage
            if self.stages.get(stage.value, {}).get(
                "enabled", stage is not PreprocessingStage.REDUCE_NOISE
            )
        ]
        self.config_hash = hashlib.sha256(
            json.dumps(said, sort_keys=True, default=str).encode()
        ).hexdigest()
        self.pipeline_id = f"preprocess_{self.config_hash[:8]}_{int(time.time())}"

    def _validate(self) -> None:
        known = [stage.value for stage in PreprocessingStage]
        for name, section in self.stages.items():
            if name not in known:
                logger.warning("preprocessing.stages.%s: no such step; there are %s", name, known)
            if not isinstance(section, Mapping):
                raise PreprocessingConfigurationError(
                    f"Stage configuration for {name} must be a dictionary"
                )
        for name, what, methods in (
            ("normalize_data", "normalization", NormalizationMethod),
            ("reduce_noise", "noise reduction", NoiseReductionMethod),
        ):
            method = self.stages.get(name, {}).get("method")
            words = [item.value for item in methods]
            if method is not None and method not in words:
                raise PreprocessingConfigurationError(
                    f"Unknown {what} method: {method}; one of {', '.join(words)}"
                )

    def process(self, data: Mapping[str, Any]) -> PreprocessingResult:
        """Do all steps that are enabled.

        Parameters
        ----------
        data : dict
            What a loader gives; it stays as it is.

        Returns
        -------
        PreprocessingResult
            The data, and what was done. A step that fails is left out, or, with
            ``preprocessing.abort_on_error``, ends it all.
        """
        begin = time.time()
        provenance = PreprocessingProvenance(self.pipeline_id, self.config_hash)
        current = dict(data)
        done: dict[PreprocessingStage, bool] = {}
        for stage in self.enabled_stages:
            try:
                current, record = self._step(stage, current)
                provenance.transformations.append(record)
                done[stage] = True
            except (PreprocessingError, ValueError, KeyError, IndexError, ImportError) as error:
                done[stage] = False
                provenance.errors.append(f"Stage {stage.value} failed: {error}")
                logger.error("preprocessing.%s: %s", stage.value, error)
                if self.preprocessing_config.get("abort_on_error", False):
                    provenance.errors.append(f"Pipeline failed: at {stage.value}")
                    return PreprocessingResult(dict(data), provenance, False, {})
        provenance.total_duration = time.time() - begin
        success = not done or any(done.values())
        return PreprocessingResult(current, provenance, success, done)

    def _step(
        self, stage: PreprocessingStage, data: dict[str, Any]
    ) -> tuple[dict[str, Any], TransformationRecord]:
        begin = time.time()
        said = dict(self.stages.get(stage.value, {}))
        before = np.shape(data.get("c2_exp", ()))
        method = said.get("method", _METHODS.get(stage, "passthrough"))
        if stage is PreprocessingStage.CORRECT_DIAGONAL:
            data = data | {"c2_exp": _diagonal(data["c2_exp"], method, said)}
        elif stage is PreprocessingStage.NORMALIZE_DATA:
            data = data | {"c2_exp": normalised(data["c2_exp"], method, said)}
        elif stage is PreprocessingStage.REDUCE_NOISE:
            data = data | {"c2_exp": reduced(data["c2_exp"], method, said)}
        elif stage is PreprocessingStage.STANDARDIZE_FORMAT:
            data = _standard(data)
        elif stage is PreprocessingStage.VALIDATE_OUTPUT:
            _check_output(data)
        after = np.shape(data.get("c2_exp", ()))
        took = time.time() - begin
        return data, TransformationRecord(stage, method, said, begin, took, before, after)

    def save_provenance(
        self, provenance: PreprocessingProvenance, filepath: str | os.PathLike[str]
    ) -> None:
        """Write what was done as JSON.

        Parameters
        ----------
        provenance : PreprocessingProvenance
            What.
        filepath : path
            Where.
        """
        path = Path(filepath)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(provenance.to_dict(), indent=2, default=str), encoding="utf-8")

    def load_provenance(self, filepath: str | os.PathLike[str]) -> PreprocessingProvenance:
        """Read what was written.

        Parameters
        ----------
        filepath : path
            Where.

        Returns
        -------
        PreprocessingProvenance
            What was done.
        """
        found = json.loads(Path(filepath).read_text(encoding="utf-8"))
        records = []
        for record in found.pop("transformations", []):
            record["stage"] = PreprocessingStage(record["stage"])
            for key in ("input_shape", "output_shape"):
                record[key] = tuple(record[key])
            records.append(TransformationRecord(**record))
        return PreprocessingProvenance(transformations=records, **found)


def _diagonal(matrices: Any, method: str, said: Mapping[str, Any]) -> Any:
    from tessera.xpcs.core.diagonal_correction import (
        apply_diagonal_correction_batch,
        get_diagonal_correction_methods,
    )

    known = get_diagonal_correction_methods()
    if method not in known:
        raise PreprocessingError(
            f"preprocessing.stages.correct_diagonal.method: {method!r} is none of "
            f"{', '.join(known)}"
        )
    options = {key: value for key, value in said.items() if key not in ("enabled", "method")}
    return apply_diagonal_correction_batch(
        np.asarray(matrices), method=method, backend="numpy", **options
    )


def _standard(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return data whose arrays are float64."""
    found = {key: copy.copy(value) for key, value in data.items()}
    for key in KEYS:
        if key in data:
            found[key] = np.array(data[key], np.float64)
    sizes = {key: len(found[key]) for key in KEYS if key in found and key not in ("t1", "t2")}
    if len(set(sizes.values())) > 1:
        logger.warning("preprocessing: Inconsistent array lengths: %s", sizes)
    return found


def _check_output(data: Mapping[str, Any]) -> None:
    for key in KEYS:
        if key not in data:
            raise PreprocessingError(f"Missing required data key: {key}")
        if not np.isfinite(np.asarray(data[key])).all():
            raise PreprocessingError(f"Non-finite values found in {key}")
    for place, matrix in enumerate(np.asarray(data["c2_exp"])):
        if (matrix < 0).any():
            logger.warning("Negative correlation values found in matrix %d", place)
    if len(data["t1"]) != len(data["t2"]):
        logger.warning("Time arrays have different lengths")
    elif (np.diff(np.asarray(data["t1"])) < 0).any():
        logger.warning("t1 array is not monotonically increasing")


def create_default_preprocessing_config() -> dict[str, Any]:
    """Return a section ``preprocessing`` that does the usual steps.

    Returns
    -------
    dict
        With its section's name.
    """
    stages = {
        "correct_diagonal": {
            "enabled": True,
            "method": "statistical",
            "window_size": 3,
            "estimator": "median",
        },
        "normalize_data": {"enabled": True, "method": "baseline"},
        "reduce_noise": {"enabled": False, "method": "none", "kernel_size": 3, "sigma": 1.0},
        "standardize_format": {"enabled": True},
        "validate_output": {"enabled": True},
    }
    section = {
        "enabled": True,
        "cache_intermediates": False,
        "progress_reporting": True,
        "abort_on_error": False,
        "stages": stages,
    }
    return {"preprocessing": section}


def preprocess_xpcs_data(
    data: Mapping[str, Any], config: Mapping[str, Any] | None = None
) -> PreprocessingResult:
    """Do the steps of a configuration.

    Parameters
    ----------
    data : dict
        What a loader gives.
    config : dict, optional
        The configuration; by default :func:`create_default_preprocessing_config`.

    Returns
    -------
    PreprocessingResult
        The data, and what was done.
    """
    pipeline = PreprocessingPipeline(
        create_default_preprocessing_config() if config is None else config
    )
    return pipeline.process(data)


__all__ = [
    "NoiseReductionMethod",
    "NormalizationMethod",
    "PreprocessingConfigurationError",
    "PreprocessingError",
    "PreprocessingPipeline",
    "PreprocessingProvenance",
    "PreprocessingResult",
    "PreprocessingStage",
    "create_default_preprocessing_config",
    "preprocess_xpcs_data",
]
