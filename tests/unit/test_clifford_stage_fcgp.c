// The product whose weights mix features against sums by definition, for all types, layouts,
// metrics and activations; and against itself with other threads and cut otherwise.
#include "clifford_stage_arrays.h"

typedef struct product_case {
    const char *name, *metric;
    int64_t n_row, n_in, n_out;
    int32_t dtype, weight_dtype;
    ca_layout layout;
    int32_t activation, normalize, norm_metric;
    uint64_t mask;
} product_case;

enum {
    EUCLID = TESS_CLIFFORD_NORM_EUCLID,
    ABS = TESS_CLIFFORD_NORM_ABS,
    CLAMP = TESS_CLIFFORD_NORM_CLAMP
};

static const product_case cases[] = {
    {"plain f32", "+++", 37, 24, 40, TESS_F32, TESS_F32, CA_PLAIN, TESS_CLIFFORD_GELU, 1, EUCLID,
     ~0ull},
    {"2d", "++", 70, 33, 17, TESS_F32, TESS_F32, CA_PLAIN, TESS_CLIFFORD_SIGMOID, 1, EUCLID, ~0ull},
    {"no norm", "++", 5, 9, 7, TESS_F32, TESS_F32, CA_FIRST, TESS_CLIFFORD_IDENTITY, 0, EUCLID,
     ~0ull},
    {"one", "+-", 1, 1, 1, TESS_F64, TESS_F64, CA_PLAIN, TESS_CLIFFORD_GELU_TANH, 1, ABS, ~0ull},
    {"identity", "+++", 15, 16, 16, TESS_F32, TESS_F32, CA_PLAIN, TESS_CLIFFORD_IDENTITY, 1, EUCLID,
     ~0ull},
    {"f64 pga", "0+++", 19, 15, 11, TESS_F64, TESS_F64, CA_PLAIN, TESS_CLIFFORD_GELU, 1, CLAMP,
     ~0ull},
    {"f64, f32 weights", "++", 9, 5, 8, TESS_F64, TESS_F32, CA_FIRST, TESS_CLIFFORD_GELU, 1, EUCLID,
     ~0ull},
    {"spacetime", "+---", 11, 13, 12, TESS_F32, TESS_F32, CA_GAPS, TESS_CLIFFORD_RELU, 1, ABS,
     ~0ull},
    {"clamp f32", "+---", 8, 7, 5, TESS_F32, TESS_F32, CA_PLAIN, TESS_CLIFFORD_GELU, 1, CLAMP,
     ~0ull},
    {"cga", "++++-", 3, 5, 4, TESS_F32, TESS_F32, CA_PLAIN, TESS_CLIFFORD_GELU, 1, ABS, ~0ull},
    {"mask", "+++", 18, 21, 10, TESS_F64, TESS_F64, CA_GAPS, TESS_CLIFFORD_GELU, 1, EUCLID,
     0x5a3c6},
    {"no path of grade 0", "++", 6, 4, 5, TESS_F32, TESS_F32, CA_PLAIN, TESS_CLIFFORD_GELU, 1,
     EUCLID, 0x2},
    {"transposed", "++", 20, 30, 31, TESS_F32, TESS_F32, CA_MIDDLE, TESS_CLIFFORD_GELU, 1, EUCLID,
     ~0ull},
    {"bf16", "+++", 21, 20, 37, TESS_BF16, TESS_BF16, CA_PLAIN, TESS_CLIFFORD_GELU, 1, EUCLID,
     ~0ull},
    {"bf16, f32 weights", "++", 21, 30, 7, TESS_BF16, TESS_F32, CA_GAPS, TESS_CLIFFORD_GELU, 1,
     EUCLID, ~0ull},
    {"f16", "++", 40, 30, 27, TESS_F16, TESS_F16, CA_FIRST, TESS_CLIFFORD_GELU, 1, EUCLID, ~0ull},
    {"f16, no norm", "++", 12, 30, 27, TESS_F16, TESS_F32, CA_PLAIN, TESS_CLIFFORD_GELU, 0, EUCLID,
     ~0ull},
    {"deep", "+", 300, 300, 30, TESS_F32, TESS_F32, CA_PLAIN, TESS_CLIFFORD_GELU, 1, EUCLID, ~0ull},
    {"wide", "++", 20, 20, 300, TESS_F32, TESS_F32, CA_PLAIN, TESS_CLIFFORD_GELU, 1, EUCLID, ~0ull},
    {"long", "+", 40000, 2, 1, TESS_F32, TESS_F32, CA_PLAIN, TESS_CLIFFORD_GELU, 1, EUCLID, ~0ull},
};

