"""Pictures of samples by the original's names; there is no sampler here yet."""

from tessera.xpcs._no_sampling import no_sampling

__all__ = [
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

generate_mcmc_diagnostic_report = no_sampling("generate_mcmc_diagnostic_report", __name__)
plot_arviz_pair = no_sampling("plot_arviz_pair", __name__)
plot_arviz_posterior = no_sampling("plot_arviz_posterior", __name__)
plot_arviz_trace = no_sampling("plot_arviz_trace", __name__)
plot_cmc_summary_dashboard = no_sampling("plot_cmc_summary_dashboard", __name__)
plot_convergence_diagnostics = no_sampling("plot_convergence_diagnostics", __name__)
plot_kl_divergence_matrix = no_sampling("plot_kl_divergence_matrix", __name__)
plot_posterior_comparison = no_sampling("plot_posterior_comparison", __name__)
plot_trace_plots = no_sampling("plot_trace_plots", __name__)
print_mcmc_summary = no_sampling("print_mcmc_summary", __name__)
