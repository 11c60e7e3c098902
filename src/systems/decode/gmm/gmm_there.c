// Mixtures at every bin on a device with memory of its own.
//
// The mixtures are small and go up with every call; spikes go in parts of rows, as many as a
// quarter of what is left there holds, and their values never come down. Parts change no bit: a
// spike's values are its own, and rows add them in the order of the electrodes.
#include "base/status.h"
#include "runtime/device_memory.h"
#include "runtime/resident.h"
#include "stage/decode_likelihood.h"
#include "systems/decode/gmm/gmm.h"

#include <string.h>

// Most that the values of a part take.
static const uint64_t MOST_BYTES = UINT64_C(256) << 20;

typedef struct gmm_there {
    tess_context *ctx;
    tess_device *device;
    const tess_decode_encoding *encoding;
    const tess_de_gmm *gmm;
    tess_gmm_bins *bins;  // [n_electrode] arrays of the device
    const double *summed; // [n_bin] there
    int64_t at_once;      // spikes of a part
    tess_resident model;
    tess_resident marks;
    tess_resident values;
    tess_resident floored;
    tess_resident row_first;
    tess_resident item;
    tess_resident out;
    tess_blocks blocks;
} gmm_there;

int tess_de_gmm_is_there(tess_context *ctx, tess_device *device,
                         const tess_decode_encoding *encoding)
{
    const tess_de_gmm *gmm = encoding->model;
    for (int64_t e = 0; !device->shares_host_memory && e < gmm->n_electrode; e++) {
        tess_stage_decode_gmm args = {.n_spike = 0};
        tess_de_gmm_bins(encoding, e, &args.bins);
        if (device->backend->supports(device->handle, TESS_STAGE_DECODE_GMM, &args) != TESS_OK) {
            tess_log_write(&ctx->log, TESS_LOG_INFO, "the likelihood runs on the CPU: %s",
                           tess_last_error());
            tess_error_clear();
            return 0;
        }
    }
    return !device->shares_host_memory;
}

// Items of an array to the next place of a list, here and there; here NULL: only counted.
static const double *pack(double *here, const double *there, int64_t *at, const double *items,
                          int64_t n)
{
    if (here && n > 0) {
        memcpy(here + *at, items, (size_t)n * sizeof *here);
    }
    const double *place = there ? there + *at : NULL;
    *at += n;
    return place;
}

// All arrays one behind the other; their number.
static int64_t pack_model(const gmm_there *t, double *here, const double *there,
                          const double **summed)
{
    int64_t at = 0;
    tess_gmm_bins bins = {0};
    const double *centre = NULL;
    const double *occupancy = NULL;
    for (int64_t e = 0; e < t->gmm->n_electrode; e++) {
        tess_de_gmm_bins(t->encoding, e, &bins);
        const int64_t width = bins.n_feature + bins.n_dim;
        if (e == 0) {
            centre = pack(here, there, &at, bins.centre, bins.n_bin * bins.n_dim);
            occupancy = pack(here, there, &at, bins.log_occupancy, bins.n_bin);
        }
        bins.centre = centre;
        bins.log_occupancy = occupancy;
        bins.mean = pack(here, there, &at, bins.mean, bins.n_component * width);
        bins.factor = pack(here, there, &at, bins.factor, bins.n_component * width * width);
        bins.log_norm = pack(here, there, &at, bins.log_norm, bins.n_component);
        t->bins[e] = bins;
    }
    *summed = pack(here, there, &at, t->gmm->summed, t->encoding->info.n_interior);
    return at;
}

static void plan_parts(gmm_there *t)
{
    const uint64_t quarter = tess_device_left(t->device) / 4;
    const uint64_t room = quarter < MOST_BYTES ? quarter : MOST_BYTES;
    const uint64_t spike = (uint64_t)t->encoding->info.n_interior * sizeof(double);
    const uint64_t n = room / spike;
    t->at_once = n < 1 ? 1 : (int64_t)n;
}