// Where positive and negative squares nearly cancel, their mean is not known well.
static double eps_of(const product_case *c)
{
    return c->norm_metric == CLAMP ? 4.7 : 1e-3;
}

typedef struct product_arrays {
    tess_clifford_algebra algebra;
    ca_array x, y, weight, out, grad_out, grad_x, grad_y, grad_weight, statistics;
} product_arrays;

enum { N_ARRAY = 9 };
static void list_arrays(product_arrays *a, ca_array *list[N_ARRAY])
{
    ca_array *const all[N_ARRAY] = {&a->x,      &a->y,           &a->weight,
                                    &a->out,    &a->grad_out,    &a->grad_x,
                                    &a->grad_y, &a->grad_weight, &a->statistics};
    memcpy(list, all, sizeof all);
}

static product_arrays make_arrays(const product_case *c)
{
    product_arrays a = {.algebra = ca_algebra(c->metric)};
    const int64_t d = a.algebra.n_component, n_path = a.algebra.n_path;
    const int32_t own = c->dtype == TESS_F64 ? TESS_F64 : TESS_F32;
    a.x = ca_make(c->dtype, c->layout, d, c->n_row, c->n_in);
    a.y = ca_make(c->dtype, c->layout, d, c->n_row, c->n_in);
    a.grad_x = ca_make(c->dtype, c->layout, d, c->n_row, c->n_in);
    a.grad_y = ca_make(c->dtype, c->layout, d, c->n_row, c->n_in);
    a.out = ca_make(c->dtype, c->layout, d, c->n_row, c->n_out);
    a.grad_out = ca_make(c->dtype, c->layout, d, c->n_row, c->n_out);
    a.weight = ca_make(c->weight_dtype, c->layout, n_path, c->n_in, c->n_out);
    a.grad_weight = ca_make(c->weight_dtype, c->layout, n_path, c->n_in, c->n_out);
    a.statistics = ca_make(own, CA_PLAIN, 1, a.algebra.n_grade, c->n_row);
    ca_fill(&a.x, 1, 1);
    ca_fill(&a.y, 2, 1);
    ca_fill(&a.weight, 3, 0.5);
    ca_fill(&a.grad_out, 4, 1);
    ca_array *all[N_ARRAY];
    list_arrays(&a, all);
    ca_zero_values(all[3]);
    for (int i = 5; i < N_ARRAY; i++) {
        ca_zero_values(all[i]);
    }
    return a;
}

static void drop_arrays(product_arrays *a)
{
    ca_array *all[N_ARRAY];
    list_arrays(a, all);
    for (int i = 0; i < N_ARRAY; i++) {
        ca_drop(all[i]);
    }
}

static tess_stage_clifford_fcgp stage_of(const product_case *c, const product_arrays *a,
                                         int32_t pass)
{
    const uint64_t all = (UINT64_C(1) << a->algebra.n_path) - 1;
    return (tess_stage_clifford_fcgp){.problem = {.algebra = &a->algebra,
                                                  .path_mask = c->mask & all,
                                                  .n_row = c->n_row,
                                                  .n_in = c->n_in,
                                                  .n_out = c->n_out,
                                                  .dtype = c->dtype,
                                                  .weight_dtype = c->weight_dtype,
                                                  .pass = pass,
                                                  .activation = c->activation,
                                                  .normalize = c->normalize,
                                                  .norm_metric = c->norm_metric,
                                                  .eps = eps_of(c)},
                                      .x = a->x.view,
                                      .y = a->y.view,
                                      .weight = a->weight.view,
                                      .out = a->out.view,
                                      .grad_out = a->grad_out.view,
                                      .grad_x = a->grad_x.view,
                                      .grad_y = a->grad_y.view,
                                      .grad_weight = a->grad_weight.view,
                                      .statistics = a->statistics.view.data};
}

static void run(tess_context *ctx, const tess_stage_clifford_fcgp *stage)
{
    ca_run(ctx, TESS_STAGE_CLIFFORD_FCGP, stage, sizeof *stage);
}

// What the backward pass is given of the forward one.
typedef enum given { NOTHING, STATISTICS, RESULT, N_GIVEN } given;

static void run_back(tess_context *ctx, const product_case *c, const product_arrays *a, given what)
{
    tess_stage_clifford_fcgp stage = stage_of(c, a, TESS_CLIFFORD_BACKWARD);
    stage.out.data = NULL;
    stage.statistics = what == NOTHING ? NULL : stage.statistics;
    stage.saved_out = what == RESULT ? a->out.view : (tess_cl_view){0};
    run(ctx, &stage);
}

