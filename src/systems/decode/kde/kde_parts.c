#include "systems/decode/kde/kde_parts.h"

#include "base/status.h"
#include "runtime/device_memory.h"

// On a device that has tens of thousands of threads: more spikes at a time would not be faster.
static const uint64_t MOST_DEVICE_BYTES = UINT64_C(4) << 30;

// Spikes, rows and the stage's scratch each get such a part of what is left: other models of the
// context want room, too.
enum { SHARE = 8, SHRINK = 4 };

int64_t tess_de_kde_value_bytes(const kde_model *kde)
{
    return kde->stage.is_exact ? (int64_t)sizeof(double) : (int64_t)sizeof(float);
}

static int64_t bytes_of_spike(const kde_model *kde, bool is_there)
{
    const int64_t values = kde->stage.n_bin * tess_de_kde_value_bytes(kde);
    return is_there ? values + (kde->stage.max_feature + 1) * (int64_t)sizeof(double) : values;
}

int64_t tess_de_kde_spikes_at_once(const kde_model *kde, bool is_there, int64_t room_bytes)
{
    const int64_t n = room_bytes / (bytes_of_spike(kde, is_there) + 1);
    return n > 1 ? n : 1;
}

int64_t tess_de_kde_spike_from(const tess_de_row_spikes *s, int64_t electrode, int64_t row)
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

static int64_t spikes_between(const kde_parts *p, int64_t row, int64_t end_row)
{
    int64_t n = 0;
    for (int64_t e = 0; e < p->kde->stage.n_electrode; e++) {
        n += tess_de_kde_spike_from(p->spikes, e, end_row) -
             tess_de_kde_spike_from(p->spikes, e, row);
    }
    return n;
}

// Rows whose results fit the room, where they are not written in place.
static int64_t rows_at_once(const kde_parts *p)
{
    const int64_t n_row = p->spikes->n_row;
    if (!p->is_there) {
        return n_row;
    }
    const int64_t row = p->kde->stage.n_bin * p->out_item_bytes + (int64_t)sizeof(int64_t);
    const int64_t n = p->room_bytes / (row + 1);
    return n < 1 ? 1 : n < n_row ? n : n_row;
}

