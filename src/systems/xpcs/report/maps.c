#include "systems/xpcs/report/maps.h"

#include "base/status.h"
#include "numerics/order.h"
#include "page/colour.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_COLOUR = 255, GREY = 255 };

static const double LOW_SHARE = 0.01;
static const double HIGH_SHARE = 0.99;

static size_t map_bytes(const tess_xp_maps *maps)
{
    // The last two are room to look for percentiles in.
    return 5 * (size_t)(maps->side * maps->side) * sizeof(double);
}

tess_status tess_xp_maps_create(const tess_xp_sweep *sweep, tess_xp_maps *out)
{
    *out = (tess_xp_maps){.heap = &sweep->setup.ctx->heap, .side = sweep->side};
    out->values = tess_heap_alloc(out->heap, map_bytes(out), TESS_TAG_GENERAL, "maps");
    return out->values ? TESS_OK : TESS_E_MEMORY;
}

void tess_xp_maps_destroy(tess_xp_maps *maps)
{
    if (maps->heap) {
        tess_heap_free(maps->heap, maps->values, map_bytes(maps), TESS_TAG_GENERAL);
    }
    *maps = (tess_xp_maps){0};
}

// Finite values above the diagonal; returns how many.
static int64_t gather(const double *values, int64_t side, double *found)
{
    int64_t n = 0;
    for (int64_t i = 0; i < side; i++) {
        for (int64_t j = i; j < side; j++) {
            if (isfinite(values[i * side + j])) {
                found[n++] = values[i * side + j];
            }
        }
    }
    return n;
}

static double quantile(double *values, int64_t n, double share)
{
    return tess_select(values, n, llround(share * (double)(n - 1)));
}

static void choose_scales(tess_xp_maps *maps, bool has_fit)
{
    const int64_t n_cell = maps->side * maps->side;
    double *shown = maps->values + 3 * n_cell;
    int64_t n = gather(maps->values, maps->side, shown);
    if (has_fit) {
        n += gather(maps->values + n_cell, maps->side, shown + n);
    }
    maps->low = n > 0 ? quantile(shown, n, LOW_SHARE) : 0;
    maps->high = n > 0 ? quantile(shown, n, HIGH_SHARE) : 1;
    n = gather(maps->values + 2 * n_cell, maps->side, shown);
    for (int64_t i = 0; i < n; i++) {
        shown[i] = fabs(shown[i]);
    }
    maps->limit = n > 0 ? quantile(shown, n, HIGH_SHARE) : 1;
    maps->high = maps->high > maps->low ? maps->high : maps->low + 1e-9 + 1e-9 * fabs(maps->low);
    maps->limit = maps->limit > 0 ? maps->limit : 1;
}

void tess_xp_maps_fill(tess_xp_maps *maps, const tess_xp_sweep *sweep, int64_t angle)
{
    const int64_t n_cell = maps->side * maps->side;
    tess_xp_sweep_map(sweep, angle, TESS_XP_MEASURED, maps->values);
    tess_xp_sweep_map(sweep, angle, TESS_XP_FITTED, maps->values + n_cell);
    tess_xp_sweep_map(sweep, angle, TESS_XP_RESIDUAL, maps->values + 2 * n_cell);
    choose_scales(maps, sweep->setup.info != NULL);
}

uint8_t tess_xp_maps_colour(const tess_xp_maps *maps, tess_xp_map which, double value)
{
    if (isnan(value)) {
        return GREY;
    }
    const double share = which == TESS_XP_RESIDUAL ? 0.5 + 0.5 * value / maps->limit
                                                   : (value - maps->low) / (maps->high - maps->low);
    return (uint8_t)lround((share < 0 ? 0 : share > 1 ? 1 : share) * (N_COLOUR - 1));
}

void tess_xp_maps_palette(tess_xp_map which, uint8_t palette[256 * 3])
{
    for (int i = 0; i < N_COLOUR; i++) {
        const double share = i / (double)(N_COLOUR - 1);
        if (which == TESS_XP_RESIDUAL) {
            tess_colour_diverging(2 * share - 1, palette + 3 * i);
        } else {
            tess_colour_rising(share, palette + 3 * i);
        }
    }
    tess_colour_rising((double)NAN, palette + 3 * GREY);
}

double tess_xp_frame_time(const tess_xpcs_data *data, int64_t frame)
{
    return (double)(frame + (data->info.keep_t0 ? 0 : 1)) * data->info.dt_s;
}

// As far as names of files show them.
static long long tenths(double phi)
{
    return llround(phi * 10);
}

static long long millionths(double q)
{
    return llround(q * 1e6);
}

void tess_xp_figure_name(const tess_xpcs_data_info *info, int64_t angle,
                         char name[TESS_XP_FIGURE_NAME])
{
    const long long phi = tenths(info->phi[angle]);
    const long long q = millionths(info->q[angle]);
    int64_t n_same = 0;
    int64_t n_same_q = 0; // before this one
    for (int64_t a = 0; a < info->n_angle; a++) {
        n_same += tenths(info->phi[a]) == phi;
        n_same_q += a < angle && tenths(info->phi[a]) == phi && millionths(info->q[a]) == q;
    }
    // Whole numbers, so that no locale puts a comma.
    size_t used = (size_t)snprintf(name, TESS_XP_FIGURE_NAME, "c2_heatmaps_phi_%s%lld.%llddeg",
                                   phi < 0 ? "-" : "", llabs(phi) / 10, llabs(phi) % 10);
    if (n_same > 1) {
        used += (size_t)snprintf(name + used, TESS_XP_FIGURE_NAME - used, "_q_%lld.%06lld",
                                 q / 1000000, q % 1000000);
    }
    if (n_same_q > 0) {
        used += (size_t)snprintf(name + used, TESS_XP_FIGURE_NAME - used, "_%lld",
                                 (long long)n_same_q + 1);
    }
    snprintf(name + used, TESS_XP_FIGURE_NAME - used, ".png");
}
