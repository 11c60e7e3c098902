// Votes, repairs and losses of the original, stage by stage.
#include "autoreject_data.h"
#include "systems/autoreject/local/local.h"
#include "unit_golden.h"

#include <string.h>

typedef struct golden {
    const char *file;
    ar_data data; // the picked channels
    int64_t *channels;
    tess_ar_store store;
    tess_ar_repairer *repairer;
    double *consensus;
    int64_t n_consensus;
    int64_t *n_interpolate;
    int64_t n_n_interpolate;
    uint8_t *folds;
    int64_t n_fold;
    int8_t *labels;
    int64_t *counts;
} golden;

// Picked channels of an array [n_epoch][n_all][n_time].
static double *pick(const double *x, int64_t n_epoch, int64_t n_all, int64_t n_time,
                    const int64_t *picks, int64_t n_pick)
{
    double *out = malloc((size_t)(n_epoch * n_pick * n_time) * sizeof *out);
    for (int64_t e = 0; e < n_epoch; e++) {
        for (int64_t c = 0; c < n_pick; c++) {
            memcpy(out + (e * n_pick + c) * n_time, x + (e * n_all + picks[c]) * n_time,
                   (size_t)n_time * sizeof *out);
        }
    }
    return out;
}

static void open_data(tess_context *ctx, golden *g)
{
    int64_t n_pick = 0;
    int64_t n_position = 0;
    int64_t n_delta = 0;
    int64_t n_x = 0;
    int64_t *picks = golden_i64(ctx, g->file, "picks", &n_pick);
    double *position = golden_f64(ctx, g->file, "pos", &n_position);
    double *x = golden_f64(ctx, g->file, "X", &n_x);
    free(golden_f64(ctx, g->file, "delta", &n_delta));
    const int64_t n_all = n_position / 3;
    const int64_t n_epoch = n_delta / n_pick;
    g->data = ar_data_make(ctx, n_epoch, n_pick, n_x / n_all / n_epoch, 1);
    tess_autoreject_epochs_close(g->data.epochs);
    free(g->data.x);
    g->data.x = pick(x, n_epoch, n_all, g->data.n_time, picks, n_pick);
    g->channels = malloc((size_t)n_pick * sizeof *g->channels);
    for (int64_t c = 0; c < n_pick; c++) {
        memcpy(g->data.channels[c].loc, position + 3 * picks[c], 3 * sizeof *position);
        g->channels[c] = c;
    }
    ar_data_open(ctx, &g->data);
    free(picks);
    free(position);
    free(x);
}

static golden open_golden(tess_context *ctx, const char *file)
{
    golden g = {.file = file};
    open_data(ctx, &g);
    const int64_t n = g.data.n_epoch;
    g.consensus = golden_f64(ctx, file, "consensus", &g.n_consensus);
    g.n_interpolate = golden_i64(ctx, file, "n_interpolate", &g.n_n_interpolate);
    g.n_fold = (int64_t)golden_scalar(ctx, file, "n_folds");
    g.folds = malloc((size_t)(g.n_fold * n));
    g.labels = malloc((size_t)(n * g.data.n_chan));
    g.counts = malloc((size_t)n * sizeof *g.counts);
    assert_ok(tess_ar_contiguous_folds(n, g.n_fold, g.folds));
    const tess_ar_store_request request = {.device = ctx->device,
                                           .epochs = g.data.epochs,
                                           .channels = g.channels,
                                           .n_chan = g.data.n_chan,
                                           .memory_bytes = UINT64_MAX};
    assert_ok(tess_ar_store_create(ctx, &request, &g.store));
    assert_ok(tess_ar_repairer_create(ctx, &g.data.sensors, g.channels, g.data.n_chan, NULL,
                                      &g.repairer));
    return g;
}

static void close_golden(golden *g)
{
    tess_ar_repairer_destroy(g->repairer);
    tess_ar_store_close(&g->store);
    ar_data_free(&g->data);
    free(g->channels);
    free(g->consensus);
    free(g->n_interpolate);
    free(g->folds);
    free(g->labels);
    free(g->counts);
}

