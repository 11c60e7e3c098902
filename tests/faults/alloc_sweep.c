// The k-th allocation fails, once or from there on, for every k until the run is never hit: each
// failure is TESS_E_MEMORY with a message, nothing leaks, no file is left, the next run succeeds.
#include "faults_support.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

typedef struct failing {
    long at; // counted from 1; 0: never
    bool from;
    atomic_long n_call;
    atomic_long n_fault;
    atomic_llong bytes; // handed out and not yet back
} failing;

static void *failing_alloc(void *user, size_t bytes, size_t alignment, tess_tag tag)
{
    (void)tag;
    failing *f = user;
    const long number = atomic_fetch_add(&f->n_call, 1) + 1;
    if (f->at > 0 && (f->from ? number >= f->at : number == f->at)) {
        atomic_fetch_add(&f->n_fault, 1);
        return NULL;
    }
    void *ptr = NULL;
    if (posix_memalign(&ptr, alignment, bytes) != 0) {
        return NULL;
    }
    memset(ptr, 0xA5, bytes); // nobody may count on zeros
    atomic_fetch_add(&f->bytes, (long long)bytes);
    return ptr;
}

static void failing_release(void *user, void *ptr, size_t bytes, tess_tag tag)
{
    (void)tag;
    failing *f = user;
    if (ptr) {
        atomic_fetch_sub(&f->bytes, (long long)bytes);
    }
    free(ptr);
}

typedef struct workload {
    const char *name;
    const char *input;
    const char *output;
    bool checkpointed;
    bool resumed; // over a checkpoint left by a stopped run
    bool traced;
} workload;

static int stop_late(void *user, const tess_progress *progress)
{
    (void)user;
    usleep(51000); // the callback comes at most every 50 ms
    return progress->done >= 4;
}

// Leaves a checkpoint of a run that was stopped.
static void prepare(const workload *w)
{
    remove_folder("work");
    unlink("out.npy");
    unlink("out.npz");
    unlink("out.npy.json");
    unlink("trace.json");
    if (w->resumed) {
        run_options options;
        run_options_init(&options, w->input, w->output);
        options.run.checkpoint_dir = "work";
        options.run.checkpoint_every_s = 0;
        options.context.progress = stop_late;
        int64_t done = 0;
        CHECK(run_once(&options, &done) == TESS_CANCELLED && done > 0 && done < N_EPOCH);
    }
}

static tess_status run_with(const workload *w, failing *f)
{
    const tess_allocator allocator = {failing_alloc, failing_release, f};
    run_options options;
    run_options_init(&options, w->input, w->output);
    options.context.allocator = &allocator;
    options.context.profile = 1;
    options.context.trace_path = w->traced ? "trace.json" : NULL;
    if (w->checkpointed) {
        options.run.checkpoint_dir = "work";
        options.run.checkpoint_every_s = 0;
        options.run.resume = w->resumed;
    }
    int64_t done = 0;
    return run_once(&options, &done);
}

static bool one_is_hit(const workload *w, long k, bool from)
{
    failing f = {.at = k, .from = from};
    const tess_status status = run_with(w, &f);
    if (atomic_load(&f.bytes) != 0) {
        fprintf(stderr, "%s: allocation %ld: %lld bytes not given back\n", w->name, k,
                (long long)atomic_load(&f.bytes));
        exit(1);
    }
    CHECK(status == TESS_OK || status == TESS_E_MEMORY);
    CHECK(count_named(".", ".tmp.") == 0 && count_named("work", ".tmp.") == 0);
    if (status == TESS_OK) {
        CHECK(!w->output || same_values(w->output, "right.npy"));
        if (w->output && atomic_load(&f.n_fault) > 0) {
            unlink(w->output);
        }
    } else {
        CHECK(!w->output || !file_exists(w->output));
        failing none = {0};
        workload again = *w;
        again.resumed = w->checkpointed && count_named("work", ".ckpt") > 0;
        CHECK(run_with(&again, &none) == TESS_OK && atomic_load(&none.bytes) == 0);
        CHECK(!w->output || same_values(w->output, "right.npy"));
    }
    return atomic_load(&f.n_fault) > 0;
}

static void sweep(const workload *w, bool from)
{
    long k = 1;
    for (bool hit = true; hit; k++) {
        // Stopping a run for resume takes a while: the checkpoint is made once and copied.
        if (w->resumed && file_exists("kept")) {
            remove_folder("work");
            unlink("out.npy");
            CHECK(system("cp -r kept work") == 0);
        } else {
            prepare(w);
            CHECK(!w->resumed || system("cp -r work kept") == 0);
        }
        hit = one_is_hit(w, k, from);
        CHECK(k < 5000);
    }
    remove_folder("kept");
    printf("%-24s %-4s  %ld allocations, every failure clean\n", w->name, from ? "from" : "once",
           k - 2);
}

int main(int argc, char **argv)
{
    static const workload workloads[] = {
        {.name = "npy to npy", .input = "in.npy", .output = "out.npy", .traced = true},
        {.name = "npy to memory", .input = "in.npy"},
        {.name = "npy to npz", .input = "in.npy", .output = "out.npz"},
        {.name = "npz to npy", .input = "in.npz", .output = "out.npy"},
        {.name = "checkpointed", .input = "in.npy", .output = "out.npy", .checkpointed = true},
        {.name = "resumed",
         .input = "in.npy",
         .output = "out.npy",
         .checkpointed = true,
         .resumed = true},
    };
    CHECK(argc == 2);
    work_in(argv[1]);
    make_input("in.npy", TESS_F32);
    make_input("in.npz", TESS_F32);
    run_options options;
    int64_t done = 0;
    run_options_init(&options, "in.npy", "right.npy");
    CHECK(run_once(&options, &done) == TESS_OK && done == N_EPOCH);
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
        sweep(&workloads[i], false);
        sweep(&workloads[i], true);
    }
    return 0;
}
