// A fit killed at any instant goes on to the same bytes.
#include "autoreject_data.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N_EPOCH = 60, N_CHAN = 24, N_TIME = 300 };

static void sleep_s(double s)
{
    const struct timespec time = {(time_t)s, (long)(1e9 * (s - floor(s)))};
    nanosleep(&time, NULL);
}

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// Fits and saves the model.
static int run(const char *folder, const char *path, int32_t n_thread, uint64_t limit)
{
    tess_context *ctx = unit_context(n_thread, limit);
    ar_data d = ar_data_make(ctx, N_EPOCH, N_CHAN, N_TIME, 8);
    tess_autoreject_fit_config config;
    tess_autoreject_fit_config_init(&config, sizeof config);
    config.checkpoint_dir = folder;
    config.resume = folder != NULL;
    config.checkpoint_every_s = 0;
    tess_autoreject_model *model = NULL;
    if (tess_autoreject_fit(ctx, d.epochs, &config, &model) != TESS_OK) {
        fprintf(stderr, "%s\n", tess_last_error());
        return 1;
    }
    const int failed = tess_autoreject_model_save(ctx, model, path, 1) != TESS_OK;
    tess_autoreject_model_destroy(model);
    ar_data_free(&d);
    tess_context_destroy(ctx);
    return failed;
}

static int wait_for(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static pid_t start(const char *folder, const char *path, int32_t n_thread, uint64_t limit)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(run(folder, path, n_thread, limit));
    }
    return child;
}

static void killed_at_random_instants(void **state)
{
    (void)state;
    const char *right = unit_path("right.json");
    const char *out = unit_path("out.json");
    const char *folder = unit_path("work");
    // 10 MiB: the samples (3.5 MB and what goes with them) lie in a file.
    const uint64_t limits[] = {0, 10 << 20};
    const double begin = now_s();
    assert_int_equal(wait_for(start(NULL, right, 2, 0)), 0);
    const double whole_s = now_s() - begin;
    size_t n_right = 0;
    char *right_bytes = unit_read_file(right, &n_right);
    uint64_t s = 11;
    int n_killed = 0;
    for (int round = 0; round < (unit_is_quick() ? 2 : 6); round++) {
        // Short waits first, so that some run is killed; longer ones later, so that one ends.
        for (int attempt = 1;; attempt++) {
            const pid_t child = start(folder, out, 1 + round % 3, limits[round % 2]);
            sleep_s(ar_uniform(&s) * 0.6 * attempt * whole_s);
            kill(child, SIGKILL);
            const int status = wait_for(child);
            if (!WIFSIGNALED(status)) {
                assert_int_equal(status, 0);
                break;
            }
            n_killed++;
        }
        size_t n = 0;
        char *bytes = unit_read_file(out, &n);
        assert_int_equal(n, n_right);
        assert_memory_equal(bytes, right_bytes, n);
        free(bytes);
        assert_false(unit_exists(folder));
        unlink(out);
    }
    assert_true(n_killed > 0);
    free(right_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(killed_at_random_instants)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
