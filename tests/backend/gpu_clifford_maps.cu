// Stage clifford.maps on a GPU by itself, over sizes, groups, pairs and passes: near the sums in
// f64 of items rounded to TF32, the same bits twice, nothing beside the rows touched. With --bench,
// times; with --brief, the small ones alone. ./dev gpu runs it.

#include "backend/cuda/clifford/maps/maps.cuh"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

namespace
{

void must(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        printf("gpu_clifford_maps: %s: %s\n", what, cudaGetErrorString(error));
        exit(1);
    }
}

constexpr float poison = 12345.0f;

struct buffer {
    std::vector<float> host;
    float *device = nullptr;

    explicit buffer(size_t n, float value = poison) : host(n, value)
    {
        must(cudaMalloc(&device, (n + 4) * sizeof(float)), "buffer");
        upload();
    }
    buffer(const buffer &) = delete;
    buffer &operator=(const buffer &) = delete;
    ~buffer()
    {
        (void)cudaFree(device);
    }
    void upload()
    {
        must(cudaMemcpy(device, host.data(), host.size() * 4, cudaMemcpyHostToDevice), "upload");
    }
    std::vector<float> read() const
    {
        std::vector<float> found(host.size());
        must(cudaMemcpy(found.data(), device, found.size() * 4, cudaMemcpyDeviceToHost), "read");
        return found;
    }
    void draw(std::mt19937 &random)
    {
        std::normal_distribution<float> normal;
        for (float &v : host) {
            v = normal(random);
        }
        upload();
    }
};

struct shape {
    int64_t rows, c, s, C, S;
    int64_t x_groups, z_groups;
    bool is_null, has_bias;
    int64_t beside; // floats behind every row
};

int64_t width(int64_t c, int64_t s)
{
    return 16 * c + s;
}

struct half_of_items {
    int component[8][2];
};

half_of_items pairs_of(bool is_null)
{
    const int null_pairs[8][2] = {{0, 1},  {2, 5},  {3, 6},   {4, 7},
                                  {8, 11}, {9, 12}, {10, 13}, {14, 15}};
    half_of_items found;
    for (int p = 0; p < 8; p++) {
        found.component[p][0] = is_null ? null_pairs[p][0] : p;
        found.component[p][1] = is_null ? null_pairs[p][1] : 15 - p;
    }
    return found;
}

int64_t place(int64_t n_channel, int64_t n_scalar, int64_t groups, int64_t channel, int component)
{
    const int64_t per = n_channel / groups;
    return channel / per * width(per, n_scalar / groups) + channel % per * 16 + component;
}

int64_t scalar_place(int64_t n_channel, int64_t n_scalar, int64_t groups, int64_t scalar)
{
    const int64_t per = n_scalar / groups;
    const int64_t channels = n_channel / groups;
    return scalar / per * width(channels, per) + channels * 16 + scalar % per;
}

// (in, out, item) of everything that is not zero; in = width: the bias.
struct entry {
    int64_t in, out, item;
};

std::vector<entry> entries(const shape &p)
{
    std::vector<entry> found;
    const half_of_items pairs = pairs_of(p.is_null);
    const tess_cl_maps_parts parts = tess_cl_maps_parts_of(p.c, p.s, p.C, p.S);
    for (int pair = 0; pair < 8; pair++) {
        for (int64_t c = 0; c < p.c; c++) {
            for (int i = 0; i < 4; i++) {
                for (int64_t C = 0; C < p.C; C++) {
                    found.push_back({place(p.c, p.s, p.x_groups, c, pairs.component[pair][i / 2]),
                                     place(p.C, p.S, p.z_groups, C, pairs.component[pair][i % 2]),
                                     parts.between + ((pair * p.c + c) * p.C + C) * 4 + i});
                }
            }
        }
    }
    for (int64_t s = 0; s <= p.s; s++) {
        const int64_t in = s < p.s ? scalar_place(p.c, p.s, p.x_groups, s) : width(p.c, p.s);
        for (int B = 0; B < 2; B++) {
            for (int64_t C = 0; C < p.C; C++) {
                found.push_back({in, place(p.C, p.S, p.z_groups, C, pairs.component[0][B]),
                                 parts.to_pair + (s * 2 + B) * p.C + C});
            }
        }
        for (int64_t S = 0; S < p.S; S++) {
            found.push_back(
                {in, scalar_place(p.C, p.S, p.z_groups, S), parts.scalars + s * p.S + S});
        }
    }
    for (int64_t c = 0; c < p.c; c++) {
        for (int b = 0; b < 2; b++) {
            for (int64_t S = 0; S < p.S; S++) {
                found.push_back({place(p.c, p.s, p.x_groups, c, pairs.component[0][b]),
                                 scalar_place(p.C, p.S, p.z_groups, S),
                                 parts.to_scalars + (c * 2 + b) * p.S + S});
            }
        }
    }
    return found;
}

