#include "systems/xpcs/fit/sketch.h"

#include "base/status.h"
#include "runtime/stage.h"
#include "systems/xpcs/model/two.h"

#include <math.h>
#include <string.h>

enum {
    MOST_POINTS = 40000, // so that a look takes less than a millisecond
    TWO_POINTS = 5000,   // likewise, of the slower model of two components
    MOST_ANGLES = 64,
    LEAST_FRAMES = 8,
};

// Frames whose pairs at so many angles are few enough.
static int64_t most_frames(const tess_xp_problem *p, int64_t n_angle, int64_t n_frame)
{
    const int points = p->model.mode == TESS_XPCS_TWO_COMPONENT ? TWO_POINTS : MOST_POINTS;
    const double n = sqrt(2.0 * points / (double)n_angle);
    const int64_t most = (int64_t)n > LEAST_FRAMES ? (int64_t)n : LEAST_FRAMES;
    return most < n_frame ? most : n_frame;
}

// A block cut into parts, all of 8-byte items.
typedef struct cutter {
    unsigned char *base; // NULL: only counted
    size_t used;
} cutter;

static void *cut(cutter *c, size_t bytes)
{
    void *part = c->base ? c->base + c->used : NULL;
    c->used += (bytes + 7) / 8 * 8;
    return part;
}

static int64_t arrays_of_grid(const tess_xp_sketch *s)
{
    return tess_xp_grid_arrays(s->problem->n_param);
}

static void bind(tess_xp_sketch *s, cutter *c)
{
    const size_t n = (size_t)s->max_set;
    const size_t a = (size_t)s->n_angle;
    s->grid_values = cut(c, n * (size_t)(arrays_of_grid(s) * s->n_frame) * sizeof(double));
    s->grid = cut(c, n * sizeof *s->grid);
    s->angles = cut(c, n * a * sizeof *s->angles);
    s->sums = cut(c, n * (size_t)(s->n_leaf * s->n_sum) * sizeof(double));
    s->inverse_variance = cut(c, a * sizeof(double));
    s->contrast = cut(c, a * sizeof(double));
    s->offset = cut(c, a * sizeof(double));
    s->reduced_block = cut(c, n * s->reduced_bytes);
}

// What each point of the parameters points at within the block.
static void bind_grids(tess_xp_sketch *s)
{
    const int64_t n = arrays_of_grid(s);
    for (int64_t i = 0; i < s->max_set; i++) {
        double *at = s->grid_values + i * n * s->n_frame;
        tess_xp_grid *grid = &s->grid[i];
        grid->eps_abs = s->grids[i].grid.eps_abs;
        if (n == TESS_XP_TWO_ARRAYS) {
            grid->two = at;
            grid->two_stride = s->n_frame;
            continue;
        }
        grid->diffusion = at;
        for (int64_t k = 0; k < 3; k++) {
            grid->diffusion_d[k] = at + (1 + k) * s->n_frame;
        }
        for (int64_t k = 0; k < 3 && n == 8; k++) {
            grid->shear = at + 4 * s->n_frame;
            grid->shear_d[k] = at + (5 + k) * s->n_frame;
        }
    }
}

// The points are chosen once for all sketches of a problem.
static tess_status choose_points(tess_xp_sketch *s)
{
    tess_xp_problem *p = s->problem;
    const int64_t n_all = p->data->info.n_frame;
    s->n_angle = p->n_angle < MOST_ANGLES ? p->n_angle : MOST_ANGLES;
    const int64_t most = most_frames(p, s->n_angle, n_all);
    s->frames = tess_heap_alloc(&s->ctx->heap, (size_t)(n_all + MOST_ANGLES) * sizeof(int64_t),
                                TESS_TAG_SCRATCH, "frames for the search");
    if (!s->frames) {
        return TESS_E_MEMORY;
    }
    s->which = s->frames + n_all;
    s->n_frame = tess_xp_choose_frames(n_all, most, s->frames);
    for (int64_t a = 0; a < s->n_angle; a++) {
        s->which[a] = a * p->n_angle / s->n_angle;
    }
    const tess_xp_chosen choice = {.frames = s->frames,
                                   .n_frame = s->n_frame,
                                   .angles = s->which,
                                   .n_angle = s->n_angle,
                                   .lag_weight = p->weights.lag_weight,
                                   .ignore_sigma = p->weights.ignore_sigma};
    if (!p->sketch) {
        TESS_TRY(tess_xp_data_sketch(s->ctx, p->data, &choice, &p->sketch));
    }
    s->data = p->sketch;
    return TESS_OK;
}

static size_t scaling_bytes(const tess_xp_sketch *s)
{
    return (size_t)(s->max_set * s->scaling.n_work) * sizeof(double);
}

