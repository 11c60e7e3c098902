// The vocabulary over AVX2 and FMA: 8 lanes of f32, 4 of f64. A mask is a vector of all-ones lanes.
#ifndef TESS_KERNELS_SIMD_VEC_AVX2_H
#define TESS_KERNELS_SIMD_VEC_AVX2_H

#include <immintrin.h>

#define V_ASKS 1
#define V_REGISTERS 16
#define V_HAS_STREAM 1
#define V_HAS_ROW_SUMS 1
#define V_HAS_LANE_SUMS 1
#define V_HAS_NARROW_16 1
#define V_HAS_ADD_WIDENED 1

typedef __m256 v_f32;
typedef __m256d v_f64;
typedef __m256i v_u32;
typedef __m256i v_u64;
typedef __m256 v_mask_f32;
typedef __m256d v_mask_f64;

#define V_BINARY(word, op)                                                                         \
    static inline v_f32 v_##word##_f32(v_f32 a, v_f32 b)                                           \
    {                                                                                              \
        return _mm256_##op##_ps(a, b);                                                             \
    }                                                                                              \
    static inline v_f64 v_##word##_f64(v_f64 a, v_f64 b)                                           \
    {                                                                                              \
        return _mm256_##op##_pd(a, b);                                                             \
    }
V_BINARY(add, add)
V_BINARY(sub, sub)
V_BINARY(mul, mul)
V_BINARY(div, div)
V_BINARY(min, min)
V_BINARY(max, max)
V_BINARY(mask_or, or)
#undef V_BINARY

#define V_FUSED(word, op)                                                                          \
    static inline v_f32 v_##word##_f32(v_f32 a, v_f32 b, v_f32 c)                                  \
    {                                                                                              \
        return _mm256_##op##_ps(a, b, c);                                                          \
    }                                                                                              \
    static inline v_f64 v_##word##_f64(v_f64 a, v_f64 b, v_f64 c)                                  \
    {                                                                                              \
        return _mm256_##op##_pd(a, b, c);                                                          \
    }
V_FUSED(fma, fmadd)
V_FUSED(fnma, fnmadd)
#undef V_FUSED

#define V_COMPARE(word, predicate)                                                                 \
    static inline v_mask_f32 v_##word##_f32(v_f32 a, v_f32 b)                                      \
    {                                                                                              \
        return _mm256_cmp_ps(a, b, predicate);                                                     \
    }                                                                                              \
    static inline v_mask_f64 v_##word##_f64(v_f64 a, v_f64 b)                                      \
    {                                                                                              \
        return _mm256_cmp_pd(a, b, predicate);                                                     \
    }
V_COMPARE(lt, _CMP_LT_OQ)
V_COMPARE(eq, _CMP_EQ_OQ)
V_COMPARE(unordered, _CMP_UNORD_Q)
#undef V_COMPARE

#define V_BITWISE(word, op)                                                                        \
    static inline v_u32 v_##word##_u32(v_u32 a, v_u32 b)                                           \
    {                                                                                              \
        return _mm256_##op##_si256(a, b);                                                          \
    }                                                                                              \
    static inline v_u64 v_##word##_u64(v_u64 a, v_u64 b)                                           \
    {                                                                                              \
        return _mm256_##op##_si256(a, b);                                                          \
    }
V_BITWISE(and, and)
V_BITWISE(or, or)
V_BITWISE(xor, xor)
#undef V_BITWISE

