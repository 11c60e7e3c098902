#include "systems/autoreject/store/sent.h"

#include "base/file.h"
#include "runtime/device_memory.h"
#include "runtime/stage.h"

#include <string.h>

static const uint64_t PIECE_BYTES = 8 << 20; // of a pinned buffer

static tess_status fill(const tess_ar_sent_source *from, uint64_t offset, size_t bytes, void *to)
{
    if (from->memory) {
        memcpy(to, from->memory + offset, bytes);
        return TESS_OK;
    }
    const tess_status status = tess_file_read_at(from->fd, from->path, to, bytes, offset);
    if (status == TESS_E_TRUNCATED) { // nobody but us should write there
        TESS_FAIL(TESS_E_IO, "%s: was cut while it was in use; run again", from->path);
    }
    return status;
}

static tess_status send_pieces(void *arg)
{
    tess_ar_lane *lane = arg;
    tess_ar_sent *sent = lane->sent;
    const tess_ar_sent_source *from = &sent->source;
    tess_ar_sent_room *room = &sent->rooms[sent->filled];
    const uint64_t begin = (uint64_t)room->first * from->tile_bytes;
    const uint64_t all = (uint64_t)room->n * from->tile_bytes;
    tess_resident there = room->there;
    there.device = &lane->device;
    for (uint64_t at = (uint64_t)lane->number * PIECE_BYTES; at < all;
         at += (uint64_t)sent->n_lane * PIECE_BYTES) {
        const size_t bytes = (size_t)(all - at < PIECE_BYTES ? all - at : PIECE_BYTES);
        TESS_TRY(tess_stage_finish(&lane->device)); // the buffer is free
        TESS_TRY(fill(from, begin + at, bytes, lane->pinned));
        TESS_TRY(tess_resident_put(&there, (size_t)at, lane->pinned, bytes));
    }
    return tess_stage_finish(&lane->device);
}

static tess_status open_lanes(tess_ar_sent *sent, const tess_device *device)
{
    for (int64_t i = 0; i < TESS_AR_LANES; i++) {
        tess_ar_lane *lane = &sent->lanes[i];
        *lane = (tess_ar_lane){.sent = sent, .number = i, .device = *device};
        sent->n_lane = i + 1;
        TESS_TRY(device->backend->queue_create(device->handle, &lane->device.queue));
        lane->has_queue = true;
        TESS_TRY(tess_device_alloc(device, TESS_SPACE_PINNED, PIECE_BYTES, &lane->pinned));
    }
    return TESS_OK;
}

// Lanes start to fill a room.
static void send(tess_ar_sent *sent, int32_t room, int64_t first, int64_t n)
{
    sent->filled = room;
    sent->rooms[room].first = first;
    sent->rooms[room].n = n;
    for (int64_t i = 0; i < sent->n_lane; i++) {
        tess_errand_start(&sent->lanes[i].errand, send_pieces, &sent->lanes[i]);
    }
}

static tess_status wait(tess_ar_sent *sent)
{
    tess_status status = TESS_OK;
    for (int64_t i = 0; i < sent->n_lane; i++) {
        if (status != TESS_OK) {
            tess_errand_drop(&sent->lanes[i].errand);
        } else {
            status = tess_errand_wait(&sent->lanes[i].errand);
        }
    }
    return status;
}

static tess_status take_room(tess_ar_sent_room *room, const tess_device *device, size_t bytes)
{
    if (room->there.bytes >= bytes) {
        return TESS_OK;
    }
    tess_resident_free(&room->there);
    room->n = 0;
    return tess_resident_create(device, bytes, &room->there);
}

static bool holds(const tess_ar_sent_room *room, int64_t first, int64_t n)
{
    return room->n == n && room->first == first;
}

// What follows, or the beginning for who went over all of them more than once. Without room for it
// the next call waits for its own.
static tess_status send_ahead(tess_ar_sent *sent, const tess_device *device, int64_t first,
                              int64_t n)
{
    const int64_t n_tile = sent->source.n_tile;
    const int64_t next = first + n < n_tile ? first + n : 0;
    const int64_t n_next = n_tile - next < sent->most ? n_tile - next : sent->most;
    const size_t bytes = (size_t)((uint64_t)sent->most * sent->source.tile_bytes);
    tess_ar_sent_room *other = &sent->rooms[1 - sent->now];
    sent->n_turn += first == 0;
    if ((next == 0 && sent->n_turn < 2) || holds(&sent->rooms[sent->now], next, n_next) ||
        holds(other, next, n_next) ||
        (other->there.bytes < bytes && tess_device_left(device) < bytes)) {
        return TESS_OK;
    }
    TESS_TRY(take_room(other, device, bytes));
    send(sent, 1 - sent->now, next, n_next);
    return TESS_OK;
}

tess_status tess_ar_sent_tiles(tess_ar_sent *sent, const tess_device *device,
                               const tess_ar_sent_source *source, int64_t first, int64_t n,
                               double **tiles)
{
    sent->source = *source;
    sent->most = n > sent->most ? n : sent->most;
    if (sent->n_lane == 0) {
        TESS_TRY(open_lanes(sent, device));
    }
    TESS_TRY(wait(sent));
    if (holds(&sent->rooms[1 - sent->now], first, n)) {
        sent->now = 1 - sent->now;
    }
    tess_ar_sent_room *room = &sent->rooms[sent->now];
    if (!holds(room, first, n)) {
        TESS_TRY(take_room(room, device, (size_t)((uint64_t)n * source->tile_bytes)));
        send(sent, sent->now, first, n);
        TESS_TRY(wait(sent));
    }
    *tiles = room->there.data;
    return send_ahead(sent, device, first, n);
}

void tess_ar_sent_close(tess_ar_sent *sent)
{
    for (int64_t i = 0; i < sent->n_lane; i++) {
        tess_ar_lane *lane = &sent->lanes[i];
        tess_device *device = &lane->device;
        tess_errand_drop(&lane->errand);
        if (lane->has_queue) {
            (void)!tess_stage_finish(device); // a failure was reported by who came first
        }
        if (lane->pinned) {
            tess_device_free(device, TESS_SPACE_PINNED, lane->pinned, PIECE_BYTES);
        }
        if (lane->has_queue) {
            device->backend->queue_destroy(device->queue);
        }
    }
    tess_resident_free(&sent->rooms[0].there);
    tess_resident_free(&sent->rooms[1].there);
    *sent = (tess_ar_sent){0};
}
