// The stages of xpcs against sums by definition, golden data, and themselves cut otherwise.
#include "xpcs_stage_case.h"

// Everything in the order of the leaves' sums; the magnitudes of the terms besides.
typedef struct plain_sums {
    long double *sum, *size;
} plain_sums;

static void put(plain_sums *out, int64_t at, long double term)
{
    out->sum[at] += term;
    out->size[at] += fabsl(term);
}

static void plain_loss(int32_t loss, long double z, long double rho[3])
{
    switch (loss) {
    case TESS_XPCS_LOSS_SOFT_L1:
        rho[0] = 2 * (sqrtl(1 + z) - 1), rho[1] = 1 / sqrtl(1 + z);
        rho[2] = -0.5L * powl(1 + z, -1.5L);
        break;
    case TESS_XPCS_LOSS_HUBER:
        rho[0] = z <= 1 ? z : 2 * sqrtl(z) - 1, rho[1] = z <= 1 ? 1 : 1 / sqrtl(z);
        rho[2] = z <= 1 ? 0 : -0.5L * powl(z, -1.5L);
        break;
    case TESS_XPCS_LOSS_CAUCHY:
        rho[0] = log1pl(z), rho[1] = 1 / (1 + z), rho[2] = -1 / ((1 + z) * (1 + z));
        break;
    case TESS_XPCS_LOSS_ARCTAN:
        rho[0] = atanl(z), rho[1] = 1 / (1 + z * z);
        rho[2] = -2 * z / ((1 + z * z) * (1 + z * z));
        break;
    default:
        rho[0] = z, rho[1] = 1, rho[2] = 0;
    }
}

// One point: weight and weighted sample of the sums over M and J.
static void plain_point(const xp_problem *p, const pass_case *c, int64_t a, int64_t i, int64_t j,
                        long double y, long double v, double f_scale, plain_sums *out)
{
    const tess_xp_angle *angle = &p->angles[a];
    const int64_t n = p->n_param, first = a * (6 + 3 * n), hessian = p->n_angle * (6 + 3 * n);
    long double m, jacobian[XP_MAX_PARAM], by = v, by_hessian = v, g;
    xp_point(p, a, i, j, &m, jacobian);
    if (c->loss == TESS_XPCS_LOSS_LINEAR) {
        g = v * (y - angle->mean);
        put(out, first + 4, g * (y - angle->mean));
    } else {
        const long double error = angle->offset + angle->contrast * m - y;
        const long double chi2 = v * angle->inverse_variance * error * error;
        const long double z = chi2 / (f_scale * f_scale);
        long double rho[3];
        plain_loss(c->loss, z, rho);
        by_hessian = v * fmaxl(rho[1] + 2 * rho[2] * z, DBL_EPSILON);
        by = by_hessian * angle->inverse_variance;
        g = rho[1] * v * angle->inverse_variance * error;
        put(out, first + 4, f_scale * f_scale * rho[0]);
        put(out, n_sum_of(p) - 1, chi2);
    }
    put(out, first, by), put(out, first + 1, by * m), put(out, first + 2, by * m * m);
    put(out, first + 3, g), put(out, first + 5, g * m);
    int64_t at = hessian;
    for (int64_t k = 0; k < n; k++) {
        if (!c->no_gradient) {
            put(out, first + 6 + k, by * jacobian[k]);
            put(out, first + 6 + n + k, by * jacobian[k] * m);
            put(out, first + 6 + 2 * n + k, g * jacobian[k]);
        }
        for (int64_t l = k; l < n && !c->no_hessian; l++, at++) {
            put(out, at, angle->weight * by_hessian * jacobian[k] * jacobian[l]);
        }
    }
}

static plain_sums plain_pass(xp_problem *p, const pass_case *c, double f_scale)
{
    plain_sums out = {calloc((size_t)n_sum_of(p), sizeof(long double)),
                      calloc((size_t)n_sum_of(p), sizeof(long double))};
    for (int64_t k = 0; k < p->tiles.n_tile; k++) {
        const tess_xp_tile tile = tess_xp_tiles_at(&p->tiles, k);
        for (int64_t a = 0; a < p->n_angle; a++) {
            for (int64_t col = 0; col < tile.n_column; col++) {
                const double y = xp_get(p, &tile, a, col);
                const int64_t j = tile.first_column + col;
                const double pair =
                    p->frame_weight ? p->frame_weight[tile.row] * p->frame_weight[j] : 1;
                const long double v = p->lag_weight ? p->lag_weight[a * p->n_frame + j - tile.row]
                                      : p->tiles.has_sigma ? *xp_sd(p, &tile, a, col)
                                                           : 1;
                if (y == y) {
                    plain_point(p, c, a, tile.row, j, y, v * pair, f_scale, &out);
                }
            }
        }
    }
    return out;
}

