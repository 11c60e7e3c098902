// Weights of all pairs of a decoding and an encoding spike, and their sums at the nodes.
//
// A block has 128 decoding spikes and a strip of node columns, and takes the encoding spikes cell
// by cell, in steps of 16 that one warp copies ahead. Every thread computes weights where the
// matrix instructions want them: 16 rows a warp, four encoding spikes a thread. The sums of a row
// of cells stay in registers and are added to a band of 16 rows of nodes in shared memory, where a
// warp has 16 spikes of its own; rows that no further cell reaches go out. Nobody waits for anybody
// but for the copies, and the order of all sums is that of the cells.
//
// Weights and what they meet are sums of two bf16 (nodes.cu): three products leave 1.1e-5 of a
// product at most, 2e-6 in the mean.

#include "backend/cuda/decode/ring.h"
#include "backend/cuda/decode/weights.h"

namespace
{

using namespace spread;

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

// Steps of one cell of a line, in their order.
template <int features>
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
        const bool is_last = k_ + 1 == run_of<1> || left_ == 0;
        t.empty = is_last ? m_.empty + 8 * p_.stage : 0;
        k_ = is_last ? 0 : k_ + 1;
        if (is_last) {
            p_.next(in::stages(m_));
        }
    }
    // After its products.
    __device__ void let_go(taken &t) const
    {
        keep_allocated(t.a, t.at, own_.n_feature < 0);
        if (t.empty != 0 && threadIdx.x % 32 == 0) {
            barrier_arrive(t.empty);
        }
        t.empty = 0;
    }

  private:
    using in = layout<1, features>;
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
__device__ inline void start(float *d, const taken &t)
{
    const uint64_t upper = right_matrix(t.at, 128, 512);
    const uint64_t lower = right_matrix(t.at + 256, 128, 512);
    group_fence();
    multiply<n>(d, t.a.upper, upper);
    multiply<n>(d, t.a.lower, upper);
    multiply<n>(d, t.a.upper, lower);
    group_commit();
}

// The steps of one cell of a line. While the products of a step run, the weights of the next are
// computed, and its products wait behind them.
template <int features>
__device__ inline void take_cell(const own_spikes<features> &own, const memory &m, int n_step,
                                 place &p, float (&d)[8])
{
    cell_steps<features> steps(own, m, n_step, p);
    taken even;
    taken odd;
    const auto take = [&](taken &t) {
        steps.look_ahead();
        steps.next(t);
        start<8>(d, t);
    };
    take(even);
    while (steps.has_next()) {
        take(odd);
        group_wait<1>();
        steps.let_go(even);
        if (!steps.has_next()) {
            break;
        }
        take(even);
        group_wait<1>();
        steps.let_go(odd);
    }
    group_wait<0>();
    steps.let_go(even);
    steps.let_go(odd);
}

// All steps of a strip, in their order; a stage of the ring is one.
template <int features>
class strip_steps
{
  public:
    __device__ strip_steps(const own_spikes<features> &own, const memory &m, int n_step)
        : own_(own), m_(m), left_(n_step)
    {
        look_ahead();
    }
    // Waits for the next step, if there is one, and reads its marks.
    __device__ void look_ahead()
    {
        if (left_ > 0) {
            barrier_wait(m_.full + 8 * p_.stage, p_.parity);
            marks_.read(reinterpret_cast<const float *>(stage() + in::marks_at));
        }
    }
    // The weights of the step that was looked at; nothing after the last.
    __device__ void next(taken &t)
    {
        if (left_ > 0) {
            t.a = weights(own_, marks_);
            t.at = shared_address(stage());
            t.empty = m_.empty + 8 * p_.stage;
            left_--;
            p_.next(in::stages(m_));
        }
    }
    // After its products.
    __device__ void let_go(const taken &t) const
    {
        keep_allocated(t.a, t.at, own_.n_feature < 0);
        if (threadIdx.x % 32 == 0) {
            barrier_arrive(t.empty);
        }
    }

