#include "systems/xpcs/files/flat.h"

#include "base/status.h"
#include "systems/xpcs/files/select.h"
#include "systems/xpcs/store/txc2.h"

#include <inttypes.h>
#include <math.h>

static tess_status make_bins(struct tess_xpcs_file *file, const tess_xpcs_data_info *info)
{
    file->bins = tess_blocks_alloc(&file->memory, info->n_angle, sizeof *file->bins, "bins");
    if (!file->bins) {
        return TESS_E_MEMORY;
    }
    for (int64_t a = 0; a < info->n_angle; a++) {
        file->bins[a] = (tess_xpcs_bin){.struct_size = sizeof *file->bins,
                                        .is_valid = 1,
                                        .number = a + 1,
                                        .n_frame = info->n_frame,
                                        .q = info->q[a],
                                        .phi = info->phi[a],
                                        .dataset = ""};
    }
    file->info.bins = file->bins;
    file->info.n_bin = info->n_angle;
    file->info.dtype = info->dtype;
    file->info.dt_s = info->dt_s;
    file->info.frame_time_s = info->dt_s;
    file->info.filter = "none";
    tess_text_add(&file->notes, info->notes);
    if (info->notes[0]) {
        tess_text_add(&file->notes, "\n");
    }
    return TESS_OK;
}

tess_status tess_xp_flat_describe(struct tess_xpcs_file *file)
{
    tess_xpcs_data *data = NULL;
    file->info.layout = "txc2";
    TESS_TRY(tess_xp_txc2_open(file->ctx, file->path, &data));
    const tess_status status = make_bins(file, tess_xpcs_data_get_info(data));
    tess_xpcs_data_destroy(data);
    return status;
}

static tess_status check_selection(const tess_xpcs_data_info *info, const char *path,
                                   const tess_xpcs_data_config *config)
{
    const bool is_default = config->start_frame == 1 && config->end_frame == -1;
    const int64_t end = config->end_frame == -1 ? info->end_frame : config->end_frame;
    if (!is_default && (config->start_frame != info->start_frame || end != info->end_frame)) {
        TESS_FAIL(TESS_E_CONFIG,
                  "%s: holds frames %" PRId64 " to %" PRId64 ", and start_frame and end_frame ask "
                  "for %" PRId64 " to %" PRId64 "; convert the original with these",
                  path, info->start_frame, info->end_frame, config->start_frame, end);
    }
    if (config->filter) {
        TESS_FAIL(TESS_E_CONFIG,
                  "%s: data_filtering chooses matrices of HDF5 files and caches; this file holds "
                  "what was chosen when it was made: convert again with the filter",
                  path);
    }
    for (int64_t a = 0; a < info->n_angle && config->n_phi_range > 0; a++) {
        if (!tess_xp_in_ranges(info->phi[a], config->phi_ranges, config->n_phi_range)) {
            TESS_FAIL(TESS_E_CONFIG,
                      "%s: holds an angle of %g degrees, which is in none of phi_ranges; convert "
                      "the original with these",
                      path, info->phi[a]);
        }
    }
    if (config->n_bad_frame > 0 || config->exclude_lags > 1 || config->sigma_dataset) {
        TESS_FAIL(TESS_E_CONFIG,
                  "%s: %s cannot be applied to a .txc2 file; convert the original with it", path,
                  config->n_bad_frame > 0    ? "bad_frames"
                  : config->exclude_lags > 1 ? "exclude_lags"
                                             : "sigma_dataset");
    }
    return TESS_OK;
}

tess_status tess_xp_flat_open(tess_context *ctx, const char *path,
                              const tess_xpcs_data_config *config, tess_xpcs_data **out)
{
    tess_xpcs_data *data = NULL;
    TESS_TRY(tess_xp_txc2_open(ctx, path, &data));
    tess_xpcs_data_info *info = &data->info;
    const tess_status status = check_selection(info, path, config);
    if (status != TESS_OK) {
        tess_xpcs_data_destroy(data);
        return status;
    }
    if (config->dt_s > 0 && fabs(config->dt_s - info->dt_s) > 0.01 * info->dt_s) {
        tess_xp_data_note(data,
                          "dt is configured as %g s, but the file says %g s; the configured "
                          "one is used",
                          config->dt_s, info->dt_s);
    }
    info->dt_s = config->dt_s > 0 ? config->dt_s : info->dt_s;
    info->gap_angstrom = config->gap_angstrom > 0 ? config->gap_angstrom : info->gap_angstrom;
    *out = data;
    return TESS_OK;
}
