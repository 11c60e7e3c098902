// What the files of decode's bindings share.
#ifndef CORE_DECODE_H
#define CORE_DECODE_H

#include "handle.h"

extern const core_handle_class core_environment_class;
extern const core_handle_class core_encoding_class;
extern const core_handle_class core_detector_class;
extern const core_handle_class core_recording_class;
extern const core_handle_class core_online_class;

// --- decode_input.c

// A mask of n bytes whose length is compared with that of against.
int decode_mask(const core_state *state, PyObject *value, const char *name, const char *against,
                int64_t n, PyObject *keep, const uint8_t **data);

// Spikes, positions and what goes with them, all in memory of Python's.
typedef struct decode_data {
    PyObject *keep;
    int64_t *counts;
    const void **pointers;
    tess_decode_spikes spikes;
    tess_decode_position position;
    const double *time;
    int64_t n_time;
    const uint8_t *is_training;
    const uint8_t *is_missing;
    const double *weights;
} decode_data;

// From a dict with any of spike_times, marks, position_time, position, time, is_training,
// is_missing, weights. decode_data_free() is due in any case.
int decode_data_init(const core_state *state, PyObject *dict, decode_data *data);
void decode_data_free(decode_data *data);
void decode_training_of(const decode_data *data, tess_decode_training *training);
void decode_observation_of(const decode_data *data, tess_decode_observation *observation);

// --- decode_results.c

// A new f32, f64 or i64 array.
core_array *decode_result(const core_state *state, int32_t dtype, int32_t rank, int64_t rows,
                          int64_t columns);
// "float32" or "float64" (also absent) to a tess_dtype.
int decode_dtype(const core_state *state, PyObject *value, int32_t *dtype);
PyObject *decode_report_dict(const tess_decode_likelihood_report *report);

// --- decode_movement.c

// From (kind, use_manifold, direction, variance or None, mean or None, matrix or None).
int decode_movement_of(const core_state *state, PyObject *value, PyObject *keep,
                       tess_decode_movement *movement);

// --- decode_predict.c

int decode_design(const core_state *state, PyObject *value, int64_t n_time, int64_t n_coefficient,
                  PyObject *keep, const double **design);

#endif
