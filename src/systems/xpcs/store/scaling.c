// Contrast and offset of every angle from quantiles of short and long lags.
#include "base/status.h"
#include "systems/xpcs/store/lags.h"
#include "systems/xpcs/store/order.h"
#include "tessera/xpcs/model.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { N_SET = 2, FAR = 0, NEAR = 1, LEAST_POINTS = 100, LEAST_REGION = 10 };

static const double SHORT_LAGS = 0.2;
static const double LONG_LAGS = 0.8;
static const double OFFSET_QUANTILE = 0.1;
static const double CONTRAST_QUANTILE = 0.9;

typedef struct lag_range {
    int64_t first;
    int64_t last;
} lag_range;

// Finite values whose lags lie in the range of the set.
static int64_t values(const void *self, int64_t angle, int64_t set, const tess_xp_tile *tile,
                      const double *y, double *out)
{
    const lag_range *range = (const lag_range *)self + angle * N_SET + set;
    const int64_t lag = tile->first_column - tile->row;
    const int64_t begin = range->first > lag ? range->first - lag : 0;
    const int64_t end =
        range->last - lag + 1 < tile->n_column ? range->last - lag + 1 : tile->n_column;
    int64_t n = 0;
    for (int64_t k = begin; k < end; k++) {
        if (!isnan(y[k])) {
            out[n++] = y[k];
        }
    }
    return n;
}

static void choose(const tess_xp_lags *lags, int64_t angle, lag_range *ranges,
                   tess_xp_quantile *quantiles)
{
    const int32_t *counts = lags->n_value + angle * lags->n_frame;
    const lag_range all = {0, lags->n_frame - 1};
    const int64_t n = tess_xp_lag_sum(counts, all.first, all.last);
    if (n < LEAST_POINTS) {
        quantiles[FAR] = quantiles[NEAR] = (tess_xp_quantile){0};
        return;
    }
    const double far = tess_xp_lag_quantile(counts, lags->n_frame, n, LONG_LAGS);
    const double near = tess_xp_lag_quantile(counts, lags->n_frame, n, SHORT_LAGS);
    ranges[FAR] = (lag_range){(int64_t)ceil(far), all.last};
    ranges[NEAR] = (lag_range){all.first, (int64_t)floor(near)};
    for (int64_t set = 0; set < N_SET; set++) {
        int64_t n_set = tess_xp_lag_sum(counts, ranges[set].first, ranges[set].last);
        if (n_set < LEAST_REGION) {
            ranges[set] = all;
            n_set = n;
        }
        quantiles[set] =
            (tess_xp_quantile){.n = n_set,
                               .fraction = set == FAR ? OFFSET_QUANTILE : CONTRAST_QUANTILE,
                               .low = lags->least[angle],
                               .high = lags->largest[angle]};
    }
}

static double clipped(double value, int32_t which)
{
    const tess_xpcs_param_info *param = tess_xpcs_scaling_param(which);
    return value < param->lower ? param->lower : value > param->upper ? param->upper : value;
}

static double midpoint(int32_t which)
{
    const tess_xpcs_param_info *param = tess_xpcs_scaling_param(which);
    return 0.5 * (param->lower + param->upper);
}

// What is found of an angle.
typedef struct scaling {
    double contrast;
    double offset;
} scaling;

static tess_status estimate(tess_context *ctx, tess_xpcs_data *data, tess_comm_deal angles,
                            lag_range *ranges, tess_xp_quantile *quantiles, scaling *found)
{
    tess_xp_lags lags;
    TESS_TRY(tess_xp_lags_count(ctx, data, angles, &lags));
    for (int64_t a = angles.first; a < data->info.n_angle; a += angles.step) {
        choose(&lags, a, ranges + a * N_SET, quantiles + a * N_SET);
    }
    tess_xp_lags_destroy(ctx, &lags);
    TESS_TRY(tess_xp_order(ctx, data, angles, "xpcs.quantiles", N_SET, values, ranges, quantiles));
    for (int64_t a = angles.first; a < data->info.n_angle; a += angles.step) {
        const tess_xp_quantile *q = quantiles + a * N_SET;
        const double offset = q[FAR].n > 0 ? clipped(q[FAR].value, 1) : midpoint(1);
        found[a].offset = offset;
        found[a].contrast = q[NEAR].n > 0 ? clipped(q[NEAR].value - offset, 0) : midpoint(0);
    }
    return TESS_OK;
}

