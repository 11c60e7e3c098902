// Simulated epochs with planted artifacts. Every value is a function of (seed, epoch, channel,
// sample) alone, so any tile can be made by itself, on any thread.
#include "base/rng.h"
#include "base/status.h"
#include "runtime/plan.h"
#include "systems/autoreject/settings/ptp_check.h"

#include <math.h>
#include <string.h>

enum { N_SOURCE = 12, N_WAVE = 8 };

// Scratch rows of one worker: the sources, then the evoked response, sensor noise and burst noise.
enum { ROW_EVOKED = N_SOURCE, ROW_NOISE, ROW_BURST, N_ROW };

// Streams of random numbers: one purpose each.
enum {
    DRAW_WAVES = 1,
    DRAW_NOISE = 2,
    DRAW_ARTIFACT = 3,
    DRAW_BURST = 4,
    DRAW_BLINK = 5,
    DRAW_SOURCE = 6
};

static const double PI = 3.14159265358979323846;
static const double BACKGROUND_V = 16e-6;
static const double HEAD_M = 0.09;
static const double NOISE_V = 2e-6;
static const double EVOKED_V = 5e-6;
static const double ARTIFACT_V = 150e-6;
static const double BLINK_V = 120e-6;
static const double BLINK_CHANCE = 0.08;
static const double MOVEMENT_CHANCE = 0.04; // an epoch in which everything is larger
static const double MOVEMENT_GAIN = 4;

typedef struct simulate_settings {
    tess_autoreject_simulate_config config;
} simulate_settings;

typedef struct epoch_job {
    const tess_plan *plan;
    const tess_tile *tile;
    double *scratch; // [n_worker][N_ROW][n_time]
} epoch_job;

// What all channels of an epoch share: waves of falling amplitude and random phase, one set per
// source, and the evoked response.
static void fill_shared(const tess_autoreject_simulate_config *config, int64_t epoch, double *rows)
{
    const int64_t n_time = config->n_time;
    const tess_philox_stream draw =
        tess_philox_open((uint64_t)config->seed, (uint32_t)epoch, DRAW_WAVES);
    for (int s = 0; s < N_SOURCE; s++) {
        double *source = rows + s * n_time;
        memset(source, 0, (size_t)n_time * sizeof *source);
        for (int w = 0; w < N_WAVE; w++) {
            const uint64_t i = (uint64_t)(2 * (s * N_WAVE + w));
            const double hz = 1.0 + 4.0 * w + 3.0 * tess_philox_uniform(&draw, i);
            const double phase = 2 * PI * tess_philox_uniform(&draw, i + 1);
            const double step = 2 * PI * hz / config->sampling_hz;
            for (int64_t t = 0; t < n_time; t++) {
                source[t] += sin(phase + step * (double)t) / hz;
            }
        }
    }
    for (int64_t t = 0; t < n_time; t++) {
        const double x = ((double)t - 0.4 * (double)n_time) / (0.07 * (double)n_time + 1);
        rows[ROW_EVOKED * n_time + t] = EVOKED_V * exp(-0.5 * x * x);
    }
}

// Electrodes spread evenly over a sphere, from the vertex to 30 degrees below the equator.
static void direction(int64_t c, int64_t n_chan, double out[3])
{
    const double turn = PI * (3 - sqrt(5.0)) * (double)c;
    const double z = 1 - 1.5 * ((double)c + 0.5) / (double)n_chan;
    const double r = sqrt(1 - z * z);
    out[0] = r * cos(turn);
    out[1] = r * sin(turn);
    out[2] = z;
}

// How strongly a channel sees each source: less the further away on the sphere.
static void fill_weights(const tess_autoreject_simulate_config *config, int64_t c, double *weights)
{
    const tess_philox_stream draw = tess_philox_open((uint64_t)config->seed, 0, DRAW_SOURCE);
    double at[3];
    direction(c, config->n_chan, at);
    for (int s = 0; s < N_SOURCE; s++) {
        double place[3];
        tess_philox_normals(&draw, (uint64_t)(4 * s), 3, place);
        const double length = sqrt(place[0] * place[0] + place[1] * place[1] + place[2] * place[2]);
        const double cosine =
            (at[0] * place[0] + at[1] * place[1] + at[2] * place[2]) / (length > 0 ? length : 1);
        weights[s] = BACKGROUND_V * exp(3 * (cosine - 1));
    }
}

