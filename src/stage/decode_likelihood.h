// Stages of decode's clusterless likelihood: the contract between systems/decode and the backends.
#ifndef TESS_STAGE_DECODE_LIKELIHOOD_H
#define TESS_STAGE_DECODE_LIKELIHOOD_H

#include <stddef.h>
#include <stdint.h>

enum {
    TESS_STAGE_DECODE_KDE = 0x0110,
    TESS_STAGE_DECODE_KDE_BIND = 0x0111,
    TESS_STAGE_DECODE_ROWS = 0x0112,
    TESS_STAGE_DECODE_KDE_NODES = 0x0113,
};

enum {
    TESS_KDE_FLOOR_ABSOLUTE = 0, // values of at least floor_value
    TESS_KDE_FLOOR_RELATIVE = 1, // at most floor_nats below the spike's best bin
};

// The encoding spikes of one electrode. Marks and places are scaled so that a kernel is exp(-q), q
// the sum of squared differences.
typedef struct tess_kde_electrode {
    int64_t n_spike; // 0: every value is the model's unheard_value
    int64_t n_feature;
    int64_t stride;            // items from feature to feature, coordinate to coordinate: n_spike,
                               // or more where a model has room to learn
    const double *mark_centre; // [n_feature]
    const double *mark_scale;  // [n_feature]; scaled mark = (mark - centre) * scale
    const double *marks;       // [n_feature][stride], scaled
    const double *place;       // [n_dim][stride], scaled
    const double *log_weight;  // [n_spike]; NULL: all 0
    const double *offset;      // [n_bin] log intensity = offset + log sum; -inf: intensity 0

    // Not in an exact model. Spikes are sorted by cell; those out of every bin's reach come last.
    const float *offset_f32;   // [n_bin]
    const float *marks_f32;    // [n_feature][stride], scaled so that a kernel is 2^-q
    const float *basis;        // of the moments; or [n_spike][n_bin]: the place kernel; NULL, with
                               // t: single spikes on a line alone
    const float *t;            // line: [n_cell_spike] place within the cell, -1 to 1; or NULL
    const float *base;         // line: [n_cell_spike] first item of the basis; or NULL
    int64_t n_cell_spike;      // spikes in cells
    int64_t n_cell;            // cells that have spikes; 0: basis is the place kernel
    const int32_t *cell;       // [n_cell] rising
    const int32_t *cell_first; // [n_cell + 1] first spike of each
    double far_weight;         // of the spikes out of reach
    double total_weight;

    // Where the model has nodes: the spikes in cells again, by cells of nodes, in steps of
    // TESS_KDE_STEP of one cell each.
    int64_t n_step;
    const int32_t *step_spike; // [n_step][TESS_KDE_STEP]; -1: none
    const int32_t *step_cell;  // [n_step]
    const int32_t *cell_step;  // [cells of nodes + 1] first step of each
    float *step_marks;         // [n_step][n_feature][TESS_KDE_STEP], as marks_f32
    void *step_basis;          // [n_step] weights at the nodes of the window, as the device likes
} tess_kde_electrode;

enum { TESS_KDE_BLOCK = 8 };

// One coordinate of the bins, and its cells. Of spikes at distance v from the centre of a cell of
// width h, and bins at distance u, exp(-(u - v)^2) = sum_k table_k(u) basis_k(v).
typedef struct tess_kde_axis {
    int64_t n_cell;
    int64_t n_value;      // distinct coordinates of bins
    int64_t n_block;      // of TESS_KDE_BLOCK of them
    const float *table;   // [n_block][n_cell][order][TESS_KDE_BLOCK] of a device; the host's has
                          // rows [order][TESS_KDE_BLOCK] for cells first to end of a block alone
    const int64_t *row;   // the host's: [n_block] row that cell 0 of the block has, or would have
    const int32_t *first; // [n_block] cells within reach of one of the block's values
    const int32_t *end;   // [n_block]
} tess_kde_axis;

// Cells of position. An electrode's basis is, cell by cell, block of up to TESS_KDE_BLOCK columns
// by block, [spikes of the cell][columns of the block], so that it is read from end to end. In the
// plane a cell's moments are of total degree below the order: for each degree b of axes[0], the
// degrees below order - b of axes[1].
typedef struct tess_kde_grid {
    int64_t n_dim; // 1 or 2; 0: no cells
    int64_t order;
    int64_t n_moment;
    int64_t n_column;         // n_moment and some zeros: a multiple of 4, which kernels like
    int64_t n_cell;           // that have moments; on a line all of the axis, in the plane those
                              // with spikes of any electrode
    tess_kde_axis axes[2];    // moments are summed along [1] first in the plane, then along [0]
    int64_t cells_at_once;    // with moments at a time: all, in the plane those of the fullest row
    const int32_t *row_first; // plane: [axes[0].n_cell + 1] first cell of each row
    const int32_t *column;    // plane: [n_cell] place along axes[1]
    const int32_t *bins;      // [axes[1].n_value or 1][axes[0].n_block][TESS_KDE_BLOCK] bin, or -1
    double depth;             // sums down to exp(-depth) of a spike's total weight are sure
    double growth;            // total weight <= growth * sum of first moments
} tess_kde_grid;