static tess_stage_xpcs_pass stage_of(const xp_problem *p, int32_t want, int32_t loss)
{
    return (tess_stage_xpcs_pass){.n_set = 1,
                                  .tiles = &p->tiles,
                                  .grid = &p->grid,
                                  .angles = p->angles,
                                  .records = p->records,
                                  .lag_weight = p->lag_weight,
                                  .frame_weight = p->frame_weight,
                                  .n_sum = n_sum_of(p),
                                  .n_leaf = tess_xp_tiles_n_leaf(&p->tiles),
                                  .n_param = p->n_param,
                                  .power = p->power,
                                  .want = want,
                                  .loss = loss,
                                  .f_scale = 1.5};
}

// Sums [n_leaf][n_sum]; free() them.
static double *leaf_sums(tess_context *ctx, tess_stage_xpcs_pass stage)
{
    double *sums = malloc((size_t)(stage.n_leaf * stage.n_sum) * sizeof *sums);
    memset(sums, 0xff, (size_t)(stage.n_leaf * stage.n_sum) * sizeof *sums);
    stage.sums = sums;
    xp_run(ctx, TESS_STAGE_XPCS_PASS, &stage, sizeof stage);
    return sums;
}

static double *total_sums(tess_context *ctx, const tess_stage_xpcs_pass *stage)
{
    double *leaves = leaf_sums(ctx, *stage);
    double *sums = calloc((size_t)stage->n_sum, sizeof *sums);
    for (int64_t leaf = 0; leaf < stage->n_leaf; leaf++) {
        for (int64_t k = 0; k < stage->n_sum; k++) {
            sums[k] += leaves[leaf * stage->n_sum + k];
        }
    }
    free(leaves);
    return sums;
}

static double worst_error(const double *got, const plain_sums *want, int64_t n, int64_t *at)
{
    double worst = 0;
    for (int64_t k = 0; k < n; k++) {
        const long double error = fabsl((long double)got[k] - want->sum[k]);
        const double ratio = error == 0 ? 0 : (double)(error / want->size[k]);
        if (!(ratio <= worst)) {
            worst = ratio;
            *at = k;
        }
    }
    return worst;
}

static int32_t want_of(const pass_case *c)
{
    return (c->no_gradient ? 0 : TESS_XP_WANT_GRADIENT) |
           (c->no_hessian ? 0 : TESS_XP_WANT_HESSIAN);
}

static void check_case(tess_context *ctx, const pass_case *c)
{
    xp_problem p = make_case(ctx, c);
    tess_stage_xpcs_pass stage = stage_of(&p, want_of(c), c->loss);
    stage.is_mixed = c->is_mixed;
    double *got = total_sums(ctx, &stage);
    plain_sums want = plain_pass(&p, c, stage.f_scale);
    int64_t at = 0;
    const double worst = worst_error(got, &want, stage.n_sum, &at);
    // Sums of thousands of terms, each right to a few units in the last place.
    const double exact = c->tolerance > 0 ? c->tolerance : 1e-13;
    if (!(worst <= (c->is_mixed ? 2e-6 : exact))) {
        fail_msg("%s, %lld angles of %lld frames: sum %lld is %.17g, by definition %.17Lg (%.2g)",
                 c->name, (long long)c->n_angle, (long long)c->n_frame, (long long)at, got[at],
                 want.sum[at], worst);
    }
    free(got);
    free(want.sum);
    free(want.size);
    xp_drop(ctx, &p);
}

// Derivatives by the fraction are differences of two terms.
#define TWO_ERROR 1e-12

