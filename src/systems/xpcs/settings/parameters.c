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

static const tess_xpcs_param_info scaling[] = {
    {"contrast", "", "", 0, 1, 0.5, 0.5, 0.25},
    {"offset", "", "", 0.5, 1.5, 1, 1, 0.25},
};

const tess_xpcs_param_info *tess_xpcs_params(tess_xpcs_mode mode, int64_t *n)
{
    *n = mode == TESS_XPCS_LAMINAR_FLOW ? TESS_XPCS_N_LAMINAR : TESS_XPCS_N_STATIC;
    return physical;
}

const tess_xpcs_param_info *tess_xpcs_scaling_param(int32_t which)
{
    return &scaling[which == 1];
}

const char *tess_xpcs_mode_name(tess_xpcs_mode mode)
{
    static const char *const names[] = {"static_isotropic", "static_anisotropic", "laminar_flow"};
    return (uint32_t)mode < 3 ? names[mode] : NULL;
}

const char *tess_xpcs_kernel_name(tess_xpcs_kernel kernel)
{
    static const char *const names[] = {"upstream", "upstream_v1", "physical"};
    return (uint32_t)kernel < 3 ? names[kernel] : NULL;
}
