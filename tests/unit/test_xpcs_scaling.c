// Eliminating contrast and offset gives what the whole problem gives, unknowns and all.
#include "unit.h"
#include "unit_golden.h"

#include "stage/xpcs.h"
#include "systems/xpcs/fit/scaling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    P = 3,
    ANGLES = 7,
    POINTS = 60,
    STRIDE = 6 + 3 * P,
    N_SUM = ANGLES * STRIDE + P * (P + 1) / 2 + 1
};

static const double LOWER[2] = {0, 0.5};
static const double UPPER[2] = {1, 1.5};
static const double THETA[P] = {1.1, 0.4, -0.2};

// A small problem: y of every angle and point, model and derivatives at THETA.
typedef struct problem {
    double phi[ANGLES];
    double weight[ANGLES];
    double mean[ANGLES];
    double y[ANGLES][POINTS];
    double m[ANGLES][POINTS];
    double j[ANGLES][POINTS][P];
} problem;

static double noise(uint64_t k)
{
    k = (k + 1) * 0x9E3779B97F4A7C15u;
    k ^= k >> 29;
    k *= 0xBF58476D1CE4E5B9u;
    return (double)(k >> 11) * 0x1p-53 - 0.5;
}

static void make(problem *p, double contrast, double offset, double scatter)
{
    for (int64_t a = 0; a < ANGLES; a++) {
        double sum = 0;
        p->phi[a] = -170 + 50.0 * (double)a;
        p->weight[a] = 1 + 0.3 * (double)a;
        const double c = contrast * (1 + scatter * noise((uint64_t)a));
        const double o = offset * (1 + 0.1 * scatter * noise(100 + (uint64_t)a));
        for (int64_t i = 0; i < POINTS; i++) {
            const double t = 0.05 * (double)(i + 1);
            const double slow = 1 + 0.2 * (double)a;
            const double e = exp(-THETA[0] * slow * t) * (1 + THETA[1] * t + THETA[2] * t * t);
            p->m[a][i] = e;
            p->j[a][i][0] = -slow * t * e;
            p->j[a][i][1] = exp(-THETA[0] * slow * t) * t;
            p->j[a][i][2] = exp(-THETA[0] * slow * t) * t * t;
            p->y[a][i] = o + c * (e + 0.1 * t) + 0.05 * noise((uint64_t)(1000 * a + i));
            sum += p->y[a][i];
        }
        p->mean[a] = sum / POINTS + 1e-3; // any reference will do
    }
}

static void sum_up(const problem *p, const double *before, double *sums)
{
    memset(sums, 0, N_SUM * sizeof *sums);
    for (int64_t a = 0; a < ANGLES; a++) {
        double *s = sums + a * STRIDE;
        for (int64_t i = 0; i < POINTS; i++) {
            const double m = p->m[a][i];
            const double y = p->y[a][i] - p->mean[a];
            const double six[6] = {1, m, m * m, y, y * y, m * y};
            for (int k = 0; k < 6; k++) {
                s[k] += six[k];
            }
            double *h = sums + ANGLES * STRIDE;
            for (int k = 0; k < P; k++) {
                s[6 + k] += p->j[a][i][k];
                s[6 + P + k] += p->j[a][i][k] * m;
                s[6 + 2 * P + k] += p->j[a][i][k] * y;
                for (int l = k; l < P; l++) {
                    *h++ += before[a] * before[a] * p->weight[a] * p->j[a][i][k] * p->j[a][i][l];
                }
            }
        }
    }
}

// The unknowns' derivatives at a point: row [n_unknown].
static void basis_row(const problem *p, int32_t mode, int64_t nb, int64_t a, int64_t i, double *row)
{
    memset(row, 0, (size_t)(2 * nb) * sizeof *row);
    for (int64_t k = 0; k < nb; k++) {
        const double x = p->phi[a] * 3.14159265358979323846 / 180 * (double)((k + 1) / 2);
        double b = k == 0 ? 1 : k % 2 ? cos(x) : sin(x);
        b = mode == TESS_XPCS_SCALING_INDIVIDUAL ? a == k : b;
        row[k] = b * p->m[a][i];
        row[nb + k] = b;
    }
}

