// Movement matrices against the original's, and what must hold of any.
#include "tessera/decode/detector.h"
#include "unit_golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char FILE_08[] = "decode/08_em_viterbi_movement";
static const double TOLERANCE = 1e-12;

static tess_context *ctx;

typedef struct place {
    tess_decode_environment *env;
    const tess_decode_environment_info *info;
    double *position;
    int64_t n_sample;
} place;

static place make_line(void)
{
    place line;
    tess_decode_environment_config config;
    tess_decode_environment_config_init(&config, sizeof config);
    line.position = golden_f64(ctx, FILE_08, "line_position", &line.n_sample);
    assert_ok(
        tess_decode_environment_create(ctx, &config, line.position, line.n_sample, 1, &line.env));
    line.info = tess_decode_environment_get_info(line.env);
    return line;
}

static place make_plane(void)
{
    place plane;
    tess_decode_environment_config config;
    tess_decode_environment_config_init(&config, sizeof config);
    double *size = golden_f64(ctx, FILE_08, "plane_bin_size", NULL);
    double *range = golden_f64(ctx, FILE_08, "plane_position_range", NULL);
    plane.position = golden_f64(ctx, FILE_08, "plane_position", &plane.n_sample);
    plane.n_sample /= 2;
    config.bin_size = size;
    config.position_range = range;
    assert_ok(tess_decode_environment_create(ctx, &config, plane.position, plane.n_sample, 2,
                                             &plane.env));
    plane.info = tess_decode_environment_get_info(plane.env);
    free(size);
    free(range);
    return plane;
}

static void free_place(place *p)
{
    tess_decode_environment_destroy(p->env);
    free(p->position);
}

static void check_near(const double *got, const char *name)
{
    int64_t n = 0;
    double *want = golden_f64(ctx, FILE_08, name, &n);
    assert_near(got, want, n, TOLERANCE);
    free(want);
}

static void check_matrix(place *p, const tess_decode_movement *movement, const char *name)
{
    const int64_t n = p->info->n_bin;
    double *got = malloc((size_t)(n * n) * sizeof *got);
    assert_non_null(got);
    memset(got, 0xff, (size_t)(n * n) * sizeof *got);
    assert_ok(tess_decode_movement_matrix(ctx, movement, p->env, p->env, got));
    check_near(got, name);
    free(got);
}

static tess_decode_movement new_movement(tess_decode_movement_kind kind, double variance)
{
    tess_decode_movement movement;
    tess_decode_movement_init(&movement, sizeof movement);
    movement.kind = (int32_t)kind;
    if (variance > 0) {
        movement.variance = variance;
    }
    return movement;
}

static void check_place(place *p, const char *prefix)
{
    char name[64];
    tess_decode_movement movement = new_movement(TESS_DECODE_RANDOM_WALK, 0);
    snprintf(name, sizeof name, "%s_random_walk", prefix);
    check_matrix(p, &movement, name);
    movement.variance = 25;
    movement.mean[0] = movement.mean[1] = movement.mean[2] = 1;
    snprintf(name, sizeof name, "%s_random_walk_var25_mean1", prefix);
    check_matrix(p, &movement, name);
    movement = new_movement(TESS_DECODE_RANDOM_WALK, 12);
    movement.use_manifold = 1;
    snprintf(name, sizeof name, "%s_manifold", prefix);
    check_matrix(p, &movement, name);
    movement = new_movement(TESS_DECODE_UNIFORM, 0);
    snprintf(name, sizeof name, "%s_uniform", prefix);
    check_matrix(p, &movement, name);
    movement = new_movement(TESS_DECODE_IDENTITY, 0);
    snprintf(name, sizeof name, "%s_identity", prefix);
    check_matrix(p, &movement, name);
    movement = new_movement(TESS_DECODE_RANDOM_WALK_DIRECTION1, 6);
    snprintf(name, sizeof name, "%s_direction1", prefix);
    check_matrix(p, &movement, name);
    movement = new_movement(TESS_DECODE_RANDOM_WALK_DIRECTION2, 9);
    snprintf(name, sizeof name, "%s_direction2", prefix);
    check_matrix(p, &movement, name);
}

static void check_distances(place *p, const char *name)
{
    const int64_t n = p->info->n_bin;
    double *want = golden_f64(ctx, FILE_08, name, NULL);
    const double *got = NULL;
    assert_ok(tess_decode_distances(ctx, p->env, &got));
    for (int64_t a = 0; a < p->info->n_interior; a++) {
        for (int64_t b = 0; b < p->info->n_interior; b++) {
            const double d = want[p->info->interior_bin[a] * n + p->info->interior_bin[b]];
            assert_near(got + a * p->info->n_interior + b, &d, 1, TOLERANCE);
        }
    }
    free(want);
}

