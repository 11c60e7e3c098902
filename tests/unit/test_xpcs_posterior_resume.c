// Sampling that was stopped anywhere goes on to the same bytes.
#include "xpcs_posterior_fixture.h"

#include "tessera/run.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_DRAW = 30, N_WARMUP = 60, KILLED = 9 };

static void set_sizes(golden_fit *f)
{
    f->config.n_draw = N_DRAW;
    f->config.n_warmup = N_WARMUP;
    f->config.n_chain = 3;
}

static void assert_same_draws(const tess_xpcs_posterior *x, const tess_xpcs_posterior *y)
{
    const tess_xpcs_posterior_info *a = tess_xpcs_posterior_get_info(x);
    const tess_xpcs_posterior_info *b = tess_xpcs_posterior_get_info(y);
    const size_t n = (size_t)(a->n_chain * a->n_draw);
    const size_t item = sizeof(double);
    assert_int_equal(a->n_chain * a->n_draw, b->n_chain * b->n_draw);
    assert_memory_equal(a->theta, b->theta, n * (size_t)a->n_param * item);
    assert_memory_equal(a->noise, b->noise, n * item);
    assert_memory_equal(a->energy, b->energy, n * item);
    assert_memory_equal(a->contrast, b->contrast, n * (size_t)a->n_angle * item);
    assert_memory_equal(a->offset, b->offset, n * (size_t)a->n_angle * item);
    assert_memory_equal(a->outside_angle, b->outside_angle, (size_t)a->n_angle * item);
    assert_int_equal(a->n_evaluation, b->n_evaluation);
    assert_string_equal(a->identity, b->identity);
}

typedef struct stopper {
    tess_context *ctx;
    int64_t after; // calls
    int64_t n_call;
} stopper;

static int stop(void *user, const tess_progress *progress)
{
    stopper *s = user;
    assert_string_equal(progress->unit, "draws");
    assert_true(progress->done <= progress->total);
    s->n_call++;
    return s->n_call > s->after;
}

// Told to stop by the callback again and again, with threads that differ.
static void stopped_draws_go_on(void **state)
{
    (void)state;
    golden g;
    golden_fit f;
    tess_xpcs_posterior *whole = NULL;
    tess_xpcs_posterior *parts = NULL;
    char folder[] = "/tmp/tessera-sampleXXXXXX";
    assert_non_null(mkdtemp(folder));
    golden_open(&g, "xpcs/posterior_laminar");
    golden_fit_open(&g, &f);
    set_sizes(&f);
    golden_sample(&g, &f, &whole);
    f.config.checkpoint_dir = folder;
    f.config.resume = 1;
    tess_context *first = g.ctx;
    int n_stop = 0;
    for (tess_status status = TESS_CANCELLED; status == TESS_CANCELLED; n_stop++) {
        stopper s = {.after = n_stop < 3 ? 0 : 2}; // the first call comes at once, however fast
        tess_context_config context;
        tess_context_config_init(&context, sizeof context);
        context.n_thread = 1 + n_stop % 3;
        context.progress = stop;
        context.progress_user = &s;
        assert_true(n_stop < 200);
        assert_ok(tess_context_create(&context, &g.ctx));
        s.ctx = g.ctx;
        f.config.checkpoint_every_s = n_stop % 2 == 0 ? 60 : 0;
        status = tess_xpcs_sample(g.ctx, g.data, &g.model, f.fit, &f.fit_config, &f.config, &parts);
        assert_true(status == TESS_OK || status == TESS_CANCELLED);
        if (status == TESS_OK) {
            assert_true(tess_xpcs_posterior_get_info(parts)->resumed);
            assert_same_draws(whole, parts);
            tess_xpcs_posterior_destroy(parts);
        }
        tess_context_destroy(g.ctx);
    }
    g.ctx = first;
    assert_true(n_stop > 2);
    assert_int_not_equal(access(folder, F_OK), 0); // nothing is left
    tess_xpcs_posterior_destroy(whole);
    golden_fit_close(&f);
    golden_close(&g);
}

static int stop_in_next_round(void *user, const tess_progress *progress)
{
    (void)progress;
    tess_context_cancel(((stopper *)user)->ctx);
    return 0;
}

