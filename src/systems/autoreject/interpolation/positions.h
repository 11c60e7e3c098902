// Where sensors are: directions of electrodes, and what is wrong with positions.
#ifndef TESS_AUTOREJECT_POSITIONS_H
#define TESS_AUTOREJECT_POSITIONS_H

#include "runtime/context.h"
#include "tessera/autoreject/interpolation.h"

// Every index is one of a channel. name is the argument's.
TESS_MUST_CHECK tess_status tess_ar_check_channels(const tess_autoreject_sensors *sensors,
                                                   const int64_t *channels, int64_t n,
                                                   const char *name);

// Positions are known: finite, and not more than one of them exactly 0, 0, 0.
TESS_MUST_CHECK tess_status tess_ar_places_are_known(const tess_autoreject_sensors *sensors,
                                                     const int64_t *channels, int64_t n);

// The origin that config asks for; 0, 0, 0 by default.
TESS_MUST_CHECK tess_status tess_ar_origin(const tess_autoreject_sensors *sensors,
                                           const tess_autoreject_interpolation_config *config,
                                           double origin[3]);

// out [n][3]: positions less origin divided by their length; zero stays zero.
void tess_ar_directions(const double *positions, int64_t n, const double origin[3], double *out);

// The same of channels, after the checks above; warns of electrodes on top of each other.
TESS_MUST_CHECK tess_status tess_ar_electrode_directions(
    tess_context *ctx, const tess_autoreject_sensors *sensors, const int64_t *channels, int64_t n,
    const tess_autoreject_interpolation_config *config, double *out);

#endif
