// Rows in memory or behind calls, f32 or f64.
#include "systems/decode/states/engine.h"

#include <string.h>

void tess_de_engine_range(const tess_de_engine *engine, int64_t chunk, int64_t *first,
                          int64_t *count)
{
    *first = chunk * engine->chunk_rows;
    const int64_t left = engine->n_time - *first;
    *count = left < engine->chunk_rows ? left : engine->chunk_rows;
}

static size_t item_bytes(int32_t dtype)
{
    return dtype == TESS_F64 ? sizeof(double) : sizeof(float);
}

void tess_de_rows_of_memory(void *memory, int32_t dtype, int64_t width, tess_de_rows *rows)
{
    *rows = (tess_de_rows){.dtype = dtype, .width = width, .memory = memory};
}

void tess_de_rows_of_array(const tess_array *array, tess_de_rows *rows)
{
    memset(rows, 0, sizeof *rows);
    if (array) {
        const bool is_there = array->space == TESS_SPACE_DEVICE;
        tess_de_rows_of_memory(is_there ? NULL : array->data, array->dtype, array->shape[1], rows);
        rows->there = is_there ? array->data : NULL;
    }
}

// n items; the types differ or not.
static void convert(const void *src, int32_t from, void *dst, int32_t to, size_t n)
{
    if (from == to) {
        memmove(dst, src, n * item_bytes(from));
    } else if (to == TESS_F32) {
        for (size_t i = 0; i < n; i++) {
            ((float *)dst)[i] = (float)((const double *)src)[i];
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            ((double *)dst)[i] = (double)((const float *)src)[i];
        }
    }
}

tess_status tess_de_rows_store(const tess_de_engine *engine, const tess_de_rows *rows,
                               int64_t first, int64_t count, const void *src, int32_t dtype)
{
    if (!tess_de_rows_are_here(rows)) {
        return TESS_OK;
    }
    const size_t row_bytes = (size_t)rows->width * item_bytes(rows->dtype);
    const size_t src_bytes = (size_t)rows->width * item_bytes(dtype);
    if (rows->memory) {
        char *dst = (char *)rows->memory + (size_t)first * row_bytes;
        if ((const char *)src != dst) {
            convert(src, dtype, dst, rows->dtype, (size_t)(count * rows->width));
        }
        return TESS_OK;
    }
    if (rows->dtype == dtype) {
        return rows->write(rows->self, first, count, src);
    }
    int64_t step = (int64_t)(TESS_DE_CONVERT_BYTES / row_bytes);
    step = step > 0 ? step : 1;
    for (int64_t at = 0; at < count; at += step) {
        const int64_t n = count - at < step ? count - at : step;
        convert((const char *)src + (size_t)at * src_bytes, dtype, engine->convert_buffer,
                rows->dtype, (size_t)(n * rows->width));
        const tess_status status = rows->write(rows->self, first + at, n, engine->convert_buffer);
        if (status != TESS_OK) {
            return status;
        }
    }
    return TESS_OK;
}

tess_status tess_de_rows_load(const tess_de_rows *rows, int64_t first, int64_t count, void *dst)
{
    if (!rows->memory) {
        return rows->read(rows->self, first, count, dst);
    }
    const size_t row_bytes = (size_t)rows->width * item_bytes(rows->dtype);
    const char *src = (const char *)rows->memory + (size_t)first * row_bytes;
    if (src != (const char *)dst) {
        memcpy(dst, src, (size_t)count * row_bytes);
    }
    return TESS_OK;
}
