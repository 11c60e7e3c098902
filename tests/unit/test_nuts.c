// The sampler against densities whose moments are known exactly.
#include "unit.h"

#include "numerics/nuts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_N = 6, N_CHAIN = 4, N_BATCH = 40 };

typedef double (*density)(const double *x, double *gradient);

// Two numbers with variances 1 and 4 and a correlation of 0.999.
static double ridge(const double *x, double *g)
{
    const double rho = 0.999;
    const double a = x[0];
    const double b = x[1] / 2;
    const double scale = 1 / (1 - rho * rho);
    g[0] = -scale * (a - rho * b);
    g[1] = -scale * (b - rho * a) / 2;
    return -0.5 * scale * (a * a - 2 * rho * a * b + b * b);
}

// Neal's: a scale v ~ N(0, 1) and two numbers of variance exp(v).
static double funnel(const double *x, double *g)
{
    const double w = exp(-x[0]);
    const double sum = x[1] * x[1] + x[2] * x[2];
    g[0] = -x[0] + 0.5 * w * sum - 1;
    g[1] = -w * x[1];
    g[2] = -w * x[2];
    return -0.5 * x[0] * x[0] - 0.5 * w * sum - x[0];
}

// A normal bent: x ~ N(0, 1), y - x^2 ~ N(0, 1).
static double banana(const double *x, double *g)
{
    const double d = x[1] - x[0] * x[0];
    g[0] = -x[0] + 2 * x[0] * d;
    g[1] = -d;
    return -0.5 * x[0] * x[0] - 0.5 * d * d;
}

// Uniform in (0, 1) and exponential above 0, seen through logit and logarithm.
static double bounded(const double *x, double *g)
{
    const double p = 1 / (1 + exp(-x[0]));
    const double t = exp(x[1]);
    g[0] = 1 - 2 * p;
    g[1] = 1 - t;
    return log(p) + log1p(-p) + x[1] - t;
}

// Two equal hills, near enough to be crossed: N(-1.5, 1) and N(1.5, 1).
static double hills(const double *x, double *g)
{
    const double a = -0.5 * (x[0] - 1.5) * (x[0] - 1.5);
    const double b = -0.5 * (x[0] + 1.5) * (x[0] + 1.5);
    const double share = 1 / (1 + exp(b - a));
    const double high = a > b ? a : b;
    g[0] = -share * (x[0] - 1.5) - (1 - share) * (x[0] + 1.5);
    return high + log(exp(a - high) + exp(b - high));
}

static double identity_of(double x)
{
    return x;
}
static double square_of(double x)
{
    return x * x;
}
static double logistic_of(double x)
{
    return 1 / (1 + exp(-x));
}

typedef struct moment {
    int which;
    double (*of)(double x);
    double value;
} moment;

typedef struct target {
    const char *name;
    density log_density;
    int64_t n;
    moment moments[4];
} target;

static const target TARGETS[] = {
    {"ridge",
     ridge,
     2,
     {{0, identity_of, 0}, {1, identity_of, 0}, {0, square_of, 1}, {1, square_of, 4}}},
    {"funnel",
     funnel,
     3,
     {{0, identity_of, 0}, {0, square_of, 1}, {1, identity_of, 0}, {2, identity_of, 0}}},
    {"banana",
     banana,
     2,
     {{0, identity_of, 0}, {0, square_of, 1}, {1, identity_of, 1}, {1, square_of, 4}}},
    {"bounded",
     bounded,
     2,
     {{0, logistic_of, 0.5},
      {1, exp, 1},
      {0, identity_of, 0},
      {1, identity_of, -0.57721566490153286}}},
    {"hills",
     hills,
     1,
     {{0, identity_of, 0}, {0, square_of, 3.25}, {0, identity_of, 0}, {0, square_of, 3.25}}},
};

