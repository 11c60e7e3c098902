// What the draws leave open of the rates over time, and of cuts through the model.
#include "base/status.h"
#include "systems/xpcs/model/two.h"
#include "systems/xpcs/report/draws_page.h"
#include "systems/xpcs/settings/constants.h"
#include "systems/xpcs/xpcs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_TIME = 120, N_DRAW = 200, MAX_CUT = 200, MAX_CUTS = 12 };

static const double RATE_FLOOR = 1e-10;

// Median and 5 to 95 % at every place of values [n_draw][n].
typedef struct band {
    double low[MAX_CUT];
    double middle[MAX_CUT];
    double high[MAX_CUT];
} band;

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void band_of(const double *values, int64_t n_draw, int64_t n, double *column, band *out)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < n_draw; k++) {
            column[k] = values[k * n + i];
        }
        qsort(column, (size_t)n_draw, sizeof *column, compare);
        out->low[i] = tess_sorted_quantile(column, n_draw, 0.05);
        out->middle[i] = tess_sorted_quantile(column, n_draw, 0.5);
        out->high[i] = tess_sorted_quantile(column, n_draw, 0.95);
    }
}

// Number of the k-th of n_shown draws, spread evenly over all chains.
static int64_t spread(const tess_xp_draws_page *page, int64_t k, int64_t n_shown)
{
    return k * (page->d->draws->n_chain * page->d->draws->n_draw) / n_shown;
}

static int64_t draws_shown(const tess_xp_draws_page *page)
{
    const int64_t n = page->d->draws->n_chain * page->d->draws->n_draw;
    return n < N_DRAW ? n : N_DRAW;
}

static double power_law(double t, const double *theta)
{
    return fmax(theta[0] * pow(t, theta[1]) + theta[2], RATE_FLOOR);
}

static double shear_at(double t, const double *theta)
{
    return power_law(t, theta + 3);
}

static double reference_at(double t, const double *theta)
{
    return tess_xp_two_rates_at(t, tess_log_parts(t), theta).reference;
}

static double sample_at(double t, const double *theta)
{
    return tess_xp_two_rates_at(t, tess_log_parts(t), theta).sample;
}

static double velocity_at(double t, const double *theta)
{
    return tess_xp_two_rates_at(t, tess_log_parts(t), theta).velocity;
}

static double fraction_at(double t, const double *theta)
{
    return tess_xp_two_rates_at(t, tess_log_parts(t), theta).fraction;
}

// How a quantity follows from time and parameters, and how it is drawn.
typedef struct drawn_rate {
    const char *title;
    const char *unit;
    double (*at)(double t, const double *theta);
    bool is_linear; // else both axes are logarithmic
} drawn_rate;

static void draw_rate(tess_xp_draws_page *page, const drawn_rate *rate, double *values,
                      double *column)
{
    const tess_xp_draws *d = page->d;
    const int64_t n = draws_shown(page);
    const double first = d->fit->dt_s;
    const double last = (double)d->fit->n_frame * d->fit->dt_s;
    double t[N_TIME];
    double fitted[N_TIME];
    band b;
    for (int i = 0; i < N_TIME; i++) {
        const double part = (double)i / (N_TIME - 1);
        t[i] = rate->is_linear ? first + (last - first) * part : first * pow(last / first, part);
        fitted[i] = rate->at(t[i], d->fit->theta);
        for (int64_t k = 0; k < n; k++) {
            const double *theta = d->draws->theta + spread(page, k, n) * d->draws->n_param;
            values[k * N_TIME + i] = rate->at(t[i], theta);
        }
    }
    band_of(values, n, N_TIME, column, &b);
    const tess_figure_series series[2] = {
        {.name = "draws, 5 to 95 %",
         .x = t,
         .y = b.middle,
         .low = b.low,
         .high = b.high,
         .n = N_TIME},
        {.name = "fit", .x = t, .y = fitted, .n = N_TIME, .colour = 1}};
    const bool is_log = !rate->is_linear;
    tess_figure_draw(
        &page->html,
        &(tess_figure){.title = rate->title,
                       .x = {.label = "t", .unit = "s", .is_log = is_log},
                       .y = {.label = rate->title, .unit = rate->unit, .is_log = is_log},
                       .is_narrow = true,
                       .series = series,
                       .n_series = 2});
}

static double *take(tess_xp_draws_page *page, int64_t n)
{
    return tess_blocks_alloc(&page->memory, n, sizeof(double), "the report's bands");
}

tess_status tess_xp_draws_rates(tess_xp_draws_page *page)
{
    double *values = take(page, (int64_t)N_DRAW * N_TIME);
    double *column = take(page, N_DRAW);
    if (!values || !column) {
        return TESS_E_MEMORY;
    }
    static const drawn_rate one[] = {{"transport rate D(t)", "Å²/s", power_law, false},
                                     {"shear rate", "1/s", shear_at, false}};
    static const drawn_rate two[] = {{"transport of the reference", "Å²/s", reference_at, true},
                                     {"transport of the sample", "Å²/s", sample_at, true},
                                     {"velocity v(t)", "Å/s", velocity_at, true},
                                     {"fraction of the sample fs(t)", "", fraction_at, true}};
    const int32_t mode = page->d->fit->mode;
    const bool is_two = mode == TESS_XPCS_TWO_COMPONENT;
    const int n_rate = is_two ? 4 : mode == TESS_XPCS_LAMINAR_FLOW ? 2 : 1;
    tess_html_heading(&page->html, "Rates over time");
    for (int k = 0; k < n_rate; k += 2) {
        tess_html_row_begin(&page->html);
        for (int i = k; i < k + 2 && i < n_rate; i++) {
            draw_rate(page, is_two ? &two[i] : &one[i], values, column);
        }
        tess_html_row_end(&page->html);
    }
    return TESS_OK;
}

