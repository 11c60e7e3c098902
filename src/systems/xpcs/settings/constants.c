#include "systems/xpcs/settings/constants.h"

#include "base/log.h"
#include "base/status.h"
#include "base/struct_read.h"

#include <math.h>

static const double LEAST_GAP = 1e4;
static const double LARGEST_GAP = 1e9;

static tess_status check_gap(double gap)
{
    if (gap == 0) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "gap: missing; laminar flow needs the gap between stator and rotor in Å (--gap, "
                  "gap_angstrom, analyzer_parameters.geometry.stator_rotor_gap), 2e6 for 200 µm");
    }
    if (!isfinite(gap) || gap < 0) {
        TESS_FAIL(TESS_E_RANGE,
                  "gap (analyzer_parameters.geometry.stator_rotor_gap): %g; expected a finite "
                  "number > 0, in Å",
                  gap);
    }
    if (gap < LEAST_GAP || gap > LARGEST_GAP) {
        TESS_FAIL(TESS_E_RANGE,
                  "gap (analyzer_parameters.geometry.stator_rotor_gap): %g Å is %g µm, no shear "
                  "cell's; the unit is Å, 200 µm are 2e6",
                  gap, gap * 1e-4);
    }
    return TESS_OK;
}

tess_status tess_xp_constants_check(const tess_xpcs_model *model)
{
    if (!tess_xpcs_mode_name((tess_xpcs_mode)model->mode)) {
        TESS_FAIL(TESS_E_RANGE,
                  "mode: %d; expected 0 (static_isotropic), 1 (static_anisotropic), 2 "
                  "(laminar_flow) or 3 (two_component)",
                  model->mode);
    }
    if (!tess_xpcs_kernel_name((tess_xpcs_kernel)model->kernel)) {
        TESS_FAIL(TESS_E_RANGE,
                  "kernel: %d; expected 0 (upstream), 1 (upstream_v1) or 2 (physical)",
                  model->kernel);
    }
    if (model->dt_s == 0) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "dt: missing, and the data do not say it; give the time between frames in s "
                  "(--dt, dt_s, analyzer_parameters.dt)");
    }
    if (!isfinite(model->dt_s) || model->dt_s < 0) {
        TESS_FAIL(TESS_E_RANGE,
                  "dt (analyzer_parameters.dt): %g; expected a finite number > 0, in s",
                  model->dt_s);
    }
    return model->mode == TESS_XPCS_LAMINAR_FLOW ? check_gap(model->gap_angstrom) : TESS_OK;
}

tess_status tess_xp_constants_read(const tess_xpcs_model *given, tess_xpcs_model *model)
{
    tess_xpcs_model_init(model, sizeof *model);
    if (!given) {
        TESS_FAIL(TESS_E_ARGUMENT, "model: NULL; fill one with tess_xpcs_model_init()");
    }
    TESS_TRY(tess_struct_read(given, model, sizeof *model, "model"));
    TESS_TRY(tess_xp_constants_check(model));
    return tess_params_check(tess_xpcs_model_params(), model);
}

tess_status tess_xp_constants_for_data(const tess_xpcs_model *given,
                                       const tess_xpcs_data_info *info, tess_xpcs_model *model)
{
    tess_xpcs_model_init(model, sizeof *model);
    if (given) {
        TESS_TRY(tess_struct_read(given, model, sizeof *model, "model"));
    }
    if (model->dt_s == 0) {
        model->dt_s = info->dt_s;
    }
    if (model->gap_angstrom == 0) {
        model->gap_angstrom = info->gap_angstrom;
    }
    model->keep_t0 = info->keep_t0;
    TESS_TRY(tess_xp_constants_check(model));
    return tess_params_check(tess_xpcs_model_params(), model);
}

tess_status tess_xp_theta_check(const tess_xpcs_model *model, const double *theta)
{
    int64_t n_param = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params((tess_xpcs_mode)model->mode, &n_param);
    if (!theta) {
        TESS_FAIL(TESS_E_ARGUMENT, "theta: NULL; expected %lld parameters", (long long)n_param);
    }
    for (int64_t k = 0; k < n_param; k++) {
        if (!isfinite(theta[k])) {
            TESS_FAIL(TESS_E_RANGE, "theta[%lld] (%s): %g; expected a finite number%s%s",
                      (long long)k, params[k].name, theta[k], *params[k].unit ? ", in " : "",
                      params[k].unit);
        }
    }
    return TESS_OK;
}

tess_status tess_xp_angles_check(const double *phi, const double *q, int64_t n_angle)
{
    if (n_angle < 1 || !phi || !q) {
        TESS_FAIL(TESS_E_ARGUMENT, "angles: none; expected phi (degrees) and q (1/Å) of at least "
                                   "one matrix");
    }
    for (int64_t a = 0; a < n_angle; a++) {
        if (!isfinite(q[a]) || q[a] <= 0) {
            TESS_FAIL(TESS_E_RANGE,
                      "q[%lld] (analyzer_parameters.scattering.wavevector_q): %g; expected a "
                      "finite number > 0, in 1/Å",
                      (long long)a, q[a]);
        }
        if (!isfinite(phi[a])) {
            TESS_FAIL(TESS_E_RANGE, "phi[%lld]: %g; expected a finite number, in degrees",
                      (long long)a, phi[a]);
        }
    }
    return TESS_OK;
}

static void warn_outside(tess_context *ctx, const char *what, double value, double lower,
                         double upper, const char *unit)
{
    if (value < lower || value > upper) {
        tess_log_warn(&ctx->log, TESS_W_XPCS_UNIT,
                      "xpcs: %s is %g %s, outside %g..%g; check the unit", what, value, unit, lower,
                      upper);
    }
}

void tess_xp_constants_warn(tess_context *ctx, const tess_xpcs_model *model, const double *q,
                            int64_t n_angle)
{
    warn_outside(ctx, "dt", model->dt_s, 1e-6, 1e3, "s");
    if (model->mode == TESS_XPCS_LAMINAR_FLOW) {
        warn_outside(ctx, "gap", model->gap_angstrom, 1e5, 1e8, "Å");
    }
    double least = (double)INFINITY;
    double largest = 0;
    for (int64_t a = 0; a < n_angle; a++) {
        least = fmin(least, q[a]);
        largest = fmax(largest, q[a]);
    }
    warn_outside(ctx, "the smallest q", least, 1e-4, 1, "1/Å");
    if (largest > least) {
        warn_outside(ctx, "the largest q", largest, 1e-4, 1, "1/Å");
    }
}
