#include "systems/decode/files/intervals.h"

#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/context.h"

#include <math.h>
#include <stdlib.h>

typedef struct key {
    double start;
    int64_t index;
} key;

static int by_start(const void *a, const void *b)
{
    const key *x = a;
    const key *y = b;
    return x->start != y->start ? (x->start > y->start) - (x->start < y->start)
                                : (x->index > y->index) - (x->index < y->index);
}

static tess_status check_interval(const tess_decode_intervals *t, int64_t i)
{
    if (!isfinite(t->start[i]) || !isfinite(t->end[i]) || !(t->end[i] > t->start[i])) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "intervals: row %lld is from %.10g to %.10g s; expected a start before its end, "
                  "both finite",
                  (long long)i, t->start[i], t->end[i]);
    }
    return TESS_OK;
}

tess_status tess_de_intervals_order(tess_blocks *blocks, const tess_decode_intervals *intervals,
                                    int64_t **order)
{
    const tess_decode_intervals *t = intervals;
    if (t->n < 1 || !t->start || !t->end) {
        TESS_FAIL(TESS_E_ARGUMENT, "intervals: there are none; give at least one start and end");
    }
    key *keys = tess_blocks_alloc(blocks, t->n, sizeof *keys, "intervals");
    *order = tess_blocks_alloc(blocks, t->n, sizeof **order, "intervals");
    if (!keys || !*order) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < t->n; i++) {
        TESS_TRY(check_interval(t, i));
        keys[i] = (key){t->start[i], i};
    }
    qsort(keys, (size_t)t->n, sizeof *keys, by_start);
    for (int64_t i = 0; i < t->n; i++) {
        (*order)[i] = keys[i].index;
        const int64_t before = i > 0 ? keys[i - 1].index : -1;
        if (i > 0 && t->end[before] > keys[i].start) {
            TESS_FAIL(TESS_E_ARGUMENT,
                      "intervals: rows %lld (%.10g to %.10g s) and %lld (%.10g to %.10g s) share "
                      "time, and a time bin belongs to one sequence; merge or cut them",
                      (long long)before, t->start[before], t->end[before], (long long)keys[i].index,
                      keys[i].start, t->end[keys[i].index]);
        }
    }
    return TESS_OK;
}

// The first row that begins at this time or later.
static int64_t row_from(const double *time, int64_t n_time, double at)
{
    int64_t low = 0;
    while (low < n_time) {
        const int64_t middle = low + (n_time - low) / 2;
        if (time[middle] < at) {
            low = middle + 1;
        } else {
            n_time = middle;
        }
    }
    return low;
}

void tess_de_interval_find(double start, double end, const double *time, int64_t n_time,
                           int64_t *first, int64_t *n_row)
{
    const int64_t begin = row_from(time, n_time, start);
    *n_row = row_from(time, n_time, end) - begin;
    *first = *n_row > 0 ? begin : 0;
}

tess_status tess_de_intervals_refuse(const tess_decode_intervals *intervals, const double *time,
                                     int64_t n_time)
{
    TESS_FAIL(
        TESS_E_ARGUMENT,
        "intervals: no time bin begins in any of the %lld, of which the first in the table is "
        "%.10g to %.10g s; the time bins are %.10g to %.10g s",
        (long long)intervals->n, intervals->start[0], intervals->end[0], n_time > 0 ? time[0] : 0,
        n_time > 0 ? time[n_time - 1] : 0);
}

tess_status tess_decode_interval_rows(tess_context *ctx, const tess_decode_intervals *intervals,
                                      const double *time, int64_t n_time, int64_t *first,
                                      int64_t *n_row)
{
    tess_error_clear();
    tess_decode_intervals own;
    tess_decode_intervals_init(&own, sizeof own);
    TESS_TRY(tess_struct_read(intervals, &own, sizeof own, "intervals"));
    tess_blocks blocks;
    tess_blocks_init(&blocks, &ctx->heap);
    int64_t *order = NULL;
    const tess_status status = tess_de_intervals_order(&blocks, &own, &order);
    tess_blocks_free(&blocks);
    int64_t n_found = 0;
    for (int64_t i = 0; status == TESS_OK && i < own.n; i++) {
        tess_de_interval_find(own.start[i], own.end[i], time, n_time, &first[i], &n_row[i]);
        n_found += n_row[i];
    }
    return status == TESS_OK && n_found == 0 ? tess_de_intervals_refuse(&own, time, n_time)
                                             : status;
}
