"""What the original keeps under this name."""

from tessera.xpcs.viz.mcmc_arviz import (
    _create_empty_figure,
    plot_arviz_pair,
    plot_arviz_posterior,
    plot_arviz_trace,
)
from tessera.xpcs.viz.mcmc_comparison import plot_posterior_comparison
from tessera.xpcs.viz.mcmc_dashboard import plot_cmc_summary_dashboard
from tessera.xpcs.viz.mcmc_diagnostics import (
    plot_convergence_diagnostics,
    plot_kl_divergence_matrix,
    plot_trace_plots,
)
from tessera.xpcs.viz.mcmc_report import generate_mcmc_diagnostic_report, print_mcmc_summary

__all__ = [
    "_create_empty_figure",
    "generate_mcmc_diagnostic_report",
    "plot_arviz_pair",
    "plot_arviz_posterior",
    "plot_arviz_trace",
    "plot_cmc_summary_dashboard",
    "plot_convergence_diagnostics",
    "plot_kl_divergence_matrix",
    "plot_posterior_comparison",
    "plot_trace_plots",
    "print_mcmc_summary",
]
