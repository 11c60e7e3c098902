// Stage sgp of clifford on the CPU, against its definition in double: every type, strides of all
// kinds, odd shapes, any number of threads.
#include "clifford_naive.h"

#include <stdio.h>

// Everything of one product: inputs, results with what they should be.
typedef struct sgp_case {
    tess_cl_problem problem;
    layout how;
    int has_weight;
    tensor x, y, w, g;
    tensor z, gx, gy, gw;
    tensor r; // (grade, row, 1)
} sgp_case;

// One row [k][n] of what the definition goes through.
typedef struct naive_row {
    double *raw[2], *gated[2], *slope[2]; // of x and of y
    double *o, *g, *h, *z;
} naive_row;

// Every term of feature i into o, or backward into the slopes and the gradient of the weights.
static void add_terms(sgp_case *c, const naive_row *v, int64_t i, int is_backward)
{
    const tess_cl_problem *p = &c->problem;
    const int64_t n = p->n_out;
    for (int t = 0; t < p->algebra->n_term; t++) {
        const tess_clifford_term *e = &p->algebra->terms[t];
        if (!(p->path_mask >> e->path & 1)) {
            continue;
        }
        const double w = c->has_weight ? *value_at(&c->w, 0, i, e->path) : 1;
        const double a = v->gated[0][e->i * n + i], b = v->gated[1][e->j * n + i];
        if (!is_backward) {
            v->o[e->k * n + i] += e->sign * w * a * b;
            continue;
        }
        const double by = e->sign * v->h[e->k * n + i];
        v->slope[0][e->i * n + i] += by * w * b;
        v->slope[1][e->j * n + i] += by * w * a;
        *value_at(&c->gw, 0, i, e->path) += by * a * b;
    }
}

// The gate of one input of feature i, or backward its gradient into a result.
static void pass_gate(const sgp_case *c, const naive_row *v, int side, int64_t i, tensor *grad,
                      int64_t row)
{
    const int d = c->problem.algebra->n_component;
    const int64_t n = c->problem.n_out;
    double x[D_MAX] = {0}, by[D_MAX], out[D_MAX];
    for (int k = 0; k < d; k++) {
        x[k] = v->raw[side][k * n + i];
        by[k] = v->slope[side][k * n + i];
    }
    if (grad) {
        gate_back_naive(c->problem.activation, d, x, by, out);
    } else {
        gate_naive(c->problem.activation, d, x, out);
    }
    for (int k = 0; k < d; k++) {
        *(grad ? value_at(grad, k, row, i) : &v->gated[side][k * n + i]) = out[k];
    }
}

// The product of gated rows and its gradients, one row, gradients of weights added.
static void sgp_naive_row(sgp_case *c, int64_t row)
{
    const tess_cl_problem *p = &c->problem;
    const int64_t n = p->n_out, size = p->algebra->n_component * n;
    double *block = calloc((size_t)(10 * size), sizeof *block), r[G_MAX];
    const naive_row v = {.raw = {block, block + size},
                         .gated = {block + 2 * size, block + 3 * size},
                         .slope = {block + 4 * size, block + 5 * size},
                         .o = block + 6 * size,
                         .g = block + 7 * size,
                         .h = block + 8 * size,
                         .z = block + 9 * size};
    row_of(&c->x, row, v.raw[0]);
    row_of(&c->y, row, v.raw[1]);
    row_of(&c->g, row, v.g);
    for (int64_t i = 0; i < n; i++) {
        pass_gate(c, &v, 0, i, NULL, row);
        pass_gate(c, &v, 1, i, NULL, row);
        add_terms(c, &v, i, 0);
    }
    norm_naive(p, n, v.o, v.g, v.z, v.h, r);
    put_row(&c->z, row, v.z);
    for (int q = 0; q < p->algebra->n_grade; q++) {
        *value_at(&c->r, q, row, 0) = r[q];
    }
    for (int64_t i = 0; i < n; i++) {
        add_terms(c, &v, i, 1);
        pass_gate(c, &v, 0, i, &c->gx, row);
        pass_gate(c, &v, 1, i, &c->gy, row);
    }
    free(block);
}

