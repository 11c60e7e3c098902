// Cuts a continuous recording into epochs, by events or windows.
#include "base/status.h"
#include "systems/autoreject/files/annotations.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MAX_WINDOW = 1000000 };

typedef struct cut {
    tess_ar_continuous continuous;
    int64_t *starts; // [n_epoch]
    int64_t n_time;
} cut;

static tess_status read_cut(tess_context *ctx, void *impl, int64_t first, int64_t count,
                            const int64_t *channels, int64_t n_channel, double *dst)
{
    const cut *c = impl;
    for (int64_t e = 0; e < count; e++) {
        TESS_TRY(c->continuous.read(ctx, c->continuous.impl, c->starts[first + e], c->n_time,
                                    channels, n_channel, dst + e * n_channel * c->n_time));
    }
    return TESS_OK;
}

static void close_cut(tess_context *ctx, void *impl)
{
    const cut *c = impl;
    if (c->continuous.close) {
        c->continuous.close(ctx, c->continuous.impl);
    }
}

// Windows one after another that lie in the recording as a whole, placed as MNE does.
static tess_status windows(const tess_autoreject_epochs_config *config, const tess_ar_continuous *c,
                           tess_ar_event_list *list)
{
    const double length = rint(c->sampling_hz * config->window);
    const double step = c->sampling_hz * (config->window - config->overlap);
    const double last = (double)c->n_sample - length;
    if (!(step >= 1) || !(length >= 1)) {
        TESS_FAIL(TESS_E_RANGE, "window: %g s every %g s are less than a sample at %g Hz",
                  config->window, config->window - config->overlap, c->sampling_hz);
    }
    // Rounded as NumPy's arange() rounds, from the first sample's number on.
    const double first = (double)c->first_sample;
    const double delta = first + step - first;
    const double n = ceil((last + 1) / step);
    if (n > MAX_WINDOW) {
        TESS_FAIL(TESS_E_RANGE, "window: %g s every %g s give %.0f epochs; at most %d",
                  config->window, config->window - config->overlap, n, MAX_WINDOW);
    }
    for (int64_t i = 0; (double)i < n; i++) {
        const int64_t sample = (int64_t)(first + (double)i * delta) - c->first_sample;
        TESS_TRY(tess_ar_events_add(list, sample, 0, 1));
    }
    if (list->n == 0) {
        TESS_FAIL(TESS_E_SHAPE, "window: %g s are longer than the recording of %g s",
                  config->window, (double)c->n_sample / c->sampling_hz);
    }
    return TESS_OK;
}

static tess_status find_events(tess_context *ctx, const tess_autoreject_epochs_config *config,
                               const tess_ar_continuous *c, tess_autoreject_epochs *epochs,
                               tess_ar_event_list *list)
{
    if (config->window > 0) {
        TESS_TRY(windows(config, c, list));
        return tess_ar_events_name_codes(epochs, list);
    }
    if (config->events) {
        TESS_TRY(tess_ar_events_of_file(ctx, config->events, c, epochs, list));
    } else if (c->has_told_events && !config->stim) {
        TESS_TRY(tess_ar_events_of_annotations(c, epochs, list));
    } else {
        TESS_TRY(tess_ar_events_of_stim(ctx, config->stim, c, epochs, list));
        if (list->n == 0 && !config->stim) {
            list->n_name = 0;
            TESS_TRY(tess_ar_events_of_annotations(c, epochs, list));
        }
    }
    if (list->n == 0 && config->events) {
        TESS_FAIL(TESS_E_FORMAT, "%s: holds no events; give another file, or the length of windows",
                  config->events);
    }
    if (list->n == 0) {
        const char *where = config->stim         ? " in that trigger channel"
                            : c->has_empty_table ? " (its events.tsv has no rows)"
                            : c->n_outside > 0   ? " (its annotations lie outside of it)"
                                                 : "";
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: a continuous recording without events%s; give a file of events, the name of "
                  "its trigger channel, or the length of windows",
                  epochs->info.path, where);
    }
    return TESS_OK;
}

static const char *name_of(const tess_ar_event_list *list, int32_t code)
{
    for (int64_t i = 0; i < list->n_name; i++) {
        if (list->codes[i] == code) {
            return list->names[i];
        }
    }
    return "";
}

