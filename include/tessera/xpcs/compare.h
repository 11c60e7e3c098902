/** xpcs: which model the data speak for, by marginal likelihood. */
#ifndef TESSERA_XPCS_COMPARE_H
#define TESSERA_XPCS_COMPARE_H

#include "tessera/xpcs/posterior.h"

TESS_BEGIN_DECLS

/** The evidence of one model, logarithms of densities of the data; NaN: not known. */
typedef struct tess_xpcs_evidence {
    uint32_t struct_size;
    int32_t mode;        /* tess_xpcs_mode */
    int32_t is_doubtful; /* 1: estimates disagree, or none of them can be trusted; see notes */
    int32_t is_converged;
    int64_t n_free; /* parameters, contrasts, offsets and the noise */
    double chi2;    /* of the fit */
    double aic;     /* n ln(chi2 / n) + 2 n_free, the noise being fitted */
    double bic;
    double laplace;          /* by a normal at the top */
    double importance;       /* by importance from it */
    double importance_error; /* standard error of the logarithm */
    double pareto_k;         /* of the weights: below 0.7 they can be trusted */
    double bridge;           /* by bridge sampling from draws */
    double bridge_error;
    double r_hat;        /* the largest of the draws' */
    double log_evidence; /* what counts: bridge, else importance */
    double error;
    double log_bayes_factor;       /* against the best, at most 0 */
    double log_bayes_factor_error; /* of both estimates */
    double probability;            /* of the model, all having been as likely before */
    char notes[256];               /* why it is doubtful, sentences; "" */
} tess_xpcs_evidence;

/** Bridge sampling (Meng and Wong 1996) from draws of tess_xpcs_sample() with these very arguments,
 *  method nuts, all data: half of the draws make a normal, the other half and as many draws of the
 *  normal the estimate. error: that of the logarithm (Fruehwirth-Schnatter 2004). */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_bridge(tess_context *ctx, tess_xpcs_data *data,
                                                      const tess_xpcs_model *model,
                                                      const tess_xpcs_result *fit,
                                                      const tess_xpcs_fit_config *fit_config,
                                                      const tess_xpcs_sample_config *config,
                                                      const tess_xpcs_posterior *posterior,
                                                      double *log_evidence, double *error);

/** Fits, samples and weighs modes [n_mode] (tess_xpcs_mode, each once) for the same data; model
 * says all but the mode. method nuts: bridge and importance; laplace: importance alone. Starts,
 * bounds and what is fixed are those of every mode: fit_config and config may not give any. rows
 * [n_mode] have row_bytes each and are in the order of modes. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_compare(tess_context *ctx, tess_xpcs_data *data,
                                                       const tess_xpcs_model *model,
                                                       const int32_t *modes, int64_t n_mode,
                                                       const tess_xpcs_fit_config *fit_config,
                                                       const tess_xpcs_sample_config *config,
                                                       tess_xpcs_evidence *rows, size_t row_bytes);

/** A log Bayes factor in words (Kass and Raftery 1995), with how sure it is. */
TESS_API const char *tess_xpcs_bayes_words(double log_bayes_factor, double error);

/** The table as JSON, for tess_text_free(); NaN is null. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_compare_json(tess_context *ctx,
                                                            const tess_xpcs_evidence *rows,
                                                            int64_t n, char **text);

/** The table as a page of HTML, or as JSON where path ends with .json. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_compare_write(tess_context *ctx,
                                                             const tess_xpcs_evidence *rows,
                                                             int64_t n, const char *path,
                                                             int overwrite);

TESS_END_DECLS

#endif
