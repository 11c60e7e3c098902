// Devices with memory of their own, played by the CPU: copies, streams, missing stages.
#include "clifford_run.h"

#include "runtime/context.h"
#include "stage/clifford.h"

// What the backend between the system and the CPU's saw.
static struct {
    const tess_backend *cpu;
    int n_copy, n_alloc, n_finish, n_adopt, n_enqueue;
    int has_no_layer, fails_at;
    void *stream;
} seen;

static tess_status copy(tess_backend_queue *queue, void *dst, tess_space dst_space, const void *src,
                        tess_space src_space, size_t bytes)
{
    seen.n_copy++;
    return seen.cpu->copy(queue, dst, dst_space, src, src_space, bytes);
}

static tess_status memory_alloc(tess_backend_device *device, tess_space space, size_t bytes,
                                void **out)
{
    seen.n_alloc++;
    return seen.cpu->memory_alloc(device, space, bytes, out);
}

static tess_status finish(tess_backend_queue *queue)
{
    seen.n_finish++;
    return seen.cpu->finish(queue);
}

static tess_status supports(tess_backend_device *device, int32_t stage, const void *args)
{
    if (stage == TESS_STAGE_CLIFFORD_LAYER && seen.has_no_layer) {
        return TESS_E_UNSUPPORTED;
    }
    return seen.cpu->supports(device, stage, args);
}

static tess_status enqueue(tess_backend_queue *queue, int32_t stage, const void *args,
                           size_t args_bytes)
{
    if (++seen.n_enqueue == seen.fails_at) {
        return TESS_E_DEVICE;
    }
    return seen.cpu->enqueue(queue, stage, args, args_bytes);
}

static tess_status queue_adopt(tess_backend_device *device, void *stream, tess_backend_queue **out)
{
    seen.n_adopt++;
    seen.stream = stream;
    return seen.cpu->queue_create(device, out);
}

static tess_backend table;

// As a GPU, which needs room for a product that is made again.
static size_t scratch_bytes(tess_backend_device *device, int32_t stage, const void *args)
{
    const size_t bytes = seen.cpu->scratch_bytes(device, stage, args);
    if (stage != TESS_STAGE_CLIFFORD_FCGP) {
        return bytes;
    }
    const tess_stage_clifford_fcgp *fcgp = args;
    const bool has_result = fcgp->saved_out.data && fcgp->statistics;
    return bytes + (has_result ? 0 : 4096);
}

// A context whose device seems to have memory of its own.
static tess_context *open_device(void)
{
    tess_context *ctx = unit_context(2, 0);
    memset(&seen, 0, sizeof seen);
    seen.cpu = ctx->cpu.backend;
    table = *seen.cpu;
    table.copy = copy;
    table.memory_alloc = memory_alloc;
    table.finish = finish;
    table.scratch_bytes = scratch_bytes;
    table.supports = supports;
    table.enqueue = enqueue;
    table.queue_adopt = queue_adopt;
    ctx->other = ctx->cpu;
    ctx->other.backend = &table;
    ctx->other.shares_host_memory = false;
    ctx->device = &ctx->other;
    return ctx;
}

static void close_device(tess_context *ctx)
{
    if (ctx->other.adopted) {
        seen.cpu->queue_destroy(ctx->other.adopted);
    }
    memset(&ctx->other, 0, sizeof ctx->other);
    ctx->device = &ctx->cpu;
    tess_context_destroy(ctx);
    cl_free_all();
}

static naive problem_of(uint64_t *seed, const tess_clifford_op *op, int64_t n)
{
    const tess_clifford_algebra *a = &op->algebra;
    naive v = {.op = op, .n_row = 6, .n_in = n, .n_out = n};
    v.x = cl_random(seed, a->n_component * 6 * n);
    v.gz = cl_random(seed, a->n_component * 6 * n);
    v.y = op->kind == TESS_CLIFFORD_SGP || op->kind == TESS_CLIFFORD_FCGP
              ? cl_random(seed, a->n_component * 6 * n)
              : NULL;
    if (op->kind >= TESS_CLIFFORD_SGP && op->kind != TESS_CLIFFORD_LINEAR) {
        v.w = cl_random(seed, a->n_path * n * n);
    }
    if (op->kind >= TESS_CLIFFORD_LINEAR) {
        v.linear_w = cl_random(seed, a->n_grade * n * n);
        v.bias = cl_random(seed, n);
    }
    naive_forward(&v);
    naive_backward(&v);
    return v;
}