static const pass_case cases[] = {
    {"laminar", 3, 70, 7, .has_holes = 0},
    {"one angle", 1, 40, 7, .item_bytes = 4},
    {"forty angles", 40, 33, 7, .has_holes = 1, .n_group = 3, .is_perpendicular = 1},
    {"upstream_v1", 3, 60, 7, .kernel = TESS_XPCS_KERNEL_UPSTREAM_V1, .time_scale = 1e-3},
    {"physical", 3, 60, 7, .kernel = TESS_XPCS_KERNEL_PHYSICAL, .has_holes = 1, .time_scale = 1e-3},
    {"perpendicular", 2, 60, 7, .is_perpendicular = 1, .time_scale = 1e-3},
    {"rounded integrals", 2, 60, 7, .eps_abs = 1e-6, .time_scale = 1e-3},
    {"three frames", 2, 3, 7, .has_holes = 0},
    {"17 frames", 2, 17, 7, .item_bytes = 4, .has_holes = 1},
    {"255 frames", 2, 255, 7, .has_holes = 1, .n_group = 2, .time_scale = 1e-3},
    {"257 frames", 2, 257, 7, .item_bytes = 4, .has_holes = 1, .time_scale = 1e-3},
    {"258 frames", 2, 258, 7, .time_scale = 1e-2},
    {"513 frames, dark corners", 2, 513, 7, .has_holes = 1},
    {"gradient", 3, 70, 7, .no_hessian = 1, .has_holes = 1},
    {"cost", 3, 70, 7, .no_hessian = 1, .no_gradient = 1, .has_holes = 1},
    {"lag weights", 3, 70, 7, .has_holes = 1, .has_lags = 1},
    {"sigmas", 3, 70, 7, .has_sigma = 1, .has_holes = 1},
    {"sigmas, f32", 3, 70, 7, .item_bytes = 4, .has_sigma = 1, .has_holes = 1},
    {"dark, lag weights", 2, 300, 7, .has_lags = 1, .time_scale = 3},
    {"frame weights", 3, 70, 7, .has_holes = 1, .has_frames = 1},
    {"all weights, huber", 3, 70, 7, .item_bytes = 4, .has_sigma = 1, .loss = TESS_XPCS_LOSS_HUBER,
     .has_holes = 1, .has_lags = 1, .has_frames = 1},
    {"static, frame weights", 3, 70, 3, .has_frames = 1},
    {"mixed", 3, 70, 7, .is_mixed = 1},
    {"mixed, forty angles", 40, 33, 7, .has_holes = 1, .n_group = 3, .is_perpendicular = 1,
     .is_mixed = 1},
    {"mixed, physical", 3, 260, 7, .kernel = TESS_XPCS_KERNEL_PHYSICAL, .has_holes = 1,
     .time_scale = 1e-3, .is_mixed = 1},
    {"mixed, dark corners", 2, 513, 7, .item_bytes = 4, .has_lags = 1, .is_mixed = 1},
    {"mixed gradient", 3, 70, 7, .no_hessian = 1, .has_sigma = 1, .is_mixed = 1},
    {"mixed cost", 3, 70, 7, .no_hessian = 1, .no_gradient = 1, .is_mixed = 1},
    {"mixed asked for of a static model", 3, 50, 3, .is_mixed = 1},
    {"static", 3, 300, 3, .has_holes = 0},
    {"static, f32, holes", 4, 260, 3, .item_bytes = 4, .has_holes = 1, .n_group = 2},
    {"static, rounded", 3, 50, 3, .eps_abs = 1e-2},
    {"static gradient", 3, 70, 3, .no_hessian = 1, .has_holes = 1},
    {"static cost", 3, 70, 3, .no_hessian = 1, .no_gradient = 1, .has_holes = 1},
    {"static, sigmas", 3, 70, 3, .has_sigma = 1, .has_holes = 1},
    {"soft_l1", 3, 70, 7, .loss = TESS_XPCS_LOSS_SOFT_L1, .has_holes = 1},
    {"huber", 3, 70, 7, .item_bytes = 4, .loss = TESS_XPCS_LOSS_HUBER, .has_holes = 1},
    {"cauchy", 3, 70, 7, .has_sigma = 1, .loss = TESS_XPCS_LOSS_CAUCHY, .has_holes = 1},
    {"arctan", 3, 70, 7, .loss = TESS_XPCS_LOSS_ARCTAN, .has_holes = 1, .has_lags = 1},
    {"dark, huber", 2, 300, 7, .loss = TESS_XPCS_LOSS_HUBER, .time_scale = 3},
    {"static, cauchy", 3, 70, 3, .loss = TESS_XPCS_LOSS_CAUCHY, .has_holes = 1},
    {"soft_l1 cost", 3, 70, 7, .no_hessian = 1, .no_gradient = 1, .loss = TESS_XPCS_LOSS_SOFT_L1,
     .has_holes = 1},
    {"two", 3, 70, XP_TWO, .tolerance = TWO_ERROR},
    {"two, fifty angles", 50, 17, XP_TWO, .has_holes = 1, .n_group = 3, .is_perpendicular = 1,
     .tolerance = TWO_ERROR},
    {"two, one angle", 1, 257, XP_TWO, .item_bytes = 4, .has_holes = 1, .tolerance = TWO_ERROR},
    {"two, rounded, dark", 1, 300, XP_TWO, .eps_abs = 1e-6, .tolerance = TWO_ERROR},
    {"two, dark, huber", 1, 270, XP_TWO, .loss = TESS_XPCS_LOSS_HUBER, .tolerance = TWO_ERROR},
    {"two, all weights, cauchy", 7, 70, XP_TWO, .has_sigma = 1, .loss = TESS_XPCS_LOSS_CAUCHY,
     .has_holes = 1, .has_frames = 1, .tolerance = TWO_ERROR},
    {"two, three frames", 5, 3, XP_TWO, .has_lags = 1, .tolerance = TWO_ERROR},
};

