// Parameters beside the fit, and one against another.
#include "systems/xpcs/report/draws_page.h"

#include <math.h>
#include <stdio.h>

enum { MAX_POINT = TESS_XP_SHOWN, MAX_ANGLE = 1000 };

// Medians and 5 to 95 % of what every angle has, and the fit.
static void draw_angles(tess_xp_draws_page *page, const char *title, int64_t first,
                        const double *fit)
{
    const tess_xp_draws *d = page->d;
    const int64_t n = d->fit->n_angle < MAX_ANGLE ? d->fit->n_angle : MAX_ANGLE;
    double *y = page->shown;
    for (int64_t a = 0; a < n; a++) {
        const tess_xpcs_summary *s = &d->told->rows[first + a];
        y[a] = s->quantile[2];
        y[MAX_ANGLE + a] = s->quantile[0];
        y[2 * MAX_ANGLE + a] = s->quantile[4];
    }
    const tess_figure_series series[2] = {{.name = "median, 5 to 95 %",
                                           .x = d->fit->phi,
                                           .y = y,
                                           .low = y + MAX_ANGLE,
                                           .high = y + 2 * MAX_ANGLE,
                                           .n = n,
                                           .style = TESS_FIGURE_POINTS},
                                          {.name = "fit",
                                           .x = d->fit->phi,
                                           .y = fit,
                                           .n = n,
                                           .style = TESS_FIGURE_POINTS,
                                           .colour = 1}};
    tess_figure_draw(&page->html, &(tess_figure){.title = title,
                                                 .x = {.label = "phi", .unit = "degrees"},
                                                 .y = {.label = title},
                                                 .is_narrow = true,
                                                 .series = series,
                                                 .n_series = 2});
}

// All on one axis: in standard deviations of the fit, from the fit.
static void draw_parameters(tess_xp_draws_page *page)
{
    const tess_xpcs_diagnosis_info *t = page->d->told;
    double x[TESS_XPCS_MAX_PARAM];
    double y[TESS_XPCS_MAX_PARAM];
    double low[TESS_XPCS_MAX_PARAM];
    double high[TESS_XPCS_MAX_PARAM];
    char note[256] = "In the order of the table:";
    size_t used = 26;
    int64_t n = 0;
    for (int64_t k = 0; k < t->n_param && n < TESS_XPCS_MAX_PARAM; k++) {
        const tess_xpcs_summary *s = &t->rows[k];
        if (s->is_fixed || !(s->fit_sd > 0) || isinf(s->fit_sd)) {
            continue;
        }
        x[n] = (double)(n + 1);
        y[n] = (s->quantile[2] - s->fit) / s->fit_sd;
        low[n] = (s->quantile[0] - s->fit) / s->fit_sd;
        high[n] = (s->quantile[4] - s->fit) / s->fit_sd;
        n++;
        used += (size_t)snprintf(note + used, sizeof note - used, " %lld %s", (long long)n,
                                 t->names[k]);
        used = used < sizeof note ? used : sizeof note - 1;
    }
    const tess_figure_series series = {.name = "median, 5 to 95 %",
                                       .x = x,
                                       .y = y,
                                       .low = low,
                                       .high = high,
                                       .n = n,
                                       .style = TESS_FIGURE_POINTS};
    tess_figure_draw(&page->html,
                     &(tess_figure){.title = "parameters, from the fit",
                                    .x = {.label = "parameter", .low = 0, .high = (double)n + 1},
                                    .y = {.label = "(draws - fit) / sd of the fit"},
                                    .x_is_whole = true,
                                    .is_narrow = true,
                                    .series = &series,
                                    .n_series = 1,
                                    .note = note});
}

void tess_xp_draws_forest(tess_xp_draws_page *page)
{
    const tess_xp_draws *d = page->d;
    tess_html_heading(&page->html, "Forest");
    tess_html_row_begin(&page->html);
    draw_parameters(page);
    if (d->draws->contrast && d->draws->offset) {
        draw_angles(page, "contrast", page->n_main, d->fit->contrast);
        draw_angles(page, "offset", page->n_main + d->fit->n_angle, d->fit->offset);
    }
    tess_html_row_end(&page->html);
}

// Draws of two quantities, those of broken paths apart.
static void draw_pair(tess_xp_draws_page *page, int64_t a, int64_t b)
{
    const tess_xpcs_posterior_info *i = page->d->draws;
    const int64_t n = i->n_chain * i->n_draw;
    const int64_t step = (n + MAX_POINT - 1) / MAX_POINT;
    double *line[4] = {page->shown, page->shown + MAX_POINT, page->shown + 2 * MAX_POINT,
                       page->shown + 3 * MAX_POINT};
    int64_t n_good = 0;
    int64_t n_broken = 0;
    for (int64_t k = 0; k < n; k++) {
        const bool is_broken = i->diverged && i->diverged[k];
        if (is_broken && n_broken < MAX_POINT) {
            line[2][n_broken] = page->x[k];
            line[3][n_broken++] = page->y[k];
        } else if (!is_broken && k % step == 0) {
            line[0][n_good] = page->x[k];
            line[1][n_good++] = page->y[k];
        }
    }
    const tess_figure_series series[2] = {
        {.name = "draws", .x = line[0], .y = line[1], .n = n_good, .style = TESS_FIGURE_POINTS},
        {.name = "divergences",
         .x = line[2],
         .y = line[3],
         .n = n_broken,
         .style = TESS_FIGURE_POINTS,
         .colour = 1}};
    char title[96];
    snprintf(title, sizeof title, "%s and %s", page->d->told->names[a], page->d->told->names[b]);
    tess_figure_draw(&page->html, &(tess_figure){.title = title,
                                                 .x = {.label = page->d->told->names[a]},
                                                 .y = {.label = page->d->told->names[b]},
                                                 .is_narrow = true,
                                                 .is_square = true,
                                                 .needs_script = true,
                                                 .series = series,
                                                 .n_series = n_broken > 0 ? 2 : 1});
}

void tess_xp_draws_pairs(tess_xp_draws_page *page)
{
    const tess_xpcs_diagnosis_info *t = page->d->told;
    tess_html_heading(&page->html, "Pairs");
    for (int64_t a = 0; a < page->n_main; a++) {
        bool is_open = false;
        for (int64_t b = a + 1; b < page->n_main && !t->rows[a].is_fixed; b++) {
            if (t->rows[b].is_fixed) {
                continue;
            }
            if (!is_open) {
                char summary[96];
                snprintf(summary, sizeof summary, "%s against the others", t->names[a]);
                tess_html_fold_begin(&page->html, NULL, summary, a == 0);
                tess_html_row_begin(&page->html);
                is_open = true;
            }
            tess_xp_draws_copy(page->d->draws, a, page->x);
            tess_xp_draws_copy(page->d->draws, b, page->y);
            draw_pair(page, a, b);
        }
        if (is_open) {
            tess_html_row_end(&page->html);
            tess_html_fold_end(&page->html);
        }
    }
}
