// A rank's part of a pass over leaves that several ranks divide.
//
// Leaves that are summed have numbers in the order of the tree. A rank takes a range of them, and
// what it has at the end are the sums of the longest stretches of 2^k leaves in its range whose
// first number is a multiple of 2^k. Those of all ranks, in order, make up the tree: the additions
// are those of one process.
#ifndef TESS_XPCS_PASS_SHARE_H
#define TESS_XPCS_PASS_SHARE_H

#include "base/status.h"

#include <stdint.h>

enum { TESS_XP_MAX_PIECE = 128 };

typedef struct tess_xp_share {
    double *sums; // [tess_xp_share_pieces()][n_sum]
    int64_t n_sum;
    int64_t next;                      // number of the leaf that comes next
    int64_t n_piece;                   // stretches so far
    int64_t length[TESS_XP_MAX_PIECE]; // leaves of each
} tess_xp_share;

// Stretches that a range of n_leaf leaves makes up while it is pushed, at most.
int64_t tess_xp_share_pieces(int64_t n_leaf);
void tess_xp_share_begin(tess_xp_share *share, int64_t first);
// Sums [n_sum] of the next 2^k leaves, whose first number is a multiple of 2^k.
void tess_xp_share_push(tess_xp_share *share, const double *sums, int64_t n_leaf);

#endif
