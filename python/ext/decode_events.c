// decode: candidate events, their scores, and p-values from shuffles.
#include "decode.h"

#include <string.h>

enum { N_SCORE = TESS_DECODE_EVENT_N_SCORE };
enum { FIND, SCORE, SHUFFLE };

typedef struct columns_out {
    const core_state *state;
    PyObject *dict;
} columns_out;

static int add_array(const core_state *state, PyObject *dict, const char *name, int32_t dtype,
                     int64_t n, int64_t width, const void *data)
{
    core_array *array = decode_result(state, dtype, width > 0 ? 2 : 1, n, width);
    if (array && n > 0) {
        memcpy(array->view.data, data, (size_t)(n * (width > 0 ? width : 1)) * 8);
    }
    return core_put(dict, name, (PyObject *)array);
}

static int add_column(void *user, const char *name, const double *real, const int64_t *whole,
                      int64_t n)
{
    const columns_out *out = user;
    return add_array(out->state, out->dict, name, real ? TESS_F64 : TESS_I64, n, 0,
                     real ? (const void *)real : whole);
}

static PyObject *kinds_list(const tess_decode_events_info *info)
{
    PyObject *list = PyList_New(0);
    for (int32_t k = 0; list && k < info->n_kind; k++) {
        PyObject *name = core_text(tess_decode_shuffle_name(info->kinds[k]));
        if (!name || PyList_Append(list, name) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(name);
    }
    return list;
}

// Shares as (n, significant, share, low, high) by kind and score.
static int add_shares(const core_state *state, PyObject *dict, const tess_decode_events_info *info)
{
    double rows[TESS_DECODE_N_SHUFFLE * N_SCORE][5];
    for (int32_t k = 0; k < info->n_kind * N_SCORE; k++) {
        const tess_decode_event_share *s = &info->shares[k];
        const double row[5] = {(double)s->n_event, (double)s->n_significant, s->share, s->low,
                               s->high};
        memcpy(rows[k], row, sizeof row);
    }
    return add_array(state, dict, "shares", TESS_F64, info->n_kind * N_SCORE, 5, rows);
}

static int add_rows(const core_state *state, PyObject *dict, const tess_decode_events_info *info)
{
    const int64_t n = info->n_row;
    core_array *counted = decode_result(state, TESS_I64, 1, n, 0);
    if (core_put(dict, "row_is_counted", (PyObject *)counted) < 0 ||
        add_array(state, dict, "posterior", TESS_F64, n, info->n_place, info->posterior) < 0 ||
        add_array(state, dict, "row_event", TESS_I64, n, 0, info->row_event) < 0 ||
        add_array(state, dict, "row_time", TESS_F64, n, 0, info->row_time) < 0) {
        return -1;
    }
    for (int64_t i = 0; i < n; i++) {
        ((int64_t *)counted->view.data)[i] = info->is_counted[i];
    }
    return info->n_state > 0
               ? add_array(state, dict, "state_rows", TESS_F64, n, info->n_state, info->state_rows)
               : 0;
}

static PyObject *events_dict(const core_state *state, core_context *context,
                             const tess_decode_events *events)
{
    const tess_decode_events_info *info = tess_decode_events_get_info(events);
    PyObject *columns = PyDict_New();
    PyObject *dict =
        columns
            ? Py_BuildValue("{s:O,s:s,s:s,s:d,s:d,s:d,s:d,s:d,s:N,s:L,s:d}", "columns", columns,
                            "source", info->source, "problem", info->problem, "begin", info->begin,
                            "end", info->end, "rate_mean", info->rate_mean, "rate_sd",
                            info->rate_sd, "event_bin", info->event_bin, "kinds", kinds_list(info),
                            "n_shuffle", (long long)info->n_shuffle, "elapsed_s", info->elapsed_s)
            : NULL;
    columns_out out = {state, columns};
    int is_good = dict != NULL;
    if (is_good) {
        const tess_status status =
            tess_decode_events_columns(context->handle, events, add_column, &out);
        if (status != TESS_OK && !PyErr_Occurred()) {
            core_raise(state, status, tess_last_error());
        }
        is_good = status == TESS_OK;
    }
    if (is_good && info->posterior) {
        is_good = add_rows(state, dict, info) == 0;
    }
    if (is_good && info->n_kind > 0) {
        is_good = add_shares(state, dict, info) == 0;
    }
    if (is_good && info->statistics) {
        is_good = add_array(state, dict, "statistics", TESS_F64,
                            info->n_kind * info->n_event * info->n_shuffle, N_SCORE,
                            info->statistics) == 0;
    }
    Py_XDECREF(columns);
    if (!is_good) {
        Py_CLEAR(dict);
    }
    return dict;
}

// The bits of a list of names.
static int to_kinds(const core_state *state, PyObject *list, int32_t *bits)
{
    *bits = 0;
    for (Py_ssize_t i = 0; list && PyList_Check(list) && i < PyList_Size(list); i++) {
        const char *text = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), NULL);
        int32_t found = 0;
        for (int32_t kind = 1; text && kind <= TESS_DECODE_N_SHUFFLE; kind++) {
            found = strcmp(text, tess_decode_shuffle_name(kind)) == 0 ? kind : found;
        }
        if (!text) {
            return -1;
        }
        if (found == 0) {
            core_fail(state, TESS_E_ARGUMENT,
                      "kinds: '%s' is none of column, field, time, marks, spikes, units", text);
            return -1;
        }
        *bits |= 1 << found;
    }
    return 0;
}

