// Whether values gather at two places.
//
// Valley. Of a density with one top, and intervals L < I < R of one width, I has at least the mass
// of the lighter of L and R: where the top lies left of I, I has more than R; right of it, more
// than L; within I = [a, b], at m, what I has is at least (m - a) f(a) + (b - m) f(b), and that is
// a weighted mean of what L and R have at most. So draws that are significantly fewer in I than in
// both have two tops, whatever their shape: skewness and long tails do not make a valley. How far
// counts scatter is taken from the counts of stretches of the chains, which knows how slowly they
// move, and is no less than that of independent draws.
//
// Chains apart. One of few chains that is stuck elsewhere may leave a valley too shallow for
// counts. Two normals of one deviation have two tops only if their means are more than 2 of it
// apart; so chains whose means are, and that moved enough to tell, are at two places.
#ifndef TESS_NUMERICS_TWO_MODES_H
#define TESS_NUMERICS_TWO_MODES_H

#include "numerics/chain_stats.h"

typedef struct tess_two_modes {
    double weight[2]; // shares of the values left and right of the valley, or of the chains
    double mean[2];
    double sd[2];
    double separation; // of the means, in the pooled sd; 0 where there is one place
    int32_t is_bimodal;
    int32_t reserved;
} tess_two_modes;

// Of x [n_chain][n_draw], the shape of the room, whose sorted are these; its squares, centred and
// rho are written.
void tess_two_modes_of(const double *x, const tess_chain_room *room, tess_two_modes *out);

#endif
