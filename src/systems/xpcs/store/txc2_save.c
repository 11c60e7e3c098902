// Writes .txc2 files from any data, a stretch of leaves at a time.
#include "base/file.h"
#include "base/span.h"
#include "base/status.h"
#include "runtime/origin.h"
#include "runtime/watch.h"
#include "systems/xpcs/store/txc2.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const uint64_t CHUNK_BYTES = 2 << 20;

typedef struct saving {
    tess_xpcs_data *data;
    tess_temp_file *file;
    tess_xp_txc2_header header;
    unsigned char *tables; // [header.tables_bytes] as they go to the file
    tess_hash *leaf_hash;  // in them
    const unsigned char *records;
    int64_t first_leaf;
    int64_t n_leaf;
} saving;

uint64_t tess_xp_txc2_records_offset(uint64_t tables_bytes)
{
    return (TESS_XP_TXC2_ALIGN + tables_bytes + TESS_XP_TXC2_ALIGN - 1) / TESS_XP_TXC2_ALIGN *
           TESS_XP_TXC2_ALIGN;
}

static void fill_header(saving *s)
{
    const tess_xpcs_data_info *info = &s->data->info;
    tess_xp_txc2_header *h = &s->header;
    const size_t notes_bytes = strlen(info->notes);
    *h = (tess_xp_txc2_header){.magic = {'T', 'E', 'S', 'S', 'T', 'X', 'C', '2'},
                               .version = TESS_XP_TXC2_VERSION,
                               .byte_order = TESS_XP_TXC2_BYTE_ORDER,
                               .header_bytes = TESS_XP_TXC2_ALIGN,
                               .dtype = info->dtype,
                               .has_sigma = info->has_sigma,
                               .hash_kind = (int32_t)tess_hash_default(),
                               .keep_t0 = info->keep_t0,
                               .run = TESS_STAGE_XPCS_RUN,
                               .pad = TESS_STAGE_XPCS_PAD,
                               .leaf = TESS_STAGE_XPCS_LEAF,
                               .n_angle = info->n_angle,
                               .n_frame = info->n_frame,
                               .n_leaf = tess_xp_tiles_n_leaf(&s->data->tiles),
                               .start_frame = info->start_frame,
                               .end_frame = info->end_frame,
                               .dt_s = info->dt_s,
                               .gap_angstrom = info->gap_angstrom,
                               .notes_bytes = notes_bytes < TESS_XP_TXC2_MOST_NOTES
                                                  ? notes_bytes
                                                  : TESS_XP_TXC2_MOST_NOTES,
                               .records_bytes = info->bytes};
    h->tables_bytes =
        (uint64_t)h->n_angle * 32 + (uint64_t)h->n_leaf * sizeof(tess_hash) + h->notes_bytes;
    h->records_offset = tess_xp_txc2_records_offset(h->tables_bytes);
}

// Provenance, unless the name of the input leaves no room for it.
static tess_status fill_origin(tess_context *ctx, saving *s)
{
    const char *input = s->data->info.path;
    const tess_origin origin = {.stage = "xpcs.data", .inputs = {input && input[0] ? input : NULL}};
    tess_xp_txc2_header *h = &s->header;
    char *text = NULL;
    size_t bytes = 0;
    if (s->data->origin[0]) { // a copy comes from where its source came from
        memcpy(h->origin, s->data->origin, sizeof h->origin);
        return TESS_OK;
    }
    TESS_TRY(tess_origin_make(ctx, &origin, &text, &bytes));
    if (bytes + sizeof TESS_ORIGIN_NAME < sizeof h->origin) {
        snprintf(h->origin, sizeof h->origin, "%s %s", TESS_ORIGIN_NAME, text);
    }
    tess_heap_free(&ctx->heap, text, bytes, TESS_TAG_RESULT);
    return TESS_OK;
}

static void fill_tables(saving *s)
{
    const tess_xpcs_data_info *info = &s->data->info;
    const size_t n = (size_t)info->n_angle * sizeof(double);
    unsigned char *at = s->tables;
    memcpy(at, info->phi, n);
    memcpy(at + n, info->q, n);
    memcpy(at + 2 * n, info->mean, n);
    memcpy(at + 3 * n, info->n_finite, n);
    s->leaf_hash = (tess_hash *)(void *)(at + 4 * n);
    memcpy(s->leaf_hash + s->header.n_leaf, info->notes, (size_t)s->header.notes_bytes);
}

// All of the file now: a full disk is found out before the work, not in the middle.
static tess_status reserve(const saving *s)
{
    const uint64_t bytes = s->header.records_offset + s->header.records_bytes;
    const int code = tess_file_reserve(s->file->fd, bytes);
    if (code == EINVAL || code == EOPNOTSUPP) {
        return tess_file_resize(s->file->fd, s->file->path, bytes);
    }
    if (code != 0) {
        TESS_FAIL(TESS_E_IO,
                  "%s: cannot reserve %llu bytes: %s; free some space or choose another disk",
                  s->file->final_path, (unsigned long long)bytes, strerror(code));
    }
    return TESS_OK;
}