// The words whose spelling follows a suffix: ps and epi32, or pd and epi64.
#define V_WORDS(T, U, SCALAR, UINT, LANES, PX, EPI, SET1)                                          \
    static inline size_t v_len_##T(void)                                                           \
    {                                                                                              \
        return LANES;                                                                              \
    }                                                                                              \
    static inline v_##T v_load_##T(const SCALAR *p)                                                \
    {                                                                                              \
        return _mm256_loadu_##PX(p);                                                               \
    }                                                                                              \
    static inline void v_store_##T(SCALAR *p, v_##T v)                                             \
    {                                                                                              \
        _mm256_storeu_##PX(p, v);                                                                  \
    }                                                                                              \
    static inline v_##T v_set1_##T(SCALAR value)                                                   \
    {                                                                                              \
        return _mm256_set1_##PX(value);                                                            \
    }                                                                                              \
    static inline v_##U v_bits_##T(v_##T a)                                                        \
    {                                                                                              \
        return _mm256_cast##PX##_si256(a);                                                         \
    }                                                                                              \
    static inline v_##T v_from_bits_##T(v_##U a)                                                   \
    {                                                                                              \
        return _mm256_castsi256_##PX(a);                                                           \
    }                                                                                              \
    static inline v_##U v_set1_##U(UINT value)                                                     \
    {                                                                                              \
        return SET1;                                                                               \
    }                                                                                              \
    static inline v_##U v_add_##U(v_##U a, v_##U b)                                                \
    {                                                                                              \
        return _mm256_add_##EPI(a, b);                                                             \
    }                                                                                              \
    static inline v_##U v_shl_##U(v_##U a, int count)                                              \
    {                                                                                              \
        return _mm256_sll_##EPI(a, _mm_cvtsi32_si128(count));                                      \
    }                                                                                              \
    static inline v_##U v_shr_##U(v_##U a, int count)                                              \
    {                                                                                              \
        return _mm256_srl_##EPI(a, _mm_cvtsi32_si128(count));                                      \
    }                                                                                              \
    static inline v_mask_##T v_test_##T(v_##U a, v_##U bits)                                       \
    {                                                                                              \
        const __m256i clear =                                                                      \
            _mm256_cmpeq_##EPI(_mm256_and_si256(a, bits), _mm256_setzero_si256());                 \
        return v_from_bits_##T(_mm256_xor_si256(clear, _mm256_set1_epi32(-1)));                    \
    }                                                                                              \
    static inline v_mask_##T v_isnan_##T(v_##T a)                                                  \
    {                                                                                              \
        return v_unordered_##T(a, a);                                                              \
    }                                                                                              \
    static inline int v_any_##T(v_mask_##T mask)                                                   \
    {                                                                                              \
        return _mm256_movemask_##PX(mask) != 0;                                                    \
    }                                                                                              \
    static inline v_##T v_select_##T(v_mask_##T mask, v_##T where_set, v_##T where_clear)          \
    {                                                                                              \
        return _mm256_blendv_##PX(where_clear, where_set, mask);                                   \
    }                                                                                              \
    static inline v_##T v_add_where_##T(v_mask_##T mask, v_##T a, v_##T b)                         \
    {                                                                                              \
        return _mm256_add_##PX(a, _mm256_and_##PX(mask, b));                                       \
    }                                                                                              \
    static inline v_##T v_sqrt_##T(v_##T a)                                                        \
    {                                                                                              \
        return _mm256_sqrt_##PX(a);                                                                \
    }                                                                                              \
    static inline v_##T v_abs_##T(v_##T a)                                                         \
    {                                                                                              \
        return _mm256_andnot_##PX(_mm256_set1_##PX((SCALAR)-0.0), a);                              \
    }                                                                                              \
    static inline v_##T v_load_n_##T(const SCALAR *p, size_t n, SCALAR fill)                       \
    {                                                                                              \
        const __m256i first = v_first_##T(n);                                                      \
        return v_select_##T(v_from_bits_##T(first), _mm256_maskload_##PX(p, first),                \
                            v_set1_##T(fill));                                                     \
    }                                                                                              \
    static inline void v_stream_##T(SCALAR *p, v_##T v)                                            \
    {                                                                                              \
        _mm256_stream_##PX(p, v);                                                                  \
    }                                                                                              \
    static inline void v_store_n_##T(SCALAR *p, size_t n, v_##T v)                                 \
    {                                                                                              \
        _mm256_maskstore_##PX(p, v_first_##T(n), v);                                               \
    }

// All-ones in the first n lanes.
static inline __m256i v_first_f32(size_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline __m256i v_first_f64(size_t n)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x((long long)n), _mm256_setr_epi64x(0, 1, 2, 3));
}

