// Which device the computations of xpcs run on: the context's if it has their stage.
#include "xpcs_fit_fixture.h"

#include "runtime/context.h"
#include "stage/xpcs.h"

#include <string.h>

// A device that is the CPU but for one stage, which it has not.
typedef struct poor_device {
    tess_backend table;
    tess_device device;
    tess_context *ctx;
    char log[4096]; // all lines
} poor_device;

static int32_t missing;

static tess_status supports(tess_backend_device *device, int32_t stage, const void *args)
{
    (void)device;
    (void)args;
    return stage == missing ? TESS_E_UNSUPPORTED : TESS_OK;
}

static void take_line(void *user, tess_log_level level, const char *line)
{
    poor_device *poor = user;
    (void)level;
    const size_t used = strlen(poor->log);
    snprintf(poor->log + used, sizeof poor->log - used, "%s\n", line);
}

static void poor_open(poor_device *poor)
{
    tess_context_config config;
    *poor = (poor_device){0};
    tess_context_config_init(&config, sizeof config);
    config.n_thread = 2;
    config.device = "cpu";
    config.log = take_line;
    config.log_user = poor;
    config.log_level = TESS_LOG_INFO;
    assert_ok(tess_context_create(&config, &poor->ctx));
    poor->table = *poor->ctx->device->backend;
    poor->table.supports = supports;
    poor->device = *poor->ctx->device;
    poor->device.backend = &poor->table;
    snprintf(poor->device.info.id, sizeof poor->device.info.id, "poor:0");
    poor->ctx->device = &poor->device;
}

static void poor_close(poor_device *poor)
{
    poor->ctx->device = &poor->ctx->cpu;
    tess_context_destroy(poor->ctx);
}

enum { N_FRAME = 40, N_ANGLE = 3 };

static tess_status simulate(tess_context *ctx)
{
    tess_xpcs_simulation s;
    tess_xpcs_data *data = NULL;
    tess_xpcs_simulation_init(&s, sizeof s);
    s.n_angle = N_ANGLE;
    s.n_frame = N_FRAME;
    const tess_status status = tess_xpcs_simulate(ctx, &s, 1, &data);
    tess_xpcs_data_destroy(data);
    return status;
}

static tess_status surface(tess_context *ctx)
{
    static double c2[N_FRAME * N_FRAME];
    const double theta[] = {1000, -0.5, 10};
    const double phi = 0;
    const double q = 0.005;
    const tess_xpcs_angles angles = {
        .struct_size = sizeof angles, .n_angle = 1, .phi = &phi, .q = &q};
    tess_xpcs_model model;
    tess_xpcs_model_init(&model, sizeof model);
    model.mode = TESS_XPCS_STATIC_ISOTROPIC;
    model.dt_s = 0.1;
    return tess_xpcs_model_surface(ctx, &model, &angles, theta, N_FRAME, c2);
}

// Data of another context, which simulates them when asked.
static golden_fit golden;

static tess_status fit(tess_context *ctx)
{
    tess_xpcs_result *result = NULL;
    const tess_status status =
        tess_xpcs_fit(ctx, golden.data, &golden.model, &golden.config, &result);
    if (result) {
        assert_string_equal(tess_xpcs_result_get_info(result)->device,
                            missing == TESS_STAGE_XPCS_PASS ? "cpu" : "poor:0");
    }
    tess_xpcs_result_destroy(result);
    return status;
}

static tess_status plan(tess_context *ctx)
{
    tess_xpcs_fit_plan plan;
    return tess_xpcs_fit_get_plan(ctx, golden.data, &golden.model, &golden.config, &plan,
                                  sizeof plan);
}

static tess_status accumulate(tess_context *ctx)
{
    const double theta[] = {1000, -0.5, 10};
    double cost = 0;
    tess_xpcs_sums sums = {.struct_size = sizeof sums, .cost = &cost};
    return tess_xpcs_accumulate(ctx, golden.data, &golden.model, NULL, theta, &sums);
}

static void a_stage_that_is_missing_is_named(void **state)
{
    (void)state;
    static const struct {
        tess_status (*compute)(tess_context *ctx);
        int32_t stage;
        const char *name;
        const char *what;
    } cases[] = {{fit, TESS_STAGE_XPCS_PASS, "'xpcs.pass'", "a fit"},
                 {plan, TESS_STAGE_XPCS_PASS, "'xpcs.pass'", "a fit"},
                 {accumulate, TESS_STAGE_XPCS_PASS, "'xpcs.pass'", "a pass"},
                 {simulate, TESS_STAGE_XPCS_SIMULATE, "'xpcs.simulate'", "a simulation"},
                 {surface, TESS_STAGE_XPCS_MODEL, "'xpcs.model'", "a surface of the model"}};
    poor_device poor;
    golden = golden_fit_open(0, 2);
    poor_open(&poor);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        missing = cases[i].stage;
        poor.ctx->device_is_auto = false;
        assert_fails(cases[i].compute(poor.ctx), TESS_E_UNSUPPORTED, cases[i].name);
        assert_non_null(strstr(tess_last_error(), "device 'poor:0' has no stage"));
        assert_non_null(strstr(tess_last_error(), cases[i].what));
        // Found rather than asked for: the CPU does it, and the log says so.
        poor.ctx->device_is_auto = true;
        poor.log[0] = '\0';
        assert_ok(cases[i].compute(poor.ctx));
        assert_non_null(strstr(poor.log, cases[i].name));
        missing = 0;
        poor.log[0] = '\0';
        assert_ok(cases[i].compute(poor.ctx));
        assert_null(strstr(poor.log, "runs on the CPU"));
    }
    poor_close(&poor);
    golden_fit_close(&golden);
}

// Records that are made on demand come from the device of the call that needs them.
static void records_are_made_by_the_device_of_the_call(void **state)
{
    (void)state;
    poor_device poor;
    tess_context *ctx = unit_context(1, 0);
    tess_xpcs_simulation s;
    tess_xpcs_data *data = NULL;
    double sigma[N_ANGLE];
    double again[N_ANGLE];
    tess_xpcs_simulation_init(&s, sizeof s);
    s.n_angle = N_ANGLE;
    s.n_frame = N_FRAME;
    s.sigma = 0.02;
    assert_ok(tess_xpcs_simulate(ctx, &s, 0, &data));
    assert_ok(tess_xpcs_data_estimate_sigma(ctx, data, sigma));
    poor_open(&poor);
    missing = TESS_STAGE_XPCS_SIMULATE;
    assert_fails(tess_xpcs_data_estimate_sigma(poor.ctx, data, again), TESS_E_UNSUPPORTED,
                 "'xpcs.simulate'");
    missing = 0;
    assert_ok(tess_xpcs_data_estimate_sigma(poor.ctx, data, again));
    assert_memory_equal(sigma, again, sizeof sigma);
    tess_xpcs_data_destroy(data);
    poor_close(&poor);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stage_that_is_missing_is_named),
        cmocka_unit_test(records_are_made_by_the_device_of_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