static sgp_case make_sgp(const tess_cl_problem *problem, layout how, int has_weight)
{
    const int64_t d = problem->algebra->n_component, b = problem->n_row, n = problem->n_out;
    const int64_t n_path = problem->algebra->n_path;
    const int32_t dtype = problem->dtype, wide = dtype == TESS_F64 ? TESS_F64 : TESS_F32;
    sgp_case c = {.problem = *problem, .how = how, .has_weight = has_weight};
    c.x = random_tensor(d, b, n, dtype, how);
    c.y = random_tensor(d, b, n, dtype, other(how, 1));
    c.g = random_tensor(d, b, n, dtype, other(how, 2));
    c.w = random_tensor(1, n, n_path, problem->weight_dtype, other(how, 3));
    c.z = make_tensor(d, b, n, dtype, how);
    c.gx = make_tensor(d, b, n, dtype, how);
    c.gy = make_tensor(d, b, n, dtype, how);
    c.gw = make_tensor(1, n, n_path, problem->weight_dtype, how);
    c.r = make_tensor(problem->algebra->n_grade, b, 1, wide, PLAIN);
    memset(c.gw.values, 0, (size_t)(n * n_path) * sizeof(double));
    for (int64_t row = 0; row < b; row++) {
        sgp_naive_row(&c, row);
    }
    return c;
}

static void free_sgp(sgp_case *c)
{
    tensor *all[] = {&c->x, &c->y, &c->w, &c->g, &c->z, &c->gx, &c->gy, &c->gw, &c->r};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        free_tensor(all[i]);
    }
}

// The stage's struct; weights are (feature, path).
static tess_stage_clifford_sgp sgp_args(const sgp_case *c, int32_t pass)
{
    tess_stage_clifford_sgp a = {.problem = c->problem, .x = c->x.view, .y = c->y.view};
    a.problem.pass = pass;
    if (c->has_weight) {
        a.weight = (tess_cl_view){c->w.view.data, {c->w.view.stride[1], c->w.view.stride[2], 0}};
    }
    if (pass == TESS_CLIFFORD_FORWARD) {
        a.out = c->z.view;
        a.statistics = c->r.view.data;
        return a;
    }
    a.grad_out = c->g.view;
    a.grad_x = c->gx.view;
    a.grad_y = c->gy.view;
    if (c->has_weight) {
        a.grad_weight =
            (tess_cl_view){c->gw.view.data, {c->gw.view.stride[1], c->gw.view.stride[2], 0}};
    }
    return a;
}

static void check_sgp(tess_context *ctx, sgp_case *c, int is_known, const char *what)
{
    // Squares of both signs cancel.
    const double worse = c->problem.norm_metric == TESS_CLIFFORD_NORM_EUCLID ? 1 : 100;
    const double within = worse * tolerance(c->problem.dtype);
    tess_stage_clifford_sgp forward = sgp_args(c, TESS_CLIFFORD_FORWARD);
    tess_stage_clifford_sgp backward = sgp_args(c, TESS_CLIFFORD_BACKWARD);
    char name[96];
    run_stage(ctx, TESS_STAGE_CLIFFORD_SGP, &forward, sizeof forward);
    snprintf(name, sizeof name, "%s z", what);
    check_tensor(&c->z, c->how, name, within);
    if (c->problem.normalize) {
        snprintf(name, sizeof name, "%s r", what);
        check_tensor(&c->r, PLAIN, name,
                     c->problem.dtype == TESS_F64 ? worse * 1e-14 : worse * 1e-6);
    }
    backward.statistics = is_known ? c->r.view.data : NULL;
    run_stage(ctx, TESS_STAGE_CLIFFORD_SGP, &backward, sizeof backward);
    snprintf(name, sizeof name, "%s gx", what);
    check_tensor(&c->gx, c->how, name, within);
    snprintf(name, sizeof name, "%s gy", what);
    check_tensor(&c->gy, c->how, name, within);
    if (c->has_weight) {
        const double least = worse * (c->problem.dtype == TESS_F64 ? 1e-13 : 1e-6);
        snprintf(name, sizeof name, "%s gw", what);
        check_tensor(&c->gw, c->how, name,
                     c->problem.weight_dtype == c->problem.dtype && within > least ? within
                                                                                   : least);
    }
}

