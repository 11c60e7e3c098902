// Steps of quadratic models within bounds, against descent by coordinates.
#include "unit.h"

#include "base/rng.h"
#include "numerics/box_step.h"

#include <math.h>

enum { N = 6, SWEEPS = 20000 };

typedef struct qp {
    double g[N];
    double h[N * N];
    double x[N];
    double lower[N];
    double upper[N];
    uint8_t held[N];
} qp;

static double draw(const tess_philox_stream *stream, uint64_t *at)
{
    return 2 * tess_philox_uniform(stream, (*at)++) - 1;
}

static qp make(uint64_t seed)
{
    const tess_philox_stream stream = tess_philox_open(seed, 0, 1);
    uint64_t at = 0;
    double a[N * N];
    qp p = {0};
    for (int i = 0; i < N * N; i++) {
        a[i] = draw(&stream, &at);
    }
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            p.h[i * N + j] = i == j ? 0.05 : 0;
            for (int k = 0; k < N; k++) {
                p.h[i * N + j] += a[k * N + i] * a[k * N + j];
            }
        }
        p.g[i] = 3 * draw(&stream, &at);
        p.x[i] = draw(&stream, &at);
        p.lower[i] = draw(&stream, &at) > 0.3 ? p.x[i] : p.x[i] - 0.5;
        p.upper[i] = draw(&stream, &at) > 0.3 ? p.x[i] : p.x[i] + 0.5;
        p.held[i] = draw(&stream, &at) > 0.7;
    }
    return p;
}

static double model_at(const qp *p, const double *step)
{
    double value = 0;
    for (int i = 0; i < N; i++) {
        value += p->g[i] * step[i];
        for (int j = 0; j < N; j++) {
            value += 0.5 * step[i] * p->h[i * N + j] * step[j];
        }
    }
    return value;
}

// The least value of the model within the bounds, one parameter at a time.
static double least_of(const qp *p)
{
    double step[N] = {0};
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (int i = 0; i < N; i++) {
            double slope = p->g[i];
            for (int j = 0; j < N; j++) {
                slope += p->h[i * N + j] * step[j];
            }
            const double to = step[i] - slope / p->h[i * (N + 1)];
            if (!p->held[i]) {
                step[i] = fmin(fmax(to, p->lower[i] - p->x[i]), p->upper[i] - p->x[i]);
            }
        }
    }
    return model_at(p, step);
}

static void is_the_least_within_bounds(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        const qp p = make(seed);
        double step[N];
        double work[N * (N + 4)];
        const double gain = tess_box_step(N, p.g, p.h, p.x, p.lower, p.upper, p.held, step, work);
        const double least = least_of(&p);
        assert_true(fabs(gain + model_at(&p, step)) <= 1e-10 * (1 + fabs(gain)));
        if (fabs(gain + least) > 1e-6 * (1 + fabs(least))) {
            fail_msg("seed %d: falls by %.9g, could by %.9g", (int)seed, gain, -least);
        }
        for (int i = 0; i < N; i++) {
            assert_true(p.x[i] + step[i] >= p.lower[i] && p.x[i] + step[i] <= p.upper[i]);
            assert_true(!p.held[i] || step[i] == 0);
        }
    }
}

static void not_definite_is_nan(void **state)
{
    (void)state;
    const double h[4] = {1, 2, 2, 1};
    const double g[2] = {1, 1};
    const double x[2] = {0, 0};
    const double lower[2] = {-1, -1};
    const double upper[2] = {1, 1};
    double step[2];
    double work[12];
    assert_true(isnan(tess_box_step(2, g, h, x, lower, upper, NULL, step, work)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_the_least_within_bounds),
                                       cmocka_unit_test(not_definite_is_nan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
