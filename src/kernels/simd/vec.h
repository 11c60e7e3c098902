// The SIMD vocabulary: the same words for every ISA. Each vec_<isa>.h defines them all, for f32
// (vectors v_f32 and v_u32, masks v_mask_f32) and for f64 (v_f64, v_u64, v_mask_f64).
//
//   v_len_T()                    lanes; a value, not a constant (SVE)
//   v_load_T(p)  v_store_T(p, v)                  no alignment needed
//   v_load_n_T(p, n, fill)  v_store_n_T(p, n, v)  the first n < v_len lanes; touches no more memory
//   v_part_T(n)                  lanes that n items fill: n, at most v_len
//   v_take_T(p, n)  v_put_T(p, n, v)  that part of n items, whole vectors and tails alike; 0 behind
//   v_hold_f64(v)                v, in a register even where an instruction could read it from
//                                memory: what is used again is loaded once
//   v_set1_T  v_add_T  v_sub_T  v_mul_T  v_div_T  v_sqrt_T  v_abs_T
//   v_fma_T(a, b, c) = a * b + c     v_fnma_T(a, b, c) = c - a * b     rounded once
//   v_min_T  v_max_T             of a NaN and a number, or of two zeros: either operand
//   v_at_most_T(a, limit)        a, or limit where a is above it; NaN stays
//   v_inverse_T                  1 / a to an ulp, for 2^-64 <= a <= 2^64, NaN for NaN
//   v_lt_T  v_eq_T  v_unordered_T(a, b)  v_isnan_T(a)     masks; unordered: a or b is NaN
//   v_mask_or_T  v_any_T(mask)  v_select_T(mask, where_set, where_clear)
//   v_add_where_T(mask, a, b)    a + b where the mask is set, a elsewhere
//   v_count_none_T()  v_count_where_T(mask, count)  v_counted_T(count)   a v_count_T of how often a
//                                mask was set, and that number, below 2^24
//   v_hmin_T  v_hmax_T  v_hsum_T   across the lanes, the sum in any order
//   v_ordered_sum_f64            across the lanes, from the first to the last
//   v_bits_T(v) -> U  v_from_bits_T(u)  v_set1_U  v_add_U  v_and_U  v_or_U  v_xor_U
//   v_shl_U(u, count)  v_shr_U(u, count)   zeros come in
//   v_test_T(u, bits)            mask of (u & bits) != 0
//   v_row_sums_f64(x, sums)      sums[r] of the eight items x[8 r..] for r < 8: of neighbours, of
//                                those pairs, of the halves. Same bits on every ISA.
//   v_lane_sums_f32(x, sums)     sums[r] of the v_len items x[v_len r..] for r < 8, in any order
//   v_widen_f64(p)  v_narrow_f64(p, v)   v_len_f64 floats in memory as doubles, and back, rounded,
//                                which it returns
//   v_take_wide(p, n)  v_put_narrow(p, n, v)   the same as v_take_f64 and v_put_f64
//   v_narrow_16(x, y)            y[i] = (float)x[i], i < 16
//   v_add_widened(x, by, sums)   sums[i] += by * (x[i] + x[i + 8]) in f64, i < 8
//   v_stream_T(p, v)             a store past the caches; p is aligned to a vector. v_stream_end()
//                                follows the last one.
//   v_prefetch_ahead(p, bytes)   these bytes, some way further on, will be read
//
// A set may also have v_scale_T(x, k) = x * 2^k for whole k (V_HAS_SCALE); math.h has it otherwise.
// One with V_HAS_FRACTION has v_fraction_T(x) = x - the whole number nearest to x.
// One with V_NAN_STICKS gives NaN for v_at_most_T where either of the two is.
// One with V_HAS_LANES multiplies by an item of a vector at no cost, and its vectors are 16 bytes:
// v_fma_lane_T(x, lane, b, c) = x[lane] * b + c and v_mul_lane_f32(x, lane, b) = x[lane] * b, lane
// a constant;
// v_load_first_f64(p) and v_first_f64(v) are of the first lane alone, v_add_pairs_f64(a, b) = (a[0]
// + a[1], b[0] + b[1]); V_FORGET(p) has what lies at p loaded again, where that is cheaper than a
// move between registers.
#ifndef TESS_KERNELS_SIMD_VEC_H
#define TESS_KERNELS_SIMD_VEC_H

#include "kernels/isa.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Longest vector of any ISA (SVE allows 2048 bits): the size of a buffer that takes one.
#define V_MAX_BYTES 256

#define TESS_VEC_FILE TESS_STRING(TESS_PASTE2(vec, TESS_ISA).h)
#include TESS_VEC_FILE

// Whether memory that will be read is worth asking for. Arm's own prefetchers follow long reads
// better if nobody else does: on a Neoverse N1 requests halve the bandwidth.
#ifndef V_ASKS
#define V_ASKS 0
#endif

// One request per cache line, 4 KiB ahead of the reader: prefetchers that stop at page borders
// alone leave a quarter of the bandwidth unused. Addresses past the end of the data are allowed, a
// prefetch never faults.
static inline void v_prefetch_ahead(const void *p, size_t bytes)
{
    const uintptr_t ahead = (uintptr_t)p + 4096;
    for (size_t line = 0; line < bytes && V_ASKS; line += 64) {
        __builtin_prefetch((const void *)(ahead + line), 0, 3);
    }
}

