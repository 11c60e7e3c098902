// Sums over edges for one dtype; included by graph.c only.

#define EDGES T_NAME(tess_cl_edges)

static bool T_NAME(is_ready)(const tess_cl_graph_view *view)
{
    return view->dtype == DTYPE && view->stride[2] == 1;
}

// A row of one component.
static tess_cl_items T_NAME(items_of)(const tess_cl_graph_view *view, int64_t at)
{
    const int64_t bytes = (int64_t)tess_dtype_bytes((tess_dtype)view->dtype);
    return (tess_cl_items){.data = (unsigned char *)view->data + at * bytes,
                           .dtype = view->dtype,
                           .feature = (ptrdiff_t)view->stride[2]};
}

// n features of a view from an item on, as they are computed with.
static void T_NAME(take)(const graph_job *job, const tess_cl_graph_view *view, int64_t at,
                         int64_t n, SCALAR *room)
{
    const tess_cl_items from = T_NAME(items_of)(view, at);
    job->kernels->T_NAME(clifford_take)(&from, 1, (size_t)n, room, CHUNK);
}

static void T_NAME(give)(const graph_job *job, const tess_cl_graph_view *view, int64_t at,
                         int64_t n, const SCALAR *from)
{
    const tess_cl_items to = T_NAME(items_of)(view, at);
    job->kernels->T_NAME(clifford_give)(from, CHUNK, 1, (size_t)n, &to);
}

// Adds n edges from `first` on to the sums of the features of a chunk: rows of another type or
// layout are copied, the others are read where they are.
static void T_NAME(add_edges)(const graph_job *job, const chunk *c, int64_t first, int64_t n,
                              SCALAR *sum)
{
    const tess_stage_clifford_graph *a = job->args;
    SCALAR x_room[BATCH * CHUNK], scale_room[BATCH * CHUNK];
    EDGES edges = {.n_edge = (size_t)n, .n = (size_t)c->n, .is_narrow = a->n_scale == 1};
    const int64_t x_at = c->component * a->x.stride[0] + c->first * a->x.stride[2];
    if (T_NAME(is_ready)(&a->x)) {
        edges.x = (const SCALAR *)a->x.data + x_at;
        edges.x_row = (ptrdiff_t)a->x.stride[1];
        edges.senders = a->senders + first;
    } else {
        edges.x = x_room;
        edges.x_row = CHUNK;
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = x_at + a->senders[first + i] * a->x.stride[1];
            T_NAME(take)(job, &a->x, at, c->n, x_room + i * CHUNK);
        }
    }
    if (!a->scale.data) {
        job->kernels->T_NAME(clifford_edges)(&edges, sum);
        return;
    }
    const int64_t scale_at = edges.is_narrow ? 0 : c->first * a->scale.stride[2];
    if (a->scale.dtype == DTYPE && (edges.is_narrow || a->scale.stride[2] == 1)) {
        edges.scale =
            (const SCALAR *)a->scale.data + scale_at + (a->edges ? 0 : first) * a->scale.stride[1];
        edges.scale_row = (ptrdiff_t)a->scale.stride[1];
        edges.edges = a->edges ? a->edges + first : NULL;
    } else {
        edges.scale = scale_room;
        edges.scale_row = CHUNK;
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = scale_at + edge_of(a, first + i) * a->scale.stride[1];
            T_NAME(take)
            (job, &a->scale, at, edges.is_narrow ? 1 : c->n, scale_room + i * CHUNK);
        }
    }
    job->kernels->T_NAME(clifford_edges)(&edges, sum);
}

static void T_NAME(sum_chunk)(const graph_job *job, int64_t receiver, const chunk *c)
{
    const tess_stage_clifford_graph *a = job->args;
    SCALAR sum[CHUNK] = {0};
    const int64_t end = a->offsets[receiver + 1];
    // Copies have room for a batch of edges; without copies all go at once.
    const bool copies = !T_NAME(is_ready)(&a->x) || (a->scale.data && a->scale.dtype != DTYPE) ||
                        (a->scale.data && a->n_scale > 1 && a->scale.stride[2] != 1);
    const int64_t step = copies ? BATCH : end;
    for (int64_t i = a->offsets[receiver]; i < end; i += step) {
        T_NAME(add_edges)(job, c, i, end - i < step ? end - i : step, sum);
    }
    const int64_t to =
        c->component * a->z.stride[0] + receiver * a->z.stride[1] + c->first * a->z.stride[2];
    T_NAME(give)(job, &a->z, to, c->n, sum);
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
                const chunk c = {.component = k, .first = i, .n = left < CHUNK ? left : CHUNK};
                T_NAME(sum_chunk)(job, r, &c);
            }
        }
    }
    return TESS_OK;
}

// dot[i] = sum over components of n features of an edge.
static void T_NAME(dot_chunk)(const graph_job *job, int64_t x_at, int64_t y_at, int64_t n,
                              SCALAR *dot)
{
    const tess_stage_clifford_graph *a = job->args;
    if (T_NAME(is_ready)(&a->x) && T_NAME(is_ready)(&a->z)) {
        job->kernels->T_NAME(clifford_dot)((const SCALAR *)a->x.data + x_at, a->x.stride[0],
                                           (const SCALAR *)a->z.data + y_at, a->z.stride[0],
                                           (size_t)a->n_component, (size_t)n, dot);
        return;
    }
    SCALAR rows[2][CHUNK];
    for (int64_t i = 0; i < n; i++) {
        dot[i] = 0;
    }
    for (int64_t k = 0; k < a->n_component; k++) {
        T_NAME(take)(job, &a->x, x_at + k * a->x.stride[0], n, rows[0]);
        T_NAME(take)(job, &a->z, y_at + k * a->z.stride[0], n, rows[1]);
        const EDGES one = {.n_edge = 1, .n = (size_t)n, .x = rows[0], .scale = rows[1]};
        job->kernels->T_NAME(clifford_edges)(&one, dot);
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
        T_NAME(dot_chunk)
        (job, sender * a->x.stride[1] + i * a->x.stride[2],
         receiver * a->z.stride[1] + i * a->z.stride[2], n, dot);
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

#undef EDGES
