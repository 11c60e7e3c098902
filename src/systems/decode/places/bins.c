// The bins of any environment: centres from edges.
#include "systems/decode/places/environment.h"

static void fill_centers(const tess_decode_environment_info *info, double *centers)
{
    for (int64_t bin = 0; bin < info->n_bin; bin++) {
        int64_t rest = bin;
        for (int64_t axis = info->n_place_dim - 1; axis >= 0; axis--) {
            const int64_t i = rest % info->grid_shape[axis];
            const double *edges = info->bin_edges[axis];
            rest /= info->grid_shape[axis];
            centers[bin * info->n_place_dim + axis] = edges[i] + (edges[i + 1] - edges[i]) / 2;
        }
    }
}

tess_status tess_de_bins_make(tess_decode_environment *env)
{
    tess_decode_environment_info *info = &env->info;
    info->n_bin = 1;
    for (int64_t axis = 0; axis < info->n_place_dim; axis++) {
        info->n_bin *= info->grid_shape[axis];
    }
    double *centers = tess_blocks_alloc(&env->blocks, info->n_bin * info->n_place_dim,
                                        sizeof *centers, "centres of position bins");
    env->interior = tess_blocks_alloc(&env->blocks, info->n_bin, 1, "interior bins");
    if (!centers || !env->interior) {
        return TESS_E_MEMORY;
    }
    info->is_interior = env->interior;
    fill_centers(info, centers);
    info->bin_centers = centers;
    return TESS_OK;
}

// The user's mask instead of the inferred one; the gaps of a track stay out.
