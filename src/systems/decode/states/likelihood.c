// The likelihood of a range of rows: blocks of columns side by side, then what modifies them.
#include "systems/decode/states/detector.h"

#include "base/status.h"
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

static void add_report(const tess_decode_likelihood_report *add,
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
                                 int64_t n_row, void *out, tess_decode_likelihood_report *report)
{
    const int64_t shape[2] = {n_row, b->n_column};
    const int32_t rank = b->kind == TESS_DE_COLUMNS_PLACES ? 2 : 1;
    tess_array array;
    TESS_TRY(tess_array_init(&array, out, (tess_dtype)d->dtype, rank, shape));
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
    add_report(&own, report);
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
        TESS_TRY(compute_block(ctx, device, detector, b, observation, first, n_row,
                               is_whole ? ll : scratch, report));
        if (!is_whole) {
            copy_columns(detector, n_row, b->n_column, scratch, b->n_column, 0, ll, b->first);
        }
    }
    TESS_TRY(tess_de_modify_rows(ctx, detector, observation, first, n_row, ll));
    tess_de_clear_missing(detector, observation, has_nan, first, n_row, ll);
    return TESS_OK;
}
