#include "systems/xpcs/pass/share.h"

#include "systems/xpcs/pass/pass.h"

#include <string.h>

int64_t tess_xp_share_pieces(int64_t n_leaf)
{
    return 2 * tess_xp_tree_levels(n_leaf) + 2;
}

void tess_xp_share_begin(tess_xp_share *share, int64_t first)
{
    share->next = first;
    share->n_piece = 0;
}

void tess_xp_share_push(tess_xp_share *share, const double *sums, int64_t n_leaf)
{
    int64_t first = share->next;
    int64_t length = n_leaf;
    int64_t at = share->n_piece;
    TESS_ASSERT(first % n_leaf == 0 && at < TESS_XP_MAX_PIECE);
    double *own = share->sums + at * share->n_sum;
    memcpy(own, sums, (size_t)share->n_sum * sizeof *own);
    // The stretch before it is the other half of one that is twice as long.
    while (at > 0 && share->length[at - 1] == length && first % (2 * length) == length) {
        double *earlier = own - share->n_sum;
        for (int64_t i = 0; i < share->n_sum; i++) {
            earlier[i] = earlier[i] + own[i];
        }
        own = earlier;
        first -= length;
        length *= 2;
        at--;
    }
    share->length[at] = length;
    share->n_piece = at + 1;
    share->next += n_leaf;
}
