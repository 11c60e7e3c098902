// Epochs sample by sample, before and after: the rejected ones first, then those with most repairs.
//
// Which epochs are shown is decided from the log, as many as the number and the bytes allow that
// the caller gave. Their rows are packed while the epochs pass by, so memory is that of the page.
#include "base/status.h"
#include "systems/autoreject/report/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Channels of a figure: as many as there are colours, but grey, which is the range of the others.
enum { MOST = 7, LEAST = 3, RANGE_COLOUR = 5, N_RANGE = 2 };
// Pyramids of a page, less those of other figures.
enum { MOST_TRACES = 224 };
// Epochs with pictures that stand without the script, and those that are listed at once.
enum { N_STILL = 6, N_LISTED = 12 };
// Samples of an epoch that are gathered in one piece.
static const int64_t MOST_TIME = INT64_C(1) << 19;

typedef struct trace {
    int64_t epoch;
    int32_t type; // of the model
    int32_t n_shown;
    int64_t shown[MOST]; // channels, the worst first
    double *columns;     // [n_time][n_row] while the epoch passes by
    tess_pyramid rows;   // least and greatest of the others, then shown before, then after
    bool is_packed;
    bool has_range; // there are others
} trace;

struct tess_ar_traces {
    tess_ar_page *page;
    int64_t n_time;
    trace *items;
    int64_t n;
    int64_t n_epoch;
    int64_t *first_of; // [n_epoch of the log] its first trace; -1: none
};

typedef struct candidate {
    int64_t epoch;
    int64_t n_bad;
    int is_dropped;
} candidate;

static int worst_first(const void *a, const void *b)
{
    const candidate *x = a;
    const candidate *y = b;
    if (x->is_dropped != y->is_dropped) {
        return y->is_dropped - x->is_dropped;
    }
    if (x->n_bad != y->n_bad) {
        return x->n_bad < y->n_bad ? 1 : -1;
    }
    return (x->epoch > y->epoch) - (x->epoch < y->epoch);
}

static int32_t rows_of(const trace *t, bool is_dropped)
{
    return N_RANGE + t->n_shown * (is_dropped ? 1 : 2);
}

// Whether a type has something to show in an epoch: a bad channel, or the epoch has none at all.
static bool is_shown(const tess_ar_page *page, int64_t epoch, int32_t type)
{
    const int8_t *labels = page->log->labels + epoch * page->log->n_chan;
    bool has_channel = false;
    for (int64_t c = 0; c < page->log->n_chan; c++) {
        if (page->type_of[c] == type && labels[c] > 0) {
            return true;
        }
        has_channel = has_channel || page->type_of[c] == type;
    }
    return has_channel && page->n_bad_of[epoch] == 0;
}

// About what a trace takes on the page: packed numbers, and the paths of the still picture.
static uint64_t bytes_of(const tess_ar_traces *all, bool is_dropped)
{
    enum { PACKED = 3, DRAWN = 13, FIXED = 4000 };
    const int64_t n_row = N_RANGE + MOST * (is_dropped ? 1 : 2);
    const int64_t still = all->n_time < TESS_PYRAMID_STILL ? all->n_time : TESS_PYRAMID_STILL;
    const int64_t drawn = all->n_epoch < N_STILL ? still : 0;
    return (uint64_t)(n_row * (PACKED * all->n_time + DRAWN * drawn) + FIXED);
}

static void select_epochs(tess_ar_traces *all, const candidate *order)
{
    const tess_ar_page *page = all->page;
    uint64_t bytes = 0;
    for (int64_t k = 0; k < page->log->n_epoch && all->n_epoch < page->config.n_trace; k++) {
        const candidate *c = &order[k];
        const uint64_t each = bytes_of(all, c->is_dropped != 0);
        int64_t n = 0;
        for (int32_t t = 0; t < (int32_t)page->model->n_type; t++) {
            n += is_shown(page, c->epoch, t);
        }
        bytes += each * (uint64_t)n;
        if (bytes > page->config.trace_bytes || all->n + n > MOST_TRACES) {
            return;
        }
        for (int32_t t = 0; t < (int32_t)page->model->n_type; t++) {
            if (is_shown(page, c->epoch, t)) {
                if (all->first_of[c->epoch] < 0) {
                    all->first_of[c->epoch] = all->n;
                }
                all->items[all->n++] = (trace){.epoch = c->epoch, .type = t};
            }
        }
        all->n_epoch += n > 0;
    }
}

