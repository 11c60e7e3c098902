// Weights of sets of bad MEG channels: computed once per distinct set, then looked up.
#ifndef TESS_AUTOREJECT_FIELD_SETS_H
#define TESS_AUTOREJECT_FIELD_SETS_H

#include "systems/autoreject/interpolation/bad_set.h"
#include "systems/autoreject/interpolation/field.h"

typedef struct tess_ar_field_set {
    uint64_t *words; // owned, one block with the weights behind
    double *weights; // [n_bad][n]
    int64_t n_bad;
    size_t bytes;
} tess_ar_field_set;

typedef struct tess_ar_field_sets {
    tess_ar_field field;
    int64_t n_word;
    tess_ar_field_set *known; // by their words
    int64_t n_known;
    int64_t capacity;
} tess_ar_field_sets;

TESS_MUST_CHECK tess_status tess_ar_field_sets_create(
    tess_context *ctx, tess_device *device, const tess_autoreject_sensors *sensors,
    const int64_t *channels, int64_t n, const tess_autoreject_interpolation_config *config,
    tess_ar_field_sets *sets);
void tess_ar_field_sets_destroy(tess_ar_field_sets *sets);

// As tess_ar_repairer_...
TESS_MUST_CHECK tess_status tess_ar_field_sets_leave_one_out(const tess_ar_field_sets *sets,
                                                             double *r);
TESS_MUST_CHECK tess_status tess_ar_field_sets_prepare(tess_ar_field_sets *sets,
                                                       const tess_ar_bad_set *wanted,
                                                       int64_t n_wanted);
TESS_MUST_CHECK tess_status tess_ar_field_sets_weights(const tess_ar_field_sets *sets,
                                                       const int32_t *bad, int64_t n_bad,
                                                       uint64_t *words, double *weights);

#endif