static double gate_of(int32_t activation, double x, double *slope)
{
    const double tail = 0.5 * erfc(-x / sqrt(2.0));
    const double bell = exp(-x * x / 2) / sqrt(2 * acos(-1.0));
    const double v = sqrt(2 / acos(-1.0)) * (x + 0.044715 * x * x * x), t = tanh(v);
    const double s = 1 / (1 + exp(-x));
    switch (activation) {
    case TESS_CLIFFORD_GELU:
        *slope = bell;
        return tail;
    case TESS_CLIFFORD_GELU_TANH:
        *slope = 0.5 * (1 + t) +
                 0.5 * x * (1 - t * t) * sqrt(2 / acos(-1.0)) * (1 + 3 * 0.044715 * x * x);
        return 0.5 * x * (1 + t);
    case TESS_CLIFFORD_RELU:
        *slope = x > 0;
        return x > 0 ? x : 0;
    case TESS_CLIFFORD_SIGMOID:
        *slope = s * (1 - s);
        return s;
    default:
        *slope = 0;
        return 1;
    }
}

// One row, everything by its definition; adds to the values of grad_weight.
typedef struct naive_row {
    const product_case *c;
    product_arrays *a;
    int64_t b;
    double *o, *h;           // [component][n_out]
    double *big_x, *big_y;   // [component][n_in], gated
    double *grad_x, *grad_y; // of the gated inputs
} naive_row;

static void naive_product(const naive_row *w)
{
    const product_case *c = w->c;
    for (int32_t t = 0; t < w->a->algebra.n_term; t++) {
        const tess_clifford_term *e = &w->a->algebra.terms[t];
        for (int64_t m = 0; m < c->n_in && c->mask >> e->path & 1; m++) {
            const double q = e->sign * w->big_x[e->i * c->n_in + m] * w->big_y[e->j * c->n_in + m];
            for (int64_t n = 0; n < c->n_out; n++) {
                w->o[e->k * c->n_out + n] += q * *ca_value(&w->a->weight, e->path, m, n);
            }
        }
    }
}

static void naive_back(const naive_row *w)
{
    const product_case *c = w->c;
    for (int32_t t = 0; t < w->a->algebra.n_term; t++) {
        const tess_clifford_term *e = &w->a->algebra.terms[t];
        for (int64_t m = 0; m < c->n_in && c->mask >> e->path & 1; m++) {
            const double x = w->big_x[e->i * c->n_in + m], y = w->big_y[e->j * c->n_in + m];
            double gq = 0;
            for (int64_t n = 0; n < c->n_out; n++) {
                const double h = w->h[e->k * c->n_out + n];
                gq += h * *ca_value(&w->a->weight, e->path, m, n);
                *ca_value(&w->a->grad_weight, e->path, m, n) += e->sign * x * y * h;
            }
            w->grad_x[e->i * c->n_in + m] += e->sign * gq * y;
            w->grad_y[e->j * c->n_in + m] += e->sign * gq * x;
        }
    }
}

static double eta_of(const naive_row *w, int64_t k)
{
    return w->c->norm_metric == EUCLID ? 1 : w->a->algebra.eta[k];
}

// sum over k in the grade of eta o^2, for one feature; grade -1: all.
static double form_of(const naive_row *w, int64_t grade, int64_t n)
{
    double sum = 0;
    for (int64_t k = 0; k < w->a->algebra.n_component; k++) {
        const double o = w->o[k * w->c->n_out + n];
        sum += grade < 0 || w->a->algebra.grade[k] == grade ? eta_of(w, k) * o * o : 0;
    }
    return sum;
}

