// What clifford says to arrays that do not fit: message, status, and that nothing is written.
#include "clifford_arrays.h"

#include "systems/clifford/op/operands.h"

static tess_context *ctx;

static int set_up(void **state)
{
    (void)state;
    ctx = unit_context(2, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tess_context_destroy(ctx);
    cl_free_all();
    return 0;
}

// Arrays of a product in Cl(3,0), 5 rows, 7 features.
typedef struct fixture {
    tess_clifford_op op;
    tess_array *x, *y, *weight, *z;
    tess_clifford_arrays in;
} fixture;

static tess_array *f32(int64_t n0, int64_t n1, int64_t n2)
{
    return cl_empty(TESS_F32, CL_CONTIGUOUS, n0, n1, n2);
}

static fixture product(tess_clifford_kind kind)
{
    fixture f = {.op = cl_op(kind, "+++", NULL)};
    f.x = f32(8, 5, 7);
    f.y = f32(8, 5, 7);
    f.weight = kind == TESS_CLIFFORD_FCGP ? f32(20, 7, 6) : f32(7, 20, 0);
    f.z = f32(8, 5, kind == TESS_CLIFFORD_FCGP ? 6 : 7);
    f.in = (tess_clifford_arrays)CL_ARRAYS(.x = f.x, .y = f.y, .weight = f.weight);
    return f;
}

static tess_status forward(const fixture *f)
{
    return tess_clifford_forward(ctx, &f->op, &f->in, f->z, NULL, NULL, NULL);
}

static tess_status backward(const fixture *f, const tess_clifford_arrays *gradients)
{
    return tess_clifford_backward(ctx, &f->op, &f->in, f->z, NULL, gradients, NULL);
}

static void shapes_of_inputs(void **state)
{
    (void)state;
    fixture f = product(TESS_CLIFFORD_SGP);
    f.in.y = f32(8, 5, 6);
    assert_fails(forward(&f), TESS_E_SHAPE,
                 "clifford.sgp: x (8,5,7) and y (8,5,6) must have equal shapes");
    f.in.y = f32(8, 35, 0);
    assert_fails(forward(&f), TESS_E_SHAPE, "x (8,5,7) and y (8,35) must have equal shapes");
    f = product(TESS_CLIFFORD_SGP);
    f.in.x = f32(7, 5, 8);
    assert_fails(forward(&f), TESS_E_SHAPE,
                 "clifford.sgp: x: (7,5,8): expected 8 components on the first axis for Cl(3,0,0) "
                 "'+++', got 7; the last axis has that many: channel-last");
    f.in.x = f32(4, 5, 7);
    assert_fails(forward(&f), TESS_E_SHAPE, "expected 8 components");
    assert_null(strstr(tess_last_error(), "channel-last"));
    f.in.x = f32(8, 35, 0);
    assert_fails(forward(&f), TESS_E_SHAPE, "x: (8,35): expected 3 axes");
}

static void shapes_of_weights(void **state)
{
    (void)state;
    fixture f = product(TESS_CLIFFORD_SGP);
    f.in.weight = f32(20, 7, 0);
    assert_fails(
        forward(&f), TESS_E_SHAPE,
        "weight: expected (7,20) = (feature, path) for x of 7 features, got (20,7); transposed?");
    f.in.weight = f32(7, 19, 0);
    assert_fails(forward(&f), TESS_E_SHAPE,
                 "weight: expected (7,20) = (feature, path) for x of 7 features, got (7,19)");
    assert_null(strstr(tess_last_error(), "transposed"));
    f = product(TESS_CLIFFORD_FCGP);
    f.in.weight = f32(7, 6, 20);
    assert_fails(forward(&f), TESS_E_SHAPE,
                 "clifford.fcgp: weight: expected (20,7,20) = (path, "
                 "feature in, feature out) for x of 7 features, got (7,6,20); transposed?");
    f.in.weight = f32(7, 20, 0);
    assert_fails(forward(&f), TESS_E_SHAPE, "weight: expected (20,7,7)");
    f = product(TESS_CLIFFORD_LAYER);
    f.in.y = NULL;
    f.in.linear_weight = f32(4, 7, 6);
    assert_fails(forward(&f), TESS_E_SHAPE, "clifford.layer: linear_weight: expected (4,7,7)");
    f.in.linear_weight = f32(4, 7, 7);
    f.in.bias = f32(6, 0, 0);
    assert_fails(forward(&f), TESS_E_SHAPE, "bias: expected (7,) = (feature out), got (6,)");
}

static void shapes_of_results(void **state)
{
    (void)state;
    fixture f = product(TESS_CLIFFORD_FCGP);
    f.z = f32(8, 5, 7);
    assert_fails(forward(&f), TESS_E_SHAPE, "clifford.fcgp: z: expected (8,5,6)");
    f = product(TESS_CLIFFORD_SGP);
    const tess_array *statistics = f32(5, 4, 0);
    assert_fails(tess_clifford_forward(ctx, &f.op, &f.in, f.z, statistics, NULL, NULL),
                 TESS_E_SHAPE, "statistics: expected (4,5) = (grade, row), got (5,4)");
    tess_clifford_arrays gradients = CL_ARRAYS(.x = f32(8, 5, 6));
    assert_fails(backward(&f, &gradients), TESS_E_SHAPE, "gradients.x: expected (8,5,7)");
}

static void no_features(void **state)
{
    (void)state;
    fixture f = product(TESS_CLIFFORD_SGP);
    f.x->shape[2] = 0;
    f.y->shape[2] = 0;
    assert_fails(forward(&f), TESS_E_SHAPE, "x: (8,5,0): expected at least one feature");
    f = product(TESS_CLIFFORD_FCGP);
    f.weight->shape[2] = 0;
    f.z->shape[2] = 0;
    assert_fails(forward(&f), TESS_E_SHAPE, "no feature");
}

static void types(void **state)
{
    (void)state;
    fixture f = product(TESS_CLIFFORD_SGP);
    f.in.y = cl_empty(TESS_F64, CL_CONTIGUOUS, 8, 5, 7);
    assert_fails(forward(&f), TESS_E_DTYPE, "clifford.sgp: y: is f64, expected f32 as x");
    static const tess_dtype others[] = {TESS_I32, TESS_C64, TESS_U8, TESS_BOOL};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        f = product(TESS_CLIFFORD_SGP);
        f.x->dtype = (int32_t)others[i];
        assert_fails(forward(&f), TESS_E_DTYPE, "supported are f64, f32, bf16 and f16");
    }
    f = product(TESS_CLIFFORD_SGP);
    f.in.weight = cl_empty(TESS_F64, CL_CONTIGUOUS, 7, 20, 0);
    assert_fails(forward(&f), TESS_E_DTYPE, "weight: is f64 beside x of f32; expected f32");
    f.in.weight = cl_empty(TESS_BF16, CL_CONTIGUOUS, 7, 20, 0);
    assert_fails(forward(&f), TESS_E_DTYPE, "weight: is bf16 beside x of f32; expected f32");
    f = product(TESS_CLIFFORD_SGP);
    f.in.x = cl_empty(TESS_BF16, CL_CONTIGUOUS, 8, 5, 7);
    f.in.y = cl_empty(TESS_BF16, CL_CONTIGUOUS, 8, 5, 7);
    f.in.weight = cl_empty(TESS_F16, CL_CONTIGUOUS, 7, 20, 0);
    assert_fails(forward(&f), TESS_E_DTYPE,
                 "weight: is f16 beside x of bf16; expected bf16 or f32");
    f.in.weight = f32(7, 20, 0);
    assert_fails(forward(&f), TESS_E_DTYPE, "z: is f32, expected bf16 as x");
    f = product(TESS_CLIFFORD_SGP);
    f.x->item_bytes = 8;
    assert_fails(forward(&f), TESS_E_DTYPE, "x: item_bytes is 8, but f32 has 4");
}

