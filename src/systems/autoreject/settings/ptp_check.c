#include "systems/autoreject/settings/ptp_check.h"

#include "base/status.h"
#include "base/struct_read.h"

#include <math.h>

tess_status tess_ar_check_epochs(const tess_array *x, const char *name)
{
    if (x->rank != 3) {
        TESS_FAIL(TESS_E_SHAPE, "%s: expected 3 axes (epochs, channels, samples), got %d", name,
                  x->rank);
    }
    if (x->dtype != TESS_F32 && x->dtype != TESS_F64) {
        TESS_FAIL(TESS_E_DTYPE, "%s: expected f32 or f64, got %s; convert it first", name,
                  tess_dtype_name((tess_dtype)x->dtype));
    }
    if (x->shape[2] < 1) {
        TESS_FAIL(TESS_E_SHAPE, "%s: epochs have no samples (shape %lld x %lld x 0)", name,
                  (long long)x->shape[0], (long long)x->shape[1]);
    }
    if (x->stride[2] != 1 && x->shape[2] > 1) {
        TESS_FAIL(TESS_E_SHAPE,
                  "%s: samples of one channel must follow each other in memory (stride of the last "
                  "axis is %lld items); pass a C-contiguous copy",
                  name, (long long)x->stride[2]);
    }
    return TESS_OK;
}

// Bytes an array's items span in memory, first to last.
static void span_of(const tess_array *a, const char **low, const char **high)
{
    *low = a->data;
    *high = (const char *)a->data + a->item_bytes;
    for (int32_t i = 0; i < a->rank; i++) {
        const int64_t reach = (a->shape[i] - 1) * a->stride[i] * a->item_bytes;
        if (reach > 0) {
            *high += reach;
        } else {
            *low += reach;
        }
    }
}

tess_status tess_ar_check_ptp_out(const tess_array *x, const tess_array *out)
{
    if (out->rank != 2 || out->shape[0] != x->shape[0] || out->shape[1] != x->shape[1]) {
        TESS_FAIL(TESS_E_SHAPE, "out: expected shape %lld x %lld, got %d axes of %lld x %lld",
                  (long long)x->shape[0], (long long)x->shape[1], out->rank,
                  (long long)out->shape[0], (long long)out->shape[1]);
    }
    if (out->dtype != x->dtype) {
        TESS_FAIL(TESS_E_DTYPE, "out: expected %s as x, got %s",
                  tess_dtype_name((tess_dtype)x->dtype), tess_dtype_name((tess_dtype)out->dtype));
    }
    if (!tess_array_is_contiguous(out)) {
        TESS_FAIL(TESS_E_SHAPE, "out: must be C-contiguous");
    }
    if ((x->space == TESS_SPACE_DEVICE) != (out->space == TESS_SPACE_DEVICE)) {
        TESS_FAIL(TESS_E_SPACE, "out: must be in the same memory (host or device) as x");
    }
    if (tess_array_items(x) == 0 || tess_array_items(out) == 0) {
        return TESS_OK;
    }
    if (!x->data || !out->data) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: data is NULL", x->data ? "out" : "x");
    }
    const char *x_low;
    const char *x_high;
    const char *out_low;
    const char *out_high;
    span_of(x, &x_low, &x_high);
    span_of(out, &out_low, &out_high);
    if (x_low < out_high && out_low < x_high) {
        TESS_FAIL(TESS_E_ARGUMENT, "out: overlaps x in memory");
    }
    return TESS_OK;
}

tess_status tess_ar_check_ptp_config(const tess_autoreject_ptp_config *given,
                                     tess_autoreject_ptp_config *config)
{
    tess_autoreject_ptp_config_init(config, sizeof *config);
    if (given) {
        TESS_TRY(tess_struct_read(given, config, sizeof *config, "config"));
    }
    return tess_params_check(tess_autoreject_ptp_params(), config);
}

tess_status tess_ar_check_simulate_config(const tess_autoreject_simulate_config *given,
                                          tess_autoreject_simulate_config *config)
{
    tess_autoreject_simulate_config_init(config, sizeof *config);
    if (given) {
        TESS_TRY(tess_struct_read(given, config, sizeof *config, "config"));
    }
    return tess_params_check(tess_autoreject_simulate_params(), config);
}

tess_status tess_ar_check_finite(const void *ptp, tess_dtype dtype, int64_t first_epoch,
                                 int64_t n_epoch, int64_t n_chan)
{
    for (int64_t i = 0; i < n_epoch * n_chan; i++) {
        const double value =
            dtype == TESS_F32 ? (double)((const float *)ptp)[i] : ((const double *)ptp)[i];
        if (!isfinite(value)) {
            TESS_FAIL(
                TESS_E_NUMERIC,
                "epoch %lld, channel %lld (counted from 0): its peak-to-peak is not finite (a "
                "sample is NaN or infinite, or the range overflows); drop the epoch or "
                "channel, or use nonfinite=propagate",
                (long long)(first_epoch + i / n_chan), (long long)(i % n_chan));
        }
    }
    return TESS_OK;
}
