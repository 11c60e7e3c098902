// decode's Gaussian sums at single points on the CPU.
#include "stage/decode_joint.h"

#include "backend/cpu/decode/stages.h"
#include "base/status.h"

#include <math.h>

// Queries per block: they share each read of the points.
enum { QUERIES = 32 };

typedef struct joint_job {
    const tess_kernels *kernels;
    const tess_stage_decode_joint *args;
} joint_job;

static tess_status joint_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const joint_job *job = arg;
    const tess_stage_decode_joint *a = job->args;
    const int64_t first = block * QUERIES;
    const size_t n_y = (size_t)(a->n_y - first < QUERIES ? a->n_y - first : QUERIES);
    double peak[QUERIES];
    double sum[QUERIES];
    if (a->dtype == TESS_F32) {
        job->kernels->decode_joint_f32(a->x, (size_t)a->n, (size_t)a->n_dim, a->bias,
                                       (const float *)a->y + first * a->n_dim, n_y, peak, sum);
    } else {
        job->kernels->decode_joint_f64(a->x, (size_t)a->n, (size_t)a->n_dim, a->bias,
                                       (const double *)a->y + first * a->n_dim, n_y, peak, sum);
    }
    for (size_t j = 0; j < n_y; j++) {
        a->out[first + (int64_t)j] = peak[j] + log(sum[j]);
    }
    return TESS_OK;
}

tess_status tess_cpu_decode_joint(tess_backend_device *device, const void *args)
{
    const tess_stage_decode_joint *a = args;
    joint_job job = {.kernels = device->kernels, .args = a};
    return tess_parallel_for(device->ctx->pool, (a->n_y + QUERIES - 1) / QUERIES, joint_block,
                             &job);
}
