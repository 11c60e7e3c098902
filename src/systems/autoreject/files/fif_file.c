// FIF files: opened, unpacked where they are compressed, and walked tag by tag.
#include "base/checked.h"
#include "base/file.h"
#include "base/scratch.h"
#include "base/status.h"
#include "runtime/unpack.h"
#include "systems/autoreject/files/fif.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_DEPTH = 64, UNPACK_BYTES = 1 << 20 };

// Makes room for one more item of a growing list; at most doubles it.
static tess_status grow(tess_heap *heap, void **items, int64_t n, int64_t *capacity, size_t bytes)
{
    if (n < *capacity) {
        return TESS_OK;
    }
    const int64_t more = *capacity > 0 ? 2 * *capacity : 64;
    void *bigger = tess_heap_alloc(heap, (size_t)more * bytes, TESS_TAG_IO, "tags of a FIF file");
    if (!bigger) {
        return TESS_E_MEMORY;
    }
    if (n > 0) {
        memcpy(bigger, *items, (size_t)n * bytes);
    }
    tess_heap_free(heap, *items, (size_t)*capacity * bytes, TESS_TAG_IO);
    *items = bigger;
    *capacity = more;
    return TESS_OK;
}

static tess_status add_block(tess_ar_fif_file *file, int32_t kind, int32_t parent, uint64_t at)
{
    void *blocks = file->blocks;
    TESS_TRY(grow(&file->ctx->heap, &blocks, file->n_block, &file->block_capacity,
                  sizeof *file->blocks));
    file->blocks = blocks;
    file->blocks[file->n_block++] = (tess_ar_fif_block){
        .kind = kind, .parent = parent, .at = at, .first = file->n_tag, .end = file->n_tag};
    return TESS_OK;
}

static tess_status add_tag(tess_ar_fif_file *file, const tess_ar_fif_tag *tag)
{
    void *tags = file->tags;
    TESS_TRY(grow(&file->ctx->heap, &tags, file->n_tag, &file->tag_capacity, sizeof *file->tags));
    file->tags = tags;
    file->tags[file->n_tag++] = *tag;
    return TESS_OK;
}

// Where the walk stands.
typedef struct walk {
    tess_ar_fif_file *file;
    uint64_t at;       // of the next tag's header
    uint64_t n_header; // seen so far
    int32_t block;
    int32_t depth;
} walk;

static tess_status check_first(const walk *w, const tess_ar_fif_tag *tag)
{
    if (tag->kind == TESS_AR_FIF_FILE_ID && tag->type == TESS_AR_FIF_ID_STRUCT) {
        return TESS_OK;
    }
    const bool swapped = (uint32_t)tag->kind == (uint32_t)TESS_AR_FIF_FILE_ID << 24;
    TESS_FAIL(TESS_E_FORMAT, "%s: byte 0: expected tag 100 (file id), found %s", w->file->path,
              swapped ? "one with its bytes the other way round; FIF files are big-endian, convert "
                        "this one first"
                      : "something else; this is not a FIF file");
}

static tess_status read_header(const walk *w, tess_ar_fif_tag *tag, int32_t *next)
{
    const tess_ar_fif_file *file = w->file;
    uint8_t header[TESS_AR_FIF_HEADER_BYTES];
    if (w->at > file->in.bytes || file->in.bytes - w->at < sizeof header) {
        TESS_FAIL(TESS_E_TRUNCATED,
                  "%s: byte %llu: expected the 16 bytes of a tag, but the file ends at byte %llu%s",
                  file->path, (unsigned long long)w->at, (unsigned long long)file->in.bytes,
                  w->depth > 0 ? " inside a block; copy it again" : "");
    }
    TESS_TRY(tess_infile_read(&file->in, header, sizeof header, w->at));
    *tag = (tess_ar_fif_tag){.kind = (int32_t)tess_ar_be32(header),
                             .type = (int32_t)tess_ar_be32(header + 4),
                             .bytes = (int32_t)tess_ar_be32(header + 8),
                             .block = w->block,
                             .at = w->at + sizeof header};
    *next = (int32_t)tess_ar_be32(header + 12);
    if (w->n_header == 0) {
        TESS_TRY(check_first(w, tag));
    }
    char words[64];
    if (tag->bytes < 0) {
        TESS_FAIL(TESS_E_FORMAT, "%s: byte %llu: %s has a negative size (%d)", file->path,
                  (unsigned long long)w->at, tess_ar_fif_words(tag->kind, words), (int)tag->bytes);
    }
    if ((uint64_t)tag->bytes > file->in.bytes - tag->at) {
        TESS_FAIL(TESS_E_TRUNCATED,
                  "%s: byte %llu: %s has %d bytes, but the file ends at byte %llu; copy it again",
                  file->path, (unsigned long long)w->at, tess_ar_fif_words(tag->kind, words),
                  (int)tag->bytes, (unsigned long long)file->in.bytes);
    }
    return TESS_OK;
}

