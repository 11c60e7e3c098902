// The model alone decides how errors bend: its values in place of the data, weighed so that
// straight errors are those of the fit, have a profile that is cheap to follow.
#include "systems/xpcs/fit/bend.h"

#include "base/status.h"
#include "runtime/comm.h"
#include "systems/xpcs/fit/intervals.h"
#include "systems/xpcs/fit/profile.h"

#include <math.h>
#include <string.h>

enum { P = TESS_XPCS_MAX_PARAM, ENDS = 2 * P, GRID_BYTES = 2 << 20 };

static const double most_bend = 0.1;
static const double least_points = 5e4; // times ends, that ranks divide

typedef struct bends {
    tess_xp_sketch sketch;
    const tess_xp_fitted_point *point;
    double x[P];
    double lower[P];
    double upper[P];
    tess_xp_look bottom;
    double *contrast; // [ENDS][n_angle]
    size_t contrast_bytes;
    int64_t n;
    tess_xp_profile ends[ENDS];
    double straight[ENDS];
} bends;

// The Hessian at the minimum, where cost and gradient are 0.
static tess_status look_at_bottom(bends *b)
{
    const tess_xp_problem *p = b->sketch.problem;
    const int64_t n_angle = b->sketch.n_angle;
    TESS_TRY(
        tess_xp_sketch_idealise(&b->sketch, b->point->theta, b->point->contrast, b->point->offset));
    for (int64_t i = 0; i < ENDS * n_angle; i++) {
        b->contrast[i] = b->sketch.contrast[i % n_angle];
    }
    for (int64_t i = 0; i < p->n_free; i++) {
        const int64_t k = p->free_index[i];
        const bool stays = b->point->sd[k] == 0;
        b->x[i] = b->point->theta[k];
        b->lower[i] = stays ? b->x[i] : p->lower[k];
        b->upper[i] = stays ? b->x[i] : p->upper[k];
    }
    b->bottom.theta = b->point->theta;
    b->bottom.contrast = b->contrast;
    return tess_xp_sketch_look(&b->sketch, &b->bottom, 1,
                               TESS_XP_WANT_GRADIENT | TESS_XP_WANT_HESSIAN);
}

// Both ends of every parameter that moves. The rise is the one at which a straight end would be
// where it is in the fit.
static void begin_ends(bends *b)
{
    const tess_xp_problem *p = b->sketch.problem;
    const double none[P] = {0};
    tess_xp_bottom bottom = {.problem = p,
                             .x = b->x,
                             .lower = b->lower,
                             .upper = b->upper,
                             .gradient = none,
                             .hessian = b->bottom.hessian,
                             .cost = b->bottom.cost};
    double open[2][P];
    for (int64_t i = 0; i < P; i++) {
        open[0][i] = b->lower[i] == b->upper[i] ? b->x[i] : -(double)INFINITY;
        open[1][i] = b->lower[i] == b->upper[i] ? b->x[i] : (double)INFINITY;
    }
    for (int64_t i = 0; i < p->n_free; i++) {
        const double length = tess_xp_deviations * b->point->sd[p->free_index[i]];
        for (int side = 0; side < 2 && length > 0; side++) {
            tess_xp_profile *end = &b->ends[b->n];
            bottom.lower = open[0];
            bottom.upper = open[1];
            tess_xp_profile_begin(end, &bottom, i, side ? 1 : -1, 1);
            const double reach = fabs(end->x[i] - b->x[i]);
            const double rise = end->status == 0 && reach > 0 ? pow(length / reach, 2) : 0;
            bottom.lower = b->lower;
            bottom.upper = b->upper;
            bottom.unit = rise / (tess_xp_deviations * tess_xp_deviations);
            if (rise > 0 && isfinite(rise)) {
                tess_xp_profile_begin(end, &bottom, i, side ? 1 : -1, rise);
            } else {
                end->status = TESS_XP_PROFILE_LOST;
            }
            b->straight[b->n++] =
                fmin(fmax(b->x[i] + (side ? length : -length), b->lower[i]), b->upper[i]);
        }
    }
}

