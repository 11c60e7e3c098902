// Forward and backward passes on golden data, in every type.
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

static const cl_form forms[] = {
    {TESS_F64, TESS_F64, CL_CONTIGUOUS, 0},   {TESS_F32, TESS_F32, CL_CONTIGUOUS, 0},
    {TESS_BF16, TESS_BF16, CL_CONTIGUOUS, 0}, {TESS_F16, TESS_F16, CL_CONTIGUOUS, 0},
    {TESS_BF16, TESS_F32, CL_CONTIGUOUS, 1},  {TESS_F16, TESS_F32, CL_LAST_FIRST, 0},
    {TESS_F64, TESS_F64, CL_BACKWARDS, 1},    {TESS_F32, TESS_F32, CL_GAPS, 1},
};

// A member of a golden file, kept until the end of the test.
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

// What a golden file has for an operation.
typedef struct golden_case {
    tess_clifford_kind kind;
    const char *prefix; // of results; NULL: z only, in the member z
    const char *z;
    const char *r;
    int32_t activation, normalize, bias_mode, has_weight;
    int32_t is_small; // in the files of few features only
} golden_case;

static const golden_case golden_cases[] = {
    {TESS_CLIFFORD_GATE, NULL, "gelu_x", NULL, TESS_CLIFFORD_GELU, 0, 0, 0, 0},
    {TESS_CLIFFORD_SGP, NULL, "product", NULL, TESS_CLIFFORD_IDENTITY, 0, 0, 0, 0},
    {TESS_CLIFFORD_SGP, NULL, "sgp_nogate", NULL, TESS_CLIFFORD_IDENTITY, 0, 0, 1, 0},
    {TESS_CLIFFORD_SGP, "sgp_plain_", "z", NULL, TESS_CLIFFORD_GELU, 0, 0, 1, 0},
    {TESS_CLIFFORD_SGP, "sgp_norm_", "z", "sgp_r", TESS_CLIFFORD_GELU, 1, 0, 1, 0},
    {TESS_CLIFFORD_FCGP, "fcgp_plain_", "z", NULL, TESS_CLIFFORD_GELU, 0, 0, 1, 0},
    {TESS_CLIFFORD_FCGP, "fcgp_norm_", "z", "fcgp_r", TESS_CLIFFORD_GELU, 1, 0, 1, 0},
    {TESS_CLIFFORD_LAYER, "layer_all_", "z", NULL, TESS_CLIFFORD_GELU, 1, TESS_CLIFFORD_BIAS_ALL, 1,
     0},
    {TESS_CLIFFORD_LAYER, "layer_scalar_", "z", NULL, TESS_CLIFFORD_GELU, 1,
     TESS_CLIFFORD_BIAS_SCALAR, 1, 0},
    {TESS_CLIFFORD_FC_LAYER, "fclayer_all_", "z", NULL, TESS_CLIFFORD_GELU, 1,
     TESS_CLIFFORD_BIAS_ALL, 1, 1},
    {TESS_CLIFFORD_FC_LAYER, "fclayer_scalar_", "z", NULL, TESS_CLIFFORD_GELU, 1,
     TESS_CLIFFORD_BIAS_SCALAR, 1, 1},
};

static void take_results(naive *v, const char *file, const golden_case *c)
{
    if (!c->prefix) {
        v->z = member(file, "", c->z);
        v->gx = c->kind == TESS_CLIFFORD_GATE ? member(file, "", "gelu_bwd") : NULL;
        return;
    }
    v->z = member(file, c->prefix, c->z);
    v->r = c->r ? member(file, "", c->r) : NULL;
    v->gx = member(file, c->prefix, "gx");
    v->gw = member(file, c->prefix, "gw");
    if (v->linear_w) {
        v->linear_out = c->kind == TESS_CLIFFORD_LAYER ? member(file, c->prefix, "y") : NULL;
        v->g_linear_w = member(file, c->prefix, "gW");
        v->g_bias = member(file, c->prefix, "gb");
    } else {
        v->gy = member(file, c->prefix, "gy");
    }
}

