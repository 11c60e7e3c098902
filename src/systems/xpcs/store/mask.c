// Data in a file of which some cannot be read: found at the beginning, then ignored by everyone.
#include "base/log.h"
#include "base/span.h"
#include "base/status.h"
#include "runtime/watch.h"
#include "systems/xpcs/store/txc2.h"

#include <string.h>

static const uint64_t CHUNK_BYTES = 2 << 20;

typedef struct check {
    tess_context *ctx;
    tess_xpcs_data *data;
    tess_xp_reader reader;
    int64_t max_retries;
    bool *is_lost;     // [n_leaf]
    int64_t *n_finite; // [n_angle] in leaves that were read
    size_t n_leaf;
    bool is_new; // something was lost besides what was before
} check;

tess_hash tess_xp_data_identity(const tess_xpcs_data *data)
{
    if (data->n_lost == 0) {
        return data->fingerprint;
    }
    const tess_hash_kind kind = tess_hash_default();
    const size_t bytes = (size_t)data->file->n_leaf * sizeof *data->file->is_lost;
    const tess_hash parts[2] = {data->fingerprint,
                                tess_hash_bytes(kind, data->file->is_lost, bytes)};
    return tess_hash_bytes(kind, parts, sizeof parts);
}

// The heads say how many samples of a tile are finite.
static void count_leaves(check *c, int64_t first_leaf, int64_t n_leaf, const unsigned char *records)
{
    const tess_xp_tiles *tiles = &c->data->tiles;
    const uint64_t base = tess_xp_tiles_leaf_offset(tiles, first_leaf);
    const int64_t all = (first_leaf + n_leaf) * TESS_STAGE_XPCS_LEAF;
    const int64_t end = all < tiles->n_tile ? all : tiles->n_tile;
    for (int64_t t = first_leaf * TESS_STAGE_XPCS_LEAF; t < end; t++) {
        const unsigned char *record = records + (tess_xp_tiles_at(tiles, t).offset - base);
        const double *head = (const double *)(const void *)record;
        for (int64_t a = 0; a < tiles->n_angle; a++) {
            c->n_finite[a] += (int64_t)head[a * TESS_STAGE_XPCS_HEAD];
        }
    }
}

static tess_status check_leaf(check *c, int64_t leaf)
{
    const unsigned char *records = NULL;
    c->reader.max_retries = c->max_retries;
    const tess_status status = tess_xp_reader_get(&c->reader, leaf, 1, &records);
    if (status == TESS_OK) {
        count_leaves(c, leaf, 1, records);
    } else if (tess_xp_is_bad_read(status)) {
        tess_log_warn(&c->ctx->log, TESS_W_XPCS_LEFT_OUT, "%s; left out", tess_last_error());
        tess_error_clear();
        c->is_lost[leaf] = true;
        c->is_new = true;
        return TESS_OK;
    }
    return status;
}

// A bad leaf of a stretch is found one by one.
static tess_status check_leaves(check *c, int64_t first_leaf, int64_t n_leaf)
{
    const unsigned char *records = NULL;
    c->reader.max_retries = 0;
    const tess_status status = tess_xp_reader_get(&c->reader, first_leaf, n_leaf, &records);
    if (!tess_xp_is_bad_read(status)) {
        TESS_TRY(status);
        count_leaves(c, first_leaf, n_leaf, records);
        return TESS_OK;
    }
    tess_error_clear();
    for (int64_t leaf = first_leaf; leaf < first_leaf + n_leaf; leaf++) {
        TESS_TRY(tess_context_check_cancel(c->ctx));
        TESS_TRY(check_leaf(c, leaf));
    }
    return TESS_OK;
}

static tess_status check_all(check *c)
{
    const int64_t all = (int64_t)c->n_leaf;
    const int64_t per_chunk = tess_xp_leaves_in(c->data, CHUNK_BYTES);
    tess_watch watch;
    TESS_TRY(tess_xp_reader_open(c->ctx, c->data, per_chunk, true, &c->reader));
    tess_watch_begin(&watch, c->ctx, "xpcs.check", "leaves", 0, c->data->info.bytes,
                     TESS_STRATEGY_CHUNKED);
    for (int64_t leaf = 0; leaf < all; leaf += per_chunk) {
        const int64_t n = per_chunk < all - leaf ? per_chunk : all - leaf;
        TESS_TRY(check_leaves(c, leaf, n));
        TESS_TRY(tess_watch_poll(&watch, leaf + n, all));
    }
    return TESS_OK;
}

