// One-time correlations: means along the diagonals of two-time data.
#include "tessera/xpcs/g2.h"

#include "base/blocks.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/xpcs/result/g2.h"
#include "systems/xpcs/store/store.h"

#include <math.h>

static const char WHAT[] = "curves of g2";

void tess_xpcs_g2_config_init(tess_xpcs_g2_config *config, size_t struct_size)
{
    const tess_xpcs_g2_config defaults = {.struct_size = sizeof defaults, .n_window = 1};
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

// What a visitor of tiles adds to.
typedef struct g2_job {
    const tess_xpcs_data_info *data;
    int64_t n_window;
    int64_t n_lag;
    const int64_t *bin; // [n_frame] of a lag
    double *sum;        // [n_angle][n_window][n_lag] of samples less the angle's mean
    double *square;
    int64_t *n_pair;
} g2_job;

static void add_tile(void *self, int64_t angle, const tess_xp_tile *tile, const double *y)
{
    const g2_job *job = self;
    const double mean = job->data->mean[angle];
    for (int64_t k = 0; k < tile->n_column; k++) {
        if (!isfinite(y[k])) {
            continue;
        }
        const int64_t column = tile->first_column + k;
        // Of 2 n - 1 middles of pairs; the window is the same for all pairs of equal age.
        const int64_t window = (tile->row + column) * job->n_window / (2 * job->data->n_frame - 1);
        const int64_t at =
            (angle * job->n_window + window) * job->n_lag + job->bin[column - tile->row];
        const double d = y[k] - mean;
        job->sum[at] += d;
        job->square[at] += d * d;
        job->n_pair[at]++;
    }
}

// Bins of lags 1 to n_frame - 1; returns how many there are.
static int64_t cut_lags(int64_t n_frame, int64_t per_level, int64_t *bin)
{
    int64_t n = 0;
    int64_t width = 1;
    int64_t left = per_level > 0 ? 2 * per_level : n_frame;
    bin[0] = 0;
    for (int64_t lag = 1; lag < n_frame; n++) {
        for (int64_t k = 0; k < width && lag < n_frame; k++) {
            bin[lag++] = n;
        }
        if (--left == 0) {
            width *= 2;
            left = per_level;
        }
    }
    return n;
}

static void finish(tess_xpcs_g2 *g2, const g2_job *job, double *g2_values, double *error)
{
    const int64_t n_curve = job->data->n_angle * job->n_window;
    for (int64_t at = 0; at < n_curve * job->n_lag; at++) {
        const double n = (double)job->n_pair[at];
        const double mean = job->sum[at] / n;
        const double spread = fmax(job->square[at] - n * mean * mean, 0);
        const int64_t angle = at / (job->n_window * job->n_lag);
        g2_values[at] = n > 0 ? job->data->mean[angle] + mean : (double)NAN;
        error[at] = n > 1 ? sqrt(spread / (n - 1) / n) : (double)NAN;
    }
    g2->info.g2 = g2_values;
    g2->info.error = error;
    g2->info.n_pair = job->n_pair;
}

static tess_status lay_out_axes(tess_xpcs_g2 *g2, const g2_job *job)
{
    const double dt = job->data->dt_s > 0 ? job->data->dt_s : 1;
    double *tau = tess_blocks_alloc(&g2->memory, job->n_lag, sizeof *tau, WHAT);
    int64_t *count = tess_blocks_alloc(&g2->memory, job->n_lag, sizeof *count, WHAT);
    double *age = tess_blocks_alloc(&g2->memory, job->n_window + 1, sizeof *age, WHAT);
    double *angles = tess_blocks_alloc(&g2->memory, 2 * job->data->n_angle, sizeof *angles, WHAT);
    if (!tau || !count || !age || !angles) {
        return TESS_E_MEMORY;
    }
    for (int64_t lag = 1; lag < job->data->n_frame; lag++) {
        tau[job->bin[lag]] += (double)lag;
        count[job->bin[lag]]++;
    }
    for (int64_t k = 0; k < job->n_lag; k++) {
        tau[k] = tau[k] / (double)count[k] * dt;
    }
    // Frame k is at (k + 1) dt, or k dt where the frame at time 0 was kept.
    const double first = job->data->keep_t0 ? 0 : dt;
    for (int64_t w = 0; w <= job->n_window; w++) {
        age[w] = first + (double)(job->data->n_frame - 1) * dt * (double)w / (double)job->n_window;
    }
    for (int64_t a = 0; a < job->data->n_angle; a++) {
        angles[a] = job->data->phi[a];
        angles[job->data->n_angle + a] = job->data->q[a];
    }
    g2->info.tau = tau;
    g2->info.age = age;
    g2->info.phi = angles;
    g2->info.q = angles + job->data->n_angle;
    return TESS_OK;
}

static tess_status go_over(tess_context *ctx, tess_xpcs_data *data, g2_job *job, tess_blocks *room)
{
    const int64_t n_angle = data->info.n_angle;
    int64_t *angles = tess_blocks_alloc(room, n_angle, sizeof *angles, WHAT);
    if (!angles) {
        return TESS_E_MEMORY;
    }
    for (int64_t a = 0; a < n_angle; a++) {
        angles[a] = a;
    }
    const tess_xp_some_rows all = {.first = 0,
                                   .count = data->info.n_frame,
                                   .angles = angles,
                                   .n_angle = n_angle,
                                   .visit = add_tile,
                                   .self = job};
    return tess_xp_data_show_rows(ctx, data, &all);
}

static tess_status compute(tess_context *ctx, tess_xpcs_data *data,
                           const tess_xpcs_g2_config *config, tess_blocks *room, tess_xpcs_g2 *g2)
{
    const int64_t n_frame = data->info.n_frame;
    int64_t *bin = tess_blocks_alloc(room, n_frame, sizeof *bin, WHAT);
    if (!bin) {
        return TESS_E_MEMORY;
    }
    g2_job job = {.data = &data->info,
                  .n_window = config->n_window,
                  .n_lag = cut_lags(n_frame, config->per_level, bin),
                  .bin = bin};
    const int64_t n = data->info.n_angle * job.n_window * job.n_lag;
    job.sum = tess_blocks_alloc(room, n, sizeof *job.sum, WHAT);
    job.square = tess_blocks_alloc(room, n, sizeof *job.square, WHAT);
    job.n_pair = tess_blocks_alloc(&g2->memory, n, sizeof *job.n_pair, WHAT);
    double *values = tess_blocks_alloc(&g2->memory, n, sizeof *values, WHAT);
    double *error = tess_blocks_alloc(&g2->memory, n, sizeof *error, WHAT);
    if (!job.sum || !job.square || !job.n_pair || !values || !error) {
        return TESS_E_MEMORY;
    }
    g2->info.n_angle = data->info.n_angle;
    g2->info.n_window = job.n_window;
    g2->info.n_lag = job.n_lag;
    TESS_TRY(lay_out_axes(g2, &job));
    TESS_TRY(go_over(ctx, data, &job, room));
    finish(g2, &job, values, error);
    return tess_xp_data_check(data);
}

static tess_status check(const tess_xpcs_data *data, const tess_xpcs_g2_config *config)
{
    if (config->n_window < 1 || config->n_window > data->info.n_frame - 1) {
        TESS_FAIL(TESS_E_ARGUMENT, "n_window: %lld; expected 1 to %lld, the frames less one",
                  (long long)config->n_window, (long long)data->info.n_frame - 1);
    }
    if (config->per_level < 0 || config->per_level == 1 || config->per_level > 1 << 20) {
        TESS_FAIL(TESS_E_ARGUMENT, "per_level: %lld; expected 0 for every lag, or 2 to %d",
                  (long long)config->per_level, 1 << 20);
    }
    return TESS_OK;
}

tess_status tess_xpcs_g2_compute(tess_context *ctx, tess_xpcs_data *data,
                                 const tess_xpcs_g2_config *given, tess_xpcs_g2 **out)
{
    tess_xpcs_g2_config config;
    tess_error_clear();
    *out = NULL;
    tess_xpcs_g2_config_init(&config, sizeof config);
    if (given) {
        TESS_TRY(tess_struct_read(given, &config, sizeof config, "config"));
    }
    TESS_TRY(check(data, &config));
    tess_xpcs_g2 *g2 = tess_heap_alloc(&ctx->heap, sizeof *g2, TESS_TAG_RESULT, WHAT);
    if (!g2) {
        return TESS_E_MEMORY;
    }
    *g2 = (tess_xpcs_g2){.ctx = ctx, .info.struct_size = sizeof g2->info};
    tess_blocks_init(&g2->memory, &ctx->heap);
    tess_blocks room;
    tess_blocks_init(&room, &ctx->heap);
    const tess_status status = compute(ctx, data, &config, &room, g2);
    tess_blocks_free(&room);
    if (status != TESS_OK) {
        tess_xpcs_g2_destroy(g2);
        return status;
    }
    *out = g2;
    return TESS_OK;
}

const tess_xpcs_g2_info *tess_xpcs_g2_get_info(const tess_xpcs_g2 *g2)
{
    return g2 ? &g2->info : NULL;
}

void tess_xpcs_g2_destroy(tess_xpcs_g2 *g2)
{
    if (g2) {
        tess_blocks_free(&g2->memory);
        tess_heap_free(&g2->ctx->heap, g2, sizeof *g2, TESS_TAG_RESULT);
    }
}
