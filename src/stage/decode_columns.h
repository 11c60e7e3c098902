// Stage of decode's likelihood: columns of rows put in place, modified, cleared where rows are
// missing.
#ifndef TESS_STAGE_DECODE_COLUMNS_H
#define TESS_STAGE_DECODE_COLUMNS_H

#include <stdint.h>

enum { TESS_STAGE_DECODE_COLUMNS = 0x0140 };

// For p < n_column:
//
//   ll[t][first + p] = is_missing[t] ? 0 : from[t][p] + added[added_row[t]][p]
//
// from may be the columns of ll themselves. Sums are made in f64 and rounded once.
typedef struct tess_stage_decode_columns {
    int64_t n_row;
    int64_t n_column;
    int64_t first;
    int64_t n_ll;
    const void *from; // [n_row][from_stride], of dtype
    int64_t from_stride;
    const double *added;       // [.][n_column]; NULL: nothing
    const int32_t *added_row;  // [n_row] -1: nothing
    const uint8_t *is_missing; // [n_row]; NULL: none is
    void *ll;                  // [n_row][n_ll] out
    int32_t dtype;             // TESS_F32 or TESS_F64
    int32_t reserved;
} tess_stage_decode_columns;

#endif