tess_status tess_ar_traces_create(tess_ar_page *page, tess_ar_traces **out)
{
    const tess_autoreject_log_info *log = page->log;
    static const char what[] = "the report's traces";
    tess_ar_traces *all = tess_blocks_alloc(&page->memory, 1, sizeof *all, what);
    *out = all;
    if (!all) {
        return TESS_E_MEMORY;
    }
    all->page = page;
    all->n_time = page->epochs_info->n_time;
    all->items = tess_blocks_alloc(&page->memory, MOST_TRACES, sizeof *all->items, what);
    all->first_of = tess_blocks_alloc(&page->memory, log->n_epoch, sizeof *all->first_of, what);
    candidate *order = tess_blocks_alloc(&page->memory, log->n_epoch, sizeof *order, what);
    if (!all->items || !all->first_of || !order) {
        return TESS_E_MEMORY;
    }
    for (int64_t e = 0; e < log->n_epoch; e++) {
        all->first_of[e] = -1;
        order[e] = (candidate){e, page->n_bad_of[e], log->bad_epochs[e] != 0};
    }
    qsort(order, (size_t)log->n_epoch, sizeof *order, worst_first);
    if (all->n_time <= MOST_TIME) {
        select_epochs(all, order);
    }
    return TESS_OK;
}

void tess_ar_traces_destroy(tess_ar_traces *all)
{
    for (int64_t i = 0; all && i < all->n; i++) {
        trace *t = &all->items[i];
        if (t->columns) {
            const bool is_dropped = all->page->log->bad_epochs[t->epoch] != 0;
            tess_heap_free(&all->page->ctx->heap, t->columns,
                           (size_t)all->n_time * (size_t)rows_of(t, is_dropped) * sizeof(double),
                           TESS_TAG_TILE);
        }
        if (t->is_packed) {
            tess_pyramid_destroy(&t->rows);
        }
    }
}

bool tess_ar_traces_has(const tess_ar_traces *all, int64_t epoch)
{
    return all && all->first_of[epoch] >= 0;
}

// ---- Gathering --------------------------------------------------------------------------------

// Labelled channels first, then by how far they are above their threshold.
static double badness(const tess_ar_page *page, int64_t epoch, int64_t c, const double *ptp)
{
    const int8_t label = page->log->labels[epoch * page->log->n_chan + c];
    const double ratio = ptp[c] / page->threshold_of[c];
    return (label > 0 ? 1e6 : 0) + (isfinite(ratio) ? fmin(ratio, 1e5) : 0);
}

static void choose_channels(const tess_ar_page *page, trace *t, const double *ptp)
{
    const int8_t *labels = page->log->labels + t->epoch * page->log->n_chan;
    int64_t n_labelled = 0;
    t->n_shown = 0;
    for (int64_t c = 0; c < page->log->n_chan; c++) {
        if (page->type_of[c] != t->type) {
            continue;
        }
        n_labelled += labels[c] > 0;
        const double own = badness(page, t->epoch, c, ptp);
        int32_t at = t->n_shown < MOST ? t->n_shown++ : MOST;
        while (at > 0 && badness(page, t->epoch, t->shown[at - 1], ptp) < own) {
            if (at < MOST) {
                t->shown[at] = t->shown[at - 1];
            }
            at--;
        }
        if (at < MOST) {
            t->shown[at] = c;
        }
    }
    const int32_t wanted = n_labelled > LEAST ? MOST : LEAST;
    t->n_shown = t->n_shown < wanted ? t->n_shown : wanted;
}

static bool has_channel(const trace *t, int64_t c)
{
    for (int32_t k = 0; k < t->n_shown; k++) {
        if (t->shown[k] == c) {
            return true;
        }
    }
    return false;
}

// Least and greatest of the good channels that have no line of their own.
static void fill_range(const tess_ar_traces *all, trace *t, const double *samples, int32_t n_row)
{
    const tess_ar_page *page = all->page;
    const int8_t *labels = page->log->labels + t->epoch * page->log->n_chan;
    const double scale = tess_ar_unit_of(page->model->types[t->type].type).scale;
    for (int64_t i = 0; i < all->n_time; i++) {
        t->columns[i * n_row] = t->columns[i * n_row + 1] = (double)NAN;
    }
    for (int64_t c = 0; c < page->log->n_chan; c++) {
        if (page->type_of[c] != t->type || labels[c] != 0 || has_channel(t, c)) {
            continue;
        }
        t->has_range = true;
        for (int64_t i = 0; i < all->n_time; i++) {
            double *range = t->columns + i * n_row;
            range[0] = fmin(range[0], scale * samples[c * all->n_time + i]); // passes over NaN
            range[1] = fmax(range[1], scale * samples[c * all->n_time + i]);
        }
    }
}

