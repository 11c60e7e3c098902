// Finished fits that wait for their caller, transforms that stop anywhere, and results that are
// known again.
#include "autoreject_data.h"
#include "runtime/context.h"
#include "runtime/resident.h"
#include "runtime/stage.h"
#include "stage/autoreject.h"
#include "tessera/device.h"
#include "tessera/run.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_EPOCH = 24, N_CHAN = 14, N_ECOG = 5, N_TIME = 160 };

// Two types, ecog with a channel that is flat throughout, which a fit has a word on.
static ar_data two_types(tess_context *ctx)
{
    ar_data d = ar_data_make(ctx, N_EPOCH, N_CHAN, N_TIME, 5);
    tess_autoreject_epochs_close(d.epochs);
    for (int c = 0; c < N_ECOG; c++) {
        d.channels[c].type = TESS_AUTOREJECT_ECOG;
    }
    for (int e = 0; e < N_EPOCH; e++) {
        memset(d.x + (e * N_CHAN + 2) * N_TIME, 0, N_TIME * sizeof *d.x);
    }
    ar_data_open(ctx, &d);
    return d;
}

static tess_autoreject_fit_config fit_config(const char *folder, int keep_finished)
{
    tess_autoreject_fit_config config;
    tess_autoreject_fit_config_init(&config, sizeof config);
    config.n_fold = 3;
    config.checkpoint_dir = folder;
    config.resume = folder != NULL;
    config.keep_finished = keep_finished;
    config.checkpoint_every_s = 0;
    return config;
}

// A fit that finds no more memory from its k-th allocation on; the file of its model if it ends.
static tess_status fit(long long k, const tess_autoreject_fit_config *config, const char *path,
                       long long *n_alloc)
{
    unit_allocator allocator;
    unit_allocator_init(&allocator, 0);
    tess_context_config own;
    tess_context_config_init(&own, sizeof own);
    own.n_thread = 1;
    own.allocator = &allocator.table;
    tess_context *ctx = NULL;
    assert_ok(tess_context_create(&own, &ctx));
    ar_data d = two_types(ctx);
    tess_autoreject_model *model = NULL;
    const long long before = atomic_load(&allocator.n_alloc);
    allocator.from_then_on = 1;
    allocator.fail_at = k > 0 ? before + k : 0;
    const tess_status status = tess_autoreject_fit(ctx, d.epochs, config, &model);
    *n_alloc = atomic_load(&allocator.n_alloc) - before;
    allocator.fail_at = 0;
    if (status == TESS_OK) {
        assert_ok(tess_autoreject_model_save(ctx, model, path, 1));
    }
    tess_autoreject_model_destroy(model);
    ar_data_free(&d);
    tess_context_destroy(ctx);
    assert_int_equal(atomic_load(&allocator.n_live), 0);
    return status;
}

static void assert_same_file(const char *a, const char *b)
{
    size_t n_a = 0;
    size_t n_b = 0;
    char *one = unit_read_file(a, &n_a);
    char *other = unit_read_file(b, &n_b);
    assert_int_equal(n_a, n_b);
    assert_memory_equal(one, other, n_a);
    free(one);
    free(other);
}

// Notes of a type that was finished before the stop are in the model, in their place.
static void resumed_models_have_all_notes(void **state)
{
    (void)state;
    const char *right = unit_path("right.json");
    const char *path = unit_path("resumed.json");
    const char *folder = unit_path("notes");
    const tess_autoreject_fit_config plain = fit_config(NULL, 0);
    const tess_autoreject_fit_config kept = fit_config(folder, 0);
    long long n_alloc = 0;
    assert_ok(fit(0, &plain, right, &n_alloc));
    size_t n = 0;
    char *text = unit_read_file(right, &n);
    assert_non_null(strstr(text, "'E03' is flat in every epoch"));
    assert_non_null(strstr(text, "Channels of type ecog cannot be predicted"));
    free(text);
    assert_ok(fit(0, &kept, path, &n_alloc));
    const long long n_all = n_alloc;
    int n_stop = 0;
    for (long long k = n_all / 6; k < n_all; k += n_all / 6) {
        const tess_status status = fit(k, &kept, path, &n_alloc);
        n_stop += status == TESS_E_MEMORY;
        if (status != TESS_OK) {
            assert_ok(fit(0, &kept, path, &n_alloc));
        }
        assert_same_file(path, right);
        assert_false(unit_exists(folder));
    }
    assert_true(n_stop > 3);
}

