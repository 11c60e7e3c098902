// The series of dot products of lead fields in a sphere.
#ifndef TESS_KERNELS_FIELD_H
#define TESS_KERNELS_FIELD_H

#include <stddef.h>

enum { TESS_FIELD_TERMS = 99 };

// Term n = 1, 2, ... of the series, and of the recurrence of Legendre's polynomials:
//   P_n = up x P_n-1 - down P_n-2
typedef struct tess_field_term {
    double c1, c2, c3;
    double up, down, n;
} tess_field_term;

static inline void tess_field_terms(tess_field_term *terms, size_t n_term)
{
    for (size_t i = 0; i < n_term; i++) {
        const double n = (double)i + 1;
        terms[i].c1 = n * (n + 1) / (2 * n + 1);
        terms[i].c2 = n / (2 * n + 1);
        terms[i].c3 = n / ((2 * n + 1) * (n + 1));
        terms[i].up = (2 * n - 1) / n;
        terms[i].down = (n - 1) / n;
        terms[i].n = n;
    }
}

// 4e-14 pi: the constants of the field, squared and divided by those of the mean over the sphere.
static const double TESS_FIELD_UNIT = 4e-14 * 3.14159265358979323846;

#endif
