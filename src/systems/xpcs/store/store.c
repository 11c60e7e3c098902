// Data: what is known of them, and memory for their records.
#include "systems/xpcs/store/store.h"

#include "base/status.h"
#include "systems/xpcs/store/txc2.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { N_TABLE = 4 };

static tess_status take_tables(tess_xpcs_data *data, const double *phi, const double *q)
{
    const int64_t n = data->n_made;
    data->tables = tess_heap_alloc_zero(&data->ctx->heap, N_TABLE * (size_t)n * sizeof(double),
                                        TESS_TAG_PLAN, "tables of angles");
    data->found = tess_heap_alloc_zero(&data->ctx->heap, (size_t)n * sizeof *data->found,
                                       TESS_TAG_PLAN, "tables of angles");
    if (!data->tables || !data->found) {
        return TESS_E_MEMORY;
    }
    if (phi && q) {
        memcpy(data->tables, phi, (size_t)n * sizeof *phi);
        memcpy(data->tables + n, q, (size_t)n * sizeof *q);
    }
    data->info.phi = data->tables;
    data->info.q = data->tables + n;
    data->info.mean = data->tables + 2 * n;
    data->info.n_finite = (const int64_t *)(const void *)(data->tables + 3 * n);
    return TESS_OK;
}

static void set_counts(tess_xpcs_data *data)
{
    data->info.n_angle = data->tiles.n_angle;
    data->info.n_frame = data->tiles.n_frame;
    // Fits: the records' bytes do, and they hold half of these points.
    data->info.n_point = data->tiles.n_angle * data->tiles.n_frame * data->tiles.n_frame;
    data->info.bytes = tess_xp_tiles_leaf_offset(&data->tiles, tess_xp_tiles_n_leaf(&data->tiles));
}

static tess_status describe(tess_xpcs_data *data, tess_xpcs_residency residency, int64_t n_angle,
                            int64_t n_frame, tess_dtype dtype, int32_t has_sigma, const double *phi,
                            const double *q)
{
    TESS_TRY(tess_xp_tiles_create(data->ctx, n_angle, n_frame, (int32_t)tess_dtype_bytes(dtype),
                                  has_sigma, &data->tiles));
    data->n_made = n_angle;
    data->info = (tess_xpcs_data_info){.struct_size = sizeof data->info,
                                       .residency = (int32_t)residency,
                                       .dtype = (int32_t)dtype,
                                       .has_sigma = has_sigma,
                                       .start_frame = 1,
                                       .end_frame = n_frame,
                                       .path = "",
                                       .layout = "array",
                                       .notes = ""};
    set_counts(data);
    return take_tables(data, phi, q);
}

tess_status tess_xp_data_take_records(tess_xpcs_data *data)
{
    data->info.residency = TESS_XPCS_IN_MEMORY;
    data->record_bytes = data->info.bytes;
    data->records = tess_heap_alloc_zero(&data->ctx->heap, data->record_bytes, TESS_TAG_TILE,
                                         "two-time correlations");
    return data->records ? TESS_OK : TESS_E_MEMORY;
}

static tess_status alloc(tess_context *ctx, tess_xpcs_data **out)
{
    *out = tess_heap_alloc_zero(&ctx->heap, sizeof **out, TESS_TAG_PLAN, "description of the data");
    if (!*out) {
        return TESS_E_MEMORY;
    }
    static atomic_uint_fast64_t n_made;
    (*out)->ctx = ctx;
    (*out)->number = atomic_fetch_add(&n_made, 1) + 1;
    return TESS_OK;
}

uint64_t tess_xp_data_key(const tess_xpcs_data *data)
{
    return data->n_lost == 0 ? data->number : 0;
}

static tess_status finish_create(tess_xpcs_data *data, tess_status status, tess_xpcs_data **out)
{
    if (status != TESS_OK) {
        tess_xpcs_data_destroy(data);
        data = NULL;
    }
    *out = data;
    return status;
}

tess_status tess_xp_data_create(tess_context *ctx, tess_xpcs_residency residency, int64_t n_angle,
                                int64_t n_frame, tess_dtype dtype, int32_t has_sigma,
                                const double *phi, const double *q, tess_xpcs_data **out)
{
    *out = NULL;
    tess_xpcs_data *data = NULL;
    TESS_TRY(alloc(ctx, &data));
    tess_status status = describe(data, residency, n_angle, n_frame, dtype, has_sigma, phi, q);
    if (status == TESS_OK && residency == TESS_XPCS_IN_MEMORY) {
        status = tess_xp_data_take_records(data);
    }
    return finish_create(data, status, out);
}