// z, r and h of a grade.
static void naive_norm(const naive_row *w, int64_t grade)
{
    const product_case *c = w->c;
    const int64_t over = c->norm_metric == CLAMP ? -1 : grade;
    double mean = 0, s = 0;
    for (int64_t n = 0; n < c->n_out; n++) {
        const double form = form_of(w, over, n);
        mean += (c->norm_metric == ABS ? fabs(form) : form) / (double)c->n_out;
        for (int64_t k = 0; k < w->a->algebra.n_component; k++) {
            s += over < 0 || w->a->algebra.grade[k] == grade
                     ? *ca_value(&w->a->grad_out, k, w->b, n) * w->o[k * c->n_out + n]
                     : 0;
        }
    }
    const int is_clamped = c->norm_metric == CLAMP && mean <= eps_of(c);
    const double r = c->normalize ? sqrt(c->norm_metric != CLAMP ? mean + eps_of(c)
                                         : is_clamped            ? eps_of(c)
                                                                 : mean)
                                  : 1;
    *ca_value(&w->a->statistics, 0, grade, w->b) = r;
    for (int64_t k = 0; k < w->a->algebra.n_component; k++) {
        for (int64_t n = 0; n < c->n_out && w->a->algebra.grade[k] == grade; n++) {
            const double o = w->o[k * c->n_out + n], form = form_of(w, grade, n);
            const double sign = c->norm_metric != ABS ? 1 : form > 0 ? 1 : form < 0 ? -1 : 0;
            *ca_value(&w->a->out, k, w->b, n) = o / r;
            w->h[k * c->n_out + n] =
                *ca_value(&w->a->grad_out, k, w->b, n) / r -
                (c->normalize && !is_clamped
                     ? sign * eta_of(w, k) * o * s / ((double)c->n_out * r * r * r)
                     : 0);
        }
    }
}

static void naive_gate(const naive_row *w, const ca_array *x, const double *grad, ca_array *to,
                       double *gated)
{
    for (int64_t m = 0; m < w->c->n_in; m++) {
        double slope, sum = 0;
        const double f = gate_of(w->c->activation, *ca_value(x, 0, w->b, m), &slope);
        for (int64_t k = 0; k < w->a->algebra.n_component; k++) {
            const double item = *ca_value(x, k, w->b, m), g = grad ? grad[k * w->c->n_in + m] : 0;
            sum += item * g;
            if (gated) {
                gated[k * w->c->n_in + m] = f * item;
            } else {
                *ca_value(to, k, w->b, m) = f * g;
            }
        }
        if (to) {
            *ca_value(to, 0, w->b, m) += slope * sum;
        }
    }
}

static void expect(const product_case *c, product_arrays *a)
{
    const size_t d = (size_t)a->algebra.n_component, in = d * (size_t)c->n_in;
    const size_t out = d * (size_t)c->n_out;
    for (int64_t b = 0; b < c->n_row; b++) {
        double *memory = calloc(4 * in + 2 * out, sizeof *memory);
        const naive_row w = {c,
                             a,
                             b,
                             memory,
                             memory + out,
                             memory + 2 * out,
                             memory + 2 * out + in,
                             memory + 2 * out + 2 * in,
                             memory + 2 * out + 3 * in};
        naive_gate(&w, &a->x, NULL, NULL, w.big_x);
        naive_gate(&w, &a->y, NULL, NULL, w.big_y);
        naive_product(&w);
        for (int64_t g = 0; g < a->algebra.n_grade; g++) {
            naive_norm(&w, g);
        }
        naive_back(&w);
        naive_gate(&w, &a->x, w.grad_x, &a->grad_x, NULL);
        naive_gate(&w, &a->y, w.grad_y, &a->grad_y, NULL);
        free(memory);
    }
}

static void assert_gradients_right(const product_case *c, const product_arrays *a, given what)
{
    ca_assert_right(a->grad_x, c->name);
    ca_assert_right(a->grad_y, c->name);
    // A kept result is rounded to the type of activations.
    const double own = ca_allowed(a->grad_weight.dtype), of_kept = ca_allowed(c->dtype);
    ca_assert_within(a->grad_weight, what == RESULT && of_kept > own ? of_kept : own, c->name);
}

static int is_skipped(const product_case *c)
{
    return unit_is_quick() && (c->n_row > 1000 || c->n_row * c->n_in * c->n_out > 100000);
}

static void products_are_right(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const product_case *c = &cases[i];
        if (is_skipped(c)) {
            continue;
        }
        product_arrays a = make_arrays(c);
        const tess_stage_clifford_fcgp forward = stage_of(c, &a, TESS_CLIFFORD_FORWARD);
        run(ctx, &forward);
        expect(c, &a);
        ca_assert_right(a.out, c->name);
        ca_assert_right(a.statistics, c->name);
        for (int what = NOTHING; what < N_GIVEN; what++) {
            memset(a.grad_x.view.data, 0xff, a.grad_x.bytes);
            memset(a.grad_y.view.data, 0xff, a.grad_y.bytes);
            memset(a.grad_weight.view.data, 0xff, a.grad_weight.bytes);
            run_back(ctx, c, &a, (given)what);
            assert_gradients_right(c, &a, (given)what);
        }
        drop_arrays(&a);
    }
    tess_context_destroy(ctx);
}

