// Fits that stop anywhere go on to the same bits; checkpoints of other fits are refused.
#include "autoreject_data.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// 36 EEG channels are five blocks: the local search takes seven tiles of ten at a time.
enum { N_EPOCH = 30, N_ECOG = 5, N_CHAN = 41, N_TIME = 150, N_CELL = 11 * 3 * 3 };

typedef struct answer {
    double thresholds[N_CHAN];
    double errors[N_CHAN];
    double loss[2 * N_CELL];
    int64_t choice[4];
    double candidates; // sums
    double objectives;
} answer;

static tess_context *context_of(int32_t n_thread, uint64_t limit, const unit_allocator *allocator)
{
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.n_thread = n_thread;
    config.memory_limit_bytes = limit;
    config.allocator = allocator ? &allocator->table : NULL;
    tess_context *ctx = NULL;
    assert_ok(tess_context_create(&config, &ctx));
    return ctx;
}

// Two types: ecog channels, then EEG.
static ar_data data_of(tess_context *ctx)
{
    ar_data d = ar_data_make(ctx, N_EPOCH, N_CHAN, N_TIME, 6);
    tess_autoreject_epochs_close(d.epochs);
    for (int c = 0; c < N_ECOG; c++) {
        d.channels[c].type = TESS_AUTOREJECT_ECOG;
    }
    ar_data_open(ctx, &d);
    return d;
}

static tess_autoreject_fit_config config_of(const char *folder, int resume)
{
    tess_autoreject_fit_config config;
    tess_autoreject_fit_config_init(&config, sizeof config);
    config.n_fold = 3;
    config.checkpoint_dir = folder;
    config.resume = resume;
    config.checkpoint_every_s = 0;
    return config;
}

static void take_answer(const tess_autoreject_model *model, answer *a)
{
    const tess_autoreject_model_info *info = tess_autoreject_model_get_info(model);
    memset(a, 0, sizeof *a);
    assert_int_equal(info->n_type, 2);
    int64_t at = 0;
    for (int64_t i = 0; i < 2; i++) {
        const tess_autoreject_type_fit *type = &info->types[i];
        const size_t bytes = (size_t)type->n_chan * sizeof(double);
        memcpy(a->thresholds + at, type->thresholds, bytes);
        memcpy(a->errors + at, type->standard_errors, bytes);
        memcpy(a->loss + i * N_CELL, type->loss, N_CELL * sizeof(double));
        const double *candidate = type->candidates;
        const double *objective = type->candidate_objectives;
        for (int64_t c = 0; c < type->n_chan; c++) {
            for (int64_t k = 0; k < type->n_candidate[c]; k++) {
                a->candidates += (double)(c + k) * *candidate++;
                a->objectives += (double)(c + k) * *objective++;
            }
        }
        a->choice[2 * i] = type->consensus_index;
        a->choice[2 * i + 1] = type->n_interpolate_index;
        at += type->n_chan;
    }
}

static tess_status fit(tess_context *ctx, const tess_autoreject_fit_config *config, answer *a)
{
    ar_data d = data_of(ctx);
    tess_autoreject_model *model = NULL;
    const tess_status status = tess_autoreject_fit(ctx, d.epochs, config, &model);
    if (status == TESS_OK) {
        take_answer(model, a);
    }
    tess_autoreject_model_destroy(model);
    ar_data_free(&d);
    return status;
}

// The same, without memory from the k-th allocation of the fit on.
static tess_status fit_and_stop(int32_t n_thread, uint64_t limit, long long k,
                                const tess_autoreject_fit_config *config, answer *a,
                                long long *n_alloc)
{
    unit_allocator allocator;
    unit_allocator_init(&allocator, 0);
    tess_context *ctx = context_of(n_thread, limit, &allocator);
    ar_data d = data_of(ctx);
    tess_autoreject_model *model = NULL;
    allocator.from_then_on = 1;
    *n_alloc = -atomic_load(&allocator.n_alloc);
    allocator.fail_at = atomic_load(&allocator.n_alloc) + k;
    const tess_status status = tess_autoreject_fit(ctx, d.epochs, config, &model);
    *n_alloc += atomic_load(&allocator.n_alloc);
    allocator.fail_at = 0;
    if (status == TESS_OK) {
        take_answer(model, a);
    }
    tess_autoreject_model_destroy(model);
    ar_data_free(&d);
    tess_context_destroy(ctx);
    assert_int_equal(atomic_load(&allocator.n_live), 0);
    return status;
}

