/** xpcs: draws from the exact posterior of the physical parameters, contrast and offset of every
 *  angle integrated out. */
#ifndef TESSERA_XPCS_POSTERIOR_H
#define TESSERA_XPCS_POSTERIOR_H

#include "tessera/xpcs/result.h"

TESS_BEGIN_DECLS

enum { TESS_XPCS_MAX_DEPTH = 15 };

/** Options of a sampler; scalars are described by table "xpcs.sample". */
typedef struct tess_xpcs_sample_config {
    uint32_t struct_size;
    int32_t priors; /* choice: wide upstream (the original's, narrower than its users' data) */
    int64_t n_chain;
    int64_t n_warmup; /* of each chain */
    int64_t n_draw;   /* of each chain, after the warm-up */
    int64_t seed;
    int64_t max_depth; /* of a path: 2^max_depth - 1 steps */
    double target_accept;
    double
        noise_scale; /* of the noise's half-normal prior, times 1.5; 0: estimated from the data */
    /* Not in the table. */
    const double *prior_mean; /* [n_param]; NULL, or NaN for one: as priors says */
    const double *prior_sd;
    double contrast_prior[2]; /* mean, sd */
    double offset_prior[2];
} tess_xpcs_sample_config;

TESS_API void tess_xpcs_sample_config_init(tess_xpcs_sample_config *config, size_t struct_size);
TESS_API const tess_param_table *tess_xpcs_sample_params(void);

typedef struct tess_xpcs_posterior tess_xpcs_posterior;

/** Arrays are [n_chain][n_draw] and what is said; pointers live with the posterior. */
typedef struct tess_xpcs_posterior_info {
    uint32_t struct_size;
    int32_t reserved;
    int64_t n_chain;
    int64_t n_draw;
    int64_t n_param; /* physical; fixed ones are constant */
    int64_t n_angle;
    const char *const *names; /* [n_param] */
    const double *theta;      /* [][n_param] */
    const double *noise;      /* standard deviation of a point */
    const double *contrast;   /* [][n_angle] drawn within their bounds, given theta and noise */
    const double *offset;
    const double *log_density;
    const double *energy;
    const double *accept;    /* mean acceptance of a path's points */
    const int64_t *n_step;   /* of a path */
    const int64_t *depth;    /* its doublings */
    const uint8_t *diverged; /* paths that had to be broken off */
    const double *step;      /* [n_chain] size */
    double noise_scale;
    double outside; /* share of contrasts and offsets drawn outside their bounds, and drawn again:
                       what the density neglects */
    int64_t n_evaluation; /* passes over the data */
    double seconds;
} tess_xpcs_posterior_info;

/** Samples by NUTS from the minimum that fit (a result of these data and this model, linear loss)
 *  found, whose bounds and fixed parameters hold. The same draws for any number of threads.
 * fit_config says how to go over the data and may be NULL; scaling is individual and every point
 * weighs the same whatever it says. TESS_CANCELLED loses the draws. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_sample(tess_context *ctx, tess_xpcs_data *data,
                                                      const tess_xpcs_model *model,
                                                      const tess_xpcs_result *fit,
                                                      const tess_xpcs_fit_config *fit_config,
                                                      const tess_xpcs_sample_config *config,
                                                      tess_xpcs_posterior **out);
TESS_API const tess_xpcs_posterior_info *
tess_xpcs_posterior_get_info(const tess_xpcs_posterior *posterior);
TESS_API void tess_xpcs_posterior_destroy(tess_xpcs_posterior *posterior);

TESS_END_DECLS

#endif
