// The trust-region solver goes scipy's way, step by step, on problems with known answers.
#include "unit.h"

#include "numerics/symmetric.h"
#include "numerics/trust_region.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_N = 4, MAX_M = 32 };

#define NONE ((double)INFINITY)

typedef struct problem {
    const char *name;
    int64_t n;
    int64_t m;
    void (*residuals)(const double *x, double *r, double *jacobian);
    double x0[MAX_N];
    double lower[MAX_N];
    double upper[MAX_N];
    // What scipy 1.x finds with x_scale "jac", tolerances 1e-10: best x, cost, evaluations.
    double want[MAX_N];
    double cost;
    int64_t nfev;
} problem;

static void rosenbrock(const double *x, double *r, double *j)
{
    const double jacobian[] = {-20 * x[0], 10, -1, 0};
    r[0] = 10 * (x[1] - x[0] * x[0]);
    r[1] = 1 - x[0];
    memcpy(j, jacobian, sizeof jacobian);
}

static void powell(const double *x, double *r, double *j)
{
    const double a = x[1] - 2 * x[2];
    const double b = x[0] - x[3];
    const double jacobian[] = {1,
                               10,
                               0,
                               0,
                               0,
                               0,
                               sqrt(5),
                               -sqrt(5),
                               0,
                               2 * a,
                               -4 * a,
                               0,
                               2 * sqrt(10) * b,
                               0,
                               0,
                               -2 * sqrt(10) * b};
    r[0] = x[0] + 10 * x[1];
    r[1] = sqrt(5) * (x[2] - x[3]);
    r[2] = a * a;
    r[3] = sqrt(10) * b * b;
    memcpy(j, jacobian, sizeof jacobian);
}

static void decay(const double *x, double *r, double *j)
{
    for (int64_t k = 0; k < 20; k++) {
        const double t = 0.25 * (double)k;
        const double y = 3 * exp(-0.7 * t) + 0.5 + 0.01 * sin(7 * t);
        const double e = exp(-x[1] * t);
        r[k] = x[0] * e + x[2] - y;
        j[3 * k] = e;
        j[3 * k + 1] = -x[0] * t * e;
        j[3 * k + 2] = 1;
    }
}

static void line(const double *x, double *r, double *j)
{
    for (int64_t k = 0; k < 10; k++) {
        r[k] = x[0] + x[1] * (double)k - (3 - 2 * (double)k);
        j[2 * k] = 1;
        j[2 * k + 1] = (double)k;
    }
}

static const problem PROBLEMS[] = {
    {"rosenbrock", 2, 2, rosenbrock, {-1.2, 1}, {-NONE, -NONE}, {NONE, NONE}, {1, 1}, 0, 13},
    {"x1 at its upper bound",
     2,
     2,
     rosenbrock,
     {-1.2, 1},
     {-2, -0.5},
     {0.5, 2},
     {0.5, 0.25},
     0.125,
     24},
    {"x1 at its lower bound",
     2,
     2,
     rosenbrock,
     {2, 2},
     {1.5, -NONE},
     {NONE, NONE},
     {1.5, 2.25},
     0.125,
     14},
    {"wide bounds", 2, 2, rosenbrock, {-1.2, 1}, {-50, 0}, {0.5, 100}, {0.5, 0.25}, 0.125, 19},
    {"powell",
     4,
     4,
     powell,
     {3, -1, 0, 1},
     {-NONE, -NONE, -NONE, -NONE},
     {NONE, NONE, NONE, NONE},
     {0, 0, 0, 0},
     0,
     15},
    {"powell with bounds",
     4,
     4,
     powell,
     {3, -1, 0, 1},
     {0.1, -20, -20, -20},
     {20, 20, 20, 20},
     {0.1, -0.009982234157175248, 0.043073108066094094, 0.043783741779084194},
     9.390981502915175e-05,
     16},
    {"decay",
     3,
     20,
     decay,
     {1, 3, 0},
     {0, 0, 0},
     {10, 10, 10},
     {3.000437460168797, 0.7020038321233932, 0.5024588607388547},
     0.000487040216435321,
     10},
    {"decay at a bound",
     3,
     20,
     decay,
     {1, 3, 0},
     {0, 0, -10},
     {10, 10, 0.3},
     {3.112358084368399, 0.5783074479905417, 0.3},
     0.03507399099877486,
     11},
    {"line", 2, 10, line, {0, 0}, {-NONE, -NONE}, {NONE, NONE}, {3, -2}, 0, 0},
};