static void check_empirical(const place *p, const char *prefix)
{
    static const struct {
        const char *name;
        int64_t speedup;
        int reversed;
    } cases[] = {{"empirical", 1, 0}, {"empirical_speedup3", 3, 0}, {"empirical_reversed", 1, 1}};
    const int64_t n = p->info->n_bin;
    double *got = calloc((size_t)(n * n), sizeof *got);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char name[64];
        snprintf(name, sizeof name, "%s_%s", prefix, cases[i].name);
        assert_ok(tess_decode_empirical_movement(ctx, p->env, p->position, p->n_sample, NULL,
                                                 cases[i].speedup, cases[i].reversed, got));
        check_near(got, name);
    }
    free(got);
}

static void line_is_the_originals(void **state)
{
    (void)state;
    place line = make_line();
    check_near(line.info->bin_edges[0], "line_bin_edges");
    check_distances(&line, "line_distance");
    check_place(&line, "line");
    check_empirical(&line, "line");
    free_place(&line);
}

static void plane_is_the_originals(void **state)
{
    (void)state;
    place plane = make_plane();
    check_near(plane.info->bin_edges[0], "plane_edges_x");
    check_near(plane.info->bin_edges[1], "plane_edges_y");
    check_distances(&plane, "plane_distance");
    check_place(&plane, "plane");
    check_empirical(&plane, "plane");
    tess_decode_movement movement = new_movement(TESS_DECODE_RANDOM_WALK, 12);
    movement.use_manifold = 1;
    movement.direction = 1;
    check_matrix(&plane, &movement, "plane_manifold_inward");
    movement.direction = 2;
    check_matrix(&plane, &movement, "plane_manifold_outward");
    free_place(&plane);
}

static void rows_sum_to_one_on_the_track(void **state)
{
    (void)state;
    place plane = make_plane();
    const int64_t n = plane.info->n_bin;
    double *got = calloc((size_t)(n * n), sizeof *got);
    for (int kind = TESS_DECODE_UNIFORM; kind <= TESS_DECODE_RANDOM_WALK_DIRECTION2; kind++) {
        for (int direction = 0; direction <= 2; direction++) {
            tess_decode_movement movement = new_movement((tess_decode_movement_kind)kind, 20);
            movement.use_manifold = direction > 0;
            movement.direction = direction;
            assert_ok(tess_decode_movement_matrix(ctx, &movement, plane.env, plane.env, got));
            for (int64_t a = 0; a < n; a++) {
                double sum = 0;
                for (int64_t b = 0; b < n; b++) {
                    sum += got[a * n + b];
                    assert_true(got[a * n + b] >= 0);
                    assert_true(got[a * n + b] == 0 || plane.info->is_interior[b]);
                }
                const double want = plane.info->is_interior[a];
                assert_near(&sum, &want, 1, 1e-12);
            }
        }
    }
    free(got);
    free_place(&plane);
}

static void states_of_one_bin_join_everything(void **state)
{
    (void)state;
    place line = make_line();
    const int64_t n = line.info->n_bin;
    double row[14];
    double column[14];
    double one = 0;
    assert_int_equal(n, 14);
    const tess_decode_movement movement = new_movement(TESS_DECODE_DISCRETE, 0);
    assert_ok(tess_decode_movement_matrix(ctx, &movement, NULL, line.env, row));
    assert_ok(tess_decode_movement_matrix(ctx, &movement, line.env, NULL, column));
    assert_ok(tess_decode_movement_matrix(ctx, &movement, NULL, NULL, &one));
    assert_true(one == 1);
    for (int64_t b = 0; b < n; b++) {
        const double want = line.info->is_interior[b] / (double)line.info->n_interior;
        assert_near(&row[b], &want, 1, 1e-15);
        assert_true(column[b] == line.info->is_interior[b]);
    }
    free_place(&line);
}

static void environments_join_uniformly(void **state)
{
    (void)state;
    place line = make_line();
    place plane = make_plane();
    const int64_t n = plane.info->n_bin;
    double *got = calloc((size_t)(14 * n), sizeof *got);
    tess_decode_movement movement = new_movement(TESS_DECODE_UNIFORM, 0);
    assert_ok(tess_decode_movement_matrix(ctx, &movement, line.env, plane.env, got));
    for (int64_t i = 0; i < 14 * n; i++) {
        const double want = line.info->is_interior[i / n] * plane.info->is_interior[i % n] /
                            (double)plane.info->n_interior;
        assert_near(&got[i], &want, 1, 1e-15);
    }
    movement.kind = TESS_DECODE_RANDOM_WALK;
    assert_fails(tess_decode_movement_matrix(ctx, &movement, line.env, plane.env, got),
                 TESS_E_ARGUMENT, "only uniform movement or a matrix");
    free(got);
    free_place(&line);
    free_place(&plane);
}

