// What fits of two components leave open by their nature.
#include "systems/xpcs/fit/phases.h"
#include "systems/xpcs/fit/quality.h"
#include "systems/xpcs/model/two.h"

#include <math.h>

static const double undecided = 9; // of chi2: three deviations

static void warn_of_product(tess_xp_problem *p, const tess_xpcs_result *r)
{
    if (r->status[TESS_XP_F0] == TESS_XPCS_UNIDENTIFIED &&
        r->status[TESS_XP_F2] == TESS_XPCS_UNIDENTIFIED) {
        tess_xp_problem_warn(p, TESS_W_XPCS_UNIDENTIFIED,
                             "f0 and f2 are unidentified: the data know f0 exp(-f1 f2) alone, "
                             "which is %.6g +- %.2g; fix f2 (it is unless you free it).",
                             r->info.f_product, r->info.f_product_sd);
    }
}

void tess_xp_quality_two(const tess_xp_engine *e, const tess_xpcs_result *r)
{
    tess_xp_problem *p = e->problem;
    const double middle = 0.5 * p->model.dt_s * (double)p->data->info.n_frame;
    warn_of_product(p, r);
    for (int64_t b = 1; b < r->info.n_basin; b++) {
        const tess_xpcs_basin *best = &r->basins[0];
        const double excess = 2 * (r->basins[b].cost - best->cost) / r->info.reduced_chi2;
        if (excess < undecided &&
            tess_xp_two_is_exchanged(best->theta, r->basins[b].theta, middle)) {
            tess_xp_problem_warn(p, TESS_W_XPCS_OTHER_MINIMUM,
                                 "Reference and sample can be exchanged: with each in the other's "
                                 "place chi2 is higher by %.3g only (minimum %lld); say which is "
                                 "which by bounds on D0_ref, D0_sample or f0.",
                                 fmax(excess, 0), (long long)b + 1);
            return;
        }
    }
}
