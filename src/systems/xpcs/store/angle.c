// One angle of the data, as data of its own.
#include "base/status.h"
#include "systems/xpcs/store/store.h"

static tess_status take(tess_context *ctx, tess_xpcs_data *data, int64_t angle,
                        tess_xpcs_data **out)
{
    const int64_t n = data->info.n_frame;
    const size_t bytes = (size_t)n * sizeof(int64_t);
    int64_t *frames = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "frames of an angle");
    if (!frames) {
        return TESS_E_MEMORY;
    }
    for (int64_t k = 0; k < n; k++) {
        frames[k] = k;
    }
    const tess_xp_chosen all = {.frames = frames, .n_frame = n, .angles = &angle, .n_angle = 1};
    const tess_status status = tess_xp_data_sketch(ctx, data, &all, out);
    tess_heap_free(&ctx->heap, frames, bytes, TESS_TAG_SCRATCH);
    return status;
}

static tess_status describe(const tess_xpcs_data *data, tess_xpcs_data *one)
{
    const tess_xpcs_data_info *from = &data->info;
    tess_xpcs_data_info *to = &one->info;
    to->dt_s = from->dt_s;
    to->gap_angstrom = from->gap_angstrom;
    to->start_frame = from->start_frame;
    to->end_frame = from->end_frame;
    to->keep_t0 = from->keep_t0;
    to->layout = from->layout; // static text
    TESS_TRY(tess_xp_data_set_path(one, from->path));
    return tess_xp_data_seal(one);
}

tess_status tess_xpcs_data_angle(tess_context *ctx, tess_xpcs_data *data, int64_t angle,
                                 tess_xpcs_data **out)
{
    tess_error_clear();
    *out = NULL;
    if (angle < 0 || angle >= data->info.n_angle) {
        TESS_FAIL(TESS_E_ARGUMENT, "angle: %lld, the data have 0 to %lld", (long long)angle,
                  (long long)data->info.n_angle - 1);
    }
    tess_xpcs_data *one = NULL;
    TESS_TRY(take(ctx, data, angle, &one));
    const tess_status status = describe(data, one);
    if (status != TESS_OK) {
        tess_xpcs_data_destroy(one);
        return status;
    }
    *out = one;
    return TESS_OK;
}
