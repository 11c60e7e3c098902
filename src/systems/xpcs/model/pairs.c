// c2 and its derivatives at chosen pairs of frames: for plots, checks and optimisers of one's own.
// Fits take their sums from the PASS stage.
#include "base/status.h"
#include "systems/xpcs/model/evaluate.h"
#include "systems/xpcs/model/two.h"

#include <math.h>

static const double SINC_SERIES = 1e-4;
static const double SLOPE_SERIES = 0.2;
enum { POLL_EVERY = 1 << 14 };

// sin z / z and z times its derivative, cos z - sin z / z, which cancels for small z.
typedef struct sinc {
    double value;
    double slope;
} sinc;

static sinc sinc_at(double z)
{
    const double square = z * z;
    const double value =
        fabs(z) < SINC_SERIES ? 1 - square / 6 + square * square / 120 : sin(z) / z;
    if (fabs(z) < SLOPE_SERIES) {
        const double tail = square * (1.0 / 840 - square * (1.0 / 45360 - square / 3991680));
        return (sinc){value, square * (-1.0 / 3 + square * (1.0 / 30 - tail))};
    }
    return (sinc){value, cos(z) - value};
}

// An integral between two frames, with eps_abs as the original has it.
typedef struct integral {
    double value;
    double per_difference; // d value / d difference
} integral;

static integral integral_at(const double *sums, int64_t i, int64_t j, double eps_abs)
{
    const double difference = sums[j] - sums[i];
    if (eps_abs == 0) {
        return (integral){difference, 1};
    }
    const double value = sqrt(difference * difference + eps_abs);
    return (integral){value, difference / value};
}

// M and, if jacobian is not NULL, its derivatives.
static double model_at(const tess_xp_grids *grids, const tess_xp_angle *angle, int32_t power,
                       int64_t i, int64_t j, double *jacobian)
{
    const tess_xp_grid *grid = &grids->grid;
    if (grid->two) {
        return tess_xp_two_at(grid, angle, i, j, jacobian);
    }
    const integral d = integral_at(grid->diffusion, i, j, grid->eps_abs);
    const double decay = exp(-angle->w2 * d.value);
    integral b = {0};
    sinc s = {.value = 1};
    if (grid->shear) {
        b = integral_at(grid->shear, i, j, grid->eps_abs);
        s = sinc_at(angle->amplitude * b.value);
    }
    const double below = power == 2 ? s.value : s.value * s.value * s.value; // s^(power - 1)
    const double m = decay * (below * s.value);
    if (!jacobian) {
        return m;
    }
    for (int64_t k = 0; k < 3; k++) {
        const double *by = grid->diffusion_d[k];
        jacobian[k] = -angle->w2 * d.per_difference * (by[j] - by[i]) * m;
    }
    if (grid->shear) {
        const double t = power * decay * below * s.slope; // z dM/dz
        // Rates at their floor may be lost in the sum: then z is 0, and so is t.
        const double per_difference = b.value > 0 ? b.per_difference / b.value : 0;
        for (int64_t k = 0; k < 3; k++) {
            const double *by = grid->shear_d[k];
            jacobian[3 + k] = t * per_difference * (by[j] - by[i]);
        }
        jacobian[6] = t * angle->tau;
    }
    return m;
}

static tess_status check_pairs(const int64_t *first, const int64_t *second, int64_t n_pair,
                               int64_t n_frame)
{
    for (int64_t k = 0; k < n_pair; k++) {
        if (first[k] < 0 || first[k] >= second[k] || second[k] >= n_frame) {
            TESS_FAIL(TESS_E_RANGE,
                      "pair %lld: frames %lld and %lld; expected 0 <= first < second < %lld",
                      (long long)k, (long long)first[k], (long long)second[k], (long long)n_frame);
        }
    }
    return TESS_OK;
}

static tess_status fill_angle(tess_context *ctx, const tess_xp_evaluation *at,
                              const tess_xp_angle *angle, const int64_t *first,
                              const int64_t *second, int64_t n_pair, double *c2, double *jacobian)
{
    const int32_t power = tess_xp_power((tess_xpcs_kernel)at->model.kernel);
    const int64_t n_param = at->grids.n_param;
    for (int64_t k = 0; k < n_pair; k++) {
        if (k % POLL_EVERY == 0) {
            TESS_TRY(tess_context_check_cancel(ctx));
        }
        double *row = jacobian ? jacobian + k * n_param : NULL;
        c2[k] = angle->offset +
                angle->contrast * model_at(&at->grids, angle, power, first[k], second[k], row);
        for (int64_t l = 0; row && l < n_param; l++) {
            row[l] *= angle->contrast;
        }
    }
    return TESS_OK;
}

tess_status tess_xpcs_model_pairs(tess_context *ctx, const tess_xpcs_model *model,
                                  const tess_xpcs_angles *angles, const double *theta,
                                  int64_t n_frame, const int64_t *first, const int64_t *second,
                                  int64_t n_pair, double *c2, double *jacobian)
{
    tess_error_clear();
    if (!ctx || !angles || n_pair < 0 || (n_pair > 0 && (!first || !second || !c2))) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s",
                  !ctx      ? "context: NULL"
                  : !angles ? "angles: NULL"
                            : "pairs: first, second or c2 is NULL");
    }
    TESS_TRY(check_pairs(first, second, n_pair, n_frame));
    tess_xp_evaluation at;
    TESS_TRY(tess_xp_evaluation_open(ctx, model, angles, theta, n_frame, &at));
    tess_status status = TESS_OK;
    for (int64_t a = 0; a < at.angles.n_angle && status == TESS_OK; a++) {
        const tess_xp_angle angle = tess_xp_evaluation_angle(&at, theta, a);
        status = fill_angle(ctx, &at, &angle, first, second, n_pair, c2 + a * n_pair,
                            jacobian ? jacobian + a * n_pair * at.grids.n_param : NULL);
    }
    tess_xp_evaluation_close(ctx, &at);
    return status;
}
