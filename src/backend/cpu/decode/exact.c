// The clusterless likelihood in f64, every pair.
#include "backend/cpu/decode/kde.h"

#include <math.h>
#include <string.h>

// Below this a sum may have lost terms to underflow.
static const double LEAST_SUM = 1e-280;

// Scaled marks, lanes beyond the last spike repeating it.
static void load_marks(const kde_tile *tile, int64_t n_lane)
{
    const tess_kde_electrode *e = tile->electrode;
    for (int64_t f = 0; f < e->n_feature; f++) {
        for (int64_t s = 0; s < n_lane; s++) {
            const int64_t from = s < tile->n ? s : tile->n - 1;
            tile->scratch->x[f * n_lane + s] =
                (tile->marks[from * e->n_feature + f] - e->mark_centre[f]) * e->mark_scale[f];
        }
    }
}

// kernel[i][p] = weight_i exp(-|c_p - z_i|^2) of n encoding spikes.
static void place_kernel(const kde_tile *tile, int64_t first, int64_t n)
{
    const tess_kde_model *model = tile->model;
    const tess_kde_electrode *e = tile->electrode;
    for (int64_t i = 0; i < n; i++) {
        double *row = tile->scratch->row;
        const double start = e->log_weight ? e->log_weight[first + i] : 0;
        for (int64_t p = 0; p < model->n_bin; p++) {
            row[p] = start;
        }
        for (int64_t d = 0; d < model->n_dim; d++) {
            const double *c = model->bin_place + d * model->n_bin;
            const double z = e->place[d * e->stride + first + i];
            for (int64_t p = 0; p < model->n_bin; p++) {
                row[p] -= (c[p] - z) * (c[p] - z);
            }
        }
        tile->kernels->exp_f64(row, (size_t)model->n_bin, tile->scratch->kernel + i * model->n_bin);
    }
}

static void sum_pairs(const kde_tile *tile, int64_t n_lane)
{
    const tess_kde_model *model = tile->model;
    const tess_kde_electrode *e = tile->electrode;
    const kde_scratch *scratch = tile->scratch;
    const size_t n_spike = (size_t)e->n_spike;
    const size_t stride = (size_t)e->stride;
    const size_t lanes = (size_t)n_lane;
    const size_t n_bin = (size_t)model->n_bin;
    for (int64_t s = 0; s < n_lane; s++) {
        scratch->nearest[s] = (double)INFINITY;
    }
    tile->kernels->decode_nearest_f64(e->marks, stride, n_spike, (size_t)e->n_feature, scratch->x,
                                      lanes, scratch->nearest);
    memset(scratch->sums, 0, n_bin * lanes * sizeof(double));
    for (int64_t first = 0; first < e->n_spike; first += KDE_EXACT_CHUNK) {
        const int64_t n =
            e->n_spike - first < KDE_EXACT_CHUNK ? e->n_spike - first : KDE_EXACT_CHUNK;
        place_kernel(tile, first, n);
        tile->kernels->decode_weights_f64(e->marks + first, stride, (size_t)n, (size_t)e->n_feature,
                                          scratch->x, lanes, scratch->nearest, scratch->weights);
        tile->kernels->decode_accumulate_f64(scratch->kernel, n_bin, 0, NULL, scratch->weights,
                                             lanes, 0, (size_t)n, 1, n_bin, lanes, scratch->sums,
                                             lanes);
    }
}

void kde_tile_exact(kde_tile *tile, double *values)
{
    const tess_kde_model *model = tile->model;
    const tess_kde_electrode *e = tile->electrode;
    const kde_scratch *scratch = tile->scratch;
    // The reference's vector is narrower than a double.
    const size_t vector_bytes = tile->kernels->vector_bytes();
    const int64_t vector =
        vector_bytes > sizeof(double) ? (int64_t)(vector_bytes / sizeof(double)) : 1;
    const int64_t n_lane = (tile->n + vector - 1) / vector * vector;
    load_marks(tile, n_lane);
    sum_pairs(tile, n_lane);
    for (int64_t s = 0; s < tile->n; s++) {
        double *row = values + s * model->n_bin;
        for (int64_t p = 0; p < model->n_bin; p++) {
            scratch->row[p] = scratch->sums[p * n_lane + s];
        }
        tile->kernels->log_f64(scratch->row, (size_t)model->n_bin, row);
        for (int64_t p = 0; p < model->n_bin; p++) {
            row[p] += e->offset[p] - scratch->nearest[s];
        }
        for (int64_t f = 0; f < e->n_feature; f++) {
            scratch->mark[f] = scratch->x[f * n_lane + s];
        }
        kde_spike spike = {
            .row = row, .mark = scratch->mark, .sure = log(LEAST_SUM) - scratch->nearest[s]};
        kde_finish(tile, &spike, model->n_bin);
    }
}
