// Stages clifford.graph_sum and clifford.graph_dot on a GPU by themselves, over lengths of rows,
// types and layouts: bit by bit the sums in the order that is promised, and those near the sums in
// f64. With --bench, times. ./dev gpu runs it.

// clang-format off
#include "backend/cuda/clifford/graph/graph_dot.cu"
#include "backend/cuda/clifford/graph/graph_sum.cu"
// clang-format on

#include "gpu_clifford_arrays.cuh"

namespace
{

struct test_case {
    std::vector<int64_t> lengths; // edges of every receiver
    int64_t n_sender, n_component, n_feature;
    int32_t dtype, scale_dtype;
    int64_t n_scale; // 0: none
    layout order;
};

struct list {
    std::vector<int64_t> host;
    int64_t *device = nullptr;
    explicit list(size_t n) : host(n)
    {
        must(cudaMalloc(&device, (n + 1) * 8), "list");
    }
    list(const list &) = delete;
    list &operator=(const list &) = delete;
    ~list()
    {
        (void)cudaFree(device);
    }
    void upload()
    {
        must(cudaMemcpy(device, host.data(), host.size() * 8, cudaMemcpyHostToDevice), "list");
    }
};

int64_t total(const std::vector<int64_t> &lengths)
{
    int64_t n = 0;
    for (const int64_t length : lengths) {
        n += length;
    }
    return n;
}

tess_cl_graph_view view_of(const tensor &t)
{
    return {t.device, {t.stride[0], t.stride[1], t.stride[2]}, t.dtype, 0};
}

struct graph_check {
    explicit graph_check(const test_case &c)
        : c_(c), n_receiver(int64_t(c.lengths.size())), n_edge(total(c.lengths)),
          offsets(size_t(n_receiver + 1)), senders(size_t(n_edge)), edges(size_t(n_edge)),
          x(c.dtype, c.n_component, c.n_sender, c.n_feature, c.order),
          y(c.dtype, c.n_component, n_receiver, c.n_feature, c.order),
          scale(c.scale_dtype, 1, n_edge > 0 ? n_edge : 1, c.n_scale > 0 ? c.n_scale : 1, c.order),
          z(c.dtype, c.n_component, n_receiver, c.n_feature, c.order)
    {
        for (int64_t r = 0; r < n_receiver; r++) {
            offsets.host[size_t(r + 1)] = offsets.host[size_t(r)] + c.lengths[size_t(r)];
        }
        for (int64_t i = 0; i < n_edge; i++) {
            senders.host[size_t(i)] = int64_t(random_bits() % uint64_t(c.n_sender));
            edges.host[size_t(i)] = i;
        }
        std::shuffle(edges.host.begin(), edges.host.end(), random_bits);
        offsets.upload();
        senders.upload();
        edges.upload();
        x.fill(1, false);
        y.fill(1, false);
        scale.fill(1, false);
        args = {};
        args.n_component = c.n_component;
        args.n_sender = c.n_sender;
        args.n_receiver = n_receiver;
        args.n_edge = n_edge;
        args.n_feature = c.n_feature;
        args.n_scale = c.n_scale > 0 ? c.n_scale : 1;
        args.offsets = offsets.device;
        args.senders = senders.device;
        args.edges = edges.device;
        args.x = view_of(x);
        args.scale = c.n_scale > 0 ? view_of(scale) : tess_cl_graph_view{};
        args.z = view_of(z);
        args.is_f64 = c.dtype == TESS_F64;
        must(cudaMalloc(&args.workspace, tess_cl_graph_workspace_bytes(&args) + 256), "workspace");
    }
    graph_check(const graph_check &) = delete;
    graph_check &operator=(const graph_check &) = delete;
    ~graph_check()
    {
        (void)cudaFree(args.workspace);
    }

    std::string name() const
    {
        char text[160];
        snprintf(text, sizeof(text), "%lld rows %lld edges %lldx%lld type %d scale %lld type %d %d",
                 (long long)n_receiver, (long long)n_edge, (long long)c_.n_component,
                 (long long)c_.n_feature, c_.dtype, (long long)c_.n_scale, c_.scale_dtype,
                 int(c_.order));
        return text;
    }

    void sum()
    {
        must(sum_launch(nullptr, &args), "sum");
    }
    tess_stage_clifford_graph dot_args() const
    {
        tess_stage_clifford_graph d = args;
        d.z = view_of(y);
        d.scale = view_of(scale);
        return d;
    }

    double by(int64_t i, int64_t n)
    {
        return c_.n_scale == 0 ? 1 : scale.at(0, edges.host[size_t(i)], c_.n_scale > 1 ? n : 0);
    }

    // Edges [first, last) one after another, in C.
    template <typename C>
    C chain(int64_t first, int64_t last, int64_t k, int64_t n)
    {
        C found = 0;
        for (int64_t i = first; i < last; i++) {
            found = std::fma(C(by(i, n)), C(x.at(k, senders.host[size_t(i)], n)), found);
        }
        return found;
    }

