// The look at every point that pages and pictures are made of, against its definition, on the
// device of TESSERA_DEVICE.
#include "unit.h"

#include "systems/xpcs/model/grids.h"
#include "systems/xpcs/report/sweep_there.h"
#include "tessera/xpcs.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct sweep_case {
    int64_t n_angle, n_frame, side;
    int64_t first_angle; // of the sweep, to the last
    tess_dtype dtype;
    int32_t mode, kernel;
    bool has_fit, has_sigma, has_lags, has_eps;
} sweep_case;

typedef struct problem {
    tess_context *ctx;
    sweep_case c;
    tess_xpcs_data *data;
    double *sigma;     // [n_angle][n][n]; NULL: none
    double *lag_sigma; // [n_angle][n]; NULL: none
    double *model;     // [n_angle][n][n] offset + contrast M
    tess_xp_grids grids;
    tess_xp_angle *angles;
    tess_stage_xpcs_sweep stage;
} problem;

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

static const double ONE_THETA[7] = {20000, -0.8, 400, 0.004, -0.2, -0.0003, 2.0};
static const double TWO_THETA[TESS_XPCS_N_TWO] = {2e4, 0.3, 1e3, 6e3,   -0.4, 100, 1e3,
                                                  0.4, 50,  0.1, -0.05, 0.9,  0.6, -2.1};

// Symmetric matrices with gaps, and deviations of points.
static void make_data(problem *p, const double *phi, const double *q, uint64_t *state)
{
    const int64_t n = p->c.n_frame;
    const int64_t shape[3] = {p->c.n_angle, n + 1, n + 1}; // the first frame is dropped
    const size_t n_item = (size_t)(p->c.n_angle * (n + 1) * (n + 1));
    double *c2 = malloc(n_item * sizeof *c2);
    float *narrow = malloc(n_item * sizeof *narrow);
    double *sigma = malloc(n_item * sizeof *sigma);
    for (int64_t k = 0; k < (int64_t)n_item; k++) {
        const int64_t i = k / (n + 1) % (n + 1);
        const int64_t j = k % (n + 1);
        const int64_t other = k - i * (n + 1) - j + j * (n + 1) + i;
        c2[k] = j >= i ? 1 + 0.2 * uniform(state) : c2[other];
        c2[k] = j > i && uniform(state) < 0.05 ? (double)NAN : c2[k];
        sigma[k] = j >= i ? 0.01 + 0.05 * uniform(state) : sigma[other];
        narrow[k] = (float)c2[k];
    }
    tess_xpcs_data_config config;
    tess_xpcs_data_config_init(&config, sizeof config);
    config.dt_s = 0.1;
    config.gap_angstrom = 2e6;
    tess_array view;
    tess_array deviations;
    assert_ok(tess_array_init(&deviations, sigma, TESS_F64, 3, shape));
    assert_ok(tess_array_init(&view, p->c.dtype == TESS_F32 ? (void *)narrow : (void *)c2,
                              p->c.dtype, 3, shape));
    assert_ok(tess_xpcs_data_from_array(p->ctx, &view, phi, q, p->c.has_sigma ? &deviations : NULL,
                                        &config, &p->data));
    p->sigma = p->c.has_sigma ? malloc((size_t)(p->c.n_angle * n * n) * sizeof(double)) : NULL;
    for (int64_t k = 0; p->sigma && k < p->c.n_angle * n * n; k++) {
        const int64_t a = k / (n * n);
        p->sigma[k] = sigma[(a * (n + 1) + k / n % n + 1) * (n + 1) + k % n + 1];
    }
    free(sigma);
    free(narrow);
    free(c2);
}

