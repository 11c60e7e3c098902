// The threshold search: golden objectives and thresholds, brute force on small data.
#include "autoreject_by_hand.h"
#include "unit.h"
#include "unit_golden.h"

#include "systems/autoreject/threshold/thresholds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A golden fit: its channels, and behind them the original's predictions as channels of their own,
// from which weights of 0 and 1 take them.
typedef struct golden_fit {
    const char *file;
    int64_t n_epoch, n_chan, n_time;
    uint32_t seed;
    double *x; // [n_epoch][2 n_chan][n_time]
    double *weights;
} golden_fit;

static golden_fit open_fit(tess_context *ctx, const char *file)
{
    golden_fit fit = {.file = file, .seed = (uint32_t)golden_scalar(ctx, file, "seed")};
    int64_t n_delta = 0, n_aug = 0, n_x = 0;
    double *x = golden_f64(ctx, file, "X", &n_x);
    double *x_aug = golden_f64(ctx, file, "X_aug", &n_aug);
    double *delta = golden_f64(ctx, file, "delta", &n_delta);
    int64_t *picks = golden_i64(ctx, file, "picks", &fit.n_chan);
    const int64_t n_chan = fit.n_chan, n_time = n_aug / n_delta;
    fit.n_epoch = n_delta / n_chan;
    fit.n_time = n_time;
    const int64_t n_all = n_x / fit.n_epoch / n_time;
    fit.x = malloc((size_t)(2 * n_aug) * sizeof(double));
    fit.weights = calloc((size_t)(4 * n_chan * n_chan), sizeof(double));
    for (int64_t e = 0; e < fit.n_epoch; e++) {
        double *to = fit.x + e * 2 * n_chan * n_time;
        for (int64_t c = 0; c < n_chan; c++) {
            memcpy(to + c * n_time, x + (e * n_all + picks[c]) * n_time,
                   (size_t)n_time * sizeof(double));
        }
        memcpy(to + n_chan * n_time, x_aug + e * n_chan * n_time,
               (size_t)(n_chan * n_time) * sizeof(double));
    }
    for (int64_t c = 0; c < 2 * n_chan; c++) {
        fit.weights[c * 2 * n_chan + n_chan + c % n_chan] = 1;
    }
    free(x);
    free(x_aug);
    free(delta);
    free(picks);
    return fit;
}

static void check_relative(const double *got, const double *want, int64_t n, double tolerance,
                           const char *what)
{
    for (int64_t i = 0; i < n; i++) {
        if (!(fabs(got[i] - want[i]) <= tolerance * fabs(want[i]))) {
            fail_msg("%s[%lld]: got %.17g, want %.17g", what, (long long)i, got[i], want[i]);
        }
    }
}

static void check_search(tess_context *ctx, const golden_fit *fit, tess_ar_store *store,
                         bool is_augmented, int32_t search, const char *name)
{
    const tess_ar_threshold_request request = {.store = store,
                                               .leave_one_out = is_augmented ? fit->weights : NULL,
                                               .search = search,
                                               .n_split = 10,
                                               .seed = fit->seed};
    tess_ar_threshold_result result;
    assert_ok(tess_ar_search_thresholds(ctx, &request, &result));
    double *want = golden_f64(ctx, fit->file, name, NULL);
    int64_t *is_stable = golden_i64(ctx, fit->file, "bo_stable", NULL);
    for (int64_t c = 0; c < fit->n_chan; c++) {
        // Stability was examined with augmentation.
        if (search != TESS_AUTOREJECT_SEARCH_COMPAT || !is_augmented || is_stable[c]) {
            check_relative(&result.thresholds[c], &want[c], 1, 1e-9, name);
        }
    }
    free(want);
    free(is_stable);
    tess_ar_threshold_result_destroy(&result);
}

