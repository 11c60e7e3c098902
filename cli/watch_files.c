// The names of a watched folder: found by name and by content, and queued by time.

#include "watch.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 20 };

typedef struct name_block {
    struct name_block *next;
    char chars[];
} name_block;

// FNV-1a, then mixed: tables use the low bits.
static uint64_t hash_bytes(const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ at[i]) * 0x100000001b3u;
    }
    return hash ^ (hash >> 29);
}

static uint64_t hash_name(const char *name)
{
    return hash_bytes(name, strlen(name));
}

static uint64_t hash_content(const watch_identity *seen)
{
    const int64_t parts[3] = {(int64_t)seen->inode, seen->size, seen->mtime_ns};
    return hash_bytes(parts, sizeof parts);
}

static void put(watch_index *index, uint64_t hash, uint32_t number)
{
    size_t at = hash & (index->n_slot - 1);

    while (index->slots[at]) {
        at = (at + 1) & (index->n_slot - 1);
    }
    index->slots[at] = number + 1;
    index->n_used++;
}

// Room for one more, with hashes made anew.
static int grow(watch_index *index, const watch_files *list, int is_of_names)
{
    if (2 * (index->n_used + 1) <= index->n_slot) {
        return 1;
    }
    watch_index grown = {.n_slot = index->n_slot ? 2 * index->n_slot : 1024};
    grown.slots = calloc(grown.n_slot, sizeof *grown.slots);
    if (!grown.slots) {
        return 0;
    }
    for (size_t i = 0; i < index->n_slot; i++) {
        const watch_file *file = index->slots[i] ? &list->files[index->slots[i] - 1] : NULL;
        if (file && (is_of_names || file->is_done)) {
            put(&grown, is_of_names ? hash_name(file->name) : hash_content(&file->seen),
                index->slots[i] - 1);
        }
    }
    free(index->slots);
    *index = grown;
    return 1;
}

int64_t watch_files_find(const watch_files *list, const char *name)
{
    const watch_index *index = &list->names;
    size_t at = index->n_slot ? hash_name(name) & (index->n_slot - 1) : 0;

    while (index->n_slot && index->slots[at]) {
        if (strcmp(list->files[index->slots[at] - 1].name, name) == 0) {
            return (int64_t)index->slots[at] - 1;
        }
        at = (at + 1) & (index->n_slot - 1);
    }
    return WATCH_NONE;
}

// The name with the list's life; NULL: no memory.
static const char *keep_name(watch_files *list, const char *name)
{
    const size_t bytes = strlen(name) + 1;

    if (bytes > list->left) {
        name_block *block = malloc(sizeof *block + BLOCK);
        if (!block || bytes > BLOCK) {
            free(block);
            return NULL;
        }
        block->next = list->blocks;
        list->blocks = block;
        list->block = block->chars;
        list->left = BLOCK;
    }
    char *kept = memcpy(list->block, name, bytes);
    list->block += bytes;
    list->left -= bytes;
    return kept;
}

int64_t watch_files_add(watch_files *list, const char *name)
{
    if (list->n == list->capacity) {
        const int64_t capacity = list->capacity ? list->capacity + list->capacity / 2 : 256;
        watch_file *grown = realloc(list->files, (size_t)capacity * sizeof *grown);
        if (!grown || capacity > UINT32_MAX - 1) {
            list->files = grown ? grown : list->files;
            return WATCH_NONE;
        }
        list->files = grown;
        list->capacity = capacity;
    }
    const char *kept = grow(&list->names, list, 1) ? keep_name(list, name) : NULL;
    if (!kept) {
        return WATCH_NONE;
    }
    list->files[list->n] = (watch_file){.name = kept, .seen = {.size = -1}};
    put(&list->names, hash_name(kept), (uint32_t)list->n);
    return list->n++;
}

static int is_equal(const watch_identity *a, const watch_identity *b)
{
    return a->inode == b->inode && a->size == b->size && a->mtime_ns == b->mtime_ns;
}

int64_t watch_files_same(const watch_files *list, int64_t file)
{
    const watch_index *index = &list->contents;
    const watch_identity *seen = &list->files[file].seen;
    size_t at = index->n_slot ? hash_content(seen) & (index->n_slot - 1) : 0;

    while (index->n_slot && index->slots[at]) {
        const int64_t other = (int64_t)index->slots[at] - 1;
        const watch_file *found = &list->files[other];
        if (other != file && found->is_done && !found->is_failed && is_equal(&found->seen, seen)) {
            return other;
        }
        at = (at + 1) & (index->n_slot - 1);
    }
    return WATCH_NONE;
}

int watch_files_done(watch_files *list, int64_t file)
{
    if (!grow(&list->contents, list, 0)) {
        return 0;
    }
    list->files[file].is_done = 1;
    put(&list->contents, hash_content(&list->files[file].seen), (uint32_t)file);
    return 1;
}

void watch_files_close(watch_files *list)
{
    for (name_block *block = list->blocks; block;) {
        name_block *next = block->next;
        free(block);
        block = next;
    }
    free(list->files);
    free(list->names.slots);
    free(list->contents.slots);
    memset(list, 0, sizeof *list);
}

int watch_queue_push(watch_queue *queue, double key, int64_t file)
{
    if (queue->n == queue->capacity) {
        const int64_t capacity = queue->capacity ? queue->capacity + queue->capacity / 2 : 256;
        struct watch_queued *grown = realloc(queue->items, (size_t)capacity * sizeof *grown);
        if (!grown) {
            return 0;
        }
        queue->items = grown;
        queue->capacity = capacity;
    }
    int64_t at = queue->n++;
    while (at > 0 && queue->items[(at - 1) / 2].key > key) {
        queue->items[at] = queue->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    queue->items[at] = (struct watch_queued){key, file};
    return 1;
}

int64_t watch_queue_pop(watch_queue *queue, double *key)
{
    struct watch_queued *items = queue->items;
    const int64_t file = items[0].file;
    *key = items[0].key;
    const struct watch_queued last = items[--queue->n];
    int64_t at = 0;

    for (int64_t child = 1; child < queue->n; child = 2 * at + 1) {
        child += child + 1 < queue->n && items[child + 1].key < items[child].key;
        if (items[child].key >= last.key) {
            break;
        }
        items[at] = items[child];
        at = child;
    }
    items[at] = last;
    return file;
}
