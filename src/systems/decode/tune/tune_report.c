// The page of a tuning: the choice, both curves, every candidate.
#include "base/file.h"
#include "base/status.h"
#include "page/figure.h"
#include "systems/decode/tune/tuning.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

// Scores this far below the best say no more than that they are bad: the picture ends there, and as
// far above, where only standard errors reach.
static const double DEPTH = 0.5;

static void say(tess_html *html, const char *format, ...) TESS_PRINTF(2, 3);

static void say(tess_html *html, const char *format, ...)
{
    char text[700];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tess_html_paragraph(html, text);
}

// The candidates of one sweep, by rising bandwidth.
enum { MAX_POINTS = 512 };

typedef struct curve {
    const tess_decode_tune_candidate *points[MAX_POINTS];
    int n;
    int is_position;
    double bottom; // nats per spike
    double top;
} curve;

static double value_of(const curve *c, int i)
{
    return c->is_position ? c->points[i]->position_std : c->points[i]->waveform_std;
}

static void find_curve(const tess_decode_tuning_info *info, int32_t sweep, curve *c)
{
    double best = -(double)INFINITY;
    *c = (curve){.top = -(double)INFINITY, .bottom = (double)INFINITY};
    for (int64_t i = 0; i < info->n_candidate && c->n < MAX_POINTS; i++) {
        const tess_decode_tune_candidate *p = &info->candidates[i];
        if (p->sweep != sweep) {
            continue;
        }
        c->is_position = p->is_position;
        int at = c->n++;
        c->points[at] = p;
        for (; at > 0 && value_of(c, at - 1) > value_of(c, at); at--) {
            c->points[at] = c->points[at - 1];
            c->points[at - 1] = p;
        }
        best = fmax(best, p->score);
        c->top = fmax(c->top, p->score + p->standard_error);
        c->bottom = fmin(c->bottom, p->score - p->standard_error);
    }
    c->top = fmin(c->top, best + DEPTH);
    c->bottom = fmax(c->bottom, best - DEPTH);
}

static void title_of(const tess_decode_tuning_info *info, const curve *c, int32_t sweep,
                     char title[96])
{
    if (c->is_position && info->has_waveform) {
        snprintf(title, 96, "Sweep %d: position_std at waveform_std %.4g uV", sweep,
                 c->points[0]->waveform_std);
    } else if (c->is_position) {
        snprintf(title, 96, "Sweep %d: position_std", sweep);
    } else {
        snprintf(title, 96, "Sweep %d: waveform_std at position_std %.4g cm", sweep,
                 c->points[0]->position_std);
    }
}

static void draw_curve(tess_html *html, const tess_decode_tuning_info *info, int32_t sweep)
{
    curve c;
    char title[96];
    double x[MAX_POINTS];
    double columns[3][MAX_POINTS]; // score, and one standard error below and above it
    find_curve(info, sweep, &c);
    if (c.n == 0) {
        return;
    }
    double best_x = (double)NAN;
    double best_y = (double)NAN;
    for (int i = 0; i < c.n; i++) {
        const tess_decode_tune_candidate *p = c.points[i];
        x[i] = value_of(&c, i);
        columns[0][i] = p->score;
        columns[1][i] = p->score - p->standard_error;
        columns[2][i] = p->score + p->standard_error;
        best_x = p->below_best == 0 ? x[i] : best_x;
        best_y = p->below_best == 0 ? p->score : best_y;
    }
    title_of(info, &c, sweep, title);
    const tess_figure_series series[] = {
        {.name = "score, with its standard error",
         .x = x,
         .y = columns[0],
         .low = columns[1],
         .high = columns[2],
         .n = c.n},
        {.name = "candidates", .x = x, .y = columns[0], .n = c.n, .style = TESS_FIGURE_POINTS},
        {.name = "the best",
         .x = &best_x,
         .y = &best_y,
         .n = 1,
         .style = TESS_FIGURE_POINTS,
         .colour = 1}};
    const double margin = c.top > c.bottom ? 0.05 * (c.top - c.bottom) : 0.5;
    const tess_figure figure = {.title = title,
                                .x = {.label = c.is_position ? "position_std" : "waveform_std",
                                      .unit = c.is_position ? "cm" : "uV",
                                      .is_log = true},
                                .y = {.label = "score",
                                      .unit = "nats per held-out spike",
                                      .low = c.bottom - margin,
                                      .high = c.top + margin},
                                .series = series,
                                .n_series = isnan(best_x) ? 2 : 3};
    tess_figure_draw(html, &figure);
}

