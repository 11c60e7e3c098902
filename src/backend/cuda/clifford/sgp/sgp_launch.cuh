// Which kernel of an algebra takes a pass over a given shape.
//
// The choice depends on types, features and alignment, never on the number of rows: a row's result
// must not change with the rows beside it.
#ifndef TESS_CLIFFORD_SGP_LAUNCH_CUH
#define TESS_CLIFFORD_SGP_LAUNCH_CUH

#include "backend/cuda/clifford/common/boxes.h"
#include "backend/cuda/clifford/sgp/sgp_split.cuh"
#include "backend/cuda/clifford/sgp/sgp_stream_backward.cuh"
#include "backend/cuda/clifford/sgp/sgp_stream_forward.cuh"

namespace clifford
{

template <typename T, int V, typename A>
using forward_loads = row_loads<feature_packs, T, V, A::n_component, 2, true>;
template <typename T, int V, typename A>
using backward_loads = row_loads<feature_packs, T, V, A::n_component, 3, false>;
template <typename T, typename A>
using forward_channels = row_loads<component_packs, T, 1, A::n_component, 2, true>;
template <typename T, typename A>
using backward_channels = row_loads<component_packs, T, 1, A::n_component, 3, false>;

// Threads of a block that own a row with V features each.
template <int V>
int lanes_for(int64_t n)
{
    int lanes = 1;
    while (int64_t(lanes) * V < n) {
        lanes *= 2;
    }
    return lanes;
}

// Whether V neighbouring features can be moved as one word.
template <typename T, int V>
bool are_feature_packs(const sgp_args &a, const tess_cl_view &view)
{
    return view.data == nullptr ||
           (view.stride[2] == 1 && view.stride[0] % V == 0 && view.stride[1] % V == 0 &&
            a.n % V == 0 && reinterpret_cast<uintptr_t>(view.data) % (sizeof(T) * V) == 0);
}

template <typename T, int D>
bool are_component_packs(const tess_cl_view &view)
{
    constexpr int width = D * int(sizeof(T)) < 16 ? D : 16 / int(sizeof(T));
    return view.data == nullptr ||
           (view.stride[0] == 1 && view.stride[1] % width == 0 && view.stride[2] % width == 0 &&
            reinterpret_cast<uintptr_t>(view.data) % (sizeof(T) * width) == 0);
}

template <typename T, int V>
bool all_feature_packs(const sgp_args &a)
{
    return are_feature_packs<T, V>(a, a.x) && are_feature_packs<T, V>(a, a.y) &&
           are_feature_packs<T, V>(a, a.out) && are_feature_packs<T, V>(a, a.gz) &&
           are_feature_packs<T, V>(a, a.gx) && are_feature_packs<T, V>(a, a.gy);
}

template <typename T, int D>
bool all_component_packs(const sgp_args &a)
{
    return are_component_packs<T, D>(a.x) && are_component_packs<T, D>(a.y) &&
           are_component_packs<T, D>(a.out) && are_component_packs<T, D>(a.gz) &&
           are_component_packs<T, D>(a.gx) && are_component_packs<T, D>(a.gy);
}

template <typename A, typename Source, bool is_backward>
size_t row_shared_bytes(int64_t n, int threads, int lanes)
{
    constexpr int n_sum = is_backward ? 2 * A::n_grade : A::n_grade;
    return row_memory<A, Source::V, n_sum>::rows_at(n, threads) +
           Source::shared_bytes(n, threads / lanes);
}

// Blocks of a grid over rows; in the backward pass also the number of partial sums.
inline int64_t row_blocks(int64_t n_row, int groups, int n_resident)
{
    const int64_t needed = (n_row - 1) / groups + 1;
    const int64_t most = int64_t(n_multiprocessor) * n_resident;
    return needed < most ? needed : most;
}

// Starts a row kernel, or answers cudaErrorNotSupported where a row does not fit.
template <typename A, typename Source, int max_threads, int n_resident>
cudaError_t launch_rows_forward(cudaStream_t stream, sgp_args a)
{
    a.lanes = lanes_for<Source::V>(a.n);
    const int threads = a.lanes > max_threads ? 0 : max_threads / a.lanes * a.lanes;
    const size_t shared_bytes = row_shared_bytes<A, Source, false>(a.n, threads, a.lanes);
    if (threads == 0 || shared_bytes * n_resident > tess_cuda_shared_bytes()) {
        return cudaErrorNotSupported;
    }
    const int64_t blocks = row_blocks(a.n_row, threads / a.lanes, n_resident);
    return launch(sgp_rows_forward<A, Source, max_threads, n_resident>, dim3(unsigned(blocks)),
                  threads, shared_bytes, stream, a);
}

template <typename A, typename Source, int max_threads, int n_resident>
cudaError_t launch_rows_backward(cudaStream_t stream, sgp_args &a)
{
    a.lanes = lanes_for<Source::V>(a.n);
    const int threads = a.lanes > max_threads ? 0 : max_threads / a.lanes * a.lanes;
    const size_t shared_bytes = row_shared_bytes<A, Source, true>(a.n, threads, a.lanes);
    if (threads == 0 || shared_bytes * n_resident > tess_cuda_shared_bytes()) {
        return cudaErrorNotSupported;
    }
    const int64_t blocks = row_blocks(a.n_row, threads / a.lanes, n_resident);
    a.n_partial = int32_t(blocks);
    return launch(sgp_rows_backward<A, Source, max_threads, n_resident>, dim3(unsigned(blocks)),
                  threads, shared_bytes, stream, a);
}

// Features per thread and threads per block of the row kernels, as they were fastest on an H200.
// Several rows per block hide each other's barriers; sixteen components leave room for one feature
// per thread, and for half the threads in the backward pass.
template <typename A, typename T>
struct row_choice {
    static constexpr bool is_small = A::n_component <= 8;
    static constexpr bool is_short = A::n_component <= 4;
    static constexpr int forward_width = (is_small ? 2 : 1) * (sizeof(T) == 2 ? 2 : 1);
    static constexpr bool has_forward_ring = is_small && !is_short && sizeof(T) == 4;
    static constexpr int backward_width = is_short || (is_small && sizeof(T) == 2) ? 2 : 1;
    static constexpr int backward_depth = is_short ? 3 : 2;
    static constexpr int backward_threads = is_small ? 512 : 256;
};

// Whether the copy engine can move the components of a row, and should: short copies cost it as
// much as long ones.
template <typename T>
bool is_ring_row(const sgp_args &a)
{
    return a.n * int64_t(sizeof(T)) >= 512 && all_feature_packs<T, 16 / int(sizeof(T))>(a) &&
           tess_cuda_level_here() >= TESS_CUDA_MATRIX;
}

// Whether the stream kernels' strides hold a view's.
template <typename T>
bool are_short_strides(const tess_cl_view &view)
{
    const int64_t most = int64_t(UINT32_MAX) / int64_t(sizeof(T));
    return view.stride[0] >= 0 && view.stride[0] <= most && view.stride[1] >= 0 &&
           view.stride[1] <= most;
}

// Whether a call is what the stream kernels of width N are made for.
template <typename A, typename T, int N>
bool is_stream_call(const sgp_args &a)
{
    const bool is_euclid = a.metric == TESS_CLIFFORD_NORM_EUCLID ||
                           (A::is_euclidean() && a.metric == TESS_CLIFFORD_NORM_ABS);
    return tess_cuda_level_here() == TESS_CUDA_GROUPS && a.n == N && a.n_row <= INT32_MAX / 16 &&
           a.activation == TESS_CLIFFORD_GELU && a.normalize && is_euclid &&
           all_feature_packs<T, 16 / int(sizeof(T))>(a) && are_short_strides<T>(a.out) &&
           are_short_strides<T>(a.gx) && are_short_strides<T>(a.gy);
}

// The map of a tensor's rows, all components at once, if the kernel wants one. In words of two
// items: a box has 256 of them at most.
template <typename S>
bool map_rows(const sgp_args &a, const tess_cl_view &view, CUtensorMap &map)
{
    constexpr int64_t bytes = sizeof(typename S::T);
    static_assert(!S::by_maps || bytes == 2, "words of four bytes");
    const clifford_word_rows rows = {view.data,
                                     S::N / 2,
                                     a.n_row,
                                     S::D,
                                     (a.n_row > 1 ? view.stride[1] : S::N) * bytes,
                                     view.stride[0] * bytes};
    return !S::by_maps || view.data == nullptr || clifford_encode_words(map, rows);
}

template <typename S>
cudaError_t launch_stream_forward(cudaStream_t stream, const sgp_args &a)
{
    const size_t shared_bytes = stream_memory<S, 2>::bytes();
    if (!is_stream_call<typename S::A, typename S::T, S::N>(a) ||
        shared_bytes > tess_cuda_shared_bytes()) {
        return cudaErrorNotSupported;
    }
    stream_args<2> args = {a, {}};
    if (!map_rows<S>(a, a.x, args.maps[0]) || !map_rows<S>(a, a.y, args.maps[1])) {
        return cudaErrorNotSupported;
    }
    const int64_t blocks = row_blocks(a.n_row, S::n_group, 1);
    return launch_early(sgp_stream_forward<S>, dim3(unsigned(blocks)), S::threads, shared_bytes,
                        stream, args, cudaSharedmemCarveoutDefault);
}

template <typename S>
cudaError_t launch_stream_backward(cudaStream_t stream, sgp_args &a)
{
    const size_t shared_bytes = stream_memory<S, 3>::bytes();
    if (!is_stream_call<typename S::A, typename S::T, S::N>(a) || a.statistics == nullptr ||
        shared_bytes > tess_cuda_shared_bytes()) {
        return cudaErrorNotSupported;
    }
    const int64_t blocks = row_blocks(a.n_row, S::n_group, 1);
    stream_args<3> args = {};
    const tess_cl_view views[] = {a.x, a.y, a.gz, a.gx, a.gy};
    for (int i = 0; i < 5; i++) {
        if (!map_rows<S>(a, views[i], args.maps[i])) {
            return cudaErrorNotSupported;
        }
    }
    a.n_partial = int32_t(blocks);
    a.partial_width = S::V;
    args.a = a;
    return launch_early(sgp_stream_backward<S>, dim3(unsigned(blocks)), S::threads, shared_bytes,
                        stream, args, cudaSharedmemCarveoutDefault);
}

// The stream kernels of an algebra, as they were fastest on an H200. In the backward pass registers
// leave a thread room for one feature of eight f32 components, two of eight 16-bit ones or of four
// f32, or four of four 16-bit ones; the weights of the 16-bit ones lie in shared memory. Where
// instructions are no limit, copies start earlier without maps, which are fetched first.
template <typename A, typename T, int N>
struct stream_choice {
    static constexpr bool is_short = A::n_component <= 4;
    static constexpr bool is_wide = sizeof(T) == 4;
    static constexpr int width = (is_short ? 2 : 1) * (is_wide ? 1 : 2);
    using forward = stream_shape<A, T, is_short && !is_wide ? 4 : 2, N, 512,
                                 !is_short && is_wide ? 3 : 4, 0, true, !is_wide>;
    using backward =
        stream_shape<A, T, width, N, 512, width == 1 ? 5 : 4, width / 2, is_wide, !is_wide>;
};

// Calls launch with the choice for rows of n features; the widths are what networks have.
template <typename A, typename T, typename Launch>
cudaError_t for_stream_width(int64_t n, Launch &&launch)
{
    switch (n) {
    case 128:
        return launch(stream_choice<A, T, 128>());
    case 256:
        return launch(stream_choice<A, T, 256>());
    case 512:
        return launch(stream_choice<A, T, 512>());
    default:
        return cudaErrorNotSupported;
    }
}

template <typename A, typename T>
cudaError_t rows_forward(cudaStream_t stream, const sgp_args &a)
{
    using choice = row_choice<A, T>;
    constexpr int D = A::n_component;
    constexpr int V = choice::forward_width;
    cudaError_t error = cudaErrorNotSupported;
    if constexpr (choice::is_small) {
        error = for_stream_width<A, T>(a.n, [&](auto widths) {
            return launch_stream_forward<typename decltype(widths)::forward>(stream, a);
        });
        if (error != cudaErrorNotSupported) {
            return error;
        }
    }
    if constexpr (choice::has_forward_ring) {
        if (is_ring_row<T>(a)) {
            error = launch_rows_forward<A, row_ring<T, V, D, 2, 2>, 512, 1>(stream, a);
        }
    }
    if (error == cudaErrorNotSupported && all_feature_packs<T, V>(a)) {
        error = launch_rows_forward<A, forward_loads<T, V, A>, 512, 1>(stream, a);
    }
    if (error == cudaErrorNotSupported && all_feature_packs<T, 1>(a)) {
        error = launch_rows_forward<A, forward_loads<T, 1, A>, 512, 1>(stream, a);
    } else if (error == cudaErrorNotSupported && all_component_packs<T, D>(a)) {
        error = launch_rows_forward<A, forward_channels<T, A>, 512, 1>(stream, a);
    }
    return error;
}

template <typename A, typename T>
cudaError_t rows_backward(cudaStream_t stream, sgp_args &a)
{
    using choice = row_choice<A, T>;
    constexpr int D = A::n_component;
    constexpr int threads = choice::backward_threads;
    using ring = row_ring<T, choice::backward_width, D, 3, choice::backward_depth>;
    cudaError_t error = cudaErrorNotSupported;
    if constexpr (choice::is_small) {
        error = for_stream_width<A, T>(a.n, [&](auto widths) {
            return launch_stream_backward<typename decltype(widths)::backward>(stream, a);
        });
        if (error != cudaErrorNotSupported) {
            return error;
        }
    }
    if (is_ring_row<T>(a)) {
        error = launch_rows_backward<A, ring, threads, 1>(stream, a);
    }
    if (error == cudaErrorNotSupported && all_feature_packs<T, 1>(a)) {
        error = launch_rows_backward<A, backward_loads<T, 1, A>, threads, 1>(stream, a);
    } else if (error == cudaErrorNotSupported && all_component_packs<T, D>(a)) {
        error = launch_rows_backward<A, backward_channels<T, A>, threads, 1>(stream, a);
    }
    return error;
}

template <typename A>
bool has_all_paths(const sgp_args &a)
{
    return a.path_mask == (uint64_t(1) << A::n_path) - 1;
}

// Algebras without row kernels are too large for straight-line code in f64 as well.
template <typename A, bool has_rows>
cudaError_t sgp_forward(cudaStream_t stream, sgp_args &a)
{
    cudaError_t error = cudaErrorNotSupported;
    if constexpr (has_rows) {
        if (has_all_paths<A>(a) && a.dtype == TESS_F32) {
            error = rows_forward<A, float>(stream, a);
        } else if (has_all_paths<A>(a) && a.dtype == TESS_BF16) {
            error = rows_forward<A, __nv_bfloat16>(stream, a);
        } else if (has_all_paths<A>(a) && a.dtype == TESS_F16) {
            error = rows_forward<A, __half>(stream, a);
        }
    }
    if (error == cudaErrorNotSupported && a.dtype != TESS_F64) {
        error = launch_split_forward<A, float>(stream, A(), a);
    }
    if constexpr (has_rows) {
        if (a.dtype == TESS_F64) {
            error = launch_split_forward<A, double>(stream, A(), a);
        }
    }
    return error;
}

template <typename A, bool has_rows>
cudaError_t sgp_backward(cudaStream_t stream, sgp_args &a)
{
    cudaError_t error = cudaErrorNotSupported;
    const bool in_f64 = is_wide(a.dtype, true, a.normalize, a.n);
    if constexpr (has_rows) {
        if (has_all_paths<A>(a) && a.dtype == TESS_F32 && !in_f64) {
            error = rows_backward<A, float>(stream, a);
        } else if (has_all_paths<A>(a) && a.dtype == TESS_BF16) {
            error = rows_backward<A, __nv_bfloat16>(stream, a);
        } else if (has_all_paths<A>(a) && a.dtype == TESS_F16) {
            error = rows_backward<A, __half>(stream, a);
        }
    }
    if (error == cudaErrorNotSupported && !in_f64) {
        error = launch_split_backward<A, float>(stream, A(), a);
    }
    if constexpr (has_rows) {
        if (in_f64) {
            error = launch_split_backward<A, double>(stream, A(), a);
        }
    }
    return error;
}

} // namespace clifford

#endif
