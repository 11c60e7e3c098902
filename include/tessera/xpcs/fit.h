/** xpcs: bounded least squares of the model, exact at any size. */
#ifndef TESSERA_XPCS_FIT_H
#define TESSERA_XPCS_FIT_H

#include "tessera/run.h"
#include "tessera/xpcs/data.h"
#include "tessera/xpcs/model.h"

TESS_BEGIN_DECLS

/** How contrast and offset follow the angles. All are linear and eliminated in closed form. */
typedef enum tess_xpcs_scaling {
    TESS_XPCS_SCALING_INDIVIDUAL = 0,        /* a free pair for every angle */
    TESS_XPCS_SCALING_AVERAGED = 1,          /* one free pair for all */
    TESS_XPCS_SCALING_CONSTANT = 2,          /* fixed: quantile estimates, or as given */
    TESS_XPCS_SCALING_CONSTANT_AVERAGED = 3, /* fixed: their mean */
    TESS_XPCS_SCALING_FOURIER = 4,           /* a Fourier series in phi for each */
    TESS_XPCS_SCALING_AUTO = 5 /* the original's: averaged from constant_scaling_threshold angles */
} tess_xpcs_scaling;

typedef enum tess_xpcs_loss {
    TESS_XPCS_LOSS_LINEAR = 0,
    TESS_XPCS_LOSS_SOFT_L1 = 1,
    TESS_XPCS_LOSS_HUBER = 2,
    TESS_XPCS_LOSS_CAUCHY = 3,
    TESS_XPCS_LOSS_ARCTAN = 4
} tess_xpcs_loss;

typedef enum tess_xpcs_sigma {
    TESS_XPCS_SIGMA_CONSTANT = 0,
    TESS_XPCS_SIGMA_ESTIMATE = 1, /* per angle, from differences of neighbours */
    TESS_XPCS_SIGMA_PER_LAG = 2,  /* per angle and lag, likewise */
    TESS_XPCS_SIGMA_DATASET = 3   /* of every point, from the data */
} tess_xpcs_sigma;

/** Options of a fit; scalars are described by table "xpcs.fit". */
typedef struct tess_xpcs_fit_config {
    uint32_t struct_size;
    int32_t scaling;        /* tess_xpcs_scaling; static_isotropic data take averaged */
    int32_t loss;           /* tess_xpcs_loss */
    int32_t sigma_mode;     /* tess_xpcs_sigma */
    int32_t counting;       /* choice: half full (each point twice, as the original) */
    int32_t precision;      /* choice: f64 mixed (f32 elements, then f64 to finish) */
    int32_t strategy;       /* choice: auto standard large chunked streaming */
    int32_t uncertainty;    /* choice: covariance block_bootstrap profile auto */
    int32_t absolute_sigma; /* 1: covariance is not multiplied by reduced chi2 */
    int32_t compat_xtol;    /* 1: xtol on the plain norm of x, as scipy and the original */
    int32_t shear_weights;  /* 1: angles weigh m + (1 - m) |cos(phi0 - phi)|^p; see below */
    int32_t fast;           /* 1: no progress, checks and checkpoints */
    double sigma;           /* of SIGMA_CONSTANT */
    double f_scale;         /* of robust losses, in sigma */
    double ftol;
    double xtol;
    double gtol;
    int64_t max_nfev; /* 0: 100 per free parameter */
    int64_t fourier_order;
    int64_t constant_scaling_threshold;
    int64_t n_start;    /* 0: all minima are looked for on part of the data; 1: one start; more:
                           Latin hypercube besides */
    double screen_keep; /* fraction of starts that are fitted to the end */
    int64_t refine_top; /* of these, refined with tight tolerances */
    double degeneracy_threshold;
    int64_t n_bootstrap;
    int64_t block_frames; /* of the bootstrap; 0: n_frame / 20 */
    int64_t seed;
    int64_t chunk_tiles;           /* tiles taken at a time; 0: choose. Changes no bit */
    double chi2_threshold;         /* reduced chi2 above which a warning is given */
    int64_t checkpoint_iterations; /* accepted iterations between checkpoints */
    double min_success_rate;       /* with bad_chunk mask: least share of readable points */
    int64_t max_retries;           /* of a failing read */
    int32_t bad_chunk;             /* choice: error mask (data in a file lose what cannot be read
                                      for good: no other call may use them meanwhile) */
    int32_t resume;                /* 1: continue from checkpoint_dir if it holds this very fit,
                                      another's is an error; 2: start afresh instead, with a
                                      warning */
    /* Not in the table. */
    const double *start; /* [n_param]; NULL, or NaN for one: from the data; fixed ones without a
                            value stay at the start of tess_xpcs_params() */
    const double *lower; /* [n_param]; NULL: those of tess_xpcs_params() */
    const double *upper;
    const uint8_t *is_fixed; /* [n_param] 1: stays at its start; 0, or NULL for all: free, but f2 of
                                two components, which only 2 frees: f0 exp(-f1 f2) is all that
                                data know of it */
    const double *x_scale;   /* [n_param]; NULL, or NaN for one: from the Jacobian */
    const double *contrast;  /* [n_angle] start, or value of constant scaling; NULL: quantiles */
    const double *offset;
    double scaling_lower[2]; /* contrast, offset */
    double scaling_upper[2];
    const char *checkpoint_dir; /* NULL: none */
    double checkpoint_every_s;  /* 60; 0: after every pass */
    int64_t keep_checkpoints;   /* 3 */
    int64_t n_scaling;          /* items of contrast and offset where the caller does not know the
                                   angles: checked against n_angle; 0: n_angle */
    int32_t has_sigma;          /* 1: sigma was given, even if it equals the default */
    int32_t keep_finished;      /* 1: a finished fit leaves a checkpoint from which a resume has
                                   its result at once, to the bit, until results are written and
                                   tess_checkpoint_clear() is called; 0: it leaves none */
    /* Of shear_weights; all but phi0 in the table. */
    double shear_min_weight; /* m, 0.3 */
    double shear_exponent;   /* p, 1 */
    double shear_phi0;       /* degrees; NaN: that of the start */
    int32_t shear_normalize; /* 1: their mean is 1 */
    int32_t noise;           /* choice: independent frames (points that share a frame, or speckles,
                                have correlated noise: errors and intervals of a linear loss) */
} tess_xpcs_fit_config;

