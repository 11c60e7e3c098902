// From sums at nodes to floored log intensities: along the columns of nodes in the plane, then
// along the rows, with the logarithms.
//
// Both have their sums in registers, some spikes by 16 coordinates a thread, so that arithmetic is
// the limit. The second keeps all values of a block's spikes in shared memory until their floor is
// known, and writes them once.

#include "backend/cuda/decode/sure.h"
#include "backend/cuda/warp_sum.h"

#include <climits>

namespace
{

constexpr int at_once = 2 * TESS_KDE_BLOCK; // coordinates
constexpr int quads = kde_tile_spikes / 4;  // of spikes: what a thread has

struct reach {
    int first;
    int end;
};

// Nodes within reach of blocks 2 k and 2 k + 1 of an axis.
__device__ inline reach reach_of(const tess_kde_axis &axis, int k)
{
    reach r = {axis.first[2 * k], axis.end[2 * k]};
    if (2 * k + 1 < axis.n_block && axis.first[2 * k + 1] < axis.end[2 * k + 1]) {
        r.first = min(r.first, axis.first[2 * k + 1]);
        r.end = max(r.end, axis.end[2 * k + 1]);
    }
    return r;
}

// Sums of four spikes at 16 coordinates, by octets.
struct sums {
    float of[4][at_once] = {};
    __device__ void add(int octet, float4 v, float4 lower, float4 upper)
    {
        const float spike[4] = {v.x, v.y, v.z, v.w};
        const float entry[TESS_KDE_BLOCK] = {lower.x, lower.y, lower.z, lower.w,
                                             upper.x, upper.y, upper.z, upper.w};
#pragma unroll
        for (int s = 0; s < 4; s++) {
#pragma unroll
            for (int k = 0; k < TESS_KDE_BLOCK; k++) {
                float &sum = of[s][octet * TESS_KDE_BLOCK + k];
                sum = fmaf(spike[s], entry[k], sum);
            }
        }
    }
};

// 16 bytes to shared memory, on their way until copies_done<how many newest sets may be left>;
// before sm_80 at once.
__device__ inline void copy_16(void *to, const void *from)
{
#if TESS_CUDA_HAS_MATRIX
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(uint32_t(__cvta_generic_to_shared(to))),
        "l"(from)
        : "memory");
#else
    *static_cast<uint4 *>(to) = *static_cast<const uint4 *>(from);
#endif
}

