// Sorted spikes with kernel density estimates:
//
//     f_n(p) = max(r_n g_n(p) / pi_p, 1e-15),  r_n = weight at spikes / weight of samples
//     LL[k, p] = sum over spikes of row k of ln f_n(p) - sum_n f_n(p)
//
// and locally the same rates where the animal is at the row's time.
#include "base/status.h"
#include "systems/decode/density/density.h"
#include "systems/decode/kde/local.h"
#include "systems/decode/sorted/rates.h"

#include <math.h>

typedef struct sorted_model {
    tess_de_rates rates;
} sorted_model;

static tess_status fit(tess_context *ctx, tess_device *device, tess_decode_encoding *encoding,
                       const tess_de_selection *s)
{
    (void)device;
    const tess_decode_environment_info *env = tess_decode_environment_get_info(encoding->env);
    const tess_decode_mode mode = (tess_decode_mode)encoding->config.mode;
    const int64_t n_bin = env->n_interior;
    sorted_model *model =
        tess_blocks_alloc(&encoding->blocks, 1, sizeof *model, "sorted-spikes model");
    double *occupancy = tess_blocks_alloc(&encoding->blocks, n_bin, sizeof *occupancy, "occupancy");
    if (!model || !occupancy) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_de_rates_init(encoding, s, &model->rates));
    TESS_TRY(tess_de_density(ctx, mode, s->place, s->weights, s->n_sample, s->n_dim,
                             encoding->position_std, env->interior_centers, n_bin, occupancy));
    for (int64_t e = 0; e < s->n_electrode; e++) {
        double *field = model->rates.field + e * n_bin;
        TESS_TRY(tess_context_check_cancel(ctx));
        TESS_TRY(tess_de_density(
            ctx, mode, s->spike_place[e], s->spike_weight ? s->spike_weight[e] : NULL,
            s->n_spike[e], s->n_dim, encoding->position_std, env->interior_centers, n_bin, field));
        for (int64_t p = 0; p < n_bin; p++) {
            const bool visited = occupancy[p] >= TESS_DE_LEAST_OCCUPANCY;
            field[p] = visited ? model->rates.mean[e] * field[p] / occupancy[p] : 0;
        }
    }
    tess_de_rates_finish(encoding, &model->rates);
    encoding->info.occupancy = occupancy;
    encoding->model = model;
    return TESS_OK;
}

static void release(tess_decode_encoding *encoding)
{
    encoding->model = NULL; // all of it is in the encoding's blocks
}

static tess_status rows(tess_context *ctx, tess_device *device,
                        const tess_decode_encoding *encoding, const tess_de_row_spikes *spikes,
                        double scale, tess_array *out, tess_decode_likelihood_report *report)
{
    (void)report;
    const sorted_model *model = encoding->model;
    return tess_de_rates_rows(ctx, device, encoding, &model->rates, spikes, scale, out);
}

// log rate of a unit where its density and the occupancy have these logarithms.
static double log_rate_at(const tess_decode_encoding *encoding, int64_t unit, double log_g,
                          double log_pi)
{
    const double value = log(encoding->info.mean_rates[unit]) + log_g - log_pi;
    const bool possible = log_pi > -(double)INFINITY && value > TESS_DE_LOG_EPS;
    return possible ? value : TESS_DE_LOG_EPS;
}

// log rate of a unit's spikes, each at its row's place.
static tess_status add_unit(tess_context *ctx, tess_blocks *scratch,
                            const tess_decode_encoding *encoding, const struct tess_de_local *local,
                            const tess_de_row_spikes *spikes, int64_t e, const double *row_place,
                            const double *log_pi, double *sum)
{
    const int64_t first = spikes->electrode_first[e];
    const int64_t n = spikes->electrode_first[e + 1] - first;
    const int64_t d = local->n_dim;
    double *place = tess_blocks_alloc(scratch, n, (size_t)d * sizeof *place, "places");
    double *log_g = tess_blocks_alloc(scratch, n, sizeof *log_g, "place densities");
    if (!place || !log_g) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < d; k++) {
            place[i * d + k] = row_place[spikes->row[first + i] * d + k];
        }
    }
    TESS_TRY(tess_de_field_log(ctx, &local->units[e], place, n, log_g));
    for (int64_t i = 0; i < n; i++) {
        const int32_t row = spikes->row[first + i];
        sum[row] += log_rate_at(encoding, e, log_g[i], log_pi[row]);
    }
    return TESS_OK;
}

