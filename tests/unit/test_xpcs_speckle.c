// Correlations of photon counts: their means, the noise that an experiment has, the same bits.
#include "systems/xpcs/simulate/speckle.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 24 }; // frames of the data
static const double THETA[] = {4e5, -0.2, 100};

static tess_xpcs_simulation few(void)
{
    tess_xpcs_simulation s;
    tess_xpcs_simulation_init(&s, sizeof s);
    s.dtype = 1;
    s.n_angle = 2;
    s.n_frame = N + 1;
    s.model.mode = TESS_XPCS_STATIC_ANISOTROPIC;
    s.theta = THETA;
    s.speckle = 1;
    s.photons = 0.5;
    s.n_pixel = 300;
    return s;
}

// Upper triangle of an angle; NaN elsewhere.
static void rows_of(tess_context *ctx, const tess_xpcs_simulation *s, int64_t angle, double *rows)
{
    tess_xpcs_data *data = NULL;
    assert_ok(tess_xpcs_simulate(ctx, s, 1, &data));
    assert_ok(tess_xpcs_data_rows(ctx, data, angle, 0, N, rows));
    tess_xpcs_data_destroy(data);
}

// The model's own c2 / contrast - offset / contrast, that is M.
static void model_of(tess_context *ctx, const tess_xpcs_simulation *s, double *m)
{
    tess_xpcs_simulation exact = *s;
    exact.speckle = 0;
    exact.sigma = 0;
    rows_of(ctx, &exact, 0, m);
    for (int64_t k = 0; k < N * N; k++) {
        m[k] = (m[k] - s->offset) / s->contrast;
    }
}

static void modes_have_the_contrast(void **state)
{
    (void)state;
    for (double contrast = TESS_XP_SPECKLE_LEAST; contrast <= 1; contrast *= 1.07) {
        tess_xp_speckle s = {0};
        tess_xp_speckle_modes(&s, contrast);
        const double n = (double)s.n_mode - 1;
        assert_true(fabs(s.first_weight + n * s.weight - 1) < 1e-12);
        assert_true(fabs(s.first_weight * s.first_weight + n * s.weight * s.weight - contrast) <
                    1e-12);
        assert_true(s.weight >= 0);
    }
}

static void fields_have_the_correlations_of_the_model(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    static const double theta[] = {68481, -1.327, 1708, 1.991e-3, -0.212, -6.07e-4, 2};
    for (int32_t kernel = 0; kernel < 3; kernel++) {
        tess_xpcs_simulation s = few();
        s.model.mode = TESS_XPCS_LAMINAR_FLOW;
        s.model.kernel = kernel;
        s.theta = theta;
        double m[N * N];
        model_of(ctx, &s, m);
        tess_xp_grids grids;
        tess_xp_angle angle = {0};
        double l[N * N];
        assert_ok(tess_xp_grids_create(ctx, &s.model, N, &grids));
        tess_xp_grids_fill(&grids, &s.model, theta);
        tess_xp_angle_fill(&angle, &s.model, theta, -45, s.q); // the first of two
        assert_ok(tess_xp_speckle_factor(&grids.grid, &angle,
                                         tess_xp_power((tess_xpcs_kernel)kernel), N, l));
        for (int64_t i = 0; i < N; i++) {
            for (int64_t j = i + 1; j < N; j++) {
                double g = 0;
                for (int64_t k = 0; k <= i; k++) {
                    g += l[i * N + k] * l[j * N + k];
                }
                assert_true(fabs(g * g - m[i * N + j]) < 1e-12);
            }
        }
        tess_xp_grids_destroy(ctx, &grids);
    }
    tess_context_destroy(ctx);
}

typedef struct moments {
    double mean[N * N];
    double far[3];  // variance at far lags, covariance of pairs with a common frame, without
    double want[3]; // the same as Gaussian fields and Poisson counts have it
} moments;

// Covariances of c[i][j] with itself, with c[i][j + 1] and with c[i + 1][j + 1], M being nearly 0
// there.
static void take_moments(tess_context *ctx, tess_xpcs_simulation *s, const double *m,
                         int64_t n_seed, moments *out)
{
    int64_t n_far = 0;
    *out = (moments){0};
    for (int64_t seed = 0; seed < n_seed; seed++) {
        double c[N * N];
        s->seed = seed;
        rows_of(ctx, s, 0, c);
        for (int64_t k = 0; k < N * N; k++) {
            out->mean[k] += c[k] / (double)n_seed;
        }
        for (int64_t i = 0; i < N - 1; i++) {
            for (int64_t j = i + 10; j < N - 1; j++) {
                const double *at = c + i * N + j;
                const double noise = 1 / s->photons;
                const double same = s->contrast + noise;
                const double next = s->contrast * m[j * N + j + 1];
                const double before = s->contrast * m[i * N + i + 1];
                out->far[0] += (at[0] - 1) * (at[0] - 1);
                out->far[1] += (at[0] - 1) * (at[1] - 1);
                out->far[2] += (at[0] - 1) * (at[N + 1] - 1);
                out->want[0] += same * same / (double)s->n_pixel;
                out->want[1] += same * next / (double)s->n_pixel;
                out->want[2] += before * next / (double)s->n_pixel;
                n_far++;
            }
        }
    }
    for (int64_t k = 0; k < 3; k++) {
        out->far[k] /= (double)n_far;
        out->want[k] /= (double)n_far;
    }
}

