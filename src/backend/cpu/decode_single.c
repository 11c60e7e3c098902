// One spike at a time on the calling thread.
#include "backend/cpu/decode_kde.h"
#include "base/status.h"

#include <math.h>

static void single_spike(const void *handle, const tess_kde_model *model, int64_t electrode,
                         const float *mark, void *memory, float *values)
{
    const tess_kde_electrode *e = &model->electrodes[electrode];
    if (e->n_spike == 0) {
        for (int64_t p = 0; p < model->n_bin; p++) {
            values[p] = (float)model->unheard_value;
        }
        return;
    }
    kde_scratch scratch;
    kde_scratch_open(model, memory, &scratch);
    double *raw = scratch.anew + model->max_feature; // not the first: that a rerun overwrites
    for (int64_t f = 0; f < e->n_feature; f++) {
        raw[f] = (double)mark[f];
    }
    kde_tile tile = {.kernels = handle,
                     .model = model,
                     .electrode = e,
                     .marks = raw,
                     .n = 1,
                     .scratch = &scratch};
    if (!model->is_exact) {
        kde_tile_fast(&tile, values);
        return;
    }
    kde_tile_exact(&tile, scratch.values);
    for (int64_t p = 0; p < model->n_bin; p++) {
        values[p] = (float)scratch.values[p];
    }
}

tess_status tess_cpu_decode_kde_bind(tess_backend_device *device, const void *args)
{
    const tess_stage_decode_kde_bind *a = args;
    a->bound->spike = single_spike;
    a->bound->handle = device->kernels;
    a->bound->scratch_bytes = kde_scratch_bytes(a->model);
    return TESS_OK;
}
