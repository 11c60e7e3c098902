// Leaves of a file, and files that exist for one process only.
#include "systems/xpcs/store/txc2.h"

#include "base/file.h"
#include "base/scratch.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// For filling, which goes over the file once per angle: records of all angles lie together. Nobody
// else can reach a file without a name, and its blocks are reserved.
static tess_status map_scratch(tess_xp_txc2 *file, uint64_t bytes)
{
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file->in.fd, 0);
    if (map == MAP_FAILED) {
        TESS_FAIL(TESS_E_IO, "%s: cannot map %llu bytes: %s", file->path, (unsigned long long)bytes,
                  strerror(errno));
    }
    file->map = map;
    file->map_bytes = bytes;
    return TESS_OK;
}

void tess_xp_txc2_unmap(tess_xp_txc2 *file)
{
    if (file->map) {
        munmap(file->map, file->map_bytes);
        file->map = NULL;
    }
}

tess_status tess_xp_txc2_alloc(tess_context *ctx, tess_xp_txc2 **out)
{
    *out = tess_heap_alloc_zero(&ctx->heap, sizeof **out, TESS_TAG_IO, "description of a file");
    if (!*out) {
        return TESS_E_MEMORY;
    }
    (*out)->ctx = ctx;
    (*out)->in.fd = -1;
    pthread_mutex_init(&(*out)->holding, NULL);
    return TESS_OK;
}

tess_status tess_xp_txc2_scratch(tess_xpcs_data *data, const char *folder)
{
    TESS_TRY(tess_xp_txc2_alloc(data->ctx, &data->file));
    data->info.residency = TESS_XPCS_IN_FILE;
    tess_xp_txc2 *file = data->file;
    const tess_scratch scratch = {folder, "txc2", "the correlations"};
    TESS_TRY(tess_scratch_open(&scratch, file->path, sizeof file->path, &file->in.fd));
    TESS_TRY(tess_scratch_reserve(&scratch, file->path, file->in.fd, data->info.bytes));
    TESS_TRY(map_scratch(data->file, data->info.bytes));
    data->records = data->file->map;
    return TESS_OK;
}

void tess_xp_txc2_close(tess_xp_txc2 *file)
{
    if (!file) {
        return;
    }
    tess_heap *heap = &file->ctx->heap;
    tess_xp_txc2_unmap(file);
    tess_infile_close(&file->in);
    pthread_mutex_destroy(&file->holding);
    const size_t n_leaf = (size_t)file->n_leaf;
    tess_heap_free(heap, file->leaf_hash, n_leaf * sizeof *file->leaf_hash, TESS_TAG_IO);
    tess_heap_free(heap, file->is_lost, n_leaf * sizeof *file->is_lost, TESS_TAG_IO);
    tess_heap_free(heap, file, sizeof *file, TESS_TAG_IO);
}

static tess_status check_leaf(tess_xp_txc2 *file, const tess_xp_tiles *tiles, int64_t leaf,
                              const unsigned char *record)
{
    const uint64_t begin = tess_xp_tiles_leaf_offset(tiles, leaf);
    const uint64_t end = tess_xp_tiles_leaf_offset(tiles, leaf + 1);
    if (!file->leaf_hash) {
        return TESS_OK;
    }
    const tess_hash found = tess_hash_bytes(file->hash_kind, record, end - begin);
    if (!tess_hash_equal(found, file->leaf_hash[leaf])) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: bytes %llu to %llu were damaged: their checksum is wrong; convert the "
                  "original again",
                  file->path, (unsigned long long)(file->records_offset + begin),
                  (unsigned long long)(file->records_offset + end));
    }
    return TESS_OK;
}

static tess_status read_good(tess_xp_txc2 *file, const tess_xp_tiles *tiles, int64_t first_leaf,
                             int64_t n_leaf, unsigned char *records)
{
    const uint64_t begin = tess_xp_tiles_leaf_offset(tiles, first_leaf);
    const uint64_t end = tess_xp_tiles_leaf_offset(tiles, first_leaf + n_leaf);
    // Nobody but us has a scratch file, and what we wrote to it is no change.
    TESS_TRY(file->leaf_hash
                 ? tess_infile_read(&file->in, records, end - begin, file->records_offset + begin)
                 : tess_file_read_at(file->in.fd, file->path, records, end - begin, begin));
    for (int64_t leaf = first_leaf; leaf < first_leaf + n_leaf; leaf++) {
        TESS_TRY(check_leaf(file, tiles, leaf,
                            records + tess_xp_tiles_leaf_offset(tiles, leaf) - begin));
    }
    return TESS_OK;
}

tess_status tess_xp_txc2_read(tess_xp_txc2 *file, const tess_xp_tiles *tiles, int64_t first_leaf,
                              int64_t n_leaf, unsigned char *records)
{
    const uint64_t begin = tess_xp_tiles_leaf_offset(tiles, first_leaf);
    const int64_t end = first_leaf + n_leaf;
    for (int64_t leaf = first_leaf; leaf < end;) {
        unsigned char *at = records + (tess_xp_tiles_leaf_offset(tiles, leaf) - begin);
        int64_t n = 0;
        while (leaf + n < end && !(file->is_lost && file->is_lost[leaf + n])) {
            n++;
        }
        if (n > 0) {
            TESS_TRY(read_good(file, tiles, leaf, n, at));
        } else {
            tess_xp_tiles_blank(tiles, leaf, at);
        }
        leaf += n > 0 ? n : 1;
    }
    return TESS_OK;
}

void tess_xp_txc2_release(tess_xp_txc2 *file, const tess_xp_tiles *tiles, int64_t first_leaf,
                          int64_t n_leaf)
{
    // They are given back in order: the page they begin in has no other user, that they end in has.
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t low = (uintptr_t)file->map + tess_xp_tiles_leaf_offset(tiles, first_leaf);
    const uintptr_t high =
        (uintptr_t)file->map + tess_xp_tiles_leaf_offset(tiles, first_leaf + n_leaf);
    const uintptr_t from = low & ~(page - 1);
    const uintptr_t to = high & ~(page - 1);
    if (to > from) {
        madvise((void *)from, to - from, MADV_DONTNEED);
    }
}