static void one_sgp(tess_context *ctx, const tess_cl_problem *problem, layout how, int has_weight,
                    int is_known, const char *what)
{
    sgp_case c = make_sgp(problem, how, has_weight);
    check_sgp(ctx, &c, is_known, what);
    free_sgp(&c);
}

static void test_sgp_types_and_layouts(void **state)
{
    (void)state;
    static const int32_t dtypes[] = {TESS_F64, TESS_F32, TESS_BF16, TESS_F16};
    const tess_clifford_algebra algebra = algebra_of("+++");
    tess_context *ctx = unit_context(2, 0);
    for (size_t t = 0; t < ARRAY_LEN(dtypes); t++) {
        for (int how = 0; how < N_LAYOUT; how++) {
            tess_cl_problem p = problem_of(&algebra, 37, 28, dtypes[t], 0);
            char what[64];
            snprintf(what, sizeof what, "%s layout %d", tess_dtype_name((tess_dtype)p.dtype), how);
            one_sgp(ctx, &p, (layout)how, 1, how % 2, what);
            p.weight_dtype = p.dtype == TESS_F64 ? TESS_F64 : TESS_F32;
            one_sgp(ctx, &p, (layout)how, how != PLAIN, 1 - how % 2, what);
        }
    }
    tess_context_destroy(ctx);
}

static void test_sgp_algebras(void **state)
{
    (void)state;
    static const char *const metrics[] = {"+",   "-",    "++",   "+-",   "0++",   "+++",
                                          "---", "0+++", "+---", "++++", "++++-", "+++++"};
    tess_context *ctx = unit_context(2, 0);
    for (size_t m = 0; m < ARRAY_LEN(metrics); m++) {
        const tess_clifford_algebra algebra = algebra_of(metrics[m]);
        for (int32_t metric = TESS_CLIFFORD_NORM_EUCLID; metric <= TESS_CLIFFORD_NORM_ABS_CLAMP;
             metric++) {
            for (int wide = 0; wide < 2; wide++) {
                tess_cl_problem p = problem_of(&algebra, 5, 19, wide ? TESS_F64 : TESS_F32, 0);
                p.norm_metric = metric;
                p.eps = metric >= TESS_CLIFFORD_NORM_CLAMP ? 0.01 : 1e-6;
                one_sgp(ctx, &p, PLAIN, 1, 0, metrics[m]);
            }
        }
    }
    tess_context_destroy(ctx);
}

static void test_sgp_shapes(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{1, 1},   {1, 3},   {2, 7},    {3, 8},
                                        {5, 16},  {37, 17}, {2, 64},   {3, 127},
                                        {4, 129}, {9, 200}, {130, 33}, {2, 1000}};
    tess_context *ctx = unit_context(2, 0);
    for (size_t s = 0; s < ARRAY_LEN(shapes); s++) {
        for (int three = 0; three < 2; three++) {
            const tess_clifford_algebra algebra = algebra_of(three ? "+++" : "++");
            const tess_cl_problem p =
                problem_of(&algebra, shapes[s][0], shapes[s][1], s % 3 ? TESS_F32 : TESS_F64, 0);
            char what[64];
            snprintf(what, sizeof what, "%lld x %lld", (long long)p.n_row, (long long)p.n_out);
            one_sgp(ctx, &p, PLAIN, 1, (int)s % 2, what);
        }
    }
    // Rows too long for any block.
    const tess_clifford_algebra large = algebra_of("++++-");
    const tess_cl_problem p = problem_of(&large, 1, unit_is_quick() ? 300 : 4100, TESS_F32, 0);
    one_sgp(ctx, &p, PLAIN, 1, 0, "32 components");
    tess_context_destroy(ctx);
}

