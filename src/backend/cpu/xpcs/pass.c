// Sums over the tiles of two-time correlations on the CPU: a leaf at one point of the parameters is
// a block.
#include "stage/xpcs.h"

#include "backend/cpu/xpcs/stages.h"
#include "backend/cpu/xpcs/two.h"
#include "backend/cpu/xpcs/xpcs.h"
#include "base/status.h"

#include <stdatomic.h>
#include <string.h>

enum { RUN = TESS_STAGE_XPCS_RUN, HEAD = TESS_STAGE_XPCS_HEAD };

enum { ANGLE_LANES = TESS_XP_N_SUM * TESS_XP_LANES };

// What a worker needs for a tile. Behind it are the lanes [n_angle][ANGLE_LANES] of a leaf's sums.
typedef struct pass_scratch {
    tess_xp_pairs_f64 pairs;
    tess_xp_angle_sums_f64 angles;
    double m[TESS_XP_ROW];
    double t[TESS_XP_ROW];
    double w[TESS_XP_ROW];
    double g[TESS_XP_ROW];
    // The same in f32, of a mixed pass.
    tess_xp_pairs_f32 narrow_pairs;
    tess_xp_angle_sums_f32 narrow_angles;
    float narrow_m[TESS_XP_ROW];
    float narrow_t[TESS_XP_ROW];
    float narrow_w[TESS_XP_ROW];
    float narrow_g[TESS_XP_ROW];
} pass_scratch;

// The same of two components, whose derivatives have no factors that angles share.
typedef struct pass_two {
    tess_xp_two_pairs pairs;
    tess_xp_slopes slopes;
} pass_two;

typedef struct pass_job {
    const tess_kernels *kernels;
    const tess_stage_xpcs_pass *args;
    unsigned char *scratch; // [workers][scratch_bytes]
    size_t scratch_bytes;
    uint64_t records_at; // offset of the first record
    int want;            // of the kernels
    int n_angle_sum;     // 6 + 3 n_param
    int is_mixed;
    _Atomic int64_t n_lit; // points whose model was evaluated
} pass_job;

// A tile's samples, and where its sums go.
typedef struct pass_tile {
    const pass_job *job;
    const tess_xp_grid *grid;    // of the point
    const tess_xp_angle *angles; // [n_angle] likewise
    const double *frames;        // weights of frames likewise; NULL: 1
    pass_scratch *scratch;
    pass_two *two; // NULL: one component
    double *lanes; // [n_angle][ANGLE_LANES]
    xp_tile at;
    const unsigned char *record;
    double *sums;                       // of the leaf
    double *hessian;                    // behind those of the angles
    int is_dark;                        // M is 0 in this tile
    double fixed[TESS_XP_N_STATIC_SUM]; // static: of the pairs alone
    double fixed_weight;                // of complete angles in the Hessian
} pass_tile;

static int is_two(const tess_stage_xpcs_pass *a)
{
    return a->n_param == TESS_XP_TWO_PARAMS;
}

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
    const double *frames = tile->frames;
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
    *t = NULL;
    if (a->n_param == 3 || tile->is_dark) {
        *m = tile->is_dark ? s->m : s->pairs.e;
        return;
    }
    *m = s->m;
    if (tile->two) {
        const tess_xp_angle *of = &tile->angles[angle];
        tile->job->kernels->xpcs_two_points(
            &tile->two->pairs, (size_t)tile->at.n_column, of->amplitude, of->tau, s->m,
            tile->job->want == TESS_XP_COST ? NULL : &tile->two->slopes);
        return;
    }
    double *slopes = tile->job->want == TESS_XP_COST ? NULL : s->t;
    tile->job->kernels->xpcs_points_f64(&s->pairs, (size_t)tile->at.n_column,
                                        tile->angles[angle].amplitude, a->power, s->m, slopes);
    *t = slopes;
}

static tess_xp_terms_f64 terms_of(const pass_tile *tile, int64_t angle)
{
    const tess_stage_xpcs_pass *a = tile->job->args;
    const tess_xp_angle *of = &tile->angles[angle];
    return (tess_xp_terms_f64){
        .g = tile->scratch->g, .weight = of->weight, .tau = a->power * of->tau};
}

