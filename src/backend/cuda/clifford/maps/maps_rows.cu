// Rows of stage clifford.maps: z from x, and the gradient of x from that of z, which is the same
// with all matrices transposed.
//
// A block owns 64 rows of some channels of the result, all their components: rows of the input pass
// by eight channels at a time, as they lie in memory, with what they are multiplied with. Blocks
// behind those of channels make scalars of the result.

#include "backend/cuda/clifford/common/device.cuh"
#include "backend/cuda/clifford/maps/maps.cuh"

namespace clifford_maps
{

namespace
{

constexpr int tile_rows = 64;
constexpr int chunk = 8;                           // channels of the input at a time
constexpr int row_pitch = chunk * n_component + 8; // floats; banks of lanes of a warp differ
constexpr int scalar_chunk = 32;                   // scalars of the input at a time
constexpr int scalar_pitch = scalar_chunk + 4;
constexpr int scalar_columns = 64; // of the result, of a block

struct rows_args {
    side in, out;
    const float *items;
    tess_cl_maps_parts parts;
    int64_t n_row;
    int32_t has_bias; // forward alone
    int32_t n_tile;   // of channels of the result
    int32_t n_across; // and of scalars
};

constexpr int threads = 256;      // four warps above each other own 16 rows each, two side by side
constexpr int tile_channels = 16; // of the result: eight of a warp
constexpr int scalar_item_pitch = 2 * tile_channels + 8;

// Shared memory, in floats: two stages of rows and of what they are multiplied with.
constexpr int stage_rows = tile_rows * row_pitch;
constexpr int stage_floats = stage_rows + n_pair * chunk * tile_channels * 4;
constexpr size_t rows_bytes = 2 * stage_floats * sizeof(float);
constexpr int factor_pitch = scalar_columns + 8; // of scalars of the result

// Where items lie that scalars of the result are made with: k channels of the input, component b of
// the first pair, n scalars of the result.
template <bool is_turned>
__device__ __forceinline__ int64_t from_pair_at(const rows_args &a, int k, int b, int n)
{
    return is_turned ? a.parts.to_pair + (int64_t(n) * 2 + b) * a.in.n_channel + k
                     : a.parts.to_scalars + (int64_t(k) * 2 + b) * a.out.n_scalar + n;
}

// The same for k scalars of the input, and the bias behind them.
template <bool is_turned>
__device__ __forceinline__ int64_t from_scalar_at(const rows_args &a, int k, int n)
{
    return a.parts.scalars +
           (is_turned ? int64_t(n) * a.in.n_scalar + k : int64_t(k) * a.out.n_scalar + n);
}

// Channels from `first` on. The quads of channels 2, 3, 6 and 7 change places in twos.
__device__ __forceinline__ void copy_rows(float *to, const rows_args &a, int64_t row0, int first)
{
    const int quad = int(threadIdx.x) % 4;
    const int channel = int(threadIdx.x) / 4 % chunk;
    const bool is_channel = first + channel < a.in.n_channel;
    const float *from = a.in.data + (is_channel ? a.in.channel_at(first + channel) + 4 * quad : 0);
    float *place = to + channel * n_component + ((quad ^ (channel >> 1 & 1)) << 2);
#pragma unroll 1
    for (int i = 0; i < tile_rows * chunk * 4 / threads; i++) {
        const int row = int(threadIdx.x) / (4 * chunk) + i * (threads / (4 * chunk));
        const bool is_there = is_channel && row0 + row < a.n_row;
        copy_async_16(shared_address(place + row * row_pitch),
                      is_there ? from + (row0 + row) * a.in.stride : a.in.data, is_there ? 16 : 0);
    }
}

// Where the four items between channel k of the input and channel n of the result lie in a stage,
// in words of four: those of a pair by k, or turned by n. Lanes of a warp read different banks.
template <bool is_turned>
__device__ __forceinline__ int item_at(int pair, int k, int n)
{
    return is_turned ? (pair * tile_channels + n) * chunk + (k ^ ((n & 1) << 2))
                     : (pair * chunk + k) * tile_channels + (n ^ ((k & 3) << 1));
}

// Items between channels of the input from `first` on and those of the result from n0 on.
template <bool is_turned>
__device__ __forceinline__ void copy_items(float *to, const rows_args &a, int n0, int first)
{
    const int n_k = a.in.n_channel;
    const int n_n = a.out.n_channel;
#pragma unroll 1
    for (int i = int(threadIdx.x); i < n_pair * chunk * tile_channels; i += threads) {
        const int k = is_turned ? i % chunk : i / tile_channels % chunk;
        const int n = is_turned ? i / chunk % tile_channels : i % tile_channels;
        const int pair = i / (chunk * tile_channels);
        const bool is_there = first + k < n_k && n0 + n < n_n;
        const int64_t at = is_turned ? (int64_t(pair) * n_n + n0 + n) * n_k + first + k
                                     : (int64_t(pair) * n_k + first + k) * n_n + n0 + n;
        copy_async_16(shared_address(to + 4 * item_at<is_turned>(pair, k, n)),
                      is_there ? a.items + 4 * at : a.items, is_there ? 16 : 0);
    }
}

// Scalars from `first` on, in place of channels.
__device__ __forceinline__ void copy_scalars(float *to, const rows_args &a, int64_t row0, int first)
{
    const int piece = int(threadIdx.x) % (scalar_chunk / 4);
    const int k = first + 4 * piece;
    const bool is_scalar = k < a.in.n_scalar;
    const float *from = a.in.data + (is_scalar ? a.in.scalar_at(k) : 0);
#pragma unroll 1
    for (int i = 0; i < tile_rows * (scalar_chunk / 4) / threads; i++) {
        const int row = int(threadIdx.x) / (scalar_chunk / 4) + i * (threads * 4 / scalar_chunk);
        const bool is_there = is_scalar && row0 + row < a.n_row;
        copy_async_16(shared_address(to + row * scalar_pitch + 4 * piece),
                      is_there ? from + (row0 + row) * a.in.stride : a.in.data, is_there ? 16 : 0);
    }
}

// What they are multiplied with for the first pair of channels from n0 on: [k][B][n], turned
// [n][B][k].
template <bool is_turned>
__device__ __forceinline__ void copy_scalar_items(float *to, const rows_args &a, int n0, int first)
{
    constexpr int pieces = is_turned ? scalar_chunk / 4 : tile_channels / 4;
    constexpr int lines = is_turned ? tile_channels : scalar_chunk;
    for (int i = int(threadIdx.x); i < pieces * 2 * lines; i += threads) {
        const int piece = i % pieces;
        const int B = i / pieces % 2;
        const int line = i / pieces / 2;
        const int k = is_turned ? first + 4 * piece : first + line;
        const int n = is_turned ? n0 + line : n0 + 4 * piece;
        const bool is_there = k < a.in.n_scalar && n < a.out.n_channel;
        const int64_t at = is_turned ? a.parts.to_scalars + (int64_t(n) * 2 + B) * a.in.n_scalar + k
                                     : a.parts.to_pair + (int64_t(k) * 2 + B) * a.out.n_channel + n;
        float *place = is_turned ? to + (2 * line + B) * scalar_pitch
                                 : to + line * scalar_item_pitch + B * tile_channels;
        copy_async_16(shared_address(place + 4 * piece), is_there ? a.items + at : a.items,
                      is_there ? 16 : 0);
    }
}

using pair_sums = float[n_pair][2][4]; // by component of the result

template <typename Pairs, bool is_turned>
__device__ __forceinline__ void multiply_chunk(const float *stage, int row, int column,
                                               pair_sums &sums)
{
    const lane_place lane;
    const float4 *items = reinterpret_cast<const float4 *>(stage + stage_rows);
    const float *from = stage + (row + lane.g) * row_pitch;
#pragma unroll
    for (int step = 0; step < chunk / 4; step++) {
        const int k = 4 * step + lane.t;
        const float *channel = from + k * n_component;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int one = (Pairs::quad(half, 0) ^ (lane.t >> 1)) << 2;
            const int other = (Pairs::quad(half, 1) ^ (lane.t >> 1)) << 2;
            uint32_t upper[8], lower[8];
            load_quads(channel + one, channel + other, upper);
            load_quads(channel + 8 * row_pitch + one, channel + 8 * row_pitch + other, lower);
#pragma unroll
            for (int j = 0; j < half_pairs; j++) {
                const int pair = half * half_pairs + j;
                const int a = Pairs::place(half, j, 0);
                const int b = Pairs::place(half, j, 1);
                const float4 with = items[item_at<is_turned>(pair, k, column + lane.g)];
                const float turned = is_turned ? with.y : with.z;
                const float straight = is_turned ? with.z : with.y;
                const uint32_t in[4] = {upper[a], lower[a], upper[b], lower[b]};
                multiply_1688(sums[pair][0], in, to_tf32(with.x), to_tf32(turned));
                multiply_1688(sums[pair][1], in, to_tf32(straight), to_tf32(with.w));
            }
        }
    }
}

// Scalars of the input to the first pair.
template <bool is_turned>
__device__ __forceinline__ void multiply_scalars(const float *stage, int row, int column,
                                                 pair_sums &sums)
{
    const lane_place lane;
    const float *items = stage + stage_rows;
#pragma unroll
    for (int step = 0; step < scalar_chunk / 8; step++) {
        const int k = 8 * step + lane.t;
        const float *at = stage + (row + lane.g) * scalar_pitch + k;
        const uint32_t in[4] = {to_tf32(at[0]), to_tf32(at[8 * scalar_pitch]), to_tf32(at[4]),
                                to_tf32(at[8 * scalar_pitch + 4])};
#pragma unroll
        for (int B = 0; B < 2; B++) {
            const float *b =
                items + (is_turned ? (2 * (column + lane.g) + B) * scalar_pitch + k
                                   : k * scalar_item_pitch + B * tile_channels + column + lane.g);
            multiply_1688(sums[0][B], in, to_tf32(b[0]),
                          to_tf32(b[is_turned ? 4 : 4 * scalar_item_pitch]));
        }
    }
}

// The bias of the first pair, for two channels from `channel` on.
__device__ __forceinline__ void add_bias(const rows_args &a, int channel, pair_sums &sums)
{
    const float *bias = a.items + a.parts.to_pair + int64_t(a.in.n_scalar) * 2 * a.out.n_channel;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int B = i / 2, e = i % 2;
        const float value = bias[B * a.out.n_channel + min(channel + e, a.out.n_channel - 1)];
        sums[0][B][e] += value;
        sums[0][B][2 + e] += value;
    }
}

