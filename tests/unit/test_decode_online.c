// The online decoder against the offline one, and what it promises besides.
#include "decode_hmm_dense.h"
#include "decode_online_play.h"
#include "systems/decode/states/hmm_model.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char CONT_FRAG[] = "decode/06_cont_frag";
static const char NON_LOCAL[] = "decode/07_non_local";

static tess_context *ctx; // with a helper
static tess_context *alone;

static tess_array array_of(float *data, int64_t n_row, int64_t width)
{
    tess_array array;
    const int64_t shape[2] = {n_row, width};
    assert_ok(tess_array_init(&array, data, TESS_F32, 2, shape));
    return array;
}

// Rows of the offline filter and of the online one.
static void compare_with_offline(const golden_model *m, const tess_decode_online *online)
{
    const tess_decode_detector_info *info = tess_decode_detector_get_info(m->detector);
    const int64_t n_row = m->observation.n_time;
    float *posterior = calloc((size_t)(n_row * info->n_state_bin), sizeof *posterior);
    float *ll = calloc((size_t)(n_row * info->n_ll), sizeof *ll);
    assert_true(posterior && ll);
    tess_array posterior_array = array_of(posterior, n_row, info->n_state_bin);
    tess_array ll_array = array_of(ll, n_row, info->n_ll);
    tess_decode_outputs outputs;
    tess_decode_outputs_init(&outputs, sizeof outputs);
    outputs.causal_posterior = &posterior_array;
    outputs.log_likelihood = &ll_array;
    assert_ok(tess_decode_predict(ctx, m->detector, &m->observation, NULL, &outputs));
    for (int64_t k = 0; k + 1 < n_row; k++) {
        tess_decode_online_bin bin;
        assert_ok(tess_decode_online_get(online, k, &bin, sizeof bin));
        for (int64_t i = 0; i < info->n_ll; i++) {
            const double got = (double)bin.log_likelihood[i];
            const double want = (double)ll[k * info->n_ll + i];
            assert_near(&got, &want, 1, 1e-4 + 1e-5 * (isfinite(want) ? fabs(want) : 0));
        }
        for (int64_t i = 0; i < info->n_state_bin; i++) {
            const double want = (double)posterior[k * info->n_state_bin + i];
            assert_near(&bin.posterior[i], &want, 1, 2e-5);
        }
    }
    free(posterior);
    free(ll);
}

static void it_equals_the_offline_filter(void **state)
{
    (void)state;
    golden_model m;
    online_open_model(&m, ctx, CONT_FRAG);
    golden_model_detector(&m, ctx, TESS_DECODE_MODEL_CONT_FRAG, NULL);
    int64_t n = 0;
    online_event *events = online_events(&m, &n);
    assert_true(n > 50);
    tess_decode_online *online = online_open(ctx, &m, 0);
    online_play(online, &m, events, n, 1);
    compare_with_offline(&m, online);
    tess_decode_online_stats stats;
    assert_ok(tess_decode_online_get_stats(online, &stats, sizeof stats));
    assert_int_equal(stats.n_spike, n);
    assert_int_equal(stats.n_late + stats.n_duplicate + stats.n_dropped, 0);
    assert_int_equal(stats.n_bin, m.observation.n_time - 1);
    int64_t n_latency = 0;
    for (int k = 0; k < TESS_DECODE_LATENCY_BINS; k++) {
        n_latency += stats.latency[k];
    }
    assert_int_equal(n_latency, stats.n_bin);
    tess_decode_online_destroy(online);
    free(events);
    golden_model_close(&m);
}

