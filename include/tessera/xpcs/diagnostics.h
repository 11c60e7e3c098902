/** xpcs: what draws say, whether they can be trusted, and the files that say so. */
#ifndef TESSERA_XPCS_DIAGNOSTICS_H
#define TESSERA_XPCS_DIAGNOSTICS_H

#include "tessera/xpcs/posterior.h"

TESS_BEGIN_DECLS

/** Shares of draws below the quantiles of a summary: 5, 16, 50, 84 and 95 %. */
enum { TESS_XPCS_N_QUANTILE = 5 };

/** Of one quantity. NaN: there is nothing to tell, as for fewer than 4 draws of a chain, or for a
 *  draw that is not finite; r_hat also for one chain and for constants. As ArviZ has them. */
typedef struct tess_xpcs_summary {
    double mean;
    double sd;
    double quantile[TESS_XPCS_N_QUANTILE];
    double r_hat;    /* of ranks and split chains, of bulk or tail: the larger */
    double ess_bulk; /* independent draws that would tell as much */
    double ess_tail; /* of the quantiles of 5 and 95 %: the smaller */
    double ess_mean;
    double ess_sd;
    double mcse_mean; /* errors because there are no more draws */
    double mcse_sd;
    double mcse_quantile[TESS_XPCS_N_QUANTILE];
    /* Where draws gather at two places, by rising mean; 0 where they do not. */
    double mode_weight[2];
    double mode_mean[2];
    double mode_separation; /* in the pooled standard deviation */
    /* NaN where there is no prior, or no fit. */
    double prior_mean;
    double prior_sd;
    double contraction; /* 1 - (sd / prior_sd)^2: 0, the data say nothing; towards 1, all */
    double fit;
    double fit_sd;
    double distance;    /* (mean - fit) / sd */
    int32_t is_bimodal; /* both weights at least 0.2, separation at least 0.5, and a dip between */
    int32_t is_fixed;   /* was not drawn */
} tess_xpcs_summary;

/** x [n_chain][n_draw], contiguous. The fields of prior and fit become NaN. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_summarise(tess_context *ctx, const double *x,
                                                         int64_t n_chain, int64_t n_draw,
                                                         tess_xpcs_summary *out);

typedef enum tess_xpcs_chains_state {
    TESS_XPCS_CHAINS_CONVERGED = 0,
    TESS_XPCS_CHAINS_DIVERGENCES = 1,  /* more than 10 % of the paths */
    TESS_XPCS_CHAINS_NOT_CONVERGED = 2 /* r_hat above 1.1, or not known */
} tess_xpcs_chains_state;

/** "converged", "divergences", "not_converged". */
TESS_API const char *tess_xpcs_chains_state_name(tess_xpcs_chains_state state);

typedef struct tess_xpcs_diagnosis tess_xpcs_diagnosis;

/** Pointers live with the diagnosis. */
typedef struct tess_xpcs_diagnosis_info {
    uint32_t struct_size;
    int32_t state; /* tess_xpcs_chains_state */
    int64_t n_chain;
    int64_t n_draw;
    int64_t n_param;
    int64_t n_angle;
    int64_t n_row;                 /* parameters, noise, contrasts, offsets; those that there are */
    const char *const *names;      /* [n_row] "D0", "noise", "contrast[0]", "offset[0]" */
    const tess_xpcs_summary *rows; /* [n_row] */
    /* Of each chain; NULL where the draws do not tell. */
    const double *bfmi; /* below 0.3: the energy is explored too slowly */
    const double *accept;
    const double *step;
    const int64_t *n_diverged;
    const int64_t *n_deepest; /* paths that were as long as allowed */
    /* Of all. */
    int64_t n_diverged_all;
    double divergence_rate;
    double deepest_rate;
    double accept_mean;
    double r_hat_max; /* over rows that were drawn; NaN: none has one */
    double ess_bulk_min;
    double ess_tail_min;
    double bfmi_min;
    double outside; /* share of contrasts and offsets that were drawn again */
    double noise_scale;
    const char *warnings; /* a sentence per line, "" if none; ids as in tessera/warning.h */
} tess_xpcs_diagnosis_info;

/**
 * Looks at draws. draws->theta and names must be there; any other array may be NULL. fit, for
 * distances, and config, for the longest path and the priors of contrast and offset, may be NULL:
 * then what they are for is NaN. Priors of parameters are those of the draws.
 */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_diagnose(tess_context *ctx,
                                                        const tess_xpcs_posterior_info *draws,
                                                        const tess_xpcs_result *fit,
                                                        const tess_xpcs_sample_config *config,
                                                        tess_xpcs_diagnosis **out);
TESS_API const tess_xpcs_diagnosis_info *
tess_xpcs_diagnosis_get_info(const tess_xpcs_diagnosis *diagnosis);
TESS_API void tess_xpcs_diagnosis_destroy(tess_xpcs_diagnosis *diagnosis);

/**
 * Writes folder/cmc/: parameters.json, diagnostics.json, analysis_results_cmc.json and samples.npz
 * as the original names them, inference_data.nc for ArviZ (netCDF-4, where HDF5 is there; with data
 * also what was measured), and with data and model, which may be NULL, fitted_data.npz, the model
 * at the means. Each file appears whole or not at all, and is the same to the byte for the same
 * draws, times aside. diagnosis, fit and config are those of the draws. Of write_config overwrite,
 * surfaces, hdf5 (that is netCDF) and command_line count.
 */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_draws_write(
    tess_context *ctx, const tess_xpcs_posterior_info *draws, const tess_xpcs_diagnosis *diagnosis,
    const tess_xpcs_result *fit, const tess_xpcs_sample_config *config, tess_xpcs_data *data,
    const tess_xpcs_model *model, const char *folder, const tess_xpcs_write_config *write_config);

/** All that the JSON files say as one object, for tess_text_free(); NaN and infinity are null. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_draws_json(
    tess_context *ctx, const tess_xpcs_posterior_info *draws, const tess_xpcs_diagnosis *diagnosis,
    const tess_xpcs_result *fit, const tess_xpcs_sample_config *config, char **text);

/** One self-contained HTML page: numbers of every quantity, forest, traces, densities beside the
 *  priors, rates over time and cuts of the model as bands, pairs, ranks, autocorrelation, growth of
 *  the effective draws, energy. data and model may be NULL: no cuts then. overwrite as in
 *  tess_xpcs_write_config. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_draws_report(
    tess_context *ctx, const tess_xpcs_posterior_info *draws, const tess_xpcs_diagnosis *diagnosis,
    const tess_xpcs_result *fit, const tess_xpcs_sample_config *config, tess_xpcs_data *data,
    const tess_xpcs_model *model, const char *path, int overwrite);

TESS_END_DECLS

#endif
