// Room of a worker that grows with the events it meets.
#include "backend/cpu/decode/events.h"

void *tess_cpu_events_grow(events_room *room, events_buffer *buffer, size_t bytes)
{
    if (bytes <= buffer->bytes) {
        return buffer->items;
    }
    tess_heap *heap = &room->device->ctx->heap;
    if (buffer->items) {
        tess_heap_free(heap, buffer->items, buffer->bytes, TESS_TAG_SCRATCH);
    }
    buffer->items = tess_heap_alloc(heap, bytes, TESS_TAG_SCRATCH, "lines through an event");
    buffer->bytes = buffer->items ? bytes : 0;
    return buffer->items;
}
