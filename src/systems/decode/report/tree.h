// Provenance and details as trees.
#ifndef TESS_SYSTEMS_DECODE_TREE_H
#define TESS_SYSTEMS_DECODE_TREE_H

#include "tessera/sys/document.h"

#include <string.h>

// NULL if the node is no mapping or has no such key.
static inline const tess_document_node *tess_de_tree_child(const tess_document_node *mapping,
                                                           const char *key)
{
    const tess_document_entry *e =
        mapping && mapping->kind == TESS_DOCUMENT_MAPPING ? mapping->first : NULL;
    while (e && strcmp(e->key, key) != 0) {
        e = e->next;
    }
    return e ? e->value : NULL;
}

#endif
