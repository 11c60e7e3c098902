// RANSAC's medians by way of f32, where f32 leaves more than two predictions that may be in the
// middle: all of these are made in f64.
#include "backend/cpu/autoreject/ransac_quick.h"

#include <math.h>
#include <string.h>

enum { TILE = TESS_RANSAC_TILE, N = TESS_QUICK_SUBSETS };
enum { NUMBERS = (1 << TESS_RANSAC_NUMBER_BITS) - 1 };

// Above so many predictions of a row's samples all are made, and their medians found by networks.
enum { MANY = N * TILE / 4 };

// The predictions of a sample that may be in the middle.
typedef struct candidates {
    uint64_t subsets; // a bit each
    int32_t n_below;  // others that are surely smaller
    int32_t n;
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
    found->n = is_finite ? n : N;
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

void tess_ransac_middles_finish(tess_ransac_middles *m)
{
    tess_ransac_items_make_all(&m->items, true);
    for (int32_t i = 0; i < m->n_waiting; i++) {
        const tess_ransac_waiting *w = &m->waiting[i];
        double *value = m->values + TESS_QUICK_PAIRS + w->first;
        sort(value, w->n);
        memcpy(m->values + w->pair, value + N / 2 - 1 - w->n_below, 2 * sizeof *value);
    }
    m->n_waiting = 0;
    m->n_used = 0;
}

// The mean of a pair that is twice the median is the median.
static void add_many(tess_ransac_middles *m, const tess_ransac_unsure *u)
{
    const tess_ransac_items *items = &m->items;
    const tess_stage_autoreject_ransac *a = items->args;
    double all[N * TILE], median[TILE];
    m->n_many++;
    tess_ransac_item item[TILE];
    for (uint32_t t = 0; t < TILE; t++) {
        item[t] = (tess_ransac_item){.w = u->item.w, .x = u->item.x + t, .to = t};
    }
    for (int64_t r = 0; r < N; r++) {
        items->kernels->ransac_exact(item, TILE, items->w + r * items->w_step,
                                     a->from + r * a->n_from, (size_t)a->n_from, items->x,
                                     all + r * TILE);
    }
    items->kernels->ransac_median(all, N, median);
    for (int32_t i = 0; i < u->n; i++) {
        double *pair = m->values + u->item.to + 2 * u->at[i];
        pair[0] = pair[1] = median[u->at[i]];
    }
}

static void add_few(tess_ransac_middles *m, const tess_ransac_unsure *u, int32_t t,
                    const candidates *found)
{
    if (m->n_used + found->n > TESS_QUICK_ROOM) {
        tess_ransac_middles_finish(m);
    }
    m->waiting[m->n_waiting++] = (tess_ransac_waiting){.pair = u->item.to + 2 * (uint32_t)t,
                                                       .first = m->n_used,
                                                       .n = found->n,
                                                       .n_below = found->n_below};
    for (uint64_t left = found->subsets; left; left &= left - 1) {
        const uint32_t to = TESS_QUICK_PAIRS + (uint32_t)m->n_used++;
        tess_ransac_items_add(
            &m->items, (uint32_t)__builtin_ctzll(left),
            (tess_ransac_item){.w = u->item.w, .x = u->item.x + (uint32_t)t, .to = to});
    }
}

void tess_ransac_unsure_add(tess_ransac_middles *m, const tess_ransac_unsure *u)
{
    candidates found[TILE];
    int32_t n = 0;
    for (int32_t i = 0; i < u->n; i++) {
        find(u, u->at[i], &found[i]);
        n += found[i].n;
    }
    if (n > MANY) {
        add_many(m, u);
        return;
    }
    for (int32_t i = 0; i < u->n; i++) {
        add_few(m, u, u->at[i], &found[i]);
    }
}
