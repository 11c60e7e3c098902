// Repair of samples: golden data, origins, every thread count the same bits, and what is refused.
#include "autoreject_sensors.h"
#include "unit_golden.h"

#include "runtime/context.h"
#include "stage/autoreject_interpolation.h"
#include "systems/autoreject/interpolation/repair.h"

#define SPLINES "autoreject/ar03_splines"
#define MEG "autoreject/ar06_meg"

static const char *named(const char *geometry, const char *array, int set)
{
    static char name[64];
    snprintf(name, sizeof name, "%s_%s", geometry, array);
    if (set >= 0) {
        snprintf(name, sizeof name, "%s_%s%d", geometry, array, set);
    }
    return name;
}

// Channels bad[] of both epochs of a geometry are NaN before.
static double *spoiled(tess_context *ctx, const char *geometry, const int64_t *bad, int64_t n_bad,
                       int64_t n, uint8_t *marks)
{
    double *x = golden_f64(ctx, SPLINES, named(geometry, "x", -1), NULL);
    memset(marks, 0, (size_t)(2 * n));
    for (int64_t e = 0; e < 2; e++) {
        for (int64_t k = 0; k < n_bad; k++) {
            marks[e * n + bad[k]] = 1;
            for (int64_t t = 0; t < 16; t++) {
                x[(e * n + bad[k]) * 16 + t] = (double)NAN;
            }
        }
    }
    return x;
}

static void assert_repaired(const double *x, const double *want, const int64_t *bad, int64_t n_bad,
                            int64_t n)
{
    const double tolerance = 1e-9 * largest(want, 2 * n_bad * 16);
    for (int64_t e = 0; e < 2; e++) {
        for (int64_t k = 0; k < n_bad; k++) {
            assert_near(x + (e * n + bad[k]) * 16, want + (e * n_bad + k) * 16, 16, tolerance);
        }
    }
}

static void repair_golden(tess_context *ctx, const char *geometry, int set)
{
    int64_t n = 0;
    int64_t n_bad = 0;
    double *pos = golden_f64(ctx, SPLINES, named(geometry, "pos", -1), &n);
    n /= 3;
    int64_t *bad = golden_i64(ctx, SPLINES, named(geometry, "bad", set), &n_bad);
    double *want = golden_f64(ctx, SPLINES, named(geometry, "y", set), NULL);
    test_sensors s = sensors_make(TESS_AUTOREJECT_EEG, pos, n, 3);
    uint8_t marks[128];
    double *x = spoiled(ctx, geometry, bad, n_bad, n, marks);
    tess_array view;
    assert_ok(tess_array_init(&view, x, TESS_F64, 3, (int64_t[]){2, n, 16}));
    assert_ok(tess_autoreject_interpolate(ctx, &s.s, s.all, n, marks, NULL, &view));
    assert_repaired(x, want, bad, n_bad, n);
    sensors_free(&s);
    free(pos);
    free(bad);
    free(want);
    free(x);
}

static void electrodes_are_repaired(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    for (int set = 0; set < 3; set++) {
        repair_golden(ctx, "a", set);
        repair_golden(ctx, "b", set);
    }
    tess_context_destroy(ctx);
}

