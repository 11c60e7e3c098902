// Stage clifford.fcgp on tensor cores: the order of the kernels and their scratch memory.

#include "backend/cuda/clifford_fcgp_mma.cuh"

namespace
{

using namespace clifford_fcgp;

template <typename A>
extents extents_of(const tess_cl_problem &p)
{
    // In two dimensions a block of the product has two blocks of columns.
    const int64_t columns = A::n_component == 4 ? 2 : 1;
    return {p.n_row,
            p.n_in,
            p.n_out,
            blocks_of(p.n_row, row_block),
            int(blocks_of(p.n_in, step_size)),
            int(blocks_of(p.n_out, step_size)),
            int(blocks_of(p.n_out, col_block * columns) * columns),
            int(blocks_of(p.n_in, in_block)),
            {1, 1},
            {1, 1},
            1,
            1};
}

struct scratch {
    packed data;
    float *squares, *product, *statistics, *partial;
    size_t bytes;
};

// With problem.scratch NULL it only counts.
template <typename A>
scratch scratch_of(const tess_stage_clifford_fcgp &a, const extents &e)
{
    const tess_cl_problem &p = a.problem;
    const bool forward = p.pass == TESS_CL_FORWARD;
    const bool product = forward || needs_product(a);
    const int64_t rows = e.row_blocks * row_block;
    const int64_t in = int64_t(e.in_steps) * step_size;
    const int64_t out = int64_t(e.out_steps) * step_size;
    arena parts(p.scratch);
    scratch s = {};
    s.data.inputs = parts.take<__half>(rows * in * 2 * A::n_component);
    s.data.input_exponent = parts.take<int>(rows);
    s.data.largest_weight = parts.take<unsigned>(1);
    s.data.largest_exponent = parts.take<int>(1);
    if (product) {
        s.data.weights = parts.take<__half>(int64_t(e.col_blocks) * col_block * in * A::n_path);
        s.squares = parts.take<float>(int64_t(e.col_blocks) * A::n_grade * e.n_row);
    }
    if (forward ? p.dtype != TESS_F32 : product) {
        s.product = parts.take<float>(A::n_component * e.n_row * e.n_out);
    }
    if (!forward) {
        s.data.gradients = parts.take<__half>(rows * out * A::n_component);
        s.data.gradients_by_row = parts.take<__half>(rows * out * A::n_component);
        s.data.gradient_exponent = parts.take<int>(rows);
        s.data.transposed = parts.take<__half>(int64_t(e.in_blocks) * in_block * out * A::n_path);
        s.statistics = parts.take<float>(product ? A::n_grade * e.n_row : 0);
        const int64_t splits = weight_splits<A>(e);
        s.partial = parts.take<float>(splits > 1 ? splits * A::n_path * e.n_in * e.n_out : 0);
    }
    s.bytes = parts.used();
    return s;
}

template <typename A, typename T>
cudaError_t forward(cudaStream_t stream, const tess_stage_clifford_fcgp &a, const extents &e,
                    const scratch &s)
{
    const tess_cl_problem &p = a.problem;
    const view<T> out = view_of<T>(a.out);
    float *const statistics = static_cast<float *>(a.statistics);
    view<float> product = contiguous(s.product, p.n_row, p.n_out);
    if constexpr (std::is_same_v<T, float>) {
        product = out;
    }
    cudaError_t error = pack_inputs<A, T>(stream, a, e, s.data);
    error = error != cudaSuccess ? error : pack_weights<A>(stream, a, e, s.data);
    error =
        error != cudaSuccess ? error : multiply_product<A>(stream, e, s.data, product, s.squares);
    // Without a norm, f32 is in its place already.
    if (error != cudaSuccess ||
        (std::is_same_v<T, float> && !p.normalize && statistics == nullptr)) {
        return error;
    }
    return finish_norm<A, T>(stream, p, e, product, s.squares, out, statistics);
}

template <typename A, typename T>
cudaError_t backward(cudaStream_t stream, const tess_stage_clifford_fcgp &a, const extents &e,
                     const scratch &s)
{
    const tess_cl_problem &p = a.problem;
    const float *statistics = static_cast<const float *>(a.statistics);
    view<float> result = {};
    cudaError_t error = pack_inputs<A, T>(stream, a, e, s.data);
    error = error != cudaSuccess ? error : pack_weights<A>(stream, a, e, s.data);
    if (s.product != nullptr) {
        result = contiguous(s.product, p.n_row, p.n_out);
        statistics = s.statistics;
        error = error != cudaSuccess ? error
                                     : multiply_product<A>(stream, e, s.data, result, s.squares);
        error = error != cudaSuccess
                    ? error
                    : finish_norm<A, float>(stream, p, e, result, s.squares, result, s.statistics);
    }
    const view<const float> saved = {result.data,
                                     {result.stride[0], result.stride[1], result.stride[2]}};
    error = error != cudaSuccess ? error
                                 : pack_gradients<A, T>(stream, a, e, s.data, saved, statistics);
    if (error == cudaSuccess && a.grad_weight.data != nullptr) {
        error = multiply_weights<A>(stream, a, e, s.data, s.partial);
    }
    if (error == cudaSuccess && (a.grad_x.data != nullptr || a.grad_y.data != nullptr)) {
        error = multiply_data<A, T>(stream, a, e, s.data);
    }
    return error;
}

template <typename A, typename T>
cudaError_t launch(cudaStream_t stream, const tess_stage_clifford_fcgp &a)
{
    const extents e = extents_of<A>(a.problem);
    const scratch s = scratch_of<A>(a, e);
    return a.problem.pass == TESS_CL_FORWARD ? forward<A, T>(stream, a, e, s)
                                             : backward<A, T>(stream, a, e, s);
}

template <typename A>
cudaError_t launch_type(cudaStream_t stream, const tess_stage_clifford_fcgp &a)
{
    switch (a.problem.dtype) {
    case TESS_F16:
        return launch<A, __half>(stream, a);
    case TESS_BF16:
        return launch<A, __nv_bfloat16>(stream, a);
    default:
        return launch<A, float>(stream, a);
    }
}

} // namespace

