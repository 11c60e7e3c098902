// The rows of a prediction: all, or those of intervals, one sequence after the other.
#include "systems/decode/files/intervals.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/decode/stream/stream.h"

#include <math.h>
#include <string.h>

static const char MEMORY[] = "rows of intervals";

// Every interval with its rows, by time.
static tess_status find_rows(tess_de_stream_run *run, const tess_decode_intervals *t,
                             const int64_t *order)
{
    tess_de_intervals *out = &run->intervals;
    const tess_decode_observation *whole = &run->observation;
    const tess_de_result_intervals table = {
        .n = t->n,
        .number = order,
        .start = tess_blocks_alloc(&run->rows, t->n, sizeof(double), MEMORY),
        .end = tess_blocks_alloc(&run->rows, t->n, sizeof(double), MEMORY),
        .n_row = tess_blocks_alloc(&run->rows, t->n, sizeof(int64_t), MEMORY)};
    out->first = tess_blocks_alloc(&run->rows, t->n, sizeof *out->first, MEMORY);
    out->begin = tess_blocks_alloc(&run->rows, t->n + 1, sizeof *out->begin, MEMORY);
    out->evidence = tess_blocks_alloc(&run->rows, t->n, sizeof *out->evidence, MEMORY);
    if (!table.start || !table.end || !table.n_row || !out->first || !out->begin ||
        !out->evidence) {
        return TESS_E_MEMORY;
    }
    out->table = table;
    for (int64_t k = 0; k < t->n; k++) {
        const int64_t i = order[k];
        int64_t first = 0;
        table.start[k] = t->start[i];
        table.end[k] = t->end[i];
        tess_de_interval_find(t->start[i], t->end[i], whole->time, whole->n_time, &first,
                              &table.n_row[k]);
        if (table.n_row[k] > 0) {
            out->first[out->n_sequence] = first;
            out->begin[out->n_sequence + 1] = out->begin[out->n_sequence] + table.n_row[k];
            out->n_sequence++;
        }
    }
    return TESS_OK;
}

// Times, missing rows and true positions of the rows that are decoded.
static tess_status gather(tess_de_stream_run *run)
{
    const tess_de_intervals *in = &run->intervals;
    const tess_decode_observation *whole = &run->observation;
    const tess_decode_recording_info *recording = run->config.recording;
    const double *truth = recording ? recording->true_position : NULL;
    const int64_t n_dim = truth ? recording->observation.position.n_dim : 0;
    const int64_t n_row = in->begin[in->n_sequence];
    double *time = tess_blocks_alloc(&run->rows, n_row, sizeof *time, MEMORY);
    int64_t *interval = tess_blocks_alloc(&run->rows, n_row, sizeof *interval, MEMORY);
    double *place =
        truth ? tess_blocks_alloc(&run->rows, n_row * n_dim, sizeof *place, MEMORY) : NULL;
    if (!time || !interval || (truth && !place)) {
        return TESS_E_MEMORY;
    }
    int64_t s = 0;
    for (int64_t k = 0; k < in->table.n; k++) {
        const int64_t n = in->table.n_row[k];
        if (n == 0) {
            continue;
        }
        const int64_t at = in->begin[s];
        memcpy(time + at, whole->time + in->first[s], (size_t)n * sizeof *time);
        if (truth) {
            memcpy(place + at * n_dim, truth + in->first[s] * n_dim,
                   (size_t)(n * n_dim) * sizeof *place);
        }
        for (int64_t t = 0; t < n; t++) {
            interval[at + t] = in->table.number[k];
        }
        s++;
    }
    run->decoded.time = time;
    run->decoded.n_time = n_row;
    run->decoded.is_missing = NULL; // of the observation's rows
    run->intervals.table.of_row = interval;
    run->intervals.table.true_position = place;
    return TESS_OK;
}

static void note(tess_de_stream_run *run, const tess_decode_intervals *t)
{
    tess_hash hash = {0, 0};
    tess_de_mix_doubles(&hash, t->start, t->n);
    tess_de_mix_doubles(&hash, t->end, t->n);
    run->intervals.hash = hash;
    run->report.n_interval = t->n;
    run->report.n_empty = t->n - run->intervals.n_sequence;
}

tess_status tess_de_stream_rows(tess_de_stream_run *run)
{
    tess_decode_intervals table;
    int64_t *order = NULL;
    tess_blocks_init(&run->rows, &run->ctx->heap);
    run->decoded = run->observation;
    run->report.n_row = run->observation.n_time;
    if (!run->config.intervals) {
        return TESS_OK;
    }
    tess_decode_intervals_init(&table, sizeof table);
    TESS_TRY(tess_struct_read(run->config.intervals, &table, sizeof table, "intervals"));
    TESS_TRY(tess_de_intervals_order(&run->rows, &table, &order));
    TESS_TRY(find_rows(run, &table, order));
    note(run, &table);
    if (run->intervals.n_sequence == 0) {
        return tess_de_intervals_refuse(&table, run->observation.time, run->observation.n_time);
    }
    TESS_TRY(gather(run));
    run->report.n_row = run->decoded.n_time;
    return TESS_OK;
}

void tess_de_stream_sequences(const tess_de_stream_run *run, tess_de_sequences *out)
{
    const tess_de_intervals *in = &run->intervals;
    *out = (tess_de_sequences){
        .n = in->n_sequence, .first = in->first, .begin = in->begin, .time = run->decoded.time};
}

const double *tess_de_stream_evidence(tess_de_stream_run *run)
{
    int64_t s = 0;
    for (int64_t k = 0; k < run->intervals.table.n; k++) {
        const bool has_rows = run->intervals.table.n_row[k] > 0;
        run->intervals.evidence[k] = has_rows ? run->engine->evidence[s] : (double)NAN;
        s += has_rows;
    }
    return run->intervals.evidence;
}

void tess_de_stream_warn_empty(const tess_de_stream_run *run)
{
    if (run->report.n_empty > 0) {
        tess_log_warn(
            &run->ctx->log, TESS_W_DECODE_EMPTY_INTERVAL,
            "%lld of %lld intervals have no time bin that begins in them: nothing of them "
            "is decoded",
            (long long)run->report.n_empty, (long long)run->report.n_interval);
    }
}