static naive problem(uint64_t *seed, const tess_clifford_op *op)
{
    return problem_of(seed, op, 5);
}

static void host_arrays_go_up_and_down(void **state)
{
    (void)state;
    uint64_t seed = 1;
    tess_context *ctx = open_device();
    for (int kind = TESS_CLIFFORD_GATE; kind <= TESS_CLIFFORD_FC_LAYER; kind++) {
        const tess_clifford_op op = cl_op((tess_clifford_kind)kind, "+++", NULL);
        const naive v = problem(&seed, &op);
        for (int layout = 0; layout < CL_N_LAYOUT; layout++) {
            const cl_form form = {TESS_F64, TESS_F64, (cl_layout)layout, 1};
            const int n_copy = seen.n_copy;
            const cl_results r = cl_run(ctx, &v, &form);
            cl_check_results(&v, &form, &r, 10);
            assert_true(seen.n_copy > n_copy);
        }
        uint64_t bytes = 1;
        const cl_form form = {TESS_F64, TESS_F64, CL_CONTIGUOUS, 0};
        const tess_clifford_arrays in = cl_inputs(&v, &form);
        assert_ok(tess_clifford_workspace(ctx, &op, TESS_CLIFFORD_BACKWARD, &in, &bytes));
        assert_int_equal(bytes, 0); // the library's own
    }
    // Without rows the gradients of weights come down as zeros.
    const tess_clifford_op op = cl_op(TESS_CLIFFORD_SGP, "++", NULL);
    tess_array *x = cl_empty(TESS_F32, CL_CONTIGUOUS, 4, 1, 5);
    x->shape[1] = 0;
    tess_array *gw = cl_empty(TESS_F32, CL_GAPS, 5, 10, 0);
    const tess_clifford_arrays in = CL_ARRAYS(.x = x, .y = x, .weight = gw);
    tess_array *zeros = cl_empty(TESS_F32, CL_GAPS, 5, 10, 0);
    const tess_clifford_arrays gradients = CL_ARRAYS(.weight = zeros);
    assert_ok(tess_clifford_backward(ctx, &op, &in, x, NULL, &gradients, NULL));
    assert_true(cl_values(zeros)[49] == 0);
    close_device(ctx);
}

// Marks the arrays as the device's.
static void put_on_device(const tess_clifford_arrays *arrays)
{
    const tess_array *list[6] = {arrays->x,    arrays->y, arrays->weight, arrays->linear_weight,
                                 arrays->bias, arrays->z};
    for (int i = 0; i < 6; i++) {
        if (list[i]) {
            tess_array array = *list[i];
            array.space = TESS_SPACE_DEVICE;
            memcpy((void *)(uintptr_t)list[i], &array, sizeof array);
        }
    }
}

// On the caller's stream nothing is waited for, and with a workspace nothing is allocated.
static void streams_of_the_caller(void **state)
{
    (void)state;
    uint64_t seed = 2;
    int stream = 0;
    tess_context *ctx = open_device();
    tess_clifford_call call;
    tess_clifford_call_init(&call, sizeof call);
    call.has_stream = 1;
    call.stream = &stream;
    for (int kind = TESS_CLIFFORD_GATE; kind <= TESS_CLIFFORD_FC_LAYER; kind++) {
        const tess_clifford_op op = cl_op((tess_clifford_kind)kind, "++", NULL);
        const naive v = problem(&seed, &op);
        const cl_form form = {TESS_F32, TESS_F32, CL_CONTIGUOUS, 0};
        const tess_clifford_arrays in = cl_inputs(&v, &form);
        tess_array *z = cl_activation(&v, &form, 5, NULL);
        tess_array *gz = cl_activation(&v, &form, 5, v.gz);
        tess_array *gx = cl_activation(&v, &form, 5, NULL);
        const tess_clifford_arrays gradients = CL_ARRAYS(.x = gx);
        put_on_device(&in);
        put_on_device(&gradients);
        z->space = gz->space = TESS_SPACE_DEVICE;
        uint64_t forward = 0, backward = 0;
        assert_ok(tess_clifford_workspace(ctx, &op, TESS_CLIFFORD_FORWARD, &in, &forward));
        assert_ok(tess_clifford_workspace(ctx, &op, TESS_CLIFFORD_BACKWARD, &in, &backward));
        call.workspace_bytes = forward > backward ? forward : backward;
        char *room = cl_alloc((size_t)call.workspace_bytes + 256);
        call.workspace = room + (256 - (uintptr_t)room % 256) % 256;
        const int n_alloc = seen.n_alloc, n_finish = seen.n_finish;
        assert_ok(tess_clifford_forward(ctx, &op, &in, z, NULL, NULL, &call));
        assert_ok(tess_clifford_backward(ctx, &op, &in, gz, NULL, &gradients, &call));
        assert_int_equal(seen.n_alloc, n_alloc);
        assert_int_equal(seen.n_finish, n_finish);
        assert_close(z, v.z, 1e-6);
        assert_close(gx, v.gx, 2e-6);
    }
    assert_int_equal(seen.n_adopt, 1); // one queue for one stream
    assert_ptr_equal(seen.stream, &stream);
    close_device(ctx);
}

