// Environments: validation, assembly and what does not depend on how the bins were made.
#include "systems/decode/places/environment.h"
#include "base/status.h"
#include "base/struct_read.h"

#include <math.h>
#include <string.h>

static tess_status check_bin_sizes(tess_de_environment_plan *plan)
{
    const double *given = plan->config.bin_size;
    for (int64_t i = 0; i < plan->n_dim; i++) {
        plan->bin_size[i] = given ? given[i] : plan->config.place_bin_size;
        if (!(plan->bin_size[i] > 0) || !isfinite(plan->bin_size[i])) {
            TESS_FAIL(TESS_E_ARGUMENT,
                      "place_bin_size: is %g in dimension %lld; expected a width above 0 cm",
                      plan->bin_size[i], (long long)i);
        }
    }
    return TESS_OK;
}

static tess_status check_samples(const tess_de_environment_plan *plan)
{
    if (plan->n_sample < 0 || (plan->n_sample > 0 && !plan->position)) {
        TESS_FAIL(TESS_E_ARGUMENT, "position: %lld samples, but no data",
                  (long long)plan->n_sample);
    }
    if (plan->n_sample == 0 && !plan->config.track && !plan->config.position_range) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "position: no samples to make bins from; pass positions, position_range or a "
                  "track graph");
    }
    for (int64_t k = 0; k < plan->n_sample * plan->n_dim; k++) {
        if (isinf(plan->position[k])) {
            TESS_FAIL(TESS_E_NUMERIC,
                      "position: sample %lld, coordinate %lld is infinite; NaN marks what was not "
                      "tracked",
                      (long long)(k / plan->n_dim), (long long)(k % plan->n_dim));
        }
    }
    return TESS_OK;
}

static tess_status check(const tess_decode_environment_config *given, const double *position,
                         int64_t n_sample, int64_t n_dim, tess_de_environment_plan *plan)
{
    tess_decode_environment_config_init(&plan->config, sizeof plan->config);
    if (given) {
        TESS_TRY(tess_struct_read(given, &plan->config, sizeof plan->config, "environment config"));
    }
    TESS_TRY(tess_params_check(tess_decode_environment_params(), &plan->config));
    plan->position = position;
    plan->n_sample = n_sample;
    plan->n_dim = n_dim;
    if (n_dim < 1 || n_dim > TESS_DECODE_MAX_DIM) {
        TESS_FAIL(TESS_E_SHAPE, "position: has %lld coordinates per sample; expected 1 to %d",
                  (long long)n_dim, TESS_DECODE_MAX_DIM);
    }
    if (plan->config.track && n_dim != 2) {
        TESS_FAIL(TESS_E_SHAPE,
                  "position: has %lld coordinate%s per sample, but a track graph needs raw x and "
                  "y, which it linearises itself; pass 2-D positions, or no track graph",
                  (long long)n_dim, n_dim == 1 ? "" : "s");
    }
    TESS_TRY(check_bin_sizes(plan));
    return check_samples(plan);
}

// Centres of all bins, axis by axis.
static tess_status apply_user_mask(tess_decode_environment *env,
                                   const tess_decode_environment_config *config)
{
    const int64_t n_bin = env->info.n_bin;
    uint8_t *mask = env->interior;
    if (!config->is_track_interior) {
        return TESS_OK;
    }
    if (config->n_is_track_interior != n_bin) {
        TESS_FAIL(TESS_E_SHAPE,
                  "is_track_interior: has %lld values, the environment %lld bins (%lld x %lld x "
                  "%lld%s)",
                  (long long)config->n_is_track_interior, (long long)n_bin,
                  (long long)env->info.grid_shape[0], (long long)env->info.grid_shape[1],
                  (long long)env->info.grid_shape[2],
                  env->info.n_place_dim > 1 ? ", one bin of padding on every side included" : "");
    }
    for (int64_t bin = 0; bin < n_bin; bin++) {
        mask[bin] = config->is_track_interior[bin] &&
                    (!env->bin_track_edge || env->bin_track_edge[bin] >= 0);
    }
    if (!memchr(mask, 1, (size_t)n_bin)) {
        TESS_FAIL(TESS_E_ARGUMENT, "is_track_interior: no bin is set; at least one must be");
    }
    return TESS_OK;
}

