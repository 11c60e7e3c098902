#include "systems/xpcs/posterior/truncate.h"

#include <math.h>

// x is integrated in panels of Gauss's eight points, as far as it has mass; y given x in closed
// form.
enum { N_NODE = 8, N_PANEL = 16 };
static const double REACH = 10; // in standard deviations

static const double NODES[N_NODE / 2] = {0.1834346424956498, 0.5255324099163290, 0.7966664774136267,
                                         0.9602898564975363};
static const double WEIGHTS[N_NODE / 2] = {0.3626837833783620, 0.3137066458778873,
                                           0.2223810344533745, 0.1012285362903763};
static const double LOG_2PI = 1.8378770664093454836;

double tess_xp_log_normal_mass(double a, double b)
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

// A standard normal between a and b: its log mass, mean and mean square.
static void between(double a, double b, double *log_mass, double *mean, double *square)
{
    *log_mass = tess_xp_log_normal_mass(a, b);
    const double low = exp(-0.5 * (a * a + LOG_2PI) - *log_mass);
    const double high = exp(-0.5 * (b * b + LOG_2PI) - *log_mass);
    *mean = low - high;
    *square = 1 + (isinf(a) ? 0 : a * low) - (isinf(b) ? 0 : b * high);
}

void tess_xp_truncate(const double mean[2], const double covariance[3], const double lower[2],
                      const double upper[2], tess_xp_pair_moments *out)
{
    const double sd = sqrt(covariance[0]);
    const double slope = covariance[1] / covariance[0];
    const double rest = sqrt(covariance[2] - slope * covariance[1]);
    double from = fmax(lower[0], mean[0] - REACH * sd);
    double to = fmin(upper[0], mean[0] + REACH * sd);
    if (!(from < to)) { // all mass is beyond a bound: what is left lies at it
        from = mean[0] > upper[0] ? fmax(lower[0], upper[0] - sd) : lower[0];
        to = mean[0] > upper[0] ? upper[0] : fmin(upper[0], lower[0] + sd);
    }
    double top = -(double)INFINITY;
    double sums[6] = {0}; // of 1, x, y, xx, xy, yy, x and y from the mean, relative to exp(top)
    for (int k = 0; k < N_PANEL * N_NODE; k++) {
        const int node = k % N_NODE;
        const double half = 0.5 * (to - from) / N_PANEL;
        const double middle = from + half * (1 + 2 * (double)(k / N_NODE));
        const double sign = node % 2 == 0 ? -1 : 1;
        const double dx = middle + sign * half * NODES[node / 2] - mean[0];
        const double at = mean[1] + slope * dx;
        double log_mass;
        double y;
        double yy;
        between((lower[1] - at) / rest, (upper[1] - at) / rest, &log_mass, &y, &yy);
        const double log_value = -0.5 * dx * dx / covariance[0] + log_mass;
        if (!(log_value > -(double)INFINITY)) {
            continue;
        }
        if (log_value > top) {
            const double factor = exp(top - log_value);
            for (int i = 0; i < 6; i++) {
                sums[i] *= factor;
            }
            top = log_value;
        }
        const double w = half * WEIGHTS[node / 2] * exp(log_value - top);
        const double dy = slope * dx;
        const double terms[6] = {1,
                                 dx,
                                 dy + rest * y,
                                 dx * dx,
                                 dx * (dy + rest * y),
                                 dy * dy + 2 * dy * rest * y + rest * rest * yy};
        for (int i = 0; i < 6; i++) {
            sums[i] += w * terms[i];
        }
    }
    const double x = sums[1] / sums[0];
    const double y = sums[2] / sums[0];
    out->log_mass = top + log(sums[0]) - 0.5 * LOG_2PI - log(sd);
    out->mean[0] = mean[0] + x;
    out->mean[1] = mean[1] + y;
    out->square[0] = sums[3] / sums[0] + mean[0] * (mean[0] + 2 * x);
    out->square[1] = sums[4] / sums[0] + mean[0] * (mean[1] + y) + mean[1] * x;
    out->square[2] = sums[5] / sums[0] + mean[1] * (mean[1] + 2 * y);
}
