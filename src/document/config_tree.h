// A configuration file as a tree of mappings, lists and scalars, each with its place in the file.
//
// A parser fills the tree (libyaml, or our own of JSON where that is absent); the tables judge it.
// Nodes live in blocks that are freed together.
#ifndef TESS_DOCUMENT_CONFIG_TREE_H
#define TESS_DOCUMENT_CONFIG_TREE_H

#include "base/memory.h"
#include "tessera/sys/document.h"

#include <stdbool.h>

enum {
    TESS_CONFIG_MAX_BYTES = 16 << 20,
    TESS_CONFIG_MAX_DEPTH = 64,
    TESS_CONFIG_MAX_EVENTS = 1000000,
    TESS_CONFIG_MAX_KEYS = 4096,     // of one mapping: looking for duplicates is quadratic
    TESS_CONFIG_MAX_ALIASED = 100000 // nodes that aliases may stand for, counted each time
};

// Short names of what extenders see.
typedef tess_document_node tess_node;
typedef tess_document_entry tess_entry;
typedef tess_document_place tess_place;

typedef struct tess_tree {
    tess_heap *heap;
    const char *path; // borrowed
    bool is_json;     // by the file's name
    tess_node *root;  // NULL: an empty file
    struct tess_tree_block *blocks;
} tess_tree;

void tess_tree_init(tess_tree *tree, tess_heap *heap, const char *path);
void tess_tree_release(tess_tree *tree);

// NULL with a message when there is no memory. 16-byte aligned, freed with the tree.
void *tess_tree_take(tess_tree *tree, size_t bytes);
tess_node *tess_tree_node(tess_tree *tree, tess_document_kind kind, tess_place place);
char *tess_tree_text(tess_tree *tree, const char *text, size_t length);
// Appends to a mapping or list; a key that is there already is TESS_E_CONFIG.
TESS_MUST_CHECK tess_status tess_tree_append(tess_tree *tree, tess_node *parent, const char *key,
                                             tess_place key_place, tess_node *value);

// "file:3:7", "file:3" or "file" alone, as far as the place is known, into text; returns text.
enum { TESS_PLACE_CHARS = 320 };
const char *tess_place_text(const char *path, tess_place place, char text[TESS_PLACE_CHARS]);

// Reads a whole file into the tree; path was given to init.
TESS_MUST_CHECK tess_status tess_tree_load(tess_tree *tree);

// Fill tree->root. libyaml takes JSON too, and tells columns; a build without it has the second
// alone, and for YAML a sentence.
TESS_MUST_CHECK tess_status tess_tree_parse(tess_tree *tree, const char *text, size_t bytes);
TESS_MUST_CHECK tess_status tess_tree_parse_json(tess_tree *tree, const char *text, size_t bytes);

#endif
