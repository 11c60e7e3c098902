// Second derivatives: golden data, differences of the first backward pass, tiles.
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

// Cotangents of gx, gy, gw, gW, gb; NULL: zero.
typedef struct cotangents {
    const double *x, *y, *w, *linear_w, *bias;
} cotangents;

typedef struct doubles {
    tess_array *gz, *x, *y, *w, *linear_w, *bias;
} doubles;

static doubles run_double(const naive *v, const cl_form *form, const cotangents *c)
{
    const tess_clifford_arrays in = cl_inputs(v, form);
    const tess_clifford_arrays given =
        CL_ARRAYS(.x = c->x ? cl_activation(v, form, v->n_in, c->x) : NULL,
                  .y = c->y ? cl_activation(v, form, v->n_in, c->y) : NULL,
                  .weight = c->w ? cl_weight(v, form, c->w) : NULL,
                  .linear_weight = c->linear_w ? cl_linear_weight(v, form, c->linear_w) : NULL,
                  .bias = c->bias ? cl_bias(v, form, c->bias) : NULL);
    doubles d = {.gz = cl_activation(v, form, v->n_out, NULL),
                 .x = cl_activation(v, form, v->n_in, NULL),
                 .y = v->y ? cl_activation(v, form, v->n_in, NULL) : NULL,
                 .w = v->w ? cl_weight(v, form, NULL) : NULL,
                 .linear_w = v->linear_w ? cl_linear_weight(v, form, NULL) : NULL,
                 .bias = v->bias ? cl_bias(v, form, NULL) : NULL};
    const tess_clifford_arrays results =
        CL_ARRAYS(.x = d.x, .y = d.y, .weight = d.w, .linear_weight = d.linear_w, .bias = d.bias);
    assert_ok(tess_clifford_double_backward(
        ctx, v->op, &in, cl_activation(v, form, v->n_out, v->gz), &given, d.gz, &results, NULL));
    return d;
}

static double *member(const char *file, const char *prefix, const char *name)
{
    char full[64];
    int64_t n = 0;
    snprintf(full, sizeof full, "%s%s", prefix, name);
    double *values = golden_f64(ctx, file, full, &n);
    double *kept = cl_alloc((size_t)n * sizeof *kept);
    memcpy(kept, values, (size_t)n * sizeof *kept);
    free(values);
    return kept;
}

static void check_golden(const char *file, const char *metric, int64_t n_row, int64_t n,
                         int32_t normalize)
{
    static const struct {
        cl_form form;
        double allowed;
    } forms[] = {
        {{TESS_F64, TESS_F64, CL_CONTIGUOUS, 0}, 1e-12},
        {{TESS_F32, TESS_F32, CL_CONTIGUOUS, 0}, 2e-6},
        {{TESS_F64, TESS_F64, CL_LAST_FIRST, 0}, 1e-12},
        {{TESS_F32, TESS_F32, CL_BACKWARDS, 0}, 2e-6},
        {{TESS_BF16, TESS_BF16, CL_GAPS, 0}, 6e-3},
        {{TESS_F16, TESS_F32, CL_CONTIGUOUS, 0}, 1e-3},
    };
    const char *prefix = normalize ? "dbl_norm_" : "dbl_plain_";
    const tess_clifford_config config = cl_config(TESS_CLIFFORD_GELU, normalize);
    const tess_clifford_op op = cl_op(TESS_CLIFFORD_SGP, metric, &config);
    const naive v = {.op = &op,
                     .n_row = n_row,
                     .n_in = n,
                     .n_out = n,
                     .x = member(file, "", "x"),
                     .y = member(file, "", "y"),
                     .w = member(file, "", "sgp_w"),
                     .gz = member(file, "", "gz")};
    const cotangents c = {.x = member(file, "", "dbl_a"),
                          .y = member(file, "", "dbl_b"),
                          .w = member(file, "", "dbl_c")};
    for (size_t f = 0; f < ARRAY_LEN(forms); f++) {
        const doubles d = run_double(&v, &forms[f].form, &c);
        assert_close(d.gz, member(file, prefix, "dgz"), forms[f].allowed);
        assert_close(d.x, member(file, prefix, "dx"), forms[f].allowed);
        assert_close(d.y, member(file, prefix, "dy"), forms[f].allowed);
        assert_close(d.w, member(file, prefix, "dw"), forms[f].allowed);
    }
    cl_free_all();
}

