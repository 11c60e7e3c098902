// Model files: the data a model is made of, its settings as text, its discrete parameters. Loading
// makes the model again, to the same bits.
//
// name                              shape        content
// schema                            1            "tessera.decode.model/1"
// setting_names, setting_values     n            text: "encoding.mode" and "fast"
// position_time, position           N; N, d      training position
// is_training, weights              N            optional
// n_spike, n_feature                E
// electrode_id                      E            optional
// spike_times, spike_marks          all          electrodes one after another
// grid_position                     M, d         optional: samples of the grid
// track_*, bin_size, position_range, is_track_interior, position_std, waveform_std   optional
// discrete_initial, discrete_transition, initial, coefficients
// covariates                        1            optional: names, separated by commas
#include "base/checked.h"
#include "base/status.h"
#include "runtime/bundle.h"
#include "systems/decode/files/covariates.h"
#include "systems/decode/model/model.h"

#include <stdio.h>
#include <string.h>

#define SCHEMA "tessera.decode.model/1"
#define PYTHON_SCHEMA "tessera.decode.python/1" // objects of classes only Python has

enum { MAX_INPUTS = 40, SETTING_CHARS = 64, MAX_SETTINGS = 96 };

// Tables whose fields are settings, and where their structs lie in the model's config.
typedef struct section {
    const char *prefix;
    const tess_param_table *table;
    void *config;
} section;

enum { N_SECTION = 4 };

static void list_sections(tess_decode_model_config *config, section sections[N_SECTION])
{
    sections[0] = (section){"model", tess_decode_model_params(), config};
    sections[1] = (section){"environment", tess_decode_environment_params(), &config->environment};
    sections[2] = (section){"encoding", tess_decode_encoding_params(), &config->encoding};
    sections[3] = (section){"detector", tess_decode_detector_params(), &config->detector};
}

typedef struct saver {
    tess_context *ctx;
    const tess_decode_model *model;
    tess_blocks memory;
    tess_format_writer_input inputs[MAX_INPUTS];
    int64_t n_input;
} saver;

// NULL data: not there.
static void put(saver *s, const char *name, tess_dtype dtype, int64_t n0, int64_t n1,
                const void *data)
{
    const int64_t shape[2] = {n0, n1};
    if (data) {
        tess_bundle_input(&s->inputs[s->n_input++], name, dtype, n1 > 0 ? 2 : 1, shape, data);
    }
}

static void put_text(saver *s, const char *name, int64_t n, int64_t width, const char *chars)
{
    put(s, name, TESS_BYTES, n, 0, chars);
    s->inputs[s->n_input - 1].item_bytes = width;
    s->inputs[s->n_input - 1].data_bytes = (uint64_t)(n * width);
}

static tess_status put_settings(saver *s)
{
    tess_decode_model_config config = s->model->config;
    section sections[N_SECTION];
    list_sections(&config, sections);
    char *names = tess_blocks_alloc(&s->memory, MAX_SETTINGS, SETTING_CHARS, "names of settings");
    char *values = tess_blocks_alloc(&s->memory, MAX_SETTINGS, SETTING_CHARS, "settings");
    if (!names || !values) {
        return TESS_E_MEMORY;
    }
    int64_t n = 0;
    for (int i = 0; i < N_SECTION; i++) {
        for (int64_t k = 0; k < sections[i].table->n_param && n < MAX_SETTINGS; k++, n++) {
            const tess_param *param = &sections[i].table->params[k];
            snprintf(names + n * SETTING_CHARS, SETTING_CHARS, "%s.%s", sections[i].prefix,
                     param->name);
            tess_param_get_text(param, sections[i].config, values + n * SETTING_CHARS,
                                SETTING_CHARS);
        }
    }
    put_text(s, "schema", 1, (int64_t)sizeof SCHEMA - 1, SCHEMA);
    put_text(s, "setting_names", n, SETTING_CHARS, names);
    put_text(s, "setting_values", n, SETTING_CHARS, values);
    return TESS_OK;
}

