// Which leaves a pass counts, and where their sums go.
#include "systems/xpcs/pass/pass.h"

tess_xp_tree *tess_xp_pass_tree(tess_xp_pass *pass, int64_t set)
{
    return set == 0 ? &pass->tree : &pass->more_trees[set - 1];
}

int64_t tess_xp_pass_count(const tess_xp_pass *pass)
{
    return tess_xp_pass_count_before(pass, tess_xp_tiles_n_leaf(&pass->data->tiles));
}

int64_t tess_xp_pass_leaf_of(const tess_xp_pass *pass, int64_t number)
{
    return pass->every <= 1
               ? number
               : number / pass->group * pass->every * pass->group + number % pass->group;
}

int64_t tess_xp_pass_count_before(const tess_xp_pass *pass, int64_t leaf)
{
    if (pass->every <= 1) {
        return leaf;
    }
    const int64_t period = pass->every * pass->group;
    const int64_t rest = leaf % period;
    return leaf / period * pass->group + (rest < pass->group ? rest : pass->group);
}

void tess_xp_pass_take(tess_xp_pass *pass, tess_comm_range numbers)
{
    pass->first = numbers.begin;
    pass->end = numbers.end;
    pass->first_leaf = tess_xp_pass_leaf_of(pass, numbers.begin);
    pass->end_leaf = numbers.end > numbers.begin ? tess_xp_pass_leaf_of(pass, numbers.end - 1) + 1
                                                 : pass->first_leaf;
    pass->next_leaf = pass->first_leaf;
}
