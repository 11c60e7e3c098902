#include "base/status.h"
#include "systems/autoreject/files/annotations.h"
#include "systems/autoreject/files/eeglab.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 512, MAX_JOINED = 32, MAX_NAMES = 1024, CANCEL_EVERY = 4096 };

static tess_status read_number(tess_eeglab *set, const tess_mat_struct *s, int64_t item,
                               const char *name, double *value, bool *is_there)
{
    tess_mat_array field;
    TESS_TRY(tess_mat_field(s, item, name, &field));
    return tess_mat_scalar(&set->mat, &field, value, is_there);
}

static tess_status read_text(tess_eeglab *set, const tess_mat_struct *s, int64_t item,
                             const char *name, char text[NAME_BYTES])
{
    tess_mat_array field;
    TESS_TRY(tess_mat_field(s, item, name, &field));
    return tess_mat_words(&set->mat, &field, text, NAME_BYTES);
}

// Latencies count from 1 and may be fractions; durations are in samples.
static tess_status add_events(tess_eeglab *set, const tess_mat_struct *events,
                              tess_ar_annotation_list *list, int64_t *n_lost)
{
    for (int64_t i = 0; i < events->n_item; i++) {
        double latency = 0;
        double duration = 0;
        bool has_latency = false;
        bool has_duration = false;
        char text[NAME_BYTES];
        if (i % CANCEL_EVERY == 0) {
            TESS_TRY(tess_context_check_cancel(set->epochs->ctx));
        }
        TESS_TRY(read_number(set, events, i, "latency", &latency, &has_latency));
        TESS_TRY(read_number(set, events, i, "duration", &duration, &has_duration));
        TESS_TRY(read_text(set, events, i, "type", text));
        if (!has_latency || !isfinite(latency)) {
            ++*n_lost;
            continue;
        }
        const double length = has_duration && duration > 0 && isfinite(duration) ? duration : 0;
        TESS_TRY(tess_ar_annotations_add(list, (latency - 1) / set->sampling_hz,
                                         length / set->sampling_hz, text, strlen(text)));
    }
    return TESS_OK;
}

tess_status tess_eeglab_annotations(tess_eeglab *set, tess_ar_continuous *continuous)
{
    tess_mat_struct events = {0};
    tess_ar_annotation_list list = {.epochs = set->epochs};
    int64_t n_lost = 0;
    if (set->fields[TESS_EEGLAB_EVENT].array_class != TESS_MAT_STRUCT) {
        return TESS_OK;
    }
    TESS_TRY(tess_mat_struct_open(&set->mat, &set->fields[TESS_EEGLAB_EVENT], &events));
    tess_status status = add_events(set, &events, &list, &n_lost);
    if (status == TESS_OK) {
        status = tess_ar_annotations_finish(&list, continuous);
    }
    if (n_lost > 0) {
        tess_ar_epochs_warn(set->epochs, TESS_W_AUTOREJECT_EVENTS,
                            "%lld events without a latency are left out", (long long)n_lost);
    }
    tess_ar_annotations_destroy(&list);
    tess_mat_struct_close(&events);
    return status;
}

// The names of an epoch's events joined by '/', and how many there are.
static tess_status epoch_name(tess_eeglab *set, const tess_mat_struct *epochs, int64_t e,
                              char name[NAME_BYTES], int64_t *n_event)
{
    tess_mat_array types;
    TESS_TRY(tess_mat_field(epochs, e, "eventtype", &types));
    *n_event = types.array_class == TESS_MAT_CELL ? types.n_item : 1;
    if (types.array_class != TESS_MAT_CELL) {
        return tess_mat_words(&set->mat, &types, name, NAME_BYTES);
    }
    size_t used = 0;
    name[0] = '\0';
    for (int64_t k = 0; k < types.n_item && k < MAX_JOINED; k++) {
        tess_mat_array type;
        char part[NAME_BYTES];
        TESS_TRY(tess_mat_cell(&set->mat, &types, k, &type));
        TESS_TRY(tess_mat_words(&set->mat, &type, part, sizeof part));
        const int n = snprintf(name + used, NAME_BYTES - used, "%s%s", k > 0 ? "/" : "", part);
        used = used + (size_t)n < NAME_BYTES ? used + (size_t)n : NAME_BYTES - 1;
    }
    return TESS_OK;
}

// What an epoch data set's events are put together from.
typedef struct event_table {
    int32_t *events;    // [n_trial][3]
    const char **names; // [MAX_NAMES]
    int32_t *codes;
    int64_t n_name;
    int64_t n_several; // epochs with several events
} event_table;

