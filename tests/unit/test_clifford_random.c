// Operations on random problems against plain loops; same bits however the work is cut.
#include "clifford_run.h"

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

// A problem with random data; everything its kind can have is there.
static naive fill(uint64_t *seed, const tess_clifford_op *op, int64_t n_row, int64_t n_in,
                  int64_t n_out)
{
    const tess_clifford_algebra *a = &op->algebra;
    naive v = {.op = op, .n_row = n_row, .n_in = n_in, .n_out = n_out};
    const int can_widen = naive_is_connected(&v) || op->kind == TESS_CLIFFORD_LINEAR;
    v.n_out = can_widen ? n_out : n_in;
    v.x = cl_random(seed, a->n_component * n_row * n_in);
    v.gz = cl_random(seed, a->n_component * n_row * v.n_out);
    if (op->kind == TESS_CLIFFORD_SGP || op->kind == TESS_CLIFFORD_FCGP) {
        v.y = cl_random(seed, a->n_component * n_row * n_in);
    }
    if (op->kind >= TESS_CLIFFORD_SGP && op->kind != TESS_CLIFFORD_LINEAR) {
        v.w = cl_random(seed, a->n_path * n_in * (naive_is_connected(&v) ? v.n_out : 1));
    }
    if (op->kind >= TESS_CLIFFORD_LINEAR) {
        v.linear_w = cl_random(seed, a->n_grade * n_in * naive_linear_width(&v));
        v.bias = cl_random(seed, naive_linear_width(&v));
    }
    return v;
}

static tess_clifford_op any_op(uint64_t *seed, tess_clifford_kind kind, int32_t max_symbol)
{
    tess_clifford_metric metric = {.n_symbol = 1 + (int32_t)(cl_draw(seed) % (uint64_t)max_symbol)};
    for (int32_t i = 0; i < metric.n_symbol; i++) {
        metric.square[i] = (int8_t)((int)(cl_draw(seed) % 3) - 1);
    }
    tess_clifford_config config =
        cl_config((tess_clifford_activation)(cl_draw(seed) % 5), (int32_t)(cl_draw(seed) % 2));
    config.norm_metric = (int32_t)(cl_draw(seed) % 4);
    config.bias_mode = (int32_t)(cl_draw(seed) % 2);
    config.eps = cl_draw(seed) % 2 ? 1e-6 : 0.01;
    const uint64_t mask = cl_draw(seed) % 3 == 0 ? cl_draw(seed) << 31 ^ cl_draw(seed) : UINT64_MAX;
    tess_clifford_op op;
    assert_ok(tess_clifford_op_init(&op, sizeof op, kind, &metric, &config, UINT64_MAX));
    op.path_mask &= mask;
    return op;
}

static void random_problems(void **state)
{
    (void)state;
    static const tess_dtype dtypes[] = {TESS_F64, TESS_F32};
    uint64_t seed = 1;
    const int n_trial = unit_is_quick() ? 40 : 400;
    for (int trial = 0; trial < n_trial; trial++) {
        const tess_clifford_kind kind = (tess_clifford_kind)(TESS_CLIFFORD_GATE + trial % 7);
        const tess_clifford_op op = any_op(&seed, kind, trial % 5 == 0 ? 5 : 3);
        const int64_t n_row = 1 + (int64_t)(cl_draw(&seed) % 5);
        // The norm of one number has next to no derivative: nothing to compare relative to.
        const int64_t least = op.config.normalize || kind == TESS_CLIFFORD_NORM ? 3 : 1;
        const int64_t n_in = least + (int64_t)(cl_draw(&seed) % 19);
        naive v = fill(&seed, &op, n_row, n_in, least + (int64_t)(cl_draw(&seed) % 9));
        if (kind == TESS_CLIFFORD_SGP && cl_draw(&seed) % 4 == 0) {
            v.w = NULL; // ones
        }
        if (v.bias && cl_draw(&seed) % 4 == 0) {
            v.bias = NULL;
        }
        naive_forward(&v);
        naive_backward(&v);
        const tess_dtype dtype = dtypes[cl_draw(&seed) % 2];
        const cl_form form = {dtype, dtype, (cl_layout)(cl_draw(&seed) % CL_N_LAYOUT),
                              (int)(cl_draw(&seed) % 2)};
        const cl_results r = cl_run(ctx, &v, &form);
        // Sums of few random numbers cancel now and then: more than the gates for large arrays.
        cl_check_results(&v, &form, &r, 20);
        cl_free_all();
    }
}

