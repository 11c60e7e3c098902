/** xpcs: one-time correlations from two-time data. */
#ifndef TESSERA_XPCS_G2_H
#define TESSERA_XPCS_G2_H

#include "tessera/xpcs/data.h"

TESS_BEGIN_DECLS

typedef struct tess_xpcs_g2_config {
    uint32_t struct_size;
    uint32_t reserved;
    int64_t n_window;  /* equal parts of the age (t_i + t_j) / 2, each with curves of its own; 1 */
    int64_t per_level; /* lags of a level of multi-tau, at least 2: 1 to twice that frame by frame,
                          then bins of 2, 4, 8 .. frames, so many of each width; 0: every lag */
} tess_xpcs_g2_config;

TESS_API void tess_xpcs_g2_config_init(tess_xpcs_g2_config *config, size_t struct_size);

/** Pointers live with the curves. */
typedef struct tess_xpcs_g2_info {
    uint32_t struct_size;
    uint32_t reserved;
    int64_t n_angle;
    int64_t n_window;
    int64_t n_lag;
    const double *tau;     /* [n_lag] s, the mean of the lags of a bin */
    const double *age;     /* [n_window + 1] s, edges */
    const double *g2;      /* [n_angle][n_window][n_lag] mean of c2 over the pairs; NaN: none */
    const double *error;   /* likewise: standard error of that mean as if pairs were independent;
                              NaN below two pairs */
    const int64_t *n_pair; /* likewise */
    const double *phi;     /* [n_angle] */
    const double *q;
} tess_xpcs_g2_info;

typedef struct tess_xpcs_g2 tess_xpcs_g2;

/**
 * g2(tau) of every angle: the mean of c2(t_i, t_j) over the pairs of frames with t_j - t_i = tau
 * that are not ignored, in one pass over the data wherever they lie; the same bits for any number
 * of threads. config may be NULL.
 */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_g2_compute(tess_context *ctx, tess_xpcs_data *data,
                                                          const tess_xpcs_g2_config *config,
                                                          tess_xpcs_g2 **out);
TESS_API const tess_xpcs_g2_info *tess_xpcs_g2_get_info(const tess_xpcs_g2 *g2);
TESS_API void tess_xpcs_g2_destroy(tess_xpcs_g2 *g2);

/** By the name: .csv, a line for every angle, window and lag, or .npz, the arrays of the info. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_g2_save(tess_context *ctx, const tess_xpcs_g2 *g2,
                                                       const char *path, int overwrite);

TESS_END_DECLS

#endif