// Products of an angle onto its lanes.
static void take_products(const pass_tile *tile, int64_t angle, const tess_xp_terms_f64 *terms)
{
    const pass_job *job = tile->job;
    const int want = tile->is_dark ? TESS_XP_COST : job->want;
    if (tile->two) {
        const tess_stage_xpcs_pass *a = job->args;
        const tess_xp_angle *of = &tile->angles[angle];
        const tess_xp_dense dense = {.m = terms->m,
                                     .w = terms->w,
                                     .g = terms->g,
                                     .slopes = &tile->two->slopes,
                                     .n = (size_t)tile->at.n_column,
                                     .n_param = a->n_param,
                                     .want = want,
                                     .by = a->loss == TESS_XP_LINEAR ? 1 : of->inverse_variance,
                                     .weight = of->weight};
        tess_cpu_xp_add_dense(job->kernels, &dense, tile->sums + angle * job->n_angle_sum,
                              tile->hessian);
        return;
    }
    job->kernels->xpcs_sums_f64(&tile->scratch->pairs, terms, (size_t)tile->at.n_column, want,
                                tile->lanes + angle * ANGLE_LANES, &tile->scratch->angles);
}

// Points and products in f32. w, where there are weights, and g of the scratch are those of the
// angle.
static void take_narrow(const pass_tile *tile, int64_t angle, int has_weights)
{
    const pass_job *job = tile->job;
    const tess_kernels *kernels = job->kernels;
    const tess_xp_angle *of = &tile->angles[angle];
    const size_t n = (size_t)tile->at.n_column;
    pass_scratch *s = tile->scratch;
    float *slopes = job->want == TESS_XP_COST ? NULL : s->narrow_t;
    const tess_xp_terms_f32 terms = {.m = s->narrow_m,
                                     .t = slopes,
                                     .w = has_weights ? s->narrow_w : NULL,
                                     .g = s->narrow_g,
                                     .weight = of->weight,
                                     .tau = job->args->power * of->tau};
    kernels->xpcs_points_f32(&s->narrow_pairs, n, of->amplitude, job->args->power, s->narrow_m,
                             slopes);
    kernels->xpcs_narrow(s->g, n, s->narrow_g);
    if (has_weights) {
        kernels->xpcs_narrow(s->w, n, s->narrow_w);
    }
    kernels->xpcs_sums_f32(&s->narrow_pairs, &terms, n, job->want,
                           tile->lanes + angle * ANGLE_LANES, &s->narrow_angles);
}

// Every point counts, with weight 1: what holds no M comes from the head.
static void add_head(const pass_tile *tile, int64_t angle)
{
    const double *head = head_of(tile, angle);
    double *sums = tile->sums + angle * tile->job->n_angle_sum;
    sums[0] += head[0];
    sums[3] += head[1];
    sums[4] += head[2];
}

static void complete_angle(const pass_tile *tile, int64_t angle)
{
    add_head(tile, angle);
    if (tile->is_dark) {
        return;
    }
    centre(tile, angle, tile->angles[angle].mean);
    if (tile->job->is_mixed) {
        take_narrow(tile, angle, 0);
        return;
    }
    tess_xp_terms_f64 terms = terms_of(tile, angle);
    evaluate(tile, angle, &terms.m, &terms.t);
    take_products(tile, angle, &terms);
}

// The same where M is that of the pairs.
static void complete_static(pass_tile *tile, int64_t angle)
{
    const tess_stage_xpcs_pass *a = tile->job->args;
    const tess_kernels *kernels = tile->job->kernels;
    const double *fixed = tile->fixed;
    const size_t n = (size_t)tile->at.n_column;
    const double mean = tile->angles[angle].mean;
    const void *samples = samples_of(tile, angle);
    double *sums = tile->sums + angle * tile->job->n_angle_sum, y[4];
    if (a->tiles->item_bytes == 4) {
        kernels->xpcs_static_f32(&tile->scratch->pairs, samples, n, mean, y);
    } else {
        kernels->xpcs_static_f64(&tile->scratch->pairs, samples, n, mean, y);
    }
    add_head(tile, angle);
    sums[1] += fixed[0];
    sums[2] += fixed[1];
    sums[5] += y[0];
    for (int k = 0; k < 3 && tile->job->want != TESS_XP_COST; k++) {
        sums[6 + k] += fixed[2 + k];
        sums[9 + k] += fixed[5 + k];
        sums[12 + k] += y[1 + k];
    }
    tile->fixed_weight += tile->angles[angle].weight;
}

