// Sums over the tiles of two-time correlations on the CPU: a leaf is a block.
#include "stage/xpcs.h"

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/xpcs.h"
#include "base/status.h"

#include <stdatomic.h>
#include <string.h>

enum { RUN = TESS_STAGE_XPCS_RUN, HEAD = TESS_STAGE_XPCS_HEAD };

// What a worker needs for a tile.
typedef struct pass_scratch {
    tess_xp_pairs_f64 pairs;
    tess_xp_angle_sums_f64 angles;
    double m[RUN];
    double t[RUN];
    double w[RUN];
    double g[RUN];
} pass_scratch;

typedef struct pass_job {
    const tess_kernels *kernels;
    const tess_stage_xpcs_pass *args;
    pass_scratch *scratch; // [workers]
    uint64_t records_at;   // offset of the first record
    int want;              // of the kernels
    int n_angle_sum;       // 6 + 3 n_param
    _Atomic int64_t n_lit; // points whose model was evaluated
} pass_job;

// A tile's samples, and where its sums go.
typedef struct pass_tile {
    const pass_job *job;
    pass_scratch *scratch;
    xp_tile at;
    const unsigned char *record;
    double *sums;                       // of the leaf
    double *hessian;                    // behind those of the angles
    int is_dark;                        // M is 0 in this tile
    double fixed[TESS_XP_N_STATIC_SUM]; // static: of the pairs alone
    double fixed_weight;                // of complete angles in the Hessian
} pass_tile;

static const double *head_of(const pass_tile *tile, int64_t angle)
{
    return (const double *)(const void *)tile->record + angle * HEAD;
}

static const unsigned char *samples_of(const pass_tile *tile, int64_t angle)
{
    return tile->record + tess_cpu_xp_samples_at(tile->job->args->tiles, tile->at.width, angle);
}

// Weights of the points of an angle, NULL: all are 1.
static const double *weights_of(const pass_tile *tile, int64_t angle)
{
    const tess_stage_xpcs_pass *a = tile->job->args;
    if (a->lag_weight) {
        return a->lag_weight + angle * a->tiles->n_frame + (tile->at.column - tile->at.row);
    }
    if (a->tiles->has_sigma && !a->ignore_sigma) {
        const uint64_t at = tess_cpu_xp_sigmas_at(a->tiles, tile->at.width, angle);
        return (const double *)(const void *)(tile->record + at);
    }
    return NULL;
}

// Weights and samples of an angle, 0 where there is none.
static void mask(const pass_tile *tile, int64_t angle)
{
    const double *frames = tile->job->args->frame_weight;
    pass_scratch *s = tile->scratch;
    tile->job->kernels->xpcs_mask(weights_of(tile, angle), frames ? frames + tile->at.column : NULL,
                                  frames ? frames[tile->at.row] : 1, (size_t)tile->at.n_column,
                                  s->w, s->g);
}

static void centre(const pass_tile *tile, int64_t angle, double mean)
{
    const tess_kernels *kernels = tile->job->kernels;
    const void *y = samples_of(tile, angle);
    const size_t n = (size_t)tile->at.n_column;
    if (tile->job->args->tiles->item_bytes == 4) {
        kernels->xpcs_centre_f32(y, n, mean, tile->scratch->g);
    } else {
        kernels->xpcs_centre_f64(y, n, mean, tile->scratch->g);
    }
}

// M and T of an angle; *m and *t point at them.
static void evaluate(const pass_tile *tile, int64_t angle, const double **m, const double **t)
{
    const tess_stage_xpcs_pass *a = tile->job->args;
    pass_scratch *s = tile->scratch;
    if (a->n_param == 3 || tile->is_dark) {
        *m = tile->is_dark ? s->m : s->pairs.e;
        *t = NULL;
        return;
    }
    double *slopes = tile->job->want == TESS_XP_COST ? NULL : s->t;
    tile->job->kernels->xpcs_points_f64(&s->pairs, (size_t)tile->at.n_column,
                                        a->angles[angle].amplitude, a->power, s->m, slopes);
    *m = s->m;
    *t = slopes;
}

static tess_xp_terms_f64 terms_of(const pass_tile *tile, int64_t angle)
{
    const tess_stage_xpcs_pass *a = tile->job->args;
    const tess_xp_angle *of = &a->angles[angle];
    return (tess_xp_terms_f64){
        .g = tile->scratch->g, .weight = of->weight, .tau = a->power * of->tau};
}

// sums in the kernels' order with room for seven parameters, into those of the angle.
static void add_angle(const pass_tile *tile, int64_t angle, const double *sums, double by)
{
    const int64_t p = tile->job->args->n_param;
    double *out = tile->sums + angle * tile->job->n_angle_sum;
    for (int64_t k = 0; k < 6; k++) {
        out[k] += by * sums[k];
    }
    for (int64_t k = 0; k < p; k++) {
        out[6 + k] += by * sums[6 + k];
        out[6 + p + k] += by * sums[13 + k];
        out[6 + 2 * p + k] += by * sums[20 + k];
    }
}

