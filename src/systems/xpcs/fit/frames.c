#include "systems/xpcs/fit/frames.h"

#include "base/blocks.h"
#include "base/status.h"
#include "runtime/context.h"
#include "systems/xpcs/fit/covariance.h"
#include "systems/xpcs/simulate/speckle.h"

#include <math.h>
#include <string.h>

enum { PURPOSE_SPECKLE = 0x58500003, MOST_K = TESS_XP_FRAMES_K };
// Pixels of all angles together: products of four fields have long tails, of which few pixels know
// little; and those of an angle at least.
enum { LEAST_PIXELS = 2048, MOST_PIXELS = 8192, LEAST_OF_ANGLE = 64 };
static const double most_pairs = 2e7;    // of frames, times pixels, beyond LEAST_PIXELS
static const double most_products = 5e8; // pairs of pairs of all angles

// Weaker contrasts are made from fewer modes than they have, and scaled: hundreds of modes are as
// good as normal.
static const double least_contrast = 0.05;

// Of an angle.
typedef struct frame_angle {
    tess_xp_frame_moments moments;          // of one pixel
    double normal[MOST_K * MOST_K];         // sum of weight derivative derivative^T
    double twists[MOST_K * MOST_K];         // of the derivatives
    double square;                          // of the residuals
    double twist;                           // of theirs
    double by_square[TESS_XP_FRAMES_PARTS]; // what is expected of them for one pixel
    double by_twist[TESS_XP_FRAMES_PARTS];
} frame_angle;

typedef struct frames {
    tess_context *ctx;
    const tess_xp_engine *engine;
    const tess_xp_problem *problem;
    tess_xpcs_result *result;
    tess_blocks memory;
    tess_xp_grids grids;
    tess_xp_speckle speckle;
    tess_xp_frame_fields fields;
    double scale; // of fluctuations
    int64_t n;    // frames
    int64_t k;
    int64_t m; // of the covariance
    int64_t n_run;
    bool is_exact; // by pairs of pairs, not by pixels
    int64_t angle;
    int64_t *first; // [n_pair]
    int64_t *second;
    double *c2;       // [n_pair] as tess_xp_frame_pairs has it
    double *weight;   // [n_pair]
    double *slope;    // [n_pair][k]
    double *jacobian; // [n_pair][n_param]
    double *pull;     // [n_pair][k]
    double *residual; // [n_pair]
    int64_t *next;    // [n]
    double *rows;     // [n][n]
    double *factor;   // [n][n]
    double *inverse;  // [m][m] of the Hessian
    double *work;     // [n_thread][n_work]
    int64_t n_work;
    tess_xp_frame_moments *parts; // [n_run]
    frame_angle *angles;          // [n_angle]
} frames;

static int64_t n_pair_of(const frames *f)
{
    return f->n * (f->n - 1) / 2;
}