// Among four lanes: lane t gives its word i to lane i, and gets word t of lane i as its word i.
__device__ __forceinline__ void turn_words(float4 (&words)[4], int t)
{
#pragma unroll
    for (int apart = 1; apart <= 2; apart *= 2) {
        const bool is_upper = (t & apart) != 0;
#pragma unroll
        for (int low = 0; low < 4; low++) {
            if (low & apart) {
                continue;
            }
            float4 &a = words[low];
            float4 &b = words[low | apart];
            const float4 mine = is_upper ? a : b;
            const float4 other = {__shfl_xor_sync(clifford::all_lanes, mine.x, apart),
                                  __shfl_xor_sync(clifford::all_lanes, mine.y, apart),
                                  __shfl_xor_sync(clifford::all_lanes, mine.z, apart),
                                  __shfl_xor_sync(clifford::all_lanes, mine.w, apart)};
            if (is_upper) {
                a = other;
            } else {
                b = other;
            }
        }
    }
}

// A lane has two channels of two rows; four lanes write a whole channel at a time, because memory
// takes sectors of two words best.
template <typename Pairs>
__device__ __forceinline__ void store_channels(const rows_args &a, int64_t row0, int channel0,
                                               const pair_sums &sums)
{
    const lane_place lane;
#pragma unroll
    for (int e = 0; e < 2; e++) {
        int at[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int channel = channel0 + 2 * i + e;
            at[i] = channel < a.out.n_channel ? a.out.channel_at(channel) + 4 * lane.t : -1;
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int64_t row = row0 + lane.g + 8 * h;
            float values[4][4];
#pragma unroll
            for (int pair = 0; pair < n_pair; pair++) {
#pragma unroll
                for (int B = 0; B < 2; B++) {
                    const int half = pair / half_pairs;
                    const int place = Pairs::place(half, pair % half_pairs, B);
                    values[Pairs::quad(half, place / 4)][place % 4] = sums[pair][B][2 * h + e];
                }
            }
            float4 words[4];
#pragma unroll
            for (int q = 0; q < 4; q++) {
                words[q] = make_float4(values[q][0], values[q][1], values[q][2], values[q][3]);
            }
            turn_words(words, lane.t);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                if (at[i] >= 0 && row < a.n_row) {
                    *reinterpret_cast<float4 *>(a.out.data + row * a.out.stride + at[i]) = words[i];
                }
            }
        }
    }
}

