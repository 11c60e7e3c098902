// The HTML report of a fit: what was found, how well it fits, and where it does not.
#include "systems/xpcs/report/page.h"

#include "base/file.h"
#include "base/status.h"
#include "systems/xpcs/result/record.h"
#include "tessera/run.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void fact(tess_xp_page *page, const char *name, const char *format, ...) TESS_PRINTF(3, 4);

static void fact(tess_xp_page *page, const char *name, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tess_html_fact(&page->html, name, text);
}

static void write_verdict(tess_xp_page *page)
{
    static const tess_html_grade grades[3] = {TESS_HTML_GOOD, TESS_HTML_CHECK, TESS_HTML_BAD};
    const tess_xpcs_result_info *info = page->info;
    const bool is_known = info->quality >= 0 && info->quality < 3;
    char text[128];
    snprintf(text, sizeof text, "fit %s", tess_xpcs_quality_name((tess_xpcs_quality)info->quality));
    tess_html_badge(&page->html, is_known ? grades[info->quality] : TESS_HTML_NEUTRAL, text);
    tess_html_badge(&page->html,
                    info->convergence == TESS_XPCS_CONVERGED ? TESS_HTML_GOOD : TESS_HTML_BAD,
                    tess_xpcs_convergence_name((tess_xpcs_convergence)info->convergence));
    snprintf(text, sizeof text, "reduced chi2 %.4g%s", info->reduced_chi2,
             info->sigma_is_default ? " (sigma is a default: chi2 not interpretable)" : "");
    tess_html_badge(&page->html, TESS_HTML_NEUTRAL, text);
    if (info->n_basin > 1) {
        snprintf(text, sizeof text, "%lld minima", (long long)info->n_basin);
        tess_html_badge(&page->html, TESS_HTML_NEUTRAL, text);
    }
}

// The noise that chi2 was measured by.
static void write_sigma(tess_xp_page *page, const char *mode)
{
    const tess_xpcs_result_info *info = page->info;
    double low = (double)INFINITY;
    double high = 0;
    for (int64_t a = 0; info->sigma && a < info->n_angle; a++) {
        low = fmin(low, info->sigma[a]);
        high = fmax(high, info->sigma[a]);
    }
    const char *given = info->sigma_is_default ? ", a default: not measured" : "";
    if (!(low <= high)) {
        fact(page, "sigma", "%s", mode);
    } else if (low == high) {
        fact(page, "sigma", "%.4g (%s%s)", low, mode, given);
    } else {
        fact(page, "sigma", "%.4g to %.4g by angle (%s%s)", low, high, mode, given);
    }
}

static void write_summary(tess_xp_page *page)
{
    const tess_xpcs_result_info *info = page->info;
    const char *kernel = tess_xpcs_kernel_name((tess_xpcs_kernel)info->kernel);
    char scaling[32];
    char loss[32];
    char sigma[32];
    tess_xp_choice("scaling", info->scaling, scaling);
    tess_xp_choice("loss", info->loss, loss);
    tess_xp_choice("sigma_mode", info->sigma_mode, sigma);
    tess_html_fact_begin(&page->html);
    fact(page, "data", "%s (%s)", tess_xp_data_name(info), page->data->info.layout);
    fact(page, "size", "%lld %s of %lld frames, %.6g s apart; %lld points fitted, %lld left out",
         (long long)info->n_angle, info->n_angle == 1 ? "angle" : "angles",
         (long long)info->n_frame, info->dt_s, (long long)info->n_used, (long long)info->n_masked);
    if (info->mode == TESS_XPCS_LAMINAR_FLOW) {
        fact(page, "model", "%s, shear kernel %s, gap %.6g Å",
             tess_xpcs_mode_name((tess_xpcs_mode)info->mode), kernel, info->gap_angstrom);
    } else {
        fact(page, "model", "%s", tess_xpcs_mode_name((tess_xpcs_mode)info->mode));
    }
    fact(page, "fit", "contrast and offset %s, loss %s; %lld free parameters", scaling, loss,
         (long long)info->n_free);
    write_sigma(page, sigma);
    fact(page, "chi2", "%.8g over %lld degrees of freedom; AIC %.8g, BIC %.8g", info->chi2,
         (long long)info->dof, info->aic, info->bic);
    fact(page, "solver", "%s %lld iterations, %lld passes over the data, condition %.3g",
         info->message ? info->message : "", (long long)info->n_iteration, (long long)info->n_pass,
         info->condition);
    fact(page, "run", "%.3f s on %s, strategy %s%s; Tessera %s", info->seconds[4],
         info->device ? info->device : "?", tess_strategy_name((tess_strategy)info->strategy),
         info->resumed ? ", resumed" : "", info->tessera_version ? info->tessera_version : "?");
    tess_html_fact_end(&page->html);
}

