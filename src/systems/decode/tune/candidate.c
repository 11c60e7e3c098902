// The score of one pair of bandwidths: every fold predicted by a model of the others.
#include "base/status.h"
#include "systems/decode/tune/tune.h"

#include <math.h>
#include <string.h>

// Everything but one fold.
static void mask_fold(tess_de_tuner *t, int64_t fold)
{
    const tess_de_folds *f = &t->folds;
    memcpy(t->mask, f->is_training, (size_t)f->n_sample);
    memset(t->mask + f->first[fold], 0, (size_t)(f->first[fold + 1] - f->first[fold]));
}

static tess_status add_rows(tess_de_tuner *t, const tess_decode_encoding *encoding, int64_t first,
                            int64_t n_row, double *sum, int64_t *n_spike)
{
    tess_array out;
    tess_decode_likelihood_report report = {.struct_size = sizeof report};
    TESS_TRY(tess_array_init(&out, t->rows, TESS_F64, 1, &n_row));
    TESS_TRY(tess_decode_local_log_likelihood(t->ctx, encoding, &t->observation, first, n_row, &out,
                                              &report));
    for (int64_t k = 0; k < n_row; k++) {
        *sum += t->rows[k];
    }
    *n_spike += report.n_spike;
    return TESS_OK;
}

static tess_status score_fold(tess_de_tuner *t, int64_t fold, double *sum, int64_t *n_spike)
{
    const int64_t *first = t->folds.first;
    tess_decode_encoding *encoding = NULL;
    mask_fold(t, fold);
    TESS_TRY(tess_decode_encoding_create(t->ctx, t->env, &t->training, &t->encoding, &encoding));
    // Nobody looks at the first row, which would be taken for the start of an observation.
    const tess_status status =
        add_rows(t, encoding, first[fold] + 1, first[fold + 1] - first[fold] - 1, sum, n_spike);
    tess_decode_encoding_destroy(encoding);
    return status;
}

static tess_status score(tess_de_tuner *t, tess_decode_tune_candidate *c, double *fold_scores)
{
    double total = 0;
    int64_t n_total = 0;
    for (int64_t fold = 0; fold < t->folds.n_fold; fold++) {
        double sum = 0;
        int64_t n_spike = 0;
        TESS_TRY(score_fold(t, fold, &sum, &n_spike));
        fold_scores[fold] = n_spike > 0 ? sum / (double)n_spike : (double)NAN;
        total += sum;
        n_total += n_spike;
        TESS_TRY(tess_watch_poll(&t->watch, ++t->n_done, t->n_most));
        // What is odd in the data was said by the first fit.
        t->ctx->log.level = t->ctx->log.level < TESS_LOG_ERROR ? t->ctx->log.level : TESS_LOG_ERROR;
    }
    if (n_total == 0) {
        TESS_FAIL(TESS_E_NUMERIC, "no held-out spike could be predicted: raise max_spikes, or see "
                                  "whether spikes and positions cover the same time");
    }
    t->n_spike = n_total;
    c->score = total / (double)n_total;
    return TESS_OK;
}

static bool is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

// A candidate known already, listed again as one of this sweep.
static tess_status repeat(tess_de_tuner *t, int64_t known, bool is_position, int64_t *index)
{
    const int64_t n_fold = t->folds.n_fold;
    *index = known;
    if (t->candidates[known].sweep == t->n_sweep || t->n_candidate == t->n_room) {
        return TESS_OK;
    }
    if (t->candidates[known].sweep > 0) {
        *index = t->n_candidate++;
        t->candidates[*index] = t->candidates[known];
        memcpy(t->fold_scores + *index * n_fold, t->fold_scores + known * n_fold,
               (size_t)n_fold * sizeof(double));
    }
    t->candidates[*index].sweep = t->n_sweep;
    t->candidates[*index].is_position = is_position;
    return TESS_OK;
}

tess_status tess_de_tune_try(tess_de_tuner *t, double position_std, double waveform_std,
                             bool is_position, int64_t *index)
{
    for (int64_t i = t->n_candidate - 1; i >= 0; i--) {
        if (is_same(t->candidates[i].position_std, position_std) &&
            is_same(t->candidates[i].waveform_std, waveform_std)) {
            return repeat(t, i, is_position, index);
        }
    }
    if (t->n_candidate == t->n_room) {
        TESS_FAIL(TESS_E_INTERNAL, "more candidates than a search makes");
    }
    tess_decode_tune_candidate *c = &t->candidates[t->n_candidate];
    *c = (tess_decode_tune_candidate){.position_std = position_std,
                                      .waveform_std = waveform_std,
                                      .sweep = t->n_sweep,
                                      .is_position = is_position};
    t->encoding.position_std = position_std;
    t->encoding.waveform_std = t->has_waveform ? waveform_std : t->encoding.waveform_std;
    TESS_TRY(score(t, c, t->fold_scores + t->n_candidate * t->folds.n_fold));
    *index = t->n_candidate++;
    if (t->tune.candidate &&
        t->tune.candidate(t->tune.user, position_std, waveform_std, c->score)) {
        TESS_FAIL(TESS_CANCELLED, "stopped by the caller");
    }
    return TESS_OK;
}