static problem open_problem(tess_context *ctx, sweep_case c, uint64_t seed)
{
    problem p = {.ctx = ctx, .c = c};
    uint64_t state = seed;
    double phi[8];
    double q[8];
    double contrast[8];
    double offset[8];
    tess_xpcs_model model;
    tess_xpcs_model_init(&model, sizeof model);
    model.mode = c.mode;
    model.kernel = c.kernel;
    model.dt_s = 0.1;
    model.gap_angstrom = 2e6;
    model.compat_eps = c.has_eps;
    for (int64_t a = 0; a < c.n_angle; a++) {
        phi[a] = -60 + 31 * (double)a;
        q[a] = a == 2 ? 0.006 : 0.0054;
        contrast[a] = 0.1 + 0.02 * (double)a;
        offset[a] = 1 + 0.01 * (double)a;
    }
    make_data(&p, phi, q, &state);
    const double *theta = c.mode == TESS_XPCS_TWO_COMPONENT ? TWO_THETA : ONE_THETA;
    const tess_xpcs_angles angles = {.struct_size = sizeof angles,
                                     .n_angle = c.n_angle,
                                     .phi = phi,
                                     .q = q,
                                     .contrast = contrast,
                                     .offset = offset};
    const size_t n_item = (size_t)(c.n_angle * c.n_frame * c.n_frame);
    p.model = calloc(n_item, sizeof *p.model);
    assert_ok(tess_xp_grids_create(ctx, &model, c.n_frame, &p.grids));
    tess_xp_grids_fill(&p.grids, &model, theta);
    p.angles = calloc((size_t)c.n_angle, sizeof *p.angles);
    for (int64_t a = 0; a < c.n_angle; a++) {
        tess_xp_angle_fill(&p.angles[a], &model, theta, phi[a], q[a]);
        p.angles[a].contrast = contrast[a];
        p.angles[a].offset = offset[a];
        p.angles[a].inverse_variance = 1 / (0.02 * 0.02 * (1 + (double)a));
    }
    if (c.has_fit) {
        assert_ok(tess_xpcs_model_surface(ctx, &model, &angles, theta, c.n_frame, p.model));
    }
    p.lag_sigma = c.has_lags ? malloc((size_t)(c.n_angle * c.n_frame) * sizeof(double)) : NULL;
    for (int64_t k = 0; p.lag_sigma && k < c.n_angle * c.n_frame; k++) {
        p.lag_sigma[k] = 0.02 + 0.1 * uniform(&state);
    }
    p.stage = (tess_stage_xpcs_sweep){.tiles = &p.data->tiles,
                                      .angles = p.angles,
                                      .lag_sigma = p.lag_sigma,
                                      .first_angle = c.first_angle,
                                      .n_angle = c.n_angle - c.first_angle,
                                      .side = c.side,
                                      .n_age = c.n_frame < 11 ? c.n_frame : 11,
                                      .age_lags = {1, 2, c.n_frame / 3, c.n_frame / 2},
                                      .use_sigma = c.has_sigma,
                                      .n_param = (int32_t)p.grids.n_param,
                                      .power = tess_xp_power((tess_xpcs_kernel)c.kernel)};
    return p;
}

static void close_problem(problem *p)
{
    tess_xp_grids_destroy(p->ctx, &p->grids);
    tess_xpcs_data_destroy(p->data);
    free(p->angles);
    free(p->lag_sigma);
    free(p->model);
    free(p->sigma);
}

typedef struct sums {
    tess_xp_cell *cells;
    tess_xp_sum *lags;
    tess_xp_sum *ages;
    int64_t *bars;
    size_t bytes[4];
} sums;

static sums make_sums(const problem *p)
{
    const tess_stage_xpcs_sweep *s = &p->stage;
    const size_t n = (size_t)s->n_angle;
    sums out = {.bytes = {n * (size_t)tess_xp_map_cells(s->side) * sizeof(tess_xp_cell),
                          n * (size_t)p->c.n_frame * sizeof(tess_xp_sum),
                          n * TESS_XP_SWEEP_LAGS * (size_t)s->n_age * sizeof(tess_xp_sum),
                          n * (TESS_XP_SWEEP_BARS + 1) * sizeof(int64_t)}};
    out.cells = calloc(1, out.bytes[0]);
    out.lags = calloc(1, out.bytes[1]);
    out.ages = calloc(1, out.bytes[2]);
    out.bars = calloc(1, out.bytes[3]);
    return out;
}

