"""Sampling on devices of JAX; here it runs as on any machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tessera.xpcs.optimization.cmc.backends._common import CMCBackend, run_shards

if TYPE_CHECKING:
    from tessera.xpcs.config.parameter_space import ParameterSpace
    from tessera.xpcs.optimization.cmc.config import CMCConfig
    from tessera.xpcs.optimization.cmc.data_prep import PreparedData
    from tessera.xpcs.optimization.cmc.sampler import MCMCSamples

__all__ = ["PjitBackend"]


class PjitBackend(CMCBackend):
    """The points of all shards at once; the original puts shards on devices of JAX in turn."""

    def get_name(self) -> str:
        """Return what it is called.

        Returns
        -------
        str
            'pjit'.
        """
        return "pjit"

    def run(
        self,
        model: Callable[..., Any],
        model_kwargs: Mapping[str, Any],
        config: CMCConfig,
        shards: Sequence[PreparedData] | None = None,
        *,
        initial_values: Mapping[str, float] | None = None,
        parameter_space: ParameterSpace | None = None,
        analysis_mode: str | None = None,
        progress_bar: bool = True,
    ) -> MCMCSamples:
        """Sample the points of all shards at once.

        Parameters
        ----------
        model, model_kwargs, config, shards
            As of :class:`CMCBackend`.
        initial_values, parameter_space, analysis_mode, progress_bar
            As of ``run_nuts_sampling``.

        Returns
        -------
        MCMCSamples
            Draws.
        """
        if analysis_mode is None:
            raise ValueError("analysis_mode must be explicitly set ('static' or 'laminar_flow')")
        return run_shards(
            model,
            model_kwargs,
            config,
            shards,
            initial_values,
            parameter_space,
            analysis_mode,
            progress_bar,
        )
