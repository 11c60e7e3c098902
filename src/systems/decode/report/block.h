// A block of rows of a result, as read, and what a single row of it says.
#ifndef TESS_SYSTEMS_DECODE_BLOCK_H
#define TESS_SYSTEMS_DECODE_BLOCK_H

#include "systems/decode/report/view_ways.h"

typedef struct tess_de_block {
    tess_blocks memory;
    const tess_de_view *view;
    int64_t capacity; // rows
    int64_t margin;   // rows on either side that the speed looks at
    int64_t first;    // of the rows looked at
    int64_t n_row;
    double *time;                             // [n_row]
    double *animal[TESS_DECODE_MAX_DIM];      // [n_row]; NaN: not known
    double *represented[TESS_DECODE_MAX_DIM]; // [n_row]; NaN: not known
    double *speed;                            // [n_row] of the animal, cm/s; NaN: not known
    double *states;                           // [n_row][n_state]
    double *posterior;                        // [n_row][n_state_bin]
    double *wide_time;                        // [n_row + 2 margin]
    double *wide_animal;                      // [n_axis][n_row + 2 margin]
    double *wide_edge;                        // [n_row + 2 margin] corridor; -1: not told
    double *wide_interval;                    // [n_row + 2 margin] number of the interval
    double *interval;                         // [n_row]
    tess_de_spot *spots;                      // [n_row] the animal
    void *raw;
} tess_de_block;

TESS_MUST_CHECK tess_status tess_de_block_create(const tess_de_view *view, tess_de_block *out);
void tess_de_block_destroy(tess_de_block *block);
// Rows first.. of those looked at, as many as fit.
TESS_MUST_CHECK tess_status tess_de_block_read(tess_de_block *block, int64_t first);
// The same in two steps: all but the posterior, and n rows of it as f64, by any threads. Those of a
// file that can be read at any place come from there then, by who looks at them next.
TESS_MUST_CHECK tess_status tess_de_block_fetch(tess_de_block *block, int64_t first);
TESS_MUST_CHECK tess_status tess_de_block_widen(const tess_de_block *block, int64_t i, int64_t n);

// What a row says. Pointers live until the next row.
typedef struct tess_de_row {
    int64_t index;   // of the rows looked at
    double time;     // s
    double interval; // the number of its interval
    bool is_finite;
    const double *states; // [n_state] probabilities
    int32_t state;        // the most probable; -1: not finite
    double *place;        // [n_place] posterior, states summed; those of one bin are left out
    double placed;        // mass at the places of the animal's environment
    double local;         // of Local states without places
    double around;        // of Local states with places: part of what lies there
    double none;          // of anything else
    double peak[TESS_DECODE_MAX_DIM]; // the animal's environment: place of the largest posterior;
                                      // NaN where less than half of the mass lies at its places
    int64_t peak_place;               // -1 there
    double low[TESS_DECODE_MAX_DIM];  // 95 % of that mass lie in between, along each axis
    double high[TESS_DECODE_MAX_DIM];
    double animal[TESS_DECODE_MAX_DIM]; // NaN: not known
    tess_de_spot spot;                  // the same, for distances
    double represented[TESS_DECODE_MAX_DIM];
    double speed;
} tess_de_row;

// Distinct coordinates of an environment along an axis, and which of them each of its places has.
typedef struct tess_de_lines {
    int64_t n_line;
    const double *position; // [n_line], ascending
    const int64_t *of_place;
    bool is_place; // place i is on line i: nothing has to be summed
} tess_de_lines;

// Columns of the posterior that are treated alike: of one state, with places in a row or without.
typedef struct tess_de_segment {
    int64_t first_bin;
    int64_t n_bin;
    int64_t first_place; // or TESS_DE_PLACE_NONE, TESS_DE_PLACE_LOCAL
    bool is_home;        // places of the animal's environment
    bool is_local;       // of a Local state
} tess_de_segment;

typedef struct tess_de_digest {
    tess_blocks memory;
    const tess_de_view *view;
    tess_de_lines lines[TESS_DE_VIEW_ENVIRONMENTS][TESS_DECODE_MAX_DIM];
    int64_t most_lines; // of any
    tess_de_segment *segments;
    int64_t n_segment;
    double *place;
    double *line;
} tess_de_digest;

TESS_MUST_CHECK tess_status tess_de_digest_create(const tess_de_view *view, tess_de_digest *out);
void tess_de_digest_destroy(tess_de_digest *digest);
void tess_de_digest_row(tess_de_digest *digest, const tess_de_block *block, int64_t i,
                        tess_de_row *row);
// The first of the places with the largest mass, of one or more.
int64_t tess_de_largest_place(const double *place, int64_t n);
// Sum of a row over the places of each line.
void tess_de_digest_marginal(const tess_de_digest *digest, int32_t environment, int32_t axis,
                             const double *place, double *line);

#endif
