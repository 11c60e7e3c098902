// What the library and the machine are: versions and devices.

#include "core.h"

enum { MAX_DEVICE = 64 };

static PyObject *sysinfo_json(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                              PyObject *keywords)
{
    static const char *const names[] = {"context", "paths"};
    static const core_signature signature = {"sysinfo_json", names, 2, 1, 1};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[2];
    int32_t with_paths = 0;
    if (core_parse(&signature, args, n_arg, keywords, values) < 0 ||
        core_to_flag(values[1], &with_paths) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    core_call call;
    if (!context || core_call_begin(&call, state, context, NULL) < 0) {
        return NULL;
    }
    char *text = NULL;
    const tess_status status = tess_sysinfo_json(context->handle, with_paths, &text);
    PyObject *result = core_call_end(&call, status) < 0 ? NULL : core_text(text);
    tess_text_free(text);
    return result;
}

static PyObject *describe_device(const tess_device_info *info)
{
    return Py_BuildValue("{sNsNsNsNsKsKsi}", "id", core_text(info->id), "backend",
                         core_text(info->backend), "name", core_text(info->name), "detail",
                         core_text(info->detail), "memory_bytes",
                         (unsigned long long)info->memory_bytes, "memory_free_bytes",
                         (unsigned long long)info->memory_free_bytes, "score", (int)info->score);
}

static PyObject *devices(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                         PyObject *keywords)
{
    static const char *const names[] = {"context"};
    static const core_signature signature = {"devices", names, 1, 1, 1};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[1];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    tess_device_info *infos = PyMem_Malloc(MAX_DEVICE * sizeof *infos);
    core_call call;
    PyObject *list = NULL;
    int64_t n_device = 0;
    if (!infos) {
        PyErr_NoMemory();
    } else if (context && core_call_begin(&call, state, context, NULL) == 0) {
        const tess_status status = tess_device_list(context->handle, infos, MAX_DEVICE, &n_device);
        list = core_call_end(&call, status) < 0 ? NULL : PyList_New(0);
    }
    for (int64_t i = 0; list && i < n_device && i < MAX_DEVICE; i++) {
        PyObject *entry = describe_device(&infos[i]);
        if (!entry || PyList_Append(list, entry) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(entry);
    }
    PyMem_Free(infos);
    return list;
}

static PyObject *device_benchmark(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                                  PyObject *keywords)
{
    static const char *const names[] = {"context", "device"};
    static const core_signature signature = {"device_benchmark", names, 2, 2, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[2];
    const char *id = NULL;
    if (core_parse(&signature, args, n_arg, keywords, values) < 0 ||
        core_to_text(values[1], "device", &id) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    core_call call;
    if (!context || core_call_begin(&call, state, context, NULL) < 0) {
        return NULL;
    }
    tess_device_ceilings c;
    const tess_status status = tess_device_benchmark(context->handle, id, &c, sizeof c);
    if (core_call_end(&call, status) < 0) {
        return NULL;
    }
    return Py_BuildValue("{sisdsdsdsdsdsd}", "threads", (int)c.n_thread, "read_bytes_per_s",
                         c.read_bytes_per_s, "copy_bytes_per_s", c.copy_bytes_per_s,
                         "upload_bytes_per_s", c.upload_bytes_per_s, "download_bytes_per_s",
                         c.download_bytes_per_s, "flop_f32_per_s", c.flop_f32_per_s,
                         "flop_f64_per_s", c.flop_f64_per_s);
}

static PyObject *version(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyUnicode_FromString(tess_version());
}

static PyObject *build_commit(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyUnicode_FromString(tess_build_commit());
}

static PyObject *statuses(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *all = PyDict_New();
#define PUT_STATUS(name, value, exit_code, text)                                                   \
    if (all && core_put(all, #name, PyLong_FromLong(exit_code)) < 0) {                             \
        Py_CLEAR(all);                                                                             \
    }
    TESS_STATUS_LIST(PUT_STATUS)
#undef PUT_STATUS
    return all;
}

PyMethodDef core_system_methods[] = {
    {"version", version, METH_NOARGS, "Version of the library."},
    {"build_commit", build_commit, METH_NOARGS, "Commit the library was built from."},
    {"statuses", statuses, METH_NOARGS, "Exit code of every status by name."},
    {"param_tables", core_param_tables, METH_NOARGS, "Every parameter table, by name."},
    {"sysinfo_json", CORE_METHOD(sysinfo_json), METH_FASTCALL | METH_KEYWORDS,
     "What a bug report needs, as JSON."},
    {"devices", CORE_METHOD(devices), METH_FASTCALL | METH_KEYWORDS, "Devices that were found."},
    {"device_benchmark", CORE_METHOD(device_benchmark), METH_FASTCALL | METH_KEYWORDS,
     "Measured ceilings of a device."},
    {"read_file", CORE_METHOD(core_read_file), METH_FASTCALL | METH_KEYWORDS,
     "A data set of a file as a new Array."},
    {"list_file", CORE_METHOD(core_list_file), METH_FASTCALL | METH_KEYWORDS,
     "Format, data sets and provenance of a file."},
    {NULL, NULL, 0, NULL},
};
