// Epochs seen through something: a baseline taken off, some of them only.
#include "base/status.h"
#include "systems/autoreject/files/recording.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct baseline_view {
    tess_ar_reader inner;
    const tess_autoreject_sensors *sensors;
    int64_t n_time;
    int64_t first; // samples first..end-1 are the baseline
    int64_t end;
} baseline_view;

// Triggers and the like have none.
static bool has_baseline(int32_t type)
{
    return type != TESS_AUTOREJECT_STIM && type != TESS_AUTOREJECT_MISC &&
           type != TESS_AUTOREJECT_OTHER;
}

static tess_status read_baseline(tess_context *ctx, void *impl, int64_t first, int64_t count,
                                 const int64_t *channels, int64_t n_channel, double *dst)
{
    const baseline_view *view = impl;
    TESS_TRY(view->inner.read(ctx, view->inner.impl, first, count, channels, n_channel, dst));
    for (int64_t row = 0; row < count * n_channel; row++, dst += view->n_time) {
        if (!has_baseline(view->sensors->channels[channels[row % n_channel]].type)) {
            continue;
        }
        double sum = 0;
        for (int64_t t = view->first; t < view->end; t++) {
            sum += dst[t];
        }
        const double mean = sum / (double)(view->end - view->first);
        for (int64_t t = 0; t < view->n_time; t++) {
            dst[t] -= mean;
        }
    }
    return TESS_OK;
}

static void close_baseline(tess_context *ctx, void *impl)
{
    const baseline_view *view = impl;
    if (view->inner.close) {
        view->inner.close(ctx, view->inner.impl);
    }
}

// The first sample at or behind a time, as MNE finds it among the times of samples.
static double first_sample(double time_s, double sampling_hz)
{
    const double sample = ceil(time_s * sampling_hz);
    // The product was rounded, and so are the times.
    return (sample - 1) / sampling_hz >= time_s ? sample - 1
           : sample / sampling_hz < time_s      ? sample + 1
                                                : sample;
}

tess_status tess_ar_apply_baseline(tess_autoreject_epochs *epochs, double start_s, double end_s)
{
    tess_autoreject_epochs_info *info = &epochs->info;
    // Sample numbers relative to the event.
    const double first = rint(info->tmin * info->sampling_hz);
    const double last = first + (double)(info->n_time - 1);
    const double from = fmax(first_sample(start_s, info->sampling_hz), first);
    const double to = fmin(-first_sample(-end_s, info->sampling_hz), last);
    // A sample of slack, as MNE gives it: ends that were meant need not lie on samples.
    const double slack = 1 + 1e-6;
    const bool is_outside = (isfinite(start_s) && start_s * info->sampling_hz < first - slack) ||
                            (isfinite(end_s) && end_s * info->sampling_hz > last + slack);
    if (is_outside || !(from <= to)) {
        TESS_FAIL(TESS_E_RANGE,
                  "--baseline: %g to %g s %s epochs that last from %g to %g s; give times within "
                  "them, leave an end open (--baseline ,0, in Python (None, 0)) or take none "
                  "(--baseline none)",
                  start_s, end_s, is_outside ? "reaches out of" : "holds no sample of", info->tmin,
                  last / info->sampling_hz);
    }
    baseline_view *view = tess_ar_epochs_alloc(epochs, sizeof *view);
    if (!view) {
        return TESS_E_MEMORY;
    }
    *view = (baseline_view){.inner = epochs->reader,
                            .sensors = &epochs->sensors,
                            .n_time = info->n_time,
                            .first = (int64_t)(from - first),
                            .end = (int64_t)(to - first) + 1};
    epochs->reader = (tess_ar_reader){.impl = view,
                                      .read = read_baseline,
                                      .close = close_baseline,
                                      .is_concurrent = view->inner.is_concurrent};
    info->has_baseline = 1;
    info->baseline[0] = isfinite(start_s) ? start_s : from / info->sampling_hz;
    info->baseline[1] = isfinite(end_s) ? end_s : to / info->sampling_hz;
    return TESS_OK;
}

// One of the parts of "a/b/c".
static bool has_part(const char *name, const char *part, size_t n)
{
    for (const char *at = name; at; at = strchr(at, '/'), at = at ? at + 1 : NULL) {
        if (strcspn(at, "/") == n && strncmp(at, part, n) == 0) {
            return true;
        }
    }
    return false;
}