static void weighted_angle(const pass_tile *tile, int64_t angle)
{
    pass_scratch *s = tile->scratch;
    double square;
    centre(tile, angle, tile->angles[angle].mean);
    mask(tile, angle);
    tile->job->kernels->xpcs_weigh(s->w, (size_t)tile->at.n_column, s->g, &square);
    tile->sums[angle * tile->job->n_angle_sum + 4] += square;
    if (tile->job->is_mixed && !tile->is_dark) {
        take_narrow(tile, angle, 1);
        return;
    }
    tess_xp_terms_f64 terms = terms_of(tile, angle);
    evaluate(tile, angle, &terms.m, &terms.t);
    terms.w = s->w;
    take_products(tile, angle, &terms);
}

static void robust_angle(const pass_tile *tile, int64_t angle)
{
    const tess_stage_xpcs_pass *a = tile->job->args;
    const tess_xp_angle *of = &tile->angles[angle];
    const tess_xp_robust loss = {.contrast = of->contrast,
                                 .offset = of->offset,
                                 .inverse_variance = of->inverse_variance,
                                 .f_scale = a->f_scale,
                                 .loss = a->loss};
    pass_scratch *s = tile->scratch;
    double costs[2];
    tess_xp_terms_f64 terms = terms_of(tile, angle);
    evaluate(tile, angle, &terms.m, &terms.t);
    centre(tile, angle, 0);
    mask(tile, angle);
    tile->job->kernels->xpcs_robust(&loss, terms.m, (size_t)tile->at.n_column, s->w, s->g, costs);
    terms.w = s->w;
    take_products(tile, angle, &terms);
    tile->sums[angle * tile->job->n_angle_sum + 4] += a->f_scale * a->f_scale * costs[0];
    tile->sums[a->n_sum - 1] += of->inverse_variance * costs[1];
}

static void add_hessian(const pass_tile *tile)
{
    const pass_job *job = tile->job;
    const int n_param = job->args->n_param;
    double h[TESS_XP_N_OUTER];
    if (job->is_mixed) {
        job->kernels->xpcs_widen(&tile->scratch->narrow_angles, (size_t)tile->at.n_column,
                                 &tile->scratch->angles);
    }
    job->kernels->xpcs_outer(&tile->scratch->pairs, &tile->scratch->angles,
                             (size_t)tile->at.n_column, n_param, h);
    for (int k = 0; k < n_param * (n_param + 1) / 2; k++) {
        tile->hessian[k] += h[k];
        if (n_param == 3) {
            tile->hessian[k] += tile->fixed_weight * tile->fixed[8 + k];
        }
    }
}

// The columns of the tile only: most tiles of small matrices are short.
static void clear_angles(const pass_tile *tile)
{
    const size_t width = (size_t)tile->at.width;
    pass_scratch *s = tile->scratch;
    for (int k = 0; k < 6 && tile->job->want == TESS_XP_HESSIAN; k++) {
        if (tile->job->is_mixed) {
            memset(s->narrow_angles.a[k], 0, width * sizeof(float));
        } else {
            memset(s->angles.a[k], 0, width * sizeof(double));
        }
    }
}

static void prepare_two(pass_tile *tile, int64_t first)
{
    const tess_xp_two_source source = tess_cpu_xp_two_source(
        tile->grid, tile->angles[first].w2, &tile->at, tile->job->want != TESS_XP_COST);
    tile->is_dark = tess_cpu_xp_two_is_dark(&source);
    if (tile->is_dark) {
        memset(tile->scratch->m, 0, sizeof tile->scratch->m);
        return;
    }
    tile->job->kernels->xpcs_two_pairs(&source, &tile->two->pairs);
}

