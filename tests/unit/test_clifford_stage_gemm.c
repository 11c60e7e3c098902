// The linear stage of clifford against sums by definition, for all types and layouts; and against
// itself with other threads and cut otherwise.
#include "clifford_stage_arrays.h"

typedef struct linear_case {
    const char *name, *metric;
    int64_t n_row, n_in, n_out;
    int32_t dtype, weight_dtype;
    ca_layout layout;
    int32_t bias_mode; // -1: no bias
    int32_t adds;
} linear_case;

static const linear_case cases[] = {
    {"plain f32", "+++", 37, 40, 24, TESS_F32, TESS_F32, CA_PLAIN, TESS_CLIFFORD_BIAS_SCALAR, 0},
    {"all biases", "++", 5, 16, 33, TESS_F32, TESS_F32, CA_PLAIN, TESS_CLIFFORD_BIAS_ALL, 1},
    {"one of each", "+-", 1, 1, 1, TESS_F32, TESS_F32, CA_PLAIN, TESS_CLIFFORD_BIAS_ALL, 0},
    {"f64", "0+++", 19, 35, 28, TESS_F64, TESS_F64, CA_PLAIN, TESS_CLIFFORD_BIAS_SCALAR, 1},
    {"f64, f32 weights", "++", 9, 35, 28, TESS_F64, TESS_F32, CA_FIRST, TESS_CLIFFORD_BIAS_ALL, 0},
    {"channel last", "+++", 23, 17, 29, TESS_F32, TESS_F32, CA_FIRST, TESS_CLIFFORD_BIAS_ALL, 1},
    {"gaps", "+---", 11, 31, 13, TESS_F32, TESS_F32, CA_GAPS, -1, 1},
    {"gaps f64", "+---", 11, 31, 13, TESS_F64, TESS_F64, CA_GAPS, -1, 0},
    {"transposed", "++", 70, 65, 66, TESS_F32, TESS_F32, CA_MIDDLE, TESS_CLIFFORD_BIAS_SCALAR, 0},
    {"bf16", "+++", 21, 50, 37, TESS_BF16, TESS_BF16, CA_PLAIN, TESS_CLIFFORD_BIAS_ALL, 0},
    {"bf16, f32 weights", "+++", 21, 50, 37, TESS_BF16, TESS_F32, CA_GAPS, -1, 0},
    {"f16", "++", 40, 50, 37, TESS_F16, TESS_F16, CA_FIRST, TESS_CLIFFORD_BIAS_SCALAR, 0},
    {"f16, f32 weights", "++", 40, 50, 37, TESS_F16, TESS_F32, CA_PLAIN, TESS_CLIFFORD_BIAS_ALL, 1},
    {"deep", "++", 600, 300, 270, TESS_F32, TESS_F32, CA_PLAIN, TESS_CLIFFORD_BIAS_SCALAR, 0},
    {"deep f64", "+", 300, 270, 290, TESS_F64, TESS_F64, CA_PLAIN, TESS_CLIFFORD_BIAS_ALL, 1},
    {"deeper", "+", 130, 775, 40, TESS_F32, TESS_F32, CA_PLAIN, TESS_CLIFFORD_BIAS_SCALAR, 0},
    {"deeper bf16", "++", 20, 600, 30, TESS_BF16, TESS_F32, CA_MIDDLE, TESS_CLIFFORD_BIAS_ALL, 1},
    {"wide", "++++-", 3, 20, 700, TESS_F32, TESS_F32, CA_PLAIN, -1, 0},
};

typedef struct linear_arrays {
    tess_clifford_algebra algebra;
    ca_array x, weight, bias, out, grad_out, grad_x, grad_weight, grad_bias;
} linear_arrays;

