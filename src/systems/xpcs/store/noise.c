// The noise of a point, from differences of points that a smooth surface makes nearly equal.
#include "base/status.h"
#include "systems/xpcs/store/lags.h"
#include "systems/xpcs/store/order.h"

#include <math.h>

enum { LEAST_STEPS = 10, WINDOW_STEPS = 400 };

static const double LONG_LAGS = 0.8;
static const double MAD_TO_SD = 1.4826;
static const double SQRT_2 = 1.4142135623730951;
static const double SQRT_PI = 1.7724538509055161;

typedef struct step_set {
    int64_t *first_lag; // [n_angle]
    double *median;     // [n_angle]
    bool is_deviation;  // from the median, instead of the step itself
} step_set;

// Steps between neighbours of a tile's row at long lags, by sqrt 2, or their distance from the
// median.
static int64_t steps(const void *self, int64_t angle, int64_t set, const tess_xp_tile *tile,
                     const double *y, double *out)
{
    (void)set;
    const step_set *s = self;
    const int64_t lag = tile->first_column - tile->row;
    int64_t n = 0;
    for (int64_t k = s->first_lag[angle] > lag ? s->first_lag[angle] - lag : 0;
         k + 1 < tile->n_column; k++) {
        const double step = (y[k + 1] - y[k]) / SQRT_2;
        if (!isnan(step)) {
            out[n++] = s->is_deviation ? fabs(step - s->median[angle]) : step;
        }
    }
    return n;
}

static tess_status choose(const tess_xp_lags *lags, int64_t angle, int64_t *first_lag,
                          tess_xp_quantile *quantile)
{
    const int64_t last = lags->n_frame - 1;
    const int32_t *n_value = lags->n_value + angle * lags->n_frame;
    const int32_t *n_step = lags->n_step + angle * lags->n_frame;
    const int64_t n = tess_xp_lag_sum(n_value, 0, last);
    *first_lag =
        n > 0 ? (int64_t)ceil(tess_xp_lag_quantile(n_value, lags->n_frame, n, LONG_LAGS)) : 0;
    int64_t used = tess_xp_lag_sum(n_step, *first_lag, last);
    if (used < LEAST_STEPS) {
        *first_lag = 0;
        used = tess_xp_lag_sum(n_step, 0, last);
    }
    if (used == 0) {
        TESS_FAIL(TESS_E_NUMERIC,
                  "angle %lld: no two neighbouring values are finite, its noise cannot be "
                  "estimated; give sigma",
                  (long long)angle);
    }
    const double range = lags->largest[angle] - lags->least[angle];
    *quantile = (tess_xp_quantile){.n = used, .fraction = 0.5, .low = -range, .high = range};
    return TESS_OK;
}

static tess_status check_positive(double sigma, int64_t angle)
{
    if (!(sigma > 0)) {
        TESS_FAIL(TESS_E_NUMERIC,
                  "angle %lld: neighbouring values are equal, there is no noise to estimate; give "
                  "sigma",
                  (long long)angle);
    }
    return TESS_OK;
}

static tess_status estimate(tess_context *ctx, tess_xpcs_data *data, tess_comm_deal angles,
                            step_set *set, tess_xp_quantile *quantiles, double *sigma)
{
    tess_xp_lags lags;
    TESS_TRY(tess_xp_lags_count(ctx, data, angles, &lags));
    tess_status status = TESS_OK;
    for (int64_t a = angles.first; a < lags.n_angle && status == TESS_OK; a += angles.step) {
        status = choose(&lags, a, &set->first_lag[a], &quantiles[a]);
    }
    tess_xp_lags_destroy(ctx, &lags);
    TESS_TRY(status);
    TESS_TRY(tess_xp_order(ctx, data, angles, "xpcs.noise", 1, steps, set, quantiles));
    for (int64_t a = 0; a < data->info.n_angle; a++) {
        set->median[a] = quantiles[a].value;
        quantiles[a].low = 0;
        quantiles[a].high *= 2;
    }
    set->is_deviation = true;
    TESS_TRY(tess_xp_order(ctx, data, angles, "xpcs.noise", 1, steps, set, quantiles));
    for (int64_t a = angles.first; a < data->info.n_angle; a += angles.step) {
        sigma[a] = MAD_TO_SD * quantiles[a].value;
        TESS_TRY(check_positive(sigma[a], a));
    }
    return TESS_OK;
}

