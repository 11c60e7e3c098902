#include "systems/autoreject/files/annotations.h"

#include "base/status.h"
#include "systems/autoreject/text/text_input.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static tess_status grow(tess_ar_annotation_list *list)
{
    tess_heap *heap = &list->epochs->ctx->heap;
    const int64_t capacity = list->capacity > 0 ? 2 * list->capacity : 64;
    tess_ar_annotation *items =
        tess_heap_alloc(heap, (size_t)capacity * sizeof *items, TESS_TAG_IO, "annotations");
    if (!items) {
        return TESS_E_MEMORY;
    }
    if (list->n > 0) {
        memcpy(items, list->items, (size_t)list->n * sizeof *items);
    }
    tess_heap_free(heap, list->items, (size_t)list->capacity * sizeof *items, TESS_TAG_IO);
    list->items = items;
    list->capacity = capacity;
    return TESS_OK;
}

tess_status tess_ar_annotations_add(tess_ar_annotation_list *list, double onset_s,
                                    double duration_s, const char *text, size_t text_bytes)
{
    if (list->n == list->capacity) {
        TESS_TRY(grow(list));
    }
    char *copy = tess_ar_epochs_alloc(list->epochs, 2 * text_bytes + 1);
    if (!copy) {
        return TESS_E_MEMORY;
    }
    tess_ar_utf8(text, text_bytes, copy);
    list->items[list->n++] = (tess_ar_annotation){onset_s, duration_s, copy};
    return TESS_OK;
}

double tess_ar_whole_microseconds(double seconds)
{
    return rint(seconds * 1e6) / 1e6;
}

// By onset, of one onset by duration, as MNE has them.
static bool is_in_order(const tess_ar_annotation *a, const tess_ar_annotation *b)
{
    return a->onset_s < b->onset_s || (a->onset_s == b->onset_s && a->duration_s <= b->duration_s);
}

// Texts lie in the order they were added in neither address nor time, so that equals are kept in
// order by a merge sort.
static void sort_by_onset(tess_ar_annotation *items, tess_ar_annotation *spare, int64_t n)
{
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t begin = 0; begin < n; begin += 2 * width) {
            const int64_t middle = begin + width < n ? begin + width : n;
            const int64_t end = middle + width < n ? middle + width : n;
            int64_t a = begin;
            int64_t b = middle;
            for (int64_t i = begin; i < end; i++) {
                const bool from_a = a < middle && (b >= end || is_in_order(&items[a], &items[b]));
                spare[i] = from_a ? items[a++] : items[b++];
            }
        }
        memcpy(items, spare, (size_t)n * sizeof *items);
    }
}

tess_status tess_ar_annotations_finish(tess_ar_annotation_list *list,
                                       tess_ar_continuous *continuous)
{
    continuous->annotations = NULL;
    continuous->n_annotation = list->n;
    if (list->n == 0) {
        return TESS_OK;
    }
    const size_t bytes = (size_t)list->n * sizeof *list->items;
    tess_ar_annotation *items = tess_ar_epochs_alloc(list->epochs, bytes);
    if (!items) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < list->n; i++) {
        list->items[i].onset_s = tess_ar_whole_microseconds(list->items[i].onset_s);
    }
    sort_by_onset(list->items, items, list->n);
    memcpy(items, list->items, bytes);
    for (int64_t i = 0; i < list->n; i++) {
        items[i].onset_s += continuous->first_s;
    }
    continuous->annotations = items;
    return TESS_OK;
}

// Sooner or later than the first sample, in microseconds.
static double since_first_us(const tess_ar_continuous *c, double onset_s)
{
    return c->has_date ? rint(onset_s * 1e6) - rint(c->first_s * 1e6)
                       : rint((onset_s - c->first_s) * 1e6);
}

// False where none of it lies in the recording.
static bool cut_off(const tess_ar_continuous *c, tess_ar_annotation *a)
{
    const double end_s = (double)(c->n_sample - 1) / c->sampling_hz + 1 / c->sampling_hz;
    const double end_us = rint(end_s * 1e6);
    double from_us = since_first_us(c, a->onset_s);
    double to_us = from_us + rint(a->duration_s * 1e6);
    if (from_us > end_us || to_us < 0) {
        return false;
    }
    if (from_us < 0 || to_us > end_us) {
        if (from_us < 0) {
            a->onset_s = c->has_date ? tess_ar_whole_microseconds(c->first_s) : c->first_s;
            from_us = 0;
        }
        to_us = to_us < end_us ? to_us : end_us;
        a->duration_s = (to_us - from_us) / 1e6;
    }
    return true;
}

tess_status tess_ar_annotations_within(tess_autoreject_epochs *epochs,
                                       tess_ar_continuous *continuous)
{
    if (continuous->n_annotation == 0) {
        return TESS_OK;
    }
    tess_ar_annotation *items =
        tess_ar_epochs_items(epochs, continuous->n_annotation, sizeof *items);
    if (!items) {
        return TESS_E_MEMORY;
    }
    int64_t n = 0;
    for (int64_t i = 0; i < continuous->n_annotation; i++) {
        items[n] = continuous->annotations[i];
        n += cut_off(continuous, &items[n]);
    }
    continuous->n_outside = continuous->n_annotation - n;
    continuous->annotations = items;
    continuous->n_annotation = n;
    return TESS_OK;
}

void tess_ar_annotations_destroy(tess_ar_annotation_list *list)
{
    if (list->items) {
        tess_heap_free(&list->epochs->ctx->heap, list->items,
                       (size_t)list->capacity * sizeof *list->items, TESS_TAG_IO);
    }
    *list = (tess_ar_annotation_list){0};
}
