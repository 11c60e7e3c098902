// The table of models as a page, or as JSON.
#include "tessera/xpcs/compare.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status.h"
#include "page/html.h"
#include "page/html_table.h"
#include "runtime/context.h"
#include "runtime/origin.h"
#include "tessera/device.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COLUMNS = 10, CELL = 96 };

static void put_row(tess_json *json, const tess_xpcs_evidence *e)
{
    const struct {
        const char *name;
        double value;
    } reals[] = {{"log_evidence", e->log_evidence},
                 {"log_evidence_error", e->error},
                 {"probability", e->probability},
                 {"log_bayes_factor", e->log_bayes_factor},
                 {"log_bayes_factor_error", e->log_bayes_factor_error},
                 {"bridge", e->bridge},
                 {"bridge_error", e->bridge_error},
                 {"importance", e->importance},
                 {"importance_error", e->importance_error},
                 {"pareto_k", e->pareto_k},
                 {"laplace", e->laplace},
                 {"r_hat", e->r_hat},
                 {"chi2", e->chi2},
                 {"aic", e->aic},
                 {"bic", e->bic}};
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "model", tess_xpcs_mode_name((tess_xpcs_mode)e->mode));
    for (size_t k = 0; k < sizeof reals / sizeof *reals; k++) {
        tess_json_real(json, reals[k].name, reals[k].value);
    }
    tess_json_int(json, "n_free", e->n_free);
    tess_json_text(json, "verdict",
                   tess_xpcs_bayes_words(e->log_bayes_factor, e->log_bayes_factor_error));
    tess_json_bool(json, "is_converged", e->is_converged);
    tess_json_bool(json, "is_doubtful", e->is_doubtful);
    tess_json_text(json, "notes", e->notes);
    tess_json_object_end(json);
}

static void put_all(tess_context *ctx, tess_json *json, const tess_xpcs_evidence *rows, int64_t n)
{
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.xpcs.compare/1");
    tess_json_object_begin(json, TESS_ORIGIN_NAME);
    tess_origin_head(json, "xpcs.compare", ctx->command);
    tess_json_object_end(json);
    tess_json_array_begin(json, "models");
    for (int64_t k = 0; k < n; k++) {
        put_row(json, &rows[k]);
    }
    tess_json_array_end(json);
    tess_json_object_end(json);
}

tess_status tess_xpcs_compare_json(tess_context *ctx, const tess_xpcs_evidence *rows, int64_t n,
                                   char **text)
{
    tess_error_clear();
    if (!ctx || !rows || n < 1 || !text) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s", !text ? "text: NULL" : "context or rows: NULL");
    }
    tess_json *json = NULL;
    TESS_TRY(tess_json_create(ctx, 2, &json));
    put_all(ctx, json, rows, n);
    return tess_json_hand_out(json, text);
}

static tess_status write_json(tess_context *ctx, const tess_xpcs_evidence *rows, int64_t n,
                              const char *path, int overwrite)
{
    char *text = NULL;
    TESS_TRY(tess_xpcs_compare_json(ctx, rows, n, &text));
    const tess_status status = tess_file_write_text(path, text, overwrite);
    tess_text_free(text);
    return status;
}

// Nothing where there is no such estimate.
static void put_estimate(char text[CELL], double value, double error)
{
    text[0] = '\0';
    if (!isnan(value)) {
        snprintf(text, CELL, "%.2f ± %.2f", value, error);
    }
}

static void write_table(tess_html *html, const tess_xpcs_evidence *rows, int64_t n)
{
    static const char *const heads[COLUMNS] = {
        "model",   "probability", "ln evidence", "ln Bayes factor",
        "verdict", "bridge",      "importance",  "Pareto k",
        "AIC",     "BIC"};
    tess_html_table_begin(html, heads, COLUMNS);
    for (int64_t k = 0; k < n; k++) {
        const tess_xpcs_evidence *e = &rows[k];
        char cells[COLUMNS][CELL];
        const char *list[COLUMNS];
        snprintf(cells[0], CELL, "%s", tess_xpcs_mode_name((tess_xpcs_mode)e->mode));
        snprintf(cells[1], CELL, "%.4g", e->probability);
        snprintf(cells[2], CELL, "%.2f ± %.2f", e->log_evidence, e->error);
        snprintf(cells[3], CELL, "%.2f ± %.2f", e->log_bayes_factor, e->log_bayes_factor_error);
        snprintf(cells[4], CELL, "%s",
                 tess_xpcs_bayes_words(e->log_bayes_factor, e->log_bayes_factor_error));
        put_estimate(cells[5], e->bridge, e->bridge_error);
        put_estimate(cells[6], e->importance, e->importance_error);
        snprintf(cells[7], CELL, "%.2f", e->pareto_k);
        snprintf(cells[8], CELL, "%.1f", e->aic);
        snprintf(cells[9], CELL, "%.1f", e->bic);
        for (int c = 0; c < COLUMNS; c++) {
            list[c] = cells[c];
        }
        tess_html_table_row(html, list, COLUMNS);
    }
    tess_html_table_end(html);
}

static tess_status write_page(tess_context *ctx, const tess_xpcs_evidence *rows, int64_t n,
                              const char *path, int overwrite)
{
    const tess_origin origin = {.stage = "xpcs.compare"};
    tess_html html;
    tess_html_begin(&html, ctx, &origin, "Models compared");
    for (int64_t k = 0; k < n; k++) {
        char warning[400];
        if (rows[k].is_doubtful) {
            snprintf(warning, sizeof warning, "%s: %s",
                     tess_xpcs_mode_name((tess_xpcs_mode)rows[k].mode), rows[k].notes);
            tess_html_warning(&html, warning);
        }
    }
    tess_html_heading(&html, "Evidence");
    write_table(&html, rows, n);
    tess_html_paragraph(
        &html, "Evidence is the density of the data, all parameters, contrasts, offsets and the "
               "noise integrated over their priors; probabilities take all models as equally "
               "likely before. Points are taken as independent: where they share frames, "
               "differences are too large.");
    const tess_status status = tess_html_write(&html, path, overwrite);
    tess_html_destroy(&html);
    return status;
}

tess_status tess_xpcs_compare_write(tess_context *ctx, const tess_xpcs_evidence *rows, int64_t n,
                                    const char *path, int overwrite)
{
    tess_error_clear();
    if (!ctx || !rows || n < 1 || !path) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s", !path ? "path: NULL" : "context or rows: NULL");
    }
    const size_t length = strlen(path);
    const bool is_json = length > 5 && strcmp(path + length - 5, ".json") == 0;
    return is_json ? write_json(ctx, rows, n, path, overwrite)
                   : write_page(ctx, rows, n, path, overwrite);
}
