// The vocabulary over AVX-512 (F, DQ, VL, BW): 16 lanes of f32, 8 of f64. Masks are mask registers.
#ifndef TESS_KERNELS_SIMD_VEC_AVX512_H
#define TESS_KERNELS_SIMD_VEC_AVX512_H

#include <immintrin.h>

#define V_ASKS 1
#define V_REGISTERS 32
#define V_HAS_SCALE 1
#define V_HAS_STREAM 1
#define V_HAS_FRACTION 1
#define V_HAS_ROW_SUMS 1
#define V_HAS_LANE_SUMS 1
#define V_HAS_NARROW_16 1
#define V_HAS_ADD_WIDENED 1
#define V_HAS_INVERSE 1
#define V_HAS_HOLD 1

typedef __m512 v_f32;
typedef __m512d v_f64;
typedef __m512i v_u32;
typedef __m512i v_u64;
typedef __mmask16 v_mask_f32;
typedef __mmask8 v_mask_f64;

#define V_BINARY(word, op)                                                                         \
    static inline v_f32 v_##word##_f32(v_f32 a, v_f32 b)                                           \
    {                                                                                              \
        return _mm512_##op##_ps(a, b);                                                             \
    }                                                                                              \
    static inline v_f64 v_##word##_f64(v_f64 a, v_f64 b)                                           \
    {                                                                                              \
        return _mm512_##op##_pd(a, b);                                                             \
    }
V_BINARY(add, add)
V_BINARY(sub, sub)
V_BINARY(mul, mul)
V_BINARY(div, div)
V_BINARY(min, min)
V_BINARY(max, max)
V_BINARY(scale, scalef)
#undef V_BINARY

#define V_FUSED(word, op)                                                                          \
    static inline v_f32 v_##word##_f32(v_f32 a, v_f32 b, v_f32 c)                                  \
    {                                                                                              \
        return _mm512_##op##_ps(a, b, c);                                                          \
    }                                                                                              \
    static inline v_f64 v_##word##_f64(v_f64 a, v_f64 b, v_f64 c)                                  \
    {                                                                                              \
        return _mm512_##op##_pd(a, b, c);                                                          \
    }
V_FUSED(fma, fmadd)
V_FUSED(fnma, fnmadd)
#undef V_FUSED

// An estimate of 14 bits and a step of Newton's: the divider would be busy for 16 cycles, in which
// 32 steps of a polynomial are done. f64 would need two steps, and gains nothing.
static inline v_f32 v_inverse_f32(v_f32 a)
{
    const v_f32 y = _mm512_rcp14_ps(a);
    return v_fma_f32(v_fnma_f32(a, y, _mm512_set1_ps(1)), y, y);
}

static inline v_f64 v_inverse_f64(v_f64 a)
{
    return _mm512_div_pd(_mm512_set1_pd(1), a);
}

#define V_COMPARE(word, predicate)                                                                 \
    static inline v_mask_f32 v_##word##_f32(v_f32 a, v_f32 b)                                      \
    {                                                                                              \
        return _mm512_cmp_ps_mask(a, b, predicate);                                                \
    }                                                                                              \
    static inline v_mask_f64 v_##word##_f64(v_f64 a, v_f64 b)                                      \
    {                                                                                              \
        return _mm512_cmp_pd_mask(a, b, predicate);                                                \
    }
V_COMPARE(lt, _CMP_LT_OQ)
V_COMPARE(eq, _CMP_EQ_OQ)
V_COMPARE(unordered, _CMP_UNORD_Q)
#undef V_COMPARE

