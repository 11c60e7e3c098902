#include "systems/decode/kde/kde_there.h"

#include "base/status.h"

// The likelihood of a row with an encoding spike of each electrode: GPUs load a kernel when it is
// first used, which then is not when somebody waits.
static tess_status warm_up(tess_context *ctx, tess_device *device,
                           const tess_decode_encoding *encoding)
{
    const tess_de_selection *s = &encoding->selection;
    const int64_t n_bin = encoding->info.n_interior;
    const int64_t shape[2] = {1, n_bin};
    tess_blocks blocks;
    tess_blocks_init(&blocks, &ctx->heap);
    int64_t *first = tess_blocks_alloc(&blocks, s->n_electrode + 1, sizeof *first, "a row");
    int32_t *row = tess_blocks_alloc(&blocks, s->n_electrode + 1, sizeof *row, "a row");
    double *out = tess_blocks_alloc(&blocks, n_bin, sizeof *out, "a row");
    tess_array array;
    tess_status status =
        first && row && out ? tess_array_init(&array, out, TESS_F64, 2, shape) : TESS_E_MEMORY;
    for (int64_t e = 0; status == TESS_OK && e < s->n_electrode; e++) {
        first[e + 1] = first[e] + (s->n_spike[e] > 0 ? 1 : 0);
    }
    if (status == TESS_OK) {
        const tess_de_row_spikes spikes = {.n_row = 1,
                                           .n_total = first[s->n_electrode],
                                           .electrode_first = first,
                                           .row = row,
                                           .marks = (const double *const *)s->spike_marks};
        status = tess_de_kde_rows(ctx, device, encoding, &spikes, 1, &array, NULL);
    }
    tess_blocks_free(&blocks);
    return status;
}

tess_status tess_de_kde_prepare(tess_context *ctx, tess_device *device,
                                const tess_decode_encoding *encoding)
{
    kde_model *kde = encoding->model;
    if (&ctx->heap != encoding->heap || atomic_load(&kde->there[device->member])) {
        return TESS_OK;
    }
    const tess_status status = warm_up(ctx, device, encoding);
    if (status == TESS_E_LIMIT) {
        tess_error_clear();
        return TESS_OK;
    }
    return status;
}
