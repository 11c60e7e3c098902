// Values of the model, and simulated tiles, on the CPU.
#include "stage/xpcs.h"

#include "backend/cpu/xpcs/stages.h"
#include "backend/cpu/xpcs/two.h"
#include "backend/cpu/xpcs/xpcs.h"
#include "base/status.h"

#include <string.h>

enum { RUN = TESS_STAGE_XPCS_RUN, HEAD = TESS_STAGE_XPCS_HEAD };

typedef struct model_job {
    const tess_kernels *kernels;
    const tess_stage_xpcs_model *args;
} model_job;

// M of columns first..end-1, all on one side of the row.
static void model_run(const model_job *job, int64_t row, int64_t first, int64_t end, double *out)
{
    const tess_stage_xpcs_model *a = job->args;
    tess_xp_source source = tess_cpu_xp_source(a->grid, a->angle->w2, a->power, 0);
    source.shear = a->n_param == 3 ? NULL : source.shear;
    source.row = (size_t)row;
    for (int64_t column = first; column < end; column += RUN) {
        tess_xp_pairs_f64 pairs;
        double m[RUN];
        source.column = (size_t)column;
        source.n = (size_t)(end - column < RUN ? end - column : RUN);
        job->kernels->xpcs_pairs(&source, &pairs);
        if (source.shear) {
            job->kernels->xpcs_points_f64(&pairs, source.n, a->angle->amplitude, a->power, m, NULL);
        }
        memcpy(out + column, source.shear ? m : pairs.e, source.n * sizeof *out);
    }
}

// The same of two components.
static void two_run(const model_job *job, int64_t row, int64_t first, int64_t end, double *out)
{
    for (int64_t column = first; column < end; column += RUN) {
        double m[RUN];
        const xp_tile tile = {
            .row = row, .column = column, .n_column = end - column < RUN ? end - column : RUN};
        tess_cpu_xp_two_values(job->kernels, job->args->grid, job->args->angle, &tile, m);
        memcpy(out + column, m, (size_t)tile.n_column * sizeof *out);
    }
}

static tess_status model_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const model_job *job = arg;
    const tess_stage_xpcs_model *a = job->args;
    const int64_t row = a->first_row + block;
    double *out = a->out + block * a->n_frame;
    out[row] = 1;
    if (a->grid->two) {
        two_run(job, row, 0, row, out);
        two_run(job, row, row + 1, a->n_frame, out);
    } else {
        model_run(job, row, 0, row, out);
        model_run(job, row, row + 1, a->n_frame, out);
    }
    return TESS_OK;
}

tess_status tess_cpu_xpcs_model(tess_backend_device *device, const void *args)
{
    const tess_stage_xpcs_model *a = args;
    model_job job = {.kernels = device->kernels, .args = a};
    const double n_point = (double)a->n_row * (double)a->n_frame;
    tess_span span = tess_span_begin(&device->ctx->tracer, "xpcs.model");
    const tess_status status = tess_parallel_for(device->ctx->pool, a->n_row, model_block, &job);
    tess_span_end(&span, n_point * sizeof(double), n_point * (a->n_param == 3 ? 22 : 72));
    return status;
}

typedef struct simulate_job {
    const tess_kernels *kernels;
    const tess_stage_xpcs_simulate *args;
    uint64_t records_at;
} simulate_job;

// One angle of a tile whose pairs are there; m is 0 or that of the pairs where it is not NULL.
static void simulate_angle(const simulate_job *job, const xp_tile *tile, unsigned char *record,
                           int64_t angle, const double *m)
{
    const tess_stage_xpcs_simulate *a = job->args;
    const tess_xp_angle *of = &a->angles[angle];
    const uint64_t n = (uint64_t)a->tiles->n_frame;
    const uint64_t point = ((uint64_t)angle * n + (uint64_t)tile->row) * n + (uint64_t)tile->column;
    const tess_xp_simulation simulation = {
        .contrast = of->contrast,
        .offset = of->offset,
        .mean = of->mean,
        .sigma = a->sigma,
        .nan_fraction = a->is_bad && a->is_bad[tile->row] ? 2 : a->nan_fraction,
        .is_bad = a->is_bad ? a->is_bad + tile->column : NULL,
        .key = (a->seed << 40) + 2 * point,
        .n = (size_t)tile->n_column,
    };
    void *y = record + tess_cpu_xp_samples_at(a->tiles, tile->width, angle);
    double *head = (double *)(void *)record + angle * HEAD;
    if (a->tiles->item_bytes == 4) {
        job->kernels->xpcs_simulate_f32(&simulation, m, y, head);
    } else {
        job->kernels->xpcs_simulate_f64(&simulation, m, y, head);
    }
}

