// The clusterless KDE behind the calls every encoding algorithm offers.
#include "systems/decode/kde/kde.h"

#include "stage/decode_joint.h"
#include "systems/decode/kde/kde_there.h"

static const int32_t stages[] = {TESS_STAGE_DECODE_KDE, TESS_STAGE_DECODE_ROWS,
                                 TESS_STAGE_DECODE_JOINT};

const tess_de_encoding_ops tess_de_kde_ops = {
    .name = "clusterless_kde",
    .stages = stages,
    .n_stage = sizeof stages / sizeof *stages,
    .fit = tess_de_kde_fit,
    .free = tess_de_kde_free,
    .prepare = tess_de_kde_prepare,
    .rows = tess_de_kde_rows,
    .local_rows = tess_de_kde_local_rows,
    .log_joint = tess_de_kde_log_joint,
    .rows_bytes = tess_de_kde_rows_bytes,
    .single = &tess_de_kde_single_ops,
};