static void check_votes(tess_context *ctx, golden *g)
{
    int64_t n = 0;
    double *delta = golden_f64(ctx, g->file, "delta", &n);
    double *thresholds = golden_f64(ctx, g->file, "thr_bo", NULL);
    int64_t *votes = golden_i64(ctx, g->file, "votes", NULL);
    int64_t *counts = golden_i64(ctx, g->file, "counts", NULL);
    int64_t *labels_cv = golden_i64(ctx, g->file, "labels_cv", NULL);
    assert_memory_equal(g->store.delta, delta, (size_t)n * sizeof *delta);
    assert_ok(tess_ar_votes(g->store.device, g->store.delta, thresholds, g->data.n_epoch,
                            g->data.n_chan, g->labels, g->counts));
    for (int64_t i = 0; i < n; i++) {
        assert_int_equal(g->labels[i], votes[i]);
    }
    assert_memory_equal(g->counts, counts, (size_t)g->data.n_epoch * sizeof *counts);
    int8_t *labels = malloc((size_t)n);
    memcpy(labels, g->labels, (size_t)n);
    for (int64_t j = 0; j < g->n_n_interpolate; j++) {
        tess_ar_select_repairs(labels, g->store.delta, g->data.n_epoch, g->data.n_chan,
                               g->n_interpolate[j]);
        for (int64_t i = 0; i < n; i++) {
            assert_int_equal(labels[i], labels_cv[j * n + i]);
        }
    }
    free(labels);
    free(delta);
    free(thresholds);
    free(votes);
    free(counts);
    free(labels_cv);
}

// Losses to 1e-10, infinite ones where they are, equal ones where they are.
static void check_losses(tess_context *ctx, const golden *g, int32_t rho_mode, const char *name)
{
    int64_t n = 0;
    double *want = golden_f64(ctx, g->file, name, &n);
    double *loss = malloc((size_t)n * sizeof *loss);
    tess_ar_store store = g->store;
    const tess_ar_local_request request = {.store = &store,
                                           .repairer = g->repairer,
                                           .labels = g->labels,
                                           .counts = g->counts,
                                           .consensus = g->consensus,
                                           .n_consensus = g->n_consensus,
                                           .n_interpolate = g->n_interpolate,
                                           .n_n_interpolate = g->n_n_interpolate,
                                           .rho_mode = rho_mode,
                                           .folds = g->folds,
                                           .n_fold = g->n_fold};
    tess_ar_local_result result = {.loss = loss};
    assert_ok(tess_ar_local_search(ctx, &request, &result));
    int64_t n_equal = 0;
    for (int64_t i = 0; i < n; i++) {
        assert_true(loss[i] == want[i] || fabs(loss[i] - want[i]) <= 1e-10 * want[i]);
        for (int64_t k = i % g->n_fold; k < i && isfinite(want[i]); k += g->n_fold) {
            assert_int_equal(loss[i] == loss[k], want[i] == want[k]);
            n_equal += want[i] == want[k];
        }
    }
    assert_true(n_equal > 50);
    const bool cumulative = rho_mode == TESS_AUTOREJECT_RHO_CUMULATIVE;
    assert_true(g->consensus[result.consensus_index] ==
                golden_scalar(ctx, g->file, cumulative ? "kappa" : "kappa_independent"));
    assert_true((double)g->n_interpolate[result.n_interpolate_index] ==
                golden_scalar(ctx, g->file, cumulative ? "rho" : "rho_independent"));
    free(loss);
    free(want);
}

static void the_original_is_met(void **state)
{
    (void)state;
    static const char *const files[] = {"autoreject/ar01_eeg_40x24x60",
                                        "autoreject/ar02_eeg_odd_37x20x45"};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        tess_context *ctx = unit_context(2, 0);
        golden g = open_golden(ctx, files[i]);
        check_votes(ctx, &g);
        check_losses(ctx, &g, TESS_AUTOREJECT_RHO_CUMULATIVE, "loss");
        check_losses(ctx, &g, TESS_AUTOREJECT_RHO_INDEPENDENT, "loss_independent");
        close_golden(&g);
        tess_context_destroy(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_original_is_met)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
