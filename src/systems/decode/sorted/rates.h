// Likelihood of rows from firing rates of sorted units: what KDE and GLM share.
#ifndef TESS_SYSTEMS_DECODE_RATES_H
#define TESS_SYSTEMS_DECODE_RATES_H

#include "systems/decode/decode.h"

extern const tess_de_encoding_ops tess_de_sorted_ops; // place fields
extern const tess_de_encoding_ops tess_de_glm_ops;

// Rates at the bins, at least 1e-15 each.
typedef struct tess_de_rates {
    double *field;     // [n_unit][P]
    double *log_field; // [n_unit][P]
    double *summed;    // [P]
    double *mean;      // [n_unit] spikes per sample, weighted
} tess_de_rates;

// Room for all of it in the encoding's blocks, mean rates filled in, and the info pointing to it.
TESS_MUST_CHECK tess_status tess_de_rates_init(tess_decode_encoding *encoding,
                                               const tess_de_selection *selection,
                                               tess_de_rates *rates);
// Floors the fields and makes logarithms and sum of them.
void tess_de_rates_finish(const tess_decode_encoding *encoding, tess_de_rates *rates);

// Spikes by row, then by unit.
typedef struct tess_de_row_groups {
    int64_t n_row;
    int64_t *first; // [n_row + 1] into unit
    int64_t *unit;  // [n_total]
} tess_de_row_groups;

TESS_MUST_CHECK tess_status tess_de_group_rows(tess_blocks *blocks,
                                               const tess_de_row_spikes *spikes, int64_t n_unit,
                                               tess_de_row_groups *out);

// out[k][p] = -scale summed[p] + sum over spikes of row k of log_field[unit][p].
extern const int32_t tess_de_rates_stages[1];
TESS_MUST_CHECK tess_status tess_de_rates_rows(tess_context *ctx, tess_device *device,
                                               const tess_decode_encoding *encoding,
                                               const tess_de_rates *rates,
                                               const tess_de_row_spikes *spikes, double scale,
                                               tess_array *out);

// Of tess_de_single_ops, for both.
size_t tess_de_rates_scratch_bytes(const tess_decode_encoding *encoding);
void tess_de_rates_spike(const tess_decode_encoding *encoding, const tess_de_rates *rates,
                         int64_t unit, float *out);

#endif
