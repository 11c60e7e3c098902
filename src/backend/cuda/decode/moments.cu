// Weights of all pairs of a decoding and an encoding spike, and their sums in cells of position.
//
// The encoding spikes of a cell pass through shared memory, a few at a time; what a thread reads
// there is used for several spikes at once, because reading costs four times what adding does. A
// cell belongs to one block, which adds its spikes in their order.

#include "backend/cuda/decode/kde.h"

namespace
{

constexpr int chunk = 32; // encoding spikes in shared memory
constexpr double sqrt_log2_e = 1.2011224087864498;

__global__ void __launch_bounds__(kde_tile_spikes) marks_kernel(kde_work w)
{
    const int64_t tile = blockIdx.x;
    const tess_kde_electrode &e = kde_electrode_of(w, tile);
    const kde_tile t = w.tiles[tile];
    const int64_t spike = t.first + (int(threadIdx.x) < t.n ? int(threadIdx.x) : t.n - 1);
    const double *mark = w.ranges[t.range].marks + spike * e.n_feature;
    float *x = w.x + tile * w.model.max_feature * kde_tile_spikes + threadIdx.x;
    for (int64_t f = 0; f < e.n_feature; f++) {
        x[f * kde_tile_spikes] =
            float((mark[f] - e.mark_centre[f]) * (e.mark_scale[f] * sqrt_log2_e));
    }
}

// 2^-q. What underflows is below what any sum is trusted for.
__device__ inline float power(float q)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(-q));
    return y;
}

// Rows of the basis of a cell's spikes, of moments or of bins.
struct basis_source {
    const float *basis;
    int64_t cell_n; // spikes of the cell
    int64_t n_column;
    bool is_aligned; // rows of whole vectors
};

// The cells of a block: those of the grid from first on, with the electrode's spikes in each.
class cells
{
  public:
    __device__ cells(const kde_work &w, const tess_kde_electrode &e, int64_t first)
        : w_(w), e_(e), has_cells_(w.model.grid.n_dim > 0)
    {
        int64_t high = has_cells_ ? e.n_cell : 0;
        while (next_ < high) {
            const int64_t middle = next_ + (high - next_) / 2;
            if (e.cell[middle] < first) {
                next_ = middle + 1;
            } else {
                high = middle;
            }
        }
    }
    // The spikes of a cell, which must be the one after that of the last call.
    __device__ basis_source take(int64_t cell, int64_t *begin)
    {
        basis_source s = {e_.basis, 0, w_.n_column, w_.n_column % 4 == 0};
        *begin = 0;
        if (!has_cells_) {
            s.cell_n = e_.basis == nullptr ? 0 : e_.n_spike;
        } else if (next_ < e_.n_cell && e_.cell[next_] == cell) {
            *begin = e_.cell_first[next_];
            s.cell_n = e_.cell_first[next_ + 1] - *begin;
            s.basis = e_.basis + *begin * w_.n_column;
            next_++;
        }
        return s;
    }

  private:
    const kde_work &w_;
    const tess_kde_electrode &e_;
    bool has_cells_;
    int64_t next_ = 0;
};

__device__ inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// Marks of encoding spikes first..first+n-1 to [n][nf].
template <int threads>
__device__ inline void load_marks(const tess_kde_electrode &e, int64_t first, int n, int nf,
                                  float *marks)
{
    for (int k = int(threadIdx.x); k < n * nf; k += threads) {
        marks[(k % n) * nf + k / n] = e.marks_f32[(k / n) * e.stride + first + k % n];
    }
}

// A tile's electrode and the cells of a block of threads.
struct cell_range {
    int64_t first;
    int64_t end;
};

__device__ inline cell_range cells_of_block(const kde_work &w, int cells_per_block)
{
    const int64_t first = int64_t(blockIdx.z) * cells_per_block;
    return {first, least(first + cells_per_block, w.n_cell)};
}

