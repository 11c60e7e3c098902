// Online decoders that learn: the same bits with any threads, nothing allocated.
#include "decode_hmm_dense.h"
#include "decode_online_play.h"
#include "systems/decode/online/learn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char CONT_FRAG[] = "decode/06_cont_frag";

static tess_context *ctx; // with a helper
static tess_context *alone;

static tess_decode_online *open_learning(tess_context *with, const golden_model *m, int32_t policy)
{
    const int64_t last = m->observation.n_time - 1;
    tess_decode_online_config config;
    tess_decode_online_config_init(&config, sizeof config);
    config.bin_width_s = (m->time[last] - m->time[0]) / (double)last;
    config.start_s = m->time[0];
    config.n_history = 1000;
    config.learn = policy;
    // Grow has room for all; the others have not, and logs overflow between refreshes.
    config.learn_capacity = policy == TESS_DECODE_LEARN_GROW ? 2000 : 300;
    config.learn_samples = 500;
    config.max_pending = 4;
    config.learn_refresh_s = 5 * config.bin_width_s;
    tess_decode_online *online = NULL;
    assert_ok(tess_decode_online_create(with, m->detector, &config, &online));
    return online;
}

// Decodes and learns the same spikes.
static void play_and_learn(tess_decode_online *online, const golden_model *m,
                           const online_event *events, int64_t n)
{
    int64_t n_bin = 0;
    int64_t sample = 0;
    while (m->position_time[sample] < m->time[0] - 0.1) {
        sample++;
    }
    for (int64_t i = 0; i < n; i++) {
        for (; sample < m->training.position.n_sample && m->position_time[sample] <= events[i].time;
             sample++) {
            assert_ok(tess_decode_online_learn_position(online, m->position_time[sample],
                                                        &m->position[sample], 1));
        }
        online_push(online, &events[i]);
        assert_ok(tess_decode_online_learn_spike(online, events[i].time, events[i].electrode,
                                                 events[i].mark, events[i].n_feature));
        assert_ok(tess_decode_online_advance(online, events[i].time, &n_bin));
    }
    assert_ok(
        tess_decode_online_advance(online, m->time[m->observation.n_time - 1] + 1e-9, &n_bin));
}

// With helpers and without them: the same bits, and they do change.
static void learning_gives_the_same_bits(void **state)
{
    (void)state;
    golden_model m;
    online_open_model(&m, ctx, CONT_FRAG);
    golden_model_detector(&m, ctx, TESS_DECODE_MODEL_CONT_FRAG, NULL);
    int64_t n = 0;
    online_event *events = online_events(&m, &n);
    for (int32_t policy = TESS_DECODE_LEARN_GROW; policy <= TESS_DECODE_LEARN_RESERVOIR; policy++) {
        tess_decode_online *helped = open_learning(ctx, &m, policy);
        tess_decode_online *lonely = open_learning(alone, &m, policy);
        assert_true(helped->n_helper > 0);
        play_and_learn(helped, &m, events, n);
        play_and_learn(lonely, &m, events, n);
        online_check_same(helped, lonely);
        tess_decode_online_learned learned;
        assert_ok(tess_decode_online_get_learned(helped, &learned, sizeof learned));
        assert_true(learned.stats.n_refresh > 3 && learned.stats.n_spike > 50);
        tess_decode_online_destroy(helped);
        tess_decode_online_destroy(lonely);
    }
    free(events);
    golden_model_close(&m);
}

// Bins go on being closed while nobody gets on with the model that was ordered.
static void bins_do_not_wait_for_a_refresh(void **state)
{
    (void)state;
    golden_model m;
    online_open_model(&m, ctx, CONT_FRAG);
    golden_model_detector(&m, ctx, TESS_DECODE_MODEL_CONT_FRAG, NULL);
    tess_decode_online *online = open_learning(ctx, &m, TESS_DECODE_LEARN_WINDOW);
    online_learner *learner = online->learner;
    const int64_t version = online->version;
    const double width = online->config.bin_width_s;
    int64_t n_bin = 0;
    assert_ok(tess_decode_online_learn_position(online, m.time[0], m.position, 1));
    assert_int_equal(atomic_exchange(&learner->is_held, 1), 0);
    for (int64_t k = 1; k < 10; k++) {
        assert_ok(tess_decode_online_advance(online, m.time[0] + (double)k * width + 1e-9, &n_bin));
        assert_int_equal(n_bin, 1);
        assert_int_equal(online->version, version);
    }
    assert_int_equal(learner->has_next, 1);
    assert_true(learner->n_done != learner->n_ordered);
    atomic_store(&learner->is_held, 0);
    assert_ok(tess_decode_online_advance(online, m.time[0] + 10 * width + 1e-9, &n_bin));
    assert_int_equal(online->version, version + 1);
    tess_decode_online_destroy(online);
    golden_model_close(&m);
}

