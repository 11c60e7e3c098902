// What chance does: shares of significant events, p-values, scores against those of shuffles.
#include "systems/decode/events/page.h"

#include "base/status.h"

#include <math.h>
#include <stdio.h>

enum { N_SCORE = TESS_DECODE_EVENT_N_SCORE, N_P_BAR = 20, MAX_LISTED = 5000 };

// What each kind of shuffle asks, next to its p.
static const char *question_of(int32_t kind)
{
    switch (kind) {
    case TESS_DECODE_SHUFFLE_COLUMN:
        return "every time bin rotated over the places by itself: also destroys where the decoder "
               "tends to point";
    case TESS_DECODE_SHUFFLE_FIELD:
        return "every electrode's intensities rotated: destroys the content of single bins too";
    case TESS_DECODE_SHUFFLE_TIME:
        return "time bins permuted: asks for order alone, exact for bins in random order";
    case TESS_DECODE_SHUFFLE_MARKS:
        return "marks permuted among each electrode's spikes: destroys the content of single bins "
               "too, so that a sharp event without order can be significant";
    case TESS_DECODE_SHUFFLE_SPIKES:
        return "electrodes and marks permuted among all spikes: destroys the content of single "
               "bins too";
    default:
        return "encodings permuted among units: destroys the content of single bins too";
    }
}

static void write_questions(tess_de_events_page *p)
{
    tess_html_fact_begin(&p->html);
    for (int32_t k = 0; k < p->info->n_kind; k++) {
        tess_html_fact(&p->html, tess_decode_shuffle_name(p->info->kinds[k]),
                       question_of(p->info->kinds[k]));
    }
    tess_html_fact_end(&p->html);
}

static int64_t count_small_q(const tess_de_events_page *p, int32_t k, int32_t score)
{
    int64_t n = 0;
    for (int64_t i = 0; i < p->n_best; i++) {
        n += p->info->q[tess_de_event_at(p->info, k, p->best[i], score)] < 0.05;
    }
    return n;
}

static void write_shares(tess_de_events_page *p)
{
    static const char *const heads[] = {"shuffle",   "score",         "events with a p", "p < 0.05",
                                        "share (%)", "95 % interval", "q < 0.05"};
    tess_html_table_begin(&p->html, heads, 7);
    for (int32_t at = 0; at < p->info->n_kind * N_SCORE; at++) {
        const int32_t kind = p->info->kinds[at / N_SCORE];
        const int32_t score = at % N_SCORE;
        const tess_decode_event_share *share = &p->info->shares[at];
        char cells[5][48];
        if (!tess_decode_event_has_p(kind, score) || share->n_event == 0) {
            continue;
        }
        snprintf(cells[0], sizeof cells[0], "%lld", (long long)share->n_event);
        snprintf(cells[1], sizeof cells[1], "%lld", (long long)share->n_significant);
        snprintf(cells[2], sizeof cells[2], "%.1f", 100 * share->share);
        snprintf(cells[3], sizeof cells[3], "%.1f to %.1f", 100 * share->low, 100 * share->high);
        snprintf(cells[4], sizeof cells[4], "%lld",
                 (long long)count_small_q(p, at / N_SCORE, score));
        const char *const row[] = {tess_decode_shuffle_name(kind),
                                   tess_de_event_score_words(score),
                                   cells[0],
                                   cells[1],
                                   cells[2],
                                   cells[3],
                                   cells[4]};
        tess_html_table_row(&p->html, row, 7);
    }
    tess_html_table_end(&p->html);
}

