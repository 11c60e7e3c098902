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
    double pull[PAIRS * K];
    double twists[K * K];
    double x[N];
    double field[N * N];
    int64_t next[N];
    int first[PAIRS];
    int second[PAIRS];
} table;

// Weights of modes, and their sums to the power of 1 .. 4.
static const double modes[] = {0.5, 0.3, 0.2};
static const double powers[] = {0, 1, 0.38, 0.16, 0.0722};

// Every second table has a frame without points.
static tess_xp_frame_pairs random_table(table *t, uint32_t seed)
{
    const bool has_gap = seed % 2;
    int at = 0;
    memset(t, 0, sizeof *t);
    for (int i = 0; i < N; i++) {
        t->x[i] = 3 * next_random(&seed);
        for (int j = i; j < N; j++) {
            const double g = i == j ? 1 : 0.2 + 0.9 * (next_random(&seed) - 0.3);
            t->field[i * N + j] = t->field[j * N + i] = g;
        }
        for (int j = i + 1; j < N; j++, at++) {
            const double g = t->field[i * N + j];
            t->first[at] = i;
            t->second[at] = j;
            t->c2[at] = 1 + powers[2] * g * g;
            t->weight[at] = at % 7 == 2 ? 0 : 0.5 + next_random(&seed);
            t->weight[at] = has_gap && (i == 3 || j == 3) ? 0 : t->weight[at];
            for (int k = 0; k < K; k++) {
                t->slope[at * K + k] = t->weight[at] * (next_random(&seed) - 0.3);
            }
        }
    }
    const tess_xp_frame_pairs pairs = {.n_frame = N,
                                       .k = K,
                                       .c2 = t->c2,
                                       .weight = t->weight,
                                       .slope = t->slope,
                                       .pull = t->pull,
                                       .next = t->next};
    tess_xp_twist_next(N, t->weight, t->next);
    for (int i = 0; i < N; i++) {
        const int after = has_gap && i == 2 ? 4 : i + 1;
        assert_int_equal(t->next[i], has_gap && i == 3 ? N : after);
    }
    tess_xp_twist_pull(&pairs, t->pull, t->twists);
    return pairs;
}

// Sum of twists times theirs as a matrix of all pairs: weight d d^T over all with four points.
static void fill_twists(const table *t, long double (*out)[PAIRS])
{
    memset(out, 0, PAIRS * sizeof *out);
    for (int p = 0; p < PAIRS; p++) {
        const int i = t->first[p], j = t->second[p];
        const int64_t i2 = t->next[i], j2 = t->next[j];
        const long double w = (long double)t->weight[p];
        long double d[PAIRS] = {0};
        int n = 0;
        for (int q = 0; q < PAIRS; q++) {
            const bool has_row = t->first[q] == i || t->first[q] == i2;
            const bool has_column = t->second[q] == j || t->second[q] == j2;
            if (i2 < j && has_row && has_column && t->weight[q] > 0) {
                d[q] = (t->first[q] == i) == (t->second[q] == j) ? 1 : -1;
                n++;
            }
        }
        for (int q = 0; q < PAIRS * PAIRS && n == 4; q++) {
            out[q / PAIRS][q % PAIRS] += w * d[q / PAIRS] * d[q % PAIRS];
        }
    }
}

static bool has_frame(const table *t, int pair, int frame)
{
    return t->first[pair] == frame || t->second[pair] == frame;
}

// Mean of a product of intensities: the pixel's own, or over all fields, where it is the sum over
// all permutations of products over their rings.
static long double mean_of(const table *t, bool is_exact, int n, const int *frames)
{
    long double sum = 0;
    int order[4] = {0, 1, 2, 3};
    int many = 1;
    for (int k = 2; k <= n; k++) {
        many *= k;
    }
    if (!is_exact) {
        sum = 1;
        for (int k = 0; k < n; k++) {
            sum *= (long double)t->x[frames[k]];
        }
        return sum;
    }
    for (int number = 0; number < many; number++) {
        int left[4] = {0, 1, 2, 3};
        for (int k = 0, rest = number; k < n; k++) { // the permutation of this number
            const int pick = rest % (n - k);
            rest /= n - k;
            order[k] = left[pick];
            memmove(left + pick, left + pick + 1, (size_t)(n - k - 1 - pick) * sizeof *left);
        }
        long double product = 1;
        bool is_seen[4] = {false};
        for (int k = 0; k < n; k++) {
            int length = 0;
            for (int at = k; !is_seen[at]; at = order[at], length++) {
                is_seen[at] = true;
                product *= (long double)t->field[frames[at] * N + frames[order[at]]];
            }
            product *= length ? (long double)powers[length] : 1;
        }
        sum += product;
    }
    return sum;
}

#define MEAN(...)                                                                                  \
    mean_of(t, is_exact, (int)(sizeof(int[]){__VA_ARGS__} / sizeof(int)), (int[]){__VA_ARGS__})

