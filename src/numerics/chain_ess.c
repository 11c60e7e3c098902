// Effective sample sizes: Geyer's initial monotone sequence over all chains.
#include "numerics/chain_stats.h"

#include <math.h>

enum { LANES = 8 };

// sum of c[i] c[i + lag]: eight sums side by side, for long chains that do not mix.
static double lagged_product(const double *c, int64_t n, int64_t lag)
{
    double part[LANES] = {0};
    const int64_t n_pair = n - lag;
    int64_t i = 0;
    for (; i + LANES <= n_pair; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            part[k] += c[i + k] * c[i + k + lag];
        }
    }
    for (int k = 0; i < n_pair; i++, k++) {
        part[k] += c[i] * c[i + lag];
    }
    return ((part[0] + part[4]) + (part[1] + part[5])) +
           ((part[2] + part[6]) + (part[3] + part[7]));
}

// Draws may differ by little of what they are: what the first mean misses is added.
double tess_chain_mean(const double *x, int64_t n)
{
    double sum = 0;
    double missed = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i];
    }
    const double mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++) {
        missed += x[i] - mean;
    }
    return mean + missed / (double)n;
}

typedef struct covariance {
    const double *centred;
    int64_t n_chain;
    int64_t n_draw;
    double mean_variance;
    double all; // variance within and between
} covariance;

// Mean over the chains of the autocovariance.
static double lag_mean(const covariance *c, int64_t lag)
{
    double sum = 0;
    for (int64_t k = 0; k < c->n_chain; k++) {
        sum += lagged_product(c->centred + k * c->n_draw, c->n_draw, lag) / (double)c->n_draw;
    }
    return sum / (double)c->n_chain;
}

static double correlation_at(const covariance *c, int64_t lag)
{
    return 1 - (c->mean_variance - lag_mean(c, lag)) / c->all;
}

// Takes the means off; the variance of these.
static double centre(const double *x, int64_t n_chain, int64_t n_draw, double *centred)
{
    double sum = 0;
    double squares = 0;
    for (int64_t k = 0; k < n_chain; k++) {
        const double mean = tess_chain_mean(x + k * n_draw, n_draw);
        for (int64_t i = 0; i < n_draw; i++) {
            centred[k * n_draw + i] = x[k * n_draw + i] - mean;
        }
        const double step = mean - sum;
        sum += step / (double)(k + 1);
        squares += step * (mean - sum);
    }
    return n_chain > 1 ? squares / (double)(n_chain - 1) : 0;
}

// Pairs of correlations as long as they are positive; the index of the last one that counts.
static int64_t positive_sequence(const covariance *c, double *rho)
{
    double even = 1;
    double odd = correlation_at(c, 1);
    rho[0] = even;
    rho[1] = odd;
    int64_t t = 1;
    while (t < c->n_draw - 3 && even + odd > 0) {
        even = correlation_at(c, t + 1);
        odd = correlation_at(c, t + 2);
        if (even + odd >= 0) {
            rho[t + 1] = even;
            rho[t + 2] = odd;
        }
        t += 2;
    }
    if (even > 0) { // half a pair is better than none
        rho[t - 1] = even;
    }
    return t - 2;
}

double tess_chain_ess(const double *x, int64_t n_chain, int64_t n_draw, double *centred,
                      double *rho)
{
    static const double same = 1e-15; // as ArviZ has it: the width of what counts as a constant
    const int64_t n = n_chain * n_draw;
    double low = x[0];
    double high = x[0];
    for (int64_t i = 0; i < n; i++) {
        low = fmin(low, x[i]);
        high = fmax(high, x[i]);
    }
    if (high - low < same) {
        return (double)n;
    }
    covariance c = {.centred = centred, .n_chain = n_chain, .n_draw = n_draw};
    const double between = centre(x, n_chain, n_draw, centred);
    const double within = lag_mean(&c, 0);
    c.mean_variance = within * (double)n_draw / ((double)n_draw - 1);
    c.all = within + between;
    for (int64_t t = 0; t < n_draw; t++) {
        rho[t] = 0;
    }
    const int64_t last = positive_sequence(&c, rho);
    for (int64_t t = 1; t <= last - 2; t += 2) { // and monotone
        if (rho[t + 1] + rho[t + 2] > rho[t - 1] + rho[t]) {
            rho[t + 1] = (rho[t - 1] + rho[t]) / 2;
            rho[t + 2] = rho[t + 1];
        }
    }
    double time = -1;
    for (int64_t t = 0; t <= last; t++) {
        time += 2 * rho[t];
    }
    time += rho[last + 1];
    return isnan(time) ? time : (double)n / fmax(time, 1 / log10((double)n));
}

double tess_chain_bfmi(const double *energy, int64_t n_draw)
{
    double steps = 0;
    double squares = 0;
    if (n_draw < 2) {
        return (double)NAN;
    }
    const double mean = tess_chain_mean(energy, n_draw);
    for (int64_t i = 0; i < n_draw; i++) {
        const double step = i > 0 ? energy[i] - energy[i - 1] : 0;
        steps += step * step;
        squares += (energy[i] - mean) * (energy[i] - mean);
    }
    return steps / squares;
}
