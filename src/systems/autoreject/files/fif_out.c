#include "systems/autoreject/files/fif_out.h"

#include "base/status.h"

#include <stdio.h>
#include <string.h>

tess_status tess_ar_fif_out_open(tess_context *ctx, const char *path, tess_ar_fif_out *out)
{
    *out = (tess_ar_fif_out){.ctx = ctx, .temp = {.fd = -1}};
    out->buffer = tess_heap_alloc(&ctx->heap, TESS_AR_FIF_OUT_BYTES, TESS_TAG_IO, "a FIF file");
    if (!out->buffer) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_temp_file_create(path, 0666, &out->temp));
    const size_t n = strlen(path);
    if (n > 3 && strcmp(path + n - 3, ".gz") == 0) {
        return tess_packer_open(&ctx->heap, out->temp.fd, out->temp.final_path, &out->packer);
    }
    return TESS_OK;
}

// Takes note of the first failure.
static void note(tess_ar_fif_out *out, tess_status status)
{
    if (status != TESS_OK && out->status == TESS_OK) {
        out->status = status;
        snprintf(out->message, sizeof out->message, "%s", tess_last_error());
    }
}

static void flush(tess_ar_fif_out *out)
{
    if (out->status == TESS_OK && out->used > 0) {
        note(out, out->packer ? tess_packer_write(out->packer, out->buffer, out->used)
                              : tess_file_write_at(out->temp.fd, out->temp.final_path, out->buffer,
                                                   out->used, out->done));
    }
    out->done += out->used;
    out->used = 0;
}

static void release(tess_ar_fif_out *out)
{
    tess_packer_close(out->packer);
    tess_heap_free(&out->ctx->heap, out->buffer, TESS_AR_FIF_OUT_BYTES, TESS_TAG_IO);
    out->packer = NULL;
    out->buffer = NULL;
}

tess_status tess_ar_fif_out_finish(tess_ar_fif_out *out)
{
    flush(out);
    if (out->packer && out->status == TESS_OK) {
        note(out, tess_packer_finish(out->packer));
    }
    release(out); // finished parts wait for the others
    if (out->status != TESS_OK) {
        return tess_error_set(out->status, "%s", out->message);
    }
    return TESS_OK;
}

void tess_ar_fif_out_close(tess_ar_fif_out *out)
{
    if (!out->ctx) {
        return;
    }
    release(out);
    tess_temp_file_discard(&out->temp);
    *out = (tess_ar_fif_out){.temp = {.fd = -1}};
}

void tess_ar_fif_put(tess_ar_fif_out *out, const void *bytes, size_t n)
{
    while (n > 0) {
        const size_t room = TESS_AR_FIF_OUT_BYTES - out->used;
        const size_t now = n < room ? n : room;
        memcpy(out->buffer + out->used, bytes, now);
        out->used += now;
        if (out->used == TESS_AR_FIF_OUT_BYTES) {
            flush(out);
        }
        bytes = (const char *)bytes + now;
        n -= now;
    }
}

void tess_ar_fif_set_i32(uint8_t *bytes, int32_t value)
{
    const uint32_t word = tess_ar_be32(&value);
    memcpy(bytes, &word, sizeof word);
}

void tess_ar_fif_set_f32(uint8_t *bytes, double value)
{
    const float single = (float)value;
    const uint32_t word = tess_ar_be32(&single);
    memcpy(bytes, &word, sizeof word);
}

static void put_header(tess_ar_fif_out *out, int32_t kind, int32_t type, size_t bytes, int32_t next)
{
    uint8_t header[TESS_AR_FIF_HEADER_BYTES];
    if (bytes > INT32_MAX) {
        char words[64];
        note(out, tess_error_set(TESS_E_SHAPE, "%s: %s would have %zu bytes; FIF has at most 2 GiB",
                                 out->temp.final_path, tess_ar_fif_words(kind, words), bytes));
        return;
    }
    tess_ar_fif_set_i32(header, kind);
    tess_ar_fif_set_i32(header + 4, type);
    tess_ar_fif_set_i32(header + 8, (int32_t)bytes);
    tess_ar_fif_set_i32(header + 12, next);
    tess_ar_fif_put(out, header, sizeof header);
}

void tess_ar_fif_put_header(tess_ar_fif_out *out, int32_t kind, int32_t type, size_t bytes)
{
    // The closing tag is the last one.
    put_header(out, kind, type, bytes, kind == TESS_AR_FIF_NOP ? -1 : 0);
}

void tess_ar_fif_put_i32(tess_ar_fif_out *out, int32_t kind, int32_t value)
{
    tess_ar_fif_put_i32s(out, kind, &value, 1);
}

