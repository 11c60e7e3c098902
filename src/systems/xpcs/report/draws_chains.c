// Chains: where they went, and whether they agree.
#include "systems/xpcs/report/draws_page.h"

#include "numerics/order.h"

#include <math.h>
#include <stdio.h>

enum { MAX_CHAIN = 8, N_BIN = 60, N_RANK = 20, N_LAG = 80, N_GROWTH = 20, MAX_ROW = 8 };

static int64_t chains_shown(const tess_xp_draws_page *page)
{
    const int64_t n = page->d->draws->n_chain;
    return n < MAX_CHAIN ? n : MAX_CHAIN;
}

// Every so-many-th draw of a chain.
static int64_t thin(const tess_xp_draws_page *page, const double *x, int64_t chain, double *out)
{
    const int64_t n = page->d->draws->n_draw;
    const int64_t step = (n + TESS_XP_SHOWN - 1) / TESS_XP_SHOWN;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i += step) {
        out[count++] = x[chain * n + i];
    }
    return count;
}

static void draw_trace(tess_xp_draws_page *page, int64_t row)
{
    const int64_t n_chain = chains_shown(page);
    const double n = (double)page->d->draws->n_draw;
    tess_figure_series series[MAX_CHAIN];
    char names[MAX_CHAIN][32];
    for (int64_t c = 0; c < n_chain; c++) {
        double *y = page->shown + c * TESS_XP_SHOWN;
        const int64_t count = thin(page, page->x, c, y);
        snprintf(names[c], sizeof names[c], "chain %lld", (long long)c + 1);
        series[c] =
            (tess_figure_series){.name = names[c], .y = y, .n = count, .colour = (int)(c % 8)};
    }
    tess_figure_draw(&page->html, &(tess_figure){.title = page->d->told->names[row],
                                                 .x = {.label = "draw", .low = 0, .high = n},
                                                 .y = {.label = page->d->told->names[row]},
                                                 .is_narrow = true,
                                                 .series = series,
                                                 .n_series = (int)n_chain});
}

// Shares of the draws in equal parts of their range, of one chain or (chain < 0) of all.
static void density_of(const tess_xp_draws_page *page, int64_t chain, double low, double high,
                       double *out)
{
    const int64_t n = page->d->draws->n_draw;
    const int64_t first = chain < 0 ? 0 : chain * n;
    const int64_t count = chain < 0 ? page->d->draws->n_chain * n : n;
    const double width = (high - low) / N_BIN;
    for (int b = 0; b < N_BIN; b++) {
        out[b] = 0;
    }
    for (int64_t i = first; i < first + count; i++) {
        const int64_t b = (int64_t)((page->x[i] - low) / width);
        out[b < 0 ? 0 : b >= N_BIN ? N_BIN - 1 : b] += 1 / ((double)count * width);
    }
}

// The posterior, and the prior over the same range.
static void draw_density(tess_xp_draws_page *page, int64_t row)
{
    const tess_xp_draws *d = page->d;
    const int64_t n = d->draws->n_chain * d->draws->n_draw;
    double low = page->x[0];
    double high = page->x[0];
    double x[N_BIN];
    double y[N_BIN];
    double prior[N_BIN];
    double fit[2] = {d->told->rows[row].fit, d->told->rows[row].fit};
    for (int64_t i = 0; i < n; i++) {
        low = fmin(low, page->x[i]);
        high = fmax(high, page->x[i]);
    }
    if (!(high > low)) {
        return;
    }
    density_of(page, -1, low, high, y);
    for (int b = 0; b < N_BIN; b++) {
        x[b] = low + (high - low) * (b + 0.5) / N_BIN;
        prior[b] = tess_xp_prior_density(d->draws, d->config, row, x[b]);
    }
    const tess_figure_series series[2] = {
        {.name = "posterior", .y = y, .n = N_BIN, .style = TESS_FIGURE_BARS},
        {.name = "prior", .x = x, .y = prior, .n = N_BIN, .colour = 1}};
    const tess_figure_mark mark = {.low = fit[0], .high = fit[1], .name = "fit"};
    const bool has_mark = fit[0] >= low && fit[0] <= high;
    tess_figure_draw(&page->html,
                     &(tess_figure){.title = "posterior and prior",
                                    .x = {.label = d->told->names[row], .low = low, .high = high},
                                    .y = {.label = "density"},
                                    .is_narrow = true,
                                    .series = series,
                                    .n_series = isnan(prior[0]) ? 1 : 2,
                                    .marks = has_mark ? &mark : NULL,
                                    .n_mark = has_mark});
}

