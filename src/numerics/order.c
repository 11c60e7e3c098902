#include "numerics/order.h"

#include <string.h>

void tess_order_stable(const double *x, int64_t n, int64_t *order, int64_t *scratch)
{
    for (int64_t i = 0; i < n; i++) {
        order[i] = i;
    }
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t low = 0; low < n; low += 2 * width) {
            const int64_t middle = low + width < n ? low + width : n;
            const int64_t high = low + 2 * width < n ? low + 2 * width : n;
            int64_t i = low;
            int64_t j = middle;
            for (int64_t k = low; k < high; k++) {
                const int take_left = i < middle && (j >= high || !(x[order[j]] < x[order[i]]));
                scratch[k] = take_left ? order[i++] : order[j++];
            }
        }
        memcpy(order, scratch, (size_t)n * sizeof *order);
    }
}
