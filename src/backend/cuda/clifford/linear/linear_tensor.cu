// Stage clifford.linear with the matrix units: what it can take, how scratch is laid out, and the
// order of launches. See linear_tensor.h.

#include "backend/cuda/clifford/linear/linear.h"
#include "backend/cuda/clifford/linear/linear_tensor.h"
#include "backend/cuda/level.h"

namespace
{

// Below this the copies cost more than the product. By features alone: a row's result must not
// depend on how many rows there are.
constexpr int64_t least_features = 32;
constexpr int64_t sums_tile = 128;
constexpr int64_t sums_rows = 128;
constexpr int64_t sums_blocks = 256;       // fill a large device once
constexpr int64_t chunk_most_rows = 16384; // longer f32 sums in the matrix units lose bits
constexpr int64_t chunk_least_rows_sums = 256;

// f32 to all its bits: a second copy has the lower ones.
bool is_exact(const tess_cl_problem &p)
{
    return p.dtype == TESS_F32 && p.precision != TESS_CLIFFORD_HIGH;
}

int64_t padded(int64_t n)
{
    return (n + 7) / 8 * 8;
}

// 16-bit activations are read in place where their rows are dense and aligned.
bool in_place(const tess_cl_problem &p, const tess_cl_view &view)
{
    return p.dtype != TESS_F32 && view.stride[2] == 1 && view.stride[1] % 8 == 0 &&
           view.stride[0] % 8 == 0;
}

bool is_aligned(const tess_cl_problem &p, const tess_cl_view &view)
{
    return !in_place(p, view) || reinterpret_cast<uintptr_t>(view.data) % 16 == 0;
}

// Hands out 256-byte aligned parts; with base NULL it only counts.
struct arena {
    char *base;
    size_t used;