static void free_sums(sums *s)
{
    free(s->cells);
    free(s->lags);
    free(s->ages);
    free(s->bars);
}

// By the stage, leaves at a time (0: as it likes).
static sums run_stage(const problem *p, int64_t leaves)
{
    sums out = make_sums(p);
    tess_stage_xpcs_sweep stage = p->stage;
    stage.cells = out.cells;
    stage.lags = out.lags;
    stage.ages = out.ages;
    stage.bars = out.bars;
    tess_xp_sweep_there there;
    assert_ok(tess_xp_sweep_there_open(p->ctx, p->data, &stage, &there));
    there.leaves = leaves > 0 ? leaves : there.leaves;
    const int64_t n_leaf = tess_xp_tiles_n_leaf(&p->data->tiles);
    for (int64_t leaf = 0; leaf < n_leaf; leaf += there.leaves) {
        const int64_t left = n_leaf - leaf;
        assert_ok(tess_xp_sweep_there_add(&there, leaf, left < there.leaves ? left : there.leaves));
    }
    assert_ok(tess_xp_sweep_there_fetch(&there));
    tess_xp_sweep_there_close(&there);
    return out;
}

static void add(tess_xp_sum *s, double y, double fitted, double z)
{
    s->measured += y;
    s->fitted += fitted;
    s->residual += z;
    s->squares += z * z;
    s->n++;
}

static double inverse_of(const problem *p, int64_t a, int64_t i, int64_t j)
{
    const int64_t n = p->c.n_frame;
    return p->sigma       ? 1 / p->sigma[(a * n + i) * n + j]
           : p->lag_sigma ? 1 / p->lag_sigma[a * n + j - i]
                          : sqrt(p->angles[a].inverse_variance);
}

static sums run_plain(const problem *p)
{
    const tess_stage_xpcs_sweep *s = &p->stage;
    const int64_t n = p->c.n_frame;
    sums out = make_sums(p);
    double *rows = malloc((size_t)(n * n) * sizeof *rows);
    for (int64_t k = 0; k < s->n_angle; k++) {
        const int64_t a = s->first_angle + k;
        assert_ok(tess_xpcs_data_rows(p->ctx, p->data, a, 0, n, rows));
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = i + 1; j < n; j++) {
                const int64_t u = i * s->side / n;
                const int64_t v = j * s->side / n;
                tess_xp_cell *cell = &out.cells[k * tess_xp_map_cells(s->side) + u * s->side -
                                                u * (u - 1) / 2 + v - u];
                const double y = rows[i * n + j];
                const double fitted = p->c.has_fit ? p->model[(a * n + i) * n + j] : 0;
                cell->fitted += fitted;
                cell->n_pair++;
                if (isnan(y)) {
                    continue;
                }
                const double z = (y - fitted) * inverse_of(p, a, i, j);
                cell->measured += y;
                cell->residual += z;
                cell->n++;
                add(&out.lags[k * n + j - i], y, fitted, z);
                for (int l = 0; l < TESS_XP_SWEEP_LAGS; l++) {
                    if (s->age_lags[l] == j - i) {
                        const int64_t bin = (i + j) * s->n_age / (2 * n);
                        tess_xp_sum *age = &out.ages[(k * TESS_XP_SWEEP_LAGS + l) * s->n_age + bin];
                        add(age, y, fitted, 0);
                    }
                }
                if (p->c.has_fit) {
                    const double at = (z + 6) / 12 * TESS_XP_SWEEP_BARS;
                    const bool is_in = at >= 0 && at < TESS_XP_SWEEP_BARS;
                    out.bars[k * (TESS_XP_SWEEP_BARS + 1) +
                             (is_in ? (int64_t)at : TESS_XP_SWEEP_BARS)]++;
                }
            }
        }
    }
    free(rows);
    return out;
}

