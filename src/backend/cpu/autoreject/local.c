// The store's stage on the CPU.
#include "stage/autoreject_intake.h"

#include "backend/cpu/autoreject/stages.h"
#include "base/status.h"

#include <string.h>

enum { TILE = TESS_STAGE_AUTOREJECT_TILE };

typedef struct intake_job {
    const tess_kernels *kernels;
    const tess_stage_autoreject_intake *args;
    double *predicted; // laid out as the tiles; NULL: not kept
    bool is_by_worker; // else every epoch has a buffer of its own
} intake_job;

// Tile by tile, so that what is written is one stretch.
static void scatter(const tess_stage_autoreject_intake *a, const double *x, int64_t epoch,
                    double *tiles)
{
    const int64_t n_tile = (a->n_time + TILE - 1) / TILE;
    for (int64_t k = 0; k < n_tile; k++) {
        double *tile = tiles + k * a->tile_stride + epoch * a->n_chan * TILE;
        const int64_t left = a->n_time - k * TILE;
        for (int64_t c = 0; c < a->n_chan; c++) {
            const double *from = x + c * a->n_time + k * TILE;
            if (left >= TILE) {
                memcpy(tile + c * TILE, from, TILE * sizeof *from);
            } else {
                memset(tile + c * TILE, 0, TILE * sizeof *from);
                memcpy(tile + c * TILE, from, (size_t)left * sizeof *from);
            }
        }
    }
}

static tess_status intake_block(void *arg, int64_t e, int32_t worker)
{
    const intake_job *job = arg;
    const tess_stage_autoreject_intake *a = job->args;
    const size_t n_chan = (size_t)a->n_chan;
    const size_t n_time = (size_t)a->n_time;
    const int64_t items = a->n_chan * a->n_time;
    const int64_t n_part = (a->x ? 0 : 1) + (a->w ? 1 : 0);
    double *buffer = a->buffer + (job->is_by_worker ? worker : e) * n_part * items;
    const double *x = a->x ? a->x + e * items : buffer;
    if (!a->x) {
        TESS_TRY((tess_status)a->read(a->self, e, buffer));
        buffer += items;
    }
    job->kernels->ptp_f64(x, n_chan, (ptrdiff_t)n_time, n_time, a->delta + e * a->n_chan);
    scatter(a, x, e, a->tiles);
    if (a->w) {
        job->kernels->mix_f64(a->w, n_chan, n_chan, x, n_time, NULL, NULL, n_chan, n_time, buffer,
                              n_time, NULL);
        job->kernels->ptp_f64(buffer, n_chan, (ptrdiff_t)n_time, n_time,
                              a->delta_predicted + e * a->n_chan);
    }
    if (job->predicted) {
        scatter(a, buffer, e, job->predicted);
    }
    return TESS_OK;
}

static tess_status take_in(tess_backend_device *device, const tess_stage_autoreject_intake *args,
                           double *predicted)
{
    intake_job job = {.kernels = device->kernels, .args = args, .predicted = predicted};
    job.is_by_worker = args->n_buffer >= tess_pool_threads(device->ctx->pool);
    return tess_parallel_for(device->ctx->pool, args->n_epoch, intake_block, &job);
}

tess_status tess_cpu_autoreject_intake(tess_backend_device *device, const void *args)
{
    return take_in(device, args, NULL);
}

tess_status tess_cpu_autoreject_intake_kept(tess_backend_device *device, const void *args)
{
    const tess_stage_autoreject_intake_kept *a = args;
    return take_in(device, &a->intake, a->predicted);
}