tess_status tess_xp_data_create_fitting(tess_context *ctx, const char *folder, uint64_t spare_bytes,
                                        int64_t n_angle, int64_t n_frame, tess_dtype dtype,
                                        int32_t has_sigma, const double *phi, const double *q,
                                        tess_xpcs_data **out)
{
    *out = NULL;
    tess_xpcs_data *data = NULL;
    TESS_TRY(alloc(ctx, &data));
    tess_status status =
        describe(data, TESS_XPCS_IN_MEMORY, n_angle, n_frame, dtype, has_sigma, phi, q);
    if (status == TESS_OK) {
        uint64_t used = 0;
        uint64_t peak = 0;
        tess_context_memory(ctx, &used, &peak);
        const uint64_t limit = ctx->memory_limit_bytes;
        const bool fits = used <= limit && spare_bytes <= limit - used &&
                          data->info.bytes <= limit - used - spare_bytes;
        status = fits ? tess_xp_data_take_records(data) : tess_xp_txc2_scratch(data, folder);
    }
    return finish_create(data, status, out);
}

void tess_xpcs_data_destroy(tess_xpcs_data *data)
{
    if (!data) {
        return;
    }
    tess_heap *heap = &data->ctx->heap;
    if (data->generator) {
        data->generator->destroy(data->generator);
    }
    if (data->file) {
        tess_xp_data_let_go(data);
        tess_xp_txc2_close(data->file);
    } else if (data->records) {
        tess_heap_free(heap, data->records, data->record_bytes, TESS_TAG_TILE);
    }
    tess_heap_free(heap, data->tables, N_TABLE * (size_t)data->n_made * sizeof(double),
                   TESS_TAG_PLAN);
    tess_heap_free(heap, atomic_load(&data->scaling), 2 * (size_t)data->n_made * sizeof(double),
                   TESS_TAG_PLAN);
    tess_heap_free(heap, data->found, (size_t)data->n_made * sizeof *data->found, TESS_TAG_PLAN);
    tess_heap_free(heap, data->notes, data->notes_bytes, TESS_TAG_PLAN);
    if (data->path) {
        tess_heap_free(heap, data->path, strlen(data->path) + 1, TESS_TAG_PLAN);
    }
    tess_xp_tiles_destroy(data->ctx, &data->tiles);
    tess_heap_free(heap, data, sizeof *data, TESS_TAG_PLAN);
}

const tess_xpcs_data_info *tess_xpcs_data_get_info(const tess_xpcs_data *data)
{
    return &data->info;
}

void tess_xp_data_note(tess_xpcs_data *data, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    const size_t old = data->notes ? strlen(data->notes) : 0;
    const size_t bytes = old + (size_t)length + 2;
    char *notes = tess_heap_alloc(&data->ctx->heap, bytes, TESS_TAG_PLAN, "notes");
    if (!notes) {
        return;
    }
    const int used = snprintf(notes, bytes, "%s%s", old ? data->notes : "", old ? "\n" : "");
    va_start(args, format);
    vsnprintf(notes + used, bytes - (size_t)used, format, args);
    va_end(args);
    tess_heap_free(&data->ctx->heap, data->notes, data->notes_bytes, TESS_TAG_PLAN);
    data->notes = notes;
    data->notes_bytes = bytes;
    data->info.notes = notes;
}

tess_status tess_xp_data_set_path(tess_xpcs_data *data, const char *path)
{
    char *copy = tess_heap_strdup(&data->ctx->heap, path, TESS_TAG_PLAN);
    if (!copy) {
        return TESS_E_MEMORY;
    }
    if (data->path) {
        tess_heap_free(&data->ctx->heap, data->path, strlen(data->path) + 1, TESS_TAG_PLAN);
    }
    data->path = copy;
    data->info.path = copy;
    return TESS_OK;
}

void tess_xp_data_keep_angles(tess_xpcs_data *data, const tess_xp_tiles *tiles)
{
    const int64_t n = data->n_made;
    int64_t *n_finite = (int64_t *)(void *)(data->tables + 3 * n);
    int64_t kept = 0;
    for (int64_t a = 0; a < n; a++) {
        if (data->found[a].is_dropped) {
            continue;
        }
        for (int64_t t = 0; t < 3; t++) {
            data->tables[t * n + kept] = data->tables[t * n + a];
        }
        n_finite[kept++] = n_finite[a];
    }
    tess_xp_tiles_destroy(data->ctx, &data->tiles);
    data->tiles = *tiles;
    set_counts(data);
}

tess_hash tess_xp_data_hash(const tess_xpcs_data *data, const tess_hash *leaf_hash)
{
    const tess_hash_kind kind = tess_hash_default();
    const size_t n = (size_t)data->info.n_angle * sizeof(double);
    const size_t n_leaf = (size_t)tess_xp_tiles_n_leaf(&data->tiles);
    const struct {
        tess_hash records;
        tess_hash phi;
        tess_hash q;
        int64_t shape[4];
    } parts = {
        .records = tess_hash_bytes(kind, leaf_hash, n_leaf * sizeof *leaf_hash),
        .phi = tess_hash_bytes(kind, data->info.phi, n),
        .q = tess_hash_bytes(kind, data->info.q, n),
        .shape = {data->info.n_angle, data->info.n_frame, data->info.dtype, data->info.has_sigma}};
    return tess_hash_bytes(kind, &parts, sizeof parts);
}
