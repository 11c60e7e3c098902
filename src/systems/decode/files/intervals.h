// Intervals of time: looked over, in order.
#ifndef TESS_SYSTEMS_DECODE_INTERVALS_H
#define TESS_SYSTEMS_DECODE_INTERVALS_H

#include "base/blocks.h"
#include "tessera/decode/intervals.h"

// The numbers of the intervals by start, in *order [n]; refuses those that are empty, not finite or
// share time.
TESS_MUST_CHECK tess_status tess_de_intervals_order(tess_blocks *blocks,
                                                    const tess_decode_intervals *intervals,
                                                    int64_t **order);
// The rows that begin in an interval; *first 0 where there are none.
void tess_de_interval_find(double start, double end, const double *time, int64_t n_time,
                           int64_t *first, int64_t *n_row);
// Says that no row begins in any of them.
TESS_MUST_CHECK tess_status tess_de_intervals_refuse(const tess_decode_intervals *intervals,
                                                     const double *time, int64_t n_time);

#endif
