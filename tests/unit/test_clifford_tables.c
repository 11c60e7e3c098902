// The tables of algebras: check sums, golden tables, generated lists, and the laws of a product.
#include "clifford_arrays.h"

#include "clifford/algebras.h"

static tess_clifford_algebra algebra_of(const char *metric)
{
    tess_clifford_algebra algebra;
    const tess_clifford_metric parsed = cl_metric(metric);
    assert_ok(tess_clifford_algebra_init(&algebra, sizeof algebra, &parsed));
    return algebra;
}

static void check_sums(void **state)
{
    (void)state;
    static const struct {
        const char *metric;
        int n_component, n_grade, n_plus, n_minus, n_path, n_pair;
        int paths_out[TESS_CLIFFORD_MAX_GRADES];
        uint32_t crc32;
    } rows[] = {
        {"+", 2, 2, 4, 0, 4, 4, {2, 2}, 0xcffdeda7},
        {"-", 2, 2, 3, 1, 4, 4, {2, 2}, 0x22379fdd},
        {"++", 4, 3, 12, 4, 10, 14, {3, 4, 3}, 0x718f7658},
        {"+-", 4, 3, 12, 4, 10, 14, {3, 4, 3}, 0x13f5c587},
        {"--", 4, 3, 10, 6, 10, 14, {3, 4, 3}, 0xd9dec03c},
        {"0++", 8, 4, 32, 16, 19, 36, {3, 6, 6, 4}, 0x32bbe33c},
        {"+++", 8, 4, 40, 24, 20, 44, {4, 6, 6, 4}, 0x836b80a9},
        {"---", 8, 4, 36, 28, 20, 44, {4, 6, 6, 4}, 0x01ae315d},
        {"0+++", 16, 5, 112, 80, 34, 108, {4, 8, 9, 8, 5}, 0x1578907e},
        {"+---", 16, 5, 144, 112, 35, 128, {5, 8, 9, 8, 5}, 0x1ff8f023},
        {"+++-", 16, 5, 144, 112, 35, 128, {5, 8, 9, 8, 5}, 0xe818f654},
        {"++++", 16, 5, 144, 112, 35, 128, {5, 8, 9, 8, 5}, 0x3c6afa69},
        {"++++-", 32, 6, 544, 480, 56, 352, {6, 10, 12, 12, 10, 6}, 0x053cb261},
        {"+++++", 32, 6, 544, 480, 56, 352, {6, 10, 12, 12, 10, 6}, 0x78a57099},
    };
    for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
        const tess_clifford_algebra a = algebra_of(rows[r].metric);
        assert_int_equal(a.n_component, rows[r].n_component);
        assert_int_equal(a.n_grade, rows[r].n_grade);
        assert_int_equal(a.n_term, rows[r].n_plus + rows[r].n_minus);
        assert_int_equal(a.n_path, rows[r].n_path);
        assert_int_equal(a.n_pair, rows[r].n_pair);
        assert_int_equal(a.crc32, rows[r].crc32);
        int n_plus = 0;
        for (int t = 0; t < a.n_term; t++) {
            n_plus += a.terms[t].sign > 0;
        }
        assert_int_equal(n_plus, rows[r].n_plus);
        int paths_out[TESS_CLIFFORD_MAX_GRADES] = {0};
        for (int p = 0; p < a.n_path; p++) {
            paths_out[a.path_out[p]]++;
        }
        assert_memory_equal(paths_out, rows[r].paths_out, sizeof paths_out);
    }
}

// One member of the golden tables.
static int64_t *table(tess_context *ctx, const char *algebra, const char *member, int64_t want_n)
{
    char name[64];
    int64_t n = 0;
    snprintf(name, sizeof name, "%s_%s", algebra, member);
    int64_t *values = golden_i64(ctx, "clifford/tables", name, &n);
    assert_int_equal(n, want_n);
    return values;
}

