// Medians over epochs of the 16 samples of a tile; built once per ISA.
//
// Lanes are samples: nothing is transposed. A pass over the rows counts what lies below a pivot of
// each lane. First on a copy rounded to f32, half as large: pivots begin where the median of other
// epochs was and go on by interpolation until no more than the middle values are between them,
// after seven passes or so. One pass over the samples themselves then finds these values, and makes
// sure of it by counting again. Where they are equal or nearly so it fails, and passes over the
// samples follow until the bracket is closed: each narrows it by at least one value, and some halve
// it in its representation, so that no data need more than some hundred.

#include "kernels/isa.h"
#include "kernels/simd/vec.h"

#include <math.h>

enum {
    TILE = 16,
    MOST_GUESSES = 12, // passes over the copy
    PATIENT = 7,       // passes over the samples before some of them bisect
};

// Of a gap, below which f32 does not look further.
static const float SMALLEST_GAP = 1.0f / 64;

// How far values lie apart in the middle of a normal distribution: this times the mean distance
// from the mean, over their number.
static const float NORMAL_GAP = 3.14f;

// How many of the n rows are below the pivot.
static inline v_f32 count_below(const float *x, size_t n, size_t width, v_f32 pivot)
{
    v_count_f32 c0 = v_count_none_f32(), c1 = c0, c2 = c0, c3 = c0;
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const float *row = x + i * TILE;
        c0 = v_count_where_f32(v_lt_f32(v_take_f32(row, width), pivot), c0);
        c1 = v_count_where_f32(v_lt_f32(v_take_f32(row + TILE, width), pivot), c1);
        c2 = v_count_where_f32(v_lt_f32(v_take_f32(row + 2 * TILE, width), pivot), c2);
        c3 = v_count_where_f32(v_lt_f32(v_take_f32(row + 3 * TILE, width), pivot), c3);
    }
    for (; i < n; i++) {
        c0 = v_count_where_f32(v_lt_f32(v_take_f32(x + i * TILE, width), pivot), c0);
    }
    return v_add_f32(v_add_f32(v_counted_f32(c0), v_counted_f32(c1)),
                     v_add_f32(v_counted_f32(c2), v_counted_f32(c3)));
}

// Mean, and mean distance from it, of each lane.
static inline void moments_of(const float *x, size_t n, size_t width, v_f32 *mean, v_f32 *distance)
{
    const v_f32 by = v_set1_f32(1 / (float)n);
    v_f32 sum = v_set1_f32(0), off = sum;
    for (size_t i = 0; i < n; i++) {
        sum = v_add_f32(sum, v_take_f32(x + i * TILE, width));
    }
    *mean = v_mul_f32(sum, by);
    for (size_t i = 0; i < n; i++) {
        off = v_add_f32(off, v_abs_f32(v_sub_f32(v_take_f32(x + i * TILE, width), *mean)));
    }
    *distance = v_mul_f32(off, by);
}

// Where nothing is known: the mean, and the gaps of a normal distribution.
static inline void start_part(const float *x, size_t n, size_t width, v_f32 *pivot, v_f32 *gap)
{
    const v_f32 zero = v_set1_f32(0), one = v_set1_f32(1);
    const v_mask_f32 is_known = v_lt_f32(zero, *gap);
    if (v_any_f32(v_lt_f32(v_select_f32(is_known, one, zero), one))) {
        v_f32 mean, distance;
        moments_of(x, n, width, &mean, &distance);
        const v_f32 by = v_set1_f32(NORMAL_GAP / (float)n);
        *pivot = v_select_f32(is_known, *pivot, mean);
        *gap = v_select_f32(is_known, *gap, v_mul_f32(distance, by));
    }
}

