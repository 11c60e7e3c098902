#include "systems/xpcs/fit/identity.h"

// Options that change how a fit runs, not what it finds.
static const char without_effect[] = "|strategy|fast|chunk_tiles|checkpoint_iterations|"
                                     "max_retries|chi2_threshold|";

// Options that are in no table. What is NULL differs from what is given.
static tess_hash hash_vectors(const tess_xp_problem *problem)
{
    const tess_xpcs_fit_config *config = &problem->config;
    const size_t n_param = (size_t)tess_xp_n_param((tess_xpcs_mode)problem->model.mode);
    const size_t n_angle = (size_t)problem->n_angle;
    const struct {
        const void *data;
        size_t bytes;
    } vectors[] = {{config->start, n_param * sizeof(double)},
                   {config->lower, n_param * sizeof(double)},
                   {config->upper, n_param * sizeof(double)},
                   {config->x_scale, n_param * sizeof(double)},
                   {config->is_fixed, n_param},
                   {config->contrast, n_angle * sizeof(double)},
                   {config->offset, n_angle * sizeof(double)},
                   {config->scaling_lower, sizeof config->scaling_lower},
                   {config->scaling_upper, sizeof config->scaling_upper},
                   {&config->shear_phi0, sizeof config->shear_phi0}};
    tess_hash hash = {0, 0};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        tess_hash_mix(&hash, vectors[i].data, vectors[i].data ? vectors[i].bytes : 0);
    }
    return hash;
}

tess_status tess_xp_identity_make(const tess_device *device, const tess_xp_problem *problem,
                                  tess_identity *id, char settings[33])
{
    const char *whole = NULL;
    const tess_param_table *const tables[] = {tess_xpcs_model_params(), tess_xpcs_fit_params()};
    const void *const configs[] = {&problem->model, &problem->config};
    tess_identity_init(id, problem->ctx, "xpcs.fit", device->backend->name);
    tess_identity_add_settings(id, NULL, tables, configs, 2, without_effect);
    tess_identity_add_hash(
        id, "start, bounds, fixed parameters or scaling differ from those of this fit",
        hash_vectors(problem));
    tess_identity_digest(id, settings);
    tess_identity_add_hash(id, "belongs to other data, or other parts of them could be read",
                           tess_xp_data_identity(problem->data));
    return tess_text_finish(&id->text, &whole);
}
