// Clusterless marks with mixtures of Gaussians in place of kernel densities: occupancy, the places
// of an electrode's spikes, and their marks and places together. Weights are not used.
#include "systems/decode/gmm/gmm.h"
#include "base/status.h"
#include "stage/decode_likelihood.h"

#include <math.h>
#include <string.h>

// Streams of random numbers: one per mixture.
enum { STREAM_OCCUPANCY = 0, STREAM_GROUND = 1, STREAM_JOINT = 2, STREAMS = 4 };

static tess_mixture_config config_of(const tess_decode_encoding *encoding, int64_t n_component,
                                     int64_t electrode, uint32_t stream)
{
    const tess_decode_encoding_config *c = &encoding->config;
    return (tess_mixture_config){.n_component = n_component,
                                 .max_iterations = c->gmm_iterations,
                                 .tolerance = c->gmm_tolerance,
                                 .ridge = c->gmm_ridge,
                                 .seed = (uint64_t)c->seed,
                                 .stream = (uint32_t)electrode * STREAMS + stream};
}

// Marks and places of an electrode's spikes side by side.
static tess_status fit_joint(tess_context *ctx, const tess_decode_encoding *encoding,
                             tess_blocks *scratch, int64_t e, tess_mixture *out)
{
    const tess_de_selection *s = &encoding->selection;
    const int64_t d = s->n_feature[e];
    const int64_t width = d + s->n_dim;
    double *points =
        tess_blocks_alloc(scratch, s->n_spike[e], (size_t)width * sizeof *points, "points");
    if (!points) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < s->n_spike[e]; i++) {
        memcpy(points + i * width, s->spike_marks[e] + i * d, (size_t)d * sizeof *points);
        memcpy(points + i * width + d, s->spike_place[e] + i * s->n_dim,
               (size_t)s->n_dim * sizeof *points);
    }
    const tess_mixture_config config =
        config_of(encoding, encoding->config.gmm_components_joint, e, STREAM_JOINT);
    return tess_mixture_fit(ctx, points, s->n_spike[e], width, &config, out);
}

static tess_status fit_mixtures(tess_context *ctx, const tess_decode_encoding *encoding,
                                tess_de_gmm *gmm)
{
    const tess_de_selection *s = &encoding->selection;
    const tess_decode_encoding_config *c = &encoding->config;
    tess_mixture_config config =
        config_of(encoding, c->gmm_components_occupancy, 0, STREAM_OCCUPANCY);
    TESS_TRY(tess_mixture_fit(ctx, s->place, s->n_sample, s->n_dim, &config, &gmm->occupancy));
    gmm->scratch_items = gmm->occupancy.n_component + s->n_dim;
    for (int64_t e = 0; e < s->n_electrode; e++) {
        config = config_of(encoding, c->gmm_components_gpi, e, STREAM_GROUND);
        TESS_TRY(tess_mixture_fit(ctx, s->spike_place[e], s->n_spike[e], s->n_dim, &config,
                                  &gmm->ground[e]));
        tess_blocks scratch;
        tess_blocks_init(&scratch, &ctx->heap);
        const tess_status status = fit_joint(ctx, encoding, &scratch, e, &gmm->joint[e]);
        tess_blocks_free(&scratch);
        TESS_TRY(status);
        // As many as a joint evaluation wants: exponents, conditional means, a point.
        const int64_t width = s->n_feature[e] + s->n_dim;
        const int64_t joint = gmm->joint[e].n_component * (2 + s->n_dim) + 2 * width;
        const int64_t ground = gmm->ground[e].n_component + s->n_dim;
        gmm->scratch_items = joint > gmm->scratch_items ? joint : gmm->scratch_items;
        gmm->scratch_items = ground > gmm->scratch_items ? ground : gmm->scratch_items;
    }
    return TESS_OK;
}

