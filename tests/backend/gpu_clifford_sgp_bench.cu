// Times of the weighted product on a GPU: the stage, beside plain moves of its bytes.

#include "gpu_clifford_sgp_big.cuh"

#include "backend/cuda/clifford/common/device.cuh"

#include <algorithm>
#include <functional>
#include <string>

namespace
{

struct bench_set {
    void *x, *y, *gz, *out, *gx, *gy;
};

// Arrays enough that none is still in a cache when its turn comes again.
struct bench {
    const char *label;
    const tess_clifford_algebra *algebra;
    int64_t n_row;
    int64_t n;
    int dtype;
    double copy_rate;
    std::vector<bench_set> sets;
    void *w, *gw, *statistics, *scratch;

    int64_t n_item() const
    {
        return algebra->n_component * n_row * n;
    }
    int64_t tensor_bytes() const
    {
        return n_item() * (dtype == TESS_F32 ? 4 : 2);
    }
};

// Median of single calls and mean of a burst of calls, in milliseconds, inputs rotated.
void time_calls(const bench &b, const char *name, int n_tensor,
                const std::function<cudaError_t(int)> &call)
{
    const int n_set = int(b.sets.size());
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
    const double rate = n_tensor * double(b.tensor_bytes()) / (burst[3] * 1e-3);
    printf("%-7s %5lldx%lld %-16s single %.4f  burst %.4f ms  %5.0f GB/s  %.2f of copy\n", b.label,
           static_cast<long long>(b.n_row), static_cast<long long>(b.n), name, single[20], burst[3],
           rate * 1e-9, rate / b.copy_rate);
    CHECK_CUDA(cudaEventDestroy(from));
    CHECK_CUDA(cudaEventDestroy(to));
}

template <typename T>
void make_arrays(bench &b)
{
    const int n_set = int(300000000 / (b.tensor_bytes() * 3)) + 2;
    for (int i = 0; i < n_set; i++) {
        const uint64_t seed = uint64_t(i) * 3 + 10;
        b.sets.push_back({make_items<T>(b.n_item(), seed), make_items<T>(b.n_item(), seed + 1),
                          make_items<T>(b.n_item(), seed + 2), make_items<T>(b.n_item(), 0),
                          make_items<T>(b.n_item(), 0), make_items<T>(b.n_item(), 0)});
    }
    b.w = make_items<T>(b.n * b.algebra->n_path, 5);
    b.gw = make_items<T>(b.n * b.algebra->n_path, 0);
    b.statistics = make_items<float>(b.algebra->n_grade * b.n_row, 0);
    CHECK_CUDA(cudaMalloc(&b.scratch, 64 << 20));
}

void free_arrays(const bench &b)
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

// What the memory gives for these arrays: all inputs read and all outputs written, 16 bytes at
// once.
struct move_args {
    const uint4 *in[3];
    uint4 *out[2];
    int64_t n_word;
};

template <int n_in, int n_out>
__global__ void __launch_bounds__(256) move_kernel(const __grid_constant__ move_args a)
{
    for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < a.n_word;
         i += int64_t(gridDim.x) * blockDim.x) {
        uint4 sum = clifford::load_once(a.in[0] + i);
        for (int j = 1; j < n_in; j++) {
            const uint4 other = clifford::load_once(a.in[j] + i);
            sum.x ^= other.x;
            sum.y ^= other.y;
            sum.z ^= other.z;
            sum.w ^= other.w;
        }
        for (int j = 0; j < n_out; j++) {
            clifford::store_word(a.out[j] + i, sum);
        }
    }
}

template <int n_in, int n_out>
cudaError_t move(const bench &b, const bench_set &set, void *first, void *second)
{
    const int64_t n_word = b.tensor_bytes() / 16;
    const move_args a = {{static_cast<const uint4 *>(set.x), static_cast<const uint4 *>(set.y),
                          static_cast<const uint4 *>(set.gz)},
                         {static_cast<uint4 *>(first), static_cast<uint4 *>(second)},
                         n_word};
    move_kernel<n_in, n_out><<<unsigned(n_word / 256), 256>>>(a);
    return cudaGetLastError();
}

cudaError_t call_stage(const bench &b, const bench_set &set, int pass)
{
    const big_case c = {b.algebra, b.n_row, b.n,
                        nullptr,   nullptr, nullptr,
                        nullptr,   nullptr, static_cast<float *>(b.statistics),
                        b.scratch};
    tess_stage_clifford_sgp s = c.stage(pass, nullptr, nullptr);
    s.problem.dtype = b.dtype;
    s.problem.weight_dtype = b.dtype;
    s.x.data = set.x;
    s.y.data = set.y;
    s.weight.data = b.w;
    s.out.data = pass == TESS_CLIFFORD_FORWARD ? set.out : nullptr;
    s.grad_out.data = set.gz;
    s.grad_x.data = set.gx;
    s.grad_y.data = set.gy;
    s.grad_weight.data = b.gw;
    return tess_cuda_stage_clifford_sgp.launch(nullptr, &s);
}

template <typename T>
void time_type(bench b)
{
    make_arrays<T>(b);
    time_calls(b, "forward moves", 3, [&](int i) {
        return move<2, 1>(b, b.sets[size_t(i)], b.sets[size_t(i)].out, nullptr);
    });
    time_calls(b, "backward moves", 5, [&](int i) {
        return move<3, 2>(b, b.sets[size_t(i)], b.sets[size_t(i)].gx, b.sets[size_t(i)].gy);
    });
    time_calls(b, "forward", 3,
               [&](int i) { return call_stage(b, b.sets[size_t(i)], TESS_CLIFFORD_FORWARD); });
    time_calls(b, "backward", 5,
               [&](int i) { return call_stage(b, b.sets[size_t(i)], TESS_CLIFFORD_BACKWARD); });
    time_calls(b, "both", 8, [&](int i) {
        const cudaError_t error = call_stage(b, b.sets[size_t(i)], TESS_CLIFFORD_FORWARD);
        return error != cudaSuccess ? error
                                    : call_stage(b, b.sets[size_t(i)], TESS_CLIFFORD_BACKWARD);
    });
    free_arrays(b);
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
void bench_sgp(const std::string &only, int64_t n_row, int64_t n)
{
    const double copy_rate = measure_copy();
    printf("copy %.0f GB/s\n", copy_rate * 1e-9);
    const tess_clifford_algebra plane = make_algebra("++");
    const tess_clifford_algebra space = make_algebra("+++");
    auto wanted = [&](const char *label, const tess_clifford_algebra &algebra, int dtype) {
        bench b = {label, &algebra, n_row, n, dtype, copy_rate, {}, {}, {}, {}, {}};
        if (!only.empty() && only != label) {
            return;
        }
        if (dtype == TESS_F32) {
            time_type<float>(b);
        } else {
            time_type<__nv_bfloat16>(b);
        }
    };
    wanted("3D f32", space, TESS_F32);
    wanted("3D bf16", space, TESS_BF16);
    wanted("2D f32", plane, TESS_F32);
    wanted("2D bf16", plane, TESS_BF16);
}
