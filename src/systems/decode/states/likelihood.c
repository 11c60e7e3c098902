// The likelihood of a range of rows: blocks of columns side by side, then what modifies them.
#include "systems/decode/states/detector.h"

#include "base/status.h"
#include "runtime/resident.h"
#include "stage/decode_columns.h"
#include "systems/decode/encoding/evaluate.h"

#include <string.h>

static size_t item_bytes(const tess_decode_detector *d)
{
    return d->dtype == TESS_F64 ? sizeof(double) : sizeof(float);
}

// Columns src_first.. of rows of src_width to columns dst_first.. of rows of dst_width.
static void copy_columns(const tess_decode_detector *d, int64_t n_row, int64_t n_column,
                         const void *src, int64_t src_width, int64_t src_first, void *dst,
                         int64_t dst_first)
{
    const size_t item = item_bytes(d);
    const int64_t width = d->info.n_ll;
    for (int64_t t = 0; t < n_row; t++) {
        memcpy((char *)dst + (size_t)(t * width + dst_first) * item,
               (const char *)src + (size_t)(t * src_width + src_first) * item,
               (size_t)n_column * item);
    }
}

// An earlier block with the same values before modifiers, or NULL.
static const tess_de_columns *twin_of(const tess_decode_detector *d, int32_t block)
{
    const tess_de_columns *b = &d->blocks[block];
    for (int32_t i = 0; b->kind == TESS_DE_COLUMNS_PLACES && i < block; i++) {
        const tess_de_columns *other = &d->blocks[i];
        if (other->kind == b->kind && other->encoding == b->encoding) {
            return other;
        }
    }
    return NULL;
}

void tess_de_add_report(const tess_decode_likelihood_report *add,
                        tess_decode_likelihood_report *report)
{
    report->n_spike += add->n_spike;
    report->n_value += add->n_value;
    report->n_floored += add->n_floored;
    report->n_flat_spike += add->n_flat_spike;
    report->n_excluded += add->n_excluded;
    report->pairs += add->pairs;
    // Of the whole recording: every call says the same.
    report->n_before = add->n_before > report->n_before ? add->n_before : report->n_before;
    report->n_after = add->n_after > report->n_after ? add->n_after : report->n_after;
    report->bound = add->bound > report->bound ? add->bound : report->bound;
    report->bin_scale = add->bin_scale;
}

static tess_status compute_block(tess_context *ctx, tess_device *device,
                                 const tess_decode_detector *d, const tess_de_columns *b,
                                 const tess_decode_observation *observation, int64_t first,
                                 int64_t n_row, tess_space space, void *out,
                                 tess_decode_likelihood_report *report)
{
    const int64_t shape[2] = {n_row, b->n_column};
    const int32_t rank = b->kind == TESS_DE_COLUMNS_PLACES ? 2 : 1;
    tess_array array;
    TESS_TRY(tess_array_init(&array, out, (tess_dtype)d->dtype, rank, shape));
    array.space = (int32_t)space;
    if (b->kind == TESS_DE_COLUMNS_NO_SPIKE) {
        return tess_decode_no_spike_log_likelihood(ctx, observation, d->config.no_spike_rate, first,
                                                   n_row, &array);
    }
    const tess_decode_encoding *encoding = d->encodings[b->encoding];
    tess_decode_likelihood_report own = {.struct_size = sizeof own};
    if (b->kind == TESS_DE_COLUMNS_LOCAL) {
        return tess_de_likelihood_seen(ctx, device, encoding, observation, first, n_row, true,
                                       &array, &own);
    }
    TESS_TRY(tess_de_likelihood_seen(ctx, device, encoding, observation, first, n_row, false,
                                     &array, &own));
    tess_de_add_report(&own, report);
    return TESS_OK;
}

tess_status tess_de_check_likelihood(tess_context *ctx, const tess_decode_detector *detector,
                                     const tess_decode_observation *observation)
{
    for (int32_t i = 0; i < detector->n_block; i++) {
        const tess_de_columns *b = &detector->blocks[i];
        if (b->kind != TESS_DE_COLUMNS_NO_SPIKE && !twin_of(detector, i)) {
            TESS_TRY(tess_de_check_observation(ctx, detector->encodings[b->encoding], observation,
                                               b->kind == TESS_DE_COLUMNS_LOCAL));
        }
    }
    return TESS_OK;
}

tess_status tess_de_likelihood_rows(tess_context *ctx, tess_device *device,
                                    const tess_decode_detector *detector,
                                    const tess_decode_observation *observation, int has_nan,
                                    int64_t first, int64_t n_row, void *ll, void *scratch,
                                    tess_decode_likelihood_report *report)
{
    const int64_t width = detector->info.n_ll;
    for (int32_t i = 0; i < detector->n_block; i++) {
        const tess_de_columns *b = &detector->blocks[i];
        const tess_de_columns *twin = twin_of(detector, i);
        if (twin) {
            copy_columns(detector, n_row, b->n_column, ll, width, twin->first, ll, b->first);
            continue;
        }
        const bool is_whole = b->n_column == width;
        TESS_TRY(compute_block(ctx, device, detector, b, observation, first, n_row, TESS_SPACE_HOST,
                               is_whole ? ll : scratch, report));
        if (!is_whole) {
            copy_columns(detector, n_row, b->n_column, scratch, b->n_column, 0, ll, b->first);
        }
    }
    TESS_TRY(tess_de_modify_rows(ctx, detector, observation, first, n_row, ll));
    tess_de_clear_missing(detector, observation, has_nan, first, n_row, ll);
    return TESS_OK;
}

