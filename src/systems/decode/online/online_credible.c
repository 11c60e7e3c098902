// The smallest set of bins that holds a share of the probability, without sorting them all.
#include "systems/decode/online/online.h"

static void swap(double *a, double *b)
{
    const double value = *a;
    *a = *b;
    *b = value;
}

static double middle_of(double a, double b, double c)
{
    if ((a <= b) == (b <= c)) {
        return b;
    }
    return (b <= a) == (a <= c) ? a : c;
}

int64_t tess_de_credible_size(double *x, int64_t n, double share)
{
    double wanted = 0;
    for (int64_t i = 0; i < n; i++) {
        wanted += x[i];
    }
    wanted *= share;
    int64_t low = 0;  // items before are in the set: count of them
    int64_t high = n; // items from here on are not
    while (high - low > 1) {
        // Larger than the pivot to the front, equal in the middle.
        const double pivot = middle_of(x[low], x[low + (high - low) / 2], x[high - 1]);
        int64_t front = low, back = high;
        double front_sum = 0;
        int64_t i = low;
        while (i < back) {
            if (x[i] > pivot) {
                front_sum += x[i];
                swap(&x[i++], &x[front++]);
            } else if (x[i] < pivot) {
                swap(&x[i], &x[--back]);
            } else {
                i++;
            }
        }
        if (front_sum >= wanted) {
            high = front;
            continue;
        }
        wanted -= front_sum;
        low = front;
        while (low < back && wanted > 0) { // equals, one by one
            wanted -= pivot;
            low++;
        }
        if (low < back || wanted <= 0) {
            return low;
        }
    }
    return wanted > 0 ? high : low;
}
