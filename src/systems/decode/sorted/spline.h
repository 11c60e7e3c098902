// Tensor products of natural cubic splines over places of one or two coordinates.
//
// A spline is given by its values v at the knots. Between knots j and j + 1 it is
//     am v_j + ap v_j+1 + cm s_j + cp s_j+1,   s = F v its second derivatives there,
// so that at any place only four numbers per coordinate count: values and second derivatives at two
// knots. Tensor products of these 2 n numbers per coordinate are called terms; beyond the outer
// knots a spline goes on as a line.
#ifndef TESS_SYSTEMS_DECODE_SPLINE_H
#define TESS_SYSTEMS_DECODE_SPLINE_H

#include "base/blocks.h"
#include "tessera/decode/environment.h"

enum { TESS_SPLINE_TERMS = 16 }; // at most, of one place

typedef struct tess_de_spline_axis {
    int64_t n_knot;
    double *knot;
    double *to_terms; // [2 n_knot][n_knot]: values, then second derivatives, from values
} tess_de_spline_axis;

// Free coefficients c are those with mean 0 over the samples: terms = basis c, c of n_free =
// n_value - 1 entries in an orthonormal frame, so that |c| is that of the values.
typedef struct tess_de_spline {
    int64_t n_dim;
    tess_de_spline_axis axes[2];
    int64_t n_term;  // of the whole product
    int64_t n_cell;  // between knots
    int64_t n_local; // terms of one place: 4 or 16
    int64_t n_free;
    double *basis; // [n_term][n_free]
    double *mean;  // [n_free + 1] over the samples, of what multiplies each value
} tess_de_spline;

// Knots spacing apart over the edges of the bins, those inside the samples' range, and its ends.
TESS_MUST_CHECK tess_status tess_de_spline_build(tess_blocks *blocks,
                                                 const tess_decode_environment_info *env,
                                                 const double *places, int64_t n, double spacing,
                                                 tess_de_spline *out);

// Cell of a place and its n_local factors.
int64_t tess_de_spline_at(const tess_de_spline *spline, const double *place, double *factors);
// Terms [n_local] that belong to a cell, in the order of the factors.
void tess_de_spline_terms(const tess_de_spline *spline, int64_t cell, int64_t *terms);

#endif
