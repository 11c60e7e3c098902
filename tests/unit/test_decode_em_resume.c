// An estimate stopped after any iteration, or killed anywhere, goes on to the same bits.
#include "decode_model.h"

#include "tessera/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_ITERATION = 4, KILLED = 9 };

static tess_context *ctx;

// What an estimate gives: numbers of the detector, evidence, rows.
typedef struct answer {
    double evidence[N_ITERATION];
    double transition[16];
    double *initial;
    double *states;
    double *posterior; // where rows are wanted
    double log_evidence;
    int64_t n_iteration;
    int64_t n_bin;
    int64_t n_time;
} answer;

static void free_answer(answer *a)
{
    free(a->initial);
    free(a->states);
    free(a->posterior);
}

static void assert_same(const answer *a, const answer *b)
{
    const size_t item = sizeof(double);
    assert_int_equal(a->n_iteration, b->n_iteration);
    assert_memory_equal(a->evidence, b->evidence, sizeof a->evidence);
    assert_memory_equal(a->transition, b->transition, sizeof a->transition);
    assert_memory_equal(a->initial, b->initial, (size_t)a->n_bin * item);
    assert_memory_equal(a->states, b->states, (size_t)a->n_time * 4 * item);
    assert_true(a->log_evidence == b->log_evidence);
    if (a->posterior) {
        assert_memory_equal(a->posterior, b->posterior, (size_t)(a->n_time * a->n_bin) * item);
    }
}

typedef struct calls {
    int64_t first; // iteration of the first call; -1: none came
    int64_t stop;  // after this one
} calls;

static int on_iteration(void *user, int64_t iteration, double log_evidence, double change)
{
    (void)log_evidence;
    (void)change;
    calls *c = user;
    c->first = c->first < 0 ? iteration : c->first;
    return iteration == c->stop;
}

static tess_decode_em_config config_for(calls *c)
{
    tess_decode_em_config config;
    tess_decode_em_config_init(&config, sizeof config);
    config.max_iterations = N_ITERATION;
    config.tolerance = 0;
    config.iteration = c ? on_iteration : NULL;
    config.user = c;
    config.checkpoint_dir = unit_path("work");
    config.checkpoint_every_s = 1000;
    return config;
}

static void open_model(golden_model *m, tess_context *own)
{
    golden_model_open(m, own, "decode/07_non_local", TESS_DECODE_FAST);
    golden_model_detector(m, own, TESS_DECODE_MODEL_NON_LOCAL, NULL);
}

// Of the allocator below, which ends the process: at an instant nobody can prepare for.
static long calls_left;
static long calls_of_em = -1;

// With a fresh model, as another process has it.
static tess_status estimate(tess_context *own, const tess_decode_em_config *config, int with_rows,
                            answer *a)
{
    golden_model m;
    open_model(&m, own);
    const tess_decode_detector_info *info = tess_decode_detector_get_info(m.detector);
    tess_array states;
    tess_array posterior;
    tess_decode_outputs outputs;
    memset(a, 0, sizeof *a);
    a->n_time = m.observation.n_time;
    a->n_bin = info->n_state_bin;
    a->initial = calloc((size_t)a->n_bin, sizeof(double));
    a->states = calloc((size_t)a->n_time * 4, sizeof(double));
    tess_decode_outputs_init(&outputs, sizeof outputs);
    assert_int_equal(info->n_state, 4);
    assert_ok(tess_array_init(&states, a->states, TESS_F64, 2, (const int64_t[]){a->n_time, 4}));
    outputs.acausal_state_probabilities = &states;
    if (with_rows) {
        a->posterior = calloc((size_t)(a->n_time * a->n_bin), sizeof(double));
        assert_ok(tess_array_init(&posterior, a->posterior, TESS_F64, 2,
                                  (const int64_t[]){a->n_time, a->n_bin}));
        outputs.causal_posterior = &posterior;
    }
    calls_left = calls_of_em;
    const tess_status status = tess_decode_em(own, m.detector, &m.observation, config, &outputs,
                                              a->evidence, &a->n_iteration);
    memcpy(a->transition, info->discrete_transition, sizeof a->transition);
    memcpy(a->initial, info->initial, (size_t)a->n_bin * sizeof(double));
    a->log_evidence = outputs.log_evidence;
    golden_model_close(&m);
    return status;
}

static void right_answer(int with_rows, answer *a)
{
    tess_decode_em_config config = config_for(NULL);
    config.checkpoint_dir = NULL;
    assert_ok(estimate(ctx, &config, with_rows, a));
    assert_int_equal(a->n_iteration, N_ITERATION);
}