static void presence(void **state)
{
    (void)state;
    fixture f = product(TESS_CLIFFORD_SGP);
    f.in.y = NULL;
    assert_fails(forward(&f), TESS_E_ARGUMENT, "clifford.sgp: y: is missing");
    f = product(TESS_CLIFFORD_SGP);
    f.in.bias = f32(7, 0, 0);
    assert_fails(forward(&f), TESS_E_ARGUMENT, "bias: this operation has none; pass NULL");
    f = product(TESS_CLIFFORD_FCGP);
    f.in.weight = NULL;
    assert_fails(forward(&f), TESS_E_ARGUMENT, "clifford.fcgp: weight: is missing");
    f = product(TESS_CLIFFORD_SGP);
    f.in.weight = NULL;
    tess_clifford_arrays gradients = CL_ARRAYS(.weight = f32(7, 20, 0));
    assert_fails(backward(&f, &gradients), TESS_E_ARGUMENT,
                 "gradients.weight: the call has no weight; pass NULL");
    f = product(TESS_CLIFFORD_SGP);
    f.op.config.normalize = 0;
    assert_fails(tess_clifford_forward(ctx, &f.op, &f.in, f.z, f32(4, 5, 0), NULL, NULL),
                 TESS_E_ARGUMENT, "statistics: this operation has none without a norm");
    f.z = NULL;
    assert_fails(forward(&f), TESS_E_ARGUMENT, "z: is missing");
    assert_fails(backward(&f, NULL), TESS_E_ARGUMENT, "gz: is missing");
    assert_fails(tess_clifford_forward(ctx, &f.op, NULL, f.z, NULL, NULL, NULL), TESS_E_ARGUMENT,
                 "x: is missing");
    assert_fails(tess_clifford_forward(ctx, NULL, &f.in, f.z, NULL, NULL, NULL), TESS_E_ARGUMENT,
                 "op must not be NULL");
    f.op.struct_size = 8;
    assert_fails(forward(&f), TESS_E_VERSION, "tess_clifford_op_init()");
    f = product(TESS_CLIFFORD_SGP);
    f.in.z = f.z;
    assert_fails(forward(&f), TESS_E_ARGUMENT, "in.z: only the inputs of a backward pass");
}