static void check_golden(const char *file, const char *metric, int64_t n_row, int64_t n,
                         const golden_case *c)
{
    tess_clifford_config config = cl_config((tess_clifford_activation)c->activation, c->normalize);
    config.bias_mode = c->bias_mode;
    const tess_clifford_op op = cl_op(c->kind, metric, &config);
    const int has_linear = c->kind == TESS_CLIFFORD_LAYER || c->kind == TESS_CLIFFORD_FC_LAYER;
    naive v = {.op = &op, .n_row = n_row, .n_in = n, .n_out = n};
    v.x = member(file, "", "x");
    v.gz = member(file, "", "gz");
    v.y = c->kind == TESS_CLIFFORD_SGP || c->kind == TESS_CLIFFORD_FCGP ? member(file, "", "y")
                                                                        : NULL;
    v.w = c->has_weight ? member(file, "", naive_is_connected(&v) ? "fcgp_w" : "sgp_w") : NULL;
    v.linear_w = has_linear ? member(file, "", "lin_W") : NULL;
    v.bias = has_linear ? member(file, "", "lin_b") : NULL;
    take_results(&v, file, c);
    for (size_t f = 0; f < ARRAY_LEN(forms); f++) {
        const cl_results r = cl_run(ctx, &v, &forms[f]);
        // linear_out of 16 bits is rounded before it is multiplied.
        cl_check_results(&v, &forms[f], &r, 1);
    }
    cl_free_all();
}

static void golden_operations(void **state)
{
    (void)state;
    static const struct {
        const char *file, *metric;
        int64_t n_row, n;
    } files[] = {
        {"clifford/ops_2d_b5_n7", "++", 5, 7},
        {"clifford/ops_3d_b5_n7", "+++", 5, 7},
        {"clifford/ops_2d_b3_n28", "++", 3, 28},
        {"clifford/ops_3d_b3_n28", "+++", 3, 28},
    };
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        for (size_t c = 0; c < ARRAY_LEN(golden_cases); c++) {
            if (files[i].n == 7 || !golden_cases[c].is_small) {
                check_golden(files[i].file, files[i].metric, files[i].n_row, files[i].n,
                             &golden_cases[c]);
            }
        }
    }
}

static const char *const algebras[][2] = {
    {"cl301_", "0+++"}, {"cl13_", "+---"}, {"cl41_", "++++-"}};
static const char algebra_file[] = "clifford/algebras";

static void golden_algebras(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(algebras); i++) {
        for (int32_t normalize = 0; normalize <= 1; normalize++) {
            char prefix[32];
            snprintf(prefix, sizeof prefix, "%ssgp_%s_", algebras[i][0],
                     normalize ? "norm" : "plain");
            tess_clifford_config config = cl_config(TESS_CLIFFORD_GELU, normalize);
            config.norm_metric = TESS_CLIFFORD_NORM_EUCLID;
            const tess_clifford_op op = cl_op(TESS_CLIFFORD_SGP, algebras[i][1], &config);
            naive v = {.op = &op, .n_row = 2, .n_in = 3, .n_out = 3};
            v.x = member(algebra_file, algebras[i][0], "x");
            v.y = member(algebra_file, algebras[i][0], "y");
            v.gz = member(algebra_file, algebras[i][0], "gz");
            v.w = member(algebra_file, algebras[i][0], "w");
            v.z = member(algebra_file, prefix, "z");
            v.gx = member(algebra_file, prefix, "gx");
            v.gy = member(algebra_file, prefix, "gy");
            v.gw = member(algebra_file, prefix, "gw");
            for (size_t f = 0; f < ARRAY_LEN(forms); f++) {
                const cl_results r = cl_run(ctx, &v, &forms[f]);
                cl_check_results(&v, &forms[f], &r, 1);
            }
            cl_free_all();
        }
    }
}

