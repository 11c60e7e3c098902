// Times of the weighted product on a GPU.

#include "gpu_clifford_sgp_big.cuh"

#define TESS_CL_NAME cl20
#define TESS_CL_UPPER CL20
#define TESS_CL_TERMS "clifford/cl20.def"
#define TESS_CL_LEFT "clifford/cl20_left.def"
#define TESS_CL_RIGHT "clifford/cl20_right.def"
#define TESS_CL_PATHS "clifford/cl20_paths.def"
#include "backend/cuda/clifford_terms.cuh"
#undef TESS_CL_NAME
#undef TESS_CL_UPPER
#undef TESS_CL_TERMS
#undef TESS_CL_LEFT
#undef TESS_CL_RIGHT
#undef TESS_CL_PATHS
#define TESS_CL_NAME cl30
#define TESS_CL_UPPER CL30
#define TESS_CL_TERMS "clifford/cl30.def"
#define TESS_CL_LEFT "clifford/cl30_left.def"
#define TESS_CL_RIGHT "clifford/cl30_right.def"
#define TESS_CL_PATHS "clifford/cl30_paths.def"
#include "backend/cuda/clifford_terms.cuh"

#include "backend/cuda/clifford_sgp_launch.cuh"

#include <algorithm>
#include <functional>
#include <string>

namespace
{

using clifford::sgp_args;

constexpr int64_t bench_rows = 4096;
constexpr int64_t bench_n = 512;

struct bench_set {
    void *x, *y, *gz, *out, *gx, *gy;
};

struct bench {
    int n_component = 0;
    int n_path = 0;
    int n_grade = 0;
    int item = 4;
    std::vector<bench_set> sets;
    void *w = nullptr;
    void *gw = nullptr;
    void *statistics = nullptr;
    void *scratch = nullptr;
};

using variant = std::function<cudaError_t(sgp_args &)>;

// Median of single launches and mean of a burst of launches, in milliseconds, inputs rotated.
void time_variant(const char *name, double bytes, double copy_rate, int n_set,
                  const std::function<cudaError_t(int)> &call)
{
    const cudaError_t error = call(0);
    if (error != cudaSuccess) {
        printf("%-44s not possible (%s)\n", name, cudaGetErrorString(error));
        return;
    }
    cudaEvent_t from;
    cudaEvent_t to;
    CHECK_CUDA(cudaEventCreate(&from));
    CHECK_CUDA(cudaEventCreate(&to));
    auto elapsed = [&](int first, int n) {
        float ms = 0;
        CHECK_CUDA(cudaEventRecord(from));
        for (int i = first; i < first + n; i++) {
            CHECK_CUDA(call(i % n_set));
        }
        CHECK_CUDA(cudaEventRecord(to));
        CHECK_CUDA(cudaEventSynchronize(to));
        CHECK_CUDA(cudaEventElapsedTime(&ms, from, to));
        return double(ms) / n;
    };
    for (int i = 0; i < 5; i++) {
        (void)elapsed(i, 1);
    }
    std::vector<double> single;
    std::vector<double> burst;
    for (int i = 0; i < 41; i++) {
        single.push_back(elapsed(i, 1));
    }
    for (int i = 0; i < 7; i++) {
        burst.push_back(elapsed(i, 12));
    }
    std::sort(single.begin(), single.end());
    std::sort(burst.begin(), burst.end());
    const double rate = bytes / (burst[3] * 1e-3);
    printf("%-44s single %.4f  burst %.4f ms  %5.0f GB/s  %.2f of copy\n", name, single[20],
           burst[3], rate * 1e-9, copy_rate > 0 ? rate / copy_rate : 1.0);
    CHECK_CUDA(cudaEventDestroy(from));
    CHECK_CUDA(cudaEventDestroy(to));
}

template <typename A, typename T>
bench make_bench()
{
    bench b;
    b.n_component = A::n_component;
    b.n_path = A::n_path;
    b.n_grade = A::n_grade;
    b.item = int(sizeof(T));
    const int64_t n_item = A::n_component * bench_rows * bench_n;
    const int n_set = int(300000000 / (n_item * int64_t(sizeof(T)) * 3)) + 2;
    for (int i = 0; i < n_set; i++) {
        const uint64_t seed = uint64_t(i) * 3 + 10;
        b.sets.push_back({make_items<T>(n_item, seed), make_items<T>(n_item, seed + 1),
                          make_items<T>(n_item, seed + 2), make_items<T>(n_item, 0),
                          make_items<T>(n_item, 0), make_items<T>(n_item, 0)});
    }
    b.w = make_items<T>(bench_n * A::n_path, 5);
    b.gw = make_items<T>(bench_n * A::n_path, 0);
    b.statistics = make_items<float>(A::n_grade * bench_rows, 0);
    CHECK_CUDA(cudaMalloc(&b.scratch, 64 << 20));
    return b;
}

void free_bench(bench &b)
{
    for (const bench_set &set : b.sets) {
        for (void *data : {set.x, set.y, set.gz, set.out, set.gx, set.gy}) {
            CHECK_CUDA(cudaFree(data));
        }
    }
    for (void *data : {b.w, b.gw, b.statistics, b.scratch}) {
        CHECK_CUDA(cudaFree(data));
    }
}

sgp_args bench_args(const bench &b, int i, int dtype, bool is_backward)
{
    sgp_args a = {};
    const bench_set &set = b.sets[size_t(i)];
    a.x = rows_view(set.x, bench_rows, bench_n);
    a.y = rows_view(set.y, bench_rows, bench_n);
    a.weight = {b.w, {b.n_path, 1, 0}};
    a.statistics = b.statistics;
    if (is_backward) {
        a.gz = rows_view(set.gz, bench_rows, bench_n);
        a.gx = rows_view(set.gx, bench_rows, bench_n);
        a.gy = rows_view(set.gy, bench_rows, bench_n);
        a.grad_weight = {b.gw, {b.n_path, 1, 0}};
    } else {
        a.out = rows_view(set.out, bench_rows, bench_n);
    }
    a.partials = b.scratch;
    a.n_row = bench_rows;
    a.n = bench_n;
    a.path_mask = (uint64_t(1) << b.n_path) - 1;
    a.eps = 1e-6;
    a.dtype = dtype;
    a.weight_dtype = dtype;
    a.activation = TESS_CL_GELU;
    a.normalize = 1;
    a.metric = TESS_CL_NORM_EUCLID;
    return a;
}

struct bencher {
    const bench &b;
    const char *label;
    int dtype;
    double copy_rate;

