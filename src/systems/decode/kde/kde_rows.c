// Likelihood rows of the clusterless KDE: every spike's values, then their sums per row.
//
// Spikes are taken in ranges of rows whose values fit a fixed room; neither that nor the threads
// change a bit, because a spike's values depend on nothing else and a row adds its spikes in order.
#include "base/status.h"
#include "systems/decode/kde/kde.h"

#include <math.h>
#include <string.h>

// Room for the values of spikes.
static const int64_t VALUES_BYTES = 64 << 20;
// Rows of one block of the pool when they are summed.
enum { ROW_BLOCK = 64 };

static int64_t value_bytes(const kde_model *kde)
{
    return kde->stage.is_exact ? (int64_t)sizeof(double) : (int64_t)sizeof(float);
}

static int64_t spikes_at_once(const kde_model *kde)
{
    const int64_t n = VALUES_BYTES / (kde->stage.n_bin * value_bytes(kde) + 1);
    return n > 1 ? n : 1;
}

static uint64_t values_bytes(const kde_model *kde, int64_t n_spike)
{
    const int64_t at_once = spikes_at_once(kde);
    const int64_t n = n_spike < at_once ? n_spike : at_once;
    return (uint64_t)(n * kde->stage.n_bin * value_bytes(kde));
}

uint64_t tess_de_kde_rows_bytes(const tess_decode_encoding *encoding, int64_t n_spike)
{
    const kde_model *kde = encoding->model;
    // A worker of the stage needs what a single spike does.
    return values_bytes(kde, n_spike) + (uint64_t)kde->n_thread * kde->single.scratch_bytes;
}

static tess_status run_stage(tess_device *device, const kde_model *kde,
                             const tess_kde_range *ranges, int64_t n_range, tess_kde_counts *counts)
{
    const tess_stage_decode_kde args = {
        .model = &kde->stage, .ranges = ranges, .n_range = n_range, .counts = counts};
    return tess_stage_run(device, TESS_STAGE_DECODE_KDE, &args, sizeof args);
}

// A call of rows(), and the part of it at hand.
typedef struct rows_task {
    tess_context *ctx;
    tess_device *device;
    const kde_model *kde;
    const tess_de_row_spikes *spikes;
    double scale;
    tess_array *out;
    tess_kde_range *ranges; // [n_electrode] of this part
    int64_t *first;         // [n_electrode] spike of the whole call at which the part starts
    double *sums;           // [n_thread][n_bin]
    unsigned char *values;
    tess_kde_counts counts;
    int64_t row; // first of this part
    int64_t end_row;
} rows_task;

