// Where decode's stages run: all on the context's device, or all on the CPU.
#include "decode_model.h"

#include "base/status.h"
#include "runtime/context.h"
#include "stage/decode_gmm.h"
#include "stage/decode_hmm.h"
#include "stage/decode_likelihood.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tess_context *ctx;
static char lines[4096];
static int32_t missing; // stage that the device below does not have; 0: none
static int n_run;       // stages it ran

static void on_log(void *user, tess_log_level level, const char *line)
{
    (void)user;
    (void)level;
    const size_t used = strlen(lines);
    snprintf(lines + used, sizeof lines - used, "%s\n", line);
}

static tess_status other_supports(tess_backend_device *device, int32_t stage, const void *args)
{
    (void)device;
    (void)args;
    return stage == missing ? tess_error_set(TESS_E_UNSUPPORTED, "no such stage here") : TESS_OK;
}

static tess_status other_enqueue(tess_backend_queue *queue, int32_t stage, const void *args,
                                 size_t bytes)
{
    n_run++;
    return ctx->cpu.backend->enqueue(queue, stage, args, bytes);
}

// A device on the host's memory that lacks a stage; it takes the context's place.
static tess_backend other;
static tess_device device;

static void use_device(int is_auto)
{
    other = *ctx->cpu.backend;
    other.name = "other";
    other.supports = other_supports;
    other.enqueue = other_enqueue;
    device = ctx->cpu;
    device.backend = &other;
    snprintf(device.info.id, sizeof device.info.id, "other:0");
    ctx->device = &device;
    ctx->device_is_auto = is_auto;
    lines[0] = '\0';
    n_run = 0;
}

static int set_up(void **state)
{
    (void)state;
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.log = on_log;
    config.log_level = TESS_LOG_INFO;
    assert_ok(tess_context_create(&config, &ctx));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ctx->device = &ctx->cpu;
    tess_context_destroy(ctx);
    return 0;
}

static void open_model(golden_model *m)
{
    ctx->device = &ctx->cpu;
    golden_model_open(m, ctx, "decode/06_cont_frag", TESS_DECODE_FAST);
    golden_model_detector(m, ctx, TESS_DECODE_MODEL_CONT_FRAG, NULL);
}

static tess_status predict(const golden_model *m, double *evidence)
{
    tess_decode_outputs outputs;
    const tess_decode_detector_info *info = tess_decode_detector_get_info(m->detector);
    const int64_t shape[2] = {m->observation.n_time, info->n_state};
    double *states = calloc((size_t)(shape[0] * shape[1]), sizeof *states);
    int64_t *path = calloc((size_t)shape[0], sizeof *path);
    tess_array array;
    assert_ok(tess_array_init(&array, states, TESS_F64, 2, shape));
    tess_decode_outputs_init(&outputs, sizeof outputs);
    outputs.acausal_state_probabilities = &array;
    outputs.most_likely_bin = path;
    const tess_status status =
        tess_decode_predict(ctx, m->detector, &m->observation, NULL, &outputs);
    *evidence = outputs.log_evidence;
    free(states);
    free(path);
    return status;
}

static void a_device_with_all_stages_runs_them(void **state)
{
    (void)state;
    golden_model m;
    double evidence;
    open_model(&m);
    missing = 0;
    use_device(0);
    assert_ok(predict(&m, &evidence));
    assert_true(n_run > 3);
    assert_string_equal(lines, "");
    golden_model_close(&m);
}

static void a_missing_stage_is_named(void **state)
{
    (void)state;
    golden_model m;
    double evidence;
    tess_decode_encoding *encoding = NULL;
    open_model(&m);
    missing = TESS_STAGE_DECODE_KDE;
    use_device(0);
    assert_fails(tess_decode_encoding_create(ctx, m.env, &m.training, NULL, &encoding),
                 TESS_E_UNSUPPORTED,
                 "device 'other:0' has no stage 'decode.kde', which a fit needs");
    assert_fails(predict(&m, &evidence), TESS_E_UNSUPPORTED, "'decode.kde', which a decoding");
    tess_decode_encoding_config mixture;
    tess_decode_encoding_config_init(&mixture, sizeof mixture);
    mixture.algorithm = TESS_DECODE_CLUSTERLESS_GMM;
    missing = TESS_STAGE_DECODE_GMM;
    assert_fails(tess_decode_encoding_create(ctx, m.env, &m.training, &mixture, &encoding),
                 TESS_E_UNSUPPORTED, "device 'other:0' has no stage 'decode.gmm'");
    golden_model_close(&m);
}

// Found, not asked for: everything goes to the CPU, with one line.
static void a_found_device_is_left_alone(void **state)
{
    (void)state;
    golden_model m;
    double want;
    double got;
    open_model(&m);
    assert_ok(predict(&m, &want));
    missing = TESS_STAGE_DECODE_ROWS;
    use_device(1);
    assert_ok(predict(&m, &got));
    assert_true(got == want);
    assert_non_null(
        strstr(lines, "the decoding runs on the CPU: other:0 has no stage 'decode.rows'"));
    golden_model_close(&m);
}

// Rows follow rows: where the device has no stages for that, the CPU does it, and a line says so.
static void states_may_stay_on_the_cpu(void **state)
{
    (void)state;
    golden_model m;
    double want;
    double got;
    open_model(&m);
    assert_ok(predict(&m, &want));
    missing = TESS_STAGE_DECODE_HMM_SMOOTH;
    use_device(0);
    assert_ok(predict(&m, &got));
    assert_true(got == want);
    assert_true(n_run > 0);
    assert_non_null(strstr(lines, "likelihoods on other:0; filter and smoother on cpu"));
    golden_model_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_with_all_stages_runs_them),
        cmocka_unit_test(a_missing_stage_is_named),
        cmocka_unit_test(a_found_device_is_left_alone),
        cmocka_unit_test(states_may_stay_on_the_cpu),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
