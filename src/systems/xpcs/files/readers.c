#include "systems/xpcs/files/readers.h"

#include "base/status.h"

#include <inttypes.h>

tess_status tess_xp_matrices_take(const struct tess_xpcs_file *file, tess_xp_matrices *out)
{
    const uint64_t n = (uint64_t)file->bins[0].n_frame; // at most 200000
    const uint64_t bytes = n * n * tess_dtype_bytes((tess_dtype)file->info.dtype);
    const uint64_t limit = file->ctx->memory_limit_bytes;
    if (bytes > limit || file->held_bytes > limit - bytes) {
        TESS_FAIL(TESS_E_LIMIT,
                  "%s: reading a matrix of %" PRIu64 " frames takes %" PRIu64
                  " bytes, the memory limit is %" PRIu64 "; raise it",
                  file->path, n, bytes + file->held_bytes, limit);
    }
    *out = (tess_xp_matrices){.n = 1, .matrix_bytes = bytes};
    out->first = tess_heap_alloc(&file->ctx->heap, (size_t)bytes, TESS_TAG_IO, "a matrix");
    return out->first ? TESS_OK : TESS_E_MEMORY;
}

void tess_xp_matrices_widen(tess_xp_matrices *matrices, const struct tess_xpcs_file *file)
{
    tess_context *ctx = file->ctx;
    uint64_t used = 0;
    uint64_t peak = 0;
    tess_context_memory(ctx, &used, &peak);
    used += file->held_bytes;
    const uint64_t limit = ctx->memory_limit_bytes;
    const uint64_t room = used < limit ? (limit - used) / 2 : 0;
    const uint64_t fit = room / (matrices->matrix_bytes + file->held_bytes);
    int64_t n = tess_pool_threads(ctx->pool);
    n = n < TESS_XP_MOST_READERS ? n : TESS_XP_MOST_READERS;
    n = n < file->info.n_bin ? n : file->info.n_bin;
    n = (uint64_t)n < fit + 1 ? n : (int64_t)fit + 1;
    if (!file->has_own_sources || n == 1) {
        return;
    }
    matrices->others = tess_heap_alloc(&ctx->heap, (size_t)(n - 1) * (size_t)matrices->matrix_bytes,
                                       TESS_TAG_IO, "matrices");
    if (matrices->others) {
        matrices->n = n;
    } else {
        tess_error_clear();
    }
}

void *tess_xp_matrices_at(const tess_xp_matrices *matrices, int64_t i)
{
    return i == 0 ? matrices->first : matrices->others + (uint64_t)(i - 1) * matrices->matrix_bytes;
}

typedef struct reading {
    const tess_xp_matrices *matrices;
    struct tess_xpcs_file *file;
    const int64_t *bins;
} reading;

static tess_status read_one(void *arg, int64_t i, int32_t worker)
{
    (void)worker;
    const reading *r = arg;
    return r->file->read(r->file, r->bins[i], tess_xp_matrices_at(r->matrices, i));
}

tess_status tess_xp_matrices_read(const tess_xp_matrices *matrices, struct tess_xpcs_file *file,
                                  const int64_t *bins, int64_t n)
{
    TESS_ASSERT(n <= matrices->n);
    reading r = {.matrices = matrices, .file = file, .bins = bins};
    return tess_parallel_for(file->ctx->pool, n, read_one, &r);
}

void tess_xp_matrices_release(tess_context *ctx, tess_xp_matrices *matrices)
{
    tess_heap_free(&ctx->heap, matrices->first, (size_t)matrices->matrix_bytes, TESS_TAG_IO);
    tess_heap_free(&ctx->heap, matrices->others,
                   (size_t)(matrices->n - 1) * (size_t)matrices->matrix_bytes, TESS_TAG_IO);
    *matrices = (tess_xp_matrices){0};
}