static linear_arrays make_arrays(const linear_case *c)
{
    linear_arrays a = {.algebra = ca_algebra(c->metric)};
    const int64_t d = a.algebra.n_component, g = a.algebra.n_grade;
    a.x = ca_make(c->dtype, c->layout, d, c->n_row, c->n_in);
    a.grad_x = ca_make(c->dtype, c->layout, d, c->n_row, c->n_in);
    a.out = ca_make(c->dtype, c->layout, d, c->n_row, c->n_out);
    a.grad_out = ca_make(c->dtype, c->layout, d, c->n_row, c->n_out);
    a.weight = ca_make(c->weight_dtype, c->layout, g, c->n_in, c->n_out);
    a.grad_weight = ca_make(c->weight_dtype, c->layout, g, c->n_in, c->n_out);
    a.bias = ca_make(c->weight_dtype, c->layout, c->n_out, 1, 1);
    a.grad_bias = ca_make(c->weight_dtype, c->layout, c->n_out, 1, 1);
    ca_fill(&a.x, 1, 1);
    ca_fill(&a.weight, 2, 1);
    ca_fill(&a.bias, 3, 2);
    ca_fill(&a.grad_out, 4, 1);
    if (c->adds) {
        ca_fill(&a.grad_x, 5, 3);
    } else {
        ca_zero_values(&a.grad_x);
    }
    ca_zero_values(&a.out);
    ca_zero_values(&a.grad_weight);
    ca_zero_values(&a.grad_bias);
    return a;
}

static void drop_arrays(linear_arrays *a)
{
    ca_array *const all[] = {&a->x,      &a->weight,   &a->bias,        &a->out,
                             &a->grad_x, &a->grad_out, &a->grad_weight, &a->grad_bias};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        ca_drop(all[i]);
    }
}

static tess_stage_clifford_linear stage_of(const linear_case *c, const linear_arrays *a,
                                           int32_t pass)
{
    return (tess_stage_clifford_linear){.problem = {.algebra = &a->algebra,
                                                    .n_row = c->n_row,
                                                    .n_in = c->n_in,
                                                    .n_out = c->n_out,
                                                    .dtype = c->dtype,
                                                    .weight_dtype = c->weight_dtype,
                                                    .pass = pass,
                                                    .bias_mode = c->bias_mode},
                                        .x = a->x.view,
                                        .weight = a->weight.view,
                                        .bias = c->bias_mode < 0 ? (tess_cl_view){0} : a->bias.view,
                                        .out = a->out.view,
                                        .grad_out = a->grad_out.view,
                                        .grad_x = a->grad_x.view,
                                        .grad_weight = a->grad_weight.view,
                                        .grad_bias = a->grad_bias.view,
                                        .add_to_grad_x = c->adds};
}

static void run_both(tess_context *ctx, const linear_case *c, const linear_arrays *a)
{
    const tess_stage_clifford_linear forward = stage_of(c, a, TESS_CLIFFORD_FORWARD);
    ca_run(ctx, TESS_STAGE_CLIFFORD_LINEAR, &forward, sizeof forward);
    const tess_stage_clifford_linear backward = stage_of(c, a, TESS_CLIFFORD_BACKWARD);
    ca_run(ctx, TESS_STAGE_CLIFFORD_LINEAR, &backward, sizeof backward);
}

// Every sum by its definition, into the values of the results.
static void expect(const linear_case *c, linear_arrays *a)
{
    for (int64_t k = 0; k < a->algebra.n_component; k++) {
        const int64_t g = a->algebra.grade[k];
        const int has_bias = c->bias_mode == TESS_CLIFFORD_BIAS_ALL || k == 0;
        for (int64_t b = 0; b < c->n_row; b++) {
            for (int64_t n = 0; n < c->n_out; n++) {
                const double gz = *ca_value(&a->grad_out, k, b, n);
                *ca_value(&a->out, k, b, n) +=
                    has_bias && c->bias_mode >= 0 ? *ca_value(&a->bias, n, 0, 0) : 0;
                *ca_value(&a->grad_bias, n, 0, 0) += has_bias ? gz : 0;
                for (int64_t m = 0; m < c->n_in; m++) {
                    const double x = *ca_value(&a->x, k, b, m);
                    const double w = *ca_value(&a->weight, g, m, n);
                    *ca_value(&a->out, k, b, n) += x * w;
                    *ca_value(&a->grad_x, k, b, m) += gz * w;
                    *ca_value(&a->grad_weight, g, m, n) += x * gz;
                }
            }
        }
    }
}

