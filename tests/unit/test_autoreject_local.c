// The local search against the definition, and bits that depend on nothing but the problem.
#include "autoreject_data.h"
#include "systems/autoreject/local/local.h"
#include "unit_golden.h"

#include <string.h>

enum { MAX_KEEP = 64 };

typedef struct problem {
    ar_data data;
    int64_t *channels;
    double *thresholds;
    int8_t *labels;
    int64_t *counts;
    uint8_t *folds;
    int64_t n_fold;
    const double *consensus;
    int64_t n_consensus;
    const int64_t *n_interpolate;
    int64_t n_n_interpolate;
    int32_t rho_mode;
    tess_ar_repairer *repairer;
} problem;

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// Thresholds: a quantile of each channel's peak-to-peaks.
static void vote(tess_context *ctx, problem *p, double quantile)
{
    const int64_t n = p->data.n_epoch;
    const int64_t n_chan = p->data.n_chan;
    const tess_ar_store_request request = {.device = ctx->device,
                                           .epochs = p->data.epochs,
                                           .channels = p->channels,
                                           .n_chan = n_chan,
                                           .memory_bytes = UINT64_MAX};
    tess_ar_store store;
    assert_ok(tess_ar_store_create(ctx, &request, &store));
    double *column = malloc((size_t)n * sizeof *column);
    for (int64_t c = 0; c < n_chan; c++) {
        for (int64_t e = 0; e < n; e++) {
            column[e] = store.delta[e * n_chan + c];
        }
        qsort(column, (size_t)n, sizeof *column, by_value);
        p->thresholds[c] = column[(int64_t)(quantile * (double)(n - 1))];
    }
    free(column);
    assert_ok(
        tess_ar_votes(ctx->device, store.delta, p->thresholds, n, n_chan, p->labels, p->counts));
    tess_ar_store_close(&store);
}

static problem make(tess_context *ctx, int64_t n_epoch, int64_t n_chan, int64_t n_time,
                    int64_t n_fold, uint64_t seed)
{
    problem p = {.n_fold = n_fold};
    p.data = ar_data_make(ctx, n_epoch, n_chan, n_time, seed);
    p.channels = malloc((size_t)n_chan * sizeof *p.channels);
    for (int64_t c = 0; c < n_chan; c++) {
        p.channels[c] = c;
    }
    p.thresholds = malloc((size_t)n_chan * sizeof(double));
    p.labels = malloc((size_t)(n_epoch * n_chan));
    p.counts = malloc((size_t)n_epoch * sizeof(int64_t));
    p.folds = malloc((size_t)(n_fold * n_epoch));
    assert_ok(tess_ar_contiguous_folds(n_epoch, n_fold, p.folds));
    vote(ctx, &p, 0.8);
    assert_ok(tess_ar_repairer_create(ctx, &p.data.sensors, p.channels, n_chan, NULL, &p.repairer));
    return p;
}

static void drop(problem *p)
{
    tess_ar_repairer_destroy(p->repairer);
    ar_data_free(&p->data);
    free(p->channels);
    free(p->thresholds);
    free(p->labels);
    free(p->counts);
    free(p->folds);
}

static tess_ar_local_request request_of(const problem *p, tess_ar_store *store)
{
    return (tess_ar_local_request){.store = store,
                                   .repairer = p->repairer,
                                   .labels = p->labels,
                                   .counts = p->counts,
                                   .consensus = p->consensus,
                                   .n_consensus = p->n_consensus,
                                   .n_interpolate = p->n_interpolate,
                                   .n_n_interpolate = p->n_n_interpolate,
                                   .rho_mode = p->rho_mode,
                                   .folds = p->folds,
                                   .n_fold = p->n_fold};
}

static void open_store(tess_context *ctx, const problem *p, uint64_t memory, tess_ar_store *store)
{
    const tess_ar_store_request request = {.device = ctx->device,
                                           .epochs = p->data.epochs,
                                           .channels = p->channels,
                                           .n_chan = p->data.n_chan,
                                           .folder = unit_path("."),
                                           .memory_bytes = memory};
    assert_ok(tess_ar_store_create(ctx, &request, store));
}

static tess_status search(tess_context *ctx, const problem *p, double *loss,
                          tess_ar_local_result *result)
{
    tess_ar_store store;
    open_store(ctx, p, UINT64_MAX, &store);
    const tess_ar_local_request request = request_of(p, &store);
    *result = (tess_ar_local_result){.loss = loss};
    const tess_status status = tess_ar_local_search(ctx, &request, result);
    tess_ar_store_close(&store);
    return status;
}

