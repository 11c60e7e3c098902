#include "systems/xpcs/report/folder.h"

#include "base/file.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/origin.h"
#include "runtime/source.h"
#include "systems/xpcs/report/maps.h"
#include "systems/xpcs/report/page.h"
#include "systems/xpcs/result/arrays.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1000 };

// Surfaces of more points are written on request only.
static const int64_t SURFACE_POINTS = 10 * 1000 * 1000;

typedef struct writing {
    tess_context *ctx;
    tess_xp_record record;
    tess_xpcs_data *data;
    const tess_xpcs_model *model;
    const char *folder;
    tess_xpcs_write_config config;
    bool has_surfaces;
    bool is_resumed; // files of this very fit stay
} writing;

void tess_xpcs_write_config_init(tess_xpcs_write_config *config, size_t struct_size)
{
    const tess_xpcs_write_config defaults = {.surfaces = -1, .hdf5 = -1, .report = 1};
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

static tess_status path_of(const writing *w, const char *name, char path[PATH_BYTES])
{
    if (snprintf(path, PATH_BYTES, "%s/%s", w->folder, name) >= PATH_BYTES) {
        TESS_FAIL(TESS_E_CREATE, "%.80s...: path is too long", w->folder);
    }
    return TESS_OK;
}

// An earlier run left it: it is whole, as every file that has its name.
static bool is_done(const writing *w, const char *path)
{
    return w->is_resumed && tess_xp_is_written(w->ctx, w->record.info, path);
}

// The first file tells whose the folder is. What else an earlier fit left there is replaced.
static tess_status find_own(writing *w)
{
    char path[PATH_BYTES];
    if (w->config.overwrite == 2) {
        TESS_TRY(path_of(w, "nlsq/parameters.json", path));
        w->is_resumed = tess_xp_is_written(w->ctx, w->record.info, path);
        w->config.overwrite = w->is_resumed;
    }
    return TESS_OK;
}

// Before any work: none of the files is that of the data, and without overwrite none is there.
static tess_status check_absent(const writing *w)
{
    const struct {
        const char *name;
        bool is_wanted;
    } files[] = {{"nlsq/parameters.json", true},
                 {"nlsq/analysis_results_nlsq.json", true},
                 {"nlsq/convergence_metrics.json", true},
                 {"nlsq/fitted_data.npz", w->has_surfaces},
                 {"result.h5", w->config.hdf5 != 0},
                 {"report.html", w->config.report != 0},
                 {"homodyne_results.npz", w->config.npz != 0}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[PATH_BYTES];
        TESS_TRY(path_of(w, files[i].name, path));
        TESS_TRY(tess_file_check_distinct(w->data->info.path, path));
        if (files[i].is_wanted && !w->config.overwrite && access(path, F_OK) == 0) {
            TESS_FAIL(TESS_E_EXISTS, "%s: exists already; pass --overwrite to replace it", path);
        }
    }
    return TESS_OK;
}

// Spools and archive, which are there at the same time.
static tess_status check_disk(const writing *w)
{
    uint64_t free_bytes;
    if (!w->has_surfaces) {
        return TESS_OK;
    }
    TESS_TRY(tess_file_disk_free(w->folder, &free_bytes));
    const uint64_t one = tess_xp_surfaces_bytes(&w->data->info);
    const uint64_t needed = 2 * one + (w->config.hdf5 ? one / 3 : 0);
    if (needed > free_bytes) {
        TESS_FAIL(TESS_E_IO,
                  "%s: the parameters are written, but the fitted matrices need %llu bytes and the "
                  "disk has %llu free; choose another disk, or leave them out (--no-surfaces)",
                  w->folder, (unsigned long long)needed, (unsigned long long)free_bytes);
    }
    return TESS_OK;
}

static tess_status write_text(const writing *w, const char *name, tess_xp_record_writer writer)
{
    char path[PATH_BYTES];
    char *text = NULL;
    size_t bytes = 0;
    TESS_TRY(path_of(w, name, path));
    if (is_done(w, path)) {
        return TESS_OK;
    }
    TESS_TRY(tess_xp_record_text(w->ctx, writer, &w->record, &text, &bytes));
    const tess_status status = tess_file_write_text(path, text, w->config.overwrite);
    tess_heap_free(&w->ctx->heap, text, bytes, TESS_TAG_RESULT);
    return status;
}

static tess_status write_archives(const writing *w)
{
    char npz[PATH_BYTES];
    char h5[PATH_BYTES];
    char summary[PATH_BYTES];
    TESS_TRY(path_of(w, "homodyne_results.npz", summary));
    if (w->config.npz && !is_done(w, summary)) {
        TESS_TRY(tess_xp_write_archive(w->ctx, &w->record, NULL, summary, w->config.overwrite));
    }
    TESS_TRY(path_of(w, "nlsq/fitted_data.npz", npz));
    TESS_TRY(path_of(w, "result.h5", h5));
    const bool wants_npz = w->has_surfaces && !is_done(w, npz);
    const bool wants_h5 = w->config.hdf5 && !is_done(w, h5);
    tess_xp_surfaces surfaces = {0};
    tess_status status = TESS_OK;
    if (wants_npz || (wants_h5 && w->has_surfaces)) {
        status = tess_xp_surfaces_make(w->ctx, w->record.info, w->data, w->model, npz, &surfaces);
    }
    if (status == TESS_OK && wants_npz) {
        status = tess_xp_write_fitted_data(w->ctx, &w->record, w->data, &surfaces, npz,
                                           w->config.overwrite);
    }
    if (status == TESS_OK && wants_h5) {
        status = tess_xp_write_archive(w->ctx, &w->record, w->has_surfaces ? &surfaces : NULL, h5,
                                       w->config.overwrite);
    }
    tess_xp_surfaces_free(&surfaces);
    return status;
}

static tess_status write_pictures(const writing *w)
{
    char path[PATH_BYTES];
    if (w->config.figures) {
        TESS_TRY(path_of(w, "nlsq", path));
        TESS_TRY(tess_xp_figures_of(w->ctx, w->record.info, w->data, w->model, path,
                                    w->is_resumed ? 2 : w->config.overwrite));
    }
    if (w->config.report) {
        TESS_TRY(path_of(w, "report.html", path));
        return is_done(w, path) ? TESS_OK
                                : tess_xp_report_of(w->ctx, w->record.info, w->data, w->model, path,
                                                    w->config.overwrite);
    }
    return TESS_OK;
}

static tess_status check(const writing *w)
{
    if (!w->data || !w->model || !w->folder || !w->folder[0]) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "%s is %s; results need the data and model that were fitted and "
                  "a folder",
                  !w->data    ? "data"
                  : !w->model ? "model"
                              : "folder",
                  w->folder && !w->folder[0] ? "empty" : "NULL");
    }
    return TESS_OK;
}

