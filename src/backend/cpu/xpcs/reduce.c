// Sums of leaves in the tree of fixed shape, on the CPU.
#include "stage/xpcs.h"

#include "backend/cpu/xpcs/stages.h"
#include "base/status.h"

#include <string.h>

// Neighbours, then pairs of neighbours; the total is left in the first row.
static void add_stretch(double *sums, int64_t length, int64_t n_sum)
{
    for (int64_t step = 1; step < length; step *= 2) {
        for (int64_t k = 0; k < length; k += 2 * step) {
            double *to = sums + k * n_sum;
            const double *later = sums + (k + step) * n_sum;
            for (int64_t i = 0; i < n_sum; i++) {
                to[i] += later[i];
            }
        }
    }
}

tess_status tess_cpu_xpcs_reduce(tess_backend_device *device, const void *args)
{
    (void)device;
    const tess_stage_xpcs_reduce *a = args;
    double *out = a->out;
    for (int64_t set = 0; set < a->n_set; set++) {
        double *sums = a->sums + set * a->n_leaf * a->n_sum;
        for (int64_t at = 0, length; at < a->n_leaf; at += length, out += a->n_sum) {
            length = tess_xp_stretch(a->first + at, a->n_leaf - at);
            add_stretch(sums + at * a->n_sum, length, a->n_sum);
            memcpy(out, sums + at * a->n_sum, (size_t)a->n_sum * sizeof *out);
        }
    }
    return TESS_OK;
}
