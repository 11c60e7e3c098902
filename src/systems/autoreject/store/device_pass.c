// The pass that fills a store in the memory of a device.
//
// Epochs of the host go through pinned buffers in turn: while one is on its way and taken in, in a
// queue of its own, the next is filled by all threads. Epochs that are on the device already are
// taken in where they are. Peak-to-peaks come down at the end; the tiles stay.
#include "base/status.h"
#include "runtime/device_memory.h"
#include "runtime/stage.h"
#include "runtime/watch.h"
#include "stage/autoreject_local.h"
#include "systems/autoreject/store/store_pass.h"

enum { N_SLOT = 3, SLOT_BYTES = 16 << 20 };

typedef struct slot {
    tess_device device; // with a queue of its own
    bool has_queue;
    double *pinned;
    tess_resident there;
} slot;

typedef struct device_pass {
    tess_ar_store *store;
    const tess_ar_store_request *request;
    tess_resident w;
    tess_resident delta;
    tess_resident delta_predicted;
    tess_resident channels;
    tess_resident scales;
    slot slots[N_SLOT];
    int64_t block_epochs;
    size_t slot_bytes;
} device_pass;

static tess_stage_autoreject_intake intake_of(const device_pass *p, int64_t first, int64_t count)
{
    const tess_ar_store *s = p->store;
    return (tess_stage_autoreject_intake){
        .w = p->w.data,
        .delta = (double *)p->delta.data + first * s->n_chan,
        .delta_predicted = p->w.data ? (double *)p->delta_predicted.data + first * s->n_chan : NULL,
        .tiles = (double *)s->there.data + first * s->n_chan * TESS_AR_TILE,
        .n_epoch = count,
        .n_chan = s->n_chan,
        .n_time = s->n_time,
        .tile_stride = (int64_t)s->tile_items};
}

static tess_status open_arrays(device_pass *p)
{
    const tess_ar_store *s = p->store;
    const size_t delta = (size_t)(s->n_epoch * s->n_chan) * sizeof(double);
    TESS_TRY(tess_resident_create(s->device, delta, &p->delta));
    if (!p->request->leave_one_out) {
        return TESS_OK;
    }
    TESS_TRY(tess_resident_create(s->device, delta, &p->delta_predicted));
    return tess_resident_from(s->device, p->request->leave_one_out,
                              (size_t)(s->n_chan * s->n_chan) * sizeof(double), &p->w);
}

static tess_status open_slots(device_pass *p, int64_t n_slot)
{
    const tess_device *device = p->store->device;
    for (int64_t i = 0; i < n_slot; i++) {
        slot *to = &p->slots[i];
        void *pinned = NULL;
        to->device = *device;
        TESS_TRY(device->backend->queue_create(device->handle, &to->device.queue));
        to->has_queue = true;
        TESS_TRY(tess_device_alloc(device, TESS_SPACE_PINNED, p->slot_bytes, &pinned));
        to->pinned = pinned;
        TESS_TRY(tess_resident_create(&to->device, p->slot_bytes, &to->there));
    }
    return TESS_OK;
}

static void close_all(device_pass *p)
{
    const tess_device *device = p->store->device;
    for (int64_t i = 0; i < N_SLOT; i++) {
        slot *to = &p->slots[i];
        if (to->has_queue) {
            (void)!tess_stage_finish(&to->device); // a failure was reported by who came first
        }
        tess_resident_free(&to->there);
        if (to->pinned) {
            tess_device_free(device, TESS_SPACE_PINNED, to->pinned, p->slot_bytes);
        }
        if (to->has_queue) {
            device->backend->queue_destroy(to->device.queue);
        }
    }
    tess_resident_free(&p->w);
    tess_resident_free(&p->delta);
    tess_resident_free(&p->delta_predicted);
    tess_resident_free(&p->channels);
    tess_resident_free(&p->scales);
}

static tess_status send_block(device_pass *p, int64_t first, int64_t count, slot *by)
{
    const tess_ar_store *s = p->store;
    TESS_TRY(tess_stage_finish(&by->device)); // the buffer is free
    TESS_TRY(tess_ar_epochs_read_block(s->ctx, p->request->epochs, first, count,
                                       p->request->channels, s->n_chan, by->pinned));
    TESS_TRY(tess_resident_refill(&by->there, by->pinned,
                                  (size_t)(count * s->n_chan * s->n_time) * sizeof(double)));
    tess_stage_autoreject_intake args = intake_of(p, first, count);
    args.x_there = by->there.data;
    args.stride_epoch = s->n_chan * s->n_time;
    args.stride_chan = s->n_time;
    args.dtype = TESS_F64;
    return tess_stage_start(&by->device, TESS_STAGE_AUTOREJECT_INTAKE, &args, sizeof args);
}

