// The folder of draws.
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/identity.h"
#include "runtime/origin.h"
#include "runtime/provenance.h"
#include "runtime/source.h"
#include "systems/xpcs/draws/files.h"
#include "systems/xpcs/xpcs.h"

#include <stdio.h>
#include <unistd.h>

enum { PATH_BYTES = 1000 };

static const int64_t SURFACE_POINTS = 10 * 1000 * 1000; // as of a fit

// What tells these draws from any others: the fit they began from, and how they were made.
static tess_status identify(tess_xp_draws *d)
{
    const tess_param_table *tables[] = {tess_xpcs_sample_params()};
    const void *values[] = {d->config};
    tess_identity id;
    tess_identity_init(&id, d->ctx, "xpcs.sample", d->fit->device ? d->fit->device : "");
    tess_identity_add(&id, "of another fit", d->fit->identity ? d->fit->identity : "");
    tess_identity_add_settings(&id, NULL, tables, values, 1, NULL);
    for (int64_t row = 0; row < d->told->n_row; row++) { // priors that no table has
        char text[80];
        snprintf(text, sizeof text, "%.17g %.17g", d->told->rows[row].prior_mean,
                 d->told->rows[row].prior_sd);
        tess_identity_add(&id, "the priors differ", text);
    }
    tess_identity_digest(&id, d->identity);
    tess_identity_free(&id);
    return TESS_OK;
}

tess_status tess_xp_draws_open(tess_context *ctx, const tess_xpcs_posterior_info *draws,
                               const tess_xpcs_diagnosis *diagnosis, const tess_xpcs_result *fit,
                               const tess_xpcs_sample_config *given,
                               tess_xpcs_sample_config *config, tess_xp_draws *out)
{
    if (!ctx || !draws || !diagnosis || !fit) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s is NULL",
                  !ctx         ? "context"
                  : !draws     ? "draws"
                  : !diagnosis ? "diagnosis"
                               : "fit");
    }
    tess_xpcs_sample_config_init(config, sizeof *config);
    if (given) {
        TESS_TRY(tess_struct_read(given, config, sizeof *config, "config"));
    }
    *out = (tess_xp_draws){.ctx = ctx,
                           .draws = draws,
                           .told = tess_xpcs_diagnosis_get_info(diagnosis),
                           .fit = tess_xpcs_result_get_info(fit),
                           .config = config,
                           .command_line = tess_origin_command(ctx, NULL)};
    if (out->told->n_chain != draws->n_chain || out->told->n_draw != draws->n_draw ||
        out->told->n_param != draws->n_param || out->fit->n_param != draws->n_param ||
        out->fit->n_angle != draws->n_angle) {
        TESS_FAIL(TESS_E_MISMATCH, "diagnosis or fit: of other draws than these");
    }
    tess_utc_text(out->timestamp, sizeof out->timestamp);
    return identify(out);
}

typedef struct writing {
    tess_xp_draws d;
    const char *folder;
    tess_xpcs_write_config config;
} writing;

static tess_status path_of(const writing *w, const char *name, char path[PATH_BYTES])
{
    if (snprintf(path, PATH_BYTES, "%s/cmc%s%s", w->folder, name[0] ? "/" : "", name) >=
        PATH_BYTES) {
        TESS_FAIL(TESS_E_CREATE, "%.80s...: path is too long", w->folder);
    }
    return TESS_OK;
}

// With overwrite 2 what is of these very draws stays, and what is of others is refused.
static tess_status choose(const writing *w, const char *name, char path[PATH_BYTES], bool *is_done,
                          int *overwrite)
{
    TESS_TRY(path_of(w, name, path));
    const bool is_there = access(path, F_OK) == 0;
    *overwrite = w->config.overwrite == 1;
    *is_done = w->config.overwrite == 2 && is_there &&
               tess_provenance_is_of(w->d.ctx, path, w->d.identity);
    if (is_there && !*is_done && !*overwrite) {
        TESS_FAIL(TESS_E_EXISTS, "%s: exists already; pass --overwrite to replace it", path);
    }
    return TESS_OK;
}

