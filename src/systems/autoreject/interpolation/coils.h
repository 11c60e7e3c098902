// Integration points of MEG coils.
#ifndef TESS_AUTOREJECT_COILS_H
#define TESS_AUTOREJECT_COILS_H

#include "tessera/autoreject/epochs.h"

enum { TESS_AR_COIL_POINTS = 16 };

// Points in head coordinates, metres; a coil's field is the sum of weight times the component along
// normal.
typedef struct tess_ar_coil {
    int64_t n;
    double normal[3];
    double place[TESS_AR_COIL_POINTS][3];
    double weight[TESS_AR_COIL_POINTS];
} tess_ar_coil;

// TESS_E_UNSUPPORTED with channel and number for a coil that is not in the table, TESS_E_FORMAT for
// a place or direction that is none.
TESS_MUST_CHECK tess_status tess_ar_coil_place(const tess_autoreject_sensors *sensors,
                                               const tess_autoreject_channel *channel,
                                               tess_ar_coil *coil);

#endif
