// Times of an operation, fused and as separate passes.
#include "base/clock.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "numerics/order.h"
#include "systems/clifford/bench/arrays.h"
#include "tessera/sys/clifford_bench.h"

enum { MAX_SAMPLE = 201, MIN_SAMPLE = 5 };

// Calls are timed in groups at least this long, so that neither the clock nor waiting for the
// device counts.
static const double group_s = 5e-3;

// The passes that do as separate steps what one operation does at once.
typedef struct bench_steps {
    tess_clifford_op whole;
    tess_clifford_op gate;
    tess_clifford_op product; // without gate and norm
    tess_clifford_op norm;
    tess_clifford_op linear;
    int has_product;
    int has_linear; // ahead of the product
} bench_steps;

typedef struct bench {
    tess_context *ctx;
    bench_memory memory;
    bench_steps steps;
    int32_t set;     // whose inputs come next
    int is_separate; // what a pass runs
    int is_backward;
} bench;

static tess_clifford_call call_of(bench *b)
{
    tess_clifford_call call;
    tess_clifford_call_init(&call, sizeof call);
    call.has_stream = !b->memory.device->shares_host_memory;
    const tess_array *workspace = &b->memory.arrays[0][BENCH_WORKSPACE];
    if (workspace->data) {
        const uintptr_t start = (uintptr_t)workspace->data;
        const uintptr_t skipped = (BENCH_ALIGNMENT - start % BENCH_ALIGNMENT) % BENCH_ALIGNMENT;
        call.workspace = (char *)workspace->data + skipped;
        call.workspace_bytes = b->memory.bytes[BENCH_WORKSPACE] - skipped;
    }
    return call;
}

static const tess_array *at(const bench *b, bench_array what)
{
    const tess_array *array = &b->memory.arrays[what < BENCH_N_INPUT ? b->set : 0][what];
    return array->data ? array : NULL;
}

static tess_clifford_arrays arrays_of(const bench *b, bench_array x, int y, int weight, int linear,
                                      int bias)
{
    tess_clifford_arrays arrays = {.struct_size = sizeof arrays, .x = at(b, x)};
    arrays.y = y < 0 ? NULL : at(b, (bench_array)y);
    arrays.weight = weight < 0 ? NULL : at(b, (bench_array)weight);
    arrays.linear_weight = linear < 0 ? NULL : at(b, (bench_array)linear);
    arrays.bias = bias < 0 ? NULL : at(b, (bench_array)bias);
    return arrays;
}

// Inputs of the whole operation. A layer's y is what its linear map left.
static tess_clifford_arrays inputs_of(const bench *b, int is_backward)
{
    const int is_layer = b->steps.has_linear;
    const int y = is_layer ? (is_backward ? (int)BENCH_LINEAR_OUT : -1) : (int)BENCH_Y;
    return arrays_of(b, BENCH_X, b->steps.has_product ? y : -1, BENCH_WEIGHT, BENCH_LINEAR_WEIGHT,
                     BENCH_BIAS);
}

static tess_status run_whole(bench *b)
{
    const tess_clifford_call call = call_of(b);
    const tess_clifford_arrays in = inputs_of(b, 0);
    const int has_statistics = b->is_backward && b->steps.whole.config.normalize;
    const tess_array *statistics = has_statistics ? at(b, BENCH_STATISTICS) : NULL;
    TESS_TRY(tess_clifford_forward(b->ctx, &b->steps.whole, &in, at(b, BENCH_Z), statistics,
                                   b->is_backward ? at(b, BENCH_LINEAR_OUT) : NULL, &call));
    if (!b->is_backward) {
        return TESS_OK;
    }
    tess_clifford_arrays saved = inputs_of(b, 1);
    saved.z = at(b, BENCH_Z);
    const int is_layer = b->steps.has_linear;
    const tess_clifford_arrays gradients =
        arrays_of(b, BENCH_GX, is_layer ? -1 : (int)BENCH_GY, BENCH_GWEIGHT, BENCH_GLINEAR_WEIGHT,
                  BENCH_GBIAS);
    return tess_clifford_backward(b->ctx, &b->steps.whole, &saved, at(b, BENCH_GZ), statistics,
                                  &gradients, &call);
}

