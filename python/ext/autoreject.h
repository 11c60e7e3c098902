// What the files of autoreject's bindings share.
#ifndef CORE_AUTOREJECT_H
#define CORE_AUTOREJECT_H

#include "handle.h"

extern const core_handle_class core_epochs_class;
extern const core_handle_class core_model_class;
extern const core_handle_class core_log_class;

// --- autoreject_sensors.c

// Sensors out of a dict with names, types, coil_types, bads, loc, device_to_head, point_kinds,
// points and projectors. Texts and arrays are the dict's.
typedef struct autoreject_sensors {
    PyObject *keep;
    tess_autoreject_channel *channels;
    tess_autoreject_point *points;
    tess_autoreject_projector *projectors;
    int64_t n_projector;
    tess_autoreject_sensors sensors;
} autoreject_sensors;

// autoreject_sensors_free() is due in any case.
int autoreject_sensors_init(const core_state *state, PyObject *dict, autoreject_sensors *out);
void autoreject_sensors_free(autoreject_sensors *sensors);
PyObject *autoreject_sensors_dict(const core_state *state, const tess_autoreject_sensors *sensors);

// A list of text as pointers that live with the list; *out is the caller's to PyMem_Free().
int autoreject_texts(PyObject *list, const char *name, const char ***out, int64_t *n);
PyObject *autoreject_text_list(const char *const *texts, int64_t n);

// Borrowed; NULL for absent and None.
PyObject *autoreject_entry(PyObject *dict, const char *name);

// autoreject_file.c. Absent: the default of the file's kind; (): none; (start, end): an interval,
// None for its ends.
int autoreject_baseline(PyObject *value, tess_autoreject_epochs_config *config);

// Three coordinates or nothing.
int autoreject_origin(const core_state *state, PyObject *value, PyObject *keep,
                      const double **origin);
// Channel indices, int64.
int autoreject_indices(const core_state *state, PyObject *value, const char *name, PyObject *keep,
                       const int64_t **out, int64_t *n);
// Folds [n_fold][n_epoch], uint8, of epochs whose number is given.
int autoreject_folds(const core_state *state, PyObject *value, int64_t n_epoch, PyObject *keep,
                     const uint8_t **out, int64_t *n_fold);

#endif
