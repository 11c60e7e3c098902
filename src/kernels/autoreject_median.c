// Medians over epochs of the 16 samples of a tile; built once per ISA.
//
// Lanes are samples: nothing is moved or transposed. A pass over the rows counts what lies below a
// pivot of each lane and finds the neighbours of the pivot on both sides, and every pass narrows
// the bracket that holds the middle by at least one value. Pivots come from where the median of
// other epochs was, then from interpolation, which hits the middle after four passes or five as
// long as values lie evenly; some passes halve the bracket in its representation instead, so that
// no data need more than some hundred.

#include "kernels/isa.h"
#include "kernels/simd/vec.h"

#include <math.h>

enum {
    TILE = 16,
    SAMPLE = 8,    // a first guess is the median of every eighth row
    FEW_ROWS = 24, // not worth a sample
    PATIENT = 7,   // passes before some of them bisect
};

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

// Of the n rows: how many are below the pivot, the largest of these, the smallest of the others.
static inline void tally(const double *x, size_t stride, size_t n, size_t width, v_f64 pivot,
                         v_f64 *count, v_f64 *below, v_f64 *above)
{
    const v_f64 one = v_set1_f64(1), zero = v_set1_f64(0);
    const v_f64 least = v_set1_f64(-(double)INFINITY), most = v_set1_f64((double)INFINITY);
    v_f64 c0 = zero, c1 = zero, b0 = least, b1 = least, a0 = most, a1 = most;
    size_t i = 0;
    for (; i + 2 <= n; i += 2) {
        const v_f64 x0 = load_part(x + i * stride, width);
        const v_f64 x1 = load_part(x + (i + 1) * stride, width);
        const v_mask_f64 m0 = v_lt_f64(x0, pivot), m1 = v_lt_f64(x1, pivot);
        c0 = v_add_f64(c0, v_select_f64(m0, one, zero));
        c1 = v_add_f64(c1, v_select_f64(m1, one, zero));
        b0 = v_max_f64(b0, v_select_f64(m0, x0, least));
        b1 = v_max_f64(b1, v_select_f64(m1, x1, least));
        a0 = v_min_f64(a0, v_select_f64(m0, most, x0));
        a1 = v_min_f64(a1, v_select_f64(m1, most, x1));
    }
    if (i < n) {
        const v_f64 x0 = load_part(x + i * stride, width);
        const v_mask_f64 m0 = v_lt_f64(x0, pivot);
        c0 = v_add_f64(c0, v_select_f64(m0, one, zero));
        b0 = v_max_f64(b0, v_select_f64(m0, x0, least));
        a0 = v_min_f64(a0, v_select_f64(m0, most, x0));
    }
    *count = v_add_f64(c0, c1);
    *below = v_max_f64(b0, b1);
    *above = v_min_f64(a0, a1);
}

// Whole numbers in the order of the doubles, and back.
static inline v_u64 key_of(v_f64 x)
{
    const v_u64 bits = v_bits_f64(x), sign = v_set1_u64((uint64_t)1 << 63);
    const v_f64 flipped = v_from_bits_f64(v_xor_u64(bits, v_set1_u64(UINT64_MAX)));
    return v_bits_f64(
        v_select_f64(v_test_f64(bits, sign), flipped, v_from_bits_f64(v_xor_u64(bits, sign))));
}

static inline v_f64 of_key(v_u64 key)
{
    const v_u64 sign = v_set1_u64((uint64_t)1 << 63);
    const v_f64 flipped = v_from_bits_f64(v_xor_u64(key, v_set1_u64(UINT64_MAX)));
    return v_select_f64(v_test_f64(key, sign), v_from_bits_f64(v_xor_u64(key, sign)), flipped);
}

static inline v_f64 halfway(v_f64 low, v_f64 high)
{
    const v_u64 a = key_of(low), b = key_of(high);
    return of_key(v_add_u64(v_and_u64(a, b), v_shr_u64(v_xor_u64(a, b), 1)));
}

