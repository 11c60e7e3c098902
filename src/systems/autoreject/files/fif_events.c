// Events and annotations of FIF files.
#include "base/status.h"
#include "systems/autoreject/files/fif_out.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// "name:id;name:id", taken apart in place; the id stands behind the last colon.
static tess_status split_names(const tess_ar_fif_file *file, const tess_ar_fif_tag *tag, char *text,
                               tess_autoreject_epochs *epochs, tess_ar_fif_events *out)
{
    int64_t n = 1;
    for (const char *at = text; *at; at++) {
        n += *at == ';';
    }
    out->names = tess_ar_epochs_items(epochs, n, sizeof *out->names);
    out->codes = tess_ar_epochs_items(epochs, n, sizeof *out->codes);
    if (!out->names || !out->codes) {
        return TESS_E_MEMORY;
    }
    for (char *at = text; at && *at;) {
        char *next = strchr(at, ';');
        if (next) {
            *next++ = '\0';
        }
        char *colon = strrchr(at, ':');
        char *end = at;
        errno = 0;
        const long code = colon ? strtol(colon + 1, &end, 10) : 0;
        if (!colon || end == colon + 1 || *end || errno || code < INT32_MIN || code > INT32_MAX) {
            TESS_FAIL(TESS_E_FORMAT,
                      "%s: byte %llu: tag 206 (comment) of the events has '%.60s'; expected a name "
                      "and its number, 'name:1'",
                      file->path, (unsigned long long)tag->at - TESS_AR_FIF_HEADER_BYTES, at);
        }
        *colon = '\0';
        out->names[out->n_name] = at;
        out->codes[out->n_name++] = (int32_t)code;
        at = next;
    }
    return TESS_OK;
}

tess_status tess_ar_fif_read_events(const tess_ar_fif_file *file, tess_autoreject_epochs *epochs,
                                    tess_ar_fif_events *out)
{
    *out = (tess_ar_fif_events){.n_event = -1};
    const int64_t block = tess_ar_fif_block_in(file, 0, TESS_AR_FIF_B_EVENTS, -1);
    if (block < 0) {
        return TESS_OK;
    }
    const tess_ar_fif_tag *tag = tess_ar_fif_tag_in(file, block, TESS_AR_FIF_EVENT_LIST, NULL);
    if (tag) {
        int64_t n;
        TESS_TRY(tess_ar_fif_read_i32s(file, tag, epochs, &out->triples, &n));
        if (n % 3 != 0) {
            TESS_FAIL(TESS_E_FORMAT,
                      "%s: byte %llu: tag 3561 (event list) has %lld values; expected three for "
                      "every event",
                      file->path, (unsigned long long)tag->at - TESS_AR_FIF_HEADER_BYTES,
                      (long long)n);
        }
        out->n_event = n / 3;
    }
    tag = tess_ar_fif_tag_in(file, block, TESS_AR_FIF_COMMENT, NULL);
    if (!tag) {
        return TESS_OK;
    }
    char *text;
    TESS_TRY(tess_ar_fif_read_text(file, tag, epochs, &text));
    return split_names(file, tag, text, epochs, out);
}

// Seconds and microseconds as two reals, or seconds as one.
static tess_status read_origin(const tess_ar_fif_file *file, int64_t block,
                               tess_autoreject_epochs *epochs, double *origin_s)
{
    const tess_ar_fif_tag *tag = tess_ar_fif_tag_in(file, block, TESS_AR_FIF_MEAS_DATE, NULL);
    double *values;
    int64_t n = 0;
    *origin_s = (double)NAN;
    if (tag) {
        TESS_TRY(tess_ar_fif_read_reals(file, tag, epochs, &values, &n));
    }
    if (n > 0) {
        *origin_s = values[0] + (n > 1 ? 1e-6 * values[1] : 0);
    }
    return TESS_OK;
}

static int by_onset(const void *a, const void *b)
{
    const tess_ar_annotation *x = a;
    const tess_ar_annotation *y = b;
    if (x->onset_s != y->onset_s) {
        return x->onset_s < y->onset_s ? -1 : 1;
    }
    return (x->duration_s > y->duration_s) - (x->duration_s < y->duration_s);
}

