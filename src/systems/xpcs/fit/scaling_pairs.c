// Pairs of contrast and offset: one per angle, or one for all.
#include "systems/xpcs/fit/scaling_parts.h"

#include <math.h>
#include <string.h>

// A model whose spread is below this fraction of its square is flat.
static const double flat = 1e-12;

typedef struct group {
    int64_t first; // angles first..last-1 share a pair
    int64_t last;
    double reference; // what y is counted from
} group;

static int64_t n_group(const tess_xp_scaling *s)
{
    return s->n_basis;
}

static group group_at(const tess_xp_scaling *s, int64_t g)
{
    if (s->mode == TESS_XPCS_SCALING_AVERAGED) {
        return (group){0, s->n_angle, s->reference};
    }
    return (group){g, g + 1, s->mean[g]};
}

// Weighted sums of a group, y counted from its reference.
static tess_xp_moments moments_at(const tess_xp_scaling *s, const double *sums, const group *g)
{
    double six[TESS_XP_SIX] = {0};
    for (int64_t a = g->first; a < g->last; a++) {
        const double *from = sums + a * tess_xp_stride(s);
        const double w = s->weight[a];
        const double d = s->mean[a] - g->reference;
        six[TESS_XP_S1] += w * from[TESS_XP_S1];
        six[TESS_XP_SF] += w * from[TESS_XP_SF];
        six[TESS_XP_SFF] += w * from[TESS_XP_SFF];
        six[TESS_XP_SY] += w * (from[TESS_XP_SY] + d * from[TESS_XP_S1]);
        six[TESS_XP_SYY] +=
            w * (from[TESS_XP_SYY] + d * (2 * from[TESS_XP_SY] + d * from[TESS_XP_S1]));
        six[TESS_XP_SFY] += w * (from[TESS_XP_SFY] + d * from[TESS_XP_SF]);
    }
    return tess_xp_moments_of(six, g->reference);
}

typedef struct pair {
    double value[2]; // contrast, offset
    int32_t status[2];
} pair;

static double clip(double x, double lower, double upper, int32_t *status)
{
    *status = x <= lower ? TESS_XPCS_AT_LOWER : x >= upper ? TESS_XPCS_AT_UPPER : TESS_XPCS_FREE;
    return fmin(fmax(x, lower), upper);
}

// Twice the cost less what no pair can change.
static double excess(const tess_xp_moments *t, const double *value)
{
    const double e = value[1] + value[0] * t->m - t->y;
    return value[0] * (value[0] * t->sff - 2 * t->sfy) + t->s1 * e * e;
}

// The best of an edge: one of the two at a bound, the other free within its own.
static pair edge(const tess_xp_scaling *s, const tess_xp_moments *t, int which, int is_upper)
{
    pair at;
    const int other = 1 - which;
    const double x = is_upper ? s->upper[which] : s->lower[which];
    at.value[which] = x;
    at.status[which] = is_upper ? TESS_XPCS_AT_UPPER : TESS_XPCS_AT_LOWER;
    double free_value = t->y - x * t->m;
    if (which == 1) {
        const double square = t->sff + t->s1 * t->m * t->m;
        free_value = square > 0 ? (t->sfy + t->s1 * t->m * (t->y - x)) / square : s->lower[0];
    }
    at.value[other] = clip(free_value, s->lower[other], s->upper[other], &at.status[other]);
    return at;
}

// The pair that is best within its bounds.
static pair solve(const tess_xp_scaling *s, const tess_xp_moments *t)
{
    pair best = {{s->lower[0], 0}, {TESS_XPCS_UNIDENTIFIED, TESS_XPCS_FREE}};
    if (!(t->sff > flat * t->raw_sff)) {
        best.value[1] =
            clip(t->y - best.value[0] * t->m, s->lower[1], s->upper[1], &best.status[1]);
        return best;
    }
    best.value[0] = clip(t->sfy / t->sff, s->lower[0], s->upper[0], &best.status[0]);
    best.value[1] = clip(t->y - t->sfy / t->sff * t->m, s->lower[1], s->upper[1], &best.status[1]);
    if (best.status[0] == TESS_XPCS_FREE && best.status[1] == TESS_XPCS_FREE) {
        return best;
    }
    double least = (double)INFINITY;
    for (int k = 0; k < 4; k++) {
        const pair at = edge(s, t, k / 2, k % 2);
        const double value = excess(t, at.value);
        if (value < least) {
            least = value;
            best = at;
        }
    }
    return best;
}

