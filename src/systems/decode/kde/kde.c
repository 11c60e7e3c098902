// The clusterless KDE behind the calls every encoding algorithm offers.
#include "systems/decode/kde/kde.h"

const tess_decode_encoding_ops tess_decode_kde_ops = {
    .name = "clusterless_kde",
    .fit = tess_decode_kde_fit,
    .free = tess_decode_kde_free,
    .rows = tess_decode_kde_rows,
    .local_rows = tess_decode_kde_local_rows,
    .log_joint = tess_decode_kde_log_joint,
    .rows_bytes = tess_decode_kde_rows_bytes,
};
