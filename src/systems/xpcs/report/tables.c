// Tables of the report: parameters with their errors, correlations, angles, minima.
#include "page/colour.h"
#include "systems/xpcs/report/page.h"
#include "systems/xpcs/result/record.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BAR_WIDTH = 80, LISTED_BASINS = 20, MAX_PARAMS = 16 };

void tess_xp_with_error(double value, double sd, char *text, size_t capacity)
{
    enum { DIGITS = 2, MOST_DECIMALS = 9 };
    if (!(sd > 0) || !isfinite(sd)) {
        snprintf(text, capacity, sd > 0 ? "%.6g ± ∞" : "%.6g", value);
        return;
    }
    const int decimals = DIGITS - 1 - (int)floor(log10(sd));
    if (decimals > MOST_DECIMALS || fabs(value) >= 1e9) {
        snprintf(text, capacity, "%.6g ± %.2g", value, sd);
    } else {
        const int shown = decimals > 0 ? decimals : 0;
        snprintf(text, capacity, "%.*f ± %.*f", shown, value, shown, sd);
    }
}

// "[1.69, 3.21]" with two digits of the shorter side; "p" marks those of the profile.
static void interval_text(const tess_xpcs_result_info *info, int64_t k, char *text, size_t capacity)
{
    enum { DIGITS = 2, MOST_DECIMALS = 9 };
    const double lower = info->interval_lower[k];
    const double upper = info->interval_upper[k];
    const double below = info->theta[k] - lower;
    const double above = upper - info->theta[k];
    const double side = below > 0 && above > 0 ? fmin(below, above) : fmax(below, above);
    const char *mark = info->interval_kind[k] == TESS_XPCS_INTERVAL_PROFILE ? " p" : "";
    if (info->status[k] == TESS_XPCS_FIXED || !isfinite(lower) || !isfinite(upper)) {
        snprintf(text, capacity, "%s", "");
        return;
    }
    const int decimals = side > 0 ? DIGITS - 1 - (int)floor(log10(side / 2)) : 0;
    if (!(side > 0) || decimals > MOST_DECIMALS || fmax(fabs(lower), fabs(upper)) >= 1e9) {
        snprintf(text, capacity, "[%.6g, %.6g]%s", lower, upper, mark);
    } else {
        const int shown = decimals > 0 ? decimals : 0;
        snprintf(text, capacity, "[%.*f, %.*f]%s", shown, lower, shown, upper, mark);
    }
}

static bool has_profile(const tess_xpcs_result_info *info)
{
    bool found = false;
    for (int64_t k = 0; k < info->n_param; k++) {
        found |= info->interval_kind[k] == TESS_XPCS_INTERVAL_PROFILE;
    }
    return found;
}

// Where a value lies between its bounds; wide ranges of positive numbers by their logarithms.
static void write_place(tess_xp_page *page, double value, double lower, double upper)
{
    const bool is_log = lower > 0 && upper > 100 * lower && value > 0;
    const double share =
        is_log ? log(value / lower) / log(upper / lower) : (value - lower) / (upper - lower);
    const double cut = share < 0 ? 0 : share > 1 ? 1 : share;
    if (!isfinite(share)) {
        return;
    }
    tess_text_printf(&page->html.text,
                     "<svg viewBox=\"-5 0 %d 12\" width=\"%d\" style=\"max-width:none\" "
                     "role=\"img\"><line x1=\"0\" y1=\"6\" "
                     "x2=\"%d\" y2=\"6\" stroke=\"currentColor\" stroke-opacity=\".4\"/><circle "
                     "cx=\"%lld\" cy=\"6\" r=\"4\" fill=\"#2f7fd0\"/></svg>",
                     BAR_WIDTH + 10, BAR_WIDTH + 10, BAR_WIDTH, llround(cut * BAR_WIDTH));
}

static void cell(tess_xp_page *page, const char *attributes, const char *text)
{
    tess_text_printf(&page->html.text, "<td%s>", attributes);
    tess_html_escaped(&page->html, text);
    tess_text_add(&page->html.text, "</td>");
}

