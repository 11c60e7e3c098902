// All matrices in one data set: caches, and files of other facilities.
#include "base/checked.h"
#include "base/status.h"
#include "runtime/source.h"
#include "systems/xpcs/files/matrices.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static tess_status read_layer(struct tess_xpcs_file *file, int64_t bin, void *matrix)
{
    const tess_source_info *info = tess_source_get_info(file->stack);
    const int64_t n = file->bins[bin].n_frame;
    const uint64_t bytes = (uint64_t)n * (uint64_t)n * (uint64_t)info->item_bytes;
    if (info->rank == 2) {
        TESS_TRY(tess_source_read(file->stack, 0, n, matrix, bytes));
    } else {
        TESS_TRY(tess_source_read(file->stack, bin, 1, matrix, bytes));
    }
    return tess_xp_file_complete(file, bin, matrix);
}

// Column bin of n frames [n_bin] into row i of a matrix.
static void take_column(const struct tess_xpcs_file *file, const void *items, int64_t i,
                        int64_t bin, void *matrix)
{
    const int64_t n = file->bins[bin].n_frame;
    const int64_t n_bin = file->info.n_bin;
    for (int64_t j = 0; j < n; j++) {
        if (file->info.dtype == TESS_F32) {
            ((float *)matrix)[i * n + j] = ((const float *)items)[j * n_bin + bin];
        } else {
            ((double *)matrix)[i * n + j] = ((const double *)items)[j * n_bin + bin];
        }
    }
}

static tess_status read_strided(struct tess_xpcs_file *file, int64_t bin, void *matrix)
{
    const int64_t n = file->bins[bin].n_frame;
    for (int64_t i = 0; i < n; i++) {
        const unsigned char *items = file->items;
        if (file->has_all) {
            items += (uint64_t)i * file->row_bytes;
        } else {
            TESS_TRY(tess_source_read(file->stack, i, 1, file->items, file->row_bytes));
        }
        take_column(file, items, i, bin, matrix);
    }
    return tess_xp_file_complete(file, bin, matrix);
}

// Every matrix takes a column of the last axis, which the whole array is gone through for: row by
// row where the rows can be read where they lie, else it has to be in memory.
static tess_status take_items(struct tess_xpcs_file *file)
{
    tess_context *ctx = file->ctx;
    tess_array array;
    tess_source_array(file->stack, &array);
    const uint64_t bytes = (uint64_t)tess_array_items(&array) * (uint64_t)array.item_bytes;
    file->row_bytes = bytes / (uint64_t)array.shape[0];
    file->has_all = !tess_source_is_direct(file->stack);
    file->item_bytes = file->has_all ? bytes : file->row_bytes;
    if (file->has_all && bytes > ctx->memory_limit_bytes / 2) {
        TESS_FAIL(TESS_E_LIMIT,
                  "%s: an array with the angles last takes %" PRIu64
                  " bytes, more than half of the memory limit (%" PRIu64
                  "); save it with the angles first",
                  file->path, bytes, ctx->memory_limit_bytes);
    }
    file->items =
        tess_heap_alloc(&ctx->heap, (size_t)file->item_bytes, TESS_TAG_IO, "the matrices");
    if (!file->items) {
        return TESS_E_MEMORY;
    }
    return file->has_all
               ? tess_source_read(file->stack, 0, array.shape[0], file->items, file->item_bytes)
               : TESS_OK;
}

void tess_xp_file_close_stack(struct tess_xpcs_file *file)
{
    if (file->items) {
        tess_heap_free(&file->ctx->heap, file->items, (size_t)file->item_bytes, TESS_TAG_IO);
        file->items = NULL;
    }
    tess_source_close(file->stack);
    file->stack = NULL;
}

static tess_status make_bins(struct tess_xpcs_file *file, int64_t n_bin, int64_t n_frame,
                             const char *dataset)
{
    const size_t bytes = strlen(dataset) + 1;
    const char *name =
        tess_blocks_copy(&file->memory, dataset, (int64_t)bytes, 1, "the name of a data set");
    file->bins = tess_blocks_alloc(&file->memory, n_bin, sizeof *file->bins, "a list of bins");
    if (!name || !file->bins) {
        return TESS_E_MEMORY;
    }
    for (int64_t k = 0; k < n_bin; k++) {
        file->bins[k] = (tess_xpcs_bin){.struct_size = sizeof *file->bins,
                                        .is_valid = 1,
                                        .number = k + 1,
                                        .n_frame = n_frame,
                                        .dataset = name};
    }
    file->info.n_bin = n_bin;
    file->info.bins = file->bins;
    return TESS_OK;
}

tess_status tess_xp_file_stack(struct tess_xpcs_file *file, const char *dataset,
                               int32_t angles_last)
{
    tess_source_config config;
    tess_source_config_init(&config, sizeof config);
    config.dataset = dataset;
    TESS_TRY(tess_source_open(file->ctx, file->path, &config, &file->stack));
    const tess_source_info *info = tess_source_get_info(file->stack);
    const char *name = info->dataset[0] ? info->dataset : "array";
    if (info->rank != 2 && info->rank != 3) {
        TESS_FAIL(TESS_E_SHAPE,
                  "%s: '%s' has %" PRId32
                  " axes; expected (angle, frame, frame), (frame, frame), or "
                  "(frame, frame, angle) with angles_last",
                  file->path, name, info->rank);
    }
    const bool is_first = info->rank == 3 && !angles_last;
    const int64_t *matrix = info->shape + (is_first ? 1 : 0);
    const int64_t n_bin = info->rank == 2 ? 1 : info->shape[is_first ? 0 : 2];
    TESS_TRY(tess_xp_file_check_matrix(file, name, matrix[0], matrix[1], info->dtype,
                                       tess_dtype_name((tess_dtype)info->dtype)));
    if (n_bin < 1) {
        TESS_FAIL(TESS_E_SHAPE, "%s: '%s' has no matrix", file->path, name);
    }
    TESS_TRY(make_bins(file, n_bin, matrix[0], name));
    file->info.dtype = info->dtype;
    file->info.filter = "none";
    file->held_bytes = tess_source_held_bytes(file->stack);
    const bool is_strided = info->rank == 3 && angles_last && n_bin > 1;
    file->read = is_strided ? read_strided : read_layer;
    // What lies in the file as it is has no reader's state to fight for.
    file->has_own_sources = !is_strided && tess_source_is_direct(file->stack);
    return is_strided ? take_items(file) : TESS_OK;
}

tess_status tess_xp_dataset_describe(struct tess_xpcs_file *file,
                                     const tess_xpcs_data_config *config)
{
    TESS_TRY(tess_xp_file_stack(file, config->c2_path, config->angles_last));
    if (!(config->q > 0) || !isfinite(config->q)) {
        TESS_FAIL(TESS_E_CONFIG, "q: got %g; expected the scattering vector in 1/Å, above 0",
                  config->q);
    }
    if (config->n_phi != file->info.n_bin) {
        TESS_FAIL(TESS_E_CONFIG,
                  "phi: got %" PRId64 " angles for the %" PRId64 " matrices of '%s'; give one in "
                  "degrees for each",
                  config->n_phi, file->info.n_bin, file->bins[0].dataset);
    }
    for (int64_t k = 0; k < file->info.n_bin; k++) {
        file->bins[k].q = config->q;
        file->bins[k].phi = config->phi[k];
    }
    file->q_tolerance = -1;
    return TESS_OK;
}