// First spike of an electrode at or after a row.
static int64_t spike_from(const tess_de_row_spikes *s, int64_t electrode, int64_t row)
{
    int64_t low = s->electrode_first[electrode];
    int64_t high = s->electrode_first[electrode + 1];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (s->row[middle] < row) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static int64_t spikes_between(const tess_de_row_spikes *s, int64_t n_electrode, int64_t row,
                              int64_t end_row)
{
    int64_t n = 0;
    for (int64_t e = 0; e < n_electrode; e++) {
        n += spike_from(s, e, end_row) - spike_from(s, e, row);
    }
    return n;
}

// The end of the longest part from row on whose values fit; at least one row.
static int64_t part_end(const rows_task *t, int64_t row, int64_t at_once)
{
    const int64_t n_electrode = t->kde->stage.n_electrode;
    int64_t low = row + 1;
    int64_t high = t->spikes->n_row;
    while (low < high) {
        const int64_t middle = high - (high - low) / 2;
        if (spikes_between(t->spikes, n_electrode, row, middle) <= at_once) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

// Values of the spikes of the part; those of electrodes that were never heard are left out.
static tess_status part_values(rows_task *t)
{
    const kde_model *kde = t->kde;
    int64_t n_value = 0;
    for (int64_t e = 0; e < kde->stage.n_electrode; e++) {
        const tess_kde_electrode *electrode = &kde->electrodes[e];
        const int64_t first = spike_from(t->spikes, e, t->row);
        const int64_t n = spike_from(t->spikes, e, t->end_row) - first;
        const int64_t skip = first - t->spikes->electrode_first[e];
        t->first[e] = first;
        t->ranges[e] = (tess_kde_range){
            .electrode = e,
            .n_spike = electrode->n_spike > 0 ? n : 0,
            .marks = n > 0 ? t->spikes->marks[e] + skip * electrode->n_feature : NULL,
            .values = t->values + n_value * kde->stage.n_bin * value_bytes(kde)};
        n_value += t->ranges[e].n_spike;
    }
    return run_stage(t->device, kde, t->ranges, kde->stage.n_electrode, &t->counts);
}

static void add_values(const rows_task *t, int64_t electrode, int64_t spike, double *sum)
{
    const int64_t n_bin = t->kde->stage.n_bin;
    const int64_t at = (spike - t->first[electrode]) * n_bin;
    if (t->kde->stage.is_exact) {
        const double *value = (const double *)t->ranges[electrode].values + at;
        for (int64_t p = 0; p < n_bin; p++) {
            sum[p] += value[p];
        }
    } else {
        const float *value = (const float *)t->ranges[electrode].values + at;
        for (int64_t p = 0; p < n_bin; p++) {
            sum[p] += (double)value[p];
        }
    }
}

static void write_row(const rows_task *t, int64_t row, const double *sum)
{
    const int64_t n_bin = t->kde->stage.n_bin;
    if (t->out->dtype == TESS_F64) {
        memcpy((double *)t->out->data + row * n_bin, sum, (size_t)n_bin * sizeof *sum);
        return;
    }
    float *out = (float *)t->out->data + row * n_bin;
    for (int64_t p = 0; p < n_bin; p++) {
        out[p] = (float)sum[p];
    }
}

static void sum_row(const rows_task *t, int64_t row, int64_t *next, double *sum)
{
    const kde_model *kde = t->kde;
    const tess_de_row_spikes *s = t->spikes;
    const int64_t n_bin = kde->stage.n_bin;
    for (int64_t p = 0; p < n_bin; p++) {
        sum[p] = -t->scale * kde->intensity[p];
    }
    for (int64_t e = 0; e < kde->stage.n_electrode; e++) {
        const bool is_heard = kde->electrodes[e].n_spike > 0;
        for (; next[e] < s->electrode_first[e + 1] && s->row[next[e]] == row; next[e]++) {
            if (is_heard) {
                add_values(t, e, next[e], sum);
            } else {
                for (int64_t p = 0; p < n_bin; p++) {
                    sum[p] += kde->stage.unheard_value;
                }
            }
        }
    }
    write_row(t, row, sum);
}

static tess_status sum_rows(void *arg, int64_t block, int32_t worker)
{
    const rows_task *t = arg;
    const int64_t n_electrode = t->kde->stage.n_electrode;
    // Behind each worker's sums: where every electrode is.
    double *sum = t->sums + worker * (t->kde->stage.n_bin + n_electrode);
    int64_t *next = (int64_t *)(sum + t->kde->stage.n_bin);
    const int64_t row = t->row + block * ROW_BLOCK;
    const int64_t end = row + ROW_BLOCK < t->end_row ? row + ROW_BLOCK : t->end_row;
    for (int64_t e = 0; e < n_electrode; e++) {
        next[e] = spike_from(t->spikes, e, row);
    }
    for (int64_t r = row; r < end; r++) {
        sum_row(t, r, next, sum);
    }
    return TESS_OK;
}

static tess_status run_parts(rows_task *t)
{
    const int64_t at_once = spikes_at_once(t->kde);
    for (t->row = 0; t->row < t->spikes->n_row; t->row = t->end_row) {
        TESS_TRY(tess_context_check_cancel(t->ctx));
        t->end_row = part_end(t, t->row, at_once);
        TESS_TRY(part_values(t));
        const int64_t n_block = (t->end_row - t->row + ROW_BLOCK - 1) / ROW_BLOCK;
        TESS_TRY(tess_parallel_for(t->ctx->pool, n_block, sum_rows, t));
    }
    return TESS_OK;
}

// Most spikes of a part: a single row may hold more than fit at once.
static int64_t largest_part(const rows_task *t)
{
    const int64_t at_once = spikes_at_once(t->kde);
    const int64_t n_electrode = t->kde->stage.n_electrode;
    int64_t most = 0;
    for (int64_t row = 0; row < t->spikes->n_row;) {
        const int64_t end = part_end(t, row, at_once);
        const int64_t n = spikes_between(t->spikes, n_electrode, row, end);
        most = n > most ? n : most;
        row = end;
    }
    return most;
}

// n spikes of an electrode, of whose values counts were made.
static void report_spikes(const kde_model *kde, int64_t electrode, int64_t n,
                          tess_decode_likelihood_report *report)
{
    const int64_t n_encoding = kde->electrodes[electrode].n_spike;
    report->pairs += (double)n * (double)n_encoding;
    if (n_encoding == 0 && kde->stage.unheard_value == 0) {
        report->n_excluded += n;
        return;
    }
    report->n_value += n * kde->stage.n_bin;
    if (n_encoding == 0) {
        report->n_floored += n * kde->stage.n_bin;
        report->n_flat_spike += n;
    }
}

static void report_counts(const kde_model *kde, const tess_kde_counts *counts,
                          tess_decode_likelihood_report *report)
{
    report->n_floored += counts->n_floored;
    report->n_flat_spike += counts->n_flat;
    report->bound = kde->bound > report->bound ? kde->bound : report->bound;
}

tess_status tess_de_kde_rows(tess_context *ctx, tess_device *device,
                             const tess_decode_encoding *encoding, const tess_de_row_spikes *spikes,
                             double scale, tess_array *out, tess_decode_likelihood_report *report)
{
    const kde_model *kde = encoding->model;
    const int64_t n_electrode = kde->stage.n_electrode;
    rows_task task = {
        .ctx = ctx, .device = device, .kde = kde, .spikes = spikes, .scale = scale, .out = out};
    tess_blocks blocks;
    tess_blocks_init(&blocks, &ctx->heap);
    task.ranges = tess_blocks_alloc(&blocks, n_electrode, sizeof *task.ranges, "spikes");
    task.first = tess_blocks_alloc(&blocks, n_electrode, sizeof *task.first, "spikes");
    task.sums = tess_blocks_alloc(&blocks, ctx->n_thread * (kde->stage.n_bin + n_electrode),
                                  sizeof *task.sums, "sums of rows");
    task.values = tess_blocks_alloc(&blocks, largest_part(&task) * kde->stage.n_bin,
                                    (size_t)value_bytes(kde), "values of spikes");
    tess_status status = TESS_E_MEMORY;
    if (task.ranges && task.first && task.sums && task.values) {
        status = run_parts(&task);
    }
    if (status == TESS_OK && report) {
        for (int64_t e = 0; e < n_electrode; e++) {
            report_spikes(kde, e, spikes->electrode_first[e + 1] - spikes->electrode_first[e],
                          report);
        }
        report_counts(kde, &task.counts, report);
    }
    tess_blocks_free(&blocks);
    return status;
}

static void copy_values(const kde_model *kde, const void *values, int64_t n, int64_t first,
                        tess_array *out)
{
    for (int64_t k = 0; k < n; k++) {
        const double value =
            kde->stage.is_exact ? ((const double *)values)[k] : (double)((const float *)values)[k];
        if (out->dtype == TESS_F64) {
            ((double *)out->data)[first + k] = value;
        } else {
            ((float *)out->data)[first + k] = (float)value;
        }
    }
}

// Values in the stage's own dtype, part by part, into an out of either.
static tess_status joint_parts(tess_context *ctx, tess_device *device, const kde_model *kde,
                               int64_t electrode, const double *marks, int64_t n, void *values,
                               tess_array *out, tess_kde_counts *counts)
{
    const int64_t at_once = spikes_at_once(kde);
    const int64_t n_feature = kde->electrodes[electrode].n_feature;
    for (int64_t first = 0; first < n; first += at_once) {
        const int64_t left = n - first;
        const tess_kde_range range = {.electrode = electrode,
                                      .n_spike = left < at_once ? left : at_once,
                                      .marks = marks + first * n_feature,
                                      .values = values};
        TESS_TRY(tess_context_check_cancel(ctx));
        TESS_TRY(run_stage(device, kde, &range, 1, counts));
        copy_values(kde, values, range.n_spike * kde->stage.n_bin, first * kde->stage.n_bin, out);
    }
    return TESS_OK;
}

tess_status tess_de_kde_log_joint(tess_context *ctx, tess_device *device,
                                  const tess_decode_encoding *encoding, int64_t electrode,
                                  const double *marks, int64_t n, tess_array *out,
                                  tess_decode_likelihood_report *report)
{
    const kde_model *kde = encoding->model;
    tess_kde_counts counts = {0, 0};
    if (kde->electrodes[electrode].n_spike > 0) {
        const size_t bytes = (size_t)values_bytes(kde, n);
        void *values = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "values of spikes");
        if (!values) {
            return TESS_E_MEMORY;
        }
        const tess_status status =
            joint_parts(ctx, device, kde, electrode, marks, n, values, out, &counts);
        tess_heap_free(&ctx->heap, values, bytes, TESS_TAG_SCRATCH);
        TESS_TRY(status);
    } else {
        for (int64_t k = 0; k < n * kde->stage.n_bin; k++) {
            if (out->dtype == TESS_F64) {
                ((double *)out->data)[k] = kde->stage.unheard_value;
            } else {
                ((float *)out->data)[k] = (float)kde->stage.unheard_value;
            }
        }
    }
    if (report) {
        report->n_spike += n;
        report_spikes(kde, electrode, n, report);
        report_counts(kde, &counts, report);
    }
    return TESS_OK;
}
