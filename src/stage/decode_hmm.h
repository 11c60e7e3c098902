// Stages of decode's hidden Markov model: filter, smoother and path scores over a chunk of rows.
//
// Bins of all states follow each other in one vector. A transition is the product of a small
// matrix over states and, for each pair of states, a movement between their bins: one value for all
// (uniform), the same bin (identity), or a linear operator made of passes over tiles.
#ifndef TESS_STAGE_DECODE_HMM_H
#define TESS_STAGE_DECODE_HMM_H

#include "base/tile_sum.h"

#include <float.h>

enum {
    TESS_STAGE_DECODE_HMM_FILTER = 0x0521,
    TESS_STAGE_DECODE_HMM_SMOOTH = 0x0522,
    TESS_STAGE_DECODE_HMM_SCORES = 0x0523,
    TESS_STAGE_DECODE_HMM_TRACE = 0x0524,
    TESS_STAGE_DECODE_HMM_PATHS = 0x0525,
};

enum { TESS_HMM_UNIFORM = -1, TESS_HMM_IDENTITY = -2, TESS_HMM_MAX_PASS = 3 };

// Tiles from one vector of cells to the next. The other factor is the operator's table.
typedef struct tess_hmm_pass {
    const tess_tile_sum *tiles;
    int64_t n_tile;
    int32_t weighs; // 1: the vector is w and the table x; 0: the other way round
    int32_t reserved;
} tess_hmm_pass;

// out = after * gather(passes(scatter(before * in))). Each vector of cells lies in a scratch of
// its own, where a cell that is never written holds what adds nothing.
typedef struct tess_hmm_operator {
    int64_t n_in;
    int64_t n_out;
    int64_t n_cell;                    // of each vector of cells
    int64_t scratch;                   // offset of the first of n_pass + 1 vectors
    const double *before;              // [n_in] or NULL
    const double *after;               // [n_out] or NULL
    const int32_t *scatter;            // [n_in] or NULL: bins are cells
    const int32_t *gather;             // [n_out] or NULL
    const tess_tile_run *scatter_runs; // the same as scatter, in the order of cells, or NULL
    const tess_tile_run *gather_runs;  // the same as gather, in the order of bins
    int64_t n_run;
    const double *table;
    int64_t n_table;
    int32_t n_pass;
    int32_t reserved;
    tess_hmm_pass pass[TESS_HMM_MAX_PASS];
} tess_hmm_operator;

typedef struct tess_hmm_model {
    int32_t n_state;
    int32_t n_operator;
    int64_t n_bin;                     // N_s
    int64_t n_ll;                      // columns of a row of log likelihoods
    const int64_t *first;              // [n_state + 1] bins of each state
    const int64_t *ll_first;           // [n_state] first column of each state
    const int32_t *link;               // [n_state][n_state]: uniform, identity or an operator
    const uint8_t *enters_evenly;      // [n_state] 1: every link to the state is uniform
    const uint8_t *leaves_evenly;      // [n_state] 1: every link from the state is uniform
    const tess_hmm_operator *forward;  // [n_operator] in * C
    const tess_hmm_operator *backward; // [n_operator] C * in
    int64_t n_scratch;                 // doubles
    const char *there[2]; // forward, backward: tess_hmm_block for devices with their own memory
    int64_t there_bytes[2];
} tess_hmm_model;

// One direction of a model as such devices take it: a block of bytes that can be copied to where
// threads are. Offsets are in bytes from its beginning, -1: there is none.
enum { TESS_HMM_LANES_OF_ROW = 32 };

// Some rows of a column of a tile: what a thread takes. Offsets are in items of w, x and out.
typedef struct tess_hmm_item {
    int32_t w;
    int32_t x;
    int32_t out;
    int32_t w_term;
    int32_t x_term;
    int32_t w_row;
    int32_t out_row;
    int32_t n_term; // and from bit 24 on the rows: 1, 2, 4 or 8
} tess_hmm_item;

typedef struct tess_hmm_block_pass {
    int32_t n_group;
    int32_t first; // int32 [n_group + 1] items that add to the same results; -1: one item each
    int32_t items; // tess_hmm_item
    int32_t weighs;
} tess_hmm_block_pass;

typedef struct tess_hmm_block_operator {
    const double *table; // the device's
    int32_t n_table;
    int32_t table_at; // of its copy in the scratch, in doubles
    int32_t scratch;  // likewise its first vector of cells
    int32_t n_cell;
    int32_t n_in;
    int32_t n_out;
    int32_t before; // double
    int32_t after;
    int32_t scatter; // int32
    int32_t gather;
    int32_t n_pass;
    int32_t reserved;
    tess_hmm_block_pass pass[TESS_HMM_MAX_PASS];
} tess_hmm_block_operator;

