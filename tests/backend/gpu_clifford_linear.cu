// nvcc -std=c++17 -O3 --fmad=false -gencode=arch=compute_90a,code=sm_90a -Iinclude -Isrc
// -Ibuild/release/generated tests/backend/gpu_clifford_linear.cu -o /tmp/gpu_clifford_linear &&
// /tmp/gpu_clifford_linear && /tmp/gpu_clifford_linear --bench
//
// Stage clifford.linear on a GPU by itself: every path against f64 on the host, over odd shapes,
// types and strides; with --bench, times.

// clang-format off
#include "backend/cuda/clifford_linear.cu"
#include "backend/cuda/clifford_linear_bias.cu"
#include "backend/cuda/clifford_linear_general.cu"
// clang-format on

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace
{

int n_failed = 0;
std::mt19937_64 random_bits(20240611);

void must(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        printf("FAILED %s: %s\n", what, cudaGetErrorString(error));
        exit(1);
    }
}

void report(const std::string &name, double error, double allowed)
{
    const bool good = error <= allowed; // false for NaN
    printf("%s %s %.3g (allowed %.3g)\n", good ? "ok" : "FAILED", name.c_str(), error, allowed);
    n_failed += !good;
}

size_t bytes_of(int32_t dtype)
{
    return dtype == TESS_F64 ? 8 : dtype == TESS_F32 ? 4 : 2;
}

double round_to(int32_t dtype, double value)
{
    switch (dtype) {
    case TESS_F64:
        return value;
    case TESS_F16:
        return double(__half2float(__float2half_rn(float(value))));
    case TESS_BF16:
        return double(__bfloat162float(__float2bfloat16_rn(float(value))));
    default:
        return double(float(value));
    }
}

enum class layout { dense, component_last, padded };

// An array on the device with its values on the host. Gaps and a margin behind it hold a pattern.
struct tensor {
    int32_t dtype = TESS_F32;
    int64_t shape[3] = {1, 1, 1};
    int64_t stride[3] = {0, 0, 0};
    int64_t span = 0; // items
    std::vector<double> values;
    char *device = nullptr;

    tensor(int32_t type, int64_t a, int64_t b, int64_t c, layout order) : dtype(type)
    {
        shape[0] = a;
        shape[1] = b;
        shape[2] = c;
        if (order == layout::component_last) {
            stride[0] = 1;
            stride[2] = a;
            stride[1] = a * c;
        } else {
            const int64_t row = order == layout::padded ? c + 3 : c;
            stride[2] = 1;
            stride[1] = row;
            stride[0] = row * b + (order == layout::padded ? 5 : 0);
        }
        span = 1 + (a - 1) * stride[0] + (b - 1) * stride[1] + (c - 1) * stride[2];
        values.resize(size_t(a * b * c));
        must(cudaMalloc(&device, bytes()), "cudaMalloc");
        poison();
    }
    tensor(const tensor &) = delete;
    tensor &operator=(const tensor &) = delete;
    ~tensor()
    {
        (void)cudaFree(device);
    }
    size_t bytes() const
    {
        return size_t(span + 64) * bytes_of(dtype);
    }
    void poison()
    {
        must(cudaMemset(device, 0xff, bytes()), "cudaMemset");
    }
    double &at(int64_t i, int64_t j, int64_t k)
    {
        return values[size_t((i * shape[1] + j) * shape[2] + k)];
    }
    tess_cl_view view() const
    {
        return {device, {stride[0], stride[1], stride[2]}};
    }

    template <typename Visit>
    void each(Visit visit)
    {
        for (int64_t i = 0; i < shape[0]; i++) {
            for (int64_t j = 0; j < shape[1]; j++) {
                for (int64_t k = 0; k < shape[2]; k++) {
                    visit(i * stride[0] + j * stride[1] + k * stride[2], at(i, j, k));
                }
            }
        }
    }

    void upload()
    {
        std::vector<char> raw(bytes(), char(0xff));
        each([&](int64_t offset, double &value) {
            char *place = raw.data() + size_t(offset) * bytes_of(dtype);
            const float single = float(value);
            if (dtype == TESS_F64) {
                memcpy(place, &value, 8);
            } else if (dtype == TESS_F32) {
                memcpy(place, &single, 4);
            } else if (dtype == TESS_F16) {
                const __half half = __float2half_rn(single);
                memcpy(place, &half, 2);
            } else {
                const __nv_bfloat16 half = __float2bfloat16_rn(single);
                memcpy(place, &half, 2);
            }
        });
        must(cudaMemcpy(device, raw.data(), raw.size(), cudaMemcpyHostToDevice), "upload");
    }

