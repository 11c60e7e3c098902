// Weighted sums of rows, as plainly as they can be said.

#include "kernels/isa.h"

#include <math.h>

void TESS_KFN(mix_f64)(const double *restrict w, size_t w_stride, size_t n_row,
                       const double *restrict x, size_t x_stride, const int32_t *restrict from,
                       const int32_t *restrict column, size_t n_in, size_t width,
                       double *restrict out, size_t out_stride, const int32_t *restrict to)
{
    for (size_t row = 0; row < n_row; row++) {
        double *y = out + (to ? (size_t)to[row] : row) * out_stride;
        for (size_t t = 0; t < width; t++) {
            double sum = 0;
            for (size_t i = 0; i < n_in; i++) {
                const size_t at = from ? (size_t)from[i] : i;
                const size_t c = column ? (size_t)column[i] : at;
                sum = fma(w[row * w_stride + c], x[at * x_stride + t], sum);
            }
            y[t] = sum;
        }
    }
}
