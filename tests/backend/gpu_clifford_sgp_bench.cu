// Times of the weighted product on a GPU, and checks that need one: large arrays, repeats, graphs.

#include "gpu_clifford_arrays.h"

#include "backend/cuda/cuda_backend.h"

#define TESS_CL_NAME cl20
#define TESS_CL_UPPER CL20
#define TESS_CL_TERMS "clifford/cl20.def"
#define TESS_CL_LEFT "clifford/cl20_left.def"
#define TESS_CL_RIGHT "clifford/cl20_right.def"
#include "backend/cuda/clifford_terms.cuh"
#undef TESS_CL_NAME
#undef TESS_CL_UPPER
#undef TESS_CL_TERMS
#undef TESS_CL_LEFT
#undef TESS_CL_RIGHT
#define TESS_CL_NAME cl30
#define TESS_CL_UPPER CL30
#define TESS_CL_TERMS "clifford/cl30.def"
#define TESS_CL_LEFT "clifford/cl30_left.def"
#define TESS_CL_RIGHT "clifford/cl30_right.def"
#include "backend/cuda/clifford_terms.cuh"

#include "backend/cuda/clifford_sgp_launch.cuh"

#include <algorithm>
#include <functional>
#include <string>

void report_failure(const char *name, double error, double allowed);

namespace
{

using clifford::sgp_args;
using bf16 = __nv_bfloat16;

template <typename T>
__global__ void fill_kernel(T *items, int64_t n, uint64_t seed)
{
    for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += int64_t(gridDim.x) * blockDim.x) {
        uint64_t z = (uint64_t(i) + seed * 0x100000001b3ull) * 0x9e3779b97f4a7c15ull;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ z >> 27) * 0x94d049bb133111ebull;
        // Sum of four uniform numbers, of variance 1.
        float sum = -2.0f;
        for (int k = 0; k < 4; k++) {
            sum += float(z >> 16 * k & 65535) * (1.0f / 65536.0f);
        }
        clifford::narrow(sum * 1.7320508f, items[i]);
    }
}

__global__ void differ_kernel(const uint32_t *a, const uint32_t *b, int64_t n,
                              unsigned long long *count)
{
    for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += int64_t(gridDim.x) * blockDim.x) {
        // A word of poison that stayed counts as well.
        if (a[i] != b[i] || a[i] == 0xffffffffu) {
            atomicAdd(count, 1ull);
        }
    }
}

template <typename T>
T *make_items(int64_t n, uint64_t seed)
{
    void *data = nullptr;
    CHECK_CUDA(cudaMalloc(&data, size_t(n) * sizeof(T)));
    if (seed != 0) {
        fill_kernel<<<1024, 256>>>(static_cast<T *>(data), n, seed);
        CHECK_CUDA(cudaGetLastError());
    } else {
        CHECK_CUDA(cudaMemset(data, 0xff, size_t(n) * sizeof(T)));
    }
    return static_cast<T *>(data);
}