static void check_objectives(tess_context *ctx, const golden_fit *fit, tess_ar_store *store)
{
    const tess_ar_threshold_request request = {
        .store = store, .leave_one_out = fit->weights, .n_split = 10, .seed = fit->seed};
    tess_ar_threshold_result result;
    assert_ok(tess_ar_search_thresholds(ctx, &request, &result));
    double *candidates = golden_f64(ctx, fit->file, "cand", NULL);
    double *objectives = golden_f64(ctx, fit->file, "J", NULL);
    const int64_t n_row = 2 * fit->n_epoch;
    for (int64_t c = 0, at = 0; c < fit->n_chan; at += result.n_candidate[c], c++) {
        assert_int_equal(result.n_candidate[c], n_row);
        check_relative(result.candidates + at, candidates + c * n_row, n_row, 1e-12, "cand");
        check_relative(result.candidate_objectives + at, objectives + c * n_row, n_row, 1e-12, "J");
        const double best = result.objectives[c];
        for (int64_t i = 0; i < n_row; i++) {
            assert_true(best <= result.candidate_objectives[at + i]);
        }
        assert_true(result.standard_errors[c] >= 0);
    }
    free(candidates);
    free(objectives);
    tess_ar_threshold_result_destroy(&result);
}

static void golden_thresholds(void **state)
{
    (void)state;
    static const char *const files[] = {"autoreject/ar01_eeg_40x24x60",
                                        "autoreject/ar02_eeg_odd_37x20x45"};
    tess_context *ctx = unit_context(2, 0);
    for (size_t k = 0; k < ARRAY_LEN(files); k++) {
        golden_fit fit = open_fit(ctx, files[k]);
        tess_ar_store store = store_of(ctx, fit.x, fit.n_epoch, 2 * fit.n_chan, fit.n_time);
        check_search(ctx, &fit, &store, false, TESS_AUTOREJECT_SEARCH_COMPAT, "thr_bo_noaug");
        check_search(ctx, &fit, &store, false, TESS_AUTOREJECT_SEARCH_RANDOM, "thr_random_noaug");
        add_predictions(&store, fit.x, fit.weights);
        check_objectives(ctx, &fit, &store);
        check_search(ctx, &fit, &store, true, TESS_AUTOREJECT_SEARCH_EXACT, "thr_exact");
        check_search(ctx, &fit, &store, true, TESS_AUTOREJECT_SEARCH_COMPAT, "thr_bo");
        check_search(ctx, &fit, &store, true, TESS_AUTOREJECT_SEARCH_RANDOM, "thr_random");
        drop_store(&store);
        free(fit.x);
        free(fit.weights);
    }
    tess_context_destroy(ctx);
}