// Those of this rank: no end knows of another.
static tess_status follow_ends(bends *b, tess_comm_deal own)
{
    const tess_xp_problem *p = b->sketch.problem;
    double theta[ENDS][P];
    tess_xp_look looks[ENDS];
    for (;;) {
        int64_t of[ENDS];
        int64_t n = 0;
        for (int64_t i = own.first; i < b->n && n < b->sketch.max_set; i += own.step) {
            if (b->ends[i].status != TESS_XP_PROFILE_AT_WORK) {
                continue;
            }
            memcpy(theta[n], b->point->theta, (size_t)p->n_param * sizeof(double));
            for (int64_t k = 0; k < p->n_free; k++) {
                theta[n][p->free_index[k]] = b->ends[i].x[k];
            }
            looks[n].theta = theta[n];
            looks[n].contrast = b->contrast + i * b->sketch.n_angle;
            of[n++] = i;
        }
        if (n == 0) {
            return TESS_OK;
        }
        TESS_TRY(tess_xp_sketch_look(&b->sketch, looks, n,
                                     TESS_XP_WANT_GRADIENT | TESS_XP_WANT_HESSIAN));
        for (int64_t i = 0; i < n; i++) {
            (void)tess_xp_profile_next(&b->ends[of[i]], p, looks[i].cost, looks[i].gradient,
                                       looks[i].hessian);
        }
    }
}

static void judge(const bends *b, int32_t *is_bent)
{
    const tess_xp_problem *p = b->sketch.problem;
    for (int64_t i = 0; i < b->n; i++) {
        const tess_xp_profile *end = &b->ends[i];
        const int64_t k = p->free_index[end->k];
        const double off = fabs(end->x[end->k] - b->straight[i]);
        const bool is_known =
            end->status == TESS_XP_PROFILE_FOUND || end->status == TESS_XP_PROFILE_AT_BOUND;
        is_bent[k] |= !is_known || off > most_bend * tess_xp_deviations * b->point->sd[k];
    }
}

tess_status tess_xp_find_bends(tess_context *ctx, tess_device *device, tess_xp_problem *problem,
                               const tess_xp_fitted_point *point, int32_t *is_bent)
{
    const size_t grid = tess_xp_grids_bytes(problem->data->info.n_frame, problem->n_param);
    const int64_t fitting = (int64_t)(GRID_BYTES / grid);
    bends b = {.point = point};
    tess_span span = tess_span_begin(&ctx->tracer, "xpcs.bends");
    TESS_TRY(tess_xp_sketch_open(ctx, device, problem,
                                 fitting < 1      ? 1
                                 : fitting < ENDS ? fitting
                                                  : ENDS,
                                 &b.sketch));
    b.contrast_bytes = (size_t)(ENDS * b.sketch.n_angle) * sizeof(double);
    b.contrast =
        tess_heap_alloc(&ctx->heap, b.contrast_bytes, TESS_TAG_SCRATCH, "contrasts of profiles");
    tess_status status = b.contrast ? look_at_bottom(&b) : TESS_E_MEMORY;
    if (status == TESS_OK) {
        begin_ends(&b);
        const tess_comm_deal own =
            tess_comm_deal_of(ctx, (double)(b.n * b.sketch.n_point) >= least_points);
        const tess_comm_point at = {"ends of intervals", (uint64_t)b.n};
        status =
            tess_comm_share_dealt(ctx, at, own, follow_ends(&b, own), b.ends, sizeof *b.ends, b.n);
    }
    if (status == TESS_OK) {
        judge(&b, is_bent);
    }
    if (b.contrast) {
        tess_heap_free(&ctx->heap, b.contrast, b.contrast_bytes, TESS_TAG_SCRATCH);
    }
    tess_xp_sketch_close(&b.sketch);
    tess_span_end(&span, 0, 0);
    return status;
}
