// Dot products of lead fields between points; built once per ISA.

#include "kernels/field.h"
#include "kernels/isa.h"
#include "kernels/simd/vec.h"

// The four sums over the terms; a macro, because vectors of SVE cannot be returned in a struct.
#define SERIES(x, beta)                                                                            \
    v_f64 s1 = v_set1_f64(0), s2 = s1, s3 = s1, s4 = s1;                                           \
    v_f64 p0 = s1, p = v_set1_f64(1), dp = s1, ddp = s1; /* P_n-2, P_n-1 and its derivatives */    \
    v_f64 power = beta;                                                                            \
    for (size_t i = 0; i < n_term; i++) {                                                          \
        const tess_field_term *t = &terms[i];                                                      \
        const v_f64 next =                                                                         \
            v_fnma_f64(v_set1_f64(t->down), p0, v_mul_f64(v_mul_f64(v_set1_f64(t->up), x), p));    \
        ddp = v_fma_f64(x, ddp, v_mul_f64(v_set1_f64(t->n + 1), dp));                              \
        dp = v_fma_f64(x, dp, v_mul_f64(v_set1_f64(t->n), p));                                     \
        p0 = p;                                                                                    \
        p = next;                                                                                  \
        power = v_mul_f64(power, beta);                                                            \
        const v_f64 first = v_mul_f64(power, dp);                                                  \
        s1 = v_fma_f64(v_set1_f64(t->c1), v_mul_f64(power, p), s1);                                \
        s2 = v_fma_f64(v_set1_f64(t->c2), first, s2);                                              \
        s3 = v_fma_f64(v_set1_f64(t->c3), first, s3);                                              \
        s4 = v_fma_f64(v_set1_f64(t->c3), v_mul_f64(power, ddp), s4);                              \
    }

void TESS_KFN(field_dots)(const double *restrict point, const double *restrict place,
                          const double *restrict normal, const double *restrict length,
                          size_t stride, size_t n, double radius, size_t n_term,
                          double *restrict out)
{
    tess_field_term terms[TESS_FIELD_TERMS];
    tess_field_terms(terms, n_term);
    const v_f64 ex = v_set1_f64(point[0]), ey = v_set1_f64(point[1]), ez = v_set1_f64(point[2]);
    const v_f64 nx = v_set1_f64(point[3]), ny = v_set1_f64(point[4]), nz = v_set1_f64(point[5]);
    const v_f64 l = v_set1_f64(point[6]);
    const v_f64 n1c1 = v_fma_f64(ez, nz, v_fma_f64(ey, ny, v_mul_f64(ex, nx)));
    const v_f64 one = v_set1_f64(1), minus_one = v_set1_f64(-1);
    for (size_t j = 0; j < n; j += v_len_f64()) {
        const size_t left = n - j;
        const v_f64 fx = v_take_f64(place + j, left);
        const v_f64 fy = v_take_f64(place + stride + j, left);
        const v_f64 fz = v_take_f64(place + 2 * stride + j, left);
        const v_f64 mx = v_take_f64(normal + j, left);
        const v_f64 my = v_take_f64(normal + stride + j, left);
        const v_f64 mz = v_take_f64(normal + 2 * stride + j, left);
        const v_f64 lengths =
            left >= v_len_f64() ? v_load_f64(length + j) : v_load_n_f64(length + j, left, 1);
        const v_f64 inverse = v_div_f64(one, v_mul_f64(l, lengths));
        const v_f64 cosine = v_fma_f64(ez, fz, v_fma_f64(ey, fy, v_mul_f64(ex, fx)));
        const v_f64 x = v_min_f64(v_max_f64(cosine, minus_one), one);
        const v_f64 n1c2 = v_fma_f64(nz, fz, v_fma_f64(ny, fy, v_mul_f64(nx, fx)));
        const v_f64 n2c1 = v_fma_f64(mz, ez, v_fma_f64(my, ey, v_mul_f64(mx, ex)));
        const v_f64 n2c2 = v_fma_f64(mz, fz, v_fma_f64(my, fy, v_mul_f64(mx, fx)));
        const v_f64 n1n2 = v_fma_f64(mz, nz, v_fma_f64(my, ny, v_mul_f64(mx, nx)));
        const v_f64 beta = v_mul_f64(v_set1_f64(radius * radius), inverse);
        SERIES(x, beta);
        const v_f64 both = v_mul_f64(n1c1, n2c2);
        const v_f64 p1 = v_mul_f64(x, both);
        const v_f64 p2 = v_fma_f64(n1c2, n2c2, v_mul_f64(n1c1, n2c1));
        v_f64 d = v_mul_f64(both, s1);
        d = v_fma_f64(v_sub_f64(v_add_f64(p1, p1), p2), s2, d);
        d = v_fma_f64(v_sub_f64(v_add_f64(n1n2, p1), p2), s3, d);
        d = v_fma_f64(v_mul_f64(v_fnma_f64(x, n1c1, n1c2), v_fnma_f64(x, n2c2, n2c1)), s4, d);
        d = v_mul_f64(d, v_mul_f64(v_set1_f64(TESS_FIELD_UNIT), inverse));
        v_put_f64(out + j, left, d);
    }
}
