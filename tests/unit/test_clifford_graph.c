// Sums over the edges of graphs against plain loops over pairs of nodes, in every type and layout.
#include "clifford_arrays.h"

enum { MOST_NODES = 9, MOST_EDGES = 40 };

typedef struct plain_graph {
    int64_t n_sender, n_receiver, n_edge;
    int64_t sender[MOST_EDGES], receiver[MOST_EDGES]; // of edges by their number
    int64_t offsets[MOST_NODES + 2], senders[MOST_EDGES], edges[MOST_EDGES];
    tess_array arrays[3];
    tess_clifford_graph graph;
} plain_graph;

static tess_array list_of(int64_t *data, int64_t n)
{
    tess_array a;
    assert_ok(tess_array_init(&a, data, TESS_I64, 1, &n));
    return a;
}

// Edges in any order, with repeats and loops; some nodes have none.
static void draw_graph(uint64_t *seed, int64_t n_edge, plain_graph *g)
{
    g->n_sender = 1 + (int64_t)(cl_draw(seed) % MOST_NODES);
    g->n_receiver = 1 + (int64_t)(cl_draw(seed) % MOST_NODES);
    g->n_edge = n_edge;
    for (int64_t e = 0; e < n_edge; e++) {
        g->sender[e] = (int64_t)(cl_draw(seed) % (uint64_t)g->n_sender);
        g->receiver[e] = (int64_t)(cl_draw(seed) % (uint64_t)g->n_receiver);
    }
    int64_t at = 0;
    for (int64_t r = 0; r < g->n_receiver; r++) {
        g->offsets[r] = at;
        for (int64_t e = 0; e < n_edge; e++) {
            if (g->receiver[e] == r) {
                g->senders[at] = g->sender[e];
                g->edges[at++] = e;
            }
        }
    }
    g->offsets[g->n_receiver] = at;
    g->arrays[0] = list_of(g->offsets, g->n_receiver + 1);
    g->arrays[1] = list_of(g->senders, n_edge);
    g->arrays[2] = list_of(g->edges, n_edge);
    g->graph = (tess_clifford_graph){.struct_size = sizeof g->graph,
                                     .n_sender = g->n_sender,
                                     .offsets = &g->arrays[0],
                                     .senders = &g->arrays[1],
                                     .edges = &g->arrays[2]};
}

// What a double becomes in an array's type.
static double rounded(tess_dtype dtype, double value)
{
    double room = 0;
    const tess_array one = {.data = &room, .dtype = (int32_t)dtype};
    cl_put(&one, 0, value);
    return cl_get(&one, 0);
}

typedef struct trial {
    tess_dtype dtype, scale_dtype;
    cl_layout layout;
    int64_t n_component, n_feature, n_scale;
    double *x, *y, *scale;
} trial;

static void check_sum(tess_context *ctx, const plain_graph *g, const trial *t)
{
    const int64_t d = t->n_component, n = t->n_feature;
    const tess_array *x = cl_array(t->dtype, t->layout, d, g->n_sender, n, t->x);
    const tess_array *scale =
        t->n_scale > 0 && g->n_edge > 0
            ? cl_array(t->scale_dtype, t->layout, g->n_edge, t->n_scale, 0, t->scale)
            : NULL;
    const tess_array *z = cl_empty(t->dtype, t->layout, d, g->n_receiver, n);
    assert_ok(tess_clifford_graph_sum(ctx, &g->graph, x, scale, z, NULL));
    const double *found = cl_values(z);
    for (int64_t i = 0; i < d * g->n_receiver * n; i++) {
        const int64_t k = i / n / g->n_receiver, r = i / n % g->n_receiver, f = i % n;
        double sum = 0; // of multiples of 1/4096: exact in f32
        for (int64_t e = 0; e < g->n_edge; e++) {
            if (g->receiver[e] == r) {
                const double by = scale ? t->scale[e * t->n_scale + (t->n_scale > 1 ? f : 0)] : 1.0;
                sum += by * t->x[(k * g->n_sender + g->sender[e]) * n + f];
            }
        }
        assert_true(found[i] == rounded(t->dtype, sum));
    }
}

static void check_dot(tess_context *ctx, const plain_graph *g, const trial *t)
{
    const int64_t d = t->n_component, n = t->n_feature, width = t->n_scale > 0 ? t->n_scale : 1;
    if (g->n_edge == 0) {
        return;
    }
    const tess_array *x = cl_array(t->dtype, t->layout, d, g->n_sender, n, t->x);
    const tess_array *y = cl_array(t->dtype, t->layout, d, g->n_receiver, n, t->y);
    const tess_array *dot = cl_empty(t->scale_dtype, t->layout, g->n_edge, width, 0);
    assert_ok(tess_clifford_graph_dot(ctx, &g->graph, x, y, dot, NULL));
    const double *found = cl_values(dot);
    for (int64_t i = 0; i < g->n_edge * width; i++) {
        const int64_t e = i / width;
        double sum = 0;
        for (int64_t f = width > 1 ? i % width : 0; f < (width > 1 ? i % width + 1 : n); f++) {
            for (int64_t k = 0; k < d; k++) {
                sum += t->x[(k * g->n_sender + g->sender[e]) * n + f] *
                       t->y[(k * g->n_receiver + g->receiver[e]) * n + f];
            }
        }
        assert_true(found[i] == rounded(t->scale_dtype, sum));
    }
}

