// autoreject's interpolation on the CPU.
#include "stage/autoreject_interpolation.h"

#include "backend/cpu/autoreject/stages.h"
#include "base/status.h"

// Work is cut into blocks of about this many products: some tens of microseconds.
static const int64_t BLOCK_PRODUCTS = 1 << 20;
// Columns of wide epochs are cut at multiples of this: whole vectors on every ISA, whole lines.
enum { COLUMNS = 64 };

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

typedef struct augment_job {
    const tess_kernels *kernels;
    const tess_stage_autoreject_augment *args;
    int64_t columns;          // per block
    int64_t n_cut;            // blocks side by side in an epoch
    int64_t epochs_per_block; // 1 where n_cut > 1
} augment_job;

static tess_status augment_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const augment_job *job = arg;
    const tess_stage_autoreject_augment *a = job->args;
    const int64_t first = block / job->n_cut * job->epochs_per_block;
    const int64_t left = a->n_epoch - first;
    const int64_t n_epoch = left < job->epochs_per_block ? left : job->epochs_per_block;
    const int64_t t = block % job->n_cut * job->columns;
    const int64_t width = a->width - t < job->columns ? a->width - t : job->columns;
    for (int64_t e = first; e < first + n_epoch; e++) {
        job->kernels->mix_f64(
            a->w, (size_t)a->n_chan, (size_t)a->n_row, a->x + e * a->stride_epoch + t,
            (size_t)a->stride_chan, NULL, NULL, (size_t)a->n_chan, (size_t)width,
            a->out + e * a->out_stride_epoch + t, (size_t)a->out_stride_row, NULL);
    }
    return TESS_OK;
}

tess_status tess_cpu_autoreject_augment(tess_backend_device *device, const void *args)
{
    const tess_stage_autoreject_augment *a = args;
    if (a->n_epoch == 0 || a->n_row == 0 || a->width == 0) {
        return TESS_OK;
    }
    const double products = (double)a->n_row * (double)a->n_chan * (double)a->width;
    augment_job job = {.kernels = device->kernels, .args = a, .columns = a->width, .n_cut = 1};
    if (products > (double)BLOCK_PRODUCTS) {
        const int64_t wanted = BLOCK_PRODUCTS / (a->n_row * a->n_chan);
        job.columns = wanted > COLUMNS ? wanted / COLUMNS * COLUMNS : COLUMNS;
        job.n_cut = ceil_div(a->width, job.columns);
    }
    job.epochs_per_block = 1;
    if (job.n_cut == 1 && products > 0) {
        const double epochs = (double)BLOCK_PRODUCTS / products;
        job.epochs_per_block = epochs > 1 ? (int64_t)epochs : 1;
    }
    const int64_t n_block = ceil_div(a->n_epoch, job.epochs_per_block) * job.n_cut;
    return tess_parallel_for(device->ctx->pool, n_block, augment_block, &job);
}

typedef struct repair_job {
    const tess_kernels *kernels;
    const tess_stage_autoreject_repair *args;
    int64_t repairs_per_block;
    int64_t n_block; // of a part
    int32_t *lists;  // [worker][3][n_chan]
} repair_job;

static int32_t row_of(const tess_stage_autoreject_repair *a, int32_t channel)
{
    return a->rows ? a->rows[channel] : channel;
}

static void repair_one(const repair_job *job, int64_t part, int64_t j, int32_t *lists)
{
    const tess_stage_autoreject_repair *a = job->args;
    const int64_t first = a->first[j] - a->first[0];
    const int64_t n_bad = a->first[j + 1] - a->first[j];
    const int32_t *bad = a->bad + first;
    int32_t *columns = lists;
    int32_t *rows = lists + a->n_chan;
    int32_t *targets = rows + a->n_chan;
    int64_t n_good = 0;
    int64_t k = 0;
    for (int32_t c = 0; c < a->n_chan; c++) {
        if (k < n_bad && bad[k] == c) {
            targets[k++] = row_of(a, c);
        } else {
            rows[n_good] = row_of(a, c);
            columns[n_good++] = c;
        }
    }
    double *x = a->x + part * a->stride_part + (a->epoch ? a->epoch[j] : j) * a->stride_epoch;
    double *out = a->out ? a->out + part * a->out_stride_part + first * a->width : NULL;
    job->kernels->mix_f64(a->w + first * a->n_chan, (size_t)a->n_chan, (size_t)n_bad, x,
                          (size_t)a->stride_chan, rows, columns, (size_t)n_good, (size_t)a->width,
                          out ? out : x, (size_t)(out ? a->width : a->stride_chan),
                          out ? NULL : targets);
}

static tess_status repair_block(void *arg, int64_t block, int32_t worker)
{
    const repair_job *job = arg;
    const tess_stage_autoreject_repair *a = job->args;
    const int64_t first = block % job->n_block * job->repairs_per_block;
    const int64_t left = a->n_repair - first;
    const int64_t end = first + (left < job->repairs_per_block ? left : job->repairs_per_block);
    for (int64_t j = first; j < end; j++) {
        repair_one(job, block / job->n_block, j, job->lists + worker * 3 * a->n_chan);
    }
    return TESS_OK;
}

tess_status tess_cpu_autoreject_repair(tess_backend_device *device, const void *args)
{
    const tess_stage_autoreject_repair *a = args;
    if (a->n_repair == 0 || a->first[a->n_repair] == a->first[0] || a->width == 0) {
        return TESS_OK;
    }
    tess_context *ctx = device->ctx;
    repair_job job = {.kernels = device->kernels, .args = a};
    const double n_bad = (double)(a->first[a->n_repair] - a->first[0]) / (double)a->n_repair;
    const double repairs = (double)BLOCK_PRODUCTS / (n_bad * (double)a->n_chan * (double)a->width);
    job.repairs_per_block = repairs > 1 ? (int64_t)repairs : 1;
    const size_t bytes = (size_t)ctx->n_thread * 3 * (size_t)a->n_chan * sizeof *job.lists;
    job.lists = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "lists of channels");
    if (!job.lists) {
        return TESS_E_MEMORY;
    }
    job.n_block = ceil_div(a->n_repair, job.repairs_per_block);
    const tess_status status =
        tess_parallel_for(ctx->pool, a->n_part * job.n_block, repair_block, &job);
    tess_heap_free(&ctx->heap, job.lists, bytes, TESS_TAG_SCRATCH);
    return status;
}