void tess_xp_draws_traces(tess_xp_draws_page *page)
{
    tess_html_heading(&page->html, "Traces and densities");
    for (int64_t row = 0; row < page->n_main; row++) {
        if (page->d->told->rows[row].is_fixed) {
            continue;
        }
        tess_xp_draws_copy(page->d->draws, row, page->x);
        tess_html_row_begin(&page->html);
        draw_trace(page, row);
        draw_density(page, row);
        tess_html_row_end(&page->html);
    }
}

// How often the draws of a chain fall into each twentieth of all: even, where chains agree.
static void draw_ranks(tess_xp_draws_page *page, int64_t row)
{
    const int64_t n_draw = page->d->draws->n_draw;
    const int64_t n = page->d->draws->n_chain * n_draw;
    const int64_t n_chain = chains_shown(page);
    tess_figure_series series[MAX_CHAIN];
    char names[MAX_CHAIN][32];
    double x[N_RANK];
    for (int64_t i = 0; i < MAX_CHAIN * N_RANK; i++) {
        page->shown[i] = 0;
    }
    tess_order_stable(page->x, n, page->room.order, page->room.scratch);
    for (int64_t i = 0; i < n; i++) {
        const int64_t chain = page->room.order[i] / n_draw;
        if (chain < n_chain) {
            page->shown[chain * N_RANK + i * N_RANK / n] += N_RANK / (double)n_draw;
        }
    }
    for (int b = 0; b < N_RANK; b++) {
        x[b] = (b + 0.5) / N_RANK;
    }
    for (int64_t c = 0; c < n_chain; c++) {
        snprintf(names[c], sizeof names[c], "chain %lld", (long long)c + 1);
        series[c] = (tess_figure_series){.name = names[c],
                                         .x = x,
                                         .y = page->shown + c * N_RANK,
                                         .n = N_RANK,
                                         .colour = (int)(c % 8)};
    }
    tess_figure_draw(&page->html, &(tess_figure){.title = page->d->told->names[row],
                                                 .x = {.label = "rank", .low = 0, .high = 1},
                                                 .y = {.label = "frequency, 1 expected"},
                                                 .is_narrow = true,
                                                 .series = series,
                                                 .n_series = (int)n_chain});
}

void tess_xp_draws_ranks(tess_xp_draws_page *page)
{
    tess_html_heading(&page->html, "Ranks");
    tess_html_row_begin(&page->html);
    for (int64_t row = 0; row < page->n_main; row++) {
        if (!page->d->told->rows[row].is_fixed) {
            tess_xp_draws_copy(page->d->draws, row, page->x);
            draw_ranks(page, row);
        }
    }
    tess_html_row_end(&page->html);
}

// Mean over the chains.
static void autocorrelation_of(const tess_xp_draws_page *page, int64_t n_lag, double *out)
{
    const int64_t n = page->d->draws->n_draw;
    for (int64_t lag = 0; lag < n_lag; lag++) {
        double products = 0;
        double squares = 0;
        for (int64_t c = 0; c < page->d->draws->n_chain; c++) {
            const double *x = page->x + c * n;
            const double mean = tess_chain_mean(x, n);
            for (int64_t i = 0; i < n; i++) {
                squares += (x[i] - mean) * (x[i] - mean);
                products += i + lag < n ? (x[i] - mean) * (x[i + lag] - mean) : 0;
            }
        }
        out[lag] = products / squares;
    }
}

