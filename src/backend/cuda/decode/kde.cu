// The clusterless likelihood of spikes at all bins: tiles, memory, and the order of the kernels.

#include "backend/cuda/decode/kde.h"

#include <cstdlib>
#include <cstring>

namespace
{

// Arrays of the tiles that are under way together, at most; one tile is always allowed. More tiles
// would not be faster.
constexpr size_t slab_bytes = size_t(4) << 30;
constexpr size_t align = 256;

struct layout {
    int64_t n_tile = 0;     // of all ranges
    int64_t slab_tiles = 1; // at a time
    size_t ranges = 0;      // offsets in scratch
    size_t tiles = 0;
    size_t n_anew = 0;
    size_t anew = 0;
    size_t x = 0;
    size_t moments = 0;
    size_t totals = 0;
    size_t partial = 0;
    size_t places = 0;
    size_t total = 0;
};

size_t padded(size_t bytes)
{
    return (bytes + align - 1) / align * align;
}

bool has_grid(const tess_kde_model &m)
{
    return !m.is_exact && m.grid.n_dim > 0;
}

kde_work sizes_of(const tess_kde_model &m)
{
    kde_work w = {};
    w.model = m;
    w.n_cell = 1;
    w.n_column = m.n_bin;
    w.n_value = 1;
    w.n_place = m.n_bin;
    if (!has_grid(m)) {
        return w;
    }
    const tess_kde_nodes &nodes = m.nodes;
    w.has_nodes = nodes.n_dim > 0;
    w.n_strip = w.has_nodes ? kde_strips(nodes) : 0;
    w.growth = w.has_nodes ? nodes.per_total : m.grid.growth;
    w.n_cell = w.has_nodes ? nodes.n_node[0] * nodes.n_node[1] : m.grid.n_cell;
    w.n_column = w.has_nodes ? 1 : m.grid.n_column;
    for (int k = 0; k < 2; k++) {
        w.axes[k] = w.has_nodes ? nodes.axes[k] : m.grid.axes[k];
    }
    const bool is_plane = m.grid.n_dim == 2;
    w.n_value = is_plane ? w.axes[1].n_block * TESS_KDE_BLOCK : 1;
    w.n_place = (is_plane ? w.axes[1].n_value : 1) * w.axes[0].n_block * TESS_KDE_BLOCK;
    return w;
}

layout layout_of(const tess_stage_decode_kde &a)
{
    const tess_kde_model &m = *a.model;
    const kde_work w = sizes_of(m);
    layout l;
    for (int64_t r = 0; r < a.n_range; r++) {
        l.n_tile += (a.ranges[r].n_spike + kde_tile_spikes - 1) / kde_tile_spikes;
    }
    const size_t row = kde_tile_spikes * sizeof(float);
    const size_t x = size_t(m.max_feature) * row;
    const size_t moments = size_t(w.n_cell * w.n_column) * row;
    const size_t partial =
        w.n_value > 1
            ? size_t(w.axes[0].n_cell * (w.has_nodes ? 1 : m.grid.order) * w.n_value) * row
            : 0;
    const size_t places = has_grid(m) && !w.has_nodes ? size_t(w.n_place) * row : 0;
    const size_t totals = size_t(w.n_strip) * row;
    const size_t a_tile =
        x + moments + totals + partial + places + kde_tile_spikes * sizeof(int64_t);
    const size_t tables = padded(size_t(a.n_range) * sizeof(tess_kde_range)) +
                          padded(size_t(l.n_tile) * sizeof(kde_tile)) + 7 * align;
    size_t room = a.scratch_limit > tables ? a.scratch_limit - tables : 0;
    room = a.scratch_limit == 0 || room > slab_bytes ? slab_bytes : room;
    l.slab_tiles = m.is_exact ? l.n_tile : int64_t(room / a_tile);
    l.slab_tiles = l.slab_tiles < 1 ? 1 : l.slab_tiles > 32768 ? 32768 : l.slab_tiles;
    l.slab_tiles = l.slab_tiles < l.n_tile ? l.slab_tiles : l.n_tile;
    const size_t n = m.is_exact ? 0 : size_t(l.slab_tiles);
    const struct {
        size_t *at;
        size_t bytes;
    } parts[] = {
        {&l.ranges, size_t(a.n_range) * sizeof(tess_kde_range)},
        {&l.tiles, size_t(l.n_tile) * sizeof(kde_tile)},
        {&l.n_anew, sizeof(unsigned)},
        {&l.anew, n * kde_tile_spikes * sizeof(int64_t)},
        {&l.x, n * x},
        {&l.moments, n * moments},
        {&l.totals, n * totals},
        {&l.partial, n * partial},
        {&l.places, n * places},
    };
    for (const auto &part : parts) {
        *part.at = l.total;
        l.total += padded(part.bytes);
    }
    return l;
}

void fill_tiles(const tess_stage_decode_kde &a, kde_tile *tiles)
{
    for (int64_t r = 0; r < a.n_range; r++) {
        const int64_t n = a.ranges[r].n_spike;
        for (int64_t first = 0; first < n; first += kde_tile_spikes) {
            const int64_t left = n - first;
            *tiles++ = {first, int32_t(r),
                        int32_t(left < kde_tile_spikes ? left : kde_tile_spikes)};
        }
    }
}

// Ranges and tiles to the device; from pageable memory, which is read before this returns.
cudaError_t send_tables(cudaStream_t stream, const tess_stage_decode_kde &a, const layout &l)
{
    kde_tile *tiles = static_cast<kde_tile *>(malloc(size_t(l.n_tile) * sizeof *tiles));
    if (tiles == nullptr) {
        return cudaErrorMemoryAllocation;
    }
    fill_tiles(a, tiles);
    char *scratch = static_cast<char *>(a.scratch);
    cudaError_t error =
        cudaMemcpyAsync(scratch + l.ranges, a.ranges, size_t(a.n_range) * sizeof(tess_kde_range),
                        cudaMemcpyHostToDevice, stream);
    if (error == cudaSuccess) {
        error = cudaMemcpyAsync(scratch + l.tiles, tiles, size_t(l.n_tile) * sizeof *tiles,
                                cudaMemcpyHostToDevice, stream);
    }
    // Copies beyond 64 kB may still be reading.
    const cudaError_t waited = cudaStreamSynchronize(stream);
    free(tiles);
    return error == cudaSuccess ? waited : error;
}

// Sums by moments of cells, or a place kernel, and logarithms.
cudaError_t run_moments(cudaStream_t stream, const kde_work &w, int64_t n_tile)
{
    cudaError_t error = kde_launch_moments(stream, w, n_tile);
    if (error == cudaSuccess && has_grid(w.model)) {
        error = kde_launch_places(stream, w, n_tile);
    }
    return error == cudaSuccess ? kde_launch_finish(stream, w, n_tile) : error;
}

cudaError_t run_nodes(cudaStream_t stream, const kde_work &w, int64_t n_tile)
{
    const cudaError_t error = kde_launch_spread(stream, w, n_tile);
    return error == cudaSuccess ? kde_launch_bins(stream, w, n_tile) : error;
}

cudaError_t run_slab(cudaStream_t stream, const kde_work &w, int64_t n_tile)
{
    cudaError_t error = cudaMemsetAsync(w.n_anew, 0, sizeof(unsigned), stream);
    if (error == cudaSuccess) {
        error = kde_launch_marks(stream, w, n_tile);
    }
    if (error == cudaSuccess) {
        error = w.has_nodes ? run_nodes(stream, w, n_tile) : run_moments(stream, w, n_tile);
    }
    return error == cudaSuccess ? kde_launch_exact(stream, w, n_tile, true) : error;
}

cudaError_t kde_launch(cudaStream_t stream, const void *args)
{
    const auto &a = *static_cast<const tess_stage_decode_kde *>(args);
    const layout l = layout_of(a);
    if (l.n_tile == 0) {
        return cudaSuccess;
    }
    cudaError_t error = send_tables(stream, a, l);
    char *scratch = static_cast<char *>(a.scratch);
    kde_work w = sizes_of(*a.model);
    w.ranges = reinterpret_cast<tess_kde_range *>(scratch + l.ranges);
    w.counts = a.counts;
    w.n_anew = reinterpret_cast<unsigned *>(scratch + l.n_anew);
    w.anew = reinterpret_cast<int64_t *>(scratch + l.anew);
    w.x = reinterpret_cast<float *>(scratch + l.x);
    w.moments = reinterpret_cast<float *>(scratch + l.moments);
    w.totals = reinterpret_cast<float *>(scratch + l.totals);
    w.partial = reinterpret_cast<float *>(scratch + l.partial);
    w.places = has_grid(w.model) ? reinterpret_cast<float *>(scratch + l.places) : w.moments;
    const kde_tile *tiles = reinterpret_cast<kde_tile *>(scratch + l.tiles);
    for (int64_t first = 0; first < l.n_tile && error == cudaSuccess; first += l.slab_tiles) {
        const int64_t n = l.n_tile - first < l.slab_tiles ? l.n_tile - first : l.slab_tiles;
        w.tiles = tiles + first;
        error = w.model.is_exact ? kde_launch_exact(stream, w, n, false) : run_slab(stream, w, n);
    }
    return error;
}

tess_status kde_supports(const tess_backend_device *device, const void *args)
{
    const auto &a = *static_cast<const tess_stage_decode_kde *>(args);
    constexpr int64_t most_features = 64; // of a spike, in shared memory
    const tess_host *host = device->host;
    if (a.model->max_feature > most_features) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "stage decode.kde on cuda:%d: %lld features of a spike, at most %lld: "
                          "use --device cpu",
                          device->ordinal, static_cast<long long>(a.model->max_feature),
                          static_cast<long long>(most_features));
    }
    return TESS_OK;
}

size_t kde_scratch_bytes(const tess_backend_device *, const void *args)
{
    return layout_of(*static_cast<const tess_stage_decode_kde *>(args)).total;
}

} // namespace

const tess_cuda_stage tess_cuda_stage_decode_kde = {
    TESS_STAGE_DECODE_KDE, "decode.kde",      sizeof(tess_stage_decode_kde),
    kde_supports,          kde_scratch_bytes, kde_launch,
};