static void stopped_after_every_iteration(void **state)
{
    (void)state;
    for (int with_rows = 0; with_rows < 2; with_rows++) {
        answer right;
        right_answer(with_rows, &right);
        for (int64_t stop = 0; stop < N_ITERATION; stop++) {
            calls c = {.first = -1, .stop = stop};
            answer got;
            tess_decode_em_config config = config_for(&c);
            assert_fails(estimate(ctx, &config, with_rows, &got), TESS_CANCELLED, "stopped after");
            free_answer(&got);
            assert_true(unit_exists(unit_path("work")));
            tess_context *other = unit_context((int32_t)stop % 3 + 1, 0);
            c = (calls){.first = -1, .stop = -1};
            config.resume = 1;
            assert_ok(estimate(other, &config, with_rows, &got));
            // The last M-step is done again: no checkpoint is kept between it and the end.
            assert_int_equal(c.first, stop + 1 < N_ITERATION ? stop + 1 : stop);
            assert_same(&got, &right);
            free_answer(&got);
            tess_context_destroy(other);
            assert_false(unit_exists(unit_path("work")));
        }
        free_answer(&right);
    }
}

static void a_finished_one_is_kept_until_it_is_cleared(void **state)
{
    (void)state;
    answer right;
    answer got;
    calls c = {.first = -1, .stop = -1};
    right_answer(0, &right);
    tess_decode_em_config config = config_for(&c);
    config.keep_finished = 1;
    config.resume = 1;
    for (int k = 0; k < 2; k++) {
        c.first = -1;
        assert_ok(estimate(ctx, &config, 0, &got));
        assert_int_equal(c.first, k == 0 ? 0 : N_ITERATION - 1);
        assert_same(&got, &right);
        free_answer(&got);
        assert_true(unit_exists(unit_path("work")));
    }
    assert_ok(tess_checkpoint_clear(ctx, unit_path("work")));
    assert_false(unit_exists(unit_path("work")));
    free_answer(&right);
}

static void others_are_refused(void **state)
{
    (void)state;
    answer got;
    calls c = {.first = -1, .stop = 1};
    const double stickiness[4] = {1, 1, 1, 2};
    tess_decode_em_config config = config_for(&c);
    assert_fails(estimate(ctx, &config, 0, &got), TESS_CANCELLED, "stopped after");
    free_answer(&got);
    assert_fails(estimate(ctx, &config, 0, &got), TESS_E_EXISTS,
                 "holds the checkpoint of an unfinished estimate");
    free_answer(&got);
    config.resume = 1;
    config.tolerance = 1e-3;
    assert_fails(estimate(ctx, &config, 0, &got), TESS_E_MISMATCH, "tolerance=0.001");
    free_answer(&got);
    config.tolerance = 0;
    config.stickiness = stickiness;
    assert_fails(estimate(ctx, &config, 0, &got), TESS_E_MISMATCH, "the priors differ");
    free_answer(&got);
    assert_ok(tess_checkpoint_clear(ctx, unit_path("work")));
}

static void *dying_alloc(void *user, size_t bytes, size_t alignment, tess_tag tag)
{
    (void)user;
    (void)tag;
    if (--calls_left == 0) {
        _exit(KILLED);
    }
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void dying_release(void *user, void *ptr, size_t bytes, tess_tag tag)
{
    (void)user;
    (void)bytes;
    (void)tag;
    free(ptr);
}

static int die_at(const tess_decode_em_config *config, long at)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        tess_context_config dying;
        const tess_allocator allocator = {.alloc = dying_alloc, .release = dying_release};
        tess_context *own = NULL;
        answer got;
        calls_left = -1;
        tess_context_config_init(&dying, sizeof dying);
        dying.allocator = &allocator;
        dying.n_thread = 1;
        if (tess_context_create(&dying, &own) != TESS_OK) {
            _exit(1);
        }
        calls_of_em = at;
        _exit(estimate(own, config, 0, &got) == TESS_OK ? 0 : 2);
    }
    int result = 0;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    assert_true(WEXITSTATUS(result) == 0 || WEXITSTATUS(result) == KILLED);
    return WEXITSTATUS(result) == KILLED;
}

static void killed_anywhere(void **state)
{
    (void)state;
    answer right;
    right_answer(0, &right);
    int n_resumed = 0;
    int is_killed = 1;
    const long step = unit_is_quick() ? 13 : 7;
    for (long at = 1; is_killed; at += step) {
        calls c = {.first = -1, .stop = -1};
        answer got;
        tess_decode_em_config config = config_for(NULL);
        config.checkpoint_every_s = 0;
        config.resume = 1;
        is_killed = die_at(&config, at);
        config.iteration = on_iteration;
        config.user = &c;
        assert_ok(estimate(ctx, &config, 0, &got));
        n_resumed += c.first > 0;
        assert_same(&got, &right);
        free_answer(&got);
        assert_false(unit_exists(unit_path("work")));
    }
    assert_true(n_resumed > 2);
    free_answer(&right);
}

static int open_context(void **state)
{
    (void)state;
    ctx = unit_context(2, 0);
    return 0;
}

static int close_context(void **state)
{
    (void)state;
    tess_context_destroy(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stopped_after_every_iteration),
        cmocka_unit_test(a_finished_one_is_kept_until_it_is_cleared),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(killed_anywhere),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