// Rows that come alone or with others, whatever the number of threads.
static void same_bits_for_any_cut(void **state)
{
    (void)state;
    static const tess_dtype dtypes[] = {TESS_F64, TESS_F32, TESS_BF16, TESS_F16};
    uint64_t seed = 21;
    const int64_t n_row = 75, n = 37;
    tess_context *alone = unit_context(1, 0), *many = unit_context(3, 0);
    for (int trial = 0; trial < 28; trial++) {
        const tess_dtype dtype = dtypes[trial / 7];
        const tess_clifford_op op =
            cl_op((tess_clifford_kind)(TESS_CLIFFORD_GATE + trial % 7), "+++", NULL);
        naive v = fill(&seed, &op, n_row, n, n);
        const cl_form form = {dtype, dtype, CL_CONTIGUOUS, 0};
        const tess_clifford_arrays in = cl_inputs(&v, &form);
        cl_results one = cl_forward(alone, &v, &form, &in),
                   three = cl_forward(many, &v, &form, &in);
        cl_backward(alone, &v, &form, &in, &one);
        cl_backward(many, &v, &form, &in, &three);
        assert_same_items(one.z, three.z);
        assert_same_items(one.gx, three.gx);
        if (one.gw) {
            assert_same_items(one.gw, three.gw);
        }
        if (one.g_linear_w) {
            assert_same_items(one.g_linear_w, three.g_linear_w);
            assert_same_items(one.g_bias, three.g_bias);
        }
        // The rows from 20 to 31 by themselves.
        const tess_array *parts[3] = {in.x, in.y, one.z};
        tess_array cut[3];
        for (int i = 0; i < 3; i++) {
            if (parts[i]) {
                cut[i] = *parts[i];
                cut[i].shape[1] = 11;
                cut[i].data = (char *)cut[i].data + 20 * cut[i].stride[1] * cut[i].item_bytes;
            }
        }
        tess_clifford_arrays cut_in = in;
        cut_in.x = &cut[0];
        cut_in.y = in.y ? &cut[1] : NULL;
        const tess_array *z = cl_empty(dtype, CL_CONTIGUOUS, 8, 11, n);
        assert_ok(tess_clifford_forward(many, &op, &cut_in, z, NULL, NULL, NULL));
        assert_same_items(z, &cut[2]);
        cl_free_all();
    }
    tess_context_destroy(alone);
    tess_context_destroy(many);
}

// gx and gy of a part of the rows.
static void same_gradients_for_any_cut(void **state)
{
    (void)state;
    uint64_t seed = 22;
    const int64_t n_row = 70, n = 33;
    for (int trial = 0; trial < 7; trial++) {
        const tess_clifford_op op =
            cl_op((tess_clifford_kind)(TESS_CLIFFORD_GATE + trial), "+++", NULL);
        const naive v = fill(&seed, &op, n_row, n, n);
        const cl_form form = {TESS_F32, TESS_F32, CL_CONTIGUOUS, 0};
        const tess_clifford_arrays in = cl_inputs(&v, &form);
        const tess_array *gz = cl_activation(&v, &form, n, v.gz);
        const tess_array *whole = cl_activation(&v, &form, n, NULL);
        const tess_array *parts = cl_activation(&v, &form, n, NULL);
        tess_clifford_arrays gradients = CL_ARRAYS(.x = whole);
        assert_ok(tess_clifford_backward(ctx, &op, &in, gz, NULL, &gradients, NULL));
        for (int64_t first = 0; first < n_row; first += 23) {
            const tess_array *from[4] = {in.x, in.y, gz, parts};
            tess_array cut[4];
            for (int i = 0; i < 4; i++) {
                if (from[i]) {
                    cut[i] = *from[i];
                    cut[i].shape[1] = n_row - first < 23 ? n_row - first : 23;
                    cut[i].data = (float *)cut[i].data + first * cut[i].stride[1];
                }
            }
            tess_clifford_arrays cut_in = in;
            cut_in.x = &cut[0];
            cut_in.y = in.y ? &cut[1] : NULL;
            gradients.x = &cut[3];
            assert_ok(tess_clifford_backward(ctx, &op, &cut_in, &cut[2], NULL, &gradients, NULL));
        }
        assert_same_items(whole, parts);
        cl_free_all();
    }
}