// The first annotation of bad data that a stretch of samples touches; NULL: none.
static const char *bad_annotation(const tess_ar_continuous *c, int64_t start, int64_t stop)
{
    const double from_s = (double)start / c->sampling_hz;
    const double to_s = (double)stop / c->sampling_hz;
    for (int64_t i = 0; i < c->n_annotation; i++) {
        const tess_ar_annotation *a = &c->annotations[i];
        const double onset_s = a->onset_s - c->first_s;
        if (onset_s < to_s && onset_s + a->duration_s > from_s &&
            strncasecmp(a->text, "bad", 3) == 0) {
            return a->text;
        }
    }
    return NULL;
}

// Why an event gives no epoch; "" if it does.
static const char *reason_against(const tess_autoreject_epochs_config *config,
                                  const tess_ar_continuous *c, int64_t start, int64_t n_time)
{
    if (start < 0) {
        return "NO_DATA";
    }
    const char *bad = config->keep_annotated ? NULL : bad_annotation(c, start, start + n_time);
    if (bad) {
        return bad;
    }
    return start > c->n_sample - n_time ? "TOO_SHORT" : "";
}

static tess_status times(const tess_autoreject_epochs_config *config, const tess_ar_continuous *c,
                         int64_t *first, int64_t *n_time)
{
    const bool by_window = config->window > 0;
    const double tmin = by_window ? 0 : config->tmin;
    const double tmax = by_window ? config->window - 1 / c->sampling_hz : config->tmax;
    const double from = rint(tmin * c->sampling_hz);
    const double to = rint(tmax * c->sampling_hz);
    if (!(fabs(from) < 1e15) || !(fabs(to) < 1e15) || to < from) {
        if (by_window) {
            TESS_FAIL(TESS_E_RANGE, "window: %g s hold no sample at %g Hz", config->window,
                      c->sampling_hz);
        }
        TESS_FAIL(TESS_E_RANGE, "tmin, tmax: %g to %g s hold no sample at %g Hz", tmin, tmax,
                  c->sampling_hz);
    }
    *first = (int64_t)from;
    *n_time = (int64_t)(to - from) + 1;
    return TESS_OK;
}

// The names of what was selected.
static tess_status keep_names(const tess_ar_event_list *list, const char *selected,
                              tess_autoreject_epochs *epochs)
{
    tess_autoreject_epochs_info *info = &epochs->info;
    const char **names = tess_ar_epochs_items(epochs, list->n_name, sizeof *names);
    int32_t *codes = tess_ar_epochs_items(epochs, list->n_name, sizeof *codes);
    if (!names || !codes) {
        return TESS_E_MEMORY;
    }
    int64_t n = 0;
    for (int64_t i = 0; i < list->n_name; i++) {
        if (!selected || tess_ar_is_selected(selected, list->names[i], list->codes[i])) {
            names[n] = list->names[i];
            codes[n++] = list->codes[i];
        }
    }
    info->event_names = names;
    info->event_codes = codes;
    info->n_event_name = n;
    return TESS_OK;
}

// "BAD_move", "Comment/bad": marks of bad data, which some formats keep among the events.
static bool is_bad_name(const char *name)
{
    const char *slash = strrchr(name, '/');
    return strncasecmp(slash ? slash + 1 : name, "bad", 3) == 0;
}

// Events at the sample of another.
typedef struct twins {
    int64_t n;
    int64_t left_out; // numbers of the first pair in the list
    int64_t kept;
} twins;

// Of two events at one sample the first is kept, but no mark of bad data where the other is none.
static bool replaces(const tess_ar_event_list *list, int64_t kept, int64_t other, twins *t)
{
    const bool is_better = is_bad_name(name_of(list, list->items[kept].code)) &&
                           !is_bad_name(name_of(list, list->items[other].code));
    if (t->n++ == 0) {
        t->left_out = is_better ? kept : other;
        t->kept = is_better ? other : kept;
    }
    return is_better;
}

static void warn_of_twins(const tess_ar_event_list *list, const twins *t,
                          tess_autoreject_epochs *epochs)
{
    if (t->n > 0) {
        const tess_ar_event *left_out = &list->items[t->left_out];
        tess_ar_epochs_warn(epochs, TESS_W_AUTOREJECT_EVENTS,
                            "%lld event%s at the sample of another left out: %s'%s' (%d) at sample "
                            "%lld, where '%s' (%d) is kept",
                            (long long)t->n, t->n == 1 ? "" : "s", t->n == 1 ? "" : "such as ",
                            name_of(list, left_out->code), (int)left_out->code,
                            (long long)left_out->sample, name_of(list, list->items[t->kept].code),
                            (int)list->items[t->kept].code);
    }
}