// Brackets the middle, which begins after n / 2 rows, from the first pivots on: below lows and
// highs are n / 2 rows each, or n / 2 - 1 and n / 2 + 1, or n / 2 + 1 below highs if n is odd; or
// the samples are too close to each other for f32 to tell. gaps are how far neighbours are apart
// there. In the loop n_low rows are below low, fewer than wanted, and n_high below high, more.
static inline void guess_part(const float *x, size_t n, size_t width, float *gaps, float *lows,
                              float *highs)
{
    const v_f32 inf = v_set1_f32((float)INFINITY), minus_inf = v_set1_f32(-(float)INFINITY);
    const v_f32 zero = v_set1_f32(0), one = v_set1_f32(1);
    const v_f32 k = v_set1_f32((float)(n / 2)), many = v_set1_f32(sqrtf((float)n));
    v_f32 low = minus_inf, high = inf, n_low = zero, n_high = v_set1_f32((float)n);
    v_f32 gap = v_take_f32(gaps, width), pivot = v_take_f32(lows, width);
    v_mask_f32 is_fine;
    start_part(x, n, width, &pivot, &gap);
    v_f32 reach = gap;
    for (int pass = 0;; pass++) {
        const v_f32 count = count_below(x, n, width, pivot);
        const v_mask_f32 is_over = v_lt_f32(k, count), is_under = v_lt_f32(count, k);
        high = v_select_f32(is_over, pivot, high), n_high = v_select_f32(is_over, count, n_high);
        low = v_select_f32(is_under, pivot, low), n_low = v_select_f32(is_under, count, n_low);
        const v_f32 between = v_sub_f32(n_high, n_low), span = v_sub_f32(high, low);
        const v_f32 up = v_sub_f32(k, n_low), down = v_sub_f32(n_high, k);
        is_fine = n % 2 ? v_lt_f32(down, v_set1_f32(1.5f)) : v_lt_f32(between, v_set1_f32(2.5f));
        const v_mask_f32 is_stuck = v_lt_f32(span, v_mul_f32(gap, v_set1_f32(SMALLEST_GAP)));
        const v_f32 to_do = v_select_f32(v_mask_or_f32(is_fine, is_stuck), zero,
                                         v_select_f32(v_mask_or_f32(is_over, is_under), one, zero));
        if (pass == MOST_GUESSES || !v_any_f32(v_lt_f32(zero, to_do))) {
            break;
        }
        const v_f32 density = v_div_f32(span, between);
        const v_mask_f32 no_low = v_eq_f32(low, minus_inf), no_high = v_eq_f32(high, inf);
        const v_mask_f32 is_open = v_mask_or_f32(no_low, no_high);
        gap = v_select_f32(v_mask_or_f32(is_open, v_lt_f32(between, many)), gap, density);
        v_f32 next = v_fma_f32(density, up, low);
        next = v_select_f32(no_high, v_fma_f32(reach, v_add_f32(up, one), low), next);
        next = v_select_f32(no_low, v_fnma_f32(reach, v_add_f32(down, one), high), next);
        reach = v_add_f32(reach, reach);
        pivot = v_select_f32(v_lt_f32(zero, to_do), next, pivot);
    }
    v_put_f32(lows, width, v_select_f32(is_fine, low, pivot));
    v_put_f32(highs, width, v_select_f32(is_fine, high, pivot));
    v_put_f32(gaps, width, gap);
}

