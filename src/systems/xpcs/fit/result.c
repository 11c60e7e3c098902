#include "systems/xpcs/fit/result.h"

#include "base/status.h"

#include <string.h>

// Where an array of the block begins.
typedef struct part {
    void *at; // of the pointer to set
    int64_t n;
    size_t item_bytes;
} part;

enum { PARTS = 27 };

static void list_parts(tess_xpcs_result *r, const tess_xp_result_sizes *sizes, int64_t p,
                       part parts[PARTS])
{
    const int64_t n = sizes->n_angle;
    const int64_t m = 2 * n + p;
    const part list[PARTS] = {{&r->theta, p, 8},
                              {&r->sd, p, 8},
                              {&r->contrast, n, 8},
                              {&r->contrast_sd, n, 8},
                              {&r->offset, n, 8},
                              {&r->offset_sd, n, 8},
                              {&r->covariance, m * m, 8},
                              {&r->correlation, m * m, 8},
                              {&r->start, p, 8},
                              {&r->lower, p, 8},
                              {&r->upper, p, 8},
                              {&r->phi, n, 8},
                              {&r->q, n, 8},
                              {&r->sigma, n, 8},
                              {&r->reduced_chi2_angle, n, 8},
                              {&r->bootstrap_sd, sizes->n_bootstrap > 0 ? p : 0, 8},
                              {&r->bootstrap, sizes->n_bootstrap * p, 8},
                              {&r->interval_lower, p, 8},
                              {&r->interval_upper, p, 8},
                              {&r->independent_covariance, p * p, 8},
                              {&r->n_used_angle, n, 8},
                              {&r->trace, sizes->n_trace, sizeof *r->trace},
                              {&r->basins, sizes->n_basin, sizeof *r->basins},
                              {&r->status, p, 4},
                              {&r->contrast_status, n, 4},
                              {&r->offset_status, n, 4},
                              {&r->interval_kind, p, 4}};
    memcpy(parts, list, sizeof list);
}

static size_t place(const part *parts, unsigned char *base)
{
    size_t used = 0;
    for (int k = 0; k < PARTS; k++) {
        if (base) {
            void *at = parts[k].n > 0 ? base + used : NULL;
            memcpy(parts[k].at, &at, sizeof at);
        }
        used += ((size_t)parts[k].n * parts[k].item_bytes + 7) / 8 * 8;
    }
    return used;
}

// The pointers of info.
void tess_xp_result_publish(tess_xpcs_result *r)
{
    tess_xpcs_result_info *info = &r->info;
    info->names = r->names;
    info->theta = r->theta;
    info->sd = r->sd;
    info->status = r->status;
    info->contrast = r->contrast;
    info->contrast_sd = r->contrast_sd;
    info->contrast_status = r->contrast_status;
    info->offset = r->offset;
    info->offset_sd = r->offset_sd;
    info->offset_status = r->offset_status;
    info->covariance = r->covariance;
    info->correlation = r->correlation;
    info->start = r->start;
    info->lower = r->lower;
    info->upper = r->upper;
    info->phi = r->phi;
    info->q = r->q;
    info->sigma = r->sigma;
    info->n_used_angle = r->n_used_angle;
    info->reduced_chi2_angle = r->reduced_chi2_angle;
    info->trace = r->trace;
    info->basins = r->basins;
    info->bootstrap_sd = r->bootstrap_sd;
    info->bootstrap = r->bootstrap;
    info->interval_lower = r->interval_lower;
    info->interval_upper = r->interval_upper;
    info->interval_kind = r->interval_kind;
    info->independent_covariance = r->independent_covariance;
    info->message = info->warnings = info->recovery = info->device = "";
    info->data_path = info->data_fingerprint = info->config_hash = info->identity = "";
    info->tessera_version = TESS_VERSION;
}