// No rows: empty results, gradients of weights zero, nothing else touched.
static void no_rows(void **state)
{
    (void)state;
    uint64_t seed = 31;
    for (int kind = TESS_CLIFFORD_GATE; kind <= TESS_CLIFFORD_FC_LAYER; kind++) {
        const tess_clifford_op op = cl_op((tess_clifford_kind)kind, "++", NULL);
        naive v = fill(&seed, &op, 1, 5, 5);
        const cl_form form = {TESS_F32, TESS_F32, CL_GAPS, 0};
        tess_clifford_arrays in = cl_inputs(&v, &form);
        tess_array x = *in.x, y = *in.x, z = *in.x, gx = *in.x;
        x.shape[1] = y.shape[1] = z.shape[1] = gx.shape[1] = 0;
        x.data = y.data = z.data = gx.data = NULL;
        in.x = &x;
        in.y = in.y ? &y : NULL;
        assert_ok(tess_clifford_forward(ctx, &op, &in, &z, NULL, NULL, NULL));
        const tess_clifford_arrays gradients =
            CL_ARRAYS(.x = &gx, .weight = v.w ? cl_weight(&v, &form, NULL) : NULL,
                      .linear_weight = v.linear_w ? cl_linear_weight(&v, &form, NULL) : NULL,
                      .bias = v.bias ? cl_bias(&v, &form, NULL) : NULL);
        assert_ok(tess_clifford_backward(ctx, &op, &in, &z, NULL, &gradients, NULL));
        const tess_array *zeros[3] = {gradients.weight, gradients.linear_weight, gradients.bias};
        for (int i = 0; i < 3; i++) {
            for (int64_t k = 0; zeros[i] && k < tess_array_items(zeros[i]); k++) {
                assert_true(cl_values(zeros[i])[k] == 0);
            }
        }
        assert_ok(tess_clifford_double_backward(ctx, &op, &in, &z, NULL, &z, NULL, NULL));
    }
}

// Frozen inputs: each gradient alone has the bits it has with the others.
static void gradients_one_by_one(void **state)
{
    (void)state;
    uint64_t seed = 41;
    for (int kind = TESS_CLIFFORD_GATE; kind <= TESS_CLIFFORD_FC_LAYER; kind++) {
        const tess_clifford_op op = cl_op((tess_clifford_kind)kind, "+++", NULL);
        naive v = fill(&seed, &op, 19, 13, 11);
        const cl_form form = {TESS_F32, TESS_F32, CL_CONTIGUOUS, 0};
        const tess_clifford_arrays in = cl_inputs(&v, &form);
        cl_results r = cl_forward(ctx, &v, &form, &in);
        cl_backward(ctx, &v, &form, &in, &r);
        const tess_array *gz = cl_activation(&v, &form, v.n_out, v.gz);
        const tess_array *all[5] = {r.gx, r.gy, r.gw, r.g_linear_w, r.g_bias};
        for (int i = 0; i < 5; i++) {
            if (!all[i]) {
                continue;
            }
            tess_array *one = cl_empty(TESS_F32, CL_CONTIGUOUS, all[i]->shape[0],
                                       all[i]->rank > 1 ? all[i]->shape[1] : 0,
                                       all[i]->rank > 2 ? all[i]->shape[2] : 0);
            const tess_clifford_arrays gradients =
                CL_ARRAYS(.x = i == 0 ? one : NULL, .y = i == 1 ? one : NULL,
                          .weight = i == 2 ? one : NULL, .linear_weight = i == 3 ? one : NULL,
                          .bias = i == 4 ? one : NULL);
            assert_ok(tess_clifford_backward(ctx, &op, &in, gz, NULL, &gradients, NULL));
            assert_same_items(one, all[i]);
        }
        const tess_clifford_arrays none = CL_ARRAYS(.x = NULL);
        assert_ok(tess_clifford_backward(ctx, &op, &in, gz, NULL, &none, NULL));
        cl_free_all();
    }
}

