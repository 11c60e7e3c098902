/** decode: intervals of time, given or out of a file: candidate events, parts to be decoded. */
#ifndef TESSERA_DECODE_INTERVALS_H
#define TESSERA_DECODE_INTERVALS_H

#include "tessera/context.h"

TESS_BEGIN_DECLS

/** A table of intervals; they keep their order. */
typedef struct tess_decode_intervals {
    uint32_t struct_size;
    int32_t reserved;
    int64_t n;
    const double *start;   /* [n] s */
    const double *end;     /* [n] s, excluded */
    const int64_t *event;  /* [n] keys; NULL: 0..n-1 */
    const int32_t *reason; /* [n] of a table that was tested before: not tested again; NULL */
} tess_decode_intervals;

TESS_API void tess_decode_intervals_init(tess_decode_intervals *intervals, size_t struct_size);

/** Start and end times out of a file: CSV with columns start and end (or start_time, stop_time, or
 *  the first two), HDF5 or .npz with such data sets, NWB time intervals. name: of the NWB table or
 *  HDF5 group where there are several; NULL. */
typedef struct tess_decode_interval_table tess_decode_interval_table;
TESS_API TESS_MUST_CHECK tess_status tess_decode_interval_table_open(
    tess_context *ctx, const char *path, const char *name, tess_decode_interval_table **out);
TESS_API const tess_decode_intervals *
tess_decode_interval_table_get(const tess_decode_interval_table *table);
TESS_API void tess_decode_interval_table_close(tess_decode_interval_table *table);

/** The time bins of each interval: those that begin in it, start <= time < end. first[i] and
 *  n_row[i] are 0 where there are none. TESS_E_ARGUMENT where an interval is empty or not finite,
 * or shares time with another, and where none has a time bin.
 *
 * time   in   [n_time] ascending
 * first  out  [n]
 * n_row  out  [n] */
TESS_API TESS_MUST_CHECK tess_status
tess_decode_interval_rows(tess_context *ctx, const tess_decode_intervals *intervals,
                          const double *time, int64_t n_time, int64_t *first, int64_t *n_row);

TESS_END_DECLS

#endif