// Electrodes one after another.
static tess_status put_spikes(saver *s)
{
    const tess_decode_spikes *spikes = &s->model->training.spikes;
    const size_t item = spikes->mark_dtype == TESS_F32 ? sizeof(float) : sizeof(double);
    int64_t n_time = 0;
    int64_t n_mark = 0;
    for (int64_t e = 0; e < spikes->n_electrode; e++) {
        n_time += spikes->n_spike[e];
        n_mark += spikes->marks ? spikes->n_spike[e] * spikes->n_feature[e] : 0;
    }
    double *times = tess_blocks_alloc(&s->memory, n_time, sizeof *times, "spike times");
    char *marks = tess_blocks_alloc(&s->memory, n_mark, item, "spike marks");
    if (!times || !marks) {
        return TESS_E_MEMORY;
    }
    put(s, "spike_times", TESS_F64, n_time, 0, times);
    if (spikes->marks) {
        put(s, "spike_marks", (tess_dtype)spikes->mark_dtype, n_mark, 0, marks);
    }
    for (int64_t e = 0; e < spikes->n_electrode; e++) {
        const int64_t n = spikes->n_spike[e];
        if (n > 0) {
            memcpy(times, spikes->times[e], (size_t)n * sizeof *times);
        }
        times += n;
        if (n > 0 && spikes->marks) {
            const size_t bytes = (size_t)(n * spikes->n_feature[e]) * item;
            memcpy(marks, spikes->marks[e], bytes);
            marks += bytes;
        }
    }
    put(s, "n_spike", TESS_I64, spikes->n_electrode, 0, spikes->n_spike);
    put(s, "n_feature", TESS_I64, spikes->n_electrode, 0, spikes->n_feature);
    put(s, "electrode_id", TESS_I64, spikes->n_electrode, 0, s->model->electrode_id);
    return TESS_OK;
}

static void put_environment(saver *s)
{
    const tess_decode_model *m = s->model;
    const tess_decode_environment_config *env = &m->config.environment;
    const int64_t n_dim = m->training.position.n_dim;
    put(s, "grid_position", TESS_F64, m->n_grid_position, n_dim, m->grid_position);
    put(s, "bin_size", TESS_F64, n_dim, 0, env->bin_size);
    put(s, "position_range", TESS_F64, n_dim, 2, env->position_range);
    put(s, "is_track_interior", TESS_U8, env->n_is_track_interior, 0, env->is_track_interior);
    if (env->name && env->name[0]) {
        put_text(s, "environment_name", 1, (int64_t)strlen(env->name), env->name);
    }
    if (env->track) {
        put(s, "track_node_position", TESS_F64, m->track.n_node, 2, m->track.node_position);
        put(s, "track_edges", TESS_I64, m->track.n_edge, 2, m->track.edges);
        put(s, "track_edge_length", TESS_F64, m->track.n_edge, 0, m->track.edge_length);
        put(s, "track_edge_order", TESS_I64, m->track.n_order, 2, m->track.edge_order);
        put(s, "track_edge_spacing", TESS_F64, m->track.n_spacing, 0, m->track.edge_spacing);
    }
}

static void put_parameters(saver *s)
{
    const tess_decode_detector_info *info = &s->model->detector->info;
    const tess_decode_encoding_config *encoding = &s->model->config.encoding;
    const int64_t n = info->n_state;
    put(s, "position_std", TESS_F64, encoding->n_position_std, 0, encoding->position_std_values);
    put(s, "waveform_std", TESS_F64, encoding->n_waveform_std, 0, encoding->waveform_std_values);
    put(s, "discrete_initial", TESS_F64, n, 0, info->discrete_initial);
    put(s, "discrete_transition", TESS_F64, n, n, info->discrete_transition);
    put(s, "initial", TESS_F64, info->n_state_bin, 0, info->initial);
    put(s, "coefficients", TESS_F64, info->n_coefficient, n * (n - 1), info->coefficients);
    const char *names = s->model->config.covariates;
    if (names) {
        put_text(s, "covariates", 1, (int64_t)strlen(names), names);
    }
}