    // Normal items; wild: rows of very different size.
    void fill(double scale, bool wild)
    {
        std::normal_distribution<double> normal;
        for (int64_t i = 0; i < shape[0]; i++) {
            for (int64_t j = 0; j < shape[1]; j++) {
                const double row = wild ? std::ldexp(scale, int(random_bits() % 61) - 30) : scale;
                for (int64_t k = 0; k < shape[2]; k++) {
                    at(i, j, k) = round_to(dtype, row * normal(random_bits));
                }
            }
        }
        upload();
    }

    // Reads the device's items; false if a byte between or behind them was written.
    bool download(std::vector<char> &raw)
    {
        raw.resize(bytes());
        must(cudaMemcpy(raw.data(), device, raw.size(), cudaMemcpyDeviceToHost), "download");
        std::vector<char> touched(raw.size(), 0);
        each([&](int64_t offset, double &value) {
            const char *place = raw.data() + size_t(offset) * bytes_of(dtype);
            memset(touched.data() + size_t(offset) * bytes_of(dtype), 1, bytes_of(dtype));
            if (dtype == TESS_F64) {
                memcpy(&value, place, 8);
            } else if (dtype == TESS_F32) {
                float single;
                memcpy(&single, place, 4);
                value = double(single);
            } else if (dtype == TESS_F16) {
                __half half;
                memcpy(&half, place, 2);
                value = double(__half2float(half));
            } else {
                __nv_bfloat16 half;
                memcpy(&half, place, 2);
                value = double(__bfloat162float(half));
            }
        });
        for (size_t n = 0; n < raw.size(); n++) {
            if (!touched[n] && raw[n] != char(0xff)) {
                return false;
            }
        }
        return true;
    }
};

tess_cl_algebra algebra_of(int n_symbol)
{
    tess_cl_algebra algebra = {};
    algebra.metric.n_symbol = n_symbol;
    algebra.n_component = 1 << n_symbol;
    algebra.n_grade = n_symbol + 1;
    int k = 0;
    for (int g = 0; g <= n_symbol; g++) {
        for (int mask = 0; mask < 1 << n_symbol; mask++) {
            if (__builtin_popcount(unsigned(mask)) == g) {
                algebra.grade[k++] = uint8_t(g);
            }
        }
    }
    return algebra;
}

struct test_case {
    int n_symbol;
    int64_t n_row, n_in, n_out;
    int32_t dtype, weight_dtype, precision;
    layout order;
    bool bias_all, add, wild;
};

// Largest relative L2 error over rows (every row_step-th), and over everything compared.
struct errors {
    double row = 0;
    double all = 0;
};

template <typename Reference>
errors compare(tensor &t, int64_t row_step, Reference reference)
{
    errors e;
    double difference = 0, size = 0;
    for (int64_t i = 0; i < t.shape[0]; i++) {
        for (int64_t j = 0; j < t.shape[1]; j += row_step) {
            double row_difference = 0, row_size = 0;
            for (int64_t k = 0; k < t.shape[2]; k++) {
                const double want = reference(i, j, k);
                const double d = t.at(i, j, k) - want;
                row_difference += d * d;
                row_size += want * want;
            }
            difference += row_difference;
            size += row_size;
            const double row = std::sqrt(row_difference / row_size);
            e.row = row > e.row || row != row ? row : e.row;
        }
    }
    e.all = std::sqrt(difference / size);
    return e;
}

