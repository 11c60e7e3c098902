/** xpcs: draws from the exact posterior of the physical parameters, contrast and offset of every
 *  angle integrated out. */
#ifndef TESSERA_XPCS_POSTERIOR_H
#define TESSERA_XPCS_POSTERIOR_H

#include "tessera/xpcs/result.h"

TESS_BEGIN_DECLS

enum { TESS_XPCS_MAX_DEPTH = 15 };

/** How draws are made. */
typedef enum tess_xpcs_method {
    TESS_XPCS_METHOD_NUTS = 0,
    TESS_XPCS_METHOD_LAPLACE = 1,  /* a normal at the maximum, its draws weighed and drawn again */
    TESS_XPCS_METHOD_CONSENSUS = 2 /* draws of several shards of the data, combined */
} tess_xpcs_method;

/** What is sampled of contrast and offset. */
typedef enum tess_xpcs_draw_scaling {
    TESS_XPCS_DRAW_SCALING_FIT = 0,        /* as the fit had it */
    TESS_XPCS_DRAW_SCALING_INDIVIDUAL = 1, /* a pair for every angle, integrated out */
    TESS_XPCS_DRAW_SCALING_AVERAGED = 2,   /* one pair for all angles, integrated out */
    TESS_XPCS_DRAW_SCALING_CONSTANT = 3,   /* known: those of a fit that held them, else quantiles
                                              of the data */
    TESS_XPCS_DRAW_SCALING_CONSTANT_AVERAGED = 4, /* known: their mean */
    TESS_XPCS_DRAW_SCALING_AUTO = 5 /* averaged from constant_scaling_threshold angles on, else
                                       individual */
} tess_xpcs_draw_scaling;

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
    /* In the table again. */
    int32_t method;         /* tess_xpcs_method; consensus: all n_shard parts in turn by NUTS */
    int32_t coords;         /* choice: logit upstream */
    int32_t fit_priors;     /* 1: normals around the fit take the place of the priors, as
                               use_nlsq_informed_priors: the data count twice */
    int32_t surrogate;      /* choice: auto off on; see has_surrogate */
    int32_t modes;          /* 1: chains begin in the other minima of the fit, too, and change
                               between them */
    int32_t shard_strategy; /* choice: random stratified contiguous */
    int64_t max_attempt;    /* while more than 5 % of the paths diverge, each with target_accept
                               0.05 nearer to 0.95 */
    double prior_width;     /* of fit_priors, in standard deviations of the fit */
    double temper;          /* priors of theta to the power 1 / temper; 0: n_shard, else 1 */
    int64_t shard;          /* 1 .. n_shard: draws from this part of the data; 0: all */
    int64_t n_shard;
    int64_t shard_seed;
    /* Not in the table. */
    const char *checkpoint_dir; /* NULL: none */
    double checkpoint_every_s;  /* 60; 0: after every draw */
    int64_t keep_checkpoints;   /* 3 */
    int32_t resume;             /* as tess_xpcs_fit_config */
    int32_t keep_finished;      /* likewise */
    /* In the table again. */
    int32_t scaling;      /* tess_xpcs_draw_scaling */
    int32_t combination;  /* of consensus; choice: consensus_mc robust_consensus_mc */
    int64_t shard_points; /* of consensus without n_shard: points of a shard at most; 0: as the
                             original's */
    double max_rhat;      /* of consensus, as tess_xpcs_combine_config; likewise the next */
    double min_ess;
    double max_divergence;
    double min_success;
    double max_cv;
} tess_xpcs_sample_config;

TESS_API void tess_xpcs_sample_config_init(tess_xpcs_sample_config *config, size_t struct_size);
TESS_API const tess_param_table *tess_xpcs_sample_params(void);

typedef struct tess_xpcs_posterior tess_xpcs_posterior;

