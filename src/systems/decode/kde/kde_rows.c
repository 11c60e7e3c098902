// Likelihood rows of the clusterless KDE: every spike's values, then their sums per row.
//
// Spikes are taken in parts of rows (kde_parts.h); neither these nor the threads change a bit.
#include "base/status.h"
#include "runtime/device_memory.h"
#include "systems/decode/kde/kde_parts.h"

#include <math.h>
#include <string.h>

static uint64_t values_bytes(const kde_model *kde, int64_t at_once, int64_t n_spike)
{
    const int64_t n = n_spike < at_once ? n_spike : at_once;
    return (uint64_t)(n * kde->stage.n_bin * tess_de_kde_value_bytes(kde));
}

// What the host holds: on a device that works on its own memory less than this.
uint64_t tess_de_kde_rows_bytes(const tess_decode_encoding *encoding, int64_t n_spike)
{
    const kde_model *kde = encoding->model;
    // A worker of the stage needs what a single spike does.
    const int64_t at_once = tess_de_kde_spikes_at_once(kde, false, TESS_DE_KDE_HOST_BYTES);
    return values_bytes(kde, at_once, n_spike) + (uint64_t)n_spike * sizeof(int64_t) +
           (uint64_t)kde->n_thread * kde->single.scratch_bytes;
}

// Values of ranges whose marks and values lie where the device can reach them.
static tess_status run_stage(kde_there *there, const tess_kde_range *ranges, int64_t n_range)
{
    tess_device *device = there->device;
    tess_stage_decode_kde args = {.model = &there->model,
                                  .ranges = ranges,
                                  .n_range = n_range,
                                  .counts = there->counts.data,
                                  .scratch_limit = there->scratch_limit};
    const size_t bytes =
        device->backend->scratch_bytes(device->handle, TESS_STAGE_DECODE_KDE, &args);
    if (bytes > 0) {
        TESS_TRY(tess_de_kde_room(there, &there->scratch, bytes));
    }
    args.scratch = there->scratch.data;
    return tess_stage_start(device, TESS_STAGE_DECODE_KDE, &args, sizeof args);
}

static tess_status clear_counts(kde_there *there)
{
    static const tess_kde_counts none = {0, 0};
    TESS_TRY(tess_de_kde_room(there, &there->counts, sizeof none));
    return tess_resident_put(&there->counts, 0, &none, sizeof none);
}

// Marks where the device can reach them: the host's own, or copies in the room from *used on.
static tess_status bring_marks(kde_there *there, const double *marks, int64_t n, size_t *used,
                               const double **out)
{
    if (there->device->shares_host_memory || n == 0) {
        *out = marks;
        return TESS_OK;
    }
    const size_t bytes = (size_t)n * sizeof *marks;
    TESS_TRY(tess_resident_put(&there->marks, *used, marks, bytes));
    *out = (const double *)((const char *)there->marks.data + *used);
    *used += bytes;
    return TESS_OK;
}

// A call of rows(), and the part of it at hand.
typedef struct rows_task {
    tess_context *ctx;
    kde_there *there;
    const kde_model *kde;
    const tess_de_row_spikes *spikes;
    kde_parts parts;
    double scale;
    tess_array *out;
    tess_kde_range *ranges; // [n_electrode] of this part
    int64_t *row_first;     // [rows of the largest part + 1] of this part
    int64_t *item;          // [spikes of the largest part]
    int64_t row;            // first of this part
    int64_t end_row;
} rows_task;

// Values of the spikes of the part; those of electrodes that were never heard are left out.
static tess_status part_values(const rows_task *t)
{
    const kde_model *kde = t->kde;
    kde_there *there = t->there;
    int64_t n_value = 0;
    size_t used = 0;
    for (int64_t e = 0; e < kde->stage.n_electrode; e++) {
        const tess_kde_electrode *electrode = &kde->electrodes[e];
        const int64_t first = tess_de_kde_spike_from(t->spikes, e, t->row);
        const int64_t n =
            electrode->n_spike > 0 ? tess_de_kde_spike_from(t->spikes, e, t->end_row) - first : 0;
        const int64_t skip = first - t->spikes->electrode_first[e];
        t->ranges[e] =
            (tess_kde_range){.electrode = e,
                             .n_spike = n,
                             .values = (char *)there->values.data +
                                       n_value * kde->stage.n_bin * tess_de_kde_value_bytes(kde)};
        if (n > 0) {
            TESS_TRY(bring_marks(there, t->spikes->marks[e] + skip * electrode->n_feature,
                                 n * electrode->n_feature, &used, &t->ranges[e].marks));
        }
        n_value += n;
    }
    return run_stage(there, t->ranges, kde->stage.n_electrode);
}

