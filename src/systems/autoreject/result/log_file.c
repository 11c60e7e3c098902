// Reject logs as .npz, with the arrays of the original; those in JSON are read as well.
#include "base/hash.h"
#include "base/infile.h"
#include "base/json_read.h"
#include "base/status.h"
#include "base/ucs4.h"
#include "runtime/bundle.h"
#include "systems/autoreject/result/model.h"

#include <math.h>
#include <string.h>

enum { MAX_NAME_CHARS = 4096 };

// [n_chan][*width] code points, zeros behind.
static uint32_t *wide_names(tess_blocks *memory, const tess_autoreject_log_info *info,
                            size_t *width)
{
    *width = 1;
    for (int64_t c = 0; c < info->n_chan; c++) {
        const size_t n = tess_ucs4_from_utf8(info->channel_names[c], NULL);
        *width = n > *width ? n : *width;
    }
    uint32_t *names = tess_blocks_alloc(memory, info->n_chan, *width * sizeof *names, "names");
    for (int64_t c = 0; names && c < info->n_chan; c++) {
        tess_ucs4_from_utf8(info->channel_names[c], names + (size_t)c * *width);
    }
    return names;
}

void tess_ar_log_digest(const tess_autoreject_log *log, char digest[33])
{
    const tess_autoreject_log_info *info = &log->info;
    tess_hash hash = {0, 0};
    for (int64_t c = 0; c < info->n_chan; c++) {
        tess_hash_mix(&hash, info->channel_names[c], strlen(info->channel_names[c]));
    }
    tess_hash_mix(&hash, info->bad_epochs, (size_t)info->n_epoch);
    tess_hash_mix(&hash, info->labels, (size_t)(info->n_epoch * info->n_chan));
    tess_hash_text(hash, digest);
}

static tess_status save(tess_context *ctx, tess_blocks *memory, const tess_autoreject_log *log,
                        const char *path, int overwrite)
{
    const tess_autoreject_log_info *info = &log->info;
    const int64_t n = info->n_epoch * info->n_chan;
    const int64_t shape[2] = {info->n_epoch, info->n_chan};
    size_t width = 0;
    uint32_t *names = wide_names(memory, info, &width);
    double *labels = tess_blocks_alloc(memory, n, sizeof *labels, "labels");
    if (!names || !labels) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        labels[i] = info->labels[i] < 0 ? (double)NAN : (double)info->labels[i];
    }
    tess_format_writer_input inputs[3];
    tess_bundle_input(&inputs[0], "labels", TESS_F64, 2, shape, labels);
    tess_bundle_input(&inputs[1], "bad_epochs", TESS_BOOL, 1, shape, info->bad_epochs);
    tess_bundle_input(&inputs[2], "ch_names", TESS_UCS4, 1, shape + 1, names);
    inputs[2].item_bytes = (int64_t)(width * sizeof *names);
    inputs[2].data_bytes = (uint64_t)info->n_chan * width * sizeof *names;
    char digest[33];
    tess_ar_log_digest(log, digest);
    const tess_origin origin = {.stage = "autoreject.log",
                                .identity = digest,
                                .inputs = {log->input && log->input[0] ? log->input : NULL}};
    return tess_bundle_write_from(ctx, &origin, path, inputs, 3, overwrite);
}

tess_status tess_autoreject_log_save(tess_context *ctx, const tess_autoreject_log *log,
                                     const char *path, int overwrite)
{
    tess_error_clear();
    tess_blocks memory;
    tess_blocks_init(&memory, &ctx->heap);
    const tess_status status = save(ctx, &memory, log, path, overwrite);
    tess_blocks_free(&memory);
    return status;
}

static tess_status must_have(const tess_bundle *bundle, const char *name, int32_t rank,
                             const tess_bundle_entry **entry)
{
    *entry = tess_bundle_find(bundle, name);
    if (!*entry || (*entry)->rank != rank) {
        TESS_FAIL(TESS_E_FORMAT, "%s: has no array '%s' of %d axes; not a reject log", bundle->path,
                  name, rank);
    }
    return TESS_OK;
}

// The names as code points, and as the texts the log keeps.
static tess_status read_names(const tess_bundle *bundle, tess_blocks *memory, int64_t n,
                              const char **names)
{
    tess_source_config config;
    tess_source_config_init(&config, sizeof config);
    config.dataset = "ch_names";
    tess_source *source = NULL;
    TESS_TRY(tess_source_open(bundle->ctx, bundle->path, &config, &source));
    const tess_source_info *info = tess_source_get_info(source);
    const int64_t item = info->item_bytes;
    const bool is_wide = info->dtype == TESS_UCS4;
    tess_status status = TESS_OK;
    if ((!is_wide && info->dtype != TESS_BYTES) || item < 1 || item > 4 * MAX_NAME_CHARS) {
        status =
            tess_error_set(TESS_E_FORMAT, "%s: 'ch_names' is not a list of texts", bundle->path);
    }
    char *raw = status == TESS_OK ? tess_blocks_alloc(memory, n, (size_t)item, "names") : NULL;
    if (status == TESS_OK) {
        status = raw ? tess_source_read(source, 0, n, raw, (uint64_t)(n * item)) : TESS_E_MEMORY;
    }
    for (int64_t c = 0; status == TESS_OK && c < n; c++) {
        char *name = tess_blocks_alloc(memory, item + 1, 1, "names");
        if (!name) {
            status = TESS_E_MEMORY;
        } else if (is_wide) {
            tess_utf8_from_ucs4((const uint32_t *)(const void *)(raw + c * item),
                                (size_t)item / sizeof(uint32_t), name);
        } else {
            memcpy(name, raw + c * item, (size_t)item);
        }
        names[c] = name;
    }
    tess_source_close(source);
    return status;
}