static void test_sgp_options(void **state)
{
    (void)state;
    const tess_clifford_algebra algebra = algebra_of("+++");
    tess_context *ctx = unit_context(1, 0);
    for (int32_t activation = TESS_CLIFFORD_IDENTITY; activation <= TESS_CLIFFORD_SILU;
         activation++) {
        for (int normalize = 0; normalize < 2; normalize++) {
            for (int masked = 0; masked < 2; masked++) {
                tess_cl_problem p =
                    problem_of(&algebra, 4, 21, activation % 2 ? TESS_F32 : TESS_F64, 0);
                p.activation = activation;
                p.normalize = normalize;
                p.path_mask &= masked ? 0x5a5a5 : p.path_mask;
                char what[64];
                snprintf(what, sizeof what, "activation %d norm %d mask %d", activation, normalize,
                         masked);
                one_sgp(ctx, &p, PLAIN, 1, 0, what);
            }
        }
    }
    tess_context_destroy(ctx);
}

// NaN in what only masked paths read stays there; so does that of their weights.
static void test_sgp_masks_keep_nan_out(void **state)
{
    (void)state;
    const tess_clifford_algebra algebra = algebra_of("+++");
    tess_context *ctx = unit_context(1, 0);
    tess_cl_problem p = problem_of(&algebra, 3, 20, TESS_F32, 0);
    p.path_mask = tess_clifford_grade_paths(&algebra, 0x3, 0x3);
    p.activation = TESS_CLIFFORD_IDENTITY;
    sgp_case c = make_sgp(&p, PLAIN, 1);
    for (int64_t row = 0; row < 3; row++) {
        for (int64_t n = 0; n < 20; n++) {
            write_item(&c.x, item_at(&c.x, 5, row, n), (double)NAN);
            write_item(&c.y, item_at(&c.y, 7, row, n), (double)INFINITY);
            write_item(&c.w, item_at(&c.w, 0, n, algebra.n_path - 1), (double)NAN);
        }
    }
    check_sgp(ctx, &c, 0, "masked");
    for (int64_t n = 0; n < 20; n++) {
        assert_true(read_item(&c.gw, item_at(&c.gw, 0, n, algebra.n_path - 1)) == 0);
    }
    free_sgp(&c);
    tess_context_destroy(ctx);
}

// What is not wanted is not touched, and does not change the rest.
static void test_sgp_wanted_gradients(void **state)
{
    (void)state;
    const tess_clifford_algebra algebra = algebra_of("++");
    tess_context *ctx = unit_context(2, 0);
    const tess_cl_problem p = problem_of(&algebra, 70, 13, TESS_F32, 0);
    sgp_case c = make_sgp(&p, PLAIN, 1);
    tensor *all[] = {&c.gx, &c.gy, &c.gw};
    for (unsigned want = 1; want < 8; want++) {
        tess_stage_clifford_sgp a = sgp_args(&c, TESS_CLIFFORD_BACKWARD);
        tess_cl_view *views[] = {&a.grad_x, &a.grad_y, &a.grad_weight};
        for (int k = 0; k < 3; k++) {
            memset(all[k]->data, 0xff, (size_t)all[k]->n_item * sizeof(float));
            views[k]->data = want >> k & 1 ? views[k]->data : NULL;
        }
        run_stage(ctx, TESS_STAGE_CLIFFORD_SGP, &a, sizeof a);
        for (int k = 0; k < 3; k++) {
            if (want >> k & 1) {
                check_tensor(all[k], PLAIN, "wanted", 1e-6);
            } else {
                assert_true(isnan(read_item(all[k], 0)));
            }
        }
    }
    free_sgp(&c);
    tess_context_destroy(ctx);
}