// The case of the specification that needs no library to generate.
static void generated_case(void **state)
{
    (void)state;
    enum { N = 40, C = 16, T = 50 };
    static const double compat[] = {38.770817258, 38.383790565, 37.378797609, 37.653096205,
                                    110.03563465, 108.32102935, 39.266737591, 100.94046735,
                                    38.660830257, 38.618247158, 38.023623017, 38.508566901,
                                    38.375187086, 38.833222507, 102.05106230, 39.118513538};
    static const double random[] = {99.783309384, 58.445795647, 60.063520903, 59.473458483,
                                    97.749252582, 110.12195992, 99.477392756, 106.52323550,
                                    98.717006788, 99.513056361, 63.884379157, 59.377410841,
                                    59.699937581, 97.876657959, 106.61615836, 96.414218419};
    tess_context *ctx = unit_context(1, 0);
    double *x = malloc(sizeof(double) * N * C * T);
    uint64_t s = 12345;
    for (int64_t i = 0; i < N * C * T; i++) {
        const int64_t e = i / (C * T), c = i / T % C, t = i % T;
        const double pi = 3.14159265358979323846;
        s = (1103515245 * s + 12345) % ((uint64_t)1 << 31);
        const double u = (double)s / 2147483648.0;
        x[i] = 10e-6 * sin(2 * pi * (double)t / 25 + 0.3 * (double)c) + 20e-6 * (u - 0.5);
        x[i] += (7 * e + 3 * c) % 23 == 0 ? 80e-6 * sin(2 * pi * (double)t / 10) : 0;
        x[i] *= e == 5 || e == 12 || e == 22 ? 3 : 1;
    }
    tess_ar_store store = store_of(ctx, x, N, C, T);
    tess_ar_threshold_request request = {.store = &store, .n_split = 10, .seed = 42};
    for (int k = 0; k < 2; k++) {
        tess_ar_threshold_result result;
        request.search = k ? TESS_AUTOREJECT_SEARCH_RANDOM : TESS_AUTOREJECT_SEARCH_COMPAT;
        assert_ok(tess_ar_search_thresholds(ctx, &request, &result));
        for (int c = 0; c < C; c++) {
            const double microvolts = result.thresholds[c] * 1e6;
            check_relative(&microvolts, k ? &random[c] : &compat[c], 1, 1e-9, "G1");
        }
        tess_ar_threshold_result_destroy(&result);
    }
    drop_store(&store);
    free(x);
    tess_context_destroy(ctx);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// The loss of one split at v: means and medians by definition.
static double plain_loss(const double *rows, const double *delta, const uint8_t *is_validation,
                         int64_t stride, int64_t n_row, int64_t n_time, double v)
{
    double least = (double)INFINITY, sum = 0;
    double *column = malloc((size_t)n_row * sizeof *column);
    for (int64_t r = 0; r < n_row; r++) {
        least = is_validation[r * stride] ? least : fmin(least, delta[r]);
    }
    const double limit = v < least ? least : v;
    for (int64_t t = 0; t < n_time; t++) {
        int64_t n = 0, n_kept = 0;
        double mean = 0;
        for (int64_t r = 0; r < n_row; r++) {
            if (is_validation[r * stride]) {
                column[n++] = rows[r * n_time + t];
            } else if (delta[r] <= limit) {
                mean += rows[r * n_time + t];
                n_kept++;
            }
        }
        qsort(column, (size_t)n, sizeof *column, by_value);
        const double median = n % 2 ? column[n / 2] : (column[n / 2 - 1] + column[n / 2]) / 2;
        const double d = median - mean / (double)n_kept;
        sum += d * d;
    }
    free(column);
    return sqrt(sum / (double)n_time);
}

// All rows of a channel, own and predicted or copied.
static double *rows_of(const tess_ar_store *store, const double *x, const double *weights,
                       int64_t n_row, int64_t c, double *delta)
{
    const int64_t n_time = store->n_time, n_chan = store->n_chan;
    double *rows = calloc((size_t)(n_row * n_time), sizeof *rows);
    for (int64_t r = 0; r < n_row; r++) {
        const int64_t e = r % store->n_epoch;
        const bool is_predicted = r >= store->n_epoch && weights;
        for (int64_t t = 0; t < n_time; t++) {
            double value = is_predicted ? 0 : x[(e * n_chan + c) * n_time + t];
            for (int64_t i = 0; is_predicted && i < n_chan; i++) {
                value = fma(weights[c * n_chan + i], x[(e * n_chan + i) * n_time + t], value);
            }
            rows[r * n_time + t] = value;
        }
        delta[r] = (is_predicted ? store->delta_augmented : store->delta)[e * n_chan + c];
    }
    return rows;
}

static void check_channel(const tess_ar_threshold_request *request, const double *x,
                          const uint8_t *is_validation, int64_t n_row, int64_t c,
                          const tess_ar_threshold_result *result, int64_t at)
{
    double *delta = malloc((size_t)n_row * sizeof *delta);
    double *rows = rows_of(request->store, x, request->leave_one_out, n_row, c, delta);
    double *sorted = malloc((size_t)n_row * sizeof *sorted);
    memcpy(sorted, delta, (size_t)n_row * sizeof *sorted);
    qsort(sorted, (size_t)n_row, sizeof *sorted, by_value);
    int64_t n = 0, best = 0;
    for (int64_t i = 0; i < n_row; i++) {
        if (i > 0 && sorted[i] == sorted[i - 1]) {
            continue;
        }
        double objective = 0;
        for (int64_t s = 0; s < request->n_split; s++) {
            objective += plain_loss(rows, delta, is_validation + s, request->n_split, n_row,
                                    request->store->n_time, sorted[i]);
        }
        objective /= (double)request->n_split;
        assert_true(result->candidates[at + n] == sorted[i]);
        assert_near(&result->candidate_objectives[at + n], &objective, 1,
                    1e-12 * objective + 1e-20);
        best = result->candidate_objectives[at + n] < result->candidate_objectives[at + best]
                   ? n
                   : best;
        n++;
    }
    assert_int_equal(result->n_candidate[c], n);
    assert_true(result->thresholds[c] == result->candidates[at + best]);
    assert_true(result->objectives[c] == result->candidate_objectives[at + best]);
    free(delta);
    free(rows);
    free(sorted);
}

static void check_by_force(tess_context *ctx, tess_mt19937 *rng, int round)
{
    const int64_t n_epoch = 3 + (int64_t)tess_mt19937_interval(rng, 20), n_chan = 3;
    const int64_t n_time = 1 + (int64_t)tess_mt19937_interval(rng, 40);
    const int kind = round % 3; // no augmentation, predictions, copies
    double *x = random_epochs(rng, n_epoch, n_chan, n_time, round % 2 ? 1e-5 : 0);
    for (int64_t e = 0; e < n_epoch; e++) { // the last channel: constant, or equal epochs
        double *row = x + (e * n_chan + n_chan - 1) * n_time;
        for (int64_t t = 0; t < n_time; t++) {
            row[t] = round % 4 < 2 ? 2e-6 : (double)t * 1e-6;
        }
    }
    double weights[9];
    for (int i = 0; i < 9; i++) {
        weights[i] = i % 4 == 0 ? 0 : round % 2 ? 1 : tess_mt19937_double(rng);
    }
    tess_ar_store store = store_of(ctx, x, n_epoch, n_chan, n_time);
    if (kind == 1) {
        add_predictions(&store, x, weights);
    }
    const tess_ar_threshold_request request = {.store = &store,
                                               .leave_one_out = kind == 1 ? weights : NULL,
                                               .augment_with_copy = kind == 2,
                                               .n_split = 1 + round % 7,
                                               .seed = (uint32_t)round};
    const int64_t n_row = kind ? 2 * n_epoch : n_epoch;
    uint8_t *is_validation = malloc((size_t)(n_row * request.n_split));
    assert_ok(tess_ar_stratified_splits(ctx, n_row, n_epoch, request.n_split, request.seed,
                                        is_validation, NULL, NULL));
    tess_ar_threshold_result result;
    assert_ok(tess_ar_search_thresholds(ctx, &request, &result));
    for (int64_t c = 0, at = 0; c < n_chan; at += result.n_candidate[c], c++) {
        check_channel(&request, x, is_validation, n_row, c, &result, at);
        assert_true(request.n_split > 1 ? result.standard_errors[c] >= 0
                                        : isnan(result.standard_errors[c]));
    }
    tess_ar_threshold_result_destroy(&result);
    drop_store(&store);
    free(is_validation);
    free(x);
}

static void brute_force_agrees(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    tess_mt19937 rng;
    tess_mt19937_seed(&rng, 11);
    for (int round = 0; round < (unit_is_quick() ? 24 : 240); round++) {
        check_by_force(ctx, &rng, round);
    }
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_thresholds),
        cmocka_unit_test(generated_case),
        cmocka_unit_test(brute_force_agrees),
    };
    return cmocka_run_group_tests_name("autoreject_thresholds", tests, NULL, NULL);
}
