#include "backend/cpu/autoreject/ransac_items.h"

#include <string.h>

enum { TOGETHER = 8 };

void tess_ransac_items_make(tess_ransac_items *items, int64_t r, bool is_all)
{
    const tess_stage_autoreject_ransac *a = items->args;
    tess_ransac_item *of = items->of[r];
    const int32_t left = is_all ? 0 : items->n[r] % TOGETHER, n = items->n[r] - left;
    if (n == 0) {
        return;
    }
    items->kernels->ransac_exact(of, (size_t)n, items->w + r * items->w_step,
                                 a->from + r * a->n_from, (size_t)a->n_from, items->x,
                                 items->values);
    memmove(of, of + n, (size_t)left * sizeof *of);
    items->n[r] = left;
}

void tess_ransac_items_make_all(tess_ransac_items *items, bool is_all)
{
    for (int64_t r = 0; r < TESS_QUICK_SUBSETS; r++) {
        tess_ransac_items_make(items, r, is_all);
    }
}