static int32_t last_sweep(const tess_decode_tuning_info *info)
{
    int32_t last = 0;
    for (int64_t i = 0; i < info->n_candidate; i++) {
        last = info->candidates[i].sweep > last ? info->candidates[i].sweep : last;
    }
    return last;
}

static void write_table(tess_html *html, const tess_decode_tuning_info *info)
{
    static const char *const heads[] = {"sweep",          "position_std (cm)", "waveform_std (uV)",
                                        "nats per spike", "below the best",    "standard error"};
    tess_html_heading(html, "Candidates");
    tess_html_table_begin(html, heads, 6);
    for (int64_t i = 0; i < info->n_candidate; i++) {
        const tess_decode_tune_candidate *c = &info->candidates[i];
        char cells[6][32];
        snprintf(cells[0], sizeof cells[0], "%d", c->sweep);
        snprintf(cells[1], sizeof cells[1], "%.4g", c->position_std);
        cells[2][0] = 0;
        if (info->has_waveform) {
            snprintf(cells[2], sizeof cells[2], "%.4g", c->waveform_std);
        }
        snprintf(cells[3], sizeof cells[3], "%.5f", c->score);
        snprintf(cells[4], sizeof cells[4], "%.5f", c->below_best);
        snprintf(cells[5], sizeof cells[5], "%.5f", c->standard_error);
        const char *const row[] = {cells[0], cells[1], cells[2], cells[3], cells[4], cells[5]};
        tess_html_table_row(html, row, 6);
    }
    tess_html_table_end(html);
}

static void write_choice(tess_html *html, const tess_decode_tuning_info *info)
{
    char line[160];
    if (info->has_waveform) {
        snprintf(line, sizeof line, "--position-std %.4g --waveform-std %.4g", info->position_std,
                 info->waveform_std);
    } else {
        snprintf(line, sizeof line, "--algorithm sorted_spikes_kde --position-std %.4g",
                 info->position_std);
    }
    tess_html_code(html, line);
    say(html,
        "Held-out spikes are predicted %.4f nats per spike better than with the bandwidths it "
        "started from (position_std %.4g cm%s).",
        info->score - info->start_score, info->start_position_std,
        info->has_waveform ? ", and waveform_std as in the first row of the candidates" : "");
    say(html,
        "Score: log likelihood of held-out spikes as a marked point process at the animal's "
        "position, sum of log intensities at the spikes less the expected spikes of the samples, "
        "per spike. %lld contiguous blocks of training time were held out one after another; %lld "
        "of their %lld spikes and %lld position samples were looked at. Bands are standard errors "
        "of the distance from the best, from the blocks.",
        (long long)info->n_fold, (long long)info->n_spike, (long long)info->n_held,
        (long long)info->n_sample);
}

static void write_verdict(tess_html *html, const tess_decode_tuning_info *info)
{
    char text[128];
    const double gain = info->score - info->start_score;
    snprintf(text, sizeof text, "%.4f nats per spike gained", gain);
    tess_html_badge(html, TESS_HTML_NEUTRAL, text);
    if (info->position_at_end) {
        tess_html_warning(html, "the best position_std is the last one tried: start from there "
                                "again");
    }
    if (info->waveform_at_end) {
        tess_html_warning(html, "the best waveform_std is the last one tried: start from there "
                                "again");
    }
}

tess_status tess_decode_tuning_report(tess_context *ctx, const tess_decode_tuning *tuning,
                                      const char *path, int overwrite)
{
    tess_error_clear();
    const tess_decode_tuning_info *info = &tuning->info;
    tess_html html;
    tess_html_begin(&html, ctx, &(tess_origin){.stage = "decode.tune"}, "Bandwidths");
    write_verdict(&html, info);
    tess_html_heading(&html, "Choice");
    write_choice(&html, info);
    tess_html_heading(&html, "Sweeps");
    for (int32_t sweep = 1; sweep <= last_sweep(info); sweep++) {
        draw_curve(&html, info, sweep);
    }
    write_table(&html, info);
    const tess_status status = tess_html_write(&html, path, overwrite);
    tess_html_destroy(&html);
    return status;
}
