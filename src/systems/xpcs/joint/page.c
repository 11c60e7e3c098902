// The report of a joint fit, by q.
#include "systems/xpcs/report/page.h"
#include "base/status.h"
#include "page/figure.h"
#include "systems/xpcs/joint/files.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL = 96, N_PARAMETER_HEAD = 7, N_CURVE = 101 };

typedef struct joint_page {
    tess_html html;
    const tess_xpcs_joint_info *info;
    tess_blocks memory;
    double *columns; // [8][n_member or N_CURVE]
    int64_t length;  // of a column
} joint_page;

static void write_verdict(joint_page *page)
{
    const tess_xpcs_joint_info *i = page->info;
    char text[CELL];
    const bool is_there = i->convergence == TESS_XPCS_CONVERGED;
    static const tess_html_grade grades[] = {TESS_HTML_GOOD, TESS_HTML_CHECK, TESS_HTML_BAD};
    snprintf(text, sizeof text, "fit %s", tess_xpcs_quality_name((tess_xpcs_quality)i->quality));
    tess_html_badge(&page->html, grades[i->quality], text);
    tess_html_badge(&page->html, is_there ? TESS_HTML_GOOD : TESS_HTML_BAD,
                    tess_xpcs_convergence_name((tess_xpcs_convergence)i->convergence));
    if (i->excess_dof > 0) {
        snprintf(text, sizeof text, "sharing: p = %.2g", i->excess_p);
        tess_html_badge(&page->html, i->excess_p < 1e-3 ? TESS_HTML_BAD : TESS_HTML_GOOD, text);
    }
    tess_html_warnings(&page->html, i->warnings);
}

static void write_facts(joint_page *page)
{
    const tess_xpcs_joint_info *i = page->info;
    char text[256];
    tess_html_fact_begin(&page->html);
    tess_html_fact(&page->html, "model", tess_xpcs_mode_name((tess_xpcs_mode)i->mode));
    snprintf(text, sizeof text,
             "%lld members, %lld angles, %lld unknowns besides contrasts and "
             "offsets",
             (long long)i->n_member, (long long)i->n_angle, (long long)i->n_unknown);
    tess_html_fact(&page->html, "size", text);
    snprintf(text, sizeof text, "%.6g 1/Å, where powers of q have their value", i->q_ref);
    tess_html_fact(&page->html, "q_ref", text);
    snprintf(text, sizeof text,
             "chi2 is %.4g above the sum of the members' own fits, for %lld values fewer: p = %.3g",
             i->excess, (long long)i->excess_dof, i->excess_p);
    tess_html_fact(&page->html, "sharing", text);
    snprintf(text, sizeof text, "%s; %lld evaluations, %.2f s", i->message,
             (long long)i->n_evaluation, i->seconds);
    tess_html_fact(&page->html, "fit", text);
    tess_html_fact_end(&page->html);
}

static void write_parameter(joint_page *page, int64_t k, const char *unit)
{
    const tess_xpcs_joint_info *i = page->info;
    const tess_xpcs_tie_test *test = &i->tests[k];
    char cells[N_PARAMETER_HEAD][CELL] = {{0}};
    const char *list[N_PARAMETER_HEAD];
    snprintf(cells[0], CELL, "%s", i->names[k]);
    snprintf(cells[1], CELL, "%s", tess_xpcs_tie_name((tess_xpcs_tie)i->ties[k]));
    snprintf(cells[3], CELL, "%s", unit);
    snprintf(cells[2], CELL, "%.6g, fixed", i->theta[k]);
    for (int64_t u = 0; u < i->n_unknown; u++) {
        const tess_xpcs_unknown *x = &i->unknowns[u];
        if (x->param == k && i->ties[k] == TESS_XPCS_TIE_EACH) {
            snprintf(cells[2], CELL, "by member, below");
        } else if (x->param == k) {
            tess_xp_with_error(x->value, x->sd, cells[x->is_exponent ? 4 : 2], CELL);
        }
    }
    if (test->dof > 0) {
        snprintf(cells[5], CELL, "%.4g for %lld", test->gain, (long long)test->dof);
        snprintf(cells[6], CELL, "%.3g", test->p);
    }
    for (int c = 0; c < N_PARAMETER_HEAD; c++) {
        list[c] = cells[c];
    }
    tess_html_table_row(&page->html, list, N_PARAMETER_HEAD);
}

