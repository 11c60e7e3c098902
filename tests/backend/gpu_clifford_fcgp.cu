// Stage clifford.fcgp on a GPU against sums in f64 on the host, on fresh random inputs; --bench
// measures. ./dev gpu runs it.

#include "backend/cuda/clifford/stages.h"
#include "backend/cuda/level.h"
#include "gpu_clifford_fcgp.cuh"

#include <string>

void fcgp_bench_parts(); // gpu_clifford_fcgp_parts.cu

namespace
{

using namespace fcgp_test;

// --- check --------------------------------------------------------------------------------------

double gate_of(const problem &c)
{
    if (c.dtype == TESS_F64) {
        return 1e-13;
    }
    if (c.dtype == TESS_F32) {
        return c.precision == TESS_CLIFFORD_HIGH ? 6e-4 : 1e-6;
    }
    return c.dtype == TESS_F16 ? 1e-3 : 6e-3;
}

void compare(const problem &c, const char *what, const vector<double> &got,
             const vector<double> &want, double allowed)
{
    double error = 0;
    double size = 0;
    for (size_t i = 0; i < want.size(); i++) {
        error += (got[i] - want[i]) * (got[i] - want[i]);
        size += want[i] * want[i];
    }
    const double relative = size > 0 ? std::sqrt(error / size) : std::sqrt(error);
    const bool ok = relative <= allowed; // NaN is not
    n_failed += !ok;
    std::printf("%s %s %s %.3g allowed %.3g\n", ok ? "ok" : "FAILED", c.name, what, relative,
                allowed);
}

struct device_arrays {
    array x, y, weight, out, grad_out, grad_x, grad_y, grad_weight, statistics;
};

void make_arrays(const problem &c, const tess_clifford_algebra &a, device_arrays &d)
{
    d.x.make(c.dtype, a.n_component, c.n_row, c.n_in, c.order);
    d.y.make(c.dtype, a.n_component, c.n_row, c.n_in, c.order);
    d.weight.make(c.weight_dtype, a.n_path, c.n_in, c.n_out, c.order == padded ? padded : plain);
    d.out.make(c.dtype, a.n_component, c.n_row, c.n_out, c.order);
    d.grad_out.make(c.dtype, a.n_component, c.n_row, c.n_out, c.order);
    d.grad_x.make(c.dtype, a.n_component, c.n_row, c.n_in, c.order);
    d.grad_y.make(c.dtype, a.n_component, c.n_row, c.n_in, c.order);
    d.grad_weight.make(c.weight_dtype, a.n_path, c.n_in, c.n_out,
                       c.order == padded ? padded : plain);
    d.statistics.make(c.dtype == TESS_F64 ? TESS_F64 : TESS_F32, 1, a.n_grade, c.n_row, plain);
}

void drop_arrays(device_arrays &d)
{
    for (array *one : {&d.x, &d.y, &d.weight, &d.out, &d.grad_out, &d.grad_x, &d.grad_y,
                       &d.grad_weight, &d.statistics}) {
        one->drop();
    }
}

tess_stage_clifford_fcgp stage_of(const problem &c, const tess_clifford_algebra &a,
                                  device_arrays &d, tess_clifford_pass pass)
{
    tess_stage_clifford_fcgp s = {};
    s.problem.algebra = &a;
    s.problem.path_mask = c.mask & ((uint64_t(1) << a.n_path) - 1);
    s.problem.n_row = c.n_row;
    s.problem.n_in = c.n_in;
    s.problem.n_out = c.n_out;
    s.problem.dtype = c.dtype;
    s.problem.weight_dtype = c.weight_dtype;
    s.problem.pass = pass;
    s.problem.activation = c.activation;
    s.problem.normalize = c.normalize;
    s.problem.norm_metric = c.norm_metric;
    s.problem.precision = c.precision;
    s.problem.eps = 1e-6;
    s.x = d.x.view();
    s.y = d.y.view();
    s.weight = d.weight.view();
    if (pass == TESS_CLIFFORD_FORWARD) {
        s.out = d.out.view();
        s.statistics = d.statistics.device;
    } else {
        s.grad_out = d.grad_out.view();
        s.grad_x = d.grad_x.view();
        s.grad_y = d.grad_y.view();
        s.grad_weight = d.grad_weight.view();
        if (c.saved) {
            s.saved_out = d.out.view();
            s.statistics = d.statistics.device;
        }
    }
    return s;
}

// Through a graph, as frameworks replay their work.
cudaError_t launch_graph(const tess_stage_clifford_fcgp &s)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(tess_cuda_stage_clifford_fcgp.launch(stream, &s));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    return cudaStreamDestroy(stream);
}

