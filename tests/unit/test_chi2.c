// The tail of chi2, against closed forms.
#include "unit.h"

#include "numerics/chi2.h"

#include <math.h>

// With an even number of degrees of freedom it is a sum.
static double even_tail(double chi2, int dof)
{
    double term = exp(-0.5 * chi2);
    double sum = term;
    for (int k = 1; k < dof / 2; k++) {
        term *= 0.5 * chi2 / k;
        sum += term;
    }
    return sum;
}

static void even_degrees_are_a_sum(void **state)
{
    (void)state;
    static const double values[] = {0.01, 0.5, 1, 3.84, 7, 20, 60, 200, 900};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        for (int dof = 2; dof <= 60; dof += 2) {
            const double expected = even_tail(values[i], dof);
            assert_true(fabs(tess_chi2_tail(values[i], dof) - expected) <=
                        1e-15 + 1e-11 * expected);
        }
    }
}

static void one_degree_is_the_error_function(void **state)
{
    (void)state;
    for (double x = 0.1; x < 8; x += 0.3) {
        const double expected = erfc(x / sqrt(2));
        assert_true(fabs(tess_chi2_tail(x * x, 1) - expected) <= 1e-15 + 1e-11 * expected);
    }
}

static void odd_values_are_told(void **state)
{
    (void)state;
    assert_true(tess_chi2_tail(0, 3) == 1);
    assert_true(tess_chi2_tail(-1, 3) == 1);
    assert_true(tess_chi2_tail(1e6, 3) >= 0);
    assert_true(tess_chi2_tail(1e6, 3) < 1e-300);
    assert_true(isnan(tess_chi2_tail(1, 0)));
    assert_true(isnan(tess_chi2_tail((double)NAN, 2)));
    assert_true(fabs(tess_chi2_tail(1e5, 1e5) - 0.5) < 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(even_degrees_are_a_sum),
                                       cmocka_unit_test(one_degree_is_the_error_function),
                                       cmocka_unit_test(odd_values_are_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