static tess_status forward_step(bench *b, const tess_clifford_op *op,
                                const tess_clifford_arrays *in, bench_array out)
{
    const tess_clifford_call call = call_of(b);
    return tess_clifford_forward(b->ctx, op, in, at(b, out), NULL, NULL, &call);
}

static tess_status backward_step(bench *b, const tess_clifford_op *op,
                                 const tess_clifford_arrays *in, bench_array gz,
                                 const tess_clifford_arrays *gradients)
{
    const tess_clifford_call call = call_of(b);
    return tess_clifford_backward(b->ctx, op, in, at(b, gz), NULL, gradients, &call);
}

static bench_array right_of(const bench *b)
{
    return b->steps.has_linear ? BENCH_LINEAR_OUT : BENCH_Y;
}

static tess_status separate_forward(bench *b)
{
    const bench_steps *s = &b->steps;
    if (s->has_linear) {
        const tess_clifford_arrays in =
            arrays_of(b, BENCH_X, -1, -1, BENCH_LINEAR_WEIGHT, BENCH_BIAS);
        TESS_TRY(forward_step(b, &s->linear, &in, BENCH_LINEAR_OUT));
    }
    const tess_clifford_arrays x = arrays_of(b, BENCH_X, -1, -1, -1, -1);
    const tess_clifford_arrays y = arrays_of(b, right_of(b), -1, -1, -1, -1);
    const tess_clifford_arrays both =
        arrays_of(b, BENCH_GATED_X, BENCH_GATED_Y, BENCH_WEIGHT, -1, -1);
    const tess_clifford_arrays o = arrays_of(b, BENCH_PRODUCT, -1, -1, -1, -1);
    TESS_TRY(forward_step(b, &s->gate, &x, BENCH_GATED_X));
    TESS_TRY(forward_step(b, &s->gate, &y, BENCH_GATED_Y));
    TESS_TRY(forward_step(b, &s->product, &both, BENCH_PRODUCT));
    return forward_step(b, &s->norm, &o, BENCH_Z);
}

static tess_status separate_backward(bench *b)
{
    const bench_steps *s = &b->steps;
    const tess_clifford_arrays x = arrays_of(b, BENCH_X, -1, -1, -1, -1);
    const tess_clifford_arrays y = arrays_of(b, right_of(b), -1, -1, -1, -1);
    const tess_clifford_arrays both =
        arrays_of(b, BENCH_GATED_X, BENCH_GATED_Y, BENCH_WEIGHT, -1, -1);
    const tess_clifford_arrays o = arrays_of(b, BENCH_PRODUCT, -1, -1, -1, -1);
    const tess_clifford_arrays h = arrays_of(b, BENCH_H, -1, -1, -1, -1);
    const tess_clifford_arrays gated =
        arrays_of(b, BENCH_GGATED_X, BENCH_GGATED_Y, BENCH_GWEIGHT, -1, -1);
    const tess_clifford_arrays gx = arrays_of(b, BENCH_GX, -1, -1, -1, -1);
    const tess_clifford_arrays gy = arrays_of(b, BENCH_GY, -1, -1, -1, -1);
    TESS_TRY(backward_step(b, &s->norm, &o, BENCH_GZ, &h));
    TESS_TRY(backward_step(b, &s->product, &both, BENCH_H, &gated));
    TESS_TRY(backward_step(b, &s->gate, &x, BENCH_GGATED_X, &gx));
    TESS_TRY(backward_step(b, &s->gate, &y, BENCH_GGATED_Y, &gy));
    if (!s->has_linear) {
        return TESS_OK;
    }
    // The sum of the two gradients of x is left out: h takes the second.
    const tess_clifford_arrays in = arrays_of(b, BENCH_X, -1, -1, BENCH_LINEAR_WEIGHT, BENCH_BIAS);
    const tess_clifford_arrays gradients =
        arrays_of(b, BENCH_H, -1, -1, BENCH_GLINEAR_WEIGHT, BENCH_GBIAS);
    return backward_step(b, &s->linear, &in, BENCH_GY, &gradients);
}

static tess_status run_pass(bench *b)
{
    b->set = (b->set + 1) % b->memory.n_set;
    if (!b->is_separate) {
        return run_whole(b);
    }
    TESS_TRY(separate_forward(b));
    return b->is_backward ? separate_backward(b) : TESS_OK;
}