static void write_parameter(tess_xp_page *page, int64_t k, const char *unit)
{
    const tess_xpcs_result_info *info = page->info;
    const int32_t status = info->status[k];
    const bool is_plain = status == TESS_XPCS_FREE || status == TESS_XPCS_FIXED;
    char text[96];
    tess_text_add(&page->html.text, "<tr>");
    cell(page, " style=\"font-weight:600\"", info->names[k]);
    tess_xp_with_error(info->theta[k], info->sd[k], text, sizeof text);
    cell(page, " class=\"n\" style=\"white-space:nowrap\"", text);
    cell(page, "", unit);
    interval_text(info, k, text, sizeof text);
    cell(page, " class=\"n\" style=\"white-space:nowrap\"", text);
    if (info->bootstrap_sd) {
        snprintf(text, sizeof text, "± %.3g", info->bootstrap_sd[k]);
        cell(page, " class=\"n\" style=\"white-space:nowrap\"", text);
    }
    cell(page, is_plain ? "" : " style=\"color:#b3362b\"",
         tess_xpcs_param_status_name((tess_xpcs_param_status)status));
    snprintf(text, sizeof text, "%.6g", info->start[k]);
    cell(page, " class=\"n\"", text);
    snprintf(text, sizeof text, "%.4g to %.4g", info->lower[k], info->upper[k]);
    cell(page, " style=\"white-space:nowrap\"", text);
    tess_text_add(&page->html.text, "<td>");
    write_place(page, info->theta[k], info->lower[k], info->upper[k]);
    tess_text_add(&page->html.text, "</td></tr>\n");
}

static void write_meaning(tess_xp_page *page)
{
    tess_text_add(&page->html.text, "<p>");
    tess_xp_printf(&page->html, "95 %% intervals are those of the covariance within the bounds.");
    if (has_profile(page->info)) {
        tess_xp_printf(&page->html,
                       " Those with a p end where chi2, all other parameters at their best, has "
                       "risen by 3.84 (%s): errors bend there, or a parameter is at a bound, and "
                       "± sd is not to be trusted.",
                       page->info->noise_photons > 0
                           ? "times the square of what noise that frames share makes of an error"
                           : "in units of reduced chi2, unless sigma is absolute");
    }
    if (page->info->n_basin > 1 && page->info->loss == TESS_XPCS_LOSS_LINEAR) {
        tess_xp_printf(&page->html, " Other minima within this rise belong to the intervals.");
    }
    tess_text_add(&page->html.text, "</p>\n");
}

void tess_xp_page_parameters(tess_xp_page *page)
{
    const tess_xpcs_result_info *info = page->info;
    int64_t n = 0;
    const tess_xpcs_param_info *known = tess_xpcs_params((tess_xpcs_mode)info->mode, &n);
    tess_html_heading(&page->html, "Parameters");
    tess_text_printf(
        &page->html.text,
        "<div class=\"table\"><table class=\"sort\"><thead><tr><th>parameter</th><th "
        "class=\"n\">value ± sd</th><th>unit</th><th class=\"n\">95 %% interval</th>%s<th>status"
        "</th><th class=\"n\">start</th><th>bounds</th><th>place between "
        "bounds</th></tr></thead><tbody>\n",
        info->bootstrap_sd ? "<th class=\"n\">bootstrap</th>" : "");
    for (int64_t k = 0; k < info->n_param; k++) {
        write_parameter(page, k, k < n ? known[k].unit : "");
    }
    tess_html_table_end(&page->html);
    write_meaning(page);
    tess_html_paragraph(&page->html,
                        "The last column shows where a value lies between its bounds, by "
                        "logarithms where they are positive and wide; a dot at an end asks for "
                        "wider bounds.");
    if (info->bootstrap_sd) {
        tess_text_add(&page->html.text, "<p>");
        tess_xp_printf(&page->html,
                       "The bootstrap column is the standard deviation over %lld resamplings of "
                       "blocks of frames.",
                       (long long)info->n_bootstrap);
        tess_text_add(&page->html.text, "</p>\n");
    } else if (info->noise_photons > 0) {
        tess_html_paragraph(&page->html,
                            "Standard deviations and intervals are those of photon counts of "
                            "speckle, whose points share frames.");
    } else {
        tess_html_paragraph(
            &page->html, "Standard deviations take the points as independent. Points that share "
                         "a frame are not: use noise frames, or uncertainty block_bootstrap, for "
                         "an honest check.");
    }
}