// With a workspace the library asks for no temporaries of its own, and the bits are the same.
static void workspace_of_the_caller(void **state)
{
    (void)state;
    uint64_t seed = 51;
    for (int kind = TESS_CLIFFORD_GATE; kind <= TESS_CLIFFORD_FC_LAYER; kind++) {
        const tess_clifford_op op = cl_op((tess_clifford_kind)kind, "++", NULL);
        naive v = fill(&seed, &op, 29, 17, 17);
        const cl_form form = {TESS_BF16, TESS_F32, CL_CONTIGUOUS, 0};
        const tess_clifford_arrays in = cl_inputs(&v, &form);
        cl_results want = cl_forward(ctx, &v, &form, &in);
        cl_backward(ctx, &v, &form, &in, &want);
        tess_clifford_call call;
        tess_clifford_call_init(&call, sizeof call);
        uint64_t forward = 0, backward = 0;
        assert_ok(tess_clifford_workspace(ctx, &op, TESS_CLIFFORD_FORWARD, &in, &forward));
        assert_ok(tess_clifford_workspace(ctx, &op, TESS_CLIFFORD_BACKWARD, &in, &backward));
        call.workspace_bytes = forward > backward ? forward : backward;
        char *room = cl_alloc((size_t)call.workspace_bytes + 256);
        call.workspace = room + (256 - (uintptr_t)room % 256) % 256;
        cl_results got = {.z = cl_activation(&v, &form, v.n_out, NULL),
                          .gx = cl_activation(&v, &form, v.n_in, NULL)};
        const tess_clifford_arrays gradients = CL_ARRAYS(.x = got.gx);
        assert_ok(tess_clifford_forward(ctx, &op, &in, got.z, NULL, NULL, &call));
        assert_ok(tess_clifford_backward(ctx, &op, &in, cl_activation(&v, &form, v.n_out, v.gz),
                                         NULL, &gradients, &call));
        assert_same_items(got.z, want.z);
        assert_same_items(got.gx, want.gx);
        cl_free_all();
    }
}

// NaN stays in its row of z and gx.
static void nan_stays_in_its_row(void **state)
{
    (void)state;
    uint64_t seed = 61;
    for (int kind = TESS_CLIFFORD_GATE; kind <= TESS_CLIFFORD_FC_LAYER; kind++) {
        const tess_clifford_op op = cl_op((tess_clifford_kind)kind, "+++", NULL);
        naive v = fill(&seed, &op, 9, 21, 21);
        const cl_form form = {TESS_F32, TESS_F32, CL_CONTIGUOUS, 0};
        double *x = cl_alloc((size_t)(8 * 9 * 21) * sizeof *x);
        memcpy(x, v.x, (size_t)(8 * 9 * 21) * sizeof *x);
        const cl_results clean = cl_run(ctx, &v, &form);
        x[(3 * 9 + 4) * 21 + 5] = (double)NAN;
        v.x = x;
        const cl_results r = cl_run(ctx, &v, &form);
        const double *z = cl_values(r.z), *gx = cl_values(r.gx);
        const double *want_z = cl_values(clean.z), *want_gx = cl_values(clean.gx);
        int n_nan = 0;
        for (int64_t i = 0; i < 8 * 9 * 21; i++) {
            if (i / 21 % 9 != 4) {
                assert_true(z[i] == want_z[i] && gx[i] == want_gx[i]);
            }
            n_nan += isnan(z[i]);
        }
        assert_true(n_nan > 0);
        cl_free_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_problems, set_up, tear_down),
        cmocka_unit_test_setup_teardown(same_bits_for_any_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(same_gradients_for_any_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gradients_one_by_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(workspace_of_the_caller, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nan_stays_in_its_row, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