tess_status tess_autoreject_simulated_positions(int64_t n_chan, double *out)
{
    tess_error_clear();
    if (n_chan < 1 || !out) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s; positions are for at least one channel",
                  out ? "n_chan is less than 1" : "out is NULL");
    }
    for (int64_t c = 0; c < n_chan; c++) {
        direction(c, n_chan, out + 3 * c);
        for (int i = 0; i < 3; i++) {
            out[3 * c + i] *= HEAD_M;
        }
    }
    return TESS_OK;
}

// One of four kinds, placed and sized at random.
static double artifact(const tess_philox_stream *draw, const double *burst, int64_t t,
                       int64_t n_time)
{
    const double kind = tess_philox_uniform(draw, 1);
    const double at = tess_philox_uniform(draw, 2) * (double)n_time;
    const double size = ARTIFACT_V * (0.7 + 0.6 * tess_philox_uniform(draw, 3));
    const double x = (double)t - at;
    if (kind < 0.3) { // jump
        return x >= 0 ? size : 0;
    }
    if (kind < 0.6) { // muscle burst
        const double width = 0.1 * (double)n_time + 1;
        return 0.5 * size * exp(-0.5 * x * x / (width * width)) * burst[t];
    }
    if (kind < 0.85) { // drift
        return size * (double)t / (double)n_time;
    }
    return fabs(x) < 1.5 ? size : 0; // electrode pop
}

static void store(const tess_plan *plan, void *out, int64_t index, double value)
{
    if (plan->out.dtype == TESS_F32) {
        ((float *)out)[index] = (float)value;
    } else {
        ((double *)out)[index] = value;
    }
}

static void fill_channel(const tess_plan *plan, const tess_autoreject_simulate_config *config,
                         double *rows, int64_t e, int64_t c, void *out, int64_t index)
{
    const int64_t n_time = config->n_time;
    const uint64_t seed = (uint64_t)config->seed;
    const uint64_t row = (uint64_t)(e * config->n_chan + c);
    const tess_philox_stream noise = tess_philox_open(seed, 0, DRAW_NOISE);
    const tess_philox_stream draw = tess_philox_open(seed, (uint32_t)row, DRAW_ARTIFACT);
    const tess_philox_stream burst = tess_philox_open(seed, (uint32_t)row, DRAW_BURST);
    const tess_philox_stream blink = tess_philox_open(seed, (uint32_t)e, DRAW_BLINK);
    const bool is_bad = tess_philox_uniform(&draw, 0) < config->bad_fraction;
    const bool blinks = c < config->n_chan / 4 && config->bad_fraction > 0 &&
                        tess_philox_uniform(&blink, 0) < BLINK_CHANCE;
    const double blink_at = tess_philox_uniform(&blink, 1) * (double)n_time;
    const bool moves = config->bad_fraction > 0 && tess_philox_uniform(&blink, 2) < MOVEMENT_CHANCE;
    double *noise_row = rows + ROW_NOISE * n_time;
    double *burst_row = rows + ROW_BURST * n_time;
    tess_philox_normals(&noise, row * (uint64_t)n_time, (size_t)n_time, noise_row);
    if (is_bad) {
        tess_philox_normals(&burst, 0, (size_t)n_time, burst_row);
    }
    double weights[N_SOURCE];
    fill_weights(config, c, weights);
    for (int64_t t = 0; t < n_time; t++) {
        double value = rows[ROW_EVOKED * n_time + t] + NOISE_V * noise_row[t];
        for (int s = 0; s < N_SOURCE; s++) {
            value += weights[s] * rows[s * n_time + t];
        }
        if (is_bad) {
            value += artifact(&draw, burst_row, t, n_time);
        }
        if (blinks) {
            const double x = ((double)t - blink_at) / (0.08 * config->sampling_hz);
            value += BLINK_V * exp(-0.5 * x * x);
        }
        store(plan, out, index + t, moves ? MOVEMENT_GAIN * value : value);
    }
}

