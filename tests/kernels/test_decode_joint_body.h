// The tests of decode_joint for one dtype; included by test_decode_joint.c only.
#include "kernels/simd/dtype.h"

// Points in a few clumps and a bias now and then; the queries lie among them or far away.
static void T_NAME(fill_points)(check *t, SCALAR *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = (SCALAR)(check_uniform(t, -1, 1) + (double)(check_random(t) % 3) * 4);
    }
}

static double T_NAME(joint_compare)(check *t, size_t n, size_t n_dim, size_t n_y, int with_bias)
{
    double want_peak[8], want_sum[8], got_peak[8], got_sum[8];
    check_block x = check_take(n * n_dim * sizeof(SCALAR), 0);
    check_block bias = check_take(n * sizeof(SCALAR), sizeof(SCALAR));
    check_block y = check_take(n_y * n_dim * sizeof(SCALAR), 0);
    T_NAME(fill_points)(t, x.data, n * n_dim);
    T_NAME(fill_points)(t, bias.data, n);
    T_NAME(fill_points)(t, y.data, n_y * n_dim);
    ((SCALAR *)y.data)[0] = 30;
    const SCALAR *b = with_bias ? bias.data : NULL;
    t->ref->T_NAME(decode_joint)(x.data, n, n_dim, b, y.data, n_y, want_peak, want_sum);
    t->isa->T_NAME(decode_joint)(x.data, n, n_dim, b, y.data, n_y, got_peak, got_sum);
    double worst = 0;
    for (size_t j = 0; j < n_y; j++) {
        // An exponent q is off by a few units in its last place; the sum by those of its terms.
        const double unit = (sizeof(SCALAR) == 4 ? (double)FLT_EPSILON : DBL_EPSILON);
        const double allowed = unit * (8 + 8 * fabs(want_peak[j]));
        const double error =
            fabs(got_peak[j] + log(got_sum[j]) - want_peak[j] - log(want_sum[j])) / allowed;
        worst = error > worst ? error : worst;
        CHECK(t, error <= 1, "n=%zu dims=%zu query %zu: off by %g times what rounding allows", n,
              n_dim, j, error);
        CHECK(t, got_sum[j] >= 1 - 1e-5 && got_sum[j] <= (double)n * (1 + 1e-5),
              "n=%zu: a sum of %g", n, got_sum[j]);
    }
    CHECK(t, check_release(&bias), "wrote past the bias");
    CHECK(t, check_release(&x) && check_release(&y), "wrote past the points");
    return worst;
}

static void T_NAME(joint_matches_reference)(check *t)
{
    static const size_t sizes[] = {1, 2, 3, 15, 16, 17, 63, 64, 65, 511, 512, 513, 1300, 5000};
    double worst = 0;
    for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
        for (size_t n_dim = 1; n_dim < 12; n_dim++) {
            const double error =
                T_NAME(joint_compare)(t, sizes[k], n_dim, 1 + n_dim % 8, (int)(n_dim % 2));
            worst = error > worst ? error : worst;
        }
    }
    snprintf(t->note, sizeof t->note, "largest error %.2f of what rounding allows", worst);
}

// Far below the range of exp(), equal points, weights of nothing.
static void T_NAME(joint_extremes)(check *t)
{
    SCALAR x[700], y[2] = {0, 1000}, bias[700];
    double peak[2], sum[2];
    for (size_t i = 0; i < ARRAY_LEN(x); i++) {
        x[i] = 0;
        bias[i] = i % 2 ? -(SCALAR)INFINITY : 0;
    }
    t->isa->T_NAME(decode_joint)(x, ARRAY_LEN(x), 1, NULL, y, 2, peak, sum);
    CHECK(t, peak[0] == 0 && sum[0] == 700, "equal points: peak %g, sum %g", peak[0], sum[0]);
    CHECK(t, peak[1] == -1e6 && sum[1] == 700, "far away: peak %g, sum %g", peak[1], sum[1]);
    t->isa->T_NAME(decode_joint)(x, ARRAY_LEN(x), 1, bias, y, 2, peak, sum);
    CHECK(t, peak[1] == -1e6 && sum[1] == 350, "half without weight: sum %g", sum[1]);
    for (size_t i = 0; i < ARRAY_LEN(x); i++) {
        bias[i] = -(SCALAR)INFINITY;
    }
    t->isa->T_NAME(decode_joint)(x, ARRAY_LEN(x), 1, bias, y, 2, peak, sum);
    CHECK(t, isinf(peak[0]) && sum[0] == 0, "no weight at all: peak %g, sum %g", peak[0], sum[0]);
}