static void origins_are_taken(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    int64_t n = 0;
    int64_t n_bad = 0;
    int64_t n_shape = 0;
    double *pos = golden_f64(ctx, SPLINES, "b_pos", &n);
    n /= 3;
    int64_t *bad = golden_i64(ctx, SPLINES, "b_bad1", &n_bad);
    double *shape = golden_f64(ctx, SPLINES, "origin_headshape", &n_shape);
    n_shape /= 3;
    test_sensors s = sensors_make(TESS_AUTOREJECT_EEG, pos, n, 3);
    tess_autoreject_point *points = calloc((size_t)n_shape, sizeof *points);
    for (int64_t i = 0; i < n_shape; i++) {
        points[i].kind = 4;
        memcpy(points[i].position, shape + 3 * i, 3 * sizeof *shape);
    }
    s.s.n_point = n_shape;
    s.s.points = points;
    double origin[3];
    double radius = 0;
    double *want = golden_f64(ctx, SPLINES, "origin_linear", NULL);
    assert_ok(tess_autoreject_fit_sphere(&s.s, origin, &radius));
    assert_near(origin, want, 3, 1e-12);
    assert_true(fabs(radius - golden_scalar(ctx, SPLINES, "radius_linear")) < 1e-12);
    free(want);

    uint8_t marks[128];
    tess_autoreject_interpolation_config config;
    tess_autoreject_interpolation_config_init(&config, sizeof config);
    tess_array view;
    double *x = spoiled(ctx, "b", bad, n_bad, n, marks);
    assert_ok(tess_array_init(&view, x, TESS_F64, 3, (int64_t[]){2, n, 16}));
    config.fitted_origin = 1;
    assert_ok(tess_autoreject_interpolate(ctx, &s.s, s.all, n, marks, &config, &view));
    want = golden_f64(ctx, SPLINES, "origin_y_linear", NULL);
    assert_repaired(x, want, bad, n_bad, n);
    free(want);
    free(x);

    double *given = golden_f64(ctx, SPLINES, "origin_geometric", NULL);
    x = spoiled(ctx, "b", bad, n_bad, n, marks);
    view.data = x;
    config.fitted_origin = 0;
    config.eeg_origin = given;
    assert_ok(tess_autoreject_interpolate(ctx, &s.s, s.all, n, marks, &config, &view));
    want = golden_f64(ctx, SPLINES, "origin_y_geometric", NULL);
    assert_repaired(x, want, bad, n_bad, n);

    free(want);
    free(given);
    free(x);
    free(points);
    free(shape);
    free(bad);
    free(pos);
    sensors_free(&s);
    tess_context_destroy(ctx);
}

// A sphere is found again, from head-shape points, from digitised electrodes, from channels; the
// face does not count.
static void spheres_are_found(void **state)
{
    (void)state;
    const double centre[3] = {0.003, 0.001, 0.02};
    double *pos = spiral(40);
    for (int64_t i = 0; i < 40; i++) {
        for (int k = 0; k < 3; k++) {
            pos[3 * i + k] += centre[k];
        }
    }
    test_sensors s = sensors_make(TESS_AUTOREJECT_EEG, pos, 40, 3);
    tess_autoreject_point points[41] = {0};
    double origin[3];
    double radius = 0;
    assert_ok(tess_autoreject_fit_sphere(&s.s, origin, &radius)); // channels
    assert_near(origin, centre, 3, 1e-12);
    assert_true(fabs(radius - 0.09) < 1e-12);
    s.s.points = points;
    s.s.n_point = 41;
    for (int kind = 3; kind < 5; kind++) {
        for (int64_t i = 0; i < 40; i++) {
            points[i].kind = kind;
            memcpy(points[i].position, pos + 3 * i, 3 * sizeof *pos);
        }
        points[40] = (tess_autoreject_point){.kind = 4, .position = {0, 0.2, -0.1}}; // the nose
        assert_ok(tess_autoreject_fit_sphere(&s.s, origin, &radius));
        assert_near(origin, centre, 3, 1e-12);
    }
    for (int64_t i = 0; i < 41; i++) {
        points[i].position[2] = 0.05;
    }
    assert_fails(tess_autoreject_fit_sphere(&s.s, origin, &radius), TESS_E_NUMERIC, "plane");
    s.s.n_point = 3;
    s.s.n_chan = 0;
    assert_fails(tess_autoreject_fit_sphere(&s.s, origin, &radius), TESS_E_FORMAT,
                 "at least 4 digitised points");
    sensors_free(&s);
    free(pos);
}

// The helmet of the golden data, of one type or all; gradiometers have coil types 3012 to 3014.
static test_sensors helmet(tess_context *ctx, int64_t *grads, int64_t *n_grad)
{
    int64_t n = 0;
    double *loc = golden_f64(ctx, MEG, "a_loc", &n);
    n /= 12;
    test_sensors t = sensors_make(TESS_AUTOREJECT_MAG, loc, n, 12);
    int64_t *coil = golden_i64(ctx, MEG, "a_coil_type", NULL);
    double *m = golden_f64(ctx, MEG, "dev_head_t", NULL);
    *n_grad = 0;
    for (int64_t i = 0; i < n; i++) {
        t.channels[i].coil_type = (int32_t)coil[i];
        if (coil[i] <= 3014) {
            t.channels[i].type = TESS_AUTOREJECT_GRAD;
            grads[(*n_grad)++] = i;
        }
    }
    memcpy(t.s.device_to_head, m, sizeof t.s.device_to_head);
    t.s.has_device_to_head = 1;
    free(m);
    free(loc);
    free(coil);
    return t;
}

