// Spikes inside and outside an interval, and what that says about the clocks.
#include "base/status.h"
#include "systems/decode/store/inputs.h"

#include <math.h>

tess_de_window tess_de_window_open(double begin_s, double end_s)
{
    return (tess_de_window){.begin_s = begin_s,
                            .end_s = end_s,
                            .whole_begin_s = begin_s,
                            .whole_end_s = end_s,
                            .earliest_s = (double)INFINITY,
                            .latest_s = -(double)INFINITY};
}

void tess_de_window_add(tess_de_window *window, int64_t electrode, const tess_de_ordered *ordered,
                        int64_t *first, int64_t *n)
{
    const int64_t begin = tess_de_first_from(ordered->time, ordered->n, window->begin_s);
    const int64_t end = tess_de_first_after(ordered->time, ordered->n, window->end_s);
    *first = begin;
    *n = end > begin ? end - begin : 0;
    if (ordered->n == 0) {
        return;
    }
    const double earliest = ordered->time[0];
    const double latest = ordered->time[ordered->n - 1];
    window->n_electrode++;
    window->n_in += *n;
    window->n_before += begin;
    window->n_after += ordered->n - end;
    window->earliest_s = fmin(window->earliest_s, earliest);
    window->latest_s = fmax(window->latest_s, latest);
    tess_de_units_add(window, ordered);
    // Silence in a short window is nothing; spikes farther away than they or the window last are.
    const double gap_s = fmax(window->begin_s - latest, earliest - window->end_s);
    const double span_s = fmax(window->end_s - window->begin_s, latest - earliest);
    if (gap_s > span_s && window->n_silent++ == 0) {
        window->silent_electrode = electrode;
        window->silent_spikes = ordered->n;
        window->silent_earliest_s = earliest;
        window->silent_latest_s = latest;
    }
}

void tess_de_window_join(const tess_de_window *more, tess_de_window *window)
{
    if (window->n_silent == 0) {
        window->silent_electrode = more->silent_electrode;
        window->silent_spikes = more->silent_spikes;
        window->silent_earliest_s = more->silent_earliest_s;
        window->silent_latest_s = more->silent_latest_s;
    }
    for (int u = 0; u < TESS_DE_N_UNIT; u++) {
        window->n_in_unit[u] += more->n_in_unit[u];
    }
    window->n_silent += more->n_silent;
    window->n_electrode += more->n_electrode;
    window->n_in += more->n_in;
    window->n_before += more->n_before;
    window->n_after += more->n_after;
    window->earliest_s = fmin(window->earliest_s, more->earliest_s);
    window->latest_s = fmax(window->latest_s, more->latest_s);
}

tess_status tess_de_window_judge(tess_context *ctx, const tess_de_window *w, const char *name,
                                 double rate_hz)
{
    // One moment is no window to miss.
    if (w->n_electrode > 0 && w->n_in == 0 && w->end_s > w->begin_s &&
        (w->latest_s < w->begin_s || w->earliest_s > w->end_s)) {
        char hint[128];
        tess_de_units_hint(w, hint, sizeof hint);
        TESS_FAIL(TESS_E_NUMERIC,
                  "none of the %lld spikes of %lld electrodes lies in %s: spikes are at %.9g to "
                  "%.9g s, %s is %.9g to %.9g s; %s",
                  (long long)(w->n_before + w->n_after), (long long)w->n_electrode, name,
                  w->earliest_s, w->latest_s, name, w->begin_s, w->end_s, hint);
    }
    TESS_TRY(tess_de_units_judge(w, rate_hz));
    if (w->n_silent == 0) {
        return TESS_OK;
    }
    tess_log_warn(&ctx->log, TESS_W_DECODE_CLOCK,
                  "no spike of electrode %lld lies in %s: its %lld spikes are at %.9g to %.9g s, "
                  "%s is %.9g to %.9g s; a clock offset looks like this (%lld of %lld electrodes)",
                  (long long)w->silent_electrode, name, (long long)w->silent_spikes,
                  w->silent_earliest_s, w->silent_latest_s, name, w->begin_s, w->end_s,
                  (long long)w->n_silent, (long long)w->n_electrode);
    return TESS_OK;
}
