// Likelihood under mixtures at the animal's own position, as local.c has it for kernels.
#include "base/status.h"
#include "systems/decode/gmm/gmm.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 64 };

static const double LOWEST_VALUE = -700;

typedef struct local_job {
    const tess_decode_encoding *encoding;
    int64_t electrode;
    const double *marks;  // [n][n_feature]
    const double *places; // [n][n_dim], of spikes or of rows
    int64_t n;
    double *values;  // [n]
    double *scratch; // [workers][scratch_items]
} local_job;

double tess_de_gmm_log_at(const tess_decode_encoding *encoding, int64_t electrode,
                          const double *mark, const double *place, double *scratch)
{
    const tess_de_gmm *gmm = encoding->model;
    const tess_mixture *m = &gmm->joint[electrode];
    const int64_t d = m->n_dim - gmm->n_dim;
    double *point = scratch + gmm->scratch_items - m->n_dim;
    memcpy(point, mark, (size_t)d * sizeof *point);
    memcpy(point + d, place, (size_t)gmm->n_dim * sizeof *point);
    const double log_joint = tess_mixture_log(m, point, scratch);
    return log(gmm->mean_rates[electrode]) + log_joint -
           tess_mixture_log(&gmm->occupancy, place, scratch);
}

double tess_de_gmm_ground_at(const tess_decode_encoding *encoding, const double *place,
                             double *scratch)
{
    const tess_de_gmm *gmm = encoding->model;
    const double log_pi = tess_mixture_log(&gmm->occupancy, place, scratch);
    double sum = 0;
    for (int64_t e = 0; e < gmm->n_electrode; e++) {
        if (gmm->ground[e].n_component > 0) {
            const double log_g = tess_mixture_log(&gmm->ground[e], place, scratch);
            sum += gmm->mean_rates[e] * exp(log_g - log_pi);
        }
    }
    return sum;
}

double tess_de_gmm_local_floor(const tess_decode_encoding *encoding)
{
    return encoding->info.floor == TESS_DECODE_FLOOR_ABSOLUTE ? TESS_DE_LOG_EPS : LOWEST_VALUE;
}

// Log intensity of each spike at its own place.
static tess_status spike_block(void *arg, int64_t block, int32_t worker)
{
    const local_job *job = arg;
    const tess_de_gmm *gmm = job->encoding->model;
    const int64_t d = gmm->joint[job->electrode].n_dim - gmm->n_dim;
    double *scratch = job->scratch + worker * gmm->scratch_items;
    const int64_t end = (block + 1) * BLOCK < job->n ? (block + 1) * BLOCK : job->n;
    for (int64_t i = block * BLOCK; i < end; i++) {
        job->values[i] = tess_de_gmm_log_at(job->encoding, job->electrode, job->marks + i * d,
                                            job->places + i * gmm->n_dim, scratch);
    }
    return TESS_OK;
}

// Expected spikes at each row's place.
static tess_status row_block(void *arg, int64_t block, int32_t worker)
{
    const local_job *job = arg;
    const tess_de_gmm *gmm = job->encoding->model;
    double *scratch = job->scratch + worker * gmm->scratch_items;
    const int64_t end = (block + 1) * BLOCK < job->n ? (block + 1) * BLOCK : job->n;
    for (int64_t k = block * BLOCK; k < end; k++) {
        job->values[k] =
            tess_de_gmm_ground_at(job->encoding, job->places + k * gmm->n_dim, scratch);
    }
    return TESS_OK;
}

static tess_status add_spikes(tess_context *ctx, local_job *job, const tess_de_row_spikes *spikes,
                              const double *const *spike_place, double *rows,
                              tess_decode_likelihood_report *report)
{
    const tess_de_gmm *gmm = job->encoding->model;
    const double floor = tess_de_gmm_local_floor(job->encoding);
    for (int64_t e = 0; e < gmm->n_electrode; e++) {
        const int64_t first = spikes->electrode_first[e];
        job->electrode = e;
        job->marks = spikes->marks[e];
        job->places = spike_place[e];
        job->n = spikes->electrode_first[e + 1] - first;
        TESS_TRY(tess_context_check_cancel(ctx));
        TESS_TRY(tess_parallel_for(ctx->pool, (job->n + BLOCK - 1) / BLOCK, spike_block, job));
        for (int64_t i = 0; i < job->n; i++) {
            const bool above = job->values[i] > floor;
            rows[spikes->row[first + i]] += above ? job->values[i] : floor;
            report->n_floored += !above;
        }
        report->n_value += job->n;
    }
    return TESS_OK;
}

static tess_status evaluate(tess_context *ctx, tess_blocks *scratch,
                            const tess_decode_encoding *encoding, const tess_de_row_spikes *spikes,
                            double scale, const double *row_place, const double *const *spike_place,
                            tess_array *out, tess_decode_likelihood_report *report)
{
    const tess_de_gmm *gmm = encoding->model;
    const int64_t n = spikes->n_row;
    const int64_t most = n > spikes->n_total ? n : spikes->n_total;
    local_job job = {.encoding = encoding};
    double *rows = tess_blocks_alloc(scratch, n, sizeof *rows, "local rows");
    job.values = tess_blocks_alloc(scratch, most, sizeof *job.values, "local values");
    job.scratch = tess_blocks_alloc(scratch, tess_pool_threads(ctx->pool) * gmm->scratch_items,
                                    sizeof *job.scratch, "room");
    if (!rows || !job.values || !job.scratch) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(add_spikes(ctx, &job, spikes, spike_place, rows, report));
    job.places = row_place;
    job.n = n;
    TESS_TRY(tess_parallel_for(ctx->pool, (n + BLOCK - 1) / BLOCK, row_block, &job));
    for (int64_t k = 0; k < n; k++) {
        const double value = rows[k] - scale * job.values[k];
        if (out->dtype == TESS_F32) {
            ((float *)out->data)[k] = (float)value;
        } else {
            ((double *)out->data)[k] = value;
        }
    }
    return TESS_OK;
}

tess_status tess_de_gmm_local_rows(tess_context *ctx, tess_device *device,
                                   const tess_decode_encoding *encoding,
                                   const tess_de_row_spikes *spikes, double scale,
                                   const double *row_place, const double *const *spike_place,
                                   tess_array *out, tess_decode_likelihood_report *report)
{
    (void)device;
    tess_blocks scratch;
    tess_blocks_init(&scratch, &ctx->heap);
    const tess_status status =
        evaluate(ctx, &scratch, encoding, spikes, scale, row_place, spike_place, out, report);
    tess_blocks_free(&scratch);
    return status;
}