static void augmented_gradiometers_are_the_originals(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    int64_t grads[72];
    int64_t n = 0;
    test_sensors t = helmet(ctx, grads, &n);
    assert_int_equal(n, 48);
    tess_autoreject_interpolation_config config;
    tess_autoreject_interpolation_config_init(&config, sizeof config);
    config.meg_dots = TESS_AUTOREJECT_DOTS_TABLE;
    tess_ar_repairer *r = NULL;
    assert_ok(tess_ar_repairer_create(ctx, &t.s, grads, n, &config, &r));
    const double *w = NULL;
    assert_ok(tess_ar_repairer_leave_one_out(r, &w));
    double *all = golden_f64(ctx, MEG, "X", NULL);
    double *want = golden_f64(ctx, MEG, "lut_aug_grad_epoch0", NULL);
    double x[48 * 24];
    double got[48 * 24];
    for (int64_t i = 0; i < n; i++) {
        assert_true(w[i * n + i] == 0);
        memcpy(x + i * 24, all + grads[i] * 24, 24 * sizeof *x);
    }
    const tess_stage_autoreject_augment args = {.w = w,
                                                .x = x,
                                                .out = got,
                                                .n_epoch = 1,
                                                .n_row = n,
                                                .n_chan = n,
                                                .width = 24,
                                                .stride_epoch = n * 24,
                                                .stride_chan = 24,
                                                .out_stride_epoch = n * 24,
                                                .out_stride_row = 24};
    const tess_backend *backend = ctx->device->backend;
    assert_ok(
        backend->enqueue(ctx->device->queue, TESS_STAGE_AUTOREJECT_AUGMENT, &args, sizeof args));
    assert_ok(backend->finish(ctx->device->queue));
    assert_near(got, want, n * 24, 1e-8 * largest(want, n * 24));
    tess_ar_repairer_destroy(r);
    free(all);
    free(want);
    sensors_free(&t);
    tess_context_destroy(ctx);
}

// EEG and MEG channels together, sets that repeat, one epoch without any.
typedef struct mixture {
    test_sensors s;
    double *x;
    uint8_t *bad;
    int64_t n, n_epoch;
} mixture;

enum { WIDTH = 37, N_EEG = 20, N_EPOCH = 9 };

static mixture make_mixture(tess_context *ctx)
{
    int64_t grads[72];
    int64_t n_grad = 0;
    test_sensors meg = helmet(ctx, grads, &n_grad);
    double *pos = spiral(N_EEG);
    mixture m = {.n = meg.s.n_chan + N_EEG, .n_epoch = N_EPOCH};
    double *loc = calloc((size_t)(12 * m.n), sizeof *loc);
    m.s = sensors_make(TESS_AUTOREJECT_EEG, loc, m.n, 12);
    memcpy(m.s.s.device_to_head, meg.s.device_to_head, sizeof meg.s.device_to_head);
    m.s.s.has_device_to_head = 1;
    for (int64_t i = 0; i < m.n; i++) {
        tess_autoreject_channel *channel = &m.s.channels[i];
        if (i < N_EEG) {
            memcpy(channel->loc, pos + 3 * i, 3 * sizeof *pos);
            continue;
        }
        const char *name = channel->name;
        *channel = meg.channels[i - N_EEG];
        channel->name = name;
    }
    m.x = malloc((size_t)(m.n_epoch * m.n * WIDTH) * sizeof *m.x);
    m.bad = calloc(N_EPOCH, (size_t)m.n);
    for (int64_t i = 0; i < m.n_epoch * m.n * WIDTH; i++) {
        m.x[i] = sin(1.7 * (double)i) * (i / WIDTH % m.n < N_EEG ? 1e-5 : 1e-12);
    }
    for (int64_t e = 0; e < m.n_epoch - 1; e++) {
        for (int64_t k = 0; k <= e % 4; k++) {
            m.bad[e * m.n + (e % 4 * 5 + k * 7) % m.n] = 1;
        }
    }
    for (int64_t c = 0; c < 15; c++) { // most of the EEG
        m.bad[4 * m.n + c] = 1;
    }
    free(loc);
    free(pos);
    sensors_free(&meg);
    return m;
}

