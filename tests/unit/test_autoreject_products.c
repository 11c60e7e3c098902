// The stages that multiply weights with samples, against plain sums, for any strides and threads.
#include "unit.h"

#include "runtime/context.h"
#include "stage/autoreject_interpolation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double *some(int64_t n, double seed)
{
    double *x = malloc((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++) {
        x[i] = sin(seed * (double)(i + 1));
    }
    return x;
}

static void run(tess_context *ctx, int32_t stage, const void *args, size_t bytes)
{
    const tess_backend *backend = ctx->device->backend;
    assert_ok(backend->enqueue(ctx->device->queue, stage, args, bytes));
    assert_ok(backend->finish(ctx->device->queue));
}

// gap: items between rows that belong to nobody and must stay.
static void augment(int32_t n_thread, int64_t n_epoch, int64_t n_row, int64_t n_chan, int64_t width,
                    int64_t gap)
{
    tess_context *ctx = unit_context(n_thread, 0);
    tess_stage_autoreject_augment a = {.n_epoch = n_epoch,
                                       .n_row = n_row,
                                       .n_chan = n_chan,
                                       .width = width,
                                       .stride_chan = width + gap,
                                       .stride_epoch = n_chan * (width + gap) + gap,
                                       .out_stride_row = width + gap,
                                       .out_stride_epoch = n_row * (width + gap) + gap};
    double *w = some(n_row * n_chan, 0.7);
    double *x = some(n_epoch * a.stride_epoch, 1.3);
    double *out = malloc((size_t)(n_epoch * a.out_stride_epoch) * sizeof *out);
    for (int64_t i = 0; i < n_epoch * a.out_stride_epoch; i++) {
        out[i] = -7;
    }
    a.w = w, a.x = x, a.out = out;
    run(ctx, TESS_STAGE_AUTOREJECT_AUGMENT, &a, sizeof a);
    for (int64_t i = 0; i < n_epoch * a.out_stride_epoch; i++) {
        const int64_t e = i / a.out_stride_epoch;
        const int64_t r = i % a.out_stride_epoch / a.out_stride_row;
        const int64_t t = i % a.out_stride_epoch % a.out_stride_row;
        double want = -7;
        if (r < n_row && t < width) {
            want = 0;
            for (int64_t c = 0; c < n_chan; c++) {
                want = fma(w[r * n_chan + c], x[e * a.stride_epoch + c * a.stride_chan + t], want);
            }
        }
        assert_true(out[i] == want);
    }
    free(w);
    free(x);
    free(out);
    tess_context_destroy(ctx);
}

static void augmentation_is_the_product(void **state)
{
    (void)state;
    augment(1, 1, 1, 1, 1, 0);
    augment(2, 40, 13, 13, 16, 0);  // tiles
    augment(3, 9, 24, 24, 16, 3);   // with gaps
    augment(2, 3, 130, 130, 90, 1); // epochs that are cut, more channels than a block holds
    augment(2, 2, 7, 300, 33, 0);   // a few rows from many
    augment(1, 0, 5, 5, 16, 0);     // nothing
}

enum { N_CHAN = 11, N_REPAIR = 5, WIDTH = 21, N_ROW = 14 };
static const int64_t first[N_REPAIR + 1] = {4, 5, 8, 8, 10, 14};
static const int32_t bad[10] = {3, 0, 4, 10, 1, 2, 0, 1, 2, 9};
static const int64_t epoch[N_REPAIR] = {6, 0, 2, 3, 1};
static const int32_t rows[N_CHAN] = {13, 0, 2, 3, 4, 5, 6, 7, 8, 9, 11};

static bool is_bad(int64_t repair, int32_t channel)
{
    for (int64_t k = first[repair]; k < first[repair + 1]; k++) {
        if (bad[k - first[0]] == channel) {
            return true;
        }
    }
    return false;
}

static void repair(int32_t n_thread, bool is_in_place)
{
    tess_context *ctx = unit_context(n_thread, 0);
    double *w = some(10 * N_CHAN, 0.3);
    double *x = some(7 * N_ROW * WIDTH, 1.1);
    double out[10 * WIDTH];
    for (int64_t j = 0; j < N_REPAIR; j++) { // what is bad is not read
        for (int64_t k = first[j]; k < first[j + 1]; k++) {
            double *row = x + (epoch[j] * N_ROW + rows[bad[k - first[0]]]) * WIDTH;
            for (int64_t t = 0; t < WIDTH; t++) {
                row[t] = (double)NAN;
            }
        }
    }
    double *before = malloc(7 * N_ROW * WIDTH * sizeof *before);
    memcpy(before, x, 7 * N_ROW * WIDTH * sizeof *before);
    const tess_stage_autoreject_repair a = {.rows = rows,
                                            .epoch = epoch,
                                            .first = first,
                                            .bad = bad,
                                            .w = w,
                                            .x = x,
                                            .out = is_in_place ? NULL : out,
                                            .n_repair = N_REPAIR,
                                            .n_chan = N_CHAN,
                                            .width = WIDTH,
                                            .stride_epoch = N_ROW * WIDTH,
                                            .stride_chan = WIDTH,
                                            .n_part = 1};
    run(ctx, TESS_STAGE_AUTOREJECT_REPAIR, &a, sizeof a);
    for (int64_t j = 0; j < N_REPAIR; j++) {
        for (int64_t k = first[j] - first[0]; k < first[j + 1] - first[0]; k++) {
            double *target = before + (epoch[j] * N_ROW + rows[bad[k]]) * WIDTH;
            for (int64_t t = 0; t < WIDTH; t++) {
                double want = 0;
                for (int32_t c = 0; c < N_CHAN; c++) {
                    const double sample = before[(epoch[j] * N_ROW + rows[c]) * WIDTH + t];
                    want = is_bad(j, c) ? want : fma(w[k * N_CHAN + c], sample, want);
                }
                const double *row = x + (epoch[j] * N_ROW + rows[bad[k]]) * WIDTH;
                assert_true((is_in_place ? row[t] : out[k * WIDTH + t]) == want);
                target[t] = is_in_place ? want : target[t];
            }
        }
    }
    assert_memory_equal(x, before, 7 * N_ROW * WIDTH * sizeof *x);
    free(before);
    free(w);
    free(x);
    tess_context_destroy(ctx);
}

static void repairs_are_products(void **state)
{
    (void)state;
    for (int32_t n_thread = 1; n_thread <= 3; n_thread++) {
        repair(n_thread, false);
        repair(n_thread, true);
    }
}

// Parts of an epoch are what as many calls would give.
static void parts_are_repaired_alike(void **state)
{
    (void)state;
    enum { N_PART = 3, PART = 7 * N_ROW * WIDTH + 5, OUT = 10 * WIDTH + 2 };
    tess_context *ctx = unit_context(2, 0);
    double *w = some(10 * N_CHAN, 0.3), *x = some(N_PART * PART, 1.1);
    double want[N_PART * OUT] = {0}, got[N_PART * OUT] = {0};
    tess_stage_autoreject_repair a = {.rows = rows,
                                      .epoch = epoch,
                                      .first = first,
                                      .bad = bad,
                                      .w = w,
                                      .n_repair = N_REPAIR,
                                      .n_chan = N_CHAN,
                                      .width = WIDTH,
                                      .stride_epoch = N_ROW * WIDTH,
                                      .stride_chan = WIDTH,
                                      .n_part = 1};
    for (int64_t i = 0; i < N_PART; i++) {
        a.x = x + i * PART;
        a.out = want + i * OUT;
        run(ctx, TESS_STAGE_AUTOREJECT_REPAIR, &a, sizeof a);
    }
    a.x = x;
    a.out = got;
    a.n_part = N_PART;
    a.stride_part = PART;
    a.out_stride_part = OUT;
    run(ctx, TESS_STAGE_AUTOREJECT_REPAIR, &a, sizeof a);
    assert_memory_equal(got, want, sizeof got);
    free(w);
    free(x);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(augmentation_is_the_product),
        cmocka_unit_test(repairs_are_products),
        cmocka_unit_test(parts_are_repaired_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
