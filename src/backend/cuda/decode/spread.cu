// Weights of all pairs of a decoding and an encoding spike, and their sums at the nodes.
//
// A block has 128 decoding spikes and a strip of node columns, and takes the encoding spikes cell
// by cell, in steps of 16 that one warp copies ahead. Every thread computes weights where the
// matrix instructions want them: 16 rows a warp, four encoding spikes a thread. A cell's sums stay
// in registers and are added to a band of 16 rows of nodes in shared memory, where a warp has 16
// spikes of its own; rows that no further cell reaches go out. Nobody waits for anybody but for the
// copies, and the order of all sums is that of the cells.
//
// Weights and what they meet are sums of two bf16 (nodes.cu): three products leave 1.1e-5 of a
// product at most, 2e-6 in the mean.

#include "backend/cuda/decode/kde.h"
#include "backend/cuda/decode/matrix.h"
#include "backend/cuda/decode/weights.h"

namespace
{

constexpr int spikes = kde_tile_spikes;
constexpr int window = TESS_KDE_WINDOW;
constexpr int stride = TESS_KDE_STRIDE;
constexpr int step = TESS_KDE_STEP;
constexpr int warps = spikes / 16;
constexpr int most_stages = 5;
constexpr int column_bytes = window * step * TESS_KDE_NODE_BYTES; // of a step
constexpr int strip_columns = 16; // in the plane: a band of them and the stages fill shared memory

// Where things lie in shared memory.
struct memory {
    float *band; // [window rows][columns][spikes], row r in r % window
    int stages;
    uint32_t full; // barriers [stages]
    uint32_t empty;
    unsigned char *at; // [stages][stage_bytes]: nodes of some steps, then their marks
    int stage_bytes;
};

template <int columns>
constexpr int strip_of = columns == 1 ? 1 : strip_columns;

// A thread behind the spikes' warps copies. In the plane its warpgroup leaves them its registers.
template <int columns>
constexpr int threads_of = 32 * (warps + (columns == 1 ? 1 : 4));

// Steps of one cell that are copied at a time.
template <int columns>
constexpr int run_of = columns == 1 ? 4 : 1;

template <int columns>
__host__ __device__ inline int stage_bytes_of(int64_t max_feature)
{
    return run_of<columns> *
           (columns * column_bytes + (int(max_feature) * step * 4 + 127) / 128 * 128);
}

// What is left beside the band, at most.
template <int columns>
__host__ __device__ inline int stages_of(int64_t max_feature)
{
    constexpr int left_bytes = (226 << 10) - window * strip_of<columns> * spikes * 4;
    const int n = left_bytes / stage_bytes_of<columns>(max_feature);
    return n < most_stages ? n : most_stages;
}

template <int columns>
size_t shared_bytes_of(int64_t max_feature)
{
    return size_t(window * strip_of<columns> * spikes) * sizeof(float) +
           size_t(stages_of<columns>(max_feature)) * size_t(stage_bytes_of<columns>(max_feature));
}

// What the features say about the stages, where they are known.
template <int columns, int features>
struct layout {
    static constexpr int run = run_of<columns>;
    __device__ static int stage_bytes(const memory &m)
    {
        return features > 0 ? stage_bytes_of<columns>(features) : m.stage_bytes;
    }
    __device__ static int stages(const memory &m)
    {
        return features > 0 ? stages_of<columns>(features) : m.stages;
    }
    static constexpr int marks_at = run_of<columns> * columns * column_bytes;
};

// The part of a cell's window in the strip, in columns: both multiples of four, or the line's one.
struct cut {
    int first;
    int end;
    int at; // column of the strip of the window's first; may be negative
};

template <int columns>
__device__ inline cut cut_of(int cell, int strip_first)
{
    if (columns == 1) {
        return {0, 1, 0};
    }
    const int at = stride * cell - strip_first;
    return {at < 0 ? -at : 0, at + window > strip_columns ? strip_columns - at : window, at};
}

// Which step of the ring is next, and how often it went round.
struct place {
    int stage = 0;
    uint32_t parity = 0;
    __device__ void next(int stages)
    {
        parity ^= ++stage == stages;
        stage = stage == stages ? 0 : stage;
    }
};

// Cells whose windows meet the strip.
struct cell_columns {
    int first;
    int end;
};

template <int columns>
__device__ inline cell_columns columns_of(const tess_kde_nodes &nodes, int strip_first)
{
    if (columns == 1) {
        return {0, 1};
    }
    const int first = (strip_first - window + stride) / stride;
    const int end = (strip_first + strip_columns) / stride;
    const int n = int(nodes.n_cell[1]);
    return {first > 0 ? first : 0, end < n ? end : n};
}

template <int columns>
__device__ void copy_steps(const kde_work &w, const tess_kde_electrode &e, const memory &m,
                           int strip_first)
{
    const tess_kde_nodes &nodes = w.model.nodes;
    const cell_columns of = columns_of<columns>(nodes, strip_first);
    const auto *basis = static_cast<const unsigned char *>(e.step_basis);
    const uint32_t marks_bytes = uint32_t(e.n_feature) * step * 4;
    place p;
    for (int row = 0; row < int(nodes.n_cell[0]); row++) {
        for (int cell = of.first; cell < of.end; cell++) {
            const int32_t *first = e.cell_step + row * nodes.n_cell[1] + cell;
            const cut c = cut_of<columns>(cell, strip_first);
            const uint32_t basis_bytes = uint32_t(c.end - c.first) * column_bytes;
            for (int64_t k = first[0]; k < first[1]; k += run_of<columns>) {
                const uint32_t n =
                    first[1] - k < run_of<columns> ? uint32_t(first[1] - k) : run_of<columns>;
                const uint32_t to = shared_address(m.at) + uint32_t(p.stage * m.stage_bytes);
                const uint32_t full = m.full + 8 * p.stage;
                barrier_wait(m.empty + 8 * p.stage, p.parity ^ 1);
                barrier_expect(full, n * (basis_bytes + marks_bytes));
                copy_run(to, basis + (k * columns + c.first) * column_bytes, n * basis_bytes, full);
                copy_run(to + layout<columns, 0>::marks_at, e.step_marks + k * step * e.n_feature,
                         n * marks_bytes, full);
                p.next(m.stages);
            }
        }
    }
}

// Adds a cell's sums to the band.
template <int n>
__device__ inline void add_to_band(const float (&d)[n], float *band, int band_columns, int row)
{
    const int lane = int(threadIdx.x) % 32;
    const int spike = int(threadIdx.x) / 32 * 16 + lane / 4;
    int at[2][2];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const int slot = (row + 8 * (k / 2) + 2 * (lane % 4) + k % 2) % window;
        // Four rows at a time lie in different banks.
        at[k / 2][k % 2] = slot * band_columns * spikes + (spike ^ (slot / 2 % 4 * 8));
    }
    // Many at a time are read before any is written: reading takes long.
    constexpr int batch = n < 32 ? n : 32;
#pragma unroll
    for (int first = 0; first < n; first += batch) {
        float sum[batch];
#pragma unroll
        for (int k = 0; k < batch; k++) {
            const int i = first + k;
            sum[k] = band[(at[i / 4 % 2][i % 2] ^ (i / 2 % 2 * 8)) + i / 8 * spikes] + d[i];
        }
#pragma unroll
        for (int k = 0; k < batch; k++) {
            const int i = first + k;
            band[(at[i / 4 % 2][i % 2] ^ (i / 2 % 2 * 8)) + i / 8 * spikes] = sum[k];
        }
    }
}

