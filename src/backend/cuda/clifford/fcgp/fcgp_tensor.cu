// Stage clifford.fcgp on tensor cores: the order of the kernels and their scratch memory.
//
// Rows go through in chunks, so that what lies between the kernels stays in the second-level cache
// and scratch memory does not grow with the batch:
//   forward   x, y -> products of pairs -> their sums with the weights -> norm
//   backward  gradients of the norm -> gradients of the pairs -> those of x and y, and the products
//             again; with one scale for all rows -> gradients of the weights
// Every kernel starts while the one before ends, and waits for it before it touches memory other
// than what is older.

#include "backend/cuda/clifford/fcgp/fcgp.cuh"
#include "backend/cuda/clifford/fcgp/fcgp_multiply.cuh"
#include "backend/cuda/clifford/fcgp/fcgp_weights.cuh"

namespace
{

using namespace clifford_fcgp;
using clifford::fc_chunk;
using clifford::fc_kernels;

const fc_kernels *const generated[] = {&clifford::fc_cl20, &clifford::fc_cl30, &clifford::fc_cl301,
                                       &clifford::fc_cl13, &clifford::fc_cl41};

const fc_kernels *find_kernels(const tess_clifford_algebra &algebra)
{
    for (const fc_kernels *kernels : generated) {
        if (kernels->n_symbol == algebra.metric.n_symbol &&
            memcmp(kernels->metric, algebra.metric.square, size_t(kernels->n_symbol)) == 0) {
            return kernels;
        }
    }
    return nullptr;
}

int64_t item_bytes(int32_t dtype)
{
    return dtype == TESS_F32 ? 4 : 2;
}

// From the row on.
tess_cl_view from_row(const tess_cl_view &view, int64_t row, int32_t dtype)
{
    tess_cl_view rest = view;
    if (view.data != nullptr) {
        rest.data = static_cast<char *>(view.data) + row * view.stride[1] * item_bytes(dtype);
    }
    return rest;
}

// What a call wants of the backward pass, or of the forward pass.
struct wishes {
    bool product, inputs, weights;