// The code of a name, from 1 in order of appearance.
static tess_status code_of(tess_eeglab *set, event_table *t, const char *name, int32_t *code)
{
    for (int64_t i = 0; i < t->n_name; i++) {
        if (strcmp(t->names[i], name) == 0) {
            *code = t->codes[i];
            return TESS_OK;
        }
    }
    if (t->n_name == MAX_NAMES) {
        TESS_FAIL(TESS_E_UNSUPPORTED,
                  "%s: more than %d different events; rename them in EEGLAB, or read the data set "
                  "with MNE-Python",
                  set->path, MAX_NAMES);
    }
    t->names[t->n_name] = tess_ar_epochs_text(set->epochs, name);
    if (!t->names[t->n_name]) {
        return TESS_E_MEMORY;
    }
    *code = (int32_t)t->n_name + 1;
    t->codes[t->n_name++] = *code;
    return TESS_OK;
}

// Latencies count from 1. MNE takes that off from version 1.11 on; before, not for epochs.
static int32_t sample_of(double latency)
{
    return isfinite(latency) && fabs(latency) < 2e9 ? (int32_t)(latency - 1) : 0;
}

static tess_status fill_events(tess_eeglab *set, const tess_mat_struct *epochs,
                               const tess_mat_struct *events, event_table *t)
{
    int64_t next = 0; // events lie epoch by epoch
    for (int64_t e = 0; e < set->n_trial; e++) {
        char name[NAME_BYTES] = "epoch";
        int64_t n_event = 1;
        // Where nothing is told: the sample at time 0.
        double latency = (double)(e * set->n_time + 1) - set->xmin * set->sampling_hz;
        bool is_there = false;
        if (e % CANCEL_EVERY == 0) {
            TESS_TRY(tess_context_check_cancel(set->epochs->ctx));
        }
        if (e < epochs->n_item) {
            TESS_TRY(epoch_name(set, epochs, e, name, &n_event));
            if (next < events->n_item) {
                double stored = 0;
                TESS_TRY(read_number(set, events, next, "latency", &stored, &is_there));
                latency = is_there ? stored : latency;
            }
            next = n_event <= events->n_item - next ? next + n_event : events->n_item;
        }
        t->n_several += n_event > 1;
        t->events[3 * e] = sample_of(latency);
        TESS_TRY(code_of(set, t, name, &t->events[3 * e + 2]));
    }
    return TESS_OK;
}

static tess_status make_table(tess_eeglab *set, event_table *t)
{
    tess_autoreject_epochs *epochs = set->epochs;
    t->events = tess_ar_epochs_items(epochs, set->n_trial, 3 * sizeof *t->events);
    t->names = tess_ar_epochs_items(epochs, MAX_NAMES, sizeof *t->names);
    t->codes = tess_ar_epochs_items(epochs, MAX_NAMES, sizeof *t->codes);
    return t->events && t->names && t->codes ? TESS_OK : TESS_E_MEMORY;
}

static void hand_over(tess_eeglab *set, const event_table *t)
{
    tess_autoreject_epochs_info *info = &set->epochs->info;
    info->events = t->events;
    info->event_names = t->names;
    info->event_codes = t->codes;
    info->n_event_name = t->n_name;
    if (t->n_several > 0) {
        tess_ar_epochs_note(set->epochs,
                            "%lld epochs have several events; their names are joined by '/', the "
                            "sample is that of the first",
                            (long long)t->n_several);
    }
}

tess_status tess_eeglab_epoch_events(tess_eeglab *set)
{
    event_table t = {0};
    tess_mat_struct epochs = {0};
    tess_mat_struct events = {0};
    TESS_TRY(tess_ar_epochs_plain_events(set->epochs));
    if (set->fields[TESS_EEGLAB_EPOCH].array_class != TESS_MAT_STRUCT) {
        return TESS_OK;
    }
    TESS_TRY(make_table(set, &t));
    tess_status status = tess_mat_struct_open(&set->mat, &set->fields[TESS_EEGLAB_EPOCH], &epochs);
    if (status == TESS_OK && set->fields[TESS_EEGLAB_EVENT].array_class == TESS_MAT_STRUCT) {
        status = tess_mat_struct_open(&set->mat, &set->fields[TESS_EEGLAB_EVENT], &events);
    }
    if (status == TESS_OK) {
        status = fill_events(set, &epochs, &events, &t);
    }
    tess_mat_struct_close(&epochs);
    tess_mat_struct_close(&events);
    if (status == TESS_OK) {
        hand_over(set, &t);
    }
    return status;
}
