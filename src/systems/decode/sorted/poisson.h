// Penalised Poisson regression on splines of place, by Newton's method.
#ifndef TESS_SYSTEMS_DECODE_POISSON_H
#define TESS_SYSTEMS_DECODE_POISSON_H

#include "systems/decode/sorted/spline.h"

// Samples by cell of the spline; near ones may stand for each other.
typedef struct tess_de_poisson_data {
    const tess_de_spline *spline;
    double n_sample;      // what the likelihood is divided by
    double total_weight;  // of the samples
    int64_t n;            // entries below
    const int64_t *first; // [n_cell + 1]
    const double *weight; // [n]
    const double *factor; // [n][n_local]
    double penalty;
} tess_de_poisson_data;

// Takes samples [n_sample][n_dim]; more than merge_above of them are merged within cells of
// merge_width, which changes rates by less than the square of width over knot distance.
TESS_MUST_CHECK tess_status tess_de_poisson_prepare(tess_blocks *blocks, tess_blocks *scratch,
                                                    const tess_de_spline *spline,
                                                    const double *places, const double *weights,
                                                    int64_t n_sample, double merge_width,
                                                    int64_t merge_above, tess_de_poisson_data *out);

size_t tess_de_poisson_scratch_items(const tess_de_spline *spline);

// Minimises
//     (sum_j w_j exp(eta_j) - sum_i w_i eta(z_i)) / n_sample + penalty |c|^2,  eta = b + basis c
// over samples j and spikes i. spike_term [n_term] = sum_i w_i terms(z_i), spike_weight = sum_i w_i
// > 0. Out: coefficient [1 + n_free] = b, c, and term [n_term] = basis c. Returns the number of
// iterations, negative if it stopped at the limit.
int tess_de_poisson_fit(const tess_de_poisson_data *data, const double *spike_term,
                        double spike_weight, double *scratch, double *coefficient, double *term);

#endif