// A step that is multiplied: its left matrix, where its nodes are, and the barrier of its stage if
// it is the last of one, else 0.
struct taken {
    left a = {};
    uint32_t at = 0;
    uint32_t empty = 0;
};

// Steps of one cell, in their order.
template <int columns, int features>
class cell_steps
{
  public:
    __device__ cell_steps(const own_spikes<features> &own, const memory &m, int n_step, place &p)
        : own_(own), m_(m), left_(n_step), p_(p)
    {
    }
    __device__ bool has_next() const
    {
        return left_ > 0;
    }
    // Waits for the next step, if there is one, and reads its marks.
    __device__ void look_ahead()
    {
        if (left_ > 0) {
            if (k_ == 0) {
                barrier_wait(m_.full + 8 * p_.stage, p_.parity);
            }
            const int n = features > 0 ? features : own_.n_feature;
            marks_.read(reinterpret_cast<const float *>(stage() + in::marks_at) + k_ * step * n);
        }
    }
    __device__ void next(taken &t)
    {
        t.a = weights(own_, marks_);
        t.at = shared_address(stage()) + uint32_t(k_ * column_bytes);
        left_--;
        const bool is_last = k_ + 1 == in::run || left_ == 0;
        t.empty = is_last ? m_.empty + 8 * p_.stage : 0;
        k_ = is_last ? 0 : k_ + 1;
        if (is_last) {
            p_.next(in::stages(m_));
        }
    }

