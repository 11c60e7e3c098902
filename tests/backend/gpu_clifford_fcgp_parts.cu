// Times of the single kernels of stage clifford.fcgp on tensor cores, Cl(3,0), f32, precision high,
// and of the matrix kernel in other shapes than the shipped ones, over chunks of several sizes. A
// shape's results have to agree with those of the first.

#include "backend/cuda/clifford/fcgp/fcgp_multiply.cuh"
#include "backend/cuda/clifford/fcgp/fcgp_weights.cuh"
#include "gpu_clifford_fcgp.cuh"

#include <functional>
#include <string>

using namespace fcgp_test;
using namespace clifford_fcgp;
using clifford::fc_chunk;
using clifford_matrix::shape;

namespace
{

constexpr int64_t n_row = 4096;
constexpr int64_t n = 512;
constexpr int n_component = 8;
constexpr int n_pair = 44;
constexpr int n_path = 20;
constexpr double gflop = 2e-9 * n_pair * double(n_row) * double(n) * double(n);

template <typename T>
T *allocate(int64_t count)
{
    void *data = nullptr;
    CHECK(cudaMalloc(&data, size_t(count) * sizeof(T)));
    CHECK(cudaMemset(data, 0, size_t(count) * sizeof(T)));
    return static_cast<T *>(data);
}

double median_us(const std::function<cudaError_t()> &launch)
{
    cudaEvent_t begin;
    cudaEvent_t end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    vector<float> times;
    for (int i = 0; i < 14; i++) {
        CHECK(cudaEventRecord(begin));
        CHECK(launch());
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms = 0;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        if (i >= 3) {
            times.push_back(ms);
        }
    }
    std::sort(times.begin(), times.end());
    return 1e3 * double(times[times.size() / 2]);
}

// bytes: what the part reads and writes, of whatever memory.
void report(const std::string &what, double us, double flops, double bytes)
{
    std::printf("bench part %-34s %7.1f us", what.c_str(), us);
    if (flops > 0) {
        std::printf(" (%.0f TF)", flops / us * 1e3);
    }
    if (bytes > 0) {
        std::printf(" (%.2f TB/s)", bytes / us * 1e-6);
    }
    std::printf("\n");
}

// Arrays of the whole batch, and scratch memory of a chunk.
struct setup {
    tess_clifford_algebra algebra = algebra_of({1, 1, 1});
    cl_fc_table product = table(CL_FC_PRODUCT);
    cl_fc_table pairs = table(CL_FC_GRAD_PAIR);
    cl_fc_table weights = table(CL_FC_GRAD_WEIGHT);
    tess_cl_view x, y, z, gz, gx, gy, w, gw;
    float *statistics = nullptr;
    fc_chunk first = {};
    clifford::fc_weights packed = {};