/** Arrays are [n_chain][n_draw] and what is said; pointers live with the posterior. */
typedef struct tess_xpcs_posterior_info {
    uint32_t struct_size;
    int32_t method; /* tess_xpcs_method */
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
    int64_t n_evaluation; /* points of the parameters at which all data were gone over */
    double seconds;
    int64_t n_warmup;
    int64_t seed;
    int64_t n_attempt;          /* runs that it took; the last one's draws are here */
    double target_accept;       /* of the last one */
    const double *phi;          /* [n_angle] degrees */
    const double *q;            /* [n_angle] */
    const double *prior_mean;   /* [n_param] of the normals truncated to lower .. upper */
    const double *prior_sd;     /* [n_param] */
    const double *lower;        /* [n_param] */
    const double *upper;        /* [n_param] */
    const uint8_t *is_fixed;    /* [n_param] */
    const double *fit_theta;    /* [n_param] the fit that the chains began from */
    const double *fit_sd;       /* [n_param] */
    const double *fit_contrast; /* [n_angle] */
    const double *fit_offset;
    double fit_noise;            /* of its residuals */
    const double *outside_angle; /* [n_angle] parts of outside */
    const uint8_t *is_truncated; /* [n_angle] 1: the density has the bounds of this angle's
                                    contrast and offset, and neglects nothing */
    int32_t model_mode;          /* tess_xpcs_mode */
    int32_t model_kernel;        /* tess_xpcs_kernel */
    int32_t priors;              /* as the config; 2: around the fit */
    int32_t coords;              /* as the config */
    int64_t n_point;             /* that counted */
    int64_t n_pass;              /* sweeps over the data: several points share one */
    int64_t n_gradient;          /* of n_evaluation, those with derivatives */
    int64_t n_mode;              /* hills of the density that chains were in; at least 1 */
    const double *mode_theta;    /* [n_mode][n_param] their tops */
    const double *mode_weight;   /* [n_mode] shares of the draws */
    const double *mode_evidence; /* [n_mode] log, by a normal at the top */
    const int32_t *mode;         /* [n_chain][n_draw] which one a draw is in */
    double log_evidence;         /* by importance weights at the modes (laplace); NaN: not known */
    double pareto_k;             /* of these weights: below 0.7 they can be trusted; NaN: none */
    double effective_weights;    /* (sum w)^2 / sum w^2 of these */
    int32_t has_surrogate;       /* 1: paths were made on a surrogate, and accepted by all data */
    int32_t resumed;             /* 1: continued from a checkpoint */
    double surrogate_accept;     /* share of its proposals */
    double resumed_from;         /* how much an earlier run had done, 0 to 1 */
    int64_t n_checkpoint;        /* written by this call */
    int64_t shard;               /* 0: all data */
    int64_t n_shard;
    double temper;        /* of the priors */
    const char *warnings; /* a sentence per line, "" if none */
    const char *device;
    const char *data_path;
    const char *data_fingerprint; /* hexadecimal */
    const char *identity;         /* 32 digits that tell this sampling of these data from others */
    int64_t n_frame;
    double dt_s;
    double gap_angstrom;
    int32_t scaling;        /* tess_xpcs_draw_scaling, never fit or auto */
    int32_t shard_strategy; /* as the config; with shard_seed: which points the shard has */
    int64_t shard_seed;
    double noise_photons; /* of the fit; above 0: noise is that of frames, as the fit has it */
} tess_xpcs_posterior_info;

/** Samples from the minimum that fit (a result of these data and this model, linear loss) found,
 *  whose bounds and fixed parameters hold. The same draws for any number of threads, interrupted
 *  or not. fit_config says how to go over the data and may be NULL; every point weighs the same
 *  whatever it says. Of a fit with noise frames the likelihood is flattened to the errors it has,
 *  points weigh as they did in it, and there is no evidence. TESS_CANCELLED keeps the draws so far
 * in checkpoint_dir, and loses them without one. The progress callback counts draws of all chains,
 * those of the warm-up included. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_sample(tess_context *ctx, tess_xpcs_data *data,
                                                      const tess_xpcs_model *model,
                                                      const tess_xpcs_result *fit,
                                                      const tess_xpcs_fit_config *fit_config,
                                                      const tess_xpcs_sample_config *config,
                                                      tess_xpcs_posterior **out);
TESS_API const tess_xpcs_posterior_info *
tess_xpcs_posterior_get_info(const tess_xpcs_posterior *posterior);
TESS_API void tess_xpcs_posterior_destroy(tess_xpcs_posterior *posterior);

/** The posterior as bytes, whole and checksummed: for a file that another run of the same version
 *  combines, or another process. Returns how many there are; writes them if capacity suffices. */
TESS_API size_t tess_xpcs_posterior_pack(const tess_xpcs_posterior *posterior, void *bytes,
                                         size_t capacity);
/** TESS_E_VERSION for bytes of another version; TESS_E_FORMAT or TESS_E_TRUNCATED for those that
 *  are no posterior's. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_posterior_unpack(tess_context *ctx,
                                                                const void *bytes, size_t n,
                                                                tess_xpcs_posterior **out);

/** Shards as the original would cut the data, and draws that suit their size. */
typedef struct tess_xpcs_shard_plan {
    uint32_t struct_size;
    int32_t reserved;
    int64_t n_shard;
    int64_t points_per_shard;
    int64_t n_warmup;
    int64_t n_draw;
} tess_xpcs_shard_plan;

/** n_shard 0: chosen by the number of points; config: its counts, made fewer for small shards. */
TESS_API TESS_MUST_CHECK tess_status
tess_xpcs_shard_plan_make(tess_context *ctx, const tess_xpcs_data *data,
                          const tess_xpcs_model *model, const tess_xpcs_sample_config *config,
                          int64_t n_shard, tess_xpcs_shard_plan *plan, size_t struct_size);

typedef struct tess_xpcs_combine_config {
    uint32_t struct_size;
    int32_t is_robust_upstream; /* 1: as the original's robust_consensus_mc, every parameter by
                                   itself; 0: by full covariances */
    double max_divergence;      /* shards above are dropped: 0.1 */
    double max_rhat;            /* likewise: 1.1 */
    double min_ess;             /* shards below: 100 */
    double min_success;         /* share of shards that must be left: 0.8 an error below half of
                                   it, a warning below it */
    double max_cv;              /* scatter of the shards' means over their own errors times
                                   sqrt(shards), above which they are of different things: 10 */
    int64_t seed;
} tess_xpcs_combine_config;

TESS_API void tess_xpcs_combine_config_init(tess_xpcs_combine_config *config, size_t struct_size);

/** Draws of shards of one data set, combined to those of the whole (Scott et al. 2016). posteriors
 *  [n] were sampled with the same options, n_shard == n, each shard once; config may be NULL. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_combine(tess_context *ctx,
                                                       const tess_xpcs_posterior *const *posteriors,
                                                       int64_t n,
                                                       const tess_xpcs_combine_config *config,
                                                       tess_xpcs_posterior **out);

TESS_END_DECLS

#endif