// x of a x = b by elimination with pivots; a [n][n], b [n][m] become used up and the solution.
static void eliminate(double *a, double *b, int64_t n, int64_t m)
{
    for (int64_t c = 0; c < n; c++) {
        int64_t pivot = c;
        for (int64_t r = c; r < n; r++) {
            pivot = fabs(a[r * n + c]) > fabs(a[pivot * n + c]) ? r : pivot;
        }
        for (int64_t k = 0; k < n + m; k++) {
            double *x = k < n ? &a[c * n + k] : &b[c * m + k - n];
            double *y = k < n ? &a[pivot * n + k] : &b[pivot * m + k - n];
            const double t = *x;
            *x = *y;
            *y = t;
        }
        for (int64_t r = 0; r < n; r++) {
            const double f = r == c ? 0 : a[r * n + c] / a[c * n + c];
            for (int64_t k = 0; k < n; k++) {
                a[r * n + k] -= f * a[c * n + k];
            }
            for (int64_t k = 0; k < m; k++) {
                b[r * m + k] -= f * b[c * m + k];
            }
        }
    }
    for (int64_t r = 0; r < n * m; r++) {
        b[r] /= a[r / m * n + r / m];
    }
}

enum { MOST = 2 * ANGLES };

// Best unknowns, residual by residual.
static void best_unknowns(const problem *p, int32_t mode, int64_t nb, double *u)
{
    double normal[MOST * MOST] = {0};
    double row[MOST];
    const int64_t n = 2 * nb;
    memset(u, 0, MOST * sizeof *u);
    for (int64_t a = 0; a < ANGLES; a++) {
        for (int64_t i = 0; i < POINTS; i++) {
            basis_row(p, mode, nb, a, i, row);
            for (int64_t k = 0; k < n; k++) {
                u[k] += p->weight[a] * row[k] * p->y[a][i];
                for (int64_t l = 0; l < n; l++) {
                    normal[k * n + l] += p->weight[a] * row[k] * row[l];
                }
            }
        }
    }
    eliminate(normal, u, n, 1);
}

typedef struct whole {
    double cost;
    double gradient[P];
    double hessian[P * P];
    double inverse[MOST * MOST]; // of the unknowns' normal matrix
} whole;

// Cost, gradient and Kaufman's Hessian of the problem as it stands: J^T (1 - B (B^T B)^-1 B^T) J.
static void solve_whole(const problem *p, int32_t mode, int64_t nb, const double *contrast,
                        const double *offset, whole *out)
{
    const int64_t n = 2 * nb;
    double normal[MOST * MOST] = {0};
    double cross[MOST * P] = {0};
    double solved[MOST * P];
    double row[MOST];
    memset(out, 0, sizeof *out);
    for (int64_t a = 0; a < ANGLES; a++) {
        for (int64_t i = 0; i < POINTS; i++) {
            const double w = p->weight[a];
            const double r = offset[a] + contrast[a] * p->m[a][i] - p->y[a][i];
            basis_row(p, mode, nb, a, i, row);
            out->cost += 0.5 * w * r * r;
            for (int64_t k = 0; k < P; k++) {
                const double j = contrast[a] * p->j[a][i][k];
                out->gradient[k] += w * j * r;
                for (int64_t l = 0; l < P; l++) {
                    out->hessian[k * P + l] += w * j * contrast[a] * p->j[a][i][l];
                }
                for (int64_t u = 0; u < n; u++) {
                    cross[u * P + k] += w * j * row[u];
                }
            }
            for (int64_t u = 0; u < n * n; u++) {
                normal[u] += w * row[u / n] * row[u % n];
            }
        }
    }
    for (int64_t u = 0; u < n; u++) {
        out->inverse[u * n + u] = 1;
    }
    double used[MOST * MOST];
    memcpy(used, normal, sizeof used);
    eliminate(used, out->inverse, n, n);
    memcpy(solved, cross, sizeof solved);
    eliminate(normal, solved, n, P);
    for (int64_t k = 0; k < P * P; k++) {
        for (int64_t u = 0; u < n; u++) {
            out->hessian[k] -= cross[u * P + k / P] * solved[u * P + k % P];
        }
    }
}

