// The clusterless GMM: what its files share.
#ifndef TESS_SYSTEMS_DECODE_GMM_H
#define TESS_SYSTEMS_DECODE_GMM_H

#include "numerics/mixture.h"
#include "runtime/stage.h"
#include "stage/decode_gmm.h"
#include "systems/decode/decode.h"

extern const tess_de_encoding_ops tess_de_gmm_ops;

typedef struct tess_de_gmm {
    int64_t n_electrode;
    int64_t n_dim;
    tess_mixture occupancy;
    tess_mixture *ground;  // [n_electrode] positions of spikes
    tess_mixture *joint;   // [n_electrode] marks, then positions
    double *log_occupancy; // [P]
    double *summed;        // [P]
    double *mean_rates;    // [n_electrode], at least 1e-15
    int64_t scratch_items; // that one evaluation needs
} tess_de_gmm;

// gmm_rows.c, gmm_bins.c
TESS_MUST_CHECK tess_status tess_de_gmm_rows(tess_context *ctx, tess_device *device,
                                             const tess_decode_encoding *encoding,
                                             const tess_de_row_spikes *spikes, double scale,
                                             tess_array *out,
                                             tess_decode_likelihood_report *report);
TESS_MUST_CHECK tess_status tess_de_gmm_log_joint(tess_context *ctx, tess_device *device,
                                                  const tess_decode_encoding *encoding,
                                                  int64_t electrode, const double *marks, int64_t n,
                                                  tess_array *out,
                                                  tess_decode_likelihood_report *report);
// Values of one mark at every bin, floored; returns how many are on the floor. scratch has
// scratch_items.
int64_t tess_de_gmm_values(const tess_decode_encoding *encoding, int64_t electrode,
                           const double *mark, double *scratch, double *values);

// An electrode's mixture and the bins, in the host's memory.
void tess_de_gmm_bins(const tess_decode_encoding *encoding, int64_t electrode, tess_gmm_bins *out);
// What values of n spikes add to a report.
void tess_de_gmm_count(const tess_decode_encoding *encoding, const int64_t *n_floored, int64_t n,
                       tess_decode_likelihood_report *report);

// gmm_there.c: the same on a device with memory of its own. 1 if it is one and holds the mixtures.
int tess_de_gmm_is_there(tess_context *ctx, tess_device *device,
                         const tess_decode_encoding *encoding);
TESS_MUST_CHECK tess_status tess_de_gmm_rows_there(tess_context *ctx, tess_device *device,
                                                   const tess_decode_encoding *encoding,
                                                   const tess_de_row_spikes *spikes, double scale,
                                                   tess_array *out,
                                                   tess_decode_likelihood_report *report);
TESS_MUST_CHECK tess_status tess_de_gmm_joint_there(tess_context *ctx, tess_device *device,
                                                    const tess_decode_encoding *encoding,
                                                    int64_t electrode, const double *marks,
                                                    int64_t n, tess_array *out,
                                                    tess_decode_likelihood_report *report);

// gmm_local.c
TESS_MUST_CHECK tess_status tess_de_gmm_local_rows(
    tess_context *ctx, tess_device *device, const tess_decode_encoding *encoding,
    const tess_de_row_spikes *spikes, double scale, const double *row_place,
    const double *const *spike_place, tess_array *out, tess_decode_likelihood_report *report);
// Log intensity of a mark at a place, without a floor; expected spikes at a place. scratch has
// scratch_items.
double tess_de_gmm_log_at(const tess_decode_encoding *encoding, int64_t electrode,
                          const double *mark, const double *place, double *scratch);
double tess_de_gmm_ground_at(const tess_decode_encoding *encoding, const double *place,
                             double *scratch);
double tess_de_gmm_local_floor(const tess_decode_encoding *encoding);

// gmm_spike.c
extern const tess_de_single_ops tess_de_gmm_single_ops;

#endif