static void fill_bins(const tess_decode_encoding *encoding, tess_de_gmm *gmm, double *occupancy,
                      double *fields, double *scratch)
{
    const tess_decode_environment_info *env = tess_decode_environment_get_info(encoding->env);
    for (int64_t p = 0; p < env->n_interior; p++) {
        const double *place = env->interior_centers + p * env->n_place_dim;
        gmm->log_occupancy[p] = tess_mixture_log(&gmm->occupancy, place, scratch);
        occupancy[p] = exp(gmm->log_occupancy[p]);
        for (int64_t e = 0; e < gmm->n_electrode; e++) {
            const double log_g = tess_mixture_log(&gmm->ground[e], place, scratch);
            const double rate = gmm->mean_rates[e] * exp(log_g - gmm->log_occupancy[p]);
            fields[e * env->n_interior + p] = exp(log_g);
            gmm->summed[p] += rate > TESS_DE_EPS ? rate : TESS_DE_EPS;
        }
    }
}

static tess_status fit(tess_context *ctx, tess_device *device, tess_decode_encoding *encoding,
                       const tess_de_selection *s)
{
    (void)device;
    tess_blocks *blocks = &encoding->blocks;
    const int64_t n_bin = encoding->info.n_interior;
    const int64_t n = s->n_electrode;
    tess_de_gmm *gmm = tess_blocks_alloc(blocks, 1, sizeof *gmm, "mixture model");
    double *occupancy = tess_blocks_alloc(blocks, n_bin, sizeof(double), "occupancy");
    double *fields = tess_blocks_alloc(blocks, n * n_bin, sizeof(double), "place fields");
    if (!gmm || !occupancy || !fields) {
        return TESS_E_MEMORY;
    }
    gmm->ground = tess_blocks_alloc(blocks, n, sizeof *gmm->ground, "mixtures");
    gmm->joint = tess_blocks_alloc(blocks, n, sizeof *gmm->joint, "mixtures");
    gmm->log_occupancy = tess_blocks_alloc(blocks, n_bin, sizeof(double), "occupancy");
    gmm->summed = tess_blocks_alloc(blocks, n_bin, sizeof(double), "summed intensity");
    gmm->mean_rates = tess_blocks_alloc(blocks, n, sizeof(double), "mean rates");
    if (!gmm->ground || !gmm->joint || !gmm->log_occupancy || !gmm->summed || !gmm->mean_rates) {
        return TESS_E_MEMORY;
    }
    gmm->n_electrode = n;
    gmm->n_dim = s->n_dim;
    for (int64_t e = 0; e < n; e++) {
        const double rate = (double)s->n_spike[e] / (double)s->n_sample;
        gmm->mean_rates[e] = rate > TESS_DE_EPS ? rate : TESS_DE_EPS;
    }
    encoding->model = gmm;
    TESS_TRY(fit_mixtures(ctx, encoding, gmm));
    double *scratch = tess_blocks_alloc(blocks, gmm->scratch_items, sizeof(double), "room");
    if (!scratch) {
        return TESS_E_MEMORY;
    }
    fill_bins(encoding, gmm, occupancy, fields, scratch);
    encoding->info.occupancy = occupancy;
    encoding->info.place_fields = fields;
    encoding->info.mean_rates = gmm->mean_rates;
    encoding->info.summed_ground_intensity = gmm->summed;
    return TESS_OK;
}

static void release(tess_decode_encoding *encoding)
{
    tess_de_gmm *gmm = encoding->model;
    if (!gmm) {
        return;
    }
    tess_mixture_free(&gmm->occupancy);
    for (int64_t e = 0; e < gmm->n_electrode; e++) {
        tess_mixture_free(&gmm->ground[e]);
        tess_mixture_free(&gmm->joint[e]);
    }
    encoding->model = NULL; // the rest is in the encoding's blocks
}

static uint64_t rows_bytes(const tess_decode_encoding *encoding, int64_t n_spike)
{
    (void)n_spike;
    return (uint64_t)encoding->info.n_interior * 8 * 512; // a tile of spikes
}

static const int32_t stages[] = {TESS_STAGE_DECODE_GMM, TESS_STAGE_DECODE_ROWS};

const tess_de_encoding_ops tess_de_gmm_ops = {
    .name = "clusterless_gmm",
    .stages = stages,
    .n_stage = sizeof stages / sizeof *stages,
    .fit = fit,
    .free = release,
    .rows = tess_de_gmm_rows,
    .local_rows = tess_de_gmm_local_rows,
    .log_joint = tess_de_gmm_log_joint,
    .rows_bytes = rows_bytes,
    .single = &tess_de_gmm_single_ops,
};