static void free_mixture(mixture *m)
{
    sensors_free(&m->s);
    free(m->x);
    free(m->bad);
}

static void repair_mixture(int32_t n_thread, mixture *m, double *out)
{
    tess_context *ctx = unit_context(n_thread, 0);
    tess_array view;
    memcpy(out, m->x, (size_t)(m->n_epoch * m->n * WIDTH) * sizeof *out);
    assert_ok(tess_array_init(&view, out, TESS_F64, 3, (int64_t[]){m->n_epoch, m->n, WIDTH}));
    assert_ok(tess_autoreject_interpolate(ctx, &m->s.s, m->s.all, m->n, m->bad, NULL, &view));
    tess_context_destroy(ctx);
}

// Each repaired row against weights asked for by themselves and plain sums; all others as before.
static void assert_plainly(tess_context *ctx, const mixture *m, const double *got)
{
    for (int64_t e = 0; e < m->n_epoch; e++) {
        for (int64_t c = 0; c < m->n; c++) {
            const double *row = got + (e * m->n + c) * WIDTH;
            if (!m->bad[e * m->n + c]) {
                assert_memory_equal(row, m->x + (e * m->n + c) * WIDTH, WIDTH * sizeof *row);
                continue;
            }
            int64_t from[128];
            int64_t n_from = 0;
            for (int64_t i = 0; i < m->n; i++) {
                if (!m->bad[e * m->n + i] && (i < N_EEG) == (c < N_EEG)) {
                    from[n_from++] = i;
                }
            }
            double w[128];
            double want[WIDTH] = {0};
            assert_ok(tess_autoreject_weights(ctx, &m->s.s, from, n_from, &c, 1, NULL, w));
            for (int64_t i = 0; i < n_from; i++) {
                for (int64_t t = 0; t < WIDTH; t++) {
                    want[t] += w[i] * m->x[(e * m->n + from[i]) * WIDTH + t];
                }
            }
            assert_near(row, want, WIDTH, 1e-9 * largest(want, WIDTH));
        }
    }
}

static void threads_do_not_show(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    mixture m = make_mixture(ctx);
    const size_t bytes = (size_t)(m.n_epoch * m.n * WIDTH) * sizeof(double);
    double *want = malloc(bytes);
    double *got = malloc(bytes);
    repair_mixture(1, &m, want);
    assert_plainly(ctx, &m, want);
    for (int32_t n_thread = 2; n_thread <= 5; n_thread++) {
        repair_mixture(n_thread, &m, got);
        assert_memory_equal(got, want, bytes);
    }
    free(want);
    free(got);
    free_mixture(&m);
    tess_context_destroy(ctx);
}