static void places(void **state)
{
    (void)state;
    fixture f = product(TESS_CLIFFORD_SGP);
    f.weight->space = TESS_SPACE_DEVICE;
    f.weight->device = 1;
    assert_fails(forward(&f), TESS_E_SPACE,
                 "weight: is on GPU 1, but x is in host memory: all arrays of a call");
    f.x->space = TESS_SPACE_DEVICE;
    f.y->space = TESS_SPACE_DEVICE;
    assert_fails(forward(&f), TESS_E_SPACE, "weight: is on GPU 1, but x is on GPU 0");
    f.weight->device = 0;
    f.z->space = TESS_SPACE_DEVICE;
    assert_fails(forward(&f), TESS_E_SPACE,
                 "x: is on GPU 0, but the context works on 'cpu': create a context with device "
                 "'cuda:0'");
    f = product(TESS_CLIFFORD_SGP);
    tess_clifford_call call;
    tess_clifford_call_init(&call, sizeof call);
    call.has_stream = 1;
    assert_fails(tess_clifford_forward(ctx, &f.op, &f.in, f.z, NULL, NULL, &call), TESS_E_ARGUMENT,
                 "a stream was given, but the arrays are in host memory");
}

static void memory(void **state)
{
    (void)state;
    fixture f = product(TESS_CLIFFORD_SGP);
    f.x->data = NULL;
    assert_fails(forward(&f), TESS_E_ARGUMENT, "x: data is NULL");
    f = product(TESS_CLIFFORD_SGP);
    f.x->data = (char *)f.x->data + 1;
    assert_fails(forward(&f), TESS_E_ARGUMENT, "x: its address is no multiple of the 4 bytes");
    f = product(TESS_CLIFFORD_SGP);
    f.z = f.x;
    assert_fails(forward(&f), TESS_E_ARGUMENT, "z: overlaps x in memory");
    f = product(TESS_CLIFFORD_SGP);
    f.z->stride[1] = 0;
    assert_fails(forward(&f), TESS_E_ARGUMENT, "z: its items overlap each other");
    f = product(TESS_CLIFFORD_SGP);
    f.z->stride[0] = 34;
    assert_fails(forward(&f), TESS_E_ARGUMENT, "z: its items overlap each other");
    f = product(TESS_CLIFFORD_SGP);
    f.x->stride[0] = INT64_MAX / 4;
    assert_fails(forward(&f), TESS_E_SHAPE, "x: its strides reach further than memory");
    f = product(TESS_CLIFFORD_SGP);
    tess_clifford_arrays gradients = CL_ARRAYS(.x = f32(8, 5, 7), .y = f32(8, 5, 7));
    tess_array same = *gradients.x;
    gradients.y = &same;
    assert_fails(backward(&f, &gradients), TESS_E_ARGUMENT, "overlaps gradients.y in memory");
}

