// Mixtures of Gaussians, and the clusterless likelihood made of them.
#include "decode_random.h"

#include "systems/decode/gmm/gmm.h"
#include "tessera/decode/fitted.h"

static recording r;

enum { N_POINT = 4000 };

// Three clouds in the plane with known weights, means and covariances.
static const double true_weight[3] = {0.5, 0.3, 0.2};
static const double true_mean[3][2] = {{0, 0}, {10, -5}, {-8, 9}};
static const double true_factor[3][3] = {{2, 1, 1}, {1, 0, 3}, {0.5, -1, 0.5}}; // l00, l10, l11

static void make_clouds(double *points)
{
    for (int i = 0; i < N_POINT; i++) {
        const double u = uniform();
        const int c = u < 0.5 ? 0 : u < 0.8 ? 1 : 2;
        const double a = normal(), b = normal();
        points[2 * i] = true_mean[c][0] + true_factor[c][0] * a;
        points[2 * i + 1] = true_mean[c][1] + true_factor[c][1] * a + true_factor[c][2] * b;
    }
}

static const tess_mixture_config three = {
    .n_component = 3, .max_iterations = 300, .tolerance = 1e-9, .ridge = 1e-6, .seed = 7};

static void known_clouds_are_found(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    double *points = malloc(2 * N_POINT * sizeof *points);
    make_clouds(points);
    tess_mixture m;
    assert_ok(tess_mixture_fit(ctx, points, N_POINT, 2, &three, &m));
    assert_true(m.converged);
    for (int c = 0; c < 3; c++) {
        int best = 0;
        for (int k = 1; k < 3; k++) {
            best = hypot(m.mean[2 * k] - true_mean[c][0], m.mean[2 * k + 1] - true_mean[c][1]) <
                           hypot(m.mean[2 * best] - true_mean[c][0],
                                 m.mean[2 * best + 1] - true_mean[c][1])
                       ? k
                       : best;
        }
        const double *l = m.factor + 4 * best;
        const double log_weight = m.log_norm[best] + log(2 * PI) + log(l[0]) + log(l[3]);
        assert_true(fabs(m.mean[2 * best] - true_mean[c][0]) < 0.25);
        assert_true(fabs(exp(log_weight) - true_weight[c]) < 0.03);
        assert_true(fabs(l[0] - true_factor[c][0]) < 0.15);
        assert_true(fabs(l[2] - true_factor[c][1]) < 0.25);
        assert_true(fabs(l[3] - true_factor[c][2]) < 0.25);
    }
    tess_mixture_free(&m);
    free(points);
    tess_context_destroy(ctx);
}

// Density by the inverse of the covariance, which the code never forms.
static double naive_density(const tess_mixture *m, const double *x)
{
    double sum = 0;
    for (int64_t c = 0; c < m->n_component; c++) {
        const double *l = m->factor + 4 * c;
        const double s00 = l[0] * l[0], s01 = l[0] * l[2], s11 = l[2] * l[2] + l[3] * l[3];
        const double det = s00 * s11 - s01 * s01;
        const double u = x[0] - m->mean[2 * c], v = x[1] - m->mean[2 * c + 1];
        const double q = (s11 * u * u - 2 * s01 * u * v + s00 * v * v) / det;
        const double weight = exp(m->log_norm[c]) * 2 * PI * l[0] * l[3];
        sum += weight / (2 * PI * sqrt(det)) * exp(-0.5 * q);
    }
    return sum;
}

static void densities_and_likelihoods_are_right(void **state)
{
    (void)state;
    tess_context *one = unit_context(1, 0);
    tess_context *two = unit_context(3, 0);
    double *points = malloc(2 * N_POINT * sizeof *points);
    make_clouds(points);
    tess_mixture_config config = three;
    config.n_component = 6;
    config.tolerance = 0;
    double previous = -1e300;
    for (int64_t n = 1; n <= 40; n += 3) {
        tess_mixture a, b;
        config.max_iterations = n;
        assert_ok(tess_mixture_fit(one, points, N_POINT, 2, &config, &a));
        assert_ok(tess_mixture_fit(two, points, N_POINT, 2, &config, &b));
        assert_memory_equal(a.mean, b.mean, a.bytes); // any number of threads
        assert_true(a.mean_log_likelihood >= previous - 1e-9);
        previous = a.mean_log_likelihood;
        double scratch[16];
        for (int i = 0; i < 50; i++) {
            const double x[2] = {15 * normal(), 15 * normal()};
            const double want = naive_density(&a, x);
            assert_true(want < 1e-200 ||
                        fabs(exp(tess_mixture_log(&a, x, scratch)) / want - 1) < 1e-10);
        }
        tess_mixture_free(&a);
        tess_mixture_free(&b);
    }
    free(points);
    tess_context_destroy(one);
    tess_context_destroy(two);
}

