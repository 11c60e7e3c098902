// Long rows of numbers for plots that can be zoomed to single values: a pyramid of minima and
// maxima.
//
// Level 0 holds the values, one column per step of the x axis; a column of level l+1 stands for
// four of level l by their least and greatest values. Columns are pushed once, front to back, and
// every level is cut into chunks which are quantised and packed as soon as they are full, so memory
// is bounded by the budget whatever the length. When the packed chunks outgrow the budget the
// finest level goes, everywhere but in the windows that were asked for (tess_pyramid_keep); if that
// is not enough the next, and so on. Windows stay up to four levels finer than the rest. A plot
// says how fine it is where the reader looks.
//
// Numbers are kept in 8 or 16 bits between the least and the greatest of their chunk: off by at
// most 1/508 or 1/131068 of that range. The same values give the same bytes.
#ifndef TESS_PAGE_PYRAMID_H
#define TESS_PAGE_PYRAMID_H

#include "base/blocks.h"
#include "runtime/context.h"

enum {
    TESS_PYRAMID_BRANCH = 4,
    TESS_PYRAMID_LEVELS = 24,
    TESS_PYRAMID_STILL = 900 // columns of the picture that needs no script, at most
};

// For one pyramid, in packed bytes; base64 adds a third.
#define TESS_PYRAMID_BUDGET ((int64_t)12 << 20)

typedef struct tess_pyramid_setup {
    int64_t n_column;
    int64_t n_row;        // series of a chart, or lines of a map
    double first;         // x of the middle of column 0
    double step;          // x from a column to the next, positive
    bool is_map;          // drawn as colours: only the greatest value of a group is kept
    int bits;             // 8 or 16
    int64_t budget_bytes; // 0: TESS_PYRAMID_BUDGET
} tess_pyramid_setup;

typedef struct tess_pyramid_chunk {
    uint8_t *packed; // a zlib stream; NULL: dropped, or not there yet
    uint32_t bytes;
} tess_pyramid_chunk;

typedef struct tess_pyramid_level {
    int64_t n_column;
    int64_t n_chunk;
    tess_pyramid_chunk *chunks;
    double *least; // [n_row][chunk_columns] being filled; of level 0 both are the same
    double *greatest;
    int64_t n_filled; // columns of the chunk being filled
    int64_t n_done;   // chunks before it
} tess_pyramid_level;

typedef struct tess_pyramid {
    tess_context *ctx;
    tess_blocks memory;
    tess_pyramid_setup setup;
    int64_t chunk_columns;
    int n_level;
    tess_pyramid_level levels[TESS_PYRAMID_LEVELS];
    int64_t n_pushed;
    int64_t packed_bytes;
    int n_dropped;        // levels given up outside of windows
    int n_window_dropped; // and inside
    uint8_t *is_window;   // [n_chunk of level 0]
    uint8_t *raw;         // a chunk before it is packed
    double *column;       // [2][n_row] on its way up
    double *still_least;  // [n_row][n_still] for the picture that needs no script
    double *still_greatest;
    int64_t n_still;
    double least; // of all finite values; NaN while there is none
    double greatest;
} tess_pyramid;

TESS_MUST_CHECK tess_status tess_pyramid_create(tess_context *ctx, const tess_pyramid_setup *setup,
                                                tess_pyramid *out);
void tess_pyramid_destroy(tess_pyramid *pyramid);

// Columns first..last (cut to those there are) are to keep their single values. Before they are
// pushed.
void tess_pyramid_keep(tess_pyramid *pyramid, int64_t first, int64_t last);

// columns[n][n_row], the next of them. What is not finite is a gap.
TESS_MUST_CHECK tess_status tess_pyramid_push(tess_pyramid *pyramid, const double *columns,
                                              int64_t n);

// After the last column.
TESS_MUST_CHECK tess_status tess_pyramid_finish(tess_pyramid *pyramid);

// Columns that one number stands for: outside of windows, and inside. 1: single values.
int64_t tess_pyramid_finest(const tess_pyramid *pyramid);
int64_t tess_pyramid_finest_window(const tess_pyramid *pyramid);

#endif