__device__ inline void copies_end()
{
#if TESS_CUDA_HAS_MATRIX
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int newest>
__device__ inline void copies_done()
{
#if TESS_CUDA_HAS_MATRIX
    asm volatile("cp.async.wait_group %0;" ::"n"(newest) : "memory");
#endif
}

// Stores of a warp to memory that lies far apart from lane to lane fill its sectors of 32 bytes by
// halves. So two lanes share: coordinates j and j + 1 of the even lane's spikes go out at once,
// then those of the odd lane's. out: the even lane's; the odd one's are apart items further.
__device__ inline void put_pair(const sums &sum, int j, float4 *out, int64_t apart)
{
    const bool is_odd = threadIdx.x % 2 != 0;
    float mine[4], others[4];
#pragma unroll
    for (int s = 0; s < 4; s++) {
        mine[s] = is_odd ? sum.of[s][j + 1] : sum.of[s][j];
        const float given = is_odd ? sum.of[s][j] : sum.of[s][j + 1];
        others[s] = __shfl_xor_sync(0xffffffffu, given, 1);
    }
    const float4 own = make_float4(mine[0], mine[1], mine[2], mine[3]);
    const float4 other = make_float4(others[0], others[1], others[2], others[3]);
    out[is_odd] = is_odd ? other : own;
    out[apart + is_odd] = is_odd ? own : other;
}

// Rows of nodes to the values of axes[1]: out [tile][quads][row][n_value][4]. A warp has all spikes
// of a tile at 16 coordinates. A row is copied to shared memory while the one before is summed.
constexpr int most_groups = 8; // of 16 coordinates

__global__ void __launch_bounds__(32 * most_groups, 2) columns_kernel(kde_work w, int rows)
{
    extern __shared__ float4 shared[];
    const tess_kde_axis &axis = w.axes[1];
    const int n_node = int(axis.n_cell);
    const int row_items = n_node * quads;
    const int n_thread = int(blockDim.x * blockDim.y);
    const int thread = int(threadIdx.y * blockDim.x + threadIdx.x);
    const int64_t tile = blockIdx.x;
    const int first_row = int(blockIdx.y) * rows;
    const int end_row = min(first_row + rows, int(w.axes[0].n_cell));
    const float4 *from = reinterpret_cast<const float4 *>(w.moments) + tile * w.n_cell * quads;
    float4 *table = shared + 2 * row_items; // [group][node][4]
    const int first_group = int(blockIdx.z * blockDim.y);
    const auto copy_row = [&](int row) {
        for (int i = thread; i < row_items && row < end_row; i += n_thread) {
            copy_16(shared + row % 2 * row_items + i, from + int64_t(row) * row_items + i);
        }
        copies_end();
    };
    copy_row(first_row);
    for (int i = thread; i < n_node * 4 * int(blockDim.y); i += n_thread) {
        const int block = 2 * (first_group + i / 4 / n_node) + i % 4 / 2;
        const int64_t at = (int64_t(block) * n_node + i / 4 % n_node) * 2 + i % 2;
        table[i] = block < axis.n_block ? reinterpret_cast<const float4 *>(axis.table)[at]
                                        : make_float4(0, 0, 0, 0);
    }
    const int k = first_group + int(threadIdx.y);
    const reach r = 2 * k < axis.n_block ? reach_of(axis, k) : reach{0, 0};
    const int n = min(at_once, int(axis.n_block - 2 * k) * TESS_KDE_BLOCK);
    const float4 *entry = table + threadIdx.y * n_node * 4;
    const int64_t apart = w.axes[0].n_cell * w.n_value;
    float4 *out = reinterpret_cast<float4 *>(w.partial) +
                  (tile * quads + threadIdx.x / 2 * 2) * apart + k * at_once;
    for (int row = first_row; row < end_row; row++) {
        copy_row(row + 1);
        copies_done<1>();
        __syncthreads();
        const float4 *nodes = shared + row % 2 * row_items + threadIdx.x;
        sums sum;
#pragma unroll 2
        for (int g = r.first; g < r.end; g++) {
            const float4 v = nodes[g * quads];
            sum.add(0, v, entry[4 * g], entry[4 * g + 1]);
            sum.add(1, v, entry[4 * g + 2], entry[4 * g + 3]);
        }
#pragma unroll
        for (int j = 0; j < at_once; j += 2) {
            if (j < n) {
                put_pair(sum, j, out + row * w.n_value + j, apart);
            }
        }
        __syncthreads();
    }
}

constexpr int threads = 256;
constexpr int most_spikes = kde_tile_spikes; // of a block, four a thread

// What sums of each spike are sure, in the place of its first strip's total: few threads of a block
// with few spikes would have the others wait for it.
__global__ void __launch_bounds__(kde_tile_spikes) sure_kernel(kde_work w)
{
    const int64_t tile = blockIdx.x;
    const int spike = int(threadIdx.x);
    float *totals = w.totals + tile * w.n_strip * kde_tile_spikes + spike;
    if (spike >= w.tiles[tile].n) {
        return;
    }
    float total = 0;
    for (int64_t strip = 0; strip < w.n_strip; strip++) {
        total += totals[strip * kde_tile_spikes];
    }
    const tess_kde_electrode &e = kde_electrode_of(w, tile);
    totals[0] =
        kde_is_within(w, e, tile, spike) ? float(kde_least_sure(w, e, double(total))) : INFINITY;
}

// What the threads of a block share besides the values.
struct block_state {
    float sure[most_spikes];
    int most[most_spikes]; // ordered()
    int unsure[most_spikes];
    int floored[most_spikes];
};

// Integers in the order of the numbers.
__device__ inline int ordered(float x)
{
    const int bits = __float_as_int(x);
    return bits < 0 ? bits ^ INT_MAX : bits;
}

__device__ inline float from_ordered(int x)
{
    return __int_as_float(x < 0 ? x ^ INT_MAX : x);
}

// Where the block's spikes are.
struct part {
    const tess_kde_electrode *e;
    int64_t tile;
    int first;  // spike of the tile
    int spikes; // of the block, some of them beyond the tile's
    int ld;     // items from spike to spike of the values
};

__device__ void read_sure(const kde_work &w, const part &t, block_state &s)
{
    const int k = int(threadIdx.x);
    if (k < t.spikes) {
        s.sure[k] = w.totals[t.tile * w.n_strip * kde_tile_spikes + t.first + k];
        s.most[k] = ordered(-INFINITY);
        s.unsure[k] = 0;
        s.floored[k] = 0;
    }
    __syncthreads();
}

// log x to 3e-7, of a number that is not far below the range of f32; -inf of 0.
__device__ inline float log_of(float x)
{
    const int bits = __float_as_int(x);
    const int exponent = (bits - 0x3f3504f3) >> 23; // x = 2^exponent m, m from sqrt(1/2) to sqrt(2)
    float log2_m;
    asm("lg2.approx.ftz.f32 %0, %1;"
        : "=f"(log2_m)
        : "f"(__int_as_float(bits - exponent * (1 << 23))));
    const float log_x = fmaf(float(exponent), 0.693147182f, log2_m * 0.693147182f);
    return x > 0 ? log_x : -INFINITY;
}

// Staged, all threads have the same spikes: a warp's largest first.
template <bool is_staged>
__device__ __forceinline__ void note_largest(const float (&most)[4], bool has_item, int *largest)
{
    for (int i = 0; i < 4; i++) {
        const int mine = ordered(most[i]);
        const int value = is_staged ? warp_max(mine) : mine;
        if (is_staged ? threadIdx.x % 32 == 0 : has_item) {
            atomicMax(largest + i, value);
        }
    }
}

// Bins of a block of coordinates, -1 for none, and their offsets.
struct octet_bins {
    int bin[TESS_KDE_BLOCK];
    float offset[TESS_KDE_BLOCK];
    __device__ octet_bins(const int32_t *bins, bool has_bins, const float *offsets)
    {
        const int4 lower = __ldg(reinterpret_cast<const int4 *>(bins));
        const int4 upper = __ldg(reinterpret_cast<const int4 *>(bins) + 1);
        const int all[TESS_KDE_BLOCK] = {lower.x, lower.y, lower.z, lower.w,
                                         upper.x, upper.y, upper.z, upper.w};
#pragma unroll
        for (int j = 0; j < TESS_KDE_BLOCK; j++) {
            bin[j] = has_bins ? all[j] : -1;
            offset[j] = __ldg(offsets + max(bin[j], 0));
        }
    }
};

// What a thread has two octets of coordinates of, and which nodes reach them. Staged: two columns
// at a block of coordinates, the same of a warp, so that fewer entries of the table are read and
// fewer nodes are in reach; else a column, or the line, at two blocks.
struct octets {
    int spike; // first of four
    int column[2];
    int block[2];
    bool has[2];
    reach r;
};

// Columns of the first octets of staged items: whole warps.
__host__ __device__ inline int staged_columns(const kde_work &w)
{
    return int(w.axes[1].n_value + 63) / 64 * 32;
}

template <bool is_staged>
__device__ inline octets octets_of(const kde_work &w, int of_block, int n_column, int item)
{
    const tess_kde_axis &axis = w.axes[0];
    octets o;
    if constexpr (is_staged) {
        const int half = staged_columns(w);
        const int k = item / half;
        o.spike = 0;
        for (int h = 0; h < 2; h++) {
            const int column = item % half + h * half;
            o.has[h] = k < axis.n_block && column < n_column;
            o.column[h] = min(column, n_column - 1);
            o.block[h] = min(k, int(axis.n_block) - 1);
        }
        o.r = {axis.first[o.block[0]], axis.end[o.block[0]]};
    } else {
        const int k = item / of_block / n_column;
        const int n_pair = int((axis.n_block + 1) / 2);
        o.spike = item % of_block * 4;
        for (int h = 0; h < 2; h++) {
            const int block = 2 * min(k, n_pair - 1) + h;
            o.has[h] = k < n_pair && block < axis.n_block;
            o.column[h] = item / of_block % n_column;
            o.block[h] = min(block, int(axis.n_block) - 1);
        }
        o.r = reach_of(axis, min(k, n_pair - 1));
    }
    return o;
}

// Values of a thread's octets, and its largest of each spike that are sure. All that is read comes
// before what is written, so that it is waited for once.
__device__ __forceinline__ void put_values(const kde_work &w, const part &t, const octets &o,
                                           const sums &sum, const float *sure_of_spikes,
                                           float *values, float (&most)[4])
{
    const float sure[4] = {sure_of_spikes[0], sure_of_spikes[1], sure_of_spikes[2],
                           sure_of_spikes[3]};
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const int place = (o.column[h] * int(w.axes[0].n_block) + o.block[h]) * TESS_KDE_BLOCK;
        const octet_bins at(w.model.nodes.bins + place, o.has[h], t.e->offset_f32);
#pragma unroll
        for (int j = 0; j < TESS_KDE_BLOCK; j++) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const float v = log_of(sum.of[i][h * TESS_KDE_BLOCK + j]) + at.offset[j];
                const bool is_sure = at.bin[j] >= 0 && v >= sure[i] + at.offset[j];
                most[i] = is_sure ? fmaxf(most[i], v) : most[i];
                if (at.bin[j] >= 0) {
                    values[(o.spike + i) * t.ld + at.bin[j]] = v;
                }
            }
        }
    }
}