template <typename Pairs, bool is_turned>
__device__ __forceinline__ void make_channels(const rows_args &a, float *shared, int64_t row0,
                                              int n0)
{
    const lane_place lane;
    const int row = int(threadIdx.x) / 32 % 4 * 16;
    const int column = int(threadIdx.x) / 128 * 8;
    pair_sums sums = {};
    const int n_chunk = (a.in.n_channel + chunk - 1) / chunk;
    const int n_all = n_chunk + (a.in.n_scalar + scalar_chunk - 1) / scalar_chunk;
    const auto copy = [&](int i) {
        float *stage = shared + i % 2 * stage_floats;
        if (i < n_chunk) {
            copy_rows(stage, a, row0, i * chunk);
            copy_items<is_turned>(stage + stage_rows, a, n0, i * chunk);
        } else {
            const int first = (i - n_chunk) * scalar_chunk;
            copy_scalars(stage, a, row0, first);
            copy_scalar_items<is_turned>(stage + stage_rows, a, n0, first);
        }
        copy_commit();
    };
    for (int i = -1; i < n_all; i++) {
        if (i + 1 < n_all) {
            copy(i + 1);
        }
        if (i < 0) {
            continue;
        }
        if (i + 1 < n_all) {
            copy_wait<1>();
        } else {
            copy_wait<0>();
        }
        __syncthreads();
        const float *stage = shared + i % 2 * stage_floats;
        if (i < n_chunk) {
            multiply_chunk<Pairs, is_turned>(stage, row, column, sums);
        } else {
            multiply_scalars<is_turned>(stage, row, column, sums);
        }
        __syncthreads();
    }
    if (a.has_bias) {
        add_bias(a, n0 + column + 2 * lane.t, sums);
    }
    store_channels<Pairs>(a, row0 + row, n0 + column, sums);
}

