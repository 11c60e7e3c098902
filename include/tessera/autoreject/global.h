/** autoreject: one threshold per channel type (MNE's reject=), and its validation curve. */
#ifndef TESSERA_AUTOREJECT_GLOBAL_H
#define TESSERA_AUTOREJECT_GLOBAL_H

#include "tessera/autoreject/fit.h"

TESS_BEGIN_DECLS

/** Options of the global threshold; scalars are described by table "autoreject.global". */
typedef struct tess_autoreject_global_config {
    uint32_t struct_size;
    int32_t search; /* choice: exact compat */
    int64_t n_fold; /* 5 */
    int64_t decim;  /* every decim-th sample, that at time 0 among them; 1 */
} tess_autoreject_global_config;

TESS_API void tess_autoreject_global_config_init(tess_autoreject_global_config *config,
                                                 size_t struct_size);
TESS_API const tess_param_table *tess_autoreject_global_params(void);

/** The threshold of one type and the curve it was chosen from. Arrays have room for n_epoch; NULL:
 *  not wanted. */
typedef struct tess_autoreject_global_result {
    uint32_t struct_size;
    int32_t reserved;
    double threshold;
    double objective;
    int64_t n_candidate;
    double *candidates; /* distinct, ascending */
    double *objectives; /* inf where a fold keeps nothing */
} tess_autoreject_global_result;

/** channels: those of one type, not marked bad. Streams; memory does not grow with n_epoch beyond
 *  a few numbers an epoch. */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_global(
    tess_context *ctx, tess_autoreject_epochs *epochs, const int64_t *channels, int64_t n_channel,
    const tess_autoreject_global_config *config, tess_autoreject_global_result *result);

/**
 * Scores (negative losses) of given thresholds.
 *
 * folds    in   [n_fold][n_epoch]: 1 train, 2 test, 0 neither; NULL: n_fold contiguous folds.
 * train, test out [n_threshold][n_fold]; -inf where a fold keeps nothing.
 */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_validation_curve(
    tess_context *ctx, tess_autoreject_epochs *epochs, const int64_t *channels, int64_t n_channel,
    const double *thresholds, int64_t n_threshold, const uint8_t *folds, int64_t n_fold,
    double *train, double *test);

TESS_END_DECLS

#endif
