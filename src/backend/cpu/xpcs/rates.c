// Sums for rates without a formula on the CPU: a stripe of leaves is a block, which has sums of its
// own.
#include "stage/xpcs_rates.h"

#include "backend/cpu/xpcs/stages.h"
#include "backend/cpu/xpcs/xpcs.h"
#include "base/status.h"

#include <string.h>

enum { STRIPES = TESS_XP_RATES_STRIPES, ROW = TESS_XP_ROW, LANES = 8, MOST_BASIS = 128 };

// What a worker needs for a tile.
typedef struct rates_scratch {
    tess_xp_pairs_f64 pairs;
    double m[ROW], t[ROW], w[ROW], g[ROW]; // of an angle
    double slope[2][ROW];                  // a, b
    double turn[ROW];                      // f
    double error[ROW];                     // gradient by M
    double squares[3][ROW];                // by_squares a a, a b, b b of all angles
} rates_scratch;

typedef struct rates_job {
    const tess_kernels *kernels;
    const tess_stage_xpcs_rates *args;
    tess_xp_rates_parts parts;
    rates_scratch *scratch; // [workers]
    int64_t n_kind;
    uint64_t records_at;
} rates_job;

// A tile, and the sums of its stripe.
typedef struct rates_tile {
    const rates_job *job;
    rates_scratch *scratch;
    double *sums;
    xp_tile at;
    const unsigned char *record;
    int is_dark;
} rates_tile;