static tess_status open_block(walk *w, const tess_ar_fif_tag *tag)
{
    int32_t kind;
    TESS_TRY(tess_ar_fif_read_i32(w->file, tag, &kind));
    if (++w->depth > MAX_DEPTH) {
        TESS_FAIL(TESS_E_FORMAT, "%s: byte %llu: blocks lie in each other more than %d deep",
                  w->file->path, (unsigned long long)w->at, MAX_DEPTH);
    }
    if (w->file->n_block >= INT32_MAX) {
        TESS_FAIL(TESS_E_FORMAT, "%s: has too many blocks", w->file->path);
    }
    const int32_t parent = w->block;
    w->block = (int32_t)w->file->n_block;
    return add_block(w->file, kind, parent, w->at);
}

static tess_status close_block(walk *w, const tess_ar_fif_tag *tag)
{
    tess_ar_fif_block *block = &w->file->blocks[w->block];
    int32_t kind;
    TESS_TRY(tess_ar_fif_read_i32(w->file, tag, &kind));
    if (block->parent < 0 || kind != block->kind) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: byte %llu: tag 105 (block end) closes block %d, but block %d is open",
                  w->file->path, (unsigned long long)w->at, (int)kind, (int)block->kind);
    }
    block->end = w->file->n_tag;
    w->block = block->parent;
    w->depth--;
    return TESS_OK;
}

// A jump may lead anywhere; a file cannot have more tags than fit into it, unless they form a ring.
static tess_status go_on(walk *w, const tess_ar_fif_tag *tag, int32_t next, bool *is_last)
{
    const tess_ar_fif_file *file = w->file;
    *is_last = next == -1;
    if (next < -1) {
        TESS_FAIL(TESS_E_FORMAT, "%s: byte %llu: the next tag is said to be at byte %d", file->path,
                  (unsigned long long)w->at, (int)next);
    }
    w->at = next > 0 ? (uint64_t)next : tag->at + (uint64_t)tag->bytes;
    if (++w->n_header > file->in.bytes / TESS_AR_FIF_HEADER_BYTES) {
        TESS_FAIL(TESS_E_FORMAT, "%s: byte %llu: tags lead back to tags before them", file->path,
                  (unsigned long long)w->at);
    }
    if (!*is_last && w->depth == 0 && w->at == file->in.bytes) {
        *is_last = true; // files without the closing tag are whole as well
    }
    return TESS_OK;
}

static tess_status walk_tags(tess_ar_fif_file *file)
{
    walk w = {.file = file};
    TESS_TRY(add_block(file, 0, -1, 0));
    for (bool is_last = false; !is_last;) {
        tess_ar_fif_tag tag;
        int32_t next = 0;
        if (w.n_header == 0 && file->in.bytes < TESS_AR_FIF_HEADER_BYTES) {
            TESS_FAIL(TESS_E_TRUNCATED,
                      "%s: byte 0: expected tag 100 (file id), but the file has "
                      "%llu bytes",
                      file->path, (unsigned long long)file->in.bytes);
        }
        TESS_TRY(read_header(&w, &tag, &next));
        if (tag.kind == TESS_AR_FIF_BLOCK_START) {
            TESS_TRY(open_block(&w, &tag));
        } else if (tag.kind == TESS_AR_FIF_BLOCK_END) {
            TESS_TRY(close_block(&w, &tag));
        } else {
            TESS_TRY(add_tag(file, &tag));
        }
        TESS_TRY(go_on(&w, &tag, next, &is_last));
    }
    if (w.depth > 0) {
        TESS_FAIL(TESS_E_TRUNCATED,
                  "%s: byte %llu: block %d, opened at byte %llu, is not closed; expected tag 105 "
                  "(block end); copy the file again",
                  file->path, (unsigned long long)w.at, (int)file->blocks[w.block].kind,
                  (unsigned long long)file->blocks[w.block].at);
    }
    file->blocks[0].end = file->n_tag;
    return TESS_OK;
}