static void fill_rows(const tess_ar_traces *all, trace *t, const double *samples, int32_t n_row,
                      int32_t first)
{
    const double scale = tess_ar_unit_of(all->page->model->types[t->type].type).scale;
    for (int32_t k = 0; k < t->n_shown; k++) {
        for (int64_t i = 0; i < all->n_time; i++) {
            t->columns[i * n_row + first + k] = scale * samples[t->shown[k] * all->n_time + i];
        }
    }
}

tess_status tess_ar_traces_before(tess_ar_traces *all, int64_t epoch, const double *samples,
                                  const double *ptp)
{
    const bool is_dropped = all->page->log->bad_epochs[epoch] != 0;
    for (int64_t i = all->first_of[epoch]; i >= 0 && i < all->n && all->items[i].epoch == epoch;
         i++) {
        trace *t = &all->items[i];
        choose_channels(all->page, t, ptp);
        const int32_t n_row = rows_of(t, is_dropped);
        t->columns = tess_heap_alloc(&all->page->ctx->heap,
                                     (size_t)all->n_time * (size_t)n_row * sizeof(double),
                                     TESS_TAG_TILE, "the report's traces");
        if (!t->columns) {
            return TESS_E_MEMORY;
        }
        fill_range(all, t, samples, n_row);
        fill_rows(all, t, samples, n_row, N_RANGE);
    }
    return TESS_OK;
}

tess_status tess_ar_traces_after(tess_ar_traces *all, int64_t epoch, const double *samples)
{
    const tess_autoreject_epochs_info *info = all->page->epochs_info;
    const bool is_dropped = all->page->log->bad_epochs[epoch] != 0;
    for (int64_t i = all->first_of[epoch]; i >= 0 && i < all->n && all->items[i].epoch == epoch;
         i++) {
        trace *t = &all->items[i];
        const int32_t n_row = rows_of(t, is_dropped);
        if (!is_dropped) {
            fill_rows(all, t, samples, n_row, N_RANGE + t->n_shown);
        }
        const tess_pyramid_setup setup = {.n_column = all->n_time,
                                          .n_row = n_row,
                                          .first = info->tmin,
                                          .step = info->sampling_hz > 0 ? 1 / info->sampling_hz : 1,
                                          .bits = 16,
                                          .budget_bytes = (int64_t)all->page->config.trace_bytes};
        TESS_TRY(tess_pyramid_create(all->page->ctx, &setup, &t->rows));
        t->is_packed = true;
        TESS_TRY(tess_pyramid_push(&t->rows, t->columns, all->n_time));
        TESS_TRY(tess_pyramid_finish(&t->rows));
        tess_heap_free(&all->page->ctx->heap, t->columns,
                       (size_t)all->n_time * (size_t)n_row * sizeof(double), TESS_TAG_TILE);
        t->columns = NULL;
    }
    return TESS_OK;
}

// ---- Drawing ----------------------------------------------------------------------------------

static const char *state_of(int8_t label, bool is_dropped, bool is_after)
{
    if (label == 2 && !is_dropped) {
        return is_after ? "repaired" : "bad, to be repaired";
    }
    return label > 0 ? "bad" : "good";
}

