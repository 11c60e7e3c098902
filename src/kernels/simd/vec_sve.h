// The vocabulary over SVE: the number of lanes is the machine's, masks are predicates. The types
// have no size, so they live in variables only, never in arrays or structs.
#ifndef TESS_KERNELS_SIMD_VEC_SVE_H
#define TESS_KERNELS_SIMD_VEC_SVE_H

#include <arm_sve.h>

#define V_HAS_AT_MOST 1
#define V_NAN_STICKS 1
#define V_REGISTERS 32

typedef svfloat32_t v_f32;
typedef svfloat64_t v_f64;
typedef svuint32_t v_u32;
typedef svuint64_t v_u64;
typedef svbool_t v_mask_f32;
typedef svbool_t v_mask_f64;

#define V_WORDS(T, U, SCALAR, UINT, BITS, COUNT)                                                   \
    static inline size_t v_len_##T(void)                                                           \
    {                                                                                              \
        return COUNT();                                                                            \
    }                                                                                              \
    static inline svbool_t v_all_##T(void)                                                         \
    {                                                                                              \
        return svptrue_b##BITS();                                                                  \
    }                                                                                              \
    static inline svbool_t v_first_##T(size_t n)                                                   \
    {                                                                                              \
        return svwhilelt_b##BITS##_u64(0, n);                                                      \
    }                                                                                              \
    static inline v_##T v_load_##T(const SCALAR *p)                                                \
    {                                                                                              \
        return svld1_##T(v_all_##T(), p);                                                          \
    }                                                                                              \
    static inline void v_store_##T(SCALAR *p, v_##T v)                                             \
    {                                                                                              \
        svst1_##T(v_all_##T(), p, v);                                                              \
    }                                                                                              \
    static inline v_##T v_set1_##T(SCALAR value)                                                   \
    {                                                                                              \
        return svdup_n_##T(value);                                                                 \
    }                                                                                              \
    static inline v_##T v_load_n_##T(const SCALAR *p, size_t n, SCALAR fill)                       \
    {                                                                                              \
        const svbool_t first = v_first_##T(n);                                                     \
        return svsel_##T(first, svld1_##T(first, p), svdup_n_##T(fill));                           \
    }                                                                                              \
    static inline void v_store_n_##T(SCALAR *p, size_t n, v_##T v)                                 \
    {                                                                                              \
        svst1_##T(v_first_##T(n), p, v);                                                           \
    }                                                                                              \
    static inline v_##T v_add_##T(v_##T a, v_##T b)                                                \
    {                                                                                              \
        return svadd_##T##_x(v_all_##T(), a, b);                                                   \
    }                                                                                              \
    static inline v_##T v_sub_##T(v_##T a, v_##T b)                                                \
    {                                                                                              \
        return svsub_##T##_x(v_all_##T(), a, b);                                                   \
    }                                                                                              \
    static inline v_##T v_mul_##T(v_##T a, v_##T b)                                                \
    {                                                                                              \
        return svmul_##T##_x(v_all_##T(), a, b);                                                   \
    }                                                                                              \
    static inline v_##T v_div_##T(v_##T a, v_##T b)                                                \
    {                                                                                              \
        return svdiv_##T##_x(v_all_##T(), a, b);                                                   \
    }                                                                                              \
    static inline v_##T v_sqrt_##T(v_##T a)                                                        \
    {                                                                                              \
        return svsqrt_##T##_x(v_all_##T(), a);                                                     \
    }                                                                                              \
    static inline v_##T v_abs_##T(v_##T a)                                                         \
    {                                                                                              \
        return svabs_##T##_x(v_all_##T(), a);                                                      \
    }                                                                                              \
    static inline v_##T v_fma_##T(v_##T a, v_##T b, v_##T c)                                       \
    {                                                                                              \
        return svmla_##T##_x(v_all_##T(), c, a, b);                                                \
    }                                                                                              \
    static inline v_##T v_fnma_##T(v_##T a, v_##T b, v_##T c)                                      \
    {                                                                                              \
        return svmls_##T##_x(v_all_##T(), c, a, b);                                                \
    }                                                                                              \
    static inline v_##T v_min_##T(v_##T a, v_##T b)                                                \
    {                                                                                              \
        return svminnm_##T##_x(v_all_##T(), a, b);                                                 \
    }                                                                                              \
    static inline v_##T v_at_most_##T(v_##T a, v_##T limit)                                        \
    {                                                                                              \
        return svmin_##T##_x(v_all_##T(), a, limit);                                               \
    }                                                                                              \
    static inline v_##T v_max_##T(v_##T a, v_##T b)                                                \
    {                                                                                              \
        return svmaxnm_##T##_x(v_all_##T(), a, b);                                                 \
    }                                                                                              \
    static inline v_mask_##T v_lt_##T(v_##T a, v_##T b)                                            \
    {                                                                                              \
        return svcmplt_##T(v_all_##T(), a, b);                                                     \
    }                                                                                              \
    static inline v_mask_##T v_eq_##T(v_##T a, v_##T b)                                            \
    {                                                                                              \
        return svcmpeq_##T(v_all_##T(), a, b);                                                     \
    }                                                                                              \
    static inline v_mask_##T v_unordered_##T(v_##T a, v_##T b)                                     \
    {                                                                                              \
        return svcmpuo_##T(v_all_##T(), a, b);                                                     \
    }                                                                                              \
    static inline v_mask_##T v_isnan_##T(v_##T a)                                                  \
    {                                                                                              \
        return v_unordered_##T(a, a);                                                              \
    }                                                                                              \
    static inline v_mask_##T v_mask_or_##T(v_mask_##T a, v_mask_##T b)                             \
    {                                                                                              \
        return svorr_b_z(v_all_##T(), a, b);                                                       \
    }                                                                                              \
    static inline int v_any_##T(v_mask_##T mask)                                                   \
    {                                                                                              \
        return svptest_any(v_all_##T(), mask);                                                     \
    }                                                                                              \
    static inline v_##T v_select_##T(v_mask_##T mask, v_##T where_set, v_##T where_clear)          \
    {                                                                                              \
        return svsel_##T(mask, where_set, where_clear);                                            \
    }                                                                                              \
    static inline v_##T v_add_where_##T(v_mask_##T mask, v_##T a, v_##T b)                         \
    {                                                                                              \
        return svadd_##T##_m(mask, a, b);                                                          \
    }                                                                                              \
    static inline SCALAR v_hmin_##T(v_##T a)                                                       \
    {                                                                                              \
        return svminnmv_##T(v_all_##T(), a);                                                       \
    }                                                                                              \
    static inline SCALAR v_hmax_##T(v_##T a)                                                       \
    {                                                                                              \
        return svmaxnmv_##T(v_all_##T(), a);                                                       \
    }                                                                                              \
    static inline SCALAR v_hsum_##T(v_##T a)                                                       \
    {                                                                                              \
        return svaddv_##T(v_all_##T(), a);                                                         \
    }                                                                                              \
    static inline v_##U v_bits_##T(v_##T a)                                                        \
    {                                                                                              \
        return svreinterpret_##U##_##T(a);                                                         \
    }                                                                                              \
    static inline v_##T v_from_bits_##T(v_##U a)                                                   \
    {                                                                                              \
        return svreinterpret_##T##_##U(a);                                                         \
    }                                                                                              \
    static inline v_##U v_set1_##U(UINT value)                                                     \
    {                                                                                              \
        return svdup_n_##U(value);                                                                 \
    }                                                                                              \
    static inline v_##U v_add_##U(v_##U a, v_##U b)                                                \
    {                                                                                              \
        return svadd_##U##_x(v_all_##T(), a, b);                                                   \
    }                                                                                              \
    static inline v_##U v_and_##U(v_##U a, v_##U b)                                                \
    {                                                                                              \
        return svand_##U##_x(v_all_##T(), a, b);                                                   \
    }                                                                                              \
    static inline v_##U v_or_##U(v_##U a, v_##U b)                                                 \
    {                                                                                              \
        return svorr_##U##_x(v_all_##T(), a, b);                                                   \
    }                                                                                              \
    static inline v_##U v_xor_##U(v_##U a, v_##U b)                                                \
    {                                                                                              \
        return sveor_##U##_x(v_all_##T(), a, b);                                                   \
    }                                                                                              \
    static inline v_##U v_shl_##U(v_##U a, int count)                                              \
    {                                                                                              \
        return svlsl_n_##U##_x(v_all_##T(), a, (UINT)count);                                       \
    }                                                                                              \
    static inline v_##U v_shr_##U(v_##U a, int count)                                              \
    {                                                                                              \
        return svlsr_n_##U##_x(v_all_##T(), a, (UINT)count);                                       \
    }                                                                                              \
    static inline v_mask_##T v_test_##T(v_##U a, v_##U bits)                                       \
    {                                                                                              \
        return svcmpne_n_##U(v_all_##T(), v_and_##U(a, bits), 0);                                  \
    }

V_WORDS(f32, u32, float, uint32_t, 32, svcntw)
V_WORDS(f64, u64, double, uint64_t, 64, svcntd)
#undef V_WORDS

// Conversions read and write the lower half of each lane of 64 bits.
static inline v_f64 v_widen_f64(const float *p)
{
    const svfloat32_t packed = svld1_f32(v_first_f32(svcntd()), p);
    const svuint64_t spread = svunpklo_u64(svreinterpret_u32_f32(packed));
    return svcvt_f64_f32_x(v_all_f64(), svreinterpret_f32_u64(spread));
}

static inline v_f64 v_narrow_f64(float *p, v_f64 v)
{
    const svfloat32_t spread = svcvt_f32_f64_x(v_all_f64(), v);
    svst1_f32(v_first_f32(svcntd()), p, svuzp1_f32(spread, spread));
    return svcvt_f64_f32_x(v_all_f64(), spread);
}

#endif