// Values of all bins to shared memory, and the largest of each spike that is sure. staged: columns
// of the block's four spikes, copied there; else they are read where they are.
template <bool is_staged>
__device__ void find_values(const kde_work &w, const part &t, block_state &s, float *values,
                            const float4 *staged)
{
    const tess_kde_axis &axis = w.axes[0];
    const bool is_plane = w.model.nodes.n_dim == 2;
    const int of_block = t.spikes / 4;
    const int n_column = is_plane ? int(w.axes[1].n_value) : 1;
    const int n_item = is_staged ? staged_columns(w) * int(axis.n_block)
                                 : of_block * n_column * int((axis.n_block + 1) / 2);
    const int64_t row_items = is_plane ? w.n_value : quads;
    const int64_t block_items = axis.n_cell * TESS_KDE_BLOCK;
    const float4 *all = is_plane ? reinterpret_cast<const float4 *>(w.partial) +
                                       (t.tile * quads + t.first / 4) * axis.n_cell * row_items
                                 : reinterpret_cast<const float4 *>(w.moments) +
                                       t.tile * axis.n_cell * row_items + t.first / 4;
    if constexpr (is_staged) {
        copies_done<0>();
        __syncthreads();
    }
    for (int first_item = 0; first_item < n_item; first_item += threads) {
        const octets o = octets_of<is_staged>(w, of_block, n_column, first_item + int(threadIdx.x));
        const int64_t at =
            is_plane ? o.spike / 4 * axis.n_cell * row_items + o.column[0] : o.spike / 4;
        const float4 *first =
            reinterpret_cast<const float4 *>(axis.table + o.block[0] * block_items);
        const float4 *second =
            reinterpret_cast<const float4 *>(axis.table + o.block[1] * block_items);
        sums sum;
#pragma unroll 2
        for (int g = o.r.first; g < o.r.end; g++) {
            const float4 lower = __ldg(first + 2 * g);
            const float4 upper = __ldg(first + 2 * g + 1);
            if constexpr (is_staged) {
                sum.add(0, staged[g * row_items + o.column[0]], lower, upper);
                sum.add(1, staged[g * row_items + o.column[1]], lower, upper);
            } else {
                const float4 v = __ldg(all + at + g * row_items);
                sum.add(0, v, lower, upper);
                sum.add(1, v, __ldg(second + 2 * g), __ldg(second + 2 * g + 1));
            }
        }
        if (is_staged && n_item <= threads) {
            __syncthreads(); // values take the place of what was staged
        }
        float most[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
        put_values(w, t, o, sum, s.sure + o.spike, values, most);
        note_largest<is_staged>(most, o.has[0], s.most + o.spike);
    }
    __syncthreads();
}

// Floored values, NaN where one may lie above the floor and is not sure. A warp has a spike, or
// several warps one.
__device__ void write_values(const kde_work &w, const part &t, block_state &s, const float *values)
{
    constexpr int warps = threads / 32;
    const kde_tile tile = w.tiles[t.tile];
    const int64_t n_bin = w.model.n_bin;
    const int lane = int(threadIdx.x) % 32;
    const int warp = int(threadIdx.x) / 32;
    const int shares = t.spikes < warps ? warps / t.spikes : 1;
    for (int k = warp / shares; k < t.spikes && t.first + k < tile.n; k += warps / shares) {
        const float sure = s.sure[k];
        const float floor = w.model.floor_kind == TESS_KDE_FLOOR_RELATIVE
                                ? float(double(from_ordered(s.most[k])) - w.model.floor_nats)
                                : float(w.model.floor_value);
        // No intensity anywhere: any constant will do.
        const float lowest = floor > -INFINITY ? floor : float(w.model.floor_value);
        float *to =
            static_cast<float *>(w.ranges[tile.range].values) + (tile.first + t.first + k) * n_bin;
        int unsure = 0;
        int floored = 0;
        const float *offsets = t.e->offset_f32;
        const int n = int(n_bin);
        constexpr int ahead = 8; // are read before the first of them is written
        for (int from = warp % shares * 32 + lane; from < n; from += 32 * shares * ahead) {
            float v[ahead], least[ahead];
#pragma unroll
            for (int j = 0; j < ahead; j++) {
                const int p = min(from + j * 32 * shares, n - 1);
                least[j] = sure + __ldg(offsets + p);
                v[j] = values[k * t.ld + p];
            }
#pragma unroll
            for (int j = 0; j < ahead; j++) {
                const int p = from + j * 32 * shares;
                if (p < n) {
                    const bool is_anew = !(v[j] >= least[j]) && least[j] > floor;
                    const bool is_above = v[j] >= least[j] && v[j] > lowest;
                    unsure += is_anew;
                    floored += !is_above;
                    to[p] = is_anew ? NAN : is_above ? v[j] : lowest;
                }
            }
        }
        unsure = warp_sum(unsure);
        floored = warp_sum(floored);
        if (lane == 0) {
            atomicAdd(&s.unsure[k], unsure);
            atomicAdd(&s.floored[k], floored);
        }
    }
    __syncthreads();
    const int k = int(threadIdx.x);
    if (k < t.spikes && t.first + k < tile.n) {
        kde_count(w, t.tile * kde_tile_spikes + t.first + k, s.unsure[k], s.floored[k]);
    }
}

template <bool is_staged>
__global__ void __launch_bounds__(threads, 2)
    bins_kernel(kde_work w, int spikes, int ld, int values_at)
{
    extern __shared__ float4 shared[]; // staged columns; values [spikes][ld] at values_at
    __shared__ block_state s;
    part t;
    t.tile = blockIdx.x / unsigned(kde_tile_spikes / spikes);
    t.first = int(blockIdx.x % unsigned(kde_tile_spikes / spikes)) * spikes;
    if (t.first >= w.tiles[t.tile].n) {
        return;
    }
    t.e = &kde_electrode_of(w, t.tile);
    t.spikes = spikes;
    t.ld = ld;
    float *values = reinterpret_cast<float *>(shared + values_at);
    if constexpr (is_staged) {
        const int n = int(w.axes[0].n_cell * w.n_value);
        const float4 *from =
            reinterpret_cast<const float4 *>(w.partial) + (t.tile * quads + t.first / 4) * n;
        for (int i = int(threadIdx.x); i < n; i += threads) {
            copy_16(shared + i, from + i);
        }
        copies_end();
    }
    read_sure(w, t, s);
    find_values<is_staged>(w, t, s, values, shared);
    write_values(w, t, s, values);
}

// Shared memory of a block, and of each of two on one multiprocessor.
constexpr size_t most_bytes = 225 << 10;
constexpr size_t half_bytes = 111 << 10;

// So many bytes of shared memory a block.
template <typename kernel_t>
cudaError_t allow(kernel_t *kernel, size_t bytes)
{
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes));
}

