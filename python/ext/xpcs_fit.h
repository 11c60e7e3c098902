// The arguments of a fit, which several calls take.
#ifndef CORE_XPCS_FIT_H
#define CORE_XPCS_FIT_H

#include "xpcs.h"

enum {
    FIT_CONTEXT,
    FIT_DATA,
    FIT_MODEL,
    FIT_OPTIONS,
    FIT_SETTINGS,
    FIT_START,
    FIT_LOWER,
    FIT_UPPER,
    FIT_FIXED,
    FIT_X_SCALE,
    FIT_CONTRAST,
    FIT_OFFSET,
    FIT_SCALING_LOWER,
    FIT_SCALING_UPPER,
    FIT_CHECKPOINT,
    FIT_CHECKPOINT_EVERY,
    FIT_KEEP_CHECKPOINTS,
    FIT_RESUME,
    FIT_PROGRESS,
    FIT_COUNT
};

#define XPCS_FIT_NAMES                                                                             \
    "context", "data", "model", "options", "settings", "start", "lower", "upper", "fixed",         \
        "x_scale", "contrast", "offset", "scaling_lower", "scaling_upper", "checkpoint",           \
        "checkpoint_every", "keep_checkpoints", "resume", "progress"

typedef struct xpcs_fit_request {
    core_context *context;
    tess_xpcs_data *data;
    PyObject *keep;
    PyObject *path;
    tess_xpcs_model model;
    tess_xpcs_fit_config config;
    int64_t n_param;
    int64_t n_angle;
} xpcs_fit_request;

// values [FIT_COUNT] or more. xpcs_free_request() is due in any case.
int xpcs_read_request(const core_state *state, PyObject *const *values, xpcs_fit_request *request);
void xpcs_free_request(xpcs_fit_request *request);

#endif
