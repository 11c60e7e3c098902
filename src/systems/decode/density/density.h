// Inside of density.c: expansions of a Gaussian KDE about the centres of cells.
#ifndef TESS_SYSTEMS_DECODE_DENSITY_H
#define TESS_SYSTEMS_DECODE_DENSITY_H

#include "runtime/context.h"

#include <stdbool.h>

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

// One and two dimensions. *done is false where cells would not pay: the caller adds pairs then.
TESS_MUST_CHECK tess_status tess_de_density_cells(const density_task *task, bool *done);

#endif