  private:
    using in = layout<columns, features>;
    const own_spikes<features> &own_;
    const memory &m_;
    int left_;
    place &p_;
    int k_ = 0; // of the stage
    step_marks<features> marks_;

    __device__ const unsigned char *stage() const
    {
        return m_.at + p_.stage * in::stage_bytes(m_);
    }
};

template <int n>
__device__ inline void start(float (&d)[n], const taken &t)
{
    const uint64_t upper = right_matrix(t.at, 128, 512);
    const uint64_t lower = right_matrix(t.at + 256, 128, 512);
    group_fence();
    multiply<n>(d, t.a.upper, upper);
    multiply<n>(d, t.a.lower, upper);
    multiply<n>(d, t.a.upper, lower);
    group_commit();
}

// After its products.
__device__ inline void let_go(const taken &t)
{
    keep(t.a);
    if (t.empty != 0 && threadIdx.x % 32 == 0) {
        barrier_arrive(t.empty);
    }
}

// The steps of one cell, n / 8 columns of its window. While the products of a step run, the weights
// of the next are computed, and its products wait behind them.
template <int n, int features>
__device__ inline void take_cell(const own_spikes<features> &own, const memory &m, int n_step,
                                 place &p, float *band, int band_columns, int row)
{
    cell_steps<n == 8 ? 1 : window, features> steps(own, m, n_step, p);
    float d[n];
#pragma unroll
    for (int k = 0; k < n; k++) {
        d[k] = 0; // or the compiler keeps registers for each of the sizes
    }
    taken even;
    taken odd;
    // On a line registers are better spent on more warps.
    constexpr bool looks_ahead = n > 8;
    const auto take = [&](taken &t) {
        if constexpr (!looks_ahead) {
            steps.look_ahead();
        }
        steps.next(t);
        start(d, t);
        if constexpr (looks_ahead) {
            steps.look_ahead();
        }
    };
    if constexpr (looks_ahead) {
        steps.look_ahead();
    }
    take(even);
    while (steps.has_next()) {
        take(odd);
        group_wait<1>();
        let_go(even);
        even.empty = 0;
        if (!steps.has_next()) {
            break;
        }
        take(even);
        group_wait<1>();
        let_go(odd);
        odd.empty = 0;
    }
    group_wait<0>();
    let_go(even);
    let_go(odd);
    add_to_band(d, band, band_columns, row);
}