// Scratch memory full of NaN, with a guard behind it.
void run(tess_stage_clifford_fcgp s, bool in_graph = false)
{
    const tess_host host = {};
    tess_backend_device device = {&host, 0};
    const tess_cuda_stage &stage = tess_cuda_stage_clifford_fcgp;
    const size_t bytes = stage.scratch_bytes(&device, &s);
    const size_t guard = 4096;
    char *scratch = nullptr;
    CHECK(cudaMalloc(reinterpret_cast<void **>(&scratch), bytes + guard));
    CHECK(cudaMemset(scratch, 0xff, bytes + guard));
    s.problem.scratch = scratch;
    CHECK(in_graph ? launch_graph(s) : stage.launch(nullptr, &s));
    CHECK(cudaDeviceSynchronize());
    vector<unsigned char> behind(guard);
    CHECK(cudaMemcpy(behind.data(), scratch + bytes, guard, cudaMemcpyDeviceToHost));
    for (unsigned char one : behind) {
        if (one != 0xff) {
            std::printf("FAILED wrote behind the scratch memory\n");
            n_failed++;
            break;
        }
    }
    CHECK(cudaFree(scratch));
}

void compare_bits(const problem &c, const char *what, array &got, const vector<double> &want)
{
    got.fetch();
    const bool same = std::memcmp(got.values.data(), want.data(), want.size() * 8) == 0;
    n_failed += !same;
    std::printf("%s %s %s again\n", same ? "ok" : "FAILED", c.name, what);
}

// Gradients must not depend on which others are asked for.
void check_alone(const problem &c, const tess_clifford_algebra &a, device_arrays &d,
                 const vector<double> &gx, const vector<double> &gw)
{
    for (array *one : {&d.grad_x, &d.grad_weight}) {
        CHECK(cudaMemset(one->device, 0xff, one->host.size()));
    }
    tess_stage_clifford_fcgp s = stage_of(c, a, d, TESS_CLIFFORD_BACKWARD);
    s.grad_x.data = nullptr;
    s.grad_y.data = nullptr;
    run(s);
    compare_bits(c, "gw alone", d.grad_weight, gw);
    s = stage_of(c, a, d, TESS_CLIFFORD_BACKWARD);
    s.grad_y.data = nullptr;
    s.grad_weight.data = nullptr;
    run(s);
    compare_bits(c, "gx alone", d.grad_x, gx);
}

