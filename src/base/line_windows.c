#include "base/line_windows.h"

#include <math.h>

// Points this close to the ends of a route, and bins this close to the edge of a window, are
// inside: cm.
static const double SLACK = 1e-7;

int64_t tess_line_points(const tess_line_route *route)
{
    return (int64_t)floor((route->length + SLACK) / route->step) + 1;
}

int32_t tess_line_windows(const tess_line_route *route, double fraction, int64_t n_point,
                          int32_t *low, int32_t *high)
{
    const double reach = route->band + SLACK;
    int32_t n_on = 0;
    int32_t first = 0;
    int32_t end = 0;
    for (int64_t m = 0; m < n_point; m++) {
        const double y = route->step * ((double)m + fraction);
        while (first < route->n_bin && y - route->u[first] > reach) {
            first++;
        }
        while (end < route->n_bin && route->u[end] - y <= reach) {
            end++;
        }
        low[m] = first;
        high[m] = end > first ? end : first;
        n_on += y <= route->length + SLACK;
    }
    return n_on;
}

void tess_line_bin_windows(const tess_line_route *route, int32_t *low, int32_t *high)
{
    const double reach = route->band + SLACK;
    int32_t first = 0;
    int32_t end = 0;
    for (int64_t q = 0; q < route->n_bin; q++) {
        while (route->u[q] - route->u[first] > reach) {
            first++;
        }
        while (end < route->n_bin && route->u[end] - route->u[q] <= reach) {
            end++;
        }
        low[q] = first;
        high[q] = end;
    }
}

int64_t tess_line_most_slope(const tess_line_route *route, int64_t n_time, double bin_s,
                             double max_velocity)
{
    const double n_step = n_time > 1 ? (double)(n_time - 1) : 0;
    return (int64_t)floor(max_velocity * n_step * bin_s / route->step + 1e-9);
}

int64_t tess_line_last(const tess_line_route *route)
{
    return (int64_t)floor(2 * route->length / route->step + 1e-9);
}