static tess_status take_room(frames *f)
{
    const int64_t n = f->n;
    const int64_t n_pair = n_pair_of(f);
    tess_blocks *b = &f->memory;
    f->n_work = 3 * n * TESS_XP_SPECKLE_RUN + n + tess_xp_frame_scratch(n, f->k);
    f->first = tess_blocks_alloc(b, n_pair, sizeof *f->first, "pairs");
    f->second = tess_blocks_alloc(b, n_pair, sizeof *f->second, "pairs");
    f->c2 = tess_blocks_alloc(b, n_pair, sizeof *f->c2, "model of pairs");
    f->weight = tess_blocks_alloc(b, n_pair, sizeof *f->weight, "weights of pairs");
    f->slope = tess_blocks_alloc(b, n_pair * f->k, sizeof *f->slope, "slopes of pairs");
    f->jacobian = tess_blocks_alloc(b, n_pair * (f->k - 2), sizeof *f->jacobian, "derivatives");
    f->pull = tess_blocks_alloc(b, n_pair * f->k, sizeof *f->pull, "twists of pairs");
    f->residual = tess_blocks_alloc(b, n_pair, sizeof *f->residual, "residuals of pairs");
    f->next = tess_blocks_alloc(b, n, sizeof *f->next, "frames");
    f->rows = tess_blocks_alloc(b, n * n, sizeof *f->rows, "a matrix");
    f->factor = tess_blocks_alloc(b, n * n, sizeof *f->factor, "field correlations");
    f->inverse = tess_blocks_alloc(b, f->m * f->m, sizeof *f->inverse, "inverse Hessian");
    f->work = tess_blocks_alloc(b, tess_pool_threads(f->ctx->pool) * f->n_work, sizeof *f->work,
                                "speckle");
    f->parts =
        tess_blocks_alloc(b, f->n_run > n ? f->n_run : n, sizeof *f->parts, "moments of noise");
    f->angles = tess_blocks_alloc(b, f->problem->n_angle, sizeof *f->angles, "moments of angles");
    const bool is_there = f->first && f->second && f->c2 && f->weight && f->slope && f->jacobian &&
                          f->pull && f->residual && f->next && f->rows && f->factor && f->inverse &&
                          f->work && f->parts && f->angles;
    if (!is_there) {
        return TESS_E_MEMORY;
    }
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i + 1; j < n; j++, at++) {
            f->first[at] = i;
            f->second[at] = j;
        }
    }
    return TESS_OK;
}

// Inverse of the Hessian in the parameters that are free: the covariance's, as it acts on
// contrasts, offsets and theta; 0 where one is not free.
static void take_inverse(frames *f)
{
    const tess_xpcs_result *r = f->result;
    const int64_t n = f->problem->n_angle;
    const double unit = 1 / (2 * tess_xp_step_unit(f->engine));
    for (int64_t i = 0; i < f->m * f->m; i++) {
        bool is_free = true;
        for (int side = 0; side < 2; side++) {
            const int64_t row = side ? i / f->m : i % f->m;
            const int32_t status = row < n       ? r->contrast_status[row]
                                   : row < 2 * n ? r->offset_status[row - n]
                                                 : r->status[row - 2 * n];
            is_free = is_free && status == TESS_XPCS_FREE;
        }
        f->inverse[i] = is_free ? unit * r->covariance[i] : 0;
    }
}

// Row of the covariance of parameter k of an angle.
static int64_t row_of(const frames *f, int64_t angle, int64_t k)
{
    const int64_t n = f->problem->n_angle;
    return k == 0 ? angle : k == 1 ? n + angle : 2 * n + k - 2;
}

// out [k][k]: the part of the inverse that leads from angle b's gradient to angle a's parameters.
static void take_part(const frames *f, int64_t a, int64_t b, double *out)
{
    for (int64_t i = 0; i < f->k; i++) {
        for (int64_t j = 0; j < f->k; j++) {
            out[i * f->k + j] = f->inverse[row_of(f, a, i) * f->m + row_of(f, b, j)];
        }
    }
}

// Weights, slopes and residuals of the pairs of an angle.
static tess_status lay_out(frames *f, int64_t a)
{
    const tess_xp_problem *p = f->problem;
    const tess_xpcs_result *r = f->result;
    const int64_t n = f->n;
    const int64_t k = f->k;
    const double *lag = p->weights.lag_weight ? p->weights.lag_weight + a * n : NULL;
    const tess_xpcs_angles one = {
        .struct_size = sizeof one, .n_angle = 1, .phi = r->phi + a, .q = r->q + a};
    TESS_TRY(tess_xpcs_model_pairs(f->ctx, &p->model, &one, r->theta, n, f->first, f->second,
                                   n_pair_of(f), f->c2, f->jacobian));
    TESS_TRY(tess_xpcs_data_rows(f->ctx, p->data, a, 0, n, f->rows));
    for (int64_t at = 0; at < n_pair_of(f); at++) {
        const int64_t i = f->first[at];
        const int64_t j = f->second[at];
        const double model = f->c2[at];
        const double w = p->weights.inverse_variance[a] * (lag ? lag[j - i] : 1);
        double *slope = f->slope + at * k;
        f->weight[at] = isfinite(f->rows[i * n + j]) ? w : 0;
        f->residual[at] = f->rows[i * n + j] - r->offset[a] - r->contrast[a] * model;
        f->c2[at] = 1 + r->contrast[a] * model;
        slope[0] = f->weight[at] * model;
        slope[1] = f->weight[at];
        for (int64_t l = 2; l < k; l++) {
            slope[l] = f->weight[at] * r->contrast[a] * f->jacobian[at * (k - 2) + l - 2];
        }
    }
    return TESS_OK;
}

