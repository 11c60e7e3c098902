#include "systems/xpcs/files/sigma.h"

#include "base/checked.h"
#include "base/status.h"
#include "runtime/source.h"
#include "systems/xpcs/files/symmetric.h"

#include <inttypes.h>
#include <string.h>

static tess_status check(const tess_xp_sigma *sigma, const char *dataset)
{
    const struct tess_xpcs_file *file = sigma->file;
    const tess_source_info *info = tess_source_get_info(sigma->source);
    const int64_t n = sigma->n_frame;
    const int64_t *shape = info->shape + (info->rank == 3 ? 1 : 0);
    const bool is_right = (info->rank == 2 || info->rank == 3) && shape[0] == n && shape[1] == n &&
                          (info->rank == 2 || info->shape[0] == file->info.n_bin);
    if (!is_right) {
        TESS_FAIL(TESS_E_SHAPE,
                  "%s: sigma_dataset '%s' does not fit the %" PRId64 " matrices of %" PRId64
                  " frames; expected (%" PRId64 ", %" PRId64 ", %" PRId64 ") or (%" PRId64
                  ", %" PRId64 ")",
                  file->path, dataset, file->info.n_bin, n, file->info.n_bin, n, n, n, n);
    }
    if (info->dtype != TESS_F32 && info->dtype != TESS_F64) {
        TESS_FAIL(TESS_E_DTYPE, "%s: sigma_dataset '%s' is %s; expected float32 or float64",
                  file->path, dataset, tess_dtype_name((tess_dtype)info->dtype));
    }
    return TESS_OK;
}

tess_status tess_xp_sigma_open(struct tess_xpcs_file *file, const char *dataset, tess_xp_sigma *out)
{
    tess_source_config config;
    *out = (tess_xp_sigma){.file = file, .dataset = dataset, .n_frame = file->bins[0].n_frame};
    tess_source_config_init(&config, sizeof config);
    config.dataset = dataset;
    TESS_TRY(tess_source_open(file->ctx, file->path, &config, &out->source));
    tess_status status = check(out, dataset);
    if (status == TESS_OK) {
        out->is_shared = tess_source_get_info(out->source)->rank == 2;
        out->bytes = (uint64_t)out->n_frame * (uint64_t)out->n_frame * sizeof *out->items;
        out->items = tess_heap_alloc(&file->ctx->heap, (size_t)out->bytes, TESS_TAG_IO,
                                     "standard deviations");
        status = out->items ? TESS_OK : TESS_E_MEMORY;
    }
    if (status != TESS_OK) {
        tess_xp_sigma_close(out);
    }
    return status;
}

tess_status tess_xp_sigma_read(tess_xp_sigma *sigma, int64_t bin)
{
    if (sigma->is_shared && sigma->is_read) {
        return TESS_OK;
    }
    const tess_source_info *info = tess_source_get_info(sigma->source);
    const bool is_narrow = info->dtype == TESS_F32;
    const uint64_t n_item = (uint64_t)sigma->n_frame * (uint64_t)sigma->n_frame;
    // As matrices.c widens: from the back half to the front.
    unsigned char *items = (unsigned char *)sigma->items + (is_narrow ? n_item * sizeof(float) : 0);
    const uint64_t bytes = n_item * (uint64_t)info->item_bytes;
    TESS_TRY(sigma->is_shared ? tess_source_read(sigma->source, 0, sigma->n_frame, items, bytes)
                              : tess_source_read(sigma->source, bin, 1, items, bytes));
    if (is_narrow) {
        tess_xp_widen(sigma->items, items, n_item);
    }
    sigma->is_read = true;
    return tess_xp_complete(sigma->items, TESS_F64, sigma->n_frame, sigma->file->path,
                            sigma->dataset, sigma->is_shared ? 0 : sigma->file->bins[bin].phi);
}

void tess_xp_sigma_close(tess_xp_sigma *sigma)
{
    if (sigma->items) {
        tess_heap_free(&sigma->file->ctx->heap, sigma->items, (size_t)sigma->bytes, TESS_TAG_IO);
    }
    tess_source_close(sigma->source);
    *sigma = (tess_xp_sigma){0};
}
