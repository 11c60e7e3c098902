// Training time cut into blocks, and which of their rows are looked at.
#include "base/status.h"
#include "systems/decode/store/inputs.h"
#include "systems/decode/tune/tune.h"

#include <math.h>

// Stretches of a fold that are looked at where not all of it is.
enum { PIECES = 16 };
// A step of this many median ones is a gap, across which no position can be told.
static const double GAP = 1.5;

static bool is_tracked(const tess_decode_position *p, int64_t k)
{
    for (int64_t i = 0; i < p->n_dim; i++) {
        if (!isfinite(p->position[k * p->n_dim + i])) {
            return false;
        }
    }
    return true;
}

static int64_t mark_training(const tess_decode_training *t, tess_de_folds *f)
{
    int64_t n = 0;
    for (int64_t k = 0; k < f->n_sample; k++) {
        f->is_training[k] = (!t->is_training || t->is_training[k]) && is_tracked(&t->position, k);
        n += f->is_training[k];
    }
    return n;
}

// Blocks of equal numbers of training samples.
static void cut(tess_de_folds *f, int64_t n_training)
{
    int64_t seen = 0;
    int64_t fold = 0;
    for (int64_t k = 0; k < f->n_sample; k++) {
        while (fold < f->n_fold && f->is_training[k] && seen >= fold * n_training / f->n_fold) {
            f->first[fold++] = k;
        }
        seen += f->is_training[k];
    }
    f->first[f->n_fold] = f->n_sample;
}

// A row needs both of its samples, one step apart and of one fold: the rows at the ends of a fold
// touch the spikes that the others learn from.
static tess_status mark_missing(tess_context *ctx, const tess_decode_training *t, tess_de_folds *f)
{
    const double *time = t->position.time;
    double step = 0;
    TESS_TRY(tess_de_median_step(&ctx->heap, time, f->n_sample, &step));
    for (int64_t k = 0; k < f->n_sample; k++) {
        f->is_missing[k] = k + 1 >= f->n_sample || !f->is_training[k] || !f->is_training[k + 1] ||
                           time[k + 1] - time[k] > GAP * step;
    }
    for (int64_t i = 0; i < f->n_fold; i++) {
        f->is_missing[f->first[i]] = 1;
        f->is_missing[f->first[i + 1] - 1] = 1;
        f->is_missing[f->first[i + 1] > 1 ? f->first[i + 1] - 2 : 0] = 1;
    }
    return TESS_OK;
}

static tess_status count_spikes(tess_blocks *scratch, const tess_decode_training *t,
                                tess_de_folds *f)
{
    for (int64_t e = 0; e < t->spikes.n_electrode; e++) {
        const int64_t n = t->spikes.n_spike[e];
        int64_t *row = tess_blocks_alloc(scratch, n, sizeof *row, "rows of spikes");
        if (!row) {
            return TESS_E_MEMORY;
        }
        tess_decode_time_bin(t->position.time, f->n_sample, t->spikes.times[e], n, row);
        for (int64_t i = 0; i < n; i++) {
            f->n_held += row[i] >= 0 && !f->is_missing[row[i]];
        }
    }
    return TESS_OK;
}

// Of each of some stretches of a fold the first part is looked at.
static void choose_rows(tess_de_folds *f)
{
    for (int64_t fold = 0; fold < f->n_fold; fold++) {
        const int64_t begin = f->first[fold];
        const int64_t n = f->first[fold + 1] - begin;
        const int64_t n_piece = n < PIECES ? 1 : PIECES;
        f->longest = n > f->longest ? n : f->longest;
        for (int64_t i = 0; i < n_piece; i++) {
            const int64_t first = begin + n * i / n_piece;
            const int64_t end = begin + n * (i + 1) / n_piece;
            const int64_t n_looked = (int64_t)ceil(f->share * (double)(end - first));
            for (int64_t k = first; k < end; k++) {
                f->is_missing[k] |= k >= first + n_looked;
                f->n_row += !f->is_missing[k];
            }
        }
    }
}

static tess_status make(tess_context *ctx, tess_blocks *memory,
                        const tess_decode_training *training, int64_t max_spikes, tess_de_folds *f)
{
    const int64_t n_training = mark_training(training, f);
    if (n_training < 4 * f->n_fold) {
        TESS_FAIL(TESS_E_NUMERIC,
                  "folds: %lld blocks of %lld training samples with a known position leave fewer "
                  "than 4 in each; pass fewer folds or more training data",
                  (long long)f->n_fold, (long long)n_training);
    }
    cut(f, n_training);
    TESS_TRY(mark_missing(ctx, training, f));
    TESS_TRY(count_spikes(memory, training, f));
    if (f->n_held == 0) {
        TESS_FAIL(TESS_E_NUMERIC,
                  "no spike lies between the %lld training samples: there is nothing to predict; "
                  "do the clocks of spikes and positions have the same origin?",
                  (long long)n_training);
    }
    f->share =
        max_spikes > 0 && max_spikes < f->n_held ? (double)max_spikes / (double)f->n_held : 1;
    choose_rows(f);
    return TESS_OK;
}

tess_status tess_de_folds_make(tess_context *ctx, tess_blocks *memory,
                               const tess_decode_training *training, int64_t n_fold,
                               int64_t max_spikes, tess_de_folds *out)
{
    const int64_t n = training->position.n_sample;
    const char *what = "folds";
    *out = (tess_de_folds){.n_fold = n_fold, .n_sample = n};
    out->first = tess_blocks_alloc(memory, n_fold + 1, sizeof *out->first, what);
    out->is_training = tess_blocks_alloc(memory, n, 1, what);
    out->is_missing = tess_blocks_alloc(memory, n, 1, what);
    if (!out->first || !out->is_training || !out->is_missing) {
        return TESS_E_MEMORY;
    }
    return make(ctx, memory, training, max_spikes, out);
}
