// Rows of a result: which of them are looked at, and their values.
#include "base/status.h"
#include "systems/decode/report/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Steps that the distance of rows is the median of.
enum { MAX_STEPS = 1024 };

// A row that is not all NaN is looked for among the first so many.
enum { MAX_NAN_ROWS = 4096 };

static void convert(int32_t dtype, const void *raw, int64_t n, double *out)
{
    if (dtype == TESS_F64) {
        memcpy(out, raw, (size_t)n * sizeof *out);
        return;
    }
    if (dtype == TESS_F32) {
        for (int64_t i = 0; i < n; i++) {
            out[i] = (double)((const float *)raw)[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        out[i] = dtype == TESS_I64 ? (double)((const int64_t *)raw)[i]
                                   : (double)((const int32_t *)raw)[i];
    }
}

static int64_t count_items(const tess_source_info *info, int64_t n_row)
{
    return n_row * (info->rank > 1 ? info->shape[1] : 1);
}

tess_status tess_de_view_read_raw(tess_source *source, int64_t first, int64_t n_item, void *raw)
{
    const tess_source_info *info = tess_source_get_info(source);
    const int64_t n = count_items(info, n_item);
    if (info->dtype != TESS_F64 && info->dtype != TESS_F32 && info->dtype != TESS_I64 &&
        info->dtype != TESS_I32) {
        TESS_FAIL(TESS_E_DTYPE, "%s: data set '%s' holds %s; expected real numbers or integers",
                  info->path, info->dataset, tess_dtype_name((tess_dtype)info->dtype));
    }
    return tess_source_read(source, first, n_item, raw, (uint64_t)(n * info->item_bytes));
}

void tess_de_view_widen(tess_source *source, const void *raw, int64_t row, double *out)
{
    const tess_source_info *info = tess_source_get_info(source);
    const int64_t n = count_items(info, 1);
    convert(info->dtype, (const char *)raw + (size_t)(row * n) * (size_t)info->item_bytes, n, out);
}

tess_status tess_de_view_read(tess_source *source, int64_t first, int64_t n_item, void *scratch,
                              double *out)
{
    const tess_source_info *info = tess_source_get_info(source);
    TESS_TRY(tess_de_view_read_raw(source, first, n_item, scratch));
    convert(info->dtype, scratch, count_items(info, n_item), out);
    return TESS_OK;
}

tess_status tess_de_view_find_outside(tess_de_view *v, uint8_t *outside)
{
    const int64_t n = v->n_state_bin;
    double *raw = tess_blocks_alloc(&v->memory, n, sizeof *raw, "a row of a result");
    double *row = tess_blocks_alloc(&v->memory, n, sizeof *row, "a row of a result");
    int64_t n_nan = n;
    if (!raw || !row) {
        return TESS_E_MEMORY;
    }
    for (int64_t t = 0; t < v->n_file_row && t < MAX_NAN_ROWS && n_nan == n; t++) {
        TESS_TRY(tess_de_view_read(v->posterior, t, 1, raw, row));
        n_nan = 0;
        for (int64_t b = 0; b < n; b++) {
            n_nan += isnan(row[b]) != 0;
        }
    }
    for (int64_t b = 0; b < n; b++) {
        outside[b] = n_nan < n && isnan(row[b]);
    }
    return TESS_OK;
}

static tess_status time_at(const tess_de_view *v, int64_t row, double *time)
{
    double scratch;
    return tess_de_view_read(v->time, row, 1, &scratch, time);
}

// The first row of the file that begins at this time or later.
static tess_status first_row_from(const tess_de_view *v, double time, int64_t *row)
{
    int64_t low = 0;
    int64_t high = v->n_file_row;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        double found = 0;
        TESS_TRY(time_at(v, middle, &found));
        if (found < time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *row = low;
    return TESS_OK;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static tess_status find_step(tess_de_view *v)
{
    double scratch[MAX_STEPS + 1];
    double times[MAX_STEPS + 1];
    const int64_t n = v->n_time < MAX_STEPS + 1 ? v->n_time : MAX_STEPS + 1;
    v->step = 0;
    if (n < 2) {
        return TESS_OK;
    }
    TESS_TRY(tess_de_view_read(v->time, v->first_row, n, scratch, times));
    for (int64_t i = 0; i + 1 < n; i++) {
        times[i] = times[i + 1] - times[i];
    }
    qsort(times, (size_t)(n - 1), sizeof *times, ascending);
    v->step = times[(n - 1) / 2];
    return TESS_OK;
}

tess_status tess_de_view_find_rows(tess_de_view *v, const tess_de_period *period)
{
    int64_t end = v->n_file_row;
    v->first_row = 0;
    if (period) {
        TESS_TRY(first_row_from(v, period->from, &v->first_row));
    }
    if (period) {
        TESS_TRY(first_row_from(v, period->to, &end));
    }
    v->n_time = end > v->first_row ? end - v->first_row : 0;
    if (v->n_time == 0 && v->n_file_row > 0) {
        double first = 0;
        double last = 0;
        TESS_TRY(time_at(v, 0, &first));
        TESS_TRY(time_at(v, v->n_file_row - 1, &last));
        char limits[96];
        if (period->from > last) {
            snprintf(limits, sizeof limits, "at or after %.10g s", period->from);
        } else if (period->to <= first) {
            snprintf(limits, sizeof limits, "before %.10g s", period->to);
        } else {
            snprintf(limits, sizeof limits, "from %.10g s to before %.10g s", period->from,
                     period->to);
        }
        TESS_FAIL(TESS_E_ARGUMENT, "%s: no time bin begins %s; the result has %.10g to %.10g s",
                  v->path, limits, first, last);
    }
    if (v->n_time > 0) {
        TESS_TRY(time_at(v, v->first_row, &v->start));
        TESS_TRY(time_at(v, v->first_row + v->n_time - 1, &v->end));
    }
    return find_step(v);
}
