// Windows around the points at which lines through time meet a route: which of its bins lie within
// a band of each point, as places in a row of prefix sums.
#ifndef TESS_BASE_LINE_WINDOWS_H
#define TESS_BASE_LINE_WINDOWS_H

#include <stdint.h>

typedef struct tess_line_route {
    int64_t n_bin;
    const double *u; // [n_bin] of the bins' centres, cm, rising
    double length;
    double step; // h
    double band; // cm on either side
} tess_line_route;

// Points h m, m = 0.., that lie on the route.
int64_t tess_line_points(const tess_line_route *route);
// Bins low..high-1 of points h (m + fraction), m < n_point; returns how many of them lie on the
// route.
int32_t tess_line_windows(const tess_line_route *route, double fraction, int64_t n_point,
                          int32_t *low, int32_t *high);
// The same of the bins' centres.
void tess_line_bin_windows(const tess_line_route *route, int32_t *low, int32_t *high);
// The steepest slope, D, of lines over n_time bins of bin_s that go at max_velocity, cm/s.
int64_t tess_line_most_slope(const tess_line_route *route, int64_t n_time, double bin_s,
                             double max_velocity);
// The largest 2 i + D.
int64_t tess_line_last(const tess_line_route *route);

#endif