static tess_status estimate_own(tess_context *ctx, tess_xpcs_data *data, tess_comm_deal angles,
                                double *sigma)
{
    const size_t n = (size_t)data->info.n_angle;
    const size_t bytes = n * (sizeof(tess_xp_quantile) + 2 * sizeof(double));
    tess_xp_quantile *quantiles =
        tess_heap_alloc_zero(&ctx->heap, bytes, TESS_TAG_SCRATCH, "quantiles");
    if (!quantiles) {
        return TESS_E_MEMORY;
    }
    double *numbers = (double *)(void *)(quantiles + n);
    step_set set = {.first_lag = (int64_t *)(void *)numbers, .median = numbers + n};
    const tess_status status = estimate(ctx, data, angles, &set, quantiles, sigma);
    tess_heap_free(&ctx->heap, quantiles, bytes, TESS_TAG_SCRATCH);
    return status;
}

tess_status tess_xp_data_sigma(tess_context *ctx, tess_xpcs_data *data, tess_comm_deal angles,
                               double *sigma)
{
    const int64_t n = data->info.n_angle;
    return tess_comm_share_dealt(ctx, (tess_comm_point){"noise of angles", (uint64_t)n}, angles,
                                 estimate_own(ctx, data, angles, sigma), sigma, sizeof *sigma, n);
}

tess_status tess_xpcs_data_estimate_sigma(tess_context *ctx, tess_xpcs_data *data, double *sigma)
{
    tess_error_clear();
    return tess_xp_data_sigma(ctx, data, tess_comm_deal_of(ctx, false), sigma);
}

// Differences along the diagonals: both points have the same lag, so a steady decay leaves none.
typedef struct lag_noise {
    int64_t n_frame;
    double *last; // [n_angle][n_frame] the value met last at a lag; NaN: none
    double *sum;  // [n_angle][n_frame] of |differences|
    double *n;    // [n_angle][n_frame]
} lag_noise;

static void add_differences(void *self, int64_t angle, const tess_xp_tile *tile, const double *y)
{
    const lag_noise *noise = self;
    const int64_t at = angle * noise->n_frame + tile->first_column - tile->row;
    for (int64_t k = 0; k < tile->n_column; k++) {
        const double difference = fabs(y[k] - noise->last[at + k]);
        if (!isnan(difference)) {
            noise->sum[at + k] += difference;
            noise->n[at + k] += 1;
        }
        noise->last[at + k] = y[k];
    }
}

// The mean of |differences| over as many neighbouring lags as make it steady, as a standard
// deviation. 0: there is no difference at all.
static double smooth(const double *sum, const double *n, int64_t n_frame, int64_t lag)
{
    double total = sum[lag];
    double count = n[lag];
    for (int64_t h = 1; h < n_frame && count < WINDOW_STEPS; h++) {
        if (lag - h >= 0) {
            total += sum[lag - h];
            count += n[lag - h];
        }
        if (lag + h < n_frame) {
            total += sum[lag + h];
            count += n[lag + h];
        }
    }
    return count > 0 ? 0.5 * SQRT_PI * total / count : 0;
}

static tess_status estimate_lags(tess_context *ctx, tess_xpcs_data *data, tess_comm_deal angles,
                                 double *sigma)
{
    const int64_t n = data->info.n_angle * data->info.n_frame;
    const size_t bytes = 3 * (size_t)n * sizeof(double);
    tess_heap *heap = &ctx->heap;
    double *block = tess_heap_alloc_zero(heap, bytes, TESS_TAG_SCRATCH, "noise by lag");
    if (!block) {
        return TESS_E_MEMORY;
    }
    lag_noise noise = {
        .n_frame = data->info.n_frame, .last = block, .sum = block + n, .n = block + 2 * n};
    for (int64_t k = 0; k < n; k++) {
        noise.last[k] = (double)NAN;
    }
    tess_status status = tess_xp_scan(ctx, data, angles, "xpcs.noise", add_differences, &noise);
    for (int64_t a = angles.first; a < data->info.n_angle && status == TESS_OK; a += angles.step) {
        const int64_t at = a * noise.n_frame;
        for (int64_t lag = 0; lag < noise.n_frame && status == TESS_OK; lag++) {
            sigma[at + lag] = smooth(noise.sum + at, noise.n + at, noise.n_frame, lag);
            status = check_positive(sigma[at + lag], a);
        }
    }
    tess_heap_free(heap, block, bytes, TESS_TAG_SCRATCH);
    return status;
}

tess_status tess_xp_data_sigma_per_lag(tess_context *ctx, tess_xpcs_data *data,
                                       tess_comm_deal angles, double *sigma)
{
    const int64_t n = data->info.n_angle;
    const size_t row_bytes = (size_t)data->info.n_frame * sizeof *sigma;
    return tess_comm_share_dealt(ctx, (tess_comm_point){"noise by lag", (uint64_t)n}, angles,
                                 estimate_lags(ctx, data, angles, sigma), sigma, row_bytes, n);
}