// Of event i and the last one kept, which are at one sample, one stays: last, as FIF has it, and
// selected.
static void keep_one(const tess_ar_event_list *list, int64_t i, int32_t *last, int64_t *selected,
                     const char **drop_log, twins *same)
{
    if (!replaces(list, *selected, i, same)) {
        drop_log[i] = "DROP DUPLICATE";
        return;
    }
    drop_log[i] = "";
    drop_log[*selected] = "DROP DUPLICATE";
    last[1] = list->items[i].previous;
    last[2] = list->items[i].code;
    *selected = i;
}

static tess_status keep_events(const tess_autoreject_epochs_config *config, cut *c,
                               const tess_ar_event_list *list, int64_t first,
                               tess_autoreject_epochs *epochs)
{
    tess_autoreject_epochs_info *info = &epochs->info;
    int32_t *events = tess_ar_epochs_items(epochs, list->n, 3 * sizeof *events);
    int64_t *selection = tess_ar_epochs_items(epochs, list->n, sizeof *selection);
    const char **drop_log = tess_ar_epochs_items(epochs, list->n, sizeof *drop_log);
    c->starts = tess_ar_epochs_items(epochs, list->n, sizeof *c->starts);
    if (!events || !selection || !drop_log || !c->starts) {
        return TESS_E_MEMORY;
    }
    int64_t n = 0;
    int64_t lost = INT64_MIN; // sample of the event before this one if it gives no epoch
    twins same = {0};
    for (int64_t i = 0; i < list->n; i++) {
        const tess_ar_event *event = &list->items[i];
        const int64_t sample = event->sample + c->continuous.first_sample;
        if (config->event &&
            !tess_ar_is_selected(config->event, name_of(list, event->code), event->code)) {
            drop_log[i] = "IGNORED";
            continue;
        }
        if (sample < INT32_MIN || sample > INT32_MAX) {
            TESS_FAIL(TESS_E_RANGE, "events: sample %lld is more than FIF can number",
                      (long long)sample);
        }
        if (n > 0 && events[3 * (n - 1)] == (int32_t)sample) {
            keep_one(list, i, &events[3 * (n - 1)], &selection[n - 1], drop_log, &same);
            continue;
        }
        if (sample == lost) {
            drop_log[i] = "DROP DUPLICATE"; // of one that is not kept for another reason
            continue;
        }
        drop_log[i] = reason_against(config, &c->continuous, event->sample + first, c->n_time);
        if (!drop_log[i][0]) {
            events[3 * n] = (int32_t)sample;
            events[3 * n + 1] = event->previous;
            events[3 * n + 2] = event->code;
            selection[n] = i;
            c->starts[n++] = event->sample + first;
        } else {
            lost = sample;
            drop_log[i] = tess_ar_epochs_text(epochs, drop_log[i]);
        }
        if (!drop_log[i]) {
            return TESS_E_MEMORY;
        }
    }
    warn_of_twins(list, &same, epochs);
    info->n_epoch = n;
    info->events = events;
    info->selection = selection;
    info->n_original = list->n;
    info->drop_log = drop_log;
    return TESS_OK;
}

// What the events are called, as many as there is room for.
static void list_names(const tess_ar_event_list *list, char *text, size_t capacity)
{
    enum { LONGEST = 40 };
    size_t used = 0;
    text[0] = '\0';
    for (int64_t i = 0; i < list->n_name; i++) {
        const char *between = i > 0 ? ", " : "";
        if (used + LONGEST + 24 >= capacity) {
            snprintf(text + used, capacity - used, "%s...", between);
            return;
        }
        used += (size_t)snprintf(text + used, capacity - used, "%s'%.*s' (%d)", between, LONGEST,
                                 list->names[i], (int)list->codes[i]);
    }
}