// Rows of one call that stay on a device.
typedef struct there_job {
    tess_context *ctx;
    tess_device *device;
    const tess_decode_detector *detector;
    const tess_decode_observation *observation;
    int64_t first;
    int64_t n_row;
    void *ll;
    tess_de_ll_room *room;
    bool has_missing;
    tess_blocks blocks; // what is on its way up
} there_job;

static tess_status send(const there_job *job, tess_resident *room, const void *host, size_t bytes)
{
    TESS_TRY(tess_resident_grow(job->device, bytes, room));
    return tess_resident_put(room, 0, host, bytes);
}

static tess_status send_missing(there_job *job, int has_nan)
{
    uint8_t *is_missing = tess_blocks_alloc(&job->blocks, job->n_row, 1, "missing rows");
    if (!is_missing) {
        return TESS_E_MEMORY;
    }
    for (int64_t t = 0; t < job->n_row; t++) {
        is_missing[t] = tess_de_is_missing(job->observation, has_nan, job->first + t);
        job->has_missing |= is_missing[t] != 0;
    }
    return job->has_missing ? send(job, &job->room->is_missing, is_missing, (size_t)job->n_row)
                            : TESS_OK;
}

// Columns of a block from where they were made into the rows, with what is added to them.
static tess_status put_columns(there_job *job, const tess_de_columns *b, const void *from,
                               int64_t from_stride)
{
    const tess_decode_detector *d = job->detector;
    tess_de_ll_room *room = job->room;
    tess_stage_decode_columns args = {.n_row = job->n_row,
                                      .n_column = b->n_column,
                                      .first = b->first,
                                      .n_ll = d->info.n_ll,
                                      .from = from,
                                      .from_stride = from_stride,
                                      .is_missing = job->has_missing ? room->is_missing.data : NULL,
                                      .ll = job->ll,
                                      .dtype = d->dtype};
    if (tess_de_is_modified(d, b)) {
        tess_de_added added;
        TESS_TRY(tess_de_modifier_table(job->ctx, &job->blocks, d, b, job->observation, job->first,
                                        job->n_row, &added));
        TESS_TRY(send(job, &room->added, added.table,
                      (size_t)(added.n_table * b->n_column) * sizeof *added.table));
        TESS_TRY(send(job, &room->added_row, added.row, (size_t)job->n_row * sizeof *added.row));
        args.added = added.n_table > 0 ? room->added.data : NULL;
        args.added_row = room->added_row.data;
    }
    const bool is_done = from == job->ll && !args.added && !args.is_missing;
    return is_done ? TESS_OK
                   : tess_stage_start(job->device, TESS_STAGE_DECODE_COLUMNS, &args, sizeof args);
}

// A block's columns on the device: computed there or, single ones, here and sent.
static tess_status make_columns(there_job *job, const tess_de_columns *b, void *out,
                                tess_decode_likelihood_report *report)
{
    const tess_decode_detector *d = job->detector;
    if (b->kind == TESS_DE_COLUMNS_PLACES) {
        return compute_block(job->ctx, job->device, d, b, job->observation, job->first, job->n_row,
                             TESS_SPACE_DEVICE, out, report);
    }
    void *here = tess_blocks_alloc(&job->blocks, job->n_row, item_bytes(d), "a column of rows");
    if (!here) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(compute_block(job->ctx, job->device, d, b, job->observation, job->first, job->n_row,
                           TESS_SPACE_HOST, here, report));
    return job->device->backend->copy(job->device->queue, out, TESS_SPACE_DEVICE, here,
                                      TESS_SPACE_HOST, (size_t)job->n_row * item_bytes(d));
}

static tess_status make_rows(there_job *job, tess_decode_likelihood_report *report)
{
    const tess_decode_detector *d = job->detector;
    const int64_t width = d->info.n_ll;
    for (int32_t i = 0; i < d->n_block; i++) {
        const tess_de_columns *b = &d->blocks[i];
        const bool is_whole = b->n_column == width;
        if (twin_of(d, i)) {
            continue;
        }
        if (!is_whole) {
            TESS_TRY(tess_resident_grow(job->device,
                                        (size_t)(job->n_row * b->n_column) * item_bytes(d),
                                        &job->room->columns));
        }
        void *made = is_whole ? job->ll : job->room->columns.data;
        TESS_TRY(make_columns(job, b, made, report));
        for (int32_t k = i; k < d->n_block; k++) {
            if (k == i || twin_of(d, k) == b) {
                TESS_TRY(put_columns(job, &d->blocks[k], made, b->n_column));
            }
        }
    }
    return TESS_OK;
}

tess_status tess_de_likelihood_there(tess_context *ctx, tess_device *device,
                                     const tess_decode_detector *detector,
                                     const tess_decode_observation *observation, int has_nan,
                                     int64_t first, int64_t n_row, void *ll, tess_de_ll_room *room,
                                     tess_decode_likelihood_report *report)
{
    there_job job = {.ctx = ctx,
                     .device = device,
                     .detector = detector,
                     .observation = observation,
                     .first = first,
                     .n_row = n_row,
                     .ll = ll,
                     .room = room};
    tess_blocks_init(&job.blocks, &ctx->heap);
    tess_status status = send_missing(&job, has_nan);
    if (status == TESS_OK) {
        status = make_rows(&job, report);
    }
    // What was sent is read until then.
    const tess_status finished = tess_stage_finish(device);
    tess_blocks_free(&job.blocks);
    return status == TESS_OK ? finished : status;
}

void tess_de_ll_room_free(tess_de_ll_room *room)
{
    tess_resident_free(&room->columns);
    tess_resident_free(&room->added);
    tess_resident_free(&room->added_row);
    tess_resident_free(&room->is_missing);
}