typedef struct fixture {
    tess_context *ctx;
    problem p;
    tess_xp_scaling scaling;
    double sums[N_SUM];
    double *block;
    tess_xp_reduced reduced;
} fixture;

static void open_fixture(fixture *f, int32_t mode, double contrast, double offset, double scatter)
{
    double given[2][ANGLES];
    f->ctx = unit_context(1, 0);
    make(&f->p, contrast, offset, scatter);
    for (int64_t a = 0; a < ANGLES; a++) {
        given[0][a] = 0.3 + 0.01 * (double)a;
        given[1][a] = 1.1 - 0.01 * (double)a;
    }
    const tess_xp_scaling_setup setup = {.mode = mode,
                                         .fourier_order = 2,
                                         .n_angle = ANGLES,
                                         .n_param = P,
                                         .phi = f->p.phi,
                                         .mean = f->p.mean,
                                         .inverse_variance = f->p.weight,
                                         .contrast = given[0],
                                         .offset = given[1],
                                         .lower = LOWER,
                                         .upper = UPPER};
    assert_ok(tess_xp_scaling_create(f->ctx, &setup, &f->scaling));
    f->block = malloc(tess_xp_reduced_bytes(ANGLES, P));
    tess_xp_reduced_bind(&f->reduced, f->block, ANGLES, P);
    // Contrasts first, then the Hessian with them.
    double none[ANGLES] = {0};
    sum_up(&f->p, none, f->sums);
    tess_xp_scaling_reduce(&f->scaling, f->sums, none, 0, &f->reduced);
    double before[ANGLES];
    memcpy(before, f->reduced.contrast, sizeof before);
    sum_up(&f->p, before, f->sums);
    tess_xp_scaling_reduce(&f->scaling, f->sums, before,
                           TESS_XP_WANT_GRADIENT | TESS_XP_WANT_HESSIAN, &f->reduced);
}

static void close_fixture(fixture *f)
{
    tess_xp_scaling_destroy(&f->scaling);
    free(f->block);
    tess_context_destroy(f->ctx);
}

static void check_against_whole(const fixture *f, int32_t mode, int64_t nb)
{
    whole want;
    solve_whole(&f->p, mode, nb, f->reduced.contrast, f->reduced.offset, &want);
    assert_true(fabs(*f->reduced.cost - want.cost) <= 1e-12 * want.cost);
    for (int64_t k = 0; k < P; k++) {
        const double size = sqrt(want.hessian[k * P + k]);
        assert_true(fabs(f->reduced.gradient[k] - want.gradient[k]) <=
                    1e-11 * size * sqrt(want.cost));
        for (int64_t l = 0; l < P; l++) {
            assert_true(fabs(f->reduced.hessian[k * P + l] - want.hessian[k * P + l]) <=
                        1e-11 * size * sqrt(want.hessian[l * P + l]));
        }
    }
}

static void all_modes_are_the_whole_problem(void **state)
{
    (void)state;
    static const struct {
        int32_t mode;
        int64_t n_basis;
    } modes[] = {{TESS_XPCS_SCALING_INDIVIDUAL, ANGLES},
                 {TESS_XPCS_SCALING_AVERAGED, 1},
                 {TESS_XPCS_SCALING_FOURIER, 5},
                 {TESS_XPCS_SCALING_CONSTANT, 0},
                 {TESS_XPCS_SCALING_CONSTANT_AVERAGED, 0}};
    for (size_t k = 0; k < ARRAY_LEN(modes); k++) {
        fixture f;
        double u[MOST];
        double contrast[ANGLES];
        double offset[ANGLES];
        open_fixture(&f, modes[k].mode, 0.3, 1.1, 0.2);
        assert_int_equal(tess_xp_scaling_n_unknown(&f.scaling), 2 * modes[k].n_basis);
        check_against_whole(&f, modes[k].mode, modes[k].n_basis);
        if (modes[k].n_basis > 0) {
            best_unknowns(&f.p, modes[k].mode, modes[k].n_basis, u);
            tess_xp_scaling_expand(&f.scaling, u, contrast, offset);
            assert_near(f.reduced.contrast, contrast, ANGLES, 1e-11);
            assert_near(f.reduced.offset, offset, ANGLES, 1e-11);
            double back[MOST];
            assert_ok(tess_xp_scaling_collect(&f.scaling, contrast, offset, back));
            assert_near(back, u, 2 * modes[k].n_basis, 1e-11);
        }
        close_fixture(&f);
    }
}

