// Checks the stages GATE, NORM and SGP on a GPU against f64 on the host; --bench [LABEL [ROWS
// FEATURES]] times SGP, --streams [ROWS [FEATURES]] checks the widths with kernels of their own
// alone, or one of them, --small less of everything. ./dev gpu runs it.

#include "gpu_clifford_arrays.h"
#include "gpu_clifford_reference.h"

#include "backend/cuda/clifford/stages.h"

#include <cstdlib>
#include <string>

void bench_sgp(const std::string &only, int64_t n_row, int64_t n);

namespace
{

int n_failed = 0;

void verdict(const std::string &name, double error, double allowed)
{
    if (!(error <= allowed)) {
        printf("FAILED %s error %.3g allowed %.3g\n", name.c_str(), error, allowed);
        n_failed++;
    }
}

double norm_of(const numbers &a)
{
    double sum = 0;
    for (double v : a) {
        sum += v * v;
    }
    return sqrt(sum);
}

// Relative error by the norm, or a twentieth of the largest relative to the largest item. parts:
// what the wanted numbers are a difference of, if that is larger.
double error_of(const numbers &got, const numbers &want, const numbers &parts)
{
    numbers difference(want.size());
    double worst = 0;
    double largest = 0;
    for (size_t i = 0; i < want.size(); i++) {
        difference[i] = got[i] - want[i];
        if (!(fabs(difference[i]) <= 1e300)) {
            return INFINITY;
        }
        worst = fmax(worst, fabs(difference[i]));
        largest = fmax(largest, fmax(fabs(want[i]), fabs(parts[i])));
    }
    if (largest == 0) {
        return worst;
    }
    return fmax(norm_of(difference) / fmax(norm_of(want), norm_of(parts)), worst / largest / 20);
}

double allowed_for(int dtype)
{
    return dtype == TESS_F64 ? 1e-13 : dtype == TESS_F32 ? 5e-7 : dtype == TESS_BF16 ? 6e-3 : 1e-3;
}

// f32 beside 16-bit items is as good as their gates: r, and from it sums.
constexpr double allowed_beside_16_bits = 3e-5;

struct test_case {
    const char *signs;
    int64_t n_row;
    int64_t n;
    int dtype;
    layout how;
    int activation;
    int normalize;
    int metric;
    int options;
};

enum {
    f32_weights = 1,
    no_weights = 2,
    some_paths = 4,
    without_statistics = 8,
    only_weights = 16,
    strided_weights = 32,
    brief_gates = 64, // of 16-bit items, as kernels of their own have them
};

// Factors near 0 in all of a few features, or a quadratic form near 0, make the norm magnify
// rounding.
double slack_for(const test_case &c)
{
    if (c.metric != TESS_CLIFFORD_NORM_EUCLID && strpbrk(c.signs, "-0") != nullptr) {
        return 40;
    }
    return c.n < 32 ? 8 : 1;
}

std::string name_of(const test_case &c, const char *what)
{
    char text[160];
    snprintf(text, sizeof(text), "%s (%s) %lldx%lld dtype %d layout %d act %d norm %d/%d opt %d",
             what, c.signs, static_cast<long long>(c.n_row), static_cast<long long>(c.n), c.dtype,
             int(c.how), c.activation, c.normalize, c.metric, c.options);
    return text;
}

setting setting_of(const test_case &c, const tess_clifford_algebra &algebra)
{
    const uint64_t all = (uint64_t(1) << algebra.n_path) - 1;
    return {&algebra,     c.n_row,     c.n,      c.options & some_paths ? all & 0x5a6b3cd9u : all,
            c.activation, c.normalize, c.metric, shares_root(c.metric) ? 0.01 : 1e-6};
}

tess_cl_problem problem_of(const setting &s, int dtype, int weight_dtype, int pass)
{
    tess_cl_problem p;
    memset(&p, 0, sizeof(p));
    p.algebra = s.algebra;
    p.path_mask = s.path_mask;
    p.n_row = s.n_row;
    p.n_in = s.n;
    p.n_out = s.n;
    p.dtype = dtype;
    p.weight_dtype = weight_dtype;
    p.pass = pass;
    p.activation = s.activation;
    p.normalize = s.normalize;
    p.norm_metric = s.metric;
    p.eps = s.eps;
    return p;
}

// Runs a stage with poisoned scratch of the size it asks for.
template <typename Args>
void run_stage(const tess_cuda_stage &stage, Args args, cudaStream_t stream = nullptr)
{
    const size_t bytes = stage.scratch_bytes(nullptr, &args);
    void *scratch = nullptr;
    CHECK_CUDA(cudaMalloc(&scratch, bytes + 256));
    CHECK_CUDA(cudaMemset(scratch, 0xff, bytes + 256));
    args.problem.scratch = bytes > 0 ? scratch : nullptr;
    CHECK_CUDA(stage.launch(stream, &args));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    std::vector<unsigned char> tail(256);
    CHECK_CUDA(
        cudaMemcpy(tail.data(), static_cast<char *>(scratch) + bytes, 256, cudaMemcpyDeviceToHost));
    for (unsigned char byte : tail) {
        if (byte != 0xff) {
            verdict(std::string(stage.name) + ": writes behind its scratch", 1, 0);
            break;
        }
    }
    CHECK_CUDA(cudaFree(scratch));
}

void compare(const test_case &c, const char *what, const device_array &array, const numbers &want,
             double allowed, const numbers &parts)
{
    numbers got;
    const bool is_clean = array.get(got);
    verdict(name_of(c, what), error_of(got, want, parts), allowed);
    verdict(name_of(c, what) + ": writes between its items", is_clean ? 0 : 1, 0);
}

// The backward pass, given the arguments of the forward pass and what it must give.
void check_sgp_backward(const test_case &c, tess_stage_clifford_sgp args, layout weights_how,
                        const sgp_results &want, const sgp_results &parts)
{
    const tess_clifford_algebra &algebra = *args.problem.algebra;
    const int64_t D = algebra.n_component;
    const int weight_dtype = args.problem.weight_dtype;
    device_array dgx(D, c.n_row, c.n, c.dtype, c.how), dgy(D, c.n_row, c.n, c.dtype, c.how);
    device_array dgw(1, c.n, algebra.n_path, weight_dtype, weights_how);
    args.problem.pass = TESS_CLIFFORD_BACKWARD;
    args.out = tess_cl_view{};
    if (!(c.options & only_weights)) {
        args.grad_x = dgx.view();
        args.grad_y = dgy.view();
    }
    args.grad_weight = args.weight;
    if (args.weight.data != nullptr) {
        args.grad_weight.data = dgw.view().data;
    }
    if (c.options & without_statistics) {
        args.statistics = nullptr;
    }
    run_stage(tess_cuda_stage_clifford_sgp, args);
    const double slack = slack_for(c);
    if (!(c.options & only_weights)) {
        compare(c, "sgp gx", dgx, want.gx, slack * allowed_for(c.dtype), parts.gx);
        compare(c, "sgp gy", dgy, want.gy, slack * allowed_for(c.dtype), parts.gy);
    }
    if (!(c.options & no_weights)) {
        const bool is_brief = c.options & brief_gates && bytes_of(c.dtype) == 2;
        const double allowed = is_brief && weight_dtype == TESS_F32 ? allowed_beside_16_bits
                                                                    : allowed_for(weight_dtype);
        compare(c, "sgp gw", dgw, want.gw, 2 * slack * allowed, parts.gw);
    }
}

void check_sgp(const test_case &c, uint64_t seed)
{
    const tess_clifford_algebra algebra = make_algebra(c.signs);
    const setting s = setting_of(c, algebra);
    const int wide = c.dtype == TESS_F64 ? TESS_F64 : TESS_F32;
    const int weight_dtype =
        c.options & f32_weights && c.dtype != TESS_F64 ? int(TESS_F32) : c.dtype;
    random_source random(seed);
    numbers x = random.normals(s.items());
    numbers y = random.normals(s.items());
    numbers gz = random.normals(s.items());
    numbers w = random.normals(c.n * algebra.n_path);
    const int64_t D = algebra.n_component;
    device_array dx(D, c.n_row, c.n, c.dtype, c.how), dy(D, c.n_row, c.n, c.dtype, c.how);
    device_array dgz(D, c.n_row, c.n, c.dtype, c.how), dz(D, c.n_row, c.n, c.dtype, c.how);
    const layout weights_how = c.options & strided_weights ? padded : component_major;
    device_array dw(1, c.n, algebra.n_path, weight_dtype, weights_how);
    device_array dr(1, algebra.n_grade, c.n_row, wide, component_major);
    dx.put(x);
    dy.put(y);
    dgz.put(gz);
    dw.put(w);
    if (c.options & no_weights) {
        w.assign(w.size(), 1.0);
    }
    const sgp_results want = reference_sgp(s, x, y, w, gz);
    const sgp_results parts = reference_sgp(s, x, y, w, gz, false);

    tess_stage_clifford_sgp args;
    memset(&args, 0, sizeof(args));
    args.problem = problem_of(s, c.dtype, weight_dtype, TESS_CLIFFORD_FORWARD);
    args.x = dx.view();
    args.y = dy.view();
    if (!(c.options & no_weights)) {
        args.weight = dw.view();
        args.weight.stride[0] = dw.view().stride[1];
        args.weight.stride[1] = dw.view().stride[2];
    }
    args.out = dz.view();
    args.statistics = dr.view().data;
    run_stage(tess_cuda_stage_clifford_sgp, args);
    compare(c, "sgp z", dz, want.z, slack_for(c) * allowed_for(c.dtype), want.z);
    if (c.normalize) {
        const double allowed = bytes_of(c.dtype) == 2 ? allowed_beside_16_bits : allowed_for(wide);
        compare(c, "sgp r", dr, want.statistics, slack_for(c) * allowed, want.statistics);
    }
    args.grad_out = dgz.view();
    check_sgp_backward(c, args, weights_how, want, parts);
}

// <u, gradient of the stage> at x + t v, by the host.
double probe_double(const setting &s, bool is_norm, const numbers &x, const numbers &v, double t,
                    const numbers &gz, const numbers &u)
{
    numbers moved(x);
    for (size_t i = 0; i < x.size(); i++) {
        moved[i] += t * v[i];
    }
    const numbers g =
        is_norm ? reference_norm_gradient(s, moved, gz) : reference_gate_gradient(s, moved, gz);
    double sum = 0;
    for (size_t i = 0; i < g.size(); i++) {
        sum += u[i] * g[i];
    }
    return sum;
}

double dot_of(const numbers &a, const numbers &b)
{
    double sum = 0;
    for (size_t i = 0; i < a.size(); i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

// Second derivatives: by gz they are linear, by x a difference quotient along v tells.
void check_double(const test_case &c, bool is_norm, const setting &s, const numbers &x,
                  const numbers &gz, const numbers &u, const numbers &d_gz, const numbers &d_x,
                  random_source &random)
{
    const numbers v = random.normals(int64_t(x.size()));
    const double by_gz = is_norm ? dot_of(u, reference_norm_gradient(s, x, v))
                                 : dot_of(u, reference_gate_gradient(s, x, v));
    const double size = sqrt(dot_of(u, u) * dot_of(v, v));
    const double by_x = (probe_double(s, is_norm, x, v, 1e-5, gz, u) -
                         probe_double(s, is_norm, x, v, -1e-5, gz, u)) /
                        2e-5;
    const char *name = is_norm ? "norm" : "gate";
    const double scale = (c.dtype == TESS_F64 ? 5e-8 : 10 * allowed_for(c.dtype)) * slack_for(c);
    verdict(name_of(c, name) + " dgz", fabs(dot_of(v, d_gz) - by_gz) / size, scale);
    verdict(name_of(c, name) + " dx", fabs(dot_of(v, d_x) - by_x) / size, scale);
}

void check_point(const test_case &c, bool is_norm, uint64_t seed)
{
    const tess_clifford_algebra algebra = make_algebra(c.signs);
    const setting s = setting_of(c, algebra);
    random_source random(seed);
    numbers x = random.normals(s.items());
    numbers gz = random.normals(s.items());
    numbers u = random.normals(s.items());
    const int64_t D = algebra.n_component;
    device_array dx(D, c.n_row, c.n, c.dtype, c.how), dz(D, c.n_row, c.n, c.dtype, c.how);
    device_array dgz(D, c.n_row, c.n, c.dtype, c.how), dgx(D, c.n_row, c.n, c.dtype, c.how);
    device_array du(D, c.n_row, c.n, c.dtype, c.how), ddgz(D, c.n_row, c.n, c.dtype, c.how);
    device_array ddx(D, c.n_row, c.n, c.dtype, c.how);
    const int wide = c.dtype == TESS_F64 ? TESS_F64 : TESS_F32;
    device_array dr(1, algebra.n_grade, c.n_row, wide, component_major);
    dx.put(x);
    dgz.put(gz);
    du.put(u);
    numbers r(size_t(algebra.n_grade * c.n_row));
    const numbers z = is_norm ? reference_norm(s, x, &r) : reference_gate(s, x);
    const numbers gx =
        is_norm ? reference_norm_gradient(s, x, gz) : reference_gate_gradient(s, x, gz);
    const numbers parts = is_norm ? reference_norm_gradient(s, x, gz, false) : gx;

    tess_stage_clifford_norm args;
    memset(&args, 0, sizeof(args));
    tess_stage_clifford_gate gate_args;
    for (int pass = TESS_CLIFFORD_FORWARD; pass <= TESS_CLIFFORD_DOUBLE_BACKWARD; pass++) {
        args.problem = problem_of(s, c.dtype, c.dtype, pass);
        args.x = dx.view();
        args.out = dz.view();
        args.grad_out = dgz.view();
        args.grad_x = dgx.view();
        args.cotangent = du.view();
        args.d_grad_out = ddgz.view();
        args.d_x = ddx.view();
        args.statistics = c.options & without_statistics ? nullptr : dr.view().data;
        memcpy(&gate_args, &args, sizeof(gate_args));
        if (is_norm) {
            run_stage(tess_cuda_stage_clifford_norm, args);
        } else {
            run_stage(tess_cuda_stage_clifford_gate, gate_args);
        }
    }
    compare(c, is_norm ? "norm z" : "gate z", dz, z, slack_for(c) * allowed_for(c.dtype), z);
    compare(c, is_norm ? "norm gx" : "gate gx", dgx, gx, slack_for(c) * allowed_for(c.dtype),
            parts);
    if (is_norm && !(c.options & without_statistics)) {
        compare(c, "norm r", dr, r, slack_for(c) * allowed_for(wide), r);
    }
    numbers d_gz, d_x;
    (void)ddgz.get(d_gz);
    (void)ddx.get(d_x);
    // Too small an r, or signs that change with the last bits, make difference quotients worthless.
    const bool is_definite = !strpbrk(c.signs, "-0") || c.metric == TESS_CLIFFORD_NORM_EUCLID;
    if (c.n < 5 || (is_norm && !is_definite && c.dtype != TESS_F64)) {
        return;
    }
    check_double(c, is_norm, s, x, gz, u, d_gz, d_x, random);
}

const int types[] = {TESS_F32, TESS_F64, TESS_BF16, TESS_F16};

// Every algebra, type and layout over odd shapes; options turn round with the count.
void check_shapes(bool is_small)
{
    const char *algebras[] = {"++", "+++", "0+++", "+---", "++++-", "+", "-", "+-", "0++", "+++++"};
    const int64_t shapes[][2] = {{1, 1},   {3, 5},   {7, 28},  {2, 64},   {5, 200},  {37, 16},
                                 {3, 512}, {2, 513}, {130, 8}, {2, 1024}, {300, 32}, {1, 3000}};
    const int options[] = {0,
                           f32_weights,
                           no_weights,
                           some_paths,
                           without_statistics,
                           only_weights,
                           strided_weights | f32_weights};
    uint64_t count = 0;
    for (const char *signs : algebras) {
        const bool is_euclid = strspn(signs, "+") == strlen(signs);
        for (const auto &shape : shapes) {
            for (int dtype : types) {
                for (int how = component_major; how < n_layout; how++) {
                    count++;
                    const int64_t work = shape[0] * shape[1] << 2 * strlen(signs);
                    if (work > (is_small ? 60000 : 400000) && count % 7 != 0) {
                        continue;
                    }
                    if (is_small && count % 3 != 0) {
                        continue;
                    }
                    const int metric = is_euclid && count % 4 ? int(TESS_CLIFFORD_NORM_EUCLID)
                                                              : int(1 + count % 4);
                    const int option = count % 2 ? 0 : options[count / 2 % 7];
                    const int activation = count % 3 ? int(TESS_CLIFFORD_GELU) : int(count / 3 % 7);
                    const test_case c = {signs,      shape[0],       shape[1], dtype, layout(how),
                                         activation, count % 5 != 0, metric,   option};
                    check_sgp(c, count);
                    if (shape[0] * shape[1] <= 600) {
                        check_point(c, false, count);
                        check_point(c, true, count);
                    }
                }
            }
        }
    }
    printf("shapes: %llu cases\n", static_cast<unsigned long long>(count));
}

// What layers ask for, at a width that has kernels of its own. Every type meets every option as
// the count goes on.
void check_stream_width(int64_t n, int64_t n_row, uint64_t &count)
{
    const int options[] = {
        0, f32_weights, no_weights, only_weights, without_statistics, strided_weights};
    for (const char *signs : {"++", "+++"}) {
        for (int dtype : {int(TESS_F32), int(TESS_BF16), int(TESS_F16)}) {
            for (layout how : {component_major, padded}) {
                for (int64_t rows : {int64_t(1), n_row}) {
                    const test_case c = {
                        signs,
                        rows,
                        n,
                        dtype,
                        how,
                        TESS_CLIFFORD_GELU,
                        1,
                        count % 3 ? int(TESS_CLIFFORD_NORM_EUCLID) : int(TESS_CLIFFORD_NORM_ABS),
                        brief_gates | (rows == 1 ? 0 : options[(count / 2 + count / 12) % 6])};
                    check_sgp(c, 1000 + count);
                    count++;
                }
            }
        }
    }
}

// Over enough rows that every block has several and none the same number. only: a width, or 0.
void check_streams(int64_t n_row, int64_t only = 0)
{
    uint64_t count = 0;
    for (int64_t n : {512, 256, 128}) {
        if (only == 0 || only == n) {
            check_stream_width(n, n_row * 512 / n, count);
        }
    }
    printf("streams: %llu cases\n", static_cast<unsigned long long>(count));
}

// Phi in its tails, by the gate of a scalar.
void check_tails()
{
    for (int dtype : {int(TESS_F32), int(TESS_F64)}) {
        const tess_clifford_algebra algebra = make_algebra("+");
        const setting s = {&algebra, 1, 4000, 15, TESS_CLIFFORD_GELU, 0, TESS_CLIFFORD_NORM_EUCLID,
                           1e-6};
        const double lowest = dtype == TESS_F64 ? -37.5 : -13.0;
        numbers x(size_t(s.items()));
        for (int64_t i = 0; i < s.n; i++) {
            x[s.at(0, 0, i)] = i < 8 ? (i % 2 ? 1e-8 : -40.0 - double(i))
                                     : lowest + (8.0 - lowest) * double(i) / double(s.n);
            x[s.at(1, 0, i)] = 1;
        }
        device_array dx(2, 1, s.n, dtype, component_major), dz(2, 1, s.n, dtype, component_major);
        dx.put(x);
        tess_stage_clifford_gate args;
        memset(&args, 0, sizeof(args));
        args.problem = problem_of(s, dtype, dtype, TESS_CLIFFORD_FORWARD);
        args.x = dx.view();
        args.out = dz.view();
        run_stage(tess_cuda_stage_clifford_gate, args);
        numbers z;
        (void)dz.get(z);
        const double eps = dtype == TESS_F64 ? 0x1p-52 : 0x1p-23;
        double worst = 0;
        for (int64_t i = 0; i < s.n; i++) {
            const double at = x[s.at(0, 0, i)];
            const double want = at < -39 ? 0 : gate_value(TESS_CLIFFORD_GELU, at);
            const double got = z[s.at(1, 0, i)];
            const double scale = want > 0 ? want * eps * (1 + at * at) : 1e-300;
            worst = fmax(worst, fabs(got - want) / scale);
        }
        printf("Phi, dtype %d: %.2f eps (1 + x^2)\n", dtype, worst);
        verdict("Phi in its tails", worst, 4);
    }
}

} // namespace

void check_device();
void check_order();

void report_failure(const char *name, double error, double allowed)
{
    verdict(name, error, allowed);
}

int main(int argc, char **argv)
{
    const std::string option = argc > 1 ? argv[1] : "";
    if (option == "--bench") {
        bench_sgp(argc > 2 ? argv[2] : "", argc > 3 ? atoll(argv[3]) : 4096,
                  argc > 4 ? atoll(argv[4]) : 512);
        return 0;
    }
    if (option == "--streams") {
        check_streams(argc > 2 ? atoll(argv[2]) : 700, argc > 3 ? atoll(argv[3]) : 0);
    } else if (option == "--order") {
        check_order();
    } else {
        check_streams(option == "--small" ? 67 : 700);
        check_tails();
        check_shapes(option == "--small");
        if (option != "--small") {
            check_order();
            check_device();
        }
    }
    printf(n_failed == 0 ? "ok\n" : "%d FAILED\n", n_failed);
    return n_failed == 0 ? 0 : 1;
}