static void add_products(int64_t k, double scale, const double *v, double *out)
{
    for (int64_t i = 0; i < k * k; i++) {
        out[i] += scale * v[i / k] * v[i % k];
    }
}

static tess_xp_frame_pairs pairs_of(const frames *f)
{
    return (tess_xp_frame_pairs){.n_frame = f->n,
                                 .k = f->k,
                                 .c2 = f->c2,
                                 .weight = f->weight,
                                 .slope = f->slope,
                                 .pull = f->pull,
                                 .next = f->next};
}

// What was measured: squares of the residuals, and of their twists.
static void measure(frames *f, frame_angle *g)
{
    const tess_xp_frame_pairs pairs = pairs_of(f);
    for (int64_t at = 0; at < n_pair_of(f); at++) {
        const double w = f->weight[at];
        if (w > 0) {
            g->square += w * f->residual[at] * f->residual[at];
            add_products(f->k, 1 / w, f->slope + at * f->k, g->normal);
        }
    }
    tess_xp_twist_next(f->n, f->weight, f->next);
    tess_xp_twist_pull(&pairs, f->pull, g->twists);
    g->twist = tess_xp_twist_square(&pairs, f->residual);
}

static tess_status add_run(void *arg, int64_t run, int32_t worker)
{
    const frames *f = arg;
    const tess_xp_frame_pairs pairs = pairs_of(f);
    const int64_t some = TESS_XP_SPECKLE_RUN;
    double *fields = f->work + worker * f->n_work;
    double *intensity = fields + 2 * f->n * some;
    double *x = intensity + f->n * some;
    const tess_philox_stream stream =
        tess_philox_open((uint64_t)f->problem->config.seed, (uint32_t)f->angle, PURPOSE_SPECKLE);
    memset(&f->parts[run], 0, sizeof f->parts[run]);
    tess_xp_speckle_fill(&f->speckle, &stream, f->n_run * some, run * some, some, fields,
                         intensity);
    for (int64_t pixel = 0; pixel < some; pixel++) {
        for (int64_t i = 0; i < f->n; i++) {
            x[i] = 1 + f->scale * (intensity[i * some + pixel] - 1);
        }
        tess_xp_frame_add_pixel(&pairs, x, x + f->n, &f->parts[run]);
    }
    return tess_context_check_cancel(f->ctx);
}

static tess_status add_frame(void *arg, int64_t k, int32_t worker)
{
    const frames *f = arg;
    const tess_xp_frame_pairs pairs = pairs_of(f);
    memset(&f->parts[k], 0, sizeof f->parts[k]);
    tess_xp_frame_add_exact(&pairs, &f->fields, k, f->work + worker * f->n_work, &f->parts[k]);
    return tess_context_check_cancel(f->ctx);
}

