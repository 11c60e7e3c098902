// The top of a posterior that the priors moved away from the fit.
#include "base/status.h"
#include "systems/xpcs/posterior/laplace.h"

#include <math.h>
#include <string.h>

static const double STRONG = 1;         // a pull, in standard deviations of the fit
static const double MOST_SPREAD = 0.25; // of a range, where the fit knows nothing
static const double INSIDE = 0.01;      // of a range, from a bound

// How far the prior of a parameter moves the fit, in standard deviations.
static double pull_of(const tess_xp_sampler *s, int64_t k)
{
    const tess_xp_prior *p = &s->density.theta[k];
    const double most = MOST_SPREAD * (p->upper - p->lower);
    const double sd = s->fit->sd[k] > 0 && s->fit->sd[k] < most ? s->fit->sd[k] : most;
    return fabs(s->fit->theta[k] - p->mean) / (p->sd * p->sd) * sd;
}

static bool is_pulled(const tess_xp_sampler *s)
{
    for (int64_t k = 0; k < s->density.n_param; k++) {
        if (!s->density.is_fixed[k] && pull_of(s, k) > STRONG) {
            return true;
        }
    }
    return false;
}

// Where the priors would begin, not nearer to a bound than a start may be.
static void middle_of_priors(const tess_xp_sampler *s, double *theta)
{
    for (int64_t k = 0; k < s->density.n_param; k++) {
        const tess_xp_prior *p = &s->density.theta[k];
        const double edge = INSIDE * (p->upper - p->lower);
        theta[k] = s->density.is_fixed[k] ? s->fit->theta[k]
                                          : fmin(fmax(p->mean, p->lower + edge), p->upper - edge);
    }
}

// The fit, but for what is pulled, which is where the priors would begin.
static void pulled_fit(const tess_xp_sampler *s, const double *middle, double *theta)
{
    for (int64_t k = 0; k < s->density.n_param; k++) {
        const bool is_moved = !s->density.is_fixed[k] && pull_of(s, k) > STRONG;
        theta[k] = is_moved ? middle[k] : s->fit->theta[k];
    }
}

typedef struct top {
    double theta[TESS_XPCS_MAX_PARAM];
    double noise;
    double evidence;
} top;

// Climbs from theta, with coordinates that bend there; *best: the better of what is found and of
// what it is.
static tess_status climb_from(tess_xp_sampler *s, const double *theta, double noise, top *best,
                              tess_xp_normal *found, bool *is_found)
{
    double u[TESS_XP_MAX_COORD];
    tess_xp_place place;
    tess_xp_sampler_make_coords(s, theta);
    TESS_TRY(tess_xp_sampler_place_adjust(s));
    tess_xp_sampler_start(s, theta, noise, u);
    TESS_TRY(tess_xp_laplace_climb(s, u, found, is_found));
    if (*is_found && tess_xp_normal_evidence(found) > best->evidence) {
        tess_xp_coords_place(&s->coords, found->u, &place);
        memcpy(best->theta, place.theta, sizeof best->theta);
        best->noise = place.s;
        best->evidence = tess_xp_normal_evidence(found);
    }
    return TESS_OK;
}

tess_status tess_xp_top_find(tess_xp_sampler *s, tess_xp_normal *room)
{
    double middle[TESS_XPCS_MAX_PARAM];
    top best = {.evidence = -(double)INFINITY};
    bool is_found;
    if (!is_pulled(s)) {
        return TESS_OK;
    }
    middle_of_priors(s, middle);
    TESS_TRY(climb_from(s, s->fit->theta, s->tally.noise, &best, room, &is_found));
    TESS_TRY(climb_from(s, middle, s->tally.noise, &best, room, &is_found));
    if (s->model.mode == TESS_XPCS_TWO_COMPONENT) { // whose hills are many
        double mixed[TESS_XPCS_MAX_PARAM];
        pulled_fit(s, middle, mixed);
        TESS_TRY(climb_from(s, mixed, s->tally.noise, &best, room, &is_found));
    }
    if (isfinite(best.evidence)) {
        const top from = best;
        TESS_TRY(climb_from(s, from.theta, from.noise, &best, room, &is_found));
        s->top = is_found ? room : NULL;
    }
    if (!s->top) {
        tess_xp_sampler_make_coords(s, s->fit->theta);
        return tess_xp_sampler_place_adjust(s);
    }
    return TESS_OK;
}