// Bins go in rows of 32 of one state.
typedef struct tess_hmm_block {
    int32_t n_state;
    int32_t n_operator;
    int32_t first;     // int32 [n_state + 1] bins of each state
    int32_t ll_first;  // int32 [n_state]
    int32_t row_first; // int32 [n_state + 1] rows
    int32_t link;      // int32 [n_state][n_state]
    int32_t operators;
    int32_t n_row;
} tess_hmm_block;

// Where the operators' vectors of cells begin in a scratch of n_scratch doubles: behind five
// vectors of N_s, a row of likelihoods (n_ll, their maximum, S sums) and three vectors of S.
static inline int64_t tess_hmm_cells_at(int64_t n_bin, int64_t n_ll, int32_t n_state)
{
    const int64_t vectors = 5 * n_bin + n_ll + 1 + 4 * (int64_t)n_state;
    return (vectors + 7) / 8 * 8;
}

// Rows go in blocks: while one thread works on a block, the others prepare what they can of the
// next one in lanes. A quarter of a megabyte a block, so that both stay in a core's cache.
enum { TESS_HMM_LANES = 4 };

static inline int64_t tess_hmm_block_width(const tess_hmm_model *model)
{
    const int64_t weighed = model->n_ll + 1 + model->n_state;
    const int64_t predicted = model->n_bin + 2 * (int64_t)model->n_state;
    return ((predicted > weighed ? predicted : weighed) + 7) / 8 * 8;
}

static inline int64_t tess_hmm_block_rows(const tess_hmm_model *model)
{
    const int64_t rows = 32768 / tess_hmm_block_width(model);
    return rows < 8 ? 8 : rows > 256 ? 256 : rows;
}

// Doubles of the two blocks that are under way, for a stage of n_row rows.
static inline int64_t tess_hmm_ahead_items(const tess_hmm_model *model, int64_t n_row)
{
    const int64_t rows = tess_hmm_block_rows(model);
    return (n_row > rows ? 2 * rows : n_row) * tess_hmm_block_width(model);
}

// A forecast is what a row of the filter predicts for the next one, which the smoother divides by:
// the bins of the states that are not entered evenly, levels of all states, and the sums of what
// the filter kept.
static inline int64_t tess_hmm_forecast_bins(const tess_hmm_model *model)
{
    int64_t n = 0;
    for (int32_t s = 0; s < model->n_state; s++) {
        n += model->enters_evenly[s] ? 0 : model->first[s + 1] - model->first[s];
    }
    return n;
}

static inline int64_t tess_hmm_forecast_width(const tess_hmm_model *model)
{
    return (tess_hmm_forecast_bins(model) + 2 * (int64_t)model->n_state + 7) / 8 * 8;
}

// What a row is multiplied by that adds up to sum. The original adds 1e-15 to sums, which nobody
// sees but in rows that are very unlikely: these would be left without most of what they hold, so
// to theirs nothing is added. A sum of 0, or nearly, is that of an impossible row.
#define TESS_HMM_SHARE(sum)                                                                        \
    ((sum) > 1e-9 ? 1 / ((sum) + 1e-15) : (sum) >= DBL_MIN ? 1 / (sum) : 0.0)

// Where a run of rows begins: with what the stage is handed, at an end of a sequence, or with a
// guess.
enum { TESS_HMM_CARRIED = 0, TESS_HMM_EDGE = 1, TESS_HMM_GUESSED = 2 };

// Rows that a device takes beside others.
typedef struct tess_hmm_run {
    int64_t first;
    int64_t n_row;
    int64_t n_guess; // rows before it, or for the smoother behind it, that a guess goes through
    int32_t begins;
    int32_t reserved;
} tess_hmm_run;

// Runs of a stage's rows, side by side, in the order of time. One that begins with a guess is wrong
// unless the row next to it comes out as guessed, bit by bit: the stage says so, and takes that row
// when it is called again. It stops at the first row that comes out as it was.
typedef struct tess_hmm_runs {
    int64_t n;               // 0: all rows are one run, carried
    const tess_hmm_run *run; // [n]
    double *guess;           // [n][N_s] the row next to each run, as it was taken to be
    int32_t *is_wrong;       // [n] out; in, if again: those that are to be done
    double *ended;           // [N_s] out: what the next stage is to be handed
    int32_t again;
    int32_t reserved;
} tess_hmm_runs;