static tess_status write_text(const writing *w, const char *name, tess_xp_draws_writer writer)
{
    char path[PATH_BYTES];
    char *text = NULL;
    size_t bytes = 0;
    bool is_done = false;
    int overwrite = 0;
    TESS_TRY(choose(w, name, path, &is_done, &overwrite));
    if (is_done) {
        return TESS_OK;
    }
    TESS_TRY(tess_xp_draws_text(&w->d, writer, &text, &bytes));
    const tess_status status = tess_file_write_text(path, text, overwrite);
    tess_heap_free(&w->d.ctx->heap, text, bytes, TESS_TAG_RESULT);
    return status;
}

static tess_status write_arrays(const writing *w, tess_xpcs_data *data,
                                const tess_xpcs_model *model)
{
    char path[PATH_BYTES];
    bool is_done = false;
    int overwrite = 0;
    const bool is_wanted =
        w->config.surfaces > 0 || (w->config.surfaces < 0 && w->d.fit->n_point < SURFACE_POINTS);
    TESS_TRY(choose(w, "samples.npz", path, &is_done, &overwrite));
    if (!is_done) {
        TESS_TRY(tess_xp_draws_samples(&w->d, path, overwrite));
    }
    if (w->config.hdf5) {
        TESS_TRY(choose(w, "inference_data.nc", path, &is_done, &overwrite));
        if (!is_done) {
            TESS_TRY(tess_xp_draws_netcdf(&w->d, is_wanted ? data : NULL, path, overwrite));
        }
    }
    if (!data || !model || !is_wanted) {
        return TESS_OK;
    }
    TESS_TRY(choose(w, "fitted_data.npz", path, &is_done, &overwrite));
    return is_done ? TESS_OK : tess_xp_draws_fitted(&w->d, data, model, path, overwrite);
}

tess_status tess_xpcs_draws_write(tess_context *ctx, const tess_xpcs_posterior_info *draws,
                                  const tess_xpcs_diagnosis *diagnosis, const tess_xpcs_result *fit,
                                  const tess_xpcs_sample_config *config, tess_xpcs_data *data,
                                  const tess_xpcs_model *model, const char *folder,
                                  const tess_xpcs_write_config *write_config)
{
    tess_error_clear();
    writing w = {.folder = folder};
    tess_xpcs_sample_config known;
    char path[PATH_BYTES];
    TESS_TRY(tess_xp_draws_open(ctx, draws, diagnosis, fit, config, &known, &w.d));
    if (!folder || !folder[0]) {
        TESS_FAIL(TESS_E_ARGUMENT, "folder is %s", folder ? "empty" : "NULL");
    }
    tess_xpcs_write_config_init(&w.config, sizeof w.config);
    if (write_config) {
        TESS_TRY(tess_struct_read(write_config, &w.config, sizeof w.config, "write_config"));
    }
    if (w.config.hdf5 < 0) {
        const tess_format *format = NULL;
        w.config.hdf5 = tess_format_for_writing(ctx, "draws.h5", &format) == TESS_OK;
    }
    w.d.command_line = tess_origin_command(ctx, w.config.command_line);
    TESS_TRY(path_of(&w, "", path));
    TESS_TRY(tess_file_make_folders(path));
    TESS_TRY(write_text(&w, "parameters.json", tess_xp_draws_parameters));
    TESS_TRY(write_text(&w, "diagnostics.json", tess_xp_draws_diagnostics));
    TESS_TRY(write_text(&w, "analysis_results_cmc.json", tess_xp_draws_analysis));
    return write_arrays(&w, data, model);
}

tess_status tess_xpcs_draws_json(tess_context *ctx, const tess_xpcs_posterior_info *draws,
                                 const tess_xpcs_diagnosis *diagnosis, const tess_xpcs_result *fit,
                                 const tess_xpcs_sample_config *config, char **text)
{
    tess_error_clear();
    tess_xp_draws d;
    tess_xpcs_sample_config known;
    tess_json *json = NULL;
    if (!text) {
        TESS_FAIL(TESS_E_ARGUMENT, "text is NULL");
    }
    *text = NULL;
    TESS_TRY(tess_xp_draws_open(ctx, draws, diagnosis, fit, config, &known, &d));
    TESS_TRY(tess_json_create_on(&ctx->heap, 2, &json));
    tess_xp_draws_whole(json, &d);
    return tess_json_hand_out(json, text);
}
