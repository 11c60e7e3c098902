#include "systems/xpcs/posterior/density.h"

#include <math.h>
#include <string.h>

static const double LOG_2PI = 1.8378770664093454836;

// ln(Phi(b) - Phi(a)), a < b, from the tail that both are in where they are in one.
static double log_normal_mass(double a, double b)
{
    const double root = 1.4142135623730950488;
    if (a > 0) {
        return log(0.5 * (erfc(a / root) - erfc(b / root)));
    }
    if (b < 0) {
        return log(0.5 * (erfc(-b / root) - erfc(-a / root)));
    }
    return log1p(-0.5 * (erfc(-a / root) + erfc(b / root)));
}

void tess_xp_prior_close(tess_xp_prior *p)
{
    p->log_norm = -log(p->sd) - 0.5 * LOG_2PI -
                  log_normal_mass((p->lower - p->mean) / p->sd, (p->upper - p->mean) / p->sd);
}

// What the sums of an angle say of its pair, in units of the noise.
typedef struct pair {
    double lambda[3];     // offset offset, offset contrast, contrast contrast
    double determinant;   //
    double at[2];         // the mean: offset less that of the data, contrast
    double covariance[3]; // as lambda
} pair;

static pair pair_of(const tess_xp_density *d, const double *t, int64_t angle, double s)
{
    const double w = 1 / (s * s);
    const double v_offset = 1 / (d->offset.sd * d->offset.sd);
    const double v_contrast = 1 / (d->contrast.sd * d->contrast.sd);
    pair p;
    p.lambda[0] = v_offset + w * t[0];
    p.lambda[1] = w * t[1];
    p.lambda[2] = v_contrast + w * t[2];
    // As a sum of what is not negative: only the last bracket cancels, for flat models.
    p.determinant =
        v_offset * p.lambda[2] + w * t[0] * v_contrast + w * w * (t[0] * t[2] - t[1] * t[1]);
    p.covariance[0] = p.lambda[2] / p.determinant;
    p.covariance[1] = -p.lambda[1] / p.determinant;
    p.covariance[2] = p.lambda[0] / p.determinant;
    const double b_offset = v_offset * (d->offset.mean - d->mean[angle]) + w * t[3];
    const double b_contrast = v_contrast * d->contrast.mean + w * t[5];
    p.at[0] = p.covariance[0] * b_offset + p.covariance[1] * b_contrast;
    p.at[1] = p.covariance[1] * b_offset + p.covariance[2] * b_contrast;
    return p;
}

// Adds the likelihood of an angle.
static void add_angle(const tess_xp_density *d, const double *t, int64_t angle, double s,
                      tess_xp_density_value *out)
{
    const int64_t n = d->n_param;
    const double w = 1 / (s * s);
    const pair p = pair_of(d, t, angle, s);
    const double o = p.at[0];
    const double c = p.at[1];
    const double squares =
        t[4] - 2 * (o * t[3] + c * t[5]) + o * o * t[0] + 2 * o * c * t[1] + c * c * t[2];
    const double from_offset = (o + d->mean[angle] - d->offset.mean) / d->offset.sd;
    const double from_contrast = (c - d->contrast.mean) / d->contrast.sd;
    const double spread =
        p.covariance[0] * t[0] + 2 * p.covariance[1] * t[1] + p.covariance[2] * t[2];
    out->log_likelihood +=
        -0.5 * t[0] * (LOG_2PI + 2 * log(s)) - log(d->offset.sd) - log(d->contrast.sd) -
        0.5 * log(p.determinant) -
        0.5 * (w * squares + from_offset * from_offset + from_contrast * from_contrast);
    for (int64_t k = 0; k < n; k++) {
        out->gradient[k] += w * (c * t[6 + 2 * n + k] - (c * c + p.covariance[2]) * t[6 + n + k] -
                                 (c * o + p.covariance[1]) * t[6 + k]);
    }
    out->gradient[n] += (w * (squares + spread) - t[0]) / s;
}

void tess_xp_density_at(const tess_xp_density *d, const double *sums, const double *theta, double s,
                        tess_xp_density_value *out)
{
    const int64_t n = d->n_param;
    memset(out, 0, sizeof *out);
    for (int64_t a = 0; a < d->n_angle; a++) {
        add_angle(d, sums + a * (6 + 3 * n), a, s, out);
    }
    for (int64_t k = 0; k < n; k++) {
        const tess_xp_prior *p = &d->theta[k];
        const double z = (theta[k] - p->mean) / p->sd;
        if (!d->is_fixed[k]) {
            out->log_prior += p->log_norm - 0.5 * z * z;
            out->gradient[k] -= z / p->sd;
        }
    }
    const double z = s / d->noise_scale;
    out->log_prior_noise = 0.5 * (log(4.0) - LOG_2PI) - log(d->noise_scale) - 0.5 * z * z;
    out->gradient[n] -= z / d->noise_scale;
}

void tess_xp_density_scaling(const tess_xp_density *d, const double *angle_sums, int64_t angle,
                             double s, double mean[2], double root[4])
{
    const pair p = pair_of(d, angle_sums, angle, s);
    mean[0] = p.at[0] + d->mean[angle];
    mean[1] = p.at[1];
    root[0] = sqrt(p.covariance[0]);
    root[1] = 0;
    root[2] = p.covariance[1] / root[0];
    root[3] = sqrt(1 / p.lambda[2]); // what is left of the contrast, the offset being known
}