    void run(const char *name, bool is_backward, const variant &start) const
    {
        char text[80];
        snprintf(text, sizeof(text), "%s %s", label, name);
        const double bytes = double(is_backward ? 5 : 3) * b.n_component * double(bench_rows) *
                             double(bench_n) * b.item;
        time_variant(text, bytes, copy_rate, int(b.sets.size()), [&](int i) {
            sgp_args a = bench_args(b, i, dtype, is_backward);
            return start(a);
        });
    }
};

// What the memory gives for these arrays: all inputs read and all outputs written, 16 bytes at
// once.
template <int n_in, int n_out>
__global__ void __launch_bounds__(256)
    move_kernel(const __grid_constant__ sgp_args a, int64_t n_word)
{
    const uint4 *in[3] = {static_cast<const uint4 *>(a.x.data),
                          static_cast<const uint4 *>(a.y.data),
                          static_cast<const uint4 *>(a.gz.data)};
    uint4 *out[2] = {static_cast<uint4 *>(n_out == 1 ? a.out.data : a.gx.data),
                     static_cast<uint4 *>(a.gy.data)};
    for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n_word;
         i += int64_t(gridDim.x) * blockDim.x) {
        uint4 sum = clifford::load_once(in[0] + i);
        for (int j = 1; j < n_in; j++) {
            const uint4 other = clifford::load_once(in[j] + i);
            sum.x ^= other.x;
            sum.y ^= other.y;
            sum.z ^= other.z;
            sum.w ^= other.w;
        }
        for (int j = 0; j < n_out; j++) {
            clifford::store_word(out[j] + i, sum);
        }
    }
}

template <int n_in, int n_out>
variant moves(const bench &b)
{
    const int64_t n_word = b.n_component * bench_rows * bench_n * b.item / 16;
    return [n_word](sgp_args &a) {
        move_kernel<n_in, n_out><<<unsigned(n_word / 256), 256>>>(a, n_word);
        return cudaGetLastError();
    };
}

template <typename S>
variant stream_forward()
{
    return [](sgp_args &a) { return clifford::launch_stream_forward<S>(nullptr, a); };
}

template <typename S>
variant stream_backward()
{
    return [](sgp_args &a) { return clifford::launch_stream_backward<S>(nullptr, a); };
}