TESS_API void tess_xpcs_fit_config_init(tess_xpcs_fit_config *config, size_t struct_size);
TESS_API const tess_param_table *tess_xpcs_fit_params(void);

/** A finished fit; see tessera/xpcs/result.h. */
typedef struct tess_xpcs_result tess_xpcs_result;

/** Fits. A fit that does not converge is a result that says so, not an error. config may be NULL.
 */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_fit(tess_context *ctx, tess_xpcs_data *data,
                                                   const tess_xpcs_model *model,
                                                   const tess_xpcs_fit_config *config,
                                                   tess_xpcs_result **out);

/**
 * Whether the file at path is a result of this very fit: same data, settings and version, as its
 * provenance says. For callers that resume and find results there.
 */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_fit_is_of(tess_context *ctx, tess_xpcs_data *data,
                                                         const tess_xpcs_model *model,
                                                         const tess_xpcs_fit_config *config,
                                                         const char *path, int *is_of);

/** What a fit would need: strategy, memory, time of a pass; computes nothing but a probe. */
typedef struct tess_xpcs_fit_plan {
    uint32_t struct_size;
    int32_t strategy; /* tess_strategy */
    uint64_t memory_bytes;
    uint64_t limit_bytes;
    uint64_t original_bytes; /* what the original's formula gives */
    int64_t n_tile;
    int64_t tiles_per_chunk;
    double pass_s; /* estimated from a few tiles */
    char reason[192];
} tess_xpcs_fit_plan;

TESS_API TESS_MUST_CHECK tess_status tess_xpcs_fit_get_plan(tess_context *ctx, tess_xpcs_data *data,
                                                            const tess_xpcs_model *model,
                                                            const tess_xpcs_fit_config *config,
                                                            tess_xpcs_fit_plan *plan,
                                                            size_t struct_size);

/**
 * The sums of one pass at theta, for those who drive their own optimiser: per angle S1, Sf, Sff,
 * Sy, Syy, Sfy and P, Q, R [n_param] (not centred), the scaling that is best there, reduced cost,
 * gradient [n_param] and Hessian [n_param][n_param] (Kaufman). NULL where not wanted.
 */
typedef struct tess_xpcs_sums {
    uint32_t struct_size;
    uint32_t reserved;
    double *s1; /* [n_angle], as the next five */
    double *sf;
    double *sff;
    double *sy;
    double *syy;
    double *sfy;
    double *p; /* [n_angle][n_param], as the next two */
    double *q;
    double *r;
    double *contrast; /* [n_angle] */
    double *offset;
    double *cost;
    double *gradient;
    double *hessian;
} tess_xpcs_sums;

TESS_API TESS_MUST_CHECK tess_status tess_xpcs_accumulate(tess_context *ctx, tess_xpcs_data *data,
                                                          const tess_xpcs_model *model,
                                                          const tess_xpcs_fit_config *config,
                                                          const double *theta,
                                                          tess_xpcs_sums *sums);

TESS_END_DECLS

#endif