static void sums_by_definition(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
        if (!unit_is_quick() || cases[k].n_frame < 100) {
            check_case(ctx, &cases[k]);
        }
    }
    tess_context_destroy(ctx);
}

// All modes, kernels, losses, weights, precisions and sums that go together, with and without
// holes.
static void every_combination(void **state)
{
    (void)state;
    static const int64_t frames[] = {33, 19, 40};
    tess_context *ctx = unit_context(2, 0);
    int64_t number = 0, n_checked = 0;
    static const int32_t modes[] = {3, 7, XP_TWO};
    for (size_t mode = 0; mode < ARRAY_LEN(modes); mode++) {
        const int32_t n_param = modes[mode];
        for (int32_t kernel = 0; kernel <= (n_param == 7 ? TESS_XPCS_KERNEL_PHYSICAL : 0);
             kernel++) {
            for (int32_t loss = 0; loss <= TESS_XPCS_LOSS_ARCTAN; loss++) {
                for (int32_t bits = 0; bits < 64; bits++) {
                    for (int32_t want = 0; want < 3; want++, number++) {
                        const pass_case c = {"combination",
                                             2 + bits % 2,
                                             frames[number % 3],
                                             n_param,
                                             kernel,
                                             bits & 1 ? 4 : 8,
                                             .loss = loss,
                                             .has_sigma = (bits & 2) != 0,
                                             .has_lags = (bits & 4) != 0,
                                             .has_frames = (bits & 8) != 0,
                                             .has_holes = (bits & 16) != 0,
                                             .is_mixed = (bits & 32) != 0,
                                             .no_gradient = want == 0,
                                             .no_hessian = want < 2,
                                             .n_group = 1 + bits / 2 % 2,
                                             .is_perpendicular = number % 5 == 0,
                                             .time_scale = number % 2 ? 1e-3 : 1,
                                             .tolerance = 1e-12}; // of derivatives: the README
                        // Two components, whose sums are many, at a few.
                        const int32_t every = unit_is_quick() ? 29 : n_param == XP_TWO ? 61 : 3;
                        if (number % every == 0) {
                            check_case(ctx, &c);
                            n_checked++;
                        }
                    }
                }
            }
        }
    }
    assert_true(n_checked > (unit_is_quick() ? 130 : 1250));
    tess_context_destroy(ctx);
}

// Leaves here and there in one call have the bits they have among all others.
static void a_part_is_its_leaves(void **state)
{
    (void)state;
    const pass_case c = {"part", 3, 420, 7, .has_holes = 1};
    tess_context *ctx = unit_context(2, 0);
    xp_problem p = make_case(ctx, &c);
    tess_stage_xpcs_pass stage =
        stage_of(&p, TESS_XP_WANT_GRADIENT | TESS_XP_WANT_HESSIAN, TESS_XPCS_LOSS_LINEAR);
    const int64_t all = stage.n_leaf;
    double *whole = leaf_sums(ctx, stage);
    for (int64_t group = 1; group <= 3; group++) {
        for (int64_t first = 0; first < 3; first++) {
            stage.group = group;
            stage.period = 4 * group + 1;
            stage.first_leaf = first;
            stage.n_leaf = 1;
            while (tess_xp_leaf_of(&stage, stage.n_leaf) < all) {
                stage.n_leaf++;
            }
            double *part = leaf_sums(ctx, stage);
            assert_true(stage.n_leaf > 3);
            for (int64_t k = 0; k < stage.n_leaf; k++) {
                const int64_t n = first + k, leaf = n / group * stage.period + n % group;
                assert_memory_equal(part + k * stage.n_sum, whole + leaf * stage.n_sum,
                                    (size_t)stage.n_sum * sizeof *part);
            }
            free(part);
        }
    }
    free(whole);
    xp_drop(ctx, &p);
    tess_context_destroy(ctx);
}

