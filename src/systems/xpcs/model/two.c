#include "systems/xpcs/model/two.h"

#include <math.h>

static const double DEGREE = 0x1.1df46a2529d39p-6; // pi / 180
static const double SHARPNESS = 50;                // of the bends at 0 and 1
static const double LARGEST_EXPONENT = 700;

enum { TERMS = 4 };

// a t^e + o and its derivatives by a, e and o; t^e is 0 at t = 0 whatever e is.
static void rate_terms(double t, tess_parts log_t, const double *theta, double terms[TERMS])
{
    const double power = t > 0 ? tess_power(log_t, theta[1]) : 0;
    terms[0] = theta[0] * power + theta[2];
    terms[1] = power;
    terms[2] = theta[0] * power * log_t.high;
    terms[3] = 1;
}

// Transport is not below 0, where derivatives vanish. NaN is not floored: it has to show.
static void transport_terms(double t, tess_parts log_t, const double *theta, double terms[TERMS])
{
    rate_terms(t, log_t, theta, terms);
    for (int k = 3; k >= 0 && terms[0] <= 0; k--) {
        terms[k] = 0;
    }
}

// ln(1 + exp(x)) and its derivative.
static double softplus(double x, double *slope)
{
    const double small = tess_exp_of_parts(-fabs(x), 0);
    const double one = 1 + small;
    // What the sum has lost is made up for.
    const double tail = tess_log_parts(one).high + (small - (one - 1)) / one;
    *slope = x > 0 ? 1 / one : small / one;
    return x > 0 ? x + tail : tail;
}

// Kept within 0 and 1 by two soft bends.
static double soft_clip(double x, double *slope)
{
    double slopes[2];
    const double above = softplus(SHARPNESS * x, &slopes[0]) / SHARPNESS;
    const double clipped = 1 - softplus(SHARPNESS * (1 - above), &slopes[1]) / SHARPNESS;
    *slope = slopes[0] * slopes[1];
    return clipped;
}

// The sample's fraction and its derivatives by f0 to f3.
static double fraction_at(double t, const double *f, double by[4])
{
    const double exponent = f[1] * (t - f[2]);
    const bool is_clipped = fabs(exponent) > LARGEST_EXPONENT;
    const double power =
        tess_exp_of_parts(is_clipped ? copysign(LARGEST_EXPONENT, exponent) : exponent, 0);
    double slope;
    const double fraction = soft_clip(f[0] * power + f[3], &slope);
    const double moving = is_clipped ? 0 : slope * f[0] * power;
    by[0] = slope * power;
    by[1] = moving * (t - f[2]);
    by[2] = -moving * f[1];
    by[3] = slope;
    return fraction;
}

tess_xp_two_rates tess_xp_two_rates_at(double t, tess_parts log_t, const double *theta)
{
    double terms[3][TERMS];
    double by[4];
    transport_terms(t, log_t, theta + TESS_XP_D0_REF, terms[0]);
    transport_terms(t, log_t, theta + TESS_XP_D0_SAMPLE, terms[1]);
    rate_terms(t, log_t, theta + TESS_XP_V0, terms[2]);
    return (tess_xp_two_rates){.reference = terms[0][0],
                               .sample = terms[1][0],
                               .velocity = terms[2][0],
                               .fraction = fraction_at(t, theta + TESS_XP_F0, by)};
}

double tess_xp_two_product(const double *theta)
{
    return theta[TESS_XP_F0] * exp(-theta[TESS_XP_F1] * theta[TESS_XP_F2]);
}

// The logarithm of a transport rate that may be 0.
static double log_rate(double rate)
{
    return log(fmax(rate, 1e-10));
}

bool tess_xp_two_is_exchanged(const double *a, const double *b, double t)
{
    const tess_xp_two_rates x = tess_xp_two_rates_at(t, tess_log_parts(t), a);
    const tess_xp_two_rates y = tess_xp_two_rates_at(t, tess_log_parts(t), b);
    const double ref[2] = {log_rate(x.reference), log_rate(y.reference)};
    const double sample[2] = {log_rate(x.sample), log_rate(y.sample)};
    const double straight = fabs(ref[0] - ref[1]) + fabs(sample[0] - sample[1]);
    const double crossed = fabs(ref[0] - sample[1]) + fabs(sample[0] - ref[1]);
    return crossed < 0.5 * straight;
}

// fs and fr = 1 - fs as sine and cosine of an angle m: then the model needs no denominator, and
// dm/dfs = 1 / (fs^2 + fr^2).
static void fill_mixing(const tess_xp_grids *grids, int64_t i, const double *f)
{
    const int64_t n = grids->n_frame;
    double by[4];
    const double fs = fraction_at(grids->t[i], f, by);
    const double fr = 1 - fs;
    const double square = fs * fs + fr * fr;
    const double length = sqrt(square);
    double *out = grids->sums + i;
    out[TESS_XP_TWO_COSINE * n] = fr / length;
    out[TESS_XP_TWO_SINE * n] = fs / length;
    for (int64_t k = 0; k < 4; k++) {
        out[(TESS_XP_TWO_MIXING_D + k) * n] = by[k] / square;
    }
}