static void write_parameters(joint_page *page)
{
    static const char *const heads[N_PARAMETER_HEAD] = {
        "", "over q", "value", "unit", "exponent", "chi2 if free by member", "p"};
    int64_t n = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params((tess_xpcs_mode)page->info->mode, &n);
    tess_html_heading(&page->html, "Parameters");
    tess_html_table_begin(&page->html, heads, N_PARAMETER_HEAD);
    for (int64_t k = 0; k < n; k++) {
        write_parameter(page, k, params[k].unit);
    }
    tess_html_table_end(&page->html);
    tess_html_paragraph(&page->html,
                        "The last columns say by how much chi2 would fall, in units of the noise, "
                        "if a parameter alone were free in every member, and how probable such a "
                        "gain is where the tie is right. Below 0.001 the tie is doubtful. Noise "
                        "that is correlated between points makes p too small.");
}

// Error bars, cut off where a logarithmic axis ends.
static void bar(double value, double sd, bool is_log, double *low, double *high)
{
    const double reach = isfinite(sd) ? sd : 0;
    *low = is_log && !(value - reach > 0) ? 0.1 * value : value - reach;
    *high = value + reach;
}

// The law over q: a power, or the shared value.
static void fill_curve(const joint_page *page, int64_t k, double *q, double *y)
{
    const tess_xpcs_joint_info *i = page->info;
    double least = i->q[0];
    double most = i->q[0];
    double value = i->theta[k];
    double exponent = 0;
    for (int64_t m = 0; m < i->n_member; m++) {
        least = fmin(least, i->q[m]);
        most = fmax(most, i->q[m]);
    }
    for (int64_t u = 0; u < i->n_unknown; u++) {
        if (i->unknowns[u].param == k) {
            *(i->unknowns[u].is_exponent ? &exponent : &value) = i->unknowns[u].value;
        }
    }
    for (int64_t c = 0; c < N_CURVE; c++) {
        q[c] = least * pow(most / least, (double)c / (N_CURVE - 1));
        y[c] = value * pow(q[c] / i->q_ref, exponent);
    }
}

static void draw_parameter(joint_page *page, int64_t k, const char *unit)
{
    const tess_xpcs_joint_info *i = page->info;
    const int64_t n = i->n_member;
    double *c[8];
    bool is_log = true;
    for (int s = 0; s < 8; s++) {
        c[s] = page->columns + s * page->length;
    }
    for (int64_t m = 0; m < n; m++) {
        const tess_xpcs_result_info *single = tess_xpcs_result_get_info(i->single[m]);
        c[0][m] = i->theta[m * i->n_param + k];
        c[3][m] = single->theta[k];
        is_log = is_log && c[0][m] > 0 && c[3][m] > 0;
    }
    for (int64_t m = 0; m < n; m++) {
        const tess_xpcs_result_info *single = tess_xpcs_result_get_info(i->single[m]);
        bar(c[0][m], i->sd[m * i->n_param + k], is_log, &c[1][m], &c[2][m]);
        bar(c[3][m], single->sd[k], is_log, &c[4][m], &c[5][m]);
    }
    fill_curve(page, k, c[6], c[7]);
    const bool is_each = i->ties[k] == TESS_XPCS_TIE_EACH;
    const tess_figure_series series[3] = {{.name = "alone",
                                           .x = i->q,
                                           .y = c[3],
                                           .low = c[4],
                                           .high = c[5],
                                           .n = n,
                                           .style = TESS_FIGURE_POINTS,
                                           .colour = 1},
                                          {.name = "joint",
                                           .x = i->q,
                                           .y = c[0],
                                           .low = c[1],
                                           .high = c[2],
                                           .n = n,
                                           .style = TESS_FIGURE_POINTS,
                                           .colour = 0},
                                          {.name = "law",
                                           .x = c[6],
                                           .y = c[7],
                                           .n = N_CURVE,
                                           .style = TESS_FIGURE_LINE,
                                           .colour = 0}};
    const tess_figure figure = {.title = i->names[k],
                                .x = {.label = "q", .unit = "1/Å", .is_log = true},
                                .y = {.label = i->names[k], .unit = unit, .is_log = is_log},
                                .is_narrow = true,
                                .series = series,
                                .n_series = is_each ? 2 : 3};
    tess_figure_draw(&page->html, &figure);
}

static void draw_parameters(joint_page *page)
{
    int64_t n = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params((tess_xpcs_mode)page->info->mode, &n);
    tess_html_heading(&page->html, "Parameters against q");
    for (int64_t k = 0; k < n; k++) {
        if (k % 2 == 0) {
            tess_html_row_begin(&page->html);
        }
        draw_parameter(page, k, params[k].unit);
        if (k % 2 == 1 || k == n - 1) {
            tess_html_row_end(&page->html);
        }
    }
}

