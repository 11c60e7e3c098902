// Rows over interior bins, widened to all bins.
#include "systems/decode/states/detector.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

enum { ROW_BLOCK = 16 };

// Bins that follow each other among the interior ones and among all.
typedef struct bin_run {
    int64_t from;
    int64_t to;
    int64_t n;
} bin_run;

typedef struct widen_job {
    const tess_array *rows;
    const tess_array *out;
    const bin_run *runs;
    int64_t n_run;
} widen_job;

static int64_t find_runs(const tess_decode_detector_info *info, bin_run *runs)
{
    int64_t n = 0;
    for (int64_t i = 0; i < info->n_state_bin; i++) {
        if (n > 0 && runs[n - 1].to + runs[n - 1].n == info->all_index[i]) {
            runs[n - 1].n++;
        } else {
            runs[n++] = (bin_run){.from = i, .to = info->all_index[i], .n = 1};
        }
    }
    return n;
}

static void fill_nan(void *row, int32_t dtype, int64_t first, int64_t end)
{
    if (dtype == TESS_F32) {
        for (int64_t i = first; i < end; i++) {
            ((float *)row)[i] = NAN;
        }
    } else {
        for (int64_t i = first; i < end; i++) {
            ((double *)row)[i] = (double)NAN;
        }
    }
}

static void widen_row(const widen_job *job, int64_t t)
{
    const size_t item = (size_t)job->rows->item_bytes;
    const int64_t n_all = job->out->shape[1];
    const char *row = (const char *)job->rows->data + (size_t)(t * job->rows->shape[1]) * item;
    char *out = (char *)job->out->data + (size_t)(t * n_all) * item;
    int64_t done = 0;
    for (int64_t i = 0; i < job->n_run; i++) {
        const bin_run *r = &job->runs[i];
        fill_nan(out, job->rows->dtype, done, r->to);
        memcpy(out + (size_t)r->to * item, row + (size_t)r->from * item, (size_t)r->n * item);
        done = r->to + r->n;
    }
    fill_nan(out, job->rows->dtype, done, n_all);
}

static tess_status widen_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const widen_job *job = arg;
    const int64_t first = block * ROW_BLOCK;
    const int64_t left = job->rows->shape[0] - first;
    for (int64_t i = 0; i < (left < ROW_BLOCK ? left : ROW_BLOCK); i++) {
        widen_row(job, first + i);
    }
    return TESS_OK;
}

static tess_status check_rows(const char *name, const tess_array *array, int64_t n_row,
                              int64_t width, int32_t dtype)
{
    if (dtype != TESS_F32 && dtype != TESS_F64) {
        TESS_FAIL(TESS_E_DTYPE, "%s: items are %s; f32 or f64 is expected", name,
                  tess_dtype_name((tess_dtype)dtype));
    }
    if (array->dtype != dtype) {
        TESS_FAIL(TESS_E_DTYPE, "%s: items are %s, those of rows %s; they must be the same", name,
                  tess_dtype_name((tess_dtype)array->dtype), tess_dtype_name((tess_dtype)dtype));
    }
    if (array->rank != 2 || array->shape[0] != n_row || array->shape[1] != width) {
        TESS_FAIL(TESS_E_SHAPE, "%s: has %d axes, [%lld][%lld]; [%lld][%lld] is expected", name,
                  array->rank, (long long)(array->rank > 0 ? array->shape[0] : 0),
                  (long long)(array->rank > 1 ? array->shape[1] : 0), (long long)n_row,
                  (long long)width);
    }
    if (array->space == TESS_SPACE_DEVICE || (!array->data && n_row > 0) ||
        !tess_array_is_contiguous(array)) {
        TESS_FAIL(TESS_E_SPACE, "%s: must be contiguous in host memory", name);
    }
    return TESS_OK;
}

tess_status tess_decode_all_bins(tess_context *ctx, const tess_decode_detector *detector,
                                 const tess_array *rows, tess_array *out)
{
    tess_error_clear();
    const tess_decode_detector_info *info = &detector->info;
    const int64_t n_row = rows->rank > 0 ? rows->shape[0] : 0;
    TESS_TRY(check_rows("rows", rows, n_row, info->n_state_bin, rows->dtype));
    TESS_TRY(check_rows("out", out, n_row, info->n_all_bin, rows->dtype));
    tess_blocks memory;
    tess_blocks_init(&memory, &ctx->heap);
    bin_run *runs = tess_blocks_alloc(&memory, info->n_state_bin, sizeof *runs, "bins");
    tess_status status = TESS_E_MEMORY;
    if (runs) {
        widen_job job = {.rows = rows, .out = out, .runs = runs, .n_run = find_runs(info, runs)};
        status =
            tess_parallel_for(ctx->pool, (n_row + ROW_BLOCK - 1) / ROW_BLOCK, widen_block, &job);
    }
    tess_blocks_free(&memory);
    return status;
}
