#include "base/select.h"

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