// 1/sigma^2 where a sample is, 0 elsewhere.
static void write_weights(const tess_stage_xpcs_simulate *a, const xp_tile *tile,
                          unsigned char *record, int64_t angle)
{
    const unsigned char *y = record + tess_cpu_xp_samples_at(a->tiles, tile->width, angle);
    double *weight =
        (double *)(void *)(record + tess_cpu_xp_sigmas_at(a->tiles, tile->width, angle));
    const double full = a->sigma > 0 ? 1 / (a->sigma * a->sigma) : 1;
    for (int64_t c = 0; c < tile->width; c++) {
        const double sample = a->tiles->item_bytes == 4
                                  ? (double)((const float *)(const void *)y)[c]
                                  : ((const double *)(const void *)y)[c];
        weight[c] = sample == sample ? full : 0;
    }
}

static void simulate_two(const simulate_job *job, const xp_tile *tile, unsigned char *record)
{
    const tess_stage_xpcs_simulate *a = job->args;
    for (int64_t angle = 0; angle < a->tiles->n_angle; angle++) {
        double m[RUN];
        tess_cpu_xp_two_values(job->kernels, a->grid, &a->angles[angle], tile, m);
        simulate_angle(job, tile, record, angle, m);
        if (a->tiles->has_sigma) {
            write_weights(a, tile, record, angle);
        }
    }
}

static void simulate_tile(const simulate_job *job, const xp_tile *tile, unsigned char *record)
{
    const tess_stage_xpcs_simulate *a = job->args;
    tess_xp_pairs_f64 pairs;
    double m[RUN];
    if (a->grid->two) {
        simulate_two(job, tile, record);
        return;
    }
    for (int64_t first = 0; first < a->tiles->n_angle;) {
        const int64_t end = tess_cpu_xp_group_end(a->angles, a->tiles->n_angle, first);
        tess_xp_source source = tess_cpu_xp_source(a->grid, a->angles[first].w2, a->power, 0);
        source.shear = a->n_param == 3 ? NULL : source.shear;
        source.row = (size_t)tile->row;
        source.column = (size_t)tile->column;
        source.n = (size_t)tile->n_column;
        const int is_dark = tess_cpu_xp_is_dark(&source);
        if (is_dark) {
            memset(m, 0, sizeof m);
        } else {
            job->kernels->xpcs_pairs(&source, &pairs);
        }
        for (int64_t angle = first; angle < end; angle++) {
            if (!is_dark && source.shear) {
                job->kernels->xpcs_points_f64(&pairs, source.n, a->angles[angle].amplitude,
                                              a->power, m, NULL);
            }
            simulate_angle(job, tile, record, angle, is_dark || source.shear ? m : pairs.e);
            if (a->tiles->has_sigma) {
                write_weights(a, tile, record, angle);
            }
        }
        first = end;
    }
}

static tess_status simulate_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const simulate_job *job = arg;
    const tess_stage_xpcs_simulate *a = job->args;
    const int64_t leaf = a->first_leaf + block;
    const int64_t n_tile = tess_cpu_xp_leaf_tiles(a->tiles, leaf);
    xp_tile tile = tess_cpu_xp_first_tile(a->tiles, leaf);
    for (int64_t k = 0; k < n_tile; k++) {
        unsigned char *record = a->records + (tile.offset - job->records_at);
        const uint64_t bytes = tess_cpu_xp_record_bytes(a->tiles, tile.width);
        // The few bytes that fill the last line have a value too: records are hashed and written.
        memset(record + bytes - 64, 0, 64);
        simulate_tile(job, &tile, record);
        if (k + 1 < n_tile) {
            tile = tess_cpu_xp_next_tile(a->tiles, &tile);
        }
    }
    return TESS_OK;
}

tess_status tess_cpu_xpcs_simulate(tess_backend_device *device, const void *args)
{
    const tess_stage_xpcs_simulate *a = args;
    if (a->n_leaf == 0) {
        return TESS_OK;
    }
    simulate_job job = {.kernels = device->kernels,
                        .args = a,
                        .records_at = tess_cpu_xp_first_tile(a->tiles, a->first_leaf).offset};
    tess_span span = tess_span_begin(&device->ctx->tracer, "xpcs.simulate");
    const tess_status status =
        tess_parallel_for(device->ctx->pool, a->n_leaf, simulate_block, &job);
    const double n_point =
        (double)a->n_leaf * TESS_STAGE_XPCS_LEAF * RUN * (double)a->tiles->n_angle;
    tess_span_end(&span, n_point * a->tiles->item_bytes, n_point * (a->n_param == 3 ? 60 : 110));
    return status;
}
