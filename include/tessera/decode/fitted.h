/** decode: the densities and regressions inside a fitted encoding model. */
#ifndef TESSERA_DECODE_FITTED_H
#define TESSERA_DECODE_FITTED_H

#include "tessera/decode/encoding.h"

TESS_BEGIN_DECLS

/** Which mixture of a clusterless GMM. */
typedef enum tess_decode_density {
    TESS_DECODE_DENSITY_OCCUPANCY = 0, /* places of the animal; electrode is not used */
    TESS_DECODE_DENSITY_GROUND = 1,    /* places of an electrode's spikes */
    TESS_DECODE_DENSITY_JOINT = 2      /* their marks, then their places */
} tess_decode_density;

/** A mixture of Gaussians; pointers live with the encoding model. */
typedef struct tess_decode_mixture {
    uint32_t struct_size;
    int32_t converged;
    int64_t n_component; /* 0: an electrode without spikes, density 0 */
    int64_t n_dim;
    int64_t n_iteration;
    double mean_log_likelihood; /* of what it was fitted to, before the last step */
    const double *mean;         /* [n_component][n_dim] */
    const double *factor;       /* [n_component][n_dim][n_dim] lower Cholesky factors L of the
                                   covariances; what is above the diagonal says nothing */
    const double *log_norm;     /* [n_component] log weight - log det L - n_dim log(2 pi) / 2 */
} tess_decode_mixture;

/** out: struct_size must be set. TESS_E_UNSUPPORTED for other algorithms than clusterless GMM. */
TESS_API TESS_MUST_CHECK tess_status
tess_decode_encoding_get_mixture(const tess_decode_encoding *encoding, int32_t density,
                                 int64_t electrode, tess_decode_mixture *out);

/**
 * A Poisson regression on splines of place; pointers live with the encoding model.
 *
 * Natural cubic splines are given by their values at the knots, products of them over two
 * coordinates by values at all pairs (the last coordinate runs fastest). With m the mean over the
 * samples of what multiplies each value, and H the reflection that turns m into the first axis, the
 * values are H[:, 1:] c: their mean over the samples is 0 and |c| is their length. The log rate is
 * coefficients[0] + spline, c = coefficients[1:].
 */
typedef struct tess_decode_regression {
    uint32_t struct_size;
    int32_t reserved;
    int64_t n_unit;
    int64_t n_dim;         /* 1 or 2 */
    int64_t n_coefficient; /* as many as values */
    int64_t n_knot[2];
    const double *knots[2];     /* increasing; the outer ones are the ends of the samples */
    const double *mean;         /* [n_coefficient] m */
    const double *coefficients; /* [n_unit][n_coefficient]; the first is -inf: never fires */
} tess_decode_regression;

/** out: struct_size must be set. TESS_E_UNSUPPORTED for other algorithms than sorted-spikes GLM. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_encoding_get_regression(
    const tess_decode_encoding *encoding, tess_decode_regression *out);

TESS_END_DECLS

#endif