static tess_status time_group(bench *b, int n_call, double *seconds)
{
    const int64_t start = tess_now_ns();
    for (int i = 0; i < n_call; i++) {
        TESS_TRY(run_pass(b));
    }
    TESS_TRY(b->memory.device->backend->finish(b->memory.queue));
    *seconds = (double)(tess_now_ns() - start) * 1e-9 / n_call;
    return TESS_OK;
}

static tess_status time_pass(bench *b, int is_separate, int is_backward, double seconds,
                             int32_t *n_sample, double *median)
{
    double samples[MAX_SAMPLE];
    double once = 0;
    b->is_separate = is_separate;
    b->is_backward = is_backward;
    TESS_TRY(time_group(b, b->memory.n_set, &once));
    TESS_TRY(time_group(b, b->memory.n_set, &once));
    const double calls = group_s / (once + 1e-9);
    const int n_call = calls < 1 ? 1 : calls > 10000 ? 10000 : (int)calls + 1;
    const int64_t end = tess_now_ns() + (int64_t)(seconds * 1e9);
    *n_sample = 0;
    while (*n_sample < MIN_SAMPLE || (tess_now_ns() < end && *n_sample < MAX_SAMPLE)) {
        TESS_TRY(tess_context_check_cancel(b->ctx));
        TESS_TRY(time_group(b, n_call, &samples[(*n_sample)++]));
    }
    *median = tess_median(samples, *n_sample);
    return TESS_OK;
}

static tess_status make_steps(const tess_clifford_op *op, bench_steps *s)
{
    const tess_clifford_metric *metric = &op->algebra.metric;
    tess_clifford_config plain = op->config;
    plain.activation = TESS_CLIFFORD_IDENTITY;
    plain.normalize = 0;
    s->whole = *op;
    s->has_linear = op->kind == TESS_CLIFFORD_LAYER || op->kind == TESS_CLIFFORD_FC_LAYER;
    s->has_product =
        s->has_linear || op->kind == TESS_CLIFFORD_SGP || op->kind == TESS_CLIFFORD_FCGP;
    const int is_full = op->kind == TESS_CLIFFORD_FCGP || op->kind == TESS_CLIFFORD_FC_LAYER;
    TESS_TRY(tess_clifford_op_init(&s->product, sizeof s->product,
                                   is_full ? TESS_CLIFFORD_FCGP : TESS_CLIFFORD_SGP, metric, &plain,
                                   op->path_mask));
    TESS_TRY(tess_clifford_op_init(&s->gate, sizeof s->gate, TESS_CLIFFORD_GATE, metric,
                                   &op->config, op->path_mask));
    TESS_TRY(tess_clifford_op_init(&s->norm, sizeof s->norm, TESS_CLIFFORD_NORM, metric,
                                   &op->config, op->path_mask));
    return tess_clifford_op_init(&s->linear, sizeof s->linear, TESS_CLIFFORD_LINEAR, metric,
                                 &op->config, op->path_mask);
}

// The largest workspace any step wants.
static tess_status take_workspace(bench *b, uint64_t *whole_bytes)
{
    const bench_steps *s = &b->steps;
    const tess_clifford_arrays in = inputs_of(b, 0);
    const tess_clifford_arrays left =
        arrays_of(b, BENCH_X, -1, -1, BENCH_LINEAR_WEIGHT, BENCH_BIAS);
    const tess_clifford_arrays one = arrays_of(b, BENCH_X, -1, -1, -1, -1);
    const tess_clifford_arrays both =
        arrays_of(b, BENCH_GATED_X, BENCH_GATED_Y, BENCH_WEIGHT, -1, -1);
    const struct {
        const tess_clifford_op *op;
        const tess_clifford_arrays *in;
        int is_used;
    } rows[] = {{&s->whole, &in, 1},
                {&s->gate, &one, s->has_product},
                {&s->norm, &one, s->has_product},
                {&s->product, &both, s->has_product},
                {&s->linear, &left, s->has_linear}};
    uint64_t most = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int pass = TESS_CLIFFORD_FORWARD; rows[i].is_used && pass <= TESS_CLIFFORD_BACKWARD;
             pass++) {
            uint64_t bytes = 0;
            TESS_TRY(tess_clifford_workspace(b->ctx, rows[i].op, (tess_clifford_pass)pass,
                                             rows[i].in, &bytes));
            most = bytes > most ? bytes : most;
        }
        *whole_bytes = i == 0 ? most : *whole_bytes;
    }
    return bench_memory_workspace(&b->memory, (size_t)most);
}

