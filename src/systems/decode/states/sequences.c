#include "systems/decode/states/sequences.h"

// The sequence that a row of the result is in.
static int64_t sequence_of(const tess_de_sequences *s, int64_t row)
{
    int64_t low = 0;
    int64_t high = s->n - 1;
    while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        if (s->begin[middle] <= row) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

tess_de_piece tess_de_piece_at(const tess_de_sequences *sequences, int64_t row, int64_t first,
                               int64_t end)
{
    const int64_t k = sequence_of(sequences, row);
    const int64_t begin = sequences->begin[k];
    const int64_t stop = sequences->begin[k + 1];
    const int64_t from = begin > first ? begin : first;
    const int64_t to = stop < end ? stop : end;
    return (tess_de_piece){.sequence = k,
                           .first = from,
                           .n_row = to - from,
                           .offset = from - begin,
                           .is_start = from == begin,
                           .is_end = to == stop};
}

void tess_de_sequence_rows(const tess_de_sequences *sequences, int64_t sequence,
                           const tess_decode_observation *whole, tess_decode_observation *out)
{
    const int64_t first = sequences->first[sequence];
    const int64_t n_row = sequences->begin[sequence + 1] - sequences->begin[sequence];
    *out = *whole;
    out->time = whole->time ? whole->time + first : NULL;
    out->is_missing = whole->is_missing ? whole->is_missing + first : NULL;
    const int64_t left = whole->n_time - first;
    out->n_time = left < n_row + 2 ? left : n_row + 2;
}
