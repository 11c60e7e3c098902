#include "decode_hmm_run.h"

#include "systems/decode/states/hmm_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void *zeros(int64_t n, size_t bytes)
{
    void *block = calloc((size_t)n + 1, bytes);
    assert_non_null(block);
    return block;
}

run new_run(tess_de_hmm *hmm, int32_t n_state, int64_t n_row, int32_t dtype)
{
    const int64_t n_bin = tess_de_hmm_bins(hmm);
    const size_t item = dtype == TESS_F32 ? 4 : 8;
    return (run){.hmm = hmm,
                 .n_row = n_row,
                 .n_bin = n_bin,
                 .n_state = n_state,
                 .dtype = dtype,
                 .filtered = zeros(n_row * n_bin, item),
                 .causal = zeros(n_row * n_bin, item),
                 .predicted = zeros(n_row * n_bin, item),
                 .causal_states = zeros(n_row * n_state, 8),
                 .predictive_states = zeros(n_row * n_state, 8),
                 .acausal_states = zeros(n_row * n_state, 8),
                 .carry = zeros(n_bin, 8),
                 .next = zeros(n_bin, 8)};
}

void free_run(run *r)
{
    free(r->filtered);
    free(r->causal);
    free(r->predicted);
    free(r->causal_states);
    free(r->predictive_states);
    free(r->acausal_states);
    free(r->carry);
    free(r->next);
}

tess_de_hmm_chunk chunk_of(const run *r, const void *ll, int32_t ll_dtype, int64_t n_ll,
                           const double *transition, int64_t stride, int64_t first, int64_t n)
{
    const size_t item = r->dtype == TESS_F32 ? 4 : 8;
    const size_t ll_item = ll_dtype == TESS_F32 ? 4 : 8;
    return (tess_de_hmm_chunk){.n_row = n,
                               .ll = (const char *)ll + (size_t)(first * n_ll) * ll_item,
                               .ll_dtype = ll_dtype,
                               .dtype = r->dtype,
                               .transition = transition + first * stride,
                               .transition_stride = stride,
                               .filtered = (char *)r->filtered + (size_t)(first * r->n_bin) * item,
                               .predicted =
                                   (char *)r->predicted + (size_t)(first * r->n_bin) * item,
                               .causal_states = r->causal_states + first * r->n_state,
                               .predictive_states = r->predictive_states + first * r->n_state,
                               .acausal_states = r->acausal_states + first * r->n_state};
}

void go(tess_context *ctx, run *r, const void *ll, int32_t ll_dtype, int64_t n_ll,
        const double *initial, const double *transition, int64_t stride, int64_t chunk_rows)
{
    const size_t item = r->dtype == TESS_F32 ? 4 : 8;
    memcpy(r->carry, initial, (size_t)r->n_bin * 8);
    r->end = (tess_de_hmm_carry){.predicted = r->carry, .first_impossible = -1};
    const int64_t n_chunk = (r->n_row + chunk_rows - 1) / chunk_rows;
    for (int64_t c = 0; c < n_chunk; c++) {
        const int64_t first = c * chunk_rows;
        const int64_t n = first + chunk_rows < r->n_row ? chunk_rows : r->n_row - first;
        const tess_de_hmm_chunk chunk =
            chunk_of(r, ll, ll_dtype, n_ll, transition, stride, first, n);
        assert_ok(tess_de_hmm_filter(ctx, ctx->device, r->hmm, &chunk, &r->end));
    }
    memcpy(r->causal, r->filtered, (size_t)(r->n_row * r->n_bin) * item);
    for (int64_t c = n_chunk - 1; c >= 0; c--) {
        const int64_t first = c * chunk_rows;
        const int64_t n = first + chunk_rows < r->n_row ? chunk_rows : r->n_row - first;
        const tess_de_hmm_chunk chunk =
            chunk_of(r, ll, ll_dtype, n_ll, transition, stride, first, n);
        assert_ok(tess_de_hmm_smooth(ctx, ctx->device, r->hmm, &chunk, c == n_chunk - 1, r->next));
    }
}

void check_rows(const run *r, const void *got, const double *want, double tolerance)
{
    for (int64_t i = 0; i < r->n_row * r->n_bin; i++) {
        const double value =
            r->dtype == TESS_F32 ? (double)((const float *)got)[i] : ((const double *)got)[i];
        if (!(fabs(value - want[i]) <= tolerance)) {
            fail_msg("row %lld, bin %lld: got %.17g, want %.17g", (long long)(i / r->n_bin),
                     (long long)(i % r->n_bin), value, want[i]);
        }
    }
}

// Rows first.. of a chunk of f64; shift 1: with the transitions that lead to them.
static tess_de_hmm_chunk rows_of(const tess_de_hmm *hmm, const tess_de_hmm_chunk *all,
                                 int64_t first, int64_t n, int64_t shift)
{
    tess_de_hmm_chunk part = *all;
    part.n_row = n;
    part.ll = (const double *)all->ll + first * hmm->model.n_ll;
    part.transition += (first > 0 ? first - shift : 0) * all->transition_stride;
    return part;
}

// Back for the ends of the runs, then forward along the path.
static tess_status find_path(tess_de_path *path, const tess_de_hmm *hmm,
                             const tess_de_hmm_chunk *all, const double *initial, int64_t rows,
                             double *ends, double *scores, double *early, int64_t *bins)
{
    const int64_t n_bin = tess_de_hmm_bins(hmm);
    const int64_t n_run = (all->n_row + rows - 1) / rows;
    tess_status status = TESS_OK;
    for (int64_t k = 2 * n_run - 1; k >= 0 && status == TESS_OK; k--) {
        const int64_t i = k >= n_run ? k - n_run : n_run - 1 - k;
        const int64_t first = i * rows;
        const int64_t n = all->n_row - first < rows ? all->n_row - first : rows;
        const tess_de_hmm_chunk part = rows_of(hmm, all, first, n, 0);
        tess_de_hmm_chunk there = rows_of(hmm, all, first, n, 1);
        if (first == 0 && all->transition_stride > 0) { // nothing leads to the first row
            memcpy(early + all->transition_stride, all->transition,
                   (size_t)((n - 1) * all->transition_stride) * sizeof *early);
            there.transition = early;
        }
        status = tess_de_path_scores(path, &part, i == n_run - 1 ? NULL : ends + (i + 1) * n_bin,
                                     k < n_run ? scores : NULL, ends + i * n_bin);
        if (status == TESS_OK && k < n_run) {
            status = tess_de_path_trace(path, &there, scores, initial,
                                        first > 0 ? bins[first - 1] : -1, bins + first);
        }
    }
    return status;
}

tess_status go_path(tess_context *ctx, const tess_de_hmm *hmm, const tess_de_hmm_chunk *all,
                    const double *initial, int64_t rows, int64_t *bins)
{
    const int64_t n_bin = tess_de_hmm_bins(hmm);
    double *ends = zeros((all->n_row / rows + 2) * n_bin, sizeof *ends);
    double *scores = zeros(rows * n_bin, sizeof *scores);
    double *early = zeros((rows + 1) * (all->transition_stride + 1), sizeof *early);
    tess_de_path *path = NULL;
    tess_status status = tess_de_path_create(ctx, hmm, &path);
    if (status == TESS_OK) {
        status = find_path(path, hmm, all, initial, rows, ends, scores, early, bins);
    }
    tess_de_path_destroy(path);
    free(early);
    free(ends);
    free(scores);
    return status;
}
