// Options of xpcs that what else is asked for makes idle.

#include "unused.h"
#include "xpcs.h"

void xpcs_warn_unused(const cli *c, const xpcs_job *j)
{
    const tess_xpcs_fit_config *f = &j->fit_config;
    const char *robust = "without a robust --loss";
    const char *fourier = "without --scaling fourier";
    const char *bootstrap = "without --uncertainty block_bootstrap";
    const char *weights = "without --shear-weights";
    const char *speckle = "without --speckle";
    const int is_refitted = f->uncertainty == 1; // block_bootstrap
    const unused_rule of_fits[] = {
        {"f_scale", f->loss != TESS_XPCS_LOSS_LINEAR, robust},
        {"fourier_order", f->scaling == TESS_XPCS_SCALING_FOURIER, fourier},
        {"n_bootstrap", is_refitted, bootstrap},
        {"block_frames", is_refitted, bootstrap},
        {"shear_weights", j->model.mode == TESS_XPCS_LAMINAR_FLOW, "without --mode laminar_flow"},
        {"shear_min_weight", f->shear_weights, weights},
        {"shear_exponent", f->shear_weights, weights},
        {"shear_normalize", f->shear_weights, weights},
        {"min_success_rate", f->bad_chunk != 0, "without --bad-chunk mask"},
    };
    const unused_rule of_simulations[] = {
        {"photons", j->simulation.speckle, speckle},
        {"n_pixel", j->simulation.speckle, speckle},
        {"sigma", !j->simulation.speckle, "with --speckle, whose noise is that of photons"},
    };

    if (unused_has_table(c, tess_xpcs_fit_params())) {
        unused_warn(c, of_fits, sizeof of_fits / sizeof *of_fits);
    }
    if (unused_has_table(c, tess_xpcs_simulation_params())) {
        unused_warn(c, of_simulations, sizeof of_simulations / sizeof *of_simulations);
    }
}
