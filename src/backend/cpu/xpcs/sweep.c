// A look at every point on the CPU: an angle is a block, which has sums of its own.
#include "stage/xpcs_sweep.h"

#include "backend/cpu/xpcs/stages.h"
#include "backend/cpu/xpcs/two.h"
#include "backend/cpu/xpcs/xpcs.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

enum { RUN = TESS_STAGE_XPCS_RUN, BARS = TESS_XP_SWEEP_BARS };

typedef struct sweep_job {
    const tess_kernels *kernels;
    const tess_stage_xpcs_sweep *args;
} sweep_job;

// A tile of one angle.
typedef struct stretch {
    int64_t angle; // of the sweep
    int64_t row;
    int64_t first;
    int64_t n;
    double y[RUN];
    double fitted[RUN];
    const double *weight;    // 1 / sigma^2; NULL: not of every point
    const double *lag_sigma; // by j - i; NULL: inverse_sigma holds for all
    double inverse_sigma;
} stretch;

// M of the tile; m is room for it and for its padding.
static void fill_model(const sweep_job *job, const tess_xp_angle *angle, const stretch *t,
                       double *m)
{
    const tess_stage_xpcs_sweep *a = job->args;
    if (a->grid->two) {
        const xp_tile tile = {.row = t->row, .column = t->first, .n_column = t->n};
        tess_cpu_xp_two_values(job->kernels, a->grid, angle, &tile, m);
        return;
    }
    tess_xp_pairs_f64 pairs;
    tess_xp_source source = tess_cpu_xp_source(a->grid, angle->w2, a->power, 0);
    source.shear = a->n_param == 3 ? NULL : source.shear;
    source.row = (size_t)t->row;
    source.column = (size_t)t->first;
    source.n = (size_t)t->n;
    job->kernels->xpcs_pairs(&source, &pairs);
    if (source.shear) {
        job->kernels->xpcs_points_f64(&pairs, source.n, angle->amplitude, a->power, m, NULL);
    } else {
        memcpy(m, pairs.e, source.n * sizeof *m);
    }
}

static void fill_fitted(const sweep_job *job, const tess_xp_angle *angle, stretch *t)
{
    double m[RUN];
    fill_model(job, angle, t, m);
    for (int64_t k = 0; k < t->n; k++) {
        t->fitted[k] = angle->offset + angle->contrast * m[k];
    }
}

static void fill_samples(const tess_xp_tiles *tiles, const unsigned char *y, stretch *t)
{
    for (int64_t k = 0; k < t->n; k++) {
        t->y[k] = tiles->item_bytes == 4 ? (double)((const float *)(const void *)y)[k]
                                         : ((const double *)(const void *)y)[k];
    }
}

static int bar_of(double z)
{
    const double at = (z + TESS_XP_SWEEP_RANGE) / (2 * TESS_XP_SWEEP_RANGE) * BARS;
    return at >= 0 && at < BARS ? (int)at : BARS;
}

static void add_lags(const tess_stage_xpcs_sweep *a, const stretch *t)
{
    tess_xp_sum *lags = a->lags + t->angle * a->tiles->n_frame + (t->first - t->row);
    int64_t *bars = a->bars + t->angle * (BARS + 1);
    for (int64_t k = 0; k < t->n; k++) {
        if (!isfinite(t->y[k])) {
            continue;
        }
        const double inverse = t->weight      ? sqrt(t->weight[k])
                               : t->lag_sigma ? 1 / t->lag_sigma[t->first - t->row + k]
                                              : t->inverse_sigma;
        const double z = (t->y[k] - t->fitted[k]) * inverse;
        lags[k].measured += t->y[k];
        lags[k].fitted += t->fitted[k];
        lags[k].residual += z;
        lags[k].squares += z * z;
        lags[k].n++;
        if (a->grid) {
            bars[bar_of(z)]++;
        }
    }
}

