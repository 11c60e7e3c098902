// Reject logs as JSON, as pages of reports export them after somebody has edited the choices.
//
// {"schema": "tessera.autoreject.log/1", "ch_names": [...], "bad_epochs": [0 or 1, ...],
//  "labels": [[0, 1, 2 or null of every channel], ...]}; true and false do for bad_epochs, too.
#include "base/infile.h"
#include "base/json_read.h"
#include "base/status.h"
#include "systems/autoreject/result/model.h"

#include <string.h>

// Larger files are no logs.
static const uint64_t MAX_BYTES = UINT64_C(1) << 30;

typedef struct reader {
    tess_context *ctx;
    const char *path;
    tess_blocks *memory; // of the tree
    int64_t n_epoch;
    int64_t n_chan;
} reader;

void tess_ar_log_put(tess_json *json, const tess_autoreject_log_info *info)
{
    tess_json_array_begin(json, "ch_names");
    for (int64_t c = 0; c < info->n_chan; c++) {
        tess_json_text(json, NULL, info->channel_names[c]);
    }
    tess_json_array_end(json);
    tess_json_array_begin(json, "bad_epochs");
    for (int64_t e = 0; e < info->n_epoch; e++) {
        tess_json_int(json, NULL, info->bad_epochs[e]);
    }
    tess_json_array_end(json);
    tess_json_array_begin(json, "labels");
    for (int64_t e = 0; e < info->n_epoch; e++) {
        tess_json_array_begin(json, NULL);
        for (int64_t c = 0; c < info->n_chan; c++) {
            const int8_t label = info->labels[e * info->n_chan + c];
            if (label < 0) {
                tess_json_raw(json, NULL, NULL);
            } else {
                tess_json_int(json, NULL, label);
            }
        }
        tess_json_array_end(json);
    }
    tess_json_array_end(json);
}

static tess_status wrong(const reader *r, const tess_json_value *at, const char *key,
                         const char *what)
{
    TESS_FAIL(TESS_E_FORMAT, "%s: line %d: '%s' must be %s; export the log again", r->path,
              at ? at->line : 1, key, what);
}

static tess_status find_list(const reader *r, const tess_json_value *root, const char *key,
                             int64_t n, const char *what, const tess_json_value **list)
{
    *list = tess_json_find(root, key);
    if (!*list || (*list)->kind != TESS_JSON_ARRAY || (n >= 0 && (*list)->n != n)) {
        return wrong(r, *list, key, what);
    }
    return TESS_OK;
}

static tess_status read_names(const reader *r, const tess_json_value *list,
                              tess_autoreject_log *log, const char **names)
{
    for (const tess_json_value *v = list->first; v; v = v->next) {
        if (v->kind != TESS_JSON_TEXT) {
            return wrong(r, v, "ch_names", "a list of texts");
        }
        *names = tess_blocks_copy(&log->memory, v->text, (int64_t)strlen(v->text) + 1, 1, "names");
        if (!*names++) {
            return TESS_E_MEMORY;
        }
    }
    return TESS_OK;
}

static tess_status read_bad_epochs(const reader *r, const tess_json_value *list, uint8_t *bad)
{
    for (const tess_json_value *v = list->first; v; v = v->next) {
        const bool is_number = v->kind == TESS_JSON_NUMBER || v->kind == TESS_JSON_BOOL;
        if (!is_number || (v->number != 0 && v->number != 1)) {
            return wrong(r, v, "bad_epochs", "a list of 0, 1, false or true");
        }
        *bad++ = v->number == 1;
    }
    return TESS_OK;
}

static tess_status read_labels(const reader *r, const tess_json_value *rows, int8_t *labels)
{
    for (const tess_json_value *row = rows->first; row; row = row->next) {
        if (row->kind != TESS_JSON_ARRAY || row->n != r->n_chan) {
            return wrong(r, row, "labels", "a list of labels of every channel for each epoch");
        }
        for (const tess_json_value *v = row->first; v; v = v->next) {
            const bool is_label =
                v->kind == TESS_JSON_NUMBER && (v->number == 0 || v->number == 1 || v->number == 2);
            if (!is_label && v->kind != TESS_JSON_NULL) {
                return wrong(r, v, "labels", "0 good, 1 bad, 2 interpolated or null");
            }
            *labels++ = is_label ? (int8_t)v->number : (int8_t)-1;
        }
    }
    return TESS_OK;
}

static tess_status read_log(reader *r, const tess_json_value *root, tess_autoreject_log **log)
{
    const tess_json_value *schema = tess_json_find(root, "schema");
    const tess_json_value *names = NULL;
    const tess_json_value *bad_epochs = NULL;
    const tess_json_value *labels = NULL;
    if (!schema || schema->kind != TESS_JSON_TEXT ||
        strcmp(schema->text, TESS_AR_LOG_SCHEMA) != 0) {
        TESS_FAIL(TESS_E_FORMAT, "%s: is no reject log; its schema is not " TESS_AR_LOG_SCHEMA,
                  r->path);
    }
    TESS_TRY(find_list(r, root, "ch_names", -1, "a list of texts", &names));
    TESS_TRY(find_list(r, root, "bad_epochs", -1, "a list", &bad_epochs));
    r->n_epoch = bad_epochs->n;
    r->n_chan = names->n;
    if (r->n_chan < 1) {
        return wrong(r, names, "ch_names", "a list of at least one channel");
    }
    TESS_TRY(find_list(r, root, "labels", r->n_epoch, "a row for each of bad_epochs", &labels));
    int8_t *label_items = NULL;
    uint8_t *bad_items = NULL;
    const char **name_items = NULL;
    TESS_TRY(
        tess_ar_log_new(r->ctx, r->n_epoch, r->n_chan, log, &label_items, &bad_items, &name_items));
    TESS_TRY(read_names(r, names, *log, name_items));
    TESS_TRY(read_bad_epochs(r, bad_epochs, bad_items));
    return read_labels(r, labels, label_items);
}

tess_status tess_ar_log_load_json(tess_context *ctx, tess_blocks *memory, const char *path,
                                  tess_autoreject_log **log)
{
    reader r = {.ctx = ctx, .path = path, .memory = memory};
    tess_infile file;
    TESS_TRY(tess_infile_open(path, &file));
    tess_status status = TESS_OK;
    if (file.bytes > MAX_BYTES) {
        status = tess_error_set(TESS_E_FORMAT, "%s: has %llu bytes; no reject log is that large",
                                path, (unsigned long long)file.bytes);
    }
    char *text = NULL;
    if (status == TESS_OK) {
        text = tess_blocks_alloc(memory, (int64_t)file.bytes, 1, "a reject log");
        status = text ? tess_infile_read(&file, text, (size_t)file.bytes, 0) : TESS_E_MEMORY;
    }
    const size_t bytes = (size_t)file.bytes;
    tess_infile_close(&file);
    TESS_TRY(status);
    const tess_json_value *root = NULL;
    TESS_TRY(tess_json_parse(memory, path, text, bytes, &root));
    return read_log(&r, root, log);
}