// Covariance of the noise at two pairs, part by part, as its definition has it.
static long double covariance(const table *t, bool is_exact, int part, int p, int q)
{
    const long double cp = (long double)t->c2[p];
    const long double cq = (long double)t->c2[q];
    const int i = t->first[p], j = t->second[p], k = t->first[q], l = t->second[q];
    if (part == 0) {
        return MEAN(i, j, k, l) - cq * (MEAN(i, j, k) + MEAN(i, j, l) - MEAN(i, j)) -
               cp * (MEAN(k, l, i) + MEAN(k, l, j) - MEAN(k, l)) +
               cp * cq *
                   (MEAN(i, k) + MEAN(i, l) + MEAN(j, k) + MEAN(j, l) - MEAN(i) - MEAN(j) -
                    MEAN(k) - MEAN(l) + 1);
    }
    if (part == 2) {
        return p == q ? cp : 0;
    }
    long double sum = 0;
    for (int f = 0; f < N; f++) {
        if (has_frame(t, p, f) && has_frame(t, q, f)) {
            const int a = i == f ? j : i;
            const int b = k == f ? l : k;
            sum += MEAN(f, a, b) - cq * MEAN(f, a) - cp * MEAN(f, b) + cp * cq * MEAN(f);
        }
    }
    return sum;
}

static void check_near(double got, long double want, long double size)
{
    assert_true(fabsl((long double)got - want) <= 1e-12L * size);
}

static void check_moments(const table *t, bool is_exact, const tess_xp_frame_moments *got)
{
    static long double twists[PAIRS][PAIRS];
    fill_twists(t, twists);
    for (int part = 0; part < 3; part++) {
        long double gradient[K * K] = {0};
        long double pulled[K * K] = {0};
        long double square = 0;
        long double twist = 0;
        for (int pq = 0; pq < PAIRS * PAIRS; pq++) {
            const int p = pq / PAIRS, q = pq % PAIRS;
            const long double c = covariance(t, is_exact, part, p, q);
            square += p == q ? (long double)t->weight[p] * c : 0;
            twist += twists[p][q] * c;
            for (int k = 0; k < K * K; k++) {
                const long double slope = (long double)t->slope[q * K + k % K];
                gradient[k] += (long double)t->slope[p * K + k / K] * slope * c;
                for (int r = 0; r < PAIRS; r++) {
                    const long double derivative =
                        t->weight[r] > 0 ? (long double)(t->slope[r * K + k / K] / t->weight[r])
                                         : 0;
                    pulled[k] += derivative * twists[r][p] * slope * c;
                }
            }
        }
        check_near(got->square[part], square, 100);
        check_near(got->twist[part], twist, 1000);
        for (int k = 0; k < K * K; k++) {
            check_near(got->gradient[part][k], gradient[k], 1000);
            check_near(got->pulled[part][k], pulled[k], 10000);
        }
    }
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
        check_moments(&t, false, &got);
    }
}

static void exact_moments_are_those_of_all_fields(void **state)
{
    (void)state;
    for (int n = 1; n <= 4; n++) {
        double sum = 0;
        for (int k = 0; k < 3; k++) {
            sum += pow(modes[k], n);
        }
        assert_true(fabs(sum - powers[n]) < 1e-15);
    }
    for (uint32_t seed = 20; seed < 24; seed++) {
        table t;
        const tess_xp_frame_pairs pairs = random_table(&t, seed);
        const tess_xp_frame_fields fields = {
            .field = t.field, .second = powers[2], .third = powers[3], .fourth = powers[4]};
        tess_xp_frame_moments got = {0};
        double scratch[3 * N];
        for (int64_t k = 0; k < N; k++) {
            tess_xp_frame_add_exact(&pairs, &fields, k, scratch, &got);
        }
        tess_xp_frame_add_both(&pairs, &got);
        check_moments(&t, true, &got);
    }
}

static void twists_are_of_four_points(void **state)
{
    (void)state;
    static long double twists[PAIRS][PAIRS];
    for (uint32_t seed = 30; seed < 34; seed++) {
        table t;
        const tess_xp_frame_pairs pairs = random_table(&t, seed);
        long double square = 0;
        long double of_slopes[K * K] = {0};
        double value[PAIRS];
        fill_twists(&t, twists);
        for (int p = 0; p < PAIRS; p++) {
            value[p] = next_random(&seed);
        }
        for (int pq = 0; pq < PAIRS * PAIRS; pq++) {
            const int p = pq / PAIRS, q = pq % PAIRS;
            square += twists[p][q] * (long double)(value[p] * value[q]);
            for (int k = 0; k < K * K && twists[p][q] != 0; k++) {
                of_slopes[k] += twists[p][q] * (long double)(t.slope[p * K + k / K] / t.weight[p]) *
                                (long double)(t.slope[q * K + k % K] / t.weight[q]);
            }
        }
        assert_true(square > 0);
        check_near(tess_xp_twist_square(&pairs, value), square, 100);
        for (int k = 0; k < K * K; k++) {
            check_near(t.twists[k], of_slopes[k], 100);
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
        cmocka_unit_test(exact_moments_are_those_of_all_fields),
        cmocka_unit_test(twists_are_of_four_points),
        cmocka_unit_test(errors_grow_where_frames_are_shared),
        cmocka_unit_test(profiles_count_chi2_for_less),
        cmocka_unit_test(errors_stay_where_points_are_independent),
        cmocka_unit_test(what_it_is_not_made_for_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