// Results that are not wanted are not computed, and the others are the same.
static void parts_can_be_left_out(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const product_case *c = &cases[0];
    product_arrays a = make_arrays(c), b = make_arrays(c);
    run_back(ctx, c, &a, NOTHING);
    for (int part = 0; part < 3; part++) {
        tess_stage_clifford_fcgp stage = stage_of(c, &b, TESS_CLIFFORD_BACKWARD);
        stage.statistics = NULL;
        stage.grad_x.data = part == 0 ? stage.grad_x.data : NULL;
        stage.grad_y.data = part == 1 ? stage.grad_y.data : NULL;
        stage.grad_weight.data = part == 2 ? stage.grad_weight.data : NULL;
        run(ctx, &stage);
    }
    assert_memory_equal(a.grad_x.view.data, b.grad_x.view.data, a.grad_x.bytes);
    assert_memory_equal(a.grad_y.view.data, b.grad_y.view.data, a.grad_y.bytes);
    assert_memory_equal(a.grad_weight.view.data, b.grad_weight.view.data, a.grad_weight.bytes);
    tess_stage_clifford_fcgp stage = stage_of(c, &a, TESS_CLIFFORD_FORWARD);
    run(ctx, &stage);
    stage = stage_of(c, &b, TESS_CLIFFORD_FORWARD);
    stage.statistics = NULL;
    run(ctx, &stage);
    assert_memory_equal(a.out.view.data, b.out.view.data, a.out.bytes);
    drop_arrays(&a);
    drop_arrays(&b);
    tess_context_destroy(ctx);
}

static void threads_do_not_show(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        product_arrays a[2];
        for (int t = 0; t < 2 && !is_skipped(&cases[i]); t++) {
            tess_context *ctx = unit_context(t == 0 ? 1 : 5, 0);
            a[t] = make_arrays(&cases[i]);
            const tess_stage_clifford_fcgp forward =
                stage_of(&cases[i], &a[t], TESS_CLIFFORD_FORWARD);
            run(ctx, &forward);
            run_back(ctx, &cases[i], &a[t], RESULT);
            tess_context_destroy(ctx);
        }
        ca_array *all[2][N_ARRAY];
        for (int k = 0; k < N_ARRAY && !is_skipped(&cases[i]); k++) {
            list_arrays(&a[0], all[0]);
            list_arrays(&a[1], all[1]);
            assert_memory_equal(all[0][k]->view.data, all[1][k]->view.data, all[0][k]->bytes);
        }
        for (int t = 0; t < 2 && !is_skipped(&cases[i]); t++) {
            drop_arrays(&a[t]);
        }
    }
}

// What belongs to a row depends on that row alone: the same bits when the rows come in two calls.
static void rows_are_independent(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const product_case *c = &cases[i];
        if (is_skipped(c)) {
            continue;
        }
        product_arrays a = make_arrays(c), b = make_arrays(c);
        const int64_t cut = c->n_row / 3;
        for (int32_t pass = TESS_CLIFFORD_FORWARD; pass <= TESS_CLIFFORD_BACKWARD; pass++) {
            tess_stage_clifford_fcgp whole = stage_of(c, &a, pass);
            whole.statistics = NULL;
            run(ctx, &whole);
            for (int part = cut == 0; part < 2; part++) {
                const int64_t row = part == 0 ? 0 : cut;
                tess_stage_clifford_fcgp stage = stage_of(c, &b, pass);
                stage.problem.n_row = part == 0 ? cut : c->n_row - cut;
                stage.x = ca_from_row(&b.x, row);
                stage.y = ca_from_row(&b.y, row);
                stage.out = ca_from_row(&b.out, row);
                stage.grad_out = ca_from_row(&b.grad_out, row);
                stage.grad_x = ca_from_row(&b.grad_x, row);
                stage.grad_y = ca_from_row(&b.grad_y, row);
                stage.grad_weight.data = NULL;
                stage.statistics = NULL;
                run(ctx, &stage);
            }
        }
        assert_memory_equal(a.out.view.data, b.out.view.data, a.out.bytes);
        assert_memory_equal(a.grad_x.view.data, b.grad_x.view.data, a.grad_x.bytes);
        assert_memory_equal(a.grad_y.view.data, b.grad_y.view.data, a.grad_y.bytes);
        drop_arrays(&a);
        drop_arrays(&b);
    }
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_right),
        cmocka_unit_test(parts_can_be_left_out),
        cmocka_unit_test(threads_do_not_show),
        cmocka_unit_test(rows_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
