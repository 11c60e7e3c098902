// Files of events: FIF, NumPy, columns of numbers, tables of BIDS.
#include "base/status.h"
#include "systems/autoreject/files/annotations.h"
#include "systems/autoreject/files/fif.h"
#include "systems/autoreject/text/text_input.h"
#include "tessera/io.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FIELDS = 256, MAX_EVENTS = 1 << 24 };

typedef struct input {
    tess_context *ctx;
    const char *path;
    const tess_ar_continuous *continuous;
    tess_autoreject_epochs *epochs;
    tess_ar_event_list *list;
} input;

// Samples in files count from the start of the acquisition, ours from that of the recording.
static tess_status add_triple(const input *in, int64_t at, double sample, double previous,
                              double code)
{
    if (!(fabs(sample) < 9e15) || !(fabs(previous) < 2147483648.0) ||
        !(fabs(code) < 2147483648.0)) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: event %lld is %g, %g, %g; expected sample, previous value and "
                  "code",
                  in->path, (long long)at, sample, previous, code);
    }
    return tess_ar_events_add(in->list, (int64_t)sample - in->continuous->first_sample,
                              (int32_t)previous, (int32_t)code);
}

static tess_status read_fif(const input *in)
{
    tess_ar_fif_file file;
    tess_ar_fif_events events;
    TESS_TRY(tess_ar_fif_file_open(in->ctx, in->path, &file));
    const tess_status status = tess_ar_fif_read_events(&file, in->epochs, &events);
    tess_ar_fif_file_close(&file);
    TESS_TRY(status);
    if (events.n_event < 0) {
        TESS_FAIL(TESS_E_FORMAT, "%s: has no block 361 (events) with tag 3561 (event list)",
                  in->path);
    }
    for (int64_t i = 0; i < events.n_event; i++) {
        const int32_t *triple = events.triples + 3 * i;
        TESS_TRY(add_triple(in, i, triple[0], triple[1], triple[2]));
    }
    in->list->names = events.names;
    in->list->codes = events.codes;
    in->list->n_name = events.n_name;
    return TESS_OK;
}

// An array [n][3] of integers.
static tess_status read_source(const input *in, tess_source *source)
{
    const tess_source_info *info = tess_source_get_info(source);
    const bool is_wide = info->dtype == TESS_I64;
    if (info->rank != 2 || info->shape[1] != 3 || info->shape[0] > MAX_EVENTS ||
        (!is_wide && info->dtype != TESS_I32)) {
        TESS_FAIL(TESS_E_SHAPE,
                  "%s: expected events as i32 or i64 [n][3] (sample, previous value, code), got %s "
                  "with %d axes",
                  in->path, tess_dtype_name((tess_dtype)info->dtype), (int)info->rank);
    }
    const int64_t n = info->shape[0];
    const size_t bytes = (size_t)(3 * n * info->item_bytes);
    void *items = tess_heap_alloc(&in->ctx->heap, bytes, TESS_TAG_IO, "events");
    tess_status status = items ? tess_source_read(source, 0, n, items, bytes) : TESS_E_MEMORY;
    for (int64_t i = 0; status == TESS_OK && i < n; i++) {
        double triple[3];
        for (int k = 0; k < 3; k++) {
            triple[k] = is_wide ? (double)((const int64_t *)items)[3 * i + k]
                                : (double)((const int32_t *)items)[3 * i + k];
        }
        status = add_triple(in, i, triple[0], triple[1], triple[2]);
    }
    tess_heap_free(&in->ctx->heap, items, bytes, TESS_TAG_IO);
    return status;
}

static tess_status read_npy(const input *in)
{
    tess_source *source = NULL;
    TESS_TRY(tess_source_open(in->ctx, in->path, NULL, &source));
    const tess_status status = read_source(in, source);
    tess_source_close(source);
    return status;
}

// Three columns, or four with the time in the second; commas are blanks, '#' starts a comment.
static tess_status read_columns(const input *in, tess_ar_text *text)
{
    for (char *line = tess_ar_text_line(text); line; line = tess_ar_text_line(text)) {
        char *fields[5];
        double values[4];
        line[strcspn(line, "#")] = '\0';
        for (char *at = line; (at = strchr(at, ','));) {
            *at = ' ';
        }
        const int64_t n = tess_ar_split_blanks(line, fields, 5);
        bool is_number = true;
        for (int64_t i = 0; i < n && i < 4; i++) {
            is_number = is_number && tess_ar_number(fields[i], &values[i]);
        }
        if (n == 0 || (!is_number && in->list->n == 0 && text->line == 1)) {
            continue; // empty, or a heading
        }
        if (!is_number || (n != 3 && n != 4)) {
            TESS_FAIL(
                TESS_E_FORMAT,
                "%s: line %lld: expected three numbers (sample, previous value, code), or four "
                "with the time behind the sample",
                in->path, (long long)text->line);
        }
        TESS_TRY(add_triple(in, in->list->n, trunc(values[0]), trunc(values[n - 2]),
                            trunc(values[n - 1])));
    }
    return TESS_OK;
}