static const tess_trust_options TIGHT = {1e-10, 1e-10, 1e-10, 1000, 1, 0};

static double evaluate(const problem *p, const double *x, double *g, double *h)
{
    double r[MAX_M];
    double j[MAX_M * MAX_N];
    double cost = 0;
    p->residuals(x, r, j);
    memset(g, 0, (size_t)p->n * sizeof *g);
    memset(h, 0, (size_t)(p->n * p->n) * sizeof *h);
    for (int64_t i = 0; i < p->m; i++) {
        cost += 0.5 * r[i] * r[i];
        for (int64_t a = 0; a < p->n; a++) {
            g[a] += j[i * p->n + a] * r[i];
            for (int64_t b = 0; b < p->n; b++) {
                h[a * p->n + b] += j[i * p->n + a] * j[i * p->n + b];
            }
        }
    }
    return cost;
}

static tess_trust *begin(const problem *p, const tess_trust_options *options)
{
    tess_trust *state = malloc(tess_trust_bytes(p->n));
    tess_trust_begin(state, p->n, p->x0, p->lower, p->upper, NULL, options);
    return state;
}

// To the end; every trial point lies inside the bounds.
static tess_trust_view solve(const problem *p, tess_trust *state)
{
    double g[MAX_N];
    double h[MAX_N * MAX_N];
    tess_trust_view view;
    tess_trust_request request = TESS_TRUST_EVALUATE;
    while (request == TESS_TRUST_EVALUATE) {
        const double *x = tess_trust_trial(state);
        for (int64_t i = 0; i < p->n; i++) {
            assert_true(x[i] > p->lower[i] && x[i] < p->upper[i]);
        }
        const double cost = evaluate(p, x, g, h);
        request = tess_trust_next(state, cost, g, h);
    }
    tess_trust_look(state, &view);
    return view;
}

static void answers_and_evaluations_are_scipys(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < ARRAY_LEN(PROBLEMS); k++) {
        const problem *p = &PROBLEMS[k];
        tess_trust *state = begin(p, &TIGHT);
        const tess_trust_view view = solve(p, state);
        print_message("%s: cost %.17g, %lld evaluations, status %d\n", p->name, view.cost,
                      (long long)view.nfev, view.status);
        assert_true(view.status > 0);
        // A flat valley: the cost says more than x does.
        const double tolerance = p->residuals == powell ? 1e-3 : 1e-8;
        for (int64_t i = 0; i < p->n; i++) {
            assert_true(fabs(view.x[i] - p->want[i]) < tolerance);
        }
        assert_true(fabs(view.cost - p->cost) <= 1e-9 * p->cost + 1e-14);
        // At a bound scipy goes on within rounding, where we stop.
        assert_true(p->nfev == 0 || (view.nfev <= p->nfev + 1 && view.nfev >= p->nfev - 5));
        free(state);
    }
}

