// Errors where points that share a frame have correlated noise: moments against dense algebra, and
// fits of photon counts.
#include "systems/xpcs/fit/frames.h"
#include "xpcs_fit_fixture.h"

#include <string.h>

enum { N = 7, PAIRS = N * (N - 1) / 2, K = 4 };

static double next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)*seed / 4294967296.0;
}

typedef struct table {
    double c2[PAIRS];
    double weight[PAIRS];
    double slope[PAIRS * K];
    double sum[N * K];
    double x[N];
    int first[PAIRS];
    int second[PAIRS];
} table;

static tess_xp_frame_pairs random_table(table *t, uint32_t seed)
{
    int at = 0;
    memset(t, 0, sizeof *t);
    for (int i = 0; i < N; i++) {
        t->x[i] = 3 * next_random(&seed);
        for (int j = i + 1; j < N; j++, at++) {
            t->first[at] = i;
            t->second[at] = j;
            t->c2[at] = 1 + 0.5 * next_random(&seed);
            t->weight[at] = at % 5 == 2 ? 0 : 0.5 + next_random(&seed);
            for (int k = 0; k < K; k++) {
                const double slope = t->weight[at] * (next_random(&seed) - 0.3);
                t->slope[at * K + k] = slope;
                t->sum[i * K + k] += slope;
                t->sum[j * K + k] += slope;
            }
        }
    }
    return (tess_xp_frame_pairs){
        .n_frame = N, .k = K, .c2 = t->c2, .weight = t->weight, .slope = t->slope, .sum = t->sum};
}

static bool has_frame(const table *t, int pair, int frame)
{
    return t->first[pair] == frame || t->second[pair] == frame;
}

// Covariance of the noise at two pairs, part by part, as its definition has it.
static long double covariance(const table *t, int part, int p, int q)
{
    const long double cp = (long double)t->c2[p];
    const long double cq = (long double)t->c2[q];
    const long double pi = (long double)t->x[t->first[p]];
    const long double pj = (long double)t->x[t->second[p]];
    const long double qi = (long double)t->x[t->first[q]];
    const long double qj = (long double)t->x[t->second[q]];
    if (part == 0) {
        return (pi * pj - cp * (pi + pj - 1)) * (qi * qj - cq * (qi + qj - 1));
    }
    if (part == 2) {
        return p == q ? cp : 0;
    }
    long double sum = 0;
    for (int f = 0; f < N; f++) {
        if (has_frame(t, p, f) && has_frame(t, q, f)) {
            const long double other_p = t->first[p] == f ? pj : pi;
            const long double other_q = t->first[q] == f ? qj : qi;
            sum += (long double)t->x[f] * (other_p - cp) * (other_q - cq);
        }
    }
    return sum;
}

static void check_near(double got, long double want, long double size)
{
    assert_true(fabsl((long double)got - want) <= 1e-12L * size);
}

static void moments_are_those_of_dense_algebra(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed < 20; seed++) {
        table t;
        const tess_xp_frame_pairs pairs = random_table(&t, seed);
        tess_xp_frame_moments got = {0};
        double scratch[200];
        assert_true(tess_xp_frame_scratch(N, K) <= 200);
        tess_xp_frame_add_pixel(&pairs, t.x, scratch, &got);
        tess_xp_frame_add_both(&pairs, &got);
        for (int part = 0; part < 3; part++) {
            long double gradient[K * K] = {0};
            long double mixed[K * K] = {0};
            long double square = 0;
            long double total = 0;
            for (int p = 0; p < PAIRS; p++) {
                for (int q = 0; q < PAIRS; q++) {
                    const long double c = covariance(&t, part, p, q);
                    const long double wp = (long double)t.weight[p], wq = (long double)t.weight[q];
                    long double shared = 0; // frames of both
                    square += p == q ? wp * c : 0;
                    for (int f = 0; f < N; f++) {
                        shared += has_frame(&t, p, f) && has_frame(&t, q, f);
                    }
                    total += shared * wp * wq * c;
                    for (int k = 0; k < K * K; k++) {
                        const long double slope = (long double)t.slope[q * K + k % K];
                        const long double sums = (long double)t.sum[t.first[p] * K + k / K] +
                                                 (long double)t.sum[t.second[p] * K + k / K];
                        gradient[k] += (long double)t.slope[p * K + k / K] * slope * c;
                        mixed[k] += sums * wp * slope * c;
                    }
                }
            }
            check_near(got.square[part], square, 100);
            check_near(got.total[part], total, 1000);
            for (int k = 0; k < K * K; k++) {
                check_near(got.gradient[part][k], gradient[k], 1000);
                check_near(got.mixed[part][k], mixed[k], 10000);
            }
        }
    }
}

