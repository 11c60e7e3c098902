// The tests of rows of multivectors for one dtype; included by test_clifford_rows.c only.
#include "kernels/simd/dtype.h"

#define ROWS T_NAME(tess_cl_rows)
#define EPS (T_MANTISSA == 23 ? 0x1p-23 : 0x1p-52)

// Rows whose last item stands before a page that must not be touched.
typedef struct T_NAME(block) {
    check_block memory;
    ROWS rows;
} T_NAME(block);

static T_NAME(block) T_NAME(take_rows)(check *t, int n_component, size_t n)
{
    const size_t row = n + check_random(t) % 5, component = ROWS_MAX * row + check_random(t) % 7;
    const size_t items = (size_t)(n_component - 1) * component + (ROWS_MAX - 1) * row + n;
    T_NAME(block) b = {.memory = check_take(items * sizeof(SCALAR), 0)};
    b.rows =
        (ROWS){.data = b.memory.data, .component = (ptrdiff_t)component, .row = (ptrdiff_t)row};
    return b;
}

static void T_NAME(fill_rows)(check *t, ROWS rows, int n_component, size_t n)
{
    for (int k = 0; k < n_component; k++) {
        for (int r = 0; r < ROWS_MAX; r++) {
            for (size_t i = 0; i < n; i++) {
                rows.data[k * rows.component + r * rows.row + (ptrdiff_t)i] =
                    (SCALAR)check_uniform(t, -2, 2);
            }
        }
    }
}

// Largest difference relative to the largest value.
static double T_NAME(rows_differ)(ROWS want, ROWS got, int n_component, size_t n)
{
    double worst = 0, size = 1e-30;
    for (int k = 0; k < n_component; k++) {
        for (int r = 0; r < ROWS_MAX; r++) {
            for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) {
                const double a = (double)want.data[k * want.component + r * want.row + i];
                const double b = (double)got.data[k * got.component + r * got.row + i];
                worst = fabs(a - b) > worst ? fabs(a - b) : worst;
                worst = isnan(b) ? (double)INFINITY : worst;
                size = fabs(a) > size ? fabs(a) : size;
            }
        }
    }
    return worst / size;
}

#include "test_clifford_gate_body.h"

// Rows of every type and layout there and back, special numbers among them.
static void T_NAME(layouts_match)(check *t)
{
    static const int dtypes[] = {TESS_F32, TESS_BF16, TESS_F16};
    for (size_t round = 0; round < (t->quick ? 100 : 800); round++) {
        const size_t n = 1 + check_random(t) % 200, d = (size_t)1 << (1 + round % 5);
        const int dtype = T_MANTISSA == 23 ? dtypes[round % 3] : TESS_F64;
        const size_t bytes = dtype == TESS_F64 ? 8 : dtype == TESS_F32 ? 4 : 2;
        check_block data = check_take(n * d * 2 * bytes, 0), back[2];
        tess_cl_items items = {.data = data.data, .dtype = dtype};
        items.component = round % 4 == 0 ? 1 : round % 4 == 1 ? (ptrdiff_t)n : (ptrdiff_t)(2 * n);
        items.feature = round % 4 == 0 ? (ptrdiff_t)d : round % 4 == 3 ? 2 : 1;
        for (size_t i = 0; i < n * d * 2 * bytes; i++) {
            ((unsigned char *)data.data)[i] = (unsigned char)check_random(t);
        }
        static SCALAR row[2][D_MAX * 208];
        memset(row, 0, sizeof row);
        t->ref->T_NAME(clifford_take)(&items, d, n, row[0], 208);
        t->isa->T_NAME(clifford_take)(&items, d, n, row[1], 208);
        CHECK(t, memcmp(row[0], row[1], sizeof row[0]) == 0,
              "take %zu x %zu of type %d: other bits", d, n, dtype);
        for (size_t i = 0; i < d * 208; i++) { // any f32, not only what the type can hold
            row[0][i] = (SCALAR)ldexp(check_uniform(t, -1, 1), (int)(check_random(t) % 60) - 40);
        }
        row[0][0] = (SCALAR)NAN, row[0][1] = -(SCALAR)INFINITY, row[0][2] = (SCALAR)65520;
        for (int which = 0; which < 2; which++) {
            back[which] = check_take(n * d * 2 * bytes, 0);
            items.data = back[which].data;
            (which ? t->isa : t->ref)->T_NAME(clifford_give)(row[0], 208, d, n, &items);
        }
        CHECK(t, memcmp(back[0].data, back[1].data, n * d * 2 * bytes) == 0,
              "give %zu x %zu of type %d: other bits", d, n, dtype);
        check_release(&back[0]);
        check_release(&back[1]);
        check_release(&data);
    }
}

