// Predictions on a device with memory of its own: the CPU's bits, and what stays there.
#include "decode_device.h"
#include "decode_model.h"
#include "runtime/group.h"
#include "tessera/device_array.h"

#include <stdlib.h>
#include <string.h>

static tess_context *ctx;

enum { ACAUSAL, ACAUSAL_STATES, CAUSAL, CAUSAL_STATES, PREDICTIVE, PREDICTIVE_STATES, LL, N_ARRAY };
enum { ALL = (1 << N_ARRAY) - 1 };

// Room for all outputs of a detector, some of it on the device.
typedef struct outputs {
    tess_decode_outputs out;
    tess_array arrays[N_ARRAY];
    int64_t *path;
} outputs;

static void open_outputs(outputs *o, const golden_model *m, unsigned which, unsigned there)
{
    const tess_decode_detector_info *info = tess_decode_detector_get_info(m->detector);
    const int64_t bins = info->n_state_bin;
    const int64_t widths[N_ARRAY] = {bins, info->n_state, bins,      info->n_state,
                                     bins, info->n_state, info->n_ll};
    const int64_t n_time = m->observation.n_time;
    memset(o, 0, sizeof *o);
    tess_decode_outputs_init(&o->out, sizeof o->out);
    tess_array **at[N_ARRAY] = {
        &o->out.acausal_posterior,    &o->out.acausal_state_probabilities,
        &o->out.causal_posterior,     &o->out.causal_state_probabilities,
        &o->out.predictive_posterior, &o->out.predictive_state_probabilities,
        &o->out.log_likelihood};
    for (int i = 0; i < N_ARRAY; i++) {
        const int64_t shape[2] = {n_time, widths[i]};
        if (there >> i & 1) {
            assert_ok(tess_device_array_create(ctx, TESS_F64, 2, shape, &o->arrays[i]));
        } else {
            void *data = calloc((size_t)(shape[0] * shape[1]), sizeof(double));
            assert_ok(tess_array_init(&o->arrays[i], data, TESS_F64, 2, shape));
        }
        *at[i] = which >> i & 1 ? &o->arrays[i] : NULL;
    }
    o->path = calloc((size_t)n_time, sizeof *o->path);
    o->out.most_likely_bin = which >> N_ARRAY & 1 ? o->path : NULL;
}

static void close_outputs(outputs *o)
{
    for (int i = 0; i < N_ARRAY; i++) {
        if (o->arrays[i].space == TESS_SPACE_DEVICE) {
            tess_device_array_destroy(ctx, &o->arrays[i]);
        } else {
            free(o->arrays[i].data);
        }
    }
    free(o->path);
}

static void assert_same(const outputs *o, unsigned which, const outputs *right)
{
    for (int i = 0; i < N_ARRAY; i++) {
        const size_t bytes = (size_t)tess_array_items(&o->arrays[i]) * sizeof(double);
        void *here = malloc(bytes);
        if (o->arrays[i].space == TESS_SPACE_DEVICE) {
            assert_ok(tess_device_array_read(ctx, &o->arrays[i], here));
        } else {
            memcpy(here, o->arrays[i].data, bytes);
        }
        if (which >> i & 1) {
            assert_memory_equal(here, right->arrays[i].data, bytes);
        }
        free(here);
    }
    assert_memory_equal(&o->out.log_evidence, &right->out.log_evidence, sizeof(double));
    assert_int_equal(o->out.n_impossible, right->out.n_impossible);
    assert_int_equal(o->out.likelihood.n_floored, right->out.likelihood.n_floored);
    if (which >> N_ARRAY & 1) {
        assert_memory_equal(o->path, right->path, (size_t)o->arrays[0].shape[0] * sizeof *o->path);
    }
}

static void predict_there(const golden_model *m, unsigned which, unsigned there, int64_t n_chunk,
                          const outputs *right)
{
    outputs o;
    tess_decode_predict_config config;
    tess_decode_predict_config_init(&config, sizeof config);
    config.n_chunk = n_chunk;
    open_outputs(&o, m, which, there);
    assert_ok(tess_decode_predict(ctx, m->detector, &m->observation, &config, &o.out));
    assert_same(&o, which, right);
    close_outputs(&o);
}