// In lanes, whose sum does not depend on how they are computed.
static double dot(const double *x, const double *y, int64_t n)
{
    double lane[LANES] = {0};
    int64_t c = 0;
    for (; c + LANES <= n; c += LANES) {
        for (int k = 0; k < LANES; k++) {
            lane[k] += x[c + k] * y[c + k];
        }
    }
    for (int k = 0; c < n; c++, k++) {
        lane[k] += x[c] * y[c];
    }
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
           ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

static double total(const double *x, int64_t n)
{
    double lane[LANES] = {0};
    int64_t c = 0;
    for (; c + LANES <= n; c += LANES) {
        for (int k = 0; k < LANES; k++) {
            lane[k] += x[c + k];
        }
    }
    for (int k = 0; c < n; c++, k++) {
        lane[k] += x[c];
    }
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
           ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

// by x y of every pair to the sums by frame: for frame j, and with sign for frame i.
static void add_products(const rates_tile *tile, const double *x, const double *y, double by,
                         double sign, double *frames)
{
    const int64_t n = tile->at.n_column;
    double *columns = frames + tile->at.column;
    for (int64_t c = 0; c < n; c++) {
        columns[c] += by * x[c] * y[c];
    }
    frames[tile->at.row] += sign * by * dot(x, y, n);
}

// Samples and weights of an angle, 0 where there is none.
static void take_samples(const rates_tile *tile, int64_t angle)
{
    const tess_stage_xpcs_rates *a = tile->job->args;
    const tess_kernels *kernels = tile->job->kernels;
    rates_scratch *s = tile->scratch;
    const size_t n = (size_t)tile->at.n_column;
    const double mean = a->angles[angle].mean;
    const void *y = tile->record + tess_cpu_xp_samples_at(a->tiles, tile->at.width, angle);
    if (a->tiles->item_bytes == 4) {
        kernels->xpcs_centre_f32(y, n, mean, s->g);
    } else {
        kernels->xpcs_centre_f64(y, n, mean, s->g);
    }
    kernels->xpcs_mask(NULL, NULL, 1, n, s->w, s->g);
}

// M, and dM/dz z / power. Integrals of shear that fall are no case of a run that rises: with a
// column of nothing behind the last one no z is taken for ordinary.
static void evaluate(const rates_tile *tile, int64_t angle)
{
    const tess_stage_xpcs_rates *a = tile->job->args;
    rates_scratch *s = tile->scratch;
    const size_t n = (size_t)tile->at.n_column;
    if (tile->is_dark) {
        memset(s->m, 0, n * sizeof *s->m);
    } else if (a->shear) {
        tile->job->kernels->xpcs_points_f64(&s->pairs, n + 1, a->angles[angle].amplitude, a->power,
                                            s->m, a->has_slopes ? s->t : NULL);
    } else {
        memcpy(s->m, s->pairs.e, n * sizeof *s->m);
    }
}

static void add_six(const rates_tile *tile, int64_t angle)
{
    const rates_scratch *s = tile->scratch;
    const int64_t n = tile->at.n_column;
    double *six = tile->sums + tile->job->parts.six + 6 * angle;
    six[0] += total(s->w, n);
    six[3] += total(s->g, n);
    six[4] += dot(s->g, s->g, n);
    if (!tile->is_dark) {
        double wm[ROW];
        for (int64_t c = 0; c < n; c++) {
            wm[c] = s->w[c] * s->m[c];
        }
        six[1] += total(wm, n);
        six[2] += dot(wm, s->m, n);
        six[5] += dot(s->g, s->m, n);
    }
}

static void fill_slopes(const rates_tile *tile, int64_t angle)
{
    const tess_stage_xpcs_rates *a = tile->job->args;
    const tess_xp_angle *of = &a->angles[angle];
    const tess_xp_rates_angle *by = &a->weights[angle];
    rates_scratch *s = tile->scratch;
    const int64_t n = tile->at.n_column;
    for (int64_t c = 0; c < n; c++) {
        s->slope[0][c] = -of->w2 * s->w[c] * s->m[c];
        s->error[c] = s->w[c] * (by->by_model * s->m[c] + by->by_one) - by->by_sample * s->g[c];
    }
    if (a->shear) {
        const double from = a->shear[tile->at.row];
        const double *to = a->shear + tile->at.column;
        for (int64_t c = 0; c < n; c++) {
            const double t = a->power * s->w[c] * s->t[c];
            const double inverse = to[c] < from ? -s->pairs.inverse[c] : s->pairs.inverse[c];
            s->slope[1][c] = t * inverse;
            s->turn[c] = t * of->tau;
        }
    }
}

// By frame, of one angle.
static void add_slopes(const rates_tile *tile, int64_t angle)
{
    const rates_job *job = tile->job;
    const int64_t n_frame = job->args->tiles->n_frame;
    rates_scratch *s = tile->scratch;
    double *slope = tile->sums + job->parts.slope + 2 * angle * job->n_kind * n_frame;
    double *pull = tile->sums + job->parts.pull;
    for (int64_t k = 0; k < job->n_kind; k++) {
        add_products(tile, s->slope[k], s->w, 1, -1, slope + k * n_frame);
        add_products(tile, s->slope[k], s->m, 1, -1, slope + (job->n_kind + k) * n_frame);
        add_products(tile, s->slope[k], s->error, 1, -1, pull + k * n_frame);
    }
}

// Of the direction of flow.
static void add_turn(const rates_tile *tile, int64_t angle)
{
    const rates_job *job = tile->job;
    const int64_t n_frame = job->args->tiles->n_frame;
    const int64_t n = tile->at.n_column;
    const double by = job->args->weights[angle].by_squares;
    const rates_scratch *s = tile->scratch;
    double *turn = tile->sums + job->parts.turn + 2 * angle;
    double *across = tile->sums + job->parts.across;
    turn[0] += total(s->turn, n);
    turn[1] += dot(s->turn, s->m, n);
    tile->sums[job->parts.pull + job->n_kind * n_frame] += dot(s->turn, s->error, n);
    for (int64_t k = 0; k < job->n_kind; k++) {
        add_products(tile, s->turn, s->slope[k], by, -1, across + k * n_frame);
    }
    across[job->n_kind * n_frame] += by * dot(s->turn, s->turn, n);
}

// What angles have in common: weights of the pairs in the matrix of the steps.
static void add_squares(const rates_tile *tile, int64_t angle)
{
    const rates_job *job = tile->job;
    const double by = job->args->weights[angle].by_squares;
    const int64_t n = tile->at.n_column;
    rates_scratch *s = tile->scratch;
    for (int64_t c = 0; c < n; c++) {
        s->squares[0][c] += by * s->slope[0][c] * s->slope[0][c];
    }
    for (int64_t c = 0; c < n && job->n_kind > 1; c++) {
        s->squares[1][c] += by * s->slope[0][c] * s->slope[1][c];
        s->squares[2][c] += by * s->slope[1][c] * s->slope[1][c];
    }
}

// cross += basis_i (sum over j of weight basis_j)'.
static void add_cross(const rates_tile *tile, const double *weight, const double *row_basis,
                      const double *column_basis, double *cross)
{
    const int64_t k = tile->job->args->n_basis;
    const double *row = row_basis + tile->at.row * k;
    double sum[MOST_BASIS] = {0};
    for (int64_t c = 0; c < tile->at.n_column; c++) {
        const double *column = column_basis + (tile->at.column + c) * k;
        const double w = weight[c];
        for (int64_t l = 0; l < k; l++) {
            sum[l] += w * column[l];
        }
    }
    for (int64_t i = 0; i < k; i++) {
        for (int64_t l = 0; l < k; l++) {
            cross[i * k + l] += row[i] * sum[l];
        }
    }
}

static void finish_tile(const rates_tile *tile)
{
    const rates_job *job = tile->job;
    const tess_stage_xpcs_rates *a = job->args;
    const int64_t n_frame = a->tiles->n_frame;
    const int64_t n = tile->at.n_column;
    const rates_scratch *s = tile->scratch;
    const int64_t size = a->n_basis * a->n_basis;
    for (int64_t k = 0; k < (job->n_kind > 1 ? 3 : 1); k++) {
        double *diagonal = tile->sums + job->parts.diagonal + k * n_frame;
        for (int64_t c = 0; c < n; c++) {
            diagonal[tile->at.column + c] += s->squares[k][c];
        }
        diagonal[tile->at.row] += total(s->squares[k], n);
    }
    for (int64_t i = 0; i < job->n_kind; i++) {
        for (int64_t j = 0; j < job->n_kind; j++) {
            add_cross(tile, s->squares[i + j], a->basis[i], a->basis[j],
                      tile->sums + job->parts.cross + (i * job->n_kind + j) * size);
        }
    }
}

// The factors that angles of equal q share.
static void prepare_group(rates_tile *tile, int64_t first)
{
    const tess_stage_xpcs_rates *a = tile->job->args;
    rates_scratch *s = tile->scratch;
    const tess_xp_source source = {.diffusion = a->diffusion,
                                   .shear = a->shear,
                                   .w2 = a->angles[first].w2,
                                   .power = a->power,
                                   .row = (size_t)tile->at.row,
                                   .column = (size_t)tile->at.column,
                                   .n = (size_t)tile->at.n_column};
    tile->is_dark = tess_cpu_xp_is_dark(&source);
    if (!tile->is_dark) {
        tile->job->kernels->xpcs_pairs(&source, &s->pairs);
        const size_t tail = tess_xp_padded(source.n + 1) - source.n;
        memset(s->pairs.e + source.n, 0, tail * sizeof(double));
        memset(s->pairs.b + source.n, 0, tail * sizeof(double));
        memset(s->pairs.inverse + source.n, 0, tail * sizeof(double));
    }
}

static void tile_sums(rates_tile *tile)
{
    const tess_stage_xpcs_rates *a = tile->job->args;
    int is_lit = 0;
    memset(tile->scratch->squares, 0, sizeof tile->scratch->squares);
    for (int64_t first = 0; first < a->tiles->n_angle;) {
        const int64_t end = tess_cpu_xp_group_end(a->angles, a->tiles->n_angle, first);
        prepare_group(tile, first);
        for (int64_t angle = first; angle < end; angle++) {
            take_samples(tile, angle);
            evaluate(tile, angle);
            add_six(tile, angle);
            if (a->has_slopes && !tile->is_dark) {
                is_lit = 1;
                fill_slopes(tile, angle);
                add_slopes(tile, angle);
                add_squares(tile, angle);
                if (a->shear) {
                    add_turn(tile, angle);
                }
            }
        }
        first = end;
    }
    if (is_lit) {
        finish_tile(tile);
    }
}

static tess_status rates_block(void *arg, int64_t stripe, int32_t worker)
{
    const rates_job *job = arg;
    const tess_stage_xpcs_rates *a = job->args;
    rates_tile tile = {
        .job = job, .scratch = &job->scratch[worker], .sums = a->sums + stripe * a->n_sum};
    const int64_t skip = (stripe - a->first_leaf % STRIPES + STRIPES) % STRIPES;
    for (int64_t leaf = a->first_leaf + skip; leaf < a->first_leaf + a->n_leaf; leaf += STRIPES) {
        const int64_t n_tile = tess_cpu_xp_leaf_tiles(a->tiles, leaf);
        tile.at = tess_cpu_xp_first_tile(a->tiles, leaf);
        for (int64_t k = 0; k < n_tile; k++) {
            const xp_tile whole = tile.at;
            const int64_t left = a->most_lag - (whole.column - whole.row) + 1;
            tile.record = a->records + (whole.offset - job->records_at);
            tile.at.n_column = a->most_lag > 0 && left < whole.n_column ? left : whole.n_column;
            if (tile.at.n_column > 0) {
                tile_sums(&tile);
            }
            if (k + 1 < n_tile) {
                tile.at = tess_cpu_xp_next_tile(a->tiles, &whole);
            }
        }
    }
    return TESS_OK;
}

tess_status tess_cpu_xpcs_rates(tess_backend_device *device, const void *args)
{
    const tess_stage_xpcs_rates *a = args;
    tess_context *ctx = device->ctx;
    const int64_t n_kind = a->shear ? 2 : 1;
    TESS_ASSERT(a->n_basis <= MOST_BASIS);
    if (a->n_leaf == 0) {
        return TESS_OK;
    }
    rates_job job = {
        .kernels = device->kernels,
        .args = a,
        .parts = tess_xp_rates_layout(a->tiles->n_angle, a->tiles->n_frame, n_kind, a->n_basis),
        .n_kind = n_kind,
        .records_at = tess_cpu_xp_first_tile(a->tiles, a->first_leaf).offset};
    const size_t bytes = sizeof *job.scratch * (size_t)tess_pool_threads(ctx->pool);
    job.scratch = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "sums for rates");
    if (!job.scratch) {
        return TESS_E_MEMORY;
    }
    tess_span span = tess_span_begin(&ctx->tracer, "xpcs.rates");
    const tess_status status = tess_parallel_for(ctx->pool, STRIPES, rates_block, &job);
    tess_span_end(&span, 0, 0);
    tess_heap_free(&ctx->heap, job.scratch, bytes, TESS_TAG_SCRATCH);
    return status;
}