// Of the rows in index: how many are below the pivot, the largest of these, the smallest of the
// others.
static inline void tally(const double *x, const int32_t *index, size_t n, size_t width, v_f64 pivot,
                         v_f64 *count, v_f64 *below, v_f64 *above)
{
    v_count_f64 c0 = v_count_none_f64(), c1 = c0;
    v_f64 b0 = v_set1_f64(-(double)INFINITY), b1 = b0, a0 = v_set1_f64((double)INFINITY), a1 = a0;
    size_t i = 0;
    for (; i + 2 <= n; i += 2) {
        const v_f64 x0 = v_take_f64(x + (ptrdiff_t)index[i] * TILE, width);
        const v_f64 x1 = v_take_f64(x + (ptrdiff_t)index[i + 1] * TILE, width);
        const v_mask_f64 m0 = v_lt_f64(x0, pivot), m1 = v_lt_f64(x1, pivot);
        c0 = v_count_where_f64(m0, c0), c1 = v_count_where_f64(m1, c1);
        b0 = v_select_f64(m0, v_max_f64(b0, x0), b0), b1 = v_select_f64(m1, v_max_f64(b1, x1), b1);
        a0 = v_select_f64(m0, a0, v_min_f64(a0, x0)), a1 = v_select_f64(m1, a1, v_min_f64(a1, x1));
    }
    if (i < n) {
        const v_f64 x0 = v_take_f64(x + (ptrdiff_t)index[i] * TILE, width);
        const v_mask_f64 m0 = v_lt_f64(x0, pivot);
        c0 = v_count_where_f64(m0, c0);
        b0 = v_select_f64(m0, v_max_f64(b0, x0), b0);
        a0 = v_select_f64(m0, a0, v_min_f64(a0, x0));
    }
    *count = v_add_f64(v_counted_f64(c0), v_counted_f64(c1));
    *below = v_max_f64(b0, b1);
    *above = v_min_f64(a0, a1);
}

