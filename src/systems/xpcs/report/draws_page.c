// The HTML report of draws: what they say, and whether they can be trusted.
#include "systems/xpcs/report/draws_page.h"

#include "base/file.h"
#include "base/status.h"
#include "runtime/provenance.h"
#include "systems/xpcs/report/page.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { N_HEAD = 10, CELL = 48 };

static void write_verdict(tess_xp_draws_page *page)
{
    const tess_xpcs_diagnosis_info *t = page->d->told;
    const char *name = tess_xpcs_chains_state_name((tess_xpcs_chains_state)t->state);
    char text[128];
    tess_html_badge(&page->html,
                    t->state == TESS_XPCS_CHAINS_CONVERGED ? TESS_HTML_GOOD : TESS_HTML_BAD, name);
    if (isnan(t->r_hat_max)) { // one chain
        snprintf(text, sizeof text, "R-hat unknown");
    } else {
        snprintf(text, sizeof text, "R-hat %.3f at most", t->r_hat_max);
    }
    tess_html_badge(&page->html, t->r_hat_max < 1.05 ? TESS_HTML_GOOD : TESS_HTML_CHECK, text);
    snprintf(text, sizeof text, "%.0f effective draws at least",
             fmin(t->ess_bulk_min, t->ess_tail_min));
    tess_html_badge(
        &page->html,
        fmin(t->ess_bulk_min, t->ess_tail_min) >= 400 ? TESS_HTML_GOOD : TESS_HTML_CHECK, text);
    snprintf(text, sizeof text, "%lld divergences", (long long)t->n_diverged_all);
    tess_html_badge(&page->html, t->n_diverged_all == 0 ? TESS_HTML_GOOD : TESS_HTML_CHECK, text);
}

static void write_facts(tess_xp_draws_page *page)
{
    const tess_xp_draws *d = page->d;
    const tess_xpcs_diagnosis_info *t = d->told;
    char text[256];
    tess_html_fact_begin(&page->html);
    snprintf(text, sizeof text, "%.200s", tess_xp_data_name(d->fit));
    tess_html_fact(&page->html, "data", text);
    tess_html_fact(&page->html, "model", tess_xpcs_mode_name((tess_xpcs_mode)d->fit->mode));
    snprintf(text, sizeof text, "%lld chains of %lld draws after %lld; %lld evaluations, %.2f s",
             (long long)t->n_chain, (long long)t->n_draw, (long long)d->config->n_warmup,
             (long long)d->draws->n_evaluation, d->draws->seconds);
    tess_html_fact(&page->html, "draws", text);
    snprintf(text, sizeof text,
             "acceptance %.3f for %.3f wanted; %.2f %% of the paths as long as allowed",
             t->accept_mean, d->config->target_accept, 100 * t->deepest_rate);
    tess_html_fact(&page->html, "paths", text);
    snprintf(text, sizeof text, "%.3f in the worst chain", t->bfmi_min);
    tess_html_fact(&page->html, "E-BFMI", text);
    tess_html_fact_end(&page->html);
}

static void write_row(tess_xp_draws_page *page, int64_t row)
{
    const tess_xpcs_summary *s = &page->d->told->rows[row];
    char cells[N_HEAD][CELL] = {{0}};
    const char *list[N_HEAD];
    tess_xp_with_error(s->mean, s->sd, cells[0], CELL);
    snprintf(cells[1], CELL, "%.5g", s->quantile[2]);
    snprintf(cells[2], CELL, "%.5g to %.5g", s->quantile[0], s->quantile[4]);
    if (!s->is_fixed) {
        snprintf(cells[3], CELL, "%.3f", s->r_hat);
        snprintf(cells[4], CELL, "%.0f", s->ess_bulk);
        snprintf(cells[5], CELL, "%.0f", s->ess_tail);
        snprintf(cells[6], CELL, "%.2g", s->mcse_mean);
        if (!isnan(s->contraction)) {
            snprintf(cells[7], CELL, "%.4f", s->contraction);
        }
        if (!isnan(s->distance)) {
            snprintf(cells[8], CELL, "%.2f", s->distance);
        }
    }
    list[0] = page->d->told->names[row];
    for (int k = 1; k < N_HEAD; k++) {
        list[k] = cells[k - 1];
    }
    tess_html_table_row(&page->html, list, N_HEAD);
}

