// The store's stage on the CPU.
#include "stage/autoreject_local.h"

#include "backend/cpu/cpu_backend.h"
#include "base/status.h"

#include <string.h>

enum { TILE = TESS_STAGE_AUTOREJECT_TILE };

// One epoch. Tile by tile, so that what is written is one stretch; what is read stays in the cache.
static tess_status scatter_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const tess_stage_autoreject_scatter *a = arg;
    const double *x = a->x + block * a->n_chan * a->n_time;
    const int64_t n_tile = (a->n_time + TILE - 1) / TILE;
    for (int64_t k = 0; k < n_tile; k++) {
        double *tile = a->tiles + k * a->tile_stride + block * a->n_chan * TILE;
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
    return TESS_OK;
}

tess_status tess_cpu_autoreject_scatter(tess_backend_device *device, const void *args)
{
    const tess_stage_autoreject_scatter *a = args;
    return tess_parallel_for(device->ctx->pool, a->n_epoch, scatter_block, (void *)(uintptr_t)args);
}
