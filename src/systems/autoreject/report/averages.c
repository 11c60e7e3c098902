// Averages of the epochs before and after rejection and repair.
#include "base/status.h"
#include "systems/autoreject/report/page.h"

#include <math.h>
#include <stdio.h>

typedef struct picture {
    tess_ar_page *page;
    const tess_ar_sums *sums;
    int32_t type;
    int64_t n_chan;
    int64_t *channels; // of the type
    const char **names;
} picture;

static double mean_at(const picture *p, bool is_after, int64_t channel, int64_t t)
{
    const int64_t n_time = p->page->epochs_info->n_time;
    const double sum = (is_after ? p->sums->after : p->sums->before)[channel * n_time + t];
    const int64_t n = is_after ? p->sums->n_after : p->sums->n_before;
    const double scale = tess_ar_unit_of(p->page->model->types[p->type].type).scale;
    return n > 0 ? scale * sum / (double)n : (double)NAN;
}

// Standard deviation over the channels of one type at every sample: what MNE calls GFP.
static void field_power(const picture *p, bool is_after, double *power)
{
    for (int64_t t = 0; t < p->page->epochs_info->n_time; t++) {
        double sum = 0;
        double squares = 0;
        for (int64_t k = 0; k < p->n_chan; k++) {
            sum += mean_at(p, is_after, p->channels[k], t);
        }
        for (int64_t k = 0; k < p->n_chan; k++) {
            const double miss = mean_at(p, is_after, p->channels[k], t) - sum / (double)p->n_chan;
            squares += miss * miss;
        }
        power[t] = sqrt(squares / (double)p->n_chan);
    }
}

static tess_figure_axis time_axis(const tess_autoreject_epochs_info *info)
{
    const double step = info->sampling_hz > 0 ? 1 / info->sampling_hz : 1;
    return (tess_figure_axis){.label = "time",
                              .unit = info->sampling_hz > 0 ? "s" : "samples",
                              .low = info->tmin - step / 2,
                              .high = info->tmin + ((double)info->n_time - 0.5) * step};
}

static tess_status draw_power(const picture *p)
{
    const tess_autoreject_epochs_info *info = p->page->epochs_info;
    const int32_t type = p->page->model->types[p->type].type;
    const int64_t n = info->n_time;
    double *power = tess_blocks_alloc(&p->page->memory, 2 * n, sizeof *power, "averages");
    if (!power) {
        return TESS_E_MEMORY;
    }
    field_power(p, false, power);
    field_power(p, true, power + n);
    const tess_figure_series lines[] = {{.name = "before", .y = power, .n = n, .colour = 1},
                                        {.name = "after", .y = power + n, .n = n, .colour = 0}};
    char title[96];
    snprintf(title, sizeof title, "%s: global field power", tess_autoreject_type_name(type));
    tess_figure_draw(&p->page->html, &(tess_figure){.title = title,
                                                    .x = time_axis(info),
                                                    .y = {.label = "deviation over channels",
                                                          .unit = tess_ar_unit_of(type).name},
                                                    .series = lines,
                                                    .n_series = p->sums->n_after > 0 ? 2 : 1});
    return TESS_OK;
}

// Columns of a map: single samples, or means of as many as keep the page small.
static int64_t samples_per_column(const picture *p)
{
    enum { MOST_CELLS = 100000, LEAST_COLUMNS = 200 };
    const int64_t room = MOST_CELLS / p->n_chan;
    const int64_t n_column = room > LEAST_COLUMNS ? room : LEAST_COLUMNS;
    return (p->page->epochs_info->n_time + n_column - 1) / n_column;
}

// [n_column][n_chan]; returns the largest distance from 0.
static double fill_map(const picture *p, bool is_after, int64_t group, double *cells)
{
    const int64_t n_time = p->page->epochs_info->n_time;
    double largest = 0;
    for (int64_t first = 0; first < n_time; first += group) {
        const int64_t end = first + group < n_time ? first + group : n_time;
        for (int64_t k = 0; k < p->n_chan; k++) {
            double sum = 0;
            for (int64_t t = first; t < end; t++) {
                sum += mean_at(p, is_after, p->channels[k], t);
            }
            *cells = sum / (double)(end - first);
            largest = fmax(largest, fabs(*cells++));
        }
    }
    return largest;
}

