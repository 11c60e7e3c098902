// The tests of the elementary functions for one dtype; included by test_math.c only.
#include "kernels/simd/dtype.h"

typedef struct T_NAME(math_case) {
    const char *name;
    void (*apply)(const tess_kernels *set, const SCALAR *x, size_t n, SCALAR *y);
    ORACLE (*oracle)(ORACLE x);
    double bound_ulp;
    double low; // where the function does something, apart from its special values
    double high;
} T_NAME(math_case);

static void T_NAME(apply_exp)(const tess_kernels *set, const SCALAR *x, size_t n, SCALAR *y)
{
    set->T_NAME(exp)(x, n, y);
}

static void T_NAME(apply_log)(const tess_kernels *set, const SCALAR *x, size_t n, SCALAR *y)
{
    set->T_NAME(log)(x, n, y);
}

static void T_NAME(apply_erf)(const tess_kernels *set, const SCALAR *x, size_t n, SCALAR *y)
{
    set->T_NAME(erf)(x, n, y);
}

static void T_NAME(apply_sin)(const tess_kernels *set, const SCALAR *x, size_t n, SCALAR *y)
{
    static SCALAR cosine[CHUNK];
    set->T_NAME(sincos)(x, n, y, cosine);
}

static void T_NAME(apply_cos)(const tess_kernels *set, const SCALAR *x, size_t n, SCALAR *y)
{
    static SCALAR sine[CHUNK];
    set->T_NAME(sincos)(x, n, sine, y);
}

// The trigonometric range is the one math.h promises.
#define SINCOS_RANGE (T_MANTISSA == 23 ? 0x1p17 : 0x1p24)
static const T_NAME(math_case) T_NAME(math_cases)[] = {
    {"exp", T_NAME(apply_exp), ORACLE_FN(exp), 1, T_MANTISSA == 23 ? -104 : -746,
     T_MANTISSA == 23 ? 89 : 710},
    {"log", T_NAME(apply_log), ORACLE_FN(log), 1, 0, 4},
    {"sin", T_NAME(apply_sin), ORACLE_FN(sin), 2, -SINCOS_RANGE, SINCOS_RANGE},
    {"cos", T_NAME(apply_cos), ORACLE_FN(cos), 2, -SINCOS_RANGE, SINCOS_RANGE},
    {"erf", T_NAME(apply_erf), ORACLE_FN(erf), 2, -6, 6},
};
#undef SINCOS_RANGE