static tess_status hash_leaf(void *arg, int64_t k, int32_t worker)
{
    (void)worker;
    const saving *s = arg;
    const tess_xp_tiles *tiles = &s->data->tiles;
    const int64_t leaf = s->first_leaf + k;
    const uint64_t base = tess_xp_tiles_leaf_offset(tiles, s->first_leaf);
    const uint64_t begin = tess_xp_tiles_leaf_offset(tiles, leaf);
    const uint64_t end = tess_xp_tiles_leaf_offset(tiles, leaf + 1);
    s->leaf_hash[leaf] =
        tess_hash_bytes(tess_hash_default(), s->records + (begin - base), (size_t)(end - begin));
    return TESS_OK;
}

static tess_status write_records(saving *s, tess_xp_reader *reader)
{
    tess_xpcs_data *data = s->data;
    const int64_t all = s->header.n_leaf;
    tess_watch watch;
    tess_watch_begin(&watch, reader->ctx, "xpcs.save", "leaves", 0, data->info.bytes,
                     TESS_STRATEGY_CHUNKED);
    for (int64_t leaf = 0; leaf < all; leaf += s->n_leaf) {
        s->first_leaf = leaf;
        s->n_leaf = reader->leaves_per_chunk < all - leaf ? reader->leaves_per_chunk : all - leaf;
        TESS_TRY(tess_xp_reader_get(reader, leaf, s->n_leaf, &s->records));
        TESS_TRY(tess_parallel_for(reader->ctx->pool, s->n_leaf, hash_leaf, s));
        const uint64_t begin = tess_xp_tiles_leaf_offset(&data->tiles, leaf);
        const uint64_t end = tess_xp_tiles_leaf_offset(&data->tiles, leaf + s->n_leaf);
        TESS_TRY(tess_file_write_at(s->file->fd, s->file->final_path, s->records,
                                    (size_t)(end - begin), s->header.records_offset + begin));
        TESS_TRY(tess_watch_poll(&watch, leaf + s->n_leaf, all));
    }
    return TESS_OK;
}

static tess_status write_front(saving *s)
{
    tess_xp_txc2_header *h = &s->header;
    const tess_hash_kind kind = (tess_hash_kind)h->hash_kind;
    const char *path = s->file->final_path;
    h->fingerprint = tess_xp_data_hash(s->data, s->leaf_hash);
    h->tables_hash = tess_hash_bytes(kind, s->tables, (size_t)h->tables_bytes);
    h->header_hash = tess_hash_bytes(kind, h, offsetof(tess_xp_txc2_header, header_hash));
    TESS_TRY(tess_file_write_at(s->file->fd, path, s->tables, (size_t)h->tables_bytes,
                                TESS_XP_TXC2_ALIGN));
    return tess_file_write_at(s->file->fd, path, h, sizeof *h, 0);
}

static tess_status save(tess_context *ctx, saving *s)
{
    fill_tables(s);
    TESS_TRY(reserve(s));
    tess_xp_reader reader;
    tess_status status =
        tess_xp_reader_open(ctx, s->data, tess_xp_leaves_in(s->data, CHUNK_BYTES), false, &reader);
    if (status == TESS_OK) {
        status = write_records(s, &reader);
    }
    tess_xp_reader_close(&reader);
    return status == TESS_OK ? write_front(s) : status;
}

static tess_status save_to(tess_context *ctx, saving *s, int overwrite)
{
    fill_header(s);
    TESS_TRY(fill_origin(ctx, s));
    const size_t bytes = (size_t)s->header.tables_bytes;
    s->tables = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_IO, "tables of a file");
    if (!s->tables) {
        return TESS_E_MEMORY;
    }
    tess_span span = tess_span_begin(&ctx->tracer, "xpcs.save");
    tess_status status = save(ctx, s);
    if (status == TESS_OK) {
        status = tess_temp_file_commit(s->file, overwrite);
    }
    tess_span_end(&span, (double)s->data->info.bytes, 0);
    tess_heap_free(&ctx->heap, s->tables, bytes, TESS_TAG_IO);
    return status;
}

tess_status tess_xpcs_data_save(tess_context *ctx, tess_xpcs_data *data, const char *path,
                                int overwrite)
{
    tess_error_clear();
    TESS_TRY(tess_file_check_distinct(data->info.path, path));
    if (!overwrite && access(path, F_OK) == 0) {
        TESS_FAIL(TESS_E_EXISTS, "%s: exists; choose another name or allow to overwrite it", path);
    }
    tess_temp_file file;
    TESS_TRY(tess_temp_file_create(path, 0666, &file));
    saving *s = tess_heap_alloc_zero(&ctx->heap, sizeof *s, TESS_TAG_IO, "header of a file");
    tess_status status = s ? TESS_OK : TESS_E_MEMORY;
    if (s) {
        s->data = data;
        s->file = &file;
        status = save_to(ctx, s, overwrite);
        tess_heap_free(&ctx->heap, s, sizeof *s, TESS_TAG_IO);
    }
    if (status != TESS_OK) {
        tess_temp_file_discard(&file);
    }
    return status;
}