// Stopped in the pass of every other round, when paths on a surrogate have ended and nothing has
// told yet whether chains go there.
static void rounds_that_were_stopped_are_made_again(void **state)
{
    (void)state;
    golden g;
    golden_fit f;
    tess_xpcs_posterior *whole = NULL;
    tess_xpcs_posterior *parts = NULL;
    char folder[] = "/tmp/tessera-sampleXXXXXX";
    assert_non_null(mkdtemp(folder));
    golden_open(&g, "xpcs/posterior_laminar");
    golden_fit_open(&g, &f);
    f.config.n_draw = 10;
    f.config.n_warmup = 40;
    f.config.n_chain = 8;
    f.config.max_depth = 1; // few rounds, as each is stopped
    f.config.surrogate = 2;
    golden_sample(&g, &f, &whole);
    assert_true(tess_xpcs_posterior_get_info(whole)->has_surrogate);
    f.config.checkpoint_dir = folder;
    f.config.resume = 1;
    tess_context *first = g.ctx;
    tess_status status = TESS_CANCELLED;
    int n_stop = 0;
    for (; status == TESS_CANCELLED; n_stop++) {
        stopper s = {0};
        tess_context_config context;
        tess_context_config_init(&context, sizeof context);
        context.progress = stop_in_next_round; // told at once, then every 50 ms
        context.progress_user = &s;
        assert_ok(tess_context_create(&context, &g.ctx));
        s.ctx = g.ctx;
        status = tess_xpcs_sample(g.ctx, g.data, &g.model, f.fit, &f.fit_config, &f.config, &parts);
        assert_true(n_stop < 2000);
        if (status == TESS_OK) {
            assert_same_draws(whole, parts);
            tess_xpcs_posterior_destroy(parts);
        }
        tess_context_destroy(g.ctx);
    }
    assert_int_equal(status, TESS_OK);
    print_message("%d stops\n", n_stop);
    g.ctx = first;
    tess_xpcs_posterior_destroy(whole);
    golden_fit_close(&f);
    golden_close(&g);
}

// Killed without warning while checkpoints are written after every round.
static void killed_draws_go_on(void **state)
{
    (void)state;
    golden g;
    golden_fit f;
    tess_xpcs_posterior *whole = NULL;
    tess_xpcs_posterior *parts = NULL;
    char folder[] = "/tmp/tessera-sampleXXXXXX";
    assert_non_null(mkdtemp(folder));
    golden_open(&g, "xpcs/posterior_static");
    golden_fit_open(&g, &f);
    set_sizes(&f);
    golden_sample(&g, &f, &whole);
    f.config.checkpoint_dir = folder;
    f.config.checkpoint_every_s = 0;
    f.config.resume = 1;
    const pid_t child = fork();
    if (child == 0) {
        _exit((int)tess_xpcs_sample(g.ctx, g.data, &g.model, f.fit, &f.fit_config, &f.config,
                                    &parts));
    }
    usleep(300 * 1000);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    f.config.checkpoint_every_s = 60;
    golden_sample(&g, &f, &parts);
    assert_same_draws(whole, parts);
    tess_xpcs_posterior_destroy(parts);
    // Another seed is another computation.
    f.config.keep_finished = 1;
    golden_sample(&g, &f, &parts);
    assert_false(tess_xpcs_posterior_get_info(parts)->resumed);
    tess_xpcs_posterior_destroy(parts);
    f.config.seed++;
    assert_fails(tess_xpcs_sample(g.ctx, g.data, &g.model, f.fit, &f.fit_config, &f.config, &parts),
                 TESS_E_MISMATCH, "seed");
    f.config.seed--;
    golden_sample(&g, &f, &parts);
    assert_true(tess_xpcs_posterior_get_info(parts)->resumed_from == 1);
    assert_same_draws(whole, parts);
    tess_xpcs_posterior_destroy(parts);
    assert_ok(tess_checkpoint_clear(g.ctx, folder));
    tess_xpcs_posterior_destroy(whole);
    golden_fit_close(&f);
    golden_close(&g);
}

// A copy by bytes is the same; what is cut off or changed is refused.
static void bytes_make_the_same_posterior(void **state)
{
    (void)state;
    golden g;
    golden_fit f;
    tess_xpcs_posterior *one = NULL;
    tess_xpcs_posterior *two = NULL;
    golden_open(&g, "xpcs/posterior_static");
    golden_fit_open(&g, &f);
    set_sizes(&f);
    golden_sample(&g, &f, &one);
    const size_t n = tess_xpcs_posterior_pack(one, NULL, 0);
    unsigned char *bytes = malloc(n);
    assert_int_equal(tess_xpcs_posterior_pack(one, bytes, n), n);
    assert_ok(tess_xpcs_posterior_unpack(g.ctx, bytes, n, &two));
    assert_same_draws(one, two);
    assert_string_equal(tess_xpcs_posterior_get_info(two)->names[1], "alpha");
    tess_xpcs_posterior_destroy(two);
    bytes[n / 2] ^= 1;
    assert_fails(tess_xpcs_posterior_unpack(g.ctx, bytes, n, &two), TESS_E_FORMAT, "checksum");
    bytes[n / 2] ^= 1;
    assert_fails(tess_xpcs_posterior_unpack(g.ctx, bytes, n - 1, &two), TESS_E_TRUNCATED, "bytes");
    assert_fails(tess_xpcs_posterior_unpack(g.ctx, bytes, 10, &two), TESS_E_TRUNCATED, "too few");
    bytes[0] ^= 1;
    assert_fails(tess_xpcs_posterior_unpack(g.ctx, bytes, n, &two), TESS_E_FORMAT, "not a packed");
    free(bytes);
    tess_xpcs_posterior_destroy(one);
    golden_fit_close(&f);
    golden_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stopped_draws_go_on),
        cmocka_unit_test(rounds_that_were_stopped_are_made_again),
        cmocka_unit_test(killed_draws_go_on),
        cmocka_unit_test(bytes_make_the_same_posterior),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