static void noise_is_that_of_an_experiment(void **state)
{
    (void)state;
    const int64_t n_seed = unit_is_quick() ? 40 : 400;
    tess_context *ctx = unit_context(1, 0);
    tess_xpcs_simulation s = few();
    double m[N * N];
    model_of(ctx, &s, m);
    s.n_angle = 1;
    s.contrast = 0.4;
    s.photons = 2;
    moments *got = malloc(sizeof *got);
    take_moments(ctx, &s, m, n_seed, got);
    const double sd = sqrt(got->want[0] / (double)n_seed);
    for (int64_t i = 0; i < N; i++) {
        for (int64_t j = i + 1; j < N; j++) {
            // Near the diagonal speckle adds noise of its own.
            const double most = 5 * sd * (1 + 2 * m[i * N + j]) + 2.0 / (double)s.n_pixel;
            assert_true(fabs(got->mean[i * N + j] - 1 - s.contrast * m[i * N + j]) < most);
        }
    }
    for (int64_t k = 0; k < 3; k++) {
        const double most = (unit_is_quick() ? 0.3 : 0.1) * got->want[0];
        assert_true(fabs(got->far[k] - got->want[k]) < (k == 0 ? most : most / 2));
    }
    assert_true(got->want[1] > 0.15 * got->want[0]); // shared frames do show
    free(got);
    tess_context_destroy(ctx);
}

static void bits_do_not_depend_on_threads_or_time_zero(void **state)
{
    (void)state;
    double one[N * N];
    double three[N * N];
    tess_xpcs_simulation s = few();
    s.photons = 0.03; // some frames have no photon at all
    s.n_pixel = 101;  // a run that is not full
    tess_context *ctx = unit_context(1, 0);
    rows_of(ctx, &s, 1, one);
    tess_xpcs_simulation with_t0 = s;
    with_t0.model.keep_t0 = 1;
    with_t0.n_frame = N + 1;
    double *all = malloc((N + 1) * (N + 1) * sizeof *all);
    tess_xpcs_data *data = NULL;
    assert_ok(tess_xpcs_simulate(ctx, &with_t0, 0, &data));
    assert_ok(tess_xpcs_data_rows(ctx, data, 1, 0, N + 1, all));
    tess_xpcs_data_destroy(data);
    tess_context_destroy(ctx);
    ctx = unit_context(3, 0);
    rows_of(ctx, &s, 1, three);
    tess_context_destroy(ctx);
    for (int64_t i = 0; i < N; i++) {
        const size_t bytes = (size_t)(N - 1 - i) * sizeof(double);
        assert_memory_equal(one + i * (N + 1) + 1, three + i * (N + 1) + 1, bytes);
        assert_memory_equal(one + i * (N + 1) + 1, all + (i + 1) * (N + 2) + 1, bytes);
    }
    free(all);
}

static void bad_settings_are_named(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_xpcs_data *data = NULL;
    tess_xpcs_simulation s = few();
    s.contrast = 0.001;
    assert_fails(tess_xpcs_simulate(ctx, &s, 0, &data), TESS_E_RANGE, "contrast of angle 0");
    s = few();
    s.nan_fraction = 0.1;
    assert_fails(tess_xpcs_simulate(ctx, &s, 0, &data), TESS_E_ARGUMENT, "bad_frames");
    s = few();
    s.n_frame = TESS_XP_SPECKLE_FRAMES + 1;
    assert_fails(tess_xpcs_simulate(ctx, &s, 0, &data), TESS_E_RANGE, "at most 4000 frames");
    s = few();
    s.photons = 1e-4;
    s.n_pixel = 10;
    assert_fails(tess_xpcs_simulate(ctx, &s, 0, &data), TESS_E_NUMERIC, "");
    s = few();
    s.photons = 0;
    assert_fails(tess_xpcs_simulate(ctx, &s, 0, &data), TESS_E_RANGE, "photons");
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_have_the_contrast),
        cmocka_unit_test(fields_have_the_correlations_of_the_model),
        cmocka_unit_test(noise_is_that_of_an_experiment),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_time_zero),
        cmocka_unit_test(bad_settings_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