uint64_t tess_xp_survey_bytes(const tess_xpcs_data *data)
{
    const tess_xp_lags lags = {.n_angle = data->info.n_angle, .n_frame = data->info.n_frame};
    const uint64_t counts = tess_xp_lags_bytes(&lags);
    const uint64_t order = tess_xp_order_bytes(data->info.n_angle * N_SET);
    return tess_xp_scan_bytes(data) + (counts > order ? counts : order);
}

static tess_status find(tess_context *ctx, tess_xpcs_data *data, tess_comm_deal angles,
                        double *contrast, double *offset)
{
    const int64_t n_angle = data->info.n_angle;
    const size_t n = (size_t)n_angle * N_SET;
    const size_t bytes =
        n * (sizeof(tess_xp_quantile) + sizeof(lag_range)) + (size_t)n_angle * sizeof(scaling);
    tess_xp_quantile *quantiles =
        tess_heap_alloc_zero(&ctx->heap, bytes, TESS_TAG_SCRATCH, "quantiles");
    if (!quantiles) {
        return TESS_E_MEMORY;
    }
    lag_range *ranges = (lag_range *)(void *)(quantiles + n);
    scaling *found = (scaling *)(void *)(ranges + n);
    tess_status status = estimate(ctx, data, angles, ranges, quantiles, found);
    status = tess_comm_share_dealt(ctx, (tess_comm_point){"contrasts and offsets", (uint64_t)n},
                                   angles, status, found, sizeof *found, n_angle);
    for (int64_t a = 0; a < n_angle && status == TESS_OK; a++) {
        contrast[a] = found[a].contrast;
        offset[a] = found[a].offset;
    }
    tess_heap_free(&ctx->heap, quantiles, bytes, TESS_TAG_SCRATCH);
    return status;
}

// For the next fit. Somebody else's may have come first, and is the same.
static tess_status remember(tess_xpcs_data *data, const double *contrast, const double *offset)
{
    const size_t n = (size_t)data->info.n_angle;
    const size_t bytes = 2 * (size_t)data->n_made * sizeof(double);
    tess_heap *heap = &data->ctx->heap;
    double *none = NULL;
    double *known = tess_heap_alloc_zero(heap, bytes, TESS_TAG_PLAN, "contrasts and offsets");
    if (!known) {
        return TESS_E_MEMORY;
    }
    memcpy(known, contrast, n * sizeof *known);
    memcpy(known + n, offset, n * sizeof *known);
    if (!atomic_compare_exchange_strong(&data->scaling, &none, known)) {
        tess_heap_free(heap, known, bytes, TESS_TAG_PLAN);
    }
    return TESS_OK;
}

tess_status tess_xp_data_scaling(tess_context *ctx, tess_xpcs_data *data, tess_comm_deal angles,
                                 double *contrast, double *offset)
{
    const size_t n = (size_t)data->info.n_angle;
    // Ranks divide the work all together or not at all: others may not know what this one does.
    const bool may_know = data->n_lost == 0 && angles.step == 1;
    const double *known = may_know ? atomic_load(&data->scaling) : NULL;
    if (known) {
        memcpy(contrast, known, n * sizeof *known);
        memcpy(offset, known + n, n * sizeof *known);
        return TESS_OK;
    }
    TESS_TRY(find(ctx, data, angles, contrast, offset));
    return data->n_lost == 0 ? remember(data, contrast, offset) : TESS_OK;
}

tess_status tess_xpcs_data_quantile_scaling(tess_context *ctx, tess_xpcs_data *data,
                                            double *contrast, double *offset)
{
    tess_error_clear();
    return tess_xp_data_scaling(ctx, data, tess_comm_deal_of(ctx, false), contrast, offset);
}