static void golden_products(void **state)
{
    (void)state;
    static const char *const products[] = {"product",           "outer", "left_contraction",
                                           "right_contraction", "inner", "scalar",
                                           "commutator"};
    const tess_clifford_config config = cl_config(TESS_CLIFFORD_IDENTITY, 0);
    for (size_t i = 0; i < ARRAY_LEN(algebras); i++) {
        for (size_t p = 0; p < ARRAY_LEN(products); p++) {
            tess_clifford_op op = cl_op(TESS_CLIFFORD_SGP, algebras[i][1], &config);
            op.path_mask = tess_clifford_product_paths(&op.algebra, (tess_clifford_product)p);
            naive v = {.op = &op, .n_row = 2, .n_in = 3, .n_out = 3};
            v.x = member(algebra_file, algebras[i][0], "x");
            v.y = member(algebra_file, algebras[i][0], "y");
            v.z = member(algebra_file, algebras[i][0], products[p]);
            for (size_t f = 0; f < ARRAY_LEN(forms); f++) {
                const tess_clifford_arrays in = cl_inputs(&v, &forms[f]);
                const cl_results r = cl_forward(ctx, &v, &forms[f], &in);
                cl_check_results(&v, &forms[f], &r, forms[f].dtype == TESS_F64 ? 0.1 : 1);
            }
            cl_free_all();
        }
    }
}

static void golden_maps(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(algebras); i++) {
        tess_clifford_algebra a;
        const tess_clifford_metric metric = cl_metric(algebras[i][1]);
        assert_ok(tess_clifford_algebra_init(&a, sizeof a, &metric));
        const double *values = member(algebra_file, algebras[i][0], "x");
        for (int layout = 0; layout < CL_N_LAYOUT; layout++) {
            for (size_t f = 0; f < 4; f++) {
                const tess_dtype dtype = forms[f].dtype;
                const tess_array *x =
                    cl_array(dtype, (cl_layout)layout, a.n_component, 2, 3, values);
                const tess_array *z = cl_empty(dtype, (cl_layout)layout, a.n_component, 2, 3);
                const tess_array *back = cl_empty(dtype, CL_CONTIGUOUS, a.n_component, 2, 3);
                assert_ok(tess_clifford_map(ctx, &a, TESS_CLIFFORD_REVERSE, 0, x, z));
                assert_near(cl_values(z), member(algebra_file, algebras[i][0], "reverse"),
                            tess_array_items(z), 0);
                assert_ok(tess_clifford_map(ctx, &a, TESS_CLIFFORD_RIGHT_COMPLEMENT, 0, x, z));
                assert_near(cl_values(z), member(algebra_file, algebras[i][0], "rc"),
                            tess_array_items(z), 0);
                assert_ok(tess_clifford_map(ctx, &a, TESS_CLIFFORD_LEFT_COMPLEMENT, 0, z, back));
                assert_near(cl_values(back), values, tess_array_items(z), 0);
                assert_ok(tess_clifford_map(ctx, &a, TESS_CLIFFORD_GRADES, 1u << 1, x, z));
                for (int64_t k = 0; k < a.n_component; k++) {
                    assert_true(cl_values(z)[k * 6] == (a.grade[k] == 1 ? values[k * 6] : 0));
                }
                const tess_array *form = cl_empty(dtype, (cl_layout)layout, a.n_grade, 2, 3);
                assert_ok(tess_clifford_quadratic(ctx, &a, x, form));
                assert_close(form, member(algebra_file, algebras[i][0], "quadratic"),
                             dtype == TESS_F64   ? 1e-15
                             : dtype == TESS_F32 ? 1e-7
                                                 : 4e-3);
            }
        }
        cl_free_all();
    }
}