static tess_status open_scaling(tess_xp_sketch *s)
{
    const tess_xp_problem *p = s->problem;
    for (int64_t a = 0; a < s->n_angle; a++) {
        s->inverse_variance[a] = p->weights.inverse_variance[s->which[a]];
        s->contrast[a] = p->contrast[s->which[a]];
        s->offset[a] = p->offset[s->which[a]];
        s->n_point += s->data->info.n_finite[a];
    }
    const tess_xp_scaling_setup setup = {.mode = p->scaling.mode,
                                         .fourier_order = p->config.fourier_order,
                                         .n_angle = s->n_angle,
                                         .n_param = p->n_param,
                                         .phi = s->data->info.phi,
                                         .mean = s->data->info.mean,
                                         .inverse_variance = s->inverse_variance,
                                         .contrast = s->contrast,
                                         .offset = s->offset,
                                         .lower = p->config.scaling_lower,
                                         .upper = p->config.scaling_upper};
    TESS_TRY(tess_xp_scaling_create(s->ctx, &setup, &s->scaling));
    s->scaling_work =
        tess_heap_alloc(&s->ctx->heap, scaling_bytes(s), TESS_TAG_SCRATCH, "sums of the search");
    return s->scaling_work ? TESS_OK : TESS_E_MEMORY;
}

static tess_status open_grids(tess_xp_sketch *s)
{
    const size_t bytes = (size_t)s->max_set * sizeof *s->grids;
    s->grids = tess_heap_alloc_zero(&s->ctx->heap, bytes, TESS_TAG_SCRATCH, "grids of the search");
    if (!s->grids) {
        return TESS_E_MEMORY;
    }
    const int64_t n_all = s->problem->data->info.n_frame;
    TESS_TRY(tess_xp_grids_create(s->ctx, &s->problem->model, n_all, &s->grids[0]));
    for (int64_t i = 1; i < s->max_set; i++) {
        TESS_TRY(tess_xp_grids_create_like(s->ctx, &s->grids[0], &s->grids[i]));
    }
    return TESS_OK;
}

static tess_status open(tess_xp_sketch *s)
{
    TESS_TRY(choose_points(s));
    TESS_TRY(open_grids(s));
    const int64_t p = s->problem->n_param;
    s->n_leaf = tess_xp_tiles_n_leaf(&s->data->tiles);
    s->n_sum = s->n_angle * (6 + 3 * p) + p * (p + 1) / 2 + 1;
    s->reduced_bytes = tess_xp_reduced_bytes(s->n_angle, p);
    cutter c = {0};
    bind(s, &c);
    s->block_bytes = c.used;
    s->block =
        tess_heap_alloc_zero(&s->ctx->heap, s->block_bytes, TESS_TAG_SCRATCH, "sums of the search");
    if (!s->block) {
        return TESS_E_MEMORY;
    }
    c = (cutter){.base = s->block};
    bind(s, &c);
    bind_grids(s);
    return open_scaling(s);
}

static tess_stage_xpcs_pass call_of(const tess_xp_sketch *s, int64_t n, int32_t want)
{
    return (tess_stage_xpcs_pass){.tiles = &s->data->tiles,
                                  .grid = s->grid,
                                  .angles = s->angles,
                                  .records = s->data->records,
                                  .sums = s->sums,
                                  .n_sum = s->n_sum,
                                  .n_set = n,
                                  .n_leaf = s->n_leaf,
                                  .n_param = (int32_t)s->problem->n_param,
                                  .power =
                                      tess_xp_power((tess_xpcs_kernel)s->problem->model.kernel),
                                  .want = want,
                                  .loss = TESS_XPCS_LOSS_LINEAR,
                                  .f_scale = 1};
}

tess_status tess_xp_sketch_open(tess_context *ctx, tess_device *device, tess_xp_problem *problem,
                                int64_t max_set, tess_xp_sketch *sketch)
{
    *sketch = (tess_xp_sketch){.ctx = ctx, .problem = problem, .max_set = max_set};
    tess_span span = tess_span_begin(&ctx->tracer, "xpcs.sketch");
    tess_status status = open(sketch);
    // Grids of two components are not made there, and their few points are quickly looked at.
    const bool is_there =
        !device->shares_host_memory && problem->model.mode != TESS_XPCS_TWO_COMPONENT;
    if (status == TESS_OK && is_there) {
        const tess_stage_xpcs_pass call = call_of(sketch, max_set, 0);
        const tess_xp_sketch_times times = {.log_t = sketch->grids[0].log_t,
                                            .n_time = problem->data->info.n_frame,
                                            .frames = sketch->frames};
        status = tess_xp_sketch_there_open(device, &call, &times, &sketch->there);
    }
    if (status != TESS_OK) {
        tess_xp_sketch_close(sketch);
    }
    tess_span_end(&span, 0, 0);
    return status;
}

