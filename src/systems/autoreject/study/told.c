// What opening the recordings told: a line that several told alike is said once.
#include "base/status.h"
#include "systems/autoreject/study/study.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct told_line {
    const char *text;
    size_t length;
    int64_t number; // in the order they were told
    int64_t item;
    int64_t n_item; // that told it
} told_line;

static int by_text(const void *a, const void *b)
{
    const told_line *x = a;
    const told_line *y = b;
    const size_t n = x->length < y->length ? x->length : y->length;
    const int order = memcmp(x->text, y->text, n);
    if (order != 0 || x->length != y->length) {
        return order != 0 ? order : x->length < y->length ? -1 : 1;
    }
    return (x->number > y->number) - (x->number < y->number);
}

static int by_number(const void *a, const void *b)
{
    const told_line *x = a;
    const told_line *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

// Into lines, NULL: only counts them.
static int64_t split(const tess_autoreject_study *s, told_line *lines)
{
    int64_t n = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const char *at = s->items[i].told ? s->items[i].told : "";
        while (*at) {
            const size_t length = strcspn(at, "\n");
            if (lines) {
                lines[n] = (told_line){at, length, n, i, 1};
            }
            n++;
            at += length + (at[length] == '\n');
        }
    }
    return n;
}

// Leaves the first of equal lines, in the order they were told.
static int64_t join(told_line *lines, int64_t n)
{
    int64_t n_left = 0;
    qsort(lines, (size_t)n, sizeof *lines, by_text);
    for (int64_t i = 0; i < n; i++) {
        told_line *last = n_left > 0 ? &lines[n_left - 1] : NULL;
        if (last && last->length == lines[i].length &&
            memcmp(last->text, lines[i].text, last->length) == 0) {
            last->n_item++;
        } else {
            lines[n_left++] = lines[i];
        }
    }
    qsort(lines, (size_t)n_left, sizeof *lines, by_number);
    return n_left;
}

tess_status tess_ar_study_note_told(tess_autoreject_study *s)
{
    const int64_t n_all = split(s, NULL);
    if (n_all == 0) {
        return TESS_OK;
    }
    tess_blocks memory;
    tess_blocks_init(&memory, &s->ctx->heap);
    told_line *lines = tess_blocks_alloc(&memory, n_all, sizeof *lines, "notes");
    if (lines) {
        split(s, lines);
    }
    const int64_t n = lines ? join(lines, n_all) : 0;
    for (int64_t i = 0; i < n; i++) {
        const told_line *line = &lines[i];
        const char *name = s->items[line->item].info->name;
        if (line->n_item > 1) {
            tess_ar_study_note(s, "%s and %" PRId64 " other%s: %.*s", name, line->n_item - 1,
                               line->n_item > 2 ? "s" : "", (int)line->length, line->text);
        } else {
            tess_ar_study_note(s, "%s: %.*s", name, (int)line->length, line->text);
        }
    }
    tess_blocks_free(&memory);
    return lines ? TESS_OK : TESS_E_MEMORY;
}