// Which values each row adds: electrode by electrode, in time order.
static void list_items(const rows_task *t)
{
    const tess_de_row_spikes *s = t->spikes;
    const int64_t n_row = t->end_row - t->row;
    int64_t *next = t->row_first + 1; // counts at first, then where the row's next item goes
    memset(t->row_first, 0, (size_t)(n_row + 1) * sizeof *t->row_first);
    for (int64_t e = 0; e < t->kde->stage.n_electrode; e++) {
        const int64_t end = tess_de_kde_spike_from(s, e, t->end_row);
        for (int64_t k = tess_de_kde_spike_from(s, e, t->row); k < end; k++) {
            next[s->row[k] - t->row]++;
        }
    }
    int64_t at = 0;
    for (int64_t row = 0; row < n_row; row++) {
        const int64_t n = next[row];
        next[row] = at;
        at += n;
    }
    int64_t value = 0;
    for (int64_t e = 0; e < t->kde->stage.n_electrode; e++) {
        const bool is_heard = t->kde->electrodes[e].n_spike > 0;
        const int64_t end = tess_de_kde_spike_from(s, e, t->end_row);
        for (int64_t k = tess_de_kde_spike_from(s, e, t->row); k < end; k++) {
            t->item[next[s->row[k] - t->row]++] = is_heard ? value++ : -1;
        }
    }
}

static tess_status part_rows(const rows_task *t)
{
    kde_there *there = t->there;
    const int64_t n_bin = t->kde->stage.n_bin;
    const int64_t n_row = t->end_row - t->row;
    const size_t out_bytes = (size_t)(n_row * n_bin) * (size_t)t->out->item_bytes;
    char *out = (char *)t->out->data + (size_t)(t->row * n_bin) * (size_t)t->out->item_bytes;
    const bool is_here = there->device->shares_host_memory;
    const bool is_in_place = is_here || t->out->space == TESS_SPACE_DEVICE;
    list_items(t);
    if (!is_here) {
        TESS_TRY(tess_resident_put(&there->row_first, 0, t->row_first,
                                   (size_t)(n_row + 1) * sizeof *t->row_first));
        TESS_TRY(tess_resident_put(&there->item, 0, t->item,
                                   (size_t)t->row_first[n_row] * sizeof *t->item));
    }
    const tess_stage_decode_rows args = {
        .n_row = n_row,
        .n_bin = n_bin,
        .intensity = there->intensity,
        .row_first = is_here ? t->row_first : there->row_first.data,
        .item = is_here ? t->item : there->item.data,
        .values = there->values.data,
        .out = is_in_place ? (void *)out : there->out.data,
        .scale = t->scale,
        .unheard_value = t->kde->stage.unheard_value,
        .value_dtype = t->kde->stage.is_exact ? TESS_F64 : TESS_F32,
        .out_dtype = (int32_t)t->out->dtype};
    TESS_TRY(tess_stage_start(there->device, TESS_STAGE_DECODE_ROWS, &args, sizeof args));
    return is_in_place ? tess_stage_finish(there->device)
                       : tess_resident_fetch(&there->out, out, out_bytes);
}

static tess_status run_parts(rows_task *t)
{
    for (t->row = 0; t->row < t->spikes->n_row; t->row = t->end_row) {
        TESS_TRY(tess_context_check_cancel(t->ctx));
        t->end_row = tess_de_kde_part_end(&t->parts, t->row);
        TESS_TRY(part_values(t));
        TESS_TRY(part_rows(t));
    }
    return TESS_OK;
}

