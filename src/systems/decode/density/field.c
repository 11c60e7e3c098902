#include "systems/decode/density/field.h"

#include "base/rng.h"
#include "base/status.h"
#include "systems/decode/density/density.h"

#include <math.h>

enum { BLOCK = 1024 };

// exp(-REACH^2 / 2) of a bandwidth is below 1e-30 of a kernel, and below the least double.
static const double REACH_FAST = 12;
static const double REACH_EXACT = 38.8;
static const int64_t MOST_NODES = 1 << 20;

// A table is good to 1e-8; verified at random places of its cells, so many that it costs little.
static const double ALLOWED = 1e-7;
static const double CHECK_PAIRS = 2e7;

static bool agrees(const tess_de_field *field, const tess_de_table_samples *samples)
{
    const tess_philox_stream stream = tess_philox_open(0, 0, 0x7AB1E);
    const double wanted = CHECK_PAIRS / (double)samples->n;
    const int64_t n = wanted > 256 ? 256 : wanted < 8 ? 8 : (int64_t)wanted;
    for (int64_t i = 0; i < n; i++) {
        // A little off a random sample, by up to two bandwidths in each coordinate.
        double place[3];
        const double pick = tess_philox_uniform(&stream, (uint64_t)(4 * i)) * (double)samples->n;
        for (int64_t k = 0; k < samples->n_dim; k++) {
            const double u = tess_philox_uniform(&stream, (uint64_t)(4 * i + 1 + k));
            place[k] =
                samples->place[(int64_t)pick * samples->n_dim + k] + (4 * u - 2) * samples->std[k];
        }
        double log_value = 0;
        if (tess_de_table_lookup(&field->table, samples->n_dim, place, &log_value)) {
            const double direct = tess_de_nearby_density(&field->nearby, place);
            if (!(fabs(exp(log_value) - direct) <= ALLOWED * direct)) {
                return false;
            }
        }
    }
    return true;
}

tess_status tess_de_field_build(tess_context *ctx, tess_blocks *blocks,
                                const tess_de_table_samples *samples, bool exact,
                                tess_de_field *out)
{
    *out = (tess_de_field){.n_dim = samples->n_dim, .factor = 1};
    TESS_TRY(tess_de_nearby_build(blocks, samples, exact ? REACH_EXACT : REACH_FAST, &out->nearby));
    if (exact || samples->n == 0) {
        return TESS_OK;
    }
    TESS_TRY(tess_de_table_build(ctx, blocks, samples, MOST_NODES, &out->table));
    if (!agrees(out, samples)) {
        tess_log_write(&ctx->log, TESS_LOG_INFO,
                       "local likelihood: a density cannot be tabulated; evaluating directly");
        out->table = (tess_de_table){.n = {0, 0}};
    }
    return TESS_OK;
}

typedef struct field_job {
    const tess_de_field *field;
    const double *places;
    int64_t n;
    double *out;
} field_job;

static double log_at(const tess_de_field *field, const double *place)
{
    double log_value = 0;
    if (!tess_de_table_lookup(&field->table, field->n_dim, place, &log_value)) {
        const double value = tess_de_nearby_density(&field->nearby, place);
        log_value = value < TESS_DE_LEAST_OCCUPANCY ? -(double)INFINITY : log(value);
    }
    return log_value + log(field->factor);
}

static tess_status field_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const field_job *job = arg;
    const int64_t end = (block + 1) * BLOCK < job->n ? (block + 1) * BLOCK : job->n;
    for (int64_t i = block * BLOCK; i < end; i++) {
        job->out[i] = log_at(job->field, job->places + i * job->field->n_dim);
    }
    return TESS_OK;
}

tess_status tess_de_field_log(tess_context *ctx, const tess_de_field *field, const double *places,
                              int64_t n, double *out)
{
    field_job job = {field, places, n, out};
    return tess_parallel_for(ctx->pool, (n + BLOCK - 1) / BLOCK, field_block, &job);
}
