// The moments of noise as sums over pairs of pairs.
//
// Intensities are sums of squares of normal fields, whose joint cumulants are sums over rings: with
// g the correlations of fields and W_n the sum of the modes' weights to the power of n,
//
//   (i, j)        v = W_2 g_ij^2
//   (i, j, k)     2 W_3 g_ij g_jk g_ki
//   (i, j, k, l)  2 W_4 (g_ij g_jk g_kl g_li + g_ij g_jl g_lk g_ki + g_ik g_kj g_jl g_li)
//
// With y = x - 1 speckle is psi(i, j) = y_i y_j - v_ij (1 + y_i + y_j), of which two pairs have
//
//   E psi(i, j) psi(k, l) = (i, j, k, l) + v_ik v_jl + v_il v_jk
//                         - v_kl ((i, j, k) + (i, j, l)) - v_ij ((k, l, i) + (k, l, j))
//                         + v_ij v_kl (v_ik + v_il + v_jk + v_jl)
//
// and photons of frame f enter pairs with j and l together by
//
//   E x_f (x_j - c_fj) (x_l - c_fl) = v_jl + (f, j, l) - v_fj v_fl
//
// Pixels drawn by chance would tell the same, but products of four fields have tails so long that
// thousands of them leave errors of tens of percent.
#include "systems/xpcs/fit/frames.h"

#include <string.h>

enum { SPECKLE = 0, ONE = 1, MOST_K = TESS_XP_FRAMES_K };

// Of the pair (k, l) with every frame i.
typedef struct with_frames {
    double *to_k; // v_ik
    double *to_l;
    double *ring; // g_ik g_il
    const double *field_k;
    const double *field_l;
    double field; // g_kl
    double v;     // v_kl
} with_frames;

static void take_frames(const tess_xp_frame_fields *f, int64_t n, int64_t k, int64_t l,
                        with_frames *w)
{
    w->field_k = f->field + k * n;
    w->field_l = f->field + l * n;
    w->field = w->field_k[l];
    w->v = f->second * w->field * w->field;
    for (int64_t i = 0; i < n; i++) {
        w->to_k[i] = f->second * w->field_k[i] * w->field_k[i];
        w->to_l[i] = f->second * w->field_l[i] * w->field_l[i];
        w->ring[i] = w->field_k[i] * w->field_l[i];
    }
}

// E psi(i, j) psi(k, l)
static inline double covary(const tess_xp_frame_fields *f, const with_frames *w, double field,
                            int64_t i, int64_t j)
{
    const double v = f->second * field * field;
    const double across = w->field_k[i] * w->field_l[j] + w->field_l[i] * w->field_k[j];
    const double four = field * w->field * across + w->ring[i] * w->ring[j];
    const double three =
        w->v * field * (w->field_k[i] * w->field_k[j] + w->field_l[i] * w->field_l[j]) +
        v * w->field * (w->ring[i] + w->ring[j]);
    return 2 * (f->fourth * four - f->third * three) + w->to_k[i] * w->to_l[j] +
           w->to_l[i] * w->to_k[j] + v * w->v * (w->to_k[i] + w->to_l[i] + w->to_k[j] + w->to_l[j]);
}

// A pair's own slopes and pulls, times what goes with it in all others.
static void add_pair(const tess_xp_frame_pairs *p, int64_t at, const double *follow, int part,
                     tess_xp_frame_moments *out)
{
    for (int64_t i = 0; i < p->k * p->k; i++) {
        out->gradient[part][i] += p->slope[at * p->k + i / p->k] * follow[i % p->k];
        out->pulled[part][i] += p->pull[at * p->k + i / p->k] * follow[i % p->k];
    }
}

// The twist that begins at the pair (k, l): of its four points each with the others.
static double twist_speckle(const tess_xp_frame_fields *f, const tess_xp_frame_pairs *p,
                            const tess_xp_twist *t, with_frames *w)
{
    const int64_t n = p->n_frame;
    double sum = 0;
    for (int a = 0; a < 4; a++) {
        take_frames(f, n, t->frame[a % 2], t->frame[2 + a / 2], w);
        for (int b = 0; b < 4; b++) {
            const int64_t i = t->frame[b % 2];
            const int64_t j = t->frame[2 + b / 2];
            sum += tess_xp_twist_sign[a] * tess_xp_twist_sign[b] *
                   covary(f, w, f->field[i * n + j], i, j);
        }
    }
    return sum;
}

