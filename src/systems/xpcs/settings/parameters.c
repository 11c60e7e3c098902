// Names, units, bounds, starts and priors of the parameters.
#include "tessera/xpcs/model.h"

static const tess_xpcs_param_info physical[] = {
    {"D0", "D_0", "Å²/s", 100, 1e5, 1e4, 1000, 1000},
    {"alpha", "", "", -2, 2, -1.5, 0.5, 0.5},
    {"D_offset", "", "Å²/s", -1e5, 1e5, 0, 10, 200},
    {"gamma_dot_t0", "gamma_dot_0|gamma_dot_t_0", "1/s", 1e-6, 0.5, 1e-3, 0.01, 0.1},
    {"beta", "", "", -2, 2, 0, 0, 0.5},
    {"gamma_dot_t_offset", "gamma_dot_offset", "1/s", -0.1, 0.1, 0, 0, 0.02},
    {"phi0", "phi_0", "degrees", -10, 10, 0, 0, 5},
};

// Priors: so wide that the data decide, as upstream's registry has none for these.
static const tess_xpcs_param_info two_component[] = {
    {"D0_ref", "", "Å²/s", 0, 1e6, 1e4, 1e4, 1e5},
    {"alpha_ref", "", "", -2, 2, 0, 0, 2},
    {"D_offset_ref", "", "Å²/s", -1e4, 1e4, 0, 0, 1e4},
    {"D0_sample", "", "Å²/s", 0, 1e6, 1e4, 1e4, 1e5},
    {"alpha_sample", "", "", -2, 2, 0, 0, 2},
    {"D_offset_sample", "", "Å²/s", -1e4, 1e4, 0, 0, 1e4},
    {"v0", "", "Å/s", 0, 1e6, 1e3, 1e3, 1e5},
    {"v_beta", "", "", 0, 2, 1, 1, 1},
    {"v_offset", "", "Å/s", -100, 100, 0, 0, 100},
    {"f0", "", "", 0, 1, 0.5, 0.5, 0.5},
    {"f1", "", "1/s", -1, 1, 0, 0, 1},
    {"f2", "", "s", -1, 1, 0, 0, 1},
    {"f3", "", "", -1, 1, 0, 0, 1},
    {"phi0_het", "phi0_heterodyne", "degrees", -10, 10, 0, 0, 5},
};

static const tess_xpcs_param_info scaling[] = {
    {"contrast", "", "", 0, 1, 0.5, 0.5, 0.25},
    {"offset", "", "", 0.5, 1.5, 1, 1, 0.25},
};

const tess_xpcs_param_info *tess_xpcs_params(tess_xpcs_mode mode, int64_t *n)
{
    if (mode == TESS_XPCS_TWO_COMPONENT) {
        *n = TESS_XPCS_N_TWO;
        return two_component;
    }
    *n = mode == TESS_XPCS_LAMINAR_FLOW ? TESS_XPCS_N_LAMINAR : TESS_XPCS_N_STATIC;
    return physical;
}

const tess_xpcs_param_info *tess_xpcs_scaling_param(int32_t which)
{
    return &scaling[which == 1];
}

const char *tess_xpcs_mode_name(tess_xpcs_mode mode)
{
    static const char *const names[] = {"static_isotropic", "static_anisotropic", "laminar_flow",
                                        "two_component"};
    return (uint32_t)mode < 4 ? names[mode] : NULL;
}

const char *tess_xpcs_kernel_name(tess_xpcs_kernel kernel)
{
    static const char *const names[] = {"upstream", "upstream_v1", "physical"};
    return (uint32_t)kernel < 3 ? names[kernel] : NULL;
}