// The data with the channels labelled 2 predicted from the others; *left_out where too few are.
static void repair_naively(const problem *p, const int8_t *labels, double *y, uint8_t *left_out)
{
    const ar_data *d = &p->data;
    const int64_t n_chan = d->n_chan;
    double *weights = malloc((size_t)(n_chan * n_chan) * sizeof *weights);
    int32_t *bad = malloc((size_t)n_chan * sizeof *bad);
    void *scratch = malloc(tess_ar_repairer_scratch(p->repairer, n_chan) + 64);
    memcpy(y, d->x, (size_t)(d->n_epoch * n_chan * d->n_time) * sizeof *y);
    for (int64_t e = 0; e < d->n_epoch; e++) {
        int64_t n_bad = 0;
        for (int64_t c = 0; c < n_chan; c++) {
            if (labels[e * n_chan + c] == 2) {
                bad[n_bad++] = (int32_t)c;
            }
        }
        const int64_t least = p->rho_mode == TESS_AUTOREJECT_RHO_CUMULATIVE ? 1 : 4;
        left_out[e] = n_bad > 0 && n_chan - n_bad < least;
        if (n_bad == 0 || left_out[e]) {
            continue;
        }
        assert_ok(tess_ar_repairer_weights(p->repairer, bad, n_bad, scratch, weights));
        for (int64_t k = 0; k < n_bad; k++) {
            for (int64_t t = 0; t < d->n_time; t++) {
                double sum = 0;
                for (int64_t c = 0; c < n_chan; c++) {
                    sum += weights[k * n_chan + c] * d->x[(e * n_chan + c) * d->n_time + t];
                }
                y[(e * n_chan + bad[k]) * d->n_time + t] = sum;
            }
        }
    }
    free(weights);
    free(bad);
    free(scratch);
}

static double median_naively(const problem *p, int64_t fold, int64_t c, int64_t t)
{
    const ar_data *d = &p->data;
    double values[512];
    int64_t n = 0;
    for (int64_t e = 0; e < d->n_epoch; e++) {
        if (p->folds[fold * d->n_epoch + e] == 2) {
            values[n++] = d->x[(e * d->n_chan + c) * d->n_time + t];
        }
    }
    qsort(values, (size_t)n, sizeof *values, by_value);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static double loss_naively(const problem *p, const double *y, const uint8_t *left_out, double kappa,
                           int64_t rho, int64_t fold)
{
    const ar_data *d = &p->data;
    const double limit = kappa * (double)d->n_chan;
    double sse = 0;
    if (limit <= (double)rho) {
        return (double)INFINITY;
    }
    for (int64_t c = 0; c < d->n_chan; c++) {
        for (int64_t t = 0; t < d->n_time; t++) {
            double sum = 0;
            int64_t n = 0;
            for (int64_t e = 0; e < d->n_epoch; e++) {
                if (p->folds[fold * d->n_epoch + e] == 1 && (double)p->counts[e] < limit &&
                    !left_out[e]) {
                    sum += y[(e * d->n_chan + c) * d->n_time + t];
                    n++;
                }
            }
            if (n == 0) {
                return (double)INFINITY;
            }
            const double error = median_naively(p, fold, c, t) - sum / (double)n;
            sse += error * error;
        }
    }
    return sqrt(sse / (double)(d->n_chan * d->n_time));
}

static void search_naively(const problem *p, const double *delta, double *loss)
{
    const ar_data *d = &p->data;
    double *y = malloc((size_t)(d->n_epoch * d->n_chan * d->n_time) * sizeof *y);
    int8_t *labels = malloc((size_t)(d->n_epoch * d->n_chan));
    uint8_t *left_out = malloc((size_t)d->n_epoch);
    memcpy(labels, p->labels, (size_t)(d->n_epoch * d->n_chan));
    for (int64_t j = 0; j < p->n_n_interpolate; j++) {
        if (p->rho_mode == TESS_AUTOREJECT_RHO_INDEPENDENT) {
            memcpy(labels, p->labels, (size_t)(d->n_epoch * d->n_chan));
        }
        tess_ar_select_repairs(labels, delta, d->n_epoch, d->n_chan, p->n_interpolate[j]);
        repair_naively(p, labels, y, left_out);
        for (int64_t i = 0; i < p->n_consensus; i++) {
            for (int64_t f = 0; f < p->n_fold; f++) {
                loss[(i * p->n_n_interpolate + j) * p->n_fold + f] =
                    loss_naively(p, y, left_out, p->consensus[i], p->n_interpolate[j], f);
            }
        }
    }
    free(y);
    free(labels);
    free(left_out);
}

static void check_against_naive(tess_context *ctx, problem *p)
{
    const int64_t n = p->n_consensus * p->n_n_interpolate * p->n_fold;
    double *loss = malloc((size_t)n * sizeof *loss);
    double *want = malloc((size_t)n * sizeof *want);
    tess_ar_store store;
    open_store(ctx, p, UINT64_MAX, &store);
    for (int32_t mode = 0; mode < 2; mode++) {
        tess_ar_local_result result;
        p->rho_mode = mode;
        assert_ok(search(ctx, p, loss, &result));
        search_naively(p, store.delta, want);
        for (int64_t i = 0; i < n; i++) {
            assert_true(loss[i] == want[i] || fabs(loss[i] - want[i]) <= 1e-11 * want[i]);
        }
    }
    tess_ar_store_close(&store);
    free(loss);
    free(want);
}

static const double some_consensus[] = {0.5, 0, 0.1, 1, 0.3, 0.1, 0.9};
static const int64_t some_n_interpolate[] = {3, 1, 5};

static void losses_follow_the_definition(void **state)
{
    (void)state;
    static const int64_t sizes[][4] = {{24, 8, 20, 4}, {31, 11, 33, 5}, {40, 16, 16, 10}};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        tess_context *ctx = unit_context(2, 0);
        problem p = make(ctx, sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3], i);
        p.consensus = some_consensus;
        p.n_consensus = ARRAY_LEN(some_consensus);
        p.n_interpolate = some_n_interpolate;
        p.n_n_interpolate = ARRAY_LEN(some_n_interpolate);
        check_against_naive(ctx, &p);
        uint64_t s = i + 5; // folds of any kind: shuffled, overlapping, leaving epochs out
        for (int64_t k = 0; k < p.n_fold * p.data.n_epoch; k++) {
            p.folds[k] = (uint8_t)(3 * ar_uniform(&s));
        }
        check_against_naive(ctx, &p);
        drop(&p);
        tess_context_destroy(ctx);
    }
}

