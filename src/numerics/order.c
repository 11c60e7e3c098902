#include "numerics/order.h"

#include <string.h>

static void swap(double *a, double *b)
{
    const double t = *a;
    *a = *b;
    *b = t;
}

// Hoare's selection.
double tess_select(double *x, int64_t n, int64_t k)
{
    int64_t low = 0;
    int64_t high = n - 1;
    while (low < high) {
        const double pivot = x[low + (high - low) / 2];
        int64_t i = low;
        int64_t j = high;
        while (i <= j) {
            while (x[i] < pivot) {
                i++;
            }
            while (x[j] > pivot) {
                j--;
            }
            if (i <= j) {
                swap(&x[i++], &x[j--]);
            }
        }
        if (k <= j) {
            high = j;
        } else if (k >= i) {
            low = i;
        } else {
            break;
        }
    }
    return x[k];
}

double tess_median(double *x, int64_t n)
{
    const double upper = tess_select(x, n, n / 2);
    if (n % 2 == 1) {
        return upper;
    }
    double lower = x[0];
    for (int64_t i = 1; i < n / 2; i++) {
        lower = x[i] > lower ? x[i] : lower;
    }
    return 0.5 * (lower + upper);
}

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