    void *take(int64_t bytes)
    {
        void *part = base == nullptr ? nullptr : base + used;
        used += (size_t(bytes) + 255) / 256 * 256;
        return part;
    }
};

// Everything that a pass puts into scratch.
struct tensor_plan {
    clifford_weights weight;
    clifford_matrix x, grad_out;
    float *partial;
    int64_t n_chunk, chunk;
};

clifford_matrix place_matrix(arena &memory, const tess_cl_problem &p, const tess_cl_view &view,
                             int64_t n_inner)
{
    if (in_place(p, view)) {
        return {view.data, view.stride[0], view.stride[1], nullptr, nullptr};
    }
    const int64_t pitch = padded(n_inner);
    const int64_t n_row = p.n_row * p.algebra->n_component;
    clifford_matrix matrix = {};
    matrix.data = memory.take(n_row * pitch * 2);
    matrix.stride = p.n_row * pitch;
    matrix.pitch = pitch;
    if (p.dtype == TESS_F32) {
        matrix.exponent = static_cast<int32_t *>(memory.take(n_row * int64_t(sizeof(int32_t))));
    }
    if (is_exact(p)) {
        matrix.low = memory.take(n_row * pitch * 2);
    }
    return matrix;
}

void cut_rows(const tess_cl_problem &p, tensor_plan &plan)
{
    const int64_t tiles =
        ((p.n_in - 1) / sums_tile + 1) * ((p.n_out - 1) / sums_tile + 1) * p.algebra->n_component;
    int64_t count = sums_blocks / tiles;
    const int64_t most = (p.n_row - 1) / chunk_least_rows_sums + 1;
    const int64_t least = (p.n_row - 1) / chunk_most_rows + 1;
    count = count > most ? most : count;
    count = count < least ? least : count;
    plan.chunk = ((p.n_row - 1) / count / sums_rows + 1) * sums_rows;
    plan.n_chunk = (p.n_row - 1) / plan.chunk + 1;
}

tensor_plan make_plan(arena &memory, const tess_stage_clifford_linear &a)
{
    const tess_cl_problem &p = a.problem;
    const bool forward = p.pass == TESS_CLIFFORD_FORWARD;
    const int64_t n_inner = forward ? p.n_in : p.n_out;
    const int64_t columns = clifford_fours_columns(forward ? p.n_out : p.n_in) * p.algebra->n_grade;
    tensor_plan plan = {};
    plan.weight.pitch = padded(n_inner);
    plan.weight.data = memory.take(columns * plan.weight.pitch * 2);
    plan.weight.factor = static_cast<float *>(memory.take(columns * int64_t(sizeof(float))));
    if (is_exact(p)) {
        plan.weight.low = memory.take(columns * plan.weight.pitch * 2);
    }
    plan.x = place_matrix(memory, p, a.x, p.n_in);
    if (!forward) {
        plan.grad_out = place_matrix(memory, p, a.grad_out, p.n_out);
        cut_rows(p, plan);
        plan.partial = static_cast<float *>(memory.take(plan.n_chunk * p.algebra->n_component *
                                                        p.n_in * p.n_out * int64_t(sizeof(float))));
    }
    return plan;
}

void add_copy(clifford_prepare_args &args, const tess_cl_problem &p, const tess_cl_view &from,
              const clifford_matrix &to, int64_t n_inner)
{
    if (!in_place(p, from)) {
        args.copy[args.n_copy++] = {from, to, n_inner};
    }
}

// Which copies are to be made before anything is multiplied.
struct needed {
    bool weight, x, grad_out;
};

cudaError_t prepare(cudaStream_t stream, const tess_stage_clifford_linear &a,
                    const tensor_plan &plan, const needed &need, const clifford_bias_sums &bias)
{
    const tess_cl_problem &p = a.problem;
    const bool forward = p.pass == TESS_CLIFFORD_FORWARD;
    clifford_prepare_args args = {};
    if (need.weight) {
        args.weight = a.weight;
        if (!forward) {
            args.weight.stride[1] = a.weight.stride[2];
            args.weight.stride[2] = a.weight.stride[1];
        }
    }
    args.weight_to = plan.weight;
    args.n_inner = forward ? p.n_in : p.n_out;
    args.n_outer = forward ? p.n_out : p.n_in;
    args.n_grade = p.algebra->n_grade;
    args.n_row = p.n_row * p.algebra->n_component;
    args.component_rows = p.n_row;
    if (need.x) {
        add_copy(args, p, a.x, plan.x, p.n_in);
    }
    if (need.grad_out) {
        add_copy(args, p, a.grad_out, plan.grad_out, p.n_out);
    }
    args.bias = bias;
    return clifford_linear_prepare(stream, p.dtype, p.weight_dtype, args);
}

clifford_rows_args rows_of(const tess_stage_clifford_linear &a, const tensor_plan &plan)
{
    const tess_cl_problem &p = a.problem;
    const bool forward = p.pass == TESS_CLIFFORD_FORWARD;
    clifford_rows_args args = {};
    args.a = forward ? plan.x : plan.grad_out;
    args.from = forward ? a.x : a.grad_out;
    args.w = plan.weight;
    args.c = forward ? a.out : a.grad_x;
    args.n_i = p.n_row;
    args.n_j = forward ? p.n_out : p.n_in;
    args.n_l = forward ? p.n_in : p.n_out;
    args.n_component = p.algebra->n_component;
    args.n_grade = p.algebra->n_grade;
    for (int k = 0; k < args.n_component; k++) {
        args.grade[k] = p.algebra->grade[k];
    }
    if (forward) {
        args.bias = a.bias.data;
        args.stride_bias = a.bias.stride[0];
        args.bias_is_f32 = p.weight_dtype == TESS_F32;
        args.bias_all = p.bias_mode == TESS_CLIFFORD_BIAS_ALL;
    } else {
        args.add = a.add_to_grad_x != 0;
    }
    const uintptr_t pair_bytes = p.dtype == TESS_F32 ? 8 : 4;
    args.pairs = args.c.stride[2] == 1 && args.n_j % 2 == 0 && args.c.stride[0] % 2 == 0 &&
                 args.c.stride[1] % 2 == 0 &&
                 reinterpret_cast<uintptr_t>(args.c.data) % pair_bytes == 0;
    return args;
}

cudaError_t sum_weights(cudaStream_t stream, const tess_stage_clifford_linear &a,
                        const tensor_plan &plan, const clifford_bias_sums &bias)
{
    const tess_cl_problem &p = a.problem;
    const clifford_sums_args args = {
        plan.x,       plan.grad_out, plan.partial,           p.n_row, p.n_in, p.n_out,
        plan.n_chunk, plan.chunk,    p.algebra->n_component,
    };
    const cudaError_t error = clifford_linear_group_sums_take(args)
                                  ? clifford_linear_group_sums(stream, p.dtype, args)
                                  : clifford_linear_sums(stream, p.dtype, args);
    return error == cudaSuccess
               ? clifford_linear_gather(stream, a, plan.partial, plan.n_chunk, bias)
               : error;
}

} // namespace

