// Errors of noise that frames share, of a fit at its end: before its intervals, which they widen.
#include "base/status.h"
#include "systems/xpcs/fit/covariance.h"
#include "systems/xpcs/fit/frames.h"

#include <string.h>

static void fill(const tess_xp_engine *e, tess_xpcs_result *r)
{
    const tess_xp_problem *p = e->problem;
    const size_t bytes = (size_t)p->n_angle * sizeof(double);
    memcpy(r->theta, e->final_theta, (size_t)p->n_param * sizeof *r->theta);
    memcpy(r->contrast, e->final.contrast, bytes);
    memcpy(r->offset, e->final.offset, bytes);
    memcpy(r->phi, p->data->info.phi, bytes);
    memcpy(r->q, p->data->info.q, bytes);
}

tess_status tess_xp_frames_errors(tess_xp_engine *e, double *stretch)
{
    const tess_xp_result_sizes sizes = {.mode = e->problem->model.mode,
                                        .n_angle = e->problem->n_angle};
    tess_xpcs_result_destroy(e->noisy);
    TESS_TRY(tess_xp_result_create(e->ctx, &sizes, &e->noisy));
    fill(e, e->noisy);
    TESS_TRY(tess_xp_covariance_fill(e, e->noisy));
    return tess_xp_frames_apply(e, e->noisy, stretch);
}

tess_status tess_xp_frames_take(tess_xp_engine *e, tess_xpcs_result *result)
{
    double unused[TESS_XPCS_MAX_PARAM];
    if (!e->noisy) { // profiles of an earlier run took it
        TESS_TRY(tess_xp_frames_errors(e, unused));
    }
    const tess_xpcs_result *from = e->noisy;
    const size_t n = (size_t)from->info.n_covariance;
    memcpy(result->covariance, from->covariance, n * n * sizeof *result->covariance);
    memcpy(result->independent_covariance, from->independent_covariance,
           (size_t)(from->info.n_param * from->info.n_param) * sizeof(double));
    result->info.noise_pixels = from->info.noise_pixels;
    result->info.noise_photons = from->info.noise_photons;
    tess_xp_covariance_conclude(result);
    return TESS_OK;
}