// The stage as it is called, and forward with backward.
void time_stage(const bencher &t, const tess_cl_algebra &algebra)
{
    auto stage = [&](int i, int pass) {
        const bench_set &set = t.b.sets[size_t(i)];
        big_case c = {&algebra,   bench_rows, bench_n,
                      nullptr,    nullptr,    nullptr,
                      nullptr,    nullptr,    static_cast<float *>(t.b.statistics),
                      t.b.scratch};
        tess_stage_clifford_sgp s = c.stage(pass, nullptr, nullptr);
        s.problem.dtype = t.dtype;
        s.problem.weight_dtype = t.dtype;
        s.x.data = set.x;
        s.y.data = set.y;
        s.weight.data = t.b.w;
        s.out.data = pass == TESS_CL_FORWARD ? set.out : nullptr;
        s.grad_out.data = set.gz;
        s.grad_x.data = set.gx;
        s.grad_y.data = set.gy;
        s.grad_weight.data = t.b.gw;
        return tess_cuda_stage_clifford_sgp.launch(nullptr, &s);
    };
    const double tensor = double(t.b.n_component) * double(bench_rows) * double(bench_n) * t.b.item;
    const int n_set = int(t.b.sets.size());
    char text[80];
    snprintf(text, sizeof(text), "%s STAGE forward", t.label);
    time_variant(text, 3 * tensor, t.copy_rate, n_set,
                 [&](int i) { return stage(i, TESS_CL_FORWARD); });
    snprintf(text, sizeof(text), "%s STAGE backward", t.label);
    time_variant(text, 5 * tensor, t.copy_rate, n_set,
                 [&](int i) { return stage(i, TESS_CL_BACKWARD); });
    snprintf(text, sizeof(text), "%s STAGE forward+backward", t.label);
    time_variant(text, 8 * tensor, t.copy_rate, n_set, [&](int i) {
        const cudaError_t error = stage(i, TESS_CL_FORWARD);
        return error != cudaSuccess ? error : stage(i, TESS_CL_BACKWARD);
    });
}

// The kernels that the stage chooses, beside plain moves of their bytes, and the stage.
template <typename A, typename T>
void time_type(const char *label, int dtype, const tess_cl_algebra &algebra, double copy_rate)
{
    using choice = clifford::stream_choice<A, T>;
    bench b = make_bench<A, T>();
    const bencher t = {b, label, dtype, copy_rate};
    t.run("fwd moves", false, moves<2, 1>(b));
    t.run("fwd stream", false, stream_forward<typename choice::forward>());
    t.run("bwd moves", true, moves<3, 2>(b));
    t.run("bwd stream", true, stream_backward<typename choice::backward>());
    time_stage(t, algebra);
    free_bench(b);
}

double measure_copy()
{
    const int64_t bytes = int64_t(512) << 20;
    char *a = reinterpret_cast<char *>(make_items<float>(bytes / 4, 7));
    char *b = reinterpret_cast<char *>(make_items<float>(bytes / 4, 0));
    cudaEvent_t from;
    cudaEvent_t to;
    CHECK_CUDA(cudaEventCreate(&from));
    CHECK_CUDA(cudaEventCreate(&to));
    float best = 1e30f;
    for (int i = 0; i < 8; i++) {
        float ms = 0;
        CHECK_CUDA(cudaEventRecord(from));
        CHECK_CUDA(cudaMemcpyAsync(b, a, size_t(bytes), cudaMemcpyDeviceToDevice));
        CHECK_CUDA(cudaEventRecord(to));
        CHECK_CUDA(cudaEventSynchronize(to));
        CHECK_CUDA(cudaEventElapsedTime(&ms, from, to));
        best = std::min(best, ms);
    }
    CHECK_CUDA(cudaFree(a));
    CHECK_CUDA(cudaFree(b));
    return 2.0 * double(bytes) / (double(best) * 1e-3);
}

} // namespace

// only: a label such as "3D bf16", or "" for all.
void bench_sgp(const std::string &only)
{
    const double copy_rate = measure_copy();
    printf("copy %.0f GB/s\n", copy_rate * 1e-9);
    const tess_cl_algebra plane = make_algebra("++");
    const tess_cl_algebra space = make_algebra("+++");
    auto is_asked = [&](const char *label) { return only.empty() || only == label; };
    if (is_asked("3D f32")) {
        time_type<clifford::cl30, float>("3D f32", TESS_F32, space, copy_rate);
    }
    if (is_asked("3D bf16")) {
        time_type<clifford::cl30, __nv_bfloat16>("3D bf16", TESS_BF16, space, copy_rate);
    }
    if (is_asked("2D f32")) {
        time_type<clifford::cl20, float>("2D f32", TESS_F32, plane, copy_rate);
    }
    if (is_asked("2D bf16")) {
        time_type<clifford::cl20, __nv_bfloat16>("2D bf16", TESS_BF16, plane, copy_rate);
    }
}
