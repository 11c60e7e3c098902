// Standard errors of thresholds: what the smallest mean would be with other epochs and splits.
//
// The minimum of a mean is no mean of minima, so that the spread of the splits' own minima says
// little where the objective is flat. The mean curve is disturbed instead, by the splits'
// deviations from it with random signs, and its minimum taken again. A split's curve varies over
// splits alone; over fresh epochs the mean of n_split curves varies more than by 1 / n_split of
// that, as they share their epochs. DATA_SHARE is what simulations of repeated draws ask for
// (docs/systems/autoreject.md).
#include "systems/autoreject/threshold/search.h"

#include <math.h>

static const double DATA_SHARE = 0.04;

// The signs of a split in all replicates: SplitMix64, which has no state to keep.
static uint64_t signs_of(int64_t split)
{
    uint64_t z = ((uint64_t)split + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double sign(uint64_t signs, int b)
{
    return signs >> b & 1 ? 1 : -1;
}

int64_t tess_ar_error_points(int32_t search, int64_t n_candidate)
{
    const bool is_coarse =
        search == TESS_AUTOREJECT_SEARCH_COMPAT || search == TESS_AUTOREJECT_SEARCH_GRID;
    const int64_t most = is_coarse ? AR_N_QUANTILE : AR_MOST_POINTS;
    return n_candidate < most ? n_candidate : most;
}

// The candidate that a point stands for.
static int64_t candidate_of(int64_t point, int64_t n_point, int64_t n_candidate)
{
    return n_point < 2 ? 0 : point * (n_candidate - 1) / (n_point - 1);
}

void tess_ar_errors_add(const ar_search *search, const double *losses, int64_t n_candidate,
                        int64_t split, double *disturbed)
{
    const int64_t n = tess_ar_error_points(search->request->search, n_candidate);
    const uint64_t signs = signs_of(split);
    double at_points[AR_MOST_POINTS];
    for (int64_t k = 0; k < n; k++) {
        at_points[k] = losses[candidate_of(k, n, n_candidate)];
    }
    for (int b = 0; b < AR_N_REPLICATE; b++) {
        const double s = sign(signs, b);
        for (int64_t k = 0; k < n; k++) {
            disturbed[b * n + k] += s * at_points[k];
        }
    }
}

// Half the way between the neighbours of a point: what it cannot tell apart.
static double coarseness(const double *candidates, int64_t k, int64_t n, int64_t n_candidate)
{
    const int64_t low = candidate_of(k > 0 ? k - 1 : k, n, n_candidate);
    const int64_t high = candidate_of(k + 1 < n ? k + 1 : k, n, n_candidate);
    return n < n_candidate ? (candidates[high] - candidates[low]) / 2 : 0;
}

double tess_ar_standard_error(const ar_search *search, const double *candidates,
                              const double *objectives, int64_t n_candidate,
                              const double *disturbed)
{
    const int64_t n = tess_ar_error_points(search->request->search, n_candidate);
    const int64_t n_split = search->request->n_split;
    if (n_split < 2) {
        return (double)NAN;
    }
    const double n_all = (double)n_split;
    const double scale = sqrt((1 / n_all + DATA_SHARE) / (n_all - 1));
    double curve[AR_MOST_POINTS];
    for (int64_t k = 0; k < n; k++) {
        curve[k] = objectives[candidate_of(k, n, n_candidate)];
    }
    double mean = 0;
    double squares = 0;
    double rounding = 0;
    for (int b = 0; b < AR_N_REPLICATE; b++) {
        double balance = 0;
        for (int64_t s = 0; s < n_split; s++) {
            balance += sign(signs_of(s), b);
        }
        int64_t best = 0;
        double least = (double)INFINITY;
        for (int64_t k = 0; k < n; k++) {
            const double value = curve[k] + scale * (disturbed[b * n + k] - balance * curve[k]);
            if (value < least) {
                least = value;
                best = k;
            }
        }
        const double at = candidates[candidate_of(best, n, n_candidate)];
        const double h = coarseness(candidates, best, n, n_candidate);
        const double off = at - mean;
        mean += off / (b + 1);
        squares += off * (at - mean);
        rounding += h * h / 12;
    }
    return sqrt(squares / (AR_N_REPLICATE - 1) + rounding / AR_N_REPLICATE);
}
