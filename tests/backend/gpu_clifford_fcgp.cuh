// Inputs, algebras and sums in f64 for the checks of stage clifford.fcgp on a GPU.
#ifndef TESS_GPU_CLIFFORD_FCGP_H
#define TESS_GPU_CLIFFORD_FCGP_H

#include "stage/clifford.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

namespace fcgp_test
{

using std::vector;

inline int n_failed = 0;

#define CHECK(call)                                                                                \
    do {                                                                                           \
        const cudaError_t error_ = (call);                                                         \
        if (error_ != cudaSuccess) {                                                               \
            std::printf("FAILED %s: %s\n", #call, cudaGetErrorString(error_));                     \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

// --- algebra ------------------------------------------------------------------------------------

// Blades by grade, then by index tuple: bit masks of their symbols.
inline vector<int> blades_of(int n)
{
    vector<int> masks;
    for (int m = 0; m < 1 << n; m++) {
        masks.push_back(m);
    }
    auto order = [n](int mask) {
        int reversed = 0;
        for (int i = 0; i < n; i++) {
            reversed |= (mask >> i & 1) << (n - 1 - i);
        }
        return __builtin_popcount(unsigned(mask)) * 64 - reversed;
    };
    std::sort(masks.begin(), masks.end(), [&](int l, int r) { return order(l) < order(r); });
    return masks;
}

inline int sign_of(const vector<int> &metric, int left, int right)
{
    int sign = 1;
    for (int s = 1; s < int(metric.size()); s++) {
        sign *= __builtin_popcount(unsigned(left >> s & right)) % 2 != 0 ? -1 : 1;
    }
    for (int i = 0; i < int(metric.size()); i++) {
        sign *= ((left & right) >> i & 1) != 0 ? metric[size_t(i)] : 1;
    }
    return sign;
}

inline tess_clifford_algebra algebra_of(const vector<int> &metric)
{
    tess_clifford_algebra a = {};
    a.metric.n_symbol = int32_t(metric.size());
    for (size_t i = 0; i < metric.size(); i++) {
        a.metric.square[i] = int8_t(metric[i]);
    }
    const vector<int> masks = blades_of(int(metric.size()));
    a.n_component = int(masks.size());
    a.n_grade = int(metric.size()) + 1;
    for (int k = 0; k < a.n_component; k++) {
        a.grade[k] = uint8_t(__builtin_popcount(unsigned(masks[size_t(k)])));
        const int reverse = a.grade[k] * (a.grade[k] - 1) / 2 % 2 != 0 ? -1 : 1;
        a.eta[k] = int8_t(reverse * sign_of(metric, masks[size_t(k)], masks[size_t(k)]));
    }
    int rank[6][6][6] = {};
    for (int k = 0; k < a.n_component; k++) {
        for (int i = 0; i < a.n_component; i++) {
            for (int j = 0; j < a.n_component; j++) {
                const int sign = sign_of(metric, masks[size_t(i)], masks[size_t(j)]);
                if ((masks[size_t(i)] ^ masks[size_t(j)]) == masks[size_t(k)] && sign != 0) {
                    a.terms[a.n_term++] = {uint8_t(k), uint8_t(i), uint8_t(j), 0, sign};
                    rank[a.grade[i]][a.grade[k]][a.grade[j]] = 1;
                }
            }
        }
    }
    for (auto &plane : rank) {
        for (auto &line : plane) {
            for (int &cell : line) {
                cell = cell != 0 ? a.n_path++ : -1;
            }
        }
    }
    std::set<std::pair<int, int>> pairs;
    for (int t = 0; t < a.n_term; t++) {
        tess_clifford_term &term = a.terms[t];
        term.path = uint8_t(rank[a.grade[term.i]][a.grade[term.k]][a.grade[term.j]]);
        a.path_out[term.path] = a.grade[term.k];
        pairs.insert({term.k, term.path});
    }
    a.n_pair = int32_t(pairs.size());
    return a;
}

// --- arrays -------------------------------------------------------------------------------------

inline uint64_t random_state = 0x9e3779b97f4a7c15u;

inline double uniform()
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return double(random_state >> 11) * 0x1p-53;
}

inline double normal()
{
    return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform());
}

inline size_t size_of(int32_t dtype)
{
    return dtype == TESS_F64 ? 8 : dtype == TESS_F32 ? 4 : 2;
}

inline double get(const void *data, int32_t dtype, int64_t i)
{
    switch (dtype) {
    case TESS_F64:
        return static_cast<const double *>(data)[i];
    case TESS_F32:
        return double(static_cast<const float *>(data)[i]);
    case TESS_F16:
        return double(__half2float(static_cast<const __half *>(data)[i]));
    default:
        return double(__bfloat162float(static_cast<const __nv_bfloat16 *>(data)[i]));
    }
}

inline void put(void *data, int32_t dtype, int64_t i, double value)
{
    switch (dtype) {
    case TESS_F64:
        static_cast<double *>(data)[i] = value;
        break;
    case TESS_F32:
        static_cast<float *>(data)[i] = float(value);
        break;
    case TESS_F16:
        static_cast<__half *>(data)[i] = __float2half_rn(float(value));
        break;
    default:
        static_cast<__nv_bfloat16 *>(data)[i] = __float2bfloat16_rn(float(value));
    }
}

enum layout { plain, channel_last, padded };

// A device array of shape (a, b, c), its host copy, and its values in f64 in plain order.
struct array {
    int32_t dtype = TESS_F32;
    int64_t shape[3] = {0, 0, 0};
    int64_t stride[3] = {0, 0, 0};
    int64_t offset = 0;
    vector<char> host;
    char *device = nullptr;
    vector<double> values;

    void make(int32_t type, int64_t a, int64_t b, int64_t c, layout order)
    {
        dtype = type;
        shape[0] = a;
        shape[1] = b;
        shape[2] = c;
        offset = order == padded ? 3 : 0;
        const int64_t row = order == padded ? c + 5 : c;
        if (order == channel_last) {
            stride[0] = 1;
            stride[1] = a * c;
            stride[2] = a;
        } else {
            stride[0] = b * row;
            stride[1] = row;
            stride[2] = 1;
        }
        host.assign(size_t(a * b * row + offset) * size_of(type), char(0xff));
        CHECK(cudaMalloc(reinterpret_cast<void **>(&device), host.size()));
        CHECK(cudaMemset(device, 0xff, host.size()));
    }
    int64_t at(int64_t i) const
    {
        const int64_t row = i / shape[2];
        return offset + row / shape[1] * stride[0] + row % shape[1] * stride[1] +
               i % shape[2] * stride[2];
    }
    // scale(row) multiplies rows, so that ranges are tried.
    void fill(double scale, bool spread)
    {
        values.assign(size_t(shape[0] * shape[1] * shape[2]), 0);
        vector<double> of_row(size_t(shape[1]), scale);
        for (double &s : of_row) {
            s *= spread ? std::exp2(std::floor(40 * uniform()) - 20) : 1;
        }
        for (int64_t i = 0; i < int64_t(values.size()); i++) {
            put(host.data(), dtype, at(i), normal() * of_row[size_t(i / shape[2] % shape[1])]);
            values[size_t(i)] = get(host.data(), dtype, at(i));
        }
        CHECK(cudaMemcpy(device, host.data(), host.size(), cudaMemcpyHostToDevice));
    }
    // The same million numbers over and over, for measurements.
    void fill_fast(double scale)
    {
        constexpr int64_t period = 1000003;
        const int64_t n_item = int64_t(host.size() / size_of(dtype));
        const int64_t n = std::min(period, n_item);
        for (int64_t i = 0; i < n; i++) {
            put(host.data(), dtype, i, normal() * scale);
        }
        for (int64_t i = period; i < n_item; i += period) {
            std::memcpy(host.data() + size_t(i) * size_of(dtype), host.data(),
                        size_t(std::min(period, n_item - i)) * size_of(dtype));
        }
        CHECK(cudaMemcpy(device, host.data(), host.size(), cudaMemcpyHostToDevice));
    }
    void fetch()
    {
        values.assign(size_t(shape[0] * shape[1] * shape[2]), 0);
        CHECK(cudaMemcpy(host.data(), device, host.size(), cudaMemcpyDeviceToHost));
        for (int64_t i = 0; i < int64_t(values.size()); i++) {
            values[size_t(i)] = get(host.data(), dtype, at(i));
        }
    }
    void drop()
    {
        CHECK(cudaFree(device));
        device = nullptr;
    }
    tess_cl_view view() const
    {
        return {device + size_t(offset) * size_of(dtype), {stride[0], stride[1], stride[2]}};
    }
};

// --- reference ----------------------------------------------------------------------------------

struct problem {
    const char *name;
    vector<int> metric;
    int64_t n_row, n_in, n_out;
    int32_t dtype, weight_dtype;
    int32_t activation, normalize, norm_metric, precision;
    layout order;
    uint64_t mask;
    bool saved;  // the backward pass gets z and r
    bool spread; // rows of very different sizes
};

inline double gate(int activation, double s, double *slope)
{
    const double pdf = std::exp(-0.5 * s * s) / std::sqrt(2 * M_PI);
    const double root = std::sqrt(2 / M_PI);
    const double t = std::tanh(root * (s + 0.044715 * s * s * s));
    const double sigmoid = 1 / (1 + std::exp(-s));
    switch (activation) {
    case TESS_CLIFFORD_GELU:
        *slope = pdf;
        return 0.5 * std::erfc(-s / std::sqrt(2));
    case TESS_CLIFFORD_GELU_TANH:
        *slope = 0.5 * (1 + t) + 0.5 * s * (1 - t * t) * root * (1 + 3 * 0.044715 * s * s);
        return 0.5 * s * (1 + t);
    case TESS_CLIFFORD_RELU:
        *slope = s > 0 ? 1 : 0;
        return s > 0 ? s : 0;
    case TESS_CLIFFORD_SIGMOID:
        *slope = sigmoid * (1 - sigmoid);
        return sigmoid;
    default:
        *slope = 0;
        return 1;
    }
}

struct reference {
    const problem &c;
    const tess_clifford_algebra &a;
    int64_t B, N, M; // rows, in, out
    vector<double> X, Y, o, z, r, h, gx, gy, gw;

    reference(const problem &one, const tess_clifford_algebra &algebra)
        : c(one), a(algebra), B(one.n_row), N(one.n_in), M(one.n_out)
    {
    }
    vector<double> gated(const vector<double> &x) const
    {
        vector<double> out = x;
        for (int64_t i = 0; i < int64_t(x.size()); i++) {
            double slope;
            out[size_t(i)] *= gate(c.activation, x[size_t(i % (B * N))], &slope);
        }
        return out;
    }
    bool takes(const tess_clifford_term &t) const
    {
        return c.mask >> t.path & 1;
    }
    void forward(const vector<double> &x, const vector<double> &y, const vector<double> &w)
    {
        X = gated(x);
        Y = gated(y);
        o.assign(size_t(a.n_component * B * M), 0);
        for (int t = 0; t < a.n_term; t++) {
            const tess_clifford_term &term = a.terms[t];
            for (int64_t e = 0; takes(term) && e < B * N; e++) {
                const double q =
                    term.sign * X[size_t(term.i * B * N + e)] * Y[size_t(term.j * B * N + e)];
                const double *line = &w[size_t((term.path * N + e % N) * M)];
                double *out = &o[size_t((term.k * B + e / N) * M)];
                for (int64_t n = 0; n < M; n++) {
                    out[n] += q * line[n];
                }
            }
        }
        norm();
    }
    double kappa(int g, int64_t b, int64_t n, bool weighted) const
    {
        double sum = 0;
        for (int k = 0; k < a.n_component; k++) {
            const double v = o[size_t((k * B + b) * M + n)];
            sum += a.grade[k] == g ? (weighted ? a.eta[k] : 1) * v * v : 0;
        }
        return sum;
    }
    void norm()
    {
        z = o;
        r.assign(size_t(a.n_grade * B), 1);
        for (int64_t b = 0; c.normalize && b < B; b++) {
            double all = 0;
            for (int g = 0; g < a.n_grade; g++) {
                double sum = 0;
                for (int64_t n = 0; n < M; n++) {
                    const double v = kappa(g, b, n, c.norm_metric != TESS_CLIFFORD_NORM_EUCLID);
                    sum += c.norm_metric == TESS_CLIFFORD_NORM_ABS ? std::fabs(v) : v;
                }
                all += sum / double(M);
                r[size_t(g * B + b)] = std::sqrt(sum / double(M) + 1e-6);
            }
            for (int g = 0; g < a.n_grade && c.norm_metric == TESS_CLIFFORD_NORM_CLAMP; g++) {
                r[size_t(g * B + b)] = std::sqrt(std::max(all, 1e-6));
            }
            for (int64_t i = 0; i < a.n_component * M; i++) {
                z[size_t((i / M * B + b) * M + i % M)] /= r[size_t(a.grade[i / M] * B + b)];
            }
        }
    }
    void norm_backward(const vector<double> &gz)
    {
        h = gz;
        for (int64_t b = 0; c.normalize && b < B; b++) {
            vector<double> d(size_t(a.n_grade), 0);
            double all = 0;
            for (int64_t i = 0; i < a.n_component * M; i++) {
                const size_t e = size_t((i / M * B + b) * M + i % M);
                d[a.grade[i / M]] += gz[e] * z[e] / double(M);
                all += gz[e] * z[e] / double(M);
            }
            for (int64_t i = 0; i < a.n_component * M; i++) {
                const int k = int(i / M);
                const int g = a.grade[k];
                const size_t e = size_t((k * B + b) * M + i % M);
                const double root = r[size_t(g * B + b)];
                double part = z[e] * d[size_t(g)];
                if (c.norm_metric == TESS_CLIFFORD_NORM_ABS) {
                    part *= a.eta[k] * (kappa(g, b, i % M, true) > 0 ? 1 : -1);
                } else if (c.norm_metric == TESS_CLIFFORD_NORM_CLAMP) {
                    part = root * root > 1.000001e-6 ? a.eta[k] * z[e] * all : 0;
                }
                h[e] = (gz[e] - part) / root;
            }
        }
    }
    vector<double> gate_back(const vector<double> &x, const vector<double> &S) const
    {
        vector<double> out = S;
        for (int64_t e = 0; e < B * N; e++) {
            double slope;
            const double f = gate(c.activation, x[size_t(e)], &slope);
            double dot = 0;
            for (int k = 0; k < a.n_component; k++) {
                dot += x[size_t(k * B * N + e)] * S[size_t(k * B * N + e)];
                out[size_t(k * B * N + e)] *= f;
            }
            out[size_t(e)] += slope * dot;
        }
        return out;
    }
    void backward(const vector<double> &x, const vector<double> &y, const vector<double> &w,
                  const vector<double> &gz)
    {
        norm_backward(gz);
        vector<double> S(X.size(), 0);
        vector<double> R(X.size(), 0);
        gw.assign(w.size(), 0);
        for (int t = 0; t < a.n_term; t++) {
            const tess_clifford_term &term = a.terms[t];
            for (int64_t e = 0; takes(term) && e < B * N; e++) {
                const size_t i = size_t(term.i * B * N + e);
                const size_t j = size_t(term.j * B * N + e);
                const double q = term.sign * X[i] * Y[j];
                const size_t line = size_t((term.path * N + e % N) * M);
                const double *hb = &h[size_t((term.k * B + e / N) * M)];
                double gq = 0;
                for (int64_t n = 0; n < M; n++) {
                    gq += hb[n] * w[line + size_t(n)];
                    gw[line + size_t(n)] += q * hb[n];
                }
                S[i] += term.sign * gq * Y[j];
                R[j] += term.sign * gq * X[i];
            }
        }
        gx = gate_back(x, S);
        gy = gate_back(y, R);
    }
};

} // namespace fcgp_test

#endif
