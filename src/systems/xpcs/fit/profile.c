#include "systems/xpcs/fit/profile.h"

#include "numerics/box_step.h"
#include "systems/xpcs/fit/curve.h"

#include <math.h>
#include <string.h>

enum { N = TESS_XP_PROFILE_MAX, MOST_LOOKS = 40, MOST_SHORT = 6 };

static const double settled = 0.02;  // of the unit: the others are at their best, the level is met
static const double near = 1.0;      // likewise: near enough to move on along the valley
static const double lower_by = 0.05; // likewise: a lower minimum
static const double shorter = 0.3;
static const double growth = 2;       // of the distance from the minimum at a time
static const double on_bound = 1e-12; // of the distance between them

// The next evaluation is at base + part * move, along the valley where that is open.
static bool try_move(tess_xp_profile *p, const tess_xp_problem *problem, double part)
{
    double step[N];
    for (int64_t i = 0; i < p->n; i++) {
        step[i] = part * p->move[i];
    }
    tess_xp_curve(problem, p->base, step, p->k, p->x);
    for (int64_t i = 0; i < p->n; i++) {
        const double gap = on_bound * (p->upper[i] - p->lower[i]);
        p->x[i] = p->x[i] - p->lower[i] < gap   ? p->lower[i]
                  : p->upper[i] - p->x[i] < gap ? p->upper[i]
                                                : p->x[i];
    }
    return true;
}

static bool end(tess_xp_profile *p, tess_xp_profile_status status)
{
    p->status = (int32_t)status;
    return false;
}

// How the others follow the parameter along the valley: those that are free move, and the profile
// has slope and curvature.
typedef struct valley {
    double relax[N];  // step of the others to their best
    double gain;      // that it brings
    double follow[N]; // of the others per unit of the parameter; 1 for itself
    double slope;     // of the profile
    double curvature;
} valley;

static bool look_along(const tess_xp_profile *p, const double *x, const double *g, const double *h,
                       valley *v)
{
    double work[N * (N + 4)];
    uint8_t held[N] = {0};
    double column[N];
    double best[N];
    held[p->k] = 1;
    v->gain = tess_box_step(p->n, g, h, x, p->lower, p->upper, held, v->relax, work);
    if (!(v->gain >= 0)) {
        return false;
    }
    // Others that end on a bound stay there; the rest follow.
    for (int64_t i = 0; i < p->n; i++) {
        best[i] = x[i] + v->relax[i];
        held[i] |= best[i] <= p->lower[i] || best[i] >= p->upper[i];
        column[i] = h[i * p->n + p->k];
    }
    double open[2][N];
    for (int64_t i = 0; i < p->n; i++) {
        open[0][i] = -(double)INFINITY;
        open[1][i] = (double)INFINITY;
    }
    if (isnan(tess_box_step(p->n, column, h, best, open[0], open[1], held, v->follow, work))) {
        return false;
    }
    v->follow[p->k] = 1;
    v->slope = g[p->k];
    v->curvature = 0;
    for (int64_t i = 0; i < p->n; i++) {
        v->slope += h[p->k * p->n + i] * v->relax[i];
        v->curvature += h[p->k * p->n + i] * v->follow[i];
    }
    return true;
}

// So much of a distance as leaves the others within their bounds, but for those that are there.
static double limit_distance(const tess_xp_profile *p, const valley *v, double distance)
{
    double part = 1;
    for (int64_t i = 0; i < p->n; i++) {
        const double from = p->base[i] + v->relax[i];
        const double move = distance * v->follow[i];
        const double bound = move < 0 ? p->lower[i] : p->upper[i];
        if (i != p->k && move != 0 && (bound - from) / move < part) {
            part = (bound - from) / move;
        }
    }
    return fmax(part, 0.01) * distance;
}

// By how much the parameter moves next, from a point whose profile is known.
static double choose_distance(const tess_xp_profile *p, const valley *v, double profile)
{
    const double from = p->base[p->k];
    const double bound = p->direction < 0 ? p->lower[p->k] : p->upper[p->k];
    const double slope = v->slope * p->direction;
    const double rest = p->level - profile;
    const double root = slope * slope + 2 * v->curvature * rest;
    double distance = rest > 0 ? (double)INFINITY : -0.5 * fabs(from - p->origin);
    if (v->curvature > 0 && root >= 0) {
        distance = (-slope + sqrt(root)) / v->curvature;
    }
    const double far = fabs(from - p->origin);
    const double most = far > 0 ? growth * far : (double)INFINITY;
    distance = fmin(distance, fmin(most, p->reach));
    double to = from + p->direction * distance;
    if (isfinite(p->outside)) {
        const double a = p->direction * (to - p->inside);
        const double width = p->direction * (p->outside - p->inside);
        if (!(a > 0.05 * width) || !(a < 0.95 * width)) {
            to = p->inside + 0.5 * (p->outside - p->inside);
        }
    } else if (!(p->direction * (to - p->inside) > 0)) {
        to = p->inside + p->direction * (far > 0 ? far : fabs(bound - from));
    }
    if (!(p->direction * (bound - to) > 0)) {
        to = bound;
    }
    return to - from;
}

