#include "systems/autoreject/files/samples.h"

#include "base/checked.h"
#include "base/status.h"
#include "systems/autoreject/text/text_input.h"

#include <string.h>

enum { BUFFER_BYTES = 1 << 19 };

// Items need not be aligned in a file: each is copied out.
#define CONVERT(type)                                                                              \
    for (int64_t i = 0; i < n; i++) {                                                              \
        type item;                                                                                 \
        memcpy(&item, (const uint8_t *)src + i * stride * (int64_t)sizeof item, sizeof item);      \
        dst[i] = (double)item * factor;                                                            \
    }                                                                                              \
    break

void tess_ar_convert(int32_t dtype, const void *src, int64_t stride, int64_t n, double factor,
                     double *dst)
{
    switch (dtype) {
    case TESS_BOOL:
    case TESS_U8:
        CONVERT(uint8_t);
    case TESS_I8:
        CONVERT(int8_t);
    case TESS_U16:
        CONVERT(uint16_t);
    case TESS_I16:
        CONVERT(int16_t);
    case TESS_U32:
        CONVERT(uint32_t);
    case TESS_I32:
        CONVERT(int32_t);
    case TESS_U64:
        CONVERT(uint64_t);
    case TESS_I64:
        CONVERT(int64_t);
    case TESS_F32:
        CONVERT(float);
    case TESS_F64:
        CONVERT(double);
    default:
        TESS_ASSERT(false); // a type that no reader lets through
    }
}

void tess_ar_swap(void *items, size_t item_bytes, int64_t n)
{
    uint8_t *bytes = items;
    for (int64_t i = 0; i < n; i++, bytes += item_bytes) {
        for (size_t a = 0, b = item_bytes - 1; a < b; a++, b--) {
            const uint8_t kept = bytes[a];
            bytes[a] = bytes[b];
            bytes[b] = kept;
        }
    }
}

tess_status tess_ar_samples_find(tess_autoreject_epochs *epochs, const char *header,
                                 const char *name, const char *extension, const char **out)
{
    tess_heap *heap = &epochs->ctx->heap;
    // Some programs write "$b" for the header's name.
    const bool is_base = strncmp(name, "$b", 2) == 0;
    char *named = is_base ? tess_ar_with_extension(heap, header, name + 2)
                          : tess_ar_beside(heap, header, name);
    char *guessed = tess_ar_with_extension(heap, header, extension);
    tess_status status = named && guessed ? TESS_OK : TESS_E_MEMORY;
    *out = NULL;
    if (status == TESS_OK && tess_ar_file_exists(named)) {
        *out = tess_ar_epochs_text(epochs, named);
    } else if (status == TESS_OK && tess_ar_file_exists(guessed)) {
        tess_ar_epochs_note(epochs, "'%s' of the header is not there, '%s' is taken instead", name,
                            guessed);
        *out = tess_ar_epochs_text(epochs, guessed);
    } else if (status == TESS_OK && strcmp(named, guessed) == 0) {
        status = tess_error_set(TESS_E_NOT_FOUND,
                                "%s: %s, which the header names, is not there; the files of a "
                                "recording belong in one folder",
                                header, named);
    } else if (status == TESS_OK) {
        status = tess_error_set(TESS_E_NOT_FOUND,
                                "%s: neither %s, which the header names, nor %s is there; the "
                                "files of a recording belong in one folder",
                                header, named, guessed);
    }
    if (status == TESS_OK && !*out) {
        status = TESS_E_MEMORY;
    }
    tess_ar_path_free(heap, named);
    tess_ar_path_free(heap, guessed);
    return status;
}

tess_status tess_ar_samples_prepare(tess_autoreject_epochs *epochs, tess_ar_samples *s,
                                    uint64_t bytes)
{
    const uint64_t item = tess_dtype_bytes((tess_dtype)s->dtype);
    uint64_t row = 0;
    uint64_t all = 0;
    if (!tess_mul_u64((uint64_t)s->n_channel, item, &row) ||
        !tess_mul_u64(row, (uint64_t)s->n_sample, &all) || all > bytes) {
        TESS_FAIL(TESS_E_TRUNCATED,
                  "%s: %lld samples of %lld channels in %llu bytes each do not fit into the %llu "
                  "bytes there are from byte %llu on; copy the file again",
                  s->path, (long long)s->n_sample, (long long)s->n_channel,
                  (unsigned long long)item, (unsigned long long)bytes,
                  (unsigned long long)s->offset);
    }
    if (s->memory && !s->is_swapped) {
        return TESS_OK;
    }
    s->buffer_bytes = row > BUFFER_BYTES ? (size_t)row : BUFFER_BYTES;
    s->buffer = tess_ar_epochs_alloc(epochs, s->buffer_bytes);
    return s->buffer ? TESS_OK : TESS_E_MEMORY;
}