static void cells_that_keep_the_same_epochs_are_equal(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    problem p = make(ctx, 60, 20, 50, 10, 3);
    double consensus[41];
    for (int i = 0; i <= 40; i++) {
        consensus[i] = i / 40.0;
    }
    static const int64_t rhos[] = {19, 2, 18};
    p.consensus = consensus;
    p.n_consensus = 41;
    p.n_interpolate = rhos;
    p.n_n_interpolate = 3;
    double loss[41 * 3 * 10];
    tess_ar_local_result result;
    assert_ok(search(ctx, &p, loss, &result));
    int64_t n_equal = 0;
    for (int i = 1; i <= 40; i++) {
        int64_t n[2] = {0, 0};
        for (int64_t e = 0; e < 60; e++) {
            n[0] += (double)p.counts[e] < consensus[i - 1] * 20;
            n[1] += (double)p.counts[e] < consensus[i] * 20;
        }
        for (int k = 0; k < 30 && n[0] == n[1]; k++) {
            const double before = loss[(i - 1) * 30 + k];
            assert_true(isinf(before) || before == loss[i * 30 + k]);
            n_equal += isfinite(before);
        }
    }
    assert_true(n_equal > 100);
    // The first of the smallest means is chosen.
    double best = (double)INFINITY;
    int64_t at = -1;
    for (int64_t k = 0; k < 41 * 3; k++) {
        double mean = 0;
        for (int f = 0; f < 10; f++) {
            mean += loss[k * 10 + f];
        }
        if (mean / 10 < best) {
            best = mean / 10;
            at = k;
        }
    }
    assert_int_equal(result.consensus_index * 3 + result.n_interpolate_index, at);
    drop(&p);
    tess_context_destroy(ctx);
}

typedef struct keeper {
    int64_t n;
    int64_t tiles[MAX_KEEP];
    char *states[MAX_KEEP];
    size_t bytes;
} keeper;

static tess_status keep(void *user, int64_t n_tile_done, const void *kept, size_t bytes)
{
    keeper *k = user;
    k->tiles[k->n] = n_tile_done;
    k->states[k->n] = malloc(bytes);
    memcpy(k->states[k->n++], kept, bytes);
    k->bytes = bytes;
    return TESS_OK;
}

// A search that goes on from a kept state, with some threads and so much memory.
static void again(const problem *model, int32_t n_thread, uint64_t store_bytes, uint64_t bytes,
                  const keeper *k, int64_t from, double *loss)
{
    tess_context *ctx = unit_context(n_thread, 0);
    problem p =
        make(ctx, model->data.n_epoch, model->data.n_chan, model->data.n_time, model->n_fold, 4);
    p.consensus = model->consensus;
    p.n_consensus = model->n_consensus;
    p.n_interpolate = model->n_interpolate;
    p.n_n_interpolate = model->n_n_interpolate;
    tess_ar_store store;
    open_store(ctx, &p, store_bytes, &store);
    tess_ar_local_request request = request_of(&p, &store);
    request.memory_bytes = bytes;
    if (k) {
        request.resume_state = k->states[from];
        request.resume_bytes = k->bytes;
        request.resume_tiles = k->tiles[from];
    }
    tess_ar_local_result result = {.loss = loss};
    assert_ok(tess_ar_local_search(ctx, &request, &result));
    tess_ar_store_close(&store);
    drop(&p);
    tess_context_destroy(ctx);
}

