// A whole model from a golden file: environment, encoding and detector, as tests of predictions
// need it.
#ifndef TESS_TESTS_DECODE_MODEL_H
#define TESS_TESTS_DECODE_MODEL_H

#include "tessera/decode.h"
#include "unit_golden.h"

enum { GOLDEN_ELECTRODES = 4 };

typedef struct golden_model {
    const char *file;
    tess_decode_training training;
    tess_decode_observation observation;
    int64_t n_spike[GOLDEN_ELECTRODES];
    int64_t n_feature[GOLDEN_ELECTRODES];
    double *times[GOLDEN_ELECTRODES];
    double *marks[GOLDEN_ELECTRODES];
    double *position_time;
    double *position;
    uint8_t *is_training;
    double *time;
    tess_decode_environment *env;
    tess_decode_encoding *encoding;
    tess_decode_detector *detector;
} golden_model;

// Data, environment and encoding; then a detector with the defaults of a ready-made model, its
// scalars from detector (NULL: defaults).
void golden_model_open(golden_model *m, tess_context *ctx, const char *file, int mode);
void golden_model_detector(golden_model *m, tess_context *ctx, tess_decode_model_kind kind,
                           const tess_decode_detector_config *scalars);
void golden_model_close(golden_model *m);

#endif