void tess_xp_draws_mixing(tess_xp_draws_page *page)
{
    const int64_t n = page->d->draws->n_draw;
    const int64_t n_lag = n < N_LAG ? n : N_LAG;
    double lag[N_LAG];
    double draws[N_GROWTH];
    double curves[MAX_ROW][N_LAG];
    double growth[MAX_ROW][N_GROWTH];
    tess_figure_series first[MAX_ROW];
    tess_figure_series second[MAX_ROW];
    int n_series = 0;
    for (int64_t i = 0; i < n_lag; i++) {
        lag[i] = (double)i;
    }
    for (int64_t row = 0; row < page->n_main && n_series < MAX_ROW; row++) {
        const int k = n_series;
        if (page->d->told->rows[row].is_fixed) {
            continue;
        }
        tess_xp_draws_copy(page->d->draws, row, page->x);
        autocorrelation_of(page, n_lag, curves[k]);
        for (int i = 0; i < N_GROWTH; i++) {
            const int64_t part = n * (i + 1) / N_GROWTH;
            draws[i] = (double)part;
            growth[k][i] = tess_chain_ess_bulk(page->x, &page->room, part);
        }
        first[k] = (tess_figure_series){
            .name = page->d->told->names[row], .x = lag, .y = curves[k], .n = n_lag, .colour = k};
        second[k] = (tess_figure_series){.name = page->d->told->names[row],
                                         .x = draws,
                                         .y = growth[k],
                                         .n = N_GROWTH,
                                         .colour = k};
        n_series++;
    }
    tess_html_heading(&page->html, "Mixing");
    tess_html_row_begin(&page->html);
    tess_figure_draw(&page->html, &(tess_figure){.title = "autocorrelation",
                                                 .x = {.label = "lag in draws"},
                                                 .y = {.label = "correlation"},
                                                 .is_narrow = true,
                                                 .series = first,
                                                 .n_series = n_series});
    tess_figure_draw(&page->html, &(tess_figure){.title = "effective draws so far",
                                                 .x = {.label = "draws of each chain"},
                                                 .y = {.label = "effective draws (bulk)"},
                                                 .is_narrow = true,
                                                 .series = second,
                                                 .n_series = n_series,
                                                 .note = "Lines that rise straight will go on."});
    tess_html_row_end(&page->html);
}

void tess_xp_draws_energy(tess_xp_draws_page *page)
{
    const tess_xpcs_posterior_info *i = page->d->draws;
    const int64_t n = i->n_chain * i->n_draw;
    double x[N_BIN];
    double levels[N_BIN] = {0};
    double steps[N_BIN] = {0};
    double reach = 0;
    if (!i->energy || i->n_draw < 2) {
        return;
    }
    const double mean = tess_chain_mean(i->energy, n);
    for (int64_t k = 0; k < n; k++) {
        reach = fmax(reach, fabs(i->energy[k] - mean));
    }
    const double width = 2 * reach / N_BIN;
    for (int64_t k = 0; k < n && width > 0; k++) {
        const int64_t level = (int64_t)((i->energy[k] - mean + reach) / width);
        levels[level < N_BIN ? level : N_BIN - 1] += 1 / ((double)n * width);
        if (k % i->n_draw > 0) {
            const int64_t step = (int64_t)((i->energy[k] - i->energy[k - 1] + reach) / width);
            steps[step < 0 ? 0 : step < N_BIN ? step : N_BIN - 1] += 1 / ((double)n * width);
        }
    }
    for (int b = 0; b < N_BIN; b++) {
        x[b] = -reach + width * (b + 0.5);
    }
    const tess_figure_series series[2] = {
        {.name = "energy less its mean", .x = x, .y = levels, .n = N_BIN},
        {.name = "change from draw to draw", .x = x, .y = steps, .n = N_BIN, .colour = 1}};
    tess_html_heading(&page->html, "Energy");
    tess_figure_draw(&page->html,
                     &(tess_figure){.title = "energy",
                                    .x = {.label = "energy"},
                                    .y = {.label = "density"},
                                    .series = series,
                                    .n_series = 2,
                                    .note = "Where changes are much narrower than the energies, "
                                            "the tails are reached too slowly."});
}
