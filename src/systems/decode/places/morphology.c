// Masks over grids: grow, shrink, fill holes, clear the rim.
#include "systems/decode/places/environment.h"

#include <string.h>

// A grid of up to three axes seen as one of exactly three.
typedef struct mask_grid {
    int64_t n[3];
    int64_t stride[3];
    int64_t n_bin;
} mask_grid;

static mask_grid as_three(const int64_t *shape, int64_t n_dim)
{
    mask_grid grid = {.n = {1, 1, 1}};
    for (int64_t i = 0; i < n_dim; i++) {
        grid.n[3 - n_dim + i] = shape[i];
    }
    grid.stride[2] = 1;
    grid.stride[1] = grid.n[2];
    grid.stride[0] = grid.n[1] * grid.n[2];
    grid.n_bin = grid.n[0] * grid.stride[0];
    return grid;
}

// Index along one axis of a bin.
static int64_t axis_index(const mask_grid *grid, int64_t bin, int axis)
{
    return bin / grid->stride[axis] % grid->n[axis];
}

// The first of the axes that the caller's grid has.
static int first_axis(int64_t n_dim)
{
    return 3 - (int)n_dim;
}

void tess_de_mask_dilate(const int64_t *shape, int64_t n_dim, const uint8_t *in, uint8_t *out)
{
    const mask_grid grid = as_three(shape, n_dim);
    for (int64_t bin = 0; bin < grid.n_bin; bin++) {
        uint8_t set = in[bin];
        for (int axis = first_axis(n_dim); axis < 3 && !set; axis++) {
            const int64_t i = axis_index(&grid, bin, axis);
            set = (i > 0 && in[bin - grid.stride[axis]]) ||
                  (i < grid.n[axis] - 1 && in[bin + grid.stride[axis]]);
        }
        out[bin] = set != 0;
    }
}

void tess_de_mask_erode(const int64_t *shape, int64_t n_dim, const uint8_t *in, uint8_t *out)
{
    const mask_grid grid = as_three(shape, n_dim);
    for (int64_t bin = 0; bin < grid.n_bin; bin++) {
        uint8_t set = in[bin];
        for (int axis = first_axis(n_dim); axis < 3 && set; axis++) {
            const int64_t i = axis_index(&grid, bin, axis);
            set = i > 0 && i < grid.n[axis] - 1 && in[bin - grid.stride[axis]] &&
                  in[bin + grid.stride[axis]];
        }
        out[bin] = set != 0;
    }
}

static int on_rim(const mask_grid *grid, int64_t bin, int first)
{
    for (int axis = first; axis < 3; axis++) {
        const int64_t i = axis_index(grid, bin, axis);
        if (i == 0 || i == grid->n[axis] - 1) {
            return 1;
        }
    }
    return 0;
}

void tess_de_mask_fill(const int64_t *shape, int64_t n_dim, uint8_t *mask, uint8_t *outside,
                       int64_t *queue)
{
    const mask_grid grid = as_three(shape, n_dim);
    const int first = first_axis(n_dim);
    int64_t n_queue = 0;
    memset(outside, 0, (size_t)grid.n_bin);
    for (int64_t bin = 0; bin < grid.n_bin; bin++) {
        if (!mask[bin] && on_rim(&grid, bin, first)) {
            outside[bin] = 1;
            queue[n_queue++] = bin;
        }
    }
    for (int64_t at = 0; at < n_queue; at++) {
        const int64_t bin = queue[at];
        for (int axis = first; axis < 3; axis++) {
            const int64_t i = axis_index(&grid, bin, axis);
            for (int side = -1; side <= 1; side += 2) {
                const int64_t next = bin + side * grid.stride[axis];
                if (i + side >= 0 && i + side < grid.n[axis] && !mask[next] && !outside[next]) {
                    outside[next] = 1;
                    queue[n_queue++] = next;
                }
            }
        }
    }
    for (int64_t bin = 0; bin < grid.n_bin; bin++) {
        mask[bin] = !outside[bin];
    }
}

void tess_de_mask_clear_rim(const int64_t *shape, int64_t n_dim, uint8_t *mask)
{
    const mask_grid grid = as_three(shape, n_dim);
    for (int64_t bin = 0; bin < grid.n_bin; bin++) {
        if (on_rim(&grid, bin, first_axis(n_dim))) {
            mask[bin] = 0;
        }
    }
}
