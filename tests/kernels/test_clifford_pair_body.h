// Pairs of one dtype; included by test_clifford_pair.c only.

static T_NAME(tess_cl_rows) T_NAME(some_rows)(check *t, const pair_shape *s, int is_zero)
{
    T_NAME(tess_cl_rows) rows = {.row = (ptrdiff_t)s->stride};
    rows.component = rows.row * (ptrdiff_t)s->n_row + 3;
    const size_t n = (size_t)rows.component * COMPONENTS;
    rows.data = malloc(n * sizeof(SCALAR));
    for (size_t i = 0; i < n; i++) {
        rows.data[i] = is_zero ? 0 : (SCALAR)check_uniform(t, -1, 1);
    }
    return rows;
}

static size_t T_NAME(rows_bytes)(T_NAME(tess_cl_rows) rows)
{
    return (size_t)rows.component * COMPONENTS * sizeof(SCALAR);
}

static void T_NAME(pairs_match)(check *t)
{
    for (int round = 0; round < (t->quick ? 40 : 300); round++) {
        tess_cl_entry entries[MOST_ENTRIES];
        const pair_shape s = any_pair(t, entries);
        const T_NAME(tess_cl_pair) pair = {.entries = entries,
                                           .n_entry = s.n_entry,
                                           .n_row = s.n_row,
                                           .n = s.n,
                                           .x = T_NAME(some_rows)(t, &s, 0),
                                           .y = T_NAME(some_rows)(t, &s, 0)};
        const size_t q_bytes = ((s.n_row - 1) * TESS_CL_GEMM_ROW + s.n) * sizeof(SCALAR);
        check_block got = check_take(q_bytes, 0);
        SCALAR *want = malloc(q_bytes);
        memset(want, 0x5a, q_bytes);
        memset(got.data, 0x5a, q_bytes);
        t->ref->T_NAME(clifford_pair)(&pair, want);
        t->isa->T_NAME(clifford_pair)(&pair, got.data);
        CHECK(t, memcmp(got.data, want, q_bytes) == 0, "%zu rows of %zu: other bits", s.n_row, s.n);

        const T_NAME(tess_cl_rows) none = {.data = NULL};
        T_NAME(tess_cl_rows) grad[2][2];
        for (int k = 0; k < 4; k++) {
            grad[k / 2][k % 2] = T_NAME(some_rows)(t, &s, 1);
        }
        for (int set = 0; set < 2; set++) {
            (set == 0 ? t->ref : t->isa)
                ->T_NAME(clifford_unpair)(&pair, want, TESS_CL_GEMM_ROW,
                                          round % 5 == 1 ? none : grad[set][0],
                                          round % 5 == 2 ? none : grad[set][1]);
        }
        for (int k = 0; k < 2; k++) {
            CHECK(t, memcmp(grad[0][k].data, grad[1][k].data, T_NAME(rows_bytes)(grad[0][k])) == 0,
                  "gradient %d of %zu rows of %zu: other bits", k, s.n_row, s.n);
        }
        for (int k = 0; k < 4; k++) {
            free(grad[k / 2][k % 2].data);
        }
        check_release(&got);
        free(want);
        free(pair.x.data);
        free(pair.y.data);
    }
}
