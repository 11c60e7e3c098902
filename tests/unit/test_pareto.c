// Smoothed importance weights against ArviZ 0.x's psislw on the same weights.
#include "unit_golden.h"

#include "numerics/pareto.h"

#include <math.h>
#include <stdlib.h>

// Weights u^-kind, u uniform: a tail of shape kind.
static void make(double *x, int64_t n, double kind)
{
    uint64_t s = 12345;
    for (int64_t i = 0; i < n; i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        x[i] = -kind * log(((double)(s >> 11) + 0.5) / 9007199254740992.0);
    }
}

static void weights_are_those_of_arviz(void **state)
{
    (void)state;
    static const struct {
        int64_t n;
        double kind;
        double k;
        double first;
        double highest;
        double at_17;
        double squares;
    } cases[] = {
        {1000, 0.3, 0.5029664502386894, -6.583739531323038, -5.150634645719875, -6.95248937809461,
         48513.54287342975},
        {1000, 0.9, 1.087653212762298, -6.5564596188163655, -2.2571449620068775, -7.662709159131083,
         59792.26241679035},
        {4000, 0.6, 0.599324907200563, -7.849918149727277, -4.800935901694655, -8.587417843270423,
         296171.56823375204},
        {200, 1.2, 1.070823147783096, -5.187324647468698, -1.1135603282643864, -6.641361068843819,
         8997.475258556686},
        {30, 0.5, 0.424996203663238, -2.8946684665094424, -2.204649398509101, -3.4823432653574233,
         371.60166080503666},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const int64_t n = cases[i].n;
        double *x = malloc((size_t)n * sizeof *x);
        double *scratch = malloc((size_t)(2 * n) * sizeof *x);
        make(x, n, cases[i].kind);
        const double k = tess_pareto_smooth(x, n, scratch);
        double highest = -(double)INFINITY;
        double squares = 0;
        double sum = 0;
        for (int64_t j = 0; j < n; j++) {
            highest = fmax(highest, x[j]);
            squares += x[j] * x[j];
            sum += exp(x[j]);
        }
        const double one = 1;
        assert_near(&sum, &one, 1, 1e-12);
        assert_near(&k, &cases[i].k, 1, 1e-10);
        assert_near(&x[0], &cases[i].first, 1, 1e-10);
        assert_near(&x[17], &cases[i].at_17, 1, 1e-10);
        assert_near(&highest, &cases[i].highest, 1, 1e-10);
        assert_near(&squares, &cases[i].squares, 1, 1e-10 * squares);
        free(x), free(scratch);
    }
}

// Too few weights, or equal ones, have no tail.
static void no_tail(void **state)
{
    (void)state;
    double x[100] = {1, 2, 3};
    double scratch[200];
    assert_true(isinf(tess_pareto_smooth(x, 3, scratch)));
    assert_true(x[2] > x[1] && x[1] > x[0]);
    for (int i = 0; i < 100; i++) {
        x[i] = 5;
    }
    assert_true(isinf(tess_pareto_smooth(x, 100, scratch)));
    const double want = -log(100);
    assert_near(x, &want, 1, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_those_of_arviz),
        cmocka_unit_test(no_tail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
