// Spikes into rows of time on the CPU.
#include "backend/cpu/decode/stages.h"
#include "base/status.h"
#include "stage/decode_likelihood.h"

#include <string.h>

// Rows of one block of the pool.
enum { ROW_BLOCK = 64 };

typedef struct rows_job {
    const tess_stage_decode_rows *args;
    double *sums; // [n_thread][n_bin]
} rows_job;

static void add_values(const tess_stage_decode_rows *a, int64_t item, double *sum)
{
    if (item < 0) {
        for (int64_t p = 0; p < a->n_bin; p++) {
            sum[p] += a->unheard_value;
        }
    } else if (a->value_dtype == TESS_F64) {
        const double *value = (const double *)a->values + item * a->n_bin;
        for (int64_t p = 0; p < a->n_bin; p++) {
            sum[p] += value[p];
        }
    } else {
        const float *value = (const float *)a->values + item * a->n_bin;
        for (int64_t p = 0; p < a->n_bin; p++) {
            sum[p] += (double)value[p];
        }
    }
}

static void write_row(const tess_stage_decode_rows *a, int64_t row, const double *sum)
{
    if (a->out_dtype == TESS_F64) {
        memcpy((double *)a->out + row * a->n_bin, sum, (size_t)a->n_bin * sizeof *sum);
        return;
    }
    float *out = (float *)a->out + row * a->n_bin;
    for (int64_t p = 0; p < a->n_bin; p++) {
        out[p] = (float)sum[p];
    }
}

static tess_status rows_block(void *arg, int64_t block, int32_t worker)
{
    const rows_job *job = arg;
    const tess_stage_decode_rows *a = job->args;
    double *sum = job->sums + worker * a->n_bin;
    const int64_t first = block * ROW_BLOCK;
    const int64_t end = first + ROW_BLOCK < a->n_row ? first + ROW_BLOCK : a->n_row;
    for (int64_t row = first; row < end; row++) {
        for (int64_t p = 0; p < a->n_bin; p++) {
            sum[p] = -a->scale * a->intensity[p];
        }
        for (int64_t k = a->row_first[row]; k < a->row_first[row + 1]; k++) {
            add_values(a, a->item[k], sum);
        }
        write_row(a, row, sum);
    }
    return TESS_OK;
}

tess_status tess_cpu_decode_rows(tess_backend_device *device, const void *args)
{
    const tess_stage_decode_rows *a = args;
    tess_context *ctx = device->ctx;
    const size_t bytes = (size_t)ctx->n_thread * (size_t)a->n_bin * sizeof(double);
    rows_job job = {.args = a,
                    .sums = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "sums of rows")};
    if (!job.sums) {
        return TESS_E_MEMORY;
    }
    const tess_status status =
        tess_parallel_for(ctx->pool, (a->n_row + ROW_BLOCK - 1) / ROW_BLOCK, rows_block, &job);
    tess_heap_free(&ctx->heap, job.sums, bytes, TESS_TAG_SCRATCH);
    return status;
}