static bool matches(const char *word, size_t n, const char *name, int32_t code)
{
    char number[16];
    const int digits = snprintf(number, sizeof number, "%d", (int)code);
    if (((size_t)digits == n && strncmp(word, number, n) == 0) ||
        (strlen(name) == n && strncmp(word, name, n) == 0)) {
        return true;
    }
    for (size_t at = 0; at < n;) {
        const size_t end = at + strcspn(word + at, "/");
        const size_t stop = end < n ? end : n;
        if (!has_part(name, word + at, stop - at)) {
            return false;
        }
        at = stop + 1;
    }
    return n > 0;
}

bool tess_ar_is_selected(const char *list, const char *name, int32_t code)
{
    for (const char *at = list; *at;) {
        at += strspn(at, " ,");
        const size_t end = strcspn(at, ",");
        size_t n = end;
        while (n > 0 && at[n - 1] == ' ') {
            n--;
        }
        if (n > 0 && matches(at, n, name, code)) {
            return true;
        }
        at += end;
    }
    return false;
}

typedef struct subset_view {
    tess_ar_reader inner;
    int64_t *epochs; // [n] of the inner ones
    int64_t n_time;
} subset_view;

static tess_status read_subset(tess_context *ctx, void *impl, int64_t first, int64_t count,
                               const int64_t *channels, int64_t n_channel, double *dst)
{
    const subset_view *view = impl;
    for (int64_t e = 0; e < count;) {
        const int64_t *from = view->epochs + first + e;
        int64_t n = 1;
        while (e + n < count && from[n] == from[0] + n) {
            n++;
        }
        TESS_TRY(view->inner.read(ctx, view->inner.impl, from[0], n, channels, n_channel,
                                  dst + e * n_channel * view->n_time));
        e += n;
    }
    return TESS_OK;
}

static void close_subset(tess_context *ctx, void *impl)
{
    const subset_view *view = impl;
    if (view->inner.close) {
        view->inner.close(ctx, view->inner.impl);
    }
}

static const char *name_of(const tess_autoreject_epochs_info *info, int32_t code)
{
    for (int64_t i = 0; i < info->n_event_name; i++) {
        if (info->event_codes[i] == code) {
            return info->event_names[i];
        }
    }
    return "";
}

static tess_status nothing_selected(const tess_autoreject_epochs_info *info, const char *events)
{
    char names[400] = "";
    size_t used = 0;
    for (int64_t i = 0; i < info->n_event_name && used + 80 < sizeof names; i++) {
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%.60s (%d)", i ? ", " : "",
                                 info->event_names[i], (int)info->event_codes[i]);
    }
    TESS_FAIL(TESS_E_ARGUMENT, "event: '%.100s' is none of the events of %s; there are %s", events,
              info->path, used ? names : "none with names");
}

tess_status tess_ar_select_epochs(const char *events, tess_autoreject_epochs *epochs)
{
    tess_autoreject_epochs_info *info = &epochs->info;
    subset_view *view = tess_ar_epochs_alloc(epochs, sizeof *view);
    int64_t *kept = tess_ar_epochs_items(epochs, info->n_epoch, sizeof *kept);
    int32_t *triples = tess_ar_epochs_items(epochs, info->n_epoch, 3 * sizeof *triples);
    int64_t *selection = tess_ar_epochs_items(epochs, info->n_epoch, sizeof *selection);
    const char **drop_log = tess_ar_epochs_items(epochs, info->n_original, sizeof *drop_log);
    if (!view || !kept || !triples || !selection || !drop_log) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < info->n_original; i++) {
        drop_log[i] = info->drop_log[i];
    }
    int64_t n = 0;
    for (int64_t e = 0; e < info->n_epoch; e++) {
        const int32_t code = info->events[3 * e + 2];
        if (!tess_ar_is_selected(events, name_of(info, code), code)) {
            drop_log[info->selection[e]] = "IGNORED";
            continue;
        }
        memcpy(triples + 3 * n, info->events + 3 * e, 3 * sizeof *triples);
        selection[n] = info->selection[e];
        kept[n++] = e;
    }
    if (n == 0) {
        return nothing_selected(info, events);
    }
    TESS_TRY(tess_ar_keep_rows(epochs, kept, n));
    *view = (subset_view){.inner = epochs->reader, .epochs = kept, .n_time = info->n_time};
    epochs->reader = (tess_ar_reader){.impl = view,
                                      .read = read_subset,
                                      .close = close_subset,
                                      .is_concurrent = view->inner.is_concurrent};
    info->n_epoch = n;
    info->events = triples;
    info->selection = selection;
    info->drop_log = drop_log;
    return TESS_OK;
}