static void a_finished_fit_waits_for_its_caller(void **state)
{
    (void)state;
    const char *right = unit_path("once.json");
    const char *path = unit_path("twice.json");
    const char *folder = unit_path("waiting");
    const tess_autoreject_fit_config kept = fit_config(folder, 1);
    long long n_first = 0;
    long long n_again = 0;
    assert_ok(fit(0, &kept, right, &n_first));
    tess_context *ctx = unit_context(1, 0);
    char *text = NULL;
    assert_ok(
        tess_checkpoint_describe(ctx, unit_path("waiting/autoreject.fit.000001.ckpt"), &text));
    assert_contains(text, "\"done\": 1,");
    tess_text_free(text);
    assert_false(unit_exists(unit_path("waiting/samples.1.tiles")));
    assert_ok(fit(0, &kept, path, &n_again));
    assert_true(n_again < n_first / 2); // nothing was searched for
    assert_same_file(path, right);
    // Without resume it is not taken for nothing.
    tess_autoreject_fit_config other = kept;
    other.resume = 0;
    assert_int_equal(fit(0, &other, path, &n_again), TESS_E_EXISTS);
    assert_ok(tess_checkpoint_clear(ctx, folder));
    tess_context_destroy(ctx);
    assert_false(unit_exists(folder));
}

// ---- Transforms -------------------------------------------------------------------------------

static tess_autoreject_transform_config transform_config(const char *folder, int resume)
{
    tess_autoreject_transform_config config;
    tess_autoreject_transform_config_init(&config, sizeof config);
    config.checkpoint_dir = folder;
    config.resume = resume;
    config.checkpoint_every_s = 0;
    return config;
}

// Epochs of which some are dropped, which makes blocks of the others, and some repaired.
typedef struct problem {
    ar_data data;
    tess_autoreject_model *model;
    tess_autoreject_log *log;
} problem;

enum { T_EPOCH = 60, T_CHAN = 16, T_TIME = 300, T_DROPPED = 3 };

static problem problem_of(tess_context *ctx)
{
    problem p = {.data = ar_data_make(ctx, T_EPOCH, T_CHAN, T_TIME, 8)};
    static int8_t labels[T_EPOCH * T_CHAN];
    static uint8_t bad[T_EPOCH];
    static const char *names[T_CHAN];
    static int64_t channels[T_CHAN];
    static double thresholds[T_CHAN];
    for (int i = 0; i < T_EPOCH * T_CHAN; i++) {
        labels[i] = i % 7 == 3 ? 2 : 0;
    }
    for (int c = 0; c < T_CHAN; c++) {
        names[c] = p.data.channels[c].name;
        channels[c] = c;
        thresholds[c] = 1;
    }
    bad[4] = bad[30] = bad[31] = 1;
    const tess_autoreject_type_fit type = {.struct_size = sizeof type,
                                           .type = TESS_AUTOREJECT_EEG,
                                           .n_chan = T_CHAN,
                                           .channels = channels,
                                           .thresholds = thresholds,
                                           .consensus = 0.5,
                                           .n_interpolate = 4};
    const tess_autoreject_model_info info = {.struct_size = sizeof info,
                                             .n_chan = T_CHAN,
                                             .channel_names = names,
                                             .n_type = 1,
                                             .types = &type};
    const tess_autoreject_log_info log = {.struct_size = sizeof log,
                                          .n_epoch = T_EPOCH,
                                          .n_chan = T_CHAN,
                                          .channel_names = names,
                                          .labels = labels,
                                          .bad_epochs = bad};
    assert_ok(tess_autoreject_model_create(ctx, &info, &p.model));
    assert_ok(tess_autoreject_log_create(ctx, &log, &p.log));
    return p;
}

static void drop(problem *p)
{
    tess_autoreject_log_destroy(p->log);
    tess_autoreject_model_destroy(p->model);
    ar_data_free(&p->data);
}