static void sets_are_prepared_once(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    int64_t grads[72];
    int64_t n = 0;
    test_sensors t = helmet(ctx, grads, &n);
    tess_ar_repairer *r = NULL;
    assert_ok(tess_ar_repairer_create(ctx, &t.s, grads, n, NULL, &r));
    const uint64_t words[4] = {0x21, 0x8000000002, 0x21, 1};
    const tess_ar_bad_set sets[4] = {{words}, {words + 1}, {words + 2}, {words + 3}};
    assert_ok(tess_ar_repairer_prepare(r, sets, 3));
    assert_ok(tess_ar_repairer_prepare(r, sets + 1, 3));
    const double *loo = NULL;
    assert_ok(tess_ar_repairer_leave_one_out(r, &loo));
    double w[2 * 72];
    uint64_t scratch[8];
    assert_true(tess_ar_repairer_scratch(r, 2) <= sizeof scratch);
    assert_ok(tess_ar_repairer_weights(r, (int32_t[]){0}, 1, scratch, w));
    assert_memory_equal(w, loo, (size_t)n * sizeof *w);
    assert_ok(tess_ar_repairer_weights(r, (int32_t[]){1, 39}, 2, scratch, w));
    assert_true(w[1] == 0 && w[39] == 0 && w[n + 1] == 0 && w[n + 39] == 0 && w[0] != 0);
    assert_fails(tess_ar_repairer_weights(r, (int32_t[]){7}, 1, scratch, w), TESS_E_INTERNAL,
                 "not prepared");
    tess_ar_repairer_destroy(r);
    sensors_free(&t);
    tess_context_destroy(ctx);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    double *pos = spiral(6);
    test_sensors s = sensors_make(TESS_AUTOREJECT_EEG, pos, 6, 3);
    double x[2 * 6 * 4] = {0};
    double w[36];
    uint8_t bad[12] = {0};
    tess_array view;
    assert_ok(tess_array_init(&view, x, TESS_F64, 3, (int64_t[]){2, 6, 4}));
#define REPAIR(n_pick) tess_autoreject_interpolate(ctx, &s.s, s.all, n_pick, bad, NULL, &view)
#define WEIGHTS(n_from, to) tess_autoreject_weights(ctx, &s.s, s.all, n_from, to, 1, NULL, w)
    bad[6 + 5] = 1;
    assert_fails(REPAIR(5), TESS_E_ARGUMENT, "channel E06 (eeg) is marked in epoch 1");
    memset(bad + 6, 1, 6);
    assert_fails(REPAIR(6), TESS_E_NUMERIC, "epoch 1: all 6 channels are bad");
    view.shape[1] = 5;
    assert_fails(REPAIR(5), TESS_E_SHAPE, "x:");
    assert_fails(WEIGHTS(0, s.all), TESS_E_ARGUMENT, "from: there must be at least one");
    assert_fails(WEIGHTS(5, ((int64_t[]){6})), TESS_E_RANGE, "to[0] is 6");
    assert_fails(WEIGHTS(1, s.all), TESS_E_SHAPE, "nothing to predict it from");
    s.channels[2].loc[1] = (double)NAN;
    assert_fails(WEIGHTS(5, s.all + 5), TESS_E_NUMERIC, "E03");
    memset(s.channels[2].loc, 0, 3 * sizeof(double));
    assert_ok(WEIGHTS(5, s.all + 5)); // one may be at the origin
    memset(s.channels[3].loc, 0, 3 * sizeof(double));
    assert_fails(WEIGHTS(5, s.all + 5), TESS_E_NUMERIC,
                 "Could not extract channel positions for 2 channels: E03, E04");
    s.channels[5].type = TESS_AUTOREJECT_MAG;
    assert_fails(WEIGHTS(5, s.all + 5), TESS_E_ARGUMENT, "E01 (eeg) and E06 (mag)");
    for (int i = 0; i < 6; i++) {
        s.channels[i].type = TESS_AUTOREJECT_SEEG;
    }
    assert_fails(WEIGHTS(5, s.all + 5), TESS_E_UNSUPPORTED, "only EEG and MEG");
    pos[4] = (double)INFINITY;
    assert_fails(tess_autoreject_spline_weights(ctx, pos, 3, pos + 9, 1, w), TESS_E_ARGUMENT,
                 "from: position 1");
    sensors_free(&s);
    free(pos);
    tess_context_destroy(ctx);
}

static void meg_mistakes_are_named(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    int64_t grads[72];
    int64_t n = 0;
    test_sensors t = helmet(ctx, grads, &n);
    double *w = malloc(72 * 72 * sizeof *w);
#define DOTS tess_autoreject_meg_dots(ctx, &t.s, t.all, 72, NULL, w)
    const tess_autoreject_channel saved = t.channels[7];
    t.channels[7].coil_type = 1234;
    assert_fails(DOTS, TESS_E_UNSUPPORTED, "channel E08: coil type 1234");
    t.channels[7] = saved;
    t.channels[7].loc[11] = (double)NAN;
    assert_fails(DOTS, TESS_E_FORMAT, "channel E08: position or directions");
    t.channels[7] = saved;
    for (int k = 0; k < 3; k++) {
        t.channels[7].loc[k] *= 1000;
    }
    assert_fails(DOTS, TESS_E_RANGE, "Are positions in metres?");
    t.channels[7] = saved;
    t.channels[7].type = TESS_AUTOREJECT_EEG;
    assert_fails(DOTS, TESS_E_ARGUMENT, "channel E08 is eeg");
    t.channels[7] = saved;
    t.channels[7].coil_type |= 3 << 16; // a compensated one
    assert_ok(DOTS);
    free(w);
    sensors_free(&t);
    tess_context_destroy(ctx);
}

