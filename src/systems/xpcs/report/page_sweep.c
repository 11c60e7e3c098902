// The stretch of angles that a page has maps and residuals of.
#include "base/status.h"
#include "systems/xpcs/report/page.h"

#include <math.h>

// Maps of so many angles are shown in full; more angles share their pixels.
enum { FULL_SIDE = 400, FULL_ANGLES = 12, LEAST_SIDE = 64 };

static int64_t side_for(int64_t n_angle)
{
    if (n_angle <= FULL_ANGLES) {
        return FULL_SIDE;
    }
    const double side = FULL_SIDE * sqrt((double)FULL_ANGLES / (double)n_angle);
    return side > LEAST_SIDE ? (int64_t)side : LEAST_SIDE;
}

tess_status tess_xp_page_sweep(tess_xp_page *page, int64_t angle)
{
    const tess_xp_sweep_setup *now = &page->sweep.setup;
    const int64_t n_angle = page->info->n_angle;
    const int64_t side = side_for(n_angle);
    if (now->ctx && angle < now->first_angle + now->n_angle) {
        return TESS_OK;
    }
    const int64_t most = tess_xp_sweep_angles(page->ctx, side);
    const tess_xp_sweep_setup setup = {.ctx = page->ctx,
                                       .data = page->data,
                                       .info = page->info,
                                       .model = page->model,
                                       .first_angle = angle,
                                       .n_angle = n_angle - angle < most ? n_angle - angle : most,
                                       .side = side,
                                       .stage = "xpcs.report",
                                       .residuals = &page->residuals};
    tess_xp_sweep_free(&page->sweep);
    return tess_xp_sweep_run(&setup, &page->sweep);
}
