#include "systems/xpcs/posterior/ess.h"

#include <math.h>

static double at(const tess_xp_draws *d, int64_t chain, int64_t i)
{
    return d->values[chain * d->chain_stride + i * d->stride];
}

static double mean_of(const tess_xp_draws *d, int64_t chain)
{
    double sum = 0;
    for (int64_t i = 0; i < d->n_draw; i++) {
        sum += at(d, chain, i);
    }
    return sum / (double)d->n_draw;
}

// Covariance of draws so far apart, mean over the chains.
static double covariance_at(const tess_xp_draws *d, int64_t lag)
{
    double all = 0;
    for (int64_t c = 0; c < d->n_chain; c++) {
        const double mean = mean_of(d, c);
        double sum = 0;
        for (int64_t i = 0; i + lag < d->n_draw; i++) {
            sum += (at(d, c, i) - mean) * (at(d, c, i + lag) - mean);
        }
        all += sum / (double)d->n_draw;
    }
    return all / (double)d->n_chain;
}

static double between_chains(const tess_xp_draws *d)
{
    double mean = 0;
    double squares = 0;
    for (int64_t c = 0; c < d->n_chain; c++) {
        mean += mean_of(d, c) / (double)d->n_chain;
    }
    for (int64_t c = 0; c < d->n_chain; c++) {
        squares += (mean_of(d, c) - mean) * (mean_of(d, c) - mean);
    }
    return d->n_chain > 1 ? squares / (double)(d->n_chain - 1) : 0;
}

double tess_xp_ess(const tess_xp_draws *d)
{
    const double n = (double)d->n_draw;
    const double n_all = n * (double)d->n_chain;
    const double within = covariance_at(d, 0) * n / (n - 1);
    const double variance = within * (n - 1) / n + between_chains(d);
    double tau = -1;
    double before = (double)INFINITY;
    if (!(variance > 0)) {
        return n_all;
    }
    for (int64_t lag = 0; lag + 1 < d->n_draw; lag += 2) {
        const double even = lag == 0 ? 1 : 1 - (within - covariance_at(d, lag)) / variance;
        const double odd = 1 - (within - covariance_at(d, lag + 1)) / variance;
        const double pair = fmin(even + odd, before);
        if (!(pair > 0)) {
            break;
        }
        tau += 2 * pair;
        before = pair;
    }
    const double least = 1 / log10(n_all);
    return n_all / fmax(tau, least);
}
