// Files of draws.
#ifndef TESS_XPCS_DRAWS_FILES_H
#define TESS_XPCS_DRAWS_FILES_H

#include "systems/xpcs/draws/draws.h"
#include "systems/xpcs/result/record.h"

// Everything there is to tell.
typedef struct tess_xp_draws {
    tess_context *ctx;
    const tess_xpcs_posterior_info *draws;
    const tess_xpcs_diagnosis_info *told;
    const tess_xpcs_result_info *fit;      // that the chains began from
    const tess_xpcs_sample_config *config; // they were made with
    const char *command_line;
    char identity[33];
    char timestamp[32];
} tess_xp_draws;

// Takes over what the calls are given, checked. config is filled from given.
TESS_MUST_CHECK tess_status tess_xp_draws_open(tess_context *ctx,
                                               const tess_xpcs_posterior_info *draws,
                                               const tess_xpcs_diagnosis *diagnosis,
                                               const tess_xpcs_result *fit,
                                               const tess_xpcs_sample_config *given,
                                               tess_xpcs_sample_config *config, tess_xp_draws *out);

// --- json.c ---

typedef void (*tess_xp_draws_writer)(tess_json *json, const tess_xp_draws *d);

void tess_xp_draws_parameters(tess_json *json, const tess_xp_draws *d);
void tess_xp_draws_diagnostics(tess_json *json, const tess_xp_draws *d);
void tess_xp_draws_analysis(tess_json *json, const tess_xp_draws *d);
void tess_xp_draws_whole(tess_json *json, const tess_xp_draws *d);
void tess_xp_draws_provenance(tess_json *json, const tess_xp_draws *d);

// From the context's heap (tag RESULT), *bytes long with its zero.
TESS_MUST_CHECK tess_status tess_xp_draws_text(const tess_xp_draws *d, tess_xp_draws_writer writer,
                                               char **text, size_t *bytes);

// --- arrays.c ---

// samples.npz.
TESS_MUST_CHECK tess_status tess_xp_draws_samples(const tess_xp_draws *d, const char *path,
                                                  int overwrite);
// fitted_data.npz: the model at the means.
TESS_MUST_CHECK tess_status tess_xp_draws_fitted(const tess_xp_draws *d, tess_xpcs_data *data,
                                                 const tess_xpcs_model *model, const char *path,
                                                 int overwrite);

// --- netcdf.c ---

// inference_data.nc, as ArviZ has it; with data, which may be NULL, the matrices too.
TESS_MUST_CHECK tess_status tess_xp_draws_netcdf(const tess_xp_draws *d, tess_xpcs_data *data,
                                                 const char *path, int overwrite);

#endif