static void constant_scaling_stays(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f, TESS_XPCS_SCALING_CONSTANT, 0.3, 1.1, 0.2);
    assert_true(f.reduced.contrast[3] == 0.3 + 0.01 * 3);
    assert_int_equal(f.reduced.offset_status[0], TESS_XPCS_FIXED);
    close_fixture(&f);
    open_fixture(&f, TESS_XPCS_SCALING_CONSTANT_AVERAGED, 0.3, 1.1, 0.2);
    assert_true(fabs(f.reduced.contrast[6] - 0.33) < 1e-15);
    assert_true(fabs(f.reduced.offset[0] - 1.07) < 1e-15);
    close_fixture(&f);
}

// The response is by how much the best unknowns move with theta, residuals aside.
static void the_inverse_is_that_of_the_unknowns(void **state)
{
    (void)state;
    static const struct {
        int32_t mode;
        int64_t n_basis;
    } modes[] = {{TESS_XPCS_SCALING_INDIVIDUAL, ANGLES},
                 {TESS_XPCS_SCALING_AVERAGED, 1},
                 {TESS_XPCS_SCALING_FOURIER, 5}};
    for (size_t k = 0; k < ARRAY_LEN(modes); k++) {
        fixture f;
        whole want;
        const int64_t nb = modes[k].n_basis;
        double inverse[4 * ANGLES * ANGLES];
        open_fixture(&f, modes[k].mode, 0.3, 1.1, 0.2);
        solve_whole(&f.p, modes[k].mode, nb, f.reduced.contrast, f.reduced.offset, &want);
        tess_xp_scaling_inverse(&f.scaling, f.sums, &f.reduced, inverse);
        for (int64_t row = 0; row < 2 * ANGLES; row++) {
            // Column by column: what a unit push on one unknown does, expanded to angles.
            double u[MOST] = {0};
            double out[2 * ANGLES];
            double weights[MOST];
            problem ones = f.p;
            memset(ones.m, 0, sizeof ones.m);
            ones.m[row % ANGLES][0] = 1;
            basis_row(&ones, modes[k].mode, nb, row % ANGLES, 0, weights);
            for (int64_t i = 0; i < nb; i++) {
                for (int64_t j = 0; j < 2 * nb; j++) {
                    u[j] += weights[i] * want.inverse[j * 2 * nb + i + (row < ANGLES ? 0 : nb)];
                }
            }
            tess_xp_scaling_expand(&f.scaling, u, out, out + ANGLES);
            assert_near(inverse + row * 2 * ANGLES, out, 2 * ANGLES, 1e-11);
        }
        close_fixture(&f);
    }
}

// Brute force: the best corner or edge of a fine grid.
static double grid_cost(const problem *p, int64_t a, double contrast, double offset)
{
    double cost = 0;
    for (int64_t i = 0; i < POINTS; i++) {
        const double r = offset + contrast * p->m[a][i] - p->y[a][i];
        cost += 0.5 * p->weight[a] * r * r;
    }
    return cost;
}

static void bounds_of_pairs_are_exact(void **state)
{
    (void)state;
    static const double cases[][2] = {{2.5, 1.1}, {-1.5, 1.0}, {0.3, 1.9}, {0.3, 0.2}, {2.5, 1.9}};
    for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
        fixture f;
        open_fixture(&f, TESS_XPCS_SCALING_INDIVIDUAL, cases[k][0], cases[k][1], 0.1);
        for (int64_t a = 0; a < ANGLES; a++) {
            const double c = f.reduced.contrast[a];
            const double o = f.reduced.offset[a];
            assert_true(c >= LOWER[0] && c <= UPPER[0] && o >= LOWER[1] && o <= UPPER[1]);
            assert_true(f.reduced.contrast_status[a] != TESS_XPCS_FREE ||
                        f.reduced.offset_status[a] != TESS_XPCS_FREE);
            const double cost = grid_cost(&f.p, a, c, o);
            assert_true(fabs(f.reduced.cost_angle[a] - cost) <= 1e-12 * cost);
            for (int i = 0; i <= 200; i++) {
                for (int j = 0; j <= 200; j++) {
                    assert_true(grid_cost(&f.p, a, 0.005 * i, 0.5 + 0.005 * j) >=
                                cost * (1 - 1e-12));
                }
            }
        }
        close_fixture(&f);
    }
}