// Bytes in memory at once, and least traffic and flops.
static void count_costs(const bench *b, uint64_t workspace, tess_clifford_timing *t)
{
    const bench_steps *s = &b->steps;
    const size_t *bytes = b->memory.bytes;
    const tess_clifford_algebra *algebra = &s->whole.algebra;
    uint64_t total = 0;
    uint64_t between = 0;
    for (int what = 0; what < BENCH_WORKSPACE; what++) {
        // A layer's y is no input: its place is taken for the separate passes alone.
        const int is_between = what >= BENCH_GATED_X || (s->has_linear && what == BENCH_GY);
        const int is_spare = s->has_linear && what == BENCH_Y;
        total += is_between || is_spare ? 0 : bytes[what];
        between += is_between ? bytes[what] : 0;
    }
    t->memory_bytes = total + workspace;
    t->separate_memory_bytes = s->has_product ? total + between + bytes[BENCH_WORKSPACE] : 0;
    const double weights =
        (double)(bytes[BENCH_WEIGHT] + bytes[BENCH_LINEAR_WEIGHT] + bytes[BENCH_BIAS]);
    const double mv = (double)bytes[BENCH_X];
    const int has_y = s->has_product && !s->has_linear;
    t->forward_bytes = mv * (2 + has_y) + weights;
    t->forward_backward_bytes = t->forward_bytes + mv * (3 + 2 * has_y) + 2 * weights;
    const double product = 2.0 * (double)t->n_row * (double)t->n_feature * (double)t->n_feature;
    const int is_full = s->product.kind == TESS_CLIFFORD_FCGP && s->has_product;
    const int is_linear = s->has_linear || s->whole.kind == TESS_CLIFFORD_LINEAR;
    t->forward_flops =
        product * ((is_full ? algebra->n_pair : 0) + (is_linear ? algebra->n_component : 0));
    t->forward_backward_flops = 3 * t->forward_flops;
}

static tess_status measure(bench *b, double seconds, tess_clifford_timing *t)
{
    uint64_t workspace = 0;
    TESS_TRY(take_workspace(b, &workspace));
    count_costs(b, workspace, t);
    TESS_TRY(time_pass(b, 0, 0, seconds, &t->n_sample, &t->forward_s));
    TESS_TRY(time_pass(b, 0, 1, seconds, &t->n_sample, &t->forward_backward_s));
    if (!b->steps.has_product) {
        return TESS_OK;
    }
    int32_t n_sample = 0;
    TESS_TRY(time_pass(b, 1, 0, seconds, &n_sample, &t->separate_forward_s));
    TESS_TRY(time_pass(b, 1, 1, seconds, &n_sample, &t->separate_forward_backward_s));
    t->n_sample = n_sample < t->n_sample ? n_sample : t->n_sample;
    return TESS_OK;
}

tess_status tess_clifford_measure(tess_context *ctx, const tess_clifford_op *op, tess_dtype dtype,
                                  int64_t n_row, int64_t n_feature, double seconds,
                                  tess_clifford_timing *timing, size_t struct_size)
{
    if (!ctx || !op || !timing) {
        TESS_FAIL(TESS_E_ARGUMENT, "clifford measure: ctx, op and timing must not be NULL");
    }
    if (dtype != TESS_F32 && dtype != TESS_F64 && dtype != TESS_BF16 && dtype != TESS_F16) {
        TESS_FAIL(TESS_E_DTYPE, "clifford measure: dtype %s, expected f32, f64, bf16 or f16",
                  tess_dtype_name(dtype));
    }
    if (n_row < 1 || n_feature < 1 || !(seconds > 0)) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "clifford measure: %lld rows, %lld features, %g s; all must be positive",
                  (long long)n_row, (long long)n_feature, seconds);
    }
    tess_clifford_timing t = {.struct_size = sizeof t, .n_row = n_row, .n_feature = n_feature};
    bench b = {.ctx = ctx};
    TESS_TRY(make_steps(op, &b.steps));
    TESS_TRY(bench_memory_create(ctx, op, dtype, n_row, n_feature, &b.memory));
    const tess_status status = measure(&b, seconds, &t);
    bench_memory_destroy(&b.memory);
    TESS_TRY(status);
    tess_struct_init(timing, struct_size, &t, sizeof t);
    return TESS_OK;
}
