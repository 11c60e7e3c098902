// Times of the single kernels of stage clifford.fcgp on tensor cores, Cl(3,0), f32, precision high.

#include "backend/cuda/clifford_fcgp_mma.cuh"
#include "gpu_clifford_fcgp.cuh"

#include <functional>
#include <string>

using namespace fcgp_test;
using namespace clifford_fcgp;

namespace
{

template <typename T>
T *allocate(int64_t n)
{
    void *data = nullptr;
    CHECK(cudaMalloc(&data, size_t(n) * sizeof(T)));
    CHECK(cudaMemset(data, 0, size_t(n) * sizeof(T)));
    return static_cast<T *>(data);
}

void measure(const char *what, double gflop, const std::function<cudaError_t()> &launch)
{
    cudaEvent_t begin;
    cudaEvent_t end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    vector<float> times;
    for (int i = 0; i < 23; i++) {
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
    std::printf("bench part %-16s %7.1f us (%.0f TF)\n", what, 1e3 * double(times[10]),
                gflop / double(times[10]));
}

// The product in all its variants, whose results have to agree.
void measure_product(extents e, const packed &data, view<float> out, float *squares, double gflop,
                     size_t n_item)
{
    vector<float> host(n_item);
    vector<float> first;
    for (int shape = 0; shape < 8; shape++) {
        e.product_by_group = shape / 4;
        e.product_cluster[0] = 1 + shape / 2 % 2;
        e.product_cluster[1] = 1 + shape % 2;
        const std::string name = "product " + std::to_string(shape);
        measure(name.c_str(), gflop,
                [&] { return multiply_product<cl30>(nullptr, e, data, out, squares); });
        CHECK(cudaMemcpy(host.data(), out.data, host.size() * 4, cudaMemcpyDeviceToHost));
        first = shape == 0 ? host : first;
        double error = 0;
        double size = 0;
        for (size_t i = 0; i < host.size(); i += 7) {
            error += std::pow(double(host[i]) - double(first[i]), 2);
            size += std::pow(double(first[i]), 2);
        }
        const bool ok = std::sqrt(error / size) < 1e-5;
        n_failed += !ok;
        std::printf("%s product %d %.3g\n", ok ? "ok" : "FAILED", shape, std::sqrt(error / size));
    }
}

void measure_gradients(const tess_stage_clifford_fcgp &s, extents e, const packed &data,
                       double gflop)
{
    for (int cluster = 1; cluster <= 4; cluster *= 2) {
        e.weights_cluster = cluster;
        const std::string name = "grad weights " + std::to_string(cluster);
        measure(name.c_str(), gflop,
                [&] { return multiply_weights<cl30>(nullptr, s, e, data, nullptr); });
    }
    for (int shape = 0; shape < 4; shape++) {
        e.data_cluster[0] = 1 + shape / 2;
        e.data_cluster[1] = 1 + shape % 2;
        const std::string name = "grad inputs " + std::to_string(shape);
        measure(name.c_str(), gflop,
                [&] { return multiply_data<cl30, float>(nullptr, s, e, data); });
    }
}

vector<float> make_views(tess_stage_clifford_fcgp &s, int64_t B, int64_t N)
{
    tess_cl_view *const views[] = {&s.x,        &s.y,      &s.out,   &s.saved_out,
                                   &s.grad_out, &s.grad_x, &s.grad_y};
    vector<float> host(size_t(8 * B * N));
    for (float &one : host) {
        one = float(normal());
    }
    for (tess_cl_view *one : views) {
        *one = {allocate<float>(8 * B * N), {B * N, N, 1}};
        CHECK(cudaMemcpy(one->data, host.data(), host.size() * 4, cudaMemcpyHostToDevice));
    }
    for (tess_cl_view *one : {&s.weight, &s.grad_weight}) {
        *one = {allocate<float>(20 * N * N), {N * N, N, 1}};
        CHECK(cudaMemcpy(one->data, host.data(), size_t(20 * N * N) * 4, cudaMemcpyHostToDevice));
    }
    return host;
}

} // namespace

void fcgp_bench_parts()
{
    const tess_cl_algebra a = algebra_of({1, 1, 1});
    const int64_t B = 4096;
    const int64_t N = 512;
    extents e = {B,           N,           N,      B / 64, int(N / 16), int(N / 16),
                 int(N / 64), int(N / 32), {1, 1}, {1, 1}, 1,           0};
    tess_stage_clifford_fcgp s = {};
    s.problem.algebra = &a;
    s.problem.path_mask = (1 << 20) - 1;
    s.problem.n_row = B;
    s.problem.n_in = N;
    s.problem.n_out = N;
    s.problem.dtype = TESS_F32;
    s.problem.weight_dtype = TESS_F32;
    s.problem.activation = TESS_CL_GELU;
    s.problem.normalize = 1;
    s.problem.norm_metric = TESS_CL_NORM_EUCLID;
    s.problem.eps = 1e-6;
    const vector<float> host = make_views(s, B, N);
    float *const statistics = allocate<float>(4 * B);
    float *const squares = allocate<float>(8 * 4 * B);
    packed data = {};
    data.inputs = allocate<__half>(16 * B * N);
    data.gradients = allocate<__half>(8 * B * N);
    data.gradients_by_row = allocate<__half>(8 * B * N);
    data.weights = allocate<__half>(20 * N * N);
    data.transposed = allocate<__half>(20 * N * N);
    data.input_exponent = allocate<int>(B);
    data.gradient_exponent = allocate<int>(B);
    data.largest_exponent = allocate<int>(1);
    data.largest_weight = allocate<unsigned>(1);
    const double gflop = 2e-9 * 44 * double(B) * double(N) * double(N);
    const view<float> out = view_of<float>(s.out);
    measure("inputs", 0, [&] { return pack_inputs<cl30, float>(nullptr, s, e, data); });
    measure("weights", 0, [&] { return pack_weights<cl30>(nullptr, s, e, data); });
    measure_product(e, data, out, squares, gflop, host.size());
    measure("norm", 0, [&] {
        return finish_norm<cl30, float>(nullptr, s.problem, e, out, squares, out, statistics);
    });
    measure("gradients", 0,
            [&] { return pack_gradients<cl30, float>(nullptr, s, e, data, {}, statistics); });
    measure_gradients(s, e, data, gflop);
}
