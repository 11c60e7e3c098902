// The layer stage of clifford: the bits of its two parts one after the other, whatever the type,
// layout, number of threads and cut of the rows.
#include "clifford_stage_arrays.h"

typedef struct layer_case {
    const char *name, *metric;
    int64_t n_row, n;
    int32_t dtype, weight_dtype;
    ca_layout layout;
    int32_t bias_mode; // -1: no bias
    int32_t activation, normalize, norm_metric;
    int32_t has_weight;
} layer_case;

static const layer_case cases[] = {
    {"plain", "+++", 61, 40, TESS_F32, TESS_F32, CA_PLAIN, 0, TESS_CLIFFORD_GELU, 1, 1, 1},
    {"all biases", "++", 130, 33, TESS_F32, TESS_F32, CA_PLAIN, 1, TESS_CLIFFORD_GELU, 1, 1, 1},
    {"one", "+", 1, 1, TESS_F64, TESS_F64, CA_PLAIN, 1, TESS_CLIFFORD_GELU, 0, 1, 1},
    {"f64", "+---", 33, 21, TESS_F64, TESS_F64, CA_FIRST, -1, TESS_CLIFFORD_SIGMOID, 1, 2, 1},
    {"gaps", "0+++", 17, 19, TESS_F32, TESS_F32, CA_GAPS, 0, TESS_CLIFFORD_IDENTITY, 1, 3, 0},
    {"deep", "++", 40, 300, TESS_F32, TESS_F32, CA_PLAIN, 0, TESS_CLIFFORD_GELU, 1, 1, 1},
    {"deeper", "++", 9, 531, TESS_F32, TESS_F32, CA_FIRST, 1, TESS_CLIFFORD_GELU, 1, 1, 1},
    {"cga", "++++-", 5, 9, TESS_F32, TESS_F32, CA_PLAIN, 1, TESS_CLIFFORD_RELU, 1, 2, 1},
    {"bf16", "+++", 25, 30, TESS_BF16, TESS_BF16, CA_PLAIN, 0, TESS_CLIFFORD_GELU, 1, 1, 1},
    {"f16", "++", 50, 17, TESS_F16, TESS_F32, CA_GAPS, 1, TESS_CLIFFORD_GELU, 1, 1, 1},
};

typedef struct layer_arrays {
    tess_clifford_algebra algebra;
    ca_array x, weight, linear_weight, bias, out, linear_out, statistics;
} layer_arrays;

enum { N_ARRAY = 7 };

static void list_arrays(layer_arrays *a, ca_array *list[N_ARRAY])
{
    ca_array *const all[N_ARRAY] = {&a->x,   &a->weight,     &a->linear_weight, &a->bias,
                                    &a->out, &a->linear_out, &a->statistics};
    memcpy(list, all, sizeof all);
}

// as_f32: the same numbers, kept as f32.
static layer_arrays make_arrays(const layer_case *c, int as_f32)
{
    layer_arrays a = {.algebra = ca_algebra(c->metric)};
    const int64_t d = a.algebra.n_component, g = a.algebra.n_grade;
    const int32_t own = c->dtype == TESS_F64 ? TESS_F64 : TESS_F32;
    a.x = ca_make(c->dtype, c->layout, d, c->n_row, c->n);
    a.weight = ca_make(c->weight_dtype, c->layout, c->n, a.algebra.n_path, 1);
    a.linear_weight = ca_make(c->weight_dtype, c->layout, g, c->n, c->n);
    a.bias = ca_make(c->weight_dtype, c->layout, c->n, 1, 1);
    a.out = ca_make(c->dtype, c->layout, d, c->n_row, c->n);
    a.linear_out = ca_make(c->dtype, c->layout, d, c->n_row, c->n);
    a.statistics = ca_make(own, CA_PLAIN, 1, g, c->n_row);
    ca_array *all[N_ARRAY];
    list_arrays(&a, all);
    for (uint64_t i = 0; i < 4; i++) {
        ca_fill(all[i], i, 1);
    }
    for (int i = 0; i < 6 && as_f32; i++) {
        ca_array wide =
            ca_make(TESS_F32, CA_PLAIN, all[i]->shape[0], all[i]->shape[1], all[i]->shape[2]);
        CA_EACH(all[i], u, v, w)
        {
            ca_write(wide.view.data, TESS_F32, ca_at(&wide, u, v, w), *ca_value(all[i], u, v, w));
        }
        ca_drop(all[i]);
        *all[i] = wide;
    }
    return a;
}

static void drop_arrays(layer_arrays *a)
{
    ca_array *all[N_ARRAY];
    list_arrays(a, all);
    for (int i = 0; i < N_ARRAY; i++) {
        ca_drop(all[i]);
    }
}

