#include "base/select.h"

#include <stdbool.h>

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

// Items less than the pivot go to the beginning of `to`, larger ones to its end. Both are written
// always: a branch that nobody can foretell costs more.
static void part(const double *restrict x, int64_t n, double pivot, double *restrict to,
                 int64_t *n_less, int64_t *n_more)
{
    int64_t less = 0;
    int64_t more = 0;
    for (int64_t i = 0; i < n; i++) {
        const double item = x[i];
        to[less] = item;
        to[n - 1 - more] = item;
        less += item < pivot;
        more += item > pivot;
    }
    *n_less = less;
    *n_more = more;
}

static double middle_of(double a, double b, double c)
{
    const double low = a < b ? a : b;
    const double high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

// Near the middle of most arrays, also of those that rise or fall here and there.
static double pivot_of(const double *x, int64_t n)
{
    double of[3];
    for (int64_t i = 0; i < 3; i++) {
        of[i] = middle_of(x[i * (n - 1) / 8], x[(i + 3) * (n - 1) / 8], x[(i + 6) * (n - 1) / 8]);
    }
    return middle_of(of[0], of[1], of[2]);
}

double tess_median_of(const double *x, int64_t n, double *scratch)
{
    const bool is_even = n % 2 == 0;
    double *to = scratch;
    double *other = scratch + n;
    double below = x[0]; // the largest that was left behind, once there is one
    for (int64_t k = n / 2;;) {
        const double pivot = pivot_of(x, n);
        int64_t n_less = 0;
        int64_t n_more = 0;
        part(x, n, pivot, to, &n_less, &n_more);
        if (k < n_less) {
            x = to;
            n = n_less;
        } else if (k >= n - n_more && n_more < n) {
            below = pivot;
            k -= n - n_more;
            x = to + (n - n_more);
            n = n_more;
        } else if (!is_even || k > n_less) {
            return pivot; // and so is the one before
        } else {
            double lower = n_less > 0 ? to[0] : below;
            for (int64_t i = 1; i < n_less; i++) {
                lower = to[i] > lower ? to[i] : lower;
            }
            return 0.5 * (lower + pivot);
        }
        double *const next = other;
        other = to;
        to = next;
    }
}
