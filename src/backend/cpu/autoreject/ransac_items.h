// Predictions in f64 that wait until several of a subset are known: its sources are looked up once
// for eight of them.
#ifndef TESS_CPU_AUTOREJECT_RANSAC_ITEMS_H
#define TESS_CPU_AUTOREJECT_RANSAC_ITEMS_H

#include "kernels/kernels.h"
#include "stage/autoreject_ransac.h"

#include <stdbool.h>
#include <stdint.h>

// Subsets, and how many predictions of one may wait.
enum { TESS_QUICK_SUBSETS = 50, TESS_QUICK_WAITING = 24 };

typedef struct tess_ransac_items {
    const tess_kernels *kernels;
    const tess_stage_autoreject_ransac *args;
    const double *w; // of a group: [50][rows][n_from]
    int64_t w_step;  // from one subset to the next
    const double *x; // tiles [n_chan][16]
    double *values;
    int32_t n[TESS_QUICK_SUBSETS];
    tess_ransac_item of[TESS_QUICK_SUBSETS][TESS_QUICK_WAITING];
} tess_ransac_items;

// What waits of subset r: by eights, or all of it.
void tess_ransac_items_make(tess_ransac_items *items, int64_t r, bool is_all);
void tess_ransac_items_make_all(tess_ransac_items *items, bool is_all);

static inline void tess_ransac_items_add(tess_ransac_items *items, uint32_t r,
                                         tess_ransac_item item)
{
    items->of[r][items->n[r]++] = item;
    if (items->n[r] == TESS_QUICK_WAITING) {
        tess_ransac_items_make(items, r, false);
    }
}

#endif