// Any number of threads, and leaves asked for one by one, give the bits of one call.
static void cuts_change_nothing(void **state)
{
    (void)state;
    static const size_t chosen[] = {2, 9, 20, 25, 43, 47};
    static const int32_t threads[] = {1, 2, 7};
    for (size_t k = 0; k < ARRAY_LEN(chosen); k++) {
        double *first = NULL;
        for (size_t t = 0; t < ARRAY_LEN(threads); t++) {
            tess_context *ctx = unit_context(threads[t], 0);
            xp_problem p = make_case(ctx, &cases[chosen[k]]);
            tess_stage_xpcs_pass stage =
                stage_of(&p, want_of(&cases[chosen[k]]), cases[chosen[k]].loss);
            const int64_t n_leaf = stage.n_leaf;
            const size_t bytes = (size_t)stage.n_sum * sizeof(double);
            double *sums = leaf_sums(ctx, stage);
            first = first ? first
                          : memcpy(malloc(bytes * (size_t)n_leaf), sums, bytes * (size_t)n_leaf);
            assert_memory_equal(sums, first, bytes * (size_t)n_leaf);
            stage.n_leaf = 1;
            for (int64_t leaf = 0; leaf < n_leaf; leaf++) {
                stage.first_leaf = leaf;
                stage.records = p.records + tess_xp_tiles_leaf_offset(&p.tiles, leaf);
                double *alone = leaf_sums(ctx, stage);
                assert_memory_equal(alone, first + leaf * stage.n_sum, bytes);
                free(alone);
            }
            free(sums);
            xp_drop(ctx, &p);
            tess_context_destroy(ctx);
        }
        free(first);
    }
}

// Points of the parameters that are taken together, more than a launch of a GPU has room for, give
// the bits of each alone.
static void sets_change_nothing(void **state)
{
    (void)state;
    enum { N_SET = 19 };
    static const size_t chosen[] = {2, 13, 15, 18, 22, 30, 35, 43};
    tess_context *ctx = unit_context(2, 0);
    for (size_t k = 0; k < ARRAY_LEN(chosen); k++) {
        const pass_case *c = &cases[chosen[k]];
        xp_problem p = make_case(ctx, c), q = make_case(ctx, &cases[chosen[k]]);
        tess_stage_xpcs_pass stage = stage_of(&p, want_of(c), c->loss);
        stage.is_mixed = c->is_mixed;
        for (int64_t i = 0; i < 4 * p.n_frame; i++) {
            q.block[i] *= 0.75;
        }
        tess_xp_grid grids[N_SET];
        tess_xp_angle *angles = malloc(N_SET * (size_t)p.n_angle * sizeof *angles);
        for (int64_t s = 0; s < N_SET; s++) {
            grids[s] = s % 3 == 1 ? q.grid : p.grid;
            for (int64_t a = 0; a < p.n_angle; a++) {
                angles[s * p.n_angle + a] = p.angles[a];
                angles[s * p.n_angle + a].amplitude *= 1 + 0.1 * (double)s;
            }
        }
        const size_t bytes = (size_t)(stage.n_leaf * stage.n_sum) * sizeof(double);
        double *together = malloc(N_SET * bytes);
        tess_stage_xpcs_pass all = stage;
        all.n_set = N_SET, all.grid = grids, all.angles = angles, all.sums = together;
        xp_run(ctx, TESS_STAGE_XPCS_PASS, &all, sizeof all);
        for (int64_t s = 0; s < N_SET; s++) {
            stage.grid = &grids[s], stage.angles = angles + s * p.n_angle;
            double *alone = leaf_sums(ctx, stage);
            assert_memory_equal(alone, (char *)together + (size_t)s * bytes, bytes);
            free(alone);
        }
        free(together);
        free(angles);
        xp_drop(ctx, &p);
        xp_drop(ctx, &q);
    }
    tess_context_destroy(ctx);
}