// Taking away what was added leaves nothing, in any order.
static void exact_sums_forget(void **state)
{
    (void)state;
    uint64_t random = 3;
    double x[500];
    exact_sum sum = {{0}};
    double want = 0;
    for (int i = 0; i < 500; i++) {
        x[i] = exp(-110 * dense_random(&random) * dense_random(&random));
        tess_de_exact_add(&sum, x[i], 1);
        want += x[i];
    }
    const double all = tess_de_exact_value(&sum);
    assert_near(&all, &want, 1, 1e-12 * want);
    for (int i = 0; i < 500; i++) {
        tess_de_exact_add(&sum, x[i * 7 % 500], -1);
    }
    assert_true(tess_de_exact_value(&sum) == 0);
    tess_de_exact_add(&sum, 0x1p-150, 1);
    assert_true(tess_de_exact_value(&sum) == 0x1p-150);
    tess_de_exact_add(&sum, 1, 1);
    tess_de_exact_add(&sum, 0x1p-150, -1);
    assert_true(tess_de_exact_value(&sum) == 1);
}

static void count_event(void *payload, const tess_decode_online_event *event)
{
    ++*(int *)payload;
    assert_true(event->mass > 0.01);
}

static void fire_often(tess_decode_online *online, int *n_fired)
{
    tess_decode_online_trigger trigger;
    tess_decode_online_trigger_init(&trigger, sizeof trigger);
    trigger.state = 0;
    trigger.threshold = 0.01;
    trigger.n_average = 3;
    trigger.call = count_event;
    trigger.payload = n_fired;
    assert_ok(tess_decode_online_set_trigger(online, 0, &trigger));
}

// Reads whatever a user reads in an experiment.
static void look(tess_decode_online *online)
{
    tess_decode_online_bin bin;
    tess_decode_online_stats stats;
    tess_decode_online_learned learned;
    tess_decode_online_trigger_stats fired;
    assert_ok(tess_decode_online_get(online, online->n_bin - 1, &bin, sizeof bin));
    assert_ok(tess_decode_online_get_stats(online, &stats, sizeof stats));
    assert_ok(tess_decode_online_get_learned(online, &learned, sizeof learned));
    assert_ok(tess_decode_online_get_trigger_stats(online, 0, &fired, sizeof fired));
    assert_true(learned.stats.n_refresh > 3 && learned.stats.n_spike > 50);
    assert_true(fired.n_fired > 0);
}

// A block more after creation would be refused, whoever asks for it.
static void nothing_is_allocated_while_it_learns(void **state)
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
    online_open_model(&m, counted, CONT_FRAG);
    golden_model_detector(&m, counted, TESS_DECODE_MODEL_CONT_FRAG, NULL);
    const char *path = unit_path("online.state");
    int64_t n = 0;
    online_event *events = online_events(&m, &n);
    for (int32_t policy = TESS_DECODE_LEARN_GROW; policy <= TESS_DECODE_LEARN_RESERVOIR; policy++) {
        tess_decode_online *online = open_learning(counted, &m, policy);
        const long long made = atomic_load(&counter.n_alloc);
        int n_fired = 0;
        counter.fail_at = made + 1;
        fire_often(online, &n_fired);
        play_and_learn(online, &m, events, n);
        look(online);
        assert_true(n_fired > 0);
        assert_ok(tess_decode_online_refresh(online));
        assert_ok(tess_decode_online_set_frozen(online, 1));
        assert_ok(tess_decode_online_set_frozen(online, 0));
        assert_ok(tess_decode_online_snapshot(online, path, 1));
        assert_ok(tess_decode_online_restore(online, path));
        assert_ok(tess_decode_online_reset(online, m.time[0]));
        assert_true(atomic_load(&counter.n_alloc) == made);
        counter.fail_at = 0;
        tess_decode_online_destroy(online);
    }
    free(events);
    golden_model_close(&m);
    tess_context_destroy(counted);
    assert_true(atomic_load(&counter.n_live) == 0);
}

static void a_cpu_that_is_not_there_is_named(void **state)
{
    (void)state;
    golden_model m;
    online_open_model(&m, ctx, CONT_FRAG);
    golden_model_detector(&m, ctx, TESS_DECODE_MODEL_CONT_FRAG, NULL);
    tess_decode_online_config config;
    tess_decode_online_config_init(&config, sizeof config);
    config.helper_cpu = 65000;
    tess_decode_online *online = NULL;
    assert_fails(tess_decode_online_create(ctx, m.detector, &config, &online), TESS_E_ARGUMENT,
                 "cpu: helper 0 cannot run on CPU 65000");
    golden_model_close(&m);
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
        cmocka_unit_test(learning_gives_the_same_bits),
        cmocka_unit_test(bins_do_not_wait_for_a_refresh),
        cmocka_unit_test(exact_sums_forget),
        cmocka_unit_test(nothing_is_allocated_while_it_learns),
        cmocka_unit_test(a_cpu_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
