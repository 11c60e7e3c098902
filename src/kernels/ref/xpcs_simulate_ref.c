// Simulated samples, as plainly as they can be said.

#include "kernels/isa.h"
#include "kernels/xpcs_constants.h"

#include <math.h>

enum { RUN = TESS_XP_RUN, LANES = TESS_XP_LANES };

static uint64_t splitmix64(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static double uniform(uint64_t key)
{
    return ((double)(splitmix64(key) >> 11) + 0.5) * 0x1p-53;
}

// cos(2 pi u), 0 <= u <= 1: half turns by sign, the rest by the polynomial.
static double cosine_of_turns(double u)
{
    const double turns = 2 * u;
    const double k = (turns + tess_xp_magic_f64) - tess_xp_magic_f64;
    const double r = (turns - k) * tess_xp_pi_1_f64, q = r * r;
    double sum = tess_xp_cos_tail_f64[0];
    for (size_t i = 1; i < sizeof tess_xp_cos_tail_f64 / sizeof(double); i++) {
        sum = fma(sum, q, tess_xp_cos_tail_f64[i]);
    }
    const double cosine = fma(sum, q, 1);
    return k == 1 ? -cosine : cosine;
}

static int is_hole(const tess_xp_simulation *s, size_t c)
{
    if (c >= s->n || (s->is_bad && s->is_bad[c])) {
        return 1;
    }
    const uint64_t key = (s->key + 2 * c) ^ (UINT64_C(1) << 63);
    return s->nan_fraction > 0 && (double)splitmix64(key) * 0x1p-64 < s->nan_fraction;
}

static double noisy(const tess_xp_simulation *s, double m, size_t c)
{
    const uint64_t key = s->key + 2 * c;
    const double u = uniform(key);
    double log_u;
    TESS_KFN(log_f64)(&u, 1, &log_u);
    const double radius = s->sigma * sqrt(-2 * log_u);
    return fma(radius, cosine_of_turns(uniform(key + 1)), fma(s->contrast, m, s->offset));
}

// Adds a sample, as it was rounded, to the head's sums; NaN where it is a hole.
static void add_to_head(double y, double mean, size_t lane, double (*sums)[LANES])
{
    if (!isnan(y)) {
        const double d = y - mean;
        sums[0][lane] += 1;
        sums[1][lane] += d;
        sums[2][lane] = fma(d, d, sums[2][lane]);
    }
}

static void finish_head(double (*const sums)[LANES], double *head)
{
    for (int k = 0; k < 3; k++) {
        const double *x = sums[k];
        head[k] = ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
    }
}

void TESS_KFN(xpcs_simulate_f64)(const tess_xp_simulation *restrict s, const double *restrict m,
                                 double *restrict y, double *restrict head)
{
    double sums[3][LANES] = {{0}};
    for (size_t c = 0; c < tess_xp_padded(s->n); c++) {
        y[c] = is_hole(s, c) ? (double)NAN : noisy(s, m[c], c);
        add_to_head(y[c], s->mean, c % LANES, sums);
    }
    finish_head(sums, head);
}

void TESS_KFN(xpcs_simulate_f32)(const tess_xp_simulation *restrict s, const double *restrict m,
                                 float *restrict y, double *restrict head)
{
    double sums[3][LANES] = {{0}};
    for (size_t c = 0; c < tess_xp_padded(s->n); c++) {
        y[c] = is_hole(s, c) ? NAN : (float)noisy(s, m[c], c);
        add_to_head((double)y[c], s->mean, c % LANES, sums);
    }
    finish_head(sums, head);
}