static void golden_doubles(void **state)
{
    (void)state;
    for (int32_t normalize = 0; normalize <= 1; normalize++) {
        check_golden("clifford/ops_2d_b5_n7", "++", 5, 7, normalize);
        check_golden("clifford/ops_3d_b5_n7", "+++", 5, 7, normalize);
        check_golden("clifford/ops_2d_b3_n28", "++", 3, 28, normalize);
        check_golden("clifford/ops_3d_b3_n28", "+++", 3, 28, normalize);
    }
}

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; a && b && i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static int64_t activation_items(const naive *v, int64_t n_feature)
{
    return v->op->algebra.n_component * v->n_row * n_feature;
}

static int64_t weight_items(const naive *v)
{
    return v->op->algebra.n_path * v->n_in * (naive_is_connected(v) ? v->n_out : 1);
}

static int64_t linear_items(const naive *v)
{
    return v->op->algebra.n_grade * v->n_in * naive_linear_width(v);
}

// What the second derivatives are gradients of: sum <cotangent, gradient>.
static double objective(naive v, const cotangents *c)
{
    naive_backward(&v);
    return dot(v.gx, c->x, activation_items(&v, v.n_in)) +
           dot(v.gy, c->y, activation_items(&v, v.n_in)) + dot(v.gw, c->w, weight_items(&v)) +
           dot(v.g_linear_w, c->linear_w, linear_items(&v)) +
           dot(v.g_bias, c->bias, naive_linear_width(&v));
}

// The objective with one input moved along a direction.
static double moved(const naive *v, const cotangents *c, const double **input, int64_t n,
                    const double *direction, double step)
{
    const double *kept = *input;
    double *values = cl_alloc((size_t)n * sizeof *values);
    for (int64_t i = 0; i < n; i++) {
        values[i] = kept[i] + step * direction[i];
    }
    *input = values;
    const double result = objective(*v, c);
    *input = kept;
    return result;
}

// The derivative along a random direction against extrapolated central differences.
static void check_direction(uint64_t *seed, naive *v, const cotangents *c, const double **input,
                            int64_t n, const tess_array *got, const char *name)
{
    const double h = 1e-3;
    if (!*input) {
        return;
    }
    const double *direction = cl_random(seed, n);
    double wide = moved(v, c, input, n, direction, h) - moved(v, c, input, n, direction, -h);
    double close =
        moved(v, c, input, n, direction, h / 2) - moved(v, c, input, n, direction, -h / 2);
    double finer =
        moved(v, c, input, n, direction, h / 4) - moved(v, c, input, n, direction, -h / 4);
    wide /= 2 * h;
    close /= h;
    finer /= h / 2;
    const double second = (4 * close - wide) / 3, third = (4 * finer - close) / 3;
    const double want = (16 * third - second) / 15;
    const double *values = cl_values(got);
    const double have = dot(values, direction, n);
    const double size = sqrt(dot(values, values, n) * dot(direction, direction, n)) + 1e-3;
    if (!(fabs(have - want) <= 1e-7 * size)) {
        fail_msg("kind %d, activation %d, norm %d/%d, bias mode %d: %s: got %.12g, want %.12g "
                 "(allowed %.3g)",
                 v->op->kind, v->op->config.activation, v->op->config.normalize,
                 v->op->config.norm_metric, v->op->config.bias_mode, name, have, want, 1e-7 * size);
    }
}

// Away from zero, where relu has no second derivative.
static double *off_zero(uint64_t *seed, int64_t n)
{
    double *values = cl_random(seed, n);
    for (int64_t i = 0; i < n; i++) {
        values[i] = values[i] / 2 + 1.0 / 256;
    }
    return values;
}