// Moments at the fitted model, frame by frame: the order of additions is always the same.
static tess_status sum_up(frames *f, frame_angle *g)
{
    const tess_xp_problem *p = f->problem;
    const tess_xpcs_result *r = f->result;
    tess_xp_angle angle = {0};
    tess_xp_angle_fill(&angle, &p->model, r->theta, r->phi[f->angle], r->q[f->angle]);
    tess_xp_speckle_fields(&f->grids.grid, &angle, tess_xp_power((tess_xpcs_kernel)p->model.kernel),
                           f->n, f->factor);
    tess_xp_speckle_modes(&f->speckle, fmin(fmax(r->contrast[f->angle], TESS_XP_SPECKLE_LEAST), 1));
    const double first = f->speckle.first_weight;
    const double each = f->speckle.weight;
    const double others = (double)(f->speckle.n_mode - 1);
    f->fields = (tess_xp_frame_fields){.field = f->factor,
                                       .second = first * first + others * each * each,
                                       .third = pow(first, 3) + others * pow(each, 3),
                                       .fourth = pow(first, 4) + others * pow(each, 4)};
    TESS_TRY(tess_parallel_for(f->ctx->pool, f->n, add_frame, f));
    double *sum = (double *)(void *)&g->moments;
    for (int64_t k = 0; k < f->n; k++) {
        const double *part = (const double *)(const void *)&f->parts[k];
        for (size_t i = 0; i < sizeof g->moments / sizeof(double); i++) {
            sum[i] += part[i];
        }
    }
    const tess_xp_frame_pairs pairs = pairs_of(f);
    tess_xp_frame_add_both(&pairs, &g->moments);
    return TESS_OK;
}

// Means over the pixels, run by run: the order of additions is always the same.
static tess_status simulate(frames *f, frame_angle *g)
{
    const tess_xp_problem *p = f->problem;
    const tess_xpcs_result *r = f->result;
    const double contrast = fmin(fmax(r->contrast[f->angle], 0), 1);
    tess_xp_angle angle = {0};
    tess_xp_angle_fill(&angle, &p->model, r->theta, r->phi[f->angle], r->q[f->angle]);
    TESS_TRY(tess_xp_speckle_factor(
        &f->grids.grid, &angle, tess_xp_power((tess_xpcs_kernel)p->model.kernel), f->n, f->factor));
    tess_xp_speckle_modes(&f->speckle, fmax(contrast, least_contrast));
    f->scale = contrast < least_contrast ? sqrt(contrast / least_contrast) : 1;
    TESS_TRY(tess_parallel_for(f->ctx->pool, f->n_run, add_run, f));
    const int64_t n_number = (int64_t)(sizeof g->moments / sizeof(double));
    double *sum = (double *)(void *)&g->moments;
    for (int64_t run = 0; run < f->n_run; run++) {
        const double *part = (const double *)(const void *)&f->parts[run];
        for (int64_t i = 0; i < n_number; i++) {
            sum[i] += part[i] / (double)(f->n_run * TESS_XP_SPECKLE_RUN);
        }
    }
    const tess_xp_frame_pairs pairs = pairs_of(f);
    tess_xp_frame_add_both(&pairs, &g->moments);
    return TESS_OK;
}

// sum over i, j of a[i][j] (b c d)[j][i], all [k][k].
static double trace_of(int64_t k, const double *a, const double *b, const double *c,
                       const double *d)
{
    double sum = 0;
    for (int64_t i = 0; i < k; i++) {
        for (int64_t j = 0; j < k; j++) {
            for (int64_t l = 0; l < k; l++) {
                double right = 0;
                for (int64_t h = 0; h < k; h++) {
                    right += c[l * k + h] * d[i * k + h]; // d transposed
                }
                sum += a[i * k + j] * b[j * k + l] * right;
            }
        }
    }
    return sum;
}

static double trace_product(int64_t k, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < k * k; i++) {
        sum += a[i] * b[i % k * k + i / k];
    }
    return sum;
}

// What the residuals of angle a have of the noise of angle b, the fit having followed it.
static void expect(frames *f, int64_t a, int64_t b)
{
    frame_angle *to = &f->angles[a];
    const tess_xp_frame_moments *from = &f->angles[b].moments;
    double part[MOST_K * MOST_K];
    take_part(f, a, b, part);
    for (int64_t k = 0; k < TESS_XP_FRAMES_PARTS; k++) {
        const double *gradient = from->gradient[k];
        to->by_square[k] += trace_of(f->k, to->normal, part, gradient, part);
        to->by_twist[k] += trace_of(f->k, to->twists, part, gradient, part);
        if (a == b) {
            to->by_square[k] += from->square[k] - 2 * trace_product(f->k, part, gradient);
            to->by_twist[k] += from->twist[k] - 2 * trace_product(f->k, part, from->pulled[k]);
        }
    }
}