unsigned long long count_differences(const void *a, const void *b, int64_t bytes)
{
    unsigned long long *count = nullptr;
    unsigned long long result = 0;
    CHECK_CUDA(cudaMalloc(&count, sizeof(*count)));
    CHECK_CUDA(cudaMemset(count, 0, sizeof(*count)));
    differ_kernel<<<2048, 256>>>(static_cast<const uint32_t *>(a), static_cast<const uint32_t *>(b),
                                 bytes / 4, count);
    CHECK_CUDA(cudaMemcpy(&result, count, sizeof(result), cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaFree(count));
    return result;
}

tess_cl_view rows_view(void *data, int64_t n_row, int64_t n)
{
    return {data, {n_row * n, n, 1}};
}

// ---- checks ----

struct big_case {
    const tess_cl_algebra *algebra;
    int64_t n_row;
    int64_t n;
    float *x, *y, *gz, *w, *gw, *statistics;
    void *scratch;

    tess_stage_clifford_sgp stage(int pass, float *first, float *second) const
    {
        tess_stage_clifford_sgp s;
        memset(&s, 0, sizeof(s));
        s.problem.algebra = algebra;
        s.problem.path_mask = (uint64_t(1) << algebra->n_path) - 1;
        s.problem.n_row = n_row;
        s.problem.n_in = n;
        s.problem.n_out = n;
        s.problem.dtype = TESS_F32;
        s.problem.weight_dtype = TESS_F32;
        s.problem.pass = pass;
        s.problem.activation = TESS_CL_GELU;
        s.problem.normalize = 1;
        s.problem.norm_metric = TESS_CL_NORM_EUCLID;
        s.problem.eps = 1e-6;
        s.problem.scratch = scratch;
        s.x = rows_view(x, n_row, n);
        s.y = rows_view(y, n_row, n);
        s.weight = {w, {algebra->n_path, 1, 0}};
        s.statistics = statistics;
        if (pass == TESS_CL_FORWARD) {
            s.out = rows_view(first, n_row, n);
        } else {
            s.grad_out = rows_view(gz, n_row, n);
            s.grad_x = rows_view(first, n_row, n);
            s.grad_y = rows_view(second, n_row, n);
            s.grad_weight = {gw, {algebra->n_path, 1, 0}};
        }
        return s;
    }
};

void move_rows(tess_stage_clifford_sgp &s, int64_t row, int64_t n_row)
{
    tess_cl_view *views[] = {&s.x, &s.y, &s.out, &s.grad_out, &s.grad_x, &s.grad_y};
    for (tess_cl_view *view : views) {
        if (view->data != nullptr) {
            view->data = static_cast<float *>(view->data) + row * view->stride[1];
        }
    }
    s.problem.n_row = n_row;
    s.statistics = nullptr;
}

void run_sgp(const tess_stage_clifford_sgp &s, cudaStream_t stream = nullptr)
{
    CHECK_CUDA(tess_cuda_stage_clifford_sgp.launch(stream, &s));
}

// One call against the same rows in pieces, bit by bit; then again and again.
void check_pieces(const char *name, const tess_cl_algebra &algebra, int64_t n_row, int64_t n,
                  int n_repeat)
{
    const int64_t n_item = algebra.n_component * n_row * n;
    big_case c = {&algebra, n_row,   n,       nullptr, nullptr,
                  nullptr,  nullptr, nullptr, nullptr, nullptr};
    c.x = make_items<float>(n_item, 1);
    c.y = make_items<float>(n_item, 2);
    c.gz = make_items<float>(n_item, 3);
    c.w = make_items<float>(n * algebra.n_path, 4);
    c.gw = make_items<float>(n * algebra.n_path, 0);
    float *kept_gw = make_items<float>(n * algebra.n_path, 0);
    c.statistics = nullptr;
    float *a[2] = {make_items<float>(n_item, 0), make_items<float>(n_item, 0)};
    float *b[2] = {make_items<float>(n_item, 0), make_items<float>(n_item, 0)};
    const tess_stage_clifford_sgp sized = c.stage(TESS_CL_BACKWARD, a[0], a[1]);
    const size_t bytes = tess_cuda_stage_clifford_sgp.scratch_bytes(nullptr, &sized);
    CHECK_CUDA(cudaMalloc(&c.scratch, bytes + 256));
    unsigned long long differences = 0;
    for (int pass = TESS_CL_FORWARD; pass <= TESS_CL_BACKWARD; pass++) {
        run_sgp(c.stage(pass, a[0], a[1]));
        CHECK_CUDA(
            cudaMemcpy(kept_gw, c.gw, size_t(n * algebra.n_path) * 4, cudaMemcpyDeviceToDevice));
        const int64_t cuts[] = {0, n_row / 3, n_row / 3 + 1, n_row / 2, n_row};
        for (int i = 0; i < 4; i++) {
            if (cuts[i + 1] > cuts[i]) {
                tess_stage_clifford_sgp piece = c.stage(pass, b[0], b[1]);
                move_rows(piece, cuts[i], cuts[i + 1] - cuts[i]);
                run_sgp(piece);
            }
        }
        for (int i = 0; i < pass; i++) {
            differences += count_differences(a[i], b[i], n_item * 4);
        }
    }
    for (int i = 0; i < n_repeat; i++) {
        CHECK_CUDA(cudaMemset(b[0], 0xff, size_t(n_item) * 4));
        run_sgp(c.stage(TESS_CL_BACKWARD, b[0], b[1]));
        differences += count_differences(a[0], b[0], n_item * 4);
        differences += count_differences(a[1], b[1], n_item * 4);
        differences += count_differences(kept_gw, c.gw, n * algebra.n_path * 4);
    }
    CHECK_CUDA(cudaDeviceSynchronize());
    report_failure(name, double(differences), 0);
    for (float *data : {c.x, c.y, c.gz, c.w, c.gw, kept_gw, a[0], a[1], b[0], b[1]}) {
        CHECK_CUDA(cudaFree(data));
    }
    CHECK_CUDA(cudaFree(c.scratch));
}

// The caller's stream, captured into a graph and replayed, gives the bits of a plain call.
void check_graph(const tess_cl_algebra &algebra)
{
    const int64_t n_row = 300;
    const int64_t n = 512;
    const int64_t n_item = algebra.n_component * n_row * n;
    big_case c = {&algebra, n_row,   n,       nullptr, nullptr,
                  nullptr,  nullptr, nullptr, nullptr, nullptr};
    c.x = make_items<float>(n_item, 1);
    c.y = make_items<float>(n_item, 2);
    c.gz = make_items<float>(n_item, 3);
    c.w = make_items<float>(n * algebra.n_path, 4);
    c.gw = make_items<float>(n * algebra.n_path, 0);
    c.statistics = make_items<float>(algebra.n_grade * n_row, 0);
    float *out[6];
    for (float *&data : out) {
        data = make_items<float>(n_item, 0);
    }
    const tess_stage_clifford_sgp sized = c.stage(TESS_CL_BACKWARD, out[0], out[1]);
    CHECK_CUDA(
        cudaMalloc(&c.scratch, tess_cuda_stage_clifford_sgp.scratch_bytes(nullptr, &sized) + 256));
    CHECK_CUDA(cudaDeviceSynchronize());
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    run_sgp(c.stage(TESS_CL_FORWARD, out[0], nullptr), stream);
    run_sgp(c.stage(TESS_CL_BACKWARD, out[1], out[2]), stream);
    CHECK_CUDA(cudaStreamSynchronize(stream));
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    run_sgp(c.stage(TESS_CL_FORWARD, out[3], nullptr), stream);
    run_sgp(c.stage(TESS_CL_BACKWARD, out[4], out[5]), stream);
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    CHECK_CUDA(cudaGraphInstantiate(&executable, graph, 0));
    CHECK_CUDA(cudaGraphLaunch(executable, stream));
    CHECK_CUDA(cudaGraphLaunch(executable, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    unsigned long long differences = 0;
    for (int i = 0; i < 3; i++) {
        differences += count_differences(out[i], out[i + 3], n_item * 4);
    }
    report_failure("graph", double(differences), 0);
    CHECK_CUDA(cudaGraphExecDestroy(executable));
    CHECK_CUDA(cudaGraphDestroy(graph));
    CHECK_CUDA(cudaStreamDestroy(stream));
    for (float *data : {c.x, c.y, c.gz, c.w, c.gw, c.statistics, out[0], out[1], out[2], out[3],
                        out[4], out[5]}) {
        CHECK_CUDA(cudaFree(data));
    }
    CHECK_CUDA(cudaFree(c.scratch));
}

// ---- times ----

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

    void run(const char *name, bool is_backward, const variant &start, int activation = 1,
             int normalize = 1) const
    {
        char text[80];
        snprintf(text, sizeof(text), "%s %s", label, name);
        const double bytes = double(is_backward ? 5 : 3) * b.n_component * double(bench_rows) *
                             double(bench_n) * b.item;
        time_variant(text, bytes, copy_rate, int(b.sets.size()), [&](int i) {
            sgp_args a = bench_args(b, i, dtype, is_backward);
            a.activation = activation;
            a.normalize = normalize;
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

template <typename A, typename T, int V, int threads, int n_resident>
variant loads_forward()
{
    return [](sgp_args &a) {
        return clifford::launch_rows_forward<A, clifford::forward_loads<T, V, A>, threads,
                                             n_resident>(nullptr, a);
    };
}

template <typename A, typename T, int V, int threads, int depth>
variant ring_forward()
{
    return [](sgp_args &a) {
        return clifford::launch_rows_forward<A, clifford::row_ring<T, V, A::n_component, 2, depth>,
                                             threads, 1>(nullptr, a);
    };
}

template <typename A, typename T, int V, int threads, int depth>
variant ring_backward()
{
    return [](sgp_args &a) {
        return clifford::launch_rows_backward<A, clifford::row_ring<T, V, A::n_component, 3, depth>,
                                              threads, 1>(nullptr, a);
    };
}

template <typename A, typename T, int V, int threads, int depth, bool is_ahead, bool keeps_weights>
variant stream_forward()
{
    return [](sgp_args &a) {
        return clifford::launch_stream_forward<
            clifford::stream_shape<A, T, V, bench_n, threads, depth, is_ahead, keeps_weights>>(
            nullptr, a);
    };
}

template <typename A, typename T, int V, int threads, int depth, bool is_ahead, bool keeps_weights>
variant stream_backward()
{
    return [](sgp_args &a) {
        return clifford::launch_stream_backward<
            clifford::stream_shape<A, T, V, bench_n, threads, depth, is_ahead, keeps_weights>>(
            nullptr, a);
    };
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

// Names end with what was expected from counting instructions and bytes, in microseconds.
void bench_space_f32(const tess_cl_algebra &algebra, double copy_rate)
{
    using A = clifford::cl30;
    bench b = make_bench<A, float>();
    const bencher t = {b, "3D f32", TESS_F32, copy_rate};
    t.run("fwd moves (50)", false, moves<2, 1>(b));
    t.run("fwd ring V2 512 d2 (57)", false, ring_forward<A, float, 2, 512, 2>());
    t.run("fwd stream V2 d3 (53)", false, stream_forward<A, float, 2, 512, 3, true, true>());
    t.run("fwd stream V1 d4 (54)", false, stream_forward<A, float, 1, 512, 4, true, true>());
    t.run("fwd stream V1 d6 (54)", false, stream_forward<A, float, 1, 512, 6, true, true>());
    t.run("fwd stream V2 d2 in turn (57)", false,
          stream_forward<A, float, 2, 512, 2, false, false>());
    t.run("bwd moves (84)", true, moves<3, 2>(b));
    t.run("bwd ring V1 512 d2 (125)", true, ring_backward<A, float, 1, 512, 2>());
    t.run("bwd stream V1 d4 (92)", true, stream_backward<A, float, 1, 512, 4, true, true>());
    t.run("bwd stream V1 d4 in turn (105)", true,
          stream_backward<A, float, 1, 512, 4, false, true>());
    time_stage(t, algebra);
    free_bench(b);
}

void bench_space_bf16(const tess_cl_algebra &algebra, double copy_rate)
{
    using A = clifford::cl30;
    bench b = make_bench<A, bf16>();
    const bencher t = {b, "3D bf16", TESS_BF16, copy_rate};
    t.run("fwd moves (26)", false, moves<2, 1>(b));
    t.run("fwd loads V4 512 (47)", false, loads_forward<A, bf16, 4, 512, 1>());
    t.run("fwd stream V2 d4 (29)", false, stream_forward<A, bf16, 2, 512, 4, true, true>());
    t.run("fwd stream V2 d4 shared (30)", false, stream_forward<A, bf16, 2, 512, 4, true, false>());
    t.run("bwd moves (43)", true, moves<3, 2>(b));
    t.run("bwd ring V2 512 d2 (123)", true, ring_backward<A, bf16, 2, 512, 2>());
    t.run("bwd stream V2 256 d4 (66)", true, stream_backward<A, bf16, 2, 256, 4, true, true>());
    t.run("bwd stream V1 d4 (69)", true, stream_backward<A, bf16, 1, 512, 4, true, true>());
    time_stage(t, algebra);
    free_bench(b);
}

void bench_plane_f32(const tess_cl_algebra &algebra, double copy_rate)
{
    using A = clifford::cl20;
    bench b = make_bench<A, float>();
    const bencher t = {b, "2D f32", TESS_F32, copy_rate};
    t.run("fwd moves (26)", false, moves<2, 1>(b));
    t.run("fwd loads V2 512 (31)", false, loads_forward<A, float, 2, 512, 1>());
    t.run("fwd stream V2 d4 (28)", false, stream_forward<A, float, 2, 512, 4, true, true>());
    t.run("fwd stream V4 d3 shared (28)", false,
          stream_forward<A, float, 4, 512, 3, true, false>());
    t.run("bwd moves (43)", true, moves<3, 2>(b));
    t.run("bwd ring V2 512 d3 (60)", true, ring_backward<A, float, 2, 512, 3>());
    t.run("bwd stream V2 d4 (49)", true, stream_backward<A, float, 2, 512, 4, true, true>());
    t.run("bwd stream V2 d4 in turn (54)", true,
          stream_backward<A, float, 2, 512, 4, false, true>());
    time_stage(t, algebra);
    free_bench(b);
}

void bench_plane_bf16(const tess_cl_algebra &algebra, double copy_rate)
{
    using A = clifford::cl20;
    bench b = make_bench<A, bf16>();
    const bencher t = {b, "2D bf16", TESS_BF16, copy_rate};
    t.run("fwd moves (14)", false, moves<2, 1>(b));
    t.run("fwd loads V4 512 (29)", false, loads_forward<A, bf16, 4, 512, 1>());
    t.run("fwd stream V2 d4 (18)", false, stream_forward<A, bf16, 2, 512, 4, true, true>());
    t.run("fwd stream V4 d4 shared (17)", false, stream_forward<A, bf16, 4, 512, 4, true, false>());
    t.run("bwd moves (23)", true, moves<3, 2>(b));
    t.run("bwd ring V2 512 d3 (54)", true, ring_backward<A, bf16, 2, 512, 3>());
    t.run("bwd stream V2 d4 (30)", true, stream_backward<A, bf16, 2, 512, 4, true, true>());
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

void check_device()
{
    const tess_cl_algebra plane = make_algebra("++");
    const tess_cl_algebra space = make_algebra("+++");
    const tess_cl_algebra projective = make_algebra("0+++");
    check_graph(space);
    check_pieces("repeats and pieces, 3D 1000x512", space, 1000, 512, 50);
    check_pieces("repeats and pieces, 2D 3001x28", plane, 3001, 28, 50);
    check_pieces("repeats and pieces, 3D 777x27", space, 777, 27, 50);
    check_pieces("repeats and pieces, 3D 50x3000", space, 50, 3000, 50);
    check_pieces("repeats and pieces, PGA 513x32", projective, 513, 32, 50);
    check_pieces("repeats and pieces, PGA 200x512", projective, 200, 512, 10);
    check_pieces("more than 2^31 items, 3D 600000x512", space, 600000, 512, 1);
}

void bench_sgp()
{
    const double copy_rate = measure_copy();
    printf("copy %.0f GB/s\n", copy_rate * 1e-9);
    const tess_cl_algebra plane = make_algebra("++");
    const tess_cl_algebra space = make_algebra("+++");
    bench_space_f32(space, copy_rate);
    bench_space_bf16(space, copy_rate);
    bench_plane_f32(plane, copy_rate);
    bench_plane_bf16(plane, copy_rate);
}