static UINT T_NAME(pattern)(SCALAR value)
{
    UINT bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static SCALAR T_NAME(of_pattern)(UINT bits)
{
    SCALAR value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

// The error in units of the last place of the exact value; infinity counts as the first number that
// is too large.
static double T_NAME(error_ulp)(SCALAR got, ORACLE exact)
{
    if (isnan(exact) || isnan(got)) {
        return isnan(exact) && isnan(got) ? 0 : (double)INFINITY;
    }
    const ORACLE value = isinf(got) ? (got > 0 ? (ORACLE)T_LIMIT : -(ORACLE)T_LIMIT) : (ORACLE)got;
    if (isinf(exact) || ORACLE_FN(fabs)(exact) > T_LIMIT) {
        return isinf(got) && (got > 0) == (exact > 0) ? 0 : (double)INFINITY;
    }
    int exponent = exact == 0 ? T_LEAST_EXPONENT : ORACLE_FN(ilogb)(exact) - T_MANTISSA;
    exponent = exponent < T_LEAST_EXPONENT ? T_LEAST_EXPONENT : exponent;
    return (double)ORACLE_FN(fabs)(ORACLE_FN(ldexp)(value - exact, -exponent));
}

// One item of test data: a pattern of any kind, a place in the interesting range, a small number,
// or a neighbour of a multiple of pi/2 (where sine and cosine cancel most).
static SCALAR T_NAME(sample)(check *t, const T_NAME(math_case) * function)
{
    switch (check_random(t) % 8) {
    case 0:
        return T_NAME(of_pattern)((UINT)check_random(t));
    case 1:
        return (SCALAR)check_uniform(t, -2, 2);
    case 2: {
        const double k = floor(check_uniform(t, 0, function->high / 1.6));
        const SCALAR near = (SCALAR)((ORACLE)k * ORACLE_FN(acos)(0));
        return T_NAME(of_pattern)(T_NAME(pattern)(near) + (UINT)(check_random(t) % 3));
    }
    default:
        return (SCALAR)check_uniform(t, function->low, function->high);
    }
}

static void T_NAME(judge)(check *t, const T_NAME(math_case) * function, const SCALAR *x, size_t n,
                          double *worst, SCALAR *worst_at)
{
    static SCALAR y[CHUNK];
    function->apply(t->isa, x, n, y);
    for (size_t i = 0; i < n; i++) {
        const double error = T_NAME(error_ulp)(y[i], function->oracle((ORACLE)x[i]));
        CHECK(t, error <= function->bound_ulp, "%s(%a) = %a: %.3f ulp", function->name,
              (double)x[i], (double)y[i], error);
        if (error > *worst) {
            *worst = error;
            *worst_at = x[i];
        }
    }
}

static void T_NAME(accuracy)(check *t, const T_NAME(math_case) * function)
{
    static SCALAR x[CHUNK];
    const size_t n_sample = t->quick ? 4 * CHUNK : 150 * CHUNK;
    double worst = 0;
    SCALAR worst_at = 0;
    if (!ORACLE_IS_BETTER) {
        check_skip(t, "long double is no wider than double here: nothing to judge by");
        return;
    }
    for (size_t done = 0; done < n_sample; done += CHUNK) {
        for (size_t i = 0; i < CHUNK; i++) {
            x[i] = T_NAME(sample)(t, function);
        }
        T_NAME(judge)(t, function, x, CHUNK, &worst, &worst_at);
    }
    // All patterns of f32 in steps of a prime, or each one.
    const uint64_t step = t->exhaustive ? 1 : t->quick ? 100003 : 3571;
    for (uint64_t first = 0; T_MANTISSA == 23 && first < (uint64_t)1 << 32; first += step * CHUNK) {
        for (size_t i = 0; i < CHUNK; i++) {
            x[i] = T_NAME(of_pattern)((UINT)(first + i * step));
        }
        T_NAME(judge)(t, function, x, CHUNK, &worst, &worst_at);
    }
    snprintf(t->note, sizeof(t->note), "%.3f ulp at %a, bound %g", worst, (double)worst_at,
             function->bound_ulp);
}

static void T_NAME(accuracy_exp)(check *t)
{
    T_NAME(accuracy)(t, &T_NAME(math_cases)[0]);
}

static void T_NAME(accuracy_log)(check *t)
{
    T_NAME(accuracy)(t, &T_NAME(math_cases)[1]);
}

static void T_NAME(accuracy_sin)(check *t)
{
    T_NAME(accuracy)(t, &T_NAME(math_cases)[2]);
}

static void T_NAME(accuracy_cos)(check *t)
{
    T_NAME(accuracy)(t, &T_NAME(math_cases)[3]);
}

static void T_NAME(accuracy_erf)(check *t)
{
    T_NAME(accuracy)(t, &T_NAME(math_cases)[4]);
}

static void T_NAME(special_values)(check *t)
{
    const SCALAR inf = (SCALAR)INFINITY;
    const SCALAR nan = (SCALAR)NAN;
    const SCALAR least = T_NAME(of_pattern)(1);
    const SCALAR most = T_NAME(of_pattern)(T_NAME(pattern)(inf) - 1);
    const struct {
        int function; // index in math_cases
        SCALAR x, want;
    } cases[] = {
        {0, 0, 1},           {0, -0.0, 1},    {0, inf, inf},  {0, -inf, 0},    {0, nan, nan},
        {0, -nan, nan},      {0, most, inf},  {0, -most, 0},  {0, least, 1},   {1, 1, 0},
        {1, 0, -inf},        {1, -0.0, -inf}, {1, inf, inf},  {1, -inf, nan},  {1, -1, nan},
        {1, -least, nan},    {1, nan, nan},   {1, -nan, nan}, {2, 0, 0},       {2, -0.0, -0.0},
        {2, inf, nan},       {2, -inf, nan},  {2, nan, nan},  {2, -nan, nan},  {2, least, least},
        {2, -least, -least}, {3, 0, 1},       {3, -0.0, 1},   {3, inf, nan},   {3, -inf, nan},
        {3, nan, nan},       {3, -nan, nan},  {4, 0, 0},      {4, -0.0, -0.0}, {4, inf, 1},
        {4, -inf, -1},       {4, nan, nan},   {4, -nan, nan}, {4, most, 1},    {4, least, least},
        {4, -least, -least},
    };
    for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
        const T_NAME(math_case) *function = &T_NAME(math_cases)[cases[k].function];
        SCALAR got = -7;
        function->apply(t->isa, &cases[k].x, 1, &got);
        CHECK(t, T_NAME(pattern)(got) == T_NAME(pattern)(cases[k].want), "%s(%a) = %a, want %a",
              function->name, (double)cases[k].x, (double)got, (double)cases[k].want);
    }
}

static void T_NAME(same_bits)(check *t, const T_NAME(math_case) * function, const SCALAR *x,
                              size_t n)
{
    static SCALAR want[CHUNK];
    static SCALAR got[CHUNK];
    function->apply(t->ref, x, n, want);
    function->apply(t->isa, x, n, got);
    for (size_t i = 0; i < n; i++) {
        CHECK(t, T_NAME(pattern)(got[i]) == T_NAME(pattern)(want[i]),
              "%s(%a): got %a, reference %a", function->name, (double)x[i], (double)got[i],
              (double)want[i]);
    }
}

static void T_NAME(math_matches_reference)(check *t)
{
    static SCALAR x[CHUNK];
    const size_t n_sample = t->quick ? 2 * CHUNK : 50 * CHUNK;
    const uint64_t step = t->exhaustive ? 1 : t->quick ? 200003 : 20011;
    for (size_t k = 0; k < ARRAY_LEN(T_NAME(math_cases)); k++) {
        const T_NAME(math_case) *function = &T_NAME(math_cases)[k];
        for (size_t done = 0; done < n_sample; done += CHUNK) {
            for (size_t i = 0; i < CHUNK; i++) {
                x[i] = T_NAME(sample)(t, function);
            }
            T_NAME(same_bits)(t, function, x, CHUNK);
        }
        for (uint64_t p = 0; T_MANTISSA == 23 && p < (uint64_t)1 << 32; p += step * CHUNK) {
            for (size_t i = 0; i < CHUNK; i++) {
                x[i] = T_NAME(of_pattern)((UINT)(p + i * step));
            }
            T_NAME(same_bits)(t, function, x, CHUNK);
        }
    }
}

// Every short length, arrays ending at an unmapped page or a little before it.
static void T_NAME(math_edges)(check *t)
{
    for (size_t k = 0; k < ARRAY_LEN(T_NAME(math_cases)); k++) {
        const T_NAME(math_case) *function = &T_NAME(math_cases)[k];
        for (size_t n = 0; n < 140; n++) {
            const size_t shift = n % 4;
            SCALAR want[140];
            check_block in = check_take(n * sizeof(SCALAR), shift * sizeof(SCALAR));
            check_block out = check_take(n * sizeof(SCALAR), (3 - shift) * sizeof(SCALAR));
            SCALAR *x = in.data;
            for (size_t i = 0; i < n; i++) {
                x[i] = T_NAME(sample)(t, function);
            }
            function->apply(t->ref, x, n, want);
            function->apply(t->isa, x, n, out.data);
            CHECK(t, memcmp(out.data, want, n * sizeof(SCALAR)) == 0, "%s differs, n=%zu",
                  function->name, n);
            CHECK(t, check_release(&out), "%s wrote past its result, n=%zu", function->name, n);
            check_release(&in);
        }
    }
}