// A small array anywhere in a block of 4096 items, with any strides.
static tess_array anywhere(uint64_t *seed, char *block)
{
    tess_array a;
    const int64_t shape[3] = {1 + (int64_t)(cl_draw(seed) % 4), 1 + (int64_t)(cl_draw(seed) % 4),
                              1 + (int64_t)(cl_draw(seed) % 4)};
    const tess_dtype dtype = cl_draw(seed) % 2 ? TESS_F32 : TESS_BF16;
    const int64_t bytes = (int64_t)tess_dtype_bytes(dtype);
    assert_ok(tess_array_init(&a, block + 4096 + (int64_t)(cl_draw(seed) % 256) * bytes, dtype, 3,
                              shape));
    for (int i = 0; i < 3; i++) {
        a.stride[i] = (int64_t)(cl_draw(seed) % 41) - 20;
    }
    return a;
}

static void mark(const tess_array *a, const char *block, uint8_t *seen, int *n_twice)
{
    for (int64_t i = 0; i < tess_array_items(a); i++) {
        const char *item = (const char *)a->data + cl_offset(a, i) * a->item_bytes;
        for (int64_t k = 0; k < a->item_bytes; k++) {
            *n_twice += seen[item + k - block]++ > 0;
        }
    }
}

static void overlap_is_exact(void **state)
{
    (void)state;
    static char block[8192];
    uint64_t seed = 3;
    int n_yes = 0, n_no = 0;
    for (int trial = 0; trial < 20000; trial++) {
        tess_array a = anywhere(&seed, block), b = anywhere(&seed, block);
        uint8_t seen[sizeof block] = {0};
        int in_a = 0, in_both = 0;
        mark(&a, block, seen, &in_a);
        if (!tess_cl_overlaps_itself(&a)) {
            assert_int_equal(in_a, 0);
        }
        // Marked once each, whatever an array does to itself.
        for (size_t i = 0; i < sizeof seen; i++) {
            seen[i] = seen[i] > 0;
        }
        for (int64_t i = 0; i < tess_array_items(&b); i++) {
            const char *item = (const char *)b.data + cl_offset(&b, i) * b.item_bytes;
            for (int64_t k = 0; k < b.item_bytes; k++) {
                in_both += seen[item + k - block];
            }
        }
        assert_int_equal(tess_cl_overlaps(&a, &b), in_both > 0);
        n_yes += in_both > 0;
        n_no += in_both == 0;
    }
    assert_true(n_yes > 1000 && n_no > 1000);
}

// Halves of one array, as gradients of two factors lie side by side; the second moved back by an
// item shares memory with the first.
static void long_halves_do_not_overlap(void **state)
{
    (void)state;
    static float memory[2048]; // the first row; nothing is read
    const int64_t n_row = 100000;
    tess_array left = {.data = memory,
                       .dtype = TESS_F32,
                       .item_bytes = 4,
                       .rank = 3,
                       .shape = {16, n_row, 64},
                       .stride = {1, 2048, 16}};
    tess_array right = left;
    right.data = memory + 1024;
    assert_false(tess_cl_overlaps(&left, &right));
    assert_false(tess_cl_overlaps(&right, &left));
    right.data = memory + 1023;
    assert_true(tess_cl_overlaps(&left, &right));
}

static void workspaces(void **state)
{
    (void)state;
    fixture f = product(TESS_CLIFFORD_SGP);
    uint64_t bytes = 1;
    assert_fails(tess_clifford_workspace(ctx, &f.op, (tess_clifford_pass)7, &f.in, &bytes),
                 TESS_E_ARGUMENT, "pass 7");
    assert_int_equal(bytes, 0);
    tess_clifford_call call;
    tess_clifford_call_init(&call, sizeof call);
    float room[256];
    call.workspace = (char *)room + 4;
    call.workspace_bytes = 8;
    tess_clifford_arrays cotangents = CL_ARRAYS(.x = f.x);
    tess_array *dgz = f32(8, 5, 7);
    assert_fails(
        tess_clifford_double_backward(ctx, &f.op, &f.in, f.z, &cotangents, dgz, NULL, &call),
        TESS_E_ARGUMENT, "clifford.sgp: workspace of 8 bytes, expected at least");
    call.workspace_bytes = 1 << 30;
    assert_fails(
        tess_clifford_double_backward(ctx, &f.op, &f.in, f.z, &cotangents, dgz, NULL, &call),
        TESS_E_ARGUMENT, "workspace must be aligned to 256 bytes");
}

