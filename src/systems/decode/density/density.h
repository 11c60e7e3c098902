// Gaussian kernel density estimates of positions.
#ifndef TESS_SYSTEMS_DECODE_DENSITY_H
#define TESS_SYSTEMS_DECODE_DENSITY_H

#include "runtime/context.h"
#include "tessera/decode/encoding.h"

#include <stdbool.h>

// An occupancy below this is a place never visited: a ratio of two such numbers says nothing.
#define TESS_DE_LEAST_OCCUPANCY 1e-30

// Gaussian KDE of samples [n][d] at targets [m][d], f64 out[m] (2.4). weights NULL: all 1. Exact
// mode adds every pair; else expansions within 1e-8 relative where the value is above 1e-30.
TESS_MUST_CHECK tess_status tess_de_density(tess_context *ctx, tess_decode_mode mode,
                                            const double *samples, const double *weights, int64_t n,
                                            int64_t d, const double *std, const double *targets,
                                            int64_t m, double *out);

// A KDE to be evaluated; places in units of the bandwidth are samples / std.
typedef struct density_task {
    tess_context *ctx;
    const double *samples; // [n][d]
    const double *weights; // [n] or NULL
    const double *targets; // [m][d]
    const double *std;     // [d]
    int64_t n;
    int64_t m;
    int64_t d;
    double scale; // of the sums: 1 / (sum of weights * norm)
    double *out;  // [m]
} density_task;

// density_cells.c: by expansions about the centres of cells, in one and two dimensions. *done is
// false where cells would not pay: the caller adds pairs then.
TESS_MUST_CHECK tess_status tess_de_density_cells(const density_task *task, bool *done);

#endif
