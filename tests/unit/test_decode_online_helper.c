// Helpers of the online decoder: how many, asleep, held up and at the end.
#include "decode_online_play.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

static const char CONT_FRAG[] = "decode/06_cont_frag";

static tess_context *ctx; // with a helper
static tess_context *alone;

// One thread fewer than the context's: the consumer is one of them.
static void any_number_of_helpers_gives_the_same_bits(void **state)
{
    (void)state;
    const int32_t counts[] = {2, 3, 4, 5, 17};
    golden_model m;
    online_open_model(&m, ctx, CONT_FRAG);
    golden_model_detector(&m, ctx, TESS_DECODE_MODEL_CONT_FRAG, NULL);
    int64_t n = 0;
    online_event *events = online_events_of(&m, &n);
    tess_decode_online *want = online_open(alone, &m, 0);
    online_play(want, &m, events, n, 1);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        tess_context *some = unit_context(counts[k], 0);
        assert_non_null(some);
        const int32_t n_helper = counts[k] - 1;
        tess_decode_online *online = online_open(some, &m, 0);
        assert_int_equal(online->n_helper,
                         n_helper < GOLDEN_ELECTRODES ? n_helper : GOLDEN_ELECTRODES);
        online_play(online, &m, events, n, k % 2 ? 50 : 1);
        online_check_same_bins(want, online);
        tess_decode_online_destroy(online);
        tess_context_destroy(some);
    }
    tess_decode_online_destroy(want);
    free(events);
    golden_model_close(&m);
}

// A helper whose core was taken away, wherever it was: a signal's handler keeps it.
static atomic_int n_held;
static atomic_int n_to_free;

static void nap(void)
{
    const struct timespec t = {.tv_nsec = 100000};
    nanosleep(&t, NULL);
}

static void hold(int number)
{
    (void)number;
    atomic_fetch_add(&n_held, 1);
    while (atomic_load(&n_to_free) == 0) {
        nap();
    }
    atomic_fetch_sub(&n_to_free, 1);
    atomic_fetch_sub(&n_held, 1);
}

static void hold_helpers(const tess_decode_online *online)
{
    for (int32_t k = 0; k < online->n_helper; k++) {
        assert_int_equal(pthread_kill(online->helpers[k].thread, SIGUSR1), 0);
    }
    while (atomic_load(&n_held) < online->n_helper) {
        nap();
    }
}

static void free_helpers(const tess_decode_online *online)
{
    atomic_store(&n_to_free, online->n_helper);
    while (atomic_load(&n_held) > 0) {
        nap();
    }
}

// The consumer closes bins without its helpers, in whatever they were stopped, and what they finish
// late harms nothing.
static void a_starved_helper_is_not_waited_for(void **state)
{
    (void)state;
    const struct sigaction held = {.sa_handler = hold};
    struct sigaction before;
    assert_int_equal(sigaction(SIGUSR1, &held, &before), 0);
    tess_context *some = unit_context(3, 0);
    golden_model m;
    online_open_model(&m, ctx, CONT_FRAG);
    golden_model_detector(&m, ctx, TESS_DECODE_MODEL_CONT_FRAG, NULL);
    int64_t n = 0;
    online_event *events = online_events_of(&m, &n);
    tess_decode_online *want = online_open(alone, &m, 0);
    online_play(want, &m, events, n, 1);
    tess_decode_online *online = online_open(some, &m, 0);
    const int64_t stretch = n / (unit_is_quick() ? 6 : 40) + 1;
    int64_t n_bin = 0;
    for (int64_t i = 0; i < n; i++) {
        online_push(online, &events[i]);
        if (i % stretch == stretch / 3) {
            hold_helpers(online); // in the middle of this or that spike
        }
        if (i % 7 == 0) {
            assert_ok(tess_decode_online_advance(online, events[i].time, &n_bin));
        }
        if (i % stretch == stretch - 1) {
            free_helpers(online);
        }
    }
    if (atomic_load(&n_held) > 0) {
        free_helpers(online);
    }
    online_play(online, &m, events, 0, 1);
    online_check_same_bins(want, online);
    tess_decode_online_destroy(online);
    tess_decode_online_destroy(want);
    tess_context_destroy(some);
    free(events);
    golden_model_close(&m);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

// Helpers that sleep are woken by a spike, and the end finds them asleep, at work or not begun.
static void helpers_wake_and_end(void **state)
{
    (void)state;
    golden_model m;
    online_open_model(&m, ctx, CONT_FRAG);
    golden_model_detector(&m, ctx, TESS_DECODE_MODEL_CONT_FRAG, NULL);
    int64_t n = 0;
    online_event *events = online_events_of(&m, &n);
    for (int round = 0; round < (unit_is_quick() ? 10 : 60); round++) {
        tess_decode_online *online = online_open(ctx, &m, 0);
        online_helper *helper = &online->helpers[0];
        if (round % 3 == 1) {
            while (atomic_load(&helper->sleep) != ONLINE_NO_SPIKE) {
                nap();
            }
            online_push(online, &events[0]);
            const online_ring *ring = &online->rings[events[0].electrode];
            while (atomic_load(&ring->entries[0].note) == 0) {
                nap(); // nobody else would evaluate it
            }
        }
        // More than there are rows for.
        for (int64_t i = 1; round % 3 == 2 && i < n && i <= 3 * ONLINE_HELPER_ROWS; i++) {
            online_push(online, &events[i]);
        }
        if (round % 6 == 5) {
            while (atomic_load(&helper->sleep) != ONLINE_NO_ROW) {
                nap();
            }
        }
        tess_decode_online_destroy(online);
    }
    free(events);
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
        cmocka_unit_test(any_number_of_helpers_gives_the_same_bits),
        cmocka_unit_test(a_starved_helper_is_not_waited_for),
        cmocka_unit_test(helpers_wake_and_end),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