// The limit below which samples go to a file: what the plan says is tried.
static uint64_t file_limit(void)
{
    uint64_t low = 1 << 16;
    for (uint64_t limit = low; limit < (UINT64_C(1) << 33); limit += limit / 16) {
        tess_context *ctx = context_of(1, limit, NULL);
        ar_data d = data_of(ctx);
        tess_autoreject_fit_plan plan;
        const tess_autoreject_fit_config config = config_of(NULL, 0);
        const tess_status status =
            tess_autoreject_fit_get_plan(ctx, d.epochs, &config, &plan, sizeof plan);
        ar_data_free(&d);
        tess_context_destroy(ctx);
        if (status == TESS_OK) {
            assert_true(plan.scratch_bytes > 0);
            return limit;
        }
        assert_int_equal(status, TESS_E_LIMIT);
    }
    fail_msg("no limit is enough");
    return 0;
}

// Stops at the k-th allocation, goes on with other threads and memory, and compares.
static void stop_and_go_on(uint64_t limit, uint64_t other_limit, long long k, const answer *want,
                           int *n_found)
{
    const char *folder = unit_path("work");
    const tess_autoreject_fit_config kept = config_of(folder, 1);
    answer got;
    long long n_alloc = 0;
    const tess_status status = fit_and_stop(1 + (int32_t)(k % 3), limit, k, &kept, &got, &n_alloc);
    if (status != TESS_OK) {
        assert_int_equal(status, TESS_E_MEMORY);
        *n_found += unit_exists(unit_path("work/autoreject.fit.000001.ckpt"));
        tess_context *ctx = context_of(1 + (int32_t)(k % 2), k % 4 < 2 ? 0 : other_limit, NULL);
        assert_ok(fit(ctx, &kept, &got));
        tess_context_destroy(ctx);
    }
    assert_memory_equal(&got, want, sizeof *want);
    assert_false(unit_exists(folder));
}

static void stops_anywhere_give_the_same_bits(void **state)
{
    (void)state;
    const tess_autoreject_fit_config plain = config_of(NULL, 0);
    const tess_autoreject_fit_config kept = config_of(unit_path("work"), 1);
    const uint64_t limits[] = {0, file_limit() + (4 << 20)};
    answer want;
    answer got;
    tess_context *ctx = context_of(2, 0, NULL);
    assert_ok(fit(ctx, &plain, &want));
    tess_context_destroy(ctx);
    for (size_t m = 0; m < ARRAY_LEN(limits); m++) {
        long long n_alloc = 0;
        int n_found = 0;
        assert_ok(fit_and_stop(1, limits[m], 1 << 30, &kept, &got, &n_alloc));
        assert_memory_equal(&got, &want, sizeof want);
        for (long long k = 1; k < n_alloc; k += n_alloc / (unit_is_quick() ? 5 : 8)) {
            stop_and_go_on(limits[m], limits[1], k, &want, &n_found);
        }
        assert_true(n_found > 2);
        // The local search of the last type: its stops must have left a checkpoint.
        n_found = 0;
        for (long long k = n_alloc - 12; k < n_alloc; k += 4) {
            stop_and_go_on(limits[m], limits[1], k, &want, &n_found);
        }
        assert_true(n_found > 1);
    }
}

// Leaves a checkpoint behind.
static void stop_half_way(const char *folder)
{
    const tess_autoreject_fit_config kept = config_of(folder, 1);
    for (long long k = 50;; k += 10) {
        answer got;
        long long n_alloc = 0;
        assert_int_equal(fit_and_stop(1, 0, k, &kept, &got, &n_alloc), TESS_E_MEMORY);
        if (unit_exists(unit_path("other/autoreject.fit.000001.ckpt"))) {
            return;
        }
    }
}