static tess_status judge(const check *c, double least_share, int64_t *n_left)
{
    const tess_xpcs_data_info *info = &c->data->info;
    const int64_t all = info->n_used + c->data->n_lost;
    *n_left = 0;
    for (int64_t a = 0; a < info->n_angle; a++) {
        *n_left += c->n_finite[a];
    }
    const double share = all > 0 ? (double)*n_left / (double)all : 0;
    if (share < least_share) {
        TESS_FAIL(TESS_E_IO,
                  "%s: %.4g %% of the points can be read, min_success_rate wants %.4g %%; restore "
                  "the file, or lower min_success_rate",
                  c->data->file->path, 100 * share, 100 * least_share);
    }
    for (int64_t a = 0; a < info->n_angle; a++) {
        if (c->n_finite[a] == 0) {
            TESS_FAIL(TESS_E_IO,
                      "%s: no point of the angle at %g degrees can be read; restore the file, or "
                      "leave out the angle",
                      c->data->file->path, info->phi[a]);
        }
    }
    return TESS_OK;
}

// The data take over the list.
static void commit(check *c, int64_t n_left)
{
    tess_xpcs_data *data = c->data;
    tess_xp_txc2 *file = data->file;
    bool *old = file->is_lost;
    data->n_lost += data->info.n_used - n_left;
    data->info.n_used = n_left;
    memcpy(data->tables + 3 * data->n_made, c->n_finite,
           (size_t)data->info.n_angle * sizeof *c->n_finite);
    tess_xp_data_let_go(data); // what is lost now may be in it
    file->is_lost = c->is_lost;
    file->n_leaf = (int64_t)c->n_leaf;
    c->is_lost = old;
}

static tess_status run(check *c, const tess_xpcs_fit_config *config)
{
    tess_xpcs_data *data = c->data;
    const size_t angle_bytes = (size_t)data->info.n_angle * sizeof *c->n_finite;
    int64_t n_left = 0;
    tess_heap *heap = &data->ctx->heap;
    c->n_leaf = (size_t)tess_xp_tiles_n_leaf(&data->tiles);
    c->n_finite = tess_heap_alloc_zero(heap, angle_bytes, TESS_TAG_IO, "counts of points");
    c->is_lost = tess_heap_alloc_zero(heap, c->n_leaf * sizeof *c->is_lost, TESS_TAG_IO,
                                      "a list of what cannot be read");
    tess_status status = c->n_finite && c->is_lost ? TESS_OK : TESS_E_MEMORY;
    if (status == TESS_OK) {
        if (data->file->is_lost) {
            memcpy(c->is_lost, data->file->is_lost, c->n_leaf * sizeof *c->is_lost);
        }
        status = check_all(c);
    }
    tess_xp_reader_close(&c->reader);
    if (status == TESS_OK) {
        status = judge(c, config->min_success_rate, &n_left);
    }
    if (status == TESS_OK && c->is_new) {
        commit(c, n_left);
    }
    tess_heap_free(heap, c->n_finite, angle_bytes, TESS_TAG_IO);
    tess_heap_free(heap, c->is_lost, c->n_leaf * sizeof *c->is_lost, TESS_TAG_IO);
    return status;
}

tess_status tess_xp_data_mask(tess_context *ctx, tess_xpcs_data *data,
                              const tess_xpcs_fit_config *config)
{
    if (data->info.residency != TESS_XPCS_IN_FILE || config->bad_chunk == 0) {
        return TESS_OK;
    }
    check c = {.ctx = ctx, .data = data, .max_retries = config->max_retries};
    tess_span span = tess_span_begin(&ctx->tracer, "xpcs.check");
    const tess_status status = run(&c, config);
    tess_span_end(&span, (double)data->info.bytes, 0);
    return status;
}