// For t < n_row: u = predicted * exp(ll_t - max), filtered_t = u * TESS_HMM_SHARE(sum) rounded to
// dtype, predicted = filtered_t * A.
typedef struct tess_stage_decode_hmm_filter {
    const tess_hmm_model *model;
    double *scratch; // [n_scratch]; cells 0 at first
    int64_t n_row;
    const void *ll; // [n_row][n_ll]
    int32_t ll_dtype;
    int32_t dtype;
    const double *transition; // [n_state][n_state]; row t drives t -> t+1
    int64_t transition_stride;
    double *predicted;         // [N_s] in: of the first row; out: of the row after the last
    void *filtered;            // [n_row][N_s] out
    void *predicted_rows;      // [n_row][N_s] out, or NULL
    double *causal_states;     // [n_row][S] out, or NULL
    double *predictive_states; // [n_row][S] out, or NULL
    double *log_norm;          // [n_row] out: log of the sum, plus max; -infinity if impossible
    double *ahead;             // [ahead_items]; NULL: no other thread is to be woken
    const double *initial;     // [N_s] of runs at the start of a sequence
    tess_hmm_runs runs;        // of devices with their own memory
    double *forecasts;         // [n_row][forecast width] out, or NULL; of the CPU alone
} tess_stage_decode_hmm_filter;

// For t = n_row-1 .. 0: smoothed_t = filtered_t * (A (smoothed_t+1 / predicted_t+1)), normalised.
typedef struct tess_stage_decode_hmm_smooth {
    const tess_hmm_model *model;
    double *scratch;
    int64_t n_row;
    int32_t dtype;
    int32_t is_last;
    const double *transition;
    int64_t transition_stride;
    void *filtered;          // [n_row][N_s] in; out: smoothed
    double *next;            // [N_s] smoothed row after the chunk; out: its first smoothed row
    double *acausal_states;  // [n_row][S] out, or NULL
    double *ahead;           // [ahead_items]
    double *lanes;           // [n_lane][n_scratch], as scratch
    int64_t n_lane;          // TESS_HMM_LANES, or the threads if they are fewer; 1: no other
                             // thread is to be woken
    void *smoothed;          // [n_row][N_s] out of runs, beside filtered
    tess_hmm_runs runs;      // of devices with their own memory
    const double *forecasts; // [n_row][forecast width] of the filter; NULL: they are made again
} tess_stage_decode_hmm_smooth;

// Best continuations. scores[t][s] is the best log probability of what follows row t when s is the
// bin of row t: for t = n_row-1 .. 0
//     scores[t][s] = max over s' of log A[s][s'] + ll[t+1][s'] + scores[t+1][s'].
typedef struct tess_stage_decode_hmm_scores {
    const tess_hmm_model *model; // tables are logarithms
    double *scratch;             // cells -infinity at first
    int64_t n_row;
    const void *ll; // [n_row + 1][n_ll]: one row beyond the last
    int32_t ll_dtype;
    int32_t reserved;
    const double *transition; // logarithms
    int64_t transition_stride;
    const double *next; // [N_s] scores of the row after the last
    double *scores;     // [n_row][N_s] out; NULL: only the first row is wanted
    double *first;      // [N_s] out: scores[0]
} tess_stage_decode_hmm_scores;

// The best way on, the lowest of equals: for t = 0 .. n_row-1 path[t] is the s' with the largest
//     log A[path[t-1]][s'] + ll[t][s'] + scores[t][s'].
typedef struct tess_stage_decode_hmm_trace {
    const tess_hmm_model *model; // tables are logarithms
    double *scratch;             // cells -infinity at first
    int64_t n_row;
    const void *ll; // [n_row][n_ll]
    int32_t ll_dtype;
    int32_t reserved;
    const double *transition; // logarithms; row t drives t-1 -> t
    int64_t transition_stride;
    const double *scores; // [n_row][N_s]
    int64_t from;         // the bin before path[0]
    int64_t *path;        // [n_row] out
} tess_stage_decode_hmm_trace;

// Both for whole sequences side by side, of devices with their own memory. The first bin of each is
// the lowest s with the largest initial[s] + ll[t][s] + scores[t][s].
typedef struct tess_stage_decode_hmm_paths {
    const tess_hmm_model *model; // tables are logarithms
    double *scratch;
    int64_t n_row;
    const void *ll; // [n_row][n_ll]
    int32_t ll_dtype;
    int32_t reserved;
    const double *transition; // logarithms; row t drives t -> t+1
    int64_t transition_stride;
    const double *initial; // [N_s] logarithms
    const double *share;   // [n_state] -log of a state's bins
    int64_t n_run;
    const tess_hmm_run *run; // [n_run] of first and n_row alone
    double *scores;          // [n_row][N_s] out
    int64_t *path;           // [n_row] out
} tess_stage_decode_hmm_paths;

#endif