// Items at..at+n-1 of the block, through the buffer unless they are in memory as they should be.
static tess_status fetch(const tess_ar_samples *s, int64_t at, int64_t n, const uint8_t **items)
{
    const uint64_t item = tess_dtype_bytes((tess_dtype)s->dtype);
    const uint64_t offset = (uint64_t)at * item;
    const size_t bytes = (size_t)((uint64_t)n * item);
    *items = s->buffer;
    if (s->memory && !s->is_swapped) {
        *items = s->memory + offset;
    } else if (s->memory) {
        memcpy(s->buffer, s->memory + offset, bytes);
    } else {
        TESS_TRY(tess_infile_read(s->file, s->buffer, bytes, s->offset + offset));
    }
    if (s->is_swapped) {
        tess_ar_swap(s->buffer, (size_t)item, n);
    }
    return TESS_OK;
}

static tess_status read_interleaved(tess_context *ctx, const tess_ar_samples *s, int64_t first,
                                    int64_t count, const int64_t *channels, int64_t n_channel,
                                    double *dst)
{
    const int64_t item = (int64_t)tess_dtype_bytes((tess_dtype)s->dtype);
    const int64_t fitting = BUFFER_BYTES / (s->n_channel * item);
    const int64_t step = fitting > 0 ? fitting : 1;
    for (int64_t done = 0; done < count; done += step) {
        const int64_t n = count - done < step ? count - done : step;
        const uint8_t *rows = NULL;
        TESS_TRY(tess_context_check_cancel(ctx));
        TESS_TRY(fetch(s, (first + done) * s->n_channel, n * s->n_channel, &rows));
        for (int64_t c = 0; c < n_channel; c++) {
            tess_ar_convert(s->dtype, rows + channels[c] * item, s->n_channel, n,
                            s->factors[channels[c]], dst + c * count + done);
        }
    }
    return TESS_OK;
}

static tess_status read_rows(tess_context *ctx, const tess_ar_samples *s, int64_t first,
                             int64_t count, const int64_t *channels, int64_t n_channel, double *dst)
{
    const int64_t step = BUFFER_BYTES / (int64_t)tess_dtype_bytes((tess_dtype)s->dtype);
    for (int64_t c = 0; c < n_channel; c++) {
        TESS_TRY(tess_context_check_cancel(ctx));
        for (int64_t done = 0; done < count; done += step) {
            const int64_t n = count - done < step ? count - done : step;
            const uint8_t *items = NULL;
            TESS_TRY(fetch(s, channels[c] * s->n_sample + first + done, n, &items));
            tess_ar_convert(s->dtype, items, 1, n, s->factors[channels[c]], dst + c * count + done);
        }
    }
    return TESS_OK;
}

tess_status tess_ar_samples_read(tess_context *ctx, void *impl, int64_t first, int64_t count,
                                 const int64_t *channels, int64_t n_channel, double *dst)
{
    const tess_ar_samples *s = impl;
    return s->is_interleaved ? read_interleaved(ctx, s, first, count, channels, n_channel, dst)
                             : read_rows(ctx, s, first, count, channels, n_channel, dst);
}

tess_status tess_ar_samples_read_epochs(tess_context *ctx, void *impl, int64_t first, int64_t count,
                                        const int64_t *channels, int64_t n_channel, double *dst)
{
    const tess_ar_samples *s = impl;
    for (int64_t e = 0; e < count; e++) {
        TESS_TRY(tess_ar_samples_read(ctx, impl, (first + e) * s->n_time, s->n_time, channels,
                                      n_channel, dst + e * n_channel * s->n_time));
    }
    return TESS_OK;
}
