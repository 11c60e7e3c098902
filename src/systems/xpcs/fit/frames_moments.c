#include "systems/xpcs/fit/frames.h"

#include <string.h>

enum { SPECKLE = 0, ONE = 1, BOTH = 2, MOST_K = TESS_XP_FRAMES_K };

int64_t tess_xp_frame_scratch(int64_t n_frame, int64_t k)
{
    return n_frame * (n_frame - 1) / 2 + 2 * n_frame * k;
}

// out [k][k] += scale a b^T
static void add_outer(int64_t k, double scale, const double *a, const double *b, double *out)
{
    for (int64_t i = 0; i < k; i++) {
        for (int64_t j = 0; j < k; j++) {
            out[i * k + j] += scale * a[i] * b[j];
        }
    }
}

static void add_speckle(const tess_xp_frame_pairs *p, const double *x, double *noise,
                        tess_xp_frame_moments *out)
{
    double gradient[MOST_K] = {0};
    double pulled[MOST_K] = {0};
    int64_t at = 0;
    for (int64_t i = 0; i < p->n_frame; i++) {
        for (int64_t j = i + 1; j < p->n_frame; j++, at++) {
            const double psi = x[i] * x[j] - p->c2[at] * (x[i] + x[j] - 1);
            noise[at] = psi;
            out->square[SPECKLE] += p->weight[at] * psi * psi;
            for (int64_t k = 0; k < p->k; k++) {
                gradient[k] += p->slope[at * p->k + k] * psi;
                pulled[k] += p->pull[at * p->k + k] * psi;
            }
        }
    }
    out->twist[SPECKLE] += tess_xp_twist_square(p, noise);
    add_outer(p->k, 1, gradient, gradient, out->gradient[SPECKLE]);
    add_outer(p->k, 1, pulled, gradient, out->pulled[SPECKLE]);
}

// The noise of frame i enters a pair with frame j by x_j - c. levers [2][n_frame][k]: in the
// gradient, in what is pulled.
static void add_lever(const tess_xp_frame_pairs *p, int64_t at, int64_t i, double by,
                      double *levers)
{
    double *gradient = levers + i * p->k;
    double *pulled = levers + (p->n_frame + i) * p->k;
    for (int64_t k = 0; k < p->k; k++) {
        gradient[k] += p->slope[at * p->k + k] * by;
        pulled[k] += p->pull[at * p->k + k] * by;
    }
}

// Each of its four frames is in two points of a twist, which have opposite signs.
static double twist_one(const tess_xp_frame_pairs *p, const tess_xp_twist *t, const double *x)
{
    static const int points[4][2] = {{0, 2}, {1, 3}, {0, 1}, {2, 3}};
    double sum = 0;
    for (int k = 0; k < 4; k++) {
        const int other = k < 2 ? 2 : 0;
        const double one = x[t->frame[other]] - p->c2[t->at[points[k][0]]];
        const double two = x[t->frame[other + 1]] - p->c2[t->at[points[k][1]]];
        sum += x[t->frame[k]] * (one - two) * (one - two);
    }
    return sum;
}

static void add_one(const tess_xp_frame_pairs *p, const double *x, double *levers,
                    tess_xp_frame_moments *out)
{
    int64_t at = 0;
    memset(levers, 0, (size_t)(2 * p->n_frame * p->k) * sizeof *levers);
    for (int64_t i = 0; i < p->n_frame; i++) {
        for (int64_t j = i + 1; j < p->n_frame; j++, at++) {
            const double of_i = x[j] - p->c2[at];
            const double of_j = x[i] - p->c2[at];
            const tess_xp_twist t = tess_xp_twist_at(p, i, j);
            out->square[ONE] += p->weight[at] * (x[i] * of_i * of_i + x[j] * of_j * of_j);
            out->twist[ONE] += t.weight > 0 ? t.weight * twist_one(p, &t, x) : 0;
            add_lever(p, at, i, of_i, levers);
            add_lever(p, at, j, of_j, levers);
        }
    }
    for (int64_t i = 0; i < p->n_frame; i++) {
        const double *gradient = levers + i * p->k;
        add_outer(p->k, x[i], gradient, gradient, out->gradient[ONE]);
        add_outer(p->k, x[i], gradient + p->n_frame * p->k, gradient, out->pulled[ONE]);
    }
}

void tess_xp_frame_add_pixel(const tess_xp_frame_pairs *pairs, const double *x, double *scratch,
                             tess_xp_frame_moments *out)
{
    const int64_t n = pairs->n_frame;
    add_speckle(pairs, x, scratch, out);
    add_one(pairs, x, scratch + n * (n - 1) / 2, out);
}

void tess_xp_frame_add_both(const tess_xp_frame_pairs *p, tess_xp_frame_moments *out)
{
    int64_t at = 0;
    for (int64_t i = 0; i < p->n_frame; i++) {
        for (int64_t j = i + 1; j < p->n_frame; j++, at++) {
            const double *slope = p->slope + at * p->k;
            const tess_xp_twist t = tess_xp_twist_at(p, i, j);
            out->square[BOTH] += p->weight[at] * p->c2[at];
            for (int k = 0; k < 4 && t.weight > 0; k++) {
                out->twist[BOTH] += t.weight * p->c2[t.at[k]];
            }
            add_outer(p->k, p->c2[at], slope, slope, out->gradient[BOTH]);
            add_outer(p->k, p->c2[at], p->pull + at * p->k, slope, out->pulled[BOTH]);
        }
    }
}
