// Movement counted from a position series.
#include "base/status.h"
#include "systems/decode/places/environment.h"
#include "tessera/decode/detector.h"

#include <string.h>

enum { ROWS_PER_BLOCK = 8 };

typedef struct product_job {
    const double *left;
    const double *right;
    double *out;
    int64_t n;
} product_job;

// Rows of a product of sparse-ish matrices: zeros on the left cost nothing.
static tess_status product_rows(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const product_job *job = arg;
    const int64_t n = job->n;
    for (int64_t k = 0; k < ROWS_PER_BLOCK; k++) {
        const int64_t a = block * ROWS_PER_BLOCK + k;
        if (a >= n) {
            break;
        }
        double *row = job->out + a * n;
        memset(row, 0, (size_t)n * sizeof *row);
        for (int64_t c = 0; c < n; c++) {
            const double x = job->left[a * n + c];
            const double *right = job->right + c * n;
            for (int64_t b = 0; b < n && x != 0; b++) {
                row[b] += x * right[b];
            }
        }
    }
    return TESS_OK;
}

static tess_status multiply(tess_context *ctx, const double *left, const double *right, int64_t n,
                            double *out)
{
    product_job job = {left, right, out, n};
    TESS_TRY(tess_context_check_cancel(ctx));
    return tess_parallel_for(ctx->pool, (n + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK, product_rows,
                             &job);
}

// matrix := matrix^power, by squaring.
static tess_status raise(tess_context *ctx, double *matrix, int64_t n, int64_t power)
{
    tess_status status = TESS_OK;
    tess_blocks blocks;
    tess_blocks_init(&blocks, &ctx->heap);
    double *square = tess_blocks_alloc(&blocks, n * n, sizeof *square, "movement matrix");
    double *spare = tess_blocks_alloc(&blocks, n * n, sizeof *spare, "movement matrix");
    if (!square || !spare) {
        status = TESS_E_MEMORY;
    } else {
        memcpy(square, matrix, (size_t)(n * n) * sizeof *square);
    }
    // Highest bit first: square what is there, multiply by the matrix itself where a bit is set.
    int64_t bit = 1;
    while (bit <= power / 2) {
        bit *= 2;
    }
    double *result = matrix;
    for (bit /= 2; bit > 0 && status == TESS_OK; bit /= 2) {
        status = multiply(ctx, result, result, n, spare);
        if (status == TESS_OK && (power & bit)) {
            status = multiply(ctx, spare, square, n, result);
        } else if (status == TESS_OK) {
            memcpy(result, spare, (size_t)(n * n) * sizeof *spare);
        }
    }
    tess_blocks_free(&blocks);
    return status;
}

// Counts steps between kept samples; what lies between two kept ones is skipped.
static tess_status count_steps(const tess_decode_environment *env, const double *position,
                               int64_t n_sample, const uint8_t *is_training, int time_reversed,
                               double *out)
{
    int has_last = 0;
    int64_t last = -1;
    for (int64_t k = 0; k < n_sample; k++) {
        if (is_training && !is_training[k]) {
            continue;
        }
        double place[TESS_DECODE_MAX_DIM];
        TESS_TRY(tess_decode_place(env, position + k * env->info.n_dim, 1, place));
        const int64_t bin = tess_de_histogram_bin(&env->info, place);
        if (has_last && last >= 0 && bin >= 0) {
            const int64_t from = time_reversed ? bin : last;
            const int64_t to = time_reversed ? last : bin;
            out[from * env->info.n_bin + to] += 1;
        }
        has_last = 1;
        last = bin;
    }
    return TESS_OK;
}

tess_status tess_decode_empirical_movement(tess_context *ctx, const tess_decode_environment *env,
                                           const double *position, int64_t n_sample,
                                           const uint8_t *is_training, int64_t speedup,
                                           int time_reversed, double *out)
{
    tess_error_clear();
    const int64_t n = env->info.n_bin;
    if (speedup < 1) {
        TESS_FAIL(TESS_E_ARGUMENT, "speedup: is %lld; expected 1 or more", (long long)speedup);
    }
    if (n_sample < 0 || (n_sample > 0 && !position)) {
        TESS_FAIL(TESS_E_ARGUMENT, "position: %lld samples, but no data", (long long)n_sample);
    }
    memset(out, 0, (size_t)(n * n) * sizeof *out);
    TESS_TRY(count_steps(env, position, n_sample, is_training, time_reversed, out));
    for (int64_t a = 0; a < n; a++) {
        double sum = 0;
        for (int64_t b = 0; b < n; b++) {
            sum += out[a * n + b];
        }
        for (int64_t b = 0; b < n && sum > 0; b++) {
            out[a * n + b] /= sum;
        }
    }
    return speedup > 1 ? raise(ctx, out, n, speedup) : TESS_OK;
}
