// The score of a result, and the grades that go with it.
#include "systems/decode/report/score.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/decode/report/facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int32_t grade(double value, double good, double fair)
{
    return isnan(value)    ? TESS_DECODE_GRADE_NONE
           : value <= good ? TESS_DECODE_GRADE_GOOD
           : value <= fair ? TESS_DECODE_GRADE_FAIR
                           : TESS_DECODE_GRADE_POOR;
}

void tess_de_score_facts(const tess_de_facts *f, tess_decode_score *score)
{
    const tess_de_view *v = f->view;
    const tess_de_agreement *g = &f->agreement;
    score->n_state = v->n_state < TESS_DECODE_SCORE_STATES ? v->n_state : TESS_DECODE_SCORE_STATES;
    score->n_time = v->n_time;
    score->n_scored = g->n_scored;
    score->median_error = tess_de_quantile(g->errors, g->n_scored, 0.5);
    score->percentile_90 = tess_de_quantile(g->errors, g->n_scored, 0.9);
    score->coverage_50 = tess_de_coverage(g, 50);
    score->coverage_95 = tess_de_coverage(g, 95);
    score->log_evidence = v->log_evidence;
    for (int32_t s = 0; s < score->n_state; s++) {
        score->occupancy[s] = f->occupancy[s];
        tess_de_view_state_name(v, s, score->state_names[s], sizeof score->state_names[s]);
    }
    score->path_changes = f->path_changes;
    for (int32_t s = 0; s < score->n_state; s++) {
        score->path_share[s] = f->path_changes < 0 ? (double)NAN : f->path_share[s];
    }
    score->n_looked = f->n_row;
    score->n_local = g->n_local;
    score->n_unplaced = g->n_unplaced;
    score->n_unknown = g->n_unknown;
    score->median_away = tess_de_quantile(g->away, g->n_scored - g->n_local, 0.5);
    score->chance_error = g->chance;
    score->spread = g->spread;
    const bool are_enough = g->n_scored >= TESS_DE_LEAST_SCORED;
    score->n_not_finite = g->n_not_finite;
    score->rests = g->n_scored > 0 && !(g->chance > TESS_DE_REST * g->extent);
    // Local is where the animal is, whatever the spikes say: its bins test nothing.
    const bool is_told = are_enough && 2 * g->n_local <= g->n_scored;
    const bool is_test = is_told && !score->rests;
    score->error_grade = grade(is_test ? score->median_error / g->chance : (double)NAN,
                               TESS_DE_GOOD_ERROR, TESS_DE_FAIR_ERROR);
    score->coverage_grade = grade(is_told ? fabs(score->coverage_50 - 0.5) : (double)NAN,
                                  TESS_DE_GOOD_COVERAGE, TESS_DE_FAIR_COVERAGE);
}

const char *tess_decode_grade_name(int32_t value)
{
    static const char *const names[] = {"not judged", "good", "fair", "poor"};
    return value > 0 && value <= TESS_DECODE_GRADE_POOR ? names[value] : names[0];
}

tess_status tess_decode_score_result(tess_context *ctx, const char *result_path,
                                     const tess_decode_recording *recording,
                                     tess_decode_score *score, size_t struct_size)
{
    tess_error_clear();
    tess_decode_score found = {.struct_size = sizeof found};
    tess_de_view view;
    tess_de_facts facts;
    TESS_TRY(tess_de_view_open(ctx, result_path, recording, NULL, &view));
    tess_span span = tess_span_begin(&ctx->tracer, "decode.score");
    const tess_status status = tess_de_facts_gather(&view, NULL, &facts);
    tess_span_end(&span, 0, 0);
    if (status == TESS_OK) {
        tess_de_score_facts(&facts, &found);
        tess_de_facts_free(&facts);
        tess_struct_init(score, struct_size, &found, sizeof found);
    }
    tess_de_view_close(&view);
    return status;
}
