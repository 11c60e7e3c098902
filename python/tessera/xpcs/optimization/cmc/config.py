"""Options of the original's samplers: checked and kept, though there is no sampler here yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from tessera.xpcs.utils.logging import get_logger

__all__ = ["CMCConfig"]

# Sections of ``optimization.cmc`` and the fields in them, with their keys where those differ.
_SECTIONS: dict[str, dict[str, str]] = {
    "sharding": {
        "sharding_strategy": "strategy",
        "num_shards": "num_shards",
        "max_points_per_shard": "max_points_per_shard",
        "min_points_per_shard": "min_points_per_shard",
        "min_points_per_param": "min_points_per_param",
    },
    "backend_config": {
        "backend_name": "name",
        "enable_checkpoints": "enable_checkpoints",
        "checkpoint_dir": "checkpoint_dir",
    },
    "per_shard_mcmc": {
        name: name
        for name in [
            "num_warmup",
            "num_samples",
            "num_chains",
            "chain_method",
            "target_accept_prob",
            "dense_mass",
            "adaptive_sampling",
            "max_tree_depth",
            "min_warmup",
            "min_samples",
            "enable_jax_profiling",
            "jax_profile_dir",
        ]
    },
    "validation": {
        "max_r_hat": "max_per_shard_rhat",
        **{
            name: name
            for name in [
                "min_ess",
                "max_divergence_rate",
                "require_nlsq_warmstart",
                "use_nlsq_informed_priors",
                "nlsq_prior_width_factor",
                "max_parameter_cv",
                "heterogeneity_abort",
            ]
        },
    },
    "combination": {
        "combination_method": "method",
        "min_success_rate": "min_success_rate",
        "min_success_rate_warning": "min_success_rate_warning",
    },
    "reparameterization": {
        "reparameterization_d_total": "enable_d_total",
        "reparameterization_log_gamma": "enable_log_gamma",
        "bimodal_min_weight": "bimodal_min_weight",
        "bimodal_min_separation": "bimodal_min_separation",
    },
}
_CHOICES: dict[str, list[Any]] = {
    "enable": [True, False, "auto"],
    "per_angle_mode": ["auto", "constant", "constant_averaged", "individual"],
    "sharding_strategy": ["stratified", "random", "contiguous"],
    "backend_name": ["auto", "multiprocessing", "pjit", "pbs", "slurm", "jax"],
    "chain_method": ["parallel", "sequential"],
    "combination_method": [
        "consensus_mc",
        "robust_consensus_mc",
        "weighted_gaussian",
        "simple_average",
        "auto",
    ],
}


def _at_least(least: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and value >= least


_TESTS: tuple[tuple[Sequence[str], Callable[[Any], bool], str], ...] = (
    (("min_points_for_cmc", "seed"), _at_least(0), "be non-negative int"),
    (
        ("constant_scaling_threshold", "num_warmup", "num_samples", "num_chains"),
        _at_least(1),
        "be positive int",
    ),
    (("num_shards",), lambda v: v == "auto" or _at_least(1)(v), "be 'auto' or positive int"),
    (("target_accept_prob",), lambda v: 0 < v < 1, "be in (0, 1)"),
    (("max_tree_depth",), lambda v: _at_least(1)(v) and v <= 15, "be int in [1, 15]"),
    (("min_warmup",), _at_least(10), "be int >= 10"),
    (("min_samples",), _at_least(50), "be int >= 50"),
    (("heartbeat_timeout",), _at_least(60), "be int >= 60 seconds"),
    (("min_points_per_shard",), _at_least(1000), "be int >= 1000"),
    (("max_r_hat",), lambda v: v >= 1, "be >= 1.0"),
    (("min_ess",), lambda v: v >= 0, "be non-negative"),
    (("max_parameter_cv",), lambda v: v > 0, "be positive number"),
    (
        ("max_divergence_rate", "min_success_rate", "min_success_rate_warning"),
        lambda v: 0 <= v <= 1,
        "be in [0, 1]",
    ),
    (("heterogeneity_abort",), lambda v: isinstance(v, bool), "be bool"),
    (("bimodal_min_weight",), lambda v: 0 < v <= 0.5, "be in (0, 0.5]"),
    (("bimodal_min_separation",), lambda v: 0 < v <= 2, "be in (0, 2.0]"),
    (("nlsq_prior_width_factor",), lambda v: 1 <= v <= 10, "be in [1.0, 10.0]"),
)


def _whole(value: Any) -> Any:
    """Return a number written as text as one."""
    if not isinstance(value, str) or value == "auto":
        return value
    try:
        return int(float(value))
    except ValueError:
        return value


@dataclass
class CMCConfig:
    """Options of the original's samplers.

    Parameters
    ----------
    enable, min_points_for_cmc : optional
        Whether data are cut into shards.
    per_angle_mode, constant_scaling_threshold : optional
        Scaling.
    sharding_strategy, num_shards, max_points_per_shard : optional
        How they are cut.
    backend_name, enable_checkpoints, checkpoint_dir : optional
        Where shards run.
    num_warmup, num_samples, num_chains, chain_method : optional
        Of every shard.
    target_accept_prob, dense_mass, adaptive_sampling, max_tree_depth : optional
        Of the sampler.
    min_warmup, min_samples, enable_jax_profiling, jax_profile_dir : optional
        Of the sampler.
    max_r_hat, min_ess, max_divergence_rate : optional
        What counts as converged.
    combination_method, min_success_rate, run_id : optional
        How shards are put together.
    per_shard_timeout, heartbeat_timeout, min_success_rate_warning : optional
        When a shard is given up.
    require_nlsq_warmstart, use_nlsq_informed_priors, nlsq_prior_width_factor : optional
        What a fit before says.
    prior_tempering, max_parameter_cv, heterogeneity_abort : optional
        Checks of shards.
    min_points_per_shard, min_points_per_param : optional
        Least sizes.
    reparameterization_d_total, reparameterization_log_gamma : optional
        What is sampled.
    bimodal_min_weight, bimodal_min_separation, seed : optional
        Of the search for two modes.
    """

    enable: bool | str = "auto"
    min_points_for_cmc: int = 100_000
    per_angle_mode: str = "auto"
    constant_scaling_threshold: int = 3
    sharding_strategy: str = "random"
    num_shards: int | str = "auto"
    max_points_per_shard: int | str = "auto"
    backend_name: str = "auto"
    enable_checkpoints: bool = True
    checkpoint_dir: str = "./checkpoints/cmc"
    num_warmup: int = 500
    num_samples: int = 1500
    num_chains: int = 4
    chain_method: str = "parallel"
    target_accept_prob: float = 0.85
    dense_mass: bool = True
    adaptive_sampling: bool = True
    max_tree_depth: int = 10
    min_warmup: int = 100
    min_samples: int = 200
    enable_jax_profiling: bool = False
    jax_profile_dir: str = "./profiles/jax"
    max_r_hat: float = 1.1
    min_ess: float = 400.0
    max_divergence_rate: float = 0.1
    combination_method: str = "robust_consensus_mc"
    min_success_rate: float = 0.9
    run_id: str | None = None
    per_shard_timeout: int = 3600
    heartbeat_timeout: int = 600
    min_success_rate_warning: float = 0.8
    require_nlsq_warmstart: bool = False
    use_nlsq_informed_priors: bool = True
    nlsq_prior_width_factor: float = 2.0
    prior_tempering: bool = True
    max_parameter_cv: float = 1.0
    heterogeneity_abort: bool = True
    min_points_per_shard: int = 10_000
    min_points_per_param: int = 1500
    reparameterization_d_total: bool = True
    reparameterization_log_gamma: bool = True
    bimodal_min_weight: float = 0.2
    bimodal_min_separation: float = 0.5
    seed: int = 42
    _validation_errors: list[str] = field(default_factory=list, repr=False, init=False)

    @classmethod
    def from_dict(cls, config_dict: Mapping[str, Any]) -> CMCConfig:
        """Take what section ``optimization.cmc`` says.

        Parameters
        ----------
        config_dict : dict
            The section.

        Returns
        -------
        CMCConfig
            The options; what is wrong is logged.
        """
        placed = {name for keys in _SECTIONS.values() for name in keys}
        given = {
            entry.name: config_dict[entry.name]
            for entry in fields(cls)
            if entry.name in config_dict and entry.name not in placed
        }
        for section, keys in _SECTIONS.items():
            where = config_dict.get(section) or {}
            if section == "backend_config" and not where.get("name"):
                older = config_dict.get("backend")
                where = older if isinstance(older, Mapping) and older.get("name") else where
            given |= {name: where[key] for name, key in keys.items() if key in where}
        checks = config_dict.get("validation") or {}
        if "min_ess" not in checks and "min_per_shard_ess" in checks:
            given["min_ess"] = checks["min_per_shard_ess"]
        for name in ("num_shards", "max_points_per_shard"):
            if name in given:
                given[name] = _whole(given[name])
        if given.get("backend_name") == "jax":
            given["backend_name"] = "multiprocessing"
        config = cls(**given)
        for line in config.validate():
            get_logger(__name__).warning(line)
        return config

    def validate(self) -> list[str]:
        """Return what is wrong.

        Returns
        -------
        list of str
            A sentence each.
        """
        wrong = [
            f"{name} must be one of {words}, got: {getattr(self, name)}"
            for name, words in _CHOICES.items()
            if getattr(self, name) not in words
        ]
        for names, fine, what in _TESTS:
            for name in names:
                try:
                    passed = fine(getattr(self, name))
                except TypeError:
                    passed = False
                if not passed:
                    wrong.append(f"{name} must {what}, got: {getattr(self, name)}")
        self._validation_errors = wrong
        return wrong

    def is_valid(self) -> bool:
        """Return whether nothing is wrong.

        Returns
        -------
        bool
            Nothing is.
        """
        return not self.validate()

    def should_enable_cmc(self, n_points: int, analysis_mode: str | None = None) -> bool:
        """Return whether so many points would be cut into shards.

        Parameters
        ----------
        n_points : int
            Of the data.
        analysis_mode : str, optional
            Accepted for scripts of the original.

        Returns
        -------
        bool
            Whether.
        """
        if isinstance(self.enable, bool):
            return self.enable
        return n_points >= self.min_points_for_cmc

    def get_num_shards(self, n_points: int, n_phi: int, n_params: int = 7) -> int:
        """Return into how many shards data would be cut.

        Parameters
        ----------
        n_points, n_phi, n_params : int
            Of the data and the model.

        Returns
        -------
        int
            1 or more.
        """
        if isinstance(self.num_shards, int):
            return self.num_shards
        if self.sharding_strategy == "stratified":
            return n_phi
        most = self.max_points_per_shard
        size = most if isinstance(most, int) else 100_000
        size = max(int(size * max(1.0, n_params / 7.0)), int(self.min_points_per_param * n_params))
        return max(1, n_points // size)

    def get_adaptive_sample_counts(self, shard_size: int, n_params: int = 7) -> tuple[int, int]:
        """Return warm-up and samples of a shard: fewer for small ones.

        Parameters
        ----------
        shard_size, n_params : int
            Of the shard and the model.

        Returns
        -------
        (int, int)
            Warm-up and samples.
        """
        if not self.adaptive_sampling:
            return self.num_warmup, self.num_samples
        share = min(1.0, shard_size / 10_000)
        least = (
            min(max(self.min_warmup, 20 * n_params), self.num_warmup),
            min(max(self.min_samples, 50 * n_params), self.num_samples),
        )
        return (
            max(least[0], int(self.num_warmup * share)),
            max(least[1], int(self.num_samples * share)),
        )

    def get_effective_per_angle_mode(
        self,
        n_phi: int,
        nlsq_per_angle_mode: str | None = None,
        has_nlsq_warmstart: bool = False,
    ) -> str:
        """Return the mode of scaling.

        Parameters
        ----------
        n_phi : int
            Angles.
        nlsq_per_angle_mode : str, optional
            That of a fit before, which wins.
        has_nlsq_warmstart : bool, default False
            Whether there was one.

        Returns
        -------
        str
            The mode.
        """
        if nlsq_per_angle_mode is not None:
            both = nlsq_per_angle_mode == self.per_angle_mode == "auto"
            return "constant_averaged" if has_nlsq_warmstart and both else nlsq_per_angle_mode
        if self.per_angle_mode != "auto":
            return self.per_angle_mode
        return "auto" if n_phi >= self.constant_scaling_threshold else "individual"

    def to_dict(self) -> dict[str, Any]:
        """Return the section that :meth:`from_dict` reads.

        Returns
        -------
        dict
            The section.
        """
        found: dict[str, Any] = {
            section: {key: getattr(self, name) for name, key in keys.items()}
            for section, keys in _SECTIONS.items()
        }
        placed = {name for keys in _SECTIONS.values() for name in keys}
        rest = (e.name for e in fields(self) if e.name not in placed and e.name[0] != "_")
        return {name: getattr(self, name) for name in rest} | found