// Local states of one bin (std < 0) or many and the penalty follow the animal.
static void follow_the_animal(double std)
{
    golden_model m;
    online_open_model(&m, ctx, NON_LOCAL);
    tess_decode_detector_config scalars;
    tess_decode_detector_config_init(&scalars, sizeof scalars);
    scalars.local_position_std = std;
    scalars.non_local_position_penalty = 3;
    scalars.non_local_penalty_std = 5;
    golden_model_detector(&m, ctx, TESS_DECODE_MODEL_NON_LOCAL, &scalars);
    int64_t n = 0;
    online_event *events = online_events(&m, &n);
    tess_decode_online *online = online_open(ctx, &m, 0);
    const double begin = m.time[0];
    for (int64_t i = 0; i < m.training.position.n_sample; i++) {
        if (m.position_time[i] > begin - 0.1) {
            assert_ok(
                tess_decode_online_push_position(online, m.position_time[i], &m.position[i], 1));
        }
    }
    online_play(online, &m, events, n, 3);
    compare_with_offline(&m, online);
    const double two[2] = {0, 0};
    assert_fails(tess_decode_online_push_position(online, 1e9, two, 2), TESS_E_ARGUMENT,
                 "1 coordinates, got 2");
    assert_fails(tess_decode_online_push_position(online, begin, two, 1), TESS_E_ARGUMENT,
                 "does not come after");
    tess_decode_online_destroy(online);
    free(events);
    golden_model_close(&m);
}

static void positions_matter_where_they_should(void **state)
{
    (void)state;
    follow_the_animal(4);
    follow_the_animal(-1);
}

// With and without helpers, in small and large bursts, after a reset: the same bits.
static void a_replay_gives_the_same_bits(void **state)
{
    (void)state;
    golden_model m;
    online_open_model(&m, ctx, CONT_FRAG);
    golden_model_detector(&m, ctx, TESS_DECODE_MODEL_CONT_FRAG, NULL);
    int64_t n = 0;
    online_event *events = online_events(&m, &n);
    tess_decode_online *first = online_open(ctx, &m, 0);
    assert_true(first->n_helper > 0);
    online_play(first, &m, events, n, 1);
    tess_decode_online *second = online_open(alone, &m, 0);
    assert_int_equal(second->n_helper, 0);
    online_play(second, &m, events, n, 1);
    online_check_same(first, second);
    assert_ok(tess_decode_online_reset(second, m.time[0]));
    assert_int_equal(second->n_bin, 0);
    online_play(second, &m, events, n, n);
    online_check_same(first, second);
    tess_decode_online_destroy(first);
    tess_decode_online_destroy(second);
    free(events);
    golden_model_close(&m);
}

typedef struct producer {
    tess_decode_online *online;
    const online_event *events;
    int64_t n;
    int64_t electrode;
    _Atomic int64_t *n_pushed;
} producer;

static void *produce(void *arg)
{
    const producer *p = arg;
    for (int64_t i = 0; i < p->n; i++) {
        if (p->events[i].electrode == p->electrode) {
            if (tess_decode_online_push_spike(p->online, p->events[i].time, p->electrode,
                                              p->events[i].mark,
                                              p->events[i].n_feature) != TESS_OK) {
                return arg;
            }
            atomic_fetch_add(p->n_pushed, 1);
        }
    }
    return NULL;
}

// One producer per electrode beside the consumer; the delay is long enough for all of them.
static void producers_push_while_bins_close(void **state)
{
    (void)state;
    golden_model m;
    online_open_model(&m, ctx, CONT_FRAG);
    golden_model_detector(&m, ctx, TESS_DECODE_MODEL_CONT_FRAG, NULL);
    int64_t n = 0;
    online_event *events = online_events(&m, &n);
    tess_decode_online *want = online_open(alone, &m, 0);
    online_play(want, &m, events, n, 1);
    tess_decode_online *online = online_open(ctx, &m, 0);
    _Atomic int64_t n_pushed = 0;
    producer producers[GOLDEN_ELECTRODES];
    pthread_t threads[GOLDEN_ELECTRODES];
    for (int64_t e = 0; e < GOLDEN_ELECTRODES; e++) {
        producers[e] = (producer){online, events, n, e, &n_pushed};
        assert_int_equal(pthread_create(&threads[e], NULL, produce, &producers[e]), 0);
    }
    int64_t n_bin = 0;
    while (atomic_load(&n_pushed) < n) { // no bin is due yet
        assert_ok(tess_decode_online_advance(online, m.time[0], &n_bin));
        assert_int_equal(n_bin, 0);
    }
    for (int64_t e = 0; e < GOLDEN_ELECTRODES; e++) {
        void *failed = NULL;
        pthread_join(threads[e], &failed);
        assert_null(failed);
    }
    online_play(online, &m, events, 0, 1);
    online_check_same(want, online);
    tess_decode_online_destroy(online);
    tess_decode_online_destroy(want);
    free(events);
    golden_model_close(&m);
}