static void write_correlation_row(tess_xp_page *page, int64_t k)
{
    const tess_xpcs_result_info *info = page->info;
    const int64_t n = info->n_covariance;
    const int64_t first = n - info->n_param;
    tess_text_add(&page->html.text, "<tr><th>");
    tess_html_escaped(&page->html, info->names[k]);
    tess_text_add(&page->html.text, "</th>");
    for (int64_t l = 0; l < info->n_param; l++) {
        const double rho = info->correlation[(first + k) * n + first + l];
        uint8_t rgb[3];
        tess_colour_diverging(rho, rgb);
        tess_text_printf(&page->html.text,
                         "<td style=\"background:#%02x%02x%02x;color:%s;padding:.35em .6em;"
                         "text-align:right;min-width:3em\">",
                         rgb[0], rgb[1], rgb[2], fabs(rho) > 0.6 ? "#fff" : "#1b1f24");
        if (isfinite(rho)) {
            tess_xp_printf(&page->html, "%.*f", k != l && fabs(rho) >= 0.99 ? 4 : 2, rho);
        }
        tess_text_add(&page->html.text, "</td>");
    }
    tess_text_add(&page->html.text, "</tr>\n");
}

// A name that may break behind each of its underscores, and nowhere else.
static void write_broken(tess_xp_page *page, const char *name)
{
    while (*name) {
        const size_t n = strcspn(name, "_");
        tess_xp_printf(&page->html, "%.*s", (int)n, name);
        name += n;
        if (*name == '_') {
            tess_text_add(&page->html.text, "_<wbr/>");
            name++;
        }
    }
}

void tess_xp_page_correlations(tess_xp_page *page)
{
    const tess_xpcs_result_info *info = page->info;
    if (!info->correlation || info->n_covariance < info->n_param) {
        return;
    }
    tess_html_heading(&page->html, "Correlations");
    tess_html_paragraph(&page->html, "Of the estimates; red: rise together, blue: one rises as the "
                                     "other falls. Near 1 or -1 the data tell only a combination.");
    tess_text_add(&page->html.text, "<div class=\"table\"><table><tr><th></th>");
    for (int64_t k = 0; k < info->n_param; k++) {
        tess_text_add(&page->html.text,
                      "<th style=\"max-width:6em;font-size:.8em;vertical-align:bottom\">");
        write_broken(page, info->names[k]);
        tess_text_add(&page->html.text, "</th>");
    }
    tess_text_add(&page->html.text, "</tr>\n");
    for (int64_t k = 0; k < info->n_param; k++) {
        write_correlation_row(page, k);
    }
    tess_text_add(&page->html.text, "</table></div>\n");
}

static void write_angle(tess_xp_page *page, int64_t a)
{
    enum { N = 8, LONG = 96 };
    const tess_xpcs_result_info *info = page->info;
    char cells[N][LONG];
    char id[32];
    const char *row[N];
    snprintf(cells[0], LONG, "%lld", (long long)a + 1);
    snprintf(cells[1], LONG, "%.2f", info->phi[a]);
    snprintf(cells[2], LONG, "%.5g", info->q[a]);
    tess_xp_with_error(info->contrast[a], info->contrast_sd[a], cells[3], LONG);
    tess_xp_with_error(info->offset[a], info->offset_sd[a], cells[4], LONG);
    snprintf(cells[5], LONG, "%lld", (long long)(info->n_used_angle ? info->n_used_angle[a] : 0));
    snprintf(cells[6], LONG, "%.4g",
             info->reduced_chi2_angle ? info->reduced_chi2_angle[a] : (double)NAN);
    snprintf(cells[7], LONG, "%.4g", info->sigma ? info->sigma[a] : (double)NAN);
    for (int i = 0; i < N; i++) {
        row[i] = cells[i];
    }
    snprintf(id, sizeof id, "angle%lld", (long long)a + 1);
    tess_html_table_row_to(&page->html, row, N, id);
}

// Values less and plus one standard deviation, [2][n_angle]; NULL where there is none.
static const double *error_ends(tess_xp_page *page, const double *values, const double *sd)
{
    const int64_t n = page->info->n_angle;
    double *ends = sd ? tess_blocks_alloc(&page->memory, 2 * n, sizeof *ends, "the report") : NULL;
    for (int64_t a = 0; ends && a < n; a++) {
        ends[a] = values[a] - (isfinite(sd[a]) ? sd[a] : 0);
        ends[n + a] = values[a] + (isfinite(sd[a]) ? sd[a] : 0);
    }
    return ends;
}