// Events that were not asked for, reach out of the recording, touch bad data, and the rest.
static void count_reasons(const tess_autoreject_epochs_info *info, int64_t n[4])
{
    memset(n, 0, 4 * sizeof *n);
    for (int64_t i = 0; i < info->n_original; i++) {
        const char *why = info->drop_log[i];
        n[strcmp(why, "IGNORED") == 0                                    ? 0
          : strcmp(why, "NO_DATA") == 0 || strcmp(why, "TOO_SHORT") == 0 ? 1
          : strncasecmp(why, "bad", 3) == 0                              ? 2
                                                                         : 3]++;
    }
}

// A recording that was cut off has fewer epochs than its events promise.
static void note_lost(tess_autoreject_epochs *epochs, bool by_window)
{
    static const char *const reasons[] = {"reach out of the recording",
                                          "touch annotations of bad data"};
    int64_t n[4];
    count_reasons(&epochs->info, n);
    for (int k = 0; k < 2; k++) {
        if (n[k + 1] > 0) {
            tess_ar_epochs_tell(epochs, "%lld of %lld %s give no epoch: they %s",
                                (long long)n[k + 1], (long long)epochs->info.n_original,
                                by_window ? "windows" : "events", reasons[k]);
        }
    }
}

static tess_status nothing_left(const tess_autoreject_epochs_info *info,
                                const tess_ar_event_list *list, const char *selected)
{
    int64_t n[4];
    count_reasons(info, n);
    char names[400];
    list_names(list, names, sizeof names);
    if (n[0] == info->n_original) {
        TESS_FAIL(TESS_E_FORMAT, "%s: none of its %lld events is '%.60s' (--event); there are %s",
                  info->path, (long long)info->n_original, selected, names);
    }
    TESS_FAIL(TESS_E_FORMAT,
              "%s: of %lld events none gives an epoch: %lld are not of '%.60s', %lld reach out of "
              "the recording, %lld touch annotations of bad data (--keep-annotated, in Python "
              "keep_annotated=True, keeps those); there are %s",
              info->path, (long long)info->n_original, (long long)n[0], selected ? selected : "all",
              (long long)n[1], (long long)n[2], names);
}

tess_status tess_ar_check_window(const tess_autoreject_epochs_config *config)
{
    if (config->window > 0 && config->event) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "--window and --event exclude each other: windows are cut one after another, "
                  "whatever happens; give one of them");
    }
    return TESS_OK;
}

static tess_status cut_epochs(tess_context *ctx, const tess_autoreject_epochs_config *config,
                              cut *c, tess_ar_event_list *list, tess_autoreject_epochs *epochs)
{
    tess_autoreject_epochs_info *info = &epochs->info;
    int64_t first = 0;
    TESS_TRY(tess_ar_check_window(config));
    TESS_TRY(tess_ar_epochs_set_sensors(epochs, &c->continuous.sensors));
    if (config->types) { // which may say what the trigger channel is
        TESS_TRY(tess_ar_apply_types(config->types, epochs));
    }
    c->continuous.sensors = epochs->sensors;
    info->sampling_hz = c->continuous.sampling_hz;
    TESS_TRY(times(config, &c->continuous, &first, &c->n_time));
    info->n_time = c->n_time;
    info->tmin = (double)first / info->sampling_hz;
    TESS_TRY(tess_ar_annotations_within(epochs, &c->continuous));
    TESS_TRY(find_events(ctx, config, &c->continuous, epochs, list));
    TESS_TRY(keep_events(config, c, list, first, epochs));
    TESS_TRY(keep_names(list, config->event, epochs));
    if (info->n_epoch == 0) {
        return nothing_left(info, list, config->event);
    }
    note_lost(epochs, config->window > 0);
    return TESS_OK;
}

tess_status tess_ar_epoching(tess_context *ctx, const tess_autoreject_epochs_config *config,
                             tess_ar_continuous *continuous, tess_autoreject_epochs *epochs)
{
    cut *c = tess_ar_epochs_alloc(epochs, sizeof *c);
    if (!c) {
        if (continuous->close) {
            continuous->close(ctx, continuous->impl);
        }
        return TESS_E_MEMORY;
    }
    c->continuous = *continuous;
    epochs->reader = (tess_ar_reader){.impl = c, .read = read_cut, .close = close_cut};
    tess_ar_event_list list = {.heap = &ctx->heap};
    const tess_status status = cut_epochs(ctx, config, c, &list, epochs);
    tess_ar_events_free(&list);
    return status;
}