static void what_is_not_decoded_is_counted(void **state)
{
    (void)state;
    golden_model m;
    online_open_model(&m, ctx, CONT_FRAG);
    golden_model_detector(&m, ctx, TESS_DECODE_MODEL_CONT_FRAG, NULL);
    tess_decode_online_config config;
    tess_decode_online_config_init(&config, sizeof config);
    config.start_s = 10;
    config.delay_s = 0.004;
    config.max_pending = 3;
    config.n_history = 2;
    config.deadline_s = 0;
    tess_decode_online *online = NULL;
    assert_ok(tess_decode_online_create(ctx, m.detector, &config, &online));
    const float mark[4] = {100, 50, 20, 10};
    const float other[4] = {100, 50, 20, 11};
    int64_t n_bin = -1;
    tess_decode_online_bin bin;
    assert_fails(tess_decode_online_get(online, 0, &bin, sizeof bin), TESS_E_RANGE,
                 "no bin is finished");
    assert_ok(tess_decode_online_push_spike(online, 9.9, 0, mark, 4)); // late
    assert_ok(tess_decode_online_push_spike(online, 10.001, 0, mark, 4));
    assert_ok(tess_decode_online_push_spike(online, 10.001, 0, mark, 4)); // duplicate
    assert_ok(tess_decode_online_push_spike(online, 10.001, 0, other, 4));
    assert_ok(tess_decode_online_push_spike(online, 10.002, 0, mark, 4));
    assert_ok(tess_decode_online_push_spike(online, 10.003, 0, mark, 4)); // dropped
    assert_ok(tess_decode_online_push_spike(online, 10.003, 1, mark, 4));
    assert_ok(tess_decode_online_advance(online, 10.0099, &n_bin));
    assert_int_equal(n_bin, 0); // the delay is not over
    assert_ok(tess_decode_online_advance(online, 10.0101, &n_bin));
    assert_int_equal(n_bin, 1);
    assert_ok(tess_decode_online_get(online, 0, &bin, sizeof bin));
    assert_int_equal(bin.n_spike, 4);
    assert_int_equal(bin.n_electrode_active, 2);
    assert_ok(tess_decode_online_push_spike(online, 10.005, 1, mark, 4)); // late
    assert_ok(tess_decode_online_push_spike(online, 10.007, 1, mark, 4));
    assert_ok(tess_decode_online_advance(online, 10.1, &n_bin));
    assert_int_equal(n_bin, 15);
    assert_fails(tess_decode_online_get(online, 0, &bin, sizeof bin), TESS_E_RANGE,
                 "bins 14 to 15 are");
    tess_decode_online_stats stats;
    assert_ok(tess_decode_online_get_stats(online, &stats, sizeof stats));
    assert_int_equal(stats.n_late, 2);
    assert_int_equal(stats.n_duplicate, 1);
    assert_int_equal(stats.n_dropped, 1);
    assert_int_equal(stats.n_spike, 5);
    assert_int_equal(stats.n_deadline_miss, 16);
    assert_fails(tess_decode_online_push_spike(online, 10.2, 4, mark, 4), TESS_E_ARGUMENT,
                 "electrode: 4 is unknown; the model has 4");
    assert_fails(tess_decode_online_push_spike(online, 10.2, 1, mark, 3), TESS_E_ARGUMENT,
                 "electrode 1: fitted with 4 features, got 3");
    const float broken[4] = {1, 2, (float)NAN, 3};
    assert_fails(tess_decode_online_push_spike(online, 10.2, 1, broken, 4), TESS_E_ARGUMENT,
                 "feature 2 is nan");
    assert_fails(tess_decode_online_advance(online, (double)NAN, &n_bin), TESS_E_ARGUMENT, "now");
    tess_decode_online_destroy(online);
    tess_decode_online_destroy(NULL);
    golden_model_close(&m);
}

