#include "systems/xpcs/fit/frames.h"

#include <string.h>

enum { SPECKLE = 0, ONE = 1, BOTH = 2, MOST_K = TESS_XP_FRAMES_K };

// Of a pixel and frame: what its photons' noise is multiplied by.
typedef struct lever {
    double *gradient; // [n_frame][k] in the gradient
    double *mixed;    // [n_frame][k] in the totals, times sums
    double *total;    // [n_frame] in the total of the frame
    double *square;   // [n_frame] in those of all others, squares summed
} lever;

int64_t tess_xp_frame_scratch(int64_t n_frame, int64_t k)
{
    return n_frame * (2 * k + 3);
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

static void add_speckle(const tess_xp_frame_pairs *p, const double *x, double *total,
                        tess_xp_frame_moments *out)
{
    double gradient[MOST_K] = {0};
    double mixed[MOST_K] = {0};
    int64_t at = 0;
    memset(total, 0, (size_t)p->n_frame * sizeof *total);
    for (int64_t i = 0; i < p->n_frame; i++) {
        for (int64_t j = i + 1; j < p->n_frame; j++, at++) {
            const double psi = x[i] * x[j] - p->c2[at] * (x[i] + x[j] - 1);
            const double weighed = p->weight[at] * psi;
            out->square[SPECKLE] += weighed * psi;
            total[i] += weighed;
            total[j] += weighed;
            for (int64_t k = 0; k < p->k; k++) {
                gradient[k] += p->slope[at * p->k + k] * psi;
            }
        }
    }
    for (int64_t i = 0; i < p->n_frame; i++) {
        out->total[SPECKLE] += total[i] * total[i];
        for (int64_t k = 0; k < p->k; k++) {
            mixed[k] += p->sum[i * p->k + k] * total[i];
        }
    }
    add_outer(p->k, 1, gradient, gradient, out->gradient[SPECKLE]);
    add_outer(p->k, 1, mixed, gradient, out->mixed[SPECKLE]);
}

// The noise of frame i at a pair with frame j, by which it enters: x_j - c.
static void add_lever(const tess_xp_frame_pairs *p, int64_t at, int64_t i, int64_t j, double by,
                      lever *l)
{
    const double weighed = p->weight[at] * by;
    l->total[i] += weighed;
    l->square[i] += weighed * weighed;
    for (int64_t k = 0; k < p->k; k++) {
        l->gradient[i * p->k + k] += p->slope[at * p->k + k] * by;
        l->mixed[i * p->k + k] += p->sum[j * p->k + k] * weighed;
    }
}

static void add_one(const tess_xp_frame_pairs *p, const double *x, lever *l,
                    tess_xp_frame_moments *out)
{
    int64_t at = 0;
    for (int64_t i = 0; i < p->n_frame; i++) {
        for (int64_t j = i + 1; j < p->n_frame; j++, at++) {
            const double of_i = x[j] - p->c2[at];
            const double of_j = x[i] - p->c2[at];
            out->square[ONE] += p->weight[at] * (x[i] * of_i * of_i + x[j] * of_j * of_j);
            add_lever(p, at, i, j, of_i, l);
            add_lever(p, at, j, i, of_j, l);
        }
    }
    for (int64_t i = 0; i < p->n_frame; i++) {
        double *mixed = l->mixed + i * p->k;
        out->total[ONE] += x[i] * (l->total[i] * l->total[i] + l->square[i]);
        for (int64_t k = 0; k < p->k; k++) {
            mixed[k] += p->sum[i * p->k + k] * l->total[i];
        }
        add_outer(p->k, x[i], l->gradient + i * p->k, l->gradient + i * p->k, out->gradient[ONE]);
        add_outer(p->k, x[i], mixed, l->gradient + i * p->k, out->mixed[ONE]);
    }
}

void tess_xp_frame_add_pixel(const tess_xp_frame_pairs *pairs, const double *x, double *scratch,
                             tess_xp_frame_moments *out)
{
    const int64_t n = pairs->n_frame;
    lever l = {.gradient = scratch,
               .mixed = scratch + n * pairs->k,
               .total = scratch + 2 * n * pairs->k,
               .square = scratch + 2 * n * pairs->k + n};
    memset(scratch, 0, (size_t)tess_xp_frame_scratch(n, pairs->k) * sizeof *scratch);
    add_speckle(pairs, x, l.square + n, out);
    add_one(pairs, x, &l, out);
}

void tess_xp_frame_add_both(const tess_xp_frame_pairs *p, tess_xp_frame_moments *out)
{
    int64_t at = 0;
    for (int64_t i = 0; i < p->n_frame; i++) {
        for (int64_t j = i + 1; j < p->n_frame; j++, at++) {
            const double *slope = p->slope + at * p->k;
            const double weight = p->weight[at];
            double both[MOST_K] = {0};
            for (int64_t k = 0; k < p->k; k++) {
                both[k] = p->sum[i * p->k + k] + p->sum[j * p->k + k];
            }
            out->square[BOTH] += weight * p->c2[at];
            out->total[BOTH] += 2 * weight * weight * p->c2[at];
            add_outer(p->k, p->c2[at], slope, slope, out->gradient[BOTH]);
            add_outer(p->k, weight * p->c2[at], both, slope, out->mixed[BOTH]);
        }
    }
}
