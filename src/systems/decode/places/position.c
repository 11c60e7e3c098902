// Position between the samples of a series, and beyond its ends.
#include "base/status.h"
#include "systems/decode/places/environment.h"

#include <math.h>

static tess_status check_series(const double *time, int64_t n_sample)
{
    if (n_sample < 2) {
        TESS_FAIL(TESS_E_ARGUMENT, "position: has %lld sample%s; interpolation needs at least two",
                  (long long)n_sample, n_sample == 1 ? "" : "s");
    }
    for (int64_t k = 0; k < n_sample; k++) {
        if (!isfinite(time[k])) {
            TESS_FAIL(TESS_E_NUMERIC, "position_time: value %lld is %g; times must be finite",
                      (long long)k, time[k]);
        }
        if (k > 0 && !(time[k] > time[k - 1])) {
            TESS_FAIL(TESS_E_ARGUMENT,
                      "position_time: value %lld (%.9g) does not come after value %lld (%.9g); "
                      "times must increase: sort them and drop repeated ones",
                      (long long)k, time[k], (long long)(k - 1), time[k - 1]);
        }
    }
    return TESS_OK;
}

// The segment k, k + 1 that holds t, or the end segment on its side. hint: where the last one was.
static int64_t find_segment(const double *time, int64_t n_sample, double t, int64_t hint)
{
    for (int64_t k = hint; k < hint + 4 && k < n_sample - 1; k++) {
        if (time[k] <= t && t < time[k + 1]) {
            return k;
        }
    }
    const int64_t k = tess_de_count_below(time, n_sample, t) - 1;
    return k < 0 ? 0 : k > n_sample - 2 ? n_sample - 2 : k;
}

tess_status tess_decode_position_at(const double *time, const double *position, int64_t n_sample,
                                    int64_t n_dim, const double *query, int64_t n, double *out)
{
    tess_error_clear();
    if (n == 0) {
        return TESS_OK;
    }
    TESS_TRY(check_series(time, n_sample));
    int64_t k = 0;
    for (int64_t i = 0; i < n; i++) {
        k = find_segment(time, n_sample, query[i], k);
        const double share = (query[i] - time[k]) / (time[k + 1] - time[k]);
        const double *row = position + k * n_dim;
        for (int64_t axis = 0; axis < n_dim; axis++) {
            // At a sample its own value counts alone: a neighbour may be NaN.
            const double from = share == 1 ? 0 : row[axis] * (1 - share);
            const double to = share == 0 ? 0 : row[n_dim + axis] * share;
            out[i * n_dim + axis] = from + to;
        }
    }
    return TESS_OK;
}