static tess_nuts_options options_of(uint32_t chain, int64_t n_draw)
{
    return (tess_nuts_options){.seed = 11,
                               .chain = chain,
                               .max_depth = 10,
                               .n_warmup = 500,
                               .n_draw = n_draw,
                               .target_accept = 0.95,
                               .max_energy_error = 1000};
}

static tess_nuts *begin(const target *t, const tess_nuts_options *o)
{
    const double x0[MAX_N] = {0.3, -0.2, 0.1};
    tess_nuts *chain = malloc(tess_nuts_bytes(t->n, o->max_depth));
    assert_true(tess_nuts_begin(chain, t->n, x0, NULL, o));
    return chain;
}

// Draws [n_draw][n] of one chain; evaluations counted.
static int64_t sample(const target *t, const tess_nuts_options *o, double *draws)
{
    tess_nuts *chain = begin(t, o);
    tess_nuts_request wanted = TESS_NUTS_EVALUATE;
    int64_t n_eval = 0;
    while (wanted != TESS_NUTS_DONE) {
        double g[MAX_N];
        const double value = t->log_density(tess_nuts_trial(chain), g);
        wanted = tess_nuts_next(chain, value, g);
        n_eval++;
        tess_nuts_view view;
        tess_nuts_look(chain, &view);
        if (wanted != TESS_NUTS_EVALUATE && view.draw >= 0) {
            double again[MAX_N];
            assert_true(fabs(t->log_density(view.x, again) - view.log_density) < 1e-12);
            assert_memory_equal(again, view.gradient, (size_t)t->n * sizeof(double));
            assert_true(view.n_step < 1 << o->max_depth && view.depth <= o->max_depth);
            assert_true(view.accept >= 0 && view.accept <= 1);
            memcpy(draws + view.draw * t->n, view.x, (size_t)t->n * sizeof *draws);
        }
    }
    free(chain);
    return n_eval;
}

// Mean over batches, and its standard error by their scatter.
static void moment_of(const double *draws, int64_t n_draw, int64_t n, const moment *m, double *mean,
                      double *error)
{
    double batch[N_CHAIN * N_BATCH] = {0};
    const int64_t length = n_draw / N_BATCH;
    *mean = 0;
    for (int64_t b = 0; b < N_CHAIN * N_BATCH; b++) {
        for (int64_t k = 0; k < length; k++) {
            batch[b] += m->of(draws[(b * length + k) * n + m->which]) / (double)length;
        }
        *mean += batch[b] / (N_CHAIN * N_BATCH);
    }
    double squares = 0;
    for (int64_t b = 0; b < N_CHAIN * N_BATCH; b++) {
        squares += (batch[b] - *mean) * (batch[b] - *mean);
    }
    *error = sqrt(squares / (N_CHAIN * N_BATCH) / (N_CHAIN * N_BATCH - 1));
}

static void known_moments(void **state)
{
    (void)state;
    const int64_t n_draw = unit_is_quick() ? 1000 : 8000;
    for (size_t i = 0; i < ARRAY_LEN(TARGETS); i++) {
        const target *t = &TARGETS[i];
        double *draws = malloc((size_t)(N_CHAIN * n_draw * t->n) * sizeof *draws);
        for (uint32_t chain = 0; chain < N_CHAIN; chain++) {
            const tess_nuts_options o = options_of(chain, n_draw);
            sample(t, &o, draws + chain * n_draw * t->n);
        }
        for (size_t k = 0; k < ARRAY_LEN(t->moments); k++) {
            double mean;
            double error;
            moment_of(draws, n_draw, t->n, &t->moments[k], &mean, &error);
            if (fabs(mean - t->moments[k].value) > 4.5 * error ||
                error > 0.2 * (1 + fabs(t->moments[k].value))) {
                fail_msg("%s, moment %zu: %g +- %g, and %g is true", t->name, k, mean, error,
                         t->moments[k].value);
            }
        }
        free(draws);
    }
}

