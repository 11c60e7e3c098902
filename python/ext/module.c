// The module tessera._core.

#include "handle.h"

static PyTypeObject *add_type(PyObject *module, PyType_Spec *spec)
{
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    if (type && PyModule_AddType(module, type) < 0) {
        Py_CLEAR(type);
    }
    return type;
}

static PyMethodDef *const methods[] = {
    core_system_methods,
    core_array_pool_methods,
    core_autoreject_methods,
    core_autoreject_epochs_methods,
    core_autoreject_file_methods,
    core_autoreject_fit_methods,
    core_autoreject_interpolation_methods,
    core_autoreject_log_methods,
    core_autoreject_model_methods,
    core_autoreject_global_methods,
    core_autoreject_report_methods,
    core_autoreject_study_methods,
    core_clifford_algebra_methods,
    core_clifford_check_methods,
    core_clifford_ffi_methods,
    core_clifford_graph_methods,
    core_clifford_input_methods,
    core_clifford_native_methods,
    core_clifford_op_methods,
    core_decode_environment_methods,
    core_decode_encoding_methods,
    core_decode_fitted_methods,
    core_decode_movement_methods,
    core_decode_detector_methods,
    core_decode_predict_methods,
    core_decode_recording_methods,
    core_decode_stream_methods,
    core_decode_events_methods,
    core_decode_tune_methods,
    core_decode_online_methods,
    core_xpcs_model_methods,
    core_xpcs_data_methods,
    core_xpcs_simulate_methods,
    core_xpcs_compare_methods,
    core_document_methods,
    core_xpcs_settings_methods,
    core_xpcs_fit_methods,
    core_xpcs_joint_methods,
    core_xpcs_rates_methods,
    core_xpcs_result_methods,
    core_xpcs_posterior_methods,
    core_xpcs_summary_methods,
};

static int module_exec(PyObject *module)
{
    core_state *state = PyModule_GetState(module);
    state->array_type = add_type(module, &core_array_spec);
    state->context_type = state->array_type ? add_type(module, &core_context_spec) : NULL;
    state->progress_type =
        state->context_type ? PyStructSequence_NewType(&core_progress_desc) : NULL;
    state->handle_type = state->progress_type ? add_type(module, &core_handle_spec) : NULL;
    state->clifford_op_type = state->handle_type ? add_type(module, &core_clifford_op_spec) : NULL;
    if (!state->clifford_op_type || PyModule_AddType(module, state->progress_type) < 0) {
        return -1;
    }
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (PyModule_AddFunctions(module, methods[i]) < 0) {
            return -1;
        }
    }
    return core_errors_create(state, module);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    core_state *state = PyModule_GetState(module);
    Py_VISIT(state->array_type);
    Py_VISIT(state->context_type);
    Py_VISIT(state->progress_type);
    Py_VISIT(state->handle_type);
    Py_VISIT(state->clifford_op_type);
    for (int i = 0; i < CORE_MAX_EXCHANGE; i++) {
        Py_VISIT(state->exchanges[i].type);
    }
    return core_errors_visit(state, visit, arg);
}

static int module_clear(PyObject *module)
{
    core_state *state = PyModule_GetState(module);
    Py_CLEAR(state->array_type);
    Py_CLEAR(state->context_type);
    Py_CLEAR(state->progress_type);
    Py_CLEAR(state->handle_type);
    Py_CLEAR(state->clifford_op_type);
    for (int i = 0; i < CORE_MAX_EXCHANGE; i++) {
        Py_CLEAR(state->exchanges[i].type);
    }
    core_errors_clear(state);
    return 0;
}

static void module_free(void *module)
{
    module_clear(module);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, CORE_SLOT(module_exec)},
    {0, NULL},
};

static PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "tessera._core",
    .m_doc = "Tessera's C library for Python; use the package tessera instead.",
    .m_size = sizeof(core_state),
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__core(void); // -Wmissing-prototypes: Python's headers do not declare it

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&module_def);
}
