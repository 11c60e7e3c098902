// Movements between the bins of two states as linear operators.
#ifndef TESS_SYSTEMS_DECODE_TRANSITION_H
#define TESS_SYSTEMS_DECODE_TRANSITION_H

#include "base/blocks.h"
#include "stage/decode_hmm.h"
#include "tessera/decode/detector.h"

// Both directions of a movement C [n_in][n_out]: x C and C x.
typedef struct tess_de_operator {
    tess_hmm_operator forward;
    tess_hmm_operator backward;
    int64_t cost; // vector operations of both, roughly
} tess_de_operator;

// What a Gaussian step may be worth and still be left out: below what float32 can hold, or, when
// exact, nothing that float64 can.
double tess_de_least_step(int is_exact);

// From a matrix over interior bins, row by row; blocks of zeros are left out (transition_matrix.c).
TESS_MUST_CHECK tess_status tess_de_operator_of_matrix(tess_blocks *blocks, const double *matrix,
                                                       int64_t n_in, int64_t n_out, int is_exact,
                                                       tess_de_operator *out);

// A random walk on a grid: rows scaled, then one convolution per axis, at interior bins only
// (transition_grid.c).
TESS_MUST_CHECK tess_status tess_de_operator_of_walk(tess_blocks *blocks,
                                                     const tess_decode_environment_info *env,
                                                     const tess_decode_movement *movement,
                                                     int is_exact, tess_de_operator *out);

// The same walk, which is not exact, by way of nodes where that is cheaper: sums to 1e-12 of
// themselves, and not of tables whose logarithms could be added (transition_nodes.c).
TESS_MUST_CHECK tess_status tess_de_operator_by_nodes(tess_blocks *blocks,
                                                      const tess_decode_environment_info *env,
                                                      const tess_decode_movement *movement,
                                                      const tess_de_operator *walk,
                                                      tess_de_operator *out);

#endif