static void keep_message(void *user, tess_log_level level, const char *message)
{
    (void)level;
    snprintf(user, 256, "%s", message);
}

static void electrodes_on_top_of_each_other_are_warned_of(void **state)
{
    (void)state;
    char message[256] = "";
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.log = keep_message;
    config.log_user = message;
    config.log_level = TESS_LOG_INFO;
    tess_context *ctx = NULL;
    assert_ok(tess_context_create(&config, &ctx));
    double *pos = spiral(6);
    test_sensors s = sensors_make(TESS_AUTOREJECT_EEG, pos, 6, 3);
    double w[6];
    assert_ok(tess_autoreject_weights(ctx, &s.s, s.all, 5, s.all + 5, 1, NULL, w));
    assert_string_equal(message, "");
    for (int k = 0; k < 3; k++) { // the same direction
        s.channels[4].loc[k] = 1.5 * s.channels[1].loc[k];
    }
    assert_ok(tess_autoreject_weights(ctx, &s.s, s.all, 5, s.all + 5, 1, NULL, w));
    assert_contains(message, "E02 and E05 are at the same place");
    sensors_free(&s);
    free(pos);
    tess_context_destroy(ctx);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    tess_context *plain = unit_context(1, 0);
    mixture m = make_mixture(plain);
    const size_t bytes = (size_t)(m.n_epoch * m.n * WIDTH) * sizeof(double);
    double *x = malloc(bytes);
    tess_status status = TESS_E_MEMORY;
    for (long long fail_at = 1; status != TESS_OK; fail_at++) {
        unit_allocator allocator;
        unit_allocator_init(&allocator, 0);
        tess_context_config config;
        tess_context_config_init(&config, sizeof config);
        config.n_thread = 1;
        config.allocator = &allocator.table;
        tess_context *ctx = NULL;
        assert_ok(tess_context_create(&config, &ctx));
        allocator.fail_at = allocator.n_alloc + fail_at;
        memcpy(x, m.x, bytes);
        tess_array view;
        assert_ok(tess_array_init(&view, x, TESS_F64, 3, (int64_t[]){m.n_epoch, m.n, WIDTH}));
        status = tess_autoreject_interpolate(ctx, &m.s.s, m.s.all, m.n, m.bad, NULL, &view);
        tess_context_destroy(ctx);
        assert_int_equal(allocator.n_live, 0);
        assert_true(status == TESS_E_MEMORY || (status == TESS_OK && fail_at > 20));
    }
    free(x);
    free_mixture(&m);
    tess_context_destroy(plain);
}

static void a_cancelled_call_ends(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    mixture m = make_mixture(ctx);
    tess_array view;
    assert_ok(tess_array_init(&view, m.x, TESS_F64, 3, (int64_t[]){m.n_epoch, m.n, WIDTH}));
    tess_context_cancel(ctx);
    assert_int_equal(tess_autoreject_interpolate(ctx, &m.s.s, m.s.all, m.n, m.bad, NULL, &view),
                     TESS_CANCELLED);
    free_mixture(&m);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(electrodes_are_repaired),
        cmocka_unit_test(origins_are_taken),
        cmocka_unit_test(spheres_are_found),
        cmocka_unit_test(augmented_gradiometers_are_the_originals),
        cmocka_unit_test(threads_do_not_show),
        cmocka_unit_test(sets_are_prepared_once),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(meg_mistakes_are_named),
        cmocka_unit_test(electrodes_on_top_of_each_other_are_warned_of),
        cmocka_unit_test(every_failed_allocation_is_reported),
        cmocka_unit_test(a_cancelled_call_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