cudaError_t launch_columns(cudaStream_t stream, const kde_work &w, int64_t n_tile)
{
    const int64_t n_node = w.axes[1].n_cell;
    const int64_t n_group = (w.axes[1].n_block + 1) / 2;
    const size_t row_bytes = size_t(n_node * kde_tile_spikes) * sizeof(float);
    const size_t group_bytes = size_t(n_node * at_once) * sizeof(float);
    const int64_t fitting = int64_t((most_bytes - 2 * row_bytes) / group_bytes);
    const int64_t most = fitting < most_groups ? fitting : most_groups;
    const int64_t parts = (n_group + most - 1) / most;
    const int64_t groups = (n_group + parts - 1) / parts;
    const size_t bytes = 2 * row_bytes + size_t(groups) * group_bytes;
    constexpr int rows = 14; // of a block: the table is read once for them
    const cudaError_t error = allow(columns_kernel, bytes);
    if (error != cudaSuccess) {
        return error;
    }
    const dim3 grid(unsigned(n_tile), unsigned((w.axes[0].n_cell + rows - 1) / rows),
                    unsigned(parts));
    columns_kernel<<<grid, dim3(32, unsigned(groups)), bytes, stream>>>(w, rows);
    return cudaGetLastError();
}

template <bool is_staged>
cudaError_t launch_values(cudaStream_t stream, const kde_work &w, int64_t n_tile, int spikes,
                          int64_t values_at, size_t bytes)
{
    const cudaError_t error = allow(bins_kernel<is_staged>, bytes);
    if (error != cudaSuccess) {
        return error;
    }
    const unsigned blocks = unsigned(n_tile * (kde_tile_spikes / spikes));
    bins_kernel<is_staged>
        <<<blocks, threads, bytes, stream>>>(w, spikes, int(w.model.n_bin) | 1, int(values_at));
    return cudaGetLastError();
}

} // namespace