static void write_list(tess_xp_page *page, const char *heading, const char *lines)
{
    if (!lines || !*lines) {
        return;
    }
    tess_html_heading(&page->html, heading);
    tess_text_add(&page->html.text, "<ul>\n");
    while (*lines) {
        const size_t n = strcspn(lines, "\n");
        tess_text_add(&page->html.text, "<li>");
        tess_xp_printf(&page->html, "%.*s", n < 1000 ? (int)n : 1000, lines);
        tess_text_add(&page->html.text, "</li>\n");
        lines += n + (lines[n] == '\n');
    }
    tess_text_add(&page->html.text, "</ul>\n");
}

static void write_timing(tess_xp_page *page)
{
    static const char *const heads[] = {"stage", "seconds"};
    static const char *const names[5] = {"reading", "model and sums", "solver", "checkpoints",
                                         "all"};
    const tess_xpcs_result_info *info = page->info;
    char text[160];
    tess_html_heading(&page->html, "Time");
    tess_html_table_begin(&page->html, heads, 2);
    for (int i = 0; i < 5; i++) {
        snprintf(text, sizeof text, "%.3f", info->seconds[i]);
        const char *const row[] = {names[i], text};
        tess_html_table_row(&page->html, row, 2);
    }
    tess_html_table_end(&page->html);
    snprintf(text, sizeof text, "%.3g points a second, %.1f MiB at most.", info->points_per_s,
             (double)info->peak_bytes / (1 << 20));
    tess_html_paragraph(&page->html, text);
}

static void write_citation(tess_xp_page *page)
{
    char text[512];
    snprintf(text, sizeof text,
             "Fitted with Tessera %s (settings %s, data %s). The model is that of He et al., PNAS "
             "121 (2024), doi:10.1073/pnas.2401162121, and PNAS 122 (2025), "
             "doi:10.1073/pnas.2514216122.",
             page->info->tessera_version ? page->info->tessera_version : "?",
             page->info->config_hash ? page->info->config_hash : "?",
             page->info->data_fingerprint ? page->info->data_fingerprint : "?");
    tess_html_cite(&page->html, text);
}

static tess_status write_provenance(tess_xp_page *page)
{
    tess_xp_record record;
    char *text = NULL;
    size_t bytes = 0;
    tess_xp_record_init(&record, page->ctx, page->info, NULL);
    TESS_TRY(tess_xp_record_text(page->ctx, tess_xp_record_provenance, &record, &text, &bytes));
    tess_html_provenance(&page->html, text);
    tess_heap_free(&page->ctx->heap, text, bytes, TESS_TAG_RESULT);
    return TESS_OK;
}

static tess_status write_page(tess_xp_page *page)
{
    write_verdict(page);
    write_summary(page);
    tess_html_warnings(&page->html, page->info->warnings);
    write_list(page, "What was tried besides", page->info->recovery);
    write_list(page, "Notes on the data", page->data->info.notes);
    tess_xp_page_parameters(page);
    tess_xp_page_basins(page);
    TESS_TRY(tess_xp_page_rates(page));
    tess_xp_page_correlations(page);
    tess_xp_page_angle_table(page);
    TESS_TRY(tess_xp_page_angles(page));
    tess_xp_page_residuals(page);
    TESS_TRY(tess_xp_page_convergence(page));
    write_timing(page);
    write_citation(page);
    return write_provenance(page);
}

tess_status tess_xp_report_of(tess_context *ctx, const tess_xpcs_result_info *info,
                              tess_xpcs_data *data, const tess_xpcs_model *model, const char *path,
                              int overwrite)
{
    if (!data || !model || !path) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s is NULL; a report needs result, data, model and path",
                  !data    ? "data"
                  : !model ? "model"
                           : "path");
    }
    TESS_TRY(tess_file_check_distinct(data->info.path, path));
    if (overwrite == 2 && tess_xp_is_written(ctx, info, path)) {
        return TESS_OK;
    }
    if (overwrite != 1 && access(path, F_OK) == 0) {
        TESS_FAIL(TESS_E_EXISTS, "%s: exists already; pass --overwrite to replace it", path);
    }
    tess_xp_page page = {.ctx = ctx, .info = info, .data = data, .model = model};
    tess_blocks_init(&page.memory, &ctx->heap);
    page.lags = tess_blocks_alloc(&page.memory, info->n_frame, sizeof *page.lags, "the report");
    tess_status status = page.lags ? tess_xp_page_sweep(&page, 0) : TESS_E_MEMORY;
    if (status != TESS_OK) {
        tess_blocks_free(&page.memory);
        return status;
    }
    char title[256];
    snprintf(title, sizeof title, "Two-time correlations: %.180s",
             info->data_path && info->data_path[0] ? tess_xp_data_name(info) : "fit");
    const tess_origin origin = {.stage = "xpcs.report", .identity = info->identity};
    tess_html_begin(&page.html, ctx, &origin, title);
    status = write_page(&page);
    if (status == TESS_OK) {
        status = tess_html_write(&page.html, path, overwrite == 1);
    }
    tess_html_destroy(&page.html);
    tess_xp_sweep_free(&page.sweep);
    tess_blocks_free(&page.memory);
    return status;
}