static tess_status fill_epoch(void *arg, int64_t block, int32_t worker)
{
    const epoch_job *job = arg;
    simulate_settings settings;
    memcpy(&settings, job->plan->system.bytes, sizeof settings);
    const tess_autoreject_simulate_config *config = &settings.config;
    double *rows = job->scratch + (int64_t)worker * N_ROW * config->n_time;
    const int64_t e = job->tile->first + block;
    fill_shared(config, e, rows);
    for (int64_t c = 0; c < config->n_chan; c++) {
        fill_channel(job->plan, config, rows, e, c, job->tile->out,
                     (block * config->n_chan + c) * config->n_time);
    }
    return TESS_OK;
}

static uint64_t scratch_bytes(const tess_context *ctx, int64_t n_time)
{
    return (uint64_t)ctx->n_thread * N_ROW * (uint64_t)n_time * sizeof(double);
}

static tess_status compute(const tess_plan *plan, tess_context *ctx, const tess_tile *tile)
{
    const size_t bytes = (size_t)scratch_bytes(ctx, plan->out.shape[2]);
    double *scratch = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "simulated rows");
    if (!scratch) {
        return TESS_E_MEMORY;
    }
    epoch_job job = {.plan = plan, .tile = tile, .scratch = scratch};
    const tess_status status = tess_parallel_for(ctx->pool, tile->count, fill_epoch, &job);
    tess_heap_free(&ctx->heap, scratch, bytes, TESS_TAG_SCRATCH);
    return status;
}

static const tess_plan_ops simulate_ops = {
    .name = "autoreject.simulate", .unit = "epochs", .compute = compute};

tess_status tess_autoreject_simulate_plan_create(tess_context *ctx,
                                                 const tess_autoreject_simulate_config *given,
                                                 tess_plan **out)
{
    tess_error_clear();
    *out = NULL;
    simulate_settings settings;
    memset(&settings, 0, sizeof settings);
    TESS_TRY(tess_ar_check_simulate_config(given, &settings.config));
    const tess_autoreject_simulate_config *config = &settings.config;
    const int64_t shape[3] = {config->n_epoch, config->n_chan, config->n_time};
    tess_plan_request request = {.ops = &simulate_ops};
    TESS_TRY(tess_array_init(&request.out, NULL, config->dtype_index == 0 ? TESS_F32 : TESS_F64, 3,
                             shape));
    request.fixed_bytes = scratch_bytes(ctx, config->n_time);
    TESS_TRY(tess_plan_create(ctx, &request, out));
    _Static_assert(sizeof settings <= TESS_PLAN_SYSTEM_BYTES, "settings fit the plan");
    memcpy((*out)->system.bytes, &settings, sizeof settings);
    tess_plan_set_settings(*out, tess_autoreject_simulate_params(), config, "");
    return TESS_OK;
}

tess_status tess_autoreject_simulate(tess_context *ctx,
                                     const tess_autoreject_simulate_config *config, tess_array *out)
{
    tess_error_clear();
    tess_plan *plan = NULL;
    tess_sink *sink = NULL;
    tess_run *run = NULL;
    tess_status status = tess_autoreject_simulate_plan_create(ctx, config, &plan);
    if (status == TESS_OK) {
        status = tess_sink_from_array(ctx, out, &sink);
    }
    if (status == TESS_OK) {
        status = tess_run_create(ctx, plan, NULL, sink, NULL, &run);
    }
    if (status == TESS_OK) {
        status = tess_run_execute(run);
    }
    tess_run_destroy(run);
    tess_sink_close(sink);
    tess_plan_destroy(plan);
    return status;
}