void tess_xp_two_fill(tess_xp_grids *grids, double dt_s, const double *theta)
{
    const int64_t n = grids->n_frame;
    double before[3][TERMS] = {{0}};
    double sum[3][TERMS] = {{0}};
    for (int64_t i = 0; i < n; i++) {
        double now[3][TERMS];
        transport_terms(grids->t[i], grids->log_t[i], theta + TESS_XP_D0_REF, now[0]);
        transport_terms(grids->t[i], grids->log_t[i], theta + TESS_XP_D0_SAMPLE, now[1]);
        rate_terms(grids->t[i], grids->log_t[i], theta + TESS_XP_V0, now[2]);
        for (int64_t k = 0; k < 3; k++) {
            for (int64_t l = 0; l < TERMS; l++) {
                sum[k][l] += i > 0 ? 0.5 * dt_s * (before[k][l] + now[k][l]) : 0;
                before[k][l] = now[k][l];
                grids->sums[(TERMS * k + l) * n + i] = sum[k][l];
            }
        }
        fill_mixing(grids, i, theta + TESS_XP_F0);
    }
}

void tess_xp_two_angle(tess_xp_angle *angle, const double *theta, double phi, double q)
{
    double sine = 0;
    double cosine = 0;
    tess_sin_cos_degrees(phi + theta[TESS_XP_PHI0_HET], &sine, &cosine);
    angle->w2 = 0.5 * q * q;
    angle->amplitude = q * cosine;
    angle->tau = -q * sine * DEGREE;
}

// One decay between two frames: exp(-w2 I), and the factors of its derivatives.
static double decay_at(const tess_xp_grid *grid, int64_t array, double w2, int64_t i, int64_t j,
                       double factor[3])
{
    const double *sums = grid->two + array * grid->two_stride;
    const double difference = sums[j] - sums[i];
    const double integral =
        grid->eps_abs == 0 ? difference : sqrt(difference * difference + grid->eps_abs);
    const double slope = grid->eps_abs == 0 ? 1 : difference / integral;
    for (int64_t k = 0; k < 3; k++) {
        const double *by = sums + (1 + k) * grid->two_stride;
        factor[k] = -w2 * slope * (by[j] - by[i]);
    }
    return exp(-w2 * integral);
}

double tess_xp_two_at(const tess_xp_grid *grid, const tess_xp_angle *angle, int64_t i, int64_t j,
                      double *jacobian)
{
    const int64_t n = grid->two_stride;
    const double *c = grid->two + TESS_XP_TWO_COSINE * n;
    const double *s = grid->two + TESS_XP_TWO_SINE * n;
    const double *velocity = grid->two + TESS_XP_TWO_VELOCITY * n;
    double by_ref[3];
    double by_sample[3];
    const double hr = decay_at(grid, TESS_XP_TWO_REFERENCE, angle->w2, i, j, by_ref);
    const double hs = decay_at(grid, TESS_XP_TWO_SAMPLE, angle->w2, i, j, by_sample);
    const double x = c[i] * c[j] * hr;
    const double y = s[i] * s[j] * hs;
    const double way = velocity[j] - velocity[i];
    const double cosine = cos(angle->amplitude * way);
    const double by_x = 2 * (x + y * cosine);
    const double by_y = 2 * (y + x * cosine);
    if (jacobian) {
        const double by_psi = -2 * x * y * sin(angle->amplitude * way);
        for (int64_t k = 0; k < 3; k++) {
            const double *v = velocity + (1 + k) * n;
            jacobian[TESS_XP_D0_REF + k] = by_x * x * by_ref[k];
            jacobian[TESS_XP_D0_SAMPLE + k] = by_y * y * by_sample[k];
            jacobian[TESS_XP_V0 + k] = by_psi * angle->amplitude * (v[j] - v[i]);
        }
        for (int64_t k = 0; k < 4; k++) {
            const double *m = grid->two + (TESS_XP_TWO_MIXING_D + k) * n;
            jacobian[TESS_XP_F0 + k] = -by_x * hr * (s[i] * c[j] * m[i] + c[i] * s[j] * m[j]) +
                                       by_y * hs * (c[i] * s[j] * m[i] + s[i] * c[j] * m[j]);
        }
        jacobian[TESS_XP_PHI0_HET] = by_psi * angle->tau * way;
    }
    return 0.5 * (x * by_x + y * by_y);
}
