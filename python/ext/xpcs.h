// What the files of xpcs's bindings share.
#ifndef CORE_XPCS_H
#define CORE_XPCS_H

#include "handle.h"

extern const core_handle_class core_xpcs_data_class;
extern const core_handle_class core_xpcs_result_class;
extern const core_handle_class core_xpcs_settings_class;

// float64 vectors with a known number of entries; absent leaves *out NULL.
int xpcs_vector(const core_state *state, PyObject *value, const char *name, int64_t n,
                PyObject *keep, const double **out);
// int64 vectors of any length.
int xpcs_indices(const core_state *state, PyObject *value, const char *name, PyObject *keep,
                 const int64_t **out, int64_t *n);
// A new float64 array; one axis if columns is negative.
core_array *xpcs_reals(const core_state *state, int64_t rows, int64_t columns);
// int32 of the library as a read-only view.
PyObject *xpcs_show_int32(const core_state *state, PyObject *owner, const int32_t *data, int64_t n);

// The options of table "xpcs.model" over its defaults.
int xpcs_read_model(const core_state *state, PyObject *options, tess_xpcs_model *model);
// The same as what Python gives; a new dict.
PyObject *xpcs_model_dict(const tess_xpcs_model *model);
int64_t xpcs_n_param(const tess_xpcs_model *model);

// --- xpcs_settings.c

// NULL without an exception for None and absent.
const tess_xpcs_settings_info *xpcs_settings_info(const core_state *state, PyObject *value);

#endif
