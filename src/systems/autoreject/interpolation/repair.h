// How the channels of one group are predicted from each other.
#ifndef TESS_AUTOREJECT_REPAIR_H
#define TESS_AUTOREJECT_REPAIR_H

#include "runtime/context.h"
#include "stage/autoreject_interpolation.h"
#include "systems/autoreject/interpolation/bad_set.h"
#include "tessera/autoreject/interpolation.h"

#include <stdbool.h>

// EEG channels, or MEG channels (one type while fitting, mag and grad together in transform), or
// another type, which cannot be predicted. After prepare() it is only read, by any thread.
typedef struct tess_ar_repairer tess_ar_repairer;

// channels[n] are the group's; everything below counts 0..n-1 among them. Weights are small
// matrices: the CPU makes them, wherever the samples are.
TESS_MUST_CHECK tess_status tess_ar_repairer_create(
    tess_context *ctx, const tess_autoreject_sensors *sensors, const int64_t *channels, int64_t n,
    const tess_autoreject_interpolation_config *config, tess_ar_repairer **out);
void tess_ar_repairer_destroy(tess_ar_repairer *repairer);

// false: the original has no interpolation for this type (hbo, hbr, ecog, seeg), or the channel is
// alone.
bool tess_ar_repairer_can(const tess_ar_repairer *repairer);

// R [n][n], zero diagonal: row c predicts channel c from all others. NULL where it cannot. The
// first call computes it (on the pool).
TESS_MUST_CHECK tess_status tess_ar_repairer_leave_one_out(tess_ar_repairer *repairer,
                                                           const double **weights);

// Makes the weights of these sets available. EEG: nothing to do, they are cheap. MEG: an eigenvalue
// problem each, once per distinct set, on the pool; progress goes through the context.
TESS_MUST_CHECK tess_status tess_ar_repairer_prepare(tess_ar_repairer *repairer,
                                                     const tess_ar_bad_set *sets, int64_t n_set);

// Bytes of scratch weights() needs for sets of up to n_bad channels.
size_t tess_ar_repairer_scratch(const tess_ar_repairer *repairer, int64_t n_bad);

// W [n_bad][n] for bad[n_bad] (ascending): predicts each bad channel from all channels; columns of
// bad channels are 0. n - n_bad >= 1.
TESS_MUST_CHECK tess_status tess_ar_repairer_weights(const tess_ar_repairer *repairer,
                                                     const int32_t *bad, int64_t n_bad,
                                                     void *scratch, double *weights);

// RANSAC: W [n][n_from] predicts all n channels, the sources among them, from from[n_from] (any
// order, columns of W in that order) by what was computed once for the group: the splines' matrix
// or the dot products. Any thread; scratch of map_scratch() bytes.
size_t tess_ar_repairer_map_scratch(const tess_ar_repairer *repairer, int64_t n_from);
TESS_MUST_CHECK tess_status tess_ar_repairer_map(const tess_ar_repairer *repairer,
                                                 const int32_t *from, int64_t n_from, void *scratch,
                                                 double *weights);

// The same for channels to[n_to] alone: W [n_to][n_from]. Takes its scratch from the heap.
TESS_MUST_CHECK tess_status tess_ar_repairer_predict(const tess_ar_repairer *repairer,
                                                     const int32_t *from, int64_t n_from,
                                                     const int32_t *to, int64_t n_to,
                                                     double *weights);

#endif