V_WORDS(f32, u32, float, uint32_t, 8, ps, epi32, _mm256_set1_epi32((int)value))
V_WORDS(f64, u64, double, uint64_t, 4, pd, epi64, _mm256_set1_epi64x((long long)value))
#undef V_WORDS

#define V_ACROSS(word)                                                                             \
    static inline float v_h##word##_f32(v_f32 a)                                                   \
    {                                                                                              \
        __m128 r = _mm_##word##_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));        \
        r = _mm_##word##_ps(r, _mm_movehl_ps(r, r));                                               \
        return _mm_cvtss_f32(_mm_##word##_ss(r, _mm_movehdup_ps(r)));                              \
    }                                                                                              \
    static inline double v_h##word##_f64(v_f64 a)                                                  \
    {                                                                                              \
        const __m128d r = _mm_##word##_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1)); \
        return _mm_cvtsd_f64(_mm_##word##_sd(r, _mm_unpackhi_pd(r, r)));                           \
    }
V_ACROSS(min)
V_ACROSS(max)
#undef V_ACROSS

static inline float v_hsum_f32(v_f32 a)
{
    __m128 r = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    r = _mm_add_ps(r, _mm_movehl_ps(r, r));
    return _mm_cvtss_f32(_mm_add_ss(r, _mm_movehdup_ps(r)));
}

static inline double v_hsum_f64(v_f64 a)
{
    const __m128d r = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_add_sd(r, _mm_unpackhi_pd(r, r)));
}

static inline v_f64 v_widen_f64(const float *p)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(p));
}

static inline v_f64 v_narrow_f64(float *p, v_f64 v)
{
    const __m128 rounded = _mm256_cvtpd_ps(v);
    _mm_storeu_ps(p, rounded);
    return _mm256_cvtps_pd(rounded);
}

static inline void v_narrow_16(const double *x, float *y)
{
    for (size_t i = 0; i < 16; i += 4) {
        _mm_storeu_ps(y + i, _mm256_cvtpd_ps(v_load_f64(x + i)));
    }
}

static inline void v_add_widened(const float *x, double by, double *sums)
{
    for (size_t i = 0; i < 8; i += 4) {
        const v_f64 low = _mm256_cvtps_pd(_mm_loadu_ps(x + i));
        const v_f64 high = _mm256_cvtps_pd(_mm_loadu_ps(x + 8 + i));
        const v_f64 sum = v_mul_f64(v_set1_f64(by), v_add_f64(low, high));
        v_store_f64(sums + i, v_add_f64(v_load_f64(sums + i), sum));
    }
}

// Of four items of each of four rows.
static inline v_f64 v_four_sums(const double *x)
{
    const v_f64 a = _mm256_hadd_pd(v_load_f64(x), v_load_f64(x + 8));
    const v_f64 b = _mm256_hadd_pd(v_load_f64(x + 16), v_load_f64(x + 24));
    return _mm256_add_pd(_mm256_permute2f128_pd(a, b, 0x20), _mm256_permute2f128_pd(a, b, 0x31));
}

static inline void v_row_sums_f64(const double *x, double *sums)
{
    for (size_t r = 0; r < 8; r += 4) {
        const double *q = x + 8 * r;
        v_store_f64(sums + r, v_add_f64(v_four_sums(q), v_four_sums(q + 4)));
    }
}

// Of the four items of each half of four rows.
static inline v_f32 v_halves_of_4(const float *x)
{
    const v_f32 a = _mm256_hadd_ps(v_load_f32(x), v_load_f32(x + 8));
    const v_f32 b = _mm256_hadd_ps(v_load_f32(x + 16), v_load_f32(x + 24));
    return _mm256_hadd_ps(a, b);
}

static inline void v_lane_sums_f32(const float *x, float *sums)
{
    const v_f32 a = v_halves_of_4(x), b = v_halves_of_4(x + 32);
    v_store_f32(sums, _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20),
                                    _mm256_permute2f128_ps(a, b, 0x31)));
}

static inline void v_stream_end(void)
{
    _mm_sfence();
}

#endif