static void take_products(const pass_tile *tile, const tess_xp_terms_f64 *terms, double *sums)
{
    const pass_job *job = tile->job;
    const int want = tile->is_dark ? TESS_XP_COST : job->want;
    job->kernels->xpcs_sums_f64(&tile->scratch->pairs, terms, (size_t)tile->at.n_column, want, sums,
                                &tile->scratch->angles);
}

// Every point counts, with weight 1: what holds no M comes from the head.
static void complete_angle(pass_tile *tile, int64_t angle)
{
    const tess_stage_xpcs_pass *a = tile->job->args;
    const double *head = head_of(tile, angle);
    double sums[TESS_XP_N_SUM] = {0};
    if (!tile->is_dark) {
        tess_xp_terms_f64 terms = terms_of(tile, angle);
        evaluate(tile, angle, &terms.m, &terms.t);
        centre(tile, angle, a->angles[angle].mean);
        take_products(tile, &terms, sums);
    }
    sums[0] = head[0];
    sums[3] = head[1];
    sums[4] = head[2];
    add_angle(tile, angle, sums, 1);
}

// The same where M is that of the pairs.
static void complete_static(pass_tile *tile, int64_t angle)
{
    const tess_stage_xpcs_pass *a = tile->job->args;
    const tess_kernels *kernels = tile->job->kernels;
    const double *head = head_of(tile, angle), *fixed = tile->fixed;
    const size_t n = (size_t)tile->at.n_column;
    const double mean = a->angles[angle].mean;
    double y[4];
    if (a->tiles->item_bytes == 4) {
        kernels->xpcs_static_f32(&tile->scratch->pairs,
                                 (const float *)(const void *)samples_of(tile, angle), n, mean, y);
    } else {
        kernels->xpcs_static_f64(&tile->scratch->pairs,
                                 (const double *)(const void *)samples_of(tile, angle), n, mean, y);
    }
    double sums[TESS_XP_N_SUM] = {head[0], fixed[0], fixed[1], head[1], head[2], y[0]};
    for (int k = 0; k < 3 && tile->job->want != TESS_XP_COST; k++) {
        sums[6 + k] = fixed[2 + k];
        sums[13 + k] = fixed[5 + k];
        sums[20 + k] = y[1 + k];
    }
    add_angle(tile, angle, sums, 1);
    tile->fixed_weight += a->angles[angle].weight;
}

static void weighted_angle(pass_tile *tile, int64_t angle)
{
    const tess_stage_xpcs_pass *a = tile->job->args;
    const tess_kernels *kernels = tile->job->kernels;
    const size_t n = (size_t)tile->at.n_column;
    pass_scratch *s = tile->scratch;
    double sums[TESS_XP_N_SUM];
    double square;
    tess_xp_terms_f64 terms = terms_of(tile, angle);
    evaluate(tile, angle, &terms.m, &terms.t);
    centre(tile, angle, a->angles[angle].mean);
    mask(tile, angle);
    kernels->xpcs_weigh(s->w, n, s->g, &square);
    terms.w = s->w;
    take_products(tile, &terms, sums);
    sums[4] = square;
    add_angle(tile, angle, sums, 1);
}

static void robust_angle(pass_tile *tile, int64_t angle)
{
    const tess_stage_xpcs_pass *a = tile->job->args;
    const tess_kernels *kernels = tile->job->kernels;
    const tess_xp_angle *of = &a->angles[angle];
    const size_t n = (size_t)tile->at.n_column;
    const tess_xp_robust loss = {.contrast = of->contrast,
                                 .offset = of->offset,
                                 .inverse_variance = of->inverse_variance,
                                 .f_scale = a->f_scale,
                                 .loss = a->loss};
    pass_scratch *s = tile->scratch;
    double sums[TESS_XP_N_SUM], costs[2];
    tess_xp_terms_f64 terms = terms_of(tile, angle);
    evaluate(tile, angle, &terms.m, &terms.t);
    centre(tile, angle, 0);
    mask(tile, angle);
    kernels->xpcs_robust(&loss, terms.m, n, s->w, s->g, costs);
    terms.w = s->w;
    take_products(tile, &terms, sums);
    sums[4] = 0;
    add_angle(tile, angle, sums, of->inverse_variance);
    tile->sums[angle * tile->job->n_angle_sum + 4] += a->f_scale * a->f_scale * costs[0];
    tile->sums[a->n_sum - 1] += of->inverse_variance * costs[1];
}

static void add_hessian(const pass_tile *tile)
{
    const pass_job *job = tile->job;
    const int n_param = job->args->n_param;
    double h[TESS_XP_N_OUTER];
    job->kernels->xpcs_outer(&tile->scratch->pairs, &tile->scratch->angles,
                             (size_t)tile->at.n_column, n_param, h);
    for (int k = 0; k < n_param * (n_param + 1) / 2; k++) {
        tile->hessian[k] += h[k];
        if (n_param == 3) {
            tile->hessian[k] += tile->fixed_weight * tile->fixed[8 + k];
        }
    }
}

