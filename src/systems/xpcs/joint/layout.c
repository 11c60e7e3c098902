#include "systems/xpcs/joint/layout.h"

#include <math.h>
#include <string.h>

static int64_t unknowns_of(const tess_xp_layout *layout, int64_t k)
{
    return layout->ties[k] == TESS_XPCS_TIE_EACH    ? layout->n_member
           : layout->ties[k] == TESS_XPCS_TIE_POWER ? 2
                                                    : 1;
}

void tess_xp_layout_make(tess_xp_layout *layout, int64_t n_member, int64_t n_param,
                         const int32_t *ties, const double *fixed, const double *log_ratio)
{
    *layout = (tess_xp_layout){.n_member = n_member, .n_param = n_param, .log_ratio = log_ratio};
    for (int64_t k = 0; k < n_param; k++) {
        layout->ties[k] = ties[k];
        layout->fixed[k] = fixed[k];
        layout->value[k] = isnan(fixed[k]) ? layout->n_x : -1;
        layout->n_x += isnan(fixed[k]) ? unknowns_of(layout, k) : 0;
    }
}

tess_xpcs_unknown tess_xp_layout_unknown(const tess_xp_layout *layout, int64_t i)
{
    tess_xpcs_unknown found = {.member = -1};
    for (int64_t k = 0; k < layout->n_param; k++) {
        const int64_t at = i - layout->value[k];
        if (layout->value[k] >= 0 && at >= 0 && at < unknowns_of(layout, k)) {
            found.param = k;
            found.member = layout->ties[k] == TESS_XPCS_TIE_EACH ? at : -1;
            found.is_exponent = layout->ties[k] == TESS_XPCS_TIE_POWER && at == 1;
        }
    }
    return found;
}

int64_t tess_xp_layout_slope(const tess_xp_layout *layout, const double *x, int64_t member,
                             int64_t k, int64_t at[2], double slope[2])
{
    const int64_t value = layout->value[k];
    if (value < 0) {
        return 0;
    }
    at[0] = value + (layout->ties[k] == TESS_XPCS_TIE_EACH ? member : 0);
    slope[0] = 1;
    if (layout->ties[k] != TESS_XPCS_TIE_POWER) {
        return 1;
    }
    at[1] = value + 1;
    slope[0] = exp(x[value + 1] * layout->log_ratio[member]);
    slope[1] = x[value] * slope[0] * layout->log_ratio[member];
    return 2;
}

void tess_xp_layout_theta(const tess_xp_layout *layout, const double *x, int64_t member,
                          double *theta)
{
    for (int64_t k = 0; k < layout->n_param; k++) {
        int64_t at[2];
        double slope[2];
        const int64_t n = tess_xp_layout_slope(layout, x, member, k, at, slope);
        theta[k] = n == 0 ? layout->fixed[k] : x[at[0]] * slope[0];
    }
}

void tess_xp_layout_gather(const tess_xp_layout *layout, const double *x, int64_t member,
                           const double *gradient, const double *hessian, double scale,
                           double *gradient_x, double *hessian_x)
{
    const int64_t p = layout->n_param;
    int64_t at[TESS_XPCS_MAX_PARAM][2];
    double slope[TESS_XPCS_MAX_PARAM][2];
    int64_t n[TESS_XPCS_MAX_PARAM];
    for (int64_t k = 0; k < p; k++) {
        n[k] = tess_xp_layout_slope(layout, x, member, k, at[k], slope[k]);
        for (int64_t a = 0; a < n[k]; a++) {
            gradient_x[at[k][a]] += scale * slope[k][a] * gradient[k];
        }
    }
    for (int64_t k = 0; k < p; k++) {
        for (int64_t l = 0; l < p; l++) {
            for (int64_t a = 0; a < n[k]; a++) {
                for (int64_t b = 0; b < n[l]; b++) {
                    hessian_x[at[k][a] * layout->n_x + at[l][b]] +=
                        scale * slope[k][a] * slope[l][b] * hessian[k * p + l];
                }
            }
        }
    }
}
