// The clusterless KDE: what its files share.
#ifndef TESS_SYSTEMS_DECODE_KDE_H
#define TESS_SYSTEMS_DECODE_KDE_H

#include "base/blocks.h"
#include "stage/decode_likelihood.h"
#include "systems/decode/decode.h"

struct kde_there; // kde_there.h

typedef struct kde_model {
    tess_blocks blocks;
    tess_kde_model stage;
    tess_kde_electrode *electrodes; // of stage
    double *occupancy;              // [n_bin]
    double *mean_rates;             // [n_electrode]
    double *intensity;              // [n_bin] summed ground intensity
    double *place_fields;           // [n_electrode][n_bin]
    double bound;
    tess_kde_bound single; // how one spike at a time is done
    int32_t n_thread;      // of the context it was made in: for plans
    // On devices that are not the CPU, by their number in the context; NULL: not yet, or in use.
    _Atomic(struct kde_there *) there[TESS_MAX_GROUP];
    _Atomic(size_t) there_bytes; // of its arrays there, once counted
} kde_model;

extern const tess_de_encoding_ops tess_de_kde_ops;

// kde_fit.c
TESS_MUST_CHECK tess_status tess_de_kde_fit(tess_context *ctx, tess_device *device,
                                            tess_decode_encoding *encoding,
                                            const tess_de_selection *selection);
void tess_de_kde_free(tess_decode_encoding *encoding);

// kde_rows.c
TESS_MUST_CHECK tess_status tess_de_kde_rows(tess_context *ctx, tess_device *device,
                                             const tess_decode_encoding *encoding,
                                             const tess_de_row_spikes *spikes, double scale,
                                             tess_array *out,
                                             tess_decode_likelihood_report *report);
TESS_MUST_CHECK tess_status tess_de_kde_log_joint(tess_context *ctx, tess_device *device,
                                                  const tess_decode_encoding *encoding,
                                                  int64_t electrode, const double *marks, int64_t n,
                                                  tess_array *out,
                                                  tess_decode_likelihood_report *report);
uint64_t tess_de_kde_rows_bytes(const tess_decode_encoding *encoding, int64_t n_spike);

// local.c
tess_status tess_de_kde_local_rows(tess_context *ctx, tess_device *device,
                                   const tess_decode_encoding *encoding,
                                   const tess_de_row_spikes *spikes, double scale,
                                   const double *row_place, const double *const *spike_place,
                                   tess_array *out, tess_decode_likelihood_report *report);

// kde_spike.c: out[P] = floored log lambda of mark [D].
extern const tess_de_single_ops tess_de_kde_single_ops;

#endif