enum {
    TESS_KDE_STEP = 16,          // encoding spikes
    TESS_KDE_WINDOW = 16,        // nodes of a cell, along each axis
    TESS_KDE_STRIDE = 4,         // nodes from cell to cell: the first of cell c is this times c
    TESS_KDE_NODE_COLUMNS = 200, // at most, and
    TESS_KDE_NODE_BINS = 14000,  // bins of a model with nodes: a device has them side by side
};

// A lattice that weights are spread onto: a kernel of variance s is one of variance a, from a spike
// to the nodes around it, and one of s - a from there to the bins:
//
//   exp(-(z - c)^2) = sum over nodes g of exp(-narrow (z - g)^2) table(c - g)
//
// For devices that multiply matrices faster than they add.
typedef struct tess_kde_nodes {
    int64_t n_dim; // 0: no nodes
    int64_t n_node[2];
    int64_t n_cell[2];     // of spikes
    double low[2];         // scaled place of the first node
    double width;          // from node to node
    double narrow;         // 1 / (2 a)
    double per_total;      // total weight = per_total * sum of the nodes
    tess_kde_axis axes[2]; // by coordinate; nodes are the cells, of order 1
    const int32_t *bins;   // [axes[1].n_value or 1][axes[0].n_block][TESS_KDE_BLOCK] bin, or -1
} tess_kde_nodes;

// The struct and its electrodes are the host's; the arrays are reachable by the device.
typedef struct tess_kde_model {
    int64_t n_bin;
    int64_t n_dim;
    int64_t n_electrode;
    int64_t max_spike;   // of an electrode
    int64_t max_feature; // of an electrode
    int32_t is_exact;
    int32_t floor_kind;
    double floor_value;
    double floor_nats;
    double unheard_value;    // of spikes of an electrode without encoding spikes
    const double *bin_place; // [n_dim][n_bin], scaled
    const tess_kde_electrode *electrodes;
    const tess_kde_electrode *electrodes_there; // the same, reachable by the device
    const int32_t *place_of_bin; // [n_bin] where the grid's bins name it; NULL: not asked for
    tess_kde_grid grid;
    tess_kde_nodes nodes; // of a device that has TESS_STAGE_DECODE_KDE_NODES; the grid has depth.
                          // The host's: n_dim 0, on a line axes from nodes to bins and from cells
                          // to nodes, or none (kde_line.c)
    double mark_reach;    // scaled marks (f32) beyond this are computed in f64
} tess_kde_model;

// Some spikes of one electrode.
typedef struct tess_kde_range {
    int64_t electrode;
    int64_t n_spike;
    const double *marks; // [n_spike][n_feature], as recorded; reachable by the device
    void *values;        // [n_spike][n_bin], f64 of an exact model, else f32; likewise
} tess_kde_range;

typedef struct tess_kde_counts {
    int64_t n_floored;
    int64_t n_flat;
} tess_kde_counts;

// Log intensity of every spike of the ranges at every bin, floored:
//
//   values[s][p] = max(offset[p] + log sum_i exp(log_weight_i - |x_s - y_i|^2 - |c_p - z_i|^2),
//                      floor)
//
// A spike's values do not depend on the ranges, nor on what else is in its range.
typedef struct tess_stage_decode_kde {
    const tess_kde_model *model;
    const tess_kde_range *ranges; // the host's
    int64_t n_range;
    tess_kde_counts *counts; // out, added to; reachable by the device
    void *scratch;           // as many bytes of the device's memory as it asks for
    size_t scratch_limit;    // it asks for no more, unless a single tile does; 0: no limit
} tess_stage_decode_kde;

// Fills step_marks and step_basis of all electrodes, once.
typedef struct tess_stage_decode_kde_nodes {
    const tess_kde_model *model;
} tess_stage_decode_kde_nodes;

enum { TESS_KDE_NODE_BYTES = 4 }; // of step_basis: per spike of a step and node of its window

// Rows of log likelihoods from the values of their spikes, summed in f64 and rounded once:
//
//   out[t][p] = -scale * intensity[p] + sum of values[item[k]][p], row_first[t] <= k <
//   row_first[t+1]
typedef struct tess_stage_decode_rows {
    int64_t n_row;
    int64_t n_bin;
    const double *intensity;  // [n_bin]
    const int64_t *row_first; // [n_row + 1]
    const int64_t *item;      // row of values, in the order of adding; -1: unheard_value everywhere
    const void *values;       // [.][n_bin]
    void *out;                // [n_row][n_bin]
    double scale;
    double unheard_value;
    int32_t value_dtype; // TESS_F32 or TESS_F64
    int32_t out_dtype;
} tess_stage_decode_rows;

// One spike at a time, by whoever calls: no queue, no pool, no allocation, any thread.
//
// mark     [n_feature], as recorded
// scratch  scratch_bytes of the caller's thread, 64-byte aligned
// values   [n_bin]
typedef void (*tess_kde_spike_fn)(const void *handle, const tess_kde_model *model,
                                  int64_t electrode, const float *mark, void *scratch,
                                  float *values);

// Asks a backend for its function; handle is its first argument and lives with the device.
typedef struct tess_kde_bound {
    tess_kde_spike_fn spike;
    const void *handle;
    size_t scratch_bytes;
} tess_kde_bound;

typedef struct tess_stage_decode_kde_bind {
    const tess_kde_model *model;
    tess_kde_bound *bound; // out
} tess_stage_decode_kde_bind;

#endif