static void linear_is_right(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const linear_case *c = &cases[i];
        if (unit_is_quick() && c->n_row * c->n_in * c->n_out > 1000000) {
            continue;
        }
        linear_arrays a = make_arrays(c);
        run_both(ctx, c, &a);
        expect(c, &a);
        ca_assert_right(a.out, c->name);
        ca_assert_right(a.grad_x, c->name);
        ca_assert_right(a.grad_weight, c->name);
        if (c->bias_mode >= 0) {
            ca_assert_right(a.grad_bias, c->name);
        }
        drop_arrays(&a);
    }
    tess_context_destroy(ctx);
}

// Results that are not wanted are not computed, and the others are the same.
static void parts_can_be_left_out(void **state)
{
    (void)state;
    const linear_case *c = &cases[0];
    tess_context *ctx = unit_context(1, 0);
    linear_arrays a = make_arrays(c), b = make_arrays(c);
    run_both(ctx, c, &a);
    for (int part = 0; part < 3; part++) {
        tess_stage_clifford_linear stage = stage_of(c, &b, TESS_CLIFFORD_BACKWARD);
        stage.grad_x.data = part == 0 ? stage.grad_x.data : NULL;
        stage.grad_weight.data = part == 1 ? stage.grad_weight.data : NULL;
        stage.grad_bias.data = part == 2 ? stage.grad_bias.data : NULL;
        ca_run(ctx, TESS_STAGE_CLIFFORD_LINEAR, &stage, sizeof stage);
    }
    assert_memory_equal(a.grad_x.view.data, b.grad_x.view.data, a.grad_x.bytes);
    assert_memory_equal(a.grad_weight.view.data, b.grad_weight.view.data, a.grad_weight.bytes);
    assert_memory_equal(a.grad_bias.view.data, b.grad_bias.view.data, a.grad_bias.bytes);
    drop_arrays(&a);
    drop_arrays(&b);
    tess_context_destroy(ctx);
}

static void threads_do_not_show(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        linear_arrays a[2];
        for (int t = 0; t < 2; t++) {
            tess_context *ctx = unit_context(t == 0 ? 1 : 5, 0);
            a[t] = make_arrays(&cases[i]);
            run_both(ctx, &cases[i], &a[t]);
            tess_context_destroy(ctx);
        }
        assert_memory_equal(a[0].out.view.data, a[1].out.view.data, a[0].out.bytes);
        assert_memory_equal(a[0].grad_x.view.data, a[1].grad_x.view.data, a[0].grad_x.bytes);
        assert_memory_equal(a[0].grad_weight.view.data, a[1].grad_weight.view.data,
                            a[0].grad_weight.bytes);
        assert_memory_equal(a[0].grad_bias.view.data, a[1].grad_bias.view.data,
                            a[0].grad_bias.bytes);
        drop_arrays(&a[0]);
        drop_arrays(&a[1]);
    }
}

// What belongs to a row depends on that row alone: the same bits when the rows come in two calls.
static void rows_are_independent(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const linear_case *c = &cases[i];
        linear_arrays a = make_arrays(c), b = make_arrays(c);
        run_both(ctx, c, &a);
        const int64_t cut = c->n_row / 3;
        for (int part = cut == 0; part < 2; part++) {
            const int64_t row = part == 0 ? 0 : cut;
            for (int32_t pass = TESS_CLIFFORD_FORWARD; pass <= TESS_CLIFFORD_BACKWARD; pass++) {
                tess_stage_clifford_linear stage = stage_of(c, &b, pass);
                stage.problem.n_row = part == 0 ? cut : c->n_row - cut;
                stage.x = ca_from_row(&b.x, row);
                stage.out = ca_from_row(&b.out, row);
                stage.grad_out = ca_from_row(&b.grad_out, row);
                stage.grad_x = ca_from_row(&b.grad_x, row);
                stage.grad_weight.data = NULL;
                stage.grad_bias.data = NULL;
                ca_run(ctx, TESS_STAGE_CLIFFORD_LINEAR, &stage, sizeof stage);
            }
        }
        assert_memory_equal(a.out.view.data, b.out.view.data, a.out.bytes);
        assert_memory_equal(a.grad_x.view.data, b.grad_x.view.data, a.grad_x.bytes);
        drop_arrays(&a);
        drop_arrays(&b);
    }
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_is_right),
        cmocka_unit_test(parts_can_be_left_out),
        cmocka_unit_test(threads_do_not_show),
        cmocka_unit_test(rows_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
