// Dot products of lead fields between points, as plainly as they can be said.

#include "kernels/field.h"
#include "kernels/isa.h"

static double inner(const double *x, const double *y, size_t stride)
{
    return x[0] * y[0] + x[1] * y[stride] + x[2] * y[2 * stride];
}

void TESS_KFN(field_dots)(const double *restrict point, const double *restrict place,
                          const double *restrict normal, const double *restrict length,
                          size_t stride, size_t n, double radius, size_t n_term,
                          double *restrict out)
{
    tess_field_term terms[TESS_FIELD_TERMS];
    tess_field_terms(terms, n_term);
    for (size_t j = 0; j < n; j++) {
        const double f[3] = {place[j], place[stride + j], place[2 * stride + j]};
        const double lengths = point[6] * length[j];
        const double beta = radius * radius / lengths;
        double x = inner(point, f, 1);
        x = x > 1 ? 1 : x < -1 ? -1 : x;
        double s1 = 0, s2 = 0, s3 = 0, s4 = 0;
        double p0 = 0, p = 1, dp = 0, ddp = 0, power = beta;
        for (size_t i = 0; i < n_term; i++) {
            const tess_field_term *t = &terms[i];
            const double next = t->up * x * p - t->down * p0;
            ddp = x * ddp + (t->n + 1) * dp;
            dp = x * dp + t->n * p;
            p0 = p;
            p = next;
            power *= beta;
            s1 += t->c1 * power * p;
            s2 += t->c2 * power * dp;
            s3 += t->c3 * power * dp;
            s4 += t->c3 * power * ddp;
        }
        const double n1c1 = inner(point, point + 3, 1);
        const double n1c2 = inner(point + 3, f, 1);
        const double n2c1 = inner(point, normal + j, stride);
        const double n2c2 = inner(f, normal + j, stride);
        const double p1 = x * n1c1 * n2c2;
        const double p2 = n1c1 * n2c1 + n1c2 * n2c2;
        const double n1n2 = inner(point + 3, normal + j, stride);
        out[j] = TESS_FIELD_UNIT / lengths *
                 (n1c1 * n2c2 * s1 + (2 * p1 - p2) * s2 + (n1n2 + p1 - p2) * s3 +
                  (n1c2 - x * n1c1) * (n2c1 - x * n2c2) * s4);
    }
}
