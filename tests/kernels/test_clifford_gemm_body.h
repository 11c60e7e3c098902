// Matrix products of one dtype; included by test_clifford_gemm.c only.

static void T_NAME(fill)(check *t, SCALAR *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = (SCALAR)check_uniform(t, -1, 1);
    }
}

// Rows [depth][n_col] in the panels of a set; what was there before is NaN.
static SCALAR *T_NAME(packed)(const tess_kernels *set, const SCALAR *rows, const product *p)
{
    tess_cl_gemm_shape shape;
    set->clifford_gemm_shape(&shape);
    const size_t width = shape.T_NAME(width);
    const size_t n = (p->n_col + width - 1) / width * width * p->depth;
    SCALAR *b = aligned_alloc(64, (n * sizeof *b + 63) / 64 * 64);
    memset(b, 0xff, n * sizeof *b);
    for (size_t i = 0; i < p->depth; i++) {
        set->T_NAME(clifford_gemm_pack)(rows + i * p->n_col, p->n_col, p->depth, b + i * width);
    }
    return b;
}

static void T_NAME(multiply)(const tess_kernels *set, const product *p, const SCALAR *a,
                             const SCALAR *b, SCALAR *c)
{
    if (p->is_transposed) {
        set->T_NAME(clifford_gemm_t)(a, p->n_row, b, p->depth, p->n_col, c, p->c_stride,
                                     p->is_first);
    } else {
        set->T_NAME(clifford_gemm)(a, p->n_row, b, p->depth, p->n_col, c, p->c_stride, p->is_first);
    }
}

static void T_NAME(products_match)(check *t)
{
    for (int round = 0; round < (t->quick ? 40 : 400); round++) {
        const product p = any_product(t, round);
        const size_t a_items = (p.is_transposed ? p.depth : p.n_row) * TESS_CL_GEMM_ROW;
        const size_t c_bytes = ((p.n_row - 1) * p.c_stride + p.n_col) * sizeof(SCALAR);
        SCALAR *a = malloc(a_items * sizeof *a);
        SCALAR *rows = malloc(p.depth * p.n_col * sizeof *rows);
        SCALAR *want = malloc(c_bytes);
        check_block got = check_take(c_bytes, 0);
        T_NAME(fill)(t, a, a_items);
        T_NAME(fill)(t, rows, p.depth * p.n_col);
        T_NAME(fill)(t, want, c_bytes / sizeof *want);
        memcpy(got.data, want, c_bytes);
        SCALAR *const b[2] = {T_NAME(packed)(t->ref, rows, &p), T_NAME(packed)(t->isa, rows, &p)};
        T_NAME(multiply)(t->ref, &p, a, b[0], want);
        T_NAME(multiply)(t->isa, &p, a, b[1], got.data);
        CHECK(t, memcmp(got.data, want, c_bytes) == 0,
              "%zu x %zu x %zu, transposed %d, first %d: other bits than the reference", p.n_row,
              p.depth, p.n_col, p.is_transposed, p.is_first);
        check_release(&got);
        free(a);
        free(rows);
        free(want);
        free(b[0]);
        free(b[1]);
    }
}

// The reference itself, once: sums by definition.
static void T_NAME(sums_are_right)(check *t)
{
    enum { ROWS = 5, DEPTH = 37, COLUMNS = 19 };
    for (int is_transposed = 0; is_transposed < 2; is_transposed++) {
        const product p = {ROWS, DEPTH, COLUMNS, COLUMNS, is_transposed, 0};
        SCALAR *a = malloc(DEPTH * TESS_CL_GEMM_ROW * sizeof *a);
        SCALAR rows[DEPTH * COLUMNS], c[ROWS * COLUMNS];
        T_NAME(fill)(t, a, DEPTH * TESS_CL_GEMM_ROW);
        T_NAME(fill)(t, rows, DEPTH * COLUMNS);
        SCALAR *b = T_NAME(packed)(t->isa, rows, &p);
        for (size_t i = 0; i < ROWS * COLUMNS; i++) {
            c[i] = 1;
        }
        T_NAME(multiply)(t->isa, &p, a, b, c);
        for (size_t r = 0; r < ROWS; r++) {
            for (size_t n = 0; n < COLUMNS; n++) {
                double sum = 1;
                for (size_t i = 0; i < DEPTH; i++) {
                    const size_t at =
                        is_transposed ? i * TESS_CL_GEMM_ROW + r : r * TESS_CL_GEMM_ROW + i;
                    sum += (double)a[at] * (double)rows[i * COLUMNS + n];
                }
                const double error = fabs((double)c[r * COLUMNS + n] - sum);
                CHECK(t, error <= 40 * T_EPSILON, "item %zu, %zu is off by %g", r, n, error);
            }
        }
        free(a);
        free(b);
    }
}
