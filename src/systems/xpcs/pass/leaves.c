// Which leaves a pass counts, and where their sums go.
#include "systems/xpcs/pass/pass.h"

tess_xp_tree *tess_xp_pass_tree(tess_xp_pass *pass, int64_t set)
{
    return set == 0 ? &pass->tree : &pass->more_trees[set - 1];
}

int64_t tess_xp_pass_count(const tess_xp_pass *pass)
{
    const int64_t n_leaf = tess_xp_tiles_n_leaf(&pass->data->tiles);
    if (pass->every <= 1) {
        return n_leaf;
    }
    const int64_t period = pass->every * pass->group;
    const int64_t rest = n_leaf % period;
    return n_leaf / period * pass->group + (rest < pass->group ? rest : pass->group);
}

int64_t tess_xp_pass_leaf_of(const tess_xp_pass *pass, int64_t number)
{
    return pass->every <= 1
               ? number
               : number / pass->group * pass->every * pass->group + number % pass->group;
}
