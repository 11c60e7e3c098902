"""Options of the original's solver: their names, places in a configuration, and checks.

What of them changes a fit here is read by the engine from the configuration; this class is for
scripts that take a configuration apart themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from tessera.xpcs.utils.logging import get_logger

VALID_LOSS_FUNCTIONS = {"linear", "soft_l1", "huber", "cauchy", "arctan"}

# Where in the section ``optimization.nlsq`` a field lies, by how its name begins.
_SECTIONS = {
    "hybrid_": "hybrid_streaming",
    "multi_start_": "multi_start",
    "hierarchical_": "anti_degeneracy.hierarchical",
    "regularization_": "anti_degeneracy.regularization",
    "gradient_": "anti_degeneracy.gradient_monitoring",
    "cmaes_": "cmaes",
    "quality_": "quality_validation",
}
_PLACES = {
    "ftol": "tolerance",
    "enable_diagnostics": "diagnostics.enable",
    "enable_streaming": "streaming.enable",
    "streaming_chunk_size": "streaming.chunk_size",
    "enable_stratified": "stratified.enable",
    "target_chunk_size": "stratified.target_chunk_size",
    "enable_recovery": "recovery.enable",
    "max_recovery_attempts": "recovery.max_attempts",
    "enable_progress_bar": "progress.enable",
    "verbose": "progress.verbose",
    "log_iteration_interval": "progress.log_interval",
    "enable_hybrid_streaming": "hybrid_streaming.enable",
    "enable_multi_start": "multi_start.enable",
    "per_angle_mode": "anti_degeneracy.per_angle_mode",
    "fourier_order": "anti_degeneracy.fourier_order",
    "fourier_auto_threshold": "anti_degeneracy.fourier_auto_threshold",
    "constant_scaling_threshold": "anti_degeneracy.constant_scaling_threshold",
    "enable_hierarchical": "anti_degeneracy.hierarchical.enable",
    "group_variance_lambda": "anti_degeneracy.regularization.lambda",
    "enable_gradient_monitoring": "anti_degeneracy.gradient_monitoring.enable",
    "gradient_collapse_response": "anti_degeneracy.gradient_monitoring.response",
    "enable_cmaes": "cmaes.enable",
    "enable_quality_validation": "quality_validation.enable",
}
_CHOICES = {
    "loss": sorted(VALID_LOSS_FUNCTIONS),
    "hybrid_normalization_strategy": ["auto", "bounds", "p0", "none"],
    "multi_start_sampling_strategy": ["latin_hypercube", "random"],
    "per_angle_mode": ["individual", "constant", "fourier", "auto"],
    "regularization_mode": ["absolute", "relative", "auto"],
    "gradient_collapse_response": ["warn", "hierarchical", "reset", "abort"],
    "cmaes_preset": ["cmaes-fast", "cmaes", "cmaes-global"],
    "cmaes_restart_strategy": ["none", "bipop"],
    "cmaes_refinement_workflow": ["auto", "standard", "streaming"],
    "cmaes_refinement_loss": sorted(VALID_LOSS_FUNCTIONS),
}
_POSITIVE = [
    "trust_region_scale",
    "ftol",
    "xtol",
    "gtol",
    "max_iterations",
    "streaming_chunk_size",
    "target_chunk_size",
    "hybrid_warmup_iterations",
    "hybrid_max_warmup_iterations",
    "hybrid_warmup_learning_rate",
    "hybrid_gauss_newton_max_iterations",
    "hybrid_gauss_newton_tol",
    "hybrid_chunk_size",
    "hybrid_warm_start_threshold",
    "hybrid_warmup_lr_refinement",
    "hybrid_warmup_lr_careful",
    "hybrid_max_warmup_step_size",
    "multi_start_n_starts",
    "multi_start_refinement_ftol",
    "hierarchical_max_outer_iterations",
    "hierarchical_outer_tolerance",
    "hierarchical_physical_max_iterations",
    "hierarchical_per_angle_max_iterations",
    "group_variance_lambda",
    "gradient_ratio_threshold",
    "gradient_consecutive_triggers",
    "cmaes_max_generations",
    "cmaes_popsize",
    "cmaes_warmstart_skip_threshold",
    "cmaes_tol_fun",
    "cmaes_tol_x",
    "cmaes_population_batch_size",
    "cmaes_data_chunk_size",
    "cmaes_scale_threshold",
    "cmaes_memory_limit_gb",
    "cmaes_refinement_ftol",
    "cmaes_refinement_xtol",
    "cmaes_refinement_gtol",
    "cmaes_refinement_max_nfev",
]
_NOT_NEGATIVE = [
    "max_recovery_attempts",
    "multi_start_n_workers",
    "multi_start_refine_top_k",
    "cmaes_max_restarts",
]
_ONE_OR_MORE = ("fourier_order", "fourier_auto_threshold", "constant_scaling_threshold")
_BELOW_ONE = [
    "hybrid_cost_increase_tolerance",
    "multi_start_degeneracy_threshold",
    "regularization_target_cv",
    "regularization_target_contribution",
    "regularization_max_cv",
]
_UP_TO_ONE = ("multi_start_screen_keep_fraction", "cmaes_sigma", "cmaes_sigma_warmstart")
_TESTS: tuple[tuple[Sequence[str], Callable[[Any], bool], str], ...] = (
    (_POSITIVE, lambda value: value > 0, "be positive"),
    (_NOT_NEGATIVE, lambda value: value >= 0, "be non-negative"),
    (_ONE_OR_MORE, lambda value: value >= 1, "be >= 1"),
    (_BELOW_ONE, lambda value: 0 < value < 1, "be in (0, 1)"),
    (_UP_TO_ONE, lambda value: 0 < value <= 1, "be in (0, 1]"),
)


def _converted(value: Any, default: Any, kind: type) -> Any:
    if value is None:
        return default
    try:
        return kind(value)
    except (ValueError, TypeError):
        get_logger(__name__).warning(f"{value!r} is not a number: {default} is used")
        return default


def safe_float(value: Any, default: float) -> float:
    """Return a number, or another where it is none."""
    return float(_converted(value, default, float))


def safe_int(value: Any, default: int) -> int:
    """Return a whole number, or another where it is none."""
    return int(_converted(value, default, int))


def _place(name: str) -> str:
    """Return where in the section a field lies."""
    if name in _PLACES:
        return _PLACES[name]
    for prefix, section in _SECTIONS.items():
        if name.startswith(prefix):
            return f"{section}.{name.removeprefix(prefix)}"
    return name


@dataclass
class HybridRecoveryConfig:
    """How the original tries again."""

    max_retries: int = 3
    lr_decay: float = 0.5
    lambda_growth: float = 2.0
    trust_decay: float = 0.5
    log_retries: bool = True

    def get_retry_settings(self, attempt: int) -> dict[str, float]:
        """Return what is multiplied at a try."""
        return {
            "lr_multiplier": self.lr_decay**attempt,
            "lambda_multiplier": self.lambda_growth**attempt,
            "trust_multiplier": self.trust_decay**attempt,
        }


@dataclass
class NLSQConfig:
    """Options of the original's solver."""

    workflow: str = "auto"
    goal: str = "quality"
    loss: str = "soft_l1"
    trust_region_scale: float = 1.0
    max_iterations: int = 1000
    ftol: float = 1e-8
    xtol: float = 1e-8
    gtol: float = 1e-8
    x_scale: str | list[float] | None = "jac"
    x_scale_map: dict[str, float] | None = None
    enable_diagnostics: bool = True
    enable_streaming: bool = True
    streaming_chunk_size: int = 50_000
    enable_stratified: bool = True
    target_chunk_size: int = 100_000
    enable_recovery: bool = True
    max_recovery_attempts: int = 3
    enable_progress_bar: bool = True
    verbose: int = 1
    log_iteration_interval: int = 10
    enable_hybrid_streaming: bool = True
    hybrid_normalize: bool = True
    hybrid_normalization_strategy: str = "auto"
    hybrid_warmup_iterations: int = 200
    hybrid_max_warmup_iterations: int = 500
    hybrid_warmup_learning_rate: float = 0.001
    hybrid_gauss_newton_max_iterations: int = 100
    hybrid_gauss_newton_tol: float = 1e-8
    hybrid_chunk_size: int = 10_000
    hybrid_trust_region_initial: float = 1.0
    hybrid_regularization_factor: float = 1e-10
    hybrid_enable_checkpoints: bool = True
    hybrid_checkpoint_frequency: int = 100
    hybrid_validate_numerics: bool = True
    hybrid_enable_warm_start_detection: bool = True
    hybrid_warm_start_threshold: float = 0.01
    hybrid_enable_adaptive_warmup_lr: bool = True
    hybrid_warmup_lr_refinement: float = 1e-6
    hybrid_warmup_lr_careful: float = 1e-5
    hybrid_enable_cost_guard: bool = True
    hybrid_cost_increase_tolerance: float = 0.05
    hybrid_enable_step_clipping: bool = True
    hybrid_max_warmup_step_size: float = 0.1
    enable_multi_start: bool = False
    multi_start_n_starts: int = 10
    multi_start_seed: int = 42
    multi_start_sampling_strategy: str = "latin_hypercube"
    multi_start_n_workers: int = 0
    multi_start_use_screening: bool = True
    multi_start_screen_keep_fraction: float = 0.5
    multi_start_refine_top_k: int = 3
    multi_start_refinement_ftol: float = 1e-12
    multi_start_degeneracy_threshold: float = 0.1
    per_angle_mode: str = "auto"
    fourier_order: int = 2
    fourier_auto_threshold: int = 6
    constant_scaling_threshold: int = 3
    enable_hierarchical: bool = True
    hierarchical_max_outer_iterations: int = 5
    hierarchical_outer_tolerance: float = 1e-6
    hierarchical_physical_max_iterations: int = 100
    hierarchical_per_angle_max_iterations: int = 50
    regularization_mode: str = "relative"
    group_variance_lambda: float = 1.0
    regularization_target_cv: float = 0.1
    regularization_target_contribution: float = 0.1
    regularization_max_cv: float = 0.2
    regularization_auto_tune_lambda: bool = True
    enable_gradient_monitoring: bool = True
    gradient_ratio_threshold: float = 0.01
    gradient_consecutive_triggers: int = 5
    gradient_collapse_response: str = "hierarchical"
    enable_cmaes: bool = False
    cmaes_preset: str = "cmaes"
    cmaes_max_generations: int | None = None
    cmaes_popsize: int | None = None
    cmaes_sigma: float = 0.5
    cmaes_sigma_warmstart: float = 0.05
    cmaes_warmstart_auto_skip: bool = True
    cmaes_warmstart_skip_threshold: float = 5.0
    cmaes_tol_fun: float = 1e-8
    cmaes_tol_x: float = 1e-8
    cmaes_restart_strategy: str = "bipop"
    cmaes_max_restarts: int = 9
    cmaes_population_batch_size: int | None = None
    cmaes_data_chunk_size: int | None = None
    cmaes_refine_with_nlsq: bool = True
    cmaes_auto_select: bool = True
    cmaes_scale_threshold: float = 1000.0
    cmaes_memory_limit_gb: float = 8.0
    cmaes_refinement_workflow: str = "auto"
    cmaes_refinement_ftol: float = 1e-10
    cmaes_refinement_xtol: float = 1e-10
    cmaes_refinement_gtol: float = 1e-10
    cmaes_refinement_max_nfev: int = 500
    cmaes_refinement_loss: str = "linear"
    cmaes_normalize: bool = True
    cmaes_normalization_epsilon: float = 1e-12
    enable_quality_validation: bool = True
    quality_reduced_chi_squared_threshold: float = 10.0
    quality_warn_on_max_restarts: bool = True
    quality_warn_on_bounds_hit: bool = True
    quality_warn_on_convergence_failure: bool = True
    quality_bounds_tolerance: float = 1e-9
    _validation_errors: list[str] = field(default_factory=list, repr=False, init=False)

    @classmethod
    def _options(cls) -> Iterator[tuple[str, Any]]:
        yield from ((entry.name, entry.default) for entry in fields(cls) if entry.name[0] != "_")

    @classmethod
    def from_dict(cls, config_dict: Mapping[str, Any]) -> NLSQConfig:
        """Take what section ``optimization.nlsq`` of a configuration says."""
        given: dict[str, Any] = {}
        for name, default in cls._options():
            *sections, key = _place(name).split(".")
            where: Any = config_dict
            for section in sections:
                where = where.get(section) or {}
            if name == "ftol" and "ftol" in config_dict:
                key = "ftol"
            if key in where:
                value = where[key]
                given[name] = float(value) if isinstance(default, float) else value
        config = cls(**given)
        for text in config.validate():
            get_logger(__name__).warning(text)
        return config

    @classmethod
    def from_yaml(cls, yaml_path: str) -> NLSQConfig:
        """Take what a file says."""
        if not Path(yaml_path).exists():
            raise FileNotFoundError(f"Configuration file not found: {yaml_path}")
        from tessera.xpcs.config.manager import ConfigManager

        try:
            import yaml  # type: ignore[import-untyped]

            whole = yaml.safe_load(Path(yaml_path).read_text(encoding="utf-8")) or {}
        except ImportError:  # the engine reads YAML too, and adds every default
            whole = ConfigManager(yaml_path).config
        return cls.from_dict((whole.get("optimization") or {}).get("nlsq") or {})

    def validate(self) -> list[str]:
        """Return what is wrong, a sentence each."""
        wrong = [
            f"{name} must be one of {words}, got: {getattr(self, name)}"
            for name, words in _CHOICES.items()
            if getattr(self, name) not in words
        ]
        for names, fine, what in _TESTS:
            for name in names:
                value = getattr(self, name)
                if value is not None and not fine(value):
                    wrong.append(f"{name} must {what}, got: {value}")
        self._validation_errors = wrong
        return wrong

    def is_valid(self) -> bool:
        """Return whether nothing is wrong."""
        return not self.validate()

    def to_dict(self) -> dict[str, Any]:
        """Return the section that :meth:`from_dict` reads."""
        found: dict[str, Any] = {}
        for name, _ in self._options():
            *sections, key = _place(name).split(".")
            where = found
            for section in sections:
                where = where.setdefault(section, {})
            where[key] = getattr(self, name)
        return found

    def to_workflow_kwargs(self) -> dict[str, Any]:
        """Return what the original hands its solver."""
        said = {} if self.goal == "quality" else {"goal": self.goal}
        return said | {
            "ftol": self.ftol,
            "gtol": self.gtol,
            "xtol": self.xtol,
            "max_nfev": self.max_iterations,
            "loss": self.loss,
        }
