// A limit of a device's own memory: what counts, what is refused, and that no result depends on it.
#include "decode_model.h"

#include "base/status.h"
#include "runtime/context.h"
#include "runtime/device_memory.h"
#include "runtime/resident.h"
#include "stage/decode_gmm.h"
#include "stage/decode_joint.h"
#include "stage/decode_likelihood.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tess_context *ctx;
static uint64_t live_bytes; // on the device below
static uint64_t peak_bytes;
static int fails; // its memory is out

// A device with memory of its own, which happens to be the host's, and the CPU's stages.
static tess_backend other;
static tess_device device;

static tess_status other_alloc(tess_backend_device *unused, tess_space space, size_t bytes,
                               void **out)
{
    (void)unused;
    assert_int_equal(space, TESS_SPACE_DEVICE);
    *out = fails ? NULL : aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!*out) {
        return tess_error_set(TESS_E_MEMORY, "the driver has none");
    }
    live_bytes += bytes;
    peak_bytes = live_bytes > peak_bytes ? live_bytes : peak_bytes;
    return TESS_OK;
}

static void other_free(tess_backend_device *unused, tess_space space, void *data, size_t bytes)
{
    (void)unused;
    (void)space;
    live_bytes -= bytes;
    free(data);
}

static tess_status other_copy(tess_backend_queue *queue, void *to, tess_space to_space,
                              const void *from, tess_space from_space, size_t bytes)
{
    (void)queue;
    assert_true(to_space == TESS_SPACE_DEVICE || from_space == TESS_SPACE_DEVICE);
    memcpy(to, from, bytes);
    return TESS_OK;
}

static tess_status other_supports(tess_backend_device *unused, int32_t stage, const void *args)
{
    (void)unused;
    (void)args;
    const int has = stage == TESS_STAGE_DECODE_KDE || stage == TESS_STAGE_DECODE_ROWS ||
                    stage == TESS_STAGE_DECODE_JOINT || stage == TESS_STAGE_DECODE_GMM;
    return has ? TESS_OK : tess_error_set(TESS_E_UNSUPPORTED, "no such stage here");
}

// As much as would be useful, within the limit, but never less than a tile.
static size_t other_scratch(tess_backend_device *unused, int32_t stage, const void *args)
{
    enum { TILE_BYTES = 5000 };
    (void)unused;
    if (stage != TESS_STAGE_DECODE_KDE) {
        return 0;
    }
    const tess_stage_decode_kde *a = args;
    size_t bytes = TILE_BYTES;
    for (int64_t r = 0; r < a->n_range; r++) {
        bytes += (size_t)a->ranges[r].n_spike * 700;
    }
    const size_t most = a->scratch_limit > 0 ? a->scratch_limit : bytes;
    return bytes < most ? bytes : most > TILE_BYTES ? most : TILE_BYTES;
}

static int set_up(void **state)
{
    (void)state;
    unsetenv("TESSERA_DEVICE_MEMORY_LIMIT");
    assert_ok(tess_context_create(NULL, &ctx));
    other = *ctx->cpu.backend;
    other.name = "other";
    other.memory_alloc = other_alloc;
    other.memory_free = other_free;
    other.copy = other_copy;
    other.supports = other_supports;
    other.scratch_bytes = other_scratch;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ctx->device = &ctx->cpu;
    tess_context_destroy(ctx);
    assert_int_equal(live_bytes, 0);
    return 0;
}

static void use_device(uint64_t limit_bytes)
{
    device = ctx->cpu;
    device.backend = &other;
    device.shares_host_memory = false;
    snprintf(device.info.id, sizeof device.info.id, "other:0");
    ctx->device_budget.limit_bytes = limit_bytes;
    ctx->device_budget.origin = "option";
    device.budget = &ctx->device_budget;
    ctx->device = &device;
    peak_bytes = live_bytes;
}