  private:
    using in = layout<window, features>;
    const own_spikes<features> &own_;
    const memory &m_;
    int left_;
    place p_;
    step_marks<features> marks_;

    __device__ const unsigned char *stage() const
    {
        return m_.at + p_.stage * in::stage_bytes(m_);
    }
};

// Sums of a strip's columns, by four: each cell has some of these.
struct strip_sums {
    float of[strip_columns / stride][8 * stride];
};

// Starts a step's products with fours first..end-1 of the strip's columns.
template <int first, int end>
__device__ __forceinline__ void start(strip_sums &d, const taken &t)
{
    group_fence();
#pragma unroll
    for (int k = first; k < end; k++) {
        const uint32_t from = t.at + uint32_t((k - first) * stride * column_bytes);
        const uint64_t upper = right_matrix(from, 128, 512);
        const uint64_t lower = right_matrix(from + 256, 128, 512);
        multiply<8 * stride>(d.of[k], t.a.upper, upper);
        multiply<8 * stride>(d.of[k], t.a.lower, upper);
        multiply<8 * stride>(d.of[k], t.a.upper, lower);
    }
    group_commit();
}

// The steps of a cell with fours first..end-1 of the strip's columns. Products run while the
// weights of the next step are computed, also of the next cell's first: ready has those.
template <int first, int end, int features>
__device__ __forceinline__ void take_cell(strip_steps<features> &steps, int n_step, strip_sums &d,
                                          taken &ready)
{
    taken even;
    taken odd;
    const auto take = [&](taken &t, const taken &before) {
        steps.next(t);
        start<first, end>(d, t);
        steps.look_ahead();
        group_wait<1>();
        steps.let_go(before);
    };
    const auto finish = [&](const taken &last) {
        steps.next(ready);
        group_wait<0>();
        steps.let_go(last);
        steps.look_ahead();
    };
    start<first, end>(d, ready);
    if (n_step == 1) { // its registers are still read
        group_wait<0>();
        steps.let_go(ready);
        steps.next(ready);
        steps.look_ahead();
        return;
    }
    take(odd, ready);
    for (;;) {
        if (n_step == 2) {
            finish(odd);
            return;
        }
        take(even, odd);
        if (n_step == 3) {
            finish(even);
            return;
        }
        take(odd, even);
        n_step -= 2;
    }
}

