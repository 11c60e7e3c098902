#include "systems/decode/kde/distinct.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

int64_t tess_de_distinct(const double *x, int64_t n, double *value)
{
    memcpy(value, x, (size_t)n * sizeof *x);
    qsort(value, (size_t)n, sizeof *value, compare);
    int64_t n_value = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || value[i] != value[n_value - 1]) {
            value[n_value++] = value[i];
        }
    }
    return n_value;
}

int64_t tess_de_distinct_find(const double *value, int64_t n_value, double x)
{
    return (const double *)bsearch(&x, value, (size_t)n_value, sizeof *value, compare) - value;
}