static void write_member(joint_page *page, int64_t m, int n_head)
{
    const tess_xpcs_joint_info *i = page->info;
    const tess_xpcs_result_info *single = tess_xpcs_result_get_info(i->single[m]);
    char cells[TESS_XPCS_MAX_PARAM + 5][2 * CELL];
    const char *list[TESS_XPCS_MAX_PARAM + 5];
    const char *slash = strrchr(i->paths[m], '/');
    const char *name = slash ? slash + 1 : i->paths[m];
    snprintf(cells[0], 2 * CELL, "%.120s%sq = %.5g", name, name[0] ? ", " : "", i->q[m]);
    for (int64_t k = 0; k < i->n_param; k++) {
        tess_xp_with_error(i->theta[m * i->n_param + k], i->sd[m * i->n_param + k], cells[k + 1],
                           CELL);
    }
    char(*rest)[2 * CELL] = cells + i->n_param + 1;
    snprintf(rest[0], CELL, "%.5g", i->reduced_chi2[m]);
    snprintf(rest[1], CELL, "%.5g", single->reduced_chi2);
    snprintf(rest[2], CELL, "%.4g", (i->chi2[m] - single->chi2) / i->noise[m]);
    snprintf(rest[3], CELL, "%s", tess_xpcs_quality_name((tess_xpcs_quality)single->quality));
    for (int c = 0; c < n_head; c++) {
        list[c] = cells[c];
    }
    tess_html_table_row(&page->html, list, n_head);
}

static void write_members(joint_page *page)
{
    const tess_xpcs_joint_info *i = page->info;
    const char *heads[TESS_XPCS_MAX_PARAM + 5];
    const int n_head = (int)i->n_param + 5;
    heads[0] = "member";
    for (int64_t k = 0; k < i->n_param; k++) {
        heads[k + 1] = i->names[k];
    }
    heads[n_head - 4] = "reduced chi2";
    heads[n_head - 3] = "alone";
    heads[n_head - 2] = "chi2 above alone";
    heads[n_head - 1] = "alone is";
    tess_html_heading(&page->html, "Members");
    tess_html_table_begin(&page->html, heads, n_head);
    for (int64_t m = 0; m < i->n_member; m++) {
        write_member(page, m, n_head);
    }
    tess_html_table_end(&page->html);
}

static void draw_chi2(joint_page *page)
{
    const tess_xpcs_joint_info *i = page->info;
    double *alone = page->columns;
    for (int64_t m = 0; m < i->n_member; m++) {
        alone[m] = tess_xpcs_result_get_info(i->single[m])->reduced_chi2;
    }
    const tess_figure_series series[2] = {{.name = "alone",
                                           .x = i->q,
                                           .y = alone,
                                           .n = i->n_member,
                                           .style = TESS_FIGURE_POINTS,
                                           .colour = 1},
                                          {.name = "joint",
                                           .x = i->q,
                                           .y = i->reduced_chi2,
                                           .n = i->n_member,
                                           .style = TESS_FIGURE_POINTS,
                                           .colour = 0}};
    const tess_figure figure = {.title = "Reduced chi2 by member",
                                .x = {.label = "q", .unit = "1/Å", .is_log = true},
                                .y = {.label = "reduced chi2"},
                                .series = series,
                                .n_series = 2};
    tess_figure_draw(&page->html, &figure);
}

tess_status tess_xp_joint_page(tess_context *ctx, const tess_xpcs_joint_info *info,
                               const char *path, int overwrite)
{
    const tess_origin origin = {.stage = "xpcs.joint", .identity = info->identity};
    joint_page page = {.info = info};
    char title[128];
    snprintf(title, sizeof title, "Joint fit of %lld members", (long long)info->n_member);
    page.length = info->n_member > N_CURVE ? info->n_member : N_CURVE;
    tess_blocks_init(&page.memory, &ctx->heap);
    page.columns = tess_blocks_alloc(&page.memory, 8 * page.length, sizeof(double), "the report");
    if (!page.columns) {
        return TESS_E_MEMORY;
    }
    tess_html_begin(&page.html, ctx, &origin, title);
    write_verdict(&page);
    write_facts(&page);
    write_parameters(&page);
    draw_parameters(&page);
    write_members(&page);
    draw_chi2(&page);
    tess_html_cite(&page.html, "Fitted with Tessera: contrasts and offsets of every member and "
                               "angle eliminated, all members at once.");
    const tess_status status = tess_html_write(&page.html, path, overwrite);
    tess_html_destroy(&page.html);
    tess_blocks_free(&page.memory);
    return status;
}
