#include "systems/autoreject/epochs/projection.h"

#include "numerics/symmetric.h"

#include <math.h>
#include <string.h>

static const double LEAST_SINGULAR_VALUE = 1e-2;

int64_t tess_ar_projector_count(const tess_autoreject_sensors *sensors)
{
    int64_t n = 0;
    for (int64_t i = 0; i < sensors->n_projector; i++) {
        n += sensors->projectors[i].n_vector;
    }
    return n;
}

// Index of a name in the projector, -1 if it is not there.
static int64_t find_name(const tess_autoreject_projector *projector, const char *name)
{
    for (int64_t k = 0; k < projector->n_chan; k++) {
        if (strcmp(projector->channel_names[k], name) == 0) {
            return k;
        }
    }
    return -1;
}

void tess_ar_projector_vectors(const tess_autoreject_sensors *sensors, const int64_t *channels,
                               int64_t n, double *vectors)
{
    for (int64_t p = 0; p < sensors->n_projector; p++) {
        const tess_autoreject_projector *projector = &sensors->projectors[p];
        for (int64_t i = 0; i < n; i++) {
            const int64_t k = find_name(projector, sensors->channels[channels[i]].name);
            for (int64_t v = 0; v < projector->n_vector; v++) {
                vectors[v * n + i] = k < 0 ? 0 : projector->vectors[v * projector->n_chan + k];
            }
        }
        vectors += projector->n_vector * n;
    }
}

static double product(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

static void scale(double *x, int64_t n, double by)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] *= by;
    }
}

// Rows of basis [count][n] become their combinations by the rows of turn [count][count] that are
// kept, of length 1. column has room for count items.
static int64_t combine(double *basis, int64_t n, const double *turn, const double *values,
                       int64_t count, double *column)
{
    double most = 0;
    for (int64_t k = 0; k < count; k++) {
        most = values[k] > most ? values[k] : most;
    }
    const double least = LEAST_SINGULAR_VALUE * LEAST_SINGULAR_VALUE * most;
    for (int64_t i = 0; i < n; i++) {
        int64_t kept = 0;
        for (int64_t k = 0; k < count; k++) {
            column[k] = basis[k * n + i];
        }
        for (int64_t k = 0; k < count; k++) {
            if (values[k] > least) {
                basis[kept++ * n + i] = product(turn + k * count, column, count);
            }
        }
    }
    int64_t kept = 0;
    for (int64_t k = 0; k < count; k++) {
        kept += values[k] > least;
    }
    for (int64_t k = 0; k < kept; k++) {
        double *row = basis + k * n;
        scale(row, n, 1 / sqrt(product(row, row, n)));
    }
    return kept;
}

int64_t tess_ar_projection_basis(const double *vectors, int64_t n_vector, int64_t n,
                                 const int32_t *from, int64_t n_from, double *work, double *basis)
{
    int64_t count = 0;
    for (int64_t v = 0; v < n_vector; v++) {
        double *row = basis + count * n_from;
        for (int64_t i = 0; i < n_from; i++) {
            row[i] = vectors[v * n + from[i]];
        }
        const double square = product(row, row, n_from);
        if (square > 0) {
            scale(row, n_from, 1 / sqrt(square));
            count++;
        }
    }
    // Singular vectors from the products among the few vectors: those kept are far from rounding.
    double *products = work;
    double *turn = work + n_vector * n_vector;
    double *values = turn + n_vector * n_vector;
    double *column = values + n_vector;
    for (int64_t k = 0; k < count; k++) {
        for (int64_t l = 0; l < count; l++) {
            products[k * count + l] = product(basis + k * n_from, basis + l * n_from, n_from);
        }
    }
    tess_symmetric_eigen(products, count, values, turn);
    return combine(basis, n_from, turn, values, count, column);
}