struct problem {
    explicit problem(const shape &given)
        : p(given), x_stride(width(p.c, p.s) + p.beside), z_stride(width(p.C, p.S) + p.beside),
          n_item(tess_cl_maps_parts_of(p.c, p.s, p.C, p.S).n), x(size_t(p.rows * x_stride)),
          z(size_t(p.rows * z_stride)), items(size_t(n_item))
    {
        std::mt19937 random(7);
        x.draw(random);
        z.draw(random);
        items.draw(random);
    }
    tess_stage_clifford_maps stage(int pass, float *x_to, float *z_to, float *items_to) const
    {
        tess_stage_clifford_maps a = {};
        a.x = {x_to, x_stride, p.c, p.s, p.x_groups};
        a.z = {z_to, z_stride, p.C, p.S, p.z_groups};
        a.items = items_to;
        a.n_row = p.rows;
        a.pass = pass;
        a.has_bias = p.has_bias;
        return a;
    }
    shape p;
    int64_t x_stride, z_stride, n_item;
    buffer x, z, items;
};

void launch(const tess_stage_clifford_maps &a, bool is_null)
{
    must(a.pass == TESS_CL_MAPS_ITEMS ? clifford_maps::launch_sums(nullptr, a, is_null)
                                      : clifford_maps::launch_rows(nullptr, a, is_null),
         "launch");
}

// |found - wanted| / |wanted| over items that the pass writes; a huge number where others changed.
double compare(const std::vector<float> &found, const std::vector<double> &wanted,
               const std::vector<char> &is_written)
{
    double error = 0;
    double size = 0;
    for (size_t i = 0; i < found.size(); i++) {
        if (!is_written[i]) {
            error += found[i] == poison ? 0 : 1e30;
            continue;
        }
        const double d = found[i] - wanted[i];
        error += std::isfinite(d) ? d * d : 1e30;
        size += wanted[i] * wanted[i];
    }
    return sqrt(error / (size > 0 ? size : 1));
}

double check_pass(const problem &m, const std::vector<entry> &all, int pass, bool adds)
{
    const shape &p = m.p;
    const int64_t none = width(p.c, p.s);
    buffer to(pass == TESS_CL_MAPS_FORWARD ? m.z.host.size()
              : pass == TESS_CL_MAPS_ROWS  ? m.x.host.size()
                                           : m.items.host.size(),
              adds ? 0.5f : poison);
    std::vector<double> wanted(to.host.size(), adds ? 0.5 : 0);
    std::vector<char> is_written(to.host.size(), 0);
    for (int64_t r = 0; r < p.rows; r++) {
        const float *x = &m.x.host[size_t(r * m.x_stride)];
        const float *z = &m.z.host[size_t(r * m.z_stride)];
        for (const entry &e : all) {
            const double in = e.in < none ? x[e.in] : p.has_bias ? 1 : 0;
            const double item = m.items.host[size_t(e.item)];
            if (pass == TESS_CL_MAPS_FORWARD) {
                wanted[size_t(r * m.z_stride + e.out)] += in * item;
                is_written[size_t(r * m.z_stride + e.out)] = 1;
            } else if (pass == TESS_CL_MAPS_ROWS && e.in < none) {
                wanted[size_t(r * m.x_stride + e.in)] += item * z[e.out];
                is_written[size_t(r * m.x_stride + e.in)] = 1;
            } else if (pass == TESS_CL_MAPS_ITEMS) {
                wanted[size_t(e.item)] += in * z[e.out];
                is_written[size_t(e.item)] = 1;
            }
        }
    }
    tess_stage_clifford_maps a = m.stage(pass, pass == TESS_CL_MAPS_ROWS ? to.device : m.x.device,
                                         pass == TESS_CL_MAPS_FORWARD ? to.device : m.z.device,
                                         pass == TESS_CL_MAPS_ITEMS ? to.device : m.items.device);
    a.adds = adds;
    buffer scratch(pass == TESS_CL_MAPS_ITEMS ? clifford_maps::sums_scratch_bytes(a) / 4 : 1);
    a.scratch = scratch.device;
    launch(a, p.is_null);
    const std::vector<float> found = to.read();
    to.upload();
    launch(a, p.is_null);
    const std::vector<float> again = to.read();
    must(cudaGetLastError(), "pass");
    if (memcmp(found.data(), again.data(), found.size() * 4) != 0) {
        return 1e9;
    }
    return compare(found, wanted, is_written);
}

// Whether gradients of a bias that a map does not have are 0, and added to what is there, where
// that of z holds NaN.
bool check_no_bias()
{
    problem m({70, 8, 4, 8, 4, 1, 1, false, false});
    for (float &v : m.z.host) {
        v = NAN;
    }
    m.z.upload();
    bool ok = true;
    for (int adds = 0; adds < 2; adds++) {
        buffer to(size_t(m.n_item), 0.5f);
        tess_stage_clifford_maps a = m.stage(TESS_CL_MAPS_ITEMS, m.x.device, m.z.device, to.device);
        a.adds = adds;
        buffer scratch(clifford_maps::sums_scratch_bytes(a) / 4);
        a.scratch = scratch.device;
        launch(a, false);
        const std::vector<float> found = to.read();
        std::vector<char> is_bias(found.size(), 0);
        for (const entry &e : entries(m.p)) {
            is_bias[size_t(e.item)] = e.in == width(m.p.c, m.p.s);
        }
        for (size_t i = 0; i < found.size(); i++) {
            ok = ok && (is_bias[i] ? found[i] == (adds ? 0.5f : 0.0f) : std::isnan(found[i]));
        }
    }
    printf("%s no bias\n", ok ? "ok    " : "FAILED");
    return ok;
}

