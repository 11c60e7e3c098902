#include "systems/xpcs/model/evaluate.h"

#include "base/status.h"
#include "base/struct_read.h"
#include "systems/xpcs/model/two.h"
#include "systems/xpcs/settings/constants.h"

#include <string.h>

static const double ANY_GAP = 2e6; // Å; rates and their sums do not depend on it

tess_status tess_xp_evaluation_open(tess_context *ctx, const tess_xpcs_model *model,
                                    const tess_xpcs_angles *angles, const double *theta,
                                    int64_t n_frame, tess_xp_evaluation *out)
{
    *out = (tess_xp_evaluation){.angles = {.struct_size = sizeof out->angles}};
    TESS_TRY(tess_xp_constants_read(model, &out->model));
    TESS_TRY(tess_xp_theta_check(&out->model, theta));
    if (angles) {
        TESS_TRY(tess_struct_read(angles, &out->angles, sizeof out->angles, "angles"));
        TESS_TRY(tess_xp_angles_check(out->angles.phi, out->angles.q, out->angles.n_angle));
    }
    TESS_TRY(tess_xp_grids_create(ctx, &out->model, n_frame, &out->grids));
    tess_xp_grids_fill(&out->grids, &out->model, theta);
    return TESS_OK;
}

void tess_xp_evaluation_close(tess_context *ctx, tess_xp_evaluation *evaluation)
{
    tess_xp_grids_destroy(ctx, &evaluation->grids);
}

tess_xp_angle tess_xp_evaluation_angle(const tess_xp_evaluation *evaluation, const double *theta,
                                       int64_t angle)
{
    const tess_xpcs_angles *angles = &evaluation->angles;
    tess_xp_angle out = {.contrast = angles->contrast ? angles->contrast[angle] : 1,
                         .offset = angles->offset ? angles->offset[angle] : 0};
    tess_xp_angle_fill(&out, &evaluation->model, theta, angles->phi[angle], angles->q[angle]);
    return out;
}

// What of the grids is another model's; NULL: nothing.
static const char *name_missing(const tess_xpcs_grids *want, const tess_xp_grid *grid)
{
    const bool has_diffusion =
        want->diffusion || want->diffusion_sum || want->diffusion_derivatives;
    const bool has_shear = want->shear || want->shear_sum || want->shear_derivatives;
    const bool has_two = want->reference || want->sample || want->velocity || want->fraction ||
                         want->reference_sum || want->sample_sum || want->velocity_sum;
    return has_diffusion && grid->two  ? "diffusion"
           : has_shear && !grid->shear ? "shear"
           : has_two && !grid->two     ? "a component"
                                       : NULL;
}

static void copy_two(const tess_xp_grids *grids, const double *theta, const tess_xpcs_grids *want)
{
    const int64_t n = grids->n_frame;
    double *const sums[] = {want->reference_sum, want->sample_sum, want->velocity_sum};
    for (int64_t k = 0; k < 3; k++) {
        if (sums[k]) {
            memcpy(sums[k], grids->sums + 4 * k * n, (size_t)n * sizeof(double));
        }
    }
    for (int64_t i = 0; i < n; i++) {
        const tess_xp_two_rates at = tess_xp_two_rates_at(grids->t[i], grids->log_t[i], theta);
        double *const rates[] = {want->reference, want->sample, want->velocity, want->fraction};
        const double values[] = {at.reference, at.sample, at.velocity, at.fraction};
        for (int64_t k = 0; k < 4; k++) {
            if (rates[k]) {
                rates[k][i] = values[k];
            }
        }
    }
}

static void copy_rates(const tess_xp_grids *grids, const double *theta, const tess_xpcs_grids *want)
{
    const int64_t n = grids->n_frame;
    const size_t bytes = (size_t)n * sizeof(double);
    double *const rates[] = {want->diffusion, want->shear};
    double *const sums[] = {want->diffusion_sum, want->shear_sum};
    double *const derivatives[] = {want->diffusion_derivatives, want->shear_derivatives};
    for (int64_t k = 0; k < 2; k++) {
        for (int64_t i = 0; rates[k] && i < n; i++) {
            rates[k][i] = tess_xp_rate_at(grids->log_t[i], theta + 3 * k).value;
        }
        if (sums[k]) {
            memcpy(sums[k], grids->sums + 4 * k * n, bytes);
        }
        if (derivatives[k]) {
            memcpy(derivatives[k], grids->sums + (4 * k + 1) * n, 3 * bytes);
        }
    }
}

tess_status tess_xpcs_model_grids(tess_context *ctx, const tess_xpcs_model *model,
                                  const double *theta, int64_t n_frame, tess_xpcs_grids *grids)
{
    tess_error_clear();
    if (!ctx || !grids) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: NULL", ctx ? "grids" : "context");
    }
    tess_xpcs_grids want = {.struct_size = sizeof want};
    TESS_TRY(tess_struct_read(grids, &want, sizeof want, "grids"));
    tess_xpcs_model known;
    tess_xpcs_model_init(&known, sizeof known);
    if (model) {
        TESS_TRY(tess_struct_read(model, &known, sizeof known, "model"));
        known.gap_angstrom = known.gap_angstrom == 0 ? ANY_GAP : known.gap_angstrom;
    }
    tess_xp_evaluation at;
    TESS_TRY(tess_xp_evaluation_open(ctx, model ? &known : NULL, NULL, theta, n_frame, &at));
    tess_status status = TESS_OK;
    const char *missing = name_missing(&want, &at.grids.grid);
    if (missing) {
        status = tess_error_set(TESS_E_ARGUMENT,
                                "grids: %s is wanted, but mode %s has none; leave it NULL", missing,
                                tess_xpcs_mode_name((tess_xpcs_mode)at.model.mode));
        goto done;
    }
    if (want.t) {
        memcpy(want.t, at.grids.t, (size_t)n_frame * sizeof(double));
    }
    if (at.grids.grid.two) {
        copy_two(&at.grids, theta, &want);
    } else {
        copy_rates(&at.grids, theta, &want);
    }
done:
    tess_xp_evaluation_close(ctx, &at);
    return status;
}