// Columns first.. of the basis of encoding spikes to [n][columns].
template <int columns, int threads>
__device__ inline void load_basis(const basis_source &b, int64_t spike, int n, int64_t first,
                                  float (*basis)[columns])
{
    for (int k = int(threadIdx.x); k < n * (columns / 4); k += threads) {
        const int i = k / (columns / 4);
        const int64_t column = first + 4 * (k % (columns / 4));
        float4 *to = reinterpret_cast<float4 *>(basis[i]) + k % (columns / 4);
        const float *from = b.basis + (spike + i) * b.n_column + column;
        if (b.is_aligned && column < b.n_column) {
            *to = __ldg(reinterpret_cast<const float4 *>(from));
        } else {
            *to = make_float4(
                column < b.n_column ? from[0] : 0, column + 1 < b.n_column ? from[1] : 0,
                column + 2 < b.n_column ? from[2] : 0, column + 3 < b.n_column ? from[3] : 0);
        }
    }
}

// The weight of one pair; x is in registers, or every spikes-th item of own.
template <int features>
__device__ inline float weight_of(const float *x, const float *own, const float *mark, int nf)
{
    float q = 0;
    if constexpr (features > 0) {
#pragma unroll
        for (int f = 0; f < features; f++) {
            const float d = x[f] - mark[f];
            q = fmaf(d, d, q);
        }
    } else {
        for (int f = 0; f < nf; f++) {
            const float d = own[f * kde_tile_spikes] - mark[f];
            q = fmaf(d, d, q);
        }
    }
    return power(q);
}

template <int spikes, int columns>
__device__ inline void add_row(const float (&weight)[spikes], const float *row,
                               float (&sum)[spikes][columns])
{
#pragma unroll
    for (int k = 0; k < columns / 4; k++) {
        const float4 v = reinterpret_cast<const float4 *>(row)[k];
#pragma unroll
        for (int s = 0; s < spikes; s++) {
            sum[s][4 * k] = fmaf(weight[s], v.x, sum[s][4 * k]);
            sum[s][4 * k + 1] = fmaf(weight[s], v.y, sum[s][4 * k + 1]);
            sum[s][4 * k + 2] = fmaf(weight[s], v.z, sum[s][4 * k + 2]);
            sum[s][4 * k + 3] = fmaf(weight[s], v.w, sum[s][4 * k + 3]);
        }
    }
}

template <int spikes, int columns>
__device__ inline void clear(float (&sum)[spikes][columns])
{
#pragma unroll
    for (int k = 0; k < spikes * columns; k++) {
        sum[k / columns][k % columns] = 0;
    }
}

// Few columns: a warp has a tile, a thread four spikes with all columns, and its own weights.
constexpr int narrow_threads = 32;
constexpr int narrow_spikes = kde_tile_spikes / narrow_threads;