// The part of a cell's window in the strip: so many columns.
template <int columns, int features>
__device__ inline void take_window(const own_spikes<features> &own, const memory &m, int n_step,
                                   place &p, float *band, int n_column, int row)
{
    constexpr int strip = strip_of<columns>;
    if constexpr (columns == 1) {
        take_cell<8>(own, m, n_step, p, band, strip, row);
    } else {
        switch (n_column / stride) {
        case 1:
            take_cell<32>(own, m, n_step, p, band, strip, row);
            break;
        case 2:
            take_cell<64>(own, m, n_step, p, band, strip, row);
            break;
        case 3:
            take_cell<96>(own, m, n_step, p, band, strip, row);
            break;
        default:
            take_cell<128>(own, m, n_step, p, band, strip, row);
        }
    }
}

// Rows first..end-1 of nodes out, and zeros in their place; of the warp's 16 spikes. Returns the
// sum of those of spike lane % 16 that the lane had.
template <int band_columns>
__device__ inline float put_rows(float *band, int first, int end, int n_column, int all_columns,
                                 float *out)
{
    constexpr int half = (band_columns + 1) / 2; // columns of a lane, every second
    const int lane = int(threadIdx.x) % 32;
    const int spike = int(threadIdx.x) / 32 * 16 + lane % 16;
    float sum = 0;
    __syncwarp();
    for (int row = first; row < end; row++) {
        const int slot = row % window;
        float *from =
            band + (slot * band_columns + lane / 16) * spikes + (spike ^ (slot / 2 % 4 * 8));
        float *to = out + (int64_t(row) * all_columns + lane / 16) * spikes + spike;
        float v[half];
#pragma unroll
        for (int k = 0; k < half; k++) {
            v[k] = 2 * k + lane / 16 < n_column ? from[2 * k * spikes] : 0;
        }
#pragma unroll
        for (int k = 0; k < half; k++) {
            if (2 * k + lane / 16 < n_column) {
                to[2 * k * spikes] = v[k];
                from[2 * k * spikes] = 0;
            }
            sum += v[k];
        }
    }
    __syncwarp();
    return sum;
}

template <int columns, int features>
__device__ void take_steps(const kde_work &w, const tess_kde_electrode &e, const memory &m,
                           int64_t tile, int strip_first)
{
    constexpr int strip = strip_of<columns>;
    const tess_kde_nodes &nodes = w.model.nodes;
    const int lane = int(threadIdx.x) % 32;
    own_spikes<features> own;
    own.n_feature = int(e.n_feature);
    own.marks = w.x + tile * w.model.max_feature * spikes + threadIdx.x / 32 * 16 + lane / 4;
    for (int k = 0; k < 2 * features; k++) {
        own.x[k % 2][k / 2] = own.marks[k / 2 * spikes + k % 2 * 8];
    }
    const cell_columns of = columns_of<columns>(nodes, strip_first);
    const int n_row = int(nodes.n_node[0]);
    const int left_columns = int(nodes.n_node[1]) - strip_first;
    const int n_column = left_columns < strip ? left_columns : strip;
    float *out = w.moments + (tile * w.n_cell + strip_first) * spikes;
    int done = 0; // rows of nodes
    float total = 0;
    place p;
    const int n_cell_row = int(nodes.n_cell[0]);
    const int n_cell_column = int(nodes.n_cell[1]);
    const int32_t *cell_step = e.n_step > 0 ? e.cell_step : nullptr;
    const auto steps_of = [&](int row, int cell) {
        const int32_t *first = cell_step + row * n_cell_column + cell;
        return cell_step != nullptr && row < n_cell_row ? first[1] - first[0] : 0;
    };
    int ahead = steps_of(0, of.first); // read before they are wanted
    for (int row = 0; row < n_cell_row; row++) {
        for (int cell = of.first; cell < of.end; cell++) {
            const int n_step = ahead;
            const bool is_last = cell + 1 == of.end;
            ahead = steps_of(is_last ? row + 1 : row, is_last ? of.first : cell + 1);
            if (n_step == 0) {
                continue;
            }
            const cut c = cut_of<columns>(cell, strip_first);
            float *band = m.band + (c.at + c.first) * spikes;
            take_window<columns>(own, m, n_step, p, band, c.end - c.first, row * stride);
        }
        const int end = (row + 1) * stride < n_row ? (row + 1) * stride : n_row;
        total += put_rows<strip>(m.band, done, end, n_column, int(nodes.n_node[1]), out);
        done = end;
    }
    total += put_rows<strip>(m.band, done, n_row, n_column, int(nodes.n_node[1]), out);
    total += __shfl_down_sync(0xffffffffu, total, 16);
    if (lane < 16) {
        w.totals[(tile * w.n_strip + blockIdx.y) * spikes + threadIdx.x / 32 * 16 + lane] = total;
    }
}

