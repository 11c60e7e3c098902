// A density over places, as fast as its table allows and as exact as its samples.
#ifndef TESS_SYSTEMS_DECODE_FIELD_H
#define TESS_SYSTEMS_DECODE_FIELD_H

#include "systems/decode/density/nearby.h"
#include "systems/decode/density/table.h"

// A density over places: from the table where it knows, else pair by pair.
typedef struct tess_de_field {
    int64_t n_dim;
    double factor; // the density is multiplied by it
    tess_de_table table;
    tess_de_nearby nearby;
} tess_de_field;

// Builds both, and checks the one against the other at some places.
TESS_MUST_CHECK tess_status tess_de_field_build(tess_context *ctx, tess_blocks *blocks,
                                                const tess_de_table_samples *samples, bool exact,
                                                tess_de_field *out);

// log of factor * density at places [n][n_dim]; -inf below 1e-30, NaN at NaN. Any split of the
// places gives the same bits.
TESS_MUST_CHECK tess_status tess_de_field_log(tess_context *ctx, const tess_de_field *field,
                                              const double *places, int64_t n, double *out);

#endif