int64_t tess_de_kde_part_end(const kde_parts *p, int64_t row)
{
    const int64_t at_once = tess_de_kde_spikes_at_once(p->kde, p->is_there, p->room_bytes);
    const int64_t most = row + rows_at_once(p);
    int64_t low = row + 1;
    int64_t high = most < p->spikes->n_row ? most : p->spikes->n_row;
    while (low < high) {
        const int64_t middle = high - (high - low) / 2;
        if (spikes_between(p, row, middle) <= at_once) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

// A limit of 0 would be none.
size_t tess_de_kde_scratch_limit(const kde_parts *p)
{
    return p->room_bytes > 0 ? (size_t)p->room_bytes : 1;
}

// What the stage asks for, of spikes from row to end.
static size_t scratch_of(const kde_parts *p, tess_device *device, tess_kde_range *ranges,
                         int64_t row, int64_t end)
{
    for (int64_t e = 0; e < p->kde->stage.n_electrode; e++) {
        ranges[e] = (tess_kde_range){.electrode = e,
                                     .n_spike = tess_de_kde_spike_from(p->spikes, e, end) -
                                                tess_de_kde_spike_from(p->spikes, e, row)};
    }
    const tess_stage_decode_kde args = {.model = &p->kde->stage,
                                        .ranges = ranges,
                                        .n_range = p->kde->stage.n_electrode,
                                        .scratch_limit = tess_de_kde_scratch_limit(p)};
    return device->backend->scratch_bytes(device->handle, TESS_STAGE_DECODE_KDE, &args);
}

static void measure(kde_parts *p, tess_device *device, tess_kde_range *ranges)
{
    p->n_spike = 0;
    p->n_row = 0;
    p->scratch_bytes = 0;
    for (int64_t row = 0; row < p->spikes->n_row;) {
        const int64_t end = tess_de_kde_part_end(p, row);
        const int64_t n = spikes_between(p, row, end);
        p->n_spike = n > p->n_spike ? n : p->n_spike;
        p->n_row = end - row > p->n_row ? end - row : p->n_row;
        if (p->is_there) {
            const size_t scratch = scratch_of(p, device, ranges, row, end);
            p->scratch_bytes = scratch > p->scratch_bytes ? scratch : p->scratch_bytes;
        }
        row = end;
    }
}

typedef struct room_need {
    tess_resident *room;
    size_t bytes;
} room_need;

enum { N_NEED = 7 };

static void list_needs(const kde_parts *p, kde_there *there, room_need needs[N_NEED])
{
    const tess_kde_model *m = &p->kde->stage;
    const room_need all[N_NEED] = {
        {&there->counts, sizeof(tess_kde_counts)},
        {&there->values, (size_t)(p->n_spike * m->n_bin * tess_de_kde_value_bytes(p->kde))},
        {&there->marks, (size_t)(p->n_spike * m->max_feature) * sizeof(double)},
        {&there->item, (size_t)p->n_spike * sizeof(int64_t)},
        {&there->row_first, (size_t)(p->n_row + 1) * sizeof(int64_t)},
        {&there->out, (size_t)(p->n_row * m->n_bin * p->out_item_bytes)},
        {&there->scratch, p->scratch_bytes},
    };
    for (int k = 0; k < N_NEED; k++) {
        needs[k] = all[k];
    }
}

// Whether the rooms, of which larger ones stay, do not go beyond left.
static bool fits(const room_need needs[N_NEED], uint64_t left, uint64_t *least)
{
    uint64_t more = 0;
    *least = 0;
    for (int k = 0; k < N_NEED; k++) {
        *least += needs[k].bytes;
        if (needs[k].bytes > needs[k].room->bytes) {
            more += needs[k].bytes;
            left += needs[k].room->bytes; // given back before
        }
    }
    return more <= left;
}

static tess_status take_rooms(kde_there *there, const room_need needs[N_NEED])
{
    for (int k = 0; k < N_NEED; k++) {
        TESS_TRY(tess_de_kde_room(there, needs[k].room, needs[k].bytes));
    }
    return TESS_OK;
}

// Rooms of an earlier call are used again.
static int64_t largest_share(const kde_there *there, const room_need needs[N_NEED])
{
    uint64_t left = tess_device_left(there->device);
    for (int k = 0; k < N_NEED; k++) {
        left += needs[k].room->bytes;
    }
    return (int64_t)(left / SHARE < MOST_DEVICE_BYTES ? left / SHARE : MOST_DEVICE_BYTES);
}

tess_status tess_de_kde_parts_plan(kde_parts *p, kde_there *there, tess_kde_range *ranges)
{
    tess_device *device = there->device;
    if (!p->is_there) {
        p->room_bytes = TESS_DE_KDE_HOST_BYTES;
        measure(p, device, ranges);
        TESS_TRY(tess_de_kde_room(there, &there->counts, sizeof(tess_kde_counts)));
        return tess_de_kde_room(
            there, &there->values,
            (size_t)(p->n_spike * p->kde->stage.n_bin * tess_de_kde_value_bytes(p->kde)));
    }
    room_need needs[N_NEED];
    uint64_t least = 0;
    list_needs(p, there, needs);
    p->room_bytes = largest_share(there, needs);
    for (;;) {
        measure(p, device, ranges);
        list_needs(p, there, needs);
        if (fits(needs, tess_device_left(device), &least)) {
            return take_rooms(there, needs);
        }
        tess_de_kde_rooms_free(there);
        if (least <= tess_device_left(device)) {
            return take_rooms(there, needs);
        }
        if (p->room_bytes == 0) {
            return tess_device_too_small(device, "needs", least);
        }
        p->room_bytes /= SHRINK;
    }
}

tess_status tess_de_kde_parts_refuse(kde_parts *p, tess_device *device, tess_kde_range *ranges)
{
    kde_there none = {.device = device};
    room_need needs[N_NEED];
    uint64_t least = 0;
    p->room_bytes = 0;
    measure(p, device, ranges);
    list_needs(p, &none, needs);
    (void)fits(needs, 0, &least);
    return tess_device_too_small(device, "needs", least + atomic_load(&p->kde->there_bytes));
}
