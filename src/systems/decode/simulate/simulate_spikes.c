// Spikes: when, of which unit, with which features.
//
// Rates are tabulated on small cells of the maze. A spike first picks a unit and a cell by the
// spikes expected there, then one of the samples at which the animal represents that cell, then a
// time within the sample. Each is a function of electrode and index, so electrodes are made on any
// thread and a spike does not depend on the others.
#include "base/status.h"
#include "systems/decode/simulate/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double HASH_SHARE = 0.5; // of all spikes
static const double HASH_LEAST = 50;  // uV
static const double HASH_MORE = 20;   // uV, mean beyond that
static const double GAIN_SD = 0.08;
static const double NOISE_SD = 10; // uV
static const double ARTEFACT_LEAST = 2000;
static const double ARTEFACT_MOST = 5000;
enum { REPLAY_WEIGHT = 6, DRAWS_PER_SPIKE = 8, PROGRESS_EVERY = 4 };

// Samples by cell: a sample of a replay is in its cell's list six times.
typedef struct cell_lists {
    int64_t n_cell;
    int64_t *first; // [n_cell + 1]
    int32_t *sample;
} cell_lists;

typedef struct spike {
    double time;
    int32_t unit; // -1: hash
    uint32_t index;
} spike;

typedef struct electrode_out {
    double *times;
    float *marks;
    int32_t *unit; // NULL: not kept
    int64_t n;
} electrode_out;

typedef struct draw_job {
    tess_context *ctx;
    const tess_de_spike_job *job;
    cell_lists cells;
    int64_t first_electrode; // of a round
    double *natural;         // [n_electrode] spikes at the units' own rates
    electrode_out *out;      // [n_electrode]
    // Per worker:
    double *cumulative; // [MAX_UNITS * n_cell]
    double *directions; // [MAX_UNITS * n_feature]
    double *normals;    // [n_feature + 1]
    spike *spikes;      // [most spikes of an electrode]
    int64_t most;
} draw_job;

static const double *place_of(const tess_de_path *path, int64_t k)
{
    return k < path->n_training ? path->position + k * path->n_dim
                                : path->represented + (k - path->n_training) * path->n_dim;
}

static int64_t weight_of(const tess_de_path *path, int64_t k)
{
    return k >= path->n_training && path->is_replay[k - path->n_training] ? REPLAY_WEIGHT : 1;
}

static tess_status list_cells(tess_blocks *blocks, const tess_de_spike_job *job, cell_lists *lists)
{
    const tess_de_path *path = job->path;
    lists->n_cell = tess_de_maze_cells(path->maze);
    lists->first =
        tess_blocks_alloc(blocks, lists->n_cell + 2, sizeof *lists->first, "cells of a simulation");
    if (!lists->first) {
        return TESS_E_MEMORY;
    }
    int64_t n_entry = 0;
    int64_t *ends = lists->first + 1; // where each list ends, while it is filled
    for (int64_t k = job->first; k < job->first + job->n; k++) {
        ends[tess_de_maze_cell(path->maze, place_of(path, k)) + 1] += weight_of(path, k);
        n_entry += weight_of(path, k);
    }
    for (int64_t c = 0; c < lists->n_cell; c++) {
        ends[c + 1] += ends[c];
    }
    lists->sample =
        tess_blocks_alloc(blocks, n_entry, sizeof *lists->sample, "cells of a simulation");
    if (!lists->sample) {
        return TESS_E_MEMORY;
    }
    for (int64_t k = job->first; k < job->first + job->n; k++) {
        const int64_t cell = tess_de_maze_cell(path->maze, place_of(path, k));
        for (int64_t i = 0; i < weight_of(path, k); i++) {
            lists->sample[ends[cell]++] = (int32_t)k;
        }
    }
    return TESS_OK;
}

