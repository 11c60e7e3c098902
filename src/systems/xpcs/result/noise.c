#include "systems/xpcs/result/noise.h"

#include "base/status.h"

#include <stdlib.h>

static size_t table_bytes(const tess_xp_noise *noise)
{
    return (size_t)(noise->info->n_angle * noise->info->n_frame) * sizeof(double);
}

tess_status tess_xp_noise_open(const tess_xpcs_result_info *info, tess_xpcs_data *data,
                               tess_xp_noise *out)
{
    *out = (tess_xp_noise){.info = info, .data = data};
    out->has_dataset = info->sigma_mode == TESS_XPCS_SIGMA_DATASET && data->info.has_sigma;
    if (info->sigma_mode != TESS_XPCS_SIGMA_PER_LAG) {
        return TESS_OK;
    }
    out->per_lag =
        tess_heap_alloc(&data->ctx->heap, table_bytes(out), TESS_TAG_RESULT, "deviations by lag");
    const tess_comm_deal whole = tess_comm_deal_of(data->ctx, false); // by rank 0, for its report
    const tess_status status =
        out->per_lag ? tess_xp_data_sigma_per_lag(data->ctx, data, whole, out->per_lag)
                     : TESS_E_MEMORY;
    if (status != TESS_OK) {
        tess_xp_noise_close(out);
    }
    return status;
}

void tess_xp_noise_close(tess_xp_noise *noise)
{
    if (noise->per_lag) {
        tess_heap_free(&noise->data->ctx->heap, noise->per_lag, table_bytes(noise),
                       TESS_TAG_RESULT);
    }
    *noise = (tess_xp_noise){0};
}

const double *tess_xp_noise_lags(const tess_xp_noise *noise, int64_t angle)
{
    return noise->per_lag ? noise->per_lag + angle * noise->info->n_frame : NULL;
}

tess_status tess_xp_noise_rows(const tess_xp_noise *noise, int64_t angle, int64_t first,
                               int64_t count, double *sigma)
{
    const int64_t n = noise->info->n_frame;
    const double *lags = tess_xp_noise_lags(noise, angle);
    if (noise->has_dataset) {
        return tess_xp_data_sigma_rows(noise->data, angle, first, count, sigma);
    }
    for (int64_t k = 0; k < count; k++) {
        for (int64_t j = 0; j < n; j++) {
            const int64_t lag = llabs(first + k - j);
            sigma[k * n + j] = lags ? lags[lag > 0 ? lag : 1] : noise->info->sigma[angle];
        }
    }
    return TESS_OK;
}