static tess_status begin(tess_context *ctx, tess_device *device,
                         const tess_decode_encoding *encoding, gmm_there *t)
{
    *t = (gmm_there){.ctx = ctx, .device = device, .encoding = encoding, .gmm = encoding->model};
    tess_blocks_init(&t->blocks, &ctx->heap);
    t->bins = tess_blocks_alloc(&t->blocks, t->gmm->n_electrode, sizeof *t->bins, "mixtures");
    if (!t->bins) {
        return TESS_E_MEMORY;
    }
    const int64_t n = pack_model(t, NULL, NULL, &t->summed);
    double *here = tess_blocks_alloc(&t->blocks, n, sizeof *here, "mixtures");
    if (!here) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_resident_create(device, (size_t)n * sizeof *here, &t->model));
    pack_model(t, here, t->model.data, &t->summed);
    plan_parts(t);
    return tess_resident_put(&t->model, 0, here, (size_t)n * sizeof *here);
}

static void end(gmm_there *t)
{
    tess_resident *rooms[] = {&t->model,     &t->marks, &t->values, &t->floored,
                              &t->row_first, &t->item,  &t->out};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        tess_resident_free(rooms[i]);
    }
    tess_blocks_free(&t->blocks);
}

static tess_status room(const gmm_there *t, tess_resident *array, size_t bytes)
{
    return tess_resident_grow(t->device, bytes, array);
}

// Values of n marks of an electrode, behind `before` that are there; *used bytes of marks, too.
static tess_status start_values(gmm_there *t, int64_t electrode, const double *marks, int64_t n,
                                int64_t before, size_t *used)
{
    const int64_t n_bin = t->encoding->info.n_interior;
    const size_t bytes = (size_t)(n * t->bins[electrode].n_feature) * sizeof *marks;
    if (n == 0) {
        return TESS_OK;
    }
    if (bytes > 0) {
        TESS_TRY(tess_resident_put(&t->marks, *used, marks, bytes));
    }
    const tess_stage_decode_gmm args = {.bins = t->bins[electrode],
                                        .n_spike = n,
                                        .marks =
                                            (const double *)((const char *)t->marks.data + *used),
                                        .values = (double *)t->values.data + before * n_bin,
                                        .n_floored = (int64_t *)t->floored.data + before};
    *used += bytes;
    return tess_stage_start(t->device, TESS_STAGE_DECODE_GMM, &args, sizeof args);
}

// Room for n spikes with so many features in all.
static tess_status values_room(gmm_there *t, int64_t n, int64_t n_feature)
{
    const int64_t n_bin = t->encoding->info.n_interior;
    TESS_TRY(room(t, &t->marks, (size_t)(n_feature + 1) * sizeof(double)));
    TESS_TRY(room(t, &t->values, (size_t)(n * n_bin + 1) * sizeof(double)));
    return room(t, &t->floored, (size_t)(n + 1) * sizeof(int64_t));
}

static tess_status count(const gmm_there *t, int64_t n, tess_decode_likelihood_report *report)
{
    tess_blocks scratch;
    tess_blocks_init(&scratch, &t->ctx->heap);
    int64_t *floored = tess_blocks_alloc(&scratch, n, sizeof *floored, "counts");
    tess_status status = floored ? TESS_OK : TESS_E_MEMORY;
    if (status == TESS_OK && n > 0) {
        status = tess_resident_fetch(&t->floored, floored, (size_t)n * sizeof *floored);
    }
    if (status == TESS_OK) {
        tess_de_gmm_count(t->encoding, floored, n, report);
    }
    tess_blocks_free(&scratch);
    return status;
}

