// Arrays on a GPU beside their values on the host, and times: what the programs of clifford's CUDA
// stages share. Include it once per program.
#ifndef TESS_TEST_GPU_CLIFFORD_CUH
#define TESS_TEST_GPU_CLIFFORD_CUH

#include "stage/clifford.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
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

enum class layout { dense, component_last, padded, spaced };

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
            const int64_t gap = order == layout::padded ? 3 : order == layout::spaced ? 4 : 0;
            stride[2] = 1;
            stride[1] = c + gap;
            stride[0] = stride[1] * b + 3 * gap;
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

    // Normal items; wild: rows of very different size, 2^-spread to 2^spread.
    void fill(double scale, bool wild, int spread = 30)
    {
        // Large arrays take theirs from a table: drawing each would outlast the test.
        std::normal_distribution<double> normal;
        std::vector<double> table(values.size() > 4000000 ? 1 << 20 : 0);
        for (double &item : table) {
            item = normal(random_bits);
        }
        size_t drawn = 0;
        for (int64_t i = 0; i < shape[0]; i++) {
            for (int64_t j = 0; j < shape[1]; j++) {
                const double row =
                    wild ? std::ldexp(scale, int(random_bits() % unsigned(2 * spread + 1)) - spread)
                         : scale;
                for (int64_t k = 0; k < shape[2]; k++) {
                    const double item = table.empty() ? normal(random_bits)
                                                      : table[drawn++ * 2654435761u % table.size()];
                    at(i, j, k) = round_to(dtype, row * item);
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

tess_clifford_algebra algebra_of(int n_symbol)
{
    tess_clifford_algebra algebra = {};
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

} // namespace

#endif