bool clifford_linear_tensor_takes(const tess_cl_problem &p)
{
    return p.dtype != TESS_F64 && p.n_in >= least_features && p.n_out >= least_features &&
           tess_cuda_level_here() >= TESS_CUDA_MATRIX;
}

size_t clifford_linear_tensor_scratch(const tess_stage_clifford_linear &a)
{
    arena memory = {nullptr, 0};
    (void)make_plan(memory, a);
    return memory.used;
}

bool clifford_linear_tensor_aligned(const tess_stage_clifford_linear &a)
{
    const tess_cl_problem &p = a.problem;
    return is_aligned(p, a.x) && (p.pass == TESS_CLIFFORD_FORWARD || is_aligned(p, a.grad_out));
}

cudaError_t clifford_linear_tensor(cudaStream_t stream, const tess_stage_clifford_linear &a,
                                   const clifford_bias_sums &bias)
{
    const bool rows = a.problem.pass == TESS_CLIFFORD_FORWARD || a.grad_x.data != nullptr;
    const bool sums = a.problem.pass != TESS_CLIFFORD_FORWARD && a.grad_weight.data != nullptr;
    if (!rows && !sums) {
        return bias.from == nullptr ? cudaSuccess
                                    : clifford_linear_grad_bias(stream, a.problem, bias);
    }
    arena memory = {static_cast<char *>(a.problem.scratch), 0};
    tensor_plan plan = make_plan(memory, a);
    const tess_cl_problem &p = a.problem;
    const bool forward = p.pass == TESS_CLIFFORD_FORWARD;
    clifford_rows_args product = rows_of(a, plan);
    const bool by_groups = rows && clifford_linear_groups_take(p.dtype, product);
    const bool by_f32 = rows && p.dtype == TESS_F32 && clifford_linear_f32_takes(product);
    const bool held = rows && p.dtype == TESS_F32 && !by_f32 && clifford_linear_held_takes(product);
    const bool converts = by_f32 || held;
    plan.weight.by_fours = by_f32;
    // What converts its source needs no copy of it, and makes the one that sums need where it can.
    const bool copies = sums && (held || (by_f32 && clifford_linear_f32_copies(product)));
    const bool needs_copy = copies ? false : sums || !converts;
    cudaError_t error =
        prepare(stream, a, plan, {rows, forward ? needs_copy : sums, !forward && needs_copy}, bias);
    if (error == cudaSuccess && rows) {
        product.a.data = converts && !copies ? nullptr : product.a.data;
        error = by_f32      ? clifford_linear_f32(stream, product)
                : held      ? clifford_linear_held(stream, product)
                : by_groups ? clifford_linear_groups(stream, p.dtype, product)
                            : clifford_linear_rows(stream, p.dtype, product);
    }
    if (error == cudaSuccess && sums) {
        error = sum_weights(stream, a, plan, bias);
    } else if (error == cudaSuccess && bias.from != nullptr) {
        error = clifford_linear_bias_finish(stream, p, bias);
    }
    return error;
}