static tess_status read_labels(const tess_bundle *bundle, tess_blocks *memory,
                               const tess_bundle_entry *entry, int8_t *labels)
{
    double *values = tess_blocks_alloc(memory, entry->n_item, sizeof *values, "labels");
    if (!values) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_bundle_read_f64(bundle, entry, values));
    for (int64_t i = 0; i < entry->n_item; i++) {
        if (!isnan(values[i]) && values[i] != 0 && values[i] != 1 && values[i] != 2) {
            TESS_FAIL(TESS_E_FORMAT, "%s: 'labels' holds %g; expected 0, 1, 2 or NaN", bundle->path,
                      values[i]);
        }
        labels[i] = isnan(values[i]) ? -1 : (int8_t)values[i];
    }
    return TESS_OK;
}

static tess_status load(const tess_bundle *bundle, tess_blocks *memory, tess_autoreject_log **out)
{
    const tess_bundle_entry *labels = NULL;
    const tess_bundle_entry *bad_epochs = NULL;
    const tess_bundle_entry *names = NULL;
    TESS_TRY(must_have(bundle, "labels", 2, &labels));
    TESS_TRY(must_have(bundle, "bad_epochs", 1, &bad_epochs));
    TESS_TRY(must_have(bundle, "ch_names", 1, &names));
    if (bad_epochs->shape[0] != labels->shape[0] || names->shape[0] != labels->shape[1] ||
        names->shape[0] < 1) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: %lld x %lld labels, %lld bad_epochs and %lld ch_names do not fit together",
                  bundle->path, (long long)labels->shape[0], (long long)labels->shape[1],
                  (long long)bad_epochs->shape[0], (long long)names->shape[0]);
    }
    int8_t *label_items = NULL;
    uint8_t *bad_items = NULL;
    const char **name_items = NULL;
    TESS_TRY(tess_ar_log_new(bundle->ctx, labels->shape[0], labels->shape[1], out, &label_items,
                             &bad_items, &name_items));
    TESS_TRY(read_labels(bundle, memory, labels, label_items));
    TESS_TRY(tess_bundle_read_bool(bundle, bad_epochs, bad_items));
    return read_names(bundle, &(*out)->memory, names->shape[0], name_items);
}

// What the file says of itself: the epochs it was made of. Logs of the original say nothing.
static tess_status read_origin(tess_autoreject_log *log, tess_blocks *memory, const char *path)
{
    char *text = NULL;
    const tess_json_value *root = NULL;
    log->path = tess_blocks_copy(&log->memory, path, (int64_t)strlen(path) + 1, 1, "reject log");
    if (!log->path) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_file_provenance(log->ctx, path, &text));
    if (text && tess_json_parse(memory, path, text, strlen(text), &root) != TESS_OK) {
        tess_error_clear(); // a log that anybody may have written; its labels are what counts
    }
    const tess_json_value *inputs = tess_json_find(root, "inputs");
    const bool is_list = inputs && inputs->kind == TESS_JSON_ARRAY;
    const tess_json_value *name = is_list ? tess_json_find(inputs->first, "name") : NULL;
    tess_status status = TESS_OK;
    if (name && name->kind == TESS_JSON_TEXT) {
        log->input = tess_blocks_copy(&log->memory, name->text, (int64_t)strlen(name->text) + 1, 1,
                                      "reject log");
        status = log->input ? TESS_OK : TESS_E_MEMORY;
    }
    tess_text_free(text);
    return status;
}

static tess_status load_arrays(tess_context *ctx, tess_blocks *memory, const char *path,
                               tess_autoreject_log **log)
{
    tess_bundle bundle;
    TESS_TRY(tess_bundle_open(ctx, path, &bundle));
    tess_status status = load(&bundle, memory, log);
    if (status == TESS_OK) {
        status = tess_bundle_check(&bundle);
    }
    tess_bundle_close(&bundle);
    return status;
}

// What begins with a brace is JSON; archives begin with PK.
static tess_status is_json(const char *path, bool *answer)
{
    tess_infile file;
    char first = 0;
    TESS_TRY(tess_infile_open(path, &file));
    const tess_status status = file.bytes > 0 ? tess_infile_read(&file, &first, 1, 0) : TESS_OK;
    tess_infile_close(&file);
    *answer = first == '{';
    return status;
}

tess_status tess_autoreject_log_load(tess_context *ctx, const char *path, tess_autoreject_log **out)
{
    tess_error_clear();
    *out = NULL;
    bool is_text = false;
    TESS_TRY(is_json(path, &is_text));
    tess_blocks memory;
    tess_blocks_init(&memory, &ctx->heap);
    tess_autoreject_log *log = NULL;
    tess_status status = is_text ? tess_ar_log_load_json(ctx, &memory, path, &log)
                                 : load_arrays(ctx, &memory, path, &log);
    if (status == TESS_OK) {
        status = read_origin(log, &memory, path);
    }
    tess_blocks_free(&memory);
    if (status != TESS_OK) {
        tess_autoreject_log_destroy(log);
        return status;
    }
    tess_ar_log_judge(log);
    *out = log;
    return TESS_OK;
}
