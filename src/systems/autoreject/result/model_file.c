// Models as JSON: what was fitted, with what, and what was chosen.
//
// schema "tessera.autoreject.model/1"; options by the names of table autoreject.fit, as text; loss
// [consensus][n_interpolate][fold], null where a pair is not admissible.
#include "base/file.h"
#include "base/infile.h"
#include "base/json_read.h"
#include "base/status.h"
#include "runtime/origin.h"
#include "runtime/provenance.h"
#include "systems/autoreject/result/model.h"
#include "tessera/sys/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SCHEMA "tessera.autoreject.model/1"

// Larger files are no models; numbers up to here are whole in double.
static const uint64_t MAX_BYTES = UINT64_C(1) << 30;
static const double MAX_WHOLE = 9007199254740992.0;

static void put_reals(tess_json *json, const char *key, const double *items, int64_t n)
{
    if (!items) {
        return;
    }
    tess_json_array_begin(json, key);
    for (int64_t i = 0; i < n; i++) {
        tess_json_real(json, NULL, items[i]);
    }
    tess_json_array_end(json);
}

static void put_ints(tess_json *json, const char *key, const int64_t *items, int64_t n)
{
    tess_json_array_begin(json, key);
    for (int64_t i = 0; items && i < n; i++) {
        tess_json_int(json, NULL, items[i]);
    }
    tess_json_array_end(json);
}

tess_autoreject_fit_config tess_ar_model_options(const tess_autoreject_model_info *info)
{
    tess_autoreject_fit_config config;
    tess_autoreject_fit_config_init(&config, sizeof config);
    config.search = info->search;
    config.rho_mode = info->rho_mode;
    config.augment = info->augment;
    config.meg_dots = info->meg_dots;
    config.compat_types = info->compat_types;
    config.n_split = info->n_split;
    config.n_fold = info->n_fold;
    config.seed = info->seed;
    return config;
}

static void put_options(tess_json *json, const tess_autoreject_model_info *info)
{
    const tess_param_table *table = tess_autoreject_fit_params();
    const tess_autoreject_fit_config config = tess_ar_model_options(info);
    tess_json_object_begin(json, "options");
    for (int64_t i = 0; i < table->n_param; i++) {
        char value[64];
        tess_param_get_text(&table->params[i], &config, value, sizeof value);
        if (strcmp(value, "0") != 0 || table->params[i].minimum <= 0) { // not known otherwise
            tess_json_text(json, table->params[i].name, value);
        }
    }
    tess_json_object_end(json);
    put_reals(json, "eeg_origin", info->eeg_origin, 3);
}

static void put_loss(tess_json *json, const tess_autoreject_model_info *info, const double *loss)
{
    if (!loss) {
        return;
    }
    tess_json_array_begin(json, "loss");
    for (int64_t i = 0; i < info->n_consensus; i++) {
        tess_json_array_begin(json, NULL);
        for (int64_t j = 0; j < info->n_n_interpolate; j++) {
            put_reals(json, NULL, loss + (i * info->n_n_interpolate + j) * info->n_fold,
                      info->n_fold);
        }
        tess_json_array_end(json);
    }
    tess_json_array_end(json);
}

static void put_type(tess_json *json, const tess_autoreject_model_info *info,
                     const tess_autoreject_type_fit *type)
{
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "type", tess_autoreject_type_name(type->type));
    tess_json_int(json, "consensus_index", type->consensus_index);
    tess_json_int(json, "n_interpolate_index", type->n_interpolate_index);
    tess_json_real(json, "consensus", type->consensus);
    tess_json_int(json, "n_interpolate", type->n_interpolate);
    put_ints(json, "channels", type->channels, type->n_chan);
    put_reals(json, "thresholds", type->thresholds, type->n_chan);
    put_reals(json, "standard_errors", type->standard_errors, type->n_chan);
    put_reals(json, "objectives", type->objectives, type->n_chan);
    put_loss(json, info, type->loss);
    tess_json_object_end(json);
}

