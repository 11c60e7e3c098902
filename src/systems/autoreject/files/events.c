// Events of a continuous recording: trigger channel and annotations, by MNE's rules.
#include "base/status.h"
#include "systems/autoreject/files/annotations.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CHUNK = 1 << 16, MAX_STIM = 64 };

tess_status tess_ar_events_add(tess_ar_event_list *list, int64_t sample, int32_t previous,
                               int32_t code)
{
    if (list->n == list->capacity) {
        const int64_t more = list->capacity > 0 ? 2 * list->capacity : 256;
        tess_ar_event *bigger =
            tess_heap_alloc(list->heap, (size_t)more * sizeof *bigger, TESS_TAG_IO, "events");
        if (!bigger) {
            return TESS_E_MEMORY;
        }
        if (list->n > 0) {
            memcpy(bigger, list->items, (size_t)list->n * sizeof *bigger);
        }
        tess_heap_free(list->heap, list->items, (size_t)list->capacity * sizeof *bigger,
                       TESS_TAG_IO);
        list->items = bigger;
        list->capacity = more;
    }
    list->items[list->n++] = (tess_ar_event){.sample = sample, .previous = previous, .code = code};
    return TESS_OK;
}

void tess_ar_events_free(tess_ar_event_list *list)
{
    if (list->heap) {
        tess_heap_free(list->heap, list->items, (size_t)list->capacity * sizeof *list->items,
                       TESS_TAG_IO);
    }
    *list = (tess_ar_event_list){0};
}

static int by_sample(const void *a, const void *b)
{
    const tess_ar_event *x = a;
    const tess_ar_event *y = b;
    if (x->sample != y->sample) {
        return x->sample < y->sample ? -1 : 1;
    }
    if (x->previous != y->previous) {
        return x->previous < y->previous ? -1 : 1;
    }
    return (x->code > y->code) - (x->code < y->code);
}

static int32_t trigger_of(double value)
{
    const double whole = fabs(trunc(value)); // negative values are taken as their absolute
    return whole <= (double)INT32_MAX ? (int32_t)whole : 0;
}

// Rising changes of one channel. The value it starts with is no event.
static tess_status find_rises(tess_context *ctx, const tess_ar_continuous *c, int64_t channel,
                              double *chunk, tess_ar_event_list *list)
{
    int32_t previous = INT32_MAX; // above which nothing rises
    for (int64_t first = 0; first < c->n_sample; first += CHUNK) {
        const int64_t n = c->n_sample - first < CHUNK ? c->n_sample - first : CHUNK;
        TESS_TRY(tess_context_check_cancel(ctx));
        TESS_TRY(c->read(ctx, c->impl, first, n, &channel, 1, chunk));
        for (int64_t t = 0; t < n; t++) {
            const int32_t value = trigger_of(chunk[t]);
            if (value > previous) {
                TESS_TRY(tess_ar_events_add(list, first + t, previous, value));
            }
            previous = value;
        }
    }
    return TESS_OK;
}

static int64_t find_channel(const tess_autoreject_sensors *sensors, const char *name, size_t n)
{
    for (int64_t c = 0; c < sensors->n_chan; c++) {
        if (strlen(sensors->channels[c].name) == n &&
            strncmp(sensors->channels[c].name, name, n) == 0) {
            return c;
        }
    }
    return -1;
}

// By the name that an array's channel had before a montage named it.
static int64_t find_former(const tess_autoreject_epochs *epochs, const char *name, size_t n)
{
    for (int64_t c = 0; epochs->former_names && c < epochs->sensors.n_chan; c++) {
        if (strlen(epochs->former_names[c]) == n &&
            strncmp(epochs->former_names[c], name, n) == 0) {
            return c;
        }
    }
    return -1;
}

static tess_status named_stims(const tess_autoreject_epochs *epochs,
                               const tess_autoreject_sensors *sensors, const char *stim,
                               int64_t *channels, int64_t *n)
{
    for (const char *at = stim; *at;) {
        at += strspn(at, " ,");
        const size_t length = strcspn(at, ",");
        int64_t c = find_channel(sensors, at, length);
        c = c < 0 ? find_former(epochs, at, length) : c;
        if (c < 0) {
            TESS_FAIL(TESS_E_ARGUMENT, "stim: there is no channel '%.*s'",
                      length < 60 ? (int)length : 60, at);
        }
        if (*n < MAX_STIM) {
            channels[(*n)++] = c;
        }
        at += length;
    }
    return TESS_OK;
}