template <int columns, int features>
__global__ void __launch_bounds__(threads_of<columns>, columns == 1 ? 3 : 1)
    spread_kernel(kde_work w)
{
#if TESS_CUDA_HAS_GROUPS
    extern __shared__ __align__(128) float shared[];
    __shared__ uint64_t barriers[2 * most_stages]; // kde_has_spread() sees that they are there
    constexpr int strip = strip_of<columns>;
    constexpr int band_items = window * strip * spikes;
    const int64_t tile = blockIdx.x;
    const tess_kde_electrode &e = kde_electrode_of(w, tile);
    memory m;
    m.band = shared;
    m.at = reinterpret_cast<unsigned char *>(shared + band_items);
    m.stage_bytes = stage_bytes_of<columns>(w.model.max_feature);
    m.stages = stages_of<columns>(w.model.max_feature);

    m.full = shared_address(barriers);
    m.empty = m.full + 8 * most_stages;
    const int strip_first = int(blockIdx.y) * strip;
    for (int k = int(threadIdx.x); k < band_items; k += threads_of<columns>) {
        m.band[k] = 0;
    }
    if (threadIdx.x == 0) {
        for (int k = 0; k < m.stages; k++) {
            barrier_init(m.full + 8 * k, 1);
            barrier_init(m.empty + 8 * k, warps);
        }
        barrier_init_fence();
    }
    __syncthreads();
    if (threadIdx.x < 32 * warps) {
        if constexpr (columns > 1) {
            take_registers<232>();
        }
        take_steps<columns, features>(w, e, m, tile, strip_first);
    } else {
        if constexpr (columns > 1) {
            give_registers<40>();
        }
        if (threadIdx.x == 32 * warps && e.n_step > 0) {
            copy_steps<columns>(w, e, m, strip_first);
        }
    }
#endif
}

template <int columns, int features>
cudaError_t launch(cudaStream_t stream, const kde_work &w, int64_t n_tile)
{
    const size_t bytes = shared_bytes_of<columns>(w.model.max_feature);
    const cudaError_t error = cudaFuncSetAttribute(
        spread_kernel<columns, features>, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes));
    if (error != cudaSuccess) {
        return error;
    }
    const dim3 grid(unsigned(n_tile), unsigned(w.n_strip));
    spread_kernel<columns, features><<<grid, threads_of<columns>, bytes, stream>>>(w);
    return cudaGetLastError();
}

} // namespace

bool kde_has_spread()
{
    cudaFuncAttributes attributes;
    const cudaError_t error = cudaFuncGetAttributes(&attributes, spread_kernel<1, 4>);
    (void)cudaGetLastError();
    return error == cudaSuccess && attributes.sharedSizeBytes > 0;
}

int64_t kde_strips(const tess_kde_nodes &nodes)
{
    const int64_t strip = nodes.n_dim == 2 ? strip_columns : 1;
    return (nodes.n_node[1] + strip - 1) / strip;
}

cudaError_t kde_launch_spread(cudaStream_t stream, const kde_work &w, int64_t n_tile)
{
    const bool is_plane = w.model.nodes.n_dim == 2;
    if (kde_all_have(w.model, 4)) {
        return is_plane ? launch<window, 4>(stream, w, n_tile) : launch<1, 4>(stream, w, n_tile);
    }
    return is_plane ? launch<window, 0>(stream, w, n_tile) : launch<1, 0>(stream, w, n_tile);
}