static tess_status save(saver *s, const char *path, int overwrite)
{
    const tess_decode_training *t = &s->model->training;
    const int64_t n = t->position.n_sample;
    TESS_TRY(put_settings(s));
    TESS_TRY(put_spikes(s));
    put(s, "position_time", TESS_F64, n, 0, t->position.time);
    put(s, "position", TESS_F64, n, t->position.n_dim, t->position.position);
    put(s, "is_training", TESS_U8, n, 0, t->is_training);
    put(s, "weights", TESS_F64, n, 0, t->weights);
    put_environment(s);
    put_parameters(s);
    // By its identity a resumed estimate knows that its model is there already.
    const char *identity = s->model->detector->estimated_by;
    const tess_origin origin = {.stage = identity[0] ? "decode.em" : "decode.model",
                                .identity = identity[0] ? identity : NULL,
                                .inputs = {s->model->input}};
    return tess_bundle_write_from(s->ctx, &origin, path, s->inputs, s->n_input, overwrite);
}

tess_status tess_decode_model_save(tess_context *ctx, const tess_decode_model *model,
                                   const char *path, int overwrite)
{
    tess_error_clear();
    saver s = {.ctx = ctx, .model = model};
    tess_blocks_init(&s.memory, &ctx->heap);
    const tess_status status = save(&s, path, overwrite);
    tess_blocks_free(&s.memory);
    return status;
}

typedef struct loader {
    tess_bundle bundle;
    tess_decode_model *model;
} loader;

static tess_status must_have(const loader *l, const char *name, const tess_bundle_entry **entry)
{
    *entry = tess_bundle_find(&l->bundle, name);
    if (!*entry) {
        TESS_FAIL(TESS_E_FORMAT, "%s: has no data set '%s'; not a model file, or a damaged one",
                  l->bundle.path, name);
    }
    return TESS_OK;
}

// Items of an optional data set into the model's memory; *items NULL if it is not there.
static tess_status take(loader *l, const char *name, tess_dtype dtype, const void **items,
                        int64_t *n)
{
    const tess_bundle_entry *entry = tess_bundle_find(&l->bundle, name);
    *items = NULL;
    *n = 0;
    if (!entry) {
        return TESS_OK;
    }
    void *data = tess_blocks_alloc(&l->model->memory, entry->n_item, tess_dtype_bytes(dtype), name);
    if (!data) {
        return TESS_E_MEMORY;
    }
    *items = data;
    *n = entry->n_item;
    switch (dtype) {
    case TESS_F64:
        return tess_bundle_read_f64(&l->bundle, entry, data);
    case TESS_I64:
        return tess_bundle_read_i64(&l->bundle, entry, data);
    case TESS_U8:
        return tess_bundle_read_bool(&l->bundle, entry, data);
    default:
        return tess_bundle_read(&l->bundle, entry, data,
                                (uint64_t)entry->n_item * tess_dtype_bytes(dtype));
    }
}

#define TAKE(l, name, dtype, pointer, n) take((l), (name), (dtype), (const void **)&(pointer), (n))

static tess_status wrong_size(const loader *l, const char *name, int64_t n, int64_t wanted)
{
    TESS_FAIL(TESS_E_FORMAT, "%s: data set '%s' has %lld items; %lld are expected", l->bundle.path,
              name, (long long)n, (long long)wanted);
}

// A text data set of up to n texts, each ending in a zero: [n][SETTING_CHARS + 1].
static tess_status read_texts(loader *l, const char *name, const char **texts, int64_t *n)
{
    const tess_bundle_entry *entry = NULL;
    TESS_TRY(must_have(l, name, &entry));
    const int64_t width = entry->n_item;
    tess_source_config config;
    tess_source_config_init(&config, sizeof config);
    config.dataset = name;
    tess_source *source = NULL;
    TESS_TRY(tess_source_open(l->bundle.ctx, l->bundle.path, &config, &source));
    const tess_source_info *info = tess_source_get_info(source);
    tess_status status = TESS_OK;
    if (info->dtype != TESS_BYTES || info->item_bytes > SETTING_CHARS || width > MAX_SETTINGS) {
        status = tess_error_set(TESS_E_FORMAT, "%s: data set '%s' is not a list of short texts",
                                l->bundle.path, name);
    }
    char *raw = NULL;
    char *out = NULL;
    if (status == TESS_OK) {
        raw = tess_blocks_alloc(&l->model->memory, width, (size_t)info->item_bytes, name);
        out = tess_blocks_alloc(&l->model->memory, width, SETTING_CHARS + 1, name);
        status = raw && out
                     ? tess_source_read(source, 0, width, raw, (uint64_t)(width * info->item_bytes))
                     : TESS_E_MEMORY;
    }
    for (int64_t i = 0; status == TESS_OK && i < width; i++) {
        memcpy(out + i * (SETTING_CHARS + 1), raw + i * info->item_bytes, (size_t)info->item_bytes);
    }
    *texts = out;
    *n = width;
    tess_source_close(source);
    return status;
}

