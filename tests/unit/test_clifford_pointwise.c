// Stages gate and norm of clifford on the CPU, against their definitions in double. Second
// derivatives are compared with differences of first ones.
#include "clifford_naive.h"

#include <stdio.h>

// Gate or norm: three arrays in, results of three passes.
typedef struct map_case {
    tess_stage_clifford_norm args;
    layout how;
    tensor x, g, u, z, gx, dg, dx;
} map_case;

// One pass of a row in double: forward to z, backward to gx.
static void map_naive_row(const map_case *c, int is_norm, const double *x, const double *g,
                          double *z, double *gx)
{
    const tess_cl_problem *p = &c->args.problem;
    const int d = p->algebra->n_component;
    const int64_t n = p->n_in;
    double r[G_MAX];
    if (is_norm) {
        norm_naive(p, n, x, g, z, gx, r);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        double xs[D_MAX] = {0}, gs[D_MAX] = {0}, a[D_MAX], b[D_MAX];
        for (int k = 0; k < d; k++) {
            xs[k] = x[k * n + i];
            gs[k] = g[k * n + i];
        }
        gate_naive(p->activation, d, xs, a);
        gate_back_naive(p->activation, d, xs, gs, b);
        for (int k = 0; k < d; k++) {
            z[k * n + i] = a[k];
            gx[k * n + i] = b[k];
        }
    }
}

// sum u gx as x or g is moved.
static double bent(const map_case *c, int is_norm, const double *x, const double *g,
                   const double *u, double *work)
{
    const int64_t n = c->x.shape[0] * c->x.shape[2];
    double sum = 0;
    map_naive_row(c, is_norm, x, g, work, work + n);
    for (int64_t i = 0; i < n; i++) {
        sum += u[i] * work[n + i];
    }
    return sum;
}

// d_g and d_x of a row by central differences.
static void map_twice_row(const map_case *c, int is_norm, double *x, double *g, const double *u,
                          double *dg, double *dx, double *work)
{
    const int64_t n = c->x.shape[0] * c->x.shape[2];
    for (int which = 0; which < 2; which++) {
        double *at = which ? x : g, *to = which ? dx : dg;
        for (int64_t i = 0; i < n; i++) {
            const double kept = at[i], step = 1e-4;
            double f[4];
            for (int s = 0; s < 4; s++) {
                static const int by[] = {-2, -1, 1, 2};
                at[i] = kept + by[s] * step;
                f[s] = bent(c, is_norm, x, g, u, work);
            }
            at[i] = kept;
            to[i] = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * step);
            to[i] = fabs(to[i]) < 1e-9 ? 0 : to[i]; // the rounding errors of a zero
        }
    }
}

static map_case make_map(const tess_cl_problem *p, int is_norm, layout how, int is_twice)
{
    const int64_t d = p->algebra->n_component, b = p->n_row, n = p->n_in;
    map_case c = {.args.problem = *p, .how = how};
    tensor *in[] = {&c.x, &c.g, &c.u}, *out[] = {&c.z, &c.gx, &c.dg, &c.dx};
    for (int k = 0; k < 4; k++) {
        if (k < 3) {
            *in[k] = random_tensor(d, b, n, p->dtype, other(how, k));
        }
        *out[k] = make_tensor(d, b, n, p->dtype, how);
    }
    double *block = malloc((size_t)(9 * d * n) * sizeof *block);
    for (int64_t row = 0; row < b; row++) {
        double *at[7];
        for (int k = 0; k < 7; k++) {
            at[k] = block + k * d * n;
            if (k < 3) {
                row_of(in[k], row, at[k]);
            }
        }
        map_naive_row(&c, is_norm, at[0], at[1], at[3], at[4]);
        if (is_twice) {
            map_twice_row(&c, is_norm, at[0], at[1], at[2], at[5], at[6], block + 7 * d * n);
        }
        for (int k = 0; k < (is_twice ? 4 : 2); k++) {
            put_row(out[k], row, at[3 + k]);
        }
    }
    free(block);
    c.args.x = c.x.view, c.args.grad_out = c.g.view, c.args.cotangent = c.u.view;
    c.args.out = c.z.view, c.args.grad_x = c.gx.view;
    c.args.d_grad_out = c.dg.view, c.args.d_x = c.dx.view;
    return c;
}

static void free_map(map_case *c)
{
    tensor *all[] = {&c->x, &c->g, &c->u, &c->z, &c->gx, &c->dg, &c->dx};
    for (size_t k = 0; k < ARRAY_LEN(all); k++) {
        free_tensor(all[k]);
    }
}

static void run_map(tess_context *ctx, map_case *c, int is_norm, int32_t pass)
{
    c->args.problem.pass = pass;
    if (is_norm) {
        run_stage(ctx, TESS_STAGE_CLIFFORD_NORM, &c->args, sizeof c->args);
        return;
    }
    const tess_stage_clifford_gate gate = {.problem = c->args.problem,
                                           .x = c->args.x,
                                           .out = c->args.out,
                                           .grad_out = c->args.grad_out,
                                           .grad_x = c->args.grad_x,
                                           .cotangent = c->args.cotangent,
                                           .d_grad_out = c->args.d_grad_out,
                                           .d_x = c->args.d_x};
    run_stage(ctx, TESS_STAGE_CLIFFORD_GATE, &gate, sizeof gate);
}