// join(x, y) = rc(rc(x) ^ rc(y)), by the calls a user has.
static void golden_join(void **state)
{
    (void)state;
    const tess_clifford_config config = cl_config(TESS_CLIFFORD_IDENTITY, 0);
    tess_clifford_op op = cl_op(TESS_CLIFFORD_SGP, "pga", &config);
    op.path_mask = tess_clifford_product_paths(&op.algebra, TESS_CLIFFORD_OUTER);
    tess_array *arrays[6];
    for (int i = 0; i < 6; i++) {
        arrays[i] = cl_empty(TESS_F64, CL_CONTIGUOUS, 16, 2, 3);
    }
    const tess_array *x =
        cl_array(TESS_F64, CL_CONTIGUOUS, 16, 2, 3, member(algebra_file, "cl301_", "x"));
    const tess_array *y =
        cl_array(TESS_F64, CL_CONTIGUOUS, 16, 2, 3, member(algebra_file, "cl301_", "y"));
    const tess_clifford_unary dual = TESS_CLIFFORD_RIGHT_COMPLEMENT;
    assert_ok(tess_clifford_map(ctx, &op.algebra, dual, 0, x, arrays[0]));
    assert_ok(tess_clifford_map(ctx, &op.algebra, dual, 0, y, arrays[1]));
    const tess_clifford_arrays in = CL_ARRAYS(.x = arrays[0], .y = arrays[1]);
    assert_ok(tess_clifford_forward(ctx, &op, &in, arrays[2], NULL, NULL, NULL));
    assert_ok(tess_clifford_map(ctx, &op.algebra, dual, 0, arrays[2], arrays[3]));
    assert_close(arrays[3], member(algebra_file, "cl301_", "join"), 1e-14);
}

// Phi, its derivative and tails: the vector component of Cl(1,0) is 1 and shows the factor.
static void edges_of_the_gate(void **state)
{
    (void)state;
    static const char file[] = "clifford/edges";
    const tess_clifford_op op = cl_op(TESS_CLIFFORD_GATE, "+", NULL);
    for (int single = 0; single <= 1; single++) {
        const char *prefix = single ? "gelu32_" : "gelu_";
        const tess_dtype dtype = single ? TESS_F32 : TESS_F64;
        const double eps = single ? 0x1p-23 : 0x1p-52;
        const double normal = single ? 0x1p-126 : 0x1p-1022, least = single ? 0x1p-149 : 0x1p-1074;
        const int64_t n = single ? 39 : 47;
        const double *x = member(file, prefix, "x"), *want = member(file, prefix, "Phi");
        double *values = cl_alloc((size_t)(2 * n) * sizeof *values);
        for (int64_t i = 0; i < n; i++) {
            values[i] = x[i];
            values[n + i] = 1;
        }
        const tess_clifford_arrays in =
            CL_ARRAYS(.x = cl_array(dtype, CL_CONTIGUOUS, 2, 1, n, values));
        const tess_array *z = cl_empty(dtype, CL_CONTIGUOUS, 2, 1, n);
        assert_ok(tess_clifford_forward(ctx, &op, &in, z, NULL, NULL, NULL));
        const double *got = cl_values(z) + n;
        for (int64_t i = 0; i < n; i++) {
            const double allowed =
                want[i] >= normal ? 4 * eps * (1 + x[i] * x[i]) * want[i] : 4 * least;
            if (!(fabs(got[i] - want[i]) <= allowed) || !(got[i] >= 0)) {
                fail_msg("Phi(%a): got %a, want %a", x[i], got[i], want[i]);
            }
        }
    }
}

static void edges_of_the_norm(void **state)
{
    (void)state;
    static const char *const names[] = {"zero_grades_", "one_feature_", "tiny_", "huge_",
                                        "zero_gradient_"};
    static const char file[] = "clifford/edges";
    const tess_clifford_op op = cl_op(TESS_CLIFFORD_NORM, "+++", NULL);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const int64_t n = i == 1 ? 1 : 3;
        naive v = {.op = &op, .n_row = 4, .n_in = n, .n_out = n};
        v.x = member(file, names[i], "o");
        v.gz = member(file, names[i], "gz");
        v.r = member(file, names[i], "r");
        v.z = member(file, names[i], "z");
        v.gx = member(file, names[i], "h");
        const size_t n_form = i == 3 ? 1 : 2; // huge: f64 alone
        for (size_t f = 0; f < n_form; f++) {
            const cl_results r = cl_run(ctx, &v, &forms[f]);
            cl_check_results(&v, &forms[f], &r, 1);
        }
    }
}

