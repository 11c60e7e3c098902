// The errors of growing means against a median over the 16 samples of a tile; built once per ISA.

#include "kernels/isa.h"
#include "kernels/simd/vec.h"

// Rows whose squares wait in the first-level cache to be summed across.
enum { TILE = 16, HALF = 8, BLOCK = 64 };

static inline v_f64 load_part(const double *p, size_t width)
{
    return width == v_len_f64() ? v_load_f64(p) : v_load_n_f64(p, width, 0);
}

static inline void store_part(double *p, size_t width, v_f64 v)
{
    if (width == v_len_f64()) {
        v_store_f64(p, v);
    } else {
        v_store_n_f64(p, width, v);
    }
}

// squares[i][.] of n rows for the lanes x and x + HALF; sum and minus_median point at the same
// lanes.
static inline void squares_of(const double *x, const int32_t *index, const double *inverse,
                              size_t n, size_t width, const double *minus_median, double *sum,
                              double *squares)
{
    const v_f64 m0 = load_part(minus_median, width), m1 = load_part(minus_median + HALF, width);
    v_f64 s0 = load_part(sum, width), s1 = load_part(sum + HALF, width);
    for (size_t i = 0; i < n; i++) {
        const double *row = x + (ptrdiff_t)index[i] * TILE;
        s0 = v_add_f64(s0, load_part(row, width));
        s1 = v_add_f64(s1, load_part(row + HALF, width));
        const v_f64 by = v_set1_f64(inverse[i]);
        const v_f64 r0 = v_fma_f64(s0, by, m0), r1 = v_fma_f64(s1, by, m1);
        store_part(squares + i * HALF, width, v_fma_f64(r1, r1, v_mul_f64(r0, r0)));
    }
    store_part(sum, width, s0);
    store_part(sum + HALF, width, s1);
}

void TESS_KFN(autoreject_curve)(const double *restrict x, const int32_t *restrict index,
                                const double *restrict inverse, size_t n,
                                const double *restrict median, double *restrict sse)
{
    double minus_median[TILE];
    double sum[TILE] = {0};
    double squares[BLOCK * HALF] __attribute__((aligned(64))) = {0};
    const size_t width = v_len_f64() < HALF ? v_len_f64() : HALF;
    for (size_t t = 0; t < TILE; t++) {
        minus_median[t] = -median[t];
    }
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t count = n - first < BLOCK ? n - first : BLOCK;
        for (size_t t = 0; t < HALF; t += width) {
            squares_of(x + t, index + first, inverse + first, count, width, minus_median + t,
                       sum + t, squares + t);
        }
        for (size_t i = 0; i < count; i += 8) {
            double total[8];
            v_row_sums_f64(squares + i * HALF, total);
            for (size_t j = 0; j < 8 && i + j < count; j++) {
                sse[first + i + j] += total[j];
            }
        }
    }
}