// The bytes of all results of a product.
static void collect(const sgp_case *c, float *out)
{
    const tensor *all[] = {&c->z, &c->gx, &c->gy, &c->gw};
    for (size_t k = 0; k < ARRAY_LEN(all); k++) {
        memcpy(out, all[k]->data, (size_t)all[k]->n_item * sizeof *out);
        out += all[k]->n_item;
    }
}

static void test_sgp_threads_and_splits(void **state)
{
    (void)state;
    const tess_clifford_algebra algebra = algebra_of("+++");
    const tess_cl_problem p = problem_of(&algebra, 150, 37, TESS_F32, 0);
    sgp_case c = make_sgp(&p, PLAIN, 1);
    const size_t n_item = (size_t)(3 * c.z.n_item + c.gw.n_item);
    float *want = malloc(n_item * sizeof *want), *got = malloc(n_item * sizeof *got);
    for (int32_t threads = 1; threads <= 5; threads++) {
        tess_context *ctx = unit_context(threads, 0);
        tess_stage_clifford_sgp forward = sgp_args(&c, TESS_CLIFFORD_FORWARD);
        tess_stage_clifford_sgp backward = sgp_args(&c, TESS_CLIFFORD_BACKWARD);
        run_stage(ctx, TESS_STAGE_CLIFFORD_SGP, &forward, sizeof forward);
        run_stage(ctx, TESS_STAGE_CLIFFORD_SGP, &backward, sizeof backward);
        collect(&c, threads == 1 ? want : got);
        assert_true(threads == 1 || memcmp(want, got, n_item * sizeof *want) == 0);
        // A row by itself: the same bits.
        tess_stage_clifford_sgp parts[] = {forward, backward};
        for (int k = 0; k < 2; k++) {
            parts[k].problem.n_row = 1;
            parts[k].grad_weight.data = NULL;
            parts[k].statistics = NULL;
            tess_cl_view *views[] = {&parts[k].x,   &parts[k].y,      &parts[k].grad_out,
                                     &parts[k].out, &parts[k].grad_x, &parts[k].grad_y};
            for (size_t v = 0; v < ARRAY_LEN(views); v++) {
                if (views[v]->data) {
                    views[v]->data = (float *)views[v]->data + 17 * views[v]->stride[1];
                }
            }
            run_stage(ctx, TESS_STAGE_CLIFFORD_SGP, &parts[k], sizeof parts[k]);
        }
        collect(&c, got);
        assert_memory_equal(want, got, n_item * sizeof *want);
        tess_context_destroy(ctx);
    }
    free(want);
    free(got);
    free_sgp(&c);
}

static void test_sgp_no_rows(void **state)
{
    (void)state;
    const tess_clifford_algebra algebra = algebra_of("+++");
    tess_context *ctx = unit_context(2, 0);
    tess_cl_problem p = problem_of(&algebra, 1, 5, TESS_F32, 0);
    sgp_case c = make_sgp(&p, PLAIN, 1);
    tess_stage_clifford_sgp a = sgp_args(&c, TESS_CLIFFORD_BACKWARD);
    a.problem.n_row = 0;
    run_stage(ctx, TESS_STAGE_CLIFFORD_SGP, &a, sizeof a);
    memset(c.gw.values, 0, 5 * 20 * sizeof(double));
    check_tensor(&c.gw, PLAIN, "gw of no rows", 0);
    assert_true(isnan(read_item(&c.gx, 0)));
    free_sgp(&c);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sgp_types_and_layouts),
        cmocka_unit_test(test_sgp_algebras),
        cmocka_unit_test(test_sgp_shapes),
        cmocka_unit_test(test_sgp_options),
        cmocka_unit_test(test_sgp_masks_keep_nan_out),
        cmocka_unit_test(test_sgp_wanted_gradients),
        cmocka_unit_test(test_sgp_threads_and_splits),
        cmocka_unit_test(test_sgp_no_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