void tess_ar_fif_put_f32(tess_ar_fif_out *out, int32_t kind, double value)
{
    uint8_t bytes[4];
    tess_ar_fif_set_f32(bytes, value);
    tess_ar_fif_put_header(out, kind, TESS_AR_FIF_F32, sizeof bytes);
    tess_ar_fif_put(out, bytes, sizeof bytes);
}

void tess_ar_fif_put_i32s(tess_ar_fif_out *out, int32_t kind, const int32_t *values, int64_t n)
{
    tess_ar_fif_put_header(out, kind, TESS_AR_FIF_I32, (size_t)n * 4);
    for (int64_t i = 0; i < n; i++) {
        uint8_t bytes[4];
        tess_ar_fif_set_i32(bytes, values[i]);
        tess_ar_fif_put(out, bytes, sizeof bytes);
    }
}

uint32_t tess_ar_fif_next_code(const uint8_t **at)
{
    const uint8_t *c = *at;
    const int n = c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : c[0] >= 0xc0 ? 2 : 1;
    uint32_t code = n == 1 ? c[0] : c[0] & (0xffu >> (n + 1));
    for (int i = 1; i < n; i++) {
        if ((c[i] & 0xc0) != 0x80) {
            *at += 1;
            return c[0];
        }
        code = code << 6 | (c[i] & 0x3f);
    }
    *at += n;
    return code;
}

// Writes text as latin-1, or counts its bytes where out is NULL.
static size_t put_latin(tess_ar_fif_out *out, const char *text)
{
    size_t bytes = 0;
    for (const uint8_t *at = (const uint8_t *)text; *at;) {
        const uint32_t code = tess_ar_fif_next_code(&at);
        char piece[16] = {(char)code};
        const size_t n =
            code < 256 ? 1 : (size_t)snprintf(piece, sizeof piece, "&#%u;", (unsigned)code);
        if (out) {
            tess_ar_fif_put(out, piece, n);
        }
        bytes += n;
    }
    return bytes;
}

void tess_ar_fif_put_text(tess_ar_fif_out *out, int32_t kind, const char *text)
{
    const size_t bytes = put_latin(NULL, text);
    if (bytes > 0) {
        tess_ar_fif_put_header(out, kind, TESS_AR_FIF_STRING, bytes);
        put_latin(out, text);
    }
}

void tess_ar_fif_put_block(tess_ar_fif_out *out, int32_t tag, int32_t block)
{
    tess_ar_fif_put_i32(out, tag, block);
}

void tess_ar_fif_copy_tag(tess_ar_fif_out *out, const tess_ar_fif_file *file,
                          const tess_ar_fif_tag *tag)
{
    uint8_t piece[4096];
    tess_ar_fif_put_header(out, tag->kind, tag->type, (size_t)tag->bytes);
    for (int64_t done = 0; done < tag->bytes && out->status == TESS_OK;) {
        const size_t n =
            tag->bytes - done < (int64_t)sizeof piece ? (size_t)(tag->bytes - done) : sizeof piece;
        note(out, tess_infile_read(&file->in, piece, n, tag->at + (uint64_t)done));
        tess_ar_fif_put(out, piece, n);
        done += (int64_t)n;
    }
}

// The next block directly in another, behind one of its blocks; n_block: none.
static int64_t next_child(const tess_ar_fif_file *file, int64_t block, int64_t after)
{
    int64_t child = after + 1;
    while (child < file->n_block && file->blocks[child].parent != block) {
        child++;
    }
    return child;
}

void tess_ar_fif_copy_block(tess_ar_fif_out *out, const tess_ar_fif_file *file, int64_t block,
                            const tess_ar_fif_edit *edit)
{
    const tess_ar_fif_block *b = &file->blocks[block];
    tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_START, b->kind);
    int64_t child = next_child(file, block, block);
    for (int64_t i = b->first; out->status == TESS_OK;) {
        if (child < file->n_block && file->blocks[child].first == i) {
            if (!edit || !edit->block || !edit->block(edit->user, out, child)) {
                tess_ar_fif_copy_block(out, file, child, edit);
            }
            i = file->blocks[child].end;
            child = next_child(file, block, child);
        } else if (i < b->end) {
            if (!edit || !edit->tag || !edit->tag(edit->user, out, &file->tags[i])) {
                tess_ar_fif_copy_tag(out, file, &file->tags[i]);
            }
            i++;
        } else {
            break;
        }
    }
    if (edit && edit->end) {
        edit->end(edit->user, out, block);
    }
    tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_END, b->kind);
}
