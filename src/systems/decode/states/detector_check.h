// Validation of detectors.
#ifndef TESS_SYSTEMS_DECODE_DETECTOR_CHECK_H
#define TESS_SYSTEMS_DECODE_DETECTOR_CHECK_H

#include "systems/decode/states/detector.h"

// What states refer to by number.
typedef struct tess_de_parts {
    tess_decode_environment *const *environments;
    const tess_decode_encoding *const *encodings;
    int64_t n_environment;
    int64_t n_encoding;
} tess_de_parts;

TESS_MUST_CHECK tess_status tess_de_check_config(const tess_decode_detector_config *config,
                                                 const tess_de_parts *parts);
TESS_MUST_CHECK tess_status tess_de_check_initial(const double *initial, int64_t n_state_bin);

#endif