// At so many photons to one, 1 / s: sum over angles of twists, measured less expected, pixels being
// those that the squares tell.
static double excess_at(const frames *f, double s)
{
    double sum = 0;
    for (int64_t a = 0; a < f->problem->n_angle; a++) {
        const frame_angle *g = &f->angles[a];
        const double square = g->by_square[0] + s * (g->by_square[1] + s * g->by_square[2]);
        const double twist = g->by_twist[0] + s * (g->by_twist[1] + s * g->by_twist[2]);
        sum += g->twist - g->square * twist / square;
    }
    return sum;
}

// One over the photons of a pixel and frame. From few photons on, whose noise is nearly
// independent, the first that explains the twists; the brightest where none does.
static double find_photons(const frames *f)
{
    const double most = 1e6;
    const double least = 1e-3;
    double from = most;
    if (excess_at(f, from) >= 0) {
        return from;
    }
    while (from > least) {
        double to = from / 1.5;
        if (excess_at(f, to) >= 0) {
            for (int step = 0; step < 50; step++) {
                const double middle = sqrt(from * to);
                *(excess_at(f, middle) >= 0 ? &to : &from) = middle;
            }
            return to;
        }
        from = to;
    }
    return least;
}

// Covariance of everything: sum over angles of inverse B inverse.
static void fill_covariance(frames *f, double s)
{
    const int64_t m = f->m;
    const int64_t k = f->k;
    double pixels = 0;
    memset(f->result->covariance, 0, (size_t)(m * m) * sizeof *f->result->covariance);
    for (int64_t a = 0; a < f->problem->n_angle; a++) {
        const frame_angle *g = &f->angles[a];
        const double square = g->by_square[0] + s * (g->by_square[1] + s * g->by_square[2]);
        const double n_pixel = square / g->square;
        double b[MOST_K * MOST_K];
        pixels += n_pixel / (double)f->problem->n_angle;
        for (int64_t i = 0; i < k * k; i++) {
            const tess_xp_frame_moments *q = &g->moments;
            b[i] = (q->gradient[0][i] + s * (q->gradient[1][i] + s * q->gradient[2][i])) / n_pixel;
        }
        for (int64_t i = 0; i < m; i++) {
            double half[MOST_K] = {0};
            for (int64_t l = 0; l < k * k; l++) {
                half[l % k] += f->inverse[i * m + row_of(f, a, l / k)] * b[l];
            }
            for (int64_t j = 0; j < m; j++) {
                for (int64_t l = 0; l < k; l++) {
                    f->result->covariance[i * m + j] +=
                        half[l] * f->inverse[row_of(f, a, l) * m + j];
                }
            }
        }
    }
    f->result->info.noise_pixels = pixels;
    f->result->info.noise_photons = 1 / s;
}

// What the covariance would be of points that are independent with the noise the residuals have,
// whatever sigma was said to be.
static void fill_independent(const frames *f)
{
    tess_xpcs_result *r = f->result;
    const int64_t u = 2 * f->problem->n_angle;
    const int64_t n = f->problem->n_param;
    const tess_xp_problem *p = f->problem;
    const double dof = (double)(p->data->info.n_used - tess_xp_problem_n_free(p));
    const double variance = f->engine->head->chi2 / fmax(dof, 1);
    double worst = 1;
    for (int64_t i = 0; i < f->m; i++) {
        const double own = variance * f->inverse[i * (f->m + 1)];
        worst = own > 0 ? fmax(worst, r->covariance[i * (f->m + 1)] / own) : worst;
    }
    for (int64_t i = 0; i < n * n; i++) {
        const int64_t at = (u + i / n) * f->m + u + i % n;
        const bool is_bound = i / n == i % n && !(f->inverse[at] > 0);
        r->independent_covariance[i] =
            is_bound ? r->covariance[at] / worst : variance * f->inverse[at];
    }
}

