// What is sampled of contrast and offset.
#include "base/status.h"
#include "systems/xpcs/posterior/sample.h"

static tess_status of_fit(const tess_xp_sampler *s, int32_t *scaling)
{
    switch (s->fit->scaling) {
    case TESS_XPCS_SCALING_INDIVIDUAL:
        *scaling = TESS_XPCS_DRAW_SCALING_INDIVIDUAL;
        return TESS_OK;
    case TESS_XPCS_SCALING_AVERAGED:
        *scaling = TESS_XPCS_DRAW_SCALING_AVERAGED;
        return TESS_OK;
    case TESS_XPCS_SCALING_CONSTANT:
        *scaling = TESS_XPCS_DRAW_SCALING_CONSTANT;
        return TESS_OK;
    case TESS_XPCS_SCALING_CONSTANT_AVERAGED:
        *scaling = TESS_XPCS_DRAW_SCALING_CONSTANT_AVERAGED;
        return TESS_OK;
    default:
        TESS_FAIL(TESS_E_CONFIG,
                  "scaling: the fit has a series in phi (fourier), which is not sampled; sample "
                  "with scaling individual, averaged or constant, or fit without the series");
    }
}

static tess_status resolve(const tess_xp_sampler *s, int32_t *scaling)
{
    *scaling = s->config.scaling;
    if (*scaling == TESS_XPCS_DRAW_SCALING_AUTO) {
        *scaling = s->density.n_angle >= s->fit_config.constant_scaling_threshold
                       ? TESS_XPCS_DRAW_SCALING_AVERAGED
                       : TESS_XPCS_DRAW_SCALING_INDIVIDUAL;
    }
    return *scaling == TESS_XPCS_DRAW_SCALING_FIT ? of_fit(s, scaling) : TESS_OK;
}

// Errors of noise frames are those of what the fit left free.
static tess_status check_frames(const tess_xp_sampler *s)
{
    int32_t own = 0;
    if (!(s->fit->noise_photons > 0)) {
        return TESS_OK;
    }
    TESS_TRY(of_fit(s, &own));
    if (own != s->scaling) {
        TESS_FAIL(TESS_E_CONFIG, "scaling: with noise frames draws have that of the fit; leave it "
                                 "out, or fit with the scaling that is to be drawn");
    }
    return TESS_OK;
}

tess_comm_deal tess_xp_sampler_angles(const tess_xp_sampler *s)
{
    return s->is_alone ? tess_comm_deal_of(s->ctx, false) : tess_xp_deal_survey(s->ctx, s->data);
}

// Those at which the fit held them, or where it did not, what the data tell at first sight.
static tess_status find_held(tess_xp_sampler *s, double *held)
{
    const int64_t n = s->density.n_angle;
    const bool has_held = s->fit->scaling == TESS_XPCS_SCALING_CONSTANT ||
                          s->fit->scaling == TESS_XPCS_SCALING_CONSTANT_AVERAGED;
    if (!has_held) {
        return tess_xp_data_scaling(s->ctx, s->data, tess_xp_sampler_angles(s), held, held + n);
    }
    for (int64_t a = 0; a < n; a++) {
        held[a] = s->fit->contrast[a];
        held[n + a] = s->fit->offset[a];
    }
    return TESS_OK;
}

tess_status tess_xp_sampler_set_scaled(tess_xp_sampler *s)
{
    const int64_t n = s->density.n_angle;
    TESS_TRY(resolve(s, &s->scaling));
    TESS_TRY(check_frames(s));
    const bool is_mean = s->scaling == TESS_XPCS_DRAW_SCALING_CONSTANT_AVERAGED;
    if (s->scaling == TESS_XPCS_DRAW_SCALING_AVERAGED) {
        s->density.scaled = TESS_XP_SCALED_ALL;
        return TESS_OK;
    }
    if (s->scaling != TESS_XPCS_DRAW_SCALING_CONSTANT && !is_mean) {
        return TESS_OK;
    }
    double *held = tess_blocks_alloc(&s->blocks, 2 * n, sizeof *held, "contrasts and offsets");
    if (!held) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(find_held(s, held));
    for (int64_t which = 0; which < 2 && is_mean; which++) {
        double sum = 0;
        for (int64_t a = 0; a < n; a++) {
            sum += held[which * n + a];
        }
        for (int64_t a = 0; a < n; a++) {
            held[which * n + a] = sum / (double)n;
        }
    }
    s->density.held = held;
    s->density.scaled = TESS_XP_SCALED_HELD;
    return TESS_OK;
}
