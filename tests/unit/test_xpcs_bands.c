// Errors of rates over time.
#include "systems/xpcs/report/bands.h"
#include "unit.h"

#include <math.h>
#include <string.h>

enum { N_ANGLE = 2, N_PARAM = 7, WIDTH = 2 * N_ANGLE + N_PARAM };

static double theta[N_PARAM] = {5e4, -1.2, 1500, 3e-3, -0.2, -4e-4, 2};
static double covariance[WIDTH][WIDTH];

// A covariance L L^T of errors that belong together.
static tess_xpcs_result_info make_info(void)
{
    static const double sd[N_PARAM] = {900, 0.03, 120, 2e-4, 0.05, 1e-4, 0.3};
    double lower[N_PARAM][N_PARAM] = {{0}};
    memset(covariance, 0, sizeof covariance);
    for (int i = 0; i < N_PARAM; i++) {
        for (int j = 0; j <= i; j++) {
            lower[i][j] = sd[i] * (i == j ? 0.6 : 0.3 * ((i + j) % 3 - 1));
        }
    }
    for (int i = 0; i < N_PARAM; i++) {
        for (int j = 0; j < N_PARAM; j++) {
            for (int k = 0; k < N_PARAM; k++) {
                covariance[2 * N_ANGLE + i][2 * N_ANGLE + j] += lower[i][k] * lower[j][k];
            }
        }
    }
    return (tess_xpcs_result_info){.n_angle = N_ANGLE,
                                   .n_param = N_PARAM,
                                   .n_covariance = WIDTH,
                                   .theta = theta,
                                   .covariance = &covariance[0][0]};
}

static double rate_of(const double *p, double t)
{
    return p[0] * pow(t, p[1]) + p[2];
}

// The derivatives by central differences, whatever the parameters' sizes.
static void errors_follow_the_covariance(void **state)
{
    (void)state;
    const tess_xpcs_result_info info = make_info();
    const double t[5] = {0.05, 0.1, 1, 7, 100};
    for (int which = 0; which < 2; which++) {
        double sd[5];
        assert_true(tess_xp_rate_sd(&info, which, t, 5, sd));
        for (int k = 0; k < 5; k++) {
            double slopes[3];
            double variance = 0;
            for (int i = 0; i < 3; i++) {
                double up[3];
                double down[3];
                memcpy(up, theta + 3 * which, sizeof up);
                memcpy(down, theta + 3 * which, sizeof down);
                const double h = 1e-6 * fabs(up[i]);
                up[i] += h;
                down[i] -= h;
                slopes[i] = (rate_of(up, t[k]) - rate_of(down, t[k])) / (2 * h);
            }
            const int first = 2 * N_ANGLE + 3 * which;
            for (int i = 0; i < 3; i++) {
                for (int j = 0; j < 3; j++) {
                    variance += slopes[i] * covariance[first + i][first + j] * slopes[j];
                }
            }
            assert_true(fabs(sd[k] - sqrt(variance)) <= 1e-7 * sqrt(variance));
        }
    }
}

static void what_is_not_known_has_no_band(void **state)
{
    (void)state;
    tess_xpcs_result_info info = make_info();
    const double t[2] = {1, 100};
    double sd[2];
    covariance[2 * N_ANGLE + 1][2 * N_ANGLE + 1] = (double)INFINITY;
    assert_false(tess_xp_rate_sd(&info, 0, t, 2, sd));
    assert_true(tess_xp_rate_sd(&info, 1, t, 2, sd));
    theta[5] = -2e-3; // 3e-3 t^-0.2 falls below it
    assert_true(tess_xp_rate_sd(&info, 1, t, 2, sd));
    assert_true(sd[0] > 0 && sd[1] == 0);
    theta[5] = -4e-4;
    memset(covariance, 0, sizeof covariance); // everything fixed
    info = (tess_xpcs_result_info){
        .n_angle = N_ANGLE, .n_covariance = WIDTH, .theta = theta, .covariance = &covariance[0][0]};
    assert_true(tess_xp_rate_sd(&info, 0, t, 2, sd));
    assert_true(sd[0] == 0 && sd[1] == 0);
}

// The variance of a parameter at its bound is that of a fit without the bound.
static void what_is_at_a_bound_is_held_there(void **state)
{
    (void)state;
    enum { WIDE = 2 + 3 };
    const double at[3] = {1e4, 0.5, -1e4};
    const double t[2] = {1, 4};
    int32_t status[3] = {TESS_XPCS_FREE, TESS_XPCS_FREE, TESS_XPCS_AT_LOWER};
    double wide[WIDE][WIDE] = {{0}};
    double sd[2];
    wide[2][2] = 40 * 40;
    wide[3][3] = 1e-4;
    wide[4][4] = 1e12;
    const tess_xpcs_result_info info = {.n_angle = 1,
                                        .n_covariance = WIDE,
                                        .theta = at,
                                        .status = status,
                                        .covariance = &wide[0][0]};
    for (int k = 0; k < 2; k++) { // unidentified without the bound is no matter either
        assert_true(tess_xp_rate_sd(&info, 0, t, 2, sd));
        assert_true(fabs(sd[1] - sqrt(80 * 80 + 1e-4 * pow(2e4 * log(4), 2))) < 1e-9);
        wide[4][4] = (double)INFINITY;
    }
    status[2] = TESS_XPCS_UNIDENTIFIED;
    assert_false(tess_xp_rate_sd(&info, 0, t, 2, sd));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_follow_the_covariance),
        cmocka_unit_test(what_is_not_known_has_no_band),
        cmocka_unit_test(what_is_at_a_bound_is_held_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
