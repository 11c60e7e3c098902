// Unknowns of the scaling as parameters like others, for robust losses.
#include "base/status.h"
#include "numerics/cholesky.h"
#include "systems/xpcs/fit/scaling_parts.h"

#include <string.h>

double tess_xp_scaling_weight(const tess_xp_scaling *s, int64_t angle, int64_t i)
{
    switch (s->mode) {
    case TESS_XPCS_SCALING_INDIVIDUAL:
        return angle == i;
    case TESS_XPCS_SCALING_AVERAGED:
        return 1;
    default:
        return s->basis[angle * s->n_basis + i];
    }
}

void tess_xp_scaling_expand(const tess_xp_scaling *s, const double *u, double *contrast,
                            double *offset)
{
    const int64_t nb = s->n_basis;
    for (int64_t a = 0; a < s->n_angle; a++) {
        if (nb == 0) {
            contrast[a] = s->fixed[a];
            offset[a] = s->fixed[s->n_angle + a];
        } else if (s->mode != TESS_XPCS_SCALING_FOURIER) {
            const int64_t i = nb == 1 ? 0 : a;
            contrast[a] = u[i];
            offset[a] = u[nb + i];
        } else {
            contrast[a] = offset[a] = 0;
            for (int64_t i = 0; i < nb; i++) {
                contrast[a] += s->basis[a * nb + i] * u[i];
                offset[a] += s->basis[a * nb + i] * u[nb + i];
            }
        }
    }
}

// Least squares of both over the angles.
static tess_status collect_series(const tess_xp_scaling *s, const double *contrast,
                                  const double *offset, double *u)
{
    const int64_t nb = s->n_basis;
    double *normal = s->work + 2 * s->n_param; // where series have theirs
    memset(normal, 0, (size_t)(nb * nb) * sizeof *normal);
    memset(u, 0, (size_t)(2 * nb) * sizeof *u);
    for (int64_t a = 0; a < s->n_angle; a++) {
        const double *b = s->basis + a * nb;
        for (int64_t i = 0; i < nb; i++) {
            u[i] += b[i] * contrast[a];
            u[nb + i] += b[i] * offset[a];
            for (int64_t j = 0; j < nb; j++) {
                normal[i * nb + j] += b[i] * b[j];
            }
        }
    }
    if (!tess_cholesky(normal, nb)) {
        TESS_FAIL(TESS_E_CONFIG,
                  "scaling fourier: %lld angles do not determine a series of %lld terms, some are "
                  "equal; lower fourier_order",
                  (long long)s->n_angle, (long long)nb);
    }
    tess_cholesky_solve(normal, nb, u);
    tess_cholesky_solve(normal, nb, u + nb);
    return TESS_OK;
}

tess_status tess_xp_scaling_collect(const tess_xp_scaling *s, const double *contrast,
                                    const double *offset, double *u)
{
    const int64_t nb = s->n_basis;
    if (s->mode == TESS_XPCS_SCALING_FOURIER) {
        return collect_series(s, contrast, offset, u);
    }
    memset(u, 0, (size_t)(2 * nb) * sizeof *u);
    for (int64_t a = 0; a < s->n_angle && nb > 0; a++) {
        const int64_t i = nb == 1 ? 0 : a;
        const double share = nb == 1 ? 1 / (double)s->n_angle : 1;
        u[i] += share * contrast[a];
        u[nb + i] += share * offset[a];
    }
    return TESS_OK;
}

// Adds an angle's sums to rows and columns of its unknowns i and j.
static void add_block(const tess_xp_scaling *s, const double *six, double w, int64_t i, int64_t j,
                      double *hessian)
{
    const int64_t nb = s->n_basis;
    const int64_t n = 2 * nb + s->n_param;
    hessian[i * n + j] += w * six[TESS_XP_SFF];
    hessian[i * n + nb + j] += w * six[TESS_XP_SF];
    hessian[(nb + i) * n + j] += w * six[TESS_XP_SF];
    hessian[(nb + i) * n + nb + j] += w * six[TESS_XP_S1];
}

static void add_angle(const tess_xp_scaling *s, const double *six, int64_t a, double contrast,
                      double *gradient, double *hessian)
{
    const int64_t nb = s->n_basis;
    const int64_t p = s->n_param;
    const int64_t n = 2 * nb + p;
    const double *jp = six + TESS_XP_SIX;
    const bool is_own = s->mode == TESS_XPCS_SCALING_INDIVIDUAL;
    for (int64_t i = is_own ? a : 0; i < (is_own ? a + 1 : nb); i++) {
        const double b = tess_xp_scaling_weight(s, a, i);
        gradient[i] += b * six[TESS_XP_SFY];
        gradient[nb + i] += b * six[TESS_XP_SY];
        for (int64_t j = is_own ? a : 0; j < (is_own ? a + 1 : nb); j++) {
            add_block(s, six, b * tess_xp_scaling_weight(s, a, j), i, j, hessian);
        }
        for (int64_t k = 0; k < p; k++) {
            hessian[i * n + 2 * nb + k] += b * contrast * jp[p + k];
            hessian[(nb + i) * n + 2 * nb + k] += b * contrast * jp[k];
        }
    }
    for (int64_t k = 0; k < p; k++) {
        gradient[2 * nb + k] += contrast * jp[2 * p + k];
    }
}

void tess_xp_scaling_explicit(const tess_xp_scaling *s, const double *sums, const double *contrast,
                              double *cost, double *gradient, double *hessian)
{
    const int64_t m = 2 * s->n_basis;
    const int64_t n = m + s->n_param;
    const double *h = sums + s->n_angle * tess_xp_stride(s);
    memset(gradient, 0, (size_t)n * sizeof *gradient);
    memset(hessian, 0, (size_t)(n * n) * sizeof *hessian);
    *cost = 0;
    for (int64_t a = 0; a < s->n_angle; a++) {
        const double *six = sums + a * tess_xp_stride(s);
        *cost += 0.5 * six[TESS_XP_SYY];
        add_angle(s, six, a, contrast[a], gradient, hessian);
    }
    for (int64_t k = m; k < n; k++) {
        for (int64_t l = k; l < n; l++) {
            hessian[k * n + l] = *h++;
        }
    }
    for (int64_t k = 0; k < n; k++) {
        for (int64_t l = 0; l < k; l++) {
            hessian[k * n + l] = hessian[l * n + k];
        }
    }
}