typedef struct errors {
    double theta[3];
    double sd[3];
    double interval[6];
    double contrast_sd;
    double photons;
    double chi2;
    double reduced_chi2;
} errors;

static const double truth[] = {3e4, -0.3, 0};

typedef struct setup {
    int32_t noise;
    int32_t speckle;
    double photons;
    int32_t n_thread;
    int32_t uncertainty;
    int fixed; // a parameter, besides the offset; 0: none
    double at; // where it is
} setup;

static errors fit_with(const setup *how)
{
    const uint8_t is_fixed[] = {how->fixed == 1, how->fixed == 2, 1};
    double start[3];
    memcpy(start, truth, sizeof start);
    if (how->fixed) {
        start[how->fixed - 1] = how->at;
    }
    tess_context *ctx = unit_context(how->n_thread, 0);
    tess_xpcs_simulation s;
    tess_xpcs_simulation_init(&s, sizeof s);
    s.model.mode = TESS_XPCS_STATIC_ANISOTROPIC;
    s.n_angle = 2;
    s.n_frame = 41;
    s.theta = truth;
    s.speckle = how->speckle;
    s.photons = how->photons;
    s.n_pixel = 1000;
    tess_xpcs_data *data = NULL;
    assert_ok(tess_xpcs_simulate(ctx, &s, 1, &data));
    tess_xpcs_fit_config config;
    tess_xpcs_fit_config_init(&config, sizeof config);
    config.noise = how->noise;
    config.uncertainty = how->uncertainty;
    config.n_start = 1;
    config.start = start;
    config.is_fixed = is_fixed;
    tess_xpcs_result *result = NULL;
    assert_ok(tess_xpcs_fit(ctx, data, &s.model, &config, &result));
    const tess_xpcs_result_info *info = tess_xpcs_result_get_info(result);
    errors e = {.contrast_sd = info->contrast_sd[0],
                .photons = info->noise_photons,
                .chi2 = info->chi2,
                .reduced_chi2 = info->reduced_chi2};
    for (int k = 0; k < 3; k++) {
        e.theta[k] = info->theta[k];
        e.sd[k] = info->sd[k];
        e.interval[2 * k] = info->interval_lower[k];
        e.interval[2 * k + 1] = info->interval_upper[k];
    }
    tess_xpcs_result_destroy(result);
    tess_xpcs_data_destroy(data);
    tess_context_destroy(ctx);
    return e;
}

enum { COVARIANCE = 0, PROFILE = 2 };

