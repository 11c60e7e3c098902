// Room for draws, and what they are made with.
#ifndef TESS_XPCS_POSTERIOR_SAMPLE_H
#define TESS_XPCS_POSTERIOR_SAMPLE_H

#include "base/blocks.h"
#include "runtime/context.h"
#include "systems/xpcs/pass/pass.h"
#include "systems/xpcs/pass/weights.h"
#include "systems/xpcs/posterior/coords.h"
#include "tessera/xpcs/posterior.h"

struct tess_xpcs_posterior {
    tess_heap *heap;
    tess_blocks blocks; // everything info points to
    tess_xpcs_posterior_info info;
    // info's, to be filled
    double *theta;
    double *noise;
    double *contrast;
    double *offset;
    double *log_density;
    double *energy;
    double *accept;
    int64_t *n_step;
    int64_t *depth;
    uint8_t *diverged;
    double *step;
};

typedef struct tess_xp_sampler {
    tess_context *ctx;
    tess_device *device;
    tess_xpcs_data *data;
    tess_xpcs_model model;
    tess_xpcs_fit_config fit_config;
    tess_xpcs_sample_config config;
    const tess_xpcs_result_info *fit;
    tess_xp_weights weights;
    tess_xp_pass pass;
    tess_xp_density density;
    tess_xp_coords coords;
    tess_blocks blocks; // of the sampler alone
    double *sums;       // of the pass
    tess_xpcs_posterior *out;
} tess_xp_sampler;

// --- setup.c ---

// Everything but the chains. What is open is closed by tess_xp_sampler_close(), even after an
// error.
TESS_MUST_CHECK tess_status tess_xp_sampler_open(tess_xp_sampler *sampler);
void tess_xp_sampler_close(tess_xp_sampler *sampler);
TESS_MUST_CHECK tess_status tess_xp_posterior_create(tess_xp_sampler *sampler);

// --- chains.c ---

// Draws of theta and noise of all chains.
TESS_MUST_CHECK tess_status tess_xp_sampler_run(tess_xp_sampler *sampler);
// Contrast and offset of every draw, within their bounds.
TESS_MUST_CHECK tess_status tess_xp_sampler_draw_scaling(tess_xp_sampler *sampler);

#endif