// With z and statistics at hand the product is not made again, and needs no room.
static void workspace_with_z(void **state)
{
    (void)state;
    uint64_t seed = 6;
    tess_context *ctx = open_device();
    const tess_clifford_op op = cl_op(TESS_CLIFFORD_FCGP, "++", NULL);
    const int64_t n = 24; // few features are computed in f64, from the inputs alone
    const naive v = problem_of(&seed, &op, n);
    const cl_form form = {TESS_F32, TESS_F32, CL_CONTIGUOUS, 0};
    tess_clifford_arrays in = cl_inputs(&v, &form);
    tess_array *z = cl_activation(&v, &form, n, v.z);
    tess_array *gz = cl_activation(&v, &form, n, v.gz);
    tess_array *gx = cl_activation(&v, &form, n, NULL);
    tess_array *statistics = cl_empty(TESS_F32, CL_CONTIGUOUS, op.algebra.n_grade, 6, 0);
    const tess_clifford_arrays gradients = CL_ARRAYS(.x = gx);
    put_on_device(&in);
    put_on_device(&gradients);
    z->space = gz->space = statistics->space = TESS_SPACE_DEVICE;
    assert_ok(tess_clifford_forward(ctx, &op, &in, z, statistics, NULL, NULL));
    uint64_t without = 0, with = 0;
    assert_ok(tess_clifford_workspace(ctx, &op, TESS_CLIFFORD_BACKWARD, &in, &without));
    in.z = z;
    assert_ok(tess_clifford_workspace(ctx, &op, TESS_CLIFFORD_BACKWARD, &in, &with));
    assert_true(with < without);
    tess_clifford_call call;
    tess_clifford_call_init(&call, sizeof call);
    char *room = cl_alloc((size_t)with + 256);
    call.workspace = room + (256 - (uintptr_t)room % 256) % 256;
    call.workspace_bytes = with;
    assert_ok(tess_clifford_backward(ctx, &op, &in, gz, statistics, &gradients, &call));
    assert_close(gx, v.gx, 2e-6);
    assert_fails(tess_clifford_backward(ctx, &op, &in, gz, NULL, &gradients, &call),
                 TESS_E_ARGUMENT, "expected at least");
    close_device(ctx);
}

// A workspace is enough for a forward pass whatever it is asked for, where f32 is computed in f64
// as well: with squares of both signs under norm clamp.
static void workspace_with_statistics(void **state)
{
    (void)state;
    static const tess_clifford_kind kinds[] = {TESS_CLIFFORD_NORM, TESS_CLIFFORD_SGP,
                                               TESS_CLIFFORD_LAYER};
    uint64_t seed = 7;
    tess_context *ctx = open_device();
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        tess_clifford_op op = cl_op(kinds[k], "+-", NULL);
        op.config.norm_metric = TESS_CLIFFORD_NORM_CLAMP;
        const naive v = problem_of(&seed, &op, 24);
        const cl_form form = {TESS_F32, TESS_F32, CL_CONTIGUOUS, 0};
        const tess_clifford_arrays in = cl_inputs(&v, &form);
        tess_array *z = cl_activation(&v, &form, 24, NULL);
        tess_array *statistics = cl_empty(TESS_F32, CL_CONTIGUOUS, op.algebra.n_grade, 6, 0);
        tess_clifford_call call;
        tess_clifford_call_init(&call, sizeof call);
        put_on_device(&in);
        z->space = statistics->space = TESS_SPACE_DEVICE;
        assert_ok(
            tess_clifford_workspace(ctx, &op, TESS_CLIFFORD_FORWARD, &in, &call.workspace_bytes));
        char *room = cl_alloc((size_t)call.workspace_bytes + 256);
        call.workspace = room + (256 - (uintptr_t)room % 256) % 256;
        assert_ok(tess_clifford_forward(ctx, &op, &in, z, statistics, NULL, &call));
        assert_close(z, v.z, 1e-6);
    }
    close_device(ctx);
}