// The medians from the brackets found on the copy; 0 if some do not hold for the samples.
static inline int settle_part(const double *x, const int32_t *index, size_t n, size_t width,
                              const double *lows, const double *highs, double *median)
{
    const v_f64 low = v_take_f64(lows, width), high = v_take_f64(highs, width);
    const v_f64 one = v_set1_f64(1), zero = v_set1_f64(0), k = v_set1_f64((double)(n / 2));
    v_count_f64 c_low = v_count_none_f64(), c_high = c_low, c_low1 = c_low, c_high1 = c_low;
    v_f64 below = v_set1_f64(-(double)INFINITY), above = v_set1_f64((double)INFINITY);
    v_f64 below1 = below, above1 = above;
    for (size_t i = 0; i + 2 <= n; i += 2) {
        const v_f64 a = v_take_f64(x + (ptrdiff_t)index[i] * TILE, width);
        const v_f64 b = v_take_f64(x + (ptrdiff_t)index[i + 1] * TILE, width);
        const v_mask_f64 a_low = v_lt_f64(a, low), a_below = v_lt_f64(a, high);
        const v_mask_f64 b_low = v_lt_f64(b, low), b_below = v_lt_f64(b, high);
        c_low = v_count_where_f64(a_low, c_low), c_low1 = v_count_where_f64(b_low, c_low1);
        c_high = v_count_where_f64(a_below, c_high), c_high1 = v_count_where_f64(b_below, c_high1);
        below = v_select_f64(a_below, v_max_f64(below, a), below);
        below1 = v_select_f64(b_below, v_max_f64(below1, b), below1);
        above = v_select_f64(a_low, above, v_min_f64(above, a));
        above1 = v_select_f64(b_low, above1, v_min_f64(above1, b));
    }
    if (n % 2) {
        const v_f64 a = v_take_f64(x + (ptrdiff_t)index[n - 1] * TILE, width);
        const v_mask_f64 a_low = v_lt_f64(a, low), a_below = v_lt_f64(a, high);
        c_low = v_count_where_f64(a_low, c_low), c_high = v_count_where_f64(a_below, c_high);
        below = v_select_f64(a_below, v_max_f64(below, a), below);
        above = v_select_f64(a_low, above, v_min_f64(above, a));
    }
    const v_f64 n_low = v_add_f64(v_counted_f64(c_low), v_counted_f64(c_low1));
    const v_f64 n_high = v_add_f64(v_counted_f64(c_high), v_counted_f64(c_high1));
    below = v_max_f64(below, below1), above = v_min_f64(above, above1);
    v_f64 result, off;
    if (n % 2) {
        const v_mask_f64 is_next = v_eq_f64(n_high, v_add_f64(k, one));
        result = v_select_f64(is_next, below, above);
        off = v_select_f64(is_next, zero, v_sub_f64(n_low, k));
    } else {
        result = v_mul_f64(v_set1_f64(0.5), v_add_f64(below, above));
        // n_low and n_high are k and k, or k - 1 and k + 1.
        const v_f64 sum = v_abs_f64(v_sub_f64(v_add_f64(n_low, n_high), v_add_f64(k, k)));
        const v_mask_f64 is_wide = v_lt_f64(v_set1_f64(2), v_sub_f64(n_high, n_low));
        off = v_select_f64(is_wide, one, sum);
    }
    // Of two zeros any may be the middle; adding +0 leaves one of them.
    v_put_f64(median, width, v_add_f64(result, zero));
    return !v_any_f64(v_lt_f64(zero, v_abs_f64(off)));
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

// The medians of a vector of lanes, whatever they are. low..high holds the middle value, of rank n
// / 2 from 0; n_low values are below low, n_high are not above high.
static inline void median_part(const double *x, const int32_t *index, size_t n, size_t width,
                               const double *gaps, const double *pivots, double *median)
{
    const v_f64 inf = v_set1_f64((double)INFINITY), minus_inf = v_set1_f64(-(double)INFINITY);
    const v_f64 half = v_set1_f64(0.5), zero = v_set1_f64(0), one = v_set1_f64(1);
    const v_f64 k = v_set1_f64((double)(n / 2));
    v_f64 low = minus_inf, high = inf, n_low = zero, n_high = v_set1_f64((double)n);
    v_f64 reach = v_take_f64(gaps, width), pivot = v_take_f64(pivots, width);
    v_f64 result = pivot;
    for (unsigned pass = 0;; pass++) {
        v_f64 count, below, above;
        tally(x, index, n, width, pivot, &count, &below, &above);
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
        const v_f64 density = v_div_f64(v_sub_f64(high, low), between);
        const v_f64 up = v_sub_f64(k, n_low), down = v_sub_f64(n_high, k);
        v_f64 next = v_fma_f64(density, v_sub_f64(up, half), low);
        next = v_select_f64(v_eq_f64(high, inf), v_fma_f64(reach, v_add_f64(up, one), low), next);
        next = v_select_f64(v_eq_f64(low, minus_inf), v_fnma_f64(reach, v_add_f64(down, one), high),
                            next);
        reach = v_add_f64(reach, reach);
        if (pass >= PATIENT && pass % 2) {
            next = halfway(low, high);
        }
        // Strictly above low and not above high: then the bracket shrinks.
        next = v_select_f64(v_lt_f64(low, next), next, high);
        next = v_select_f64(v_lt_f64(high, next), high, next);
        pivot = v_select_f64(is_done, pivot, next);
    }
    v_put_f64(median, width, v_add_f64(result, zero));
}

void TESS_KFN(autoreject_median)(const double *restrict x, const int32_t *restrict index, size_t n,
                                 float *restrict rounded, float *restrict gaps,
                                 double *restrict median)
{
    const size_t width_f32 = v_len_f32() < TILE ? v_len_f32() : TILE;
    const size_t width_f64 = v_len_f64() < TILE ? v_len_f64() : TILE;
    float lows_f32[TILE], highs_f32[TILE];
    double lows[TILE], highs[TILE], reach[TILE];
    for (size_t i = 0; i < n; i++) {
        v_narrow_16(x + (ptrdiff_t)index[i] * TILE, rounded + i * TILE);
    }
    v_narrow_16(median, lows_f32);
    for (size_t t = 0; t < TILE; t += width_f32) {
        guess_part(rounded + t, n, width_f32, gaps + t, lows_f32 + t, highs_f32 + t);
    }
    for (size_t t = 0; t < TILE; t++) {
        lows[t] = (double)lows_f32[t];
        highs[t] = (double)highs_f32[t];
        reach[t] = (double)gaps[t];
    }
    for (size_t t = 0; t < TILE; t += width_f64) {
        if (!settle_part(x + t, index, n, width_f64, lows + t, highs + t, median + t)) {
            median_part(x + t, index, n, width_f64, reach + t, lows + t, median + t);
        }
    }
}
