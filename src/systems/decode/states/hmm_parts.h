// Rows of a chunk in parts that threads take side by side.
//
// Sequences know nothing of each other. Within one, a row needs the row before it; but a model
// forgets: whatever it begins with, after some hundred rows no bit of a row as it is kept tells
// where it began. So a part that begins inside a sequence first goes through some rows before it,
// from nothing known, and takes what they end with for a guess. When the row before it is known,
// the guess is held against it, bit by bit, and where they differ the part is done again, up to the
// row from which on it comes out as it was. No bit of a result tells whether rows were cut.
#ifndef TESS_SYSTEMS_DECODE_HMM_PARTS_H
#define TESS_SYSTEMS_DECODE_HMM_PARTS_H

#include "systems/decode/states/hmm.h"

#include <stdbool.h>

// Rows of one sequence in a chunk. The parts of a chunk follow each other.
typedef struct tess_de_hmm_part {
    int64_t first; // row of the chunk
    int64_t n_row;
    bool is_start; // of its sequence
    bool is_end;
    double log_evidence; // out of the filter: of the sequence up to here
} tess_de_hmm_part;

// Rows of one sequence that are never cut.
enum { TESS_DE_HMM_LEAST_ROWS = 512 };

// What the threads work in.
typedef struct tess_de_hmm_room tess_de_hmm_room;

// For chunks of up to so many rows. Fewer than two threads: none is needed, and *out is NULL.
TESS_MUST_CHECK tess_status tess_de_hmm_room_create(tess_context *ctx, const tess_de_hmm *hmm,
                                                    int32_t dtype, int64_t n_row, bool smooths,
                                                    tess_de_hmm_room **out);
void tess_de_hmm_room_destroy(tess_de_hmm_room *room);
size_t tess_de_hmm_parts_bytes(const tess_context *ctx, const tess_de_hmm *hmm, int32_t dtype,
                               int64_t n_row, bool smooths);

// tess_de_hmm_filter() of all parts: each begins with initial [N_s] or, if it is not the start of
// its sequence, with carry. room NULL: one after the other.
TESS_MUST_CHECK tess_status tess_de_hmm_filter_parts(tess_context *ctx, tess_device *device,
                                                     const tess_de_hmm *hmm,
                                                     const tess_de_hmm_chunk *chunk,
                                                     tess_de_hmm_part *parts, int64_t n_part,
                                                     const double *initial, tess_de_hmm_room *room,
                                                     tess_de_hmm_carry *carry);
// Likewise tess_de_hmm_smooth(), from the last part on.
TESS_MUST_CHECK tess_status tess_de_hmm_smooth_parts(tess_context *ctx, tess_device *device,
                                                     const tess_de_hmm *hmm,
                                                     const tess_de_hmm_chunk *chunk,
                                                     const tess_de_hmm_part *parts, int64_t n_part,
                                                     tess_de_hmm_room *room, double *next);

#endif