static tess_status local_sums(tess_context *ctx, tess_blocks *scratch,
                              const tess_decode_encoding *encoding,
                              const tess_de_row_spikes *spikes, double scale,
                              const double *row_place, tess_array *out)
{
    const struct tess_de_local *local = NULL;
    TESS_TRY(tess_de_local_get(ctx, encoding, &local));
    const int64_t n = spikes->n_row;
    double *log_pi = tess_blocks_alloc(scratch, n, sizeof *log_pi, "occupancies");
    double *log_ground = tess_blocks_alloc(scratch, n, sizeof *log_ground, "rates");
    double *sum = tess_blocks_alloc(scratch, n, sizeof *sum, "local rows");
    if (!log_pi || !log_ground || !sum) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_de_field_log(ctx, &local->occupancy, row_place, n, log_pi));
    TESS_TRY(tess_de_field_log(ctx, &local->ground, row_place, n, log_ground));
    for (int64_t e = 0; e < encoding->info.n_electrode; e++) {
        TESS_TRY(add_unit(ctx, scratch, encoding, local, spikes, e, row_place, log_pi, sum));
    }
    for (int64_t k = 0; k < n; k++) {
        // Each unit's floor of 1e-15 is lost in the sum of rates.
        const bool visited = log_pi[k] > -(double)INFINITY;
        const double value = sum[k] - (visited ? scale * exp(log_ground[k] - log_pi[k]) : 0);
        if (out->dtype == TESS_F32) {
            ((float *)out->data)[k] = (float)value;
        } else {
            ((double *)out->data)[k] = value;
        }
    }
    return TESS_OK;
}

static tess_status local_rows(tess_context *ctx, tess_device *device,
                              const tess_decode_encoding *encoding,
                              const tess_de_row_spikes *spikes, double scale,
                              const double *row_place, const double *const *spike_place,
                              tess_array *out, tess_decode_likelihood_report *report)
{
    (void)device;
    (void)spike_place; // counts of a bin meet the rate at its time
    (void)report;
    tess_blocks scratch;
    tess_blocks_init(&scratch, &ctx->heap);
    const tess_status status = local_sums(ctx, &scratch, encoding, spikes, scale, row_place, out);
    tess_blocks_free(&scratch);
    return status;
}

static uint64_t rows_bytes(const tess_decode_encoding *encoding, int64_t n_spike)
{
    (void)encoding;
    return (uint64_t)n_spike * 8; // spikes by row
}

static void spike(const tess_decode_encoding *encoding, int64_t electrode, const float *mark,
                  void *scratch, float *out)
{
    (void)mark;
    (void)scratch;
    const sorted_model *model = encoding->model;
    tess_de_rates_spike(encoding, &model->rates, electrode, out);
}

static tess_status local_prepare(tess_context *ctx, const tess_decode_encoding *encoding)
{
    const struct tess_de_local *local = NULL;
    return tess_de_local_get(ctx, encoding, &local);
}

static tess_status local_spike(tess_context *ctx, tess_device *host,
                               const tess_decode_encoding *encoding, int64_t electrode,
                               const float *mark, const double *place, const double *row_place,
                               void *scratch, double *value)
{
    (void)host;
    (void)mark;
    (void)place; // counts of a bin meet the rate at its time
    (void)scratch;
    const struct tess_de_local *local = NULL;
    double log_pi = 0;
    double log_g = 0;
    TESS_TRY(tess_de_local_get(ctx, encoding, &local));
    TESS_TRY(tess_de_field_log(ctx, &local->occupancy, row_place, 1, &log_pi));
    TESS_TRY(tess_de_field_log(ctx, &local->units[electrode], row_place, 1, &log_g));
    *value = log_rate_at(encoding, electrode, log_g, log_pi);
    return TESS_OK;
}

static const tess_de_single_ops single_ops = {
    .scratch_bytes = tess_de_rates_scratch_bytes,
    .spike = spike,
    .local_prepare = local_prepare,
    .local_spike = local_spike,
    .local_ground = tess_de_local_ground,
};

const tess_de_encoding_ops tess_de_sorted_ops = {
    .name = "sorted_spikes_kde",
    .stages = tess_de_rates_stages,
    .n_stage = 1,
    .fit = fit,
    .free = release,
    .rows = rows,
    .local_rows = local_rows,
    .log_joint = NULL,
    .rows_bytes = rows_bytes,
    .single = &single_ops,
};