template <int columns, int features>
__global__ void __launch_bounds__(narrow_threads) narrow_kernel(kde_work w, int cells_per_block)
{
    extern __shared__ float shared[];
    const int64_t tile = blockIdx.x;
    const tess_kde_electrode &e = kde_electrode_of(w, tile);
    const int nf = features > 0 ? features : int(e.n_feature);
    float(*basis)[columns] = reinterpret_cast<float(*)[columns]>(shared);
    float *marks = shared + chunk * columns; // [chunk][nf]
    const int lane = int(threadIdx.x);
    const float *own = w.x + tile * w.model.max_feature * kde_tile_spikes + lane;
    float x[narrow_spikes][features > 0 ? features : 1];
    for (int k = 0; k < features * narrow_spikes; k++) {
        x[k % narrow_spikes][k / narrow_spikes] =
            own[k / narrow_spikes * kde_tile_spikes + k % narrow_spikes * narrow_threads];
    }
    const cell_range range = cells_of_block(w, cells_per_block);
    cells source(w, e, range.first);
    for (int64_t cell = range.first; cell < range.end; cell++) {
        float sum[narrow_spikes][columns];
        clear(sum);
        int64_t begin;
        const basis_source b = source.take(cell, &begin);
        for (int64_t first = 0; first < b.cell_n; first += chunk) {
            const int here = int(least(b.cell_n - first, chunk));
            __syncwarp();
            load_basis<columns, narrow_threads>(b, first, here, 0, basis);
            load_marks<narrow_threads>(e, begin + first, here, nf, marks);
            __syncwarp();
            for (int i = 0; i < here; i++) {
                float weight[narrow_spikes];
#pragma unroll
                for (int s = 0; s < narrow_spikes; s++) {
                    weight[s] =
                        weight_of<features>(x[s], own + s * narrow_threads, marks + i * nf, nf);
                }
                add_row(weight, basis[i], sum);
            }
        }
        float *out = w.moments + (tile * w.n_cell + cell) * w.n_column * kde_tile_spikes + lane;
#pragma unroll
        for (int k = 0; k < columns * narrow_spikes; k++) {
            if (k / narrow_spikes < w.n_column) {
                out[k / narrow_spikes * kde_tile_spikes + k % narrow_spikes * narrow_threads] =
                    sum[k % narrow_spikes][k / narrow_spikes];
            }
        }
    }
}

// Many columns: the weights of a few encoding spikes go to shared memory, and threads have eight
// spikes by some columns of the product.
constexpr int wide_threads = 128;
constexpr int wide_groups = 8; // of columns; each of 16 threads

// The thread's columns of a cell's moments to its spikes.
template <int per_thread>
__device__ inline void store_wide(const float (&sum)[8][per_thread], int64_t first, int64_t end,
                                  float *out)
{
    const int of_spikes = int(threadIdx.x) % 16;
#pragma unroll
    for (int k = 0; k < per_thread; k++) {
        if (first + k < end) {
            float4 *to = reinterpret_cast<float4 *>(out + (first + k) * kde_tile_spikes);
            to[of_spikes] = make_float4(sum[0][k], sum[1][k], sum[2][k], sum[3][k]);
            to[16 + of_spikes] = make_float4(sum[4][k], sum[5][k], sum[6][k], sum[7][k]);
        }
    }
}

template <int per_thread, int features>
__global__ void __launch_bounds__(wide_threads) wide_kernel(kde_work w, int cells_per_block)
{
    constexpr int columns = per_thread * wide_groups;
    extern __shared__ float shared[];
    float(*weights)[kde_tile_spikes] = reinterpret_cast<float(*)[kde_tile_spikes]>(shared);
    float(*basis)[columns] = reinterpret_cast<float(*)[columns]>(shared + chunk * kde_tile_spikes);
    float *marks = shared + chunk * (kde_tile_spikes + columns);
    const int64_t tile = blockIdx.x;
    const tess_kde_electrode &e = kde_electrode_of(w, tile);
    const int nf = features > 0 ? features : int(e.n_feature);
    const int thread = int(threadIdx.x);
    const int of_spikes = thread % 16; // spikes 4 of_spikes .. + 3 and 64 more
    const int of_columns = thread / 16 * per_thread;
    const int64_t first_column = int64_t(blockIdx.y) * columns;
    const float *own = w.x + tile * w.model.max_feature * kde_tile_spikes + thread;
    float x[features > 0 ? features : 1];
    for (int f = 0; f < features; f++) {
        x[f] = own[f * kde_tile_spikes];
    }
    const cell_range range = cells_of_block(w, cells_per_block);
    cells source(w, e, range.first);
    for (int64_t cell = range.first; cell < range.end; cell++) {
        float sum[8][per_thread];
        clear(sum);
        int64_t begin;
        const basis_source b = source.take(cell, &begin);
        for (int64_t first = 0; first < b.cell_n; first += chunk) {
            const int here = int(least(b.cell_n - first, chunk));
            __syncthreads();
            load_basis<columns, wide_threads>(b, first, here, first_column, basis);
            load_marks<wide_threads>(e, begin + first, here, nf, marks);
            __syncthreads();
            for (int i = 0; i < here; i++) {
                weights[i][thread] = weight_of<features>(x, own, marks + i * nf, nf);
            }
            __syncthreads();
            for (int i = 0; i < here; i++) {
                const float4 *of_row = reinterpret_cast<const float4 *>(weights[i]);
                const float4 a = of_row[of_spikes];
                const float4 c = of_row[16 + of_spikes];
                const float weight[8] = {a.x, a.y, a.z, a.w, c.x, c.y, c.z, c.w};
                add_row(weight, basis[i] + of_columns, sum);
            }
        }
        store_wide(sum, first_column + of_columns, w.n_column,
                   w.moments + (tile * w.n_cell + cell) * w.n_column * kde_tile_spikes);
    }
}

