// A grid of bins over the range of the positions, and which of its bins the animal can be in.
#include "base/status.h"
#include "systems/decode/places/environment.h"

#include <math.h>
#include <string.h>

// More bins than this on one axis, or in all, is a wrong bin size, not a wish.
static const double MAX_BINS = 1e8;

static int has_nan(const double *row, int64_t n_dim)
{
    for (int64_t i = 0; i < n_dim; i++) {
        if (isnan(row[i])) {
            return 1;
        }
    }
    return 0;
}

// Smallest and largest value of an axis over the rows without NaN; 0 if there is no such row.
static int64_t range_of_samples(const tess_de_environment_plan *plan, int64_t axis, double range[2])
{
    int64_t n = 0;
    for (int64_t k = 0; k < plan->n_sample; k++) {
        const double *row = plan->position + k * plan->n_dim;
        if (has_nan(row, plan->n_dim)) {
            continue;
        }
        const double x = row[axis];
        range[0] = n == 0 || x < range[0] ? x : range[0];
        range[1] = n == 0 || x > range[1] ? x : range[1];
        n++;
    }
    return n;
}

static tess_status axis_range(const tess_de_environment_plan *plan, int64_t axis, double range[2])
{
    const double *given = plan->config.position_range;
    if (given) {
        memcpy(range, given + 2 * axis, 2 * sizeof *range);
        if (!isfinite(range[0]) || !isfinite(range[1]) || !(range[1] > range[0])) {
            TESS_FAIL(TESS_E_ARGUMENT,
                      "position_range: dimension %lld is %g to %g; expected finite values, the "
                      "second above the first",
                      (long long)axis, range[0], range[1]);
        }
        return TESS_OK;
    }
    if (range_of_samples(plan, axis, range) == 0) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "position: none of the %lld samples is free of NaN; bins are made of those that "
                  "were tracked",
                  (long long)plan->n_sample);
    }
    if (!(range[1] > range[0])) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "position has zero extent in dimension %lld (all samples are %g); pass "
                  "position_range, or positions of an animal that moves",
                  (long long)axis, range[0]);
    }
    return TESS_OK;
}

// Equal steps from range[0] to range[1], one more bin on either side if padded.
static tess_status make_axis(tess_decode_environment *env, const tess_de_environment_plan *plan,
                             int64_t axis, double *n_total)
{
    double range[2] = {0, 0};
    TESS_TRY(axis_range(plan, axis, range));
    const int64_t pad = plan->n_dim >= 2;
    const double wanted = ceil((range[1] - range[0]) / plan->bin_size[axis]);
    *n_total *= wanted + (double)(2 * pad);
    if (!(wanted <= MAX_BINS) || !(*n_total <= MAX_BINS)) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "place_bin_size: %g cm cuts dimension %lld (%g cm) into %.0f bins, more than "
                  "%.0f in all; use larger bins",
                  plan->bin_size[axis], (long long)axis, range[1] - range[0], wanted, MAX_BINS);
    }
    const int64_t n = (int64_t)wanted;
    double *edges =
        tess_blocks_alloc(&env->blocks, n + 1 + 2 * pad, sizeof *edges, "edges of position bins");
    if (!edges) {
        return TESS_E_MEMORY;
    }
    const double step = (range[1] - range[0]) / (double)n;
    for (int64_t i = 0; i < n; i++) {
        edges[pad + i] = (double)i * step + range[0];
    }
    edges[pad + n] = range[1];
    if (pad) {
        const double width = edges[2] - edges[1];
        edges[0] = edges[1] - width;
        edges[n + 2] = edges[n + 1] + width;
    }
    env->info.grid_shape[axis] = n + 2 * pad;
    env->info.bin_edges[axis] = edges;
    return TESS_OK;
}

static tess_status count_samples(const tess_decode_environment *env,
                                 const tess_de_environment_plan *plan, uint8_t *mask)
{
    const int64_t n_bin = env->info.n_bin;
    const size_t bytes = (size_t)n_bin * sizeof(int64_t);
    int64_t *counts =
        tess_heap_alloc_zero(env->heap, bytes, TESS_TAG_SCRATCH, "counts of position samples");
    if (!counts) {
        return TESS_E_MEMORY;
    }
    for (int64_t k = 0; k < plan->n_sample; k++) {
        const int64_t bin = tess_de_histogram_bin(&env->info, plan->position + k * plan->n_dim);
        if (bin >= 0) {
            counts[bin]++;
        }
    }
    for (int64_t bin = 0; bin < n_bin; bin++) {
        mask[bin] = counts[bin] > plan->config.bin_count_threshold;
    }
    tess_heap_free(env->heap, counts, bytes, TESS_TAG_SCRATCH);
    return TESS_OK;
}

// Closes gaps of one bin, fills and widens as wished; never leaves the padding set.
static tess_status smooth_mask(tess_decode_environment *env, const tess_de_environment_plan *plan,
                               uint8_t *mask)
{
    const int64_t *shape = env->info.grid_shape;
    const int64_t n_dim = plan->n_dim;
    const int64_t n_bin = env->info.n_bin;
    const size_t bytes = (size_t)n_bin * (sizeof(int64_t) + 1);
    int64_t *queue = tess_heap_alloc(env->heap, bytes, TESS_TAG_SCRATCH, "mask of position bins");
    if (!queue) {
        return TESS_E_MEMORY;
    }
    uint8_t *other = (uint8_t *)(queue + n_bin);
    tess_de_mask_dilate(shape, n_dim, mask, other);
    tess_de_mask_erode(shape, n_dim, other, mask);
    if (plan->config.fill_holes) {
        tess_de_mask_fill(shape, n_dim, mask, other, queue);
    }
    if (plan->config.dilate) {
        tess_de_mask_dilate(shape, n_dim, mask, other);
        memcpy(mask, other, (size_t)n_bin);
    }
    tess_de_mask_clear_rim(shape, n_dim, mask);
    tess_heap_free(env->heap, queue, bytes, TESS_TAG_SCRATCH);
    return TESS_OK;
}

static tess_status infer_interior(tess_decode_environment *env,
                                  const tess_de_environment_plan *plan, uint8_t *mask)
{
    TESS_TRY(count_samples(env, plan, mask));
    if (plan->n_dim >= 2) {
        TESS_TRY(smooth_mask(env, plan, mask));
    }
    if (!memchr(mask, 1, (size_t)env->info.n_bin)) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "position: no bin is on the track: none of the %lld bins holds more than %lld of "
                  "the %lld samples; lower bin_count_threshold, use larger bins, or correct "
                  "position_range",
                  (long long)env->info.n_bin, (long long)plan->config.bin_count_threshold,
                  (long long)plan->n_sample);
    }
    return TESS_OK;
}

tess_status tess_de_grid_make(tess_decode_environment *env, const tess_de_environment_plan *plan)
{
    double n_total = 1;
    env->info.n_place_dim = plan->n_dim;
    for (int64_t axis = 0; axis < plan->n_dim; axis++) {
        TESS_TRY(make_axis(env, plan, axis, &n_total));
    }
    TESS_TRY(tess_de_bins_make(env));
    uint8_t *mask = env->interior;
    if (plan->config.is_track_interior) {
        return TESS_OK; // environment.c takes it over
    }
    if (plan->config.infer_track_interior && plan->n_sample > 0) {
        return infer_interior(env, plan, mask);
    }
    memset(mask, 1, (size_t)env->info.n_bin);
    return TESS_OK;
}