static void put_contents(tess_json *json, const tess_autoreject_model_info *info)
{
    tess_json_text(json, "tessera_version", info->tessera_version);
    put_options(json, info);
    tess_json_int(json, "n_epoch", info->n_epoch);
    tess_json_int(json, "n_time", info->n_time);
    tess_json_real(json, "sampling_hz", info->sampling_hz);
    tess_json_array_begin(json, "channel_names");
    for (int64_t c = 0; c < info->n_chan; c++) {
        tess_json_text(json, NULL, info->channel_names[c]);
    }
    tess_json_array_end(json);
    put_ints(json, "picks", info->picks, info->n_pick);
    put_reals(json, "consensus", info->consensus, info->n_consensus);
    put_ints(json, "n_interpolate", info->n_interpolate, info->n_n_interpolate);
    tess_json_array_begin(json, "types");
    for (int64_t i = 0; i < info->n_type; i++) {
        put_type(json, info, &info->types[i]);
    }
    tess_json_array_end(json);
    tess_json_text(json, "notes", info->notes);
}

tess_status tess_ar_model_digest(tess_context *ctx, const tess_autoreject_model *model,
                                 char digest[33])
{
    tess_json *json = NULL;
    const char *text = NULL;
    TESS_TRY(tess_json_create(ctx, 0, &json));
    tess_json_object_begin(json, NULL);
    put_contents(json, &model->info);
    tess_json_object_end(json);
    const tess_status status = tess_json_finish(json, &text);
    if (status == TESS_OK) {
        tess_hash_text(tess_hash_bytes(tess_hash_default(), text, strlen(text)), digest);
    }
    tess_json_destroy(json);
    return status;
}