// Steps of about 1/4000 of the scale, a power of two: numbers that can be packed.
static void round_cells(double *cells, int64_t n, double largest)
{
    const double step = ldexp(1, ilogb(largest) - 12);
    for (int64_t i = 0; i < n; i++) {
        cells[i] = round(cells[i] / step) * step;
    }
}

static void draw_map(const picture *p, const double *cells, bool is_after, double largest,
                     int64_t n_column)
{
    const int32_t type = p->page->model->types[p->type].type;
    char title[96];
    snprintf(title, sizeof title, "%s: average %s", tess_autoreject_type_name(type),
             is_after ? "after" : "before");
    const tess_figure_map map = {.values = cells,
                                 .n_column = n_column,
                                 .n_row = p->n_chan,
                                 .label = "average",
                                 .unit = tess_ar_unit_of(type).name,
                                 .low = -largest,
                                 .high = largest,
                                 .colours = TESS_FIGURE_DIVERGING,
                                 .rows = p->names};
    tess_figure_axis x = time_axis(p->page->epochs_info);
    const double samples = (double)(n_column * samples_per_column(p));
    x.high = x.low + (x.high - x.low) * samples / (double)p->page->epochs_info->n_time;
    char group[32];
    snprintf(group, sizeof group, "average-map%d", p->type);
    tess_figure_draw(&p->page->html,
                     &(tess_figure){.title = title,
                                    .group = group,
                                    .is_narrow = true,
                                    .x = x,
                                    .y = {"", "", (double)p->n_chan - 0.5, -0.5, false},
                                    .map = &map});
}

static tess_status draw_maps(const picture *p)
{
    const int64_t group = samples_per_column(p);
    const int64_t n_column = (p->page->epochs_info->n_time + group - 1) / group;
    const int64_t n = n_column * p->n_chan;
    double *cells = tess_blocks_alloc(&p->page->memory, 2 * n, sizeof *cells, "averages");
    if (!cells) {
        return TESS_E_MEMORY;
    }
    const bool has_after = p->sums->n_after > 0;
    double largest = fill_map(p, false, group, cells);
    if (has_after) { // one scale for both, that of what is kept
        const double of_after = fill_map(p, true, group, cells + n);
        largest = of_after > 0 ? of_after : largest;
    }
    largest = largest > 0 ? largest : 1;
    round_cells(cells, 2 * n, largest);
    tess_html_row_begin(&p->page->html);
    draw_map(p, cells, false, largest, n_column);
    if (has_after) {
        draw_map(p, cells + n, true, largest, n_column);
    }
    tess_html_row_end(&p->page->html);
    return TESS_OK;
}

static tess_status draw_type(picture *p)
{
    const tess_autoreject_log_info *log = p->page->log;
    p->n_chan = 0;
    for (int64_t c = 0; c < log->n_chan; c++) {
        if (p->page->type_of[c] == p->type) {
            p->names[p->n_chan] = p->page->names[c];
            p->channels[p->n_chan++] = c;
        }
    }
    if (p->n_chan == 0) {
        return TESS_OK;
    }
    if (p->n_chan > 1) { // of one channel it is 0
        TESS_TRY(draw_power(p));
    }
    return draw_maps(p);
}

tess_status tess_ar_page_averages(tess_ar_page *page, const tess_ar_sums *sums)
{
    picture p = {.page = page, .sums = sums};
    char text[240];
    p.channels =
        tess_blocks_alloc(&page->memory, page->log->n_chan, sizeof *p.channels, "averages");
    p.names = tess_blocks_alloc(&page->memory, page->log->n_chan, sizeof *p.names, "averages");
    if (!p.channels || !p.names) {
        return TESS_E_MEMORY;
    }
    tess_html_heading(&page->html, "Average before and after");
    snprintf(
        text, sizeof text,
        "Mean of all %lld epochs, and of the %lld that were kept, repaired; both maps have the "
        "colours of the second.",
        (long long)sums->n_before, (long long)sums->n_after);
    tess_html_paragraph(&page->html, text);
    for (int32_t t = 0; t < (int32_t)page->model->n_type; t++) {
        p.type = t;
        TESS_TRY(draw_type(&p));
    }
    return TESS_OK;
}