static tess_stage_clifford_layer stage_of(const layer_case *c, const layer_arrays *a)
{
    return (tess_stage_clifford_layer){
        .problem = {.algebra = &a->algebra,
                    .path_mask = (UINT64_C(1) << a->algebra.n_path) - 1,
                    .n_row = c->n_row,
                    .n_in = c->n,
                    .n_out = c->n,
                    .dtype = a->x.dtype,
                    .weight_dtype = a->weight.dtype,
                    .pass = TESS_CLIFFORD_FORWARD,
                    .activation = c->activation,
                    .normalize = c->normalize,
                    .norm_metric = c->norm_metric,
                    .bias_mode = c->bias_mode,
                    .eps = 1e-3},
        .x = a->x.view,
        .weight = c->has_weight ? a->weight.view : (tess_cl_view){0},
        .linear_weight = a->linear_weight.view,
        .bias = c->bias_mode < 0 ? (tess_cl_view){0} : a->bias.view,
        .out = a->out.view,
        .linear_out = a->linear_out.view,
        .statistics = a->statistics.view.data};
}

static void run_layer(tess_context *ctx, const tess_stage_clifford_layer *stage)
{
    ca_run(ctx, TESS_STAGE_CLIFFORD_LAYER, stage, sizeof *stage);
}

static void run_parts(tess_context *ctx, const tess_stage_clifford_layer *layer)
{
    const tess_stage_clifford_linear linear = {.problem = layer->problem,
                                               .x = layer->x,
                                               .weight = layer->linear_weight,
                                               .bias = layer->bias,
                                               .out = layer->linear_out};
    ca_run(ctx, TESS_STAGE_CLIFFORD_LINEAR, &linear, sizeof linear);
    const tess_stage_clifford_sgp sgp = {.problem = layer->problem,
                                         .x = layer->x,
                                         .y = layer->linear_out,
                                         .weight = layer->weight,
                                         .out = layer->out,
                                         .statistics = layer->statistics};
    ca_run(ctx, TESS_STAGE_CLIFFORD_SGP, &sgp, sizeof sgp);
}

static void assert_same(layer_arrays *a, layer_arrays *b)
{
    assert_memory_equal(a->out.view.data, b->out.view.data, a->out.bytes);
    assert_memory_equal(a->linear_out.view.data, b->linear_out.view.data, a->linear_out.bytes);
    assert_memory_equal(a->statistics.view.data, b->statistics.view.data, a->statistics.bytes);
}

static void layers_are_their_parts(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const layer_case *c = &cases[i];
        const int is_narrow = c->dtype != TESS_F32 && c->dtype != TESS_F64;
        layer_arrays a = make_arrays(c, 0), b = make_arrays(c, is_narrow);
        tess_stage_clifford_layer stage = stage_of(c, &a);
        run_layer(ctx, &stage);
        stage = stage_of(c, &b);
        run_parts(ctx, &stage);
        // 16-bit types round what is kept, nothing in between.
        CA_EACH(&a.out, k, r, n)
        {
            double want[2] = {ca_get(&b.out, k, r, n), ca_get(&b.linear_out, k, r, n)};
            for (int z = 0; z < 2; z++) {
                double memory;
                ca_write(&memory, c->dtype, 0, want[z]);
                want[z] = ca_read(&memory, c->dtype, 0);
            }
            assert_true(ca_get(&a.out, k, r, n) == want[0]);
            assert_true(ca_get(&a.linear_out, k, r, n) == want[1]);
        }
        assert_memory_equal(a.statistics.view.data, b.statistics.view.data, a.statistics.bytes);
        drop_arrays(&a);
        drop_arrays(&b);
    }
    tess_context_destroy(ctx);
}

static void threads_and_cuts_do_not_show(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const layer_case *c = &cases[i];
        tess_context *ctx = unit_context(1, 0), *many = unit_context(5, 0);
        layer_arrays a = make_arrays(c, 0), b = make_arrays(c, 0);
        tess_stage_clifford_layer stage = stage_of(c, &a);
        run_layer(ctx, &stage);
        const int64_t cut = c->n_row / 3, last = c->n_row - cut;
        for (int part = cut == 0; part < 2; part++) {
            const int64_t row = part == 0 ? 0 : cut;
            stage = stage_of(c, &b);
            stage.problem.n_row = part == 0 ? cut : last;
            stage.x = ca_from_row(&b.x, row);
            stage.out = ca_from_row(&b.out, row);
            stage.linear_out = ca_from_row(&b.linear_out, row);
            stage.statistics = NULL;
            run_layer(many, &stage);
        }
        memcpy(b.statistics.view.data, a.statistics.view.data, a.statistics.bytes);
        assert_same(&a, &b);
        drop_arrays(&a);
        drop_arrays(&b);
        tess_context_destroy(ctx);
        tess_context_destroy(many);
    }
}

static void the_linear_part_need_not_be_kept(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    layer_arrays a = make_arrays(&cases[0], 0), b = make_arrays(&cases[0], 0);
    tess_stage_clifford_layer stage = stage_of(&cases[0], &a);
    run_layer(ctx, &stage);
    stage = stage_of(&cases[0], &b);
    stage.linear_out.data = NULL;
    stage.statistics = NULL;
    run_layer(ctx, &stage);
    assert_memory_equal(a.out.view.data, b.out.view.data, a.out.bytes);
    drop_arrays(&a);
    drop_arrays(&b);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_are_their_parts),
        cmocka_unit_test(threads_and_cuts_do_not_show),
        cmocka_unit_test(the_linear_part_need_not_be_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
