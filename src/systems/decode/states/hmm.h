// The hidden Markov model under every detector: structured transitions, filter, smoother.
//
// Arithmetic is f64 in every mode. Filtered rows are kept in the dtype of the chunk (f32 in fast
// mode, f64 in exact) and the smoother works from what is kept, so that results do not depend on
// where a chunk ends or whether rows went through a file.
#ifndef TESS_SYSTEMS_DECODE_HMM_H
#define TESS_SYSTEMS_DECODE_HMM_H

#include "runtime/stage.h"
#include "tessera/decode/detector.h"

typedef struct tess_de_hmm tess_de_hmm;

// States and movements. An environment is NULL for a state of one bin.
typedef struct tess_de_hmm_desc {
    int32_t n_state;
    int32_t exact;                         // 1: kernels cut only where f64 is zero
    tess_decode_environment *const *env;   // [n_state]
    const tess_decode_movement *movements; // [n_state][n_state]
    const int64_t *ll_first;               // [n_state] first column in a row of ll
    int64_t n_ll;
} tess_de_hmm_desc;

TESS_MUST_CHECK tess_status tess_de_hmm_create(tess_context *ctx, const tess_de_hmm_desc *desc,
                                               tess_de_hmm **out);
void tess_de_hmm_destroy(tess_de_hmm *hmm);
int64_t tess_de_hmm_bins(const tess_de_hmm *hmm); // N_s

// Rows of a chunk in the memory of the device that filters and smooths; NULL: they are the host's.
typedef struct tess_de_hmm_rows_there {
    void *ll;
    void *filtered;
    void *predicted;
    void *smoothed;
    double *causal_states;
    double *predictive_states;
    double *acausal_states;
} tess_de_hmm_rows_there;

// Rows first..first+n_row-1 of a recording.
typedef struct tess_de_hmm_chunk {
    int64_t n_row;
    const void *ll; // [n_row][n_ll]
    int32_t ll_dtype;
    int32_t dtype;             // of filtered and predicted: TESS_F32 or TESS_F64
    const double *transition;  // [S][S] discrete, row t drives t -> t+1
    int64_t transition_stride; // items from row to row; 0: stationary
    void *filtered;            // [n_row][N_s]: out of filter; smooth turns it into smoothed
    void *predicted;           // [n_row][N_s] out of filter, or NULL
    double *causal_states;     // [n_row][S] or NULL
    double *predictive_states; // [n_row][S] or NULL
    double *acausal_states;    // [n_row][S] out of smooth, or NULL
    // [n_row][tess_de_hmm_forecast_items()] out of filter, or into smooth, which need not make them
    // again; NULL: it does. Of rows that the host has.
    double *forecasts;
    // What is there need not be here, and filtered may be NULL: else it gets a copy, of smoothed
    // rows out of smooth.
    tess_de_hmm_rows_there there;
} tess_de_hmm_chunk;

// What goes from one chunk to the next in time.
typedef struct tess_de_hmm_carry {
    double *predicted;        // [N_s]: of the first row at start, of the row after at the end
    double log_evidence;      // running sum
    int64_t n_row;            // rows so far
    int64_t n_impossible;     // rows at which every u was zero
    int64_t first_impossible; // -1: none
} tess_de_hmm_carry;

// Filter and smoother run on a device that has both stages.
extern const int32_t tess_de_hmm_stages[2];
// Where rows follow rows: the context's device if it has these stages and works on the host's
// memory, else the CPU. On a GPU one run of rows is a single block of threads: 39 us a row of 1448
// states, forth and back, on an H200, where its host's cores take 9.
tess_device *tess_de_states_device(tess_context *ctx, const int32_t *stages, int64_t n_stage);
// Where so many rows are filtered and smoothed: on a GPU if they are enough to be cut into many
// runs side by side. Of a whole recording, so that chunks do not matter.
tess_device *tess_de_rows_device(tess_context *ctx, const tess_de_hmm *hmm, int64_t n_row);

TESS_MUST_CHECK tess_status tess_de_hmm_filter(tess_context *ctx, tess_device *device,
                                               const tess_de_hmm *hmm,
                                               const tess_de_hmm_chunk *chunk,
                                               tess_de_hmm_carry *carry);

// next [N_s] f64: smoothed row after the chunk on entry (ignored when is_last), first smoothed row
// of the chunk on return.
TESS_MUST_CHECK tess_status tess_de_hmm_smooth(tess_context *ctx, tess_device *device,
                                               const tess_de_hmm *hmm,
                                               const tess_de_hmm_chunk *chunk, int is_last,
                                               double *next);

// One filter step for the online decoder; no allocation. u = predicted * exp(ll - max); on return
// filtered [N_s] and predicted for the next row. Returns the row's log norm.
double tess_de_hmm_step(tess_device *device, const tess_de_hmm *hmm, const double *transition,
                        const float *ll, double *predicted, double *filtered, double *states,
                        void *scratch);
size_t tess_de_hmm_scratch_bytes(const tess_de_hmm *hmm);
// What filter and smoother take while they run, besides the caller's rows.
size_t tess_de_hmm_room_bytes(const tess_de_hmm *hmm);
// Doubles of a row's forecast; 0: they are made again in less time than they would be kept in.
int64_t tess_de_hmm_forecast_items(const tess_de_hmm *hmm);

// M-step of the stationary discrete transitions (4.5) from marginals [n_row][S].
void tess_de_em_transition(int32_t n_state, int64_t n_row, const double *causal,
                           const double *predictive, const double *acausal, double concentration,
                           const double *stickiness, const double *prior_weight,
                           const uint8_t *frozen, double *transition);

#endif