static tess_status write_model(tess_context *ctx, const tess_autoreject_model *model,
                               const char *origin, const char *path, int overwrite)
{
    tess_json *json = NULL;
    const char *text = NULL;
    TESS_TRY(tess_json_create(ctx, 1, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", SCHEMA);
    tess_json_raw(json, TESS_ORIGIN_NAME, origin);
    put_contents(json, &model->info);
    tess_json_object_end(json);
    tess_status status = tess_json_finish(json, &text);
    if (status == TESS_OK) {
        status = tess_file_write_text(path, text,
                                      tess_provenance_overwrite(ctx, path, origin, overwrite));
    }
    tess_json_destroy(json);
    return status;
}

tess_status tess_autoreject_model_save(tess_context *ctx, const tess_autoreject_model *model,
                                       const char *path, int overwrite)
{
    tess_error_clear();
    const size_t n = strlen(path);
    if (n > 4 && strcmp(path + n - 4, ".tsv") == 0) {
        return tess_ar_model_save_table(ctx, &model->info, path, overwrite != 0);
    }
    if (model->origin) {
        return write_model(ctx, model, model->origin, path, overwrite);
    }
    char digest[33];
    char *text = NULL;
    size_t bytes = 0;
    TESS_TRY(tess_ar_model_digest(ctx, model, digest));
    const char *input = model->input;
    const tess_autoreject_fit_config config = tess_ar_model_options(&model->info);
    const bool is_fitted = config.n_split > 0; // else these are not known
    const tess_origin origin = {.stage = model->stage,
                                .identity = digest,
                                .inputs = {input && input[0] ? input : NULL},
                                .tables = {is_fitted ? tess_autoreject_fit_params() : NULL},
                                .values = {&config}};
    TESS_TRY(tess_origin_make(ctx, &origin, &text, &bytes));
    const tess_status status = write_model(ctx, model, text, path, overwrite);
    tess_heap_free(&ctx->heap, text, bytes, TESS_TAG_RESULT);
    return status;
}

typedef struct loader {
    const char *path;
    tess_autoreject_model *model;
    tess_blocks memory; // of the tree
} loader;

static tess_status wrong(const loader *l, const tess_json_value *at, const char *key,
                         const char *what)
{
    TESS_FAIL(TESS_E_FORMAT,
              "%s: line %d: '%s' should be %s; not a model of autoreject, or a "
              "damaged one",
              l->path, at ? at->line : 1, key, what);
}

static tess_status must_have(const loader *l, const tess_json_value *object, const char *key,
                             tess_json_kind kind, const tess_json_value **value)
{
    static const char *const kinds[] = {"null",   "true or false", "a number",
                                        "a text", "a list",        "an object"};
    *value = tess_json_find(object, key);
    if (!*value || (*value)->kind != (int32_t)kind) {
        return wrong(l, *value ? *value : object, key, kinds[kind]);
    }
    return TESS_OK;
}

static bool is_whole(const tess_json_value *value)
{
    return value->kind == TESS_JSON_NUMBER && value->number == floor(value->number) &&
           fabs(value->number) <= MAX_WHOLE;
}

static tess_status read_int(const loader *l, const tess_json_value *object, const char *key,
                            int64_t *out)
{
    const tess_json_value *value = NULL;
    TESS_TRY(must_have(l, object, key, TESS_JSON_NUMBER, &value));
    if (!is_whole(value)) {
        return wrong(l, value, key, "a whole number");
    }
    *out = (int64_t)value->number;
    return TESS_OK;
}

static tess_status read_real(const loader *l, const tess_json_value *object, const char *key,
                             double *out)
{
    const tess_json_value *value = NULL;
    TESS_TRY(must_have(l, object, key, TESS_JSON_NUMBER, &value));
    *out = value->number;
    return TESS_OK;
}

// Numbers into the model's memory; null stands for infinity. n < 0: any number of them.
static tess_status read_reals(const loader *l, const tess_json_value *list, const char *key,
                              int64_t n, const double **out)
{
    double *items = tess_blocks_alloc(&l->model->memory, list->n, sizeof *items, "model");
    if (!items) {
        return TESS_E_MEMORY;
    }
    if (list->kind != TESS_JSON_ARRAY || (n >= 0 && list->n != n)) {
        return wrong(l, list, key, "a list of numbers, as many as there are channels");
    }
    int64_t i = 0;
    for (const tess_json_value *v = list->first; v; v = v->next) {
        if (v->kind != TESS_JSON_NUMBER && v->kind != TESS_JSON_NULL) {
            return wrong(l, v, key, "a list of numbers");
        }
        items[i++] = v->kind == TESS_JSON_NUMBER ? v->number : (double)INFINITY;
    }
    *out = items;
    return TESS_OK;
}

static tess_status read_ints(const loader *l, const tess_json_value *object, const char *key,
                             const int64_t **out, int64_t *n)
{
    const tess_json_value *list = NULL;
    TESS_TRY(must_have(l, object, key, TESS_JSON_ARRAY, &list));
    int64_t *items = tess_blocks_alloc(&l->model->memory, list->n, sizeof *items, "model");
    if (!items) {
        return TESS_E_MEMORY;
    }
    int64_t i = 0;
    for (const tess_json_value *v = list->first; v; v = v->next) {
        if (!is_whole(v)) {
            return wrong(l, v, key, "a list of whole numbers");
        }
        items[i++] = (int64_t)v->number;
    }
    *out = items;
    *n = list->n;
    return TESS_OK;
}

static tess_status read_options(const loader *l, const tess_json_value *root)
{
    const tess_param_table *table = tess_autoreject_fit_params();
    tess_autoreject_model_info *info = &l->model->info;
    const tess_json_value *options = NULL;
    tess_autoreject_fit_config config = tess_ar_model_options(info);
    TESS_TRY(must_have(l, root, "options", TESS_JSON_OBJECT, &options));
    for (int64_t i = 0; i < table->n_param; i++) {
        const tess_json_value *value = tess_json_find(options, table->params[i].name);
        if (!value) {
            continue;
        }
        TESS_TRY(must_have(l, options, table->params[i].name, TESS_JSON_TEXT, &value));
        const tess_status status = tess_param_set_text(&table->params[i], &config, value->text);
        if (status != TESS_OK) {
            tess_error_append(" (%s: line %d)", l->path, value->line);
            return status;
        }
    }
    info->search = config.search;
    info->rho_mode = config.rho_mode;
    info->augment = config.augment;
    info->meg_dots = config.meg_dots;
    info->compat_types = config.compat_types;
    info->n_split = config.n_split;
    info->n_fold = config.n_fold;
    info->seed = config.seed;
    const tess_json_value *origin = tess_json_find(root, "eeg_origin");
    return origin ? read_reals(l, origin, "eeg_origin", 3, &info->eeg_origin) : TESS_OK;
}

static tess_status read_names(const loader *l, const tess_json_value *root)
{
    tess_autoreject_model_info *info = &l->model->info;
    const tess_json_value *list = NULL;
    TESS_TRY(must_have(l, root, "channel_names", TESS_JSON_ARRAY, &list));
    const char **names = tess_blocks_alloc(&l->model->memory, list->n, sizeof *names, "model");
    if (!names) {
        return TESS_E_MEMORY;
    }
    for (const tess_json_value *v = list->first; v; v = v->next) {
        if (v->kind != TESS_JSON_TEXT) {
            return wrong(l, v, "channel_names", "a list of texts");
        }
        char *name =
            tess_blocks_copy(&l->model->memory, v->text, (int64_t)strlen(v->text) + 1, 1, "model");
        if (!name) {
            return TESS_E_MEMORY;
        }
        names[info->n_chan++] = name;
    }
    info->channel_names = names;
    return TESS_OK;
}

static tess_status read_loss(const loader *l, const tess_json_value *type, const double **loss)
{
    const tess_autoreject_model_info *info = &l->model->info;
    const tess_json_value *table = tess_json_find(type, "loss");
    if (!table) {
        return TESS_OK;
    }
    const int64_t n_column = info->n_n_interpolate;
    double *all = tess_blocks_alloc(&l->model->memory, table->n * n_column,
                                    (size_t)info->n_fold * sizeof *all, "model");
    if (!all) {
        return TESS_E_MEMORY;
    }
    if (table->kind != TESS_JSON_ARRAY || table->n != info->n_consensus) {
        return wrong(l, table, "loss", "a row for each consensus");
    }
    double *at = all;
    for (const tess_json_value *row = table->first; row; row = row->next) {
        if (row->kind != TESS_JSON_ARRAY || row->n != n_column) {
            return wrong(l, row, "loss", "a cell for each n_interpolate");
        }
        for (const tess_json_value *cell = row->first; cell; cell = cell->next) {
            const double *items = NULL;
            TESS_TRY(read_reals(l, cell, "loss", info->n_fold, &items));
            memcpy(at, items, (size_t)info->n_fold * sizeof *at);
            at += info->n_fold;
        }
    }
    *loss = all;
    return TESS_OK;
}

static tess_status read_type(const loader *l, const tess_json_value *object,
                             tess_autoreject_type_fit *type)
{
    const tess_json_value *name = NULL;
    const tess_json_value *list = NULL;
    TESS_TRY(must_have(l, object, "type", TESS_JSON_TEXT, &name));
    type->struct_size = sizeof *type;
    type->type = tess_autoreject_type_find(name->text);
    TESS_TRY(read_int(l, object, "consensus_index", &type->consensus_index));
    TESS_TRY(read_int(l, object, "n_interpolate_index", &type->n_interpolate_index));
    TESS_TRY(read_real(l, object, "consensus", &type->consensus));
    TESS_TRY(read_int(l, object, "n_interpolate", &type->n_interpolate));
    TESS_TRY(read_ints(l, object, "channels", &type->channels, &type->n_chan));
    TESS_TRY(must_have(l, object, "thresholds", TESS_JSON_ARRAY, &list));
    TESS_TRY(read_reals(l, list, "thresholds", type->n_chan, &type->thresholds));
    list = tess_json_find(object, "standard_errors");
    if (list) {
        TESS_TRY(read_reals(l, list, "standard_errors", type->n_chan, &type->standard_errors));
    }
    list = tess_json_find(object, "objectives");
    if (list) {
        TESS_TRY(read_reals(l, list, "objectives", type->n_chan, &type->objectives));
    }
    return read_loss(l, object, &type->loss);
}

static tess_status read_grids(const loader *l, const tess_json_value *root)
{
    tess_autoreject_model_info *info = &l->model->info;
    const tess_json_value *list = NULL;
    TESS_TRY(read_ints(l, root, "picks", &info->picks, &info->n_pick));
    TESS_TRY(read_ints(l, root, "n_interpolate", &info->n_interpolate, &info->n_n_interpolate));
    list = tess_json_find(root, "consensus");
    if (list) { // models of thresholds have none
        TESS_TRY(read_reals(l, list, "consensus", -1, &info->consensus));
        info->n_consensus = list->n;
    }
    if (info->n_fold < 0 || info->n_fold > 1000000) {
        return wrong(l, root, "n_fold", "0 to 1000000");
    }
    return TESS_OK;
}

static tess_status read_model(const loader *l, const tess_json_value *root)
{
    tess_autoreject_model_info *info = &l->model->info;
    const tess_json_value *value = NULL;
    TESS_TRY(must_have(l, root, "schema", TESS_JSON_TEXT, &value));
    if (strcmp(value->text, SCHEMA) != 0) {
        TESS_FAIL(TESS_E_VERSION, "%s: is '%.60s'; this version reads " SCHEMA, l->path,
                  value->text);
    }
    TESS_TRY(read_options(l, root));
    TESS_TRY(read_int(l, root, "n_epoch", &info->n_epoch));
    TESS_TRY(read_int(l, root, "n_time", &info->n_time));
    TESS_TRY(read_real(l, root, "sampling_hz", &info->sampling_hz));
    TESS_TRY(read_names(l, root));
    TESS_TRY(read_grids(l, root));
    TESS_TRY(must_have(l, root, "types", TESS_JSON_ARRAY, &value));
    if (value->n < 1 || value->n > TESS_AUTOREJECT_N_SOLVABLE) {
        return wrong(l, value, "types", "a list of one to seven types");
    }
    for (const tess_json_value *type = value->first; type; type = type->next) {
        TESS_TRY(read_type(l, type, &l->model->types[info->n_type]));
        info->n_type++;
    }
    value = tess_json_find(root, "notes");
    if (value && value->kind == TESS_JSON_TEXT && value->text[0]) {
        tess_ar_model_note(l->model, "%s", value->text);
    }
    return tess_ar_model_check(l->model, l->path);
}

// Kept as it stands: a model that is saved again comes from where it came from.
static tess_status read_origin(loader *l, const char *text, size_t bytes)
{
    size_t n = 0;
    const char *found = tess_origin_find(text, bytes, &n);
    if (!found) {
        return TESS_OK;
    }
    char *kept = tess_blocks_alloc(&l->model->memory, (int64_t)n + 1, 1, "provenance");
    if (!kept) {
        return TESS_E_MEMORY;
    }
    memcpy(kept, found, n);
    l->model->origin = kept;
    return TESS_OK;
}

static tess_status load(loader *l, const char *path)
{
    tess_infile file;
    TESS_TRY(tess_infile_open(path, &file));
    const uint64_t bytes = file.bytes;
    tess_status status = TESS_OK;
    if (bytes > MAX_BYTES) {
        status = tess_error_set(TESS_E_FORMAT, "%s: has %llu bytes; no model is that large", path,
                                (unsigned long long)bytes);
    }
    char *text = NULL;
    if (status == TESS_OK) {
        text = tess_blocks_alloc(&l->memory, (int64_t)bytes, 1, "a model file");
        status = text ? tess_infile_read(&file, text, (size_t)bytes, 0) : TESS_E_MEMORY;
    }
    tess_infile_close(&file);
    TESS_TRY(status);
    const tess_json_value *root = NULL;
    TESS_TRY(tess_json_parse(&l->memory, path, text, (size_t)bytes, &root));
    TESS_TRY(read_model(l, root));
    return read_origin(l, text, (size_t)bytes);
}

tess_status tess_autoreject_model_load(tess_context *ctx, const char *path,
                                       tess_autoreject_model **out)
{
    tess_error_clear();
    *out = NULL;
    loader l = {.path = path};
    TESS_TRY(tess_ar_model_new(ctx, &l.model));
    tess_blocks_init(&l.memory, &ctx->heap);
    const tess_status status = load(&l, path);
    tess_blocks_free(&l.memory);
    if (status != TESS_OK) {
        tess_autoreject_model_destroy(l.model);
        return status;
    }
    *out = l.model;
    return TESS_OK;
}
