// Likelihood of rows at the animal's own position:
//
//     out[k] = sum over spikes s of row k of log[ r_e J_e(m_s, y_s) / pi(y_s) ]
//              - scale sum_e r_e g_e(y_k) / pi(y_k)
//
// y_s is where the animal is at the spike, y_k at the row's time. Where it never was (pi below
// 1e-30) an intensity is 0 and so is the second term. An absolute floor bounds each logarithm as in
// the non-local likelihood; a relative one has no meaning at a single point, so that there, as
// without a floor, only the range of the arithmetic does (700 nats).
#include "systems/decode/kde/local.h"
#include "base/status.h"
#include "runtime/device_memory.h"
#include "stage/decode_joint.h"
#include "systems/decode/kde/kde_there.h"

#include <math.h>

static const double LOWEST_VALUE = -700;

// The queries of one electrode: marks and places in the points' units.
static void scale_queries(const tess_de_points *p, int32_t dtype, int64_t n_dim,
                          const double *marks, const double *places, int64_t n, void *y)
{
    const int64_t width = p->n_feature + n_dim;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < width; k++) {
            const double raw = k < p->n_feature ? marks[i * p->n_feature + k]
                                                : places[i * n_dim + k - p->n_feature];
            const double value = (raw - p->centre[k]) * p->scale[k];
            if (dtype == TESS_F32) {
                ((float *)y)[i * width + k] = (float)value;
            } else {
                ((double *)y)[i * width + k] = value;
            }
        }
    }
}

// What the stage reads and writes, where the device can reach it.
static tess_status bring_points(kde_there *there, const tess_de_points *p, size_t item,
                                int64_t width, int64_t n, tess_stage_decode_joint *args)
{
    const size_t x_bytes = (size_t)(width * p->n) * item;
    const size_t y_bytes = (size_t)(width * n) * item;
    const size_t y_room = (y_bytes + 255) / 256 * 256;
    if (there->device->shares_host_memory) {
        return TESS_OK;
    }
    if (x_bytes + (size_t)p->n * item + y_room + (size_t)n * sizeof *args->out >
        tess_device_left(there->device)) {
        tess_de_kde_rooms_free(there); // of the rows, which are done
    }
    TESS_TRY(tess_de_kde_room(there, &there->points, x_bytes + (size_t)p->n * item));
    TESS_TRY(tess_de_kde_room(there, &there->queries, y_room + (size_t)n * sizeof *args->out));
    TESS_TRY(tess_resident_put(&there->points, 0, p->x, x_bytes));
    TESS_TRY(tess_resident_put(&there->queries, 0, args->y, y_bytes));
    if (p->bias) {
        TESS_TRY(tess_resident_put(&there->points, x_bytes, p->bias, (size_t)p->n * item));
        args->bias = (const char *)there->points.data + x_bytes;
    }
    args->x = there->points.data;
    args->y = there->queries.data;
    args->out = (double *)((char *)there->queries.data + y_room);
    return TESS_OK;
}

// log sum over the electrode's encoding spikes for each of its n spikes.
static tess_status joint_sums(kde_there *there, tess_blocks *scratch,
                              const struct tess_de_local *local, int64_t electrode,
                              const double *marks, const double *places, int64_t n, double *out)
{
    const tess_de_points *p = &local->electrodes[electrode];
    const int64_t width = p->n_feature + local->n_dim;
    const size_t item = tess_dtype_bytes((tess_dtype)local->dtype);
    void *y = tess_blocks_alloc(scratch, n, (size_t)width * item, "decoding spikes");
    if (!y) {
        return TESS_E_MEMORY;
    }
    scale_queries(p, local->dtype, local->n_dim, marks, places, n, y);
    tess_stage_decode_joint args = {.x = p->x,
                                    .bias = p->bias,
                                    .y = y,
                                    .out = out,
                                    .n = p->n,
                                    .n_dim = width,
                                    .n_y = n,
                                    .dtype = local->dtype};
    TESS_TRY(bring_points(there, p, item, width, n, &args));
    TESS_TRY(tess_stage_run(there->device, TESS_STAGE_DECODE_JOINT, &args, sizeof args));
    if (args.out == out) {
        return TESS_OK;
    }
    const size_t at = (size_t)((const char *)args.out - (const char *)there->queries.data);
    tess_resident sums = there->queries;
    sums.data = (char *)sums.data + at;
    sums.bytes -= at;
    return tess_resident_fetch(&sums, out, (size_t)n * sizeof *out);
}

