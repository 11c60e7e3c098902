// A stand-in for a density: what it is where it was fitted, and that proposals from it, accepted by
// the density, are draws of the density whatever the stand-in is worth.
#include "unit_golden.h"

#include "base/rng.h"
#include "numerics/nuts.h"
#include "numerics/surrogate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 2, N_SEEN = 400, N_BATCH = 20 };

typedef double (*density)(const double *x, double *gradient);

// x ~ N(0, 1), y - x^2 ~ N(0, 1): a polynomial of the fourth degree.
static double banana(const double *x, double *g)
{
    const double d = x[1] - x[0] * x[0];
    g[0] = -x[0] + 2 * x[0] * d;
    g[1] = -d;
    return -0.5 * x[0] * x[0] - 0.5 * d * d;
}

// Uniform in (0, 1) and exponential above 0, seen through logit and logarithm: tails that no
// polynomial has.
static double bounded(const double *x, double *g)
{
    const double p = 1 / (1 + exp(-x[0]));
    const double t = exp(x[1]);
    g[0] = 1 - 2 * p;
    g[1] = 1 - t;
    return log(p) + log1p(-p) + x[1] - t;
}

static tess_nuts *begin(density of, int64_t n_warmup, int64_t n_draw, const double *covariance,
                        uint32_t chain)
{
    (void)of;
    static const double x0[N] = {0.3, -0.2};
    const tess_nuts_options options = {.seed = 7,
                                       .chain = chain,
                                       .max_depth = 10,
                                       .n_warmup = n_warmup,
                                       .n_draw = n_draw,
                                       .target_accept = 0.8,
                                       .max_energy_error = 1000};
    tess_nuts *state = malloc(tess_nuts_bytes(N, 10));
    assert_true(tess_nuts_begin(state, N, x0, covariance, &options));
    return state;
}

// The surrogate of a density from draws of it.
static tess_surrogate *learn(density of, double *error)
{
    static double x[N_SEEN * N];
    static double value[N_SEEN];
    static double gradient[N_SEEN * N];
    tess_nuts *chain = begin(of, 300, N_SEEN, NULL, 0);
    for (tess_nuts_request wanted = TESS_NUTS_EVALUATE; wanted != TESS_NUTS_DONE;) {
        double g[N];
        const double v = of(tess_nuts_trial(chain), g);
        wanted = tess_nuts_next(chain, v, g);
        tess_nuts_view view;
        tess_nuts_look(chain, &view);
        if (wanted != TESS_NUTS_EVALUATE && view.draw >= 0) {
            memcpy(x + view.draw * N, view.x, sizeof g);
            memcpy(gradient + view.draw * N, view.gradient, sizeof g);
            value[view.draw] = view.log_density;
        }
    }
    free(chain);
    const tess_surrogate_seen seen = {x, value, gradient, N_SEEN};
    tess_surrogate *s = malloc(tess_surrogate_bytes(N));
    void *scratch = malloc(tess_surrogate_scratch(N));
    assert_true(tess_surrogate_fit(s, N, &seen, scratch, error));
    const tess_surrogate_seen few = {x, value, gradient, 5};
    tess_surrogate *none = malloc(tess_surrogate_bytes(N));
    double unused;
    assert_false(tess_surrogate_fit(none, N, &few, scratch, &unused));
    free(none), free(scratch);
    return s;
}

static void slopes_are_right(void **state)
{
    (void)state;
    static const double points[][N] = {{0, 0}, {1, 2}, {-3, 8}, {6, -20}, {30, 400}};
    double error;
    tess_surrogate *s = learn(bounded, &error);
    for (size_t i = 0; i < ARRAY_LEN(points); i++) {
        double g[N];
        double unused[N];
        tess_surrogate_at(s, points[i], g);
        for (int k = 0; k < N; k++) {
            double x[N] = {points[i][0], points[i][1]};
            const double h = 1e-5;
            x[k] += h;
            const double high = tess_surrogate_at(s, x, unused);
            x[k] -= 2 * h;
            const double slope = (high - tess_surrogate_at(s, x, unused)) / (2 * h);
            assert_near(&g[k], &slope, 1, 1e-5 * (1 + fabs(slope)));
        }
    }
    free(s);
}