// The medians of a vector of lanes. low..high holds the middle value, of rank n / 2 from 0;
// n_low values are below low, n_high are not above high. step as in kernels.h.
static inline void median_part(const double *x, size_t stride, size_t n, size_t width,
                               int has_guess, double *median, double *step)
{
    const v_f64 inf = v_set1_f64((double)INFINITY), minus_inf = v_set1_f64(-(double)INFINITY);
    const v_f64 half = v_set1_f64(0.5), zero = v_set1_f64(0), one = v_set1_f64(1);
    const v_f64 k = v_set1_f64((double)(n / 2));
    const v_f64 many = v_set1_f64(sqrt((double)n) < 2 ? 2 : sqrt((double)n));
    v_f64 low = minus_inf, high = inf, n_low = zero, n_high = v_set1_f64((double)n);
    v_f64 gap = load_part(step, width), reach = gap, pivot = load_part(median, width);
    v_f64 result = pivot, count, below, above;
    if (!has_guess) {
        tally(x, stride, n, width, inf, &count, &high, &above);
        tally(x, stride, n, width, minus_inf, &count, &below, &low);
        pivot = v_fma_f64(v_sub_f64(high, low), half, low);
    }
    for (unsigned pass = 0;; pass++) {
        tally(x, stride, n, width, pivot, &count, &below, &above);
        const v_mask_f64 is_hit = v_eq_f64(count, k);
        const v_mask_f64 is_over = v_lt_f64(k, count), is_under = v_lt_f64(count, k);
        high = v_select_f64(is_over, below, high), n_high = v_select_f64(is_over, count, n_high);
        low = v_select_f64(is_under, above, low), n_low = v_select_f64(is_under, count, n_low);
        const v_f64 middle = n % 2 ? above : v_mul_f64(half, v_add_f64(below, above));
        const v_mask_f64 is_closed = v_eq_f64(low, high);
        const v_mask_f64 is_done = v_mask_or_f64(is_hit, is_closed);
        result = v_select_f64(is_hit, middle, v_select_f64(is_closed, low, result));
        if (!v_any_f64(v_lt_f64(v_select_f64(is_done, one, zero), half))) {
            break;
        }
        const v_f64 between = v_sub_f64(v_sub_f64(n_high, n_low), one);
        const v_f64 span = v_sub_f64(high, low);
        const v_f64 density = v_div_f64(span, between);
        const v_mask_f64 no_low = v_eq_f64(low, minus_inf), no_high = v_eq_f64(high, inf);
        const v_mask_f64 is_open = v_mask_or_f64(no_low, no_high);
        gap = v_select_f64(v_lt_f64(between, many), gap, v_select_f64(is_open, gap, density));
        v_f64 next = v_fma_f64(density, v_sub_f64(v_sub_f64(k, n_low), half), low);
        const v_f64 up = v_add_f64(v_sub_f64(k, n_low), one);
        const v_f64 down = v_add_f64(v_sub_f64(n_high, k), one);
        next = v_select_f64(no_high, v_fma_f64(reach, up, low), next);
        next = v_select_f64(no_low, v_fnma_f64(reach, down, high), next);
        reach = v_add_f64(reach, reach);
        if (pass >= PATIENT && pass % 2) {
            next = halfway(low, high);
        }
        // Strictly above low and not above high: then the bracket shrinks.
        next = v_select_f64(v_lt_f64(low, next), next, high);
        next = v_select_f64(v_lt_f64(high, next), high, next);
        pivot = v_select_f64(is_done, pivot, next);
    }
    // Of two zeros any may be the middle; adding +0 leaves one of them.
    store_part(median, width, v_add_f64(result, zero));
    store_part(step, width, gap);
}

// From a sample of the rows to all of them.
static inline void median_lanes(const double *x, size_t n, size_t width, double *median,
                                double *step)
{
    size_t stride = TILE;
    size_t n_row = n;
    int has_guess = 1;
    for (size_t t = 0; t < width; t++) {
        has_guess = has_guess && step[t] > 0;
    }
    while (!has_guess && n_row > FEW_ROWS) {
        n_row /= SAMPLE;
        stride *= SAMPLE;
    }
    median_part(x, stride, n_row, width, has_guess, median, step);
    while (n_row < n) {
        stride /= SAMPLE;
        n_row = stride == TILE ? n : n * TILE / stride;
        for (size_t t = 0; t < width; t++) {
            step[t] /= SAMPLE;
        }
        median_part(x, stride, n_row, width, 1, median, step);
    }
}

void TESS_KFN(autoreject_median)(const double *restrict x, size_t n, double *restrict median,
                                 double *restrict step)
{
    const size_t width = v_len_f64() < TILE ? v_len_f64() : TILE;
    for (size_t t = 0; t < TILE; t += width) {
        median_lanes(x + t, n, width, median + t, step + t);
    }
}
