// Times of stage clifford.linear and of its parts. Part of gpu_clifford_linear.cu.

namespace
{

// Stages over three sets of arrays in turn, so that no input is in the cache.
void bench_stage(int n_symbol, int64_t n_row, int64_t n, int32_t dtype, int32_t precision)
{
    constexpr int n_set = 3;
    std::vector<linear_check *> sets;
    for (int s = 0; s < n_set; s++) {
        sets.push_back(new linear_check({n_symbol, n_row, n, n, dtype, TESS_F32, precision,
                                         layout::dense, false, true, false}));
    }
    const tess_stage_clifford_linear all = sets[0]->stage(TESS_CLIFFORD_BACKWARD, n_row);
    char *scratch = nullptr;
    must(cudaMalloc(&scratch, tess_cuda_stage_clifford_linear.scratch_bytes(nullptr, &all) + 256),
         "scratch");
    const char *const parts[] = {"forward", "backward", "grad_x", "grad_weight", "grad_bias"};
    for (int part = 0; part < 5; part++) {
        const double us = median_us([&](int turn) {
            tess_stage_clifford_linear a = sets[size_t(turn % n_set)]->stage(
                part == 0 ? TESS_CLIFFORD_FORWARD : TESS_CLIFFORD_BACKWARD, n_row);
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

// Three problems, ready for the parts of the tensor path.
struct bench_sets {
    static constexpr int count = 3;
    int64_t n_row, n;
    std::vector<linear_check *> sets;
    std::vector<tensor_plan> plans;

    bench_sets(int64_t rows, int64_t features) : n_row(rows), n(features)
    {
        for (int s = 0; s < count; s++) {
            sets.push_back(new linear_check({3, n_row, n, n, TESS_F32, TESS_F32, TESS_CLIFFORD_HIGH,
                                             layout::dense, false, true, false}));
            tess_stage_clifford_linear a = sets.back()->stage(TESS_CLIFFORD_BACKWARD, n_row);
            char *scratch = nullptr;
            must(cudaMalloc(&scratch, clifford_linear_tensor_scratch(a)), "scratch");
            arena memory = {scratch, 0};
            plans.push_back(make_plan(memory, a));
            must(prepare(nullptr, a, plans.back(), {true, true, true}, {}), "prepare");
        }
    }

    template <typename Work>
    void time(const char *name, Work work)
    {
        const double us = median_us([&](int turn) {
            const size_t s = size_t(turn % count);
            must(work(sets[s]->stage(TESS_CLIFFORD_BACKWARD, n_row), plans[s]), name);
        });
        printf("bench part %lldx%lld %s %.1f us\n", (long long)n_row, (long long)n, name, us);
    }

    template <class S>
    void time_shape(const char *name)
    {
        for (int add = 0; add < 2; add++) {
            char text[80];
            snprintf(text, sizeof text, "rows %s%s", name, add ? " add" : "");
            time(text, [&](const tess_stage_clifford_linear &a, const tensor_plan &p) {
                clifford_rows_args args = rows_of(a, p);
                args.add = add;
                return launch_rows_tensor<S, __half, float>(nullptr, args);
            });
        }
    }
};

void bench_parts(int64_t n_row, int64_t n)
{
    using stage = const tess_stage_clifford_linear &;
    using plan = const tensor_plan &;
    bench_sets sets(n_row, n);
    sets.time("prepare weights", [](stage a, plan p) {
        return prepare(nullptr, a, p, {true, false, false}, {});
    });
    sets.time("prepare x", [](stage a, plan p) {
        return prepare(nullptr, a, p, {false, true, false}, {});
    });
    sets.time("prepare x + grad_out", [](stage a, plan p) {
        return prepare(nullptr, a, p, {false, true, true}, {});
    });
    for (int add = 0; add < 2; add++) {
        sets.time(add ? "convert and multiply, add" : "convert and multiply", [&](stage a, plan p) {
            clifford_rows_args args = rows_of(a, p);
            args.a.data = nullptr;
            args.add = add;
            return clifford_linear_f32(nullptr, args);
        });
    }
    sets.time("sums", [](stage a, plan p) {
        const clifford_sums_args args = {
            p.x,
            p.grad_out,
            p.partial,
            a.problem.n_row,
            a.problem.n_in,
            a.problem.n_out,
            p.n_chunk,
            p.chunk,
            a.problem.algebra->n_component,
        };
        return clifford_linear_group_sums(nullptr, TESS_F32, args);
    });
    sets.time("gather", [](stage a, plan p) {
        return clifford_linear_gather(nullptr, a, p.partial, p.n_chunk, {});
    });
    sets.time("general grad_x", [](stage a, plan) {
        tess_stage_clifford_linear only = a;
        only.grad_weight.data = nullptr;
        return clifford_linear_general(nullptr, only);
    });
}

// What narrow maps go through: all of x is copied first.
void bench_shapes(int64_t n_row, int64_t n)
{
    bench_sets sets(n_row, n);
    sets.time("prepare weights and x",
              [](const tess_stage_clifford_linear &a, const tensor_plan &p) {
                  return prepare(nullptr, a, p, {true, true, false}, {});
              });
    sets.time_shape<rows_shape<128, 128, 16, 128, 3, 2>>("128x128/3/2");
    sets.time_shape<rows_shape<128, 128, 16, 128, 6, 1>>("128x128/6/1");
    sets.time_shape<rows_shape<64, 128, 16, 128, 3, 3>>("64x128/3/3");
    sets.time_shape<rows_shape<256, 128, 16, 128, 4, 1>>("256x128/4/1");
}

} // namespace