// The combined channel of Neuromag systems, else every trigger channel, else one that is called so.
static void usual_stims(const tess_autoreject_sensors *sensors, int64_t *channels, int64_t *n)
{
    static const char *const names[] = {"STI101",  "STI 014", "Status",
                                        "Trigger", "TRIGGER", "TRIG"};
    enum { N_NEUROMAG = 2, N_NAME = sizeof names / sizeof *names };
    for (int i = 0; i < N_NAME && *n == 0; i++) {
        const int64_t c = find_channel(sensors, names[i], strlen(names[i]));
        if (c >= 0) {
            channels[(*n)++] = c;
        }
        for (int64_t k = 0; i == N_NEUROMAG - 1 && c < 0 && k < sensors->n_chan; k++) {
            if (sensors->channels[k].type == TESS_AUTOREJECT_STIM && *n < MAX_STIM) {
                channels[(*n)++] = k;
            }
        }
    }
}

tess_status tess_ar_events_of_stim(tess_context *ctx, const char *stim,
                                   const tess_ar_continuous *continuous,
                                   tess_autoreject_epochs *epochs, tess_ar_event_list *list)
{
    int64_t channels[MAX_STIM];
    int64_t n = 0;
    if (stim) {
        TESS_TRY(named_stims(epochs, &continuous->sensors, stim, channels, &n));
    } else {
        usual_stims(&continuous->sensors, channels, &n);
    }
    if (n == 0) {
        return TESS_OK;
    }
    double *chunk = tess_heap_alloc(&ctx->heap, CHUNK * sizeof *chunk, TESS_TAG_IO, "triggers");
    tess_status status = chunk ? TESS_OK : TESS_E_MEMORY;
    for (int64_t i = 0; status == TESS_OK && i < n; i++) {
        status = find_rises(ctx, continuous, channels[i], chunk, list);
    }
    tess_heap_free(&ctx->heap, chunk, CHUNK * sizeof *chunk, TESS_TAG_IO);
    if (status != TESS_OK || list->n == 0) {
        return status;
    }
    qsort(list->items, (size_t)list->n, sizeof *list->items, by_sample);
    int64_t n_kept = 0;
    for (int64_t i = 0; i < list->n; i++) { // what several channels say is said once
        if (i == 0 || by_sample(&list->items[i], &list->items[n_kept - 1]) != 0) {
            list->items[n_kept++] = list->items[i];
        }
    }
    list->n = n_kept;
    return tess_ar_events_name_codes(epochs, list);
}

static int by_code(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a;
    const int32_t y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

tess_status tess_ar_events_name_codes(tess_autoreject_epochs *epochs, tess_ar_event_list *list)
{
    if (list->n_name > 0) {
        return TESS_OK;
    }
    int32_t *codes = tess_ar_epochs_items(epochs, list->n, sizeof *codes);
    char **names = tess_ar_epochs_items(epochs, list->n, sizeof *names);
    if (!codes || !names) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < list->n; i++) {
        codes[i] = list->items[i].code;
    }
    qsort(codes, (size_t)list->n, sizeof *codes, by_code);
    int64_t n = 0;
    for (int64_t i = 0; i < list->n; i++) {
        if (n > 0 && codes[i] == codes[n - 1]) {
            continue;
        }
        char text[16];
        snprintf(text, sizeof text, "%d", (int)codes[i]);
        names[n] = tess_ar_epochs_text(epochs, text);
        if (!names[n]) {
            return TESS_E_MEMORY;
        }
        codes[n++] = codes[i];
    }
    list->codes = codes;
    list->names = names;
    list->n_name = n;
    return TESS_OK;
}

// Annotations that speak of the recording, not of something that happened.
static bool is_no_event(const char *text)
{
    return strncasecmp(text, "bad", 3) == 0 || strncasecmp(text, "edge", 4) == 0;
}

// BrainVision's markers carry their codes: "Stimulus/S  1" is 1. -1: this text does not.
static int32_t marker_code(const char *text)
{
    static const struct {
        const char *start;
        int32_t offset;
    } kinds[] = {{"Event/", 0}, {"Stimulus/S", 0}, {"Response/R", 1000}, {"Optic/O", 2000}};
    if (strcmp(text, "New Segment/") == 0) {
        return 99999;
    }
    if (strcmp(text, "SyncStatus/Sync On") == 0) {
        return 99998;
    }
    const size_t n = strlen(text);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const size_t start = strlen(kinds[i].start);
        if (n != start + 3 || strncmp(text, kinds[i].start, start) != 0) {
            continue;
        }
        const char *digits = text + start + strspn(text + start, " ");
        if (*digits && strspn(digits, "0123456789") == strlen(digits)) {
            return kinds[i].offset + atoi(digits);
        }
    }
    return -1;
}