static void add_speckle(const tess_xp_frame_pairs *p, const tess_xp_frame_fields *f, with_frames *w,
                        int64_t k, int64_t l, tess_xp_frame_moments *out)
{
    const int64_t n = p->n_frame;
    const int64_t own = tess_xp_frame_pair(n, k, l);
    double follow[MOST_K] = {0};
    int64_t at = 0;
    take_frames(f, n, k, l, w);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i + 1; j < n; j++, at++) {
            const double c = covary(f, w, f->field[i * n + j], i, j);
            for (int64_t a = 0; a < p->k; a++) {
                follow[a] += p->slope[at * p->k + a] * c;
            }
        }
    }
    out->square[SPECKLE] += p->weight[own] * covary(f, w, w->field, k, l);
    add_pair(p, own, follow, SPECKLE, out);
}

// E x_k (x_j - c_kj) (x_l - c_kl)
static double covary_one(const tess_xp_frame_fields *f, int64_t n, int64_t k, int64_t j, int64_t l)
{
    const double kj = f->field[k * n + j];
    const double kl = f->field[k * n + l];
    const double jl = f->field[j * n + l];
    return f->second * jl * jl + 2 * f->third * kj * kl * jl -
           f->second * f->second * kj * kj * kl * kl;
}

// Photons of frame k, in its pair with frame j: what goes with it in all pairs of k.
static void add_one(const tess_xp_frame_pairs *p, const tess_xp_frame_fields *f, int64_t k,
                    int64_t j, tess_xp_frame_moments *out)
{
    const int64_t n = p->n_frame;
    const int64_t own = tess_xp_frame_pair(n, k, j);
    double follow[MOST_K] = {0};
    for (int64_t l = 0; l < n; l++) {
        const int64_t at = l == k ? own : tess_xp_frame_pair(n, k, l);
        const double c = l == k ? 0 : covary_one(f, n, k, j, l);
        for (int64_t a = 0; a < p->k; a++) {
            follow[a] += p->slope[at * p->k + a] * c;
        }
    }
    out->square[ONE] += p->weight[own] * covary_one(f, n, k, j, j);
    add_pair(p, own, follow, ONE, out);
}

// Each of its four frames is in two points of a twist, which have opposite signs.
static double twist_one(const tess_xp_frame_fields *f, int64_t n, const tess_xp_twist *t)
{
    double sum = 0;
    for (int k = 0; k < 4; k++) {
        const int64_t own = t->frame[k];
        const int64_t j = t->frame[k < 2 ? 2 : 0];
        const int64_t l = t->frame[k < 2 ? 3 : 1];
        sum += covary_one(f, n, own, j, j) + covary_one(f, n, own, l, l) -
               2 * covary_one(f, n, own, j, l);
    }
    return sum;
}

void tess_xp_frame_add_exact(const tess_xp_frame_pairs *pairs, const tess_xp_frame_fields *fields,
                             int64_t k, double *scratch, tess_xp_frame_moments *out)
{
    const int64_t n = pairs->n_frame;
    with_frames w = {.to_k = scratch, .to_l = scratch + n, .ring = scratch + 2 * n};
    for (int64_t l = 0; l < n; l++) {
        if (l == k || pairs->weight[tess_xp_frame_pair(n, k, l)] == 0) {
            continue;
        }
        add_one(pairs, fields, k, l, out);
        if (l > k) {
            const tess_xp_twist t = tess_xp_twist_at(pairs, k, l);
            add_speckle(pairs, fields, &w, k, l, out);
            if (t.weight > 0) {
                out->twist[SPECKLE] += t.weight * twist_speckle(fields, pairs, &t, &w);
                out->twist[ONE] += t.weight * twist_one(fields, n, &t);
            }
        }
    }
}