static tess_status set_one(loader *l, section *sections, const char *name, const char *value)
{
    for (int i = 0; i < N_SECTION; i++) {
        const size_t length = strlen(sections[i].prefix);
        if (strncmp(name, sections[i].prefix, length) != 0 || name[length] != '.') {
            continue;
        }
        for (int64_t k = 0; k < sections[i].table->n_param; k++) {
            const tess_param *param = &sections[i].table->params[k];
            if (strcmp(param->name, name + length + 1) == 0) {
                return tess_param_set_text(param, sections[i].config, value);
            }
        }
    }
    TESS_FAIL(TESS_E_VERSION, "%s: setting '%s' is unknown to this version (" TESS_VERSION ")",
              l->bundle.path, name);
}

static tess_status load_settings(loader *l)
{
    const char *schema = NULL;
    const char *names = NULL;
    const char *values = NULL;
    int64_t n = 0;
    int64_t n_value = 0;
    TESS_TRY(read_texts(l, "schema", &schema, &n));
    if (n == 1 && strcmp(schema, PYTHON_SCHEMA) == 0) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: a model of Python that the command has no equal for (several environments, "
                  "movements of its own, not fitted, ...); decode with it in Python: load_model()",
                  l->bundle.path);
    }
    if (n != 1 || strcmp(schema, SCHEMA) != 0) {
        TESS_FAIL(TESS_E_VERSION, "%s: is '%.60s'; this version reads " SCHEMA, l->bundle.path,
                  n > 0 ? schema : "");
    }
    TESS_TRY(read_texts(l, "setting_names", &names, &n));
    TESS_TRY(read_texts(l, "setting_values", &values, &n_value));
    if (n != n_value) {
        return wrong_size(l, "setting_values", n_value, n);
    }
    section sections[N_SECTION];
    list_sections(&l->model->config, sections);
    for (int64_t i = 0; i < n; i++) {
        TESS_TRY(set_one(l, sections, names + i * (SETTING_CHARS + 1),
                         values + i * (SETTING_CHARS + 1)));
    }
    return TESS_OK;
}

// Pointers to each electrode's part of the flat lists.
static tess_status split_spikes(loader *l, const double *times, int64_t n_time, const char *marks,
                                int64_t n_mark)
{
    tess_decode_spikes *s = &l->model->training.spikes;
    const size_t item = s->mark_dtype == TESS_F32 ? sizeof(float) : sizeof(double);
    const int64_t n = s->n_electrode;
    const double **time_at = tess_blocks_alloc(&l->model->memory, n, sizeof *time_at, "lists");
    const void **mark_at = tess_blocks_alloc(&l->model->memory, n, sizeof *mark_at, "lists");
    if (!time_at || !mark_at) {
        return TESS_E_MEMORY;
    }
    for (int64_t e = 0; e < n; e++) {
        int64_t n_value = 0;
        if (s->n_spike[e] < 0 || s->n_feature[e] < 0 || s->n_spike[e] > n_time ||
            !tess_mul_i64(s->n_spike[e], s->n_feature[e], &n_value) ||
            (marks && n_value > n_mark)) {
            TESS_FAIL(TESS_E_FORMAT, "%s: electrode %lld has more spikes than the lists hold",
                      l->bundle.path, (long long)e);
        }
        time_at[e] = times;
        mark_at[e] = marks;
        times += s->n_spike[e];
        n_time -= s->n_spike[e];
        if (marks) {
            marks += (size_t)n_value * item;
            n_mark -= n_value;
        }
    }
    s->times = time_at;
    s->marks = marks ? mark_at : NULL;
    return TESS_OK;
}

