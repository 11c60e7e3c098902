// Error and calibration, as text and pictures.
#include "systems/decode/report/page.h"

#include <math.h>
#include <stdio.h>

enum { N_ERROR_BIN = 60 };

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

// Which rows the numbers are of: nobody shall take a few for all.
static void write_shares(tess_de_page *p)
{
    const tess_decode_score *s = &p->score;
    char sampled[64] = "";
    if (p->facts->step > 1) {
        snprintf(sampled, sizeof sampled, " (every %lld-th is scored)", (long long)p->facts->step);
    }
    tess_de_page_say(p,
                     "%lld of %lld time bins%s are scored (%.1f %%); in %lld (%.1f %%) states "
                     "without a place hold half or more, of %lld (%.1f %%) the animal's position "
                     "is not known.",
                     (long long)s->n_scored, (long long)s->n_looked, sampled,
                     percent(s->n_scored, s->n_looked), (long long)s->n_unplaced,
                     percent(s->n_unplaced, s->n_looked), (long long)s->n_unknown,
                     percent(s->n_unknown, s->n_looked));
    if (s->n_not_finite > 0) {
        tess_de_page_say(p, "In %lld time bins (%.1f %%) the posterior is not a number.",
                         (long long)s->n_not_finite, percent(s->n_not_finite, s->n_looked));
    }
    if (s->n_local > 0) {
        tess_de_page_say(
            p,
            "In %.1f %% of the scored bins Local outweighs all places. Local means the "
            "animal's own position and is taken there: its error is %s.",
            percent(s->n_local, s->n_scored),
            p->view->represented_position ? "the distance to the place represented"
                                          : "0 by definition");
    }
    if (s->n_local > 0 && s->n_scored > s->n_local) {
        tess_de_page_say(p,
                         "In the other %lld bins the median distance from the true place is %.3g "
                         "cm; where the brain represents another place than the animal's, that "
                         "distance is no error of the decoder.",
                         (long long)(s->n_scored - s->n_local), s->median_away);
    }
}

// Local's errors are 0 by definition: a picture of them would show one bar.
static void draw_errors(tess_de_page *p)
{
    const tess_de_agreement *g = &p->facts->agreement;
    const bool has_local = g->n_local > 0;
    const double *errors = has_local ? g->away : g->errors;
    const int64_t n = g->n_scored - (has_local ? g->n_local : 0);
    const double quantile = tess_de_quantile(errors, n, 0.99);
    const double high = quantile > 0 ? quantile : 1;
    double heights[N_ERROR_BIN] = {0};
    double most = 0;
    for (int64_t i = 0; i < n && errors[i] <= high; i++) {
        const double at = errors[i] / high * N_ERROR_BIN;
        double *bar = &heights[at < N_ERROR_BIN - 1 ? (int)at : N_ERROR_BIN - 1];
        *bar += 100 / (double)n;
        most = *bar > most ? *bar : most;
    }
    const tess_figure_series bars = {
        .name = "time bins", .y = heights, .n = N_ERROR_BIN, .style = TESS_FIGURE_BARS};
    const tess_figure figure = {
        .title = has_local ? "Error where Local does not outweigh all places" : "Error",
        .x = {.label = "error", .unit = "cm", .low = 0, .high = high},
        .y = {.label = "time bins", .unit = "%", .low = 0, .high = most > 0 ? most : 1},
        .height = 200,
        .series = &bars,
        .n_series = 1,
        .note = "The largest 1 % of the errors lie to the right of the picture."};
    if (n > 0) {
        tess_figure_draw(&p->html, &figure);
    }
}

static void write_errors(tess_de_page *p)
{
    tess_de_page_say(p,
                     "Distance from the place with the largest posterior to %s: median %.3g cm, "
                     "90 %% below %.3g cm; chance would be %.3g cm.",
                     p->view->represented_position ? "the place that the simulation represents"
                                                   : "the animal's position",
                     p->score.median_error, p->score.percentile_90, p->score.chance_error);
    draw_errors(p);
}

static void write_calibration(tess_de_page *p)
{
    enum { N = TESS_DE_FACTS_LEVELS };
    const tess_de_agreement *g = &p->facts->agreement;
    double covered[N];
    double nominal[N];
    double sum = 0;
    // A point in the middle of each step.
    for (int i = 0; i < N; i++) {
        covered[i] = (sum + 0.5 * g->levels[i]) / (double)g->n_scored;
        nominal[i] = (i + 0.5) / N;
        sum += g->levels[i];
    }
    tess_html_heading(&p->html, "Calibration");
    tess_de_page_say(
        p,
        "The smallest sets of bins that hold 50 %% and 95 %% of the posterior have the "
        "true place in them in %.1f %% and %.1f %% of the scored bins; the last bin of "
        "a set counts only in part. Above the ideal line the posterior is wider than "
        "its errors (under-confident), below it narrower (over-confident).",
        100 * p->score.coverage_50, 100 * p->score.coverage_95);
    const tess_figure_series lines[] = {
        {.name = "this result", .x = nominal, .y = covered, .n = N},
        {.name = "ideal", .x = nominal, .y = nominal, .n = N, .colour = 7}};
    const tess_figure figure = {.title = "Calibration",
                                .x = {.label = "share of the posterior in the smallest set of bins",
                                      .low = -TESS_DE_PAGE_MARGIN,
                                      .high = 1 + TESS_DE_PAGE_MARGIN},
                                .y = {.label = "share of bins whose true place is in it",
                                      .low = -TESS_DE_PAGE_MARGIN,
                                      .high = 1 + TESS_DE_PAGE_MARGIN},
                                .height = 280,
                                .series = lines,
                                .n_series = 2};
    tess_figure_draw(&p->html, &figure);
}

void tess_de_page_agreement(tess_de_page *p)
{
    tess_html_heading(&p->html, "Error");
    write_shares(p);
    if (p->score.n_scored > 0) {
        write_errors(p);
        write_calibration(p);
    }
}