static void bits_depend_on_the_problem_alone(void **state)
{
    (void)state;
    enum { CELLS = 7 * 3 * 5 };
    tess_context *ctx = unit_context(1, 0);
    problem p = make(ctx, 50, 140, 90, 5, 4); // 18 blocks a tile: groups of two tiles
    p.consensus = some_consensus;
    p.n_consensus = ARRAY_LEN(some_consensus);
    p.n_interpolate = some_n_interpolate;
    p.n_n_interpolate = ARRAY_LEN(some_n_interpolate);
    tess_ar_store store;
    open_store(ctx, &p, UINT64_MAX, &store);
    keeper k = {0};
    tess_ar_local_request request = request_of(&p, &store);
    request.keep = keep;
    request.user = &k;
    double want[CELLS];
    double loss[CELLS];
    tess_ar_local_result result = {.loss = want};
    assert_ok(tess_ar_local_search(ctx, &request, &result));
    assert_true(k.n >= 3);
    static const int32_t threads[] = {1, 2, 3, 7};
    static const uint64_t stores[] = {UINT64_MAX, 1200000};
    static const uint64_t limits[] = {0, 100000, 1};
    for (size_t i = 0; i < ARRAY_LEN(threads) * 6; i++) {
        again(&p, threads[i % 4], stores[i / 4 % 2], limits[i / 8], NULL, 0, loss);
        assert_memory_equal(loss, want, sizeof want);
    }
    for (int64_t i = 0; i < k.n; i++) {
        again(&p, 2, UINT64_MAX, 0, &k, i, loss);
        assert_memory_equal(loss, want, sizeof want);
    }
    request.resume_state = k.states[0];
    request.resume_bytes = k.bytes - 8;
    assert_fails(tess_ar_local_search(ctx, &request, &result), TESS_E_FORMAT, "not those");
    for (int64_t i = 0; i < k.n; i++) {
        free(k.states[i]);
    }
    tess_ar_store_close(&store);
    drop(&p);
    tess_context_destroy(ctx);
}

static void a_table_without_cells_is_refused(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    problem p = make(ctx, 20, 10, 20, 4, 1);
    static const double low[] = {0.1, 0.2};
    static const int64_t rhos[] = {4};
    double loss[2 * 4];
    tess_ar_local_result result;
    p.consensus = low;
    p.n_consensus = 2;
    p.n_interpolate = rhos;
    p.n_n_interpolate = 1;
    assert_fails(search(ctx, &p, loss, &result), TESS_E_NUMERIC,
                 "2 of 2 have consensus * 10 <= n_interpolate, and 0 keep no epoch");
    vote(ctx, &p, 0); // every epoch but the best has nearly all channels bad
    static const double high[] = {0.5};
    p.consensus = high;
    p.n_consensus = 1;
    assert_fails(search(ctx, &p, loss, &result), TESS_E_NUMERIC,
                 "0 of 1 have consensus * 10 <= n_interpolate, and 1 keep no epoch");
    drop(&p);
    tess_context_destroy(ctx);
}

static void epochs_with_too_few_sources_are_left_out(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    problem p = make(ctx, 24, 6, 20, 4, 2);
    static const double consensus[] = {1};
    static const int64_t rhos[] = {1, 5};
    p.consensus = consensus;
    p.n_consensus = 1;
    p.n_interpolate = rhos;
    p.n_n_interpolate = 2;
    int64_t n_left_out = 0;
    for (int64_t e = 0; e < 24; e++) {
        n_left_out += p.counts[e] > 2 && p.counts[e] < 6;
    }
    assert_true(n_left_out > 0);
    double loss[2 * 4];
    tess_ar_local_result result;
    assert_ok(search(ctx, &p, loss, &result));
    assert_int_equal(result.n_left_out, n_left_out);
    check_against_naive(ctx, &p);
    drop(&p);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_follow_the_definition),
        cmocka_unit_test(cells_that_keep_the_same_epochs_are_equal),
        cmocka_unit_test(bits_depend_on_the_problem_alone),
        cmocka_unit_test(a_table_without_cells_is_refused),
        cmocka_unit_test(epochs_with_too_few_sources_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
