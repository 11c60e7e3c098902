// A run is stopped at every tile and resumed with other threads, tile sizes and memory limits: the
// bytes are always those of a run that was never stopped.
#include "faults_support.h"

#include <string.h>
#include <unistd.h>

static const int64_t stop_at_end = N_EPOCH;

static int stop_at(void *user, const tess_progress *progress)
{
    const int64_t *tile = user;
    usleep(51000); // the callback comes at most every 50 ms
    return *tile < stop_at_end && progress->done >= *tile;
}

typedef struct manner {
    int32_t n_thread;
    int64_t tile_epochs;
    uint64_t memory_limit;
} manner;

static void stop_and_resume(const char *input, const char *reference, int64_t tile, const manner *m)
{
    run_options options;
    int64_t done = 0;
    run_options_init(&options, input, "out.npy");
    options.run.checkpoint_dir = "work";
    options.run.checkpoint_every_s = 0;
    options.context.progress = stop_at;
    options.context.progress_user = &tile;
    CHECK(run_once(&options, &done) == TESS_CANCELLED);
    CHECK(done == tile); // exactly: tiles before the stop are finished, none after it
    CHECK(!file_exists("out.npy") && count_named(".", ".tmp.") == 0);

    options.context.progress = NULL;
    options.context.n_thread = m->n_thread;
    options.context.memory_limit_bytes = m->memory_limit;
    options.tile_epochs = m->tile_epochs;
    options.run.resume = 1;
    CHECK(run_once(&options, &done) == TESS_OK && done == N_EPOCH);
    CHECK(same_values("out.npy", reference));
    CHECK(!file_exists("work") && count_named(".", ".tmp.") == 0);
    unlink("out.npy");
    unlink("out.npy.json");
}

// Stopped, resumed, stopped again: one tile further each time.
static void stop_again_and_again(const char *input, const char *reference)
{
    run_options options;
    int64_t done = 0;
    int64_t tile = 0;
    run_options_init(&options, input, "out.npy");
    options.run.checkpoint_dir = "work";
    options.run.checkpoint_every_s = 0;
    options.run.resume = 1;
    options.context.progress = stop_at;
    options.context.progress_user = &tile;
    tess_status status = TESS_CANCELLED;
    for (tile = 1; status == TESS_CANCELLED; tile++) {
        CHECK(tile <= stop_at_end);
        status = run_once(&options, &done);
        CHECK(done == tile || status == TESS_OK);
    }
    CHECK(status == TESS_OK && same_values("out.npy", reference) && !file_exists("work"));
    unlink("out.npy");
    unlink("out.npy.json");
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SMALL = 1 << 30 }; // a sanitizer's own memory counts, too
#else
enum { SMALL = 96 << 20 }; // room for an emulator in the process
#endif

int main(int argc, char **argv)
{
    static const manner manners[] = {{1, 1, 0},     {2, 3, 0},       {3, 0, 0},
                                     {8, 1, SMALL}, {2, 4, 1 << 30}, {1, 100, SMALL}};
    static const char *const inputs[] = {"in32.npy", "in64.npy"};
    CHECK(argc == 2);
    work_in(argv[1]);
    make_input(inputs[0], TESS_F32);
    make_input(inputs[1], TESS_F64);
    for (size_t i = 0; i < 2; i++) {
        char reference[32];
        run_options options;
        int64_t done = 0;
        snprintf(reference, sizeof reference, "right%zu.npy", i);
        run_options_init(&options, inputs[i], reference);
        CHECK(run_once(&options, &done) == TESS_OK && done == N_EPOCH);
        for (int64_t tile = 0; tile < N_EPOCH; tile++) {
            const size_t n = sizeof manners / sizeof *manners;
            stop_and_resume(inputs[i], reference, tile, &manners[(size_t)tile % n]);
        }
        stop_again_and_again(inputs[i], reference);
        printf("%s: stopped at each of %d tiles and resumed: same bytes\n", inputs[i], N_EPOCH);
    }
    return 0;
}
