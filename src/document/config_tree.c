#include "document/config_tree.h"

#include "base/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { BLOCK_BYTES = 16384, NODE_ALIGN = 16 };

typedef struct tess_tree_block {
    struct tess_tree_block *next;
    size_t block_bytes;
    size_t used;
    _Alignas(NODE_ALIGN) char data[];
} tess_tree_block;

void tess_tree_init(tess_tree *tree, tess_heap *heap, const char *path)
{
    const size_t length = strlen(path);
    *tree = (tess_tree){.heap = heap, .path = path};
    tree->is_json = length >= 5 && strcasecmp(path + length - 5, ".json") == 0;
}

void tess_tree_release(tess_tree *tree)
{
    while (tree->blocks != NULL) {
        tess_tree_block *block = tree->blocks;
        tree->blocks = block->next;
        tess_heap_free(tree->heap, block, block->block_bytes, TESS_TAG_IO);
    }
    tree->root = NULL;
}

void *tess_tree_take(tess_tree *tree, size_t bytes)
{
    const size_t needed = (bytes + NODE_ALIGN - 1) / NODE_ALIGN * NODE_ALIGN;
    tess_tree_block *block = tree->blocks;
    if (block == NULL || block->block_bytes - sizeof *block - block->used < needed) {
        const size_t room = needed > BLOCK_BYTES ? needed : BLOCK_BYTES;
        block = tess_heap_alloc(tree->heap, sizeof *block + room, TESS_TAG_IO, "a configuration");
        if (block == NULL) {
            return NULL;
        }
        *block = (tess_tree_block){.next = tree->blocks, .block_bytes = sizeof *block + room};
        tree->blocks = block;
    }
    void *taken = block->data + block->used;
    block->used += needed;
    return taken;
}

tess_node *tess_tree_node(tess_tree *tree, tess_document_kind kind, tess_place place)
{
    tess_node *node = tess_tree_take(tree, sizeof *node);
    if (node != NULL) {
        *node = (tess_node){.kind = (int32_t)kind, .place = place, .n_node = 1, .text = ""};
    }
    return node;
}

char *tess_tree_text(tess_tree *tree, const char *text, size_t length)
{
    char *copy = tess_tree_take(tree, length + 1);
    if (copy != NULL) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

tess_status tess_tree_append(tess_tree *tree, tess_node *parent, const char *key,
                             tess_place key_place, tess_node *value)
{
    for (const tess_entry *e = key != NULL ? parent->first : NULL; e != NULL; e = e->next) {
        if (strcmp(e->key, key) == 0) {
            char here[TESS_PLACE_CHARS];
            TESS_FAIL(TESS_E_CONFIG, "%s: '%.80s' is given twice, first on line %" PRId64,
                      tess_place_text(tree->path, key_place, here), key, e->key_place.line);
        }
    }
    if (key != NULL && parent->n_child == TESS_CONFIG_MAX_KEYS) {
        char here[TESS_PLACE_CHARS];
        TESS_FAIL(TESS_E_CONFIG, "%s: more than %d keys in one mapping",
                  tess_place_text(tree->path, key_place, here), TESS_CONFIG_MAX_KEYS);
    }
    tess_entry *entry = tess_tree_take(tree, sizeof *entry);
    if (entry == NULL) {
        return TESS_E_MEMORY;
    }
    *entry = (tess_entry){.key = key, .key_place = key_place, .value = value};
    if (parent->last != NULL) {
        parent->last->next = entry;
    } else {
        parent->first = entry;
    }
    parent->last = entry;
    parent->n_child++;
    parent->n_node += value->n_node;
    return TESS_OK;
}

const char *tess_place_text(const char *path, tess_place place, char text[TESS_PLACE_CHARS])
{
    // The end of a long path tells more than its start.
    const size_t length = strlen(path);
    const char *shown = path + (length > 250 ? length - 250 : 0);
    if (place.line > 0 && place.column > 0) {
        snprintf(text, TESS_PLACE_CHARS, "%s:%" PRId64 ":%" PRId64, shown, place.line,
                 place.column);
    } else if (place.line > 0) {
        snprintf(text, TESS_PLACE_CHARS, "%s:%" PRId64, shown, place.line);
    } else {
        snprintf(text, TESS_PLACE_CHARS, "%s", shown);
    }
    return text;
}
