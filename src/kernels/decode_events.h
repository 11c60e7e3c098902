// What the kernels of decode's events ask of their callers' memory.
#ifndef TESS_KERNELS_DECODE_EVENTS_H
#define TESS_KERNELS_DECODE_EVENTS_H

#include <stddef.h>
#include <stdint.h>

// Zeros on either side of a row of events_line and events_tile: as many items as the longest block
// of any ISA (four vectors of 2048 bits).
#define TESS_EVENTS_PAD 128
// Lines of a tile, and of a block of events_bounds, whose rows have so many zeros on either side;
// TESS_EVENTS_BEYOND floats behind the last of them may be read.
#define TESS_EVENTS_LINES 32
#define TESS_EVENTS_BLOCK 64
#define TESS_EVENTS_BEYOND 256

// Lines of some neighbouring slopes that begin near each other: y_k = i + D k / n_step, of counted
// bins k. With D k = s n_step + j such a line meets item i + s of the row of class j.
typedef struct tess_events_tile {
    const double *rows; // [n][n_class] first items of rows that are width apart
    int64_t width;
    const int32_t *class_of; // [n_step] of j
    const int32_t *n_item;   // [n_class]
    int32_t n_class;
    int32_t n_step;
    const int32_t *time; // [n] k
    size_t n;
    double base;
    int32_t slope; // the first D
    int32_t n_slope;
    int32_t first; // i, of TESS_EVENTS_LINES at most
    int32_t n_line;
    int32_t last;    // 0 <= 2 i + D <= last, or the line is none
    int32_t *rest;   // [n] scratch: j
    int32_t *shift;  // [n] s
    int32_t *offset; // [n]
} tess_events_tile;

#endif