// What is a polynomial is found but for the t that it stands on, whose logarithm is none.
static void polynomials_are_found(void **state)
{
    (void)state;
    double error;
    free(learn(banana, &error));
    assert_true(error < 0.2);
    free(learn(bounded, &error));
    assert_true(error > 1e-3 && error < 2);
}

// Moments of draws that a surrogate proposes: of x, x^2 and y, by batches.
static double draw(density of, double spoil, const double want[3], double (*first)(double),
                   double (*second)(double))
{
    // In the tails of a banana a chain stays for hundreds of draws: a batch must be far longer.
    const int64_t n_draw = 200000;
    double error;
    tess_surrogate *s = learn(of, &error);
    tess_nuts *mover = begin(of, 0, INT64_MAX / 4, tess_surrogate_covariance(s), 9);
    const tess_philox_stream stream = tess_philox_open(5, 0, 1);
    double x[N] = {0.1, 0.2};
    double g[N];
    double at = of(x, g);
    double batch[3][N_BATCH] = {{0}};
    double n_accepted = 0;
    for (int64_t i = 0; i < n_draw; i++) {
        // A surrogate that is wrong on purpose: steeper than the density.
        const double from = spoil * tess_surrogate_at(s, x, g);
        for (int k = 0; k < N; k++) {
            g[k] *= spoil;
        }
        tess_nuts_restart(mover, x, from, g);
        const int64_t end = tess_nuts_n_done(mover) + 1;
        while (tess_nuts_n_done(mover) < end) {
            const double v = spoil * tess_surrogate_at(s, tess_nuts_trial(mover), g);
            for (int k = 0; k < N; k++) {
                g[k] *= spoil;
            }
            (void)tess_nuts_next(mover, v, g);
        }
        tess_nuts_view view;
        tess_nuts_look(mover, &view);
        const double value = of(view.x, g);
        if (tess_philox_uniform(&stream, (uint64_t)i) <
            exp(value - at - (view.log_density - from))) {
            memcpy(x, view.x, sizeof x);
            at = value;
            n_accepted++;
        }
        const double scale = (double)N_BATCH / (double)n_draw;
        const int64_t b = i * N_BATCH / n_draw;
        batch[0][b] += first(x[0]) * scale;
        batch[1][b] += first(x[0]) * first(x[0]) * scale;
        batch[2][b] += second(x[1]) * scale;
    }
    for (int m = 0; m < 3; m++) {
        double mean = 0;
        double squares = 0;
        for (int b = 0; b < N_BATCH; b++) {
            mean += batch[m][b] / N_BATCH;
        }
        for (int b = 0; b < N_BATCH; b++) {
            squares += (batch[m][b] - mean) * (batch[m][b] - mean);
        }
        const double deviation = sqrt(squares / N_BATCH / (N_BATCH - 1));
        if (fabs(mean - want[m]) > 4.5 * deviation || deviation > 0.1 * (1 + fabs(want[m]))) {
            fail_msg("moment %d: %g +- %g, and %g is true", m, mean, deviation, want[m]);
        }
    }
    free(mover), free(s);
    return n_accepted / (double)n_draw;
}

static double itself(double x)
{
    return x;
}
static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

static void accepted_proposals_are_draws(void **state)
{
    (void)state;
    static const double of_banana[3] = {0, 1, 1};
    static const double of_bounded[3] = {0.5, 1.0 / 3, 1};
    const double share = draw(banana, 1, of_banana, itself, itself);
    assert_true(share > 0.8);
    assert_true(draw(banana, 0.6, of_banana, itself, itself) < share);
    draw(bounded, 1, of_bounded, logistic, exp);
    draw(bounded, 0.7, of_bounded, logistic, exp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_are_right),
        cmocka_unit_test(polynomials_are_found),
        cmocka_unit_test(accepted_proposals_are_draws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