static void any_graph(void **state)
{
    (void)state;
    static const tess_dtype dtypes[] = {TESS_F64, TESS_F32, TESS_BF16, TESS_F16};
    uint64_t seed = 5;
    tess_context *contexts[2] = {unit_context(1, 0), unit_context(3, 0)};
    for (int round = 0; round < 200; round++) {
        plain_graph g;
        draw_graph(&seed, round % 10 == 0 ? 0 : (int64_t)(cl_draw(&seed) % MOST_EDGES), &g);
        trial t = {.dtype = dtypes[round % 4],
                   .layout = (cl_layout)(cl_draw(&seed) % CL_N_LAYOUT),
                   .n_component = INT64_C(1) << cl_draw(&seed) % 6,
                   .n_feature = 1 + (int64_t)(cl_draw(&seed) % (round % 8 == 0 ? 150 : 10))};
        t.scale_dtype = round % 4 > 1 && cl_draw(&seed) % 2 ? TESS_F32 : t.dtype;
        t.n_scale = (const int64_t[]){0, 1, t.n_feature}[cl_draw(&seed) % 3];
        t.x = cl_random(&seed, t.n_component * g.n_sender * t.n_feature);
        t.y = cl_random(&seed, t.n_component * g.n_receiver * t.n_feature);
        t.scale = cl_random(&seed, MOST_EDGES * t.n_feature);
        check_sum(contexts[round / 4 % 2], &g, &t);
        check_dot(contexts[round / 4 % 2], &g, &t);
        cl_free_all();
    }
    tess_context_destroy(contexts[0]);
    tess_context_destroy(contexts[1]);
}

// Order shows in the bits of sums that round: that of edges, whatever the threads.
static void order_of_edges(void **state)
{
    (void)state;
    enum { N = 2000 };
    int64_t offsets[] = {0, N}, senders[N];
    float x[N], sum = 0;
    uint64_t seed = 3;
    for (int64_t i = 0; i < N; i++) {
        senders[i] = (int64_t)(cl_draw(&seed) % N);
        x[i] = 1.0f / (float)(1 + cl_draw(&seed) % 1000);
    }
    for (int64_t i = 0; i < N; i++) {
        sum += x[senders[i]];
    }
    const tess_array lists[] = {list_of(offsets, 2), list_of(senders, N)};
    const tess_clifford_graph graph = {
        .struct_size = sizeof graph, .n_sender = N, .offsets = &lists[0], .senders = &lists[1]};
    tess_array in, out;
    float z;
    assert_ok(tess_array_init(&in, x, TESS_F32, 3, (const int64_t[]){1, N, 1}));
    assert_ok(tess_array_init(&out, &z, TESS_F32, 3, (const int64_t[]){1, 1, 1}));
    for (int threads = 1; threads < 4; threads++) {
        tess_context *ctx = unit_context(threads, 0);
        assert_ok(tess_clifford_graph_sum(ctx, &graph, &in, NULL, &out, NULL));
        assert_memory_equal(&z, &sum, sizeof z);
        tess_context_destroy(ctx);
    }
}

static void complaints(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    uint64_t seed = 9;
    plain_graph g;
    draw_graph(&seed, 20, &g);
    const tess_array *x = cl_empty(TESS_F32, CL_CONTIGUOUS, 8, g.n_sender, 3);
    const tess_array *z = cl_empty(TESS_F32, CL_CONTIGUOUS, 8, g.n_receiver, 3);
    const tess_array *scale = cl_empty(TESS_F32, CL_CONTIGUOUS, 20, 3, 0);
    const tess_array *narrow = cl_empty(TESS_F32, CL_CONTIGUOUS, 20, 2, 0);
    const tess_array *wide = cl_empty(TESS_F64, CL_CONTIGUOUS, 20, 3, 0);
    const tess_array *few = cl_empty(TESS_F32, CL_CONTIGUOUS, 8, g.n_sender + 1, 3);
    assert_ok(tess_clifford_graph_sum(ctx, &g.graph, x, scale, z, NULL));
    assert_fails(tess_clifford_graph_sum(ctx, &g.graph, x, narrow, z, NULL), TESS_E_SHAPE,
                 "scale: (20,2)");
    assert_fails(tess_clifford_graph_sum(ctx, &g.graph, x, wide, z, NULL), TESS_E_DTYPE,
                 "scale: is f64");
    assert_fails(tess_clifford_graph_sum(ctx, &g.graph, few, NULL, z, NULL), TESS_E_SHAPE,
                 "x: (8,");
    assert_fails(tess_clifford_graph_sum(ctx, &g.graph, x, NULL, NULL, NULL), TESS_E_ARGUMENT,
                 "z must");
    assert_fails(tess_clifford_graph_dot(ctx, &g.graph, x, z, NULL, NULL), TESS_E_ARGUMENT,
                 "d must");
    assert_fails(tess_clifford_graph_sum(ctx, NULL, x, NULL, z, NULL), TESS_E_ARGUMENT, "graph");
    g.edges[3] = g.edges[4];
    assert_fails(tess_clifford_graph_sum(ctx, &g.graph, x, NULL, z, NULL), TESS_E_ARGUMENT,
                 "twice");
    g.edges[3] = -1;
    assert_fails(tess_clifford_graph_sum(ctx, &g.graph, x, NULL, z, NULL), TESS_E_RANGE,
                 "edges: -1 at 3");
    g.senders[5] = g.n_sender;
    assert_fails(tess_clifford_graph_sum(ctx, &g.graph, x, NULL, z, NULL), TESS_E_RANGE,
                 "senders:");
    g.offsets[0] = 1;
    assert_fails(tess_clifford_graph_sum(ctx, &g.graph, x, NULL, z, NULL), TESS_E_ARGUMENT,
                 "offsets:");
    tess_context_destroy(ctx);
    cl_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_graph),
                                       cmocka_unit_test(order_of_edges),
                                       cmocka_unit_test(complaints)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