static void ignored_sigmas(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const pass_case c = {"sigmas", 3, 40, 7, .has_sigma = 1, .has_holes = 1};
    xp_problem with = make_case(ctx, &c);
    tess_stage_xpcs_pass stage = stage_of(&with, want_of(&c), 0);
    stage.ignore_sigma = 1;
    double *got = total_sums(ctx, &stage);
    for (int64_t k = 0; k < with.tiles.n_tile; k++) {
        const tess_xp_tile tile = tess_xp_tiles_at(&with.tiles, k);
        for (int64_t i = 0; i < with.n_angle * tile.width; i++) {
            xp_sd(&with, &tile, 0, 0)[i] = 1;
        }
    }
    plain_sums want = plain_pass(&with, &c, 1);
    int64_t at = 0;
    assert_true(worst_error(got, &want, stage.n_sum, &at) <= 1e-13);
    free(got);
    free(want.sum);
    free(want.size);
    xp_drop(ctx, &with);
    tess_context_destroy(ctx);
}

// Holes where hashes and bad frames say, heads and weights of what is there; any leaf alone gives
// the same bytes.
static void simulated_holes(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    for (int32_t item_bytes = 4; item_bytes <= 8; item_bytes += 4) {
        const pass_case c = {"simulation", 3, 300, 7, .item_bytes = item_bytes, .has_sigma = 1};
        xp_problem p = make_case(ctx, &c), again = make_case(ctx, &c);
        uint8_t is_bad[300] = {0};
        is_bad[0] = is_bad[17] = is_bad[299] = 1;
        tess_stage_xpcs_simulate stage = {.tiles = &p.tiles,
                                          .grid = &p.grid,
                                          .angles = p.angles,
                                          .is_bad = is_bad,
                                          .records = p.records,
                                          .n_leaf = tess_xp_tiles_n_leaf(&p.tiles),
                                          .seed = 42,
                                          .sigma = 0.05,
                                          .nan_fraction = 0.02,
                                          .n_param = p.n_param,
                                          .power = p.power};
        xp_run(ctx, TESS_STAGE_XPCS_SIMULATE, &stage, sizeof stage);
        int64_t n_hole = 0, n_point = 0;
        for (int64_t k = 0; k < p.tiles.n_tile; k++) {
            const tess_xp_tile tile = tess_xp_tiles_at(&p.tiles, k);
            for (int64_t a = 0; a < p.n_angle; a++) {
                long double sums[3] = {0};
                for (int64_t col = 0; col < tile.width; col++) {
                    const int64_t j = tile.first_column + col;
                    const double y = xp_get(&p, &tile, a, col);
                    const int is_out = col >= tile.n_column;
                    uint64_t key =
                        (UINT64_C(42) << 40) + 2 * (uint64_t)((a * 300 + tile.row) * 300 + j);
                    key ^= UINT64_C(1) << 63;
                    const int is_drawn = (double)xp_random(&key) * 0x1p-64 < 0.02;
                    const int is_hole =
                        is_out || is_drawn || is_bad[tile.row] || (j < 300 && is_bad[j]);
                    assert_int_equal(y != y, is_hole);
                    assert_true(*xp_sd(&p, &tile, a, col) == (is_hole ? 0 : 1 / (0.05 * 0.05)));
                    n_hole += !is_out && is_hole, n_point += !is_out;
                    const long double d = (long double)y - p.angles[a].mean;
                    sums[0] += !is_hole, sums[1] += is_hole ? 0 : d, sums[2] += is_hole ? 0 : d * d;
                }
                for (int m = 0; m < 3; m++) {
                    assert_true(fabsl(xp_head(&p, &tile, a)[m] - sums[m]) <= 1e-13L * 256);
                }
            }
        }
        assert_true(n_hole > n_point / 50 && n_hole < n_point / 20);
        const int64_t n_leaf = stage.n_leaf;
        stage.n_leaf = 1;
        for (stage.first_leaf = 0; stage.first_leaf < n_leaf; stage.first_leaf++) {
            stage.records = again.records + tess_xp_tiles_leaf_offset(&p.tiles, stage.first_leaf);
            xp_run(ctx, TESS_STAGE_XPCS_SIMULATE, &stage, sizeof stage);
        }
        assert_memory_equal(p.records, again.records, (size_t)p.tiles.row_offset[299]);
        xp_drop(ctx, &p);
        xp_drop(ctx, &again);
    }
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_by_definition),   cmocka_unit_test(cuts_change_nothing),
        cmocka_unit_test(sets_change_nothing),  cmocka_unit_test(ignored_sigmas),
        cmocka_unit_test(simulated_holes),      cmocka_unit_test(every_combination),
        cmocka_unit_test(a_part_is_its_leaves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