// Terms of up to size each, n of them: right to rounding.
static void check_near(double got, double want, double size, int64_t n)
{
    if (!(fabs(got - want) <= 1e-13 * size * (double)(n + 1))) {
        fail_msg("%.17g, by definition %.17g", got, want);
    }
}

static void check_sum(const tess_xp_sum *got, const tess_xp_sum *want)
{
    assert_int_equal(got->n, want->n);
    check_near(got->measured, want->measured, 1, want->n);
    check_near(got->fitted, want->fitted, 1, want->n);
    check_near(got->residual, want->residual, 100, want->n);
    check_near(got->squares, want->squares, 1e4, want->n);
}

static void check_case(tess_context *ctx, sweep_case c, uint64_t seed)
{
    problem p = open_problem(ctx, c, seed);
    p.stage.grid = c.has_fit ? &p.grids.grid : NULL; // of this p, not of the one that was copied
    sums want = run_plain(&p);
    sums got = run_stage(&p, 0);
    const int64_t n_angle = p.stage.n_angle;
    for (int64_t k = 0; k < n_angle * tess_xp_map_cells(c.side); k++) {
        assert_int_equal(got.cells[k].n, want.cells[k].n);
        assert_int_equal(got.cells[k].n_pair, want.cells[k].n_pair);
        check_near(got.cells[k].measured, want.cells[k].measured, 1, want.cells[k].n);
        check_near(got.cells[k].fitted, want.cells[k].fitted, 1, want.cells[k].n_pair);
        check_near(got.cells[k].residual, want.cells[k].residual, 100, want.cells[k].n);
    }
    for (int64_t k = 0; k < n_angle * c.n_frame; k++) {
        check_sum(&got.lags[k], &want.lags[k]);
    }
    for (int64_t k = 0; k < n_angle * TESS_XP_SWEEP_LAGS * p.stage.n_age; k++) {
        check_sum(&got.ages[k], &want.ages[k]);
    }
    int64_t n_moved = 0; // residuals at the edge of a bar
    for (int64_t k = 0; k < n_angle * (TESS_XP_SWEEP_BARS + 1); k++) {
        n_moved += llabs(got.bars[k] - want.bars[k]);
    }
    assert_true(n_moved <= 2);
    for (int64_t leaves = 1; leaves < 4; leaves += 2) { // and again
        sums again = run_stage(&p, leaves);
        assert_memory_equal(again.cells, got.cells, got.bytes[0]);
        assert_memory_equal(again.lags, got.lags, got.bytes[1]);
        assert_memory_equal(again.ages, got.ages, got.bytes[2]);
        assert_memory_equal(again.bars, got.bars, got.bytes[3]);
        free_sums(&again);
    }
    free_sums(&got);
    free_sums(&want);
    close_problem(&p);
}

static void sums_are_those_of_the_points(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    static const int64_t frames[] = {5, 61, 300, 530};
    uint64_t seed = 11;
    static const int32_t modes[] = {TESS_XPCS_STATIC_ANISOTROPIC, TESS_XPCS_LAMINAR_FLOW,
                                    TESS_XPCS_TWO_COMPONENT};
    for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
        for (size_t f = 0; f < ARRAY_LEN(frames) - (size_t)unit_is_quick(); f++) {
            for (int k = 0; k < 4; k++) {
                const int64_t n = frames[f];
                const sweep_case c = {.n_angle = 1 + (k + (int)f) % 3,
                                      .n_frame = n,
                                      .side = k == 0   ? n
                                              : k == 1 ? 3
                                                       : n * 2 / 5 + 1,
                                      .first_angle = (k + (int)f) % 3 == 2,
                                      .dtype = k % 2 ? TESS_F32 : TESS_F64,
                                      .mode = modes[m],
                                      .kernel = k % 3,
                                      .has_fit = k != 3 || f == 2,
                                      .has_sigma = k == 2,
                                      .has_lags = k == 1,
                                      .has_eps = f == 1};
                check_case(ctx, c, seed++);
            }
        }
    }
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_the_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