static tess_status load_spikes(loader *l)
{
    tess_decode_spikes *s = &l->model->training.spikes;
    const tess_bundle_entry *entry = NULL;
    const double *times = NULL;
    const char *marks = NULL;
    int64_t n_time = 0;
    int64_t n_mark = 0;
    int64_t n_feature = 0;
    int64_t n_id = 0;
    TESS_TRY(must_have(l, "n_spike", &entry));
    TESS_TRY(must_have(l, "spike_times", &entry));
    TESS_TRY(TAKE(l, "n_spike", TESS_I64, s->n_spike, &s->n_electrode));
    TESS_TRY(TAKE(l, "n_feature", TESS_I64, s->n_feature, &n_feature));
    TESS_TRY(TAKE(l, "spike_times", TESS_F64, times, &n_time));
    const tess_bundle_entry *mark_entry = tess_bundle_find(&l->bundle, "spike_marks");
    s->mark_dtype = mark_entry && mark_entry->dtype == TESS_F32 ? TESS_F32 : TESS_F64;
    TESS_TRY(TAKE(l, "spike_marks", (tess_dtype)s->mark_dtype, marks, &n_mark));
    if (!s->n_feature) {
        int64_t *none =
            tess_blocks_alloc(&l->model->memory, s->n_electrode, sizeof *none, "feature counts");
        if (!none) {
            return TESS_E_MEMORY;
        }
        s->n_feature = none;
    } else if (n_feature != s->n_electrode) {
        return wrong_size(l, "n_feature", n_feature, s->n_electrode);
    }
    TESS_TRY(TAKE(l, "electrode_id", TESS_I64, l->model->electrode_id, &n_id));
    if (l->model->electrode_id && n_id != s->n_electrode) {
        return wrong_size(l, "electrode_id", n_id, s->n_electrode);
    }
    return split_spikes(l, times, n_time, marks, n_mark);
}

static tess_status load_training(loader *l)
{
    tess_decode_training *t = &l->model->training;
    const tess_bundle_entry *entry = NULL;
    int64_t n = 0;
    TESS_TRY(must_have(l, "position_time", &entry));
    TESS_TRY(must_have(l, "position", &entry));
    t->position.n_dim = entry->rank == 2 ? entry->shape[1] : 1;
    TESS_TRY(TAKE(l, "position_time", TESS_F64, t->position.time, &t->position.n_sample));
    TESS_TRY(TAKE(l, "position", TESS_F64, t->position.position, &n));
    if (t->position.n_dim < 1 || n != t->position.n_sample * t->position.n_dim) {
        return wrong_size(l, "position", n, t->position.n_sample * t->position.n_dim);
    }
    TESS_TRY(TAKE(l, "is_training", TESS_U8, t->is_training, &n));
    if (t->is_training && n != t->position.n_sample) {
        return wrong_size(l, "is_training", n, t->position.n_sample);
    }
    TESS_TRY(TAKE(l, "weights", TESS_F64, t->weights, &n));
    if (t->weights && n != t->position.n_sample) {
        return wrong_size(l, "weights", n, t->position.n_sample);
    }
    TESS_TRY(TAKE(l, "grid_position", TESS_F64, l->model->grid_position, &n));
    l->model->n_grid_position = n / t->position.n_dim;
    return load_spikes(l);
}

static tess_status load_track(loader *l)
{
    tess_decode_track *track = &l->model->track;
    int64_t n = 0;
    if (!tess_bundle_find(&l->bundle, "track_node_position")) {
        return TESS_OK;
    }
    TESS_TRY(TAKE(l, "track_node_position", TESS_F64, track->node_position, &n));
    track->n_node = n / 2;
    TESS_TRY(TAKE(l, "track_edges", TESS_I64, track->edges, &n));
    track->n_edge = n / 2;
    TESS_TRY(TAKE(l, "track_edge_length", TESS_F64, track->edge_length, &n));
    if (track->edge_length && n != track->n_edge) {
        return wrong_size(l, "track_edge_length", n, track->n_edge);
    }
    TESS_TRY(TAKE(l, "track_edge_order", TESS_I64, track->edge_order, &n));
    track->n_order = n / 2;
    TESS_TRY(TAKE(l, "track_edge_spacing", TESS_F64, track->edge_spacing, &track->n_spacing));
    l->model->config.environment.track = track;
    return TESS_OK;
}