// A norm over random rows; gates every second time.
static T_NAME(tess_cl_norm) T_NAME(any_norm)(check *t, const tess_cl_grades *grades,
                                             const T_NAME(block) * b, size_t n, size_t round)
{
    static SCALAR gates[ROWS_MAX][N_MAX + 64];
    for (size_t i = 0; i < N_MAX + 64; i++) {
        gates[0][i] = gates[1][i] = gates[2][i] = (SCALAR)check_uniform(t, 0.1, 1);
    }
    return (T_NAME(tess_cl_norm)){.grades = grades,
                                  .n_row = ROWS_MAX,
                                  .n = n,
                                  .is_large = round % 3 == 0,
                                  .o = b[0].rows,
                                  .gate = round % 2 ? gates[0] : NULL,
                                  .gate_row = N_MAX + 64,
                                  .g = b[1].rows,
                                  .u = b[2].rows};
}

static void T_NAME(moments_match)(check *t)
{
    for (size_t at = 0; at < ARRAY_LEN(lengths) * 4; at++) {
        const size_t n = lengths[at / 4];
        const algebra *a = &algebras()[at % N_ALGEBRA];
        const tess_cl_grades grades = grades_of(a, (int)(at % 4) + 1);
        T_NAME(block) b[3];
        for (int k = 0; k < 3; k++) {
            b[k] = T_NAME(take_rows)(t, a->n_component, n);
            T_NAME(fill_rows)(t, b[k].rows, a->n_component, n);
        }
        const T_NAME(tess_cl_norm) norm = T_NAME(any_norm)(t, &grades, b, n, at);
        tess_cl_moments want[ROWS_MAX], got[ROWS_MAX];
        t->ref->T_NAME(clifford_moments)(&norm, want);
        t->isa->T_NAME(clifford_moments)(&norm, got);
        const double *x = (double *)want, *y = (double *)got;
        for (size_t i = 0; i < sizeof want / (sizeof(double)); i++) {
            // Terms up to 4, of a grade of up to ten components, cancel.
            CHECK(t, fabs(x[i] - y[i]) <= EPS * 200 * (double)n, "%s metric %d, n=%zu: %g, not %g",
                  a->name, grades.metric, n, y[i], x[i]);
        }
        for (int k = 0; k < 3; k++) {
            check_release(&b[k].memory);
        }
    }
}

static void T_NAME(norm_passes_match)(check *t)
{
    for (size_t at = 0; at < ARRAY_LEN(lengths) * 4; at++) {
        const size_t n = lengths[at / 4];
        const algebra *a = &algebras()[at % N_ALGEBRA];
        const int d = a->n_component;
        const tess_cl_grades grades = grades_of(a, (int)(at % 4) + 1);
        T_NAME(block) b[7];
        for (int k = 0; k < 7; k++) {
            b[k] = T_NAME(take_rows)(t, d, n);
            T_NAME(fill_rows)(t, b[k].rows, d, n);
        }
        const T_NAME(tess_cl_norm) norm = T_NAME(any_norm)(t, &grades, b, n, at);
        tess_cl_factors factors[ROWS_MAX];
        for (size_t i = 0; i < sizeof factors / (sizeof(double)); i++) {
            ((double *)factors)[i] = (double)(SCALAR)check_uniform(t, -1, 1);
        }
        factors[0].b[0] = 0;
        t->ref->T_NAME(clifford_scale)(&norm, factors, b[3].rows);
        t->isa->T_NAME(clifford_scale)(&norm, factors, b[4].rows);
        double off = T_NAME(rows_differ)(b[3].rows, b[4].rows, d, n);
        CHECK(t, off <= 4 * EPS, "scale of %zu: off by %g", n, off);
        static SCALAR tau[2][ROWS_MAX * (N_MAX + 64)];
        const size_t row = N_MAX + 64;
        t->ref->T_NAME(clifford_norm_back)(&norm, factors, b[3].rows, tau[0], row);
        t->isa->T_NAME(clifford_norm_back)(&norm, factors, b[4].rows, tau[1], row);
        off = T_NAME(rows_differ)(b[3].rows, b[4].rows, d, n) +
              T_NAME(rows_differ)((ROWS){tau[0], 0, (ptrdiff_t)row},
                                  (ROWS){tau[1], 0, (ptrdiff_t)row}, 1, n);
        CHECK(t, off <= 40 * EPS, "backward of %zu: off by %g", n, off);
        t->ref->T_NAME(clifford_norm_twice)(&norm, factors, b[3].rows, b[5].rows);
        t->isa->T_NAME(clifford_norm_twice)(&norm, factors, b[4].rows, b[6].rows);
        off = T_NAME(rows_differ)(b[3].rows, b[4].rows, d, n) +
              T_NAME(rows_differ)(b[5].rows, b[6].rows, d, n);
        CHECK(t, off <= 20 * EPS, "twice of %zu: off by %g", n, off);
        for (int k = 0; k < 7; k++) {
            check_release(&b[k].memory);
        }
    }
}