// Errors of parameters that are not free grow by as much as those of the worst that is: they have
// no part in the inverse.
static void compare(frames *f, const double *before, double *stretch)
{
    tess_xpcs_result *r = f->result;
    const int64_t u = 2 * f->problem->n_angle;
    double worst = 1;
    for (int64_t i = 0; i < f->m; i++) {
        if (f->inverse[i * (f->m + 1)] > 0) {
            worst = fmax(worst, r->covariance[i * (f->m + 1)] / before[i]);
        }
    }
    for (int64_t i = 0; i < f->m; i++) {
        double *variance = &r->covariance[i * (f->m + 1)];
        *variance = f->inverse[i * (f->m + 1)] > 0 ? *variance : before[i] * worst;
        if (i >= u) {
            stretch[i - u] = before[i] > 0 && isfinite(before[i]) ? sqrt(*variance / before[i]) : 1;
        }
    }
    fill_independent(f);
}

static tess_status run(frames *f, double *stretch)
{
    const int64_t n_angle = f->problem->n_angle;
    take_inverse(f);
    for (f->angle = 0; f->angle < n_angle; f->angle++) {
        TESS_TRY(lay_out(f, f->angle));
        measure(f, &f->angles[f->angle]);
        TESS_TRY(f->is_exact ? sum_up(f, &f->angles[f->angle]) : simulate(f, &f->angles[f->angle]));
    }
    for (int64_t i = 0; i < n_angle * n_angle; i++) {
        expect(f, i / n_angle, i % n_angle);
    }
    double *before = tess_blocks_alloc(&f->memory, f->m, sizeof *before, "variances");
    if (!before) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < f->m; i++) {
        before[i] = f->result->covariance[i * (f->m + 1)];
    }
    fill_covariance(f, find_photons(f));
    compare(f, before, stretch);
    tess_xp_covariance_conclude(f->result);
    return TESS_OK;
}

static int64_t count_runs(const tess_xp_problem *p)
{
    const double n = (double)p->data->info.n_frame;
    const double some = fmax(2 * most_pairs / (n * (n - 1)), LEAST_PIXELS);
    const double each = fmax(fmin(some, MOST_PIXELS) / (double)p->n_angle, LEAST_OF_ANGLE);
    return (int64_t)ceil(each / TESS_XP_SPECKLE_RUN);
}

// Whether pairs of pairs are few enough to go over all of them.
static bool is_short(const tess_xp_problem *p)
{
    const double n = (double)p->data->info.n_frame;
    const double n_pair = n * (n - 1) / 2;
    return n_pair * n_pair * (double)p->n_angle <= most_products;
}

tess_status tess_xp_frames_apply(const tess_xp_engine *engine, tess_xpcs_result *result,
                                 double *stretch)
{
    const tess_xp_problem *p = engine->problem;
    frames f = {.ctx = engine->ctx,
                .engine = engine,
                .problem = p,
                .result = result,
                .n = p->data->info.n_frame,
                .k = p->n_param + 2,
                .m = result->info.n_covariance,
                .n_run = count_runs(p),
                .is_exact = is_short(p)};
    for (int64_t k = 0; k < p->n_param; k++) {
        stretch[k] = 1;
    }
    if (!(engine->head->chi2 > 0) || p->n_free == 0) {
        return TESS_OK; // nothing has an error
    }
    TESS_TRY(tess_xp_grids_create(f.ctx, &p->model, f.n, &f.grids));
    tess_xp_grids_fill(&f.grids, &p->model, result->theta);
    tess_blocks_init(&f.memory, &f.ctx->heap);
    tess_status status = take_room(&f);
    f.speckle = (tess_xp_speckle){.factor = f.factor, .n_frame = f.n};
    if (status == TESS_OK) {
        status = run(&f, stretch);
    }
    tess_blocks_free(&f.memory);
    tess_xp_grids_destroy(f.ctx, &f.grids);
    return status;
}