// First spike of an electrode in rows from this one on.
static int64_t spike_from(const tess_de_row_spikes *s, int64_t electrode, int64_t row)
{
    int64_t low = s->electrode_first[electrode];
    int64_t high = s->electrode_first[electrode + 1];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (s->row[middle] < row) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// Rows of a part: row_first and item as the stage of rows wants them.
typedef struct rows_part {
    int64_t row;
    int64_t end;
    int64_t n_spike;
    int64_t n_feature; // of all spikes together
    int64_t *row_first;
    int64_t *item;
} rows_part;

static void find_part(const gmm_there *t, const tess_de_row_spikes *s, const int64_t *of_row,
                      size_t out_item, rows_part *part)
{
    const uint64_t row_bytes = (uint64_t)t->encoding->info.n_interior * out_item;
    const int64_t most_rows = (int64_t)(MOST_BYTES / row_bytes) + 1;
    part->end = part->row;
    part->n_spike = 0;
    while (part->end < s->n_row &&
           (part->end == part->row || (part->n_spike + of_row[part->end] <= t->at_once &&
                                       part->end - part->row < most_rows))) {
        part->n_spike += of_row[part->end++];
    }
    part->n_feature = 0;
    for (int64_t e = 0; e < t->gmm->n_electrode; e++) {
        part->n_feature +=
            (spike_from(s, e, part->end) - spike_from(s, e, part->row)) * t->bins[e].n_feature;
    }
}

// Which values each row adds: electrode by electrode, in time order.
static void list_items(const gmm_there *t, const tess_de_row_spikes *s, const int64_t *of_row,
                       const rows_part *part)
{
    int64_t *next = part->row_first + 1;
    int64_t at = 0;
    int64_t value = 0;
    part->row_first[0] = 0;
    for (int64_t row = part->row; row < part->end; row++) {
        next[row - part->row] = at;
        at += of_row[row];
    }
    for (int64_t e = 0; e < t->gmm->n_electrode; e++) {
        const int64_t stop = spike_from(s, e, part->end);
        for (int64_t k = spike_from(s, e, part->row); k < stop; k++) {
            part->item[next[s->row[k] - part->row]++] = value++;
        }
    }
}

static tess_status part_rows(gmm_there *t, const rows_part *part, double scale, tess_array *out)
{
    const int64_t n_row = part->end - part->row;
    const int64_t n_bin = t->encoding->info.n_interior;
    const size_t first_bytes = (size_t)(n_row + 1) * sizeof *part->row_first;
    const size_t item_bytes = (size_t)part->n_spike * sizeof *part->item;
    const size_t out_bytes = (size_t)(n_row * n_bin) * (size_t)out->item_bytes;
    TESS_TRY(room(t, &t->row_first, first_bytes));
    TESS_TRY(room(t, &t->item, item_bytes + sizeof *part->item));
    const bool is_in_place = out->space == TESS_SPACE_DEVICE;
    char *to = (char *)out->data + (size_t)(part->row * n_bin) * (size_t)out->item_bytes;
    if (!is_in_place) {
        TESS_TRY(room(t, &t->out, out_bytes));
    }
    TESS_TRY(tess_resident_put(&t->row_first, 0, part->row_first, first_bytes));
    if (item_bytes > 0) {
        TESS_TRY(tess_resident_put(&t->item, 0, part->item, item_bytes));
    }
    const tess_stage_decode_rows args = {.n_row = n_row,
                                         .n_bin = n_bin,
                                         .intensity = t->summed,
                                         .row_first = t->row_first.data,
                                         .item = t->item.data,
                                         .values = t->values.data,
                                         .out = is_in_place ? (void *)to : t->out.data,
                                         .scale = scale,
                                         .value_dtype = TESS_F64,
                                         .out_dtype = (int32_t)out->dtype};
    TESS_TRY(tess_stage_start(t->device, TESS_STAGE_DECODE_ROWS, &args, sizeof args));
    return is_in_place ? tess_stage_finish(t->device) : tess_resident_fetch(&t->out, to, out_bytes);
}

static tess_status all_parts(gmm_there *t, const tess_de_row_spikes *s, double scale,
                             tess_array *out, tess_decode_likelihood_report *report)
{
    int64_t *of_row = tess_blocks_alloc(&t->blocks, s->n_row, sizeof *of_row, "spikes of rows");
    rows_part part = {0};
    part.row_first =
        tess_blocks_alloc(&t->blocks, s->n_row + 1, sizeof *part.row_first, "spikes of rows");
    part.item = tess_blocks_alloc(&t->blocks, s->n_total, sizeof *part.item, "spikes of rows");
    if (!of_row || !part.row_first || !part.item) {
        return TESS_E_MEMORY;
    }
    for (int64_t k = 0; k < s->n_total; k++) {
        of_row[s->row[k]]++;
    }
    for (part.row = 0; part.row < s->n_row; part.row = part.end) {
        int64_t before = 0;
        size_t used = 0;
        TESS_TRY(tess_context_check_cancel(t->ctx));
        find_part(t, s, of_row, (size_t)out->item_bytes, &part);
        TESS_TRY(values_room(t, part.n_spike, part.n_feature));
        for (int64_t e = 0; e < t->gmm->n_electrode; e++) {
            const int64_t first = spike_from(s, e, part.row);
            const int64_t n = spike_from(s, e, part.end) - first;
            const int64_t skip = (first - s->electrode_first[e]) * t->bins[e].n_feature;
            TESS_TRY(start_values(t, e, n > 0 ? s->marks[e] + skip : NULL, n, before, &used));
            before += n;
        }
        list_items(t, s, of_row, &part);
        TESS_TRY(part_rows(t, &part, scale, out));
        TESS_TRY(count(t, part.n_spike, report));
    }
    return TESS_OK;
}

tess_status tess_de_gmm_rows_there(tess_context *ctx, tess_device *device,
                                   const tess_decode_encoding *encoding,
                                   const tess_de_row_spikes *spikes, double scale, tess_array *out,
                                   tess_decode_likelihood_report *report)
{
    gmm_there t;
    tess_status status = begin(ctx, device, encoding, &t);
    if (status == TESS_OK) {
        status = all_parts(&t, spikes, scale, out, report);
    }
    end(&t);
    return status;
}

static tess_status joint_parts(gmm_there *t, int64_t electrode, const double *marks, int64_t n,
                               tess_array *out, tess_decode_likelihood_report *report)
{
    const int64_t n_bin = t->encoding->info.n_interior;
    const int64_t d = t->bins[electrode].n_feature;
    const int64_t most = n < t->at_once ? n : t->at_once;
    double *values = tess_blocks_alloc(&t->blocks, most * n_bin, sizeof *values, "values");
    if (!values) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(values_room(t, most, most * d));
    for (int64_t first = 0; first < n; first += most) {
        const int64_t count_now = n - first < most ? n - first : most;
        const int64_t n_item = count_now * n_bin;
        size_t used = 0;
        TESS_TRY(start_values(t, electrode, marks + first * d, count_now, 0, &used));
        TESS_TRY(tess_resident_fetch(&t->values, values, (size_t)n_item * sizeof *values));
        for (int64_t i = 0; i < n_item; i++) {
            if (out->dtype == TESS_F64) {
                ((double *)out->data)[first * n_bin + i] = values[i];
            } else {
                ((float *)out->data)[first * n_bin + i] = (float)values[i];
            }
        }
        TESS_TRY(count(t, count_now, report));
    }
    return TESS_OK;
}

tess_status tess_de_gmm_joint_there(tess_context *ctx, tess_device *device,
                                    const tess_decode_encoding *encoding, int64_t electrode,
                                    const double *marks, int64_t n, tess_array *out,
                                    tess_decode_likelihood_report *report)
{
    gmm_there t;
    tess_status status = begin(ctx, device, encoding, &t);
    if (status == TESS_OK) {
        status = joint_parts(&t, electrode, marks, n, out, report);
    }
    end(&t);
    return status;
}