// Where events come from: nothing, intervals, or a probability by time.
typedef struct event_source {
    tess_decode_intervals intervals;
    int32_t *reason;
    const double *time;
    const double *probability;
    int64_t n_time;
} event_source;

static PyObject *entry(PyObject *dict, const char *name)
{
    PyObject *value = PyDict_GetItemString(dict, name);
    return value == Py_None ? NULL : value;
}

// Whole numbers as reals, of the same length as the intervals.
static int read_whole(const core_state *state, PyObject *value, const char *name, int64_t n,
                      PyObject *keep, const double **out)
{
    int64_t found = 0;
    *out = NULL;
    if (!value) {
        return 0;
    }
    if (core_reals(state, value, name, 1, keep, out, &found) < 0) {
        return -1;
    }
    if (found != n) {
        core_fail(state, TESS_E_SHAPE, "%s has %lld items, start has %lld", name, (long long)found,
                  (long long)n);
        return -1;
    }
    return 0;
}

static int read_intervals(const core_state *state, PyObject *table, PyObject *keep,
                          event_source *source)
{
    tess_decode_intervals *in = &source->intervals;
    const double *end = NULL;
    const double *event = NULL;
    const double *reason = NULL;
    if (core_reals(state, entry(table, "start"), "start", 1, keep, &in->start, &in->n) < 0 ||
        read_whole(state, entry(table, "end"), "end", in->n, keep, &end) < 0 ||
        read_whole(state, entry(table, "event"), "event", in->n, keep, &event) < 0 ||
        read_whole(state, entry(table, "reason"), "reason", in->n, keep, &reason) < 0) {
        return -1;
    }
    in->end = end;
    int64_t *keys = PyMem_Calloc((size_t)(2 * in->n) + 1, sizeof *keys);
    if (!keys) {
        PyErr_NoMemory();
        return -1;
    }
    source->reason = (int32_t *)(keys + in->n);
    for (int64_t i = 0; i < in->n; i++) {
        keys[i] = event ? (int64_t)event[i] : i;
        source->reason[i] = reason ? (int32_t)reason[i] : 0;
    }
    in->event = keys;
    in->reason = reason ? source->reason : NULL;
    return 0;
}

static int read_source(const core_state *state, PyObject *table, PyObject *keep,
                       event_source *source)
{
    tess_decode_intervals_init(&source->intervals, sizeof source->intervals);
    if (!table) {
        return 0;
    }
    if (entry(table, "probability")) {
        return core_reals(state, entry(table, "time"), "time", 1, keep, &source->time,
                          &source->n_time) < 0
                   ? -1
                   : read_whole(state, entry(table, "probability"), "probability", source->n_time,
                                keep, &source->probability);
    }
    return read_intervals(state, table, keep, source);
}

// Where the report goes; path NULL: there is none.
typedef struct event_report {
    PyObject *bytes;
    const char *path;
    int32_t overwrite;
} event_report;