void check(const problem &c, bool again)
{
    const tess_clifford_algebra a = algebra_of(c.metric);
    device_arrays d;
    make_arrays(c, a, d);
    d.x.fill(1, c.spread);
    d.y.fill(1, c.spread);
    d.weight.fill(c.spread ? 1e-9 : 0.5, false);
    d.grad_out.fill(c.spread ? 1e6 : 1, c.spread);
    reference want(c, a);
    want.forward(d.x.values, d.y.values, d.weight.values);
    want.backward(d.x.values, d.y.values, d.weight.values, d.grad_out.values);

    run(stage_of(c, a, d, TESS_CLIFFORD_FORWARD));
    d.out.fetch();
    d.statistics.fetch();
    const double allowed = gate_of(c);
    compare(c, "z", d.out.values, want.z, allowed);
    compare(c, "r", d.statistics.values, want.r, allowed);
    run(stage_of(c, a, d, TESS_CLIFFORD_BACKWARD));
    d.grad_x.fetch();
    d.grad_y.fetch();
    d.grad_weight.fetch();
    compare(c, "gx", d.grad_x.values, want.gx, allowed);
    compare(c, "gy", d.grad_y.values, want.gy, allowed);
    compare(c, "gw", d.grad_weight.values, want.gw, allowed);
    if (again) {
        const vector<double> z = d.out.values;
        const vector<double> gx = d.grad_x.values;
        const vector<double> gw = d.grad_weight.values;
        for (array *one : {&d.out, &d.grad_x, &d.grad_weight}) {
            CHECK(cudaMemset(one->device, 0xff, one->host.size()));
        }
        run(stage_of(c, a, d, TESS_CLIFFORD_FORWARD), true);
        compare_bits(c, "z", d.out, z);
        run(stage_of(c, a, d, TESS_CLIFFORD_BACKWARD), true);
        compare_bits(c, "gx", d.grad_x, gx);
        compare_bits(c, "gw", d.grad_weight, gw);
        check_alone(c, a, d, gx, gw);
    }
    drop_arrays(d);
}

constexpr uint64_t all_paths = ~uint64_t(0);

// clang-format off
const vector<int> cl20 = {1, 1};
const vector<int> cl30 = {1, 1, 1};
const vector<int> cl13 = {1, -1, -1, -1};
const vector<int> cl301 = {0, 1, 1, 1};
const vector<int> cl41 = {1, 1, 1, 1, -1};
const int32_t f32 = TESS_F32, f64 = TESS_F64, f16 = TESS_F16, bf16 = TESS_BF16;
const int32_t gelu = TESS_CLIFFORD_GELU, sigmoid = TESS_CLIFFORD_SIGMOID;
const int32_t euclid = TESS_CLIFFORD_NORM_EUCLID, by_size = TESS_CLIFFORD_NORM_ABS;
const int32_t clamp = TESS_CLIFFORD_NORM_CLAMP;
const int32_t highest = TESS_CLIFFORD_HIGHEST, high = TESS_CLIFFORD_HIGH;
const problem small[] = {
    {"f64", cl30, 37, 28, 28, f64, f64, gelu, 1, euclid, highest, plain, all_paths, false, false},
    {"f64 saved", cl30, 5, 7, 7, f64, f64, gelu, 1, euclid, highest, plain, all_paths, true, false},
    {"f64 cl13 abs", cl13, 9, 11, 11, f64, f64, TESS_CLIFFORD_GELU_TANH, 1, by_size, highest,
     channel_last, all_paths, false, false},
    {"f64 cl301 clamp", cl301, 9, 6, 9, f64, f64, sigmoid, 1, clamp, highest, padded, all_paths,
     true, false},
    {"f64 cl20 mask", cl20, 70, 130, 3, f64, f64, TESS_CLIFFORD_RELU, 0, euclid, highest, plain,
     0x155, false, false},
    {"f32 highest", cl30, 130, 72, 72, f32, f32, gelu, 1, euclid, highest, plain, all_paths, true,
     false},
    {"f32 highest tiny", cl30, 1, 1, 1, f32, f32, gelu, 1, euclid, highest, padded, all_paths,
     true, false},
    {"f32 cl41", cl41, 3, 5, 5, f32, f32, gelu, 1, by_size, highest, plain, all_paths, true, false},
    {"bf16 cl13", cl13, 17, 24, 24, bf16, f32, gelu, 1, by_size, highest, plain, all_paths, true,
     false},
    {"f32 high", cl30, 130, 64, 64, f32, f32, gelu, 1, euclid, high, plain, all_paths, true, false},
    {"f32 high odd", cl30, 67, 37, 37, f32, f32, gelu, 1, euclid, high, padded, all_paths, false,
     false},
    {"f32 high wide", cl30, 70, 72, 104, f32, f32, gelu, 1, euclid, high, plain, 0xf7fff, true,
     false},
    {"f32 high ranges", cl30, 66, 40, 40, f32, f32, TESS_CLIFFORD_IDENTITY, 1, euclid, high, plain,
     all_paths, true, true},
    {"f32 high last", cl30, 20, 28, 28, f32, f32, gelu, 0, euclid, high, channel_last, all_paths,
     false, false},
    {"f32 high cl13", cl13, 40, 24, 24, f32, f32, gelu, 1, by_size, high, plain, all_paths, true,
     false},
    {"f32 high cl301", cl301, 33, 20, 28, f32, f32, sigmoid, 1, clamp, high, padded, 0x2fffffffe,
     false, false},
    {"f32 high cl41", cl41, 20, 12, 12, f32, f32, gelu, 1, euclid, high, plain, all_paths, true,
     false},
    {"f32 high 2d", cl20, 130, 136, 136, f32, f32, gelu, 1, euclid, high, plain, all_paths, true,
     false},
    {"bf16 mixed", cl30, 130, 64, 64, bf16, f32, gelu, 1, euclid, highest, plain, all_paths, true,
     false},
    {"f16", cl30, 64, 32, 32, f16, f16, gelu, 1, euclid, highest, plain, all_paths, false, false},
    {"f16 2d odd", cl20, 33, 17, 17, f16, f16, gelu, 1, euclid, highest, padded, all_paths, true,
     false},
};