// The factors that angles of equal q share.
static void prepare_group(pass_tile *tile, int64_t first)
{
    const pass_job *job = tile->job;
    const tess_stage_xpcs_pass *a = job->args;
    pass_scratch *s = tile->scratch;
    if (tile->two) {
        prepare_two(tile, first);
        return;
    }
    tess_xp_source source =
        tess_cpu_xp_source(tile->grid, tile->angles[first].w2, a->power, job->want != TESS_XP_COST);
    source.shear = a->n_param == 3 ? NULL : source.shear;
    source.row = (size_t)tile->at.row;
    source.column = (size_t)tile->at.column;
    source.n = (size_t)tile->at.n_column;
    tile->is_dark = tess_cpu_xp_is_dark(&source);
    tile->fixed_weight = 0;
    if (tile->is_dark) {
        memset(s->m, 0, sizeof s->m);
        return;
    }
    job->kernels->xpcs_pairs(&source, &s->pairs);
    clear_angles(tile);
    if (job->is_mixed) {
        job->kernels->xpcs_narrow_pairs(&s->pairs, source.n, &s->narrow_pairs);
    }
    if (a->n_param == 3) {
        job->kernels->xpcs_static_pairs(&s->pairs, source.n, tile->fixed);
    }
}

static void group_sums(pass_tile *tile, int64_t first, int64_t end)
{
    const tess_stage_xpcs_pass *a = tile->job->args;
    const int is_weighted =
        a->lag_weight || a->frame_weight || (a->tiles->has_sigma && !a->ignore_sigma);
    prepare_group(tile, first);
    for (int64_t angle = first; angle < end; angle++) {
        const int has_holes = head_of(tile, angle)[0] < (double)tile->at.n_column;
        if (a->loss != TESS_XP_LINEAR) {
            robust_angle(tile, angle);
        } else if (is_weighted || has_holes) {
            weighted_angle(tile, angle);
        } else if (a->n_param == 3 && !tile->is_dark) {
            complete_static(tile, angle);
        } else {
            complete_angle(tile, angle);
        }
    }
    if (tile->job->want == TESS_XP_HESSIAN && !tile->is_dark && !tile->two) {
        add_hessian(tile);
    }
}

static double lane_total(const double *x)
{
    return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
}

// The lanes of a leaf's tiles into its sums; tau and the variance of a robust loss are factors.
static void finish_leaf(const pass_tile *tile)
{
    const tess_stage_xpcs_pass *a = tile->job->args;
    const int p = a->n_param;
    for (int64_t angle = 0; angle < a->tiles->n_angle; angle++) {
        const double *lanes = tile->lanes + angle * ANGLE_LANES;
        const double by = a->loss == TESS_XP_LINEAR ? 1 : tile->angles[angle].inverse_variance;
        double *out = tile->sums + angle * tile->job->n_angle_sum;
        for (int k = 0; k < 6; k++) {
            out[k] += by * lane_total(lanes + k * TESS_XP_LANES);
        }
        for (int k = 0; k < 3 * p; k++) {
            const int row = 6 + k / p * 7 + k % p;
            const double tau = k % p == 6 ? a->power * tile->angles[angle].tau : 1;
            out[6 + k] += by * tau * lane_total(lanes + row * TESS_XP_LANES);
        }
    }
}

