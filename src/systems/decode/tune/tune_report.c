// The page of a tuning: the choice, both curves, every candidate.
#include "base/file.h"
#include "base/status.h"
#include "page/html_parts.h"
#include "systems/decode/tune/tuning.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 900, LEFT = 70, RIGHT = 20, HEIGHT = 220, TOP = 12, LABEL_GAP = 44 };

// Scores this far below the best say no more than that they are bad: the picture ends there.
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

typedef struct curve {
    const tess_decode_tune_candidate *points[512]; // by rising bandwidth
    int n;
    int is_position;
    double low; // log of the bandwidths
    double high;
    double bottom; // nats per spike
    double top;
} curve;

static double value_of(const curve *c, int i)
{
    return c->is_position ? c->points[i]->position_std : c->points[i]->waveform_std;
}

// The candidates of one sweep.
static void find_curve(const tess_decode_tuning_info *info, int32_t sweep, curve *c)
{
    *c = (curve){.top = -(double)INFINITY, .bottom = (double)INFINITY};
    for (int64_t i = 0; i < info->n_candidate && c->n < 512; i++) {
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
        c->top = fmax(c->top, p->score);
        c->bottom = fmin(c->bottom, p->score);
    }
    c->bottom = fmax(c->bottom, c->top - DEPTH);
    c->low = c->n > 0 ? log(value_of(c, 0)) : 0;
    c->high = c->n > 0 ? log(value_of(c, c->n - 1)) : 1;
}

static long x_of(const curve *c, int i)
{
    const double range = c->high > c->low ? c->high - c->low : 1;
    return lround(LEFT + (log(value_of(c, i)) - c->low) / range * (WIDTH - LEFT - RIGHT));
}

static long y_of(const curve *c, double score)
{
    const double range = c->top > c->bottom ? c->top - c->bottom : 1;
    const double share = fmax(0, fmin(1, (score - c->bottom) / range));
    return lround(TOP + (1 - share) * HEIGHT);
}

static void draw_points(tess_html *html, const curve *c)
{
    tess_text_add(&html->text, "<path fill=\"none\" stroke=\"#2f7fd0\" stroke-width=\"1.5\" d=\"");
    for (int i = 0; i < c->n; i++) {
        tess_text_printf(&html->text, "%c%ld %ld", i ? 'L' : 'M', x_of(c, i),
                         y_of(c, c->points[i]->score));
    }
    tess_text_add(&html->text, "\"/>\n");
    long last_label = -LABEL_GAP;
    for (int i = 0; i < c->n; i++) {
        const tess_decode_tune_candidate *p = c->points[i];
        const int is_best = p->below_best == 0;
        tess_text_printf(&html->text,
                         "<circle cx=\"%ld\" cy=\"%ld\" r=\"%d\" fill=\"%s\"/>"
                         "<path stroke=\"#2f7fd0\" d=\"M%ld %ldL%ld %ld\"/>\n",
                         x_of(c, i), y_of(c, p->score), is_best ? 6 : 3,
                         is_best ? "#d9483b" : "#2f7fd0", x_of(c, i),
                         y_of(c, p->score + p->standard_error), x_of(c, i),
                         y_of(c, p->score - p->standard_error));
        if (x_of(c, i) - last_label >= LABEL_GAP) {
            last_label = x_of(c, i);
            tess_text_printf(&html->text,
                             "<text x=\"%ld\" y=\"%d\" text-anchor=\"middle\">%.3g</text>\n",
                             last_label, TOP + HEIGHT + 18, value_of(c, i));
        }
    }
}

static void draw_curve(tess_html *html, const tess_decode_tuning_info *info, int32_t sweep)
{
    curve c;
    char heading[96];
    find_curve(info, sweep, &c);
    if (c.n == 0) {
        return;
    }
    const int is_position = c.is_position;
    if (is_position && info->has_waveform) {
        snprintf(heading, sizeof heading, "Sweep %d: position_std at waveform_std %.4g uV", sweep,
                 c.points[0]->waveform_std);
    } else if (is_position) {
        snprintf(heading, sizeof heading, "Sweep %d: position_std", sweep);
    } else {
        snprintf(heading, sizeof heading, "Sweep %d: waveform_std at position_std %.4g cm", sweep,
                 c.points[0]->position_std);
    }
    tess_html_heading(html, heading);
    tess_text_printf(&html->text, "<svg viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\">\n", WIDTH,
                     TOP + HEIGHT + 44, WIDTH);
    tess_text_printf(&html->text,
                     "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" "
                     "stroke=\"currentColor\" stroke-opacity=\".4\"/>\n",
                     LEFT, TOP, WIDTH - LEFT - RIGHT, HEIGHT);
    draw_points(html, &c);
    for (int i = 0; i <= 2; i++) {
        const double score = c.bottom + 0.5 * i * (c.top - c.bottom);
        tess_text_printf(&html->text, "<text x=\"%d\" y=\"%ld\" text-anchor=\"end\">%.3f</text>\n",
                         LEFT - 6, y_of(&c, score) + 4, score);
    }
    tess_text_printf(&html->text,
                     "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s, logarithmic</text>\n"
                     "<text transform=\"translate(12 %d) rotate(-90)\" text-anchor=\"middle\">nats "
                     "per held-out spike</text></svg>\n",
                     WIDTH / 2, TOP + HEIGHT + 38,
                     is_position ? "position_std (cm)" : "waveform_std (uV)", TOP + HEIGHT / 2);
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
    if (info->position_at_end || info->waveform_at_end) {
        say(html, "Warning: the best %s is the last one tried: start from there again.",
            info->position_at_end ? "position_std" : "waveform_std");
    }
    say(html,
        "Score: log likelihood of held-out spikes as a marked point process at the animal's "
        "position, sum of log intensities at the spikes less the expected spikes of the samples, "
        "per spike. %lld contiguous blocks of training time were held out one after another; %lld "
        "of their %lld spikes and %lld position samples were looked at. Bars are standard errors "
        "of the distance from the best, from the blocks.",
        (long long)info->n_fold, (long long)info->n_spike, (long long)info->n_held,
        (long long)info->n_sample);
}

tess_status tess_decode_tuning_report(tess_context *ctx, const tess_decode_tuning *tuning,
                                      const char *path, int overwrite)
{
    tess_error_clear();
    const tess_decode_tuning_info *info = &tuning->info;
    tess_html html;
    tess_html_begin(&html, ctx, &(tess_origin){.stage = "decode.tune"}, "Bandwidths");
    write_choice(&html, info);
    for (int32_t sweep = 1; sweep <= last_sweep(info); sweep++) {
        draw_curve(&html, info, sweep);
    }
    write_table(&html, info);
    const tess_status status = tess_html_write(&html, path, overwrite);
    tess_html_destroy(&html);
    return status;
}