static tess_status list_interior(tess_decode_environment *env)
{
    tess_decode_environment_info *info = &env->info;
    const int64_t d = info->n_place_dim;
    info->n_interior = 0;
    for (int64_t bin = 0; bin < info->n_bin; bin++) {
        info->n_interior += info->is_interior[bin];
    }
    uint8_t *boundary = tess_blocks_alloc(&env->blocks, info->n_bin, 1, "boundary bins");
    int64_t *bins =
        tess_blocks_alloc(&env->blocks, info->n_interior, sizeof *bins, "interior bins");
    double *centers =
        tess_blocks_alloc(&env->blocks, info->n_interior * d, sizeof *centers, "interior bins");
    if (!boundary || !bins || !centers) {
        return TESS_E_MEMORY;
    }
    int64_t p = 0;
    for (int64_t bin = 0; bin < info->n_bin; bin++) {
        if (info->is_interior[bin]) {
            memcpy(centers + p * d, info->bin_centers + bin * d, (size_t)d * sizeof *centers);
            bins[p++] = bin;
        }
    }
    info->interior_bin = bins;
    info->interior_centers = centers;
    info->is_boundary = boundary;
    if (d >= 2) {
        tess_de_mask_dilate(info->grid_shape, d, info->is_interior, boundary);
        for (int64_t bin = 0; bin < info->n_bin; bin++) {
            boundary[bin] = boundary[bin] && !info->is_interior[bin];
        }
    }
    return TESS_OK;
}

static tess_status make_environment(tess_decode_environment *env,
                                    const tess_de_environment_plan *plan)
{
    const char *name = plan->config.name ? plan->config.name : "";
    env->info.name = tess_blocks_copy(&env->blocks, name, (int64_t)strlen(name) + 1, 1,
                                      "name of an environment");
    if (!env->info.name) {
        return TESS_E_MEMORY;
    }
    env->info.struct_size = (uint32_t)sizeof env->info;
    env->info.n_dim = plan->n_dim;
    env->info.n_sample = plan->n_sample;
    for (int i = 0; i < TESS_DECODE_MAX_DIM; i++) {
        env->info.grid_shape[i] = 1;
    }
    TESS_TRY(plan->config.track ? tess_de_track_make(env, plan) : tess_de_grid_make(env, plan));
    TESS_TRY(apply_user_mask(env, &plan->config));
    return list_interior(env);
}

tess_status tess_decode_environment_create(tess_context *ctx,
                                           const tess_decode_environment_config *config,
                                           const double *position, int64_t n_sample, int64_t n_dim,
                                           tess_decode_environment **out)
{
    tess_error_clear();
    *out = NULL;
    tess_de_environment_plan plan;
    memset(&plan, 0, sizeof plan);
    TESS_TRY(check(config, position, n_sample, n_dim, &plan));
    tess_decode_environment *env =
        tess_heap_alloc_zero(&ctx->heap, sizeof *env, TESS_TAG_RESULT, "environment");
    if (!env) {
        return TESS_E_MEMORY;
    }
    env->heap = &ctx->heap;
    tess_blocks_init(&env->blocks, &ctx->heap);
    pthread_mutex_init(&env->mutex, NULL);
    const tess_status status = make_environment(env, &plan);
    if (status != TESS_OK) {
        tess_decode_environment_destroy(env);
        return status;
    }
    *out = env;
    return TESS_OK;
}

void tess_decode_environment_destroy(tess_decode_environment *env)
{
    if (env) {
        const size_t bytes = (size_t)(env->info.n_interior * env->info.n_interior) * sizeof(double);
        tess_heap_free(env->heap, env->distances, bytes, TESS_TAG_RESULT);
        tess_blocks_free(&env->blocks);
        pthread_mutex_destroy(&env->mutex);
        tess_heap_free(env->heap, env, sizeof *env, TESS_TAG_RESULT);
    }
}

const tess_decode_environment_info *
tess_decode_environment_get_info(const tess_decode_environment *env)
{
    return &env->info;
}
