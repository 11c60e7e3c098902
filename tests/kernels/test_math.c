// The elementary functions: the same bits on every ISA, errors within the bounds stated in
// kernels/simd/math.h, special values.

#include "check.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK = 4096 };

// f32 is judged by double, f64 by long double where that is wider (x86: 64 bits of mantissa, Arm:
// 113).
#define T_BITS 32
#define ORACLE double
#define ORACLE_FN(name) name
#define ORACLE_IS_BETTER 1
#define T_LEAST_EXPONENT -149
#define T_LIMIT 0x1p128
#include "test_math_body.h"
#undef ORACLE
#undef ORACLE_FN
#undef ORACLE_IS_BETTER
#undef T_LEAST_EXPONENT
#undef T_LIMIT

#define T_BITS 64
#define ORACLE long double
#define ORACLE_FN(name) name##l
#define ORACLE_IS_BETTER (LDBL_MANT_DIG > DBL_MANT_DIG)
#define T_LEAST_EXPONENT -1074
#define T_LIMIT 0x1p1024L
#include "test_math_body.h"

#define TESTS_OF(T)                                                                                \
    {"exp_" #T " accuracy", accuracy_exp_##T}, {"log_" #T " accuracy", accuracy_log_##T},          \
        {"sin_" #T " accuracy", accuracy_sin_##T}, {"cos_" #T " accuracy", accuracy_cos_##T},      \
        {"erf_" #T " accuracy", accuracy_erf_##T},                                                 \
        {"math_" #T " special values", special_values_##T},                                        \
        {"math_" #T " matches reference", math_matches_reference_##T},                             \
    {                                                                                              \
        "math_" #T " edges", math_edges_##T                                                        \
    }

const check_test test_math_list[] = {TESTS_OF(f32), TESTS_OF(f64), {NULL, NULL}};
