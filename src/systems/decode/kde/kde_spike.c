// One spike at a time, for the online decoder.
#include "systems/decode/kde/kde.h"

size_t tess_de_kde_scratch_bytes(const tess_decode_encoding *encoding)
{
    const kde_model *kde = encoding->model;
    return kde->single.scratch_bytes;
}

void tess_de_kde_spike(tess_context *ctx, const tess_decode_encoding *encoding, int64_t electrode,
                       const float *mark, void *scratch, float *out)
{
    (void)ctx;
    const kde_model *kde = encoding->model;
    kde->single.spike(kde->single.handle, &kde->stage, electrode, mark, scratch, out);
}
