// Tables of the report: events one by one, the scores of one, and those that were dropped.
#include "systems/decode/events/page.h"

#include <math.h>
#include <stdio.h>

enum {
    N_SCORE = TESS_DECODE_EVENT_N_SCORE,
    CELL = 64,
    MAX_OPEN = 100,  // a longer table is folded
    MAX_ROWS = 5000, // more are in the table's file
    N_FIXED = 14,    // heads before p and q
    N_CELL = N_FIXED + 2 * TESS_DECODE_N_SHUFFLE
};

static void number(char cell[CELL], const char *format, double value)
{
    cell[0] = 0;
    if (!isnan(value)) {
        snprintf(cell, CELL, format, value);
    }
}

static int list_heads(const tess_de_events_page *p, char room[N_CELL][CELL])
{
    static const char *const fixed[N_FIXED] = {
        "event",         "start (s)",         "lasts (ms)",
        "spikes",        "electrodes",        "counted bins",
        "line fit",      "velocity (cm/s)",   "weighted correlation",
        "distance (cm)", "net distance (cm)", "largest jump (cm)",
        "coverage",      "sharpness"};
    int n = 0;
    for (; n < N_FIXED; n++) {
        snprintf(room[n], CELL, "%s", fixed[n]);
    }
    for (int32_t k = 0; k < p->info->n_kind; k++) {
        const char *kind = tess_decode_shuffle_name(p->info->kinds[k]);
        snprintf(room[n++], CELL, "p, %s", kind);
        snprintf(room[n++], CELL, "q, %s", kind);
    }
    return n;
}

static void write_row(tess_de_events_page *p, int64_t index, bool has_picture)
{
    const tess_decode_events_info *info = p->info;
    const tess_decode_event *e = &info->events[index];
    const double *scores = e->scores;
    char cells[N_CELL][CELL];
    const char *row[N_CELL];
    char id[32];
    int n = 0;
    snprintf(cells[n++], CELL, "%lld", (long long)e->event);
    number(cells[n++], "%.4f", e->start);
    number(cells[n++], "%.1f", 1e3 * e->duration);
    snprintf(cells[n++], CELL, "%lld", (long long)e->n_spike);
    snprintf(cells[n++], CELL, "%lld", (long long)e->n_electrode);
    snprintf(cells[n++], CELL, "%lld", (long long)e->n_counted);
    number(cells[n++], "%.3f", scores[TESS_DECODE_EVENT_LINE_FIT]);
    number(cells[n++], "%.0f", e->line_velocity);
    number(cells[n++], "%.3f", scores[TESS_DECODE_EVENT_WEIGHTED_CORRELATION]);
    number(cells[n++], "%.1f", scores[TESS_DECODE_EVENT_DISTANCE]);
    number(cells[n++], "%.1f", scores[TESS_DECODE_EVENT_NET_DISTANCE]);
    number(cells[n++], "%.1f", scores[TESS_DECODE_EVENT_MAX_JUMP]);
    number(cells[n++], "%.3f", scores[TESS_DECODE_EVENT_COVERAGE]);
    number(cells[n++], "%.3f", scores[TESS_DECODE_EVENT_SHARPNESS]);
    for (int32_t k = 0; k < info->n_kind; k++) {
        const int64_t at = tess_de_event_at(info, k, index, p->leads[0]);
        number(cells[n++], "%.4f", info->p[at]);
        number(cells[n++], "%.4f", info->q[at]);
    }
    for (int i = 0; i < n; i++) {
        row[i] = cells[i];
    }
    if (has_picture) {
        snprintf(id, sizeof id, "event%lld", (long long)e->event);
        tess_html_table_row_to(&p->html, row, n, id);
    } else {
        tess_html_table_row(&p->html, row, n);
    }
}

void tess_de_events_page_table(tess_de_events_page *p)
{
    char room[N_CELL][CELL];
    const char *heads[N_CELL];
    const int64_t n_row = p->n_best < MAX_ROWS ? p->n_best : MAX_ROWS;
    if (n_row == 0) {
        return;
    }
    tess_html_heading(&p->html, "Events");
    tess_de_events_say(p,
                       "%s%lld scored events, the most significant first; a click on a head sorts. "
                       "p and q are those of the %s; the others are in the table's file.",
                       n_row < p->n_best ? "The first 5,000 of " : "", (long long)p->n_best,
                       tess_de_event_score_words(p->leads[0]));
    const int n = list_heads(p, room);
    for (int i = 0; i < n; i++) {
        heads[i] = room[i];
    }
    tess_html_fold_begin(&p->html, NULL, "The table", n_row <= MAX_OPEN);
    tess_html_table_begin(&p->html, heads, n);
    for (int64_t i = 0; i < n_row; i++) {
        write_row(p, p->best[i], i < p->n_drawn);
    }
    tess_html_table_end(&p->html);
    tess_html_fold_end(&p->html);
}