// With the contrast at its bound the offset alone follows the model.
static void an_unknown_at_its_bound_is_fixed(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f, TESS_XPCS_SCALING_INDIVIDUAL, 1.8, 0.7, 0.0);
    double want[P * P] = {0};
    for (int64_t a = 0; a < ANGLES; a++) {
        assert_int_equal(f.reduced.contrast_status[a], TESS_XPCS_AT_UPPER);
        assert_int_equal(f.reduced.offset_status[a], TESS_XPCS_FREE);
        for (int64_t k = 0; k < P * P; k++) {
            double product = 0;
            double one = 0;
            double other = 0;
            for (int64_t i = 0; i < POINTS; i++) {
                product += f.p.j[a][i][k / P] * f.p.j[a][i][k % P];
                one += f.p.j[a][i][k / P];
                other += f.p.j[a][i][k % P];
            }
            want[k] += f.p.weight[a] * (product - one * other / POINTS);
        }
        for (int64_t k = 0; k < P; k++) {
            assert_true(f.reduced.response[a * P + k] == 0);
        }
    }
    assert_near(f.reduced.hessian, want, P * P, 1e-10 * want[0]);
    close_fixture(&f);
}

static void a_flat_model_has_no_signal(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f, TESS_XPCS_SCALING_INDIVIDUAL, 0.3, 1.1, 0.1);
    for (int64_t i = 0; i < POINTS; i++) {
        f.p.m[2][i] = 0.7;
    }
    const double before[ANGLES] = {0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3};
    sum_up(&f.p, before, f.sums);
    tess_xp_scaling_reduce(&f.scaling, f.sums, before, TESS_XP_WANT_GRADIENT | TESS_XP_WANT_HESSIAN,
                           &f.reduced);
    assert_int_equal(f.reduced.contrast_status[2], TESS_XPCS_UNIDENTIFIED);
    assert_int_equal(f.reduced.contrast_status[1], TESS_XPCS_FREE);
    assert_true(f.reduced.contrast[2] == 0);
    for (int64_t k = 0; k < P; k++) {
        assert_true(isfinite(f.reduced.gradient[k]));
        assert_true(f.reduced.hessian[k * P + k] > 0);
    }
    // No points at all: nothing is added, nothing breaks.
    memset(f.sums + 2 * STRIDE, 0, STRIDE * sizeof *f.sums);
    tess_xp_scaling_reduce(&f.scaling, f.sums, before, TESS_XP_WANT_GRADIENT, &f.reduced);
    assert_true(f.reduced.cost_angle[2] == 0);
    assert_int_equal(f.reduced.contrast_status[2], TESS_XPCS_UNIDENTIFIED);
    close_fixture(&f);
}

static void series_need_angles(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const double zero[4] = {0};
    tess_xp_scaling scaling;
    tess_xp_scaling_setup setup = {.mode = TESS_XPCS_SCALING_FOURIER,
                                   .fourier_order = 2,
                                   .n_angle = 4,
                                   .n_param = P,
                                   .phi = zero,
                                   .mean = zero,
                                   .lower = LOWER,
                                   .upper = UPPER};
    assert_fails(tess_xp_scaling_create(ctx, &setup, &scaling), TESS_E_CONFIG,
                 "order 2 needs 5 angles, the data have 4");
    tess_context_destroy(ctx);
}

typedef struct golden {
    const char *prefix; // "laminar_start"
    int64_t n_angle;
    int64_t n;
    double *sums;
} golden;

static double *member(tess_context *ctx, const golden *g, const char *what, int64_t *n)
{
    char name[64];
    snprintf(name, sizeof name, "%s_%s", g->prefix, what);
    return golden_f64(ctx, "xpcs/accumulators", name, n);
}