namespace clifford_fcgp
{

bool mma_takes(const tess_stage_clifford_fcgp &a)
{
    const tess_cl_problem &p = a.problem;
    const tess_cl_algebra &algebra = *p.algebra;
    const bool wants = p.dtype == TESS_F16 || p.dtype == TESS_BF16 ||
                       (p.dtype == TESS_F32 && p.precision == TESS_CL_HIGH);
    if (!wants || (algebra.n_component != 4 && algebra.n_component != 8)) {
        return false;
    }
    for (int k = 0; k < algebra.n_component; k++) {
        if (algebra.eta[k] != 1) {
            return false; // some symbol does not square to +1
        }
    }
    // Blocks of a launch and steps are counted in 32 bits.
    constexpr int64_t most = INT64_C(1) << 30;
    return p.n_in < most && p.n_out < most &&
           blocks_of(p.n_row, row_block) <
               most / (blocks_of(p.n_in, in_block) + blocks_of(p.n_out, col_block) + 2);
}

size_t mma_scratch_bytes(const tess_stage_clifford_fcgp &a)
{
    tess_stage_clifford_fcgp counted = a;
    counted.problem.scratch = nullptr;
    return a.problem.algebra->n_component == 4
               ? scratch_of<cl20>(counted, extents_of<cl20>(a.problem)).bytes
               : scratch_of<cl30>(counted, extents_of<cl30>(a.problem)).bytes;
}

cudaError_t mma_launch(cudaStream_t stream, const tess_stage_clifford_fcgp &a)
{
    return a.problem.algebra->n_component == 4 ? launch_type<cl20>(stream, a)
                                               : launch_type<cl30>(stream, a);
}

} // namespace clifford_fcgp
