#include "systems/xpcs/store/lags.h"

#include "base/status.h"
#include "systems/xpcs/store/order.h"
#include "systems/xpcs/store/scan.h"

#include <math.h>

static void count(void *self, int64_t angle, const tess_xp_tile *tile, const double *y)
{
    const tess_xp_lags *lags = self;
    int32_t *n_value = lags->n_value + angle * lags->n_frame + tile->first_column - tile->row;
    int32_t *n_step = lags->n_step + angle * lags->n_frame + tile->first_column - tile->row;
    double least = lags->least[angle];
    double largest = lags->largest[angle];
    bool was_finite = false;
    for (int64_t k = 0; k < tile->n_column; k++) {
        const bool is_finite = !isnan(y[k]);
        n_value[k] += is_finite;
        if (is_finite && was_finite) {
            n_step[k - 1]++;
        }
        least = y[k] < least ? y[k] : least;
        largest = y[k] > largest ? y[k] : largest;
        was_finite = is_finite;
    }
    lags->least[angle] = least;
    lags->largest[angle] = largest;
}

size_t tess_xp_lags_bytes(const tess_xp_lags *lags)
{
    return (size_t)lags->n_angle * 2 * (sizeof(double) + (size_t)lags->n_frame * sizeof(int32_t));
}

tess_status tess_xp_lags_count(tess_context *ctx, tess_xpcs_data *data, tess_xp_lags *out)
{
    *out = (tess_xp_lags){.n_angle = data->info.n_angle, .n_frame = data->info.n_frame};
    double *block = tess_heap_alloc_zero(&ctx->heap, tess_xp_lags_bytes(out), TESS_TAG_SCRATCH,
                                         "counts of lags");
    if (!block) {
        return TESS_E_MEMORY;
    }
    out->least = block;
    out->largest = block + out->n_angle;
    out->n_value = (int32_t *)(void *)(block + 2 * out->n_angle);
    out->n_step = out->n_value + out->n_angle * out->n_frame;
    for (int64_t a = 0; a < out->n_angle; a++) {
        out->least[a] = (double)INFINITY;
        out->largest[a] = -(double)INFINITY;
    }
    const tess_status status = tess_xp_scan(ctx, data, "xpcs.lags", count, out);
    if (status != TESS_OK) {
        tess_xp_lags_destroy(ctx, out);
    }
    return status;
}

void tess_xp_lags_destroy(tess_context *ctx, tess_xp_lags *lags)
{
    if (lags->least) {
        tess_heap_free(&ctx->heap, lags->least, tess_xp_lags_bytes(lags), TESS_TAG_SCRATCH);
    }
    *lags = (tess_xp_lags){0};
}

// The lag of the value of a rank.
static int64_t lag_at(const int32_t *counts, int64_t n_frame, int64_t rank)
{
    int64_t lag = 0;
    int64_t n = 0;
    while (lag < n_frame - 1 && n + counts[lag] <= rank) {
        n += counts[lag++];
    }
    return lag;
}

double tess_xp_lag_quantile(const int32_t *counts, int64_t n_frame, int64_t n, double fraction)
{
    const double position = (double)(n - 1) * fraction;
    const int64_t rank = (int64_t)floor(position);
    const double a = (double)lag_at(counts, n_frame, rank);
    const double b = (double)lag_at(counts, n_frame, rank + 1 < n ? rank + 1 : rank);
    return tess_xp_lerp(a, b, position - floor(position));
}

int64_t tess_xp_lag_sum(const int32_t *counts, int64_t first, int64_t last)
{
    int64_t n = 0;
    for (int64_t lag = first; lag <= last; lag++) {
        n += counts[lag];
    }
    return n;
}
