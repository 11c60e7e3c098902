// Differences of differences of four points, of neighbouring frames.
#include "systems/xpcs/fit/frames.h"

#include <string.h>

enum { MOST_K = TESS_XP_FRAMES_K };

int64_t tess_xp_frame_pair(int64_t n, int64_t i, int64_t j)
{
    return i < j ? i * (2 * n - i - 1) / 2 + j - i - 1 : j * (2 * n - j - 1) / 2 + i - j - 1;
}

tess_xp_twist tess_xp_twist_at(const tess_xp_frame_pairs *p, int64_t i, int64_t j)
{
    const int64_t n = p->n_frame;
    tess_xp_twist t = {.frame = {i, p->next[i], j, p->next[j]}};
    if (t.frame[1] >= j || t.frame[3] >= n) {
        return t;
    }
    for (int k = 0; k < 4; k++) {
        t.at[k] = tess_xp_frame_pair(n, t.frame[k % 2], t.frame[2 + k / 2]);
        if (p->weight[t.at[k]] == 0) {
            return t;
        }
    }
    t.weight = p->weight[t.at[0]];
    return t;
}

void tess_xp_twist_next(int64_t n, const double *weight, int64_t *next)
{
    int64_t last = n;
    for (int64_t i = n - 1; i >= 0; i--) {
        bool has_points = false;
        for (int64_t j = 0; j < n && !has_points; j++) {
            has_points = j != i && weight[tess_xp_frame_pair(n, i, j)] > 0;
        }
        next[i] = has_points ? last : n;
        last = has_points ? i : last;
    }
}

void tess_xp_twist_pull(const tess_xp_frame_pairs *p, double *pull, double *twists)
{
    const int64_t n = p->n_frame;
    memset(pull, 0, (size_t)(n * (n - 1) / 2 * p->k) * sizeof *pull);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i + 1; j < n; j++) {
            const tess_xp_twist t = tess_xp_twist_at(p, i, j);
            double twist[MOST_K] = {0};
            for (int64_t k = 0; k < 4 * p->k && t.weight > 0; k++) {
                const int64_t at = t.at[k % 4];
                twist[k / 4] +=
                    tess_xp_twist_sign[k % 4] * p->slope[at * p->k + k / 4] / p->weight[at];
            }
            for (int64_t k = 0; k < 4 * p->k && t.weight > 0; k++) {
                pull[t.at[k % 4] * p->k + k / 4] +=
                    tess_xp_twist_sign[k % 4] * t.weight * twist[k / 4];
            }
            for (int64_t k = 0; k < p->k * p->k; k++) {
                twists[k] += t.weight * twist[k / p->k] * twist[k % p->k];
            }
        }
    }
}

double tess_xp_twist_square(const tess_xp_frame_pairs *p, const double *value)
{
    double sum = 0;
    for (int64_t i = 0; i < p->n_frame; i++) {
        for (int64_t j = i + 1; j < p->n_frame; j++) {
            const tess_xp_twist t = tess_xp_twist_at(p, i, j);
            double twist = 0;
            for (int k = 0; k < 4 && t.weight > 0; k++) {
                twist += tess_xp_twist_sign[k] * value[t.at[k]];
            }
            sum += t.weight * twist * twist;
        }
    }
    return sum;
}
