#include "systems/xpcs/report/bands.h"

#include <math.h>

static const double FLOOR = 1e-10; // of a rate

bool tess_xp_is_at_bound(const tess_xpcs_result_info *info, int64_t k)
{
    return info->status &&
           (info->status[k] == TESS_XPCS_AT_LOWER || info->status[k] == TESS_XPCS_AT_UPPER);
}

bool tess_xp_rate_sd(const tess_xpcs_result_info *info, int which, const double *t, int64_t n,
                     double *sd)
{
    const double *theta = info->theta + 3 * (int64_t)which;
    const int64_t width = info->n_covariance;
    const int64_t first = 2 * info->n_angle + 3 * (int64_t)which;
    const double *covariance = info->covariance + first * width + first;
    for (int64_t i = 0; i < 3; i++) {
        for (int64_t j = 0; j < 3; j++) {
            const bool is_held = tess_xp_is_at_bound(info, 3 * (int64_t)which + i) ||
                                 tess_xp_is_at_bound(info, 3 * (int64_t)which + j);
            if (!is_held && !isfinite(covariance[i * width + j])) {
                return false;
            }
        }
    }
    for (int64_t k = 0; k < n; k++) {
        const double power = pow(t[k], theta[1]);
        double slopes[3] = {power, theta[0] * power * log(t[k]), 1};
        double variance = 0;
        for (int64_t i = 0; i < 3; i++) {
            slopes[i] = tess_xp_is_at_bound(info, 3 * (int64_t)which + i) ? 0 : slopes[i];
        }
        for (int64_t i = 0; i < 3; i++) {
            for (int64_t j = 0; j < 3; j++) {
                variance += slopes[i] != 0 && slopes[j] != 0
                                ? slopes[i] * covariance[i * width + j] * slopes[j]
                                : 0;
            }
        }
        const bool is_floored = !(theta[0] * power + theta[2] > FLOOR);
        // Rounding may leave a variance of nearly nothing below zero.
        sd[k] = is_floored || !(variance > 0) ? 0 : sqrt(variance);
    }
    return true;
}
