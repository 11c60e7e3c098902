// Times in another unit than seconds: milliseconds, microseconds, samples.
//
// A few spikes of a recording in milliseconds that begins at 0 do lie among positions in seconds,
// so that everything could be fitted, on a thousandth of the spikes. What gives them away: nearly
// none lies in the recording, most would in another unit, they would fill it, and as they stand
// they would be far too rare. Spikes of a long recording with few positions are as rare as always.
#include "base/status.h"
#include "systems/decode/store/inputs.h"

#include <math.h>
#include <stdio.h>

typedef struct unit {
    double per_s;
    const char *name;
} unit;

// The first is right, those below 1 mean that not the spikes but the recording is in the unit.
static const unit UNITS[TESS_DE_N_UNIT] = {
    {1, "seconds"},
    {1e3, "milliseconds"},
    {1e6, "microseconds"},
    {1e9, "nanoseconds"},
    {2e4, "samples at 20 kHz"},
    {24414.0625, "samples at 24.4 kHz"},
    {2.5e4, "samples at 25 kHz"},
    {3e4, "samples at 30 kHz"},
    {3.2e4, "samples at 32 kHz"},
    {4e4, "samples at 40 kHz"},
    {1e-3, "milliseconds"},
    {1e-6, "microseconds"},
};

// Fewer spikes than this tell no units apart.
static const int64_t LEAST_SPIKES = 50;
// Of the spikes, how many lie in the recording in a wrong unit at most, in the right one at least.
static const double WRONG_SHARE = 0.01;
static const double RIGHT_SHARE = 0.5;
static const double INVERSE_SHARE = 0.95;
// Spikes per second and electrode from which on seconds are plausible; as milliseconds these would
// be 500. Of what a fitted model expects, the smallest plausible share.
static const double PLAUSIBLE_HZ = 0.5;
static const double PLAUSIBLE_SHARE = 0.02;

void tess_de_units_add(tess_de_window *w, const tess_de_ordered *ordered)
{
    for (int u = 0; u < TESS_DE_N_UNIT; u++) {
        const double begin = w->whole_begin_s * UNITS[u].per_s;
        const double end = w->whole_end_s * UNITS[u].per_s;
        const int64_t n = tess_de_first_after(ordered->time, ordered->n, end) -
                          tess_de_first_from(ordered->time, ordered->n, begin);
        w->n_in_unit[u] += n > 0 ? n : 0;
    }
}

static int64_t count(const tess_de_window *w)
{
    return w->n_in + w->n_before + w->n_after;
}

// The unit above seconds in which the spikes fit the recording best, or 0.
static int find_unit(const tess_de_window *w)
{
    int found = 0;
    double nearest = (double)INFINITY;
    for (int u = 1; u < TESS_DE_N_UNIT && UNITS[u].per_s > 1; u++) {
        const double last_s = w->latest_s / UNITS[u].per_s;
        const bool is_filled = 2 * last_s >= w->whole_begin_s + w->whole_end_s;
        const double miss_s = fabs(last_s - w->whole_end_s);
        if ((double)w->n_in_unit[u] >= RIGHT_SHARE * (double)count(w) && is_filled &&
            miss_s < nearest) {
            found = u;
            nearest = miss_s;
        }
    }
    return found;
}

static bool is_too_rare(const tess_de_window *w, double rate_hz)
{
    const double hz = (double)count(w) / (w->latest_s - w->earliest_s);
    return rate_hz > 0 ? hz < PLAUSIBLE_SHARE * rate_hz
                       : hz < PLAUSIBLE_HZ * (double)w->n_electrode;
}

// The recording is in a smaller unit: all spikes lie in a tiny part of it, which they fill.
static tess_status judge_recording(const tess_de_window *w)
{
    const double span_s = w->whole_end_s - w->whole_begin_s;
    for (int u = 1; u < TESS_DE_N_UNIT; u++) {
        const double per_s = UNITS[u].per_s;
        if (per_s < 1 && (double)w->n_in_unit[u] >= INVERSE_SHARE * (double)count(w) &&
            w->latest_s - w->earliest_s >= 0.5 * span_s * per_s) {
            TESS_FAIL(TESS_E_NUMERIC,
                      "position_time looks like %s: it goes from %.9g to %.9g, but all %lld spikes "
                      "lie between %.9g and %.9g s; divide position_time by %.9g",
                      UNITS[u].name, w->whole_begin_s, w->whole_end_s, (long long)count(w),
                      w->earliest_s, w->latest_s, 1 / per_s);
        }
    }
    return TESS_OK;
}

tess_status tess_de_units_judge(const tess_de_window *w, double rate_hz)
{
    if (count(w) < LEAST_SPIKES || !(w->whole_end_s > w->whole_begin_s)) {
        return TESS_OK;
    }
    const bool is_fitting = rate_hz < 0;
    if (is_fitting) {
        TESS_TRY(judge_recording(w));
    }
    if ((double)w->n_in_unit[0] >= WRONG_SHARE * (double)count(w) || !is_too_rare(w, rate_hz)) {
        return TESS_OK;
    }
    const int u = find_unit(w);
    if (u > 0) {
        TESS_FAIL(TESS_E_NUMERIC,
                  "spike times look like %s: %lld of %lld spikes lie in the recording, %.9g to "
                  "%.9g s, %lld would if divided by %.9g (they are at %.9g to %.9g); convert "
                  "spike_times to seconds",
                  UNITS[u].name, (long long)w->n_in_unit[0], (long long)count(w), w->whole_begin_s,
                  w->whole_end_s, (long long)w->n_in_unit[u], UNITS[u].per_s, w->earliest_s,
                  w->latest_s);
    }
    return TESS_OK;
}

void tess_de_units_hint(const tess_de_window *w, char *text, size_t bytes)
{
    snprintf(text, bytes, "do the two clocks have the same origin?");
    const int u = find_unit(w);
    if (u > 0) {
        snprintf(text, bytes, "divided by %.9g they would: spike times look like %s, convert them",
                 UNITS[u].per_s, UNITS[u].name);
        return;
    }
    for (int k = 1; k < TESS_DE_N_UNIT; k++) {
        const double share = (double)w->n_in_unit[k] / (double)count(w);
        if (UNITS[k].per_s < 1 && share >= RIGHT_SHARE) {
            snprintf(text, bytes, "times %.9g they would: is %s in %s?", 1 / UNITS[k].per_s,
                     "the recording", UNITS[k].name);
        }
    }
}

tess_status tess_de_units_of_bins(double bin_s, double sample_s)
{
    const double ratio = bin_s > sample_s ? bin_s / sample_s : sample_s / bin_s;
    for (int u = 1; u < 4; u++) {
        if (fabs(ratio / UNITS[u].per_s - 1) < 1e-3) {
            TESS_FAIL(TESS_E_NUMERIC,
                      "%s looks like %s: decoding bins are %.6g s wide, position samples of the "
                      "fit %.6g s apart; give both in seconds, or pass bin_scale if bins are meant "
                      "to be %.6g samples wide",
                      bin_s > sample_s ? "time" : "position_time of the fit", UNITS[u].name, bin_s,
                      sample_s, bin_s / sample_s);
        }
    }
    return TESS_OK;
}
