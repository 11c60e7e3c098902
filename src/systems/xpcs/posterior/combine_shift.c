// How far shards that are not normal leave their average from the whole, and what that is known by.
#include "systems/xpcs/posterior/combine.h"

#include <math.h>
#include <string.h>

static const double MOST_LEFT = 0.2; // of a mean, in deviations: what the specification allows (C4)

void tess_xp_combine_solve(const tess_xp_combine *c, double *x)
{
    const int64_t n = c->n;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < i; k++) {
            x[i] -= c->root[i * n + k] * x[k];
        }
        x[i] /= c->root[i * n + i];
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t k = i + 1; k < n; k++) {
            x[i] -= c->root[k * n + i] * x[k];
        }
        x[i] /= c->root[i * n + i];
    }
}

int64_t tess_xp_combine_n_used(const tess_xp_combine *c)
{
    int64_t n = 0;
    for (int64_t s = 0; s < c->n_shard; s++) {
        n += c->is_used[s];
    }
    return n;
}

// The largest of x [n] in deviations of the whole.
static double in_deviations(const tess_xp_combine *c, const double *x, double *scratch)
{
    double most = 0;
    for (int64_t k = 0; k < c->coords.n; k++) {
        memset(scratch, 0, (size_t)c->n * sizeof *scratch);
        scratch[k] = 1;
        tess_xp_combine_solve(c, scratch);
        most = fmax(most, fabs(x[k]) / sqrt(scratch[k]));
    }
    return most;
}

// By how much third moments move the average, skew [n], and what draws without end would not have
// moved it by, noise [n]: half of what the draws' halves differ by.
static void find_skew(const tess_xp_combine *c, const double *mu, double *skew, double *noise)
{
    memset(skew, 0, 2 * (size_t)c->n * sizeof *skew);
    tess_xp_combine_skew(c, mu, TESS_XP_FIRST_HALF, skew);
    tess_xp_combine_solve(c, skew);
    memcpy(noise, skew, (size_t)c->n * sizeof *noise);
    memset(skew, 0, (size_t)c->n * sizeof *skew);
    tess_xp_combine_skew(c, mu, TESS_XP_SECOND_HALF, skew);
    tess_xp_combine_solve(c, skew);
    for (int64_t k = 0; k < c->n; k++) {
        noise[k] = 0.5 * (noise[k] - skew[k]);
    }
    memset(skew, 0, (size_t)c->n * sizeof *skew);
    tess_xp_combine_skew(c, mu, TESS_XP_ALL_DRAWS, skew);
    tess_xp_combine_solve(c, skew);
}

void tess_xp_combine_shift(tess_xp_combine *c, const double *mu, double *shift, double *room)
{
    double *skew = room;
    double *noise = room + c->n;
    tess_xp_place place;
    tess_xp_coords_place(&c->coords, mu, &place);
    memset(shift, 0, (size_t)c->n * sizeof *shift);
    for (int64_t k = 0; k < c->coords.n; k++) {
        shift[k] = -(double)(tess_xp_combine_n_used(c) - 1) * place.volume_slope[k];
    }
    tess_xp_combine_solve(c, shift);
    find_skew(c, mu, skew, noise);
    // What is left: the next order, which is smaller by one more factor of the third moments, and
    // the noise of the correction; or the first order, where it is not corrected for.
    const double first = in_deviations(c, skew, room + 2 * c->n);
    const double by_chance = in_deviations(c, noise, room + 2 * c->n);
    const bool is_corrected = c->is_nearly_normal && by_chance < first;
    const double left = is_corrected ? hypot(first * c->skewness, by_chance) : first;
    for (int64_t k = 0; is_corrected && k < c->n; k++) {
        shift[k] += skew[k];
    }
    if (left > MOST_LEFT) {
        tess_text_printf(&c->warnings,
                         "shards are skewed: means of this consensus may be off by about %.2g of "
                         "their standard deviations; use fewer and larger shards, more draws, or "
                         "all data at once\n",
                         left);
    }
}
