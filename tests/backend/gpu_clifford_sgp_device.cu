// Checks of the weighted product that need a device: large arrays, repeats, pieces, graphs.

#include "gpu_clifford_sgp_big.cuh"

void report_failure(const char *name, double error, double allowed);

namespace
{

// The rows from row on; statistics, if any, are those of the piece.
void move_rows(tess_stage_clifford_sgp &s, int64_t row, int64_t n_row, float *statistics)
{
    tess_cl_view *views[] = {&s.x, &s.y, &s.out, &s.grad_out, &s.grad_x, &s.grad_y};
    for (tess_cl_view *view : views) {
        if (view->data != nullptr) {
            view->data = static_cast<float *>(view->data) + row * view->stride[1];
        }
    }
    s.problem.n_row = n_row;
    s.statistics = statistics == nullptr ? nullptr : statistics + s.problem.algebra->n_grade * row;
}

void run_sgp(const tess_stage_clifford_sgp &s, cudaStream_t stream = nullptr)
{
    CHECK_CUDA(tess_cuda_stage_clifford_sgp.launch(stream, &s));
}

// One call against the same rows in pieces, bit by bit; then again and again.
void check_pieces(const char *name, const tess_clifford_algebra &algebra, int64_t n_row, int64_t n,
                  int n_repeat, bool keeps_statistics = false)
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
    float *statistics = nullptr;
    if (keeps_statistics) {
        c.statistics = make_items<float>(algebra.n_grade * n_row, 0);
        statistics = make_items<float>(algebra.n_grade * n_row, 0);
    }
    float *a[2] = {make_items<float>(n_item, 0), make_items<float>(n_item, 0)};
    float *b[2] = {make_items<float>(n_item, 0), make_items<float>(n_item, 0)};
    const tess_stage_clifford_sgp sized = c.stage(TESS_CLIFFORD_BACKWARD, a[0], a[1]);
    const size_t bytes = tess_cuda_stage_clifford_sgp.scratch_bytes(nullptr, &sized);
    CHECK_CUDA(cudaMalloc(&c.scratch, bytes + 256));
    unsigned long long differences = 0;
    for (int pass = TESS_CLIFFORD_FORWARD; pass <= TESS_CLIFFORD_BACKWARD; pass++) {
        run_sgp(c.stage(pass, a[0], a[1]));
        CHECK_CUDA(
            cudaMemcpy(kept_gw, c.gw, size_t(n * algebra.n_path) * 4, cudaMemcpyDeviceToDevice));
        const int64_t cuts[] = {0, n_row / 3, n_row / 3 + 1, n_row / 2, n_row};
        for (int i = 0; i < 4; i++) {
            if (cuts[i + 1] > cuts[i]) {
                tess_stage_clifford_sgp piece = c.stage(pass, b[0], b[1]);
                move_rows(piece, cuts[i], cuts[i + 1] - cuts[i], statistics);
                run_sgp(piece);
            }
        }
        for (int i = 0; i < pass; i++) {
            differences += count_differences(a[i], b[i], n_item * 4);
        }
    }
    for (int i = 0; i < n_repeat; i++) {
        CHECK_CUDA(cudaMemset(b[0], 0xff, size_t(n_item) * 4));
        run_sgp(c.stage(TESS_CLIFFORD_BACKWARD, b[0], b[1]));
        differences += count_differences(a[0], b[0], n_item * 4);
        differences += count_differences(a[1], b[1], n_item * 4);
        differences += count_differences(kept_gw, c.gw, n * algebra.n_path * 4);
    }
    CHECK_CUDA(cudaDeviceSynchronize());
    report_failure(name, double(differences), 0);
    for (float *data :
         {c.x, c.y, c.gz, c.w, c.gw, kept_gw, a[0], a[1], b[0], b[1], c.statistics, statistics}) {
        CHECK_CUDA(cudaFree(data));
    }
    CHECK_CUDA(cudaFree(c.scratch));
}

