// autoreject's stages on the CPU.
#include "stage/autoreject.h"

#include "backend/cpu/autoreject/stages.h"
#include "base/status.h"

// Rows are cut into blocks of about this many bytes: large against the cost of handing out a
// block, small enough that the threads finish together.
static const int64_t BLOCK_BYTES = 256 << 10;

typedef struct ptp_job {
    const tess_kernels *kernels;
    const tess_stage_autoreject_ptp *args;
    int64_t n_row;
    int64_t rows_per_block;
} ptp_job;

// Runs of channels within one epoch, or of epochs when channels follow each other without a gap.
static void ptp_run(const ptp_job *job, int64_t offset, int64_t stride, int64_t out, int64_t n_row)
{
    const tess_stage_autoreject_ptp *a = job->args;
    if (a->dtype == TESS_F32) {
        job->kernels->ptp_f32((const float *)a->x + offset, (size_t)n_row, (ptrdiff_t)stride,
                              (size_t)a->n_time, (float *)a->out + out);
    } else {
        job->kernels->ptp_f64((const double *)a->x + offset, (size_t)n_row, (ptrdiff_t)stride,
                              (size_t)a->n_time, (double *)a->out + out);
    }
}

static tess_status ptp_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const ptp_job *job = arg;
    const tess_stage_autoreject_ptp *a = job->args;
    const int64_t first = block * job->rows_per_block;
    const int64_t end =
        first + job->rows_per_block < job->n_row ? first + job->rows_per_block : job->n_row;
    if (a->stride_epoch == a->n_chan * a->stride_chan) {
        ptp_run(job, first * a->stride_chan, a->stride_chan, first, end - first);
        return TESS_OK;
    }
    for (int64_t row = first; row < end;) {
        const int64_t e = row / a->n_chan;
        const int64_t c = row % a->n_chan;
        const int64_t left = a->n_chan - c;
        const int64_t n = left < end - row ? left : end - row;
        ptp_run(job, e * a->stride_epoch + c * a->stride_chan, a->stride_chan, row, n);
        row += n;
    }
    return TESS_OK;
}

tess_status tess_cpu_autoreject_ptp(tess_backend_device *device, const void *args)
{
    const tess_stage_autoreject_ptp *a = args;
    const int64_t item_bytes = (int64_t)tess_dtype_bytes((tess_dtype)a->dtype);
    ptp_job job = {.kernels = device->kernels, .args = a, .n_row = a->n_epoch * a->n_chan};
    if (job.n_row == 0) {
        return TESS_OK;
    }
    job.rows_per_block = BLOCK_BYTES / (a->n_time * item_bytes);
    job.rows_per_block = job.rows_per_block > 0 ? job.rows_per_block : 1;
    const int64_t n_block = (job.n_row + job.rows_per_block - 1) / job.rows_per_block;
    return tess_parallel_for(device->ctx->pool, n_block, ptp_block, &job);
}