static int64_t find_column(char **fields, int64_t n, const char *name)
{
    for (int64_t i = 0; i < n; i++) {
        if (strcmp(fields[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

// Rows of a BIDS table become annotations, and these events: names and codes follow the same rules.
static tess_status rows_to_events(const input *in, tess_ar_annotation *rows, int64_t n)
{
    tess_ar_continuous table = *in->continuous;
    table.annotations = rows;
    table.n_annotation = n;
    table.n_outside = 0;
    for (int64_t i = 0; i < n; i++) {
        rows[i].onset_s += table.first_s; // they count from the first sample
    }
    return tess_ar_events_of_annotations(&table, in->epochs, in->list);
}

static tess_status read_rows(const input *in, tess_ar_text *text, tess_ar_annotation *rows,
                             int64_t *n)
{
    char *fields[MAX_FIELDS];
    char *line = tess_ar_text_line(text);
    const int64_t n_head = line ? tess_ar_split(line, '\t', fields, MAX_FIELDS) : 0;
    const int64_t onset = find_column(fields, n_head, "onset");
    int64_t name = find_column(fields, n_head, "trial_type");
    name = name >= 0 ? name : find_column(fields, n_head, "value");
    if (onset < 0) {
        TESS_FAIL(TESS_E_FORMAT, "%s: line 1: expected the names of columns, with 'onset'",
                  in->path);
    }
    while ((line = tess_ar_text_line(text))) {
        if (!*tess_ar_trim(line)) {
            continue;
        }
        const int64_t n_field = tess_ar_split(line, '\t', fields, MAX_FIELDS);
        double onset_s;
        if (onset >= n_field || !tess_ar_number(fields[onset], &onset_s)) {
            TESS_FAIL(TESS_E_FORMAT, "%s: line %lld: the onset is no number of seconds", in->path,
                      (long long)text->line);
        }
        const char *word = name >= 0 && name < n_field ? fields[name] : "event";
        rows[(*n)++] =
            (tess_ar_annotation){.onset_s = tess_ar_whole_microseconds(onset_s), .text = word};
    }
    return TESS_OK;
}

static tess_status read_tsv(const input *in, tess_ar_text *text)
{
    int64_t capacity = 1;
    for (size_t i = 0; i < text->bytes; i++) {
        capacity += text->chars[i] == '\n';
    }
    const size_t bytes = (size_t)capacity * sizeof(tess_ar_annotation);
    tess_ar_annotation *rows = tess_heap_alloc(&in->ctx->heap, bytes, TESS_TAG_IO, "events");
    int64_t n = 0;
    tess_status status = rows ? read_rows(in, text, rows, &n) : TESS_E_MEMORY;
    if (status == TESS_OK) {
        status = rows_to_events(in, rows, n);
    }
    tess_heap_free(&in->ctx->heap, rows, bytes, TESS_TAG_IO);
    return status;
}

static tess_status read_text(const input *in)
{
    tess_ar_text text = {0};
    TESS_TRY(tess_ar_text_open(in->ctx, in->path, &text));
    const tess_status status =
        tess_ar_has_extension(in->path, ".tsv") ? read_tsv(in, &text) : read_columns(in, &text);
    tess_ar_text_close(&text);
    return status;
}

static int by_sample(const void *a, const void *b)
{
    const tess_ar_event *x = a;
    const tess_ar_event *y = b;
    return (x->sample > y->sample) - (x->sample < y->sample);
}

tess_status tess_ar_events_of_file(tess_context *ctx, const char *path,
                                   const tess_ar_continuous *continuous,
                                   tess_autoreject_epochs *epochs, tess_ar_event_list *list)
{
    const input in = {ctx, path, continuous, epochs, list};
    const bool is_packed = tess_ar_has_extension(path, ".gz");
    if (is_packed || tess_ar_has_extension(path, ".fif")) {
        TESS_TRY(read_fif(&in));
    } else if (tess_ar_has_extension(path, ".npy")) {
        TESS_TRY(read_npy(&in));
    } else {
        TESS_TRY(read_text(&in));
    }
    if (list->n > 0) {
        qsort(list->items, (size_t)list->n, sizeof *list->items, by_sample);
    }
    return tess_ar_events_name_codes(epochs, list);
}
