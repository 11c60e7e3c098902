// Long gaps of the tracking: places nobody saw are not made up from the samples around them.
#include "base/status.h"
#include "systems/decode/files/recording.h"

#include <math.h>
#include <string.h>

static const char MEMORY[] = "a recording";

static bool is_gap(const tess_decode_position *p, int64_t k, double max_gap_s)
{
    return p->time[k + 1] - p->time[k] > max_gap_s;
}

// A series with a sample of NaN in the middle of each gap; flags (may be NULL) get a 0 there.
static tess_status split(tess_blocks *blocks, double max_gap_s, tess_decode_position *p,
                         const uint8_t **flags, int64_t *n_gap)
{
    *n_gap = 0;
    for (int64_t k = 0; k + 1 < p->n_sample; k++) {
        *n_gap += is_gap(p, k, max_gap_s);
    }
    if (*n_gap == 0) {
        return TESS_OK;
    }
    const int64_t n = p->n_sample + *n_gap;
    const size_t row = (size_t)p->n_dim;
    double *time = tess_blocks_alloc(blocks, n, sizeof *time, MEMORY);
    double *position = tess_blocks_alloc(blocks, n * p->n_dim, sizeof *position, MEMORY);
    uint8_t *kept = tess_blocks_alloc(blocks, n, 1, MEMORY);
    if (!time || !position || !kept) {
        return TESS_E_MEMORY;
    }
    int64_t at = 0;
    for (int64_t k = 0; k < p->n_sample; k++, at++) {
        time[at] = p->time[k];
        memcpy(position + (size_t)at * row, p->position + (size_t)k * row, row * sizeof *position);
        kept[at] = *flags ? (*flags)[k] : 1;
        if (k + 1 < p->n_sample && is_gap(p, k, max_gap_s)) {
            at++;
            time[at] = p->time[k] + 0.5 * (p->time[k + 1] - p->time[k]);
            for (size_t d = 0; d < row; d++) {
                position[(size_t)at * row + d] = (double)NAN;
            }
        }
    }
    p->time = time;
    p->position = position;
    p->n_sample = n;
    *flags = *flags ? kept : NULL;
    return TESS_OK;
}

// The animal is nowhere in a gap; at the samples that end it, it is.
static tess_status forget_places(tess_decode_recording *recording,
                                 const tess_decode_position *before, double max_gap_s)
{
    tess_decode_recording_info *info = &recording->info;
    const int64_t n_time = info->observation.n_time;
    const int64_t n_dim = before->n_dim;
    int64_t k = 0;
    if (!info->true_position || recording->has_truth) {
        return TESS_OK;
    }
    double *known = tess_blocks_copy(&recording->blocks, info->true_position, n_time * n_dim,
                                     sizeof *known, MEMORY);
    if (!known) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n_time; i++) {
        const double t = info->observation.time[i];
        while (k + 2 < before->n_sample && before->time[k + 1] <= t) {
            k++;
        }
        if (before->n_sample > 1 && is_gap(before, k, max_gap_s) && t > before->time[k] &&
            t < before->time[k + 1]) {
            for (int64_t d = 0; d < n_dim; d++) {
                known[i * n_dim + d] = (double)NAN;
            }
        }
    }
    info->true_position = known;
    return TESS_OK;
}

tess_status tess_decode_recording_split_gaps(tess_context *ctx, tess_decode_recording *recording,
                                             double max_gap_s, int64_t *n_gap)
{
    (void)ctx;
    tess_error_clear();
    if (!(max_gap_s > 0)) {
        TESS_FAIL(TESS_E_ARGUMENT, "max_gap_s: %g; expected seconds above 0", max_gap_s);
    }
    tess_decode_recording_info *info = &recording->info;
    tess_blocks *blocks = &recording->blocks;
    const tess_decode_position before = info->observation.position;
    const bool is_one = before.time == info->training.position.time;
    const uint8_t *none = NULL;
    int64_t n = 0;
    TESS_TRY(forget_places(recording, &before, max_gap_s));
    TESS_TRY(split(blocks, max_gap_s, &info->training.position, &info->training.is_training, &n));
    if (n_gap) {
        *n_gap = n;
    }
    if (is_one) {
        info->observation.position = info->training.position;
        return TESS_OK;
    }
    return split(blocks, max_gap_s, &info->observation.position, &none, &n);
}