void tess_xp_sketch_close(tess_xp_sketch *s)
{
    if (!s->ctx) {
        return;
    }
    tess_heap *heap = &s->ctx->heap;
    tess_xp_sketch_there_close(&s->there);
    if (s->scaling_work) {
        tess_heap_free(heap, s->scaling_work, scaling_bytes(s), TESS_TAG_SCRATCH);
    }
    tess_xp_scaling_destroy(&s->scaling);
    tess_heap_free(heap, s->block, s->block_bytes, TESS_TAG_SCRATCH);
    for (int64_t i = 0; i < s->max_set && s->grids; i++) {
        tess_xp_grids_destroy(s->ctx, &s->grids[i]);
    }
    tess_heap_free(heap, s->grids, (size_t)s->max_set * sizeof *s->grids, TESS_TAG_SCRATCH);
    if (s->frames) {
        tess_heap_free(heap, s->frames,
                       (size_t)(s->problem->data->info.n_frame + MOST_ANGLES) * sizeof(int64_t),
                       TESS_TAG_SCRATCH);
    }
    *s = (tess_xp_sketch){0};
}

typedef struct fill_job {
    tess_xp_sketch *sketch;
    const tess_xp_look *looks;
} fill_job;

typedef struct reduce_job {
    tess_xp_sketch *sketch;
    tess_xp_look *looks;
    int32_t want;
    double *sums;
} reduce_job;

// The model's arrays at one point of the parameters: integrals go over all frames.
static void fill_grid(tess_xp_sketch *s, int64_t set, const double *theta)
{
    const int64_t n_all = s->problem->data->info.n_frame;
    const int64_t n = arrays_of_grid(s);
    tess_xp_grids_fill(&s->grids[set], &s->problem->model, theta);
    double *to = s->grid_values + set * n * s->n_frame;
    for (int64_t k = 0; k < n; k++) {
        for (int64_t i = 0; i < s->n_frame; i++) {
            to[k * s->n_frame + i] = s->grids[set].sums[k * n_all + s->frames[i]];
        }
    }
}

static void fill_angles(tess_xp_sketch *s, int64_t set, const tess_xp_look *look)
{
    const tess_xp_problem *p = s->problem;
    for (int64_t a = 0; a < s->n_angle; a++) {
        tess_xp_angle *angle = &s->angles[set * s->n_angle + a];
        tess_xp_angle_fill(angle, &p->model, look->theta, s->data->info.phi[a], s->data->info.q[a]);
        angle->mean = s->data->info.mean[a];
        angle->contrast = look->contrast[a];
        angle->offset = 0;
        angle->inverse_variance = s->inverse_variance[a];
        angle->weight = angle->contrast * angle->contrast * angle->inverse_variance;
    }
}

static tess_status fill_set(void *arg, int64_t set, int32_t worker)
{
    (void)worker;
    const fill_job *job = arg;
    fill_grid(job->sketch, set, job->looks[set].theta);
    fill_angles(job->sketch, set, &job->looks[set]);
    return TESS_OK;
}

// Cost and derivatives of one point of the parameters from its sums.
static tess_status reduce_set(void *arg, int64_t set, int32_t worker)
{
    (void)worker;
    const reduce_job *job = arg;
    tess_xp_sketch *s = job->sketch;
    tess_xp_look *look = &job->looks[set];
    const tess_xp_problem *p = s->problem;
    double *sums = job->sums + set * s->n_leaf * s->n_sum;
    unsigned char *block = (unsigned char *)s->reduced_block + (size_t)set * s->reduced_bytes;
    tess_xp_scaling scaling = s->scaling; // with a room for its work that no other thread has
    tess_xp_reduced reduced;
    scaling.work = s->scaling_work + set * scaling.n_work;
    memset(block, 0, s->reduced_bytes);
    tess_xp_reduced_bind(&reduced, block, s->n_angle, p->n_param);
    for (int64_t leaf = 1; leaf < s->n_leaf; leaf++) {
        for (int64_t k = 0; k < s->n_sum; k++) {
            sums[k] += sums[leaf * s->n_sum + k];
        }
    }
    tess_xp_scaling_reduce(&scaling, sums, look->contrast, job->want, &reduced);
    look->cost = *reduced.cost;
    memcpy(look->contrast, reduced.contrast, (size_t)s->n_angle * sizeof(double));
    for (int64_t i = 0; i < p->n_free; i++) {
        look->gradient[i] = reduced.gradient[p->free_index[i]];
        for (int64_t j = 0; j < p->n_free; j++) {
            look->hessian[i * p->n_free + j] =
                reduced.hessian[p->free_index[i] * p->n_param + p->free_index[j]];
        }
    }
    return TESS_OK;
}

