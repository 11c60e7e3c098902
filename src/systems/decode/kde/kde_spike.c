// One spike at a time, for the online decoder.
#include "base/status.h"
#include "stage/decode_joint.h"
#include "systems/decode/kde/kde.h"
#include "systems/decode/kde/local.h"

#include <math.h>

static const double LOWEST_VALUE = -700;

// Room for a scaled mark and place, whichever type they have.
static size_t point_bytes(const tess_decode_encoding *encoding)
{
    const kde_model *kde = encoding->model;
    return (size_t)(kde->stage.max_feature + kde->stage.n_dim) * sizeof(double);
}

static size_t scratch_bytes(const tess_decode_encoding *encoding)
{
    const kde_model *kde = encoding->model;
    const size_t point = point_bytes(encoding);
    return kde->single.scratch_bytes > point ? kde->single.scratch_bytes : point;
}

static void spike(const tess_decode_encoding *encoding, int64_t electrode, const float *mark,
                  void *scratch, float *out)
{
    const kde_model *kde = encoding->model;
    kde->single.spike(kde->single.handle, &kde->stage, electrode, mark, scratch, out);
}

static tess_status local_prepare(tess_context *ctx, const tess_decode_encoding *encoding)
{
    const struct tess_de_local *local = NULL;
    return tess_de_local_get(ctx, encoding, &local);
}

// Mark and place in the points' units.
static void scale_point(const tess_de_points *p, int32_t dtype, int64_t n_dim, const float *mark,
                        const double *place, void *y)
{
    for (int64_t k = 0; k < p->n_feature + n_dim; k++) {
        const double raw = k < p->n_feature ? (double)mark[k] : place[k - p->n_feature];
        const double value = (raw - p->centre[k]) * p->scale[k];
        if (dtype == TESS_F32) {
            ((float *)y)[k] = (float)value;
        } else {
            ((double *)y)[k] = value;
        }
    }
}

static tess_status local_spike(tess_context *ctx, tess_device *host,
                               const tess_decode_encoding *encoding, int64_t electrode,
                               const float *mark, const double *place, const double *row_place,
                               void *scratch, double *value)
{
    (void)row_place;
    const double floor =
        encoding->info.floor == TESS_DECODE_FLOOR_ABSOLUTE ? TESS_DE_LOG_EPS : LOWEST_VALUE;
    const struct tess_de_local *local = NULL;
    double log_pi = 0;
    double sum = 0;
    *value = floor;
    TESS_TRY(tess_de_local_get(ctx, encoding, &local));
    const tess_de_points *p = &local->electrodes[electrode];
    TESS_TRY(tess_de_field_log(ctx, &local->occupancy, place, 1, &log_pi));
    if (p->n == 0 || !(log_pi > -(double)INFINITY)) {
        return TESS_OK;
    }
    scale_point(p, local->dtype, local->n_dim, mark, place, scratch);
    const tess_stage_decode_joint args = {.x = p->x,
                                          .bias = p->bias,
                                          .y = scratch,
                                          .out = &sum,
                                          .n = p->n,
                                          .n_dim = p->n_feature + local->n_dim,
                                          .n_y = 1,
                                          .dtype = local->dtype};
    TESS_TRY(tess_stage_run(host, TESS_STAGE_DECODE_JOINT, &args, sizeof args));
    const double found = p->offset + sum - log_pi;
    *value = found > floor ? found : floor;
    return TESS_OK;
}

tess_status tess_de_local_ground(tess_context *ctx, const tess_decode_encoding *encoding,
                                 const double *place, void *scratch, double *value)
{
    (void)scratch;
    const struct tess_de_local *local = NULL;
    double log_pi = 0;
    double log_ground = 0;
    TESS_TRY(tess_de_local_get(ctx, encoding, &local));
    TESS_TRY(tess_de_field_log(ctx, &local->occupancy, place, 1, &log_pi));
    TESS_TRY(tess_de_field_log(ctx, &local->ground, place, 1, &log_ground));
    *value = log_pi > -(double)INFINITY ? exp(log_ground - log_pi) : 0;
    return TESS_OK;
}

const tess_de_single_ops tess_de_kde_single_ops = {
    .scratch_bytes = scratch_bytes,
    .spike = spike,
    .local_prepare = local_prepare,
    .local_spike = local_spike,
    .local_ground = tess_de_local_ground,
};
