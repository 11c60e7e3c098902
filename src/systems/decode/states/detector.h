// The inside of a detector: states, the likelihood columns they share, and the engine that takes
// rows through likelihood, filter and smoother. predict, em and stream are all made of it.
#ifndef TESS_SYSTEMS_DECODE_DETECTOR_H
#define TESS_SYSTEMS_DECODE_DETECTOR_H

#include "base/blocks.h"
#include "base/hash.h"
#include "runtime/resident.h"
#include "systems/decode/decode.h"
#include "systems/decode/states/hmm.h"

typedef enum tess_de_columns_kind {
    TESS_DE_COLUMNS_PLACES = 0,  // every interior bin
    TESS_DE_COLUMNS_LOCAL = 1,   // the animal's own position: one column
    TESS_DE_COLUMNS_NO_SPIKE = 2 // one column
} tess_de_columns_kind;

// Likelihood columns first..first+n_column-1, shared by every state with the same environment,
// encoding and kind.
typedef struct tess_de_columns {
    int32_t kind;        // tess_de_columns_kind
    int32_t environment; // -1: none
    int32_t encoding;    // -1: none
    int32_t has_kernel;  // a Local state of many bins: the kernel of the animal's place is added
    int64_t first;
    int64_t n_column;
} tess_de_columns;

struct tess_decode_detector {
    tess_heap *heap;
    tess_decode_detector_config config; // scalars; its pointers are the copies below
    tess_decode_detector_info info;     // its pointers, too
    tess_decode_environment **environments;
    const tess_decode_encoding **encodings;
    int64_t n_environment;
    int64_t n_encoding;
    tess_decode_environment **state_env; // [n_state], NULL for a state of one bin
    tess_de_columns *blocks;
    int32_t n_block;
    int32_t dtype; // of likelihood and kept rows: TESS_F64 if an encoding is exact, else TESS_F32
    tess_de_hmm *hmm;
    tess_hash movement_hash; // tells the movements from others
    // What EM updates; info and config point here.
    double *discrete_initial;    // [n_state]
    double *discrete_transition; // [n_state][n_state]
    double *coefficients;        // [n_coefficient][n_state][n_state - 1]
    double *initial;             // [N_s]
    char estimated_by[33];       // identity of the EM that did; "": none
    tess_blocks memory;          // of everything above
};

// The discrete transitions of rows first..first+n_row-1: out [n_row][S][S], row t drives t -> t+1.
void tess_de_transition_rows(const tess_decode_detector *detector, const double *design,
                             int64_t first, int64_t n_row, double *out);

// The likelihood of rows first..first+n_row-1, modifiers and missing rows applied:
// ll [n_row][n_ll] of the detector's dtype. scratch has room for [n_row][widest block].
// In likelihood.c; has_nan: some position sample is NaN. The observation is part of one that was
// checked, as a whole: a part without a spike is nothing odd.
TESS_MUST_CHECK tess_status tess_de_check_likelihood(tess_context *ctx,
                                                     const tess_decode_detector *detector,
                                                     const tess_decode_observation *observation);
TESS_MUST_CHECK tess_status tess_de_likelihood_rows(tess_context *ctx, tess_device *device,
                                                    const tess_decode_detector *detector,
                                                    const tess_decode_observation *observation,
                                                    int has_nan, int64_t first, int64_t n_row,
                                                    void *ll, void *scratch,
                                                    tess_decode_likelihood_report *report);

// What a call reports of its rows, to what others did of theirs.
void tess_de_add_report(const tess_decode_likelihood_report *add,
                        tess_decode_likelihood_report *report);

// What rows on a device are made in; grows as needed.
typedef struct tess_de_ll_room {
    tess_resident columns; // of the widest block but one that is all of a row
    tess_resident added;
    tess_resident added_row;
    tess_resident is_missing;
} tess_de_ll_room;

// The same rows, in the memory of a device that has TESS_STAGE_DECODE_COLUMNS: ll is its, too.
TESS_MUST_CHECK tess_status tess_de_likelihood_there(tess_context *ctx, tess_device *device,
                                                     const tess_decode_detector *detector,
                                                     const tess_decode_observation *observation,
                                                     int has_nan, int64_t first, int64_t n_row,
                                                     void *ll, tess_de_ll_room *room,
                                                     tess_decode_likelihood_report *report);
void tess_de_ll_room_free(tess_de_ll_room *room);

// modifiers.c: rows first..first+n_row-1 of ll [n_row][n_ll], changed in place. The first adds
// penalty and kernel, the second makes missing rows 0.
TESS_MUST_CHECK tess_status tess_de_modify_rows(tess_context *ctx,
                                                const tess_decode_detector *detector,
                                                const tess_decode_observation *observation,
                                                int64_t first, int64_t n_row, void *ll);
void tess_de_clear_missing(const tess_decode_detector *detector,
                           const tess_decode_observation *observation, int has_nan, int64_t first,
                           int64_t n_row, void *ll);
// Whether that row is missing.
bool tess_de_is_missing(const tess_decode_observation *observation, int has_nan, int64_t row);
// What penalty or kernel of a block add to rows first..first+n_row-1: row t that of row[t] of the
// table, or nothing (-1).
typedef struct tess_de_added {
    double *table; // [n_table][n_column] rows of the animal's bins, in the order of the bins
    int64_t n_table;
    int32_t *row; // [n_row]
} tess_de_added;
TESS_MUST_CHECK tess_status tess_de_modifier_table(tess_context *ctx, tess_blocks *blocks,
                                                   const tess_decode_detector *detector,
                                                   const tess_de_columns *block,
                                                   const tess_decode_observation *observation,
                                                   int64_t first, int64_t n_row,
                                                   tess_de_added *out);
// Is any sample of the position NaN?
bool tess_de_has_untracked(const tess_decode_position *position);
// Is a sample NaN that the position of this time is interpolated from? There must be samples.
bool tess_de_is_untracked(const tess_decode_position *position, double time);
// 1 if a block of columns has a penalty or a kernel; the row [n_column] it adds when the animal is
// in an interior bin, distance [n_column] being the distances from there.
int tess_de_is_modified(const tess_decode_detector *d, const tess_de_columns *b);
void tess_de_modifier_row(const tess_decode_detector *detector, const tess_de_columns *block,
                          const double *distance, int64_t animal, double *row);

// warm.c: uses a device that is not the CPU once, so that the first call need not wait for it.
void tess_de_detector_warm(tess_context *ctx, const tess_decode_detector *detector);

// --- animal.c ---

// 1 if the observation's positions are needed by a state or a modifier.
int tess_de_needs_position(const tess_decode_detector *detector);
// Fails where they are needed and missing, of another dimension or of another time.
TESS_MUST_CHECK tess_status tess_de_check_animal(const tess_decode_detector *detector,
                                                 const tess_decode_observation *observation);
// Of positions that passed: warns where they cover a part of the rows.
void tess_de_warn_animal(tess_context *ctx, const tess_decode_detector *detector,
                         const tess_decode_observation *observation);

#endif