// Transforms without memory from the k-th allocation on (0: with all it wants) into a file, or an
// array where path is NULL.
static tess_status transform(long long k, const tess_autoreject_transform_config *config,
                             const char *path, double *out, long long *n_alloc)
{
    unit_allocator allocator;
    unit_allocator_init(&allocator, 0);
    tess_context_config own;
    tess_context_config_init(&own, sizeof own);
    own.n_thread = 1 + (int32_t)(k % 2);
    own.allocator = &allocator.table;
    tess_context *ctx = NULL;
    assert_ok(tess_context_create(&own, &ctx));
    problem p = problem_of(ctx);
    const int64_t shape[3] = {T_EPOCH - T_DROPPED, T_CHAN, T_TIME};
    tess_array array;
    assert_ok(tess_array_init(&array, out, TESS_F64, 3, shape));
    const long long before = atomic_load(&allocator.n_alloc);
    allocator.from_then_on = 1;
    allocator.fail_at = k > 0 ? before + k : 0;
    const tess_status status = tess_autoreject_transform(ctx, p.model, p.data.epochs, p.log, config,
                                                         path ? NULL : &array, path, NULL);
    *n_alloc = atomic_load(&allocator.n_alloc) - before;
    allocator.fail_at = 0;
    drop(&p);
    tess_context_destroy(ctx);
    assert_int_equal(atomic_load(&allocator.n_live), 0);
    return status;
}

static void transforms_stop_anywhere(void **state)
{
    (void)state;
    static const char *const formats[] = {"npy", "npz", "fif", "fif.gz"};
    const char *folder = unit_path("transform");
    const tess_autoreject_transform_config plain = transform_config(NULL, 0);
    const tess_autoreject_transform_config kept = transform_config(folder, 1);
    int n_found = 0;
    for (size_t f = 0; f < ARRAY_LEN(formats); f++) {
        char right[64];
        char name[64];
        snprintf(right, sizeof right, "right.%s", formats[f]);
        snprintf(name, sizeof name, "out.%s", formats[f]);
        const char *want = unit_path(right);
        const char *path = unit_path(name);
        long long n_alloc = 0;
        assert_ok(transform(0, &plain, want, NULL, &n_alloc));
        assert_ok(transform(0, &kept, path, NULL, &n_alloc));
        assert_same_file(path, want);
        const long long n_all = n_alloc;
        for (long long k = 1; k < n_all; k += n_all / (unit_is_quick() ? 4 : 9)) {
            unlink(path);
            if (transform(k, &kept, path, NULL, &n_alloc) != TESS_OK) {
                n_found += unit_exists(unit_path("transform/spool.npy"));
                assert_false(unit_exists(path));
                assert_ok(transform(0, &kept, path, NULL, &n_alloc));
            }
            assert_same_file(path, want);
            assert_false(unit_exists(folder));
        }
        // It is there: nothing is done, and what was left of it is gone.
        assert_int_equal(mkdir(folder, 0700), 0);
        unit_write_file(unit_path("transform/lock"), "", 0);
        assert_ok(transform(0, &kept, path, NULL, &n_alloc));
        assert_true(n_alloc < n_all / 2);
        assert_false(unit_exists(folder));
    }
    assert_true(n_found > 8);
}

static void transforms_into_arrays_go_on(void **state)
{
    (void)state;
    enum { N = (T_EPOCH - T_DROPPED) * T_CHAN * T_TIME };
    const char *folder = unit_path("array");
    const tess_autoreject_transform_config plain = transform_config(NULL, 0);
    const tess_autoreject_transform_config kept = transform_config(folder, 1);
    double *want = malloc(N * sizeof *want);
    double *got = malloc(N * sizeof *got);
    long long n_alloc = 0;
    assert_ok(transform(0, &plain, NULL, want, &n_alloc));
    assert_ok(transform(0, &kept, NULL, got, &n_alloc));
    assert_memory_equal(got, want, N * sizeof *want);
    const long long n_all = n_alloc;
    int n_found = 0;
    for (long long k = 1; k < n_all; k += n_all / 9) {
        memset(got, 0, N * sizeof *got);
        if (transform(k, &kept, NULL, got, &n_alloc) != TESS_OK) {
            n_found += unit_exists(unit_path("array/autoreject.transform.000001.ckpt"));
            memset(got, 0, N * sizeof *got);
            assert_ok(transform(0, &kept, NULL, got, &n_alloc));
        }
        assert_memory_equal(got, want, N * sizeof *want);
    }
    assert_true(n_found > 0);
    free(want);
    free(got);
}

