// Sums over edges for one dtype; included by graph.c only.

// n features of a view from an item on: where they are, or a copy in room[CHUNK].
static const SCALAR *T_NAME(take)(const graph_job *job, const tess_cl_graph_view *view, int64_t at,
                                  int64_t n, SCALAR *room)
{
    if (view->dtype == DTYPE && view->stride[2] == 1) {
        return (const SCALAR *)view->data + at;
    }
    const int64_t bytes = (int64_t)tess_dtype_bytes((tess_dtype)view->dtype);
    const tess_cl_items from = {.data = (unsigned char *)view->data + at * bytes,
                                .dtype = view->dtype,
                                .feature = (ptrdiff_t)view->stride[2]};
    job->kernels->T_NAME(clifford_take)(&from, 1, (size_t)n, room, CHUNK);
    return room;
}

static void T_NAME(give)(const graph_job *job, const tess_cl_graph_view *view, int64_t at,
                         int64_t n, const SCALAR *from)
{
    const int64_t bytes = (int64_t)tess_dtype_bytes((tess_dtype)view->dtype);
    const tess_cl_items to = {.data = (unsigned char *)view->data + at * bytes,
                              .dtype = view->dtype,
                              .feature = (ptrdiff_t)view->stride[2]};
    job->kernels->T_NAME(clifford_give)(from, CHUNK, 1, (size_t)n, &to);
}

static void T_NAME(add_scaled)(const SCALAR *restrict x, const SCALAR *restrict scale, int64_t n,
                               SCALAR *restrict sum)
{
    for (int64_t i = 0; i < n; i++) {
        sum[i] += scale[i] * x[i];
    }
}

static void T_NAME(add)(const SCALAR *restrict x, SCALAR scale, int64_t n, SCALAR *restrict sum)
{
    for (int64_t i = 0; i < n; i++) {
        sum[i] += scale * x[i];
    }
}

// n features of one component of a receiver.
static void T_NAME(sum_chunk)(const graph_job *job, int64_t receiver, int64_t k, int64_t first,
                              int64_t n)
{
    const tess_stage_clifford_graph *a = job->args;
    SCALAR sum[CHUNK] = {0}, room[CHUNK], scale_room[CHUNK];
    for (int64_t i = a->offsets[receiver]; i < a->offsets[receiver + 1]; i++) {
        const int64_t at =
            k * a->x.stride[0] + a->senders[i] * a->x.stride[1] + first * a->x.stride[2];
        const SCALAR *x = T_NAME(take)(job, &a->x, at, n, room);
        if (!a->scale.data) {
            T_NAME(add)(x, 1, n, sum);
            continue;
        }
        const int64_t row = edge_of(a, i) * a->scale.stride[1];
        if (a->n_scale == 1) {
            T_NAME(add)(x, *T_NAME(take)(job, &a->scale, row, 1, scale_room), n, sum);
        } else {
            const SCALAR *scale =
                T_NAME(take)(job, &a->scale, row + first * a->scale.stride[2], n, scale_room);
            T_NAME(add_scaled)(x, scale, n, sum);
        }
    }
    const int64_t to = k * a->z.stride[0] + receiver * a->z.stride[1] + first * a->z.stride[2];
    T_NAME(give)(job, &a->z, to, n, sum);
}

static tess_status T_NAME(sum_block)(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const graph_job *job = arg;
    const tess_stage_clifford_graph *a = job->args;
    for (int64_t r = block * BLOCK_RECEIVERS; r < end_of_block(a, block); r++) {
        for (int64_t k = 0; k < a->n_component; k++) {
            for (int64_t i = 0; i < a->n_feature; i += CHUNK) {
                const int64_t left = a->n_feature - i;
                T_NAME(sum_chunk)(job, r, k, i, left < CHUNK ? left : CHUNK);
            }
        }
    }
    return TESS_OK;
}

// dot[i] = sum over components of n features of an edge.
static void T_NAME(dot_chunk)(const graph_job *job, int64_t sender, int64_t receiver, int64_t first,
                              int64_t n, SCALAR *dot)
{
    const tess_stage_clifford_graph *a = job->args;
    SCALAR x_room[CHUNK], y_room[CHUNK];
    for (int64_t i = 0; i < n; i++) {
        dot[i] = 0;
    }
    for (int64_t k = 0; k < a->n_component; k++) {
        const int64_t x_at = k * a->x.stride[0] + sender * a->x.stride[1] + first * a->x.stride[2];
        const int64_t y_at =
            k * a->z.stride[0] + receiver * a->z.stride[1] + first * a->z.stride[2];
        const SCALAR *x = T_NAME(take)(job, &a->x, x_at, n, x_room);
        T_NAME(add_scaled)(x, T_NAME(take)(job, &a->z, y_at, n, y_room), n, dot);
    }
}

static void T_NAME(dot_edge)(const graph_job *job, int64_t edge, int64_t sender, int64_t receiver)
{
    const tess_stage_clifford_graph *a = job->args;
    const int64_t row = edge * a->scale.stride[1];
    SCALAR dot[CHUNK];
    double whole = 0; // of many features, in f64: their number is not that of a few components
    for (int64_t i = 0; i < a->n_feature; i += CHUNK) {
        const int64_t n = a->n_feature - i < CHUNK ? a->n_feature - i : CHUNK;
        T_NAME(dot_chunk)(job, sender, receiver, i, n, dot);
        if (a->n_scale > 1) {
            T_NAME(give)(job, &a->scale, row + i * a->scale.stride[2], n, dot);
        }
        for (int64_t j = 0; j < n; j++) {
            whole += (double)dot[j];
        }
    }
    if (a->n_scale == 1) {
        dot[0] = (SCALAR)whole;
        T_NAME(give)(job, &a->scale, row, 1, dot);
    }
}

static tess_status T_NAME(dot_block)(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const graph_job *job = arg;
    const tess_stage_clifford_graph *a = job->args;
    for (int64_t r = block * BLOCK_RECEIVERS; r < end_of_block(a, block); r++) {
        for (int64_t i = a->offsets[r]; i < a->offsets[r + 1]; i++) {
            T_NAME(dot_edge)(job, edge_of(a, i), a->senders[i], r);
        }
    }
    return TESS_OK;
}
