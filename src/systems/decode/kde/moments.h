// Expansions of the place kernel about the centres of cells: which, and how good they are.
#ifndef TESS_SYSTEMS_DECODE_MOMENTS_H
#define TESS_SYSTEMS_DECODE_MOMENTS_H

#include "stage/decode_likelihood.h"

#include <stdbool.h>

enum { TESS_KDE_MAX_ORDER = 24 };

// Places are in units of sqrt(2) bandwidths, so that the kernel is exp(-(u - v)^2) and, with t in
// [-1, 1] the place of a spike within its cell of width h,
//
//     exp(-(u - v)^2) = exp(-u^2) exp(-v^2) exp(u h t),
//     exp(a t) = I_0(a) + 2 sum_k I_k(a) T_k(t)                       (Chebyshev)
typedef struct tess_kde_expansion {
    double width;  // of cells
    double reach;  // cells farther from a bin are left out
    double bound;  // certified relative error of sums down to exp(-depth) of the total weight
    double growth; // exp(v^2) at most
    int64_t order;
} tess_kde_expansion;

// The lowest order with which cells of this width keep the bound; false if there is none.
bool tess_kde_expansion_find(double width, int64_t n_dim, double depth, double bound,
                             tess_kde_expansion *out);

// table_k(u), k < order.
void tess_kde_expansion_table(const tess_kde_expansion *x, double u, double *table);

// T_k(t) exp(-v^2), k < order, t = 2 v / width.
void tess_kde_expansion_basis(const tess_kde_expansion *x, double v, double *basis);

#endif