static tess_status pass_block(void *arg, int64_t block, int32_t worker)
{
    pass_job *job = arg;
    const tess_stage_xpcs_pass *a = job->args;
    // Points of one leaf follow each other: its samples are read from memory once.
    const int64_t set = block % a->n_set;
    const int64_t leaf = tess_xp_leaf_of(a, block / a->n_set);
    const int64_t n_tile = tess_cpu_xp_leaf_tiles(a->tiles, leaf);
    int64_t n_lit = 0;
    pass_tile tile = {
        .job = job,
        .grid = a->grid + set,
        .angles = a->angles + set * a->tiles->n_angle,
        .frames = a->frame_weight ? a->frame_weight + set * a->tiles->n_frame : NULL,
        .scratch = (pass_scratch *)(void *)(job->scratch + (size_t)worker * job->scratch_bytes),
        .at = tess_cpu_xp_first_tile(a->tiles, leaf),
        .sums = a->sums + (set * a->n_leaf + block / a->n_set) * a->n_sum};
    tile.lanes = (double *)(void *)(tile.scratch + 1);
    tile.two =
        is_two(a) ? (pass_two *)(void *)(tile.lanes + a->tiles->n_angle * ANGLE_LANES) : NULL;
    tile.hessian = tile.sums + a->tiles->n_angle * job->n_angle_sum;
    memset(tile.lanes, 0, (size_t)a->tiles->n_angle * ANGLE_LANES * sizeof *tile.lanes);
    memset(tile.sums, 0, (size_t)a->n_sum * sizeof *tile.sums);
    for (int64_t k = 0; k < n_tile; k++) {
        tile.record = a->records + (tile.at.offset - job->records_at);
        for (int64_t first = 0; first < a->tiles->n_angle;) {
            const int64_t end = tess_cpu_xp_group_end(tile.angles, a->tiles->n_angle, first);
            group_sums(&tile, first, end);
            n_lit += tile.is_dark ? 0 : (end - first) * tile.at.n_column;
            first = end;
        }
        if (k + 1 < n_tile) {
            tile.at = tess_cpu_xp_next_tile(a->tiles, &tile.at);
        }
    }
    if (!tile.two) {
        finish_leaf(&tile);
    }
    atomic_fetch_add(&job->n_lit, n_lit);
    return TESS_OK;
}

// Of a point whose model is evaluated; what angles share counts with them together.
static double flops_per_point(const tess_stage_xpcs_pass *a, int want)
{
    static const double laminar[] = {52, 97, 115};
    static const double fixed[] = {2, 8, 8};
    static const double two[] = {60, 180, 390};
    return a->n_param == 3 ? fixed[want] : is_two(a) ? two[want] : laminar[want];
}

tess_status tess_cpu_xpcs_pass(tess_backend_device *device, const void *args)
{
    const tess_stage_xpcs_pass *a = args;
    tess_context *ctx = device->ctx;
    if (a->n_leaf == 0 || a->n_set == 0) {
        return TESS_OK;
    }
    pass_job job = {.kernels = device->kernels,
                    .args = a,
                    .records_at =
                        a->period > 0 ? 0 : tess_cpu_xp_first_tile(a->tiles, a->first_leaf).offset,
                    .want = a->want & TESS_XP_WANT_HESSIAN    ? TESS_XP_HESSIAN
                            : a->want & TESS_XP_WANT_GRADIENT ? TESS_XP_GRADIENT
                                                              : TESS_XP_COST,
                    .n_angle_sum = 6 + 3 * a->n_param,
                    .is_mixed = a->is_mixed && a->n_param == 7 && a->loss == TESS_XP_LINEAR};
    const size_t lanes_bytes = (size_t)a->tiles->n_angle * ANGLE_LANES * sizeof(double);
    job.scratch_bytes = sizeof(pass_scratch) + lanes_bytes + (is_two(a) ? sizeof(pass_two) : 0);
    const size_t bytes = job.scratch_bytes * (size_t)tess_pool_threads(ctx->pool);
    job.scratch = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "sums of a pass");
    if (!job.scratch) {
        return TESS_E_MEMORY;
    }
    tess_span span = tess_span_begin(&ctx->tracer, "xpcs.pass");
    const tess_status status = tess_parallel_for(ctx->pool, a->n_set * a->n_leaf, pass_block, &job);
    const double n_lit = (double)atomic_load(&job.n_lit);
    tess_span_end(&span, n_lit * a->tiles->item_bytes, n_lit * flops_per_point(a, job.want));
    tess_heap_free(&ctx->heap, job.scratch, bytes, TESS_TAG_SCRATCH);
    return status;
}
