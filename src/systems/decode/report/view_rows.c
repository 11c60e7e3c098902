// Rows of a result: which of them are looked at, and their values.
#include "base/status.h"
#include "systems/decode/report/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Steps that the distance of rows is the median of.
enum { MAX_STEPS = 1024 };

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

tess_status tess_de_view_read(tess_source *source, int64_t first, int64_t n_item, void *scratch,
                              double *out)
{
    const tess_source_info *info = tess_source_get_info(source);
    const int64_t n = n_item * (info->rank > 1 ? info->shape[1] : 1);
    if (info->dtype != TESS_F64 && info->dtype != TESS_F32 && info->dtype != TESS_I64 &&
        info->dtype != TESS_I32) {
        TESS_FAIL(TESS_E_DTYPE, "%s: data set '%s' holds %s; expected real numbers or integers",
                  info->path, info->dataset, tess_dtype_name((tess_dtype)info->dtype));
    }
    TESS_TRY(tess_source_read(source, first, n_item, scratch, (uint64_t)(n * info->item_bytes)));
    convert(info->dtype, scratch, n, out);
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
    if (period && !isnan(period->from)) {
        TESS_TRY(first_row_from(v, period->from, &v->first_row));
    }
    if (period && !isnan(period->to)) {
        TESS_TRY(first_row_from(v, period->to, &end));
    }
    v->n_time = end > v->first_row ? end - v->first_row : 0;
    if (v->n_time == 0 && v->n_file_row > 0) {
        double first = 0;
        double last = 0;
        TESS_TRY(time_at(v, 0, &first));
        TESS_TRY(time_at(v, v->n_file_row - 1, &last));
        TESS_FAIL(TESS_E_ARGUMENT,
                  "%s: no time bin begins from %.10g s to before %.10g s; the result has %.10g to "
                  "%.10g s",
                  v->path, isnan(period->from) ? first : period->from,
                  isnan(period->to) ? last : period->to, first, last);
    }
    if (v->n_time > 0) {
        TESS_TRY(time_at(v, v->first_row, &v->start));
        TESS_TRY(time_at(v, v->first_row + v->n_time - 1, &v->end));
    }
    return find_step(v);
}
