// Movement matrices against the original's, and what must hold of any.
#include "tessera/decode/detector.h"
#include "unit_golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char FILE_08[] = "08_em_viterbi_movement";
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
    movement.kind = kind;
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

int main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    ctx = unit_context(2, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_is_the_originals),
        cmocka_unit_test(plane_is_the_originals),
    };
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    tess_context_destroy(ctx);
    return n_failed;
}
