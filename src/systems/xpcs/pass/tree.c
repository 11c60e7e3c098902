// Partial sums by powers of two.
#include "base/status.h"
#include "systems/xpcs/pass/pass.h"

#include <string.h>

int64_t tess_xp_tree_levels(int64_t n_leaf)
{
    int64_t n = 0;
    while (n_leaf >> n) {
        n++;
    }
    return n;
}

// sums := earlier + sums
static void add(const double *earlier, double *sums, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        sums[i] = earlier[i] + sums[i];
    }
}

void tess_xp_tree_push(tess_xp_tree *tree, double *sums, int64_t n_leaf)
{
    TESS_ASSERT(tree->n_leaf % n_leaf == 0);
    int64_t level = tess_xp_tree_levels(n_leaf) - 1;
    for (; tree->n_leaf >> level & 1; level++) {
        add(tree->sums + level * tree->n_sum, sums, tree->n_sum);
    }
    memcpy(tree->sums + level * tree->n_sum, sums, (size_t)tree->n_sum * sizeof *sums);
    tree->n_leaf += n_leaf;
}

void tess_xp_tree_total(const tess_xp_tree *tree, double *sums)
{
    memset(sums, 0, (size_t)tree->n_sum * sizeof *sums);
    for (int64_t level = 0; tree->n_leaf >> level; level++) {
        if (tree->n_leaf >> level & 1) {
            add(tree->sums + level * tree->n_sum, sums, tree->n_sum);
        }
    }
}