// Columns of the input that scalars of the result are made of: components of the first pair of all
// channels, two by two, then scalars. The bias is added to the sums.
template <typename Pairs>
__device__ __forceinline__ int scalar_input_at(const rows_args &a, int k)
{
    const int n_mv = 2 * a.in.n_channel;
    return k < n_mv ? a.in.channel_at(k / 2) + (k % 2 ? Pairs::first(1) : Pairs::first(0))
                    : a.in.scalar_at(k - n_mv);
}

template <bool is_turned>
__device__ __forceinline__ int64_t scalar_factor_at(const rows_args &a, int k, int n)
{
    const int n_mv = 2 * a.in.n_channel;
    return k < n_mv ? from_pair_at<is_turned>(a, k / 2, k % 2, n)
                    : from_scalar_at<is_turned>(a, k - n_mv, n);
}

// What a thread brings of both factors of scalars of the result: a column of some rows, and a
// column of some lines of items.
struct scalar_share {
    static constexpr int row_step = threads / scalar_chunk, line_step = threads / scalar_columns;
    static constexpr int n_in = tile_rows / row_step, n_with = scalar_chunk / line_step;
    float in[n_in], with[n_with];

    // All loads at once, from where something is: a branch for each would wait for each.
    template <typename Pairs, bool is_turned>
    __device__ __forceinline__ void fetch(const rows_args &a, int64_t row0, int n0, int first,
                                          int n_k)
    {
        const int tid = int(threadIdx.x);
        const int k = first + tid % scalar_chunk;
        const float *from = a.in.data + scalar_input_at<Pairs>(a, min(k, n_k - 1));
#pragma unroll
        for (int i = 0; i < n_in; i++) {
            const int64_t row = row0 + tid / scalar_chunk + i * row_step;
            const float value = __ldg(from + min(row, a.n_row - 1) * a.in.stride);
            in[i] = k < n_k ? value : 0.0f;
        }
        const int n = min(n0 + tid % scalar_columns, a.out.n_scalar - 1);
#pragma unroll
        for (int i = 0; i < n_with; i++) {
            const int line = first + tid / scalar_columns + i * line_step;
            const float value =
                __ldg(a.items + scalar_factor_at<is_turned>(a, min(line, n_k - 1), n));
            with[i] = line < n_k ? value : 0.0f;
        }
    }
    __device__ __forceinline__ void put(float *rows, float *items) const
    {
        const int tid = int(threadIdx.x);
#pragma unroll
        for (int i = 0; i < n_in; i++) {
            rows[(tid / scalar_chunk + i * row_step) * scalar_pitch + tid % scalar_chunk] = in[i];
        }
#pragma unroll
        for (int i = 0; i < n_with; i++) {
            items[(tid / scalar_columns + i * line_step) * factor_pitch + tid % scalar_columns] =
                with[i];
        }
    }
};

using scalar_sums = float[scalar_columns / 16][4]; // tiles of eight columns of a warp