// After creation not one block is asked for.
static void nothing_is_allocated_while_it_runs(void **state)
{
    (void)state;
    unit_allocator counter;
    unit_allocator_init(&counter, 0);
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.n_thread = 2;
    config.allocator = &counter.table;
    tess_context *counted = NULL;
    assert_ok(tess_context_create(&config, &counted));
    golden_model m;
    online_open_model(&m, counted, NON_LOCAL);
    tess_decode_detector_config scalars;
    tess_decode_detector_config_init(&scalars, sizeof scalars);
    scalars.local_position_std = 0;
    scalars.non_local_position_penalty = 2;
    golden_model_detector(&m, counted, TESS_DECODE_MODEL_NON_LOCAL, &scalars);
    int64_t n = 0;
    online_event *events = online_events(&m, &n);
    tess_decode_online *online = online_open(counted, &m, 0);
    const long long before = atomic_load(&counter.n_alloc);
    for (int k = 0; k < 5; k++) {
        assert_ok(tess_decode_online_push_position(online, m.time[0] + k, &m.position[k], 1));
    }
    online_play(online, &m, events, n, 2);
    tess_decode_online_stats stats;
    assert_ok(tess_decode_online_get_stats(online, &stats, sizeof stats));
    assert_ok(tess_decode_online_reset(online, m.time[0]));
    assert_true(atomic_load(&counter.n_alloc) == before);
    tess_decode_online_destroy(online);
    free(events);
    golden_model_close(&m);
    tess_context_destroy(counted);
    assert_true(atomic_load(&counter.n_live) == 0);
}

// ContFrag whose transitions depend on one covariate, and its design: an intercept and a wave.
static double *open_varying(golden_model *m, tess_context *with)
{
    static const double coefficients[2 * 2 * 1] = {3, -1, 2, -4};
    tess_decode_detector_config scalars;
    tess_decode_detector_config_init(&scalars, sizeof scalars);
    scalars.n_coefficient = 2;
    scalars.coefficients = coefficients;
    online_open_model(m, with, CONT_FRAG);
    golden_model_detector(m, with, TESS_DECODE_MODEL_CONT_FRAG, &scalars);
    double *design = calloc((size_t)m->observation.n_time, 2 * sizeof *design);
    assert_non_null(design);
    for (int64_t k = 0; k < m->observation.n_time; k++) {
        design[2 * k] = 1;
        design[2 * k + 1] = sin(0.1 * (double)k);
    }
    return design;
}

// The closed bins against the filter stepped with transitions made here.
static void compare_with_steps(const golden_model *m, tess_context *with,
                               const tess_decode_online *online, const double *design)
{
    const tess_hmm_model *hmm = &m->detector->hmm->model;
    double *predicted = calloc((size_t)hmm->n_bin, sizeof *predicted);
    double *filtered = calloc((size_t)hmm->n_bin, sizeof *filtered);
    double *scratch = calloc((size_t)hmm->n_scratch, sizeof *scratch);
    assert_true(predicted && filtered && scratch);
    memcpy(predicted, m->detector->initial, (size_t)hmm->n_bin * sizeof *predicted);
    for (int64_t k = 0; k < online->n_bin; k++) {
        tess_decode_online_bin bin;
        double transition[4], states[2];
        const double odds[2] = {3 + 2 * design[2 * k + 1], -1 - 4 * design[2 * k + 1]};
        for (int i = 0; i < 2; i++) {
            transition[2 * i] = 1 / (1 + exp(-odds[i]));
            transition[2 * i + 1] = 1 / (1 + exp(odds[i]));
        }
        assert_ok(tess_decode_online_get(online, k, &bin, sizeof bin));
        tess_de_hmm_step(&with->cpu, m->detector->hmm, transition, bin.log_likelihood, predicted,
                         filtered, states, scratch);
        assert_true(fabs(states[0] - bin.state_probabilities[0]) < 1e-12);
    }
    free(predicted);
    free(filtered);
    free(scratch);
}