    explicit wishes(const tess_stage_clifford_fcgp &a)
        : product(a.problem.pass == TESS_CLIFFORD_FORWARD || needs_product(a)),
          inputs(a.problem.pass != TESS_CLIFFORD_FORWARD &&
                 (a.grad_x.data != nullptr || a.grad_y.data != nullptr)),
          weights(a.problem.pass != TESS_CLIFFORD_FORWARD && a.grad_weight.data != nullptr)
    {
    }
};

// Everything that does not change from chunk to chunk. With problem.scratch NULL it only counts.
struct plan {
    cl_fc_chunks chunks;
    fc_chunk chunk; // scratch memory and sizes; views are those of the first chunk
    clifford::fc_weights weights;
    tess_cl_view grad_weight; // f32: the caller's, or scratch
    size_t bytes;
};

void plan_sizes(plan &made, const tess_cl_problem &p, int64_t n_pair)
{
    fc_chunk &c = made.chunk;
    c.n_in = int32_t(p.n_in);
    c.n_out = int32_t(p.n_out);
    c.in_pitch = cl_fc_pitch(p.n_in);
    c.out_pitch = cl_fc_pitch(p.n_out);
    made.chunks =
        cl_fc_chunks_of(p.n_row, n_pair * c.in_pitch * int64_t(sizeof(__half)), CL_FC_CHUNK_BYTES);
    c.n_row = made.chunks.rows;
    c.stride_pair = c.n_row * c.in_pitch;
    c.stride_gradient = c.n_row * c.out_pitch;
    c.sum_exponent = cl_fc_sum_exponent(p.n_out);
    c.dtype = c.out_dtype = c.saved_dtype = p.dtype;
    c.activation = p.activation;
    c.normalize = p.normalize;
    c.metric = p.norm_metric;
    c.eps = float(p.eps);
}

// Contiguous rows of f32 in scratch memory.
tess_cl_view f32_rows(arena &parts, int64_t n_layer, int64_t n_row, int64_t n)
{
    return {parts.take<float>(n_layer * n_row * n), {n_row * n, n, 1}};
}

void plan_scratch(plan &made, const tess_stage_clifford_fcgp &a, int64_t n_pair)
{
    const tess_cl_problem &p = a.problem;
    const tess_clifford_algebra &algebra = *p.algebra;
    const wishes wants(a);
    const bool forward = p.pass == TESS_CLIFFORD_FORWARD;
    fc_chunk &c = made.chunk;
    arena parts(p.scratch);
    c.pairs = parts.take<__half>(n_pair * c.stride_pair);
    c.left_exponent = parts.take<int>(c.n_row);
    c.right_exponent = parts.take<int>(c.n_row);
    c.weight_exponent = parts.take<int>(1);
    if (wants.product || wants.inputs) {
        made.weights.packed = parts.take<__half>(algebra.n_path * p.n_in * c.out_pitch);
        made.weights.partials = parts.take<uint32_t>(clifford::fc_weight_blocks);
    }
    if (!forward) {
        c.gradients = parts.take<__half>(algebra.n_component * c.stride_gradient);
        c.gradient_exponent = parts.take<int>(c.n_row);
        c.common_exponent = parts.take<int>(1);
    }
    if (wants.product && !(forward && p.dtype == TESS_F32)) {
        c.product = f32_rows(parts, algebra.n_component, c.n_row, p.n_out);
    }
    if (wants.product && !forward) {
        c.statistics = parts.take<float>(algebra.n_grade * c.n_row);
    }
    made.grad_weight = a.grad_weight;
    if (wants.weights && p.weight_dtype != TESS_F32) {
        made.grad_weight = f32_rows(parts, algebra.n_path, p.n_in, p.n_out);
    }
    made.bytes = parts.used();
}

plan plan_of(const tess_stage_clifford_fcgp &a)
{
    const tess_cl_problem &p = a.problem;
    const int64_t n_pair = p.algebra->n_pair;
    plan made = {};
    plan_sizes(made, p, n_pair);
    plan_scratch(made, a, n_pair);
    made.chunk.product_exponent = cl_fc_product_exponent(find_kernels(*p.algebra)->most_terms);
    clifford::fc_weights &w = made.weights;
    w.weight = a.weight;
    w.path_mask = p.path_mask;
    w.n_line = p.algebra->n_path * p.n_in;
    w.exponent = made.chunk.weight_exponent;
    w.out_pitch = made.chunk.out_pitch;
    w.n_in = int32_t(p.n_in);
    w.n_out = int32_t(p.n_out);
    return made;
}

// The chunk that starts at a row.
fc_chunk chunk_at(const plan &made, const tess_stage_clifford_fcgp &a, int64_t row)
{
    const tess_cl_problem &p = a.problem;
    fc_chunk c = made.chunk;
    c.n_row = p.n_row - row < c.n_row ? p.n_row - row : c.n_row;
    c.x = from_row(a.x, row, p.dtype);
    c.y = from_row(a.y, row, p.dtype);
    c.grad_out = from_row(a.grad_out, row, p.dtype);
    c.grad_x = from_row(a.grad_x, row, p.dtype);
    c.grad_y = from_row(a.grad_y, row, p.dtype);
    // The first kernel of the call follows one that we do not know.
    c.are_inputs_ready = row > 0 || made.weights.packed != nullptr;
    if (p.pass == TESS_CLIFFORD_BACKWARD && c.product.data != nullptr) {
        // The result is made again, in the place of the product and in f32.
        c.out = c.saved_out = c.product;
        c.out_dtype = c.saved_dtype = TESS_F32;
        c.stride_statistics = made.chunk.n_row;
        return c;
    }
    c.out = from_row(a.out, row, p.dtype);
    c.saved_out = from_row(a.saved_out, row, p.dtype);
    c.statistics = a.statistics == nullptr ? nullptr : static_cast<float *>(a.statistics) + row;
    c.stride_statistics = p.n_row;
    if (p.pass == TESS_CLIFFORD_FORWARD && p.dtype == TESS_F32) {
        c.product = c.out;
    }
    return c;
}

// Launches until one fails.
class launches
{
  public:
    template <typename Launch>
    void next(Launch launch)
    {
        error_ = error_ == cudaSuccess ? launch() : error_;
    }
    cudaError_t error() const
    {
        return error_;
    }

  private:
    cudaError_t error_ = cudaSuccess;
};

struct tables {
    cl_fc_table product, pairs, weights;