__device__ __forceinline__ void multiply_share(const float *rows, const float *items,
                                               scalar_sums &sums)
{
    const lane_place lane;
#pragma unroll
    for (int step = 0; step < scalar_chunk / 8; step++) {
        const float *at = rows + lane.g * scalar_pitch + 8 * step + lane.t;
        const uint32_t in[4] = {to_tf32(at[0]), to_tf32(at[8 * scalar_pitch]), to_tf32(at[4]),
                                to_tf32(at[8 * scalar_pitch + 4])};
        const float *b = items + (8 * step + lane.t) * factor_pitch + lane.g;
#pragma unroll
        for (int n = 0; n < scalar_columns / 16; n++) {
            multiply_1688(sums[n], in, to_tf32(b[8 * n]), to_tf32(b[4 * factor_pitch + 8 * n]));
        }
    }
}

__device__ __forceinline__ void store_scalars(const rows_args &a, int64_t row0, int n0,
                                              const scalar_sums &sums)
{
    const lane_place lane;
#pragma unroll
    for (int n = 0; n < scalar_columns / 16; n++) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int64_t row = row0 + lane.g + i / 2 * 8;
            const int scalar = n0 + 8 * n + 2 * lane.t + i % 2;
            if (row < a.n_row && scalar < a.out.n_scalar) {
                const int64_t bias = from_scalar_at<false>(a, a.in.n_scalar, scalar);
                a.out.data[row * a.out.stride + a.out.scalar_at(scalar)] =
                    a.has_bias ? sums[n][i] + a.items[bias] : sums[n][i];
            }
        }
    }
}

template <typename Pairs, bool is_turned>
__device__ __forceinline__ void make_scalars(const rows_args &a, float *shared, int64_t row0,
                                             int n0)
{
    const int row = int(threadIdx.x) / 32 % 4 * 16;
    const int column = int(threadIdx.x) / 128 * (scalar_columns / 2);
    const int n_k = 2 * a.in.n_channel + a.in.n_scalar;
    float *items = shared + tile_rows * scalar_pitch;
    scalar_share share;
    scalar_sums sums = {};
    share.fetch<Pairs, is_turned>(a, row0, n0, 0, n_k);
    for (int first = 0; first < n_k; first += scalar_chunk) {
        share.put(shared, items);
        __syncthreads();
        if (first + scalar_chunk < n_k) {
            share.fetch<Pairs, is_turned>(a, row0, n0, first + scalar_chunk, n_k);
        }
        multiply_share(shared + row * scalar_pitch, items + column, sums);
        __syncthreads();
    }
    store_scalars(a, row0 + row, n0 + column, sums);
}

template <typename Pairs, bool is_turned>
__global__ void __launch_bounds__(threads, 2) rows_kernel(const __grid_constant__ rows_args a)
{
#if TESS_CUDA_HAS_MATRIX
    extern __shared__ __align__(16) float shared[];
    const int tile = int(blockIdx.x % unsigned(a.n_across));
    const int64_t row0 = int64_t(blockIdx.x / unsigned(a.n_across)) * tile_rows;
    if (tile < a.n_tile) {
        make_channels<Pairs, is_turned>(a, shared, row0, tile * tile_channels);
    } else {
        make_scalars<Pairs, is_turned>(a, shared, row0, (tile - a.n_tile) * scalar_columns);
    }
#endif
}

template <typename Pairs, bool is_turned>
cudaError_t launch_pairs(cudaStream_t stream, rows_args &a)
{
    a.n_tile = (a.out.n_channel + tile_channels - 1) / tile_channels;
    a.n_across = a.n_tile + (a.out.n_scalar + scalar_columns - 1) / scalar_columns;
    const int64_t n_down = (a.n_row + tile_rows - 1) / tile_rows;
    return clifford::launch(rows_kernel<Pairs, is_turned>, dim3(unsigned(n_down * a.n_across)),
                            threads, rows_bytes, stream, a);
}

} // namespace

size_t rows_shared_bytes()
{
    return rows_bytes;
}

cudaError_t launch_rows(cudaStream_t stream, const tess_stage_clifford_maps &s, bool is_null)
{
    const bool is_turned = s.pass == TESS_CL_MAPS_ROWS;
    rows_args a = {side(is_turned ? s.z : s.x),
                   side(is_turned ? s.x : s.z),
                   static_cast<const float *>(s.items),
                   tess_cl_maps_parts_of(s.x.n_channel, s.x.n_scalar, s.z.n_channel, s.z.n_scalar),
                   s.n_row,
                   !is_turned && s.has_bias,
                   0,
                   0};
    if (is_null) {
        return is_turned ? launch_pairs<null_pairs, true>(stream, a)
                         : launch_pairs<null_pairs, false>(stream, a);
    }
    return is_turned ? launch_pairs<dual_pairs, true>(stream, a)
                     : launch_pairs<dual_pairs, false>(stream, a);
}

} // namespace clifford_maps
