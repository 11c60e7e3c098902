// The table of a montage.
#include "base/status.h"
#include "systems/autoreject/montage/montage.h"

#include <stdlib.h>
#include <string.h>

tess_status tess_ar_montage_add(tess_ar_montage *m, const char *name, const double position[3])
{
    tess_heap *heap = &m->ctx->heap;
    if (m->n == m->capacity) {
        const int64_t capacity = m->capacity > 0 ? 2 * m->capacity : 128;
        tess_ar_place *places =
            tess_heap_alloc(heap, (size_t)capacity * sizeof *places, TESS_TAG_IO, "positions");
        if (!places) {
            return TESS_E_MEMORY;
        }
        if (m->n > 0) {
            memcpy(places, m->places, (size_t)m->n * sizeof *places);
        }
        tess_heap_free(heap, m->places, (size_t)m->capacity * sizeof *places, TESS_TAG_IO);
        m->places = places;
        m->capacity = capacity;
    }
    tess_ar_place *place = &m->places[m->n];
    *place = (tess_ar_place){.name = name, .order = m->n++};
    memcpy(place->position, position, sizeof place->position);
    tess_ar_name_key(name, place->key);
    return TESS_OK;
}

void tess_ar_montage_close(tess_ar_montage *m)
{
    if (m->places) {
        tess_heap_free(&m->ctx->heap, m->places, (size_t)m->capacity * sizeof *m->places,
                       TESS_TAG_IO);
    }
    tess_ar_text_close(&m->text);
    *m = (tess_ar_montage){0};
}

static int by_key(const void *a, const void *b)
{
    const tess_ar_place *x = a;
    const tess_ar_place *y = b;
    const int order = strcmp(x->key, y->key);
    return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

const tess_ar_place *tess_ar_montage_find(tess_ar_montage *m, const char *key)
{
    if (!m->is_sorted) {
        qsort(m->places, (size_t)m->n, sizeof *m->places, by_key);
        m->is_sorted = true;
    }
    int64_t low = 0;
    int64_t high = m->n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const bool is_before = strcmp(m->places[middle].key, key) < 0;
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    return low < m->n && strcmp(m->places[low].key, key) == 0 ? &m->places[low] : NULL;
}