// Pairs of one row, from the next frame on, spread by the logarithm of the lag.
static int64_t choose_pairs(int64_t row, int64_t n_frame, int64_t *first, int64_t *second)
{
    int64_t n = 0;
    const double most = (double)(n_frame - 1 - row);
    for (int i = 0; i < MAX_CUT; i++) {
        const int64_t lag = llround(pow(most, (double)i / (MAX_CUT - 1)));
        if (lag >= 1 && (n == 0 || row + lag > second[n - 1])) {
            first[n] = row;
            second[n++] = row + lag;
        }
    }
    return n;
}

static void draw_cut(tess_xp_draws_page *page, int64_t angle, const double *tau,
                     const double *measured, const band *b, int64_t n)
{
    const tess_figure_series series[2] = {
        {.name = "measured", .x = tau, .y = measured, .n = n, .style = TESS_FIGURE_POINTS},
        {.name = "draws, 5 to 95 %",
         .x = tau,
         .y = b->middle,
         .low = b->low,
         .high = b->high,
         .n = n,
         .colour = 1}};
    char title[64];
    snprintf(title, sizeof title, "phi %.4g°", page->d->fit->phi[angle]);
    tess_figure_draw(&page->html, &(tess_figure){.title = title,
                                                 .x = {.label = "lag", .unit = "s", .is_log = true},
                                                 .y = {.label = "c2"},
                                                 .is_narrow = true,
                                                 .series = series,
                                                 .n_series = 2});
}

// Room of the cuts.
typedef struct cuts {
    int64_t first[MAX_CUT];
    int64_t second[MAX_CUT];
    double tau[MAX_CUT];
    double measured[MAX_CUT];
    int64_t n; // pairs
    int64_t n_angle;
    int64_t n_draw;
    double *model;  // [n_draw][n_angle][n]
    double *values; // [n_draw][n] of an angle
    double *column;
    double *row; // [n_frame]
} cuts;

static tess_status evaluate(tess_xp_draws_page *page, cuts *c)
{
    const tess_xp_draws *d = page->d;
    tess_xpcs_model model;
    TESS_TRY(tess_xp_constants_for_data(page->model, &page->data->info, &model));
    for (int64_t k = 0; k < c->n_draw; k++) {
        const int64_t at = spread(page, k, c->n_draw);
        const tess_xpcs_angles angles = {.struct_size = sizeof angles,
                                         .n_angle = c->n_angle,
                                         .phi = d->fit->phi,
                                         .q = d->fit->q,
                                         .contrast = d->draws->contrast + at * d->draws->n_angle,
                                         .offset = d->draws->offset + at * d->draws->n_angle};
        TESS_TRY(tess_xpcs_model_pairs(
            d->ctx, &model, &angles, d->draws->theta + at * d->draws->n_param, d->fit->n_frame,
            c->first, c->second, c->n, c->model + k * c->n_angle * c->n, NULL));
    }
    return TESS_OK;
}

static tess_status draw_cuts(tess_xp_draws_page *page, cuts *c)
{
    const int64_t row = c->first[0];
    band b;
    TESS_TRY(evaluate(page, c));
    tess_html_row_begin(&page->html);
    for (int64_t a = 0; a < c->n_angle; a++) {
        TESS_TRY(tess_xpcs_data_rows(page->d->ctx, page->data, a, row, 1, c->row));
        for (int64_t i = 0; i < c->n; i++) {
            c->tau[i] = (double)(c->second[i] - row) * page->d->fit->dt_s;
            c->measured[i] = c->row[c->second[i]];
            for (int64_t k = 0; k < c->n_draw; k++) {
                c->values[k * c->n + i] = c->model[(k * c->n_angle + a) * c->n + i];
            }
        }
        band_of(c->values, c->n_draw, c->n, c->column, &b);
        draw_cut(page, a, c->tau, c->measured, &b, c->n);
    }
    tess_html_row_end(&page->html);
    return TESS_OK;
}

tess_status tess_xp_draws_cuts(tess_xp_draws_page *page)
{
    const tess_xp_draws *d = page->d;
    const int64_t n_frame = d->fit->n_frame;
    if (!page->data || !page->model || !d->draws->contrast || !d->draws->offset || n_frame < 3) {
        return TESS_OK;
    }
    cuts *c = tess_blocks_alloc(&page->memory, 1, sizeof *c, "the report's cuts");
    if (!c) {
        return TESS_E_MEMORY;
    }
    c->n = choose_pairs(n_frame / 4, n_frame, c->first, c->second);
    c->n_angle = d->fit->n_angle < MAX_CUTS ? d->fit->n_angle : MAX_CUTS;
    c->n_draw = draws_shown(page);
    c->model = take(page, c->n_draw * c->n_angle * c->n);
    c->values = take(page, c->n_draw * c->n);
    c->column = take(page, c->n_draw);
    c->row = take(page, n_frame);
    if (!c->model || !c->values || !c->column || !c->row) {
        return TESS_E_MEMORY;
    }
    char text[128];
    snprintf(text, sizeof text, "From frame %lld on, single points; the first %lld angles.",
             (long long)(n_frame / 4) + 1, (long long)c->n_angle);
    tess_html_heading(&page->html, "Fitted cuts");
    tess_html_paragraph(&page->html, text);
    return draw_cuts(page, c);
}