// How many of the events have a p in each twentieth, and what chance would have there.
static void draw_p(tess_de_events_page *p, int32_t k, int32_t score, bool is_folded)
{
    static const double ends[] = {0, 1};
    double heights[N_P_BAR] = {0};
    double most = 0;
    int64_t n = 0;
    char title[96];
    for (int64_t i = 0; i < p->n_best; i++) {
        const double value = p->info->p[tess_de_event_at(p->info, k, p->best[i], score)];
        if (isnan(value)) {
            continue;
        }
        // p of 0.05 is not below it: parts are open on the right, but for the last.
        const int at = value < 1 ? (int)(value * N_P_BAR) : N_P_BAR - 1;
        heights[at]++;
        most = fmax(most, heights[at]);
        n++;
    }
    if (n == 0) {
        return;
    }
    const double level[] = {(double)n / N_P_BAR, (double)n / N_P_BAR};
    const tess_figure_series series[] = {
        {.name = "events", .y = heights, .n = N_P_BAR, .style = TESS_FIGURE_BARS},
        {.name = "uniform", .x = ends, .y = level, .n = 2, .colour = 1}};
    snprintf(title, sizeof title, "%s, shuffle %s", tess_de_event_score_words(score),
             tess_decode_shuffle_name(p->info->kinds[k]));
    const tess_figure figure = {
        .title = title,
        .x = {.label = "p", .low = 0, .high = 1},
        .y = {.label = "events", .low = 0, .high = fmax(1.05 * most, 1.2 * level[0])},
        .height = 170,
        .is_narrow = true,
        .needs_script = is_folded,
        .series = series,
        .n_series = 2};
    tess_figure_draw(&p->html, &figure);
}

static const char *unit_of(int32_t score)
{
    const bool is_length = score == TESS_DECODE_EVENT_DISTANCE ||
                           score == TESS_DECODE_EVENT_NET_DISTANCE ||
                           score == TESS_DECODE_EVENT_MAX_JUMP;
    return is_length ? "cm" : "";
}

// The scores of the events over those of all their shuffles.
static void draw_spread(tess_de_events_page *p, int32_t k, int32_t score, bool is_folded)
{
    enum { N = TESS_DE_SPREAD_PARTS };
    const tess_de_spread *shuffled = &p->events->spreads[k * N_SCORE + score];
    tess_de_spread own = {.most = shuffled->most};
    double heights[2][N];
    double n[2] = {0, 0};
    double most = 0;
    char title[96];
    for (int64_t i = 0; i < p->n_best; i++) {
        tess_de_spread_add(&own, p->info->events[p->best[i]].scores[score]);
    }
    for (int i = 0; i < N; i++) {
        n[0] += (double)own.counts[i];
        n[1] += (double)shuffled->counts[i];
    }
    if (n[0] == 0 || n[1] == 0) {
        return;
    }
    for (int i = 0; i < N; i++) {
        heights[0][i] = 100 * (double)own.counts[i] / n[0];
        heights[1][i] = 100 * (double)shuffled->counts[i] / n[1];
        most = fmax(most, fmax(heights[0][i], heights[1][i]));
    }
    const tess_figure_series series[] = {
        {.name = "shuffles", .y = heights[1], .n = N, .style = TESS_FIGURE_BARS, .colour = 7},
        {.name = "events", .y = heights[0], .n = N, .colour = 0}};
    snprintf(title, sizeof title, "%s, shuffle %s", tess_de_event_score_words(score),
             tess_decode_shuffle_name(p->info->kinds[k]));
    const tess_figure figure = {.title = title,
                                .x = {.label = score == TESS_DECODE_EVENT_WEIGHTED_CORRELATION
                                                   ? "weighted correlation, without its sign"
                                                   : tess_de_event_score_words(score),
                                      .unit = unit_of(score),
                                      .low = 0,
                                      .high = shuffled->most},
                                .y = {.label = "share", .unit = "%", .low = 0, .high = 1.05 * most},
                                .height = 170,
                                .is_narrow = true,
                                .needs_script = is_folded,
                                .series = series,
                                .n_series = 2};
    tess_figure_draw(&p->html, &figure);
}