    template <typename C>
    C in_order(int64_t r, int64_t k, int64_t n)
    {
        const int64_t first = offsets.host[size_t(r)], last = offsets.host[size_t(r + 1)];
        if (last - first <= TESS_CL_GRAPH_PART) {
            return chain<C>(first, last, k, n);
        }
        const int64_t n_part = (last - first + TESS_CL_GRAPH_PART - 1) / TESS_CL_GRAPH_PART;
        const int64_t share = (n_part + 7) / 8;
        C strands[8] = {};
        for (int64_t p = 0; p < n_part; p++) {
            const int64_t from = first + p * TESS_CL_GRAPH_PART;
            strands[p / share] += chain<C>(from, std::min(from + TESS_CL_GRAPH_PART, last), k, n);
        }
        for (int i = 1; i < 8; i++) {
            strands[0] += strands[i];
        }
        return strands[0];
    }

    // Wrong items of z, and how far the others are from sums in f64.
    void check_sum()
    {
        std::vector<char> raw, again;
        z.poison();
        sum();
        bool is_good = z.download(raw);
        double wrong = 0, difference = 0, size = 0;
        for (int64_t r = 0; r < n_receiver; r++) {
            for (int64_t k = 0; k < c_.n_component; k++) {
                for (int64_t n = 0; n < c_.n_feature; n++) {
                    const double want = c_.dtype == TESS_F64 ? in_order<double>(r, k, n)
                                                             : double(in_order<float>(r, k, n));
                    wrong += !(z.at(k, r, n) == round_to(c_.dtype, want));
                    const double exact =
                        chain<double>(offsets.host[size_t(r)], offsets.host[size_t(r + 1)], k, n);
                    difference += (want - exact) * (want - exact);
                    size += exact * exact;
                }
            }
        }
        sum();
        is_good = z.download(again) && is_good && raw == again;
        report("sum " + name() + (is_good ? "" : " MARGIN OR REPEAT"), is_good ? wrong : -NAN, 0);
        report("  near", std::sqrt(difference / (size + 1e-300)), 1e-5);
    }

    void check_dot()
    {
        const tess_stage_clifford_graph d = dot_args();
        std::vector<char> raw;
        scale.poison();
        must(dot_launch(nullptr, &d), "dot");
        const bool is_good = scale.download(raw);
        double wrong = 0, worst = 0;
        for (int64_t r = 0; r < n_receiver; r++) {
            for (int64_t i = offsets.host[size_t(r)]; i < offsets.host[size_t(r + 1)]; i++) {
                double whole = 0, size = 0;
                for (int64_t n = 0; n < c_.n_feature; n++) {
                    const double want = c_.dtype == TESS_F64 ? product<double>(i, r, n)
                                                             : double(product<float>(i, r, n));
                    whole += want;
                    size += std::fabs(want);
                    wrong += d.n_scale > 1 && !(scale.at(0, edges.host[size_t(i)], n) ==
                                                round_to(c_.scale_dtype, want));
                }
                if (d.n_scale == 1) { // in f64, in another order
                    const double miss = scale.at(0, edges.host[size_t(i)], 0) - whole;
                    const double unit = c_.scale_dtype == TESS_F64   ? 0x1p-50
                                        : c_.scale_dtype == TESS_F32 ? 0x1p-24
                                        : c_.scale_dtype == TESS_F16 ? 0x1p-11
                                                                     : 0x1p-8;
                    worst = std::max(worst, std::fabs(miss) / (unit * size + 1e-300));
                }
            }
        }
        report("dot " + name() + (is_good ? "" : " MARGIN"), is_good ? wrong : -NAN, 0);
        report("  near", worst, 1.01);
    }

    template <typename C>
    C product(int64_t i, int64_t r, int64_t n)
    {
        C found = 0;
        for (int64_t k = 0; k < c_.n_component; k++) {
            found = std::fma(C(x.at(k, senders.host[size_t(i)], n)), C(y.at(k, r, n)), found);
        }
        return found;
    }

