#include "systems/xpcs/posterior/bent.h"

#include <math.h>

// Of a range, which may be a million times what the data leave of it: where a logit ends.
static const double INSIDE = 1e-12;
static const double NEAR = 0.02;  // share of a range where the curve of the fit leaves off
static const double LEAST = 1e-3; // of B at the fit, below which nothing is stretched

// A number and its derivatives by the three coordinates.
typedef struct dual {
    double v;
    double d[3];
} dual;

static dual lift(double v, double slope, const dual *x)
{
    dual out = {.v = v};
    for (int i = 0; i < 3; i++) {
        out.d[i] = slope * x->d[i];
    }
    return out;
}

static dual constant(double v)
{
    return (dual){.v = v};
}

// a + b y
static dual add(dual a, double b, dual y)
{
    a.v += b * y.v;
    for (int i = 0; i < 3; i++) {
        a.d[i] += b * y.d[i];
    }
    return a;
}

static dual multiply(dual x, dual y)
{
    dual out = {.v = x.v * y.v};
    for (int i = 0; i < 3; i++) {
        out.d[i] = x.v * y.d[i] + y.v * x.d[i];
    }
    return out;
}

static dual divide(dual x, dual y)
{
    return multiply(x, lift(1 / y.v, -1 / (y.v * y.v), &y));
}

static dual logistic(dual u)
{
    const double e = exp(-fabs(u.v));
    const double share = u.v > 0 ? 1 / (1 + e) : e / (1 + e);
    return lift(share, e / ((1 + e) * (1 + e)), &u);
}

// ln(share (1 - share)) of a logistic's argument.
static dual log_slope(dual u)
{
    const double e = exp(-fabs(u.v));
    const double share = u.v > 0 ? 1 / (1 + e) : e / (1 + e);
    return lift(-fabs(u.v) - 2 * log1p(e), 1 - 2 * share, &u);
}

static dual log_of(dual x)
{
    return lift(log(x.v), 1 / x.v, &x);
}

// The logit of a share that is bent off before it would leave 0 .. 1.
static dual logit_within(dual x)
{
    if (x.v < 2 * NEAR) {
        const double t = tanh((2 * NEAR - x.v) / NEAR);
        x = lift(2 * NEAR - NEAR * t, 1 - t * t, &x);
    } else if (x.v > 1 - 2 * NEAR) {
        const double t = tanh((x.v - 1 + 2 * NEAR) / NEAR);
        x = lift(1 - 2 * NEAR + NEAR * t, 1 - t * t, &x);
    }
    return lift(log(x.v) - log1p(-x.v), 1 / (x.v * (1 - x.v)), &x);
}

// What the bounds leave of ln B.
static void range_of_log_b(const tess_xp_bent *b, double *low, double *high)
{
    const double at[2] = {b->lower[1] * b->log_tau, b->upper[1] * b->log_tau};
    *low = log(b->lower[0]) + fmin(at[0], at[1]);
    *high = log(b->upper[0]) + fmax(at[0], at[1]);
}

// What B leaves of the exponent: its own bounds, and those of the amplitude.
static void range_of_exponent(const tess_xp_bent *b, dual log_b, dual *low, dual *high)
{
    *low = constant(b->lower[1]);
    *high = constant(b->upper[1]);
    if (b->log_tau == 0) {
        return;
    }
    // exponent = (ln B - ln amplitude) / ln tau
    dual ends[2];
    for (int k = 0; k < 2; k++) {
        const double log_a = log(k == 0 ? b->upper[0] : b->lower[0]);
        ends[k] = lift((log_b.v - log_a) / b->log_tau, 1 / b->log_tau, &log_b);
    }
    const bool is_up = b->log_tau > 0;
    const dual least = is_up ? ends[0] : ends[1];
    const dual most = is_up ? ends[1] : ends[0];
    *low = least.v > low->v ? least : *low;
    *high = most.v < high->v ? most : *high;
}

// How far ln B is below the highest that it may be, of all the room there is: like exp(-v) near,
// like -v in much room; the logistic in little. slope: the log of its derivative's size.
static dual depth_at(dual v, dual room, dual *slope)
{
    const double e = exp(-fabs(v.v));
    const double share = v.v > 0 ? e / (1 + e) : 1 / (1 + e);
    const dual fall = lift(fmax(-v.v, 0) + log1p(e), -share, &v);
    const dual more = add(constant(1), 1, room);
    const dual part = divide(fall, more);
    const dual gone = lift(-expm1(-part.v), exp(-part.v), &part);
    *slope = add(lift(-fmax(v.v, 0) - log1p(e), share - 1, &v), -1, part);
    *slope = add(*slope, 1, log_of(divide(room, more)));
    return multiply(room, gone);
}

static double depth_inverse(double share, double room)
{
    const double inside = !(share > INSIDE) ? INSIDE : !(share < 1 - INSIDE) ? 1 - INSIDE : share;
    const double fall = -(1 + room) * log1p(-inside);
    return fall > 30 ? -fall : -log(expm1(fall)); // the same to the last digit there
}

// What the rate in the middle leaves of ln B: its own range, and the bounds of the offset.
static void range_of_log_b_at(const tess_xp_bent *b, dual rate, dual *low, dual *high)
{
    double from;
    double to;
    range_of_log_b(b, &from, &to);
    *low = constant(from);
    *high = constant(to);
    const double least = rate.v - b->upper[2];
    const double most = rate.v - b->lower[2];
    if (least > exp(from)) {
        *low = lift(log(least), 1 / least, &rate);
    }
    if (most < exp(to)) {
        *high = lift(log(most), 1 / most, &rate);
    }
}