cudaError_t kde_launch_bins(cudaStream_t stream, const kde_work &w, int64_t n_tile)
{
    const size_t spike_bytes = (size_t(w.model.n_bin) | 1) * sizeof(float);
    sure_kernel<<<unsigned(n_tile), kde_tile_spikes, 0, stream>>>(w);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess && w.model.nodes.n_dim == 2) {
        error = launch_columns(stream, w, n_tile);
    }
    if (error != cudaSuccess) {
        return error;
    }
    if (w.model.nodes.n_dim == 2) {
        const int64_t n_staged = w.axes[0].n_cell * w.n_value;
        const size_t staged_bytes = size_t(n_staged) * sizeof(float4);
        // With one sum a thread, values can take the place of what was staged.
        const bool shares = staged_columns(w) * w.axes[0].n_block <= threads;
        const size_t both = staged_bytes + 4 * spike_bytes;
        const size_t larger = staged_bytes > 4 * spike_bytes ? staged_bytes : 4 * spike_bytes;
        const size_t bytes = shares ? larger : both;
        if (bytes <= most_bytes) {
            return launch_values<true>(stream, w, n_tile, 4, shares ? 0 : n_staged, bytes);
        }
    }
    int spikes = most_spikes;
    while (spikes > 4 && size_t(spikes) * spike_bytes > half_bytes) {
        spikes /= 2;
    }
    return launch_values<false>(stream, w, n_tile, spikes, 0, size_t(spikes) * spike_bytes);
}
