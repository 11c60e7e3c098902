// What can be wrong with spikes, positions, times and bandwidths.
#ifndef TESS_SYSTEMS_DECODE_CHECK_H
#define TESS_SYSTEMS_DECODE_CHECK_H

#include "tessera/decode/encoding.h"

#include <stdbool.h>

// Reads a caller's config, defaults filled in (given NULL: all of them), every range checked.
TESS_MUST_CHECK tess_status tess_de_check_encoding_config(const tess_decode_encoding_config *given,
                                                          tess_decode_encoding_config *config);
// Pointers, counts and dtypes; no value is looked at.
TESS_MUST_CHECK tess_status tess_de_check_spikes(const tess_decode_spikes *spikes, bool with_marks);
// Bandwidths against the features of each electrode and the dimensions of a place.
TESS_MUST_CHECK tess_status tess_de_check_bandwidths(const tess_decode_encoding_config *config,
                                                     const tess_decode_spikes *spikes,
                                                     int64_t n_place_dim);
// Times increase and are finite; no position is infinite; dimensions fit the environment.
TESS_MUST_CHECK tess_status tess_de_check_position(const tess_decode_position *position,
                                                   const tess_decode_environment_info *env);
// Rising and finite; name is the argument's.
TESS_MUST_CHECK tess_status tess_de_check_times(const double *time, int64_t n, const char *name);
// Electrodes and features are those of the fit.
TESS_MUST_CHECK tess_status tess_de_check_fitted(const tess_decode_encoding_info *info,
                                                 const tess_decode_spikes *spikes);
// f32 or f64 [rows][columns] (columns 0: rank 1), host, contiguous.
TESS_MUST_CHECK tess_status tess_de_check_out(const tess_array *out, int64_t n_row,
                                              int64_t n_column);
TESS_MUST_CHECK tess_status tess_de_check_rows(int64_t first, int64_t n_row, int64_t n_time);

#endif