static tess_status load_environment(loader *l)
{
    tess_decode_environment_config *env = &l->model->config.environment;
    const int64_t n_dim = l->model->training.position.n_dim;
    int64_t n = 0;
    TESS_TRY(TAKE(l, "bin_size", TESS_F64, env->bin_size, &n));
    if (env->bin_size && n != n_dim) {
        return wrong_size(l, "bin_size", n, n_dim);
    }
    TESS_TRY(TAKE(l, "position_range", TESS_F64, env->position_range, &n));
    if (env->position_range && n != 2 * n_dim) {
        return wrong_size(l, "position_range", n, 2 * n_dim);
    }
    TESS_TRY(
        TAKE(l, "is_track_interior", TESS_U8, env->is_track_interior, &env->n_is_track_interior));
    if (tess_bundle_find(&l->bundle, "environment_name")) {
        TESS_TRY(read_texts(l, "environment_name", &env->name, &n));
    }
    return load_track(l);
}

// What the transitions depend on, by name, if the file says.
static tess_status load_covariates(loader *l)
{
    tess_decode_model_config *config = &l->model->config;
    int64_t n = 0;
    TESS_TRY(read_texts(l, "covariates", &config->covariates, &n));
    TESS_TRY(tess_de_covariates_check(config->covariates, &n));
    if (config->detector.n_coefficient != n + 1) {
        return wrong_size(l, "coefficients", config->detector.n_coefficient, n + 1);
    }
    return TESS_OK;
}

static tess_status load_parameters(loader *l)
{
    tess_decode_encoding_config *encoding = &l->model->config.encoding;
    tess_decode_detector_config *d = &l->model->config.detector;
    tess_decode_model_defaults defaults;
    TESS_TRY(tess_decode_model_get_defaults((tess_decode_model_kind)l->model->config.model, 0,
                                            &defaults, sizeof defaults));
    const int64_t n_state = defaults.n_state;
    int64_t n = 0;
    TESS_TRY(TAKE(l, "position_std", TESS_F64, encoding->position_std_values,
                  &encoding->n_position_std));
    TESS_TRY(TAKE(l, "waveform_std", TESS_F64, encoding->waveform_std_values,
                  &encoding->n_waveform_std));
    TESS_TRY(TAKE(l, "discrete_initial", TESS_F64, d->discrete_initial, &n));
    if (n != n_state) {
        return wrong_size(l, "discrete_initial", n, n_state);
    }
    TESS_TRY(TAKE(l, "discrete_transition", TESS_F64, d->discrete_transition, &n));
    if (n != n_state * n_state) {
        return wrong_size(l, "discrete_transition", n, n_state * n_state);
    }
    if (n_state > 1) {
        TESS_TRY(TAKE(l, "coefficients", TESS_F64, d->coefficients, &n));
        d->n_coefficient = n / (n_state * (n_state - 1));
    }
    return tess_bundle_find(&l->bundle, "covariates") ? load_covariates(l) : TESS_OK;
}

// The bins' initial probabilities: their number is known once the detector is there.
static tess_status load_initial(loader *l)
{
    tess_decode_detector *d = l->model->detector;
    const double *initial = NULL;
    int64_t n = 0;
    TESS_TRY(TAKE(l, "initial", TESS_F64, initial, &n));
    if (initial && n != d->info.n_state_bin) {
        return wrong_size(l, "initial", n, d->info.n_state_bin);
    }
    if (initial) {
        memcpy(d->initial, initial, (size_t)n * sizeof *initial);
    }
    return TESS_OK;
}

static tess_status load(tess_context *ctx, loader *l)
{
    TESS_TRY(load_settings(l));
    TESS_TRY(load_training(l));
    TESS_TRY(load_environment(l));
    TESS_TRY(load_parameters(l));
    TESS_TRY(tess_de_model_build(ctx, l->model));
    return load_initial(l);
}

tess_status tess_decode_model_load(tess_context *ctx, const char *path, tess_decode_model **out)
{
    tess_error_clear();
    *out = NULL;
    loader l = {0};
    TESS_TRY(tess_bundle_open(ctx, path, &l.bundle));
    tess_status status = tess_de_model_new(ctx, &l.model);
    if (status == TESS_OK) {
        status = load(ctx, &l);
    }
    if (status == TESS_OK) {
        status = tess_bundle_check(&l.bundle);
    }
    tess_bundle_close(&l.bundle);
    if (status != TESS_OK) {
        tess_decode_model_destroy(l.model);
        return status;
    }
    *out = l.model;
    return TESS_OK;
}