// A pass backward right behind its pass forward, which it is started before the end of: what it
// reads of that pass is poison until it is written.
void check_behind(const char *name, const tess_clifford_algebra &algebra, int64_t n_row, int64_t n)
{
    const int64_t n_item = algebra.n_component * n_row * n;
    const size_t kept_bytes = size_t(algebra.n_grade * n_row) * sizeof(float);
    big_case c = {&algebra, n_row,   n,       nullptr, nullptr,
                  nullptr,  nullptr, nullptr, nullptr, nullptr};
    c.x = make_items<float>(n_item, 1);
    c.y = make_items<float>(n_item, 2);
    c.gz = make_items<float>(n_item, 3);
    c.w = make_items<float>(n * algebra.n_path, 4);
    c.gw = make_items<float>(n * algebra.n_path, 0);
    c.statistics = make_items<float>(algebra.n_grade * n_row, 0);
    float *out[5];
    for (float *&data : out) {
        data = make_items<float>(n_item, 0);
    }
    const tess_stage_clifford_sgp sized = c.stage(TESS_CLIFFORD_BACKWARD, out[0], out[1]);
    CHECK_CUDA(
        cudaMalloc(&c.scratch, tess_cuda_stage_clifford_sgp.scratch_bytes(nullptr, &sized) + 256));
    run_sgp(c.stage(TESS_CLIFFORD_FORWARD, out[0], nullptr));
    CHECK_CUDA(cudaDeviceSynchronize());
    run_sgp(c.stage(TESS_CLIFFORD_BACKWARD, out[1], out[2]));
    unsigned long long differences = 0;
    for (int i = 0; i < 300; i++) {
        CHECK_CUDA(cudaMemset(c.statistics, 0xff, kept_bytes));
        run_sgp(c.stage(TESS_CLIFFORD_FORWARD, out[0], nullptr));
        run_sgp(c.stage(TESS_CLIFFORD_BACKWARD, out[3], out[4]));
        differences += count_differences(out[1], out[3], n_item * 4);
        differences += count_differences(out[2], out[4], n_item * 4);
    }
    report_failure(name, double(differences), 0);
    for (float *data :
         {c.x, c.y, c.gz, c.w, c.gw, c.statistics, out[0], out[1], out[2], out[3], out[4]}) {
        CHECK_CUDA(cudaFree(data));
    }
    CHECK_CUDA(cudaFree(c.scratch));
}

// The caller's stream, captured into a graph and replayed, gives the bits of a plain call.
void check_graph(const tess_clifford_algebra &algebra)
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
    const tess_stage_clifford_sgp sized = c.stage(TESS_CLIFFORD_BACKWARD, out[0], out[1]);
    CHECK_CUDA(
        cudaMalloc(&c.scratch, tess_cuda_stage_clifford_sgp.scratch_bytes(nullptr, &sized) + 256));
    CHECK_CUDA(cudaDeviceSynchronize());
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    run_sgp(c.stage(TESS_CLIFFORD_FORWARD, out[0], nullptr), stream);
    run_sgp(c.stage(TESS_CLIFFORD_BACKWARD, out[1], out[2]), stream);
    CHECK_CUDA(cudaStreamSynchronize(stream));
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    run_sgp(c.stage(TESS_CLIFFORD_FORWARD, out[3], nullptr), stream);
    run_sgp(c.stage(TESS_CLIFFORD_BACKWARD, out[4], out[5]), stream);
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

} // namespace

void check_order()
{
    const tess_clifford_algebra plane = make_algebra("++");
    const tess_clifford_algebra space = make_algebra("+++");
    for (const int64_t n_row : {1, 140, 300, 2700}) {
        check_behind("backward behind forward, 2D x 512", plane, n_row, 512);
        check_behind("backward behind forward, 3D x 512", space, n_row, 512);
        check_behind("backward behind forward, 3D x 128", space, n_row, 128);
    }
    check_graph(space);
}

void check_device()
{
    const tess_clifford_algebra plane = make_algebra("++");
    const tess_clifford_algebra space = make_algebra("+++");
    const tess_clifford_algebra projective = make_algebra("0+++");
    check_pieces("repeats and pieces, 3D 1000x512", space, 1000, 512, 50);
    check_pieces("repeats and pieces, 3D 1000x512, r kept", space, 1000, 512, 50, true);
    check_pieces("repeats and pieces, 2D 1500x512, r kept", plane, 1500, 512, 50, true);
    check_pieces("repeats and pieces, 2D 3001x28", plane, 3001, 28, 50);
    check_pieces("repeats and pieces, 3D 777x27", space, 777, 27, 50);
    check_pieces("repeats and pieces, 3D 50x3000", space, 50, 3000, 50);
    check_pieces("repeats and pieces, PGA 513x32", projective, 513, 32, 50);
    check_pieces("repeats and pieces, PGA 200x512", projective, 200, 512, 10);
    check_pieces("more than 2^31 items, 3D 600000x512", space, 600000, 512, 1, true);
}
