// Columns of rows of log likelihoods on the CPU.
#include "backend/cpu/decode/stages.h"
#include "stage/decode_columns.h"

enum { ROW_BLOCK = 64 };

static void put_row(const tess_stage_decode_columns *a, int64_t t)
{
    const bool is_missing = a->is_missing && a->is_missing[t];
    const bool is_added = a->added && a->added_row[t] >= 0;
    const double *added = is_added ? a->added + a->added_row[t] * a->n_column : NULL;
    for (int64_t p = 0; p < a->n_column; p++) {
        const int64_t at = t * a->n_ll + a->first + p;
        const int64_t of = t * a->from_stride + p;
        if (a->dtype == TESS_F64) {
            const double value = ((const double *)a->from)[of];
            ((double *)a->ll)[at] = is_missing ? 0 : added ? value + added[p] : value;
        } else {
            const float value = ((const float *)a->from)[of];
            ((float *)a->ll)[at] = is_missing ? 0
                                   : added    ? (float)((double)value + added[p])
                                              : value;
        }
    }
}

static tess_status put_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const tess_stage_decode_columns *a = arg;
    const int64_t first = block * ROW_BLOCK;
    const int64_t end = first + ROW_BLOCK < a->n_row ? first + ROW_BLOCK : a->n_row;
    for (int64_t t = first; t < end; t++) {
        put_row(a, t);
    }
    return TESS_OK;
}

tess_status tess_cpu_decode_columns(tess_backend_device *device, const void *args)
{
    tess_stage_decode_columns a = *(const tess_stage_decode_columns *)args;
    return tess_parallel_for(device->ctx->pool, (a.n_row + ROW_BLOCK - 1) / ROW_BLOCK, put_block,
                             &a);
}