// Enough tiles for every stage of the pipelines, two chunks of rows, rows longer than a block.
const problem large[] = {
    {"f32 high chunks", cl41, 300, 104, 104, f32, f32, gelu, 1, euclid, high, plain, all_paths,
     false, false},
    {"f32 high long", cl30, 40, 520, 520, f32, f32, gelu, 1, euclid, high, plain, all_paths, true,
     false},
    {"f32 high 300x320", cl30, 300, 320, 320, f32, f32, gelu, 1, euclid, high, plain, all_paths,
     true, false},
    {"f32 high 1100x96", cl30, 1100, 96, 96, f32, f32, gelu, 1, euclid, high, plain, all_paths,
     false, false},
    {"bf16 200x256", cl30, 200, 256, 256, bf16, bf16, gelu, 1, euclid, highest, plain, all_paths,
     true, false},
    {"f32 highest 200x200", cl30, 200, 200, 200, f32, f32, gelu, 1, euclid, highest, plain,
     all_paths, false, false},
};
// clang-format on

// Cases whose name has the text in it.
void check_all(const std::string &text)
{
    for (const problem &one : small) {
        if (std::string(one.name).find(text) != std::string::npos) {
            check(one, one.dtype == f32);
        }
    }
    for (const problem &one : large) {
        if (std::string(one.name).find(text) != std::string::npos) {
            check(one, true);
        }
    }
}

// --- bench --------------------------------------------------------------------------------------

double median_ms(const vector<tess_stage_clifford_fcgp> &stages, int repeats)
{
    cudaEvent_t begin;
    cudaEvent_t end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    vector<float> times;
    for (int i = 0; i < repeats + 3; i++) {
        CHECK(cudaEventRecord(begin));
        CHECK(tess_cuda_stage_clifford_fcgp.launch(nullptr, &stages[size_t(i) % stages.size()]));
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms = 0;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        if (i >= 3) {
            times.push_back(ms);
        }
    }
    std::sort(times.begin(), times.end());
    return double(times[times.size() / 2]);
}

