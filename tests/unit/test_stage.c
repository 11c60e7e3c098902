// The one way to a device, with a device that has few stages, and arrays that stay there.
#include "runtime/stage.h"

#include "base/status.h"
#include "runtime/resident.h"
#include "stage/autoreject.h"
#include "stage/xpcs.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

static tess_context *ctx;
static char lines[1024];
static int n_copied; // by the device below

static void on_log(void *user, tess_log_level level, const char *line)
{
    (void)user;
    (void)level;
    snprintf(lines, sizeof lines, "%s", line);
}

// A device of its own memory that has ptp alone, and computes it on the CPU.
static tess_status small_supports(tess_backend_device *device, int32_t stage, const void *args)
{
    (void)device;
    (void)args;
    return stage == TESS_STAGE_AUTOREJECT_PTP
               ? TESS_OK
               : tess_error_set(TESS_E_UNSUPPORTED, "no such stage here");
}

static tess_status small_copy(tess_backend_queue *queue, void *dst, tess_space dst_space,
                              const void *src, tess_space src_space, size_t bytes)
{
    n_copied++;
    assert_true((dst_space == TESS_SPACE_DEVICE) != (src_space == TESS_SPACE_DEVICE));
    return ctx->cpu.backend->copy(queue, dst, dst_space, src, src_space, bytes);
}

static tess_backend small;

static int set_up(void **state)
{
    (void)state;
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.log = on_log;
    config.log_level = TESS_LOG_INFO;
    assert_ok(tess_context_create(&config, &ctx));
    small = *ctx->cpu.backend;
    small.name = "small";
    small.supports = small_supports;
    small.copy = small_copy;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tess_context_destroy(ctx);
    return 0;
}

// The device above takes the context's place; what it opened is the CPU's own.
static tess_device use_small(void)
{
    tess_device device = ctx->cpu;
    device.backend = &small;
    device.shares_host_memory = false;
    snprintf(device.info.id, sizeof device.info.id, "small:0");
    return device;
}

static const int32_t ptp_only[] = {TESS_STAGE_AUTOREJECT_PTP};
static const int32_t with_pass[] = {TESS_STAGE_AUTOREJECT_PTP, TESS_STAGE_XPCS_PASS};

static void a_stage_goes_where_it_is(void **state)
{
    (void)state;
    tess_device *chosen = NULL;
    assert_ok(tess_stage_choose(ctx, with_pass, 2, "fit", &chosen));
    assert_ptr_equal(chosen, &ctx->cpu);
    assert_string_equal(lines, "");
    tess_device device = use_small();
    ctx->device = &device;
    ctx->device_is_auto = true;
    assert_ok(tess_stage_choose(ctx, ptp_only, 1, "fit", &chosen));
    assert_ptr_equal(chosen, &device);
    assert_ok(tess_stage_choose(ctx, with_pass, 2, "fit", &chosen));
    assert_ptr_equal(chosen, &ctx->cpu);
    assert_contains(lines, "the fit runs on the CPU: small:0 has no stage 'xpcs.pass'");
    ctx->device_is_auto = false;
    assert_ok(tess_stage_choose(ctx, ptp_only, 1, "fit", &chosen));
    assert_fails(tess_stage_choose(ctx, with_pass, 2, "fit", &chosen), TESS_E_UNSUPPORTED,
                 "device 'small:0' has no stage 'xpcs.pass', which a fit needs");
    ctx->device = &ctx->cpu;
}

static void peak_to_peaks(const tess_device *device, const float *x, float *result)
{
    tess_device own = *device;
    tess_resident samples;
    tess_resident delta;
    assert_ok(tess_resident_from(&own, x, 12 * sizeof *x, &samples));
    assert_ok(tess_resident_create(&own, 4 * sizeof *result, &delta));
    const tess_stage_autoreject_ptp args = {.x = samples.data,
                                            .out = delta.data,
                                            .n_epoch = 2,
                                            .n_chan = 2,
                                            .n_time = 3,
                                            .stride_epoch = 6,
                                            .stride_chan = 3,
                                            .dtype = TESS_F32};
    assert_ok(tess_stage_run(&own, TESS_STAGE_AUTOREJECT_PTP, &args, sizeof args));
    assert_ok(tess_resident_fetch(&delta, result, 4 * sizeof *result));
    tess_resident_free(&delta);
    tess_resident_free(&samples);
    tess_resident_free(&samples);
}

static void arrays_stay_between_stages(void **state)
{
    (void)state;
    const float x[12] = {0, 1, 2, 5, 5, 5, -1, 0, 3, 7, 8, 6};
    const float want[4] = {2, 0, 4, 2};
    float got[4] = {0};
    const tess_device device = use_small();
    n_copied = 0;
    peak_to_peaks(&ctx->cpu, x, got);
    assert_memory_equal(got, want, sizeof want);
    assert_int_equal(n_copied, 0);
    peak_to_peaks(&device, x, got);
    assert_memory_equal(got, want, sizeof want);
    assert_int_equal(n_copied, 2); // up once, down once
    // What comes from the host is the host's memory where the device works on that.
    tess_resident view;
    assert_ok(tess_resident_from(&ctx->cpu, x, sizeof x, &view));
    assert_ptr_equal(view.data, x);
    assert_ok(tess_resident_refill(&view, x + 3, 3 * sizeof *x));
    assert_ptr_equal(view.data, x + 3);
    tess_resident_free(&view);
    tess_resident none;
    assert_ok(tess_resident_create(&device, 0, &none));
    assert_ok(tess_resident_fetch(&none, got, 0));
    tess_resident_free(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stage_goes_where_it_is),
        cmocka_unit_test(arrays_stay_between_stages),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