static void a_copy_of_the_bytes_goes_on_alike(void **unused)
{
    (void)unused;
    const problem *p = &PROBLEMS[1];
    double g[MAX_N];
    double h[MAX_N * MAX_N];
    tess_trust *whole = begin(p, &TIGHT);
    const tess_trust_view want = solve(p, whole);
    for (int64_t stop = 1; stop < want.nfev; stop++) {
        tess_trust *first = begin(p, &TIGHT);
        for (int64_t k = 0; k < stop; k++) {
            const double cost = evaluate(p, tess_trust_trial(first), g, h);
            assert_int_equal(tess_trust_next(first, cost, g, h), TESS_TRUST_EVALUATE);
        }
        tess_trust *second = malloc(tess_trust_bytes(p->n));
        memcpy(second, first, tess_trust_bytes(p->n));
        free(first);
        solve(p, second);
        assert_memory_equal(second, whole, tess_trust_bytes(p->n));
        free(second);
    }
    free(whole);
}

static void scale_of_parameters_does_not_matter(void **unused)
{
    (void)unused;
    // x_scale 1 and a Jacobian's scale end in the same place.
    const problem *p = &PROBLEMS[6];
    const double scale[] = {1, 0.1, 3};
    tess_trust_options options = TIGHT;
    options.plain_xtol = 0;
    tess_trust *state = begin(p, &options);
    tess_trust_begin(state, p->n, p->x0, p->lower, p->upper, scale, &options);
    const tess_trust_view view = solve(p, state);
    for (int64_t i = 0; i < p->n; i++) {
        assert_true(fabs(view.x[i] - p->want[i]) < 1e-7);
        assert_true(view.scale[i] == 1 / scale[i]);
    }
    free(state);
}

static void limits_are_kept(void **unused)
{
    (void)unused;
    const problem *p = &PROBLEMS[0];
    tess_trust_options options = TIGHT;
    options.max_nfev = 4;
    tess_trust *state = begin(p, &options);
    const tess_trust_view view = solve(p, state);
    assert_int_equal(view.status, 0);
    assert_int_equal(view.nfev, 4);
    assert_true(view.cost < 12.1);
    free(state);
}

static void no_gradient_is_the_end(void **unused)
{
    (void)unused;
    problem p = PROBLEMS[0];
    p.x0[0] = p.x0[1] = 1;
    tess_trust *state = begin(&p, &TIGHT);
    const tess_trust_view view = solve(&p, state);
    assert_int_equal(view.status, 1);
    assert_int_equal(view.nfev, 1);
    assert_true(view.x[0] == 1 && view.x[1] == 1);
    free(state);
}

static void nothing_to_fit_is_done_at_once(void **unused)
{
    (void)unused;
    double none[1] = {0};
    tess_trust *state = malloc(tess_trust_bytes(0));
    tess_trust_begin(state, 0, none, none, none, NULL, &TIGHT);
    assert_int_equal(tess_trust_next(state, 7, none, none), TESS_TRUST_DONE);
    tess_trust_view view;
    tess_trust_look(state, &view);
    assert_int_equal(view.status, 1);
    assert_true(view.cost == 7);
    free(state);
}

static void costs_that_are_not_finite_shrink_the_step(void **unused)
{
    (void)unused;
    const problem *p = &PROBLEMS[6];
    double g[MAX_N];
    double h[MAX_N * MAX_N];
    tess_trust *state = begin(p, &TIGHT);
    int64_t bad = 0;
    tess_trust_request request = TESS_TRUST_EVALUATE;
    while (request == TESS_TRUST_EVALUATE) {
        const double *x = tess_trust_trial(state);
        double cost = evaluate(p, x, g, h);
        if (x[1] < 0.65) { // a region that overflows
            cost = bad % 2 ? (double)NAN : (double)INFINITY;
            bad++;
        }
        request = tess_trust_next(state, cost, g, h);
    }
    tess_trust_view view;
    tess_trust_look(state, &view);
    assert_true(view.status > 0);
    assert_true(fabs(view.x[1] - p->want[1]) < 1e-7);
    free(state);

    state = begin(p, &TIGHT);
    assert_int_equal(tess_trust_next(state, (double)NAN, g, h), TESS_TRUST_DONE);
    tess_trust_look(state, &view);
    assert_int_equal(view.status, -1);
    free(state);
}

