// The losses of consensus and n_interpolate by cross-validation.
#include "systems/autoreject/report/page.h"

#include <math.h>
#include <stdio.h>

enum { MOST_VALUES = 64 }; // of either; more are not drawn

static double mean_loss(const tess_autoreject_model_info *m, const tess_autoreject_type_fit *fit,
                        int64_t i, int64_t k)
{
    double sum = 0;
    for (int64_t f = 0; f < m->n_fold; f++) {
        sum += fit->loss[(i * m->n_n_interpolate + k) * m->n_fold + f];
    }
    const double mean = tess_ar_unit_of(fit->type).scale * sum / (double)m->n_fold;
    return isfinite(mean) ? mean : (double)NAN;
}

static void draw(tess_ar_page *page, const tess_autoreject_type_fit *fit)
{
    const tess_autoreject_model_info *m = page->model;
    double cells[MOST_VALUES * MOST_VALUES];
    char texts[2][MOST_VALUES][24];
    const char *columns[MOST_VALUES];
    const char *rows[MOST_VALUES];
    double low = (double)INFINITY;
    double high = 0;
    for (int64_t k = 0; k < m->n_n_interpolate; k++) {
        snprintf(texts[0][k], sizeof texts[0][k], "%lld", (long long)m->n_interpolate[k]);
        columns[k] = texts[0][k];
        for (int64_t i = 0; i < m->n_consensus; i++) {
            const double value = mean_loss(m, fit, i, k);
            cells[k * m->n_consensus + i] = value;
            low = fmin(low, value);
            high = fmax(high, value);
        }
    }
    for (int64_t i = 0; i < m->n_consensus; i++) {
        snprintf(texts[1][i], sizeof texts[1][i], "%g", m->consensus[i]);
        rows[i] = texts[1][i];
    }
    char title[128];
    snprintf(title, sizeof title, "%s: consensus %g and n_interpolate %lld were chosen",
             tess_autoreject_type_name(fit->type), fit->consensus, (long long)fit->n_interpolate);
    // A frame around the cell.
    const double column = (double)fit->n_interpolate_index;
    const double row = (double)fit->consensus_index;
    const double x[] = {column - 0.48, column + 0.48, column + 0.48, column - 0.48, column - 0.48};
    const double y[] = {row - 0.45, row - 0.45, row + 0.45, row + 0.45, row - 0.45};
    const tess_figure_series chosen = {
        .name = "chosen", .x = x, .y = y, .n = 5, .style = TESS_FIGURE_LINE};
    const tess_figure_map map = {.values = cells,
                                 .n_column = m->n_n_interpolate,
                                 .n_row = m->n_consensus,
                                 .label = "loss",
                                 .unit = tess_ar_unit_of(fit->type).name,
                                 .low = isfinite(low) ? low : 0,
                                 .high = high > low ? high : low + 1,
                                 .columns = columns,
                                 .rows = rows,
                                 .has_numbers = true};
    const double n_column = (double)m->n_n_interpolate;
    const double n_row = (double)m->n_consensus;
    tess_figure_draw(&page->html,
                     &(tess_figure){.title = title,
                                    .is_narrow = true,
                                    .x = {"n_interpolate", "", -0.5, n_column - 0.5, false},
                                    .y = {"consensus", "", -0.5, n_row - 0.5, false},
                                    .height = 20 * (int)m->n_consensus + 40,
                                    .map = &map,
                                    .series = &chosen,
                                    .n_series = 1,
                                    .note = "Grey: not admissible."});
}

void tess_ar_page_loss(tess_ar_page *page)
{
    const tess_autoreject_model_info *m = page->model;
    int n = 0;
    for (int64_t t = 0; t < m->n_type; t++) {
        const tess_autoreject_type_fit *fit = &m->types[t];
        if (!fit->loss || fit->consensus_index < 0 || m->n_consensus > MOST_VALUES ||
            m->n_n_interpolate > MOST_VALUES) {
            continue;
        }
        if (n++ == 0) {
            tess_html_heading(&page->html, "Choice of consensus and n_interpolate");
            tess_html_paragraph(&page->html,
                                "Root mean square difference between the mean of the kept and "
                                "repaired epochs and the median of the held-out ones, mean over "
                                "folds: the smaller the better.");
            tess_html_row_begin(&page->html);
        }
        draw(page, fit);
    }
    if (n > 0) {
        tess_html_row_end(&page->html);
    }
}
