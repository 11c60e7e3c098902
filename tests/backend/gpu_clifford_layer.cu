// Stage clifford.layer on a GPU by itself: z, the linear map and the statistics against f64 on the
// host; with --bench, times. ./dev gpu runs it.

// clang-format off
#include "backend/cuda/clifford/layer/layer.cu"
// clang-format on

#include "gpu_clifford_arrays.h"
#include "gpu_clifford_reference.h"

#include <algorithm>

namespace
{

int n_failed = 0;
const tess_host no_host = {};

tess_status no_message(void *, tess_status status, const char *, ...)
{
    return status;
}

struct layer_case {
    int n_symbol;
    int64_t n_row, n;
    int activation, normalize, bias_all, keeps, has_bias;
};

struct layer_check {
    explicit layer_check(const layer_case &of)
        : c(of), algebra(make_algebra(of.n_symbol == 2 ? "++" : "+++")),
          s{&algebra,
            of.n_row,
            of.n,
            ~uint64_t(0),
            of.activation,
            of.normalize,
            TESS_CLIFFORD_NORM_EUCLID,
            1e-6},
          x(algebra.n_component, of.n_row, of.n, TESS_F32, component_major),
          weight(1, of.n, algebra.n_path, TESS_F32, component_major),
          linear_weight(algebra.n_grade, of.n, of.n, TESS_F32, component_major),
          bias(1, 1, of.n, TESS_F32, component_major),
          out(algebra.n_component, of.n_row, of.n, TESS_F32, component_major),
          linear_out(algebra.n_component, of.n_row, of.n, TESS_F32, component_major),
          statistics(1, algebra.n_grade, of.n_row, TESS_F32, component_major)
    {
        random_source draw(uint64_t(of.n * 131 + of.n_row));
        values_x = draw.normals(s.items());
        values_w = draw.normals(of.n * algebra.n_path);
        values_linear = draw.normals(algebra.n_grade * of.n * of.n);
        values_bias = draw.normals(of.n);
        for (double &v : values_linear) {
            v /= sqrt(double(of.n));
        }
        x.put(values_x);
        weight.put(values_w);
        linear_weight.put(values_linear);
        bias.put(values_bias);
    }

    tess_stage_clifford_layer stage(int64_t n_row) const
    {
        tess_stage_clifford_layer a = {};
        a.problem.algebra = &algebra;
        a.problem.path_mask = (uint64_t(1) << algebra.n_path) - 1;
        a.problem.n_row = n_row;
        a.problem.n_in = a.problem.n_out = c.n;
        a.problem.dtype = a.problem.weight_dtype = TESS_F32;
        a.problem.pass = TESS_CLIFFORD_FORWARD;
        a.problem.activation = c.activation;
        a.problem.normalize = c.normalize;
        a.problem.norm_metric = TESS_CLIFFORD_NORM_EUCLID;
        a.problem.bias_mode = c.bias_all ? TESS_CLIFFORD_BIAS_ALL : TESS_CLIFFORD_BIAS_SCALAR;
        a.problem.precision = TESS_CLIFFORD_HIGH;
        a.problem.eps = 1e-6;
        a.x = x.view();
        a.weight = weight.view();
        a.weight.stride[0] = algebra.n_path;
        a.weight.stride[1] = 1;
        a.linear_weight = linear_weight.view();
        a.bias = bias.view();
        a.bias.stride[0] = 1;
        a.bias.data = c.has_bias ? a.bias.data : nullptr;
        a.out = out.view();
        if (c.keeps) {
            a.linear_out = linear_out.view();
        }
        a.statistics = c.normalize ? statistics.view().data : nullptr;
        return a;
    }

    void run(int64_t n_row) const
    {
        const tess_stage_clifford_layer a = stage(n_row);
        CHECK_CUDA(tess_cuda_stage_clifford_layer.launch(nullptr, &a));
        CHECK_CUDA(cudaDeviceSynchronize());
    }

    bool is_supported() const
    {
        tess_host host = no_host;
        host.fail = no_message;
        tess_backend_device device = {&host, 0, {}};
        const tess_stage_clifford_layer a = stage(c.n_row);
        return tess_cuda_stage_clifford_layer.supports(&device, &a) == TESS_OK;
    }

    void report(const char *part, double error, double allowed) const
    {
        const bool good = error <= allowed;
        printf("%s layer 2^%d %lldx%lld act %d norm %d all %d keeps %d bias %d %s %.3g (%.3g)\n",
               good ? "ok" : "FAILED", c.n_symbol, (long long)c.n_row, (long long)c.n, c.activation,
               c.normalize, c.bias_all, c.keeps, c.has_bias, part, error, allowed);
        n_failed += !good;
    }

    static double distance(const numbers &found, const numbers &wanted)
    {
        double off = 0;
        double size = 0;
        for (size_t i = 0; i < wanted.size(); i++) {
            off += (found[i] - wanted[i]) * (found[i] - wanted[i]);
            size += wanted[i] * wanted[i];
        }
        return sqrt(off / size);
    }