tess_status tess_xp_result_write_of(tess_context *ctx, const tess_xpcs_result_info *info,
                                    tess_xpcs_data *data, const tess_xpcs_model *model,
                                    const char *folder, const tess_xpcs_write_config *config)
{
    writing w = {.ctx = ctx, .data = data, .model = model, .folder = folder};
    char path[PATH_BYTES];
    tess_xpcs_write_config_init(&w.config, sizeof w.config);
    if (config) {
        TESS_TRY(tess_struct_read(config, &w.config, sizeof w.config, "config"));
    }
    TESS_TRY(check(&w));
    if (w.config.hdf5 < 0) {
        const tess_format *format = NULL;
        w.config.hdf5 = tess_format_for_writing(ctx, "result.h5", &format) == TESS_OK;
    }
    w.has_surfaces =
        w.config.surfaces > 0 || (w.config.surfaces < 0 && data->info.n_point < SURFACE_POINTS);
    tess_xp_record_init(&w.record, ctx, info, tess_origin_command(ctx, w.config.command_line));
    TESS_TRY(path_of(&w, "nlsq", path));
    TESS_TRY(tess_file_make_folders(path));
    TESS_TRY(find_own(&w));
    TESS_TRY(check_absent(&w));
    // What hours of work found comes first, and is there even if the rest finds no room.
    TESS_TRY(write_text(&w, "nlsq/parameters.json", tess_xp_record_parameters));
    TESS_TRY(write_text(&w, "nlsq/analysis_results_nlsq.json", tess_xp_record_analysis));
    TESS_TRY(write_text(&w, "nlsq/convergence_metrics.json", tess_xp_record_convergence));
    TESS_TRY(check_disk(&w));
    TESS_TRY(write_archives(&w));
    return write_pictures(&w);
}
