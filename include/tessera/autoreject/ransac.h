/** autoreject: RANSAC, channels that are bad over the whole recording. */
#ifndef TESSERA_AUTOREJECT_RANSAC_H
#define TESSERA_AUTOREJECT_RANSAC_H

#include "tessera/autoreject/epochs.h"

TESS_BEGIN_DECLS

/** Options of RANSAC; described by table "autoreject.ransac". */
typedef struct tess_autoreject_ransac_config {
    uint32_t struct_size;
    int32_t meg_dots;     /* choice: direct table */
    int64_t n_resample;   /* 50 */
    double min_channels;  /* share of channels in a subset; 0.25 */
    double min_corr;      /* 0.75 */
    double unbroken_time; /* share of epochs a channel may be bad in; 0.4 */
    int64_t seed;         /* 435656 */
} tess_autoreject_ransac_config;

TESS_API void tess_autoreject_ransac_config_init(tess_autoreject_ransac_config *config,
                                                 size_t struct_size);
TESS_API const tess_param_table *tess_autoreject_ransac_params(void);

/** Number of channels in a subset: min_channels * n_channel, halves to even. */
TESS_API int64_t tess_autoreject_ransac_subset_size(const tess_autoreject_ransac_config *config,
                                                    int64_t n_channel);

/** Arrays are the caller's; NULL: not wanted. */
typedef struct tess_autoreject_ransac_result {
    uint32_t struct_size;
    int32_t reserved;
    int64_t *subsets;     /* [n_resample][subset size] index among channels */
    double *mappings;     /* [n_resample][n_channel][subset size] */
    double *correlations; /* [n_epoch][n_channel]; NaN where a channel is flat */
    uint8_t *bad_log;     /* [n_epoch][n_channel] */
    uint8_t *bad;         /* [n_channel] */
} tess_autoreject_ransac_result;

/** channels: EEG only, or mag and grad only; those marked bad are predicted but never sources. */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_ransac(
    tess_context *ctx, tess_autoreject_epochs *epochs, const int64_t *channels, int64_t n_channel,
    const tess_autoreject_ransac_config *config, tess_autoreject_ransac_result *result);

TESS_END_DECLS

#endif