    cl_fc_table table(cl_fc_sum sum) const
    {
        return cl_fc_table_of(&algebra, (1u << n_path) - 1, sum);
    }
    int64_t rows() const
    {
        return first.n_row;
    }
    // The chunk from a row on.
    fc_chunk chunk(int64_t row) const
    {
        fc_chunk c = first;
        const auto from = [&](const tess_cl_view &v) {
            return tess_cl_view{static_cast<float *>(v.data) + row * n,
                                {v.stride[0], v.stride[1], v.stride[2]}};
        };
        c.n_row = std::min(first.n_row, n_row - row);
        c.x = from(x);
        c.y = from(y);
        c.out = c.product = c.saved_out = from(z);
        c.grad_out = from(gz);
        c.grad_x = from(gx);
        c.grad_y = from(gy);
        c.statistics = statistics + row;
        return c;
    }
    // A kernel over all chunks.
    double over_chunks(const std::function<cudaError_t(const fc_chunk &, bool)> &launch) const
    {
        return median_us([&] {
            for (int64_t row = 0; row < n_row; row += rows()) {
                CHECK(launch(chunk(row), row > 0));
            }
            return cudaSuccess;
        });
    }
    matrices operands(const fc_chunk &c) const
    {
        return matrices_of(c, algebra, packed.packed);
    }
};

tess_cl_view make_view(int64_t layers, int64_t lines, const vector<float> *values)
{
    const tess_cl_view v = {allocate<float>(layers * lines * n), {lines * n, n, 1}};
    if (values != nullptr) {
        CHECK(cudaMemcpy(v.data, values->data(), size_t(layers * lines * n) * 4,
                         cudaMemcpyHostToDevice));
    }
    return v;
}

void make_arrays(setup &s)
{
    vector<float> values(size_t(n_component * n_row * n));
    for (float &one : values) {
        one = float(normal());
    }
    for (tess_cl_view *one : {&s.x, &s.y, &s.z, &s.gz, &s.gx, &s.gy}) {
        *one = make_view(n_component, n_row, &values);
    }
    s.w = make_view(n_path, n, &values);
    s.gw = make_view(n_path, n, nullptr);
    s.statistics = allocate<float>(4 * n_row);
    s.packed = {s.w,
                (1u << n_path) - 1,
                n_path * n,
                allocate<__half>(n_path * n * n),
                allocate<uint32_t>(clifford::fc_weight_blocks),
                allocate<int>(1),
                n,
                int(n),
                int(n),
                0,
                0};
}

void make_chunk(setup &s, int64_t most_rows)
{
    fc_chunk &c = s.first;
    c.n_row = most_rows;
    c.n_in = c.n_out = int32_t(n);
    c.in_pitch = c.out_pitch = n;
    c.stride_pair = c.stride_gradient = most_rows * n;
    c.stride_statistics = n_row;
    c.pairs = allocate<__half>(n_pair * most_rows * n);
    c.gradients = allocate<__half>(n_component * most_rows * n);
    c.left_exponent = allocate<int>(most_rows);
    c.right_exponent = allocate<int>(most_rows);
    c.gradient_exponent = allocate<int>(most_rows);
    c.common_exponent = allocate<int>(1);
    c.weight_exponent = s.packed.exponent;
    c.product_exponent = cl_fc_product_exponent(clifford::fc_cl30.most_terms);
    c.sum_exponent = cl_fc_sum_exponent(n);
    c.dtype = c.out_dtype = c.saved_dtype = TESS_F32;
    c.activation = TESS_CLIFFORD_GELU;
    c.normalize = 1;
    c.metric = TESS_CLIFFORD_NORM_EUCLID;
    c.eps = 1e-6f;
    c.are_inputs_ready = 1;
}

void drop_chunk(setup &s)
{
    fc_chunk &c = s.first;
    for (void *one :
         {static_cast<void *>(c.pairs), static_cast<void *>(c.gradients),
          static_cast<void *>(c.left_exponent), static_cast<void *>(c.right_exponent),
          static_cast<void *>(c.gradient_exponent), static_cast<void *>(c.common_exponent)}) {
        CHECK(cudaFree(one));
    }
}

// Every seventh of some items on the device, as f64.
template <typename T>
vector<double> sample(const T *from, int64_t count)
{
    vector<T> host(static_cast<size_t>(count));
    CHECK(cudaMemcpy(host.data(), from, host.size() * sizeof(T), cudaMemcpyDeviceToHost));
    vector<double> some;
    for (size_t i = 0; i < host.size(); i += 7) {
        some.push_back(double(float(host[i])));
    }
    return some;
}

void agree(const std::string &what, const vector<double> &got, vector<double> &first)
{
    if (first.empty()) {
        first = got;
        return;
    }
    double error = 0;
    double size = 0;
    for (size_t i = 0; i < got.size(); i++) {
        error += std::pow(got[i] - first[i], 2);
        size += std::pow(first[i], 2);
    }
    const bool ok = std::sqrt(error) <= 1e-5 * std::sqrt(size); // NaN is not
    n_failed += !ok;
    std::printf("%s %s %.3g\n", ok ? "ok" : "FAILED", what.c_str(), std::sqrt(error / size));
}

// What the shapes have to agree with.
struct firsts {
    vector<double> product, pairs, weights;
};

// The three matrix products in one shape, each on operands made for it.
template <typename S>
void measure_shape(const setup &s, const char *name, firsts &first)
{
    const std::string of = " " + std::string(name) + " rows " + std::to_string(s.rows());
    int n_cluster = 0;
    CHECK((clifford_matrix::resident_clusters<S, false, true, store_product>(n_cluster)));
    std::printf("shape %s: %d clusters of %d at a time\n", name, n_cluster, S::cluster);
    const fc_chunk c = s.chunk(0);
    const auto &kernels = clifford::fc_cl30;
    CHECK(kernels.form(nullptr, c));
    report("product" + of, s.over_chunks([&](const fc_chunk &one, bool) {
        return multiply_product<S>(nullptr, one, s.operands(one), s.product);
    }),
           gflop, 0);
    CHECK(kernels.form(nullptr, c));
    CHECK(multiply_product<S>(nullptr, c, s.operands(c), s.product));
    agree("product" + of, sample(static_cast<const float *>(s.z.data), 128 * n), first.product);
    report("grad pairs" + of, s.over_chunks([&](const fc_chunk &one, bool) {
        return multiply_pairs<S>(nullptr, one, s.operands(one), s.pairs);
    }),
           gflop, 0);
    agree("grad pairs" + of, sample(c.pairs, 128 * n), first.pairs);
    // Rows keep their scales, so that the next shape finds the same gradients.
    CHECK(kernels.contract(nullptr, c, false));
    report("grad weights" + of, s.over_chunks([&](const fc_chunk &one, bool adds) {
        return multiply_weights<S>(nullptr, one, s.operands(one), s.weights, s.gw, adds);
    }),
           gflop, 0);
    CHECK(multiply_weights<S>(nullptr, c, s.operands(c), s.weights, s.gw, false));
    agree("grad weights" + of, sample(static_cast<const float *>(s.gw.data), n_path * n * n),
          first.weights);
}

void measure_shapes(const setup &s)
{
    firsts first;
    CHECK(clifford::fc_cl30.gradient(nullptr, s.chunk(0)));
    measure_shape<shape<1, 1, 6>>(s, "1x1 6", first);
    measure_shape<shape<2, 1, 6>>(s, "2x1 6", first);
    measure_shape<shape<1, 2, 6>>(s, "1x2 6", first);
    measure_shape<shape<2, 1, 5>>(s, "2x1 5", first);
    measure_shape<shape<1, 2, 5>>(s, "1x2 5", first);
    measure_shape<shape<2, 2, 6>>(s, "2x2 6", first);
}

// The kernels of rows, and the passes as the stage launches them, over chunks of one size.
void measure_rows(const setup &s)
{
    const auto &kernels = clifford::fc_cl30;
    const std::string of = " rows " + std::to_string(s.rows());
    constexpr double component = 4.0 * double(n_row) * double(n);
    constexpr double pair_bytes = 2.0 * n_pair * double(n_row) * double(n);
    // As in a backward pass that brings its result.
    const auto gradient = [&](fc_chunk c) {
        c.product = {};
        return kernels.gradient(nullptr, c);
    };
    report("form" + of,
           s.over_chunks([&](const fc_chunk &c, bool) { return kernels.form(nullptr, c); }), 0,
           16 * component + pair_bytes);
    report("norm" + of,
           s.over_chunks([&](const fc_chunk &c, bool) { return kernels.norm(nullptr, c); }), 0,
           16 * component);
    report("gradient" + of, s.over_chunks([&](const fc_chunk &c, bool) { return gradient(c); }), 0,
           20 * component);
    report("contract" + of, s.over_chunks([&](const fc_chunk &c, bool) {
        return kernels.contract(nullptr, c, true);
    }),
           0, 32 * component + 2 * pair_bytes);
    report("rescale" + of, s.over_chunks([&](const fc_chunk &c, bool) {
        return clifford::fc_rescale_gradients(nullptr, c, n_component);
    }),
           0, 8 * component);
    report("forward" + of, s.over_chunks([&](const fc_chunk &c, bool) {
        CHECK(kernels.form(nullptr, c));
        CHECK(multiply_product<product_shape>(nullptr, c, s.operands(c), s.product));
        return kernels.norm(nullptr, c);
    }),
           gflop, 0);
    report("backward" + of, s.over_chunks([&](const fc_chunk &c, bool adds) {
        CHECK(gradient(c));
        CHECK(multiply_pairs<pairs_shape>(nullptr, c, s.operands(c), s.pairs));
        CHECK(kernels.contract(nullptr, c, true));
        CHECK(clifford::fc_rescale_gradients(nullptr, c, n_component));
        return multiply_weights<weights_shape>(nullptr, c, s.operands(c), s.weights, s.gw, adds);
    }),
           2 * gflop, 0);
}

} // namespace

void fcgp_bench_parts()
{
    setup s;
    make_arrays(s);
    report("weights",
           median_us([&] { return clifford::fc_pack_weights(nullptr, s.packed, TESS_F32); }), 0,
           10.0 * n_path * double(n) * double(n));
    for (const int64_t rows : {512, 256, 384, 1024}) {
        make_chunk(s, rows);
        measure_rows(s);
        if (rows == 512 || rows == 1024) {
            measure_shapes(s);
        }
        drop_chunk(s);
    }
}