// Fewer points than components, points without spread, none at all.
static void degenerate_points_are_harmless(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    double points[20] = {0}, scratch[64];
    tess_mixture_config config = three;
    config.n_component = 8;
    for (int64_t n = 0; n <= 10; n++) {
        tess_mixture m;
        assert_ok(tess_mixture_fit(ctx, points, n, 2, &config, &m));
        assert_int_equal(m.n_component, n < 8 ? n : 8);
        const double log_density = tess_mixture_log(&m, points, scratch);
        assert_true(n == 0 ? isinf(log_density) : isfinite(log_density));
        tess_mixture_free(&m);
        tess_mixture_free(&m);
    }
    tess_context_destroy(ctx);
}

// Log intensity of a mark at a place, by the whole joint mixture.
static double brute_value(const tess_decode_encoding *encoding, int u, const double *mark,
                          const double *place)
{
    const tess_de_gmm *gmm = encoding->model;
    double point[4] = {mark[0], mark[1], place[0], place[1]}, scratch[128];
    return log(gmm->mean_rates[u]) + tess_mixture_log(&gmm->joint[u], point, scratch) -
           tess_mixture_log(&gmm->occupancy, place, scratch);
}

static void check_rows(tess_context *ctx, const tess_decode_encoding *encoding, const set *s)
{
    const tess_decode_encoding_info *info = tess_decode_encoding_get_info(encoding);
    const tess_decode_environment_info *env = tess_decode_environment_get_info(s->env);
    const int64_t n_bin = info->n_interior;
    double *want = malloc((size_t)(N_GRID * n_bin) * sizeof *want);
    double *got = likelihood(ctx, encoding, &s->observation, 0, N_GRID, NULL);
    double local[N_GRID], want_local[N_GRID], place[2 * N_GRID], scratch[128];
    const tess_de_gmm *gmm = encoding->model;
    assert_ok(
        tess_decode_position_at(r.position_time, r.position, N_SAMPLE, 2, r.grid, N_GRID, place));
    for (int k = 0; k < N_GRID; k++) {
        want_local[k] = 0;
        for (int u = 0; u < N_UNIT; u++) {
            const double *y = place + 2 * k;
            want_local[k] -=
                gmm->mean_rates[u] * exp(tess_mixture_log(&gmm->ground[u], y, scratch) -
                                         tess_mixture_log(&gmm->occupancy, y, scratch + 64));
        }
        for (int64_t p = 0; p < n_bin; p++) {
            want[k * n_bin + p] = -info->summed_ground_intensity[p];
        }
    }
    for (int u = 0; u < N_UNIT; u++) {
        for (int64_t i = 0; i < r.n_spike[u]; i++) {
            int64_t row;
            double y[2];
            tess_decode_time_bin(r.grid, N_GRID, &r.times[u][i], 1, &row);
            if (row < 0) {
                continue;
            }
            assert_ok(tess_decode_position_at(r.position_time, r.position, N_SAMPLE, 2,
                                              &r.times[u][i], 1, y));
            const double *mark = &r.marks[u][2 * i];
            want_local[row] += fmax(brute_value(encoding, u, mark, y), -34.538776394910684);
            for (int64_t p = 0; p < n_bin; p++) {
                want[row * n_bin + p] +=
                    fmax(brute_value(encoding, u, mark, env->interior_centers + 2 * p),
                         -34.538776394910684);
            }
        }
    }
    assert_true(golden_worst(got, want, N_GRID * n_bin, 1e-9, 1e-12) <= 1);
    local_rows(ctx, encoding, s, 0, N_GRID, local);
    assert_true(golden_worst(local, want_local, N_GRID, 1e-9, 1e-12) <= 1);
    free(got);
    free(want);
}