static void check_bytes(tess_context *ctx, const char *algebra, const char *member, int64_t n,
                        const void *got, int is_signed)
{
    int64_t *want = table(ctx, algebra, member, n);
    for (int64_t i = 0; i < n; i++) {
        const int64_t value = is_signed ? ((const int8_t *)got)[i] : ((const uint8_t *)got)[i];
        if (value != want[i]) {
            fail_msg("%s %s[%lld]: got %lld, want %lld", algebra, member, (long long)i,
                     (long long)value, (long long)want[i]);
        }
    }
    free(want);
}

static void check_terms(tess_context *ctx, const char *name, const tess_clifford_algebra *a)
{
    int64_t *terms = table(ctx, name, "terms", (int64_t)a->n_term * 5);
    for (int t = 0; t < a->n_term; t++) {
        const tess_clifford_term *term = &a->terms[t];
        const int64_t got[5] = {term->k, term->i, term->j, term->sign, term->path};
        assert_memory_equal(got, terms + 5 * t, sizeof got);
    }
    free(terms);
    int64_t *paths = table(ctx, name, "paths", (int64_t)a->n_path * 3);
    for (int p = 0; p < a->n_path; p++) {
        const int64_t got[3] = {a->path_left[p], a->path_out[p], a->path_right[p]};
        assert_memory_equal(got, paths + 3 * p, sizeof got);
    }
    free(paths);
}

static void golden_tables(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"cl20", "++"}, {"cl30", "+++"}, {"cl301", "0+++"}, {"cl13", "+---"}, {"cl41", "++++-"}};
    tess_context *ctx = unit_context(1, 0);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *name = names[i][0];
        const tess_clifford_algebra a = algebra_of(names[i][1]);
        const int64_t n = a.n_component;
        check_bytes(ctx, name, "metric", a.metric.n_symbol, a.metric.square, 1);
        check_bytes(ctx, name, "mask", n, a.mask, 0);
        check_bytes(ctx, name, "grade", n, a.grade, 0);
        check_bytes(ctx, name, "reverse", n, a.reverse, 1);
        check_bytes(ctx, name, "involution", n, a.involution, 1);
        check_bytes(ctx, name, "conjugate", n, a.conjugate, 1);
        check_bytes(ctx, name, "eta", n, a.eta, 1);
        check_bytes(ctx, name, "rc_index", n, a.complement, 0);
        check_bytes(ctx, name, "rc_sign", n, a.complement_sign, 1);
        check_terms(ctx, name, &a);
        int64_t *crc32 = table(ctx, name, "crc32", 1);
        assert_int_equal(crc32[0], a.crc32);
        free(crc32);
    }
    tess_context_destroy(ctx);
}

// The generated lists, expanded.
typedef struct generated {
    const char *name;
    int n_symbol, n_component, n_grade, n_path, n_pair, n_term;
    int metric[TESS_CLIFFORD_MAX_SYMBOLS];
    int grade[TESS_CLIFFORD_MAX_COMPONENTS];
    int eta[TESS_CLIFFORD_MAX_COMPONENTS];
    int left[TESS_CLIFFORD_MAX_PATHS], out[TESS_CLIFFORD_MAX_PATHS], right[TESS_CLIFFORD_MAX_PATHS];
    int (*terms)[5]; // path, k, i, j, sign; i below 0: begin of a pair
    int n_path_term;
    int (*path_terms)[4]; // path, c and which of (k, i, j) c is; or the other two, -1 and a sign
} generated;

#define CL_BEGIN(p, k) {p, k, -1, 0, 0},
#define CL_FIRST_PLUS(i, j) {0, 0, i, j, 1},
#define CL_FIRST_MINUS(i, j) {0, 0, i, j, -1},
#define CL_PLUS(i, j) {0, 0, i, j, 1},
#define CL_MINUS(i, j) {0, 0, i, j, -1},
#define CL_END(p, k) {p, k, -2, 0, 0},
static int cl20_terms[][5] = {
#include "clifford/cl20.def"
};
static int cl30_terms[][5] = {
#include "clifford/cl30.def"
};
static int cl301_terms[][5] = {
#include "clifford/cl301.def"
};
static int cl13_terms[][5] = {
#include "clifford/cl13.def"
};
static int cl41_terms[][5] = {
#include "clifford/cl41.def"
};

