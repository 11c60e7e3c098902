// Public functions: check, act, return; no mathematics.
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/stage.h"
#include "systems/autoreject/interpolation/field.h"
#include "systems/autoreject/interpolation/positions.h"
#include "systems/autoreject/interpolation/repair.h"
#include "systems/autoreject/interpolation/spline.h"
#include "tessera/autoreject/interpolation.h"

#include <math.h>
#include <string.h>

static tess_status check_list(const void *list, int64_t n, const char *name)
{
    if (!list || n < 1) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: there must be at least one channel", name);
    }
    return TESS_OK;
}

static tess_status check_points(const double *points, int64_t n, const char *name)
{
    TESS_TRY(check_list(points, n, name));
    int64_t n_zero = 0;
    for (int64_t i = 0; i < n; i++) {
        const double *p = points + 3 * i;
        if (!isfinite(p[0]) || !isfinite(p[1]) || !isfinite(p[2])) {
            TESS_FAIL(TESS_E_ARGUMENT, "%s: position %lld is (%g, %g, %g); give finite numbers",
                      name, (long long)i, p[0], p[1], p[2]);
        }
        n_zero += p[0] == 0 && p[1] == 0 && p[2] == 0;
    }
    if (n_zero > 1) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "%s: Could not extract channel positions for %lld channels: they are (0, 0, 0)",
                  name, (long long)n_zero);
    }
    return TESS_OK;
}

tess_status tess_autoreject_spline_weights(tess_context *ctx, const double *from, int64_t n_from,
                                           const double *to, int64_t n_to, double *out)
{
    tess_error_clear();
    TESS_TRY(check_points(from, n_from, "from"));
    TESS_TRY(check_points(to, n_to, "to"));
    const int64_t n_item = 3 * (n_from + n_to) + n_from * n_from + n_from * (2 * n_to + 1);
    const size_t bytes = (size_t)n_item * sizeof(double);
    double *u = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "matrices of splines");
    if (!u) {
        return TESS_E_MEMORY;
    }
    double *v = u + 3 * n_from;
    double *g_from = v + 3 * n_to;
    double *g_to = g_from + n_from * n_from; // without the column that g_cross has more
    double *g_cross = g_to + n_from * n_to;
    const double origin[3] = {0, 0, 0};
    tess_ar_directions(from, n_from, origin, u);
    tess_ar_directions(to, n_to, origin, v);
    tess_ar_spline_matrix(u, n_from, u, n_from, g_from);
    tess_ar_spline_matrix(u, n_from, v, n_to, g_to);
    for (int64_t i = 0; i < n_from; i++) {
        memcpy(g_cross + i * (n_to + 1), g_to + i * n_to, (size_t)n_to * sizeof *g_to);
    }
    const bool is_definite = tess_ar_spline_direct(g_from, g_cross, n_from, n_to, out);
    tess_heap_free(&ctx->heap, u, bytes, TESS_TAG_SCRATCH);
    if (!is_definite) {
        TESS_FAIL(TESS_E_NUMERIC, "from: the matrix of the splines is not positive definite");
    }
    return TESS_OK;
}

// The channels of both lists once, in the order they come in; at[] where each item of the lists is.
static int64_t unite(const int64_t *from, int64_t n_from, const int64_t *to, int64_t n_to,
                     int32_t *place, int64_t *group, int32_t *at)
{
    int64_t n = 0;
    for (int64_t i = 0; i < n_from + n_to; i++) {
        const int64_t channel = i < n_from ? from[i] : to[i - n_from];
        if (place[channel] == 0) {
            group[n++] = channel;
            place[channel] = (int32_t)n;
        }
        at[i] = place[channel] - 1;
    }
    return n;
}

tess_status tess_autoreject_weights(tess_context *ctx, const tess_autoreject_sensors *sensors,
                                    const int64_t *from, int64_t n_from, const int64_t *to,
                                    int64_t n_to,
                                    const tess_autoreject_interpolation_config *config, double *out)
{
    tess_error_clear();
    TESS_TRY(check_list(from, n_from, "from"));
    TESS_TRY(check_list(to, n_to, "to"));
    TESS_TRY(tess_ar_check_channels(sensors, from, n_from, "from"));
    TESS_TRY(tess_ar_check_channels(sensors, to, n_to, "to"));
    const int64_t n_both = n_from + n_to;
    const size_t bytes = (size_t)n_both * (sizeof(int64_t) + sizeof(int32_t)) +
                         (size_t)sensors->n_chan * sizeof(int32_t);
    int64_t *group = tess_heap_alloc_zero(&ctx->heap, bytes, TESS_TAG_SCRATCH, "lists of channels");
    if (!group) {
        return TESS_E_MEMORY;
    }
    int32_t *at = (int32_t *)(group + n_both);
    const int64_t n = unite(from, n_from, to, n_to, at + n_both, group, at);
    tess_ar_repairer *repairer = NULL;
    tess_status status = tess_ar_repairer_create(ctx, sensors, group, n, config, &repairer);
    if (status == TESS_OK) {
        status = tess_ar_repairer_predict(repairer, at, n_from, at + n_from, n_to, out);
    }
    tess_ar_repairer_destroy(repairer);
    tess_heap_free(&ctx->heap, group, bytes, TESS_TAG_SCRATCH);
    return status;
}

tess_status tess_autoreject_meg_dots(tess_context *ctx, const tess_autoreject_sensors *sensors,
                                     const int64_t *channels, int64_t n,
                                     const tess_autoreject_interpolation_config *given, double *out)
{
    tess_error_clear();
    tess_autoreject_interpolation_config config;
    tess_autoreject_interpolation_config_init(&config, sizeof config);
    if (given) {
        TESS_TRY(tess_struct_read(given, &config, sizeof config, "config"));
    }
    TESS_TRY(check_list(channels, n, "channels"));
    TESS_TRY(tess_ar_check_channels(sensors, channels, n, "channels"));
    return tess_ar_field_dots(ctx, &ctx->cpu, sensors, channels, n, &config, out);
}
