"""Pictures by the original's names, drawn by matplotlib."""

from tessera.xpcs.viz.datashader_backend import (
    DatashaderRenderer,
    plot_c2_comparison_fast,
    plot_c2_heatmap_fast,
)
from tessera.xpcs.viz.diagnostics import DiagonalOverlayResult, compute_diagonal_overlay_stats
from tessera.xpcs.viz.experimental_plots import plot_experimental_data, plot_fit_comparison
from tessera.xpcs.viz.mcmc_plots import (
    plot_cmc_summary_dashboard,
    plot_convergence_diagnostics,
    plot_kl_divergence_matrix,
    plot_posterior_comparison,
    plot_trace_plots,
)
from tessera.xpcs.viz.nlsq_plots import (
    generate_and_plot_fitted_simulations,
    generate_nlsq_plots,
    plot_simulated_data,
)

__all__ = [
    "DatashaderRenderer",
    "DiagonalOverlayResult",
    "compute_diagonal_overlay_stats",
    "generate_and_plot_fitted_simulations",
    "generate_nlsq_plots",
    "plot_c2_comparison_fast",
    "plot_c2_heatmap_fast",
    "plot_cmc_summary_dashboard",
    "plot_convergence_diagnostics",
    "plot_experimental_data",
    "plot_fit_comparison",
    "plot_kl_divergence_matrix",
    "plot_posterior_comparison",
    "plot_simulated_data",
    "plot_trace_plots",
]
