#include "systems/xpcs/store/lags.h"

#include "base/status.h"
#include "systems/xpcs/store/order.h"
#include "systems/xpcs/store/scan.h"

#include <math.h>

enum { LANES = 8 }; // that compilers make vectors of

// Widens *least .. *largest to y [n]; whether no value is NaN.
static bool widen(const double *y, int64_t n, double *least, double *largest)
{
    double low[LANES];
    double high[LANES];
    bool is_whole = true;
    int64_t k = 0;
    for (int i = 0; i < LANES; i++) {
        low[i] = *least;
        high[i] = *largest;
    }
    for (; k + LANES <= n; k += LANES) {
        int n_nan = 0;
        for (int i = 0; i < LANES; i++) {
            const double x = y[k + i];
            n_nan += x != x;
            low[i] = x < low[i] ? x : low[i];
            high[i] = x > high[i] ? x : high[i];
        }
        is_whole = is_whole && n_nan == 0;
    }
    for (; k < n; k++) {
        is_whole = is_whole && y[k] == y[k];
        low[0] = y[k] < low[0] ? y[k] : low[0];
        high[0] = y[k] > high[0] ? y[k] : high[0];
    }
    for (int i = 0; i < LANES; i++) {
        *least = low[i] < *least ? low[i] : *least;
        *largest = high[i] > *largest ? high[i] : *largest;
    }
    return is_whole;
}

static void count(void *self, int64_t angle, const tess_xp_tile *tile, const double *y)
{
    const tess_xp_lags *lags = self;
    const int64_t n = tile->n_column;
    int32_t *n_value = lags->n_value + angle * lags->n_frame + tile->first_column - tile->row;
    int32_t *n_step = lags->n_step + angle * lags->n_frame + tile->first_column - tile->row;
    // Most tiles are whole, and need no look at single values. Ends are those of a neighbour's
    // line: they are written where they move alone, or threads would wait for each other at every
    // tile.
    double least = lags->least[angle];
    double largest = lags->largest[angle];
    const bool is_whole = widen(y, n, &least, &largest);
    if (least < lags->least[angle]) {
        lags->least[angle] = least;
    }
    if (largest > lags->largest[angle]) {
        lags->largest[angle] = largest;
    }
    for (int64_t k = 0; k < n; k++) {
        n_value[k] += is_whole || !isnan(y[k]);
    }
    for (int64_t k = 1; k < n; k++) {
        n_step[k - 1] += is_whole || (!isnan(y[k]) && !isnan(y[k - 1]));
    }
}

size_t tess_xp_lags_bytes(const tess_xp_lags *lags)
{
    return (size_t)lags->n_angle * 2 * (sizeof(double) + (size_t)lags->n_frame * sizeof(int32_t));
}

tess_status tess_xp_lags_count(tess_context *ctx, tess_xpcs_data *data, tess_comm_deal angles,
                               tess_xp_lags *out)
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
    const tess_status status = tess_xp_scan(ctx, data, angles, "xpcs.lags", count, out);
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