tess_status tess_ar_fif_read_annotations(const tess_ar_fif_file *file,
                                         tess_autoreject_epochs *epochs, double date_s,
                                         tess_ar_annotation **annotations, int64_t *n_annotation)
{
    *annotations = NULL;
    *n_annotation = 0;
    const int64_t block = tess_ar_fif_block_in(file, 0, TESS_AR_FIF_B_ANNOTATIONS, -1);
    const tess_ar_fif_tag *tag =
        block < 0 ? NULL : tess_ar_fif_tag_in(file, block, TESS_AR_FIF_BASELINE_MIN, NULL);
    if (!tag || tag->bytes == 0) {
        return TESS_OK;
    }
    double *onsets;
    double *ends;
    char **texts;
    int64_t n;
    int64_t n_end;
    int64_t n_text;
    double origin_s;
    TESS_TRY(tess_ar_fif_read_reals(file, tag, epochs, &onsets, &n));
    TESS_TRY(tess_ar_fif_need(file, block, TESS_AR_FIF_BASELINE_MAX, &tag));
    TESS_TRY(tess_ar_fif_read_reals(file, tag, epochs, &ends, &n_end));
    TESS_TRY(tess_ar_fif_need(file, block, TESS_AR_FIF_COMMENT, &tag));
    TESS_TRY(tess_ar_fif_read_names(file, tag, epochs, &texts, &n_text));
    TESS_TRY(read_origin(file, block, epochs, &origin_s));
    if (n_end != n || n_text != n) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: byte %llu: annotations have %lld onsets, %lld ends and %lld texts",
                  file->path, (unsigned long long)file->blocks[block].at, (long long)n,
                  (long long)n_end, (long long)n_text);
    }
    *annotations = tess_ar_epochs_items(epochs, n, sizeof **annotations);
    if (!*annotations) {
        return TESS_E_MEMORY;
    }
    const double shift_s = isfinite(origin_s - date_s) ? origin_s - date_s : 0;
    for (int64_t i = 0; i < n; i++) {
        // The difference of the stored float32 values, as MNE takes it.
        const double duration_s = (double)((float)ends[i] - (float)onsets[i]);
        if (!isfinite(onsets[i]) || !isfinite(duration_s)) {
            TESS_FAIL(TESS_E_FORMAT, "%s: byte %llu: annotation %lld lasts from %g to %g s",
                      file->path, (unsigned long long)file->blocks[block].at, (long long)i,
                      onsets[i], ends[i]);
        }
        (*annotations)[i] = (tess_ar_annotation){
            .onset_s = onsets[i] + shift_s, .duration_s = duration_s, .text = texts[i]};
    }
    qsort(*annotations, (size_t)n, sizeof **annotations, by_onset);
    *n_annotation = n;
    return TESS_OK;
}

// Longest in place of a character, "U+10FFFF", and of a number behind a name.
enum { PIECE_BYTES = 8, NUMBER_BYTES = 24, LATIN_END = 256 };

static bool is_storable(const char *name)
{
    for (const uint8_t *at = (const uint8_t *)name; *at;) {
        const uint32_t code = tess_ar_fif_next_code(&at);
        if (code == ';' || code >= LATIN_END) {
            return false;
        }
    }
    return true;
}

// "go;停" becomes "go_U+505C"; capacity: enough.
static size_t replace(const char *name, char *out, size_t capacity)
{
    size_t used = 0;
    for (const uint8_t *at = (const uint8_t *)name; *at;) {
        const uint8_t *start = at;
        const uint32_t code = tess_ar_fif_next_code(&at);
        const size_t n = (size_t)(at - start);
        if (code >= LATIN_END) {
            used += (size_t)snprintf(out + used, capacity - used, "U+%04X", (unsigned)code);
        } else if (code == ';') {
            out[used++] = '_';
        } else {
            memcpy(out + used, start, n);
            used += n;
        }
    }
    out[used] = '\0';
    return used;
}

// Whether another event is called so, or is going to be.
static bool is_taken(const tess_autoreject_epochs_info *info, const char *const *names, int64_t own,
                     const char *name)
{
    for (int64_t i = 0; i < info->n_event_name; i++) {
        if (i != own && names[i] && strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

// NULL with the message recorded.
static const char *make_storable(const tess_autoreject_epochs_info *info, tess_blocks *memory,
                                 const char *const *names, int64_t own)
{
    const char *name = info->event_names[own];
    const size_t capacity = PIECE_BYTES * strlen(name) + NUMBER_BYTES;
    char *stored = tess_blocks_alloc(memory, (int64_t)capacity, 1, "names of events");
    if (!stored) {
        return NULL;
    }
    const size_t n = replace(name, stored, capacity);
    for (int number = 2; is_taken(info, names, own, stored); number++) {
        snprintf(stored + n, capacity - n, "_%d", number);
    }
    return stored;
}

bool tess_ar_fif_stored_words(const tess_autoreject_epochs_info *info, const char *const *names,
                              char words[TESS_AR_STORED_WORDS])
{
    enum { N_SHOWN = 3, ENOUGH = TESS_AR_STORED_WORDS };
    int64_t n = 0;
    size_t used = 0;
    for (int64_t i = 0; i < info->n_event_name; i++) {
        if (names[i] != info->event_names[i] && n++ < N_SHOWN) {
            used += (size_t)snprintf(words + used, ENOUGH - used, "%s'%.100s' %s '%.100s'",
                                     n == 1 ? "event " : ", ", info->event_names[i],
                                     n == 1 ? "is stored as" : "as", names[i]);
        }
    }
    if (n > N_SHOWN) {
        used += (size_t)snprintf(words + used, ENOUGH - used, " and %lld more so",
                                 (long long)(n - N_SHOWN));
    }
    snprintf(words + used, ENOUGH - used,
             ": names in FIF files have neither ';' nor characters beyond latin-1");
    return n > 0;
}

tess_status tess_ar_fif_event_names(const tess_autoreject_epochs_info *info, tess_blocks *memory,
                                    const char ***out)
{
    const char **names =
        tess_blocks_alloc(memory, info->n_event_name, sizeof *names, "names of events");
    *out = names;
    if (!names) {
        return TESS_E_MEMORY;
    }
    // Those that stay as they are come first: no other takes their place.
    for (int64_t i = 0; i < info->n_event_name; i++) {
        names[i] = is_storable(info->event_names[i]) ? info->event_names[i] : NULL;
    }
    for (int64_t i = 0; i < info->n_event_name; i++) {
        names[i] = names[i] ? names[i] : make_storable(info, memory, names, i);
        if (!names[i]) {
            return TESS_E_MEMORY;
        }
    }
    return TESS_OK;
}