static void a_matrix_is_taken_as_it_is(void **state)
{
    (void)state;
    place line = make_line();
    double matrix[14 * 14];
    double got[14 * 14];
    for (int i = 0; i < 14 * 14; i++) {
        matrix[i] = i / 1000.0;
    }
    tess_decode_movement movement = new_movement(TESS_DECODE_MATRIX, 0);
    assert_fails(tess_decode_movement_matrix(ctx, &movement, line.env, line.env, got),
                 TESS_E_ARGUMENT, "has no matrix");
    movement.matrix = matrix;
    assert_ok(tess_decode_movement_matrix(ctx, &movement, line.env, line.env, got));
    assert_memory_equal(got, matrix, sizeof matrix);
    matrix[15] = (double)NAN;
    assert_fails(tess_decode_movement_matrix(ctx, &movement, line.env, line.env, got),
                 TESS_E_NUMERIC, "nan at row 1, column 1");
    free_place(&line);
}

static void gaps_in_training_count_as_one_step(void **state)
{
    (void)state;
    static const double position[] = {0, 5, 9.5, (double)NAN, 0, 10, 11};
    static const uint8_t is_training[] = {1, 0, 1, 1, 1, 1, 1};
    static const double range[] = {0, 10};
    tess_decode_environment_config config;
    tess_decode_environment_config_init(&config, sizeof config);
    config.place_bin_size = 5;
    config.position_range = range;
    tess_decode_environment *env = NULL;
    double got[4];
    assert_ok(tess_decode_environment_create(ctx, &config, position, 6, 1, &env));
    assert_ok(tess_decode_empirical_movement(ctx, env, position, 7, is_training, 1, 0, got));
    static const double want[] = {0, 1, 0, 0}; // 0 to 9.5 and 0 to 10; 11 is outside
    assert_near(got, want, 4, 0);
    assert_fails(tess_decode_empirical_movement(ctx, env, position, 7, NULL, 0, 0, got),
                 TESS_E_ARGUMENT, "speedup: is 0");
    tess_decode_environment_destroy(env);
}

static void any_speedup_is_a_power(void **state)
{
    (void)state;
    place line = make_line();
    double one[14 * 14];
    double want[14 * 14] = {0};
    double got[14 * 14];
    assert_ok(tess_decode_empirical_movement(ctx, line.env, line.position, line.n_sample, NULL, 1,
                                             0, one));
    for (int i = 0; i < 14; i++) {
        want[15 * i] = 1;
    }
    for (int power = 1; power <= 13; power++) {
        double next[14 * 14] = {0};
        for (int i = 0; i < 14 * 14 * 14; i++) {
            next[i / 14] += want[i / 196 * 14 + i % 14] * one[i % 14 * 14 + i / 14 % 14];
        }
        memcpy(want, next, sizeof want);
        assert_ok(tess_decode_empirical_movement(ctx, line.env, line.position, line.n_sample, NULL,
                                                 power, 0, got));
        assert_near(got, want, 14 * 14, 1e-13);
    }
    free_place(&line);
}

static void bad_movement_is_refused(void **state)
{
    (void)state;
    place line = make_line();
    double got[14 * 14];
    tess_decode_movement movement = new_movement(TESS_DECODE_RANDOM_WALK, 6);
    movement.variance = 0;
    assert_fails(tess_decode_movement_matrix(ctx, &movement, line.env, line.env, got),
                 TESS_E_ARGUMENT, "variance is 0");
    movement.variance = 6;
    movement.direction = 3;
    assert_fails(tess_decode_movement_matrix(ctx, &movement, line.env, line.env, got),
                 TESS_E_ARGUMENT, "direction is 3");
    movement.direction = 0;
    movement.mean[0] = (double)NAN;
    assert_fails(tess_decode_movement_matrix(ctx, &movement, line.env, line.env, got),
                 TESS_E_ARGUMENT, "mean is nan");
    movement = new_movement(TESS_DECODE_DISCRETE, 6);
    assert_fails(tess_decode_movement_matrix(ctx, &movement, line.env, line.env, got),
                 TESS_E_ARGUMENT, "state of one bin");
    movement.kind = 8;
    assert_fails(tess_decode_movement_matrix(ctx, &movement, line.env, line.env, got),
                 TESS_E_ARGUMENT, "kind 8");
    free_place(&line);
}

int main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    ctx = unit_context(2, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_is_the_originals),
        cmocka_unit_test(plane_is_the_originals),
        cmocka_unit_test(rows_sum_to_one_on_the_track),
        cmocka_unit_test(states_of_one_bin_join_everything),
        cmocka_unit_test(environments_join_uniformly),
        cmocka_unit_test(a_matrix_is_taken_as_it_is),
        cmocka_unit_test(gaps_in_training_count_as_one_step),
        cmocka_unit_test(any_speedup_is_a_power),
        cmocka_unit_test(bad_movement_is_refused),
    };
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    tess_context_destroy(ctx);
    return n_failed;
}
