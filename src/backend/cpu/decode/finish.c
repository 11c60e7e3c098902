// From sums to floored log intensities, spike by spike.
#include "backend/cpu/decode/kde.h"

#include <math.h>

// log sum_i exp(log_weight_i - q_i - |c_p - z_i|^2) with a maximum of its own; q is far[0].
static double far_value(const kde_tile *tile, int64_t bin)
{
    const tess_kde_model *model = tile->model;
    const tess_kde_electrode *e = tile->electrode;
    const int64_t n = e->n_spike;
    const double *q = tile->scratch->far;
    double *term = tile->scratch->far + model->max_spike;
    double most = -(double)INFINITY;
    for (int64_t i = 0; i < n; i++) {
        double t = e->log_weight ? e->log_weight[i] - q[i] : -q[i];
        for (int64_t d = 0; d < model->n_dim; d++) {
            const double u = model->bin_place[d * model->n_bin + bin] - e->place[d * e->stride + i];
            t -= u * u;
        }
        term[i] = t;
        most = t > most ? t : most;
    }
    for (int64_t i = 0; i < n; i++) {
        term[i] -= most;
    }
    double *power = term + model->max_spike;
    tile->kernels->exp_f64(term, (size_t)n, power);
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += power[i];
    }
    return most + log(sum);
}

static void far_distances(const kde_tile *tile, const double *mark)
{
    const tess_kde_electrode *e = tile->electrode;
    double *q = tile->scratch->far;
    for (int64_t i = 0; i < e->n_spike; i++) {
        q[i] = 0;
    }
    for (int64_t f = 0; f < e->n_feature; f++) {
        for (int64_t i = 0; i < e->n_spike; i++) {
            const double a = mark[f] - e->marks[f * e->stride + i];
            q[i] += a * a;
        }
    }
}

static double largest(const double *row, int64_t n)
{
    double most = -(double)INFINITY;
    for (int64_t p = 0; p < n; p++) {
        most = row[p] > most ? row[p] : most;
    }
    return most;
}

// Values that are not sure and whose largest possible value is above the floor.
static int64_t count_anew(const kde_tile *tile, const kde_spike *spike, double floor)
{
    const double *offset = tile->electrode->offset;
    int64_t n = 0;
    for (int64_t p = 0; p < tile->model->n_bin; p++) {
        const double least_sure = spike->sure + offset[p];
        n += !(spike->row[p] >= least_sure) && least_sure > floor;
    }
    return n;
}

static void settle_unsure(kde_tile *tile, kde_spike *spike, double floor)
{
    const tess_kde_model *model = tile->model;
    const double *offset = tile->electrode->offset;
    int have_distances = 0;
    for (int64_t p = 0; p < model->n_bin; p++) {
        const double least_sure = spike->sure + offset[p];
        if (spike->row[p] >= least_sure) {
            continue;
        }
        if (least_sure <= floor) {
            spike->row[p] = -(double)INFINITY;
            continue;
        }
        if (!have_distances) {
            far_distances(tile, spike->mark);
            have_distances = 1;
        }
        spike->row[p] = offset[p] + far_value(tile, p);
    }
}

// The largest value that is sure; -inf if none is.
static double largest_sure(const kde_tile *tile, const kde_spike *spike)
{
    const double *offset = tile->electrode->offset;
    double most = -(double)INFINITY;
    for (int64_t p = 0; p < tile->model->n_bin; p++) {
        const double value = spike->row[p];
        most = value > most && value >= spike->sure + offset[p] ? value : most;
    }
    return most;
}

int kde_finish(kde_tile *tile, kde_spike *spike, int64_t most_anew)
{
    const tess_kde_model *model = tile->model;
    const int is_relative = model->floor_kind == TESS_KDE_FLOOR_RELATIVE;
    double floor = is_relative ? largest_sure(tile, spike) - model->floor_nats : model->floor_value;
    if (count_anew(tile, spike, floor) > most_anew) {
        return 0;
    }
    settle_unsure(tile, spike, floor);
    if (is_relative) {
        floor = largest(spike->row, model->n_bin) - model->floor_nats;
        // No intensity anywhere: any constant will do.
        floor = floor > -(double)INFINITY ? floor : model->floor_value;
    }
    int64_t n_floored = 0;
    for (int64_t p = 0; p < model->n_bin; p++) {
        n_floored += spike->row[p] <= floor;
        spike->row[p] = spike->row[p] > floor ? spike->row[p] : floor;
    }
    tile->counts.n_floored += n_floored;
    tile->counts.n_flat += n_floored == model->n_bin;
    return 1;
}
