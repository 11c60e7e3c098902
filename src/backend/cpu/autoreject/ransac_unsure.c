// RANSAC's medians by way of f32, where f32 leaves more than two predictions that may be in the
// middle: all of these are made in f64.
#include "backend/cpu/autoreject/ransac_quick.h"

#include <math.h>
#include <string.h>

enum { TILE = TESS_RANSAC_TILE, N = TESS_QUICK_SUBSETS };
enum { NUMBERS = (1 << TESS_RANSAC_NUMBER_BITS) - 1 };

// The predictions of a sample that may be in the middle.
typedef struct candidates {
    uint64_t subsets; // a bit each
    int32_t n_below;  // others that are surely smaller
    int32_t n;
    double value[N];
} candidates;

static void find(const tess_ransac_unsure *u, int32_t t, candidates *found)
{
    const float low = u->middle[TILE + t], high = u->middle[2 * TILE + t];
    const float least = low - TESS_QUICK_NUMBER_REACH * fabsf(low) - u->reach[t];
    const float most = high + TESS_QUICK_NUMBER_REACH * fabsf(high) + u->reach[t];
    uint64_t subsets = 0;
    int32_t n_below = 0;
    for (int32_t i = 0; i < N; i++) {
        const float f = u->p[i * TILE + t], number = TESS_QUICK_NUMBER_REACH * fabsf(f);
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        const bool is_below = f + number<least, is_above = f - number> most;
        n_below += is_below;
        subsets |= (uint64_t) !(is_below | is_above) << (bits & NUMBERS);
    }
    const int32_t n = __builtin_popcountll(subsets);
    const bool is_finite = n_below < N / 2 && n_below + n > N / 2;
    found->subsets = is_finite ? subsets : ((uint64_t)1 << N) - 1;
    found->n_below = is_finite ? n_below : 0;
    found->n = 0;
}

static void sort(double *x, int32_t n)
{
    for (int32_t i = 1; i < n; i++) {
        const double value = x[i];
        int32_t k = i;
        for (; k > 0 && x[k - 1] > value; k--) {
            x[k] = x[k - 1];
        }
        x[k] = value;
    }
}

void tess_ransac_settle(const tess_ransac_quick *q, const tess_ransac_unsure *u,
                        double pairs[TILE][2])
{
    const tess_stage_autoreject_ransac *a = q->args;
    candidates found[TILE];
    uint64_t all = 0;
    for (int32_t i = 0; i < u->n; i++) {
        find(u, u->at[i], &found[i]);
        all |= found[i].subsets;
    }
    for (uint64_t left = all; left; left &= left - 1) {
        const int64_t r = __builtin_ctzll(left);
        tess_ransac_item item[TILE];
        size_t n = 0;
        for (int32_t i = 0; i < u->n; i++) {
            if (found[i].subsets >> r & 1) {
                item[n++] = (tess_ransac_item){.w = u->w + r * u->w_step,
                                               .x = u->x + u->at[i],
                                               .to = &found[i].value[found[i].n++]};
            }
        }
        q->kernels->ransac_exact(item, n, a->from + r * a->n_from, (size_t)a->n_from);
    }
    for (int32_t i = 0; i < u->n; i++) {
        const double *middle = found[i].value + N / 2 - 1 - found[i].n_below;
        sort(found[i].value, found[i].n);
        pairs[u->at[i]][0] = middle[0];
        pairs[u->at[i]][1] = middle[1];
    }
}