static void a_limit_comes_from_what_is_free(void **state)
{
    (void)state;
    static const uint64_t gib = UINT64_C(1) << 30;
    const struct {
        uint64_t wished;
        const char *environment;
        uint64_t free_bytes;
        uint64_t limit;
        const char *origin;
    } cases[] = {
        {0, NULL, 100 * gib, 100 * gib - gib / 2, "free memory less a reserve"},
        {0, NULL, 800, 700, "free memory less a reserve"},
        {gib, NULL, 100 * gib, gib, "option"},
        {gib, "3G", 100 * gib, gib, "option"},
        {0, "3G", 100 * gib, 3 * gib, "TESSERA_DEVICE_MEMORY_LIMIT"},
        {200 * gib, NULL, 100 * gib, 100 * gib - gib / 2, "free memory less a reserve"},
        {0, NULL, 0, UINT64_MAX, "none"},
        {gib, NULL, 0, gib, "option"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        tess_device_budget budget;
        tess_device open = {.info.memory_free_bytes = cases[i].free_bytes};
        if (cases[i].environment) {
            setenv("TESSERA_DEVICE_MEMORY_LIMIT", cases[i].environment, 1);
        } else {
            unsetenv("TESSERA_DEVICE_MEMORY_LIMIT");
        }
        assert_ok(tess_device_budget_init(&budget, cases[i].wished));
        tess_device_budget_open(&budget, &open);
        assert_ptr_equal(open.budget, &budget);
        assert_true(budget.limit_bytes == cases[i].limit);
        assert_string_equal(budget.origin, cases[i].origin);
        assert_true(tess_device_left(&open) == cases[i].limit);
    }
    setenv("TESSERA_DEVICE_MEMORY_LIMIT", "much", 1);
    tess_context *none = NULL;
    assert_fails(tess_context_create(NULL, &none), TESS_E_CONFIG,
                 "TESSERA_DEVICE_MEMORY_LIMIT='much' is not a size");
    unsetenv("TESSERA_DEVICE_MEMORY_LIMIT");
    assert_true(tess_device_left(&ctx->cpu) == UINT64_MAX);
}

static void what_is_taken_counts(void **state)
{
    (void)state;
    tess_resident a;
    tess_resident b;
    use_device(10 << 20);
    assert_ok(tess_resident_create(&device, 6 << 20, &a));
    assert_int_equal(tess_device_left(&device), 4 << 20);
    assert_fails(tess_resident_create(&device, 5 << 20, &b), TESS_E_LIMIT,
                 "device memory limit of 10240K (option) is too small: other:0 takes 5120K beside "
                 "6144K in use; needs --device-memory-limit 11264K "
                 "(tessera.set_device_memory_limit)");
    assert_null(b.data);
    assert_int_equal(tess_device_left(&device), 4 << 20);
    assert_fails(tess_resident_create(&device, SIZE_MAX / 2, &b), TESS_E_LIMIT, "other:0 takes");
    fails = 1;
    assert_fails(tess_resident_create(&device, 1 << 20, &b), TESS_E_MEMORY, "the driver has none");
    fails = 0;
    assert_int_equal(tess_device_left(&device), 4 << 20);
    assert_ok(tess_resident_create(&device, 4 << 20, &b));
    assert_int_equal(tess_device_left(&device), 0);
    tess_resident_free(&a);
    tess_resident_free(&b);
    assert_int_equal(tess_device_left(&device), 10 << 20);
}

// Memory that is kept is found by its key and size, is there for others, and goes when it must.
static void what_is_kept_waits(void **state)
{
    (void)state;
    enum { MIB = 1 << 20, KEY = 7 };
    tess_resident a;
    bool is_same = true;
    use_device(16 * MIB);
    assert_ok(tess_resident_create_kept(&device, KEY, 2 * MIB, &a, &is_same));
    assert_false(is_same);
    void *const first = a.data;
    tess_resident_keep(&a, KEY);
    assert_null(a.data);
    assert_int_equal(live_bytes, 2 * MIB);
    assert_int_equal(tess_device_left(&device), 16 * MIB);
    // Another size, another key: others.
    assert_ok(tess_resident_create_kept(&device, KEY, MIB, &a, &is_same));
    assert_false(is_same);
    tess_resident_free(&a);
    assert_ok(tess_resident_create_kept(&device, KEY + 1, 2 * MIB, &a, &is_same));
    assert_false(is_same);
    tess_resident_free(&a);
    assert_ok(tess_resident_create_kept(&device, KEY, 2 * MIB, &a, &is_same));
    assert_true(is_same);
    assert_ptr_equal(a.data, first);
    assert_int_equal(tess_device_left(&device), 14 * MIB);
    tess_resident_keep(&a, KEY);
    // Room for something else.
    tess_resident large;
    assert_ok(tess_resident_create(&device, 15 * MIB, &large));
    assert_int_equal(live_bytes, 15 * MIB);
    tess_resident_free(&large);
    // A quarter of the limit at most, the newest of it.
    for (uint64_t key = 1; key <= 3; key++) {
        assert_ok(tess_resident_create_kept(&device, key, 2 * MIB, &a, &is_same));
        assert_false(is_same);
        tess_resident_keep(&a, key);
    }
    assert_int_equal(live_bytes, 4 * MIB);
    assert_ok(tess_resident_create_kept(&device, 2, 2 * MIB, &a, &is_same));
    assert_true(is_same);
    tess_resident_free(&a);
    assert_ok(tess_resident_create_kept(&device, 9, 5 * MIB, &a, &is_same));
    tess_resident_keep(&a, 9);
    assert_int_equal(live_bytes, 2 * MIB);
    tess_device_free_kept(&device);
    assert_int_equal(live_bytes, 0);
    assert_int_equal(tess_device_left(&device), 16 * MIB);
}

typedef struct answer {
    int64_t n;
    double *rows;
} answer;

static tess_status likelihood(const golden_model *m, answer *out)
{
    const tess_decode_encoding_info *info = tess_decode_encoding_get_info(m->encoding);
    const int64_t shape[2] = {m->observation.n_time, info->n_interior};
    tess_array array;
    out->n = shape[0] * shape[1];
    out->rows = calloc((size_t)out->n, sizeof *out->rows);
    assert_ok(tess_array_init(&array, out->rows, TESS_F64, 2, shape));
    return tess_decode_log_likelihood(ctx, m->encoding, &m->observation, 0, shape[0], &array, NULL);
}

// The limit that a message asks for.
static uint64_t limit_asked_for(void)
{
    static const char words[] = "needs --device-memory-limit ";
    const char *at = strstr(tess_last_error(), words);
    assert_non_null(at);
    unsigned long long number = 0;
    char unit = 0;
    assert_int_equal(sscanf(at + sizeof words - 1, "%llu%c", &number, &unit), 2);
    return (uint64_t)number << (unit == 'K' ? 10 : 20);
}

static void no_limit_changes_a_bit(void **state)
{
    (void)state;
    golden_model m;
    answer want;
    ctx->device = &ctx->cpu;
    golden_model_open(&m, ctx, "decode/06_cont_frag", TESS_DECODE_EXACT);
    assert_ok(likelihood(&m, &want));
    answer got;
    use_device(1000);
    assert_fails(likelihood(&m, &got), TESS_E_LIMIT, "is too small: other:0 needs");
    free(got.rows);
    const uint64_t least = limit_asked_for();
    assert_int_equal(live_bytes, 0);
    use_device(least - 1024);
    assert_fails(likelihood(&m, &got), TESS_E_LIMIT, "other:0 needs");
    free(got.rows);
    assert_true(limit_asked_for() == least);
    for (uint64_t limit = least; limit < UINT64_C(1) << 40; limit *= limit < 16 * least ? 2 : 64) {
        use_device(limit);
        for (int repeat = 0; repeat < 2; repeat++) {
            assert_ok(likelihood(&m, &got));
            assert_true(peak_bytes <= limit);
            assert_memory_equal(got.rows, want.rows, (size_t)want.n * sizeof *want.rows);
            free(got.rows);
        }
    }
    assert_true(live_bytes > 0); // the model stays
    free(want.rows);
    golden_model_close(&m);
    assert_int_equal(live_bytes, 0);
}

// Mixtures: the rows of the device add in f64 what the CPU adds one by one.
static void mixtures_do_not_depend_on_it_either(void **state)
{
    (void)state;
    golden_model m;
    answer want;
    answer first;
    ctx->device = &ctx->cpu;
    golden_model_open(&m, ctx, "decode/06_cont_frag", TESS_DECODE_EXACT);
    tess_decode_encoding_destroy(m.encoding);
    tess_decode_encoding_config config;
    tess_decode_encoding_config_init(&config, sizeof config);
    config.algorithm = TESS_DECODE_CLUSTERLESS_GMM;
    config.mode = TESS_DECODE_EXACT;
    config.gmm_components_joint = 9;
    assert_ok(tess_decode_encoding_create(ctx, m.env, &m.training, &config, &m.encoding));
    assert_ok(likelihood(&m, &want));
    use_device(UINT64_C(1) << 40);
    assert_ok(likelihood(&m, &first));
    assert_true(peak_bytes > 0);
    assert_int_equal(live_bytes, 0);
    for (int64_t i = 0; i < want.n; i++) {
        assert_true(fabs(first.rows[i] - want.rows[i]) <= 1e-12 * fabs(want.rows[i]));
    }
    const uint64_t most = peak_bytes;
    for (uint64_t limit = most; limit > most / 3; limit -= most / 8) {
        answer got;
        use_device(limit);
        assert_ok(likelihood(&m, &got));
        assert_true(peak_bytes <= limit);
        assert_memory_equal(got.rows, first.rows, (size_t)first.n * sizeof *first.rows);
        free(got.rows);
    }
    answer none;
    use_device(1000);
    assert_fails(likelihood(&m, &none), TESS_E_LIMIT, "is too small: other:0 takes");
    assert_int_equal(live_bytes, 0);
    free(none.rows);
    free(first.rows);
    free(want.rows);
    golden_model_close(&m);
}

static void predict(const golden_model *m, int64_t n_chunk, double *posterior, double *states,
                    double *evidence)
{
    const tess_decode_detector_info *info = tess_decode_detector_get_info(m->detector);
    const int64_t n_time = m->observation.n_time;
    const int64_t shape[2] = {n_time, info->n_state_bin};
    const int64_t state_shape[2] = {n_time, info->n_state};
    tess_array rows;
    tess_array state_rows;
    tess_decode_outputs outputs;
    tess_decode_predict_config config;
    assert_ok(tess_array_init(&rows, posterior, TESS_F64, 2, shape));
    assert_ok(tess_array_init(&state_rows, states, TESS_F64, 2, state_shape));
    tess_decode_outputs_init(&outputs, sizeof outputs);
    tess_decode_predict_config_init(&config, sizeof config);
    outputs.acausal_posterior = &rows;
    outputs.acausal_state_probabilities = &state_rows;
    config.n_chunk = n_chunk;
    assert_ok(tess_decode_predict(ctx, m->detector, &m->observation, &config, &outputs));
    *evidence = outputs.log_evidence;
}

// The likelihood of the next chunk is made while this one is filtered.
static void nor_does_a_prediction_on_the_way(void **state)
{
    (void)state;
    static const int64_t n_chunks[] = {1, 2, 3, 7, 40};
    golden_model m;
    ctx->device = &ctx->cpu;
    golden_model_open(&m, ctx, "decode/06_cont_frag", TESS_DECODE_EXACT);
    golden_model_detector(&m, ctx, TESS_DECODE_MODEL_CONT_FRAG, NULL);
    const tess_decode_detector_info *info = tess_decode_detector_get_info(m.detector);
    const size_t n = (size_t)(m.observation.n_time * info->n_state_bin);
    double *want = calloc(n, sizeof *want);
    double *got = calloc(n, sizeof *got);
    double *states = calloc(n, sizeof *states);
    double want_evidence;
    double evidence;
    predict(&m, 1, want, states, &want_evidence);
    for (size_t i = 0; i < ARRAY_LEN(n_chunks); i++) {
        use_device(UINT64_C(1) << 40);
        memset(got, 0xff, n * sizeof *got);
        predict(&m, n_chunks[i], got, states, &evidence);
        assert_memory_equal(got, want, n * sizeof *got);
        assert_true(evidence == want_evidence);
    }
    free(want);
    free(got);
    free(states);
    golden_model_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_comes_from_what_is_free),
        cmocka_unit_test(what_is_taken_counts),
        cmocka_unit_test(what_is_kept_waits),
        cmocka_unit_test(no_limit_changes_a_bit),
        cmocka_unit_test(mixtures_do_not_depend_on_it_either),
        cmocka_unit_test(nor_does_a_prediction_on_the_way),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
