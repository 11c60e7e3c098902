#include "backend/cpu/decode/stages.h"

#include "stage/decode_columns.h"
#include "stage/decode_events.h"
#include "stage/decode_gmm.h"
#include "stage/decode_hmm.h"
#include "stage/decode_joint.h"
#include "stage/decode_likelihood.h"

static const tess_cpu_stage stages[] = {
    {TESS_STAGE_DECODE_KDE, "decode.kde", sizeof(tess_stage_decode_kde), tess_cpu_decode_kde},
    {TESS_STAGE_DECODE_KDE_BIND, "decode.kde_bind", sizeof(tess_stage_decode_kde_bind),
     tess_cpu_decode_kde_bind},
    {TESS_STAGE_DECODE_ROWS, "decode.rows", sizeof(tess_stage_decode_rows), tess_cpu_decode_rows},
    {TESS_STAGE_DECODE_COLUMNS, "decode.columns", sizeof(tess_stage_decode_columns),
     tess_cpu_decode_columns},
    {TESS_STAGE_DECODE_HMM_FILTER, "decode.filter", sizeof(tess_stage_decode_hmm_filter),
     tess_cpu_decode_hmm_filter},
    {TESS_STAGE_DECODE_HMM_SMOOTH, "decode.smooth", sizeof(tess_stage_decode_hmm_smooth),
     tess_cpu_decode_hmm_smooth},
    {TESS_STAGE_DECODE_HMM_SCORES, "decode.scores", sizeof(tess_stage_decode_hmm_scores),
     tess_cpu_decode_hmm_scores},
    {TESS_STAGE_DECODE_HMM_TRACE, "decode.trace", sizeof(tess_stage_decode_hmm_trace),
     tess_cpu_decode_hmm_trace},
    {TESS_STAGE_DECODE_EVENTS, "decode.events", sizeof(tess_stage_decode_events),
     tess_cpu_decode_events},
    {TESS_STAGE_DECODE_JOINT, "decode.joint", sizeof(tess_stage_decode_joint),
     tess_cpu_decode_joint},
    {TESS_STAGE_DECODE_GMM, "decode.gmm", sizeof(tess_stage_decode_gmm), tess_cpu_decode_gmm},
};

const tess_cpu_stage_table tess_cpu_decode = {stages, sizeof stages / sizeof *stages};
