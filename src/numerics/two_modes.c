#include "numerics/two_modes.h"

#include <math.h>

enum { MAX_ROUND = 200, N_BETWEEN = 64, MIN_VALUES = 8 };

static const double MIN_WEIGHT = 0.2, MIN_SEPARATION = 0.5, MIN_DIP = 0.95;

typedef struct sums {
    double weight;
    double first;
    double second;
} sums;

static double log_normal(const tess_two_modes *m, int k, double x)
{
    const double z = (x - m->mean[k]) / m->sd[k];
    return log(m->weight[k] / m->sd[k]) - 0.5 * z * z;
}

// One heap's parameters from its sums, about the place at.
static void settle(tess_two_modes *m, int k, const sums *s, double n, double at, double least_sd)
{
    const double mean = s->first / s->weight;
    const double variance = s->second / s->weight - mean * mean;
    m->weight[k] = s->weight / n;
    m->mean[k] = at + mean;
    m->sd[k] = sqrt(fmax(variance, least_sd * least_sd));
}

// A round of expectation maximisation; how far the means moved.
static double improve(tess_two_modes *m, const double *x, int64_t n, double at, double least_sd)
{
    sums s[2] = {{0, 0, 0}, {0, 0, 0}};
    const double before[2] = {m->mean[0], m->mean[1]};
    for (int64_t i = 0; i < n; i++) {
        const double share = 1 / (1 + exp(log_normal(m, 1, x[i]) - log_normal(m, 0, x[i])));
        const double d = x[i] - at;
        for (int k = 0; k < 2; k++) {
            const double w = k == 0 ? share : 1 - share;
            s[k].weight += w;
            s[k].first += w * d;
            s[k].second += w * d * d;
        }
    }
    if (!(s[0].weight > 0) || !(s[1].weight > 0)) {
        return 0;
    }
    for (int k = 0; k < 2; k++) {
        settle(m, k, &s[k], (double)n, at, least_sd);
    }
    return fabs(m->mean[0] - before[0]) + fabs(m->mean[1] - before[1]);
}

static double density(const tess_two_modes *m, double x)
{
    return exp(log_normal(m, 0, x)) + exp(log_normal(m, 1, x));
}

static int has_dip(const tess_two_modes *m)
{
    const double ends = fmin(density(m, m->mean[0]), density(m, m->mean[1]));
    for (int i = 1; i < N_BETWEEN; i++) {
        const double x = m->mean[0] + (m->mean[1] - m->mean[0]) * i / N_BETWEEN;
        if (density(m, x) < MIN_DIP * ends) {
            return 1;
        }
    }
    return 0;
}

// The cut that leaves the least squares within its two sides: where the two heaps would part.
static int64_t best_cut(const double *x, int64_t n, double at)
{
    double all = 0;
    for (int64_t i = 0; i < n; i++) {
        all += x[i] - at;
    }
    double best = -1;
    double left = 0;
    int64_t cut = n / 2;
    for (int64_t i = 1; i < n; i++) {
        left += x[i - 1] - at;
        const double right = all - left;
        const double between = left * left / (double)i + right * right / (double)(n - i);
        if (between > best) {
            best = between;
            cut = i;
        }
    }
    return cut;
}

void tess_two_modes_of(const double *x, int64_t n, tess_two_modes *out)
{
    const double range = n > 0 ? x[n - 1] - x[0] : 0;
    *out = (tess_two_modes){.separation = 0};
    if (n < MIN_VALUES || !(range > 0) || isinf(range)) {
        return;
    }
    const double at = x[n / 2];
    const double least_sd = 1e-6 * range;
    const int64_t cut = best_cut(x, n, at);
    for (int k = 0; k < 2; k++) {
        sums s = {0, 0, 0};
        for (int64_t i = k == 0 ? 0 : cut; i < (k == 0 ? cut : n); i++) {
            s.weight += 1;
            s.first += x[i] - at;
            s.second += (x[i] - at) * (x[i] - at);
        }
        settle(out, k, &s, (double)n, at, least_sd);
    }
    for (int i = 0; i < MAX_ROUND && improve(out, x, n, at, least_sd) > 1e-9 * range; i++) {
    }
    if (out->mean[1] < out->mean[0]) {
        *out = (tess_two_modes){.weight = {out->weight[1], out->weight[0]},
                                .mean = {out->mean[1], out->mean[0]},
                                .sd = {out->sd[1], out->sd[0]}};
    }
    const double pooled =
        sqrt(out->weight[0] * out->sd[0] * out->sd[0] + out->weight[1] * out->sd[1] * out->sd[1]);
    out->separation = (out->mean[1] - out->mean[0]) / pooled;
    out->is_bimodal = fmin(out->weight[0], out->weight[1]) >= MIN_WEIGHT &&
                      out->separation >= MIN_SEPARATION && has_dip(out);
}