typedef struct local_job {
    tess_context *ctx;
    kde_there *there;
    tess_blocks *scratch;
    const tess_decode_encoding *encoding;
    const struct tess_de_local *local;
    const tess_de_row_spikes *spikes;
    tess_decode_likelihood_report *report;
    double *rows; // [n_row]
} local_job;

static tess_status add_electrode(const local_job *job, int64_t e, const double *places)
{
    const tess_de_row_spikes *spikes = job->spikes;
    const int64_t first = spikes->electrode_first[e];
    const int64_t n = spikes->electrode_first[e + 1] - first;
    const tess_de_points *p = &job->local->electrodes[e];
    if (n == 0) {
        return TESS_OK;
    }
    double *sum = tess_blocks_alloc(job->scratch, n, sizeof *sum, "local likelihood");
    double *log_pi = tess_blocks_alloc(job->scratch, n, sizeof *log_pi, "occupancies");
    if (!sum || !log_pi) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_de_field_log(job->ctx, &job->local->occupancy, places, n, log_pi));
    if (p->n > 0) {
        TESS_TRY(
            joint_sums(job->there, job->scratch, job->local, e, spikes->marks[e], places, n, sum));
    }
    const double floor =
        job->encoding->info.floor == TESS_DECODE_FLOOR_ABSOLUTE ? TESS_DE_LOG_EPS : LOWEST_VALUE;
    for (int64_t i = 0; i < n; i++) {
        const bool possible = p->n > 0 && log_pi[i] > -(double)INFINITY;
        const double value = possible ? p->offset + sum[i] - log_pi[i] : floor;
        const bool above = value > floor;
        job->rows[spikes->row[first + i]] += above ? value : floor;
        job->report->n_floored += !above;
    }
    job->report->n_value += n;
    job->report->pairs += (double)n * (double)p->n;
    return TESS_OK;
}

// Expected spikes at the rows' places.
static tess_status subtract_ground(const local_job *job, const double *row_place, double scale)
{
    const int64_t n = job->spikes->n_row;
    double *log_pi = tess_blocks_alloc(job->scratch, n, sizeof *log_pi, "occupancies");
    double *log_ground = tess_blocks_alloc(job->scratch, n, sizeof *log_ground, "rates");
    if (!log_pi || !log_ground) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_de_field_log(job->ctx, &job->local->occupancy, row_place, n, log_pi));
    TESS_TRY(tess_de_field_log(job->ctx, &job->local->ground, row_place, n, log_ground));
    for (int64_t k = 0; k < n; k++) {
        if (log_pi[k] > -(double)INFINITY) {
            job->rows[k] -= scale * exp(log_ground[k] - log_pi[k]);
        }
    }
    return TESS_OK;
}

static tess_status evaluate(local_job *job, double scale, const double *row_place,
                            const double *const *spike_place, tess_array *out)
{
    const int64_t n_row = job->spikes->n_row;
    job->rows = tess_blocks_alloc(job->scratch, n_row, sizeof *job->rows, "local rows");
    if (!job->rows) {
        return TESS_E_MEMORY;
    }
    for (int64_t e = 0; e < job->encoding->info.n_electrode; e++) {
        TESS_TRY(tess_context_check_cancel(job->ctx));
        TESS_TRY(add_electrode(job, e, spike_place[e]));
    }
    TESS_TRY(subtract_ground(job, row_place, scale));
    for (int64_t k = 0; k < n_row; k++) {
        if (out->dtype == TESS_F32) {
            ((float *)out->data)[k] = (float)job->rows[k];
        } else {
            ((double *)out->data)[k] = job->rows[k];
        }
    }
    return TESS_OK;
}

tess_status tess_de_kde_local_rows(tess_context *ctx, tess_device *device,
                                   const tess_decode_encoding *encoding,
                                   const tess_de_row_spikes *spikes, double scale,
                                   const double *row_place, const double *const *spike_place,
                                   tess_array *out, tess_decode_likelihood_report *report)
{
    tess_blocks scratch;
    tess_blocks_init(&scratch, &ctx->heap);
    local_job job = {
        .ctx = ctx, .scratch = &scratch, .encoding = encoding, .spikes = spikes, .report = report};
    tess_status status = tess_de_kde_there_take(ctx, device, encoding, &job.there);
    if (status == TESS_OK) {
        status = tess_de_local_get(ctx, encoding, &job.local);
        if (status == TESS_OK) {
            status = evaluate(&job, scale, row_place, spike_place, out);
        }
        tess_de_kde_there_put(encoding, job.there);
    }
    tess_blocks_free(&scratch);
    return status;
}