static void fill(uint64_t *seed, naive *v, cotangents *c, unsigned left_out)
{
    const int32_t kind = v->op->kind;
    const int has_y = kind == TESS_CLIFFORD_SGP || kind == TESS_CLIFFORD_FCGP;
    const int has_w = kind >= TESS_CLIFFORD_SGP && kind != TESS_CLIFFORD_LINEAR;
    const int has_linear = kind >= TESS_CLIFFORD_LINEAR;
    v->x = off_zero(seed, activation_items(v, v->n_in));
    v->gz = off_zero(seed, activation_items(v, v->n_out));
    v->y = has_y ? off_zero(seed, activation_items(v, v->n_in)) : NULL;
    v->w = has_w ? off_zero(seed, weight_items(v)) : NULL;
    v->linear_w = has_linear ? off_zero(seed, linear_items(v)) : NULL;
    v->bias = has_linear ? off_zero(seed, naive_linear_width(v)) : NULL;
    *c = (cotangents){0};
    c->x = left_out & 1 ? NULL : off_zero(seed, activation_items(v, v->n_in));
    c->y = left_out & 2 || !has_y ? NULL : off_zero(seed, activation_items(v, v->n_in));
    c->w = left_out & 4 || !has_w ? NULL : off_zero(seed, weight_items(v));
    c->linear_w = left_out & 8 || !has_linear ? NULL : off_zero(seed, linear_items(v));
    c->bias = left_out & 16 || !has_linear ? NULL : off_zero(seed, naive_linear_width(v));
}

static void check_differences(uint64_t *seed, const tess_clifford_op *op, unsigned left_out)
{
    const int can_widen = op->kind == TESS_CLIFFORD_FCGP || op->kind == TESS_CLIFFORD_FC_LAYER ||
                          op->kind == TESS_CLIFFORD_LINEAR;
    naive v = {.op = op, .n_row = 2, .n_in = 3, .n_out = can_widen ? 4 : 3};
    cotangents c;
    fill(seed, &v, &c, left_out);
    const cl_form form = {TESS_F64, TESS_F64, CL_CONTIGUOUS, 0};
    const doubles d = run_double(&v, &form, &c);
    check_direction(seed, &v, &c, &v.gz, activation_items(&v, v.n_out), d.gz, "dgz");
    check_direction(seed, &v, &c, &v.x, activation_items(&v, v.n_in), d.x, "dx");
    check_direction(seed, &v, &c, &v.y, activation_items(&v, v.n_in), d.y, "dy");
    check_direction(seed, &v, &c, &v.w, weight_items(&v), d.w, "dw");
    check_direction(seed, &v, &c, &v.linear_w, linear_items(&v), d.linear_w, "dW");
    check_direction(seed, &v, &c, &v.bias, naive_linear_width(&v), d.bias, "dbias");
    cl_free_all();
}

static void differences_of_the_first(void **state)
{
    (void)state;
    static const char *const metrics[] = {"++", "+++", "0++", "+-"};
    // Numbers of which no form of a grade changes its sign within a step: |.| has no derivative
    // there.
    uint64_t seeds[2] = {7, 9};
    const int n_round = unit_is_quick() ? 1 : 4;
    for (int round = 0; round < n_round; round++) {
        for (int kind = TESS_CLIFFORD_GATE; kind <= TESS_CLIFFORD_FC_LAYER; kind++) {
            for (int activation = 0; activation <= TESS_CLIFFORD_SILU; activation++) {
                const int is_late = activation > TESS_CLIFFORD_SIGMOID;
                uint64_t *seed = &seeds[is_late];
                tess_clifford_config config = cl_config((tess_clifford_activation)activation,
                                                        (activation + round + kind) % 2);
                config.norm_metric =
                    is_late ? TESS_CLIFFORD_NORM_ABS_CLAMP : (int32_t)(cl_draw(seed) % 4);
                config.eps = is_late ? 0.01 : config.eps; // as L-GATr has it
                config.bias_mode = (int32_t)(cl_draw(seed) % 2);
                const tess_clifford_op op =
                    cl_op((tess_clifford_kind)kind, metrics[round], &config);
                check_differences(seed, &op, round < 2 ? 0 : (unsigned)(cl_draw(seed) % 32));
            }
        }
    }
}

// Each cotangent alone, and none at all.
static void absent_cotangents_are_zero(void **state)
{
    (void)state;
    uint64_t seed = 9;
    for (int kind = TESS_CLIFFORD_GATE; kind <= TESS_CLIFFORD_FC_LAYER; kind++) {
        const tess_clifford_op op = cl_op((tess_clifford_kind)kind, "++", NULL);
        for (unsigned only = 0; only <= 5; only++) {
            check_differences(&seed, &op, only == 5 ? 31 : 31 & ~(1u << only));
        }
    }
}