// Every bin with its own row, or all of them at once, is the offline filter with these rows; and
// not one block is asked for.
static void covariates_drive_the_transitions(void **state)
{
    (void)state;
    unit_allocator counter;
    unit_allocator_init(&counter, 0);
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.n_thread = 2;
    config.allocator = &counter.table;
    tess_context *counted = NULL;
    assert_ok(tess_context_create(&config, &counted));
    golden_model m;
    double *design = open_varying(&m, counted);
    int64_t n = 0, n_bin = 0;
    online_event *events = online_events(&m, &n);
    tess_decode_online *by_bin = online_open(counted, &m, 0);
    tess_decode_online *at_once = online_open(counted, &m, 0);
    const int64_t n_row = m.observation.n_time - 1;
    const double width = by_bin->config.bin_width_s;
    const long long before = atomic_load(&counter.n_alloc);
    for (int64_t i = 0; i < n; i++) {
        online_push(by_bin, &events[i]);
        online_push(at_once, &events[i]);
    }
    for (int64_t k = 0; k < n_row; k++) {
        const double due = m.time[0] + (double)(k + 1) * width + 1e-9;
        assert_ok(tess_decode_online_advance_with(by_bin, due, design + 2 * k, 1, 2, &n_bin));
        assert_int_equal(n_bin, 1);
    }
    const double end = m.time[n_row] + 1e-9;
    assert_ok(tess_decode_online_advance_with(at_once, end, design, n_row, 2, &n_bin));
    assert_int_equal(n_bin, n_row);
    assert_true(atomic_load(&counter.n_alloc) == before);
    online_check_same(by_bin, at_once);
    compare_with_steps(&m, counted, by_bin, design);
    tess_decode_online_destroy(by_bin);
    tess_decode_online_destroy(at_once);
    free(events);
    free(design);
    golden_model_close(&m);
    tess_context_destroy(counted);
}

static void wrong_covariates_close_no_bin(void **state)
{
    (void)state;
    golden_model m;
    double *design = open_varying(&m, alone);
    tess_decode_online *online = online_open(alone, &m, 0);
    const double soon = m.time[3] + 1e-9;
    int64_t n_bin = 0;
    assert_fails(tess_decode_online_advance(online, soon, &n_bin), TESS_E_ARGUMENT, "covariates");
    assert_ok(tess_decode_online_advance(online, m.time[0], &n_bin)); // nothing is due
    assert_fails(tess_decode_online_advance_with(online, soon, design, 2, 2, &n_bin), TESS_E_SHAPE,
                 "2 rows and 3 bins");
    assert_fails(tess_decode_online_advance_with(online, soon, design, 4, 2, &n_bin), TESS_E_SHAPE,
                 "4 rows and 3 bins");
    assert_fails(tess_decode_online_advance_with(online, soon, design, 0, 2, &n_bin), TESS_E_SHAPE,
                 "0 rows");
    assert_fails(tess_decode_online_advance_with(online, soon, design, 3, 3, &n_bin), TESS_E_SHAPE,
                 "3 columns");
    design[5] = (double)NAN;
    assert_fails(tess_decode_online_advance_with(online, soon, design, 3, 2, &n_bin),
                 TESS_E_NUMERIC, "row 2");
    assert_int_equal(online->n_bin, 0);
    assert_ok(tess_decode_online_advance_with(online, soon, design, 1, 2, &n_bin));
    assert_int_equal(n_bin, 3);
    tess_decode_online_destroy(online);
    golden_model_detector(&m, alone, TESS_DECODE_MODEL_CONT_FRAG, NULL);
    online = online_open(alone, &m, 0);
    assert_fails(tess_decode_online_advance_with(online, soon, design, 1, 2, &n_bin), TESS_E_SHAPE,
                 "depend on 0");
    tess_decode_online_destroy(online);
    free(design);
    golden_model_close(&m);
}