static void other_transforms_are_refused(void **state)
{
    (void)state;
    const char *folder = unit_path("refused");
    const char *path = unit_path("refused.npy");
    tess_autoreject_transform_config kept = transform_config(folder, 1);
    long long n_alloc = 0;
    assert_ok(transform(0, &kept, path, NULL, &n_alloc));
    unlink(path);
    // Stopped when its file is to be written.
    assert_int_equal(transform(n_alloc - 8, &kept, path, NULL, &n_alloc), TESS_E_MEMORY);
    assert_true(unit_exists(unit_path("refused/spool.npy")));
    kept.keep_bad = 1;
    assert_fails(transform(0, &kept, path, NULL, &n_alloc), TESS_E_MISMATCH,
                 "settings were 'keep_bad=false");
    kept.keep_bad = 0;
    // A spool that was changed is no part of a result.
    size_t n = 0;
    char *bytes = unit_read_file(unit_path("refused/spool.npy"), &n);
    bytes[n / 2] ^= 1;
    unit_write_file(unit_path("refused/spool.npy"), bytes, n);
    assert_fails(transform(0, &kept, path, NULL, &n_alloc), TESS_E_MISMATCH, "are damaged");
    bytes[n / 2] ^= 1;
    unit_write_file(unit_path("refused/spool.npy"), bytes, n);
    free(bytes);
    // What has the name of the result is somebody else's.
    unit_write_file(path, "x", 1);
    assert_fails(transform(0, &kept, path, NULL, &n_alloc), TESS_E_EXISTS, "exists already");
    unlink(path);
    assert_ok(transform(0, &kept, path, NULL, &n_alloc));
    assert_false(unit_exists(folder));
}

// ---- Votes ------------------------------------------------------------------------------------

static void check_votes(tess_device *device, int64_t n_epoch, int64_t n_chan, int64_t stride)
{
    const size_t n = (size_t)(n_epoch * stride);
    double *delta = malloc(n * sizeof *delta);
    double *thresholds = malloc((size_t)n_chan * sizeof *thresholds);
    int8_t *votes = malloc(n);
    int64_t *counts = malloc((size_t)n_epoch * sizeof *counts);
    uint64_t seed = (uint64_t)(n_epoch + n_chan);
    for (size_t i = 0; i < n; i++) {
        delta[i] = i % 11 == 3 ? 0.5 : ar_uniform(&seed);
    }
    for (int64_t c = 0; c < n_chan; c++) {
        thresholds[c] = c % 4 == 3 ? (double)INFINITY : 0.5;
    }
    memset(votes, 9, n);
    tess_resident at[4];
    assert_ok(tess_resident_from(device, delta, n * sizeof *delta, &at[0]));
    assert_ok(tess_resident_from(device, thresholds, (size_t)n_chan * sizeof *thresholds, &at[1]));
    assert_ok(tess_resident_create(device, n, &at[2]));
    assert_ok(tess_resident_refill(&at[2], votes, n));
    assert_ok(tess_resident_create(device, (size_t)n_epoch * sizeof *counts, &at[3]));
    const tess_stage_autoreject_votes args = {at[0].data, at[1].data, at[2].data, at[3].data,
                                              n_epoch,    n_chan,     stride};
    assert_ok(tess_stage_start(device, TESS_STAGE_AUTOREJECT_VOTES, &args, sizeof args));
    assert_ok(tess_resident_fetch(&at[2], votes, n));
    assert_ok(tess_resident_fetch(&at[3], counts, (size_t)n_epoch * sizeof *counts));
    for (int64_t e = 0; e < n_epoch; e++) {
        int64_t count = 0;
        for (int64_t c = 0; c < stride; c++) {
            const int vote = c < n_chan ? delta[e * stride + c] > thresholds[c] : 9;
            assert_int_equal(votes[e * stride + c], vote);
            count += c < n_chan ? vote : 0;
        }
        assert_int_equal(counts[e], count);
    }
    for (int i = 0; i < 4; i++) {
        tess_resident_free(&at[i]);
    }
    free(delta);
    free(thresholds);
    free(votes);
    free(counts);
}

static void votes_are_the_same_on_every_device(void **state)
{
    (void)state;
    static const char *const devices[] = {"cpu", "cuda"};
    for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
        tess_context_config config;
        tess_context_config_init(&config, sizeof config);
        config.device = devices[i];
        config.n_thread = 3;
        tess_context *ctx = NULL;
        if (tess_context_create(&config, &ctx) != TESS_OK) {
            assert_true(i > 0);
            continue; // no such device here
        }
        check_votes(ctx->device, 1, 1, 1);
        check_votes(ctx->device, 700, 33, 40);
        check_votes(ctx->device, 513, 128, 128);
        tess_context_destroy(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(resumed_models_have_all_notes),
                                       cmocka_unit_test(a_finished_fit_waits_for_its_caller),
                                       cmocka_unit_test(transforms_stop_anywhere),
                                       cmocka_unit_test(transforms_into_arrays_go_on),
                                       cmocka_unit_test(other_transforms_are_refused),
                                       cmocka_unit_test(votes_are_the_same_on_every_device)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