// Many rows are cut into tiles: rows have the bits they have alone, weights the sum.
static void tiles_of_rows(void **state)
{
    (void)state;
    const int64_t n = 600;
    uint64_t seed = 13;
    for (int kind = TESS_CLIFFORD_SGP; kind <= TESS_CLIFFORD_LAYER; kind++) {
        if (kind == TESS_CLIFFORD_FCGP) {
            continue;
        }
        const tess_clifford_op op = cl_op((tess_clifford_kind)kind, "++", NULL);
        const cl_form form = {TESS_F32, TESS_F32, CL_CONTIGUOUS, 0};
        naive v = {.op = &op, .n_row = 150, .n_in = n, .n_out = n};
        cotangents c;
        fill(&seed, &v, &c, 0);
        const doubles whole = run_double(&v, &form, &c);
        const doubles again = run_double(&v, &form, &c);
        assert_same_items(whole.x, again.x);
        if (whole.w) {
            assert_same_items(whole.w, again.w);
        }
        // Rows 100 to 149 alone.
        double *parts[4];
        const double *from[4] = {v.x, v.y, v.gz, c.x};
        const double *cot_y = c.y;
        double *part_y = NULL;
        for (int i = 0; i < 5; i++) {
            const double *values = i < 4 ? from[i] : cot_y;
            double *part = values ? cl_alloc((size_t)(4 * 50 * n) * sizeof *part) : NULL;
            for (int64_t k = 0; part && k < 4; k++) {
                memcpy(part + k * 50 * n, values + (k * 150 + 100) * n,
                       (size_t)(50 * n) * sizeof *part);
            }
            if (i < 4) {
                parts[i] = part;
            } else {
                part_y = part;
            }
        }
        naive w = v;
        w.n_row = 50;
        w.x = parts[0];
        w.y = parts[1];
        w.gz = parts[2];
        c.x = parts[3];
        c.y = part_y;
        const doubles some = run_double(&w, &form, &c);
        tess_array rows = *whole.x;
        rows.shape[1] = 50;
        rows.data = (float *)rows.data + 100 * n;
        assert_same_items(some.x, &rows);
        cl_free_all();
    }
}

// A workspace as large as the library says is enough.
static void workspace_is_enough(void **state)
{
    (void)state;
    uint64_t seed = 17;
    for (int kind = TESS_CLIFFORD_GATE; kind <= TESS_CLIFFORD_FC_LAYER; kind++) {
        const tess_clifford_op op = cl_op((tess_clifford_kind)kind, "++", NULL);
        naive v = {.op = &op, .n_row = 9, .n_in = 5, .n_out = 5};
        cotangents c;
        fill(&seed, &v, &c, 0);
        const cl_form form = {TESS_BF16, TESS_BF16, CL_CONTIGUOUS, 0};
        const tess_clifford_arrays in = cl_inputs(&v, &form);
        tess_clifford_call call;
        tess_clifford_call_init(&call, sizeof call);
        assert_ok(tess_clifford_workspace(ctx, &op, TESS_CLIFFORD_DOUBLE_BACKWARD, &in,
                                          &call.workspace_bytes));
        char *room = cl_alloc((size_t)call.workspace_bytes + 256);
        call.workspace = room + (256 - (uintptr_t)room % 256) % 256;
        const tess_clifford_arrays given = CL_ARRAYS(.x = cl_activation(&v, &form, 5, c.x));
        const tess_array *dgz = cl_activation(&v, &form, 5, NULL);
        const tess_array *dx = cl_activation(&v, &form, 5, NULL);
        const tess_clifford_arrays results = CL_ARRAYS(.x = dx);
        assert_ok(tess_clifford_double_backward(ctx, &op, &in, cl_activation(&v, &form, 5, v.gz),
                                                &given, dgz, &results, &call));
        c = (cotangents){.x = c.x};
        const doubles want = run_double(&v, &form, &c);
        assert_same_items(dgz, want.gz);
        assert_same_items(dx, want.x);
        cl_free_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(golden_doubles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(differences_of_the_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(absent_cotangents_are_zero, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tiles_of_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(workspace_is_enough, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