void bench(const problem &c, int repeats)
{
    const tess_clifford_algebra a = algebra_of(c.metric);
    device_arrays sets[2];
    vector<tess_stage_clifford_fcgp> forward;
    vector<tess_stage_clifford_fcgp> backward;
    const tess_host host = {};
    tess_backend_device device = {&host, 0};
    size_t bytes[2] = {0, 0};
    char *scratch = nullptr;
    for (device_arrays &d : sets) {
        make_arrays(c, a, d);
        d.x.fill_fast(1);
        d.y.fill_fast(1);
        d.weight.fill_fast(0.5);
        d.grad_out.fill_fast(1);
        forward.push_back(stage_of(c, a, d, TESS_CLIFFORD_FORWARD));
        backward.push_back(stage_of(c, a, d, TESS_CLIFFORD_BACKWARD));
    }
    bytes[0] = tess_cuda_stage_clifford_fcgp.scratch_bytes(&device, &forward[0]);
    bytes[1] = tess_cuda_stage_clifford_fcgp.scratch_bytes(&device, &backward[0]);
    CHECK(cudaMalloc(reinterpret_cast<void **>(&scratch), std::max(bytes[0], bytes[1])));
    for (int i = 0; i < 2; i++) {
        forward[size_t(i)].problem.scratch = scratch;
        backward[size_t(i)].problem.scratch = scratch;
    }
    int n_pair = 0;
    for (int p = 0; p < a.n_path; p++) {
        for (int k = 0; k < a.n_component; k++) {
            n_pair += a.grade[k] == a.path_out[p];
        }
    }
    const double gflop = 2e-9 * n_pair * double(c.n_row) * double(c.n_in) * double(c.n_out);
    const double ms_forward = median_ms(forward, repeats);
    const double ms_backward = median_ms(backward, repeats);
    std::printf(
        "bench %-22s forward %.3f ms (%.0f TF) backward %.3f ms (%.0f TF) scratch %.1f %.1f "
        "MiB\n",
        c.name, ms_forward, gflop / ms_forward, ms_backward, 2 * gflop / ms_backward,
        double(bytes[0]) / 1048576, double(bytes[1]) / 1048576);
    CHECK(cudaFree(scratch));
    for (device_arrays &d : sets) {
        drop_arrays(d);
    }
}

// clang-format off
const problem measured[] = {
    {"3d 4096x512 high", cl30, 4096, 512, 512, f32, f32, gelu, 1, euclid, high, plain, all_paths,
     true, false},
    {"3d 4096x512 no z", cl30, 4096, 512, 512, f32, f32, gelu, 1, euclid, high, plain, all_paths,
     false, false},
    {"3d 4096x512 bf16", cl30, 4096, 512, 512, bf16, f32, gelu, 1, euclid, high, plain, all_paths,
     true, false},
    {"2d 4096x512 high", cl20, 4096, 512, 512, f32, f32, gelu, 1, euclid, high, plain, all_paths,
     true, false},
    {"3d 4096x128 high", cl30, 4096, 128, 128, f32, f32, gelu, 1, euclid, high, plain, all_paths,
     true, false},
    {"3d 16384x32 high", cl30, 16384, 32, 32, f32, f32, gelu, 1, euclid, high, plain, all_paths,
     true, false},
    {"3d 2048x256 highest", cl30, 2048, 256, 256, f32, f32, gelu, 1, euclid, highest, plain,
     all_paths, true, false},
};
// clang-format on

void bench_all()
{
    for (const problem &one : measured) {
        bench(one, 20);
    }
}

} // namespace

int main(int argc, char **argv)
{
    const std::string option = argc > 1 ? argv[1] : "";
    if (option == "--bench") {
        if (tess_cuda_level_here() == TESS_CUDA_GROUPS) { // parts are those of warpgroups
            fcgp_bench_parts();
        }
        bench_all();
        return 0;
    }
    check_all(option);
    std::printf("%s: %d failed\n", n_failed == 0 ? "ok" : "FAILED", n_failed);
    return n_failed != 0;
}
