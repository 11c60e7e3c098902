// The HTML report of a fit: what was chosen, what was rejected, and what it did to the averages.
#include "base/file.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/provenance.h"
#include "systems/autoreject/report/page.h"
#include "systems/autoreject/result/model.h"
#include "systems/autoreject/text/citation.h"

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
static tess_status identify(const tess_ar_page *page, const tess_autoreject_model *model,
                            char identity[33])
{
    char digests[2][33];
    tess_hash hash = {0, 0};
    TESS_TRY(tess_ar_model_digest(page->ctx, model, digests[0]));
    tess_ar_log_digest(page->whole_log, digests[1]);
    tess_hash_mix(&hash, digests, sizeof digests);
    tess_hash_mix(&hash, TESS_VERSION, sizeof TESS_VERSION);
    tess_hash_mix(&hash, &page->config.n_trace, sizeof page->config.n_trace);
    tess_hash_mix(&hash, &page->config.trace_bytes, sizeof page->config.trace_bytes);
    tess_hash_mix(&hash, page->epochs ? "epochs" : "", page->epochs ? 6 : 0);
    tess_hash_text(hash, identity);
    return TESS_OK;
}

static tess_status write_with_epochs(tess_ar_page *page, tess_ar_traces *traces)
{
    tess_ar_sums sums = {0};
    TESS_TRY(tess_ar_page_pass(page, traces, &sums));
    TESS_TRY(tess_ar_page_matrix(page, &sums));
    tess_ar_traces_draw(traces);
    TESS_TRY(tess_ar_page_averages(page, &sums));
    TESS_TRY(tess_ar_page_heads(page));
    tess_ar_page_loss(page);
    tess_ar_page_channels(page);
    tess_ar_page_epochs(page, traces, &sums);
    return TESS_OK;
}

static tess_status write_parts(tess_ar_page *page)
{
    const tess_autoreject_epochs_info *info = page->epochs_info;
    TESS_TRY(tess_ar_page_match(page));
    tess_ar_page_verdict(page);
    if (info && info->n_epoch > 0 && info->n_time > 0) {
        tess_ar_traces *traces = NULL;
        tess_status status = tess_ar_traces_create(page, &traces);
        if (status == TESS_OK) {
            status = write_with_epochs(page, traces);
        }
        tess_ar_traces_destroy(traces);
        TESS_TRY(status);
    } else {
        TESS_TRY(tess_ar_page_matrix(page, NULL));
        tess_ar_page_loss(page);
        tess_ar_page_channels(page);
        tess_ar_page_epochs(page, NULL, NULL);
    }
    tess_ar_page_curves(page);
    tess_html_cite(&page->html, TESS_AR_CITATION);
    return TESS_OK;
}

tess_status tess_autoreject_report(tess_context *ctx, const tess_autoreject_model *model,
                                   const tess_autoreject_log *log, tess_autoreject_epochs *epochs,
                                   const tess_autoreject_report_config *config,
                                   const char *provenance, const char *path, int overwrite)
{
    tess_error_clear();
    TESS_TRY(check(model, log, epochs, path));
    tess_ar_page page = {.ctx = ctx,
                         .model = tess_autoreject_model_get_info(model),
                         .whole_log = log,
                         .log = tess_autoreject_log_get_info(log),
                         .epochs = epochs,
                         .epochs_info = epochs ? tess_autoreject_epochs_get_info(epochs) : NULL};
    tess_autoreject_report_config_init(&page.config, sizeof page.config);
    if (config) {
        TESS_TRY(tess_struct_read(config, &page.config, sizeof page.config, "config"));
        TESS_TRY(tess_params_check(tess_autoreject_report_params(), &page.config));
    }
    char identity[33];
    TESS_TRY(identify(&page, model, identity));
    const tess_origin origin = {.stage = "autoreject.report",
                                .identity = identity,
                                .inputs = {log->input && log->input[0] ? log->input : NULL},
                                .tables = {tess_autoreject_report_params()},
                                .values = {&page.config}};
    tess_blocks_init(&page.memory, &ctx->heap);
    tess_html_begin(&page.html, ctx, &origin, "Rejection and repair of epochs");
    tess_status status = write_parts(&page);
    if (provenance) {
        tess_html_provenance(&page.html, provenance);
    }
    if (status == TESS_OK) {
        const int is_own = overwrite == 2 && tess_provenance_is_of(ctx, path, identity);
        status = tess_html_write(&page.html, path, overwrite == 1 || is_own);
    }
    tess_html_destroy(&page.html);
    tess_blocks_free(&page.memory);
    return status;
}