void tess_xp_profile_begin(tess_xp_profile *p, const tess_xp_bottom *bottom, int64_t k,
                           double direction, double rise)
{
    const int64_t n = bottom->problem->n_free;
    const size_t bytes = (size_t)n * sizeof *bottom->x;
    *p = (tess_xp_profile){.n = n,
                           .k = k,
                           .direction = direction,
                           .least = bottom->cost,
                           .level = bottom->cost + rise,
                           .unit = bottom->unit,
                           .origin = bottom->x[k],
                           .inside = bottom->x[k],
                           .outside = direction * (double)INFINITY,
                           .base_cost = bottom->cost,
                           .damping = 1,
                           .reach = (double)INFINITY,
                           .cost = bottom->cost};
    memcpy(p->x, bottom->x, bytes);
    memcpy(p->lower, bottom->lower, bytes);
    memcpy(p->upper, bottom->upper, bytes);
    memcpy(p->base, bottom->x, bytes);
    valley v;
    if ((direction < 0 ? p->lower[k] : p->upper[k]) == p->x[k]) {
        (void)end(p, TESS_XP_PROFILE_AT_BOUND);
        return;
    }
    if (!look_along(p, p->base, bottom->gradient, bottom->hessian, &v)) {
        (void)end(p, TESS_XP_PROFILE_LOST);
        return;
    }
    const double distance = choose_distance(p, &v, bottom->cost);
    for (int64_t i = 0; i < p->n; i++) {
        p->move[i] = distance * v.follow[i];
    }
    p->is_moving = 1;
    (void)try_move(p, bottom->problem, 1);
}

// A step to the bottom. One by the part d of the way brings d (2 - d) of the gain if the cost is a
// parabola.
static bool relax(tess_xp_profile *p, const tess_xp_problem *problem, const valley *v)
{
    p->is_moving = 0;
    p->promise = p->damping * (2 - p->damping) * v->gain;
    for (int64_t i = 0; i < p->n; i++) {
        p->move[i] = p->damping * v->relax[i];
    }
    return try_move(p, problem, 1);
}

// Learns from what such a step brought.
static void learn(tess_xp_profile *p, double gain)
{
    if (gain < 0.25 * p->promise) {
        p->damping *= 0.5;
    } else if (gain > 0.7 * p->promise) {
        p->damping = fmin(1, 1.5 * p->damping);
    }
}

// A point to go on from: what the valley looks like there.
static bool go_on(tess_xp_profile *p, const tess_xp_problem *problem, double cost, const double *g,
                  const double *h)
{
    valley v;
    if (p->is_moving) {
        p->reach = 2 * fabs(p->x[p->k] - p->base[p->k]) * (p->n_short > 0 ? 1 : growth);
    }
    memcpy(p->base, p->x, sizeof p->base);
    p->base_cost = cost;
    p->n_short = 0;
    if (!look_along(p, p->base, g, h, &v)) {
        return end(p, TESS_XP_PROFILE_LOST);
    }
    const double profile = cost - v.gain;
    if (v.gain > (p->damping < 1 ? settled : near) * p->unit) {
        return relax(p, problem, &v);
    }
    const double bound = p->direction < 0 ? p->lower[p->k] : p->upper[p->k];
    if (v.gain <= settled * p->unit) {
        p->cost = profile;
        if (fabs(profile - p->level) <= settled * p->unit) {
            return end(p, TESS_XP_PROFILE_FOUND);
        }
        if (profile < p->level) {
            p->inside = p->base[p->k];
            if (p->inside == bound) {
                return end(p, TESS_XP_PROFILE_AT_BOUND);
            }
        } else {
            p->outside = p->base[p->k];
        }
    }
    const double distance = choose_distance(p, &v, profile);
    if (fabs(distance) <= 1e-9 * (fabs(p->base[p->k]) + fabs(p->base[p->k] - p->origin)) &&
        v.gain <= settled * p->unit) {
        return end(p, TESS_XP_PROFILE_FOUND);
    }
    const double part = limit_distance(p, &v, distance);
    p->is_moving = 1;
    for (int64_t i = 0; i < p->n; i++) {
        p->move[i] = v.relax[i] + part * v.follow[i];
    }
    return try_move(p, problem, 1);
}

bool tess_xp_profile_next(tess_xp_profile *p, const tess_xp_problem *problem, double cost,
                          const double *g, const double *h)
{
    if (++p->n_look > MOST_LOOKS) {
        return end(p, TESS_XP_PROFILE_LOST);
    }
    if (cost < p->least - lower_by * p->unit) {
        p->cost = cost;
        return end(p, TESS_XP_PROFILE_LOWER);
    }
    if (!p->is_moving && isfinite(cost) && p->n_short == 0) {
        learn(p, p->base_cost - cost);
    }
    // A step to the bottom must go down; one along the valley may go up, but not out of sight.
    const double most = p->is_moving ? fmax(p->level, p->base_cost) + 50 * p->unit : p->base_cost;
    if (isfinite(cost) && cost <= most) {
        return go_on(p, problem, cost, g, h);
    }
    if (++p->n_short > MOST_SHORT) {
        return end(p, TESS_XP_PROFILE_LOST);
    }
    return try_move(p, problem, pow(shorter, (double)p->n_short));
}