// Density at a point by what the model shows; L y = x - mean by forward substitution.
static double shown_log(const tess_decode_mixture *m, const double *x)
{
    double sum = 0;
    for (int64_t c = 0; c < m->n_component; c++) {
        const double *l = m->factor + c * m->n_dim * m->n_dim;
        double y[8], square = 0;
        for (int64_t a = 0; a < m->n_dim; a++) {
            y[a] = x[a] - m->mean[c * m->n_dim + a];
            for (int64_t b = 0; b < a; b++) {
                y[a] -= l[a * m->n_dim + b] * y[b];
            }
            y[a] /= l[a * m->n_dim + a];
            square += y[a] * y[a];
        }
        sum += exp(m->log_norm[c] - square / 2);
    }
    return log(sum);
}

// What is shown has weights that sum to 1, and the densities of the model.
static void mixtures_are_shown(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    set s;
    make_recording(ctx, 2, &r, &s);
    r.n_spike[3] = 0;
    s.config.algorithm = TESS_DECODE_CLUSTERLESS_GMM;
    s.config.gmm_components_joint = 10;
    tess_decode_encoding *encoding = encode(ctx, &s);
    const tess_de_gmm *gmm = encoding->model;
    for (int32_t density = 0; density < 3; density++) {
        for (int64_t u = 0; u < N_UNIT; u++) {
            tess_decode_mixture m = {.struct_size = sizeof m};
            assert_ok(tess_decode_encoding_get_mixture(encoding, density, u, &m));
            assert_int_equal(m.n_dim, density == TESS_DECODE_DENSITY_JOINT ? 4 : 2);
            assert_int_equal(m.n_component == 0, density > 0 && u == 3);
            double total = 0;
            for (int64_t c = 0; c < m.n_component; c++) {
                double log_weight = m.log_norm[c] + (double)m.n_dim * log(2 * PI) / 2;
                for (int64_t a = 0; a < m.n_dim; a++) {
                    log_weight += log(m.factor[(c * m.n_dim + a) * m.n_dim + a]);
                }
                total += exp(log_weight);
            }
            assert_true(m.n_component == 0 || fabs(total - 1) < 1e-12);
            const tess_mixture *own = density == 0   ? &gmm->occupancy
                                      : density == 1 ? &gmm->ground[u]
                                                     : &gmm->joint[u];
            double scratch[256];
            for (int i = 0; i < 20 && m.n_component > 0; i++) {
                double x[4];
                for (int64_t a = 0; a < m.n_dim; a++) {
                    x[a] = m.mean[a] + 3 * normal();
                }
                assert_true(fabs(shown_log(&m, x) - tess_mixture_log(own, x, scratch)) < 1e-9);
            }
        }
    }
    tess_decode_mixture m = {.struct_size = sizeof m};
    tess_decode_regression none = {.struct_size = sizeof none};
    assert_int_equal(tess_decode_encoding_get_mixture(encoding, 1, N_UNIT, &m), TESS_E_RANGE);
    assert_int_equal(tess_decode_encoding_get_mixture(encoding, 3, 0, &m), TESS_E_ARGUMENT);
    assert_int_equal(tess_decode_encoding_get_regression(encoding, &none), TESS_E_UNSUPPORTED);
    tess_decode_encoding_destroy(encoding);
    tess_decode_environment_destroy(s.env);
    tess_context_destroy(ctx);
}

static void rows_match_the_joint_mixture(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    set s;
    make_recording(ctx, 2, &r, &s);
    s.config.algorithm = TESS_DECODE_CLUSTERLESS_GMM;
    s.config.gmm_components_occupancy = 12;
    s.config.gmm_components_gpi = 6;
    s.config.gmm_components_joint = 10;
    tess_decode_encoding *encoding = encode(ctx, &s);
    check_rows(ctx, encoding, &s);
    // A mixture is nowhere 0: no place is impossible.
    const tess_decode_encoding_info *info = tess_decode_encoding_get_info(encoding);
    for (int64_t p = 0; p < info->n_interior; p++) {
        assert_true(info->occupancy[p] > 0 && info->summed_ground_intensity[p] > 0);
    }
    tess_decode_encoding_destroy(encoding);
    tess_decode_environment_destroy(s.env);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_clouds_are_found),
        cmocka_unit_test(densities_and_likelihoods_are_right),
        cmocka_unit_test(degenerate_points_are_harmless),
        cmocka_unit_test(mixtures_are_shown),
        cmocka_unit_test(rows_match_the_joint_mixture),
    };
    return cmocka_run_group_tests_name("decode_gmm", tests, NULL, NULL);
}
