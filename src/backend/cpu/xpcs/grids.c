// Grids of the model at some times, on the CPU: fits there fill their own (systems/xpcs/model), and
// this is what devices are held to.
#include "backend/cpu/xpcs/stages.h"
#include "stage/xpcs.h"
#include "stage/xpcs_rate.h"

#include "base/status.h"

typedef struct grids_job {
    const tess_stage_xpcs_grids *args;
    int64_t n_rate;
} grids_job;

static tess_status grids_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const grids_job *job = arg;
    const tess_stage_xpcs_grids *a = job->args;
    const double *theta = a->theta + block / job->n_rate * a->n_param + block % job->n_rate * 3;
    double *out = a->grids + block * 4 * a->n_frame;
    double before[4] = {0};
    double sum[4] = {0};
    int64_t next = 0;
    for (int64_t i = 0; i < a->n_time && next < a->n_frame; i++) {
        const tess_parts log_t = {a->log_t[2 * i], a->log_t[2 * i + 1]};
        double now[4];
        tess_xp_rate_terms(log_t, theta, now);
        for (int64_t k = 0; k < 4; k++) {
            if (i > 0) {
                sum[k] += 0.5 * (before[k] + now[k]);
            }
            before[k] = now[k];
            if (a->frames[next] == i) {
                out[k * a->n_frame + next] = sum[k];
            }
        }
        next += a->frames[next] == i;
    }
    return TESS_OK;
}

tess_status tess_cpu_xpcs_grids(tess_backend_device *device, const void *args)
{
    const tess_stage_xpcs_grids *a = args;
    grids_job job = {.args = a, .n_rate = a->n_param == 3 ? 1 : 2};
    return tess_parallel_for(device->ctx->pool, a->n_set * job.n_rate, grids_block, &job);
}