// Every event beside its own shuffles: from their median to their 95th percentile.
static tess_status draw_ranks(tess_de_events_page *p)
{
    const tess_decode_events_info *info = p->info;
    const int32_t score = p->leads[0];
    const double sign = tess_de_event_statistic(score, 1); // of what small is good
    const int64_t n = p->n_best < MAX_LISTED ? p->n_best : MAX_LISTED;
    double *room = tess_blocks_alloc(&p->memory, 4 * n, sizeof *room, "the report");
    char title[96];
    char note[160];
    if (!room) {
        return TESS_E_MEMORY;
    }
    double *x = room;
    double *own = room + n;
    double *median = room + 2 * n;
    double *high = room + 3 * n;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = tess_de_event_at(info, p->kind, p->best[i], score);
        x[i] = (double)(i + 1);
        own[i] = info->events[p->best[i]].scores[score];
        median[i] = sign * info->shuffle_median[at];
        high[i] = sign * info->shuffle_high[at];
    }
    const tess_figure_series series[] = {
        {.name = "shuffles: median, and to the 95th percentile",
         .x = x,
         .y = median,
         .low = sign < 0 ? high : median,
         .high = sign < 0 ? median : high,
         .n = n,
         .colour = 7},
        {.name = "event", .x = x, .y = own, .n = n, .style = TESS_FIGURE_POINTS}};
    snprintf(title, sizeof title, "%s of each event and of its shuffles by %s",
             tess_de_event_score_words(score), tess_decode_shuffle_name(info->kinds[p->kind]));
    snprintf(note, sizeof note, "A point beyond the band is significant%s.",
             sign < 0 ? "; small is good" : "");
    const tess_figure figure = {
        .title = title,
        .x = {.label = "rank of the event, by p", .low = 0, .high = (double)n + 1},
        .y = {.label = tess_de_event_score_words(score), .unit = unit_of(score)},
        .x_is_whole = true,
        .series = series,
        .n_series = 2,
        .note = note};
    tess_figure_draw(&p->html, &figure);
    return TESS_OK;
}

typedef void (*draw_fn)(tess_de_events_page *page, int32_t k, int32_t score, bool is_folded);

static bool is_lead(const tess_de_events_page *p, int32_t score)
{
    return score == p->leads[0] || score == p->leads[1];
}

// A picture for each kind, of the scores that lead; the others are folded away.
static void draw_all(tess_de_events_page *p, draw_fn draw)
{
    for (int folded = 0; folded < 2; folded++) {
        if (folded) {
            tess_html_fold_begin(&p->html, NULL, "The other scores", false);
        }
        tess_html_row_begin(&p->html);
        for (int32_t at = 0; at < p->info->n_kind * N_SCORE; at++) {
            const int32_t k = at % p->info->n_kind;
            const int32_t score = at / p->info->n_kind;
            if (tess_decode_event_has_p(p->info->kinds[k], score) && is_lead(p, score) != folded) {
                draw(p, k, score, folded);
            }
        }
        tess_html_row_end(&p->html);
        if (folded) {
            tess_html_fold_end(&p->html);
        }
    }
}

tess_status tess_de_events_page_chance(tess_de_events_page *p)
{
    if (p->kind < 0 || p->n_best == 0) {
        return TESS_OK;
    }
    tess_html_heading(&p->html, "Significant events");
    tess_de_events_say(p,
                       "%lld shuffles of every event by each kind. p is the share of shuffles that "
                       "do as well, the event itself counted; q is by Benjamini and Hochberg over "
                       "all events with a p. Kinds ask different questions:",
                       (long long)p->info->n_shuffle);
    write_questions(p);
    write_shares(p);
    tess_html_heading(&p->html, "p-values");
    tess_de_events_say(p, "Where there is nothing but chance, p is uniform or, where ties are "
                          "frequent, larger.");
    draw_all(p, draw_p);
    tess_html_heading(&p->html, "Scores against shuffles");
    TESS_TRY(draw_ranks(p));
    tess_de_events_say(p, "All events over all of their shuffles:");
    draw_all(p, draw_spread);
    return TESS_OK;
}
