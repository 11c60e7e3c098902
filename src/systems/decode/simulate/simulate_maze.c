// The places of simulations: a line, a W-maze, a box.
#include "systems/decode/simulate/simulate.h"

#include <math.h>

// Corridors of the W: left, middle and right arm upwards from a base. In bins of 2 cm it has some
// 724 of 60 x 57, padding included.
static const double LINE_CM = 175;
static const double BOX_CM = 100;
static const double W_WIDTH = 116;
static const double W_HEIGHT = 110;
static const double W_MIDDLE_HEIGHT = 101;
static const double W_ARM = 6;
static const double W_BASE = 7;
static const double LINE_CELL = 0.5;
static const double PLANE_CELL = 1;

int64_t tess_de_maze_dims(int maze)
{
    return maze == TESS_DE_MAZE_LINE ? 1 : 2;
}

void tess_de_maze_extent(int maze, double extent[2])
{
    extent[0] = maze == TESS_DE_MAZE_LINE ? LINE_CM : maze == TESS_DE_MAZE_W ? W_WIDTH : BOX_CM;
    extent[1] = maze == TESS_DE_MAZE_W ? W_HEIGHT : BOX_CM;
}

int tess_de_maze_inside(int maze, const double *point)
{
    double extent[2];
    tess_de_maze_extent(maze, extent);
    for (int64_t i = 0; i < tess_de_maze_dims(maze); i++) {
        if (!(point[i] >= 0 && point[i] <= extent[i])) {
            return 0;
        }
    }
    if (maze != TESS_DE_MAZE_W || point[1] <= W_BASE) {
        return 1;
    }
    const double from_middle = fabs(point[0] - W_WIDTH / 2);
    return from_middle >= W_WIDTH / 2 - W_ARM ||
           (from_middle <= W_ARM / 2 && point[1] <= W_MIDDLE_HEIGHT);
}

static int64_t cells_across(int maze, int axis)
{
    double extent[2];
    tess_de_maze_extent(maze, extent);
    return (int64_t)(extent[axis] / (maze == TESS_DE_MAZE_LINE ? LINE_CELL : PLANE_CELL));
}

int64_t tess_de_maze_cells(int maze)
{
    const int64_t n = cells_across(maze, 0);
    return maze == TESS_DE_MAZE_LINE ? n : n * cells_across(maze, 1);
}

static int64_t cell_on_axis(int maze, int axis, double x)
{
    const double width = maze == TESS_DE_MAZE_LINE ? LINE_CELL : PLANE_CELL;
    const int64_t i = (int64_t)(x / width);
    const int64_t last = cells_across(maze, axis) - 1;
    return i > last ? last : i;
}

int64_t tess_de_maze_cell(int maze, const double *point)
{
    const int64_t i = cell_on_axis(maze, 0, point[0]);
    return maze == TESS_DE_MAZE_LINE ? i
                                     : i * cells_across(maze, 1) + cell_on_axis(maze, 1, point[1]);
}

void tess_de_maze_cell_center(int maze, int64_t cell, double *point)
{
    if (maze == TESS_DE_MAZE_LINE) {
        point[0] = ((double)cell + 0.5) * LINE_CELL;
        return;
    }
    const int64_t n = cells_across(maze, 1);
    point[0] = ((double)(cell / n) + 0.5) * PLANE_CELL;
    point[1] = ((double)(cell % n) + 0.5) * PLANE_CELL;
}

// Back and forth between 0 and length.
static double bounce(double x, double length)
{
    const double phase = fmod(fabs(x), 2 * length);
    return phase <= length ? phase : 2 * length - phase;
}

// Middle and end of the arms: left, middle, right.
static double arm_x(int arm)
{
    return arm == 0 ? W_ARM / 2 : arm == 1 ? W_WIDTH / 2 : W_WIDTH - W_ARM / 2;
}

static double arm_y(int arm)
{
    return arm == 1 ? W_MIDDLE_HEIGHT : W_HEIGHT;
}

void tess_de_maze_start(int maze, double *point)
{
    double extent[2];
    tess_de_maze_extent(maze, extent);
    point[0] = maze == TESS_DE_MAZE_LINE ? 0 : extent[0] / 2;
    point[1] = maze == TESS_DE_MAZE_W ? W_MIDDLE_HEIGHT - W_BASE : extent[1] / 2;
}

void tess_de_maze_heading(int maze, const double *point, int64_t *leg, double heading[2])
{
    static const int visits[] = {1, 0, 1, 2};
    heading[0] = heading[1] = 0;
    if (maze != TESS_DE_MAZE_W) {
        return;
    }
    const int from = visits[*leg / 3 % 4];
    const int to = visits[(*leg / 3 + 1) % 4];
    const int part = (int)(*leg % 3); // down one arm, across, up the next
    const double dx = arm_x(part == 0 ? from : to) - point[0];
    const double dy = (part == 2 ? arm_y(to) - W_ARM / 2 : W_BASE / 2) - point[1];
    if (fabs(dx) + fabs(dy) < W_ARM / 2) {
        ++*leg;
    }
    if (fabs(dx) <= W_ARM / 2) {
        heading[1] = dy < 0 ? -1 : 1;
    } else if (point[1] > W_BASE) {
        heading[1] = -1; // astray in another arm
    } else {
        heading[0] = dx < 0 ? -1 : 1;
    }
}

// Along the middle of the corridors from the end of one arm to that of another.
static void w_sweep(const double draw[4], double way, double *point)
{
    const int from = (int)(3 * draw[0]);
    const int to = (from + 1 + (int)(2 * draw[1])) % 3;
    const double down = arm_y(from) - W_BASE / 2;
    const double across = fabs(arm_x(to) - arm_x(from));
    const double up = arm_y(to) - W_BASE / 2;
    const double length = down + across + up;
    const double s = bounce(draw[2] * length + way, length);
    if (s <= down) {
        point[0] = arm_x(from);
        point[1] = arm_y(from) - s;
    } else if (s <= down + across) {
        point[0] = arm_x(from) + (arm_x(to) > arm_x(from) ? s - down : down - s);
        point[1] = W_BASE / 2;
    } else {
        point[0] = arm_x(to);
        point[1] = W_BASE / 2 + s - down - across;
    }
}

void tess_de_maze_sweep(int maze, const double draw[4], double way, double *point)
{
    double extent[2];
    tess_de_maze_extent(maze, extent);
    if (maze == TESS_DE_MAZE_LINE) {
        const double sign = draw[0] < 0.5 ? -1 : 1;
        point[0] = bounce(extent[0] * (draw[2] + 2) + sign * way, extent[0]);
    } else if (maze == TESS_DE_MAZE_W) {
        w_sweep(draw, way, point);
    } else {
        const double angle = 6.283185307179586 * draw[0];
        point[0] = bounce(extent[0] * (draw[2] + 8) + way * cos(angle), extent[0]);
        point[1] = bounce(extent[1] * (draw[3] + 8) + way * sin(angle), extent[1]);
    }
}