static tess_status take_blocks(device_pass *p, tess_watch *progress)
{
    const tess_ar_store *s = p->store;
    const int64_t epoch_bytes = s->n_chan * s->n_time * (int64_t)sizeof(double);
    const int64_t fit = SLOT_BYTES / epoch_bytes;
    p->block_epochs = fit > 1 ? fit : 1;
    if (p->block_epochs > s->n_epoch) {
        p->block_epochs = s->n_epoch;
    }
    p->slot_bytes = (size_t)(p->block_epochs * epoch_bytes);
    const int64_t n_block = (s->n_epoch + p->block_epochs - 1) / p->block_epochs;
    TESS_TRY(open_slots(p, n_block < N_SLOT ? n_block : N_SLOT));
    TESS_TRY(tess_stage_finish(s->device)); // weights are there
    for (int64_t i = 0; i < n_block; i++) {
        const int64_t first = i * p->block_epochs, left = s->n_epoch - first;
        TESS_TRY(tess_watch_poll(progress, first, s->n_epoch));
        TESS_TRY(send_block(p, first, left < p->block_epochs ? left : p->block_epochs,
                            &p->slots[i % N_SLOT]));
    }
    for (int64_t i = 0; i < N_SLOT; i++) {
        if (p->slots[i].has_queue) {
            TESS_TRY(tess_stage_finish(&p->slots[i].device));
        }
    }
    return TESS_OK;
}

// An array in the device's memory: where it is.
static tess_status take_array(device_pass *p)
{
    const tess_ar_store *s = p->store;
    const tess_array *x = &p->request->epochs->array;
    const size_t n_chan = (size_t)s->n_chan;
    const double *calibration = p->request->epochs->calibration;
    TESS_TRY(tess_resident_from(s->device, p->request->channels,
                                n_chan * sizeof *p->request->channels, &p->channels));
    if (calibration) {
        TESS_TRY(tess_resident_create(s->device, n_chan * sizeof *calibration, &p->scales));
        for (size_t c = 0; c < n_chan; c++) {
            TESS_TRY(tess_resident_put(&p->scales, c * sizeof *calibration,
                                       calibration + p->request->channels[c], sizeof *calibration));
        }
    }
    tess_stage_autoreject_intake args = intake_of(p, 0, s->n_epoch);
    args.x_there = x->data;
    args.channels = p->channels.data;
    args.scales = p->scales.data;
    args.stride_epoch = x->stride[0];
    args.stride_chan = x->stride[1];
    args.dtype = x->dtype;
    return tess_stage_start(s->device, TESS_STAGE_AUTOREJECT_INTAKE, &args, sizeof args);
}

static tess_status run(device_pass *p, tess_watch *progress)
{
    tess_ar_store *s = p->store;
    const tess_autoreject_epochs *epochs = p->request->epochs;
    const size_t delta = (size_t)(s->n_epoch * s->n_chan) * sizeof(double);
    TESS_TRY(open_arrays(p));
    TESS_TRY(epochs->array.data && epochs->array.space == TESS_SPACE_DEVICE
                 ? take_array(p)
                 : take_blocks(p, progress));
    TESS_TRY(tess_resident_fetch(&p->delta, s->delta, delta));
    if (p->w.data) {
        TESS_TRY(tess_resident_fetch(&p->delta_predicted, s->delta_augmented, delta));
    }
    TESS_TRY(tess_ar_store_check_finite(s, p->request));
    return tess_watch_poll(progress, s->n_epoch, s->n_epoch);
}

tess_status tess_ar_store_device_pass(tess_ar_store *store, const tess_ar_store_request *request)
{
    device_pass p = {.store = store, .request = request};
    tess_watch progress;
    const double items = (double)store->n_epoch * (double)store->n_chan * (double)store->n_time;
    tess_watch_begin(&progress, store->ctx, "autoreject.read", "epochs", 0,
                     (uint64_t)items * sizeof(double), TESS_STRATEGY_LARGE);
    tess_span span = tess_span_begin(&store->ctx->tracer, "autoreject.intake");
    const tess_status status = run(&p, &progress);
    tess_span_end(&span, 2 * items * sizeof(double),
                  request->leave_one_out ? 2 * items * (double)store->n_chan : 0);
    close_all(&p);
    return status;
}
