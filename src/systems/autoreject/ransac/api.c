// RANSAC: check, draw, predict and compare.
#include "base/status.h"
#include "systems/autoreject/ransac/ransac.h"

#include <string.h>

tess_status tess_autoreject_ransac(tess_context *ctx, tess_autoreject_epochs *epochs,
                                   const int64_t *channels, int64_t n_channel,
                                   const tess_autoreject_ransac_config *config,
                                   tess_autoreject_ransac_result *result)
{
    tess_error_clear();
    ransac r;
    TESS_TRY(tess_ar_ransac_check(ctx, epochs, channels, n_channel, config, &r));
    tess_status status = tess_ar_ransac_prepare(&r);
    if (status == TESS_OK) {
        status = tess_ar_ransac_correlate(&r, result);
    }
    if (status == TESS_OK && result->subsets) {
        for (int64_t i = 0; i < r.config.n_resample * r.n_from; i++) {
            result->subsets[i] = r.subsets[i];
        }
    }
    if (status == TESS_OK && result->mappings) {
        memcpy(result->mappings, r.mappings, r.mappings_bytes);
    }
    tess_ar_ransac_release(&r);
    return status;
}