// Blocks enough for every multiprocessor, where tiles are few by sharing out the cells.
dim3 grid_of(const kde_work &w, int64_t n_tile, int64_t n_group, int64_t wanted, int *cells)
{
    constexpr int64_t most_splits = 65535;
    int64_t splits = (wanted + n_tile * n_group - 1) / (n_tile * n_group);
    splits = splits < w.n_cell ? splits : w.n_cell;
    splits = splits < most_splits ? splits : most_splits;
    const int64_t n = (w.n_cell + splits - 1) / splits;
    *cells = int(n);
    return dim3(unsigned(n_tile), unsigned(n_group), unsigned((w.n_cell + n - 1) / n));
}

template <int columns>
cudaError_t launch_narrow(cudaStream_t stream, const kde_work &w, int64_t n_tile)
{
    int cells;
    const dim3 grid = grid_of(w, n_tile, 1, 1 << 14, &cells);
    const size_t bytes = size_t(chunk) * size_t(columns + w.model.max_feature) * sizeof(float);
    if (kde_all_have(w.model, 4)) {
        narrow_kernel<columns, 4><<<grid, narrow_threads, bytes, stream>>>(w, cells);
    } else {
        narrow_kernel<columns, 0><<<grid, narrow_threads, bytes, stream>>>(w, cells);
    }
    return cudaGetLastError();
}

template <int per_thread>
cudaError_t launch_wide(cudaStream_t stream, const kde_work &w, int64_t n_tile)
{
    constexpr int columns = per_thread * wide_groups;
    int cells;
    const dim3 grid = grid_of(w, n_tile, (w.n_column + columns - 1) / columns, 1 << 12, &cells);
    const size_t bytes =
        size_t(chunk) * size_t(kde_tile_spikes + columns + w.model.max_feature) * sizeof(float);
    if (kde_all_have(w.model, 4)) {
        wide_kernel<per_thread, 4><<<grid, wide_threads, bytes, stream>>>(w, cells);
    } else {
        wide_kernel<per_thread, 0><<<grid, wide_threads, bytes, stream>>>(w, cells);
    }
    return cudaGetLastError();
}

} // namespace

cudaError_t kde_launch_marks(cudaStream_t stream, const kde_work &w, int64_t n_tile)
{
    marks_kernel<<<unsigned(n_tile), kde_tile_spikes, 0, stream>>>(w);
    return cudaGetLastError();
}

cudaError_t kde_launch_moments(cudaStream_t stream, const kde_work &w, int64_t n_tile)
{
    if (w.n_column <= 12) {
        return launch_narrow<12>(stream, w, n_tile);
    }
    if (w.n_column <= 20) {
        return launch_narrow<20>(stream, w, n_tile);
    }
    if (w.n_column <= 32) {
        return launch_wide<4>(stream, w, n_tile);
    }
    if (w.n_column <= 64) {
        return launch_wide<8>(stream, w, n_tile);
    }
    return launch_wide<12>(stream, w, n_tile);
}