static void a_wall_of_nonsense_ends_the_search(void **unused)
{
    (void)unused;
    const problem *p = &PROBLEMS[6];
    double g[MAX_N];
    double h[MAX_N * MAX_N];
    tess_trust *state = begin(p, &TIGHT);
    const double first = evaluate(p, tess_trust_trial(state), g, h);
    tess_trust_request request = tess_trust_next(state, first, g, h);
    while (request == TESS_TRUST_EVALUATE) {
        request = tess_trust_next(state, (double)NAN, g, h);
    }
    tess_trust_view view;
    tess_trust_look(state, &view);
    assert_int_equal(view.status, -3);
    assert_true(view.cost == first);
    free(state);
}

static void starts_outside_are_moved_in(void **unused)
{
    (void)unused;
    problem p = PROBLEMS[1];
    p.x0[0] = 7;
    p.x0[1] = -0.5;
    tess_trust *state = begin(&p, &TIGHT);
    const tess_trust_view view = solve(&p, state);
    assert_true(fabs(view.x[0] - 0.5) < 1e-8 && fabs(view.x[1] - 0.25) < 1e-8);
    free(state);
}

// |A v - l v| and |V V^T - 1|, relative.
static double eigen_error(const double *a, int64_t n, const double *values, const double *vectors)
{
    double worst = 0;
    double size = 0;
    for (int64_t i = 0; i < n; i++) {
        size = fmax(size, fabs(values[i]));
    }
    for (int64_t v = 0; v < n; v++) {
        for (int64_t i = 0; i < n; i++) {
            double product = -values[v] * vectors[v * n + i];
            double other = i == v ? -1 : 0;
            for (int64_t k = 0; k < n; k++) {
                product += a[i * n + k] * vectors[v * n + k];
                other += vectors[i * n + k] * vectors[v * n + k];
            }
            worst = fmax(worst, fmax(fabs(product) / size, fabs(other)));
        }
    }
    return worst;
}

static void eigenvectors_of_large_matrices_are_exact(void **unused)
{
    (void)unused;
    static const int64_t sizes[] = {1, 2, 3, 5, 30, 120};
    for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
        for (int kind = 0; kind < 3; kind++) { // dense, arrowhead, singular
            const int64_t n = sizes[k];
            const size_t bytes = (size_t)(n * n) * sizeof(double);
            double *a = malloc(bytes);
            double *used = malloc(bytes);
            double *vectors = malloc(bytes);
            double *values = malloc((size_t)n * sizeof *values);
            double *work = malloc((size_t)(2 * n) * sizeof *work);
            for (int64_t i = 0; i < n; i++) {
                for (int64_t j = 0; j <= i; j++) {
                    double x = sin((double)(i * 31 + j * 17 + 1)) + (i == j ? 2 : 0);
                    x = kind == 1 && i != j && i != n - 1 ? 0 : x;
                    x = kind == 2 ? (double)((i + 1) * (j + 1)) : x;
                    a[i * n + j] = a[j * n + i] = x;
                }
            }
            memcpy(used, a, bytes);
            tess_symmetric_eigen_ql(used, n, values, vectors, work);
            assert_true(eigen_error(a, n, values, vectors) < 1e-13);
            free(a);
            free(used);
            free(vectors);
            free(values);
            free(work);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_and_evaluations_are_scipys),
        cmocka_unit_test(a_copy_of_the_bytes_goes_on_alike),
        cmocka_unit_test(scale_of_parameters_does_not_matter),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(no_gradient_is_the_end),
        cmocka_unit_test(nothing_to_fit_is_done_at_once),
        cmocka_unit_test(costs_that_are_not_finite_shrink_the_step),
        cmocka_unit_test(a_wall_of_nonsense_ends_the_search),
        cmocka_unit_test(starts_outside_are_moved_in),
        cmocka_unit_test(eigenvectors_of_large_matrices_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