// is_brief: few rows and columns, for a sanitizer.
int check(bool is_brief)
{
    const shape shapes[] = {
        {1, 4, 0, 4, 0, 1, 1, false, false},      {3, 4, 4, 8, 4, 1, 1, false, true},
        {64, 8, 8, 16, 8, 1, 1, true, true},      {65, 16, 32, 32, 0, 1, 1, false, true},
        {130, 12, 4, 20, 68, 1, 1, true, true},   {200, 16, 32, 48, 96, 1, 24, false, false},
        {77, 16, 32, 16, 32, 8, 1, false, true},  {333, 32, 32, 96, 96, 1, 24, false, false},
        {129, 36, 40, 64, 64, 1, 1, false, true}, {257, 64, 64, 32, 32, 1, 1, false, true, 4},
        {70, 40, 100, 4, 132, 1, 1, true, true},  {1000, 4, 12, 4, 8, 1, 1, false, true, 8},
    };
    int n_failed = 0;
    for (const shape &p : shapes) {
        if (is_brief && p.rows * (p.c + p.s) * (p.C + p.S) > 100000) {
            continue;
        }
        const problem m(p);
        const std::vector<entry> all = entries(p);
        for (int pass = 1; pass <= 3; pass++) {
            for (int adds = 0; adds <= (pass == 3 ? 1 : 0); adds++) {
                const double error = check_pass(m, all, pass, adds != 0);
                const bool ok = error < 1e-3;
                n_failed += !ok;
                printf("%s rows %4lld  %lld + %lld -> %lld + %lld  groups %lld %lld  %s pass %d%s: "
                       "%.1e\n",
                       ok ? "ok    " : "FAILED", (long long)p.rows, (long long)p.c, (long long)p.s,
                       (long long)p.C, (long long)p.S, (long long)p.x_groups, (long long)p.z_groups,
                       p.is_null ? "null" : "dual", pass, adds ? " added" : "", error);
            }
        }
    }
    n_failed += !check_no_bias();
    printf("%d failed\n", n_failed);
    return n_failed > 0;
}

void bench()
{
    const shape shapes[] = {
        {8192, 16, 32, 48, 96, 1, 24, false, false}, {8192, 16, 32, 16, 32, 8, 1, false, true},
        {8192, 16, 32, 64, 0, 1, 1, false, true},    {8192, 32, 32, 32, 64, 1, 1, false, true},
        {8192, 32, 64, 16, 32, 1, 1, false, true},   {16384, 32, 32, 96, 96, 1, 24, false, false},
        {16384, 32, 32, 32, 32, 8, 1, false, true},  {16384, 32, 32, 128, 0, 1, 1, false, true},
        {16384, 64, 32, 64, 64, 1, 1, false, true},  {16384, 64, 64, 32, 32, 1, 1, false, true},
    };
    cudaEvent_t begin, end;
    must(cudaEventCreate(&begin), "event");
    must(cudaEventCreate(&end), "event");
    for (const shape &p : shapes) {
        problem m(p);
        for (int pass = 1; pass <= 3; pass++) {
            tess_stage_clifford_maps a = m.stage(pass, m.x.device, m.z.device, m.items.device);
            buffer scratch(pass == TESS_CL_MAPS_ITEMS ? clifford_maps::sums_scratch_bytes(a) / 4
                                                      : 1);
            a.scratch = scratch.device;
            float best = 1e9f;
            for (int round = 0; round < 5; round++) {
                must(cudaEventRecord(begin), "event");
                for (int i = 0; i < 10; i++) {
                    launch(a, p.is_null);
                }
                must(cudaEventRecord(end), "event");
                must(cudaEventSynchronize(end), "event");
                float ms = 0;
                must(cudaEventElapsedTime(&ms, begin, end), "event");
                best = ms / 10 < best ? ms / 10 : best;
            }
            const double bytes = 4.0 * double(p.rows) * double(m.x_stride + m.z_stride);
            printf(
                "rows %5lld  %lld + %lld -> %lld + %lld  pass %d: %7.1f us, %4.2f TB/s of rows\n",
                (long long)p.rows, (long long)p.c, (long long)p.s, (long long)p.C, (long long)p.S,
                pass, 1e3 * best, bytes / best * 1e-9);
        }
    }
}

} // namespace

int main(int argc, char **argv)
{
    const int failed = check(argc > 1 && strcmp(argv[1], "--brief") == 0);
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        bench();
    }
    return failed;
}
