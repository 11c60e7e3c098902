#include "systems/xpcs/posterior/density.h"

#include "systems/xpcs/posterior/truncate.h"

#include <math.h>
#include <string.h>

static const double LOG_2PI = 1.8378770664093454836;

void tess_xp_prior_close(tess_xp_prior *p)
{
    p->log_norm =
        -log(p->sd) - 0.5 * LOG_2PI -
        tess_xp_log_normal_mass((p->lower - p->mean) / p->sd, (p->upper - p->mean) / p->sd);
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

// Moments of the pair, offset less that of the data: within the bounds, where the angle has them.
static tess_xp_pair_moments moments_of(const tess_xp_density *d, const pair *p, int64_t angle)
{
    const double o = p->at[0];
    const double c = p->at[1];
    tess_xp_pair_moments m = {
        .mean = {o, c},
        .square = {o * o + p->covariance[0], o * c + p->covariance[1], c * c + p->covariance[2]}};
    if (d->is_truncated && d->is_truncated[angle]) {
        const double lower[2] = {d->offset.lower - d->mean[angle], d->contrast.lower};
        const double upper[2] = {d->offset.upper - d->mean[angle], d->contrast.upper};
        tess_xp_truncate(p->at, p->covariance, lower, upper, &m);
        m.log_mass += d->offset.log_norm + log(d->offset.sd) + d->contrast.log_norm +
                      log(d->contrast.sd) + LOG_2PI; // less that of the prior
    }
    return m;
}

// Adds the likelihood of an angle. Its slopes are those of the likelihood of a pair, averaged over
// the pairs that the data leave possible.
static void add_angle(const tess_xp_density *d, const double *t, int64_t angle, double s,
                      tess_xp_density_value *out)
{
    const int64_t n = d->n_param;
    const double w = 1 / (s * s);
    const pair p = pair_of(d, t, angle, s);
    const tess_xp_pair_moments m = moments_of(d, &p, angle);
    const double o = p.at[0];
    const double c = p.at[1];
    const double squares =
        t[4] - 2 * (o * t[3] + c * t[5]) + o * o * t[0] + 2 * o * c * t[1] + c * c * t[2];
    const double from_offset = (o + d->mean[angle] - d->offset.mean) / d->offset.sd;
    const double from_contrast = (c - d->contrast.mean) / d->contrast.sd;
    // Mean of the squares less those at the mean: without what is large and cancels.
    const double mo = m.mean[0] - o;
    const double mc = m.mean[1] - c;
    const double spread = (m.square[0] - o * o) * t[0] + 2 * (m.square[1] - o * c) * t[1] +
                          (m.square[2] - c * c) * t[2] - 2 * (mo * t[3] + mc * t[5]);
    out->log_likelihood +=
        -0.5 * t[0] * (LOG_2PI + 2 * log(s)) - log(d->offset.sd) - log(d->contrast.sd) -
        0.5 * log(p.determinant) + m.log_mass -
        0.5 * (w * squares + from_offset * from_offset + from_contrast * from_contrast);
    for (int64_t k = 0; k < n; k++) {
        out->gradient[k] += w * (m.mean[1] * t[6 + 2 * n + k] - m.square[2] * t[6 + n + k] -
                                 m.square[1] * t[6 + k]);
    }
    out->gradient[n] += (w * (squares + spread) - t[0]) / s;
}

tess_xp_density tess_xp_density_pool(const tess_xp_density *d, const double *sums, double *pooled,
                                     double *mean)
{
    const int64_t n = d->n_param;
    const int64_t n_sum = 6 + 3 * n;
    double count = 0;
    *mean = 0;
    for (int64_t a = 0; a < d->n_angle; a++) {
        count += sums[a * n_sum];
        *mean += sums[a * n_sum] * d->mean[a];
    }
    *mean /= count;
    memset(pooled, 0, (size_t)n_sum * sizeof *pooled);
    for (int64_t a = 0; a < d->n_angle; a++) {
        const double *t = sums + a * n_sum;
        const double by = d->mean[a] - *mean; // y of this angle is larger by this
        for (int64_t i = 0; i < n_sum; i++) {
            pooled[i] += t[i];
        }
        pooled[3] += by * t[0];
        pooled[4] += by * (2 * t[3] + by * t[0]);
        pooled[5] += by * t[1];
        for (int64_t k = 0; k < n; k++) {
            pooled[6 + 2 * n + k] += by * t[6 + k];
        }
    }
    tess_xp_density one = *d;
    one.n_angle = 1;
    one.mean = mean;
    one.scaled = TESS_XP_SCALED_EACH;
    return one;
}

// An angle whose pair is known.
static void add_held(const tess_xp_density *d, const double *t, int64_t angle, double s,
                     tess_xp_density_value *out)
{
    const int64_t n = d->n_param;
    const double w = 1 / (s * s);
    const double c = d->held[angle];
    const double o = d->held[d->n_angle + angle] - d->mean[angle];
    const double squares =
        t[4] - 2 * (o * t[3] + c * t[5]) + o * o * t[0] + 2 * o * c * t[1] + c * c * t[2];
    out->log_likelihood += -0.5 * t[0] * (LOG_2PI + 2 * log(s)) - 0.5 * w * squares;
    for (int64_t k = 0; k < n; k++) {
        out->gradient[k] += w * c * (t[6 + 2 * n + k] - c * t[6 + n + k] - o * t[6 + k]);
    }
    out->gradient[n] += (w * squares - t[0]) / s;
}

static void add_likelihood(const tess_xp_density *d, const double *sums, double s,
                           tess_xp_density_value *out)
{
    if (d->scaled == TESS_XP_SCALED_ALL) {
        double pooled[6 + 3 * TESS_XPCS_MAX_PARAM];
        double mean;
        const tess_xp_density one = tess_xp_density_pool(d, sums, pooled, &mean);
        add_angle(&one, pooled, 0, s, out);
        return;
    }
    for (int64_t a = 0; a < d->n_angle; a++) {
        (d->scaled == TESS_XP_SCALED_HELD ? add_held : add_angle)(
            d, sums + a * (6 + 3 * d->n_param), a, s, out);
    }
}

double tess_xp_density_outside(const tess_xp_density *d, const double *angle_sums, int64_t angle,
                               double s)
{
    const pair p = pair_of(d, angle_sums, angle, s);
    const double lower[2] = {d->offset.lower - d->mean[angle], d->contrast.lower};
    const double upper[2] = {d->offset.upper - d->mean[angle], d->contrast.upper};
    tess_xp_pair_moments m;
    tess_xp_truncate(p.at, p.covariance, lower, upper, &m);
    return isfinite(m.log_mass) ? -expm1(m.log_mass) : 1;
}

void tess_xp_density_at(const tess_xp_density *d, const double *sums, const double *theta, double s,
                        tess_xp_density_value *out)
{
    const int64_t n = d->n_param;
    memset(out, 0, sizeof *out);
    add_likelihood(d, sums, s, out);
    for (int64_t k = 0; k < n; k++) {
        const tess_xp_prior *p = &d->theta[k];
        const double z = (theta[k] - p->mean) / p->sd;
        if (!d->is_fixed[k]) {
            out->log_prior += p->log_norm - 0.5 * z * z;
            out->prior_gradient[k] = -z / p->sd;
            out->gradient[k] += out->prior_gradient[k];
        }
    }
    const double z = s / d->noise_scale;
    out->log_prior_noise = 0.5 * (log(4.0) - LOG_2PI) - log(d->noise_scale) - 0.5 * z * z;
    out->prior_gradient[n] = -z / d->noise_scale;
    out->gradient[n] += out->prior_gradient[n];
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
