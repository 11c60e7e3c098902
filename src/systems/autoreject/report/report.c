// The HTML report of a fit: what was chosen, what was rejected, and what it did to the averages.
#include "base/file.h"
#include "base/hash.h"
#include "base/status.h"
#include "runtime/provenance.h"
#include "systems/autoreject/report/page.h"
#include "systems/autoreject/result/model.h"

#include <stdio.h>
#include <string.h>

static void fact(tess_ar_page *page, const char *name, const char *format, ...) TESS_PRINTF(3, 4);

static void fact(tess_ar_page *page, const char *name, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tess_html_fact(&page->html, name, text);
}

static int64_t count_bad(const tess_autoreject_log_info *log)
{
    int64_t n = 0;
    for (int64_t e = 0; e < log->n_epoch; e++) {
        n += log->bad_epochs[e] != 0;
    }
    return n;
}

static int64_t count_label(const tess_autoreject_log_info *log, int8_t label)
{
    int64_t n = 0;
    for (int64_t i = 0; i < log->n_epoch * log->n_chan; i++) {
        n += log->labels[i] == label;
    }
    return n;
}

static void write_summary(tess_ar_page *page)
{
    static const char *const searches[] = {"exact", "compat", "grid", "random"};
    static const char *const modes[] = {"independent", "cumulative"};
    const tess_autoreject_model_info *m = page->model;
    const tess_autoreject_log_info *log = page->log;
    const int64_t n_bad = count_bad(log);

    tess_html_fact_begin(&page->html);
    if (page->epochs) {
        const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(page->epochs);
        fact(page, "input", "%s (%s)", info->path[0] ? info->path : "array", info->format);
    }
    fact(page, "epochs", "%lld, of them %lld bad (%.1f %%)", (long long)log->n_epoch,
         (long long)n_bad, log->n_epoch ? 100.0 * (double)n_bad / (double)log->n_epoch : 0);
    fact(page, "channels in single epochs", "%lld repaired, %lld bad and left",
         (long long)count_label(log, 2), (long long)count_label(log, 1));
    for (int64_t t = 0; t < m->n_type; t++) {
        const tess_autoreject_type_fit *fit = &m->types[t];
        fact(page, tess_autoreject_type_name(fit->type),
             "%lld channels, consensus %g, n_interpolate %lld", (long long)fit->n_chan,
             fit->consensus, (long long)fit->n_interpolate);
    }
    fact(page, "search", "%s, %lld splits, seed %lld; n_interpolate %s, %lld folds; %s",
         searches[m->search & 3], (long long)m->n_split, (long long)m->seed, modes[m->rho_mode & 1],
         (long long)m->n_fold,
         m->augment ? "with predicted channels" : "without predicted channels");
    fact(page, "fitted on", "%lld epochs of %lld samples at %g Hz", (long long)m->n_epoch,
         (long long)m->n_time, m->sampling_hz);
    fact(page, "time", "%.3f s: reading %.3f, thresholds %.3f, local search %.3f", m->seconds[3],
         m->seconds[0], m->seconds[1], m->seconds[2]);
    fact(page, "version", "Tessera %s", m->tessera_version);
    tess_html_fact_end(&page->html);
}

static void write_notes(tess_ar_page *page, const char *notes)
{
    for (const char *line = notes; line && *line;) {
        char copy[512];
        const size_t length = strcspn(line, "\n");
        snprintf(copy, sizeof copy, "%.*s", (int)length, line);
        tess_html_paragraph(&page->html, copy);
        line += length + (line[length] == '\n');
    }
}

static tess_status check(const tess_autoreject_model *model, const tess_autoreject_log *log,
                         tess_autoreject_epochs *epochs, const char *path)
{
    if (!model || !log || !path) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s is NULL; a report needs model, log and path",
                  !model ? "model"
                  : !log ? "log"
                         : "path");
    }
    const tess_autoreject_log_info *info = tess_autoreject_log_get_info(log);
    if (epochs) {
        const tess_autoreject_epochs_info *e = tess_autoreject_epochs_get_info(epochs);
        TESS_TRY(tess_file_check_distinct(e->path, path));
        if (e->n_epoch != info->n_epoch || e->sensors->n_chan != info->n_chan) {
            TESS_FAIL(TESS_E_SHAPE,
                      "log has %lld epochs x %lld channels but the epochs %lld x %lld; give the "
                      "epochs the log was computed from",
                      (long long)info->n_epoch, (long long)info->n_chan, (long long)e->n_epoch,
                      (long long)e->sensors->n_chan);
        }
    }
    return TESS_OK;
}

// Of the page: what it shows.
static tess_status identify(tess_context *ctx, const tess_autoreject_model *model,
                            const tess_autoreject_log *log, const tess_autoreject_epochs *epochs,
                            char identity[33])
{
    char digests[2][33];
    tess_hash hash = {0, 0};
    TESS_TRY(tess_ar_model_digest(ctx, model, digests[0]));
    tess_ar_log_digest(log, digests[1]);
    tess_hash_mix(&hash, digests, sizeof digests);
    tess_hash_mix(&hash, TESS_VERSION, sizeof TESS_VERSION);
    tess_hash_mix(&hash, epochs ? "epochs" : "", epochs ? 6 : 0);
    tess_hash_text(hash, identity);
    return TESS_OK;
}

tess_status tess_autoreject_report(tess_context *ctx, const tess_autoreject_model *model,
                                   const tess_autoreject_log *log, tess_autoreject_epochs *epochs,
                                   const char *provenance, const char *path, int overwrite)
{
    TESS_TRY(check(model, log, epochs, path));
    tess_ar_page page = {.ctx = ctx,
                         .model = tess_autoreject_model_get_info(model),
                         .log = tess_autoreject_log_get_info(log),
                         .epochs = epochs};
    char identity[33];
    TESS_TRY(identify(ctx, model, log, epochs, identity));
    const tess_origin origin = {.stage = "autoreject.report", .identity = identity};
    tess_html_begin(&page.html, ctx, &origin, "Rejection and repair of epochs");
    write_summary(&page);
    if (page.model->notes[0] || page.log->notes[0]) {
        tess_html_heading(&page.html, "Notes");
        write_notes(&page, page.model->notes);
        write_notes(&page, page.log->notes);
    }
    tess_ar_page_matrix(&page);
    tess_ar_page_loss(&page);
    tess_status status = TESS_OK;
    if (epochs) {
        status = tess_ar_page_averages(&page);
        tess_ar_page_topography(&page);
    }
    tess_ar_page_thresholds(&page);
    tess_ar_page_dropped(&page);
    if (provenance) {
        tess_html_heading(&page.html, "Provenance");
        tess_html_code(&page.html, provenance);
    }
    if (status == TESS_OK) {
        const int is_own = overwrite == 2 && tess_provenance_is_of(ctx, path, identity);
        status = tess_html_write(&page.html, path, overwrite == 1 || is_own);
    }
    tess_html_destroy(&page.html);
    return status;
}
