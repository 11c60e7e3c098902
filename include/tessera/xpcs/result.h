/** xpcs: what a fit found, and the files that say so. */
#ifndef TESSERA_XPCS_RESULT_H
#define TESSERA_XPCS_RESULT_H

#include "tessera/xpcs/fit.h"

TESS_BEGIN_DECLS

typedef enum tess_xpcs_convergence {
    TESS_XPCS_CONVERGED = 0,
    TESS_XPCS_MAX_ITER = 1,
    TESS_XPCS_FAILED = 2
} tess_xpcs_convergence;

typedef enum tess_xpcs_param_status {
    TESS_XPCS_FREE = 0,
    TESS_XPCS_FIXED = 1,
    TESS_XPCS_AT_LOWER = 2,
    TESS_XPCS_AT_UPPER = 3,
    TESS_XPCS_UNIDENTIFIED = 4 /* the data say nothing about it: sd is infinite */
} tess_xpcs_param_status;

typedef enum tess_xpcs_quality {
    TESS_XPCS_GOOD = 0,
    TESS_XPCS_MARGINAL = 1,
    TESS_XPCS_POOR = 2
} tess_xpcs_quality;

/** Where a 95 % interval comes from. */
typedef enum tess_xpcs_interval {
    TESS_XPCS_INTERVAL_STRAIGHT = 0, /* the Hessian at the minimum, cut off at the bounds */
    TESS_XPCS_INTERVAL_PROFILE = 1   /* chi2 at its least over all others has risen by 3.84 */
} tess_xpcs_interval;

/** One line of the convergence trace. */
typedef struct tess_xpcs_trace {
    int64_t iteration;
    double cost;
    double gradient_norm; /* scaled */
    double step_norm;     /* scaled */
    double radius;
    int64_t is_accepted;
} tess_xpcs_trace;

/** A minimum that was found. */
typedef struct tess_xpcs_basin {
    int64_t n_start; /* starts that ended here */
    double cost;
    double theta[TESS_XPCS_MAX_PARAM];
} tess_xpcs_basin;

/** Pointers live with the result. */
typedef struct tess_xpcs_result_info {
    uint32_t struct_size;
    int32_t mode;
    int32_t kernel;
    int32_t scaling; /* that was used: never auto */
    int32_t loss;
    int32_t sigma_mode;
    int32_t sigma_is_default; /* chi2 cannot be interpreted */
    int32_t counting;
    int32_t precision;
    int32_t strategy;    /* tess_strategy */
    int32_t convergence; /* tess_xpcs_convergence */
    int32_t termination; /* 1 gtol, 2 ftol, 3 xtol, 4 both, 0 max_nfev, negative: failure */
    int32_t quality;     /* tess_xpcs_quality */
    int32_t resumed;
    int64_t n_param; /* physical */
    int64_t n_angle;
    int64_t n_frame;
    int64_t n_free;           /* physical and scaling parameters that were free */
    const char *const *names; /* [n_param] */
    const double *theta;      /* [n_param] */
    const double *sd;         /* [n_param]; inf: unidentified; 0 for fixed ones only */
    const int32_t *status;    /* [n_param] tess_xpcs_param_status */
    const double *contrast;   /* [n_angle] */
    const double *contrast_sd;
    const int32_t *contrast_status;
    const double *offset;
    const double *offset_sd;
    const int32_t *offset_status;
    /* Of contrasts, offsets, physical: 2 n_angle + n_param rows; 0 where fixed, inf on the diagonal
       where unidentified. */
    int64_t n_covariance;
    const double *covariance;
    const double *correlation;
    const double *start; /* [n_param] */
    const double *lower;
    const double *upper;
    const double *phi; /* [n_angle] */
    const double *q;
    const double *sigma; /* [n_angle] */
    double dt_s;
    double gap_angstrom;
    double cost; /* of the robust loss */
    double chi2; /* weighted, not robust */
    double reduced_chi2;
    double aic;
    double bic;
    double gradient_norm;
    double condition; /* of the scaled Hessian */
    int64_t dof;
    int64_t n_used;
    int64_t n_masked;
    int64_t n_point;
    const int64_t *n_used_angle;      /* [n_angle] */
    const double *reduced_chi2_angle; /* [n_angle] */
    int64_t n_iteration;
    int64_t nfev;
    int64_t n_pass; /* over the data, all in all */
    int64_t n_trace;
    const tess_xpcs_trace *trace;
    int64_t n_basin; /* minima that were found, the best first; 0 with one start */
    const tess_xpcs_basin *basins;
    double seconds[5]; /* read, model and sums, solve, checkpoints, all */
    double points_per_s;
    uint64_t peak_bytes;
    int64_t seed;
    int64_t n_checkpoint;
    const char *message;  /* why it stopped, a sentence */
    const char *warnings; /* a sentence per line, "" if none */
    const char *recovery; /* what was tried after failures, a sentence per line */
    const char *device;
    const char *data_path;
    const char *data_fingerprint; /* hexadecimal */
    const char *config_hash;
    const char *tessera_version;
    const double *bootstrap_sd; /* [n_param] with block_bootstrap, else NULL */
    const double *bootstrap;    /* [n_bootstrap][n_param] */
    int64_t n_bootstrap;
    const char *identity;         /* 32 digits that tell this fit of these data from any other */
    double resumed_from;          /* how much of the fit an earlier run had done, 0 to 1: a guess */
    const double *interval_lower; /* [n_param] of 95 %, within the bounds; over all minima that
                                     chi2 leaves possible */
    const double *interval_upper;
    const int32_t *interval_kind; /* [n_param] tess_xpcs_interval */
    double noise_pixels;          /* with noise frames: what the residuals look like, on average */
    double noise_photons;         /* likewise, of a pixel and frame; 0: noise is independent */
    double f_product; /* of two components f0 exp(-f1 f2), which f0 and f2 enter as; else NaN */
    double f_product_sd;
    const double *independent_covariance; /* [n_param][n_param] with noise frames: what that of the
                                             physical parameters would be of independent points */
} tess_xpcs_result_info;