// Whether the markers of these annotations carry codes: always in BrainVision's own files, in FIF
// where all annotations are markers, elsewhere never, as MNE has it.
static bool has_coded_markers(const tess_ar_continuous *c, const char *format)
{
    static const char *const kinds[] = {"Event/",  "Stimulus/S",   "Response/R",
                                        "Optic/O", "New Segment/", "SyncStatus/Sync On"};
    enum { N_KIND = sizeof kinds / sizeof *kinds };
    if (strcmp(format, "fif") != 0) {
        return strcmp(format, "brainvision") == 0;
    }
    for (int64_t i = 0; i < c->n_annotation; i++) {
        const char *text = c->annotations[i].text;
        int k = 0;
        while (k < N_KIND &&
               (strncmp(text, kinds[k], strlen(kinds[k])) != 0 ||
                text[strlen(kinds[k]) + strspn(text + strlen(kinds[k]), "0123456789 ")] != '\0')) {
            k++;
        }
        if (k == N_KIND) {
            return false;
        }
    }
    return true;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// Texts in order, each once, with their codes: a marker's own, the others counted.
static tess_status code_texts(const tess_ar_continuous *c, tess_autoreject_epochs *epochs,
                              tess_ar_event_list *list)
{
    enum { OTHERS_FROM = 10001 };
    char **names = tess_ar_epochs_items(epochs, c->n_annotation, sizeof *names);
    int32_t *codes = tess_ar_epochs_items(epochs, c->n_annotation, sizeof *codes);
    if (!names || !codes) {
        return TESS_E_MEMORY;
    }
    int64_t n = 0;
    for (int64_t i = 0; i < c->n_annotation; i++) {
        if (!is_no_event(c->annotations[i].text)) {
            names[n] = tess_ar_epochs_text(epochs, c->annotations[i].text);
            if (!names[n]) {
                return TESS_E_MEMORY;
            }
            n++;
        }
    }
    qsort(names, (size_t)n, sizeof *names, by_text);
    const bool has_codes = has_coded_markers(c, epochs->info.format);
    int32_t others = has_codes ? OTHERS_FROM : 1;
    int64_t n_name = 0;
    for (int64_t i = 0; i < n; i++) {
        if (n_name > 0 && strcmp(names[i], names[n_name - 1]) == 0) {
            continue;
        }
        const int32_t code = has_codes ? marker_code(names[i]) : -1;
        names[n_name] = names[i];
        codes[n_name++] = code >= 0 ? code : others++;
    }
    list->names = names;
    list->codes = codes;
    list->n_name = n_name;
    return TESS_OK;
}

// From the first sample of the recording. Where there is no date MNE rounds times from the sample
// that FIF files count from: a half goes to the even one of those.
static double sample_of(const tess_ar_continuous *c, double onset_s)
{
    return c->has_date ? rint((onset_s - tess_ar_whole_microseconds(c->first_s)) * c->sampling_hz)
                       : rint(onset_s * c->sampling_hz) - (double)c->first_sample;
}

tess_status tess_ar_events_of_annotations(const tess_ar_continuous *continuous,
                                          tess_autoreject_epochs *epochs, tess_ar_event_list *list)
{
    TESS_TRY(code_texts(continuous, epochs, list));
    if (continuous->n_outside > 0) {
        tess_ar_epochs_tell(epochs,
                            "%lld annotations give no epoch: they lie outside of the recording",
                            (long long)continuous->n_outside);
    }
    for (int64_t i = 0; i < continuous->n_annotation; i++) {
        const tess_ar_annotation *annotation = &continuous->annotations[i];
        const double sample = sample_of(continuous, annotation->onset_s);
        if (is_no_event(annotation->text) || !(fabs(sample) < 9e15)) {
            continue;
        }
        char *const *name = bsearch(&annotation->text, list->names, (size_t)list->n_name,
                                    sizeof *list->names, by_text);
        TESS_TRY(tess_ar_events_add(list, (int64_t)sample, 0, list->codes[name - list->names]));
    }
    return TESS_OK;
}