// Appendix vectors: sines and cosines of the indices.
typedef struct printed {
    const char *metric;
    tess_clifford_kind kind;
    int32_t normalize;
    double o[8], gx[8], gy[8]; // o and gx at (.,0,0), gy at (.,1,2); all 0: not printed
    double gw_first, gw_last;  // 0: not printed
    double size_o, size_gx, size_gy, size_gw;
} printed;

static const printed printed_cases[] = {
    {"++",
     TESS_CLIFFORD_SGP,
     0,
     {0.1116547798, -0.2914739156, -0.1317261147, 0.5600968295},
     {0.8523459254, 0.1695406520, 0.3288033322, -0.1048822232},
     {-0.8617815967, 0.1000619687, 0.8411218691, 0.0241127064},
     0.4872791940,
     -0.9164795869,
     2.1937746669,
     3.2443779238,
     2.4723602702,
     3.0823989092},
    {"++",
     TESS_CLIFFORD_SGP,
     1,
     {0.7524289276, -0.8378661019, -0.3786577129, 1.0023333293},
     {1.6269147209, 0.1665797614, 0.7417196178, -0.1151795162},
     {-0.6926553231, 0.3692725929, 1.2981981777, 0.2427676426},
     -0.3325945409,
     -1.1698838679,
     4.2426144170,
     5.1736963904,
     4.7539605886,
     5.0082728769},
    {"++",
     TESS_CLIFFORD_FCGP,
     1,
     {1.4675397520, -1.1494225716, -0.7917322552, 0.8864544433},
     {0.9592263457, -0.3817778319, 2.0130093346, 0.5147376945},
     {-1.3321767457, 0.0752203387, 0.4633940843, 0.5856450195},
     -0.0821129796,
     -0.2092400897,
     4.2426375492,
     5.5465761906,
     4.8900493092,
     3.6294863800},
    {"+++",
     TESS_CLIFFORD_SGP,
     0,
     {0.3560307206, 0.0610108327, -0.4797542040, 1.0446343020, 0.1804055630, -0.3461390339,
      -0.1071224171, -0.2795293684},
     {1.4275714091, 0.0123196422, 0.9864373085, -0.2520774523, 0.0293722393, -0.3273330576,
      0.8735596449, 0.3952698842},
     {0},
     0.4872791940,
     -0.6069432219,
     5.6923603145,
     7.4182695903,
     7.9740333509,
     6.6639617820},
    {"+++",
     TESS_CLIFFORD_SGP,
     1,
     {0.3389264622, 0.0472028891, -0.3711764529, 0.8082131466, 0.2848660955, -0.5465644930,
      -0.1691496880, -0.3970531021},
     {0.0793950259, -0.2864756924, 0.4329725532, -0.4697955629, -0.1384551235, 0.0769389901,
      0.7569031695, -0.1811540863},
     {-0.1105399276, -0.1668145855, 0.1884265653, -0.2381179535, 0.1034365450, 0.1727582982,
      -0.6714084064, 0.3659717402},
     0.0643113973,
     -0.0004388593,
     4.8989766085,
     2.1536315158,
     2.9423405731,
     3.1504495474},
    {"+++",
     TESS_CLIFFORD_FCGP,
     0,
     {3.2352913002, -0.7413089933, -0.7261994548, 5.0874818424, -0.2480095103, -1.4057329847,
      0.7322846701, -1.9647881771},
     {0},
     {0},
     0,
     0,
     14.9344529633,
     17.6117654407,
     17.0316004928,
     11.3230609494},
    {"+++",
     TESS_CLIFFORD_FCGP,
     1,
     {1.1688991767, -0.2026251777, -0.1984952225, 1.3905833081, -0.1858462914, -1.0533880804,
      0.5487385950, -1.0608611324},
     {0.7663384627, 0.3172571681, 0.4491579273, 0.0219065474, -0.2786842889, 0.1348653881,
      0.1560924876, -0.1999742794},
     {0},
     -0.0226213113,
     -0.1655779660,
     4.8989790175,
     2.1187276701,
     2.4022235623,
     2.1182547468},
};

