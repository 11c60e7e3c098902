// Sums of arrays of multivectors on the CPU, with conversion between types.
#include "stage/clifford.h"

#include "backend/cpu/clifford/stages.h"
#include "base/half.h"

enum { CHUNK = 256 };

// Items per block of the pool.
static const int64_t BLOCK_ITEMS = 64 << 10;

typedef struct sum_job {
    const tess_stage_clifford_sum *args;
    int64_t n_row; // of the last axis
    int64_t rows_per_block;
} sum_job;

static int64_t offset_of(const tess_cl_view *view, const int64_t at[3])
{
    return at[0] * view->stride[0] + at[1] * view->stride[1] + at[2] * view->stride[2];
}

static void load_f32(const tess_cl_view *view, int32_t dtype, int64_t offset, int64_t n,
                     float out[CHUNK])
{
    const int64_t step = view->stride[2];
    if (dtype == TESS_F32) {
        const float *x = (const float *)view->data + offset;
        for (int64_t i = 0; i < n; i++) {
            out[i] = x[i * step];
        }
        return;
    }
    const uint16_t *x = (const uint16_t *)view->data + offset;
    for (int64_t i = 0; i < n; i++) {
        out[i] = dtype == TESS_BF16 ? tess_f32_of_bf16(x[i * step]) : tess_f32_of_f16(x[i * step]);
    }
}

static void store_f32(const tess_cl_view *view, int32_t dtype, int64_t offset, int64_t n,
                      const float x[CHUNK])
{
    const int64_t step = view->stride[2];
    if (dtype == TESS_F32) {
        float *out = (float *)view->data + offset;
        for (int64_t i = 0; i < n; i++) {
            out[i * step] = x[i];
        }
        return;
    }
    uint16_t *out = (uint16_t *)view->data + offset;
    for (int64_t i = 0; i < n; i++) {
        out[i * step] = dtype == TESS_BF16 ? tess_bf16_of_f32(x[i]) : tess_f16_of_f32(x[i]);
    }
}

// n <= CHUNK items of one row from at[] on.
static void add_f32(const tess_stage_clifford_sum *a, const int64_t at[3], int64_t n)
{
    float sum[CHUNK] = {0};
    float term[CHUNK];
    for (int32_t t = 0; t < a->n_term; t++) {
        float *into = t == 0 ? sum : term; // 0 + x would lose the sign of a zero
        load_f32(&a->terms[t], a->term_dtype, offset_of(&a->terms[t], at), n, into);
        for (int64_t i = 0; t > 0 && i < n; i++) {
            sum[i] += term[i];
        }
    }
    store_f32(&a->out, a->out_dtype, offset_of(&a->out, at), n, sum);
}

static void load_f64(const tess_cl_view *view, int32_t dtype, int64_t offset, int64_t n,
                     double out[CHUNK])
{
    if (dtype != TESS_F64) {
        float narrow[CHUNK];
        load_f32(view, dtype, offset, n, narrow);
        for (int64_t i = 0; i < n; i++) {
            out[i] = (double)narrow[i];
        }
        return;
    }
    const double *x = (const double *)view->data + offset;
    for (int64_t i = 0; i < n; i++) {
        out[i] = x[i * view->stride[2]];
    }
}

static void store_f64(const tess_cl_view *view, int32_t dtype, int64_t offset, int64_t n,
                      const double x[CHUNK])
{
    if (dtype != TESS_F64) {
        float narrow[CHUNK];
        for (int64_t i = 0; i < n; i++) {
            narrow[i] = (float)x[i];
        }
        store_f32(view, dtype, offset, n, narrow);
        return;
    }
    double *out = (double *)view->data + offset;
    for (int64_t i = 0; i < n; i++) {
        out[i * view->stride[2]] = x[i];
    }
}

static void add_f64(const tess_stage_clifford_sum *a, const int64_t at[3], int64_t n)
{
    double sum[CHUNK] = {0};
    double term[CHUNK];
    for (int32_t t = 0; t < a->n_term; t++) {
        double *into = t == 0 ? sum : term;
        load_f64(&a->terms[t], a->term_dtype, offset_of(&a->terms[t], at), n, into);
        for (int64_t i = 0; t > 0 && i < n; i++) {
            sum[i] += term[i];
        }
    }
    store_f64(&a->out, a->out_dtype, offset_of(&a->out, at), n, sum);
}

static tess_status sum_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const sum_job *job = arg;
    const tess_stage_clifford_sum *a = job->args;
    const int64_t first = block * job->rows_per_block;
    const int64_t left = job->n_row - first;
    const int64_t end = first + (left < job->rows_per_block ? left : job->rows_per_block);
    for (int64_t row = first; row < end; row++) {
        int64_t at[3] = {row / a->shape[1], row % a->shape[1], 0};
        for (; at[2] < a->shape[2]; at[2] += CHUNK) {
            const int64_t n = a->shape[2] - at[2] < CHUNK ? a->shape[2] - at[2] : CHUNK;
            if (a->out_dtype == TESS_F64 || a->term_dtype == TESS_F64) {
                add_f64(a, at, n);
            } else {
                add_f32(a, at, n);
            }
        }
    }
    return TESS_OK;
}

tess_status tess_cpu_clifford_sum(tess_backend_device *device, const void *args)
{
    const tess_stage_clifford_sum *a = args;
    sum_job job = {.args = a, .n_row = a->shape[0] * a->shape[1]};
    job.rows_per_block = a->shape[2] < BLOCK_ITEMS ? BLOCK_ITEMS / a->shape[2] : 1;
    const int64_t n_block = (job.n_row - 1) / job.rows_per_block + 1;
    return tess_parallel_for(device->ctx->pool, n_block, sum_block, &job);
}
