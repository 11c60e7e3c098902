// Which rows of an observation are decoded, and where the model starts anew.
//
// A sequence is a run of rows that knows nothing of the others: the filter begins at the initial
// condition, the smoother and the path end at its last row. Its likelihood is that of its rows
// among all others.
#ifndef TESS_SYSTEMS_DECODE_SEQUENCES_H
#define TESS_SYSTEMS_DECODE_SEQUENCES_H

#include "tessera/decode/encoding.h"

#include <stdbool.h>

typedef struct tess_de_sequences {
    int64_t n;            // 0: all rows, as one
    const int64_t *first; // [n] row of the observation, ascending
    const int64_t *begin; // [n + 1] row of the result; ascending, begin[n] rows in all
    const double *time;   // [begin[n]] of the rows
} tess_de_sequences;

// Rows of one sequence, next to each other.
typedef struct tess_de_piece {
    int64_t sequence;
    int64_t first; // row of the result
    int64_t n_row;
    int64_t offset; // row of the sequence
    bool is_start;  // of its sequence
    bool is_end;
} tess_de_piece;

// The piece of the result's rows first..end-1 that row lies in.
tess_de_piece tess_de_piece_at(const tess_de_sequences *sequences, int64_t row, int64_t first,
                               int64_t end);
// Rows of a sequence as an observation, with two times more where there are: that which closes the
// last row, and one behind it, so that a spike on the former belongs to what follows, as ever.
void tess_de_sequence_rows(const tess_de_sequences *sequences, int64_t sequence,
                           const tess_decode_observation *whole, tess_decode_observation *out);

#endif
