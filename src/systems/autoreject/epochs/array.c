// Epochs over an array of the caller.
#include "base/status.h"
#include "runtime/resident.h"
#include "systems/autoreject/epochs/epochs.h"

#include <math.h>
#include <string.h>

// One channel of one epoch to f64.
static void convert_row(const void *src, int32_t dtype, int64_t stride, int64_t n, double scale,
                        double *dst)
{
#define CONVERT(type)                                                                              \
    for (int64_t t = 0; t < n; t++) {                                                              \
        dst[t] = (double)((const type *)src)[t * stride] * scale;                                  \
    }                                                                                              \
    break
    switch (dtype) {
    case TESS_F64:
        CONVERT(double);
    case TESS_F32:
        CONVERT(float);
    case TESS_I32:
        CONVERT(int32_t);
    default:
        CONVERT(int16_t);
    }
#undef CONVERT
}

static char *row_of(const tess_array *x, int64_t epoch, int64_t channel)
{
    return (char *)x->data +
           (epoch * x->stride[0] + channel * x->stride[1]) * (int64_t)x->item_bytes;
}

static tess_status read_host(const tess_autoreject_epochs *epochs, int64_t first, int64_t count,
                             const int64_t *channels, int64_t n_channel, double *dst)
{
    const tess_array *x = &epochs->array;
    const int64_t n_time = x->shape[2];
    for (int64_t e = first; e < first + count; e++) {
        for (int64_t i = 0; i < n_channel; i++, dst += n_time) {
            const char *row = row_of(x, e, channels[i]);
            const double scale = epochs->calibration ? epochs->calibration[channels[i]] : 1;
            if (x->dtype == TESS_F64 && x->stride[2] == 1 && !epochs->calibration) {
                memcpy(dst, row, (size_t)n_time * sizeof *dst);
            } else {
                convert_row(row, x->dtype, x->stride[2], n_time, scale, dst);
            }
        }
    }
    return TESS_OK;
}

// Rows of an epoch travel as they are, neighbours together, and are converted here.
static tess_status read_device_epoch(tess_context *ctx, const tess_autoreject_epochs *epochs,
                                     int64_t epoch, const int64_t *channels, int64_t n_channel,
                                     char *rows, double *dst)
{
    const tess_array *x = &epochs->array;
    const size_t row_bytes = (size_t)(x->shape[2] * x->item_bytes);
    for (int64_t i = 0, n = 1; i < n_channel; i += n, n = 1) {
        char *first = row_of(x, epoch, channels[i]);
        while (i + n < n_channel &&
               row_of(x, epoch, channels[i + n]) == first + (size_t)n * row_bytes) {
            n++;
        }
        const tess_resident there = {.device = ctx->device,
                                     .data = first,
                                     .bytes = (size_t)n * row_bytes,
                                     .is_borrowed = true};
        TESS_TRY(tess_resident_fetch(&there, rows + (size_t)i * row_bytes, there.bytes));
    }
    for (int64_t i = 0; i < n_channel; i++, dst += x->shape[2]) {
        const double scale = epochs->calibration ? epochs->calibration[channels[i]] : 1;
        convert_row(rows + (size_t)i * row_bytes, x->dtype, 1, x->shape[2], scale, dst);
    }
    return TESS_OK;
}

static tess_status read_device(tess_context *ctx, const tess_autoreject_epochs *epochs,
                               int64_t first, int64_t count, const int64_t *channels,
                               int64_t n_channel, double *dst)
{
    const tess_array *x = &epochs->array;
    const size_t bytes = (size_t)(n_channel * x->shape[2] * x->item_bytes);
    char *rows = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "an epoch of a GPU array");
    tess_status status = rows ? TESS_OK : TESS_E_MEMORY;
    for (int64_t e = 0; status == TESS_OK && e < count; e++) {
        status = read_device_epoch(ctx, epochs, first + e, channels, n_channel, rows,
                                   dst + e * n_channel * x->shape[2]);
    }
    tess_heap_free(&ctx->heap, rows, bytes, TESS_TAG_SCRATCH);
    return status;
}

static tess_status read_array(tess_context *ctx, void *impl, int64_t first, int64_t count,
                              const int64_t *channels, int64_t n_channel, double *dst)
{
    const tess_autoreject_epochs *epochs = impl;
    return epochs->array.space == TESS_SPACE_DEVICE
               ? read_device(ctx, epochs, first, count, channels, n_channel, dst)
               : read_host(epochs, first, count, channels, n_channel, dst);
}