// The words whose spelling follows a suffix: ps and epi32, or pd and epi64.
#define V_WORDS(T, U, SCALAR, UINT, SIGNED, LANES, PX, EPI)                                        \
    static inline size_t v_len_##T(void)                                                           \
    {                                                                                              \
        return LANES;                                                                              \
    }                                                                                              \
    static inline v_##T v_load_##T(const SCALAR *p)                                                \
    {                                                                                              \
        return _mm512_loadu_##PX(p);                                                               \
    }                                                                                              \
    static inline void v_store_##T(SCALAR *p, v_##T v)                                             \
    {                                                                                              \
        _mm512_storeu_##PX(p, v);                                                                  \
    }                                                                                              \
    static inline v_##T v_set1_##T(SCALAR value)                                                   \
    {                                                                                              \
        return _mm512_set1_##PX(value);                                                            \
    }                                                                                              \
    static inline v_mask_##T v_first_##T(size_t n)                                                 \
    {                                                                                              \
        return (v_mask_##T)((1u << n) - 1);                                                        \
    }                                                                                              \
    static inline v_##T v_load_n_##T(const SCALAR *p, size_t n, SCALAR fill)                       \
    {                                                                                              \
        return _mm512_mask_loadu_##PX(v_set1_##T(fill), v_first_##T(n), p);                        \
    }                                                                                              \
    static inline void v_stream_##T(SCALAR *p, v_##T v)                                            \
    {                                                                                              \
        _mm512_stream_##PX(p, v);                                                                  \
    }                                                                                              \
    static inline void v_store_n_##T(SCALAR *p, size_t n, v_##T v)                                 \
    {                                                                                              \
        _mm512_mask_storeu_##PX(p, v_first_##T(n), v);                                             \
    }                                                                                              \
    static inline v_##U v_bits_##T(v_##T a)                                                        \
    {                                                                                              \
        return _mm512_cast##PX##_si512(a);                                                         \
    }                                                                                              \
    static inline v_##T v_from_bits_##T(v_##U a)                                                   \
    {                                                                                              \
        return _mm512_castsi512_##PX(a);                                                           \
    }                                                                                              \
    static inline v_##U v_set1_##U(UINT value)                                                     \
    {                                                                                              \
        return _mm512_set1_##EPI((SIGNED)value);                                                   \
    }                                                                                              \
    static inline v_##U v_add_##U(v_##U a, v_##U b)                                                \
    {                                                                                              \
        return _mm512_add_##EPI(a, b);                                                             \
    }                                                                                              \
    static inline v_##U v_and_##U(v_##U a, v_##U b)                                                \
    {                                                                                              \
        return _mm512_and_si512(a, b);                                                             \
    }                                                                                              \
    static inline v_##U v_or_##U(v_##U a, v_##U b)                                                 \
    {                                                                                              \
        return _mm512_or_si512(a, b);                                                              \
    }                                                                                              \
    static inline v_##U v_xor_##U(v_##U a, v_##U b)                                                \
    {                                                                                              \
        return _mm512_xor_si512(a, b);                                                             \
    }                                                                                              \
    static inline v_##U v_shl_##U(v_##U a, int count)                                              \
    {                                                                                              \
        return _mm512_sll_##EPI(a, _mm_cvtsi32_si128(count));                                      \
    }                                                                                              \
    static inline v_##U v_shr_##U(v_##U a, int count)                                              \
    {                                                                                              \
        return _mm512_srl_##EPI(a, _mm_cvtsi32_si128(count));                                      \
    }                                                                                              \
    static inline v_mask_##T v_test_##T(v_##U a, v_##U bits)                                       \
    {                                                                                              \
        return _mm512_test_##EPI##_mask(a, bits);                                                  \
    }                                                                                              \
    static inline v_mask_##T v_isnan_##T(v_##T a)                                                  \
    {                                                                                              \
        return v_unordered_##T(a, a);                                                              \
    }                                                                                              \
    static inline v_mask_##T v_mask_or_##T(v_mask_##T a, v_mask_##T b)                             \
    {                                                                                              \
        return (v_mask_##T)(a | b);                                                                \
    }                                                                                              \
    static inline int v_any_##T(v_mask_##T mask)                                                   \
    {                                                                                              \
        return mask != 0;                                                                          \
    }                                                                                              \
    static inline v_##T v_select_##T(v_mask_##T mask, v_##T where_set, v_##T where_clear)          \
    {                                                                                              \
        return _mm512_mask_blend_##PX(mask, where_clear, where_set);                               \
    }                                                                                              \
    static inline v_##T v_add_where_##T(v_mask_##T mask, v_##T a, v_##T b)                         \
    {                                                                                              \
        return _mm512_mask_add_##PX(a, mask, a, b);                                                \
    }                                                                                              \
    static inline v_##T v_sqrt_##T(v_##T a)                                                        \
    {                                                                                              \
        return _mm512_sqrt_##PX(a);                                                                \
    }                                                                                              \
    static inline v_##T v_abs_##T(v_##T a)                                                         \
    {                                                                                              \
        return _mm512_abs_##PX(a);                                                                 \
    }                                                                                              \
    static inline v_##T v_fraction_##T(v_##T a)                                                    \
    {                                                                                              \
        return _mm512_reduce_##PX(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);               \
    }                                                                                              \
    static inline SCALAR v_hmin_##T(v_##T a)                                                       \
    {                                                                                              \
        return _mm512_reduce_min_##PX(a);                                                          \
    }                                                                                              \
    static inline SCALAR v_hsum_##T(v_##T a)                                                       \
    {                                                                                              \
        return _mm512_reduce_add_##PX(a);                                                          \
    }                                                                                              \
    static inline SCALAR v_hmax_##T(v_##T a)                                                       \
    {                                                                                              \
        return _mm512_reduce_max_##PX(a);                                                          \
    }

V_WORDS(f32, u32, float, uint32_t, int, 16, ps, epi32)
V_WORDS(f64, u64, double, uint64_t, long long, 8, pd, epi64)
#undef V_WORDS

static inline v_f64 v_hold_f64(v_f64 a)
{
    __asm__("" : "+v"(a));
    return a;
}

static inline v_f64 v_widen_f64(const float *p)
{
    return _mm512_cvtps_pd(_mm256_loadu_ps(p));
}

static inline v_f64 v_narrow_f64(float *p, v_f64 v)
{
    const __m256 rounded = _mm512_cvtpd_ps(v);
    _mm256_storeu_ps(p, rounded);
    return _mm512_cvtps_pd(rounded);
}

static inline void v_narrow_16(const double *x, float *y)
{
    _mm256_storeu_ps(y, _mm512_cvtpd_ps(v_load_f64(x)));
    _mm256_storeu_ps(y + 8, _mm512_cvtpd_ps(v_load_f64(x + 8)));
}

static inline void v_add_widened(const float *x, double by, double *sums)
{
    const v_f64 low = _mm512_cvtps_pd(_mm256_loadu_ps(x));
    const v_f64 high = _mm512_cvtps_pd(_mm256_loadu_ps(x + 8));
    const v_f64 sum = v_mul_f64(v_set1_f64(by), v_add_f64(low, high));
    v_store_f64(sums, v_add_f64(v_load_f64(sums), sum));
}

// Neighbours of rows r and r + 1 side by side.
static inline v_f64 v_pair_sums(const double *x)
{
    const v_f64 a = v_load_f64(x), b = v_load_f64(x + 8);
    return _mm512_add_pd(_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b));
}

// The even quarters of a and b plus the odd ones.
static inline v_f64 v_quarter_sums(v_f64 a, v_f64 b)
{
    return _mm512_add_pd(_mm512_shuffle_f64x2(a, b, 0x88), _mm512_shuffle_f64x2(a, b, 0xdd));
}

static inline void v_row_sums_f64(const double *x, double *sums)
{
    const v_f64 a = v_quarter_sums(v_pair_sums(x), v_pair_sums(x + 16));
    const v_f64 b = v_quarter_sums(v_pair_sums(x + 32), v_pair_sums(x + 48));
    v_store_f64(sums, v_quarter_sums(a, b));
}

// Of the four items of each quarter of four rows.
static inline v_f32 v_quarters_of_4(const float *x)
{
    const v_f32 a = v_load_f32(x), b = v_load_f32(x + 16);
    const v_f32 c = v_load_f32(x + 32), d = v_load_f32(x + 48);
    const v_f32 p = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
    const v_f32 q = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
    return _mm512_add_ps(_mm512_shuffle_ps(p, q, 0x44), _mm512_shuffle_ps(p, q, 0xee));
}

static inline void v_lane_sums_f32(const float *x, float *sums)
{
    const v_f32 a = v_quarters_of_4(x), b = v_quarters_of_4(x + 64);
    const v_f32 half =
        _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
    const v_f32 whole = _mm512_add_ps(_mm512_shuffle_f32x4(half, half, 0x08),
                                      _mm512_shuffle_f32x4(half, half, 0x0d));
    _mm256_storeu_ps(sums, _mm512_castps512_ps256(whole));
}

static inline void v_stream_end(void)
{
    _mm_sfence();
}

#endif