static tess_status compute(tess_context *ctx, const tess_decode_detector *detector,
                           const decode_data *data, const event_source *source,
                           const tess_decode_events_config *config, int64_t steps,
                           tess_decode_events **events)
{
    tess_status status;
    if (source->probability) {
        status = tess_decode_events_of_states(ctx, &data->spikes, &data->position, source->time,
                                              source->probability, source->n_time, config, events);
    } else if (source->intervals.start) {
        status = tess_decode_events_of_intervals(ctx, &data->spikes, &data->position,
                                                 &source->intervals, config, events);
    } else {
        status = tess_decode_events_find(ctx, &data->spikes, &data->position, config, events);
    }
    if (status == TESS_OK && steps >= SCORE) {
        status = tess_decode_events_score(ctx, *events, detector, &data->spikes, &data->position,
                                          config);
    }
    if (status == TESS_OK && steps >= SHUFFLE) {
        status = tess_decode_events_shuffle(ctx, *events, detector, &data->spikes, &data->position,
                                            config);
    }
    return status;
}

enum {
    CONTEXT,
    DATA,
    OPTIONS,
    MODEL_BIN,
    KEEP,
    STEPS,
    DETECTOR,
    TABLE,
    KINDS,
    PROGRESS,
    REPORT,
    OVERWRITE,
    DESIGN,
    N_ARG
};

// Covariates at data's times.
static int read_design(const core_state *state, const tess_decode_detector *detector,
                       PyObject *value, const decode_data *data, tess_decode_events_config *config)
{
    if (!detector) {
        return 0;
    }
    config->n_covariate_time = data->n_time;
    config->covariate_time = data->time;
    return decode_design(state, value, data->n_time,
                         tess_decode_detector_get_info(detector)->n_coefficient, data->keep,
                         &config->design);
}

static PyObject *run(const core_state *state, core_context *context,
                     const tess_decode_detector *detector, PyObject *const *values,
                     decode_data *data, event_source *source, event_report *report)
{
    tess_decode_events_config config;
    int64_t steps = 0;
    tess_decode_events_config_init(&config, sizeof config);
    if (decode_data_init(state, values[DATA], data) < 0 ||
        read_source(state, values[TABLE], data->keep, source) < 0 ||
        core_to_config(state, values[OPTIONS], tess_decode_events_params(), &config) < 0 ||
        to_kinds(state, values[KINDS], &config.shuffles) < 0 ||
        core_to_real(values[MODEL_BIN], &config.model_bin) < 0 ||
        core_to_flag(values[KEEP], &config.keep_statistics) < 0 ||
        core_to_int(state, values[STEPS], "steps", FIND, SHUFFLE, &steps) < 0 ||
        core_to_path(values[REPORT], &report->bytes, &report->path) < 0 ||
        (values[OVERWRITE] && core_to_flag(values[OVERWRITE], &report->overwrite) < 0) ||
        read_design(state, detector, values[DESIGN], data, &config) < 0) {
        return NULL;
    }
    tess_decode_events *events = NULL;
    PyObject *result = NULL;
    core_call call;
    if (core_call_begin(&call, state, context, values[PROGRESS]) == 0) {
        tess_status status =
            compute(context->handle, detector, data, source, &config, steps, &events);
        if (status == TESS_OK && report->path && core_is_first(context)) {
            status = tess_decode_events_report(context->handle, events, &data->spikes, report->path,
                                               report->overwrite);
        }
        if (core_call_end(&call, status) == 0) {
            result = events_dict(state, context, events);
        }
    }
    tess_decode_events_destroy(events);
    return result;
}

static PyObject *decode_events(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                               PyObject *keywords)
{
    static const char *const names[] = {
        "context", "data",  "options",  "model_bin", "keep_statistics", "steps", "detector",
        "table",   "kinds", "progress", "report",    "overwrite",       "design"};
    static const core_signature signature = {"decode_events", names, N_ARG, 6, 6};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[N_ARG];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[CONTEXT]);
    const tess_decode_detector *detector =
        context && values[DETECTOR] ? core_handle_get(state, values[DETECTOR], &core_detector_class)
                                    : NULL;
    if (!context || (values[DETECTOR] && !detector)) {
        return NULL;
    }
    decode_data data = {.keep = NULL};
    event_source source = {.reason = NULL};
    event_report report = {.bytes = NULL};
    PyObject *result = run(state, context, detector, values, &data, &source, &report);
    Py_XDECREF(report.bytes);
    PyMem_Free((void *)(uintptr_t)source.intervals.event);
    decode_data_free(&data);
    return result;
}

PyMethodDef core_decode_events_methods[] = {
    {"decode_events", CORE_METHOD(decode_events), METH_FASTCALL | METH_KEYWORDS,
     "Find, score and test events."},
    {NULL, NULL, 0, NULL},
};
