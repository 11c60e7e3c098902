// The ring of steps in shared memory that one thread of a block of spread.cu fills, and what a
// strip of the nodes' columns meets.
#ifndef TESS_CUDA_DECODE_RING_H
#define TESS_CUDA_DECODE_RING_H

#include "backend/cuda/decode/kde.h"
#include "backend/cuda/decode/matrix.h"

namespace spread
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

} // namespace spread

#endif