static void range_of_rate(const tess_xp_bent *b, double *low, double *high)
{
    double from;
    double to;
    range_of_log_b(b, &from, &to);
    *low = exp(from) + b->lower[2];
    *high = exp(to) + b->upper[2];
}

// The logit of the exponent where the slope is that of the fit.
static dual exponent_on_curve(const tess_xp_bent *b, dual big_b, dual low, dual high)
{
    const dual exponent = divide(constant(b->slope), big_b);
    return logit_within(divide(add(exponent, -1, low), add(high, -1, low)));
}

// By how much the coordinate of the exponent is stretched at B.
static dual stretch_at(const tess_xp_bent *b, dual big_b)
{
    const double ratio = big_b.v / b->narrow;
    const double stretch = sqrt(1 + ratio * ratio);
    return lift(stretch, ratio / (b->narrow * stretch), &big_b);
}

bool tess_xp_bent_make(const double lower[3], const double upper[3], const double theta[3],
                       double slope_sd, double tau, tess_xp_bent *bent)
{
    const double log_tau = log(tau);
    if (!(lower[0] > 0) || !isfinite(log_tau)) {
        return false;
    }
    const double b = theta[0] * exp(theta[1] * log_tau);
    *bent = (tess_xp_bent){.log_tau = log_tau, .slope = b * theta[1]};
    for (int k = 0; k < 3; k++) {
        bent->lower[k] = lower[k];
        bent->upper[k] = upper[k];
        if (!(upper[k] > lower[k]) || !isfinite(upper[k] - lower[k])) {
            return false;
        }
    }
    // Logits of exponents around the middle of their range are as wide as that there.
    bent->narrow = fmax(4 * slope_sd / (upper[1] - lower[1]), LEAST * b);
    return bent->narrow > 0;
}

void tess_xp_bent_at(const tess_xp_bent *b, const double u[3], tess_xp_bent_place *out)
{
    dual x[3];
    for (int i = 0; i < 3; i++) {
        x[i] = constant(u[i]);
        x[i].d[i] = 1;
    }
    double from;
    double to;
    dual low;
    dual high;
    range_of_rate(b, &from, &to);
    const dual rate = add(constant(from), to - from, logistic(x[0]));
    range_of_log_b_at(b, rate, &low, &high);
    const dual room = add(high, -1, low);
    dual slope;
    const dual log_b = add(high, -1, depth_at(x[1], room, &slope));
    const dual big_b = lift(exp(log_b.v), exp(log_b.v), &log_b);
    range_of_exponent(b, log_b, &low, &high);
    const dual width = add(high, -1, low);
    const dual stretch = stretch_at(b, big_b);
    const dual at_exponent = add(divide(x[2], stretch), 1, exponent_on_curve(b, big_b, low, high));
    const dual exponent = add(low, 1, multiply(width, logistic(at_exponent)));
    const dual offset = add(rate, -1, big_b);
    const dual log_a = add(log_b, -b->log_tau, exponent);
    const dual amplitude = lift(exp(log_a.v), exp(log_a.v), &log_a);
    dual volume = add(log_slope(x[0]), 1, slope);
    volume = add(volume, 1, log_slope(at_exponent));
    volume = add(volume, 1, log_of(width));
    volume = add(volume, -1, log_of(stretch));
    volume = add(volume, 1, log_a);
    out->log_volume = volume.v + log(to - from);
    const dual theta[3] = {amplitude, exponent, offset};
    for (int i = 0; i < 3; i++) {
        // Rounding may lead past a bound by its last digit.
        out->theta[i] = fmin(fmax(theta[i].v, b->lower[i]), b->upper[i]);
        out->volume_slope[i] = volume.d[i];
        for (int k = 0; k < 3; k++) {
            out->jacobian[i][k] = theta[k].d[i];
        }
    }
}

static double logit_inside(double share)
{
    const double inside = !(share > INSIDE) ? INSIDE : !(share < 1 - INSIDE) ? 1 - INSIDE : share;
    return log(inside) - log1p(-inside);
}

void tess_xp_bent_of(const tess_xp_bent *b, const double theta[3], double u[3])
{
    double from;
    double to;
    dual low;
    dual high;
    range_of_rate(b, &from, &to);
    const double log_b = log(theta[0]) + theta[1] * b->log_tau;
    u[0] = logit_inside((exp(log_b) + theta[2] - from) / (to - from));
    // The ranges at what the coordinates before stand for.
    const dual rate = constant(from + (to - from) / (1 + exp(-u[0])));
    range_of_log_b_at(b, rate, &low, &high);
    u[1] = depth_inverse((high.v - log_b) / (high.v - low.v), high.v - low.v);
    dual slope;
    const dual own_log_b =
        add(high, -1, depth_at(constant(u[1]), constant(high.v - low.v), &slope));
    const dual big_b = constant(exp(own_log_b.v));
    range_of_exponent(b, own_log_b, &low, &high);
    u[2] = stretch_at(b, big_b).v * (logit_inside((theta[1] - low.v) / (high.v - low.v)) -
                                     exponent_on_curve(b, big_b, low, high).v);
}