    explicit tables(const tess_cl_problem &p)
        : product(cl_fc_table_of(p.algebra, p.path_mask, CL_FC_PRODUCT)),
          pairs(cl_fc_table_of(p.algebra, p.path_mask, CL_FC_GRAD_PAIR)),
          weights(cl_fc_table_of(p.algebra, p.path_mask, CL_FC_GRAD_WEIGHT))
    {
    }
};

// Product and norm of a chunk. Without a norm, f32 is in its place already.
void launch_product(cudaStream_t stream, launches &all, const fc_kernels &kernels,
                    const fc_chunk &c, const matrices &m, const cl_fc_table &table)
{
    all.next([&] { return kernels.form(stream, c); });
    all.next([&] { return multiply_product<product_shape>(stream, c, m, table); });
    if (c.normalize || c.statistics != nullptr || c.out.data != c.product.data) {
        all.next([&] { return kernels.norm(stream, c); });
    }
}

void launch_gradients(cudaStream_t stream, launches &all, const fc_kernels &kernels,
                      const fc_chunk &c, const matrices &m, const tables &t, const wishes &wants,
                      const tess_cl_view &grad_weight, bool adds)
{
    all.next([&] { return kernels.gradient(stream, c); });
    if (wants.inputs) {
        all.next([&] { return multiply_pairs<pairs_shape>(stream, c, m, t.pairs); });
    }
    all.next([&] { return kernels.contract(stream, c, wants.inputs); });
    if (wants.weights) {
        all.next([&] {
            return clifford::fc_rescale_gradients(stream, c, int32_t(m.gradients.n_layer));
        });
        all.next([&] {
            return multiply_weights<weights_shape>(stream, c, m, t.weights, grad_weight, adds);
        });
    }
}

} // namespace

namespace clifford_fcgp
{

bool tensor_takes(const tess_stage_clifford_fcgp &a)
{
    const tess_cl_problem &p = a.problem;
    const bool wants = p.dtype == TESS_F16 || p.dtype == TESS_BF16 ||
                       (p.dtype == TESS_F32 && p.precision == TESS_CLIFFORD_HIGH);
    // Coordinates, tiles and eights of weights are counted in 31 bits.
    constexpr int64_t most = INT64_C(1) << 24;
    return wants && p.n_in < most && p.n_out < most &&
           p.n_in * cl_fc_pitch(p.n_out) < (INT64_C(1) << 33) / TESS_CLIFFORD_MAX_PATHS &&
           find_kernels(*p.algebra) != nullptr && tess_cuda_level_here() >= TESS_CUDA_MATRIX;
}

size_t tensor_scratch_bytes(const tess_stage_clifford_fcgp &a)
{
    tess_stage_clifford_fcgp counted = a;
    counted.problem.scratch = nullptr;
    return plan_of(counted).bytes;
}

cudaError_t tensor_launch(cudaStream_t stream, const tess_stage_clifford_fcgp &a)
{
    const tess_cl_problem &p = a.problem;
    const fc_kernels &kernels = *find_kernels(*p.algebra);
    const plan made = plan_of(a);
    const wishes wants(a);
    const tables t(p);
    launches all;
    if (made.weights.packed != nullptr) {
        all.next([&] { return clifford::fc_pack_weights(stream, made.weights, p.weight_dtype); });
    }
    for (int64_t i = 0; i < made.chunks.n; i++) {
        const fc_chunk c = chunk_at(made, a, i * made.chunks.rows);
        const matrices m = matrices_of(c, *p.algebra, made.weights.packed);
        if (wants.product) {
            launch_product(stream, all, kernels, c, m, t.product);
        }
        if (p.pass == TESS_CLIFFORD_BACKWARD) {
            launch_gradients(stream, all, kernels, c, m, t, wants, made.grad_weight, i > 0);
        }
    }
    if (made.grad_weight.data != a.grad_weight.data) {
        all.next([&] {
            return clifford::fc_narrow_weights(
                stream, static_cast<const float *>(made.grad_weight.data), a.grad_weight,
                made.weights.n_line, made.chunk.n_in, made.chunk.n_out, p.weight_dtype);
        });
    }
    return all.error();
}

} // namespace clifford_fcgp
