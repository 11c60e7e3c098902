// Edges of one dtype; included by test_clifford_edges.c only.

static void T_NAME(fill)(check *t, SCALAR *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        items[i] = (SCALAR)check_uniform(t, -1, 1);
    }
}

static void T_NAME(edges_match)(check *t)
{
    enum { ROW = MOST_FEATURES + GAP };
    SCALAR x[NODES * ROW], scale[MOST_EDGES * ROW], want[MOST_FEATURES];
    int64_t senders[MOST_EDGES], numbers[MOST_EDGES];
    for (int round = 0; round < (t->quick ? 60 : 600); round++) {
        const size_t n = 1 + check_random(t) % MOST_FEATURES;
        const T_NAME(tess_cl_edges)
            edges = {.n_edge = check_random(t) % (NODES + 1),
                     .n = n,
                     .x = x,
                     .x_row = (ptrdiff_t)n + (ptrdiff_t)(check_random(t) % GAP),
                     .senders = check_random(t) % 2 ? senders : NULL,
                     .scale = check_random(t) % 3 ? scale : NULL,
                     .scale_row = (ptrdiff_t)n,
                     .edges = check_random(t) % 2 ? numbers : NULL,
                     .is_narrow = check_random(t) % 2};
        T_NAME(fill)(t, x, NODES * ROW);
        T_NAME(fill)(t, scale, MOST_EDGES * ROW);
        for (int i = 0; i < MOST_EDGES; i++) {
            senders[i] = (int64_t)(check_random(t) % NODES);
            numbers[i] = (int64_t)(check_random(t) % MOST_EDGES);
        }
        check_block got = check_take(n * sizeof(SCALAR), 0);
        T_NAME(fill)(t, want, n);
        memcpy(got.data, want, n * sizeof(SCALAR));
        t->ref->T_NAME(clifford_edges)(&edges, want);
        t->isa->T_NAME(clifford_edges)(&edges, got.data);
        CHECK(t, memcmp(got.data, want, n * sizeof(SCALAR)) == 0,
              "%zu edges of %zu features: other bits", edges.n_edge, n);
        check_release(&got);
    }
}

static void T_NAME(dots_match)(check *t)
{
    enum { COMPONENTS = 8, ROW = MOST_FEATURES + GAP };
    SCALAR x[COMPONENTS * ROW], y[COMPONENTS * ROW], want[MOST_FEATURES];
    for (int round = 0; round < (t->quick ? 60 : 600); round++) {
        const size_t n = 1 + check_random(t) % MOST_FEATURES, d = check_random(t) % COMPONENTS;
        const ptrdiff_t gap = (ptrdiff_t)n + (ptrdiff_t)(check_random(t) % GAP);
        T_NAME(fill)(t, x, COMPONENTS * ROW);
        T_NAME(fill)(t, y, COMPONENTS * ROW);
        check_block got = check_take(n * sizeof(SCALAR), 0);
        t->ref->T_NAME(clifford_dot)(x, gap, y, ROW, d, n, want);
        t->isa->T_NAME(clifford_dot)(x, gap, y, ROW, d, n, got.data);
        CHECK(t, memcmp(got.data, want, n * sizeof(SCALAR)) == 0,
              "%zu components of %zu features: other bits", d, n);
        check_release(&got);
    }
}