tess_status tess_xp_result_create(tess_context *ctx, const tess_xp_result_sizes *sizes,
                                  tess_xpcs_result **out)
{
    int64_t p = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params((tess_xpcs_mode)sizes->mode, &p);
    *out = NULL;
    tess_xpcs_result *r =
        tess_heap_alloc_zero(&ctx->heap, sizeof *r, TESS_TAG_RESULT, "result of the fit");
    if (!r) {
        return TESS_E_MEMORY;
    }
    part parts[PARTS];
    r->ctx = ctx;
    list_parts(r, sizes, p, parts);
    r->block_bytes = place(parts, NULL);
    r->block =
        tess_heap_alloc_zero(&ctx->heap, r->block_bytes, TESS_TAG_RESULT, "numbers of the result");
    if (!r->block) {
        tess_xpcs_result_destroy(r);
        return TESS_E_MEMORY;
    }
    place(parts, r->block);
    for (int64_t k = 0; k < p; k++) {
        r->names[k] = params[k].name;
    }
    r->info = (tess_xpcs_result_info){.struct_size = sizeof r->info,
                                      .mode = sizes->mode,
                                      .n_param = p,
                                      .n_angle = sizes->n_angle,
                                      .n_covariance = 2 * sizes->n_angle + p,
                                      .n_trace = sizes->n_trace,
                                      .n_basin = sizes->n_basin,
                                      .n_bootstrap = sizes->n_bootstrap};
    tess_xp_result_publish(r);
    *out = r;
    return TESS_OK;
}

tess_status tess_xp_result_set_text(tess_xpcs_result *r, tess_xp_result_text which,
                                    const char *text)
{
    const char **const places[] = {
        &r->info.message,   &r->info.warnings,         &r->info.recovery,    &r->info.device,
        &r->info.data_path, &r->info.data_fingerprint, &r->info.config_hash, &r->info.identity};
    char *copy = tess_heap_strdup(&r->ctx->heap, text ? text : "", TESS_TAG_RESULT);
    if (!copy) {
        return TESS_E_MEMORY;
    }
    if (r->texts[which]) {
        tess_heap_free(&r->ctx->heap, r->texts[which], strlen(r->texts[which]) + 1,
                       TESS_TAG_RESULT);
    }
    *places[which] = r->texts[which] = copy;
    return TESS_OK;
}

const tess_xpcs_result_info *tess_xpcs_result_get_info(const tess_xpcs_result *result)
{
    return &result->info;
}

void tess_xpcs_result_destroy(tess_xpcs_result *result)
{
    if (!result) {
        return;
    }
    tess_heap *heap = &result->ctx->heap;
    for (size_t k = 0; k < sizeof result->texts / sizeof *result->texts; k++) {
        if (result->texts[k]) {
            tess_heap_free(heap, result->texts[k], strlen(result->texts[k]) + 1, TESS_TAG_RESULT);
        }
    }
    tess_heap_free(heap, result->block, result->block_bytes, TESS_TAG_RESULT);
    tess_heap_free(heap, result, sizeof *result, TESS_TAG_RESULT);
}

const char *tess_xpcs_convergence_name(tess_xpcs_convergence convergence)
{
    static const char *const names[] = {"converged", "max_iter", "failed"};
    return (uint32_t)convergence < 3 ? names[convergence] : NULL;
}

const char *tess_xpcs_quality_name(tess_xpcs_quality quality)
{
    static const char *const names[] = {"good", "marginal", "poor"};
    return (uint32_t)quality < 3 ? names[quality] : NULL;
}

const char *tess_xpcs_param_status_name(tess_xpcs_param_status status)
{
    static const char *const names[] = {"free", "fixed", "at_lower_bound", "at_upper_bound",
                                        "unidentified"};
    return (uint32_t)status < 5 ? names[status] : NULL;
}

const char *tess_xpcs_interval_name(tess_xpcs_interval interval)
{
    static const char *const names[] = {"straight", "profile"};
    return (uint32_t)interval < 2 ? names[interval] : NULL;
}
