// The vocabulary over Advanced SIMD of aarch64: 4 lanes of f32, 2 of f64. A mask is a vector of
// all-ones lanes. There are no predicated loads: tails go through a buffer of one vector.
#ifndef TESS_KERNELS_SIMD_VEC_NEON_H
#define TESS_KERNELS_SIMD_VEC_NEON_H

#include <arm_neon.h>

#define V_HAS_AT_MOST 1
#define V_NAN_STICKS 1
#define V_HAS_LANES 1
#define V_HAS_COUNT 1
#define V_HAS_NARROW_16 1
#define V_HAS_ROW_SUMS 1
#define V_REGISTERS 32

#define v_mul_lane_f32(x, lane, b) vmulq_laneq_f32(b, x, lane)
#define v_fma_lane_f32(x, lane, b, c) vfmaq_laneq_f32(c, b, x, lane)
#define v_fma_lane_f64(x, lane, b, c) vfmaq_laneq_f64(c, b, x, lane)
#define v_load_first_f64(p) vcombine_f64(vld1_f64(p), vdup_n_f64(0))
#define v_first_f64(v) vgetq_lane_f64(v, 0)
#define v_add_pairs_f64(a, b) vpaddq_f64(a, b)
#define V_FORGET(p) __asm__("" : "+r"(p))

typedef float32x4_t v_f32;
typedef float64x2_t v_f64;
typedef uint32x4_t v_u32;
typedef uint64x2_t v_u64;
typedef uint32x4_t v_mask_f32;
typedef uint64x2_t v_mask_f64;