tess_status tess_ar_check_space(const tess_context *ctx, const tess_array *x)
{
    if (x->space != TESS_SPACE_DEVICE) {
        return TESS_OK;
    }
    if (ctx->device->shares_host_memory) {
        TESS_FAIL(TESS_E_SPACE, "x: is in GPU memory, but the context works on the CPU; create the "
                                "context with device 'cuda', or pass a copy in host memory");
    }
    if (x->device != ctx->device->info.index) {
        TESS_FAIL(TESS_E_SPACE,
                  "x: is in the memory of GPU %d, but the context works on %s; create the context "
                  "with device 'cuda:%d'",
                  (int)x->device, ctx->device->info.id, (int)x->device);
    }
    if (x->stride[2] != 1 && x->shape[2] > 1) {
        TESS_FAIL(TESS_E_SHAPE,
                  "x: samples of one channel must follow each other in GPU memory (stride of the "
                  "last axis is %lld items); pass a C-contiguous copy",
                  (long long)x->stride[2]);
    }
    return TESS_OK;
}

static tess_status check_array(const tess_context *ctx, const tess_array *x,
                               const tess_autoreject_sensors *sensors)
{
    if (x->rank != 3) {
        TESS_FAIL(TESS_E_SHAPE, "x: expected 3 axes (epochs, channels, samples), got %d", x->rank);
    }
    if (x->dtype != TESS_F64 && x->dtype != TESS_F32 && x->dtype != TESS_I32 &&
        x->dtype != TESS_I16) {
        TESS_FAIL(TESS_E_DTYPE, "x: expected f64, f32, i32 or i16, got %s; convert it first",
                  tess_dtype_name((tess_dtype)x->dtype));
    }
    if (x->shape[0] < 1 || x->shape[1] < 1 || x->shape[2] < 1) {
        TESS_FAIL(TESS_E_SHAPE, "x: has nothing in it (shape %lld x %lld x %lld)",
                  (long long)x->shape[0], (long long)x->shape[1], (long long)x->shape[2]);
    }
    if (!x->data) {
        TESS_FAIL(TESS_E_ARGUMENT, "x: data is NULL");
    }
    if (sensors->n_chan != x->shape[1]) {
        TESS_FAIL(TESS_E_SHAPE, "sensors: %lld channels, but x has %lld",
                  (long long)sensors->n_chan, (long long)x->shape[1]);
    }
    return tess_ar_check_space(ctx, x);
}

static tess_status check_times(double sampling_hz, double tmin)
{
    if (!(sampling_hz > 0) || !isfinite(sampling_hz)) {
        TESS_FAIL(TESS_E_RANGE, "sampling_hz: %g; expected a number above 0", sampling_hz);
    }
    if (!isfinite(tmin)) {
        TESS_FAIL(TESS_E_RANGE, "tmin: %g; expected seconds", tmin);
    }
    return TESS_OK;
}

static tess_status take_array(tess_autoreject_epochs *epochs, const tess_array *x,
                              const tess_autoreject_sensors *sensors, const double *calibration)
{
    TESS_TRY(tess_ar_epochs_set_sensors(epochs, sensors));
    if (epochs->info.notes[0]) {
        TESS_FAIL(TESS_E_ARGUMENT, "sensors: %s; names must differ", epochs->info.notes);
    }
    if (calibration) {
        double *copy = tess_ar_epochs_items(epochs, sensors->n_chan, sizeof *copy);
        if (!copy) {
            return TESS_E_MEMORY;
        }
        memcpy(copy, calibration, (size_t)sensors->n_chan * sizeof *copy);
        epochs->calibration = copy;
    }
    epochs->array = *x;
    epochs->info.n_epoch = x->shape[0];
    epochs->info.n_time = x->shape[2];
    epochs->info.stored_dtype = x->dtype;
    epochs->reader = (tess_ar_reader){
        .impl = epochs, .read = read_array, .is_concurrent = x->space != TESS_SPACE_DEVICE};
    return tess_ar_epochs_plain_events(epochs);
}

tess_status tess_autoreject_epochs_from_array(tess_context *ctx, const tess_array *x,
                                              const tess_autoreject_sensors *sensors,
                                              const double *calibration, double sampling_hz,
                                              double tmin, tess_autoreject_epochs **out)
{
    tess_error_clear();
    *out = NULL;
    TESS_TRY(check_array(ctx, x, sensors));
    TESS_TRY(check_times(sampling_hz, tmin));
    tess_autoreject_epochs *epochs = NULL;
    TESS_TRY(tess_ar_epochs_create(ctx, &epochs));
    epochs->info.sampling_hz = sampling_hz;
    epochs->info.tmin = tmin;
    const tess_status status = take_array(epochs, x, sensors, calibration);
    if (status != TESS_OK) {
        tess_autoreject_epochs_close(epochs);
        return status;
    }
    *out = epochs;
    return TESS_OK;
}