static void errors_grow_where_frames_are_shared(void **state)
{
    (void)state;
    const errors plain = fit_with(&(setup){0, 1, 3, 1, COVARIANCE, 0, 0});
    const errors shared = fit_with(&(setup){1, 1, 3, 1, COVARIANCE, 0, 0});
    const errors threads = fit_with(&(setup){1, 1, 3, 3, COVARIANCE, 0, 0});
    assert_memory_equal(&shared, &threads, sizeof shared);
    assert_true(plain.photons == 0);
    assert_true(shared.photons > 0.3 && shared.photons < 30); // one set alone tells little more
    for (int k = 0; k < 2; k++) {
        const double ratio = shared.sd[k] / plain.sd[k];
        assert_true(ratio > 2 && ratio < 8);
        for (int side = 0; side < 2; side++) {
            const double wide = (shared.interval[2 * k + side] - shared.theta[k]) /
                                (plain.interval[2 * k + side] - plain.theta[k]);
            assert_true(fabs(wide - ratio) < 1e-6 * ratio);
        }
    }
    assert_true(shared.sd[2] == 0); // fixed
    assert_true(shared.contrast_sd > plain.contrast_sd);
}

// Profiles end where chi2, the other at its best, has risen by 3.84 times the square of what errors
// grow by.
static void profiles_count_chi2_for_less(void **state)
{
    (void)state;
    const errors plain = fit_with(&(setup){0, 1, 3, 1, PROFILE, 0, 0});
    const errors shared = fit_with(&(setup){1, 1, 3, 1, PROFILE, 0, 0});
    for (int i = 0; i < 4; i++) {
        const double ratio = shared.sd[i / 2] / plain.sd[i / 2];
        const errors end =
            fit_with(&(setup){0, 1, 3, 1, COVARIANCE, 1 + i / 2, shared.interval[i]});
        const double rise = (end.chi2 - shared.chi2) / shared.reduced_chi2;
        // A profile is content with 0.02, of the level and of the other parameters.
        assert_true(fabs(rise / (ratio * ratio) - 3.8414588) < 0.04);
    }
}

static void errors_stay_where_points_are_independent(void **state)
{
    (void)state;
    const errors plain = fit_with(&(setup){0, 0, 1, 1, COVARIANCE, 0, 0});
    const errors same = fit_with(&(setup){1, 0, 1, 1, COVARIANCE, 0, 0});
    assert_true(same.photons < 0.1);
    for (int k = 0; k < 2; k++) {
        assert_true(fabs(same.sd[k] / plain.sd[k] - 1) < 0.15);
    }
}

static void what_it_is_not_made_for_is_refused(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_xpcs_simulation s;
    tess_xpcs_simulation_init(&s, sizeof s);
    s.n_frame = 20;
    tess_xpcs_data *data = NULL;
    tess_xpcs_result *result = NULL;
    assert_ok(tess_xpcs_simulate(ctx, &s, 1, &data));
    tess_xpcs_fit_config config;
    tess_xpcs_fit_config_init(&config, sizeof config);
    config.noise = 1;
    config.loss = TESS_XPCS_LOSS_HUBER;
    assert_fails(tess_xpcs_fit(ctx, data, &s.model, &config, &result), TESS_E_CONFIG,
                 "noise: frames goes with loss linear alone, not with huber");
    config.loss = TESS_XPCS_LOSS_LINEAR;
    config.sigma_mode = TESS_XPCS_SIGMA_DATASET;
    assert_fails(tess_xpcs_fit(ctx, data, &s.model, &config, &result), TESS_E_CONFIG,
                 "sigma_mode dataset");
    tess_xpcs_data_destroy(data);
    s.n_frame = TESS_XP_FRAMES_MOST + 2;
    s.n_angle = 1;
    assert_ok(tess_xpcs_simulate(ctx, &s, 0, &data));
    config.sigma_mode = TESS_XPCS_SIGMA_CONSTANT;
    assert_fails(tess_xpcs_fit(ctx, data, &s.model, &config, &result), TESS_E_CONFIG,
                 "at most 2000 frames");
    tess_xpcs_data_destroy(data);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_are_those_of_dense_algebra),
        cmocka_unit_test(errors_grow_where_frames_are_shared),
        cmocka_unit_test(profiles_count_chi2_for_less),
        cmocka_unit_test(errors_stay_where_points_are_independent),
        cmocka_unit_test(what_it_is_not_made_for_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