#define V_WORDS(T, U, SCALAR, SIGNED, UINT, LANES)                                                 \
    static inline size_t v_len_##T(void)                                                           \
    {                                                                                              \
        return LANES;                                                                              \
    }                                                                                              \
    static inline v_##T v_load_##T(const SCALAR *p)                                                \
    {                                                                                              \
        return vld1q_##T(p);                                                                       \
    }                                                                                              \
    static inline void v_store_##T(SCALAR *p, v_##T v)                                             \
    {                                                                                              \
        vst1q_##T(p, v);                                                                           \
    }                                                                                              \
    static inline v_##T v_set1_##T(SCALAR value)                                                   \
    {                                                                                              \
        return vdupq_n_##T(value);                                                                 \
    }                                                                                              \
    static inline v_##T v_load_n_##T(const SCALAR *p, size_t n, SCALAR fill)                       \
    {                                                                                              \
        SCALAR lane[LANES];                                                                        \
        v_store_##T(lane, v_set1_##T(fill));                                                       \
        memcpy(lane, p, n * sizeof(SCALAR));                                                       \
        return v_load_##T(lane);                                                                   \
    }                                                                                              \
    static inline void v_store_n_##T(SCALAR *p, size_t n, v_##T v)                                 \
    {                                                                                              \
        SCALAR lane[LANES];                                                                        \
        v_store_##T(lane, v);                                                                      \
        memcpy(p, lane, n * sizeof(SCALAR));                                                       \
    }                                                                                              \
    static inline v_##T v_add_##T(v_##T a, v_##T b)                                                \
    {                                                                                              \
        return vaddq_##T(a, b);                                                                    \
    }                                                                                              \
    static inline v_##T v_sub_##T(v_##T a, v_##T b)                                                \
    {                                                                                              \
        return vsubq_##T(a, b);                                                                    \
    }                                                                                              \
    static inline v_##T v_mul_##T(v_##T a, v_##T b)                                                \
    {                                                                                              \
        return vmulq_##T(a, b);                                                                    \
    }                                                                                              \
    static inline v_##T v_div_##T(v_##T a, v_##T b)                                                \
    {                                                                                              \
        return vdivq_##T(a, b);                                                                    \
    }                                                                                              \
    static inline v_##T v_sqrt_##T(v_##T a)                                                        \
    {                                                                                              \
        return vsqrtq_##T(a);                                                                      \
    }                                                                                              \
    static inline v_##T v_abs_##T(v_##T a)                                                         \
    {                                                                                              \
        return vabsq_##T(a);                                                                       \
    }                                                                                              \
    static inline v_##T v_fma_##T(v_##T a, v_##T b, v_##T c)                                       \
    {                                                                                              \
        return vfmaq_##T(c, a, b);                                                                 \
    }                                                                                              \
    static inline v_##T v_fnma_##T(v_##T a, v_##T b, v_##T c)                                      \
    {                                                                                              \
        return vfmsq_##T(c, a, b);                                                                 \
    }                                                                                              \
    static inline v_##T v_min_##T(v_##T a, v_##T b)                                                \
    {                                                                                              \
        return vminnmq_##T(a, b);                                                                  \
    }                                                                                              \
    static inline v_##T v_at_most_##T(v_##T a, v_##T limit)                                        \
    {                                                                                              \
        return vminq_##T(a, limit);                                                                \
    }                                                                                              \
    static inline v_##T v_max_##T(v_##T a, v_##T b)                                                \
    {                                                                                              \
        return vmaxnmq_##T(a, b);                                                                  \
    }                                                                                              \
    static inline v_mask_##T v_lt_##T(v_##T a, v_##T b)                                            \
    {                                                                                              \
        return vcltq_##T(a, b);                                                                    \
    }                                                                                              \
    static inline v_mask_##T v_eq_##T(v_##T a, v_##T b)                                            \
    {                                                                                              \
        return vceqq_##T(a, b);                                                                    \
    }                                                                                              \
    static inline v_mask_##T v_unordered_##T(v_##T a, v_##T b)                                     \
    {                                                                                              \
        const v_##U ordered = vandq_##U(vceqq_##T(a, a), vceqq_##T(b, b));                         \
        return veorq_##U(ordered, vdupq_n_##U((UINT)-1));                                          \
    }                                                                                              \
    static inline v_mask_##T v_isnan_##T(v_##T a)                                                  \
    {                                                                                              \
        return v_unordered_##T(a, a);                                                              \
    }                                                                                              \
    static inline v_mask_##T v_mask_or_##T(v_mask_##T a, v_mask_##T b)                             \
    {                                                                                              \
        return vorrq_##U(a, b);                                                                    \
    }                                                                                              \
    static inline int v_any_##T(v_mask_##T mask)                                                   \
    {                                                                                              \
        return vmaxvq_u32(vreinterpretq_u32_##U(mask)) != 0;                                       \
    }                                                                                              \
    static inline v_##T v_select_##T(v_mask_##T mask, v_##T where_set, v_##T where_clear)          \
    {                                                                                              \
        return vbslq_##T(mask, where_set, where_clear);                                            \
    }                                                                                              \
    static inline v_##T v_add_where_##T(v_mask_##T mask, v_##T a, v_##T b)                         \
    {                                                                                              \
        return vbslq_##T(mask, vaddq_##T(a, b), a);                                                \
    }                                                                                              \
    typedef v_##U v_count_##T;                                                                     \
    static inline v_count_##T v_count_none_##T(void)                                               \
    {                                                                                              \
        return vdupq_n_##U(0);                                                                     \
    }                                                                                              \
    static inline v_count_##T v_count_where_##T(v_mask_##T mask, v_count_##T count)                \
    {                                                                                              \
        return vsubq_##U(count, mask); /* all ones are -1 */                                       \
    }                                                                                              \
    static inline v_##T v_counted_##T(v_count_##T count)                                           \
    {                                                                                              \
        return vcvtq_##T##_##U(count);                                                             \
    }                                                                                              \
    static inline SCALAR v_hmin_##T(v_##T a)                                                       \
    {                                                                                              \
        return vminnmvq_##T(a);                                                                    \
    }                                                                                              \
    static inline SCALAR v_hmax_##T(v_##T a)                                                       \
    {                                                                                              \
        return vmaxnmvq_##T(a);                                                                    \
    }                                                                                              \
    static inline SCALAR v_hsum_##T(v_##T a)                                                       \
    {                                                                                              \
        return vaddvq_##T(a);                                                                      \
    }                                                                                              \
    static inline v_##U v_bits_##T(v_##T a)                                                        \
    {                                                                                              \
        return vreinterpretq_##U##_##T(a);                                                         \
    }                                                                                              \
    static inline v_##T v_from_bits_##T(v_##U a)                                                   \
    {                                                                                              \
        return vreinterpretq_##T##_##U(a);                                                         \
    }                                                                                              \
    static inline v_mask_##T v_test_##T(v_##U a, v_##U bits)                                       \
    {                                                                                              \
        return vtstq_##U(a, bits);                                                                 \
    }                                                                                              \
    static inline v_##U v_set1_##U(UINT value)                                                     \
    {                                                                                              \
        return vdupq_n_##U(value);                                                                 \
    }                                                                                              \
    static inline v_##U v_add_##U(v_##U a, v_##U b)                                                \
    {                                                                                              \
        return vaddq_##U(a, b);                                                                    \
    }                                                                                              \
    static inline v_##U v_and_##U(v_##U a, v_##U b)                                                \
    {                                                                                              \
        return vandq_##U(a, b);                                                                    \
    }                                                                                              \
    static inline v_##U v_or_##U(v_##U a, v_##U b)                                                 \
    {                                                                                              \
        return vorrq_##U(a, b);                                                                    \
    }                                                                                              \
    static inline v_##U v_xor_##U(v_##U a, v_##U b)                                                \
    {                                                                                              \
        return veorq_##U(a, b);                                                                    \
    }                                                                                              \
    static inline v_##U v_shl_##U(v_##U a, int count)                                              \
    {                                                                                              \
        return vshlq_##U(a, vdupq_n_##SIGNED(count));                                              \
    }                                                                                              \
    static inline v_##U v_shr_##U(v_##U a, int count)                                              \
    {                                                                                              \
        return vshlq_##U(a, vdupq_n_##SIGNED(-count));                                             \
    }

// So that one spelling serves both widths in v_any.
#define vreinterpretq_u32_u32(mask) (mask)
V_WORDS(f32, u32, float, s32, uint32_t, 4)
V_WORDS(f64, u64, double, s64, uint64_t, 2)
#undef vreinterpretq_u32_u32
#undef V_WORDS

static inline v_f64 v_widen_f64(const float *p)
{
    return vcvt_f64_f32(vld1_f32(p));
}

static inline v_f64 v_narrow_f64(float *p, v_f64 v)
{
    const float32x2_t rounded = vcvt_f32_f64(v);
    vst1_f32(p, rounded);
    return vcvt_f64_f32(rounded);
}

static inline void v_narrow_16(const double *x, float *y)
{
    for (size_t i = 0; i < 16; i += 4) {
        const float32x2_t low = vcvt_f32_f64(vld1q_f64(x + i));
        vst1q_f32(y + i, vcvt_high_f32_f64(low, vld1q_f64(x + i + 2)));
    }
}

// The two halves of the eight items, each of neighbours and pairs.
static inline v_f64 v_halves_f64(const double *x)
{
    const v_f64 low = vpaddq_f64(vld1q_f64(x), vld1q_f64(x + 2));
    return vpaddq_f64(low, vpaddq_f64(vld1q_f64(x + 4), vld1q_f64(x + 6)));
}

static inline void v_row_sums_f64(const double *x, double *sums)
{
    for (size_t r = 0; r < 8; r += 2) {
        vst1q_f64(sums + r, vpaddq_f64(v_halves_f64(x + 8 * r), v_halves_f64(x + 8 * r + 8)));
    }
}

#endif