TESS_API const tess_xpcs_result_info *tess_xpcs_result_get_info(const tess_xpcs_result *result);
TESS_API void tess_xpcs_result_destroy(tess_xpcs_result *result);

TESS_API const char *tess_xpcs_convergence_name(tess_xpcs_convergence convergence);
TESS_API const char *tess_xpcs_quality_name(tess_xpcs_quality quality);
TESS_API const char *tess_xpcs_param_status_name(tess_xpcs_param_status status);
TESS_API const char *tess_xpcs_interval_name(tess_xpcs_interval interval);

/** What goes into a result folder besides the numbers. */
typedef struct tess_xpcs_write_config {
    uint32_t struct_size;
    int32_t overwrite;        /* 1: replace what is there; 2: complete what a run of this very fit
                                 left when it was stopped, and nothing else */
    int32_t surfaces;         /* 0 none, 1 always, -1: below 1e7 points */
    int32_t figures;          /* 1: PNG maps of measured, fitted and residual */
    int32_t hdf5;             /* result.h5 with everything: 0 no, 1 yes, -1: if HDF5 is there */
    int32_t report;           /* 1: report.html */
    const char *command_line; /* for provenance; NULL: the context's */
    int32_t npz;              /* 1: homodyne_results.npz, what result.h5 holds but the surfaces */
    int32_t reserved;
} tess_xpcs_write_config;

TESS_API void tess_xpcs_write_config_init(tess_xpcs_write_config *config, size_t struct_size);

/**
 * Writes folder/nlsq/parameters.json, analysis_results_nlsq.json, convergence_metrics.json and
 * fitted_data.npz as the original does, and what else the config asks for. Each file appears whole
 * or not at all. The model is the one that was fitted.
 */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_result_write(
    tess_context *ctx, const tess_xpcs_result *result, tess_xpcs_data *data,
    const tess_xpcs_model *model, const char *folder, const tess_xpcs_write_config *config);

/** The whole result as JSON, for tess_text_free(); NaN and infinity are null. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_result_json(tess_context *ctx,
                                                           const tess_xpcs_result *result,
                                                           char **text);

/** The result as bytes, for a copy in another process of the same version of the library; equal
 *  results are equal bytes. Returns how many there are; writes them if capacity suffices. Not a
 *  file format: tess_xpcs_result_write() is for what shall last. */
TESS_API size_t tess_xpcs_result_pack(const tess_xpcs_result *result, void *bytes, size_t capacity);
/** TESS_E_VERSION for bytes of another version; TESS_E_FORMAT or TESS_E_TRUNCATED for those that
 * are no result's. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_result_unpack(tess_context *ctx, const void *bytes,
                                                             size_t n, tess_xpcs_result **out);

TESS_END_DECLS

#endif
