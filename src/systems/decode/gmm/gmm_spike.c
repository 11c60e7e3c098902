// One spike at a time under mixtures, for the online decoder.
#include "base/status.h"
#include "systems/decode/gmm/gmm.h"

#include <math.h>

// Scratch: that of the mixtures, then a mark, then values at all bins, all f64.
static int64_t most_features(const tess_decode_encoding *encoding)
{
    int64_t most = 0;
    for (int64_t e = 0; e < encoding->info.n_electrode; e++) {
        most = encoding->info.n_feature[e] > most ? encoding->info.n_feature[e] : most;
    }
    return most;
}

static size_t scratch_bytes(const tess_decode_encoding *encoding)
{
    const tess_de_gmm *gmm = encoding->model;
    return (size_t)(gmm->scratch_items + most_features(encoding) + encoding->info.n_interior) *
           sizeof(double);
}

static double *widen(const tess_decode_encoding *encoding, int64_t electrode, const float *mark,
                     double *scratch)
{
    const tess_de_gmm *gmm = encoding->model;
    double *wide = scratch + gmm->scratch_items;
    for (int64_t f = 0; f < encoding->info.n_feature[electrode]; f++) {
        wide[f] = (double)mark[f];
    }
    return wide;
}

static void spike(const tess_decode_encoding *encoding, int64_t electrode, const float *mark,
                  void *scratch, float *out)
{
    const double *wide = widen(encoding, electrode, mark, scratch);
    double *values = (double *)scratch + ((const tess_de_gmm *)encoding->model)->scratch_items +
                     most_features(encoding);
    tess_de_gmm_values(encoding, electrode, wide, scratch, values);
    for (int64_t p = 0; p < encoding->info.n_interior; p++) {
        out[p] = (float)values[p];
    }
}

static tess_status local_spike(tess_context *ctx, tess_device *host,
                               const tess_decode_encoding *encoding, int64_t electrode,
                               const float *mark, const double *place, const double *row_place,
                               void *scratch, double *value)
{
    (void)ctx;
    (void)host;
    (void)row_place;
    const double *wide = widen(encoding, electrode, mark, scratch);
    const double found = tess_de_gmm_log_at(encoding, electrode, wide, place, scratch);
    *value = fmax(found, tess_de_gmm_local_floor(encoding));
    return TESS_OK;
}

static tess_status local_ground(tess_context *ctx, const tess_decode_encoding *encoding,
                                const double *place, void *scratch, double *value)
{
    (void)ctx;
    *value = tess_de_gmm_ground_at(encoding, place, scratch);
    return TESS_OK;
}

const tess_de_single_ops tess_de_gmm_single_ops = {
    .scratch_bytes = scratch_bytes,
    .spike = spike,
    .local_spike = local_spike,
    .local_ground = local_ground,
};
