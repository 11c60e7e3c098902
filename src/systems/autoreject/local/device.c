// The local search on a device with memory of its own: tables and weights go up, repaired samples
// stay there, squared errors of a group of tiles come down.
#include "systems/autoreject/local/device.h"
#include "base/status.h"
#include "runtime/device_memory.h"
#include "runtime/stage.h"
#include "runtime/upload.h"
#include "stage/autoreject_interpolation.h"

enum { TILE = TESS_AR_TILE, CHANNELS = TESS_STAGE_AUTOREJECT_LOCAL_CHANNELS };
static const uint64_t GROUP_BYTES = (uint64_t)4 << 30;

static int64_t n_block(const tess_ar_local_request *q)
{
    return (q->store->n_chan + CHANNELS - 1) / CHANNELS;
}

// Repaired rows, medians, bins and errors of a tile.
static uint64_t tile_bytes(const tess_ar_local_request *q, const tess_ar_bins *bins,
                           const tess_ar_repairs *repairs)
{
    const int64_t medians = q->n_fold * q->store->n_chan * TILE;
    const int64_t sums = n_block(q) * q->n_n_interpolate * bins->n_bin * CHANNELS * TILE;
    const int64_t cells = n_block(q) * q->n_n_interpolate * q->n_fold * bins->n_level;
    return (uint64_t)(repairs->n_row * TILE + medians + sums + cells) * sizeof(double);
}

tess_status tess_ar_local_device_group(const tess_ar_local_request *q, const tess_ar_bins *bins,
                                       const tess_ar_repairs *repairs, uint64_t weight_bytes,
                                       int64_t *group)
{
    const tess_ar_store *store = q->store;
    const uint64_t fixed = weight_bytes + (uint64_t)(repairs->n_repair * store->n_chan) * 4 +
                           (uint64_t)(store->n_epoch * (q->n_n_interpolate + 4)) * 16 + (1 << 20);
    return tess_ar_store_batch(q->store, "the local search of a tile", fixed,
                               tile_bytes(q, bins, repairs), GROUP_BYTES, group);
}

// Epochs of the bins, and those that test a fold, as the kernels want them.
static tess_status make_lists(tess_blocks *memory, const tess_ar_local_request *q,
                              const tess_ar_bins *bins, tess_ar_local_there *there)
{
    const int64_t n_epoch = q->store->n_epoch, n_test = bins->test_first[q->n_fold];
    there->host_begin =
        tess_blocks_alloc(memory, bins->n_bin + 1, sizeof *there->host_begin, "epochs of bins");
    there->host_epochs =
        tess_blocks_alloc(memory, n_epoch, sizeof *there->host_epochs, "epochs of bins");
    there->host_test =
        tess_blocks_alloc(memory, n_test, sizeof *there->host_test, "epochs of folds");
    if (!there->host_begin || !there->host_epochs || !there->host_test) {
        return TESS_E_MEMORY;
    }
    for (int64_t e = 0; e < n_epoch; e++) {
        if (bins->bin[e] >= 0) {
            there->host_begin[bins->bin[e] + 1]++;
        }
    }
    for (int64_t b = 0; b < bins->n_bin; b++) {
        there->host_begin[b + 1] += there->host_begin[b];
    }
    for (int64_t e = 0; e < n_epoch; e++) {
        if (bins->bin[e] >= 0) {
            there->host_epochs[there->host_begin[bins->bin[e]]++] = (int32_t)e;
        }
    }
    for (int64_t b = bins->n_bin; b > 0; b--) { // each moved on to the next one's begin
        there->host_begin[b] = there->host_begin[b - 1];
    }
    there->host_begin[0] = 0;
    for (int64_t i = 0; i < n_test; i++) {
        there->host_test[i] = (int32_t)bins->test[i];
    }
    return TESS_OK;
}