// On the device, which makes the grids.
static tess_status look_there(tess_xp_sketch *s, const tess_xp_look *looks, int64_t n, int32_t want,
                              double **sums)
{
    const double *thetas[TESS_XP_MOST_LOOKS];
    for (int64_t i = 0; i < n; i++) {
        thetas[i] = looks[i].theta;
        fill_angles(s, i, &looks[i]);
    }
    const tess_stage_xpcs_pass call = call_of(s, n, want);
    return tess_xp_sketch_there_run(&s->there, &call, thetas, sums);
}

static tess_status look_here(tess_xp_sketch *s, const tess_xp_look *looks, int64_t n, int32_t want)
{
    fill_job fill = {.sketch = s, .looks = looks};
    TESS_TRY(tess_parallel_for(s->ctx->pool, n, fill_set, &fill));
    const tess_stage_xpcs_pass call = call_of(s, n, want);
    return tess_stage_run_on_host(s->ctx, TESS_STAGE_XPCS_PASS, &call, sizeof call);
}

tess_status tess_xp_sketch_look(tess_xp_sketch *s, tess_xp_look *looks, int64_t n, int32_t want)
{
    TESS_ASSERT(n <= s->max_set);
    reduce_job reduce = {.sketch = s, .looks = looks, .want = want, .sums = s->sums};
    TESS_TRY(tess_context_check_cancel(s->ctx));
    TESS_TRY(s->there.device ? look_there(s, looks, n, want, &reduce.sums)
                             : look_here(s, looks, n, want));
    return tess_parallel_for(s->ctx->pool, n, reduce_set, &reduce);
}

double tess_xp_sketch_variance(const tess_xp_sketch *s, double cost)
{
    const int64_t dof = s->n_point - s->problem->n_free - tess_xp_scaling_n_unknown(&s->scaling);
    return 2 * cost / (double)(dof > 0 ? dof : 1);
}

// c2 of the model between two chosen frames; what follows needs no last bit.
static double value_at(const tess_xp_sketch *s, int64_t angle, int64_t i, int64_t j)
{
    const tess_xp_angle *a = &s->angles[angle];
    const tess_xp_grid *grid = &s->grid[0];
    if (grid->two) {
        return a->offset + a->contrast * tess_xp_two_at(grid, a, i, j, NULL);
    }
    double m = exp(-a->w2 * (grid->diffusion[j] - grid->diffusion[i]));
    if (s->problem->n_param == TESS_XPCS_N_LAMINAR) {
        const double z = a->amplitude * (grid->shear[j] - grid->shear[i]);
        const double sinc = fabs(z) < 1e-4 ? 1 - z * z / 6 : sin(z) / z;
        m *= pow(sinc, tess_xp_power((tess_xpcs_kernel)s->problem->model.kernel));
    }
    return a->offset + a->contrast * m;
}

// The samples of one tile at one angle, and what its head says of them.
static void idealise_run(const tess_xp_sketch *s, const tess_xp_tile *tile, int64_t angle)
{
    unsigned char *record = s->data->records + tile->offset;
    double *head = (double *)(void *)record + angle * TESS_STAGE_XPCS_HEAD;
    double *y = (double *)(void *)record + s->n_angle * TESS_STAGE_XPCS_HEAD + angle * tile->width;
    const double mean = s->data->info.mean[angle];
    head[1] = head[2] = 0;
    for (int64_t k = 0; k < tile->n_column; k++) {
        if (isfinite(y[k])) {
            y[k] = value_at(s, angle, tile->row, tile->first_column + k);
            head[1] += y[k] - mean;
            head[2] += (y[k] - mean) * (y[k] - mean);
        }
    }
}

tess_status tess_xp_sketch_idealise(tess_xp_sketch *s, const double *theta, const double *contrast,
                                    const double *offset)
{
    double *weights = s->contrast; // not used any more, but for the Hessian of what follows
    for (int64_t a = 0; a < s->n_angle; a++) {
        weights[a] = contrast[s->which[a]];
    }
    const tess_xp_look look = {.theta = theta, .contrast = weights};
    fill_job job = {.sketch = s, .looks = &look};
    (void)fill_set(&job, 0, 0);
    for (int64_t a = 0; a < s->n_angle; a++) {
        s->angles[a].offset = offset[s->which[a]];
    }
    for (int64_t t = 0; t < s->data->tiles.n_tile; t++) {
        const tess_xp_tile tile = tess_xp_tiles_at(&s->data->tiles, t);
        for (int64_t a = 0; a < s->n_angle; a++) {
            idealise_run(s, &tile, a);
        }
    }
    return s->there.device ? tess_xp_sketch_there_send(&s->there, s->data->records) : TESS_OK;
}