#define CL_OUT(p, c) {p, c, 0, 0},
#define CL_LEFT(p, c) {p, c, 1, 0},
#define CL_RIGHT(p, c) {p, c, 2, 0},
#define CL_OUT_TERM(sign, i, j) {i, j, -1, sign 1},
#define CL_LEFT_TERM(sign, k, j) {k, j, -1, sign 1},
#define CL_RIGHT_TERM(sign, k, i) {k, i, -1, sign 1},
#define CL_OUT_END(p, c)
#define CL_LEFT_END(p, c)
#define CL_RIGHT_END(p, c)
static int cl20_paths[][4] = {
#include "clifford/cl20_paths.def"
};
static int cl30_paths[][4] = {
#include "clifford/cl30_paths.def"
};
static int cl301_paths[][4] = {
#include "clifford/cl301_paths.def"
};
static int cl13_paths[][4] = {
#include "clifford/cl13_paths.def"
};
static int cl41_paths[][4] = {
#include "clifford/cl41_paths.def"
};

#define GENERATED(lower, UPPER)                                                                    \
    {.name = #lower,                                                                               \
     .n_symbol = UPPER##_SYMBOLS,                                                                  \
     .n_component = UPPER##_COMPONENTS,                                                            \
     .n_grade = UPPER##_GRADES,                                                                    \
     .n_path = UPPER##_PATHS,                                                                      \
     .n_pair = UPPER##_PAIRS,                                                                      \
     .n_term = (int)ARRAY_LEN(lower##_terms),                                                      \
     .metric = {UPPER##_METRIC},                                                                   \
     .grade = {UPPER##_GRADE},                                                                     \
     .eta = {UPPER##_ETA},                                                                         \
     .left = {UPPER##_PATH_LEFT},                                                                  \
     .out = {UPPER##_PATH_OUT},                                                                    \
     .right = {UPPER##_PATH_RIGHT},                                                                \
     .terms = lower##_terms,                                                                       \
     .n_path_term = (int)ARRAY_LEN(lower##_paths),                                                 \
     .path_terms = lower##_paths},

// The sign of x_i y_j in o_k with path p; 0 if there is no such term.
static int sign_of(const tess_clifford_algebra *a, int p, int k, int i, int j)
{
    for (int t = 0; t < a->n_term; t++) {
        const tess_clifford_term *term = &a->terms[t];
        if (term->path == p && term->k == k && term->i == i && term->j == j) {
            return term->sign;
        }
    }
    return 0;
}

static void check_generated_terms(const generated *g, const tess_clifford_algebra *a)
{
    int n_pair = 0, n_term = 0, path = -1, k = -1;
    for (int t = 0; t < g->n_term; t++) {
        const int *term = g->terms[t];
        if (term[2] == -1) {
            // Ordered by k, then path.
            assert_true(term[1] > k || (term[1] == k && term[0] > path));
            path = term[0];
            k = term[1];
            n_pair++;
        } else if (term[2] == -2) {
            assert_true(term[0] == path && term[1] == k);
        } else {
            assert_int_equal(sign_of(a, path, k, term[2], term[3]), term[4]);
            n_term++;
        }
    }
    assert_int_equal(n_pair, a->n_pair);
    assert_int_equal(n_term, a->n_term);
}

// Terms around a component c: by path and c, then by the other two components.
static void check_generated_paths(const generated *g, const tess_clifford_algebra *a)
{
    int n_term = 0, path = -1, c = -1, place = -1;
    const int *before = NULL;
    for (int t = 0; t < g->n_path_term; t++) {
        const int *term = g->path_terms[t];
        if (term[2] >= 0) {
            assert_true(term[0] > path || (term[0] == path && term[1] > c && term[2] == place));
            path = term[0];
            c = term[1];
            place = term[2];
            before = NULL;
            continue;
        }
        assert_true(before == NULL || term[0] > before[0] ||
                    (term[0] == before[0] && term[1] > before[1]));
        const int k = place == 0 ? c : term[0];
        const int i = place == 1 ? c : place == 0 ? term[0] : term[1];
        const int j = place == 2 ? c : term[1];
        assert_int_equal(sign_of(a, path, k, i, j), term[3]);
        before = term;
        n_term++;
    }
    assert_int_equal(n_term, a->n_term);
}

static void generated_lists(void **state)
{
    (void)state;
    const generated list[] = {CL_ALGEBRAS(GENERATED)};
    for (size_t n = 0; n < ARRAY_LEN(list); n++) {
        const generated *g = &list[n];
        tess_clifford_metric metric = {.n_symbol = g->n_symbol};
        for (int i = 0; i < g->n_symbol; i++) {
            metric.square[i] = (int8_t)g->metric[i];
        }
        tess_clifford_algebra a;
        assert_ok(tess_clifford_algebra_init(&a, sizeof a, &metric));
        assert_int_equal(a.n_component, g->n_component);
        assert_int_equal(a.n_grade, g->n_grade);
        assert_int_equal(a.n_path, g->n_path);
        assert_int_equal(a.n_pair, g->n_pair);
        for (int k = 0; k < a.n_component; k++) {
            assert_int_equal(a.grade[k], g->grade[k]);
            assert_int_equal(a.eta[k], g->eta[k]);
        }
        for (int p = 0; p < a.n_path; p++) {
            assert_int_equal(a.path_left[p], g->left[p]);
            assert_int_equal(a.path_out[p], g->out[p]);
            assert_int_equal(a.path_right[p], g->right[p]);
        }
        check_generated_terms(g, &a);
        check_generated_paths(g, &a);
    }
}

// Products of small integers are exact, so the laws hold to the bit.
static void multiply(const tess_clifford_algebra *a, uint64_t paths, const int64_t *x,
                     const int64_t *y, int64_t *out)
{
    memset(out, 0, TESS_CLIFFORD_MAX_COMPONENTS * sizeof *out);
    for (int t = 0; t < a->n_term; t++) {
        const tess_clifford_term *term = &a->terms[t];
        if (paths >> term->path & 1u) {
            out[term->k] += term->sign * x[term->i] * y[term->j];
        }
    }
}

static void random_integers(uint64_t *seed, int n, int64_t *x)
{
    for (int k = 0; k < n; k++) {
        x[k] = (int64_t)(cl_draw(seed) % 19) - 9;
    }
}

// Every metric there is.
static void laws_of_the_product(void **state)
{
    (void)state;
    uint64_t seed = 11;
    int n_metric = 0;
    for (int32_t n = 1; n <= TESS_CLIFFORD_MAX_SYMBOLS; n++) {
        int count = 1;
        for (int32_t i = 0; i < n; i++) {
            count *= 3;
        }
        for (int code = 0; code < count; code++, n_metric++) {
            tess_clifford_metric metric = {.n_symbol = n};
            for (int32_t i = 0, rest = code; i < n; i++, rest /= 3) {
                metric.square[i] = (int8_t)(rest % 3 - 1);
            }
            tess_clifford_algebra a;
            assert_ok(tess_clifford_algebra_init(&a, sizeof a, &metric));
            int64_t x[32], y[32], z[32], xy[32], yz[32], left[32], right[32];
            random_integers(&seed, a.n_component, x);
            random_integers(&seed, a.n_component, y);
            random_integers(&seed, a.n_component, z);
            multiply(&a, UINT64_MAX, x, y, xy);
            multiply(&a, UINT64_MAX, xy, z, left);
            multiply(&a, UINT64_MAX, y, z, yz);
            multiply(&a, UINT64_MAX, x, yz, right);
            assert_memory_equal(left, right, sizeof left);
            // reverse(xy) = reverse(y) reverse(x)
            int64_t rx[32], ry[32];
            for (int k = 0; k < a.n_component; k++) {
                rx[k] = a.reverse[k] * x[k];
                ry[k] = a.reverse[k] * y[k];
            }
            multiply(&a, UINT64_MAX, ry, rx, right);
            for (int k = 0; k < a.n_component; k++) {
                assert_int_equal(right[k], a.reverse[k] * xy[k]);
            }
            // The scalar of reverse(x) x is the quadratic form.
            int64_t form = 0;
            for (int k = 0; k < a.n_component; k++) {
                form += a.eta[k] * x[k] * x[k];
            }
            multiply(&a, UINT64_MAX, rx, x, right);
            assert_int_equal(right[0], form);
        }
    }
    assert_int_equal(n_metric, 3 + 9 + 27 + 81 + 243);
}

static void masks_of_products(void **state)
{
    (void)state;
    static const struct {
        tess_clifford_product product;
        const char *member;
    } products[] = {
        {TESS_CLIFFORD_GEOMETRIC, "product"},
        {TESS_CLIFFORD_OUTER, "outer"},
        {TESS_CLIFFORD_LEFT_CONTRACTION, "left_contraction"},
        {TESS_CLIFFORD_RIGHT_CONTRACTION, "right_contraction"},
        {TESS_CLIFFORD_INNER, "inner"},
        {TESS_CLIFFORD_SCALAR, "scalar"},
        {TESS_CLIFFORD_COMMUTATOR, "commutator"},
    };
    static const char *const names[][2] = {{"cl301", "0+++"}, {"cl13", "+---"}, {"cl41", "++++-"}};
    tess_context *ctx = unit_context(1, 0);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const tess_clifford_algebra a = algebra_of(names[i][1]);
        char name[64];
        int64_t n = 0;
        snprintf(name, sizeof name, "%s_x", names[i][0]);
        double *x = golden_f64(ctx, "clifford/algebras", name, &n);
        snprintf(name, sizeof name, "%s_y", names[i][0]);
        double *y = golden_f64(ctx, "clifford/algebras", name, NULL);
        for (size_t m = 0; m < ARRAY_LEN(products); m++) {
            const uint64_t paths = tess_clifford_product_paths(&a, products[m].product);
            snprintf(name, sizeof name, "%s_%s", names[i][0], products[m].member);
            double *want = golden_f64(ctx, "clifford/algebras", name, NULL);
            double got[32 * 6] = {0};
            for (int t = 0; t < a.n_term; t++) {
                const tess_clifford_term *term = &a.terms[t];
                for (int b = 0; b < 6 && (paths >> term->path & 1u); b++) {
                    got[term->k * 6 + b] += term->sign * x[term->i * 6 + b] * y[term->j * 6 + b];
                }
            }
            assert_near(got, want, n, 0); // products of multiples of 1/64: exact
            free(want);
        }
        free(x);
        free(y);
    }
    tess_context_destroy(ctx);
}

static void paths_of_grades(void **state)
{
    (void)state;
    const tess_clifford_algebra a = algebra_of("+++");
    // Vectors times vectors: 1x1->0 (w4) and 1x1->2 (w7).
    assert_int_equal(tess_clifford_grade_paths(&a, 2, 2), (1u << 4) | (1u << 7));
    assert_int_equal(tess_clifford_grade_paths(&a, 15, 15), (1u << 20) - 1);
    assert_int_equal(tess_clifford_grade_paths(&a, 0, 15), 0);
}

static void metrics_from_text(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"+++", "+++"},        {"0+++", "0+++"},    {"3,0", "+++"},  {"3,0,1", "0+++"},
        {"Cl(3,0,1)", "0+++"}, {"p3m0n1", "0+++"},  {"pga", "0+++"}, {"sta", "+---"},
        {"cga", "++++-"},      {"Cl(1,3)", "+---"}, {"p2m0", "++"},
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        const tess_clifford_metric metric = cl_metric(texts[i][0]);
        char text[TESS_CLIFFORD_MAX_SYMBOLS + 1];
        tess_clifford_metric_text(&metric, text, sizeof text);
        assert_string_equal(text, texts[i][1]);
    }
    static const char *const wrong[] = {"", "++++++", "6,0", "Cl(3", "pg", "+x", "0,0,0", "-1,3"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        tess_clifford_metric metric;
        if (tess_clifford_metric_parse(wrong[i], &metric) == TESS_OK) {
            fail_msg("'%s' was taken for a metric", wrong[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_sums),        cmocka_unit_test(golden_tables),
        cmocka_unit_test(generated_lists),   cmocka_unit_test(laws_of_the_product),
        cmocka_unit_test(masks_of_products), cmocka_unit_test(paths_of_grades),
        cmocka_unit_test(metrics_from_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