static void draw_trace(const tess_ar_traces *all, const trace *t, bool is_after, bool is_still)
{
    tess_ar_page *page = all->page;
    const int32_t type = page->model->types[t->type].type;
    const bool is_dropped = page->log->bad_epochs[t->epoch] != 0;
    tess_figure_series series[N_RANGE + MOST];
    char names[MOST][TESS_AR_NAME + 32];
    char title[96];
    char group[64];
    int n = 0;
    snprintf(group, sizeof group, "epoch%lld-%d", (long long)t->epoch, t->type);
    for (int64_t r = 0; r < N_RANGE && t->has_range; r++) {
        series[n++] = (tess_figure_series){.name = r == 0 ? "good channels, lowest"
                                                          : "good channels, highest",
                                           .pyramid = &t->rows,
                                           .row = r,
                                           .colour = RANGE_COLOUR};
    }
    for (int32_t k = 0; k < t->n_shown; k++) {
        const int64_t c = t->shown[k];
        snprintf(
            names[k], sizeof names[k], "%s (%s)", page->names[c],
            state_of(page->log->labels[t->epoch * page->log->n_chan + c], is_dropped, is_after));
        series[n++] = (tess_figure_series){.name = names[k],
                                           .pyramid = &t->rows,
                                           .row = N_RANGE + k + (is_after ? t->n_shown : 0),
                                           .colour = k < RANGE_COLOUR ? k : k + 1};
    }
    snprintf(title, sizeof title, "%s, epoch %lld, %s", tess_autoreject_type_name(type),
             (long long)t->epoch, is_after ? "after" : "before");
    tess_figure_draw(
        &page->html,
        &(tess_figure){
            .title = title,
            .group = group,
            .x = {.label = "time", .unit = page->epochs_info->sampling_hz > 0 ? "s" : "samples"},
            .y = {.label = "amplitude", .unit = tess_ar_unit_of(type).name},
            .needs_script = !is_still,
            .series = series,
            .n_series = n});
}

static void name_repairs(const tess_ar_page *page, int64_t epoch, char *text, size_t room)
{
    int64_t n[3] = {0};
    for (int64_t c = 0; c < page->log->n_chan; c++) {
        const int8_t label = page->log->labels[epoch * page->log->n_chan + c];
        n[label > 0 ? label : 0]++;
    }
    const int32_t *events = page->epochs_info->events;
    char event[32] = "";
    if (events) {
        snprintf(event, sizeof event, " (event %d)", (int)events[3 * epoch + 2]);
    }
    if (page->log->bad_epochs[epoch]) {
        snprintf(text, room, "Epoch %lld%s: dropped, %lld channels bad", (long long)epoch, event,
                 (long long)(n[1] + n[2]));
    } else if (n[1] + n[2] > 0) {
        snprintf(text, room, "Epoch %lld%s: %lld channels repaired, %lld bad and left",
                 (long long)epoch, event, (long long)n[2], (long long)n[1]);
    } else {
        snprintf(text, room, "Epoch %lld%s: good", (long long)epoch, event);
    }
}

static void draw_epoch(const tess_ar_traces *all, int64_t first, bool is_still)
{
    tess_ar_page *page = all->page;
    const int64_t epoch = all->items[first].epoch;
    char summary[160];
    char id[40];
    name_repairs(page, epoch, summary, sizeof summary);
    snprintf(id, sizeof id, "epoch%lld", (long long)epoch);
    tess_html_fold_begin(&page->html, id, summary, first == 0);
    for (int64_t i = first; i < all->n && all->items[i].epoch == epoch; i++) {
        draw_trace(all, &all->items[i], false, is_still);
        if (!page->log->bad_epochs[epoch]) {
            draw_trace(all, &all->items[i], true, is_still);
        }
    }
    tess_html_fold_end(&page->html);
}

void tess_ar_traces_draw(tess_ar_traces *all)
{
    tess_ar_page *page = all->page;
    char text[400];
    tess_html_heading(&page->html, "Epochs before and after");
    if (all->n_time > MOST_TIME) {
        snprintf(text, sizeof text,
                 "Epochs of %lld samples are too long to be shown one by one; the limit is %lld.",
                 (long long)all->n_time, (long long)MOST_TIME);
        tess_html_paragraph(&page->html, text);
        return;
    }
    snprintf(text, sizeof text,
             "%lld of %lld epochs, the dropped ones first, then those with most bad channels. Each "
             "shows its worst channels, and the range of the good ones in grey. --report-epochs "
             "and --report-size (now %lld and %.3g MiB) say how many.",
             (long long)all->n_epoch, (long long)page->log->n_epoch,
             (long long)page->config.n_trace, (double)page->config.trace_bytes / (1 << 20));
    tess_html_paragraph(&page->html, text);
    int64_t n = 0;
    for (int64_t i = 0; i < all->n; i++) {
        if (i > 0 && all->items[i].epoch == all->items[i - 1].epoch) {
            continue;
        }
        if (n == N_LISTED) {
            snprintf(text, sizeof text, "%lld more epochs", (long long)(all->n_epoch - n));
            tess_html_fold_begin(&page->html, "more-epochs", text, false);
        }
        draw_epoch(all, i, n++ < N_STILL);
    }
    if (n > N_LISTED) {
        tess_html_fold_end(&page->html);
    }
}