class linear_check
{
  public:
    explicit linear_check(const test_case &c)
        : c_(c), algebra_(algebra_of(c.n_symbol)), x(c.dtype, d(), c.n_row, c.n_in, c.order),
          weight(c.weight_dtype, algebra_.n_grade, c.n_in, c.n_out,
                 c.order == layout::dense ? layout::dense : layout::padded),
          bias(c.weight_dtype, 1, 1, c.n_out, layout::dense),
          out(c.dtype, d(), c.n_row, c.n_out, c.order),
          grad_out(c.dtype, d(), c.n_row, c.n_out, c.order),
          grad_x(c.dtype, d(), c.n_row, c.n_in, c.order),
          grad_weight(c.weight_dtype, algebra_.n_grade, c.n_in, c.n_out, layout::dense),
          grad_bias(c.weight_dtype, 1, 1, c.n_out, layout::dense)
    {
        x.fill(1, c.wild);
        weight.fill(1 / std::sqrt(double(c.n_in)), false);
        bias.fill(1, false);
        grad_out.fill(1, c.wild);
        grad_x.fill(1, false);
        initial_ = grad_x.values;
        if (!c.add) {
            grad_x.poison();
        }
        char text[160];
        static const char *const names[] = {"f16", "bf16", "f32", "f64"};
        snprintf(text, sizeof text, "2^%d %lldx%lld>%lld %s/%s p%d l%d%s%s%s", c.n_symbol,
                 (long long)c.n_row, (long long)c.n_in, (long long)c.n_out,
                 names[c.dtype - TESS_F16], names[c.weight_dtype - TESS_F16], int(c.precision),
                 int(c.order), c.bias_all ? " all" : "", c.add ? " add" : "",
                 c.wild ? " wild" : "");
        name_ = text;
    }

    tess_stage_clifford_linear stage(int32_t pass, int64_t n_row)
    {
        tess_stage_clifford_linear a = {};
        a.problem.algebra = &algebra_;
        a.problem.n_row = n_row;
        a.problem.n_in = c_.n_in;
        a.problem.n_out = c_.n_out;
        a.problem.dtype = c_.dtype;
        a.problem.weight_dtype = c_.weight_dtype;
        a.problem.precision = c_.precision;
        a.problem.bias_mode = c_.bias_all ? TESS_CL_BIAS_ALL : TESS_CL_BIAS_SCALAR;
        a.problem.pass = pass;
        a.x = x.view();
        a.weight = weight.view();
        a.bias = bias.view();
        a.bias.stride[0] = 1;
        if (pass == TESS_CL_FORWARD) {
            a.out = out.view();
        } else {
            a.grad_out = grad_out.view();
            a.grad_x = grad_x.view();
            a.grad_weight = grad_weight.view();
            a.grad_bias = grad_bias.view();
            a.grad_bias.stride[0] = 1;
            a.add_to_grad_x = c_.add;
        }
        return a;
    }

    void run(int32_t pass, int64_t n_row)
    {
        tess_stage_clifford_linear a = stage(pass, n_row);
        const size_t bytes = tess_cuda_stage_clifford_linear.scratch_bytes(nullptr, &a);
        char *scratch = nullptr;
        must(cudaMalloc(&scratch, bytes + 256), "cudaMalloc");
        must(cudaMemset(scratch, 0xff, bytes + 256), "cudaMemset");
        a.problem.scratch = scratch;
        must(tess_cuda_stage_clifford_linear.launch(nullptr, &a), name_.c_str());
        must(cudaDeviceSynchronize(), name_.c_str());
        std::vector<unsigned char> margin(256);
        must(cudaMemcpy(margin.data(), scratch + bytes, 256, cudaMemcpyDeviceToHost), "margin");
        for (unsigned char byte : margin) {
            if (byte != 0xff) {
                report(name_ + " scratch", 1, 0);
                break;
            }
        }
        (void)cudaFree(scratch);
    }

    void check()
    {
        run(TESS_CL_FORWARD, c_.n_row);
        run(TESS_CL_BACKWARD, c_.n_row);
        std::vector<char> first, again;
        bool clean = out.download(first);
        clean = grad_x.download(again) && clean;
        clean = grad_weight.download(again) && clean;
        clean = grad_bias.download(again) && clean;
        if (!clean) {
            report(name_ + " wrote outside", 1, 0);
        }
        check_values();
        // Half of the rows alone: the same bits.
        if (c_.order == layout::dense && c_.n_row > 1) {
            out.poison();
            run(TESS_CL_FORWARD, c_.n_row / 2);
            again.resize(first.size());
            must(cudaMemcpy(again.data(), out.device, again.size(), cudaMemcpyDeviceToHost),
                 "half");
            bool same = true;
            const size_t row = size_t(c_.n_out) * bytes_of(c_.dtype);
            for (int64_t k = 0; k < d(); k++) {
                const size_t at = size_t(k * c_.n_row) * row;
                same = same && memcmp(&first[at], &again[at], row * size_t(c_.n_row / 2)) == 0;
            }
            if (!same) {
                report(name_ + " rows depend on others", 1, 0);
            }
        }
    }

