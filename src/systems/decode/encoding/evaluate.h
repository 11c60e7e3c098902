// Likelihoods of rows of an observation.
#ifndef TESS_SYSTEMS_DECODE_EVALUATE_H
#define TESS_SYSTEMS_DECODE_EVALUATE_H

#include "systems/decode/decode.h"

#include <stdbool.h>

// Shapes and times, without looking at spikes: cheap enough for every call.
TESS_MUST_CHECK tess_status tess_de_check_grid(const tess_decode_encoding *encoding,
                                               const tess_decode_observation *observation,
                                               bool local);
// Everything a whole run needs checked before it starts: the grid, every spike of the window and
// its mark. Warns of all that is odd, once, and prepares nothing.
TESS_MUST_CHECK tess_status tess_de_check_observation(tess_context *ctx,
                                                      const tess_decode_encoding *encoding,
                                                      const tess_decode_observation *observation,
                                                      bool local);
// Decoding bin / position sample as configured, or from the two medians.
TESS_MUST_CHECK tess_status tess_de_bin_scale(tess_context *ctx,
                                              const tess_decode_encoding *encoding,
                                              const tess_decode_observation *observation,
                                              double *scale);

// As tess_decode_log_likelihood() and tess_decode_local_log_likelihood(), on a device that has the
// algorithm's stages: for callers that go chunk by chunk.
TESS_MUST_CHECK tess_status tess_de_likelihood(tess_context *ctx, tess_device *device,
                                               const tess_decode_encoding *encoding,
                                               const tess_decode_observation *observation,
                                               int64_t first, int64_t n_row, bool local,
                                               tess_array *out,
                                               tess_decode_likelihood_report *report);
// The same for an observation that was checked, or is part of one that was. Rows at every bin may
// stay in the memory of the device (out->space), where missing ones are not cleared.
TESS_MUST_CHECK tess_status tess_de_likelihood_seen(tess_context *ctx, tess_device *device,
                                                    const tess_decode_encoding *encoding,
                                                    const tess_decode_observation *observation,
                                                    int64_t first, int64_t n_row, bool local,
                                                    tess_array *out,
                                                    tess_decode_likelihood_report *report);
// The warning about values on the absolute floor, if report has cause for one.
void tess_de_warn_floor(tess_context *ctx, const tess_decode_encoding *encoding,
                        const tess_decode_likelihood_report *report);

#endif