// Another GPU's array, and a device that knows no streams of others.
static void what_does_not_fit(void **state)
{
    (void)state;
    tess_context *ctx = open_device();
    const tess_clifford_op op = cl_op(TESS_CLIFFORD_GATE, "++", NULL);
    tess_array *x = cl_empty(TESS_F32, CL_CONTIGUOUS, 4, 2, 3);
    tess_array *z = cl_empty(TESS_F32, CL_CONTIGUOUS, 4, 2, 3);
    const tess_clifford_arrays in = CL_ARRAYS(.x = x);
    x->space = z->space = TESS_SPACE_DEVICE;
    x->device = z->device = 1;
    assert_fails(tess_clifford_forward(ctx, &op, &in, z, NULL, NULL, NULL), TESS_E_SPACE,
                 "x: is on GPU 1, but the context works on");
    x->device = z->device = 0;
    tess_clifford_call call;
    tess_clifford_call_init(&call, sizeof call);
    call.has_stream = 1;
    table.queue_adopt = NULL;
    assert_fails(tess_clifford_forward(ctx, &op, &in, z, NULL, NULL, &call), TESS_E_UNSUPPORTED,
                 "stream");
    close_device(ctx);
}

static void layers_without_their_stage(void **state)
{
    (void)state;
    uint64_t seed = 3;
    tess_context *ctx = open_device();
    seen.has_no_layer = 1;
    const tess_clifford_op op = cl_op(TESS_CLIFFORD_LAYER, "+++", NULL);
    const naive v = problem(&seed, &op);
    const cl_form form = {TESS_F64, TESS_F64, CL_CONTIGUOUS, 0};
    const cl_results r = cl_run(ctx, &v, &form);
    cl_check_results(&v, &form, &r, 10);
    // The same where the caller does not keep the linear map's result.
    const tess_clifford_arrays in = cl_inputs(&v, &form);
    const tess_array *z = cl_activation(&v, &form, 5, NULL);
    assert_ok(tess_clifford_forward(ctx, &op, &in, z, NULL, NULL, NULL));
    assert_same_items(z, r.z);
    close_device(ctx);
}

// A failure on the way is reported, and the next call works.
static void failures_on_the_way(void **state)
{
    (void)state;
    uint64_t seed = 4;
    tess_context *ctx = open_device();
    const tess_clifford_op op = cl_op(TESS_CLIFFORD_FC_LAYER, "++", NULL);
    const naive v = problem(&seed, &op);
    const cl_form form = {TESS_F32, TESS_F32, CL_CONTIGUOUS, 0};
    const tess_clifford_arrays in = cl_inputs(&v, &form);
    const tess_array *gz = cl_activation(&v, &form, 5, v.gz);
    const tess_array *gx = cl_activation(&v, &form, 5, NULL);
    const tess_clifford_arrays gradients = CL_ARRAYS(.x = gx);
    for (int fails_at = 1; fails_at <= 3; fails_at++) {
        seen.n_enqueue = 0;
        seen.fails_at = fails_at;
        assert_int_equal(tess_clifford_backward(ctx, &op, &in, gz, NULL, &gradients, NULL),
                         TESS_E_DEVICE);
    }
    seen.fails_at = 0;
    assert_ok(tess_clifford_backward(ctx, &op, &in, gz, NULL, &gradients, NULL));
    assert_close(gx, v.gx, 2e-6);
    close_device(ctx);
}

// Cancelled contexts do nothing.
static void cancelled(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const tess_clifford_op op = cl_op(TESS_CLIFFORD_GATE, "++", NULL);
    const tess_array *x = cl_empty(TESS_F32, CL_CONTIGUOUS, 4, 2, 3);
    const tess_array *z = cl_empty(TESS_F32, CL_CONTIGUOUS, 4, 2, 3);
    const tess_clifford_arrays in = CL_ARRAYS(.x = x);
    tess_context_cancel(ctx);
    assert_int_equal(tess_clifford_forward(ctx, &op, &in, z, NULL, NULL, NULL), TESS_CANCELLED);
    tess_context_destroy(ctx);
    cl_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_arrays_go_up_and_down), cmocka_unit_test(streams_of_the_caller),
        cmocka_unit_test(workspace_with_z),           cmocka_unit_test(workspace_with_statistics),
        cmocka_unit_test(what_does_not_fit),          cmocka_unit_test(layers_without_their_stage),
        cmocka_unit_test(failures_on_the_way),        cmocka_unit_test(cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