  private:
    int d() const
    {
        return algebra_.n_component;
    }

    double allowed() const
    {
        if (c_.dtype == TESS_F64) {
            return 1e-13;
        }
        if (c_.dtype == TESS_BF16) {
            return 6e-3;
        }
        return c_.dtype == TESS_F16 ? 1e-3 : c_.precision == TESS_CL_HIGH ? 6e-4 : 1e-6;
    }

    void report_both(const char *part, const errors &e, bool rows)
    {
        report(name_ + part, e.all, allowed());
        if (rows) {
            report(name_ + part + " rows", e.row, 3 * allowed());
        }
    }

    void check_values()
    {
        const double work = double(d()) * double(c_.n_row) * double(c_.n_in) * double(c_.n_out);
        const int64_t step = int64_t(work / 4e7) + 1;
        report_both(" out",
                    compare(out, step,
                            [&](int64_t k, int64_t b, int64_t n) {
                                double sum = k == 0 || c_.bias_all ? bias.at(0, 0, n) : 0;
                                for (int64_t m = 0; m < c_.n_in; m++) {
                                    sum += x.at(k, b, m) * weight.at(algebra_.grade[k], m, n);
                                }
                                return sum;
                            }),
                    c_.n_out >= 8);
        report_both(" grad_x",
                    compare(grad_x, step,
                            [&](int64_t k, int64_t b, int64_t m) {
                                double sum =
                                    c_.add ? initial_[size_t((k * c_.n_row + b) * c_.n_in + m)] : 0;
                                for (int64_t n = 0; n < c_.n_out; n++) {
                                    sum +=
                                        grad_out.at(k, b, n) * weight.at(algebra_.grade[k], m, n);
                                }
                                return sum;
                            }),
                    c_.n_in >= 8);
        report_both(" grad_weight",
                    compare(grad_weight, step,
                            [&](int64_t g, int64_t m, int64_t n) {
                                double sum = 0;
                                for (int64_t k = 0; k < d(); k++) {
                                    for (int64_t b = 0; b < c_.n_row && algebra_.grade[k] == g;
                                         b++) {
                                        sum += x.at(k, b, m) * grad_out.at(k, b, n);
                                    }
                                }
                                return sum;
                            }),
                    false);
        report_both(" grad_bias",
                    compare(grad_bias, 1,
                            [&](int64_t, int64_t, int64_t n) {
                                double sum = 0;
                                for (int64_t k = 0; k < (c_.bias_all ? d() : 1); k++) {
                                    for (int64_t b = 0; b < c_.n_row; b++) {
                                        sum += grad_out.at(k, b, n);
                                    }
                                }
                                return sum;
                            }),
                    false);
    }

    test_case c_;
    tess_cl_algebra algebra_;
    std::string name_;
    std::vector<double> initial_;

  public:
    tensor x, weight, bias, out, grad_out, grad_x, grad_weight, grad_bias;
};

void check_all()
{
    const int32_t types[][3] = {
        {TESS_F32, TESS_F32, TESS_CL_HIGHEST},  {TESS_F32, TESS_F32, TESS_CL_HIGH},
        {TESS_F64, TESS_F64, TESS_CL_HIGHEST},  {TESS_BF16, TESS_BF16, TESS_CL_HIGH},
        {TESS_BF16, TESS_F32, TESS_CL_HIGHEST}, {TESS_F16, TESS_F16, TESS_CL_HIGHEST},
        {TESS_F16, TESS_F32, TESS_CL_HIGH},
    };
    for (const auto &t : types) {
        const bool wide = t[0] == TESS_F32 || t[0] == TESS_F64;
        const test_case cases[] = {
            {2, 1, 1, 1, t[0], t[1], t[2], layout::dense, false, false, false},
            {3, 5, 8, 24, t[0], t[1], t[2], layout::dense, true, true, false},
            {2, 37, 28, 33, t[0], t[1], t[2], layout::padded, false, true, false},
            {3, 130, 64, 64, t[0], t[1], t[2], layout::component_last, false, false, false},
            {3, 300, 128, 136, t[0], t[1], t[2], layout::dense, false, true, wide},
            {4, 129, 65, 72, t[0], t[1], t[2], layout::dense, true, false, false},
            {5, 33, 40, 16, t[0], t[1], t[2], layout::dense, false, false, wide},
            {1, 1030, 257, 200, t[0], t[1], t[2], layout::padded, true, false, false},
        };
        for (const test_case &c : cases) {
            linear_check(c).check();
        }
    }
    linear_check(
        {3, 4096, 512, 512, TESS_F32, TESS_F32, TESS_CL_HIGH, layout::dense, false, true, false})
        .check();
    linear_check({2, 700, 1024, 1088, TESS_F32, TESS_F32, TESS_CL_HIGHEST, layout::dense, false,
                  false, false})
        .check();
}