// The metric finds the ridge: few steps a draw, where a round one takes a hundred.
static void the_metric_is_learned(void **state)
{
    (void)state;
    enum { N_DRAW = 1000 };
    static double draws[2 * N_DRAW];
    const tess_nuts_options o = options_of(0, N_DRAW);
    const int64_t n_eval = sample(&TARGETS[0], &o, draws);
    tess_nuts_options unlearned = o;
    unlearned.n_warmup = 15; // only steps
    assert_true(n_eval < 20000);
    assert_true(sample(&TARGETS[0], &unlearned, draws) > 2 * n_eval);
}

// A metric that is given is used at once; what is none is refused.
static void a_metric_may_be_given(void **state)
{
    (void)state;
    const double x0[] = {0, 0};
    const double covariance[] = {1, 0.999 * 2, 0.999 * 2, 4};
    const double none[] = {1, 2, 2, 1};
    const tess_nuts_options o = options_of(0, 10);
    tess_nuts *chain = malloc(tess_nuts_bytes(2, o.max_depth));
    assert_false(tess_nuts_begin(chain, 2, x0, none, &o));
    assert_true(tess_nuts_begin(chain, 2, x0, covariance, &o));
    assert_memory_equal(tess_nuts_covariance(chain), covariance, sizeof covariance);
    free(chain);
}

// Bytes of a chain kept at any evaluation go on to the same draws.
static void a_kept_chain_goes_on(void **state)
{
    (void)state;
    enum { N_DRAW = 60 };
    static double whole[3 * N_DRAW];
    static double parts[3 * N_DRAW];
    const target *t = &TARGETS[1];
    const tess_nuts_options o = options_of(3, N_DRAW);
    const size_t bytes = tess_nuts_bytes(t->n, o.max_depth);
    sample(t, &o, whole);
    tess_nuts *chain = begin(t, &o);
    tess_nuts_request wanted = TESS_NUTS_EVALUATE;
    for (int64_t i = 0; wanted != TESS_NUTS_DONE; i++) {
        if (i % 7 == 0) {
            tess_nuts *moved = malloc(bytes);
            memcpy(moved, chain, bytes);
            memset(chain, 0xa5, bytes);
            free(chain);
            chain = moved;
        }
        double g[MAX_N];
        const double value = t->log_density(tess_nuts_trial(chain), g);
        wanted = tess_nuts_next(chain, value, g);
        tess_nuts_view view;
        tess_nuts_look(chain, &view);
        if (wanted != TESS_NUTS_EVALUATE && view.draw >= 0) {
            memcpy(parts + view.draw * t->n, view.x, (size_t)t->n * sizeof *parts);
        }
    }
    free(chain);
    assert_memory_equal(parts, whole, sizeof whole);
}

// Half of the plane has no density: steps into it are paths that end, not crashes.
static double half_plane(const double *x, double *g)
{
    g[0] = -x[0];
    g[1] = -x[1];
    return x[0] > 0 ? -0.5 * (x[0] * x[0] + x[1] * x[1]) : (double)NAN;
}

static void no_density_is_a_divergence(void **state)
{
    (void)state;
    enum { N_DRAW = 2000 };
    static double draws[2 * N_DRAW];
    const target t = {"half", half_plane, 2, {{0}}};
    const tess_nuts_options o = options_of(0, N_DRAW);
    double mean = 0;
    sample(&t, &o, draws);
    for (int64_t i = 0; i < N_DRAW; i++) {
        assert_true(draws[2 * i] > 0);
        mean += draws[2 * i] / N_DRAW;
    }
    assert_true(fabs(mean - sqrt(2 / 3.14159265358979)) < 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_moments),
        cmocka_unit_test(the_metric_is_learned),
        cmocka_unit_test(a_metric_may_be_given),
        cmocka_unit_test(a_kept_chain_goes_on),
        cmocka_unit_test(no_density_is_a_divergence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
