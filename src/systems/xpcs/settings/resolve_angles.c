// What angles have in common, and what each weighs.
#include "systems/xpcs/settings/settings.h"

#define ANTI "optimization.nlsq.anti_degeneracy."
#define SHEAR ANTI "shear_weighting."

static void resolve_scaling(tess_xp_resolution *r)
{
    const tess_xp_value *mode = tess_xp_said(r->settings, ANTI "per_angle_mode");
    const tess_xp_value *enable = tess_xp_said(r->settings, ANTI "enable");
    int32_t *scaling = &r->info.fit.scaling;
    if (mode == NULL) {
        return;
    }
    *scaling = (int32_t)mode->number;
    // A flag of the command is meant, whatever the file says.
    if (enable != NULL && enable->number == 0 && (enable->is_set || !mode->is_set)) {
        if (*scaling != TESS_XPCS_SCALING_INDIVIDUAL) {
            tess_text_printf(&r->notices, ANTI "enable false: every angle has a contrast and an "
                                               "offset; per_angle_mode is not read\n");
        }
        *scaling = TESS_XPCS_SCALING_INDIVIDUAL;
    }
    if (*scaling != TESS_XPCS_SCALING_AUTO) {
        return;
    }
    if (r->info.model.mode == TESS_XPCS_LAMINAR_FLOW) {
        tess_text_printf(&r->notices, "per_angle_mode auto fits one contrast and offset for all "
                                      "angles if there are many, which shifts parameters where "
                                      "contrasts differ; individual does not\n");
    } else {
        // The original applies it to laminar flow alone.
        *scaling = TESS_XPCS_SCALING_INDIVIDUAL;
        tess_text_printf(&r->notices, "per_angle_mode auto means individual for %s\n",
                         r->info.model.mode == TESS_XPCS_TWO_COMPONENT ? "two components"
                                                                       : "static modes");
    }
}

// Numbers of weights go with weights: nobody shall believe that they count where they do not.
static tess_status refuse_numbers(const tess_xp_resolution *r)
{
    static const char *const keys[] = {SHEAR "alpha", SHEAR "min_weight", SHEAR "normalize",
                                       SHEAR "initial_phi0"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const tess_xp_value *said = tess_xp_said(r->settings, keys[i]);
        if (said != NULL && tess_xp_use_of(said) == TESS_XP_USED) {
            return tess_xp_complain(r->settings, said,
                                    "counts where angles are weighed; set "
                                    "optimization.nlsq.shear_weights to true, or remove it");
        }
    }
    return TESS_OK;
}

static tess_status resolve_weights(tess_xp_resolution *r)
{
    const tess_xp_value *enable = tess_xp_said(r->settings, SHEAR "enable");
    if (!r->info.fit.shear_weights) {
        if (enable != NULL && enable->number != 0 && r->info.model.mode == TESS_XPCS_LAMINAR_FLOW) {
            tess_text_printf(&r->notices, SHEAR "enable: angles weigh alike, as in the original's "
                                                "fits in memory; optimization.nlsq.shear_weights "
                                                "true weighs them as its streaming does\n");
        }
        return refuse_numbers(r);
    }
    if (enable != NULL && enable->number == 0) {
        return tess_xp_complain(r->settings, enable,
                                "false contradicts optimization.nlsq.shear_weights; remove one");
    }
    const tess_xp_value *often = tess_xp_said(r->settings, SHEAR "update_frequency");
    if (often != NULL) {
        return tess_xp_complain(r->settings, often,
                                "is not done: weights stay those of phi0 in initial_parameters; "
                                "remove it");
    }
    const tess_xp_value *phi0 = tess_xp_said(r->settings, SHEAR "initial_phi0");
    if (phi0 != NULL) {
        r->info.fit.shear_phi0 = phi0->number;
    }
    return TESS_OK;
}

tess_status tess_xp_resolve_angles(tess_xp_resolution *r)
{
    resolve_scaling(r);
    return resolve_weights(r);
}