double median_us(const std::function<void(int)> &work)
{
    cudaEvent_t begin, end;
    must(cudaEventCreate(&begin), "event");
    must(cudaEventCreate(&end), "event");
    for (int n = 0; n < 5; n++) {
        work(n);
    }
    std::vector<float> times;
    for (int n = 0; n < 41; n++) {
        must(cudaEventRecord(begin), "record");
        work(n);
        must(cudaEventRecord(end), "record");
        must(cudaEventSynchronize(end), "bench");
        float ms = 0;
        must(cudaEventElapsedTime(&ms, begin, end), "elapsed");
        times.push_back(ms * 1000);
    }
    std::sort(times.begin(), times.end());
    return double(times[times.size() / 2]);
}

// Stages over three sets of arrays in turn, so that no input is in the cache.
void bench_stage(int n_symbol, int64_t n_row, int64_t n, int32_t dtype, int32_t precision)
{
    constexpr int n_set = 3;
    std::vector<linear_check *> sets;
    for (int s = 0; s < n_set; s++) {
        sets.push_back(new linear_check({n_symbol, n_row, n, n, dtype, TESS_F32, precision,
                                         layout::dense, false, true, false}));
    }
    const tess_stage_clifford_linear all = sets[0]->stage(TESS_CL_BACKWARD, n_row);
    char *scratch = nullptr;
    must(cudaMalloc(&scratch, tess_cuda_stage_clifford_linear.scratch_bytes(nullptr, &all) + 256),
         "scratch");
    const char *const parts[] = {"forward", "backward", "grad_x", "grad_weight", "grad_bias"};
    for (int part = 0; part < 5; part++) {
        const double us = median_us([&](int turn) {
            tess_stage_clifford_linear a = sets[size_t(turn % n_set)]->stage(
                part == 0 ? TESS_CL_FORWARD : TESS_CL_BACKWARD, n_row);
            a.problem.scratch = scratch;
            a.grad_x.data = part == 1 || part == 2 ? a.grad_x.data : nullptr;
            a.grad_weight.data = part == 1 || part == 3 ? a.grad_weight.data : nullptr;
            a.grad_bias.data = part == 1 || part == 4 ? a.grad_bias.data : nullptr;
            must(tess_cuda_stage_clifford_linear.launch(nullptr, &a), "bench");
        });
        const double flop = part == 4 ? 0 : 2.0 * (1 << n_symbol) * double(n_row * n * n);
        printf("bench 2^%d %lldx%lld dtype %d precision %d %s %.1f us (%.0f TF)\n", n_symbol,
               (long long)n_row, (long long)n, int(dtype), int(precision), parts[part], us,
               (part == 1 ? 2 : 1) * flop / us * 1e-6);
    }
    (void)cudaFree(scratch);
    for (linear_check *set : sets) {
        delete set;
    }
}

} // namespace

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        bench_stage(3, 4096, 512, TESS_F32, TESS_CL_HIGH);
        bench_stage(3, 4096, 512, TESS_F32, TESS_CL_HIGHEST);
        bench_stage(3, 4096, 512, TESS_BF16, TESS_CL_HIGH);
        return 0;
    }
    check_all();
    printf("%s: %d failed\n", n_failed == 0 ? "ok" : "FAILED", n_failed);
    return n_failed == 0 ? 0 : 1;
}
