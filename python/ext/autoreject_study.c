// autoreject for Python: whole studies.

#include "autoreject.h"

static void destroy(void *object)
{
    tess_autoreject_study_close(object);
}

static const core_handle_class study_class = {"autoreject study", destroy};

enum {
    STUDY_CONTEXT,
    STUDY_BIDS_DIR,
    STUDY_OUTPUT,
    STUDY_OPTIONS,
    STUDY_TEXTS,
    STUDY_BASELINE,
    STUDY_CONSENSUS,
    STUDY_N_INTERPOLATE,
    STUDY_CHECKPOINT,
    STUDY_CHECKPOINT_EVERY,
    STUDY_OVERWRITE,
    STUDY_RESUME,
    STUDY_PROGRESS,
    STUDY_COUNT
};

// Everything a study is told, with what its pointers live in.
typedef struct request {
    PyObject *keep;
    PyObject *bids_bytes;
    PyObject *output_bytes;
    PyObject *checkpoint_bytes;
    const char *bids_dir;
    const char *output;
    tess_autoreject_study_config study;
    tess_autoreject_epochs_config epochs;
    tess_autoreject_fit_config fit;
    tess_autoreject_transform_config transform;
    tess_autoreject_report_config report;
} request;

static void free_request(request *r)
{
    Py_XDECREF(r->keep);
    Py_XDECREF(r->bids_bytes);
    Py_XDECREF(r->output_bytes);
    Py_XDECREF(r->checkpoint_bytes);
}

// A dict of dicts, by the names of the tables.
static int read_tables(const core_state *state, PyObject *options, request *r)
{
    const struct {
        const char *name;
        const tess_param_table *table;
        void *config;
    } parts[] = {{"study", tess_autoreject_study_params(), &r->study},
                 {"epochs", tess_autoreject_epochs_params(), &r->epochs},
                 {"fit", tess_autoreject_fit_params(), &r->fit},
                 {"transform", tess_autoreject_transform_params(), &r->transform},
                 {"report", tess_autoreject_report_params(), &r->report}};
    tess_autoreject_study_config_init(&r->study, sizeof r->study);
    tess_autoreject_epochs_config_init(&r->epochs, sizeof r->epochs);
    tess_autoreject_fit_config_init(&r->fit, sizeof r->fit);
    tess_autoreject_transform_config_init(&r->transform, sizeof r->transform);
    tess_autoreject_report_config_init(&r->report, sizeof r->report);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        PyObject *dict = options ? autoreject_entry(options, parts[i].name) : NULL;
        if (core_to_config(state, dict, parts[i].table, parts[i].config) < 0) {
            return -1;
        }
    }
    return 0;
}

static int read_texts(PyObject *texts, request *r)
{
    const struct {
        const char *name;
        const char **out;
    } fields[] = {{"subjects", &r->study.subjects}, {"sessions", &r->study.sessions},
                  {"task", &r->study.tasks},        {"acquisition", &r->study.acquisitions},
                  {"run", &r->study.runs},          {"datatype", &r->study.datatypes},
                  {"picks", &r->study.picks},       {"event", &r->epochs.event},
                  {"stim", &r->epochs.stim},        {"montage", &r->epochs.montage},
                  {"types", &r->epochs.types},      {"bads", &r->epochs.bads}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        PyObject *value = texts ? autoreject_entry(texts, fields[i].name) : NULL;
        if (core_to_text(value, fields[i].name, fields[i].out) < 0) {
            return -1;
        }
    }
    return 0;
}

static int read_request(const core_state *state, PyObject *const *values, request *r)
{
    if (read_tables(state, values[STUDY_OPTIONS], r) < 0 ||
        read_texts(values[STUDY_TEXTS], r) < 0 ||
        core_to_path(values[STUDY_BIDS_DIR], &r->bids_bytes, &r->bids_dir) < 0 ||
        core_to_path(values[STUDY_OUTPUT], &r->output_bytes, &r->output) < 0 ||
        autoreject_baseline(values[STUDY_BASELINE], &r->epochs) < 0 ||
        core_reals(state, values[STUDY_CONSENSUS], "consensus", 1, r->keep, &r->fit.consensus,
                   &r->fit.n_consensus) < 0 ||
        autoreject_indices(state, values[STUDY_N_INTERPOLATE], "n_interpolate", r->keep,
                           &r->fit.n_interpolate, &r->fit.n_n_interpolate) < 0 ||
        core_to_path(values[STUDY_CHECKPOINT], &r->checkpoint_bytes, &r->fit.checkpoint_dir) < 0 ||
        core_to_real(values[STUDY_CHECKPOINT_EVERY], &r->fit.checkpoint_every_s) < 0 ||
        core_to_flag(values[STUDY_OVERWRITE], &r->study.overwrite) < 0 ||
        core_to_flag(values[STUDY_RESUME], &r->study.resume) < 0) {
        return -1;
    }
    r->study.epochs = &r->epochs;
    r->study.fit = &r->fit;
    r->study.transform = &r->transform;
    r->study.report = &r->report;
    return 0;
}