static double *sines(int n_component, double by, double from)
{
    double *values = cl_alloc((size_t)(n_component * 6) * sizeof *values);
    for (int i = 0; i < n_component * 6; i++) {
        values[i] = sin(by * (i / 6) + 0.7 * (i / 3 % 2) + 0.3 * (i % 3) + from);
    }
    return values;
}

static void check_column(const tess_array *got, int64_t at, const double *want, double allowed)
{
    const double *values = cl_values(got);
    for (int64_t k = 0; want[0] != 0 && k < got->shape[0]; k++) {
        assert_true(fabs(values[k * 6 + at] - want[k]) <= allowed);
    }
}

static void check_size(const tess_array *got, double want, double allowed)
{
    const double *values = cl_values(got);
    double sum = 0;
    for (int64_t i = 0; i < tess_array_items(got); i++) {
        sum += values[i] * values[i];
    }
    assert_true(fabs(sqrt(sum) - want) <= allowed);
}

static void check_printed(const printed *p, tess_dtype dtype, double allowed)
{
    const tess_clifford_config config = cl_config(TESS_CLIFFORD_GELU, p->normalize);
    const tess_clifford_op op = cl_op(p->kind, p->metric, &config);
    const int n_path = op.algebra.n_path;
    naive v = {.op = &op, .n_row = 2, .n_in = 3, .n_out = 3};
    v.x = sines(op.algebra.n_component, 1.1, 0.2);
    v.y = sines(op.algebra.n_component, 1.7, 0.9);
    v.gz = sines(op.algebra.n_component, 2.3, 0.4);
    const int n_weight = p->kind == TESS_CLIFFORD_SGP ? 3 * n_path : 9 * n_path;
    double *w = cl_alloc((size_t)n_weight * sizeof *w);
    for (int i = 0; i < n_weight; i++) {
        w[i] = p->kind == TESS_CLIFFORD_SGP
                   ? cos(0.5 * (i % n_path) + 0.9 * (i / n_path) + 0.1)
                   : cos(0.5 * (i / 9) + 0.9 * (i % 3) + 0.4 * (i / 3 % 3) + 0.1);
    }
    v.w = w;
    const cl_form form = {dtype, dtype, CL_CONTIGUOUS, 0};
    const cl_results r = cl_run(ctx, &v, &form);
    check_column(r.z, 0, p->o, allowed);
    check_column(r.gx, 0, p->gx, allowed);
    check_column(r.gy, 5, p->gy, allowed);
    if (p->gw_first != 0) {
        assert_true(fabs(cl_values(r.gw)[0] - p->gw_first) <= allowed);
        assert_true(fabs(cl_values(r.gw)[n_weight - 1] - p->gw_last) <= allowed);
    }
    check_size(r.z, p->size_o, allowed);
    check_size(r.gx, p->size_gx, allowed);
    check_size(r.gy, p->size_gy, allowed);
    check_size(r.gw, p->size_gw, allowed);
}

static void printed_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(printed_cases); i++) {
        check_printed(&printed_cases[i], TESS_F64, 1e-9);
        check_printed(&printed_cases[i], TESS_F32, 1e-5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(golden_operations, set_up, tear_down),
        cmocka_unit_test_setup_teardown(golden_algebras, set_up, tear_down),
        cmocka_unit_test_setup_teardown(golden_products, set_up, tear_down),
        cmocka_unit_test_setup_teardown(golden_maps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(golden_join, set_up, tear_down),
        cmocka_unit_test_setup_teardown(edges_of_the_gate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(edges_of_the_norm, set_up, tear_down),
        cmocka_unit_test_setup_teardown(printed_vectors, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
