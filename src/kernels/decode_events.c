// Sums of window masses along lines; built once per ISA.
//
// Four vectors of neighbouring lines at a time: their sums stay in registers while the rows pass
// by, so that an item costs one load and one addition. A block that a row does not reach at all is
// left out; one that it reaches in part reads zeros beyond the row's ends.

#include "kernels/isa.h"
#include "kernels/simd/vec.h"

#include <math.h>

// The largest of the first n of four vectors.
static double largest_of_part(v_f64 s0, v_f64 s1, v_f64 s2, v_f64 s3, size_t n)
{
    double items[4 * V_MAX_BYTES / sizeof(double)];
    const size_t step = v_len_f64();
    v_store_f64(items, s0);
    v_store_f64(items + step, s1);
    v_store_f64(items + 2 * step, s2);
    v_store_f64(items + 3 * step, s3);
    double most = -(double)INFINITY;
    for (size_t i = 0; i < n; i++) {
        most = items[i] > most ? items[i] : most;
    }
    return most;
}

void TESS_KFN(events_line)(const double *const *restrict rows, const int64_t *restrict shift,
                           const int64_t *restrict n_item, size_t n_row, double base, int64_t first,
                           size_t n, double *restrict best)
{
    const size_t step = v_len_f64();
    const size_t block = 4 * step;
    v_f64 most = v_set1_f64(-(double)INFINITY);
    double tail = -(double)INFINITY;
    for (size_t i = 0; i < n; i += block) {
        v_f64 s0 = v_set1_f64(base), s1 = s0, s2 = s0, s3 = s0;
        const int64_t at = first + (int64_t)i;
        for (size_t k = 0; k < n_row; k++) {
            const int64_t from = at + shift[k];
            if (from + (int64_t)block <= 0 || from >= n_item[k]) {
                continue;
            }
            const double *x = rows[k] + from;
            s0 = v_add_f64(s0, v_load_f64(x));
            s1 = v_add_f64(s1, v_load_f64(x + step));
            s2 = v_add_f64(s2, v_load_f64(x + 2 * step));
            s3 = v_add_f64(s3, v_load_f64(x + 3 * step));
        }
        if (n - i >= block) {
            most = v_max_f64(most, v_max_f64(v_max_f64(s0, s1), v_max_f64(s2, s3)));
        } else {
            tail = largest_of_part(s0, s1, s2, s3, n - i);
        }
    }
    const double whole = v_hmax_f64(most);
    *best = whole > tail ? whole : tail;
}