static void add_cells(const tess_stage_xpcs_sweep *a, const stretch *t)
{
    const int64_t n = a->tiles->n_frame;
    const int64_t i = t->row * a->side / n;
    tess_xp_cell *cells =
        a->cells + t->angle * tess_xp_map_cells(a->side) + i * a->side - i * (i - 1) / 2 - i;
    for (int64_t k = 0; k < t->n;) {
        const int64_t pixel = (t->first + k) * a->side / n;
        tess_xp_cell sum = {0};
        for (; k < t->n && (t->first + k) * a->side / n == pixel; k++) {
            sum.fitted += t->fitted[k];
            sum.n_pair++;
            if (isfinite(t->y[k])) {
                const double inverse = t->weight      ? sqrt(t->weight[k])
                                       : t->lag_sigma ? 1 / t->lag_sigma[t->first - t->row + k]
                                                      : t->inverse_sigma;
                sum.measured += t->y[k];
                sum.residual += (t->y[k] - t->fitted[k]) * inverse;
                sum.n++;
            }
        }
        cells[pixel].measured += sum.measured;
        cells[pixel].fitted += sum.fitted;
        cells[pixel].residual += sum.residual;
        cells[pixel].n += sum.n;
        cells[pixel].n_pair += sum.n_pair;
    }
}

static void add_ages(const tess_stage_xpcs_sweep *a, const stretch *t)
{
    for (int l = 0; l < TESS_XP_SWEEP_LAGS; l++) {
        const int64_t k = t->row + a->age_lags[l] - t->first;
        if (k < 0 || k >= t->n || !isfinite(t->y[k])) {
            continue;
        }
        const int64_t bin = (2 * t->row + a->age_lags[l]) * a->n_age / (2 * a->tiles->n_frame);
        tess_xp_sum *age = &a->ages[(t->angle * TESS_XP_SWEEP_LAGS + l) * a->n_age + bin];
        age->measured += t->y[k];
        age->fitted += t->fitted[k];
        age->n++;
    }
}

static void add_tile(const sweep_job *job, int64_t number, const xp_tile *tile, stretch *t)
{
    const tess_stage_xpcs_sweep *a = job->args;
    const int64_t angle = a->first_angle + number;
    const tess_xp_angle *of = &a->angles[angle];
    const unsigned char *record = a->records + (tile->offset - a->records_at);
    t->angle = number;
    t->row = tile->row;
    t->first = tile->column;
    t->n = tile->n_column;
    t->inverse_sigma = sqrt(of->inverse_variance);
    t->lag_sigma = a->lag_sigma ? a->lag_sigma + angle * a->tiles->n_frame : NULL;
    t->weight = a->use_sigma
                    ? (const double *)(const void *)(record + tess_cpu_xp_sigmas_at(
                                                                  a->tiles, tile->width, angle))
                    : NULL;
    fill_samples(a->tiles, record + tess_cpu_xp_samples_at(a->tiles, tile->width, angle), t);
    if (a->grid) {
        fill_fitted(job, of, t);
    } else {
        for (int64_t k = 0; k < t->n; k++) {
            t->fitted[k] = 0;
        }
    }
    add_lags(a, t);
    add_cells(a, t);
    add_ages(a, t);
}

static tess_status sweep_angle(void *arg, int64_t number, int32_t worker)
{
    (void)worker;
    const sweep_job *job = arg;
    const tess_stage_xpcs_sweep *a = job->args;
    xp_tile tile = tess_cpu_xp_first_tile(a->tiles, a->first_leaf);
    stretch t;
    for (int64_t leaf = a->first_leaf; leaf < a->first_leaf + a->n_leaf; leaf++) {
        const int64_t n_tile = tess_cpu_xp_leaf_tiles(a->tiles, leaf);
        for (int64_t k = 0; k < n_tile; k++) {
            add_tile(job, number, &tile, &t);
            const bool is_last = leaf + 1 == a->first_leaf + a->n_leaf && k + 1 == n_tile;
            tile = is_last ? tile : tess_cpu_xp_next_tile(a->tiles, &tile);
        }
    }
    return TESS_OK;
}

tess_status tess_cpu_xpcs_sweep(tess_backend_device *device, const void *args)
{
    const tess_stage_xpcs_sweep *a = args;
    sweep_job job = {.kernels = device->kernels, .args = a};
    return tess_parallel_for(device->ctx->pool, a->n_leaf > 0 ? a->n_angle : 0, sweep_angle, &job);
}