// All results there, some, or one that makes rows be filtered there; whatever fits.
static void check_model(const golden_model *m)
{
    static const unsigned selections[][2] = {
        {ALL, ALL},
        {ALL, 1u << CAUSAL_STATES},
        {ALL | 1u << N_ARRAY, 1u << ACAUSAL | 1u << CAUSAL_STATES},
        {1u << ACAUSAL | 1u << ACAUSAL_STATES, 1u << ACAUSAL_STATES},
        {1u << ACAUSAL, 1u << ACAUSAL},
        {1u << CAUSAL | 1u << ACAUSAL, 1u << CAUSAL},
        {1u << CAUSAL, 1u << CAUSAL},
        {1u << PREDICTIVE | 1u << LL, 1u << PREDICTIVE | 1u << LL},
    };
    static const uint64_t limits[] = {UINT64_C(1) << 40, UINT64_C(64) << 20};
    outputs right;
    ctx->device = &ctx->cpu;
    open_outputs(&right, m, ALL | 1u << N_ARRAY, 0);
    assert_ok(tess_decode_predict(ctx, m->detector, &m->observation, NULL, &right.out));
    for (size_t k = 0; k < ARRAY_LEN(limits); k++) {
        for (size_t i = 0; i < ARRAY_LEN(selections); i++) {
            for (int64_t n_chunk = 0; n_chunk <= 7; n_chunk += 7) {
                (void)decode_device_use(ctx, limits[k]);
                predict_there(m, selections[i][0], selections[i][1], n_chunk, &right);
            }
        }
    }
    ctx->device = &ctx->cpu;
    close_outputs(&right);
}

static void every_result_has_the_bits_of_the_cpu(void **state)
{
    (void)state;
    golden_model m;
    golden_model_open(&m, ctx, "decode/06_cont_frag", TESS_DECODE_EXACT);
    golden_model_detector(&m, ctx, TESS_DECODE_MODEL_CONT_FRAG, NULL);
    check_model(&m);
    golden_model_close(&m);
}

static void modifiers_and_missing_rows_are_made_there(void **state)
{
    (void)state;
    golden_model m;
    tess_decode_detector_config scalars[3];
    golden_model_open(&m, ctx, "decode/07_non_local", TESS_DECODE_EXACT);
    uint8_t *is_missing = calloc((size_t)m.observation.n_time, 1);
    for (int64_t t = 0; t < m.observation.n_time; t++) {
        is_missing[t] = t % 5 == 2;
    }
    for (int i = 0; i < 3; i++) {
        tess_decode_detector_config_init(&scalars[i], sizeof *scalars);
    }
    scalars[1].non_local_position_penalty = 3;
    scalars[1].non_local_penalty_std = 6;
    scalars[2].local_position_std = 4;
    for (int i = 0; i < 3; i++) {
        m.observation.is_missing = i == 0 ? NULL : is_missing;
        golden_model_detector(&m, ctx, TESS_DECODE_MODEL_NON_LOCAL, &scalars[i]);
        check_model(&m);
    }
    golden_model_close(&m);
    free(is_missing);
}

// With all results there nothing as large as rows comes down, nor goes up.
static void rows_stay(void **state)
{
    (void)state;
    golden_model m;
    outputs o;
    golden_model_open(&m, ctx, "decode/06_cont_frag", TESS_DECODE_EXACT);
    golden_model_detector(&m, ctx, TESS_DECODE_MODEL_CONT_FRAG, NULL);
    const tess_decode_detector_info *info = tess_decode_detector_get_info(m.detector);
    const decode_device *device = decode_device_use(ctx, UINT64_C(1) << 40);
    const unsigned wanted = 1u << ACAUSAL | 1u << ACAUSAL_STATES;
    open_outputs(&o, &m, wanted, wanted);
    assert_ok(tess_decode_predict(ctx, m.detector, &m.observation, NULL, &o.out));
    const uint64_t up = device->up_bytes;
    const uint64_t down = device->down_bytes;
    const uint64_t held = device->live_bytes;
    assert_ok(tess_decode_predict(ctx, m.detector, &m.observation, NULL, &o.out));
    const uint64_t ll_bytes = (uint64_t)(m.observation.n_time * info->n_ll) * sizeof(double);
    assert_true(device->down_bytes - down < ll_bytes / 4);
    assert_true(device->up_bytes - up < up); // the model went up before
    assert_int_equal(device->live_bytes, held);
    close_outputs(&o);
    ctx->device = &ctx->cpu;
    golden_model_close(&m);
    assert_int_equal(device->live_bytes, 0);
}

