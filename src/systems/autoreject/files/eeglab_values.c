// Numbers and texts of MAT files.
#include "base/status.h"
#include "systems/autoreject/files/eeglab_mat.h"
#include "systems/autoreject/files/samples.h"
#include "systems/autoreject/text/text_input.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_CHARS = 512 };

// The first n items of an array, at most TEXT_CHARS, as doubles; *n becomes how many there are.
static tess_status first_items(tess_mat *mat, const tess_mat_array *array, double *items,
                               int64_t *n)
{
    int32_t dtype = 0;
    tess_mat_place data;
    uint8_t raw[8 * TEXT_CHARS];
    const int64_t wanted = *n;
    *n = 0;
    TESS_TRY(tess_mat_numbers(mat, array, &dtype, &data));
    if (dtype == 0) {
        return TESS_OK;
    }
    const size_t item = tess_dtype_bytes((tess_dtype)dtype);
    int64_t there = (int64_t)((data.end - data.begin) / item);
    there = there < wanted ? there : wanted;
    // UTF-8 text has more bytes than the array has characters.
    *n = array->array_class == TESS_MAT_CHAR || there < array->n_item ? there : array->n_item;
    const size_t bytes = (size_t)*n * item;
    if (data.memory) {
        memcpy(raw, data.memory + data.begin, bytes);
    } else {
        TESS_TRY(tess_infile_read(mat->file, raw, bytes, data.begin));
    }
    if (mat->is_swapped) {
        tess_ar_swap(raw, item, *n);
    }
    tess_ar_convert(dtype, raw, 1, *n, 1, items);
    return TESS_OK;
}

tess_status tess_mat_scalar(tess_mat *mat, const tess_mat_array *array, double *value,
                            bool *is_there)
{
    int64_t n = 1;
    *is_there = false;
    if (array->array_class == TESS_MAT_CHAR) {
        return TESS_OK;
    }
    TESS_TRY(first_items(mat, array, value, &n));
    *is_there = n == 1;
    return TESS_OK;
}

static tess_status char_text(tess_mat *mat, const tess_mat_array *array, char *text,
                             size_t capacity)
{
    double items[TEXT_CHARS];
    char raw[TEXT_CHARS + 1];
    char utf8[4 * TEXT_CHARS + 1];
    int64_t n = TEXT_CHARS;
    int32_t dtype = 0;
    tess_mat_place data;
    size_t used = 0;
    TESS_TRY(tess_mat_numbers(mat, array, &dtype, &data));
    TESS_TRY(first_items(mat, array, items, &n));
    while (n > 0 && items[n - 1] == 0) {
        n--;
    }
    if (dtype == TESS_U8 || dtype == TESS_I8) {
        for (int64_t i = 0; i < n; i++) {
            raw[i] = (char)(uint8_t)(int)items[i];
        }
        tess_ar_utf8(raw, (size_t)n, utf8);
    } else {
        for (int64_t i = 0; i < n; i++) {
            const double code = items[i];
            used += tess_ar_put_utf8(code >= 1 && code < 4e9 ? (uint32_t)code : ' ', utf8 + used);
        }
        utf8[used] = '\0';
    }
    snprintf(text, capacity, "%s", utf8);
    return TESS_OK;
}

tess_status tess_mat_words(tess_mat *mat, const tess_mat_array *array, char *text, size_t capacity)
{
    double value = 0;
    bool is_there = false;
    text[0] = '\0';
    if (array->array_class == TESS_MAT_CHAR) {
        return char_text(mat, array, text, capacity);
    }
    if (array->array_class == TESS_MAT_CELL && array->n_item == 1) {
        tess_mat_array inner;
        TESS_TRY(tess_mat_cell(mat, array, 0, &inner));
        if (inner.array_class != TESS_MAT_CELL) {
            return tess_mat_words(mat, &inner, text, capacity);
        }
        return TESS_OK;
    }
    TESS_TRY(tess_mat_scalar(mat, array, &value, &is_there));
    if (is_there) {
        const bool is_whole = value == floor(value) && fabs(value) < 1e15;
        snprintf(text, capacity, is_whole ? "%.0f" : "%.15g", value);
    }
    return TESS_OK;
}

tess_status tess_mat_text(tess_mat *mat, const tess_mat_array *array, char *text, size_t capacity)
{
    TESS_TRY(tess_mat_words(mat, array, text, capacity));
    const char *trimmed = tess_ar_trim(text);
    memmove(text, trimmed, strlen(trimmed) + 1);
    return TESS_OK;
}

tess_status tess_mat_elsewhere(tess_mat *mat, const tess_mat_array *array, char *path,
                               size_t capacity)
{
    path[0] = '\0';
    if (!mat->image || array->array_class != TESS_MAT_ELSEWHERE) {
        return TESS_OK;
    }
    // Its path stands where the numbers would.
    tess_mat_array text = *array;
    text.array_class = TESS_MAT_CHAR;
    return char_text(mat, &text, path, capacity);
}