// Angles first..end-1, which share the factors of their pairs.
static void group_sums(pass_tile *tile, int64_t first, int64_t end)
{
    const pass_job *job = tile->job;
    const tess_stage_xpcs_pass *a = job->args;
    const int is_static = a->n_param == 3;
    const int is_weighted =
        a->lag_weight || a->frame_weight || (a->tiles->has_sigma && !a->ignore_sigma);
    const size_t n = (size_t)tile->at.n_column;
    tess_xp_source source =
        tess_cpu_xp_source(a->grid, a->angles[first].w2, a->power, job->want != TESS_XP_COST);
    source.shear = is_static ? NULL : source.shear;
    source.row = (size_t)tile->at.row;
    source.column = (size_t)tile->at.column;
    source.n = n;
    tile->is_dark = tess_cpu_xp_is_dark(&source);
    tile->fixed_weight = 0;
    if (tile->is_dark) {
        memset(tile->scratch->m, 0, sizeof tile->scratch->m);
    } else {
        job->kernels->xpcs_pairs(&source, &tile->scratch->pairs);
        memset(&tile->scratch->angles, 0, sizeof tile->scratch->angles);
        if (is_static) {
            job->kernels->xpcs_static_pairs(&tile->scratch->pairs, n, tile->fixed);
        }
    }
    for (int64_t angle = first; angle < end; angle++) {
        if (a->loss != TESS_XP_LINEAR) {
            robust_angle(tile, angle);
        } else if (is_weighted || head_of(tile, angle)[0] < (double)n) {
            weighted_angle(tile, angle);
        } else if (is_static && !tile->is_dark) {
            complete_static(tile, angle);
        } else {
            complete_angle(tile, angle);
        }
    }
    if (job->want == TESS_XP_HESSIAN && !tile->is_dark) {
        add_hessian(tile);
    }
}

static tess_status pass_block(void *arg, int64_t block, int32_t worker)
{
    pass_job *job = arg;
    const tess_stage_xpcs_pass *a = job->args;
    const int64_t leaf = a->first_leaf + block;
    const int64_t n_tile = tess_cpu_xp_leaf_tiles(a->tiles, leaf);
    int64_t n_lit = 0;
    pass_tile tile = {.job = job,
                      .scratch = job->scratch + worker,
                      .at = tess_cpu_xp_first_tile(a->tiles, leaf),
                      .sums = a->sums + block * a->n_sum};
    tile.hessian = tile.sums + a->tiles->n_angle * job->n_angle_sum;
    memset(tile.sums, 0, (size_t)a->n_sum * sizeof *tile.sums);
    for (int64_t k = 0; k < n_tile; k++) {
        tile.record = a->records + (tile.at.offset - job->records_at);
        for (int64_t first = 0; first < a->tiles->n_angle;) {
            const int64_t end = tess_cpu_xp_group_end(a->angles, a->tiles->n_angle, first);
            group_sums(&tile, first, end);
            n_lit += tile.is_dark ? 0 : (end - first) * tile.at.n_column;
            first = end;
        }
        if (k + 1 < n_tile) {
            tile.at = tess_cpu_xp_next_tile(a->tiles, &tile.at);
        }
    }
    atomic_fetch_add(&job->n_lit, n_lit);
    return TESS_OK;
}

// Of a point whose model is evaluated; an exponential of a pair counts for its angles together.
static double flops_per_point(const tess_stage_xpcs_pass *a, int want)
{
    static const double laminar[] = {52, 97, 115};
    static const double fixed[] = {2, 8, 8};
    return a->n_param == 3 ? fixed[want] : laminar[want];
}

tess_status tess_cpu_xpcs_pass(tess_backend_device *device, const void *args)
{
    const tess_stage_xpcs_pass *a = args;
    tess_context *ctx = device->ctx;
    pass_job job = {.kernels = device->kernels,
                    .args = a,
                    .records_at = tess_cpu_xp_first_tile(a->tiles, a->first_leaf).offset,
                    .want = a->want & TESS_XP_WANT_HESSIAN    ? TESS_XP_HESSIAN
                            : a->want & TESS_XP_WANT_GRADIENT ? TESS_XP_GRADIENT
                                                              : TESS_XP_COST,
                    .n_angle_sum = 6 + 3 * a->n_param};
    if (a->n_leaf == 0) {
        return TESS_OK;
    }
    const size_t bytes = sizeof *job.scratch * (size_t)tess_pool_threads(ctx->pool);
    job.scratch = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "sums of a pass");
    if (!job.scratch) {
        return TESS_E_MEMORY;
    }
    tess_span span = tess_span_begin(&ctx->tracer, "xpcs.pass");
    const tess_status status = tess_parallel_for(ctx->pool, a->n_leaf, pass_block, &job);
    const double n_lit = (double)atomic_load(&job.n_lit);
    tess_span_end(&span, n_lit * a->tiles->item_bytes, n_lit * flops_per_point(a, job.want));
    tess_heap_free(&ctx->heap, job.scratch, bytes, TESS_TAG_SCRATCH);
    return status;
}
