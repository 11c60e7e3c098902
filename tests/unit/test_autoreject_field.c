// MEG field mapping against golden data, and its rules.
#include "autoreject_sensors.h"
#include "unit_golden.h"

#include "runtime/context.h"
#include "systems/autoreject/interpolation/coils.h"
#include "systems/autoreject/interpolation/repair.h"

#define GOLDEN "autoreject/ar06_meg"

static const char *const kinds[] = {"direct", "lut"};
static const char *const modes[] = {"fast", "accurate"};

static tess_autoreject_interpolation_config config_of(int kind, int mode)
{
    tess_autoreject_interpolation_config config;
    tess_autoreject_interpolation_config_init(&config, sizeof config);
    config.meg_dots = kind;
    config.meg_accurate = mode;
    return config;
}

// The helmet "a", or the mixed coils "b" (all magnetometers).
static test_sensors helmet(tess_context *ctx, const char *set)
{
    char name[32];
    int64_t n = 0;
    snprintf(name, sizeof name, "%s_loc", set);
    double *loc = golden_f64(ctx, GOLDEN, name, &n);
    n /= 12;
    test_sensors t = sensors_make(TESS_AUTOREJECT_MAG, loc, n, 12);
    snprintf(name, sizeof name, "%s_coil_type", set);
    int64_t *coil = golden_i64(ctx, GOLDEN, name, NULL);
    for (int64_t i = 0; i < n; i++) {
        t.channels[i].coil_type = (int32_t)coil[i];
        const bool is_grad = coil[i] >= 3012 && coil[i] <= 3014;
        t.channels[i].type = is_grad ? TESS_AUTOREJECT_GRAD : TESS_AUTOREJECT_MAG;
    }
    double *m = golden_f64(ctx, GOLDEN, "dev_head_t", NULL);
    memcpy(t.s.device_to_head, m, sizeof t.s.device_to_head);
    t.s.has_device_to_head = 1;
    free(m);
    free(loc);
    free(coil);
    return t;
}

static void assert_relative(const double *got, const double *want, int64_t n, double tolerance)
{
    assert_near(got, want, n, tolerance * largest(want, n));
}

static void points_are_the_originals(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    test_sensors t = helmet(ctx, "a");
    double *place = golden_f64(ctx, GOLDEN, "a_points_first4", NULL);
    double *normal = golden_f64(ctx, GOLDEN, "a_normals_first4", NULL);
    double *weight = golden_f64(ctx, GOLDEN, "a_weights_first4", NULL);
    for (int64_t i = 0; i < 4; i++) {
        tess_ar_coil coil;
        assert_ok(tess_ar_coil_place(&t.s, &t.channels[i], &coil));
        assert_int_equal(coil.n, 4);
        for (int64_t k = 0; k < 4; k++) { // in any order
            int found = 0;
            for (int64_t j = 0; j < 4; j++) {
                const double *p = place + (i * 4 + j) * 3;
                double apart = fabs(coil.weight[k] - weight[i * 4 + j]) * 1e-3;
                for (int x = 0; x < 3; x++) {
                    apart += fabs(coil.place[k][x] - p[x]);
                }
                found += apart < 1e-9;
            }
            assert_int_equal(found, 1);
            assert_near(coil.normal, normal + (i * 4 + k) * 3, 3, 1e-9);
        }
    }
    sensors_free(&t);
    free(place);
    free(normal);
    free(weight);
    tess_context_destroy(ctx);
}

static void check_dots(tess_context *ctx, const char *set)
{
    test_sensors t = helmet(ctx, set);
    const int64_t n = t.s.n_chan;
    double *got = malloc((size_t)(n * n) * sizeof *got);
    for (int kind = 0; kind < 2; kind++) {
        for (int mode = 0; mode < 2; mode++) {
            const tess_autoreject_interpolation_config config = config_of(kind, mode);
            char name[64];
            snprintf(name, sizeof name, "%s_D_%s_%s", set, kinds[kind], modes[mode]);
            double *want = golden_f64(ctx, GOLDEN, name, NULL);
            assert_ok(tess_autoreject_meg_dots(ctx, &t.s, t.all, n, &config, got));
            assert_relative(got, want, n * n, 1e-11);
            free(want);
        }
    }
    free(got);
    sensors_free(&t);
}

static void dots_are_the_originals(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    check_dots(ctx, "a");
    check_dots(ctx, "b");
    tess_context_destroy(ctx);
}

static void check_mapping(tess_context *ctx, const char *set, const char *label)
{
    test_sensors t = helmet(ctx, set);
    char name[64];
    int64_t n_from = 0;
    int64_t n_to = 0;
    snprintf(name, sizeof name, "%s_from", label);
    int64_t *from = golden_i64(ctx, GOLDEN, name, &n_from);
    snprintf(name, sizeof name, "%s_to", label);
    int64_t *to = golden_i64(ctx, GOLDEN, name, &n_to);
    double *vectors = golden_f64(ctx, GOLDEN, "a_projs", NULL);
    const char *names[72];
    for (int64_t i = 0; i < t.s.n_chan; i++) {
        names[i] = t.names[i];
    }
    const tess_autoreject_projector projector = {
        .name = "test", .n_vector = 2, .n_chan = 72, .channel_names = names, .vectors = vectors};
    if (strncmp(label, "aproj", 5) == 0) {
        t.s.n_projector = 1;
        t.s.projectors = &projector;
    }
    double *got = malloc((size_t)(n_from * n_to) * sizeof *got);
    for (int kind = 0; kind < 2; kind++) {
        for (int mode = 0; mode < 2; mode++) {
            const tess_autoreject_interpolation_config config = config_of(kind, mode);
            snprintf(name, sizeof name, "%s_W_%s_%s", label, kinds[kind], modes[mode]);
            double *want = golden_f64(ctx, GOLDEN, name, NULL);
            assert_ok(tess_autoreject_weights(ctx, &t.s, from, n_from, to, n_to, &config, got));
            assert_relative(got, want, n_from * n_to, 1e-8);
            free(want);
        }
    }
    free(got);
    free(from);
    free(to);
    free(vectors);
    sensors_free(&t);
}

static void mappings_are_the_originals(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    check_mapping(ctx, "a", "a_mag1");
    check_mapping(ctx, "a", "a_grad3");
    check_mapping(ctx, "a", "a_all5");
    check_mapping(ctx, "a", "aproj_all5");
    check_mapping(ctx, "b", "b_mag2");
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_are_the_originals),
        cmocka_unit_test(dots_are_the_originals),
        cmocka_unit_test(mappings_are_the_originals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