void tess_de_events_page_scores(tess_de_events_page *p, int64_t event)
{
    const tess_decode_events_info *info = p->info;
    char room[2 + 4 * TESS_DECODE_N_SHUFFLE][CELL];
    const char *row[2 + 4 * TESS_DECODE_N_SHUFFLE];
    static const char *const words[] = {"p", "q", "median", "95 %"};
    const int n = 2 + 4 * info->n_kind;
    for (int i = 0; i < n; i++) {
        row[i] = room[i];
    }
    snprintf(room[0], CELL, "score");
    snprintf(room[1], CELL, "value");
    for (int i = 0; i < n - 2; i++) {
        const char *kind = tess_decode_shuffle_name(info->kinds[i / 4]);
        snprintf(room[2 + i], CELL, "%s, %s", words[i % 4], kind);
    }
    tess_html_table_begin(&p->html, row, n);
    for (int32_t s = 0; s < N_SCORE; s++) {
        const double value = info->events[event].scores[s];
        if (isnan(value)) {
            continue;
        }
        snprintf(room[0], CELL, "%s", tess_de_event_score_words(s));
        number(room[1], "%.5g", value);
        for (int32_t k = 0; k < info->n_kind; k++) {
            const int64_t at = tess_de_event_at(info, k, event, s);
            const bool is_small =
                s == TESS_DECODE_EVENT_DISTANCE || s == TESS_DECODE_EVENT_MAX_JUMP;
            const double sign = !tess_decode_event_has_p(info->kinds[k], s) ? (double)NAN
                                : is_small                                  ? -1
                                                                            : 1;
            number(room[2 + 4 * k], "%.4f", info->p[at]);
            number(room[3 + 4 * k], "%.4f", info->q[at]);
            number(room[4 + 4 * k], "%.5g", sign * info->shuffle_median[at]);
            number(room[5 + 4 * k], "%.5g", sign * info->shuffle_high[at]);
        }
        tess_html_table_row(&p->html, row, n);
    }
    tess_html_table_end(&p->html);
}

static void list_reasons(int32_t reason, char *text, size_t capacity)
{
    size_t used = 0;
    text[0] = 0;
    for (int32_t bit = 1; tess_decode_event_reason_name(bit); bit <<= 1) {
        if (reason & bit && used < capacity) {
            used += (size_t)snprintf(text + used, capacity - used, "%s%s", used > 0 ? "; " : "",
                                     tess_decode_event_reason_name(bit));
        }
    }
}

void tess_de_events_page_dropped(tess_de_events_page *p)
{
    static const char *const heads[] = {"event",      "start (s)",    "lasts (ms)", "spikes",
                                        "electrodes", "counted bins", "why"};
    const int64_t n_dropped = p->info->n_event - p->n_best;
    int64_t n = 0;
    if (n_dropped == 0 || !p->info->posterior) {
        return;
    }
    tess_html_heading(&p->html, "Dropped");
    tess_de_events_say(p, "%lld events are in the table without a score%s.", (long long)n_dropped,
                       n_dropped > MAX_ROWS ? "; the first 5,000 are listed" : "");
    tess_html_fold_begin(&p->html, NULL, "Which, and why", n_dropped <= MAX_OPEN);
    tess_html_table_begin(&p->html, heads, 7);
    for (int64_t i = 0; i < p->info->n_event && n < MAX_ROWS; i++) {
        const tess_decode_event *e = &p->info->events[i];
        char cells[7][160];
        if (!(e->reason & TESS_DE_EVENT_DROPS)) {
            continue;
        }
        snprintf(cells[0], sizeof cells[0], "%lld", (long long)e->event);
        number(cells[1], "%.4f", e->start);
        number(cells[2], "%.1f", 1e3 * e->duration);
        snprintf(cells[3], sizeof cells[3], "%lld", (long long)e->n_spike);
        snprintf(cells[4], sizeof cells[4], "%lld", (long long)e->n_electrode);
        snprintf(cells[5], sizeof cells[5], "%lld", (long long)e->n_counted);
        list_reasons(e->reason, cells[6], sizeof cells[6]);
        const char *const row[] = {cells[0], cells[1], cells[2], cells[3],
                                   cells[4], cells[5], cells[6]};
        tess_html_table_row(&p->html, row, 7);
        n++;
    }
    tess_html_table_end(&p->html);
    tess_html_fold_end(&p->html);
}