enum { T_NAME(STRIDE) = N_MAX + 72 };

static double T_NAME(gradients_differ)(const SCALAR *want, const SCALAR *got, const algebra *a,
                                       size_t n)
{
    double worst = 0;
    for (size_t at = 0; at < (size_t)a->n_path * T_NAME(STRIDE); at++) {
        const double error = at % T_NAME(STRIDE) < n ? fabs((double)want[at] - (double)got[at]) : 0;
        worst = error > worst || isnan(error) ? error : worst;
    }
    return worst;
}

// One form of one algebra by straight-line code, and by the list of its terms.
static void T_NAME(product_matches)(check *t, const algebra *a, int form, size_t n, int is_list)
{
    enum { STRIDE = T_NAME(STRIDE) };
    static SCALAR weight[64 * STRIDE], grad[2][64 * STRIDE], tau[ROWS_MAX * STRIDE];
    const int d = a->n_component, has_squares = form == TESS_CL_OUT && n % 4 != 0;
    const tess_cl_grades grades = grades_of(a, TESS_CLIFFORD_NORM_EUCLID);
    double squares[2][ROWS_MAX * TESS_CLIFFORD_MAX_GRADES];
    T_NAME(block) b[5];
    for (int k = 0; k < 5; k++) {
        b[k] = T_NAME(take_rows)(t, d, n);
        T_NAME(fill_rows)(t, b[k].rows, d, n);
    }
    for (size_t i = 0; i < (size_t)a->n_path * STRIDE; i++) {
        if (i % STRIDE < n) { // the padding keeps what was there
            weight[i] = (SCALAR)check_uniform(t, -1, 1);
            grad[0][i] = grad[1][i] = (SCALAR)check_uniform(t, -1, 1);
        }
    }
    for (size_t i = 0; i < ROWS_MAX * STRIDE; i++) {
        tau[i] = i % STRIDE < n ? (SCALAR)check_uniform(t, -1, 1) : 0;
    }
    const int has_weight = form == TESS_CL_LEFT && n % 3 != 0;
    for (int which = 0; which < 2; which++) {
        const T_NAME(tess_cl_product)
            product = {.code = is_list ? TESS_CL_CODE_ANY : a->code,
                       .form = form,
                       .n_row = ROWS_MAX,
                       .n = n,
                       .a = b[0].rows,
                       .b = b[1].rows,
                       .x = b[2].rows,
                       .out = n % 5 == 4 && has_weight ? (ROWS){.data = NULL} : b[3 + which].rows,
                       .weight = weight,
                       .weight_stride = STRIDE,
                       .grad_weight = has_weight ? grad[which] : NULL,
                       .tau = form == TESS_CL_OUT ? NULL : tau,
                       .slope = tau,
                       .tau_row = STRIDE,
                       .squares = has_squares ? squares[which] : NULL,
                       .gate = n % 4 == 1 ? tau : NULL,
                       .gate_row = STRIDE,
                       .grades = &grades,
                       .list = &a->lists[form]};
        (which ? t->isa : t->ref)->T_NAME(clifford_product)(&product);
    }
    const double off =
        n % 5 == 4 && has_weight ? 0 : T_NAME(rows_differ)(b[3].rows, b[4].rows, d, n);
    CHECK(t, off <= 20 * EPS, "%s form %d of %zu: off by %g", a->name, form, n, off);
    const double worst = has_weight ? T_NAME(gradients_differ)(grad[0], grad[1], a, n) : 0;
    CHECK(t, worst <= 400 * EPS, "%s weights of %zu: off by %g", a->name, n, worst);
    for (int i = 0; i < ROWS_MAX * TESS_CLIFFORD_MAX_GRADES && has_squares; i++) {
        CHECK(t, fabs(squares[0][i] - squares[1][i]) <= 100 * EPS * (squares[0][i] + (double)n),
              "%s squares of %zu: %g, not %g", a->name, n, squares[1][i], squares[0][i]);
    }
    for (int k = 0; k < 5; k++) {
        CHECK(t, check_release(&b[k].memory), "%s form %d of %zu: wrote behind", a->name, form, n);
    }
}

static void T_NAME(products_match)(check *t)
{
    for (int k = 0; k < N_ALGEBRA; k++) {
        for (int form = 0; form < TESS_CL_N_FORM; form++) {
            for (size_t at = 0; at < ARRAY_LEN(lengths); at += t->quick ? 5 : 1) {
                T_NAME(product_matches)(t, &algebras()[k], form, lengths[at], 0);
                T_NAME(product_matches)(t, &algebras()[k], form, lengths[at], 1);
            }
        }
    }
}

#undef ROWS
#undef EPS
