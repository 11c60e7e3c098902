// How a result compares with what is known of the truth.
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/decode/report/facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void score_facts(const tess_de_facts *f, tess_decode_score *score)
{
    const tess_de_view *v = f->view;
    const double n = (double)f->n_scored;
    score->n_state = v->n_state < TESS_DECODE_SCORE_STATES ? v->n_state : TESS_DECODE_SCORE_STATES;
    score->n_time = v->n_time;
    score->n_scored = f->n_scored;
    score->median_error = tess_de_facts_error(f, 0.5);
    score->percentile_90 = tess_de_facts_error(f, 0.9);
    score->coverage_50 = f->n_scored > 0 ? (double)f->n_below_50 / n : (double)NAN;
    score->coverage_95 = f->n_scored > 0 ? (double)f->n_below_95 / n : (double)NAN;
    score->log_evidence = v->log_evidence;
    for (int32_t s = 0; s < score->n_state; s++) {
        score->occupancy[s] = f->occupancy[s];
        snprintf(score->state_names[s], sizeof score->state_names[s], "%.*s", (int)v->name_bytes,
                 v->names + s * v->name_bytes);
    }
}

tess_status tess_decode_score_result(tess_context *ctx, const char *result_path,
                                     const tess_decode_recording *recording,
                                     tess_decode_score *score, size_t struct_size)
{
    tess_error_clear();
    tess_decode_score found = {.struct_size = sizeof found};
    tess_de_view view;
    tess_de_facts facts;
    TESS_TRY(tess_de_view_open(ctx, result_path, recording, &view));
    const tess_status status = tess_de_facts_gather(&view, &facts);
    if (status == TESS_OK) {
        score_facts(&facts, &found);
        tess_de_facts_free(&facts);
        tess_struct_init(score, struct_size, &found, sizeof found);
    }
    tess_de_view_close(&view);
    return status;
}