static void write_table(tess_xp_draws_page *page)
{
    static const char *const heads[N_HEAD] = {
        "",         "mean ± sd", "median",        "5 to 95 %",   "R-hat",
        "ESS bulk", "tails",     "error of mean", "contraction", "from fit / sd"};
    tess_html_heading(&page->html, "Parameters");
    tess_html_table_begin(&page->html, heads, N_HEAD);
    for (int64_t row = 0; row < page->n_main; row++) {
        write_row(page, row);
    }
    tess_html_table_end(&page->html);
    tess_html_paragraph(&page->html,
                        page->d->fit->noise_photons > 0
                            ? "Draws are of photon counts of speckle, whose points share frames."
                            : "Draws take the points as independent. Points that share a frame are "
                              "not: use noise frames for intervals that hold.");
    if (page->d->told->n_row > page->n_main) {
        tess_html_fold_begin(&page->html, "angles", "Contrasts and offsets", false);
        tess_html_table_begin(&page->html, heads, N_HEAD);
        for (int64_t row = page->n_main; row < page->d->told->n_row; row++) {
            write_row(page, row);
        }
        tess_html_table_end(&page->html);
        tess_html_fold_end(&page->html);
    }
}

static tess_status write_page(tess_xp_draws_page *page)
{
    char *text = NULL;
    size_t bytes = 0;
    write_verdict(page);
    write_facts(page);
    tess_html_warnings(&page->html, page->d->told->warnings);
    write_table(page);
    tess_xp_draws_forest(page);
    tess_xp_draws_traces(page);
    TESS_TRY(tess_xp_draws_rates(page));
    TESS_TRY(tess_xp_draws_cuts(page));
    tess_xp_draws_pairs(page);
    tess_xp_draws_ranks(page);
    tess_xp_draws_mixing(page);
    tess_xp_draws_energy(page);
    tess_html_cite(&page->html,
                   "Sampled with Tessera: NUTS on all data, contrast and offset integrated out. "
                   "R-hat and effective draws are those of Vehtari et al., Bayesian Analysis 16 "
                   "(2021), doi:10.1214/20-BA1221.");
    TESS_TRY(tess_xp_draws_text(page->d, tess_xp_draws_provenance, &text, &bytes));
    tess_html_provenance(&page->html, text);
    tess_heap_free(&page->d->ctx->heap, text, bytes, TESS_TAG_RESULT);
    return TESS_OK;
}

static tess_status take_room(tess_xp_draws_page *page)
{
    const tess_xpcs_posterior_info *i = page->d->draws;
    const int64_t n = i->n_chain * i->n_draw;
    page->x = tess_blocks_alloc(&page->memory, n, sizeof(double), "the report");
    page->y = tess_blocks_alloc(&page->memory, n, sizeof(double), "the report");
    page->shown = tess_blocks_alloc(&page->memory, 8 * TESS_XP_SHOWN, sizeof(double), "the report");
    if (!page->x || !page->y || !page->shown) {
        return TESS_E_MEMORY;
    }
    return tess_chain_room_open(&page->memory, i->n_chain, i->n_draw, &page->room);
}

tess_status tess_xpcs_draws_report(tess_context *ctx, const tess_xpcs_posterior_info *draws,
                                   const tess_xpcs_diagnosis *diagnosis,
                                   const tess_xpcs_result *fit,
                                   const tess_xpcs_sample_config *config, tess_xpcs_data *data,
                                   const tess_xpcs_model *model, const char *path, int overwrite)
{
    tess_error_clear();
    tess_xp_draws d;
    tess_xpcs_sample_config known;
    TESS_TRY(tess_xp_draws_open(ctx, draws, diagnosis, fit, config, &known, &d));
    if (!path) {
        TESS_FAIL(TESS_E_ARGUMENT, "path is NULL; a report needs a file");
    }
    if (data) {
        TESS_TRY(tess_file_check_distinct(tess_xpcs_data_get_info(data)->path, path));
    }
    if (overwrite == 2 && tess_provenance_is_of(ctx, path, d.identity)) {
        return TESS_OK;
    }
    if (overwrite != 1 && access(path, F_OK) == 0) {
        TESS_FAIL(TESS_E_EXISTS, "%s: exists already; pass --overwrite to replace it", path);
    }
    tess_xp_draws_page page = {
        .d = &d, .data = data, .model = model, .n_main = draws->n_param + (draws->noise ? 1 : 0)};
    const tess_origin origin = {.stage = "xpcs.sample", .identity = d.identity};
    char title[256];
    snprintf(title, sizeof title, "Posterior: %.180s",
             tess_xp_data_name(d.fit)[0] ? tess_xp_data_name(d.fit) : "draws");
    tess_blocks_init(&page.memory, &ctx->heap);
    tess_html_begin(&page.html, ctx, &origin, title);
    tess_status status = take_room(&page);
    if (status == TESS_OK) {
        status = write_page(&page);
    }
    if (status == TESS_OK) {
        status = tess_html_write(&page.html, path, overwrite == 1);
    }
    tess_html_destroy(&page.html);
    tess_blocks_free(&page.memory);
    return status;
}