static void send(tess_upload *up, const tess_ar_local_request *q, const tess_ar_bins *bins,
                 const tess_ar_repairs *r, const int64_t *n_kept, tess_ar_local_there *there)
{
    const int64_t n_epoch = q->store->n_epoch, n_column = q->n_n_interpolate;
    const int64_t n_test = bins->test_first[q->n_fold];
    tess_stage_autoreject_local *a = &there->args;
    a->first = tess_upload_add(up, r->first, r->n_repair + 1, sizeof *r->first);
    a->bad = tess_upload_add(up, r->bad, r->n_row, sizeof *r->bad);
    a->repair = tess_upload_add(up, r->of_epoch, n_column * n_epoch, sizeof *r->of_epoch);
    a->bin_first = tess_upload_add(up, bins->bin_first, bins->n_level + 1, sizeof *bins->bin_first);
    a->train = tess_upload_add(up, bins->train, q->n_fold * bins->n_bin, 1);
    a->test_first = tess_upload_add(up, bins->test_first, q->n_fold + 1, sizeof *bins->test_first);
    a->n_kept = tess_upload_add(up, n_kept, n_column * q->n_fold * bins->n_level, sizeof *n_kept);
    a->bin_begin =
        tess_upload_add(up, there->host_begin, bins->n_bin + 1, sizeof *there->host_begin);
    a->bin_epochs = tess_upload_add(up, there->host_epochs, n_epoch, sizeof *there->host_epochs);
    a->test_rows = tess_upload_add(up, there->host_test, n_test, sizeof *there->host_test);
    there->epoch = tess_upload_add(up, r->epoch, r->n_repair, sizeof *r->epoch);
    a->table = tess_upload_room(up, r->n_repair * q->store->n_chan, sizeof *a->table);
}

static tess_status take_rooms(const tess_ar_local_request *q, const tess_ar_bins *bins,
                              const tess_ar_repairs *r, int64_t group, uint64_t weight_bytes,
                              tess_ar_local_there *there)
{
    const tess_device *device = q->store->device;
    const size_t item = (size_t)group * sizeof(double);
    const int64_t cells = q->n_n_interpolate * q->n_fold * bins->n_level;
    const int64_t sums = n_block(q) * q->n_n_interpolate * bins->n_bin * CHANNELS * TILE;
    TESS_TRY(tess_resident_create(device, item * (size_t)(q->n_fold * q->store->n_chan * TILE),
                                  &there->medians));
    TESS_TRY(tess_resident_create(device, item * (size_t)sums, &there->sums));
    TESS_TRY(tess_resident_create(device, item * (size_t)(n_block(q) * cells), &there->sse));
    TESS_TRY(tess_resident_create(device, item * (size_t)(r->n_row * TILE), &there->repaired));
    if (r->n_repair == 0) {
        return TESS_OK;
    }
    return tess_resident_create(device, (size_t)weight_bytes, &there->weights);
}

tess_status tess_ar_local_device_open(tess_blocks *memory, const tess_ar_local_request *q,
                                      const tess_ar_bins *bins, const tess_ar_repairs *r,
                                      const int64_t *n_kept, int64_t group, uint64_t weight_bytes,
                                      tess_ar_local_there *there)
{
    tess_upload up = {.into = &there->tables};
    TESS_TRY(make_lists(memory, q, bins, there));
    send(&up, q, bins, r, n_kept, there);
    TESS_TRY(tess_upload_begin(&up, q->store->device));
    send(&up, q, bins, r, n_kept, there);
    TESS_TRY(tess_upload_end(&up));
    TESS_TRY(take_rooms(q, bins, r, group, weight_bytes, there));
    tess_stage_autoreject_local *a = &there->args;
    a->repaired = there->repaired.data;
    a->medians = there->medians.data;
    a->bins = there->sums.data;
    a->sse = there->sse.data;
    a->n_repaired = r->n_row;
    a->most_test = bins->max_test;
    return TESS_OK;
}

void tess_ar_local_device_close(tess_ar_local_there *there)
{
    tess_resident_free(&there->tables);
    tess_resident_free(&there->weights);
    tess_resident_free(&there->repaired);
    tess_resident_free(&there->medians);
    tess_resident_free(&there->sums);
    tess_resident_free(&there->sse);
}
