// Contrast and offset of every draw, given the rest of it and the data.
#include "base/rng.h"
#include "base/status.h"
#include "systems/xpcs/posterior/sample.h"

#include <math.h>
#include <string.h>

enum { MAX_TRY = 64 };

// One angle of one draw: again until it lies within the bounds.
static int64_t draw_pair(const tess_xp_sampler *s, const tess_philox_stream *stream, int64_t index,
                         const double mean[2], const double root[4], double pair[2])
{
    const double *lower = s->fit_config.scaling_lower;
    const double *upper = s->fit_config.scaling_upper;
    for (int64_t k = 0; k < MAX_TRY; k++) {
        double z[2];
        tess_philox_normals(stream, (uint64_t)(2 * (index * MAX_TRY + k)), 2, z);
        pair[0] = mean[0] + root[0] * z[0];
        pair[1] = mean[1] + root[2] * z[0] + root[3] * z[1];
        if (pair[1] >= lower[0] && pair[1] <= upper[0] && pair[0] >= lower[1] &&
            pair[0] <= upper[1]) {
            return k;
        }
    }
    pair[0] = fmin(fmax(pair[0], lower[1]), upper[1]);
    pair[1] = fmin(fmax(pair[1], lower[0]), upper[0]);
    return MAX_TRY;
}

// What is known, as draws.
static void copy_held(tess_xp_sampler *s, int64_t draw)
{
    const tess_xpcs_posterior_info *info = &s->out->info;
    const size_t bytes = (size_t)info->n_angle * sizeof(double);
    memcpy(TESS_XP_OWN(double, info->contrast) + draw * info->n_angle, s->density.held, bytes);
    memcpy(TESS_XP_OWN(double, info->offset) + draw * info->n_angle,
           s->density.held + info->n_angle, bytes);
}

// One draw of the one pair of all angles.
static void draw_pooled(tess_xp_sampler *s, int64_t draw, const double *sums)
{
    const tess_xpcs_posterior_info *info = &s->out->info;
    const int64_t n_angle = info->n_angle;
    const tess_philox_stream stream = tess_philox_open(
        (uint64_t)s->config.seed, (uint32_t)(draw / info->n_draw), TESS_XP_RANDOM_SCALING);
    double pooled[6 + 3 * TESS_XPCS_MAX_PARAM];
    double data_mean;
    double mean[2];
    double root[4];
    double pair[2];
    const tess_xp_density one = tess_xp_density_pool(&s->density, sums, pooled, &data_mean);
    tess_xp_density_scaling(&one, pooled, 0, info->noise[draw], mean, root);
    const int64_t k = draw_pair(s, &stream, draw % info->n_draw, mean, root, pair);
    for (int64_t a = 0; a < n_angle; a++) {
        TESS_XP_OWN(double, info->outside_angle)[a] += (double)k;
        TESS_XP_OWN(double, info->offset)[draw * n_angle + a] = pair[0];
        TESS_XP_OWN(double, info->contrast)[draw * n_angle + a] = pair[1];
    }
}

// One draw from the sums of its pass. outside_angle counts tries until the end.
static void draw_angles(tess_xp_sampler *s, int64_t draw, const double *sums)
{
    const tess_xpcs_posterior_info *info = &s->out->info;
    const int64_t n_angle = info->n_angle;
    const tess_philox_stream stream = tess_philox_open(
        (uint64_t)s->config.seed, (uint32_t)(draw / info->n_draw), TESS_XP_RANDOM_SCALING);
    for (int64_t a = 0; a < n_angle; a++) {
        double mean[2];
        double root[4];
        double pair[2];
        tess_xp_density_scaling(&s->density, tess_xp_angle_sums(&s->pass, sums, a), a,
                                info->noise[draw], mean, root);
        const int64_t k =
            draw_pair(s, &stream, draw % info->n_draw * n_angle + a, mean, root, pair);
        TESS_XP_OWN(double, info->outside_angle)[a] += (double)k;
        TESS_XP_OWN(double, info->offset)[draw * n_angle + a] = pair[0];
        TESS_XP_OWN(double, info->contrast)[draw * n_angle + a] = pair[1];
    }
}

static void count_outside(tess_xp_sampler *s, int64_t n_draw)
{
    tess_xpcs_posterior_info *info = &s->out->info;
    double n_outside = 0;
    for (int64_t a = 0; a < info->n_angle; a++) {
        double *count = &TESS_XP_OWN(double, info->outside_angle)[a];
        n_outside += *count;
        *count /= *count + (double)n_draw;
        if (*count > 0.01 && !info->is_truncated[a]) {
            tess_text_printf(&s->warnings,
                             "%.1f %% of the contrasts and offsets of angle %g lie outside their "
                             "bounds, which its density does not know: set wider bounds\n",
                             100 * *count, info->phi[a]);
        }
    }
    info->outside = n_outside / (n_outside + (double)(n_draw * info->n_angle));
}

tess_status tess_xp_sampler_draw_scaling(tess_xp_sampler *s)
{
    const tess_xpcs_posterior_info *info = &s->out->info;
    const int64_t n_all = info->n_chain * info->n_draw;
    const bool is_pooled = s->density.scaled == TESS_XP_SCALED_ALL;
    for (int64_t i = 0; s->density.scaled == TESS_XP_SCALED_HELD && i < n_all; i++) {
        copy_held(s, i);
        s->tally.n_scaled = n_all;
    }
    if (s->adjust.is_on && s->tally.n_scaled < n_all) {
        TESS_TRY(tess_xp_sampler_draw_scaling_frames(s));
    }
    while (s->tally.n_scaled < n_all) {
        const int64_t first = s->tally.n_scaled;
        const int64_t n = n_all - first < TESS_XP_MAX_SET ? n_all - first : TESS_XP_MAX_SET;
        tess_xp_point points[TESS_XP_MAX_SET];
        for (int64_t i = 0; i < n; i++) {
            points[i] = (tess_xp_point){.theta = info->theta + (first + i) * info->n_param,
                                        .contrast = s->fit->contrast};
        }
        TESS_TRY(tess_xp_pass_run_sets(&s->pass, points, n, s->sums));
        s->tally.n_pass++;
        s->tally.n_evaluation += n;
        for (int64_t i = 0; i < n; i++) {
            (is_pooled ? draw_pooled : draw_angles)(s, first + i, s->sums + i * s->pass.n_sum);
        }
        s->tally.n_scaled += n;
        TESS_TRY(tess_xp_sampler_between(s));
    }
    count_outside(s, n_all);
    return TESS_OK;
}