void tess_xp_pairs_solve(const tess_xp_scaling *s, const double *sums, tess_xp_reduced *out)
{
    for (int64_t a = 0; a < s->n_angle && s->n_basis == 0; a++) {
        out->contrast[a] = s->fixed[a];
        out->offset[a] = s->fixed[s->n_angle + a];
        out->contrast_status[a] = out->offset_status[a] = TESS_XPCS_FIXED;
    }
    for (int64_t k = 0; k < n_group(s); k++) {
        const group g = group_at(s, k);
        const tess_xp_moments t = moments_at(s, sums, &g);
        const pair best = solve(s, &t);
        for (int64_t a = g.first; a < g.last; a++) {
            out->contrast[a] = best.value[0];
            out->offset[a] = best.value[1];
            out->contrast_status[a] = best.status[0];
            out->offset_status[a] = best.status[1];
        }
    }
}

// Takes out of the Hessian what a group's free unknowns can follow, u = sum of c w P and v of
// c w Q, and notes how they do.
static void project(const tess_xp_scaling *s, const group *g, const tess_xp_moments *t,
                    const double *u, const double *v, tess_xp_reduced *out)
{
    const int64_t p = s->n_param;
    const int has_contrast = out->contrast_status[g->first] == TESS_XPCS_FREE;
    const int has_offset = out->offset_status[g->first] == TESS_XPCS_FREE;
    // Contrast about the offset that goes with it, or alone.
    const double m = has_offset ? t->m : 0;
    const double square = has_offset ? t->sff : t->raw_sff;
    for (int64_t k = 0; k < p; k++) {
        const double by_contrast = has_contrast ? (v[k] - m * u[k]) / square : 0;
        const double by_offset = has_offset ? u[k] / t->s1 : 0;
        for (int64_t l = 0; l < p; l++) {
            out->hessian[k * p + l] -= by_contrast * (v[l] - m * u[l]) + by_offset * u[l];
        }
        for (int64_t a = g->first; a < g->last; a++) {
            out->response[a * p + k] = -by_contrast;
            out->response[(s->n_angle + a) * p + k] = has_offset ? -by_offset + m * by_contrast : 0;
        }
    }
}

// Both triangles alike, whatever rounding did.
static void symmetrise(double *hessian, int64_t p)
{
    for (int64_t k = 0; k < p; k++) {
        for (int64_t l = k + 1; l < p; l++) {
            hessian[l * p + k] = hessian[k * p + l];
        }
    }
}

void tess_xp_pairs_project(const tess_xp_scaling *s, const double *sums, const double *before,
                           tess_xp_reduced *out)
{
    const int64_t p = s->n_param;
    double *u = s->work;
    double *v = s->work + p;
    for (int64_t i = 0; i < n_group(s); i++) {
        const group g = group_at(s, i);
        const tess_xp_moments t = moments_at(s, sums, &g);
        if (!(t.s1 > 0)) {
            continue;
        }
        memset(u, 0, (size_t)(2 * p) * sizeof *u);
        for (int64_t a = g.first; a < g.last; a++) {
            const double *jp = sums + a * tess_xp_stride(s) + TESS_XP_SIX;
            const double factor = s->weight[a] * before[a];
            for (int64_t k = 0; k < p; k++) {
                u[k] += factor * jp[k];
                v[k] += factor * jp[p + k];
            }
        }
        project(s, &g, &t, u, v, out);
    }
    symmetrise(out->hessian, p);
}

// Of the unknowns of a group, by contrast and offset.
static void fill_inverse(const tess_xp_scaling *s, const group *g, double cc, double co, double oo,
                         double *inverse)
{
    const int64_t n = s->n_angle;
    for (int64_t a = g->first; a < g->last; a++) {
        for (int64_t b = g->first; b < g->last; b++) {
            inverse[a * 2 * n + b] = cc;
            inverse[(n + a) * 2 * n + n + b] = oo;
            inverse[a * 2 * n + n + b] = inverse[(n + b) * 2 * n + a] = co;
        }
    }
}

void tess_xp_pairs_inverse(const tess_xp_scaling *s, const double *sums,
                           const tess_xp_reduced *reduced, double *inverse)
{
    for (int64_t i = 0; i < n_group(s); i++) {
        const group g = group_at(s, i);
        const tess_xp_moments t = moments_at(s, sums, &g);
        const int has_contrast = reduced->contrast_status[g.first] == TESS_XPCS_FREE;
        const int has_offset = reduced->offset_status[g.first] == TESS_XPCS_FREE;
        if (!(t.s1 > 0) || !(t.sff > 0)) {
            fill_inverse(s, &g, 0, 0, t.s1 > 0 ? 1 / t.s1 : 0, inverse);
            continue;
        }
        // Both free, or the one of them that is; one at its bound as if it were free.
        const double cc = has_contrast && !has_offset ? 1 / t.raw_sff : 1 / t.sff;
        const double oo = has_offset && !has_contrast ? 1 / t.s1 : 1 / t.s1 + t.m * t.m / t.sff;
        fill_inverse(s, &g, cc, has_contrast && has_offset ? -t.m / t.sff : 0, oo, inverse);
    }
}