static void other_fits_are_refused(void **state)
{
    (void)state;
    const char *folder = unit_path("other");
    stop_half_way(folder);
    tess_context *ctx = context_of(1, 0, NULL);
    answer got;
    tess_autoreject_fit_config config = config_of(folder, 0);
    assert_fails(fit(ctx, &config, &got), TESS_E_EXISTS, "holds the checkpoint of an unfinished");
    config = config_of(folder, 1);
    config.seed = 9;
    assert_fails(fit(ctx, &config, &got), TESS_E_MISMATCH, "settings were 'fit;search=exact");
    config = config_of(folder, 1);
    static const double consensus[] = {0.5, 1};
    config.consensus = consensus;
    config.n_consensus = 2;
    assert_fails(fit(ctx, &config, &got), TESS_E_MISMATCH, "consensus or n_interpolate differ");
    config = config_of(folder, 1);
    uint8_t folds[3 * N_EPOCH];
    for (int i = 0; i < 3 * N_EPOCH; i++) {
        folds[i] = i % 2 ? 1 : 2;
    }
    config.folds = folds;
    assert_fails(fit(ctx, &config, &got), TESS_E_MISMATCH, "the folds differ");
    ar_data d = data_of(ctx);
    tess_autoreject_model *model = NULL;
    config = config_of(folder, 1);
    d.x[N_CHAN * N_TIME - 1] += 1e-9;
    assert_fails(tess_autoreject_fit(ctx, d.epochs, &config, &model), TESS_E_MISMATCH,
                 "the samples differ");
    ar_data_free(&d);
    config = config_of(NULL, 1);
    assert_fails(fit(ctx, &config, &got), TESS_E_ARGUMENT, "resume: needs the checkpoint folder");
    const char *path = unit_path("other/autoreject.fit.000001.ckpt");
    size_t n = 0;
    char *bytes = unit_read_file(path, &n);
    bytes[n / 2] ^= 1;
    unit_write_file(path, bytes, n);
    free(bytes);
    config = config_of(folder, 1);
    assert_fails(fit(ctx, &config, &got), TESS_E_FORMAT, "remove the folder to start afresh");
    tess_context_destroy(ctx);
}

typedef struct watcher {
    tess_context *ctx;
    const char *stop_at; // NULL: nowhere
    char stages[256];    // in order, each once
} watcher;

static int watch(void *user, const tess_progress *progress)
{
    watcher *w = user;
    assert_true(progress->done >= 0 && progress->done <= progress->total);
    if (!strstr(w->stages, progress->stage)) {
        strcat(w->stages, progress->stage);
        strcat(w->stages, " ");
    }
    if (w->stop_at && progress->done > 0 && strcmp(progress->stage, w->stop_at) == 0) {
        tess_context_cancel(w->ctx);
    }
    return 0;
}

static tess_status watched_fit(watcher *w, const char *folder, tess_autoreject_model **model)
{
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.n_thread = 2;
    config.progress = watch;
    config.progress_user = w;
    assert_ok(tess_context_create(&config, &w->ctx));
    ar_data d = ar_data_make(w->ctx, 60, 24, 800, 3); // 9 MB: large enough to be watched
    const tess_autoreject_fit_config fit_config = config_of(folder, 1);
    const tess_status status = tess_autoreject_fit(w->ctx, d.epochs, &fit_config, model);
    ar_data_free(&d);
    return status;
}

static void cancelled_fits_go_on(void **state)
{
    (void)state;
    const char *folder = unit_path("cancelled");
    watcher w = {.stop_at = "autoreject.read"};
    tess_autoreject_model *model = NULL;
    assert_int_equal(watched_fit(&w, folder, &model), TESS_CANCELLED);
    tess_context_destroy(w.ctx);
    w = (watcher){.stop_at = "autoreject.thresholds"};
    assert_int_equal(watched_fit(&w, folder, &model), TESS_CANCELLED);
    assert_null(model);
    assert_true(unit_exists(unit_path("cancelled/autoreject.fit.000001.ckpt")));
    tess_context_destroy(w.ctx);
    w = (watcher){0};
    assert_ok(watched_fit(&w, folder, &model));
    // Where the stop came with the last tile, the thresholds had been kept.
    if (strcmp(w.stages, "autoreject.read autoreject.local ") != 0) {
        assert_string_equal(w.stages, "autoreject.read autoreject.thresholds autoreject.local ");
    }
    assert_false(unit_exists(folder));
    tess_autoreject_model_destroy(model);
    tess_context_destroy(w.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stops_anywhere_give_the_same_bits),
                                       cmocka_unit_test(other_fits_are_refused),
                                       cmocka_unit_test(cancelled_fits_go_on)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
