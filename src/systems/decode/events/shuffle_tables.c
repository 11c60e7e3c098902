// What comes of shuffles: p, medians and spreads event by event, q and shares at the end.
#include "systems/decode/events/shuffle.h"

#include "base/select.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

enum { N_SCORE = TESS_DECODE_EVENT_N_SCORE };
// A statistic this much below the observed one, relative to it or to 1, is a tie.
static const double TIE = 1e-9;
static const double SIGNIFICANT = 0.05;

void tess_de_shuffle_judge(const tess_de_shuffle *t, int64_t at, int32_t kind, int score,
                           double observed, double *values)
{
    const int64_t n = t->n_shuffle;
    const double nothing = (double)NAN;
    int64_t n_reached = 0;
    int64_t n_known = 0;
    const double own = tess_de_event_statistic(score, observed);
    const double least = own - TIE * fmax(1, fabs(own));
    for (int64_t s = 0; s < n; s++) {
        const double value = tess_de_event_statistic(score, values[s]);
        n_reached += value >= least;
        if (!isnan(value)) {
            values[n_known++] = value;
        }
    }
    const bool has_p = tess_decode_event_has_p(kind, score) && !isnan(own);
    t->p[at] = has_p ? (double)(1 + n_reached) / (double)(1 + n) : nothing;
    t->median[at] = nothing;
    t->high[at] = nothing;
    if (n_known > 0) {
        const int64_t place = (int64_t)ceil(0.95 * (double)n_known) - 1;
        t->high[at] = tess_select(values, n_known, place);
        t->median[at] = tess_median(values, n_known);
    }
}

void tess_de_shuffle_join(tess_de_shuffle *t, int32_t kind)
{
    for (int64_t k = kind * N_SCORE; k < (kind + 1) * N_SCORE; k++) {
        for (int i = 0; i < TESS_DE_SPREAD_PARTS; i++) {
            t->events->spreads[k].counts[i] += t->spreads[k].counts[i];
        }
    }
}

// q and shares of each kind and score, over the events with a p.
static tess_status judge_table(tess_de_shuffle *t, tess_blocks *scratch)
{
    const int64_t n = t->n_event;
    double *p = tess_blocks_alloc(scratch, n, sizeof *p, "p-values");
    double *q = tess_blocks_alloc(scratch, n, sizeof *q, "p-values");
    if (!p || !q) {
        return TESS_E_MEMORY;
    }
    for (int64_t k = 0; k < t->events->info.n_kind * N_SCORE; k++) {
        const int64_t first = k / N_SCORE * n * N_SCORE + k % N_SCORE;
        int64_t n_known = 0;
        int64_t n_small = 0;
        for (int64_t i = 0; i < n; i++) {
            p[i] = t->p[first + i * N_SCORE];
            n_known += !isnan(p[i]);
            n_small += p[i] < SIGNIFICANT;
        }
        TESS_TRY(tess_decode_event_q(t->model.ctx, p, n, q));
        for (int64_t i = 0; i < n; i++) {
            t->q[first + i * N_SCORE] = q[i];
        }
        t->shares[k] = tess_decode_event_share_of(n_small, n_known);
    }
    return TESS_OK;
}

tess_status tess_de_shuffle_finish(tess_de_shuffle *t)
{
    tess_blocks scratch;
    tess_blocks_init(&scratch, &t->model.ctx->heap);
    const tess_status status = judge_table(t, &scratch);
    tess_blocks_free(&scratch);
    return status;
}

static double *alloc_table(tess_de_shuffle *t, int64_t n)
{
    double *items = tess_blocks_alloc(&t->events->tested, n, sizeof *items, "p-values");
    for (int64_t i = 0; items && i < n; i++) {
        items[i] = (double)NAN;
    }
    return items;
}

// How far the pictures of a score reach. Steps from place to place at random are a third of the
// track on average: hardly a distance is beyond half of it per step.
static double spread_of(const tess_de_shuffle *t, int score, int64_t most_bins)
{
    switch (score) {
    case TESS_DECODE_EVENT_DISTANCE:
        return 0.5 * t->model.track.extent * (double)(most_bins > 1 ? most_bins - 1 : 1);
    case TESS_DECODE_EVENT_NET_DISTANCE:
    case TESS_DECODE_EVENT_MAX_JUMP:
        return t->model.track.extent;
    case TESS_DECODE_EVENT_SPEED:
        return 0;
    default:
        return 1;
    }
}

static tess_status alloc_spreads(tess_de_shuffle *t)
{
    const int64_t n = t->events->info.n_kind * N_SCORE;
    int64_t most_bins = 1;
    tess_de_spread *spreads =
        tess_blocks_alloc(&t->events->tested, n, sizeof *spreads, "spread of shuffles");
    for (int64_t i = 0; i < t->n; i++) {
        const int64_t n_counted = t->events->events[t->index[i]].n_counted;
        most_bins = n_counted > most_bins ? n_counted : most_bins;
    }
    for (int64_t k = 0; spreads && k < n; k++) {
        spreads[k].most = spread_of(t, (int)(k % N_SCORE), most_bins);
    }
    t->events->spreads = spreads;
    t->spreads = tess_blocks_alloc(&t->events->tested, n, sizeof *spreads, "spread of shuffles");
    return spreads && t->spreads ? TESS_OK : TESS_E_MEMORY;
}

tess_status tess_de_shuffle_alloc(tess_de_shuffle *t)
{
    tess_decode_events_info *info = &t->events->info;
    tess_blocks *blocks = &t->events->tested;
    const int64_t n = info->n_kind * t->n_event * N_SCORE;
    t->p = alloc_table(t, n);
    t->q = alloc_table(t, n);
    t->median = alloc_table(t, n);
    t->high = alloc_table(t, n);
    t->shares = tess_blocks_alloc(blocks, info->n_kind * N_SCORE, sizeof *t->shares, "shares");
    t->index = tess_blocks_alloc(blocks, t->n_event, sizeof *t->index, "events");
    if (!t->p || !t->q || !t->median || !t->high || !t->shares || !t->index) {
        return TESS_E_MEMORY;
    }
    if (t->model.in->config.keep_statistics) {
        t->statistics = alloc_table(t, n * t->n_shuffle);
        if (!t->statistics) {
            return TESS_E_MEMORY;
        }
    }
    for (int64_t i = 0; i < t->n_event; i++) {
        if (!(t->events->events[i].reason & TESS_DE_EVENT_DROPS)) {
            t->index[t->n++] = i;
        }
    }
    return alloc_spreads(t);
}