    test_case c_;
    int64_t n_receiver, n_edge;
    list offsets, senders, edges;
    tensor x, y, scale, z;
    tess_stage_clifford_graph args;
};

// Lists that nobody checked: NaN for their receiver, nothing outside is read or written.
void check_wrong_lists(const std::vector<int64_t> &lengths)
{
    for (int which = 0; which < 6; which++) {
        graph_check g({lengths, 9, 4, 8, TESS_F32, TESS_F32, 8, layout::dense});
        const size_t at = size_t(g.offsets.host[1] + 3);
        const int64_t wrong[] = {9, -1, INT64_C(1) << 60, g.n_edge, g.n_edge + 1, 0};
        if (which < 3) {
            g.senders.host[at] = wrong[which];
        } else if (which == 3) {
            g.edges.host[at] = wrong[which];
        } else {
            g.offsets.host[2] = which == 4 ? wrong[which] : g.offsets.host[1] - 1;
        }
        g.senders.upload();
        g.edges.upload();
        g.offsets.upload();
        g.sum();
        std::vector<char> raw;
        bool is_good = g.z.download(raw);
        for (int64_t k = 0; k < 4; k++) {
            is_good = is_good && g.z.at(k, 1, 0) != g.z.at(k, 1, 0) &&
                      g.z.at(k, 0, 0) == double(g.in_order<float>(0, k, 0));
        }
        const tess_stage_clifford_graph d = g.dot_args();
        g.scale.poison();
        must(dot_launch(nullptr, &d), "dot");
        is_good = g.scale.download(raw) && is_good;
        report("wrong lists " + std::to_string(which), is_good ? 0 : 1, 0);
    }
}

void check_all(bool is_brief)
{
    constexpr int64_t p = TESS_CL_GRAPH_PART;
    const std::vector<int64_t> few = {3, 0, 17, 1, 0, 5}, none = {0, 0};
    const std::vector<int64_t> edge = {p - 1, p, p + 1};
    const std::vector<int64_t> beside = {p + 1, p + 1, 0, 2 * p, 2 * p + 1, 3};
    const std::vector<int64_t> between = {5, 10 * p + 7, 0, 0, 3 * p - 1, 1, p + 1};
    const std::vector<int64_t> one = {20000, 1, 1000};
    const int32_t types[][2] = {{TESS_F64, TESS_F64},  {TESS_F32, TESS_F32}, {TESS_BF16, TESS_BF16},
                                {TESS_BF16, TESS_F32}, {TESS_F16, TESS_F16}, {TESS_F16, TESS_F32}};
    for (const auto &t : types) {
        const test_case cases[] = {
            {few, 7, 8, 32, t[0], t[1], 32, layout::dense},
            {few, 7, 4, 3, t[0], t[1], 3, layout::dense},
            {few, 1, 2, 1, t[0], t[1], 1, layout::dense},
            {few, 5, 16, 150, t[0], t[1], 150, layout::dense},
            {few, 9, 8, 12, t[0], t[1], 12, layout::component_last},
            {few, 9, 8, 12, t[0], t[1], 12, layout::padded},
            {few, 9, 8, 16, t[0], t[1], 16, layout::spaced},
            {none, 3, 8, 4, t[0], t[1], 4, layout::dense},
            {edge, 50, 8, 8, t[0], t[1], 1, layout::dense},
            {beside, 50, 4, 5, t[0], t[1], 5, layout::dense},
            {between, 80, 8, 4, t[0], t[1], 0, layout::dense},
            {between, 80, 32, 12, t[0], t[1], 12, layout::dense},
            {one, 90, 2, 4, t[0], t[1], 4, layout::dense},
        };
        for (const test_case &c : cases) {
            graph_check g(c);
            g.check_sum();
            g.check_dot();
        }
        if (is_brief && t[0] == TESS_F32) {
            break;
        }
    }
    check_wrong_lists({4, 30, 2});
    check_wrong_lists({4, 3 * p + 1, 2});
}

void bench(const char *name, const test_case &c)
{
    graph_check g(c);
    const tess_stage_clifford_graph d = g.dot_args();
    const double sum = median_us([&](int) { g.sum(); });
    const double dot = median_us([&](int) { must(dot_launch(nullptr, &d), "dot"); });
    const double read = double(g.n_edge * c.n_component * c.n_feature) * double(bytes_of(c.dtype));
    printf("%-34s sum %8.1f us %6.0f GB/s   dot %8.1f us %6.0f GB/s\n", name, sum,
           read / sum / 1000, dot, 2 * read / dot / 1000);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        const std::vector<int64_t> even(10000, 16);
        std::vector<int64_t> star(10000, 6);
        star[77] = 100000;
        bench("10k nodes 160k edges 8x32 f32",
              {even, 10000, 8, 32, TESS_F32, TESS_F32, 32, layout::dense});
        bench("  bf16", {even, 10000, 8, 32, TESS_BF16, TESS_BF16, 32, layout::dense});
        bench("  without scale", {even, 10000, 8, 32, TESS_F32, TESS_F32, 0, layout::dense});
        bench("  one row of 100k edges",
              {star, 10000, 8, 32, TESS_F32, TESS_F32, 32, layout::dense});
        bench("one row of 100k edges alone",
              {{100000}, 10000, 8, 32, TESS_F32, TESS_F32, 32, layout::dense});
        bench("100 nodes 2k edges 16x16",
              {std::vector<int64_t>(100, 20), 100, 16, 16, TESS_F32, TESS_F32, 16, layout::dense});
        return 0;
    }
    check_all(argc > 1 && strcmp(argv[1], "--brief") == 0);
    printf("%s: %d failed\n", n_failed == 0 ? "ok" : "FAILED", n_failed);
    return n_failed == 0 ? 0 : 1;
}