// Room for the largest part: a single row may hold more spikes than fit at once.
static tess_status take_room(rows_task *t, tess_blocks *blocks)
{
    kde_parts *parts = &t->parts;
    TESS_TRY(tess_de_kde_parts_plan(parts, t->there, t->ranges));
    t->there->scratch_limit = tess_de_kde_scratch_limit(parts);
    t->row_first = tess_blocks_alloc(blocks, parts->n_row + 1, sizeof *t->row_first, "rows");
    t->item = tess_blocks_alloc(blocks, parts->n_spike, sizeof *t->item, "spikes of rows");
    if (!t->row_first || !t->item) {
        return TESS_E_MEMORY;
    }
    return clear_counts(t->there);
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

static tess_status compute_rows(rows_task *t, tess_blocks *blocks, tess_kde_counts *counts)
{
    TESS_TRY(take_room(t, blocks));
    TESS_TRY(run_parts(t));
    return tess_resident_fetch(&t->there->counts, counts, sizeof *counts);
}

tess_status tess_de_kde_rows(tess_context *ctx, tess_device *device,
                             const tess_decode_encoding *encoding, const tess_de_row_spikes *spikes,
                             double scale, tess_array *out, tess_decode_likelihood_report *report)
{
    const kde_model *kde = encoding->model;
    const int64_t n_electrode = kde->stage.n_electrode;
    tess_blocks blocks;
    tess_blocks_init(&blocks, &ctx->heap);
    rows_task task = {.ctx = ctx, .kde = kde, .spikes = spikes, .scale = scale, .out = out};
    task.parts =
        (kde_parts){.kde = kde,
                    .spikes = spikes,
                    .out_item_bytes = out->space == TESS_SPACE_DEVICE ? 0 : out->item_bytes,
                    .is_there = !device->shares_host_memory};
    task.ranges = tess_blocks_alloc(&blocks, n_electrode, sizeof *task.ranges, "spikes");
    tess_status status = task.ranges ? TESS_OK : TESS_E_MEMORY;
    if (status == TESS_OK) {
        status = tess_de_kde_there_take(ctx, device, encoding, &task.there);
    }
    if (status == TESS_E_LIMIT) {
        status = tess_de_kde_parts_refuse(&task.parts, device, task.ranges);
    }
    if (status == TESS_OK) {
        tess_kde_counts counts = {0, 0};
        status = compute_rows(&task, &blocks, &counts);
        for (int64_t e = 0; status == TESS_OK && report && e < n_electrode; e++) {
            report_spikes(kde, e, spikes->electrode_first[e + 1] - spikes->electrode_first[e],
                          report);
        }
        if (status == TESS_OK && report) {
            report_counts(kde, &counts, report);
        }
        tess_de_kde_there_put(encoding, task.there);
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
static tess_status joint_parts(kde_there *there, const kde_model *kde, int64_t electrode,
                               const double *marks, int64_t n, int64_t at_once, void *values,
                               tess_array *out)
{
    const int64_t n_feature = kde->electrodes[electrode].n_feature;
    for (int64_t first = 0; first < n; first += at_once) {
        const int64_t left = n - first;
        tess_kde_range range = {.electrode = electrode,
                                .n_spike = left < at_once ? left : at_once,
                                .values = there->values.data};
        size_t used = 0;
        TESS_TRY(tess_context_check_cancel(there->ctx));
        TESS_TRY(bring_marks(there, marks + first * n_feature, range.n_spike * n_feature, &used,
                             &range.marks));
        TESS_TRY(run_stage(there, &range, 1));
        const int64_t n_value = range.n_spike * kde->stage.n_bin;
        TESS_TRY(tess_resident_fetch(&there->values, values,
                                     (size_t)(n_value * tess_de_kde_value_bytes(kde))));
        copy_values(kde, values, n_value, first * kde->stage.n_bin, out);
    }
    return TESS_OK;
}

static tess_status joint_values(tess_context *ctx, kde_there *there, const kde_model *kde,
                                int64_t electrode, const double *marks, int64_t n, tess_array *out,
                                tess_kde_counts *counts)
{
    const bool is_there = !there->device->shares_host_memory;
    const uint64_t quarter = tess_device_left(there->device) / 4;
    const int64_t room =
        quarter < TESS_DE_KDE_HOST_BYTES ? (int64_t)quarter : TESS_DE_KDE_HOST_BYTES;
    const int64_t at_once = tess_de_kde_spikes_at_once(kde, is_there, room);
    const size_t bytes = (size_t)values_bytes(kde, at_once, n);
    there->scratch_limit = (size_t)room + 1;
    TESS_TRY(clear_counts(there));
    TESS_TRY(tess_de_kde_room(there, &there->values, bytes));
    if (is_there) {
        const int64_t most = n < at_once ? n : at_once;
        TESS_TRY(tess_de_kde_room(there, &there->marks,
                                  (size_t)(most * kde->stage.max_feature) * sizeof(double)));
    }
    void *values = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "values of spikes");
    if (!values) {
        return TESS_E_MEMORY;
    }
    tess_status status = joint_parts(there, kde, electrode, marks, n, at_once, values, out);
    tess_heap_free(&ctx->heap, values, bytes, TESS_TAG_SCRATCH);
    TESS_TRY(status);
    return tess_resident_fetch(&there->counts, counts, sizeof *counts);
}

tess_status tess_de_kde_log_joint(tess_context *ctx, tess_device *device,
                                  const tess_decode_encoding *encoding, int64_t electrode,
                                  const double *marks, int64_t n, tess_array *out,
                                  tess_decode_likelihood_report *report)
{
    const kde_model *kde = encoding->model;
    tess_kde_counts counts = {0, 0};
    if (kde->electrodes[electrode].n_spike > 0) {
        kde_there *there;
        TESS_TRY(tess_de_kde_there_take(ctx, device, encoding, &there));
        const tess_status status = joint_values(ctx, there, kde, electrode, marks, n, out, &counts);
        tess_de_kde_there_put(encoding, there);
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