// Whichever allocation fails, creation says so and leaves nothing behind.
static void creation_survives_every_failure(void **state)
{
    (void)state;
    unit_allocator counter;
    unit_allocator_init(&counter, 0);
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.n_thread = 2;
    config.allocator = &counter.table;
    tess_context *counted = NULL;
    assert_ok(tess_context_create(&config, &counted));
    golden_model m;
    online_open_model(&m, counted, NON_LOCAL);
    tess_decode_detector_config scalars;
    tess_decode_detector_config_init(&scalars, sizeof scalars);
    scalars.local_position_std = 4;
    golden_model_detector(&m, counted, TESS_DECODE_MODEL_NON_LOCAL, &scalars);
    tess_decode_online_config small;
    tess_decode_online_config_init(&small, sizeof small);
    small.n_history = 1;
    small.learn = TESS_DECODE_LEARN_WINDOW;
    small.learn_capacity = 50;
    tess_decode_online *online = NULL;
    int n_failure = 0;
    tess_status status = TESS_E_MEMORY;
    while (status != TESS_OK) {
        counter.fail_at = atomic_load(&counter.n_alloc) + n_failure + 1;
        status = tess_decode_online_create(counted, m.detector, &small, &online);
        if (status != TESS_OK) {
            assert_int_equal(status, TESS_E_MEMORY);
            assert_null(online);
            n_failure++;
        }
        counter.fail_at = 0;
    }
    assert_true(n_failure > 20);
    tess_decode_online_destroy(online);
    golden_model_close(&m);
    tess_context_destroy(counted);
    assert_true(atomic_load(&counter.n_live) == 0);
}

static void unsuitable_models_are_refused(void **state)
{
    (void)state;
    golden_model m;
    online_open_model(&m, ctx, NON_LOCAL);
    golden_model_detector(&m, ctx, TESS_DECODE_MODEL_NON_LOCAL, NULL);
    tess_decode_online *online = NULL;
    tess_decode_online_config config;
    tess_decode_online_config_init(&config, sizeof config);
    config.max_pending = 0;
    assert_fails(tess_decode_online_create(ctx, m.detector, &config, &online), TESS_E_RANGE,
                 "max_pending");
    golden_model_close(&m);
}

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

static void credible_sets_are_the_smallest(void **state)
{
    (void)state;
    uint64_t random = 11;
    double x[300], sorted[300];
    for (int round = 0; round < 3000; round++) {
        const int64_t n = 1 + (int64_t)(dense_random(&random) * 299);
        for (int64_t i = 0; i < n; i++) { // whole numbers: sums are exact, equals abound
            x[i] = sorted[i] = floor(dense_random(&random) * (round % 3 ? 5 : 1000));
        }
        const double share = round % 7 == 0 ? 1 : 0.95;
        qsort(sorted, (size_t)n, sizeof *sorted, descending);
        double sum = 0, part = 0;
        for (int64_t i = 0; i < n; i++) {
            sum += sorted[i];
        }
        int64_t want = 0;
        while (want < n && part < sum * share) {
            part += sorted[want++];
        }
        assert_int_equal(tess_de_credible_size(x, n, share), want);
    }
}

static int open_context(void **state)
{
    (void)state;
    ctx = unit_context(2, 0);
    alone = unit_context(1, 0);
    return !ctx || !alone;
}

static int close_context(void **state)
{
    (void)state;
    tess_context_destroy(ctx);
    tess_context_destroy(alone);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_equals_the_offline_filter),
        cmocka_unit_test(positions_matter_where_they_should),
        cmocka_unit_test(a_replay_gives_the_same_bits),
        cmocka_unit_test(producers_push_while_bins_close),
        cmocka_unit_test(what_is_not_decoded_is_counted),
        cmocka_unit_test(nothing_is_allocated_while_it_runs),
        cmocka_unit_test(covariates_drive_the_transitions),
        cmocka_unit_test(wrong_covariates_close_no_bin),
        cmocka_unit_test(creation_survives_every_failure),
        cmocka_unit_test(unsuitable_models_are_refused),
        cmocka_unit_test(credible_sets_are_the_smallest),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