// Running sums of expected spikes over units and cells; returns the total.
static double accumulate(const draw_job *d, const tess_de_unit *units, int64_t n_unit,
                         double *cumulative)
{
    const tess_de_path *path = d->job->path;
    double sum = 0;
    for (int64_t u = 0; u < n_unit; u++) {
        for (int64_t c = 0; c < d->cells.n_cell; c++) {
            const int64_t n = d->cells.first[c + 1] - d->cells.first[c];
            if (n > 0) {
                double center[2];
                tess_de_maze_cell_center(path->maze, c, center);
                sum += (double)n * tess_de_unit_hz(&units[u], path->n_dim, center) /
                       TESS_DE_SIMULATE_HZ;
            }
            cumulative[u * d->cells.n_cell + c] = sum;
        }
    }
    return sum;
}

static int64_t find_above(const double *cumulative, int64_t n, double x)
{
    int64_t low = 0;
    int64_t high = n - 1;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (cumulative[middle] > x) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static uint32_t stream_item(const tess_de_spike_job *job, int64_t electrode)
{
    return (uint32_t)(2 * electrode) + job->period;
}

// Time and unit of spike i.
static spike place_spike(const draw_job *d, const tess_philox_stream *draw, uint32_t i,
                         const double *cumulative, int64_t n_unit)
{
    const int64_t n_cell = d->cells.n_cell;
    const uint64_t at = (uint64_t)i * DRAWS_PER_SPIKE;
    spike s = {.unit = -1, .index = i};
    int64_t begin = d->cells.first[0];
    int64_t end = d->cells.first[n_cell];
    if (tess_philox_uniform(draw, at) >= HASH_SHARE) {
        const double total = cumulative[n_unit * n_cell - 1];
        const int64_t found =
            find_above(cumulative, n_unit * n_cell, total * tess_philox_uniform(draw, at + 1));
        s.unit = (int32_t)(found / n_cell);
        begin = d->cells.first[found % n_cell];
        end = d->cells.first[found % n_cell + 1];
    }
    int64_t k = begin + (int64_t)((double)(end - begin) * tess_philox_uniform(draw, at + 2));
    k = k < end ? k : end - 1;
    s.time = ((double)d->cells.sample[k] + tess_philox_uniform(draw, at + 3)) / TESS_DE_SIMULATE_HZ;
    return s;
}

static int by_time(const void *a, const void *b)
{
    const spike *x = a;
    const spike *y = b;
    if (x->time != y->time) {
        return x->time < y->time ? -1 : 1;
    }
    return (x->index > y->index) - (x->index < y->index);
}

// Features of a spike; shape: room for n_feature.
static void draw_marks(const draw_job *d, int64_t electrode, const spike *s,
                       const tess_de_unit *units, double *normals, double *shape, float *marks)
{
    const tess_de_spike_job *job = d->job;
    const uint64_t seed = (uint64_t)job->config->seed;
    const uint32_t item = stream_item(job, electrode);
    const int64_t n = job->n_feature;
    const tess_philox_stream noise = tess_philox_open(seed, item, TESS_DE_DRAW_NOISE);
    const tess_philox_stream hash = tess_philox_open(seed, item, TESS_DE_DRAW_HASH);
    const tess_philox_stream artefact = tess_philox_open(seed, item, TESS_DE_DRAW_ARTEFACT);
    tess_philox_normals(&noise, (uint64_t)s->index * (uint64_t)(n + 1), (size_t)(n + 1), normals);
    double amplitude;
    const double *direction = shape;
    const uint64_t first = (uint64_t)s->index * (uint64_t)(2 * n + 1);
    if (s->unit >= 0) {
        direction = units[s->unit].direction;
        amplitude = units[s->unit].amplitude + job->config->drift * s->time / 3600;
    } else {
        tess_de_simulate_direction(&hash, first + 1, n, shape);
        amplitude = HASH_LEAST - HASH_MORE * log(1 - tess_philox_uniform(&hash, first));
    }
    if (job->config->artefacts > 0 &&
        tess_philox_uniform(&artefact, 2 * (uint64_t)s->index) < job->config->artefacts) {
        amplitude = ARTEFACT_LEAST + (ARTEFACT_MOST - ARTEFACT_LEAST) *
                                         tess_philox_uniform(&artefact, 2 * (uint64_t)s->index + 1);
    }
    for (int64_t f = 0; f < n; f++) {
        marks[f] =
            (float)(amplitude * direction[f] * (1 + GAIN_SD * normals[n]) + NOISE_SD * normals[f]);
    }
}

static tess_status draw_electrode(void *arg, int64_t block, int32_t worker)
{
    const draw_job *d = arg;
    const int64_t e = d->first_electrode + block;
    const tess_de_spike_job *job = d->job;
    const uint64_t seed = (uint64_t)job->config->seed;
    const int64_t n_feature = job->n_feature;
    const electrode_out *out = &d->out[e];
    double *cumulative = d->cumulative + worker * TESS_DE_MAX_UNITS * d->cells.n_cell;
    double *directions = d->directions + worker * TESS_DE_MAX_UNITS * n_feature;
    double *normals = d->normals + worker * (2 * n_feature + 1);
    spike *spikes = d->spikes + worker * d->most;
    tess_de_unit units[TESS_DE_MAX_UNITS];
    TESS_TRY(tess_context_check_cancel(d->ctx));
    const int64_t n_unit =
        tess_de_simulate_units(seed, e, job->path->maze, n_feature, directions, units);
    accumulate(d, units, n_unit, cumulative);
    const tess_philox_stream draw = tess_philox_open(seed, stream_item(job, e), TESS_DE_DRAW_SPIKE);
    for (int64_t i = 0; i < out->n; i++) {
        spikes[i] = place_spike(d, &draw, (uint32_t)i, cumulative, n_unit);
    }
    qsort(spikes, (size_t)out->n, sizeof *spikes, by_time);
    for (int64_t i = 0; i < out->n; i++) {
        out->times[i] = spikes[i].time;
        if (out->unit) {
            out->unit[i] = spikes[i].unit;
        }
        draw_marks(d, e, &spikes[i], units, normals, normals + n_feature + 1,
                   out->marks + i * n_feature);
    }
    return TESS_OK;
}

static tess_status count_electrode(void *arg, int64_t e, int32_t worker)
{
    const draw_job *d = arg;
    const tess_de_spike_job *job = d->job;
    tess_de_unit units[TESS_DE_MAX_UNITS];
    const int64_t n_unit =
        tess_de_simulate_units((uint64_t)job->config->seed, e, job->path->maze, job->n_feature,
                               d->directions + worker * TESS_DE_MAX_UNITS * job->n_feature, units);
    TESS_TRY(tess_context_check_cancel(d->ctx));
    d->natural[e] =
        accumulate(d, units, n_unit, d->cumulative + worker * TESS_DE_MAX_UNITS * d->cells.n_cell);
    return TESS_OK;
}

// Shares the wanted spikes out among the electrodes, as active as their units make them, and takes
// room for them in the recording.
static tess_status share_out(draw_job *d, tess_decode_recording *recording,
                             tess_de_spike_lists *lists, int32_t **unit)
{
    const tess_de_spike_job *job = d->job;
    double total = 0;
    for (int64_t e = 0; e < job->n_electrode; e++) {
        total += d->natural[e];
    }
    for (int64_t e = 0; e < job->n_electrode; e++) {
        const int64_t n = (int64_t)((double)job->n_total * (d->natural[e] / total) + 0.5);
        tess_blocks *blocks = &recording->blocks;
        electrode_out *out = &d->out[e];
        out->n = n;
        out->times = tess_blocks_alloc(blocks, n, sizeof *out->times, "simulated spikes");
        out->marks =
            tess_blocks_alloc(blocks, n * job->n_feature, sizeof *out->marks, "simulated features");
        out->unit =
            unit ? tess_blocks_alloc(blocks, n, sizeof *out->unit, "units of simulated spikes")
                 : NULL;
        if (!out->times || !out->marks || (unit && !out->unit)) {
            return TESS_E_MEMORY;
        }
        lists->n_spike[e] = n;
        lists->n_feature[e] = job->n_feature;
        lists->times[e] = out->times;
        lists->marks[e] = out->marks;
        if (unit) {
            unit[e] = out->unit;
        }
        d->most = n > d->most ? n : d->most;
    }
    return TESS_OK;
}

// In rounds of a few electrodes per thread, so that progress can be told.
static tess_status draw_in_rounds(draw_job *d)
{
    const int64_t n_electrode = d->job->n_electrode;
    const int64_t n_round = (int64_t)PROGRESS_EVERY * d->ctx->n_thread;
    for (int64_t first = 0; first < n_electrode; first += n_round) {
        const int64_t n = n_electrode - first < n_round ? n_electrode - first : n_round;
        d->first_electrode = first;
        TESS_TRY(tess_parallel_for(d->ctx->pool, n, draw_electrode, d));
        TESS_TRY(tess_watch_poll(d->job->watch, d->job->period * n_electrode + first + n,
                                 2 * n_electrode));
    }
    return TESS_OK;
}

// With scratch in blocks that the caller frees.
static tess_status draw_all(draw_job *d, tess_blocks *scratch, tess_decode_recording *recording,
                            tess_de_spike_lists *lists, int32_t **unit)
{
    const tess_de_spike_job *job = d->job;
    const int64_t n_worker = d->ctx->n_thread;
    const char *what = "simulation";
    TESS_TRY(list_cells(scratch, job, &d->cells));
    d->natural = tess_blocks_alloc(scratch, job->n_electrode, sizeof *d->natural, what);
    d->out = tess_blocks_alloc(scratch, job->n_electrode, sizeof *d->out, what);
    d->cumulative = tess_blocks_alloc(scratch, n_worker * TESS_DE_MAX_UNITS * d->cells.n_cell,
                                      sizeof *d->cumulative, what);
    d->directions = tess_blocks_alloc(scratch, n_worker * TESS_DE_MAX_UNITS * job->n_feature,
                                      sizeof *d->directions, what);
    d->normals =
        tess_blocks_alloc(scratch, n_worker * (2 * job->n_feature + 1), sizeof *d->normals, what);
    if (!d->natural || !d->out || !d->cumulative || !d->directions || !d->normals) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_parallel_for(d->ctx->pool, job->n_electrode, count_electrode, d));
    TESS_TRY(share_out(d, recording, lists, unit));
    d->spikes = tess_blocks_alloc(scratch, n_worker * d->most, sizeof *d->spikes, what);
    if (!d->spikes) {
        return TESS_E_MEMORY;
    }
    return draw_in_rounds(d);
}

tess_status tess_de_simulate_spikes(tess_context *ctx, tess_decode_recording *recording,
                                    const tess_de_spike_job *job, tess_decode_spikes *spikes,
                                    const int32_t *const **unit)
{
    tess_de_spike_lists lists;
    int32_t **units = NULL;
    TESS_TRY(tess_de_recording_spikes(recording, spikes, job->n_electrode, TESS_F32, &lists));
    if (unit) {
        units = tess_blocks_alloc(&recording->blocks, job->n_electrode, sizeof *units,
                                  "units of simulated spikes");
        if (!units) {
            return TESS_E_MEMORY;
        }
        *unit = (const int32_t *const *)units;
    }
    tess_blocks scratch;
    tess_blocks_init(&scratch, &ctx->heap);
    draw_job d = {.ctx = ctx, .job = job};
    const tess_status status = draw_all(&d, &scratch, recording, &lists, units);
    tess_blocks_free(&scratch);
    return status;
}
