// A look into a tree of YAML or JSON.

#include "member.h"

#include <string.h>

const tess_document_node *document_member(const tess_document_node *node, const char *key)
{
    const tess_document_entry *e = node && node->kind == TESS_DOCUMENT_MAPPING ? node->first : NULL;

    while (e && strcmp(e->key, key) != 0) {
        e = e->next;
    }
    return e ? e->value : NULL;
}
