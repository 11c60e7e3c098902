// decode: bandwidths by the likelihood of held-out spikes.
#include "decode.h"

#include <tessera/decode.h>

static PyObject *candidate_dict(const tess_decode_tune_candidate *c)
{
    return Py_BuildValue("{s:i,s:O,s:d,s:d,s:d,s:d,s:d}", "sweep", (int)c->sweep, "is_position",
                         c->is_position ? Py_True : Py_False, "position_std", c->position_std,
                         "waveform_std", c->waveform_std, "score", c->score, "below_best",
                         c->below_best, "standard_error", c->standard_error);
}

static PyObject *tuning_dict(const tess_decode_tuning_info *info)
{
    PyObject *list = PyList_New((Py_ssize_t)info->n_candidate);
    for (int64_t i = 0; list && i < info->n_candidate; i++) {
        PyObject *item = candidate_dict(&info->candidates[i]);
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0) {
            Py_CLEAR(list);
        }
    }
    return list ? Py_BuildValue(
                      "{s:O,s:d,s:d,s:d,s:d,s:d,s:d,s:L,s:L,s:L,s:L,s:O,s:O,s:d,s:N}",
                      "has_waveform", info->has_waveform ? Py_True : Py_False, "position_std",
                      info->position_std, "waveform_std", info->waveform_std, "score", info->score,
                      "start_position_std", info->start_position_std, "start_waveform_std",
                      info->start_waveform_std, "start_score", info->start_score, "n_fold",
                      (long long)info->n_fold, "n_sample", (long long)info->n_sample, "n_spike",
                      (long long)info->n_spike, "n_held", (long long)info->n_held,
                      "position_at_end", info->position_at_end ? Py_True : Py_False,
                      "waveform_at_end", info->waveform_at_end ? Py_True : Py_False, "elapsed_s",
                      info->elapsed_s, "candidates", list)
                : NULL;
}

enum { CONTEXT, RECORDING, ENCODING, TUNE, REPORT, OVERWRITE, PROGRESS, N_ARG };

static PyObject *tune(PyObject *module, PyObject *const *args, Py_ssize_t n_arg, PyObject *keywords)
{
    static const char *const names[] = {"context", "recording", "encoding", "tune",
                                        "report",  "overwrite", "progress"};
    static const core_signature signature = {"decode_tune", names, N_ARG, N_ARG, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[N_ARG];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[CONTEXT]);
    const tess_decode_recording *recording =
        context ? core_handle_get(state, values[RECORDING], &core_recording_class) : NULL;
    tess_decode_model_config config;
    tess_decode_tune_config tune_config;
    PyObject *path_bytes = NULL;
    const char *path = NULL;
    int32_t overwrite = 0;
    tess_decode_model_config_init(&config, sizeof config);
    tess_decode_tune_config_init(&tune_config, sizeof tune_config);
    if (!recording ||
        core_to_config(state, values[ENCODING], tess_decode_encoding_params(), &config.encoding) <
            0 ||
        core_to_config(state, values[TUNE], tess_decode_tune_params(), &tune_config) < 0 ||
        (values[REPORT] && core_to_path(values[REPORT], &path_bytes, &path) < 0) ||
        (values[OVERWRITE] && core_to_flag(values[OVERWRITE], &overwrite) < 0)) {
        Py_XDECREF(path_bytes);
        return NULL;
    }
    tess_decode_tuning *tuning = NULL;
    PyObject *result = NULL;
    core_call call;
    if (core_call_begin(&call, state, context, values[PROGRESS]) == 0) {
        tess_status status =
            tess_decode_tune(context->handle, recording, &config, &tune_config, &tuning);
        if (status == TESS_OK && path) {
            status = tess_decode_tuning_report(context->handle, tuning, path, overwrite);
        }
        if (core_call_end(&call, status) == 0) {
            result = tuning_dict(tess_decode_tuning_get_info(tuning));
        }
    }
    tess_decode_tuning_destroy(tuning);
    Py_XDECREF(path_bytes);
    return result;
}

PyMethodDef core_decode_tune_methods[] = {
    {"decode_tune", CORE_METHOD(tune), METH_FASTCALL | METH_KEYWORDS,
     "Choose bandwidths by the likelihood of held-out spikes."},
    {NULL, NULL, 0, NULL},
};