static PyObject *study_open(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                            PyObject *keywords)
{
    static const char *const names[] = {
        "context",   "bids_dir",  "output",        "options",    "texts",
        "baseline",  "consensus", "n_interpolate", "checkpoint", "checkpoint_every",
        "overwrite", "resume",    "progress"};
    static const core_signature signature = {"autoreject_study_open", names, STUDY_COUNT, 3, 3};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[STUDY_COUNT];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[STUDY_CONTEXT]);
    request r = {.keep = context ? PyList_New(0) : NULL};
    core_handle *handle = NULL;
    core_call call;
    if (r.keep && read_request(state, values, &r) == 0) {
        handle = core_handle_create(state, context, &study_class, NULL);
    }
    if (core_handle_begin(&handle, &call, state, values[STUDY_PROGRESS]) == 0) {
        tess_autoreject_study *made = NULL;
        const tess_status status =
            tess_autoreject_study_open(context->handle, r.bids_dir, r.output, &r.study, &made);
        core_handle_end(&handle, &call, made, status);
    }
    free_request(&r);
    return (PyObject *)handle;
}

static PyObject *study_run(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                           PyObject *keywords)
{
    static const char *const names[] = {"context", "study", "progress"};
    static const core_signature signature = {"autoreject_study_run", names, 3, 2, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[3];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    tess_autoreject_study *study = context ? core_handle_get(state, values[1], &study_class) : NULL;
    core_call call;
    if (!study || core_call_begin(&call, state, context, values[2]) < 0) {
        return NULL;
    }
    const tess_status status = tess_autoreject_study_run(study);
    return core_call_end(&call, status) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *recording_dict(const tess_autoreject_study_recording *r)
{
    static const char *const states[] = {"to do", "done", "done already", "failed"};
    PyObject *dict = Py_BuildValue(
        "{sssLsLsLsKsLsdsdsd}", "state", states[r->state & 3], "n_epochs", (long long)r->n_epoch,
        "n_channels", (long long)r->n_chan, "n_times", (long long)r->n_time, "memory_bytes",
        (unsigned long long)r->memory_bytes, "n_kept", (long long)r->n_kept, "bad_epochs",
        r->bad_epochs, "bad_channels", r->bad_channels, "repaired_channels", r->repaired);
    const struct {
        const char *key;
        const char *text;
    } texts[] = {{"name", r->name},       {"path", r->path},
                 {"subject", r->subject}, {"session", r->session},
                 {"task", r->task},       {"acquisition", r->acquisition},
                 {"run", r->run},         {"datatype", r->datatype},
                 {"folder", r->folder},   {"message", r->message}};
    for (size_t i = 0; dict && i < sizeof texts / sizeof *texts; i++) {
        if (core_put(dict, texts[i].key, core_text(texts[i].text)) < 0) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

static PyObject *study_info(PyObject *module, PyObject *handle)
{
    const core_state *state = PyModule_GetState(module);
    const tess_autoreject_study *study = core_handle_get(state, handle, &study_class);
    if (!study) {
        return NULL;
    }
    const tess_autoreject_study_info *info = tess_autoreject_study_get_info(study);
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list && i < info->n_recording; i++) {
        PyObject *entry = recording_dict(&info->recordings[i]);
        if (!entry || PyList_Append(list, entry) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(entry);
    }
    PyObject *dict = list ? Py_BuildValue("{sLsisKsK}", "at_a_time", (long long)info->n_at_a_time,
                                          "threads_each", (int)info->threads_each, "memory_bytes",
                                          (unsigned long long)info->memory_bytes, "limit_bytes",
                                          (unsigned long long)info->limit_bytes)
                          : NULL;
    if (dict &&
        (core_put(dict, "recordings", Py_NewRef(list)) < 0 ||
         core_put(dict, "outliers", autoreject_text_list(info->outliers, info->n_outlier)) < 0 ||
         core_put(dict, "notes", core_text(info->notes)) < 0)) {
        Py_CLEAR(dict);
    }
    Py_XDECREF(list);
    return dict;
}

PyMethodDef core_autoreject_study_methods[] = {
    {"autoreject_study_open", CORE_METHOD(study_open), METH_FASTCALL | METH_KEYWORDS,
     "Find the recordings of a BIDS tree and plan; returns a Handle."},
    {"autoreject_study_run", CORE_METHOD(study_run), METH_FASTCALL | METH_KEYWORDS,
     "Fit and repair every recording of a study."},
    {"autoreject_study_info", study_info, METH_O, "What is known of a study's recordings."},
    {NULL, NULL, 0, NULL},
};