static void operations(void **state)
{
    (void)state;
    tess_clifford_op op;
    tess_clifford_metric metric = {.n_symbol = 6};
    assert_fails(
        tess_clifford_op_init(&op, sizeof op, TESS_CLIFFORD_SGP, &metric, NULL, UINT64_MAX),
        TESS_E_ARGUMENT, "6 symbols, expected 1 to 5");
    metric.n_symbol = 0;
    assert_fails(
        tess_clifford_op_init(&op, sizeof op, TESS_CLIFFORD_SGP, &metric, NULL, UINT64_MAX),
        TESS_E_ARGUMENT, "0 symbols, expected 1 to 5");
    metric = (tess_clifford_metric){.n_symbol = 2, .square = {1, 2}};
    assert_fails(
        tess_clifford_op_init(&op, sizeof op, TESS_CLIFFORD_SGP, &metric, NULL, UINT64_MAX),
        TESS_E_ARGUMENT, "entry 1 is 2, expected -1, 0 or 1");
    metric.square[1] = 1;
    assert_fails(
        tess_clifford_op_init(&op, sizeof op, (tess_clifford_kind)9, &metric, NULL, UINT64_MAX),
        TESS_E_ARGUMENT, "kind 9");
    assert_fails(
        tess_clifford_op_init(&op, sizeof op, TESS_CLIFFORD_SGP, &metric, NULL, UINT64_C(1) << 30),
        TESS_E_ARGUMENT, "path_mask: 0x40000000 has bits beyond the 10 paths");
    tess_clifford_config config = cl_config(TESS_CLIFFORD_GELU, 1);
    config.eps = -1;
    assert_fails(
        tess_clifford_op_init(&op, sizeof op, TESS_CLIFFORD_SGP, &metric, &config, UINT64_MAX),
        TESS_E_RANGE, "eps");
}

static void maps(void **state)
{
    (void)state;
    tess_clifford_algebra algebra;
    const tess_clifford_metric metric = cl_metric("+++");
    assert_ok(tess_clifford_algebra_init(&algebra, sizeof algebra, &metric));
    const tess_array *x = f32(8, 5, 7);
    assert_fails(tess_clifford_map(ctx, &algebra, (tess_clifford_unary)9, 0, x, f32(8, 5, 7)),
                 TESS_E_ARGUMENT, "9 is no map");
    assert_fails(tess_clifford_map(ctx, &algebra, TESS_CLIFFORD_REVERSE, 0, x, x), TESS_E_ARGUMENT,
                 "overlaps");
    assert_fails(tess_clifford_map(ctx, &algebra, TESS_CLIFFORD_REVERSE, 0, x, f32(8, 5, 6)),
                 TESS_E_SHAPE, "z: expected (8,5,7)");
    assert_fails(tess_clifford_quadratic(ctx, &algebra, x, f32(8, 5, 7)), TESS_E_SHAPE,
                 "z: expected (4,5,7)");
    assert_fails(tess_clifford_quadratic(ctx, &algebra, f32(4, 5, 7), f32(4, 5, 7)), TESS_E_SHAPE,
                 "8 components");
    assert_fails(
        tess_clifford_quadratic(ctx, &algebra, x, cl_empty(TESS_F64, CL_CONTIGUOUS, 4, 5, 7)),
        TESS_E_DTYPE, "x is f32 and z is f64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shapes_of_inputs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shapes_of_weights, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shapes_of_results, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_features, set_up, tear_down),
        cmocka_unit_test_setup_teardown(types, set_up, tear_down),
        cmocka_unit_test_setup_teardown(presence, set_up, tear_down),
        cmocka_unit_test_setup_teardown(places, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory, set_up, tear_down),
        cmocka_unit_test(overlap_is_exact),
        cmocka_unit_test(long_halves_do_not_overlap),
        cmocka_unit_test_setup_teardown(workspaces, set_up, tear_down),
        cmocka_unit_test_setup_teardown(operations, set_up, tear_down),
        cmocka_unit_test_setup_teardown(maps, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