static void check_map(tess_context *ctx, const tess_cl_problem *p, int is_norm, layout how)
{
    map_case c = make_map(p, is_norm, how, 0);
    run_map(ctx, &c, is_norm, TESS_CLIFFORD_FORWARD);
    check_tensor(&c.z, how, is_norm ? "norm" : "gate", tolerance(p->dtype));
    run_map(ctx, &c, is_norm, TESS_CLIFFORD_BACKWARD);
    check_tensor(&c.gx, how, is_norm ? "norm backward" : "gate backward", tolerance(p->dtype));
    free_map(&c);
}

static void test_gate_passes(void **state)
{
    (void)state;
    static const int32_t dtypes[] = {TESS_F64, TESS_F32, TESS_BF16, TESS_F16};
    const tess_clifford_algebra algebra = algebra_of("+++");
    tess_context *ctx = unit_context(2, 0);
    for (int32_t activation = TESS_CLIFFORD_IDENTITY; activation <= TESS_CLIFFORD_SILU;
         activation++) {
        for (size_t t = 0; t < ARRAY_LEN(dtypes); t++) {
            tess_cl_problem p = problem_of(&algebra, 19, 41, dtypes[t], 0);
            p.activation = activation;
            check_map(ctx, &p, 0, (layout)((activation + (int)t) % N_LAYOUT));
        }
    }
    tess_context_destroy(ctx);
}

static void test_norm_passes(void **state)
{
    (void)state;
    static const int32_t dtypes[] = {TESS_F64, TESS_F32, TESS_BF16, TESS_F16};
    static const char *const metrics[] = {"++", "+++", "0+++", "+---", "++++-"};
    tess_context *ctx = unit_context(2, 0);
    for (size_t m = 0; m < ARRAY_LEN(metrics); m++) {
        const tess_clifford_algebra algebra = algebra_of(metrics[m]);
        for (int32_t metric = TESS_CLIFFORD_NORM_EUCLID; metric <= TESS_CLIFFORD_NORM_ABS_CLAMP;
             metric++) {
            for (size_t t = 0; t < ARRAY_LEN(dtypes); t++) {
                tess_cl_problem p = problem_of(&algebra, 19, 41, dtypes[t], 0);
                p.norm_metric = metric;
                p.eps = metric >= TESS_CLIFFORD_NORM_CLAMP ? 1 : 1e-6;
                check_map(ctx, &p, 1, (layout)((metric + (int)t) % N_LAYOUT));
            }
        }
    }
    tess_context_destroy(ctx);
}

static void test_second_derivatives(void **state)
{
    (void)state;
    static const char *const metrics[] = {"++", "+++", "0++", "+-"};
    tess_context *ctx = unit_context(2, 0);
    for (size_t m = 0; m < ARRAY_LEN(metrics); m++) {
        const tess_clifford_algebra algebra = algebra_of(metrics[m]);
        for (int32_t kind = 0; kind < 11; kind++) { // seven activations, four norms
            for (int wide = 0; wide < 2; wide++) {
                tess_cl_problem p = problem_of(&algebra, 3, 5, wide ? TESS_F64 : TESS_F32, 0);
                const int is_norm = kind > TESS_CLIFFORD_SILU;
                p.activation = is_norm ? TESS_CLIFFORD_GELU : kind;
                p.norm_metric = is_norm ? kind - TESS_CLIFFORD_SILU : TESS_CLIFFORD_NORM_EUCLID;
                p.eps = 0.01;
                map_case c = make_map(&p, is_norm, (layout)(kind % N_LAYOUT), 1);
                run_map(ctx, &c, is_norm, TESS_CLIFFORD_DOUBLE_BACKWARD);
                char what[64];
                snprintf(what, sizeof what, "%s kind %d", metrics[m], kind);
                check_tensor(&c.dg, c.how, what, wide ? 1e-9 : 2e-6);
                check_tensor(&c.dx, c.how, what, wide ? 1e-8 : 2e-6);
                free_map(&c);
            }
        }
    }
    tess_context_destroy(ctx);
}

// Zero grades, and means of squares below eps.
static void test_norm_edges(void **state)
{
    (void)state;
    const tess_clifford_algebra algebra = algebra_of("+++");
    tess_context *ctx = unit_context(1, 0);
    for (int32_t metric = TESS_CLIFFORD_NORM_EUCLID; metric <= TESS_CLIFFORD_NORM_ABS_CLAMP;
         metric++) {
        for (int tiny = 0; tiny < 2; tiny++) {
            tess_cl_problem p = problem_of(&algebra, 2, 9, TESS_F64, 0);
            p.norm_metric = metric;
            map_case c = make_map(&p, 1, PLAIN, 0);
            for (int64_t i = 0; i < 8 * 2 * 9; i++) {
                c.x.values[i] *= tiny ? 0x1p-40 : 0;
            }
            write_tensor(&c.x);
            run_map(ctx, &c, 1, TESS_CLIFFORD_FORWARD);
            run_map(ctx, &c, 1, TESS_CLIFFORD_BACKWARD);
            for (int64_t i = 0; i < 8 * 2 * 9; i++) {
                const double z = ((double *)c.z.view.data)[i], h = ((double *)c.gx.view.data)[i];
                assert_true(fabs(z - 1000 * c.x.values[i]) <= 1e-12 * fabs(1000 * c.x.values[i]));
                assert_true(fabs(h - 1000 * c.g.values[i]) <= 1e-9);
            }
            run_map(ctx, &c, 1, TESS_CLIFFORD_DOUBLE_BACKWARD);
            for (int64_t i = 0; i < 8 * 2 * 9; i++) {
                assert_true(isfinite(((double *)c.dx.view.data)[i]));
            }
            free_map(&c);
        }
    }
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gate_passes),
        cmocka_unit_test(test_norm_passes),
        cmocka_unit_test(test_second_derivatives),
        cmocka_unit_test(test_norm_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