static tess_status unpack_into(tess_ar_fif_file *file, tess_unpacker *unpacker, int fd)
{
    void *piece = tess_heap_alloc(&file->ctx->heap, UNPACK_BYTES, TESS_TAG_IO, "unpacking");
    tess_status status = piece ? TESS_OK : TESS_E_MEMORY;
    uint64_t done = 0;
    for (size_t got = UNPACK_BYTES; status == TESS_OK && got == UNPACK_BYTES;) {
        status = tess_context_check_cancel(file->ctx);
        if (status == TESS_OK) {
            status = tess_unpacker_read(unpacker, piece, UNPACK_BYTES, &got);
        }
        if (status == TESS_OK) {
            status = tess_file_write_at(fd, "the unpacked recording", piece, got, done);
            done += got;
        }
    }
    tess_heap_free(&file->ctx->heap, piece, UNPACK_BYTES, TESS_TAG_IO);
    return status;
}

// Tags are found by place, so a compressed file is unpacked as a whole.
static tess_status unpack(tess_ar_fif_file *file)
{
    tess_unpacker *unpacker = NULL;
    int fd = -1;
    TESS_TRY(tess_unpacker_open(&file->ctx->heap, &file->in, 0, file->in.bytes, &unpacker));
    char path[1024];
    const tess_scratch scratch = {NULL, "fif", "the unpacked recording"};
    tess_status status = tess_scratch_open(&scratch, path, sizeof path, &fd);
    if (status == TESS_OK) {
        status = unpack_into(file, unpacker, fd);
    }
    tess_unpacker_close(unpacker);
    tess_infile_close(&file->in);
    if (status != TESS_OK) {
        file->in.fd = fd; // closed with the rest
        return status;
    }
    return tess_infile_adopt(file->path, fd, &file->in);
}

static tess_status open_and_walk(tess_ar_fif_file *file, const char *path)
{
    uint8_t magic[2] = {0};
    file->path = tess_heap_strdup(&file->ctx->heap, path, TESS_TAG_IO);
    if (!file->path) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_infile_open(file->path, &file->in));
    if (file->in.bytes >= sizeof magic) {
        TESS_TRY(tess_infile_read(&file->in, magic, sizeof magic, 0));
    }
    if (magic[0] == 0x1f && magic[1] == 0x8b) {
        TESS_TRY(unpack(file));
    }
    return walk_tags(file);
}

tess_status tess_ar_fif_file_open(tess_context *ctx, const char *path, tess_ar_fif_file *out)
{
    *out = (tess_ar_fif_file){.ctx = ctx, .in.fd = -1};
    const tess_status status = open_and_walk(out, path);
    if (status != TESS_OK) {
        tess_ar_fif_file_close(out);
    }
    return status;
}

void tess_ar_fif_file_close(tess_ar_fif_file *file)
{
    if (!file->ctx) {
        return;
    }
    tess_heap *heap = &file->ctx->heap;
    tess_infile_close(&file->in);
    if (file->path) {
        tess_heap_free(heap, file->path, strlen(file->path) + 1, TESS_TAG_IO);
    }
    tess_heap_free(heap, file->tags, (size_t)file->tag_capacity * sizeof *file->tags, TESS_TAG_IO);
    tess_heap_free(heap, file->blocks, (size_t)file->block_capacity * sizeof *file->blocks,
                   TESS_TAG_IO);
    *file = (tess_ar_fif_file){.in.fd = -1};
}