    numbers reference_linear() const
    {
        numbers y(values_x.size());
        for (int k = 0; k < algebra.n_component; k++) {
            for (int64_t b = 0; b < c.n_row; b++) {
                for (int64_t i = 0; i < c.n; i++) {
                    y[s.at(k, b, i)] =
                        c.has_bias && (k == 0 || c.bias_all) ? values_bias[size_t(i)] : 0;
                }
                for (int64_t m = 0; m < c.n; m++) {
                    const double of = values_x[s.at(k, b, m)];
                    const double *row = &values_linear[size_t((algebra.grade[k] * c.n + m) * c.n)];
                    for (int64_t i = 0; i < c.n; i++) {
                        y[s.at(k, b, i)] += of * row[i];
                    }
                }
            }
        }
        return y;
    }

    // The sums of TF32 are off by 3e-4 of a row; products and norms make it a few times that.
    void check()
    {
        if (!is_supported()) {
            printf("skipped: layer 2^%d of %lld features\n", c.n_symbol, (long long)c.n);
            return;
        }
        run(c.n_row);
        const numbers y = reference_linear();
        const sgp_results wanted = reference_sgp(s, values_x, y, values_w, values_x);
        numbers z;
        numbers found;
        const bool clean = out.get(z);
        report("z", clean ? distance(z, wanted.z) : 1, 1.5e-3);
        if (c.keeps) {
            report("y", linear_out.get(found) ? distance(found, y) : 1, 6e-4);
        }
        if (c.normalize) {
            report("r", statistics.get(found) ? distance(found, wanted.statistics) : 1, 1e-3);
        }
        // Again, and fewer rows alone: the same bits.
        numbers again;
        out.poison();
        run(c.n_row);
        (void)out.get(again);
        report("again", again == z ? 0 : 1, 0);
        if (c.n_row > 1) {
            out.poison();
            run(c.n_row / 2);
            (void)out.get(again);
            bool same = true;
            for (int k = 0; k < algebra.n_component; k++) {
                for (int64_t i = 0; i < c.n_row / 2 * c.n; i++) {
                    same = same && again[s.at(k, 0, i)] == z[s.at(k, 0, i)];
                }
            }
            report("rows alone", same ? 0 : 1, 0);
        }
    }

    layer_case c;
    tess_clifford_algebra algebra;
    setting s;
    numbers values_x, values_w, values_linear, values_bias;
    device_array x, weight, linear_weight, bias, out, linear_out, statistics;
};

void bench(int n_symbol, int64_t n_row, int keeps)
{
    layer_check of({n_symbol, n_row, 128, TESS_CLIFFORD_GELU, 1, 0, keeps, 1});
    if (!of.is_supported()) {
        return;
    }
    const tess_stage_clifford_layer a = of.stage(n_row);
    cudaEvent_t begin, end;
    CHECK_CUDA(cudaEventCreate(&begin));
    CHECK_CUDA(cudaEventCreate(&end));
    std::vector<float> times;
    constexpr int n_call = 20;
    for (int turn = 0; turn < 25; turn++) {
        CHECK_CUDA(cudaEventRecord(begin));
        for (int i = 0; i < n_call; i++) {
            CHECK_CUDA(tess_cuda_stage_clifford_layer.launch(nullptr, &a));
        }
        CHECK_CUDA(cudaEventRecord(end));
        CHECK_CUDA(cudaEventSynchronize(end));
        float ms = 0;
        CHECK_CUDA(cudaEventElapsedTime(&ms, begin, end));
        times.push_back(ms * 1000 / n_call);
    }
    std::sort(times.begin(), times.end());
    printf("layer 2^%d %lld x 128%s: %.2f us\n", n_symbol, (long long)n_row,
           keeps ? ", map kept" : "", double(times[times.size() / 2]));
}

} // namespace

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        for (int n_symbol = 2; n_symbol <= 3; n_symbol++) {
            for (int64_t n_row : {64, 1024, 4096, 16384}) {
                bench(n_symbol, n_row, 0);
                bench(n_symbol, n_row, 1);
            }
        }
        return 0;
    }
    const bool is_brief = argc > 1 && strcmp(argv[1], "--brief") == 0;
    for (int n_symbol = 2; n_symbol <= 3; n_symbol++) {
        layer_check({n_symbol, 37, 128, TESS_CLIFFORD_GELU, 1, 0, 1, 1}).check();
        layer_check({n_symbol, 1, 40, TESS_CLIFFORD_SILU, 1, 1, 0, 1}).check();
        layer_check({n_symbol, 50, 96, TESS_CLIFFORD_IDENTITY, 0, 1, 1, 1}).check();
        if (is_brief) {
            continue;
        }
        layer_check({n_symbol, 1024, 128, TESS_CLIFFORD_GELU, 1, 0, 0, 0}).check();
        layer_check({n_symbol, 2500, 64, TESS_CLIFFORD_GELU, 1, 0, 1, 1}).check();
        layer_check({n_symbol, 5001, 120, TESS_CLIFFORD_TANH, 1, 1, 1, 1}).check();
    }
    printf("%s: %d failed\n", n_failed == 0 ? "ok" : "FAILED", n_failed);
    return n_failed == 0 ? 0 : 1;
}
