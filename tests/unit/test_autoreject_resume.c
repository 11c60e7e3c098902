// Fits that stop anywhere go on to the same bits; checkpoints of other fits are refused.
#include "autoreject_data.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_EPOCH = 30, N_CHAN = 12, N_TIME = 50, N_CELL = 11 * 3 * 3 };

typedef struct answer {
    double thresholds[N_CHAN];
    double errors[N_CHAN];
    double loss[2 * N_CELL];
    int64_t choice[4];
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

// Two types: five ecog channels behind the EEG.
static ar_data data_of(tess_context *ctx)
{
    ar_data d = ar_data_make(ctx, N_EPOCH, N_CHAN, N_TIME, 6);
    tess_autoreject_epochs_close(d.epochs);
    for (int c = 7; c < N_CHAN; c++) {
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
                                const tess_autoreject_fit_config *config, answer *a)
{
    unit_allocator allocator;
    unit_allocator_init(&allocator, 0);
    tess_context *ctx = context_of(n_thread, limit, &allocator);
    ar_data d = data_of(ctx);
    tess_autoreject_model *model = NULL;
    allocator.from_then_on = 1;
    allocator.fail_at = atomic_load(&allocator.n_alloc) + k;
    const tess_status status = tess_autoreject_fit(ctx, d.epochs, config, &model);
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

static void stops_anywhere_give_the_same_bits(void **state)
{
    (void)state;
    tess_context *ctx = context_of(2, 0, NULL);
    tess_autoreject_fit_config plain = config_of(NULL, 0);
    answer want;
    answer got;
    assert_ok(fit(ctx, &plain, &want));
    tess_context_destroy(ctx);
    const char *folder = unit_path("work");
    const tess_autoreject_fit_config kept = config_of(folder, 1);
    const uint64_t limits[] = {0, file_limit() + (4 << 20)};
    for (size_t m = 0; m < ARRAY_LEN(limits); m++) {
        int n_stopped = 0;
        int n_found = 0;
        tess_status status = TESS_E_MEMORY;
        for (long long k = 1; status != TESS_OK; k += unit_is_quick() ? 31 : 17) {
            status = fit_and_stop(1 + (int32_t)(k % 3), limits[m], k, &kept, &got);
            if (status != TESS_OK) {
                assert_int_equal(status, TESS_E_MEMORY);
                n_stopped++;
                n_found += unit_exists(unit_path("work/autoreject.fit.000001.ckpt"));
                ctx = context_of(1 + (int32_t)(k % 2), k % 4 < 2 ? 0 : limits[1], NULL);
                assert_ok(fit(ctx, &kept, &got));
                tess_context_destroy(ctx);
            }
            assert_memory_equal(&got, &want, sizeof want);
            assert_false(unit_exists(folder));
        }
        assert_true(n_stopped > 4 && n_found > n_stopped / 3);
    }
}

// Leaves a checkpoint behind.
static void stop_half_way(const char *folder)
{
    const tess_autoreject_fit_config kept = config_of(folder, 1);
    for (long long k = 50;; k += 10) {
        answer got;
        assert_int_equal(fit_and_stop(1, 0, k, &kept, &got), TESS_E_MEMORY);
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stops_anywhere_give_the_same_bits),
                                       cmocka_unit_test(other_fits_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
