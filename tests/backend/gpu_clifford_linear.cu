// Stage clifford.linear on a GPU by itself: every path against f64 on the host, over odd shapes,
// types and strides; with --bench, times. ./dev gpu runs it.

// clang-format off
#include "backend/cuda/clifford/linear/linear.cu"
#include "backend/cuda/clifford/linear/linear_bias.cu"
#include "backend/cuda/clifford/linear/linear_f32.cu"
#include "backend/cuda/clifford/linear/linear_general.cu"
#include "backend/cuda/clifford/linear/linear_prepare.cu"
#include "backend/cuda/clifford/linear/linear_rows.cu"
#include "backend/cuda/clifford/linear/linear_sums.cu"
#include "backend/cuda/clifford/linear/linear_tensor.cu"
#include "backend/cuda/clifford/linear/linear_wgmma.cu"
#include "backend/cuda/clifford/linear/linear_wgmma_sums.cu"
#include "backend/cuda/clifford/common/boxes.cu"
// clang-format on

#include "gpu_clifford_arrays.cuh"

namespace
{

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

struct linear_check {
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
        a.problem.bias_mode = c_.bias_all ? TESS_CLIFFORD_BIAS_ALL : TESS_CLIFFORD_BIAS_SCALAR;
        a.problem.pass = pass;
        a.x = x.view();
        a.weight = weight.view();
        a.bias = bias.view();
        a.bias.stride[0] = 1;
        if (pass == TESS_CLIFFORD_FORWARD) {
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
        run(TESS_CLIFFORD_FORWARD, c_.n_row);
        run(TESS_CLIFFORD_BACKWARD, c_.n_row);
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
            run(TESS_CLIFFORD_FORWARD, c_.n_row / 2);
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
        return c_.dtype == TESS_F16 ? 1e-3 : c_.precision == TESS_CLIFFORD_HIGH ? 6e-4 : 1e-6;
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
    tess_clifford_algebra algebra_;
    std::string name_;
    std::vector<double> initial_;

  public:
    tensor x, weight, bias, out, grad_out, grad_x, grad_weight, grad_bias;
};

// Wide enough for warpgroups.
void check_wide()
{
    const test_case wide[] = {
        {3, 300, 256, 264, TESS_F32, TESS_F32, TESS_CLIFFORD_HIGH, layout::dense, false, true,
         true},
        {2, 500, 1024, 1088, TESS_F32, TESS_F32, TESS_CLIFFORD_HIGH, layout::dense, true, false,
         false},
        {1, 65, 580, 196, TESS_F32, TESS_F32, TESS_CLIFFORD_HIGH, layout::dense, true, true, true},
        {3, 333, 512, 256, TESS_BF16, TESS_F32, TESS_CLIFFORD_HIGH, layout::dense, false, true,
         false},
        {3, 333, 256, 512, TESS_F16, TESS_F16, TESS_CLIFFORD_HIGH, layout::dense, false, true,
         false},
    };
    for (const test_case &c : wide) {
        linear_check(c).check();
    }
}

// As few features as matrix units take: rows and sums through copies, or converted on the way.
void check_narrow()
{
    const int32_t types[][2] = {{TESS_F32, TESS_CLIFFORD_HIGH},
                                {TESS_F32, TESS_CLIFFORD_HIGHEST},
                                {TESS_BF16, TESS_CLIFFORD_HIGH},
                                {TESS_F16, TESS_CLIFFORD_HIGH}};
    for (const auto &t : types) {
        linear_check({3, 150, 32, 64, t[0], TESS_F32, t[1], layout::dense, false, true, false})
            .check();
        linear_check({2, 70, 128, 40, t[0], TESS_F32, t[1], layout::padded, true, true, false})
            .check();
    }
}

void check_all()
{
    const int32_t types[][3] = {
        {TESS_F32, TESS_F32, TESS_CLIFFORD_HIGHEST},  {TESS_F32, TESS_F32, TESS_CLIFFORD_HIGH},
        {TESS_F64, TESS_F64, TESS_CLIFFORD_HIGHEST},  {TESS_BF16, TESS_BF16, TESS_CLIFFORD_HIGH},
        {TESS_BF16, TESS_F32, TESS_CLIFFORD_HIGHEST}, {TESS_F16, TESS_F16, TESS_CLIFFORD_HIGHEST},
        {TESS_F16, TESS_F32, TESS_CLIFFORD_HIGH},
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
    linear_check({3, 4096, 512, 512, TESS_F32, TESS_F32, TESS_CLIFFORD_HIGH, layout::dense, false,
                  true, false})
        .check();
    linear_check({2, 700, 1024, 1088, TESS_F32, TESS_F32, TESS_CLIFFORD_HIGHEST, layout::dense,
                  false, false, false})
        .check();
    check_wide();
}

} // namespace

#include "gpu_clifford_linear_bench.cuh"

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        if (tess_cuda_level_here() == TESS_CUDA_GROUPS) { // parts are those of warpgroups
            bench_parts(4096, 512);
            bench_shapes(4096, 512);
            bench_shapes(1024, 128);
        }
        bench_stage(3, 1024, 128, TESS_F32, TESS_CLIFFORD_HIGH);
        bench_stage(3, 4096, 512, TESS_F32, TESS_CLIFFORD_HIGH);
        bench_stage(3, 4096, 512, TESS_F32, TESS_CLIFFORD_HIGHEST);
        bench_stage(3, 4096, 512, TESS_BF16, TESS_CLIFFORD_HIGH);
        return 0;
    }
    // --wide: few enough for the tools that look at every access.
    if (argc > 1 && strcmp(argv[1], "--wide") == 0) {
        check_wide();
    } else if (argc > 1 && strcmp(argv[1], "--narrow") == 0) {
        check_narrow();
    } else {
        check_narrow();
        check_all();
    }
    printf("%s: %d failed\n", n_failed == 0 ? "ok" : "FAILED", n_failed);
    return n_failed == 0 ? 0 : 1;
}