static void what_cannot_stay_is_refused(void **state)
{
    (void)state;
    golden_model m;
    outputs o;
    golden_model_open(&m, ctx, "decode/06_cont_frag", TESS_DECODE_EXACT);
    golden_model_detector(&m, ctx, TESS_DECODE_MODEL_CONT_FRAG, NULL);
    (void)decode_device_use(ctx, UINT64_C(1) << 40);
    open_outputs(&o, &m, 1u << ACAUSAL, 1u << ACAUSAL);
    o.arrays[ACAUSAL].dtype = TESS_F32;
    assert_fails(tess_decode_predict(ctx, m.detector, &m.observation, NULL, &o.out), TESS_E_DTYPE,
                 "acausal_posterior: items are f32; on a device they must be f64");
    o.arrays[ACAUSAL].dtype = TESS_F64;
    o.arrays[ACAUSAL].device = 3;
    assert_fails(tess_decode_predict(ctx, m.detector, &m.observation, NULL, &o.out), TESS_E_SPACE,
                 "acausal_posterior: is not in the memory of other:0");
    o.arrays[ACAUSAL].device = 0;
    tess_decode_predict_config config;
    tess_decode_predict_config_init(&config, sizeof config);
    tess_array given = o.arrays[LL];
    given.space = TESS_SPACE_DEVICE;
    config.log_likelihood = &given;
    assert_fails(tess_decode_predict(ctx, m.detector, &m.observation, &config, &o.out),
                 TESS_E_SPACE, "given log_likelihood: must be in host memory");
    double evidence[3];
    int64_t n_iteration = 0;
    tess_decode_em_config em;
    tess_decode_em_config_init(&em, sizeof em);
    em.max_iterations = 3;
    assert_fails(
        tess_decode_em(ctx, m.detector, &m.observation, &em, &o.out, evidence, &n_iteration),
        TESS_E_SPACE, "those of an estimate must be in host memory");
    ctx->device = &ctx->cpu;
    assert_fails(tess_decode_predict(ctx, m.detector, &m.observation, NULL, &o.out), TESS_E_SPACE,
                 "acausal_posterior: is not in the memory of cpu");
    (void)decode_device_use(ctx, UINT64_C(1) << 40);
    close_outputs(&o);
    ctx->device = &ctx->cpu;
    golden_model_close(&m);
}

static int set_up(void **state)
{
    (void)state;
    if (tess_context_create(NULL, &ctx) != TESS_OK) {
        return -1;
    }
    ctx->device = &ctx->cpu; // whatever TESSERA_DEVICE says: the device here is one of the test's
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ctx->device = &ctx->cpu;
    tess_context_destroy(ctx);
    return 0;
}

static const tess_backend *first_backend;
static _Atomic int64_t n_sent; // copies from device to device

static tess_status counted_copy(tess_backend_queue *queue, void *to, tess_space to_space,
                                const void *from, tess_space from_space, size_t bytes)
{
    n_sent += to_space == TESS_SPACE_DEVICE && from_space == TESS_SPACE_DEVICE;
    return first_backend->copy(queue, to, to_space, from, from_space, bytes);
}

// Two devices compute rows of the likelihood, one of them filters.
static void rows_of_two_devices_meet_on_the_one_that_filters(void **state)
{
    (void)state;
    golden_model m;
    outputs right;
    golden_model_open(&m, ctx, "decode/06_cont_frag", TESS_DECODE_EXACT);
    golden_model_detector(&m, ctx, TESS_DECODE_MODEL_CONT_FRAG, NULL);
    assert_true(m.observation.n_time >= 128);
    open_outputs(&right, &m, ALL, 0);
    assert_ok(tess_decode_predict(ctx, m.detector, &m.observation, NULL, &right.out));
    decode_device *first = decode_device_use(ctx, UINT64_C(1) << 40);
    tess_device second = first->device;
    tess_backend table = *first->device.backend;
    tess_group group = {.n = 2, .devices = {&first->device, &second}};
    first_backend = first->device.backend;
    table.copy = counted_copy;
    second.backend = &table;
    second.member = 1;
    assert_ok(table.queue_create(second.handle, &second.queue));
    ctx->group = &group;
    n_sent = 0;
    predict_there(&m, ALL, 1u << CAUSAL_STATES, 1, &right);
    assert_true(n_sent > 0);
    n_sent = 0;
    predict_there(&m, ALL, ALL, 0, &right);
    assert_true(n_sent > 0);
    close_outputs(&right);
    golden_model_close(&m);
    ctx->group = NULL;
    ctx->device = &ctx->cpu;
    table.queue_destroy(second.queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_result_has_the_bits_of_the_cpu, set_up, tear_down),
        cmocka_unit_test_setup_teardown(modifiers_and_missing_rows_are_made_there, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(rows_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_stay_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_of_two_devices_meet_on_the_one_that_filters, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