#define V_PARTS(T, SCALAR)                                                                         \
    static inline size_t v_part_##T(size_t n)                                                      \
    {                                                                                              \
        return v_len_##T() < n ? v_len_##T() : n;                                                  \
    }                                                                                              \
    static inline v_##T v_take_##T(const SCALAR *p, size_t n)                                      \
    {                                                                                              \
        return n >= v_len_##T() ? v_load_##T(p) : v_load_n_##T(p, n, 0);                           \
    }                                                                                              \
    static inline void v_put_##T(SCALAR *p, size_t n, v_##T v)                                     \
    {                                                                                              \
        if (n >= v_len_##T()) {                                                                    \
            v_store_##T(p, v);                                                                     \
        } else {                                                                                   \
            v_store_n_##T(p, n, v);                                                                \
        }                                                                                          \
    }
V_PARTS(f32, float)
V_PARTS(f64, double)
#undef V_PARTS

static inline v_f64 v_take_wide(const float *p, size_t n)
{
    if (n >= v_len_f64()) {
        return v_widen_f64(p);
    }
    double lane[V_MAX_BYTES / sizeof(double)];
    for (size_t i = 0; i < n; i++) {
        lane[i] = (double)p[i];
    }
    return v_load_n_f64(lane, n, 0);
}

static inline v_f64 v_put_narrow(float *p, size_t n, v_f64 v)
{
    if (n >= v_len_f64()) {
        return v_narrow_f64(p, v);
    }
    double lane[V_MAX_BYTES / sizeof(double)];
    v_store_f64(lane, v);
    for (size_t i = 0; i < n; i++) {
        p[i] = (float)lane[i];
    }
    return v_take_wide(p, n);
}

static inline double v_ordered_sum_f64(v_f64 a)
{
    double lane[V_MAX_BYTES / sizeof(double)];
    v_store_f64(lane, a);
    double sum = 0;
    for (size_t i = 0; i < v_len_f64(); i++) {
        sum += lane[i];
    }
    return sum;
}

#ifndef V_HAS_STREAM
static inline void v_stream_f32(float *p, v_f32 v)
{
    v_store_f32(p, v);
}

static inline void v_stream_f64(double *p, v_f64 v)
{
    v_store_f64(p, v);
}

static inline void v_stream_end(void)
{
}
#endif

// The lesser of two is the second where one is NaN, but on Arm.
#ifndef V_HAS_AT_MOST
static inline v_f32 v_at_most_f32(v_f32 a, v_f32 limit)
{
    return v_min_f32(limit, a);
}

static inline v_f64 v_at_most_f64(v_f64 a, v_f64 limit)
{
    return v_min_f64(limit, a);
}
#endif

#ifndef V_HAS_COUNT
#define V_COUNT(T)                                                                                 \
    typedef v_##T v_count_##T;                                                                     \
    static inline v_count_##T v_count_none_##T(void)                                               \
    {                                                                                              \
        return v_set1_##T(0);                                                                      \
    }                                                                                              \
    static inline v_count_##T v_count_where_##T(v_mask_##T mask, v_count_##T count)                \
    {                                                                                              \
        return v_add_where_##T(mask, count, v_set1_##T(1));                                        \
    }                                                                                              \
    static inline v_##T v_counted_##T(v_count_##T count)                                           \
    {                                                                                              \
        return count;                                                                              \
    }
V_COUNT(f32)
V_COUNT(f64)
#undef V_COUNT
#endif

#ifndef V_HAS_HOLD
static inline v_f64 v_hold_f64(v_f64 a)
{
    return a;
}
#endif

#ifndef V_HAS_INVERSE
static inline v_f32 v_inverse_f32(v_f32 a)
{
    return v_div_f32(v_set1_f32(1), a);
}

static inline v_f64 v_inverse_f64(v_f64 a)
{
    return v_div_f64(v_set1_f64(1), a);
}
#endif

#ifndef V_HAS_NARROW_16
static inline void v_narrow_16(const double *x, float *y)
{
    for (size_t i = 0; i < 16; i++) {
        y[i] = (float)x[i];
    }
}
#endif

#ifndef V_HAS_ADD_WIDENED
static inline void v_add_widened(const float *x, double by, double *sums)
{
    for (size_t i = 0; i < 8; i++) {
        sums[i] += by * ((double)x[i] + (double)x[i + 8]);
    }
}
#endif

#ifndef V_HAS_LANE_SUMS
static inline void v_lane_sums_f32(const float *x, float *sums)
{
    const size_t n = v_len_f32();
    for (size_t r = 0; r < 8; r++) {
        sums[r] = 0;
        for (size_t i = 0; i < n; i++) {
            sums[r] += x[r * n + i];
        }
    }
}
#endif

#ifndef V_HAS_ROW_SUMS
static inline void v_row_sums_f64(const double *x, double *sums)
{
    for (size_t r = 0; r < 8; r++) {
        const double *q = x + 8 * r;
        sums[r] = ((q[0] + q[1]) + (q[2] + q[3])) + ((q[4] + q[5]) + (q[6] + q[7]));
    }
}
#endif

#endif