static void write_over_phi(tess_xp_page *page)
{
    const tess_xpcs_result_info *info = page->info;
    const double *values[3] = {info->contrast, info->offset, info->reduced_chi2_angle};
    const double *errors[2] = {info->contrast_sd, info->offset_sd};
    static const char *const names[3] = {"contrast", "offset", "reduced chi2"};
    if (info->n_angle < 3) {
        return;
    }
    tess_html_row_begin(&page->html);
    for (int i = 0; i < 3; i++) {
        const double *ends = i < 2 ? error_ends(page, values[i], errors[i]) : NULL;
        const tess_figure_series series = {.x = info->phi,
                                           .y = values[i],
                                           .low = ends,
                                           .high = ends ? ends + info->n_angle : NULL,
                                           .n = info->n_angle,
                                           .style = TESS_FIGURE_POINTS};
        if (values[i]) {
            tess_figure_draw(&page->html, &(tess_figure){.title = names[i],
                                                         .x = {.label = "phi", .unit = "degrees"},
                                                         .y = {.label = names[i]},
                                                         .height = 200,
                                                         .is_narrow = true,
                                                         .series = &series,
                                                         .n_series = 1});
        }
    }
    tess_html_row_end(&page->html);
}

void tess_xp_page_angle_table(tess_xp_page *page)
{
    static const char *const heads[] = {"angle",  "phi (degrees)", "q (1/Å)",      "contrast",
                                        "offset", "points",        "reduced chi2", "sigma"};
    const int64_t n = page->info->n_angle;
    tess_html_heading(&page->html, "Angles");
    write_over_phi(page);
    if (n > 12) {
        tess_html_fold_begin(&page->html, NULL, "Table", false);
    }
    tess_html_table_begin(&page->html, heads, 8);
    for (int64_t a = 0; a < n; a++) {
        write_angle(page, a);
    }
    tess_html_table_end(&page->html);
    if (n > 12) {
        tess_html_fold_end(&page->html);
    }
}

static void write_basin(tess_xp_page *page, int64_t b, int n_param)
{
    enum { LONG = 32 };
    const tess_xpcs_result_info *info = page->info;
    char cells[4 + MAX_PARAMS][LONG];
    const char *row[4 + MAX_PARAMS];
    snprintf(cells[0], LONG, "%lld", (long long)b + 1);
    snprintf(cells[1], LONG, "%lld", (long long)info->basins[b].n_start);
    snprintf(cells[2], LONG, "%.8g", 2 * info->basins[b].cost);
    snprintf(cells[3], LONG, "%.3g", tess_xp_basin_excess(info, b));
    for (int k = 0; k < n_param; k++) {
        snprintf(cells[4 + k], LONG, "%.5g", info->basins[b].theta[k]);
    }
    for (int i = 0; i < 4 + n_param; i++) {
        row[i] = cells[i];
    }
    tess_html_table_row(&page->html, row, 4 + n_param);
}

void tess_xp_page_basins(tess_xp_page *page)
{
    const tess_xpcs_result_info *info = page->info;
    if (info->n_basin < 2) {
        return;
    }
    tess_html_heading(&page->html, "Other minima");
    tess_html_paragraph(&page->html,
                        info->loss == TESS_XPCS_LOSS_LINEAR
                            ? "All minima that were found, the best first. Excess: how far chi2 is "
                              "above the best, in units of reduced chi2; below 3.84 the data do "
                              "not tell the two apart at 95 %."
                            : "Minima of the linear loss, from the best of which the fit went on. "
                              "Excess: how far chi2 is above the best, in units of reduced chi2.");
    const int n_param = info->n_param < MAX_PARAMS ? (int)info->n_param : MAX_PARAMS;
    const char *heads[4 + MAX_PARAMS] = {"minimum", "starts", "chi2", "excess"};
    for (int k = 0; k < n_param; k++) {
        heads[4 + k] = info->names[k];
    }
    tess_html_table_begin(&page->html, heads, 4 + n_param);
    for (int64_t b = 0; b < info->n_basin && b < LISTED_BASINS; b++) {
        write_basin(page, b, n_param);
    }
    tess_html_table_end(&page->html);
}