// at: the strip's column of the window's first.
template <int features>
__device__ __forceinline__ void take_window(strip_steps<features> &steps, int n_step, int at,
                                            strip_sums &d, taken &ready)
{
    switch (at / stride) {
    case -3:
        take_cell<0, 1>(steps, n_step, d, ready);
        break;
    case -2:
        take_cell<0, 2>(steps, n_step, d, ready);
        break;
    case -1:
        take_cell<0, 3>(steps, n_step, d, ready);
        break;
    case 0:
        take_cell<0, 4>(steps, n_step, d, ready);
        break;
    case 1:
        take_cell<1, 4>(steps, n_step, d, ready);
        break;
    case 2:
        take_cell<2, 4>(steps, n_step, d, ready);
        break;
    default:
        take_cell<3, 4>(steps, n_step, d, ready);
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

// Rows of nodes of a warp's spikes, and where they go.
template <int strip>
class node_rows
{
  public:
    __device__ node_rows(const kde_work &w, const memory &m, int64_t tile, int strip_first)
        : w_(w), m_(m), tile_(tile), n_row_(int(w.model.nodes.n_node[0])),
          all_columns_(int(w.model.nodes.n_node[1])),
          n_column_(min(all_columns_ - strip_first, strip)),
          out_(w.moments + (tile * w.n_cell + strip_first) * spikes)
    {
    }
    // No further cell reaches rows before end.
    __device__ void put(int end)
    {
        const int to = min(end, n_row_);
        total_ += put_rows<strip>(m_.band, done_, to, n_column_, all_columns_, out_);
        done_ = to;
    }
    // After the last row.
    __device__ void finish()
    {
        const int lane = int(threadIdx.x) % 32;
        put(n_row_);
        total_ += __shfl_down_sync(0xffffffffu, total_, 16);
        if (lane < 16) {
            w_.totals[(tile_ * w_.n_strip + blockIdx.y) * spikes + threadIdx.x / 32 * 16 + lane] =
                total_;
        }
    }

  private:
    const kde_work &w_;
    const memory &m_;
    int64_t tile_;
    int n_row_;
    int all_columns_;
    int n_column_;
    float *out_;
    int done_ = 0;
    float total_ = 0;
};

template <int features>
__device__ inline own_spikes<features> read_spikes(const kde_work &w, const tess_kde_electrode &e,
                                                   int64_t tile)
{
    own_spikes<features> own;
    own.n_feature = int(e.n_feature);
    own.marks =
        w.x + tile * w.model.max_feature * spikes + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    for (int k = 0; k < 2 * features; k++) {
        own.x[k % 2][k / 2] = own.marks[k / 2 * spikes + k % 2 * 8];
    }
    return own;
}

template <int features>
__device__ __forceinline__ void take_line(const kde_work &w, const tess_kde_electrode &e,
                                          const memory &m, int64_t tile)
{
    const own_spikes<features> own = read_spikes<features>(w, e, tile);
    const int n_cell = int(w.model.nodes.n_cell[0]);
    node_rows<1> rows(w, m, tile, 0);
    place p;
    const auto steps_of = [&](int cell) {
        return e.n_step > 0 && cell < n_cell ? e.cell_step[cell + 1] - e.cell_step[cell] : 0;
    };
    int ahead = steps_of(0); // read before they are wanted
    for (int cell = 0; cell < n_cell; cell++) {
        const int n_step = ahead;
        ahead = steps_of(cell + 1);
        if (n_step > 0) {
            float d[8] = {};
            take_cell(own, m, n_step, p, d);
            add_to_band(d, m.band, 1, cell * stride);
        }
        rows.put((cell + 1) * stride);
    }
    rows.finish();
}

template <int features>
__device__ __forceinline__ void take_strip(const kde_work &w, const tess_kde_electrode &e,
                                           const memory &m, int64_t tile, int strip_first)
{
    const own_spikes<features> own = read_spikes<features>(w, e, tile);
    const tess_kde_nodes &nodes = w.model.nodes;
    const cell_columns of = columns_of<window>(nodes, strip_first);
    const int n_cell_row = e.n_step > 0 ? int(nodes.n_cell[0]) : 0;
    const int n_cell_column = int(nodes.n_cell[1]);
    int n_all = 0;
    for (int row = 0; row < n_cell_row; row++) {
        const int32_t *first = e.cell_step + row * n_cell_column;
        n_all += first[of.end] - first[of.first];
    }
    node_rows<strip_columns> rows(w, m, tile, strip_first);
    strip_steps<features> steps(own, m, n_all);
    taken ready;
    steps.next(ready);
    steps.look_ahead();
    for (int row = 0; row < n_cell_row; row++) {
        const int32_t *first = e.cell_step + row * n_cell_column;
        if (first[of.end] > first[of.first]) {
            strip_sums d = {};
            int end_step = first[of.first];
            for (int cell = of.first; cell < of.end; cell++) {
                const int first_step = end_step;
                end_step = first[cell + 1];
                if (end_step > first_step) {
                    take_window(steps, end_step - first_step, stride * cell - strip_first, d,
                                ready);
                }
            }
#pragma unroll
            for (int k = 0; k < strip_columns / stride; k++) {
                add_to_band(d.of[k], m.band + k * stride * spikes, strip_columns, row * stride);
            }
        }
        rows.put((row + 1) * stride);
    }
    rows.finish();
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
            take_strip<features>(w, e, m, tile, strip_first);
        } else {
            take_line<features>(w, e, m, tile);
        }
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
