// The inside of an encoding model: what the algorithms share, and what each must offer.
//
// encoding/ validates and selects; an algorithm (kde/, gmm/, sorted/) gets a selection and fills in
// a model behind these calls.
#ifndef TESS_SYSTEMS_DECODE_DECODE_H
#define TESS_SYSTEMS_DECODE_DECODE_H

#include "base/blocks.h"
#include "base/memory.h"
#include "runtime/stage.h"
#include "tessera/decode/encoding.h"

#include <stdatomic.h>

#define TESS_DE_EPS 1e-15
#define TESS_DE_LOG_EPS (-34.538776394910684)

// Training data after rule 2.2: samples kept, spikes kept with their positions. Marks are f64.
// Lives as long as the model.
typedef struct tess_de_selection {
    int64_t n_sample; // |G|
    int64_t n_dim;    // of places: d'
    int64_t n_electrode;
    const double *place;         // [n_sample][n_dim]
    const double *weights;       // [n_sample], NULL: all 1
    const int64_t *n_spike;      // [n_electrode]
    const int64_t *n_feature;    // [n_electrode]
    double *const *spike_place;  // [n_electrode] -> [n_spike][n_dim]
    double *const *spike_marks;  // [n_electrode] -> [n_spike][n_feature]; NULL for sorted spikes
    double *const *spike_weight; // [n_electrode] -> [n_spike]; NULL: all 1
} tess_de_selection;

// Decoding spikes that fall into rows first..first+n_row-1, electrode by electrode in time order.
typedef struct tess_de_row_spikes {
    int64_t first;
    int64_t n_row;
    int64_t n_total;
    const int64_t *electrode_first; // [n_electrode + 1] into the arrays below
    const int32_t *row;             // [n_total] relative to first
    const double *const *time;      // [n_electrode] -> this range's spike times (borrowed)
    const double *const *marks;     // [n_electrode] -> [n][n_feature] f64 of this range
} tess_de_row_spikes;

// One spike, or one place, at a time on the calling thread, without allocation: for the online
// decoder. Any thread, each with its own scratch (64-byte aligned). Marks are f32, NULL for sorted
// spikes.
typedef struct tess_de_single_ops {
    size_t (*scratch_bytes)(const tess_decode_encoding *encoding);
    // out[P]: what a spike adds to the log likelihood of its row.
    void (*spike)(const tess_decode_encoding *encoding, int64_t electrode, const float *mark,
                  void *scratch, float *out);
    // What the two below need and a first call would make; NULL: nothing.
    tess_status (*local_prepare)(tess_context *ctx, const tess_decode_encoding *encoding);
    // What a spike adds to the row of a one-bin Local state. place [n_dim] is where the animal is
    // at the spike, row_place at the row's time. host: the CPU, with a queue of the caller's.
    tess_status (*local_spike)(tess_context *ctx, tess_device *host,
                               const tess_decode_encoding *encoding, int64_t electrode,
                               const float *mark, const double *place, const double *row_place,
                               void *scratch, double *value);
    // Expected spikes at a place.
    tess_status (*local_ground)(tess_context *ctx, const tess_decode_encoding *encoding,
                                const double *place, void *scratch, double *value);
} tess_de_single_ops;

typedef struct tess_de_encoding_ops {
    const char *name;      // "clusterless_kde"
    const int32_t *stages; // it is made of
    int64_t n_stage;
    // Fills encoding->model and the densities of encoding->info from the selection. This and the
    // calls below run their stages on a device that has them all.
    tess_status (*fit)(tess_context *ctx, tess_device *device, tess_decode_encoding *encoding,
                       const tess_de_selection *selection);
    void (*free)(tess_decode_encoding *encoding);
    // Sends the model to a device with its own memory where it will stay, and uses its stages
    // once; NULL: it does not stay. One that does not fit is refused by rows(), which knows what
    // else is needed.
    tess_status (*prepare)(tess_context *ctx, tess_device *device,
                           const tess_decode_encoding *encoding);
    // out[n_row][P] (f32 or f64 by dtype), -scale * Lambda and all spikes of the range added.
    tess_status (*rows)(tess_context *ctx, tess_device *device,
                        const tess_decode_encoding *encoding, const tess_de_row_spikes *spikes,
                        double scale, tess_array *out, tess_decode_likelihood_report *report);
    // out[n_row]: the same at row_place [n_row][n_dim] (ground term) and at each spike's own
    // place (spike term, laid out as spikes->row).
    tess_status (*local_rows)(tess_context *ctx, tess_device *device,
                              const tess_decode_encoding *encoding,
                              const tess_de_row_spikes *spikes, double scale,
                              const double *row_place, const double *const *spike_place,
                              tess_array *out, tess_decode_likelihood_report *report);
    // log lambda of n marks [n][D] f64 of one electrode, floored: out [n][P]. NULL for sorted.
    tess_status (*log_joint)(tess_context *ctx, tess_device *device,
                             const tess_decode_encoding *encoding, int64_t electrode,
                             const double *marks, int64_t n, tess_array *out,
                             tess_decode_likelihood_report *report);
    // Bytes that rows() holds for n_spike spikes besides its arguments: for plans.
    uint64_t (*rows_bytes)(const tess_decode_encoding *encoding, int64_t n_spike);
    const tess_de_single_ops *single;
} tess_de_encoding_ops;

// What local_fit.c makes at the first local call; any thread may be the first.
typedef _Atomic(struct tess_de_local *) tess_de_local_slot;

struct tess_decode_encoding {
    tess_heap *heap;
    tess_decode_environment *env; // borrowed
    tess_decode_encoding_config config;
    tess_decode_encoding_info info;
    double position_std[TESS_DECODE_MAX_DIM];
    double *waveform_std; // [n_waveform_std] or one value
    const tess_de_encoding_ops *ops;
    void *model;                 // the algorithm's own
    tess_blocks blocks;          // what lives as long as the model
    tess_de_selection selection; // in blocks: algorithms may go on using it
    tess_de_local_slot *local;   // in blocks: what the local likelihood makes on demand
};

#endif