static golden read_golden(tess_context *ctx, const char *prefix)
{
    static const char *const names[] = {"S1", "Sf", "Sff", "Sy", "Syy", "Sfy", "Pk", "Qk", "Rk"};
    golden g = {.prefix = prefix};
    free(member(ctx, &g, "S1", &g.n_angle));
    free(member(ctx, &g, "gradient", &g.n));
    const int64_t stride = 6 + 3 * g.n;
    g.sums = calloc((size_t)(g.n_angle * stride + g.n * (g.n + 1) / 2 + 1), sizeof *g.sums);
    for (int part = 0; part < 9; part++) {
        double *values = member(ctx, &g, names[part], NULL);
        const int64_t width = part < 6 ? 1 : g.n;
        const int64_t at = part < 6 ? part : 6 + (part - 6) * g.n;
        for (int64_t a = 0; a < g.n_angle; a++) {
            memcpy(g.sums + a * stride + at, values + a * width, (size_t)width * sizeof *values);
        }
        free(values);
    }
    return g;
}

static void check_golden(tess_context *ctx, const golden *g)
{
    double *contrast = member(ctx, g, "contrast", NULL);
    double *offset = member(ctx, g, "offset", NULL);
    double *gradient = member(ctx, g, "gradient", NULL);
    double *hessian = member(ctx, g, "hessian", NULL);
    double *cost = member(ctx, g, "cost", NULL);
    double *mean = calloc((size_t)g->n_angle, sizeof *mean);
    const tess_xp_scaling_setup setup = {.mode = TESS_XPCS_SCALING_INDIVIDUAL,
                                         .n_angle = g->n_angle,
                                         .n_param = g->n,
                                         .mean = mean,
                                         .lower = LOWER,
                                         .upper = UPPER};
    tess_xp_scaling scaling;
    tess_xp_reduced reduced;
    assert_ok(tess_xp_scaling_create(ctx, &setup, &scaling));
    void *block = malloc(tess_xp_reduced_bytes(g->n_angle, g->n));
    tess_xp_reduced_bind(&reduced, block, g->n_angle, g->n);
    tess_xp_scaling_reduce(&scaling, g->sums, contrast, TESS_XP_WANT_GRADIENT, &reduced);
    // These sums are not centred: a few digits of the cost go with the square of the offset.
    assert_near(reduced.contrast, contrast, g->n_angle, 1e-11);
    assert_near(reduced.offset, offset, g->n_angle, 1e-11);
    assert_true(fabs(*reduced.cost - *cost) <= 1e-11 * *cost);
    for (int64_t i = 0; i < g->n; i++) {
        const double size = sqrt(hessian[i * g->n + i] * *cost);
        assert_true(fabs(reduced.gradient[i] - gradient[i]) <= 1e-8 * size);
    }
    tess_xp_scaling_destroy(&scaling);
    void *const owned[] = {block, mean, contrast, offset, gradient, hessian, cost};
    for (size_t k = 0; k < ARRAY_LEN(owned); k++) {
        free(owned[k]);
    }
}

static void golden_sums_reduce_to_golden_costs(void **state)
{
    (void)state;
    static const char *const prefixes[] = {"laminar_start", "laminar_truth", "laminar_optimum",
                                           "static_start",  "static_truth",  "static_optimum"};
    tess_context *ctx = unit_context(1, 0);
    for (size_t k = 0; k < ARRAY_LEN(prefixes); k++) {
        golden g = read_golden(ctx, prefixes[k]);
        check_golden(ctx, &g);
        free(g.sums);
    }
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_modes_are_the_whole_problem),
        cmocka_unit_test(constant_scaling_stays),
        cmocka_unit_test(the_inverse_is_that_of_the_unknowns),
        cmocka_unit_test(bounds_of_pairs_are_exact),
        cmocka_unit_test(an_unknown_at_its_bound_is_fixed),
        cmocka_unit_test(a_flat_model_has_no_signal),
        cmocka_unit_test(series_need_angles),
        cmocka_unit_test(golden_sums_reduce_to_golden_costs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
