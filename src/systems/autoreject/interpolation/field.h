// MEG channels that are predicted from each other by minimum-norm field mapping.
#ifndef TESS_AUTOREJECT_FIELD_H
#define TESS_AUTOREJECT_FIELD_H

#include "runtime/context.h"
#include "stage/autoreject_interpolation.h"
#include "tessera/autoreject/interpolation.h"

typedef struct tess_ar_field {
    tess_context *ctx;
    tess_device *device;
    int64_t n;
    double *dots;  // [n][n] dot products of lead fields
    double *scale; // [n] 1 / standard deviation of the noise
    int64_t n_vector;
    double *vectors; // [n_vector][n] of the recording's projectors, as stored
} tess_ar_field;

// channels[n] are mag and grad. destroy() also after a failure.
TESS_MUST_CHECK tess_status tess_ar_field_create(tess_context *ctx, tess_device *device,
                                                 const tess_autoreject_sensors *sensors,
                                                 const int64_t *channels, int64_t n,
                                                 const tess_autoreject_interpolation_config *config,
                                                 tess_ar_field *field);
void tess_ar_field_destroy(tess_ar_field *field);

// The dot products alone, dots [n][n].
TESS_MUST_CHECK tess_status tess_ar_field_dots(tess_context *ctx, tess_device *device,
                                               const tess_autoreject_sensors *sensors,
                                               const int64_t *channels, int64_t n,
                                               const tess_autoreject_interpolation_config *config,
                                               double *dots);

// Fills w of every map (from, to, n_from, n_to are given). Any thread, then on that thread alone.
TESS_MUST_CHECK tess_status tess_ar_field_map(const tess_ar_field *field, tess_ar_map *maps,
                                              int64_t n_map);

#endif
